//! Requests that are judged: nothing goes on before it is decided, and an allow is looked at once more before it is spent.
//!
//! ```text
//!   request ─▶ judging ─▶ allowed ─▶ confirming ─▶ goes on, or is answered
//!                 │  └──▶ denied ─▶ answered
//!                 └─────▶ asked in the editor ─▶ allowed | denied | cancelled
//! ```
//!
//! A cancel beats every allow that has not gone out. What cannot be read, judged or recorded is refused.

use crate::acp::{CallClaim, Fact, Said, Wanted, WantedBy, author};
use crate::base::{Digest, Leg, RequestKey, SessionId};
use crate::config::{Decision, OnRecordFailure};
use crate::engine::conversation::{About, Heard};
use crate::engine::docket::{Early, Parcel, Question, Request, State};
use crate::engine::hold::Held;
use crate::engine::step::Wait;
use crate::engine::{Durability, Engine, Level};
use crate::ledger::{Approval, Channel, Decider, Event, Log, OptionShape, Outcome};
use crate::policy::{Finding, Layer, Subject, Verdict};
use crate::session::Replay;
use crate::wire::{self, Head, IdToken};
use bytes::Bytes;
use serde_json::json;

/// The code of a refusal.
const REFUSED: i64 = -32001;
/// The code of a request that was cancelled.
const CANCELLED: i64 = -32800;
/// How many requests of one session may be open at once.
const MOST_OPEN: usize = 64;

/// Says whether a method of the agent asks for something that is decided.
pub(super) fn gates(method: &str) -> bool {
    method == "session/request_permission" || method.starts_with("fs/") || method.starts_with("terminal/")
}

impl Engine {
    /// A line that cannot be read as one frame does not pass: the other peer may read it as a request, or as an allow.
    pub(super) fn refuses_unreadable(&mut self, from: Leg, line: &Bytes) -> bool {
        let refuses = self.enforces() && !line.iter().all(u8::is_ascii_whitespace);
        if refuses {
            let who = match from {
                Leg::Agent => "agent",
                Leg::Editor => "editor",
            };
            self.say(Level::Warn, format!("a line of the {who} that cannot be read was not passed on"));
        }
        refuses
    }

    /// The agent asks for something that is decided.
    pub(super) fn gated(&mut self, Heard { id, method, fact, waits_with, wanted, line }: Heard<'_>) {
        let line = match waits_with {
            Some(session) => match self.holds.queue(Leg::Editor, &session, line) {
                Some(line) => line,
                None => return,
            },
            None => line,
        };
        let Some(id) = id else {
            return self.say(Level::Warn, format!("{method} without an id was not passed on"));
        };
        let ambiguous = wire::splice::find(&line, &[]).is_none_or(wire::Raw::is_ambiguous);
        if method.starts_with("terminal/") && method != "terminal/create" {
            return self.terminal_asked(&id, &method, (fact, ambiguous), line);
        }
        let Some(wanted) = wanted.filter(|wanted| !ambiguous && answers_are_apart(wanted)) else {
            return self.refuse_request(&id, None, "the request cannot be read");
        };
        if self.is_early(&wanted.session) {
            let permission = wanted.by == WantedBy::Permission;
            return self.docket.early.push(Early { session: wanted.session, id, permission, line });
        }
        if self.end_namesake(&id) {
            return self.refuse_request(&id, None, "another request with this id is under way");
        }
        let Some(recorder) = self.record_keeper(&wanted.session) else {
            return self.unrecorded_request(&id, (fact, wanted), line);
        };
        let open = self.docket.which(|request| request.recorder == recorder && request.held.is_some());
        if open.len() >= MOST_OPEN {
            return self.too_many(&id, &recorder);
        }
        if let Fact::Permission { ref session, ref call, .. } = fact {
            if let Some(known) = self.sessions.get_mut(session) {
                known.turns.ask(id.clone());
            }
            if let Some(update) = call {
                self.call_asks(session, update);
            }
        }
        self.take_request(id, recorder, (fact, wanted), line);
    }

    /// Refuses a request, because nobody will look at so many.
    fn too_many(&mut self, id: &IdToken, recorder: &SessionId) {
        let text = format!("{MOST_OPEN} requests wait for an answer: another one was refused");
        self.say(Level::Warn, text.clone());
        if let Some(key) = self.sessions.get(recorder).map(|session| session.key.clone()) {
            let event = Event::Noticed { topic: "refused".into(), path: None, text };
            self.record(Log::Session(key), event, Durability::Written);
        }
        self.refuse_request(id, None, "too many requests are open");
    }

    /// Ends a request that has not gone on, because another one comes under its id: an answer would be taken for either's.
    /// Says whether there was one.
    fn end_namesake(&mut self, id: &IdToken) -> bool {
        if self.cancel_allow(id, "ambiguous") {
            return true;
        }
        if self.holds.of_request(Leg::Editor, id).is_some_and(|hold| self.cancel_parked(hold, "ambiguous")) {
            return true;
        }
        let Some(key) = self.docket.of_id(id).cloned() else { return false };
        if self.docket.get(&key).is_some_and(|request| request.held.is_some()) {
            self.cancel_held(&key, "ambiguous");
        }
        true
    }

    /// Takes a request in, and has it judged.
    fn take_request(
        &mut self,
        id: IdToken,
        recorder: SessionId,
        (fact, mut wanted): (Fact, Wanted),
        line: Bytes,
    ) {
        let session = wanted.session.clone();
        self.docket.tell(&session, &mut wanted);
        let subject = Subject::of(&wanted);
        let binding = subject.binding(&self.setup.redactor, (&session, &self.cwd_of(&recorder)));
        let key = RequestKey::new(self.minter.mint("r"));
        let asking = self.asking(&key, (&wanted, &subject), (&session, &recorder), &binding);
        self.supersede(&asking);
        let parcel = Parcel {
            id: id.clone(),
            wanted: wanted.clone(),
            fact,
            line,
            finding: None,
            opinions: Vec::new(),
            again: false,
            question: Question::None,
            answer: None,
        };
        let request = Request {
            session,
            recorder: recorder.clone(),
            call: wanted.call,
            turn: asking.turn,
            subject,
            binding,
            options: asking.options.clone(),
            at: self.now,
            until: self.wait_until(),
            rev: 1,
            state: State::Open,
            whole: false,
            spent: Vec::new(),
            stood: Vec::new(),
            said: None,
            held: Some(Box::new(parcel)),
        };
        self.approval(&recorder, Approval::Requested(asking));
        self.judge(&request, Wait::Verdict(recorder, key.clone()));
        self.docket.open(key, Some(id), request);
    }

    /// Nothing can be recorded of the session: without a record there is no decision, unless the person prefers to go on.
    fn unrecorded_request(&mut self, id: &IdToken, (fact, wanted): (Fact, Wanted), line: Bytes) {
        if self.setup.config.on_record_failure == OnRecordFailure::Deny {
            return self.refuse_request(id, None, "the session is not recorded");
        }
        let history = self.sessions.get(&wanted.session).is_some_and(|known| known.replay != Replay::No);
        if wanted.by == WantedBy::Permission && !history {
            self.remember(
                Leg::Agent,
                Some(id.clone()),
                wanted.by.method(),
                (Some(wanted.session), About::Nothing),
            );
            return self.send(Leg::Editor, line);
        }
        let _ = fact;
        self.refuse_request(id, None, "the session is not recorded");
    }

    /// What is done with a terminal passes only for terminals whose creation was allowed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other message about a terminal passes alike")]
    fn terminal_asked(&mut self, id: &IdToken, method: &str, (fact, ambiguous): (Fact, bool), line: Bytes) {
        let text = |name: &str| wire::splice::find(&line, &["params", name])?.string();
        let known = text("sessionId").zip(text("terminalId")).filter(|_| !ambiguous);
        let Some((session, terminal)) = known
            .map(|(session, terminal)| (SessionId::new(session), terminal))
            .filter(|(session, terminal)| self.docket.is_allowed_terminal(session, terminal))
        else {
            return self.refuse_request(id, None, "that terminal was not created with an approval");
        };
        let about = match fact {
            Fact::TerminalEnding { .. } => About::TerminalEnding { terminal },
            _ => About::Nothing,
        };
        self.remember(Leg::Agent, Some(id.clone()), method, (Some(session), about));
        self.send(Leg::Editor, line);
    }

    // ── the chain ──

    /// A request was judged: the layers are combined. Prohibitions speak first.
    pub(super) fn chain(&mut self, key: &RequestKey, finding: Result<Box<Finding>, String>) {
        let Some(request) = self.docket.get(key).filter(|request| request.state == State::Open) else {
            return;
        };
        if request.held.is_none() {
            return;
        }
        let finding = match finding {
            Ok(finding) => finding,
            Err(reason) => {
                return self.deny(key, Decider::System, &format!("it could not be judged: {reason}"));
            }
        };
        let verdict = finding.verdict.clone();
        let follows = request.held.as_ref().is_some_and(|held| held.wanted.by != WantedBy::Permission);
        let cwd = self.cwd_of(&request.recorder);
        let wants = (&request.subject, cwd.as_str());
        let covering = self.docket.covering(&request.session, wants, Some(&finding.stands));
        let covering = covering.filter(|by| follows && *by != key).cloned();
        let grant = self.grant_for(request, &verdict);
        let outlives = finding.grant.clone().filter(|_| self.may_be_granted(&verdict));
        if let Some(request) = self.docket.get_mut(key) {
            request.whole =
                request.held.as_ref().is_some_and(|held| tells_whole_files(&held.wanted, &finding));
            if let Some(held) = request.held.as_mut() {
                let again = held.finding.replace(finding.clone());
                // Who answers has to have seen why it is asked.
                if again.is_some_and(|before| before.verdict != finding.verdict) {
                    request.rev += 1;
                }
            }
        }
        match (verdict.decision, covering, grant) {
            (Decision::Deny, ..) => self.deny(key, decider(&verdict), &said(&verdict)),
            (_, Some(by), _) => {
                if let Some(subject) = self.docket.get(key).map(|request| request.subject.clone()) {
                    self.docket.spend(&by, &subject);
                }
                self.allow(key, Decider::Covered { by }, None);
            }
            (Decision::Allow, None, _) if self.docket.asks_for_all => self.ask_person(key),
            (Decision::Ask, None, Some(id)) => self.allow(key, Decider::Grant { id }, None),
            (Decision::Allow, None, _) => self.allow(key, decider(&verdict), None),
            (Decision::Ask, None, None) => match outlives {
                Some(grant) => self.spend(key, grant),
                None => self.consult(key),
            },
        }
    }

    /// It may. Of a permission whose answers are not understood, the person decides all the same.
    pub(super) fn allow(&mut self, key: &RequestKey, by: Decider, option: Option<OptionShape>) {
        let Some(held) = self.docket.get(key).and_then(|request| request.held.as_deref()) else { return };
        let mut answer = None;
        if held.wanted.by == WantedBy::Permission {
            let Some(once) = self.options_of(held).once else { return self.ask_person(key) };
            answer = Some(author::selected_permission(&held.id, &once));
        }
        self.allowed(key, (by, option), answer);
    }

    /// Records an allow, and looks once more at what it is about before it goes on.
    pub(super) fn allowed(
        &mut self,
        key: &RequestKey,
        (by, option): (Decider, Option<OptionShape>),
        answer: Option<Bytes>,
    ) {
        self.withdraw_question(key);
        self.decided(key, (Outcome::Allow, by, option), None);
        let Some(request) = self.docket.get_mut(key) else { return };
        request.state = State::Allowed;
        if let Some(held) = request.held.as_mut() {
            held.answer = answer;
        }
        let request = request.clone();
        self.judge(&request, Wait::Confirming(key.clone()));
    }

    /// It may not.
    pub(super) fn deny(&mut self, key: &RequestKey, by: Decider, reason: &str) {
        self.decided(key, (Outcome::Deny, by, None), Some(reason));
        let Some(mut request) = self.docket.close(key) else { return };
        let Some(held) = request.held.take() else { return };
        self.no_longer_asked((&request.recorder, key), &held);
        self.say_no((key, &request), &held, reason);
    }

    /// Answers the agent that it may not: by its own "reject once" where it offers that, else by an error.
    pub(super) fn say_no(&mut self, (key, request): (&RequestKey, &Request), held: &Parcel, reason: &str) {
        match self.options_of(held).reject.filter(|_| held.wanted.by == WantedBy::Permission) {
            Some(option) => {
                let outcome = json!({ "outcome": "selected", "optionId": option });
                let meta = json!({ "hunkgate": { "request": key.as_str(), "reason": reason } });
                self.docket.answered(&held.id);
                self.answered_permission(&request.session, &held.id);
                let answer = author::response(&held.id, &json!({ "outcome": outcome, "_meta": meta }));
                self.send(Leg::Agent, answer);
            }
            None => self.refuse_request(&held.id, Some(key), reason),
        }
        self.call_refused(request);
    }

    fn call_refused(&mut self, request: &Request) {
        if let (Some(call), Some(recorder)) = (&request.call, self.recorder_of(&request.session)) {
            self.refused(&recorder, call);
        }
    }

    fn decided(
        &mut self,
        key: &RequestKey,
        (outcome, by, option): (Outcome, Decider, Option<OptionShape>),
        reason: Option<&str>,
    ) {
        let waited_ms = self.waited(key);
        let Some(request) = self.docket.get(key) else { return };
        let decided = Approval::Decided {
            request: key.clone(),
            rev: request.rev,
            outcome,
            by,
            option,
            reason: reason.map(|reason| self.setup.redactor.redact(reason)),
            waited_ms,
            binding: request.binding.clone(),
        };
        let recorder = request.recorder.clone();
        self.decision(&recorder, decided);
    }

    /// An allowed request was looked at once more: it goes on if it still stands on the same ground.
    pub(super) fn confirmed(&mut self, key: &RequestKey, finding: Result<Box<Finding>, String>) {
        let Some(request) = self.docket.get_mut(key).filter(|request| request.state == State::Allowed) else {
            return;
        };
        let Some(held) = request.held.take() else { return };
        let before = held.finding.as_ref().map(|finding| finding.stands.clone()).unwrap_or_default();
        let found = match &finding {
            Ok(finding) if finding.verdict.decision == Decision::Deny => vec![said(&finding.verdict)],
            Ok(finding) => finding.stands.clone(),
            Err(reason) => vec![reason.clone()],
        };
        if found != before {
            let text = |stands: &[String]| self.setup.redactor.digest(stands.join("\n").as_bytes());
            let grounds = (text(&before), text(&found));
            return self.void(key, &held.id, grounds);
        }
        request.stood = before;
        request.said = Some(Box::new(held.wanted.clone()));
        let (session, call) = (request.session.clone(), request.call.clone());
        let heard = self.responded(key, Outcome::Allow);
        self.tell_asker(key, heard);
        self.goes_on(key, (session, call), *held);
    }

    /// What was allowed is not what would go on: it is over, and the agent has to ask anew.
    pub(super) fn void(&mut self, key: &RequestKey, id: &IdToken, (expected, found): (String, String)) {
        let Some(request) = self.docket.close(key) else { return };
        self.approval(&request.recorder, Approval::Voided { request: key.clone(), expected, found });
        self.refuse_request(id, Some(key), "changed since approval");
        self.fail_asker(key, "what it is about changed since it was approved");
        self.call_refused(&request);
    }

    /// Spends an allow.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only writes and terminals are looked at before they go on"
    )]
    fn goes_on(
        &mut self,
        key: &RequestKey,
        (session, call): (SessionId, Option<crate::base::CallId>),
        held: Parcel,
    ) {
        if let Some(answer) = held.answer {
            self.docket.answered(&held.id);
            self.answered_permission(&session, &held.id);
            let recorder = self.recorder_of(&session).unwrap_or(session);
            return self.park(
                Leg::Agent,
                &recorder,
                answer,
                Held::Allow { call, request: Some(key.clone()) },
            );
        }
        match held.fact {
            Fact::FsWrite { session, path, content } => {
                self.fs_write(session, Some(held.id), (path, content), held.line);
            }
            Fact::TerminalCreate { session, .. } => self.terminal_create(session, Some(held.id), held.line),
            _ => {
                self.request_used(key);
                let method = held.wanted.by.method();
                self.remember(Leg::Agent, Some(held.id), method, (Some(session), About::Nothing));
                self.send(Leg::Editor, held.line);
            }
        }
    }

    // ── what ends a request ──

    /// Answers the agent that it may not.
    pub(super) fn refuse_request(&mut self, id: &IdToken, key: Option<&RequestKey>, reason: &str) {
        self.docket.answered(id);
        let reason = self.setup.redactor.redact(reason);
        let data = json!({ "request": key.map(RequestKey::as_str), "reason": reason.as_str() });
        let message = format!("not allowed: {reason}");
        self.send(Leg::Agent, author::error_answer(id, REFUSED, &message, &data));
    }

    pub(super) fn answered_permission(&mut self, session: &SessionId, id: &IdToken) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.turns.answered(id);
        }
    }

    /// The turn of a session was cancelled: nothing of it is allowed any more, and what the agent waits for is answered.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else that is parked was allowed here")]
    pub(super) fn cancel_undecided(&mut self, id: &SessionId, reason: &str) {
        if !self.enforces() {
            return;
        }
        let household = self.household(id);
        self.end_early(|early| household.contains(&early.session), author::cancelled_permission);
        for hold in household.iter().flat_map(|id| self.holds.of_session(Leg::Agent, id)).collect::<Vec<_>>()
        {
            let Some(parked) = self.holds.take(hold) else { continue };
            match parked.what {
                Held::Allow { request: Some(request), .. } => {
                    let answered = match wire::head(&parked.line) {
                        Head::Response { id, .. } => Some(author::cancelled_permission(&id.to_id())),
                        Head::Request { .. } | Head::Notification { .. } | Head::Unreadable => None,
                    };
                    self.request_cancelled(&request, reason);
                    if let Some(answer) = answered {
                        self.send(Leg::Agent, answer);
                    }
                }
                _ => self.holds.park(hold, parked),
            }
        }
        for hold in household.iter().flat_map(|id| self.holds.of_session(Leg::Editor, id)).collect::<Vec<_>>()
        {
            self.cancel_parked(hold, reason);
        }
        let mine =
            self.docket.which(|request| household.contains(&request.session) && request.held.is_some());
        for key in mine {
            self.cancel_held(&key, reason);
        }
    }

    /// Cancels an allowed write or terminal that still waits for a look. Says whether it was one.
    fn cancel_parked(&mut self, hold: crate::base::AskId, reason: &str) -> bool {
        let id = match self.holds.get_mut(hold).map(|parked| &parked.what) {
            Some(Held::FsWrite { request, .. } | Held::Terminal { request }) => request.clone(),
            _ => return false,
        };
        self.holds.take(hold);
        if let Some(key) = self.docket.answered(&id) {
            self.request_cancelled(&key, reason);
        }
        self.send(Leg::Agent, cancelled(&id));
        true
    }

    /// Cancels an allow that still waits for a look, and answers the request. Says whether there was one.
    fn cancel_allow(&mut self, id: &IdToken, reason: &str) -> bool {
        let Some((hold, key)) = self.holds.allowing(id) else { return false };
        self.holds.take(hold);
        self.request_cancelled(&key, reason);
        self.send(Leg::Agent, cancelled(id));
        true
    }

    /// Cancels a request that has not gone on, and answers it.
    pub(super) fn cancel_held(&mut self, key: &RequestKey, reason: &str) {
        let Some(request) = self.docket.get_mut(key) else { return };
        let (session, recorder) = (request.session.clone(), request.recorder.clone());
        let Some(held) = request.held.take() else { return };
        self.request_cancelled(key, reason);
        match reason {
            "session_cancel" | "editor_closed" | "withdrawn" => self.ends_question((&recorder, key), &held),
            _ => self.no_longer_asked((&recorder, key), &held),
        }
        self.fail_asker(key, reason);
        self.docket.answered(&held.id);
        self.answered_permission(&session, &held.id);
        if reason == "agent_exit" {
            return;
        }
        let of_turn = !matches!(reason, "withdrawn" | "superseded" | "ambiguous");
        let answer = if held.wanted.by == WantedBy::Permission && of_turn {
            author::cancelled_permission(&held.id)
        } else {
            cancelled(&held.id)
        };
        self.send(Leg::Agent, answer);
    }

    /// Takes the question about a request back from the editor. Its answer, should one come, is late.
    pub(super) fn no_longer_asked(&mut self, (recorder, key): (&SessionId, &RequestKey), held: &Parcel) {
        self.ends_question((recorder, key), held);
        if held.question == Question::Forwarded {
            self.send(Leg::Editor, author::cancel_request(&held.id));
        }
    }

    /// Takes a question back that stands while something else decides.
    fn withdraw_question(&mut self, key: &RequestKey) {
        let Some(request) = self.docket.get_mut(key) else { return };
        let (recorder, session) = (request.recorder.clone(), request.session.clone());
        let Some(held) = request.held.as_mut().filter(|held| held.question != Question::None) else { return };
        let asked = held.clone();
        held.question = Question::None;
        self.no_longer_asked((&recorder, key), &asked);
        self.answered_permission(&session, &asked.id);
    }

    /// The same, where the editor knows already that the agent's own request is over.
    fn ends_question(&mut self, (recorder, key): (&SessionId, &RequestKey), held: &Parcel) {
        match &held.question {
            Question::None | Question::Deferred => {}
            Question::Forwarded => {
                self.pending.end(Leg::Agent, &held.id);
                self.docket.note_taken_back(&held.id, recorder, key);
            }
            Question::Ours(ours) => {
                self.pending.withdraw(Leg::Editor, ours);
                self.docket.note_taken_back(ours, recorder, key);
                self.send(Leg::Editor, author::cancel_request(ours));
            }
        }
    }

    /// The agent takes a request back that has not gone on. Says whether the notification ends here.
    pub(super) fn taken_back(&mut self, id: &IdToken, line: &Bytes) -> bool {
        if self.end_early(|early| early.id == *id, cancelled) || self.cancel_allow(id, "withdrawn") {
            return true;
        }
        if let Some(hold) = self.holds.of_request(Leg::Editor, id)
            && self.cancel_parked(hold, "withdrawn")
        {
            return true;
        }
        let Some(key) = self.docket.of_id(id).cloned() else { return false };
        let Some(held) = self.docket.get(&key).and_then(|request| request.held.as_ref()) else {
            return false;
        };
        if held.question == Question::Forwarded {
            self.send(Leg::Editor, line.clone());
        }
        self.cancel_held(&key, "withdrawn");
        true
    }

    /// An answer came to a question that is over: it changes nothing, and is recorded.
    pub(super) fn late_answer(&mut self, from: Leg, id: &IdToken, line: &Bytes) {
        if from != Leg::Editor || !self.enforces() {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let cut: String = text.trim_end().chars().take(200).collect();
        let sessions: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        let known = self.docket.was_taken_back(id).map(|(session, key)| (session.clone(), key.clone()));
        if known.is_some() && is_cancellation(line) {
            return;
        }
        let (recorder, request) = match (known, sessions.as_slice()) {
            (Some((session, key)), _) => (session, key.to_string()),
            (None, [only]) => (only.clone(), id.as_str().to_owned()),
            (None, _) => return,
        };
        let rejected = Approval::AnswerRejected {
            request,
            why: "late".to_owned(),
            answer: self.setup.redactor.redact(&cut),
            channel: Some(Channel::Editor),
            quoted: None,
            current: None,
        };
        self.approval(&recorder, rejected);
    }

    /// Gives up every request that has not gone on: each is refused.
    pub(super) fn unjudged(&mut self) -> Vec<(Leg, Bytes)> {
        let keys = self.docket.which(|request| request.held.is_some());
        let held = keys.iter().filter_map(|key| self.docket.close(key)?.held);
        let held: Vec<IdToken> = held.map(|held| held.id).collect();
        let early = std::mem::take(&mut self.docket.early).into_iter().map(|early| early.id);
        let all = held.into_iter().chain(early);
        all.map(|id| (Leg::Agent, refusal(&id, "an internal error"))).collect()
    }

    /// A decision could not be written: it is not made.
    pub(super) fn decision_unwritten(&mut self, approval: &Approval) {
        let deny = self.setup.config.on_record_failure == OnRecordFailure::Deny;
        let Approval::Decided { request, outcome: Outcome::Allow, .. } = approval else { return };
        if !self.enforces() || !deny {
            return;
        }
        let Some(known) = self.docket.get_mut(request).filter(|known| known.state == State::Allowed) else {
            return;
        };
        if let Some(held) = known.held.take() {
            let waited_ms = self.waited(request);
            let closed = self.docket.close(request);
            if let Some(closed) = &closed {
                self.no_longer_asked((&closed.recorder, request), &held);
                // The decision may still come into the journal, late: this does, too.
                let (request, reason) = (request.clone(), "unrecorded".to_owned());
                self.approval(&closed.recorder, Approval::Cancelled { request, reason, waited_ms });
            }
            self.fail_asker(request, "the decision could not be recorded");
            self.refuse_request(&held.id, Some(request), "the decision could not be recorded");
            if let Some(closed) = closed {
                self.call_refused(&closed);
            }
        }
    }
}

/// Says whether each answer that is offered has an id of its own, and none of ours.
fn answers_are_apart(wanted: &Wanted) -> bool {
    let mut ids: Vec<&str> = wanted.options.iter().map(|option| option.id.as_str()).collect();
    ids.sort_unstable();
    ids.windows(2).all(|pair| pair[0] != pair[1]) && !ids.iter().any(|id| id.starts_with("hunkgate"))
}

/// Says whether of every file that a request names it tells the whole text, by what stands there now; some tell a fragment
/// beside it.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else tells a whole text")]
fn tells_whole_files(wanted: &Wanted, finding: &Finding) -> bool {
    let stands = |text: &str| finding.stands.iter().any(|found| found.ends_with(text));
    let whole = |claim: &CallClaim| match &claim.says {
        Said::Whole { .. } => true,
        Said::Diff { old: None, .. } => stands(" absent"),
        Said::Diff { old: Some(old), .. } => stands(&Digest::of(&[old.as_bytes()]).to_string()),
        _ => false,
    };
    let told = |claim: &CallClaim| wanted.claims.iter().any(|other| other.path == claim.path && whole(other));
    wanted.claims.iter().all(told)
}

/// Says whether a line answers that its request was cancelled, as who took it back expects.
fn is_cancellation(line: &Bytes) -> bool {
    let Head::Response { outcome: wire::Outcome::Err(error), .. } = wire::head(line) else { return false };
    error.member("code").is_some_and(|code| code.get() == "-32800")
}

/// Returns the answer that a request was cancelled.
pub(super) fn cancelled(id: &IdToken) -> Bytes {
    author::error_answer(id, CANCELLED, "cancelled", &serde_json::Value::Null)
}

/// Returns the answer that a request may not go on.
pub(super) fn refusal(id: &IdToken, reason: &str) -> Bytes {
    author::error_answer(id, REFUSED, &format!("not allowed: {reason}"), &serde_json::Value::Null)
}

/// Returns what the agent is answered in the place of an allow that does not go out.
pub(super) fn withheld(line: &Bytes) -> Option<(Leg, Bytes)> {
    let Head::Response { id, .. } = wire::head(line) else { return None };
    Some((Leg::Agent, refusal(&id.to_id(), "an internal error")))
}

/// Returns who decided, when the rules did.
fn decider(verdict: &Verdict) -> Decider {
    let Some(first) = verdict.reasons.first() else { return Decider::System };
    match first.layer {
        Layer::Floor => Decider::Floor,
        Layer::Rule => Decider::Rule { id: first.rule.clone().unwrap_or_default() },
        Layer::Mode => Decider::Mode,
        Layer::Classifier => Decider::Classifier,
        Layer::Default => Decider::System,
    }
}

fn said(verdict: &Verdict) -> String {
    verdict.reasons.first().map(|reason| reason.says.clone()).unwrap_or_default()
}

/// Says whether a rule or a floor wants a person.
pub(super) fn wants_person(verdict: &Verdict) -> bool {
    verdict
        .reasons
        .iter()
        .any(|reason| reason.wants == Decision::Ask && matches!(reason.layer, Layer::Rule | Layer::Floor))
}
