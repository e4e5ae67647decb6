//! What the agent asks for, as it is recorded while it passes: asked, shown, decided, used, settled.

use crate::acp::{Fact, Wanted, WantedBy};
use crate::base::{CallId, RequestKey, SessionId, TurnNo};
use crate::config::Mode;
use crate::engine::docket::{Request, State};
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine};
use crate::ledger::{
    Approval, Asking, Assessment, Channel, Decider, Event, GrantScope, Log, OptionShape, Outcome, Settlement,
};
use crate::policy::{Case, Effect, Finding, Policy, Subject, Verdict};
use crate::session::{Phase, Replay};
use crate::wire::IdToken;

impl Engine {
    /// The agent asks for something, or announces it. Returns its name in the record, when it is recorded.
    pub(super) fn wants(&mut self, id: Option<IdToken>, mut wanted: Wanted) -> Option<RequestKey> {
        let session = wanted.session.clone();
        let recorder = self.record_keeper(&session)?;
        if self.sessions.get(&recorder)?.replay != Replay::No {
            return None;
        }
        self.docket.tell(&session, &mut wanted);
        let announced = wanted.by == WantedBy::Announced;
        let command = announced_subject(&wanted);
        if let Some(call) = wanted.call.as_ref().filter(|_| command.effects().iter().any(is_exec)) {
            let binding = command.binding(&self.setup.redactor, (&session, &self.cwd_of(&recorder)));
            if !self.docket.announce(&session, call, &binding) && announced {
                return None;
            }
        }
        let subject = if announced { command } else { Subject::of(&wanted) };
        let binding = subject.binding(&self.setup.redactor, (&session, &self.cwd_of(&recorder)));
        let key = RequestKey::new(self.minter.mint("r"));
        let asking = self.asking(&key, (&wanted, &subject), (&session, &recorder), &binding);
        let request = Request {
            turn: asking.turn,
            call: wanted.call.clone(),
            binding,
            options: asking.options.clone(),
            at: self.now,
            until: None,
            rev: asking.rev,
            state: if wanted.by == WantedBy::Permission { State::Open } else { State::Used },
            subject,
            session,
            recorder: recorder.clone(),
            whole: true,
            spent: Vec::new(),
            stood: Vec::new(),
            said: (wanted.by == WantedBy::Permission).then(|| Box::new(wanted.clone())),
            held: None,
        };
        let options = asking.options.clone();
        if let Some(by) = asking.covered_by.clone() {
            self.docket.spend(&by, &request.subject);
        }
        if request.state == State::Open {
            self.supersede(&asking);
            self.approval(&recorder, Approval::Requested(asking));
            let (request, channel) = (key.clone(), Channel::Editor);
            self.approval(&recorder, Approval::Prompted { request, channel, verbatim: true, options });
        } else {
            self.approval(&recorder, Approval::Observed(asking));
        }
        self.judge(&request, Wait::Verdict(recorder, key.clone()));
        if matches!(wanted.by, WantedBy::Permission | WantedBy::FsWrite | WantedBy::Terminal) {
            self.docket.open(key.clone(), id, request);
        }
        Some(key)
    }

    /// A message says something of a call: what it runs is recorded, whether it is asked about or not.
    pub(super) fn told(&mut self, mut wanted: Wanted) {
        let session = wanted.session.clone();
        let history = |known: &crate::session::Session| known.replay != Replay::No;
        if self.record_keeper(&session).and_then(|id| self.sessions.get(&id)).is_none_or(history) {
            return;
        }
        self.docket.tell(&session, &mut wanted);
        if wanted.command.is_some() {
            self.wants(None, wanted);
        } else if self.policy.observes() {
            self.touches(&wanted);
        }
    }

    /// A call says which paths it comes to: that is recorded where one of them is observed.
    fn touches(&mut self, wanted: &Wanted) {
        let session = &wanted.session;
        let (Some(call), Some(recorder)) = (&wanted.call, self.record_keeper(session)) else { return };
        let Some(subject) = Subject::of(wanted).touched() else { return };
        let binding = subject.binding(&self.setup.redactor, (session, &self.cwd_of(&recorder)));
        if !self.docket.announce(session, call, &binding) {
            return;
        }
        let Some(case) = self.case_of(&subject, &recorder) else { return };
        let key = RequestKey::new(self.minter.mint("r"));
        let asking = self.asking(&key, (wanted, &subject), (session, &recorder), &binding);
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Observing(recorder, Box::new(asking)));
        self.out.push(Action::Judge { ask, case: Box::new(case) });
    }

    /// It was found out where the paths of a call lead.
    fn touched(&mut self, recorder: &SessionId, asking: Asking, finding: &Result<Box<Finding>, String>) {
        if finding.as_ref().is_ok_and(|finding| !finding.observers.is_empty()) {
            let assessment = self.assessed(&asking.request, finding);
            self.approval(recorder, Approval::Observed(asking));
            self.approval(recorder, Approval::Assessed(assessment));
        }
    }

    /// A call is over that never said in a field what it ran: its title is all that there is.
    fn only_title(&mut self, session: &SessionId, call: &CallId) {
        let Some(told) = self.docket.told(session, call).cloned() else { return };
        let silent = told.command.is_none() && told.kind.as_deref() == Some("execute");
        if silent && !told.title.trim().is_empty() {
            self.wants(None, Wanted { by: WantedBy::Announced, ..told });
        }
    }

    /// Returns the session in whose ledger the requests of a session stand.
    pub(super) fn record_keeper(&self, session: &SessionId) -> Option<SessionId> {
        Some(self.principal_of(&self.recorder_of(session)?))
    }

    pub(super) fn asking(
        &self,
        key: &RequestKey,
        (wanted, subject): (&Wanted, &Subject),
        (session, recorder): (&SessionId, &SessionId),
        binding: &str,
    ) -> Asking {
        let redact = |text: &str| self.setup.redactor.redact(text);
        let option = |offered: &crate::acp::Offered| OptionShape {
            id: redact(&offered.id),
            kind: offered.kind.clone(),
            name: redact(&offered.name),
        };
        let known = self.sessions.get(recorder);
        let open = |request: &Request| {
            request.state == State::Open && request.call.is_some() && request.call == wanted.call
        };
        let same_call = self.docket.which(|request| request.session == *session && open(request));
        let asks = wanted.by == WantedBy::Permission;
        Asking {
            request: key.clone(),
            rev: 1,
            subagent: (session != recorder).then(|| session.clone()),
            turn: known.and_then(|known| known.turns.current()?.number),
            call: wanted.call.clone(),
            method: wanted.by.method().to_owned(),
            tool_kind: wanted.kind.clone(),
            title: redact(&wanted.title.chars().take(400).collect::<String>()),
            evidence: subject.evidence,
            effects: subject.shown(&self.setup.redactor),
            options: wanted.options.iter().map(option).collect(),
            binding: binding.to_owned(),
            mode: known.and_then(|known| known.mode.clone()),
            covered_by: self
                .docket
                .covering(session, (subject, &self.cwd_of(recorder)), None)
                .filter(|_| !asks)
                .cloned(),
            supersedes: same_call.into_iter().next().filter(|_| asks),
        }
    }

    /// A request of the agent passes: it is recorded under its id.
    pub(super) fn passes(&mut self, id: Option<&IdToken>, wanted: Option<Wanted>) {
        if let Some(wanted) = wanted {
            self.wants(id.cloned(), wanted);
        }
    }

    /// The agent takes a question back.
    pub(super) fn withdrawn(&mut self, id: &IdToken) {
        if let Some(request) = self.docket.of_id(id).cloned() {
            self.request_cancelled(&request, "withdrawn");
        }
    }

    /// A new request for the same call takes the place of one that is open.
    pub(super) fn supersede(&mut self, asking: &Asking) {
        if let Some(older) = &asking.supersedes {
            self.request_cancelled(older, "superseded");
        }
    }

    /// Has a request judged. What comes back is recorded; nothing waits for it.
    pub(super) fn judge(&mut self, request: &Request, then: Wait) {
        let Some(mut case) = self.case_of(&request.subject, &request.recorder) else { return };
        case.standing = self.standing_of(request).filter(|_| request.held.is_some());
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, then);
        self.out.push(Action::Judge { ask, case: Box::new(case) });
    }

    /// Returns the working directory of a session.
    pub(super) fn cwd_of(&self, session: &SessionId) -> String {
        self.sessions.get(session).map(|known| known.cwd.clone()).unwrap_or_default()
    }

    /// Gathers what a subject is judged by.
    pub(super) fn case_of(&self, subject: &Subject, recorder: &SessionId) -> Option<Case> {
        let session = self.sessions.get(recorder)?;
        let mode = self.setup.config.mode(self.agent_id().as_str(), session.mode.as_deref());
        let lossy = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Some(Case {
            subject: subject.clone(),
            policy: self.policy.clone(),
            mode,
            cwd: session.cwd.clone(),
            roots: session.roots().iter().map(|root| lossy(&root.top)).collect(),
            home: self.setup.home.clone(),
            ours: self.setup.ours.clone(),
            secrets: self.setup.withheld.clone(),
            standing: None,
            epoch: self.files.epoch,
            known: self.known_files(),
        })
    }

    /// A request was judged, or could not be.
    pub(super) fn judged(&mut self, ask: crate::base::AskId, finding: Result<Box<Finding>, String>) {
        let finding = finding.map(|mut finding| {
            if let Some(news) = finding.news.take() {
                self.files_moved(*news);
            }
            finding
        });
        let stale = finding.as_ref().is_ok_and(|finding| finding.epoch != self.files.epoch);
        match self.waits.remove(&ask) {
            Some(Wait::Verdict(recorder, key)) if stale && self.docket.get(&key).is_some() => {
                if let Some(request) = self.docket.get(&key).cloned() {
                    self.judge(&request, Wait::Verdict(recorder, key));
                }
            }
            Some(Wait::Confirming(key)) if stale => {
                if let Some(request) = self.docket.get(&key).cloned() {
                    self.judge(&request, Wait::Confirming(key));
                }
            }
            Some(Wait::Verdict(recorder, request)) => {
                let assessment = self.assessed(&request, &finding);
                self.approval(&recorder, Approval::Assessed(assessment));
                self.chain(&request, finding);
            }
            Some(Wait::Observing(recorder, asking)) => self.touched(&recorder, *asking, &finding),
            Some(Wait::Confirming(request)) => self.confirmed(&request, finding),
            Some(Wait::Gate(gate)) => self.gate_placed(gate, finding),
            Some(other) => {
                self.waits.insert(ask, other);
            }
            None => {}
        }
    }

    fn assessed(&self, request: &RequestKey, finding: &Result<Box<Finding>, String>) -> Assessment {
        match finding {
            Ok(finding) => Assessment {
                observers: finding.observers.clone(),
                ..self.assessment(request.clone(), &finding.verdict)
            },
            Err(reason) => Assessment {
                request: request.clone(),
                assessor: "policy".to_owned(),
                stage: "default".to_owned(),
                outcome: "error".to_owned(),
                class: "unknown".to_owned(),
                risk: "irreversible".to_owned(),
                floor: "none".to_owned(),
                rules: Vec::new(),
                reasons: vec![self.setup.redactor.redact(reason)],
                observers: Vec::new(),
                confidence: None,
                model: None,
                latency_ms: None,
            },
        }
    }

    fn assessment(&self, request: RequestKey, verdict: &Verdict) -> Assessment {
        let shape = verdict.shape(&self.setup.redactor);
        let layer = verdict.reasons.first().map(|reason| word(&reason.layer));
        Assessment {
            request,
            assessor: "policy".to_owned(),
            stage: layer.unwrap_or_else(|| "default".to_owned()),
            outcome: shape.verdict.to_owned(),
            class: word(&verdict.kind),
            risk: word(&verdict.risk),
            floor: word(&verdict.floor),
            rules: shape.rules,
            reasons: shape.reasons.into_iter().take(8).map(|reason| reason.says).collect(),
            observers: Vec::new(),
            confidence: None,
            model: None,
            latency_ms: None,
        }
    }

    // ── answers ──

    /// A permission was answered in the editor.
    pub(super) fn decided_in_editor(
        &mut self,
        session: &SessionId,
        key: &RequestKey,
        chosen: Option<&str>,
        fact: &Fact,
    ) {
        let waited_ms = self.waited(key);
        let Some(request) = self.docket.get_mut(key) else {
            return self.answered_late(session, key, chosen.unwrap_or("cancelled"));
        };
        let recorder = request.recorder.clone();
        let Some(chosen) = chosen else {
            let failed = matches!(fact, Fact::Failed { .. });
            let cancelling =
                self.sessions.get(&recorder).is_some_and(|known| known.turns.phase() == Phase::Cancelling);
            let reason = match (failed, cancelling) {
                (true, _) => "error",
                (false, true) => "session_cancel",
                (false, false) => "answered_cancelled",
            };
            return self.request_cancelled(key, reason);
        };
        let option = request.options.iter().find(|option| option.id.as_str() == chosen).cloned();
        let outcome = option.as_ref().map_or(Outcome::Unknown, |option| meant(&option.kind));
        request.state = State::Allowed;
        let decided = Approval::Decided {
            request: key.clone(),
            rev: request.rev,
            outcome,
            by: Decider::Editor,
            option,
            reason: None,
            waited_ms,
            binding: request.binding.clone(),
        };
        self.decision(&recorder, decided);
        if outcome == Outcome::Deny {
            self.docket.close(key);
        }
    }

    /// An answer came to a request that is over.
    pub(super) fn answered_late(&mut self, session: &SessionId, key: &RequestKey, answer: &str) {
        let Some(recorder) = self.record_keeper(session) else { return };
        let rejected = Approval::AnswerRejected {
            request: key.to_string(),
            why: "late".to_owned(),
            answer: self.setup.redactor.redact(answer),
            channel: Some(Channel::Editor),
            quoted: None,
            current: None,
        };
        self.approval(&recorder, rejected);
    }

    /// What was allowed goes on.
    pub(super) fn request_used(&mut self, key: &RequestKey) {
        let Some(request) = self.docket.get_mut(key).filter(|request| request.state == State::Allowed) else {
            return;
        };
        request.state = State::Used;
        request.said = None;
        let recorder = request.recorder.clone();
        self.approval(&recorder, Approval::Used { request: key.clone() });
    }

    /// An allowed write or terminal goes on to the client.
    pub(super) fn spent(&mut self, id: Option<&IdToken>) {
        if let Some(key) = id.and_then(|id| self.docket.of_id(id)).cloned() {
            self.request_used(&key);
        }
    }

    /// A request is over without a decision.
    pub(super) fn request_cancelled(&mut self, key: &RequestKey, reason: &str) {
        if self.docket.get(key).is_some_and(|request| request.held.is_some()) {
            return self.cancel_held(key, reason);
        }
        let waited_ms = self.waited(key);
        let Some(request) = self.docket.close(key) else { return };
        let cancelled = Approval::Cancelled { request: key.clone(), reason: reason.to_owned(), waited_ms };
        self.approval(&request.recorder, cancelled);
    }

    /// What went on has ended.
    pub(super) fn request_settled(&mut self, key: &RequestKey, outcome: Settlement) {
        let used = |request: &Request| matches!(request.state, State::Used | State::Allowed);
        if !self.docket.get(key).is_some_and(used) {
            return;
        }
        if let Some(request) = self.docket.close(key) {
            self.approval(&request.recorder, Approval::Settled { request: key.clone(), outcome });
        }
    }

    /// The client answered a read, a write or a terminal of the agent, or the agent took a question back.
    pub(super) fn client_answered(&mut self, key: &RequestKey, failed: bool) {
        let outcome = if failed { Settlement::Failed } else { Settlement::Ok };
        self.request_settled(key, outcome);
    }

    /// A call is over: so is what was allowed for it.
    pub(super) fn call_settled(&mut self, session: &SessionId, call: &CallId, outcome: Settlement) {
        let mine = self.docket.which(|request| {
            request.session == *session && request.call.as_ref() == Some(call) && request.state != State::Open
        });
        for key in mine {
            self.request_settled(&key, outcome);
        }
        self.only_title(session, call);
        self.docket.forget(session, call);
    }

    /// A turn is over: nobody answers its questions any more, and nobody says how the rest ended.
    pub(super) fn turn_settled(&mut self, recorder: &SessionId, turns: &[TurnNo], reason: &str) {
        let mine = self.docket.which(|request| {
            request.recorder == *recorder && request.turn.is_none_or(|turn| turns.contains(&turn))
        });
        for key in mine {
            match self.docket.get(&key).map(|request| request.state) {
                Some(State::Open) => self.request_cancelled(&key, reason),
                Some(State::Allowed | State::Used) => self.request_settled(&key, Settlement::Unknown),
                None => {}
            }
        }
    }

    /// A session is over.
    pub(super) fn approvals_end(&mut self, id: &SessionId, why: &str) {
        let mine = self.docket.which(|request| request.recorder == *id || request.session == *id);
        for key in mine {
            match self.docket.get(&key).map(|request| request.state) {
                Some(State::Open) => self.request_cancelled(&key, why),
                Some(State::Allowed | State::Used) => self.request_settled(&key, Settlement::Unknown),
                None => {}
            }
        }
        self.docket.forget_all(id);
    }

    /// What a dead process left: its open questions were never answered.
    pub(super) fn take_up_approvals(&mut self, id: &SessionId) {
        let Some(ledger) = self.sessions.get(id).and_then(|known| self.ledger.session(&known.key)) else {
            return;
        };
        let of_session = |grant: &&crate::ledger::Grant| grant.scope == GrantScope::Session;
        let grants: Vec<String> =
            ledger.standing().grants().iter().filter(of_session).map(|grant| grant.id.clone()).collect();
        let left: Vec<_> =
            ledger.standing().open().map(|row| (row.asking.request.clone(), row.state, row.at)).collect();
        for grant in grants {
            self.approval(id, Approval::GrantRevoked { grant, reason: "restart".to_owned() });
        }
        for (request, state, at) in left {
            let over = match state {
                crate::ledger::StandingState::Used => {
                    Approval::Settled { request, outcome: Settlement::Unknown }
                }
                crate::ledger::StandingState::Open | crate::ledger::StandingState::Allowed => {
                    let waited_ms = u64::try_from((self.now.wall.0 - at.0) / 1_000_000).unwrap_or_default();
                    Approval::Cancelled { request, reason: "restart".to_owned(), waited_ms }
                }
            };
            self.approval(id, over);
        }
    }

    // ── the policy ──

    /// Compiles the rules that are configured, and says so in the session's ledger.
    pub(super) fn load_policy(&mut self, id: &SessionId) {
        let home = self.setup.home.clone();
        match Policy::of(&self.setup.config, home.as_deref()) {
            Ok(policy) => self.policy = std::sync::Arc::new(policy),
            Err(error) => {
                self.docket.asks_for_all = true;
                self.setup.config.warn(format!("the rules are not used: {error}"));
            }
        }
        self.policy_loaded(id);
    }

    /// The mode became one in which the agent does not ask.
    pub(super) fn gate_blind(&mut self, id: &SessionId, mode: &str) {
        if self.setup.config.mode(self.agent_id().as_str(), Some(mode)) == Mode::Auto {
            self.approval(id, Approval::GateBlind { mode: mode.to_owned() });
        }
    }

    /// A listing shows that a call left something else than was shown when it was allowed: said once.
    pub(super) fn differing(&mut self, session: &SessionId, listing: &crate::ledger::ListingShape) {
        let Some(key) =
            self.sessions.get(session).filter(|known| !known.adopted).map(|known| known.key.clone())
        else {
            return;
        };
        for hunk in &listing.hunks {
            for call in &hunk.approved_differs {
                let path = self.setup.redactor.redact(&format!("{}/{}", hunk.root, hunk.path));
                let Some(standing) = self.ledger.session(&key).map(|ledger| ledger.standing()) else {
                    return;
                };
                let turn = hunk.evidence.turn.or(standing.turns_of(call).next_back().flatten());
                if !standing.is_said_to_differ(turn, call, path.as_str()) {
                    self.approval(session, Approval::Differs { call: call.clone(), turn, path });
                }
            }
        }
    }

    // ── records ──

    pub(super) fn waited(&self, key: &RequestKey) -> u64 {
        let since = self.docket.get(key).map_or(self.now.mono, |request| request.at.mono);
        self.now.mono.saturating_sub(since) / 1_000_000
    }

    pub(super) fn approval(&mut self, recorder: &SessionId, approval: Approval) {
        self.write_approval(recorder, approval, Durability::Written);
    }

    pub(super) fn decision(&mut self, recorder: &SessionId, approval: Approval) {
        self.write_approval(recorder, approval, Durability::Synced);
    }

    fn write_approval(&mut self, recorder: &SessionId, approval: Approval, durability: Durability) {
        let Some(session) = self.sessions.get(recorder).filter(|session| Self::is_recorded(session)) else {
            return;
        };
        let log = Log::Session(session.key.clone());
        self.docket.note_end(recorder, &approval);
        self.record(log, Event::Approval(approval), durability);
    }
}

/// Returns what a kind of answer means.
pub(super) fn meant(kind: &str) -> Outcome {
    if kind.starts_with("allow") {
        Outcome::Allow
    } else if kind.starts_with("reject") {
        Outcome::Deny
    } else {
        Outcome::Unknown
    }
}

/// Returns the word by which a value is written.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|json| json.as_str().map(str::to_owned)).unwrap_or_default()
}

fn is_exec(effect: &Effect) -> bool {
    matches!(effect, Effect::Exec { .. })
}

/// Of a call that is only announced, only its command is recorded: what it writes is in the ledger anyway.
fn announced_subject(wanted: &Wanted) -> Subject {
    let command = Wanted { claims: Vec::new(), reads: Vec::new(), fetches: Vec::new(), ..wanted.clone() };
    Subject::of(&command)
}
