//! What a transcript must not show: secrets, and where a person's home is.

use crate::ledger::Redactor;
use std::path::Path;

/// What stands where a secret stood.
const HIDDEN: &str = "HIDDEN";
/// Words in a name that make its value a secret.
const SECRET_NAMES: &[&str] =
    &["token", "secret", "password", "passwd", "apikey", "api_key", "api-key", "authorization", "cookie"];
/// How secrets of known kinds begin.
const SECRET_STARTS: &[&str] = &[
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "Bearer ",
];
/// A shorter run of characters behind a known beginning is a word, not a secret.
const SHORTEST: usize = 12;

/// Covers secrets in a line.
#[derive(Clone, Debug)]
pub(crate) struct Veil {
    home: Option<String>,
    /// Covers what the person's own patterns match.
    own: Option<Redactor>,
}

impl Veil {
    /// Makes a veil that also covers this home directory.
    pub(crate) fn new(home: Option<&Path>) -> Self {
        let home = home.map(|home| home.to_string_lossy().into_owned()).filter(|home| home.len() > 1);
        Self { home, own: None }
    }

    /// Also covers what the person's own patterns match.
    pub(crate) fn and(self, own: Redactor) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Returns the text with secrets covered.
    pub(crate) fn over(&self, text: &str) -> String {
        let text = match &self.home {
            Some(home) => text.replace(home.as_str(), "/home/user"),
            None => text.to_owned(),
        };
        let text = match &self.own {
            Some(own) => own.covered(&text, HIDDEN),
            None => text,
        };
        cover_named(&cover_flags(&cover_variables(&cover_users(&cover_known(&text)))))
    }
}

/// Covers secrets of known kinds.
fn cover_known(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut fresh = true;
    while let Some(next) = rest.chars().next() {
        let start = SECRET_STARTS.iter().find(|start| fresh && rest.starts_with(**start));
        let length = start.map_or(0, |start| start.len() + run(&rest[start.len()..]));
        if start.is_some_and(|start| length >= start.len() + SHORTEST) {
            out.push_str(HIDDEN);
            rest = &rest[length..];
            fresh = false;
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
            fresh = !is_secret_char(next);
        }
    }
    out
}

/// Covers `user:password` in `scheme://user:password@host`.
fn cover_users(text: &str) -> String {
    covered(
        text,
        text.match_indices("://").filter_map(|(at, _)| {
            let rest = &text[at + 3..];
            let end =
                rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/' | '\\' | '?' | '#'));
            let user = rest[..end.unwrap_or(rest.len())].rfind('@')?;
            Some((at + 3, at + 3 + user))
        }),
    )
}

/// Covers the values of variables and headers as ACP writes them: `"name":"X","value":"…"`.
fn cover_variables(text: &str) -> String {
    const NAME: &str = "\"name\":\"";
    const VALUE: &str = "\",\"value\":\"";
    covered(
        text,
        text.match_indices(NAME).filter_map(|(at, _)| {
            let name = at + NAME.len();
            let value = name + text[name..].find('"')?;
            let from = value + text[value..].strip_prefix(VALUE).map(|_| VALUE.len())?;
            Some((from, from + text[from..].find('"')?))
        }),
    )
}

/// Covers what follows a flag that says it is secret: `--password x`, `"--password","x"`.
fn cover_flags(text: &str) -> String {
    covered(
        text,
        text.match_indices("--").filter_map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))?;
            let name = rest[..end].to_ascii_lowercase();
            SECRET_NAMES.iter().any(|secret| name.contains(secret)).then_some(())?;
            let gap =
                ["\",\"", " "].iter().find_map(|gap| rest[end..].strip_prefix(gap).map(|_| gap.len()))?;
            let from = at + end + gap;
            let length = text[from..].find(['"', '\\', ' ', '\n'])?;
            (!text[from..].starts_with('-')).then_some((from, from + length))
        }),
    )
}

/// Covers stretches of a text, which come in order.
fn covered(text: &str, stretches: impl Iterator<Item = (usize, usize)>) -> String {
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (from, to) in stretches.filter(|(from, to)| from < to) {
        if from < copied {
            continue;
        }
        out.push_str(&text[copied..from]);
        out.push_str(HIDDEN);
        copied = to;
    }
    out.push_str(&text[copied..]);
    out
}

/// Covers the value behind a name that says it is secret: `NAME=value`, `"name":"value"`, `name: value`.
fn cover_named(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for name in ends_of_secret_names(&lower) {
        if name < copied {
            continue;
        }
        let behind = &text[name..];
        let gap = behind.len() - behind.trim_start_matches(['"', '\\', ' ']).len();
        let Some(value) = behind[gap..].strip_prefix([':', '=']) else { continue };
        let lead = value.len() - value.trim_start_matches(['"', '\\', ' ']).len();
        let from = name + gap + 1 + lead;
        let length = value[lead..].find(['"', '\\', ' ', ',', '}', ']', '\n']).unwrap_or(value.len() - lead);
        if length == 0 || text[from..].starts_with(['{', '[']) || is_plain(&text[from..from + length]) {
            continue;
        }
        out.push_str(&text[copied..from]);
        out.push_str(HIDDEN);
        copied = from + length;
    }
    out.push_str(&text[copied..]);
    out
}

/// Says whether a value is a number or a JSON word: a count of tokens is no token.
fn is_plain(value: &str) -> bool {
    matches!(value, "true" | "false" | "null") || value.parse::<f64>().is_ok()
}

/// Where the names end that say their value is secret, ascending.
fn ends_of_secret_names(lower: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = SECRET_NAMES
        .iter()
        .flat_map(|name| lower.match_indices(name).map(|(at, name)| at + name.len()))
        .map(|end| end + lower[end..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(0))
        .collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn run(text: &str) -> usize {
    text.find(|c| !is_secret_char(c)).unwrap_or(text.len())
}

fn is_secret_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_secrets_are_covered_and_words_are_not() {
        let veil = Veil::new(Some(Path::new("/home/me")));
        for (plain, covered) in [
            (r#"{"a":"sk-abcdefghijklmnop","b":1}"#, r#"{"a":"HIDDEN","b":1}"#),
            ("Authorization: Bearer abcdef", "Authorization: HIDDEN abcdef"),
            (r#"{"Authorization":"Bearer abcdefghijkl.mnopqr"}"#, r#"{"Authorization":"HIDDEN"}"#),
            (
                r#"{"name":"X","env":{"GITHUB_TOKEN":"abc def"}}"#,
                r#"{"name":"X","env":{"GITHUB_TOKEN":"HIDDEN def"}}"#,
            ),
            ("export API_KEY=hunter2 && run", "export API_KEY=HIDDEN && run"),
            (r#"{"inputTokens":12,"path":"/home/me/a"}"#, r#"{"inputTokens":12,"path":"/home/user/a"}"#),
            ("git clone https://me:pw@host/x", "git clone https://HIDDEN@host/x"),
            (r#"["mysql","--password","pw"]"#, r#"["mysql","--password","HIDDEN"]"#),
            ("mysql --password pw -h", "mysql --password HIDDEN -h"),
            (r#"{"name":"X","value":"pw"}"#, r#"{"name":"X","value":"HIDDEN"}"#),
            ("a task-list and risk-averse", "a task-list and risk-averse"),
        ] {
            assert_eq!(veil.over(plain), covered);
        }
    }

    #[test]
    fn covering_twice_is_covering_once() {
        let veil = Veil::new(None);
        let once = veil.over(r#"{"password":"p","x":"ghp_abcdefghijklmnop","secret" : "s"}"#);
        assert_eq!(veil.over(&once), once);
    }
}
