//! What a call says it writes. Claims divide what was observed; they never create attribution for what was not.

use crate::base::{CallId, Digest, RepoPath, SessionKey, TurnNo, WallNs};
use serde::{Deserialize, Serialize};

/// One call's word about one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The session of the call.
    pub session: SessionKey,
    /// Its turn.
    pub turn: Option<TurnNo>,
    /// The call.
    pub call: CallId,
    /// When the message that holds it was received.
    pub at: WallNs,
    /// The path beneath the root of the chain in which this stands.
    pub path: RepoPath,
    /// What the call says it writes there.
    pub body: ClaimBody,
    /// Where it was read.
    pub source: Source,
}

/// What a call says it writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "says")]
pub enum ClaimBody {
    /// Only that it touches the path.
    Location,
    /// A fragment of the file is replaced: `old` by `new`.
    Fragment {
        /// The text before.
        old: ClaimText,
        /// The text after.
        new: ClaimText,
    },
    /// The whole file afterwards, and before where it was given.
    Whole {
        /// The text before; `None` where the call did not say (also on overwrite).
        old: Option<ClaimText>,
        /// The text after.
        new: ClaimText,
    },
    /// A diff whose texts may be fragments or whole files: both readings are tried.
    Diff {
        /// The text before; `None` on creation, and from some agents on overwrite.
        old: Option<ClaimText>,
        /// The text after.
        new: ClaimText,
    },
    /// The path is deleted.
    Delete,
    /// The path is moved to `to`, beneath the same root.
    Move {
        /// Where to.
        to: RepoPath,
    },
}

/// Claimed text, kept whole while it is small.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kept", content = "text")]
pub enum ClaimText {
    /// The text.
    Whole(String),
    /// Longer than [`ClaimText::LIMIT`], or withheld: its digest over the bytes.
    Digest(Digest),
}

impl ClaimText {
    /// Bytes up to which the text itself is kept.
    pub const LIMIT: usize = 256 * 1024;

    /// Keeps `text`, or its digest when it is long.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() <= Self::LIMIT { Self::Whole(text) } else { Self::digest(&text) }
    }

    /// Keeps only the digest.
    pub fn digest(text: &str) -> Self {
        Self::Digest(Digest::of(&[text.as_bytes()]))
    }

    /// Says whether these are the bytes that were claimed.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Whole(text) => text.as_bytes() == bytes,
            Self::Digest(digest) => *digest == Digest::of(&[bytes]),
        }
    }
}

/// Where a claim was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A `diff` content block, or v2 `changes`.
    Diff,
    /// The agent's `rawInput`.
    RawInput,
    /// `locations`.
    Location,
    /// `fs/write_text_file`, which passed through us.
    FsWrite,
    /// The payload of a permission request.
    Permission,
}
