//! Programs outside that are asked about a request which the rules leave to a person: in order, until one settles it.
//!
//! What a floor or a rule wants a person for is never put to them. Each says what it thinks of a request as it stands; when
//! that is over, its program is ended.

use crate::base::{AskId, RequestKey, SessionId, Tick};
use crate::config::{Assessor, Mode};
use crate::engine::approvals::word;
use crate::engine::docket::{Question, Request, State};
use crate::engine::enforce::wants_person;
use crate::engine::{Action, Engine};
use crate::ledger::{Approval, Assessment, Decider, ModelShape};
use crate::policy::{Brief, Effective, Errand, Level as Floor, Opines, Opinion, Verdict, effective};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The programs that are being asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Consults(BTreeMap<AskId, Consult>);

#[derive(Clone, Debug)]
struct Consult {
    request: RequestKey,
    /// Which of the configured programs, as it was configured when it was asked.
    which: usize,
    assessor: Assessor,
    since: Tick,
    /// What was said of the request before.
    prior: Vec<Value>,
}

impl Engine {
    /// The rules leave a request to a person: programs outside are asked first, where there are any.
    pub(super) fn consult(&mut self, key: &RequestKey) {
        let held = self.docket.get(key).and_then(|request| request.held.as_deref());
        if held.is_none_or(|held| held.question != Question::None) {
            // The person is being asked already: new rules left it at that.
            return;
        }
        let verdict = self.docket.get(key).and_then(|request| Some(verdict_of(request)?.clone()));
        let Some(verdict) = verdict else { return };
        if self.docket.asks_for_all || verdict.floor != Floor::None || wants_person(&verdict) {
            return self.ask_person(key);
        }
        let says: Vec<String> = verdict
            .reasons
            .iter()
            .take(8)
            .map(|it| self.setup.redactor.redact(&it.says).to_string())
            .collect();
        let first = json!({ "assessor": "policy", "outcome": "ask", "reason": says.join("; ") });
        self.consult_from(key, 0, vec![first]);
    }

    fn consult_from(&mut self, key: &RequestKey, from: usize, prior: Vec<Value>) {
        let Some(request) = self.docket.get(key).filter(|request| request.state == State::Open) else {
            return;
        };
        let Some(verdict) = verdict_of(request) else { return };
        let mode = self.mode_of(&request.recorder);
        let asked = |assessor: &Assessor| assessor.modes.is_empty() || assessor.modes.contains(&mode);
        let next = self.setup.config.assessors.iter().enumerate().skip(from).find(|(_, it)| asked(it));
        let Some((which, assessor)) = next else { return self.ask_person(key) };
        let errand = Errand {
            request: key.as_str().to_owned(),
            command: assessor.command.clone(),
            timeout_s: assessor.timeout_s,
            sha256: assessor.sha256.clone(),
            line: self.brief(key, (request, verdict), &prior),
        };
        let ask = self.minter.mint_ask();
        let assessor = assessor.clone();
        let consult = Consult { request: key.clone(), which, assessor, since: self.now, prior };
        self.consults.0.insert(ask, consult);
        self.out.push(Action::Assess { ask, errand: Box::new(errand) });
    }

    fn mode_of(&self, session: &SessionId) -> Mode {
        let mode = self.sessions.get(session).and_then(|known| known.mode.as_deref());
        self.setup.config.mode(self.agent_id().as_str(), mode)
    }

    fn brief(&self, key: &RequestKey, (request, verdict): (&Request, &Verdict), prior: &[Value]) -> String {
        let known = self.sessions.get(&request.recorder);
        let roots: Vec<String> = known
            .iter()
            .flat_map(|known| known.roots())
            .map(|root| String::from_utf8_lossy(&root.top).into_owned())
            .collect();
        let subagent = (request.session != request.recorder).then(|| request.session.as_str());
        let agent = self.agent_id();
        let brief = Brief {
            id: key.as_str(),
            rev: request.rev,
            scope: (self.setup.proxy.as_str(), request.recorder.as_str(), subagent),
            mode: self.mode_of(&request.recorder).as_str(),
            cwd: known.map(|known| known.cwd.as_str()).unwrap_or_default(),
            roots: &roots,
            home: self.setup.home.as_deref(),
            agent: agent.as_str(),
            tool_kind: request.held.as_deref().and_then(|held| held.wanted.kind.as_deref()),
            evidence: request.subject.evidence,
            effects: &request.subject.shown(&self.setup.redactor),
            verdict,
            prior,
        };
        brief.line(&self.setup.redactor)
    }

    /// A program said something on the way.
    pub(super) fn opined(&mut self, ask: AskId, opinion: &Opinion) {
        let Some(consult) = self.consults.0.get(&ask).cloned() else { return };
        let id = consult.assessor.id.clone();
        let name = opinion.who.as_ref().map_or_else(|| id.clone(), |who| format!("{id}/{who}"));
        let said = self.opinion_recorded(&consult, &name, (opinion, None));
        if let Some(consult) = self.consults.0.get_mut(&ask) {
            consult.prior.push(said);
        }
    }

    /// A program gave its last word, or failed: then it is as if it had said nothing.
    pub(super) fn assessed_outside(&mut self, ask: AskId, reply: Result<Box<Opinion>, String>) {
        let Some(mut consult) = self.consults.0.remove(&ask) else { return };
        let key = consult.request.clone();
        let assessor = consult.assessor.clone();
        let Some(request) = self.docket.get(&key).filter(|request| request.state == State::Open) else {
            return;
        };
        let Some(verdict) = verdict_of(request).cloned() else { return };
        let evidence = request.subject.evidence;
        let opinion = match reply {
            Ok(opinion) => opinion,
            Err(reason) => {
                self.failed_outside(&consult, &assessor.id, &reason);
                return self.consult_from(&key, consult.which + 1, consult.prior);
            }
        };
        let brings = effective(&assessor, &opinion, (&verdict, evidence));
        let but = if let Effective::Nothing(Some(but)) = &brings { Some(but.as_str()) } else { None };
        let said = self.opinion_recorded(&consult, &assessor.id, (&opinion, but));
        consult.prior.push(said);
        let by = Decider::Assessor { id: assessor.id.clone() };
        match brings {
            Effective::Allows => self.allow(&key, by, None),
            Effective::Denies => {
                let reason = self.setup.redactor.redact(&opinion.reason);
                self.deny(&key, by, reason.as_str());
            }
            Effective::Nothing(_) => self.consult_from(&key, consult.which + 1, consult.prior),
        }
    }

    /// Records an opinion, and returns it as others are told of it.
    fn opinion_recorded(
        &mut self,
        consult: &Consult,
        name: &str,
        (opinion, but): (&Opinion, Option<&str>),
    ) -> Value {
        let redact = |text: &str| self.setup.redactor.redact(text);
        let outcome = match opinion.outcome {
            Opines::Allow => "allow",
            Opines::Deny => "deny",
            Opines::Escalate => "escalate",
            Opines::Abstain => "abstain",
        };
        let name = redact(name).to_string();
        let reasons = std::iter::once(opinion.reason.as_str()).chain(but).map(redact).collect();
        let model = opinion.model.as_ref().map(|model| ModelShape {
            name: redact(&model.name).to_string(),
            version: model.version.as_deref().map(|version| redact(version).to_string()),
            source: model.source.clone(),
        });
        let assessment = Assessment {
            outcome: outcome.to_owned(),
            risk: opinion.risk.map_or_else(|| "unknown".to_owned(), |risk| word(&risk)),
            reasons,
            confidence: opinion.confidence,
            model,
            ..self.blank(consult, &name)
        };
        let said = json!({ "assessor": assessment.assessor, "outcome": outcome, "reason": redact(&opinion.reason),
            "risk": opinion.risk, "confidence": opinion.confidence });
        self.assessment_recorded(consult, assessment);
        said
    }

    fn failed_outside(&mut self, consult: &Consult, name: &str, reason: &str) {
        let reasons = vec![self.setup.redactor.redact(reason)];
        let assessment = Assessment { outcome: "error".to_owned(), reasons, ..self.blank(consult, name) };
        self.assessment_recorded(consult, assessment);
    }

    fn blank(&self, consult: &Consult, name: &str) -> Assessment {
        let took = self.now.mono.saturating_sub(consult.since.mono) / 1_000_000;
        Assessment {
            request: consult.request.clone(),
            assessor: name.to_owned(),
            stage: "external".to_owned(),
            outcome: String::new(),
            class: "unknown".to_owned(),
            risk: "unknown".to_owned(),
            floor: "none".to_owned(),
            rules: Vec::new(),
            reasons: Vec::new(),
            observers: Vec::new(),
            confidence: None,
            model: None,
            latency_ms: Some(took),
        }
    }

    fn assessment_recorded(&mut self, consult: &Consult, assessment: Assessment) {
        let Some(request) = self.docket.get_mut(&consult.request) else { return };
        if let Some(held) = request.held.as_mut() {
            let why = assessment.reasons.first().map(|reason| format!(": {reason}")).unwrap_or_default();
            held.opinions.push(format!("{} says {}{why}", assessment.assessor, assessment.outcome));
        }
        let recorder = request.recorder.clone();
        self.approval(&recorder, Approval::Assessed(assessment));
    }

    /// Returns the requests that programs are being asked about.
    pub(super) fn consulted(&self) -> Vec<RequestKey> {
        self.consults.0.values().map(|consult| consult.request.clone()).collect()
    }

    /// Ends the programs that are asked about a request as it no longer is.
    pub(super) fn dismiss_consults_of(&mut self, key: &RequestKey) {
        let asked: Vec<AskId> = self
            .consults
            .0
            .iter()
            .filter(|(_, consult)| consult.request == *key)
            .map(|(ask, _)| *ask)
            .collect();
        for ask in asked {
            self.consults.0.remove(&ask);
            self.out.push(Action::Dismiss { ask });
        }
    }

    /// Ends the programs whose request is over.
    pub(super) fn dismiss_consults(&mut self) {
        let open = |consult: &Consult| {
            let request = self.docket.get(&consult.request);
            request.is_some_and(|request| request.state == State::Open && request.held.is_some())
        };
        let over: Vec<AskId> =
            self.consults.0.iter().filter(|(_, consult)| !open(consult)).map(|(ask, _)| *ask).collect();
        for ask in over {
            self.consults.0.remove(&ask);
            self.out.push(Action::Dismiss { ask });
        }
    }
}

fn verdict_of(request: &Request) -> Option<&Verdict> {
    Some(&request.held.as_deref()?.finding.as_ref()?.verdict)
}
