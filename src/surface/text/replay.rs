//! What rules would have said of the recorded past, for people.

use super::style::{Style, Tone, harmless};
use crate::surface::replay::ReplayShape;
use std::fmt::Write as _;

/// Writes what rules would have said.
pub(in crate::surface) fn replay(style: &Style, past: &ReplayShape) -> String {
    let count = |kind: &str| past.counts.get(kind).copied().unwrap_or_default();
    let mut text = format!("{} judged anew: {} as they were\n", past.judged, count("same"));
    for (kind, says) in [
        ("saved", "questions that would not have been asked"),
        ("missed", "that were refused and would pass"),
        ("refused", "that were allowed and would be refused"),
        ("asked", "more questions"),
        ("caught", "that passed unasked and would be refused"),
    ] {
        if count(kind) > 0 {
            let _ = writeln!(text, "{:>6} {kind}: {says}", count(kind));
        }
    }
    for item in &past.items {
        let about = if item.approximate { " (approximate: a part was replaced)" } else { "" };
        let wanted = harmless(&item.wanted);
        let because = harmless(item.because.as_str());
        let _ = writeln!(
            text,
            "{} {wanted}: {}, {because}{about}",
            style.tone(Tone::Faint, &format!("{:<8}", item.kind)),
            item.now
        );
    }
    text
}
