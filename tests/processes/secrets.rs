//! Secrets that an agent types stand nowhere but in its own conversation.

use crate::proxy::{Proxy, spawn};
#[cfg(feature = "web")]
use crate::web::Console;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// What must not be found anywhere: secrets of a known shape, and of one that the person named.
const MARKER: &str = "hunter2marker";
const NAMED: &str = "acme4711marker";
const CONFIG: &str = "[secrets]\nredact = [\"acme[0-9]+[a-z]*\"]\n";

fn leaks(text: &str) -> bool {
    text.contains(MARKER) || text.contains(NAMED)
}

/// An agent that types a secret wherever it can.
const AGENT: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1"}}}';;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      prompt=$id
      update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"t1"'
      echo "$update"',"sessionUpdate":"tool_call","title":"API_KEY=hunter2marker make acme4711marker","kind":"execute","status":"pending","rawInput":{"command":"API_KEY=hunter2marker make"}}}}'
      printf 'one\nTWO\n' > "$TREE/a.txt"
      echo '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"curl -H \"Authorization: Bearer hunter2marker\" x","rawInput":{"command":["mysql","--password","hunter2marker"]}},"options":[{"optionId":"y","name":"Allow API_KEY=hunter2marker","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}';;
    *'"id":"p"'*)
      echo '{"jsonrpc":"2.0","id":"t","method":"terminal/create","params":{"sessionId":"s1","command":"deploy","args":["--token=hunter2marker"],"env":[{"name":"TOKEN","value":"hunter2marker"}]}}';;
    *'"id":"t"'*)
      echo "$update"',"sessionUpdate":"tool_call_update","status":"completed","title":"git clone https://me:hunter2marker@example.org/x"}}}'
      echo '{"jsonrpc":"2.0","id":'$prompt',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

#[test]
fn a_secret_that_an_agent_types_is_in_no_journal_log_list_note_transcript_or_message() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().canonicalize().expect("there").join(name).to_string_lossy().into_owned();
    std::fs::create_dir(at("tree")).expect("made");
    std::fs::write(at("tree/a.txt"), "one\ntwo\n").expect("written");
    let environ = |command: &mut Command| {
        command.env("HUNKGATE_STATE_DIR", at("state")).env("TREE", at("tree"));
        command.env("HUNKGATE_LOG", "trace");
    };
    let record = at("recorded.acp");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    std::fs::write(at("config.toml"), CONFIG).expect("written");
    command.args(["run", "--config", &at("config.toml"), "--record", &record, "--", "sh", "-c", AGENT]);
    let mut proxy = spawn(command, environ);
    let ask = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let peer = json!({ "protocolVersion": 1, "clientInfo": { "name": "test" } });
    let prompt = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "go" }] });
    let allow = r#"{"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}"#;
    say(&mut proxy, &ask(1, "initialize", peer), &json!(1));
    say(&mut proxy, &ask(2, "session/new", json!({ "cwd": at("tree"), "mcpServers": [] })), &json!(2));
    let ours = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(at("tree"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        environ(&mut command);
        command
    };
    // While the request waits, and when the turn is over.
    let doors = |when: &str| {
        #[cfg(feature = "web")]
        over_http(ours(&["web", "--json"]), when);
        #[cfg(feature = "mcp")]
        over_mcp(ours(&["mcp"]), when);
        let _ = when;
    };
    say(&mut proxy, &ask(3, "session/prompt", prompt), &json!("p"));
    doors("while the request waits");
    say(&mut proxy, allow, &json!("t"));
    say(&mut proxy, r#"{"jsonrpc":"2.0","id":"t","result":{"terminalId":"x"}}"#, &json!(3));
    doors("when the turn is over");

    let run = |words: &[&str]| {
        let output = ours(words).output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!leaks(&said), "{words:?}: {said}");
        said
    };
    let approvals: Value =
        serde_json::from_str(&run(&["log", "--approvals", "--json"])).expect("a list of records");
    let kinds: Vec<&str> = approvals["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"requested") && kinds.contains(&"observed"), "{kinds:?}");
    for words in [
        &["hunks"][..],
        &["hunks", "--json"],
        &["status", "--json"],
        &["log"],
        &["log", "--json"],
        &["log", "--approvals"],
        &["blame", "a.txt"],
        &["diff"],
        &["sessions", "--json"],
        &["reject", "--all", "--force", "--now"],
        &["note", "--json"],
        &["pending", "--json"],
        &["grants", "--json"],
    ] {
        run(words);
    }
    proxy.close_input();
    let stderr = proxy.stderr();
    proxy.finish();
    assert!(!leaks(&stderr), "{stderr}");
    let recorded = std::fs::read_to_string(&record).expect("a transcript");
    assert!(recorded.contains("session/request_permission"), "{recorded}");
    assert!(!leaks(&recorded), "{recorded}");
    assert_eq!(holding(Path::new(&at("state"))), Vec::<String>::new());
}

#[cfg(feature = "web")]
/// Asks the console everything that is told of a session.
fn over_http(command: Command, when: &str) {
    let console = Console::of(command);
    for path in [
        "/api/sessions",
        "/api/session/s1/status",
        "/api/session/s1/review/hunks",
        "/api/session/s1/review/diff",
        "/api/session/s1/review/note",
        "/api/session/s1/pending",
    ] {
        let (status, body) = console.send("GET", path, "");
        assert!(status == 200 && !leaks(&body), "{when}: {path}: {status} {body}");
    }
    let (_, hunks) = console.send("GET", "/api/session/s1/review/hunks", "");
    assert!(hunks.contains("a.txt"), "{when}: {hunks}");
}

#[cfg(feature = "mcp")]
/// Asks as an agent does that reviews.
fn over_mcp(mut command: Command, when: &str) {
    use std::io::Write as _;
    let call = |id: u32, name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let session = json!({ "session_id": "s1" });
    let peer = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "reviewer", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": peer }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(1, "review_list_sessions", json!({})),
        call(2, "review_list_hunks", session),
        call(3, "review_blame", json!({ "session_id": "s1", "path": "a.txt" })),
    ];
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    lines.iter().for_each(|line| writeln!(input, "{line}").expect("it reads"));
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("a.txt") && !leaks(&said), "{when}: {said}");
}

/// Says a line and reads up to the frame with this id.
fn say(proxy: &mut Proxy, line: &str, id: &Value) {
    proxy.send(&format!("{line}\n"));
    loop {
        let heard = proxy.line();
        assert!(!heard.is_empty(), "the proxy ended");
        let frame: Value = serde_json::from_str(&heard).expect("JSON");
        if frame["id"] == *id {
            return;
        }
    }
}

/// Returns the files beneath a directory that hold the marker.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if std::fs::read(&path).is_ok_and(|bytes| leaks(&String::from_utf8_lossy(&bytes))) {
            found.push(path.display().to_string());
        }
    }
    found
}
