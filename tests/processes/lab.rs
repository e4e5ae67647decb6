//! Real agents behind the real proxy, their model scripted: every changed path carries the call that made it.
//!
//! They are installed elsewhere, so these tests are ignored by name. With `HUNKGATE_LAB` naming an install and
//! `HUNKGATE_LAB_SCRIPTS` the scripts that made it (`run-agent.sh`, `mock_llm.py`), they run:
//! `cargo test --test processes lab:: -- --ignored`.
//!
//! What is expected is what the script makes the model call: operation `STEP_I` of a scenario has the model's id
//! `call_NAME_STEP_I_…`, which all three agents keep in the id that they tell their client. The recordings of the lab, with
//! the file system's own events, say that each operation writes its files between its first message and its end.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a fault here is the test's, and what is skipped is said"
)]
use crate::proxy::{Proxy, spawn, until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Who made a changed path.
#[derive(Clone, Copy, Debug)]
enum By {
    /// This operation of the script, on this evidence.
    Call(&'static str, &'static str),
    /// Two operations, each with its own lines of one hunk, on this evidence.
    Calls(&'static str, &'static str, &'static str),
    /// This operation, beside another that could have: it or nobody, and then it is a candidate.
    OneOf(&'static str),
    /// No call, on this evidence.
    Nobody(&'static str),
}

/// A path, and who made it. A path that stands in no row must not be listed.
type Row = (&'static str, By);

const PAREDIT: &[Row] = &[
    ("a.txt", By::Call("1_0", "verified")),
    ("b.txt", By::Call("1_1", "verified")),
    ("c.txt", By::Call("1_2", "verified")),
];
const SAMEFILE: &[Row] = &[("a.txt", By::Calls("1_0", "1_1", "verified"))];
const PARMIX: &[Row] = &[
    ("a.txt", By::Call("1_2", "verified")),
    ("pm1.txt", By::Call("1_0", "sole")),
    ("pm2.txt", By::Call("1_0", "sole")),
    ("pmw.txt", By::Call("1_1", "verified")),
];
const PARSHELL: &[Row] = &[
    ("ps_a1.txt", By::OneOf("0_0")),
    ("ps_a2.txt", By::OneOf("0_0")),
    ("ps_a3.txt", By::OneOf("0_0")),
    ("ps_b1.txt", By::OneOf("0_1")),
    ("ps_b2.txt", By::OneOf("0_1")),
    ("ps_b3.txt", By::OneOf("0_1")),
];
const CANCEL: &[Row] = &[("cancel.txt", By::Call("0_0", "sole"))];
/// A job that writes two seconds after its call: most often when the turn is over.
const LATE: &[Row] = &[("late.txt", By::Nobody("external|in_turn"))];

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn claude() {
    let Some(lab) = Lab::new("claude") else { return };
    lab.play(&[
        ("samefile", SAMEFILE),
        ("paredit", PAREDIT),
        ("parmix", PARMIX),
        ("parshell", PARSHELL),
        ("bg", LATE),
        ("cancel", CANCEL),
    ]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn gemini() {
    let Some(lab) = Lab::new("gemini") else { return };
    // One call after the other; jobs end with their command.
    let parshell: &[Row] = &[
        ("ps_a1.txt", By::Call("0_0", "sole")),
        ("ps_a2.txt", By::Call("0_0", "sole")),
        ("ps_a3.txt", By::Call("0_0", "sole")),
        ("ps_b1.txt", By::Call("0_1", "sole")),
        ("ps_b2.txt", By::Call("0_1", "sole")),
        ("ps_b3.txt", By::Call("0_1", "sole")),
    ];
    lab.play(&[
        ("samefile", SAMEFILE),
        ("paredit", PAREDIT),
        ("parmix", PARMIX),
        ("parshell", parshell),
        ("bg", &[]),
        ("cancel", CANCEL),
    ]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn opencode() {
    let Some(lab) = Lab::new("opencode") else { return };
    // It writes each edit through the client, whatever that says of itself, and beside it, not always after it: one call.
    let through = |rows: &[Row]| -> Vec<Row> {
        let row = |&(path, by): &Row| match by {
            By::Call(operation, "verified") => (path, By::Call(operation, "mediated|verified")),
            By::Calls(first, second, _) => (path, By::Calls(first, second, "mediated|verified")),
            By::Call(..) | By::OneOf(_) | By::Nobody(_) => (path, by),
        };
        rows.iter().map(row).collect()
    };
    lab.play(&[
        ("samefile", &through(SAMEFILE)),
        ("paredit", &through(PAREDIT)),
        ("parmix", &through(PARMIX)),
        ("parshell", PARSHELL),
        ("bg", LATE),
        ("cancel", CANCEL),
    ]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn claude_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("claude") else { return };
    lab.judge(&["touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn gemini_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("gemini") else { return };
    // It says what it runs in a title only, which is denied and never allowed without a question.
    lab.judge(&["cargo test", "touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn opencode_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("opencode") else { return };
    lab.judge(&["touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn behind_a_real_client_claude_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("claude") else { return };
    lab.judge_behind_acpx(&["touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn behind_a_real_client_gemini_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("gemini") else { return };
    lab.judge_behind_acpx(&["cargo test", "touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn behind_a_real_client_opencode_is_judged_by_the_policy() {
    let Some(lab) = Lab::new("opencode") else { return };
    lab.judge_behind_acpx(&["touch made.txt"]);
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn claude_reviews_another_session() {
    let Some(lab) = Lab::new("claude") else { return };
    lab.review();
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn gemini_reviews_another_session() {
    let Some(lab) = Lab::new("gemini") else { return };
    lab.review();
}

#[test]
#[ignore = "wants an installed lab: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn opencode_reviews_another_session() {
    let Some(lab) = Lab::new("opencode") else { return };
    lab.review();
}

/// What an agent that reviews calls, as `visits.json` beside its workspace has it, after an edit of its own.
const REVIEW: &str = r#"S = {
        "review": [[("read", "hello.txt")], [("edit", "hello.txt", "world", "WORLD")]] + [[("mcp", at)] for at in range(6)],"#;
/// How the model calls a tool of an MCP server, whatever the agent calls it.
const VISIT: &str = r#"
    if op[0] == "mcp":
        name, arguments = json.load(open(os.path.join(ws, "..", "visits.json")))[op[1]]
        return next((t for t in tools if t.endswith(name)), None), arguments
    kind = op[0]"#;

#[test]
#[ignore = "wants an installed lab with acpx: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn claude_is_reviewed_twice_by_slash_commands_with_a_restart_between() {
    let Some(lab) = Lab::new("claude") else { return };
    lab.converse();
}

#[test]
#[ignore = "wants an installed lab with acpx: HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS"]
fn opencode_is_reviewed_twice_by_slash_commands_with_a_restart_between() {
    let Some(lab) = Lab::new("opencode") else { return };
    lab.converse();
}

/// What the model runs, one command after the other.
const JUDGED: &str = r#"S = {
        "judged": [[("shell", "cargo test")], [("shell", "touch made.txt")], [("shell", "git push")]],"#;
/// What the person says of it.
const RULES: &str = "[permissions]\nallow = [\"Bash(cargo test:*)\"]\ndeny = [\"Bash(git push:*)\"]\n";

/// One agent of the install, and the scripted model.
struct Lab {
    agent: &'static str,
    install: PathBuf,
    scripts: PathBuf,
    model: Child,
    port: u16,
    _keep: tempfile::TempDir,
}

impl Lab {
    /// Starts the model; `None`, and said, where the lab is not installed.
    fn new(agent: &'static str) -> Option<Self> {
        let place = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_dir());
        let (Some(install), Some(scripts)) = (place("HUNKGATE_LAB"), place("HUNKGATE_LAB_SCRIPTS")) else {
            eprintln!("skipped: lab::{agent} wants HUNKGATE_LAB and HUNKGATE_LAB_SCRIPTS");
            return None;
        };
        let keep = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = std::fs::read_to_string(scripts.join("mock_llm.py")).unwrap();
        let script = script.replacen("S = {", JUDGED, 1).replacen("S = {", REVIEW, 1);
        let script = script.replacen("\n    kind = op[0]", VISIT, 1);
        let own = keep.path().join("mock_llm.py");
        std::fs::write(&own, script).unwrap();
        let model = Command::new("python3")
            .arg(&own)
            .args(["--port", &port.to_string(), "--log"])
            .arg(keep.path().join("model.log"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the model listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { agent, install, scripts, model, port, _keep: keep })
    }

    /// Plays a turn under a policy: the client is asked for these commands and no other, and the record names each decider.
    fn judge(&self, asked: &[&str]) {
        let mut run = Run::under(self, "judged", RULES);
        run.turn("judged");
        let heard: Vec<&str> = run.asked.iter().map(String::as_str).collect();
        assert_eq!(heard, asked, "{}", self.agent);
        let log = run.ask_us(&["log", "--approvals", "--json", "--limit", "1000"]);
        self.decided(&log, asked);
        assert!(run.workspace().join("made.txt").exists());
        run.proxy.close_input();
    }

    /// The same behind the client that people use without an editor, which approves whatever it is asked: it is asked for
    /// these commands and no other.
    fn judge_behind_acpx(&self, asked: &[&str]) {
        let scratch = tempfile::Builder::new().prefix("acpx").tempdir().unwrap();
        let at = |name: &str| scratch.path().canonicalize().unwrap().join(name);
        let made = Command::new("bash").arg(self.scripts.join("mkws.sh")).arg(at("ws")).status().unwrap();
        assert!(made.success());
        std::fs::write(at("config.toml"), RULES).unwrap();
        let words = |paths: &[&dyn AsRef<Path>]| {
            paths.iter().map(|path| path.as_ref().display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let (tee, run_agent) = (self.scripts.join("tee.py"), self.scripts.join("run-agent.sh"));
        let agent = words(&[
            &"python3",
            &tee,
            &at("heard.jsonl"),
            &"--",
            &env!("CARGO_BIN_EXE_hunkgate"),
            &"run",
            &"--config",
            &at("config.toml"),
            &"--",
            &"bash",
            &run_agent,
            &self.install,
            &self.agent,
        ]);
        let node = self.install.join("node22/node_modules/node/bin");
        let path = std::env::join_paths(
            std::iter::once(node).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let home = at("home");
        std::fs::create_dir(&home).unwrap();
        let output = Command::new(self.install.join("npm/acpx/node_modules/.bin/acpx"))
            .arg("--cwd")
            .arg(at("ws"))
            .args(["--format", "json", "--agent", &agent, "--approve-all", "exec"])
            .arg(format!("@@scenario=judged ws={}@@ please go", at("ws").display()))
            .env("PATH", path.unwrap())
            .env("HOME", &home)
            .env("HUNKGATE_STATE_DIR", at("state"))
            .env("MOCK_PORT", self.port.to_string())
            .env("PERM", "ask")
            .output()
            .unwrap();
        let heard = std::fs::read_to_string(at("heard.jsonl")).unwrap();
        let lines = heard.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let requests = lines.filter(|line| line["msg"]["method"] == "session/request_permission");
        let shown: Vec<String> = requests
            .map(|line| {
                let call = &line["msg"]["params"]["toolCall"];
                let command = call["rawInput"]["command"].as_str().or(call["title"].as_str());
                command.unwrap_or_default().to_owned()
            })
            .collect();
        assert_eq!(shown, asked, "{}: {output:?}", self.agent);
        let log = Command::new(env!("CARGO_BIN_EXE_hunkgate"))
            .args(["log", "--approvals", "--json", "--limit", "1000"])
            .current_dir(at("ws"))
            .env("HUNKGATE_STATE_DIR", at("state"))
            .output()
            .unwrap();
        self.decided(&serde_json::from_slice(&log.stdout).unwrap(), asked);
        assert!(at("ws").join("made.txt").exists());
    }

    /// The record names who decided each command.
    fn decided(&self, log: &Value, asked: &[&str]) {
        let items = log["items"].as_array().unwrap();
        let command = |request: &Value| {
            let of = |item: &&Value| item["kind"] == "requested" && item["request"] == *request;
            items.iter().find(of).map(|item| item["effects"][0]["text"].clone()).unwrap_or_default()
        };
        let decided = items.iter().filter(|item| item["kind"] == "decided");
        let decided: Vec<String> = decided
            .map(|item| {
                let by = item["by"]["id"].as_str().or(item["by"]["kind"].as_str()).unwrap_or_default();
                format!(
                    "{}: {} by {by}",
                    command(&item["request"]).as_str().unwrap_or_default(),
                    item["outcome"].as_str().unwrap_or_default()
                )
            })
            .collect();
        let tests = if asked.contains(&"cargo test") { "editor" } else { "allow Bash(cargo test:*)" };
        let wanted = [
            format!("cargo test: allow by {tests}"),
            "touch made.txt: allow by editor".to_owned(),
            "git push: deny by deny Bash(git push:*)".to_owned(),
        ];
        assert_eq!(decided, wanted, "{}", self.agent);
    }

    /// An agent that has our server reviews what another session left, comments on two of its hunks, and decides nothing of
    /// its own, though the configuration lets agents decide.
    fn review(&self) {
        let mut author = Run::new(self, "paredit");
        author.turn("paredit");
        let hunks = author.hunks();
        assert_eq!(hunks.len(), 3, "{hunks:?}");
        let config = "[mcp]\nmay = [\"comment\", \"decide\"]\n";
        let mut reviewer = Run::beside(&author, self, config);
        reviewer.open();
        let of = |hunk: &Value| json!({ "session_id": author.session, "hunk_id": hunk["id"] });
        let about = |hunk: &Value| json!({ "session_id": author.session, "path": hunk["path"], "line_start": 1, "body": format!("is {} right?", hunk["path"]) });
        let own = json!({ "session_id": reviewer.session, "hunk_id": "00", "state": "accepted" });
        let visits = json!([
            ["review_list_sessions", {}],
            ["review_list_hunks", { "session_id": author.session }],
            ["review_show_hunk", of(&hunks[0])],
            ["review_comment", about(&hunks[0])],
            ["review_comment", about(&hunks[1])],
            ["review_set_state", own],
        ]);
        std::fs::write(reviewer.scratch.path().join("visits.json"), visits.to_string()).unwrap();
        reviewer.prompt("review");

        let after = author.ask_us(&["hunks", "--session", &author.session, "--json"]);
        let said: Vec<(&str, &str)> = after["comments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|comment| (comment["path"].as_str().unwrap(), comment["author"].as_str().unwrap()))
            .collect();
        let who = said.first().unwrap_or_else(|| panic!("{after}")).1;
        assert_eq!(said, [("a.txt", who), ("b.txt", who)], "{}", self.agent);
        assert!(who.starts_with("agent:"), "{who}");
        let undecided = |hunk: &Value| hunk["state"] == "unreviewed";
        assert!(after["hunks"].as_array().unwrap().iter().all(undecided));
        let left = reviewer.ask_us(&["hunks", "--session", &reviewer.session, "--json"]);
        assert!(
            left["hunks"].as_array().unwrap().iter().all(undecided)
                && left["hunks"][0]["path"] == "hello.txt"
        );
        let asked = |run: &Run| -> Vec<(String, bool)> {
            let log = run.say_to_us(&["log", "--session", &run.session, "--json"]);
            let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let visits =
                records.filter(|record| record["kind"] == "visited").map(|record| record["data"].clone());
            visits
                .map(|visit| (visit["ask"].as_str().unwrap().to_owned(), visit["turned_away"].is_string()))
                .collect()
        };
        let named = |all: &[(&str, bool)]| -> Vec<(String, bool)> {
            all.iter().map(|(ask, away)| ((*ask).to_owned(), *away)).collect()
        };
        let looked = [("hunks", false), ("show", false), ("comment", false), ("comment", false)];
        assert_eq!(asked(&author), named(&looked), "{}", self.agent);
        assert_eq!(asked(&reviewer), named(&[("accept", true)]), "{}", self.agent);
        eprintln!("{}: signed as {who}, asked for {:?}", self.agent, reviewer.asked);
        reviewer.proxy.close_input();
        author.proxy.close_input();
    }

    /// Reviews two turns with a real client: `tests/support/lab_review.py` says what must be as it was.
    fn converse(&self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/lab_review.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(env!("CARGO_BIN_EXE_hunkgate")).args([&self.scripts, &self.install]);
        let output = command.arg(self.agent).env("MOCK_PORT", self.port.to_string()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let marks = told.lines().filter(|line| line.starts_with("OK ")).count();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && marks == 4, "{}:\n{told}\n{wrong}", self.agent);
    }

    /// Plays every scenario and says what was not as expected in any of them.
    fn play(&self, scenarios: &[(&str, &[Row])]) {
        let mut wrong = Vec::new();
        for (name, expected) in scenarios {
            let run = Run::new(self, name);
            wrong.extend(run.play(name, expected).into_iter().map(|what| format!("{name}: {what}")));
        }
        assert!(wrong.is_empty(), "{}:\n{}", self.agent, wrong.join("\n"));
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.model.kill());
        drop(self.model.wait());
    }
}

/// A workspace, the agent in it behind the proxy, and what it said of its calls.
struct Run {
    scratch: tempfile::TempDir,
    state: PathBuf,
    /// The MCP servers that the agent is given.
    servers: Value,
    proxy: Proxy,
    next: u32,
    session: String,
    calls: BTreeSet<String>,
    /// What the client was asked for, by title or command.
    asked: Vec<String>,
}

impl Run {
    fn new(lab: &Lab, scenario: &str) -> Self {
        Self::under(lab, scenario, "")
    }

    /// Starts the agent behind a proxy with this configuration.
    fn under(lab: &Lab, scenario: &str, config: &str) -> Self {
        let scratch = tempfile::Builder::new().prefix(scenario).tempdir().unwrap();
        let state = scratch.path().join("state");
        Self::start(lab, scratch, (config, state))
    }

    /// Starts it beside another run, whose record it shares, with our MCP server.
    fn beside(other: &Self, lab: &Lab, config: &str) -> Self {
        let scratch = tempfile::Builder::new().prefix("beside").tempdir().unwrap();
        let ours = scratch.path().join("config/hunkgate");
        std::fs::create_dir_all(&ours).unwrap();
        std::fs::write(ours.join("config.toml"), config).unwrap();
        let env = |name: &str, value: &Path| json!({ "name": name, "value": value });
        let server = json!({
            "name": "hunkgate", "command": env!("CARGO_BIN_EXE_hunkgate"), "args": ["mcp"],
            "env": [env("HUNKGATE_STATE_DIR", &other.state), env("XDG_CONFIG_HOME", &scratch.path().join("config"))],
        });
        Self { servers: json!([server]), ..Self::start(lab, scratch, (config, other.state.clone())) }
    }

    fn start(lab: &Lab, scratch: tempfile::TempDir, (config, state): (&str, PathBuf)) -> Self {
        let workspace = scratch.path().join("ws");
        let made = Command::new("bash").arg(lab.scripts.join("mkws.sh")).arg(&workspace).status().unwrap();
        assert!(made.success());
        std::fs::write(scratch.path().join("config.toml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command
            .args(["run", "--config"])
            .arg(scratch.path().join("config.toml"))
            .args(["--", "bash"])
            .arg(lab.scripts.join("run-agent.sh"))
            .arg(&lab.install)
            .arg(lab.agent);
        let proxy = spawn(command, |command| {
            command.env("HUNKGATE_STATE_DIR", &state).env("MOCK_PORT", lab.port.to_string());
            command.env("HOME", scratch.path()).env("PERM", "ask").current_dir(&workspace);
            // A scripted model looks for no tools: claude is to offer all of them at once.
            command.env("ENABLE_TOOL_SEARCH", "false");
        });
        Self {
            scratch,
            state,
            servers: json!([]),
            proxy,
            next: 0,
            session: String::new(),
            calls: BTreeSet::new(),
            asked: Vec::new(),
        }
    }

    fn workspace(&self) -> PathBuf {
        self.scratch.path().join("ws").canonicalize().unwrap()
    }

    fn play(mut self, scenario: &str, expected: &[Row]) -> Vec<String> {
        self.turn(scenario);
        let hunks = self.hunks();
        self.proxy.close_input();
        compare((scenario, expected), &hunks, &self.calls)
    }

    /// Opens a session and plays one prompt to its end.
    fn turn(&mut self, scenario: &str) {
        self.open();
        self.prompt(scenario);
    }

    fn open(&mut self) {
        let capabilities =
            json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": { "name": "lab", "version": "1" } });
        self.call("initialize", hello);
        let opened = json!({ "cwd": self.workspace(), "mcpServers": self.servers });
        let opened = self.call("session/new", opened);
        self.session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    }

    fn prompt(&mut self, scenario: &str) {
        let text = format!("@@scenario={scenario} ws={}@@ please go", self.workspace().display());
        let prompt = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        let turn = self.ask("session/prompt", prompt);
        if scenario == "cancel" {
            self.cancel_when(turn);
        } else {
            self.answer(turn);
        }
        if scenario == "bg" {
            self.wait_for("late.txt", Duration::from_secs(4));
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> u32 {
        self.next += 1;
        let frame = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.proxy.send(&format!("{frame}\n"));
        self.next
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn answer(&mut self, id: u32) -> Value {
        loop {
            let frame = self.hear();
            if frame["id"] == json!(id) && frame.get("method").is_none() {
                assert!(frame.get("error").is_none(), "{frame}");
                return frame;
            }
        }
    }

    /// Reads a line; allows what is asked for, writes what it is told to, and has no terminals.
    fn hear(&mut self) -> Value {
        let line = self.proxy.line();
        assert!(!line.is_empty(), "the proxy ended: {}", self.proxy.stderr());
        let frame: Value = serde_json::from_str(&line).unwrap_or_default();
        for call in [&frame["params"]["update"], &frame["params"]["toolCall"]] {
            if let Some(id) = call["toolCallId"].as_str() {
                self.calls.insert(id.to_owned());
            }
        }
        if let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
            let options = frame["params"]["options"].as_array().cloned().unwrap_or_default();
            let call = &frame["params"]["toolCall"];
            let wanted = call["rawInput"]["command"].as_str().or(call["title"].as_str());
            self.asked.extend(wanted.filter(|_| !options.is_empty()).map(str::to_owned));
            let allow = options.iter().find(|option| option["kind"] == "allow_once");
            let answer = match (method, allow) {
                ("session/request_permission", Some(allow)) => {
                    json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": { "outcome": "selected", "optionId": allow["optionId"] } } })
                }
                _ => {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not here" } })
                }
            };
            self.proxy.send(&format!("{answer}\n"));
        }
        frame
    }

    /// Cancels the turn once its command has written twice, and reads to its end.
    fn cancel_when(&mut self, turn: u32) {
        let written = self.workspace().join("cancel.txt");
        let session = self.session.clone();
        let mut stdin = self.proxy.stdin.take().unwrap();
        // The line that is read next may be long in coming: the cancel does not wait for it.
        let permission = loop {
            self.proxy.stdin = Some(stdin);
            let frame = self.hear();
            stdin = self.proxy.stdin.take().unwrap();
            let is_end = frame["id"] == json!(turn) && frame.get("method").is_none();
            assert!(!is_end, "it ended before it was cancelled: {frame}");
            if frame["method"] == "session/request_permission" {
                break frame;
            }
        };
        assert!(permission["id"] != Value::Null);
        until("the command writes", || std::fs::read(&written).is_ok_and(|bytes| bytes.len() >= 4));
        self.proxy.stdin = Some(stdin);
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
        self.proxy.send(&format!("{cancel}\n"));
        self.answer(turn);
    }

    fn wait_for(&self, name: &str, at_most: Duration) {
        let (path, start) = (self.workspace().join(name), Instant::now());
        until(name, || path.exists() || start.elapsed() >= at_most);
    }

    fn hunks(&self) -> Vec<Value> {
        self.ask_us(&["hunks", "--json"])["hunks"].as_array().cloned().unwrap()
    }

    fn ask_us(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.say_to_us(words)).unwrap()
    }

    fn say_to_us(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(self.workspace());
        command.env_remove("HUNKGATE_PARENT").env("HUNKGATE_STATE_DIR", &self.state);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Compares a listing with what is expected of it.
fn compare((scenario, expected): (&str, &[Row]), hunks: &[Value], calls: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    let named = |operation: &str| -> Vec<String> {
        let id = format!("call_{scenario}_{operation}_");
        calls.iter().filter(|call| call.contains(&id)).cloned().collect()
    };
    let mut paths: Vec<&str> = hunks.iter().filter_map(|hunk| hunk["path"].as_str()).collect();
    paths.dedup();
    let rows: Vec<&str> = expected.iter().map(|(path, _)| *path).collect();
    if paths != rows {
        wrong.push(format!("lists {paths:?}, not {rows:?}"));
    }
    for hunk in hunks {
        let Some((path, by)) = expected.iter().find(|(path, _)| hunk["path"] == *path) else { continue };
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().unwrap().iter().map(|id| id.as_str().unwrap_or_default().to_owned()).collect()
        };
        let (found, grade) = (texts(&hunk["tool_call_ids"]), hunk["evidence"]["grade"].as_str().unwrap());
        let on = |wanted: &str| wanted.split('|').any(|wanted| wanted == grade);
        let fits = match by {
            By::Call(text, wanted) => found == named(text) && on(wanted),
            By::Calls(first, second, wanted) => {
                let mut both = [named(first), named(second)].concat();
                let mut found = found.clone();
                both.sort();
                found.sort();
                both.len() == 2 && found == both && on(wanted)
            }
            By::OneOf(text) => {
                let ids = hunk["evidence"]["candidates"].as_array().unwrap().iter();
                let candidates: Vec<&str> = ids.filter_map(|row| row["tool_call_id"].as_str()).collect();
                let own = named(text);
                let contested =
                    found.is_empty() && grade == "contested" && candidates.contains(&own[0].as_str());
                own.len() == 1 && (found == own || contested)
            }
            By::Nobody(wanted) => found.is_empty() && on(wanted),
        };
        if !fits {
            wrong.push(format!("{path}: {found:?} by {grade}, expected {by:?}; the calls are {calls:#?}"));
        }
    }
    wrong
}

/// Where nothing is installed the lab is skipped, and says so.
#[test]
fn without_an_install_the_lab_is_skipped_by_name() {
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/testing.md").is_file());
    if std::env::var_os("HUNKGATE_LAB").is_none() {
        assert!(Lab::new("claude").is_none());
    }
}
