//! Frames: what each one means, and that it goes on.

use crate::acp::author::{self, Stripped};
use crate::acp::{self, Dialect, Fact, Opening, PermissionOption, Wanted, WantedBy};
use crate::base::{AskId, CallId, Leg, SessionId, SessionKey};
use crate::engine::asking::Undecided;
use crate::engine::enforce::gates;
use crate::engine::hold::{HOLD_MS, Held, Hold, TURN_END_MS};
use crate::engine::{Action, Engine, Level};
use crate::ledger::Why;
use crate::router::{Answered, InFlight};
use crate::session::{Recording, Replay, Session};
use crate::wire::{self, Head, IdToken, Outcome, Raw};
use bytes::Bytes;
use std::borrow::Cow;

/// What the answer to a request will be read for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum About {
    /// Nothing, or only by its method.
    Nothing,
    /// A session is opened.
    Opening { how: Opening, cwd: Option<String>, directories: Vec<String> },
    /// A session ends.
    Ending,
    /// A prompt, with the note that left with it.
    Prompt { note: Option<String> },
    /// A permission.
    Permission { call: Option<CallId>, options: Vec<PermissionOption> },
    /// A question of ours about a request of the agent.
    Question { request: crate::base::RequestKey },
    /// A write through the client.
    FsWrite { window: Option<crate::base::WindowId> },
    /// A client terminal is created in this window.
    Terminal { window: Option<crate::base::WindowId> },
    /// A client terminal ends.
    TerminalEnding { terminal: String },
    /// A question of ours at a turn's end.
    Review { ask: AskId },
}

/// A request or notification, and what it means.
pub(super) struct Heard<'a> {
    pub id: Option<IdToken>,
    pub method: Cow<'a, str>,
    pub fact: Fact,
    /// The session that it names, when something is parked that it might have to wait behind.
    pub waits_with: Option<SessionId>,
    /// What it wants, or announces.
    pub wanted: Option<Wanted>,
    pub line: Bytes,
}

impl Engine {
    /// A whole line came from `from`.
    pub(super) fn heard(&mut self, from: Leg, line: Bytes) {
        let copy = line.clone();
        match wire::head(&copy) {
            Head::Unreadable if self.refuses_unreadable(from, &line) => {}
            Head::Unreadable => self.send(from.other(), line),
            Head::Request { id, method, params } => {
                let fact = acp::read_call(self.dialect, &method, params);
                let waits_with = self.waits_with(&fact, params);
                let wanted = match from {
                    Leg::Agent => acp::read_wanted(self.dialect, &method, params),
                    Leg::Editor => None,
                };
                self.called(from, Heard { id: Some(id.to_id()), method, fact, waits_with, wanted, line });
            }
            Head::Notification { method, params } => {
                let fact = acp::read_call(self.dialect, &method, params);
                let waits_with = self.waits_with(&fact, params);
                let wanted = match (&fact, from) {
                    (Fact::Call { .. }, Leg::Agent) => acp::read_announced(self.dialect, &method, params),
                    _ => None,
                };
                self.called(from, Heard { id: None, method, fact, waits_with, wanted, line });
            }
            Head::Response { id, outcome } => {
                let id = id.to_id();
                let decides = from == Leg::Editor && self.enforces();
                let reads_one_way =
                    || wire::splice::find(&line, &[]).is_some_and(|answer| !answer.is_ambiguous());
                let plain = !decides || reads_one_way();
                match self.pending.answered(from, &id) {
                    Answered::Ours(asking) => {
                        let fact =
                            if reads_one_way() { self.fact_of(&asking.method, outcome) } else { Fact::Other };
                        self.ours_answered(asking.payload, fact);
                    }
                    Answered::Late => self.late_answer(from, &id, &line),
                    Answered::Duplicate | Answered::Unknown
                        if decides && matches!(outcome, Outcome::Ok(_)) =>
                    {
                        self.late_answer(from, &id, &line);
                    }
                    Answered::Duplicate | Answered::Unknown => self.send(from.other(), line),
                    Answered::Theirs(asking) => {
                        let judged = matches!(asking.payload, About::Permission { .. });
                        let fact = if plain || !judged {
                            self.fact_of(&asking.method, outcome)
                        } else {
                            Fact::Other
                        };
                        self.answered(from, (&id, asking), fact, line);
                    }
                }
            }
        }
    }

    fn fact_of(&self, method: &str, outcome: Outcome<'_>) -> Fact {
        match outcome {
            Outcome::Ok(result) => acp::read_answer(self.dialect, method, result),
            Outcome::Err(error) => acp::read_error(error),
        }
    }

    /// A request of ours was answered.
    fn ours_answered(&mut self, about: About, fact: Fact) {
        match about {
            About::Review { ask } => self.review_answered(ask, fact),
            About::Question { request } => self.question_answered(&request, &fact, None),
            About::Nothing
            | About::Opening { .. }
            | About::Ending
            | About::Prompt { .. }
            | About::Permission { .. }
            | About::FsWrite { .. }
            | About::Terminal { .. }
            | About::TerminalEnding { .. } => {}
        }
    }

    fn waits_with(&self, fact: &Fact, params: Option<Raw<'_>>) -> Option<SessionId> {
        if self.holds.is_empty() {
            return None;
        }
        session_of(fact).or_else(|| params?.member("sessionId")?.string().map(SessionId::new))
    }

    fn called(&mut self, from: Leg, heard: Heard<'_>) {
        if from == Leg::Agent && self.parks(&heard) {
            return;
        }
        if from == Leg::Agent && self.enforces() && gates(&heard.method) {
            return self.gated(heard);
        }
        if matches!(self.dialect, Dialect::Other(_)) {
            self.remember(from, heard.id, &heard.method, (None, About::Nothing));
            return self.send(from.other(), heard.line);
        }
        match from {
            Leg::Editor => self.editor_called(heard),
            Leg::Agent => self.agent_called(heard),
        }
    }

    pub(super) fn remember(
        &mut self,
        from: Leg,
        id: Option<IdToken>,
        method: &str,
        (session, about): (Option<SessionId>, About),
    ) {
        if let Some(id) = id {
            let asking = InFlight { method: method.to_owned(), session, at: self.now, payload: about };
            self.pending.asked(from, id, asking);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else an editor says passes")]
    fn editor_called(&mut self, Heard { id, method, fact, waits_with, wanted: _, line }: Heard<'_>) {
        let session = session_of(&fact);
        if let Fact::CancelRequest { request } = &fact {
            self.release_request(Leg::Agent, request);
            if self.asking_cancelled(request) {
                return;
            }
        }
        if let Fact::SessionEndAsked { session, .. } = &fact {
            self.gates_end(session, "session_end");
            self.end_asking_of(session, Undecided::Gone);
        }
        if let Fact::Cancel { session } = &fact {
            self.gates_end(session, "session_cancel");
            self.cancel_undecided(session, "session_cancel");
        }
        if let Fact::Cancel { session } = &fact
            && self.cancelled(session)
        {
            return;
        }
        let slash = self.slash_of(&fact);
        let line = match waits_with.filter(|_| slash.is_none()) {
            Some(session) => match self.holds.queue(Leg::Agent, &session, line) {
                Some(line) => line,
                None => return,
            },
            None => line,
        };
        let about = match fact {
            Fact::Initialize { client, capabilities, .. } => {
                self.client = client;
                self.capabilities = capabilities;
                About::Nothing
            }
            Fact::SessionAsked { how, session, cwd, directories } => {
                self.session_asked(how, session.as_ref(), id.as_ref(), cwd.as_deref());
                About::Opening { how, cwd, directories }
            }
            Fact::SessionEndAsked { .. } => About::Ending,
            Fact::SetMode { session, mode } => {
                self.mode_is(&session, &mode);
                About::Nothing
            }
            Fact::Prompt { session, text } => {
                return self.prompted(session, id, (text, slash), line);
            }
            _ => About::Nothing,
        };
        self.remember(Leg::Editor, id, &method, (session, about));
        self.send(Leg::Agent, line);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else an agent says passes")]
    pub(super) fn agent_called(&mut self, Heard { id, method, fact, waits_with, wanted, line }: Heard<'_>) {
        if let Some(session) = session_of(&fact) {
            self.child_again(&session);
        }
        if let Fact::CancelRequest { request } = &fact {
            if self.gate_withdrawn(request) {
                return;
            }
            if self.enforces() && self.taken_back(request, &line) {
                return;
            }
            self.withdrawn(request);
            self.release_request(Leg::Editor, request);
        }
        let line = match waits_with {
            Some(session) => match self.holds.queue(Leg::Editor, &session, line) {
                Some(line) => line,
                None => return,
            },
            None => line,
        };
        match fact {
            Fact::Permission { session, call, title: _, options } => {
                self.permission_asked(&session, id, (call.as_ref(), wanted), options);
                self.send(Leg::Editor, line);
            }
            Fact::FsWrite { session, path, content } => {
                self.passes(id.as_ref(), wanted);
                self.fs_write(session, id, (path, content), line);
            }
            Fact::TerminalCreate { session, .. } => {
                self.passes(id.as_ref(), wanted);
                self.terminal_create(session, id, line);
            }
            Fact::TerminalEnding { session, terminal } => {
                let about = About::TerminalEnding { terminal };
                self.remember(Leg::Agent, id, &method, (Some(session), about));
                self.send(Leg::Editor, line);
            }
            Fact::Call { session, update } => {
                self.send(Leg::Editor, line.clone());
                let deeds = wanted.as_ref().and_then(|wanted| self.deeds(wanted));
                if let Some(wanted) = wanted {
                    self.call_says(&wanted, &line);
                    self.told(wanted);
                }
                let update = self.with_deeds(&session, &update, (deeds.as_ref(), WantedBy::Announced));
                self.call_seen(&session, &update);
                self.command_told(&session, deeds);
            }
            Fact::UserMessage { session } => self.user_message(&session, line),
            Fact::Commands { session } => self.commands(&session, line),
            Fact::Mode { session, mode } => {
                self.send(Leg::Editor, line);
                self.mode_is(&session, &mode);
            }
            Fact::Subagent { session, child } => {
                self.send(Leg::Editor, line);
                self.subagent(&session, child, None);
            }
            Fact::State { session, state } => self.state(&session, state, line),
            Fact::ReplayComplete { session } => {
                self.send(Leg::Editor, line);
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.replay = Replay::No;
                }
            }
            other => {
                self.passes(id.as_ref(), wanted);
                if id.is_some() {
                    self.remember(Leg::Agent, id, &method, (session_of(&other), About::Nothing));
                }
                self.send(Leg::Editor, line);
            }
        }
    }

    /// A response, with the request it answers.
    fn answered(&mut self, from: Leg, (id, asking): (&IdToken, InFlight<About>), fact: Fact, line: Bytes) {
        let request = (from == Leg::Editor).then(|| self.docket.answered(id)).flatten();
        let held =
            |key: &crate::base::RequestKey| self.docket.get(key).is_none_or(|request| request.held.is_some());
        if let Some(request) = request.as_ref().filter(|key| self.enforces() && held(key))
            && matches!(asking.payload, About::Permission { .. })
        {
            return self.question_answered(request, &fact, Some(line));
        }
        if let Some(request) =
            request.as_ref().filter(|_| !matches!(asking.payload, About::Permission { .. }))
        {
            self.client_answered(request, matches!(fact, Fact::Failed { .. }));
        }
        match (asking.payload, fact) {
            (_, Fact::Initialized { version, agent }) => {
                self.latch(version, agent);
                self.send(from.other(), line);
            }
            (About::Opening { how, cwd, directories }, fact) => {
                let line = self.opened_with_commands((&fact, asking.session.as_ref()), line);
                self.send(from.other(), line);
                self.session_answered(how, (asking.session, id), (cwd, directories), fact);
            }
            (About::Ending, fact) => {
                self.send(from.other(), line);
                if let (Some(session), false) = (asking.session, matches!(fact, Fact::Failed { .. })) {
                    self.session_ended(&session, &asking.method);
                }
            }
            (About::Prompt { note }, fact) => {
                self.prompt_answered(id, (asking.session, note), fact, line);
            }
            (About::Permission { call, options }, fact) => {
                self.permission_answered((asking.session, id, call, options), request, &fact, line);
            }
            (About::Question { .. }, _) => {}
            (About::FsWrite { window }, _) => self.fs_written(asking.session, window, line),
            (About::Terminal { window }, fact) => {
                self.send(from.other(), line);
                self.terminal_created(asking.session.as_ref(), window, fact);
            }
            (About::TerminalEnding { terminal }, fact) => {
                self.send(from.other(), line);
                if !matches!(fact, Fact::Failed { .. }) {
                    self.terminal_ended(asking.session.as_ref(), &terminal);
                }
            }
            (About::Nothing | About::Review { .. }, _) => self.send(from.other(), line),
        }
    }

    /// The version is known: everything after is read in its dialect.
    fn latch(&mut self, version: u32, agent: Option<acp::Peer>) {
        self.dialect = Dialect::of_version(version);
        self.agent = agent;
        if let Dialect::Other(version) = self.dialect {
            self.say(
                Level::Warn,
                format!("protocol version {version} is not known: forwarding without recording"),
            );
        }
    }

    /// Parks a frame until the session's roots have been looked at.
    pub(super) fn park(&mut self, to: Leg, session: &SessionId, line: Bytes, what: Held) {
        let id = self.minter.mint_ask();
        let why = match &what {
            Held::Prompt { .. } => Why::Prompt,
            Held::Allow { .. } => Why::Permission,
            Held::FsWrite { .. } | Held::FsWritten { .. } => Why::FsWrite,
            Held::Terminal { .. } => Why::Terminal,
            Held::TurnEnd { .. } => Why::TurnEnd,
        };
        let deadline = self.now.plus_ms(HOLD_MS);
        let awaiting = self.observe_all(session, why, super::step::Wait::Hold(id));
        let opening = self.sessions.get(session).is_some_and(|known| known.recording == Recording::Opening);
        let session = session.clone();
        let mut hold = Hold { to, session, line, awaiting, deadline, what, behind: Vec::new(), soft: false };
        if matches!(hold.what, Held::TurnEnd { .. }) && !hold.awaiting.is_empty() {
            hold.awaiting.insert(self.check_files(id));
        }
        let ready = hold.awaiting.is_empty() && !opening;
        self.holds.park(id, hold);
        if ready {
            self.release(id, Sharpness::Soft);
        }
    }

    /// Lets go what is parked for a request that its own peer cancels.
    fn release_request(&mut self, to: Leg, request: &IdToken) {
        if let Some(id) = self.holds.of_request(to, request) {
            self.release(id, Sharpness::Soft);
        }
    }

    /// The editor takes the prompt back whose answer is held for a question: the question ends, and the answer goes.
    fn asking_cancelled(&mut self, request: &IdToken) -> bool {
        match self.holds.asking_end_of(request) {
            Some(session) => {
                self.end_asking_of(&session, Undecided::Cancelled);
                true
            }
            None => false,
        }
    }

    /// Lets go every parked frame whose time is up.
    pub(super) fn expire(&mut self) {
        for id in self.holds.expired(self.now) {
            if !self.end_asking_for(id) {
                self.release(id, Sharpness::Soft);
            }
        }
    }

    /// Something that a parked frame waited for came in.
    pub(super) fn hold_served(&mut self, hold: AskId, served: AskId, sharp: Sharpness) {
        let Some(parked) = self.holds.get_mut(hold) else { return };
        parked.awaiting.remove(&served);
        parked.soft |= sharp == Sharpness::Soft;
        if parked.awaiting.is_empty() {
            let sharp = if parked.soft { Sharpness::Soft } else { Sharpness::Hard };
            self.release(hold, sharp);
        }
    }

    /// Lets a parked frame go, then what waited behind it.
    pub(super) fn release(&mut self, id: AskId, sharp: Sharpness) {
        let Some(hold) = self.holds.take(id) else { return };
        let (to, behind) = (hold.to, hold.behind.clone());
        let again = match hold.what.clone() {
            Held::Prompt { request, text } => {
                self.prompt_released(&hold.session, (request, &text), sharp, hold.line);
                None
            }
            Held::Allow { call, request } => {
                self.allow_released(&hold.session, call.as_ref(), sharp);
                if let Some(request) = &request {
                    self.request_used(request);
                }
                self.send(to, hold.line);
                None
            }
            Held::FsWrite { request, path, content } => {
                self.fs_write_released(&hold.session, (request, path, content), sharp, hold.line);
                None
            }
            Held::FsWritten { window } => {
                self.fs_written_released(&hold.session, &window, sharp);
                self.send(to, hold.line);
                None
            }
            Held::Terminal { request } => {
                self.terminal_released(&hold.session, request, sharp, hold.line);
                None
            }
            Held::TurnEnd { request, stop, stage } => {
                self.turn_end_advanced(id, hold, (request, stop, stage), sharp)
            }
        };
        if let Some(mut hold) = again {
            hold.deadline = self.now.plus_ms(TURN_END_MS);
            self.holds.park(id, hold);
            return;
        }
        for line in behind {
            self.heard(to.other(), line);
        }
    }

    /// A session is asked for; what is shown until its answer is history.
    fn session_asked(
        &mut self,
        how: Opening,
        named: Option<&SessionId>,
        request: Option<&IdToken>,
        cwd: Option<&str>,
    ) {
        let (Some(named), Some(request)) = (named, request) else { return };
        if matches!(how, Opening::New | Opening::Fork) {
            return;
        }
        let key = self.key_of(named);
        let session = Session::new(named.clone(), key, cwd.unwrap_or_default().to_owned(), Vec::new());
        self.sessions.open(session).replay = Replay::Until(request.clone());
    }

    fn session_answered(
        &mut self,
        how: Opening,
        (named, request): (Option<SessionId>, &IdToken),
        (cwd, directories): (Option<String>, Vec<String>),
        fact: Fact,
    ) {
        if let Some(session) = named.as_ref().and_then(|named| self.sessions.get_mut(named))
            && session.replay == Replay::Until(request.clone())
        {
            session.replay = Replay::No;
        }
        let Fact::SessionReady { session, mode } = fact else { return };
        let Some(id) = session.or(named.clone()) else { return };
        let inherited =
            named.as_ref().and_then(|named| self.sessions.get(named)).map(|from| from.cwd.clone());
        let cwd = cwd.or(inherited).unwrap_or_default();
        let key = self.key_of(&id);
        let fresh = self.sessions.get(&id).is_none_or(|known| known.recording == Recording::Opening);
        let known = self.sessions.open(Session::new(id.clone(), key, cwd, directories));
        if how == Opening::Fork {
            known.parent = named;
        }
        let advertise = !known.commands_seen;
        if fresh {
            self.open_roots(&id);
        }
        if let Some(mode) = mode {
            self.mode_is(&id, &mode);
        }
        if advertise {
            let specs = self.command_specs(&id);
            let line = author::commands_update(self.dialect, &id, &specs);
            self.send(Leg::Editor, line);
        }
    }

    /// v2: the answer that opens a session may carry the agent's commands; ours go with them.
    fn opened_with_commands(&mut self, (fact, named): (&Fact, Option<&SessionId>), line: Bytes) -> Bytes {
        let Fact::SessionReady { session, .. } = fact else { return line };
        let Some(id) = session.as_ref().or(named).filter(|_| self.dialect == Dialect::V2).cloned() else {
            return line;
        };
        if self.sessions.get(&id).is_none() && author::command_names(&line).is_some() {
            let key = self.key_of(&id);
            self.sessions.open(Session::new(id.clone(), key, String::new(), Vec::new()));
        }
        self.with_our_command(&id, line)
    }

    fn open_roots(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let mut directories = vec![session.cwd.clone()];
        directories.extend(session.directories.iter().cloned());
        let key = session.key.clone();
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, super::step::Wait::Roots(id.clone()));
        self.out.push(Action::OpenRoots { ask, session: key, directories });
    }

    pub(super) fn key_of(&self, session: &SessionId) -> SessionKey {
        SessionKey::derive(&self.agent_id(), session)
    }

    pub(super) fn agent_id(&self) -> crate::base::AgentId {
        let name = self.agent.as_ref().map(|agent| agent.name.as_str()).filter(|name| !name.is_empty());
        crate::base::AgentId::new(name.unwrap_or(&self.setup.program))
    }

    fn commands(&mut self, session: &SessionId, line: Bytes) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.commands_seen = true;
        }
        let line = self.with_our_command(session, line);
        self.send(Leg::Editor, line);
    }

    /// Adds our command to a list of the agent's, under a name that none of them has.
    fn with_our_command(&mut self, session: &SessionId, line: Bytes) -> Bytes {
        let Some(names) = author::command_names(&line) else { return line };
        if let Some(known) = self.sessions.get_mut(session) {
            known.commands_seen = true;
        }
        self.choose_command(session, &names);
        author::merge_commands(&line, self.dialect, &self.command_specs(session)).unwrap_or(line)
    }

    fn user_message(&mut self, session: &SessionId, line: Bytes) {
        if !crate::review::mentions_note(&line)
            && !self.strippers.get(session).is_some_and(|open| open.is_inside())
        {
            return self.send(Leg::Editor, line);
        }
        let stripper = self.strippers.entry(session.clone()).or_default();
        let cut = std::cell::RefCell::new(stripper);
        match author::strip_note(&line, self.dialect, &|text| cut.borrow_mut().feed(text)) {
            Stripped::Unchanged => self.send(Leg::Editor, line),
            Stripped::Rewritten(line) => self.send(Leg::Editor, line),
            Stripped::Gone => {}
        }
    }
}

/// Whether what a parked frame waited for was there when it went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharpness {
    /// It was.
    Hard,
    /// It was not.
    Soft,
}

/// Returns the session that a fact names.
fn session_of(fact: &Fact) -> Option<SessionId> {
    match fact {
        Fact::SessionAsked { session, .. } => session.clone(),
        Fact::SessionEndAsked { session, .. }
        | Fact::SetMode { session, .. }
        | Fact::Prompt { session, .. }
        | Fact::Cancel { session }
        | Fact::Permission { session, .. }
        | Fact::FsWrite { session, .. }
        | Fact::TerminalCreate { session, .. }
        | Fact::TerminalEnding { session, .. }
        | Fact::Call { session, .. }
        | Fact::UserMessage { session }
        | Fact::Commands { session }
        | Fact::Mode { session, .. }
        | Fact::Subagent { session, .. }
        | Fact::State { session, .. }
        | Fact::ReplayComplete { session } => Some(session.clone()),
        Fact::Initialize { .. }
        | Fact::Initialized { .. }
        | Fact::SessionReady { .. }
        | Fact::PromptEnded { .. }
        | Fact::PromptInserted
        | Fact::PermissionAnswered { .. }
        | Fact::FormFilled { .. }
        | Fact::FormLeft { .. }
        | Fact::TerminalCreated { .. }
        | Fact::CancelRequest { .. }
        | Fact::Failed { .. }
        | Fact::Update
        | Fact::Other => None,
    }
}
