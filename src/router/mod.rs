//! **Job.** Which request a response answers, and the framing of a proxy chain.
//!
//! **Words.** [`Pending`], [`InFlight`], [`Answered`]; [`Hop`].
//!
//! **Laws.**
//! 1. Every request is answered once, under its own id token; an answer to ours never leaves
//!    (`pending::tests::answers_to_our_requests_are_swallowed_also_when_late`).
//! 2. Late, second and unknown answers are told apart
//!    (`pending::tests::an_unknown_answer_is_told_from_a_second_and_a_late_one`).
//! 3. What goes down a chain and comes back has its bytes (`hop::tests::a_frame_wrapped_and_unwrapped_keeps_its_bytes`).
//!
//! **Uses.** `base`, `wire`.
//!
//! **Not here.** Frames that wait, and why (`engine`, hold); writing to a peer (`host`).

mod hop;
mod pending;

pub use hop::Hop;
pub use pending::{Answered, InFlight, Pending};
