//! A repository's own configuration, through the real proxy.

use std::process::Command;

#[test]
fn a_project_file_withholds_more_and_loosens_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().canonicalize().unwrap();
    let repository = top.join("repository");
    std::fs::create_dir_all(repository.join(".git/objects")).unwrap();
    std::fs::create_dir_all(repository.join(".git/refs")).unwrap();
    std::fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let project = "[secrets]\nwithhold = [\"*.vault\"]\n[review]\nat_turn_end = \"off\"\n";
    std::fs::write(repository.join(".hunkgate.toml"), project).unwrap();
    let script = r#"
read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"}}}'
read line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read line; echo marker-of-a-secret > "$0/x.vault"; echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
while read line; do :; done
"#;
    let hunkgate = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HUNKGATE_STATE_DIR", top.join("state")).current_dir(&repository).args(words);
        command
    };
    let directory = repository.to_str().unwrap();
    let mut proxy = hunkgate(&["run", "--", "sh", "-c", script, directory])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = proxy.stdin.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(proxy.stdout.take().unwrap()));
    let mut ask = |line: String, id: &str| {
        std::io::Write::write_all(&mut stdin, format!("{line}\n").as_bytes()).unwrap();
        while !lines.next().unwrap().unwrap().contains(id) {}
    };
    ask(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#.into(),
        "\"id\":1",
    );
    let new = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"{directory}","mcpServers":[]}}}}"#
    );
    ask(new, "\"id\":2");
    let prompt =
        r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#;
    ask(prompt.into(), "\"id\":3");
    let status = hunkgate(&["status"]).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains(".hunkgate.toml:4: review.at_turn_end is ignored"), "{status}");
    let hunks = hunkgate(&["hunks"]).output().unwrap();
    let hunks = String::from_utf8_lossy(&hunks.stdout).into_owned();
    assert!(hunks.contains("x.vault") && !hunks.contains("marker"), "{hunks}");
    drop(stdin);
    assert!(proxy.wait().unwrap().success());
    assert!(!holds(&top.join("state"), "marker-of-a-secret"), "the secret was journaled");
}

/// Says whether any file beneath a directory holds a text.
fn holds(directory: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(directory).expect("a directory").filter_map(Result::ok).map(|entry| entry.path()).any(
        |path| {
            if path.is_dir() {
                return holds(&path, text);
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        },
    )
}
