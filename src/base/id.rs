//! Identities: one newtype per thing that has one.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// A clone shares the text.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it stands.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(Self::new)
            }
        }
    };
}

text_id! {
    /// The session id as the peer chose it. Any text; never used as a file name.
    SessionId
}
text_id! {
    /// A digest of (agent identity, [`SessionId`]), 32 hex digits: the name of a session on disk and in refs.
    SessionKey
}
text_id! {
    /// Who the agent says it is: `agentInfo.name`, else the name of its program.
    AgentId
}
text_id! {
    /// A digest of a root's canonical path, 32 hex digits: the name of a root on disk.
    RootId
}
text_id! {
    /// A `toolCallId` as the agent chose it. Agents reuse them; a call is named by (session, turn, call).
    CallId
}
text_id! {
    /// One window over a root: unique in the root's chain.
    WindowId
}
text_id! {
    /// One request of an agent for an approval: what `approve` and `deny` are given.
    RequestKey
}
text_id! {
    /// One decision command: everything one `accept` or `reject` did, taken back as a whole by `undo`.
    CommandId
}
text_id! {
    /// A comment.
    CommentId
}
text_id! {
    /// One running proxy process.
    ProxyId
}
text_id! {
    /// A commit of the user's repository, in hex.
    CommitId
}
text_id! {
    /// A hunk or an entry: 32 hex digits (ledger.md §5).
    HunkId
}
text_id! {
    /// A content digest shown to people and quoted back: 16 hex digits of BLAKE3.
    Digest
}

impl SessionKey {
    /// Derives the key of a session. Two agents that both say `s1` get two keys.
    pub fn derive(agent: &AgentId, session: &SessionId) -> Self {
        Self::new(digest_hex(&[agent.as_str().as_bytes(), session.as_str().as_bytes()], 16))
    }
}

impl RootId {
    /// Derives the id of a root from its canonical absolute path.
    pub fn derive(canonical: &[u8]) -> Self {
        Self::new(digest_hex(&[canonical], 16))
    }
}

impl Digest {
    /// Digests length-prefixed parts.
    pub fn of(parts: &[&[u8]]) -> Self {
        Self::new(digest_hex(parts, 8))
    }
}

/// Returns the first `bytes` bytes of BLAKE3 over length-prefixed (u64 LE) parts, in hex.
fn digest_hex(parts: &[&[u8]], bytes: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..bytes * 2].to_owned()
}

macro_rules! git_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 20]);

        impl $name {
            /// Parses 40 hex digits.
            pub fn parse(hex: &str) -> Option<Self> {
                let bytes = hex.as_bytes();
                if bytes.len() != 40 {
                    return None;
                }
                let mut id = [0; 20];
                for (slot, pair) in id.iter_mut().zip(bytes.chunks_exact(2)) {
                    *slot = nibble(pair[0])? << 4 | nibble(pair[1])?;
                }
                Some(Self(id))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&hex_digits(&self.0)).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(std::str::from_utf8(&hex_digits(&self.0)).unwrap_or_default())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                Self::parse(&text).ok_or_else(|| D::Error::custom("not 40 hex digits"))
            }
        }
    };
}

git_id! {
    /// The git id (SHA-1) of a blob's raw bytes.
    BlobId
}
git_id! {
    /// The git id (SHA-1) of a tree.
    TreeId
}

/// Writes an id as git does. Ids are most of what a record holds.
fn hex_digits(id: &[u8; 20]) -> [u8; 40] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; 40];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(id) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    digits
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the number after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id! {
    /// A turn of a session, 1-based: counts the prompts that reached the agent.
    TurnNo(u32)
}
number_id! {
    /// The position of an observation in its root's chain, 0-based.
    ObservationNo(u64)
}
number_id! {
    /// Ties a result that comes back as an input to the action that asked for it. Unique in one engine.
    AskId(u64)
}

/// Mints our own ids from a seed and a counter, so that a replay mints the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minter {
    seed: String,
    next: u64,
}

impl Minter {
    /// Starts a minter. `seed` is drawn once per run by the host (eight hex digits) or fixed by a test.
    pub fn new(seed: impl Into<String>) -> Self {
        Self { seed: seed.into(), next: 1 }
    }

    /// Returns the seed.
    pub fn seed(&self) -> &str {
        &self.seed
    }

    /// Mints `PREFIX-SEED-N`.
    pub fn mint(&mut self, prefix: &str) -> String {
        let minted = format!("{prefix}-{}-{}", self.seed, self.next);
        self.next += 1;
        minted
    }

    /// Mints a number, unique among all that this minter gave out.
    pub fn mint_ask(&mut self) -> AskId {
        let minted = AskId(self.next);
        self.next += 1;
        minted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_mints_the_same_ids() {
        let (mut a, mut b) = (Minter::new("s"), Minter::new("s"));
        assert_eq!(a.mint("hunkgate"), b.mint("hunkgate"));
        assert_ne!(a.mint("hunkgate"), a.mint("hunkgate"));
    }

    #[test]
    fn two_agents_that_say_the_same_session_id_get_two_keys() {
        let session = SessionId::new("s1");
        assert_ne!(
            SessionKey::derive(&AgentId::new("a"), &session),
            SessionKey::derive(&AgentId::new("b"), &session)
        );
    }

    #[test]
    fn parts_are_length_prefixed_so_that_they_cannot_run_together() {
        assert_ne!(Digest::of(&[b"ab", b"c"]), Digest::of(&[b"a", b"bc"]));
    }

    #[test]
    fn a_git_id_survives_its_text_form() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(BlobId::parse(text).map(|id| id.to_string()).as_deref(), Some(text));
        assert_eq!(BlobId::parse("0123"), None);
    }
}
