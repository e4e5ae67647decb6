//! What the user's index tracks, and which of its ids can be taken for the bytes on disk.

use crate::base::BlobId;
use crate::ledger::Mode;
use crate::store::objects::UserRepository;
use crate::store::table::{Key, mode_of};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// What the user's index says of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexEntry {
    pub(crate) id: [u8; 20],
    pub(crate) mode: u32,
    pub(crate) size: u32,
    pub(crate) mtime: (i32, u32),
    pub(crate) ctime: (i32, u32),
    pub(crate) ino: u32,
    /// Unmerged, or only intended to be added: tracked, but its id says nothing.
    pub(crate) unsure: bool,
}

/// A snapshot of the user's index. Read-only, taken again when the file changed.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    paths: Paths,
    /// Of each path, while its id may be taken over.
    entries: Vec<IndexEntry>,
    stamp: Option<Stamp>,
}

/// Paths in ascending order, one after the other in one buffer.
#[derive(Debug, Default)]
struct Paths {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Paths {
    fn push(&mut self, path: &[u8]) {
        self.bytes.extend_from_slice(path);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// Returns the position of the first path that is not before `path`.
    fn lower_bound(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(|known| known < path) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let at = self.lower_bound(path);
        (self.get(at) == Some(path)).then_some(at)
    }

    fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// Which part of the index is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Which paths are tracked.
    Paths,
    /// What it says of them as well.
    Everything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    mtime: (i64, i64),
    ino: u64,
    size: u64,
}

impl Tracked {
    /// Reads the index again when its file changed, and says whether it did.
    pub(crate) fn refresh(&mut self, user: Option<&UserRepository>, part: Part) -> bool {
        let Some(user) = user else { return false };
        let stamp = stamp_of(user.index_path());
        if stamp.is_some() && stamp == self.stamp {
            return false;
        }
        *self = Self { stamp, ..Self::read(user, part) };
        true
    }

    fn read(user: &UserRepository, part: Part) -> Self {
        let (mut read, mut in_order) = (Self::default(), true);
        user.read_index(|path, entry| {
            let last = read.paths.ends.len().checked_sub(1).and_then(|last| read.paths.get(last));
            in_order &= last.is_none_or(|last| last < path);
            read.add(path, entry, part);
        });
        if !in_order {
            read = Self::sorted(user, part);
        }
        read.paths.shrink();
        read.entries.shrink_to_fit();
        read
    }

    fn add(&mut self, path: &[u8], entry: IndexEntry, part: Part) {
        self.paths.push(path);
        if part == Part::Everything {
            self.entries.push(entry);
        }
    }

    /// Reads an index in which a path stands several times, or out of order.
    fn sorted(user: &UserRepository, part: Part) -> Self {
        let mut all: Vec<(Vec<u8>, IndexEntry)> = Vec::new();
        user.read_index(|path, entry| all.push((path.to_vec(), entry)));
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|b, a| {
            let same = a.0 == b.0;
            a.1.unsure |= same;
            same
        });
        let mut read = Self::default();
        all.iter().for_each(|(path, entry)| read.add(path, *entry, part));
        read
    }

    /// Forgets what the index says of paths, but not which it tracks.
    pub(crate) fn forget_entries(&mut self) {
        self.entries = Vec::new();
    }

    /// Says whether a path is tracked.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        self.paths.find(path).is_some()
    }

    /// Says whether a path beneath a directory is tracked.
    pub(crate) fn holds_beneath(&self, dir: &[u8]) -> bool {
        let prefix = [dir, b"/"].concat();
        let at = self.paths.lower_bound(&prefix);
        self.paths.get(at).is_some_and(|path| path.starts_with(&prefix))
    }

    /// Returns the id of a file's bytes as the index knows them, if its stat says that they are still these.
    pub(crate) fn proven(&self, path: &[u8], key: &Key) -> Option<(Mode, BlobId)> {
        let entry = self.entries.get(self.paths.find(path)?)?;
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
