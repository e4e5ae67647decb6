//! Which file names hold secrets.

use crate::base::RepoPath;

/// Patterns over file names (rulings.md 8): `*` stands for any bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    hide: Vec<String>,
    but: Vec<String>,
}

impl Default for Patterns {
    fn default() -> Self {
        const HIDE: &[&str] = &[
            ".env",
            ".env.*",
            "*.pem",
            "*.key",
            "*.p12",
            "*.pfx",
            "id_rsa*",
            "id_ed25519*",
            ".netrc",
            ".npmrc",
            ".pypirc",
            "credentials*",
            "*.kdbx",
            "*secret*.json",
            "*secret*.yml",
            "*secret*.yaml",
            "*secret*.toml",
        ];
        const BUT: &[&str] = &[".env.example", ".env.sample", ".env.template"];
        Self::new(HIDE.iter().copied(), BUT.iter().copied())
    }
}

impl Patterns {
    /// Takes the patterns that hide a name, and those that show it all the same.
    pub fn new<'a>(hide: impl IntoIterator<Item = &'a str>, but: impl IntoIterator<Item = &'a str>) -> Self {
        let owned = |text: &str| text.to_owned();
        Self { hide: hide.into_iter().map(owned).collect(), but: but.into_iter().map(owned).collect() }
    }

    /// Adds names to hide.
    #[must_use]
    pub fn and<'a>(mut self, hide: impl IntoIterator<Item = &'a str>) -> Self {
        self.hide.extend(hide.into_iter().map(str::to_owned));
        self
    }

    /// Says whether the content of `path` is withheld.
    pub fn hides(&self, path: &RepoPath) -> bool {
        self.hides_name(path.name())
    }

    /// Says whether the content of a file of this name is withheld.
    pub fn hides_name(&self, name: &[u8]) -> bool {
        let matches =
            |patterns: &[String]| patterns.iter().any(|pattern| star_match(pattern.as_bytes(), name));
        matches(&self.hide) && !matches(&self.but)
    }
}

/// Matches `*` against any run of bytes, everything else against itself, ASCII letters in any case.
///
/// A project may bring patterns: the time is bounded by the product of both lengths, whatever they are.
fn star_match(pattern: &[u8], name: &[u8]) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(last) = pieces.next_back() else { return name.eq_ignore_ascii_case(first) };
    let Some(mut rest) = after_prefix(name, first) else { return false };
    for piece in pieces {
        // The first place that fits leaves the most for what follows.
        let Some(after) = (0..=rest.len()).find_map(|at| after_prefix(&rest[at..], piece)) else {
            return false;
        };
        rest = after;
    }
    rest.len().checked_sub(last.len()).is_some_and(|at| rest[at..].eq_ignore_ascii_case(last))
}

fn after_prefix<'n>(name: &'n [u8], prefix: &[u8]) -> Option<&'n [u8]> {
    let (head, rest) = name.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_withheld_and_their_examples_are_not() {
        let patterns = Patterns::default();
        for hidden in [".env", ".env.local", "tls.PEM", "id_rsa.old", "my-secrets.json", "credentials"] {
            assert!(patterns.hides_name(hidden.as_bytes()), "{hidden}");
        }
        for shown in [".env.example", "environment", "keys.rs", "secret.rs", "monkey"] {
            assert!(!patterns.hides_name(shown.as_bytes()), "{shown}");
        }
    }
    #[test]
    fn a_star_stands_for_any_bytes_and_costs_no_more_than_reading_them() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*ab", "abab", true),
            ("*ab*b", "ab", false),
            ("*a*b*", "xbxaxb", true),
            ("*a*b*", "xbxa", false),
            ("**", "x", true),
        ] {
            assert_eq!(star_match(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        let pattern = "*a".repeat(20) + "*b";
        assert!(!star_match(pattern.as_bytes(), "a".repeat(255).as_bytes()));
    }
}
