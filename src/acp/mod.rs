//! **Job.** What a frame means, for each protocol version, and the few frames we write ourselves.
//!
//! **Words.** [`Fact`], [`CallUpdate`], [`CallClaim`].
//!
//! **Uses.** `base`, `wire`.

mod fact;

pub use fact::{
    CallClaim, CallStatus, CallUpdate, ClaimedIn, ClientCapabilities, Fact, Opening, Peer, PermissionOption,
    Said, TurnState,
};
