//! The frames of a review in the editor: a card per file, a question with buttons or a form, and the end of each card.

use crate::acp::Dialect;
use crate::acp::author::{request, session_update};
use crate::base::SessionId;
use crate::wire::{IdToken, Raw, splice};
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// A card: a tool call of ours that shows what became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The id of the call.
    pub call: String,
    /// Its title.
    pub title: String,
    /// The absolute path of the file.
    pub path: String,
    /// The line to go to.
    pub line: Option<u32>,
    /// What it shows.
    pub shows: Vec<Shown>,
}

/// One thing that a card shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A change of the file, as each version of the protocol shows one.
    Diff {
        /// What stood there; `None` where there was no file.
        old: Option<String>,
        /// What stands there.
        new: String,
        /// What happened to the file.
        change: Change,
        /// The same as a git patch, where there is one.
        patch: Option<String>,
    },
    /// Words.
    Text(String),
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was created.
    Add,
    /// It was removed.
    Delete,
    /// It was changed.
    Modify,
    /// It was renamed from this absolute path.
    Move(String),
}

/// One button of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Button {
    /// What comes back.
    pub id: &'static str,
    /// What it says; some clients show words of their own for its kind.
    pub name: &'static str,
    /// `allow_once`, `allow_always`, `reject_once`.
    pub kind: &'static str,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key in the answer. Clients sort by it.
    pub key: String,
    /// Its title.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// What can be put in.
    pub input: FieldInput,
}

/// What can be put into a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldInput {
    /// One of these, by value and title; the first stands there already.
    Choice(Vec<(&'static str, &'static str)>),
    /// Words.
    Text,
    /// Yes or no; no stands there already.
    Flag,
}

/// Writes a card, not over yet.
pub fn card(dialect: Dialect, session: &SessionId, card: &Card) -> Bytes {
    let word = if dialect == Dialect::V2 { "tool_call_update" } else { "tool_call" };
    let mut update = call(dialect, card);
    update.insert("sessionUpdate".into(), word.into());
    session_update(session, update)
}

/// Ends a card. What it shows takes the place of what it showed; nothing leaves that as it is.
pub fn card_over(
    dialect: Dialect,
    session: &SessionId,
    (call, title): (&str, &str),
    shows: (&str, &[Shown]),
) -> Bytes {
    let mut update = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": call, "title": title, "status": "completed",
    });
    if !shows.1.is_empty() {
        update["content"] = contents(dialect, shows.0, shows.1);
    }
    session_update(session, update)
}

/// Writes version 2's word for a session that waits for its person; `idle` is the frame that is held meanwhile.
pub fn requires_action(session: &SessionId, idle: &[u8]) -> Bytes {
    let mut update = json!({ "sessionUpdate": "state_update", "state": "requires_action" });
    let background = splice::find(idle, &["params", "update", "background"]);
    if let Some(background) = background.and_then(|list| serde_json::from_str::<Value>(list.get()).ok()) {
        update["background"] = background;
    }
    session_update(session, update)
}

/// Asks with buttons, on a card that was sent. `about` is what the person decides, in a sentence.
pub fn question(
    dialect: Dialect,
    id: &IdToken,
    session: &SessionId,
    (shown, about): (&Card, &str),
    buttons: &[Button],
) -> Bytes {
    let options: Vec<Value> = buttons
        .iter()
        .map(|button| json!({ "optionId": button.id, "name": button.name, "kind": button.kind }))
        .collect();
    let params = if dialect == Dialect::V2 {
        let subject = json!({ "type": "tool_call", "toolCall": { "toolCallId": shown.call } });
        json!({ "sessionId": session, "title": about, "subject": subject, "options": options })
    } else {
        let titled = Card { title: about.to_owned(), ..shown.clone() };
        json!({ "sessionId": session, "toolCall": call(dialect, &titled), "options": options })
    };
    request(id, "session/request_permission", &params)
}

/// Asks with a form.
pub fn form(id: &IdToken, session: &SessionId, message: &str, fields: &[Field]) -> Bytes {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.key.clone(), property(field))).collect();
    let params = json!({
        "sessionId": session, "mode": "form", "message": message,
        "requestedSchema": { "type": "object", "properties": properties },
    });
    request(id, "elicitation/create", &params)
}

/// Reads what was put into a form: `None` unless it was sent off. Yes and no become `true` and `false`.
pub(crate) fn read_form(answer: Raw<'_>) -> Option<Vec<(String, String)>> {
    let accepted = answer.member("action")?.text()? == "accept";
    let content: Option<Map<String, Value>> =
        answer.member("content").and_then(|content| serde_json::from_str(content.get()).ok());
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let filled = content.unwrap_or_default();
    accepted.then(|| filled.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect())
}

fn property(field: &Field) -> Value {
    let mut property = match &field.input {
        FieldInput::Choice(choices) => {
            let one_of: Vec<Value> =
                choices.iter().map(|(value, title)| json!({ "const": value, "title": title })).collect();
            let first = choices.first().map(|(value, _)| *value);
            json!({ "type": "string", "oneOf": one_of, "default": first })
        }
        FieldInput::Text => json!({ "type": "string" }),
        FieldInput::Flag => json!({ "type": "boolean", "default": false }),
    };
    property["title"] = field.title.clone().into();
    if let Some(description) = &field.description {
        property["description"] = description.clone().into();
    }
    property
}

fn call(dialect: Dialect, card: &Card) -> Map<String, Value> {
    let mut location = json!({ "path": card.path });
    if let Some(line) = card.line {
        location["line"] = line.into();
    }
    let fields = json!({
        "toolCallId": card.call, "title": card.title, "kind": "edit", "status": "pending",
        "content": contents(dialect, &card.path, &card.shows), "locations": [location],
    });
    if let Value::Object(fields) = fields { fields } else { Map::new() }
}

fn contents(dialect: Dialect, path: &str, shows: &[Shown]) -> Value {
    shows.iter().map(|shown| content(dialect, path, shown)).collect()
}

fn content(dialect: Dialect, path: &str, shown: &Shown) -> Value {
    match shown {
        Shown::Text(text) => json!({ "type": "content", "content": { "type": "text", "text": text } }),
        Shown::Diff { change, patch, .. } if dialect == Dialect::V2 => {
            let mut diff = json!({ "type": "diff", "changes": [changed(path, change)] });
            if let Some(patch) = patch {
                diff["patch"] = json!({ "format": "git_patch", "text": patch });
            }
            diff
        }
        Shown::Diff { old: Some(old), new, .. } => {
            json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
        }
        Shown::Diff { old: None, new, .. } => json!({ "type": "diff", "path": path, "newText": new }),
    }
}

fn changed(path: &str, change: &Change) -> Value {
    match change {
        Change::Add => json!({ "operation": "add", "path": path }),
        Change::Delete => json!({ "operation": "delete", "path": path }),
        Change::Modify => json!({ "operation": "modify", "path": path }),
        Change::Move(from) => json!({ "operation": "move", "oldPath": from, "path": path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::{v1::schema as v1, v2::schema as v2};
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    fn params(line: &[u8]) -> Value {
        assert_eq!(memchr::memchr(b'\n', line), Some(line.len() - 1));
        serde_json::from_slice::<Value>(line).unwrap()["params"].clone()
    }

    /// Reads what a line says as a type of the SDK and checks that writing it again loses nothing.
    fn is<T: DeserializeOwned + Serialize>(line: &[u8]) {
        let mut value = params(line);
        let typed: T = serde_json::from_value(value.clone()).unwrap();
        let again = serde_json::to_value(typed).unwrap();
        // Version 1 leaves out the status that a call has when it says none.
        if let (Some(said), Some(read)) = (value.get_mut("update"), again.get("update"))
            && said["status"] == "pending"
            && read.get("status").is_none()
        {
            said.as_object_mut().unwrap().remove("status");
        }
        assert_eq!(again, value);
    }

    fn example() -> Card {
        let diff = |change: Change, old: Option<&str>| Shown::Diff {
            old: old.map(Into::into),
            new: "b\n".into(),
            change,
            patch: Some("@@ -1 +1 @@\n".into()),
        };
        Card {
            call: "hunkgate-review-s-1".into(),
            title: "a.rs: 1 change".into(),
            path: "/w/a.rs".into(),
            line: Some(3),
            shows: vec![
                diff(Change::Modify, Some("a\n")),
                diff(Change::Add, None),
                diff(Change::Move("/w/b.rs".into()), Some("")),
                Shown::Text("and more".into()),
            ],
        }
    }

    const BUTTONS: [Button; 2] = [
        Button { id: "keep", name: "Keep all", kind: "allow_once" },
        Button { id: "revert", name: "Revert all", kind: "reject_once" },
    ];

    #[test]
    fn what_a_review_writes_for_version_1_parses_as_the_types_of_the_sdk() {
        let (session, id) = (SessionId::new("s"), IdToken::new("\"hunkgate-s-2\""));
        is::<v1::SessionNotification>(&card(Dialect::V1, &session, &example()));
        let over = card_over(Dialect::V1, &session, ("c", "kept"), ("/w/a.rs", &example().shows));
        is::<v1::SessionNotification>(&over);
        is::<v1::SessionNotification>(&card_over(Dialect::V1, &session, ("c", "kept"), ("/w/a.rs", &[])));
        is::<v1::RequestPermissionRequest>(&question(
            Dialect::V1,
            &id,
            &session,
            (&example(), "Keep 1 change?"),
            &BUTTONS,
        ));
    }

    #[test]
    fn what_a_review_writes_for_version_2_parses_as_the_types_of_the_sdk() {
        let (session, id) = (SessionId::new("s"), IdToken::new("\"hunkgate-s-2\""));
        is::<v2::UpdateSessionNotification>(&card(Dialect::V2, &session, &example()));
        let over = card_over(Dialect::V2, &session, ("c", "kept"), ("/w/a.rs", &example().shows));
        is::<v2::UpdateSessionNotification>(&over);
        let idle = br#"{"params":{"update":{"background":[{"type":"terminal","terminalId":"t"}]}}}"#;
        is::<v2::UpdateSessionNotification>(&requires_action(&session, idle));
        assert_eq!(params(&requires_action(&session, idle))["update"]["background"][0]["terminalId"], "t");
        is::<v2::RequestPermissionRequest>(&question(
            Dialect::V2,
            &id,
            &session,
            (&example(), "Keep 1 change?"),
            &BUTTONS,
        ));
    }

    #[test]
    fn a_form_parses_as_the_types_of_both_versions_of_the_sdk() {
        let field = |key: &str, input: FieldInput| Field {
            key: key.into(),
            title: "a title".into(),
            description: Some("more".into()),
            input,
        };
        let fields = [
            field("all", FieldInput::Choice(vec![("undecided", "as below"), ("keep", "keep all")])),
            field("reason", FieldInput::Text),
            field("stop", FieldInput::Flag),
        ];
        let line = form(&IdToken::new("\"hunkgate-s-2\""), &SessionId::new("s"), "what", &fields);
        is::<v1::CreateElicitationRequest>(&line);
        is::<v2::CreateElicitationRequest>(&line);
    }

    #[test]
    fn only_a_form_that_was_sent_off_is_read() {
        let read = |text: &str| read_form(Raw::parse(text).unwrap());
        let filled = read(r#"{"action":"accept","content":{"a":"keep","b":true,"c":7}}"#);
        assert_eq!(filled, Some(vec![("a".into(), "keep".into()), ("b".into(), "true".into())]));
        assert_eq!(read(r#"{"action":"accept"}"#), Some(vec![]));
        assert_eq!(read(r#"{"action":"decline","content":{"a":"keep"}}"#), None);
        assert_eq!(read(r#"{"action":"cancel"}"#), None);
        assert_eq!(read(r#"{"action":9}"#), None);
    }
}
