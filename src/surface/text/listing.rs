//! The queue, file by file.

use super::hunk::{Extent, call, hunk};
use super::style::{Style, Tone, brief, count, harmless};
use crate::ledger::{
    CallRow, CommentShape, HunkShape, ListingShape, ReviewState, ShownShape, SupersededShape, named_path,
};
use std::collections::BTreeSet;

/// The shortest prefix of an id that is shown.
const ID_DIGITS: usize = 8;

/// Writes a listing.
pub(super) fn listing(style: &Style, listing: &ListingShape) -> String {
    let mut text = format!("{}\n", style.tone(Tone::Title, &headline(listing)));
    text += &damage(style, listing);
    let digits = id_digits(&listing.hunks);
    let (mut file, roots) = (None, listing.roots());
    for item in &listing.hunks {
        if file != Some((&item.root, &item.path)) {
            file = Some((&item.root, &item.path));
            let named = named_path((&item.root, &item.path), &roots);
            text += &format!("\n{}\n", style.tone(Tone::Title, &named));
        }
        let id = item.id.as_str();
        text += &hunk(style, item, id.get(..digits).unwrap_or(id), Extent::Beginning);
    }
    text + &beside(style, listing)
}

/// Writes a listing call by call: what several calls made stands beneath each of them, what none made at the end.
pub fn by_call(style: &Style, listing: &ListingShape) -> String {
    let mut text = format!("{}\n", style.tone(Tone::Title, &headline(listing)));
    text += &damage(style, listing);
    let digits = id_digits(&listing.hunks);
    let mut calls: Vec<&CallRow> = listing.hunks.iter().flat_map(|item| &item.calls).collect();
    calls.sort_by_key(|row| row.turn);
    let mut groups: Vec<Option<&CallRow>> = Vec::new();
    for row in calls {
        if !groups.contains(&Some(row)) {
            groups.push(Some(row));
        }
    }
    groups.push(None);
    let roots = listing.roots();
    for group in groups {
        let is_of = |item: &&HunkShape| match group {
            Some(row) => item.calls.contains(row),
            None => item.calls.is_empty(),
        };
        let mut items = listing.hunks.iter().filter(is_of).peekable();
        if items.peek().is_some() {
            let title = group.map_or_else(|| "no call".to_owned(), call);
            text += &format!("\n{}\n", style.tone(Tone::Title, &title));
        }
        for item in items {
            let id = item.id.as_str();
            text += &format!("  {}\n", named_path((&item.root, &item.path), &roots));
            text += &hunk(style, item, id.get(..digits).unwrap_or(id), Extent::Beginning);
        }
    }
    text + &beside(style, listing)
}

/// Writes what stands beside the hunks of a listing.
fn beside(style: &Style, listing: &ListingShape) -> String {
    let mut text = String::new();
    for line in superseded(style, listing).split_inclusive('\n') {
        text += &format!("\n{line}");
    }
    for remark in listing.comments.iter().filter(|comment| !comment.resolved) {
        text += &format!("\n{}", comment(style, (remark, &listing.roots())));
    }
    text
}

/// Writes a line for each call of which nothing is left.
pub fn superseded(style: &Style, listing: &ListingShape) -> String {
    let line = |row: &SupersededShape| {
        let turn = row.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let id = harmless(row.tool_call_id.as_str());
        let line = format!("superseded: {} ({id}{turn})", brief(&row.title, 60));
        format!("{}\n", style.tone(Tone::Faint, &line))
    };
    listing.superseded.iter().map(line).collect()
}

/// Writes one hunk with everything that is known of it.
pub(super) fn shown(style: &Style, shown: &ShownShape) -> String {
    let item = &shown.hunk;
    let mut text = format!("{}\n", style.tone(Tone::Title, &item.path));
    text += &hunk(style, item, item.id.as_str(), Extent::Whole);
    text += &format!(
        "\n{}\n",
        shown.explanation.lines().map(|line| brief(line, 2000)).collect::<Vec<_>>().join("\n")
    );
    if !shown.history.is_empty() {
        text += "\nhistory\n";
    }
    for row in &shown.history {
        let reason =
            row.reason.as_ref().map(|reason| format!(": {}", brief(reason, 200))).unwrap_or_default();
        text += &format!(
            "  {}  {} by {} ({}){reason}\n",
            style.time(row.at),
            state_word(row.state),
            row.by,
            row.channel
        );
    }
    text
}

/// Writes a comment, its path absolute where `roots` holds others than its own.
pub(super) fn comment(style: &Style, (comment, roots): (&CommentShape, &BTreeSet<&str>)) -> String {
    let lines = if comment.line_end > comment.line_start {
        format!("{}-{}", comment.line_start, comment.line_end)
    } else {
        comment.line_start.to_string()
    };
    let mark = match (comment.resolved, comment.outdated) {
        (true, _) => " (resolved)",
        (false, true) => " (outdated)",
        (false, false) => "",
    };
    let place =
        style.tone(Tone::Name, &format!("{}:{lines}", named_path((&comment.root, &comment.path), roots)));
    let id = style.tone(Tone::Faint, comment.id.as_str());
    let mut text = format!("{place}{mark}  comment {id} by {}\n", comment.author);
    for line in comment.body.lines() {
        text += &format!("    {}\n", style.tone(Tone::Notice, line));
    }
    text
}

/// Returns the word for a state.
pub(super) fn state_word(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Unreviewed => "unreviewed",
        ReviewState::Accepted => "accepted",
        ReviewState::Rejected => "rejected",
    }
}

fn headline(listing: &ListingShape) -> String {
    if listing.hunks.is_empty() {
        return "no changes".to_owned();
    }
    let of = |wanted: fn(&HunkShape) -> bool| listing.hunks.iter().filter(|hunk| wanted(hunk)).count();
    let mut parts = vec![format!("{} to review", count(of(HunkShape::is_owed), "hunk"))];
    let rest = [
        (of(is_not_ours), "with no call"),
        (of(|hunk| hunk.state == ReviewState::Accepted), "accepted"),
        (of(|hunk| hunk.state == ReviewState::Rejected), "rejected"),
    ];
    parts.extend(
        rest.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")),
    );
    parts.join(", ")
}

fn is_not_ours(hunk: &HunkShape) -> bool {
    hunk.state == ReviewState::Unreviewed && !hunk.is_owed()
}

/// Says what cannot be trusted, and what is held.
fn damage(style: &Style, listing: &ListingShape) -> String {
    let mut lines = Vec::new();
    for root in &listing.degraded {
        lines.extend(root.degraded.as_ref().map(|why| format!("degraded: {}: {why}", root.root)));
    }
    for skip in &listing.integrity.skips {
        lines.push(format!("journal line {} was skipped: {}", skip.line, skip.reason));
    }
    lines.extend(listing.held());
    lines.iter().map(|line| format!("{}\n", style.tone(Tone::Notice, line))).collect()
}

/// Returns how many digits tell every id of a listing apart.
fn id_digits(hunks: &[HunkShape]) -> usize {
    let mut ids: Vec<&str> = hunks.iter().map(|hunk| hunk.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(shared).map(|same| same + 1).max().unwrap_or(0).max(ID_DIGITS)
}
