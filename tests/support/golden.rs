//! What a transcript leaves behind: its journal in short and the review that follows from it, kept beside it as a snapshot.

use super::play::Play;
use hunkgate::base::SessionKey;
use hunkgate::ledger::{Cache, HunkShape, ListingShape, Log, Record};
use hunkgate::review::{self, Answer, Ask, Computed};
use serde_json::Value;
use std::fmt::Write as _;

/// What of a record stands in the short form. Ids, times and contents are the transcript's and the laws' concern.
const TOLD: [&str; 16] = [
    "why", "turn", "stop", "call", "title", "lo", "hi", "path", "state", "verb", "outcome", "complete",
    "topic", "reason", "source", "how",
];

/// Writes down what a play has left.
pub(crate) fn of(play: &Play) -> String {
    let mut text = String::from("journal\n");
    for entry in &play.world.journal {
        let log = match &entry.log {
            Log::Root(_) => "root",
            Log::Session(_) => "session",
        };
        let _ = writeln!(text, "  {log:<7} {}", told(&entry.record));
    }
    let ledger = play.world.ledger();
    for (key, session) in ledger.sessions() {
        let name = session.header().map_or("?", |header| header.session.as_str());
        let _ = writeln!(text, "review of {name}");
        text.push_str(&review_of(play, key));
    }
    text
}

fn told(record: &Record) -> String {
    let record = serde_json::to_value(&record.event).expect("an event is JSON");
    let mut line = record["kind"].as_str().unwrap_or("?").to_owned();
    words(&record["data"], &mut line);
    line
}

fn words(value: &Value, line: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Object(_) | Value::Array(_) => words(value, line),
                    Value::Null => {}
                    plain if TOLD.contains(&name.as_str()) => _ = write!(line, " {name}={plain}"),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| words(item, line)),
        _ => {}
    }
}

fn review_of(play: &Play, key: &SessionKey) -> String {
    let (ledger, all) = (play.world.ledger(), Ask::Hunks { paths: Vec::new() });
    match review::compute(ledger, key, &all, &play.world.tree, &mut Cache::default()) {
        Computed::Answer(Answer::Listing(listing)) => listed(&listing),
        Computed::Answer(Answer::Problem(problem)) => format!("  {}\n", problem.message),
        other => format!("  {other:?}\n"),
    }
}

fn listed(listing: &ListingShape) -> String {
    let mut text: String = listing.hunks.iter().map(hunk).collect();
    for call in &listing.superseded {
        let _ = writeln!(text, "  superseded {}", call.tool_call_id);
    }
    for comment in &listing.comments {
        let (path, line, body) = (&comment.path, comment.line_start, &comment.body);
        let marks = match (comment.outdated, comment.resolved) {
            (false, false) => "",
            (true, false) => " (outdated)",
            (false, true) => " (resolved)",
            (true, true) => " (outdated, resolved)",
        };
        let _ = writeln!(text, "  comment {path}:{line}{marks} {body:?}");
    }
    for root in listing.degraded.iter().filter(|root| root.degraded.is_some()) {
        let _ = writeln!(text, "  degraded {}: {}", root.root, root.degraded.as_deref().unwrap_or_default());
    }
    if text.is_empty() { "  nothing\n".to_owned() } else { text }
}

fn hunk(hunk: &HunkShape) -> String {
    let grade = serde_json::to_value(hunk.evidence.grade).expect("a grade is JSON");
    let state = serde_json::to_value(hunk.state).expect("a state is JSON");
    let calls: Vec<&str> = hunk.tool_call_ids.iter().map(|call| call.as_str()).collect();
    let mut text = format!(
        "  {} {} -{}..{} +{}..{} {} {} {calls:?}",
        hunk.path,
        hunk.entry.kind,
        hunk.base_range.start,
        hunk.base_range.end,
        hunk.current_range.start,
        hunk.current_range.end,
        state.as_str().unwrap_or("?"),
        grade.as_str().unwrap_or("?"),
    );
    for (mark, holds) in
        [("mixed", hunk.mixed), ("reapplied", hunk.reapplied), ("waits", hunk.reject_pending)]
    {
        if holds {
            text.push(' ');
            text.push_str(mark);
        }
    }
    for candidate in &hunk.evidence.candidates {
        let _ = write!(text, " candidate={}", candidate.tool_call_id);
    }
    text.push('\n');
    for (sign, content) in [('-', &hunk.before_content), ('+', &hunk.after_content)] {
        for line in content.lines().take(6) {
            let line: String = line.chars().take(80).collect();
            let _ = writeln!(text, "    {sign}{}", line.escape_debug());
        }
    }
    text
}
