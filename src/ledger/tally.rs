//! In how many paths each call is credited, and in how many something of it is left.

use crate::base::RepoPath;
use crate::ledger::CallKey;
use crate::ledger::study::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Calls that were ever credited, counted over the answers of a session.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<CallKey, Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    credited: u32,
    present: u32,
}

impl Tally {
    /// Brings the counts from one set of answers to the next; those that are taken over cost nothing.
    pub(super) fn follow(
        &mut self,
        old: &BTreeMap<RepoPath, Arc<Answer>>,
        new: &BTreeMap<RepoPath, Arc<Answer>>,
    ) {
        let same = |path: &RepoPath, answer: &Arc<Answer>, others: &BTreeMap<RepoPath, Arc<Answer>>| {
            others.get(path).is_some_and(|other| Arc::ptr_eq(answer, other))
        };
        for (_, answer) in new.iter().filter(|(path, answer)| !same(path, answer, old)) {
            self.each(answer, |count| *count += 1);
        }
        for (_, answer) in old.iter().filter(|(path, answer)| !same(path, answer, new)) {
            self.each(answer, |count| *count = count.saturating_sub(1));
        }
    }

    /// Returns the calls of which nothing is left.
    pub(super) fn superseded(&self) -> impl Iterator<Item = &CallKey> {
        self.0.iter().filter(|(_, count)| count.credited > 0 && count.present == 0).map(|(key, _)| key)
    }

    /// Returns the calls of which something is left.
    pub(super) fn present(&self) -> impl Iterator<Item = &CallKey> {
        self.0.iter().filter(|(_, count)| count.present > 0).map(|(key, _)| key)
    }

    fn each(&mut self, answer: &Answer, change: impl Fn(&mut u32)) {
        for key in &answer.credited {
            change(&mut self.0.entry(key.clone()).or_default().credited);
        }
        let present: BTreeSet<&CallKey> = answer.drafts.iter().flat_map(|draft| &draft.calls).collect();
        for key in present {
            change(&mut self.0.entry(key.clone()).or_default().present);
        }
    }
}
