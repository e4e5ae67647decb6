//! Paths of which every access is recorded: which of them a request, or a call that only announces itself, comes to.

use super::classify::classify;
use super::effect::{Effect, Form, Subject};
use super::place::{Context, Located};
use super::rules::PathPattern;
use crate::config::{Access, Observe};
use std::collections::BTreeSet;

/// One `[[observe]]`, compiled.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    id: String,
    paths: Vec<PathPattern>,
    access: BTreeSet<Access>,
}

impl Observer {
    pub(super) fn compile(text: &Observe, home: Option<&str>) -> Result<Self, String> {
        let paths = text.paths.iter().map(|path| PathPattern::new(path, home)).collect::<Result<_, _>>()?;
        Ok(Self { id: text.id.clone(), paths, access: text.access.clone() })
    }

    /// Says whether a path is meant, by its name or by where it leads.
    fn meets(&self, located: &Located, context: &Context<'_>) -> bool {
        let both = [Some(located.asked.as_str()), located.real.as_deref()];
        both.into_iter().flatten().any(|path| self.paths.iter().any(|it| it.matches(path, context)))
    }
}

/// What a request may do to one path.
struct Touch {
    located: Located,
    access: BTreeSet<Access>,
}

/// Returns the ids of what observes any path that a request comes to, in the order of the configuration.
pub(super) fn met(observers: &[Observer], subject: &Subject, context: &Context<'_>) -> Vec<String> {
    if observers.is_empty() {
        return Vec::new();
    }
    let touches: Vec<Touch> = subject.effects().iter().flat_map(|effect| touches(effect, context)).collect();
    let meets = |observer: &&Observer| {
        touches.iter().any(|touch| {
            let counts = observer.access.is_empty() || !observer.access.is_disjoint(&touch.access);
            counts && observer.meets(&touch.located, context)
        })
    };
    observers.iter().filter(meets).map(|observer| observer.id.clone()).collect()
}

fn touches(effect: &Effect, context: &Context<'_>) -> Vec<Touch> {
    let one = |path: &str, access| {
        let located = context.locate(&context.cwd, path);
        vec![Touch { located, access: BTreeSet::from([access]) }]
    };
    match effect {
        Effect::Read { path } => one(path, Access::Read),
        Effect::Write { path, .. } => one(path, Access::Write),
        Effect::Delete { path } => one(path, Access::Delete),
        Effect::Move { from, to } => {
            [from, to].into_iter().flat_map(|path| one(path, Access::Move)).collect()
        }
        Effect::Exec { form, cwd, .. } => of_command(form, cwd.as_deref(), context),
        Effect::Fetch { .. } | Effect::Opaque { .. } => Vec::new(),
    }
}

/// A command comes to what it names. What it does there is known only where it provably reads.
fn of_command(form: &Form, cwd: Option<&str>, context: &Context<'_>) -> Vec<Touch> {
    let mut context = context.clone();
    if let Some(cwd) = cwd {
        context.cwd = context.locate(&context.cwd, cwd).asked;
    }
    let text = match form {
        Form::Text(text) => text.clone(),
        Form::Argv(argv) => super::verdict::quoted(argv),
    };
    let classified = classify(&text, &context);
    let access = if classified.only_reads() {
        BTreeSet::from([Access::Read])
    } else {
        BTreeSet::from([Access::Read, Access::Write, Access::Delete, Access::Move])
    };
    let touch = |(located, _, _)| Touch { located, access: access.clone() };
    classified.paths(&context).into_iter().map(touch).collect()
}

#[cfg(test)]
mod tests {
    use super::super::place::Flat;
    use super::super::rules::Policy;
    use super::*;
    use crate::config::{Config, Written};
    use crate::policy::Evidence;

    fn of(effect: Effect) -> Vec<String> {
        let text = "[[observe]]\nid = 'all'\npaths = ['db/**', '.env']\n\
                    [[observe]]\nid = 'writes'\npaths = ['db/**']\naccess = ['write', 'delete']\n";
        let written = Written::parse("c", text).unwrap();
        let policy = Policy::of(&Config::of(Some(&written), None), None).unwrap();
        let ground = Flat;
        met(
            policy.observers(),
            &Subject::new(vec![effect], Evidence::Structured),
            &Context::at("/w", &ground),
        )
    }

    fn command(text: &str) -> Vec<String> {
        of(Effect::Exec { form: Form::Text(text.to_owned()), cwd: None, env: Vec::new() })
    }

    #[test]
    fn what_is_observed_is_met_by_path_and_access() {
        assert_eq!(of(Effect::Read { path: "db/1.sql".into() }), ["all"]);
        assert_eq!(of(Effect::Write { path: "/w/db/1.sql".into(), new: None }), ["all", "writes"]);
        assert_eq!(of(Effect::Move { from: "x".into(), to: "db/2".into() }), ["all"]);
        assert_eq!(of(Effect::Delete { path: "src/a".into() }), [""; 0]);
        assert_eq!(command("cat db/1.sql"), ["all"]);
        assert_eq!(command("cd db && rm 1.sql"), ["all", "writes"]);
        assert_eq!(command("psql < a/.env"), ["all"]);
        assert_eq!(command("make"), [""; 0]);
    }
}
