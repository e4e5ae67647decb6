//! Everything that can happen to the engine.

use crate::base::{AskId, RootId};
use crate::config::Written;
use crate::ledger::{Gap, Observation, Record, RevertFile, RevertOutcome, RootHeader, SessionHeader, Skip};
use crate::policy::{FileNews, Finding, Opinion, UserFile};
use crate::review::{Asked, Computed};
use bytes::Bytes;

/// Something that happened. Wrong input is data, never an error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// A whole line came from the editor, with its terminator as it was.
    FromEditor(Bytes),
    /// A whole line came from the agent, with its terminator as it was.
    FromAgent(Bytes),
    /// The editor closed its end.
    EditorClosed,
    /// The agent is gone, after all its output was handed in.
    AgentExited {
        /// Its exit code, 128+n for signal n.
        code: i32,
        /// The end of its stderr, at most 64 KiB.
        stderr_tail: String,
    },
    /// The agent could not be started.
    AgentNotStarted {
        /// The command, as the person wrote it; empty where none was tried.
        command: String,
        /// Why.
        reason: String,
        /// 127 not found, 126 not executable.
        code: i32,
    },
    /// A session is taken up from its journal, with no peers: a command without a proxy.
    Adopt {
        /// Its header.
        header: Box<SessionHeader>,
        /// Its `cwd` and additional directories, or its roots.
        directories: Vec<String>,
    },
    /// Roots were resolved for the directories of a session.
    RootsOpened {
        /// The action it answers.
        ask: AskId,
        /// One result per directory asked for.
        roots: Vec<OpenedRoot>,
        /// True when nothing can be recorded for this session (no state directory, not writable).
        unrecorded: Option<String>,
        /// What earlier processes wrote in the session's ledger, when it exists.
        history: Vec<Record>,
        /// What replay of it had to skip.
        skips: Vec<Skip>,
    },
    /// A root was observed, or could not be. Records of other processes come first.
    Observed {
        /// The action it answers.
        ask: AskId,
        /// The root.
        root: RootId,
        /// Chain records that other processes appended since the last look, in order.
        foreign: Vec<Record>,
        /// The new link (already appended to the chain), or the gap (likewise).
        outcome: Result<Observation, Gap>,
        /// How well the root is seen; `None` where it was not looked at.
        sight: Option<Sight>,
    },
    /// Something happens beneath a root, after everything before was looked at. Told once until the next look.
    Stirred {
        /// The root.
        root: RootId,
    },
    /// Somebody began to watch what moves, or watches no longer: so many do now.
    Watched {
        /// How many connections are told what moves.
        watching: usize,
    },
    /// A web console began to listen, or does so no longer.
    ConsoleMoved {
        /// `http://HOST:PORT`, when one listens.
        console: Option<String>,
    },
    /// An ask was computed from a snapshot of the ledger.
    Computed {
        /// The action it answers.
        ask: AskId,
        /// What came out.
        computed: Computed,
    },
    /// The files of a revert were prepared: contents stored, temporary names drawn; nothing in the worktree changed.
    Prepared {
        /// The action it answers.
        ask: AskId,
        /// Per file: the step, or why it is refused.
        files: Vec<Result<RevertFile, RevertOutcome>>,
    },
    /// A revert was carried out, file by file.
    Restored {
        /// The action it answers.
        ask: AskId,
        /// How each file ended.
        files: Vec<RevertOutcome>,
    },
    /// A request was judged by the rules.
    Judged {
        /// The action it answers.
        ask: AskId,
        /// What they say, or why it could not be judged.
        finding: Result<Box<Finding>, String>,
    },
    /// The files of the policy were read, because a person asked for it.
    PolicyRead {
        /// The action it answers.
        ask: AskId,
        /// The person's own.
        user: UserFile,
        /// Per root: its top, and its own file.
        projects: Vec<(String, Result<Option<Written>, String>)>,
    },
    /// The files of the policy were compared with what was known of them.
    FilesChecked {
        /// The action it answers.
        ask: AskId,
        /// What is not as it was known.
        news: Option<Box<FileNews>>,
    },
    /// A permission that outlives sessions was used or kept, or why not.
    Granted {
        /// The action it answers.
        ask: AskId,
        /// How it went.
        outcome: Result<(), String>,
    },
    /// A program outside said something of a request on its way to a reply.
    Opined {
        /// The action it belongs to.
        ask: AskId,
        /// What.
        opinion: Box<Opinion>,
    },
    /// A program outside replied.
    Assessed {
        /// The action it answers.
        ask: AskId,
        /// What it thinks, or why it counts for nothing.
        reply: Result<Box<Opinion>, String>,
    },
    /// Somebody asked something.
    Asked {
        /// Quoted in the reply.
        ask: AskId,
        /// What.
        asked: Asked,
    },
    /// An append failed; recording is incomplete from here on. Comes before anything else that the same batch led to.
    AppendFailed {
        /// The session or root that is incomplete.
        log: crate::ledger::Log,
        /// What could not be written.
        record: Box<Record>,
        /// Why, for people.
        reason: String,
    },
    /// What could not be appended to a log was appended now, before what came since.
    CaughtUp {
        /// The session or root.
        log: crate::ledger::Log,
        /// How many records came late.
        late: u32,
        /// How many are lost.
        lost: u32,
    },
    /// A session's ledger was removed from the disk while it was written. All of it was written again.
    WrittenAgain {
        /// The session.
        session: crate::base::SessionKey,
    },
    /// What commands in a terminal find a session by was removed from the disk, or cannot be made.
    DoorMoved {
        /// The session whose lease it is; `None` for the socket of all.
        session: Option<crate::base::SessionKey>,
        /// Whether it stands there again, or why it does not.
        stands: Result<(), String>,
    },
    /// Everything that was to be appended before [`Settle`](crate::engine::Action::Settle) was; what was not came as
    /// [`AppendFailed`](Input::AppendFailed) before this.
    Settled {
        /// The action it answers.
        ask: AskId,
    },
    /// A deadline may have passed.
    Woken,
    /// A signal of ours: hang-up, interrupt or terminate. The host has passed it on.
    Signal(&'static str),
}

/// How well a root is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// `watch`, `hybrid` or `walk`.
    pub observing: &'static str,
    /// Why not by watching alone, for people; `None` where it is.
    pub because: Option<String>,
    /// Changes so far of which no watch had told, and which a verify walk found.
    pub missed: u64,
    /// What could not be followed or read at this look, for people.
    pub remarks: Vec<String>,
}

/// One directory of a session, resolved.
#[derive(Clone, Debug)]
pub struct OpenedRoot {
    /// The directory that was asked for.
    pub directory: String,
    /// Where it really is: canonical absolute path (bytes); empty when it could not be resolved.
    pub canonical: Vec<u8>,
    /// Its root, or why it is not tracked.
    pub root: Result<RootHeader, String>,
    /// The canonical absolute path of the root (bytes), when there is one.
    pub top: Vec<u8>,
    /// `watch`, `hybrid` or `walk`.
    pub observing: &'static str,
    /// What the root's own configuration says, or why it cannot be read; `None` where there is none.
    pub project: Option<Result<Written, String>>,
    /// What the root's chain held already, in order, when this process first opened it.
    pub history: Vec<Record>,
    /// What replay of the chain had to skip.
    pub skips: Vec<Skip>,
}
