//! Everything the engine can cause, as one ordered list.

use crate::base::{AskId, Leg, RepoPath, RootId, SessionKey};
use crate::ledger::{FilePlan, GateShape, Log, Record, RevertFile, UserGrant, Why};
use crate::policy::{Case, Errand, KnownFiles};
use crate::review::{Answer, Ask};
use bytes::Bytes;

/// Something to do. Sends and appends of one list are performed one after the other; the rest is *started* in that order
/// and answers as an [`Input`](crate::engine::Input) that quotes the [`AskId`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Write a line to a peer.
    Send {
        /// Which.
        leg: Leg,
        /// The line, with its terminator.
        bytes: Bytes,
    },
    /// Append a record.
    Append {
        /// Where.
        log: Log,
        /// What.
        record: Record,
        /// Decisions are synced before the next action; facts are written.
        durability: Durability,
    },
    /// Resolve the roots of a session's directories, and open (or make) its ledger and their chains.
    OpenRoots {
        /// Quoted in the answer.
        ask: AskId,
        /// The session.
        session: SessionKey,
        /// `cwd` first, then the additional directories.
        directories: Vec<String>,
    },
    /// Look at a root.
    Observe {
        /// Quoted in the answer.
        ask: AskId,
        /// The root.
        root: RootId,
        /// Why.
        why: Why,
        /// Paths that must be read even if ignore rules cover them: a call named them.
        named: Vec<RepoPath>,
    },
    /// Compute an ask (listing, show, decision plan, undo, comment, diff, blame) from a snapshot of the ledger.
    Compute {
        /// Quoted in the answer.
        ask: AskId,
        /// The session.
        session: SessionKey,
        /// What.
        what: Ask,
    },
    /// Judge a request by the rules, with the file system at hand.
    Judge {
        /// Quoted in the answer.
        ask: AskId,
        /// What is judged, and by what.
        case: Box<Case>,
    },
    /// Read the files of the policy.
    ReadPolicy {
        /// Quoted in the answer.
        ask: AskId,
        /// The roots whose own files are read, by their tops.
        tops: Vec<String>,
    },
    /// Compare the files of the policy with what is known of them.
    CheckFiles {
        /// Quoted in the answer.
        ask: AskId,
        /// What is known.
        known: KnownFiles,
    },
    /// Use a permission that outlives sessions once: it counts only if it still stands.
    Spend {
        /// Quoted in the answer.
        ask: AskId,
        /// Which.
        grant: String,
    },
    /// Keep a permission that outlives sessions.
    Keep {
        /// Quoted in the answer.
        ask: AskId,
        /// What.
        grant: Box<UserGrant>,
    },
    /// Ask a program outside about a request.
    Assess {
        /// Quoted in the answers.
        ask: AskId,
        /// What it is sent to do.
        errand: Box<Errand>,
    },
    /// End a program that was asked: nobody waits for it any more.
    Dismiss {
        /// The action that started it.
        ask: AskId,
    },
    /// Store the contents of a revert and draw its temporary names, changing nothing in the worktree.
    Prepare {
        /// Quoted in the answer.
        ask: AskId,
        /// What shall become of each file.
        files: Vec<FilePlan>,
    },
    /// Carry a prepared revert out. Its intent has been synced.
    Restore {
        /// Quoted in the answer.
        ask: AskId,
        /// The steps.
        files: Vec<RevertFile>,
    },
    /// Finish or take back a revert that a dead process had begun.
    Recover {
        /// Quoted in the answer, as [`Restored`](crate::engine::Input::Restored).
        ask: AskId,
        /// The steps.
        files: Vec<RevertFile>,
    },
    /// Pin the trees that a session's ledger names, and drop what is no longer named.
    Pin {
        /// The session.
        session: SessionKey,
    },
    /// Say when everything before this was appended, or could not be.
    Settle {
        /// Quoted in the answer.
        ask: AskId,
    },
    /// Answer an ask.
    Reply {
        /// The ask.
        ask: AskId,
        /// The answer.
        answer: Answer,
    },
    /// Tell every surface that something moved.
    Publish(Notice),
    /// Say something on our stderr or log.
    Log {
        /// How loud.
        level: Level,
        /// What.
        text: String,
    },
    /// Nothing is left to say: close the agent's stdin and end it.
    StopAgent,
    /// End the process once the writers are flushed.
    Exit {
        /// With this code.
        code: i32,
    },
}

/// How safe a record must be before the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written to the file.
    Written,
    /// Synced to the disk.
    Synced,
}

/// What surfaces are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The queue of a session moved.
    ReviewChanged {
        /// The session.
        session: SessionKey,
        /// Why, in a word: `observed`, `decided`, `commented`, `rebased`, `turn_ended`, `attributed`.
        reason: &'static str,
    },
    /// A write waits to be reviewed, or none does any more.
    Gate {
        /// The session.
        session: SessionKey,
        /// What waits.
        held: Option<GateShape>,
    },
}

/// How loud a log line is (architecture.md, style 23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A deviation.
    Debug,
    /// A state change.
    Info,
    /// Look today.
    Warn,
}
