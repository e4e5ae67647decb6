//! What a look costs in a repository, for people and programs.

use super::text::{Style, count, harmless};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What `hunkgate bench` measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostsShape {
    /// The root.
    pub root: PathBuf,
    /// Files that are looked at.
    pub files: usize,
    /// How it is observed: `watch`, `hybrid` or `walk`.
    pub mode: String,
    /// Why not by watching alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Rounds, one of each kind in turn.
    pub rounds: usize,
    /// The kinds of looks.
    pub looks: Vec<CostShape>,
    /// Why git was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_git: Option<String>,
}

/// What one kind of look costs, beside what git needs for the same. Medians.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostShape {
    /// `first`, `idle` or `walk`.
    pub look: &'static str,
    /// Nanoseconds.
    pub ns: u64,
    /// Nanoseconds of `git add -A` and `git write-tree`.
    pub git_ns: Option<u64>,
}

impl CostsShape {
    /// Writes it for people.
    pub fn text(&self, style: &Style) -> String {
        let because = self.because.as_ref().map(|why| format!(" ({})", harmless(why))).unwrap_or_default();
        let root = harmless(&self.root.to_string_lossy());
        let mut said = format!("{root}: {}, mode {}{because}\n", count(self.files, "file"), self.mode);
        said += &format!("{:<34} {:>12} {:>12} {:>10}\n", "median", "hunkgate", "git", "ratio");
        for cost in &self.looks {
            said += &cost.line();
        }
        if let Some(why) = &self.no_git {
            said += &format!("git was not measured: {}\n", harmless(why));
        }
        let rounds = format!("{} rounds; git: `add -A` and `write-tree` on an index of its own", self.rounds);
        said + &style.faint(&rounds) + "\n"
    }
}

impl CostShape {
    fn line(&self) -> String {
        let what = match self.look {
            "first" => "first look, from nothing",
            "idle" => "a look, nothing changed",
            _ => "a look that walks everything",
        };
        let spent = |ns: u64| format!("{:.1?}", Duration::from_nanos(ns));
        let git = self.git_ns.map_or_else(|| "-".to_owned(), spent);
        let tenths = self.git_ns.map(|git| git.saturating_mul(10) / self.ns.max(1));
        let ratio = tenths.map_or_else(|| "-".to_owned(), |n| format!("{}.{} x", n / 10, n % 10));
        format!("{what:<34} {:>12} {git:>12} {ratio:>10}\n", spent(self.ns))
    }
}
