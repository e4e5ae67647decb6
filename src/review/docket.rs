//! Asks about what waits for a decision, what stands decided, and the rules: answered from what the engine holds, without a look at disk.

use crate::base::{RequestKey, SessionId, WallNs};
use crate::ledger::{Asking, Outcome, Redacted};
use serde::{Deserialize, Serialize};

/// What can be asked of the docket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum DocketAsk {
    /// The requests that nobody has decided.
    Pending,
    /// Decide one.
    Respond(Response),
}

impl DocketAsk {
    /// Says whether it decides something: agents' own descendants may not.
    pub fn decides(&self) -> bool {
        match self {
            Self::Respond(_) => true,
            Self::Pending => false,
        }
    }
}

/// A person's answer to a request, from outside the editor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The request, by its key or a unique prefix.
    pub request: String,
    /// The revision that the person saw; an answer to another one does not count.
    pub rev: Option<u32>,
    /// Allow or deny.
    pub outcome: Outcome,
    /// The person's words, for a denial.
    pub reason: Option<String>,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "done")]
pub enum DocketAnswer {
    /// To `Pending`.
    Pending(PendingShape),
    /// To `Respond`: it has gone on, or the agent was told that it may not.
    Responded(RespondedShape),
}

impl DocketAnswer {
    /// Returns its documented JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Pending(shape) => serde_json::json!(shape),
            Self::Responded(shape) => serde_json::json!(shape),
        }
    }

    /// Writes it as text for people.
    pub fn text(&self) -> String {
        match self {
            Self::Pending(pending) if pending.items.is_empty() => "nothing waits for an answer\n".to_owned(),
            Self::Pending(pending) => pending.items.iter().map(PendingRequest::text).collect(),
            Self::Responded(responded) => {
                let outcome = match responded.outcome {
                    Outcome::Allow => "allowed",
                    Outcome::Deny => "denied",
                    Outcome::Unknown => "answered",
                };
                format!("{outcome}: {}\n", responded.summary)
            }
        }
    }
}

impl PendingRequest {
    fn text(&self) -> String {
        let why = self.reasons.first().map(|why| format!("\n    {why}")).unwrap_or_default();
        let how = match (self.resume, self.shown.as_str()) {
            (Resume::Open, "editor") => "asked in the editor; the first answer counts",
            (Resume::Open, _) => "waits for an answer",
            (Resume::AskAgain, _) => "its proxy is gone: the agent has to ask again",
            (Resume::None, _) => "the editor has the question; it is only recorded here",
        };
        format!("{}  rev {}  {}{why}\n    {how}\n", self.key, self.rev, self.summary)
    }
}

/// What waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PendingShape {
    /// The oldest first.
    pub items: Vec<PendingRequest>,
    /// Where the next listing goes on; null when this is all.
    pub next: Option<u64>,
}

/// One request that nobody has decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingRequest {
    /// Its name.
    pub key: RequestKey,
    /// Counts what was asked anew under this name: an answer quotes it.
    pub rev: u32,
    /// `permission`, `read`, `write` or `terminal`.
    pub kind: String,
    /// When it was asked.
    pub created: WallNs,
    /// What it wants, in one line.
    pub summary: String,
    /// What an answer from here can do.
    pub resume: Resume,
    /// Where the question is shown: `editor`, or `nowhere`.
    pub shown: String,
    /// The session.
    pub session_id: SessionId,
    /// Why nothing else decided, the deciding reason first.
    pub reasons: Vec<Redacted>,
    /// What is recorded of it.
    pub record: Asking,
}

/// What an answer from outside the editor can do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// The agent waits: an answer reaches it.
    Open,
    /// Its proxy is gone, and the agent with it: it has to ask again.
    AskAgain,
    /// Nothing: requests are only recorded here, and the editor has the question.
    None,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RespondedShape {
    /// The session.
    pub session_id: SessionId,
    /// The request.
    pub key: RequestKey,
    /// The revision that was answered.
    pub rev: u32,
    /// What was decided.
    pub outcome: Outcome,
    /// What was asked for, in one line.
    pub summary: String,
}
