#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** The record on disk and the worktree: journals, the private object store, observing a root, putting files back.
//!
//! **Words.** [`StateDir`], [`Lease`], [`Journal`], [`Replay`], [`Root`], [`RootStore`], [`Observed`], [`Chain`], [`StoreBlobs`].
//!
//! **Laws.**
//! 1. A journal cut at any byte replays to the whole records before the cut; a flipped byte costs one line
//!    (`journal::tests::a_journal_cut_anywhere_replays_the_whole_records_before`).
//! 2. A tree id is git's wherever no conversion applies (`capture::tests::a_tree_is_what_git_would_write`).
//! 3. A failed observation is a gap and never an older tree (`capture::tests::a_failed_observation_is_a_gap`).
//! 4. Nothing is written to the user's repository (`capture::tests::the_users_repository_is_untouched`).
//! 5. A restore never removes bytes that were not expected (`restore::tests::unexpected_bytes_survive_every_step`).
//!
//! **Uses.** `base`, `ledger`. git2 is imported by `objects` and its `pack` only.
//!
//! **Not here.** What an observation means (`ledger`); when to observe or restore (`engine`); limits and patterns as
//! people configure them (`config`; they come in as [`Settings`]).

mod adopt;
mod beside;
mod capture;
mod chain;
mod contents;
mod error;
mod grants;
mod ignores;
mod journal;
mod link;
mod listener;
mod objects;
#[cfg(test)]
mod oracle;
mod presence;
mod process;
mod read;
mod restore;
mod retention;
mod root;
mod segment;
mod settings;
mod stamps;
mod stat;
mod state;
mod swap;
mod table;
mod take;
mod tracked;
mod verify;
mod walk;
#[cfg_attr(not(target_os = "linux"), path = "unwatched.rs")]
mod watch;
mod written;

pub use capture::{Observed, Observing, OpenReport, RootStore, Sight};
pub use chain::Chain;
pub use contents::StoreBlobs;
pub use error::{Cause, StoreError};
pub use grants::GrantFile;
pub use journal::{
    Durability, Journal, Position, Replay, Sink, UnknownLine, read_journal, read_journal_from, replay,
};
pub use retention::{Kept, KeptRoot, Stock, Sweep, plan_sweep};
pub use root::{Refused, Root, resolve_root};
pub use settings::Settings;
pub use state::{Holder, Lease, LeaseError, SessionOnDisk, StateDir};
