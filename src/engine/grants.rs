//! Standing permissions: given by a person for exactly one thing, used once at a time, listed, taken back.

use crate::base::{AskId, RequestKey, SessionId, WallNs};
use crate::engine::desk::ReplyTo;
use crate::engine::docket::{Parcel, Question, Request, State};
use crate::engine::enforce::wants_person;
use crate::engine::step::Wait;
use crate::engine::{Action, Engine, Level};
use crate::ledger::{Approval, Channel, Decider, Evidence, Grant, GrantScope, UserGrant};
use crate::policy::{Effect, Form, Level as Floor, Verdict};
use crate::review::{Answer, DocketAnswer, GrantItem, GrantsShape, Resume, StandingAnswer};

/// A command that is longer is not offered for always.
const SHORT: usize = 200;

impl Engine {
    // ── what may be always ──

    /// Returns what "always" would allow, in one word or command; `None` where it is not offered: a floor or a rule that
    /// asks, several effects, a text that is not plain, evidence that is only shown.
    pub(super) fn always(&self, request: &Request, held: &Parcel) -> Option<String> {
        let verdict = &held.finding.as_ref()?.verdict;
        let person = verdict.floor != Floor::None || wants_person(verdict);
        if person || self.docket.asks_for_all || request.subject.evidence == Evidence::Display {
            return None;
        }
        match request.subject.effects() {
            [Effect::Exec { form, cwd: _, env }] if env.is_empty() => {
                let text = match form {
                    Form::Text(text) => text.clone(),
                    Form::Argv(argv) => argv.join(" "),
                };
                let plain = text.len() <= SHORT && text.chars().all(|c| !super::question::hidden(c));
                plain.then_some(text)
            }
            _ => None,
        }
    }

    /// Returns the digest by which a permission that outlives sessions would allow a request; `None` where none may.
    pub(super) fn standing_of(&self, request: &Request) -> Option<String> {
        let session = self.sessions.get(&request.recorder).filter(|_| request.session == request.recorder)?;
        let workspace = String::from_utf8_lossy(&session.roots().first()?.top).into_owned();
        Some(request.subject.standing(&self.setup.redactor, (&workspace, &session.cwd)))
    }

    // ── use ──

    /// Returns the standing permission of a session that covers a request: never where a floor or a rule wants a person.
    pub(super) fn grant_for(&self, request: &Request, verdict: &Verdict) -> Option<String> {
        if !self.may_be_granted(verdict) {
            return None;
        }
        let session = self.sessions.get(&request.recorder)?;
        let actor = (request.session != request.recorder).then_some(&request.session);
        let standing = self.ledger.session(&session.key)?.standing();
        let fits = |grant: &&Grant| {
            grant.scope == GrantScope::Session
                && grant.binding == request.binding
                && grant.subagent.as_ref() == actor
                && standing.uses_left(grant, self.now.wall) != Some(0)
        };
        standing.grants().iter().find(fits).map(|grant| grant.id.clone())
    }

    /// Says whether a standing permission may decide what the rules leave to a person.
    pub(super) fn may_be_granted(&self, verdict: &Verdict) -> bool {
        verdict.floor == Floor::None && !wants_person(verdict) && !self.docket.asks_for_all
    }

    /// Uses a permission that outlives sessions: it is charged where it stands before anything is allowed by it.
    pub(super) fn spend(&mut self, key: &RequestKey, grant: String) {
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Spending(key.clone(), grant.clone()));
        self.out.push(Action::Spend { ask, grant });
    }

    /// A permission that outlives sessions was used or kept, or could not be.
    pub(super) fn granted(&mut self, ask: AskId, outcome: Result<(), String>) {
        match self.waits.remove(&ask) {
            Some(Wait::Spending(key, grant)) => {
                let waits = |request: &Request| {
                    request.state == State::Open
                        && request.held.as_ref().is_some_and(|held| held.question == Question::None)
                };
                match outcome {
                    _ if !self.docket.get(&key).is_some_and(waits) => {}
                    Ok(()) => self.allow(&key, Decider::Grant { id: grant }, None),
                    Err(_) => self.consult(&key),
                }
            }
            Some(Wait::Keeping(session, grant)) => {
                if let Err(reason) = outcome {
                    self.say(Level::Warn, format!("a standing permission could not be kept: {reason}"));
                    self.approval(&session, Approval::GrantRevoked { grant, reason: "not kept".to_owned() });
                }
            }
            Some(other) => {
                self.waits.insert(ask, other);
            }
            None => {}
        }
    }

    // ── give and take back ──

    /// Gives a standing permission for exactly what a request wants.
    pub(super) fn issue(
        &mut self,
        (key, request): (&RequestKey, &Request),
        channel: Channel,
        (name, standing): (&str, &StandingAnswer),
    ) {
        let expires = standing.for_s.map(|seconds| {
            let ms = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
            self.now.wall.plus_ms(ms)
        });
        let grant = Grant {
            id: self.minter.mint("g"),
            from: key.clone(),
            channel,
            says: self.setup.redactor.redact(name),
            binding: request.binding.clone(),
            subagent: (request.session != request.recorder).then(|| request.session.clone()),
            scope: standing.scope,
            uses: standing.uses,
            expires,
        };
        let (id, says) = (grant.id.clone(), grant.says.clone());
        let outlives = self.standing_of(request).filter(|_| standing.scope == GrantScope::User);
        self.decision(&request.recorder, Approval::GrantIssued(grant));
        if let Some(binding) = outlives {
            let (from, uses) = (key.clone(), standing.uses);
            let kept = UserGrant { id: id.clone(), from, channel, says, binding, uses, expires };
            let ask = self.minter.mint_ask();
            self.waits.insert(ask, Wait::Keeping(request.recorder.clone(), id));
            self.out.push(Action::Keep { ask, grant: Box::new(kept) });
        }
    }

    /// Returns the standing permissions of a session.
    pub(super) fn grants_of(&self, id: &SessionId) -> GrantsShape {
        let Some(ledger) = self.sessions.get(id).and_then(|known| self.ledger.session(&known.key)) else {
            return GrantsShape::default();
        };
        let of_session = |grant: &&Grant| grant.scope == GrantScope::Session;
        let item = |grant: &Grant| {
            let left = ledger.standing().uses_left(grant, self.now.wall);
            GrantItem {
                key: grant.id.clone(),
                kind: "session".to_owned(),
                created: ledger.standing().given(&grant.id).unwrap_or(WallNs(0)),
                summary: grant.says.to_string(),
                resume: if left == Some(0) { Resume::None } else { Resume::Open },
                uses_left: left.filter(|_| grant.uses.is_some()),
                expires: grant.expires,
                session_id: Some(id.clone()),
                record: serde_json::to_value(grant).unwrap_or_default(),
            }
        };
        let items = ledger.standing().grants().iter().filter(of_session).map(item).collect();
        GrantsShape { items, next: None }
    }

    /// Takes a standing permission of a session back.
    pub(super) fn revoke(&mut self, to: &ReplyTo, session: &SessionId, grant: &str) {
        let answer = match self.grants_of(session).named(grant) {
            Ok(item) => {
                let revoked = Approval::GrantRevoked { grant: item.key.clone(), reason: "person".to_owned() };
                self.decision(session, revoked);
                Answer::Docket(DocketAnswer::Revoked(Box::new(item)))
            }
            Err(problem) => Answer::Problem(problem),
        };
        self.reply(to, session, answer);
    }
}
