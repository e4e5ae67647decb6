//! What fails in the middle of a session is said in the conversation, at the end of the turn in which it happens.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]

use crate::proxy::until;
use crate::scratch::{Live, Scratch};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

/// Starts a proxy that is told, and not ended, when a file may not grow.
#[cfg(target_os = "linux")]
fn session_on_a_disk_with_limits(scratch: &Scratch) -> Live<'_> {
    let script = "trap '' XFSZ; exec \"$0\" run -- /bin/sh -c \"$1\"";
    let mut live = scratch.start_by(&["/bin/sh", "-c", script]);
    live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    live
}

/// From now on no file of the proxy grows beyond so many bytes.
#[cfg(target_os = "linux")]
fn limit(live: &Live<'_>, bytes: Option<u64>) {
    let pid = Pid::from_child(&live.proxy.child);
    prlimit(Some(pid), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

/// What our own messages say.
fn said(heard: &[String]) -> String {
    let ours = heard.iter().filter_map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        frame["params"]["update"]["content"]["text"].as_str().map(str::to_owned)
    });
    ours.collect::<Vec<_>>().join("\n----\n")
}

/// How often our own messages say something.
fn times(heard: &[String], what: &str) -> usize {
    said(heard).matches(what).count()
}

fn degraded(scratch: &Scratch) -> Value {
    scratch.json(&["status"])["roots"][0]["degraded"].clone()
}

// Law: every degradation is said where the person looks: in the conversation, when it happens.
#[test]
fn a_root_that_is_replaced_or_vanishes_is_said_at_the_end_of_the_turn_and_so_is_that_it_is_back() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let mut live = scratch.session();
    live.prompt("echo two >> a");
    for (away, what) in
        [("mkdir repository; echo x > repository/b", "another directory stands there"), (":", "No such file")]
    {
        let heard = live.prompt(&format!("(cd ..; mv repository aside; {away})"));
        assert_eq!(times(&heard, what), 1, "{heard:?}");
        assert!(
            heard.last().is_some_and(|last| last.contains("end_turn")),
            "it is said after the end: {heard:?}"
        );
        let again = live.prompt(":");
        assert_eq!(times(&again, what), 0, "it is said again: {again:?}");
        assert!(live.slash("/hunkgate list").contains(what));
        assert!(live.slash("/hunkgate status").contains(what));
        let back = live.prompt("(cd ..; rm -rf repository; mv aside repository); echo more >> a");
        assert_eq!(times(&back, "is recorded again"), 1, "{back:?}");
        assert_eq!(degraded(&scratch), Value::Null);
        let status = scratch.json(&["status"]);
        assert!(status["gaps"].as_u64() > Some(0), "{status}");
    }
    live.end();
}

// Law: a disk that is full in mid-session is said there; what could not be written is written when there is room, and what a
// person decided meanwhile was refused.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_becomes_full_is_said_and_what_it_refused_is_written_when_there_is_room() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let mut live = session_on_a_disk_with_limits(&scratch);
    live.prompt("echo two >> a");
    // Of a longer line only the beginning can be written.
    limit(&live, Some(scratch.kept_chain().len() as u64 + 20));
    let heard = live.prompt("echo three >> a");
    assert_eq!(times(&heard, "File too large"), 1, "{heard:?}");
    assert_eq!(times(&live.prompt("echo four >> a"), "File too large"), 0);
    assert!(live.slash("/hunkgate list").contains("File too large"));
    let accepted = live.slash("/hunkgate accept all");
    assert!(!accepted.contains("Accepted") && accepted.contains("could not be recorded"), "{accepted}");
    limit(&live, None);
    let heard = live.prompt("echo five >> a");
    assert_eq!(times(&heard, "is recorded again"), 1, "{heard:?}");
    assert_eq!(degraded(&scratch), Value::Null);
    let told = |hunks: &[Value]| hunks.iter().map(|hunk| hunk["author_lines"].clone()).collect::<Vec<_>>();
    let (now, gaps) = (scratch.hunks(), scratch.json(&["status"])["gaps"].clone());
    live.end();
    // Nothing was lost, and nothing is said to be damaged: a later process tells the same.
    let status = scratch.json(&["status"]);
    assert_eq!((degraded(&scratch), told(&scratch.hunks())), (Value::Null, told(&now)), "{status}");
    assert_eq!(status["gaps"], gaps, "{status}");
    assert!(!status["warnings"].to_string().contains("chain line"), "{status}");
    assert!(scratch.says(&["log"]).0.contains("records that came late"), "{}", scratch.says(&["log"]).0);
}

// Law: the same of a state directory in which nothing can be made any more, or which is gone.
#[test]
fn a_state_directory_that_becomes_read_only_or_vanishes_is_said() {
    let scratch = Scratch::git().owned_by_an_ordinary_user();
    scratch.write("repository/a", "one\n");
    let mut live = scratch.session();
    live.prompt("echo two >> a");
    let (state, aside) = ("\"$HUNKGATE_STATE_DIR\"", "\"$HUNKGATE_STATE_DIR.aside\"");
    for (breaks, what, mends) in [
        (format!("chmod -R a-w {state}"), "Permission denied", format!("chmod -R u+w {state}")),
        (format!("mv {state} {aside}"), "No such file", format!("mv {aside} {state}")),
    ] {
        let heard = live.prompt(&format!("{breaks}; echo three >> a"));
        assert_eq!(times(&heard, what), 1, "{heard:?}");
        let status = live.slash("/hunkgate status");
        assert!(status.contains("degraded: ") && status.contains(what), "{status}");
        let heard = live.prompt(&format!("{mends}; echo four >> a"));
        assert_eq!(times(&heard, "is recorded again"), 1, "{heard:?}");
        assert!(!live.slash("/hunkgate status").contains("degraded: "));
    }
    assert_eq!(scratch.read("repository/a"), "one\ntwo\nthree\nfour\nthree\nfour\n");
    live.end();
}

// Law: what is written to a file that was removed is not lost without a word: the ledger of a session is written again, whole;
// of a root that is said which nobody can write again, as long as the proxy lives, whoever begins its chain anew.
#[test]
fn what_was_removed_from_the_state_directory_is_written_again_or_said() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let mut live = scratch.session();
    live.prompt("echo two >> a");
    let (again, gone) = ("was written there again", "nothing more is recorded of it");
    let heard = live.prompt("rm -rf \"$HUNKGATE_STATE_DIR/sessions\"; echo three >> a");
    assert_eq!((times(&heard, again), times(&heard, gone)), (1, 0), "{heard:?}");
    assert!(live.slash("/hunkgate accept all").contains("Accepted 1 change"));
    assert_eq!(scratch.json(&["status"])["queue"]["accepted"], 1);
    let heard = live.prompt("rm -rf \"$HUNKGATE_STATE_DIR\"; echo four >> a");
    assert_eq!((times(&heard, again), times(&heard, gone)), (1, 1), "{heard:?}");
    // Another process begins the chain anew: it is not taken for the old one.
    let mut other = scratch.start(|command| {
        command.env("SESSION", "s2");
    });
    other.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    other.turn_of("s2", "echo five >> a");
    let heard = live.prompt("echo six >> a");
    assert_eq!(
        (times(&heard, again), times(&heard, gone), times(&heard, "in order")),
        (0, 0, 0),
        "{heard:?}"
    );
    assert!(live.slash("/hunkgate list").contains(gone));
    other.end();
    live.end();
    let log = scratch.says(&["log", "--session", "s1"]).0;
    assert!(log.contains("turn 1 started") && log.contains("turn 3 started"), "{log}");
    assert_eq!(scratch.read("repository/a"), "one\ntwo\nthree\nfour\nfive\nsix\n");
}

// Law: whoever removes what commands in a terminal find a proxy by (its socket, the file of a lease, or all) cuts nobody off: it
// is made again, and said. Meanwhile no command takes the session for one that nobody holds.
#[test]
fn commands_reach_a_proxy_whose_socket_lease_or_whole_state_was_removed() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    let mut live = scratch.session();
    live.prompt("echo two >> a");
    let again = "was made there again";
    for removed in ["run", "sessions/*/lease"] {
        std::process::Command::new("/bin/sh")
            .args(["-c", &format!("rm -r \"$0\"/{removed}")])
            .arg(scratch.at("state"))
            .status()
            .unwrap();
        let (said, told) = scratch.says(&["accept", "--all"]);
        assert!(said.contains("accept: 1 hunk"), "{removed}: {said} {told}");
        // The live one carried it out: nobody else wrote beside it.
        assert!(live.slash("/hunkgate undo").contains("Took back 1 change"), "{removed}");
        until("it stands again", || scratch.says(&["log"]).0.matches(again).count() >= 1);
        let heard = live.prompt(":");
        assert_eq!(times(&heard, again), 1, "{removed}: {heard:?}");
        assert_eq!(times(&live.prompt(":"), again), 0, "{removed}");
    }
    std::fs::remove_dir_all(scratch.at("state")).unwrap();
    until("the session is found", || scratch.says(&["status"]).0.contains("written there again"));
    assert_eq!(scratch.json(&["status"])["queue"]["unreviewed"], 1);
    assert!(scratch.says(&["comment", "a:1", "well"]).0.contains("comment"));
    assert!(live.slash("/hunkgate note").contains("well"));
    live.end();
}

// Law: what stands in the place of a configuration and cannot be read is said, also where nothing stood there, and where only its
// mode is another; so is that it can be read again.
#[test]
fn a_configuration_that_cannot_be_read_any_more_is_said_and_so_is_that_it_can() {
    const OWN: &str = "home/.config/hunkgate/config.toml";
    let kept = "the policy stays as it was";
    let scratch = Scratch::git().owned_by_an_ordinary_user();
    let place = scratch.at(OWN).display().to_string();
    let mut live = scratch.session();
    let heard = live.prompt(&format!("mkdir -p '{place}' .hunkgate.toml"));
    assert_eq!(times(&heard, kept), 1, "{heard:?}");
    assert_eq!(times(&heard, ".hunkgate.toml cannot be read, and is not in force"), 1, "{heard:?}");
    assert_eq!(times(&live.prompt(":"), "stays as it was"), 0);
    let heard = live.prompt(&format!("rmdir '{place}' .hunkgate.toml"));
    assert_eq!(times(&heard, "the configuration is in force as it is written"), 1, "{heard:?}");
    assert_eq!(times(&heard, "what stands there is in force"), 1, "{heard:?}");

    live.prompt(&format!("echo '[permissions]' > '{place}'; touch -d 2001-01-01 '{place}'"));
    for _ in 0..2 {
        let heard = live.prompt(&format!("chmod 000 '{place}'"));
        assert_eq!(times(&heard, kept), 1, "{heard:?}");
        let heard = live.prompt(&format!("chmod 600 '{place}'"));
        assert_eq!(times(&heard, "the configuration is in force as it is written"), 1, "{heard:?}");
    }
    let heard = live.prompt(&format!("rm '{place}'"));
    assert_eq!(times(&heard, "your configuration is gone"), 1, "{heard:?}");
    live.end();
}
