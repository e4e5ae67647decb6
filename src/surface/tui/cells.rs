//! Text of anybody's making → cells of the screen.
//!
//! The one way for a text to the screen: tabs become blanks, what would drive the terminal or turn the direction of text is
//! spelled out, wide characters take two cells, and nothing is drawn beyond its place.

use super::theme::{Look, Theme};
use crate::surface::text::is_steering;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use unicode_width::UnicodeWidthChar as _;

/// Columns from one tab stop to the next.
const TAB: usize = 4;
/// Marks that are drawn above one letter; the rest is left out.
const MARKS: usize = 4;

/// A row of the screen, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) x: u16,
    pub(super) y: u16,
    pub(super) width: u16,
}

impl Place {
    /// Returns what is left of it behind some columns.
    pub(super) fn behind(self, columns: u16) -> Self {
        let columns = columns.min(self.width);
        Self { x: self.x + columns, width: self.width - columns, ..self }
    }

    /// Returns its first columns.
    pub(super) fn first(self, columns: u16) -> Self {
        Self { width: self.width.min(columns), ..self }
    }
}

/// Draws text into a place and returns how many columns it took. What does not fit is cut, with a mark.
pub(super) fn put(buffer: &mut Buffer, theme: Theme, place: Place, text: &str, style: Style) -> u16 {
    let mut pen = Pen::new(buffer, theme, place, 0);
    pen.write(text, |_| style);
    pen.end()
}

/// Draws text from the right end of a place, and returns what is left of the place before it.
pub(super) fn put_right(buffer: &mut Buffer, theme: Theme, place: Place, text: &str, style: Style) -> Place {
    let columns = u16::try_from(width(text)).unwrap_or(u16::MAX);
    if columns >= place.width {
        return place;
    }
    let left = place.first(place.width - columns);
    put(buffer, theme, place.behind(place.width - columns), text, style);
    left
}

/// Returns the columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    let mut columns = 0;
    for c in text.chars() {
        columns += match glyph(c, None) {
            Glyph::Tab => TAB - columns % TAB,
            Glyph::Shown(width) => width,
            Glyph::Mark | Glyph::Dropped => 0,
            Glyph::Escaped => c.escape_default().count(),
        };
    }
    columns
}

/// Cuts a text into rows of at most so many columns, between words where it can be.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let mut rest = word;
        loop {
            let Some(row) = rows.last_mut() else { return rows };
            if width(row) + width(rest.trim_end()) <= columns {
                row.push_str(rest);
                break;
            }
            if !row.is_empty() {
                rows.push(String::new());
                continue;
            }
            // A word that is longer than a row is cut where the row ends.
            let fits = |at: &usize| width(&rest[..*at]) <= columns;
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let cut = ends.take_while(fits).last().unwrap_or(first);
            row.push_str(&rest[..cut]);
            rest = &rest[cut..];
            if rest.is_empty() {
                break;
            }
            rows.push(String::new());
        }
    }
    rows
}

enum Glyph {
    Tab,
    Shown(usize),
    Mark,
    Dropped,
    Escaped,
}

/// Says how a character is drawn after another one.
fn glyph(c: char, before: Option<char>) -> Glyph {
    match c {
        '\t' => Glyph::Tab,
        // Chooses the colourful form of what stands before it; a terminal's guess at its width is not to be relied on.
        '\u{fe0f}' if before.is_some_and(|before| !before.is_ascii()) => Glyph::Dropped,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => Glyph::Escaped,
        _ if c.is_control() || is_steering(c) => Glyph::Escaped,
        _ => match c.width() {
            Some(0) => Glyph::Mark,
            Some(width) => Glyph::Shown(width),
            None => Glyph::Escaped,
        },
    }
}

/// Where the next character goes.
#[derive(Debug)]
pub(super) struct Pen<'b> {
    buffer: &'b mut Buffer,
    theme: Theme,
    place: Place,
    /// Columns of the text that lie to the left of the place.
    skipped: usize,
    /// The column of the text that comes next.
    column: usize,
    /// The last character and where it was drawn, for marks.
    last: Option<(char, u16, usize)>,
    cut: bool,
}

impl<'b> Pen<'b> {
    /// Begins at the left end of a place, with so many columns of the text out of sight.
    pub(super) fn new(buffer: &'b mut Buffer, theme: Theme, place: Place, skipped: usize) -> Self {
        Self { buffer, theme, place, skipped, column: 0, last: None, cut: false }
    }

    /// Writes a text; `style` is asked with the byte offset of each character.
    pub(super) fn write(&mut self, text: &str, style: impl Fn(usize) -> Style) {
        for (at, c) in text.char_indices() {
            if self.cut {
                return;
            }
            match glyph(c, self.last.map(|(c, ..)| c)) {
                Glyph::Tab => {
                    for _ in 0..TAB - self.column % TAB {
                        self.cell(' ', 1, style(at));
                    }
                }
                Glyph::Shown(width) => self.cell(c, width, style(at)),
                Glyph::Mark => self.mark(c),
                Glyph::Dropped => {}
                Glyph::Escaped => {
                    let look = style(at).patch(self.theme.look(Look::Escaped));
                    for escaped in c.escape_default() {
                        self.cell(escaped, 1, look);
                    }
                }
            }
        }
    }

    /// Fills the rest of the place.
    pub(super) fn fill(&mut self, style: Style) {
        while !self.cut && self.column.saturating_sub(self.skipped) < usize::from(self.place.width) {
            self.cell(' ', 1, style);
        }
    }

    /// Ends, and returns how many columns were taken.
    pub(super) fn end(self) -> u16 {
        let taken = self.column.saturating_sub(self.skipped);
        u16::try_from(taken).unwrap_or(u16::MAX).min(self.place.width)
    }

    fn cell(&mut self, c: char, width: usize, style: Style) {
        let at = self.column;
        self.column += width;
        if at < self.skipped {
            // The half of a wide character that would stick in is a blank.
            if self.column > self.skipped && self.place.width > 0 {
                self.set(0, ' ', style);
            }
            return;
        }
        let at = at - self.skipped;
        let room = usize::from(self.place.width);
        if at + width > room {
            self.cut = true;
            if let Some(last) = self.place.width.checked_sub(1) {
                self.set(last, '…', style.patch(self.theme.look(Look::Faint)));
            }
            return;
        }
        // The place is at most as wide as a u16.
        let column = u16::try_from(at).unwrap_or(u16::MAX);
        self.set(column, c, style);
        if width == 2 {
            self.set(column + 1, ' ', style);
        }
        self.last = Some((c, column, 0));
    }

    fn set(&mut self, column: u16, c: char, style: Style) {
        let (x, y) = (self.place.x + column, self.place.y);
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_char(c).set_style(style);
        }
    }

    fn mark(&mut self, c: char) {
        let Some((last, column, marks)) = self.last else { return };
        if marks < MARKS
            && let Some(cell) = self.buffer.cell_mut((self.place.x + column, self.place.y))
        {
            let symbol = format!("{}{c}", cell.symbol());
            cell.set_symbol(&symbol);
            self.last = Some((last, column, marks + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tui::theme::Depth;
    use ratatui::layout::Rect;

    fn drawn(text: &str, width: u16, skipped: usize) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        let mut pen = Pen::new(&mut buffer, Theme(Depth::None), Place { x: 0, y: 0, width }, skipped);
        pen.write(text, |_| Style::new());
        pen.end();
        (0..width).map(|x| buffer[(x, 0)].symbol().to_owned()).collect()
    }

    #[test]
    fn nothing_of_anybody_reaches_the_terminal_raw() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{202e}b\u{200d}\u{9b}c\u{feff}\u{e0041}";
        let all: String = drawn(hostile, 120, 0).concat();
        assert!(all.chars().all(|c| !c.is_control() && !is_steering(c)), "{all:?}");
        assert!(all.starts_with("a\\u{1b}[2J\\u{7}\\r\\u{202e}b"), "{all:?}");
    }

    #[test]
    fn tabs_and_wide_characters_take_their_columns() {
        assert_eq!(drawn("a\tb", 6, 0), ["a", " ", " ", " ", "b", " "]);
        assert_eq!(drawn("漢字x", 6, 0), ["漢", " ", "字", " ", "x", " "]);
        assert_eq!(drawn("漢字x", 4, 1), [" ", "字", " ", "x"]);
        assert_eq!(drawn("e\u{301}x", 2, 0), ["e\u{301}", "x"]);
        assert_eq!(width("a\tb漢"), 7);
    }

    #[test]
    fn a_text_is_wrapped_between_words_and_within_those_that_are_too_long() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("/a/long/path is", 6), ["/a/lon", "g/path ", "is"]);
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrapped("漢字", 1), ["漢", "字"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn what_does_not_fit_is_cut_with_a_mark() {
        assert_eq!(drawn("abcdef", 4, 0).concat(), "abc…");
        assert_eq!(drawn("abc漢", 4, 0).concat(), "abc…");
        assert_eq!(drawn("abcd", 4, 0).concat(), "abcd");
    }
}
