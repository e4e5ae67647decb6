//! Instants. Nothing here reads a clock.

use serde::{Deserialize, Serialize};

/// A point on the wall clock, in nanoseconds since the Unix epoch.
///
/// Comparable with a file's `mtime` and `ctime`, and across processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallNs(pub i64);

impl WallNs {
    /// Returns the instant `ms` milliseconds later (earlier when negative), saturating.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000_000)))
    }

    /// Returns the nanoseconds from this instant to a later one; zero when it is not later.
    pub fn ns_until(self, later: Self) -> i64 {
        later.0.saturating_sub(self.0).max(0)
    }
}

/// One reading of both clocks, handed to the engine with every input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick {
    /// Monotonic nanoseconds since the process started; deadlines are made of these.
    pub mono: u64,
    /// Wall clock; shown to people and compared with file times.
    pub wall: WallNs,
}

impl Tick {
    /// Returns this tick moved `ms` milliseconds ahead on both clocks.
    #[must_use]
    pub fn plus_ms(self, ms: u32) -> Self {
        Self {
            mono: self.mono.saturating_add(u64::from(ms) * 1_000_000),
            wall: self.wall.plus_ms(i64::from(ms)),
        }
    }

    /// Returns the milliseconds that have passed since an earlier tick, a begun one counted as a whole.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> u32 {
        let passed = self.mono.saturating_sub(earlier.mono).div_ceil(1_000_000);
        u32::try_from(passed).unwrap_or(u32::MAX)
    }
}
