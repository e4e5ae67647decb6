//! Asks about what waits for a decision, what stands decided, and the rules: answered from what the engine holds, without a look at disk.

use crate::base::{RequestKey, SessionId, WallNs};
use crate::ledger::{Asking, BadLine, FileDigest, GrantRow, GrantScope, Outcome, Redacted};
use crate::review::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};

/// What can be asked of the docket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum DocketAsk {
    /// The requests that nobody has decided.
    Pending,
    /// Decide one.
    Respond(Response),
    /// The standing permissions of the session.
    Grants,
    /// Take one back.
    Revoke {
        /// Its id or a unique prefix.
        grant: String,
    },
    /// Read the files of the policy anew, also those of the roots.
    Reload,
}

impl DocketAsk {
    /// Says whether it decides something: agents' own descendants may not.
    pub fn decides(&self) -> bool {
        match self {
            Self::Respond(_) | Self::Revoke { .. } | Self::Reload => true,
            Self::Pending | Self::Grants => false,
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
    /// With an allow: a standing permission for the same.
    #[serde(default)]
    pub always: Option<StandingAnswer>,
}

/// A standing permission that is asked for with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingAnswer {
    /// Where it holds.
    pub scope: GrantScope,
    /// How often it allows, beside this time; without limit when absent.
    pub uses: Option<u32>,
    /// For how many seconds.
    pub for_s: Option<u64>,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "done")]
pub enum DocketAnswer {
    /// To `Pending`.
    Pending(PendingShape),
    /// To `Respond`: it has gone on, or the agent was told that it may not.
    Responded(RespondedShape),
    /// To `Grants`.
    Grants(GrantsShape),
    /// To `Revoke`: it allows no more.
    Revoked(Box<GrantItem>),
    /// To `Reload`: what is in force now.
    Loaded(LoadedShape),
}

/// The policy in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedShape {
    /// The session that was asked.
    pub session_id: SessionId,
    /// `observe` or `enforce`.
    pub approvals: String,
    /// How many rules there are.
    pub rules: u32,
    /// The files that they come from.
    pub files: Vec<FileDigest>,
}

/// Standing permissions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrantsShape {
    /// The oldest first.
    pub items: Vec<GrantItem>,
    /// Where the next listing goes on; null when this is all.
    pub next: Option<u64>,
}

/// One standing permission, or a line of their file that cannot be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantItem {
    /// Its id; `line N` of a line that cannot be used.
    pub key: String,
    /// `session`, `user` or `unreadable`.
    pub kind: String,
    /// When it was given.
    pub created: WallNs,
    /// What it allows, in one line.
    pub summary: String,
    /// `open` while it allows, `none` when it is used up or its time is over.
    pub resume: Resume,
    /// How often it may still allow; null where that is not counted.
    pub uses_left: Option<u32>,
    /// Until when.
    pub expires: Option<WallNs>,
    /// The session in which it holds; null where it holds in every session of its workspace.
    pub session_id: Option<SessionId>,
    /// What is recorded of it.
    pub record: serde_json::Value,
}

impl GrantsShape {
    /// Returns the one permission that is called so, by its id or a unique prefix.
    pub fn named(self, wanted: &str) -> Result<GrantItem, Problem> {
        let is_meant = |item: &GrantItem| item.kind != "unreadable" && item.key.starts_with(wanted);
        let mut found = self.items.into_iter().filter(is_meant);
        let message = match (found.next(), found.next()) {
            (Some(item), None) => return Ok(item),
            (None, _) => format!("no standing permission is called {wanted}"),
            (Some(_), Some(_)) => format!("{wanted} begins several standing permissions"),
        };
        Err(Problem::new(ProblemKind::User, message).hint("`hunkgate grants` lists them"))
    }
}

impl DocketAnswer {
    /// Returns its documented JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Pending(shape) => serde_json::json!(shape),
            Self::Responded(shape) => serde_json::json!(shape),
            Self::Grants(shape) => serde_json::json!(shape),
            Self::Revoked(shape) => serde_json::json!(shape),
            Self::Loaded(shape) => serde_json::json!(shape),
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
            Self::Grants(grants) if grants.items.is_empty() => "nothing is allowed standing\n".to_owned(),
            Self::Grants(grants) => grants.items.iter().map(GrantItem::text).collect(),
            Self::Loaded(shape) => {
                let files: Vec<&str> = shape.files.iter().map(|file| file.file.as_str()).collect();
                let from =
                    if files.is_empty() { String::new() } else { format!(" from {}", files.join(", ")) };
                format!(
                    "in force: {}, {}{from}\n",
                    shape.approvals,
                    crate::review::counted(shape.rules as usize, "rule")
                )
            }
            Self::Revoked(item) => format!("revoked: {}\n", item.summary),
        }
    }
}

impl GrantItem {
    /// Shows a permission that outlives sessions.
    pub fn of_row(row: &GrantRow, now: WallNs) -> Self {
        Self {
            key: row.grant.id.clone(),
            kind: "user".to_owned(),
            created: row.at,
            summary: row.grant.says.to_string(),
            resume: if row.is_live(now) { Resume::Open } else { Resume::None },
            uses_left: row.grant.uses.map(|uses| uses.saturating_sub(row.used)),
            expires: row.grant.expires,
            session_id: None,
            record: serde_json::to_value(&row.grant).unwrap_or_default(),
        }
    }

    /// Shows a line that cannot be used, as it stands.
    pub fn of_line(bad: &BadLine) -> Self {
        Self {
            key: format!("line {}", bad.line),
            kind: "unreadable".to_owned(),
            created: WallNs(0),
            summary: bad.reason.clone(),
            resume: Resume::None,
            uses_left: None,
            expires: None,
            session_id: None,
            record: serde_json::Value::String(bad.text.clone()),
        }
    }

    fn text(&self) -> String {
        let mut facts = vec![match (self.kind.as_str(), self.session_id.as_ref()) {
            ("unreadable", _) => "cannot be read: no standing permission of the file counts".to_owned(),
            (_, Some(session)) => format!("in session {session}"),
            (_, None) => "in every session".to_owned(),
        }];
        facts.extend(self.uses_left.map(|left| format!("{left} uses left")));
        facts.extend(self.expires.map(|_| "for a time".to_owned()));
        if self.resume == Resume::None && self.kind != "unreadable" {
            facts.push("over".to_owned());
        }
        format!("{}  {}\n    {}\n", self.key, self.summary, facts.join(", "))
    }
}

impl PendingRequest {
    fn text(&self) -> String {
        let why = self.reasons.first().map(|why| format!("\n    {why}")).unwrap_or_default();
        let how = match (self.resume, self.shown.as_str()) {
            (Resume::Open, "editor") => "asked in the editor; the first answer counts",
            (Resume::Open, _) if self.kind == "gate" => "waits to be reviewed, or for an answer",
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
    /// `permission`, `read`, `write` or `terminal`; `gate`: it waits before the gate until its file is reviewed.
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
