//! What becomes of a call.

#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes does not fit the question")]

use super::cut;
use crate::base::SessionKey;
use crate::config::McpMay;
use crate::ledger::{SessionRowShape, Who};
use crate::review::{Answer, Ask, Problem, ProblemKind};
use crate::surface::methods::{Asking, placed};
use crate::surface::port::Doors;
use crate::surface::terminal::counted;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Lines of a blame in one answer.
const MOST_LINES: usize = 400;

/// One call of one agent.
pub(super) struct Visit<'a> {
    pub(super) doors: &'a dyn Doors,
    /// What the configuration allows beside looking.
    pub(super) may: &'a BTreeSet<McpMay>,
    /// Who says it all.
    pub(super) who: Who,
}

impl Visit<'_> {
    /// Carries the call out.
    pub(super) fn call(&self, name: &str, arguments: Value) -> Result<Value, Problem> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let wanted = |key: &str| text(key).ok_or_else(|| user(format!("{key} is missing")));
        match name {
            "review_list_sessions" => {
                let rows = counted(self.doors.sessions()?, self.doors);
                let items: Vec<Value> = rows.iter().map(|row| self.row(row)).collect();
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
                let path = placed(text("root").as_deref(), &wanted("path")?);
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
        let asking = Asking::read(method, arguments)?;
        let ask = asking.ask()?;
        let key = self.session(&asking.session_id)?;
        if !self.may.contains(&may) {
            let word = if may == McpMay::Decide { "decide" } else { "comment" };
            let problem = conflict(format!("the configuration does not let agents {word}"));
            let hint = format!("a person allows it with [mcp] may = [\"comment\", \"{word}\"]");
            return self.turn_away(&key, ask, problem.hint(hint));
        }
        if method != "review.comment" && self.doors.is_own(&key) {
            let problem = conflict("an agent decides nothing in its own session");
            return self.turn_away(&key, ask, problem.hint("leave it to the person, or comment"));
        }
        let answer = self.doors.ask_for(&key, self.who.clone(), ask);
        let mut result = asking.result(answer)?;
        cut::bodies(&mut result, 0);
        Ok(result)
    }

    /// Refuses what was asked, and has that recorded.
    fn turn_away(&self, key: &SessionKey, ask: Ask, problem: Problem) -> Result<Value, Problem> {
        let ask = Ask::TurnedAway { wanted: Box::new(ask), why: problem.message.clone() };
        // It is refused whether or not that can be recorded.
        let _ = self.doors.ask_for(key, self.who.clone(), ask);
        Err(problem)
    }

    fn put(&self, session: &str, ask: Ask) -> Result<Answer, Problem> {
        Ok(self.doors.ask_for(&self.session(session)?, self.who.clone(), ask))
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

fn conflict(message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Conflict, message)
}

fn misfit(answer: Answer) -> Result<Value, Problem> {
    match answer {
        Answer::Problem(problem) => Err(problem),
        _ => Err(Problem::new(ProblemKind::Internal, "the answer does not fit the question")),
    }
}
