//! The surfaces of programs as adapters of the corpus: HTTP, and the tools of MCP.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a surface puts what it can, and the rest is not its matter"
)]

use crate::mcp::{heard, initialize};
use crate::support::surface::Surface;
use crate::web::Served;
use hunkgate::base::SessionKey;
use hunkgate::config::McpMay;
use hunkgate::ledger::{ListingShape, Outcome, SessionRowShape, Who};
use hunkgate::review::{Answer, Ask, Decide, DecideVerb, DocketAsk, Problem, Selector};
use hunkgate::surface::mcp::{Server, Tools};
use hunkgate::surface::{Caller, Cursor, Doors, LogLine, Port};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// A door behind which one answer waits.
#[derive(Debug)]
struct Behind {
    answer: Mutex<Answer>,
    asked: Mutex<Option<Ask>>,
}

impl Behind {
    fn new() -> Arc<Self> {
        Arc::new(Self { answer: Mutex::new(Answer::Note(None)), asked: Mutex::default() })
    }

    /// What was asked since it was looked last.
    fn asked(&self) -> Option<Ask> {
        self.asked.lock().unwrap().take()
    }

    /// The same, which is what these words ask.
    fn was_asked(&self, words: &[String], ask: &Ask) -> Option<Ask> {
        let asked = self.asked();
        assert_eq!(asked.as_ref(), Some(ask), "{words:?}");
        asked
    }

    fn waits(&self, answer: &Answer) {
        *self.answer.lock().unwrap() = answer.clone();
    }
}

impl Port for Behind {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        Ok(crate::sessions())
    }

    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer {
        self.ask_for(session, Who::Person, ask)
    }

    fn log(&self, _: &SessionKey, _: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        Ok(Vec::new())
    }

    fn delete(&self, _: &SessionKey) -> Result<(), Problem> {
        Ok(())
    }
}

impl Doors for Behind {
    fn is_agents(&self, _: Option<&Caller>) -> bool {
        false
    }

    fn is_own(&self, _: &SessionKey) -> bool {
        false
    }

    fn ask_for(&self, _: &SessionKey, _: Who, ask: Ask) -> Answer {
        *self.asked.lock().unwrap() = Some(ask);
        self.answer.lock().unwrap().clone()
    }

    fn announce(&self, _: Option<SocketAddr>) {}
}

/// Every text of a value, as a program reads it.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(members) => members.values().map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn verb(verb: DecideVerb) -> &'static str {
    match verb {
        DecideVerb::Accept => "accepted",
        DecideVerb::Reject => "rejected",
    }
}

/// A decision on one hunk, as `review.set_state` has it.
fn set_state(decide: &Decide) -> Option<Value> {
    let Selector::Ids(ids) = &decide.selector else { return None };
    let [id] = ids.as_slice() else { return None };
    if decide.dry_run || decide.now || decide.digests.len() > 1 {
        return None;
    }
    let mut body = json!({ "hunk_id": id, "state": verb(decide.verb), "digest": decide.digests.first() });
    if let Some(reason) = &decide.reason {
        body["reason"] = json!(reason);
    }
    if decide.force {
        body["force"] = json!(true);
    }
    Some(body)
}

// ── HTTP ──

/// Requests to a console, and the bodies that come back.
pub(super) struct Http {
    behind: Arc<Behind>,
    served: Served<Behind>,
    /// Method, path and body of what was put last.
    request: Option<(&'static str, String, String)>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Http {
    pub(super) fn new() -> Self {
        let behind = Behind::new();
        Self { served: Served::over(Arc::clone(&behind)), behind, request: None }
    }

    fn send(&self) -> Value {
        let (method, path, body) = self.request.as_ref().expect("something was put");
        let reply = if *method == "GET" { self.served.get(path) } else { self.served.post(path, body) };
        let wanted = match &*self.behind.answer.lock().unwrap() {
            Answer::Problem(problem) if problem.kind.rpc_code() == -32602 => 422,
            Answer::Problem(_) => 502,
            _ => 200,
        };
        // A refused state is an error of its own.
        assert!(
            reply.status == wanted || wanted == 200 && path.ends_with("/state"),
            "{method} {path}: {} {}",
            reply.status,
            reply.body
        );
        reply.json()
    }
}

fn segment(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Returns the request that means an ask.
fn request(ask: &Ask) -> Option<(&'static str, String, Value)> {
    let get = |path: String| Some(("GET", path, Value::Null));
    let post = |path: String, body: Value| Some(("POST", path, body));
    match ask {
        Ask::Status => get("status".into()),
        Ask::Hunks { paths } if paths.is_empty() => get("review/hunks".into()),
        Ask::Show { id } if !id.is_empty() => get(format!("review/hunks/{}", segment(id))),
        Ask::Note => get("review/note".into()),
        Ask::Diff { selector: Selector::All } => get("review/diff".into()),
        Ask::Decide(decide) => match set_state(decide) {
            Some(body) => post("review/state".into(), body),
            None => post("review/decide".into(), json!(decide)),
        },
        Ask::Undo { dry_run } => post("review/undo".into(), json!({ "dry_run": dry_run })),
        Ask::Redo { dry_run } => post("review/redo".into(), json!({ "dry_run": dry_run })),
        Ask::Comment { path, line_start, line_end, body } => post(
            "review/comment".into(),
            json!({ "path": path, "line_start": line_start, "line_end": line_end, "body": body }),
        ),
        Ask::Resolve { comment } => post(format!("review/comment/{}/resolve", segment(comment)), json!({})),
        Ask::Rebase { root } => post("review/rebase".into(), json!({ "root": root })),
        Ask::Docket(DocketAsk::Pending) => get("pending".into()),
        Ask::Docket(DocketAsk::Respond(response)) if response.rev.is_some() && response.always.is_none() => {
            post(
                format!("pending/{}", segment(&response.request)),
                json!({ "outcome": if response.outcome == Outcome::Allow { "allow" } else { "deny" }, "rev": response.rev, "reason": response.reason }),
            )
        }
        _ => None,
    }
}

impl Surface for Http {
    fn wants_listing(&self, _: &Ask) -> bool {
        false
    }

    fn put(&mut self, words: &[String], ask: &Ask, _: Option<&ListingShape>) -> Option<Ask> {
        let (method, path, body) = request(ask)?;
        self.request = Some((method, format!("/api/session/new/{path}"), body.to_string()));
        self.behind.waits(&Answer::Problem(Problem::new(hunkgate::review::ProblemKind::User, "not yet")));
        self.send();
        self.behind.was_asked(words, ask)
    }

    fn show(&mut self, answer: &Answer) -> String {
        self.behind.waits(answer);
        texts(&self.send())
    }
}

// ── MCP ──

/// Calls of tools, and their results.
#[derive(Debug)]
pub(super) struct Mcp {
    behind: Arc<Behind>,
    call: Value,
}

impl Mcp {
    pub(super) fn new() -> Self {
        Self { behind: Behind::new(), call: Value::Null }
    }

    fn send(&mut self) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": self.call });
        let may = BTreeSet::from([McpMay::Comment, McpMay::Decide]);
        let server = Server::new(Tools::new(Arc::clone(&self.behind) as Arc<dyn Doors>, may));
        let replies = heard(server, format!("{}\n{message}\n", initialize()));
        replies.into_iter().next_back().expect("the answer after the greeting's")
    }
}

/// Returns the call that means an ask.
fn call(ask: &Ask) -> Option<(&'static str, Value)> {
    Some(match ask {
        Ask::Hunks { paths } => ("review_list_hunks", json!({ "paths": paths })),
        Ask::Show { id } => ("review_show_hunk", json!({ "hunk_id": id })),
        Ask::Blame { path } => ("review_blame", json!({ "path": path })),
        Ask::Decide(decide) if !decide.force => ("review_set_state", set_state(decide)?),
        Ask::Comment { path, line_start, line_end, body } => (
            "review_comment",
            json!({ "path": path, "line_start": line_start, "line_end": line_end, "body": body }),
        ),
        Ask::Resolve { comment } => ("review_resolve_comment", json!({ "comment_id": comment })),
        _ => return None,
    })
}

impl Surface for Mcp {
    fn wants_listing(&self, _: &Ask) -> bool {
        false
    }

    fn put(&mut self, words: &[String], ask: &Ask, _: Option<&ListingShape>) -> Option<Ask> {
        let (name, mut arguments) = call(ask)?;
        arguments["session_id"] = json!("new");
        self.call = json!({ "name": name, "arguments": arguments });
        self.send();
        self.behind.was_asked(words, ask)
    }

    fn show(&mut self, answer: &Answer) -> String {
        self.behind.waits(answer);
        let reply = self.send();
        let result = &reply["result"];
        assert!(result["isError"].is_boolean(), "{reply}");
        texts(if result["isError"] == true { &result["content"] } else { &result["structuredContent"] })
    }
}
