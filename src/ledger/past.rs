//! The texts of changes as they stood when they were decided: read and compared once, however many were decided together.

use crate::base::HunkId;
use crate::diff::{Diff, Text};
use crate::ledger::content::Body;
use crate::ledger::{Blobs, Decision, FileState, LineRange};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts beyond which the memory is begun anew.
const MAX: usize = 20_000;

/// A path's base, and the path as it was shown.
type Pair = (Option<FileState>, Option<FileState>);

/// A hunk of a pair: its texts, and its first line of the base.
pub(super) type Neighbour = (Vec<u8>, Vec<u8>, u32);

/// What the sides of a decided change depend on: its lines in the base, and as it was shown.
type Place = (HunkId, Pair, Option<LineRange>, Option<LineRange>);

/// The two sides of a change.
#[derive(Debug, Default)]
pub(super) struct Sides {
    pub before: Vec<u8>,
    pub after: Vec<u8>,
}

/// What was read for earlier listings.
#[derive(Debug, Default)]
pub(super) struct Past {
    sides: BTreeMap<Place, Arc<Sides>>,
    hunks: BTreeMap<Pair, Arc<Vec<Neighbour>>>,
}

/// One reading of decisions, with the contents that it has already fetched.
pub(super) struct Reading<'r> {
    past: &'r mut Past,
    blobs: &'r dyn Blobs,
    texts: BTreeMap<Pair, Texts>,
}

struct Texts {
    base: Text,
    seen: Text,
    /// Some content cannot be had: what follows from that is not remembered.
    lost: bool,
}

impl<'r> Reading<'r> {
    pub(super) fn new(past: &'r mut Past, blobs: &'r dyn Blobs) -> Self {
        if past.sides.len() + past.hunks.len() > MAX {
            *past = Past::default();
        }
        Self { past, blobs, texts: BTreeMap::new() }
    }

    fn texts(&mut self, pair: Pair) -> &Texts {
        let blobs = self.blobs;
        self.texts.entry(pair).or_insert_with(|| {
            let body = |state: Option<FileState>| Body::of(state.as_ref(), blobs);
            let (base, seen) = (body(pair.0), body(pair.1));
            let lost = [&base, &seen].iter().any(|body| body.bytes().is_none());
            Texts { base: base.lines(), seen: seen.lines(), lost }
        })
    }

    /// Returns the sides of a decided change; empty ones for an entry without lines.
    pub(super) fn sides(&mut self, decision: &Decision) -> Arc<Sides> {
        let pair = (decision.base, decision.seen);
        let key = (decision.hunk.clone(), pair, decision.base_range, decision.current_range);
        if let Some(known) = self.past.sides.get(&key) {
            return known.clone();
        }
        let texts = self.texts(pair);
        let cut = |text: &Text, range: Option<LineRange>| {
            range.map(|range| text.slice(range.into()).to_vec()).unwrap_or_default()
        };
        let (before, after) = (cut(&texts.base, key.2), cut(&texts.seen, key.3));
        let (sides, lost) = (Arc::new(Sides { before, after }), texts.lost);
        if !lost {
            self.past.sides.insert(key, sides.clone());
        }
        sides
    }

    /// Returns the hunks that stood in the file when the change was decided.
    pub(super) fn hunks(&mut self, decision: &Decision) -> Arc<Vec<Neighbour>> {
        let pair = (decision.base, decision.seen);
        if let Some(known) = self.past.hunks.get(&pair) {
            return known.clone();
        }
        let Texts { base, seen, lost } = self.texts(pair);
        let found = Diff::of(base, seen).hunks.into_iter();
        let mut hunks: Vec<Neighbour> = found
            .map(|hunk| (base.slice(hunk.base).to_vec(), seen.slice(hunk.current).to_vec(), hunk.base.start))
            .collect();
        hunks.sort();
        let (hunks, lost) = (Arc::new(hunks), *lost);
        if !lost {
            self.past.hunks.insert(pair, hunks.clone());
        }
        hunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BlobId, Digest, RepoPath, RootId};
    use crate::ledger::{Content, Mode, ReviewState};
    use std::cell::Cell;

    /// Two contents, and how often they were read.
    #[derive(Default)]
    struct Counted(Cell<usize>);

    impl Blobs for Counted {
        fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
            self.0.set(self.0.get() + 1);
            match blob.0[0] {
                1 => Some((*b"one\ntwo\nthree\nfour\n").into()),
                2 => Some((*b"ONE\ntwo\nTHREE\nfour\n").into()),
                _ => None,
            }
        }
    }

    fn decision(line: u32, seen: u8) -> Decision {
        let state = |blob: u8| FileState {
            mode: Mode::Regular,
            blob: BlobId([blob; 20]),
            size: 19,
            content: Content::Kept,
        };
        let range = Some(LineRange { start: line, end: line + 1 });
        Decision {
            hunk: HunkId::new(format!("hunk{line}")),
            state: ReviewState::Rejected,
            fingerprint: Digest::new("arithmetic"),
            digest: Digest::new("digest"),
            root: RootId::derive(b"/r"),
            path: RepoPath::new("a").unwrap(),
            old_path: None,
            base: Some(state(1)),
            seen: Some(state(seen)),
            left: None,
            base_range: range,
            current_range: range,
            calls: Vec::new(),
            returned: 0,
        }
    }

    #[test]
    fn what_was_decided_together_is_read_once_and_not_again() {
        let (mut past, blobs) = (Past::default(), Counted::default());
        for _ in 0..2 {
            let mut reading = Reading::new(&mut past, &blobs);
            let sides = reading.sides(&decision(3, 2));
            assert_eq!((&sides.before[..], &sides.after[..]), (&b"three\n"[..], &b"THREE\n"[..]));
            assert_eq!(reading.sides(&decision(1, 2)).after, b"ONE\n");
            let beside = reading.hunks(&decision(1, 2));
            let neighbour = |old: &[u8], new: &[u8], line| (old.to_vec(), new.to_vec(), line);
            assert_eq!(*beside, [neighbour(b"one\n", b"ONE\n", 1), neighbour(b"three\n", b"THREE\n", 3)]);
        }
        assert_eq!(blobs.0.get(), 2);
    }

    #[test]
    fn what_cannot_be_had_is_looked_for_again() {
        let (mut past, blobs) = (Past::default(), Counted::default());
        for read in [2, 4] {
            let mut reading = Reading::new(&mut past, &blobs);
            assert!(reading.sides(&decision(3, 9)).after.is_empty());
            assert_eq!(blobs.0.get(), read);
        }
    }
}
