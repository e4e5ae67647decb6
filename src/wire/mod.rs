//! **Job.** Bytes in, whole lines out; a line kept byte for byte beside a borrowed look at its head; edits at spans.
//!
//! **Words.** [`Splitter`] and [`Piece`], [`head`] and [`Head`], [`Raw`] (a value as it stands), [`IdToken`], [`splice`].
//!
//! **Laws.**
//! 1. No byte is lost under any chunking (`line::tests::no_byte_is_lost_under_any_chunking`).
//! 2. What the head says is what a JSON parser says, wherever one can say it (`tests/fuzz.rs`,
//!    `the_head_agrees_with_a_json_parser`).
//! 3. An edit leaves every byte outside its span alone (`tests/fuzz.rs`, `an_edit_leaves_every_other_byte_alone`).
//! 4. What cannot be read is [`Head::Unreadable`] or `None`, never an error
//!    (`frame::tests::what_is_no_single_frame_is_unreadable`).
//!
//! **Uses.** `base`.
//!
//! **Not here.** What a method means (`acp`); who waits for an answer (`router`).

mod frame;
mod line;
mod raw;
pub mod splice;

pub use frame::{Head, IdToken, Outcome, head};
pub use line::{Piece, Splitter};
pub use raw::{Elements, Fields, Members, Place, Raw};
