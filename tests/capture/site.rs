//! A scratch worktree, its observers, and a witness of what they open in it.

use hunkgate::base::{ProxyId, WallNs};
use hunkgate::ledger::{Observation, Why};
use hunkgate::store::{RootStore, Settings, StateDir, resolve_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A scratch directory: a repository, a home, and an empty place for state.
pub(crate) struct Site {
    _keep: tempfile::TempDir,
    top: PathBuf,
    home: PathBuf,
    pub(crate) state: StateDir,
    pub(crate) settings: Settings,
}

impl Site {
    /// A repository without a commit.
    pub(crate) fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let (top, home) = (base.join("tree"), base.join("home"));
        std::fs::create_dir(&top).unwrap();
        std::fs::create_dir(&home).unwrap();
        let state = StateDir::open(base.join("state")).unwrap();
        let site = Self { _keep: keep, top, home, state, settings: Settings::default() };
        site.git(&["init", "-q"]);
        site
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(who, "someone");
        }
        let output = command.args(args).current_dir(&self.top).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "one"]);
    }

    /// The tree that git would write of the worktree, by an index and objects of its own.
    pub(crate) fn tree(&self) -> String {
        let (index, objects) = (self.home.join("index"), self.home.join("objects"));
        drop(std::fs::remove_file(&index));
        std::fs::create_dir_all(&objects).unwrap();
        let (index, objects) = (index.to_str().unwrap(), objects.to_str().unwrap());
        let script = format!(
            "export GIT_INDEX_FILE='{index}' GIT_OBJECT_DIRECTORY='{objects}'; git add -A && git write-tree"
        );
        let mut command = Command::new("sh");
        command.env("HOME", &self.home).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.args(["-c", &script]).current_dir(&self.top).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Somebody who observes the root, as a process of its own would.
    pub(crate) fn observer(&self) -> Observer {
        let root = resolve_root(&self.top, &self.settings).unwrap();
        let (store, _) = RootStore::open(&self.state, root, &self.settings).unwrap();
        Observer { store }
    }

    /// The directory that holds what is kept of the root.
    pub(crate) fn kept(&self) -> PathBuf {
        let root = resolve_root(&self.top, &self.settings).unwrap();
        self.state.root_dir(&root.id)
    }
}

/// Somebody who observes the root.
pub(crate) struct Observer {
    pub(crate) store: RootStore,
}

impl Observer {
    pub(crate) fn look(&mut self) -> Observation {
        self.look_for(Why::Activity)
    }

    pub(crate) fn look_for(&mut self, why: Why) -> Observation {
        let now = || {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
            WallNs(now.tv_sec * 1_000_000_000 + now.tv_nsec)
        };
        let seen = self.store.observe(why, &[], &now, &ProxyId::new("test"));
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
        seen.outcome.unwrap()
    }
}

/// The paths that an observation calls changed.
pub(crate) fn changed(seen: &Observation) -> Vec<String> {
    seen.changes.iter().map(|change| change.path.to_string()).collect()
}

/// Every file beneath a directory with its size, by path beneath it.
pub(crate) fn sizes(dir: &Path) -> std::collections::BTreeMap<String, u64> {
    let mut found = std::collections::BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.metadata());
            match meta {
                Ok(meta) if meta.is_dir() => todo.push(path),
                Ok(meta) => {
                    let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                    found.insert(name, meta.len());
                }
                Err(_) => {}
            }
        }
    }
    found
}

/// Sees whatever is opened or listed beneath some directories.
#[cfg(target_os = "linux")]
pub(crate) struct Witness {
    queue: std::os::fd::OwnedFd,
    dirs: std::collections::BTreeMap<i32, String>,
}

#[cfg(target_os = "linux")]
impl Witness {
    pub(crate) fn of(top: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        let mut dirs = std::collections::BTreeMap::new();
        let mut todo = vec![top.to_owned()];
        while let Some(dir) = todo.pop() {
            let name = dir.strip_prefix(top).unwrap().to_string_lossy().into_owned();
            let watch = add_watch(&queue, &dir, WatchFlags::OPEN | WatchFlags::ONLYDIR).unwrap();
            dirs.insert(watch, name);
            let below = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap());
            todo.extend(below.filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()));
        }
        let witness = Self { queue, dirs };
        witness.opened();
        witness
    }

    /// The paths that were opened since the last question.
    pub(crate) fn opened(&self) -> std::collections::BTreeSet<String> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut buffer = [std::mem::MaybeUninit::uninit(); 64 * 1024];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut opened = std::collections::BTreeSet::new();
        while let Ok(event) = reader.next() {
            assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW), "too much was opened to be told");
            let dir = self.dirs.get(&event.wd()).cloned().unwrap_or_default();
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            let joined = match name {
                Some(name) if dir.is_empty() => name,
                Some(name) => format!("{dir}/{name}"),
                None if dir.is_empty() => ".".to_owned(),
                None => dir,
            };
            opened.insert(joined);
        }
        opened
    }
}
