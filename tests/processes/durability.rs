//! What survives, and what does not stop the conversation: a slow base, a home directory, kills, pruning, a full disk,
//! a kernel without watches (C39, C43, C62, C63).

use crate::proxy::until;
use crate::scratch::{Scratch, files};
use hunkgate::base::RootId;
use hunkgate::store::StateDir;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

/// What identifies an item and what was decided on it.
fn identities(hunks: &[Value]) -> Vec<[Value; 4]> {
    let of = |hunk: &Value| ["id", "digest", "state", "tool_call_ids"].map(|key| hunk[key].clone());
    hunks.iter().map(of).collect()
}

// C39: the first look at a root takes as long as it likes: here another process keeps it from ending at all.
#[test]
fn a_session_opens_and_a_prompt_is_forwarded_before_the_first_look_at_the_root_ends() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.write("repository/late", "one\n");
    let state = StateDir::open(scratch.at("state")).unwrap();
    let root = state.root_dir(&RootId::derive(scratch.repository().as_os_str().as_bytes()));
    std::fs::create_dir(&root).unwrap();
    let lock = std::fs::File::create(root.join("observe.lock")).unwrap();
    lock.lock().unwrap();
    let mut live = scratch.session();
    let prompt =
        live.begin("echo two >> a; : > done; while [ ! -e release ]; do read -t 1 _ < /dev/null || :; done");
    while !live.hear().contains("toolCallId") {}
    until("the agent works on its prompt", || scratch.at("repository/done").exists());
    let chain = std::fs::read_to_string(root.join("chain.jsonl")).unwrap();
    assert!(!chain.contains("\"observed\""), "{chain}");
    lock.unlock().unwrap();
    scratch.write("repository/release", "");
    live.answer(prompt);
    live.prompt("echo two >> late");
    let hunks = scratch.hunks();
    let of = |path: &str| hunks.iter().find(|hunk| hunk["path"] == path);
    assert!(of("late").is_some_and(|hunk| hunk["tool_call_ids"] == json!(["t2"])), "{hunks:?}");
    // What was written before the base was read is said to be of unknown base: it is never silently base.
    let early = of("a").map(|hunk| hunk["evidence"]["grade"].clone());
    assert_eq!(early, Some(json!("base_unknown")), "{hunks:?}");
    live.end();
}

// C43: the home directory without a repository.
#[test]
fn the_home_directory_is_refused_by_name_and_everything_is_forwarded() {
    let scratch = Scratch::bare();
    scratch.write("home/precious", "x\n");
    let home = scratch.at("home");
    let mut live = scratch.start(|command| {
        command.current_dir(&home);
    });
    live.open(json!({ "cwd": home, "mcpServers": [] }));
    let heard = live.prompt("echo two >> \"$HOME/precious\"").concat();
    assert_eq!(scratch.read("home/precious"), "x\ntwo\n");
    assert!(heard.contains("end_turn"), "{heard}");
    let status = scratch.hunkgate(&["status"]).current_dir(&home).output().unwrap();
    let said = heard + &String::from_utf8_lossy(&status.stdout);
    live.proxy.close_input();
    let said = said + &live.proxy.stderr();
    assert!(said.contains("the home directory is not tracked"), "{said}");
    let roots = std::fs::read_dir(scratch.at("state/roots")).unwrap().count();
    assert_eq!(roots, 0, "something was kept of the home directory");
}

// C62: editor and proxy are killed with items pending.
#[test]
fn items_that_nobody_decided_on_are_the_same_after_a_kill_and_a_restart() {
    let scratch = Scratch::git();
    let lines: String = (0..50).map(|n| format!("line {n}\n")).collect();
    scratch.write("repository/a", &lines);
    let mut live = scratch.session();
    live.prompt("sed -i 's/line [0-4]*5$/changed/' a");
    let before = scratch.hunks();
    assert_eq!(before.len(), 5);
    live.kill();
    assert_eq!(identities(&scratch.hunks()), identities(&before), "after the kill");
    let mut live = scratch.start(|_| {});
    live.call("initialize", json!({ "protocolVersion": 1 }));
    live.call("session/load", json!({ "sessionId": "s1", "cwd": scratch.repository(), "mcpServers": [] }));
    assert_eq!(identities(&scratch.hunks()), identities(&before), "loaded again");
    live.kill();
    let mut other = scratch.start(|command| {
        command.env("SESSION", "s2");
    });
    other.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    let listing = scratch.json(&["hunks", "--session", "s1"]);
    assert_eq!(identities(listing["hunks"].as_array().unwrap()), identities(&before), "beside a new session");
    other.end();
    assert_eq!(scratch.says(&["reject", "--all", "--session", "s1"]).1, 0);
    assert_eq!(scratch.read("repository/a"), lines);
}

// C63: everything that git can prune is pruned in the middle of a session.
#[test]
fn a_queue_survives_an_amend_an_expired_reflog_and_an_aggressive_prune() {
    let scratch = Scratch::git();
    scratch.write("repository/packed", "one\n");
    scratch.commit("one");
    scratch.says_git(&["repack", "-adq"]);
    scratch.write("repository/loose", "one\n");
    scratch.commit("two");
    let mut live = scratch.session();
    live.prompt("echo two >> packed; echo two >> loose");
    let before = scratch.hunks();
    assert_eq!(before.len(), 2);
    scratch.write("repository/packed", "the person's\n");
    scratch.write("repository/loose", "the person's\n");
    for args in [
        &["add", "-A"][..],
        &["commit", "-q", "--amend", "-m", "amended"],
        &["update-ref", "-d", "ORIG_HEAD"],
        &["reflog", "expire", "--expire=now", "--all"],
        &["gc", "-q", "--prune=now", "--aggressive"],
    ] {
        scratch.says_git(args);
    }
    scratch.write("repository/packed", "one\ntwo\n");
    scratch.write("repository/loose", "one\ntwo\n");
    let after = scratch.hunks();
    let texts = |hunks: &[Value]| -> Vec<_> {
        hunks
            .iter()
            .map(|hunk| ["path", "before_content", "after_content"].map(|key| hunk[key].clone()))
            .collect()
    };
    assert_eq!(texts(&after), texts(&before));
    live.end();
    assert_eq!(scratch.says(&["reject", "--all", "--force"]).1, 0);
    assert_eq!(
        (scratch.read("repository/packed"), scratch.read("repository/loose")),
        ("one\n".into(), "one\n".into())
    );
    let refs = || {
        let all = files(&scratch.at("state"));
        let refs = all.keys().filter(|path| path.to_string_lossy().contains("refs/hunkgate/sessions/"));
        refs.count()
    };
    assert_eq!(refs(), 1, "the session is pinned");
    assert_eq!(scratch.says(&["sessions", "delete", "s1"]).1, 0);
    assert_eq!(refs(), 0, "the pin of a deleted session is left");
}

// Law: a disk without room for us stops no conversation, loses no work and is said.
#[test]
fn where_nothing_more_can_be_written_the_conversation_goes_on_and_it_is_said() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let full = "trap '' XFSZ; ulimit -f 64; exec \"$0\" run -- /bin/sh -c \"$1\"";
    let mut live = scratch.start_by(&["/bin/sh", "-c", full]);
    live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    live.prompt("echo two >> a");
    let good = scratch.paths();
    assert_eq!(good, ["a"]);
    // More than any file may grow to, in small files: the store's segment has no room for them.
    let flood =
        "n=0; while [ $n -lt 40 ]; do n=$((n+1)); printf '%08000d\\n' $n > big$n; done; echo three >> a";
    let heard = live.prompt(flood).concat();
    assert!(heard.contains("end_turn"), "{heard}");
    let last = live.prompt("echo four >> a").concat();
    assert!(last.contains("end_turn"), "{last}");
    assert_eq!(scratch.read("repository/a"), "one\ntwo\nthree\nfour\n");
    let said = format!("{heard}{last}{}{}", scratch.says(&["status"]).0, scratch.says(&["log"]).0);
    assert!(
        said.contains("append to") || said.contains("File too large"),
        "nobody says that it failed: {said}"
    );
    live.end();
    // With room again everything is seen, and nothing of what was recorded before is lost.
    let mut live = scratch.start(|_| {});
    live.call("initialize", json!({ "protocolVersion": 1 }));
    live.call("session/load", json!({ "sessionId": "s1", "cwd": scratch.repository(), "mcpServers": [] }));
    live.prompt(":");
    let hunks = scratch.hunks();
    let a: Vec<_> = hunks.iter().filter(|hunk| hunk["path"] == "a").collect();
    let after: String = a.iter().map(|hunk| hunk["after_content"].as_str().unwrap()).collect();
    assert_eq!(after, "two\nthree\nfour\n", "{hunks:?}");
    live.end();
}

// Law: without watches left the rest is walked; without a queue everything is; nothing is missed, and it is said.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn when_the_kernel_has_no_watches_left_nothing_is_missed() {
    let scratch = Scratch::git();
    for n in 0..12 {
        scratch.write(&format!("repository/d{n}/f"), "one\n");
    }
    let apart = ["unshare", "--user", "--map-root-user", "/bin/sh", "-c"];
    let probe = Command::new(apart[0])
        .args(&apart[1..])
        .arg("echo 3 > /proc/sys/user/max_inotify_watches")
        .stderr(std::process::Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this kernel gives us no user namespace with limits of its own");
        return;
    }
    for (limit, mode) in [
        ("echo 3 > /proc/sys/user/max_inotify_watches", "hybrid"),
        ("echo 0 > /proc/sys/user/max_inotify_instances", "walk"),
    ] {
        let script = format!("{limit} && exec \"$0\" run -- /bin/sh -c \"$1\"");
        let mut live = scratch.start_by(&[&apart[..], &[&script]].concat());
        live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
        live.prompt(&format!(
            "for n in 0 4 8 11; do echo {mode} >> d$n/f; done; mkdir -p new/{mode}; echo x > new/{mode}/f"
        ));
        let paths = scratch.paths();
        for path in ["d0/f", "d4/f", "d8/f", "d11/f", &format!("new/{mode}/f")] {
            assert!(paths.iter().any(|listed| listed == path), "{mode}: {path} is not in {paths:?}");
        }
        let status = scratch.json(&["status"])["roots"][0].clone();
        assert_eq!(status["observing"], mode, "{status}");
        assert!(status["because"].is_string(), "nobody says why: {status}");
        live.end();
    }
}

// Two containers share a state directory and a worktree, and not their process numbers: neither takes the other for dead.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn a_proxy_in_another_container_is_not_taken_for_dead() {
    let apart: Vec<_> = "unshare --user --map-root-user --pid --fork --kill-child --mount-proc /bin/sh -c"
        .split(' ')
        .collect();
    let probe =
        Command::new(apart[0]).args(&apart[1..]).arg(":").stderr(std::process::Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this kernel gives us no process table of our own");
        return;
    }
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let mut here = scratch.session();
    here.prompt(":");
    scratch.write("work", ":");
    let script = "export SESSION=s2; exec \"$0\" run -- /bin/sh -c \"$1\"";
    let mut there = scratch.start_by(&[&apart[..], &[script]].concat());
    there.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    there.call("session/prompt", json!({ "sessionId": "s2", "prompt": [] }));
    here.prompt("echo two >> a");
    assert!(!scratch.kept_chain().contains("\"lost\":true"), "a living proxy was said to be dead");
    let listing = scratch.json(&["hunks", "--session", "s1"]);
    assert_eq!(listing["hunks"][0]["tool_call_ids"], json!(["t2"]), "{listing}");
    there.kill();
    here.prompt("echo three >> a");
    until("the death of the other is seen", || {
        drop(scratch.hunks());
        scratch.kept_chain().contains("\"lost\":true")
    });
    here.end();
}

// Another directory in the place of the root is not the root with everything deleted: it is said, and a person decides.
#[test]
fn another_directory_in_the_place_of_a_root_is_asked_about_and_nothing_is_taken_for_deleted() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.turn("echo two >> a");
    let before = identities(&scratch.hunks());
    let (place, aside) = (scratch.repository(), scratch.at("aside"));
    std::fs::rename(&place, &aside).unwrap();
    std::fs::create_dir(&place).unwrap();
    scratch.says_git(&["init", "-q"]);
    scratch.write("repository/b", "of the other directory\n");
    let listing = scratch.json(&["hunks"]);
    assert_eq!(identities(listing["hunks"].as_array().unwrap()), before, "{listing}");
    assert!(listing["degraded"].to_string().contains("another directory"), "{listing}");
    assert_ne!(scratch.says(&["reject", "--all", "--force"]).1, 0);
    assert!(!scratch.at("repository/a").exists() && scratch.at("repository/b").exists());
    // A file of the same name and bytes is not the one that the agent wrote.
    scratch.write("repository/a", "one\ntwo\n");
    let (said, code) = scratch.says(&["reject", "--all", "--force"]);
    assert_ne!(code, 0, "{said}");
    assert_eq!(std::fs::read_to_string(scratch.at("repository/a")).unwrap(), "one\ntwo\n", "{said}");
    // The root comes back as it was.
    std::fs::rename(&place, scratch.at("other")).unwrap();
    std::fs::rename(&aside, &place).unwrap();
    let listing = scratch.json(&["hunks"]);
    assert_eq!(
        (identities(listing["hunks"].as_array().unwrap()), &listing["degraded"]),
        (before, &json!([]))
    );
    // The other one takes its place, and a person says that this is right.
    std::fs::rename(&place, &aside).unwrap();
    std::fs::rename(scratch.at("other"), &place).unwrap();
    assert_eq!(scratch.says(&["rebase", "--yes"]).1, 0);
    assert!(scratch.hunks().is_empty());
    scratch.turn("echo two >> b");
    assert_eq!(scratch.paths(), ["b"]);
}
