//! What a surface is to a play: whoever puts an ask for a person, and shows its answer.

use hunkgate::ledger::ListingShape;
use hunkgate::review::{Answer, Ask};
use std::fmt::Debug;

/// A surface that a play asks through.
pub(crate) trait Surface: Debug {
    /// Says whether a person points at something in the queue to mean this.
    fn wants_listing(&self, ask: &Ask) -> bool;

    /// Does what a person does there who means the words of an ask; returns what is asked then. `None`: it has no way to
    /// mean this.
    fn put(&mut self, words: &[String], ask: &Ask, listing: Option<&ListingShape>) -> Option<Ask>;

    /// Shows the answer to what was put last; returns what a person reads, and where it prints JSON the JSON.
    fn show(&mut self, answer: &Answer) -> String;
}

/// Returns what a person must read of an answer, wherever it is shown.
pub(crate) fn must_show(answer: &Answer) -> Vec<String> {
    let beginning = |text: &str| text.lines().next().unwrap_or_default().chars().take(50).collect::<String>();
    match answer {
        Answer::Problem(problem) => vec![beginning(&problem.message)],
        Answer::Decided(decided) => {
            let refused = decided.items.iter().filter(|item| item.outcome == "refused");
            refused.take(1).filter_map(|item| item.reason.as_deref().map(beginning)).collect()
        }
        Answer::Listing(listing) => {
            let degraded = listing.degraded.iter().filter_map(|root| root.degraded.as_deref().map(beginning));
            listing.hunks.iter().map(|hunk| beginning(&hunk.path)).chain(degraded).collect()
        }
        Answer::Shown(shown) => vec![beginning(&shown.hunk.path), beginning(&shown.explanation)],
        Answer::Note(Some(note)) => note.lines().skip(1).take(3).map(beginning).collect(),
        Answer::Commented(_)
        | Answer::Resolved(_)
        | Answer::Rebased(_)
        | Answer::Note(None)
        | Answer::Status(_)
        | Answer::Diff(_)
        | Answer::Blame(_)
        | Answer::Docket(_) => Vec::new(),
    }
}
