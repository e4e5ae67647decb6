//! Codex: `prefix_rule(…)` of its execution policy, where the strictest rule counts as it does here.

use super::{Carried, Imported, Spelled, decision};
use crate::config::Decision;
use crate::policy::verdict::quoted as shell;
use serde_json::{Map, Value};

/// `config.toml`: it says of the tools of MCP servers whether they are asked about; the rest are settings of its own.
pub(super) fn settings(settings: &Value) -> Imported {
    let mut imported = Imported::default();
    for (server, of) in settings.get("mcp_servers").and_then(Value::as_object).into_iter().flatten() {
        mcp_server(&mut imported, server, of);
    }
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
        ("apps", "its apps run elsewhere: no request of theirs comes here"),
        ("shell_environment_policy", "what a command finds in its environment is the agent's to bound"),
        ("projects", "whether a directory is trusted is Codex's own"),
        ("notify", "a program that Codex runs"),
        ("hooks", "programs that Codex runs; hunkgate asks programs by [[assessor]]"),
    ] {
        if let Some(value) = settings.get(name) {
            imported.leave(format!("{name} = {value}"), why);
        }
    }
    if imported.left.is_empty() && imported.rules.is_empty() {
        imported.leave("config.toml", "there are no rules in it: they stand in rules/*.rules");
    }
    imported
}

/// One `[mcp_servers.NAME]`. What is said of a single tool counts there before what is said of the server.
fn mcp_server(imported: &mut Imported, server: &str, of: &Value) {
    let name = |tool: &str| format!("mcp__{server}__{tool}");
    let mode = |value: Option<&Value>| match value.and_then(Value::as_str) {
        None => Ok(None),
        Some("approve") => Ok(Some(Decision::Allow)),
        Some("prompt") => Ok(Some(Decision::Ask)),
        Some(other) => Err(format!("{other}: what a server says of its tools is not asked here")),
    };
    let tools = of.get("tools").and_then(Value::as_object);
    let single: Vec<(&String, Result<Option<Decision>, String>)> =
        tools.into_iter().flatten().map(|(tool, of)| (tool, mode(of.get("approval_mode")))).collect();
    for tool in
        of.get("disabled_tools").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        imported.rules.push(Carried::permission(Decision::Deny, name(tool)));
    }
    if of.get("enabled_tools").is_some() {
        imported.leave(
            format!("mcp_servers.{server}.enabled_tools"),
            "a list of the tools that there are; hunkgate hides none",
        );
    }
    let default = format!("mcp_servers.{server}.default_tools_approval_mode");
    let all = match mode(of.get("default_tools_approval_mode")) {
        Ok(all) => all,
        Err(why) => {
            imported.leave(default, why);
            None
        }
    };
    if let Some(decision) = all {
        imported.rules.push(Carried::permission(decision, format!("mcp__{server}")));
    }
    for (tool, mode) in single {
        let written = format!("mcp_servers.{server}.tools.{tool}.approval_mode");
        match mode {
            Ok(Some(Decision::Allow)) if all == Some(Decision::Ask) => {
                imported.leave(written, "the server's own \"prompt\" outvotes it here: stricter");
            }
            Ok(Some(decision)) => imported.rules.push(Carried::permission(decision, name(tool))),
            Ok(None) => {}
            Err(why) => imported.leave(written, why),
        }
    }
}

/// `network_rule`: what a command may reach is bounded by a sandbox there. Here only what is fetched says its host.
fn network(fields: &Map<String, Value>) -> Result<Carried, String> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let host = text("host").ok_or("it names no host")?;
    match text("decision").and_then(decision) {
        Some(decided @ (Decision::Deny | Decision::Ask)) => Ok(Carried {
            reason: text("justification").map(str::to_owned),
            ..Carried::permission(decided, format!("WebFetch(domain:{host})"))
        }),
        Some(Decision::Allow) => Err("what a command can reach is the agent's to bound".to_owned()),
        None => Err("neither allow, prompt nor forbidden".to_owned()),
    }
}

/// `*.rules`.
pub(super) fn rules(text: &str) -> Imported {
    let mut imported = Imported::default();
    let mut reader = Reader { text, at: 0, names: Map::new() };
    loop {
        reader.blanks();
        let (line, start) = (reader.line(), reader.at);
        match reader.call() {
            Ok(None) => return imported,
            Ok(Some((name, _))) if name.is_empty() => {}
            Ok(Some((name, fields))) if name == "network_rule" => match network(&fields) {
                Ok(rule) => {
                    imported.rules.push(rule);
                    let why = "only what is fetched says its host here; of a command it is not known";
                    imported.leave(format!("line {line}: network_rule, of commands"), why);
                }
                Err(why) => imported.leave(format!("line {line}: {}", text[start..reader.at].trim()), why),
            },
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
                reader.skip(start);
                imported.leave(format!("line {line}: {}", text[start..reader.at].trim()), why);
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

/// Reads calls with named arguments of texts and lists, and names that stand for such. Anything else of the language is said
/// not to be read.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// What a name was given at the top.
    names: Map<String, Value>,
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

    /// Passes the statement that begins at `start`: what follows begins a line.
    fn skip(&mut self, start: usize) {
        self.at = self.at.max(start);
        loop {
            self.at += self.rest().find('\n').map_or(self.rest().len(), |at| at + 1);
            let next = self.rest().chars().next();
            if next.is_none_or(|c| c.is_ascii_alphabetic() || c == '_') {
                return;
            }
        }
    }

    /// Reads the next statement; one that only names a value has no name of a rule.
    fn call(&mut self) -> Result<Option<Call>, String> {
        self.blanks();
        if self.rest().is_empty() {
            return Ok(None);
        }
        let Some(name) = self.name() else { return Err("it cannot be read".to_owned()) };
        if self.rest().trim_start().starts_with('=') && !self.rest().trim_start().starts_with("==") {
            self.take("=");
            let value = self.value(0)?;
            self.names.insert(name, value);
            return Ok(Some((String::new(), Map::new())));
        }
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

    /// Reads a text or a list, or several joined by `+`.
    fn value(&mut self, depth: u8) -> Result<Value, String> {
        let mut value = self.single(depth)?;
        while self.take("+") {
            value = match (value, self.single(depth)?) {
                (Value::Array(mut one), Value::Array(other)) => {
                    one.extend(other);
                    Value::Array(one)
                }
                (Value::String(one), Value::String(other)) => Value::String(one + &other),
                _ => return Err("only texts and lists are joined".to_owned()),
            };
        }
        Ok(value)
    }

    fn single(&mut self, depth: u8) -> Result<Value, String> {
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
        let name = self.name().ok_or("only texts and lists are read")?;
        self.names
            .get(&name)
            .cloned()
            .ok_or_else(|| format!("{name} is not read: only texts, lists and names for such"))
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
