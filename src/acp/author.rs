//! The frames we write: whole ones, each ending in a newline, and edits of a peer's frame at byte spans.

use crate::acp::Dialect;
use crate::base::SessionId;
use crate::wire::{Fields, Head, IdToken, Raw, head, splice};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::Range;

/// One of our slash commands as it is advertised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow it.
    pub hint: Option<String>,
}

/// Whether the agent works while we answer a prompt in its place (version 2 tells clients so).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// It is idle.
    Idle,
    /// A turn of its own goes on.
    Busy,
}

/// What is left of a frame from which our note was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stripped {
    /// It holds no note, or cannot be edited: forward it as it is.
    Unchanged,
    /// Forward this.
    Rewritten(Bytes),
    /// It was the note and nothing else: forward nothing.
    Gone,
}

/// Writes a piece of the agent's message. `message` names the message; only version 2 shows it.
pub fn message_chunk(dialect: Dialect, session: &SessionId, message: &str, text: &str) -> Bytes {
    let mut update = json!({ "sessionUpdate": "agent_message_chunk", "content": text_block(text) });
    if dialect == Dialect::V2 {
        update["messageId"] = message.into();
    }
    session_update(session, update)
}

/// Writes the list of our commands, for an agent that sends none.
pub fn commands_update(dialect: Dialect, session: &SessionId, commands: &[CommandSpec]) -> Bytes {
    let commands: Vec<Value> = commands.iter().map(|it| command(dialect, it)).collect();
    session_update(
        session,
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands }),
    )
}

/// Adds our commands to an agent's list, after its own; one whose name is there already is not added again. The list stands
/// in an update, or (version 2) in the result of a request that opens a session.
pub fn merge_commands(line: &[u8], dialect: Dialect, commands: &[CommandSpec]) -> Option<Bytes> {
    let path = commands_in(line);
    let listed = splice::find(line, path)?;
    let names: Vec<_> = listed.elements().filter_map(|it| it.member("name")?.text()).collect();
    let missing: Vec<String> = commands
        .iter()
        .filter(|ours| names.iter().all(|name| *name != ours.name))
        .map(|ours| command(dialect, ours).to_string())
        .collect();
    if missing.is_empty() {
        return None;
    }
    splice::append_to_array(line, path, &missing.join(","))
}

/// Returns the names in an agent's list of commands; `None` where there is no list.
pub fn command_names(line: &[u8]) -> Option<Vec<String>> {
    let listed = splice::find(line, commands_in(line)).filter(|list| list.is_array())?;
    Some(listed.elements().filter_map(|it| it.member("name")?.string()).collect())
}

fn commands_in(line: &[u8]) -> &'static [&'static str] {
    match head(line) {
        Head::Response { .. } => &["result", "availableCommands"],
        Head::Request { .. } | Head::Notification { .. } | Head::Unreadable => {
            &["params", "update", "availableCommands"]
        }
    }
}

/// Answers a prompt in place of the agent: what `line` asked gets `text`, and the turn is over. `message` names the
/// messages that version 2 wants. Empty when `line` is no prompt.
///
/// Version 1: a message chunk, then the response. Version 2: the response, the echo of the user's message, `running`, the
/// agent's message, `idle`; the states are left out while the agent works for itself.
pub fn prompt_answer(
    dialect: Dialect,
    line: &[u8],
    message: &str,
    text: &str,
    foreground: Foreground,
) -> Vec<Bytes> {
    let Head::Request { id, params: Some(params), .. } = head(line) else { return Vec::new() };
    let fields = params.fields();
    let Some(session) = fields.string("sessionId").map(SessionId::new) else { return Vec::new() };
    if dialect != Dialect::V2 {
        let answer = response(&id.to_id(), &json!({ "stopReason": "end_turn" }));
        return vec![message_chunk(dialect, &session, message, text), answer];
    }
    let answer = format!("{message}-answer");
    let mut frames = vec![
        response(&id.to_id(), &json!({ "messageId": message })),
        echo(&session, message, fields.member("prompt")),
        session_update(&session, json!({ "sessionUpdate": "state_update", "state": "running" })),
        session_update(
            &session,
            json!({ "sessionUpdate": "agent_message", "messageId": answer, "content": [text_block(text)] }),
        ),
        session_update(
            &session,
            json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" }),
        ),
    ];
    if foreground == Foreground::Busy {
        frames.pop();
        frames.remove(2);
    }
    frames
}

/// Writes a response.
pub fn response(id: &IdToken, result: &impl Serialize) -> Bytes {
    answer(id, "result", &to_json(result))
}

/// Writes an error response. `data` may be `null`.
pub fn error_answer(id: &IdToken, code: i64, message: &str, data: &Value) -> Bytes {
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    answer(id, "error", &error.to_string())
}

/// Answers a permission request as cancelled, which is no decision.
pub fn cancelled_permission(id: &IdToken) -> Bytes {
    response(id, &json!({ "outcome": { "outcome": "cancelled" } }))
}

/// Answers a permission request with one of the options that it offered.
pub fn selected_permission(id: &IdToken, option: &str) -> Bytes {
    response(id, &json!({ "outcome": { "outcome": "selected", "optionId": option } }))
}

/// Withdraws a request of ours.
pub fn cancel_request(id: &IdToken) -> Bytes {
    let line = format!(
        r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{}}}}}"#,
        id.as_str()
    );
    ended(line)
}

/// Writes a request of ours.
pub fn request(id: &IdToken, method: &str, params: &impl Serialize) -> Bytes {
    let (method, params) = (Value::from(method), to_json(params));
    ended(format!(r#"{{"jsonrpc":"2.0","id":{},"method":{method},"params":{params}}}"#, id.as_str()))
}

/// Writes a notification.
pub fn notification(method: &str, params: &impl Serialize) -> Bytes {
    let (method, params) = (Value::from(method), to_json(params));
    ended(format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#))
}

/// Writes a `session/update`.
pub fn session_update(session: &SessionId, update: impl Serialize) -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a, T> {
        session_id: &'a SessionId,
        update: T,
    }
    notification("session/update", &Params { session_id: session, update })
}

/// Appends a text block to a prompt, as its last.
pub fn append_note(line: &[u8], text: &str) -> Option<Bytes> {
    splice::append_to_array(line, &["params", "prompt"], &text_block(text).to_string())
}

/// Puts another stop reason into what ends a turn: the response to a prompt (version 1), an idle state (version 2).
pub fn set_stop_reason(line: &[u8], stop: &str) -> Option<Bytes> {
    let ends: &[&str] = match head(line) {
        Head::Response { .. } => &["result"],
        Head::Notification { .. } => &["params", "update"],
        Head::Request { .. } | Head::Unreadable => return None,
    };
    let stop = Value::from(stop).to_string();
    let path = [ends, &["stopReason"]].concat();
    splice::replace(line, &path, &stop).or_else(|| splice::add_member(line, ends, "stopReason", &stop))
}

/// Cuts our note out of an echo or replay of the user's message. `is_note` maps a text to what is left of it without the
/// note, and `None` when it holds none; a text of which nothing is left takes its block along.
pub fn strip_note(line: &[u8], dialect: Dialect, is_note: &dyn Fn(&str) -> Option<String>) -> Stripped {
    let Some(content) = splice::find(line, &["params", "update", "content"]) else {
        return Stripped::Unchanged;
    };
    if dialect == Dialect::V2 && content.is_array() {
        return strip_blocks(line, content, is_note);
    }
    match left_of(content, is_note) {
        None => Stripped::Unchanged,
        Some((_, left)) if left.is_empty() => Stripped::Gone,
        Some((text, left)) => rewrite(line, vec![(text, Value::from(left).to_string())]),
    }
}

fn strip_blocks(line: &[u8], blocks: Raw<'_>, is_note: &dyn Fn(&str) -> Option<String>) -> Stripped {
    let blocks: Vec<Raw<'_>> = blocks.elements().collect();
    let kept: Vec<Option<String>> = blocks
        .iter()
        .map(|block| match left_of(*block, is_note) {
            None => Some(block.get().to_owned()),
            Some((_, left)) if left.is_empty() => None,
            Some((text, left)) => replaced(*block, text, &Value::from(left).to_string()),
        })
        .collect();
    let same = kept.iter().zip(&blocks).all(|(kept, block)| kept.as_deref() == Some(block.get()));
    match (same, kept.iter().all(Option::is_none)) {
        (true, _) => Stripped::Unchanged,
        (false, true) => Stripped::Gone,
        (false, false) => {
            let mut line = Bytes::copy_from_slice(line);
            for (at, kept) in kept.iter().enumerate().rev() {
                let path = ["params", "update", "content", &at.to_string()];
                let edited = match kept {
                    Some(kept) => splice::replace(&line, &path, kept),
                    None => splice::remove_array_element(&line, &path[..3], at),
                };
                let Some(edited) = edited else { return Stripped::Unchanged };
                line = edited;
            }
            Stripped::Rewritten(line)
        }
    }
}

/// The text token of a text block that holds a note, and what is left of it.
fn left_of<'a>(block: Raw<'a>, is_note: &dyn Fn(&str) -> Option<String>) -> Option<(Raw<'a>, String)> {
    let fields: Fields<'a> = block.fields();
    if fields.text("type")? != "text" {
        return None;
    }
    let text = fields.member("text")?;
    Some((text, is_note(&text.text()?)?))
}

/// Replaces a value within a block.
fn replaced(block: Raw<'_>, value: Raw<'_>, with: &str) -> Option<String> {
    let span = value.span_in(block.get().as_bytes())?;
    let mut text = block.get().to_owned();
    text.replace_range(span, with);
    Some(text)
}

fn rewrite(line: &[u8], edits: Vec<(Raw<'_>, String)>) -> Stripped {
    let spans: Option<Vec<(Range<usize>, &str)>> =
        edits.iter().map(|(at, with)| Some((at.span_in(line)?, with.as_str()))).collect();
    spans.map_or(Stripped::Unchanged, |spans| Stripped::Rewritten(splice::edit(line, &spans)))
}

/// The user's message back to the client, its blocks as they were sent.
fn echo(session: &SessionId, message: &str, prompt: Option<Raw<'_>>) -> Bytes {
    let update = json!({ "sessionUpdate": "user_message", "messageId": message, "content": [] });
    let frame = session_update(session, update);
    let content = prompt.filter(|it| it.is_array()).map_or("[]", Raw::get);
    splice::replace(&frame, &["params", "update", "content"], content).unwrap_or(frame)
}

fn command(dialect: Dialect, spec: &CommandSpec) -> Value {
    let mut command = json!({ "name": spec.name, "description": spec.description });
    let hint = spec.hint.as_ref();
    if dialect == Dialect::V2 {
        command["type"] = "command".into();
        hint.inspect(|hint| command["input"] = json!({ "type": "text", "hint": hint }));
    } else {
        hint.inspect(|hint| command["input"] = json!({ "hint": hint }));
    }
    command
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn answer(id: &IdToken, name: &str, value: &str) -> Bytes {
    ended(format!(r#"{{"jsonrpc":"2.0","id":{},"{name}":{value}}}"#, id.as_str()))
}

fn to_json(value: &impl Serialize) -> String {
    // Only maps with keys that are no strings fail, and none of ours has any.
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn ended(mut line: String) -> Bytes {
    line.push('\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::{v1::schema as v1, v2::schema as v2};
    use proptest::prelude::*;
    use serde::de::DeserializeOwned;

    fn value(line: &[u8]) -> Value {
        assert_eq!(line.last(), Some(&b'\n'));
        assert_eq!(memchr::memchr(b'\n', line), Some(line.len() - 1));
        serde_json::from_slice(line).unwrap()
    }

    /// Reads a part of a line as a type of the SDK and checks that writing it again loses nothing.
    fn is<T: DeserializeOwned + Serialize>(line: &[u8], part: &str) {
        let value = value(line)[part].clone();
        let typed: T = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), value);
    }

    fn session() -> SessionId {
        SessionId::new("s \"1\"")
    }

    fn commands() -> Vec<CommandSpec> {
        let command = |name: &str, hint: Option<&str>| CommandSpec {
            name: name.into(),
            description: "what".into(),
            hint: hint.map(Into::into),
        };
        vec![command("hunkgate", Some("status | show")), command("hunkgate-undo", None)]
    }

    #[test]
    fn what_we_author_for_version_1_parses_as_the_types_of_the_sdk() {
        is::<v1::SessionNotification>(
            &message_chunk(Dialect::V1, &session(), "m", "hi\n\u{1f600}"),
            "params",
        );
        is::<v1::SessionNotification>(&commands_update(Dialect::V1, &session(), &commands()), "params");
        let id = IdToken::new("7");
        is::<v1::RequestPermissionResponse>(&cancelled_permission(&id), "result");
        is::<v1::RequestPermissionResponse>(&selected_permission(&id, "once"), "result");
        is::<v1::CancelRequestNotification>(&cancel_request(&id), "params");
        is::<v1::Error>(&error_answer(&id, -32603, "agent exited", &json!({ "stderr": "x" })), "error");
        is::<v1::Error>(&error_answer(&id, -32603, "agent exited", &Value::Null), "error");
    }

    #[test]
    fn what_we_author_for_version_2_parses_as_the_types_of_the_sdk() {
        is::<v2::UpdateSessionNotification>(&message_chunk(Dialect::V2, &session(), "m", "hi"), "params");
        is::<v2::UpdateSessionNotification>(&commands_update(Dialect::V2, &session(), &commands()), "params");
        let id = IdToken::new("\"a\"");
        is::<v2::RequestPermissionResponse>(&cancelled_permission(&id), "result");
        is::<v2::RequestPermissionResponse>(&selected_permission(&id, "once"), "result");
        is::<v2::CancelRequestNotification>(&cancel_request(&id), "params");
    }

    #[test]
    fn a_prompt_is_answered_under_its_own_id_and_the_turn_is_over() {
        let line = br#"{"id":1e0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"/hunkgate"}]}}"#;
        let frames = prompt_answer(Dialect::V1, line, "m", "ok", Foreground::Idle);
        assert_eq!(frames.len(), 2);
        is::<v1::SessionNotification>(&frames[0], "params");
        assert_eq!(frames[1], "{\"jsonrpc\":\"2.0\",\"id\":1e0,\"result\":{\"stopReason\":\"end_turn\"}}\n");
        is::<v1::PromptResponse>(&frames[1], "result");
        assert_eq!(prompt_answer(Dialect::V1, b"junk", "m", "ok", Foreground::Idle), [] as [Bytes; 0]);
    }

    #[test]
    fn version_2_is_told_of_both_messages_and_of_the_state() {
        let line =
            br#"{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"/h"}]}}"#;
        let frames = prompt_answer(Dialect::V2, line, "m", "ok", Foreground::Idle);
        is::<v2::PromptResponse>(&frames[0], "result");
        for frame in &frames[1..] {
            is::<v2::UpdateSessionNotification>(frame, "params");
        }
        let updates: Vec<_> = frames[1..].iter().map(|it| value(it)["params"]["update"].clone()).collect();
        assert_eq!(updates[0]["content"], json!([{ "type": "text", "text": "/h" }]));
        let words: Vec<_> =
            updates.iter().map(|it| it.get("state").unwrap_or(&it["sessionUpdate"])).collect();
        assert_eq!(words, ["user_message", "running", "agent_message", "idle"]);
        let busy = prompt_answer(Dialect::V2, line, "m", "ok", Foreground::Busy);
        assert_eq!(busy, [frames[0].clone(), frames[1].clone(), frames[3].clone()]);
    }

    #[test]
    fn our_commands_are_merged_once_and_the_agents_keep_their_bytes() {
        let line = "{\"method\":\"session/update\",\"params\":{\"update\":{\"availableCommands\":[ {\"name\":\"x\",\"n\":1e3} ]}}}\r\n";
        let merged = merge_commands(line.as_bytes(), Dialect::V1, &commands()).unwrap();
        let ours = r#",{"name":"hunkgate","description":"what","input":{"hint":"status | show"}},{"name":"hunkgate-undo","description":"what"}"#;
        assert_eq!(merged, line.replace("1e3}", &format!("1e3}}{ours}")));
        assert_eq!(merge_commands(&merged, Dialect::V1, &commands()), None);
        assert_eq!(merge_commands(b"{}", Dialect::V1, &commands()), None);
        let opened = br#"{"id":1,"result":{"availableCommands":[]}}"#;
        let ours = r#"{"id":1,"result":{"availableCommands":[{"name":"hunkgate-undo","description":"what","type":"command"}]}}"#;
        assert_eq!(merge_commands(opened, Dialect::V2, &commands()[1..]).unwrap(), ours);
    }

    #[test]
    fn a_stop_reason_is_put_where_the_turn_ends() {
        let set = |line: &str| {
            set_stop_reason(line.as_bytes(), "cancelled").map(|it| String::from_utf8(it.to_vec()).unwrap())
        };
        let cases = [
            (
                r#"{"id":1,"result":{"stopReason":"end_turn", "n":1e3}}"#,
                r#"{"id":1,"result":{"stopReason":"cancelled", "n":1e3}}"#,
            ),
            (r#"{"id":1,"result":{}}"#, r#"{"id":1,"result":{"stopReason":"cancelled"}}"#),
            (
                r#"{"method":"session/update","params":{"update":{"state":"idle"}}}"#,
                r#"{"method":"session/update","params":{"update":{"state":"idle","stopReason":"cancelled"}}}"#,
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(set(line).as_deref(), Some(expected));
        }
        assert_eq!((set(r#"{"id":1,"result":null}"#), set(r#"{"id":1,"error":{}}"#)), (None, None));
    }

    fn cut(text: &str) -> Option<String> {
        text.split_once("NOTE").map(|(before, _)| before.to_owned())
    }

    #[test]
    fn a_note_is_cut_out_of_an_echo_and_a_message_that_was_only_the_note_is_gone() {
        let chunk = |text: &str| {
            format!(
                r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"{text}","n":-0}}}}}}}}"#
            )
        };
        let strip = |line: &str| strip_note(line.as_bytes(), Dialect::V1, &cut);
        assert_eq!(strip(&chunk("hello")), Stripped::Unchanged);
        assert_eq!(strip(&chunk("NOTE x")), Stripped::Gone);
        assert_eq!(strip(&chunk("h\\/iNOTE")), Stripped::Rewritten(chunk("h/i").into()));
        assert_eq!(strip("{}"), Stripped::Unchanged);
    }

    #[test]
    fn a_note_is_cut_out_of_the_blocks_of_a_version_2_message() {
        let message = |blocks: &str| {
            format!(r#"{{"params":{{"update":{{"sessionUpdate":"user_message","content":[{blocks}]}}}}}}"#)
        };
        let strip = |blocks: &str| strip_note(message(blocks).as_bytes(), Dialect::V2, &cut);
        let (hi, note) = (r#"{"type":"text","text":"hi"}"#, r#"{"type":"text", "text":"NOTE"}"#);
        assert_eq!(strip(hi), Stripped::Unchanged);
        assert_eq!(strip(note), Stripped::Gone);
        assert_eq!(strip(&format!("{hi}, {note}")), Stripped::Rewritten(message(hi).into()));
        assert_eq!(
            strip(&format!("{note} , {hi},{note}, {{\"type\":\"text\",\"text\":\"aNOTE\"}}")),
            Stripped::Rewritten(message(&format!("{hi},{{\"type\":\"text\",\"text\":\"a\"}}")).into())
        );
    }

    proptest! {
        #[test]
        fn a_note_goes_in_as_the_last_block_and_every_other_byte_stays(
            text in any::<String>(), blocks in 0usize..3, crlf in any::<bool>(),
        ) {
            let given = vec![r#"{"type":"image","n":1e999}"#; blocks].join(" , ");
            let end = if crlf { "\r\n" } else { "\n" };
            let line = format!(r#"{{"id":1,"method":"session\/prompt","params":{{"prompt":[{given}],"x":"\ud800"}}}}{end}"#);
            let noted = append_note(line.as_bytes(), &text).unwrap();
            let array = splice::find(&noted, &["params", "prompt"]).unwrap();
            let last = array.elements().last().unwrap();
            prop_assert_eq!(last.member("text").and_then(Raw::string), Some(text));
            prop_assert_eq!(array.elements().count(), blocks + 1);
            let back = splice::remove_array_element(&noted, &["params", "prompt"], blocks).unwrap();
            prop_assert_eq!(back, line);
        }
    }
}
