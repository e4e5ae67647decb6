//! The pure layers of the chain, combined: floors, rules, mode and classifier. Prohibitions speak first.

use super::classify::{Classified, Kind, Part, classify};
use super::effect::{Effect, Evidence, Form, Subject};
use super::floor::Level;
use super::place::{Class, Context, Located};
use super::rules::{Policy, Rule, Tool};
use crate::config::{Decision, Mode};
use crate::ledger::{Redacted, Redactor};
use serde::{Deserialize, Serialize};

/// How many simple commands a verdict lists.
const LISTED: usize = 256;

/// What the rules say about a request, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// What kind of effect it is.
    pub kind: Kind,
    /// What becomes of it when it was wrong.
    pub risk: Risk,
    /// The strongest floor.
    pub floor: Level,
    /// Why, the deciding reason first. Not redacted.
    pub reasons: Vec<Reason>,
    /// The simple commands, when it is one for a shell. Not redacted.
    pub plan: Vec<String>,
}

/// Why a layer spoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The layer.
    pub layer: Layer,
    /// What it wants.
    pub wants: Decision,
    /// The rule.
    pub rule: Option<String>,
    /// The simple command that it is about, counted in the plan.
    pub part: Option<usize>,
    /// For people.
    pub says: String,
}

/// A layer of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A built-in floor.
    Floor,
    /// A rule.
    Rule,
    /// The mode of the session.
    Mode,
    /// The command classifier, or the table of paths.
    Classifier,
    /// Nothing else spoke.
    Default,
}

/// What becomes of an effect that was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It leaves no trace.
    Reversible,
    /// It can be taken back from the record.
    Recoverable,
    /// It cannot be taken back.
    Irreversible,
}

/// A verdict as it is shown and stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictShape {
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// The kind of effect.
    pub class: Kind,
    /// What becomes of it when it was wrong.
    pub risk: Risk,
    /// `none`, `ask` or `deny`.
    pub floor: Level,
    /// Why, the deciding reason first.
    pub reasons: Vec<ReasonShape>,
    /// The rules that spoke.
    pub rules: Vec<String>,
    /// The simple commands that the text may run.
    pub plan: Vec<Redacted>,
}

/// A reason as it is shown and stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonShape {
    /// The layer.
    pub by: Layer,
    /// `allow`, `ask` or `deny`.
    pub wants: &'static str,
    /// The rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The simple command, counted in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// For people.
    pub says: Redacted,
}

impl Verdict {
    /// Makes an allow a question, for a reason that no rule knows of.
    pub(super) fn asked(mut self, says: &str) -> Self {
        if self.decision == Decision::Allow {
            self.decision = Decision::Ask;
            self.reasons.insert(0, Reason::new(Layer::Default, Decision::Ask, says.to_owned()));
        }
        self
    }
}

/// Judges a request by the pure layers.
pub fn judge(subject: &Subject, policy: &Policy, mode: Mode, context: &Context<'_>) -> Verdict {
    let judge = Judge { policy, mode, context };
    let mut verdicts = subject.effects().iter().map(|effect| judge.effect(effect));
    let first = verdicts.next().unwrap_or_else(|| Verdict::unknown("asks for nothing that can be read"));
    let mut verdict = verdicts.fold(first, Verdict::and);
    if subject.evidence == Evidence::Display && verdict.decision == Decision::Allow {
        verdict.decision = Decision::Ask;
        verdict
            .reasons
            .insert(0, Reason::new(Layer::Default, Decision::Ask, "only a title says what it does"));
    }
    verdict
}

/// Judges a command by the pure layers.
pub fn judge_command(text: &str, policy: &Policy, mode: Mode, context: &Context<'_>) -> Verdict {
    Judge { policy, mode, context }.command(text)
}

struct Judge<'j> {
    policy: &'j Policy,
    mode: Mode,
    context: &'j Context<'j>,
}

impl Judge<'_> {
    fn effect(&self, effect: &Effect) -> Verdict {
        match effect {
            Effect::Exec { form, cwd, env } => {
                let mut context = self.context.clone();
                if let Some(cwd) = cwd {
                    context.cwd.clone_from(&context.locate(&self.context.cwd, cwd).asked);
                }
                let inner = Judge { context: &context, ..*self };
                let verdict = match form {
                    Form::Text(text) => inner.command(text),
                    // Clients differ in whether a shell is involved: the stricter reading holds.
                    Form::Argv(argv) => inner.command(&quoted(argv)).and(inner.command(&argv.join(" "))),
                };
                env.iter().fold(verdict, |verdict, (name, _)| {
                    if super::floor::changes_execution(name) {
                        let says = format!("the variable {name} changes which programs run");
                        verdict.raised(Reason::new(Layer::Floor, Decision::Ask, says), Level::Ask)
                    } else {
                        verdict
                    }
                })
            }
            Effect::Read { path, .. } => self.path(Tool::Read, path),
            Effect::Write { path, .. } => self.path(Tool::Write, path),
            Effect::Delete { path } => self.path(Tool::Delete, path),
            Effect::Move { from, to } => self.path(Tool::Move, from).and(self.path(Tool::Move, to)),
            Effect::Fetch { url } => self.named(Tool::Fetch, url, Kind::Network),
            Effect::Opaque { title, .. } => {
                let mcp = title.starts_with("mcp__");
                self.named(if mcp { Tool::Mcp } else { Tool::Other }, title, Kind::Unknown)
            }
        }
    }

    // ── commands ──

    fn command(&self, text: &str) -> Verdict {
        let classified = classify(text, self.context);
        let mut reasons = Vec::new();
        for met in &classified.floors {
            let wants = if met.floor.level() == Level::Deny { Decision::Deny } else { Decision::Ask };
            let says = if met.about.is_empty() {
                met.floor.says().to_owned()
            } else {
                format!("{}: {}", met.floor.says(), met.about)
            };
            reasons.push(Reason { part: met.part, ..Reason::new(Layer::Floor, wants, says) });
        }
        for decision in [Decision::Deny, Decision::Ask] {
            reasons.extend(self.forbidding(decision, text, &classified));
        }
        let only_reads = classified.only_reads();
        if self.mode == Mode::Plan && !only_reads {
            reasons.push(Reason::new(Layer::Mode, Decision::Deny, "plan mode only reads"));
        }
        let permission = self.permission(&classified);
        let allowed = permission.is_ok();
        reasons.extend(permission.unwrap_or_else(|why| why));
        let decision = decided(&reasons, allowed);
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.wants == decision));
        Verdict {
            decision,
            kind: classified.kind(),
            risk: risk(&classified, only_reads),
            floor: classified.level(),
            reasons,
            plan: classified.plan().simple.iter().take(LISTED).map(shown).collect(),
        }
    }

    /// Returns what rules that ask or deny say of anything that the text may reach.
    fn forbidding(&self, decision: Decision, text: &str, classified: &Classified) -> Vec<Reason> {
        let rules = self.policy.on(decision, Tool::Shell, self.mode).filter(|rule| !rule.is_about_paths());
        let commands = rules.filter_map(|rule| Some((rule, rule.matches_any(classified, text)?)));
        let mut reasons: Vec<Reason> =
            commands.map(|(rule, part)| Reason::rule(rule, Some(part), "matches")).collect();
        let about =
            |tool: Tool| self.policy.on(decision, tool, self.mode).filter(|rule| rule.is_about_paths());
        let mut rules: Vec<&Rule> = about(Tool::Shell).chain(about(Tool::Read)).collect();
        if !classified.only_reads() {
            rules.extend(about(Tool::Write).chain(about(Tool::Delete)).chain(about(Tool::Move)));
        }
        if rules.is_empty() {
            return reasons;
        }
        for (located, part, path) in classified.paths(self.context) {
            for rule in &rules {
                let known = reasons.iter().any(|reason| reason.rule.as_deref() == Some(rule.id.as_str()));
                if !known && rule.matches_path(&located, self.context) {
                    reasons.push(Reason::rule(rule, Some(part), &format!("matches {path}")));
                }
            }
        }
        reasons
    }

    /// Returns why every part is allowed, or why not.
    fn permission(&self, classified: &Classified) -> Result<Vec<Reason>, Vec<Reason>> {
        let obstacles = classified.obstacles.iter();
        let mut against: Vec<Reason> = obstacles
            .map(|why| Reason::new(Layer::Classifier, Decision::Ask, format!("the command {why}")))
            .collect();
        let mut granted = Vec::new();
        for (at, part) in classified.parts.iter().enumerate() {
            match self.part(part, at) {
                Ok(reason) => granted.push(reason),
                Err(reason) => against.push(reason),
            }
        }
        if against.is_empty() { Ok(granted) } else { Err(against) }
    }

    fn part(&self, part: &Part, at: usize) -> Result<Reason, Reason> {
        let mut rules = self.policy.on(Decision::Allow, Tool::Shell, self.mode);
        let inner = part.carried();
        if let Some(rule) =
            rules.find(|rule| rule.covers(part) || inner.as_ref().is_some_and(|it| rule.covers(it)))
        {
            return Ok(Reason::rule(rule, Some(at), "covers it"));
        }
        match &part.against {
            None => {
                Ok(Reason { part: Some(at), ..Reason::new(Layer::Classifier, Decision::Allow, "only reads") })
            }
            Some(why) => {
                Err(Reason { part: Some(at), ..Reason::new(Layer::Classifier, Decision::Ask, why.clone()) })
            }
        }
    }

    // ── paths and names ──

    fn path(&self, tool: Tool, path: &str) -> Verdict {
        let located = self.context.locate(&self.context.cwd, path);
        let reads = tool == Tool::Read;
        let (kind, floor) = match (located.class, reads) {
            (Class::Inside, true) | (Class::Control, true) => (Kind::ReadOnly, Level::None),
            (Class::Inside, false) => (Kind::WorkspaceWrite, Level::None),
            (Class::Control, false) => (Kind::Control, Level::Ask),
            (Class::Outside, true) => (Kind::Outside, Level::None),
            (Class::Outside, false) => (Kind::Outside, Level::Ask),
            (Class::Secret, _) => (Kind::Secret, Level::Ask),
            (Class::Ours, _) => (Kind::Control, Level::Deny),
        };
        let mut reasons = Vec::new();
        if floor != Level::None {
            let wants = if floor == Level::Deny { Decision::Deny } else { Decision::Ask };
            reasons.push(Reason::new(Layer::Floor, wants, format!("{} {path}", verb(tool, located.class))));
        }
        for decision in [Decision::Deny, Decision::Ask, Decision::Allow] {
            let rules = self
                .policy
                .on(decision, tool, self.mode)
                .filter(|rule| rule.matches_path(&located, self.context));
            reasons.extend(rules.map(|rule| Reason::rule(rule, None, "matches")));
        }
        if self.mode == Mode::Plan && !reads {
            reasons.push(Reason::new(Layer::Mode, Decision::Deny, "plan mode only reads"));
        }
        let by_table = floor == Level::None
            && (kind == Kind::ReadOnly || (kind == Kind::WorkspaceWrite && self.mode == Mode::Auto));
        if by_table {
            let says = if reads {
                "reads inside the workspace"
            } else {
                "writes inside the workspace, reviewed after the turn"
            };
            reasons.push(Reason::new(Layer::Classifier, Decision::Allow, says));
        }
        let risk = match kind {
            Kind::ReadOnly => Risk::Reversible,
            Kind::WorkspaceWrite => Risk::Recoverable,
            Kind::Outside if reads => Risk::Reversible,
            Kind::Exec | Kind::Outside | Kind::Network | Kind::Secret | Kind::Control | Kind::Unknown => {
                Risk::Irreversible
            }
        };
        Verdict::of(reasons, kind, risk, floor)
    }

    fn named(&self, tool: Tool, name: &str, kind: Kind) -> Verdict {
        let mut reasons = Vec::new();
        for decision in [Decision::Deny, Decision::Ask, Decision::Allow] {
            let rules = self.policy.on(decision, tool, self.mode).filter(|rule| rule.matches_name(name));
            reasons.extend(rules.map(|rule| Reason::rule(rule, None, "matches")));
        }
        Verdict::of(reasons, kind, Risk::Irreversible, Level::None)
    }
}

fn verb(tool: Tool, class: Class) -> &'static str {
    match (class, tool) {
        (Class::Secret, _) => "touches a file of secrets:",
        (Class::Ours, _) => "touches what is hunkgate's own:",
        (Class::Control, _) => "changes how git, editors or agents behave:",
        (Class::Inside | Class::Outside, Tool::Read) => "reads outside the workspace:",
        (Class::Inside | Class::Outside, _) => "writes outside the workspace:",
    }
}

/// Combines what the layers want, in the order of the chain.
fn decided(reasons: &[Reason], allowed: bool) -> Decision {
    let wants = |wanted: Decision| {
        reasons.iter().any(|reason| reason.wants == wanted && reason.layer != Layer::Classifier)
    };
    if wants(Decision::Deny) {
        Decision::Deny
    } else if wants(Decision::Ask) || !allowed {
        Decision::Ask
    } else {
        Decision::Allow
    }
}

fn risk(classified: &Classified, only_reads: bool) -> Risk {
    const FINAL: &[&str] = &[
        "rm",
        "shred",
        "dd",
        "kill",
        "pkill",
        "killall",
        "truncate",
        "docker",
        "kubectl",
        "terraform",
        "gh",
    ];
    if only_reads && classified.level() == Level::None {
        return Risk::Reversible;
    }
    let pushes = classified
        .reach
        .named(&["git", "npm", "cargo"])
        .any(|it| it.argv.get(1).is_some_and(|arg| arg.names_any(&["push", "publish", "send-pack"])));
    let kind = classified.kind();
    if classified.level() == Level::Deny
        || kind == Kind::Network
        || pushes
        || classified.reach.named(FINAL).next().is_some()
    {
        return Risk::Irreversible;
    }
    match kind {
        Kind::Outside | Kind::Secret | Kind::Control | Kind::Unknown | Kind::Network => Risk::Irreversible,
        Kind::Exec | Kind::WorkspaceWrite | Kind::ReadOnly => Risk::Recoverable,
    }
}

/// Writes words so that a shell reads exactly them.
pub(crate) fn quoted(argv: &[String]) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '%' | '@')
    };
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn shown(simple: &super::plan::Simple) -> String {
    super::classify::shown(simple)
}

impl Reason {
    fn new(layer: Layer, wants: Decision, says: impl Into<String>) -> Self {
        Self { layer, wants, rule: None, part: None, says: says.into() }
    }

    fn rule(rule: &Rule, part: Option<usize>, what: &str) -> Self {
        let says = match &rule.reason {
            Some(reason) => format!("{} {what}: {reason}", rule.id),
            None => format!("{} {what}", rule.id),
        };
        Self { layer: Layer::Rule, wants: rule.decision, rule: Some(rule.id.clone()), part, says }
    }
}

impl Verdict {
    fn unknown(says: &str) -> Self {
        let reasons = vec![Reason::new(Layer::Default, Decision::Ask, says)];
        Self {
            decision: Decision::Ask,
            kind: Kind::Unknown,
            risk: Risk::Irreversible,
            floor: Level::None,
            reasons,
            plan: Vec::new(),
        }
    }

    fn of(mut reasons: Vec<Reason>, kind: Kind, risk: Risk, floor: Level) -> Self {
        let allowed = reasons.iter().any(|reason| reason.wants == Decision::Allow);
        let decision = decided(&reasons, allowed);
        if reasons.is_empty() {
            reasons.push(Reason::new(Layer::Default, Decision::Ask, "no rule is about it"));
        }
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.wants == decision));
        Self { decision, kind, risk, floor, reasons, plan: Vec::new() }
    }

    fn raised(mut self, reason: Reason, floor: Level) -> Self {
        self.decision = self.decision.max(reason.wants);
        self.floor = self.floor.max(floor);
        self.reasons.insert(0, reason);
        self
    }

    /// Combines the verdicts on two effects of one request: the stricter of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (mut strict, loose) = if other.decision > self.decision { (other, self) } else { (self, other) };
        strict.kind = strict.kind.max(loose.kind);
        strict.risk = strict.risk.max(loose.risk);
        strict.floor = strict.floor.max(loose.floor);
        for reason in loose.reasons {
            if !strict.reasons.contains(&reason) {
                strict.reasons.push(reason);
            }
        }
        if strict.plan.len() < loose.plan.len() {
            strict.plan = loose.plan;
        }
        strict
    }

    /// Returns the ids of the rules that spoke.
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = self.reasons.iter().filter_map(|reason| reason.rule.clone()).collect();
        rules.dedup();
        rules
    }

    /// Returns it as it is shown and stored.
    pub fn shape(&self, redactor: &Redactor) -> VerdictShape {
        let reason = |reason: &Reason| ReasonShape {
            by: reason.layer,
            wants: reason.wants.as_str(),
            rule: reason.rule.clone(),
            part: reason.part,
            says: redactor.redact(&reason.says),
        };
        VerdictShape {
            verdict: self.decision.as_str(),
            class: self.kind,
            risk: self.risk,
            floor: self.floor,
            reasons: self.reasons.iter().map(reason).collect(),
            rules: self.rules(),
            plan: self.plan.iter().map(|text| redactor.redact(text)).collect(),
        }
    }
}

impl Classified {
    /// Returns every argument and redirect target as a path, in every place where its command may work.
    pub(crate) fn paths(&self, context: &Context<'_>) -> Vec<(Located, usize, String)> {
        super::floor::named_paths(&self.reach, context)
    }
}
