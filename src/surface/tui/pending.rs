//! The agent's requests that wait for the person: said at the top, listed with a key, answered there.

use super::keys::{Action, Stroke};
use super::model::{Model, Over, Purpose};
use super::msg::{Cmd, Tag};
use super::theme::Look;
use crate::ledger::Outcome;
use crate::review::{Ask, DocketAnswer, DocketAsk, PendingRequest, PendingShape, Response, Resume};

/// The requests that wait.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The oldest first.
    items: Vec<PendingRequest>,
    /// The one that keys act on.
    at: usize,
    /// Whether they are listed over the stream.
    open: bool,
}

impl Pending {
    /// Says that something waits, for the top of the stream.
    pub(super) fn notice(&self, key: &str) -> Option<String> {
        let first = self.items.first()?;
        let more = match self.items.len() {
            1 => String::new(),
            number => format!(", and {} more", number - 1),
        };
        Some(format!("waits for your answer: {}{more} ({key} answers)", first.summary))
    }

    /// Counts what waits.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Draws the list, while it lies over the stream.
    pub(super) fn over(&self, keys: &str) -> Option<Over> {
        if !self.open {
            return None;
        }
        let mut lines = Vec::new();
        let mut scroll = 0;
        for (nth, item) in self.items.iter().enumerate() {
            let (bar, look) = if nth == self.at { ("┃ ", Look::Name) } else { ("  ", Look::Plain) };
            if nth == self.at {
                scroll = lines.len();
            }
            lines.push((format!("{bar}{}", item.summary), look));
            let place =
                if item.shown == "editor" { "also asked in the editor" } else { "asked nowhere else" };
            let facts = format!("{} · {place} · {} rev {}", item.kind, item.key, item.rev);
            lines.push((format!("{bar}  {facts}"), Look::Faint));
            lines.extend(item.reasons.iter().map(|why| (format!("{bar}  {why}"), Look::Faint)));
        }
        let title = format!("{} waiting for your answer", self.items.len());
        Some(Over { title, keys: keys.to_owned(), lines, scroll })
    }
}

impl Model {
    /// Asks what waits.
    pub(super) fn ask_pending() -> Cmd {
        Cmd::Ask(Tag::Pending, Ask::Docket(DocketAsk::Pending))
    }

    /// Takes what waits: of it only what an answer from here reaches.
    pub(super) fn take_pending(&mut self, shape: PendingShape) {
        let here = self.pending.items.get(self.pending.at).map(|item| item.key.clone());
        let items: Vec<PendingRequest> =
            shape.items.into_iter().filter(|item| item.resume == Resume::Open).collect();
        let at = items.iter().position(|item| Some(&item.key) == here.as_ref()).unwrap_or_default();
        let open = self.pending.open && !items.is_empty();
        self.pending = Pending { items, at, open };
        self.rebuild();
    }

    /// Lists what waits, and asks anew.
    pub(super) fn show_pending(&mut self) -> Vec<Cmd> {
        self.pending.open = !self.pending.items.is_empty();
        if !self.pending.open {
            self.say("nothing waits for your answer", Look::Faint);
        }
        vec![Self::ask_pending()]
    }

    /// Says whether the list lies over the stream.
    pub(super) fn lists_pending(&self) -> bool {
        self.pending.open
    }

    /// Puts the list away.
    pub(super) fn close_pending(&mut self) {
        self.pending.open = false;
    }

    /// Goes to another request of the list.
    pub(super) fn step_pending(&mut self, by: isize) {
        let last = self.pending.items.len().saturating_sub(1);
        self.pending.at = self.pending.at.saturating_add_signed(by).min(last);
    }

    /// Takes a key while the list lies over the stream.
    pub(super) fn key_pending(&mut self, stroke: &Stroke, action: Option<Action>) -> Vec<Cmd> {
        match action {
            Some(Action::Next | Action::Down) => self.step_pending(1),
            Some(Action::Previous | Action::Up) => self.step_pending(-1),
            Some(Action::Accept) => return self.respond_here(Outcome::Allow),
            Some(Action::Reject) => return self.respond_here(Outcome::Deny),
            Some(Action::RejectWithReason) => {
                if let Some(item) = self.pending.items.get(self.pending.at) {
                    let (request, rev) = (item.key.as_str().to_owned(), item.rev);
                    self.ask_line(Purpose::Denial { request, rev });
                }
            }
            _ if stroke.as_str() == "ctrl-c" => return vec![Cmd::Quit],
            _ => self.close_pending(),
        }
        Vec::new()
    }

    fn respond_here(&self, outcome: Outcome) -> Vec<Cmd> {
        let Some(item) = self.pending.items.get(self.pending.at) else { return Vec::new() };
        Self::respond((item.key.as_str().to_owned(), item.rev), outcome, None)
    }

    /// Answers a request, as it was shown.
    pub(super) fn respond(
        (request, rev): (String, u32),
        outcome: Outcome,
        reason: Option<String>,
    ) -> Vec<Cmd> {
        let response = Response { request, rev: Some(rev), outcome, reason, always: None };
        vec![Cmd::Ask(Tag::Response, Ask::Docket(DocketAsk::Respond(response)))]
    }

    /// Takes what became of an answer.
    pub(super) fn responded(&mut self, answer: &DocketAnswer) -> Vec<Cmd> {
        if let DocketAnswer::Responded(done) = answer {
            let look = if done.outcome == Outcome::Allow { Look::Good } else { Look::Bad };
            self.say(answer.text().trim_end().to_owned(), look);
            self.pending.items.retain(|item| item.key != done.key);
            self.pending.at = self.pending.at.min(self.pending.items.len().saturating_sub(1));
            self.pending.open &= !self.pending.items.is_empty();
            self.rebuild();
        }
        vec![Self::ask_pending()]
    }
}
