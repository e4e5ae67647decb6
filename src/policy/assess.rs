//! The protocol that programs outside are asked with: one line in, one line out, and nothing that is not in it.
//!
//! ```text
//!   stdin   {v, id, rev, scope, mode, cwd, roots, agent, tool_kind, evidence, effects, class, risk, prior}
//!   stdout  {v, id, assessment: {assessor?, outcome, reason, risk?, confidence?, model?}}   at most 32 of them
//!           {v, id, outcome, reason, risk?, confidence?, model?}                            the reply; nothing after it
//! ```
//!
//! What is judged is written by an agent that may want to be allowed: it stands as data in fields, and no answer
//! can say more than the configuration lets it.

use super::verdict::{Risk, Verdict};
use crate::base::Share;
use crate::config::{Assessor, Decision, RiskCap};
use crate::ledger::{EffectShape, Evidence, ModelShape, Redactor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The version of the protocol.
const VERSION: u32 = 1;
/// Assessments that may come before the reply.
pub const MOST_OPINIONS: usize = 32;
/// Bytes of a line.
pub const LONGEST_LINE: usize = 64 * 1024;

/// What a program outside is sent to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The request.
    pub request: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take, in seconds.
    pub timeout_s: u64,
    /// The SHA-256 that the program has to have.
    pub sha256: Option<String>,
    /// The line that it is asked with.
    pub line: String,
}

/// What a program outside thinks of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Who thinks so, where a program speaks for several.
    pub who: Option<String>,
    /// What.
    pub outcome: Opines,
    /// Why, for people. Not redacted.
    pub reason: String,
    /// What becomes of it when it was wrong.
    pub risk: Option<Risk>,
    /// How sure it is.
    pub confidence: Option<Share>,
    /// The model, as it says.
    pub model: Option<ModelShape>,
}

/// What can be thought of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Opines {
    /// It may.
    Allow,
    /// It may not.
    Deny,
    /// Somebody else should look.
    Escalate,
    /// Nothing.
    Abstain,
}

/// A line of a program outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// One assessment on the way.
    Meanwhile(Opinion),
    /// The last word.
    Finally(Opinion),
}

/// What a program outside has said so far.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    id: String,
    opinions: usize,
    over: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    v: u32,
    id: String,
    outcome: Opines,
    reason: String,
    #[serde(default)]
    risk: Option<Risk>,
    #[serde(default)]
    confidence: Option<Share>,
    #[serde(default)]
    model: Option<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meanwhile {
    v: u32,
    id: String,
    assessment: Inner,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    #[serde(default)]
    assessor: Option<String>,
    outcome: Opines,
    reason: String,
    #[serde(default)]
    risk: Option<Risk>,
    #[serde(default)]
    confidence: Option<Share>,
    #[serde(default)]
    model: Option<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    name: String,
    #[serde(default)]
    version: Option<String>,
}

impl Hearing {
    /// Listens to the program that is asked about this request.
    pub fn of(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Reads a line. Whatever is not of the protocol makes everything worthless, and says why.
    pub fn hear(&mut self, line: &[u8]) -> Result<Told, String> {
        if self.over {
            return Err("it said something after its reply".to_owned());
        }
        if line.len() > LONGEST_LINE {
            return Err("it wrote a line of more than 64 KiB".to_owned());
        }
        let value: Value =
            serde_json::from_slice(line).map_err(|_| "it wrote a line that is no JSON".to_owned())?;
        let wrong = |error: serde_json::Error| format!("it wrote a line that cannot be read: {error}");
        if value.get("assessment").is_some() {
            // From the text: a value has lost the members that stand there twice.
            let told: Meanwhile = serde_json::from_slice(line).map_err(wrong)?;
            self.check(told.v, &told.id)?;
            self.opinions += 1;
            if self.opinions > MOST_OPINIONS {
                return Err(format!("it made more than {MOST_OPINIONS} assessments"));
            }
            let inner = told.assessment;
            return Ok(Told::Meanwhile(Opinion {
                who: inner.assessor,
                outcome: inner.outcome,
                reason: inner.reason,
                risk: inner.risk,
                confidence: inner.confidence,
                model: inner.model.map(model),
            }));
        }
        let told: Reply = serde_json::from_slice(line).map_err(wrong)?;
        self.check(told.v, &told.id)?;
        self.over = true;
        Ok(Told::Finally(Opinion {
            who: None,
            outcome: told.outcome,
            reason: told.reason,
            risk: told.risk,
            confidence: told.confidence,
            model: told.model.map(model),
        }))
    }

    fn check(&self, version: u32, id: &str) -> Result<(), String> {
        if version != VERSION {
            return Err(format!("it speaks version {version}"));
        }
        if id != self.id { Err("it answers another request".to_owned()) } else { Ok(()) }
    }
}

fn model(said: Model) -> ModelShape {
    ModelShape { name: said.name, version: said.version, source: "self".to_owned() }
}

/// What a program outside may bring about with an opinion, as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effective {
    /// The request is allowed.
    Allows,
    /// It is denied.
    Denies,
    /// Nothing; why not, where it wanted something.
    Nothing(Option<String>),
}

/// Says what an opinion brings about: a program never does more than it may, and never allows what only a title tells.
pub fn effective(
    assessor: &Assessor,
    opinion: &Opinion,
    (verdict, evidence): (&Verdict, Evidence),
) -> Effective {
    let may = |what: Decision| assessor.may.contains(&what);
    match opinion.outcome {
        Opines::Abstain | Opines::Escalate => Effective::Nothing(None),
        Opines::Deny if may(Decision::Deny) => Effective::Denies,
        Opines::Deny => Effective::Nothing(Some("it may not deny".to_owned())),
        Opines::Allow if !may(Decision::Allow) => Effective::Nothing(Some("it may not allow".to_owned())),
        Opines::Allow if evidence == Evidence::Display => {
            Effective::Nothing(Some("only a title says what it does".to_owned()))
        }
        Opines::Allow => {
            let risk = opinion.risk.unwrap_or(verdict.risk).max(verdict.risk);
            let (Some(most), Some(least)) = (assessor.max_risk, assessor.min_confidence) else {
                return Effective::Nothing(Some("it may not allow".to_owned()));
            };
            if capped(risk) > most {
                return Effective::Nothing(Some("the risk is more than it may allow".to_owned()));
            }
            match opinion.confidence {
                Some(sure) if sure >= least => Effective::Allows,
                Some(sure) => {
                    Effective::Nothing(Some(format!("its confidence is {sure}, {least} is needed")))
                }
                None => Effective::Nothing(Some("it does not say how sure it is".to_owned())),
            }
        }
    }
}

fn capped(risk: Risk) -> RiskCap {
    match risk {
        Risk::Reversible => RiskCap::Reversible,
        Risk::Recoverable => RiskCap::Recoverable,
        Risk::Irreversible => RiskCap::Irreversible,
    }
}

/// Everything that a program outside is told of a request.
#[derive(Clone, Debug)]
pub struct Brief<'b> {
    /// The request.
    pub id: &'b str,
    /// Its revision.
    pub rev: u32,
    /// Proxy, session and actor.
    pub scope: (&'b str, &'b str, Option<&'b str>),
    /// `plan`, `normal` or `auto`.
    pub mode: &'b str,
    /// The working directory.
    pub cwd: &'b str,
    /// The roots, absolute.
    pub roots: &'b [String],
    /// The person's home.
    pub home: Option<&'b str>,
    /// The agent.
    pub agent: &'b str,
    /// ACP's word for the tool.
    pub tool_kind: Option<&'b str>,
    /// How well it is known what is wanted.
    pub evidence: Evidence,
    /// What is wanted, redacted.
    pub effects: &'b [EffectShape],
    /// What the rules say.
    pub verdict: &'b Verdict,
    /// What others said before.
    pub prior: &'b [Value],
}

impl Brief<'_> {
    /// Writes the line that a program outside is asked with: without secrets, and without the machine's paths.
    pub fn line(&self, redactor: &Redactor) -> String {
        let mut names: Vec<(&str, String)> = Vec::new();
        for (at, root) in self.roots.iter().enumerate() {
            let name = if at == 0 { "$ROOT".to_owned() } else { format!("$ROOT{}", at + 1) };
            names.push((root, name));
        }
        names.extend(self.home.map(|home| (home, "$HOME".to_owned())));
        // The longest first: a home may hold a root, and a root another one.
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let (proxy, session, subagent) = self.scope;
        let shape = self.verdict.shape(redactor);
        let roots: Vec<Value> =
            self.roots.iter().map(|root| json!({ "path": root, "class": "root" })).collect();
        let mut value = json!({
            "v": VERSION, "id": self.id, "rev": self.rev,
            "scope": { "proxy": proxy, "session": session, "actor": subagent.map_or("agent", |_| "subagent"), "subagent": subagent },
            "mode": self.mode, "cwd": self.cwd, "roots": roots, "agent": self.agent, "tool_kind": self.tool_kind,
            "evidence": self.evidence, "effects": self.effects, "class": shape.class, "risk": shape.risk, "prior": self.prior,
        });
        veil(&mut value, &names);
        value.to_string()
    }
}

/// Replaces directories of this machine by names in every text.
fn veil(value: &mut Value, names: &[(&str, String)]) {
    match value {
        Value::String(text) => {
            for (path, name) in names {
                *text = without(text, path.trim_end_matches('/'), name);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| veil(item, names)),
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| veil(member, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces a directory where it stands for itself and not for the beginning of another name.
fn without(text: &str, path: &str, name: &str) -> String {
    if path.is_empty() || !text.contains(path) {
        return text.to_owned();
    }
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        out.push_str(before);
        let inside = out.chars().next_back().is_some_and(|c| word(c) || c == '/');
        let longer = after.chars().next().is_some_and(word);
        out.push_str(if inside || longer { path } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(line: &str) -> Result<Told, String> {
        Hearing::of("r-1").hear(line.as_bytes())
    }

    #[test]
    fn whatever_is_not_of_the_protocol_is_worthless() {
        let good = r#"{"v":1,"id":"r-1","outcome":"deny","reason":"no"}"#;
        assert!(matches!(heard(good), Ok(Told::Finally(_))));
        for bad in [
            "",
            "yes",
            "[]",
            r#"{"v":2,"id":"r-1","outcome":"deny","reason":"no"}"#,
            r#"{"v":1,"id":"r-2","outcome":"deny","reason":"no"}"#,
            r#"{"v":1,"id":"r-1","outcome":"perhaps","reason":"no"}"#,
            r#"{"v":1,"id":"r-1","outcome":"deny"}"#,
            r#"{"v":1,"id":"r-1","outcome":"deny","reason":"no","more":1}"#,
            r#"{"v":1,"id":"r-1","outcome":"deny","outcome":"allow","reason":"no"}"#,
            r#"{"v":1,"id":"r-1","outcome":"allow","reason":"no","confidence":7}"#,
            r#"{"v":1,"id":"r-1","outcome":"deny","reason":"no","assessment":{"outcome":"deny","reason":"no"}}"#,
        ] {
            assert!(heard(bad).is_err(), "{bad}");
        }
        let long =
            format!(r#"{{"v":1,"id":"r-1","outcome":"deny","reason":"{}"}}"#, "x".repeat(LONGEST_LINE));
        assert!(heard(&long).is_err());
    }

    #[test]
    fn nothing_may_follow_the_reply_and_32_assessments_may_go_before_it() {
        let mut hearing = Hearing::of("r-1");
        let meanwhile =
            br#"{"v":1,"id":"r-1","assessment":{"assessor":"router","outcome":"escalate","reason":"-"}}"#;
        for _ in 0..MOST_OPINIONS {
            assert!(matches!(hearing.hear(meanwhile), Ok(Told::Meanwhile(_))));
        }
        assert!(hearing.clone().hear(meanwhile).is_err());
        let reply = br#"{"v":1,"id":"r-1","outcome":"abstain","reason":"-"}"#;
        assert!(hearing.hear(reply).is_ok());
        assert!(hearing.hear(reply).is_err());
    }

    #[test]
    fn a_directory_of_this_machine_is_replaced_where_it_stands_for_itself() {
        let shown = |text: &str| without(text, "/w/a", "$ROOT");
        assert_eq!(shown("cat /w/a/x '/w/a' /w/ab /v/w/a/x"), "cat $ROOT/x '$ROOT' /w/ab /v/w/a/x");
        assert_eq!(without("x", "", "$ROOT"), "x");
    }
}
