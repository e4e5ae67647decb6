//! Codex: `prefix_rule(…)` of its execution policy, where the strictest rule counts as it does here.

use super::{Carried, Imported, Spelled, decision};
use crate::config::Decision;
use crate::policy::verdict::quoted as shell;
use serde_json::{Map, Value};

/// `config.toml`: it has no rules, only settings of its own.
pub(super) fn settings(settings: &Value) -> Imported {
    let mut imported = Imported::default();
    for (name, why) in [
        (
            "approval_policy",
            "when Codex asks is its own; a command that no rule is about is asked about here",
        ),
        ("sandbox_mode", "what a command can reach is the agent's to bound"),
        ("sandbox_workspace_write", "what a command can reach is the agent's to bound"),
        ("default_permissions", "what a command can reach is the agent's to bound"),
        ("permissions", "what a command can reach is the agent's to bound"),
        ("profiles", "a profile is chosen in Codex"),
    ] {
        if let Some(value) = settings.get(name) {
            imported.leave(format!("{name} = {value}"), why);
        }
    }
    if imported.left.is_empty() {
        imported.leave("config.toml", "there are no rules in it: they stand in rules/*.rules");
    }
    imported
}

/// `*.rules`.
pub(super) fn rules(text: &str) -> Imported {
    let mut imported = Imported::default();
    let mut reader = Reader { text, at: 0 };
    loop {
        reader.blanks();
        let (line, start) = (reader.line(), reader.at);
        match reader.call() {
            Ok(None) => return imported,
            Ok(Some((name, fields))) if name == "prefix_rule" => match carried(&fields) {
                Ok(rule) => imported.rules.push(rule),
                Err(why) => imported.leave(format!("line {line}: {}", text[start..reader.at].trim()), why),
            },
            Ok(Some((name, _))) if name == "host_executable" => {
                let why = "a rule that asks or denies matches a program by its last component anyway, one that allows never";
                imported.leave(format!("line {line}: host_executable"), why);
            }
            Ok(Some((name, _))) => imported.leave(format!("line {line}: {name}"), "no rule about a command"),
            Err(why) => {
                imported.leave(format!("line {line} and what follows"), why);
                return imported;
            }
        }
    }
}

fn carried(fields: &Map<String, Value>) -> Result<Carried, String> {
    let known = ["pattern", "decision", "justification", "match", "not_match"];
    if let Some(odd) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("{odd} cannot be said here"));
    }
    let mut prefix = Vec::new();
    for word in fields.get("pattern").and_then(Value::as_array).ok_or("it has no pattern")? {
        let one = |word: &Value| word.as_str().map(str::to_owned).ok_or("its pattern holds more than words");
        prefix.push(match word.as_array() {
            Some(several) => several.iter().map(one).collect::<Result<Vec<_>, _>>()?,
            None => vec![one(word)?],
        });
    }
    let decided = match fields.get("decision") {
        None => Decision::Allow,
        Some(word) => word.as_str().and_then(decision).ok_or("neither allow, prompt nor forbidden")?,
    };
    let examples = |name: &str| {
        let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
        let text = |example: &Value| match (example.as_str(), example.as_array()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(words)) => {
                shell(&words.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
            }
            (None, None) => example.to_string(),
        };
        list.map(text).collect::<Vec<_>>()
    };
    Ok(Carried {
        reason: fields.get("justification").and_then(Value::as_str).map(str::to_owned),
        matches: examples("match"),
        not_matches: examples("not_match"),
        ..Carried::new(decided, Spelled::Prefix(prefix))
    })
}

/// A call, by its name and its arguments.
type Call = (String, Map<String, Value>);

/// Reads calls with named arguments of texts and lists. Anything else of the language is said not to be read.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    /// Passes blanks, commas between statements and comments.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ';']).len();
            self.at += blank;
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn name(&mut self) -> Option<String> {
        self.blanks();
        let name: String =
            self.rest().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        self.at += name.len();
        Some(name).filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn call(&mut self) -> Result<Option<Call>, String> {
        self.blanks();
        if self.rest().is_empty() {
            return Ok(None);
        }
        let Some(name) = self.name() else { return Err("it cannot be read".to_owned()) };
        if !self.take("(") {
            return Err(format!("{name} is no call of a rule: only those are read"));
        }
        let mut fields = Map::new();
        while !self.take(")") {
            let field = self.name().ok_or("an argument without a name")?;
            if !self.take("=") {
                return Err(format!("{field} has no value"));
            }
            let value = self.value(0)?;
            if fields.insert(field.clone(), value).is_some() {
                return Err(format!("{field} stands there twice"));
            }
            if !self.take(",") {
                if self.take(")") {
                    break;
                }
                return Err("only texts and lists are read".to_owned());
            }
        }
        Ok(Some((name, fields)))
    }

    fn value(&mut self, depth: u8) -> Result<Value, String> {
        if depth > 8 {
            return Err("lists within lists within lists".to_owned());
        }
        if self.take("[") {
            let mut items = Vec::new();
            while !self.take("]") {
                items.push(self.value(depth + 1)?);
                if !self.take(",") && !self.rest().trim_start().starts_with(']') {
                    return Err("only texts and lists are read".to_owned());
                }
            }
            return Ok(Value::Array(items));
        }
        self.blanks();
        let raw = self.rest().starts_with("r\"") || self.rest().starts_with("r'");
        self.at += usize::from(raw);
        for quote in ["\"\"\"", "'''", "\"", "'"] {
            if self.take(quote) {
                return self.string(quote, raw).map(Value::String);
            }
        }
        Err("only texts and lists are read".to_owned())
    }

    fn string(&mut self, quote: &str, raw: bool) -> Result<String, String> {
        let mut text = String::new();
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Ok(text);
            }
            let c = self.rest().chars().next().ok_or("a text that does not end")?;
            if c == '\n' && quote.len() == 1 {
                return Err("a text that does not end in its line".to_owned());
            }
            self.at += c.len_utf8();
            if c != '\\' || raw {
                text.push(c);
                continue;
            }
            let next = self.rest().chars().next().ok_or("a text that does not end")?;
            self.at += next.len_utf8();
            text.push(match next {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '\\' | '"' | '\'' => next,
                _ => return Err(format!("\\{next} is not read")),
            });
        }
    }
}
