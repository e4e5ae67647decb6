//! What the user's index tracks, and which of its ids can be taken for the bytes on disk.

use crate::base::BlobId;
use crate::ledger::Mode;
use crate::store::objects::{IndexEntry, UserRepository};
use crate::store::table::{Key, mode_of};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot of the user's index. Read-only, taken again when the file changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracked {
    entries: Arc<[IndexEntry]>,
    stamp: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    mtime: (i64, i64),
    ino: u64,
    size: u64,
}

impl Tracked {
    /// Reads the index again when its file changed, and says whether it did.
    pub(crate) fn refresh(&mut self, user: Option<&UserRepository>) -> bool {
        let Some(user) = user else { return false };
        let stamp = stamp_of(user.index_path());
        if stamp.is_some() && stamp == self.stamp {
            return false;
        }
        *self = Self { entries: user.index().into(), stamp };
        true
    }

    /// Says whether a path is tracked.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        self.find(path).is_some()
    }

    /// Says whether a path beneath a directory is tracked.
    pub(crate) fn holds_beneath(&self, dir: &[u8]) -> bool {
        let mut prefix = dir.to_vec();
        prefix.push(b'/');
        let at = self.entries.partition_point(|entry| entry.path < prefix);
        self.entries.get(at).is_some_and(|entry| entry.path.starts_with(&prefix))
    }

    fn find(&self, path: &[u8]) -> Option<&IndexEntry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        self.entries.get(at)
    }

    /// Returns the id of a file's bytes as the index knows them, if its stat says that they are still these.
    pub(crate) fn proven(&self, path: &[u8], key: &Key) -> Option<(Mode, BlobId)> {
        let entry = self.find(path)?;
        let stamp = self.stamp?;
        let mode = mode_of(entry.mode)?;
        let index_time = stamp.mtime.0.saturating_mul(1_000_000_000).saturating_add(stamp.mtime.1);
        let same = !entry.unsure
            && entry.size != 0
            && Some(mode) == disk_mode(key.mode)
            && u64::from(entry.size) == key.size
            && time_of(entry.mtime) == key.mtime
            && time_of(entry.ctime) == key.ctime
            && u64::from(entry.ino) == key.ino & 0xffff_ffff
            && key.mtime < index_time;
        same.then_some((mode, BlobId(entry.id)))
    }
}

fn time_of((seconds, nanos): (i32, u32)) -> i64 {
    i64::from(seconds).saturating_mul(1_000_000_000).saturating_add(i64::from(nanos))
}

/// Returns git's mode for a mode on disk.
pub(crate) fn disk_mode(mode: u32) -> Option<Mode> {
    match mode & 0o170_000 {
        0o120_000 => Some(Mode::Symlink),
        0o100_000 if mode & 0o100 != 0 => Some(Mode::Executable),
        0o100_000 => Some(Mode::Regular),
        _ => None,
    }
}

fn stamp_of(index: PathBuf) -> Option<Stamp> {
    let meta = std::fs::metadata(index).ok()?;
    Some(Stamp { mtime: (meta.mtime(), meta.mtime_nsec()), ino: meta.ino(), size: meta.size() })
}
