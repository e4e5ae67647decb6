//! What differs within two lines, word by word.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// Bytes of a line above which it is not searched.
const LONGEST: usize = 2_000;
/// Of a hundred bytes of the longer line, how many must be common for the difference to mean something.
const ALIKE: usize = 40;

/// The parts of two lines that the other one does not have, as byte ranges, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inline {
    /// Of the first line.
    pub before: Vec<Range<usize>>,
    /// Of the second line.
    pub after: Vec<Range<usize>>,
    /// Bytes that both have, blanks apart.
    pub common: usize,
}

impl Inline {
    /// Compares two lines; `None` where they are too long, or so different that marking words says nothing.
    pub fn of(before: &str, after: &str) -> Option<Self> {
        if before.len() > LONGEST || after.len() > LONGEST {
            return None;
        }
        let (a, b) = (words(before), words(after));
        let mut inline = Self::default();
        let (mut at_a, mut at_b) = (0, 0);
        let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
        for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
            let (old, new) = (&a[op.old_range()], &b[op.new_range()]);
            let (of_a, of_b) = (length(old), length(new));
            if matches!(op, DiffOp::Equal { .. }) {
                inline.common +=
                    old.iter().filter(|word| !is_blank(word)).map(|word| word.len()).sum::<usize>();
            } else {
                push(&mut inline.before, at_a..at_a + of_a);
                push(&mut inline.after, at_b..at_b + of_b);
            }
            (at_a, at_b) = (at_a + of_a, at_b + of_b);
        }
        let solid = |words: &[&str]| -> usize {
            words.iter().filter(|word| !is_blank(word)).map(|word| word.len()).sum()
        };
        let longer = solid(&a).max(solid(&b));
        (longer > 0 && inline.common * 100 >= longer * ALIKE).then_some(inline)
    }
}

fn is_blank(word: &str) -> bool {
    word.trim().is_empty()
}

/// Adds a range, joined with the one before where they touch.
fn push(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut().filter(|last| last.end == range.start) {
        _ if range.is_empty() => {}
        Some(last) => last.end = range.end,
        None => ranges.push(range),
    }
}

/// Cuts a line into names, stretches of blanks, and single other characters.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut kind = None;
    for (at, c) in line.char_indices() {
        let next = match c {
            _ if c.is_alphanumeric() || c == '_' => 'w',
            _ if c.is_whitespace() => ' ',
            _ => '.',
        };
        if at > start && (kind != Some(next) || next == '.') {
            words.push(&line[start..at]);
            start = at;
        }
        kind = Some(next);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_differ_are_named_on_both_sides() {
        let inline = Inline::of("let a = first(x);", "let a = second(x, y);").unwrap();
        assert_eq!(inline.before, std::iter::once(8..13).collect::<Vec<_>>());
        assert_eq!(inline.after, [8..14, 16..19]);
    }

    #[test]
    fn lines_that_have_little_in_common_are_not_compared_word_by_word() {
        assert_eq!(Inline::of("fn main() {", "the quick brown fox"), None);
        assert_eq!(Inline::of("", "x"), None);
    }

    #[test]
    fn the_ranges_are_cut_between_characters() {
        let (before, after) = ("größe = süß + 漢字", "größe = sauer + 漢語");
        let inline = Inline::of(before, after).unwrap();
        assert!(inline.before.iter().all(|range| before.get(range.clone()).is_some()));
        assert!(inline.after.iter().all(|range| after.get(range.clone()).is_some()));
    }
}
