//! A request with everything that it is judged by: handed to whoever can look at the file system.

use super::effect::{Effect, Subject};
use super::place::{Context, Ground};
use super::rules::Policy;
use super::verdict::{Verdict, judge};
use crate::base::{Digest, Patterns};
use crate::config::{Mode, Written};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request with everything that it is judged by.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is wanted. Not redacted.
    pub subject: Subject,
    /// The rules.
    pub policy: Arc<Policy>,
    /// What the mode of the session means.
    pub mode: Mode,
    /// The working directory.
    pub cwd: String,
    /// The roots, absolute.
    pub roots: Vec<String>,
    /// The person's home.
    pub home: Option<String>,
    /// Our own directories and files.
    pub ours: Vec<String>,
    /// File names that hold secrets.
    pub secrets: Patterns,
    /// The digest by which a permission that outlives sessions would allow it; `None` where none may.
    pub standing: Option<String>,
    /// Counts the policies of this process: this is judged by that one.
    pub epoch: u32,
    /// The digests of the files as they are known, to be compared with what stands there.
    pub known: KnownFiles,
}

/// The files of the policy, as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFiles {
    /// What stands in the place of the person's file.
    pub user: Stands,
    /// Per root that was opened: its top, and what stands in the place of its own file.
    pub projects: BTreeMap<String, Stands>,
}

/// What stands in the place of a file of the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// Nothing.
    #[default]
    Nothing,
    /// Something that cannot be read.
    Unreadable,
    /// A text with this digest.
    Text(Digest),
}

impl Stands {
    /// Says it of the text that was read, where there was one.
    pub fn of(read: Option<Digest>) -> Self {
        read.map_or(Self::Nothing, Self::Text)
    }
}

/// What was found of the files of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNews {
    /// The person's file as it is now, where that is not as it was known, and what it says.
    pub user: Option<UserFile>,
    /// The tops of the roots whose own file is not as it was known, with what stands there.
    pub projects: Vec<(String, Stands)>,
}

/// The person's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFile {
    /// What stands there.
    pub stands: Stands,
    /// What it says, or why it cannot be used.
    pub says: Result<Option<Written>, String>,
}

/// What came of judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What the rules say.
    pub verdict: Verdict,
    /// Per effect: where its path really leads, and what stands there.
    pub stands: Vec<String>,
    /// Where the paths that it would change really lead, absolute.
    pub reals: Vec<String>,
    /// What observes a path that it comes to, by id.
    pub observers: Vec<String>,
    /// The permission that outlives sessions and allows it. Filled in by who can read them.
    pub grant: Option<String>,
    /// By which policy it was judged.
    pub epoch: u32,
    /// What is new of the files of the policy. Filled in by who can read them.
    pub news: Option<Box<FileNews>>,
}

/// Says where the path of an effect leads, and what a file that it would change holds now.
fn stands(effect: &Effect, context: &Context<'_>) -> String {
    let place = |path: &str| context.locate(&context.cwd, path);
    match effect {
        Effect::Write { path, .. } | Effect::Delete { path } => {
            let real = place(path).real.unwrap_or_default();
            format!("{real} {}", context.ground.content(&real))
        }
        Effect::Read { path } => place(path).real.unwrap_or_default(),
        Effect::Move { from, to } => {
            let (from, to) = (place(from).real.unwrap_or_default(), place(to).real.unwrap_or_default());
            format!("{from} {} {to} {}", context.ground.content(&from), context.ground.content(&to))
        }
        Effect::Exec { cwd, .. } => place(cwd.as_deref().unwrap_or(&context.cwd)).real.unwrap_or_default(),
        Effect::Fetch { .. } | Effect::Opaque { .. } => String::new(),
    }
}

/// Returns where the paths of an effect lead that changes files.
fn leads(effect: &Effect, context: &Context<'_>) -> Vec<String> {
    let place = |path: &str| context.locate(&context.cwd, path).real;
    let places = match effect {
        Effect::Write { path, .. } | Effect::Delete { path } => vec![place(path)],
        Effect::Move { from, to } => vec![place(from), place(to)],
        Effect::Read { .. } | Effect::Exec { .. } | Effect::Fetch { .. } | Effect::Opaque { .. } => {
            Vec::new()
        }
    };
    places.into_iter().flatten().collect()
}

/// Returns the path of a file that an effect would change and that cannot be read: then nobody knows what is lost by it.
fn unread<'e>(effect: &'e Effect, context: &Context<'_>) -> Option<&'e str> {
    let changes: &[&String] = match effect {
        Effect::Write { path, .. } | Effect::Delete { path } => &[path],
        Effect::Move { from, to } => &[from, to],
        Effect::Exec { .. } | Effect::Read { .. } | Effect::Fetch { .. } | Effect::Opaque { .. } => &[],
    };
    let unknown = |path: &&&String| {
        let real = context.locate(&context.cwd, path).real.unwrap_or_default();
        context.ground.content(&real) == "unknown"
    };
    changes.iter().find(unknown).map(|path| path.as_str())
}

impl Case {
    /// Judges it by the pure layers, and notes on what ground.
    pub fn find(&self, ground: &dyn Ground) -> Finding {
        let context = self.context(ground);
        let mut verdict = judge(&self.subject, &self.policy, self.mode, &context);
        if let Some(path) = self.subject.effects().iter().find_map(|effect| unread(effect, &context)) {
            verdict = verdict.asked(&format!("what stands at {path} cannot be read"));
        }
        let stands = self.subject.effects().iter().map(|effect| stands(effect, &context)).collect();
        let reals = self.subject.effects().iter().flat_map(|effect| leads(effect, &context)).collect();
        let observers = super::observe::met(self.policy.observers(), &self.subject, &context);
        Finding { verdict, stands, reals, observers, grant: None, epoch: self.epoch, news: None }
    }

    fn context<'g>(&self, ground: &'g dyn Ground) -> Context<'g> {
        Context {
            ground,
            cwd: self.cwd.clone(),
            roots: self.roots.clone(),
            home: self.home.clone(),
            ours: self.ours.clone(),
            secrets: self.secrets.clone(),
            git_reads: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Decision};
    use crate::policy::Evidence;

    /// A ground on which nothing can be read.
    #[derive(Debug)]
    struct Dark;

    impl Ground for Dark {
        fn real(&self, absolute: &str) -> Option<String> {
            Some(absolute.to_owned())
        }
    }

    #[test]
    fn what_cannot_be_read_is_asked_about_whatever_allows_it() {
        let written = Written::parse("c", "[permissions]\nallow = [\"Write(**)\"]\n").unwrap();
        let policy = Policy::compile(&Config::of(Some(&written), None).rules, None).unwrap();
        let write = Effect::Write { path: "/w/a.txt".to_owned(), new: Some("x".to_owned()) };
        let case = Case {
            subject: Subject::new(vec![write], Evidence::Structured),
            policy: Arc::new(policy),
            mode: Mode::Auto,
            cwd: "/w".to_owned(),
            roots: vec!["/w".to_owned()],
            home: None,
            ours: Vec::new(),
            secrets: Patterns::default(),
            standing: None,
            epoch: 0,
            known: KnownFiles::default(),
        };
        let verdict = case.find(&Dark).verdict;
        assert_eq!(verdict.decision, Decision::Ask, "{verdict:?}");
        assert!(verdict.reasons[0].says.contains("cannot be read"), "{verdict:?}");
    }
}
