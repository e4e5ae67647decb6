//! Plays a transcript through real pipes: the binary between a scripted editor and a scripted agent, in a real worktree.
#![allow(clippy::disallowed_methods, reason = "this play is about processes and files")]

use super::pattern::Bindings;
use super::play::{absolute_in, forget_answered, opening, shown};
use super::transcript::{Heard, Statement, Transcript, TreeOp, What};
use hunkgate::base::Leg;
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// How long a line may take on a busy machine before it is missing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes in, bytes out: a stand-in for the agent, whose other ends the play holds.
const AGENT: &str = "cat < \"$0\" & exec cat > \"$1\"";

/// A transcript under way between real processes.
pub(crate) struct Stage {
    dir: tempfile::TempDir,
    root: PathBuf,
    proxy: Child,
    says: [Option<Box<dyn Write>>; 2],
    hears: [Receiver<Vec<u8>>; 2],
    unforwarded: [VecDeque<Vec<u8>>; 2],
    bindings: Bindings,
    answers: VecDeque<Value>,
}

/// Plays a transcript.
pub(crate) fn hold(transcript: &Transcript) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(told)?;
    let root = fs::canonicalize(dir.path()).map_err(told)?.join("root");
    fs::create_dir(&root).map_err(told)?;
    let quiet = Command::new("git").args(["init", "-q"]).current_dir(&root).status().map_err(told)?;
    if !quiet.success() {
        return Err("git init failed".to_owned());
    }
    let first = |statement: &&Statement| matches!(statement.what, What::Tree(_) | What::Config(_));
    let before: Vec<&Statement> = transcript.statements.iter().take_while(first).collect();
    let mut config = String::new();
    for statement in &before {
        if let What::Config(line) = &statement.what {
            config.push_str(line);
            config.push('\n');
        } else {
            tree(&root, statement)?;
        }
    }
    fs::write(dir.path().join("config.toml"), config).map_err(told)?;
    let mut stage = Stage::set(dir, root)?;
    let client = transcript.tag("client").unwrap_or("editor");
    for (leg, line) in opening(transcript, client)? {
        stage.says(leg, line.as_bytes())?;
        stage.hears(leg.other(), &Heard::Same)?;
    }
    stage.next(Leg::Editor)?;
    for statement in &transcript.statements[before.len()..] {
        stage.statement(statement).map_err(|what| format!("line {}: {what}", statement.line))?;
    }
    stage.end()
}

/// Lists the transcripts whose header holds a tag, relative to their folder and escaped for a pattern.
pub(crate) fn tagged(tag: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp_transcripts");
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            if Transcript::parse(&bytes).is_ok_and(|transcript| transcript.has(tag)) {
                let name = path.strip_prefix(&folder).unwrap_or(&path).to_string_lossy().into_owned();
                found.push(name.replace('.', r"\."));
            }
        }
    }
    found.sort();
    found
}

impl Stage {
    fn set(dir: tempfile::TempDir, root: PathBuf) -> Result<Self, String> {
        let (out, input) = (dir.path().join("agent.out"), dir.path().join("agent.in"));
        let made = Command::new("mkfifo").args([&out, &input]).status().map_err(told)?;
        if !made.success() {
            return Err("mkfifo failed".to_owned());
        }
        let mut proxy = command(dir.path())
            .args(["run", "--config"])
            .arg(dir.path().join("config.toml"))
            .args(["--", "sh", "-c", AGENT])
            .args([&out, &input])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(told)?;
        let editor_in = proxy.stdin.take().ok_or("no stdin")?;
        let editor_out = proxy.stdout.take().ok_or("no stdout")?;
        let agent_out = OpenOptions::new().write(true).open(&out).map_err(told)?;
        let agent_in = File::open(&input).map_err(told)?;
        let mut bindings = Bindings::default();
        bindings.set("ROOT", &root.to_string_lossy());
        bindings.set("VERSION", env!("CARGO_PKG_VERSION"));
        Ok(Self {
            dir,
            root,
            proxy,
            says: [Some(Box::new(editor_in)), Some(Box::new(agent_out))],
            hears: [lines_of(editor_out), lines_of(agent_in)],
            unforwarded: Default::default(),
            bindings,
            answers: VecDeque::new(),
        })
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        match &statement.what {
            What::Says(leg, line) => self.says(*leg, line),
            What::Hears(leg, heard) => self.hears(*leg, heard),
            What::Tree(_) => tree(&self.root, statement),
            What::Ask(line) => self.ask(line),
            What::Answer(kind, pattern) => self.answer(kind.as_deref(), pattern),
            What::Journal(..) | What::JournalLacks(_) | What::Wait(_) => Ok(()),
            other => Err(format!("not to be played through real pipes: {other:?}")),
        }
    }

    fn says(&mut self, leg: Leg, line: &[u8]) -> Result<(), String> {
        let mut line = self.bindings.fill(line)?;
        line.push(b'\n');
        let to = self.says[leg.index()].as_mut().ok_or("it has closed")?;
        to.write_all(&line).and_then(|()| to.flush()).map_err(told)?;
        self.unforwarded[leg.index()].push_back(line);
        Ok(())
    }

    fn next(&mut self, leg: Leg) -> Result<Vec<u8>, String> {
        self.hears[leg.index()].recv_timeout(PATIENCE).map_err(|_| "heard nothing".to_owned())
    }

    fn hears(&mut self, leg: Leg, heard: &Heard) -> Result<(), String> {
        let from = leg.other().index();
        match heard {
            // What is not there yet cannot be told from what never comes; the end of the play tells.
            Heard::Nothing => Ok(()),
            Heard::Swallowed => {
                self.unforwarded[from].pop_front().map(drop).ok_or("nothing is on its way".to_owned())
            }
            Heard::Same => {
                let (line, oldest) = (self.next(leg)?, self.unforwarded[from].pop_front());
                if oldest.as_ref() == Some(&line) {
                    return Ok(());
                }
                Err(format!("heard {}\n  not  {}", shown(&line), shown(&oldest.unwrap_or_default())))
            }
            Heard::Edited(pattern) => {
                let line = self.next(leg)?;
                self.unforwarded[from].pop_front();
                self.compare(pattern, &line)
            }
            Heard::Ours(pattern) => {
                let line = self.next(leg)?;
                self.compare(pattern, &line)?;
                forget_answered(&mut self.unforwarded[leg.index()], &line);
                Ok(())
            }
        }
    }

    fn compare(&mut self, pattern: &str, line: &[u8]) -> Result<(), String> {
        let pattern: Value = serde_json::from_str(pattern).map_err(told)?;
        let actual: Value = serde_json::from_slice(line).map_err(told)?;
        self.bindings.matches(&pattern, &actual).map_err(|what| format!("{what}\n  heard {}", shown(line)))
    }

    /// Asks through the command line, as a person would beside the editor.
    fn ask(&mut self, line: &str) -> Result<(), String> {
        let filled = self.bindings.fill(line.as_bytes())?;
        let mut words = super::asks::words(&String::from_utf8_lossy(&filled));
        if words.first().is_some_and(|word| word == "rebase") {
            words.push("--yes".to_owned());
        }
        let output = command(self.dir.path())
            .args(words)
            .arg("--json")
            .current_dir(&self.root)
            .output()
            .map_err(told)?;
        let answer = serde_json::from_slice(&output.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("{line}: {error}: {}{said}", String::from_utf8_lossy(&output.stdout))
        })?;
        self.answers.push_back(answer);
        Ok(())
    }

    fn answer(&mut self, kind: Option<&str>, pattern: &str) -> Result<(), String> {
        let pattern: Value = serde_json::from_str(pattern).map_err(told)?;
        let answer = self.answers.pop_front().ok_or("no answer")?;
        let answer = match kind {
            Some("commented" | "resolved") => answer["comment"].clone(),
            Some("note") => answer["note"].clone(),
            _ => answer,
        };
        self.bindings.matches(&pattern, &answer).map_err(|what| format!("{what}\n  answer {answer}"))
    }

    /// Both peers close; whatever was said and never heard, or heard and never expected, is told.
    fn end(mut self) -> Result<(), String> {
        self.says = [None, None];
        self.proxy.wait().map_err(told)?;
        for leg in [Leg::Editor, Leg::Agent] {
            if let Ok(line) = self.hears[leg.index()].recv_timeout(PATIENCE) {
                return Err(format!("at the end: also heard {}", shown(&line)));
            }
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.proxy.kill());
        drop(self.proxy.wait());
    }
}

/// The binary with a state of its own and nothing of the person's.
fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.env_remove("HOME").env_remove("HUNKGATE_PARENT").env("XDG_RUNTIME_DIR", dir);
    command.env("XDG_CONFIG_HOME", dir.join("config")).env("HUNKGATE_STATE_DIR", dir.join("state"));
    command
}

fn lines_of(from: impl std::io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (put, take) = mpsc::channel();
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match from.read_until(b'\n', &mut line) {
                Ok(read) if read > 0 && put.send(line).is_ok() => {}
                _ => return,
            }
        }
    });
    take
}

fn tree(root: &Path, statement: &Statement) -> Result<(), String> {
    let What::Tree(op) = &statement.what else { return Ok(()) };
    await_file_clock();
    let place = |path: &str| PathBuf::from(absolute_in(&root.to_string_lossy(), path));
    let done = match op {
        TreeOp::Write(path, bytes) => {
            let path = place(path);
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes))
        }
        TreeOp::Remove(path) => fs::remove_file(place(path)),
        TreeOp::Move(from, to) => fs::rename(place(from), place(to)),
        TreeOp::Link(path, target) => {
            drop(fs::remove_file(place(path)));
            std::os::unix::fs::symlink(target, place(path))
        }
        TreeOp::Chmod(path, executable) => {
            let mode = if *executable { 0o755 } else { 0o644 };
            fs::set_permissions(place(path), fs::Permissions::from_mode(mode))
        }
        TreeOp::Holds(path, wanted) => {
            let found = fs::read(place(path)).map_err(told)?;
            if found == *wanted {
                return Ok(());
            }
            return Err(format!("{path} holds {:?}", String::from_utf8_lossy(&found)));
        }
        TreeOp::Lacks(path) if place(path).exists() => return Err(format!("{path} is there")),
        TreeOp::Lacks(_) | TreeOp::Stirs => Ok(()),
        other => return Err(format!("not to be played through real pipes: {other:?}")),
    };
    done.map_err(told)
}

/// Waits until the clock that files are stamped with is not later than it may be: where a processor is taken away from this
/// machine a tick is missed now and then, and what is written then seems to come before the call that wrote it.
#[cfg(target_os = "linux")]
fn await_file_clock() {
    use rustix::time::{ClockId, clock_getres, clock_gettime};
    let nanos =
        |time: rustix::time::Timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    let tick = nanos(clock_getres(ClockId::RealtimeCoarse));
    while nanos(clock_gettime(ClockId::Realtime)) - nanos(clock_gettime(ClockId::RealtimeCoarse)) > tick {
        std::thread::yield_now();
    }
}

#[cfg(not(target_os = "linux"))]
fn await_file_clock() {}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
