//! A worktree in memory: files by absolute path, and what a look at a root finds changed.

use hunkgate::base::{BlobId, RepoPath, RootId, TreeId, WallNs};
use hunkgate::ledger::{Blobs, Change, Content, FileState, Flags, Mode, RootHeader, RootKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every file there is, every root that was opened, every byte that was ever seen.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
    removed: BTreeMap<String, WallNs>,
    declared: Vec<(String, RootKind)>,
    seen: BTreeMap<RootId, BTreeMap<RepoPath, FileState>>,
    tops: BTreeMap<RootId, String>,
    blobs: BTreeMap<BlobId, Arc<[u8]>>,
    trees: BTreeMap<TreeId, BTreeMap<RepoPath, FileState>>,
    /// Something was written since the last look.
    stirred: bool,
}

#[derive(Clone, Debug)]
struct File {
    bytes: Vec<u8>,
    mode: Mode,
    mtime: WallNs,
    ctime: WallNs,
}

impl Tree {
    /// Makes `top` a root of this kind.
    pub(crate) fn declare(&mut self, top: &str, kind: RootKind) {
        self.declared.push((top.to_owned(), kind));
    }

    /// Finds the root of a directory: the deepest that was declared, else the directory itself.
    pub(crate) fn open(&mut self, directory: &str) -> Result<RootHeader, String> {
        if !directory.starts_with('/') {
            return Err(format!("{directory:?} is not absolute"));
        }
        let holds = |top: &str| directory == top || directory.starts_with(&format!("{top}/"));
        let declared = self.declared.iter().filter(|(top, _)| holds(top)).max_by_key(|(top, _)| top.len());
        let (top, kind) = declared.cloned().unwrap_or_else(|| (directory.to_owned(), RootKind::Plain));
        let root = RootId::derive(top.as_bytes());
        let dev_ino = (1, self.tops.len() as u64 + 1);
        self.tops.insert(root.clone(), top.clone());
        Ok(RootHeader { root, path: RepoPath::new(&top[1..]).ok(), kind, dev_ino })
    }

    /// Returns the absolute path of a root.
    pub(crate) fn top(&self, root: &RootId) -> &str {
        self.tops.get(root).map_or("", String::as_str)
    }

    pub(crate) fn write(&mut self, path: &str, bytes: &[u8], at: WallNs) {
        self.stirred = true;
        let mode = self.files.get(path).map_or(Mode::Regular, |file| file.mode);
        let file = File { bytes: bytes.to_vec(), mode, mtime: at, ctime: at };
        self.files.insert(path.to_owned(), file);
    }

    pub(crate) fn link(&mut self, path: &str, target: &str, at: WallNs) {
        let file = File { bytes: target.as_bytes().to_vec(), mode: Mode::Symlink, mtime: at, ctime: at };
        self.files.insert(path.to_owned(), file);
    }

    pub(crate) fn remove(&mut self, path: &str, at: WallNs) -> bool {
        self.stirred = true;
        self.removed.insert(path.to_owned(), at);
        self.files.remove(path).is_some()
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str, at: WallNs) -> bool {
        self.stirred = true;
        let Some(mut file) = self.files.remove(from) else { return false };
        self.removed.insert(from.to_owned(), at);
        file.ctime = at;
        self.files.insert(to.to_owned(), file);
        true
    }

    pub(crate) fn chmod(&mut self, path: &str, executable: bool, at: WallNs) -> bool {
        let Some(file) = self.files.get_mut(path) else { return false };
        file.mode = if executable { Mode::Executable } else { Mode::Regular };
        file.ctime = at;
        true
    }

    /// Returns the bytes of a file.
    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| file.bytes.as_slice())
    }

    /// Returns the state of a path beneath a root, keeping its bytes.
    pub(crate) fn state(&mut self, root: &RootId, path: &RepoPath) -> Option<FileState> {
        let file = self.files.get(&self.absolute(root, path))?.clone();
        Some(self.keep(&file.bytes, file.mode))
    }

    /// Keeps bytes in the store.
    pub(crate) fn keep(&mut self, bytes: &[u8], mode: Mode) -> FileState {
        let blob = blob_id(bytes);
        self.blobs.entry(blob).or_insert_with(|| Arc::from(bytes));
        FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept }
    }

    /// Puts a state at a path, or removes what is there.
    pub(crate) fn put(&mut self, root: &RootId, path: &RepoPath, state: Option<FileState>, at: WallNs) {
        let absolute = self.absolute(root, path);
        let Some(state) = state else {
            self.remove(&absolute, at);
            return;
        };
        let bytes = self.bytes_of(state.blob).map(|bytes| bytes.to_vec()).unwrap_or_default();
        self.files.insert(absolute, File { bytes, mode: state.mode, mtime: at, ctime: at });
    }

    /// Says whether anything was written since the last look.
    #[allow(dead_code, reason = "only the race harness asks")]
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Looks at a root: the tree, and what differs from the last look. The first look finds nothing changed.
    pub(crate) fn look(&mut self, root: &RootId, at: WallNs) -> (TreeId, Vec<Change>) {
        self.stirred = false;
        let now = self.current(root);
        let tree = tree_id(&now);
        self.trees.insert(tree, now.clone());
        let Some(before) = self.seen.insert(root.clone(), now.clone()) else { return (tree, Vec::new()) };
        let mut paths: Vec<&RepoPath> = before.keys().chain(now.keys()).collect();
        paths.sort();
        paths.dedup();
        let differs = |path: &&&RepoPath| before.get(**path) != now.get(**path);
        let change = |path: &RepoPath| {
            let (mtime, ctime) = self.times(root, path);
            let (before, after) = (before.get(path).copied(), now.get(path).copied());
            Change { path: path.clone(), before, after, read_at: at, mtime, ctime, flags: Flags::default() }
        };
        let changes = paths.iter().filter(differs).map(|path| change(path)).collect();
        (tree, changes)
    }

    /// Returns what changed at or after an instant, as a first look lists it: of unknown base.
    pub(crate) fn meanwhile(&mut self, root: &RootId, since: WallNs, at: WallNs) -> Vec<Change> {
        let now = self.current(root);
        let flags = Flags { base_unknown: true, ..Flags::default() };
        let change = |(path, state): (RepoPath, FileState)| {
            let (mtime, ctime) = self.times(root, &path);
            Change { path, before: None, after: Some(state), read_at: at, mtime, ctime, flags }
        };
        now.into_iter().map(change).filter(|change| change.ctime >= since).collect()
    }

    fn current(&mut self, root: &RootId) -> BTreeMap<RepoPath, FileState> {
        let prefix = format!("{}/", self.top(root));
        let beneath: Vec<(RepoPath, File)> = self
            .files
            .iter()
            .filter_map(|(path, file)| Some((RepoPath::new(path.strip_prefix(&prefix)?).ok()?, file.clone())))
            .collect();
        beneath.into_iter().map(|(path, file)| (path, self.keep(&file.bytes, file.mode))).collect()
    }

    fn times(&self, root: &RootId, path: &RepoPath) -> (WallNs, WallNs) {
        let absolute = self.absolute(root, path);
        match self.files.get(&absolute) {
            Some(file) => (file.mtime, file.ctime),
            None => {
                let at = self.removed.get(&absolute).copied().unwrap_or_default();
                (at, at)
            }
        }
    }

    fn absolute(&self, root: &RootId, path: &RepoPath) -> String {
        format!("{}/{}", self.top(root), String::from_utf8_lossy(path.as_bytes()))
    }

    fn bytes_of(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        self.blobs.get(&blob).cloned()
    }
}

impl hunkgate::policy::Ground for Tree {
    fn real(&self, absolute: &str) -> Option<String> {
        let mut path = hunkgate::policy::normal(absolute);
        for _ in 0..16 {
            let link = self.files.iter().find(|(link, file)| {
                file.mode == Mode::Symlink
                    && path
                        .strip_prefix(link.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            let Some((link, file)) = link else { return Some(path) };
            let target = String::from_utf8_lossy(&file.bytes).into_owned();
            let directory = &link[..link.rfind('/').unwrap_or(0)];
            let target = if target.starts_with('/') { target } else { format!("{directory}/{target}") };
            path = hunkgate::policy::normal(&format!("{target}{}", &path[link.len()..]));
        }
        None
    }

    fn content(&self, absolute: &str) -> String {
        self.bytes(absolute)
            .map_or_else(|| "absent".to_owned(), |bytes| hunkgate::base::Digest::of(&[bytes]).to_string())
    }
}

impl Blobs for Tree {
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        self.bytes_of(blob)
    }

    fn entry(&self, tree: TreeId, path: &RepoPath) -> Option<FileState> {
        self.trees.get(&tree)?.get(path).copied()
    }

    fn holds(&self, tree: TreeId, path: &RepoPath) -> bool {
        let mut paths = self.trees.get(&tree).into_iter().flat_map(BTreeMap::keys);
        paths.any(|held| held == path || held.is_beneath(path))
    }
}

fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId(first_twenty(&blake3::hash(bytes)))
}

fn tree_id(states: &BTreeMap<RepoPath, FileState>) -> TreeId {
    let mut hasher = blake3::Hasher::new();
    for (path, state) in states {
        hasher.update(path.as_bytes());
        hasher.update(format!("\0{}{}", state.mode.as_str(), state.blob).as_bytes());
    }
    TreeId(first_twenty(&hasher.finalize()))
}

fn first_twenty(hash: &blake3::Hash) -> [u8; 20] {
    let mut id = [0; 20];
    id.copy_from_slice(&hash.as_bytes()[..20]);
    id
}
