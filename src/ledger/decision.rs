//! What a person decided, and the reverts that followed.

use crate::base::{CommandId, Digest, HunkId, RepoPath, RootId};
use crate::ledger::{Actor, FileState, Mode};
use serde::{Deserialize, Serialize};

/// The state of a hunk or entry. Unknown ids are unreviewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Nobody decided.
    #[default]
    Unreviewed,
    /// Kept. Accept writes no file.
    Accepted,
    /// Put back on disk.
    Rejected,
}

/// One decision command: all that one accept, reject, undo or redo did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its id.
    pub id: CommandId,
    /// What it was.
    pub verb: Verb,
    /// Who, and through which door.
    pub actor: Actor,
    /// What was decided.
    pub items: Vec<Decision>,
}

/// What a decision command was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verb")]
pub enum Verb {
    /// Accept.
    Accept,
    /// Reject.
    Reject {
        /// The person's words for the agent.
        reason: Option<String>,
    },
    /// Takes `undoes` back.
    Undo {
        /// The command taken back.
        undoes: CommandId,
    },
    /// Makes `redoes` true again.
    Redo {
        /// The command that an undo had taken back.
        redoes: CommandId,
    },
}

/// One decided hunk or entry, with enough to show, re-apply and check it for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The hunk or entry.
    pub hunk: HunkId,
    /// Its state from now on.
    pub state: ReviewState,
    /// The arithmetic under which the id was computed.
    pub fingerprint: Digest,
    /// Digest over id, current range and the exact current texts that were shown.
    pub digest: Digest,
    /// The root.
    pub root: RootId,
    /// The path.
    pub path: RepoPath,
    /// Where it was renamed from, for a rename entry.
    pub old_path: Option<RepoPath>,
    /// The path's base.
    pub base: Option<FileState>,
    /// The path as it was shown, before anything was reverted.
    pub seen: Option<FileState>,
    /// The path after the revert; equals `seen` for an accept.
    pub left: Option<FileState>,
    /// 1-based half-open lines of the base, `None` for an entry without lines.
    pub base_range: Option<LineRange>,
    /// 1-based half-open lines of `seen`, `None` for an entry without lines.
    pub current_range: Option<LineRange>,
    /// Calls that were credited, for notes and history.
    pub calls: Vec<crate::ledger::CallKey>,
    /// How many times the change had come back after a reject.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub returned: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A 1-based half-open range of lines. A pure insertion has `start == end`: the line it stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineRange {
    /// First line.
    pub start: u32,
    /// The line after the last.
    pub end: u32,
}

impl LineRange {
    /// Returns the number of lines.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Says whether the range holds no line.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A revert that was begun: written and synced before the first byte of the worktree changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertIntent {
    /// The decision command it serves, as it will be recorded when every file succeeds: recovery completes it.
    pub command: Command,
    /// One step per file; atomic per file, not across files.
    pub files: Vec<RevertFile>,
}

/// One file of a revert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertFile {
    /// The root.
    pub root: RootId,
    /// The path.
    pub path: RepoPath,
    /// What must stand there; its bytes are in the store.
    pub expected: Option<FileState>,
    /// What shall stand there; its bytes are in the store.
    pub wanted: Option<FileState>,
    /// Name of the temporary file in the same directory, as a path beneath the root.
    pub temporary: Option<RepoPath>,
    /// How it is done.
    pub method: Method,
    /// The path of the other half of a rename: neither half is done without the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<RepoPath>,
}

/// How one file of a revert is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A temporary file is atomically exchanged with the path.
    Exchange,
    /// The path is created, with its missing parents.
    Create,
    /// The path is removed, with the directories that the session created and that are empty now.
    Remove,
    /// Written in place under the same checks: a hard link, or a directory that cannot be written.
    InPlace,
}

/// How one file of a revert ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevertOutcome {
    /// The root.
    pub root: RootId,
    /// The path.
    pub path: RepoPath,
    /// How it ended.
    pub result: RevertResult,
}

/// How one file of a revert ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum RevertResult {
    /// It stands as wanted.
    Done {
        /// What stands there now.
        left: Option<FileState>,
        /// What a person should know: "hard link, written in place".
        remark: Option<String>,
    },
    /// The path was not what had been shown; nothing was changed.
    Stale {
        /// A blob that was rescued into the store because its bytes were unknown.
        rescued: Option<FileState>,
    },
    /// It could not be done; nothing was changed.
    Failed {
        /// Why, for people.
        reason: String,
    },
}

/// What shall become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// The root.
    pub root: RootId,
    /// The path.
    pub path: RepoPath,
    /// What must stand there.
    pub expected: Option<FileState>,
    /// What shall stand there.
    pub wanted: Wanted,
    /// The path of the other half of a rename.
    pub other: Option<RepoPath>,
}

impl FilePlan {
    /// Orders the files of one command: removals, so that files and directories can take each other's place, then what comes. What
    /// was renamed is removed last, its bytes standing at its other path, unless it stands where something has to come.
    pub fn sort(files: &mut [Self]) {
        let coming: Vec<_> = files.iter().filter(|file| file.wanted != Wanted::Absent).collect();
        let coming: Vec<_> = coming.into_iter().map(|file| (file.root.clone(), file.path.clone())).collect();
        let makes_room =
            |file: &Self| coming.iter().any(|(root, path)| *root == file.root && path.excludes(&file.path));
        files.sort_by_cached_key(|file| match (&file.wanted, &file.other) {
            (Wanted::Absent, Some(_)) if !makes_room(file) => 2,
            (Wanted::Absent, _) => 0,
            (Wanted::State(_) | Wanted::Edited { .. } | Wanted::Bytes { .. }, _) => 1_u8,
        });
    }
}

/// What shall stand at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing.
    Absent,
    /// A state whose bytes are in the store.
    State(FileState),
    /// The expected bytes with some byte ranges replaced, ascending and disjoint, under `mode`.
    Edited {
        /// The mode.
        mode: Mode,
        /// The replacements.
        edits: Vec<ByteEdit>,
    },
    /// These bytes, under `mode`: a renamed file goes back in part.
    Bytes {
        /// The mode.
        mode: Mode,
        /// The whole file.
        bytes: Vec<u8>,
    },
}

/// One replacement of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteEdit {
    /// First byte replaced.
    pub start: usize,
    /// The byte after the last one replaced.
    pub end: usize,
    /// The bytes instead.
    pub text: Vec<u8>,
}
