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
//! 2. The agent and all its descendants end with us, one by one (`processes::ends`).
//! 3. All that the agent said is forwarded before its end is told (`processes::ends`).
//! 4. A fault of ours never stops the conversation (`fuse::tests`).
//!
//! **Uses.** Every room.
//!
//! **Not here.** What shall be done (`engine`); journals, objects and worktrees (`store`); arguments and output
//! (`surface`).

mod ancestry;
mod child;
mod clock;
mod demo;
mod desk;
mod effects;
mod event;
mod fuse;
mod gauge;
mod kin;
mod leg;
mod log;
mod perform;
mod recorded;
mod recorder;
mod relay;
mod rootwork;
mod rpc;
mod run;
mod signal;
mod socket;
mod veil;
mod voice;
mod wires;
mod worker;

pub use demo::{demo, demo_agent};
pub use recorded::Recorded;
pub use run::{refuse, run};
