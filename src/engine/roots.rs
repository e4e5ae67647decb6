//! Roots: opened for a session, looked at, and what an earlier process left behind in their journals.

use crate::base::{AskId, RootId, SessionId, SessionKey};
use crate::config::{Approvals, Written};
use crate::engine::conversation::Sharpness;
use crate::engine::reload::OF_PROJECT;
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine, Level, Notice, OpenedRoot};
use crate::ledger::{
    Chain, Event, Gap, Log, Observation, Record, RevertIntent, RevertOutcome, RootKind, SessionHeader, Skip,
    Why,
};
use crate::session::{Recording, Session, TrackedRoot};
use std::collections::BTreeSet;

impl Engine {
    /// A session that the host knows from its journal, with no peers: for commands without a proxy.
    pub(super) fn adopt(&mut self, header: &SessionHeader, directories: Vec<String>) {
        let mut session =
            Session::new(header.session.clone(), header.key.clone(), header.cwd.clone(), Vec::new());
        session.adopted = true;
        session.directories = directories.clone();
        self.sessions.open(session);
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Roots(header.session.clone()));
        self.out.push(Action::OpenRoots { ask, session: header.key.clone(), directories });
    }

    pub(super) fn roots_opened(
        &mut self,
        ask: AskId,
        roots: Vec<OpenedRoot>,
        unrecorded: Option<String>,
        (history, skips): (&[Record], &[Skip]),
    ) {
        let Some(Wait::Roots(id)) = self.waits.remove(&ask) else { return };
        let Some(key) = self.sessions.get(&id).map(|session| session.key.clone()) else { return };
        for root in &roots {
            self.project_says(root.project.as_ref());
            self.project_opened(root);
            if let Ok(header) = &root.root {
                let log = Log::Root(header.root.clone());
                if self.ledger.chain(&header.root).is_none() {
                    self.ledger.replay(&log, &root.history, &root.skips);
                }
            }
        }
        if self.ledger.session(&key).is_none() {
            self.ledger.replay(&Log::Session(key.clone()), history, skips);
        }
        let recording = recording_of(&roots, unrecorded);
        if let Recording::Off(reason) = &recording {
            self.say(Level::Warn, format!("session {id} is not recorded: {reason}"));
        }
        let on = matches!(recording, Recording::On(_));
        if let Some(session) = self.sessions.get_mut(&id) {
            session.aliases = aliases(&roots);
            session.recording = recording;
        }
        if on {
            self.session_begins(&id, &key, &roots);
            self.take_up(&id, &key);
        }
        self.unpark_opened(&id);
        self.early_taken(&id);
        self.wake_jobs_of(&key);
    }

    /// Lets a root's own configuration make ours stricter. It holds for every session of this process.
    fn project_says(&mut self, said: Option<&Result<Written, String>>) {
        let config = &mut self.setup.config;
        match said {
            Some(Ok(written)) => {
                config.tighten(written);
                self.setup.withheld = self.setup.withheld.clone().and(written.withheld());
            }
            Some(Err(reason)) if config.approvals == Approvals::Enforce => {
                self.docket.asks_for_all = true;
                config.warn(format!(
                    "a person is asked about everything: {OF_PROJECT} cannot be read: {reason}"
                ));
            }
            Some(Err(reason)) => config.warn(format!("{OF_PROJECT} is ignored: {reason}")),
            None => {}
        }
    }

    /// Writes who the session is, or that it goes on, and which of its directories are not tracked.
    fn session_begins(&mut self, id: &SessionId, key: &SessionKey, roots: &[OpenedRoot]) {
        let Some(session) = self.sessions.get(id) else { return };
        if session.adopted {
            return;
        }
        let known = self.ledger.session(key).is_some_and(|ledger| ledger.header().is_some());
        let mode = session.mode.clone();
        let event = if known {
            Event::SessionResumed { proxy: self.setup.proxy.clone() }
        } else {
            Event::SessionOpened(self.header(session))
        };
        let parent = self.started_by(session);
        self.record(Log::Session(key.clone()), event, Durability::Synced);
        self.join_roots(id, parent);
        self.load_policy(id);
        if let Some(mode) = mode {
            self.mode_is(id, &mode);
        }
        let untracked =
            roots.iter().filter_map(|root| Some((root.directory.clone(), root.root.as_ref().err()?.clone())));
        self.untracked(id, untracked.collect());
        for root in roots {
            if let Err(reason) = &root.root {
                let text = format!("{} is not tracked: {reason}", root.directory);
                self.say(Level::Warn, text.clone());
                let event = Event::Noticed { topic: "untracked".into(), path: None, text };
                self.record(Log::Session(key.clone()), event, Durability::Written);
            }
        }
        if let Some(turn) = self.turn_of(id) {
            self.open_turn(id, turn, Sharpness::Soft);
        }
        self.look(id, Why::Base, &[]);
    }

    fn header(&self, session: &Session) -> SessionHeader {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let proxy = self.setup.parent.clone().map(|proxy| (proxy, None));
        SessionHeader {
            key: session.key.clone(),
            session: session.id.clone(),
            agent: self.agent_id(),
            agent_version: self.agent.as_ref().and_then(|agent| agent.version.clone()),
            client: self.client.as_ref().map(|client| client.name.clone()),
            protocol: self.dialect.version(),
            cwd: session.cwd.clone(),
            roots: session.roots().iter().map(|root| (root.root.clone(), lossy(&root.top))).collect(),
            parent: self.started_by(session).map(|(key, call)| (key.as_str().to_owned(), call)).or(proxy),
        }
    }

    /// Takes up what an earlier process left: its running turn is over, its note was never answered, its revert is unfinished.
    fn take_up(&mut self, id: &SessionId, key: &SessionKey) {
        let Some(ledger) = self.ledger.session(key) else { return };
        let last = ledger.turns().iter().map(|turn| turn.turn).max();
        let running: Vec<_> =
            ledger.turns().iter().filter(|turn| turn.ended.is_none()).map(|turn| turn.turn).collect();
        let notes: Vec<String> = ledger.note_in_flight().iter().map(|note| note.note.clone()).collect();
        let reverts: Vec<RevertIntent> = ledger.reverts_in_flight().to_vec();
        let log = Log::Session(key.clone());
        for turn in running {
            self.record(log.clone(), Event::TurnEnded { turn, stop: "lost".into() }, Durability::Written);
        }
        for note in notes {
            self.record(log.clone(), Event::NoteReturned { note }, Durability::Synced);
        }
        if let (Some(session), Some(last)) = (self.sessions.get_mut(id), last) {
            session.turns.resume_after(last);
        }
        self.take_up_approvals(id);
        self.take_up_gates(id);
        for intent in reverts {
            let ask = self.minter.mint_ask();
            let files = intent.files.clone();
            self.waits.insert(ask, Wait::Recovery { session: key.clone(), intent: Box::new(intent) });
            self.out.push(Action::Recover { ask, files });
        }
    }

    /// A revert that a dead process had begun was finished or taken back.
    pub(super) fn recovered(&mut self, key: &SessionKey, intent: RevertIntent, files: Vec<RevertOutcome>) {
        self.revert_done(key, &intent, files);
        if let Some(id) = self.sessions.by_key(key).map(|session| session.id.clone()) {
            self.look(&id, Why::Review, &[]);
        }
    }

    /// Prompts that came before the roots were known wait for the first look now.
    fn unpark_opened(&mut self, id: &SessionId) {
        for hold in self.holds.of_session(crate::base::Leg::Agent, id) {
            let awaiting = self.observe_all(id, Why::Prompt, Wait::Hold(hold));
            let none = awaiting.is_empty();
            if let Some(parked) = self.holds.get_mut(hold) {
                parked.awaiting.extend(awaiting);
            }
            if none {
                self.release(hold, Sharpness::Soft);
            }
        }
    }

    /// A root was looked at.
    pub(super) fn observed(
        &mut self,
        ask: AskId,
        root: &RootId,
        foreign: &[Record],
        outcome: Result<Observation, Gap>,
    ) {
        let log = Log::Root(root.clone());
        let mut moved = false;
        for record in foreign {
            moved |= matches!(&record.event, Event::Observed(theirs) if !theirs.changes.is_empty());
            self.ledger.apply(&log, record);
        }
        let sharp = if outcome.is_ok() { Sharpness::Hard } else { Sharpness::Soft };
        match outcome {
            Ok(observation) if !self.is_fresh(root, &observation) => {}
            Ok(observation) => {
                moved |= !observation.changes.is_empty();
                self.ledger.apply(&log, &Record { at: observation.at, event: Event::Observed(observation) });
            }
            Err(gap) if self.last_gap(root) == Some(&gap) => {}
            Err(gap) => {
                self.say(Level::Warn, format!("a look at a root failed: {}", gap.reason));
                self.look_failed(root, &gap.reason);
                self.ledger.apply(&log, &Record { at: gap.at, event: Event::Gap(gap) });
            }
        }
        for (id, key) in self.sessions_on(root) {
            let late = self.sessions.get(&id).is_some_and(|session| session.turns.current().is_some())
                || self.ledger.session(&key).is_some_and(|ledger| !ledger.turns().is_empty());
            if late && sharp == Sharpness::Hard {
                self.take_bases(&id, Sharpness::Soft);
            }
            if moved {
                let session = key.clone();
                self.out.push(Action::Publish(Notice::ReviewChanged { session, reason: "observed" }));
                self.gates_moved(&key);
            }
        }
        match self.waits.remove(&ask) {
            Some(Wait::Hold(hold)) => self.hold_served(hold, ask, sharp),
            Some(Wait::Job(job)) => self.job_served(job, ask, sharp),
            Some(Wait::Stir(root)) => self.stirs.looked(&root, self.now),
            Some(
                other @ (Wait::Roots(_)
                | Wait::Recovery { .. }
                | Wait::Verdict(..)
                | Wait::Confirming(_)
                | Wait::Observing(..)
                | Wait::Gate(_)
                | Wait::Spending(..)
                | Wait::Keeping(..)),
            ) => {
                self.waits.insert(ask, other);
            }
            None => {}
        }
    }

    /// Says whether a link of the chain is new to us: one look may answer several asks.
    fn is_fresh(&self, root: &RootId, observation: &Observation) -> bool {
        self.ledger.chain(root).and_then(Chain::last).is_none_or(|last| last.no < observation.no)
    }

    fn last_gap(&self, root: &RootId) -> Option<&Gap> {
        self.ledger.chain(root)?.gaps().last().map(|placed| &placed.gap)
    }

    /// Returns the sessions beneath a root, but for those that are recorded in another.
    fn sessions_on(&self, root: &RootId) -> Vec<(SessionId, SessionKey)> {
        let own = self.sessions.iter().filter(|session| session.principal.is_none());
        let of_root = own.filter(|session| session.roots().iter().any(|tracked| tracked.root == *root));
        of_root.map(|session| (session.id.clone(), session.key.clone())).collect()
    }

    /// Tells the surfaces of every session on a root of whose calls something more is known now.
    pub(super) fn tell_attributed(&mut self) {
        let told = |action: &Action| {
            let Action::Append { log: Log::Root(root), record, .. } = action else { return None };
            record.event.moves_attribution().then(|| root.clone())
        };
        let roots: BTreeSet<RootId> = self.out.iter().filter_map(told).collect();
        let sessions: BTreeSet<SessionKey> =
            roots.iter().flat_map(|root| self.sessions_on(root)).map(|(_, key)| key).collect();
        for session in sessions {
            self.out.push(Action::Publish(Notice::ReviewChanged { session, reason: "attributed" }));
        }
    }
}

fn recording_of(roots: &[OpenedRoot], unrecorded: Option<String>) -> Recording {
    if let Some(reason) = unrecorded {
        return Recording::Off(reason);
    }
    let mut tracked: Vec<TrackedRoot> = Vec::new();
    for opened in roots {
        let Ok(header) = &opened.root else { continue };
        if tracked.iter().all(|known| known.root != header.root) {
            tracked.push(TrackedRoot {
                root: header.root.clone(),
                top: opened.top.clone(),
                kind: match header.kind {
                    RootKind::Git => "git",
                    RootKind::Plain => "plain",
                },
                observing: opened.observing,
            });
        }
    }
    if tracked.is_empty() {
        let reasons: Vec<String> = roots
            .iter()
            .filter_map(|root| root.root.as_ref().err().map(|why| format!("{}: {why}", root.directory)))
            .collect();
        return Recording::Off(reasons.join("; "));
    }
    Recording::On(tracked)
}

fn aliases(roots: &[OpenedRoot]) -> Vec<(String, Vec<u8>)> {
    roots
        .iter()
        .filter(|root| !root.canonical.is_empty() && root.directory.as_bytes() != root.canonical)
        .map(|root| (root.directory.clone(), root.canonical.clone()))
        .collect()
}
