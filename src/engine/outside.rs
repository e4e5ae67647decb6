//! Answers to open requests from outside the editor: what waits is listed, and the first answer counts, wherever it comes from.

use crate::acp::{WantedBy, author};
use crate::base::{RequestKey, SessionId};
use crate::engine::Engine;
use crate::engine::desk::ReplyTo;
use crate::engine::docket::{Question, Request, State};
use crate::engine::question::name_of;
use crate::ledger::{Approval, Asking, Channel, Decider, GrantScope, OptionShape, Outcome, StandingState};
use crate::review::{
    Answer, Asked, DocketAnswer, DocketAsk, PendingRequest, PendingShape, Problem, ProblemKind,
    RespondedShape, Response, Resume, StandingAnswer,
};

/// Reasons of one request that are listed.
const REASONS: usize = 4;

impl Engine {
    /// Somebody asked about the docket.
    pub(super) fn docket_asked(&mut self, to: ReplyTo, session: &SessionId, asked: &Asked, ask: &DocketAsk) {
        match ask {
            DocketAsk::Pending => {
                let pending = DocketAnswer::Pending(self.pending_of(session));
                self.reply(&to, session, Answer::Docket(pending));
            }
            DocketAsk::Respond(response) => self.respond(to, session, asked, response),
            DocketAsk::Grants => {
                let grants = DocketAnswer::Grants(self.grants_of(session));
                self.reply(&to, session, Answer::Docket(grants));
            }
            DocketAsk::Reload => self.reload_asked(to, session),
            DocketAsk::Revoke { grant } => self.revoke(&to, session, grant),
        }
    }

    /// Returns the requests of a session that nobody has decided, the oldest first.
    fn pending_of(&self, id: &SessionId) -> PendingShape {
        let Some(ledger) = self.sessions.get(id).and_then(|known| self.ledger.session(&known.key)) else {
            return PendingShape::default();
        };
        let mut open: Vec<_> =
            ledger.standing().open().filter(|row| row.state == StandingState::Open).collect();
        open.sort_by_key(|row| row.at);
        let item = |row: &&crate::ledger::StandingRequest| self.pending_request(id, row.at, &row.asking);
        let mut items: Vec<PendingRequest> = open.iter().map(item).chain(self.pending_gates(id)).collect();
        items.sort_by_key(|item| item.created);
        PendingShape { items, next: None }
    }

    fn pending_request(&self, id: &SessionId, at: crate::base::WallNs, asking: &Asking) -> PendingRequest {
        let request = self.docket.get(&asking.request);
        let held = request.and_then(|request| request.held.as_deref());
        let resume = match (request, held) {
            (_, Some(_)) => Resume::Open,
            (Some(_), None) => Resume::None,
            (None, _) => Resume::AskAgain,
        };
        let shown = match (request, held.map(|held| &held.question)) {
            (_, Some(Question::Forwarded | Question::Ours(_))) | (Some(_), None) => "editor",
            (_, Some(Question::None | Question::Deferred)) | (None, None) => "nowhere",
        };
        let reasons = held.and_then(|held| held.finding.as_ref()).map(|finding| {
            let reasons = finding.verdict.reasons.iter().take(REASONS);
            reasons.map(|reason| self.setup.redactor.redact(&reason.says)).collect()
        });
        PendingRequest {
            key: asking.request.clone(),
            rev: request.map_or(asking.rev, |request| request.rev),
            kind: kind_of(asking).to_owned(),
            created: at,
            summary: asking.summary(),
            resume,
            shown: shown.to_owned(),
            session_id: asking.subagent.clone().unwrap_or_else(|| id.clone()),
            reasons: reasons.unwrap_or_default(),
            record: asking.clone(),
        }
    }

    // ── answers ──

    fn respond(&mut self, to: ReplyTo, session: &SessionId, asked: &Asked, response: &Response) {
        let channel = asked.actor.channel;
        if let Some(gate) = self.gate_named(session, &response.request) {
            return self.gate_responds((&to, session), channel, (gate, response));
        }
        match self.answerable(session, response) {
            Err((why, current, problem)) => {
                let rejected = Approval::AnswerRejected {
                    request: response.request.clone(),
                    why: why.to_owned(),
                    answer: self.setup.redactor.redact(word(response.outcome)),
                    channel: Some(channel),
                    quoted: response.rev,
                    current,
                };
                self.approval(session, rejected);
                self.reply(&to, session, Answer::Problem(problem));
            }
            Ok((key, option)) => {
                self.docket.expects(&key, (to, session.clone()));
                let by = Decider::Person { channel };
                match response.outcome {
                    Outcome::Allow => self.allowed_outside(&key, (channel, option), response.always.as_ref()),
                    Outcome::Deny | Outcome::Unknown => {
                        let reason = response.reason.as_deref().unwrap_or("the person said no");
                        let shape = self.responded(&key, Outcome::Deny);
                        self.deny(&key, by, reason);
                        self.tell_asker(&key, shape);
                    }
                }
            }
        }
    }

    /// Finds the request that an answer is about, and the option that allows it. Else why the answer does not count, and
    /// the revision that would have.
    #[expect(clippy::type_complexity, reason = "one answer to one question, taken apart by its only caller")]
    fn answerable(
        &self,
        session: &SessionId,
        response: &Response,
    ) -> Result<(RequestKey, Option<OptionShape>), (&'static str, Option<u32>, Problem)> {
        let wanted = response.request.as_str();
        let mine = |request: &Request| request.recorder == *session && request.state == State::Open;
        let open = self.docket.which(mine);
        let exact = open.iter().find(|key| key.as_str() == wanted);
        let mut found = open.iter().filter(|key| key.as_str().starts_with(wanted));
        let key = match (exact, found.next(), found.next()) {
            (Some(key), ..) | (None, Some(key), None) => key.clone(),
            (None, Some(_), Some(_)) => {
                let problem = Problem::new(ProblemKind::User, format!("{wanted} begins several requests"));
                return Err(("unknown", None, problem.hint("`hunkgate pending` lists them")));
            }
            (None, None, _) => return Err(self.over_or_unknown(session, wanted)),
        };
        let Some(request) = self.docket.get(&key) else {
            return Err(self.over_or_unknown(session, wanted));
        };
        let current = Some(request.rev);
        let conflict = |message: String| Problem::new(ProblemKind::Conflict, message);
        let Some(held) = request.held.as_deref() else {
            let problem = conflict(format!("{key} is only recorded here: the editor has the question"));
            let hint = "with approvals = \"enforce\" it can be answered from outside the editor";
            return Err(("observe", current, problem.hint(hint)));
        };
        if response.rev.is_some_and(|quoted| quoted != request.rev) {
            let problem = conflict(format!("{key} has changed since: it is at revision {}", request.rev));
            return Err(("revision", current, problem.hint("`hunkgate pending` shows it as it is")));
        }
        if response.outcome != Outcome::Allow {
            return Ok((key, None));
        }
        if held.finding.is_none() {
            return Err(("unjudged", current, conflict(format!("{key} is still being judged"))));
        }
        let once = match held.wanted.by {
            WantedBy::Permission => {
                let once = self.options_of(held).once;
                let option = request.options.iter().find(|it| Some(it.id.as_str()) == once.as_deref());
                let Some(option) = option else {
                    let problem = conflict(format!("the answers of {key} are not plainly understood"));
                    return Err(("options", current, problem.hint("answer it in the editor, or deny it")));
                };
                Some(option.clone())
            }
            WantedBy::FsRead | WantedBy::FsWrite | WantedBy::Terminal | WantedBy::Announced => None,
        };
        if let Some(standing) = &response.always {
            let outlives = standing.scope != GrantScope::User || self.standing_of(request).is_some();
            if self.always(request, held).is_none() || !outlives || standing.uses == Some(0) {
                let problem = conflict(format!("{key} can be allowed once, and not always"));
                return Err(("always", current, problem));
            }
        }
        Ok((key, once))
    }

    fn over_or_unknown(&self, session: &SessionId, wanted: &str) -> (&'static str, Option<u32>, Problem) {
        match self.docket.ended(session, wanted) {
            Some((key, how)) => {
                let problem = Problem::new(ProblemKind::Conflict, format!("{key} is over: {how}"));
                ("over", None, problem.hint("`hunkgate log --approvals` tells how it went"))
            }
            None => {
                let problem = Problem::new(ProblemKind::User, format!("no open request is called {wanted}"));
                ("unknown", None, problem.hint("`hunkgate pending` lists what waits"))
            }
        }
    }

    fn allowed_outside(
        &mut self,
        key: &RequestKey,
        (channel, option): (Channel, Option<OptionShape>),
        always: Option<&StandingAnswer>,
    ) {
        let Some(known) = self.docket.get(key).cloned() else { return };
        let name = known.held.as_deref().and_then(|held| self.always(&known, held));
        if let (Some(standing), Some(text)) = (always, name) {
            let name = name_of(&text, standing.scope);
            self.issue((key, &known), channel, (&name, standing));
        }
        let Some(held) = known.held.as_deref() else { return };
        let once = self.options_of(held).once.filter(|_| held.wanted.by == WantedBy::Permission);
        let answer = once.map(|once| author::selected_permission(&held.id, &once));
        self.allowed(key, (Decider::Person { channel }, option), answer);
    }

    /// Returns what whoever answered a request hears when it has gone on.
    pub(super) fn responded(&self, key: &RequestKey, outcome: Outcome) -> Answer {
        let Some(request) = self.docket.get(key) else {
            return Answer::Problem(Problem::new(ProblemKind::Conflict, format!("{key} is over")));
        };
        Answer::Docket(DocketAnswer::Responded(RespondedShape {
            session_id: request.recorder.clone(),
            key: key.clone(),
            rev: request.rev,
            outcome,
            summary: self.summary_of(key, &request.recorder),
        }))
    }

    /// Says in one line what an open request wants, redacted.
    pub(super) fn summary_of(&self, key: &RequestKey, recorder: &SessionId) -> String {
        let known = self.sessions.get(recorder).and_then(|known| self.ledger.session(&known.key));
        let row = known.and_then(|ledger| ledger.standing().request(key));
        row.map(|row| row.asking.summary()).unwrap_or_default()
    }

    /// Tells whoever answered a request from outside what became of it.
    pub(super) fn tell_asker(&mut self, key: &RequestKey, answer: Answer) {
        if let Some((to, session)) = self.docket.asker(key) {
            self.reply(&to, &session, answer);
        }
    }

    /// The same, where nothing came of it.
    pub(super) fn fail_asker(&mut self, key: &RequestKey, why: &str) {
        let problem = Problem::new(ProblemKind::Conflict, format!("{key} did not go on: {why}"));
        self.tell_asker(key, Answer::Problem(problem));
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allow => "allow",
        Outcome::Deny => "deny",
        Outcome::Unknown => "unknown",
    }
}

fn kind_of(asking: &Asking) -> &'static str {
    match asking.method.as_str() {
        "fs/read_text_file" => "read",
        "fs/write_text_file" => "write",
        "terminal/create" => "terminal",
        _ => "permission",
    }
}
