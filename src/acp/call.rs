//! What one message says of a tool call.

use crate::acp::arguments::Arguments;
use crate::acp::claim::Claims;
use crate::acp::fact::{CallClaim, CallStatus, CallUpdate, ClaimedIn, Said};
use crate::acp::v1::call_id;
use crate::wire::{Fields, Raw};

/// Tools of Claude that only read, by the name the agent gives in `_meta` or `name`.
const CLAUDE_READS: [&str; 12] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "TodoRead",
    "ToolSearch",
    "AskUserQuestion",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
];

/// Tools of gemini-cli that only read; its call ids are `TOOL__id`.
const GEMINI_READS: [&str; 8] = [
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "web_fetch",
    "google_web_search",
];

/// Tools of opencode that only read; they are the title of a call until it has one.
const OPENCODE_READS: [&str; 6] = ["read", "grep", "glob", "list", "webfetch", "todoread"];

/// The tool of fast-agent that only reads; with what serves it before it, and a remark in brackets after it, it is the title.
const FAST_AGENT_READS: &str = "read_text_file";

/// Reads `tool_call` or `tool_call_update`.
pub(crate) fn read_update(update: Raw<'_>) -> Option<CallUpdate> {
    read(update, None)
}

/// Reads v2 `tool_call_content_chunk`.
pub(crate) fn read_chunk(update: Raw<'_>) -> Option<CallUpdate> {
    let fields = update.fields();
    let content = fields.member("content")?;
    let mut claims = Claims::new(None);
    claims.content(content);
    Some(CallUpdate {
        call: call_id(fields.member("toolCallId")?),
        title: None,
        kind: None,
        status: None,
        claims: claims.into_claims(),
        parent: parent(&fields),
        read_only: false,
        arguments: Arguments::Untold,
        terminals: terminal(content).into_iter().collect(),
    })
}

/// Reads an object with the fields of a call. `within` names the payload that holds it, when it is not an update.
pub(crate) fn read(call: Raw<'_>, within: Option<ClaimedIn>) -> Option<CallUpdate> {
    let fields = call.fields();
    let id = call_id(fields.member("toolCallId")?);
    let read_only = only_reads(&fields, id.as_str());
    let mut claims = Claims::new(within);
    if !read_only {
        claims.call(&fields);
    }
    let claims = claims.into_claims();
    Some(CallUpdate {
        call: id,
        title: fields.string("title"),
        kind: fields.string("kind"),
        status: fields.text("status").map(|it| status(&it)),
        parent: parent(&fields),
        read_only,
        arguments: arguments(&fields, &claims),
        claims,
        terminals: fields.elements("content").filter_map(terminal).collect(),
    })
}

/// Where a text is told that is written, the call writes, and its arguments are not read: the text may be one of them.
fn arguments(fields: &Fields<'_>, claims: &[CallClaim]) -> Arguments {
    if claims.iter().any(|claim| claim.says != Said::Location) {
        return Arguments::Untold;
    }
    Arguments::read(fields.member("rawInput"))
}

fn status(word: &str) -> CallStatus {
    match word {
        "completed" => CallStatus::Completed,
        "failed" | "cancelled" => CallStatus::Failed,
        "pending" => CallStatus::Pending,
        _ => CallStatus::Open,
    }
}

fn parent(fields: &Fields<'_>) -> Option<crate::base::CallId> {
    fields.at(&["_meta", "claudeCode", "parentToolUseId"]).map(call_id)
}

fn terminal(content: Raw<'_>) -> Option<String> {
    let fields = content.fields();
    (fields.text("type")? == "terminal").then(|| fields.string("terminalId")).flatten()
}

/// Says whether the agent's own name for the tool proves that it only reads. The kind proves nothing: codex calls a shell
/// command `read`. Where a diff is shown, nothing is proved either.
fn only_reads(fields: &Fields<'_>, call: &str) -> bool {
    let shows_diff = fields
        .elements("content")
        .any(|it| it.member("type").and_then(Raw::text).is_some_and(|kind| kind == "diff"));
    if shows_diff {
        return false;
    }
    if let Some(name) = fields.at(&["_meta", "claudeCode", "toolName"]).or_else(|| fields.member("name")) {
        return name.text().is_some_and(|it| CLAUDE_READS.contains(&&*it) || OPENCODE_READS.contains(&&*it));
    }
    // qwen and vibe; qwen's tools are gemini's.
    if let Some(name) = fields.at(&["_meta", "toolName"]).or_else(|| fields.at(&["_meta", "tool_name"])) {
        return name.text().is_some_and(|it| GEMINI_READS.contains(&&*it));
    }
    if let Some((tool, _)) = call.split_once("__") {
        return GEMINI_READS.contains(&tool);
    }
    let kind = fields.text("kind");
    matches!(kind.as_deref(), Some("read" | "search" | "fetch"))
        && fields.text("title").is_some_and(|it| OPENCODE_READS.contains(&&*it) || is_fast_agents_read(&it))
}

fn is_fast_agents_read(title: &str) -> bool {
    let named = title.split_once('(').map_or(title, |(name, _)| name).trim_end();
    named.strip_prefix("acp_filesystem/").unwrap_or(named) == FAST_AGENT_READS
}
