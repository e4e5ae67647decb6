//! **Job.** What passes between a person and a session's ledger: asks and answers, the note to the agent, slash commands, the review at the turn's end.
//!
//! **Words.** [`Ask`], [`Answer`], [`Problem`], [`Plan`], [`Pending`] (what the agent was not told), [`Stripper`].
//!
//! **Laws.**
//! 1. A reject destroys no line that is not this session's (`plan::tests::a_reject_leaves_every_line_that_is_not_ours`).
//! 2. Rejecting all restores the base, byte for byte (`laws::rejecting_all_restores_the_base`).
//! 3. Disjoint hunks commute (`laws::disjoint_hunks_commute`).
//! 4. What the agent was told once is told once (`note::tests::what_was_told_is_not_told_again`).
//! 5. A note is cut out of whatever it was merged into (`strip::tests::a_note_is_cut_out_wherever_it_was_merged`).
//! 6. Only our own name is ours (`slash::tests::only_our_own_name_is_ours`).
//!
//! **Uses.** `base`, `config`, `diff`, `ledger`.
//!
//! **Not here.** Carrying an ask out (`engine` and `host`); drawing it (`surface`).

mod ask;
mod binary;
mod compute;
mod decide;
mod note;
mod patch;
mod place;
mod plan;
mod prompt;
mod render;
mod revert;
mod select;
mod show;
mod slash;
mod strip;
mod undo;
mod verdict;

pub use ask::{
    Answer, Ask, Asked, Computed, Decide, DecideVerb, PatchText, Plan, PlannedItem, Problem, ProblemKind,
    Selector,
};
pub use compute::compute;
pub use note::{NOTE_BEGINS, NOTE_ENDS, Pending, may_carry, mentions_note, pending};
pub use plan::recovered;
pub use prompt::{queue_counts, summary};
pub use render::render;
pub use revert::apply_edits;
pub use slash::{CommandSpec, commands, help, parse};
pub use strip::{Stripper, strip};
