//! Any answer.

use super::blame::blame;
use super::decided::decided;
use super::listing::{comment, listing, shown};
use super::status::status;
use super::style::{Style, Tone, harmless};
use crate::ledger::DegradedShape;
use crate::review::{Answer, Problem};
use std::collections::BTreeSet;

/// Writes an answer.
pub fn answer(style: &Style, answer: &Answer) -> String {
    match answer {
        Answer::Status(shape) => status(style, shape),
        Answer::Listing(shape) => listing(style, shape),
        Answer::Shown(shape) => shown(style, shape),
        Answer::Decided(shape) => decided(style, shape),
        Answer::Commented(shape) | Answer::Resolved(shape) => comment(style, (shape, &BTreeSet::new())),
        Answer::Rebased(roots) => rebased(style, roots),
        Answer::Note(Some(note)) => note.lines().map(|line| format!("{}\n", harmless(line))).collect(),
        Answer::Note(None) => "nothing: the agent will be told nothing with the next prompt\n".to_owned(),
        Answer::Diff(patch) => patch.text.clone(),
        Answer::Blame(shape) => blame(style, shape),
        Answer::Docket(docket) => docket.text().lines().map(|line| format!("{}\n", harmless(line))).collect(),
        Answer::Problem(trouble) => problem(style, trouble),
    }
}

/// Writes a problem: one sentence, and a hint.
pub fn problem(style: &Style, problem: &Problem) -> String {
    let mut text = format!("{} {}\n", style.tone(Tone::Removed, "hunkgate:"), harmless(&problem.message));
    if let Some(hint) = &problem.hint {
        text += &format!("{} {}\n", style.tone(Tone::Faint, "hint:"), harmless(hint));
    }
    text
}

/// Writes what a person should know beside an answer.
pub fn warning(style: &Style, warning: &str) -> String {
    format!("{} {}\n", style.tone(Tone::Notice, "hunkgate:"), harmless(warning))
}

fn rebased(style: &Style, roots: &[DegradedShape]) -> String {
    let line = |root: &DegradedShape| match &root.degraded {
        Some(why) => style.tone(Tone::Notice, &format!("{}: still degraded: {why}", root.root)),
        None => format!("{}: the worktree as it stands is the base now", harmless(&root.root)),
    };
    roots.iter().map(|root| line(root) + "\n").collect()
}
