//! What a root looked like: the links of its chain.

use crate::base::{BlobId, CommitId, ObservationNo, ProxyId, RepoPath, TreeId, WallNs};
use serde::{Deserialize, Serialize};

/// One look at a root: what changed since the previous one. The "before" of anything is the previous observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Observation {
    /// Position in the chain.
    pub no: ObservationNo,
    /// When the look began: every write that returned before this instant is in it.
    pub began: WallNs,
    /// When it was complete.
    pub at: WallNs,
    /// The proxy (or command) that looked.
    pub by: ProxyId,
    /// Why it looked.
    pub why: Why,
    /// The whole root as a git tree, in the private store.
    pub tree: TreeId,
    /// The commit that `HEAD` named; `None` outside git and on an unborn branch.
    pub head: Option<CommitId>,
    /// The paths that differ from the previous observation, sorted by path.
    pub changes: Vec<Change>,
    /// Directories that did not stand there at the previous observation, parents first: what a removal may take along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<RepoPath>,
    /// When the latest look before this one began at which everything was still as the previous link has it, when there
    /// was such a look: it appended nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<WallNs>,
    /// What the times of files were worth in this step.
    #[serde(default, skip_serializing_if = "Stamps::are_usual")]
    pub stamps: Stamps,
}

/// What the time stamps of files are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamps {
    /// A stamp lies at most so many nanoseconds before the true time.
    Within(u32),
    /// Nothing: others write to the file system, or the clock was set during the step.
    Worthless,
}

impl Stamps {
    /// The longest kernel tick: what holds where nothing was measured, in nanoseconds.
    pub const LONGEST_TICK_NS: u32 = 10_000_000;

    fn are_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Stamps {
    fn default() -> Self {
        Self::Within(Self::LONGEST_TICK_NS)
    }
}

impl Observation {
    /// Makes an observation.
    #[expect(clippy::too_many_arguments, reason = "a record with eight facts, made in one place of `store`")]
    pub fn new(
        no: ObservationNo,
        began: WallNs,
        at: WallNs,
        by: ProxyId,
        why: Why,
        tree: TreeId,
        head: Option<CommitId>,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            no,
            began,
            at,
            by,
            why,
            tree,
            head,
            changes,
            made: Vec::new(),
            still: None,
            stamps: Stamps::default(),
        }
    }
}

/// Why a root was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// The first look: everything is base.
    Base,
    /// A prompt is about to reach the agent.
    Prompt,
    /// A window opened.
    WindowOpened,
    /// A window closed.
    WindowClosed,
    /// An answer that allows a call is about to reach the agent.
    Permission,
    /// Before or after `fs/write_text_file`.
    FsWrite,
    /// A terminal is about to be created, or ended.
    Terminal,
    /// The turn is over.
    TurnEnd,
    /// Something is about to be listed.
    Listing,
    /// Before or after our own revert.
    Review,
    /// The watcher saw activity, or a timer fired.
    Activity,
    /// A person takes the worktree as the new base.
    Rebase,
}

/// One path between two observations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path beneath the root.
    pub path: RepoPath,
    /// What stood there at the previous observation; `None` = nothing.
    pub before: Option<FileState>,
    /// What stands there now; `None` = nothing.
    pub after: Option<FileState>,
    /// When the file was read.
    pub read_at: WallNs,
    /// Last content change as the file says; of the parent directory for a deletion.
    pub mtime: WallNs,
    /// Last inode change; of the parent directory for a deletion. User code cannot set it.
    pub ctime: WallNs,
    /// What was odd about the reading.
    #[serde(default, skip_serializing_if = "Flags::is_plain")]
    pub flags: Flags,
}

/// A file, executable or symbolic link, with the id of its raw bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// What kind of thing it is.
    pub mode: Mode,
    /// Git blob id of the raw bytes (of the target, for a link). For a withheld file, of a stand-in.
    pub blob: BlobId,
    /// Bytes.
    pub size: u64,
    /// Whether the bytes are in the store.
    #[serde(default)]
    pub content: Content,
}

/// Git's file modes, without directories and submodules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// 100644
    #[serde(rename = "100644")]
    Regular,
    /// 100755
    #[serde(rename = "100755")]
    Executable,
    /// 120000
    #[serde(rename = "120000")]
    Symlink,
}

impl Mode {
    /// Returns git's octal digits.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

/// Whether a file's bytes can be had from the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// They can.
    #[default]
    Kept,
    /// The path matches a secrets pattern: a stand-in stands for it.
    Withheld,
    /// Larger than the limit: the id is right, the bytes are not kept.
    TooBig,
    /// The store is at its cap: the id is right, the bytes are not kept.
    Cap,
}

/// What was odd about the reading of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent remarks on one reading")]
pub struct Flags {
    /// It changed while it was read, three times.
    pub unstable: bool,
    /// It could not be read; the old state was kept.
    pub unreadable: bool,
    /// Ignore rules cover it; it is observed because a call named it or it was observed before.
    pub ignored: bool,
    /// Its base was read only after the prompt had been forwarded (rulings.md 2).
    pub base_unknown: bool,
    /// It changed while a process took its first look.
    pub meanwhile: bool,
    /// No watch told of it: a walk found it, and it may have changed before looks that did not see it.
    pub untold: bool,
}

impl Flags {
    /// Says whether nothing was odd.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A stretch of a root's chain that nobody observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When the failed look began.
    pub at: WallNs,
    /// Why it failed, for people.
    pub reason: String,
    /// The look that failed.
    pub why: Why,
}
