//! What works here and what does not: one line per check.

use super::places::{Env, PROJECT_FILE, config_file};
use super::stock::{StockShape, size};
use super::text::{Style, count};
use crate::config::Written;
use rustix::fs::{AtFlags, CWD};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, ResolveFlags};
use serde::Serialize;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What the checks are about.
pub struct Patient<'p> {
    /// Where state would live.
    pub state: Option<&'p Path>,
    /// Where the person stands.
    pub cwd: &'p Path,
    /// The environment.
    pub env: Env<'p>,
    /// What is kept; `None` where nothing can be.
    pub stock: Option<&'p StockShape>,
}

impl std::fmt::Debug for Patient<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patient").field("state", &self.state).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub result: Health,
    /// What was found.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It works.
    Ok,
    /// It works in part, or more slowly.
    Warn,
    /// It does not work.
    Fail,
}

/// Looks at everything.
pub fn examine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = vec![state_check(patient.state)];
    checks.extend(patient.state.and_then(exchange_check));
    checks.extend(patient.stock.map(store_check));
    checks.push(user_config(patient.env));
    checks.extend(project_config(patient.cwd));
    checks.push(root_check(patient.cwd));
    checks.push(file_system("file system here", patient.cwd));
    checks.push(beneath_check(patient.cwd));
    checks.push(inotify_check());
    checks.push(git_check(patient.env));
    checks
}

/// Writes the checks for people.
pub fn report(style: &Style, checks: &[Check]) -> String {
    checks.iter().map(|check| style.check(check)).collect()
}

fn ok(check: &'static str, found: impl Into<String>) -> Check {
    Check { check, result: Health::Ok, found: found.into(), hint: None }
}

fn bad(check: &'static str, result: Health, found: impl Into<String>, hint: &str) -> Check {
    Check { check, result, found: found.into(), hint: Some(hint.to_owned()) }
}

const STATE: &str = "state directory";

fn state_check(state: Option<&Path>) -> Check {
    let Some(state) = state else {
        let hint = "set HOME, XDG_STATE_HOME or HUNKGATE_STATE_DIR, or give --state-dir";
        return bad(STATE, Health::Fail, "none: the proxy forwards and records nothing", hint);
    };
    let there = nearest_directory(state);
    if rustix::fs::access(&there, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_err() {
        let found = format!("{} cannot be written: the proxy forwards and records nothing", there.display());
        return bad(
            STATE,
            Health::Fail,
            found,
            "give a directory that can, with --state-dir or HUNKGATE_STATE_DIR",
        );
    }
    if there != state {
        return ok(STATE, format!("{} (made with the first session)", state.display()));
    }
    let mode = fs::metadata(state).map_or(0, |meta| meta.permissions().mode() & 0o777);
    if mode & 0o077 != 0 {
        let found = format!("{} has mode {mode:04o}: others may read it", state.display());
        return bad(STATE, Health::Warn, found, "chmod 700 it; it holds contents of your files");
    }
    ok(STATE, format!("{}, mode {mode:04o}", state.display()))
}

fn store_check(stock: &StockShape) -> Check {
    const STORE: &str = "store";
    let bytes = stock.roots.iter().map(|root| root.bytes).sum();
    let cap = size(stock.cap);
    let found = format!("{} for {}, cap {cap} each", size(bytes), count(stock.roots.len(), "root"));
    let full: Vec<_> = stock.roots.iter().filter(|root| root.at_cap).collect();
    if full.is_empty() {
        return ok(STORE, found);
    }
    let names: Vec<_> = full.iter().map(|root| root.path.as_deref().unwrap_or(root.root.as_str())).collect();
    let found = format!("{found}; reached by {}: content of new paths is not kept", names.join(", "));
    bad(STORE, Health::Warn, found, "`hunkgate gc` says what keeps it; [store] max_size moves the cap")
}

/// Returns `path`, or the closest directory above it that exists.
fn nearest_directory(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_path_buf()
}

/// Tries the atomic exchange of two files, in the state directory and nowhere else.
#[cfg(target_os = "linux")]
fn exchange_check(state: &Path) -> Option<Check> {
    const EXCHANGE: &str = "atomic exchange";
    let names = ["a", "b"].map(|name| state.join(format!(".doctor-{}-{name}", std::process::id())));
    if !state.is_dir()
        || names.iter().any(|name| fs::write(name, name.as_os_str().as_encoded_bytes()).is_err())
    {
        return None;
    }
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    let exchanged = rustix::fs::renameat_with(CWD, &names[0], CWD, &names[1], flags);
    for name in &names {
        // A name that is left behind is harmless and swept with the state directory.
        let _ = fs::remove_file(name);
    }
    Some(match exchanged {
        Ok(()) => ok(EXCHANGE, "renameat2 exchanges two files"),
        Err(error) => bad(
            EXCHANGE,
            Health::Warn,
            format!("renameat2 cannot exchange files here ({error})"),
            "rejects are refused where this holds for the worktree too",
        ),
    })
}

#[cfg(not(target_os = "linux"))]
fn exchange_check(_state: &Path) -> Option<Check> {
    None
}

/// Tries to open a path without leaving a directory.
#[cfg(target_os = "linux")]
fn beneath_check(cwd: &Path) -> Check {
    const BENEATH: &str = "open beneath";
    let opened = rustix::fs::open(cwd, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|root| {
            let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            rustix::fs::openat2(
                &root,
                ".",
                OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
                how,
            )
        });
    match opened {
        Ok(_) => ok(BENEATH, "openat2 resolves beneath a root"),
        Err(error) => bad(
            BENEATH,
            Health::Warn,
            format!("openat2 does not work here ({error})"),
            "paths are walked one component at a time instead",
        ),
    }
}

#[cfg(not(target_os = "linux"))]
fn beneath_check(_cwd: &Path) -> Check {
    ok("open beneath", "paths are walked one component at a time")
}

fn user_config(env: Env<'_>) -> Check {
    const CONFIG: &str = "configuration";
    let Some(path) = config_file(env) else {
        return ok(CONFIG, "none: neither HOME nor XDG_CONFIG_HOME is set; the defaults hold");
    };
    config_check(CONFIG, &path)
        .unwrap_or_else(|| ok(CONFIG, format!("{} is absent; the defaults hold", path.display())))
}

fn project_config(cwd: &Path) -> Option<Check> {
    cwd.ancestors().find_map(|directory| config_check("project file", &directory.join(PROJECT_FILE)))
}

fn config_check(check: &'static str, path: &Path) -> Option<Check> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(bad(
                check,
                Health::Fail,
                format!("{}: {error}", path.display()),
                "make it readable, or remove it",
            ));
        }
    };
    Some(match Written::parse(&path.display().to_string(), &text) {
        Ok(_) => ok(check, path.display().to_string()),
        Err(error) => bad(
            check,
            Health::Fail,
            error.to_string(),
            error.hint.as_deref().unwrap_or("proxy-config.example.toml documents every key"),
        ),
    })
}

fn root_check(cwd: &Path) -> Check {
    const ROOT: &str = "root here";
    match cwd.ancestors().find(|directory| directory.join(".git").exists()) {
        Some(top) => ok(ROOT, format!("{} (git work tree)", top.display())),
        None => ok(ROOT, format!("{} (plain directory, tracked without git)", cwd.display())),
    }
}

/// Names the file system of a directory; on a network or user-space one there is no time evidence.
#[cfg(target_os = "linux")]
fn file_system(check: &'static str, path: &Path) -> Check {
    let Ok(found) = rustix::fs::statfs(path) else {
        return bad(check, Health::Warn, format!("{} cannot be looked at", path.display()), "does it exist?");
    };
    // Numbers of linux/magic.h, and of the file systems' own sources.
    let (name, remote) = match found.f_type & 0xffff_ffff {
        0xef53 => ("ext4", false),
        0x5846_5342 => ("xfs", false),
        0x9123_683e => ("btrfs", false),
        0x0102_1994 => ("tmpfs", false),
        0x794c_7630 => ("overlay", false),
        0x2fc1_2fc1 => ("zfs", false),
        0x6969 => ("nfs", true),
        0xff53_4d42 | 0xfe53_4d42 => ("smb", true),
        0x6573_5546 => ("fuse", true),
        0x0102_1997 => ("9p", true),
        _ => ("another one", false),
    };
    if remote {
        let hint = "changes made on other machines are seen only when the directory is walked";
        return bad(check, Health::Warn, format!("{name}: no evidence from file times"), hint);
    }
    ok(check, name)
}

#[cfg(not(target_os = "linux"))]
fn file_system(check: &'static str, path: &Path) -> Check {
    ok(check, path.display().to_string())
}

/// Watches below which a large repository is observed by walking.
const ENOUGH_WATCHES: u64 = 65_536;

fn inotify_check() -> Check {
    const WATCHES: &str = "watches";
    let limit = |name: &str| {
        fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse::<u64>().ok()
    };
    match limit("max_user_watches") {
        None => ok(WATCHES, "no inotify: roots are observed by walking"),
        Some(watches) if watches < ENOUGH_WATCHES => bad(
            WATCHES,
            Health::Warn,
            format!("inotify allows {watches}"),
            "raise fs.inotify.max_user_watches for large repositories; they are walked instead",
        ),
        Some(watches) => ok(WATCHES, format!("inotify allows {watches}")),
    }
}

fn git_check(env: Env<'_>) -> Check {
    let path = env("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("git")).find(|program| {
        rustix::fs::accessat(CWD, program, rustix::fs::Access::EXEC_OK, AtFlags::empty()).is_ok()
    });
    match found {
        Some(program) => {
            ok("git", format!("{} (not needed: only `hunkgate bench` runs it)", program.display()))
        }
        None => ok("git", "not installed, and not needed"),
    }
}
