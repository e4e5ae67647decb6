//! The MCP server: what an agent that reviews sees, says and may.

use super::doors::{Fake, decided, listing};
use hunkgate::base::SessionKey;
use hunkgate::config::McpMay;
use hunkgate::ledger::Who;
use hunkgate::review::{Answer, Ask, Problem, ProblemKind};
use hunkgate::surface::Doors;
use hunkgate::surface::mcp::{Server, Tools};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::io::AsyncReadExt as _;

#[test]
fn the_tools_are_the_documented_ones() {
    let lines = [
        initialize().to_string(),
        r#"{ "jsonrpc": "2.0", "method": "notifications/initialized" }"#.to_owned(),
        r#"{ "jsonrpc": "2.0", "id": "two", "method": "tools/list" }"#.to_owned(),
        r#"{ "jsonrpc": "2.0", "id": 3, "method": "ping" }"#.to_owned(),
    ];
    let replies = Agent::new(listing(), &[McpMay::Comment]).hears(lines.join("\n") + "\n");
    assert_eq!(replies.len(), 3);
    assert_eq!(replies[0]["result"]["serverInfo"]["name"], "hunkgate");
    assert_eq!(replies[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!((&replies[1]["id"], &replies[2]["result"]), (&json!("two"), &json!({})));
    let tools = replies[1]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let all = [
        "review_list_sessions",
        "review_list_hunks",
        "review_show_hunk",
        "review_blame",
        "review_comment",
        "review_resolve_comment",
        "review_set_state",
    ];
    assert_eq!(names, all);
    for tool in &tools[1..] {
        assert_eq!(tool["inputSchema"]["required"][0], "session_id", "{tool}");
    }
}

#[test]
fn what_is_told_before_anything_is_asked_ends_no_session() {
    let early = [
        r#"{ "jsonrpc": "2.0", "method": "notifications/initialized" }"#,
        r#"{ "jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {} }"#,
        r#"{ "jsonrpc": "2.0", "id": 7, "result": {} }"#,
    ];
    let agent = Agent::new(listing(), &[McpMay::Comment]);
    let list = r#"{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }"#;
    let replies = agent.hears(format!("{}\n{}\n{list}\n", early.join("\n"), initialize()));
    assert_eq!(replies.len(), 2, "{replies:?}");
    assert!(replies[1]["result"]["tools"].is_array());
    assert_eq!(agent.hears(early.join("\n") + "\n"), Vec::<Value>::new());
    // A request that comes too early is refused in the client's own terms, and the session goes on.
    let replies = agent.hears(format!("{list}\n{}\n", initialize()));
    assert!(replies[0]["error"]["message"].is_string() && replies[1]["result"]["serverInfo"].is_object());
}

#[test]
fn what_is_said_is_signed_by_the_agent() {
    let comment: Value = super::comment(false);
    let agent = Agent::new(Answer::Commented(serde_json::from_value(comment).unwrap()), &[McpMay::Comment]);
    let say =
        json!({ "session_id": "new", "path": "src/a.rs", "body": "why", "line_start": 3, "author": "human" });
    let replies = agent.says(&[call("review_comment", say)]);
    assert_eq!(replies[0]["result"]["isError"], false, "{}", replies[0]);
    assert_eq!(replies[0]["result"]["structuredContent"]["comment"]["id"], "comment-1");
    assert_eq!(agent.doors.asked()[0].1, Who::Agent("reviewer".to_owned()));
}

#[test]
fn a_path_is_beneath_the_root_that_is_named_with_it_or_absolute() {
    let blame = super::corpus().into_iter().find(|(name, _)| *name == "blame").unwrap().1;
    let fake = Fake { blame: Some(blame), ..Fake::answering(decided()) };
    let agent = Agent { doors: Arc::new(fake), may: BTreeSet::new() };
    let of = |path: &str| {
        call("review_blame", json!({ "session_id": "new", "path": path, "root": "/home/me/repo" }))
    };
    agent.says(&[of("src/a.rs"), of("/home/me/repo/src/a.rs")]);
    let asked = agent.doors.asked();
    assert_eq!(asked.len(), 2);
    for (_, _, ask) in &asked {
        assert!(matches!(ask, Ask::Blame { path } if path == "/home/me/repo/src/a.rs"), "{asked:?}");
    }
}

#[test]
fn an_agent_decides_only_where_it_may() {
    let state = |session: &str| {
        call(
            "review_set_state",
            json!({ "session_id": session, "hunk_id": "11", "state": "rejected", "force": true }),
        )
    };
    let agent = Agent::new(decided(), &[McpMay::Comment]);
    let refused = agent.says(&[state("new")]);
    assert_eq!(refused[0]["result"]["isError"], true);
    assert!(said(&refused[0]).contains("does not let agents decide"), "{}", refused[0]);
    // Nothing is decided; that it was wanted is recorded.
    let asked = agent.doors.asked();
    let [(_, _, Ask::TurnedAway { wanted, .. })] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(matches!(wanted.as_ref(), Ask::Decide(_)));

    let allowed = Agent::new(decided(), &[McpMay::Comment, McpMay::Decide]);
    let replies = allowed.says(&[state("new")]);
    assert_eq!(replies[0]["result"]["structuredContent"]["state"], "rejected", "{}", replies[0]);
    let asked = allowed.doors.asked();
    let Ask::Decide(decide) = &asked[0].2 else { panic!("no decision") };
    assert!(!decide.force, "nothing in doubt is given up");

    let fake = Fake { own: Some(SessionKey::new("key-new")), ..Fake::answering(decided()) };
    let own = Agent { doors: Arc::new(fake), may: BTreeSet::from([McpMay::Comment, McpMay::Decide]) };
    let replies = own.says(&[state("new"), state("other"), call("review_list_sessions", json!({}))]);
    assert!(said(&replies[0]).contains("its own session"), "{}", replies[0]);
    assert_eq!(replies[1]["result"]["isError"], false);
    let rows = replies[2]["result"]["structuredContent"]["items"].as_array().unwrap().clone();
    assert_eq!(
        rows.iter().map(|row| row["own"].as_bool().unwrap()).collect::<Vec<_>>(),
        [true, false, false]
    );

    let silent = Agent::new(decided(), &[]);
    let replies = silent.says(&[call(
        "review_comment",
        json!({ "session_id": "new", "path": "a", "body": "b", "line_start": 1 }),
    )]);
    assert!(said(&replies[0]).contains("does not let agents comment"), "{}", replies[0]);
}

#[test]
fn long_bodies_are_cut_and_say_so() {
    let agent = Agent::new(
        {
            let mut hunk = super::text_hunk("1", "src/a.rs", "unreviewed");
            hunk["after_content"] = json!("é".repeat(5_000));
            Answer::Listing(serde_json::from_value(json!({ "session_id": "s1", "hunks": [hunk] })).unwrap())
        },
        &[],
    );
    let replies = agent.says(&[call("review_list_hunks", json!({ "session_id": "new" }))]);
    let shown =
        replies[0]["result"]["structuredContent"]["hunks"][0]["after_content"].as_str().unwrap().to_owned();
    assert!(shown.ends_with("[cut: 3000 more characters]"), "{shown}");
    assert_eq!(shown.matches('é').count(), 2_000);
}

#[test]
fn what_cannot_be_read_ends_nothing() {
    let agent = Agent::new(Answer::Problem(Problem::new(ProblemKind::User, "it").hint("so")), &[]);
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"{}\"}}", "x".repeat(5_000_000));
    let lines = [
        &initialize().to_string(),
        // No message at all, and one that is too long: nobody could be answered.
        "junk",
        &long,
        "",
        // No requests, as they are told.
        "[1]",
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"nothing"}"#,
        &call("rm", json!({})).to_string().replace("\"id\":1", "\"id\":3"),
        &call("review_list_hunks", json!({ "session_id": "nobody" }))
            .to_string()
            .replace("\"id\":1", "\"id\":4"),
        &call("review_list_hunks", json!({ "session_id": "new" }))
            .to_string()
            .replace("\"id\":1", "\"id\":5"),
    ];
    // The last line has no end.
    let replies = agent.hears(lines.join("\n"));
    let codes: Vec<Option<i64>> = replies
        .iter()
        .filter_map(|reply| Some(reply["error"]["code"].as_i64()).filter(Option::is_some))
        .collect();
    assert_eq!(codes, [Some(-32600), Some(-32600), Some(-32601)], "{replies:?}");
    let called: Vec<&Value> = replies.iter().filter(|reply| reply["result"]["isError"] == true).collect();
    assert_eq!(called.iter().map(|reply| reply["id"].as_i64().unwrap()).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(said(called[2]), "it (so)");
    assert_eq!(called[2]["result"]["_meta"]["hunkgate"]["kind"], "user");
}

#[test]
fn calls_are_answered_in_order_also_after_the_end() {
    let agent = Agent::new(listing(), &[]);
    let calls: Vec<Value> =
        (0..100).map(|_| call("review_list_hunks", json!({ "session_id": "new" }))).collect();
    let replies = agent.says(&calls);
    let ids: Vec<u64> = replies.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=100).collect::<Vec<u64>>());
    assert_eq!(agent.doors.asked().len(), 100);
}

// ── support ──

struct Agent {
    doors: Arc<Fake>,
    may: BTreeSet<McpMay>,
}

impl Agent {
    fn new(answer: Answer, may: &[McpMay]) -> Self {
        Self { doors: Arc::new(Fake::answering(answer)), may: may.iter().copied().collect() }
    }

    fn server(&self) -> Server {
        Server::new(Tools::new(Arc::clone(&self.doors) as Arc<dyn Doors>, self.may.clone()))
    }

    /// Sends each message with a number of its own, after saying who it is; returns what is answered to them.
    fn says(&self, messages: &[Value]) -> Vec<Value> {
        let mut input = initialize().to_string();
        for (message, id) in messages.iter().zip(1_u64..) {
            let mut message = message.clone();
            if message.get("id").is_some() {
                message["id"] = json!(id);
            }
            input += &format!("\n{message}");
        }
        self.hears(input + "\n").into_iter().filter(|reply| reply["id"] != 0).collect()
    }

    fn hears(&self, input: String) -> Vec<Value> {
        heard(self.server(), input)
    }
}

/// Sends the bytes and the end of them to a server; returns all that comes back.
pub(super) fn heard(server: Server, input: String) -> Vec<Value> {
    let (output, ours) = tokio::io::duplex(16 * 1024 * 1024);
    server.run(std::io::Cursor::new(input.into_bytes()), ours).unwrap();
    let mut text = String::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tokio::io::BufReader::new(output).read_to_string(&mut text)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a client says first.
pub(super) fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "reviewer", "version": "1" } } })
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

fn said(reply: &Value) -> String {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
