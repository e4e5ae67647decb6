//! What can be called, and what becomes of a call.

#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes does not fit the question")]

use super::cut;
use crate::base::SessionKey;
use crate::config::McpMay;
use crate::ledger::{SessionRowShape, Who};
use crate::review::{Answer, Ask, Problem, ProblemKind};
use crate::surface::methods::Asking;
use crate::surface::port::Doors;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Lines of a blame in one answer.
const MOST_LINES: usize = 400;

/// The tools, for one agent.
pub struct Tools {
    doors: Arc<dyn Doors>,
    may: BTreeSet<McpMay>,
    agent: String,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools").field("may", &self.may).field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl Tools {
    /// Makes the tools; `may` is what the configuration allows beside looking.
    pub fn new(doors: Arc<dyn Doors>, may: BTreeSet<McpMay>) -> Self {
        Self { doors, may, agent: "agent".to_owned() }
    }

    /// Takes the name that the agent gives itself: what it says is signed with it.
    pub(super) fn name(&mut self, name: &str) {
        let plain: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        if !plain.trim().is_empty() {
            self.agent = plain;
        }
    }

    /// Describes the tools.
    pub(super) fn list(&self) -> Value {
        let session = json!({ "type": "string", "description": "a session_id of review_list_sessions" });
        let text = |says: &str| json!({ "type": "string", "description": says });
        let number = |says: &str| json!({ "type": "integer", "minimum": 0, "description": says });
        let tool = |name: &str, says: &str, reads: bool, own: Value, required: &[&str]| {
            let mut properties = json!({ "session_id": session });
            let mut needed = vec!["session_id"];
            needed.extend(required);
            if let (Some(all), Some(own)) = (properties.as_object_mut(), own.as_object()) {
                all.extend(own.clone());
            }
            json!({
                "name": name, "description": says,
                "inputSchema": { "type": "object", "properties": properties, "required": needed },
                "annotations": { "readOnlyHint": reads, "openWorldHint": false },
            })
        };
        let decides = if self.may.contains(&McpMay::Decide) {
            "Accepts or rejects a hunk; a rejected one is put back on disk. Never in your own session."
        } else {
            "Accepts or rejects a hunk. The configuration does not allow it here: comment instead."
        };
        json!([
            {
                "name": "review_list_sessions",
                "description": "Lists the recorded sessions, the one that was active last first, with their parents and children.",
                "inputSchema": { "type": "object", "properties": {} },
                "annotations": { "readOnlyHint": true, "openWorldHint": false },
            },
            tool("review_list_hunks", "Lists what a session changed: hunks with their calls and evidence, comments, policy. Bodies are cut at 2000 characters.", true,
                json!({ "paths": { "type": "array", "items": { "type": "string" }, "description": "only these files and directories" } }), &[]),
            tool("review_show_hunk", "Shows one hunk: content, calls, evidence in a sentence, history of decisions.", true,
                json!({ "hunk_id": text("an id or a unique prefix"), "offset": number("characters of long bodies to leave out") }), &["hunk_id"]),
            tool("review_blame", "Says who wrote each line of a file as it stands: base, a call, external, unknown. At most 400 lines at a time.", true,
                json!({ "path": text("relative to a root, or absolute"), "root": text("the root, absolute"), "from": number("first line, 1 when absent") }), &["path"]),
            tool("review_comment", "Says something about lines of a file. The person sees it; it is signed as yours.", false,
                json!({ "path": text("relative to a root, or absolute"), "root": text("the root, absolute"), "body": text("what to say"), "line_start": number("first line, 1-based"), "line_end": number("last line, inclusive") }),
                &["path", "body", "line_start"]),
            tool("review_resolve_comment", "Settles a comment.", false, json!({ "comment_id": text("a comment's id") }), &["comment_id"]),
            tool("review_set_state", decides, false,
                json!({ "hunk_id": text("an id"), "state": { "enum": ["accepted", "rejected"] }, "digest": text("the hunk's digest as you saw it"), "reason": text("for the author, with a reject") }), &["hunk_id", "state"]),
        ])
    }

    /// Carries a call out.
    pub(super) fn call(&self, name: &str, arguments: Value) -> Result<Value, Problem> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let wanted = |key: &str| text(key).ok_or_else(|| user(format!("{key} is missing")));
        match name {
            "review_list_sessions" => {
                let items: Vec<Value> = self.doors.sessions()?.iter().map(|row| self.row(row)).collect();
                Ok(json!({ "items": items, "next": null }))
            }
            "review_list_hunks" => {
                let paths = arguments.get("paths").and_then(Value::as_array).into_iter().flatten();
                let paths = paths.filter_map(Value::as_str).map(str::to_owned).collect();
                match self.put(&wanted("session_id")?, Ask::Hunks { paths })? {
                    Answer::Listing(listing) => cut_to(&listing, 0),
                    other => misfit(other),
                }
            }
            "review_show_hunk" => {
                let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
                match self.put(&wanted("session_id")?, Ask::Show { id: wanted("hunk_id")? })? {
                    Answer::Shown(shown) => cut_to(&shown, usize::try_from(offset).unwrap_or(usize::MAX)),
                    other => misfit(other),
                }
            }
            "review_blame" => {
                let from = arguments.get("from").and_then(Value::as_u64).unwrap_or(1);
                let path = match text("root") {
                    Some(root) => format!("{}/{}", root.trim_end_matches('/'), wanted("path")?),
                    None => wanted("path")?,
                };
                self.blame(&wanted("session_id")?, path, usize::try_from(from).unwrap_or(usize::MAX))
            }
            "review_set_state" => self.method("review.set_state", McpMay::Decide, arguments),
            "review_comment" => self.method("review.comment", McpMay::Comment, arguments),
            "review_resolve_comment" => self.method("review.resolve_comment", McpMay::Comment, arguments),
            _ => Err(user(format!("there is no tool {name}"))),
        }
    }

    fn row(&self, row: &SessionRowShape) -> Value {
        let mut shown = json!(row);
        shown["own"] = json!(self.doors.is_own(&row.key));
        shown
    }

    fn blame(&self, session: &str, path: String, from: usize) -> Result<Value, Problem> {
        match self.put(session, Ask::Blame { path })? {
            Answer::Blame(mut blame) => {
                let first = from.saturating_sub(1).min(blame.lines.len());
                let rest = blame.lines.split_off(first);
                let next = (rest.len() > MOST_LINES).then_some(first + MOST_LINES + 1);
                blame.lines = rest.into_iter().take(MOST_LINES).collect();
                let mut shown = cut_to(&blame, 0)?;
                shown["next_line"] = json!(next);
                Ok(shown)
            }
            other => misfit(other),
        }
    }

    /// Carries one of the documented methods out, where the configuration allows it.
    fn method(&self, method: &str, may: McpMay, mut arguments: Value) -> Result<Value, Problem> {
        let Some(members) = arguments.as_object_mut() else {
            return Err(user("the arguments are no object"));
        };
        // Nobody else is spoken for, and nothing in doubt is given up.
        members.shift_remove("author");
        members.shift_remove("force");
        if !self.may.contains(&may) {
            let word = if may == McpMay::Decide { "decide" } else { "comment" };
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("the configuration does not let agents {word}"),
            )
            .hint(format!("a person allows it with [mcp] may = [\"comment\", \"{word}\"]")));
        }
        let asking = Asking::read(method, arguments)?;
        let key = self.session(&asking.session_id)?;
        if method != "review.comment" && self.doors.is_own(&key) {
            return Err(Problem::new(ProblemKind::Conflict, "an agent decides nothing in its own session")
                .hint("leave it to the person, or comment"));
        }
        let answer = self.doors.ask_for(&key, Who::Agent(self.agent.clone()), asking.ask()?);
        let mut result = asking.result(answer)?;
        cut::bodies(&mut result, 0);
        Ok(result)
    }

    fn put(&self, session: &str, ask: Ask) -> Result<Answer, Problem> {
        Ok(self.doors.ask_for(&self.session(session)?, Who::Agent(self.agent.clone()), ask))
    }

    fn session(&self, id: &str) -> Result<SessionKey, Problem> {
        let rows = self.doors.sessions()?;
        let found = rows.into_iter().find(|row| row.session_id.as_str() == id || row.key.as_str() == id);
        found.map(|row| row.key).ok_or_else(|| {
            user(format!("no recorded session is called {id}")).hint("review_list_sessions lists them")
        })
    }
}

fn cut_to(shape: &impl serde::Serialize, offset: usize) -> Result<Value, Problem> {
    let mut value = serde_json::to_value(shape)
        .map_err(|error| Problem::new(ProblemKind::Internal, error.to_string()))?;
    cut::bodies(&mut value, offset);
    Ok(value)
}

fn user(message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::User, message)
}

fn misfit(answer: Answer) -> Result<Value, Problem> {
    match answer {
        Answer::Problem(problem) => Err(problem),
        _ => Err(Problem::new(ProblemKind::Internal, "the answer does not fit the question")),
    }
}
