//! The byte-exact walker: lists and stats, compares with the table, and says which files must be read.

use crate::base::RepoPath;
use crate::store::StoreError;
use crate::store::ignores::{Ignores, Rule};
use crate::store::table::{DirId, DirRules, File, Key, Node, Table};
use crate::store::tracked::Tracked;
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
}

/// A file to read.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) path: RepoPath,
    pub(crate) key: Key,
    /// Ignore rules cover it.
    pub(crate) ignored: bool,
    /// It may have stood there unseen: rules changed, or a call named it.
    pub(crate) unhidden: bool,
}

/// A file that is gone, with the times of the directory it is gone from.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub(crate) path: RepoPath,
    pub(crate) file: File,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
}

/// Walks the whole root. Fails only where nothing can be said at all: the top cannot be read.
pub(crate) fn walk(table: &mut Table, top: &Path, orders: &Orders<'_>) -> Result<Found, StoreError> {
    let fd = open_top(top)?;
    let mut walk = Walk { table, orders, found: Found::default() };
    let here = Here { id: Table::TOP, path: Vec::new(), depth: 0, covered: false, unhidden: false };
    walk.visit(&here, &fd, orders.rules).map_err(|error| StoreError::io("list", top, error))?;
    Ok(walk.found)
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
}

/// The directory that is being visited.
struct Here {
    id: DirId,
    path: Vec<u8>,
    depth: usize,
    /// It lies in an ignored directory: newcomers are ignored whatever the rules say.
    covered: bool,
    /// Its newcomers may have stood there unseen.
    unhidden: bool,
}

impl Here {
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
    fn visit(&mut self, here: &Here, fd: &OwnedFd, above: &Ignores) -> std::io::Result<()> {
        let stat = fstat(fd)?;
        let key = Key::of(&stat);
        let known = self.table.dir(here.id).key == Some(key);
        let listed = if known { self.known_names(here.id) } else { list(fd)? };
        let old_digest = self.table.dir(here.id).rules.as_ref().map(|rules| rules.in_force.digest());
        let rules = self.rules_inside(here, fd, above, known);
        let changed = old_digest.is_some_and(|old| old != rules.digest());
        let here = Here {
            id: here.id,
            path: here.path.clone(),
            depth: here.depth,
            covered: here.covered,
            unhidden: here.unhidden || changed,
        };
        // New rules may show names that were hidden: they are not among the known ones.
        let listed = if changed && known { list(fd)? } else { listed };
        let look = Look { rules: &rules, key: &key };
        self.drop_missing(&here, &listed, &look);
        for name in &listed {
            self.entry(&here, fd, name, &look);
        }
        self.table.dir_mut(here.id).key = (!key.is_racy(self.orders.now)).then_some(key);
        Ok(())
    }

    fn known_names(&self, id: DirId) -> Vec<Box<[u8]>> {
        self.table.dir(id).entries.iter().map(|entry| entry.name.clone()).collect()
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
                found.push(Gone { path, file, mtime: key.mtime, ctime: key.ctime });
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
            FileType::Directory => self.directory(here, fd, name, look),
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
        let path = here.child(name);
        let known = match self.table.dir(here.id).position(name) {
            Err(_) => false,
            Ok(at) => match &self.table.dir(here.id).entries[at].node {
                Node::File(file) if file.key == Some(key) => return,
                Node::File(_) => true,
                Node::Dir(_) => {
                    self.gone(here.id, name, look.key);
                    false
                }
            },
        };
        let ignored = here.covered || look.rules.judge(&path, false) == Rule::Ignored;
        let Ok(path) = RepoPath::new(path) else { return };
        let named = ignored && self.orders.named.contains(&path);
        if ignored && !known && !named && !self.orders.tracked.holds(path.as_bytes()) {
            return;
        }
        let unhidden = !known && (named || here.unhidden);
        self.found.jobs.push(Job { path, key, ignored, unhidden });
    }

    fn directory(&mut self, here: &Here, fd: &OwnedFd, name: &[u8], look: &Look<'_>) {
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
        let unhidden = fresh && here.unhidden;
        let below = Here { id, path, depth: here.depth + 1, covered: ignored, unhidden };
        if let Err(error) = self.visit(&below, &child, look.rules) {
            self.remark(&below.path, &error.to_string());
        }
    }

    /// Says whether an ignored directory must be entered all the same.
    fn wanted_beneath(&self, known: Option<DirId>, path: &[u8]) -> bool {
        known.is_some_and(|id| self.table.holds_files(id))
            || self.orders.tracked.holds_beneath(path)
            || RepoPath::new(path)
                .is_ok_and(|dir| self.orders.named.iter().any(|named| named.is_beneath(&dir)))
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
fn list(fd: &OwnedFd) -> std::io::Result<Vec<Box<[u8]>>> {
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
