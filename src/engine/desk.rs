//! Asks: looked at afresh, computed by the host, and where something is decided, carried out here step by step.
//!
//! ```text
//!   asked ─▶ observing ─▶ computing ─▶ answer
//!                             │ plan
//!                             ▼
//!                         preparing ─▶ intent synced ─▶ restoring ─▶ done + decision synced ─▶ looking ─▶ answer
//! ```

use crate::acp::author::{self, Foreground};
use crate::base::{AskId, CommandId, Leg, SessionId, SessionKey, WindowId};
use crate::engine::conversation::Sharpness;
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine, Notice};
use crate::ledger::{
    Actor, Channel, CommentRow, CommentShape, DecidedShape, Event, ListingShape, Log, RevertOutcome,
    ReviewState, Visit, Who, Why,
};
use crate::review::{
    self, Answer, Ask, Asked, Cards, Command, Computed, Decide, DecideVerb, Link, Plan, Problem, ProblemKind,
    Selector,
};
use crate::session::{Recording, Session};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An ask that is being worked on.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Whom the answer goes to.
    pub(super) to: ReplyTo,
    /// What was asked.
    pub(super) asked: Asked,
    /// The session, as the peer calls it.
    pub(super) session: SessionId,
    /// Looks that are still awaited.
    pub(super) awaiting: BTreeSet<AskId>,
    /// Where it stands.
    pub(super) stage: Stage,
}

/// Whom an answer goes to.
#[derive(Clone, Debug)]
pub(super) enum ReplyTo {
    /// Whoever asked the host.
    Host(AskId),
    /// The editor: a slash command, by its prompt.
    Slash(Bytes),
    /// The editor: where the queue is in a browser, by the prompt that asks.
    Web(Bytes),
    /// The end of a turn: a reject that had waited for it.
    PendingReject { hold: Option<AskId>, command: CommandId },
    /// The end of a turn that says nothing: whether what was rejected is back.
    Watch { hold: AskId },
    /// The end of a turn: the summary.
    Summary { hold: AskId },
    /// The end of a turn: the cards that a question is asked on.
    Cards { hold: AskId },
    /// The end of a turn: what is accepted without asking.
    AutoAccept { hold: AskId },
    /// A question at a turn's end that was answered.
    Review { ask: AskId },
    /// A request that may have to wait before the gate.
    Gate { gate: AskId },
    /// The cards of the question about what waits before the gate.
    GateCards,
    /// The end of a turn: a comment to the person on a change that comes back again and again.
    Escalation { hold: AskId },
}

/// Where an ask stands.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Observing,
    Computing,
    Preparing(Box<Plan>, CommandId),
    Restoring(Box<Plan>, CommandId, Vec<RevertOutcome>, WindowId),
    Settled(Box<Answer>),
}

impl Engine {
    /// Somebody asked something.
    pub(super) fn asked(&mut self, ask: AskId, asked: Asked) {
        let session = self.sessions.by_key(&asked.session).map(|session| session.id.clone());
        match session {
            Some(session) => {
                self.visited(&session, &asked);
                self.start(ReplyTo::Host(ask), session, asked);
            }
            None => {
                let problem = Problem::new(ProblemKind::User, "this proxy does not hold that session");
                self.out.push(Action::Reply { ask, answer: Answer::Problem(problem) });
            }
        }
    }

    /// Records what an agent that reviews asks; not what its server asks for its own lists. Where the session is not recorded
    /// it is answered all the same.
    fn visited(&mut self, session: &SessionId, asked: &Asked) {
        let known = self.sessions.get(session);
        let recorded = known.is_some_and(|known| matches!(known.recording, Recording::On(_)));
        let agents = asked.actor.channel == Channel::Mcp && matches!(asked.actor.who, Who::Agent(_));
        if !agents || !recorded {
            return;
        }
        let short = |text: &str| text.chars().take(200).collect::<String>();
        let refused = asked.ask.decides() && !asked.may_decide;
        let turned_away = if let Ask::TurnedAway { why, .. } = &asked.ask {
            Some(short(why))
        } else {
            refused.then(|| "it may not decide here".to_owned())
        };
        let visit = Visit {
            actor: asked.actor.clone(),
            ask: asked.ask.word().to_owned(),
            about: self.setup.redactor.redact(&short(&asked.ask.about())),
            turned_away,
        };
        self.record(Log::Session(asked.session.clone()), Event::Visited(visit), Durability::Written);
    }

    /// The person asked in the editor.
    pub(super) fn slash(&mut self, session: &SessionId, prompt: Bytes, command: Result<Command, String>) {
        let known = self.sessions.get(session).map(|known| known.key.clone());
        match (command, known) {
            (Err(help), _) => self.tell(session, &prompt, &help),
            (Ok(Command::Web), None) => self.tell(
                session,
                &prompt,
                "`hunkgate web` in a terminal opens the queue in a browser; `hunkgate review` shows it in the terminal.",
            ),
            (Ok(Command::Web), Some(key)) => {
                let actor = Actor { who: Who::Person, channel: Channel::Editor };
                let ask = Ask::Hunks { paths: Vec::new() };
                let asked = Asked { session: key, actor, may_decide: true, ask };
                self.start(ReplyTo::Web(prompt), session.clone(), asked);
            }
            (Ok(Command::Policy), Some(_)) => {
                let text = self.policy_text(session);
                self.tell(session, &prompt, &text);
            }
            (Ok(Command::Asking(switch)), Some(_)) => {
                if let Some(switch) = switch {
                    self.ask_from_now_on(session, switch);
                }
                let text = self.asking_text(session);
                self.tell(session, &prompt, &text);
            }
            (Ok(_), None) => {
                self.tell(
                    session,
                    &prompt,
                    "hunkgate does not know this session; nothing of it is recorded.",
                );
            }
            (Ok(Command::Ask(ask)), Some(key)) => {
                let actor = Actor { who: Who::Person, channel: Channel::Editor };
                let asked = Asked { session: key, actor, may_decide: true, ask };
                self.start(ReplyTo::Slash(prompt), session.clone(), asked);
            }
        }
    }

    /// Answers a prompt of ours: the agent never sees it.
    fn tell(&mut self, session: &SessionId, prompt: &Bytes, text: &str) {
        let busy = self.sessions.get(session).is_some_and(|known| known.turns.current().is_some());
        let foreground = if busy { Foreground::Busy } else { Foreground::Idle };
        let message = self.minter.mint("hunkgate");
        for line in author::prompt_answer(self.dialect, prompt, &message, text, foreground) {
            self.send(Leg::Editor, line);
        }
    }

    /// Runs the rejects that waited for the turn's end, one after the other: each is planned on what the last one left.
    /// Returns what the end has to wait for.
    pub(super) fn run_pending_rejects(&mut self, id: &SessionId, hold: AskId) -> BTreeSet<AskId> {
        self.pending_rejects(id, Some(hold))
    }

    /// Runs the rejects that waited for the turn's end now, unless they are being carried out.
    pub(super) fn run_queued_rejects(&mut self, id: &SessionId) {
        let running = |job: &Job| matches!(job.to, ReplyTo::PendingReject { .. }) && job.session == *id;
        if !self.jobs.values().any(running) {
            self.pending_rejects(id, None);
        }
    }

    fn pending_rejects(&mut self, id: &SessionId, hold: Option<AskId>) -> BTreeSet<AskId> {
        let Some(key) = self.sessions.get(id).map(|session| session.key.clone()) else {
            return BTreeSet::new();
        };
        let pending = self.ledger.session(&key).and_then(|ledger| ledger.pending_rejects().first().cloned());
        let Some(reject) = pending else { return BTreeSet::new() };
        let (ids, digests) =
            reject.hunks.into_iter().map(|(id, digest)| (id.as_str().to_owned(), digest)).unzip();
        let decide = Decide {
            verb: DecideVerb::Reject,
            selector: Selector::Ids(ids),
            reason: reject.reason,
            digests,
            dry_run: false,
            force: reject.force,
            now: true,
        };
        let asked = Asked { session: key, actor: reject.actor, may_decide: true, ask: Ask::Decide(decide) };
        let to = ReplyTo::PendingReject { hold, command: reject.command };
        BTreeSet::from([self.start_looked(to, id.clone(), asked)])
    }

    pub(super) fn start(&mut self, to: ReplyTo, session: SessionId, asked: Asked) {
        if asked.ask.decides() && !asked.may_decide {
            return self.refuse(&to, &session, &asked);
        }
        if let Ask::TurnedAway { why, .. } = &asked.ask {
            let problem = Problem::new(ProblemKind::Conflict, why.clone());
            return self.reply(&to, &session, Answer::Problem(problem));
        }
        if let Ask::Docket(ask) = &asked.ask {
            return self.docket_asked(to, &session, &asked, ask);
        }
        let id = self.minter.mint_ask();
        let recording = self.sessions.get(&session).map(|known| known.recording.clone());
        let job =
            Job { to, asked, session: session.clone(), awaiting: BTreeSet::new(), stage: Stage::Observing };
        self.jobs.insert(id, job);
        match recording {
            Some(Recording::On(_)) => self.observe_for(id, &session),
            Some(Recording::Opening) => {}
            Some(Recording::Off(reason)) => self.unrecorded(id, &reason),
            None => self.unrecorded(id, "the session is not known"),
        }
    }

    fn unrecorded(&mut self, id: AskId, reason: &str) {
        let status = matches!(self.jobs.get(&id).map(|job| &job.asked.ask), Some(Ask::Status));
        if status {
            return self.finish(id, Answer::Listing(ListingShape::default()));
        }
        let problem = Problem::new(ProblemKind::Degraded, format!("this session is not recorded: {reason}"));
        self.finish(id, Answer::Problem(problem));
    }

    /// What was decided could not be written: an answer that waits for a last look must not say that it was done.
    pub(super) fn unrecorded_answers(&mut self, session: &SessionKey, reason: &str) {
        for job in self.jobs.values_mut().filter(|job| job.asked.session == *session) {
            if let Stage::Settled(answer) = &mut job.stage {
                **answer = (**answer).clone().unrecorded(reason);
            }
        }
    }

    /// Starts a job whose roots have just been looked at.
    pub(super) fn start_looked(&mut self, to: ReplyTo, session: SessionId, asked: Asked) -> AskId {
        let id = self.minter.mint_ask();
        let job = Job { to, asked, session, awaiting: BTreeSet::new(), stage: Stage::Observing };
        self.jobs.insert(id, job);
        self.compute(id);
        id
    }

    fn observe_for(&mut self, id: AskId, session: &SessionId) {
        let rebases = self.jobs.get(&id).is_some_and(|job| matches!(job.asked.ask, Ask::Rebase { .. }));
        let why = if rebases { Why::Rebase } else { Why::Listing };
        let awaiting = self.observe_all(session, why, Wait::Job(id));
        let none = awaiting.is_empty();
        if let Some(job) = self.jobs.get_mut(&id) {
            job.awaiting = awaiting;
        }
        if none {
            self.compute(id);
        }
    }

    /// Asks that came before the roots were known.
    pub(super) fn wake_jobs_of(&mut self, key: &SessionKey) {
        let waiting: Vec<(AskId, SessionId)> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.asked.session == *key && job.awaiting.is_empty())
            .filter(|(_, job)| matches!(job.stage, Stage::Observing))
            .map(|(id, job)| (*id, job.session.clone()))
            .collect();
        for (id, session) in waiting {
            match self.sessions.get(&session).map(|known| known.recording.clone()) {
                Some(Recording::Off(reason)) => self.unrecorded(id, &reason),
                _ => self.observe_for(id, &session),
            }
        }
        let idle =
            self.sessions.by_key(key).filter(|session| !session.adopted).map(|session| session.id.clone());
        if let Some(id) = idle {
            self.pending_rejects(&id, None);
        }
    }

    /// A deciding ask from where none may come is refused and recorded.
    fn refuse(&mut self, to: &ReplyTo, session: &SessionId, asked: &Asked) {
        let recorded =
            self.sessions.get(session).is_some_and(|known| matches!(known.recording, Recording::On(_)));
        let reviewer = asked.actor.channel == Channel::Mcp;
        if recorded {
            let whom = if reviewer { "an agent that reviews" } else { "a process started under a proxy" };
            let text = format!("refused to decide for {whom} ({:?})", asked.actor.channel);
            let event = Event::Noticed { topic: "refused".into(), path: None, text };
            self.record(Log::Session(asked.session.clone()), event, Durability::Synced);
        }
        let (message, hint) = if reviewer {
            (
                "the proxy of this session lets no agent decide here",
                "[mcp] may counts as it was when that proxy started, and never for an agent's own session",
            )
        } else {
            (
                "a process that an agent started may not decide",
                "decide in the editor, or in a terminal that was not opened by the agent",
            )
        };
        self.reply(to, session, Answer::Problem(Problem::new(ProblemKind::Conflict, message).hint(hint)));
    }

    /// A look that a job waited for came in.
    pub(super) fn job_served(&mut self, job: AskId, served: AskId, _sharp: Sharpness) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        known.awaiting.remove(&served);
        if !known.awaiting.is_empty() {
            return;
        }
        match &known.stage {
            Stage::Observing => self.compute(job),
            Stage::Settled(answer) => {
                let answer = (**answer).clone();
                self.finish(job, answer);
            }
            Stage::Computing | Stage::Preparing(..) | Stage::Restoring(..) => {}
        }
    }

    fn compute(&mut self, id: AskId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.stage = Stage::Computing;
        let key = job.asked.session.clone();
        if let Ask::Rebase { root } = &job.asked.ask {
            let root = root.clone();
            return self.rebase(id, root.as_deref());
        }
        let status = job.asked.ask == Ask::Status;
        let what = if status { Ask::Hunks { paths: Vec::new() } } else { job.asked.ask.clone() };
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Job(id));
        self.out.push(Action::Compute { ask, session: key, what });
    }

    pub(super) fn computed(&mut self, ask: AskId, computed: Computed) {
        let Some(Wait::Job(id)) = self.waits.remove(&ask) else { return };
        let Some(job) = self.jobs.get(&id) else { return };
        let key = job.asked.session.clone();
        match computed {
            Computed::Answer(Answer::Resolved(comment)) => {
                let actor = job.asked.actor.clone();
                let event = Event::CommentResolved { comment: comment.id.clone(), actor };
                self.record(Log::Session(key.clone()), event, Durability::Synced);
                self.publish(&key, "commented");
                self.finish(id, Answer::Resolved(CommentShape { resolved: true, ..comment }));
            }
            Computed::Answer(answer) => self.finish(id, answer),
            Computed::Comment(mut comment) => {
                comment.id = crate::base::CommentId::new(self.minter.mint("c"));
                comment.author = job.asked.author();
                let row =
                    CommentRow { at: self.now.wall, comment: Arc::new(*comment.clone()), resolved: None };
                let shape = CommentShape::from_comment(&row, &self.ledger);
                self.record(Log::Session(key.clone()), Event::Commented(*comment), Durability::Synced);
                self.publish(&key, "commented");
                self.finish(id, Answer::Commented(shape));
            }
            Computed::Plan(plan) => self.planned(id, plan),
            Computed::Cards(cards) => self.cards_came(id, *cards),
        }
    }

    pub(super) fn publish(&mut self, key: &SessionKey, reason: &'static str) {
        self.out.push(Action::Publish(Notice::ReviewChanged { session: key.clone(), reason }));
        if matches!(reason, "decided" | "rebased") {
            self.gates_moved(key);
        }
    }

    /// Gives the answer, with what only the engine knows. One that tells of what is being recorded waits until it is written:
    /// the host sees to that for whoever asked it.
    pub(super) fn finish(&mut self, id: AskId, answer: Answer) {
        let Some(mut job) = self.jobs.remove(&id) else { return };
        if !matches!(job.to, ReplyTo::Host(_)) && self.is_being_recorded(&job.asked.session) {
            let ask = self.minter.mint_ask();
            job.stage = Stage::Settled(Box::new(answer));
            job.awaiting = BTreeSet::from([ask]);
            self.jobs.insert(id, job);
            self.waits.insert(ask, Wait::Job(id));
            return self.out.push(Action::Settle { ask });
        }
        if let Answer::Listing(listing) = &answer {
            self.differing(&job.session, listing);
        }
        let answer = match (answer, &job.asked.ask) {
            (Answer::Listing(listing), Ask::Status) => Answer::Status(self.status(&job.session, &listing)),
            (Answer::Listing(mut listing), _) => {
                self.complete(&job.session, &mut listing);
                Answer::Listing(listing)
            }
            (other, _) => other,
        };
        match &job.to {
            ReplyTo::PendingReject { hold, command } => {
                let hold = *hold;
                self.reject_settled(&job.asked.session, command, &answer);
                let next = self.pending_rejects(&job.session, hold);
                if let Some(hold) = hold {
                    self.say_in_chat(&job.session, &review::render(&answer));
                    if let Some(parked) = self.holds.get_mut(hold) {
                        parked.awaiting.extend(next);
                    }
                    self.hold_served(hold, id, Sharpness::Hard);
                }
            }
            ReplyTo::Escalation { hold } => {
                let hold = *hold;
                if let Answer::Commented(comment) = &answer {
                    self.say_in_chat(&job.session, &review::escalation(comment));
                }
                self.hold_served(hold, id, Sharpness::Hard);
            }
            ReplyTo::Watch { hold } => {
                let hold = *hold;
                if let Answer::Listing(listing) = &answer {
                    self.watch_rejected(&job.session, hold, listing);
                }
                self.hold_served(hold, id, Sharpness::Hard);
            }
            ReplyTo::Summary { hold } | ReplyTo::Cards { hold } => {
                let hold = *hold;
                self.summarize(&job.session, hold, &answer);
                self.hold_served(hold, id, Sharpness::Hard);
            }
            ReplyTo::AutoAccept { hold } => {
                let hold = *hold;
                self.accept_unasked(&job.session, hold, answer);
                self.hold_served(hold, id, Sharpness::Hard);
            }
            ReplyTo::Review { ask } => self.review_decided(*ask, answer),
            ReplyTo::Gate { gate } => self.gate_checked(*gate, &answer),
            ReplyTo::GateCards => {}
            to @ (ReplyTo::Host(_) | ReplyTo::Slash(_) | ReplyTo::Web(_)) => {
                self.reply(to, &job.session, answer)
            }
        }
    }

    /// What a job recorded was written, or its answer says that it was not.
    pub(super) fn settled(&mut self, ask: AskId) {
        if let Some(Wait::Job(job)) = self.waits.remove(&ask) {
            self.job_served(job, ask, Sharpness::Hard);
        }
    }

    /// Says whether this step records what a person said in a session.
    fn is_being_recorded(&self, session: &SessionKey) -> bool {
        self.out.iter().any(|action| {
            let Action::Append { log: Log::Session(key), record, .. } = action else { return false };
            key == session && record.event.is_persons_word()
        })
    }

    pub(super) fn reply(&mut self, to: &ReplyTo, session: &SessionId, answer: Answer) {
        match to {
            ReplyTo::Host(ask) => self.out.push(Action::Reply { ask: *ask, answer }),
            ReplyTo::Slash(prompt) => {
                let text = review::render(&answer);
                self.tell(session, prompt, &text);
            }
            ReplyTo::Web(prompt) => {
                let Some(key) = self.sessions.get(session).map(|known| known.key.clone()) else { return };
                let first = if let Answer::Listing(listing) = &answer {
                    listing.hunks.iter().find(|hunk| hunk.is_owed()).map(|hunk| hunk.id.clone())
                } else {
                    None
                };
                let text = review::on_the_web(&Link::new(key, first), self.console.as_deref());
                self.tell(session, prompt, &text);
            }
            ReplyTo::Review { ask } => self.review_decided(*ask, answer),
            ReplyTo::PendingReject { .. }
            | ReplyTo::Watch { .. }
            | ReplyTo::Summary { .. }
            | ReplyTo::Cards { .. }
            | ReplyTo::AutoAccept { .. }
            | ReplyTo::Gate { .. }
            | ReplyTo::GateCards
            | ReplyTo::Escalation { .. } => {}
        }
    }

    fn reject_settled(&mut self, key: &SessionKey, command: &CommandId, answer: &Answer) {
        let done = if let Answer::Decided(shape) = answer { all_done(shape) } else { false };
        let outcome = if done { "done" } else { "stale" };
        let event = Event::RejectSettled { command: command.clone(), outcome: outcome.into() };
        self.record(Log::Session(key.clone()), event, Durability::Synced);
        if outcome == "stale" {
            let text =
                "a reject that waited for the turn's end was not carried out in full: the file had changed";
            let event = Event::Noticed { topic: "stale".into(), path: None, text: text.into() };
            self.record(Log::Session(key.clone()), event, Durability::Written);
        }
    }

    fn cards_came(&mut self, id: AskId, cards: Cards) {
        match self.jobs.get(&id).map(|job| &job.to) {
            Some(ReplyTo::Cards { hold }) => {
                let hold = *hold;
                self.cards_made(id, hold, cards);
            }
            Some(ReplyTo::GateCards) => self.gate_cards(id, cards),
            _ => self.finish(id, Answer::Listing(cards.listing)),
        }
    }

    pub(super) fn say_in_chat(&mut self, session: &SessionId, text: &str) {
        let message = self.minter.mint("hunkgate");
        let line = author::message_chunk(self.dialect, session, &message, text);
        self.send(Leg::Editor, line);
    }

    pub(super) fn is_recorded(session: &Session) -> bool {
        matches!(session.recording, Recording::On(_))
    }
}

fn all_done(shape: &DecidedShape) -> bool {
    shape.items.iter().all(|item| item.outcome == "done" && item.state == ReviewState::Rejected)
}
