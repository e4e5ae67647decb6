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
