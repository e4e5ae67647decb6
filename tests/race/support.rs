//! The part of the virtual world that a race needs.

#![allow(
    dead_code,
    clippy::wildcard_enum_match_arm,
    reason = "what the virtual world does not know it shows or skips; the transcripts use more of it"
)]

#[path = "../support/tree.rs"]
pub(crate) mod tree;
#[path = "../support/world.rs"]
pub(crate) mod world;
