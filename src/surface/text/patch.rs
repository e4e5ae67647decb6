//! A git patch for a terminal. A pipe gets its exact bytes instead.

use super::style::{Style, Tone};

/// Writes a patch line by line, coloured and harmless.
pub fn patch(style: &Style, text: &str) -> String {
    text.lines().map(|line| style.tone(tone(line), line) + "\n").collect()
}

fn tone(line: &str) -> Tone {
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    match line {
        _ if begins(&[
            "diff ",
            "index ",
            "--- ",
            "+++ ",
            "old mode",
            "new mode",
            "rename ",
            "similarity ",
        ]) =>
        {
            Tone::Title
        }
        _ if begins(&["new file", "deleted file", "GIT binary"]) => Tone::Title,
        _ if line.starts_with("@@") => Tone::Name,
        _ if line.starts_with('+') => Tone::Added,
        _ if line.starts_with('-') => Tone::Removed,
        _ if line.starts_with('\\') => Tone::Faint,
        _ => Tone::Plain,
    }
}
