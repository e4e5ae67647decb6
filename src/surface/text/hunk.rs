//! One hunk or entry as a stretch of unified diff under a line that says whose it is.

use super::style::{Style, Tone, brief, harmless};
use crate::ledger::{AuthorLinesShape, CallRow, EntryShape, Grade, HunkShape, RangeShape, ReviewState, Side};
use crate::surface::sides::{self, Lines, Sides};
use std::ops::Range;

/// How much of a hunk is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The first lines of each side.
    Beginning,
    /// All of it.
    Whole,
}

/// Lines of one side that a listing shows of a hunk.
const SHOWN_LINES: usize = 20;

/// Runs of lines that are named of a mixed hunk.
const NAMED_PARTS: usize = 12;

/// Writes the line that names a hunk, and its diff beneath.
pub(super) fn hunk(style: &Style, hunk: &HunkShape, id: &str, extent: Extent) -> String {
    let mut text = format!(
        "  {}  {}  {}  {}\n",
        style.tone(Tone::Name, id),
        style.tone(Tone::Faint, &header(hunk)),
        state(style, hunk),
        credit(style, hunk),
    );
    for remark in remarks(hunk) {
        text += &format!("    {}\n", style.tone(Tone::Notice, &remark));
    }
    text + &body(style, hunk, extent)
}

/// Returns git's hunk header, or what the entry is.
fn header(hunk: &HunkShape) -> String {
    let EntryShape { kind, old_path, old_mode, new_mode, old_target, new_target } = &hunk.entry;
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    match kind.as_str() {
        "text" => format!("@@ -{} +{} @@", span(hunk.base_range), span(hunk.current_range)),
        "mode" | "type" => format!("{kind} {} → {}", or_none(old_mode), or_none(new_mode)),
        "symlink" => format!("symlink {} → {}", or_none(old_target), or_none(new_target)),
        "rename" => format!("renamed from {}", or_none(old_path)),
        "empty" => "empty file".to_owned(),
        "eol" => "line endings".to_owned(),
        other => other.to_owned(),
    }
}

/// Writes a half-open range as git does.
fn span(range: RangeShape) -> String {
    let lines = range.end.saturating_sub(range.start);
    let start = if lines == 0 { range.start.saturating_sub(1) } else { range.start };
    if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
}

fn state(style: &Style, hunk: &HunkShape) -> String {
    match hunk.state {
        ReviewState::Unreviewed if hunk.reject_pending => {
            style.tone(Tone::Removed, "reject at the turn's end")
        }
        ReviewState::Unreviewed if hunk.reapplied => style.tone(Tone::Notice, "reapplied"),
        ReviewState::Unreviewed => style.tone(Tone::Notice, "unreviewed"),
        ReviewState::Accepted => style.tone(Tone::Added, "accepted"),
        ReviewState::Rejected => style.tone(Tone::Removed, "rejected"),
    }
}

/// Says who, and on what evidence.
fn credit(style: &Style, hunk: &HunkShape) -> String {
    let mut parts = vec![style.tone(Tone::Title, grade_words(hunk.evidence.grade))];
    if !hunk.approved_differs.is_empty() {
        parts.push(style.tone(Tone::Notice, "not what was approved"));
    }
    parts.extend(hunk.calls.iter().map(call));
    if hunk.calls.is_empty()
        && let Some(turn) = hunk.evidence.turn
    {
        parts.push(format!("turn {turn}"));
    }
    parts.join(" · ")
}

/// Returns the words for a grade.
pub(in crate::surface) fn grade_words(grade: Grade) -> &'static str {
    match grade {
        Grade::InTurn => "in turn",
        Grade::BaseUnknown => "base unknown",
        Grade::Mediated
        | Grade::Verified
        | Grade::Sole
        | Grade::Ordered
        | Grade::Contested
        | Grade::External => grade.as_str(),
    }
}

/// Names a call for people.
pub(super) fn call(row: &CallRow) -> String {
    let turn = row.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let id = harmless(row.tool_call_id.as_str());
    if row.title.is_empty() {
        return format!("{id} ({}{turn})", row.kind.as_str());
    }
    format!("{} ({}{turn}, {id})", brief(&row.title, 60), row.kind.as_str())
}

fn remarks(hunk: &HunkShape) -> Vec<String> {
    let mut remarks = Vec::new();
    if hunk.mixed {
        remarks.push(format!("mixed: some of these lines are not the agent's{}", parts(hunk)));
    }
    if !hunk.evidence.candidates.is_empty() {
        let names: Vec<_> = hunk.evidence.candidates.iter().map(call).collect();
        remarks.push(format!("one of: {}", names.join("; ")));
    }
    for other in &hunk.evidence.sessions {
        let call = other.tool_call_id.as_ref().map(|call| format!(", call {call}")).unwrap_or_default();
        remarks.push(format!("by another session: {} of {}{call}", other.session_id, other.agent));
    }
    if hunk.evidence.vcs {
        remarks.push("HEAD moved and this is its content".to_owned());
    }
    remarks.extend(hunk.locked.as_ref().map(|why| format!("cannot be rejected: {why}")));
    remarks
}

/// Names the author of each run of lines of a mixed hunk: what a reject can take out, and what it leaves.
fn parts(hunk: &HunkShape) -> String {
    let part = |run: &AuthorLinesShape| {
        let sign = if run.side == Side::Before { '-' } else { '+' };
        let last = run.end.saturating_sub(1);
        let lines = if last > run.start { format!("{}–{last}", run.start) } else { run.start.to_string() };
        let calls: Vec<_> = run.calls.iter().map(|call| harmless(call.tool_call_id.as_str())).collect();
        let who = if calls.is_empty() { grade_words(run.grade).to_owned() } else { calls.join(" and ") };
        format!("{sign}{lines} {who}")
    };
    let mut parts: Vec<_> = hunk.author_lines.iter().take(NAMED_PARTS).map(part).collect();
    if hunk.author_lines.len() > NAMED_PARTS {
        parts.push(format!("and {} more", hunk.author_lines.len() - NAMED_PARTS));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn body(style: &Style, hunk: &HunkShape, extent: Extent) -> String {
    let (before, after) = (Lines::of(sides::before(hunk)), Lines::of(sides::after(hunk)));
    if hunk.folded && extent == Extent::Beginning {
        let line = format!("folded: -{} +{} lines", before.len(), after.len());
        return format!("    {}\n", style.tone(Tone::Faint, &line));
    }
    let both = Sides::of(hunk, &before, &after);
    side(style, Tone::Removed, (&before, extent), |line| both.removed(line))
        + &side(style, Tone::Added, (&after, extent), |line| both.added(line))
}

fn side<'h>(
    style: &Style,
    tone: Tone,
    (lines, extent): (&Lines, Extent),
    line: impl Fn(usize) -> (&'h str, Vec<Range<usize>>),
) -> String {
    let sign = if tone == Tone::Added { "+" } else { "-" };
    let shown = match extent {
        Extent::Beginning if lines.len() > SHOWN_LINES + 1 => SHOWN_LINES,
        Extent::Beginning | Extent::Whole => lines.len(),
    };
    let mut text = String::new();
    for index in 0..shown {
        let (bare, marks) = line(index);
        text += &match marks.as_slice() {
            [] => format!("    {}\n", style.tone(tone, &format!("{sign}{bare}"))),
            marks => format!("    {}{}\n", style.tone(tone, sign), style.marked(tone, bare, marks)),
        };
        if lines.is_torn(index) {
            text += &format!("    {}\n", style.tone(Tone::Faint, "\\ No newline at end of file"));
        }
    }
    if shown < lines.len() {
        let rest = format!("{sign} … {} more lines", lines.len() - shown);
        text += &format!("    {}\n", style.tone(Tone::Faint, &rest));
    }
    text
}
