//! `hunkgate log --approvals`: which records of a journal are shown, and their flat form for programs.

use super::port::LogLine;
use crate::base::{RequestKey, SessionId, WallNs};
use crate::ledger::{Approval, Event, Outcome};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Which records are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Only those behind this one.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: usize,
    /// Only those of requests that stand so.
    pub state: Option<String>,
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only those since then.
    pub since: Option<WallNs>,
}

impl Filter {
    /// How many records are listed unless the person says otherwise.
    pub const LIMIT: usize = 200;
    /// How a request may stand.
    pub const STATES: [&str; 7] = ["open", "allowed", "denied", "cancelled", "used", "settled", "void"];

    /// Returns the wanted lines, and where the next listing goes on when there are more.
    pub fn choose<'l>(&self, lines: &'l [LogLine]) -> (Vec<&'l LogLine>, Option<u64>) {
        let states = states(lines);
        let mut chosen: Vec<&LogLine> =
            lines.iter().filter(|line| is_approval(line) && self.wants(line, &states)).collect();
        let more = chosen.len() > self.limit;
        chosen.truncate(self.limit);
        let next = chosen.last().filter(|_| more).and_then(|line| seq(line));
        (chosen, next)
    }

    fn wants(&self, line: &LogLine, states: &BTreeMap<RequestKey, &'static str>) -> bool {
        let approval = approval(line);
        let state = approval.and_then(Approval::request).and_then(|key| states.get(key));
        self.after.is_none_or(|after| seq(line).is_none_or(|seq| seq > after))
            && self.since.is_none_or(|since| line.record.as_ref().is_ok_and(|record| record.at >= since))
            && self.kind.as_deref().is_none_or(|kind| approval.is_some_and(|it| it.word() == kind))
            && self.state.as_deref().is_none_or(|wanted| state.is_some_and(|state| *state == wanted))
    }
}

/// Returns how each request stands after all of these lines.
fn states(lines: &[LogLine]) -> BTreeMap<RequestKey, &'static str> {
    let mut states = BTreeMap::new();
    for approval in lines.iter().filter_map(approval) {
        let state = match approval {
            Approval::Requested(_) => "open",
            Approval::Observed(_) | Approval::Used { .. } => "used",
            Approval::Decided { outcome: Outcome::Deny, .. } => "denied",
            Approval::Decided { .. } => "allowed",
            Approval::Settled { .. } => "settled",
            Approval::Cancelled { .. } => "cancelled",
            Approval::Voided { .. } => "void",
            Approval::Assessed(_)
            | Approval::Prompted { .. }
            | Approval::AnswerRejected { .. }
            | Approval::Differs { .. }
            | Approval::GrantIssued(_)
            | Approval::GrantRevoked { .. }
            | Approval::PolicyLoaded { .. }
            | Approval::GateBlind { .. } => continue,
        };
        if let Some(request) = approval.request() {
            states.insert(request.clone(), state);
        }
    }
    states
}

fn approval(line: &LogLine) -> Option<&Approval> {
    if let Event::Approval(approval) = &line.record.as_ref().ok()?.event { Some(approval) } else { None }
}

/// Says whether a line is about approvals, also one that a later version wrote.
fn is_approval(line: &LogLine) -> bool {
    approval(line).is_some() || (line.record.is_err() && line.text.contains(r#""kind":"approval""#))
}

fn seq(line: &LogLine) -> Option<u64> {
    serde_json::from_str::<Value>(&line.text).ok()?.get("seq")?.as_u64()
}

/// Returns a record as one flat object: `{v, seq, at, scope, kind, …}`. A line that cannot be read is given as it stands.
pub(super) fn flat(line: &LogLine, session: &SessionId) -> Value {
    let read = serde_json::from_str::<Value>(&line.text);
    let Ok(Value::Object(record)) = read else {
        return json!({ "unreadable": line.text, "line": line.line });
    };
    let Some(Value::Object(data)) = record.get("data") else { return Value::Object(record) };
    let mut flat = Map::new();
    for name in ["v", "seq", "at"] {
        flat.insert(name.to_owned(), record.get(name).cloned().unwrap_or_default());
    }
    flat.insert("scope".to_owned(), json!({ "session": session }));
    flat.insert("kind".to_owned(), data.get("step").cloned().unwrap_or_default());
    flat.extend(data.iter().filter(|(name, _)| *name != "step").map(|(name, it)| (name.clone(), it.clone())));
    Value::Object(flat)
}
