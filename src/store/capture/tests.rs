use super::*;
use crate::base::{CommitId, ObservationNo};
use crate::ledger::Blobs as _;
use crate::store::oracle::{Eye, Git, as_an_ordinary_user, look, see, told};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn chmod(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_tree_is_what_git_would_write() {
    let git = Git::init();
    git.write("a", "one\n");
    git.write("a.b", "sorts between a and a/\n");
    git.write("dir/sub/deep", "deep\n");
    git.write("dir.x", "sorts before dir/\n");
    git.write("empty", "");
    git.write("run", "#!/bin/sh\n");
    chmod(&git.top().join("run"), 0o755);
    symlink("nowhere", git.top().join("link")).unwrap();
    symlink("dir", git.top().join("link-to-dir")).unwrap();
    std::fs::create_dir(git.top().join("hollow")).unwrap();
    git.write(".gitignore", "*.o\n/out/\n!keep.o\n");
    git.write("x.o", "ignored");
    git.write("keep.o", "kept");
    git.write("out/f", "ignored");
    git.write("sub/.gitignore", "*\n!.gitignore\n!only\n");
    git.write("sub/only", "kept");
    git.write("sub/other", "ignored");
    let mut eye = Eye::on(&git);
    assert_eq!(eye.look().tree.to_string(), git.tree(), "nothing committed");
    git.commit("one");
    assert_eq!(eye.look().tree.to_string(), git.tree(), "committed");
    git.write("dir/sub/deep", "changed\n");
    std::fs::remove_file(git.top().join("a")).unwrap();
    git.write("new/er", "x");
    let seen = eye.look();
    assert_eq!(seen.tree.to_string(), git.tree(), "changed");
    assert_eq!(told(&seen), ["-a", "~dir/sub/deep", "+new/er"]);
    assert_eq!(seen.made, [path("new")]);
    let mut other = eye.again();
    assert_eq!(look(&mut other, &[]).tree.to_string(), git.tree(), "another process");
}

#[test]
fn the_users_repository_is_untouched() {
    let git = Git::init();
    git.write("f", "one\n");
    git.commit("one");
    git.write("g", "untracked\n");
    let before = git.fingerprint();
    let mut eye = Eye::on(&git);
    let base = eye.look();
    git.write("f", "two\n");
    let now = eye.look();
    eye.store.pin(&SessionKey::new("s"), &[base.tree, now.tree]).unwrap();
    assert_eq!(git.fingerprint(), before);
}

#[test]
fn a_restart_sees_what_changed_in_between_and_nothing_else() {
    let git = Git::init();
    git.write("f", "one\n");
    git.write("g", "g\n");
    git.commit("one");
    git.write("h", "untracked\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("f", "two\n");
    std::fs::remove_file(git.top().join("g")).unwrap();
    let mut next = eye.again();
    let seen = look(&mut next, &[]);
    assert_eq!(seen.no, ObservationNo(1));
    assert_eq!(told(&seen), ["~f", "-g"]);
    assert_eq!(seen.changes[0].before.map(|state| state.size), Some(4));
    assert_eq!(told(&look(&mut next, &[])), [""; 0]);
}

#[test]
fn two_processes_share_one_chain() {
    let git = Git::init();
    git.write("f", "one\n");
    let mut a = Eye::on(&git);
    let mut b = a.again();
    assert_eq!(look(&mut b, &[]).no, ObservationNo(0));
    let first = see(&mut a.store, &[]);
    assert_eq!(first.foreign.len(), 2, "the header and b's look: {:?}", first.foreign);
    assert_eq!(first.outcome.unwrap().no, ObservationNo(1));
    git.write("f", "two\n");
    let by_b = look(&mut b, &[]);
    assert_eq!((by_b.no, told(&by_b)), (ObservationNo(2), vec!["~f".to_owned()]));
    let by_a = see(&mut a.store, &[]);
    assert_eq!(by_a.foreign.len(), 1);
    let by_a = by_a.outcome.unwrap();
    assert_eq!((by_a.no, told(&by_a)), (ObservationNo(2), Vec::new()), "the link of b, again");
    assert_eq!(by_a.tree, by_b.tree);
}

#[test]
fn base_bytes_are_kept_whoever_else_loses_them() {
    let git = Git::init();
    git.write("f", "committed\n");
    git.commit("one");
    git.run(&["repack", "-adq"]);
    git.write("g", "loose\n");
    git.commit("two");
    git.write("h", "never added\n");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    eye.store.pin(&SessionKey::new("s"), &[base.tree]).unwrap();
    git.write("f", "other\n");
    git.write("g", "other\n");
    git.run(&["add", "-A"]);
    git.run(&["commit", "-q", "--amend", "-m", "amended"]);
    git.run(&["update-ref", "-d", "ORIG_HEAD"]);
    git.run(&["reflog", "expire", "--expire=now", "--all"]);
    git.run(&["gc", "-q", "--prune=now", "--aggressive"]);
    let blobs = eye.again().blobs();
    for content in ["committed\n", "loose\n", "never added\n"] {
        let id = crate::store::objects::blob_id(content.as_bytes());
        assert_eq!(blobs.bytes(id).as_deref(), Some(content.as_bytes()), "{content}");
    }
    let dir = eye.state.root_dir(&eye.store.root().id).join("store.git");
    let dir = dir.to_str().unwrap();
    git.run(&["--git-dir", dir, "fsck", "--strict", "--no-dangling"]);
    let listed = git.run(&["--git-dir", dir, "ls-tree", "-r", "--name-only", &base.tree.to_string()]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["f", "g", "h"]);
    let pinned = git.run(&["--git-dir", dir, "ls-tree", "refs/hunkgate/sessions/s"]);
    assert!(pinned.contains(&base.tree.to_string()), "{pinned}");
}

#[test]
fn a_rewrite_of_the_same_size_in_the_same_second_is_seen() {
    let git = Git::init();
    git.write("f", "a=0\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    eye.look();
    for n in 1..50 {
        git.write("f", format!("a={}\n", n % 10));
        assert_eq!(told(&eye.look()), ["~f"], "round {n}");
    }
}

#[test]
fn a_file_that_is_being_written_in_place_is_seen_whole() {
    let git = Git::init();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    eye.look();
    // The look begins with the file cut to nothing, and its new content comes while it is being read.
    drop(std::fs::File::create(git.top().join("f")).unwrap());
    eye.store.meanwhile = Some(|top| std::fs::write(top.join("f"), "two\n").unwrap());
    let clock = || WallNs(wall_now());
    let seen = eye.store.observe(Why::Activity, &[], &clock, &ProxyId::new("p")).outcome.unwrap();
    assert_eq!(seen.changes[0].after.map(|state| state.size), Some(4));
}

#[test]
fn a_file_that_was_emptied_is_seen_empty() {
    let git = Git::init();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("f", "");
    assert_eq!(eye.look().changes[0].after.map(|state| state.size), Some(0));
}

#[test]
fn a_change_of_mode_is_a_change() {
    let git = Git::init();
    git.write("f", "x\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    eye.look();
    chmod(&git.top().join("f"), 0o755);
    let seen = eye.look();
    assert_eq!(told(&seen), ["~f"]);
    assert_eq!(seen.changes[0].after.map(|state| state.mode), Some(crate::ledger::Mode::Executable));
    assert_eq!(seen.tree.to_string(), git.tree());
    chmod(&git.top().join("f"), 0o700);
    assert_eq!(told(&eye.look()), [""; 0]);
}

#[test]
fn a_rename_keeps_the_bytes_whatever_its_times_say() {
    let git = Git::init();
    git.write("a", "same\n");
    git.write("b", "other\n");
    let mut eye = Eye::on(&git);
    eye.look();
    std::fs::rename(git.top().join("a"), git.top().join("b")).unwrap();
    assert_eq!(told(&eye.look()), ["-a", "~b"]);
    assert_eq!(eye.look().tree.to_string(), git.tree());
}

#[test]
fn file_directory_and_link_may_take_each_others_place() {
    let git = Git::init();
    git.write("x", "file\n");
    let mut eye = Eye::on(&git);
    eye.look();
    let x = git.top().join("x");
    std::fs::remove_file(&x).unwrap();
    git.write("x/inside", "file\n");
    assert_eq!(told(&eye.look()), ["-x", "+x/inside"]);
    std::fs::remove_dir_all(&x).unwrap();
    symlink("/etc/passwd", &x).unwrap();
    let seen = eye.look();
    assert_eq!(told(&seen), ["+x", "-x/inside"]);
    assert_eq!(seen.tree.to_string(), git.tree());
    std::fs::remove_file(&x).unwrap();
    git.write("x", "file\n");
    let seen = eye.look();
    assert_eq!(told(&seen), ["~x"]);
    assert_eq!(seen.changes[0].before.map(|state| state.mode), Some(crate::ledger::Mode::Symlink));
}

#[test]
fn raw_bytes_count_whatever_git_would_convert() {
    let git = Git::init();
    git.run(&["config", "core.autocrlf", "true"]);
    git.write(
        ".gitattributes",
        "*.txt text eol=crlf\n*.id ident\n*.up filter=up\n*.u16 working-tree-encoding=UTF-16LE\n",
    );
    git.run(&["config", "filter.up.clean", "touch ran; tr a-z A-Z"]);
    git.run(&["config", "filter.up.smudge", "touch ran; tr A-Z a-z"]);
    git.write("crlf.txt", "one\r\ntwo\r\n");
    git.write("auto.c", "one\r\ntwo\r\n");
    git.write("mark.id", "$Id$\n");
    git.write("shout.up", "quiet\n");
    git.write("wide.u16", b"h\0i\0\n\0");
    git.commit("one");
    for file in ["crlf.txt", "auto.c", "mark.id", "shout.up"] {
        std::fs::remove_file(git.top().join(file)).unwrap();
    }
    git.run(&["checkout", "-q", "."]);
    drop(std::fs::remove_file(git.top().join("ran")));
    let mut eye = Eye::on(&git);
    let base = eye.look();
    assert!(!git.top().join("ran").exists(), "no filter runs");
    for file in ["crlf.txt", "auto.c", "mark.id", "shout.up", "wide.u16"] {
        let raw = std::fs::read(git.top().join(file)).unwrap();
        let known = eye.store.table.file(&path(file)).unwrap();
        assert_eq!(known.blob, crate::store::objects::blob_id(&raw), "{file}");
        assert_eq!(eye.store.blobs().bytes(known.blob).as_deref(), Some(raw.as_slice()), "{file}");
    }
    let mut again = eye.again();
    assert_eq!(look(&mut again, &[]).tree, base.tree);
}

#[test]
fn what_is_tracked_or_named_is_observed_even_if_it_is_ignored() {
    let git = Git::init();
    git.write("build/keep.txt", "tracked\n");
    git.write("log", "tracked\n");
    git.commit("one");
    git.write(".gitignore", "build/\nlog\n.env.d/\nlocal\n");
    git.write("build/other.txt", "ignored\n");
    git.write(".env.d/x", "ignored\n");
    git.write("local", "ignored\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("build/keep.txt", "changed\n");
    git.write("log", "changed\n");
    git.write("build/other.txt", "changed\n");
    let seen = eye.look_at(&["local", ".env.d/x"]);
    let listed = told(&seen);
    assert!(listed.contains(&"~build/keep.txt ignored".to_owned()), "{listed:?}");
    assert!(listed.contains(&"~log ignored".to_owned()), "{listed:?}");
    assert!(!listed.iter().any(|line| line.contains("other")), "{listed:?}");
    git.write("local", "changed by a call\n");
    std::fs::remove_file(git.top().join(".env.d/x")).unwrap();
    assert_eq!(told(&eye.look()), ["-.env.d/x", "~local ignored"]);
}

#[test]
fn what_comes_into_sight_because_rules_changed_is_no_creation_to_undo() {
    let git = Git::init();
    git.write(".gitignore", "data/\n*.tmp\n");
    git.write("data/a", "precious\n");
    git.write("b.tmp", "precious\n");
    git.write("kept", "x\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write(".gitignore", "kept\n");
    git.write("new", "really new\n");
    let seen = told(&eye.look());
    assert!(seen.contains(&"+data/a base_unknown".to_owned()), "{seen:?}");
    assert!(seen.contains(&"+b.tmp base_unknown".to_owned()), "{seen:?}");
    assert!(!seen.iter().any(|line| line.starts_with('-') || line.contains("kept")), "{seen:?}");
    git.write("kept", "still tracked\n");
    assert_eq!(told(&eye.look()), ["~kept ignored"]);
}

#[test]
fn what_rules_hid_that_changed_while_nobody_looked_is_no_creation_to_undo() {
    let git = Git::init();
    git.write(".gitignore", "data/\n*.tmp\n");
    git.write("data/a", "precious\n");
    git.write("sub/b.tmp", "precious\n");
    git.write("sub/kept", "x\n");
    git.write("cover/.gitignore", "*\n!.gitignore\n");
    git.write("cover/c", "precious\n");
    git.write("tracked/f", "x\n");
    git.write("tracked/old", "precious\n");
    git.run(&["add", "-f", "tracked/f"]);
    git.write(".git/info/exclude", "tracked/\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write(".gitignore", "kept\n");
    std::fs::remove_file(git.top().join("cover/.gitignore")).unwrap();
    git.write("sub/new", "really new\n");
    git.write("data/a", "precious, and edited meanwhile\n");
    let mut next = eye.again();
    let seen = look(&mut next, &[]);
    assert_eq!(
        told(&seen),
        [
            "~.gitignore",
            "-cover/.gitignore",
            "+cover/c base_unknown",
            "+data/a base_unknown",
            "+sub/b.tmp base_unknown",
            "+sub/new"
        ]
    );
    assert_eq!(told(&look(&mut next, &[])), [""; 0]);
}

#[test]
fn what_the_old_rules_would_not_have_hidden_is_new_even_when_the_rules_change_with_it() {
    let git = Git::init();
    git.write(".gitignore", "*.tmp\n/data/\n");
    git.write("sub/.gitignore", "*.gen\n!keep.tmp\n");
    git.write("data/tracked", "x\n");
    git.write("data/old", "precious\n");
    git.write("sub/f", "x\n");
    git.write("sub/old.gen", "precious\n");
    git.write("sub/old.tmp", "precious\n");
    git.run(&["add", "-f", "data/tracked"]);
    git.commit("one");
    let mut eye = Eye::on(&git);
    let base = told(&eye.look());
    assert!(!base.iter().any(|line| line.contains("old")), "{base:?}");
    git.write(".gitignore", "*.log\n");
    git.write("sub/.gitignore", "# none\n");
    git.write("new", "new\n");
    git.write("new.tmp", "maybe\n");
    git.write("fresh/new", "new\n");
    git.write("fresh/x.tmp", "maybe\n");
    git.write("fresh/data/new", "new\n");
    git.write("sub/new", "new\n");
    git.write("sub/keep.tmp", "new\n");
    git.write("sub/x.gen", "maybe\n");
    let seen = eye.look();
    assert_eq!(seen.tree.to_string(), git.tree());
    let wanted = [
        "+data/old base_unknown",
        "+fresh/data/new",
        "+fresh/new",
        "+fresh/x.tmp base_unknown",
        "+new",
        "+new.tmp base_unknown",
        "+sub/keep.tmp",
        "+sub/new",
        "+sub/old.gen base_unknown",
        "+sub/old.tmp base_unknown",
        "+sub/x.gen base_unknown",
        "~.gitignore",
        "~sub/.gitignore",
    ];
    let mut listed = told(&seen);
    listed.sort_unstable();
    assert_eq!(listed, wanted);
}

#[test]
fn nested_repositories_are_plain_content_and_their_git_directories_are_not() {
    let git = Git::init();
    git.write("f", "x\n");
    git.write("vendor/lib/src", "nested\n");
    git.run(&["-C", "vendor/lib", "init", "-q"]);
    git.write("odd/.GIT/config", "not content\n");
    let mut eye = Eye::on(&git);
    eye.look();
    assert_eq!(eye.store.table.files(), 2);
    git.write("vendor/lib/src", "changed\n");
    git.write("vendor/lib/.git/description", "changed\n");
    assert_eq!(told(&eye.look()), ["~vendor/lib/src"]);
}

#[test]
fn names_are_bytes() {
    let git = Git::init();
    let names: [&[u8]; 5] =
        [b"\xff\xfe", b"new\nline", "e\u{301}".as_bytes(), "\u{e9}".as_bytes(), b"-- \"q\" \\"];
    for name in names {
        std::fs::write(git.top().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    let mut eye = Eye::on(&git);
    assert_eq!(eye.look().tree.to_string(), git.tree());
    for name in names {
        std::fs::write(git.top().join(std::ffi::OsStr::from_bytes(name)), "changed").unwrap();
    }
    let seen = eye.look();
    assert_eq!(seen.changes.len(), names.len());
    assert_eq!(seen.tree.to_string(), git.tree());
}

#[test]
fn what_is_neither_file_nor_link_is_skipped() {
    let git = Git::init();
    git.write("f", "x\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        git.top().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(git.top().join("s")).unwrap();
    let mut eye = Eye::on(&git);
    eye.look();
    assert_eq!(eye.store.table.files(), 1);
    std::fs::remove_file(git.top().join("f")).unwrap();
    std::fs::rename(git.top().join("pipe"), git.top().join("f")).unwrap();
    assert_eq!(told(&eye.look()), ["-f"]);
}

#[test]
fn one_unreadable_file_is_one_unreadable_file() {
    as_an_ordinary_user("store::capture::tests::one_unreadable_file_is_one_unreadable_file", || {
        let git = Git::init();
        git.write("f", "x\n");
        git.write("g", "x\n");
        let mut eye = Eye::on(&git);
        eye.look();
        chmod(&git.top().join("f"), 0o000);
        git.write("g", "y\n");
        assert_eq!(told(&eye.look()), ["=f unreadable", "~g"]);
        assert_eq!(told(&eye.look()), [""; 0]);
        chmod(&git.top().join("f"), 0o644);
        assert_eq!(told(&eye.look()), [""; 0]);
    });
}

#[test]
fn an_odd_index_costs_nothing() {
    let git = Git::init();
    git.write("f", "base\n");
    git.write("flagged", "base\n");
    git.commit("one");
    git.run(&["checkout", "-qb", "side"]);
    git.write("f", "side\n");
    git.commit("side");
    git.run(&["checkout", "-q", "-"]);
    git.write("f", "main\n");
    git.commit("main");
    assert!(!git.try_run(&["merge", "side"]));
    git.run(&["update-index", "--assume-unchanged", "flagged"]);
    git.write("planned", "later\n");
    git.run(&["add", "-N", "planned"]);
    std::fs::write(git.top().join(".git/index.lock"), "").unwrap();
    git.write("flagged", "hidden from git\n");
    let mut eye = Eye::on(&git);
    eye.look();
    for file in ["f", "flagged", "planned"] {
        let raw = std::fs::read(git.top().join(file)).unwrap();
        assert_eq!(
            eye.store.table.file(&path(file)).unwrap().blob,
            crate::store::objects::blob_id(&raw),
            "{file}"
        );
    }
    git.write("f", "resolved\n");
    assert_eq!(told(&eye.look()), ["~f"]);
}

#[test]
fn a_malformed_configuration_of_the_person_breaks_nothing() {
    let git = Git::init();
    git.write("f", "x\n");
    git.commit("one");
    std::fs::write(git.home().join(".gitconfig"), "[[[ nonsense").unwrap();
    let settings = Settings { home: Some(git.home().to_owned()), ..Settings::default() };
    let mut eye = Eye::with(&git, settings);
    git.write("f", "y\n");
    assert_eq!(eye.look().no, ObservationNo(0));
    assert_eq!(eye.store.root().kind, RootKind::Git);
}

#[test]
fn the_persons_own_excludes_file_counts() {
    let git = Git::init();
    git.write("f", "x\n");
    std::fs::write(git.home().join(".gitconfig"), "[core]\n\texcludesFile = ~/mine\n").unwrap();
    std::fs::write(git.home().join("mine"), "*.swp\n").unwrap();
    git.write("f.swp", "x\n");
    let settings = Settings { home: Some(git.home().to_owned()), ..Settings::default() };
    let mut eye = Eye::with(&git, settings);
    assert_eq!(eye.look().tree.to_string(), git.tree());
    assert_eq!(eye.store.table.files(), 1);
}

#[test]
fn secrets_are_seen_to_change_and_never_kept() {
    let git = Git::init();
    git.write(".env", "TOKEN=first\n");
    git.write("big", vec![b'x'; 2000]);
    let settings = Settings { keep_up_to: 1000, ..Settings::default() };
    let mut eye = Eye::with(&git, settings);
    eye.look();
    git.write(".env", "TOKEN=other\n");
    git.write("big", vec![b'y'; 2000]);
    let seen = eye.look();
    assert_eq!(told(&seen), ["~.env", "~big"]);
    let contents: Vec<_> = seen.changes.iter().map(|change| change.after.unwrap().content).collect();
    assert_eq!(contents, [Content::Withheld, Content::TooBig]);
    let big = &seen.changes[1];
    assert_eq!(big.before.unwrap().blob, crate::store::objects::blob_id(&[b'x'; 2000]));
    assert_eq!(big.before.unwrap().size, 2000);
    for text in ["TOKEN=first\n", "TOKEN=other\n"] {
        let id = crate::store::objects::blob_id(text.as_bytes());
        assert_eq!(eye.store.objects.read(&id.0), None);
    }
    git.write(".env", "TOKEN=third\n");
    git.write("big", vec![b'z'; 2000]);
    let seen = look(&mut eye.again(), &[]);
    assert_eq!(seen.changes[0].before.unwrap().content, Content::Withheld);
    assert_eq!(seen.changes[1].before.unwrap().blob, crate::store::objects::blob_id(&[b'y'; 2000]));
}

#[test]
fn a_failed_observation_is_a_gap() {
    let git = Git::none();
    git.write("f", "x\n");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    let away = git.home().join("away");
    std::fs::rename(git.top(), &away).unwrap();
    assert!(see(&mut eye.store, &[]).outcome.is_err());
    std::fs::create_dir(git.top()).unwrap();
    let gap = see(&mut eye.store, &[]).outcome.unwrap_err();
    assert!(gap.reason.contains("another directory"), "{}", gap.reason);
    std::fs::remove_dir(git.top()).unwrap();
    std::fs::rename(&away, git.top()).unwrap();
    git.write("f", "y\n");
    let seen = eye.look();
    assert_eq!((seen.no, told(&seen)), (base.no.next(), vec!["~f".to_owned()]));
}

#[test]
fn what_could_not_be_written_is_seen_again() {
    let git = Git::none();
    git.write("f", "x\n");
    git.write("dir/g", "x\n");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("f", "y\n");
    git.write("dir/h", "new\n");
    std::fs::remove_file(git.top().join("dir/g")).unwrap();
    let segment = std::fs::read_dir(&eye.store.dir).unwrap().flatten().map(|entry| entry.path());
    let segment =
        segment.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "seg")).unwrap();
    let aside = segment.with_extension("aside");
    std::fs::rename(&segment, &aside).unwrap();
    std::fs::create_dir(&segment).unwrap();
    assert!(see(&mut eye.store, &[]).outcome.is_err());
    std::fs::remove_dir(&segment).unwrap();
    std::fs::rename(&aside, &segment).unwrap();
    let seen = eye.look();
    assert_eq!(told(&seen), ["-dir/g", "+dir/h", "~f"]);
}

#[test]
fn a_dead_proxy_is_said_to_have_left() {
    let git = Git::none();
    git.write("f", "x\n");
    let mut eye = Eye::on(&git);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let (dead, own) = (ProxyId::new("dead"), ProxyId::new("own"));
    let at = WallNs(wall_now());
    let joined =
        |proxy: &ProxyId, pid| Record { at, event: Event::ProxyJoined { proxy: proxy.clone(), pid } };
    eye.store
        .chain()
        .append(&[joined(&dead, pid), joined(&own, std::process::id())], Durability::Written)
        .unwrap();
    let seen = see(&mut eye.store, &[]);
    let left = Event::ProxyLeft { proxy: dead, lost: true };
    assert!(seen.foreign.iter().any(|record| record.event == left), "{:?}", seen.foreign);
    assert!(see(&mut eye.store, &[]).foreign.is_empty());
}

#[test]
fn what_cannot_be_watched_is_walked() {
    let git = Git::none();
    for dir in ["a", "b/c", "d"] {
        git.write(&format!("{dir}/f"), "x");
    }
    let mut eye = Eye::with(&git, Settings { watch_up_to: 2, ..Settings::default() });
    assert_eq!(eye.store.observing(), Observing::Watch);
    eye.look();
    assert_eq!(eye.store.observing(), Observing::Hybrid);
    for dir in ["a", "b/c", "d", "d/new/er"] {
        git.write(&format!("{dir}/f"), "changed");
        assert_eq!(eye.look().changes.len(), 1, "{dir}");
    }
    let walking = Eye::with(&git, Settings { watch_up_to: 0, ..Settings::default() });
    assert_eq!(walking.store.observing(), Observing::Walk);
}

#[test]
fn a_verify_walk_finds_what_the_watcher_did_not_tell() {
    let git = Git::none();
    git.write("dir/f", "x");
    git.write("dir/g", "x");
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("dir/f", "changed");
    git.write("dir/sub/new", "x");
    std::fs::remove_file(git.top().join("dir/g")).unwrap();
    drop(eye.store.watcher.as_ref().unwrap().take());
    let end = |eye: &mut Eye| {
        let proxy = ProxyId::new("test");
        eye.store.observe(Why::TurnEnd, &[], &|| WallNs(wall_now()), &proxy).outcome.unwrap()
    };
    assert_eq!(told(&end(&mut eye)), [""; 0], "the events are lost");
    assert!(eye.store.verifier.is_on(), "a turn's end at which nothing was told needs it most");
    while eye.store.verify_until(|| false) {}
    let found = eye.look();
    assert_eq!(told(&found), ["~dir/f", "-dir/g", "+dir/sub/new"]);
    assert!(found.changes.iter().all(|change| change.flags.untold), "when they changed is not known");
    assert_eq!(eye.store.sight().missed, 3);
    git.write("dir/sub/new", "watched from now on");
    let next = eye.look();
    assert_eq!((told(&next), next.changes[0].flags.untold), (vec!["~dir/sub/new".to_owned()], false));
    assert_eq!(eye.store.sight().missed, 3);
}

#[test]
fn our_own_state_is_no_content_wherever_it_lies() {
    let git = Git::none();
    git.write("f", "x");
    let state = StateDir::open(git.top().join("deep/state")).unwrap();
    let root = crate::store::resolve_root(git.top(), &Settings::default()).unwrap();
    let (mut store, _) = RootStore::open(&state, root, &Settings::default()).unwrap();
    look(&mut store, &[]);
    assert_eq!(store.files(), 1);
    assert_eq!(told(&look(&mut store, &[])), [""; 0]);
}

#[test]
fn a_person_who_commits_meanwhile_never_meets_a_lock_of_ours() {
    let git = Git::init();
    git.write("f", "0\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    eye.look();
    std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            for n in 1..15 {
                git.write("f", format!("{n}\n"));
                git.run(&["add", "f"]);
                git.run(&["commit", "-qm", "more"]);
            }
        });
        while !person.is_finished() {
            eye.look();
        }
        person.join().unwrap();
    });
    assert!(!git.top().join(".git/index.lock").exists());
    assert_eq!(eye.look().tree.to_string(), git.tree());
    assert_eq!(eye.look().head, Some(CommitId::new(git.run(&["rev-parse", "HEAD"]))));
}

#[test]
fn files_that_come_and_go_between_two_looks_leave_nothing() {
    let git = Git::none();
    git.write("f", "x");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    for n in 0..500 {
        git.write(&format!("tmp_x/{}/f{n}", n % 9), "x");
    }
    std::fs::remove_dir_all(git.top().join("tmp_x")).unwrap();
    let seen = eye.look();
    assert_eq!((told(&seen), seen.tree, seen.made), (Vec::new(), base.tree, Vec::new()));
}

#[test]
fn many_proxies_share_one_root_without_a_failure() {
    let git = Git::init();
    git.write("f", "0\n");
    git.commit("one");
    let eye = Eye::on(&git);
    let git = &git;
    std::thread::scope(|scope| {
        for proxy in 0..6 {
            let mut store = eye.again();
            scope.spawn(move || {
                for round in 0..6 {
                    git.write(&format!("p{proxy}"), format!("{round}\n"));
                    let seen = look(&mut store, &[]);
                    assert!(seen.changes.len() <= 7, "{:?}", told(&seen));
                }
            });
        }
    });
    let (mut last, report) = RootStore::open(&eye.state, eye.store.root().clone(), &eye.settings).unwrap();
    let mut numbers = Vec::new();
    let mut current: BTreeMap<RepoPath, Option<FileState>> = BTreeMap::new();
    for record in &report.history {
        if let Event::Observed(observation) = &record.event {
            numbers.push(observation.no.0);
            for change in &observation.changes {
                let before = current.insert(change.path.clone(), change.after);
                assert_eq!(before.unwrap_or(change.before), change.before, "the chain is a chain");
            }
        }
    }
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    assert!(report.skips.is_empty());
    assert_eq!(look(&mut last, &[]).tree.to_string(), git.tree());
}

#[test]
fn a_repository_of_a_kind_we_cannot_open_is_observed_as_a_plain_directory() {
    let git = Git::init_with(&["--object-format=sha256"]);
    git.write("f", "x\n");
    git.write(".gitignore", "*.o\n");
    git.write("x.o", "ignored");
    git.commit("one");
    let before = git.fingerprint();
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("f", "y\n");
    let seen = eye.look();
    assert_eq!((told(&seen), seen.head), (vec!["~f".to_owned()], None));
    assert_eq!(eye.store.files(), 2);
    assert_eq!(git.fingerprint(), before);
}

#[test]
fn a_linked_worktree_is_observed_by_itself() {
    let git = Git::init();
    git.write("f", "x\n");
    git.commit("one");
    git.run(&["worktree", "add", "-q", "inner"]);
    let settings = Settings::default();
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let root = crate::store::resolve_root(&git.top().join("inner"), &settings).unwrap();
    let (mut inner, _) = RootStore::open(&state, root, &settings).unwrap();
    let base = look(&mut inner, &[]);
    assert_eq!(base.head, Some(CommitId::new(git.run(&["rev-parse", "HEAD"]))));
    assert_eq!(base.tree.to_string(), git.run(&["rev-parse", "HEAD^{tree}"]));
    git.write("inner/f", "y\n");
    assert_eq!(told(&look(&mut inner, &[])), ["~f"]);
}

#[test]
fn an_edit_in_a_submodule_is_seen_beneath_its_path() {
    let library = Git::init();
    library.write("lib.c", "one\n");
    library.commit("one");
    let git = Git::init();
    git.write("f", "x\n");
    let from = library.top().to_str().unwrap();
    git.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "vendor/lib"]);
    git.commit("one");
    let before = git.fingerprint();
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("vendor/lib/lib.c", "two\n");
    assert_eq!(told(&eye.look()), ["~vendor/lib/lib.c"]);
    assert_eq!(git.fingerprint(), before);
}

#[test]
fn what_a_sparse_checkout_left_out_is_not_deleted_and_what_is_there_counts() {
    let git = Git::init();
    git.write("in/f", "x\n");
    git.write("out/f", "x\n");
    git.commit("one");
    git.run(&["sparse-checkout", "set", "in"]);
    let mut eye = Eye::on(&git);
    eye.look();
    assert_eq!(eye.store.files(), 1);
    git.write("out/f", "written all the same\n");
    assert_eq!(told(&eye.look()), ["+out/f"]);
}

#[test]
fn a_file_that_is_written_all_the_time_is_seen_in_the_end() {
    let git = Git::none();
    git.write("f", "0");
    let mut eye = Eye::on(&git);
    eye.look();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0_u64;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                git.write("f", "x".repeat(usize::try_from(n % 5_000).unwrap()));
            }
        });
        for _ in 0..40 {
            eye.look();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    eye.look();
    let raw = std::fs::read(git.top().join("f")).unwrap();
    assert_eq!(eye.store.table.file(&path("f")).unwrap().blob, crate::store::objects::blob_id(&raw));
}

#[test]
fn no_hook_and_no_configured_program_runs() {
    let git = Git::init();
    git.write("f", "x\n");
    git.commit("one");
    for hook in ["pre-commit", "post-index-change", "fsmonitor-watchman", "post-checkout"] {
        git.write(
            &format!(".git/hooks/{hook}"),
            format!("#!/bin/sh\ntouch '{}/ran'\n", git.home().display()),
        );
        chmod(&git.top().join(format!(".git/hooks/{hook}")), 0o755);
    }
    git.run(&["config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman"]);
    git.run(&["config", "commit.gpgsign", "true"]);
    git.run(&["config", "core.untrackedCache", "true"]);
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("f", "y\n");
    let seen = eye.look();
    eye.store.pin(&SessionKey::new("s"), &[seen.tree]).unwrap();
    assert!(!git.home().join("ran").exists());
}

#[test]
fn what_is_named_or_added_later_is_observed_where_nothing_is_watched_too() {
    let git = Git::init();
    git.write(".gitignore", "*.log\n");
    git.write("d/f", "x\n");
    git.write("d/a.log", "x\n");
    git.write("d/b.log", "x\n");
    git.commit("one");
    let mut eye = Eye::with(&git, Settings { watch_up_to: 0, ..Settings::default() });
    eye.look();
    let meta = git.top().join("d").metadata().unwrap();
    while meta.ctime() * 1_000_000_000 + meta.ctime_nsec() + 40_000_000 > wall_now() {
        eye.look();
    }
    eye.look();
    git.run(&["add", "-f", "d/b.log"]);
    eye.look_at(&["d/a.log"]);
    git.write("d/a.log", "changed\n");
    git.write("d/b.log", "changed\n");
    let seen = told(&eye.look());
    assert_eq!(seen, ["~d/a.log ignored", "~d/b.log ignored"]);
}

#[test]
fn what_is_read_twice_in_one_look_changed_since_the_link_before() {
    let git = Git::init();
    git.write("f", "one\n");
    git.write("gone", "here\n");
    let mut eye = Eye::on(&git);
    eye.look();
    let base = *eye.store.table.file(&path("f")).unwrap();
    let (mut changes, mut brought) = (BTreeMap::new(), Brought::default());
    let (clock, proxy) = (|| WallNs(wall_now()), ProxyId::new("test"));
    let errand = Errand { why: Why::Listing, clock: &clock, proxy: &proxy, began: clock() };
    for (text, fresh) in [("two, longer\n", "a\n"), ("three, longer still\n", "ab\n")] {
        git.write("f", text);
        git.write("new", fresh);
        eye.store.catch_up(&mut brought).unwrap();
        eye.store.walk_and_read(&errand, &mut changes, &mut brought).unwrap();
    }
    let before = |name: &str| changes[&path(name)].before.map(|state| state.blob);
    assert_eq!(before("new"), None, "a file that came into being in this look was not there before it");
    assert_eq!(before("f"), Some(base.blob), "the state between two readings is no link of the chain");
}
