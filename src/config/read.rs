//! One file's text → what it says, with the line of each word.

use super::{
    Approvals, AtTurnEnd, ConfigError, DECISIONS, Defer, Holdable, KEYS, LATER_SECTIONS, MODES, McpMay, Mode,
    ModeSetting, OnRecordFailure, POLICY_SECTIONS, RuleBy, RuleText, Setting, Value, Written,
};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::{DeTable, DeValue};

/// One file being read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
}

impl Reader<'_> {
    pub(super) fn table(
        self,
        prefix: &str,
        table: &DeTable<'_>,
        written: &mut Written,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let at = name.span().start;
            let path = if prefix.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{prefix}.{}", name.get_ref())
            };
            let mut sections = LATER_SECTIONS.iter().chain(POLICY_SECTIONS);
            if let Some(section) = sections.find(|section| prefix.is_empty() && **section == path) {
                written.sections.push((section, self.line(at)));
                match *section {
                    "permissions" => self.permissions(value.get_ref(), at, written)?,
                    "rule" => self.rules(value.get_ref(), at, written)?,
                    "assessor" => written.assessors = self.assessors(value.get_ref(), at)?,
                    _ => {}
                }
            } else if path == "observe" {
                self.observes(value.get_ref(), at, written)?;
            } else if path == "modes" {
                self.modes(value.get_ref(), at, written)?;
            } else if let Some(key) = KEYS.iter().find(|key| key.name == path) {
                let value = self.value(key.name, at, value.get_ref())?;
                written.settings.push(Setting { name: key.name, line: self.line(at), value });
            } else if let (Some(inner), true) = (value.get_ref().as_table(), is_section(&path)) {
                self.table(&path, inner, written)?;
            } else {
                return Err(self.unknown(at, &path));
            }
        }
        Ok(())
    }

    fn modes(self, agents: &DeValue<'_>, at: usize, written: &mut Written) -> Result<(), ConfigError> {
        let agents = agents.as_table().ok_or_else(|| self.wrong(at, "modes", "a table per agent"))?;
        for (agent, rows) in agents {
            let at = agent.span().start;
            let rows =
                rows.get_ref().as_table().ok_or_else(|| self.wrong(at, "modes", "a table per agent"))?;
            for (id, mode) in rows {
                let at = id.span().start;
                let mode = self.word(id.get_ref(), at, mode.get_ref(), &MODES)?;
                written.modes.push(ModeSetting {
                    agent: agent.get_ref().to_string(),
                    id: id.get_ref().to_string(),
                    line: self.line(at),
                    mode,
                });
            }
        }
        Ok(())
    }

    /// `[permissions]`: decision → tools with their patterns.
    fn permissions(self, table: &DeValue<'_>, at: usize, written: &mut Written) -> Result<(), ConfigError> {
        let table = table
            .as_table()
            .ok_or_else(|| self.wrong(at, "permissions", "a table of allow, ask and deny"))?;
        for (word, tools) in table {
            let at = word.span().start;
            let found = DECISIONS.iter().find(|(known, _)| known == word.get_ref());
            let (_, decision) =
                found.ok_or_else(|| self.unknown(at, &format!("permissions.{}", word.get_ref())))?;
            let wrong = || self.wrong(at, word.get_ref(), "a list of strings such as \"Bash(git status:*)\"");
            for tool in tools.get_ref().as_array().ok_or_else(wrong)? {
                let text = tool.get_ref().as_str().ok_or_else(wrong)?;
                let (line, id) = (self.line(tool.span().start), format!("{} {text}", word.get_ref()));
                let mut rule = RuleText::new(self.file, line, id);
                (rule.decision, rule.tool) = (*decision, text.to_owned());
                written.rules.push(rule);
            }
        }
        Ok(())
    }

    /// `[[rule]]`.
    fn rules(self, tables: &DeValue<'_>, at: usize, written: &mut Written) -> Result<(), ConfigError> {
        let tables = tables.as_array().ok_or_else(|| self.wrong(at, "rule", "written as [[rule]]"))?;
        for (number, table) in tables.iter().enumerate() {
            let at = table.span().start;
            let fields =
                table.get_ref().as_table().ok_or_else(|| self.wrong(at, "rule", "written as [[rule]]"))?;
            let rule = self.rule(fields, number + 1, at)?;
            written.rules.push(rule);
        }
        Ok(())
    }

    fn rule(self, fields: &DeTable<'_>, number: usize, at: usize) -> Result<RuleText, ConfigError> {
        let mut decision = None;
        let mut rule = RuleText::new(self.file, self.line(at), format!("rule {number}"));
        for (name, value) in fields {
            let (at, value, text) = (name.span().start, value.get_ref(), name.get_ref().as_ref());
            let string = || self.string(text, at, value).map(str::to_owned);
            match text {
                "id" => rule.id = string()?,
                "tool" => rule.tool = string()?,
                "decision" => decision = Some(self.word(text, at, value, DECISIONS)?),
                "reason" => rule.reason = Some(string()?),
                "prefix" => rule.by = RuleBy::Prefix(self.prefix(at, value)?),
                "command" => rule.by = RuleBy::Command(string()?),
                "regex" => rule.by = RuleBy::Regex(string()?),
                "path" => rule.by = RuleBy::Path(string()?),
                "redirects" => {
                    rule.redirects = value.as_bool().ok_or_else(|| self.wrong(at, text, "true or false"))?
                }
                "env" => rule.env = self.strings(text, at, value)?,
                "match" => rule.matches = self.strings(text, at, value)?.into_iter().collect(),
                "not_match" => rule.not_matches = self.strings(text, at, value)?.into_iter().collect(),
                "modes" => rule.modes = self.modes_of(text, at, value)?,
                _ => return Err(self.unknown(at, &format!("rule.{text}"))),
            }
        }
        let by =
            ["prefix", "command", "regex", "path"].iter().filter(|name| fields.contains_key(**name)).count();
        if by > 1 {
            return Err(self.wrong(at, &rule.id, "by one of prefix, command, regex, path"));
        }
        rule.decision = decision
            .ok_or_else(|| self.wrong(at, &rule.id, "given a decision: \"allow\", \"ask\" or \"deny\""))?;
        Ok(rule)
    }

    fn prefix(self, at: usize, value: &DeValue<'_>) -> Result<Vec<Vec<String>>, ConfigError> {
        let wrong = || self.wrong(at, "prefix", "a list of words, each a string or a list of alternatives");
        let mut words = Vec::new();
        for word in value.as_array().ok_or_else(wrong)? {
            let alternatives = match (word.get_ref().as_str(), word.get_ref().as_array()) {
                (Some(one), _) => vec![one.to_owned()],
                (None, Some(several)) => several
                    .iter()
                    .map(|one| one.get_ref().as_str().map(str::to_owned).ok_or_else(wrong))
                    .collect::<Result<Vec<_>, _>>()?,
                (None, None) => return Err(wrong()),
            };
            words.push(alternatives);
        }
        if words.is_empty() || words.iter().any(Vec::is_empty) { Err(wrong()) } else { Ok(words) }
    }

    fn value(self, name: &'static str, at: usize, value: &DeValue<'_>) -> Result<Value, ConfigError> {
        Ok(match name {
            "approvals" => Value::Approvals(self.word(
                name,
                at,
                value,
                &[("observe", Approvals::Observe), ("enforce", Approvals::Enforce)],
            )?),
            "defer" => Value::Defer(self.word(
                name,
                at,
                value,
                &[("ask", Defer::Ask), ("hold", Defer::Hold), ("deny", Defer::Deny)],
            )?),
            "on_record_failure" => Value::OnRecordFailure(self.word(
                name,
                at,
                value,
                &[("warn", OnRecordFailure::Warn), ("deny", OnRecordFailure::Deny)],
            )?),
            "review.at_turn_end" => Value::AtTurnEnd(self.word(
                name,
                at,
                value,
                &[("summary", AtTurnEnd::Summary), ("off", AtTurnEnd::Off), ("ask", AtTurnEnd::Ask)],
            )?),
            "review.auto_accept" => {
                Value::AutoAccept(value.as_bool().ok_or_else(|| self.wrong(at, name, "true or false"))?)
            }
            "max_wait_s" => Value::MaxWait(self.number(name, at, value)?),
            "review.max_hold_s" => Value::MaxHold(self.number(name, at, value)?),
            "review.headless_clients" => Value::Headless(self.strings(name, at, value)?),
            "review.asking_clients" => Value::Asking(self.strings(name, at, value)?),
            "review.command" => Value::Command(self.command(name, at, value)?),
            "gate.hold" => Value::Hold(self.holds(name, at, value)?),
            "store.max_size" => Value::MaxSize(self.size(name, at, value)?),
            "store.keep" => Value::Keep(self.days(name, at, value)?),
            "secrets.withhold" => Value::Withhold(self.strings(name, at, value)?),
            "secrets.redact" => Value::Redact(self.strings(name, at, value)?),
            "log.level" => {
                let words = ["error", "warn", "info", "debug", "trace"].map(|word| (word, word.to_owned()));
                Value::Level(self.word(name, at, value, &words)?)
            }
            "log.file" => {
                let path = self.string(name, at, value)?;
                Value::File((!path.is_empty()).then(|| path.to_owned()))
            }
            "tui.keys" => Value::Keys(self.keys(name, at, value)?),
            "web.port" => {
                let number = self.number(name, at, value)?;
                let port = u16::try_from(number).map_err(|_| self.wrong(at, name, "a port, 0 to 65535"))?;
                Value::WebPort(port)
            }
            "mcp.may" => Value::McpMay(self.may(name, at, value)?),
            other => return Err(self.unknown(at, other)),
        })
    }

    pub(super) fn word<T: Clone>(
        self,
        name: &str,
        at: usize,
        value: &DeValue<'_>,
        words: &[(&str, T)],
    ) -> Result<T, ConfigError> {
        let given = value.as_str();
        let found = words.iter().find(|(word, _)| Some(*word) == given);
        found.map(|(_, meaning)| meaning.clone()).ok_or_else(|| {
            let all: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong(at, name, &all.join(" or "))
        })
    }

    /// Action → a key, or several.
    fn keys(
        self,
        name: &str,
        at: usize,
        value: &DeValue<'_>,
    ) -> Result<BTreeMap<String, Vec<String>>, ConfigError> {
        let rows = value.as_table().ok_or_else(|| self.wrong(at, name, "a table: action = [\"key\", …]"))?;
        let mut keys = BTreeMap::new();
        for (action, given) in rows {
            let at = action.span().start;
            let list = match given.get_ref().as_str() {
                Some(one) => vec![one.to_owned()],
                None => self.strings(action.get_ref(), at, given.get_ref())?.into_iter().collect(),
            };
            keys.insert(action.get_ref().to_string(), list);
        }
        Ok(keys)
    }

    pub(super) fn string<'v>(
        self,
        name: &str,
        at: usize,
        value: &'v DeValue<'_>,
    ) -> Result<&'v str, ConfigError> {
        value.as_str().ok_or_else(|| self.wrong(at, name, "a string"))
    }

    pub(super) fn strings(
        self,
        name: &str,
        at: usize,
        value: &DeValue<'_>,
    ) -> Result<BTreeSet<String>, ConfigError> {
        let wrong = || self.wrong(at, name, "a list of strings");
        let items = value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    /// A list of modes.
    pub(super) fn modes_of(
        self,
        name: &str,
        at: usize,
        value: &DeValue<'_>,
    ) -> Result<BTreeSet<Mode>, ConfigError> {
        let wrong = || self.wrong(at, name, "a list of \"plan\", \"normal\", \"auto\"");
        let words = self.strings(name, at, value)?;
        words.iter().map(|word| Mode::parse(word).ok_or_else(wrong)).collect()
    }

    pub(super) fn number(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<u64, ConfigError> {
        let integer = value.as_integer().filter(|integer| integer.radix() == 10);
        integer
            .and_then(|integer| integer.as_str().replace('_', "").parse().ok())
            .ok_or_else(|| self.wrong(at, name, "a whole number"))
    }

    fn holds(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<BTreeSet<Holdable>, ConfigError> {
        let all = "a list of \"permission\", \"fs\", \"terminal\"";
        let meaning = |word: String| match word.as_str() {
            "permission" => Ok(Holdable::Permission),
            "fs" => Ok(Holdable::Fs),
            "terminal" => Ok(Holdable::Terminal),
            _ => Err(self.wrong(at, name, all)),
        };
        self.strings(name, at, value)?.into_iter().map(meaning).collect()
    }

    fn may(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<BTreeSet<McpMay>, ConfigError> {
        let meaning = |word: String| match word.as_str() {
            "comment" => Ok(McpMay::Comment),
            "decide" => Ok(McpMay::Decide),
            _ => Err(self.wrong(at, name, "a list of \"comment\", \"decide\"")),
        };
        self.strings(name, at, value)?.into_iter().map(meaning).collect()
    }

    fn command(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<String, ConfigError> {
        let word = self.string(name, at, value)?.trim_start_matches('/');
        if word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')) {
            return Ok(word.to_owned());
        }
        Err(self.wrong(at, name, "one word of letters, digits, - and _"))
    }

    fn size(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<u64, ConfigError> {
        if value.is_integer() {
            return self.number(name, at, value);
        }
        let wrong = || self.wrong(at, name, "a size such as \"10GiB\"");
        let text = value.as_str().ok_or_else(wrong)?;
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let shift = match text[digits.len()..].trim() {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            "TiB" => 40,
            _ => return Err(wrong()),
        };
        digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)).ok_or_else(wrong)
    }

    fn days(self, name: &str, at: usize, value: &DeValue<'_>) -> Result<Option<u64>, ConfigError> {
        let wrong = || self.wrong(at, name, "\"forever\" or a number of days such as \"30d\"");
        match value.as_str().ok_or_else(wrong)? {
            "forever" => Ok(None),
            text => text.strip_suffix('d').and_then(|days| days.parse().ok()).map(Some).ok_or_else(wrong),
        }
    }

    pub(super) fn wrong(self, at: usize, name: &str, wanted: &str) -> ConfigError {
        self.error(at, format!("{name} must be {wanted}"), None)
    }

    pub(super) fn unknown(self, at: usize, path: &str) -> ConfigError {
        let hint = nearest(path).map(|near| format!("did you mean {near}?"));
        self.error(at, format!("unknown key {path}"), hint)
    }

    pub(super) fn error(self, at: usize, message: String, hint: Option<String>) -> ConfigError {
        ConfigError { file: self.file.to_owned(), line: self.line(at), message, hint }
    }

    pub(super) fn line(self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }
}

fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Returns the key or section that is written most like `path`, if any is close.
fn nearest(path: &str) -> Option<&'static str> {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let distance = |name: &'static str| edits(path, name).min(edits(path, last(name)) + 1);
    let names = KEYS
        .iter()
        .map(|key| key.name)
        .chain(LATER_SECTIONS.iter().chain(POLICY_SECTIONS).copied())
        .chain(["modes", "observe"]);
    names
        .map(|name| (distance(name), name))
        .min()
        .filter(|(edits, _)| *edits <= 3 + path.len() / 4)
        .map(|(_, name)| name)
}

/// Counts the insertions, removals and replacements between two words.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
