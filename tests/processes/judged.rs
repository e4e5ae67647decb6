//! Requests that are judged, through the real proxy.

use crate::proxy::{Proxy, spawn};
use crate::tty::Tty;
use serde_json::{Value, json};
use std::process::Command;

/// An agent that asks for what its prompt says, and tells what it was answered.
const AGENT: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1"}}}';;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      prompt=$id
      command=$(printf '%s' "$line" | sed -n 's/.*"prompt":\[{[^}]*"text":"\([^"]*\)".*/\1/p')
      case "$command" in *deny*) (until "$HUNKGATE" pending | grep -q rev; do :; done
        "$HUNKGATE" deny r- > "$SAID" 2>&1; echo $? >> "$SAID") & ;;
        *revoke*) "$HUNKGATE" grants revoke g- > "$SAID" 2>&1; echo $? >> "$SAID";; esac
      echo '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t'$id'","title":"run","kind":"execute","rawInput":{"command":"'"$command"'"}},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}';;
    *'"id":"p"'*)
      answer=$(printf '%s' "$line" | sed -n 's/.*"optionId":"\([a-z-]*\)".*/\1/p')
      echo '{"jsonrpc":"2.0","id":'$prompt',"result":{"stopReason":"end_turn","answer":"'$answer'"}}';;
  esac
done
"#;

pub(crate) struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("tree")).expect("made");
        std::fs::write(dir.path().join("config.toml"), config).expect("written");
        Self { dir }
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.dir.path().canonicalize().expect("there").join(name).to_string_lossy().into_owned()
    }

    fn proxy(&self) -> Proxy {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(["run", "--config", &self.at("config.toml"), "--", "sh", "-c", AGENT]);
        spawn(command, |command| {
            command.env("HUNKGATE_STATE_DIR", self.at("state"));
            command.env("HUNKGATE", env!("CARGO_BIN_EXE_hunkgate")).env("SAID", self.at("said"));
        })
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(self.at("tree")).env("HUNKGATE_STATE_DIR", self.at("state"));
        command
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.command(words).output().expect("it runs");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    pub(crate) fn opened(&self) -> Proxy {
        let mut proxy = self.proxy();
        say(&mut proxy, 1, "initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "test" } }));
        until(&mut proxy, |frame| frame["id"] == 1);
        say(&mut proxy, 2, "session/new", &json!({ "cwd": self.at("tree"), "mcpServers": [] }));
        until(&mut proxy, |frame| frame["id"] == 2);
        proxy
    }
}

pub(crate) fn say(proxy: &mut Proxy, id: u32, method: &str, params: &Value) {
    let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    proxy.send(&format!("{frame}\n"));
}

pub(crate) fn prompt(proxy: &mut Proxy, id: u32, text: &str) {
    let blocks = json!([{ "type": "text", "text": text }]);
    say(proxy, id, "session/prompt", &json!({ "sessionId": "s1", "prompt": blocks }));
}

/// Reads up to a frame, and says whether the editor was asked for a permission on the way.
pub(crate) fn until(proxy: &mut Proxy, so: impl Fn(&Value) -> bool) -> (Value, bool) {
    let mut asked = false;
    loop {
        let line = proxy.line();
        assert!(!line.is_empty(), "the proxy ended");
        let frame: Value = serde_json::from_str(&line).expect("JSON");
        if so(&frame) {
            return (frame, asked);
        }
        asked |= frame["method"] == "session/request_permission";
    }
}

#[test]
fn rules_answer_for_the_person_and_the_rest_is_asked() {
    let scene = Scene::new(
        "approvals = \"enforce\"\n[permissions]\nallow = [\"Bash(cargo test:*)\"]\ndeny = [\"Bash(git push:*)\"]\n",
    );
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "cargo test");
    let (answered, asked) = until(&mut proxy, |frame| frame["id"] == 3);
    assert_eq!((answered["result"]["answer"].as_str(), asked), (Some("once"), false));
    prompt(&mut proxy, 4, "git push origin main");
    let (answered, asked) = until(&mut proxy, |frame| frame["id"] == 4);
    assert_eq!((answered["result"]["answer"].as_str(), asked), (Some("no"), false));
    prompt(&mut proxy, 5, "make");
    let (question, _) = until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    let options = question["params"]["options"].as_array().expect("options").clone();
    assert!(options.iter().all(|option| option["optionId"] != "always"), "{options:?}");
    proxy.send("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"hunkgate-always\"}}}\n");
    let (answered, _) = until(&mut proxy, |frame| frame["id"] == 5);
    assert_eq!(answered["result"]["answer"], "once");
    prompt(&mut proxy, 6, "make");
    let (answered, asked) = until(&mut proxy, |frame| frame["id"] == 6);
    assert_eq!((answered["result"]["answer"].as_str(), asked), (Some("once"), false));
    proxy.close_input();
    assert_eq!(proxy.finish().1, 0);
}

#[test]
fn rules_that_cannot_be_used_refuse_to_start() {
    let scene = Scene::new("approvals = \"enforce\"\n[permissions]\nallow = [\"Bsh(ls)\"]\n");
    let mut proxy = scene.proxy();
    say(&mut proxy, 1, "initialize", &json!({ "protocolVersion": 1 }));
    let (answered, _) = until(&mut proxy, |frame| frame["id"] == 1);
    assert!(answered["error"]["message"].as_str().is_some_and(|said| said.contains("Bsh")), "{answered}");
    proxy.close_input();
    assert_ne!(proxy.finish().1, 0);
}

#[test]
fn nothing_is_allowed_where_nothing_can_be_recorded() {
    let scene = Scene::new("approvals = \"enforce\"\n[permissions]\nallow = [\"Bash\"]\n");
    std::fs::write(scene.at("state"), "a file in the place of the state directory").expect("written");
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "cargo test");
    let (answered, asked) = until(&mut proxy, |frame| frame["id"] == 3);
    assert_eq!((answered["result"]["answer"].as_str(), asked), (Some(""), false));
    proxy.close_input();
    proxy.finish();
}

const ENFORCE: &str = "approvals = \"enforce\"\n";

#[test]
fn what_waits_is_answered_from_a_terminal_and_from_nowhere_else() {
    let scene = Scene::new(ENFORCE);
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "make");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    let pending = scene.json(&["pending", "--json"]);
    let (item, key) = (&pending["items"][0], pending["items"][0]["key"].as_str().expect("a key"));
    assert_eq!((&item["summary"], &item["resume"]), (&json!("`make`"), &json!("open")), "{pending}");
    let piped = scene.command(&["approve", key]).output().expect("it runs");
    assert_eq!(piped.status.code(), Some(3), "{piped:?}");
    let mut tty = Tty::run(scene.command(&["approve", key, "--rev", "1"]), (100, 10));
    tty.sees("allowed: `make`");
    assert!(tty.child.wait().expect("it ends").success());
    let (taken_back, _) = until(&mut proxy, |frame| frame["method"] == "$/cancel_request");
    assert_eq!(taken_back["params"]["requestId"], "p");
    let (answered, _) = until(&mut proxy, |frame| frame["id"] == 3);
    assert_eq!(answered["result"]["answer"], "once");
    let log = scene.json(&["log", "--approvals", "--kind", "decided", "--json"]);
    assert_eq!(log["items"][0]["by"], json!({ "kind": "person", "channel": "cli" }), "{log}");
    let again = scene.command(&["deny", key]).output().expect("it runs");
    assert_eq!(again.status.code(), Some(3), "{again:?}");
}

#[test]
fn what_waits_is_said_and_answered_in_the_terminal_ui() {
    let scene = Scene::new(ENFORCE);
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "make");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    let mut command = scene.command(&["review"]);
    command.env("TERM", "xterm-256color");
    let mut tty = Tty::run(command, (100, 20));
    for (id, text, keys, answer) in [(3, "make", "pa", "once"), (4, "make install", "prnot now\r", "no")] {
        if id > 3 {
            prompt(&mut proxy, id, text);
            until(&mut proxy, |frame| frame["method"] == "session/request_permission");
        }
        tty.sees(&format!("waits for your answer: `{text}` (p answers)"));
        tty.sees("1 waiting for your answer: p");
        tty.keys(keys);
        let (answered, _) = until(&mut proxy, |frame| frame["id"] == id);
        assert_eq!(answered["result"]["answer"], answer);
        tty.loses("waiting for your answer");
    }
    let log = scene.json(&["log", "--approvals", "--kind", "decided", "--json"]);
    assert_eq!(log["items"][0]["by"], json!({ "kind": "person", "channel": "tui" }), "{log}");
    tty.leaves();
}

#[test]
fn what_the_agent_runs_answers_no_request() {
    let scene = Scene::new(ENFORCE);
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "make deny");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    crate::proxy::until("the agent's own answer", || {
        std::fs::read_to_string(scene.at("said")).is_ok_and(|said| said.ends_with("\n3\n"))
    });
    let pending = scene.json(&["pending", "--json"]);
    assert_eq!(pending["items"].as_array().map(Vec::len), Some(1), "{pending}");
}

#[test]
fn what_is_always_allowed_in_a_workspace_is_not_asked_again_until_it_is_revoked() {
    let scene = Scene::new(ENFORCE);
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "make");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    proxy.send("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"hunkgate-always-here\"}}}\n");
    until(&mut proxy, |frame| frame["id"] == 3);
    proxy.close_input();
    proxy.finish();
    let grants = scene.json(&["grants", "--json"]);
    let key = grants["items"][0]["key"].as_str().expect("a key").to_owned();
    assert_eq!(
        (&grants["items"][0]["kind"], &grants["items"][0]["resume"]),
        (&json!("user"), &json!("open"))
    );
    let mut proxy = scene.opened();
    prompt(&mut proxy, 3, "make");
    let (answered, asked) = until(&mut proxy, |frame| frame["id"] == 3);
    assert_eq!((answered["result"]["answer"].as_str(), asked), (Some("once"), false));
    let log = scene.json(&["log", "--approvals", "--kind", "decided", "--json"]);
    let by = log["items"].as_array().and_then(|items| items.last()).expect("decided")["by"].clone();
    assert_eq!(by, json!({ "kind": "grant", "id": key }));
    // What the agent runs takes nothing back, and the attempt is recorded.
    prompt(&mut proxy, 5, "make revoke");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    let said = std::fs::read_to_string(scene.at("said")).expect("the agent's own answer");
    assert!(said.contains("may not") && said.ends_with("\n3\n"), "{said}");
    proxy.send("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"no\"}}}\n");
    until(&mut proxy, |frame| frame["id"] == 5);
    assert_eq!(scene.json(&["grants", "--json"])["items"][0]["key"], key.as_str());
    let journal = scene.command(&["log"]).output().expect("it runs").stdout;
    let journal = String::from_utf8_lossy(&journal).into_owned();
    assert!(journal.contains("refused to decide for a process started under a proxy"), "{journal}");
    let revoked = scene.command(&["grants", "revoke", &key]).output().expect("it runs");
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    prompt(&mut proxy, 4, "make");
    until(&mut proxy, |frame| frame["method"] == "session/request_permission");
    assert_eq!(scene.json(&["grants", "--json"])["items"], json!([]));
    std::fs::write(scene.at("state/grants.jsonl"), "damaged\n").expect("written");
    let broken = scene.command(&["grants"]).output().expect("it runs");
    assert_eq!(broken.status.code(), Some(4), "{broken:?}");
}

#[test]
fn a_policy_that_is_written_while_the_agent_runs_is_in_force_without_a_restart() {
    let scene = Scene::new(ENFORCE);
    let mut proxy = scene.opened();
    let answers = |proxy: &mut Proxy, id: u32, command: &str, answer: &str| {
        prompt(proxy, id, command);
        let (answered, asked) = until(proxy, |frame| frame["id"] == id);
        assert_eq!((answered["result"]["answer"].as_str(), asked), (Some(answer), false), "{command}");
    };
    std::fs::write(scene.at("config.toml"), "[permissions]\nallow = [\"Bash(make)\"]\n").expect("written");
    answers(&mut proxy, 3, "make", "once");
    std::fs::write(scene.at("config.toml"), "[permissions\n").expect("written");
    answers(&mut proxy, 4, "make", "once");
    let status = scene.json(&["status", "--json"]);
    assert!(status["warnings"].to_string().contains("the policy stays as it was"), "{status}");
    std::fs::write(scene.at("config.toml"), "[permissions]\ndeny = [\"Bash(make)\"]\n").expect("written");
    answers(&mut proxy, 5, "make", "no");
    let rules = "[permissions]\ndeny = [\"Bash(cargo:*)\"]\n";
    std::fs::write(scene.at("tree/.hunkgate.toml"), rules).expect("written");
    let reloaded = scene.json(&["policy", "reload", "--json"]);
    assert_eq!((&reloaded["rules"], &reloaded["approvals"]), (&json!(2), &json!("enforce")), "{reloaded}");
    answers(&mut proxy, 6, "cargo test", "no");
    let loaded = scene.json(&["log", "--approvals", "--kind", "policy_loaded", "--json"]);
    assert_eq!(loaded["items"].as_array().map(Vec::len), Some(3), "{loaded}");
}

#[test]
fn rules_are_tried_on_what_was_recorded() {
    let scene = Scene::new("approvals = \"enforce\"\n[permissions]\nallow = [\"Bash(cargo test:*)\"]\n");
    let mut proxy = scene.opened();
    for (id, command, option) in [
        (3, "make", "once"),
        (4, "make install", "no"),
        (5, "npm publish", "once"),
        (6, "deploy --token=abcdef0123456789", "once"),
    ] {
        prompt(&mut proxy, id, command);
        until(&mut proxy, |frame| frame["method"] == "session/request_permission");
        let answer = json!({ "jsonrpc": "2.0", "id": "p", "result": { "outcome": { "outcome": "selected", "optionId": option } } });
        proxy.send(&format!("{answer}\n"));
        until(&mut proxy, |frame| frame["id"] == id);
    }
    prompt(&mut proxy, 7, "cargo test");
    until(&mut proxy, |frame| frame["id"] == 7);
    proxy.close_input();
    proxy.finish();
    let rules = "[permissions]\nallow = [\"Bash(make:*)\", \"Bash(deploy:*)\"]\ndeny = [\"Bash(npm publish:*)\"]\nask = [\"Bash(cargo:*)\"]\n";
    std::fs::write(scene.at("rules.toml"), rules).expect("written");
    let config = scene.at("config.toml");
    let past = scene.json(&["policy", "replay", "--config", &config, "--json", &scene.at("rules.toml")]);
    let items = past["items"].as_array().expect("a list").clone();
    let found: Vec<(String, String, bool)> = items
        .iter()
        .map(|item| {
            let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            (text("kind"), text("now"), item["approximate"].as_bool().unwrap_or_default())
        })
        .collect();
    let row = |kind: &str, now: &str, approximate| (kind.to_owned(), now.to_owned(), approximate);
    assert_eq!(
        found,
        [
            row("saved", "allow", false),
            row("missed", "allow", false),
            row("refused", "deny", false),
            row("saved", "allow", true),
            row("asked", "ask", false),
        ],
        "{past}"
    );
    let without = scene.json(&["policy", "replay", "--config", &config, "--json"]);
    assert_eq!((&without["judged"], &without["counts"]), (&json!(5), &json!({ "same": 5 })));
    let text = scene.command(&["policy", "replay", "--config", &config, &scene.at("rules.toml")]).output();
    let text = String::from_utf8(text.expect("it runs").stdout).expect("text");
    assert!(
        text.contains("missed: that were refused and would pass") && text.contains("approximate"),
        "{text}"
    );
}

#[test]
fn rules_of_another_tool_are_printed_with_what_was_left() {
    let scene = Scene::new("");
    let file = scene.at("opencode.json");
    std::fs::write(&file, r#"{ "permission": { "bash": { "git *": "allow" }, "doom_loop": "ask" } }"#)
        .expect("written");
    let output = scene.command(&["policy", "import", "opencode", &file]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.contains("\"Bash(git *)\"") && text.contains("# not carried over: permission.doom_loop"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
    let json = scene.json(&["policy", "import", "opencode", &file, "--json"]);
    assert_eq!((&json["carried"], json["left"].as_array().map(Vec::len)), (&json!(1), Some(1)));
    let nothing = scene.command(&["policy", "import", "codex", &scene.at("none")]).output().expect("it runs");
    assert_eq!(nothing.status.code(), Some(2));
}
