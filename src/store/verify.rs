//! The verify walk: it compares the table with the disk, a few directories at a time, and only names what differs. The
//! ordinary path looks at those names again, so that an older stat never overwrites a newer observation.

use crate::base::RepoPath;
use crate::ledger::Change;
use crate::store::RootStore;
use crate::store::read::open_directory;
use crate::store::stat;
use crate::store::table::{DirId, Key, Node, Table};
use crate::store::walk::list;
use rustix::fs::{AtFlags, fstat, statat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

/// How far the verify walk is, and what it has found.
#[derive(Debug, Default)]
pub(crate) struct Verifier {
    /// The next directory, while a walk is on.
    at: Option<usize>,
    /// When the last one began.
    last: Option<Instant>,
    suspects: BTreeSet<RepoPath>,
    missed: u64,
}

/// How long it is left at one walk.
const SELDOM: Duration = Duration::from_secs(20);
/// How long one stretch of it takes where nobody waits.
const STRETCH: Duration = Duration::from_millis(2);
/// Names above which everything is looked at instead.
const MANY: usize = 10_000;

impl Verifier {
    /// Says whether names that differed wait to be looked at.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Says whether a walk is on.
    #[cfg(test)]
    pub(crate) fn is_on(&self) -> bool {
        self.at.is_some()
    }

    /// Takes the names that differed.
    pub(crate) fn take_suspects(&mut self) -> BTreeSet<RepoPath> {
        std::mem::take(&mut self.suspects)
    }

    /// Counts the changes of which no watch had told.
    pub(crate) fn count(&mut self, changes: &[Change]) {
        self.missed += changes.iter().filter(|change| change.flags.untold).count() as u64;
    }

    /// Returns how many changes were found only by verify walks.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }
}

impl RootStore {
    /// Begins a verify walk, unless one is on or has just been.
    pub(crate) fn begin_verifying(&mut self) {
        let recent = self.verifier.last.is_some_and(|last| last.elapsed() < SELDOM);
        if self.watcher.is_some() && self.verifier.at.is_none() && !recent {
            (self.verifier.at, self.verifier.last) = (Some(0), Some(Instant::now()));
        }
    }

    /// Compares some more of the table with the disk, for two milliseconds or until somebody waits; false when there is
    /// nothing to compare. What differs is looked at by the next look.
    pub fn verify_until(&mut self, somebody_waits: impl Fn() -> bool) -> bool {
        let Some(mut at) = self.verifier.at.take() else { return false };
        if at == 0 && self.tracked.refresh(self.user.as_ref(), self.part()) {
            self.table.forget_listings();
        }
        // A top that cannot be opened is the next look's to report.
        let Ok(top) = self.open_itself() else { return false };
        let start = Instant::now();
        while start.elapsed() < STRETCH && !somebody_waits() {
            let Some(dir) = self.table.first_from(at) else {
                if self.verifier.has_suspects() {
                    self.call_listener();
                }
                return false;
            };
            let differing = differing(&self.table, dir, top.as_fd());
            let untold = differing.into_iter().filter(|path| !self.is_told_of(path));
            self.verifier.suspects.extend(untold.collect::<Vec<_>>());
            at = dir.index() + 1;
        }
        if self.verifier.suspects.len() > MANY {
            self.verifier.suspects.clear();
            self.must_walk = true;
            return false;
        }
        self.verifier.at = Some(at);
        true
    }

    /// Says whether a watch has told of a path, or of a directory on the way to it, since everything was taken.
    pub(crate) fn is_told_of(&self, path: &RepoPath) -> bool {
        let Some(watcher) = &self.watcher else { return true };
        self.table.on_the_way(path).into_iter().any(|(watch, name)| watcher.tells(watch, name))
    }
}

/// Returns the names of one directory that the disk has otherwise than the table.
fn differing(table: &Table, id: DirId, top: BorrowedFd<'_>) -> Vec<RepoPath> {
    let path = table.path_of(id);
    let own = RepoPath::new(path.clone()).ok();
    let opened = match &own {
        Some(path) => open_directory(top, path),
        None => rustix::io::fcntl_dupfd_cloexec(top, 0).map_err(Into::into),
    };
    let stat = opened.ok().and_then(|fd| fstat(&fd).ok().map(|stat| (fd, stat)));
    let dir = table.dir(id);
    let Some((fd, stat)) =
        stat.filter(|(_, stat)| dir.dev_ino.is_none_or(|known| known == stat::identity(stat)))
    else {
        return own.into_iter().collect();
    };
    let mut names: Vec<Box<[u8]>> = Vec::new();
    if dir.key != Some(Key::of(&stat)) {
        let listed = list(&fd).unwrap_or_default();
        names.extend(listed.into_iter().filter(|name| dir.position(name).is_err()));
    }
    for entry in &dir.entries {
        if let Node::File(file) = &entry.node
            && (file.stale || key_of(&fd, &entry.name) != file.key)
        {
            names.push(entry.name.clone());
        }
    }
    let child = |name: &[u8]| {
        let whole = if path.is_empty() { name.to_vec() } else { [&path, &b"/"[..], name].concat() };
        RepoPath::new(whole).ok()
    };
    names.iter().filter_map(|name| child(name)).collect()
}

fn key_of(dir: &OwnedFd, name: &[u8]) -> Option<Key> {
    statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Key::of(&stat))
}
