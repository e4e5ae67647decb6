//! Repositories as they are in the field (C47 to C61): nested, linked, odd names, modes, links, hooks, other people at work.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::scratch::{Scratch, files};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The items of the queue by path and kind of entry.
fn kinds(hunks: &[Value]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    hunks.iter().map(|hunk| (word(&hunk["path"]), word(&hunk["entry"]["kind"]))).collect()
}

fn reject_all(scratch: &Scratch) {
    let (told, code) = scratch.says(&["reject", "--all", "--force"]);
    assert_eq!(code, 0, "{told}");
}

// C47: nested repositories, with a commit and without one.
#[test]
fn edits_in_nested_repositories_are_listed_and_go_back() {
    let scratch = Scratch::git();
    scratch.write("repository/f", "outer\n");
    for (nested, commit) in [("committed", true), ("unborn", false)] {
        scratch.write(&format!("repository/vendor/{nested}/g"), "inner\n");
        let dir = format!("vendor/{nested}");
        scratch.says_git(&["-C", &dir, "init", "-q"]);
        if commit {
            scratch.says_git(&["-C", &dir, "add", "-A"]);
            scratch.says_git(&["-C", &dir, "commit", "-qm", "one"]);
        }
    }
    let git = |nested: &str| files(&scratch.at(&format!("repository/vendor/{nested}/.git")));
    let before = (git("committed"), git("unborn"));
    scratch.turn("echo more >> f; echo more >> vendor/committed/g; echo more >> vendor/unborn/g");
    assert_eq!(scratch.paths(), ["f", "vendor/committed/g", "vendor/unborn/g"]);
    reject_all(&scratch);
    for nested in ["committed", "unborn"] {
        assert_eq!(scratch.read(&format!("repository/vendor/{nested}/g")), "inner\n");
    }
    assert_eq!((git("committed"), git("unborn")), before, "a nested repository was written to");
}

// C48: edits inside a submodule.
#[test]
fn an_edit_in_a_submodule_is_listed_under_its_path_and_its_gitlink_stays() {
    let scratch = Scratch::git();
    scratch.write("repository/f", "outer\n");
    scratch.commit("one");
    let library = scratch.at("library");
    std::fs::create_dir(&library).unwrap();
    let library = library.to_str().unwrap();
    scratch.says_git(&["-C", library, "init", "-q"]);
    scratch.write("library/g", "one\ntwo\n");
    scratch.says_git(&["-C", library, "add", "-A"]);
    scratch.says_git(&["-C", library, "commit", "-qm", "one"]);
    scratch.says_git(&["submodule", "--quiet", "add", library, "sub"]);
    scratch.commit("with a submodule");
    let before = files(&scratch.at("repository/.git"));
    scratch.turn("echo three >> sub/g");
    let hunks = scratch.hunks();
    assert_eq!(kinds(&hunks), [("sub/g".to_owned(), "text".to_owned())]);
    assert_eq!(hunks[0]["tool_call_ids"], json!(["t1"]));
    reject_all(&scratch);
    assert_eq!(scratch.read("repository/sub/g"), "one\ntwo\n");
    assert_eq!(files(&scratch.at("repository/.git")), before);
    assert_eq!(scratch.says_git(&["status", "--porcelain"]), "", "the gitlink is dirty");
}

// C50: a linked worktree inside the repository.
#[test]
fn a_linked_worktree_inside_the_repository_is_content_of_it_and_a_root_of_its_own() {
    let scratch = Scratch::git();
    scratch.write("repository/f", "x\n");
    scratch.commit("one");
    scratch.says_git(&["worktree", "add", "-q", ".claude/worktrees/x"]);
    let mut live = scratch.session();
    live.prompt("echo more >> .claude/worktrees/x/f");
    assert_eq!(scratch.paths(), [".claude/worktrees/x/f"]);
    live.end();
    let mut inner = scratch.start(|command| {
        command.env("SESSION", "s2");
    });
    inner.open(json!({ "cwd": scratch.at("repository/.claude/worktrees/x"), "mcpServers": [] }));
    scratch.write("work", "echo again >> .claude/worktrees/x/f");
    inner.call("session/prompt", json!({ "sessionId": "s2", "prompt": [] }));
    let listing = scratch.json(&["hunks", "--session", "s2"]);
    assert_eq!(listing["hunks"][0]["path"], "f");
    assert!(listing["hunks"][0]["root"].as_str().unwrap().ends_with("worktrees/x"), "{listing}");
    inner.end();
}

// C52: one root that cannot be read takes nothing from the other.
#[test]
fn a_root_that_cannot_be_read_is_degraded_and_the_other_is_not() {
    let scratch = Scratch::bare();
    std::fs::create_dir(scratch.at("other")).unwrap();
    scratch.write("repository/a", "one\n");
    scratch.write("other/b", "one\n");
    scratch.chmod("other", 0o000);
    let scratch = scratch.owned_by_an_ordinary_user();
    let mut live = scratch.start(|_| {});
    live.open(json!({
        "cwd": scratch.repository(), "additionalDirectories": [scratch.at("other")], "mcpServers": []
    }));
    live.prompt("echo two >> a");
    let listing = scratch.json(&["hunks"]);
    let hunks = listing["hunks"].as_array().unwrap();
    assert_eq!((hunks.len(), &hunks[0]["path"]), (1, &json!("a")), "{listing}");
    let degraded = listing["degraded"].as_array().unwrap();
    let other = scratch.at("other");
    assert_eq!((degraded.len(), degraded[0]["root"].as_str()), (1, other.to_str()), "{listing}");
    assert!(degraded[0]["degraded"].as_str().unwrap().contains("ermission denied"), "{listing}");
    reject_all(&scratch);
    assert_eq!(scratch.read("repository/a"), "one\n");
    live.end();
    scratch.chmod("other", 0o700);
}

// C53: no `git` to be found, and a configuration of git that makes no sense.
#[test]
fn without_git_and_with_a_broken_git_configuration_a_turn_is_recorded_all_the_same() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.write("home/.gitconfig", "[[[ nonsense");
    let empty = scratch.at("nothing");
    std::fs::create_dir(&empty).unwrap();
    let mut live = scratch.start(|command| {
        command.env("PATH", &empty);
    });
    live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
    live.prompt("echo two >> a");
    live.end();
    assert_eq!(scratch.paths(), ["a"]);
}

// C53: a state directory that cannot be written.
#[test]
fn with_a_state_directory_that_may_not_be_written_everything_is_forwarded_and_it_is_said() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    std::fs::create_dir(scratch.at("state")).unwrap();
    scratch.chmod("state", 0o500);
    let scratch = scratch.owned_by_an_ordinary_user();
    let mut live = scratch.session();
    live.prompt("echo two >> a");
    assert_eq!(scratch.read("repository/a"), "one\ntwo\n");
    live.proxy.close_input();
    let said = live.proxy.stderr();
    assert!(said.contains("without recording"), "{said}");
}

// C56: nothing that the repository configures is run or waited for.
#[test]
fn no_hook_monitor_signer_or_filter_of_the_repository_runs_in_a_turn_and_its_reject() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.write("repository/b.big", "one\n");
    scratch.write("repository/.gitattributes", "*.big filter=lfs diff=lfs merge=lfs -text\n");
    scratch.commit("one");
    let ran = scratch.at("ran");
    let program = format!("#!/bin/sh\necho \"$0\" >> '{}'\nsleep 1000\n", ran.display());
    for hook in ["pre-commit", "post-index-change", "fsmonitor", "post-checkout", "reference-transaction"] {
        scratch.write(&format!("repository/.git/hooks/{hook}"), &program);
        scratch.chmod(&format!("repository/.git/hooks/{hook}"), 0o755);
    }
    let program = scratch.at("repository/.git/hooks/pre-commit");
    let program = program.to_str().unwrap();
    for key in
        ["core.fsmonitor", "gpg.program", "filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process"]
    {
        scratch.says_git(&["config", key, program]);
    }
    scratch.says_git(&["config", "commit.gpgsign", "true"]);
    scratch.turn("echo two >> a; echo two >> b.big");
    assert_eq!(scratch.paths(), ["a", "b.big"]);
    reject_all(&scratch);
    assert_eq!(
        (scratch.read("repository/a"), scratch.read("repository/b.big")),
        ("one\n".into(), "one\n".into())
    );
    assert_eq!(scratch.read("ran"), "", "a program of the repository ran");
}

// C57: a repository without a commit.
#[test]
fn a_repository_without_a_commit_is_tracked_like_any_other() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.turn("echo two >> a; echo new > b");
    assert_eq!(scratch.paths(), ["a", "b"]);
    reject_all(&scratch);
    assert_eq!(scratch.read("repository/a"), "one\n");
    assert!(!scratch.at("repository/b").exists());
}

// C58: names that are not ASCII, in both normal forms, and not UTF-8.
#[test]
fn names_of_every_script_are_shown_as_they_are_and_their_files_go_back() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::git();
    let names = ["公共函数.cpp", "e\u{301}.txt", "\u{e9}.txt", "🦀.rs", "a \"q\"\\ b", "new\nline"];
    for name in names {
        scratch.write(&format!("repository/{name}"), "one\n");
    }
    let odd = scratch.repository().join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    std::fs::write(&odd, "one\n").unwrap();
    scratch.turn("for f in *; do echo two >> \"$f\"; done");
    let hunks = scratch.hunks();
    assert_eq!(hunks.len(), names.len() + 1);
    let listed: Vec<_> = hunks.iter().map(|hunk| hunk["path"].as_str().unwrap()).collect();
    for name in names {
        assert!(listed.contains(&name), "{name:?} is not in {listed:?}");
    }
    assert!(hunks.iter().any(|hunk| hunk["path_bytes"].is_string()), "{listed:?}");
    let (shown, _) = scratch.says(&["hunks"]);
    for name in ["公共函数.cpp", "e\u{301}.txt", "\u{e9}.txt", "🦀.rs"] {
        assert!(shown.contains(name), "{name} is not in\n{shown}");
    }
    reject_all(&scratch);
    for name in names {
        assert_eq!(scratch.read(&format!("repository/{name}")), "one\n", "{name}");
    }
    assert_eq!(std::fs::read(&odd).unwrap(), b"one\n");
}

// C59: what a file is besides its bytes.
#[test]
fn a_reject_keeps_modes_attributes_and_the_other_names_of_a_file() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let scratch = Scratch::git();
    for (name, mode) in [("script.sh", 0o755), ("private", 0o640), ("marked", 0o644), ("linked", 0o644)] {
        scratch.write(&format!("repository/{name}"), "one\n");
        scratch.chmod(&format!("repository/{name}"), mode);
    }
    let marked = scratch.at("repository/marked");
    let marks = setxattr(&marked, "user.mark", b"kept", XattrFlags::empty()).is_ok();
    std::fs::hard_link(scratch.at("repository/linked"), scratch.at("elsewhere")).unwrap();
    scratch.turn("for f in script.sh private marked linked; do echo two >> $f; done");
    reject_all(&scratch);
    for (name, mode) in [("script.sh", 0o755), ("private", 0o640), ("marked", 0o644)] {
        let name = format!("repository/{name}");
        assert_eq!((scratch.read(&name), scratch.mode(&name)), ("one\n".into(), mode), "{name}");
    }
    if marks {
        let mut value = [0; 8];
        let size = getxattr(&marked, "user.mark", &mut value).unwrap();
        assert_eq!(&value[..size], b"kept", "an extended attribute is lost");
    }
    assert_eq!(scratch.read("elsewhere"), "one\n", "the other name of a file was cut off");
}

// C60: a mode alone, and a mode with content.
#[test]
fn a_change_of_mode_is_an_item_of_its_own_and_goes_back() {
    let scratch = Scratch::git();
    scratch.write("repository/alone", "x\n");
    scratch.write("repository/both", "one\n");
    scratch.turn("chmod 755 alone both; echo two >> both");
    let expected = [("alone", "mode"), ("both", "mode"), ("both", "text")];
    let mut found = kinds(&scratch.hunks());
    found.sort();
    assert_eq!(found, expected.map(|(path, kind)| (path.to_owned(), kind.to_owned())));
    let mode = scratch
        .hunks()
        .iter()
        .find(|hunk| hunk["path"] == "both" && hunk["entry"]["kind"] == "mode")
        .cloned();
    let id = mode.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(scratch.says(&["reject", &id]).1, 0);
    assert_eq!(
        (scratch.mode("repository/both"), scratch.read("repository/both")),
        (0o644, "one\ntwo\n".into())
    );
    reject_all(&scratch);
    assert_eq!((scratch.mode("repository/alone"), scratch.read("repository/both")), (0o644, "one\n".into()));
}

// C61: a link is its target's name, never what stands there.
#[test]
fn of_a_link_its_target_is_shown_and_never_what_stands_there() {
    let scratch = Scratch::git();
    let marker = "marker-of-an-outside-secret";
    scratch.write("outside/secret", format!("{marker}\n"));
    scratch.write("repository/file", "x\n");
    symlink("nowhere", scratch.at("repository/link")).unwrap();
    symlink("../outside", scratch.at("repository/dir")).unwrap();
    scratch
        .turn("ln -sfn ../outside/secret link; rm file; ln -s ../outside/secret file; ln -s ../outside new");
    let listing = scratch.json(&["hunks"]);
    let hunks = listing["hunks"].as_array().unwrap();
    let link = hunks.iter().find(|hunk| hunk["path"] == "link").unwrap();
    assert_eq!(link["entry"]["kind"], "symlink");
    assert!(link.to_string().contains("../outside/secret"), "{link}");
    assert!(!hunks.iter().any(|hunk| hunk["path"].as_str().unwrap().starts_with("dir/")), "{listing}");
    let mut said = listing.to_string();
    for words in [&["hunks"][..], &["diff"], &["log"], &["note"], &["blame", "link"], &["blame", "file"]] {
        said += &scratch.says(words).0;
    }
    for hunk in hunks {
        let id = hunk["id"].as_str().unwrap();
        said += &scratch.says(&["show", id]).0;
        said += &scratch.json(&["show", id]).to_string();
    }
    assert!(!said.contains(marker), "what stands behind a link was shown: {said}");
    let kept = files(&scratch.at("state"));
    let holds = |bytes: &[u8]| bytes.windows(marker.len()).any(|window| window == marker.as_bytes());
    assert!(!kept.values().any(|(_, bytes)| holds(bytes)), "what stands behind a link was kept");
    reject_all(&scratch);
    assert_eq!(std::fs::read_link(scratch.at("repository/link")).unwrap(), Path::new("nowhere"));
    assert_eq!(scratch.read("repository/file"), "x\n");
    assert_eq!(scratch.read("outside/secret"), format!("{marker}\n"));
}

// C54: a person who stages and commits while a proxy looks, and is killed again and again.
#[test]
fn a_person_who_commits_beside_a_proxy_that_is_killed_never_meets_a_lock() {
    let scratch = Scratch::git();
    scratch.write("repository/person", "0\n");
    scratch.commit("one");
    std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            for n in 1..=30 {
                scratch.write("repository/person", format!("{n}\n"));
                for args in [&["add", "person"][..], &["commit", "-q", "-m", "more"]] {
                    let output = scratch.try_git(args);
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                }
            }
        });
        let mut heard = 0;
        while !person.is_finished() {
            let mut live = scratch.session();
            live.begin("n=0; while [ $n -lt 40 ]; do n=$((n+1)); echo $n > agent; update '{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"'$call'\"}'; done");
            heard = (heard + 7) % 40;
            for _ in 0..heard {
                live.hear();
            }
            live.kill();
        }
        person.join().unwrap();
    });
    let left: Vec<_> = files(&scratch.at("repository/.git"))
        .into_keys()
        .filter(|path| path.extension().is_some_and(|ending| ending == "lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(scratch.says_git(&["rev-list", "--count", "HEAD"]), "31");
    scratch.says_git(&["fsck", "--strict"]);
}

// Law: nothing in the user's repository is made, written, renamed or removed, not even for a moment, by a session with
// turns, rejects, an undo, a rebase and a deletion; and so no lock of ours ever stands there.
#[cfg(target_os = "linux")]
#[test]
fn nothing_happens_in_the_repository_of_the_person_not_even_for_a_moment() {
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.commit("one");
    scratch.says_git(&["repack", "-adq"]);
    scratch.write("repository/b", "dirty\n");
    let before = files(&scratch.at("repository/.git"));
    let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    let any = WatchFlags::CREATE
        | WatchFlags::MODIFY
        | WatchFlags::MOVE
        | WatchFlags::DELETE
        | WatchFlags::CLOSE_WRITE;
    let mut watched = BTreeMap::new();
    for (path, _) in before.iter().filter(|(path, _)| path.is_dir()) {
        watched.insert(add_watch(&queue, path, any).unwrap(), path.clone());
    }
    let done = |words: &[&str]| {
        let (told, code) = scratch.says(words);
        assert_eq!(code, 0, "{words:?}: {told}");
    };
    let mut live = scratch.session();
    live.prompt("echo two >> a; echo two >> b; echo new > c");
    done(&["reject", "--file", "a"]);
    done(&["undo"]);
    live.prompt("echo three >> a");
    reject_all(&scratch);
    live.end();
    done(&["rebase", "--yes"]);
    done(&["doctor"]);
    done(&["sessions", "delete", "s1"]);
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(&queue, &mut buffer);
    if let Ok(event) = reader.next() {
        panic!("{:?} of {:?} in {:?}", event.events(), event.file_name(), watched.get(&event.wd()));
    }
    assert_eq!(files(&scratch.at("repository/.git")), before);
}

// Law: nothing of ours leaves with a mirror push, a bundle of all refs or a clone.
#[test]
fn a_mirror_push_carries_nothing_of_ours() {
    let scratch = Scratch::git();
    scratch.write("repository/a", "one\n");
    scratch.commit("one");
    scratch.write("repository/credentials", "untracked marker\n");
    scratch.turn("echo two >> a; echo more >> credentials");
    assert_eq!(scratch.paths(), ["a", "credentials"]);
    let mirror = scratch.at("mirror.git");
    let mirror = mirror.to_str().unwrap();
    scratch.says_git(&["init", "-q", "--bare", mirror]);
    scratch.says_git(&["push", "-q", "--mirror", mirror]);
    let refs = scratch.says_git(&["--git-dir", mirror, "for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
    let objects =
        scratch.says_git(&["--git-dir", mirror, "cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(objects.lines().count(), 3, "a commit, a tree and a blob: {objects}");
}

// Law: one reject and its undo put whole what one call did, also where a file and a directory take each other's place.
#[test]
fn a_file_that_became_a_directory_or_the_other_way_round_goes_back_in_one_command_and_forward_again() {
    for (name, work) in [
        (
            "a file becomes a directory",
            "rm f; mkdir -p f/deep; echo new > f/b; echo new2 > f/deep/c; mkdir f/empty",
        ),
        ("a directory becomes a file", "rm -r d; echo new > d"),
        ("a link becomes a directory", "rm l; mkdir -p l/deep; echo new > l/deep/c"),
        ("a directory becomes a link", "rm -r d; ln -s f d"),
        ("a file is moved beneath its own name", "mv f t; mkdir f; mv t f/g"),
        ("a file is moved above itself", "mv d/x t; rm -r d; mv t d"),
        ("a file and a directory change names", "mv f t; mv d f; mv t d"),
        ("names that differ in case", "rm f; mkdir F; mv d/x F/f; rm -r d"),
    ] {
        for live in [true, false] {
            let scratch = Scratch::git();
            scratch.write("repository/f", "one\ntwo\nthree\n");
            scratch.write("repository/d/x", "alpha\nbeta\ngamma\ndelta\n");
            scratch.write("repository/d/deep/y", "y\n");
            symlink("f", scratch.at("repository/l")).unwrap();
            let tree = || {
                let mut tree = files(&scratch.repository());
                tree.retain(|path, (mode, _)| {
                    let inside = path.strip_prefix(scratch.repository()).unwrap();
                    !inside.starts_with(".git") && *mode & 0o170_000 != 0o040_000
                });
                tree
            };
            let before = tree();
            let mut proxy = scratch.session();
            proxy.prompt(work);
            let proxy = if live {
                Some(proxy)
            } else {
                proxy.end();
                None
            };
            let after = tree();
            assert_ne!(before, after);
            for (words, stands) in [
                (&["reject", "--all"][..], &before),
                (&["undo"], &after),
                (&["redo"], &before),
                (&["undo"], &after),
            ] {
                let (said, code) = scratch.says(words);
                assert_eq!(code, 0, "{name}, {}: {said}", words[0]);
                assert_eq!(&tree(), stands, "{name}, {}: {said}", words[0]);
            }
            proxy.into_iter().for_each(crate::scratch::Live::end);
        }
    }
}

// Law: what a person put into the way stays, and is named.
#[test]
fn a_persons_file_in_a_directory_that_has_to_go_keeps_it_there() {
    let scratch = Scratch::git();
    scratch.write("repository/f", "one\n");
    scratch.turn("rm f; mkdir f; echo new > f/b");
    scratch.write("repository/f/mine", "a person's\n");
    let (said, code) = scratch.says(&["reject", "--all"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("f/mine in it stays"), "{said}");
    assert_eq!(scratch.read("repository/f/mine"), "a person's\n");
    std::fs::remove_file(scratch.at("repository/f/mine")).unwrap();
    let (said, code) = scratch.says(&["reject", "--all"]);
    assert_eq!((code, scratch.read("repository/f").as_str()), (0, "one\n"), "{said}");
}
