//! Version 2, where it differs from version 1: frame → fact, tolerant.

use crate::acp::call::{self, read_update};
use crate::acp::fact::{ClaimedIn, Fact, TurnState};
use crate::acp::v1::{addressed, options, session, shared_answer, shared_call, shared_update};
use crate::base::{CallId, SessionId};
use crate::wire::{Fields, Raw};

pub(crate) fn read_call(method: &str, params: Raw<'_>) -> Option<Fact> {
    match method {
        "session/update" => update(params),
        "session/request_permission" => permission(&params.fields()),
        _ => shared_call(method, &params.fields()),
    }
}

pub(crate) fn read_answer(request_method: &str, result: Raw<'_>) -> Option<Fact> {
    match request_method {
        "session/prompt" => Some(Fact::PromptInserted),
        _ => shared_answer(request_method, result),
    }
}

fn update(params: Raw<'_>) -> Option<Fact> {
    let (session, kind, update) = addressed(params)?;
    Some(match &*kind {
        "tool_call_update" => Fact::Call { session: SessionId::new(session), update: read_update(update)? },
        "tool_call_content_chunk" => {
            Fact::Call { session: SessionId::new(session), update: call::read_chunk(update)? }
        }
        "user_message" => Fact::UserMessage { session: SessionId::new(session) },
        "state_update" => Fact::State { session: SessionId::new(session), state: state(&update.fields()) },
        "replay_complete" => Fact::ReplayComplete { session: SessionId::new(session) },
        _ => return shared_update(&kind, session, update),
    })
}

fn state(fields: &Fields<'_>) -> TurnState {
    match fields.text("state").as_deref() {
        Some("running") => TurnState::Running,
        Some("requires_action") => TurnState::RequiresAction,
        Some("idle") => TurnState::Idle {
            stop: fields.string("stopReason").unwrap_or_else(|| "end_turn".into()),
            background: fields.elements("background").map(background_call).collect(),
        },
        _ => TurnState::Other,
    }
}

fn background_call(item: Raw<'_>) -> Option<CallId> {
    item.member("toolCallId")?.string().map(CallId::new)
}

fn permission(fields: &Fields<'_>) -> Option<Fact> {
    let subject = fields.member("subject");
    Some(Fact::Permission {
        session: session(fields)?,
        title: fields.string("title").unwrap_or_default(),
        call: subject.and_then(subject_call),
        options: options(fields),
    })
}

/// The call that a permission is about: spelled out, or named by a command's id.
fn subject_call(subject: Raw<'_>) -> Option<crate::acp::CallUpdate> {
    match &*subject.member("type")?.text()? {
        "tool_call" => call::read(subject.member("toolCall")?, Some(ClaimedIn::Permission)),
        "command" => call::read(subject, Some(ClaimedIn::Permission)),
        _ => None,
    }
}
