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

impl Theme {
    pub(super) fn look(self, look: Look) -> Style {
        let style = match look {
            Look::Plain => Style::new(),
            Look::Faint => Style::new().add_modifier(Modifier::DIM),
            Look::File => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Look::Section => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Look::Header => Style::new().fg(Color::Cyan),
            Look::Notice => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Look::Good => Style::new().fg(Color::Green),
            Look::Bad => Style::new().fg(Color::Red),
            Look::Name => Style::new().add_modifier(Modifier::BOLD),
            Look::Cursor => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Look::Status => Style::new().add_modifier(Modifier::REVERSED),
            Look::Match => Style::new().fg(Color::Black).bg(Color::Yellow).add_modifier(Modifier::UNDERLINED),
            Look::Escaped => Style::new().fg(Color::Magenta).add_modifier(Modifier::REVERSED),
            Look::Comment => Style::new().fg(Color::Yellow),
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
            (Depth::Dark, Side::Removed) => Style::new().bg(rgb(0x7a, 0x2c, 0x33)),
            (Depth::Dark, Side::Added) => Style::new().bg(rgb(0x24, 0x66, 0x3c)),
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
        let style = match ink {
            Ink::Plain => Style::new(),
            Ink::Comment => Style::new().add_modifier(Modifier::DIM | Modifier::ITALIC),
            Ink::Text => Style::new().fg(Color::Yellow),
            Ink::Constant => Style::new().fg(Color::Cyan),
            Ink::Keyword => Style::new().fg(Color::Magenta),
            Ink::Function => Style::new().fg(Color::Blue),
            Ink::Type => Style::new().fg(Color::Cyan),
            Ink::Attribute => Style::new().fg(Color::Blue),
        };
        self.reduced(style)
    }

    fn reduced(self, style: Style) -> Style {
        if self.0 == Depth::None { Style { fg: None, bg: None, ..style } } else { style }
    }
}
