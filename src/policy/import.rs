//! Rules of other tools, in our spelling. What cannot be said here is named with its reason, and nothing is loosened in silence.
//!
//! Where another tool lets the last or the highest rule win, a rule that a later one softens would here outvote it: the
//! strictest word wins, whatever the order. Such a rule is left out, named, and printed as a comment.

use super::rules::Policy;
use crate::config::{Decision, Mode, Written};
use serde_json::Value;
use std::collections::BTreeSet;

mod claude;
mod codex;
mod gemini;
mod opencode;

/// A tool whose rules can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Claude Code: `settings.json`.
    Claude,
    /// Codex: `*.rules`, or `config.toml`.
    Codex,
    /// Gemini CLI: `settings.json`, or a policy in TOML.
    Gemini,
    /// opencode: `opencode.json`.
    Opencode,
}

/// Rules of another tool, as far as they can be said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// What was carried over.
    pub rules: Vec<Carried>,
    /// What was not, and why.
    pub left: Vec<Left>,
}

/// A rule that was carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    decision: Decision,
    spelled: Spelled,
    modes: BTreeSet<Mode>,
    reason: Option<String>,
    redirects: bool,
    matches: Vec<String>,
    not_matches: Vec<String>,
}

/// Something that was not carried over as it stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Left {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// How a rule is spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Spelled {
    /// As in `Bash(git status:*)`.
    Permission(String),
    Prefix(Vec<Vec<String>>),
    Command(String),
    Regex(String),
    /// Every use of a tool.
    Tool(String),
}

/// A rule of a tool in which the order counts.
#[derive(Clone, Debug)]
struct Ordered {
    rule: Carried,
    /// The tool, and the pattern with `*` and `?`; rules of different tools do not meet.
    about: (String, String),
    /// How it is written there.
    written: String,
}

impl Foreign {
    /// Returns the tool of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "gemini" => Some(Self::Gemini),
            "opencode" => Some(Self::Opencode),
            _ => None,
        }
    }

    /// Returns where its rules stand, beneath the person's home: all of them count. `*` is any name in a directory.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[".claude/settings.json"],
            Self::Codex => &[".codex/rules/*.rules", ".codex/config.toml"],
            Self::Gemini => &[".gemini/policies/*.toml", ".gemini/settings.json"],
            Self::Opencode => &[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
        }
    }

    /// Reads files of the tool, each by its name and its text. Where several speak of a use, what they say is put together:
    /// by the tool's own order where it has one over all of them (policies of Gemini), else the strictest counts, as here.
    ///
    /// # Errors
    /// Which text is none of its files, and why.
    pub fn import_all(self, files: &[(String, String)]) -> Result<Imported, String> {
        let mut whole = Imported::default();
        let mut policies = Vec::new();
        for (name, text) in files {
            let wrong = |why: String| format!("{name}: {why}");
            let imported = match self {
                Self::Claude => claude::import(&json(text).map_err(wrong)?),
                Self::Codex if is_codex_settings(name, text) => codex::settings(&toml(text).map_err(wrong)?),
                Self::Codex => codex::rules(text),
                Self::Gemini => match json(text) {
                    Ok(settings) => gemini::settings(&settings),
                    Err(_) => {
                        policies.push((name.clone(), toml(text).map_err(wrong)?));
                        continue;
                    }
                },
                Self::Opencode => opencode::import(&json(text).map_err(wrong)?),
            };
            whole.take(imported, (name, files.len()));
        }
        if !policies.is_empty() {
            whole.take(gemini::policies(&policies), ("", 1));
        }
        Ok(whole.checked())
    }

    /// Reads one file of the tool.
    ///
    /// # Errors
    /// Why the text is none of its files.
    pub fn import(self, text: &str) -> Result<Imported, String> {
        let whole = self.import_all(&[(String::new(), text.to_owned())]);
        whole.map_err(|why| why.trim_start_matches(": ").to_owned())
    }
}

/// Rules are a language of their own, and stand in files of their own; what is given without a name is told by its words.
fn is_codex_settings(name: &str, text: &str) -> bool {
    let words = ["prefix_rule", "host_executable", "network_rule"];
    name.ends_with(".toml") || !(name.ends_with(".rules") || words.iter().any(|word| text.contains(word)))
}

impl Imported {
    /// Takes in what another file says; of several, what is left of each is named with it.
    fn take(&mut self, other: Self, (file, files): (&str, usize)) {
        self.rules.extend(other.rules);
        let named = |left: Left| match files {
            1 => left,
            _ => Left { what: format!("{file}: {}", left.what), why: left.why },
        };
        self.left.extend(other.left.into_iter().map(named));
    }

    fn leave(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.left.push(Left { what: what.into(), why: why.into() });
    }

    /// Leaves what does not mean anything here. Examples that do not hold cost the examples, not the rule.
    fn checked(mut self) -> Self {
        let mut kept = Vec::new();
        for mut rule in std::mem::take(&mut self.rules) {
            let Err(error) = rule.compiles() else {
                kept.push(rule);
                continue;
            };
            let examples = !rule.matches.is_empty() || !rule.not_matches.is_empty();
            rule.matches.clear();
            rule.not_matches.clear();
            if examples && rule.compiles().is_ok() {
                self.leave(
                    format!("the examples of {}", rule.shown()),
                    format!("they do not hold here: {error}"),
                );
                kept.push(rule);
            } else {
                self.leave(rule.shown(), error);
            }
        }
        self.rules = kept;
        self
    }

    /// Takes rules in of which, for each use of a tool, the last one counts that is about it.
    fn take_ordered(&mut self, rules: &[Ordered]) {
        let same_tool = |one: &Ordered, other: &Ordered| one.about.0 == other.about.0;
        let is_over = |at: usize| {
            let rule = &rules[at];
            let later = || rules[at + 1..].iter().filter(|other| same_tool(rule, other));
            later().any(|other| holds(&other.about.1, &rule.about.1) && other.rule.modes.is_empty())
        };
        // What never counts there does not count here either.
        let live: Vec<&Ordered> = (0..rules.len()).filter(|at| !is_over(*at)).map(|at| &rules[at]).collect();
        let mut outvoted: BTreeSet<usize> = BTreeSet::new();
        let mut kept = Vec::new();
        for (at, rule) in live.iter().enumerate() {
            let softer = |other: &Ordered| same_tool(rule, other) && other.rule.decision < rule.rule.decision;
            let inside = |other: &Ordered| holds(&rule.about.1, &other.about.1);
            let softens: Vec<usize> =
                (at + 1..live.len()).filter(|it| softer(live[*it]) && inside(live[*it])).collect();
            let open =
                |other: &&&Ordered| softer(other) && !inside(other) && meet(&rule.about.1, &other.about.1);
            if let (Some(first), None) = (softens.first(), live.iter().find(open)) {
                let why = format!(
                    "{} counts there where both are about a use, and would be outvoted here; without this one what no rule is about is asked about, and what only reads passes",
                    live[*first].written
                );
                self.leave(format!("{} ({})", rule.written, rule.rule.line()), why);
                continue;
            }
            outvoted.extend(softens);
            kept.push(at);
        }
        for (at, rule) in live.iter().enumerate() {
            let over = kept.iter().map(|kept| live[*kept]).find(|over| {
                same_tool(rule, over)
                    && over.rule.decision > rule.rule.decision
                    && meet(&over.about.1, &rule.about.1)
            });
            match over {
                Some(over) if outvoted.contains(&at) => {
                    let why = format!("{} outvotes it here: stricter", over.written);
                    self.leave(format!("{} ({})", rule.written, rule.rule.line()), why);
                }
                Some(_) | None if kept.contains(&at) => self.rules.push(rule.rule.clone()),
                Some(_) | None => {}
            }
        }
    }

    /// Writes the rules in our spelling, with what was left as comments.
    pub fn toml(&self) -> String {
        let mut text = String::new();
        for left in &self.left {
            let what = left.what.replace('\n', " ");
            text += &format!("# not carried over: {what}\n#   {}\n", left.why.replace('\n', " "));
        }
        let simple: Vec<&Carried> = self.rules.iter().filter(|rule| rule.is_simple()).collect();
        if !simple.is_empty() {
            text += "\n[permissions]\n";
        }
        for decision in [Decision::Allow, Decision::Ask, Decision::Deny] {
            let mine: Vec<String> =
                simple.iter().filter(|rule| rule.decision == decision).map(|rule| rule.quoted()).collect();
            if !mine.is_empty() {
                text += &format!("{} = [\n", decision.as_str());
                mine.iter().for_each(|rule| text += &format!("  {rule},\n"));
                text += "]\n";
            }
        }
        for rule in self.rules.iter().filter(|rule| !rule.is_simple()) {
            text += &format!("\n{}", rule.table());
        }
        text
    }
}

impl Carried {
    fn new(decision: Decision, spelled: Spelled) -> Self {
        Self {
            decision,
            spelled,
            modes: BTreeSet::new(),
            reason: None,
            redirects: false,
            matches: Vec::new(),
            not_matches: Vec::new(),
        }
    }

    fn permission(decision: Decision, spelled: impl Into<String>) -> Self {
        Self::new(decision, Spelled::Permission(spelled.into()))
    }

    fn is_simple(&self) -> bool {
        matches!(self.spelled, Spelled::Permission(_))
            && self.modes.is_empty()
            && self.reason.is_none()
            && !self.redirects
            && self.matches.is_empty()
            && self.not_matches.is_empty()
    }

    fn quoted(&self) -> String {
        match &self.spelled {
            Spelled::Permission(text) | Spelled::Tool(text) => quoted(text),
            Spelled::Prefix(_) | Spelled::Command(_) | Spelled::Regex(_) => String::new(),
        }
    }

    /// Writes it as a `[[rule]]`.
    fn table(&self) -> String {
        let mut text = format!("[[rule]]\n{}\ndecision = {}\n", self.by(), quoted(self.decision.as_str()));
        let list = |items: &[String]| items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", ");
        if !self.modes.is_empty() {
            let modes: Vec<String> = self.modes.iter().map(|mode| mode.as_str().to_owned()).collect();
            text += &format!("modes = [{}]\n", list(&modes));
        }
        if let Some(reason) = &self.reason {
            text += &format!("reason = {}\n", quoted(reason));
        }
        if self.redirects {
            text += "redirects = true\n";
        }
        if !self.matches.is_empty() {
            text += &format!("match = [{}]\n", list(&self.matches));
        }
        if !self.not_matches.is_empty() {
            text += &format!("not_match = [{}]\n", list(&self.not_matches));
        }
        text
    }

    fn by(&self) -> String {
        match &self.spelled {
            Spelled::Permission(text) | Spelled::Tool(text) => format!("tool = {}", quoted(text)),
            Spelled::Command(text) => format!("command = {}", quoted(text)),
            Spelled::Regex(text) => format!("regex = {}", quoted(text)),
            Spelled::Prefix(words) => {
                let one = |words: &Vec<String>| match words.as_slice() {
                    [only] => quoted(only),
                    several => {
                        format!("[{}]", several.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "))
                    }
                };
                format!("prefix = [{}]", words.iter().map(one).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn line(&self) -> String {
        format!("{} {}", self.decision.as_str(), self.by())
    }

    fn shown(&self) -> String {
        self.line()
    }

    fn compiles(&self) -> Result<(), String> {
        let text = if self.is_simple() {
            format!("[permissions]\n{} = [{}]\n", self.decision.as_str(), self.quoted())
        } else {
            self.table()
        };
        let written = Written::parse("imported", &text).map_err(|error| error.message)?;
        Policy::compile(written.rules(), Some("/home")).map(drop).map_err(|error| error.message)
    }
}

/// Quotes a text for TOML: what JSON escapes, TOML understands.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f")
}

fn decision(word: &str) -> Option<Decision> {
    match word {
        "allow" => Some(Decision::Allow),
        "ask" | "ask_user" | "prompt" | "confirm" => Some(Decision::Ask),
        "deny" | "forbidden" => Some(Decision::Deny),
        _ => None,
    }
}

/// Says whether everything that `inner` is about, `outer` is about too. Patterns of `*` and `?`.
fn holds(outer: &str, inner: &str) -> bool {
    let (outer, inner): (Vec<char>, Vec<char>) = (outer.chars().collect(), inner.chars().collect());
    fn walk(outer: &[char], inner: &[char]) -> bool {
        match (outer.split_first(), inner.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) if walk(rest, inner) => true,
            (Some(('*', _)), Some((_, after))) => walk(outer, after),
            // A star of the inner one is no single character.
            (Some(('?', _)), Some(('*', _))) => false,
            (Some(('?', rest)), Some((_, after))) => walk(rest, after),
            (Some((one, rest)), Some((other, after))) => one == other && walk(rest, after),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    // Patterns are written by people: a bound keeps a hostile one cheap.
    outer.len() <= 200
        && inner.len() <= 200
        && outer.iter().filter(|c| **c == '*').count() <= 6
        && walk(&outer, &inner)
}

/// Says whether two patterns may be about the same use: one's fixed beginning is the other's.
fn meet(one: &str, other: &str) -> bool {
    let led = |text: &str| text.split(['*', '?']).next().unwrap_or_default().to_owned();
    let (one, other) = (led(one), led(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// Reads JSON as people write it: with comments and commas at the end.
fn json(text: &str) -> Result<Value, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut inside = false;
    while let Some(c) = rest.next() {
        match (inside, c, rest.peek().copied()) {
            (true, '\\', Some(next)) => {
                out.extend([c, next]);
                rest.next();
            }
            (_, '"', _) => {
                inside = !inside;
                out.push(c);
            }
            (false, '/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                let mut last = ' ';
                for c in rest.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end().len();
                if out[..kept].ends_with(',') {
                    out.truncate(kept - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    serde_json::from_str(&out).map_err(|error| format!("no JSON: {error}"))
}

fn toml(text: &str) -> Result<Value, String> {
    crate::config::read_toml(text).map_err(|error| format!("no TOML: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_another_when_it_matches_whatever_that_matches() {
        for (outer, inner, so) in [
            ("*", "git *", true),
            ("git *", "git push *", true),
            ("git push *", "git *", false),
            ("?", "*", false),
            ("*?", "*", false),
            ("a*c", "abc", true),
            ("a*c", "a*", false),
        ] {
            assert_eq!(holds(outer, inner), so, "{outer} {inner}");
        }
    }

    #[test]
    fn json_is_read_with_comments_and_commas_at_the_end() {
        let read = json("// a\n{ \"a\": [1, /* two */ 2,], \"b\": \"// no, } comment\", }\n").unwrap();
        assert_eq!(read, serde_json::json!({ "a": [1, 2], "b": "// no, } comment" }));
        assert!(json("not").is_err());
    }
}
