//! Our descendants and our ancestors, as the kernel tells them.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long descendants get between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// How long an ended process is looked for before we give up on it.
const LIMIT: Duration = Duration::from_secs(2);

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its parent.
    pub(crate) parent: i32,
    /// When it started, in clock ticks since boot: with the pid it names the process for as long as the machine runs.
    pub(crate) started: u64,
    /// Whether it is dead and waits to be reaped.
    pub(crate) zombie: bool,
}

/// Looks at one process; `None` when there is none.
pub(crate) fn look(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

fn parse_stat(stat: &str) -> Option<Process> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Process { parent, started, zombie: matches!(state, "Z" | "X") })
}

/// Returns the ancestors of a process, nearest first.
pub(crate) fn ancestors(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut at = pid;
    while let Some(process) = look(at) {
        if process.parent <= 0 || found.contains(&process.parent) {
            break;
        }
        found.push(process.parent);
        at = process.parent;
    }
    found
}

/// Processes that were ours before there was an agent: a shell may have become us with its jobs running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strangers(BTreeSet<(i32, u64)>);

impl Strangers {
    /// Takes note of the descendants that are there now.
    pub(crate) fn note() -> Self {
        Self(descendants(&Self::default()).into_iter().map(|(pid, process)| (pid, process.started)).collect())
    }
}

/// Returns our living and dead descendants with the time they started, parents before children, without those that are
/// `strangers` or descend from one.
pub(crate) fn descendants(strangers: &Strangers) -> Vec<(i32, Process)> {
    let Ok(ours) = i32::try_from(std::process::id()) else { return Vec::new() };
    let scanned = (!std::fs::exists("/proc/thread-self/children").unwrap_or(false)).then(scan);
    let children_of = |pid| match &scanned {
        Some(scanned) => scanned.get(&pid).cloned().unwrap_or_default(),
        None => children_of(pid),
    };
    let mut found = Vec::new();
    let mut wave = vec![ours];
    let mut seen = BTreeSet::from([ours]);
    while let Some(parent) = wave.pop() {
        for child in children_of(parent) {
            let Some(process) = look(child) else { continue };
            if seen.insert(child) && !strangers.0.contains(&(child, process.started)) {
                wave.push(child);
                found.push((child, process));
            }
        }
    }
    found
}

/// Returns the children of a process.
fn children_of(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let listed = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(listed.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()));
    }
    children
}

/// Finds the children of every process by looking at all of them.
fn scan() -> BTreeMap<i32, Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return children };
    for pid in entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()) {
        if let Some(process) = look(pid) {
            children.entry(process.parent).or_default().push(pid);
        }
    }
    children
}

/// Children that somebody waits for: they are no orphans of others.
static KEPT: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn kept() -> MutexGuard<'static, BTreeSet<i32>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child of ours that is waited for here, and reaped by nobody else.
#[derive(Debug)]
pub(crate) struct Kept(Child);

/// Starts a child that is waited for by whoever holds it.
pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Kept> {
    // Held while the process is made: whoever reaps meanwhile waits to hear which one is not to be reaped.
    let mut kept = kept();
    let child = command.spawn()?;
    kept.extend(i32::try_from(child.id()));
    Ok(Kept(child))
}

impl Kept {
    /// Returns its process, which leads its group when it was started so.
    pub(crate) fn leader(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.0.id()).ok()?)
    }

    /// Takes its stdin and stdout.
    pub(crate) fn streams(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.0.stdin.take().zip(self.0.stdout.take())
    }

    /// Waits until it has ended, not longer than that, and leaves it to be reaped; its exit code, 128+n for signal n.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Option<i32> {
        let pid = self.leader()?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            if let Ok(Some(status)) = waitid(WaitId::Pid(pid), look) {
                return status
                    .exit_status()
                    .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        if let Ok(pid) = i32::try_from(self.0.id()) {
            kept().remove(&pid);
        }
    }
}

/// Reaps the dead children that we adopted as a subreaper, one by one; `but` is left to whoever waits for it.
pub(crate) fn reap_adopted(but: Option<i32>) {
    let kept = kept();
    let Ok(ours) = i32::try_from(std::process::id()) else { return };
    for (pid, process) in descendants(&Strangers::default()) {
        if process.parent == ours && process.zombie && Some(pid) != but && !kept.contains(&pid) {
            reap(pid);
        }
    }
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Ends every descendant that is left, process by process and never by group: the group may be the editor's.
pub(crate) fn end_descendants(strangers: &Strangers) {
    let deadline = Instant::now() + LIMIT;
    let mut asked: BTreeMap<(i32, u64), Instant> = BTreeMap::new();
    let mut quiet = 0;
    loop {
        reap_adopted(None);
        let left: Vec<_> =
            descendants(strangers).into_iter().filter(|(_, process)| !process.zombie).collect();
        let now = Instant::now();
        // A list that is read while a process ends may miss its siblings, so once is not enough.
        quiet = if left.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 || now >= deadline {
            return;
        }
        for (pid, process) in left {
            let since = *asked.entry((pid, process.started)).or_insert_with(|| {
                signal(pid, Signal::TERM);
                now
            });
            if now - since >= GRACE {
                signal(pid, Signal::KILL);
            }
        }
        if quiet == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn signal(pid: i32, which: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, which);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let stat = "17 (a) b (c) S 4 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 10 11";
        assert_eq!(parse_stat(stat), Some(Process { parent: 4, started: 9876, zombie: false }));
        assert_eq!(parse_stat("no stat at all"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_parent_is_our_first_ancestor() {
        let ours = i32::try_from(std::process::id()).expect("a pid is positive");
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(ancestors(ours).first().copied(), parent);
    }
}
