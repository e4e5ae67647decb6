//! Bodies of a bounded length.

use serde_json::Value;

/// Characters of a body.
const LONGEST: usize = 2_000;

/// The members that are bodies.
const BODIES: &[&str] = &[
    "before_content",
    "after_content",
    "display_before",
    "display_after",
    "body",
    "excerpt",
    "before",
    "after",
    "text",
    "note",
    "reason",
];

/// Cuts every body of a value, from `offset` characters on; what is cut says so.
pub(super) fn bodies(value: &mut Value, offset: usize) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if BODIES.contains(&name.as_str()) => {
                        if let Some(short) = cut(text, offset) {
                            *text = short;
                        }
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => {
                        bodies(member, offset);
                    }
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| bodies(item, offset)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Cuts a text; `None` where it stays as it is.
fn cut(text: &str, offset: usize) -> Option<String> {
    let length = text.chars().count();
    if length <= LONGEST {
        return None;
    }
    let from = offset.min(length);
    let shown: String = text.chars().skip(from).take(LONGEST).collect();
    let left = length.saturating_sub(from + LONGEST);
    let before = if from > 0 { format!("[{from} characters before]") } else { String::new() };
    let behind = if left > 0 { format!("[cut: {left} more characters]") } else { String::new() };
    Some(format!("{before}{shown}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_body_are_the_body() {
        let text: String = (0..4_500).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
        let first = cut(&text, 0).unwrap();
        assert!(
            first.starts_with(&text[..2_000]) && first.ends_with("[cut: 2500 more characters]"),
            "{first}"
        );
        let last = cut(&text, 4_000).unwrap();
        assert_eq!(last, format!("[4000 characters before]{}", &text[4_000..]));
        assert_eq!(cut("short", 0), None);
    }
}
