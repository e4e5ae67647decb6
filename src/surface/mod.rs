#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** The same asks and answers, drawn for a terminal, a pipe or a program.
//!
//! **Words.** [`Port`], which every surface is attached to; [`Launch`], how an agent is to be wrapped; [`LogLine`].
//!
//! **Uses.** `base`, `config`, `ledger`, `review` (asks and answers).
//!
//! **Not here.** Carrying an ask out (`host`, which implements [`Port`]); computing what is shown (`ledger`, `review`);
//! slash commands (`review`).

mod places;
mod port;
pub mod text;

pub use places::{Env, PROJECT_FILE, config_file, state_dir};
pub use port::{Cursor, Launch, LogLine, Port};
