//! What a word may turn into when a shell expands it: every text that can be told, for those who look for harm.

use super::plan::{Part, Plan, Simple, Word};
use std::collections::BTreeMap;

/// Stands for text that cannot be told.
pub(crate) const UNKNOWN: char = '\u{e000}';
/// Quoted characters that would mean something unquoted, and what stands for them meanwhile.
const VEILS: [(char, char); 6] = [
    ('*', '\u{e010}'),
    ('?', '\u{e011}'),
    ('[', '\u{e012}'),
    ('{', '\u{e013}'),
    ('}', '\u{e014}'),
    (',', '\u{e015}'),
];
/// Texts that are kept for one word.
const MOST: usize = 64;

/// An argument as a command may get it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arg {
    /// The possible texts; patterns unexpanded, quoted pattern characters veiled.
    texts: Vec<String>,
}

/// What variables are known to hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(BTreeMap<String, Vec<String>>);

impl Known {
    /// Gathers what the assignments of a plan say, beside the home and the working directory.
    pub(crate) fn of(plan: &Plan, home: Option<&str>, cwd: &str) -> Self {
        let mut known = Self::default();
        if let Some(home) = home {
            known.add("HOME", home);
        }
        if !cwd.is_empty() {
            known.add("PWD", cwd);
            known.add("OLDPWD", cwd);
        }
        known.learn(&plan.simple);
        known
    }

    /// Adds what the assignments of commands say.
    pub(crate) fn learn(&mut self, commands: &[Simple]) {
        for simple in commands {
            for assign in &simple.assigns {
                if let Some(value) = assign.value.fixed() {
                    self.add(&assign.name, &value);
                }
            }
            for word in simple.words.iter().skip(1) {
                if let Some((name, value)) = super::word::assignment(word)
                    && let Some(value) = value.fixed()
                {
                    self.add(&name, &value);
                }
            }
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        let values = self.0.entry(name.to_owned()).or_default();
        if values.len() < 4 && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    fn texts(&self, name: Option<&str>) -> Vec<String> {
        let known = name.and_then(|name| self.0.get(name)).cloned();
        known.unwrap_or_else(|| vec![UNKNOWN.to_string()])
    }
}

impl Arg {
    /// Returns the arguments that a word may become: several where braces are expanded.
    pub(crate) fn of(word: &Word, known: &Known) -> Vec<Self> {
        let mut texts = vec![String::new()];
        for (at, part) in word.parts.iter().enumerate() {
            let pieces = match part {
                Part::Plain(text) if at == 0 && text.starts_with('~') => tilde(text, known),
                Part::Plain(text) => vec![text.clone()],
                Part::Quoted(text) | Part::AnsiC(text) => vec![veiled(text)],
                Part::Variable(name) => known.texts(name.as_deref()),
                Part::Unknown => vec![UNKNOWN.to_string()],
            };
            texts = product(&texts, &pieces);
        }
        if !word.has_brace() {
            return vec![Self { texts }];
        }
        let expanded = texts.iter().flat_map(|text| braces(text, 0)).take(MOST);
        expanded.map(|text| Self { texts: vec![text] }).collect()
    }

    /// Returns the possible texts, patterns as written.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.texts.iter().map(|text| unveiled(text))
    }

    /// Returns the possible texts with quoted pattern characters veiled.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Returns the first possible text.
    pub(crate) fn text(&self) -> String {
        self.texts().next().unwrap_or_default()
    }

    /// Says whether it may be the name of this command, by its last component.
    pub(crate) fn names(&self, command: &str) -> bool {
        self.names_any(&[command])
    }

    /// Says whether it may be the name of one of these commands.
    pub(crate) fn names_any(&self, commands: &[&str]) -> bool {
        self.texts.iter().any(|text| {
            let name = text.rsplit('/').next().unwrap_or(text);
            // No name of a file is longer; and a pattern without a letter may be anything.
            commands.contains(&name)
                || (name.len() < 1024
                    && name.contains(['*', '?', '['])
                    && name.contains(|c: char| c.is_alphanumeric())
                    && commands.iter().any(|command| star(name, command)))
        })
    }

    /// Says whether it may begin with a dash.
    pub(crate) fn is_option(&self) -> bool {
        self.texts.iter().any(|text| text.len() > 1 && text.starts_with('-'))
    }
}

fn tilde(text: &str, known: &Known) -> Vec<String> {
    let (user, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    let homes = match user {
        "~" => known.texts(Some("HOME")),
        "~+" => known.texts(Some("PWD")),
        "~-" => known.texts(Some("OLDPWD")),
        _ => vec![UNKNOWN.to_string()],
    };
    homes.into_iter().map(|home| format!("{home}{rest}")).collect()
}

fn product(heads: &[String], tails: &[String]) -> Vec<String> {
    let all = heads.iter().flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}")));
    all.take(MOST).collect()
}

fn veiled(text: &str) -> String {
    if !text.contains(['*', '?', '[', '{', '}', ',']) {
        return text.to_owned();
    }
    let veil = |c: char| VEILS.iter().find(|(plain, _)| *plain == c).map_or(c, |(_, veiled)| *veiled);
    text.chars().map(veil).collect()
}

/// Takes the veils off.
pub(crate) fn unveiled(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let plain = |c: char| VEILS.iter().find(|(_, veiled)| *veiled == c).map_or(c, |(plain, _)| *plain);
    text.chars().map(plain).collect()
}

/// Expands the braces of a text.
fn braces(text: &str, depth: usize) -> Vec<String> {
    let Some((before, inner, after)) = first_brace(text).filter(|_| depth < 6) else {
        return vec![text.to_owned()];
    };
    let mut members = split_commas(inner);
    if members.len() == 1 {
        members = match inner.split_once("..") {
            Some((from, to)) => range(from, to),
            None => vec![format!("{{{inner}}}")],
        };
    }
    let tails = braces(after, depth + 1);
    let mut all = Vec::new();
    for member in members.iter().flat_map(|member| braces(member, depth + 1)).take(MOST) {
        for tail in &tails {
            if all.len() < MOST {
                all.push(format!("{before}{member}{tail}"));
            }
        }
    }
    all
}

/// Splits a text at its first balanced brace.
fn first_brace(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('{')?;
    let mut open = 0_usize;
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' => open += 1,
            '}' => {
                open -= 1;
                if open == 0 {
                    return Some((&text[..start], &text[start + 1..start + at], &text[start + at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

fn split_commas(text: &str) -> Vec<String> {
    let (mut parts, mut open, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            ',' if open == 0 => {
                parts.push(text[start..at].to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].to_owned());
    parts
}

fn range(from: &str, to: &str) -> Vec<String> {
    let letter = |text: &str| text.chars().next().filter(|c| c.is_ascii() && text.len() == 1);
    match (letter(from), letter(to)) {
        (Some(from), Some(to)) => (from.min(to)..=from.max(to)).take(MOST).map(|c| c.to_string()).collect(),
        _ => vec![UNKNOWN.to_string()],
    }
}

/// Matches `*`, `?` and bracket expressions against a name, veiled characters against themselves. Never exponential.
pub(crate) fn star(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n, mut retry) = (0, 0, None);
    while n < name.len() {
        match one(&pattern[p..], name[n]) {
            Some(taken) => {
                p += taken;
                n += 1;
            }
            None if pattern.get(p) == Some(&'*') => {
                retry = Some((p, n));
                p += 1;
            }
            None => match retry {
                Some((star, from)) => {
                    p = star + 1;
                    n = from + 1;
                    retry = Some((star, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Matches one character against the head of a pattern; returns how much of the pattern that takes.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '*' => None,
        '?' => Some(1),
        '[' => {
            let end = pattern.iter().skip(2).position(|it| *it == ']').map(|at| at + 2);
            let Some(end) = end else { return (c == '[').then_some(1) };
            let negated = matches!(pattern.get(1), Some('!' | '^'));
            let set = &pattern[1 + usize::from(negated)..end];
            let ranged = set.windows(3).any(|it| it[1] == '-' && it[0] <= c && c <= it[2]);
            ((set.contains(&c) || ranged) != negated).then_some(end + 1)
        }
        first => {
            let plain = VEILS.iter().find(|(_, veiled)| veiled == first).map_or(*first, |(plain, _)| *plain);
            (plain == c).then_some(1)
        }
    }
}
