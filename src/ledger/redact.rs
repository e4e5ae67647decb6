//! What must not be stored, logged or shown: secrets in text, replaced by their kind and a keyed fingerprint.
//!
//! Best effort: it knows shapes, not secrets. What it has once replaced it leaves alone.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Text that went through a [`Redactor`]. Only this form of a request is stored, logged, listed or judged by others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Redacted(String);

impl Redacted {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a replaced secret looked like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Value,
    Header,
    Url,
    Token,
    Key,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Header => "header",
            Self::Url => "url",
            Self::Token => "token",
            Self::Key => "key",
        }
    }
}

/// Replaces secrets. The key makes fingerprints of short secrets useless to whoever guesses.
#[derive(Clone)]
pub struct Redactor {
    key: [u8; 32],
    extra: Vec<regex::Regex>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("extra", &self.extra.len()).finish_non_exhaustive()
    }
}

/// Begins what stands for a secret.
const OPEN: &str = "‹redacted ";
/// Ends it.
const CLOSE: char = '›';

/// Well-known beginnings of tokens, how many characters must follow, and nothing shorter is taken for one.
const TOKENS: &[(&str, usize)] = &[
    (concat!("gh", "p_"), 20),
    (concat!("gh", "o_"), 20),
    (concat!("gh", "u_"), 20),
    (concat!("gh", "s_"), 20),
    (concat!("gh", "r_"), 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    (concat!("sk", "-"), 16),
    (concat!("pk", "_live_"), 8),
    (concat!("sk", "_live_"), 8),
    (concat!("rk", "_live_"), 8),
    ("sk_test_", 8),
    ("AKIA", 12),
    ("ASIA", 12),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxa-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("AIza", 20),
    ("ya29.", 12),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("eyJ", 20),
];

/// Parts of names whose values are secrets.
const NAMES: &[&str] =
    &["pass", "pwd", "token", "secret", "key", "cred", "auth", "cookie", "session_id", "sessionid", "bearer"];

impl Redactor {
    /// Makes one with the key of this installation.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, extra: Vec::new() }
    }

    /// Also replaces whatever these patterns match.
    #[must_use]
    pub fn and(mut self, extra: impl IntoIterator<Item = regex::Regex>) -> Self {
        self.extra.extend(extra);
        self
    }

    /// Also replaces whatever these patterns match, as the configuration writes them.
    ///
    /// # Errors
    /// Which is no regular expression, or matches where nothing is.
    pub fn matching<'p>(self, patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, String> {
        let mut extra = Vec::new();
        for pattern in patterns {
            let built = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
            let regex = built.map_err(|error| {
                format!("{pattern} is no regular expression: {}", error.to_string().replace('\n', " "))
            })?;
            if regex.is_match("") {
                return Err(format!("{pattern} matches where nothing is"));
            }
            extra.push(regex);
        }
        Ok(self.and(extra))
    }

    /// Puts `with` in the place of what the person's own patterns match, and of nothing else.
    pub fn covered(&self, text: &str, with: &str) -> String {
        let over = |text: String, pattern: &regex::Regex| {
            let covers = |found: &regex::Captures<'_>| if found[0].is_empty() { "" } else { with }.to_owned();
            pattern.replace_all(&text, covers).into_owned()
        };
        self.extra.iter().fold(text.to_owned(), over)
    }

    /// Replaces the secrets of a text.
    pub fn redact(&self, text: &str) -> Redacted {
        let mut text = text.to_owned();
        for _ in 0..4 {
            let next = self.pass(&text);
            if next == text {
                break;
            }
            text = next;
        }
        Redacted(text)
    }

    /// Replaces a value that is a secret whatever it looks like, such as that of an environment variable.
    pub fn value(&self, text: &str) -> Redacted {
        if text.is_empty() || is_replacement(text) {
            return Redacted(text.to_owned());
        }
        Redacted(self.replacement(Kind::Value, text))
    }

    /// Replaces the secrets of a program's arguments, each in the light of the one before it.
    pub fn words(&self, argv: &[String]) -> Vec<Redacted> {
        let joined = self.redact(&argv.join("\t"));
        let apart: Vec<Redacted> =
            joined.as_str().split('\t').map(|word| Redacted(word.to_owned())).collect();
        if apart.len() == argv.len() { apart } else { vec![joined] }
    }

    /// Returns a keyed digest that identifies exactly these bytes, and tells nobody without the key what they are.
    pub fn digest(&self, bytes: &[u8]) -> String {
        format!("h1:{}", blake3::keyed_hash(&self.key, bytes).to_hex())
    }

    /// Returns the first eight hex digits of the keyed hash: equal for equal secrets, and for nobody without the key.
    pub fn fingerprint(&self, secret: &str) -> String {
        blake3::keyed_hash(&self.key, secret.as_bytes()).to_hex()[..8].to_owned()
    }

    fn replacement(&self, kind: Kind, secret: &str) -> String {
        format!("{OPEN}{} {}{CLOSE}", kind.word(), self.fingerprint(secret))
    }

    fn pass(&self, text: &str) -> String {
        let mut spans: Vec<(usize, usize, Kind)> = Vec::new();
        key_blocks(text, &mut spans);
        urls(text, &mut spans);
        headers(text, &mut spans);
        named_values(text, &mut spans);
        tokens(text, &mut spans);
        for pattern in &self.extra {
            spans.extend(
                pattern
                    .find_iter(text)
                    .filter(|it| !it.is_empty())
                    .map(|it| (it.start(), it.end(), Kind::Value)),
            );
        }
        let done = replaced(text);
        spans
            .retain(|(start, end, _)| start < end && !done.iter().any(|(from, to)| start < to && from < end));
        spans.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for (start, end, kind) in spans {
            if start < at {
                continue;
            }
            out.push_str(&text[at..start]);
            out.push_str(&self.replacement(kind, &text[start..end]));
            at = end;
        }
        out.push_str(&text[at..]);
        out
    }
}

fn is_replacement(text: &str) -> bool {
    replaced(text).first().is_some_and(|(from, to)| *from == 0 && *to == text.len())
}

/// Returns where a text holds what stands for a secret.
fn replaced(text: &str) -> Vec<(usize, usize)> {
    let starts = text.match_indices(OPEN).map(|(at, _)| at);
    starts
        .filter_map(|at| {
            let inner = &text[at + OPEN.len()..];
            let end = inner.find(CLOSE)?;
            let (kind, print) = inner[..end].split_once(' ')?;
            let known = ["value", "header", "url", "token", "key"].contains(&kind);
            let hex = print.len() == 8 && print.bytes().all(|byte| byte.is_ascii_hexdigit());
            (known && hex).then_some((at, at + OPEN.len() + end + CLOSE.len_utf8()))
        })
        .collect()
}

type Spans = Vec<(usize, usize, Kind)>;

/// `-----BEGIN … KEY-----` up to its end, or to the end of the text.
fn key_blocks(text: &str, spans: &mut Spans) {
    const BEGIN: &str = "-----BEGIN ";
    for (at, _) in text.match_indices(BEGIN) {
        let rest = &text[at..];
        let Some(label) = rest[BEGIN.len()..].split("-----").next() else { continue };
        if !label.ends_with("KEY") && !label.ends_with("KEY BLOCK") && label != "OPENSSH" {
            continue;
        }
        let end = rest.find("-----END ").map_or(text.len(), |end| {
            let line = &rest[end + 9..];
            at + end + 9 + line.find("-----").map_or(line.len(), |close| close + 5)
        });
        spans.push((at, end, Kind::Key));
    }
}

/// `scheme://user:password@host` and secret parameters of a query.
fn urls(text: &str, spans: &mut Spans) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let rest = &text[start..];
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`'))
            .unwrap_or(rest.len());
        let url = &rest[..end];
        let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
        if let Some(user) = authority.rfind('@').filter(|user| *user > 0) {
            spans.push((start, start + user, Kind::Url));
        }
    }
}

/// `Authorization: …`, `Cookie: …` up to the end of the line or the closing quote; `Bearer …` anywhere.
fn headers(text: &str, spans: &mut Spans) {
    const HEADERS: &[&str] = &[
        "authorization:",
        "proxy-authorization:",
        "cookie:",
        "set-cookie:",
        "x-api-key:",
        "api-key:",
        "x-auth-token:",
        "private-token:",
        "x-goog-api-key:",
    ];
    let lower = text.to_ascii_lowercase();
    for header in HEADERS {
        for (at, _) in lower.match_indices(header) {
            let start = at + header.len();
            let value = &text[start..];
            let skip = value.len() - value.trim_start_matches([' ', '\t']).len();
            let end = value.find(['\n', '\r', '"', '\'']).unwrap_or(value.len());
            spans.push((start + skip.min(end), start + end, Kind::Header));
        }
    }
    for scheme in ["bearer ", "basic "] {
        for (at, _) in lower.match_indices(scheme) {
            let start = at + scheme.len();
            let end = word_end(text, start);
            if end - start >= 8 {
                spans.push((start, end, Kind::Token));
            }
        }
    }
}

/// `NAME=value`, `--name=value`, `--name value`, `"name": "value"` where the name says that it is a secret.
fn named_values(text: &str, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let mut at = 0;
    while at < bytes.len() {
        if !is_name(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_name(bytes[at]) {
            at += 1;
        }
        let name = &text[start..at];
        if !is_secret_name(name) {
            continue;
        }
        if let Some((from, to)) = value_of(text, name, at) {
            spans.push((from, to, Kind::Value));
        }
    }
}

fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    // Words of which a secret word is only a part.
    const INNOCENT: &[&str] = &[
        "keyboard", "keyword", "monkey", "keyframe", "author", "authors", "compass", "bypass", "passthru",
        "passed", "passing", "hotkey", "turkey",
    ];
    NAMES.iter().any(|part| lower.contains(part))
        && !INNOCENT.iter().any(|word| lower.trim_matches('-') == *word)
}

/// Returns where the value of a name lies that ends at `at`.
fn value_of(text: &str, name: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let closing = rest.strip_prefix(['"', '\'']);
    let after = closing.unwrap_or(rest);
    let trimmed = after.trim_start_matches([' ', '\t']);
    let (mut from, flag) = if let Some(value) =
        trimmed.strip_prefix('=').or_else(|| trimmed.strip_prefix(':').filter(|_| closing.is_some()))
    {
        (text.len() - value.len(), false)
    } else if let Some(value) = rest.strip_prefix(':') {
        (text.len() - value.len(), false)
    } else if name.starts_with("--") && rest.starts_with([' ', '\t']) {
        (text.len() - trimmed.len(), true)
    } else {
        return None;
    };
    let value = &text[from..];
    let spaced = value.len() - value.trim_start_matches([' ', '\t']).len();
    if !flag && spaced > 0 && !rest.starts_with([' ', ':', '"', '\'']) {
        return None;
    }
    from += spaced;
    let value = &text[from..];
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = &value[1..];
        let end = inner.find(quote).unwrap_or(inner.len());
        return (end > 0).then_some((from + 1, from + 1 + end));
    }
    let end = word_end(text, from);
    let found = &text[from..end];
    // An option, a variable or a path separator is no value.
    let no_value = found.is_empty()
        || found.starts_with('$')
        || (flag && found.starts_with('-'))
        || found.starts_with("//");
    (!no_value).then_some((from, end))
}

fn word_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')' | '}' | ',' | '`' | '<' | '>' | '‹')
    };
    from + rest.find(ends).unwrap_or(rest.len())
}

fn tokens(text: &str, spans: &mut Spans) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    for (prefix, least) in TOKENS {
        for (at, _) in text.match_indices(prefix) {
            let begins = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
            let body = &text[at + prefix.len()..];
            let length = body.bytes().take_while(|byte| token(*byte)).count();
            if begins && length >= *least {
                spans.push((at, at + prefix.len() + length, Kind::Token));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redact(text: &str) -> String {
        Redactor::new([7; 32]).redact(text).to_string()
    }

    #[test]
    fn patterns_of_the_person_are_replaced_too_and_bad_ones_refused() {
        let redactor = Redactor::new([7; 32]).matching(["acme[0-9]+", "(?i)internal-[a-z]+"]).unwrap();
        let text = redactor.redact("see acme4711 at INTERNAL-host").to_string();
        assert!(!text.contains("4711") && !text.contains("INTERNAL-host"), "{text}");
        assert!(Redactor::new([7; 32]).matching(["("]).unwrap_err().contains("no regular expression"));
        assert!(Redactor::new([7; 32]).matching(["x*"]).is_err());
        let redactor = Redactor::new([7; 32]).matching([r"\b", "acme"]).unwrap();
        assert_eq!(redactor.covered("an acme", "HIDDEN"), "an HIDDEN");
    }

    #[test]
    fn known_shapes_are_replaced() {
        let token = format!("{}{}", concat!("gh", "p_"), "a".repeat(36));
        for (text, secret) in [
            ("API_KEY=hunter2 cargo run".to_owned(), "hunter2"),
            ("mysql --password hunter2 -h db".to_owned(), "hunter2"),
            ("mysql --password=hunter2".to_owned(), "hunter2"),
            ("export DB_PASS='hunt er2'; ls".to_owned(), "hunt er2"),
            ("curl -H 'Authorization: Bearer hunter2hunter2' https://x".to_owned(), "hunter2"),
            ("curl -H \"Cookie: sid=hunter2\" https://x".to_owned(), "hunter2"),
            ("git clone https://me:hunter2@example.org/x.git".to_owned(), "hunter2"),
            ("curl 'https://x/?access_token=hunter2&a=b'".to_owned(), "hunter2"),
            (format!("echo {token} | wc"), "aaaaaa"),
            ("{\"client_secret\": \"hunter2\", \"a\": 1}".to_owned(), "hunter2"),
            (
                format!(
                    "-----BEGIN {}-----\nhunter2\n-----END {}-----\nafter",
                    concat!("RSA PRIV", "ATE KEY"),
                    concat!("RSA PRIV", "ATE KEY")
                ),
                "hunter2",
            ),
        ] {
            let redacted = redact(&text);
            assert!(!redacted.contains(secret), "{redacted}");
            assert!(redacted.contains(OPEN), "{redacted}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "cargo test --locked",
            "git commit -m 'add a key handler'",
            "grep -rn token src/lexer.rs",
            "ls ~/.ssh",
            "https://example.org/a/b?c=d",
            "echo $API_KEY",
            "author=me",
            "",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn equal_secrets_have_equal_fingerprints_and_keys_part_them() {
        let (a, b) = (Redactor::new([1; 32]), Redactor::new([2; 32]));
        assert_eq!(a.value("s"), a.value("s"));
        assert_ne!(a.value("s"), a.value("t"));
        assert_ne!(a.value("s"), b.value("s"));
    }

    #[test]
    fn what_stands_around_a_secret_stays() {
        let redacted = redact("API_KEY=hunter2 cargo run");
        assert!(
            redacted.starts_with("API_KEY=‹redacted value ") && redacted.ends_with("› cargo run"),
            "{redacted}"
        );
    }

    proptest! {
        #[test]
        fn redacting_twice_is_redacting_once(text in "([a-z_-]{0,6}(key|pass|token|://|=|: |@|\"|'| |--|‹|›|Bearer |Cookie:|sk-)[a-zA-Z0-9=/ ]{0,24}){0,6}") {
            let redactor = Redactor::new([7; 32]);
            let once = redactor.redact(&text);
            prop_assert_eq!(redactor.redact(once.as_str()), once);
        }

        #[test]
        fn any_text_can_be_redacted(text in any::<String>()) {
            let once = redact(&text);
            prop_assert_eq!(redact(&once), once);
        }
    }
}
