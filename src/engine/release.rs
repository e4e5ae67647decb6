//! What waits before the gate is listed with what else waits for a person, and a person can let it go, or refuse it, without a
//! review: the changes stay unreviewed. A root that cannot be trusted is released by `rebase` only.

use crate::acp::{WantedBy, author};
use crate::base::{AskId, RequestKey, SessionId};
use crate::engine::Engine;
use crate::engine::desk::ReplyTo;
use crate::engine::docket::{Parcel, Question};
use crate::engine::enforce::refusal;
use crate::engine::gate::Gated;
use crate::ledger::{Approval, Asking, Channel, Outcome};
use crate::policy::Subject;
use crate::review::{
    Answer, DocketAnswer, PendingRequest, Problem, ProblemKind, RespondedShape, Response, Resume,
};
use serde_json::json;

impl Engine {
    /// Returns what waits before the gate in a session, the oldest first.
    pub(super) fn pending_gates(&self, session: &SessionId) -> Vec<PendingRequest> {
        let shown = if self.is_gate_asking(session) { "editor" } else { "nowhere" };
        let gates = self.gates.iter().filter(|gated| gated.keeper == *session && gated.shown.is_some());
        let item = |gated: &Gated| {
            let record = self.gate_asking(gated);
            PendingRequest {
                key: record.request.clone(),
                rev: gated.rev,
                kind: "gate".to_owned(),
                created: gated.since,
                summary: record.summary(),
                resume: Resume::Open,
                shown: shown.to_owned(),
                session_id: gated.asker.clone(),
                reasons: vec![self.setup.redactor.redact(&gated.because)],
                record,
            }
        };
        gates.map(item).collect()
    }

    fn gate_asking(&self, gated: &Gated) -> Asking {
        let key = RequestKey::new(gated.name.clone());
        let subject = Subject::of(&gated.wanted);
        let cwd = self.cwd_of(&gated.keeper);
        let binding = subject.binding(&self.setup.redactor, (&gated.asker, &cwd));
        let asking = self.asking(&key, (&gated.wanted, &subject), (&gated.asker, &gated.keeper), &binding);
        Asking { rev: gated.rev, covered_by: None, supersedes: None, ..asking }
    }

    /// Returns what waits before the gate of a session under this name or a prefix of it, when there is one.
    pub(super) fn gate_named(&self, session: &SessionId, name: &str) -> Option<AskId> {
        let mine =
            |gated: &Gated| gated.keeper == *session && gated.shown.is_some() && gated.name.starts_with(name);
        match self.gates.of(mine).as_slice() {
            [only] if !name.is_empty() => Some(*only),
            _ => None,
        }
    }

    /// A person answered what waits before the gate.
    pub(super) fn gate_responds(
        &mut self,
        (to, session): (&ReplyTo, &SessionId),
        channel: Channel,
        (gate, response): (AskId, &Response),
    ) {
        let Some(gated) = self.gates.get(gate) else { return };
        let asking = self.gate_asking(gated);
        if let Err((why, problem)) = gate_answerable(gated, &asking.request, response) {
            let rejected = Approval::AnswerRejected {
                request: asking.request.to_string(),
                why: why.to_owned(),
                answer: self.setup.redactor.redact(if response.outcome == Outcome::Allow {
                    "allow"
                } else {
                    "deny"
                }),
                channel: Some(channel),
                quoted: response.rev,
                current: Some(gated.rev),
            };
            self.approval(session, rejected);
            return self.reply(to, session, Answer::Problem(problem));
        }
        let answer = Answer::Docket(DocketAnswer::Responded(RespondedShape {
            session_id: session.clone(),
            key: asking.request.clone(),
            rev: gated.rev,
            outcome: response.outcome,
            summary: asking.summary(),
        }));
        if response.outcome == Outcome::Allow {
            self.gate_lets_by(gate, ("person", Some(channel)));
        } else {
            let reason = response.reason.as_deref().unwrap_or("the person said no");
            self.gate_denies(gate, channel, reason);
        }
        self.reply(to, session, answer);
    }

    /// Answers the agent that it may not, as a denial by the policy does.
    fn gate_denies(&mut self, gate: AskId, channel: Channel, reason: &str) {
        let Some(gated) = self.gate_over(gate, ("denied", Some(channel))) else { return };
        let call = gated.wanted.call.clone();
        let held = Parcel {
            id: gated.id,
            wanted: gated.wanted,
            fact: gated.fact,
            line: gated.line,
            finding: None,
            opinions: Vec::new(),
            again: false,
            question: Question::None,
            answer: None,
        };
        let reason = self.setup.redactor.redact(reason);
        let option = self.options_of(&held).reject.filter(|_| held.wanted.by == WantedBy::Permission);
        let answer = match option {
            Some(option) => {
                let outcome = json!({ "outcome": "selected", "optionId": option });
                let meta = json!({ "hunkgate": { "request": gated.name, "reason": reason.as_str() } });
                author::response(&held.id, &json!({ "outcome": outcome, "_meta": meta }))
            }
            None => refusal(&held.id, reason.as_str()),
        };
        self.send(crate::base::Leg::Agent, answer);
        if let (Some(call), Some(recorder)) = (&call, self.recorder_of(&gated.asker)) {
            self.refused(&recorder, call);
        }
    }
}

fn gate_answerable(
    gated: &Gated,
    key: &RequestKey,
    response: &Response,
) -> Result<(), (&'static str, Problem)> {
    let conflict = |message: String| Problem::new(ProblemKind::Conflict, message);
    if response.rev.is_some_and(|quoted| quoted != gated.rev) {
        let problem = conflict(format!("{key} has changed since: it is at revision {}", gated.rev));
        return Err(("revision", problem.hint("`hunkgate pending` shows it as it is")));
    }
    if response.outcome != Outcome::Allow {
        return Ok(());
    }
    if response.always.is_some() {
        return Err(("always", conflict(format!("{key} can be let go once, and not always"))));
    }
    if gated.damaged {
        let problem = conflict(format!("{key} waits because {}", gated.because));
        return Err(("damaged", problem.hint("`hunkgate rebase` takes the worktree as it stands")));
    }
    if gated.outdated {
        let problem = conflict(format!("{key} was made from lines that are put back since"));
        return Err(("outdated", problem.hint("review the rest, or deny it: the agent has to read again")));
    }
    Ok(())
}
