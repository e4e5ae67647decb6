//! What an observation touches: counted in what it opens, not in time (C40, C41, C42, C44; C39 at full size).

use crate::site::{Observer, Site, changed, sizes};
use hunkgate::ledger::Why;
use hunkgate::store::Observing;

/// A worktree with directories of files.
fn filled(directories: usize, each: usize) -> Site {
    let site = Site::new();
    for directory in 0..directories {
        for file in 0..each {
            site.write(&format!("src{directory}/f{file}"), format!("{directory} {file}\n"));
        }
    }
    site
}

/// Looks until what was just written is too old to be written again under the same times.
fn settle(observer: &mut Observer) {
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_millis(60) {
        observer.look();
    }
}

// C40: an ignored directory of any size costs nothing: not at the first look, not for a change beside it, not for the
// verify walk at a turn's end, not for changes inside it; and no watch is spent on it.
// C44: nor is it remarked on.
#[cfg(target_os = "linux")]
#[test]
fn nothing_beneath_an_ignored_directory_is_ever_opened_or_watched() {
    let mut site = filled(3, 3);
    for package in 0..60 {
        for file in 0..20 {
            site.write(&format!("node_modules/p{package}/lib/f{file}.js"), "x\n");
        }
        site.write(&format!("logs/day{package}/big.log"), vec![b'x'; 10_000]);
    }
    site.write(".gitignore", "node_modules/\n/logs\n");
    site.commit();
    let (modules, logs) = (site.top().join("node_modules"), site.top().join("logs"));
    let witnesses = [crate::site::Witness::of(&modules), crate::site::Witness::of(&logs)];
    // The top, the three directories, and not one more.
    site.settings.watch_up_to = 4;
    let mut observer = site.observer();
    observer.look_for(Why::Base);
    assert_eq!((observer.store.files(), observer.store.observing()), (10, Observing::Watch));
    site.write("src0/f0", "changed\n");
    assert_eq!(changed(&observer.look_for(Why::TurnEnd)), ["src0/f0"]);
    for witness in &witnesses {
        assert!(witness.opened().is_empty());
    }
    site.write("node_modules/p0/lib/f0.js", "changed\n");
    site.write("logs/day0/big.log", "changed\n");
    for witness in &witnesses {
        assert!(!witness.opened().is_empty(), "the witness sees what is opened");
    }
    assert!(changed(&observer.look_for(Why::TurnEnd)).is_empty());
    drop(observer);
    for witness in &witnesses {
        assert!(witness.opened().is_empty());
    }
}

// C41: on a slow mount every file that is touched is felt. What is watched is not walked: one change opens that file, and a
// new one the directory that holds it, whatever else there is. What cannot be watched is walked, and that is said.
#[cfg(target_os = "linux")]
#[test]
fn a_look_after_one_change_opens_that_file_alone() {
    let mut site = filled(120, 10);
    let mut observer = site.observer();
    observer.look_for(Why::Base);
    settle(&mut observer);
    let witness = crate::site::Witness::of(site.top());
    assert!(changed(&observer.look()).is_empty());
    assert!(!witness.opened().iter().any(|path| path.starts_with("src")), "nothing changed");
    for (path, expected) in [("src7/f3", &["src7/f3"][..]), ("src7/new", &["src7", "src7/new"])] {
        site.write(path, "changed\n");
        witness.opened();
        assert_eq!(changed(&observer.look()), [path]);
        let mut opened = witness.opened();
        opened.retain(|path| path != "." && !path.starts_with(".git"));
        assert_eq!(opened.into_iter().collect::<Vec<_>>(), expected);
    }
    site.settings.watch_up_to = 0;
    let mut walking = site.observer();
    walking.look();
    assert_eq!(walking.store.observing(), Observing::Walk);
}

// C42: two hundred small writes in one turn: each look opens one file and appends what changed, never more.
#[cfg(target_os = "linux")]
#[test]
fn two_hundred_writes_cost_two_hundred_files_and_no_more_disk_than_they_changed() {
    let site = filled(40, 20);
    let mut observer = site.observer();
    observer.look_for(Why::Base);
    settle(&mut observer);
    let kept = || sizes(&site.kept()).values().sum::<u64>();
    let (before, witness) = (kept(), crate::site::Witness::of(site.top()));
    let mut opened = 0;
    for n in 0..200 {
        let path = format!("src{}/f{}", n % 40, n % 20);
        site.write(&path, format!("write {n}\n"));
        witness.opened();
        assert_eq!(changed(&observer.look()), [path]);
        opened += witness.opened().iter().filter(|path| path.contains("/f")).count();
    }
    assert!(opened <= 400, "{opened} files were opened for 200 changes");
    let grew = kept() - before;
    assert!(grew < 200 * 8 * 1024, "{grew} bytes were written for 200 small changes");
}

// C39, at full size: two hundred thousand tracked files.
#[test]
#[ignore = "makes and commits 200,000 files: minutes"]
fn two_hundred_thousand_files_are_read_in_seconds_and_a_change_is_found_at_once() {
    let site = filled(2_000, 100);
    site.commit();
    let mut observer = site.observer();
    let began = std::time::Instant::now();
    observer.look_for(Why::Base);
    let base = began.elapsed();
    assert_eq!(observer.store.files(), 200_000);
    settle(&mut observer);
    site.write("src999/f50", "changed\n");
    let began = std::time::Instant::now();
    assert_eq!(changed(&observer.look()), ["src999/f50"]);
    let later = began.elapsed();
    assert!(base.as_secs() < 30 && later.as_millis() < 1_000, "base {base:?}, later {later:?}");
}
