//! The terminal UI on a real pseudo-terminal, read by a terminal emulator, while a scripted agent keeps writing.

use crate::proxy::{Proxy, signal, start, until};
use crate::tty::Tty;
use hunkgate::base::SessionKey;
use hunkgate::ledger::SessionRowShape;
use hunkgate::review::{Answer, Ask, Problem};
use hunkgate::surface::tui::{Depth, Keys, Sitting, Theme, run};
use hunkgate::surface::{Cursor, LogLine, Port};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

/// An agent that writes the file that its prompt names, `write NAME TEXT`.
const AGENT: &str = r#"
calls=0
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1"}}}';;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      name=$(printf '%s' "$line" | sed -n 's/.*write \([a-z0-9.]*\) .*/\1/p')
      text=$(printf '%s' "$line" | sed -n 's/.*write [a-z0-9.]* \([A-Za-z0-9 ]*\).*/\1/p')
      calls=$((calls + 1))
      update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"t'$calls'"'
      echo "$update"',"sessionUpdate":"tool_call","title":"Write '$name'","kind":"edit","status":"in_progress","locations":[{"path":"'$TREE'/'$name'"}]}}}'
      printf 'one\n%s\nthree\n' "$text" > "$TREE/$name"
      echo "$update"',"sessionUpdate":"tool_call_update","status":"completed"}}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

/// A file as it was before the agent.
const BACK: &str = "one\ntwo\nthree\n";

/// A tree, its state, and a proxy that records it.
struct Scene {
    dir: tempfile::TempDir,
    proxy: Proxy,
    prompts: u32,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("there");
        std::fs::create_dir(top.join("tree")).expect("made");
        for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
            std::fs::write(top.join("tree").join(name), BACK).expect("written");
        }
        let proxy = start(&["sh", "-c", AGENT], |command| {
            command.env("HUNKGATE_STATE_DIR", top.join("state")).env("TREE", top.join("tree"));
        });
        let mut scene = Self { dir, proxy, prompts: 9 };
        scene.call(1, "initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "test" } }));
        let cwd = scene.path("tree");
        scene.call(2, "session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
        scene
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().canonicalize().expect("there").join(name).to_string_lossy().into_owned()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("tree") + "/" + name).unwrap_or_default()
    }

    fn call(&mut self, id: u32, method: &str, params: &Value) {
        self.proxy.send(&format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        ));
        loop {
            let line = self.proxy.line();
            assert!(!line.is_empty(), "the proxy ended");
            let frame: Value = serde_json::from_str(&line).expect("JSON");
            if frame["id"] == json!(id) && frame.get("method").is_none() {
                return;
            }
        }
    }

    /// A whole turn in which the agent writes a file.
    fn write(&mut self, name: &str, text: &str) {
        self.prompts += 1;
        let text = format!("write {name} {text}");
        let params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
        self.call(self.prompts, "session/prompt", &params);
    }

    fn review(&self, size: (u16, u16)) -> Tty {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.arg("review").current_dir(self.path("tree")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm-256color");
        command.env("HUNKGATE_STATE_DIR", self.path("state")).env("COLORTERM", "truecolor");
        let editor = self.path("editor");
        // It is open until somebody writes into the pipe.
        let (edited, close) = (self.path("edited"), self.path("close"));
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {edited}\necho EDITOR\ncat {close}\n");
        std::fs::write(&editor, script).expect("written");
        if !std::path::Path::new(&close).exists() {
            assert!(Command::new("mkfifo").arg(&close).status().expect("it runs").success());
        }
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).expect("ours");
        command.env("EDITOR", editor);
        Tty::run(command, size)
    }
}

/// A scene in which the agent changed one line, and the screen that shows it.
fn with_one_change(size: (u16, u16)) -> (Scene, Tty) {
    let mut scene = Scene::new();
    scene.write("a.txt", "TWO");
    let tty = scene.review(size);
    tty.sees("0/1");
    (scene, tty)
}

/// The screen before the first key, for a layout.
fn laid_out(scene: &Scene, size: (u16, u16), layout: &str) -> Tty {
    let mut tty = scene.review(size);
    tty.sees("0/3");
    tty.sees("+TWO");
    if layout == "side by side" {
        tty.keys("s");
        tty.sees_in_a_row(&["-two", "+TWO"]);
    }
    tty
}

fn every_key(size: (u16, u16), layout: &str) {
    let mut scene = Scene::new();
    scene.write("a.txt", "TWO");
    scene.write("b.txt", "TWO");
    scene.write("c.txt", "TWO");
    let mut tty = laid_out(&scene, size, layout);
    read_with_every_key(&mut tty);
    decide_with_every_key(&mut scene, &mut tty);
    tty.resize((60, 12));
    tty.sees_in_a_row(&["5/5", "help"]);
    tty.leaves();
}

/// Reading, around and back: what is waited for is what only that key shows.
fn read_with_every_key(tty: &mut Tty) {
    tty.keys("}{jk][Gg hl \x05\x19\x04\x15\x1b[B\x1b[A\x1b[6~\x1b[5~\x1b[F\x1b[H");
    tty.keys("?");
    tty.sees("any key closes");
    tty.keys("\x1b");
    tty.loses("any key closes");
    tty.keys("t");
    tty.sees("by tool call");
    tty.keys("t");
    tty.sees("by turn");
    tty.keys("t");
    tty.sees("by file");
    tty.keys("/nowhere to be found\r");
    tty.sees("nowhere to be found is nowhere");
    tty.keys("/Write c\r");
    tty.keys("nNi");
    tty.sees("This hunk");
    tty.sees_in_a_row(&["Write c.txt", "call t3"]);
    tty.keys("\x1b");
    tty.loses("This hunk");
    tty.keys("go");
    tty.loses("+TWO\n");
    tty.keys("o");
    tty.keys("d");
    tty.sees("this has not changed since you looked");
    tty.keys("wzR");
    tty.keys("g");
}

/// Deciding, with the agent at work meanwhile.
fn decide_with_every_key(scene: &mut Scene, tty: &mut Tty) {
    tty.keys("a");
    tty.sees("✓ accepted");
    tty.sees("1/3");
    scene.write("d.txt", "NEW");
    tty.sees("1/4");
    tty.keys("x");
    until("b.txt is back", || scene.file("b.txt") == BACK);
    tty.sees("2/4");
    tty.keys("u");
    until("b.txt is there again", || scene.file("b.txt") == "one\nTWO\nthree\n");
    tty.sees("1/4");
    tty.sees_in_a_row(&["┃", "undecided", "Write b.txt"]);
    tty.keys("U");
    until("b.txt is back", || scene.file("b.txt") == BACK);
    tty.sees("2/4");
    tty.sees_in_a_row(&["┃", "rejected", "Write b.txt"]);
    tty.keys("]rbecause of c\r");
    until("c.txt is back", || scene.file("c.txt") == BACK);
    tty.sees("3/4");
    tty.keys("m");
    tty.sees("the agent is told");
    tty.sees("Reason: because of c");
    tty.keys("\x1b");
    tty.loses("the agent is told");
    tty.keys("]cwhat is this\r");
    tty.sees("human on 2");
    tty.keys("v");
    tty.sees("settled");
    tty.keys("e");
    tty.sees("EDITOR");
    let told = std::fs::read_to_string(scene.path("edited")).expect("there");
    assert!(told.starts_with("+2\n") && told.contains("d.txt"), "{told}");
    std::fs::write(scene.path("close"), "").expect("it is read");
    tty.sees("3/4");
    tty.keys("X");
    until("d.txt is back", || scene.file("d.txt") == BACK);
    tty.sees("4/4");
    tty.keys("\t\t");
    scene.write("d.txt", "AGAIN");
    tty.sees("4/5");
    tty.keys("]A");
    tty.sees("5/5");
    assert_eq!(scene.file("d.txt"), "one\nAGAIN\nthree\n");
    scene.write("d.txt", "MORE");
    tty.sees("4/5");
    tty.keys("]d");
    tty.sees("Since you looked");
    tty.sees("-AGAIN");
    tty.keys("\x1b");
    tty.loses("Since you looked");
    tty.keys("!");
    until("d.txt is back", || scene.file("d.txt") == BACK);
    tty.sees("5/5");
}

#[test]
fn every_key_does_what_it_says_on_a_small_terminal_while_the_agent_writes() {
    every_key((80, 24), "one column");
}

#[test]
fn every_key_does_what_it_says_on_a_large_terminal_while_the_agent_writes() {
    every_key((200, 60), "one column");
}

#[test]
fn every_key_does_what_it_says_side_by_side_on_a_small_terminal() {
    every_key((80, 24), "side by side");
}

#[test]
fn every_key_does_what_it_says_side_by_side_on_a_large_terminal() {
    every_key((200, 60), "side by side");
}

#[test]
fn a_root_in_whose_place_another_directory_stands_is_said_after_the_next_look() {
    let (scene, mut tty) = with_one_change((160, 24));
    let (tree, aside) = (scene.path("tree"), scene.path("aside"));
    std::fs::rename(&tree, &aside).expect("moved");
    std::fs::create_dir(&tree).expect("made");
    tty.keys("R");
    tty.sees_in_a_row(&["! degraded: ", "another directory"]);
    tty.keys("x");
    tty.sees("refused: ");
    assert_eq!(std::fs::read_dir(&tree).expect("there").count(), 0, "nothing is written there");
    std::fs::remove_dir(&tree).expect("removed");
    std::fs::rename(&aside, &tree).expect("moved back");
    tty.keys("R");
    tty.loses("degraded");
    tty.keys("x");
    until("a.txt is back", || scene.file("a.txt") == BACK);
    tty.leaves();
}

#[test]
fn a_key_in_the_same_instant_as_another_size_is_not_lost() {
    let (_scene, mut tty) = with_one_change((80, 24));
    for round in 0..100 {
        tty.resize((81 + round % 20, 25 + round % 20));
        tty.keys("?");
        tty.sees("any key closes");
        tty.resize((80, 24));
        tty.keys("j");
        tty.keys("q");
        tty.loses("any key closes");
    }
    tty.leaves();
}

#[test]
fn a_long_text_is_pasted_to_its_end() {
    let (_scene, mut tty) = with_one_change((80, 24));
    tty.keys(&format!("c\x1b[200~{}the end\x1b[201~", "word ".repeat(2_000)));
    tty.sees("the end");
    tty.keys("\r");
    tty.sees("commented");
    tty.leaves();
}

#[test]
fn what_the_agent_wrote_since_the_last_sitting_is_new_in_the_next_one() {
    let (mut scene, tty) = with_one_change((80, 24));
    tty.leaves();
    scene.write("a.txt", "THREE");
    scene.write("b.txt", "TWO");
    let mut tty = scene.review((80, 24));
    tty.sees("0/2 · 2 new");
    tty.sees("changed since you looked");
    tty.keys("gd");
    tty.sees("-TWO");
    tty.keys("\x1b");
    tty.loses("Since you looked");
    tty.leaves();
}

#[test]
fn the_terminal_is_as_it_was_after_a_signal() {
    let mut scene = Scene::new();
    scene.write("a.txt", "TWO");
    for name in ["TERM", "HUP", "INT"] {
        let tty = scene.review((80, 24));
        tty.sees("0/1");
        signal(tty.child.id(), name);
        tty.ends(0);
    }
}

/// A door behind which everything falls over.
struct Falling;

impl Port for Falling {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        Ok(Vec::new())
    }

    fn ask(&self, _: &SessionKey, _: Ask) -> Answer {
        panic!("it fell over")
    }

    fn log(&self, _: &SessionKey, _: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        Ok(Vec::new())
    }

    fn delete(&self, _: &SessionKey) -> Result<(), Problem> {
        Ok(())
    }
}

#[test]
fn the_terminal_is_as_it_was_after_a_panic() {
    // The test runs itself on a terminal, and falls over there.
    const INSIDE: &str = "HUNKGATE_TEST_FALLS";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "terminal::the_terminal_is_as_it_was_after_a_panic", "--nocapture"]);
        command.env(INSIDE, "1");
        let tty = Tty::run(command, (80, 24));
        tty.sees("it fell over");
        tty.ends(101);
        return;
    }
    let sitting = Sitting {
        port: std::sync::Arc::new(Falling),
        session: SessionKey::new("k"),
        title: String::new(),
        live: false,
        keys: Keys::default(),
        theme: Theme(Depth::None),
        editor: Vec::new(),
    };
    run(&sitting).expect("it fell over");
}

#[test]
fn a_review_wants_a_terminal() {
    let scene = Scene::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.arg("review").env("HUNKGATE_STATE_DIR", scene.path("state")).stdin(Stdio::null());
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("review wants a terminal"));
}
