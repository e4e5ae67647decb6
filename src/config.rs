//! TOML text (what was written) → [`Config`] (what it means); defaults in one table. Parses, never reads a file.
//!
//! **Laws.**
//! 1. `proxy-config.example.toml` names every key, and means the defaults (`surfaces::the_example_configuration_means_the_defaults`).
//! 2. An unknown key is an error that names file, line and the nearest key (`tests::an_unknown_key_names_its_line_and_its_neighbour`).
//! 3. A project file can only tighten (`tests::a_project_file_only_tightens`).
//! 4. A section that does nothing yet is named aloud (`tests::a_section_without_effect_is_named`).

use crate::base::Digest;
use std::collections::{BTreeMap, BTreeSet};
use toml::de::DeTable;

mod assessor;
mod observe;
mod read;

pub use assessor::{Assessor, RiskCap};
pub use observe::{Access, Observe};

/// What a configuration means, every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether requests are only recorded or also judged.
    pub approvals: Approvals,
    /// What happens to a question where no person sits behind the client.
    pub defer: Defer,
    /// How long a request may wait for an answer, in seconds; `None`: as long as it takes.
    pub max_wait_s: Option<u64>,
    /// What happens to a judged request whose record cannot be written.
    pub on_record_failure: OnRecordFailure,
    /// The review at a turn's end.
    pub review: Review,
    /// The messages on which a write waits while its file has unreviewed hunks.
    pub hold: BTreeSet<Holdable>,
    /// Agent (or `*`) → mode id → what the mode means.
    pub modes: BTreeMap<String, BTreeMap<String, Mode>>,
    /// The store of trees and journals.
    pub store: Store,
    /// File name patterns whose content is never kept or shown, beside the built-in ones.
    pub withhold: BTreeSet<String>,
    /// Regular expressions of further texts that are replaced before they are stored or shown, beside the built-in ones.
    pub redact: BTreeSet<String>,
    /// Our own log.
    pub log: Log,
    /// Action of the terminal UI → the keys that do it, where the person changed them.
    pub keys: BTreeMap<String, Vec<String>>,
    /// The port of the web console on the loopback; 0: any that is free.
    pub web_port: u16,
    /// What an agent may do that reviews over MCP.
    pub mcp_may: BTreeSet<McpMay>,
    /// The rules of the policy, as they were written; a project's never allow.
    pub rules: Vec<RuleText>,
    /// Paths of which every access is recorded.
    pub observes: Vec<Observe>,
    /// The programs that are asked about requests, in order; a project has none.
    pub assessors: Vec<Assessor>,
    /// The files that rules come from.
    pub sources: Vec<Source>,
    /// The digest of the user's file, when there is one.
    pub read: Option<Digest>,
    /// What was accepted and has no effect, or was ignored: one sentence each, for status and stderr.
    pub warnings: Vec<String>,
}

/// `approvals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approvals {
    /// Requests pass and are recorded.
    Observe,
    /// Requests are judged.
    Enforce,
}

/// `defer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defer {
    /// The client is asked all the same, and whatever answers there decides.
    Ask,
    /// The request stays open until somebody answers it.
    Hold,
    /// It is denied.
    Deny,
}

/// `on_record_failure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnRecordFailure {
    /// Go on and say so.
    Warn,
    /// A decision that cannot be recorded is not made.
    Deny,
}

/// `[review]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// What happens when a turn ends with something to review.
    pub at_turn_end: AtTurnEnd,
    /// With `at_turn_end = "off"`: accept what the turn left, undoably.
    pub auto_accept: bool,
    /// How long an answer may be held for a review, in seconds.
    pub max_hold_s: u64,
    /// Clients, by the name they give, behind which no person sits.
    pub headless_clients: BTreeSet<String>,
    /// Further clients, by the name they give, that show a question to a person.
    pub asking_clients: BTreeSet<String>,
    /// The slash command that we answer in the editor, without its slash; empty for none.
    pub command: String,
}

/// `review.at_turn_end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtTurnEnd {
    /// Nothing is said.
    Off,
    /// A short summary as the agent's message.
    Summary,
    /// The person is asked in the editor where that can show it; elsewhere, and where nothing can be asked, a summary.
    Ask,
}

/// A message that can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holdable {
    /// `session/request_permission`.
    Permission,
    /// `fs/write_text_file`.
    Fs,
    /// `terminal/create`.
    Terminal,
}

/// What an agent's mode means to us (ledger.md §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nothing is held or asked.
    Plan,
    /// Review after the turn.
    Auto,
    /// Review before a write, where that can be enforced.
    Normal,
}

impl Mode {
    /// Reads its word.
    pub fn parse(word: &str) -> Option<Self> {
        MODES.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode)
    }

    /// Returns its word in files, records and shapes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::Normal => "normal",
        }
    }
}

/// `mcp.may`: what a reviewing agent may do beside looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpMay {
    /// Comment, and settle comments.
    Comment,
    /// Accept and reject, never in its own session.
    Decide,
}

/// `[store]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Bytes, over all roots.
    pub max_size: u64,
    /// Days after which a session that nobody holds is deleted; `None`: never.
    pub keep_days: Option<u64>,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// A file to append to; stderr when absent.
    pub file: Option<String>,
}

/// A file that rules come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as it was named to us.
    pub file: String,
    /// The digest of its text.
    pub digest: Digest,
}

/// A rule of `[permissions]` or `[[rule]]`, as it was written; `policy` gives it its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The file.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// Its name in verdicts.
    pub id: String,
    /// What it decides.
    pub decision: Decision,
    /// What it is about: a tool, or a tool with its pattern as in `Bash(git status:*)`.
    pub tool: String,
    /// Which of the tool's uses.
    pub by: RuleBy,
    /// The modes in which it counts; all when empty.
    pub modes: BTreeSet<Mode>,
    /// Why, for people and for the agent.
    pub reason: Option<String>,
    /// Whether an allowed command may redirect into files.
    pub redirects: bool,
    /// Variables that an allowed command may assign.
    pub env: BTreeSet<String>,
    /// Commands or paths that it must match.
    pub matches: Vec<String>,
    /// Commands or paths that it must not match.
    pub not_matches: Vec<String>,
}

impl RuleText {
    /// Starts a rule that denies every command, in every mode.
    pub fn new(file: &str, line: usize, id: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            id,
            decision: Decision::Deny,
            tool: "shell".to_owned(),
            by: RuleBy::Tool,
            modes: BTreeSet::new(),
            reason: None,
            redirects: false,
            env: BTreeSet::new(),
            matches: Vec::new(),
            not_matches: Vec::new(),
        }
    }
}

/// How a rule says which uses of a tool it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleBy {
    /// All of them, or what is spelled behind the tool.
    Tool,
    /// Words at the beginning, each with its alternatives.
    Prefix(Vec<Vec<String>>),
    /// A command with `*`.
    Command(String),
    /// A regular expression over the command.
    Regex(String),
    /// A pattern of paths.
    Path(String),
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It needs no question.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

impl Decision {
    /// Returns its word in files, records and shapes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            approvals: Approvals::Observe,
            defer: Defer::Ask,
            max_wait_s: None,
            on_record_failure: OnRecordFailure::Deny,
            review: Review {
                at_turn_end: AtTurnEnd::Ask,
                auto_accept: false,
                max_hold_s: 600,
                headless_clients: ["acpx".to_owned()].into(),
                asking_clients: BTreeSet::new(),
                command: "hunkgate".to_owned(),
            },
            hold: BTreeSet::new(),
            modes: BTreeMap::from([("*".to_owned(), default_modes())]),
            store: Store { max_size: 10 << 30, keep_days: None },
            withhold: BTreeSet::new(),
            redact: BTreeSet::new(),
            log: Log { level: "warn".to_owned(), file: None },
            keys: BTreeMap::new(),
            web_port: 0,
            mcp_may: BTreeSet::from([McpMay::Comment]),
            rules: Vec::new(),
            observes: Vec::new(),
            assessors: Vec::new(),
            sources: Vec::new(),
            read: None,
            warnings: Vec::new(),
        }
    }
}

/// The mode ids that agents are known to use; any other id means [`Mode::Normal`].
fn default_modes() -> BTreeMap<String, Mode> {
    [
        ("plan", Mode::Plan),
        ("read-only", Mode::Plan),
        ("default", Mode::Normal),
        ("agent", Mode::Normal),
        ("acceptEdits", Mode::Auto),
        ("auto", Mode::Auto),
        ("autoEdit", Mode::Auto),
        ("agent-full-access", Mode::Auto),
        ("bypassPermissions", Mode::Auto),
        ("full-access", Mode::Auto),
        ("yolo", Mode::Auto),
    ]
    .map(|(id, mode)| (id.to_owned(), mode))
    .into()
}

/// Reads somebody else's TOML.
///
/// # Errors
/// Where and why it is none.
pub fn read_toml(text: &str) -> Result<serde_json::Value, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// A key, and what may be done with it.
struct Key {
    name: &'static str,
    /// What a project file may say.
    project: Project,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Project {
    /// The stricter of both values holds.
    Tightens,
    /// Only the user's file may say it.
    UserOnly,
}

const fn key(name: &'static str, project: Project) -> Key {
    Key { name, project }
}

/// Every key with one value. `[modes."AGENT"]` and [`LATER_SECTIONS`] stand beside them.
const KEYS: &[Key] = &[
    key("approvals", Project::UserOnly),
    key("defer", Project::Tightens),
    key("max_wait_s", Project::UserOnly),
    key("on_record_failure", Project::Tightens),
    key("review.at_turn_end", Project::Tightens),
    key("review.auto_accept", Project::Tightens),
    key("review.max_hold_s", Project::UserOnly),
    key("review.headless_clients", Project::UserOnly),
    key("review.asking_clients", Project::UserOnly),
    key("review.command", Project::UserOnly),
    key("gate.hold", Project::Tightens),
    key("store.max_size", Project::UserOnly),
    key("store.keep", Project::UserOnly),
    key("secrets.withhold", Project::Tightens),
    key("secrets.redact", Project::UserOnly),
    key("log.level", Project::UserOnly),
    key("log.file", Project::UserOnly),
    key("tui.keys", Project::UserOnly),
    key("web.port", Project::UserOnly),
    key("mcp.may", Project::Tightens),
];

/// Sections that belong to capabilities still to come: accepted unread, and named in a warning.
const LATER_SECTIONS: &[&str] = &["reviews"];

/// The sections of the policy. Requests are judged by them under `enforce`; `hunkgate policy` reads them always.
const POLICY_SECTIONS: &[&str] = &["permissions", "rule", "assessor"];

/// Of these, what only the user's file may say: a repository does not choose which programs are run.
const USER_SECTIONS: &[&str] = &["assessor"];

/// The words for decisions, also those that other tools use.
const DECISIONS: &[(&str, Decision)] = &[
    ("allow", Decision::Allow),
    ("ask", Decision::Ask),
    ("deny", Decision::Deny),
    ("prompt", Decision::Ask),
    ("ask_user", Decision::Ask),
    ("confirm", Decision::Ask),
    ("forbidden", Decision::Deny),
];

const MODES: [(&str, Mode); 3] = [("plan", Mode::Plan), ("normal", Mode::Normal), ("auto", Mode::Auto)];

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ConfigError {
    /// The file, as it was named to us.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// One file's settings, each with the line it stands on; nothing is filled in yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    file: String,
    digest: Digest,
    settings: Vec<Setting>,
    modes: Vec<ModeSetting>,
    sections: Vec<(&'static str, usize)>,
    rules: Vec<RuleText>,
    observes: Vec<Observe>,
    assessors: Vec<Assessor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: &'static str,
    line: usize,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ModeSetting {
    agent: String,
    id: String,
    line: usize,
    mode: Mode,
}

/// A value with its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Approvals(Approvals),
    Defer(Defer),
    MaxWait(u64),
    OnRecordFailure(OnRecordFailure),
    AtTurnEnd(AtTurnEnd),
    AutoAccept(bool),
    MaxHold(u64),
    Headless(BTreeSet<String>),
    Asking(BTreeSet<String>),
    Command(String),
    Hold(BTreeSet<Holdable>),
    MaxSize(u64),
    Keep(Option<u64>),
    Withhold(BTreeSet<String>),
    Redact(BTreeSet<String>),
    Level(String),
    File(Option<String>),
    Keys(BTreeMap<String, Vec<String>>),
    WebPort(u16),
    McpMay(BTreeSet<McpMay>),
}

impl Config {
    /// Fills in what the user's file does not say, and lets the project's file tighten it.
    pub fn of(user: Option<&Written>, project: Option<&Written>) -> Self {
        let mut config = Self::default();
        if let Some(written) = user {
            config.take(written);
        }
        if let Some(written) = project {
            config.tighten(written);
        }
        config
    }

    /// Returns what a mode of an agent means; an unknown id, or none, means [`Mode::Normal`].
    pub fn mode(&self, agent: &str, id: Option<&str>) -> Mode {
        let in_table = |agent: &str| Some(*self.modes.get(agent)?.get(id?)?);
        in_table(agent).or_else(|| in_table("*")).unwrap_or(Mode::Normal)
    }

    /// Adds a sentence that a person should see.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn take(&mut self, written: &Written) {
        for setting in &written.settings {
            self.put(setting.value.clone());
        }
        for row in &written.modes {
            self.modes.entry(row.agent.clone()).or_default().insert(row.id.clone(), row.mode);
        }
        let says = written.settings.iter().any(|setting| setting.name == "approvals");
        if !written.rules.is_empty() && !says {
            self.approvals = Approvals::Enforce;
        }
        let later = |(section, _): &&(&str, usize)| !POLICY_SECTIONS.contains(section);
        for (section, line) in written.sections.iter().filter(later) {
            self.warn(written.no_effect(&format!("[{section}]"), *line));
        }
        self.read = Some(written.digest.clone());
        self.comes_from(written);
        self.rules.extend(written.rules.iter().cloned());
        self.observes.extend(written.observes.iter().cloned());
        self.assessors.extend(written.assessors.iter().cloned());
    }

    fn comes_from(&mut self, written: &Written) {
        if !written.rules.is_empty() || !written.observes.is_empty() {
            self.sources.push(Source { file: written.file.clone(), digest: written.digest.clone() });
        }
    }

    /// Takes over what another configuration says of requests: rules, modes, programs, what is held, deferred, observed, and
    /// what cannot be recorded. Judging is switched on by it, and never off. Everything else stays.
    pub fn take_policy(&mut self, other: Self) {
        if other.approvals < self.approvals {
            self.warn("approvals stays \"enforce\" until the agent is started anew");
        }
        self.approvals = self.approvals.max(other.approvals);
        self.defer = other.defer;
        self.max_wait_s = other.max_wait_s;
        self.on_record_failure = other.on_record_failure;
        self.modes = other.modes;
        self.rules = other.rules;
        self.observes = other.observes;
        self.assessors = other.assessors;
        self.hold = other.hold;
        self.sources = other.sources;
        self.read = other.read;
        self.withhold.extend(other.withhold);
    }

    fn sections(&mut self, written: &Written, but: &[&str]) {
        for (section, line) in written.sections.iter().filter(|(section, _)| !but.contains(section)) {
            if POLICY_SECTIONS.contains(section) && self.approvals == Approvals::Enforce {
                continue;
            }
            if POLICY_SECTIONS.contains(section) {
                let file = &written.file;
                self.warn(format!(
                    "{file}:{line}: [{section}] only tells what would be said: requests are judged with approvals = \"enforce\""
                ));
            } else {
                self.warn(written.no_effect(&format!("[{section}]"), *line));
            }
        }
    }

    /// Lets a project's file make what holds stricter; whatever else it says is ignored, with a warning.
    pub fn tighten(&mut self, written: &Written) {
        for setting in &written.settings {
            match self.stricter(&setting.value) {
                Some(value) if setting.key().project == Project::Tightens => self.put(value),
                _ if self.already(&setting.value) => {}
                _ => self.warn(written.ignored(setting.name, setting.line)),
            }
        }
        for row in &written.modes {
            if row.mode < self.mode(&row.agent, Some(&row.id)) {
                self.warn(written.ignored(&format!("modes.\"{}\"", row.agent), row.line));
            } else {
                self.modes.entry(row.agent.clone()).or_default().insert(row.id.clone(), row.mode);
            }
        }
        for (section, line) in written.sections.iter().filter(|(section, _)| USER_SECTIONS.contains(section))
        {
            self.warn(written.ignored(&format!("[{section}]"), *line));
        }
        self.sections(written, USER_SECTIONS);
        self.comes_from(written);
        self.observes.extend(written.observes.iter().cloned());
        for rule in &written.rules {
            if rule.decision == Decision::Allow {
                self.warn(written.ignored(&rule.id, rule.line));
            } else {
                self.rules.push(rule.clone());
            }
        }
    }

    /// Returns the value that holds when a project asks for `value`, if that is at least as strict as what holds now.
    fn stricter(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Approvals(asked) => (*asked >= self.approvals).then(|| value.clone()),
            Value::Defer(asked) => (*asked >= self.defer).then(|| value.clone()),
            Value::OnRecordFailure(asked) => (*asked >= self.on_record_failure).then(|| value.clone()),
            Value::AtTurnEnd(asked) => (*asked >= self.review.at_turn_end).then(|| value.clone()),
            Value::AutoAccept(asked) => (!asked).then(|| value.clone()),
            Value::Hold(asked) => Some(Value::Hold(self.hold.union(asked).copied().collect())),
            Value::Withhold(asked) => Some(Value::Withhold(self.withhold.union(asked).cloned().collect())),
            Value::McpMay(asked) => Some(Value::McpMay(self.mcp_may.intersection(asked).copied().collect())),
            Value::MaxHold(_)
            | Value::Redact(_)
            | Value::MaxWait(_)
            | Value::Headless(_)
            | Value::Asking(_)
            | Value::Command(_)
            | Value::MaxSize(_)
            | Value::Keep(_)
            | Value::Level(_)
            | Value::File(_)
            | Value::Keys(_)
            | Value::WebPort(_) => None,
        }
    }

    fn already(&self, value: &Value) -> bool {
        let mut copy = self.clone();
        copy.put(value.clone());
        copy == *self
    }

    fn put(&mut self, value: Value) {
        match value {
            Value::Approvals(value) => self.approvals = value,
            Value::Defer(value) => self.defer = value,
            Value::MaxWait(value) => self.max_wait_s = (value > 0).then_some(value),
            Value::OnRecordFailure(value) => self.on_record_failure = value,
            Value::AtTurnEnd(value) => self.review.at_turn_end = value,
            Value::AutoAccept(value) => self.review.auto_accept = value,
            Value::MaxHold(value) => self.review.max_hold_s = value,
            Value::Headless(value) => self.review.headless_clients = value,
            Value::Asking(value) => self.review.asking_clients = value,
            Value::Command(value) => self.review.command = value,
            Value::Hold(value) => self.hold = value,
            Value::MaxSize(value) => self.store.max_size = value,
            Value::Keep(value) => self.store.keep_days = value,
            Value::Withhold(value) => self.withhold = value,
            Value::Redact(value) => self.redact = value,
            Value::Level(value) => self.log.level = value,
            Value::File(value) => self.log.file = value,
            Value::Keys(value) => self.keys = value,
            Value::WebPort(value) => self.web_port = value,
            Value::McpMay(value) => self.mcp_may = value,
        }
    }
}

impl Setting {
    fn key(&self) -> &'static Key {
        KEYS.iter().find(|key| key.name == self.name).expect("because settings are made from the table")
    }
}

impl Written {
    /// Reads one file's text; `file` is only quoted in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let reader = read::Reader { file, text };
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.error(at, error.message().to_owned(), None)
        })?;
        let mut written = Self {
            file: file.to_owned(),
            digest: Digest::of(&[text.as_bytes()]),
            settings: Vec::new(),
            modes: Vec::new(),
            sections: Vec::new(),
            rules: Vec::new(),
            observes: Vec::new(),
            assessors: Vec::new(),
        };
        reader.table("", document.get_ref(), &mut written)?;
        Ok(written)
    }

    /// Returns the digest of its text.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns its rules, as they are written.
    pub fn rules(&self) -> &[RuleText] {
        &self.rules
    }

    /// Returns the programs that it names, for who can look at them to note what they are now.
    pub fn assessors_mut(&mut self) -> &mut [Assessor] {
        &mut self.assessors
    }

    /// Returns the file name patterns that it adds to those whose content is never kept.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        let patterns = self.settings.iter().filter_map(|setting| match &setting.value {
            Value::Withhold(patterns) => Some(patterns),
            Value::Approvals(_)
            | Value::Defer(_)
            | Value::MaxWait(_)
            | Value::OnRecordFailure(_)
            | Value::AtTurnEnd(_)
            | Value::AutoAccept(_)
            | Value::MaxHold(_)
            | Value::Headless(_)
            | Value::Asking(_)
            | Value::Command(_)
            | Value::Hold(_)
            | Value::Redact(_)
            | Value::MaxSize(_)
            | Value::Keep(_)
            | Value::Level(_)
            | Value::File(_)
            | Value::Keys(_)
            | Value::WebPort(_)
            | Value::McpMay(_) => None,
        });
        patterns.flatten().map(String::as_str)
    }

    /// Returns the names of all keys, as they are written, in the order of the documentation.
    pub fn key_names() -> impl Iterator<Item = &'static str> {
        KEYS.iter().map(|key| key.name)
    }

    /// Returns the sections that are accepted and have no effect in this version.
    pub fn later_sections() -> &'static [&'static str] {
        LATER_SECTIONS
    }

    fn no_effect(&self, name: &str, line: usize) -> String {
        format!("{}:{line}: {name} has no effect in this version", self.file)
    }

    fn ignored(&self, name: &str, line: usize) -> String {
        format!("{}:{line}: {name} is ignored: a project file can only tighten", self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Written {
        Written::parse("config.toml", text).unwrap()
    }

    fn user(text: &str) -> Config {
        Config::of(Some(&written(text)), None)
    }

    fn fails(text: &str) -> ConfigError {
        Written::parse("config.toml", text).unwrap_err()
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(Config { read: None, ..user("") }, Config::default());
    }

    #[test]
    fn an_unknown_key_names_its_line_and_its_neighbour() {
        let error = fails("[review]\n\nat_turnend = \"off\"\n");
        assert_eq!(error.to_string(), "config.toml:3: unknown key review.at_turnend");
        assert_eq!(error.hint.as_deref(), Some("did you mean review.at_turn_end?"));
        assert_eq!(fails("hold = []").hint.as_deref(), Some("did you mean gate.hold?"));
        assert_eq!(fails("[zzzzzzzzzzzz]").hint, None);
    }

    #[test]
    fn a_wrong_value_says_what_is_wanted() {
        assert_eq!(
            fails("\napprovals = 3").to_string(),
            "config.toml:2: approvals must be \"observe\" or \"enforce\""
        );
        assert_eq!(fails("[gate]\nhold = [\"shell\"]").line, 2);
        assert_eq!(fails("[store]\nmax_size = \"ten\"").line, 2);
        assert_eq!(fails("review = 1").message, "unknown key review");
    }

    #[test]
    fn text_that_is_no_toml_names_its_line() {
        assert_eq!(fails("a = 1\n= 2").line, 2);
    }

    #[test]
    fn a_section_without_effect_is_named() {
        let config = user("store.keep = \"30d\"\n[[reviews]]\nid = 'x'\n");
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(config.warnings[0].contains("config.toml:2: [reviews] has no effect"));
        assert_eq!(user("approvals = \"observe\"").warnings, Vec::<String>::new());
    }

    #[test]
    fn a_project_file_only_tightens() {
        let mine = written("[review]\nat_turn_end = \"ask\"\n[secrets]\nwithhold = [\"a\"]\n");
        let loose = written(
            "[review]\nat_turn_end = \"off\"\nauto_accept = true\ncommand = \"x\"\n[log]\nlevel = \"trace\"",
        );
        let config = Config::of(Some(&mine), Some(&loose));
        assert_eq!(config.review, Config::default().review);
        assert_eq!(config.log, Config::default().log);
        assert_eq!(config.warnings.iter().filter(|warning| warning.contains("only tighten")).count(), 4);

        let tight = written(
            "[secrets]\nwithhold = [\"b\"]\n[gate]\nhold = [\"fs\"]\n[modes.\"*\"]\nyolo = \"normal\"\nplan = \"plan\"",
        );
        let config = Config::of(Some(&mine), Some(&tight));
        assert_eq!(config.withhold, ["a".to_owned(), "b".to_owned()].into());
        assert_eq!(config.hold, [Holdable::Fs].into());
        assert_eq!(config.mode("any", Some("yolo")), Mode::Normal);
    }

    #[test]
    fn a_project_file_never_allows() {
        let text = "[permissions]\nallow = [\"Bash\"]\ndeny = [\"Bash(rm:*)\"]\n[[rule]]\nprefix = [\"a\", [\"b\", \"c\"]]\ndecision = \"allow\"";
        let config = Config::of(None, Some(&written(text)));
        assert_eq!(config.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["deny Bash(rm:*)"]);
        assert_eq!(config.warnings.iter().filter(|warning| warning.contains("only tighten")).count(), 2);
        let rules = user(text).rules;
        assert_eq!((rules.len(), rules[2].line), (3, 4));
        assert_eq!(rules[2].by, RuleBy::Prefix(vec![vec!["a".into()], vec!["b".into(), "c".into()]]));
    }

    #[test]
    fn rules_of_the_person_are_enforced_unless_they_say_observe() {
        let rules = "[permissions]\ndeny = [\"Bash(rm:*)\"]\n";
        assert_eq!(user(rules).approvals, Approvals::Enforce);
        assert_eq!(user(&format!("approvals = \"observe\"\n{rules}")).approvals, Approvals::Observe);
        assert_eq!(user("[permissions]\n").approvals, Approvals::Observe);
        assert_eq!(Config::of(None, Some(&written(rules))).approvals, Approvals::Observe);
    }

    #[test]
    fn a_reload_takes_the_policy_and_switches_nothing_off() {
        let mut config = user("approvals = \"enforce\"\n[permissions]\nallow = [\"Bash(a)\"]\n");
        config.take_policy(user(
            "approvals = \"observe\"\n[log]\nlevel = \"trace\"\n[gate]\nhold = [\"fs\"]\n",
        ));
        assert_eq!(config.hold, [Holdable::Fs].into());
        assert_eq!((config.approvals, config.rules.len()), (Approvals::Enforce, 0));
        assert_eq!(config.log, Config::default().log);
        assert!(config.warnings[0].contains("started anew"), "{:?}", config.warnings);
    }

    #[test]
    fn a_rule_says_one_thing_by_one_means() {
        assert!(fails("[[rule]]\nprefix = [\"a\"]\n").message.contains("decision"));
        assert!(
            fails("[[rule]]\nprefix = [\"a\"]\npath = \"b\"\ndecision = \"ask\"").message.contains("one of")
        );
        assert_eq!(fails("[[rule]]\nprefx = [\"a\"]").message, "unknown key rule.prefx");
        assert_eq!(fails("[permissions]\nallow = \"Bash\"").line, 2);
    }

    #[test]
    fn a_program_that_is_asked_may_deny_and_allows_only_within_limits() {
        let config = user("[[assessor]]\nid = 'judge'\ncommand = ['judge', '--json']\n");
        let judge = &config.assessors[0];
        assert_eq!((judge.timeout_s, judge.may.len(), judge.max_risk), (20, 1, None));
        let allows = "[[assessor]]\nid = 'j'\ncommand = ['j']\nmay = ['deny', 'allow']\n";
        assert!(fails(allows).message.contains("max_risk"));
        let limits = "max_risk = 'recoverable'\nmin_confidence = 0.9\n";
        let judge = user(&format!("{allows}{limits}")).assessors.remove(0);
        assert_eq!(
            (judge.max_risk, judge.min_confidence.map(|it| it.to_string()).as_deref()),
            (Some(RiskCap::Recoverable), Some("0.9"))
        );
        for bad in [
            "",
            "id = 'x'",
            "id = 'x'\ncommand = []",
            "id = 'x'\ncommand = ['y']\nmay = ['ask']",
            "id = 'x'\ncommand = ['y']\nsha256 = 'zz'",
            "id = 'x'\ncommand = ['y']\ntimeout_s = 0",
            "id = 'x'\ncommand = ['y']\nmin_confidence = 2",
        ] {
            fails(&format!("[[assessor]]\n{bad}\n"));
        }
        let project = Config::of(None, Some(&written("[[assessor]]\nid = 'x'\ncommand = ['y']\n")));
        assert!(project.assessors.is_empty());
        assert_eq!(project.warnings.len(), 1, "{:?}", project.warnings);
    }

    #[test]
    fn what_is_observed_has_a_name_and_paths_and_a_project_may_add_to_it() {
        let text = "[[observe]]\nid = 'a'\npaths = ['db/**']\naccess = ['write', 'delete']\n";
        let config = user(text);
        assert_eq!((config.observes.len(), config.observes[0].line, &config.warnings), (1, 1, &Vec::new()));
        assert_eq!(config.observes[0].access, [Access::Write, Access::Delete].into());
        assert_eq!(config.approvals, Approvals::Observe);
        assert_eq!(Config::of(Some(&written(text)), Some(&written(text))).observes.len(), 2);
        for bad in
            ["id = 'a'", "paths = ['a']", "id = 'a'\npaths = []", "id = 'a'\npaths = ['b']\naccess = ['run']"]
        {
            fails(&format!("[[observe]]\n{bad}\n"));
        }
        assert_eq!(fails("[[observe]]\nid = 'a'\npath = 'b'").message, "unknown key observe.path");
    }

    #[test]
    fn an_unknown_mode_fails_closed() {
        let config = user("[modes.\"claude\"]\nodd = \"auto\"");
        assert_eq!(config.mode("claude", Some("odd")), Mode::Auto);
        assert_eq!(config.mode("other", Some("odd")), Mode::Normal);
        assert_eq!(config.mode("claude", Some("plan")), Mode::Plan);
        assert_eq!(config.mode("claude", None), Mode::Normal);
    }

    #[test]
    fn sizes_and_days_are_read_with_their_units() {
        let config = user("[store]\nmax_size = \"3 MiB\"\nkeep = \"30d\"");
        assert_eq!((config.store.max_size, config.store.keep_days), (3 << 20, Some(30)));
        assert_eq!(user("[store]\nmax_size = 4_096").store.max_size, 4096);
    }
}
