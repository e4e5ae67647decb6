//! What answers do to the state.

use super::leaf::Leaf;
use super::model::{Model, Over};
use super::msg::{Cmd, Tag};
use super::stream::{FileKey, Layout};
use super::theme::Look;
use super::update::{Way, Which};
use crate::ledger::{ListingShape, ReviewState, ShownShape};
use crate::review::{Answer, DocketAnswer, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of a file above which it begins folded.
const FOLDED_LINES: usize = 1_500;

impl Model {
    pub(super) fn answered(&mut self, tag: Tag, answer: Answer) -> Vec<Cmd> {
        match (tag, answer) {
            (Tag::Queue, answer) => self.take_queue(answer),
            (Tag::Status, Answer::Status(status)) => {
                self.status = Some(status);
                if self.listed {
                    self.rebuild();
                }
                Vec::new()
            }
            (Tag::Decision, answer) => self.decided(answer),
            (Tag::Comment, Answer::Commented(comment)) => {
                let file = FileKey { root: comment.root, path: comment.path };
                self.drafts.remove(&file.absolute());
                self.say("commented: the agent reads it with your next prompt", Look::Good);
                self.look_again()
            }
            (Tag::Comment, Answer::Resolved(_)) => {
                self.say("settled", Look::Good);
                self.look_again()
            }
            (Tag::Explain, Answer::Shown(shown)) => {
                self.over = Some(explained(&shown));
                Vec::new()
            }
            (Tag::Note, Answer::Note(note)) => {
                let text = note.unwrap_or_else(|| "nothing".to_owned());
                let lines = text.lines().map(|line| (line.to_owned(), Look::Plain)).collect();
                self.over = Some(Over::of("With your next prompt the agent is told", lines));
                Vec::new()
            }
            (Tag::Pending, Answer::Docket(DocketAnswer::Pending(shape))) => {
                self.take_pending(shape);
                Vec::new()
            }
            (Tag::Response, Answer::Docket(answer)) => self.responded(&answer),
            (Tag::Response, Answer::Problem(problem)) => {
                self.complain(&problem);
                vec![Self::ask_pending()]
            }
            (_, Answer::Problem(problem)) => {
                self.complain(&problem);
                Vec::new()
            }
            (Tag::Status | Tag::Comment | Tag::Explain | Tag::Note | Tag::Pending | Tag::Response, _) => {
                Vec::new()
            }
        }
    }

    pub(super) fn complain(&mut self, problem: &Problem) {
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        self.say(format!("{}{hint}", problem.message), Look::Bad);
    }

    fn take_queue(&mut self, answer: Answer) -> Vec<Cmd> {
        self.asking.queue = false;
        let stale = std::mem::take(&mut self.asking.stale);
        if let Answer::Problem(problem) = &answer {
            self.complain(problem);
        } else if let Answer::Listing(listing) = answer
            && !stale
        {
            self.take_listing(listing);
        }
        if std::mem::take(&mut self.asking.again) { self.look_again() } else { Vec::new() }
    }

    fn take_listing(&mut self, listing: ListingShape) {
        self.take_notices(&listing);
        let mut leaves: Vec<Leaf> = listing.hunks.into_iter().map(Leaf::of).collect();
        self.remember(&leaves);
        self.keep_gone(&mut leaves);
        let mark = self.mark();
        self.comments = listing.comments;
        self.leaves = leaves;
        self.settle_folds();
        let first = !std::mem::replace(&mut self.listed, true);
        self.forget_texts();
        self.rebuild_at(mark);
        if first {
            self.scroll = 0;
            if !self.stream.stops.first().is_some_and(|stop| self.is_undecided(stop, Which::Owed)) {
                self.seek_undecided(Way::Forward);
                self.message = None;
            }
            // What came since the last sitting is new until a key is pressed.
            if self.memory.new.is_empty() {
                self.note_seen();
            }
        }
        if let Some(id) = self.asking.goto.take()
            && let Some(found) =
                self.stream.stops.iter().position(|stop| {
                    self.stream.hunks_of(stop).iter().any(|hunk| self.leaves[*hunk].id() == id)
                })
        {
            self.stand(found);
        }
    }

    /// Keeps what was rejected in this sitting in its place, until it is there again.
    fn keep_gone(&self, leaves: &mut Vec<Leaf>) {
        let there: BTreeSet<String> = leaves.iter().map(|leaf| leaf.id().to_owned()).collect();
        for old in &self.leaves {
            let decided = old.gone || old.shape.state == ReviewState::Rejected;
            if !decided || there.contains(old.id()) {
                continue;
            }
            let key = |leaf: &Leaf| (FileKey::of(&leaf.shape), leaf.shape.base_range.start);
            let place = leaves.partition_point(|leaf| key(leaf) <= key(old));
            leaves.insert(place, Leaf { gone: true, ..old.clone() });
        }
    }

    /// Folds what begins folded, once.
    fn settle_folds(&mut self) {
        let mut files: BTreeMap<FileKey, usize> = BTreeMap::new();
        for leaf in &self.leaves {
            *files.entry(FileKey::of(&leaf.shape)).or_default() += leaf.rows(Layout::Unified);
            if leaf.shape.state != ReviewState::Unreviewed && !self.memory.seen.contains(leaf.id()) {
                self.folds.closed.insert(leaf.id().to_owned());
            }
            if leaf.gone {
                self.folds.closed.insert(leaf.id().to_owned());
            }
        }
        let folded: BTreeSet<FileKey> = self
            .leaves
            .iter()
            .filter(|leaf| leaf.shape.folded)
            .map(|leaf| FileKey::of(&leaf.shape))
            .collect();
        for (key, rows) in files {
            if (folded.contains(&key) || rows > FOLDED_LINES) && self.folds.settled.insert(key.clone()) {
                self.folds.files.insert(key);
            }
        }
    }
}

/// Writes everything about a hunk.
fn explained(shown: &ShownShape) -> Over {
    let mut lines: Vec<(String, Look)> = Vec::new();
    let hunk = &shown.hunk;
    lines.push((format!("{} {}", hunk.id, hunk.path), Look::Name));
    for call in &hunk.calls {
        lines
            .push((format!("call {}: {}", call.tool_call_id, super::stream::call_title(call)), Look::Header));
    }
    lines.push((String::new(), Look::Plain));
    lines.extend(shown.explanation.lines().map(|line| (line.to_owned(), Look::Plain)));
    if !shown.history.is_empty() {
        lines.push((String::new(), Look::Plain));
        lines.push(("history".to_owned(), Look::Name));
    }
    for row in &shown.history {
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let state = match row.state {
            ReviewState::Unreviewed => "undecided",
            ReviewState::Accepted => "accepted",
            ReviewState::Rejected => "rejected",
        };
        lines.push((format!("{state} by {} ({}){reason}", row.by, row.channel), Look::Plain));
    }
    Over::of("This hunk", lines)
}
