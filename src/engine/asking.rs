//! The question at a turn's end: the answer to the prompt is held, each file is shown on a card of ours, and the person is
//! asked with the buttons of a permission or with a form. Nothing is put back but on an explicit answer to revert.
//!
//! ```text
//!   cards ─▶ question ─▶ answer ─▶ accepts, then rejects ─▶ cards end ─▶ the held answer goes
//!                │ cancel, $/cancel_request, close, second prompt, agent works again, time, editor or agent gone
//!                └──────────▶ withdrawn, undecided ────────▶ cards end ─▶ the held answer goes
//! ```

use crate::acp::asking::{self, Button, Field};
use crate::acp::{Dialect, Fact, Questions, author};
use crate::base::{AskId, HunkId, Leg, SessionId};
use crate::config::AtTurnEnd;
use crate::engine::Engine;
use crate::engine::card::{drawn, field, taken_back};
use crate::engine::conversation::{About, Sharpness};
use crate::engine::desk::ReplyTo;
use crate::engine::hold::{EndStage, Held, TURN_END_MS};
use crate::ledger::{Actor, Channel, Decision, GateShape, ItemShape, ReviewState, Who};
use crate::review::{self, Answer, Ask, Asked, Card, CardStyle, Cards, Chosen, Decide, Selector, Switch};
use crate::router::InFlight;
use crate::wire::IdToken;
use std::collections::{BTreeSet, VecDeque};

/// How long a `session/cancel` may follow an answer that was cancelled, in milliseconds: clients send both.
const GRACE_MS: u32 = 100;

const KEEP: &str = "hunkgate-keep";
const KEEP_AND_STOP: &str = "hunkgate-keep-and-stop";
const REVERT: &str = "hunkgate-revert";

/// One button per kind: clients drop or relabel a second one.
const BUTTONS: [Button; 3] = [
    Button { id: KEEP, name: "Keep all", kind: "allow_once" },
    Button { id: KEEP_AND_STOP, name: "Keep, and stop asking this session", kind: "allow_always" },
    Button { id: REVERT, name: "Revert all", kind: "reject_once" },
];

/// A question under way.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    session: SessionId,
    behind: Behind,
    cards: Vec<(String, Card)>,
    /// Changes in files that have no card.
    unshown: usize,
    with: Questions,
    /// The request that is not answered yet.
    request: Option<IdToken>,
    page: usize,
    chosen: Chosen,
    /// Whether the agent has begun a call since.
    stale: bool,
    /// What was decided since, through whatever door.
    decided: BTreeSet<HunkId>,
    /// `None` until the person has answered; then what is still to be done.
    todo: Option<VecDeque<Decide>>,
    done: Vec<ItemShape>,
    problems: Vec<String>,
}

/// What a question holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Behind {
    /// The end of a turn.
    End(AskId),
    /// A write that waits for the review, by its tool.
    Gate(String),
}

/// Why a question ended without a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undecided {
    /// The person closed it.
    Dismissed,
    /// The person stopped the turn.
    Cancelled,
    /// The person, or the agent, goes on.
    Deferred,
    /// Nobody answered.
    TimedOut,
    /// The client cannot answer.
    Failed,
    /// A peer is gone, or the session closed.
    Gone,
    /// Everything was decided through another door.
    Elsewhere,
}

impl Engine {
    pub(super) fn card_style(&self) -> CardStyle {
        if self.dialect == Dialect::V2 { CardStyle::Patches } else { CardStyle::Texts }
    }

    /// The cards were made: the question begins, or where nothing new is owed, the turn ends with what a summary says.
    pub(super) fn cards_made(&mut self, job: AskId, hold: AskId, cards: Cards) {
        let Some(id) = self.jobs.get(&job).map(|known| known.session.clone()) else { return };
        let told = self.person_knows(&id);
        let mut pieces = cards.cards.iter().flat_map(|card| &card.pieces);
        let fresh = pieces.any(|piece| !told.contains(&piece.id));
        let goes_on = self.sessions.get(&id).is_none_or(|session| session.turns.current().is_some())
            || !self.holds.of_session(Leg::Agent, &id).is_empty();
        let held = self.holds.get_mut(hold).is_some();
        if !fresh || goes_on || !held || !self.may_ask(&id) {
            if let Some(job) = self.jobs.get_mut(&job) {
                job.to = ReplyTo::Summary { hold };
            }
            return self.finish(job, Answer::Listing(cards.listing));
        }
        self.jobs.remove(&job);
        self.differing(&id, &cards.listing);
        self.watch_rejected(&id, hold, &cards.listing);
        self.begin_asking(&id, hold, cards);
        self.hold_served(hold, job, Sharpness::Hard);
        self.let_behind_go(hold);
    }

    fn begin_asking(&mut self, id: &SessionId, hold: AskId, mut cards: Cards) {
        let ask = self.minter.mint_ask();
        let max_hold = self.setup.config.review.max_hold_s.saturating_mul(1000);
        let deadline = self.now.plus_ms(u32::try_from(max_hold).unwrap_or(u32::MAX));
        let Some(parked) = self.holds.get_mut(hold) else { return };
        let line = parked.line.clone();
        parked.awaiting.insert(ask);
        parked.deadline = deadline;
        if let Held::TurnEnd { stage, .. } = &mut parked.what {
            *stage = EndStage::Asking;
        }
        if self.dialect == Dialect::V2 {
            self.send(Leg::Editor, asking::requires_action(id, &line));
        }
        self.complete(id, &mut cards.listing);
        if let Some(text) = review::preface(&cards, &self.command_of_session(id)) {
            self.say_in_chat(id, &text);
            self.degraded_told(id);
        }
        self.person_told(id, &cards.listing);
        self.open_asking(ask, id, Behind::End(hold), cards);
    }

    /// Asks about what holds a write. No clock ends it: the write waits for the review, not for an answer.
    pub(super) fn begin_gate_asking(&mut self, id: &SessionId, held: &GateShape, cards: Cards) {
        let ask = self.minter.mint_ask();
        self.open_asking(ask, id, Behind::Gate(held.tool.clone()), cards);
    }

    fn open_asking(&mut self, ask: AskId, id: &SessionId, behind: Behind, cards: Cards) {
        let unshown = cards.unshown;
        let cards: Vec<(String, Card)> =
            cards.cards.into_iter().map(|card| (self.minter.mint("hunkgate-review"), card)).collect();
        for (call, card) in &cards {
            let frame = asking::card(self.dialect, id, &drawn(call, card, self.card_there(id, card)));
            self.send(Leg::Editor, frame);
        }
        let asking = Asking {
            session: id.clone(),
            behind,
            cards,
            unshown,
            with: self.questions(id),
            request: None,
            page: 0,
            chosen: Chosen::default(),
            stale: false,
            decided: BTreeSet::new(),
            todo: None,
            done: Vec::new(),
            problems: Vec::new(),
        };
        self.askings.insert(ask, asking);
        self.put_question(ask);
    }

    /// Says whether a session is being asked about what holds a write.
    pub(super) fn is_gate_asking(&self, id: &SessionId) -> bool {
        let mine = |asking: &Asking| asking.session == *id && matches!(asking.behind, Behind::Gate(_));
        self.askings.values().any(mine)
    }

    /// Says whether the person may be asked about what holds a write of this session.
    pub(super) fn may_ask_at_gate(&self, id: &SessionId) -> bool {
        let can = self.sessions.get(id).is_some_and(|session| session.answers.can_be_asked());
        !self.ending
            && can
            && self.setup.config.review.at_turn_end == AtTurnEnd::Ask
            && !matches!(self.questions(id), Questions::None(_))
            && !self.stopped_asking(id)
    }

    /// Nothing waits before the gate any more: a question about it ends.
    pub(super) fn end_gate_asking(&mut self, id: &SessionId, why: Undecided) {
        let mine = |asking: &Asking| {
            asking.session == *id && asking.todo.is_none() && matches!(asking.behind, Behind::Gate(_))
        };
        for ask in self.askings_where(mine) {
            self.end_asking(ask, why);
        }
    }

    /// Frames that waited behind a v2 `idle` flow while the person is asked.
    fn let_behind_go(&mut self, hold: AskId) {
        let Some(parked) = self.holds.get_mut(hold) else { return };
        let asks = matches!(&parked.what, Held::TurnEnd { stage: EndStage::Asking, .. });
        if asks {
            for line in std::mem::take(&mut parked.behind) {
                self.heard(Leg::Agent, line);
            }
        }
    }

    /// Sends the question, or the page of the form that is due.
    fn put_question(&mut self, ask: AskId) {
        let Some(asking) = self.askings.get(&ask) else { return };
        let session = asking.session.clone();
        let form = matches!(asking.with, Questions::Form);
        let method = if form { "elicitation/create" } else { "session/request_permission" };
        let request = InFlight {
            method: method.to_owned(),
            session: Some(session.clone()),
            at: self.now,
            payload: About::Review { ask },
        };
        let id = self.pending.originate(Leg::Editor, &mut self.minter, request);
        let first = self.askings.get(&ask).and_then(|asking| asking.cards.first());
        let there = first.and_then(|(_, card)| self.card_there(&session, card));
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        let cards: Vec<Card> = asking.cards.iter().map(|(_, card)| card.clone()).collect();
        let (waits, buttons) = match &asking.behind {
            Behind::End(_) => (String::new(), BUTTONS.as_slice()),
            Behind::Gate(tool) => (format!("{tool} waits. "), [BUTTONS[0], BUTTONS[2]].as_slice()),
        };
        let unshown = review::unshown(asking.unshown);
        let frame = match (form, asking.cards.first()) {
            (true, _) => review::page(&cards, asking.page).map(|page| {
                let fields: Vec<Field> = page.fields.into_iter().map(field).collect();
                asking::form(&id, &session, &format!("{waits}{}{unshown}", page.message), &fields)
            }),
            (false, Some((call, first))) => {
                let about = format!("{waits}{}{unshown}", review::question(&cards));
                Some(asking::question(
                    self.dialect,
                    &id,
                    &session,
                    (&drawn(call, first, there), &about),
                    buttons,
                ))
            }
            (false, None) => None,
        };
        match frame {
            Some(frame) => {
                asking.request = Some(id);
                self.send(Leg::Editor, frame);
            }
            None => {
                self.pending.withdraw(Leg::Editor, &id);
                self.end_asking(ask, Undecided::Failed);
            }
        }
    }

    /// The question was answered.
    #[expect(clippy::wildcard_enum_match_arm, reason = "an answer that cannot be read decides nothing")]
    pub(super) fn review_answered(&mut self, ask: AskId, fact: Fact) {
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        asking.request = None;
        let readable = !matches!(fact, Fact::Failed { .. } | Fact::Other);
        if let Some(session) = self.sessions.get_mut(&asking.session).filter(|_| readable) {
            session.answers.answered();
        }
        match fact {
            Fact::PermissionAnswered { option: Some(option) } => self.button_chosen(ask, &option),
            Fact::PermissionAnswered { option: None } => self.end_asking(ask, Undecided::Dismissed),
            Fact::FormFilled { content } => self.page_filled(ask, &content),
            Fact::FormLeft { declined: true } if asking.chosen.decides() => self.review_chosen(ask),
            Fact::FormLeft { .. } => self.end_asking(ask, Undecided::Dismissed),
            _ => self.end_asking(ask, Undecided::Failed),
        }
    }

    fn button_chosen(&mut self, ask: AskId, option: &str) {
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        let pieces = asking.cards.iter().flat_map(|(_, card)| &card.pieces);
        let shown = pieces.map(|piece| (piece.id.clone(), piece.digest.clone())).collect();
        match option {
            KEEP => asking.chosen.keep = shown,
            KEEP_AND_STOP => {
                asking.chosen.keep = shown;
                asking.chosen.stop_asking = true;
            }
            REVERT => asking.chosen.revert = shown,
            _ => return self.end_asking(ask, Undecided::Failed),
        }
        self.review_chosen(ask);
    }

    fn page_filled(&mut self, ask: AskId, content: &[(String, String)]) {
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        let cards: Vec<Card> = asking.cards.iter().map(|(_, card)| card.clone()).collect();
        asking.chosen.fill(&cards, asking.page, content);
        asking.page += 1;
        if review::page(&cards, asking.page).is_some() {
            self.put_question(ask);
        } else {
            self.review_chosen(ask);
        }
    }

    /// The person answered: what is kept is recorded first, since it moves no line, then the rest is put back.
    fn review_chosen(&mut self, ask: AskId) {
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        let (session, chosen) = (asking.session.clone(), asking.chosen.clone());
        let behind = asking.behind.clone();
        let decide = |verb, shown: Vec<(HunkId, crate::base::Digest)>, reason| {
            let (ids, digests) =
                shown.into_iter().map(|(id, digest)| (id.as_str().to_owned(), digest)).unzip();
            Decide {
                verb,
                selector: Selector::Ids(ids),
                reason,
                digests,
                dry_run: false,
                force: false,
                now: false,
            }
        };
        let all = [
            decide(review::DecideVerb::Accept, chosen.keep, None),
            decide(review::DecideVerb::Reject, chosen.revert, chosen.reason),
        ];
        asking.todo = Some(all.into_iter().filter(|decide| !decide.digests.is_empty()).collect());
        let deadline = self.now.plus_ms(TURN_END_MS);
        if let Behind::End(hold) = behind
            && let Some(parked) = self.holds.get_mut(hold)
        {
            parked.deadline = deadline;
        }
        if chosen.stop_asking {
            self.ask_from_now_on(&session, Switch::Off);
        }
        self.carry_out_next(ask);
    }

    fn carry_out_next(&mut self, ask: AskId) {
        let Some(asking) = self.askings.get_mut(&ask) else { return };
        let session = asking.session.clone();
        let next = asking.todo.as_mut().and_then(VecDeque::pop_front);
        let key = self.sessions.get(&session).map(|known| known.key.clone());
        match (next, key) {
            (Some(decide), Some(key)) => {
                let actor = Actor { who: Who::Person, channel: Channel::Editor };
                let asked = Asked { session: key, actor, may_decide: true, ask: Ask::Decide(decide) };
                self.start(ReplyTo::Review { ask }, session, asked);
            }
            (Some(_), None) | (None, _) => self.asking_carried_out(ask),
        }
    }

    /// One of the decisions of a question was carried out, or was not.
    pub(super) fn review_decided(&mut self, ask: AskId, answer: Answer) {
        if let Some(asking) = self.askings.get_mut(&ask) {
            if let Answer::Decided(shape) = answer {
                asking.done.extend(shape.items);
            } else {
                asking.problems.push(review::render(&answer));
            }
        }
        self.carry_out_next(ask);
    }

    fn asking_carried_out(&mut self, ask: AskId) {
        let Some(asking) = self.askings.remove(&ask) else { return };
        for (call, card) in &asking.cards {
            let reverted = review::reverted(&asking.done);
            let title = review::outcome(card, &asking.done);
            let shows = taken_back(card, &reverted, &self.command_of_session(&asking.session));
            let frame = asking::card_over(
                self.dialect,
                &asking.session,
                (call, &title),
                (&card.absolute, shows.as_slice()),
            );
            self.send(Leg::Editor, frame);
        }
        let command = self.command_of_session(&asking.session);
        if let Some(text) = review::result(&asking.done, (&asking.problems, asking.stale), &command) {
            self.say_in_chat(&asking.session, &text);
        }
        match asking.behind {
            Behind::End(hold) => self.hold_served(hold, ask, Sharpness::Hard),
            Behind::Gate(_) => {
                if let Some(key) = self.sessions.get(&asking.session).map(|known| known.key.clone()) {
                    self.gates_moved(&key);
                }
            }
        }
    }

    /// Ends a question without a decision: what is not decided stays on disk and in the queue. What was decided already
    /// goes on being carried out; only the held answer waits for it no longer.
    pub(super) fn end_asking(&mut self, ask: AskId, why: Undecided) {
        let Some(asking) = self.askings.get(&ask) else { return };
        if asking.todo.is_some() {
            if let Behind::End(hold) = asking.behind {
                self.hold_served(hold, ask, Sharpness::Hard);
            }
            return;
        }
        let Some(asking) = self.askings.remove(&ask) else { return };
        if let Some(request) = &asking.request
            && self.pending.withdraw(Leg::Editor, request).is_some()
        {
            self.send(Leg::Editor, author::cancel_request(request));
        }
        for (call, card) in &asking.cards {
            let what = if why == Undecided::Elsewhere { "decided elsewhere" } else { "undecided" };
            let title = format!("{}: {what}", card.path);
            let over =
                asking::card_over(self.dialect, &asking.session, (call, &title), (&card.absolute, &[]));
            self.send(Leg::Editor, over);
        }
        let form = asking.with == Questions::Form;
        if let Some(session) = self.sessions.get_mut(&asking.session) {
            match why {
                Undecided::TimedOut => session.answers.unanswered(),
                Undecided::Failed if form => session.answers.form_failed(),
                Undecided::Failed => session.answers.failed(),
                Undecided::Dismissed
                | Undecided::Cancelled
                | Undecided::Deferred
                | Undecided::Gone
                | Undecided::Elsewhere => {}
            }
        }
        self.say_undecided(&asking, why);
        self.undecided_goes(ask, &asking, why);
    }

    fn say_undecided(&mut self, asking: &Asking, why: Undecided) {
        let again = self.sessions.get(&asking.session).is_none_or(|session| session.answers.can_be_asked());
        let minutes = self.setup.config.review.max_hold_s / 60;
        let because = match why {
            Undecided::Gone | Undecided::Elsewhere => return,
            Undecided::Dismissed | Undecided::Cancelled | Undecided::Deferred => String::new(),
            Undecided::TimedOut => format!(" (no answer within {minutes} minutes)"),
            Undecided::Failed => " (this client could not answer)".to_owned(),
        };
        let changes = asking.cards.iter().map(|(_, card)| card.pieces.len()).sum();
        let command = self.command_of_session(&asking.session);
        let text = review::undecided(changes, &because, (&command, again));
        self.say_in_chat(&asking.session, &text);
    }

    /// Lets the held answer go; after an answer that was cancelled, a little later: a `session/cancel` may follow.
    fn undecided_goes(&mut self, ask: AskId, asking: &Asking, why: Undecided) {
        let deadline = self.now.plus_ms(GRACE_MS);
        let Behind::End(hold) = asking.behind else { return };
        match self.holds.get_mut(hold) {
            Some(parked) if why == Undecided::Dismissed => parked.deadline = deadline,
            Some(_) | None => self.hold_served(hold, ask, Sharpness::Hard),
        }
    }

    /// Ends the question that a session is being asked at a turn's end, if any.
    pub(super) fn end_asking_of(&mut self, id: &SessionId, why: Undecided) {
        let mine = |asking: &Asking| asking.session == *id && matches!(asking.behind, Behind::End(_));
        for ask in self.askings_where(mine) {
            self.end_asking(ask, why);
        }
        for hold in self.holds.of_session(Leg::Editor, id) {
            if self.holds.get_mut(hold).is_some_and(|hold| hold.what.is_asking()) {
                self.release(hold, Sharpness::Hard);
            }
        }
    }

    /// Something was decided: a question about nothing that is still undecided ends.
    pub(super) fn decided_beside(&mut self, id: &SessionId, items: &[Decision]) {
        for asking in self.askings.values_mut().filter(|asking| asking.session == *id) {
            for item in items {
                match item.state {
                    ReviewState::Unreviewed => asking.decided.remove(&item.hunk),
                    ReviewState::Accepted | ReviewState::Rejected => asking.decided.insert(item.hunk.clone()),
                };
            }
        }
        let all = |asking: &Asking| {
            let mut pieces = asking.cards.iter().flat_map(|(_, card)| &card.pieces);
            pieces.all(|piece| asking.decided.contains(&piece.id))
        };
        let over = self.askings_where(|asking| asking.session == *id && asking.todo.is_none() && all(asking));
        over.into_iter().for_each(|ask| self.end_asking(ask, Undecided::Elsewhere));
    }

    /// Ends every question: a peer is gone.
    pub(super) fn end_all_askings(&mut self) {
        let sessions: BTreeSet<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        for session in sessions {
            self.end_asking_of(&session, Undecided::Gone);
        }
    }

    /// Ends the question for which the end of a turn is held, whose time is up. Says whether there was one.
    pub(super) fn end_asking_for(&mut self, hold: AskId) -> bool {
        let asked = self.askings_where(|asking| asking.behind == Behind::End(hold));
        asked.iter().for_each(|ask| self.end_asking(*ask, Undecided::TimedOut));
        !asked.is_empty() && self.holds.get_mut(hold).is_none()
    }

    /// The agent has begun a call while the person is asked: what was shown may no longer stand.
    pub(super) fn asking_is_stale(&mut self, id: &SessionId) {
        for asking in self.askings.values_mut().filter(|asking| asking.session == *id) {
            asking.stale = true;
        }
    }

    fn askings_where(&self, is: impl Fn(&Asking) -> bool) -> Vec<AskId> {
        self.askings.iter().filter(|(_, asking)| is(asking)).map(|(ask, _)| *ask).collect()
    }
}
