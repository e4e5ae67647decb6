//! Rules as people write them, compiled, with their examples run: what does not hold is refused as a whole.

use super::arg::{Arg, star};
use super::classify::{Classified, Part, Redirects, classify};
use super::observe::Observer;
use super::place::{Context, Flat, Located};
use super::reach::{Invocation, carried};
use crate::config::{Config, Decision, Mode, RuleBy, RuleText};
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use std::collections::BTreeSet;

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    observers: Vec<Observer>,
}

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PolicyError {
    /// The file.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// What is the matter.
    pub message: String,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Commands.
    Shell,
    /// Files that are read.
    Read,
    /// Files that are written, whole or in part.
    Write,
    /// Files that are deleted.
    Delete,
    /// Files that are moved.
    Move,
    /// Addresses that are fetched.
    Fetch,
    /// Tools of MCP servers.
    Mcp,
    /// Whatever else asks.
    Other,
}

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) decision: Decision,
    pub(crate) reason: Option<String>,
    tools: BTreeSet<Tool>,
    modes: BTreeSet<Mode>,
    by: By,
    redirects: bool,
    env: BTreeSet<String>,
}

#[derive(Clone, Debug)]
enum By {
    Anything,
    /// Words at the beginning.
    Prefix(Vec<Vec<String>>),
    /// Exactly these words.
    Exact(Vec<String>),
    /// Text with `*`.
    Text(String),
    /// The search for ask and deny, and the whole for allow.
    Regex {
        anywhere: Regex,
        whole: Regex,
    },
    Path(PathPattern),
    /// The host of an address.
    Domain(String),
    /// The name of a tool, with `*`.
    Name(String),
}

/// A pattern of paths.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    /// Over the whole absolute path.
    absolute: Vec<GlobMatcher>,
    /// Over what lies beneath a root or the working directory.
    beneath: Vec<GlobMatcher>,
}

impl Policy {
    /// Compiles what a configuration says of requests and runs the examples.
    pub fn of(config: &Config, home: Option<&str>) -> Result<Self, PolicyError> {
        let mut policy = Self::compile(&config.rules, home)?;
        for text in &config.observes {
            let error = |message| PolicyError { file: text.file.clone(), line: text.line, message };
            policy.observers.push(Observer::compile(text, home).map_err(error)?);
        }
        Ok(policy)
    }

    /// Compiles rules and runs their examples.
    pub fn compile(texts: &[RuleText], home: Option<&str>) -> Result<Self, PolicyError> {
        let mut rules = Vec::with_capacity(texts.len());
        for text in texts {
            let error = |message: String| PolicyError { file: text.file.clone(), line: text.line, message };
            let rule = Rule::compile(text, home).map_err(error)?;
            rule.examples(text).map_err(error)?;
            rules.push(rule);
        }
        Ok(Self { rules, observers: Vec::new() })
    }

    /// Says how many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Says whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Says whether there are paths of which every access is recorded.
    pub fn observes(&self) -> bool {
        !self.observers.is_empty()
    }

    pub(super) fn observers(&self) -> &[Observer] {
        &self.observers
    }

    /// Returns the rules that decide so about a tool, in a mode.
    pub(crate) fn on(&self, decision: Decision, tool: Tool, mode: Mode) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| {
            rule.decision == decision
                && rule.tools.contains(&tool)
                && (rule.modes.is_empty() || rule.modes.contains(&mode))
        })
    }
}

impl Rule {
    fn compile(text: &RuleText, home: Option<&str>) -> Result<Self, String> {
        let (name, inside) = match text.tool.split_once('(') {
            Some((name, rest)) => {
                let inside =
                    rest.strip_suffix(')').ok_or_else(|| format!("{} has no closing bracket", text.tool))?;
                (name, Some(inside))
            }
            None => (text.tool.as_str(), None),
        };
        let (tools, shell) = tools(name.trim())?;
        let by = match (&text.by, inside) {
            (RuleBy::Tool, None) if name.starts_with("mcp__") => {
                By::Name(if name.matches("__").count() == 1 { format!("{name}*") } else { name.to_owned() })
            }
            (RuleBy::Tool, None) => By::Anything,
            (RuleBy::Tool, Some(inside)) if shell => command(inside),
            (RuleBy::Tool, Some(inside)) if tools.contains(&Tool::Fetch) => {
                By::Domain(inside.strip_prefix("domain:").unwrap_or(inside).to_ascii_lowercase())
            }
            (RuleBy::Tool, Some(inside)) if tools.contains(&Tool::Mcp) => By::Name(inside.to_owned()),
            (RuleBy::Tool, Some(inside)) => By::Path(PathPattern::new(inside, home)?),
            (RuleBy::Prefix(words), None) if shell => By::Prefix(words.clone()),
            (RuleBy::Command(pattern), None) if shell => command(pattern),
            (RuleBy::Regex(pattern), None) if shell => {
                By::Regex { anywhere: regex(pattern)?, whole: regex(&format!("^(?:{pattern})$"))? }
            }
            (RuleBy::Path(pattern), None) => By::Path(PathPattern::new(pattern, home)?),
            (_, Some(_)) => return Err("a tool with a pattern takes no other pattern".to_owned()),
            (_, None) => return Err(format!("{name} is not matched by commands")),
        };
        Ok(Self {
            id: text.id.clone(),
            decision: text.decision,
            reason: text.reason.clone(),
            tools,
            modes: text.modes.clone(),
            by,
            redirects: text.redirects,
            env: text.env.clone(),
        })
    }

    /// Runs the examples of a rule against the rule alone.
    fn examples(&self, text: &RuleText) -> Result<(), String> {
        for example in &text.matches {
            if !self.matches_example(example) {
                return Err(format!("{} does not match its example: {example}", self.id));
            }
        }
        match text.not_matches.iter().find(|example| self.matches_example(example)) {
            Some(example) => Err(format!("{} matches what it should not: {example}", self.id)),
            None => Ok(()),
        }
    }

    fn matches_example(&self, example: &str) -> bool {
        let ground = Flat;
        let context = Context::at("/example", &ground);
        if matches!(self.by, By::Path(_) | By::Domain(_) | By::Name(_)) {
            let located = context.locate(&context.cwd, example);
            return self.matches_path(&located, &context) || self.matches_name(example);
        }
        let classified = classify(example, &context);
        match self.decision {
            Decision::Ask | Decision::Deny => self.matches_any(&classified, example).is_some(),
            // As in "cd x && git push": the rule has to cover something, and the rest has to be harmless.
            Decision::Allow => {
                classified.obstacles.is_empty()
                    && classified.parts.iter().any(|part| self.covers(part))
                    && classified.parts.iter().all(|part| self.covers(part) || part.against.is_none())
            }
        }
    }

    // ── commands ──

    /// Says whether an allow rule covers a simple command.
    pub(crate) fn covers(&self, part: &Part) -> bool {
        let Some(argv) = part.argv.as_ref().filter(|argv| !argv.is_empty()) else { return false };
        let redirects = if self.redirects { Redirects::Inside } else { Redirects::Harmless };
        if part.redirects > redirects || !part.assigns.iter().all(|name| self.env.contains(name)) {
            return false;
        }
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        // Of a command that runs another one, the rule has to name that too.
        let names = |named: usize| carried(argv).is_none_or(|at| named > at);
        match &self.by {
            By::Anything => true,
            By::Prefix(prefix) => begins(&words, prefix) && names(prefix.len()),
            By::Exact(exact) => words == exact.iter().map(String::as_str).collect::<Vec<_>>(),
            By::Text(pattern) => {
                let led = pattern.split('*').next().unwrap_or_default();
                matches_text(pattern, &joined(&words)) && names(led.split_whitespace().count())
            }
            By::Regex { whole, .. } => whole.is_match(&joined(&words)),
            By::Path(_) | By::Domain(_) | By::Name(_) => false,
        }
    }

    /// Returns the simple command that an ask or deny rule matches, looked for in everything that the text may reach.
    pub(crate) fn matches_any(&self, classified: &Classified, text: &str) -> Option<usize> {
        if let By::Regex { anywhere, .. } = &self.by
            && anywhere.is_match(text)
        {
            return Some(0);
        }
        if matches!(self.by, By::Anything) {
            return Some(0);
        }
        classified.reach.invocations.iter().find(|it| self.matches(it)).map(|it| it.part)
    }

    fn matches(&self, it: &Invocation) -> bool {
        let mut words: Vec<String> = it.argv.iter().map(Arg::text).collect();
        if self.matches_words(&words) {
            return true;
        }
        let names: Vec<String> =
            it.argv[0].texts().map(|name| name.rsplit('/').next().unwrap_or_default().to_owned()).collect();
        names.into_iter().any(|name| {
            words[0] = name;
            self.matches_words(&words)
        }) || self.matches_glob(it)
    }

    /// `/bin/r?`: a command that is found by a pattern.
    fn matches_glob(&self, it: &Invocation) -> bool {
        let first = match &self.by {
            By::Prefix(prefix) => prefix.first().cloned().unwrap_or_default(),
            By::Exact(words) => words.iter().take(1).cloned().collect(),
            By::Anything | By::Text(_) | By::Regex { .. } | By::Path(_) | By::Domain(_) | By::Name(_) => {
                return false;
            }
        };
        first.iter().any(|name| {
            let mut words: Vec<String> = it.argv.iter().map(Arg::text).collect();
            it.argv[0].names(name) && {
                words[0].clone_from(name);
                self.matches_words(&words)
            }
        })
    }

    fn matches_words(&self, words: &[String]) -> bool {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match &self.by {
            By::Anything => true,
            By::Prefix(prefix) => begins(&words, prefix),
            By::Exact(exact) => words == exact.iter().map(String::as_str).collect::<Vec<_>>(),
            By::Text(pattern) => {
                matches_text(pattern, &joined(&words)) || matches_text(pattern, &words.join(" "))
            }
            By::Regex { anywhere, .. } => anywhere.is_match(&joined(&words)),
            By::Path(_) | By::Domain(_) | By::Name(_) => false,
        }
    }

    // ── paths and names ──

    /// Says whether a rule about paths matches one. Asking and refusing look at both its names, allowing at where it leads.
    pub(crate) fn matches_path(&self, located: &Located, context: &Context<'_>) -> bool {
        let pattern = match &self.by {
            By::Anything => return true,
            By::Path(pattern) => pattern,
            By::Prefix(_) | By::Exact(_) | By::Text(_) | By::Regex { .. } | By::Domain(_) | By::Name(_) => {
                return false;
            }
        };
        match self.decision {
            Decision::Allow => located.real.as_deref().is_some_and(|real| pattern.matches(real, context)),
            Decision::Ask | Decision::Deny => {
                let both = [Some(located.asked.as_str()), located.real.as_deref()];
                both.into_iter().flatten().any(|path| pattern.matches(path, context))
            }
        }
    }

    /// Says whether a rule about addresses or tools matches one.
    pub(crate) fn matches_name(&self, name: &str) -> bool {
        match &self.by {
            By::Anything => true,
            By::Name(pattern) => star(&only_star(pattern), name),
            By::Domain(domain) => {
                host(name).is_some_and(|host| host == *domain || host.ends_with(&format!(".{domain}")))
            }
            By::Prefix(_) | By::Exact(_) | By::Text(_) | By::Regex { .. } | By::Path(_) => false,
        }
    }

    /// Says whether it is about paths.
    pub(crate) fn is_about_paths(&self) -> bool {
        matches!(self.by, By::Path(_))
    }
}

/// Returns the tools of a name, and whether commands are among them.
fn tools(name: &str) -> Result<(BTreeSet<Tool>, bool), String> {
    let tools: &[Tool] = match name {
        "shell" | "Bash" | "Shell" | "bash" | "Terminal" | "terminal" | "run_shell_command" | "execute" => {
            &[Tool::Shell]
        }
        "read" | "Read" | "read_file" => &[Tool::Read],
        "write" | "Write" | "Edit" | "edit" | "MultiEdit" | "NotebookEdit" | "write_file" | "replace" => {
            &[Tool::Write, Tool::Delete, Tool::Move]
        }
        "delete" | "Delete" => &[Tool::Delete],
        "move" | "Move" => &[Tool::Move],
        "fetch" | "Fetch" | "WebFetch" | "webfetch" => &[Tool::Fetch],
        "mcp" | "Mcp" => &[Tool::Mcp],
        "other" => &[Tool::Other],
        "*" => &[
            Tool::Shell,
            Tool::Read,
            Tool::Write,
            Tool::Delete,
            Tool::Move,
            Tool::Fetch,
            Tool::Mcp,
            Tool::Other,
        ],
        _ if name.starts_with("mcp__") => &[Tool::Mcp],
        _ => {
            return Err(format!(
                "{name} is no tool: shell, read, write, delete, move, fetch, mcp, other or *"
            ));
        }
    };
    Ok((tools.iter().copied().collect(), tools.contains(&Tool::Shell)))
}

/// `npm run test:*`, `git * main`, `ls *`, `make`.
fn command(pattern: &str) -> By {
    let pattern = pattern.trim();
    let bounded = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    match bounded {
        _ if pattern.is_empty() || pattern == "*" || pattern == ":*" => By::Anything,
        Some(prefix) if !prefix.contains('*') => {
            By::Prefix(words(prefix).into_iter().map(|word| vec![word]).collect())
        }
        _ if pattern.contains('*') => By::Text(pattern.replace(":*", " *")),
        _ => By::Exact(words(pattern)),
    }
}

/// Splits a pattern as a shell splits a command; by blanks where that cannot be told.
fn words(text: &str) -> Vec<String> {
    let plan = super::shell::read(text);
    let fixed = match plan.simple.as_slice() {
        [simple] if plan.beyond.is_empty() && simple.assigns.is_empty() && simple.redirects.is_empty() => {
            simple.words.iter().map(super::plan::Word::fixed).collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    fixed.unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

fn regex(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(1 << 20).build();
    built.map_err(|error| {
        format!("{pattern} is no regular expression: {}", error.to_string().replace('\n', " "))
    })
}

fn begins(words: &[&str], prefix: &[Vec<String>]) -> bool {
    words.len() >= prefix.len()
        && words.iter().zip(prefix).all(|(word, alternatives)| alternatives.iter().any(|it| it == word))
}

/// Joins words so that they read as one command: those with blanks in quotes.
fn joined(words: &[&str]) -> String {
    let quote = |word: &&str| match word.contains([' ', '\t', '\n']) || word.is_empty() {
        true => format!("'{word}'"),
        false => (*word).to_owned(),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Matches a text with `*`; a trailing ` *` also stands for nothing.
fn matches_text(pattern: &str, text: &str) -> bool {
    let whole = star(&only_star(pattern), text);
    whole || pattern.strip_suffix(" *").is_some_and(|pattern| star(&only_star(pattern), text))
}

/// Leaves only `*` its meaning.
fn only_star(pattern: &str) -> String {
    pattern.replace('?', "\u{e011}").replace('[', "\u{e012}")
}

fn host(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    (!host.is_empty()).then(|| host.trim_end_matches('.').to_ascii_lowercase())
}

impl PathPattern {
    pub(super) fn new(pattern: &str, home: Option<&str>) -> Result<Self, String> {
        let (mut absolute, mut beneath) = (Vec::new(), Vec::new());
        if let Some(rest) = pattern.strip_prefix("~/") {
            let home = home.ok_or_else(|| format!("{pattern} wants a home directory, and there is none"))?;
            absolute.extend(globs(&format!("{}/{rest}", escaped(home.trim_end_matches('/'))))?);
        } else if let Some(rest) = pattern.strip_prefix("//") {
            absolute.extend(globs(&format!("/{rest}"))?);
        } else if let Some(rest) = pattern.strip_prefix('/') {
            absolute.extend(globs(pattern)?);
            beneath.extend(globs(rest)?);
        } else if let Some(rest) = pattern.strip_prefix("./") {
            beneath.extend(globs(rest)?);
        } else if pattern.trim_end_matches('/').contains('/') && !pattern.starts_with("**/") {
            beneath.extend(globs(pattern)?);
        } else {
            // A bare name means every file of that name, as in a .gitignore.
            let name = pattern.trim_start_matches("**/");
            absolute.extend(globs(&format!("/**/{name}"))?);
        }
        Ok(Self { absolute, beneath })
    }

    pub(super) fn matches(&self, path: &str, context: &Context<'_>) -> bool {
        if self.absolute.iter().any(|glob| glob.is_match(path)) {
            return true;
        }
        let tops = context.roots.iter().chain(std::iter::once(&context.cwd)).filter(|top| !top.is_empty());
        tops.filter_map(|top| path.strip_prefix(top.trim_end_matches('/'))?.strip_prefix('/'))
            .any(|rest| self.beneath.iter().any(|glob| glob.is_match(rest)))
    }
}

/// A pattern, and everything beneath what it matches.
fn globs(pattern: &str) -> Result<Vec<GlobMatcher>, String> {
    let pattern = pattern.trim_end_matches('/');
    let all = [pattern.to_owned(), format!("{pattern}/**")];
    all.iter()
        .map(|pattern| {
            let built = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
            built
                .map(|glob| glob.compile_matcher())
                .map_err(|error| format!("{pattern} is no pattern of paths: {error}"))
        })
        .collect()
}

fn escaped(path: &str) -> String {
    let escape = |c: char| {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') { format!("\\{c}") } else { c.to_string() }
    };
    path.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Written};

    fn policy(text: &str) -> Result<Policy, PolicyError> {
        let written = Written::parse("config.toml", text).ok();
        Policy::compile(&Config::of(written.as_ref(), None).rules, Some("/home/u"))
    }

    #[test]
    fn the_examples_of_a_rule_are_run_and_refuse_the_file() {
        let text = |example: &str| {
            format!(
                "[[rule]]\nid = 'push'\nprefix = ['git', ['push', 'send-pack']]\ndecision = 'ask'\n{example}"
            )
        };
        assert!(
            policy(&text(
                "match = ['git push origin main', 'cd x && git push', 'bash -c \"git send-pack\"']"
            ))
            .is_ok()
        );
        assert!(policy(&text("not_match = ['git pull', 'echo git push']")).is_ok());
        let error = policy(&text("match = ['git pull']")).unwrap_err();
        assert_eq!(error.to_string(), "config.toml:1: push does not match its example: git pull");
        assert!(policy(&text("not_match = ['sudo git push']")).is_err());
    }

    #[test]
    fn what_is_no_tool_or_no_pattern_is_refused() {
        for text in [
            "[permissions]\nallow = ['Bsh(ls)']",
            "[permissions]\nallow = ['Bash(ls']",
            "[[rule]]\nregex = '('\ndecision = 'deny'",
            "[[rule]]\npath = '[a'\ntool = 'read'\ndecision = 'deny'",
            "[[rule]]\nprefix = ['a']\ntool = 'read'\ndecision = 'deny'",
        ] {
            assert!(policy(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_mean_what_gitignore_means() {
        let ground = Flat;
        let context = Context::at("/w/p", &ground);
        for (pattern, path, matches) in [
            (".env", "/w/p/a/.env", true),
            ("./.env", "/w/p/.env", true),
            ("./.env", "/w/p/a/.env", false),
            ("src/**", "/w/p/src/a/b.rs", true),
            ("src/*.rs", "/w/p/src/a/b.rs", false),
            ("docs/", "/w/p/docs/a.md", true),
            ("**/secrets/**", "/w/p/a/secrets/b", true),
            ("~/.ssh/**", "/home/u/.ssh/id", true),
            ("//etc/**", "/etc/passwd", true),
            ("*.pem", "/w/p/x/a.pem", true),
        ] {
            let compiled = PathPattern::new(pattern, Some("/home/u")).unwrap();
            assert_eq!(compiled.matches(path, &context), matches, "{pattern} {path}");
        }
    }
}
