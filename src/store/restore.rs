//! Putting files back: compare-and-swap per file.

use crate::ledger::{FilePlan, RevertOutcome, RevertResult};

pub(crate) fn failed(plan: &FilePlan, reason: &str) -> RevertOutcome {
    let result = RevertResult::Failed { reason: reason.to_owned() };
    RevertOutcome { root: plan.root.clone(), path: plan.path.clone(), result }
}
