//! The proxy killed at any moment of a busy turn: what is on disk is a prefix of what happened.

use crate::proxy::{Proxy, lives, start, until};
use hunkgate::base::CommandId;
use hunkgate::ledger::{Event, Log, Record, RevertIntent};
use hunkgate::store::{StateDir, read_journal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Scenes that are played beside each other, and how often the proxy is killed in each.
const SCENES: u64 = 4;
const KILLS: u64 = 25;
/// Lines of one turn among which the moment is drawn; a turn has more.
const MOMENTS: u64 = 60;

/// An agent whose turns do not end by themselves: it edits one file itself and one through the client, and asks before
/// each. It says in `said` what it is about to say. It ends at the end of its input, and by SIGTERM like any shell.
const AGENT: &str = r#"
echo $$ > "$SCENE/pid"
while IFS= read -r line; do
  id=${line##*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"busy","version":"1"}}}';;
    *'"session/new"'*|*'"session/load"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      n=0
      while :; do
        n=$((n+1)); call=$$-$n
        echo $call >> "$SCENE/said"
        update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"'$call'"'
        echo "$update"',"sessionUpdate":"tool_call","title":"Edit","kind":"edit","status":"in_progress","locations":[{"path":"'$SCENE'/tree/a.txt"}]}}}'
        echo '{"jsonrpc":"2.0","id":"p'$n'","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"'$call'"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}'
        read -r _ || exit 0
        echo "$call" >> "$SCENE/tree/a.txt"
        echo '{"jsonrpc":"2.0","id":"w'$n'","method":"fs/write_text_file","params":{"sessionId":"s1","path":"'$SCENE'/tree/b.txt","content":"'$call'"}}'
        read -r _ || exit 0
        echo "$update"',"sessionUpdate":"tool_call_update","status":"completed"}}}'
      done;;
  esac
done
"#;

// C49: the repository, and one inside it, are as they were after a hundred kills.
#[test]
fn a_proxy_killed_at_any_moment_leaves_a_prefix_of_the_truth_and_no_agent() {
    let scenes: Vec<_> = (1..=SCENES).map(|seed| std::thread::spawn(move || play(seed))).collect();
    for scene in scenes {
        scene.join().expect("the scene says what is wrong");
    }
}

fn play(seed: u64) {
    let scene = Scene::new();
    let git = || (scene.files("tree/.git"), scene.files("tree/vendor/.git"));
    let before = git();
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut journals = BTreeMap::new();
    for kill in 0..KILLS {
        let moment = roll(&mut dice) % MOMENTS;
        let at = format!("seed {seed}, kill {kill}, after {moment} lines");
        let reject = (kill % 3 == 1).then_some(moment / 2);
        let asked =
            scene.turn_until_killed(if kill == 0 { "session/new" } else { "session/load" }, (moment, reject));
        let agent = scene.read("pid");
        until("the agent is gone", || !lives(&agent));
        asked.map(|mut asked| asked.wait().expect("it was ours"));
        scene.compare(&mut journals, reject.is_some(), &at);
        assert_eq!(git(), before, "{at}: the repositories are as they were");
        let listing = scene.command(&["hunks", "--json"]).output().expect("it runs");
        let hunks: Value = serde_json::from_slice(&listing.stdout).unwrap_or_default();
        assert!(hunks["hunks"].is_array(), "{at}: {}", String::from_utf8_lossy(&listing.stderr));
    }
    assert!(!journals.is_empty());
}

/// The next of a row of numbers (xorshift).
fn roll(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice
}

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { dir: tempfile::tempdir().expect("a directory") };
        for dir in
            ["tree/.git/objects", "tree/.git/refs/heads", "tree/vendor/.git/objects", "tree/vendor/.git/refs"]
        {
            std::fs::create_dir_all(scene.path(dir)).expect("made");
        }
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
        for (name, text) in [
            ("tree/.git/HEAD", "ref: refs/heads/main\n"),
            ("tree/.git/config", config),
            ("tree/vendor/.git/HEAD", "ref: refs/heads/main\n"),
            ("tree/vendor/.git/config", config),
            ("tree/vendor/lib.txt", "inner\n"),
            ("tree/a.txt", "first\n"),
        ] {
            std::fs::write(scene.path(name), text).expect("written");
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(self.path("tree")).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HUNKGATE_STATE_DIR", self.path("state"));
        command
    }

    /// Starts a turn and kills the proxy after some lines of it. Returns the reject that was begun meanwhile.
    fn turn_until_killed(&self, open: &str, (moment, reject): (u64, Option<u64>)) -> Option<Child> {
        let mut proxy = start(&["sh", "-c", AGENT], |command| {
            command.env("HUNKGATE_STATE_DIR", self.path("state")).env("SCENE", self.path(""));
        });
        let session = json!({ "sessionId": "s1", "cwd": self.path("tree"), "mcpServers": [] });
        ask(&mut proxy, 1, "initialize", &json!({ "protocolVersion": 1 }));
        while self.hear(&mut proxy)["id"] != 1 {}
        ask(&mut proxy, 2, open, &session);
        while self.hear(&mut proxy)["id"] != 2 {}
        let prompt = [json!({ "type": "text", "text": "work" })];
        ask(&mut proxy, 3, "session/prompt", &json!({ "sessionId": "s1", "prompt": prompt }));
        let mut asked = None;
        for line in 0..moment {
            if reject == Some(line) {
                let mut command = self.command(&["reject", "--all", "--reason", "no"]);
                command.stdout(Stdio::null()).stderr(Stdio::null());
                asked = Some(command.spawn().expect("it starts"));
            }
            self.hear(&mut proxy);
        }
        proxy.child.kill().expect("it lives");
        proxy.child.wait().expect("it was ours");
        asked
    }

    /// Reads a line, and does what it asks of the client.
    fn hear(&self, proxy: &mut Proxy) -> Value {
        let line = proxy.line();
        let frame: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no frame: {line:?}"));
        let result = match frame["method"].as_str() {
            Some("session/request_permission") => {
                json!({ "outcome": { "outcome": "selected", "optionId": "yes" } })
            }
            Some("fs/write_text_file") => {
                let params = &frame["params"];
                let (path, content) = (params["path"].as_str(), params["content"].as_str());
                std::fs::write(path.expect("a path"), content.expect("a text")).expect("written");
                Value::Null
            }
            _ => return frame,
        };
        proxy.send(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": frame["id"], "result": result })));
        frame
    }

    /// All journals: what was there is still there, nothing is damaged, and what is new did happen.
    fn compare(&self, before: &mut BTreeMap<PathBuf, Vec<Record>>, rejected: bool, at: &str) {
        let said = self.read("said");
        for (path, records) in self.journals(at) {
            let old = before.insert(path.clone(), records.clone()).unwrap_or_default();
            assert!(records.starts_with(&old), "{at}: {} lost a record", path.display());
            for record in &records[old.len()..] {
                let event = &record.event;
                let decides = decided_by(event);
                // A reject during a turn waits for its end, over a kill if need be.
                let asked = |id| old.iter().any(|record| decided_by(&record.event) == Some(id));
                assert!(rejected || decides.is_none_or(asked), "{at}: nobody decided {event:?}");
                if let Event::Claimed(claim) = event {
                    let known = said.lines().any(|call| call == claim.call.as_str());
                    assert!(known, "{at}: the agent never said {event:?}");
                }
            }
        }
    }

    fn journals(&self, at: &str) -> Vec<(PathBuf, Vec<Record>)> {
        let state = StateDir::open(self.path("state")).expect("a state directory");
        let sessions =
            state.sessions().into_iter().map(|it| (state.session_ledger(&it.key), Log::Session(it.key)));
        let roots =
            state.roots().into_iter().map(|it| (state.root_dir(&it).join("chain.jsonl"), Log::Root(it)));
        let there = sessions.chain(roots).filter(|(path, _)| path.exists());
        let replay = |(path, log): (PathBuf, Log)| {
            let replay = read_journal(&path, &log).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(replay.skips.is_empty() && replay.unknown.is_empty(), "{at}: {:?}", replay.skips);
            (path, replay.records)
        };
        there.map(replay).collect()
    }

    fn files(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path(name), &mut found);
        found
    }
}

/// The command by which a record decides something.
fn decided_by(event: &Event) -> Option<&CommandId> {
    if let Event::Decided(command) | Event::RevertIntended(RevertIntent { command, .. }) = event {
        return Some(&command.id);
    }
    if let Event::RejectPending { command, .. } = event { Some(command) } else { None }
}

fn ask(proxy: &mut Proxy, id: u32, method: &str, params: &Value) {
    proxy.send(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
}

fn collect(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("readable").path()) {
        if entry.is_dir() {
            found.insert(entry.clone(), Vec::new());
            collect(&entry, found);
        } else {
            found.insert(entry.clone(), std::fs::read(&entry).expect("readable"));
        }
    }
}
