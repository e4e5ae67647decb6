//! Capture and restore against a reference: what an agent does to a tree is taken back file by file, in any order, and
//! what a person did to other files stays.

use super::*;
use crate::base::RootId;
use crate::ledger::{Change, Why};
use crate::store::oracle::{Eye, Git};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};

type Tree = BTreeMap<String, (Mode, Vec<u8>)>;

fn content() -> impl Strategy<Value = (Mode, Vec<u8>)> {
    let mode = prop_oneof![4 => Just(Mode::Regular), 1 => Just(Mode::Executable), 1 => Just(Mode::Symlink)];
    let bytes = prop_oneof![
        Just(Vec::new()),
        Just(vec![0]),
        proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 1..40),
    ];
    (mode, bytes).prop_map(|(mode, bytes)| match mode {
        Mode::Symlink => (mode, format!("to-{}", bytes.len()).into_bytes()),
        Mode::Regular | Mode::Executable => (mode, bytes),
    })
}

/// Paths that turn from file to directory and back.
fn tree() -> impl Strategy<Value = Tree> {
    let path =
        prop_oneof![Just("a"), Just("b"), Just("a/x"), Just("d/e/f"), Just("d/e"), Just("d/g"), Just("z")];
    proptest::collection::btree_map(path.prop_map(str::to_owned), content(), 0..6).prop_map(|mut tree| {
        let paths: Vec<_> = tree.keys().cloned().collect();
        for path in &paths {
            if paths.iter().any(|other| other.starts_with(&format!("{path}/"))) {
                tree.remove(path);
            }
        }
        tree
    })
}

fn write(git: &Git, from: &Tree, to: &Tree) {
    for path in from.keys().filter(|path| !to.contains_key(*path)) {
        std::fs::remove_file(git.top().join(path)).unwrap();
        let mut dir = git.top().join(path);
        while dir.pop() && dir != git.top() && std::fs::remove_dir(&dir).is_ok() {}
    }
    for (path, (mode, bytes)) in to.iter().filter(|(path, state)| from.get(*path) != Some(*state)) {
        let file = git.top().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        drop(std::fs::remove_file(&file));
        match mode {
            Mode::Symlink => symlink(String::from_utf8(bytes.clone()).unwrap(), &file).unwrap(),
            Mode::Regular | Mode::Executable => {
                std::fs::write(&file, bytes).unwrap();
                let bits = if *mode == Mode::Executable { 0o755 } else { 0o644 };
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(bits)).unwrap();
            }
        }
    }
}

fn read(git: &Git) -> Tree {
    let mut tree = Tree::new();
    let mut todo = vec![git.top().to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let name = path.strip_prefix(git.top()).unwrap().to_str().unwrap().to_owned();
            if meta.is_dir() {
                todo.push(path);
            } else if meta.is_symlink() {
                let target = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                tree.insert(name, (Mode::Symlink, target));
            } else {
                let executable = meta.permissions().mode() & 0o100 != 0;
                let mode = if executable { Mode::Executable } else { Mode::Regular };
                tree.insert(name, (mode, std::fs::read(&path).unwrap()));
            }
        }
    }
    tree
}

/// What takes every change back, in any order.
fn plans_of(root: &RootId, changes: &[Change], seed: u64) -> Vec<FilePlan> {
    let plan = |change: &Change| FilePlan {
        root: root.clone(),
        path: change.path.clone(),
        expected: change.after,
        wanted: change.before.map_or(Wanted::Absent, Wanted::State),
        other: None,
    };
    let mut plans: Vec<_> = changes.iter().map(plan).collect();
    plans.sort_by_key(|plan| {
        plan.path.as_bytes().iter().fold(seed, |hash, byte| hash.rotate_left(7) ^ u64::from(*byte))
    });
    plans
}

/// Makes renames of what goes and what comes, as far as that goes.
fn pair(plans: &mut [FilePlan]) {
    let (gone, come): (Vec<_>, Vec<_>) = plans
        .iter_mut()
        .filter(|plan| (plan.wanted == Wanted::Absent) != plan.expected.is_none())
        .partition(|plan| plan.wanted == Wanted::Absent);
    for (gone, come) in gone.into_iter().zip(come) {
        (gone.other, come.other) = (Some(come.path.clone()), Some(gone.path.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn taking_back_everything_an_agent_did_restores_the_base_also_when_it_is_parted(base in tree(), agent in tree(), seed in any::<u64>()) {
        let git = Git::none();
        write(&git, &Tree::new(), &base);
        let mut eye = Eye::on(&git);
        eye.look();
        write(&git, &base, &agent);
        let seen = eye.look();
        let root = eye.store.root().id.clone();
        let mut plans = plans_of(&root, &seen.changes, seed);
        let (at_once, parted) = (seed % 3 > 0, seed % 3 == 2);
        if at_once {
            pair(&mut plans);
        }
        FilePlan::sort(&mut plans);
        // As one command, or one by one; the command may be parted at any step, and another process finishes it.
        let chunks = if at_once { plans.len().max(1) } else { 1 };
        let mut steps = usize::try_from(seed >> 32).unwrap() % (plans.len() * 4 + 1);
        for plans in plans.chunks(chunks) {
            let prepared: Result<Vec<_>, _> = eye.store.prepare(plans).into_iter().collect();
            prop_assert!(prepared.is_ok(), "{plans:?}: {prepared:?}");
            let files = prepared.unwrap();
            if parted {
                eye.store.between = Some(Between(Box::new(move |_| {
                    let dies = steps == 0;
                    steps = steps.saturating_sub(1);
                    if dies { Err(Stop::Killed) } else { Ok(()) }
                })));
            }
            let mut outcomes = eye.store.restore(&files);
            if parted {
                outcomes = eye.again().recover(&files);
            }
            for outcome in outcomes {
                prop_assert!(matches!(outcome.result, RevertResult::Done { .. }), "{plans:?}: {outcome:?}");
            }
            eye.store.between = None;
        }
        prop_assert_eq!(read(&git), base);
        let proxy = crate::base::ProxyId::new("test");
        let after = eye.store.observe(Why::Review, &[], &|| crate::base::WallNs(1), &proxy).outcome.unwrap();
        prop_assert_eq!(after.changes.len(), seen.changes.len());
        let mut fresh = Eye::on(&git);
        prop_assert_eq!(fresh.look().tree, after.tree);
    }

    #[test]
    fn a_command_of_which_steps_fail_loses_no_file(base in tree(), agent in tree(), seed in any::<u64>(), fails in any::<(u64, u64)>()) {
        let git = Git::none();
        write(&git, &Tree::new(), &base);
        let mut eye = Eye::on(&git);
        eye.look();
        write(&git, &base, &agent);
        let changes = eye.look().changes;
        let root = eye.store.root().id.clone();
        let mut plans = plans_of(&root, &changes, seed);
        pair(&mut plans);
        FilePlan::sort(&mut plans);
        let files: Vec<_> = eye.store.prepare(&plans).into_iter().map(Result::unwrap).collect();
        let mut fails = fails.0 & fails.1;
        eye.store.between = Some(Between(Box::new(move |step| {
            let fail = step == Step::Checked && fails & 1 == 1;
            fails = fails.rotate_right(u32::from(step == Step::Checked));
            let full = || std::io::Error::from(rustix::io::Errno::NOSPC);
            if fail { Err(Stop::Io("write", full())) } else { Ok(()) }
        })));
        let results: Vec<_> = eye.store.restore(&files).into_iter().map(|outcome| outcome.result).collect();
        let now = read(&git);
        let at = |path: &RepoPath| path.to_string();
        for (file, result) in files.iter().zip(&results) {
            let done = matches!(result, RevertResult::Done { .. });
            let path = at(&file.path);
            let kept = |other: &RepoPath| {
                let theirs = files.iter().position(|one| one.path == *other).map(|place| &results[place]);
                matches!(theirs, Some(RevertResult::Failed { reason }) if reason.contains("is kept as"))
            };
            match (&file.other, file.wanted) {
                _ if done && file.wanted.is_some() => prop_assert_eq!(now.get(&path), base.get(&path), "{}: {:?}", &path, &results),
                (None, _) if !done => prop_assert_eq!(now.get(&path), agent.get(&path), "{}: {:?}", &path, &results),
                (Some(other), None) => {
                    let came = base.get(&at(other)) == now.get(&at(other));
                    let stays = now.get(&path) == agent.get(&path);
                    prop_assert!(came || stays || kept(other), "{path} is lost: {results:?}");
                    prop_assert!(done != stays, "{path}: {results:?}");
                }
                (Some(_), Some(_)) | (None, _) => {}
            }
        }
        prop_assert!(now.keys().all(|name| !name.contains("hunkgate-tmp")), "{:?}", now.keys());
    }
}
