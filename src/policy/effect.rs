//! What a request wants, whatever message it came in, and how well that is known.

use crate::acp::{CallClaim, Said, Wanted, WantedForm};

/// What a request wants: one effect at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    effects: Vec<Effect>,
    /// How well it is known.
    pub evidence: Evidence,
}

/// How well it is known what a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Fields say it. May be allowed without a question.
    Structured,
    /// Only text for people says it. Is never allowed without one.
    Display,
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
        /// Names of variables that are set for it.
        env: Vec<String>,
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
                form: match &command.form {
                    WantedForm::Text(text) => Form::Text(text.clone()),
                    WantedForm::Argv(argv) => unwrapped(argv),
                },
                cwd: command.cwd.clone(),
                env: command.env.iter().map(|(name, _)| name.clone()).collect(),
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

    /// Returns what it wants; never empty.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
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
