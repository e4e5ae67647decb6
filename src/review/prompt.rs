//! What the person is told in the conversation when a turn ends.

use crate::base::{HunkId, SessionKey, TurnNo};
use crate::ledger::{HunkShape, Ledger, ListingShape, QueueShape, ReviewState};
use crate::review::render::{degraded_text, hunk_line, short_ids};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Hunks that are named one by one; the rest is counted per file.
const MOST_NAMED: usize = 12;
/// Files that are named at all.
const MOST_FILES: usize = 20;

/// Says what is owed when a turn ends; `None` when nothing is.
pub fn summary(listing: &ListingShape, turn: Option<TurnNo>, prefix: &str) -> Option<String> {
    let owed: Vec<&HunkShape> = listing.hunks.iter().filter(|hunk| hunk.is_owed()).collect();
    if owed.is_empty() {
        return None;
    }
    let ids = short_ids(listing.hunks.iter().map(|hunk| &hunk.id));
    let mut text = heading(&owed, turn);
    for (path, hunks) in by_file(&owed).iter().take(MOST_FILES) {
        if owed.len() > MOST_NAMED {
            let _ = writeln!(text, "- {path}: {} changes", hunks.len());
            continue;
        }
        for hunk in hunks {
            let id = ids.get(&hunk.id).copied().unwrap_or(hunk.id.as_str());
            let _ = writeln!(text, "- `{id}` {path}: {}", hunk_line(hunk));
        }
    }
    let files = by_file(&owed).len();
    if files > MOST_FILES {
        let _ = writeln!(text, "- and {} more files", files - MOST_FILES);
    }
    text.push_str(&others(listing));
    text.push_str(&degraded_text(&listing.degraded));
    if listing.policy.configured == "pre_write" && listing.policy.enforced_on.is_empty() {
        text.push_str(
            "- not gated: this agent writes without asking, so changes are reviewed after the turn\n",
        );
    }
    let _ = write!(
        text,
        "\n`/{prefix} accept all` keeps, `/{prefix} reject ID [reason]` puts back, `/{prefix} show ID` explains."
    );
    Some(text)
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

fn heading(owed: &[&HunkShape], turn: Option<TurnNo>) -> String {
    let of_turn = |hunk: &&&HunkShape| turn.is_some() && hunk.calls.iter().any(|call| call.turn == turn);
    let fresh = owed.iter().filter(of_turn).count();
    let noun = if owed.len() == 1 { "change" } else { "changes" };
    let files = by_file(owed).len();
    let place = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let mut text = format!("**hunkgate**: {} {noun} to review in {place}", owed.len());
    if fresh > 0 && fresh < owed.len() {
        let _ = write!(text, ", {fresh} of this turn");
    }
    text.push_str("\n\n");
    text
}

fn by_file<'a>(owed: &[&'a HunkShape]) -> Vec<(&'a str, Vec<&'a HunkShape>)> {
    let mut files: Vec<(&str, &str, Vec<&HunkShape>)> = Vec::new();
    for hunk in owed {
        match files.iter_mut().find(|(root, path, _)| *root == hunk.root && *path == hunk.path) {
            Some((_, _, hunks)) => hunks.push(hunk),
            None => files.push((&hunk.root, &hunk.path, vec![hunk])),
        }
    }
    files.into_iter().map(|(_, path, hunks)| (path, hunks)).collect()
}

/// Counts what is listed beside and never owed, by its grade.
fn others(listing: &ListingShape) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let beside = |hunk: &&HunkShape| hunk.state == ReviewState::Unreviewed && !hunk.is_owed();
    for hunk in listing.hunks.iter().filter(beside) {
        *counts.entry(hunk.evidence.grade.as_str()).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(grade, count)| format!("{count} {}", grade.replace('_', " "))).collect();
    if counts.is_empty() { String::new() } else { format!("- beside these: {}\n", counts.join(", ")) }
}
