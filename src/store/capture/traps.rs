//! Traps of real worktrees that a look must not fall into; the truth is always the raw bytes on disk.
//!
//! The list of all traps, with the test for each, is in docs/testing.md.

use super::*;
use crate::ledger::Blobs as _;
use crate::store::objects::blob_id;
use crate::store::oracle::{Eye, Git, as_an_ordinary_user, look, see, told};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn chmod(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn look_at_a_turns_end(eye: &mut Eye) {
    let proxy = ProxyId::new("test");
    eye.store.observe(Why::TurnEnd, &[], &|| WallNs(wall_now()), &proxy).outcome.unwrap();
    while eye.store.verify_until(|| false) {}
}

/// Says that the table and the store hold the raw bytes of every one of some files.
fn assert_raw(eye: &Eye, git: &Git, files: &[String], at: &str) {
    for file in files {
        let raw = std::fs::read(git.top().join(file)).unwrap();
        let known = eye.store.table.file(&path(file)).unwrap_or_else(|| panic!("{at}: {file} is unknown"));
        assert_eq!(known.blob, blob_id(&raw), "{at}: {file}");
        assert_eq!(eye.store.blobs().bytes(known.blob).as_deref(), Some(raw.as_slice()), "{at}: {file}");
    }
}

#[test]
fn line_endings_are_raw_under_every_attribute_and_setting() {
    const ATTRIBUTES: [&str; 9] = [
        "",
        "text",
        "-text",
        "text=auto",
        "eol=lf",
        "eol=crlf",
        "text eol=crlf",
        "text=auto eol=crlf",
        "binary",
    ];
    const CONTENTS: [&str; 4] = ["a\nb\n", "a\r\nb\r\n", "a\nb\r\n", "a\rb"];
    let mut files = Vec::new();
    let mut rules = String::new();
    for (at, attributes) in ATTRIBUTES.iter().enumerate() {
        rules += &format!("a{at}-* {attributes}\n");
        files.extend((0..CONTENTS.len()).map(|content| format!("a{at}-{content}")));
    }
    for (autocrlf, eol) in [("false", "lf"), ("true", "lf"), ("input", "lf"), ("false", "crlf")] {
        let at = format!("core.autocrlf={autocrlf}, core.eol={eol}");
        let git = Git::init();
        git.run(&["config", "core.autocrlf", autocrlf]);
        git.run(&["config", "core.eol", eol]);
        git.run(&["config", "core.safecrlf", "false"]);
        git.write(".gitattributes", &rules);
        for file in &files {
            let content: usize = file.rsplit('-').next().unwrap().parse().unwrap();
            git.write(file, CONTENTS[content]);
        }
        git.commit("one");
        // Git writes them anew, converted as it likes: its index now vouches for ids that are not of these bytes.
        files.iter().for_each(|file| std::fs::remove_file(git.top().join(file)).unwrap());
        git.run(&["checkout", "-q", "."]);
        let mut eye = Eye::on(&git);
        eye.look();
        assert_raw(&eye, &git, &files, &at);
        for file in &files {
            let raw = std::fs::read(git.top().join(file)).unwrap();
            git.write(file, [raw.as_slice(), b"more\r\n"].concat());
        }
        let seen = eye.look();
        assert_eq!(seen.changes.len(), files.len(), "{at}");
        for change in &seen.changes {
            let sizes = (change.before.unwrap().size, change.after.unwrap().size);
            assert_eq!(sizes.0 + 6, sizes.1, "{at}: {}", change.path);
        }
        assert_raw(&eye, &git, &files, &at);
    }
}

#[test]
fn a_pair_of_names_that_differ_in_case_is_two_files() {
    let git = Git::init();
    git.run(&["config", "core.ignorecase", "true"]);
    git.write("name", "small\n");
    if git.top().join("NAME").exists() {
        // This file system knows one of them only.
        return;
    }
    git.write("Name", "great\n");
    git.write("dir/f", "small\n");
    git.write("Dir/f", "great\n");
    let mut eye = Eye::on(&git);
    eye.look();
    assert_eq!(eye.store.files(), 4);
    git.write("Name", "changed\n");
    git.write("dir/f", "changed\n");
    assert_eq!(told(&eye.look()), ["~Name", "~dir/f"]);
    std::fs::rename(git.top().join("name"), git.top().join("NAME")).unwrap();
    assert_eq!(told(&eye.look()), ["+NAME", "-name"]);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_there_and_what_it_brings_is_new() {
    let git = Git::init();
    git.write("in/f", "in\n");
    git.write("out/f", "out\n");
    git.write("top", "top\n");
    git.commit("one");
    git.run(&["sparse-checkout", "set", "in"]);
    assert!(!git.top().join("out").exists());
    let mut eye = Eye::on(&git);
    eye.look();
    assert_eq!(eye.store.files(), 2);
    git.write("in/f", "changed\n");
    git.write("out/stray", "beside what is left out\n");
    assert_eq!(told(&eye.look()), ["~in/f", "+out/stray"]);
    git.run(&["sparse-checkout", "disable"]);
    assert_eq!(told(&eye.look()), ["+out/f"]);
    assert_eq!(eye.look().tree.to_string(), git.tree());
}

#[test]
fn the_flags_by_which_git_looks_away_hide_nothing() {
    let git = Git::init();
    for flag in ["assume-unchanged", "skip-worktree"] {
        git.write(flag, "base\n");
    }
    git.commit("one");
    for flag in ["assume-unchanged", "skip-worktree"] {
        git.run(&["update-index", &format!("--{flag}"), flag]);
        git.write(flag, "dirty\n");
    }
    assert_eq!(git.run(&["status", "--porcelain"]), "", "git looks away");
    let mut eye = Eye::on(&git);
    eye.look();
    assert_raw(&eye, &git, &["assume-unchanged".to_owned(), "skip-worktree".to_owned()], "at the first look");
    git.write("assume-unchanged", "again\n");
    std::fs::remove_file(git.top().join("skip-worktree")).unwrap();
    assert_eq!(told(&eye.look()), ["~assume-unchanged", "-skip-worktree"]);
}

#[test]
fn pointers_and_contents_of_large_file_storage_are_the_bytes_that_stand_there() {
    let git = Git::init();
    git.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n";
    git.write("pointer.bin", pointer);
    git.write("content.bin", vec![0_u8; 5_000]);
    git.commit("one");
    for key in ["filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process"] {
        git.run(&["config", key, &format!("touch '{}/ran' && false", git.home().display())]);
    }
    git.run(&["config", "filter.lfs.required", "true"]);
    let mut eye = Eye::on(&git);
    eye.look();
    assert_raw(&eye, &git, &["pointer.bin".to_owned(), "content.bin".to_owned()], "at the first look");
    git.write("pointer.bin", vec![1_u8; 12_345]);
    assert_eq!(told(&eye.look()), ["~pointer.bin"]);
    assert!(!git.home().join("ran").exists());
}

#[test]
fn a_write_through_one_name_of_a_file_is_seen_at_all_of_them() {
    let git = Git::none();
    git.write("a/one", "x\n");
    std::fs::create_dir(git.top().join("b")).unwrap();
    std::fs::hard_link(git.top().join("a/one"), git.top().join("b/two")).unwrap();
    std::fs::hard_link(git.top().join("a/one"), git.home().join("outside")).unwrap();
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("a/one", "through the first\n");
    assert_eq!(told(&eye.look()), ["~a/one", "~b/two"]);
    // Through a name outside the root no watch tells; every look at linked files does.
    std::fs::write(git.home().join("outside"), "through the third\n").unwrap();
    look_at_a_turns_end(&mut eye);
    eye.look();
    assert_raw(&eye, &git, &["a/one".to_owned(), "b/two".to_owned()], "after a write from outside");
}

#[test]
fn a_storm_of_files_that_come_and_go_while_it_is_looked_at_ends_in_the_truth() {
    let git = Git::none();
    git.write("still", "x\n");
    let mut eye = Eye::on(&git);
    eye.look();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for who in 0..2 {
            let (git, done) = (&git, &done);
            scope.spawn(move || {
                let mut n = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    n += 1;
                    let name = format!("storm{who}/d{}/f{}", n % 5, n % 11);
                    git.write(&name, format!("{n}"));
                    if n % 3 == 0 {
                        drop(std::fs::remove_dir_all(git.top().join(format!("storm{who}/d{}", n % 4))));
                    }
                }
            });
        }
        for _ in 0..60 {
            let seen = see(&mut eye.store, &[]).outcome.unwrap();
            assert!(!told(&seen).iter().any(|line| line.contains("still")), "{:?}", told(&seen));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    eye.look();
    let fresh = look(&mut Eye::with(&git, Settings { watch_up_to: 0, ..Settings::default() }).store, &[]);
    assert_eq!(eye.look().tree, fresh.tree);
}

#[test]
fn a_large_file_that_is_cut_and_grown_while_it_is_read_ends_in_the_truth() {
    let git = Git::none();
    git.write("big", vec![b'0'; 9_000_000]);
    let mut eye = Eye::with(&git, Settings { keep_up_to: 8_000_000, ..Settings::default() });
    eye.look();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::OpenOptions::new().write(true).open(git.top().join("big")).unwrap();
            let mut n = 0_u64;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                file.set_len(if n.is_multiple_of(2) { 9_000_000 } else { 10 + n }).unwrap();
            }
            file.set_len(100).unwrap();
        });
        for _ in 0..10 {
            let seen = see(&mut eye.store, &[]).outcome.unwrap();
            let sizes: Vec<_> =
                seen.changes.iter().filter_map(|change| change.after).map(|after| after.size).collect();
            assert!(sizes.iter().all(|size| *size <= 9_000_000), "{sizes:?}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    eye.look();
    assert_raw(&eye, &git, &["big".to_owned()], "in the end");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_written_through_a_mapping_is_seen_at_a_verify_walk_and_at_the_latest_when_it_is_unmapped() {
    let git = Git::none();
    git.write("mapped", vec![b'.'; 4096]);
    let mut eye = Eye::on(&git);
    eye.look();
    let mut mapping = mapping::Mapping::of(&git.top().join("mapped"), 4096);
    drop(eye.look());
    mapping.bytes()[..5].copy_from_slice(b"first");
    // No event is raised, but the times of the file move.
    look_at_a_turns_end(&mut eye);
    eye.look();
    assert_raw(&eye, &git, &["mapped".to_owned()], "while it is mapped");
    // The page is dirty: this store moves no time either.
    mapping.bytes()[..6].copy_from_slice(b"second");
    drop(mapping);
    eye.look();
    assert_raw(&eye, &git, &["mapped".to_owned()], "after it was unmapped");
}

#[test]
fn one_unreadable_directory_hides_itself_and_nothing_else() {
    as_an_ordinary_user(
        "store::capture::traps::one_unreadable_directory_hides_itself_and_nothing_else",
        || {
            let git = Git::init();
            git.write("shut/f", "x\n");
            git.write("shut/deep/g", "x\n");
            git.write("open/f", "x\n");
            let mut eye = Eye::on(&git);
            eye.look();
            chmod(&git.top().join("shut"), 0o000);
            git.write("open/f", "y\n");
            let seen = see(&mut eye.store, &[]);
            assert_eq!(told(&seen.outcome.unwrap()), ["~open/f"]);
            let mut fresh = eye.again();
            let seen = see(&mut fresh, &[]);
            assert_eq!(told(&seen.outcome.unwrap()), [""; 0], "what cannot be listed is not deleted");
            assert!(seen.remarks.iter().any(|remark| remark.starts_with("shut:")), "{:?}", seen.remarks);
            chmod(&git.top().join("shut"), 0o755);
            git.write("shut/deep/g", "y\n");
            assert_eq!(told(&eye.look()), ["~shut/deep/g"]);
        },
    );
}

#[test]
fn a_root_that_cannot_be_listed_any_more_is_a_gap() {
    as_an_ordinary_user("store::capture::traps::a_root_that_cannot_be_listed_any_more_is_a_gap", || {
        let git = Git::none();
        git.write("f", "x\n");
        let mut eye = Eye::on(&git);
        eye.look();
        git.write("f", "y\n");
        chmod(git.top(), 0o000);
        let failed = see(&mut eye.store, &[]).outcome;
        chmod(git.top(), 0o755);
        assert!(failed.unwrap_err().reason.contains("open"));
        assert_eq!(told(&eye.look()), ["~f"]);
    });
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_repository_of_another_owner_is_observed_like_any_other_and_left_alone() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a repository away");
        return;
    }
    let git = Git::init();
    git.write("f", "x\n");
    git.write(".gitignore", "*.o\n");
    git.write("x.o", "ignored\n");
    git.commit("one");
    let mut todo = vec![git.top().to_owned()];
    while let Some(dir) = todo.pop() {
        std::os::unix::fs::lchown(&dir, Some(65_534), Some(65_534)).unwrap();
        if dir.is_dir() {
            todo.extend(std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let before = git.fingerprint();
    let mut eye = Eye::on(&git);
    assert_eq!(eye.store.root().kind, RootKind::Git);
    eye.look();
    git.write("f", "y\n");
    assert_eq!(told(&eye.look()), ["~f"]);
    assert_eq!(eye.store.files(), 2);
    assert_eq!(git.fingerprint(), before);
}

/// A file mapped into memory, as databases and linkers write.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library maps no files; the addresses stay in here")]
mod mapping {
    use std::ffi::{c_int, c_void};
    use std::os::fd::AsRawFd as _;

    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            len: usize,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: i64,
        ) -> *mut c_void;
        fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
        fn munmap(at: *mut c_void, len: usize) -> c_int;
    }

    const READ_WRITE: c_int = 1 | 2;
    const SHARED: c_int = 1;
    const NOT_FOR_CHILDREN: c_int = 10;

    pub(super) struct Mapping {
        at: *mut c_void,
        len: usize,
    }

    impl Mapping {
        /// Maps the first bytes of a file; the file itself is closed again.
        pub(super) fn of(file: &std::path::Path, len: usize) -> Self {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
            // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
            let at = unsafe { mmap(std::ptr::null_mut(), len, READ_WRITE, SHARED, file.as_raw_fd(), 0) };
            assert_ne!(at.addr(), usize::MAX, "{}", std::io::Error::last_os_error());
            // A test beside this one may fork: its child would keep the mapping for a moment after we gave it up.
            // SAFETY: it advises about the mapping that was just made.
            assert_eq!(unsafe { madvise(at, len, NOT_FOR_CHILDREN) }, 0);
            Self { at, len }
        }

        pub(super) fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the mapping is `len` bytes long and lives as long as `self`; nobody cuts the file meanwhile.
            unsafe { std::slice::from_raw_parts_mut(self.at.cast(), self.len) }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: it was mapped with this length and nothing refers to it any more.
            unsafe { munmap(self.at, self.len) };
        }
    }
}
