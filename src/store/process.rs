//! Whether a process that wrote a record still lives.

use crate::base::WallNs;

/// Says whether process `pid` lives and was there at `since`: another process may have its number now.
pub(crate) fn is_alive(pid: u32, since: WallNs) -> bool {
    let Some(target) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    let reached = rustix::process::test_kill_process(target);
    if matches!(reached, Err(rustix::io::Errno::SRCH)) {
        return false;
    }
    match stat_of(pid) {
        Some((b'Z' | b'X', _)) => false,
        Some((_, started)) => started <= since.plus_ms(SLACK_MS).0,
        None => true,
    }
}

/// The kernel counts starts in hundredths of a second, and the wall clock may have been set since.
const SLACK_MS: i64 = 2_000;

/// Returns the state of a process and when it started, on the wall clock.
fn stat_of(pid: u32) -> Option<(u8, i64)> {
    const TICKS_PER_SECOND: i64 = 100;
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = text.rsplit_once(") ")?.1;
    let state = *rest.as_bytes().first()?;
    let ticks: i64 = rest.split(' ').nth(19)?.parse().ok()?;
    let boot = rustix::time::clock_gettime(crate::store::stamps::UNSET);
    let since_boot = boot.tv_sec.saturating_mul(1_000_000_000).saturating_add(boot.tv_nsec);
    let booted = crate::store::capture::wall_now() - since_boot;
    Some((state, booted + ticks.saturating_mul(1_000_000_000 / TICKS_PER_SECOND)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_unless_it_is_gone_or_younger_than_the_record() {
        let now = WallNs(crate::store::capture::wall_now());
        let own = std::process::id();
        assert!(is_alive(own, now));
        assert!(!is_alive(own, WallNs(1)));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!is_alive(pid, now));
    }
}
