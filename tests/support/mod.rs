//! What the transcript tests stand on: the format, the patterns, the virtual world, the play.

#![allow(clippy::wildcard_enum_match_arm, reason = "what the virtual world does not know it shows or skips")]

pub(crate) mod asks;
pub(crate) mod golden;
pub(crate) mod pattern;
pub(crate) mod play;
pub(crate) mod real;
pub(crate) mod surface;
pub(crate) mod transcript;
pub(crate) mod tree;
pub(crate) mod variations;
pub(crate) mod world;
