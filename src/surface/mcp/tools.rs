//! What can be called.

use super::visit::Visit;
use crate::config::McpMay;
use crate::ledger::Who;
use crate::review::Problem;
use crate::surface::port::Doors;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tools, for one client.
pub struct Tools {
    doors: Arc<dyn Doors>,
    may: BTreeSet<McpMay>,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools").field("may", &self.may).finish_non_exhaustive()
    }
}

impl Tools {
    /// Makes the tools; `may` is what the configuration allows beside looking.
    pub fn new(doors: Arc<dyn Doors>, may: BTreeSet<McpMay>) -> Self {
        Self { doors, may }
    }

    /// Describes the tools.
    pub(super) fn list(&self) -> Value {
        let session = json!({ "type": "string", "description": "a session_id of review_list_sessions" });
        let text = |says: &str| json!({ "type": "string", "description": says });
        let number = |says: &str| json!({ "type": "integer", "minimum": 0, "description": says });
        let tool = |name: &str, says: &str, reads: bool, own: Value, required: &[&str]| {
            let mut properties = json!({ "session_id": session });
            let mut needed = vec!["session_id"];
            needed.extend(required);
            if let (Some(all), Some(own)) = (properties.as_object_mut(), own.as_object()) {
                all.extend(own.clone());
            }
            json!({
                "name": name, "description": says,
                "inputSchema": { "type": "object", "properties": properties, "required": needed },
                "annotations": { "readOnlyHint": reads, "openWorldHint": false },
            })
        };
        let decides = if self.may.contains(&McpMay::Decide) {
            "Accepts or rejects a hunk; a rejected one is put back on disk. Never in your own session."
        } else {
            "Accepts or rejects a hunk. The configuration does not allow it here: comment instead."
        };
        json!([
            {
                "name": "review_list_sessions",
                "description": "Lists the recorded sessions, the one that was active last first, with their parents and children.",
                "inputSchema": { "type": "object", "properties": {} },
                "annotations": { "readOnlyHint": true, "openWorldHint": false },
            },
            tool("review_list_hunks", "Lists what a session changed: hunks with their calls and evidence, comments, policy. Bodies are cut at 2000 characters.", true,
                json!({ "paths": { "type": "array", "items": { "type": "string" }, "description": "only these files and directories" } }), &[]),
            tool("review_show_hunk", "Shows one hunk: content, calls, evidence in a sentence, history of decisions.", true,
                json!({ "hunk_id": text("an id or a unique prefix"), "offset": number("characters of long bodies to leave out") }), &["hunk_id"]),
            tool("review_blame", "Says who wrote each line of a file as it stands: base, a call, external, unknown. At most 400 lines at a time.", true,
                json!({ "path": text("relative to a root, or absolute"), "root": text("the root, absolute"), "from": number("first line, 1 when absent") }), &["path"]),
            tool("review_comment", "Says something about lines of a file. The person sees it; it is signed as yours.", false,
                json!({ "path": text("relative to a root, or absolute"), "root": text("the root, absolute"), "body": text("what to say"), "line_start": number("first line, 1-based"), "line_end": number("last line, inclusive") }),
                &["path", "body", "line_start"]),
            tool("review_resolve_comment", "Settles a comment.", false, json!({ "comment_id": text("a comment's id") }), &["comment_id"]),
            tool("review_set_state", decides, false,
                json!({ "hunk_id": text("an id"), "state": { "enum": ["accepted", "rejected"] }, "digest": text("the hunk's digest as you saw it"), "reason": text("for the author, with a reject") }), &["hunk_id", "state"]),
        ])
    }

    /// Carries a call of a client out, as the name that it gives itself.
    pub(super) fn call(&self, client: Option<&str>, name: &str, arguments: Value) -> Result<Value, Problem> {
        let who = Who::Agent(signature(client));
        Visit { doors: self.doors.as_ref(), may: &self.may, who }.call(name, arguments)
    }
}

/// What an agent's words are signed with.
fn signature(client: Option<&str>) -> String {
    let plain: String = client.unwrap_or_default().chars().filter(|c| !c.is_control()).take(64).collect();
    if plain.trim().is_empty() { "agent".to_owned() } else { plain }
}
