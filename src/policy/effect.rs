//! What a request wants, whatever message it came in, and how well that is known.

use crate::acp::{CallClaim, Said, Wanted, WantedForm};
use crate::base::SessionId;
pub use crate::ledger::Evidence;
use crate::ledger::{ContentShape, EffectShape, Redactor};
use serde_json::{Value, json};

/// What a request wants: one effect at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    effects: Vec<Effect>,
    /// How well it is known.
    pub evidence: Evidence,
}

/// One thing that a request wants. Exact, not redacted: it is judged and shown to the person, and goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A command is run.
    Exec {
        /// How it is given.
        form: Form,
        /// Where, as sent.
        cwd: Option<String>,
        /// Variables that are set for it.
        env: Vec<(String, String)>,
    },
    /// A file is written, whole or in part.
    Write {
        /// As sent.
        path: String,
        /// The text that it shall hold, where that is said.
        new: Option<String>,
    },
    /// A file is read.
    Read {
        /// As sent.
        path: String,
    },
    /// A file is deleted.
    Delete {
        /// As sent.
        path: String,
    },
    /// A file is moved.
    Move {
        /// As sent.
        from: String,
        /// As sent.
        to: String,
    },
    /// An address is fetched.
    Fetch {
        /// The address.
        url: String,
    },
    /// Something that only a title tells of.
    Opaque {
        /// ACP's word.
        kind: Option<String>,
        /// For people.
        title: String,
    },
}

/// How a command is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text for a shell.
    Text(String),
    /// As a program and its arguments; some clients join them and hand them to a shell.
    Argv(Vec<String>),
}

impl Form {
    /// Reads how a command is given.
    pub fn of(form: &WantedForm) -> Self {
        match form {
            WantedForm::Text(text) => Self::Text(text.clone()),
            WantedForm::Argv(argv) => unwrapped(argv),
        }
    }
}

impl Subject {
    /// Takes the effects of a request; none at all is something opaque.
    pub fn new(effects: Vec<Effect>, evidence: Evidence) -> Self {
        if effects.is_empty() {
            return Self {
                effects: vec![Effect::Opaque { kind: None, title: String::new() }],
                evidence: Evidence::Display,
            };
        }
        Self { effects, evidence }
    }

    /// Reads what a request wants.
    pub fn of(wanted: &Wanted) -> Self {
        let mut effects: Vec<Effect> = Vec::new();
        if let Some(command) = &wanted.command {
            effects.push(Effect::Exec {
                form: Form::of(&command.form),
                cwd: command.cwd.clone(),
                env: command.env.clone(),
            });
        }
        effects.extend(wanted.fetches.iter().map(|url| Effect::Fetch { url: url.clone() }));
        effects.extend(wanted.reads.iter().map(|path| Effect::Read { path: path.clone() }));
        let shell = wanted.command.is_some();
        for claim in wanted.claims.iter().filter(|claim| !shell || !matches!(claim.says, Said::Location)) {
            let effect = written(claim, wanted);
            if !effects.contains(&effect) {
                effects.push(effect);
            }
        }
        let displayed = effects.is_empty() || wanted.claims.iter().any(|claim| claim.says == Said::Location);
        if !effects.is_empty() {
            let evidence = if displayed && !shell { Evidence::Display } else { Evidence::Structured };
            return Self { effects, evidence };
        }
        // Some agents say only in the title what they run. It can be looked at, and refused; never allowed.
        let executes = wanted.kind.as_deref() == Some("execute");
        let effect = if executes && !wanted.title.trim().is_empty() {
            Effect::Exec {
                form: Form::Text(wanted.title.trim_matches('`').to_owned()),
                cwd: None,
                env: Vec::new(),
            }
        } else {
            Effect::Opaque { kind: wanted.kind.clone(), title: wanted.title.clone() }
        };
        Self { effects: vec![effect], evidence: Evidence::Display }
    }

    /// Returns what it wants as it is stored and shown: without secrets.
    pub fn shown(&self, redactor: &Redactor) -> Vec<EffectShape> {
        self.effects.iter().map(|effect| effect.shown(redactor)).collect()
    }

    /// Returns a keyed digest of exactly what it wants, in this session with this working directory: titles and ids do not
    /// count, nor how a path is spelled.
    pub fn binding(&self, redactor: &Redactor, (session, cwd): (&SessionId, &str)) -> String {
        let effects: Vec<Value> = self.effects.iter().map(|effect| effect.canonical(cwd)).collect();
        // Members are written in the order in which they stand here: one text for one meaning.
        let canonical = json!({ "v": 1, "session": session.as_str(), "effects": effects });
        redactor.digest(canonical.to_string().as_bytes())
    }

    /// Returns a keyed digest of exactly what it wants and where, in whatever session: in this workspace, from this directory.
    pub fn standing(&self, redactor: &Redactor, (workspace, cwd): (&str, &str)) -> String {
        let effects: Vec<Value> = self.effects.iter().map(|effect| effect.canonical(cwd)).collect();
        let canonical = json!({ "v": 1, "workspace": workspace, "cwd": cwd, "effects": effects });
        redactor.digest(canonical.to_string().as_bytes())
    }

    /// Returns the files that it comes to, without their texts; `None` where it names none.
    pub fn touched(&self) -> Option<Self> {
        let mut effects: Vec<Effect> = Vec::new();
        for effect in &self.effects {
            let bare = match effect {
                Effect::Write { path, .. } => Effect::Write { path: path.clone(), new: None },
                Effect::Read { .. } | Effect::Delete { .. } | Effect::Move { .. } => effect.clone(),
                Effect::Exec { .. } | Effect::Fetch { .. } | Effect::Opaque { .. } => continue,
            };
            if !effects.contains(&bare) {
                effects.push(bare);
            }
        }
        (!effects.is_empty()).then_some(Self { effects, evidence: self.evidence })
    }

    /// Returns what it wants; never empty.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
}

impl Effect {
    fn shown(&self, redactor: &Redactor) -> EffectShape {
        let redact = |text: &String| redactor.redact(text);
        match self {
            Self::Exec { form, cwd, env } => {
                let (text, argv) = match form {
                    Form::Text(text) => (Some(redact(text)), Vec::new()),
                    Form::Argv(argv) => (None, redactor.words(argv)),
                };
                let env = env.iter().map(|(name, value)| (name.clone(), redactor.value(value))).collect();
                EffectShape::Exec { text, argv, cwd: cwd.as_ref().map(redact), env }
            }
            Self::Write { path, new } => {
                let content = |text: &String| ContentShape {
                    digest: redactor.digest(text.as_bytes()),
                    bytes: text.len() as u64,
                    lines: text.lines().count() as u64,
                };
                EffectShape::Write { path: redact(path), new: new.as_ref().map(content) }
            }
            Self::Read { path } => EffectShape::Read { path: redact(path) },
            Self::Delete { path } => EffectShape::Delete { path: redact(path) },
            Self::Move { from, to } => EffectShape::Move { from: redact(from), to: redact(to) },
            Self::Fetch { url } => EffectShape::Fetch { url: redact(url) },
            Self::Opaque { kind, title } => {
                EffectShape::Opaque { tool_kind: kind.clone(), title: redact(title) }
            }
        }
    }

    /// Says whether another effect is exactly this one, seen from this working directory.
    pub fn is_same(&self, other: &Self, cwd: &str) -> bool {
        self == other || self.canonical(cwd) == other.canonical(cwd)
    }

    fn canonical(&self, cwd: &str) -> Value {
        let full = |path: &str| full(path, cwd);
        let place = |cwd: &Option<String>| full(cwd.as_deref().unwrap_or_default());
        match self {
            Self::Exec { form: Form::Text(text), cwd, env } => {
                json!({ "exec": { "text": text, "cwd": place(cwd), "env": env } })
            }
            Self::Exec { form: Form::Argv(argv), cwd, env } => {
                json!({ "exec": { "argv": argv, "cwd": place(cwd), "env": env } })
            }
            Self::Write { path, new } => json!({ "write": { "path": full(path), "new": new } }),
            Self::Read { path } => json!({ "read": full(path) }),
            Self::Delete { path } => json!({ "delete": full(path) }),
            Self::Move { from, to } => json!({ "move": [full(from), full(to)] }),
            Self::Fetch { url } => json!({ "fetch": url }),
            Self::Opaque { kind, title } => json!({ "opaque": { "kind": kind, "title": title } }),
        }
    }
}

/// Spells a path in full, by the letter. `..` is left alone: where it leads depends on links.
fn full(path: &str, cwd: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let parts: Vec<&str> = whole.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    format!("/{}", parts.join("/"))
}

/// `["bash", "-lc", "…"]` is text for a shell.
fn unwrapped(argv: &[String]) -> Form {
    match argv {
        [shell, option, text] if is_shell(shell) && matches!(option.as_str(), "-c" | "-lc") => {
            Form::Text(text.clone())
        }
        _ => Form::Argv(argv.to_vec()),
    }
}

fn is_shell(name: &str) -> bool {
    matches!(name.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "dash"))
}

fn written(claim: &CallClaim, wanted: &Wanted) -> Effect {
    let path = claim.path.clone();
    match &claim.says {
        Said::Whole { new, .. } | Said::Diff { new, .. } => Effect::Write { path, new: Some(new.clone()) },
        Said::Fragment { .. } => Effect::Write { path, new: None },
        Said::Delete => Effect::Delete { path },
        Said::Move { to } => Effect::Move { from: path, to: to.clone() },
        Said::Location if wanted.kind.as_deref() == Some("read") => Effect::Read { path },
        Said::Location if wanted.kind.as_deref() == Some("delete") => Effect::Delete { path },
        Said::Location => Effect::Write { path, new: None },
    }
}
