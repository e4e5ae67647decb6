//! Deciding from the terminal UI: always by id, always with the digests that were shown.

use super::leaf::Leaf;
use super::model::{Model, Over, Purpose};
use super::msg::{Cmd, Tag};
use super::stream::{FileKey, Kind, is_open};
use super::theme::Look;
use super::update::Way;
use crate::base::Digest;
use crate::diff::{Diff, Text};
use crate::ledger::{DecidedShape, Grade, ReviewState};
use crate::review::{Answer, Ask, Decide, DecideVerb, Selector};

impl Model {
    pub(super) fn decide_here(&mut self, verb: DecideVerb, insist: Insist) -> Vec<Cmd> {
        let target = match verb {
            DecideVerb::Accept => ReviewState::Accepted,
            DecideVerb::Reject => ReviewState::Rejected,
        };
        let stands =
            |leaf: &&Leaf| leaf.shape.state != target && !leaf.gone && !self.deciding.contains_key(leaf.id());
        let here = self.here();
        let chosen: Vec<&Leaf> = here.iter().copied().filter(stands).collect();
        // Of a group that is decided in part, the undecided part.
        let open: Vec<&Leaf> = chosen.iter().copied().filter(|leaf| is_open(&leaf.shape)).collect();
        let shown = named(if open.is_empty() { &chosen } else { &open });
        if shown.is_empty() {
            let word = here.first().map_or("nothing is here", |leaf| leaf.state());
            let word = if here.iter().any(|leaf| leaf.gone) {
                "it is rejected already: u takes that back"
            } else {
                word
            };
            self.say(word, Look::Faint);
            return Vec::new();
        }
        self.send(verb, shown, None, insist)
    }

    /// Decides what is undecided in the file and can be decided in bulk.
    pub(super) fn decide_file(&mut self, verb: DecideVerb) -> Vec<Cmd> {
        let Some(key) = self.here().first().map(|leaf| FileKey::of(&leaf.shape)) else { return Vec::new() };
        let wanted = |leaf: &&Leaf| {
            let external = leaf.shape.calls.is_empty()
                && (leaf.shape.locked.is_some()
                    || matches!(leaf.shape.evidence.grade, Grade::External | Grade::BaseUnknown));
            key.holds(&leaf.shape)
                && is_open(&leaf.shape)
                && !external
                && !self.deciding.contains_key(leaf.id())
        };
        let shown = named(&self.leaves.iter().filter(wanted).collect::<Vec<_>>());
        if shown.is_empty() {
            self.say("nothing in this file waits for you", Look::Faint);
            return Vec::new();
        }
        self.send(verb, shown, None, Insist::No)
    }

    pub(super) fn begin_reason(&mut self) {
        let here = self.here();
        let open: Vec<&Leaf> = here
            .iter()
            .copied()
            .filter(|leaf| !leaf.gone && leaf.shape.state != ReviewState::Rejected)
            .collect();
        let shown = named(&open);
        if shown.is_empty() {
            return self.say("there is nothing to reject here", Look::Faint);
        }
        self.ask_line(Purpose::Reason(shown));
    }

    pub(super) fn reject_with(&mut self, shown: Vec<(String, String)>, reason: String) -> Vec<Cmd> {
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        self.send(DecideVerb::Reject, shown, reason, Insist::No)
    }

    fn send(
        &mut self,
        verb: DecideVerb,
        shown: Vec<(String, String)>,
        reason: Option<String>,
        insist: Insist,
    ) -> Vec<Cmd> {
        let (ids, digests): (Vec<String>, Vec<Digest>) =
            shown.into_iter().map(|(id, digest)| (id, Digest::new(digest))).unzip();
        self.deciding.extend(ids.iter().map(|id| (id.clone(), verb)));
        self.memory.seen.extend(ids.iter().cloned());
        let waits = |leaf: &Leaf| leaf.shape.reject_pending && ids.iter().any(|id| id == leaf.id());
        let waits = self.leaves.iter().any(waits);
        let decide = Decide {
            verb,
            selector: Selector::Ids(ids),
            reason,
            digests,
            dry_run: false,
            force: insist == Insist::Yes && !waits,
            now: insist == Insist::Yes && waits,
        };
        self.advance();
        vec![Cmd::Ask(Tag::Decision, Ask::Decide(decide))]
    }

    /// Goes on to the next undecided one, when there is one.
    fn advance(&mut self) {
        self.seek_undecided(Way::Forward);
    }

    /// Takes what became of a decision.
    pub(super) fn decided(&mut self, answer: Answer) -> Vec<Cmd> {
        if let Answer::Decided(decided) = &answer {
            self.settle(decided);
        } else if let Answer::Problem(problem) = &answer {
            self.deciding.clear();
            self.complain(problem);
        }
        self.rebuild();
        self.asking.stale = self.asking.queue;
        let mut cmds = self.look_again();
        cmds.push(Cmd::Ask(Tag::Status, Ask::Status));
        cmds
    }

    fn settle(&mut self, decided: &DecidedShape) {
        let mut refused: Vec<&str> = Vec::new();
        for item in decided.items.iter().chain(&decided.left) {
            self.deciding.remove(item.id.as_str());
            match item.outcome.as_str() {
                "refused" => refused.push(item.reason.as_deref().unwrap_or("it was refused")),
                "done" | "queued" => {
                    if let Some(leaf) = self.leaves.iter_mut().find(|leaf| leaf.shape.id == item.id) {
                        leaf.shape.state = item.state;
                        leaf.shape.reject_pending = item.outcome == "queued";
                        leaf.gone &= item.state == ReviewState::Rejected;
                        if !leaf.gone {
                            self.folds.closed.remove(leaf.shape.id.as_str());
                        }
                    }
                }
                _ => {}
            }
        }
        if matches!(decided.verb.as_str(), "undo" | "redo") {
            self.asking.goto = decided.items.first().map(|item| item.id.to_string());
        }
        let done = decided.items.iter().filter(|item| item.outcome != "refused").count();
        let word = past(&decided.verb);
        match (refused.first(), done) {
            (Some(reason), _) => {
                let rest = if done > 0 { format!("; {done} {word}") } else { String::new() };
                self.say(format!("refused: {reason}{rest}"), Look::Bad);
            }
            (None, 0) => self.say(format!("there is nothing to {}", decided.verb), Look::Faint),
            (None, _) if decided.queued => self.say("reverts when the turn ends", Look::Notice),
            (None, _) if self.message.is_none() => self.say(format!("{done} {word}"), Look::Good),
            (None, _) => {}
        }
    }

    // ── comments ──

    pub(super) fn begin_comment(&mut self) {
        let here = self.here();
        let (Some(first), Some(last)) = (here.first(), here.last()) else { return };
        let (start, end) = (first.shape.current_range.start.max(1), last.shape.current_range.end);
        let lines = (start, end.saturating_sub(1).max(start));
        let path = FileKey::of(&first.shape).absolute();
        let shown = named(&here);
        self.ask_line(Purpose::Comment { path, lines, shown });
    }

    pub(super) fn comment(
        &mut self,
        path: String,
        lines: (u32, u32),
        shown: Vec<(String, String)>,
        text: String,
    ) -> Vec<Cmd> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let listed = |(id, digest): &(String, String)| {
            self.leaves.iter().any(|leaf| leaf.id() == id && leaf.shape.digest.as_str() == digest)
        };
        if !shown.iter().all(listed) {
            self.drafts.insert(path, text);
            self.say(
                "the lines changed while you wrote; the draft is kept, comment again where it belongs",
                Look::Bad,
            );
            return Vec::new();
        }
        self.drafts.insert(path.clone(), text.clone());
        let ask = Ask::Comment { path, line_start: lines.0, line_end: Some(lines.1), body: text };
        vec![Cmd::Ask(Tag::Comment, ask)]
    }

    pub(super) fn resolve(&mut self) -> Vec<Cmd> {
        let Some(stop) = self.stop() else { return Vec::new() };
        let file = &self.stream.files[self.stream.file_of(stop)];
        let mut remarks: Vec<&str> = Vec::new();
        if let Kind::Unit(unit) = self.stream.block_of(stop).kind {
            remarks.extend(self.stream.units[unit].parts.iter().filter_map(|part| match part {
                super::stream::Part::Comment(remark) => Some(remark.id.as_str()),
                super::stream::Part::Context { .. }
                | super::stream::Part::Change { .. }
                | super::stream::Part::Entry { .. } => None,
            }));
        }
        remarks.extend(file.comments.iter().map(|remark| remark.id.as_str()));
        match remarks.first() {
            Some(comment) => vec![Cmd::Ask(Tag::Comment, Ask::Resolve { comment: (*comment).to_owned() })],
            None => {
                self.say("there is no comment here", Look::Faint);
                Vec::new()
            }
        }
    }

    // ── what the reader has seen ──

    /// Remembers what is in sight.
    pub(super) fn note_seen(&mut self) {
        let (from, to) = (self.scroll, self.scroll + self.height());
        let first = self.stream.blocks.partition_point(|block| block.start + block.rows <= from);
        let mut seen = Vec::new();
        for block in self.stream.blocks[first..].iter().take_while(|block| block.start < to) {
            if let Kind::Unit(unit) = block.kind {
                let hunks = self.stream.units[unit].hunks.iter();
                seen.extend(hunks.map(|hunk| self.leaves[*hunk].id().to_owned()));
            }
        }
        for id in seen {
            self.memory.new.remove(&id);
            self.memory.seen.insert(id);
        }
    }

    /// Shows how the text that was seen became the one that stands there now.
    pub(super) fn show_since(&mut self) {
        let mut lines: Vec<(String, Look)> = Vec::new();
        for leaf in self.here() {
            let Some(old) = self.memory.changed.get(leaf.id()) else { continue };
            let new = crate::surface::sides::after(&leaf.shape);
            lines.extend(between(old, new));
        }
        if lines.is_empty() {
            return self.say("this has not changed since you looked", Look::Faint);
        }
        self.over = Some(Over::of("Since you looked", lines));
    }
}

/// Whether a reject also takes what is not surely the agent's; of what waits for the turn's end, that it waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insist {
    Yes,
    No,
}

/// Names hunks with the digests that were shown.
fn named(leaves: &[&Leaf]) -> Vec<(String, String)> {
    leaves.iter().map(|leaf| (leaf.id().to_owned(), leaf.shape.digest.as_str().to_owned())).collect()
}

fn past(verb: &str) -> &str {
    match verb {
        "accept" => "accepted",
        "reject" => "rejected",
        "undo" => "taken back",
        "redo" => "made true again",
        other => other,
    }
}

/// Writes the lines that differ between two texts, with all lines around them.
fn between(old: &str, new: &str) -> Vec<(String, Look)> {
    let (a, b) = (Text::new(old.as_bytes()), Text::new(new.as_bytes()));
    let line = |sign: char, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        format!("{sign}{}", text.strip_suffix('\n').unwrap_or(&text))
    };
    let mut lines = Vec::new();
    let mut next = 1;
    for hunk in Diff::of(&a, &b).hunks {
        lines.extend((next..hunk.base.start).map(|number| (line(' ', a.line(number)), Look::Plain)));
        lines.extend(hunk.base.lines().map(|number| (line('-', a.line(number)), Look::Bad)));
        lines.extend(hunk.current.lines().map(|number| (line('+', b.line(number)), Look::Good)));
        next = hunk.base.end;
    }
    lines.extend((next..=a.len()).map(|number| (line(' ', a.line(number)), Look::Plain)));
    lines
}
