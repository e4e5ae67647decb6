//! Bytes to lines to hunks. One tokenizer cuts lines for diffing and for slicing.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;
use std::sync::Arc;

/// Lines on both sides up to which the histogram algorithm is used.
const HISTOGRAM_LINES: usize = 5_000;
/// Changed lines, both sides together, above which the whole changed middle is one coarse hunk.
const SEARCH_LINES: usize = 400_000;
/// Bytes in which a NUL makes a content binary, as in git.
const BINARY_PROBE: usize = 8_000;

/// A content cut into lines. Lines keep their terminators and end at `\n` only; the last may have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    bytes: Arc<[u8]>,
    /// The offset after each line; the last is `bytes.len()`.
    ends: Vec<usize>,
}

impl Text {
    /// Cuts bytes into lines. No bytes are no lines.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1).collect();
        if ends.last().copied().unwrap_or(0) < bytes.len() {
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of lines.
    pub fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// Says whether there is no line, and so no byte.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns every line, with its terminator.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|index| self.at(index))
    }

    /// Returns a line by its 1-based number, with its terminator; no bytes beyond the end.
    pub fn line(&self, number: u32) -> &[u8] {
        self.slice(Span { start: number, end: number.saturating_add(1) })
    }

    /// Returns the bytes of a span of lines; what lies beyond the end is left out.
    pub fn slice(&self, span: Span) -> &[u8] {
        &self.bytes[self.byte_range(span)]
    }

    /// Returns where the bytes of a span of lines lie. An empty span lies before its line.
    pub fn byte_range(&self, span: Span) -> Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    /// Returns the 1-based number of the line that holds the byte at `offset`; beyond the end, the line after the last.
    pub fn line_of(&self, offset: usize) -> u32 {
        number(self.ends.partition_point(|&end| end <= offset))
    }

    /// Returns the span of all lines.
    pub fn span(&self) -> Span {
        Span { start: 1, end: self.len().saturating_add(1) }
    }

    fn at(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Returns the offset at which the 1-based line begins.
    fn offset(&self, line: u32) -> usize {
        let before = index(line).min(self.ends.len());
        if before == 0 { 0 } else { self.ends[before - 1] }
    }
}

/// A 1-based half-open span of lines. An empty span stands before its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First line.
    pub start: u32,
    /// The line after the last.
    pub end: u32,
}

impl Span {
    /// Returns the number of lines.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Says whether it holds no line.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns the numbers of its lines.
    pub fn lines(self) -> Range<u32> {
        self.start..self.end.max(self.start)
    }

    /// Says whether it holds the line.
    pub fn holds(self, line: u32) -> bool {
        self.lines().contains(&line)
    }
}

/// One change cluster without context: these lines of the first text stand for those of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineHunk {
    /// Lines of the first text.
    pub base: Span,
    /// Lines of the second text.
    pub current: Span,
}

/// What differs between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The clusters, ascending; at least one unchanged line lies between two.
    pub hunks: Vec<LineHunk>,
    /// The texts were too large to be searched: the whole changed middle is one hunk.
    pub coarse: bool,
}

impl Diff {
    /// Compares two texts.
    pub fn of(base: &Text, current: &Text) -> Self {
        let (a, b): (Vec<&[u8]>, Vec<&[u8]>) = (base.lines().collect(), current.lines().collect());
        let prefix = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let rest = a.len().min(b.len()) - prefix;
        let suffix = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let (middle_a, middle_b) = (prefix..a.len() - suffix, prefix..b.len() - suffix);
        if middle_a.is_empty() && middle_b.is_empty() {
            return Self::default();
        }
        if middle_a.is_empty() || middle_b.is_empty() || middle_a.len() + middle_b.len() > SEARCH_LINES {
            let coarse = !middle_a.is_empty() && !middle_b.is_empty();
            return Self { hunks: vec![LineHunk { base: span(middle_a), current: span(middle_b) }], coarse };
        }
        let small = a.len() <= HISTOGRAM_LINES && b.len() <= HISTOGRAM_LINES;
        let algorithm = if small { Algorithm::Histogram } else { Algorithm::Myers };
        let ops = capture_diff_slices(algorithm, &a[middle_a], &b[middle_b]);
        Self { hunks: clusters(&ops, prefix), coarse: false }
    }

    /// Says whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// Returns the number of changed lines, of both sides.
    pub fn size(&self) -> u64 {
        self.hunks.iter().map(|hunk| u64::from(hunk.base.len()) + u64::from(hunk.current.len())).sum()
    }

    /// Returns the diff that leads back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let swap = |hunk: &LineHunk| LineHunk { base: hunk.current, current: hunk.base };
        Self { hunks: self.hunks.iter().map(swap).collect(), coarse: self.coarse }
    }

    /// Returns the first text with the lines of `current` in the place of each of the given hunks.
    pub fn apply(hunks: &[LineHunk], base: &Text, current: &Text) -> Vec<u8> {
        let mut applied = Vec::with_capacity(base.bytes().len().max(current.bytes().len()));
        let mut next = 1;
        for hunk in hunks {
            applied.extend_from_slice(base.slice(Span { start: next, end: hunk.base.start }));
            applied.extend_from_slice(current.slice(hunk.current));
            next = hunk.base.end;
        }
        applied.extend_from_slice(base.slice(Span { start: next, end: base.span().end }));
        applied
    }
}

/// Says whether git would call these bytes binary: a NUL among the first 8000.
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PROBE)]).is_some()
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Eol {
    /// Every terminated line ends in `\n` without `\r`.
    Lf,
    /// Every terminated line ends in `\r\n`.
    Crlf,
}

impl Eol {
    /// Returns how the lines of a text end, when all end alike and one ends at all.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut ends = memchr::memchr_iter(b'\n', bytes).map(|at| at > 0 && bytes[at - 1] == b'\r');
        let first = ends.next()?;
        ends.all(|crlf| crlf == first).then_some(if first { Self::Crlf } else { Self::Lf })
    }

    /// Returns the bytes with every line ending this way.
    pub fn give(self, bytes: &[u8]) -> Vec<u8> {
        let mut given = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_suffix(b"\n") {
                None => given.extend_from_slice(line),
                Some(body) => {
                    given.extend_from_slice(body.strip_suffix(b"\r").unwrap_or(body));
                    given.extend_from_slice(self.terminator());
                }
            }
        }
        given
    }

    /// Returns the bytes that end a line.
    pub fn terminator(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
        }
    }
}

/// Joins neighbouring edits to clusters and moves them behind the common prefix.
fn clusters(ops: &[DiffOp], prefix: usize) -> Vec<LineHunk> {
    let mut hunks: Vec<LineHunk> = Vec::new();
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let (old, new) = (op.old_range(), op.new_range());
        let base = span(old.start + prefix..old.end + prefix);
        let current = span(new.start + prefix..new.end + prefix);
        match hunks.last_mut().filter(|last| last.base.end == base.start && last.current.end == current.start)
        {
            Some(last) => {
                last.base.end = base.end;
                last.current.end = current.end;
            }
            None => hunks.push(LineHunk { base, current }),
        }
    }
    hunks
}

fn span(lines: Range<usize>) -> Span {
    Span { start: number(lines.start), end: number(lines.end) }
}

/// Returns the 1-based number of a 0-based index.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX - 1).saturating_add(1)
}

/// Returns the 0-based index of a 1-based number.
fn index(line: u32) -> usize {
    line.saturating_sub(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(base: &str, current: &str) -> Vec<[u32; 4]> {
        let diff = Diff::of(&Text::new(base.as_bytes()), &Text::new(current.as_bytes()));
        let row = |hunk: &LineHunk| [hunk.base.start, hunk.base.end, hunk.current.start, hunk.current.end];
        diff.hunks.iter().map(row).collect()
    }

    #[test]
    fn hunks_are_clusters_without_context() {
        let table: &[(&str, &str, &[[u32; 4]])] = &[
            ("", "", &[]),
            ("a\n", "a\n", &[]),
            ("", "a\nb\n", &[[1, 1, 1, 3]]),
            ("a\nb\n", "", &[[1, 3, 1, 1]]),
            ("a\nb\nc\n", "a\nB\nc\n", &[[2, 3, 2, 3]]),
            ("a\nc\n", "a\nb\nc\n", &[[2, 2, 2, 3]]),
            ("a\nb\nc\n", "a\nc\n", &[[2, 3, 2, 2]]),
            ("a\nb\nc\nd\n", "A\nb\nc\nD\n", &[[1, 2, 1, 2], [4, 5, 4, 5]]),
            ("a\n", "a", &[[1, 2, 1, 2]]),
            ("a", "a\nb", &[[1, 2, 1, 3]]),
            ("a\r\nb\r\n", "a\r\nB\r\n", &[[2, 3, 2, 3]]),
            ("a\rb\n", "a\rc\n", &[[1, 2, 1, 2]]),
        ];
        for (base, current, expected) in table {
            assert_eq!(hunks(base, current), *expected, "{base:?} to {current:?}");
        }
    }

    #[test]
    fn lines_keep_their_terminators_and_the_last_may_have_none() {
        let text = Text::new(b"a\r\n\nb".as_slice());
        assert_eq!(text.lines().collect::<Vec<_>>(), [b"a\r\n".as_slice(), b"\n", b"b"]);
        assert_eq!(text.slice(Span { start: 2, end: 9 }), b"\nb");
        assert_eq!(text.byte_range(Span { start: 9, end: 9 }), 5..5);
        assert_eq!([0, 2, 3, 4, 5].map(|at| text.line_of(at)), [1, 1, 2, 3, 4]);
    }

    #[test]
    fn binary_is_a_nul_among_the_first_bytes() {
        assert!(is_binary(b"a\0b"));
        assert!(!is_binary(b"a\xffb"));
        let mut late = vec![b'a'; 8000];
        late.push(0);
        assert!(!is_binary(&late));
    }

    #[test]
    fn line_endings_are_named_when_all_are_alike() {
        let table = [
            ("a\nb\n", Some(Eol::Lf)),
            ("a\r\nb\r\nc", Some(Eol::Crlf)),
            ("a\r\nb\n", None),
            ("a", None),
            ("\n", Some(Eol::Lf)),
        ];
        for (text, eol) in table {
            assert_eq!(Eol::of(text.as_bytes()), eol, "{text:?}");
        }
        assert_eq!(Eol::Crlf.give(b"a\nb\r\nc"), b"a\r\nb\r\nc");
        assert_eq!(Eol::Lf.give(b"a\nb\r\nc\r"), b"a\nb\nc\r");
    }

    #[test]
    fn budget_is_counted_in_lines() {
        let many = |seed: usize| -> Text {
            let lines: Vec<String> =
                (0..SEARCH_LINES / 2 + 1).map(|n| format!("{}\n", n * 7 + seed)).collect();
            Text::new(lines.concat().into_bytes())
        };
        let diff = Diff::of(&many(1), &many(2));
        assert!(diff.coarse && diff.hunks.len() == 1, "{}", diff.hunks.len());
    }
}
