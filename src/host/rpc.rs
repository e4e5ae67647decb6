//! The requests of the local socket and their answers (ledger.md §10).

use crate::base::{Digest, SessionKey};
use crate::ledger::{Actor, Channel, ReviewState, Who};
use crate::review::{Answer, Ask, Asked, Decide, DecideVerb, Problem, ProblemKind, Selector};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One request.
#[derive(Debug)]
pub(crate) enum Call {
    /// An ask as the surfaces know it.
    Ask(Box<Asked>),
    /// One of the documented methods.
    Review(Asking),
    /// To be told what moves.
    Watch,
}

/// One of the documented methods with its parameters.
#[derive(Debug)]
pub(crate) struct Asking {
    /// The id that the peer chose.
    pub(crate) session_id: String,
    method: Method,
}

#[derive(Debug)]
enum Method {
    ListHunks,
    SetState(SetState),
    Comment(Comment),
    ResolveComment { comment_id: String },
    Rebase { root: Option<String> },
}

#[derive(Debug, Deserialize)]
struct SessionOnly {
    session_id: String,
}

#[derive(Debug, Deserialize)]
struct SetState {
    hunk_id: String,
    state: ReviewState,
    #[serde(default)]
    digest: Option<Digest>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Deserialize)]
struct Comment {
    path: String,
    body: String,
    line_start: u32,
    #[serde(default)]
    line_end: Option<u32>,
    #[serde(default)]
    root: Option<String>,
    #[serde(default)]
    author: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResolveComment {
    comment_id: String,
}

#[derive(Debug, Deserialize)]
struct Rebase {
    #[serde(default)]
    root: Option<String>,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

/// Reads a request: its id, and what it wants.
pub(crate) fn read(line: &[u8]) -> (Value, Result<Call, Problem>) {
    match serde_json::from_slice::<Envelope>(line) {
        Ok(envelope) => (envelope.id, call(&envelope.method, envelope.params)),
        Err(error) => (Value::Null, Err(user(format!("this is no request: {error}")))),
    }
}

fn call(method: &str, params: Value) -> Result<Call, Problem> {
    match method {
        "ask" => return Ok(Call::Ask(Box::new(parse(params)?))),
        "watch" => return Ok(Call::Watch),
        _ => {}
    }
    let SessionOnly { session_id } = parse(params.clone())?;
    let method = match method {
        "review.list_hunks" => Method::ListHunks,
        "review.set_state" => Method::SetState(parse(params)?),
        "review.comment" => Method::Comment(parse(params)?),
        "review.resolve_comment" => {
            let ResolveComment { comment_id } = parse(params)?;
            Method::ResolveComment { comment_id }
        }
        "review.rebase" => {
            let Rebase { root } = parse(params)?;
            Method::Rebase { root }
        }
        _ => return Err(user(format!("there is no method {method}"))),
    };
    Ok(Call::Review(Asking { session_id, method }))
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Problem> {
    serde_json::from_value(params).map_err(|error| user(format!("the parameters do not fit: {error}")))
}

fn user(message: String) -> Problem {
    Problem::new(ProblemKind::User, message)
}

impl Asking {
    /// Returns what it asks.
    pub(crate) fn asked(&self, session: SessionKey, may_decide: bool) -> Result<Asked, Problem> {
        let mut who = Who::Person;
        let ask = match &self.method {
            Method::ListHunks => Ask::Hunks { paths: Vec::new() },
            Method::SetState(set) if set.state == ReviewState::Unreviewed => {
                let problem = user("a decision is not taken back hunk by hunk".to_owned());
                return Err(problem.hint("undo takes the last decision command back"));
            }
            Method::SetState(set) => Ask::Decide(Decide {
                verb: if set.state == ReviewState::Accepted {
                    DecideVerb::Accept
                } else {
                    DecideVerb::Reject
                },
                selector: Selector::Ids(vec![set.hunk_id.clone()]),
                reason: set.reason.clone(),
                digests: set.digest.clone().into_iter().collect(),
                dry_run: false,
                force: set.force,
                now: false,
            }),
            Method::Comment(comment) => {
                who = comment.author.clone().filter(|author| author != "human").map_or(who, Who::Agent);
                Ask::Comment {
                    path: placed(comment.root.as_deref(), &comment.path),
                    line_start: comment.line_start,
                    line_end: comment.line_end,
                    body: comment.body.clone(),
                }
            }
            Method::ResolveComment { comment_id } => Ask::Resolve { comment: comment_id.clone() },
            Method::Rebase { root } => Ask::Rebase { root: root.clone() },
        };
        Ok(Asked { session, actor: Actor { who, channel: Channel::Cli }, may_decide, ask })
    }

    /// Shapes the answer as the method documents it.
    pub(crate) fn result(&self, answer: Answer) -> Result<Value, Problem> {
        let session_id = &self.session_id;
        let shaped = match (&self.method, answer) {
            (_, Answer::Problem(problem)) => return Err(problem),
            (Method::ListHunks, Answer::Listing(listing)) => serde_json::to_value(listing),
            (Method::SetState(set), Answer::Decided(decided)) => {
                let item = decided.items.first().or(decided.left.first());
                let Some(item) = item else { return Err(user(format!("there is no hunk {}", set.hunk_id))) };
                if matches!(item.outcome.as_str(), "refused" | "left") {
                    let reason = item.reason.clone().unwrap_or_else(|| "it is refused".to_owned());
                    return Err(Problem::new(ProblemKind::Conflict, reason));
                }
                Ok(json!({
                    "session_id": session_id,
                    "hunk_id": item.id,
                    "state": item.state,
                    "queued": decided.queued,
                }))
            }
            (Method::Comment(_), Answer::Commented(comment)) => {
                Ok(json!({ "session_id": session_id, "comment": comment }))
            }
            (Method::ResolveComment { .. }, Answer::Resolved(comment)) => Ok(json!({
                "session_id": session_id,
                "comment_id": comment.id,
                "resolved": comment.resolved,
            })),
            (Method::Rebase { .. }, Answer::Rebased(roots)) => {
                Ok(json!({ "session_id": session_id, "roots": roots }))
            }
            (_, _) => {
                return Err(Problem::new(ProblemKind::Internal, "the answer does not fit the question"));
            }
        };
        shaped.map_err(|error| Problem::new(ProblemKind::Internal, error.to_string()))
    }
}

fn placed(root: Option<&str>, path: &str) -> String {
    match root {
        Some(root) if !path.starts_with('/') => format!("{}/{path}", root.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

/// Writes an answer, straight into its text: a listing is megabytes.
pub(crate) fn result(id: &Value, result: &impl Serialize) -> serde_json::Result<String> {
    let result = serde_json::to_string(result)?;
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Writes an error.
pub(crate) fn error(id: &Value, problem: &Problem) -> String {
    let error = json!({
        "code": problem.kind.rpc_code(),
        "message": problem.message,
        "data": { "kind": problem.kind, "hint": problem.hint },
    });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(line: &str) -> Asking {
        match read(line.as_bytes()).1.expect("a call") {
            Call::Review(asking) => asking,
            other @ (Call::Ask(_) | Call::Watch) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_that_cannot_be_read_is_the_callers_to_fix() {
        for line in ["junk", r#"{"id":1}"#, r#"{"id":1,"method":"review.list_hunks","params":{}}"#] {
            let (_, call) = read(line.as_bytes());
            assert_eq!(call.expect_err("unreadable").kind.rpc_code(), -32602, "{line}");
        }
    }

    #[test]
    fn a_state_becomes_a_decision_on_one_hunk_that_was_seen() {
        let asking = asking(
            r#"{"id":1,"method":"review.set_state","params":{"session_id":"s","hunk_id":"ab","state":"rejected","digest":"d","reason":"no","unknown":1}}"#,
        );
        let asked = asking.asked(SessionKey::new("k"), true).expect("it can be asked");
        let Ask::Decide(decide) = asked.ask else { panic!("a decision") };
        assert_eq!(decide.verb, DecideVerb::Reject);
        assert_eq!(decide.selector, Selector::Ids(vec!["ab".into()]));
        assert_eq!((decide.digests, decide.reason), (vec![Digest::new("d")], Some("no".into())));
    }

    #[test]
    fn a_path_beneath_a_root_is_placed_there() {
        assert_eq!(placed(Some("/w/"), "a/b"), "/w/a/b");
        assert_eq!(placed(Some("/w"), "/x"), "/x");
        assert_eq!(placed(None, "a"), "a");
    }
}
