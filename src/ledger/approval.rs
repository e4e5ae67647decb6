//! What an agent asked for, what was shown, who decided, and what came of it: the records of approvals.
//!
//! Words that other rooms choose (classes, risks, layers) are kept as text, so that a record of a later version stays readable.

use crate::base::{CallId, Digest, RequestKey, SessionId, Share, TurnNo, WallNs};
use crate::ledger::{Channel, Redacted};
use serde::{Deserialize, Serialize};

/// One step in the life of a request, or something about approvals as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
#[non_exhaustive]
pub enum Approval {
    /// The agent asked.
    Requested(Asking),
    /// It said or did something that nobody was asked about: an announced command, a read, a write or a terminal that passed,
    /// or the call's word that it comes to a path which is observed.
    Observed(Asking),
    /// A layer said what it thinks.
    Assessed(Assessment),
    /// Somebody was asked.
    Prompted {
        /// The request.
        request: RequestKey,
        /// Where the question was shown.
        channel: Channel,
        /// Whether the question was the agent's own, unchanged.
        verbatim: bool,
        /// The answers that were offered.
        options: Vec<OptionShape>,
    },
    /// It was decided.
    Decided {
        /// The request.
        request: RequestKey,
        /// The revision that was decided.
        rev: u32,
        /// What.
        outcome: Outcome,
        /// Who or what decided.
        by: Decider,
        /// The answer that was chosen.
        option: Option<OptionShape>,
        /// Why, for people.
        reason: Option<Redacted>,
        /// Milliseconds since it was asked.
        waited_ms: u64,
        /// What exactly was decided.
        binding: String,
    },
    /// The answer that allows went out, or the request went on to the client: an allow is spent once.
    Used {
        /// The request.
        request: RequestKey,
    },
    /// What came of it.
    Settled {
        /// The request.
        request: RequestKey,
        /// How it ended.
        outcome: Settlement,
    },
    /// It is over without a decision.
    Cancelled {
        /// The request.
        request: RequestKey,
        /// `session_cancel`, `withdrawn`, `superseded`, `answered_cancelled`, `error`, `turn_end`, `session_end`, `agent_exit`,
        /// `restart`, `deadline`, `ambiguous`, `unrecorded`.
        reason: String,
        /// Milliseconds since it was asked.
        waited_ms: u64,
    },
    /// It was allowed, and what it is about changed before it went on.
    Voided {
        /// The request.
        request: RequestKey,
        /// What was approved.
        expected: String,
        /// What was found.
        found: String,
    },
    /// An answer did not fit: late, to another revision, to nothing.
    AnswerRejected {
        /// What it was about, as far as that is known.
        request: String,
        /// Why it does not count.
        why: String,
        /// The answer.
        answer: Redacted,
        /// Through which door it came.
        #[serde(default)]
        channel: Option<Channel>,
        /// The revision that it quoted.
        #[serde(default)]
        quoted: Option<u32>,
        /// The revision that there is.
        #[serde(default)]
        current: Option<u32>,
    },
    /// What was written is not what was shown and approved.
    Differs {
        /// The call that was approved.
        call: CallId,
        /// Its turn.
        turn: Option<TurnNo>,
        /// The path, for people.
        path: Redacted,
    },
    /// A standing permission was given.
    GrantIssued(Grant),
    /// It was taken back, or used up.
    GrantRevoked {
        /// Which.
        grant: String,
        /// Why.
        reason: String,
    },
    /// The rules in force.
    PolicyLoaded {
        /// `observe` or `enforce`.
        approvals: String,
        /// How many rules there are.
        rules: u32,
        /// A digest of them.
        digest: String,
        /// The programs that are asked, with the SHA-256 of what each runs, where it could be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        assessors: Vec<(String, Option<String>)>,
        /// The files that they come from, each with the digest of its text.
        #[serde(default)]
        files: Vec<FileDigest>,
    },
    /// From here on the agent does not ask: only what is found on disk tells what it did.
    GateBlind {
        /// The mode that does not ask.
        mode: String,
    },
}

/// A file, by the digest of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// The file.
    pub file: Redacted,
    /// The digest.
    pub digest: Digest,
}

/// What an agent asked for, or did without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Its name.
    pub request: RequestKey,
    /// Counts what was asked anew under this name.
    pub rev: u32,
    /// The session that it came from, when it works for the one that this ledger is of.
    pub subagent: Option<SessionId>,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// The call.
    pub call: Option<CallId>,
    /// The message that it came in.
    pub method: String,
    /// ACP's word for the tool.
    pub tool_kind: Option<String>,
    /// The agent's title.
    pub title: Redacted,
    /// How well it is known what it wants.
    pub evidence: Evidence,
    /// What it wants.
    pub effects: Vec<EffectShape>,
    /// The answers that it offers.
    pub options: Vec<OptionShape>,
    /// A keyed digest of exactly what it wants.
    pub binding: String,
    /// The agent's mode.
    pub mode: Option<String>,
    /// An allowed request that wanted the same: nobody has to be asked again.
    pub covered_by: Option<RequestKey>,
    /// An open request for the same call that this one replaces.
    pub supersedes: Option<RequestKey>,
}

impl Asking {
    /// Says in one line what it wants.
    pub fn summary(&self) -> String {
        let shown: Vec<String> = self.effects.iter().take(3).map(EffectShape::summary).collect();
        let more = self.effects.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let doubt = if self.evidence == Evidence::Display { " (only a title says so)" } else { "" };
        format!("{}{more}{doubt}", shown.join(", "))
    }
}

/// How well it is known what a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Fields say it. May be allowed without a question.
    Structured,
    /// Only text for people says it. Is never allowed without one.
    Display,
}

/// One thing that a request wants, as it is stored and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
pub enum EffectShape {
    /// A command is run.
    Exec {
        /// As text for a shell.
        text: Option<Redacted>,
        /// As a program and its arguments.
        argv: Vec<Redacted>,
        /// Where, as sent.
        cwd: Option<Redacted>,
        /// Variables that are set for it: names, and fingerprints of their values.
        env: Vec<(String, Redacted)>,
    },
    /// A file is written, whole or in part.
    Write {
        /// As sent.
        path: Redacted,
        /// The text that it shall hold, where that is said.
        new: Option<ContentShape>,
    },
    /// A file is read.
    Read {
        /// As sent.
        path: Redacted,
    },
    /// A file is deleted.
    Delete {
        /// As sent.
        path: Redacted,
    },
    /// A file is moved.
    Move {
        /// As sent.
        from: Redacted,
        /// As sent.
        to: Redacted,
    },
    /// An address is fetched.
    Fetch {
        /// The address.
        url: Redacted,
    },
    /// Something that only a title tells of.
    Opaque {
        /// ACP's word.
        tool_kind: Option<String>,
        /// For people.
        title: Redacted,
    },
}

impl EffectShape {
    fn summary(&self) -> String {
        match self {
            Self::Exec { text: Some(text), .. } => format!("`{}`", short(text.as_str())),
            Self::Exec { text: None, argv, .. } => {
                let words: Vec<&str> = argv.iter().map(Redacted::as_str).collect();
                format!("`{}`", short(&words.join(" ")))
            }
            Self::Write { path, new: Some(new) } => {
                let noun = if new.bytes == 1 { "byte" } else { "bytes" };
                format!("write {path} ({} {noun})", new.bytes)
            }
            Self::Write { path, new: None } => format!("write {path}"),
            Self::Read { path } => format!("read {path}"),
            Self::Delete { path } => format!("delete {path}"),
            Self::Move { from, to } => format!("move {from} to {to}"),
            Self::Fetch { url } => format!("fetch {url}"),
            Self::Opaque { title, .. } => format!("\"{}\"", short(title.as_str())),
        }
    }
}

/// Cuts a text to one line.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let kept: String = line.chars().take(80).collect();
    if kept.len() < text.trim_end().len() { format!("{kept}…") } else { kept }
}

/// A text, by what identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentShape {
    /// A keyed digest.
    pub digest: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
}

/// An answer that was offered or chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionShape {
    /// The agent's id for it.
    pub id: Redacted,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or another word.
    pub kind: String,
    /// For people.
    pub name: Redacted,
}

/// What one layer thinks of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// The request.
    pub request: RequestKey,
    /// Who: `policy`, or the id of an assessor.
    pub assessor: String,
    /// The layer that decided: `floor`, `rule`, `mode`, `grant`, `classifier`, `external`, `default`.
    pub stage: String,
    /// `allow`, `ask`, `deny`, `escalate`, `abstain`, `error`.
    pub outcome: String,
    /// What kind of effect it is.
    pub class: String,
    /// What becomes of it when it was wrong.
    pub risk: String,
    /// The strongest built-in floor: `none`, `ask`, `deny`.
    pub floor: String,
    /// The rules that spoke.
    pub rules: Vec<String>,
    /// Why, the deciding reason first.
    pub reasons: Vec<Redacted>,
    /// What observes a path that it comes to, by the ids of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observers: Vec<String>,
    /// How sure a program outside is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Share>,
    /// The model behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelShape>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
}

/// A model, as it was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShape {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who named it: `harness` or `self`.
    pub source: String,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It may.
    Allow,
    /// It may not.
    Deny,
    /// An answer was chosen whose meaning is not known.
    Unknown,
}

/// Who or what decided.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Decider {
    /// The editor answered: a person in it, or its own settings. Which of both, the protocol does not say.
    Editor,
    /// A person, outside the editor.
    Person {
        /// Through this door.
        channel: Channel,
    },
    /// A built-in floor.
    Floor,
    /// A rule.
    Rule {
        /// Its id.
        id: String,
    },
    /// The mode of the session.
    Mode,
    /// An allowed request that wanted exactly the same.
    Covered {
        /// That request.
        by: RequestKey,
    },
    /// A standing permission.
    Grant {
        /// Its id.
        id: String,
    },
    /// The classifier: it only reads, or writes where writing is allowed.
    Classifier,
    /// A program outside.
    Assessor {
        /// Its id.
        id: String,
    },
    /// hunkgate itself, where nobody could be asked or nothing could be recorded.
    System,
}

/// How something that was allowed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The agent or the client says that it was done.
    Ok,
    /// It says that it failed.
    Failed,
    /// Nobody said.
    Unknown,
}

/// A standing permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// The request that it came from.
    pub from: RequestKey,
    /// Through which door it was given.
    pub channel: Channel,
    /// What it allows, for people.
    pub says: Redacted,
    /// The digest of exactly what it allows.
    pub binding: String,
    /// For whom: the session itself, or one that works for it.
    pub subagent: Option<SessionId>,
    /// Where it holds.
    #[serde(default)]
    pub scope: GrantScope,
    /// How often it allows; without limit when absent.
    #[serde(default)]
    pub uses: Option<u32>,
    /// Until when.
    #[serde(default)]
    pub expires: Option<WallNs>,
}

/// Where a standing permission holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// In its session, as long as its proxy lives.
    #[default]
    Session,
    /// In its workspace, in every session, until it is revoked.
    User,
}

impl Approval {
    /// Returns the request that a record is about.
    pub fn request(&self) -> Option<&RequestKey> {
        match self {
            Self::Requested(asking) | Self::Observed(asking) => Some(&asking.request),
            Self::Assessed(assessment) => Some(&assessment.request),
            Self::Prompted { request, .. }
            | Self::Decided { request, .. }
            | Self::Used { request }
            | Self::Settled { request, .. }
            | Self::Cancelled { request, .. }
            | Self::Voided { request, .. } => Some(request),
            Self::GrantIssued(grant) => Some(&grant.from),
            Self::AnswerRejected { .. }
            | Self::Differs { .. }
            | Self::GrantRevoked { .. }
            | Self::PolicyLoaded { .. }
            | Self::GateBlind { .. } => None,
        }
    }

    /// The words for kinds of records, as [`Approval::word`] gives them.
    pub const WORDS: [&str; 15] = [
        "requested",
        "observed",
        "assessed",
        "prompted",
        "decided",
        "used",
        "settled",
        "cancelled",
        "voided",
        "answer_rejected",
        "differs",
        "grant_issued",
        "grant_revoked",
        "policy_loaded",
        "gate_blind",
    ];

    /// Returns the word for what kind of record it is.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Requested(_) => "requested",
            Self::Observed(_) => "observed",
            Self::Assessed(_) => "assessed",
            Self::Prompted { .. } => "prompted",
            Self::Decided { .. } => "decided",
            Self::Used { .. } => "used",
            Self::Settled { .. } => "settled",
            Self::Cancelled { .. } => "cancelled",
            Self::Voided { .. } => "voided",
            Self::AnswerRejected { .. } => "answer_rejected",
            Self::Differs { .. } => "differs",
            Self::GrantIssued(_) => "grant_issued",
            Self::GrantRevoked { .. } => "grant_revoked",
            Self::PolicyLoaded { .. } => "policy_loaded",
            Self::GateBlind { .. } => "gate_blind",
        }
    }
}
