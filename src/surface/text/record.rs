//! One line for one journal record.

use super::approval::approval_line;
use super::style::{Style, Tone, brief, count, harmless};
use crate::base::{CallId, RepoPath, SessionKey, WindowId};
use crate::ledger::{
    Actor, Change, Claim, ClaimBody, Command, Event, Log, Observation, Purpose, RevertOutcome, RevertResult,
    Verb, Who, Window,
};
use crate::surface::LogLine;
use std::collections::BTreeMap;

/// Paths that one line names.
const NAMED_PATHS: usize = 6;

/// Writes journals: it remembers what a window was opened for, to name it when it closes.
#[derive(Clone, Debug, Default)]
pub struct LogText {
    windows: BTreeMap<WindowId, String>,
}

impl LogText {
    /// Writes one line of a journal.
    pub fn line(&mut self, style: &Style, line: &LogLine) -> String {
        let text = match line.record.as_ref().map(|record| &record.event) {
            Ok(Event::WindowOpened(window)) => {
                let named = format!("{}{}", purpose(window), turn(window.turn));
                self.windows.insert(window.id.clone(), named);
                None
            }
            Ok(Event::WindowClosed { window, closing }) => {
                let named = self.windows.get(window);
                named.map(|named| harmless(&format!("{named} closes ({})", word(&closing.hi))))
            }
            _ => None,
        };
        log_line(style, line, text)
    }
}

/// Writes one line of a journal, in `text` where that is given.
fn log_line(style: &Style, line: &LogLine, text: Option<String>) -> String {
    let source = match &line.log {
        Log::Root(_) => "root   ",
        Log::Session(_) => "session",
    };
    match &line.record {
        Ok(record) => format!(
            "{}  {}  {}\n",
            style.tone(Tone::Faint, &style.time(record.at)),
            style.tone(Tone::Faint, source),
            text.unwrap_or_else(|| event_line(&record.event))
        ),
        Err(why) => {
            let text = format!("line {} cannot be read ({why}): {}", line.line, brief(&line.text, 120));
            format!("{}\n", style.tone(Tone::Notice, &text))
        }
    }
}

/// Says in one line what happened.
fn event_line(event: &Event) -> String {
    harmless(&match event {
        Event::RootOpened(_)
        | Event::Observed(_)
        | Event::Gap(_)
        | Event::WindowOpened(_)
        | Event::WindowRefined { .. }
        | Event::WindowClosed { .. }
        | Event::Claimed(_)
        | Event::ProxyJoined { .. }
        | Event::ProxyLeft { .. }
        | Event::SessionJoined(_) => root_line(event),
        Event::Decided(_)
        | Event::RejectPending { .. }
        | Event::RejectSettled { .. }
        | Event::RevertIntended(_)
        | Event::RevertDone { .. }
        | Event::Commented(_)
        | Event::CommentResolved { .. }
        | Event::Rebased { .. } => review_line(event),
        Event::Approval(approval) => approval_line(approval),
        Event::SessionOpened(_)
        | Event::SessionResumed { .. }
        | Event::BaseTaken { .. }
        | Event::TurnStarted { .. }
        | Event::TurnEnded { .. }
        | Event::ModeChanged { .. }
        | Event::NoteSent { .. }
        | Event::NoteDelivered { .. }
        | Event::NoteReturned { .. }
        | Event::PersonTold { .. }
        | Event::Reapplied { .. }
        | Event::PermissionSeen { .. }
        | Event::Noticed { .. }
        | Event::Visited(_)
        | Event::GateBlocked { .. }
        | Event::GateReleased { .. }
        | Event::SessionClosed { .. } => session_line(event),
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "event_line, its only caller, names every event")]
fn root_line(event: &Event) -> String {
    match event {
        Event::RootOpened(root) => {
            let path = root.path.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("chain of /{path} begins")
        }
        Event::Observed(observation) => observed(observation),
        Event::Gap(gap) => format!("could not observe: {}", gap.reason),
        Event::WindowOpened(window) => format!("{} opens{}", purpose(window), turn(window.turn)),
        Event::WindowRefined { facts, .. } => {
            format!(
                "call {} is \"{}\" ({})",
                facts.call,
                brief(facts.title.as_str(), 60),
                facts.kind.as_str()
            )
        }
        Event::WindowClosed { window, closing } => format!("window {window} closes ({})", word(&closing.hi)),
        Event::Claimed(claim) => claimed(claim),
        Event::ProxyJoined { proxy, pid } => format!("proxy {proxy} (process {pid}) begins to look"),
        Event::SessionJoined(member) => {
            let call = |call: &CallId| format!(", call {call}");
            let by = |(key, of): &(SessionKey, Option<CallId>)| {
                format!(", started by session {key}{}", of.as_ref().map(call).unwrap_or_default())
            };
            let by = member.parent.as_ref().map(by).unwrap_or_default();
            format!("session {} of {} works here{by}", member.session, member.agent)
        }
        Event::ProxyLeft { proxy, lost: true } => format!("proxy {proxy} was found dead"),
        Event::ProxyLeft { proxy, lost: false } => format!("proxy {proxy} left"),
        _ => String::new(),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "event_line, its only caller, names every event")]
fn session_line(event: &Event) -> String {
    match event {
        Event::SessionOpened(header) => {
            format!("session {} of {} opened in {}", header.session, header.agent, header.cwd)
        }
        Event::SessionResumed { proxy } => format!("resumed by proxy {proxy}"),
        Event::BaseTaken { tree, complete: true, .. } => format!("base taken: tree {tree}"),
        Event::BaseTaken { tree, complete: false, .. } => {
            format!("base taken, late: tree {tree}; the prompt had to be forwarded before it was complete")
        }
        Event::TurnStarted { turn } => format!("turn {turn} started"),
        Event::TurnEnded { turn, stop } => format!("turn {turn} ended: {stop}"),
        Event::ModeChanged { mode } => format!("mode is {mode}"),
        Event::NoteSent { note, commands, comments, reapplied, denials } => {
            let mut carried = vec![count(commands.len(), "decision"), count(comments.len(), "comment")];
            if !denials.is_empty() {
                carried.push(count(denials.len(), "refused request"));
            }
            if !reapplied.is_empty() {
                carried.push(format!("{} rejected before", count(reapplied.len(), "change")));
            }
            format!("note {note} left with a prompt ({})", carried.join(", "))
        }
        Event::NoteDelivered { note } => format!("note {note} was delivered"),
        Event::NoteReturned { note } => format!("note {note} is pending again"),
        Event::PersonTold { hunks } => format!("the person was told of {}", count(hunks.len(), "change")),
        Event::Reapplied { items } if items.is_empty() => "nothing that was rejected is back".to_owned(),
        Event::Reapplied { items } => {
            let mut paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
            paths.dedup();
            let paths = brief(&paths.join(", "), 120);
            format!("{} rejected before and back: {paths}", count(items.len(), "change"))
        }
        Event::PermissionSeen { title, outcome, waited_ms, .. } => {
            let outcome = outcome.as_deref().unwrap_or("never answered");
            format!("permission \"{title}\": {outcome} after {waited_ms} ms")
        }
        Event::Noticed { topic, path, text } => {
            let path = path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
            format!("{topic}{path}: {text}")
        }
        Event::Visited(visit) => {
            let about = Some(&visit.about).filter(|about| !about.as_str().is_empty());
            let about = about.map(|about| format!(" {about}")).unwrap_or_default();
            let away = visit.turned_away.as_ref().map(|why| format!(", and was turned away: {why}"));
            format!("{} asked: {}{about}{}", who(&visit.actor), visit.ask, away.unwrap_or_default())
        }
        Event::GateBlocked { gate, tool, path, because, .. } => {
            format!("{gate}: {tool} waits to write {path}: {because}")
        }
        Event::GateReleased { gate, how, channel: _ } => format!("{gate}: waits no longer ({how})"),
        Event::SessionClosed { why } => format!("session closed: {why}"),
        _ => String::new(),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "event_line, its only caller, names every event")]
fn review_line(event: &Event) -> String {
    match event {
        Event::Decided(command) => decided(command),
        Event::RejectPending { command, hunks, reason, force: _, actor } => {
            let hunks = count(hunks.len(), "hunk");
            format!(
                "{} asks to reject {hunks} at the turn's end ({command}){}",
                who(actor),
                because(reason.as_deref())
            )
        }
        Event::RejectSettled { command, outcome } => format!("waiting reject {command}: {outcome}"),
        Event::RevertIntended(intent) => {
            let paths = intent.files.iter().map(|file| &file.path);
            format!("revert of {} begins ({})", names(paths), intent.command.id)
        }
        Event::RevertDone { command, files } => {
            let files: Vec<_> = files.iter().map(reverted).collect();
            format!("revert {command}: {}", files.join(", "))
        }
        Event::Commented(comment) => format!("comment {}: {}", comment.id, brief(&comment.body, 80)),
        Event::CommentResolved { comment, actor } => format!("{} resolved comment {comment}", who(actor)),
        Event::Rebased { tree, actor, .. } => format!("{} took tree {tree} as the new base", who(actor)),
        _ => String::new(),
    }
}

fn observed(observation: &Observation) -> String {
    let why = word(&observation.why);
    if observation.changes.is_empty() {
        return format!("observed #{} ({why}): nothing changed", observation.no);
    }
    let mut changes: Vec<_> = observation.changes.iter().take(NAMED_PATHS).map(change).collect();
    if observation.changes.len() > NAMED_PATHS {
        changes.push(format!("and {} more", observation.changes.len() - NAMED_PATHS));
    }
    format!("observed #{} ({why}): {}", observation.no, changes.join(", "))
}

fn change(change: &Change) -> String {
    let letter = match (&change.before, &change.after) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(_), Some(_)) => 'M',
    };
    format!("{letter} {}", change.path)
}

fn purpose(window: &Window) -> String {
    match &window.purpose {
        Purpose::Turn => "turn".to_owned(),
        Purpose::Call(facts) => {
            format!("call {} \"{}\" ({})", facts.call, brief(facts.title.as_str(), 60), facts.kind.as_str())
        }
        Purpose::FsWrite { path, .. } => format!("fs/write_text_file {path}"),
        Purpose::Terminal { .. } => "terminal".to_owned(),
        Purpose::Review { command } => format!("revert {command}"),
        Purpose::Background { .. } => "background work".to_owned(),
    }
}

fn claimed(claim: &Claim) -> String {
    let what = match &claim.body {
        ClaimBody::Location => "to touch",
        ClaimBody::Fragment { .. } | ClaimBody::Whole { .. } | ClaimBody::Diff { .. } => "to write",
        ClaimBody::Delete => "to delete",
        ClaimBody::Move { .. } => "to move",
    };
    format!("call {} claims {what} {} ({})", claim.call, claim.path, word(&claim.source))
}

fn decided(command: &Command) -> String {
    let by = who(&command.actor);
    let paths = || names(command.items.iter().map(|item| &item.path));
    let hunks = count(command.items.len(), "hunk");
    match &command.verb {
        Verb::Accept => format!("{by} accepted {hunks} of {} ({})", paths(), command.id),
        Verb::Reject { reason } => {
            format!("{by} rejected {hunks} of {} ({}){}", paths(), command.id, because(reason.as_deref()))
        }
        Verb::Undo { undoes } => format!("{by} took {undoes} back ({})", command.id),
        Verb::Redo { redoes } => format!("{by} made {redoes} true again ({})", command.id),
    }
}

fn reverted(outcome: &RevertOutcome) -> String {
    let how = match &outcome.result {
        RevertResult::Done { .. } => "done",
        RevertResult::Stale { .. } => "stale",
        RevertResult::Failed { .. } => "failed",
    };
    format!("{} {how}", outcome.path)
}

fn names<'p>(paths: impl Iterator<Item = &'p RepoPath>) -> String {
    let mut paths: Vec<String> = paths.map(ToString::to_string).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(NAMED_PATHS);
    paths.truncate(NAMED_PATHS);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    paths.join(", ") + &tail
}

fn who(actor: &Actor) -> String {
    match &actor.who {
        Who::Person => "a person".to_owned(),
        Who::Agent(name) => format!("agent {name}"),
        Who::Criterion(id) => format!("criterion {id}"),
    }
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", brief(reason, 120))).unwrap_or_default()
}

fn turn(turn: Option<crate::base::TurnNo>) -> String {
    turn.map(|turn| format!(" in turn {turn}")).unwrap_or_default()
}

/// Returns the wire word of a unit variant.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|json| json.as_str().map(str::to_owned)).unwrap_or_default()
}
