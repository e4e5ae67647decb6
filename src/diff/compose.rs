//! How line positions carry across a diff, and across a chain of diffs.

use crate::diff::{Diff, LineHunk, Span};

/// Where each line of a first text stands in a second, and back. Unchanged lines map in order; others do not map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMap {
    /// Runs of lines that stand in both, ascending.
    runs: Vec<Run>,
    base_len: u32,
    current_len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    base: u32,
    current: u32,
    len: u32,
}

impl LineMap {
    /// Makes the map of a diff between texts of `base_len` and `current_len` lines.
    pub fn new(diff: &Diff, base_len: u32, current_len: u32) -> Self {
        let mut runs = Vec::with_capacity(diff.hunks.len() + 1);
        let (mut base, mut current) = (1, 1);
        for hunk in &diff.hunks {
            push(&mut runs, Run { base, current, len: hunk.base.start.saturating_sub(base) });
            (base, current) = (hunk.base.end, hunk.current.end);
        }
        push(&mut runs, Run { base, current, len: (base_len + 1).saturating_sub(base) });
        Self { runs, base_len, current_len }
    }

    /// Makes the map of a text of `len` lines to itself.
    pub fn identity(len: u32) -> Self {
        Self::new(&Diff::default(), len, len)
    }

    /// Returns where a line of the first text stands in the second; `None` when it was removed.
    pub fn forward(&self, line: u32) -> Option<u32> {
        let run = self.runs.get(self.runs.partition_point(|run| run.base <= line).checked_sub(1)?)?;
        (line - run.base < run.len).then(|| run.current + (line - run.base))
    }

    /// Returns where a line of the second text stood in the first; `None` when it was written.
    pub fn back(&self, line: u32) -> Option<u32> {
        let run = self.runs.get(self.runs.partition_point(|run| run.current <= line).checked_sub(1)?)?;
        (line - run.current < run.len).then(|| run.base + (line - run.current))
    }

    /// Returns where a whole span of the first text stands in the second: every line of it, one after the other.
    ///
    /// An empty span stands between its neighbours as long as they are neighbours still.
    pub fn forward_span(&self, span: Span) -> Option<Span> {
        if span.is_empty() {
            let after = (span.start <= self.base_len).then(|| self.forward(span.start));
            let before = (span.start > 1).then(|| self.forward(span.start - 1));
            let at = match (before, after) {
                (Some(before), Some(after)) => before.zip(after).filter(|(b, a)| b + 1 == *a).map(|(_, a)| a),
                (None, Some(after)) => after.filter(|after| *after == 1),
                (Some(before), None) => before.map(|before| before + 1),
                (None, None) => Some(1),
            }?;
            return Some(Span { start: at, end: at });
        }
        let start = self.forward(span.start)?;
        let whole = span.lines().zip(start..).all(|(line, to)| self.forward(line) == Some(to));
        whole.then(|| Span { start, end: start + span.len() })
    }

    /// Follows `then` after this map.
    #[must_use]
    pub fn then(&self, then: &Self) -> Self {
        let mut runs = Vec::new();
        for run in &self.runs {
            let end = run.current + run.len;
            let from = then.runs.partition_point(|next| next.base + next.len <= run.current);
            for next in then.runs[from..].iter().take_while(|next| next.base < end) {
                let start = run.current.max(next.base);
                let len = end.min(next.base + next.len) - start;
                let base = run.base + (start - run.current);
                push(&mut runs, Run { base, current: next.current + (start - next.base), len });
            }
        }
        Self { runs, base_len: self.base_len, current_len: then.current_len }
    }

    /// Returns the hunks that this map leaves: everything that does not stand in both.
    pub fn hunks(&self) -> Vec<LineHunk> {
        let end = Run { base: self.base_len + 1, current: self.current_len + 1, len: 0 };
        let (mut base, mut current) = (1, 1);
        let mut hunks = Vec::new();
        for run in self.runs.iter().chain([&end]) {
            if run.base > base || run.current > current {
                hunks.push(LineHunk {
                    base: Span { start: base, end: run.base },
                    current: Span { start: current, end: run.current },
                });
            }
            (base, current) = (run.base + run.len, run.current + run.len);
        }
        hunks
    }
}

/// Adds a run, joined to the one before it where nothing lies between.
fn push(runs: &mut Vec<Run>, run: Run) {
    if run.len == 0 {
        return;
    }
    match runs.last_mut() {
        Some(last) if last.base + last.len == run.base && last.current + last.len == run.current => {
            last.len += run.len;
        }
        _ => runs.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Text;

    fn map(base: &str, current: &str) -> LineMap {
        let (base, current) = (Text::new(base.as_bytes()), Text::new(current.as_bytes()));
        LineMap::new(&Diff::of(&base, &current), base.len(), current.len())
    }

    #[test]
    fn lines_carry_forward_and_back() {
        let map = map("a\nb\nc\nd\n", "x\na\nc\nD\n");
        assert_eq!([1, 2, 3, 4, 5].map(|line| map.forward(line)), [Some(2), None, Some(3), None, None]);
        assert_eq!([1, 2, 3, 4, 5].map(|line| map.back(line)), [None, Some(1), Some(3), None, None]);
        assert_eq!(map.forward_span(Span { start: 1, end: 2 }), Some(Span { start: 2, end: 3 }));
        assert_eq!(map.forward_span(Span { start: 1, end: 4 }), None);
    }

    #[test]
    fn an_empty_span_stands_between_its_neighbours_while_they_are_neighbours() {
        let map = map("a\nb\nc\n", "x\na\nb\nc\n");
        assert_eq!(map.forward_span(Span { start: 2, end: 2 }), Some(Span { start: 3, end: 3 }));
        assert_eq!(map.forward_span(Span { start: 1, end: 1 }), None);
        assert_eq!(map.forward_span(Span { start: 4, end: 4 }), Some(Span { start: 5, end: 5 }));
    }

    #[test]
    fn a_chain_maps_what_stands_through_all_of_it() {
        let chain = map("a\nb\nc\n", "a\nx\nb\nc\n").then(&map("a\nx\nb\nc\n", "x\nb\nc\nd\n"));
        assert_eq!([1, 2, 3].map(|line| chain.forward(line)), [None, Some(2), Some(3)]);
        let hunks = chain.hunks();
        assert_eq!(hunks.len(), 2, "{hunks:?}");
        assert_eq!(hunks, Diff::of(&Text::new(&b"a\nb\nc\n"[..]), &Text::new(&b"x\nb\nc\nd\n"[..])).hunks);
    }
}
