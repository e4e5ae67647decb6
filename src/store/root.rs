//! Which directory is the root of another.

use crate::base::{RepoPath, RootId};
use crate::ledger::{RootHeader, RootKind};
use crate::store::ignores::{Ignores, Rule};
use crate::store::objects::{WorkTree, work_tree_at};
use crate::store::walk::is_never_content;
use crate::store::{Settings, StoreError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A directory whose files are tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its id, derived from its canonical path.
    pub id: RootId,
    /// Its canonical absolute path.
    pub top: PathBuf,
    /// What it is.
    pub kind: RootKind,
    /// Its git directory, when it is a work tree.
    pub git_dir: Option<PathBuf>,
    /// Device and inode of `top`.
    pub dev_ino: (u64, u64),
}

/// Why a directory is not tracked.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not there, or cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Tracking it would be unreasonable.
    #[error("{0}")]
    Unreasonable(String),
}

impl Root {
    /// Returns the header that stands first in its chain.
    pub fn header(&self) -> RootHeader {
        let bytes = self.top.as_os_str().as_bytes();
        let path = RepoPath::new(bytes.strip_prefix(b"/").unwrap_or(bytes)).ok();
        RootHeader { root: self.id.clone(), path, kind: self.kind, dev_ino: self.dev_ino }
    }

    /// Returns the canonical absolute path as bytes.
    pub fn top_bytes(&self) -> &[u8] {
        self.top.as_os_str().as_bytes()
    }
}

/// Finds the root of a directory: the top level of its git work tree, or the directory itself.
///
/// A repository that cannot be opened makes its directory a plain root.
pub fn resolve_root(dir: &Path, settings: &Settings) -> Result<Root, Refused> {
    let canonical = dir.canonicalize().map_err(|error| StoreError::io("resolve", dir, error))?;
    let meta = canonical.metadata().map_err(|error| StoreError::io("look at", &canonical, error))?;
    if !meta.is_dir() {
        return Err(StoreError::said("track", &canonical, "it is not a directory").into());
    }
    match top_level(&canonical, meta.dev()) {
        TopLevel::WorkTree(tree) => made(tree.top, RootKind::Git, Some(tree.git_dir)),
        TopLevel::Unopenable(top) => plain(top, settings),
        TopLevel::None => plain(canonical, settings),
    }
}

enum TopLevel {
    WorkTree(WorkTree),
    Unopenable(PathBuf),
    None,
}

/// Walks up to the first directory that holds a repository, on the same file system.
fn top_level(from: &Path, device: u64) -> TopLevel {
    for dir in from.ancestors() {
        if dir.metadata().map_or(true, |meta| meta.dev() != device) {
            return TopLevel::None;
        }
        if !is_repository(&dir.join(".git")) {
            continue;
        }
        return match work_tree_at(dir) {
            Ok(tree) if from.starts_with(&tree.top) => TopLevel::WorkTree(tree),
            Ok(_) => TopLevel::None,
            Err(_) => TopLevel::Unopenable(dir.to_owned()),
        };
    }
    TopLevel::None
}

fn is_repository(dot_git: &Path) -> bool {
    match dot_git.metadata() {
        Ok(meta) if meta.is_dir() => dot_git.join("HEAD").symlink_metadata().is_ok(),
        Ok(meta) => meta.is_file(),
        Err(_) => false,
    }
}

fn made(top: PathBuf, kind: RootKind, git_dir: Option<PathBuf>) -> Result<Root, Refused> {
    let meta = top.metadata().map_err(|error| StoreError::io("look at", &top, error))?;
    let id = RootId::derive(top.as_os_str().as_bytes());
    Ok(Root { id, kind, git_dir, dev_ino: (meta.dev(), meta.ino()), top })
}

fn plain(top: PathBuf, settings: &Settings) -> Result<Root, Refused> {
    let home = settings.home.as_ref().and_then(|home| home.canonicalize().ok());
    if top == Path::new("/") {
        return Err(Refused::Unreasonable("the root of the file system is not tracked".to_owned()));
    }
    if home.as_ref() == Some(&top) {
        return Err(Refused::Unreasonable(
            "the home directory is not tracked: it is no git repository".to_owned(),
        ));
    }
    if home.is_some_and(|home| home.starts_with(&top)) {
        return Err(Refused::Unreasonable("a directory above the home directory is not tracked".to_owned()));
    }
    if let Some(limit) = exceeded(&top, settings) {
        let name = top.display();
        return Err(Refused::Unreasonable(format!(
            "{name} is not tracked: it is no git repository and holds {limit}"
        )));
    }
    made(top, RootKind::Plain, None)
}

/// Says which limit a directory without a repository exceeds. Stops counting there.
fn exceeded(top: &Path, settings: &Settings) -> Option<String> {
    let rules = [top.join(".git/info/exclude")];
    let outside = rules.iter().filter_map(|file| std::fs::read(file).ok());
    let outside = outside.fold(Ignores::none(false), |rules, text| rules.with(b"", &text));
    let mut todo = vec![(Vec::new(), outside)];
    let (mut files, mut bytes) = (0_u64, 0_u64);
    while let Some((path, above)) = todo.pop() {
        let dir = top.join(OsStr::from_bytes(&path));
        let own = std::fs::read(dir.join(".gitignore"));
        let rules = own.map_or_else(|_| above.clone(), |text| above.with(&path, &text));
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if is_never_content(name.as_bytes()) {
                continue;
            }
            let below = if path.is_empty() { name.as_bytes().to_vec() } else { join(&path, name.as_bytes()) };
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if rules.judge(&below, is_dir) == Rule::Ignored {
                continue;
            }
            if is_dir {
                todo.push((below, rules.clone()));
                continue;
            }
            files += 1;
            let size = entry.metadata().map_or(0, |meta| meta.len());
            bytes = bytes.saturating_add(if size > settings.keep_up_to { 0 } else { size });
            if files > settings.plain_files {
                return Some(format!("more than {} files", settings.plain_files));
            }
            if bytes > settings.plain_bytes {
                return Some(format!("more than {} MB", settings.plain_bytes / 1024 / 1024));
            }
        }
    }
    None
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    [path, b"/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::oracle::Git;

    fn resolve(dir: &Path) -> Root {
        resolve_root(dir, &Settings::default()).unwrap()
    }

    #[test]
    fn a_directory_belongs_to_the_top_level_of_its_work_tree() {
        let repo = Git::init();
        repo.write("a/b/f", "x");
        let root = resolve(&repo.top().join("a/b"));
        assert_eq!((root.top.as_path(), root.kind), (repo.top(), RootKind::Git));
        assert_eq!(root.id, resolve(repo.top()).id);
    }

    #[test]
    fn a_linked_worktree_is_a_root_of_its_own() {
        let repo = Git::init();
        repo.write("f", "x");
        repo.commit("one");
        repo.run(&["worktree", "add", "-q", "inner/wt"]);
        let (outer, inner) = (resolve(repo.top()), resolve(&repo.top().join("inner/wt")));
        assert_eq!(inner.kind, RootKind::Git);
        assert_ne!(outer.id, inner.id);
    }

    #[test]
    fn a_directory_without_git_is_a_root_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let root = resolve(&dir.path().join("sub"));
        assert_eq!(root.kind, RootKind::Plain);
        assert!(root.top.ends_with("sub"));
    }

    #[test]
    fn a_repository_that_cannot_be_opened_is_a_plain_directory() {
        let repo = Git::init_with(&["--object-format=sha256"]);
        std::fs::create_dir(repo.top().join("sub")).unwrap();
        let root = resolve(&repo.top().join("sub"));
        assert_eq!((root.top.as_path(), root.kind), (repo.top(), RootKind::Plain));
    }

    #[test]
    fn what_is_unreasonable_to_track_is_refused_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..4 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let limits = |files, home| Settings { plain_files: files, home, ..Settings::default() };
        let refused =
            |path: &Path, settings: &Settings| resolve_root(path, settings).unwrap_err().to_string();
        assert!(refused(dir.path(), &limits(3, None)).contains("more than 3 files"));
        assert!(refused(dir.path(), &limits(9, Some(dir.path().to_owned()))).contains("home"));
        assert!(refused(Path::new("/"), &limits(9, None)).contains("file system"));
        std::fs::write(dir.path().join(".gitignore"), "[0-9]\n").unwrap();
        assert!(resolve_root(dir.path(), &limits(3, None)).is_ok());
    }
}
