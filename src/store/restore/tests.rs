use super::*;
use crate::base::RootId;
use crate::ledger::Blobs as _;
use crate::store::oracle::{Eye, Git, told};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const OLD: &str = "base line\nagent line\nlast\n";
const NEW: &str = "base line\nlast\n";

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn state(mode: Mode, bytes: &str) -> FileState {
    let blob = crate::store::objects::blob_id(bytes.as_bytes());
    FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept }
}

/// A root that was observed with and without the agent's work on it.
struct Scene {
    git: Git,
    eye: Eye,
}

impl Scene {
    fn of(base: &[(&str, &str)], agent: impl FnOnce(&Git)) -> Self {
        let git = Git::none();
        for (path, content) in base {
            git.write(path, content);
        }
        let mut eye = Eye::on(&git);
        eye.look();
        agent(&git);
        eye.look();
        Self { git, eye }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.git.top().join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.file(name)).ok()
    }

    fn root(&self) -> RootId {
        self.eye.store.root().id.clone()
    }

    fn plan(&self, name: &str, expected: Option<&str>, wanted: Wanted) -> FilePlan {
        let expected = expected.map(|bytes| state(Mode::Regular, bytes));
        FilePlan { root: self.root(), path: path(name), expected, wanted, other: None }
    }

    fn prepare(&mut self, plan: FilePlan) -> RevertFile {
        self.eye.store.prepare(&[plan]).remove(0).unwrap()
    }

    fn restore(&mut self, plan: FilePlan) -> RevertResult {
        let file = self.prepare(plan);
        self.eye.store.restore(&[file]).remove(0).result
    }

    /// Names of everything beneath the top, temporaries included.
    fn names(&self) -> Vec<String> {
        names_in(self.git.top())
    }

    fn is_kept(&self, bytes: &str) -> bool {
        let id = crate::store::objects::blob_id(bytes.as_bytes());
        self.eye.again().blobs().bytes(id).as_deref() == Some(bytes.as_bytes())
    }
}

fn names_in(top: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            names.push(entry.path().strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            }
        }
    }
    names.sort();
    names
}

fn without_agent_line() -> Wanted {
    Wanted::Edited { mode: Mode::Regular, edits: vec![ByteEdit { start: 10, end: 21, text: Vec::new() }] }
}

fn edited_scene() -> Scene {
    Scene::of(&[("f", NEW), ("other", "x\n")], |git| git.write("f", OLD))
}

fn done(result: &RevertResult) -> bool {
    matches!(result, RevertResult::Done { .. })
}

#[test]
fn one_hunk_goes_back_and_only_that_file_is_touched() {
    let mut scene = edited_scene();
    std::fs::set_permissions(scene.file("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let key = "user.note";
    let labelled =
        rustix::fs::setxattr(scene.file("f"), key, b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    scene.eye.look();
    let times = |scene: &Scene| {
        let meta = scene.file("other").metadata().unwrap();
        (meta.ino(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let before = times(&scene);
    let result = scene.restore(scene.plan("f", Some(OLD), without_agent_line()));
    assert!(done(&result), "{result:?}");
    assert_eq!(scene.read("f").as_deref(), Some(NEW));
    assert_eq!(scene.file("f").metadata().unwrap().mode() & 0o7777, 0o640);
    let mut value = [0; 8];
    let len = rustix::fs::getxattr(scene.file("f"), key, &mut value[..]);
    assert!(!labelled || len.is_ok_and(|len| &value[..len] == b"kept"));
    assert_eq!(times(&scene), before);
    assert_eq!(scene.names(), ["f", "other"]);
    assert_eq!(told(&scene.eye.look()), ["~f"]);
}

#[test]
fn a_created_file_goes_with_the_directories_that_came_with_it() {
    let mut scene = Scene::of(&[("f", "x")], |_| {});
    std::fs::create_dir_all(scene.file("old/empty")).unwrap();
    scene.eye.look();
    scene.git.write("new/deep/file", NEW);
    scene.git.write("old/empty/file", NEW);
    scene.eye.look();
    scene.eye.store.made.retain(|dir| !dir.as_bytes().starts_with(b"old"));
    for name in ["new/deep/file", "old/empty/file"] {
        let result = scene.restore(scene.plan(name, Some(NEW), Wanted::Absent));
        assert_eq!(result, RevertResult::Done { left: None, remark: None });
    }
    assert_eq!(scene.names(), ["f", "old", "old/empty"]);
}

#[test]
fn directories_that_stood_at_the_first_look_are_not_taken_for_made() {
    let git = Git::none();
    git.write("f", "x");
    std::fs::create_dir_all(git.top().join("a/b")).unwrap();
    let mut eye = Eye::on(&git);
    eye.look();
    git.write("a/b/c/file", "x");
    eye.look();
    assert_eq!(eye.store.made.iter().cloned().collect::<Vec<_>>(), [path("a/b/c")]);
}

#[test]
fn a_deleted_file_comes_back_with_parents_and_mode() {
    let mut scene = Scene::of(&[("f", "x"), ("d/e/run", "#!/bin/sh\n")], |_| {});
    std::fs::set_permissions(scene.file("d/e/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("f", scene.file("d/link")).unwrap();
    scene.eye.look();
    std::fs::remove_dir_all(scene.file("d")).unwrap();
    scene.eye.look();
    let run = Wanted::State(state(Mode::Executable, "#!/bin/sh\n"));
    assert!(done(&scene.restore(scene.plan("d/e/run", None, run))));
    let link = Wanted::State(state(Mode::Symlink, "f"));
    assert!(done(&scene.restore(scene.plan("d/link", None, link))));
    assert_ne!(scene.file("d/e/run").metadata().unwrap().mode() & 0o100, 0);
    assert_eq!(std::fs::read_link(scene.file("d/link")).unwrap(), Path::new("f"));
    assert_eq!(scene.names(), ["d", "d/e", "d/e/run", "d/link", "f"]);
}

#[test]
fn an_emptied_or_filled_file_stays_a_file() {
    let mut scene = Scene::of(&[("f", "")], |git| git.write("f", NEW));
    assert!(done(&scene.restore(scene.plan("f", Some(NEW), Wanted::State(state(Mode::Regular, ""))))));
    assert_eq!(scene.read("f").as_deref(), Some(""));
}

#[test]
fn a_hard_link_is_written_in_place_and_says_so() {
    let mut scene = edited_scene();
    std::fs::hard_link(scene.file("f"), scene.file("twin")).unwrap();
    scene.eye.look();
    let result = scene.restore(scene.plan("f", Some(OLD), without_agent_line()));
    assert!(
        matches!(&result, RevertResult::Done { remark: Some(remark), .. } if remark.contains("in place"))
    );
    assert_eq!(scene.read("twin").as_deref(), Some(NEW));
    assert_eq!(scene.file("f").metadata().unwrap().nlink(), 2);
}

#[test]
fn a_write_in_place_that_fails_half_way_is_taken_back() {
    let mut scene = edited_scene();
    std::fs::hard_link(scene.file("f"), scene.file("twin")).unwrap();
    scene.eye.look();
    scene.eye.store.between = Some(Between(Box::new(|step| match step {
        Step::HalfWritten => Err(Stop::Io("write", rustix::io::Errno::NOSPC.into())),
        Step::Checked | Step::Written | Step::Swapped | Step::Removed => Ok(()),
    })));
    let result = scene.restore(scene.plan("f", Some(OLD), without_agent_line()));
    assert!(matches!(&result, RevertResult::Failed { reason } if reason.starts_with("write it: No space")));
    assert_eq!((scene.read("f").as_deref(), scene.read("twin").as_deref()), (Some(OLD), Some(OLD)));
}

#[test]
fn a_mode_goes_back_without_a_byte_being_written() {
    let mut scene = edited_scene();
    std::fs::set_permissions(scene.file("f"), std::fs::Permissions::from_mode(0o750)).unwrap();
    scene.eye.look();
    let before = scene.file("f").metadata().unwrap();
    let expected = Some(state(Mode::Executable, OLD));
    let wanted = Wanted::State(state(Mode::Regular, OLD));
    let plan = FilePlan { root: scene.root(), path: path("f"), expected, wanted, other: None };
    assert!(done(&scene.restore(plan)));
    let after = scene.file("f").metadata().unwrap();
    assert_eq!(after.mode() & 0o7777, 0o640);
    assert_eq!((after.ino(), after.mtime_nsec()), (before.ino(), before.mtime_nsec()));
}

#[test]
fn a_link_and_a_file_take_each_others_place_back() {
    let mut scene = Scene::of(&[("f", NEW)], |git| {
        std::fs::remove_file(git.top().join("f")).unwrap();
        symlink("elsewhere", git.top().join("f")).unwrap();
    });
    let expected = Some(state(Mode::Symlink, "elsewhere"));
    let wanted = Wanted::State(state(Mode::Regular, NEW));
    let plan = FilePlan { root: scene.root(), path: path("f"), expected, wanted, other: None };
    assert!(done(&scene.restore(plan)));
    assert!(scene.file("f").symlink_metadata().unwrap().is_file());
    assert_eq!(scene.names(), ["f"]);
}

#[test]
fn what_was_not_shown_is_stale_and_nothing_is_changed() {
    let mut scene = edited_scene();
    let prepared = scene.prepare(scene.plan("f", Some(OLD), without_agent_line()));
    scene.git.write("f", "a person was here\n");
    let stale = RevertResult::Stale { rescued: None };
    assert_eq!(scene.eye.store.restore(&[prepared]).remove(0).result, stale);
    let plan = scene.plan("f", Some(OLD), without_agent_line());
    assert_eq!(scene.eye.store.prepare(&[plan]).remove(0).unwrap_err().result, stale);
    assert_eq!(scene.read("f").as_deref(), Some("a person was here\n"));
    std::fs::remove_file(scene.file("f")).unwrap();
    symlink("/etc", scene.file("dir")).unwrap();
    let plan = scene.plan("dir/passwd", None, Wanted::State(state(Mode::Regular, NEW)));
    assert!(scene.eye.store.prepare(&[plan]).remove(0).is_err() || !Path::new("/etc/passwd.x").exists());
    assert_eq!(scene.names(), ["dir", "other"]);
}

#[test]
fn nothing_is_put_back_in_another_directory_that_stands_in_the_place_of_the_root() {
    let mut scene = edited_scene();
    let prepared = scene.prepare(scene.plan("f", Some(OLD), without_agent_line()));
    std::fs::rename(scene.git.top(), scene.git.home().join("away")).unwrap();
    scene.git.write("f", OLD);
    let plan = scene.plan("f", Some(OLD), without_agent_line());
    for refused in [
        scene.eye.store.prepare(std::slice::from_ref(&plan)).remove(0).unwrap_err().result,
        scene.eye.store.restore(std::slice::from_ref(&prepared)).remove(0).result,
        scene.eye.again().restore(&[prepared]).remove(0).result,
    ] {
        let RevertResult::Failed { reason } = refused else { panic!("{refused:?}") };
        assert!(reason.contains("another directory"), "{reason}");
    }
    assert_eq!(scene.read("f").as_deref(), Some(OLD));
}

#[test]
fn what_the_store_does_not_have_is_refused() {
    let mut scene = edited_scene();
    let plan = scene.plan("f", Some(OLD), Wanted::State(state(Mode::Regular, "never seen\n")));
    let refused = scene.eye.store.prepare(&[plan]).remove(0).unwrap_err().result;
    assert!(matches!(&refused, RevertResult::Failed { reason } if reason.contains("missing")), "{refused:?}");
}

/// The four methods, each with what stands before and after.
fn scenes() -> Vec<(&'static str, Scene, FilePlan)> {
    let exchange = edited_scene();
    let plan = exchange.plan("f", Some(OLD), without_agent_line());
    let created = Scene::of(&[("x", "x")], |git| git.write("d/f", OLD));
    let remove = created.plan("d/f", Some(OLD), Wanted::Absent);
    let deleted = Scene::of(&[("x", "x"), ("d/f", NEW)], |git| {
        std::fs::remove_dir_all(git.top().join("d")).unwrap();
    });
    let create = deleted.plan("d/f", None, Wanted::State(state(Mode::Regular, NEW)));
    let mut linked = edited_scene();
    std::fs::hard_link(linked.file("f"), linked.file("twin")).unwrap();
    linked.eye.look();
    let in_place = linked.plan("f", Some(OLD), without_agent_line());
    vec![
        ("exchange", exchange, plan),
        ("remove", created, remove),
        ("create", deleted, create),
        ("in place", linked, in_place),
    ]
}

/// The points that a method passes.
fn steps(what: &str) -> &'static [Step] {
    match what {
        "exchange" => &[Step::Checked, Step::Written, Step::Swapped, Step::Removed],
        "remove" => &[Step::Checked, Step::Swapped, Step::Removed],
        "create" => &[Step::Checked, Step::Written, Step::Swapped],
        _ => &[Step::Checked, Step::HalfWritten, Step::Swapped],
    }
}

/// Runs `work` over each method and each point that it passes.
fn at_every_step(work: impl Fn(&str, Step, &mut Scene, FilePlan)) {
    for nth in 0..4 {
        for (what, mut scene, plan) in scenes() {
            if let Some(step) = steps(what).get(nth) {
                work(what, *step, &mut scene, plan);
            }
        }
    }
}

#[test]
fn a_revert_that_was_parted_by_a_crash_is_finished() {
    at_every_step(|what, step, scene, plan| {
        let name = plan.path.to_string();
        let wanted = if what == "remove" { None } else { Some(NEW) };
        let file = scene.prepare(plan);
        let kill = move |at| if at == step { Err(Stop::Killed) } else { Ok(()) };
        scene.eye.store.between = Some(Between(Box::new(kill)));
        scene.eye.store.restore(std::slice::from_ref(&file));
        let mut next = scene.eye.again();
        let result = next.recover(std::slice::from_ref(&file)).remove(0).result;
        assert!(done(&result), "{what} killed at {step:?}: {result:?}");
        assert_eq!(scene.read(&name).as_deref(), wanted, "{what} killed at {step:?}");
        let names = scene.names();
        assert!(names.iter().all(|name| !name.contains("hunkgate")), "{what} killed at {step:?}: {names:?}");
        let again = next.recover(&[file]).remove(0).result;
        assert!(done(&again), "{what} killed at {step:?}, recovered twice: {again:?}");
    });
}

#[derive(Clone, Copy, Debug)]
enum Writer {
    /// Truncates and writes, as many editors do.
    InPlace,
    /// Writes beside and renames over.
    Renames,
    /// Removes.
    Removes,
}

const UNKNOWN: &str = "what a person typed just now\n";

fn disturb(file: &Path, writer: Writer) {
    drop(file.parent().map(std::fs::create_dir_all));
    match writer {
        Writer::InPlace => std::fs::write(file, UNKNOWN).unwrap(),
        Writer::Renames => {
            let beside = file.with_extension("swp");
            std::fs::write(&beside, UNKNOWN).unwrap();
            std::fs::rename(beside, file).unwrap();
        }
        Writer::Removes => drop(std::fs::remove_file(file)),
    }
}

#[test]
fn unexpected_bytes_survive_every_step() {
    for writer in [Writer::InPlace, Writer::Renames, Writer::Removes] {
        for crash in [false, true] {
            at_every_step(|what, step, scene, plan| {
                let what = format!("{what}, {writer:?} at {step:?}, crash {crash}");
                survive(&what, (writer, step, crash), scene, plan);
            });
        }
    }
}

fn survive(what: &str, (writer, step, crash): (Writer, Step, bool), scene: &mut Scene, plan: FilePlan) {
    let name = plan.path.to_string();
    let file = scene.prepare(plan);
    let target = scene.file(&name);
    let wrote = Arc::new(Mutex::new(false));
    let noted = Arc::clone(&wrote);
    scene.eye.store.between = Some(Between(Box::new(move |at| {
        if at == step {
            disturb(&target, writer);
            *noted.lock().unwrap() = true;
        }
        if at == step && crash { Err(Stop::Killed) } else { Ok(()) }
    })));
    let mut result = scene.eye.store.restore(std::slice::from_ref(&file)).remove(0).result;
    if crash {
        result = scene.eye.again().recover(&[file]).remove(0).result;
    }
    let names = scene.names();
    assert!(names.iter().all(|name| !name.contains("hunkgate-tmp")), "{what}: {names:?} {result:?}");
    let wrote = *wrote.lock().unwrap();
    // Between the bytes of one write in place nobody can tell the two writers apart.
    let torn = what.starts_with("in place") && !matches!(writer, Writer::Removes);
    if !wrote || matches!(writer, Writer::Removes) || torn {
        return;
    }
    let on_disk = scene.read(&name).as_deref() == Some(UNKNOWN);
    assert!(on_disk || scene.is_kept(UNKNOWN), "{what}: lost, {:?} {result:?}", scene.read(&name));
}

/// What a whole command comes to, and the reasons of what it refuses.
fn all(scene: &mut Scene, plans: &[FilePlan]) -> Vec<String> {
    let prepared = scene.eye.store.prepare(plans);
    let files: Vec<RevertFile> = prepared.iter().filter_map(|file| file.as_ref().ok()).cloned().collect();
    let refused = prepared.into_iter().filter_map(Result::err).map(|outcome| outcome.result);
    let restored = scene.eye.store.restore(&files).into_iter().map(|outcome| outcome.result);
    let reason = |result| match result {
        RevertResult::Done { .. } => None,
        RevertResult::Stale { .. } => Some("stale".to_owned()),
        RevertResult::Failed { reason } => Some(reason),
    };
    refused.chain(restored).filter_map(reason).collect()
}

/// The agent put a directory, with files at several depths, where a file was.
fn file_became_directory() -> Scene {
    Scene::of(&[("a", OLD)], |git| {
        std::fs::remove_file(git.top().join("a")).unwrap();
        git.write("a/b", NEW);
        git.write("a/c/d", "deep\n");
        std::fs::create_dir_all(git.top().join("a/empty/inner")).unwrap();
    })
}

fn of_file_that_became_directory(scene: &Scene) -> [FilePlan; 3] {
    [
        scene.plan("a/b", Some(NEW), Wanted::Absent),
        scene.plan("a/c/d", Some("deep\n"), Wanted::Absent),
        scene.plan("a", None, Wanted::State(state(Mode::Regular, OLD))),
    ]
}

#[test]
fn a_file_comes_back_where_a_directory_stood_in_one_command_and_goes_again() {
    let mut scene = file_became_directory();
    // A process that did not see the directory come does not know it as the agent's.
    for known in [true, false] {
        if !known {
            scene.eye.store.made.clear();
        }
        let there = of_file_that_became_directory(&scene);
        assert_eq!(all(&mut scene, &there), [] as [&str; 0]);
        assert_eq!((scene.read("a").as_deref(), scene.names()), (Some(OLD), vec!["a".to_owned()]));
        scene.eye.look();
        let back = [
            scene.plan("a", Some(OLD), Wanted::Absent),
            scene.plan("a/b", None, Wanted::State(state(Mode::Regular, NEW))),
            scene.plan("a/c/d", None, Wanted::State(state(Mode::Regular, "deep\n"))),
        ];
        assert_eq!(all(&mut scene, &back), [] as [&str; 0]);
        assert_eq!(scene.names(), ["a", "a/b", "a/c", "a/c/d"]);
        scene.eye.look();
    }
}

#[test]
fn a_link_and_a_directory_take_each_others_place() {
    let link = |git: &Git| symlink("other", git.top().join("a")).unwrap();
    let mut scene = Scene::of(&[("other/f", "x\n"), ("a/b", OLD)], |git| {
        std::fs::remove_dir_all(git.top().join("a")).unwrap();
        link(git);
    });
    let target = state(Mode::Symlink, "other");
    let root = scene.root();
    let gone =
        FilePlan { root, path: path("a"), expected: Some(target), wanted: Wanted::Absent, other: None };
    let file = scene.plan("a/b", None, Wanted::State(state(Mode::Regular, OLD)));
    assert_eq!(all(&mut scene, &[gone, file]), [] as [&str; 0]);
    assert_eq!((scene.read("a/b").as_deref(), scene.read("other/f").as_deref()), (Some(OLD), Some("x\n")));
    scene.eye.look();
    let plans = [scene.plan("a/b", Some(OLD), Wanted::Absent), scene.plan("a", None, Wanted::State(target))];
    assert_eq!(all(&mut scene, &plans), [] as [&str; 0]);
    assert_eq!(std::fs::read_link(scene.file("a")).unwrap(), Path::new("other"));
}

#[test]
fn what_does_not_go_with_a_directory_keeps_it_and_is_named() {
    let mut scene = file_became_directory();
    scene.git.write("a/c/mine", "a person's\n");
    let plans = of_file_that_became_directory(&scene);
    let reasons = all(&mut scene, &plans);
    assert_eq!(reasons, ["a directory stands there now, and a/c/mine in it stays"]);
    assert_eq!(scene.read("a/c/mine").as_deref(), Some("a person's\n"));
    // A file that comes between the check and the removal stays, too.
    let mut scene = file_became_directory();
    let plans = of_file_that_became_directory(&scene);
    let mine = scene.file("a/mine");
    scene.eye.store.between = Some(Between(Box::new(move |step| {
        if step == Step::Written {
            std::fs::create_dir_all(mine.parent().unwrap()).unwrap();
            std::fs::write(&mine, "a person's\n").unwrap();
        }
        Ok(())
    })));
    let reasons = all(&mut scene, &plans);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(scene.read("a/mine").as_deref(), Some("a person's\n"));
    assert!(scene.names().iter().all(|name| !name.contains("hunkgate-tmp")), "{:?}", scene.names());
}

/// Takes a move from a path to another back.
fn moved_back(scene: &Scene, (from, to, bytes): (&str, &str, &str)) -> [FilePlan; 2] {
    let gone = scene.plan(to, Some(bytes), Wanted::Absent);
    let come = scene.plan(from, None, Wanted::State(state(Mode::Regular, bytes)));
    [FilePlan { other: Some(come.path.clone()), ..gone.clone() }, FilePlan { other: Some(gone.path), ..come }]
}

/// A file `a` and a directory `d` that changed names, and what takes that back.
fn changed_names() -> (Scene, Vec<FilePlan>) {
    let scene = Scene::of(&[("a", OLD), ("d/x", NEW)], |git| {
        let at = |name: &str| git.top().join(name);
        std::fs::rename(at("a"), at("t")).unwrap();
        std::fs::rename(at("d"), at("a")).unwrap();
        std::fs::rename(at("t"), at("d")).unwrap();
    });
    let both = [("d/x", "a/x", NEW), ("a", "d", OLD)].map(|moved| moved_back(&scene, moved));
    let mut plans = both.concat();
    FilePlan::sort(&mut plans);
    (scene, plans)
}

#[test]
fn what_has_come_stays_where_what_it_came_for_cannot_return() {
    let (mut scene, plans) = changed_names();
    let mine = scene.file("a");
    scene.eye.store.between = Some(Between(Box::new(move |step| {
        if step == Step::Removed && !mine.exists() {
            std::fs::write(&mine, "a person's\n").unwrap();
        }
        Ok(())
    })));
    let files: Vec<_> = scene.eye.store.prepare(&plans).into_iter().map(Result::unwrap).collect();
    let outcomes = scene.eye.store.restore(&files);
    let stale: Vec<_> = outcomes.into_iter().filter(|outcome| !done(&outcome.result)).collect();
    let rescued = Some(state(Mode::Regular, OLD));
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert_eq!((&stale[0].path, &stale[0].result), (&path("a"), &RevertResult::Stale { rescued }));
    assert_eq!((scene.read("a").as_deref(), scene.read("d/x").as_deref()), (Some("a person's\n"), Some(NEW)));
    assert!(scene.is_kept(OLD));
}

#[test]
fn a_file_and_a_directory_that_changed_names_go_back_or_stay_as_they_are() {
    for person in [false, true] {
        let (mut scene, plans) = changed_names();
        let mine = scene.file("a/mine");
        scene.eye.store.between = person.then(|| {
            Between(Box::new(move |step| {
                if step == Step::Removed {
                    std::fs::write(&mine, "a person's\n").unwrap();
                }
                Ok(())
            }))
        });
        let reasons = all(&mut scene, &plans);
        if person {
            assert_eq!(reasons.len(), 4, "{reasons:?}");
            assert_eq!((scene.read("a/x").as_deref(), scene.read("d").as_deref()), (Some(NEW), Some(OLD)));
            assert_eq!(scene.names(), ["a", "a/mine", "a/x", "d"]);
        } else {
            assert_eq!(reasons, [] as [&str; 0]);
            assert_eq!((scene.read("d/x").as_deref(), scene.read("a").as_deref()), (Some(NEW), Some(OLD)));
            assert_eq!(scene.names(), ["a", "d", "d/x"]);
        }
    }
}

#[test]
fn what_was_renamed_stays_where_it_is_while_it_cannot_go_back() {
    let scene = || {
        Scene::of(&[("d/a", OLD)], |git| {
            std::fs::rename(git.top().join("d/a"), git.top().join("b")).unwrap();
            std::fs::remove_dir(git.top().join("d")).unwrap();
            git.write("d", "the agent's, too\n");
        })
    };
    let mut early = scene();
    let mut plans = moved_back(&early, ("d/a", "b", OLD));
    FilePlan::sort(&mut plans);
    let refused = early.eye.store.prepare(&plans).remove(0).unwrap_err().result;
    let reason = "d is no directory now, and it stays".to_owned();
    assert_eq!(refused, RevertResult::Failed { reason: reason.clone() });
    // The same where it comes between the check and the write, and after a crash.
    for crash in [false, true] {
        let mut late = scene();
        std::fs::remove_file(late.file("d")).unwrap();
        let files: Vec<_> = late.eye.store.prepare(&plans).into_iter().map(Result::unwrap).collect();
        late.git.write("d", "the agent's, too\n");
        let store = &mut late.eye.store;
        let outcomes = if crash { store.recover(&files) } else { store.restore(&files) };
        let results: Vec<_> = outcomes.into_iter().map(|outcome| outcome.result).collect();
        let half = "the other half of its rename cannot be done".to_owned();
        let failed = |reason: &String| RevertResult::Failed { reason: reason.clone() };
        assert_eq!(results, [failed(&reason), failed(&half)]);
        assert_eq!(
            (late.read("b").as_deref(), late.names()),
            (Some(OLD), vec!["b".to_owned(), "d".to_owned()])
        );
    }
}

#[test]
fn a_file_that_was_moved_beneath_its_own_name_goes_back_or_stays_where_it_is() {
    let moved = |git: &Git| {
        std::fs::remove_file(git.top().join("a")).unwrap();
        git.write("a/b", OLD);
    };
    let plans = |scene: &Scene| moved_back(scene, ("a", "a/b", OLD));
    let mut scene = Scene::of(&[("a", OLD)], moved);
    let both = plans(&scene);
    assert_eq!(all(&mut scene, &both), [] as [&str; 0]);
    assert_eq!(scene.read("a").as_deref(), Some(OLD));
    let mut scene = Scene::of(&[("a", OLD)], moved);
    let both = plans(&scene);
    let mine = scene.file("a/mine");
    scene.eye.store.between = Some(Between(Box::new(move |step| {
        if step == Step::Removed {
            std::fs::write(&mine, "a person's\n").unwrap();
        }
        Ok(())
    })));
    let reasons = all(&mut scene, &both);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert_eq!(scene.names(), ["a", "a/b", "a/mine"]);
    assert_eq!(scene.read("a/b").as_deref(), Some(OLD));
}
