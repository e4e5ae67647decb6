//! A verdict for people: the word, then each simple command with what was said about it.

use super::style::{Style, Tone};
use crate::policy::{ReasonShape, VerdictShape};

/// Writes a verdict.
pub fn verdict(style: &Style, shape: &VerdictShape) -> String {
    let word = |kind: &str| kind.replace('_', " ");
    let class = word(&name(&shape.class));
    let floor = match name(&shape.floor).as_str() {
        "none" => String::new(),
        strength => format!(", floor: {strength}"),
    };
    let tone = tone(shape.verdict);
    let mut out = format!(
        "{}  {}\n",
        style.tone(tone, shape.verdict),
        format_args!("{class}, {}{floor}", name(&shape.risk))
    );
    for reason in shape.reasons.iter().filter(|reason| reason.part.is_none()) {
        out.push_str(&line(style, reason));
    }
    for (at, command) in shape.plan.iter().enumerate() {
        out.push_str(&format!("  {}\n", style.tone(Tone::Title, command.as_str())));
        for reason in shape.reasons.iter().filter(|reason| reason.part == Some(at)) {
            out.push_str(&format!("  {}", line(style, reason)));
        }
    }
    out
}

fn line(style: &Style, reason: &ReasonShape) -> String {
    let wants = style.tone(tone(reason.wants), reason.wants);
    let says = style.tone(Tone::Faint, reason.says.as_str());
    format!("  {wants}  {says}\n")
}

fn tone(verdict: &str) -> Tone {
    match verdict {
        "allow" => Tone::Added,
        "deny" => Tone::Removed,
        _ => Tone::Notice,
    }
}

/// The word of the documented JSON.
fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
