//! The documented JSON of every answer (ledger.md §10). Surfaces render from these and nothing else.

use crate::base::{CallId, CommentId, Digest, HunkId, SessionId, SessionKey, TurnNo, WallNs};
use crate::ledger::{CallRow, Grade, OtherSession, ReviewState, Side};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `review.list_hunks` and `hunkgate hunks --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListingShape {
    /// The id the peer chose.
    pub session_id: String,
    /// The queue and what stands beside it.
    pub hunks: Vec<HunkShape>,
    /// Calls whose lines are all gone.
    pub superseded: Vec<SupersededShape>,
    /// Comments.
    pub comments: Vec<CommentShape>,
    /// Roots whose base or journal cannot be trusted.
    pub degraded: Vec<DegradedShape>,
    /// What replay had to skip.
    pub integrity: IntegrityShape,
    /// What a held write waits for; null while nothing is held.
    pub gate: Option<GateShape>,
    /// The policy in force.
    pub policy: PolicyShape,
}

/// One hunk or entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HunkShape {
    /// 32 hex digits.
    pub id: HunkId,
    /// The root's absolute path.
    pub root: String,
    /// The path beneath it; escaped where it is not UTF-8.
    pub path: String,
    /// Base64 of the exact bytes, where the path is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// 1-based half-open lines of the base.
    pub base_range: RangeShape,
    /// 1-based half-open lines of the current file.
    pub current_range: RangeShape,
    /// Exact base lines; base64 when `encoding` says so.
    pub before_content: String,
    /// Exact current lines; base64 when `encoding` says so.
    pub after_content: String,
    /// `base64` where either content is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Decoded for people, where `encoding` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_before: Option<String>,
    /// Decoded for people, where `encoding` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_after: Option<String>,
    /// Calls of this session and its children.
    pub tool_call_ids: Vec<CallId>,
    /// `unreviewed`, `accepted`, `rejected`.
    pub state: ReviewState,
    /// Rejected before, and present again.
    pub reapplied: bool,
    /// Quoted back by a decision; a mismatch is stale.
    pub digest: Digest,
    /// What kind of change it is.
    pub entry: EntryShape,
    /// On what evidence.
    pub evidence: EvidenceShape,
    /// Some changed lines carry a call and others do not.
    pub mixed: bool,
    /// Runs of lines with their authors; they cover every changed line of both sides.
    pub author_lines: Vec<AuthorLinesShape>,
    /// The calls, for people.
    pub calls: Vec<CallRow>,
    /// A reject waits for the turn's end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reject_pending: bool,
    /// Why it cannot be rejected, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
}

impl HunkShape {
    /// Says whether it is owed: nobody decided, and it carries a call of this session, or passed through us from its agent.
    pub fn is_owed(&self) -> bool {
        let ours = !self.tool_call_ids.is_empty() || self.evidence.grades.contains_key(&Grade::Mediated);
        self.state == ReviewState::Unreviewed && ours
    }
}

/// A range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeShape {
    /// First line, 1-based.
    pub start: u32,
    /// The line after the last.
    pub end: u32,
}

/// `entry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryShape {
    /// text | binary | mode | symlink | type | rename | empty | eol | summary | outside
    pub kind: String,
    /// For a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Git's octal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// Git's octal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
    /// For a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_target: Option<String>,
    /// For a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_target: Option<String>,
}

/// `evidence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceShape {
    /// The grade of most of the changed lines, the weaker on a tie.
    pub grade: Grade,
    /// Lines per grade.
    #[serde(default)]
    pub grades: BTreeMap<Grade, u32>,
    /// Calls that remain for contested lines.
    pub candidates: Vec<CallRow>,
    /// The turn, when it has a number.
    pub turn: Option<TurnNo>,
    /// Other proxied sessions that are credited.
    pub sessions: Vec<OtherSession>,
    /// HEAD moved and this is its content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vcs: bool,
}

/// A run of changed lines with its authors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorLinesShape {
    /// `before` or `after`.
    pub side: Side,
    /// First file line, 1-based.
    pub start: u32,
    /// The line after the last.
    pub end: u32,
    /// The calls; empty = none.
    pub calls: Vec<CallRefShape>,
    /// The evidence.
    pub grade: Grade,
}

/// A call by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefShape {
    /// The id the peer chose.
    pub session_id: SessionId,
    /// The turn, when it has a number.
    pub turn: Option<TurnNo>,
    /// The agent's id.
    pub tool_call_id: CallId,
}

/// A call whose lines are all gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupersededShape {
    /// The id the peer chose.
    pub session_id: SessionId,
    /// The agent's id.
    pub tool_call_id: CallId,
    /// Its title.
    pub title: String,
    /// Its turn.
    pub turn: Option<TurnNo>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentShape {
    /// Its id.
    pub id: CommentId,
    /// The root's absolute path.
    pub root: String,
    /// The path beneath it.
    pub path: String,
    /// First line now; of the lines it was made on when outdated.
    pub line_start: u32,
    /// Last line now (inclusive).
    pub line_end: u32,
    /// What it says.
    pub body: String,
    /// `human`, `agent:NAME`, `criterion:ID`.
    pub author: String,
    /// Its lines changed.
    pub outdated: bool,
    /// Somebody settled it.
    pub resolved: bool,
    /// The text it was made on.
    pub excerpt: String,
    /// When.
    pub at: WallNs,
}

/// A degraded root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DegradedShape {
    /// The root's absolute path.
    pub root: String,
    /// Why; null when it is not degraded.
    pub degraded: Option<String>,
}

/// `integrity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityShape {
    /// What replay had to skip.
    pub skips: Vec<SkipShape>,
}

/// One line of a journal that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipShape {
    /// What was lost with it.
    pub record: LostShape,
    /// 1-based line of the journal.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// What was lost with a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostShape {
    /// `session`, `root` or `informational`.
    pub kind: String,
    /// The root's absolute path, for `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// `gate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateShape {
    /// The tool that waits.
    pub tool: String,
    /// The path it wants to write.
    pub path: String,
}

/// `policy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyShape {
    /// The agent's mode id, as it stands; null when it has none.
    pub mode: Option<String>,
    /// What the configuration asks for: `none`, `post_turn`, `pre_write`.
    pub configured: String,
    /// What is in force for this agent.
    pub effective: String,
    /// The messages on which pre-write is enforced.
    pub enforced_on: Vec<String>,
}

/// `status --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusShape {
    /// The id the peer chose.
    pub session_id: String,
    /// The agent.
    pub agent: NameShape,
    /// The client.
    pub client: NameShape,
    /// The protocol version in force; 0 before `initialize` was answered.
    pub protocol: u32,
    /// The mode.
    pub mode: Option<String>,
    /// The policy.
    pub policy: PolicyShape,
    /// False where this agent writes without asking.
    pub gated: bool,
    /// What a held write waits for.
    pub gate: Option<GateShape>,
    /// Counts.
    pub queue: QueueShape,
    /// The roots.
    pub roots: Vec<RootShape>,
    /// Looks that failed.
    pub gaps: u32,
    /// Notes that will go with the next prompt.
    pub notes_pending: u32,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// A name with its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameShape {
    /// The name, as the peer says.
    pub name: String,
    /// The version, when it says one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Counts of hunks and entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueShape {
    /// Owed: with a call of this session, and undecided.
    pub unreviewed: u32,
    /// Accepted.
    pub accepted: u32,
    /// Rejected.
    pub rejected: u32,
    /// Contested, in turn or external.
    pub external: u32,
}

/// A root in `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RootShape {
    /// Its absolute path.
    pub root: String,
    /// `git` or `plain`.
    pub kind: String,
    /// `watch`, `hybrid`, `walk`, or `none` where it is refused.
    pub observing: String,
    /// Why it cannot be trusted; null when it can.
    pub degraded: Option<String>,
}

/// What became of a decision command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecidedShape {
    /// `accept`, `reject`, `undo`, `redo`.
    pub verb: String,
    /// True when nothing was done because `--dry-run` was given.
    pub dry_run: bool,
    /// True when the reject waits for the turn's end.
    pub queued: bool,
    /// One per selected item.
    pub items: Vec<ItemShape>,
    /// Items the selector left alone: external, already decided.
    pub left: Vec<ItemShape>,
}

/// What became of one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemShape {
    /// The hunk or entry.
    pub id: HunkId,
    /// Its path.
    pub path: String,
    /// Its state now.
    pub state: ReviewState,
    /// `done`, `queued`, `refused`, `left`; `planned` in a dry run.
    pub outcome: String,
    /// Why, where it was refused or left; a remark otherwise.
    pub reason: Option<String>,
}

/// `show ID`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownShape {
    /// The hunk.
    pub hunk: HunkShape,
    /// Its attribution in a sentence.
    pub explanation: String,
    /// What was decided on it, oldest first.
    pub history: Vec<HistoryShape>,
}

/// One decision on a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryShape {
    /// When.
    pub at: WallNs,
    /// The state it got.
    pub state: ReviewState,
    /// By whom: `human`, `agent:NAME`, `criterion:ID`.
    pub by: String,
    /// Through which door.
    pub channel: String,
    /// The person's words.
    pub reason: Option<String>,
    /// The base text, for a decision whose hunk is no longer there.
    pub before: Option<String>,
    /// The text that was decided on.
    pub after: Option<String>,
}

/// `blame --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlameShape {
    /// The path.
    pub path: String,
    /// Its lines.
    pub lines: Vec<BlameLineShape>,
}

/// One line of a blame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlameLineShape {
    /// 1-based.
    pub line: u32,
    /// Lossy text.
    pub text: String,
    /// `base`, `call`, `external`, `unknown`.
    pub author: String,
    /// The calls.
    pub calls: Vec<CallRow>,
    /// The evidence; null for base lines.
    pub grade: Option<Grade>,
}

/// `sessions --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionsShape {
    /// The sessions, the one that was active last first.
    pub items: Vec<SessionRowShape>,
    /// Where the next page begins; null when this is the last.
    pub next: Option<String>,
}

/// One session of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRowShape {
    /// The id the peer chose.
    pub session_id: SessionId,
    /// Its name on disk.
    pub key: SessionKey,
    /// The agent.
    pub agent: String,
    /// The client; null when it did not say.
    pub client: Option<String>,
    /// Absolute paths.
    pub roots: Vec<String>,
    /// When it was opened.
    pub started: WallNs,
    /// The last turn; null before the first prompt.
    pub last_turn: Option<TurnNo>,
    /// When its ledger was last written.
    pub active: WallNs,
    /// What is owed; null where it was not computed.
    pub unreviewed: Option<u32>,
    /// Whether a proxy holds it.
    pub live: bool,
    /// The session and call that started it.
    pub parent: Option<ParentShape>,
    /// The sessions that it started.
    pub children: Vec<SessionId>,
}

/// What started a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentShape {
    /// The id the peer chose.
    pub session_id: SessionId,
    /// The call, when it is unambiguous.
    pub tool_call_id: Option<CallId>,
}
