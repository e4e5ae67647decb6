//! **Job.** A whole turn to look at: a scripted agent and a scripted client with the real proxy between them.
//!
//! **Words.** [`demo`] is the client and the narrator; [`demo_agent`] the agent; `Scene` the scratch repository; `Talk` the
//! conversation with the proxy.
//!
//! **Laws.**
//! 1. It needs no network and no git, takes seconds, and leaves nothing behind unless it is told to
//!    (`processes::demo::the_demo_shows_a_turn_and_leaves_nothing_behind`).
//!
//! **Uses.** The binary itself, as any editor would; `base` for nothing.
//!
//! **Not here.** Anything of the proxy: what is shown is what everybody gets.

mod agent;
mod scene;
mod show;
mod talk;

pub use agent::demo_agent;
pub use show::demo;
