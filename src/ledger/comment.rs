//! Comments: anchored to lines, following them, or outdated with their old text.

use crate::base::{CommentId, RepoPath, RootId};
use crate::ledger::{Actor, FileState, LineRange};
use serde::{Deserialize, Serialize};

/// A comment as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// The root.
    pub root: RootId,
    /// The path; it need not be changed.
    pub path: RepoPath,
    /// The lines it was made on.
    pub lines: LineRange,
    /// The file it was made on.
    pub anchor: Option<FileState>,
    /// The text of those lines then, at most 4 KiB.
    pub excerpt: String,
    /// What it says.
    pub body: String,
    /// Who wrote it.
    pub author: Actor,
}
