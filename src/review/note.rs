//! The note: what the agent is told, in the person's name, with the next prompt.

use crate::base::{CommandId, CommentId, HunkId, RepoPath, RequestKey, RootId, SessionKey};
use crate::ledger::{
    CommentRow, Decision, Decisions, DeniedRequest, Ledger, LineRange, Reapplied, ReviewState, SessionLedger,
    Verb, Who, last_line, path_text,
};
use bstr::ByteSlice as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The beginning of a note's first line; its id and `]` follow.
pub const NOTE_BEGINS: &str = "[hunkgate note ";
/// The beginning of a note's last line; its id and `]` follow.
pub const NOTE_ENDS: &str = "[end of hunkgate note ";
/// Items of one kind beyond which a note only counts.
const MOST_ITEMS: usize = 200;

/// What the agent has not been told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The decision commands that a note would tell of.
    pub commands: Vec<CommandId>,
    /// The comments that would ride along.
    pub comments: Vec<CommentId>,
    /// What was rejected and is back, with how often it has come back.
    pub reapplied: Vec<(HunkId, u32)>,
    /// The requests that a rule refused.
    pub denials: Vec<RequestKey>,
    refused: Vec<String>,
    reverted: Vec<Told>,
    restored: Vec<Told>,
    back: Vec<Told>,
    remarks: Vec<String>,
}

/// Some changes of one path with the same fate and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    path: String,
    what: Vec<String>,
    reason: Option<String>,
}

/// Derives what the agent has not been told; `None` when there is nothing to say.
pub fn pending(ledger: &Ledger, session: &SessionKey) -> Option<Pending> {
    let known = ledger.session(session)?;
    let teller = Teller { ledger, known, told: known.told_commands() };
    let (mut reverted, mut restored) = (Vec::new(), Vec::new());
    for hunk in in_order(known) {
        match teller.fate(hunk) {
            Some(Fate::Reverted(decision)) => {
                teller.tell(&mut reverted, decision, reason(known.decisions(), hunk))
            }
            Some(Fate::Restored(decision)) => teller.tell(&mut restored, decision, None),
            None => {}
        }
    }
    let (told, mut back) = (known.told_reapplied(), Vec::new());
    let fresh = |row: &&Reapplied| !told.contains(&(row.hunk.clone(), row.times));
    let rows: Vec<&Reapplied> = known.reapplied().iter().filter(fresh).collect();
    rows.iter().for_each(|row| add(&mut back, row.path.clone(), again(row), None));
    let comments: Vec<&CommentRow> = open_comments(known);
    let told = known.told_denials();
    let denied: Vec<_> =
        known.standing().denied().iter().filter(|row| !told.contains(&row.request)).collect();
    let commands: Vec<CommandId> = match reverted.is_empty() && restored.is_empty() {
        true => Vec::new(),
        false => untold(known, &teller.told),
    };
    let pending = Pending {
        commands,
        comments: comments.iter().map(|row| row.comment.id.clone()).collect(),
        reapplied: rows.iter().map(|row| (row.hunk.clone(), row.times)).collect(),
        denials: denied.iter().map(|row| row.request.clone()).collect(),
        refused: denied.into_iter().map(refusal).collect(),
        reverted,
        restored,
        back,
        remarks: comments.into_iter().map(|row| teller.remark(row)).collect(),
    };
    let silent = pending.commands.is_empty() && pending.comments.is_empty() && pending.back.is_empty();
    (!silent || !pending.denials.is_empty()).then_some(pending)
}

fn refusal(row: &DeniedRequest) -> String {
    let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("- {}{reason}\n", row.summary)
}

/// Returns every hunk that was ever decided, in the order of the decisions.
fn in_order(known: &SessionLedger) -> Vec<&HunkId> {
    let mut seen = BTreeSet::new();
    let decided = known.decisions().commands().flat_map(|(_, command)| &command.items);
    decided.map(|decision| &decision.hunk).filter(|hunk| seen.insert(*hunk)).collect()
}

/// Says whether a note may ride on a prompt with this first text: commands are handled elsewhere, it would be lost.
pub fn may_carry(first_text: &str) -> bool {
    !first_text.trim_start().starts_with(['/', '$'])
}

/// Says whether a line on the wire may hold a note, or the beginning of one.
pub fn mentions_note(line: &[u8]) -> bool {
    let begins = NOTE_BEGINS.as_bytes();
    let cut_off = |length: usize| [&begins[..length], b"\""].concat();
    line.contains_str(begins) || (1..begins.len()).any(|length| line.contains_str(cut_off(length)))
}

impl Pending {
    /// Writes the note.
    pub fn text(&self, note_id: &str) -> String {
        let mut text = format!("{NOTE_BEGINS}{note_id}]\n");
        if self.len() > self.refused.len() {
            text.push_str("I reviewed your changes in hunkgate.");
        }
        if !self.reverted.is_empty() {
            text.push_str(
                " I rejected the following, and it has been reverted on disk. Do not re-apply it. \
                 Read these files again before you edit them:\n",
            );
            list(&mut text, &self.reverted);
        } else if self.len() > self.refused.len() {
            text.push('\n');
        }
        if !self.restored.is_empty() {
            text.push_str("I took an earlier rejection back. These changes of yours are restored on disk:\n");
            list(&mut text, &self.restored);
        }
        if !self.back.is_empty() {
            text.push_str(
                "I had rejected these changes before, and you made them again. They stand on disk; \
                 I have not decided on them again:\n",
            );
            list(&mut text, &self.back);
        }
        if !self.remarks.is_empty() {
            text.push_str("My comments:\n");
            self.remarks.iter().for_each(|remark| text.push_str(remark));
        }
        if !self.refused.is_empty() {
            text.push_str("My rules refused these requests of yours. Do not try the same in another way:\n");
            self.refused.iter().take(MOST_ITEMS).for_each(|line| text.push_str(line));
        }
        let _ = write!(text, "{NOTE_ENDS}{note_id}]");
        text
    }

    /// Returns how many changes and comments it tells of.
    pub fn len(&self) -> usize {
        let changes = |told: &[Told]| told.iter().map(|one| one.what.len()).sum::<usize>();
        changes(&self.reverted)
            + changes(&self.restored)
            + changes(&self.back)
            + self.remarks.len()
            + self.refused.len()
    }

    /// Says whether it tells of nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the agent must learn of one hunk.
enum Fate<'a> {
    Reverted(&'a Decision),
    Restored(&'a Decision),
}

struct Teller<'a> {
    ledger: &'a Ledger,
    known: &'a SessionLedger,
    told: BTreeSet<&'a CommandId>,
}

impl<'a> Teller<'a> {
    /// Compares what is in force for a hunk with what the agent was told last.
    fn fate(&self, hunk: &HunkId) -> Option<Fate<'a>> {
        let decisions = self.known.decisions();
        let mut said = ReviewState::Unreviewed;
        let mut fresh = false;
        let mut last = None;
        for (command, decision) in decisions.history_of(hunk) {
            if self.told.contains(&command.id) {
                (said, fresh) = (decision.state, false);
            } else {
                fresh |= matches!(command.verb, Verb::Reject { .. });
            }
            last = Some((command, decision));
        }
        let (command, decision) = last?;
        let now = decision.state;
        match (said, now) {
            (ReviewState::Rejected, ReviewState::Rejected) if !fresh => None,
            (_, ReviewState::Rejected) => decisions.in_force(hunk).map(Fate::Reverted),
            (ReviewState::Rejected, ReviewState::Unreviewed | ReviewState::Accepted) => {
                matches!(command.verb, Verb::Undo { .. }).then_some(Fate::Restored(decision))
            }
            (
                ReviewState::Unreviewed | ReviewState::Accepted,
                ReviewState::Unreviewed | ReviewState::Accepted,
            ) => None,
        }
    }

    fn tell(&self, list: &mut Vec<Told>, decision: &Decision, reason: Option<String>) {
        let path = self.path(&decision.root, &decision.path);
        let what = match decision.returned {
            0 => what(decision),
            1 => format!("{} (rejected before; you put it back)", what(decision)),
            times => format!("{} (rejected before; you put it back {times} times)", what(decision)),
        };
        add(list, path, what, reason);
    }

    fn remark(&self, row: &CommentRow) -> String {
        let comment = &row.comment;
        let path = self.path(&comment.root, &comment.path);
        let mut remark = format!("- {path}, {}:\n", lines(comment.lines));
        for line in comment.excerpt.lines().take(20) {
            let _ = writeln!(remark, "  > {line}");
        }
        let _ = writeln!(remark, "  {}", indented(&comment.body));
        remark
    }

    /// Shows a path: beneath its root, or absolute where the session has several roots.
    fn path(&self, root: &RootId, path: &RepoPath) -> String {
        if self.known.roots().len() < 2 {
            return path_text(path);
        }
        format!("{}/{}", self.ledger.root_path(root).trim_end_matches('/'), path_text(path))
    }
}

fn add(list: &mut Vec<Told>, path: String, what: String, reason: Option<String>) {
    match list.iter_mut().find(|told| told.path == path && told.reason == reason) {
        Some(told) => told.what.push(what),
        None => list.push(Told { path, what: vec![what], reason }),
    }
}

/// Says in a few words what is back.
fn again(row: &Reapplied) -> String {
    let what = row.lines.map_or_else(|| "the whole file".to_owned(), lines);
    if row.times > 1 { format!("{what} ({} times now)", row.times) } else { what }
}

fn open_comments(known: &SessionLedger) -> Vec<&CommentRow> {
    let told = known.told_comments();
    let open = |row: &&CommentRow| {
        row.resolved.is_none() && row.comment.author.who == Who::Person && !told.contains(&row.comment.id)
    };
    known.comments().iter().filter(open).collect()
}

fn untold(known: &SessionLedger, told: &BTreeSet<&CommandId>) -> Vec<CommandId> {
    let ids = known.decisions().commands().map(|(_, command)| &command.id);
    ids.filter(|id| !told.contains(id)).cloned().collect()
}

/// Returns the person's words for the decision that is in force.
fn reason(decisions: &Decisions, hunk: &HunkId) -> Option<String> {
    let (command, _) = decisions.standing(hunk)?;
    match &decisions.command(command)?.verb {
        Verb::Reject { reason } => reason.clone().filter(|reason| !reason.trim().is_empty()),
        Verb::Accept | Verb::Undo { .. } | Verb::Redo { .. } => None,
    }
}

/// Says in a few words what a decision is about, in the lines that the agent wrote.
fn what(decision: &Decision) -> String {
    if let Some(old) = &decision.old_path {
        return format!("the rename from {}", path_text(old));
    }
    match (decision.base, decision.current_range) {
        (None, _) if decision.left.is_none() || decision.seen.is_none() => "the file you created".to_owned(),
        (Some(_), _) if decision.seen.is_none() != decision.left.is_none() => {
            "the file you deleted".to_owned()
        }
        (_, Some(range)) => lines(range),
        (Some(base), None) => match decision.seen {
            Some(seen) if seen.blob == base.blob => "its mode".to_owned(),
            Some(_) | None => "the whole file".to_owned(),
        },
        (None, None) => "the whole file".to_owned(),
    }
}

fn lines(range: LineRange) -> String {
    match (range.is_empty(), range.start, last_line(range)) {
        (true, start, _) => format!("the lines removed before line {start}"),
        (false, start, end) if start == end => format!("line {start}"),
        (false, start, end) => format!("lines {start}-{end}"),
    }
}

fn list(text: &mut String, told: &[Told]) {
    for one in told.iter().take(MOST_ITEMS) {
        let what: Vec<&str> = one.what.iter().take(MOST_ITEMS).map(String::as_str).collect();
        let _ = write!(text, "- {}, {}", one.path, what.join(", "));
        match &one.reason {
            Some(reason) => {
                let _ = writeln!(text, ". Reason: {}", indented(reason));
            }
            None => text.push('\n'),
        }
    }
    if told.len() > MOST_ITEMS {
        let _ = writeln!(text, "- and {} more", told.len() - MOST_ITEMS);
    }
}

fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}
