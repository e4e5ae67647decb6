#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** The same asks and answers, drawn for a terminal, a pipe or a program.
//!
//! **Uses.** base, config, ledger, engine (Ask and Answer).
