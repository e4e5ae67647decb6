//! The framing of a proxy chain: one connection to a conductor, seen by the engine as two legs.
//!
//! ```text
//!  conductor                                    engine
//!  proxy/initialize          ⇄ (response)       editor leg: initialize
//!  any other method          ⇄ (response)       editor leg: the same
//!  proxy/successor{method,…} ⇄ (response)       agent leg:  method
//!  $/cancel_request          ⇄                  the leg of the request that it names
//! ```
//!
//! Ids are those of the conductor, which are unique on the connection, so a forwarded request keeps its id on the way
//! out. Should that id be in flight already, the request gets another one, and so do the places that name it.

use crate::base::Leg;
use crate::wire::{Head, IdToken, Raw, head, splice};
use bytes::Bytes;
use std::collections::BTreeMap;

const INITIALIZE: &str = "proxy/initialize";
const SUCCESSOR: &str = "proxy/successor";
const CANCEL: &str = "$/cancel_request";
const ELICIT: &str = "elicitation/create";

/// The state of one chain connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Requests of the conductor in flight: the leg from which the engine has them.
    received: BTreeMap<IdToken, Leg>,
    /// Our requests in flight by their id on the connection: the leg they were sent to, and their id in the engine.
    sent: BTreeMap<IdToken, (Leg, IdToken)>,
    renamed: u64,
}

impl Hop {
    /// Starts a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a line of the conductor: the leg from which the engine has it, and the line as the engine has it.
    pub fn incoming(&mut self, line: Bytes) -> (Leg, Bytes) {
        match head(&line) {
            Head::Request { id, method, .. } => {
                let leg = leg_of(&method);
                self.received.insert(id.to_id(), leg);
                let line = bare(&line, &method).unwrap_or(line);
                (leg, self.own_named(&line).unwrap_or(line))
            }
            Head::Notification { method, params } if method == CANCEL => {
                let named = params.and_then(|params| params.member("requestId")).map(Raw::to_id);
                let leg = named.and_then(|id| self.received.get(&id).copied());
                (leg.unwrap_or(Leg::Editor), line)
            }
            Head::Notification { method, .. } => (leg_of(&method), bare(&line, &method).unwrap_or(line)),
            Head::Response { id, .. } => match self.sent.remove(&id.to_id()) {
                Some((leg, own)) if own.as_str() == id.get() => (leg, line),
                Some((leg, own)) => (leg, splice::replace(&line, &["id"], own.as_str()).unwrap_or(line)),
                None => (Leg::Editor, line),
            },
            Head::Unreadable => (Leg::Editor, line),
        }
    }

    /// Frames a line of the engine for the conductor. `None` for what the connection cannot carry: a blank or
    /// unreadable line would come back to the one who sent it.
    pub fn outgoing(&mut self, to: Leg, line: Bytes) -> Option<Bytes> {
        match head(&line) {
            Head::Request { id, .. } => {
                let own = id.to_id();
                let wire = self.free_id(&own);
                let out =
                    if wire == own { line.clone() } else { splice::replace(&line, &["id"], wire.as_str())? };
                self.sent.insert(wire, (to, own));
                wrapped(out, to)
            }
            Head::Notification { method, .. } if method == CANCEL => {
                Some(self.wire_named(&line, to).unwrap_or(line))
            }
            Head::Notification { .. } => wrapped(line, to),
            Head::Response { id, .. } => {
                self.received.remove(&id.to_id());
                Some(line)
            }
            Head::Unreadable => None,
        }
    }

    /// A cancellation of a request sent to `leg` under another id: names that one.
    fn wire_named(&self, line: &[u8], leg: Leg) -> Option<Bytes> {
        let named = splice::find(line, &["params", "requestId"])?.to_id();
        let (wire, _) = self.sent.iter().find(|(_, (to, own))| *to == leg && *own == named)?;
        (*wire != named).then(|| splice::replace(line, &["params", "requestId"], wire.as_str()))?
    }

    /// An elicitation about a request that was sent under another id: names the engine's.
    fn own_named(&self, line: &[u8]) -> Option<Bytes> {
        let Head::Request { method, params, .. } = head(line) else { return None };
        let named = params.filter(|_| method == ELICIT)?.member("requestId")?.to_id();
        let (_, own) = self.sent.get(&named)?;
        (*own != named).then(|| splice::replace(line, &["params", "requestId"], own.as_str()))?
    }

    fn free_id(&mut self, wanted: &IdToken) -> IdToken {
        let mut id = wanted.clone();
        while self.sent.contains_key(&id) {
            self.renamed += 1;
            id = IdToken::of_text(&format!("hunkgate-hop-{}", self.renamed));
        }
        id
    }
}

fn leg_of(method: &str) -> Leg {
    if method == SUCCESSOR { Leg::Agent } else { Leg::Editor }
}

/// Takes the chain's framing off a line; `None` when there is none.
fn bare(line: &[u8], method: &str) -> Option<Bytes> {
    match method {
        INITIALIZE => splice::replace(line, &["method"], "\"initialize\""),
        SUCCESSOR => {
            let inner = splice::find(line, &["params", "method"])?.get();
            match splice::find(line, &["params", "params"]) {
                Some(params) => put(line, inner, params.get()),
                None => splice::replace(&splice::remove_member(line, &[], "params")?, &["method"], inner),
            }
        }
        _ => None,
    }
}

/// Puts the chain's framing around a request or notification to the agent.
fn wrapped(line: Bytes, to: Leg) -> Option<Bytes> {
    if to == Leg::Editor {
        return Some(line);
    }
    let method = splice::find(&line, &["method"])?.get();
    let outer = format!("\"{SUCCESSOR}\"");
    match splice::find(&line, &["params"]) {
        Some(params) => put(&line, &outer, &format!(r#"{{"method":{method},"params":{}}}"#, params.get())),
        None => {
            let line = splice::add_member(&line, &[], "params", &format!(r#"{{"method":{method}}}"#))?;
            splice::replace(&line, &["method"], &outer)
        }
    }
}

/// Replaces method and params, which may stand in either order.
fn put(line: &[u8], method: &str, params: &str) -> Option<Bytes> {
    let line = splice::replace(line, &["params"], params)?;
    splice::replace(&line, &["method"], method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(hop: &mut Hop, cases: &[(&str, Leg, &str)]) {
        for (line, leg, expected) in cases {
            let (from, line) = hop.incoming(Bytes::copy_from_slice(line.as_bytes()));
            assert_eq!((from, std::str::from_utf8(&line).unwrap()), (*leg, *expected));
        }
    }

    fn out(hop: &mut Hop, to: Leg, line: &str) -> Option<String> {
        let line = hop.outgoing(to, Bytes::copy_from_slice(line.as_bytes()))?;
        Some(String::from_utf8(line.to_vec()).unwrap())
    }

    #[test]
    fn what_the_conductor_sends_comes_from_the_leg_it_belongs_to() {
        lines(
            &mut Hop::new(),
            &[
                (
                    "{\"id\":\"a\",\"method\":\"proxy/initialize\",\"params\":{\"protocolVersion\":1}}\r\n",
                    Leg::Editor,
                    "{\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\r\n",
                ),
                (
                    r#"{"id":2,"method":"session/prompt","params":{}}"#,
                    Leg::Editor,
                    r#"{"id":2,"method":"session/prompt","params":{}}"#,
                ),
                (
                    r#"{"params":{"params":{"n": 1e3},"_meta":{},"method":"session\/update"}, "method":"proxy/successor"}"#,
                    Leg::Agent,
                    r#"{"params":{"n": 1e3}, "method":"session\/update"}"#,
                ),
                (
                    r#"{"id":7,"method":"proxy\/successor","params":{"method":"_ext"}}"#,
                    Leg::Agent,
                    r#"{"id":7,"method":"_ext"}"#,
                ),
                (
                    r#"{"method":"$/cancel_request","params":{"requestId":7}}"#,
                    Leg::Agent,
                    r#"{"method":"$/cancel_request","params":{"requestId":7}}"#,
                ),
                (
                    r#"{"method":"$/cancel_request","params":{"requestId":2}}"#,
                    Leg::Editor,
                    r#"{"method":"$/cancel_request","params":{"requestId":2}}"#,
                ),
                ("junk\n", Leg::Editor, "junk\n"),
            ],
        );
    }

    #[test]
    fn requests_and_notifications_to_the_agent_are_wrapped_and_answers_are_bare() {
        let mut hop = Hop::new();
        assert_eq!(
            out(&mut hop, Leg::Agent, "{\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"x\":-0}}\n")
                .as_deref(),
            Some(
                "{\"id\":\"a\",\"method\":\"proxy/successor\",\"params\":{\"method\":\"initialize\",\"params\":{\"x\":-0}}}\n"
            )
        );
        assert_eq!(
            out(&mut hop, Leg::Agent, r#"{"method":"m"}"#).as_deref(),
            Some(r#"{"method":"proxy/successor","params":{"method":"m"}}"#)
        );
        assert_eq!(
            out(&mut hop, Leg::Editor, r#"{"id":3,"method":"m","params":[]}"#).as_deref(),
            Some(r#"{"id":3,"method":"m","params":[]}"#)
        );
        lines(
            &mut hop,
            &[
                (r#"{"id":3,"result":null}"#, Leg::Editor, r#"{"id":3,"result":null}"#),
                (r#"{"id":"a","error":{"code":1}}"#, Leg::Agent, r#"{"id":"a","error":{"code":1}}"#),
            ],
        );
        assert_eq!(
            out(&mut hop, Leg::Agent, r#"{"id":9,"result":{}}"#).as_deref(),
            Some(r#"{"id":9,"result":{}}"#)
        );
    }

    #[test]
    fn an_id_in_flight_twice_is_renamed_wherever_it_is_named() {
        let mut hop = Hop::new();
        out(&mut hop, Leg::Editor, r#"{"id":1,"method":"session/request_permission","params":{}}"#);
        assert_eq!(
            out(&mut hop, Leg::Agent, r#"{"id":1,"method":"session/prompt","params":{}}"#).as_deref(),
            Some(
                r#"{"id":"hunkgate-hop-1","method":"proxy/successor","params":{"method":"session/prompt","params":{}}}"#
            )
        );
        assert_eq!(
            out(&mut hop, Leg::Agent, r#"{"method":"$/cancel_request","params":{"requestId":1}}"#).as_deref(),
            Some(r#"{"method":"$/cancel_request","params":{"requestId":"hunkgate-hop-1"}}"#)
        );
        assert_eq!(
            out(&mut hop, Leg::Editor, r#"{"method":"$/cancel_request","params":{"requestId":1}}"#)
                .as_deref(),
            Some(r#"{"method":"$/cancel_request","params":{"requestId":1}}"#)
        );
        lines(
            &mut hop,
            &[
                (
                    r#"{"id":4,"method":"proxy/successor","params":{"method":"elicitation/create","params":{"requestId":"hunkgate-hop-1"}}}"#,
                    Leg::Agent,
                    r#"{"id":4,"method":"elicitation/create","params":{"requestId":1}}"#,
                ),
                (r#"{"id":"hunkgate-hop-1","result":{}}"#, Leg::Agent, r#"{"id":1,"result":{}}"#),
                (r#"{"id":1,"result":{}}"#, Leg::Editor, r#"{"id":1,"result":{}}"#),
            ],
        );
    }

    #[test]
    fn what_cannot_be_framed_does_not_go_back_to_its_sender() {
        for line in ["\n", "junk\n", "[]\n"] {
            assert_eq!(out(&mut Hop::new(), Leg::Agent, line), None);
        }
    }

    #[test]
    fn a_frame_wrapped_and_unwrapped_keeps_its_bytes() {
        for line in [
            "{\"jsonrpc\":\"2.0\", \"id\" : 12345678901234567890123, \"method\":\"a\\/b\",\"params\" : {\"x\":[1e999,\"\\ud800\"]} }\r\n",
            r#"{"params":[],"extra":{"a":1,"a":2},"method":"m"}"#,
        ] {
            let down = out(&mut Hop::new(), Leg::Agent, line).unwrap();
            lines(&mut Hop::new(), &[(&down, Leg::Agent, line)]);
        }
    }
}
