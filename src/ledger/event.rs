//! The closed, versioned set of all that is journaled.
//!
//! Two kinds of log (rulings.md 6): a root's chain, shared by every process that looks at the root, and a session's
//! ledger, which has one writer. The fold of both is the [`Ledger`](crate::ledger::Ledger).

use crate::base::{
    AgentId, CallId, CommandId, CommentId, HunkId, ObservationNo, ProxyId, RepoPath, RequestKey, RootId,
    SessionId, SessionKey, TreeId, TurnNo, WallNs, WindowId,
};
use crate::ledger::{
    Approval, CallFacts, Claim, Closing, Command, Comment, Gap, LineRange, Observation, Redacted,
    RevertIntent, RevertOutcome, Window,
};
use serde::{Deserialize, Serialize};

/// The version that is written into each record.
pub const RECORD_VERSION: u32 = 1;

/// The log an event belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Log {
    /// The chain of a root.
    Root(RootId),
    /// The ledger of a session.
    Session(SessionKey),
}

/// Everything that is journaled. A record is one of these with a version and a time.
///
/// In a journal line: `{"v":1,"seq":N,"at":NS,"kind":"…","data":{…},"crc":"…"}`. Unknown kinds are kept verbatim and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "data")]
#[non_exhaustive]
pub enum Event {
    // ── a root's chain ──
    /// First record of a chain.
    RootOpened(RootHeader),
    /// A link of the chain.
    Observed(Observation),
    /// A look that failed.
    Gap(Gap),
    /// Something could write from now on. Said again of a window, it sharpens its opening (`opened`, `lo`) or names its call.
    WindowOpened(Window),
    /// More is known of a call.
    WindowRefined {
        /// The window.
        window: WindowId,
        /// What is known now.
        facts: CallFacts,
    },
    /// It can no longer write, or says so.
    WindowClosed {
        /// The window.
        window: WindowId,
        /// When and how.
        closing: Closing,
    },
    /// A call said what it writes.
    Claimed(Claim),
    /// A proxy began to look at this root.
    ProxyJoined {
        /// The proxy.
        proxy: ProxyId,
        /// Its process id.
        pid: u32,
    },
    /// A proxy stopped, or was found dead: its open windows are closed as lost.
    ProxyLeft {
        /// The proxy.
        proxy: ProxyId,
        /// Whether it was found dead rather than leaving.
        lost: bool,
    },

    /// A session works on this root: for those who hold another session's ledger, who it is and what started it. Also in
    /// the ledger of a session, of one that works for it and has no ledger of its own.
    SessionJoined(Member),

    // ── a session's ledger ──
    /// First record of a ledger.
    SessionOpened(SessionHeader),
    /// A proxy holds the session again.
    SessionResumed {
        /// The proxy.
        proxy: ProxyId,
    },
    /// The base of one root: taken once, when the first prompt is sent.
    BaseTaken {
        /// The root.
        root: RootId,
        /// The observation that is the base.
        position: ObservationNo,
        /// Its tree.
        tree: TreeId,
        /// False when the prompt had to be forwarded before the base was complete (rulings.md 2).
        complete: bool,
    },
    /// A prompt reached the agent.
    TurnStarted {
        /// The turn.
        turn: TurnNo,
    },
    /// The turn is over.
    TurnEnded {
        /// The turn.
        turn: TurnNo,
        /// The agent's stop reason, or `error`, `agent_exit`, `closed`.
        stop: String,
    },
    /// The session's mode changed, or became known.
    ModeChanged {
        /// The agent's mode id.
        mode: String,
    },
    /// A person decided.
    Decided(Command),
    /// A person rejected during a turn; it runs when the turn ends (rulings.md 13).
    RejectPending {
        /// The command it will be.
        command: CommandId,
        /// What was shown, by hunk.
        hunks: Vec<(HunkId, crate::base::Digest)>,
        /// The person's words.
        reason: Option<String>,
        /// Whether doubtful lines are given up.
        #[serde(default)]
        force: bool,
        /// Who.
        actor: Actor,
    },
    /// A pending reject was run, withdrawn, or found stale.
    RejectSettled {
        /// The command.
        command: CommandId,
        /// What became of it: `done`, `stale`, `withdrawn`.
        outcome: String,
    },
    /// A revert begins; synced before a byte of the worktree changes.
    RevertIntended(RevertIntent),
    /// It ended, file by file; synced.
    RevertDone {
        /// The command.
        command: CommandId,
        /// How each file ended.
        files: Vec<RevertOutcome>,
    },
    /// A note left with a prompt.
    NoteSent {
        /// The note.
        note: String,
        /// The decision commands that it tells of.
        commands: Vec<CommandId>,
        /// The comments that rode along.
        comments: Vec<CommentId>,
        /// What was rejected and was back, with how often it had come back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reapplied: Vec<(HunkId, u32)>,
        /// The requests that a rule refused.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denials: Vec<RequestKey>,
    },
    /// The prompt that carried the note was answered without an error.
    NoteDelivered {
        /// The note.
        note: String,
    },
    /// It was answered with an error, or never: the note is pending again.
    NoteReturned {
        /// The note.
        note: String,
    },
    /// The person was told of these in the conversation, or was asked about them, when a turn had ended.
    PersonTold {
        /// What they were told of.
        hunks: Vec<HunkId>,
    },
    /// All that was rejected and stood on disk again when a turn had ended; said where it is not what was said last.
    Reapplied {
        /// What is back and undecided.
        items: Vec<Reapplied>,
    },
    /// A comment was made.
    Commented(Comment),
    /// A comment was resolved.
    CommentResolved {
        /// The comment.
        comment: CommentId,
        /// Who.
        actor: Actor,
    },
    /// A person took the worktree as it stood as the new base; clears damage of that root.
    Rebased {
        /// The root.
        root: RootId,
        /// The observation that is the new base.
        position: ObservationNo,
        /// Its tree.
        tree: TreeId,
        /// Who.
        actor: Actor,
    },
    /// What an agent asked for, who decided, and what came of it.
    Approval(Approval),
    /// A permission request passed, with its answer when it came; of versions before [`Event::Approval`].
    PermissionSeen {
        /// The call it names.
        call: Option<CallId>,
        /// The turn.
        turn: Option<TurnNo>,
        /// What it is about, redacted, at most 200 characters.
        title: String,
        /// The kinds of the options offered.
        options: Vec<String>,
        /// `selected:KIND`, `cancelled`, `error`, or `None` when it was never answered.
        outcome: Option<String>,
        /// Milliseconds from question to answer.
        waited_ms: u64,
    },
    /// Something a person should know: a path outside every root, a deciding attempt that was refused, an anomaly.
    Noticed {
        /// A word for what it is: `outside`, `refused`, `anomaly`, …
        topic: String,
        /// The path, when it is about one; of an `outside` the absolute path without its leading `/`.
        path: Option<RepoPath>,
        /// For people.
        text: String,
    },
    /// An agent that reviews called one of its tools, or tried to; what it said or decided stands in a record of its own.
    Visited(Visit),
    /// A write of the agent waits: its file has changes that nobody reviewed, or its root cannot be trusted.
    GateBlocked {
        /// Names the wait.
        gate: String,
        /// The call.
        call: Option<CallId>,
        /// The turn.
        turn: Option<TurnNo>,
        /// What waits, for people.
        tool: Redacted,
        /// The file, for people.
        path: Redacted,
        /// The absolute path of its root, for people; records of before have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<Redacted>,
        /// What it waits for, for people.
        because: Redacted,
    },
    /// It waits no longer.
    GateReleased {
        /// Which.
        gate: String,
        /// `reviewed`: it goes on. `outdated`: it was refused, what it was made from was put back. Else why it was answered:
        /// `session_cancel`, `withdrawn`, `turn_end`, `session_end`, `editor_closed`, `agent_exit`, `restart`. `person`: a person
        /// let it go without a review; `denied`: a person refused it; `policy`: the configuration no longer holds it.
        how: String,
        /// Through which door a person did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// The peer closed the session, or it is no longer connected.
    SessionClosed {
        /// Why.
        why: String,
    },
}

impl Event {
    /// Says whether this is a person's word, which nobody may be told was heard before it is on disk.
    pub fn is_persons_word(&self) -> bool {
        matches!(
            self,
            Self::Decided(_)
                | Self::RejectPending { .. }
                | Self::Rebased { .. }
                | Self::Commented(_)
                | Self::CommentResolved { .. }
        )
    }

    /// Says whether what is known of a call by it may name another one for a change that was seen already.
    pub fn moves_attribution(&self) -> bool {
        matches!(self, Self::Claimed(_) | Self::WindowRefined { .. } | Self::WindowClosed { .. })
    }
}

/// What an agent that reviews came for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Who, and through which door.
    pub actor: Actor,
    /// What it asked: `hunks`, `show`, `blame`, `comment`, `resolve`, `decide`, …
    pub ask: String,
    /// Of what: paths, or ids; at most 200 characters.
    pub about: Redacted,
    /// Why it was turned away, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned_away: Option<String>,
}

/// A change that was rejected and is there again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reapplied {
    /// The change that is there now.
    pub hunk: HunkId,
    /// Its file, as the agent is told it: beneath its root, or absolute where the session has several roots.
    pub path: String,
    /// Where it stands; `None` for what has no lines.
    pub lines: Option<LineRange>,
    /// How often it has come back.
    pub times: u32,
}

/// First record of a root's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootHeader {
    /// The root.
    pub root: RootId,
    /// Canonical absolute path, text form of `RepoPath` without its leading `/`; `None` for `/` itself.
    pub path: Option<RepoPath>,
    /// Git repository or plain directory.
    pub kind: RootKind,
    /// Device and inode when it was opened; a same-boot check for aliases only.
    pub dev_ino: (u64, u64),
}

impl RootHeader {
    /// Returns the absolute path, for people.
    pub fn shown(&self) -> String {
        self.path.as_ref().map_or_else(|| "/".to_owned(), |path| format!("/{path}"))
    }
}

/// A session that works on a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name on disk.
    pub key: SessionKey,
    /// The id the peer chose.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// The session that started it, with the call when only one can have.
    pub parent: Option<(SessionKey, Option<CallId>)>,
}

/// What kind of directory a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The top level of a git work tree.
    Git,
    /// A directory without git, or with a repository that cannot be opened.
    Plain,
}

/// First record of a session's ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHeader {
    /// The session's name on disk.
    pub key: SessionKey,
    /// The id the peer chose.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// The agent's version, as it says.
    pub agent_version: Option<String>,
    /// The client's name, as it says.
    pub client: Option<String>,
    /// The protocol version in force.
    pub protocol: u32,
    /// The `cwd` of the session.
    pub cwd: String,
    /// The roots that are tracked, with their absolute paths (lossy, for people).
    pub roots: Vec<(RootId, String)>,
    /// The session (and its open execute call, when unambiguous) that started this agent.
    pub parent: Option<(String, Option<CallId>)>,
}

/// Who did something, and through which door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Person, agent or criterion.
    pub who: Who,
    /// The door.
    pub channel: Channel,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The person at the machine.
    Person,
    /// A reviewing agent, by name.
    Agent(String),
    /// An automated criterion, by id.
    Criterion(String),
}

/// The door through which something was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The editor: a slash command or a form.
    Editor,
    /// The command line.
    Cli,
    /// The terminal UI.
    Tui,
    /// The web console.
    Web,
    /// The MCP server.
    Mcp,
    /// None: hunkgate itself.
    None,
}

/// An event with its time: what the engine appends and the journal replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it happened.
    pub at: WallNs,
    /// What happened.
    pub event: Event,
}
