//! **Job.** Which sessions there are, where each one's turns stand, and which calls are open.
//!
//! **Words.** [`Registry`], [`Session`], [`Recording`], [`Turns`], [`Phase`], [`Calls`], [`OpenCall`], [`Replay`], [`Answers`].
//!
//! ```text
//!          prompt forwarded                 permission asked
//!   idle ───────────────────▶ prompting ◀──────────────────▶ awaiting permission
//!    ▲                            │ session/cancel             (answered)
//!    │  its answer, or idle       ▼
//!    └────────────────────── cancelling
//! ```
//!
//! **Laws.**
//! 1. A turn is numbered when its prompt is forwarded, never before
//!    (`turn::tests::a_turn_is_numbered_when_its_prompt_is_forwarded`).
//! 2. What a replay shows is history (`calls::tests::a_call_that_is_over_at_first_sight_outside_a_turn_is_history`).
//! 3. A closed call is never opened again within its turn
//!    (`calls::tests::a_late_update_refines_a_closed_call_and_does_not_open_it`).
//! 4. A client that never answered a question is not asked again (`answers::tests::a_client_that_never_answered_is_asked_once`).
//!
//! **Uses.** `base`, `acp`, `wire` (request ids).
//!
//! **Not here.** What a call wrote (`ledger`); requests in flight (`router`).

mod answers;
mod calls;
mod registry;
mod turn;

pub use answers::Answers;
pub use calls::{ActiveTurn, CallChange, Calls, EndedTurn, Leave, OpenCall, Runs};
pub use registry::{Recording, Registry, Replay, Session, TrackedRoot};
pub use turn::{LiveTurn, Phase, Turns};
