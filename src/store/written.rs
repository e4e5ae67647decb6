//! The look at files that were written where they stand, when nothing else happened: the most frequent one. Each is opened
//! by its whole path, and its inode proves that it is the file that the watch told of. No directory is opened.

use crate::base::RepoPath;
use crate::store::RootStore;
use crate::store::ignores::Rule;
use crate::store::read::{Read, Reading, Taken, open_unlinked};
use crate::store::stat;
use crate::store::table::{DirId, Key, Node};
use crate::store::walk::Job;
use crate::store::watch::Activity;
use rustix::fs::{AtFlags, CWD, fstat, statat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Files above which directories are opened.
const FEW: usize = 128;
/// Bytes above which contents are read in batches.
const LITTLE: u64 = 16 * 1024 * 1024;

impl RootStore {
    /// Reads the files that were written, and those that are to be looked at again. `None` where anything else happened, or
    /// is otherwise than the table has it: that is for the usual look, which asks less.
    pub(crate) fn read_written(&self, activity: &Activity) -> Option<Vec<(Job, Read)>> {
        let touched = activity.touched.values().map(BTreeSet::len).sum::<usize>();
        let only = self.looked
            && !self.must_walk
            && !activity.moved
            && !activity.overflow
            && activity.dropped.is_empty()
            && self.table.is_told()
            && !self.verifier.has_suspects();
        if !only || !(1..=FEW).contains(&(touched + self.again.len())) || !self.is_top_as_seen() {
            return None;
        }
        let reading = Reading::new(&self.settings, self.secret());
        let (mut read, mut sum) = (Vec::new(), 0_u64);
        for (dir, at) in self.places_of(activity)? {
            let (job, device) = self.job_at(dir, at)?;
            let (job, taken) = read_as_known(&reading, &self.root.top, job, device)?;
            sum = sum.saturating_add(job.key.size);
            if sum > LITTLE {
                return None;
            }
            read.push((job, Read::File(taken)));
        }
        Some(read)
    }

    /// Says whether the directory of the last look stands at the root's path.
    fn is_top_as_seen(&self) -> bool {
        let is = self.root.dev_ino;
        let stat = statat(CWD, &self.root.top, AtFlags::SYMLINK_NOFOLLOW);
        self.stood.is_none_or(|(_, inode)| inode == is.1)
            && stat.is_ok_and(|stat| stat::identity(&stat) == is)
    }

    /// Finds the names in the table, each once; `None` when one is not there.
    fn places_of(&self, activity: &Activity) -> Option<BTreeSet<(DirId, usize)>> {
        let mut places = BTreeSet::new();
        for (watch, names) in &activity.touched {
            let id = self.table.by_watch(*watch)?;
            let dir = self.table.dir(id);
            for name in names {
                places.insert((id, dir.position(name).ok()?));
            }
        }
        for path in &self.again {
            places.insert(self.table.locate(path)?);
        }
        Some(places)
    }

    /// Makes the job of a regular file that has no other name and was read before, with the device it lies on. What
    /// decides about other files is none.
    fn job_at(&self, id: DirId, at: usize) -> Option<(Job, u64)> {
        let dir = self.table.dir(id);
        let entry = dir.entries.get(at)?;
        let Node::File(file) = entry.node else { return None };
        let key = file.key.filter(|key| key.links == 1 && stat::is_regular(key.mode) && !file.unreadable)?;
        if *entry.name == *b".gitignore" {
            return None;
        }
        let mut path = self.table.path_of(id);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        let rules = &dir.rules.as_ref()?.in_force;
        let ignored = dir.covered || rules.judge(&path, false) == Rule::Ignored;
        let path = RepoPath::new(path).ok()?;
        Some((Job { path, key, ignored, unhidden: false, untold: false }, dir.dev_ino?.0))
    }
}

/// Reads the file of a job where it is the one that is known, holds something, and stands still meanwhile.
fn read_as_known(reading: &Reading<'_>, top: &Path, mut job: Job, device: u64) -> Option<(Job, Taken)> {
    let path = top.join(OsStr::from_bytes(job.path.as_bytes()));
    let mut file = open_unlinked(&path).ok()?;
    let stat = fstat(&file).ok()?;
    let is = Key::of(&stat);
    // What is empty may be half written: that is waited for elsewhere.
    let known = stat::identity(&stat) == (device, job.key.ino)
        && stat::is_regular(is.mode)
        && is.links == 1
        && is.size > 0;
    if !known {
        return None;
    }
    job.key = is;
    let taken = reading.read_from(&mut file, job.path.name(), is).ok().flatten()?;
    (!taken.unstable).then_some((job, taken))
}
