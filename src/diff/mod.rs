//! **Job.** What differs between two contents, line by line, and how positions carry across a chain of differences.
//!
//! **Words.** [`Text`] (bytes cut into lines), [`Span`] (1-based half-open lines), [`LineHunk`], [`Diff`], [`LineMap`], [`Eol`], [`Inline`] (words of a line).
//!
//! **Laws.**
//! 1. Applying a diff to its first text gives the second, and its inverse undoes it (`laws::diff_laws`).
//! 2. Composed diffs place every line where the diff of the ends applied would place its content (`laws::diff_laws`).
//! 3. The same two texts always give the same hunks: nothing here looks at a clock (`text::tests::budget_is_counted_in_lines`).
//!
//! **Uses.** `base`.
//!
//! **Not here.** Who wrote a line and what a hunk is called (`ledger`).

mod compose;
mod text;
mod words;

pub use compose::LineMap;
pub use text::{Diff, Eol, LineHunk, Span, Text, is_binary};
pub use words::Inline;
