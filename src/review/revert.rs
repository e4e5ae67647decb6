//! From judged hunks to what shall become of each file.

use crate::base::{RepoPath, RootId};
use crate::diff::Eol;
use crate::ledger::{Blobs, ByteEdit, Content, Entry, FilePlan, FileState, Hunk, Listing, Mode, Wanted};
use std::collections::BTreeMap;

/// A hunk that will be put back, and the bytes that stand in its place then.
#[derive(Clone, Debug)]
pub(super) struct Chosen<'a> {
    /// The hunk.
    pub(super) hunk: &'a Hunk,
    /// `None`: its base stands again.
    pub(super) partly: Option<Vec<u8>>,
}

/// What shall become of the files, and which paths are refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Reverts {
    /// The files, in the order in which they go back.
    pub(super) files: Vec<FilePlan>,
    /// Why the hunks of a path cannot be put back.
    pub(super) refused: BTreeMap<(RootId, RepoPath), String>,
}

/// Plans the files of the chosen hunks.
pub(super) fn reverts(listing: &Listing, blobs: &dyn Blobs, chosen: &[Chosen<'_>]) -> Reverts {
    let mut groups: BTreeMap<(RootId, RepoPath), Vec<&Chosen<'_>>> = BTreeMap::new();
    for one in chosen {
        groups.entry((one.hunk.root.clone(), one.hunk.path.clone())).or_default().push(one);
    }
    let mut reverts = Reverts::default();
    for (at, group) in groups {
        match (FileGroup { listing, blobs, group: &group }).plan() {
            Ok(plans) => reverts.files.extend(plans),
            Err(reason) => {
                reverts.refused.insert(at, reason);
            }
        }
    }
    FilePlan::sort(&mut reverts.files);
    reverts
}

/// The chosen hunks of one path; there is at least one.
struct FileGroup<'a> {
    listing: &'a Listing,
    blobs: &'a dyn Blobs,
    group: &'a [&'a Chosen<'a>],
}

impl FileGroup<'_> {
    fn plan(&self) -> Result<Vec<FilePlan>, String> {
        let first = self.group.first().ok_or("no hunk")?.hunk;
        let plan = |path: &RepoPath, expected, wanted| FilePlan {
            root: first.root.clone(),
            path: path.clone(),
            expected,
            wanted,
            other: None,
        };
        let renamed = self.chosen(|entry| matches!(entry, Entry::Rename { .. }));
        let Some(Entry::Rename { old_path }) = renamed.map(|chosen| &chosen.hunk.entry) else {
            return Ok(vec![plan(&first.path, first.current, self.wanted(first)?)]);
        };
        if self.listing.hunks.iter().any(|hunk| hunk.root == first.root && hunk.path == *old_path) {
            return Err(format!("something else stands at {old_path} now"));
        }
        let wanted = match self.wanted(first)? {
            Wanted::Edited { mode, edits } => Wanted::Bytes { mode, bytes: self.edited(first, &edits)? },
            wanted @ (Wanted::Absent | Wanted::State(_) | Wanted::Bytes { .. }) => wanted,
        };
        let back = FilePlan { other: Some(first.path.clone()), ..plan(old_path, None, wanted) };
        let gone = plan(&first.path, first.current, Wanted::Absent);
        Ok(vec![back, FilePlan { other: Some(old_path.clone()), ..gone }])
    }

    /// Says what shall stand at the path, or at the old one for a rename.
    fn wanted(&self, first: &Hunk) -> Result<Wanted, String> {
        if self.is_whole() {
            return self.base_state(first, first.base.map(|base| base.mode));
        }
        let Some(current) = first.current else {
            return Err("the file is gone, and only a part of it would come back".to_owned());
        };
        let remode = self.chosen(|entry| matches!(entry, Entry::Mode { .. } | Entry::Type { .. })).is_some();
        let mode = first.base.filter(|_| remode).map_or(current.mode, |base| base.mode);
        if self.chosen(replaces_content).is_some() {
            return self.base_state(first, Some(mode));
        }
        let edits = self.edits();
        if self.chosen(|entry| *entry == Entry::Eol).is_some() {
            let bytes = self.edited(first, &edits)?;
            let eol = self.base_eol(first).ok_or("its base has no one line ending")?;
            return Ok(Wanted::Bytes { mode, bytes: eol.give(&bytes) });
        }
        if edits.is_empty() {
            return Ok(Wanted::State(FileState { mode, ..current }));
        }
        Ok(Wanted::Edited { mode, edits })
    }

    /// Says whether the whole path goes back: every hunk and entry of it, none in part.
    fn is_whole(&self) -> bool {
        let Some(first) = self.group.first().map(|chosen| chosen.hunk) else { return false };
        let beside = self.listing.hunks.iter().filter(|hunk| {
            hunk.root == first.root && hunk.path == first.path && hunk.entry != Entry::Outside
        });
        let mut ids = beside.map(|hunk| &hunk.id);
        ids.all(|id| self.group.iter().any(|chosen| chosen.hunk.id == *id && chosen.partly.is_none()))
    }

    fn base_state(&self, first: &Hunk, mode: Option<Mode>) -> Result<Wanted, String> {
        let Some(base) = first.base else { return Ok(Wanted::Absent) };
        if base.content == Content::Withheld || self.blobs.bytes(base.blob).is_none() {
            return Err("the bytes of its base are not kept".to_owned());
        }
        Ok(Wanted::State(FileState { mode: mode.unwrap_or(base.mode), ..base }))
    }

    /// Returns the edits of the text hunks, ascending and disjoint.
    fn edits(&self) -> Vec<ByteEdit> {
        let texts = self.group.iter().filter(|chosen| chosen.hunk.entry == Entry::Text);
        let mut edits: Vec<ByteEdit> = texts
            .map(|chosen| ByteEdit {
                start: chosen.hunk.current_bytes.start,
                end: chosen.hunk.current_bytes.end,
                text: chosen.partly.clone().unwrap_or_else(|| chosen.hunk.restore.clone()),
            })
            .collect();
        edits.sort_by_key(|edit| (edit.start, edit.end));
        edits
    }

    fn edited(&self, first: &Hunk, edits: &[ByteEdit]) -> Result<Vec<u8>, String> {
        let current = first.current.ok_or("the file is gone")?;
        let bytes = self.blobs.bytes(current.blob).ok_or("its bytes are not kept")?;
        apply_edits(&bytes, edits).ok_or_else(|| "the file is not what was listed".to_owned())
    }

    fn base_eol(&self, first: &Hunk) -> Option<Eol> {
        Eol::of(&self.blobs.bytes(first.base?.blob)?)
    }

    fn chosen(&self, is: impl Fn(&Entry) -> bool) -> Option<&Chosen<'_>> {
        self.group.iter().copied().find(|chosen| is(&chosen.hunk.entry))
    }
}

/// Applies ascending, disjoint edits; `None` when they do not fit the bytes.
pub fn apply_edits(bytes: &[u8], edits: &[ByteEdit]) -> Option<Vec<u8>> {
    let mut edited = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        edited.extend_from_slice(bytes.get(at..edit.start)?);
        edited.extend_from_slice(&edit.text);
        at = (edit.end >= edit.start).then_some(edit.end)?;
    }
    edited.extend_from_slice(bytes.get(at..)?);
    Some(edited)
}

/// Says whether an entry stands for the content as a whole.
fn replaces_content(entry: &Entry) -> bool {
    match entry {
        Entry::Binary | Entry::Symlink { .. } | Entry::Type { .. } | Entry::Empty => true,
        Entry::Text
        | Entry::Mode { .. }
        | Entry::Rename { .. }
        | Entry::Eol
        | Entry::Summary { .. }
        | Entry::Outside => false,
    }
}
