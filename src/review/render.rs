//! Answers as short markdown, for the conversation.

use crate::base::HunkId;
use crate::ledger::{
    BlameShape, CommentShape, DecidedShape, DegradedShape, HunkShape, ItemShape, ListingShape, RangeShape,
    ReviewState, ShownShape, StatusShape, named_path,
};
use crate::review::words::{NOT_GATED, counted};
use crate::review::{Answer, PatchText, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Lines of a diff or blame beyond which the rest is only counted.
const MOST_LINES: usize = 400;
/// Items of a list beyond which the rest is only counted.
const MOST_ITEMS: usize = 100;
/// Digits of an id that are shown, unless more are needed to tell two apart.
const SHORT: usize = 8;

/// Writes an answer as markdown.
pub fn render(answer: &Answer) -> String {
    match answer {
        Answer::Status(status) => status_text(status),
        Answer::Listing(listing) => listing_text(listing),
        Answer::Shown(shown) => shown_text(shown),
        Answer::Decided(decided) => decided_text(decided),
        Answer::Commented(comment) => {
            format!(
                "Commented on {}: the agent is told with your next prompt.",
                lines_of(comment, &BTreeSet::new())
            )
        }
        Answer::Resolved(comment) => {
            format!("Resolved the comment on {}.", lines_of(comment, &BTreeSet::new()))
        }
        Answer::Rebased(roots) => rebased_text(roots),
        Answer::Note(None) => "Nothing will be told with your next prompt.".to_owned(),
        Answer::Note(Some(note)) => {
            format!("With your next prompt the agent is told:\n\n{}", fenced("text", note))
        }
        Answer::Diff(patch) => patch_text(patch),
        Answer::Blame(blame) => blame_text(blame),
        Answer::Docket(docket) => docket.text(),
        Answer::Problem(problem) => problem_text(problem),
    }
}

/// Shortens ids as far as they stay apart, to eight digits at least.
pub(super) fn short_ids<'a>(ids: impl Iterator<Item = &'a HunkId>) -> BTreeMap<&'a HunkId, &'a str> {
    let mut sorted: Vec<&HunkId> = ids.collect();
    sorted.sort_unstable();
    sorted.dedup();
    let common = |a: &HunkId, b: &HunkId| {
        a.as_str().bytes().zip(b.as_str().bytes()).take_while(|(a, b)| a == b).count()
    };
    let length = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| sorted.get(before));
        let beside = [before, sorted.get(at + 1)];
        let shared = beside.into_iter().flatten().map(|other| common(sorted[at], other)).max();
        shared.map_or(SHORT, |shared| SHORT.max(shared + 1))
    };
    (0..sorted.len())
        .map(|at| (sorted[at], sorted[at].as_str().get(..length(at)).unwrap_or(sorted[at].as_str())))
        .collect()
}

fn listing_text(listing: &ListingShape) -> String {
    if listing.hunks.is_empty() && listing.comments.is_empty() && listing.degraded.is_empty() {
        return "Nothing has changed in this session.".to_owned();
    }
    let ids = short_ids(listing.hunks.iter().map(|hunk| &hunk.id));
    let mut text = String::new();
    let (mut path, roots) = (None, listing.roots());
    for hunk in listing.hunks.iter().take(MOST_ITEMS) {
        if path != Some((&hunk.root, &hunk.path)) {
            let gap = if path.is_some() { "\n" } else { "" };
            path = Some((&hunk.root, &hunk.path));
            let named = named_path((&hunk.root, &hunk.path), &roots);
            let _ = writeln!(text, "{gap}**{named}**\n");
        }
        let id = ids.get(&hunk.id).copied().unwrap_or(hunk.id.as_str());
        let _ = writeln!(text, "- `{id}` {}", hunk_line(hunk));
    }
    more(&mut text, listing.hunks.len());
    for comment in listing.comments.iter().filter(|comment| !comment.resolved) {
        let outdated = if comment.outdated { " (outdated)" } else { "" };
        let _ = writeln!(
            text,
            "- comment `{}` on {}{outdated}: {}",
            comment.id,
            lines_of(comment, &roots),
            comment.body
        );
    }
    text.push_str(&degraded_text(&listing.degraded));
    text.trim_end().to_owned()
}

/// Says what one hunk is, in a line.
pub(super) fn hunk_line(hunk: &HunkShape) -> String {
    let mut line = what_changed(hunk);
    let calls: Vec<&str> = hunk.tool_call_ids.iter().take(3).map(|call| call.as_str()).collect();
    match calls.as_slice() {
        [] => line.push_str(&format!(", {}", hunk.evidence.grade.as_str().replace('_', " "))),
        calls => line.push_str(&format!(", by `{}`", calls.join("`, `"))),
    }
    let marks = [
        (hunk.mixed, "mixed"),
        (hunk.reapplied && hunk.returned < 2, "rejected before and back"),
        (!hunk.approved_differs.is_empty(), "not what was approved"),
        (hunk.reject_pending, "reverts when the turn ends"),
        (hunk.state == ReviewState::Accepted, "accepted"),
        (hunk.state == ReviewState::Rejected, "rejected"),
    ];
    marks.iter().filter(|(is, _)| *is).for_each(|(_, mark)| line.push_str(&format!(", {mark}")));
    if hunk.reapplied && hunk.returned > 1 {
        let _ = write!(line, ", rejected before and back {} times", hunk.returned);
    }
    if let Some(locked) = &hunk.locked {
        let _ = write!(line, ", cannot be rejected: {locked}");
    }
    line
}

/// Says which lines, or what of the file, a hunk changes.
pub(super) fn what_changed(hunk: &HunkShape) -> String {
    let entry = &hunk.entry;
    let pair = |old: &Option<String>, new: &Option<String>| {
        format!("{} → {}", old.as_deref().unwrap_or("none"), new.as_deref().unwrap_or("none"))
    };
    match entry.kind.as_str() {
        "text" => format!(
            "{} (−{} +{})",
            lines(hunk.current_range),
            height(hunk.base_range),
            height(hunk.current_range)
        ),
        "mode" => format!("mode {}", pair(&entry.old_mode, &entry.new_mode)),
        "type" => format!("type {}", pair(&entry.old_mode, &entry.new_mode)),
        "symlink" => format!("link {}", pair(&entry.old_target, &entry.new_target)),
        "rename" => format!("renamed from {}", entry.old_path.as_deref().unwrap_or("somewhere")),
        "binary" => "binary file".to_owned(),
        "empty" => "empty file".to_owned(),
        "eol" => "line endings of the whole file".to_owned(),
        "summary" => "many files".to_owned(),
        "outside" => "outside every root".to_owned(),
        other => other.to_owned(),
    }
}

fn lines(range: RangeShape) -> String {
    match height(range) {
        0 => format!("before line {}", range.start),
        1 => format!("line {}", range.start),
        _ => format!("lines {}-{}", range.start, range.end - 1),
    }
}

fn height(range: RangeShape) -> u32 {
    range.end.saturating_sub(range.start)
}

fn shown_text(shown: &ShownShape) -> String {
    let hunk = &shown.hunk;
    let mut text = format!(
        "**{}** `{}` {}\n\n{}.\n\n",
        hunk.path,
        hunk.id,
        hunk_line(hunk),
        capital(&shown.explanation)
    );
    let content =
        |display: &Option<String>, content: &String| display.clone().unwrap_or_else(|| content.clone());
    let before = content(&hunk.display_before, &hunk.before_content);
    let after = content(&hunk.display_after, &hunk.after_content);
    if !before.is_empty() || !after.is_empty() {
        let mut diff = String::new();
        before.lines().for_each(|line| {
            diff.push_str(&format!(
                "-{line}
"
            ))
        });
        after.lines().for_each(|line| {
            diff.push_str(&format!(
                "+{line}
"
            ))
        });
        text.push_str(&fenced("diff", &diff));
    }
    for row in &shown.history {
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let _ = write!(text, "\n- {} by {} ({}){reason}", state(row.state), row.by, row.channel);
    }
    text.trim_end().to_owned()
}

fn decided_text(decided: &DecidedShape) -> String {
    let with =
        |outcome: &str| decided.items.iter().filter(|item| item.outcome == outcome).collect::<Vec<_>>();
    let (mut text, roots) = (String::new(), decided.roots());
    let (done, queued, planned) = (with("done"), with("queued"), with("planned"));
    let verb = match decided.verb.as_str() {
        "accept" => "Accepted",
        "reject" => "Rejected",
        "undo" => "Took back",
        _ => "Made true again",
    };
    told(&mut text, verb, (&done, &roots));
    told(&mut text, "The agent works. When the turn ends this reverts", (&queued, &roots));
    told(&mut text, &format!("Would be done ({}):", decided.verb), (&planned, &roots));
    for item in with("refused") {
        let _ = writeln!(
            text,
            "- refused {}: {}",
            named(item, &roots),
            item.reason.as_deref().unwrap_or("refused")
        );
    }
    if !decided.left.is_empty() {
        let _ = writeln!(text, "- left alone: {}", reasons(&decided.left));
    }
    if text.is_empty() {
        text.push_str("There is nothing to do.");
    }
    text.trim_end().to_owned()
}

fn told(text: &mut String, verb: &str, (items, roots): (&[&ItemShape], &BTreeSet<&str>)) {
    if items.is_empty() {
        return;
    }
    let noun = if items.len() == 1 { "change" } else { "changes" };
    let _ = writeln!(text, "{verb} {} {noun}:\n", items.len());
    for item in items.iter().take(MOST_ITEMS) {
        let remark = item.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let _ = writeln!(text, "- {}{remark}", named(item, roots));
    }
    more(text, items.len());
}

fn named(item: &ItemShape, roots: &BTreeSet<&str>) -> String {
    let id = item.id.as_str();
    let path = named_path((&item.root, &item.path), roots);
    format!("`{}` {path}", id.get(..SHORT).unwrap_or(id)).trim_end().to_owned()
}

fn reasons(items: &[ItemShape]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    items.iter().for_each(|item| *counts.entry(item.reason.as_deref().unwrap_or("left")).or_default() += 1);
    let counts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} ({reason})")).collect();
    counts.join(", ")
}

fn status_text(status: &StatusShape) -> String {
    let queue = &status.queue;
    let mut text = format!(
        "{} to review, {} accepted, {} rejected, {} of others or contested.\n\n",
        queue.unreviewed, queue.accepted, queue.rejected, queue.external
    );
    let _ = writeln!(
        text,
        "- agent: {} {}",
        status.agent.name,
        status.agent.version.as_deref().unwrap_or_default()
    );
    if let Some(mode) = &status.mode {
        let _ = writeln!(text, "- mode: {mode}");
    }
    if let Some(held) = status.held() {
        let _ = writeln!(text, "- held: {held} until that is reviewed");
    }
    if !status.gated && !status.warnings.iter().any(|warning| warning.starts_with("not gated")) {
        let _ = writeln!(text, "- {NOT_GATED}");
    }
    if status.notes_pending > 0 {
        text.push_str("- a note goes with your next prompt\n");
    }
    for root in &status.roots {
        let degraded = root.degraded.as_ref().map(|why| format!(", degraded: {why}")).unwrap_or_default();
        let _ = writeln!(text, "- {} ({}){degraded}", root.root, root.kind);
    }
    if status.gaps > 0 {
        let _ = writeln!(text, "- {} at the disk failed", counted(status.gaps as usize, "look"));
    }
    status.warnings.iter().for_each(|warning| text.push_str(&format!("- {warning}\n")));
    text.trim_end().to_owned()
}

fn rebased_text(roots: &[DegradedShape]) -> String {
    let mut text = String::from("The files as they stand are the base now:\n");
    for root in roots {
        let degraded =
            root.degraded.as_ref().map(|why| format!(", still degraded: {why}")).unwrap_or_default();
        let _ = write!(text, "\n- {}{degraded}", root.root);
    }
    text
}

fn patch_text(patch: &PatchText) -> String {
    match (patch.base64, patch.text.is_empty()) {
        (_, true) => "There is no difference.".to_owned(),
        (true, false) => "The patch is not text: `hunkgate diff` writes it.".to_owned(),
        (false, false) => fenced("diff", &patch.text),
    }
}

fn blame_text(blame: &BlameShape) -> String {
    let mut text = String::new();
    for line in &blame.lines {
        let call = line.calls.first().map(|call| call.tool_call_id.as_str());
        let _ =
            writeln!(text, "{:>5} {:<16} {}", line.line, cut(call.unwrap_or(&line.author), 16), line.text);
    }
    fenced("text", &text)
}

fn problem_text(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{}.\n\n{}.", capital(&problem.message), capital(hint)),
        None => format!("{}.", capital(&problem.message)),
    }
}

/// Names the degraded roots, when there are any.
pub(super) fn degraded_text(roots: &[DegradedShape]) -> String {
    let named = roots.iter().filter_map(|root| root.degraded.as_ref().map(|why| (&root.root, why)));
    named.map(|(root, why)| format!("- degraded: {root}: {why}\n")).collect()
}

fn lines_of(comment: &CommentShape, roots: &BTreeSet<&str>) -> String {
    let path = named_path((&comment.root, &comment.path), roots);
    match comment.line_start == comment.line_end {
        true => format!("{path}:{}", comment.line_start),
        false => format!("{path}:{}-{}", comment.line_start, comment.line_end),
    }
}

fn state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Unreviewed => "unreviewed",
        ReviewState::Accepted => "accepted",
        ReviewState::Rejected => "rejected",
    }
}

fn more(text: &mut String, all: usize) {
    if all > MOST_ITEMS {
        let _ = writeln!(text, "- and {} more", all - MOST_ITEMS);
    }
}

/// Puts text in a fence that it cannot close.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let all = text.lines().count();
    let mut body: String = text.lines().take(MOST_LINES).flat_map(|line| [line, "\n"]).collect();
    if all > MOST_LINES {
        let _ = writeln!(body, "… and {} more", counted(all - MOST_LINES, "line"));
    }
    format!("{fence}{language}\n{body}{fence}\n")
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
