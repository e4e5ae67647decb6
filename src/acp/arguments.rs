//! What the arguments of a tool can do by their names: one that takes a path and a range of lines has nothing to write with.

use crate::wire::Raw;

/// What the arguments say that were told of a call. A later message may tell more, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arguments {
    /// None were told.
    #[default]
    Untold,
    /// Each is one that readers take, and one says what is read: a tool of a kind that reads has nothing to write with.
    OfAReader,
    /// There are others, or something that is no object was told.
    Others,
}

/// What is read.
const PLACES: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filepath",
    "filename",
    "absolute_path",
    "target_file",
    "relative_path",
    "dir",
    "directory",
    "dir_path",
    "pattern",
];

/// Which part of it, and how it is told.
const PARTS: [&str; 21] = [
    "offset",
    "limit",
    "line",
    "line_offset",
    "n_lines",
    "start",
    "end",
    "start_line",
    "end_line",
    "max_lines",
    "view_range",
    "include",
    "exclude",
    "glob",
    "recursive",
    "depth",
    "max_depth",
    "max_results",
    "head_limit",
    "case_sensitive",
    "output_mode",
];

impl Arguments {
    /// Reads `rawInput`. An absent one and an empty object tell nothing.
    pub(crate) fn read(input: Option<Raw<'_>>) -> Self {
        let Some(input) = input.filter(|input| !input.is_null()) else { return Self::Untold };
        if !input.is_object() {
            return Self::Others;
        }
        let mut says = Self::Untold;
        for (name, value) in input.members().filter(|(_, value)| !value.is_null()) {
            let name = snake(&name);
            if PLACES.contains(&name.as_str()) {
                says = says.max(Self::OfAReader);
            } else if !PARTS.contains(&name.as_str()) && !is_view(&name, value) {
                return Self::Others;
            }
        }
        // A range of nothing that is named proves nothing.
        if says == Self::Untold && input.members().next().is_some() { Self::Others } else { says }
    }
}

/// The one tool of openhands that views and edits says which it does.
fn is_view(name: &str, value: Raw<'_>) -> bool {
    name == "command" && value.text().is_some_and(|word| word == "view")
}

/// Returns a name as `two_words`, however it was written.
fn snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(input: &Value) -> Arguments {
        let text = input.to_string();
        Arguments::read(Raw::parse(&text))
    }

    #[test]
    fn a_place_and_a_part_of_it_are_what_readers_take() {
        for input in [
            json!({ "path": "/w/a" }),
            json!({ "filePath": "/w/a", "offset": 3, "limit": 20 }),
            json!({ "absolute_path": "/w/a", "start_line": 1, "end_line": 9 }),
            json!({ "command": "view", "path": "/w/a", "view_range": [1, 9], "file_text": null, "old_str": null }),
            json!({ "pattern": "fn main", "path": "/w", "glob": "*.rs", "output_mode": "content" }),
        ] {
            assert_eq!(told(&input), Arguments::OfAReader, "{input}");
        }
    }

    #[test]
    fn anything_else_is_no_readers() {
        for input in [
            json!({ "path": "/w/a", "content": "x" }),
            json!({ "command": "cat a", "path": "/w" }),
            json!({ "command": ["cat", "a"] }),
            json!({ "command": "create", "path": "/w/a" }),
            json!({ "path": "/w/a.db", "query": "DROP TABLE t" }),
            json!({ "path": "/w/a", "output": "/w/b" }),
            json!({ "limit": 3 }),
            json!("cat a"),
            json!(["cat", "a"]),
        ] {
            assert_eq!(told(&input), Arguments::Others, "{input}");
        }
        assert_eq!(told(&json!({})), Arguments::Untold);
        assert_eq!(told(&Value::Null), Arguments::Untold);
        assert_eq!(Arguments::read(None), Arguments::Untold);
    }
}
