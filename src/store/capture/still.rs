//! A look at which nothing happened, and what ends the quiet.

use super::*;
use crate::store::oracle::{Eye, Git, see, told};

/// How many read and write system calls this thread has made, where the kernel counts them.
fn calls_of_this_thread() -> Option<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([count("syscr:")?, count("syscw:")?])
}

#[test]
fn a_look_at_which_nothing_happened_is_one_read_and_appends_nothing() {
    let git = Git::init();
    git.write("src/f", "one\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    assert_eq!(eye.store.observing(), Observing::Watch);
    eye.look();
    let chain = eye.store.dir.join("chain.jsonl");
    let long = || std::fs::metadata(&chain).unwrap().len();
    let (before, length) = (calls_of_this_thread(), long());
    for _ in 0..100 {
        let again = eye.look();
        assert_eq!((again.no, again.tree, told(&again)), (base.no, base.tree, Vec::new()));
    }
    if let (Some(before), Some(after)) = (before, calls_of_this_thread()) {
        let counting = calls_of_this_thread().unwrap()[0] - after[0];
        assert_eq!([after[0] - before[0], after[1] - before[1]], [100 + counting, 0]);
    }
    assert_eq!(long(), length);
}

#[test]
fn a_link_says_until_when_everything_was_still_as_before() {
    let git = Git::none();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    let still = [eye.look().began, eye.look().began];
    git.write("f", "two\n");
    let seen = eye.look();
    assert_eq!((seen.no, seen.still), (base.no.next(), Some(still[1])));
    git.write("f", "three\n");
    assert_eq!(eye.look().still, None, "no look between");
}

#[test]
fn what_another_process_appends_reaches_a_look_at_which_nothing_happened() {
    let git = Git::none();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    eye.look();
    let left = Event::ProxyLeft { proxy: ProxyId::new("other"), lost: false };
    let record = Record { at: WallNs(wall_now()), event: left };
    eye.again().chain().append(std::slice::from_ref(&record), Durability::Written).unwrap();
    let seen = see(&mut eye.store, &[]);
    assert_eq!((seen.foreign, seen.outcome.unwrap().no), (vec![record], base.no));
    assert!(see(&mut eye.store, &[]).foreign.is_empty());
}

#[test]
fn a_commit_that_changes_no_file_is_a_link() {
    let git = Git::init();
    git.write("f", "one\n");
    git.commit("one");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    git.run(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let seen = eye.look();
    assert_eq!((seen.no, told(&seen)), (base.no.next(), Vec::new()));
    assert_ne!(seen.head, base.head);
    assert_eq!(eye.look().no, seen.no);
    git.run(&["checkout", "-q", "--detach", "HEAD~1"]);
    assert_eq!(eye.look().head, base.head);
}

#[test]
fn a_look_after_a_gap_is_a_link_though_nothing_changed() {
    let git = Git::none();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    let base = eye.look();
    let aside = git.top().with_extension("aside");
    std::fs::rename(git.top(), &aside).unwrap();
    assert!(see(&mut eye.store, &[]).outcome.is_err());
    std::fs::rename(&aside, git.top()).unwrap();
    let seen = eye.look();
    assert_eq!((seen.no, told(&seen)), (base.no.next(), Vec::new()));
    assert_eq!(eye.look().no, seen.no);
}

#[test]
fn a_file_that_is_written_after_a_boundary_is_not_stamped_before_it() {
    let git = Git::none();
    git.write("f", "one\n");
    let mut eye = Eye::on(&git);
    eye.look();
    let stamp = |at: i64| {
        let event = Event::Gap(Gap { at: WallNs(at), reason: "a boundary".into(), why: Why::Activity });
        let record = Record { at: WallNs(at), event };
        eye.store.chain().append_boundary(&record, Durability::Written).unwrap();
        git.write("f", format!("{at}\n"));
        let meta = std::fs::metadata(git.top().join("f")).unwrap();
        at - (meta.ctime() * 1_000_000_000 + meta.ctime_nsec())
    };
    let early = (0..200).map(|_| stamp(wall_now())).max();
    // Processors that draw a stamp in the same instant share the one that was begun first.
    const SAME_INSTANT: i64 = 100_000;
    assert!(early <= Some(SAME_INSTANT) || !is_multigrain(&eye.store.dir), "{early:?} ns before it");
}

/// Says whether the kernel draws fine time stamps beneath a directory.
fn is_multigrain(dir: &std::path::Path) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version: Vec<u32> = release.split(['.', '-']).filter_map(|part| part.parse().ok()).collect();
    // ext4, xfs, btrfs, tmpfs
    const FINE: [i64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
    let kind = rustix::fs::statfs(dir).map_or(0, |stat| stat.f_type);
    version.as_slice() >= [6, 13].as_slice() && FINE.contains(&kind)
}

#[test]
fn a_boundary_counts_from_when_it_came_also_while_another_process_holds_the_chain() {
    let git = Git::none();
    let mut eye = Eye::on(&git);
    eye.look();
    if !is_multigrain(&eye.store.dir) {
        return;
    }
    let theirs = std::fs::File::options().write(true).open(eye.store.dir.join("chain.lock")).unwrap();
    theirs.lock().unwrap();
    let (chain, at) = (eye.store.chain(), wall_now());
    let event = Event::Gap(Gap { at: WallNs(at), reason: "a boundary".into(), why: Why::Activity });
    let record = Record { at: WallNs(at), event };
    let writer = std::thread::spawn(move || chain.append_boundary(&record, Durability::Written).unwrap());
    let place = eye.store.dir.join("chain.jsonl");
    let stamp = || {
        let meta = std::fs::metadata(&place).unwrap();
        meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
    };
    let begun = std::time::Instant::now();
    while stamp() < at && begun.elapsed() < std::time::Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let (drawn, waits) = (stamp(), !writer.is_finished());
    theirs.unlock().unwrap();
    writer.join().unwrap();
    assert!(drawn >= at && waits, "{} ns before it", at - drawn);
}
