//! The documented methods of the local socket, of HTTP and of MCP: parameters → ask, answer → result (ledger.md §10).

use crate::base::{Digest, SessionKey};
use crate::ledger::{Actor, Channel, ReviewState, Who};
use crate::review::{Answer, Ask, Asked, Decide, DecideVerb, Problem, ProblemKind, Selector};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One of the documented methods with its parameters.
#[derive(Debug)]
pub struct Asking {
    /// The id that the peer chose.
    pub session_id: String,
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

impl Asking {
    /// Reads a method's parameters.
    pub fn read(method: &str, params: Value) -> Result<Self, Problem> {
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
        Ok(Self { session_id, method })
    }

    /// Returns what it asks, of a session, through the command line's door.
    pub fn asked(&self, session: SessionKey, may_decide: bool) -> Result<Asked, Problem> {
        let actor = Actor { who: self.who(), channel: Channel::Cli };
        Ok(Asked { session, actor, may_decide, ask: self.ask()? })
    }

    /// Returns who says it, as the parameters have it.
    pub fn who(&self) -> Who {
        match &self.method {
            Method::Comment(comment) => {
                let author = comment.author.clone().filter(|author| author != "human");
                author.map_or(Who::Person, Who::Agent)
            }
            Method::ListHunks
            | Method::SetState(_)
            | Method::ResolveComment { .. }
            | Method::Rebase { .. } => Who::Person,
        }
    }

    /// Returns the ask.
    pub fn ask(&self) -> Result<Ask, Problem> {
        Ok(match &self.method {
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
            Method::Comment(comment) => Ask::Comment {
                path: placed(comment.root.as_deref(), &comment.path),
                line_start: comment.line_start,
                line_end: comment.line_end,
                body: comment.body.clone(),
            },
            Method::ResolveComment { comment_id } => Ask::Resolve { comment: comment_id.clone() },
            Method::Rebase { root } => Ask::Rebase { root: root.clone() },
        })
    }

    /// Shapes the answer as the method documents it.
    pub fn result(&self, answer: Answer) -> Result<Value, Problem> {
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

/// Places a path beneath the root that was named with it; an absolute one stands for itself.
pub(super) fn placed(root: Option<&str>, path: &str) -> String {
    match root {
        Some(root) if !path.starts_with('/') => format!("{}/{path}", root.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Problem> {
    serde_json::from_value(params).map_err(|error| user(format!("the parameters do not fit: {error}")))
}

fn user(message: String) -> Problem {
    Problem::new(ProblemKind::User, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_becomes_a_decision_on_one_hunk_that_was_seen() {
        let params = json!({ "session_id": "s", "hunk_id": "ab", "state": "rejected", "digest": "d", "reason": "no", "unknown": 1 });
        let asking = Asking::read("review.set_state", params).expect("a call");
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
