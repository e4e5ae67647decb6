//! **Job.** Bytes in, whole lines out; and a line kept byte for byte beside a borrowed look at its head.
//!
//! **Words.** [`IdToken`].
//!
//! **Uses.** `base`.

mod frame;

pub use frame::IdToken;
