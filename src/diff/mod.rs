//! **Job.** What differs between two contents, line by line, and how positions carry across a chain of differences.
//!
//! **Uses.** base.
