//! **Job.** The one machine: what happened goes in, what shall be done comes out, and nothing else is touched.
//!
//! **Words.** [`Input`], [`Action`], [`Leg`].
//!
//! **Laws.** The first five of requests that are judged:
//! 1. Nothing goes on before it is decided, and an allow is spent once (`transcripts`, `enforce/`).
//! 2. No allow after a cancel (`enforce/a_cancel_beats_an_allow_that_has_not_gone_out`).
//! 3. The agent's own "always" is never answered (`enforce/the_agents_own_always_is_never_passed_on`).
//! 4. Nothing is answered that is not understood (`enforce/options_that_are_not_understood_are_never_answered_for_the_person`).
//! 5. What waits before the gate leaves it by a review, or answered: never by a clock, never forwarded after a cancel (`transcripts`, `gate/`).
//! 6. What is not recorded as it should be is said at the turn's end, once while it lasts
//!    (`recording/what_cannot_be_written_is_said_once_and_no_longer_when_it_can`).
//! 7. What could not be written is not said to be decided (`recording/a_decision_that_cannot_be_written_is_not_said_to_be_made`).
//!
//! **Uses.** Every room above it; the world never.
//!
//! **Not here.** Performing actions (`host`).

mod action;
mod approvals;
mod asking;
mod assess;
mod calls;
mod card;
mod closing;
mod conversation;
mod decide;
mod defer;
mod desk;
mod docket;
mod early;
mod ends;
mod enforce;
mod faults;
mod gate;
mod grants;
mod hold;
mod input;
mod lineage;
mod mediated;
mod outside;
mod question;
mod reasons;
mod release;
mod reload;
mod revise;
mod roots;
mod sight;
mod status;
mod step;
mod stir;
mod turn;
mod unsure;

pub use crate::base::Leg;
pub use action::{Action, Durability, Level, Notice};
pub use input::{Input, OpenedRoot, Sight};
pub use step::{Engine, Setup};
