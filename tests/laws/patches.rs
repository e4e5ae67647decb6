//! Patches: what `git apply` makes of them is what they say. Held against git itself where it is installed.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_in_result,
    clippy::print_stdout,
    reason = "git is asked, and a test has what it needs"
)]

use crate::world::{Files, World, ids, set};
use hunkgate::base::base64_decode;
use hunkgate::ledger::Mode;
use hunkgate::review::{Answer, Ask, Computed, Selector};
use proptest::prelude::*;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the patch of a selection.
fn patch(world: &World, selector: Selector) -> Vec<u8> {
    let computed = world.compute(&Ask::Diff { selector });
    let Computed::Answer(Answer::Diff(patch)) = computed else { panic!("no patch: {computed:?}") };
    if patch.base64 { base64_decode(&patch.text).expect("base64") } else { patch.text.into_bytes() }
}

/// Applies a patch to files with git; `None` where there is no git.
fn applied(files: &Files, patch: &[u8]) -> Option<Result<Files, String>> {
    let directory = tempfile::tempdir().expect("a directory");
    files.iter().for_each(|(path, (mode, bytes))| write(directory.path(), path, *mode, bytes));
    if patch.is_empty() {
        return Some(Ok(files.clone()));
    }
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(directory.path())
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    std::io::Write::write_all(git.stdin.as_mut().expect("piped"), patch).expect("a reader");
    let output = git.wait_with_output().expect("an end");
    if !output.status.success() {
        return Some(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let mut found = Files::new();
    read(directory.path(), "", &mut found);
    Some(Ok(found))
}

fn write(top: &Path, path: &str, mode: Mode, bytes: &[u8]) {
    use std::os::unix::ffi::OsStrExt as _;
    let file = top.join(path);
    std::fs::create_dir_all(file.parent().expect("beneath")).expect("a directory");
    match mode {
        Mode::Symlink => {
            std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(bytes), file).expect("a link")
        }
        Mode::Regular | Mode::Executable => {
            std::fs::write(&file, bytes).expect("a file");
            let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(bits);
            std::fs::set_permissions(file, permissions).expect("a mode");
        }
    }
}

fn read(top: &Path, beneath: &str, found: &mut Files) {
    use std::os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _};
    for entry in std::fs::read_dir(top.join(beneath)).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("utf-8");
        let path = if beneath.is_empty() { name } else { format!("{beneath}/{name}") };
        let data = entry.metadata().expect("metadata");
        if data.is_dir() {
            read(top, &path, found);
        } else if data.is_symlink() {
            let target = std::fs::read_link(entry.path()).expect("a link");
            found.insert(path, (Mode::Symlink, target.as_os_str().as_bytes().to_vec()));
        } else {
            let mode = if data.permissions().mode() & 0o100 != 0 { Mode::Executable } else { Mode::Regular };
            found.insert(path, (mode, std::fs::read(entry.path()).expect("a file")));
        }
    }
}

fn check(base: &[(&str, &str)], change: impl FnOnce(&mut Files)) {
    let mut world = World::on(base);
    let before = world.files.clone();
    world.call("t1", change);
    let patch = patch(&world, Selector::All);
    match applied(&before, &patch) {
        None => println!("skipped: no git"),
        Some(Err(error)) => panic!("{error}\n{}", String::from_utf8_lossy(&patch)),
        Some(Ok(after)) => assert_eq!(after, world.files, "{}", String::from_utf8_lossy(&patch)),
    }
}

#[test]
fn creations_deletions_and_edits_apply() {
    check(&[("a", "1\n2\n3\n"), ("gone", "x\n"), ("tail", "no end")], |files| {
        set(files, "a", "1\ntwo\n3\n4");
        set(files, "d/new file", "n\n");
        set(files, "empty", "");
        set(files, "tail", "no end\nat all");
        files.remove("gone");
    });
}

#[test]
fn modes_links_and_types_apply() {
    check(&[("m", "x\n"), ("was", "text\n"), ("both", "1\n2\n")], |files| {
        files.insert("m".to_owned(), (Mode::Executable, b"x\n".to_vec()));
        files.insert("both".to_owned(), (Mode::Executable, b"1\n3\n".to_vec()));
        files.insert("was".to_owned(), (Mode::Symlink, b"m".to_vec()));
        files.insert("link".to_owned(), (Mode::Symlink, b"a/b".to_vec()));
    });
}

#[test]
fn binaries_apply() {
    let long: String =
        (0..80_000u32).map(|n| char::from(u8::try_from(n * 7 % 128).expect("small"))).collect();
    check(&[("b", "a\0b"), ("gone", "\0\0")], |files| {
        set(files, "b", "a\0c\0and more than four");
        set(files, "long", &long);
        files.remove("gone");
    });
}

#[test]
fn renames_apply() {
    check(&[("old name", "a\nb\nc\nd\ne\nf\ng\n")], |files| {
        let kept = files.remove("old name").expect("there");
        files.insert("new/n\u{e4}me".to_owned(), kept);
    });
}

#[test]
fn strange_names_apply() {
    check(&[("q\"uote\\", "1\n")], |files| {
        set(files, "q\"uote\\", "2\n");
        set(files, "tab\there", "t\n");
    });
}

#[test]
fn a_rejected_hunk_can_still_be_had_as_a_patch() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.call("t1", |files| set(files, "a", "1\nTWO\n3\n"));
    let after = world.files.clone();
    let hunks = world.hunks();
    world.reject(Selector::All).expect("done");
    let patch = patch(&world, ids(&hunks));
    if let Some(applied) = applied(&world.files, &patch) {
        assert_eq!(applied.expect("a patch that applies"), after);
    }
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a\n"), Just("b\n"), Just("c\n"), Just("-\n"), Just("\n"), Just("x\r\n")];
    let last = prop_oneof![3 => Just(""), 1 => Just("end")];
    (proptest::collection::vec(line, 0..24), last).prop_map(|(lines, last)| lines.concat() + last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_patch_of_everything_leads_from_the_base_to_now(base in lines(), agent in lines()) {
        let mut world = World::on(&[("a", &base), ("b", "b\n")]);
        let before = world.files.clone();
        world.call("t1", |files| set(files, "a", &agent));
        let patch = patch(&world, Selector::All);
        if let Some(applied) = applied(&before, &patch) {
            prop_assert_eq!(applied.map_err(|error| TestCaseError::fail(format!("{error}\n{}", String::from_utf8_lossy(&patch))))?, world.files);
        }
    }

    #[test]
    fn the_patch_of_some_hunks_is_what_rejecting_the_others_leaves(base in lines(), agent in lines()) {
        let mut world = World::on(&[("a", &base)]);
        let before = world.files.clone();
        world.call("t1", |files| set(files, "a", &agent));
        let hunks = world.hunks();
        let (kept, others): (Vec<_>, Vec<_>) = hunks.iter().enumerate().partition(|(at, _)| at % 2 == 0);
        if hunks.iter().any(|hunk| hunk.entry.kind == "eol") || kept.is_empty() {
            return Ok(());
        }
        let patch = patch(&world, ids(kept.into_iter().map(|(_, hunk)| hunk)));
        world.reject(ids(others.into_iter().map(|(_, hunk)| hunk))).expect("a plan");
        if let Some(applied) = applied(&before, &patch) {
            prop_assert_eq!(applied.map_err(|error| TestCaseError::fail(format!("{error}\n{}", String::from_utf8_lossy(&patch))))?, world.files);
        }
    }
}
