//! What the person is told in the conversation when a turn ends.

use crate::base::{HunkId, SessionKey, TurnNo};
use crate::ledger::{
    CommentShape, Grade, HunkShape, Ledger, LineRange, ListingShape, QueueShape, Reapplied, ReviewState, Who,
    named_path,
};
use crate::review::render::{degraded_text, hunk_line, short_ids};
use crate::review::words::{NOT_GATED, counted, how};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Hunks that are named one by one; the rest is counted per file.
const MOST_NAMED: usize = 12;
/// Files that are named at all.
const MOST_FILES: usize = 20;

/// Says what is owed when a turn ends and was not told before; `None` when nothing is. What was told before is counted.
///
/// A turn that left only changes which carry no call gets one line.
pub fn summary(
    listing: &ListingShape,
    (turn, told): (Option<TurnNo>, &BTreeSet<HunkId>),
    command: &str,
) -> Option<String> {
    let all: Vec<&HunkShape> = listing.hunks.iter().filter(|hunk| hunk.is_owed()).collect();
    let owed: Vec<&HunkShape> = all.iter().copied().filter(|hunk| !told.contains(&hunk.id)).collect();
    if owed.is_empty() {
        return uncredited(listing, told, command);
    }
    let ids = short_ids(listing.hunks.iter().map(|hunk| &hunk.id));
    let mut text = heading(&owed, all.len() - owed.len(), turn);
    let roots = listing.roots();
    for (first, hunks) in by_file(&owed).iter().take(MOST_FILES) {
        let path = named_path((&first.root, &first.path), &roots);
        if owed.len() > MOST_NAMED {
            let _ = writeln!(text, "- {path}: {}", counted(hunks.len(), "change"));
            continue;
        }
        for hunk in hunks {
            let id = ids.get(&hunk.id).copied().unwrap_or(hunk.id.as_str());
            let _ = writeln!(text, "- `{id}` {path}: {}", hunk_line(hunk));
        }
    }
    let files = by_file(&owed).len();
    if files > MOST_FILES {
        let _ = writeln!(text, "- and {} more", counted(files - MOST_FILES, "file"));
    }
    text.push_str(&beside(listing));
    text.push_str(&degraded_text(&listing.degraded));
    if listing.policy.configured == "pre_write" && listing.policy.enforced_on.is_empty() {
        let _ = writeln!(text, "- {NOT_GATED}");
    }
    let _ = write!(
        text,
        "\n{} keeps, {} puts back, {} explains.",
        how(command, if command.is_empty() { "accept --all" } else { "accept all" }),
        how(command, if command.is_empty() { "reject ID [--reason TEXT]" } else { "reject ID [reason]" }),
        how(command, "show ID")
    );
    Some(text)
}

/// Returns what a person is told of at a turn's end: what is owed, and what a turn left without a call.
pub fn worth_telling(listing: &ListingShape) -> impl Iterator<Item = &HunkShape> {
    listing.hunks.iter().filter(|hunk| hunk.is_owed() || is_uncredited(hunk))
}

/// Returns the changes that were rejected, are there again and are not decided, with absolute paths where there are
/// several roots.
pub fn reapplied(listing: &ListingShape, several_roots: bool) -> Vec<Reapplied> {
    let back = listing.hunks.iter().filter(|hunk| hunk.reapplied && hunk.state == ReviewState::Unreviewed);
    back.map(|hunk| {
        let range = LineRange { start: hunk.current_range.start, end: hunk.current_range.end };
        Reapplied {
            hunk: hunk.id.clone(),
            path: if several_roots { absolute(hunk) } else { hunk.path.clone() },
            lines: (hunk.entry.kind == "text").then_some(range),
            times: hunk.returned,
        }
    })
    .collect()
}

fn absolute(hunk: &HunkShape) -> String {
    format!("{}/{}", hunk.root.trim_end_matches('/'), hunk.path)
}

/// The name in which a comment is made on a change that comes back again and again.
pub const ESCALATES: &str = "reapplied";
/// How often a change must have come back for that.
const TOO_OFTEN: u32 = 3;

/// Returns the changes that deserve a comment to the person: absolute path, first and last line, and what to say.
pub fn to_escalate(listing: &ListingShape) -> Vec<(String, (u32, u32), String)> {
    let author = Who::Criterion(ESCALATES.to_owned()).label();
    let said = |hunk: &HunkShape| {
        let mut mine =
            listing.comments.iter().filter(|comment| comment.root == hunk.root && comment.path == hunk.path);
        mine.any(|comment| {
            comment.author == author && !comment.resolved && comment.line_start <= hunk.current_range.end
        })
    };
    let again = listing.hunks.iter().filter(|hunk| {
        hunk.state == ReviewState::Unreviewed && hunk.returned >= TOO_OFTEN && hunk.entry.kind == "text"
    });
    again
        .filter(|hunk| !said(hunk))
        .map(|hunk| {
            let (first, end) = (hunk.current_range.start.max(1), hunk.current_range.end);
            let body = format!(
                "The agent has put this back {} times after it was rejected. Another reject will hardly settle it: \
                 tell the agent what you want instead, or accept it.",
                hunk.returned
            );
            (absolute(hunk), (first, end.saturating_sub(1).max(first)), body)
        })
        .collect()
}

/// Says in the conversation that such a comment was made.
pub fn escalation(comment: &CommentShape) -> String {
    let body = comment.body.trim();
    format!("**hunkgate**: {}, line {}: {body}", comment.path, comment.line_start)
}

fn is_uncredited(hunk: &HunkShape) -> bool {
    let of_a_turn = matches!(hunk.evidence.grade, Grade::Contested | Grade::InTurn);
    hunk.state == ReviewState::Unreviewed && !hunk.is_owed() && of_a_turn
}

/// Says in a line what a turn left that carries no call.
fn uncredited(listing: &ListingShape, told: &BTreeSet<HunkId>, command: &str) -> Option<String> {
    let fresh: Vec<&HunkShape> =
        listing.hunks.iter().filter(|hunk| is_uncredited(hunk) && !told.contains(&hunk.id)).collect();
    if fresh.is_empty() {
        return None;
    }
    let noun = if fresh.len() == 1 { "change is" } else { "changes are" };
    let counts = graded(fresh.iter().copied());
    Some(format!(
        "**hunkgate**: {} {noun} credited to no call ({counts}): {} shows them.",
        fresh.len(),
        how(command, "list")
    ))
}

/// Counts hunks and entries: what is owed, what is decided, and what is nobody's call.
///
/// What was rejected is gone from the listing, and counted all the same.
pub fn queue_counts(ledger: &Ledger, session: &SessionKey, listing: &ListingShape) -> QueueShape {
    let mut queue = QueueShape::default();
    for hunk in &listing.hunks {
        let counter = match hunk.state {
            ReviewState::Accepted => &mut queue.accepted,
            ReviewState::Rejected => &mut queue.rejected,
            ReviewState::Unreviewed if hunk.is_owed() => &mut queue.unreviewed,
            ReviewState::Unreviewed => &mut queue.external,
        };
        *counter += 1;
    }
    let listed: BTreeSet<&HunkId> = listing.hunks.iter().map(|hunk| &hunk.id).collect();
    let decisions = ledger.session(session).into_iter().flat_map(|known| known.decisions().all_in_force());
    let gone = decisions
        .filter(|(hunk, decision)| decision.state == ReviewState::Rejected && !listed.contains(hunk));
    queue.rejected = queue.rejected.saturating_add(u32::try_from(gone.count()).unwrap_or(u32::MAX));
    queue
}

fn heading(owed: &[&HunkShape], before: usize, turn: Option<TurnNo>) -> String {
    let of_turn = |hunk: &&&HunkShape| turn.is_some() && hunk.calls.iter().any(|call| call.turn == turn);
    let fresh = owed.iter().filter(of_turn).count();
    let noun = if owed.len() == 1 { "change" } else { "changes" };
    let files = by_file(owed).len();
    let place = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let mut text = format!("**hunkgate**: {} {noun} to review in {place}", owed.len());
    if fresh > 0 && fresh < owed.len() {
        let _ = write!(text, ", {fresh} of this turn");
    }
    if before > 0 {
        let _ = write!(text, "; {before} more from before");
    }
    text.push_str("\n\n");
    text
}

/// Returns the hunks file by file, each with the first of them.
fn by_file<'a>(owed: &[&'a HunkShape]) -> Vec<(&'a HunkShape, Vec<&'a HunkShape>)> {
    let mut files: Vec<(&HunkShape, Vec<&HunkShape>)> = Vec::new();
    for hunk in owed {
        match files.iter_mut().find(|(first, _)| first.root == hunk.root && first.path == hunk.path) {
            Some((_, hunks)) => hunks.push(hunk),
            None => files.push((hunk, vec![hunk])),
        }
    }
    files
}

/// Counts what is listed beside and never owed, by its grade, in a line; empty when there is nothing.
pub(super) fn beside(listing: &ListingShape) -> String {
    let beside = |hunk: &&HunkShape| hunk.state == ReviewState::Unreviewed && !hunk.is_owed();
    let counts = graded(listing.hunks.iter().filter(beside));
    if counts.is_empty() { String::new() } else { format!("- beside these: {counts}\n") }
}

fn graded<'a>(hunks: impl Iterator<Item = &'a HunkShape>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    hunks.for_each(|hunk| *counts.entry(hunk.evidence.grade.as_str()).or_default() += 1);
    let counts: Vec<String> =
        counts.iter().map(|(grade, count)| format!("{count} {}", grade.replace('_', " "))).collect();
    counts.join(", ")
}
