//! Taking what was read into the table, and noting what changed by it.

use crate::base::{RepoPath, WallNs};
use crate::ledger::{Change, Content, FileState, Flags};
use crate::store::RootStore;
use crate::store::capture::Brought;
use crate::store::objects::blob_id;
use crate::store::read::{Read, Taken, stand_in};
use crate::store::table::{File, Node, state_of};
use crate::store::walk::{Gone, Job};
use std::collections::BTreeMap;

/// A job with the circumstances of its reading.
pub(crate) struct Seen<'a> {
    pub(crate) job: &'a Job,
    pub(crate) read_at: WallNs,
    /// The file system's clock when the walk began.
    pub(crate) now: i64,
    /// The store is at its cap.
    pub(crate) full: bool,
    /// When the first look of a chain began: what is older is base, and no change is noted for it.
    pub(crate) base_until: Option<WallNs>,
}

/// A path before and after.
struct Sides {
    before: Option<File>,
    after: Option<FileState>,
}

/// What the file system says of a change, and what was odd about reading it.
struct How {
    mtime: i64,
    ctime: i64,
    flags: Flags,
}

impl RootStore {
    pub(crate) fn note_gone(
        &mut self,
        gone: &Gone,
        read_at: WallNs,
        changes: &mut BTreeMap<RepoPath, Change>,
    ) {
        let change = Change {
            path: gone.path.clone(),
            before: Some(state_of(&gone.file, &self.objects)),
            after: None,
            read_at,
            mtime: WallNs(gone.mtime),
            ctime: WallNs(gone.ctime),
            flags: Flags { untold: gone.untold, ..Flags::default() },
        };
        self.table.linked.remove(&gone.path);
        changes.insert(gone.path.clone(), change);
    }

    pub(crate) fn take_in(
        &mut self,
        seen: &Seen<'_>,
        read: Read,
        changes: &mut BTreeMap<RepoPath, Change>,
        brought: &mut Brought,
    ) {
        match read {
            Read::File(mut taken) => {
                let known = self.table.file(&seen.job.path).is_some();
                if seen.full && !known && taken.state.content == Content::Kept {
                    cap(&mut taken);
                }
                self.objects.put_hashed_blob(taken.in_tree, &taken.bytes);
                self.settle(seen, &taken, changes);
            }
            Read::Gone => self.vanished(seen, changes),
            Read::Unreadable(why) => {
                brought.remarks.push(format!("{}: {why}", seen.job.path));
                self.unreadable(seen, changes);
            }
        }
    }

    /// Puts a file as it was read into the table, and notes the change if it is one.
    pub(crate) fn settle(
        &mut self,
        seen: &Seen<'_>,
        taken: &Taken,
        changes: &mut BTreeMap<RepoPath, Change>,
    ) {
        let path = &seen.job.path;
        let file = File {
            mode: taken.state.mode,
            blob: taken.in_tree,
            size: Some(taken.state.size),
            content: Some(taken.state.content),
            key: Some(taken.key),
            stale: taken.unstable || taken.key.is_racy(seen.now),
            unreadable: false,
        };
        if taken.key.links > 1 {
            self.table.linked.insert(path.clone());
        }
        let before = self.table.file(path).copied();
        match self.table.locate(path) {
            Some((dir, at)) if before.is_some() => self.table.update(dir, at, file),
            Some(_) | None => {
                let dir = self.table.make_parents(path);
                // A directory that came while its file was read has not been visited, nor is it watched.
                self.must_walk |= self.table.dir(dir).dev_ino.is_none();
                self.table.put(dir, path.name(), Node::File(file));
            }
        }
        let same = before.is_some_and(|old| (old.mode, old.blob) == (file.mode, file.blob));
        if same && !taken.unstable {
            return;
        }
        let hidden = before.is_none()
            && self.last.is_some()
            && (seen.job.unhidden || (!self.looked && self.stood_before(taken)));
        if hidden && seen.job.ignored && self.stood_before(taken) {
            return;
        }
        let flags = Flags {
            unstable: taken.unstable,
            ignored: seen.job.ignored,
            base_unknown: hidden,
            untold: seen.job.untold,
            ..Flags::default()
        };
        let how = How { mtime: taken.key.mtime, ctime: taken.key.ctime, flags };
        self.note(seen, Sides { before, after: Some(taken.state) }, how, changes);
    }

    /// Says whether a file that comes into sight has not changed since the last link.
    fn stood_before(&self, taken: &Taken) -> bool {
        const MARGIN_MS: i64 = -2_000;
        let last = taken.key.mtime.max(taken.key.ctime);
        self.known_until().is_some_and(|known| last < known.plus_ms(MARGIN_MS).0)
    }

    fn note(&self, seen: &Seen<'_>, sides: Sides, how: How, changes: &mut BTreeMap<RepoPath, Change>) {
        let How { mtime, ctime, flags } = how;
        let (before, after) = (sides.before.map(|file| state_of(&file, &self.objects)), sides.after);
        let path = seen.job.path.clone();
        // What is read twice in one look keeps the older "before": the link before this one never saw the state between.
        let before = match seen.base_until {
            Some(_) => None,
            None => changes.get(&path).map_or(before, |earlier| earlier.before),
        };
        if before == after && (Flags { untold: false, ..flags }).is_plain() {
            changes.remove(&path);
            return;
        }
        if seen.base_until.is_some_and(|began| ctime < began.0) {
            changes.remove(&path);
            return;
        }
        let change = Change {
            path: path.clone(),
            before,
            after,
            read_at: seen.read_at,
            mtime: WallNs(mtime),
            ctime: WallNs(ctime),
            flags,
        };
        changes.insert(path, change);
    }

    /// The file went away between listing and reading.
    fn vanished(&mut self, seen: &Seen<'_>, changes: &mut BTreeMap<RepoPath, Change>) {
        let path = &seen.job.path;
        let Some(before) = self.table.file(path).copied() else { return };
        self.table.set(path, None);
        let flags = Flags { untold: seen.job.untold, ..Flags::default() };
        let how = How { mtime: seen.job.key.mtime, ctime: seen.read_at.0, flags };
        self.note(seen, Sides { before: Some(before), after: None }, how, changes);
    }

    /// The file cannot be read: what stood there is kept, and said to be unreadable, once.
    fn unreadable(&mut self, seen: &Seen<'_>, changes: &mut BTreeMap<RepoPath, Change>) {
        let path = &seen.job.path;
        let (Some(before), Some((dir, at))) = (self.table.file(path).copied(), self.table.locate(path))
        else {
            return;
        };
        self.table.update(dir, at, File { stale: true, unreadable: true, ..before });
        if before.unreadable {
            return;
        }
        let kept = state_of(&before, &self.objects);
        let flags = Flags { unreadable: true, ignored: seen.job.ignored, ..Flags::default() };
        let how = How { mtime: seen.job.key.mtime, ctime: seen.job.key.ctime, flags };
        self.note(seen, Sides { before: Some(before), after: Some(kept) }, how, changes);
    }
}

fn cap(taken: &mut Taken) {
    let text = stand_in(Content::Cap, taken.state.size, &taken.state.blob.to_string());
    taken.state.content = Content::Cap;
    taken.in_tree = blob_id(&text);
    taken.bytes = text;
}
