//! A scratch repository with its state directory, an agent that runs what a test tells it, and the command line beside it.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::proxy::{Proxy, spawn};
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// An agent whose one shell call per turn runs `$WORK`, after the editor has heard of it: what is written sooner belongs
/// to no call. What it is told it keeps in `$HEARD`.
const AGENT: &str = r#"
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'$SESSION'","update":'"$1"'}}'; }
turn=0
while IFS= read -r line; do
  id=${line##*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"}}}';;
    *'"session/new"'*|*'"session/load"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"'$SESSION'"}}';;
    *'"session/prompt"'*)
      turn=$((turn+1)); call=t$turn
      printf '%s\n' "$line" >> "$HEARD"
      update '{"sessionUpdate":"tool_call","toolCallId":"'$call'","title":"work","kind":"execute","status":"in_progress"}'
      until [ -e "$GO.$call" ]; do sleep 0.01 2>&- || :; done
      . "$WORK"
      update '{"sessionUpdate":"tool_call_update","toolCallId":"'$call'","status":"completed"}'
      say '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

/// The user that a test becomes where root would see too much.
const NOBODY: u32 = 65_534;

/// A scratch directory: a repository, a home, and an empty place for state.
pub(crate) struct Scratch {
    _keep: tempfile::TempDir,
    top: PathBuf,
    user: Option<u32>,
    binary: PathBuf,
    started: AtomicU32,
}

impl Scratch {
    /// A repository made by hand, as little as `git init` makes.
    pub(crate) fn new() -> Self {
        let scratch = Self::bare();
        for directory in ["repository/.git/objects", "repository/.git/refs"] {
            std::fs::create_dir_all(scratch.at(directory)).unwrap();
        }
        scratch.write("repository/.git/HEAD", "ref: refs/heads/main\n");
        scratch
    }

    /// A repository made by git, without a commit.
    pub(crate) fn git() -> Self {
        let scratch = Self::bare();
        scratch.says_git(&["init", "-q"]);
        scratch
    }

    /// A directory without a repository.
    pub(crate) fn bare() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        for directory in ["repository", "home"] {
            std::fs::create_dir(top.join(directory)).unwrap();
        }
        Self {
            _keep: keep,
            top,
            user: None,
            binary: env!("CARGO_BIN_EXE_hunkgate").into(),
            started: AtomicU32::new(0),
        }
    }

    /// Makes everything here belong to an ordinary user, and everything that is started here run as that user: root
    /// can read what must be unreadable. An ordinary user stays who they are.
    pub(crate) fn owned_by_an_ordinary_user(mut self) -> Self {
        if !rustix::process::geteuid().is_root() {
            return self;
        }
        let binary = self.at("hunkgate");
        // Another process makes the copy: a file that we had open to write could not be run while a sibling forks.
        let copied = Command::new("cp").args([&self.binary, &binary]).status().unwrap();
        assert!(copied.success());
        self.binary = binary;
        let mut todo = vec![self.top.clone()];
        while let Some(path) = todo.pop() {
            std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            if path.symlink_metadata().unwrap().is_dir() {
                todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        self.user = Some(NOBODY);
        self
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.at("repository")
    }

    /// Writes a file, with the directories above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        if let Some(user) = self.user {
            chown(&path, Some(user), Some(user)).unwrap();
        }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.at(name)).unwrap_or_default()).into_owned()
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        self.at(name).symlink_metadata().unwrap().mode() & 0o7777
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn environ(&self, command: &mut Command) {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.at("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("HUNKGATE_STATE_DIR", self.at("state"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        self.environ(&mut command);
        for who in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(who, "someone");
        }
        command.args(["-c", "protocol.file.allow=always"]).args(args);
        command.current_dir(self.repository()).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn says_git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.says_git(&["add", "-A"]);
        self.says_git(&["commit", "-q", "-m", message]);
    }

    /// A command of ours, in the repository.
    pub(crate) fn hunkgate(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        self.environ(&mut command);
        command.current_dir(self.repository()).args(words);
        command
    }

    /// What a command of ours says, and its exit code.
    pub(crate) fn says(&self, words: &[&str]) -> (String, i32) {
        let output = self.hunkgate(words).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.hunkgate(words).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// The queue of the newest session here.
    pub(crate) fn hunks(&self) -> Vec<Value> {
        self.json(&["hunks"])["hunks"].as_array().cloned().unwrap()
    }

    /// The chain of the only root, as it lies on disk.
    pub(crate) fn kept_chain(&self) -> String {
        let roots = std::fs::read_dir(self.at("state/roots")).unwrap().map(|entry| entry.unwrap().path());
        roots.map(|root| std::fs::read_to_string(root.join("chain.jsonl")).unwrap()).collect()
    }

    /// The paths of the queue, each once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<_> =
            self.hunks().iter().map(|hunk| hunk["path"].as_str().unwrap().to_owned()).collect();
        paths.dedup();
        paths
    }

    /// Starts a proxy.
    pub(crate) fn start(&self, prepare: impl FnOnce(&mut Command)) -> Live<'_> {
        let mut command = Command::new(&self.binary);
        command.args(["run", "--", "/bin/sh", "-c", AGENT]);
        self.launch(command, prepare)
    }

    /// Starts a proxy on another agent's script.
    pub(crate) fn start_agent(&self, script: &str, prepare: impl FnOnce(&mut Command)) -> Live<'_> {
        let mut command = Command::new(&self.binary);
        command.args(["run", "--", "/bin/sh", "-c", script]);
        self.launch(command, prepare)
    }

    /// Starts a proxy by way of another program, which is given our binary and the agent's script.
    pub(crate) fn start_by(&self, program: &[&str]) -> Live<'_> {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(&self.binary).arg(AGENT);
        self.launch(command, |_| {})
    }

    fn launch(&self, command: Command, prepare: impl FnOnce(&mut Command)) -> Live<'_> {
        let go = self.at(&format!("go{}", self.started.fetch_add(1, Ordering::Relaxed)));
        let proxy = spawn(command, |command| {
            self.environ(command);
            command.env("GO", &go);
            command.env("WORK", self.at("work")).env("HEARD", self.at("heard")).env("SESSION", "s1");
            command.current_dir(self.repository());
            prepare(command);
        });
        Live { proxy, scratch: self, go, next: 0 }
    }

    /// Starts a proxy and opens the session `s1` on the repository.
    pub(crate) fn session(&self) -> Live<'_> {
        let mut live = self.start(|_| {});
        live.open(json!({ "cwd": self.repository(), "mcpServers": [] }));
        live
    }

    /// Plays one session of one turn, whose one shell call runs `work` in the repository.
    pub(crate) fn turn(&self, work: &str) {
        let mut live = self.session();
        live.prompt(work);
        live.end();
    }
}

/// A proxy that runs.
pub(crate) struct Live<'a> {
    pub(crate) proxy: Proxy,
    scratch: &'a Scratch,
    go: PathBuf,
    next: u32,
}

impl Live<'_> {
    /// Says `initialize` and `session/new`.
    pub(crate) fn open(&mut self, session: Value) {
        self.call("initialize", json!({ "protocolVersion": 1 }));
        self.call("session/new", session);
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u32 {
        self.next += 1;
        let id = self.next;
        self.proxy.send(&format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        ));
        id
    }

    /// Sends a message of the editor's.
    pub(crate) fn say(&mut self, frame: &Value) {
        self.proxy.send(&format!("{frame}\n"));
    }

    /// Reads a line; a call that it announces may begin.
    pub(crate) fn hear(&mut self) -> String {
        let line = self.proxy.line();
        assert!(!line.is_empty(), "the proxy ended: {}", self.proxy.stderr());
        let frame: Value = serde_json::from_str(&line).unwrap();
        let update = &frame["params"]["update"];
        if update["sessionUpdate"] == "tool_call" {
            let call = update["toolCallId"].as_str().unwrap();
            std::fs::write(self.signal(call), "").unwrap();
        }
        line
    }

    /// The file that the agent's shell knows as `$GO.NAME`.
    pub(crate) fn signal(&self, name: &str) -> PathBuf {
        self.go.with_extension(name)
    }

    /// Reads up to the answer of a request. Returns what was heard.
    pub(crate) fn answer(&mut self, id: u32) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            let line = self.hear();
            let frame: Value = serde_json::from_str(&line).unwrap();
            heard.push(line);
            if frame["id"] == json!(id) && frame.get("method").is_none() {
                return heard;
            }
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Vec<String> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a prompt in whose turn the agent's shell runs `work`. Does not wait for its end.
    pub(crate) fn begin(&mut self, work: &str) -> u32 {
        self.scratch.write("work", work);
        self.ask("session/prompt", json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "go" }] }))
    }

    /// Plays a turn. Returns what the editor heard of it.
    pub(crate) fn prompt(&mut self, work: &str) -> Vec<String> {
        let id = self.begin(work);
        self.answer(id)
    }

    /// Says a command of ours in the conversation. Returns what is answered.
    pub(crate) fn slash(&mut self, text: &str) -> String {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.call("session/prompt", json!({ "sessionId": "s1", "prompt": prompt })).concat()
    }

    /// Plays a turn of another session than `s1`.
    pub(crate) fn turn_of(&mut self, session: &str, work: &str) -> Vec<String> {
        self.scratch.write("work", work);
        let prompt = json!([{ "type": "text", "text": "go" }]);
        self.call("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    pub(crate) fn end(mut self) {
        self.proxy.close_input();
        let (_, code) = self.proxy.finish();
        assert_eq!(code, 0);
    }

    pub(crate) fn kill(mut self) {
        self.proxy.child.kill().unwrap();
        self.proxy.child.wait().unwrap();
    }
}

/// Everything beneath a directory: names, modes, and the bytes of files. What goes meanwhile is not there.
pub(crate) fn files(dir: &Path) -> std::collections::BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = std::collections::BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            todo.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let Ok(bytes) = (if meta.is_file() { std::fs::read(&path) } else { Ok(Vec::new()) }) else {
            continue;
        };
        found.insert(path, (meta.mode(), bytes));
    }
    found
}
