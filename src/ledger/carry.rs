//! Authors carried through the steps of a path: forward for written lines, backward for removed base lines.

use crate::diff::{Diff, LineMap, Span};
use crate::ledger::Credit;
use std::collections::{BTreeMap, BTreeSet};

/// Credits by number, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Credits(Vec<Credit>);

impl Credits {
    /// Returns the number of a credit.
    pub(super) fn number(&mut self, credit: &Credit) -> u32 {
        let at = self.0.iter().position(|known| known == credit).unwrap_or_else(|| {
            self.0.push(credit.clone());
            self.0.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns a credit by its number.
    pub(super) fn get(&self, number: u32) -> Option<&Credit> {
        self.0.get(number as usize)
    }

    /// Returns every credit.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Credit> {
        self.0.iter()
    }
}

/// Stands for a credit that is not carried on.
const UNKNOWN: u32 = u32::MAX;

/// Where a line of the current text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// It is this line of the base, 1-based.
    Base(u32),
    /// A step wrote it, credited under this number.
    Written(u32),
}

/// The authors of a path after some steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Carried {
    /// Of each current line.
    pub lines: Vec<Author>,
    /// Who removed each base line that is gone.
    pub removed: BTreeMap<u32, u32>,
    /// Who changed the content since it last was the base's.
    pub content: BTreeSet<u32>,
    /// Who changed the mode since it last was the base's.
    pub mode: BTreeSet<u32>,
    /// Who flipped the line endings since they last were the base's.
    pub eol: BTreeSet<u32>,
}

impl Carried {
    /// Begins with a base of `len` lines.
    pub(super) fn base(len: u32) -> Self {
        Self { lines: (1..=len).map(Author::Base).collect(), ..Self::default() }
    }

    /// Takes in one step, credited as a whole.
    pub(super) fn rewrite(&mut self, diff: &Diff, credit: u32) {
        let mut lines = Vec::with_capacity(self.lines.len());
        let mut next = 1;
        for hunk in &diff.hunks {
            lines.extend_from_slice(part(&self.lines, Span { start: next, end: hunk.base.start }));
            for author in part(&self.lines, hunk.base) {
                if let Author::Base(line) = *author {
                    self.removed.insert(line, credit);
                }
            }
            lines.extend(hunk.current.lines().map(|_| Author::Written(credit)));
            next = hunk.base.end;
        }
        lines.extend_from_slice(part(&self.lines, Span { start: next, end: u32::MAX }));
        self.lines = lines;
    }

    /// Takes in a step that put lines of `source` back: what it wrote gets the authors that it had there.
    ///
    /// `step` leads from here to the new text, `aligned` maps the source's text to it. What stood not in the source is
    /// credited to `credit`.
    pub(super) fn put_back(&mut self, step: &Diff, source: &Self, aligned: &LineMap, credit: u32) {
        let removed_before = self.removed.clone();
        self.rewrite(step, credit);
        let standing: BTreeSet<u32> = self.base_lines().map(|(line, _)| line).collect();
        let twice = |author: &&Author| matches!(author, Author::Base(line) if standing.contains(line));
        for line in step.hunks.iter().flat_map(|hunk| hunk.current.lines()) {
            let from = aligned.back(line).and_then(|from| source.lines.get(from as usize - 1));
            let slot = self.lines.get_mut(line as usize - 1);
            if let (Some(author), Some(slot)) = (from.filter(|author| !twice(author)), slot) {
                *slot = *author;
            }
        }
        let back: BTreeSet<u32> = self.base_lines().map(|(line, _)| line).collect();
        self.removed.retain(|line, _| !back.contains(line));
        for (line, who) in &mut self.removed {
            if !removed_before.contains_key(line) {
                *who = source.removed.get(line).copied().unwrap_or(credit);
            }
        }
    }

    /// Forgets who wrote what is not the base's.
    pub(super) fn forget_written(&mut self) {
        for author in &mut self.lines {
            if let Author::Written(credit) = author {
                *credit = UNKNOWN;
            }
        }
    }

    /// Takes in that a file that stood empty, or was gone, was filled again: lines that stood before stand again, whoever
    /// put them back. `step` leads from the text before to the one after, of `len` lines.
    pub(super) fn stand_again(&mut self, stood: &Self, step: &Diff, len: u32) {
        let aligned = LineMap::new(step, u32::try_from(stood.lines.len()).unwrap_or(u32::MAX), len);
        for (before, &author) in (1..).zip(&stood.lines) {
            let slot = aligned.forward(before).and_then(|now| self.lines.get_mut(now as usize - 1));
            match (slot, author) {
                (Some(slot), Author::Base(line)) => {
                    *slot = author;
                    self.removed.remove(&line);
                }
                (Some(slot), Author::Written(credit)) if credit != UNKNOWN => *slot = author,
                (Some(_) | None, Author::Written(_)) | (None, Author::Base(_)) => {}
            }
        }
    }

    /// Gives lines back that stood before a step and stand after it, where only what no claim tells (`untold`) wrote them
    /// again on the way. `step` leads from the text before to the one after.
    pub(super) fn never_went(&mut self, stood: &Self, step: &Diff, untold: &BTreeSet<u32>) {
        let len = |lines: &[Author]| u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let aligned = LineMap::new(step, len(&stood.lines), len(&self.lines));
        let standing: BTreeSet<u32> = self.base_lines().map(|(line, _)| line).collect();
        for (before, &author) in (1..).zip(&stood.lines) {
            if matches!(author, Author::Base(line) if standing.contains(&line)) {
                continue;
            }
            let slot = aligned.forward(before).and_then(|now| self.lines.get_mut(now as usize - 1));
            let Some(slot) = slot.filter(|slot| matches!(slot, Author::Written(by) if untold.contains(by)))
            else {
                continue;
            };
            *slot = author;
            if let Author::Base(line) = author {
                self.removed.remove(&line);
            }
        }
    }

    /// Returns the base lines that stand, each with its current line.
    pub(super) fn base_lines(&self) -> impl Iterator<Item = (u32, u32)> {
        (1..).zip(&self.lines).filter_map(|(current, author)| match author {
            Author::Base(line) => Some((*line, current)),
            Author::Written(_) => None,
        })
    }
}

fn part(lines: &[Author], span: Span) -> &[Author] {
    let start = (span.start as usize).saturating_sub(1).min(lines.len());
    let end = (span.end as usize).saturating_sub(1).clamp(start, lines.len());
    &lines[start..end]
}

/// The authors of a path's lines as the composed diff needs them.
///
/// The composed diff compares base and now directly, so it may pair equal lines otherwise than the steps did: then the
/// pairs are followed, step's pair after composed pair, to the end, which has an author.
#[derive(Debug)]
pub(super) struct Resolver<'a> {
    carried: &'a Carried,
    stands_at: BTreeMap<u32, u32>,
    composed: &'a LineMap,
}

impl<'a> Resolver<'a> {
    /// Makes a resolver; `composed` is the map of the composed diff.
    pub(super) fn new(carried: &'a Carried, composed: &'a LineMap) -> Self {
        Self { carried, stands_at: carried.base_lines().collect(), composed }
    }

    /// Returns who wrote a current line that the composed diff calls new; `None` when no step did.
    pub(super) fn wrote(&self, line: u32) -> Option<u32> {
        let mut line = line;
        for _ in 0..=self.carried.lines.len() {
            match *self.carried.lines.get((line as usize).checked_sub(1)?)? {
                Author::Written(credit) => return Some(credit),
                Author::Base(base) => line = self.composed.forward(base)?,
            }
        }
        None
    }

    /// Returns who removed a base line that the composed diff calls gone; `None` when no step did.
    pub(super) fn removed(&self, line: u32) -> Option<u32> {
        let mut line = line;
        for _ in 0..=self.stands_at.len() {
            if let Some(&credit) = self.carried.removed.get(&line) {
                return Some(credit);
            }
            line = self.composed.back(*self.stands_at.get(&line)?)?;
        }
        None
    }
}
