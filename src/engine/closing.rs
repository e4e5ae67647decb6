//! What the end of a turn does beside ending it: it asks, sums up, accepts, or is silent; and it looks whether what was
//! rejected is back.

use crate::acp::{Questions, questions};
use crate::base::{AskId, HunkId, SessionId};
use crate::config::AtTurnEnd;
use crate::engine::desk::ReplyTo;
use crate::engine::{Durability, Engine};
use crate::ledger::{Actor, Channel, Event, ListingShape, Log, ReviewState, Who};
use crate::review::{self, Answer, Ask, Asked, Decide, DecideVerb, Link, Selector, Switch};
use std::collections::BTreeSet;

/// What a turn's end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// Nothing.
    Silent,
    /// It says nothing, and looks whether what was rejected is back.
    Watches,
    /// It accepts what the turn left.
    Accepts,
    /// It says what there is to review.
    Sums,
    /// It asks.
    Asks,
}

impl Engine {
    /// Decides what the end of a turn does that stopped like this.
    pub(super) fn closing(&self, id: &SessionId, stop: &str) -> Closing {
        let review = &self.setup.config.review;
        let finished = matches!(stop, "end_turn" | "max_tokens" | "max_turn_requests");
        match review.at_turn_end {
            AtTurnEnd::Off if review.auto_accept && finished => Closing::Accepts,
            AtTurnEnd::Off if self.has_rejected(id) => Closing::Watches,
            AtTurnEnd::Off => Closing::Silent,
            AtTurnEnd::Summary => Closing::Sums,
            AtTurnEnd::Ask if finished && self.may_ask(id) => Closing::Asks,
            AtTurnEnd::Ask => Closing::Sums,
        }
    }

    /// Says whether a reject of this session is in force: what it took back may have been made again.
    fn has_rejected(&self, id: &SessionId) -> bool {
        let key = self.sessions.get(id).map(|session| session.key.clone());
        let known = key.and_then(|key| self.ledger.session(&key));
        let mut in_force = known.into_iter().flat_map(|known| known.decisions().all_in_force());
        in_force.any(|(_, decision)| decision.state == ReviewState::Rejected)
    }

    pub(super) fn may_ask(&self, id: &SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return false };
        !self.ending
            && session.answers.can_be_asked()
            && session.turns.current().is_none()
            && !matches!(self.questions(id), Questions::None(_))
            && !self.stopped_asking(id)
            && self.policy_of(id).configured != "none"
    }

    /// Says whether the configuration says that no person sits behind this client.
    pub(super) fn is_headless(&self) -> bool {
        let name = self.client.as_ref().map(|client| client.name.to_lowercase()).unwrap_or_default();
        let headless = &self.setup.config.review.headless_clients;
        headless.iter().any(|headless| headless.to_lowercase() == name)
    }

    /// Says how this client can be asked.
    pub(super) fn questions(&self, id: &SessionId) -> Questions {
        let review = &self.setup.config.review;
        if self.is_headless() {
            return Questions::None("the configuration says that no person sits behind this client");
        }
        let mut capabilities = self.capabilities;
        capabilities.elicitation_form &=
            self.sessions.get(id).is_none_or(|session| session.answers.can_fill_forms());
        questions(self.client.as_ref(), capabilities, &review.asking_clients)
    }

    /// Says whether the person chose not to be asked in this session.
    pub(super) fn stopped_asking(&self, id: &SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return false };
        let notices = self.ledger.session(&session.key).map(|ledger| ledger.notices()).unwrap_or_default();
        let last = notices.iter().rev().find(|notice| notice.topic.starts_with("asking_"));
        last.is_some_and(|notice| notice.topic == "asking_stopped")
    }

    /// The person wants to be asked at a turn's end of this session, or no longer.
    pub(super) fn ask_from_now_on(&mut self, id: &SessionId, switch: Switch) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if switch == Switch::On {
            session.answers.forget();
        }
        let (key, recorded) = (session.key.clone(), Self::is_recorded(session));
        if !recorded {
            return;
        }
        let (topic, text) = match switch {
            Switch::On => ("asking_resumed", "the editor asks at the end of a turn again"),
            Switch::Off => (
                "asking_stopped",
                "the editor asks no more at the end of a turn of this session: you chose so",
            ),
        };
        let event = Event::Noticed { topic: topic.into(), path: None, text: text.into() };
        self.record(Log::Session(key), event, Durability::Synced);
    }

    /// Begins what the end of a turn does. Returns what the end has to wait for.
    pub(super) fn start_closing(&mut self, id: &SessionId, hold: AskId, closing: Closing) -> BTreeSet<AskId> {
        let Some(key) = self.sessions.get(id).map(|session| session.key.clone()) else {
            return BTreeSet::new();
        };
        let listing = Ask::Hunks { paths: Vec::new() };
        let (to, ask) = match closing {
            Closing::Silent => return BTreeSet::new(),
            Closing::Watches => (ReplyTo::Watch { hold }, listing),
            Closing::Sums => (ReplyTo::Summary { hold }, listing),
            Closing::Accepts => (ReplyTo::AutoAccept { hold }, listing),
            Closing::Asks => (ReplyTo::Cards { hold }, Ask::Cards { style: self.card_style() }),
        };
        let actor = Actor { who: Who::Person, channel: Channel::None };
        let asked = Asked { session: key, actor, may_decide: false, ask };
        BTreeSet::from([self.start_looked(to, id.clone(), asked)])
    }

    /// Says at the turn's end what there is to review, once.
    pub(super) fn summarize(&mut self, id: &SessionId, hold: AskId, answer: &Answer) {
        let Answer::Listing(listing) = answer else { return };
        self.watch_rejected(id, hold, listing);
        let command = self.command_of_session(id);
        let Some(session) = self.sessions.get(id) else { return };
        let turn = session.turns.last();
        let (known, key) = (self.person_knows(id), session.key.clone());
        let text = review::summary(listing, (Some(turn), &known), &command);
        let first = review::worth_telling(listing).find(|hunk| !known.contains(&hunk.id));
        let link = Link::new(key, first.map(|hunk| hunk.id.clone()));
        self.person_told(id, listing);
        if let Some(text) = text {
            let there = review::in_browser(&link, self.console.as_deref());
            self.say_in_chat(id, &format!("{text}{there}"));
            self.degraded_told(id);
        }
    }

    /// Returns what the person was told of at a turn's end of this session, over restarts.
    pub(super) fn person_knows(&self, id: &SessionId) -> BTreeSet<HunkId> {
        let key = self.sessions.get(id).map(|session| session.key.clone());
        let known = key.and_then(|key| self.ledger.session(&key));
        known.map(|known| known.person_knows().clone()).unwrap_or_default()
    }

    /// Records what the person is told of now and was not before.
    pub(super) fn person_told(&mut self, id: &SessionId, listing: &ListingShape) {
        let known = self.person_knows(id);
        let told = review::worth_telling(listing).map(|hunk| &hunk.id).filter(|hunk| !known.contains(hunk));
        let hunks: Vec<HunkId> = told.cloned().collect();
        let key = self.sessions.get(id).map(|session| session.key.clone());
        if let Some(key) = key.filter(|_| !hunks.is_empty()) {
            self.record(Log::Session(key), Event::PersonTold { hunks }, Durability::Written);
        }
    }

    /// Records what was rejected and is back, for the next note, and comments on what comes back again and again.
    pub(super) fn watch_rejected(&mut self, id: &SessionId, hold: AskId, listing: &ListingShape) {
        let Some(session) = self.sessions.get(id) else { return };
        let (key, several) = (session.key.clone(), session.roots().len() > 1);
        let items = review::reapplied(listing, several);
        let said = self.ledger.session(&key).is_some_and(|known| known.reapplied() == items);
        if !said {
            self.record(Log::Session(key), Event::Reapplied { items }, Durability::Written);
        }
        self.escalate(id, hold, listing);
    }

    /// Comments, for the person, on a change that has come back after its third reject: that is no longer settled by another.
    fn escalate(&mut self, id: &SessionId, hold: AskId, listing: &ListingShape) {
        let Some(key) = self.sessions.get(id).map(|session| session.key.clone()) else { return };
        for (path, lines, body) in review::to_escalate(listing) {
            let ask = Ask::Comment { path, line_start: lines.0, line_end: Some(lines.1), body };
            let actor = Actor { who: Who::Criterion(review::ESCALATES.to_owned()), channel: Channel::None };
            let asked = Asked { session: key.clone(), actor, may_decide: false, ask };
            let job = self.start_looked(ReplyTo::Escalation { hold }, id.clone(), asked);
            if let Some(parked) = self.holds.get_mut(hold) {
                parked.awaiting.insert(job);
            }
        }
    }

    /// Accepts what a turn left, because the configuration says so: never what was rejected before and is back.
    pub(super) fn accept_unasked(&mut self, id: &SessionId, hold: AskId, answer: Answer) {
        let Answer::Listing(listing) = answer else { return };
        self.watch_rejected(id, hold, &listing);
        let owed = listing.hunks.iter().filter(|hunk| hunk.is_owed() && !hunk.reapplied);
        let (ids, digests): (Vec<String>, Vec<_>) =
            owed.map(|hunk| (hunk.id.as_str().to_owned(), hunk.digest.clone())).unzip();
        let Some(key) = self.sessions.get(id).map(|session| session.key.clone()) else { return };
        if ids.is_empty() {
            return;
        }
        let decide = Decide {
            verb: DecideVerb::Accept,
            selector: Selector::Ids(ids),
            reason: None,
            digests,
            dry_run: false,
            force: false,
            now: false,
        };
        let actor = Actor { who: Who::Criterion("auto_accept".to_owned()), channel: Channel::None };
        let asked = Asked { session: key, actor, may_decide: true, ask: Ask::Decide(decide) };
        let job = self.start_looked(ReplyTo::AutoAccept { hold }, id.clone(), asked);
        if let Some(parked) = self.holds.get_mut(hold) {
            parked.awaiting.insert(job);
        }
    }
}
