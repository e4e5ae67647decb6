//! The contents of a root's store, readable from any thread while the root is observed.

use crate::base::{BlobId, CommitId, RepoPath, TreeId};
use crate::ledger::{Blobs, FileState, Mode};
use crate::store::objects::{Objects, TreeEntry};
use crate::store::read::kept_state;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Trees that are remembered, before the memory is begun anew.
const MAX_TREES: usize = 4_096;

/// Reads what a root's store holds.
#[derive(Clone, Debug)]
pub struct StoreBlobs {
    root_dir: PathBuf,
    borrowed: Option<PathBuf>,
    /// Opened at the first question.
    opened: Arc<Mutex<Opened>>,
}

#[derive(Debug, Default)]
struct Opened {
    objects: Option<Objects>,
    trees: BTreeMap<TreeId, Arc<[TreeEntry]>>,
    commits: BTreeMap<CommitId, Option<TreeId>>,
}

impl StoreBlobs {
    /// Makes a reader of the store beneath a root's state directory.
    pub(crate) fn new(root_dir: &Path, borrowed: Option<PathBuf>) -> Self {
        Self { root_dir: root_dir.to_owned(), borrowed, opened: Arc::default() }
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Opened) -> Option<T>) -> Option<T> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.objects.is_none() {
            opened.objects = Objects::open(&self.root_dir, self.borrowed.clone()).ok();
        }
        ask(&mut opened)
    }
}

impl Blobs for StoreBlobs {
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        self.with(|opened| opened.read(&blob.0).map(Into::into))
    }

    fn entry(&self, tree: TreeId, path: &RepoPath) -> Option<FileState> {
        self.with(|opened| {
            let found = opened.find(tree, path)?;
            let mode = match found.mode {
                0o100_644 => Mode::Regular,
                0o100_755 => Mode::Executable,
                0o120_000 => Mode::Symlink,
                _ => return None,
            };
            Some(kept_state(mode, BlobId(found.id), opened.objects.as_ref()?))
        })
    }

    fn holds(&self, tree: TreeId, path: &RepoPath) -> bool {
        self.with(|opened| opened.find(tree, path)).is_some()
    }

    fn committed(&self, head: &CommitId, path: &RepoPath) -> Option<BlobId> {
        self.with(|opened| {
            let tree = opened.tree_of(head)?;
            opened.find(tree, path).map(|entry| BlobId(entry.id))
        })
    }
}

impl Opened {
    fn read(&mut self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let objects = self.objects.as_mut()?;
        if let Some(bytes) = objects.read(id) {
            return Some(bytes);
        }
        objects.catch_up().ok()?;
        objects.read(id)
    }

    /// Walks from a tree to what stands at a path in it.
    fn find(&mut self, tree: TreeId, path: &RepoPath) -> Option<TreeEntry> {
        let mut tree = tree;
        let mut names = path.as_bytes().split(|&byte| byte == b'/').peekable();
        while let Some(name) = names.next() {
            let entry = self.tree(tree)?.iter().find(|entry| entry.name == name)?.clone();
            if names.peek().is_none() {
                return Some(entry);
            }
            tree = TreeId(entry.id);
        }
        None
    }

    fn tree(&mut self, id: TreeId) -> Option<Arc<[TreeEntry]>> {
        if let Some(known) = self.trees.get(&id) {
            return Some(known.clone());
        }
        let entries: Arc<[TreeEntry]> = crate::store::objects::parse_tree(&self.read(&id.0)?)?.into();
        if self.trees.len() >= MAX_TREES {
            self.trees.clear();
        }
        self.trees.insert(id, entries.clone());
        Some(entries)
    }

    /// Returns the tree of a commit of the user's repository.
    fn tree_of(&mut self, commit: &CommitId) -> Option<TreeId> {
        if let Some(known) = self.commits.get(commit) {
            return *known;
        }
        let id = TreeId::parse(commit.as_str())?;
        let text = self.read(&id.0);
        let named =
            text.as_deref().and_then(|text| text.strip_prefix(b"tree ")).and_then(|rest| rest.get(..40));
        let tree = named.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(TreeId::parse);
        self.commits.insert(commit.clone(), tree);
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::oracle::{Eye, Git};
    use crate::store::state::open_private;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).unwrap()
    }

    #[test]
    fn what_was_written_before_a_segment_was_sealed_is_found_while_it_is_not_packed() {
        let git = Git::none();
        git.write("f", "first\n");
        let mut eye = Eye::on(&git);
        let (first, blobs) = (eye.look(), eye.store.blobs());
        assert!(blobs.entry(first.tree, &path("f")).is_some());
        let lock = open_private(&eye.store.dir.join("pack.lock")).unwrap();
        lock.lock().unwrap();
        git.write("f", "second\n");
        let second = eye.look();
        eye.store.pin(&crate::base::SessionKey::new("s"), &[second.tree]).unwrap();
        let entry = blobs.entry(second.tree, &path("f")).expect("it is there");
        assert_eq!(blobs.bytes(entry.blob).as_deref(), Some(b"second\n".as_slice()));
        drop(lock);
        eye.store.objects.settle();
    }

    #[test]
    fn what_is_read_is_found_whatever_is_packed_meanwhile() {
        let git = Git::none();
        git.write("f", "first\n");
        let mut eye = Eye::on(&git);
        let session = crate::base::SessionKey::new("s");
        let mut trees = vec![eye.look().tree];
        let blobs = eye.store.blobs();
        let held = |trees: &[TreeId]| {
            trees.iter().all(|tree| {
                let entry = blobs.entry(*tree, &path("f"));
                entry.is_some_and(|entry| entry.size > 0 && blobs.bytes(entry.blob).is_some())
            })
        };
        for round in 0..60 {
            git.write("f", format!("{round}\n"));
            trees.push(eye.look().tree);
            eye.store.pin(&session, &trees).unwrap();
            eye.store.objects.settle();
            assert!(held(&trees), "in round {round}");
        }
    }

    #[test]
    fn what_never_changed_is_found_by_tree_and_path() {
        let git = Git::init();
        git.write("src/deep/f", "one\n");
        git.commit("one");
        git.write("src/new", "two\n");
        let mut eye = Eye::on(&git);
        let seen = eye.look();
        let blobs = eye.store.blobs();
        for (file, text) in [("src/deep/f", "one\n"), ("src/new", "two\n")] {
            let state = blobs.entry(seen.tree, &path(file)).unwrap();
            assert_eq!((state.mode, state.size), (Mode::Regular, 4));
            assert_eq!(blobs.bytes(state.blob).as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(blobs.entry(seen.tree, &path("src/none")), None);
        assert_eq!(blobs.entry(seen.tree, &path("src")), None);
    }

    #[test]
    fn what_a_commit_of_the_user_holds_is_found_in_their_repository() {
        let git = Git::init();
        git.write("src/f", "one\n");
        git.commit("one");
        let mut eye = Eye::on(&git);
        let head = eye.look().head.unwrap();
        git.write("src/f", "two\n");
        git.commit("two");
        let moved = eye.look();
        let blobs = eye.store.blobs();
        let now = moved.changes[0].after.map(|state| state.blob);
        assert_eq!(blobs.committed(&moved.head.unwrap(), &path("src/f")), now);
        assert_ne!(blobs.committed(&head, &path("src/f")), now);
        assert_eq!(blobs.committed(&head, &path("none")), None);
        assert_eq!(blobs.committed(&CommitId::new("no commit"), &path("src/f")), None);
    }
}
