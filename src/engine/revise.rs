//! A call says something else while its permission is open: an answer is bound to exact content, so the person is asked anew,
//! and an allow that has not gone out is void.

use crate::acp::{self, Dialect, Wanted, WantedBy};
use crate::base::RequestKey;
use crate::engine::Engine;
use crate::engine::docket::{Question, Request, State};
use crate::engine::step::Wait;
use crate::ledger::{Approval, Asking, Decider};
use crate::policy::Subject;
use crate::wire::{Head, splice};
use bytes::Bytes;

/// What is said of a call that a question shows.
const SHOWN: [&str; 5] = ["title", "kind", "rawInput", "content", "locations"];

impl Engine {
    /// A call said something (in `line`): what waits for an answer is about what it says now.
    pub(super) fn call_says(&mut self, said: &Wanted, line: &Bytes) {
        let Some(call) = &said.call else { return };
        self.early_revised(said);
        self.gate_revised(said, line);
        let waits = |request: &Request| {
            request.session == said.session
                && request.call.as_ref() == Some(call)
                && request.state != State::Used
        };
        for key in self.docket.which(waits) {
            self.revise(&key, said, line);
        }
    }

    /// Returns what a request wants with what its call has said since, where that is not what it wanted.
    pub(super) fn revised(&self, wanted: &Wanted, said: &Wanted) -> Option<(Wanted, Subject)> {
        if wanted.by != WantedBy::Permission || wanted.call != said.call || wanted.session != said.session {
            return None;
        }
        let call = wanted.call.as_ref()?;
        let live = wanted.revised_by(said, |claim| self.docket.has_claimed(&wanted.session, call, claim))?;
        let cwd = self.cwd_of(&self.record_keeper(&wanted.session)?);
        let binding = |subject: &Subject| subject.binding(&self.setup.redactor, (&wanted.session, &cwd));
        let subject = Subject::of(&live);
        (binding(&subject) != binding(&Subject::of(wanted))).then_some((live, subject))
    }

    fn revise(&mut self, key: &RequestKey, said: &Wanted, line: &Bytes) {
        let Some(request) = self.docket.get(key) else { return };
        let wanted = request.held.as_deref().map(|held| &held.wanted).or(request.said.as_deref());
        let Some((live, subject)) = wanted.and_then(|wanted| self.revised(wanted, said)) else { return };
        let (session, recorder) = (request.session.clone(), request.recorder.clone());
        let (state, before, held) = (request.state, request.binding.clone(), request.held.is_some());
        let binding = subject.binding(&self.setup.redactor, (&session, &self.cwd_of(&recorder)));
        if state == State::Allowed && self.enforces() {
            return self.void_revised(key, (before, binding));
        }
        if state != State::Open {
            return;
        }
        let asking = Asking {
            rev: request.rev + 1,
            turn: request.turn,
            options: request.options.clone(),
            supersedes: None,
            ..self.asking(key, (&live, &subject), (&session, &recorder), &binding)
        };
        let shown = self.shows_anew(key, line);
        let Some(request) = self.docket.get_mut(key) else { return };
        (request.rev, request.subject, request.binding) = (asking.rev, subject, binding);
        match request.held.as_mut() {
            Some(held) => held.wanted = live,
            None => request.said = Some(Box::new(live)),
        }
        let request = request.clone();
        self.approval(&recorder, Approval::Requested(asking));
        match shown {
            Err(()) => self.deny(key, Decider::System, "its call has said something else since"),
            Ok(()) => {
                self.waits.retain(|_, wait| !is_about(wait, key));
                if held {
                    self.dismiss_consults_of(key);
                }
                self.judge(&request, Wait::Verdict(recorder, key.clone()));
            }
        }
    }

    /// Takes the question about a request back and puts what its call says now into the message: `Err` where it cannot be
    /// shown.
    fn shows_anew(&mut self, key: &RequestKey, line: &Bytes) -> Result<(), ()> {
        let dialect = self.dialect;
        let Some(request) = self.docket.get_mut(key) else { return Ok(()) };
        let recorder = request.recorder.clone();
        let Some(held) = request.held.as_mut() else { return Ok(()) };
        let asked = held.clone();
        held.again |= held.question == Question::Forwarded;
        (held.question, held.finding) = (Question::None, None);
        held.opinions.clear();
        let shown = with_call(dialect, &held.line, line).map(|line| held.line = line);
        if asked.question != Question::None {
            self.no_longer_asked((&recorder, key), &asked);
        }
        shown.ok_or(())
    }

    /// What was allowed is not what would go on.
    fn void_revised(&mut self, key: &RequestKey, (expected, found): (String, String)) {
        let held = self.docket.get_mut(key).and_then(|request| request.held.take()).map(|held| held.id);
        let id = held.or_else(|| {
            let hold = self.holds.allow_of(key)?;
            let parked = self.holds.take(hold)?;
            if let Head::Response { id, .. } = crate::wire::head(&parked.line) {
                Some(id.to_id())
            } else {
                None
            }
        });
        if let Some(id) = id {
            self.void(key, &id, (expected, found));
        }
    }

    /// Requests that wait for roots are not known yet: one whose call says something else is refused.
    fn early_revised(&mut self, said: &Wanted) {
        let changed = |line: &Bytes| {
            let params = splice::find(line, &["params"]);
            let wanted = acp::read_wanted(self.dialect, "session/request_permission", params);
            wanted.is_some_and(|wanted| self.revised(&wanted, said).is_some())
        };
        let early = self.docket.early.iter().filter(|it| it.permission && it.session == said.session);
        let gone: Vec<_> = early.filter(|it| changed(&it.line)).map(|it| it.id.clone()).collect();
        for id in gone {
            self.docket.early.retain(|it| it.id != id);
            self.refuse_request(&id, None, "its call has said something else since");
        }
    }
}

/// Says whether something is awaited for a request as it was.
fn is_about(wait: &Wait, key: &RequestKey) -> bool {
    matches!(wait, Wait::Verdict(_, of) | Wait::Spending(of, _) if of == key)
}

/// Writes what a call says now into the message that asks about it; `None` where there is no place for it.
pub(super) fn with_call(dialect: Dialect, asked: &Bytes, said: &Bytes) -> Option<Bytes> {
    let call: &[&str] = match dialect {
        Dialect::V1 => &["params", "toolCall"],
        Dialect::V2 => &["params", "subject", "toolCall"],
        Dialect::Other(_) | Dialect::Unknown => return None,
    };
    splice::find(asked, call)?;
    let mut line = asked.clone();
    for name in SHOWN {
        let Some(value) = splice::find(said, &["params", "update", name]) else { continue };
        let path: Vec<&str> = call.iter().copied().chain([name]).collect();
        line = match splice::find(&line, &path) {
            Some(_) => splice::replace(&line, &path, value.get())?,
            None => splice::add_member(&line, call, name, value.get())?,
        };
    }
    Some(line)
}
