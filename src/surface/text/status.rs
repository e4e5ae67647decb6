//! What is in force, and what a person should know.

use super::style::{Style, Tone, count, harmless};
use crate::ledger::{NameShape, StatusShape};

/// Writes a status.
pub(super) fn status(style: &Style, status: &StatusShape) -> String {
    let queue = &status.queue;
    let mut rows = vec![
        ("session", harmless(&status.session_id)),
        ("agent", named(&status.agent)),
        ("client", named(&status.client)),
        ("protocol", status.protocol.to_string()),
        ("mode", status.mode.clone().unwrap_or_else(|| "none".to_owned())),
        ("policy", policy(status)),
        (
            "queue",
            format!(
                "{} unreviewed, {} accepted, {} rejected, {} with no call",
                queue.unreviewed, queue.accepted, queue.rejected, queue.external
            ),
        ),
    ];
    rows.extend(status.held().map(|held| ("held", held)));
    if status.notes_pending > 0 {
        let notes = count(status.notes_pending as usize, "note");
        rows.push(("note", format!("{notes} will go with the next prompt")));
    }
    if status.gaps > 0 {
        rows.push(("gaps", format!("{} could not be made", count(status.gaps as usize, "observation"))));
    }
    let mut text: String = rows.iter().map(|(name, value)| row(style, name, value)).collect();
    for root in &status.roots {
        text += &row(style, "root", &format!("{} ({}, {})", harmless(&root.root), root.kind, root.observing));
        if let Some(why) = &root.because {
            text += &row(style, "", why);
        }
        if root.watch_missed > 0 {
            let missed = count(usize::try_from(root.watch_missed).unwrap_or(usize::MAX), "change");
            text += &row(style, "", &format!("{missed} found of which no watch had told"));
        }
        if let Some(why) = &root.degraded {
            text += &row(style, "", &style.tone(Tone::Notice, &format!("degraded: {why}")));
        }
    }
    for warning in &status.warnings {
        text += &row(style, "warning", &style.tone(Tone::Notice, warning));
    }
    text
}

fn row(style: &Style, name: &str, value: &str) -> String {
    format!("{} {value}\n", style.tone(Tone::Faint, &format!("{name:<9}")))
}

fn named(name: &NameShape) -> String {
    let text = match &name.version {
        Some(version) => format!("{} {version}", name.name),
        None => name.name.clone(),
    };
    harmless(if text.is_empty() { "unknown" } else { &text })
}

/// Says what a policy comes to.
fn meaning(policy: &str) -> &'static str {
    match policy {
        "none" => "nothing is held, nothing asked",
        "pre_write" => "a write waits until its file is reviewed",
        _ => "changes are reviewed when the turn is over",
    }
}

fn policy(status: &StatusShape) -> String {
    let policy = &status.policy;
    let mut text = format!("{}: {}", policy.effective, meaning(&policy.effective));
    if policy.configured != policy.effective {
        text += &format!(
            "; {} ({}) needs [gate] hold and an agent that asks",
            policy.configured,
            meaning(&policy.configured)
        );
    }
    if !policy.enforced_on.is_empty() {
        text += &format!(", enforced on {}", policy.enforced_on.join(", "));
    }
    harmless(&text)
}
