//! **Job.** What a frame means, for each protocol version, and the few frames we write ourselves.
//!
//! **Words.** [`Dialect`]; [`Fact`] with [`CallUpdate`] and [`CallClaim`]; [`author`].
//!
//! **Uses.** `base`, `wire`.
//!
//! **Not here.** Which request a response answers (`router`); whether a claim is true (`ledger`).

pub mod author;
mod call;
mod claim;
mod dialect;
mod fact;
mod patch;
mod v1;
mod v2;

pub use dialect::{Dialect, read_answer, read_call, read_error};
pub use fact::{
    CallClaim, CallStatus, CallUpdate, ClaimedIn, ClientCapabilities, Fact, Opening, Peer, PermissionOption,
    Said, TurnState,
};
