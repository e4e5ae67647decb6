//! The requests of the local socket and their answers (ledger.md §10).

use crate::review::{Asked, Problem, ProblemKind};
use crate::surface::Asking;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One request.
#[derive(Debug)]
pub(crate) enum Call {
    /// An ask as the surfaces know it.
    Ask(Box<Asked>),
    /// One of the documented methods.
    Review(Asking),
    /// To be told what moves.
    Watch,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

/// Reads a request: its id, and what it wants.
pub(crate) fn read(line: &[u8]) -> (Value, Result<Call, Problem>) {
    match serde_json::from_slice::<Envelope>(line) {
        Ok(envelope) => (envelope.id, call(&envelope.method, envelope.params)),
        Err(error) => (Value::Null, Err(user(format!("this is no request: {error}")))),
    }
}

fn call(method: &str, params: Value) -> Result<Call, Problem> {
    match method {
        "ask" => Ok(Call::Ask(Box::new(parse(params)?))),
        "watch" => Ok(Call::Watch),
        _ => Asking::read(method, params).map(Call::Review),
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Problem> {
    serde_json::from_value(params).map_err(|error| user(format!("the parameters do not fit: {error}")))
}

fn user(message: String) -> Problem {
    Problem::new(ProblemKind::User, message)
}

/// Writes an answer, straight into its text: a listing is megabytes.
pub(crate) fn result(id: &Value, result: &impl Serialize) -> serde_json::Result<String> {
    let result = serde_json::to_string(result)?;
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Writes an error.
pub(crate) fn error(id: &Value, problem: &Problem) -> String {
    let error = json!({
        "code": problem.kind.rpc_code(),
        "message": problem.message,
        "data": { "kind": problem.kind, "hint": problem.hint },
    });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_cannot_be_read_is_the_callers_to_fix() {
        for line in ["junk", r#"{"id":1}"#, r#"{"id":1,"method":"review.list_hunks","params":{}}"#] {
            let (_, call) = read(line.as_bytes());
            assert_eq!(call.expect_err("unreadable").kind.rpc_code(), -32602, "{line}");
        }
    }
}
