//! How things look: by what the terminal can show, and without colour where the person wants none.

pub(super) use crate::surface::ink::Ink;
use ratatui::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// No colour: bold, dim, underlined and reversed only.
    None,
    /// The sixteen colours that the person's terminal defines.
    Sixteen,
    /// Any colour, on a dark ground.
    Dark,
    /// Any colour, on a light ground.
    Light,
}

/// How things look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme(pub Depth);

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Faint,
    File,
    Section,
    Header,
    Notice,
    Good,
    Bad,
    Name,
    Cursor,
    Status,
    Match,
    Escaped,
    Comment,
}

/// Which side of a diff a line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Context,
    Removed,
    Added,
}

/// The colours of text, by what they say: those that a terminal of sixteen colours calls so, or ours.
///
/// Ours are read on every ground that is drawn here, and on the usual grounds of terminals (`tests`).
#[derive(Clone, Copy, Debug)]
struct Palette {
    amber: Color,
    cyan: Color,
    green: Color,
    red: Color,
    violet: Color,
    blue: Color,
    grey: Option<Color>,
}

const SIXTEEN: Palette = Palette {
    amber: Color::Yellow,
    cyan: Color::Cyan,
    green: Color::Green,
    red: Color::Red,
    violet: Color::Magenta,
    blue: Color::Blue,
    grey: None,
};
const ON_DARK: Palette = Palette {
    amber: Color::Rgb(0xf0, 0xc0, 0x7a),
    cyan: Color::Rgb(0x84, 0xd8, 0xcf),
    green: Color::Rgb(0x7d, 0xdc, 0x90),
    red: Color::Rgb(0xff, 0xa3, 0xa3),
    violet: Color::Rgb(0xd9, 0xb0, 0xff),
    blue: Color::Rgb(0x9a, 0xc4, 0xff),
    grey: Some(Color::Rgb(0xb8, 0xc1, 0xcb)),
};
const ON_LIGHT: Palette = Palette {
    amber: Color::Rgb(0x6b, 0x40, 0x00),
    cyan: Color::Rgb(0x00, 0x52, 0x5c),
    green: Color::Rgb(0x0b, 0x57, 0x22),
    red: Color::Rgb(0x96, 0x0c, 0x20),
    violet: Color::Rgb(0x74, 0x1c, 0x9a),
    blue: Color::Rgb(0x12, 0x3f, 0x94),
    grey: Some(Color::Rgb(0x44, 0x4b, 0x53)),
};

impl Theme {
    fn palette(self) -> Palette {
        match self.0 {
            Depth::None | Depth::Sixteen => SIXTEEN,
            Depth::Dark => ON_DARK,
            Depth::Light => ON_LIGHT,
        }
    }

    pub(super) fn look(self, look: Look) -> Style {
        let colours = self.palette();
        // Yellow and cyan cannot be read on the light ground of many a terminal: what has to be read is left as text is.
        let prose = |colour| if self.0 == Depth::Sixteen { Style::new() } else { Style::new().fg(colour) };
        let style = match look {
            Look::Plain => Style::new(),
            Look::Faint => match colours.grey {
                Some(grey) => Style::new().fg(grey),
                None => Style::new().add_modifier(Modifier::DIM),
            },
            Look::File => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Look::Section => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Look::Header => prose(colours.cyan),
            Look::Notice => prose(colours.amber).add_modifier(Modifier::BOLD),
            Look::Good => Style::new().fg(colours.green),
            Look::Bad => Style::new().fg(colours.red),
            Look::Name => Style::new().add_modifier(Modifier::BOLD),
            Look::Cursor => prose(colours.amber).add_modifier(Modifier::BOLD),
            Look::Status => Style::new().add_modifier(Modifier::REVERSED),
            Look::Match => Style::new().fg(Color::Black).bg(Color::Yellow).add_modifier(Modifier::UNDERLINED),
            Look::Escaped => Style::new().fg(colours.violet).add_modifier(Modifier::REVERSED),
            Look::Comment => prose(colours.amber),
        };
        self.reduced(style)
    }

    /// Returns how a line of a side looks where nothing else is said.
    pub(super) fn side(self, side: Side) -> Style {
        let rgb = |r, g, b| Color::Rgb(r, g, b);
        match (self.0, side) {
            (_, Side::Context) | (Depth::None, Side::Added) => Style::new(),
            (Depth::None, Side::Removed) => Style::new().add_modifier(Modifier::DIM),
            (Depth::Sixteen, Side::Removed) => Style::new().fg(Color::Red),
            (Depth::Sixteen, Side::Added) => Style::new().fg(Color::Green),
            (Depth::Dark, Side::Removed) => Style::new().bg(rgb(0x3a, 0x1d, 0x20)),
            (Depth::Dark, Side::Added) => Style::new().bg(rgb(0x17, 0x33, 0x22)),
            (Depth::Light, Side::Removed) => Style::new().bg(rgb(0xff, 0xe4, 0xe4)),
            (Depth::Light, Side::Added) => Style::new().bg(rgb(0xdf, 0xf8, 0xe4)),
        }
    }

    /// Returns how the words look that the other side does not have.
    pub(super) fn word(self, side: Side) -> Style {
        let rgb = |r, g, b| Color::Rgb(r, g, b);
        match (self.0, side) {
            (_, Side::Context) => Style::new(),
            (Depth::None, _) => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            (Depth::Sixteen, _) => Style::new().add_modifier(Modifier::REVERSED),
            (Depth::Dark, Side::Removed) => Style::new().bg(rgb(0x6a, 0x22, 0x28)),
            (Depth::Dark, Side::Added) => Style::new().bg(rgb(0x1c, 0x52, 0x30)),
            (Depth::Light, Side::Removed) => Style::new().bg(rgb(0xff, 0xb3, 0xb3)),
            (Depth::Light, Side::Added) => Style::new().bg(rgb(0x9c, 0xe9, 0xad)),
        }
    }

    /// Returns how a stretch of source text looks, on a line of a side.
    pub(super) fn ink(self, ink: Ink, side: Side) -> Style {
        // With sixteen colours the side is told by the colour of the text.
        if self.0 == Depth::Sixteen && side != Side::Context {
            return Style::new();
        }
        let colours = self.palette();
        let style = match ink {
            Ink::Plain => Style::new(),
            Ink::Comment => match colours.grey {
                Some(grey) => Style::new().fg(grey).add_modifier(Modifier::ITALIC),
                None => Style::new().add_modifier(Modifier::DIM | Modifier::ITALIC),
            },
            Ink::Text => Style::new().fg(colours.amber),
            Ink::Constant | Ink::Type => Style::new().fg(colours.cyan),
            Ink::Keyword => Style::new().fg(colours.violet),
            Ink::Function | Ink::Attribute => Style::new().fg(colours.blue),
        };
        self.reduced(style)
    }

    fn reduced(self, style: Style) -> Style {
        if self.0 == Depth::None { Style { fg: None, bg: None, ..style } } else { style }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Color) -> f64 {
        let Color::Rgb(r, g, b) = colour else { panic!("{colour:?} is the terminal's") };
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    /// The ratio of two colours as WCAG 2 defines it.
    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_of_ours_can_be_read_on_every_ground_it_meets() {
        let dark = [Color::Rgb(0, 0, 0), Color::Rgb(0x1e, 0x1e, 0x2e), Color::Rgb(0x28, 0x2c, 0x34)];
        let light =
            [Color::Rgb(0xff, 0xff, 0xff), Color::Rgb(0xfd, 0xf6, 0xe3), Color::Rgb(0xef, 0xf1, 0xf5)];
        for (depth, grounds) in [(Depth::Dark, dark), (Depth::Light, light)] {
            let theme = Theme(depth);
            let sides = [Side::Removed, Side::Added];
            let sides = sides.iter().flat_map(|side| [theme.side(*side), theme.word(*side)]);
            let mut grounds = grounds.to_vec();
            grounds.extend(sides.filter_map(|style| style.bg));
            assert_eq!(grounds.len(), 7, "two sides, and their words");
            let looks =
                [Look::Faint, Look::Header, Look::Notice, Look::Good, Look::Bad, Look::Cursor, Look::Comment];
            let inks = [
                Ink::Comment,
                Ink::Text,
                Ink::Constant,
                Ink::Keyword,
                Ink::Function,
                Ink::Type,
                Ink::Attribute,
            ];
            let texts = looks.iter().map(|look| theme.look(*look));
            let texts = texts.chain(inks.iter().map(|ink| theme.ink(*ink, Side::Added)));
            for text in texts.filter_map(|style| style.fg) {
                for ground in &grounds {
                    let ratio = contrast(text, *ground);
                    assert!(ratio >= 4.5, "{depth:?}: {text:?} on {ground:?} is {ratio:.1}");
                }
            }
        }
    }

    #[test]
    fn the_words_of_a_side_stand_out_of_it_in_every_depth() {
        for depth in [Depth::None, Depth::Sixteen, Depth::Dark, Depth::Light] {
            for side in [Side::Removed, Side::Added] {
                let theme = Theme(depth);
                assert_ne!(theme.word(side), theme.side(side), "{depth:?}");
                assert_ne!(theme.side(Side::Removed), theme.side(Side::Added), "{depth:?}");
            }
        }
    }
}
