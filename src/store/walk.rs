//! The byte-exact walker: lists and stats, compares with the table, and says which files must be read.

use crate::base::RepoPath;
use crate::store::StoreError;
use crate::store::ignores::{Ignores, Rule};
use crate::store::read::{OpenDirectory, open_directory};
use crate::store::stat::identity;
use crate::store::table::{DirId, DirRules, File, Key, Node, Table};
use crate::store::tracked::Tracked;
use crate::store::watch::{Activity, Unwatched, Watcher, is_shared_with_others};
use rustix::fs::{AtFlags, Dir as Listing, FileType, Mode as FsMode, OFlags, Stat, fstat, openat, statat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Prefix of the names of our own temporary files beside files that are put back; they are no content.
pub(crate) const TEMPORARY: &[u8] = b".hunkgate-tmp-";

/// How deep directories are followed.
const DEEPEST: usize = 256;

/// What a walk is told.
#[derive(Debug)]
pub(crate) struct Orders<'a> {
    /// The rules from outside the worktree.
    pub(crate) rules: &'a Ignores,
    /// What the user's index tracks.
    pub(crate) tracked: &'a Tracked,
    /// Paths that calls named: observed even if ignored.
    pub(crate) named: &'a BTreeSet<RepoPath>,
    /// The file system's clock at the start, in nanoseconds.
    pub(crate) now: i64,
    /// Watches each directory before it is listed.
    pub(crate) watcher: Option<&'a Watcher>,
    /// How many directories may be watched.
    pub(crate) watch_up_to: usize,
    /// Device and inode of our own state directory, which is no content wherever it lies.
    pub(crate) state: (u64, u64),
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files that must be read, in no order.
    pub(crate) jobs: Vec<Job>,
    /// Files that are gone; the table no longer holds them.
    pub(crate) gone: Vec<Gone>,
    /// Directories that the table did not hold, parents first.
    pub(crate) made: Vec<RepoPath>,
    /// What could not be followed, for people.
    pub(crate) remarks: Vec<String>,
    /// The directory of the file that was found last, where it is known by its name alone.
    pub(crate) open: Option<OpenDirectory>,
}

impl Found {
    /// Takes over what another look found.
    pub(crate) fn add(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.gone.extend(other.gone);
        self.made.extend(other.made);
        self.remarks.extend(other.remarks);
    }

    /// Takes over what a look at the suspects of a verify walk found besides. What no watch tells of is marked.
    pub(crate) fn add_untold(&mut self, mut other: Self, is_told: impl Fn(&RepoPath) -> bool) {
        let known: BTreeSet<_> =
            self.jobs.iter().map(|job| &job.path).chain(self.gone.iter().map(|gone| &gone.path)).collect();
        for job in &mut other.jobs {
            job.untold = !known.contains(&job.path) && !is_told(&job.path);
        }
        for gone in &mut other.gone {
            gone.untold = !known.contains(&gone.path) && !is_told(&gone.path);
        }
        self.add(other);
    }
}

/// A file to read.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) path: RepoPath,
    pub(crate) key: Key,
    /// Ignore rules cover it.
    pub(crate) ignored: bool,
    /// It may have stood there unseen: rules that covered it changed, or a call named it.
    pub(crate) unhidden: bool,
    /// No watch told of it: a verify walk did.
    pub(crate) untold: bool,
}

/// A file that is gone, with the times of the directory it is gone from.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub(crate) path: RepoPath,
    pub(crate) file: File,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
    /// No watch told of it: a verify walk did.
    pub(crate) untold: bool,
}

/// Walks the whole root. Fails only where nothing can be said at all: the top cannot be read.
pub(crate) fn walk(
    table: &mut Table,
    (top, fd): (&Path, &OwnedFd),
    orders: &Orders<'_>,
) -> Result<Found, StoreError> {
    let mut walk = Walk { table, orders, found: Found::default(), inodes: BTreeSet::new() };
    let here = Here { deep: true, ..Here::top() };
    walk.visit(&here, fd, orders.rules).map_err(|error| StoreError::io("list", top, error))?;
    Ok(walk.found)
}

/// Looks only at what was touched, at some paths, and at what is not watched.
pub(crate) fn touch(
    table: &mut Table,
    fd: &OwnedFd,
    orders: &Orders<'_>,
    activity: &Activity,
    paths: &BTreeSet<RepoPath>,
) -> Found {
    let mut walk = Walk { table, orders, found: Found::default(), inodes: BTreeSet::new() };
    for (watch, names) in &activity.touched {
        if let Some(id) = walk.table.by_watch(*watch) {
            names.iter().for_each(|name| walk.forget_key(id, name));
            walk.touch(fd, id, Some(names));
        }
    }
    for path in paths {
        let (id, name) = walk.nearest(path);
        walk.forget_key(id, &name);
        walk.touch(fd, id, Some(&BTreeSet::from([name])));
    }
    walk.other_names(fd);
    for watch in &activity.dropped {
        walk.table.unwatch(*watch);
    }
    for id in walk.table.unwatched() {
        if walk.table.has(id) {
            walk.touch(fd, id, None);
        }
    }
    walk.found
}

/// Opens the top directory of a root.
pub(crate) fn open_top(top: &Path) -> Result<OwnedFd, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(top, flags, FsMode::empty())
        .map_err(|error| StoreError::io("open", top, std::io::Error::from(error)))
}

struct Walk<'a> {
    table: &'a mut Table,
    orders: &'a Orders<'a>,
    found: Found,
    /// Files with several names that were met.
    inodes: BTreeSet<u64>,
}

/// The directory that is being visited.
struct Here {
    id: DirId,
    path: Vec<u8>,
    depth: usize,
    /// It lies in an ignored directory: newcomers are ignored whatever the rules say.
    covered: bool,
    hidden: Hidden,
    /// Directories that are known are entered, too.
    deep: bool,
}

/// Which newcomers of a directory may have stood there unseen at the last look.
#[derive(Clone, Debug)]
enum Hidden {
    /// None: its rules are what they were.
    Nothing,
    /// What these rules cover, which were in force then.
    By(Ignores),
    /// All: it was covered itself.
    All,
}

impl Hidden {
    fn may_hide(&self, path: &[u8], is_directory: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::By(old) => old.judge(path, is_directory) == Rule::Ignored,
            Self::All => true,
        }
    }

    /// Says the same of a directory in it whose own rules of then are not known.
    fn beneath(&self, directory: &[u8]) -> Self {
        if self.may_hide(directory, true) { Self::All } else { self.clone() }
    }
}

impl Here {
    fn top() -> Self {
        Self {
            id: Table::TOP,
            path: Vec::new(),
            depth: 0,
            covered: false,
            hidden: Hidden::Nothing,
            deep: false,
        }
    }

    fn child(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.path.len() + 1 + name.len());
        path.extend_from_slice(&self.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }
}

impl Walk<'_> {
    /// Looks at some names of a directory, or at all of them when it is not known which were touched.
    fn touch(&mut self, top: &OwnedFd, id: DirId, names: Option<&BTreeSet<Vec<u8>>>) {
        let path = self.table.path_of(id);
        let opened = match RepoPath::new(path.clone()) {
            Ok(path) => open_directory(top.as_fd(), &path),
            Err(_) => rustix::io::fcntl_dupfd_cloexec(top, 0).map_err(Into::into),
        };
        let Some((fd, stat)) = opened.ok().and_then(|fd| fstat(&fd).ok().map(|stat| (fd, stat))) else {
            return;
        };
        let dir = self.table.dir(id);
        if dir.dev_ino.is_some_and(|known| known != identity(&stat)) {
            // Another directory stands there: the one that holds it was touched as well.
            return;
        }
        let depth = path.iter().filter(|byte| **byte == b'/').count() + 1;
        let rules = dir.rules.as_ref().map(|rules| rules.in_force.clone());
        let here = Here { id, path, depth, covered: dir.covered, hidden: Hidden::Nothing, deep: false };
        match (names, rules) {
            (Some(names), Some(rules)) if !names.contains(b".gitignore".as_slice()) => {
                let look = Look { rules: &rules, key: &Key::of(&stat) };
                self.table.dir_mut(id).key = None;
                let before = self.found.jobs.len();
                for name in names.iter().filter(|name| !is_never_content(name)) {
                    self.entry(&here, &fd, name, &look);
                }
                if self.found.jobs.len() > before {
                    self.found.open = Some(OpenDirectory { path: here.path, fd });
                }
            }
            (names, _) => {
                let here = Here { deep: names.is_some(), ..here };
                let above = self.rules_above(id);
                self.table.dir_mut(id).key = None;
                if let Err(error) = self.visit(&here, &fd, &above) {
                    self.remark(&here.path, &error.to_string());
                }
            }
        }
    }

    /// A file that was touched is read again whatever its stat says.
    fn forget_key(&mut self, id: DirId, name: &[u8]) {
        let dir = self.table.dir_mut(id);
        if let Ok(at) = dir.position(name)
            && let Node::File(file) = &mut dir.entries[at].node
        {
            file.stale = true;
        }
    }

    /// Looks at the other names of files that have several: a write through one raises no event at the others.
    fn other_names(&mut self, top: &OwnedFd) {
        if !self.inodes.is_empty() {
            let names = self.table.names_of(&self.inodes);
            self.table.linked.extend(names);
        }
        for path in self.table.linked.clone() {
            let (id, name) = self.nearest(&path);
            self.touch(top, id, Some(&BTreeSet::from([name])));
        }
    }

    fn rules_above(&self, id: DirId) -> Ignores {
        let parent = self.table.dir(id).parent();
        let rules = parent.and_then(|parent| self.table.dir(parent).rules.as_ref());
        rules.map_or_else(|| self.orders.rules.clone(), |rules| rules.in_force.clone())
    }

    /// Returns the deepest directory on the way to a path that the table holds, and the name to look at in it.
    fn nearest(&self, path: &RepoPath) -> (DirId, Vec<u8>) {
        let mut at = Table::TOP;
        let mut parts = path.as_bytes().split(|&byte| byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let child = self.table.dir(at).position(part).map(|index| self.table.dir(at).entries[index].node);
            match child {
                Ok(Node::Dir(id)) if parts.peek().is_some() => at = id,
                Ok(_) | Err(_) => return (at, part.to_vec()),
            }
        }
        (at, path.name().to_vec())
    }

    /// Watches a directory before it is listed.
    fn watch(&mut self, id: DirId, fd: &OwnedFd, stat: &Stat) {
        let is = identity(stat);
        if self.table.dir(id).dev_ino != Some(is) {
            self.table.replaced(id, is);
        }
        let Some(watcher) = self.orders.watcher else { return };
        if self.table.dir(id).is_watched() {
            return;
        }
        let far = self.table.dir(Table::TOP).dev_ino.is_some_and(|(device, _)| device != is.0);
        if self.table.watches() >= self.orders.watch_up_to || (far && is_shared_with_others(fd)) {
            return self.table.not_watched(id);
        }
        let watched = if id == Table::TOP { watcher.watch_top(fd) } else { watcher.watch(fd) };
        match watched {
            Ok(watch) => self.table.watched(id, watch),
            Err(Unwatched::Full | Unwatched::Refused) => self.table.not_watched(id),
        }
    }

    fn visit(&mut self, here: &Here, fd: &OwnedFd, above: &Ignores) -> std::io::Result<()> {
        let stat = fstat(fd)?;
        self.watch(here.id, fd, &stat);
        let key = Key::of(&stat);
        let was_covered = std::mem::replace(&mut self.table.dir_mut(here.id).covered, here.covered);
        let known = self.table.dir(here.id).key == Some(key);
        let old = self.table.dir(here.id).rules.as_ref().map(|rules| rules.in_force.clone());
        let rules = self.rules_inside(here, fd, above, known);
        let changed = old.as_ref().is_some_and(|old| old.digest() != rules.digest());
        let hidden = match old {
            None => here.hidden.clone(),
            Some(_) if !changed => Hidden::Nothing,
            Some(_) if was_covered => Hidden::All,
            Some(old) => Hidden::By(old),
        };
        let here = Here {
            id: here.id,
            path: here.path.clone(),
            depth: here.depth,
            covered: here.covered,
            hidden,
            // Rules that changed change what is below.
            deep: here.deep || changed,
        };
        let look = Look { rules: &rules, key: &key };
        // New rules may show names that were hidden: they are not among the known ones.
        let names = if known && !changed {
            self.unsettled(here.id, fd)
        } else {
            let listed = list(fd)?;
            self.drop_missing(&here, &listed, &look);
            self.table.dir_mut(here.id).make_room_for(listed.len());
            listed
        };
        for name in &names {
            self.entry(&here, fd, name, &look);
        }
        self.table.dir_mut(here.id).key = (!key.is_racy(self.orders.now)).then_some(key);
        Ok(())
    }

    /// Returns the names of a directory, whose listing is known, that are not files of unchanged stat.
    fn unsettled(&self, id: DirId, fd: &OwnedFd) -> Vec<Box<[u8]>> {
        let entries = self.table.dir(id).entries.iter();
        let unsettled = entries.filter(|entry| match &entry.node {
            Node::Dir(_) => true,
            Node::File(file) => {
                file.stale || {
                    let stat = statat(fd, OsStr::from_bytes(&entry.name), AtFlags::SYMLINK_NOFOLLOW);
                    !stat.is_ok_and(|stat| file.key == Some(Key::of(&stat)))
                }
            }
        });
        unsettled.map(|entry| entry.name.clone()).collect()
    }

    /// Removes what the table holds and the listing does not.
    fn drop_missing(&mut self, here: &Here, listed: &[Box<[u8]>], look: &Look<'_>) {
        let names = self.table.dir(here.id).entries.iter().map(|entry| &entry.name);
        let missing: Vec<_> = names.filter(|name| listed.binary_search(name).is_err()).cloned().collect();
        for name in missing {
            self.gone(here.id, &name, look.key);
        }
    }

    fn gone(&mut self, dir: DirId, name: &[u8], key: &Key) {
        let found = &mut self.found.gone;
        self.table.remove(dir, name, &mut |path, file| {
            if let Ok(path) = RepoPath::new(path) {
                found.push(Gone { path, file, mtime: key.mtime, ctime: key.ctime, untold: false });
            }
        });
    }

    fn entry(&mut self, here: &Here, fd: &OwnedFd, name: &[u8], look: &Look<'_>) {
        let stat = match statat(fd, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT) => return self.gone(here.id, name, look.key),
            Err(error) => {
                let path = here.child(name);
                return self.remark(&path, &error.to_string());
            }
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.directory(here, (fd, &stat), name, look),
            FileType::RegularFile | FileType::Symlink => self.file(here, name, &stat, look),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => self.gone(here.id, name, look.key),
        }
    }

    fn file(&mut self, here: &Here, name: &[u8], stat: &Stat, look: &Look<'_>) {
        let key = Key::of(stat);
        let known = match self.table.dir(here.id).position(name) {
            Err(_) => false,
            Ok(at) => match &self.table.dir(here.id).entries[at].node {
                Node::File(file) if file.key == Some(key) && !file.stale => return,
                Node::File(_) => true,
                Node::Dir(_) => {
                    self.gone(here.id, name, look.key);
                    false
                }
            },
        };
        let path = here.child(name);
        self.note_links(&path, &key);
        let ignored = here.covered || look.rules.judge(&path, false) == Rule::Ignored;
        let Ok(path) = RepoPath::new(path) else { return };
        let named = ignored && self.orders.named.contains(&path);
        if ignored && !known && !named && !self.orders.tracked.holds(path.as_bytes()) {
            return;
        }
        let unhidden = !known && (named || here.hidden.may_hide(path.as_bytes(), false));
        self.found.jobs.push(Job { path, key, ignored, unhidden, untold: false });
    }

    fn note_links(&mut self, path: &[u8], key: &Key) {
        let Ok(path) = RepoPath::new(path) else { return };
        if key.links == 1 {
            self.table.linked.remove(&path);
        } else if !self.table.linked.contains(&path) {
            self.inodes.insert(key.ino);
        }
    }

    fn directory(&mut self, here: &Here, (fd, stat): (&OwnedFd, &Stat), name: &[u8], look: &Look<'_>) {
        if identity(stat) == self.orders.state {
            return;
        }
        let path = here.child(name);
        let ignored = here.covered || look.rules.judge(&path, true) == Rule::Ignored;
        let known =
            match self.table.dir(here.id).position(name).map(|at| self.table.dir(here.id).entries[at].node) {
                Ok(Node::Dir(id)) => Some(id),
                Ok(Node::File(_)) => {
                    self.gone(here.id, name, look.key);
                    None
                }
                Err(_) => None,
            };
        if ignored && !self.wanted_beneath(known, &path) {
            if known.is_some() {
                self.gone(here.id, name, look.key);
            }
            return;
        }
        let is_known = known.is_some_and(|id| self.table.dir(id).dev_ino == Some(identity(stat)));
        if is_known && !here.deep && !self.is_named_beneath(&path) {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let child = match openat(fd, OsStr::from_bytes(name), flags, FsMode::empty()) {
            Ok(child) => child,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return self.gone(here.id, name, look.key);
            }
            Err(error) => return self.remark(&path, &error.to_string()),
        };
        if here.depth >= DEEPEST {
            return self.remark(&path, "it is nested too deeply");
        }
        let fresh = known.is_none();
        let id = known.unwrap_or_else(|| self.table.add_dir(here.id, name));
        if fresh && let Ok(path) = RepoPath::new(path.clone()) {
            self.found.made.push(path);
        }
        let hidden = here.hidden.beneath(&path);
        let deep = here.deep || !is_known;
        let below = Here { id, path, depth: here.depth + 1, covered: ignored, hidden, deep };
        if let Err(error) = self.visit(&below, &child, look.rules) {
            self.remark(&below.path, &error.to_string());
        }
    }

    /// Says whether an ignored directory must be entered all the same.
    fn wanted_beneath(&self, known: Option<DirId>, path: &[u8]) -> bool {
        known.is_some_and(|id| self.table.holds_files(id))
            || self.orders.tracked.holds_beneath(path)
            || self.is_named_beneath(path)
    }

    /// Says whether a call named something beneath a directory that the table does not hold.
    fn is_named_beneath(&self, path: &[u8]) -> bool {
        let Ok(dir) = RepoPath::new(path) else { return false };
        let mut after =
            self.orders.named.range(dir.clone()..).take_while(|named| named.as_bytes().starts_with(path));
        after.any(|named| named.is_beneath(&dir) && self.table.file(named).is_none())
    }

    fn remark(&mut self, path: &[u8], why: &str) {
        if let Ok(path) = RepoPath::new(path) {
            self.found.remarks.push(format!("{path}: {why}"));
        }
    }

    /// Returns the rules inside a directory, from the table while nothing they were made from changed.
    fn rules_inside(&mut self, here: &Here, fd: &OwnedFd, above: &Ignores, listing_known: bool) -> Ignores {
        let own = match &self.table.dir(here.id).rules {
            Some(rules) if listing_known && rules.own.is_none() => None,
            _ => statat(fd, ".gitignore", AtFlags::SYMLINK_NOFOLLOW)
                .ok()
                .filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
                .map(|stat| Key::of(&stat)),
        };
        if let Some(rules) = &self.table.dir(here.id).rules
            && rules.above == above.digest()
            && rules.own == own
            && !own.is_some_and(|key| key.is_racy(self.orders.now))
        {
            return rules.in_force.clone();
        }
        let mut in_force = above.clone();
        if !here.path.is_empty()
            && let Some(text) = read_small(fd.as_fd(), Path::new(".git/info/exclude"))
        {
            in_force = in_force.with(&here.path, &text);
        }
        if own.is_some()
            && let Some(text) = read_small(fd.as_fd(), Path::new(".gitignore"))
        {
            in_force = in_force.with(&here.path, &text);
        }
        let rules = DirRules { above: above.digest(), own, in_force: in_force.clone() };
        self.table.dir_mut(here.id).rules = Some(rules);
        in_force
    }
}

/// What the visit of one directory hands to each of its entries.
struct Look<'a> {
    rules: &'a Ignores,
    key: &'a Key,
}

/// Lists a directory's names, sorted, without those that are never content.
pub(crate) fn list(fd: &OwnedFd) -> std::io::Result<Vec<Box<[u8]>>> {
    let mut names = Vec::new();
    for entry in Listing::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !is_never_content(name) {
            names.push(name.into());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Says whether a name is never content: `.git` in any case, and our own temporaries.
pub(crate) fn is_never_content(name: &[u8]) -> bool {
    matches!(name, b"." | b"..") || name.eq_ignore_ascii_case(b".git") || name.starts_with(TEMPORARY)
}

fn read_small(dir: BorrowedFd<'_>, path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(dir, path, flags, FsMode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(4 * 1024 * 1024).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
