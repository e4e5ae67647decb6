//! Many observers of one root, and what they leave behind (C46, C55).

use crate::site::{Site, sizes};
use hunkgate::base::SessionKey;
use hunkgate::ledger::{Event, FileState, Why};
use hunkgate::store::{RootStore, resolve_root};
use std::collections::BTreeMap;

/// Plants what a process of another kind or age may have left: empty locks wherever somebody might look for one.
fn plant_stale_locks(site: &Site, session: &str) {
    std::fs::write(site.top().join(".git/index.lock"), "").unwrap();
    let store = site.kept().join("store.git");
    std::fs::create_dir_all(store.join("refs/hunkgate/sessions")).unwrap();
    for lock in ["HEAD.lock", "config.lock", "packed-refs.lock"] {
        std::fs::write(store.join(lock), "").unwrap();
    }
    std::fs::write(store.join(format!("refs/hunkgate/sessions/{session}.lock")), "").unwrap();
    std::fs::write(store.join("objects/pack/pack_git2_a1b2c3"), "torn").unwrap();
}

// C55: eight proxies, eight rounds, one repository, and stale locks all over.
#[test]
fn eight_observers_share_one_root_without_a_failure_and_no_stale_lock_stops_them() {
    let site = Site::new();
    site.write("f", "0\n");
    site.commit();
    let observers: Vec<_> = (0..8).map(|_| site.observer()).collect();
    plant_stale_locks(&site, "s0");
    std::thread::scope(|scope| {
        for (proxy, mut observer) in observers.into_iter().enumerate() {
            let site = &site;
            scope.spawn(move || {
                for round in 0..8 {
                    site.write(&format!("p{proxy}"), format!("{round}\n"));
                    let seen = observer.look_for(Why::TurnEnd);
                    let session = SessionKey::new(format!("s{proxy}"));
                    observer.store.pin(&session, &[seen.tree]).unwrap();
                }
            });
        }
    });
    let root = resolve_root(site.top(), &site.settings).unwrap();
    let (_, report) = RootStore::open(&site.state, root, &site.settings).unwrap();
    let mut current: BTreeMap<_, Option<FileState>> = BTreeMap::new();
    let mut last = None;
    for record in &report.history {
        if let Event::Observed(observation) = &record.event {
            assert!(last.is_none_or(|no| observation.no.0 == no + 1), "the chain is a chain");
            last = Some(observation.no.0);
            for change in &observation.changes {
                let before = current.insert(change.path.clone(), change.after);
                assert_eq!(before.unwrap_or(change.before), change.before, "{}", change.path);
            }
        }
    }
    assert!(report.skips.is_empty());
    std::fs::remove_file(site.top().join(".git/index.lock")).unwrap();
    assert_eq!(site.observer().look().tree.to_string(), site.tree());
    let store = site.kept().join("store.git");
    let store = store.to_str().unwrap();
    let refs = site.git(&["--git-dir", store, "for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs.lines().count(), 8, "every session is pinned: {refs}");
    site.git(&["--git-dir", store, "fsck", "--strict", "--no-dangling"]);
    // What a stale lock stood for can be deleted, too: no session has a ledger, so nothing is kept.
    std::fs::write(site.kept().join("store.git/refs/hunkgate/sessions/s0.lock"), "").unwrap();
    assert_eq!(site.state.sweep().unwrap().unpin.len(), 8);
    assert!(site.kept().exists(), "it was in use a moment ago");
    let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    for path in [site.kept().join("chain.jsonl"), site.kept()] {
        std::fs::File::open(path).unwrap().set_modified(an_hour_ago).unwrap();
    }
    assert_eq!(site.state.sweep().unwrap().drop.len(), 1);
    assert!(!site.kept().exists());
}

// C46: looks that overlap under load leave no lock, no temporary file and no pack that nobody reads.
#[test]
fn looks_that_overlap_under_load_leave_nothing_behind_and_take_bounded_disk() {
    const ROUNDS: u64 = 60;
    let site = Site::new();
    for n in 0..50 {
        site.write(&format!("d{}/f{n}", n % 5), format!("{n}\n"));
    }
    site.commit();
    let observers: Vec<_> = (0..4).map(|_| site.observer()).collect();
    std::thread::scope(|scope| {
        for (proxy, mut observer) in observers.into_iter().enumerate() {
            let site = &site;
            scope.spawn(move || {
                let session = SessionKey::new(format!("s{proxy}"));
                let mut trees = Vec::new();
                for round in 0..ROUNDS {
                    site.write(&format!("d{proxy}/f{}", round % 7), format!("{proxy} {round}\n"));
                    let why = if round % 10 == 9 { Why::TurnEnd } else { Why::Activity };
                    trees.push(observer.look_for(why).tree);
                    if round % 10 == 9 {
                        observer.store.pin(&session, &trees).unwrap();
                    }
                }
            });
        }
    });
    let kept = sizes(&site.kept());
    let known = |name: &str| {
        let top = ["chain.jsonl", "chain.lock", "observe.lock", "pack.lock", "key"].contains(&name);
        let pack = name.strip_prefix("store.git/objects/pack/pack-").is_some_and(|rest| {
            rest.len() == 44 && rest.ends_with(".idx") || rest.len() == 45 && rest.ends_with(".pack")
        });
        let plain = ["store.git/HEAD", "store.git/config", "store.git/description"].contains(&name);
        let odd = name.contains("tmp") || name.contains("_git2_") || name.ends_with(".lock");
        let rest = name.starts_with("store.git/") && !name.contains("/pack/") && !odd;
        top || pack || plain || rest || name.starts_with("presence/") || name.ends_with(".seg")
    };
    let odd: Vec<_> = kept.keys().filter(|name| !known(name)).collect();
    assert!(odd.is_empty(), "{odd:?}");
    let packs = kept.keys().filter(|name| name.ends_with(".pack")).count();
    assert!(packs <= 32, "{packs} packs");
    let bytes: u64 = kept.values().sum();
    assert!(bytes < 4 * ROUNDS * 8 * 1024, "{bytes} bytes for {} small changes", 4 * ROUNDS);
    let left: Vec<_> =
        sizes(&site.top().join(".git")).into_keys().filter(|name| name.ends_with(".lock")).collect();
    assert!(left.is_empty(), "{left:?}");
}
