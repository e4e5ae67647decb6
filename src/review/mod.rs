//! **Job.** What passes between a person and a session's ledger: asks and answers, the note to the agent, slash commands, the review at the turn's end.
//!
//! **Words.** [`Ask`], [`Answer`], [`Problem`].
//!
//! **Uses.** `base`, `config`, `diff`, `ledger`.
//!
//! **Not here.** Carrying an ask out (`engine` and `host`); drawing it (`surface`).

mod ask;

pub use ask::{
    Answer, Ask, Asked, Computed, Decide, DecideVerb, PatchText, Plan, PlannedItem, Problem, ProblemKind,
    Selector,
};
