//! Where a comment's lines are now: it follows them, or it is outdated; it never lands on other text.

use crate::diff::{Diff, LineMap, Text};
use crate::ledger::content::Body;
use crate::ledger::{Blobs, Comment, FileState, LineRange};

/// Returns the lines on which a comment stands in `current`; `None` when it is outdated.
pub(super) fn follow(comment: &Comment, current: Option<&FileState>, blobs: &dyn Blobs) -> Option<LineRange> {
    let now = text(current, blobs)?;
    let Some(anchor) = comment.anchor.as_ref() else { return still_there(comment, &now) };
    if current.is_some_and(|current| current.blob == anchor.blob) {
        return Some(comment.lines);
    }
    let Some(then) = text(Some(anchor), blobs) else { return still_there(comment, &now) };
    let map = LineMap::new(&Diff::of(&then, &now), then.len(), now.len());
    map.forward_span(comment.lines.into()).map(LineRange::from)
}

/// Without the file that it was made on, a comment stays only where the very text still stands at its lines.
fn still_there(comment: &Comment, now: &Text) -> Option<LineRange> {
    let lines = now.slice(comment.lines.into());
    let same = !lines.is_empty() && String::from_utf8_lossy(lines) == comment.excerpt;
    same.then_some(comment.lines)
}

fn text(state: Option<&FileState>, blobs: &dyn Blobs) -> Option<Text> {
    match Body::of(state, blobs) {
        Body::Text(text) => Some(text),
        Body::Absent | Body::Opaque { .. } | Body::Link(_) => None,
    }
}
