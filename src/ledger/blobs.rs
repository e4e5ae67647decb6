//! Content by id. Reading content is allowed in pure rooms; reading the world is not.

use crate::base::{BlobId, CommitId, RepoPath, TreeId};
use crate::ledger::FileState;
use std::sync::Arc;

/// Where bytes are found by their git blob id.
pub trait Blobs {
    /// Returns the bytes of `blob`; `None` when they are not kept (withheld, too big, at the cap, or lost).
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>>;

    /// Returns what stands at `path` in `tree`: for paths that never changed, which no observation names.
    fn entry(&self, tree: TreeId, path: &RepoPath) -> Option<FileState> {
        let _ = (tree, path);
        None
    }

    /// Says whether `tree` holds anything at `path`: a file, or a directory with what is beneath it.
    fn holds(&self, tree: TreeId, path: &RepoPath) -> bool {
        self.entry(tree, path).is_some()
    }

    /// Returns the blob that the commit `head` (hex) holds at `path`: for the label `vcs`.
    fn committed(&self, head: &CommitId, path: &RepoPath) -> Option<BlobId> {
        let _ = (head, path);
        None
    }
}
