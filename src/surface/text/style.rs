//! How to write: with or without colour, and in which time zone.

use crate::base::WallNs;
use crate::surface::doctor::{Check, Health};
use jiff::{Timestamp, tz::TimeZone};
use std::fmt::Write as _;
use std::ops::Range;

/// How to write for one reader.
#[derive(Clone, Debug)]
pub struct Style {
    reader: Reader,
    zone: TimeZone,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// A pipe or a file.
    Pipe,
    /// A terminal whose person wants no colour.
    Screen,
    /// A terminal.
    Colour,
}

/// What a stretch of text is; each has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Title,
    Added,
    Removed,
    Notice,
    Faint,
    Name,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Title => "1",
            Self::Added => "32",
            Self::Removed => "31",
            Self::Notice => "33",
            Self::Faint => "2",
            Self::Name => "36",
        }
    }
}

impl Style {
    /// Writes without colour.
    pub fn plain(zone: TimeZone) -> Self {
        Self { reader: Reader::Pipe, zone }
    }

    /// Writes without colour, for a terminal.
    pub fn colourless(zone: TimeZone) -> Self {
        Self { reader: Reader::Screen, zone }
    }

    /// Writes with colour.
    pub fn coloured(zone: TimeZone) -> Self {
        Self { reader: Reader::Colour, zone }
    }

    /// Writes `text`, made harmless, in a tone.
    pub(super) fn tone(&self, tone: Tone, text: &str) -> String {
        self.painted(tone.code(), text)
    }

    /// Writes `text`, made harmless, in a tone, with the marked bytes reversed.
    pub(super) fn marked(&self, tone: Tone, text: &str, marks: &[Range<usize>]) -> String {
        let mut written = String::new();
        let mut from = 0;
        for mark in marks {
            written += &self.tone(tone, text.get(from..mark.start).unwrap_or_default());
            let code = format!("{};7", tone.code());
            written += &self.painted(&code, text.get(mark.clone()).unwrap_or_default());
            from = mark.end;
        }
        written + &self.tone(tone, text.get(from..).unwrap_or_default())
    }

    /// Says whether the reader is a terminal.
    pub(in crate::surface) fn is_for_a_terminal(&self) -> bool {
        self.reader != Reader::Pipe
    }

    fn painted(&self, code: &str, text: &str) -> String {
        let text = harmless(text);
        if self.reader == Reader::Colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text
        }
    }

    /// Writes what matters least.
    pub(in crate::surface) fn faint(&self, text: &str) -> String {
        self.tone(Tone::Faint, text)
    }

    /// Writes one check of the doctor, with its hint beneath.
    pub(in crate::surface) fn check(&self, check: &Check) -> String {
        let mark = match check.result {
            Health::Ok => self.tone(Tone::Added, "ok  "),
            Health::Warn => self.tone(Tone::Notice, "warn"),
            Health::Fail => self.tone(Tone::Removed, "fail"),
        };
        let hint = check.hint.as_ref().map(|hint| format!("      {}\n", self.tone(Tone::Faint, hint)));
        format!("{mark}  {:<18} {}\n{}", check.check, harmless(&check.found), hint.unwrap_or_default())
    }

    /// Writes an instant to the second.
    pub(super) fn time(&self, at: WallNs) -> String {
        let instant = Timestamp::from_nanosecond(i128::from(at.0)).unwrap_or(Timestamp::UNIX_EPOCH);
        instant.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}

/// Makes text that somebody else chose safe to print on one line: control and direction characters are escaped, tabs stay.
pub(in crate::surface) fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\t' || !(c.is_control() || is_steering(c)) {
            safe.push(c);
        } else {
            let _ = write!(safe, "{}", c.escape_default());
        }
    }
    safe
}

/// Says whether a character changes the direction of text, or joins and hides without being seen.
pub(in crate::surface) fn is_steering(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Cuts a text to one line of at most `limit` characters.
pub(super) fn brief(text: &str, limit: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut = line.chars().count() > limit || line.len() < text.trim_end().len();
    let kept: String = line.chars().take(limit).collect();
    harmless(&if cut { format!("{kept}…") } else { kept })
}

/// Counts with the right ending: `1 hunk`, `2 hunks`.
pub(in crate::surface) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_peer_chose_drives_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\u{202e}\tc"), "a\\u{1b}[2Jb\\r\\u{202e}\tc");
        let style = Style::coloured(TimeZone::UTC);
        assert_eq!(style.tone(Tone::Added, "\u{7}"), "\u{1b}[32m\\u{7}\u{1b}[0m");
    }

    #[test]
    fn a_long_or_many_lined_text_is_cut_with_a_mark() {
        assert_eq!(brief("one\ntwo", 10), "one…");
        assert_eq!(brief("abcdef", 3), "abc…");
        assert_eq!(brief("abc\n", 3), "abc");
    }

    #[test]
    fn times_are_written_in_the_zone_of_the_reader() {
        assert_eq!(Style::plain(TimeZone::UTC).time(WallNs(1_000_000_000)), "1970-01-01 00:00:01");
    }
}
