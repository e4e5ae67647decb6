//! Turns: a prompt on its way in, and everything that happens before the person is told that the turn is over.

use crate::acp::{Fact, TurnState, author};
use crate::base::{AskId, CallId, Leg, RootId, SessionId, SessionKey, TurnNo, WindowId};
use crate::engine::asking::Undecided;
use crate::engine::conversation::{About, Sharpness};
use crate::engine::hold::{EndStage, Held, Hold};
use crate::engine::{Action, Durability, Engine, Notice};
use crate::ledger::{Bound, Closing, Event, Hi, Log, Purpose, Why, Window};
use crate::review;
use crate::session::{EndedTurn, LiveTurn, Recording, Session};
use crate::wire::{IdToken, splice};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// A prompt came. Ours are answered; others wait until nothing of their turn can have run unseen.
    pub(super) fn prompted(
        &mut self,
        session: SessionId,
        id: Option<IdToken>,
        (text, slash): (String, Option<Result<review::Command, String>>),
        line: Bytes,
    ) {
        let Some(request) = id else { return self.send(Leg::Agent, line) };
        self.end_asking_of(&session, Undecided::Deferred);
        if let Some(asked) = slash {
            return self.slash(&session, line, asked);
        }
        let recorded = self
            .sessions
            .get(&session)
            .is_some_and(|known| known.principal.is_none() && !matches!(known.recording, Recording::Off(_)));
        if recorded {
            self.park(Leg::Agent, &session, line, Held::Prompt { request, text });
        } else {
            if let Some(known) = self.sessions.get_mut(&session) {
                known.turns.begin(request.clone());
            }
            let about = About::Prompt { note: None };
            self.remember(Leg::Editor, Some(request), "session/prompt", (Some(session), about));
            self.send(Leg::Agent, line);
        }
    }

    /// The prompt goes on: its turn gets its number, the base is taken, the note rides along.
    pub(super) fn prompt_released(
        &mut self,
        id: &SessionId,
        (request, text): (IdToken, &str),
        sharp: Sharpness,
        line: Bytes,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return self.send(Leg::Agent, line) };
        let turn = session.turns.begin(request.clone());
        let mut note = None;
        let mut line = line;
        if matches!(session.recording, Recording::On(_)) {
            self.take_bases(id, sharp);
            self.open_turn(id, turn, sharp);
            (note, line) = self.with_note(id, text, line);
        }
        let about = About::Prompt { note };
        self.remember(Leg::Editor, Some(request), "session/prompt", (Some(id.clone()), about));
        self.send(Leg::Agent, line);
    }

    /// Takes the base of every root that has none and has been looked at.
    pub(super) fn take_bases(&mut self, id: &SessionId, sharp: Sharpness) {
        let Some(session) = self.sessions.get(id).filter(|session| session.principal.is_none()) else {
            return;
        };
        let key = session.key.clone();
        let roots: Vec<RootId> = session.roots().iter().map(|root| root.root.clone()).collect();
        for root in roots {
            let taken = self.ledger.session(&key).is_some_and(|ledger| ledger.base(&root).is_some());
            let last =
                self.ledger.chain(&root).and_then(|chain| chain.last()).map(|last| (last.no, last.tree));
            if let (false, Some((position, tree))) = (taken, last) {
                let complete = sharp == Sharpness::Hard;
                let event = Event::BaseTaken { root, position, tree, complete };
                self.record(Log::Session(key.clone()), event, Durability::Synced);
                if !complete {
                    let text = "the first prompt did not wait for the base; what changed meanwhile is listed, as of \
                                unknown base and not to be rejected where nothing tells what stood there before";
                    let event = Event::Noticed { topic: "base".into(), path: None, text: text.into() };
                    self.record(Log::Session(key.clone()), event, Durability::Written);
                }
                self.out.push(Action::Pin { session: key.clone() });
            }
        }
    }

    pub(super) fn open_turn(&mut self, id: &SessionId, turn: TurnNo, sharp: Sharpness) {
        let Some(session) = self.sessions.get(id) else { return };
        let key = session.key.clone();
        self.record(Log::Session(key), Event::TurnStarted { turn }, Durability::Written);
        let lo = if sharp == Sharpness::Hard { Bound::Hard } else { Bound::Soft };
        self.open_window(id, Some(turn), Purpose::Turn, lo);
    }

    /// Opens a window on every root of a session; returns its name.
    pub(super) fn open_window(
        &mut self,
        id: &SessionId,
        turn: Option<TurnNo>,
        purpose: Purpose,
        lo: Bound,
    ) -> WindowId {
        let name = WindowId::new(self.minter.mint("w"));
        let Some(session) = self.sessions.get(id) else { return name };
        let window = Window {
            id: name.clone(),
            proxy: self.setup.proxy.clone(),
            session: session.key.clone(),
            turn,
            purpose,
            opened: self.now.wall,
            lo,
            closed: None,
            parent: None,
        };
        self.say_window(id, &window);
        name
    }

    /// Records a window on every root of a session.
    pub(super) fn say_window(&mut self, id: &SessionId, window: &Window) {
        for root in self.roots_of(id) {
            self.record(Log::Root(root), Event::WindowOpened(window.clone()), Durability::Written);
        }
    }

    /// Closes a window on every root of a session.
    pub(super) fn close_window(&mut self, id: &SessionId, window: &WindowId, hi: Hi) {
        let closing = Closing { at: self.now.wall, hi };
        for root in self.roots_of(id) {
            let open = self.ledger.chain(&root).and_then(|chain| chain.window(window));
            if open.is_some_and(|window| window.closed.is_none()) {
                let event = Event::WindowClosed { window: window.clone(), closing };
                self.record(Log::Root(root), event, Durability::Written);
            }
        }
    }

    pub(super) fn roots_of(&self, id: &SessionId) -> Vec<RootId> {
        let roots = self.sessions.get(id).map(Session::roots).unwrap_or_default();
        roots.iter().map(|root| root.root.clone()).collect()
    }

    /// Appends the pending note to a prompt. A prompt that cannot carry it leaves it pending.
    fn with_note(&mut self, id: &SessionId, text: &str, line: Bytes) -> (Option<String>, Bytes) {
        let Some(session) = self.sessions.get(id) else { return (None, line) };
        let key = session.key.clone();
        let Some(pending) = review::pending(&self.ledger, &key).filter(|_| review::may_carry(text)) else {
            return (None, line);
        };
        let note = self.minter.mint("note");
        let told = pending.text(&note);
        let Some(carrying) = author::append_note(&line, &told) else { return (None, line) };
        let review::Pending { commands, comments, reapplied, denials, .. } = pending;
        let event = Event::NoteSent { note: note.clone(), commands, comments, reapplied, denials };
        self.record(Log::Session(key), event, Durability::Synced);
        (Some(note), carrying)
    }

    /// The prompt was answered: in v1 its turn is over.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "any other answer is an error, and an error ends a turn too"
    )]
    pub(super) fn prompt_answered(
        &mut self,
        request: &IdToken,
        (session, note): (Option<SessionId>, Option<String>),
        fact: Fact,
        line: Bytes,
    ) {
        let Some(id) = session else { return self.send(Leg::Editor, line) };
        if let Some(note) = note {
            self.note_answered(&id, note, !matches!(fact, Fact::Failed { .. }));
        }
        let stop = match fact {
            Fact::PromptInserted => return self.send(Leg::Editor, line),
            Fact::PromptEnded { stop } => stop,
            _ => "error".to_owned(),
        };
        if self.sessions.get(&id).is_some_and(keeps_turns) {
            let what = Held::TurnEnd { request: Some(request.clone()), stop, stage: EndStage::Observing };
            self.park(Leg::Editor, &id, line, what);
        } else {
            if let Some(known) = self.sessions.get_mut(&id) {
                known.turns.end(request);
            }
            self.say_faults(&id);
            self.send(Leg::Editor, line);
        }
    }

    fn note_answered(&mut self, id: &SessionId, note: String, delivered: bool) {
        let Some(key) = self.sessions.get(id).map(|session| session.key.clone()) else { return };
        let event = if delivered { Event::NoteDelivered { note } } else { Event::NoteReturned { note } };
        self.record(Log::Session(key), event, Durability::Synced);
    }

    /// v2: what the session's state is.
    pub(super) fn state(&mut self, id: &SessionId, state: TurnState, line: Bytes) {
        if !matches!(state, TurnState::Idle { .. }) {
            self.end_asking_of(id, Undecided::Deferred);
        } else if let Some(hold) = self.asking_hold(id) {
            return hold.behind.push(line);
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.send(Leg::Editor, line) };
        match state {
            TurnState::Running => {
                session.turns.begin_unnumbered();
                self.send(Leg::Editor, line);
            }
            TurnState::Idle { stop, background } => {
                let recorded = keeps_turns(session);
                if session.turns.current().is_none() {
                    self.send(Leg::Editor, line);
                } else if recorded {
                    let what = Held::TurnEnd { request: None, stop, stage: EndStage::Observing };
                    self.park(Leg::Editor, id, line, what);
                } else {
                    session.turns.end_all();
                    self.say_faults(id);
                    self.send(Leg::Editor, line);
                }
                self.background(id, &background);
            }
            TurnState::RequiresAction | TurnState::Other => self.send(Leg::Editor, line),
        }
    }

    /// Returns the held end of a turn for which the person is being asked.
    fn asking_hold(&mut self, id: &SessionId) -> Option<&mut Hold> {
        let held = self.holds.of_session(Leg::Editor, id);
        let asking = held
            .into_iter()
            .find(|hold| self.holds.get_mut(*hold).is_some_and(|hold| hold.what.is_asking()))?;
        self.holds.get_mut(asking)
    }

    /// v2: background work goes on after the turn, item by item, or has ended.
    fn background(&mut self, id: &SessionId, going_on: &[Option<CallId>]) {
        let Some(session) = self.sessions.get(id) else { return };
        let turn = session.turns.current().and_then(|turn| turn.number);
        let open = self.background_windows(&session.key);
        let over: Vec<&WindowId> =
            open.iter().filter(|(call, _)| !going_on.contains(call)).map(|(_, window)| window).collect();
        for window in &over {
            self.close_window(id, window, Hi::Reported);
        }
        if !over.is_empty() {
            self.look(id, Why::WindowClosed, &[]);
        }
        let begun: BTreeSet<&Option<CallId>> =
            going_on.iter().filter(|call| !open.contains_key(call)).collect();
        for call in begun {
            self.open_window(id, turn, Purpose::Background { call: call.clone() }, Bound::Soft);
        }
    }

    fn background_windows(&self, session: &SessionKey) -> BTreeMap<Option<CallId>, WindowId> {
        let open = self.ledger.open_windows(session).filter(|(_, window)| window.proxy == self.setup.proxy);
        open.filter_map(|(_, window)| match &window.purpose {
            Purpose::Background { call } => Some((call.clone(), window.id.clone())),
            Purpose::Turn
            | Purpose::Call(_)
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. } => None,
        })
        .collect()
    }

    /// A cancel came. It goes to the agent while that works: nothing parked may be overtaken by it or make it wait. Where
    /// only we still hold the answer, the turn is over for the agent: the answer says `cancelled`, and this returns true.
    pub(super) fn cancelled(&mut self, id: &SessionId) -> bool {
        for member in self.household(id) {
            for hold in self.holds.of_session(Leg::Agent, &member) {
                self.release(hold, Sharpness::Soft);
            }
        }
        let Some(session) = self.sessions.get_mut(id) else { return false };
        session.turns.cancel();
        let works = session.turns.current().is_some_and(|turn| !self.holds.ends(turn.request.as_ref()));
        let (key, open) = (session.key.clone(), session.calls.open().next().is_some());
        let goes_on = open || !self.background_windows(&key).is_empty();
        let held = self.holds.of_session(Leg::Editor, id);
        let mut swallowed = false;
        for hold in held.into_iter().filter(|_| !works) {
            swallowed |= self.holds.get_mut(hold).is_some_and(says_cancelled);
        }
        self.end_asking_of(id, Undecided::Cancelled);
        swallowed && !goes_on
    }

    /// The end of a turn has come one stage further. Returns the parked frame while it has to wait on.
    pub(super) fn turn_end_advanced(
        &mut self,
        me: AskId,
        mut hold: Hold,
        (request, stop, stage): (Option<IdToken>, String, EndStage),
        sharp: Sharpness,
    ) -> Option<Hold> {
        let id = hold.session.clone();
        if stage == EndStage::Observing {
            self.turn_over(&id, request.as_ref(), &stop, sharp);
            hold.awaiting = self.run_pending_rejects(&id, me);
            if !hold.awaiting.is_empty() {
                hold.what = Held::TurnEnd { request, stop, stage: EndStage::Rejecting };
                return Some(hold);
            }
        }
        if matches!(stage, EndStage::Observing | EndStage::Rejecting) {
            hold.awaiting = self.start_closing(&id, me, self.closing(&id, &stop));
            if !hold.awaiting.is_empty() {
                hold.what = Held::TurnEnd { request, stop, stage: EndStage::Closing };
                return Some(hold);
            }
        }
        self.say_faults(&id);
        self.send(Leg::Editor, hold.line.clone());
        if let Some(key) = self.sessions.get(&id).map(|session| session.key.clone()) {
            self.out.push(Action::Pin { session: key.clone() });
            let notice = Notice::ReviewChanged { session: key, reason: "turn_ended" };
            self.out.push(Action::Publish(notice));
        }
        None
    }

    /// Closes what a turn had open, and the turn.
    fn turn_over(&mut self, id: &SessionId, request: Option<&IdToken>, stop: &str, sharp: Sharpness) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let ended: Vec<LiveTurn> = match request {
            Some(request) => session.turns.end(request).into_iter().collect(),
            None => session.turns.end_all(),
        };
        let key = session.key.clone();
        let over = session.turns.current().is_none();
        let which = match ended.first() {
            Some(turn) if !over => EndedTurn::One(turn.number),
            _ => EndedTurn::All,
        };
        if over {
            self.gates_end(id, "turn_end");
        }
        let household = self.household(id);
        for member in &household {
            let calls = self.sessions.get_mut(member).map(|session| session.calls.end_turn(which));
            for call in calls.unwrap_or_default() {
                self.close_window(member, &call.window, Hi::TurnEnd);
            }
        }
        let numbers: Vec<TurnNo> = ended.iter().filter_map(|turn| turn.number).collect();
        self.turn_settled(id, &numbers, "turn_end");
        let hi = if sharp == Sharpness::Hard { Hi::Barrier } else { Hi::Reported };
        for turn in ended.into_iter().filter_map(|turn| turn.number) {
            for member in &household {
                for window in self.turn_windows(member, turn) {
                    self.close_window(member, &window, hi);
                }
            }
            let event = Event::TurnEnded { turn, stop: stop.to_owned() };
            self.record(Log::Session(key.clone()), event, Durability::Synced);
        }
    }

    /// Returns the open windows of a turn that are no call's: its own, and those of writes and terminals left open.
    fn turn_windows(&self, id: &SessionId, turn: TurnNo) -> Vec<WindowId> {
        let Some(session) = self.sessions.get(id) else { return Vec::new() };
        let mut windows: Vec<WindowId> = Vec::new();
        for (_, window) in self.ledger.open_windows(&session.key) {
            let outlives = matches!(window.purpose, Purpose::Call(_) | Purpose::Background { .. });
            let mine = window.turn == Some(turn) && !outlives;
            if mine && !windows.contains(&window.id) {
                windows.push(window.id.clone());
            }
        }
        windows
    }
}

/// Says whether the turns of a session are recorded as its own.
fn keeps_turns(session: &Session) -> bool {
    session.principal.is_none() && matches!(session.recording, Recording::On(_))
}

/// Makes a held end of a turn say `cancelled`. Says whether it is one.
fn says_cancelled(hold: &mut Hold) -> bool {
    let Held::TurnEnd { request, stop, .. } = &mut hold.what else { return false };
    "cancelled".clone_into(stop);
    let path: &[&str] =
        if request.is_some() { &["result", "stopReason"] } else { &["params", "update", "stopReason"] };
    if let Some(line) = splice::replace(&hold.line, path, "\"cancelled\"") {
        hold.line = line;
    }
    true
}
