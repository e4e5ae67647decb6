//! What an observation costs against `git add -A` and `git write-tree` on a copied index, interleaved, as ratios of medians.
//!
//! `cargo bench --bench capture [-- FILES…]`; without arguments 1,000, 20,000 and 100,000 files.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the world"
)]

use hunkgate::base::{ProxyId, WallNs};
use hunkgate::ledger::Why;
use hunkgate::store::{RootStore, Settings, StateDir, resolve_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const ROUNDS: usize = 15;

fn main() {
    let counts: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1_000, 20_000, 100_000] } else { counts };
    println!(
        "{:>8} {:>10} {:>12} {:>12} {:>9} {:>8}",
        "files", "case", "hunkgate", "git", "ratio", "must be"
    );
    let mut warm = Vec::new();
    for count in counts {
        warm.push((count, measure(count)));
    }
    if let (Some((few, low)), Some((many, high))) = (warm.first(), warm.last()) {
        let ratio = high.as_secs_f64() / low.as_secs_f64();
        println!("one changed: {many} files cost {ratio:.1} x what {few} files cost (must be <= 4)");
    }
}

/// Measures one size; returns what one changed file costs.
fn measure(count: usize) -> Duration {
    let scene = Scene::new(count);
    let cold_git = time(|| scene.git_first_add());
    let mut watched = scene.open("watched", Settings::default());
    let cold = time(|| observe(&mut watched));
    row(count, "cold", cold, cold_git, 1.0 / 1.2);
    let mut walking = scene.open("walking", Settings { watch_up_to: 0, ..Settings::default() });
    observe(&mut walking);
    let mut one = Duration::ZERO;
    for (case, changed, must) in
        [("none", 0, 1_000.0), ("1", 1, 200.0), ("100", 100, 20.0), ("3000", 3_000, 3.0)]
    {
        if changed * 2 > count {
            continue;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            scene.change(changed, round);
            ours.push(time(|| observe(&mut watched)));
            theirs.push(time(|| scene.git_add()));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        if changed == 1 {
            one = ours;
        }
        row(count, case, ours, theirs, must);
    }
    let walk = median((0..ROUNDS).map(|_| time(|| observe(&mut walking))).collect());
    let add = median((0..ROUNDS).map(|_| time(|| scene.git_add())).collect());
    row(count, "walk", walk, add, 2.5);
    one
}

fn row(count: usize, case: &str, ours: Duration, theirs: Duration, must: f64) {
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    let (ours, theirs) = (format!("{ours:.2?}"), format!("{theirs:.2?}"));
    println!("{count:>8} {case:>10} {ours:>12} {theirs:>12} {ratio:>9.2} {must:>8.2}");
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn observe(store: &mut RootStore) {
    let clock = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        WallNs(i64::try_from(now).unwrap())
    };
    let seen = store.observe(Why::Listing, &[], &clock, &ProxyId::new("bench"));
    seen.outcome.unwrap();
}

struct Scene {
    dir: PathBuf,
    files: Vec<PathBuf>,
}

impl Scene {
    fn new(count: usize) -> Self {
        let dir = std::env::temp_dir().join(format!("hunkgate-bench-{}-{count}", std::process::id()));
        let top = dir.join("w");
        let files: Vec<_> = (0..count)
            .map(|n| top.join(format!("src{}/mod{}/file{n}.rs", n % 10, n % (count / 20).max(1))))
            .collect();
        for (n, file) in files.iter().enumerate() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("fn number_{n}() {{\n{}}}\n", "    work();\n".repeat(n % 60)))
                .unwrap();
        }
        let scene = Self { dir, files };
        scene.git(&["init", "-q"], None);
        scene.git(&["add", "-A"], None);
        scene.git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "base"], None);
        scene.git(&["repack", "-adq"], None);
        scene
    }

    fn top(&self) -> PathBuf {
        self.dir.join("w")
    }

    fn open(&self, name: &str, settings: Settings) -> RootStore {
        let state = StateDir::open(self.dir.join(name)).unwrap();
        let root = resolve_root(&self.top(), &settings).unwrap();
        RootStore::open(&state, root, &settings).unwrap().0
    }

    fn change(&self, count: usize, round: usize) {
        for file in self.files.iter().skip(round * 37).step_by(2).take(count) {
            std::fs::write(file, format!("fn changed() {{ {round} }}\n")).unwrap();
        }
    }

    fn git_first_add(&self) {
        let index = self.dir.join("cold-index");
        self.git(&["add", "-A"], Some(&index));
        self.git(&["write-tree"], Some(&index));
    }

    fn git_add(&self) {
        let index = self.dir.join("copied-index");
        std::fs::copy(self.top().join(".git/index"), &index).unwrap();
        self.git(&["add", "-A"], Some(&index));
        self.git(&["write-tree"], Some(&index));
    }

    fn git(&self, args: &[&str], index: Option<&Path>) {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.top()).env("HOME", &self.dir).stdout(Stdio::null());
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        assert!(command.status().unwrap().success(), "git {args:?}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.dir));
    }
}
