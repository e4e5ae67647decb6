//! What became of a decision command.

use super::listing::state_word;
use super::style::{Style, Tone, count, harmless};
use crate::ledger::{DecidedShape, ItemShape, named_path};

/// Writes what became of each item, and a sentence over all.
pub(super) fn decided(style: &Style, decided: &DecidedShape) -> String {
    let mut text = format!("{}\n", style.tone(Tone::Title, &headline(decided)));
    let roots = decided.roots();
    for row in decided.items.iter().chain(&decided.left) {
        let path = named_path((&row.root, &row.path), &roots);
        text += &item(style, &decided.verb, (row, &path));
    }
    text
}

fn headline(decided: &DecidedShape) -> String {
    let of = |outcome: &str| decided.items.iter().filter(|item| item.outcome == outcome).count();
    let refused = of("refused");
    let done = decided.items.len() - refused;
    let mut text = format!("{}: {}", decided.verb, count(done, "hunk"));
    if refused > 0 {
        text += &format!(", {refused} refused");
    }
    if decided.dry_run {
        text += " (dry run: nothing was changed)";
    } else if decided.queued {
        text += " (queued: the agent is at work, it happens when the turn ends)";
    }
    text
}

fn item(style: &Style, verb: &str, (item, path): (&ItemShape, &str)) -> String {
    let planned = format!("would {verb}");
    let (tone, word) = match item.outcome.as_str() {
        "refused" => (Tone::Notice, "refused"),
        "left" => (Tone::Faint, "left"),
        "queued" => (Tone::Removed, "queued"),
        "planned" => (Tone::Notice, planned.as_str()),
        _ => (Tone::Added, state_word(item.state)),
    };
    let id = item.id.as_str();
    let reason = item.reason.as_ref().map(|reason| format!(": {}", harmless(reason))).unwrap_or_default();
    format!(
        "  {}  {}  {}{reason}\n",
        style.tone(Tone::Name, id.get(..8).unwrap_or(id)),
        harmless(path),
        style.tone(tone, word),
    )
}
