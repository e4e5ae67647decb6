//! A file as the page draws it: its lines with their authors, and every stretch of them with what it is.

use crate::ledger::{BlameLineShape, HunkShape};
use crate::surface::ink::{FileText, Ink, Inked, Inks, Wanted};
use crate::surface::sides::{self, Lines, Sides};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Stretches of a line: UTF-16 units, as a browser counts, and what they are; [`MARKED`] where the other side differs.
type Runs = Vec<(u32, u8)>;

/// Added to an ink where the other side of the hunk has other words.
const MARKED: u8 = 8;
/// Lines of a side of one hunk beyond which its words are not compared.
const COMPARED: usize = 2_000;

/// `GET …/review/file`.
#[derive(Debug, Serialize)]
pub(super) struct FileShape {
    root: String,
    path: String,
    /// The lines as they stand; null where there are none to be read.
    lines: Option<Vec<BlameLineShape>>,
    /// The stretches of each line.
    runs: Vec<Runs>,
    /// The sides of each hunk.
    hunks: BTreeMap<String, SidesShape>,
}

/// One hunk's sides.
#[derive(Debug, Serialize)]
struct SidesShape {
    before: Vec<Runs>,
    after: Vec<Runs>,
    /// How many lines each side is moved down when they stand beside each other.
    shift: (usize, usize),
}

/// A file that is asked for.
pub(super) struct Asked {
    pub(super) root: String,
    pub(super) path: String,
    pub(super) hunks: Vec<HunkShape>,
    pub(super) lines: Option<Vec<BlameLineShape>>,
}

/// Draws a file.
pub(super) fn draw(inks: &Inks, asked: Asked) -> FileShape {
    let text = coloured(inks, &asked);
    let none = Inked::new();
    let lines = text.lines.as_deref().unwrap_or_default();
    let runs = lines.iter().enumerate().map(|(index, line)| {
        let inks = text.inks.get(index).unwrap_or(&none);
        merged(line, inks, &[])
    });
    let runs = runs.collect();
    let hunks = asked.hunks.iter().map(|hunk| (hunk.id.as_str().to_owned(), both(hunk, &text))).collect();
    FileShape { root: asked.root, path: asked.path, lines: asked.lines, runs, hunks }
}

fn coloured(inks: &Inks, asked: &Asked) -> FileText {
    let lines: Vec<String> = asked.lines.iter().flatten().map(|line| line.text.clone()).collect();
    let mut hunks: Vec<_> = asked
        .hunks
        .iter()
        .map(|hunk| (hunk.id.as_str().to_owned(), hunk.current_range, sides::before(hunk).to_owned()))
        .collect();
    hunks.sort_by_key(|(_, range, _)| range.start);
    // The whole file is coloured, not only as far as its last hunk.
    let end = u32::try_from(lines.len()).unwrap_or(u32::MAX).saturating_add(1);
    hunks.push((String::new(), crate::ledger::RangeShape { start: end, end }, String::new()));
    let wanted = Wanted { root: asked.root.clone(), path: asked.path.clone(), stamp: String::new(), hunks };
    // Without colours where a grammar fails on it.
    let colour = std::panic::AssertUnwindSafe(|| inks.colour(&wanted, lines.clone()));
    std::panic::catch_unwind(colour).unwrap_or(FileText { lines: Some(lines.clone()), ..FileText::default() })
}

fn both(hunk: &HunkShape, text: &FileText) -> SidesShape {
    let (before, after) = (Lines::of(sides::before(hunk)), Lines::of(sides::after(hunk)));
    let laid = Sides::of(hunk, &before, &after);
    let compared = before.len() <= COMPARED && after.len() <= COMPARED;
    let none = Inked::new();
    let old = text.before.get(hunk.id.as_str());
    let removed = |index: usize| {
        let ink = old.and_then(|inks| inks.get(index)).unwrap_or(&none);
        let line = before.line(sides::before(hunk), index);
        if compared { merged(line, ink, &laid.removed(index).1) } else { merged(line, ink, &[]) }
    };
    let first = (hunk.current_range.start as usize).saturating_sub(1);
    let added = |index: usize| {
        let line = after.line(sides::after(hunk), index);
        // The file may have been read a moment later than the hunk was listed.
        let agrees =
            text.lines.as_ref().and_then(|lines| lines.get(first + index)).is_some_and(|own| own == line);
        let ink = agrees.then(|| text.inks.get(first + index)).flatten().unwrap_or(&none);
        if compared { merged(line, ink, &laid.added(index).1) } else { merged(line, ink, &[]) }
    };
    SidesShape {
        before: (0..before.len()).map(removed).collect(),
        after: (0..after.len()).map(added).collect(),
        shift: laid.shifts(),
    }
}

/// Lays marks over inks.
fn merged(line: &str, inks: &[(u32, Ink)], marks: &[Range<usize>]) -> Runs {
    let mut runs = Runs::new();
    let mut inks = inks.iter();
    let mut ink = inks.next();
    let mut until = ink.map_or(usize::MAX, |(length, _)| *length as usize);
    for (at, c) in line.char_indices() {
        while at >= until {
            ink = inks.next();
            until = ink.map_or(usize::MAX, |(length, _)| until + *length as usize);
        }
        let marked = marks.iter().any(|mark| mark.contains(&at));
        let code = code(ink.map_or(Ink::Plain, |(_, ink)| *ink)) + if marked { MARKED } else { 0 };
        let units = if c.len_utf16() == 2 { 2 } else { 1 };
        match runs.last_mut().filter(|last| last.1 == code) {
            Some(last) => last.0 += units,
            None => runs.push((units, code)),
        }
    }
    runs
}

fn code(ink: Ink) -> u8 {
    match ink {
        Ink::Plain => 0,
        Ink::Comment => 1,
        Ink::Text => 2,
        Ink::Constant => 3,
        Ink::Keyword => 4,
        Ink::Function => 5,
        Ink::Type => 6,
        Ink::Attribute => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_counted_as_a_browser_counts() {
        let line = "let 😀 = 1;";
        let marks = Range { start: 4, end: 8 };
        let runs = merged(line, &[(3, Ink::Keyword), (5, Ink::Plain)], &[marks]);
        assert_eq!(runs, [(3, 4), (1, 0), (2, 8), (5, 0)]);
        let units: u32 = runs.iter().map(|(units, _)| units).sum();
        assert_eq!(units as usize, line.encode_utf16().count());
    }
}
