//! A request with everything that it is judged by: handed to whoever can look at the file system.

use super::effect::Subject;
use super::place::{Context, Ground};
use super::rules::Policy;
use super::verdict::{Verdict, judge};
use crate::base::Patterns;
use crate::config::Mode;
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
}

impl Case {
    /// Judges it by the pure layers.
    pub fn judge(&self, ground: &dyn Ground) -> Verdict {
        judge(&self.subject, &self.policy, self.mode, &self.context(ground))
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
