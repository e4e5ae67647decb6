//! What a hunk and an entry are called, and the arithmetic that names them.

use crate::base::{Digest, HunkId, RepoPath, RootId};
use crate::diff::{Diff, Span, Text};
use crate::ledger::{FileState, LineRange};
use std::sync::OnceLock;

/// Bytes of a hunk id; in hex twice as many digits.
const ID_BYTES: usize = 16;

/// Names a hunk: base coordinates and exact texts only, so that edits elsewhere in the file do not rename it.
pub fn hunk_id(root: &RootId, path: &RepoPath, before: &[u8], after: &[u8], base: LineRange) -> HunkId {
    let mut hasher = blake3::Hasher::new();
    for part in [root.as_str().as_bytes(), path.as_bytes(), before, after] {
        feed(&mut hasher, part);
    }
    hasher.update(&base.start.to_le_bytes());
    hasher.update(&base.end.to_le_bytes());
    finish(&hasher)
}

/// One side of an entry: only what the entry is about is filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntrySide {
    /// Its content.
    pub state: Option<FileState>,
    /// A link's target, or another path.
    pub target: Option<Vec<u8>>,
    /// Git's octal digits, for an entry that is about the mode.
    pub mode: Option<&'static str>,
}

/// Names an entry by its kind and the two sides of what it is about.
pub fn entry_id(root: &RootId, path: &RepoPath, kind: &str, sides: [&EntrySide; 2]) -> HunkId {
    let mut hasher = blake3::Hasher::new();
    for part in [root.as_str().as_bytes(), path.as_bytes(), kind.as_bytes()] {
        feed(&mut hasher, part);
    }
    for side in sides {
        feed(&mut hasher, side.state.map(|state| state.blob.0).as_ref().map_or(&[][..], |blob| &blob[..]));
        feed(&mut hasher, side.mode.unwrap_or_default().as_bytes());
        feed(&mut hasher, side.target.as_deref().unwrap_or_default());
    }
    finish(&hasher)
}

/// Digests what a person was shown of a hunk: its id, where it stands now and its exact current text.
pub fn shown_digest(id: &HunkId, current: LineRange, text: &[u8]) -> Digest {
    Digest::of(&[id.as_str().as_bytes(), &current.start.to_le_bytes(), &current.end.to_le_bytes(), text])
}

/// Returns the fingerprint of the arithmetic: ids and ranges of a fixed sample, found by running the code.
///
/// It is stamped on every decision. One made under other arithmetic is ignored, and its hunk is unreviewed.
pub fn fingerprint() -> Digest {
    static FINGERPRINT: OnceLock<Digest> = OnceLock::new();
    FINGERPRINT.get_or_init(compute_fingerprint).clone()
}

fn compute_fingerprint() -> Digest {
    let lines = |numbers: &[u32]| -> Text {
        let lines: Vec<String> = numbers.iter().map(|number| format!("line {number}\n")).collect();
        Text::new(lines.concat().into_bytes())
    };
    let base = lines(&[1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 3, 10]);
    let current = lines(&[0, 1, 2, 3, 3, 3, 4, 6, 7, 77, 8, 3, 10, 11]);
    let Ok(path) = RepoPath::new("sample") else { return Digest::of(&[]) };
    let root = RootId::derive(b"/sample");
    let mut told = Vec::new();
    for hunk in Diff::of(&base, &current).hunks {
        let (before, after) = (base.slice(hunk.base), current.slice(hunk.current));
        let id = hunk_id(&root, &path, before, after, hunk.base.into());
        told.push(format!("{id} {:?} {:?}", hunk.base.lines(), hunk.current.lines()));
        told.push(shown_digest(&id, hunk.current.into(), after).to_string());
    }
    let side = EntrySide { mode: Some("100755"), ..EntrySide::default() };
    told.push(entry_id(&root, &path, "mode", [&EntrySide::default(), &side]).to_string());
    Digest::of(&told.iter().map(|line| line.as_bytes()).collect::<Vec<_>>())
}

impl From<Span> for LineRange {
    fn from(span: Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

impl From<LineRange> for Span {
    fn from(range: LineRange) -> Self {
        Self { start: range.start, end: range.end }
    }
}

fn feed(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn finish(hasher: &blake3::Hasher) -> HunkId {
    HunkId::new(&hasher.finalize().to_hex()[..ID_BYTES * 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_is_the_one_that_decisions_were_made_under() {
        assert_eq!(
            fingerprint().as_str(),
            "e62a2887e44471dd",
            "a change of this orphans every decision on disk"
        );
    }

    #[test]
    fn a_hunk_is_named_by_every_part_of_it() {
        let (root, path) = (RootId::derive(b"/r"), RepoPath::new("a").unwrap());
        let id = |before: &str, after: &str, start: u32| {
            hunk_id(&root, &path, before.as_bytes(), after.as_bytes(), LineRange { start, end: start + 1 })
        };
        let plain = id("a\n", "b\n", 1);
        assert_eq!(plain.as_str().len(), 32);
        assert_eq!(plain, id("a\n", "b\n", 1));
        for other in [id("a\nb", "\n", 1), id("a\n", "b\n", 2), id("b\n", "a\n", 1)] {
            assert_ne!(plain, other);
        }
    }
}
