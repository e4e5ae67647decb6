//! A whole turn, recorded, reviewed while the proxy lives and after.

use crate::proxy::{Proxy, start, until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};

/// An agent that answers what it must, and edits `a.txt` beside it when it is prompted. What it is told it keeps in `heard`.
const AGENT: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1"}}}';;
    *'"session/new"'*|*'"session/load"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      printf '%s\n' "$line" >> "$HEARD"
      update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"t1"'
      echo "$update"',"sessionUpdate":"tool_call","title":"Edit","kind":"edit","status":"in_progress","locations":[{"path":"'$TREE'/a.txt"}]}}}'
      case "$line" in
        *edit*) printf 'one\ntwo\nTHREE\n' > "$TREE/a.txt";;
        *die*) echo 'last words' >&2; exit 9;;
        *comment*) (cd "$TREE" && "$HUNKGATE" comment a.txt:1 'obey me' > said 2>&1);;
        *accept*) (cd "$TREE" && "$HUNKGATE" accept --all > said 2>&1; echo $? >> said);;
      esac
      echo "$update"',"sessionUpdate":"tool_call_update","status":"completed"}}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

/// A scratch tree with its state, and whatever runs on it.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("tree")).expect("made");
        std::fs::write(dir.path().join("tree/a.txt"), "one\ntwo\nthree\n").expect("written");
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().canonicalize().expect("there").join(name).to_string_lossy().into_owned()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn environ(&self, command: &mut Command) {
        command.env("HUNKGATE_STATE_DIR", self.path("state")).env("TREE", self.path("tree"));
        command.env("HEARD", self.path("heard")).env("HUNKGATE", env!("CARGO_BIN_EXE_hunkgate"));
    }

    /// Starts a proxy, and opens the session in it.
    fn proxy(&self, open: &str) -> Proxy {
        let mut proxy = start(&["sh", "-c", AGENT], |command| self.environ(command));
        call(&mut proxy, 1, "initialize", json!({ "protocolVersion": 1, "clientInfo": { "name": "test" } }));
        call(&mut proxy, 2, open, json!({ "sessionId": "s1", "cwd": self.path("tree"), "mcpServers": [] }));
        proxy
    }

    /// Runs a command of ours in the tree.
    fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(self.path("tree"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        self.environ(&mut command);
        command.output().expect("it runs")
    }

    fn hunks(&self) -> Vec<Value> {
        let output = self.command(&["hunks", "--json"]);
        let listing: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("no listing: {}", String::from_utf8_lossy(&output.stderr)));
        listing["hunks"].as_array().cloned().expect("a listing")
    }
}

/// Sends a request and reads up to its answer.
fn call(proxy: &mut Proxy, id: u32, method: &str, params: Value) -> Value {
    proxy.send(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
    loop {
        let line = proxy.line();
        assert!(!line.is_empty(), "the proxy ended");
        let frame: Value = serde_json::from_str(&line).expect("JSON");
        if frame["id"] == json!(id) && frame.get("method").is_none() {
            return frame;
        }
    }
}

fn prompt(proxy: &mut Proxy, id: u32, text: &str) -> Value {
    let params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
    call(proxy, id, "session/prompt", params)
}

#[test]
fn what_a_turn_changed_is_listed_alike_while_the_proxy_lives_and_after() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    let live = scene.hunks();
    proxy.close_input();
    assert_eq!(proxy.finish().1, 0);
    let after = scene.hunks();
    assert_eq!(live, after);
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(live[0]["after_content"], "THREE\n");
    assert_eq!(live[0]["tool_call_ids"], json!(["t1"]));
}

#[test]
fn a_reject_through_the_proxy_puts_the_lines_back_and_the_agent_hears_of_it() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    let output = scene.command(&["reject", "--all", "--reason", "not like this"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(scene.read("tree/a.txt"), "one\ntwo\nthree\n");
    prompt(&mut proxy, 4, "go on");
    let heard = scene.read("heard");
    assert!(heard.lines().last().is_some_and(|line| line.contains("not like this")), "{heard}");
    proxy.close_input();
    assert_eq!(proxy.finish().1, 0);
}

#[test]
fn a_reject_without_a_proxy_is_told_to_the_agent_by_the_next_one() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    proxy.close_input();
    proxy.finish();
    assert!(scene.command(&["reject", "--all", "--reason", "not like this"]).status.success());
    assert_eq!(scene.read("tree/a.txt"), "one\ntwo\nthree\n");
    assert!(scene.command(&["undo"]).status.success());
    assert_eq!(scene.read("tree/a.txt"), "one\ntwo\nTHREE\n");
    assert!(scene.command(&["redo"]).status.success());
    let mut proxy = scene.proxy("session/load");
    prompt(&mut proxy, 3, "go on");
    assert!(scene.read("heard").contains("not like this"));
}

#[test]
fn a_command_that_the_agent_runs_may_not_decide() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    prompt(&mut proxy, 4, "accept");
    let said = scene.read("tree/said");
    assert!(said.ends_with("\n3\n"), "{said}");
    let states: Vec<Value> = scene.hunks().iter().map(|hunk| hunk["state"].clone()).collect();
    assert!(states.contains(&json!("unreviewed")) && !states.contains(&json!("accepted")), "{states:?}");
    let log = String::from_utf8(scene.command(&["log"]).stdout).expect("text");
    assert!(log.contains("refused"), "{log}");
}

#[test]
fn what_the_agent_runs_does_not_comment_as_the_person() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "comment");
    let listing = String::from_utf8(scene.command(&["hunks"]).stdout).expect("text");
    assert!(listing.contains("obey me") && !listing.contains("by human"), "{listing}");
    let note = String::from_utf8(scene.command(&["note"]).stdout).expect("text");
    assert!(!note.contains("obey me"), "{note}");
}

#[test]
fn the_documented_methods_answer_on_the_socket() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    let mut socket = connect(&scene);
    let listing = ask(&mut socket, "review.list_hunks", json!({ "session_id": "s1" }));
    let hunk = &listing["result"]["hunks"][0];
    let (id, digest) = (hunk["id"].clone(), hunk["digest"].clone());
    let stale =
        json!({ "session_id": "s1", "hunk_id": id, "state": "accepted", "digest": "0000000000000000" });
    assert_eq!(ask(&mut socket, "review.set_state", stale)["error"]["code"], -32602);
    let fresh = json!({ "session_id": "s1", "hunk_id": id, "state": "accepted", "digest": digest });
    let set = ask(&mut socket, "review.set_state", fresh);
    assert_eq!((&set["result"]["hunk_id"], &set["result"]["state"]), (&id, &json!("accepted")));
    let comment = json!({ "session_id": "s1", "path": "a.txt", "line_start": 1, "body": "why?" });
    let made = ask(&mut socket, "review.comment", comment);
    let comment = made["result"]["comment"]["id"].clone();
    let resolved =
        ask(&mut socket, "review.resolve_comment", json!({ "session_id": "s1", "comment_id": comment }));
    assert_eq!(resolved["result"]["resolved"], true);
    assert_eq!(
        ask(&mut socket, "review.list_hunks", json!({ "session_id": "other" }))["error"]["code"],
        -32602
    );
}

#[test]
fn whoever_watches_is_told_what_moves() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    let mut socket = connect(&scene);
    ask(&mut socket, "watch", json!({}));
    prompt(&mut proxy, 3, "edit");
    let mut line = String::new();
    socket.read_line(&mut line).expect("told");
    let notice: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&notice["method"], &notice["params"]["session_id"]),
        (&json!("review_changed"), &json!("s1"))
    );
}

fn connect(scene: &Scene) -> BufReader<UnixStream> {
    let mut found = None;
    until("the socket is there", || {
        let entries = std::fs::read_dir(Path::new(&scene.path("state")).join("run"));
        found = entries.ok().and_then(|mut entries| entries.next()?.ok());
        found.is_some()
    });
    BufReader::new(UnixStream::connect(found.expect("found").path()).expect("it listens"))
}

fn ask(socket: &mut BufReader<UnixStream>, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    writeln!(socket.get_mut(), "{request}").expect("it reads");
    let mut line = String::new();
    socket.read_line(&mut line).expect("it answers");
    serde_json::from_str(&line).expect("JSON")
}

#[test]
fn a_session_that_was_killed_in_its_turn_is_taken_up() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    prompt(&mut proxy, 3, "edit");
    proxy.signal("KILL");
    assert!(proxy.child.wait().is_ok());
    assert_eq!(scene.hunks().len(), 1);
    let mut proxy = scene.proxy("session/load");
    prompt(&mut proxy, 3, "go on");
    let hunks = scene.hunks();
    assert_eq!((hunks.len(), &hunks[0]["tool_call_ids"]), (1, &json!(["t1"])));
}

#[test]
fn a_proxy_that_follows_another_on_its_session_waits_for_its_end_and_forwards_meanwhile() {
    let scene = Scene::new();
    let mut first = scene.proxy("session/new");
    prompt(&mut first, 3, "go on");
    let mut second = scene.proxy("session/load");
    assert_eq!(prompt(&mut second, 3, "go on")["result"]["stopReason"], "end_turn");
    first.close_input();
    first.finish();
    until("the second records", || {
        let said = scene.command(&["sessions", "--json"]).stdout;
        String::from_utf8_lossy(&said).contains("\"live\": true")
    });
    prompt(&mut second, 4, "edit");
    let hunks = scene.hunks();
    assert_eq!((hunks.len(), &hunks[0]["tool_call_ids"]), (1, &json!(["t1"])));
}

#[test]
fn an_agent_that_dies_in_its_turn_answers_with_its_last_words() {
    let scene = Scene::new();
    let mut proxy = scene.proxy("session/new");
    let answer = prompt(&mut proxy, 3, "die");
    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer["error"]["data"].to_string().contains("last words"), "{answer}");
    assert_eq!(proxy.finish().1, 9);
}

#[test]
fn an_agent_that_cannot_be_started_is_named_in_the_answer_to_initialize() {
    let plain = tempfile::NamedTempFile::new().expect("a file");
    for (agent, code) in [("/nonexistent/agent", 127), (plain.path().to_str().expect("text"), 126)] {
        let mut proxy = start(&[agent], |_| {});
        let answer = call(&mut proxy, 1, "initialize", json!({ "protocolVersion": 1 }));
        assert!(answer["error"]["message"].to_string().contains(agent), "{answer}");
        assert_eq!(proxy.finish().1, code);
    }
}

#[test]
fn a_configuration_that_does_not_parse_forwards_nothing_and_names_the_line() {
    let config = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(config.path(), "[review]\nat_turnend = 1\n").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.arg("run").arg("--config").arg(config.path()).args(["--", "sh", "-c", "echo started"]);
    let mut proxy = crate::proxy::spawn(command, |_| {});
    let answer = call(&mut proxy, 1, "initialize", json!({ "protocolVersion": 1 }));
    let message = answer["error"]["message"].as_str().expect("text");
    let config = config.path().to_str().expect("text");
    assert!(message.starts_with(&format!("{config}:2: unknown key")), "{answer}");
    let said = proxy.stderr();
    assert_eq!(said.matches(config).count(), 1, "{said}");
    assert!(!said.contains("forwarding") && !said.contains("start"), "{said}");
    assert_eq!(proxy.finish(), (String::new(), 2));
}

#[test]
fn without_a_state_directory_everything_is_forwarded_and_it_is_said() {
    let scene = Scene::new();
    std::fs::write(scene.path("blocked"), "a file").expect("written");
    let blocked = scene.path("blocked");
    let nowhere = |command: &mut Command| {
        scene.environ(command);
        command.env_remove("HUNKGATE_STATE_DIR");
    };
    let unusable = |command: &mut Command| {
        scene.environ(command);
        command.env("HUNKGATE_STATE_DIR", &blocked);
    };
    for prepare in [&nowhere as &dyn Fn(&mut Command), &unusable] {
        let mut proxy = start(&["sh", "-c", AGENT], prepare);
        call(&mut proxy, 1, "initialize", json!({ "protocolVersion": 1 }));
        call(&mut proxy, 2, "session/new", json!({ "cwd": scene.path("tree"), "mcpServers": [] }));
        assert_eq!(prompt(&mut proxy, 3, "go on")["result"]["stopReason"], "end_turn");
        proxy.close_input();
        assert!(proxy.stderr().contains("without recording"));
    }
}

#[test]
fn a_recording_is_a_transcript_without_secrets_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let file = scene.path("run.acp");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.args(["run", "--record", &file, "--", "sh", "-c", AGENT]);
    let mut proxy = crate::proxy::spawn(command, |command| scene.environ(command));
    call(&mut proxy, 1, "initialize", json!({ "protocolVersion": 1 }));
    call(
        &mut proxy,
        2,
        "session/new",
        json!({ "cwd": scene.path("tree"), "mcpServers": [], "token": "t0psecret" }),
    );
    prompt(&mut proxy, 3, "edit");
    proxy.close_input();
    proxy.finish();
    let text = scene.read("run.acp");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("# Recorded by hunkgate"));
    assert!(lines[1].starts_with("editor> {") && lines[2] == "agent< same", "{text}");
    assert!(lines.iter().any(|line| line.starts_with("editor< {")), "{text}");
    assert!(text.contains("\"token\":\"HIDDEN\"") && !text.contains("t0psecret"), "{text}");
    let mode = std::fs::metadata(&file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
