//! What a person, or a program for a person, can ask of a session, and what comes back.

use crate::base::{Digest, SessionKey};
use crate::ledger::{
    Actor, BlameShape, CommentShape, DecidedShape, Decision, DegradedShape, FilePlan, ItemShape,
    ListingShape, ReviewState, ShownShape, StatusShape, Verb, Who,
};
use crate::review::{CardStyle, Cards, DocketAnswer, DocketAsk};
use serde::{Deserialize, Serialize};

/// An ask with who asks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The session it is about.
    pub session: SessionKey,
    /// Who asks, and through which door.
    pub actor: Actor,
    /// Whether this asker may decide; the host checks peer credentials and ancestry (approvals.md §9).
    pub may_decide: bool,
    /// What is asked.
    pub ask: Ask,
}

impl Asked {
    /// Returns who signs what is said: a process that an agent started never speaks as the person.
    pub fn author(&self) -> Actor {
        match self.actor.who {
            Who::Person if !self.may_decide => {
                Actor { who: Who::Agent("agent".to_owned()), channel: self.actor.channel }
            }
            Who::Person | Who::Agent(_) | Who::Criterion(_) => self.actor.clone(),
        }
    }
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Ask {
    /// The policy in force, the queue's size, what is degraded.
    Status,
    /// The queue; of some paths only, when any are given.
    Hunks {
        /// Paths or directories, relative to a root or absolute.
        paths: Vec<String>,
    },
    /// One hunk, explained.
    Show {
        /// An id or a unique prefix.
        id: String,
    },
    /// Accept or reject.
    Decide(Decide),
    /// Take the last decision command back.
    Undo {
        /// Only say what would be done.
        #[serde(default)]
        dry_run: bool,
    },
    /// Make it true again.
    Redo {
        /// Only say what would be done.
        #[serde(default)]
        dry_run: bool,
    },
    /// Comment on lines.
    Comment {
        /// Relative to a root, or absolute.
        path: String,
        /// 1-based, inclusive.
        line_start: u32,
        /// 1-based, inclusive; the same line when absent.
        line_end: Option<u32>,
        /// What it says.
        body: String,
    },
    /// Settle a comment.
    Resolve {
        /// Its id.
        comment: String,
    },
    /// Take the worktree as it stands as the new base.
    Rebase {
        /// One root, by path; all when absent.
        root: Option<String>,
    },
    /// What the agent will be told with the next prompt.
    Note,
    /// The composed diff as a git patch.
    Diff {
        /// What of it.
        selector: Selector,
    },
    /// Who wrote each line of a file.
    Blame {
        /// Relative to a root, or absolute.
        path: String,
    },
    /// What the editor is shown when it asks at a turn's end; only the engine asks this.
    Cards {
        /// How.
        style: CardStyle,
    },
    /// What waits for a decision, and what stands decided.
    Docket(DocketAsk),
    /// What a surface turned away before it was asked: it is recorded, and nothing else.
    TurnedAway {
        /// What was wanted.
        wanted: Box<Ask>,
        /// Why not.
        why: String,
    },
}

impl Ask {
    /// Says whether it changes a decision, a base or a comment's state: agents' own descendants may not.
    pub fn decides(&self) -> bool {
        match self {
            Self::Decide(_)
            | Self::Undo { .. }
            | Self::Redo { .. }
            | Self::Rebase { .. }
            | Self::Resolve { .. } => true,
            Self::Docket(ask) => ask.decides(),
            Self::Status
            | Self::Hunks { .. }
            | Self::Show { .. }
            | Self::Comment { .. }
            | Self::Note
            | Self::Diff { .. }
            | Self::Blame { .. }
            | Self::Cards { .. }
            | Self::TurnedAway { .. } => false,
        }
    }

    /// Returns its word, as it stands in a journal.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Hunks { .. } => "hunks",
            Self::Show { .. } => "show",
            Self::Decide(decide) if decide.verb == DecideVerb::Accept => "accept",
            Self::Decide(_) => "reject",
            Self::Undo { .. } => "undo",
            Self::Redo { .. } => "redo",
            Self::Comment { .. } => "comment",
            Self::Resolve { .. } => "resolve",
            Self::Rebase { .. } => "rebase",
            Self::Note => "note",
            Self::Diff { .. } => "diff",
            Self::Blame { .. } => "blame",
            Self::Cards { .. } => "cards",
            Self::Docket(_) => "docket",
            Self::TurnedAway { wanted, .. } => wanted.word(),
        }
    }

    /// Returns what it is about, for people: paths or ids; empty where it is about the session.
    pub fn about(&self) -> String {
        match self {
            Self::Hunks { paths } => paths.join(" "),
            Self::Show { id } => id.clone(),
            Self::Decide(Decide { selector: Selector::Ids(ids), .. }) => ids.join(" "),
            Self::Decide(Decide { selector: Selector::File(path), .. }) | Self::Blame { path } => {
                path.clone()
            }
            Self::Comment { path, line_start, .. } => format!("{path}:{line_start}"),
            Self::Resolve { comment } => comment.clone(),
            Self::Rebase { root } => root.clone().unwrap_or_default(),
            Self::TurnedAway { wanted, .. } => wanted.about(),
            Self::Status
            | Self::Decide(_)
            | Self::Undo { .. }
            | Self::Redo { .. }
            | Self::Note
            | Self::Diff { .. }
            | Self::Cards { .. }
            | Self::Docket(_) => String::new(),
        }
    }

    /// Says of what is planned whether it is only to be told, and whether it waits for no turn.
    pub fn manner(&self) -> (bool, bool) {
        if let Self::Decide(decide) = self {
            return (decide.dry_run, decide.now);
        }
        (matches!(self, Self::Undo { dry_run: true } | Self::Redo { dry_run: true }), true)
    }
}

/// An accept or reject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    /// True for a reject, false for an accept.
    pub verb: DecideVerb,
    /// Of what.
    pub selector: Selector,
    /// The person's words for the agent.
    pub reason: Option<String>,
    /// What the hunks looked like to the person: a selected hunk whose digest is not among these is stale. Empty: not checked.
    pub digests: Vec<Digest>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Reject in-turn and contested hunks too.
    pub force: bool,
    /// Do not wait for the end of a running turn.
    pub now: bool,
}

/// Accept or reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecideVerb {
    /// Keep; writes no file.
    Accept,
    /// Put back on disk.
    Reject,
}

/// Which hunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "of")]
pub enum Selector {
    /// By id or unique prefix.
    Ids(Vec<String>),
    /// By path: a file or a directory.
    File(String),
    /// By tool call id.
    Call(String),
    /// By turn.
    Turn(u32),
    /// All.
    All,
    /// What was rejected and is gone: to be read, not decided.
    Rejected,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer", content = "value")]
pub enum Answer {
    /// To `Status`.
    Status(StatusShape),
    /// To `Hunks`.
    Listing(ListingShape),
    /// To `Show`.
    Shown(Box<ShownShape>),
    /// To `Decide`, `Undo`, `Redo`.
    Decided(DecidedShape),
    /// To `Comment`.
    Commented(CommentShape),
    /// To `Resolve`.
    Resolved(CommentShape),
    /// To `Rebase`.
    Rebased(Vec<DegradedShape>),
    /// To `Note`: the text, when there is one.
    Note(Option<String>),
    /// To `Diff`: a git patch, base64 when it is not UTF-8.
    Diff(PatchText),
    /// To `Blame`.
    Blame(BlameShape),
    /// To `Docket`.
    Docket(DocketAnswer),
    /// Instead of any of these.
    Problem(Problem),
}

impl Answer {
    /// Returns what is left to say when what this answer tells of could not be written: nothing decided is said to be done.
    #[must_use]
    pub fn unrecorded(self, reason: &str) -> Self {
        match self {
            Self::Decided(_)
            | Self::Rebased(_)
            | Self::Resolved(_)
            | Self::Commented(_)
            | Self::Docket(DocketAnswer::Responded(_) | DocketAnswer::Revoked(_) | DocketAnswer::Loaded(_)) =>
            {
                let message = format!("it could not be recorded: {reason}");
                Self::Problem(Problem::new(ProblemKind::Internal, message))
            }
            Self::Status(_)
            | Self::Listing(_)
            | Self::Shown(_)
            | Self::Note(_)
            | Self::Diff(_)
            | Self::Blame(_)
            | Self::Docket(DocketAnswer::Pending(_) | DocketAnswer::Grants(_))
            | Self::Problem(_) => self,
        }
    }
}

/// What the host computes for the engine from a snapshot of the ledger and the contents it names.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one is made per ask, and moved a few times")]
pub enum Computed {
    /// The answer, complete but for what only the engine knows (gate, policy).
    Answer(Answer),
    /// To `Comment`: the comment with its anchor, to be journaled.
    Comment(Box<crate::ledger::Comment>),
    /// To `Decide`, `Undo`, `Redo`: what to do.
    Plan(Box<Plan>),
    /// To `Cards`.
    Cards(Box<Cards>),
}

/// What a decision command would do: made from one listing, carried out by the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the command is.
    pub verb: Verb,
    /// The files to change on disk; empty for an accept.
    pub files: Vec<FilePlan>,
    /// The selected items.
    pub items: Vec<PlannedItem>,
    /// What the selector left alone, with the reason.
    pub left: Vec<ItemShape>,
    /// What is answered beside the items: ids that are no longer there, rejects that are withdrawn.
    pub said: Vec<ItemShape>,
}

/// One selected item of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedItem {
    /// Its state until then.
    pub was: ReviewState,
    /// The root's absolute path.
    pub root: String,
    /// What will be recorded when it succeeds; `left` is filled in from the outcome of its file.
    pub decision: Decision,
    /// Why it is refused, when it is.
    pub refused: Option<String>,
}

/// The text of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchText {
    /// The exact bytes, as UTF-8 or as base64.
    pub text: String,
    /// True when `text` is base64.
    pub base64: bool,
}

/// Why something could not be done, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Whose matter it is.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// Makes a problem without a hint.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Whose matter a problem is. Mapped in one table to exit codes, JSON-RPC errors and HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The asker's: unknown hunk, ambiguous path, wrong usage.
    User,
    /// The configuration's.
    Config,
    /// The agent's.
    Agent,
    /// Stale, mixed, external, out of scope, refused.
    Conflict,
    /// A base or journal that cannot be trusted.
    Degraded,
    /// Ours.
    Internal,
}

impl ProblemKind {
    /// Returns the exit code of a command that ends with this.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::User | Self::Config => 2,
            Self::Conflict => 3,
            Self::Degraded => 4,
            Self::Agent | Self::Internal => 5,
        }
    }

    /// Returns the JSON-RPC error code: −32602 for what the caller can fix, −32603 for what it cannot.
    pub fn rpc_code(self) -> i32 {
        match self {
            Self::User | Self::Config | Self::Conflict => -32602,
            Self::Degraded | Self::Agent | Self::Internal => -32603,
        }
    }
}
