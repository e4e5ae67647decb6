//! **Job.** Which request a response answers, and what waits for what, per direction.
//!
//! **Uses.** base, wire.
