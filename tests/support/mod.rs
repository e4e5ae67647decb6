//! What the transcript tests stand on: the format, the patterns, the virtual world, the play.

pub(crate) mod asks;
pub(crate) mod pattern;
pub(crate) mod play;
pub(crate) mod transcript;
pub(crate) mod tree;
pub(crate) mod variations;
pub(crate) mod world;
