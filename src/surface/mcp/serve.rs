//! The lines: JSON-RPC, one message a line, as the Model Context Protocol has it over stdio.

use super::tools::Tools;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read as _, Write};

/// Bytes of one message.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The versions of the protocol whose tools are as here, the newest first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// A server of one client.
#[derive(Debug)]
pub struct Server {
    tools: Tools,
}

impl Server {
    /// Makes a server.
    pub fn new(tools: Tools) -> Self {
        Self { tools }
    }

    /// Serves until the client closes its end.
    pub fn run(&mut self, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            let whole = line.last() == Some(&b'\n');
            if !whole && read as u64 == LONGEST {
                // The rest of it belongs to no message.
                skip(&mut input)?;
                answer(&mut output, &error(&Value::Null, -32600, "the message is too long"))?;
                continue;
            }
            if let Some(reply) = self.heard(&line) {
                answer(&mut output, &reply)?;
            }
        }
    }

    fn heard(&mut self, line: &[u8]) -> Option<Value> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(error(&Value::Null, -32700, "this is no JSON"));
        };
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        match (method, id) {
            (Some(method), Some(id)) => {
                let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
                Some(match self.answer(method, params) {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err((code, message)) => error(id, code, &message),
                })
            }
            // A notification, or an answer to what was never asked.
            (Some(_), None) if message.get("id").is_none() => None,
            (None, _) if message.get("result").is_some() || message.get("error").is_some() => None,
            (_, _) => Some(error(&Value::Null, -32600, "this is no request")),
        }
    }

    fn answer(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        match method {
            "initialize" => Ok(self.initialize(&params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": self.tools.list() })),
            "tools/call" => {
                let name = params.get("name").and_then(Value::as_str);
                let name = name.ok_or_else(|| (-32602, "name is missing".to_owned()))?.to_owned();
                let arguments = params.get("arguments").filter(|given| !given.is_null()).cloned();
                Ok(self.call(&name, arguments.unwrap_or_else(|| json!({}))))
            }
            _ => Err((-32601, format!("there is no method {method}"))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        if let Some(name) = params.pointer("/clientInfo/name").and_then(Value::as_str) {
            self.tools.name(name);
        }
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let version = VERSIONS.iter().find(|version| Some(**version) == wanted).unwrap_or(&VERSIONS[0]);
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "hunkgate", "version": env!("CARGO_PKG_VERSION") },
            "instructions": "What coding agents changed, hunk by hunk, with the tool calls that did it. Review a session and comment on its hunks; the person decides.",
        })
    }

    /// A problem is the result of a tool, which the model reads.
    fn call(&self, name: &str, arguments: Value) -> Value {
        match self.tools.call(name, arguments) {
            Ok(value) => json!({
                "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value, "isError": false,
            }),
            Err(problem) => {
                let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                let text = format!("{}{hint}", problem.message);
                let told =
                    json!({ "code": problem.kind.rpc_code(), "kind": problem.kind, "hint": problem.hint });
                json!({ "content": [{ "type": "text", "text": text }], "_meta": { "hunkgate": told }, "isError": true })
            }
        }
    }
}

fn skip(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let mut piece = Vec::new();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut piece)?;
        if read == 0 || piece.last() == Some(&b'\n') {
            return Ok(());
        }
    }
}

fn answer(output: &mut impl Write, reply: &Value) -> io::Result<()> {
    output.write_all(format!("{reply}\n").as_bytes())?;
    output.flush()
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
