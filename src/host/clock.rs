//! The one place that reads the clocks.

use crate::base::{Tick, WallNs};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Both clocks, read together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts counting.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Reads both clocks.
    pub(crate) fn now(self) -> Tick {
        let mono = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tick { mono, wall: WallNs(i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX)) }
    }

    /// Returns how long it is until `tick`; zero when it has passed.
    pub(crate) fn until(self, tick: Tick) -> Duration {
        Duration::from_nanos(tick.mono).saturating_sub(self.start.elapsed())
    }
}
