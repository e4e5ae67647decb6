//! Plain data for surfaces: what a listing, a status, a blame and a log line hold (ledger.md §10).

use crate::base::{
    CallId, CommandId, CommentId, Digest, HunkId, RepoPath, RootId, SessionId, SessionKey, TurnNo, WallNs,
};
use crate::ledger::{CommentRow, FileState, LineRange, ReviewState, ToolKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A call, named so that reused ids stay apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallKey {
    /// The session.
    pub session: SessionKey,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// The agent's id.
    pub call: CallId,
}

/// How a change was attributed, strongest first (ledger.md §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The before and after of a write that passed through us.
    Mediated,
    /// One suspect claims the path and its claim changes these lines.
    Verified,
    /// One suspect.
    Sole,
    /// Several suspects, all but one excluded by time.
    Ordered,
    /// Several suspects remain.
    Contested,
    /// Inside a turn, no suspect call.
    InTurn,
    /// Nothing we know of: a person, another program, or another proxied agent (named in `sessions`).
    External,
    /// The base was read too late to know.
    BaseUnknown,
}

impl Grade {
    /// Says whether the grade names a call.
    pub fn names_a_call(self) -> bool {
        matches!(self, Self::Mediated | Self::Verified | Self::Sole | Self::Ordered)
    }

    /// Returns the wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mediated => "mediated",
            Self::Verified => "verified",
            Self::Sole => "sole",
            Self::Ordered => "ordered",
            Self::Contested => "contested",
            Self::InTurn => "in_turn",
            Self::External => "external",
            Self::BaseUnknown => "base_unknown",
        }
    }
}

/// Who is credited with some lines, and on what evidence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Credit {
    /// The evidence.
    pub grade: Grade,
    /// The calls; empty unless the grade names one.
    pub calls: Vec<CallKey>,
    /// For contested lines: the calls that remain.
    pub candidates: Vec<CallKey>,
    /// The turn it fell into, when known.
    pub turn: Option<(SessionKey, TurnNo)>,
    /// HEAD moved in the step and this is the new HEAD's content.
    pub vcs: bool,
}

/// Everything one session has to show: the queue and what stands beside it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// The session's name on disk.
    pub key: Option<SessionKey>,
    /// The id the peer chose.
    pub session_id: String,
    /// Hunks and entries, by root, path, base position.
    pub hunks: Vec<Hunk>,
    /// Calls of this session and its children that changed something of which nothing is left.
    pub superseded: Vec<CallRow>,
    /// Comments, carried to where their lines are now.
    pub comments: Vec<CommentView>,
    /// Roots whose base or journal cannot be trusted.
    pub degraded: Vec<RootRow>,
    /// What replay had to skip.
    pub skips: Vec<Skip>,
    /// Hunks and entries that are rejected and gone: history, not part of the composed diff. Ranges are those that were shown.
    pub rejected: Vec<Hunk>,
    /// Rejects that wait for the turn's end.
    pub reject_pending: Vec<(CommandId, Vec<HunkId>)>,
}

/// One hunk or entry of the composed diff.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent marks that a person is shown")]
pub struct Hunk {
    /// Its id.
    pub id: HunkId,
    /// Digest over id, current range and exact current texts.
    pub digest: Digest,
    /// The root.
    pub root: RootId,
    /// The root's absolute path, for people.
    pub root_path: String,
    /// The path beneath it.
    pub path: RepoPath,
    /// Where it was renamed from, for the entry and the content hunks of a renamed path: the base stood there.
    pub old_path: Option<RepoPath>,
    /// What kind of change it is.
    pub entry: Entry,
    /// Lines of the base.
    pub base_range: LineRange,
    /// Lines of the current file.
    pub current_range: LineRange,
    /// Bytes of the current file that hold `current_range`.
    pub current_bytes: Range<usize>,
    /// Exact bytes of the base lines.
    pub before: Vec<u8>,
    /// Exact bytes of the current lines.
    pub after: Vec<u8>,
    /// What a reject puts in the place of `current_bytes`: `before`, with the line endings that the file has now.
    pub restore: Vec<u8>,
    /// The path's base.
    pub base: Option<FileState>,
    /// The path now.
    pub current: Option<FileState>,
    /// Calls of this session and its children that are credited with lines of it.
    pub calls: Vec<CallRow>,
    /// Credits per run of lines; they cover every changed line of both sides.
    pub author_lines: Vec<AuthorLines>,
    /// The grade of most of the changed lines, the weaker one on a tie.
    pub grade: Grade,
    /// Lines per grade.
    pub grades: BTreeMap<Grade, u32>,
    /// Candidates of contested lines.
    pub candidates: Vec<CallRow>,
    /// Other proxied sessions that are credited.
    pub sessions: Vec<OtherSession>,
    /// The turn of its latest credit.
    pub turn: Option<TurnNo>,
    /// Whether the content is the new HEAD's (checkout, pull, merge, stash).
    pub vcs: bool,
    /// Some changed lines carry a call and others do not.
    pub mixed: bool,
    /// Its state.
    pub state: ReviewState,
    /// Rejected before, and present again.
    pub reapplied: bool,
    /// The calls that were allowed with another text for its path than they left there.
    pub approved_differs: Vec<CallId>,
    /// How many times it has come back after a reject; 0 where it is not reapplied.
    pub returned: u32,
    /// A reject of it waits for the turn's end.
    pub reject_pending: bool,
    /// Why it cannot be rejected, when it cannot: withheld, too big, base unknown, outside.
    pub locked: Option<String>,
}

impl Hunk {
    /// Makes an item of which only its name is known.
    pub(super) fn bare(root: &RootId, path: &RepoPath, (id, digest): (HunkId, Digest)) -> Self {
        let nowhere = LineRange { start: 1, end: 1 };
        Self {
            id,
            digest,
            root: root.clone(),
            root_path: String::new(),
            path: path.clone(),
            old_path: None,
            entry: Entry::Text,
            base_range: nowhere,
            current_range: nowhere,
            current_bytes: 0..0,
            before: Vec::new(),
            after: Vec::new(),
            restore: Vec::new(),
            base: None,
            current: None,
            calls: Vec::new(),
            author_lines: Vec::new(),
            grade: Grade::External,
            grades: BTreeMap::new(),
            candidates: Vec::new(),
            sessions: Vec::new(),
            turn: None,
            vcs: false,
            mixed: false,
            state: ReviewState::Unreviewed,
            reapplied: false,
            approved_differs: Vec::new(),
            returned: 0,
            reject_pending: false,
            locked: None,
        }
    }

    /// Names the root for people.
    pub(super) fn at(self, root_path: String) -> Self {
        Self { root_path, ..self }
    }

    /// Says whether it is owed: nobody decided, and it carries a call of this session, or passed through us from its agent.
    pub fn is_owed(&self) -> bool {
        let ours = !self.calls.is_empty() || self.grades.contains_key(&Grade::Mediated);
        self.state == ReviewState::Unreviewed && ours
    }
}

/// What kind of change an item of the queue is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Entry {
    /// Lines of text.
    Text,
    /// A binary file as a whole.
    Binary,
    /// The file mode.
    Mode {
        /// Before.
        old_mode: String,
        /// After.
        new_mode: String,
    },
    /// The target of a symbolic link; also its creation or removal.
    Symlink {
        /// Before, lossy.
        old_target: Option<String>,
        /// After, lossy.
        new_target: Option<String>,
    },
    /// A file became a link, or a link a file.
    Type {
        /// Before.
        old_mode: String,
        /// After.
        new_mode: String,
    },
    /// A rename; its content hunks stand beside it.
    Rename {
        /// From where.
        old_path: RepoPath,
    },
    /// An empty file was created or removed.
    Empty,
    /// Line endings flipped as a whole.
    Eol,
    /// A flood beneath one directory.
    Summary {
        /// How many paths.
        paths: u32,
    },
    /// A path that a call named, beyond every root.
    Outside,
}

impl Entry {
    /// Returns the wire word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Mode { .. } => "mode",
            Self::Symlink { .. } => "symlink",
            Self::Type { .. } => "type",
            Self::Rename { .. } => "rename",
            Self::Empty => "empty",
            Self::Eol => "eol",
            Self::Summary { .. } => "summary",
            Self::Outside => "outside",
        }
    }
}

/// One side of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Lines of the base.
    Before,
    /// Lines of the current file.
    After,
}

/// A run of changed lines with one credit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorLines {
    /// Which side.
    pub side: Side,
    /// File lines, 1-based, half-open.
    pub lines: LineRange,
    /// Who.
    pub credit: Credit,
}

/// A call, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// The raw session id, as the peer chose it.
    pub session_id: SessionId,
    /// The call.
    pub tool_call_id: CallId,
    /// Its title.
    pub title: String,
    /// Its kind.
    pub kind: ToolKind,
    /// Its turn.
    pub turn: Option<TurnNo>,
}

/// Another proxied session that is credited with lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherSession {
    /// Its raw id.
    pub session_id: SessionId,
    /// Its agent.
    pub agent: String,
    /// The call, when one is known.
    pub tool_call_id: Option<CallId>,
}

/// A comment where its lines are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentView {
    /// Its id.
    pub id: CommentId,
    /// The root.
    pub root: RootId,
    /// The path.
    pub path: RepoPath,
    /// Its lines now; `None` when it is outdated.
    pub lines: Option<LineRange>,
    /// The lines it was made on.
    pub made_on: LineRange,
    /// The text it was made on.
    pub excerpt: String,
    /// What it says.
    pub body: String,
    /// Who wrote it.
    pub author: crate::ledger::Actor,
    /// Whether it is resolved.
    pub resolved: bool,
    /// When it was made.
    pub at: WallNs,
}

impl CommentView {
    /// Shows a comment on the path where it was made, on these lines now.
    pub(super) fn of(row: &CommentRow, lines: Option<LineRange>) -> Self {
        let comment = row.comment.as_ref();
        Self {
            id: comment.id.clone(),
            root: comment.root.clone(),
            path: comment.path.clone(),
            lines,
            made_on: comment.lines,
            excerpt: comment.excerpt.clone(),
            body: comment.body.clone(),
            author: comment.author.clone(),
            resolved: row.resolved.is_some(),
            at: row.at,
        }
    }
}

/// A root, and what is the matter with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRow {
    /// The root.
    pub root: RootId,
    /// Its absolute path, for people.
    pub path: String,
    /// Why it cannot be trusted; `None` when it can.
    pub degraded: Option<String>,
}

/// What a replay had to skip.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skip {
    /// What was lost with it.
    pub loss: Loss,
    /// 1-based line of the journal.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// What was lost with a record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The session's header or base.
    Session,
    /// An observation, window or claim of a root.
    Root(RootId),
    /// A comment or a decision.
    Informational,
}

/// Who wrote one line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameLine {
    /// 1-based.
    pub line: u32,
    /// Its bytes, without the terminator.
    pub text: Vec<u8>,
    /// `None`: the line is of the base.
    pub credit: Option<Credit>,
    /// The calls, for people.
    pub calls: Vec<CallRow>,
}
