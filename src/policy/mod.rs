//! **Job.** What a request wants, whether the rules allow it, and what must not be stored, logged or shown.
//!
//! **Words.** [`Subject`] with its [`Effect`]s and [`Evidence`]; [`Plan`], a shell text taken apart; [`classify`] and
//! [`Classified`]; [`Floor`]; [`Policy`], the rules; [`judge`] and [`Verdict`]; [`Deeds`], what a command does by its own words; [`Ground`] and [`Context`], the world as far as a
//! judgement needs it.
//!
//! **Laws.**
//! 1. Nothing is allowed that is not understood: every allowed command is in the corpus's grammar (`policy::the_corpus_is_judged_as_it_says`).
//! 2. A wrapped, nested or disguised command gets no weaker verdict than the plain one, and an allowed one keeps its verdict
//!    under changes that mean nothing (`policy::laws`).
//! 3. Prohibitions speak first: what allows never outvotes a floor, or a rule that asks or denies (`policy::prohibitions_speak_first`).
//! 4. Display-only evidence is never allowed (`policy::what_only_a_title_says_is_never_allowed`).
//! 5. A program outside does no more than its configuration lets it, and counts for nothing once it breaks the protocol
//!    (`assess::tests::whatever_is_not_of_the_protocol_is_worthless`).
//! 6. Any text is read in bounded stack and time, and gets an answer (`policy::hostile_texts_are_asked_about`).
//! 7. What a command is said to write, for attribution, is spelled out in it and has one place
//!    (`policy::deeds::a_path_that_is_not_spelled_out_or_has_no_certain_place_is_no_claim`).
//!
//! **Uses.** `base`, `config`, `acp`, `session`, `ledger`.
//!
//! **Not here.** Resolving paths (callers implement [`Ground`]); grants, parents, judges outside and the person, which come after
//! these layers; the record of permission requests that passed (`ledger`, `Event::PermissionSeen`); reading rules out of a file
//! and what a mode of an agent means (`config`).

mod arg;
mod assess;
mod case;
mod classify;
mod deeds;
mod effect;
mod floor;
mod git;
mod import;
mod observe;
mod place;
mod plan;
mod reach;
mod rules;
mod shell;
mod table;
mod verdict;
mod word;
mod writers;

pub use assess::{
    Brief, Effective, Errand, Hearing, LONGEST_LINE, MOST_OPINIONS, Opines, Opinion, Told, effective,
};
pub use case::{Case, FileNews, Finding, KnownFiles, Stands, UserFile};
pub use classify::{Classified, Kind, Part as PlanPart, Redirects, classify};
pub use deeds::{Deeds, deeds};
pub use effect::{Effect, Evidence, Form, Subject};
pub use floor::{Floor, Level, Met};
pub use import::{Carried, Foreign, Imported, Left};
pub use place::{Class, Context, Flat, Ground, Located, is_within, normal};
pub use plan::{Assign, Beyond, Joint, Part, Plan, Redirect, Simple, Word};
pub use rules::{Policy, PolicyError, Tool};
pub use shell::read;
pub use verdict::{Layer, Reason, ReasonShape, Risk, Verdict, VerdictShape, judge, judge_command};
