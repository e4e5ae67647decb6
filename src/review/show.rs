//! One hunk, explained: on what evidence, and what was decided on it.

use crate::base::{HunkId, SessionKey};
use crate::diff::{Span, Text};
use crate::ledger::{
    Blobs, CallRow, Command, Decision, FileState, Grade, HistoryShape, Hunk, HunkShape, Kin, Ledger,
    LineRange, Listing, ReviewState, SessionLedger, ShownShape, Verb, readable,
};
use crate::review::Problem;
use crate::review::place::unknown_session;
use crate::review::select::hunk_named;
use crate::review::verdict::{Judge, Verdict};

/// Shows a hunk by id or prefix: one that is listed, else one that was rejected and is no longer there.
pub(super) fn show(
    ledger: &Ledger,
    session: &SessionKey,
    listing: &Listing,
    blobs: &dyn Blobs,
    id: &str,
) -> Result<ShownShape, Problem> {
    let known = ledger.session(session).ok_or_else(unknown_session)?;
    let hunk = hunk_named(listing, id)?;
    let gone = !listing.hunks.iter().any(|listed| listed.id == hunk.id);
    let told = || {
        let judge = Judge { family: Kin::of(ledger).family(session), force: false };
        explanation(hunk) + &if hunk.mixed { divided(&judge, hunk) } else { String::new() }
    };
    Ok(ShownShape {
        explanation: if gone { "rejected, and no longer there".to_owned() } else { told() },
        history: history(known, blobs, &hunk.id),
        hunk: HunkShape::from_hunk(hunk, ledger),
    })
}

/// Returns the file on which the hunk was shown when it was accepted or rejected: an undo saw another.
fn first_seen(known: &SessionLedger, decision: &Decision) -> Option<FileState> {
    let rows = known.decisions().history_of(&decision.hunk);
    let mut made = rows.iter().rev().filter(|(command, _)| is_made(command));
    made.next().map_or(decision.seen, |(_, made)| made.seen)
}

fn is_made(command: &Command) -> bool {
    match command.verb {
        Verb::Accept | Verb::Reject { .. } => true,
        Verb::Undo { .. } | Verb::Redo { .. } => false,
    }
}

fn history(known: &SessionLedger, blobs: &dyn Blobs, hunk: &HunkId) -> Vec<HistoryShape> {
    let rows = known.decisions().history(hunk).into_iter();
    rows.map(|(at, command, decision)| HistoryShape {
        at,
        state: decision.state,
        by: command.actor.who.label(),
        channel: command.actor.channel.as_str().to_owned(),
        reason: match &command.verb {
            Verb::Reject { reason } => reason.clone(),
            Verb::Accept | Verb::Undo { .. } | Verb::Redo { .. } => None,
        },
        before: lines(blobs, decision.base, decision.base_range),
        after: lines(blobs, first_seen(known, decision), decision.current_range),
    })
    .collect()
}

/// Reads lines of a kept file, for people.
fn lines(blobs: &dyn Blobs, state: Option<FileState>, range: Option<LineRange>) -> Option<String> {
    let range = range?;
    let Some(state) = state else { return Some(String::new()) };
    let text = Text::new(blobs.bytes(state.blob)?);
    Some(readable(text.slice(Span { start: range.start, end: range.end })))
}

/// Explains the attribution of a hunk in a sentence or two.
pub(super) fn explanation(hunk: &Hunk) -> String {
    let mut said = match hunk.grade {
        Grade::Mediated => format!("written by {} through the client", named(&hunk.calls)),
        Grade::Verified => {
            format!("written by {}, which says that it changes these lines", named(&hunk.calls))
        }
        Grade::Sole => format!("written by {}, the only call that could have", named(&hunk.calls)),
        Grade::Ordered => format!("written by {}, the only call that its time leaves", named(&hunk.calls)),
        Grade::Contested => format!("contested: {} could have written it", named(&hunk.candidates)),
        Grade::InTurn => "written during a turn, by no call that is known".to_owned(),
        Grade::External => external(hunk),
        Grade::BaseUnknown => "its base was read after the prompt had gone, so it cannot be told".to_owned(),
    };
    if hunk.mixed {
        said.push_str("; not every changed line of it is");
    }
    if hunk.vcs {
        said.push_str("; it is the content of the commit that is checked out");
    }
    if hunk.reapplied && hunk.state == ReviewState::Unreviewed {
        said.push_str("; it was rejected before and is back");
    }
    if let Some(locked) = &hunk.locked {
        said.push_str("; ");
        said.push_str(locked);
    }
    said
}

/// Says what a reject does to a hunk of which not every line is this session's.
fn divided(judge: &Judge, hunk: &Hunk) -> String {
    match judge.judge(hunk) {
        Verdict::Whole => "; a reject takes back all of it".to_owned(),
        Verdict::Partly(stays) => {
            let stays = Text::new(stays).len();
            format!("; a reject takes back the lines of this session alone, {stays} then stand in its place")
        }
        Verdict::Refused(why) => format!("; a reject is refused: {why}"),
    }
}

fn external(hunk: &Hunk) -> String {
    match hunk.sessions.first() {
        Some(other) => {
            let call =
                other.tool_call_id.as_ref().map(|call| format!("call `{call}` of ")).unwrap_or_default();
            format!("written by {call}session {} of {}", other.session_id, other.agent)
        }
        None => "written while no call was open: by a person or another program".to_owned(),
    }
}

fn named(calls: &[CallRow]) -> String {
    let name = |row: &CallRow| match row.title.as_str() {
        "" => format!("`{}`", row.tool_call_id),
        title => format!("`{}` ({title})", row.tool_call_id),
    };
    let names: Vec<String> = calls.iter().take(4).map(name).collect();
    match calls.len() {
        0 => "a call".to_owned(),
        1..=4 => names.join(" and "),
        more => format!("{} and {} more", names.join(", "), more - 4),
    }
}
