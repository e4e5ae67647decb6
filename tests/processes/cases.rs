//! Cases of the field that need real directories: first run, new directories, times of files, ignored data (C05, C13, C20, C21).

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::scratch::Scratch;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

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

/// C28: neither the index nor what stands staged in it is touched.
#[test]
fn case_28_what_a_person_has_staged_is_the_same_after_a_reject() {
    let scratch = Scratch::git();
    scratch.write("repository/a.txt", "one\ntwo\nthree\nfour\nfive\n");
    scratch.commit("first");
    scratch.write("repository/a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    scratch.says_git(&["add", "a.txt"]);
    scratch.write("repository/a.txt", "ONE\ntwo\nTHREE\nfour\nfive\n");
    let before = (scratch.says_git(&["diff", "--cached"]), scratch.read("repository/.git/index"));
    scratch.turn("sed -i 's/five/FIVE/' a.txt");
    assert_eq!(scratch.read("repository/a.txt"), "ONE\ntwo\nTHREE\nfour\nFIVE\n");
    let (told, code) = scratch.says(&["reject", "--all"]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(scratch.read("repository/a.txt"), "ONE\ntwo\nTHREE\nfour\nfive\n");
    assert_eq!(scratch.read("repository/.git/index"), before.1, "the index was written");
    assert_eq!(scratch.says_git(&["diff", "--cached"]), before.0);
}

/// C29: a reject stages nothing, and leaves what is ignored alone.
#[test]
fn case_29_nothing_that_is_ignored_is_staged_by_a_reject() {
    let scratch = Scratch::git();
    scratch.write("repository/.gitignore", "build/\n");
    scratch.write("repository/a.txt", "one\n");
    scratch.commit("first");
    scratch.write("repository/build/out.o", "built\n");
    scratch.turn("echo two >> a.txt; echo new > b.txt; echo more >> build/out.o");
    let (told, code) = scratch.says(&["reject", "--file", "a.txt"]);
    assert_eq!(code, 0, "{told}");
    let (told, code) = scratch.says(&["reject", "--file", "b.txt"]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(scratch.says_git(&["status", "--porcelain"]), "");
    assert_eq!(scratch.says_git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(scratch.read("repository/build/out.o"), "built\nmore\n");
}
