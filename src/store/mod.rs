#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** Journals, objects and worktrees
//!
//! **Uses.**  everything that touches a disk.:base, ledger.
