//! What a surface is attached to, played: one answer to everything, and a journal that grows.

use super::{rich_listing, sessions, text_hunk};
use hunkgate::base::SessionKey;
use hunkgate::ledger::{Channel, Log, Record, SessionRowShape, Who};
use hunkgate::review::{Answer, Ask, Problem};
use hunkgate::surface::{Caller, Cursor, Doors, LogLine, Mark, Port};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) fn rich() -> hunkgate::ledger::ListingShape {
    serde_json::from_value(rich_listing()).unwrap()
}

pub(super) fn listing() -> Answer {
    Answer::Listing(rich())
}

pub(super) fn decided() -> Answer {
    let id = text_hunk("1", "src/a.rs", "rejected")["id"].clone();
    let item =
        json!({ "id": id, "path": "src/a.rs", "state": "rejected", "outcome": "done", "reason": null });
    Answer::Decided(serde_json::from_value(json!({ "verb": "reject", "items": [item] })).unwrap())
}

pub(super) struct Fake {
    pub(super) answer: Answer,
    pub(super) blame: Option<Answer>,
    pub(super) log: Mutex<Vec<LogLine>>,
    pub(super) asked: Mutex<Vec<(SessionKey, Who, Ask)>>,
    pub(super) is_agents_process: AtomicBool,
    pub(super) is_agents_caller: AtomicBool,
    /// The session whose agent started this process.
    pub(super) own: Option<SessionKey>,
}

impl Fake {
    pub(super) fn answering(answer: Answer) -> Self {
        Self {
            answer,
            blame: None,
            log: Mutex::default(),
            asked: Mutex::default(),
            is_agents_process: AtomicBool::new(false),
            is_agents_caller: AtomicBool::new(false),
            own: None,
        }
    }

    pub(super) fn asked(&self) -> Vec<(SessionKey, Who, Ask)> {
        self.asked.lock().unwrap().clone()
    }

    /// The journal grows by a decision.
    pub(super) fn grow(&self) {
        let mut log = self.log.lock().unwrap();
        let actor = json!({ "who": "person", "channel": Channel::Cli });
        let event = json!({ "kind": "decided", "data": { "id": "command-9", "verb": { "verb": "accept" }, "actor": actor, "items": [] } });
        let event = serde_json::from_value(event).unwrap();
        let line = log.len() as u64 + 1;
        let record = Ok(Record { at: hunkgate::base::WallNs(9), event });
        log.push(LogLine {
            log: Log::Session(SessionKey::new("key-new")),
            line,
            text: String::new(),
            record,
        });
    }
}

impl Port for Fake {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        Ok(sessions())
    }

    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer {
        self.ask_for(session, Who::Person, ask)
    }

    fn log(&self, session: &SessionKey, cursor: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        let mark = cursor.entry(Log::Session(session.clone())).or_default();
        let mut lines = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // As they lie in a file, one behind the other.
        lines.iter_mut().zip(1..).for_each(|(line, number)| {
            line.line = number;
            line.log = Log::Session(session.clone());
        });
        let lines = lines.split_off(usize::try_from(mark.lines).unwrap_or(usize::MAX).min(lines.len()));
        let all = mark.lines + lines.len() as u64;
        *mark = Mark { lines: all, bytes: 0, told: all };
        Ok(lines)
    }

    fn delete(&self, _: &SessionKey) -> Result<(), Problem> {
        Ok(())
    }
}

impl Doors for Fake {
    fn is_agents(&self, caller: Option<&Caller>) -> bool {
        match caller {
            None => self.is_agents_process.load(Ordering::Relaxed),
            Some(_) => self.is_agents_caller.load(Ordering::Relaxed),
        }
    }

    fn is_own(&self, session: &SessionKey) -> bool {
        self.own.as_ref() == Some(session)
    }

    fn ask_for(&self, session: &SessionKey, who: Who, ask: Ask) -> Answer {
        let blame = self.blame.as_ref().filter(|_| matches!(ask, Ask::Blame { .. }));
        self.asked.lock().unwrap().push((session.clone(), who, ask));
        blame.unwrap_or(&self.answer).clone()
    }

    fn announce(&self, _: Option<SocketAddr>) {}
}
