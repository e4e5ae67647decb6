//! What the system says of a process.

use std::fs;
use std::time::Duration;

/// Returns a figure of `/proc/PID/status` in KiB.
pub(crate) fn kib(pid: u32, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

/// Returns how many bytes a process has read.
pub(crate) fn bytes_read(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = io.lines().find(|line| line.starts_with("rchar")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

/// Returns the time that the threads of a process have run: what it costs, whatever else the machine does.
pub(crate) fn ran(pid: u32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Duration::ZERO };
    let nanos = tasks.filter_map(Result::ok).filter_map(|task| {
        let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
