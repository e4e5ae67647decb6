//! The head of one line: what JSON-RPC says it is, borrowed from the line.

use crate::wire::Raw;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A JSON-RPC id as its raw JSON token: `1`, `"1"` and `1.0` are three ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdToken(Arc<str>);

impl IdToken {
    /// Wraps the token's text.
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// Writes a text as a token.
    pub fn of_text(text: &str) -> Self {
        Self::new(serde_json::Value::from(text).to_string())
    }

    /// Returns the token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// A method with an id, `null` included.
    Request {
        /// The id.
        id: Raw<'a>,
        /// The method, decoded.
        method: Cow<'a, str>,
        /// The parameters.
        params: Option<Raw<'a>>,
    },
    /// A method without an id.
    Notification {
        /// The method, decoded.
        method: Cow<'a, str>,
        /// The parameters.
        params: Option<Raw<'a>>,
    },
    /// An answer to a request.
    Response {
        /// The id of the request.
        id: Raw<'a>,
        /// What it says.
        outcome: Outcome<'a>,
    },
    /// Anything else: junk, blank lines, batches, invalid UTF-8, names given twice. It is forwarded as it is.
    Unreadable,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// `result`.
    Ok(Raw<'a>),
    /// `error`.
    Err(Raw<'a>),
}

/// Looks at a line, with or without its terminator. One pass, and no allocation unless a name holds an escape.
pub fn head(line: &[u8]) -> Head<'_> {
    read(line).unwrap_or(Head::Unreadable)
}

#[derive(Default)]
struct Slots<'a> {
    id: Option<Raw<'a>>,
    method: Option<Raw<'a>>,
    params: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
}

fn read(line: &[u8]) -> Option<Head<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut slots = Slots::default();
    let mut members = Raw::parse_members(text)?;
    for (key, value) in members.by_ref() {
        let slot = match &*key {
            "id" => &mut slots.id,
            "method" => &mut slots.method,
            "params" => &mut slots.params,
            "result" => &mut slots.result,
            "error" => &mut slots.error,
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return None;
        }
    }
    if members.ends() { classify(slots) } else { None }
}

fn classify(slots: Slots<'_>) -> Option<Head<'_>> {
    let Slots { id, method, params, result, error } = slots;
    if let Some(method) = method {
        let method = method.text()?;
        return Some(match id {
            Some(id) => Head::Request { id, method, params },
            None => Head::Notification { method, params },
        });
    }
    // Some peers write the other one as `null`.
    let outcome = match (result, error) {
        (Some(result), None) => Outcome::Ok(result),
        (Some(result), Some(error)) if error.is_null() => Outcome::Ok(result),
        (None, Some(error)) => Outcome::Err(error),
        (Some(result), Some(error)) if result.is_null() => Outcome::Err(error),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    Some(Head::Response { id: id?, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text).expect("a value")
    }

    #[test]
    fn an_id_of_null_is_a_request_and_no_id_is_a_notification() {
        assert_eq!(
            head(br#"{"id":null,"method":"m"}"#),
            Head::Request { id: raw("null"), method: "m".into(), params: None }
        );
        assert_eq!(
            head(b" {\"method\":\"m\" , \"params\" : [1 , {}] }\r\n"),
            Head::Notification { method: "m".into(), params: Some(raw("[1 , {}]")) }
        );
    }

    #[test]
    fn a_name_may_be_written_with_escapes() {
        for line in [
            r#"{"id":1,"method":"session\/prompt","params":{}}"#,
            r#"{"id":1,"m\u0065thod":"session\u002fprompt","params":{}}"#,
        ] {
            let expected =
                Head::Request { id: raw("1"), method: "session/prompt".into(), params: Some(raw("{}")) };
            assert_eq!(head(line.as_bytes()), expected);
        }
    }

    #[test]
    fn an_id_keeps_its_token() {
        for token in ["1", "1.0", "\"1\"", "0", "-7", "12345678901234567890123", "1e3", "\"\\u0031\""] {
            let line = format!(r#"{{"id":{token},"result":null}}"#);
            assert_eq!(
                head(line.as_bytes()),
                Head::Response { id: raw(token), outcome: Outcome::Ok(raw("null")) }
            );
        }
    }

    #[test]
    fn a_response_may_carry_the_other_outcome_as_null() {
        let error = br#"{"id":"a","result":null,"error":{"code":1}}"#;
        assert_eq!(
            head(error),
            Head::Response { id: raw("\"a\""), outcome: Outcome::Err(raw(r#"{"code":1}"#)) }
        );
        let result = br#"{"id":"a","result":{},"error":null}"#;
        assert_eq!(head(result), Head::Response { id: raw("\"a\""), outcome: Outcome::Ok(raw("{}")) });
    }

    #[test]
    fn what_is_no_single_frame_is_unreadable() {
        let lines: [&[u8]; 16] = [
            b"",
            b"\n",
            b"\r\n",
            b"hello",
            b"[{\"id\":1,\"method\":\"m\"}]",
            b"\xef\xbb\xbf{\"method\":\"m\"}",
            b"{\"method\":\"m\",\"method\":\"n\"}",
            b"{\"method\":\"m\",\"m\\u0065thod\":\"n\"}",
            b"{\"method\":\"\xff\"}",
            b"{\"method\":\"\\x\"}",
            b"{\"method\":7}",
            b"{\"method\":\"m\"",
            b"{\"method\":\"m\"} x",
            b"{\"method\":\"m\",}",
            b"{\"id\":1,\"result\":1,\"error\":2}",
            b"{\"result\":1}",
        ];
        for line in lines {
            assert_eq!(head(line), Head::Unreadable, "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn what_stands_inside_params_cannot_hide_the_head() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        for inner in [deep.as_str(), "1e999", r#"{"a":"\ud800","a":1}"#, r#"{"id":9,"method":"x"}"#, "-0"] {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{inner}}}"#);
            let expected = Head::Notification { method: "m".into(), params: Some(raw(inner)) };
            assert_eq!(head(line.as_bytes()), expected);
        }
    }
}
