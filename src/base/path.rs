//! Paths beneath a root, as bytes, and which root an absolute path belongs to.

use crate::base::RootId;
use bstr::ByteSlice as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;

/// A path beneath a root: non-empty bytes, `/` between components, relative, no `.`, `..` or empty component, no NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

/// Why bytes are no [`RepoPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No bytes at all.
    #[error("the path is empty")]
    Empty,
    /// It begins with `/`.
    #[error("the path is absolute")]
    Absolute,
    /// A component is empty, `.` or `..`, or holds a NUL.
    #[error("the path has a component that is empty, `.` or `..`, or a NUL")]
    Component,
}

impl RepoPath {
    /// Checks the bytes and wraps them.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, PathError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes[0] == b'/' {
            return Err(PathError::Absolute);
        }
        let bad = |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.contains(&0);
        if bytes.split(|&byte| byte == b'/').any(bad) {
            return Err(PathError::Component);
        }
        Ok(Self(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the last component.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|&byte| byte == b'/').next().unwrap_or(&self.0)
    }

    /// Returns the path of the directory that holds this path, `None` at the top.
    pub fn parent(&self) -> Option<Self> {
        self.0.rfind_byte(b'/').map(|at| Self(self.0[..at].to_vec()))
    }

    /// Returns this path with one more component.
    pub fn join(&self, name: &[u8]) -> Result<Self, PathError> {
        let mut bytes = self.0.clone();
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Self::new(bytes)
    }

    /// Says whether `self` lies beneath `directory` (and is not `directory` itself).
    pub fn is_beneath(&self, directory: &Self) -> bool {
        self.0.len() > directory.0.len() + 1
            && self.0.starts_with(&directory.0)
            && self.0[directory.0.len()] == b'/'
    }

    /// Says whether one of the two lies beneath the other: no file can stand at both.
    pub fn excludes(&self, other: &Self) -> bool {
        self.is_beneath(other) || other.is_beneath(self)
    }

    /// Says whether the bytes are UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.0.to_str().is_ok()
    }
}

/// Shows the path for people: UTF-8 as it is, other bytes and control characters escaped as `\xNN`.
impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_control() {
                    write!(f, "\\x{:02x}", u32::from(c))?;
                } else {
                    fmt::Write::write_char(f, c)?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoPath({self})")
    }
}

const HEX: &str = "hex:";

/// The text form in records: the path itself, or `hex:` and its bytes where it is not UTF-8 or begins with `hex:`.
impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Ok(text) if !text.starts_with(HEX) => to.serialize_str(text),
            _ => {
                let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
                to.serialize_str(&format!("{HEX}{digits}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = match text.strip_prefix(HEX) {
            None => text.into_bytes(),
            Some(digits) => digits
                .as_bytes()
                .chunks(2)
                .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                .collect::<Option<Vec<u8>>>()
                .ok_or_else(|| D::Error::custom("not pairs of hex digits"))?,
        };
        Self::new(bytes).map_err(D::Error::custom)
    }
}

/// Which root holds an absolute path. The deepest root wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots(Vec<(RootId, Vec<u8>)>);

impl Roots {
    /// Adds a root with its canonical absolute path. Adding it again changes nothing.
    pub fn add(&mut self, root: RootId, absolute: impl Into<Vec<u8>>) {
        if self.0.iter().all(|(known, _)| *known != root) {
            self.0.push((root, absolute.into()));
            self.0.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.1.cmp(&b.1)));
        }
    }

    /// Returns the root that holds `absolute` and the path beneath it; `None` for the root itself and for paths outside.
    pub fn locate(&self, absolute: &[u8]) -> Option<(&RootId, RepoPath)> {
        self.0.iter().find_map(|(root, top)| {
            let rest = absolute.strip_prefix(top.as_slice())?;
            let rest = if top.ends_with(b"/") { rest } else { rest.strip_prefix(b"/")? };
            RepoPath::new(rest).ok().map(|path| (root, path))
        })
    }

    /// Returns the absolute path of a root.
    pub fn top(&self, root: &RootId) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == root).map(|(_, top)| top.as_slice())
    }

    /// Returns the roots, deepest first.
    pub fn iter(&self) -> impl Iterator<Item = (&RootId, &[u8])> {
        self.0.iter().map(|(root, top)| (root, top.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_leaves_the_root_is_no_repo_path() {
        for bad in ["", "/a", "a//b", "a/../b", "./a", "a/", "a\0b"] {
            assert!(RepoPath::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_deepest_root_holds_a_path() {
        let mut roots = Roots::default();
        roots.add(RootId::new("outer"), "/w");
        roots.add(RootId::new("inner"), "/w/sub");
        let (root, path) = roots.locate(b"/w/sub/a").expect("inside");
        assert_eq!((root.as_str(), path.as_bytes()), ("inner", &b"a"[..]));
        assert_eq!(roots.locate(b"/w2/a"), None);
        assert_eq!(roots.locate(b"/w"), None);
    }

    proptest! {
        #[test]
        fn a_repo_path_survives_its_text_form(bytes in proptest::collection::vec(any::<u8>(), 1..24)) {
            if let Ok(path) = RepoPath::new(bytes) {
                let text = serde_json::to_string(&path).expect("serializes");
                prop_assert_eq!(serde_json::from_str::<RepoPath>(&text).expect("parses"), path);
            }
        }
    }
}
