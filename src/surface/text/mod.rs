//! **Job.** Answers as lines for people: coloured on a terminal, plain in a pipe.
//!
//! **Words.** [`Style`], how to write; [`answer`], any answer; [`LogText`], journals.
//!
//! **Laws.**
//! 1. What a peer chose (titles, paths, contents) reaches a terminal with its control and direction characters escaped
//!    (`style::tests::nothing_a_peer_chose_drives_the_terminal`).
//! 2. Without colour there is no escape sequence in the output (`surfaces::plain_output_has_no_escape_sequence`).
//!
//! **Uses.** `base`, `ledger` (shapes), `policy` (verdicts), `review` (answers).
//!
//! **Not here.** What is shown: that is in the shapes (`ledger`).

mod answer;
mod approval;
mod blame;
mod decided;
mod hunk;
mod listing;
mod patch;
mod policy;
mod record;
mod replay;
mod sessions;
mod status;
mod style;

pub use answer::{answer, problem, warning};
pub use listing::{by_call, superseded};
pub use patch::patch;
pub use policy::verdict;
pub use record::LogText;
pub use sessions::sessions;
pub use style::Style;
pub(in crate::surface) use style::count;
#[cfg(feature = "tui")]
pub(in crate::surface) use {hunk::grade_words, style::is_steering};
pub(in crate::surface) use {replay::replay, style::harmless};
