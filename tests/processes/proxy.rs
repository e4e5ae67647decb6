//! A running `hunkgate run`, with a shell script as its agent and a test as its editor.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Longer than anything here takes; a test that hangs is ended instead.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Proxy {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
    stderr: Option<ChildStderr>,
    _state: tempfile::TempDir,
    _alive: Sender<()>,
}

/// Starts a proxy whose agent is a shell script.
pub(crate) fn scripted(script: &str) -> Proxy {
    start(&["sh", "-c", script], |_| {})
}

/// Starts a proxy with a state directory of its own and an environment that holds nothing but `PATH`.
pub(crate) fn start(agent: &[&str], prepare: impl FnOnce(&mut Command)) -> Proxy {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.arg("run").arg("--").args(agent);
    spawn(command, prepare)
}

/// Starts an element of a chain, with the test as its conductor.
pub(crate) fn chain() -> Proxy {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.arg("chain");
    spawn(command, |_| {})
}

pub(crate) fn spawn(mut command: Command, prepare: impl FnOnce(&mut Command)) -> Proxy {
    let state = tempfile::tempdir().expect("a directory");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HUNKGATE_STATE_DIR", state.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn().expect("the proxy starts");
    let alive = guard(child.id());
    Proxy {
        stdin: child.stdin.take(),
        stdout: BufReader::new(child.stdout.take().expect("piped")),
        stderr: child.stderr.take(),
        child,
        _state: state,
        _alive: alive,
    }
}

/// Ends a process that is still there when the test's patience is over.
fn guard(pid: u32) -> Sender<()> {
    let (alive, gone): (Sender<()>, Receiver<()>) = channel();
    std::thread::spawn(move || {
        if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = gone.recv_timeout(PATIENCE) {
            signal(pid, "KILL");
        }
    });
    alive
}

impl Proxy {
    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(line.as_bytes()).expect("the proxy reads");
    }

    /// Reads the next line, with its terminator.
    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).expect("readable");
        String::from_utf8(line).expect("text")
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Reads the output to its end and returns it with the exit code.
    pub(crate) fn finish(mut self) -> (String, i32) {
        let mut rest = String::new();
        let _ = self.stdout.read_to_string(&mut rest);
        let code = self.child.wait().expect("it was ours").code().expect("it exits by itself");
        (rest, code)
    }

    /// Reads stderr to its end.
    pub(crate) fn stderr(&mut self) -> String {
        let mut text = Vec::new();
        let _ = self.stderr.take().expect("unread").read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).stderr(Stdio::null()).status();
}

/// Says whether a process is there and not a zombie.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        // What it waits for needs the processors more.
        std::thread::park_timeout(Duration::from_millis(1));
    }
}
