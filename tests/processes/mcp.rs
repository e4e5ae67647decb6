//! An agent with the MCP server reviews: elsewhere it comments, at home it decides nothing.

use crate::scratch::Scratch;
use serde_json::{Value, json};

#[test]
fn an_agent_comments_elsewhere_and_decides_nothing_of_its_own() {
    let scratch = Scratch::new();
    scratch.write("home/.config/hunkgate/config.toml", "[mcp]\nmay = [\"comment\", \"decide\"]\n");
    let repository = scratch.repository().display().to_string();
    // Another session leaves two hunks.
    let mut author = scratch.start(|command| {
        command.env("SESSION", "author");
    });
    author.open(json!({ "cwd": repository, "mcpServers": [] }));
    author.turn_of("author", &format!("cd '{repository}'; printf 'one\\n' > a.txt; printf 'two\\n' > b.txt"));
    let hunks = scratch.json(&["hunks", "--session", "author"])["hunks"].as_array().unwrap().clone();
    assert_eq!(hunks.len(), 2, "{hunks:?}");

    // The reviewer's shell starts the server, as an agent does.
    let mut live = scratch.session();
    let (a, b) = (hunks[0]["id"].as_str().unwrap(), hunks[1]["id"].as_str().unwrap());
    let call = |id: u32, name: &str, arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } }).to_string()
    };
    let comment = |path: &str| json!({ "session_id": "author", "path": path, "body": format!("about {path}"), "line_start": 1 });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "reviewer", "version": "1" } } }).to_string(),
        call(1, "review_list_sessions", json!({})),
        call(6, "review_show_hunk", json!({ "session_id": "author", "hunk_id": b })),
        call(7, "review_blame", json!({ "session_id": "author", "path": "a.txt" })),
        call(2, "review_comment", comment("a.txt")),
        call(3, "review_comment", comment("b.txt")),
        call(4, "review_set_state", json!({ "session_id": "author", "hunk_id": a, "state": "accepted" })),
        call(5, "review_set_state", json!({ "session_id": "s1", "hunk_id": b, "state": "accepted" })),
    ];
    scratch.write("lines", lines.join("\n") + "\n");
    let (top, ours) = (scratch.at("").display().to_string(), env!("CARGO_BIN_EXE_hunkgate"));
    live.prompt(&format!("'{ours}' mcp < '{top}lines' > '{top}replies' 2> '{top}errors'"));
    let text = scratch.read("replies");
    let replies: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 8, "{text} {}", scratch.read("errors"));
    let rows = replies[1]["result"]["structuredContent"]["items"].as_array().unwrap();
    let own = rows.iter().map(|row| (row["session_id"].as_str().unwrap(), row["own"].as_bool().unwrap()));
    assert_eq!(own.collect::<std::collections::BTreeMap<_, _>>(), [("author", false), ("s1", true)].into());
    for reply in &replies[2..7] {
        assert_eq!(reply["result"]["isError"], false, "{reply}");
    }
    assert!(
        replies[7]["result"]["content"][0]["text"].as_str().unwrap().contains("its own session"),
        "{}",
        replies[7]
    );

    // What was said and decided is journaled with who and through which door.
    let listing = scratch.json(&["hunks", "--session", "author"]);
    let authors: Vec<&str> =
        listing["comments"].as_array().unwrap().iter().map(|one| one["author"].as_str().unwrap()).collect();
    assert_eq!(authors, ["agent:reviewer", "agent:reviewer"]);
    let shown = scratch.json(&["show", a, "--session", "author"]);
    assert_eq!(
        (&shown["history"][0]["by"], &shown["history"][0]["channel"]),
        (&json!("agent:reviewer"), &json!("mcp"))
    );

    // So is every call, with who made it: also the look, and what was turned away.
    let visits = |session: &str| -> Vec<(String, String, bool)> {
        let log = scratch.says(&["log", "--session", session, "--json"]).0;
        let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let visits =
            records.filter(|record| record["kind"] == "visited").map(|record| record["data"].clone());
        visits
            .map(|visit| {
                assert_eq!(visit["actor"], json!({ "who": { "agent": "reviewer" }, "channel": "mcp" }));
                let text = |key: &str| visit[key].as_str().unwrap().to_owned();
                (text("ask"), text("about"), visit["turned_away"].is_string())
            })
            .collect()
    };
    let expected = [
        ("show", b, false),
        ("blame", "a.txt", false),
        ("comment", "a.txt:1", false),
        ("comment", "b.txt:1", false),
        ("accept", a, false),
    ];
    let owned = |(ask, about, away): (&str, &str, bool)| (ask.to_owned(), about.to_owned(), away);
    assert_eq!(visits("author"), expected.map(owned));
    assert_eq!(visits("s1"), [("accept", b, true)].map(owned));
    live.end();
    author.end();
}
