#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** One thread owns the engine and performs its actions; around it processes, pipes, sockets, clocks.
//!
//! **Words.** [`run`]; `Relay` (the owner of the engine), `Fused` (the engine behind a fuse), `Event` (what the other
//! threads tell it), `Gauge` (bytes under way), `Perform` (what carries effects out), `Voice` (our stderr).
//!
//! ```text
//!  editor ─▶ reader ─┐                      ┌─▶ writer ─▶ agent
//!  agent  ─▶ reader ─┼─▶ inbox ─▶ Relay ────┼─▶ writer ─▶ editor
//!  signals, sockets ─┤            │ engine  └─▶ Perform ─▶ workers ─┐
//!                    └──────────────────◀───────────────────────────┘
//! ```
//!
//! **Laws.**
//! 1. A reader waits while the opposite writer is full; the relay waits for nobody
//!    (`processes::relay::a_client_that_stops_reading_costs_bounded_memory`).
//! 2. The agent and all its descendants end with us, one by one
//!    (`processes::ends::descendants_that_the_agent_leaves_are_ended`).
//! 3. All that the agent said is forwarded before its end is told
//!    (`processes::ends::all_that_the_agent_said_is_forwarded_before_the_end_even_a_torn_line`).
//! 4. A fault of ours never stops the conversation
//!    (`fuse::tests::after_a_trip_everything_passes_but_answers_to_requests_of_ours`).
//! 5. A revert begins only after its intent is on disk (`relay::tests::a_revert_begins_only_after_its_intent_is_on_disk`).
//! 6. What an agent started may not decide (`processes::recording::a_command_that_the_agent_runs_may_not_decide`).
//!
//! **Uses.** Every room.
//!
//! **Not here.** What shall be done (`engine`); journals, objects and worktrees (`store`); arguments and output
//! (`surface`).

mod ancestry;
mod assessor;
mod backlog;
mod child;
mod clock;
mod console;
mod costs;
mod demo;
mod desk;
mod effects;
mod event;
mod fuse;
mod gauge;
mod judge;
mod kin;
mod leg;
mod log;
mod patrol;
mod peer;
mod perform;
mod recorded;
mod recorder;
mod relay;
mod rootwork;
mod rpc;
mod run;
mod signal;
mod socket;
mod stock;
mod veil;
mod voice;
mod watching;
mod wires;
mod worker;

pub use costs::costs;
pub use demo::{demo, demo_agent};
pub use recorded::Recorded;
pub use run::{refuse, run};
pub use stock::{stock, sweep};
