//! Which version of the protocol a connection speaks, and reading by it.

use crate::acp::fact::{ClientCapabilities, Fact, Peer};
use crate::acp::{v1, v2};
use crate::wire::{Fields, Raw};

/// The version in force on a connection. Known once the answer to `initialize` passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Not yet agreed: only `initialize` and `$/cancel_request` are read.
    #[default]
    Unknown,
    /// Version 1.
    V1,
    /// Version 2.
    V2,
    /// One we do not know: everything passes unread.
    Other(u32),
}

impl Dialect {
    /// Returns the dialect of a version number.
    pub fn of_version(version: u32) -> Self {
        match version {
            1 => Self::V1,
            2 => Self::V2,
            other => Self::Other(other),
        }
    }

    /// Returns the version number; 0 before it is agreed.
    pub fn version(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::V1 => 1,
            Self::V2 => 2,
            Self::Other(other) => other,
        }
    }
}

/// Reads what a request or notification means, whichever way it goes.
pub fn read_call(dialect: Dialect, method: &str, params: Option<Raw<'_>>) -> Fact {
    let Some(params) = params else { return Fact::Other };
    match (method, dialect) {
        ("$/cancel_request", _) => match params.member("requestId") {
            Some(id) => Fact::CancelRequest { request: id.to_id() },
            None => Fact::Other,
        },
        ("initialize", _) => initialize(params),
        (_, Dialect::V1) => v1::read_call(method, params).unwrap_or(Fact::Other),
        (_, Dialect::V2) => v2::read_call(method, params).unwrap_or(Fact::Other),
        (_, Dialect::Unknown | Dialect::Other(_)) => Fact::Other,
    }
}

/// Reads what a result means, by the method of the request that it answers.
pub fn read_answer(dialect: Dialect, request_method: &str, result: Raw<'_>) -> Fact {
    match (request_method, dialect) {
        ("initialize", _) => initialized(result),
        (_, Dialect::V1) => v1::read_answer(request_method, result).unwrap_or(Fact::Other),
        (_, Dialect::V2) => v2::read_answer(request_method, result).unwrap_or(Fact::Other),
        (_, Dialect::Unknown | Dialect::Other(_)) => Fact::Other,
    }
}

/// Reads an error response.
pub fn read_error(error: Raw<'_>) -> Fact {
    Fact::Failed { code: error.member("code").and_then(Raw::integer).unwrap_or(0) }
}

fn initialize(params: Raw<'_>) -> Fact {
    let fields = params.fields();
    let offered = version(&fields);
    let can = fields.member("clientCapabilities").or_else(|| fields.member("capabilities"));
    Fact::Initialize {
        offered,
        client: peer(fields.member("clientInfo").or_else(|| fields.member("info"))),
        capabilities: can.map(capabilities).unwrap_or_default(),
    }
}

fn initialized(result: Raw<'_>) -> Fact {
    let fields = result.fields();
    Fact::Initialized {
        version: version(&fields),
        agent: peer(fields.member("agentInfo").or_else(|| fields.member("info"))),
    }
}

/// The version; 0 where it is no small whole number.
fn version(fields: &Fields<'_>) -> u32 {
    fields.member("protocolVersion").and_then(Raw::integer).and_then(|it| it.try_into().ok()).unwrap_or(0)
}

fn peer(info: Option<Raw<'_>>) -> Option<Peer> {
    let fields = info?.fields();
    Some(Peer { name: fields.string("name")?, version: fields.string("version") })
}

fn capabilities(can: Raw<'_>) -> ClientCapabilities {
    // A capability is `true`, or an object with its details.
    let has = |path: &[&str]| can.at(path).is_some_and(|it| it.is_object() || it.bool() == Some(true));
    ClientCapabilities {
        fs_read: has(&["fs", "readTextFile"]),
        fs_write: has(&["fs", "writeTextFile"]),
        terminal: has(&["terminal"]),
        elicitation_form: has(&["elicitation", "form"]),
        notices: has(&["session", "notices"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{CallStatus, Opening, PermissionOption, TurnState};
    use crate::base::{CallId, SessionId};
    use crate::wire::IdToken;
    use agent_client_protocol::v2::schema as sdk;
    use serde_json::{Value, json};

    fn call(dialect: Dialect, method: &str, params: &Value) -> Fact {
        let text = params.to_string();
        read_call(dialect, method, Raw::parse(&text))
    }

    fn answer(dialect: Dialect, method: &str, result: &Value) -> Fact {
        let text = result.to_string();
        read_answer(dialect, method, Raw::parse(&text).unwrap())
    }

    fn update(dialect: Dialect, update: &Value) -> Fact {
        call(dialect, "session/update", &json!({ "sessionId": "s", "update": update }))
    }

    fn session() -> SessionId {
        SessionId::new("s")
    }

    #[test]
    fn before_the_version_is_agreed_only_initialize_and_cancellations_are_read() {
        let asked = json!({
            "protocolVersion": 1,
            "clientInfo": { "name": "zed", "version": "1" },
            "clientCapabilities": {
                "fs": { "readTextFile": true, "writeTextFile": false }, "terminal": true,
                "elicitation": { "form": {} }, "session": { "notices": {} },
            },
        });
        let capabilities = ClientCapabilities {
            fs_read: true,
            fs_write: false,
            terminal: true,
            elicitation_form: true,
            notices: true,
        };
        let client = Some(Peer { name: "zed".into(), version: Some("1".into()) });
        assert_eq!(
            call(Dialect::Unknown, "initialize", &asked),
            Fact::Initialize { offered: 1, client, capabilities }
        );
        let result = json!({ "protocolVersion": 2, "info": { "name": "caa" } });
        let agent = Some(Peer { name: "caa".into(), version: None });
        assert_eq!(answer(Dialect::Unknown, "initialize", &result), Fact::Initialized { version: 2, agent });
        let prompt = json!({ "sessionId": "s", "prompt": [] });
        for dialect in [Dialect::Unknown, Dialect::of_version(3)] {
            assert_eq!(call(dialect, "session/prompt", &prompt), Fact::Other);
            assert_eq!(
                call(dialect, "$/cancel_request", &json!({ "requestId": "a" })),
                Fact::CancelRequest { request: IdToken::new("\"a\"") }
            );
        }
    }

    #[test]
    fn a_field_of_the_wrong_type_is_an_absent_field() {
        let odd = json!({ "sessionId": "s", "cwd": 7, "additionalDirectories": ["/a", null, {}] });
        assert_eq!(
            call(Dialect::V1, "session/load", &odd),
            Fact::SessionAsked {
                how: Opening::Load,
                session: Some(session()),
                cwd: None,
                directories: vec!["/a".into()]
            }
        );
        let odd = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": 1, "kind": [], "status": {},
            "content": "x", "locations": 5, "rawInput": 9, "_meta": null,
        });
        let Fact::Call { update, .. } = update(Dialect::V1, &odd) else { panic!("a call") };
        assert_eq!((update.call, update.title, update.kind), (CallId::new("t"), None, None));
        assert_eq!((update.status, update.claims, update.terminals), (None, vec![], vec![]));
    }

    #[test]
    fn the_text_of_a_prompt_is_its_first_text_that_is_not_blank() {
        let blocks = json!([
            { "type": "image", "text": "no" }, { "type": "text", "text": " \n" }, { "type": "text", "text": "/x y" },
        ]);
        let fact = call(Dialect::V1, "session/prompt", &json!({ "sessionId": "s", "prompt": blocks }));
        assert_eq!(fact, Fact::Prompt { session: session(), text: "/x y".into() });
        let long = json!([{ "type": "text", "text": "é".repeat(4000) }]);
        let fact = call(Dialect::V2, "session/prompt", &json!({ "sessionId": "s", "prompt": long }));
        assert_eq!(fact, Fact::Prompt { session: session(), text: "é".repeat(2048) });
    }

    #[test]
    fn gates_and_terminals_of_version_1_are_read() {
        let write = json!({ "sessionId": "s", "path": "/w/a", "content": "c" });
        assert_eq!(
            call(Dialect::V1, "fs/write_text_file", &write),
            Fact::FsWrite { session: session(), path: "/w/a".into(), content: "c".into() }
        );
        assert_eq!(call(Dialect::V2, "fs/write_text_file", &write), Fact::Other);
        let create = json!({ "sessionId": "s", "command": "ls", "args": ["-l", "x"] });
        assert_eq!(
            call(Dialect::V1, "terminal/create", &create),
            Fact::TerminalCreate { session: session(), command: "ls -l x".into() }
        );
        assert_eq!(
            answer(Dialect::V1, "terminal/create", &json!({ "terminalId": "7" })),
            Fact::TerminalCreated { terminal: "7".into() }
        );
        let lone = r#"{"sessionId":"s","path":"/w/a","content":"\ud800"}"#;
        assert!(matches!(
            read_call(Dialect::V1, "fs/write_text_file", Raw::parse(lone)),
            Fact::FsWrite { .. }
        ));
    }

    #[test]
    fn a_permission_is_read_with_its_call_and_options() {
        let asked = json!({
            "sessionId": "s",
            "toolCall": { "toolCallId": "t", "title": "Edit", "status": "pending" },
            "options": [{ "optionId": "once", "name": "Yes", "kind": "allow_once" }, { "name": "no id" }],
        });
        let Fact::Permission { call: Some(call), title, options, .. } =
            call(Dialect::V1, "session/request_permission", &asked)
        else {
            panic!("a permission")
        };
        assert_eq!((call.status, title.as_str()), (Some(CallStatus::Pending), "Edit"));
        assert_eq!(options, [PermissionOption { id: "once".into(), kind: "allow_once".into() }]);
        let answered = |outcome: Value| {
            answer(Dialect::V1, "session/request_permission", &json!({ "outcome": outcome }))
        };
        assert_eq!(
            answered(json!({ "outcome": "selected", "optionId": "once" })),
            Fact::PermissionAnswered { option: Some("once".into()) }
        );
        assert_eq!(answered(json!({ "outcome": "cancelled" })), Fact::PermissionAnswered { option: None });
        assert_eq!(answered(json!({ "outcome": "selected" })), Fact::Other);
    }

    #[test]
    fn a_version_2_permission_is_read_by_its_subject() {
        let request = |subject: Value| {
            json!({ "sessionId": "s", "title": "May I", "subject": subject,
                    "options": [{ "optionId": "y", "name": "Yes", "kind": "allow_once" }] })
        };
        let tool = request(json!({ "type": "tool_call", "toolCall": { "toolCallId": "t" } }));
        let command =
            request(json!({ "type": "command", "command": "rm x", "cwd": "/w", "toolCallId": "c" }));
        let other = request(json!({ "type": "_odd" }));
        for (params, id) in [(tool, Some("t")), (command, Some("c")), (other, None)] {
            serde_json::from_value::<sdk::RequestPermissionRequest>(params.clone()).unwrap();
            let Fact::Permission { call, title, options, .. } =
                call(Dialect::V2, "session/request_permission", &params)
            else {
                panic!("a permission")
            };
            assert_eq!(call.map(|it| it.call), id.map(CallId::new));
            assert_eq!((title.as_str(), options.len()), ("May I", 1));
        }
    }

    #[test]
    fn a_turn_of_version_1_ends_with_the_response_and_one_of_version_2_with_the_idle_state() {
        let stopped = json!({ "stopReason": "cancelled" });
        assert_eq!(
            answer(Dialect::V1, "session/prompt", &stopped),
            Fact::PromptEnded { stop: "cancelled".into() }
        );
        assert_eq!(
            answer(Dialect::V1, "session/prompt", &json!(null)),
            Fact::PromptEnded { stop: "end_turn".into() }
        );
        assert_eq!(answer(Dialect::V2, "session/prompt", &json!({ "messageId": "m" })), Fact::PromptInserted);
        let state = |more: Value| {
            let mut state = json!({ "sessionUpdate": "state_update" });
            state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let Fact::State { state, .. } = update(Dialect::V2, &state) else { panic!("a state") };
            state
        };
        assert_eq!(state(json!({ "state": "running", "background": [{}] })), TurnState::Running);
        assert_eq!(state(json!({ "state": "requires_action" })), TurnState::RequiresAction);
        assert_eq!(state(json!({ "state": "_new" })), TurnState::Other);
        let named = Some(CallId::new("c"));
        for (background, goes_on) in [
            (json!([]), vec![]),
            (json!(null), vec![]),
            (json!([{ "type": "terminal" }, { "type": "tool_call", "toolCallId": "c" }]), vec![None, named]),
        ] {
            assert_eq!(
                state(json!({ "state": "idle", "stopReason": "refusal", "background": background })),
                TurnState::Idle { stop: "refusal".into(), background: goes_on }
            );
        }
    }

    #[test]
    fn updates_are_told_apart_and_those_we_do_not_know_are_updates() {
        let kind = |word: &str| update(Dialect::V1, &json!({ "sessionUpdate": word, "content": {} }));
        assert_eq!(kind("agent_message_chunk"), Fact::Update);
        assert_eq!(kind("_vendor"), Fact::Update);
        assert_eq!(kind("user_message_chunk"), Fact::UserMessage { session: session() });
        assert_eq!(kind("available_commands_update"), Fact::Commands { session: session() });
        assert_eq!(kind("state_update"), Fact::Update);
        assert_eq!(kind("tool_call"), Fact::Other);
        assert_eq!(
            update(Dialect::V2, &json!({ "sessionUpdate": "replay_complete" })),
            Fact::ReplayComplete { session: session() }
        );
        assert_eq!(
            update(Dialect::V1, &json!({ "sessionUpdate": "subagent_update", "sessionId": "child" })),
            Fact::Subagent { session: session(), child: SessionId::new("child") }
        );
    }

    #[test]
    fn a_mode_is_read_wherever_it_stands() {
        let mode = || Fact::Mode { session: session(), mode: "plan".into() };
        for written in [
            json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }),
            json!({ "sessionUpdate": "current_mode_update", "modeId": "plan" }),
            json!({ "sessionUpdate": "config_option_update", "configOptions": [
                { "id": "model", "category": "model", "currentValue": "x" },
                { "id": "m", "category": "mode", "currentValue": "plan" },
            ] }),
        ] {
            assert_eq!(update(Dialect::V1, &written), mode());
        }
        let opened = json!({ "sessionId": "s", "modes": { "currentModeId": "plan" } });
        assert_eq!(
            answer(Dialect::V1, "session/new", &opened),
            Fact::SessionReady { session: Some(session()), mode: Some("plan".into()) }
        );
        assert_eq!(
            answer(Dialect::V1, "session/load", &json!(null)),
            Fact::SessionReady { session: None, mode: None }
        );
    }

    #[test]
    fn a_call_says_its_parent_and_the_terminals_that_it_shows() {
        let shown = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "cancelled",
            "_meta": { "claudeCode": { "parentToolUseId": "p" } },
            "content": [{ "type": "terminal", "terminalId": "7" }],
        });
        let Fact::Call { update, .. } = update(Dialect::V2, &shown) else { panic!("a call") };
        assert_eq!(update.parent, Some(CallId::new("p")));
        assert_eq!((update.status, update.terminals), (Some(CallStatus::Failed), vec!["7".to_owned()]));
    }

    #[test]
    fn an_error_is_its_code() {
        let code = |text| read_error(Raw::parse(text).unwrap());
        assert_eq!(code(r#"{"code":-32603,"message":"x"}"#), Fact::Failed { code: -32603 });
        assert_eq!(code(r#""odd""#), Fact::Failed { code: 0 });
    }
}
