//! **Job.** Which sessions there are, and where each one's turn stands.
//!
//! **Uses.** base, acp.
