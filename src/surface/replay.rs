//! `hunkgate policy replay`: what rules would have said of everything that was recorded, beside what became of it.

use super::port::{Cursor, LogLine, Port};
use crate::base::{RequestKey, SessionId, SessionKey, WallNs};
use crate::config::Decision;
use crate::ledger::{Approval, Asking, Decider, EffectShape, Event, Log, Outcome, Redacted};
use crate::policy::{Effect, Form, Subject, Verdict};
use crate::review::Problem;
use serde::Serialize;
use std::collections::BTreeMap;

/// What rules would have said of the recorded past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::surface) struct ReplayShape {
    /// How many requests and announced commands were judged anew.
    pub judged: usize,
    /// How many of each kind.
    pub counts: BTreeMap<&'static str, usize>,
    /// Those whose outcome would differ, the oldest first.
    pub items: Vec<ReplayRow>,
}

/// One request whose outcome would differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::surface) struct ReplayRow {
    /// The session, as its peer calls it.
    pub session_id: SessionId,
    /// The request.
    pub request: RequestKey,
    /// When it came.
    pub at: WallNs,
    /// What it wanted.
    pub wanted: String,
    /// `saved`, `missed`, `refused`, `asked`, `caught`.
    pub kind: &'static str,
    /// Whether somebody was asked.
    pub prompted: bool,
    /// `allow`, `deny`, `unknown`; null where nobody decided.
    pub was: Option<Outcome>,
    /// What the rules say now: `allow`, `ask`, `deny`.
    pub now: &'static str,
    /// Why, the deciding reason.
    pub because: Redacted,
    /// Whether a part of it was replaced when it was recorded: the rules see less than they would have.
    pub approximate: bool,
}

/// Where a recorded request stood.
#[derive(Clone, Debug)]
pub(super) struct Scene<'s> {
    pub(super) cwd: &'s str,
    pub(super) roots: &'s [String],
    pub(super) agent: &'s str,
    pub(super) mode: Option<&'s str>,
}

/// A judge of recorded requests.
pub(super) trait Bench {
    /// Judges a request where it stood.
    fn judge(&self, subject: &Subject, scene: &Scene<'_>) -> Verdict;
    /// Replaces secrets.
    fn redact(&self, text: &str) -> Redacted;
}

/// What a request came to.
struct Past {
    asking: Asking,
    at: WallNs,
    prompted: bool,
    decided: Option<(Outcome, Decider)>,
}

/// Judges everything that the sessions of a port have recorded.
pub(super) fn replay(port: &dyn Port, bench: &dyn Bench) -> Result<ReplayShape, Problem> {
    let mut shape = ReplayShape::default();
    for row in port.sessions()? {
        let lines = port.log(&row.key, &mut Cursor::default())?;
        let (cwd, agent) = opened(&lines, &row.key);
        for past in pasts(&lines, &row.key) {
            let scene = Scene {
                cwd: cwd.as_deref().unwrap_or_default(),
                roots: &row.roots,
                agent: agent.as_deref().unwrap_or_default(),
                mode: past.asking.mode.as_deref(),
            };
            let subject = Subject::new(effects(&past.asking.effects), past.asking.evidence);
            let verdict = bench.judge(&subject, &scene);
            shape.judged += 1;
            let kind = kind(&past, verdict.decision);
            *shape.counts.entry(kind.unwrap_or("same")).or_default() += 1;
            if let Some(kind) = kind {
                shape.items.push(item(&row.session_id, &past, (kind, &verdict), bench));
            }
        }
    }
    shape.items.sort_by_key(|item| item.at);
    Ok(shape)
}

fn item(
    session_id: &SessionId,
    past: &Past,
    (kind, verdict): (&'static str, &Verdict),
    bench: &dyn Bench,
) -> ReplayRow {
    let because = verdict.reasons.first().map(|reason| reason.says.as_str()).unwrap_or_default();
    ReplayRow {
        session_id: session_id.clone(),
        request: past.asking.request.clone(),
        at: past.at,
        wanted: past.asking.summary(),
        kind,
        prompted: past.prompted,
        was: past.decided.as_ref().map(|(outcome, _)| *outcome),
        now: verdict.decision.as_str(),
        because: bench.redact(because),
        approximate: is_redacted(&past.asking),
    }
}

/// Says in which way the rules would have changed an outcome.
fn kind(past: &Past, now: Decision) -> Option<&'static str> {
    let decided = past.decided.as_ref().map(|(outcome, _)| *outcome);
    match (past.prompted, decided, now) {
        (_, Some(Outcome::Deny), Decision::Allow) => Some("missed"),
        (true, Some(Outcome::Allow), Decision::Deny) => Some("refused"),
        (true, _, Decision::Allow | Decision::Deny) => Some("saved"),
        (false, Some(Outcome::Allow) | None, Decision::Deny) => Some("caught"),
        (false, Some(Outcome::Allow | Outcome::Deny) | None, Decision::Ask) => Some("asked"),
        (true, _, Decision::Ask) | (false, _, _) => None,
    }
}

/// Follows each request from question to decision.
fn pasts(lines: &[LogLine], key: &SessionKey) -> Vec<Past> {
    let mut pasts: Vec<Past> = Vec::new();
    let mut places: BTreeMap<RequestKey, usize> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.log == Log::Session(key.clone())) {
        let Ok(record) = &line.record else { continue };
        let Event::Approval(approval) = &record.event else { continue };
        if let Approval::Requested(asking) | Approval::Observed(asking) = approval {
            // A follow-up that a permission covers was never a question of its own.
            if asking.covered_by.is_none() {
                places.insert(asking.request.clone(), pasts.len());
                pasts.push(Past { asking: asking.clone(), at: record.at, prompted: false, decided: None });
            }
            continue;
        }
        let place = approval.request().and_then(|request| places.get(request));
        let Some(past) = place.and_then(|place| pasts.get_mut(*place)) else { continue };
        if let Approval::Prompted { .. } = approval {
            past.prompted = true;
        } else if let Approval::Decided { outcome, by, .. } = approval {
            past.decided = Some((*outcome, by.clone()));
        }
    }
    pasts
}

fn opened(lines: &[LogLine], key: &SessionKey) -> (Option<String>, Option<String>) {
    let mine = lines.iter().filter(|line| line.log == Log::Session(key.clone()));
    let header = mine.filter_map(|line| line.record.as_ref().ok()).find_map(|record| {
        if let Event::SessionOpened(header) = &record.event { Some(header) } else { None }
    });
    header.map(|header| (header.cwd.clone(), header.agent.as_str().to_owned())).unzip()
}

fn effects(shapes: &[EffectShape]) -> Vec<Effect> {
    let text = |redacted: &Redacted| redacted.as_str().to_owned();
    let effect = |shape: &EffectShape| match shape {
        EffectShape::Exec { text: Some(command), cwd, env, .. } => Effect::Exec {
            form: Form::Text(text(command)),
            cwd: cwd.as_ref().map(text),
            env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        },
        EffectShape::Exec { text: None, argv, cwd, env } => Effect::Exec {
            form: Form::Argv(argv.iter().map(text).collect()),
            cwd: cwd.as_ref().map(text),
            env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        },
        EffectShape::Write { path, .. } => Effect::Write { path: text(path), new: None },
        EffectShape::Read { path } => Effect::Read { path: text(path) },
        EffectShape::Delete { path } => Effect::Delete { path: text(path) },
        EffectShape::Move { from, to } => Effect::Move { from: text(from), to: text(to) },
        EffectShape::Fetch { url } => Effect::Fetch { url: text(url) },
        EffectShape::Opaque { tool_kind, title } => {
            Effect::Opaque { kind: tool_kind.clone(), title: text(title) }
        }
    };
    shapes.iter().map(effect).collect()
}

/// Says whether a part of a request was replaced before it was stored. Values of variables always are, and count for nothing.
fn is_redacted(asking: &Asking) -> bool {
    let marked = |text: &Redacted| text.as_str().contains('‹');
    asking.effects.iter().any(|shape| match shape {
        EffectShape::Exec { text, argv, cwd, env: _ } => text.iter().chain(argv).chain(cwd).any(marked),
        EffectShape::Write { path, .. } | EffectShape::Read { path } | EffectShape::Delete { path } => {
            marked(path)
        }
        EffectShape::Move { from, to } => marked(from) || marked(to),
        EffectShape::Fetch { url } => marked(url),
        EffectShape::Opaque { title, .. } => marked(title),
    })
}
