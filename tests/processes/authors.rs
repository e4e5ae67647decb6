//! Whose line it is, in real repositories: many ignore files, branches that come and go, rewrites in one second, line
//! endings that git would convert (C33, C36, C37, C38).

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::proxy::until;
use crate::scratch::Scratch;
use hunkgate::base::RootId;
use hunkgate::store::StateDir;
use serde_json::Value;
use std::os::unix::ffi::OsStrExt as _;

/// The rows of a queue: path, calls, grade, and the text that stands there now.
fn rows(hunks: &[Value]) -> Vec<(&str, Vec<&str>, &str, &str)> {
    hunks
        .iter()
        .map(|hunk| {
            let calls = hunk["tool_call_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap());
            (
                hunk["path"].as_str().unwrap(),
                calls.collect(),
                hunk["evidence"]["grade"].as_str().unwrap(),
                hunk["after_content"].as_str().unwrap(),
            )
        })
        .collect()
}

// C33: thirty thousand files and three hundred ignore files: the first write of all is attributed or visibly not, the
// next one is attributed.
#[test]
fn one_line_of_a_command_in_a_large_repository_is_never_lost_in_silence() {
    let scratch = Scratch::new();
    for directory in 0..300 {
        scratch.write(&format!("repository/d{directory}/.gitignore"), "*.o\n/out/\n");
        for file in 0..100 {
            scratch.write(&format!("repository/d{directory}/f{file}.txt"), "text\n");
        }
    }
    let mut live = scratch.session();
    live.prompt("echo one >> d7/f7.txt");
    let first = scratch.hunks();
    let listed = rows(&first);
    let (path, calls, grade, _) = listed.first().expect("the line is listed");
    assert_eq!((listed.len(), *path), (1, "d7/f7.txt"), "{first:#?}");
    let said =
        scratch.json(&["status"])["warnings"].as_array().unwrap().len() + usize::from(*grade == "in_turn");
    assert!(*calls == ["t1"] || said > 0, "neither attributed nor said: {first:#?}");
    live.prompt("echo two >> d250/f99.txt");
    let second = scratch.hunks();
    let rows = rows(&second);
    assert!(rows.contains(&("d250/f99.txt", vec!["t2"], "sole", "two\n")), "{second:#?}");
    live.end();
}

// C36: the person commits other work, switches the branch and comes back between two turns.
#[test]
fn commits_and_branches_between_turns_leave_only_the_agent_s_changes_in_the_queue() {
    let scratch = Scratch::git();
    for name in ["a.txt", "b.txt", "c.txt"] {
        scratch.write(&format!("repository/{name}"), "one\ntwo\n");
    }
    scratch.commit("first");
    scratch.says_git(&["branch", "other"]);
    let mut live = scratch.session();
    live.prompt("echo three >> a.txt");
    scratch.write("repository/b.txt", "ONE\ntwo\n");
    scratch.says_git(&["add", "b.txt"]);
    scratch.says_git(&["commit", "-q", "-m", "the person's"]);
    let branch = scratch.says_git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    scratch.says_git(&["checkout", "-q", "other"]);
    scratch.says_git(&["checkout", "-q", &branch]);
    live.prompt("echo three >> c.txt");
    let hunks = scratch.hunks();
    let owed: Vec<_> = rows(&hunks).into_iter().filter(|(_, calls, _, _)| !calls.is_empty()).collect();
    let expected = [("a.txt", vec!["t1"], "sole", "three\n"), ("c.txt", vec!["t2"], "sole", "three\n")];
    assert_eq!(owed, expected, "{hunks:#?}");
    let theirs: Vec<_> = rows(&hunks).into_iter().filter(|(_, calls, _, _)| calls.is_empty()).collect();
    assert_eq!(theirs, [("b.txt", vec![], "external", "ONE\n")], "{hunks:#?}");
    assert_eq!(scratch.json(&["status"])["queue"]["unreviewed"], 2);
    live.end();
}

// C37: two rewrites of one size within a second, with one and the same time of change.
#[test]
fn a_rewrite_of_the_same_size_in_the_same_second_is_another_state() {
    let scratch = Scratch::new();
    scratch.write("repository/f", "a=0\n");
    let mut live = scratch.session();
    live.prompt("printf 'a=1\\n' > f; touch -d @1700000000 f");
    live.prompt("printf 'a=2\\n' > f; touch -d @1700000000 f");
    let hunks = scratch.hunks();
    assert_eq!(rows(&hunks), [("f", vec!["t1", "t2"], "sole", "a=2\n")], "{hunks:#?}");
    let (log, _) = scratch.says(&["log", "--json"]);
    let looks = log.lines().filter(|line| line.contains("\"observed\"") && line.contains("\"path\":\"f\""));
    assert_eq!(looks.count(), 2, "{log}");
    live.end();
}

// C38: git would convert the line endings; the file's own bytes count.
#[test]
fn one_edited_line_of_a_crlf_file_is_one_hunk_and_goes_back_to_crlf() {
    let scratch = Scratch::git();
    scratch.says_git(&["config", "core.autocrlf", "true"]);
    scratch.write("repository/.gitattributes", "* text eol=crlf\n");
    let before = "one\r\ntwo\r\nthree\r\n";
    scratch.write("repository/a.txt", before);
    scratch.commit("first");
    scratch.turn("printf 'one\\r\\nTWO\\r\\nthree\\r\\n' > a.txt");
    let hunks = scratch.hunks();
    assert_eq!(rows(&hunks), [("a.txt", vec!["t1"], "sole", "TWO\r\n")], "{hunks:#?}");
    let (told, code) = scratch.says(&["reject", "--all"]);
    assert_eq!((code, scratch.read("repository/a.txt").as_str()), (0, before), "{told}");
}

// What follows from all records and stands in none: the calls of which nothing is left.
#[test]
fn the_log_ends_with_the_calls_of_which_nothing_is_left() {
    let scratch = Scratch::new();
    let mut live = scratch.session();
    live.prompt("printf 'new\\n' > a.txt; printf 'new\\n' > b.txt");
    live.prompt("printf 'newer\\n' > a.txt");
    let (told, _) = scratch.says(&["log"]);
    assert!(!told.contains("superseded"), "something is left of each: {told}");
    live.prompt("printf 'newer\\n' > b.txt");
    live.end();
    let (told, code) = scratch.says(&["log"]);
    let last = told.lines().last().unwrap_or_default();
    assert!(code == 0 && last.starts_with("superseded: ") && last.contains("t1"), "{told}");
    assert_eq!(told.matches("superseded: ").count(), 1, "{told}");
    let (records, _) = scratch.says(&["log", "--json"]);
    assert!(!records.contains("superseded: "), "{records}");
}

// Nobody prompts and nobody asks: what a person writes is looked at because the kernel tells of it.
#[cfg(target_os = "linux")]
#[test]
fn what_a_person_writes_between_turns_is_looked_at_without_being_asked_for() {
    let scratch = Scratch::git();
    scratch.write("repository/mine", "one\n");
    let mut live = scratch.session();
    live.prompt("echo two > theirs");
    let root = RootId::derive(scratch.repository().as_os_str().as_bytes());
    let chain = StateDir::open(scratch.at("state")).unwrap().root_dir(&root).join("chain.jsonl");
    for text in ["two\n", "three\n"] {
        let before = std::fs::read_to_string(&chain).unwrap().len();
        scratch.write("repository/mine", text);
        until("the proxy looks at what was written", || {
            let chain = std::fs::read_to_string(&chain).unwrap();
            chain[before..].contains("\"why\":\"activity\"") && chain[before..].contains("\"mine\"")
        });
    }
    let hunks = scratch.hunks();
    let rows = rows(&hunks);
    let owners: Vec<_> = rows.iter().map(|(path, calls, grade, _)| (*path, calls.len(), *grade)).collect();
    assert_eq!(owners, [("mine", 0, "external"), ("theirs", 1, "sole")], "{hunks:?}");
    live.end();
}
