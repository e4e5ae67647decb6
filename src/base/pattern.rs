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
fn star_match(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) if !rest.contains(&b'*') => {
            name.len().checked_sub(rest.len()).is_some_and(|at| name[at..].eq_ignore_ascii_case(rest))
        }
        Some((b'*', rest)) => (0..=name.len()).any(|at| star_match(rest, &name[at..])),
        Some((first, rest)) => {
            name.first().is_some_and(|byte| byte.eq_ignore_ascii_case(first)) && star_match(rest, &name[1..])
        }
    }
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
}
