//! **Job.** The words every other room speaks: identities, paths and instants, as types that cannot be confused.
//!
//! **Words.** [`SessionId`] and [`SessionKey`], [`RootId`], [`CallId`], [`BlobId`], [`TreeId`], [`HunkId`],
//! [`RepoPath`], [`Roots`], [`Leg`], [`Tick`], [`WallNs`], [`Minter`].
//!
//! **Laws.**
//! 1. A [`RepoPath`] is relative, has no `.` or `..` component and survives its text form byte for byte
//!    (`path::tests::a_repo_path_survives_its_text_form`).
//! 2. The same seed mints the same ids (`id::tests::the_same_seed_mints_the_same_ids`).
//!
//! **Uses.** Nothing.
//!
//! **Not here.** Reading a clock or drawing randomness (`host` does, and hands the values in).

mod base64;
mod id;
mod leg;
mod path;
mod pattern;
mod share;
mod time;

pub use base64::{base64_decode, base64_encode};
pub use id::{
    AgentId, AskId, BlobId, CallId, CommandId, CommentId, CommitId, Digest, HunkId, Minter, ObservationNo,
    ProxyId, RequestKey, RootId, SessionId, SessionKey, TreeId, TurnNo, WindowId,
};
pub use leg::Leg;
pub use path::{PathError, RepoPath, Roots};
pub use pattern::Patterns;
pub use share::Share;
pub use time::{Tick, WallNs};
