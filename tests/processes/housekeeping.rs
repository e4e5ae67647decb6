//! What is kept, for whom, and what goes.

use crate::scratch::{Scratch, files};
use serde_json::json;

#[test]
fn a_sweep_says_who_keeps_what_and_takes_only_what_was_deleted() {
    let scratch = Scratch::git();
    scratch.write("repository/a.txt", "one\n");
    scratch.commit("base");
    let mut live = scratch.session();
    live.prompt("echo two > a.txt");
    let queue = scratch.hunks();
    assert_eq!(queue.len(), 1);
    // As a delete that was killed leaves it: in the trash, its pins still there.
    scratch.write("state/trash/gone-1/ledger.jsonl", "x".repeat(100));
    let root = std::fs::read_dir(scratch.at("state/roots")).unwrap().next().unwrap().unwrap().file_name();
    let refs = format!("state/roots/{}/store.git/refs/hunkgate/sessions", root.to_str().unwrap());
    let pin = || std::fs::read_dir(scratch.at(&refs)).ok()?.flatten().next().map(|entry| entry.path());
    crate::proxy::until("the session is pinned", || pin().is_some());
    let pin = pin().unwrap();
    scratch.write(&format!("{refs}/gone"), std::fs::read(pin).unwrap());

    // The proxy packs what the turn brought beside all this, and is done some time.
    let mut found = json!(null);
    crate::proxy::until("a dry run touches nothing", || {
        let before = files(&scratch.at("state/roots"));
        found = scratch.json(&["gc", "--dry-run"]);
        files(&scratch.at("state/roots")) == before
    });
    let kept = &found["roots"][0];
    assert_eq!((&found["cap"], &kept["at_cap"]), (&json!(10_u64 << 30), &json!(false)));
    assert_eq!(kept["path"], json!(scratch.repository()));
    assert_eq!(kept["sessions"][0]["connected"], json!(true));
    assert!(kept["chain"].as_u64() > Some(0) && kept["bytes"].as_u64() > kept["chain"].as_u64(), "{kept}");
    let swept = &found["swept"];
    assert_eq!(
        (&swept["dry_run"], &swept["trash"], &swept["roots"]),
        (&json!(true), &json!(100), &json!([]))
    );
    assert_eq!(swept["pins"], json!([[root.to_str(), "gone"]]));

    let (text, code) = scratch.says(&["gc"]);
    assert_eq!(code, 0);
    assert!(text.contains("connected: session") && text.contains("swept 1 pin and 0 roots"), "{text}");
    assert!(!scratch.at("state/trash/gone-1").exists() && !scratch.at(&format!("{refs}/gone")).exists());
    assert_eq!(scratch.hunks(), queue, "nothing that is kept went");
    live.end();
    let again = scratch.json(&["gc"]);
    assert_eq!(again["roots"][0]["sessions"][0]["connected"], json!(false));
    assert_eq!((&again["swept"]["bytes"], &again["swept"]["pins"]), (&json!(0), &json!([])));
    assert_eq!(scratch.hunks(), queue);
}

#[test]
fn a_repository_that_is_away_sweeps_nothing() {
    let scratch = Scratch::git();
    let mut live = scratch.session();
    live.prompt("echo two > a.txt");
    live.end();
    std::fs::rename(scratch.repository(), scratch.at("away")).unwrap();
    let state = files(&scratch.at("state"));
    let output = scratch.hunkgate(&["gc", "--json"]).current_dir(scratch.at("home")).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["swept"]["bytes"], &found["swept"]["roots"]), (&json!(0), &json!([])));
    assert_eq!(files(&scratch.at("state")), state);
}

#[test]
fn what_an_agent_started_looks_and_does_not_sweep() {
    let scratch = Scratch::git();
    let mut live = scratch.session();
    scratch.write("state/trash/gone-1/ledger.jsonl", "x");
    let binary = env!("CARGO_BIN_EXE_hunkgate");
    live.prompt(&format!("'{binary}' gc > gc.txt 2>&1 || :; '{binary}' gc --dry-run > dry.txt 2>&1"));
    assert!(
        scratch.read("repository/gc.txt").contains("may not sweep"),
        "{}",
        scratch.read("repository/gc.txt")
    );
    assert!(scratch.read("repository/dry.txt").contains("would sweep"));
    assert!(scratch.at("state/trash/gone-1").exists());
    live.end();
}

#[test]
fn a_measurement_leaves_the_repository_and_the_temporary_directory_as_they_were() {
    let scratch = Scratch::git();
    for n in 0..50 {
        scratch.write(&format!("repository/src/{n}.txt"), format!("{n}\n"));
    }
    scratch.write("repository/.gitattributes", "*.big filter=loud\n");
    scratch.says_git(&["config", "filter.loud.clean", "touch ran; cat"]);
    scratch.says_git(&["config", "filter.loud.required", "true"]);
    scratch.commit("base");
    drop(std::fs::remove_file(scratch.at("repository/ran")));
    scratch.write("repository/new.big", "not added\n");
    scratch.write("repository/.git/hooks/post-index-change", "#!/bin/sh\ntouch ran\n");
    scratch.chmod("repository/.git/hooks/post-index-change", 0o755);
    std::fs::create_dir(scratch.at("tmp")).unwrap();
    let before = files(&scratch.repository());
    let bench = |dir: &str, path: Option<&str>| {
        let mut command = scratch.hunkgate(&["bench", "--rounds", "2", "--json", dir]);
        command.env("TMPDIR", scratch.at("tmp"));
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().unwrap();
        assert_eq!(std::fs::read_dir(scratch.at("tmp")).unwrap().count(), 0, "nothing is left behind");
        assert_eq!(files(&scratch.repository()), before, "the repository is as it was");
        assert!(!scratch.at("state").exists(), "the state of the person is not touched");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_else(|_| {
            assert!(!output.status.success());
            json!(String::from_utf8_lossy(&output.stderr))
        })
    };
    let measured = bench("src", None);
    assert_eq!((&measured["root"], &measured["files"]), (&json!(scratch.repository()), &json!(52)));
    assert_eq!(measured.get("no_git"), None, "{measured}");
    let looks = measured["looks"].as_array().unwrap();
    assert_eq!(
        looks.iter().map(|cost| cost["look"].as_str().unwrap()).collect::<Vec<_>>(),
        ["first", "idle", "walk"]
    );
    assert!(
        looks.iter().all(|cost| cost["ns"].as_u64() > Some(0) && cost["git_ns"].as_u64() > Some(0)),
        "{measured}"
    );
    let alone = bench(".", Some("/nowhere"));
    assert!(alone["no_git"].as_str().unwrap().contains("git cannot be run"), "{alone}");
    assert_eq!(alone["looks"][0]["git_ns"], json!(null));
    assert!(bench("absent", None).as_str().unwrap().contains("absent"));
}

// `[store] keep`: what nobody held and nothing happened in for so long goes when a proxy starts, or with `gc`; what is
// held, younger, or of a directory that is away stays.
#[test]
fn a_session_that_is_kept_no_longer_goes_and_no_other() {
    let scratch = Scratch::git();
    scratch.write("home/.config/hunkgate/config.toml", "[store]\nkeep = \"30d\"\n");
    scratch.turn("echo one > a.txt");
    let aged = |days: u64| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 24 * 3600);
        for session in std::fs::read_dir(scratch.at("state/sessions")).unwrap().flatten() {
            let ledger = std::fs::File::options().append(true).open(session.path().join("ledger.jsonl"));
            ledger.unwrap().set_modified(then).unwrap();
        }
    };
    let kept = || scratch.json(&["sessions"])["items"].as_array().unwrap().len();
    aged(29);
    assert_eq!((scratch.json(&["gc"])["swept"]["sessions"].clone(), kept()), (json!([]), 1));
    aged(31);
    std::fs::rename(scratch.repository(), scratch.at("away")).unwrap();
    let elsewhere = |words: &[&str]| {
        let output = scratch.hunkgate(words).current_dir(scratch.at("home")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = elsewhere(&["gc"]);
    assert!(!said.contains("deleted session s1"), "its directory is away: {said}");
    std::fs::rename(scratch.at("away"), scratch.repository()).unwrap();
    assert!(elsewhere(&["gc", "--dry-run"]).contains("would delete session s1: [store] keep is over"));
    assert_eq!(kept(), 1);
    assert!(elsewhere(&["gc"]).contains("deleted session s1: [store] keep is over"));
    assert_eq!(kept(), 0);
    assert_eq!(scratch.read("repository/a.txt"), "one\n");

    scratch.turn("echo two > a.txt");
    aged(31);
    // The scripted agent calls every session the same: the old one has to be gone before the new one is opened. A command
    // that is asked meanwhile holds it.
    let stand = || std::fs::read_dir(scratch.at("state/sessions")).unwrap().count();
    assert_eq!(stand(), 1);
    let mut live = scratch.start(|_| {});
    crate::proxy::until("the old session is gone", || stand() == 0);
    live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    live.prompt("echo three > a.txt");
    aged(31);
    assert_eq!(scratch.json(&["gc"])["swept"]["sessions"], json!([]), "a proxy holds it");
    live.end();
}

// Law: a typing error in the configuration keeps nobody from what is recorded, and decides nothing.
#[test]
fn a_configuration_that_cannot_be_read_is_said_and_what_only_reads_goes_on() {
    const CONFIG: &str = "home/.config/hunkgate/config.toml";
    let scratch = Scratch::git();
    scratch.write(CONFIG, "[secrets]\nwithhold = [\"notes*\"]\n");
    scratch.write("repository/a", "one\n");
    scratch.turn("echo two >> a");
    scratch.write(CONFIG, "[secrets]\nwithhold = [\"notes*\", \"more*\"\n[store\n");
    let id = scratch.hunks()[0]["id"].as_str().unwrap().to_owned();
    let says = |words: &[&str]| {
        let output = scratch.hunkgate(words).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned(), err)
    };
    for words in [
        &["hunks"][..],
        &["show", &id],
        &["log"],
        &["status"],
        &["sessions"],
        &["diff"],
        &["blame", "a"],
        &["note"],
        &["pending"],
        &["grants"],
        &["gc", "--dry-run"],
        &["reject", "--all"],
        &["undo"],
        &["accept", "--all"],
    ] {
        let (code, out, err) = says(words);
        assert_eq!(code, 0, "{words:?}: {out}{err}");
        assert_eq!(err.matches("config.toml:").count(), 1, "{words:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{words:?}: {err}");
    }
    assert!(says(&["status"]).1.contains("cannot be used"));
    // What was withheld still is.
    scratch.write("repository/notes.txt", "hush\n");
    scratch.hunks();
    let kept: Vec<u8> = files(&scratch.at("state")).into_values().flat_map(|(_, bytes)| bytes).collect();
    assert!(!kept.windows(4).any(|bytes| bytes == b"hush"), "what is withheld was stored");
    // What would judge, or throw away, by it does not.
    for words in [&["gc"][..], &["policy", "check", "--", "ls"], &["run", "--", "true"]] {
        let (code, out, err) = says(words);
        assert!(code == 2 && (out + &err).contains("config.toml:"), "{words:?}: {err}");
    }
    let doctor = says(&["doctor"]);
    assert!(doctor.0 != 0 && doctor.1.contains("config.toml:3: missing comma"), "{doctor:?}");
    // Without a copy the defaults hold; a file that is gone leaves none.
    std::fs::remove_file(scratch.at("state/config.toml")).unwrap();
    assert!(says(&["hunks"]).2.contains("the defaults hold"));
    scratch.write(CONFIG, "[secrets]\n");
    assert_eq!(says(&["hunks"]).2, "");
    assert!(scratch.at("state/config.toml").exists());
    std::fs::remove_file(scratch.at(CONFIG)).unwrap();
    assert_eq!(says(&["hunks"]).2, "");
    assert!(!scratch.at("state/config.toml").exists());
}
