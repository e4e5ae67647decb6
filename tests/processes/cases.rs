//! Cases of the field that need real directories: first run, new directories, times of files, ignored data (C05, C13, C20, C21).

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A scratch directory with a repository and an empty place for state.
struct Scratch {
    _keep: tempfile::TempDir,
    top: PathBuf,
}

impl Scratch {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        for directory in ["repository/.git/objects", "repository/.git/refs"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        std::fs::write(top.join("repository/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Self { _keep: keep, top }
    }

    fn repository(&self) -> PathBuf {
        self.top.join("repository")
    }

    fn hunkgate(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HUNKGATE_STATE_DIR", self.top.join("state")).current_dir(self.repository()).args(words);
        command
    }

    fn says(&self, words: &[&str]) -> (String, i32) {
        let output = self.hunkgate(words).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
    }

    /// Plays one turn in which a shell call of the agent runs `work` in the repository.
    fn turn(&self, work: &str) {
        let script = format!(
            r#"
update() {{ echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":'"$1"'}}}}'; }}
read line; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentInfo":{{"name":"a","version":"1"}}}}}}'
read line; echo '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s1"}}}}'
read line
update '{{"sessionUpdate":"tool_call","toolCallId":"t1","title":"work","kind":"execute","status":"in_progress"}}'
{work}
update '{{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}}'
echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}'
while read line; do :; done
"#
        );
        let mut command = self.hunkgate(&["run", "--", "sh", "-c", &script]);
        let mut proxy = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = proxy.stdin.take().unwrap();
        let mut lines = BufReader::new(proxy.stdout.take().unwrap()).lines();
        let directory = self.repository().to_str().unwrap().to_owned();
        let asks = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#.to_owned(),
            format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"{directory}","mcpServers":[]}}}}"#
            ),
            r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#
                .to_owned(),
        ];
        for (ask, id) in asks.iter().zip(1..) {
            writeln!(stdin, "{ask}").unwrap();
            while !lines.next().unwrap().unwrap().contains(&format!("\"id\":{id}")) {}
        }
        drop(stdin);
        assert!(proxy.wait().unwrap().success());
    }
}

/// What tells whether a file was touched: its inode and both of its times.
fn touched(path: &Path) -> (u64, i64, i64, i64, i64) {
    let meta = std::fs::symlink_metadata(path).unwrap();
    (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

#[test]
fn the_first_run_of_all_has_a_queue_without_any_set_up() {
    let scratch = Scratch::new();
    std::fs::write(scratch.repository().join("a.txt"), "one\n").unwrap();
    scratch.turn("echo two >> a.txt");
    let (hunks, code) = scratch.says(&["hunks"]);
    assert!(code == 0 && hunks.contains("a.txt") && hunks.contains("t1"), "{code}: {hunks}");
}

#[test]
fn a_reject_of_everything_takes_new_directories_along_and_touches_nothing_else() {
    let scratch = Scratch::new();
    let repository = scratch.repository();
    std::fs::create_dir_all(repository.join("empty/before")).unwrap();
    std::fs::write(repository.join("changed.txt"), "before\n").unwrap();
    let others: Vec<PathBuf> = (0..1_000).map(|n| repository.join(format!("other{n}.txt"))).collect();
    for other in &others {
        std::fs::write(other, "other\n").unwrap();
    }
    let before: Vec<_> = others.iter().map(|other| touched(other)).collect();
    scratch.turn(
        "echo after > changed.txt; mkdir -p new/deep; echo c > new/deep/c.txt; echo d > empty/before/d.txt",
    );
    let (told, code) = scratch.says(&["reject", "--all"]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(std::fs::read_to_string(repository.join("changed.txt")).unwrap(), "before\n");
    assert!(!repository.join("new").exists(), "a directory that came with the turn stays behind: {told}");
    assert!(repository.join("empty/before").is_dir(), "an empty directory of before is gone");
    let after: Vec<_> = others.iter().map(|other| touched(other)).collect();
    assert_eq!(after, before, "a file that was not rejected was touched");
}

#[test]
fn data_that_an_edit_of_the_ignore_rules_uncovers_survives_a_reject_of_everything() {
    let scratch = Scratch::new();
    let repository = scratch.repository();
    std::fs::write(repository.join(".gitignore"), "data/\n").unwrap();
    std::fs::create_dir_all(repository.join("data")).unwrap();
    std::fs::write(repository.join("data/kept.bin"), "precious\n").unwrap();
    scratch.turn(": > .gitignore");
    let (told, code) = scratch.says(&["reject", "--all", "--force"]);
    assert_eq!(code, 0, "{told}");
    let read = |path: &str| std::fs::read_to_string(repository.join(path)).unwrap();
    assert_eq!((read(".gitignore"), read("data/kept.bin")), ("data/\n".into(), "precious\n".into()));
}
