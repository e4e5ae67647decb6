//! Who wrote each line.

use super::style::{Style, Tone, brief, harmless};
use crate::ledger::{BlameLineShape, BlameShape};

/// The widest name of an author.
const AUTHOR_WIDTH: usize = 34;

/// Writes a file with the author of each line before it.
pub(super) fn blame(style: &Style, blame: &BlameShape) -> String {
    let width = blame.lines.len().to_string().len();
    let mut text = format!("{}\n", style.tone(Tone::Title, &blame.path));
    for line in &blame.lines {
        let who = format!("{:<AUTHOR_WIDTH$}", author(line));
        let tone = if line.author == "call" { Tone::Name } else { Tone::Faint };
        text += &format!("{:>width$}  {}  {}\n", line.line, style.tone(tone, &who), harmless(&line.text));
    }
    text
}

fn author(line: &BlameLineShape) -> String {
    let grade = line.grade.map(|grade| grade.as_str()).unwrap_or_default();
    match (line.calls.first(), line.author.as_str()) {
        (Some(call), _) => {
            let name = if call.title.is_empty() { call.tool_call_id.as_str() } else { &call.title };
            let more =
                if line.calls.len() > 1 { format!(" +{}", line.calls.len() - 1) } else { String::new() };
            format!("{}{more} ({grade})", brief(name, AUTHOR_WIDTH - 12 - more.len()))
        }
        (None, "base") => String::new(),
        (None, _) => grade.to_owned(),
    }
}
