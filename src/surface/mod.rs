#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** The same asks and answers, drawn for a terminal, a pipe or a program.
//!
//! **Words.** [`Port`], which every surface is attached to; [`Invocation`], what was typed; [`Launch`], how an agent is to be
//! wrapped; [`Terminal`], the person's end; [`Request`], an ask and how to show what comes back.
//!
//! **Laws.**
//! 1. Help, listings and JSON read the same from one version to the next unless a snapshot says so (`surfaces`).
//! 2. A reading command never fails because its reader went away (`surfaces::a_closed_pipe_is_no_failure`).
//! 3. What the person types as a path means what it means to their shell (`surfaces::paths_are_the_persons`).
//!
//! **Uses.** `base`, `config`, `ledger`, `review` (asks and answers), `policy` (verdicts, judged in place: they need no session).
//!
//! **Not here.** Carrying an ask out (`host`, which implements [`Port`]); computing what is shown (`ledger`, `review`);
//! slash commands (`review`).

mod answering;
mod approvals;
mod asked;
mod base64;
mod cli;
mod costs;
mod doctor;
#[cfg(any(feature = "tui", feature = "web"))]
mod ink;
mod machine;
mod manual;
#[cfg(feature = "mcp")]
pub mod mcp;
mod methods;
mod overview;
mod places;
mod policy;
mod port;
mod replay;
mod settings;
mod setup;
mod sides;
mod stock;
mod terminal;
pub mod text;
#[cfg(feature = "tui")]
pub mod tui;
mod waiting;
#[cfg(feature = "web")]
pub mod web;

pub use approvals::Filter;
pub use cli::{By, Invocation, Request, Todo, What, Wrap, command, parse};
pub use costs::{CostShape, CostsShape};
pub use doctor::{Check, Health, Patient, examine, report};
pub use machine::{Machine, usage};
pub use manual::{completions, manual};
pub use methods::Asking;
pub use places::{Env, PROJECT_FILE, config_file, state_dir};
pub use policy::{About, Bench, Disk, Inquiry, inquire};
pub use port::{Caller, Cursor, Doors, Launch, LogLine, Mark, Port, Watching};
pub use setup::{Editor, setup};
pub use stock::{RootStockShape, StockShape, SweptShape, UserShape};
pub use terminal::{Terminal, carry_out};
