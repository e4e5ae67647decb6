#![allow(clippy::disallowed_methods, reason = "this room touches the world")]
//! **Job.** One task owns the engine and performs its actions; processes, sockets, clocks.
//!
//! **Uses.** every room.
