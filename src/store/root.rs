//! Which directory is the root of another.

use crate::base::{RepoPath, RootId};
use crate::ledger::{RootHeader, RootKind};
use crate::store::{Settings, StoreError};
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
pub fn resolve_root(dir: &Path, settings: &Settings) -> Result<Root, Refused> {
    let canonical = dir.canonicalize().map_err(|error| StoreError::io("resolve", dir, error))?;
    let meta = canonical.metadata().map_err(|error| StoreError::io("look at", &canonical, error))?;
    if !meta.is_dir() {
        return Err(StoreError::said("track", &canonical, "it is not a directory").into());
    }
    let _ = settings;
    let id = RootId::derive(canonical.as_os_str().as_bytes());
    Ok(Root { id, kind: RootKind::Plain, git_dir: None, dev_ino: (meta.dev(), meta.ino()), top: canonical })
}
