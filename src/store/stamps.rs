//! What the time stamps of files are worth beneath a root: measured once with a file of our own on the same file system.

use crate::ledger::Stamps;
use crate::store::watch::is_shared_with_others;
use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Writes to the probe.
const WRITES: u32 = 16;
/// The clock was set when it moved by this much against the one that nobody sets.
const STEP_NS: i64 = 50_000_000;

/// The clock that nobody sets, and that goes on while the machine sleeps.
#[cfg(target_os = "linux")]
pub(crate) const UNSET: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
pub(crate) const UNSET: ClockId = ClockId::Monotonic;

/// Measures beneath `top`, with a probe in `ours`: a directory of our own, used where it lies on the same file system.
pub(crate) fn measure(top: &Path, ours: &Path) -> Stamps {
    let Ok(root) = File::open(top) else { return Stamps::default() };
    if is_shared_with_others(&root) {
        return Stamps::Worthless;
    }
    let device = |path: &Path| std::fs::metadata(path).map(|meta| meta.dev()).ok();
    if device(top).is_none() || device(top) != device(ours) {
        return Stamps::default();
    }
    let probe = ours.join(format!("probe.{}", std::process::id()));
    let lag = lag_of(&probe);
    let _ = std::fs::remove_file(&probe);
    match (lag, tick()) {
        (Some(lag), Some(tick)) if lag <= allowed(tick) => within(allowed(tick)),
        (Some(lag), None) if lag <= i64::from(Stamps::LONGEST_TICK_NS) => Stamps::default(),
        (Some(_), _) => Stamps::Worthless,
        (None, _) => Stamps::default(),
    }
}

/// Returns the resolution of the clock that file systems stamp with, in nanoseconds; `None` where the system does not say.
///
/// A lag that was seen is no measure of it: a process that sleeps wakes just after a tick.
fn tick() -> Option<i64> {
    #[cfg(target_os = "linux")]
    {
        let resolution = rustix::time::clock_getres(ClockId::RealtimeCoarse);
        Some(resolution.tv_sec * 1_000_000_000 + resolution.tv_nsec).filter(|tick| *tick > 0)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Returns what to allow for a tick: half of it more, and a millisecond.
fn allowed(tick: i64) -> i64 {
    tick + tick / 2 + 1_000_000
}

fn within(allowed: i64) -> Stamps {
    u32::try_from(allowed).map_or(Stamps::Worthless, Stamps::Within)
}

/// Returns how far before a write its stamp lay at worst, in nanoseconds; `None` when that cannot be told.
///
/// Each time with a new file: multigrain kernels give a sharp stamp only to a file whose last one somebody has read.
fn lag_of(probe: &Path) -> Option<i64> {
    let mut worst = 0;
    for _ in 0..WRITES {
        let _ = std::fs::remove_file(probe);
        let before = nanos(ClockId::Realtime);
        let mut file = OpenOptions::new().write(true).create_new(true).open(probe).ok()?;
        file.write_all(b".").ok()?;
        let meta = file.metadata().ok()?;
        let stamp = meta.ctime().checked_mul(1_000_000_000)?.checked_add(meta.ctime_nsec())?;
        worst = worst.max(before - stamp);
    }
    Some(worst)
}

/// Notices when the wall clock is set: how far it stands from the one that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offset(i64);

impl Offset {
    /// Reads both clocks.
    pub(crate) fn now() -> Self {
        Self(nanos(ClockId::Realtime) - nanos(UNSET))
    }

    /// Says whether the wall clock was set between the two.
    pub(crate) fn was_set_since(self, earlier: Self) -> bool {
        (self.0 - earlier.0).abs() > STEP_NS
    }
}

fn nanos(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_on_the_same_file_system_bounds_what_a_stamp_is_worth_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        // A machine that stops for a while may well find its stamps worthless.
        if let Stamps::Within(allowed) = measure(dir.path(), dir.path()) {
            assert!((1_000_000..=20_000_000).contains(&allowed), "{allowed}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_clock_that_is_set_is_noticed() {
        assert!(Offset(5_000_000_000).was_set_since(Offset(0)));
        assert!(Offset(0).was_set_since(Offset(60_000_000)));
        assert!(!Offset(1_000_000).was_set_since(Offset(0)));
    }
}
