//! Git itself, as the oracle of this room's tests.

use crate::base::{ProxyId, RepoPath, WallNs};
use crate::ledger::{Change, Observation, Why};
use crate::store::capture::wall_now;
use crate::store::{Observed, RootStore, Settings, StateDir, resolve_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A scratch repository, with a home of its own.
pub(crate) struct Git {
    _dir: tempfile::TempDir,
    top: PathBuf,
    home: PathBuf,
}

impl Git {
    pub(crate) fn init() -> Self {
        Self::init_with(&[])
    }

    pub(crate) fn init_with(options: &[&str]) -> Self {
        let git = Self::none();
        git.run(&[&["init", "-q"], options].concat());
        git
    }

    /// A directory without a repository.
    pub(crate) fn none() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (top, home) = (base.join("w"), base.join("home"));
        std::fs::create_dir(&top).unwrap();
        std::fs::create_dir(&home).unwrap();
        Self { _dir: dir, top, home }
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.top).env_clear().stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(who, "someone");
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn try_run(&self, args: &[&str]) -> bool {
        self.command(args).output().unwrap().status.success()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.top.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-qm", message]);
    }

    /// The tree git would write of the worktree, by way of an index of its own.
    pub(crate) fn tree(&self) -> String {
        let index = self.home.join("oracle-index");
        drop(std::fs::remove_file(&index));
        if self.top.join(".git/index").exists() {
            std::fs::copy(self.top.join(".git/index"), &index).unwrap();
        }
        let objects = self.home.join("oracle-objects");
        std::fs::create_dir_all(&objects).unwrap();
        let run = |args: &[&str]| {
            let mut command = self.command(args);
            command.env("GIT_INDEX_FILE", &index).env("GIT_OBJECT_DIRECTORY", &objects);
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.top.join(".git/objects"));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        run(&["add", "-A"]);
        run(&["write-tree"])
    }

    /// A digest of every byte, name and mode beneath `.git`.
    pub(crate) fn fingerprint(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let mut todo = vec![self.top.join(".git")];
        while let Some(path) = todo.pop() {
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
            hasher.update(path.as_os_str().as_encoded_bytes()).update(&mode.to_le_bytes());
            if meta.is_dir() {
                let mut below: Vec<_> =
                    std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
                below.sort();
                todo.extend(below);
            } else if meta.is_file() {
                hasher.update(&std::fs::read(&path).unwrap());
            }
        }
        hasher.finalize()
    }
}

/// Does some work of the test of this name as an ordinary user. Root, who may read everything, starts the test once more
/// as somebody else.
pub(crate) fn as_an_ordinary_user(test: &str, work: impl FnOnce()) {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    let own = std::env::current_exe().unwrap();
    // They may not write to where root keeps its temporary files.
    let temporary = tempfile::tempdir_in("/tmp").unwrap();
    std::os::unix::fs::chown(temporary.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let start = |exe: &Path| {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(exe);
        command.args(["--exact", test, "--nocapture"]).current_dir("/").uid(NOBODY).gid(NOBODY);
        command.env("TMPDIR", temporary.path()).stdin(Stdio::null()).output()
    };
    let output = start(&own).or_else(|_| {
        // Others may not enter the directory where it was built. Another process makes the copy: a file that we had
        // open to write could not be run while a sibling forks.
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let copy = dir.path().join("tests");
        assert!(Command::new("cp").args([&own, &copy]).status().unwrap().success());
        start(&copy)
    });
    let output = output.unwrap();
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// A root that is observed, with its own state directory.
pub(crate) struct Eye {
    pub(crate) store: RootStore,
    pub(crate) state: StateDir,
    pub(crate) settings: Settings,
    _dir: tempfile::TempDir,
}

impl Eye {
    pub(crate) fn on(git: &Git) -> Self {
        Self::with(git, Settings::default())
    }

    pub(crate) fn with(git: &Git, settings: Settings) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let root = resolve_root(git.top(), &settings).unwrap();
        let (store, _) = RootStore::open(&state, root, &settings).unwrap();
        Self { store, state, settings, _dir: dir }
    }

    /// Another process that opens the same root on the same state.
    pub(crate) fn again(&self) -> RootStore {
        let root = self.store.root().clone();
        RootStore::open(&self.state, root, &self.settings).unwrap().0
    }

    pub(crate) fn look(&mut self) -> Observation {
        look(&mut self.store, &[])
    }

    pub(crate) fn look_at(&mut self, named: &[&str]) -> Observation {
        look(&mut self.store, named)
    }
}

pub(crate) fn see(store: &mut RootStore, named: &[&str]) -> Observed {
    let named: Vec<_> = named.iter().map(|path| RepoPath::new(*path).unwrap()).collect();
    store.observe(Why::Listing, &named, &|| WallNs(wall_now()), &ProxyId::new("test"))
}

pub(crate) fn look(store: &mut RootStore, named: &[&str]) -> Observation {
    see(store, named).outcome.unwrap()
}

/// Says what an observation saw, one line per change: `+` created, `-` deleted, `~` changed.
pub(crate) fn told(observation: &Observation) -> Vec<String> {
    observation.changes.iter().map(tell).collect()
}

fn tell(change: &Change) -> String {
    let sign = match (&change.before, &change.after) {
        (None, _) => '+',
        (_, None) => '-',
        (Some(before), Some(after)) if before == after => '=',
        (Some(_), Some(_)) => '~',
    };
    let flags = [
        (change.flags.unstable, " unstable"),
        (change.flags.unreadable, " unreadable"),
        (change.flags.ignored, " ignored"),
        (change.flags.base_unknown, " base_unknown"),
    ];
    let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
    format!("{sign}{}{flags}", change.path)
}
