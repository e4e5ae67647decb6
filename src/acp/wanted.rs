//! What a request of the agent wants, in all that its fields say; more than a [`Fact`](super::Fact) keeps.
//!
//! Tolerant: a field of the wrong type counts as absent. What is only said for people stays a title.

use crate::acp::call;
use crate::acp::fact::{CallClaim, ClaimedIn, Said};
use crate::acp::v1::call_id;
use crate::acp::{CallUpdate, Dialect};
use crate::base::{CallId, SessionId};
use crate::wire::{Fields, Raw};

/// What a request wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The session.
    pub session: SessionId,
    /// The message that it came in.
    pub by: WantedBy,
    /// The call it names.
    pub call: Option<CallId>,
    /// ACP's word for the tool.
    pub kind: Option<String>,
    /// For people.
    pub title: String,
    /// The command that it runs.
    pub command: Option<WantedCommand>,
    /// What it says it writes.
    pub claims: Vec<CallClaim>,
    /// What it says it reads.
    pub reads: Vec<String>,
    /// What it says it fetches.
    pub fetches: Vec<String>,
    /// Whether it starts another agent.
    pub delegates: bool,
    /// The answers it offers.
    pub options: Vec<Offered>,
}

/// The message that a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedBy {
    /// `session/request_permission`.
    Permission,
    /// `fs/read_text_file`.
    FsRead,
    /// `fs/write_text_file`.
    FsWrite,
    /// `terminal/create`.
    Terminal,
    /// Nothing is asked: a tool call is announced.
    Announced,
}

impl Wanted {
    /// Returns what is wanted once the call of this request has said more; `None` where that adds nothing. What it said
    /// before in other words, or in more of them, is nothing new; nor is a claim that it had made before (`claimed`).
    pub fn revised_by(&self, said: &Self, claimed: impl Fn(&CallClaim) -> bool) -> Option<Self> {
        let mut live = self.clone();
        if said.command.is_some() {
            live.command.clone_from(&said.command);
        }
        for (known, said) in [(&mut live.reads, &said.reads), (&mut live.fetches, &said.fetches)] {
            if said.iter().any(|it| !known.contains(it)) {
                known.clone_from(said);
            }
        }
        let names = |claim: &CallClaim| self.claims.iter().any(|known| known.path == claim.path);
        let known = |claim: &CallClaim| {
            let same = |it: &CallClaim| it.path == claim.path && it.says == claim.says;
            self.claims.iter().any(same) || (claim.says == Said::Location && names(claim)) || claimed(claim)
        };
        let fresh: Vec<CallClaim> = said.claims.iter().filter(|claim| !known(claim)).cloned().collect();
        if fresh.iter().all(|claim| claim.says == Said::Location) {
            live.claims.extend(fresh);
        } else {
            live.claims.clone_from(&said.claims);
        }
        if !said.title.is_empty() {
            live.title.clone_from(&said.title);
        }
        if said.kind.is_some() {
            live.kind.clone_from(&said.kind);
        }
        live.delegates |= said.delegates;
        (live != *self).then_some(live)
    }
}

impl WantedBy {
    /// Returns the name of the message.
    pub fn method(self) -> &'static str {
        match self {
            Self::Permission => "session/request_permission",
            Self::FsRead => "fs/read_text_file",
            Self::FsWrite => "fs/write_text_file",
            Self::Terminal => "terminal/create",
            Self::Announced => "session/update",
        }
    }
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCommand {
    /// How it is given.
    pub form: WantedForm,
    /// Where it runs, as sent.
    pub cwd: Option<String>,
    /// Variables that are set for it.
    pub env: Vec<(String, String)>,
}

/// How a command is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedForm {
    /// As one text.
    Text(String),
    /// As a program and its arguments.
    Argv(Vec<String>),
}

/// An answer that a permission request offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The agent's id for it.
    pub id: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or another word.
    pub kind: String,
    /// For people.
    pub name: String,
}

/// Where inputs name a file that is read.
const PATHS: [&str; 6] = ["file_path", "filePath", "path", "absolute_path", "abs_path", "file"];
/// Where inputs hold the tool's own input.
const NESTED: [&str; 5] = ["input", "arguments", "args", "parameters", "tool_input"];
/// Where inputs say in which directory a command runs.
const DIRECTORIES: [&str; 5] = ["cwd", "workdir", "working_directory", "directory", "dir_path"];

/// Where inputs say which agent is started (claude and opencode; qwen; gemini).
const DELEGATES: [&str; 4] = ["subagent_type", "subagentType", "subagent_name", "agent_name"];

/// Reads what a request wants; `None` for every other message.
pub fn read_wanted(dialect: Dialect, method: &str, params: Option<Raw<'_>>) -> Option<Wanted> {
    let fields = params?.fields();
    match (method, dialect) {
        ("session/request_permission", Dialect::V1) => permission(&fields, fields.member("toolCall")),
        ("session/request_permission", Dialect::V2) => permission_v2(&fields),
        ("fs/read_text_file", Dialect::V1) => {
            let mut wanted = blank(&fields, WantedBy::FsRead)?;
            wanted.reads.push(fields.string("path")?);
            Some(wanted)
        }
        ("fs/write_text_file", Dialect::V1) => {
            let mut wanted = blank(&fields, WantedBy::FsWrite)?;
            let says = Said::Whole { old: None, new: fields.string("content")? };
            wanted.claims.push(CallClaim { path: fields.string("path")?, says, from: ClaimedIn::RawInput });
            Some(wanted)
        }
        ("terminal/create", Dialect::V1) => {
            let mut wanted = blank(&fields, WantedBy::Terminal)?;
            wanted.command = Some(terminal(&fields)?);
            Some(wanted)
        }
        _ => None,
    }
}

/// Reads what an announced tool call says that it does; `None` for every other message.
pub fn read_announced(dialect: Dialect, method: &str, params: Option<Raw<'_>>) -> Option<Wanted> {
    if method != "session/update" || !matches!(dialect, Dialect::V1 | Dialect::V2) {
        return None;
    }
    let params = params?;
    let update = params.member("update")?;
    let kind = update.member("sessionUpdate")?.string()?;
    if !matches!(kind.as_str(), "tool_call" | "tool_call_update") {
        return None;
    }
    let mut wanted = permission(&params.fields(), Some(update))?;
    wanted.by = WantedBy::Announced;
    Some(wanted)
}

fn blank(fields: &Fields<'_>, by: WantedBy) -> Option<Wanted> {
    Some(Wanted {
        session: SessionId::new(fields.text("sessionId")?),
        by,
        call: None,
        kind: None,
        title: String::new(),
        command: None,
        claims: Vec::new(),
        reads: Vec::new(),
        fetches: Vec::new(),
        delegates: false,
        options: fields.elements("options").filter_map(offered).collect(),
    })
}

fn offered(option: Raw<'_>) -> Option<Offered> {
    let fields = option.fields();
    Some(Offered {
        id: fields.string("optionId")?,
        kind: fields.string("kind").unwrap_or_default(),
        name: fields.string("name").unwrap_or_default(),
    })
}

fn terminal(fields: &Fields<'_>) -> Option<WantedCommand> {
    let program = fields.string("command")?;
    let arguments: Vec<String> = fields.elements("args").filter_map(Raw::string).collect();
    let form = if arguments.is_empty() {
        WantedForm::Text(program)
    } else {
        WantedForm::Argv(std::iter::once(program).chain(arguments).collect())
    };
    let variable = |raw: Raw<'_>| {
        let fields = raw.fields();
        Some((fields.string("name")?, fields.string("value").unwrap_or_default()))
    };
    Some(WantedCommand {
        form,
        cwd: fields.string("cwd"),
        env: fields.elements("env").filter_map(variable).collect(),
    })
}

fn permission(fields: &Fields<'_>, call: Option<Raw<'_>>) -> Option<Wanted> {
    let mut wanted = blank(fields, WantedBy::Permission)?;
    let Some(raw) = call else { return Some(wanted) };
    let inside = raw.fields();
    wanted.call = inside.member("toolCallId").map(call_id);
    wanted.kind = inside.string("kind");
    wanted.title = inside.string("title").unwrap_or_default();
    let read = call::read(raw, Some(ClaimedIn::Permission));
    if let Some(input) = inside.member("rawInput") {
        input_of(input, &mut wanted);
        for nested in NESTED.iter().filter_map(|name| input.member(name)) {
            input_of(nested, &mut wanted);
        }
    }
    claims(read, &inside, &mut wanted);
    Some(wanted)
}

fn claims(read: Option<CallUpdate>, inside: &Fields<'_>, wanted: &mut Wanted) {
    let reads = read.as_ref().is_some_and(|call| call.read_only)
        || matches!(wanted.kind.as_deref(), Some("read" | "search"));
    if let Some(call) = read {
        wanted.claims =
            call.claims.into_iter().filter(|claim| !reads || claim.says != Said::Location).collect();
    }
    if reads && wanted.command.is_none() {
        let input = inside.member("rawInput").map(Raw::fields);
        let named = input.and_then(|input| PATHS.iter().find_map(|name| input.string(name)));
        let located = inside.elements("locations").filter_map(|it| it.member("path")?.string());
        wanted.reads.extend(named.into_iter().chain(located));
        wanted.reads.dedup();
    }
}

fn input_of(input: Raw<'_>, wanted: &mut Wanted) {
    if !input.is_object() {
        return;
    }
    let fields = input.fields();
    if wanted.command.is_none() {
        wanted.command = command(&fields);
    }
    wanted.delegates |= DELEGATES.iter().any(|name| fields.string(name).is_some());
    wanted.fetches.extend(fields.string("url"));
    wanted.fetches.extend(fields.elements("urls").filter_map(Raw::string));
}

/// A command in a tool's input; not the verb of an editing tool, and not a patch.
fn command(fields: &Fields<'_>) -> Option<WantedCommand> {
    let raw = fields.member("command").or_else(|| fields.member("cmd"))?;
    let form = match raw.string() {
        Some(text) => WantedForm::Text(text),
        None => {
            let argv: Vec<String> = raw.elements().filter_map(Raw::string).collect();
            let whole = argv.len() == raw.elements().count() && !argv.is_empty();
            whole.then_some(WantedForm::Argv(argv))?
        }
    };
    let edits = PATHS.iter().any(|name| fields.member(name).is_some());
    match &form {
        WantedForm::Text(text) if edits && !text.contains(' ') => return None,
        WantedForm::Argv(argv) if argv[0] == "apply_patch" => return None,
        WantedForm::Text(_) | WantedForm::Argv(_) => {}
    }
    let env = fields.member("env").map(|env| {
        env.members().filter_map(|(name, value)| Some((name.into_owned(), value.string()?))).collect()
    });
    let cwd = DIRECTORIES.iter().find_map(|name| fields.string(name));
    Some(WantedCommand { form, cwd, env: env.unwrap_or_default() })
}

fn permission_v2(fields: &Fields<'_>) -> Option<Wanted> {
    let subject = fields.member("subject");
    let kind = subject.and_then(|subject| subject.member("type")?.string());
    match (subject, kind.as_deref()) {
        (Some(subject), Some("tool_call")) => {
            let mut wanted = permission(fields, subject.member("toolCall"))?;
            if let Some(title) = fields.string("title") {
                wanted.title = title;
            }
            Some(wanted)
        }
        (Some(subject), Some("command")) => {
            let mut wanted = blank(fields, WantedBy::Permission)?;
            let inside = subject.fields();
            wanted.call = inside.member("toolCallId").map(call_id);
            wanted.kind = Some("execute".to_owned());
            wanted.title = fields.string("title").unwrap_or_default();
            wanted.command = command(&inside);
            Some(wanted)
        }
        _ => {
            let mut wanted = blank(fields, WantedBy::Permission)?;
            wanted.title = fields.string("title").unwrap_or_default();
            Some(wanted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(call: &str) -> Wanted {
        let params = format!("{{\"sessionId\":\"s\",\"toolCall\":{call},\"options\":[]}}");
        read_wanted(Dialect::V1, "session/request_permission", Raw::parse(&params)).unwrap()
    }

    fn said(update: &str) -> Wanted {
        let update = update.replacen('{', "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t\",", 1);
        let params = format!("{{\"sessionId\":\"s\",\"update\":{update}}}");
        read_announced(Dialect::V1, "session/update", Raw::parse(&params)).unwrap()
    }

    #[test]
    fn only_what_was_not_said_before_revises_a_request() {
        let edit = asked(
            r#"{"toolCallId":"t","kind":"edit","title":"Edit","content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}]}"#,
        );
        let never = |_: &CallClaim| false;
        for nothing in [
            r#"{"status":"in_progress"}"#,
            r#"{"locations":[{"path":"/a","line":3}]}"#,
            r#"{"content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}]}"#,
        ] {
            assert_eq!(edit.revised_by(&said(nothing), never), None, "{nothing}");
        }
        let other = said(r#"{"content":[{"type":"diff","path":"/a","oldText":"x","newText":"z"}]}"#);
        let live = edit.revised_by(&other, never).unwrap();
        assert_eq!(live.claims, other.claims);
        assert_eq!(edit.revised_by(&other, |_| true), None);
        let beside = edit.revised_by(&said(r#"{"locations":[{"path":"/b"}]}"#), never).unwrap();
        assert_eq!(beside.claims.iter().map(|claim| claim.path.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
        let run = asked(r#"{"toolCallId":"t","kind":"execute","rawInput":{"command":"make"}}"#);
        let live = run.revised_by(&said(r#"{"rawInput":{"command":"make install"}}"#), never).unwrap();
        assert_eq!(live.command.unwrap().form, WantedForm::Text("make install".to_owned()));
        assert_eq!(run.revised_by(&said(r#"{"rawInput":{"command":"make"}}"#), never), None);
    }
}
