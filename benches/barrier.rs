//! What looking at a large root costs a conversation: `cargo bench --bench barrier [-- FILES]` (100,000 unless told).
//!
//! The same relay twice, with the root and without a state directory, prompted in turns. How long a prompt takes to the
//! agent is measured by the clock that both processes share. The executable starts itself again as the agent.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the world"
)]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const AGENT: &str = "as-agent";
const ROUNDS: usize = 60;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word == AGENT) {
        return agent();
    }
    let files = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    measure(&Scene::new(files), files);
}

fn measure(scene: &Scene, files: usize) {
    let mut plain = scene.start("unrecorded", false);
    plain.open(&scene.tree);
    let mut proxy = scene.start("recorded", true);
    let opened = proxy.open(&scene.tree);
    row("session/new, answered", opened, "-");
    let first = proxy.prompt("");
    row("the first prompt, to the agent", first.to_agent, "-");
    // A prompt waits so long and no longer for the base: the next one has it.
    proxy.prompt("");
    let (rss, peak) = (proxy.kib("VmRSS"), proxy.kib("VmHWM"));
    println!(
        "memory after {files} files were read: {} MiB, at most {} MiB (must be <= 76)",
        rss / 1024,
        peak / 1024
    );
    for (case, changed) in [("nothing changed", false), ("one file changed before each", true)] {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            without.push(plain.prompt(""));
            if changed {
                std::fs::write(scene.file(round * 7), format!("changed {round}\n")).unwrap();
            }
            with.push(proxy.prompt(""));
        }
        let to = |turns: &[Turn]| median(turns.iter().map(|turn| turn.to_agent).collect());
        let whole = |turns: &[Turn]| median(turns.iter().map(|turn| turn.whole).collect());
        println!("{case}, medians of {ROUNDS} prompts in turns");
        row("  a prompt to the agent, without a root", to(&without), "-");
        row("  a prompt to the agent, with it", to(&with), "-");
        row("  added", to(&with).saturating_sub(to(&without)), "<= 3ms");
        row("  added to the whole turn", whole(&with).saturating_sub(whole(&without)), "-");
    }
    let mut times = Vec::new();
    for round in 0..15 {
        let file = scene.file(1_000 + round);
        proxy.prompt(&format!("write {}", file.display()));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let begun = Instant::now();
        let listed = scene.hunks();
        times.push(begun.elapsed());
        assert!(listed.contains(&name), "{name} is not listed");
    }
    row("hunks --json after a call changed one file", median(times), "<= 50ms");
    println!(
        "memory at the end: {} MiB, at most {} MiB",
        proxy.kib("VmRSS") / 1024,
        proxy.kib("VmHWM") / 1024
    );
}

fn row(what: &str, took: Duration, must: &str) {
    println!("{what:<46} {took:>10.2?} {must:>8}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Reads the clock that all processes share.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Answers every request. For a prompt it says first when it came, and writes the file that is asked for.
fn agent() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let at = now();
        let frame: Value = serde_json::from_str(&line).unwrap();
        let mut say =
            |frame: Value| out.write_all(format!("{frame}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
        let result = match frame["method"].as_str() {
            Some("initialize") => {
                json!({ "protocolVersion": 1, "agentInfo": { "name": "bench", "version": "1" } })
            }
            Some("session/new") => json!({ "sessionId": "s1" }),
            Some("session/prompt") => {
                say(json!({ "jsonrpc": "2.0", "method": "_bench/came", "params": { "at": at } }));
                let text = frame["params"]["prompt"][0]["text"].as_str().unwrap();
                if let Some(path) = text.strip_prefix("write ") {
                    let call = json!({ "toolCallId": format!("t{at}"), "sessionUpdate": "tool_call", "title": "Edit",
                        "kind": "edit", "status": "in_progress", "locations": [{ "path": path }] });
                    let done = json!({ "toolCallId": format!("t{at}"), "sessionUpdate": "tool_call_update", "status": "completed" });
                    let update = |update: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } });
                    say(update(call));
                    std::fs::write(path, format!("written at {at}\n")).unwrap();
                    say(update(done));
                }
                json!({ "stopReason": "end_turn" })
            }
            _ => continue,
        };
        say(json!({ "jsonrpc": "2.0", "id": frame["id"], "result": result }));
    }
}

/// A repository with so many files.
struct Scene {
    dir: tempfile::TempDir,
    tree: PathBuf,
    files: usize,
}

impl Scene {
    fn new(files: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap().join("tree");
        let scene = Self { dir, tree, files };
        for nth in 0..files {
            let file = scene.file(nth);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let text = format!("fn number_{nth}() {{\n{}}}\n", "    work();\n".repeat(nth % 60));
            std::fs::write(file, text).unwrap();
        }
        for words in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "base"],
            &["repack", "-adq"],
        ] {
            let mut git = Command::new("git");
            git.args(words).current_dir(&scene.tree).env("HOME", scene.dir.path());
            assert!(git.status().unwrap().success(), "git {words:?}");
        }
        scene
    }

    fn file(&self, nth: usize) -> PathBuf {
        let nth = nth % self.files;
        self.tree.join(format!("src{}/mod{}/file{nth}.rs", nth % 10, nth % (self.files / 20).max(1)))
    }

    fn hunkgate(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.current_dir(&self.tree).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HUNKGATE_STATE_DIR", self.dir.path().join(name));
        command
    }

    fn start(&self, name: &str, recorded: bool) -> Peer {
        let mut command = self.hunkgate(name);
        if !recorded {
            command.env_remove("HUNKGATE_STATE_DIR");
        }
        command.args(["run", "--"]).arg(std::env::current_exe().unwrap()).arg(AGENT);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Peer { child, stdin, stdout, asked: 0 }
    }

    fn hunks(&self) -> String {
        let output = self.hunkgate("recorded").args(["hunks", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// How long a prompt took.
struct Turn {
    to_agent: Duration,
    whole: Duration,
}

/// A client of one proxy.
struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Peer {
    /// Opens a session, and says how long its answer took.
    fn open(&mut self, tree: &Path) -> Duration {
        self.call("initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "bench" } }));
        let begun = Instant::now();
        self.call("session/new", &json!({ "cwd": tree, "mcpServers": [] }));
        begun.elapsed()
    }

    fn prompt(&mut self, text: &str) -> Turn {
        let (begun, sent) = (Instant::now(), now());
        let prompt = json!([{ "type": "text", "text": format!("{text}") }]);
        let before = self.call("session/prompt", &json!({ "sessionId": "s1", "prompt": prompt }));
        let whole = begun.elapsed();
        let came = before.iter().find(|frame| frame["method"] == "_bench/came").unwrap();
        let to_agent = Duration::from_nanos(came["params"]["at"].as_u64().unwrap() - sent);
        Turn { to_agent, whole }
    }

    /// Asks, and returns what was said before the answer.
    fn call(&mut self, method: &str, params: &Value) -> Vec<Value> {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.stdin.as_mut().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut before = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the proxy ended");
            let frame: Value = serde_json::from_str(&line).unwrap();
            if frame["id"] == json!(self.asked) && frame["method"].is_null() {
                assert!(frame["error"].is_null(), "{frame}");
                return before;
            }
            before.push(frame);
        }
    }

    fn kib(&self, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stdin = None;
        drop(self.child.wait());
    }
}
