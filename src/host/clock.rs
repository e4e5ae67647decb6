//! The one place that reads the clocks.

use crate::base::{Tick, WallNs};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Both clocks, read together.
///
/// Where the wall clock is set back it goes on as if it were not, until it has caught up: what happens later in a process never
/// has an earlier time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

/// The last reading of this process.
static LAST: Mutex<Option<(Instant, i64)>> = Mutex::new(None);
/// A clock that is so much behind was set back.
const STEP_NS: i64 = 50_000_000;

impl Clock {
    /// Starts counting.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Reads both clocks.
    pub(crate) fn now(self) -> Tick {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, set) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let set = nanos(set);
        let wall = last.map_or(set, |(then, wall)| onward(set, wall.saturating_add(nanos(now - then))));
        *last = Some((now, wall));
        let mono = now.saturating_duration_since(self.start).as_nanos();
        Tick { mono: u64::try_from(mono).unwrap_or(u64::MAX), wall: WallNs(wall) }
    }

    /// Returns how long it is until `tick`; zero when it has passed.
    pub(crate) fn until(self, tick: Tick) -> Duration {
        Duration::from_nanos(tick.mono).saturating_sub(self.start.elapsed())
    }
}

/// Returns the time of a clock that is set to `set`, by the last reading it would be `expected`.
fn onward(set: i64, expected: i64) -> i64 {
    if set < expected.saturating_sub(STEP_NS) { expected } else { set }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_until_it_has_caught_up() {
        const HOUR: i64 = 3_600_000_000_000;
        assert_eq!(onward(2 * HOUR, HOUR), 2 * HOUR, "it was set ahead, or the machine slept");
        assert_eq!(onward(HOUR - 1_000_000, HOUR), HOUR - 1_000_000, "it is slewed");
        assert_eq!(onward(HOUR, 2 * HOUR), 2 * HOUR, "it was set back");
        assert_eq!(onward(3 * HOUR, 3 * HOUR - 1), 3 * HOUR, "it has caught up");
    }
}
