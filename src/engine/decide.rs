//! Decisions, carried out step by step: nothing is touched before its intent is synced, nothing is said before it is true.

use crate::base::{AskId, CommandId, SessionKey};
use crate::engine::desk::{ReplyTo, Stage};
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine};
use crate::ledger::{Bound, Event, Hi, Log, Purpose, RevertFile, RevertIntent, RevertOutcome, Verb, Why};
use crate::review::{self, Answer, Ask, Plan, Problem, ProblemKind};

impl Engine {
    pub(super) fn planned(&mut self, id: AskId, plan: Box<Plan>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let (dry_run, now) = job.asked.ask.manner();
        if dry_run {
            let shape = plan.dry_run();
            return self.finish(id, Answer::Decided(shape));
        }
        let session = job.session.clone();
        let running = self.sessions.get(&session).is_some_and(|known| known.turns.current().is_some());
        let rejects = matches!(plan.verb, Verb::Reject { .. });
        // An agent that provably waits for this review is not run over by it: the gate would wait for itself.
        let waits = running && self.agent_waits(&session);
        if rejects && running && !now && !waits && !plan.files.is_empty() {
            return self.queue_reject(id, &plan);
        }
        let command = self.command_of(id);
        if plan.files.is_empty() {
            return self.settle(id, *plan, command, &[]);
        }
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let files = plan.files.clone();
        job.stage = Stage::Preparing(plan, command);
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Job(id));
        self.out.push(Action::Prepare { ask, files });
    }

    fn command_of(&mut self, id: AskId) -> CommandId {
        match self.jobs.get(&id).map(|job| &job.to) {
            Some(ReplyTo::PendingReject { command, .. }) => command.clone(),
            _ => CommandId::new(self.minter.mint("d")),
        }
    }

    /// A reject during a running turn waits for its end: reverting under a running agent makes it re-apply.
    fn queue_reject(&mut self, id: AskId, plan: &Plan) {
        let command = self.command_of(id);
        let Some(job) = self.jobs.get(&id) else { return };
        let reason = match &plan.verb {
            Verb::Reject { reason } => reason.clone(),
            Verb::Accept | Verb::Undo { .. } | Verb::Redo { .. } => None,
        };
        let hunks = plan.shown();
        let key = job.asked.session.clone();
        let force = matches!(&job.asked.ask, Ask::Decide(decide) if decide.force);
        let event = Event::RejectPending { command, hunks, reason, force, actor: job.asked.actor.clone() };
        self.record(Log::Session(key.clone()), event, Durability::Synced);
        self.publish(&key, "decided");
        let shape = plan.queued();
        self.finish(id, Answer::Decided(shape));
    }

    /// Contents are stored and temporary names drawn: the intent is written and synced before the worktree is touched.
    pub(super) fn prepared(&mut self, ask: AskId, files: Vec<Result<RevertFile, RevertOutcome>>) {
        let Some(Wait::Job(id)) = self.waits.remove(&ask) else { return };
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let Stage::Preparing(plan, command) = std::mem::replace(&mut job.stage, Stage::Computing) else {
            return;
        };
        let (key, session, actor) = (job.asked.session.clone(), job.session.clone(), job.asked.actor.clone());
        let mut steps = Vec::new();
        let mut refused = Vec::new();
        for file in files {
            match file {
                Ok(step) => steps.push(step),
                Err(outcome) => refused.push(outcome),
            }
        }
        plan.drop_halves(&mut steps, &mut refused);
        if steps.is_empty() {
            return self.settle(id, *plan, command, &refused);
        }
        let intended = plan.intended(&steps, actor, command.clone());
        let intent = RevertIntent { command: intended, files: steps.clone() };
        self.record(Log::Session(key), Event::RevertIntended(intent), Durability::Synced);
        let turn = self.turn_of(&session);
        let purpose = Purpose::Review { command: command.clone() };
        let window = self.open_window(&session, turn, purpose, Bound::Hard);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.stage = Stage::Restoring(plan, command, refused, window);
        }
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Job(id));
        self.out.push(Action::Restore { ask, files: steps });
    }

    pub(super) fn restored(&mut self, ask: AskId, files: Vec<RevertOutcome>) {
        match self.waits.remove(&ask) {
            Some(Wait::Recovery { session, intent }) => self.recovered(&session, *intent, files),
            Some(Wait::Job(id)) => self.job_restored(id, files),
            Some(
                Wait::Hold(_)
                | Wait::Roots(_)
                | Wait::Stir(_)
                | Wait::Verdict(..)
                | Wait::Confirming(_)
                | Wait::Observing(..)
                | Wait::Gate(_)
                | Wait::Spending(..)
                | Wait::Keeping(..),
            )
            | None => {}
        }
    }

    fn job_restored(&mut self, id: AskId, files: Vec<RevertOutcome>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let Stage::Restoring(plan, command, refused, window) =
            std::mem::replace(&mut job.stage, Stage::Computing)
        else {
            return;
        };
        let (key, session) = (job.asked.session.clone(), job.session.clone());
        let done = Event::RevertDone { command: command.clone(), files: files.clone() };
        self.record(Log::Session(key), done, Durability::Synced);
        let outcomes: Vec<RevertOutcome> = files.into_iter().chain(refused).collect();
        self.close_window(&session, &window, Hi::Barrier);
        self.settle(id, *plan, command, &outcomes);
    }

    /// Records what became of a plan, then looks at the roots, so that the next answer is true.
    fn settle(&mut self, id: AskId, plan: Plan, command: CommandId, outcomes: &[RevertOutcome]) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (key, session, actor) = (job.asked.session.clone(), job.session.clone(), job.asked.actor.clone());
        self.withdraw(&key, &plan);
        let (decided, shape) = plan.settle(outcomes, actor, command);
        if let Some(command) = decided {
            let items = command.items.clone();
            self.record(Log::Session(key.clone()), Event::Decided(command), Durability::Synced);
            self.gates_decided(&session, &items);
            self.publish(&key, "decided");
            self.decided_beside(&session, &items);
        }
        let answer = Answer::Decided(shape);
        if outcomes.is_empty() {
            return self.finish(id, answer);
        }
        let awaiting = self.observe_all(&session, Why::Review, Wait::Job(id));
        if awaiting.is_empty() {
            return self.finish(id, answer);
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.awaiting = awaiting;
            job.stage = Stage::Settled(Box::new(answer));
        }
    }

    /// An undo of a reject that still waits: it is never carried out.
    fn withdraw(&mut self, key: &SessionKey, plan: &Plan) {
        let Verb::Undo { undoes } = &plan.verb else { return };
        let pending = self.ledger.session(key).map(|ledger| ledger.pending_rejects()).unwrap_or_default();
        if pending.iter().any(|reject| reject.command == *undoes) {
            let event = Event::RejectSettled { command: undoes.clone(), outcome: "withdrawn".to_owned() };
            self.record(Log::Session(key.clone()), event, Durability::Synced);
            self.publish(key, "decided");
        }
    }

    /// A revert of a dead process ended: its decisions stand for the files that are as wanted.
    pub(super) fn revert_done(&mut self, key: &SessionKey, intent: &RevertIntent, files: Vec<RevertOutcome>) {
        let decided = review::recovered(intent, &files);
        let event = Event::RevertDone { command: intent.command.id.clone(), files };
        self.record(Log::Session(key.clone()), event, Durability::Synced);
        if let Some(command) = decided {
            self.record(Log::Session(key.clone()), Event::Decided(command), Durability::Synced);
        }
        self.publish(key, "decided");
    }

    pub(super) fn rebase(&mut self, id: AskId, root: Option<&str>) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (key, actor) = (job.asked.session.clone(), job.asked.actor.clone());
        let tracked =
            self.sessions.get(&job.session).map(|session| session.roots().to_vec()).unwrap_or_default();
        let named = |top: &[u8]| root.is_none_or(|root| root.trim_end_matches('/').as_bytes() == top);
        let chosen: Vec<_> = tracked.into_iter().filter(|tracked| named(&tracked.top)).collect();
        if chosen.is_empty() {
            let problem = Problem::new(ProblemKind::User, "that is no root of this session")
                .hint("`hunkgate status` lists the roots");
            return self.finish(id, Answer::Problem(problem));
        }
        let mut shapes = Vec::new();
        for tracked in chosen {
            // A look that failed says nothing of the worktree as it stands: the base stays.
            let seen = self.ledger.chain(&tracked.root).filter(|chain| chain.blind().is_none());
            let last = seen.and_then(|chain| chain.last()).map(|last| (last.no, last.tree));
            if let Some((position, tree)) = last {
                let event =
                    Event::Rebased { root: tracked.root.clone(), position, tree, actor: actor.clone() };
                self.record(Log::Session(key.clone()), event, Durability::Synced);
            }
            shapes.push(crate::ledger::DegradedShape {
                root: String::from_utf8_lossy(&tracked.top).into_owned(),
                degraded: self.ledger.degraded(&key, &tracked.root),
            });
        }
        self.out.push(Action::Pin { session: key.clone() });
        self.publish(&key, "rebased");
        self.finish(id, Answer::Rebased(shapes));
    }
}
