//! Files that are written where they stand are read by their path alone, and nothing else is.

use super::*;
use crate::store::oracle::{Eye, Git, look, see, told};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// Says whether what happened since the last look is read without a look at directories.
fn is_by_path(eye: &Eye) -> bool {
    let activity = eye.store.watcher.as_ref().unwrap().take();
    let read = eye.store.read_written(&activity).is_some();
    eye.store.watcher.as_ref().unwrap().put_back(activity);
    read
}

fn scene() -> (Git, Eye) {
    let git = Git::init();
    git.write("top", "one\n");
    git.write("dir/f", "one\n");
    git.write("dir/g", "one\n");
    git.write(".gitignore", "*.log\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    eye.look();
    (git, eye)
}

#[test]
fn what_is_written_where_it_stands_is_read_by_its_path() {
    let (git, mut eye) = scene();
    git.write("top", "two\n");
    git.write("dir/f", "two\n");
    assert!(is_by_path(&eye));
    let seen = eye.look();
    assert_eq!(told(&seen), ["~dir/f", "~top"]);
    assert_eq!(seen.tree.to_string(), git.tree());
    git.write("dir/f", "two\n");
    assert!(is_by_path(&eye));
    assert_eq!(told(&eye.look()), [""; 0], "the same bytes again");
    assert_eq!(told(&eye.look_at(&["dir/f", "top"])), [""; 0], "named and untouched");
    git.write("dir/f", "six\n");
    assert_eq!(told(&eye.look_at(&["dir/g"])), ["~dir/f"], "another one is named");
}

#[test]
fn whatever_else_happens_is_looked_at_in_the_usual_way() {
    type Deed = fn(&Path);
    let deeds: [(&str, Deed, &[&str]); 9] = [
        ("created", |top| std::fs::write(top.join("dir/new"), "x").unwrap(), &["+dir/new"]),
        ("removed", |top| std::fs::remove_file(top.join("dir/g")).unwrap(), &["-dir/g"]),
        ("renamed over", |top| std::fs::rename(top.join("dir/g"), top.join("dir/f")).unwrap(), &["-dir/g"]),
        ("made executable", |top| mode(&top.join("dir/g"), 0o755), &["~dir/g"]),
        ("linked", |top| std::fs::hard_link(top.join("dir/g"), top.join("dir/h")).unwrap(), &["+dir/h"]),
        ("cut", |top| std::fs::write(top.join("dir/g"), "").unwrap(), &["~dir/g"]),
        ("made a link", |top| replace(&top.join("dir/g"), |file| symlink("f", file).unwrap()), &["~dir/g"]),
        (
            "made a directory",
            |top| replace(&top.join("dir/g"), |file| std::fs::create_dir(file).unwrap()),
            &["-dir/g"],
        ),
        ("rules", |top| std::fs::write(top.join(".gitignore"), "*.lag\n").unwrap(), &["~.gitignore"]),
    ];
    for (what, deed, expected) in deeds {
        let (git, mut eye) = scene();
        git.write("top", "two\n");
        deed(git.top());
        assert!(!is_by_path(&eye), "{what}");
        let seen = eye.look();
        let expected = [expected, &["~top"]].concat();
        assert_eq!(told(&seen), expected, "{what}");
        assert_eq!(seen.tree.to_string(), git.tree(), "{what}");
    }
}

fn mode(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn replace(file: &Path, by: impl FnOnce(&Path)) {
    std::fs::remove_file(file).unwrap();
    by(file);
}

#[test]
fn a_file_that_others_stand_in_for_since_the_watch_told_is_not_taken_for_it() {
    let (git, eye) = scene();
    git.write("dir/f", "two\n");
    let activity = eye.store.watcher.as_ref().unwrap().take();
    assert!(eye.store.read_written(&activity).is_some());
    let beside = git.top().join("dir/beside");
    std::fs::write(&beside, "another\n").unwrap();
    std::fs::rename(&beside, git.top().join("dir/f")).unwrap();
    assert!(eye.store.read_written(&activity).is_none(), "another file");
    std::fs::rename(git.top().join("dir"), git.top().join("moved")).unwrap();
    symlink("moved", git.top().join("dir")).unwrap();
    assert!(eye.store.read_written(&activity).is_none(), "a link on the way");
}

#[test]
fn what_was_written_beneath_a_top_that_is_gone_from_its_place_is_a_gap() {
    let outer = tempfile::tempdir().unwrap();
    let at = |path: &str| outer.path().join(path);
    std::fs::create_dir_all(at("home/w")).unwrap();
    std::fs::write(at("home/w/f"), "one\n").unwrap();
    let state = StateDir::open(at("state")).unwrap();
    let root = crate::store::resolve_root(&at("home/w"), &Settings::default()).unwrap();
    let (mut store, _) = RootStore::open(&state, root, &Settings::default()).unwrap();
    look(&mut store, &[]);
    std::fs::write(at("home/w/f"), "two\n").unwrap();
    std::fs::rename(at("home"), at("away")).unwrap();
    assert!(see(&mut store, &[]).outcome.is_err(), "nothing stands there");
    std::fs::create_dir_all(at("home/w")).unwrap();
    std::fs::write(at("home/w/f"), "one\n").unwrap();
    std::fs::write(at("away/w/f"), "two, and more\n").unwrap();
    assert!(see(&mut store, &[]).outcome.is_err(), "another directory stands there");
    std::fs::remove_dir_all(at("home")).unwrap();
    std::fs::rename(at("away"), at("home")).unwrap();
    assert_eq!(told(&look(&mut store, &[])), ["~f"]);
}
