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

#[test]
fn the_tools_are_the_documented_ones() {
    let replies = Agent::new(listing(), &[McpMay::Comment]).says(&[
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "clientInfo": { "name": "reviewer" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": "two", "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }),
    ]);
    assert_eq!(replies.len(), 3);
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
fn what_is_said_is_signed_by_the_agent() {
    let comment: Value = super::comment(false);
    let agent = Agent::new(Answer::Commented(serde_json::from_value(comment).unwrap()), &[McpMay::Comment]);
    let say =
        json!({ "session_id": "new", "path": "src/a.rs", "body": "why", "line_start": 3, "author": "human" });
    let replies = agent.says(&[initialize(), call("review_comment", say)]);
    assert_eq!(replies[1]["result"]["isError"], false, "{}", replies[1]);
    assert_eq!(replies[1]["result"]["structuredContent"]["comment"]["id"], "comment-1");
    assert_eq!(agent.doors.asked()[0].1, Who::Agent("reviewer".to_owned()));
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
    assert!(agent.doors.asked().is_empty());

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
fn what_cannot_be_read_is_answered() {
    let agent = Agent::new(Answer::Problem(Problem::new(ProblemKind::User, "it").hint("so")), &[]);
    let mut output = Vec::new();
    let input = "junk\n\n[1]\n{\"id\":1}\n{\"id\":2,\"method\":\"nothing\"}\n{\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}\n{\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"review_list_hunks\",\"arguments\":{\"session_id\":\"nobody\"}}}\n{\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"review_list_hunks\",\"arguments\":{\"session_id\":\"new\"}}}";
    agent.server().run(input.as_bytes(), &mut output).unwrap();
    let replies: Vec<Value> =
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<Option<i64>> = replies.iter().map(|reply| reply["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32700), Some(-32600), Some(-32600), Some(-32601), None, None, None]);
    assert_eq!(said(&replies[6]), "it (so)");
    for reply in &replies[4..] {
        assert_eq!(reply["result"]["isError"], true);
    }
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

    fn says(&self, messages: &[Value]) -> Vec<Value> {
        let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let mut output = Vec::new();
        self.server().run(input.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "1999-01-01", "clientInfo": { "name": "reviewer" } } })
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

fn said(reply: &Value) -> String {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
