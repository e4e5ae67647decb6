//! **Job.** What passes between a person and a session's ledger: asks and answers, the note to the agent, slash commands, the review at the turn's end.
//!
//! **Words.** [`Ask`], [`Answer`], [`Problem`], [`Plan`], [`Pending`] (what the agent was not told), [`Stripper`].
//!
//! **Laws.**
//! 1. A reject destroys no line that is not this session's (`laws::decisions::a_reject_leaves_every_line_that_is_not_ours`).
//! 2. Rejecting all restores the base, byte for byte (`laws::decisions::rejecting_all_restores_the_base`).
//! 3. Disjoint hunks commute (`laws::decisions::disjoint_hunks_commute`).
//! 4. What the agent was told is not told again (`laws::decisions::what_was_told_is_not_told_again`).
//! 5. A note is cut out of whatever it was merged into (`strip::tests::a_note_is_cut_out_wherever_it_was_merged`).
//! 6. Only our own name is ours (`slash::tests::only_our_own_name_is_ours`).
//! 7. A patch leads from the base to now (`laws::patches::a_patch_of_everything_leads_from_the_base_to_now`).
//! 8. Every line of a question is short (`laws::asking::every_line_of_a_question_is_short_and_a_revert_puts_the_base_back`).
//!
//! **Uses.** `base`, `config`, `diff`, `ledger`.
//!
//! **Not here.** Carrying an ask out (`engine` and `host`); drawing it (`surface`).

mod ask;
mod binary;
mod cards;
mod compute;
mod decide;
mod docket;
mod form;
mod link;
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
mod words;

pub use ask::{
    Answer, Ask, Asked, Computed, Decide, DecideVerb, PatchText, Plan, PlannedItem, Problem, ProblemKind,
    Selector,
};
pub use cards::{Card, CardStyle, Cards, FileChange, Look, Piece};
pub use compute::compute;
pub use docket::{
    DocketAnswer, DocketAsk, GrantItem, GrantsShape, LoadedShape, PendingRequest, PendingShape,
    RespondedShape, Response, Resume, StandingAnswer,
};
pub use form::{Chosen, FormField, FormInput, FormPage, page};
pub use link::Link;
pub use note::{NOTE_BEGINS, NOTE_ENDS, Pending, may_carry, mentions_note, pending};
pub use plan::recovered;
pub use prompt::{ESCALATES, escalation, queue_counts, reapplied, summary, to_escalate, worth_telling};
pub use render::render;
pub use revert::apply_edits;
pub use slash::{Command, CommandSpec, Switch, commands, help, parse};
pub use strip::{Stripper, strip};
pub use words::{
    NOT_GATED, counted, faults, how_to_see, in_browser, on_the_web, outcome, preface, question, result,
    reverted, undecided, unshown, waits,
};
