//! Version 1, and what it shares with version 2: frame → fact, tolerant.
//!
//! A field of the wrong type counts as absent; a message without what makes it what it is, is [`Fact::Other`].

use crate::acp::asking::read_form;
use crate::acp::call::{self, read_update};
use crate::acp::fact::{ClaimedIn, Fact, Opening, PermissionOption};
use crate::base::{CallId, SessionId};
use crate::wire::{Fields, Place, Raw};
use std::borrow::Cow;

/// How much of a prompt's text a fact keeps.
const PROMPT_BYTES: usize = 4096;

pub(crate) fn read_call(method: &str, params: Raw<'_>) -> Option<Fact> {
    if method == "session/update" {
        return update(params);
    }
    let fields = params.fields();
    match method {
        "session/load" => Some(opening(Opening::Load, &fields)),
        "session/set_mode" => {
            Some(Fact::SetMode { session: session(&fields)?, mode: fields.string("modeId")? })
        }
        "session/request_permission" => permission(&fields),
        "fs/write_text_file" => Some(Fact::FsWrite {
            session: session(&fields)?,
            path: fields.string("path")?,
            content: fields.string("content")?,
        }),
        "terminal/create" => {
            Some(Fact::TerminalCreate { session: session(&fields)?, command: command(&fields)? })
        }
        "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
            Some(Fact::TerminalEnding { session: session(&fields)?, terminal: fields.string("terminalId")? })
        }
        _ => shared_call(method, &fields),
    }
}

/// Requests and notifications that both versions have.
pub(crate) fn shared_call(method: &str, fields: &Fields<'_>) -> Option<Fact> {
    match method {
        "session/new" => Some(opening(Opening::New, fields)),
        "session/resume" => Some(opening(Opening::Resume, fields)),
        "session/fork" => Some(opening(Opening::Fork, fields)),
        "session/close" => Some(Fact::SessionEndAsked { session: session(fields)?, delete: false }),
        "session/delete" => Some(Fact::SessionEndAsked { session: session(fields)?, delete: true }),
        "session/set_config_option" if fields.text("configId")? == "mode" => {
            Some(Fact::SetMode { session: session(fields)?, mode: fields.string("value")? })
        }
        "session/prompt" => Some(Fact::Prompt { session: session(fields)?, text: prompt_text(fields) }),
        "session/cancel" => Some(Fact::Cancel { session: session(fields)? }),
        _ => None,
    }
}

pub(crate) fn read_answer(request_method: &str, result: Raw<'_>) -> Option<Fact> {
    match request_method {
        "session/load" => Some(session_ready(result)),
        // Whatever it says: with the answer the turn is over.
        "session/prompt" => Some(Fact::PromptEnded {
            stop: result.member("stopReason").and_then(Raw::string).unwrap_or_else(|| "end_turn".into()),
        }),
        "terminal/create" => Some(Fact::TerminalCreated { terminal: result.member("terminalId")?.string()? }),
        _ => shared_answer(request_method, result),
    }
}

/// Results that both versions have.
pub(crate) fn shared_answer(request_method: &str, result: Raw<'_>) -> Option<Fact> {
    match request_method {
        "session/new" | "session/resume" | "session/fork" => Some(session_ready(result)),
        "session/request_permission" => {
            let outcome = result.member("outcome")?.fields();
            let selected = outcome.text("outcome").is_some_and(|it| it == "selected");
            let option = if selected { Some(outcome.string("optionId")?) } else { None };
            Some(Fact::PermissionAnswered { option })
        }
        "elicitation/create" => Some(match read_form(result) {
            Some(content) => Fact::FormFilled { content },
            None => Fact::FormLeft { declined: result.member("action")?.text()? == "decline" },
        }),
        _ => None,
    }
}

fn update(params: Raw<'_>) -> Option<Fact> {
    let (session, kind, update) = addressed(params)?;
    Some(match &*kind {
        "tool_call" | "tool_call_update" => {
            Fact::Call { session: SessionId::new(session), update: read_update(update)? }
        }
        "current_mode_update" => {
            let fields = update.fields();
            let mode = fields.string("currentModeId").or_else(|| fields.string("modeId"))?;
            Fact::Mode { session: SessionId::new(session), mode }
        }
        _ => return shared_update(&kind, session, update),
    })
}

/// Splits `session/update` into whom it is about, its kind, and what it says. This is the one message that comes often:
/// one pass.
pub(crate) fn addressed(params: Raw<'_>) -> Option<(Cow<'_, str>, Cow<'_, str>, Raw<'_>)> {
    let (mut session, mut kind) = (None, None);
    let update = params.walk("update", |place, key, value| match (place, key) {
        (Place::Outside, "sessionId") => session = Some(value),
        (Place::Inside, "sessionUpdate") => kind = Some(value),
        _ => {}
    })?;
    Some((session?.text()?, kind?.text()?, update))
}

/// Updates that both versions have. Message chunks come here and are not looked into.
pub(crate) fn shared_update(kind: &str, session: Cow<'_, str>, update: Raw<'_>) -> Option<Fact> {
    Some(match kind {
        "user_message_chunk" => Fact::UserMessage { session: SessionId::new(session) },
        "available_commands_update" => Fact::Commands { session: SessionId::new(session) },
        "config_option_update" => match option_mode(&update.fields()) {
            Some(mode) => Fact::Mode { session: SessionId::new(session), mode },
            None => Fact::Update,
        },
        "subagent_update" => Fact::Subagent {
            session: SessionId::new(session),
            child: SessionId::new(update.member("sessionId")?.text()?),
        },
        _ => Fact::Update,
    })
}

pub(crate) fn session(fields: &Fields<'_>) -> Option<SessionId> {
    fields.string("sessionId").map(SessionId::new)
}

pub(crate) fn opening(how: Opening, fields: &Fields<'_>) -> Fact {
    Fact::SessionAsked {
        how,
        session: session(fields),
        cwd: fields.string("cwd"),
        directories: fields.elements("additionalDirectories").filter_map(Raw::string).collect(),
    }
}

fn session_ready(result: Raw<'_>) -> Fact {
    let fields = result.fields();
    let mode = fields.at(&["modes", "currentModeId"]).and_then(Raw::string).or_else(|| option_mode(&fields));
    Fact::SessionReady { session: session(&fields), mode }
}

/// The value of the config option of category `mode`.
fn option_mode(fields: &Fields<'_>) -> Option<String> {
    fields.elements("configOptions").map(Raw::fields).find_map(|option| {
        let is_mode = option.text("category").is_some_and(|it| it == "mode");
        is_mode.then(|| option.string("currentValue")).flatten()
    })
}

fn permission(fields: &Fields<'_>) -> Option<Fact> {
    let call = fields.member("toolCall");
    Some(Fact::Permission {
        session: session(fields)?,
        title: call.and_then(|it| it.member("title")?.string()).unwrap_or_default(),
        call: call.and_then(|it| call::read(it, Some(ClaimedIn::Permission))),
        options: options(fields),
    })
}

pub(crate) fn options(fields: &Fields<'_>) -> Vec<PermissionOption> {
    let option = |raw: Raw<'_>| {
        let fields = raw.fields();
        Some(PermissionOption {
            id: fields.string("optionId")?,
            kind: fields.string("kind").unwrap_or_default(),
        })
    };
    fields.elements("options").filter_map(option).collect()
}

fn command(fields: &Fields<'_>) -> Option<String> {
    let mut command = fields.string("command")?;
    for argument in fields.elements("args").filter_map(Raw::text) {
        command.push(' ');
        command.push_str(&argument);
    }
    Some(command)
}

/// The first text block that is not blank, cut.
fn prompt_text(fields: &Fields<'_>) -> String {
    let text = fields.elements("prompt").find_map(|block| {
        let block = block.fields();
        let is_text = block.text("type").is_some_and(|it| it == "text");
        block.text("text").filter(|text| is_text && !text.trim().is_empty())
    });
    let text = text.unwrap_or_default();
    let cut = text.floor_char_boundary(PROMPT_BYTES);
    text.get(..cut).unwrap_or_default().to_owned()
}

/// An id, which some agents write as a number.
pub(crate) fn call_id(raw: Raw<'_>) -> CallId {
    CallId::new(raw.text().unwrap_or_else(|| raw.get().into()))
}
