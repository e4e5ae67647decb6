//! The two sides of a hunk, line by line, for every drawing of a diff.

use crate::diff::Inline;
use crate::ledger::HunkShape;
use std::ops::Range;

/// Lines of either side up to which the sides are laid against each other by likeness.
const SEARCHED: usize = 24;

/// A text cut into lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The offset after each line.
    ends: Vec<u32>,
    /// Whether the last line lacks its terminator.
    torn: bool,
}

impl Lines {
    /// Cuts a text.
    pub(super) fn of(text: &str) -> Self {
        let end = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut ends: Vec<u32> = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| end(at + 1)).collect();
        let torn = !text.is_empty() && !text.ends_with('\n');
        if torn {
            ends.push(end(text.len()));
        }
        Self { ends, torn }
    }

    /// Returns how many lines there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a line of the text they were cut from, by its 0-based number and without its terminator.
    pub(super) fn line<'t>(&self, text: &'t str, index: usize) -> &'t str {
        let Some(end) = self.ends.get(index) else { return "" };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let line = text.get(start..*end as usize).unwrap_or_default();
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Says whether a line is the last and lacks its terminator.
    pub(super) fn is_torn(&self, index: usize) -> bool {
        self.torn && index + 1 == self.ends.len()
    }
}

/// A hunk with its sides cut into lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'h> {
    before: (&'h str, &'h Lines),
    after: (&'h str, &'h Lines),
    /// How many lines the shorter side lies behind the beginning of the longer one.
    offset: usize,
}

/// Returns the lines of the base, for people.
pub(super) fn before(hunk: &HunkShape) -> &str {
    hunk.display_before.as_deref().unwrap_or(&hunk.before_content)
}

/// Returns the lines of the file as it stands, for people.
pub(super) fn after(hunk: &HunkShape) -> &str {
    hunk.display_after.as_deref().unwrap_or(&hunk.after_content)
}

impl<'h> Sides<'h> {
    /// Lays the sides of a hunk against each other.
    pub(super) fn of(hunk: &'h HunkShape, before_lines: &'h Lines, after_lines: &'h Lines) -> Self {
        let sides = Self::laid(hunk, (before_lines, after_lines), 0);
        Self { offset: sides.best_offset(), ..sides }
    }

    /// The same, with the offset that was found before.
    pub(super) fn laid(hunk: &'h HunkShape, lines: (&'h Lines, &'h Lines), offset: usize) -> Self {
        Self { before: (before(hunk), lines.0), after: (after(hunk), lines.1), offset }
    }

    /// Returns a line of the base side and what of it is not in its counterpart.
    pub(super) fn removed(&self, index: usize) -> (&'h str, Vec<Range<usize>>) {
        let line = self.before.1.line(self.before.0, index);
        let other = self.counterpart(index, self.before.1.len() < self.after.1.len(), self.after.1.len());
        let marks = other.and_then(|other| Inline::of(line, self.after.1.line(self.after.0, other)));
        (line, marks.map(|inline| inline.before).unwrap_or_default())
    }

    /// Returns a line of the current side and what of it is not in its counterpart.
    pub(super) fn added(&self, index: usize) -> (&'h str, Vec<Range<usize>>) {
        let line = self.after.1.line(self.after.0, index);
        let other = self.counterpart(index, self.after.1.len() < self.before.1.len(), self.before.1.len());
        let marks = other.and_then(|other| Inline::of(self.before.1.line(self.before.0, other), line));
        (line, marks.map(|inline| inline.after).unwrap_or_default())
    }

    /// Returns how many lines the base side is moved down when the sides stand beside each other, and how many the current one.
    #[cfg(any(feature = "tui", feature = "web"))]
    pub(super) fn shifts(&self) -> (usize, usize) {
        if self.before.1.len() < self.after.1.len() { (self.offset, 0) } else { (0, self.offset) }
    }

    fn counterpart(&self, index: usize, is_shorter: bool, others: usize) -> Option<usize> {
        let other =
            if is_shorter { index.checked_add(self.offset)? } else { index.checked_sub(self.offset)? };
        (other < others).then_some(other)
    }

    /// Finds how many lines the shorter side lies behind the beginning of the longer one to have most in common with it.
    pub(super) fn best_offset(&self) -> usize {
        let (before, after) = (self.before.1.len(), self.after.1.len());
        let (short, long) = (before.min(after), before.max(after));
        if short == 0 || short == long || long > SEARCHED {
            return 0;
        }
        let common = |offset: usize| -> usize {
            let pair = |index: usize| {
                let (a, b) = if before < after { (index, index + offset) } else { (index + offset, index) };
                let inline =
                    Inline::of(self.before.1.line(self.before.0, a), self.after.1.line(self.after.0, b));
                inline.map_or(0, |inline| inline.common)
            };
            (0..short).map(pair).sum()
        };
        // The first of the best, so that nothing is moved without a reason.
        (0..=long - short).rev().max_by_key(|offset| common(*offset)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_newlines_only() {
        let text = "a\r\nb\n\nc";
        let lines = Lines::of(text);
        let all: Vec<_> = (0..lines.len()).map(|index| lines.line(text, index)).collect();
        assert_eq!(all, ["a\r", "b", "", "c"]);
        assert!(lines.is_torn(3) && !lines.is_torn(1));
        assert_eq!(Lines::of("").len(), 0);
    }
}
