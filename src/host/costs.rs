//! What looks cost in a repository of the person's, against git. Nothing is written there: our state, git's index and the
//! objects that git makes lie in a directory for temporary files, which goes at the end. The only place that runs `git`.

use crate::base::ProxyId;
use crate::config::Config;
use crate::host::clock::Clock;
use crate::host::run::settings;
use crate::ledger::Why;
use crate::review::{Problem, ProblemKind};
use crate::store::{RootStore, Settings, StateDir, resolve_root};
use crate::surface::{CostShape, CostsShape};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Measures what looks at the root of `dir` cost, a round of each kind in turn.
pub fn costs(dir: &Path, rounds: usize, config: &Config) -> Result<CostsShape, Problem> {
    let scratch = Scratch::new().map_err(|error| internal(&error))?;
    let bench = Bench::new(dir, &scratch.0, settings(config))?;
    bench.measure(rounds)
}

fn internal(error: &impl std::fmt::Display) -> Problem {
    Problem::new(ProblemKind::Internal, format!("failed to measure: {error}"))
}

/// A directory that goes with us.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let now = Clock::start().now().wall.0;
        let dir = std::env::temp_dir().join(format!("hunkgate-bench-{}-{now}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Where it cannot be removed, the system clears it like any other temporary file.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

struct Bench<'s> {
    scratch: &'s Path,
    settings: Settings,
    top: PathBuf,
    git: Result<Git<'s>, String>,
}

impl<'s> Bench<'s> {
    fn new(dir: &Path, scratch: &'s Path, settings: Settings) -> Result<Self, Problem> {
        let dir = dir.canonicalize().map_err(|error| {
            Problem::new(ProblemKind::User, format!("failed to look at {}: {error}", dir.display()))
        })?;
        let root = resolve_root(&dir, &settings)
            .map_err(|refused| Problem::new(ProblemKind::User, refused.to_string()))?;
        let top = root.top.clone();
        if scratch.starts_with(&top) {
            let message = format!("{} holds the directory for temporary files", top.display());
            return Err(Problem::new(ProblemKind::User, message).hint("set TMPDIR to another one"));
        }
        let git = Git::of(&top, scratch);
        Ok(Self { scratch, settings, top, git })
    }

    fn measure(mut self, rounds: usize) -> Result<CostsShape, Problem> {
        let (mut first, mut idle, mut walk) = (Costs::default(), Costs::default(), Costs::default());
        let walking = Settings { watch_up_to: 0, ..self.settings.clone() };
        let (mut watcher, mut walker) =
            (self.open("watcher", &self.settings)?, self.open("walker", &walking)?);
        look(&mut watcher)?;
        look(&mut walker)?;
        for round in 0..rounds {
            first.ours.push(self.cold(round)?);
            first.theirs.extend(self.of_git(Git::add_first));
            // The end of the first look may still be told to the watcher.
            look(&mut watcher)?;
            let (looked, spent) = timed(|| look(&mut watcher));
            looked?;
            idle.ours.push(spent);
            let (looked, spent) = timed(|| look(&mut walker));
            looked?;
            walk.ours.push(spent);
            let again = self.of_git(Git::add_again);
            idle.theirs.extend(again);
            walk.theirs.extend(again);
        }
        let sight = watcher.sight();
        Ok(CostsShape {
            root: self.top,
            files: watcher.files(),
            mode: sight.observing.as_str().to_owned(),
            because: sight.because,
            rounds,
            looks: vec![first.shape("first"), idle.shape("idle"), walk.shape("walk")],
            no_git: self.git.err(),
        })
    }

    /// Opens the root with nothing known of it, and looks.
    fn cold(&self, round: usize) -> Result<Duration, Problem> {
        let name = format!("cold{round}");
        let (looked, spent) = timed(|| look(&mut self.open(&name, &self.settings)?));
        drop(std::fs::remove_dir_all(self.scratch.join(name)));
        looked.map(|()| spent)
    }

    fn open(&self, name: &str, settings: &Settings) -> Result<RootStore, Problem> {
        let state = StateDir::open(self.scratch.join(name)).map_err(|error| internal(&error))?;
        let root = resolve_root(&self.top, settings).map_err(|refused| internal(&refused))?;
        Ok(RootStore::open(&state, root, settings).map_err(|error| internal(&error))?.0)
    }

    /// Measures git once; after a failure never again.
    fn of_git(&mut self, work: impl FnOnce(&Git<'s>) -> Result<Duration, String>) -> Option<Duration> {
        match self.git.as_ref().map(work) {
            Ok(Ok(spent)) => Some(spent),
            Ok(Err(why)) => {
                self.git = Err(why);
                None
            }
            Err(_) => None,
        }
    }
}

fn look(store: &mut RootStore) -> Result<(), Problem> {
    let clock = Clock::start();
    let seen = store.observe(Why::Listing, &[], &|| clock.now().wall, &ProxyId::new("bench"));
    seen.outcome.map(drop).map_err(|gap| internal(&gap.reason))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

#[derive(Default)]
struct Costs {
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
}

impl Costs {
    fn shape(self, look: &'static str) -> CostShape {
        CostShape { look, ns: median(self.ours).unwrap_or_default(), git_ns: median(self.theirs) }
    }
}

fn median(mut times: Vec<Duration>) -> Option<u64> {
    times.sort();
    times.get(times.len() / 2).map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// git at work beside a repository: with an index and an object directory of its own.
struct Git<'s> {
    top: PathBuf,
    scratch: &'s Path,
    index: PathBuf,
    objects: PathBuf,
    /// What must not run or write there: hooks, monitors, and every filter that is configured.
    still: Vec<(OsString, &'static str)>,
}

const STILL: [(&str, &str); 6] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

impl<'s> Git<'s> {
    fn of(top: &Path, scratch: &'s Path) -> Result<Self, String> {
        if !top.join(".git").exists() {
            return Err(format!("{} is no repository", top.display()));
        }
        let path = |what: &str| -> Result<PathBuf, String> {
            let output = said(top, &["rev-parse", "--path-format=absolute", "--git-path", what])?;
            Ok(PathBuf::from(OsStr::from_bytes(output.strip_suffix(b"\n").unwrap_or(&output))))
        };
        let (index, objects) = (path("index")?, path("objects")?);
        if objects.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b':' | b'"' | b'\n')) {
            return Err("the name of its object directory cannot be lent".to_owned());
        }
        if is_split(&index) {
            return Err("its index is split".to_owned());
        }
        let mut still: Vec<_> = STILL.iter().map(|(key, value)| (OsString::from(key), *value)).collect();
        // Without any filter git ends with 1.
        let filters = said(top, &["config", "-z", "--name-only", "--get-regexp", "^filter\\."]);
        for key in filters.unwrap_or_default().split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
            let value = if key.ends_with(b".required") { "false" } else { "" };
            still.push((OsStr::from_bytes(key).to_owned(), value));
        }
        Ok(Self { top: top.to_owned(), scratch, index, objects, still })
    }

    /// Adds everything to an empty index, with nothing added before.
    fn add_first(&self) -> Result<Duration, String> {
        let index = self.scratch.join("index-first");
        drop(std::fs::remove_file(&index));
        drop(std::fs::remove_dir_all(self.scratch.join("objects")));
        self.add(&index)
    }

    /// Adds everything to a copy of the person's index.
    fn add_again(&self) -> Result<Duration, String> {
        let index = self.scratch.join("index-again");
        let start = Instant::now();
        match std::fs::copy(&self.index, &index) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("its index cannot be copied: {error}")),
        }
        self.add(&index).map(|_| start.elapsed())
    }

    fn add(&self, index: &Path) -> Result<Duration, String> {
        let start = Instant::now();
        self.run(index, &["add", "-A"])?;
        self.run(index, &["write-tree"])?;
        Ok(start.elapsed())
    }

    fn run(&self, index: &Path, args: &[&str]) -> Result<(), String> {
        let objects = self.scratch.join("objects");
        std::fs::create_dir_all(&objects).map_err(|error| error.to_string())?;
        let mut command = git(&self.top, args);
        command.env("GIT_INDEX_FILE", index).env("GIT_OBJECT_DIRECTORY", &objects);
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects);
        command.env("GIT_CONFIG_COUNT", self.still.len().to_string());
        for (n, (key, value)) in self.still.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        ended(&mut command).map(drop)
    }
}

/// Says whether an index shares a part with others, whose time git would touch.
fn is_split(index: &Path) -> bool {
    let beside = index.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    let mut names = beside.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.any(|name| name.as_bytes().starts_with(b"sharedindex."))
}

/// git in a directory, whatever the environment says of another repository.
fn git(top: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_PREFIX"]
    {
        command.env_remove(name);
    }
    command.args(args).current_dir(top).stdin(Stdio::null()).env("GIT_OPTIONAL_LOCKS", "0");
    command
}

fn said(top: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    ended(&mut git(top, args))
}

fn ended(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("git failed").to_owned())
}
