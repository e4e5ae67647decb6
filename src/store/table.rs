//! What a root looked like last, resident: directories, their files, and the stat keys under which they were read.

use crate::base::{BlobId, RepoPath, TreeId};
use crate::ledger::{Content, FileState, Mode};
use crate::store::ignores::{Ignores, Rule};
use crate::store::objects::Objects;
use crate::store::stat;
use crate::store::watch::WatchId;
use rustix::fs::Stat;
use std::collections::{BTreeMap, BTreeSet};

/// A directory of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirId(u32);

impl DirId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the kernel says of a file; while it stands, so do the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
    pub(crate) size: u64,
    pub(crate) ino: u64,
    pub(crate) mode: u32,
    pub(crate) links: u64,
}

impl Key {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            mtime: nanos(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanos(stat.st_ctime, stat.st_ctime_nsec),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            ino: stat.st_ino,
            mode: stat::mode(stat),
            links: stat::links(stat),
        }
    }

    /// Says whether a later write might leave the same key, because the clock of the file system is coarse: the key
    /// was read at `now`, too soon after the last change.
    pub(crate) fn is_racy(&self, now: i64) -> bool {
        const SECOND: i64 = 1_000_000_000;
        let coarse = self.mtime % SECOND == 0 && self.ctime % SECOND == 0;
        let slack = if coarse { 2 * SECOND + 100_000_000 } else { 30_000_000 };
        self.mtime.max(self.ctime).saturating_add(slack) >= now
    }
}

fn nanos(seconds: impl TryInto<i64>, nanos: impl TryInto<i64>) -> i64 {
    let (seconds, nanos) = (seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// A file of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) mode: Mode,
    /// The blob in the tree: of the raw bytes, or of the stand-in that stands for them.
    pub(crate) blob: BlobId,
    /// `None` until the bytes were seen by this process.
    pub(crate) size: Option<u64>,
    /// `None` until the bytes were seen by this process.
    pub(crate) content: Option<Content>,
    /// `None` until this process looked at it.
    pub(crate) key: Option<Key>,
    /// It must be read again whatever its stat says.
    pub(crate) stale: bool,
    /// It could not be read at the last look.
    pub(crate) unreadable: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    File(File),
    Dir(DirId),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Box<[u8]>,
    pub(crate) node: Node,
}

/// The rules in force inside a directory, and what they were made from.
#[derive(Clone, Debug)]
pub(crate) struct DirRules {
    pub(crate) above: [u8; 8],
    /// Stat key of its own `.gitignore`; `None` when it has none.
    pub(crate) own: Option<Key>,
    pub(crate) in_force: Ignores,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeState {
    Dirty,
    Empty,
    Is(TreeId),
}

#[derive(Clone, Debug)]
pub(crate) struct Dir {
    parent: Option<DirId>,
    name: Box<[u8]>,
    tree: TreeState,
    /// Sorted by name.
    pub(crate) entries: Vec<Entry>,
    /// `None` when its names must be listed again.
    pub(crate) key: Option<Key>,
    pub(crate) rules: Option<DirRules>,
    /// It lies in an ignored directory: newcomers are ignored whatever the rules say.
    pub(crate) covered: bool,
    /// Device and inode when it was last visited: what it is, whatever its name.
    pub(crate) dev_ino: Option<(u64, u64)>,
    watch: Option<WatchId>,
}

impl Dir {
    fn new(parent: Option<DirId>, name: &[u8]) -> Self {
        Self {
            parent,
            name: name.into(),
            tree: TreeState::Dirty,
            entries: Vec::new(),
            key: None,
            rules: None,
            covered: false,
            dev_ino: None,
            watch: None,
        }
    }

    pub(crate) fn parent(&self) -> Option<DirId> {
        self.parent
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Makes room for so many entries and no more.
    pub(crate) fn make_room_for(&mut self, entries: usize) {
        self.entries.reserve_exact(entries.saturating_sub(self.entries.len()));
    }

    pub(crate) fn position(&self, name: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| (*entry.name).cmp(name))
    }
}

/// The resident table of one root.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    dirs: Vec<Option<Dir>>,
    free: Vec<DirId>,
    watches: BTreeMap<WatchId, DirId>,
    /// Directories that should be watched and are not.
    unwatched: BTreeSet<DirId>,
    /// Watches that no directory of the table needs any more.
    released: Vec<WatchId>,
    /// Files with more names than one: a write through another name raises no event here.
    pub(crate) linked: BTreeSet<RepoPath>,
}

impl Table {
    pub(crate) const TOP: DirId = DirId(0);

    /// A root of which nothing is known.
    pub(crate) fn empty() -> Self {
        Self {
            dirs: vec![Some(Dir::new(None, b""))],
            free: Vec::new(),
            watches: BTreeMap::new(),
            unwatched: BTreeSet::new(),
            released: Vec::new(),
            linked: BTreeSet::new(),
        }
    }

    /// Rebuilds the table from a tree of the store; every file must be read again. `None` when a tree is missing.
    pub(crate) fn from_tree(objects: &Objects, tree: TreeId) -> Option<Self> {
        let mut table = Self::empty();
        let mut todo = vec![(Self::TOP, tree)];
        while let Some((dir, tree)) = todo.pop() {
            for entry in objects.tree(tree)? {
                if entry.mode == 0o40000 {
                    let child = table.add_dir(dir, &entry.name);
                    todo.push((child, TreeId(entry.id)));
                } else if let Some(mode) = mode_of(entry.mode) {
                    let blob = BlobId(entry.id);
                    let file = File {
                        mode,
                        blob,
                        size: None,
                        content: None,
                        key: None,
                        stale: true,
                        unreadable: false,
                    };
                    table.put(dir, &entry.name, Node::File(file));
                }
            }
            table.dir_mut(dir).tree = TreeState::Is(tree);
        }
        Some(table)
    }

    /// Takes the rules that a tree holds for those in force when it was made: what they covered was not seen then.
    /// `outside` are the rules from elsewhere.
    pub(crate) fn assume_rules(&mut self, objects: &Objects, outside: &Ignores) {
        let mut todo = vec![(Self::TOP, outside.clone(), false)];
        while let Some((id, above, covered)) = todo.pop() {
            let path = self.path_of(id);
            let own = self.dir(id).position(b".gitignore").ok().map(|at| self.dir(id).entries[at].node);
            let text = match own {
                Some(Node::File(file)) if file.mode != Mode::Symlink => objects.read(&file.blob.0),
                Some(Node::File(_) | Node::Dir(_)) | None => None,
            };
            let in_force = text.map_or_else(|| above.clone(), |text| above.with(&path, &text));
            for entry in &self.dir(id).entries {
                if let Node::Dir(child) = entry.node {
                    let below = if path.is_empty() {
                        entry.name.to_vec()
                    } else {
                        [&path, &b"/"[..], &entry.name].concat()
                    };
                    let covered = covered || in_force.judge(&below, true) == Rule::Ignored;
                    todo.push((child, in_force.clone(), covered));
                }
            }
            let dir = self.dir_mut(id);
            dir.covered = covered;
            dir.rules = Some(DirRules { above: above.digest(), own: None, in_force });
        }
    }

    pub(crate) fn dir(&self, id: DirId) -> &Dir {
        self.dirs[id.0 as usize].as_ref().expect("because an id is dropped with its directory")
    }

    pub(crate) fn dir_mut(&mut self, id: DirId) -> &mut Dir {
        self.dirs[id.0 as usize].as_mut().expect("because an id is dropped with its directory")
    }

    /// Returns the bytes of the path of a directory; empty at the top.
    pub(crate) fn path_of(&self, id: DirId) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = self.dir(id);
        while let Some(parent) = at.parent {
            names.push(&at.name);
            at = self.dir(parent);
        }
        names.reverse();
        names.iter().map(|name| &***name).collect::<Vec<_>>().join(&b'/')
    }

    /// Adds a directory, or returns the one that is there. A file of that name gives way.
    pub(crate) fn add_dir(&mut self, parent: DirId, name: &[u8]) -> DirId {
        if let Ok(at) = self.dir(parent).position(name)
            && let Node::Dir(known) = self.dir(parent).entries[at].node
        {
            return known;
        }
        let fresh = Dir::new(Some(parent), name);
        let id = match self.free.pop() {
            Some(id) => {
                self.dirs[id.0 as usize] = Some(fresh);
                id
            }
            None => {
                let id = DirId(u32::try_from(self.dirs.len()).expect("because memory ends first"));
                self.dirs.push(Some(fresh));
                id
            }
        };
        self.put(parent, name, Node::Dir(id));
        id
    }

    /// Puts a node under a name. What stood there is dropped.
    pub(crate) fn put(&mut self, parent: DirId, name: &[u8], node: Node) {
        self.remove(parent, name, &mut |_, _| {});
        let dir = self.dir_mut(parent);
        if let Err(at) = dir.position(name) {
            dir.entries.insert(at, Entry { name: name.into(), node });
        }
        self.soil(parent);
    }

    /// Updates a file in place; its directory's tree is recomputed only if the tree's view of it moved.
    pub(crate) fn update(&mut self, parent: DirId, at: usize, file: File) {
        let entry = &mut self.dir_mut(parent).entries[at];
        let same = matches!(&entry.node, Node::File(old) if old.mode == file.mode && old.blob == file.blob);
        entry.node = Node::File(file);
        if !same {
            self.soil(parent);
        }
    }

    /// Removes what stands under a name, and hands each file of it to `gone` with its path below `parent`'s.
    pub(crate) fn remove(&mut self, parent: DirId, name: &[u8], gone: &mut dyn FnMut(Vec<u8>, File)) {
        let Ok(at) = self.dir(parent).position(name) else { return };
        let entry = self.dir_mut(parent).entries.remove(at);
        self.soil(parent);
        let mut path = self.path_of(parent);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&entry.name);
        self.drop_node(path, entry.node, gone);
    }

    fn drop_node(&mut self, path: Vec<u8>, node: Node, gone: &mut dyn FnMut(Vec<u8>, File)) {
        let mut todo = vec![(path, node)];
        while let Some((path, node)) = todo.pop() {
            match node {
                Node::File(file) => gone(path, file),
                Node::Dir(id) => {
                    let Some(dir) = self.dirs[id.0 as usize].take() else { continue };
                    self.free.push(id);
                    self.unwatched.remove(&id);
                    if let Some(watch) = dir.watch
                        && self.watches.get(&watch) == Some(&id)
                    {
                        self.watches.remove(&watch);
                        self.released.push(watch);
                    }
                    for entry in dir.entries {
                        let mut below = path.clone();
                        below.push(b'/');
                        below.extend_from_slice(&entry.name);
                        todo.push((below, entry.node));
                    }
                }
            }
        }
    }

    /// Marks the trees of a directory and its ancestors as to be recomputed.
    fn soil(&mut self, id: DirId) {
        let mut at = Some(id);
        while let Some(id) = at {
            let dir = self.dir_mut(id);
            if dir.tree == TreeState::Dirty && id != Self::TOP {
                return;
            }
            dir.tree = TreeState::Dirty;
            at = dir.parent;
        }
    }

    /// Finds a file.
    pub(crate) fn file(&self, path: &RepoPath) -> Option<&File> {
        let (dir, at) = self.locate(path)?;
        match &self.dir(dir).entries[at].node {
            Node::File(file) => Some(file),
            Node::Dir(_) => None,
        }
    }

    /// Finds the directory and position of a path.
    pub(crate) fn locate(&self, path: &RepoPath) -> Option<(DirId, usize)> {
        let mut parts = path.as_bytes().split(|&byte| byte == b'/').peekable();
        let mut dir = Self::TOP;
        while let Some(part) = parts.next() {
            let at = self.dir(dir).position(part).ok()?;
            if parts.peek().is_none() {
                return Some((dir, at));
            }
            match self.dir(dir).entries[at].node {
                Node::Dir(id) => dir = id,
                Node::File(_) => return None,
            }
        }
        None
    }

    /// Says whether the deepest directory on the way to a path that the table holds is watched: what comes there is told.
    pub(crate) fn tells_of(&self, path: &RepoPath) -> bool {
        let mut dir = Self::TOP;
        for part in path.as_bytes().split(|&byte| byte == b'/') {
            match self.dir(dir).position(part).map(|at| self.dir(dir).entries[at].node) {
                Ok(Node::Dir(child)) => dir = child,
                Ok(Node::File(_)) | Err(_) => break,
            }
        }
        self.dir(dir).is_watched()
    }

    /// Returns the directory of a path, making what is missing.
    pub(crate) fn make_parents(&mut self, path: &RepoPath) -> DirId {
        let Some(parent) = path.parent() else { return Self::TOP };
        parent.as_bytes().split(|&byte| byte == b'/').fold(Self::TOP, |dir, part| self.add_dir(dir, part))
    }

    /// Sets what stands at a path as another look saw it: it is read again at the next one.
    pub(crate) fn set(&mut self, path: &RepoPath, blob: Option<(Mode, BlobId)>) {
        match blob {
            Some((mode, blob)) => {
                let dir = self.make_parents(path);
                self.dir_mut(dir).key = None;
                let file =
                    File { mode, blob, size: None, content: None, key: None, stale: true, unreadable: false };
                self.put(dir, path.name(), Node::File(file));
            }
            None => {
                if let Some((dir, _)) = self.locate(path) {
                    self.dir_mut(dir).key = None;
                    self.remove(dir, path.name(), &mut |_, _| {});
                }
            }
        }
    }

    // ── watches ──

    /// Notes that a directory is watched. The kernel has one watch per directory: another place of the same one, which
    /// moved or is mounted twice, is watched no longer.
    pub(crate) fn watched(&mut self, id: DirId, watch: WatchId) {
        self.unwatched.remove(&id);
        if let Some(other) = self.watches.insert(watch, id).filter(|other| *other != id) {
            self.dir_mut(other).watch = None;
            self.unwatched.insert(other);
        }
        self.dir_mut(id).watch = Some(watch);
    }

    /// Notes that a directory cannot be watched: it is walked each time.
    pub(crate) fn not_watched(&mut self, id: DirId) {
        self.unwatched.insert(id);
    }

    /// Notes that another directory stands at this place, or which one does: what was known of the listing says nothing.
    pub(crate) fn replaced(&mut self, id: DirId, dev_ino: (u64, u64)) {
        let dir = self.dir_mut(id);
        dir.key = None;
        if dir.dev_ino.replace(dev_ino).is_some() {
            dir.rules = None;
        }
        if let Some(watch) = dir.watch.take()
            && self.watches.get(&watch) == Some(&id)
        {
            self.watches.remove(&watch);
            self.released.push(watch);
        }
    }

    /// Notes that the kernel dropped a watch.
    pub(crate) fn unwatch(&mut self, watch: WatchId) {
        if let Some(id) = self.watches.remove(&watch) {
            self.dir_mut(id).watch = None;
            self.unwatched.insert(id);
        }
    }

    pub(crate) fn by_watch(&self, watch: WatchId) -> Option<DirId> {
        self.watches.get(&watch).copied()
    }

    /// Returns the directories that are walked each time.
    pub(crate) fn unwatched(&self) -> Vec<DirId> {
        self.unwatched.iter().copied().collect()
    }

    /// Says whether every change of what the table holds is told by a watch: each directory is watched, and no file has
    /// another name.
    pub(crate) fn is_told(&self) -> bool {
        self.unwatched.is_empty() && self.linked.is_empty()
    }

    /// Returns the first directory whose index is `at` or above.
    pub(crate) fn first_from(&self, at: usize) -> Option<DirId> {
        let found = self.dirs.iter().enumerate().skip(at).find(|(_, dir)| dir.is_some())?;
        u32::try_from(found.0).ok().map(DirId)
    }

    /// Returns the watched directories on the way to a path, each with the name that leads on.
    pub(crate) fn on_the_way<'p>(&self, path: &'p RepoPath) -> Vec<(WatchId, &'p [u8])> {
        let (mut dir, mut way) = (Self::TOP, Vec::new());
        for part in path.as_bytes().split(|&byte| byte == b'/') {
            way.extend(self.dir(dir).watch.map(|watch| (watch, part)));
            match self.dir(dir).position(part).map(|at| self.dir(dir).entries[at].node) {
                Ok(Node::Dir(child)) => dir = child,
                Ok(Node::File(_)) | Err(_) => break,
            }
        }
        way
    }

    /// Says whether an id still names a directory.
    pub(crate) fn has(&self, id: DirId) -> bool {
        self.dirs.get(id.0 as usize).is_some_and(Option::is_some)
    }

    /// Returns the watches that no directory needs any more: but not those that another place of the same directory
    /// has taken over since.
    pub(crate) fn take_released(&mut self) -> Vec<WatchId> {
        let mut released = std::mem::take(&mut self.released);
        released.retain(|watch| !self.watches.contains_key(watch));
        released
    }

    pub(crate) fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Forgets what the directories list: names that were passed over may count now.
    pub(crate) fn forget_listings(&mut self) {
        self.dirs.iter_mut().flatten().for_each(|dir| dir.key = None);
    }

    /// Forgets under which stat keys everything was read.
    pub(crate) fn forget_keys(&mut self) {
        for dir in self.dirs.iter_mut().flatten() {
            dir.key = None;
            for entry in &mut dir.entries {
                if let Node::File(file) = &mut entry.node {
                    file.stale = true;
                }
            }
        }
    }

    /// Returns the paths under which the table holds some inodes.
    pub(crate) fn names_of(&self, inodes: &BTreeSet<u64>) -> Vec<RepoPath> {
        let mut names = Vec::new();
        for (index, dir) in self.dirs.iter().enumerate() {
            for entry in dir.iter().flat_map(|dir| &dir.entries) {
                if let Node::File(File { key: Some(key), .. }) = &entry.node
                    && inodes.contains(&key.ino)
                    && let Ok(index) = u32::try_from(index)
                {
                    let mut path = self.path_of(DirId(index));
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    path.extend_from_slice(&entry.name);
                    names.extend(RepoPath::new(path));
                }
            }
        }
        names
    }

    /// Says whether any file stands beneath a directory.
    pub(crate) fn holds_files(&self, id: DirId) -> bool {
        self.dir(id).entries.iter().any(|entry| match entry.node {
            Node::File(_) => true,
            Node::Dir(child) => self.holds_files(child),
        })
    }

    /// Counts the directories.
    pub(crate) fn directories(&self) -> usize {
        self.dirs.iter().flatten().count()
    }

    /// Counts the files.
    pub(crate) fn files(&self) -> usize {
        let of = |dir: &Dir| dir.entries.iter().filter(|entry| matches!(entry.node, Node::File(_))).count();
        self.dirs.iter().flatten().map(of).sum()
    }

    /// Computes the trees that moved, stages them, and returns the top one.
    pub(crate) fn write_trees(&mut self, objects: &mut Objects) -> TreeId {
        match self.write_tree(Self::TOP, objects) {
            Some(tree) => tree,
            None => objects.put_tree(b""),
        }
    }

    fn write_tree(&mut self, id: DirId, objects: &mut Objects) -> Option<TreeId> {
        match self.dir(id).tree {
            TreeState::Is(tree) => return Some(tree),
            TreeState::Empty => return None,
            TreeState::Dirty => {}
        }
        let children: Vec<DirId> =
            self.dir(id).entries.iter().filter_map(|entry| child_of(&entry.node)).collect();
        for child in children {
            self.write_tree(child, objects);
        }
        let bytes = self.tree_bytes(id);
        let state = if bytes.is_empty() { TreeState::Empty } else { TreeState::Is(objects.put_tree(&bytes)) };
        self.dir_mut(id).tree = state;
        match state {
            TreeState::Is(tree) => Some(tree),
            TreeState::Empty | TreeState::Dirty => None,
        }
    }

    /// Writes a tree as git writes it: a directory sorts as if its name ended with a slash.
    fn tree_bytes(&self, id: DirId) -> Vec<u8> {
        const DIRECTORY: &str = "40000";
        let mut rows: Vec<(&[u8], &str, [u8; 20])> = Vec::with_capacity(self.dir(id).entries.len());
        for entry in &self.dir(id).entries {
            match &entry.node {
                Node::File(file) => rows.push((&entry.name, file.mode.as_str(), file.blob.0)),
                Node::Dir(child) => {
                    if let TreeState::Is(tree) = self.dir(*child).tree {
                        rows.push((&entry.name, DIRECTORY, tree.0));
                    }
                }
            }
        }
        // By name they are sorted already: the slash counts only where other names begin with a directory's.
        let collides =
            |pair: &[(&[u8], &str, [u8; 20])]| pair[0].1 == DIRECTORY && pair[1].0.starts_with(pair[0].0);
        if rows.windows(2).any(collides) {
            let slash = |mode: &str| if mode == DIRECTORY { &b"/"[..] } else { b"" };
            rows.sort_by(|(a, mode, _), (b, other, _)| {
                a.iter().chain(slash(mode)).cmp(b.iter().chain(slash(other)))
            });
        }
        let mut bytes = Vec::with_capacity(rows.len() * 48);
        for (name, mode, id) in rows {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(&id);
        }
        bytes
    }
}

fn child_of(node: &Node) -> Option<DirId> {
    match node {
        Node::Dir(id) => Some(*id),
        Node::File(_) => None,
    }
}

pub(crate) fn mode_of(mode: u32) -> Option<Mode> {
    match mode {
        0o100_644 | 0o100_664 => Some(Mode::Regular),
        0o100_755 => Some(Mode::Executable),
        0o120_000 => Some(Mode::Symlink),
        _ => None,
    }
}

/// Returns the state of a file as a record names it.
pub(crate) fn state_of(file: &File, objects: &Objects) -> FileState {
    if let (Some(size), Some(content)) = (file.size, file.content)
        && content != Content::TooBig
        && content != Content::Cap
    {
        return FileState { mode: file.mode, blob: file.blob, size, content };
    }
    crate::store::read::state_from_store(file, objects)
}
