//! When to look at a root that gives no sign of what happens beneath it.

use std::time::{Duration, Instant};

/// The shortest time between two looks that nobody asked for.
const OFTEN: Duration = Duration::from_secs(1);
/// The longest.
const SELDOM: Duration = Duration::from_secs(300);
/// So many times as long as a look took, nobody looks again unasked.
const SHARE: u32 = 20;

/// How a look came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Something had changed, or somebody had asked.
    Life,
    /// Nobody had asked, and nothing had changed.
    Nothing,
}

/// Says when a root is due that has to be walked. Where nothing happens it is due less and less often.
#[derive(Debug, Default)]
pub(crate) struct Patrol {
    wait: Duration,
    due: Option<Instant>,
}

impl Patrol {
    /// Notes a look that took so long.
    pub(crate) fn looked(&mut self, now: Instant, took: Duration, found: Found) {
        let least = OFTEN.max(took * SHARE);
        self.wait = match found {
            Found::Life => least,
            Found::Nothing => (self.wait * 2).clamp(least, SELDOM.max(least)),
        };
        self.due = Some(now + self.wait);
    }

    /// Notes that the root gives signs, or is being looked at.
    pub(crate) fn rest(&mut self) {
        self.due = None;
    }

    /// Returns how long it is until the next look is due: nothing when it is, `None` while none will be.
    pub(crate) fn until(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quiet_is_looked_at_less_and_less_often_and_what_is_slow_costs_little() {
        let (mut patrol, now) = (Patrol::default(), Instant::now());
        assert_eq!(patrol.until(now), None);
        let quick = Duration::from_millis(3);
        patrol.looked(now, quick, Found::Life);
        assert_eq!(patrol.until(now), Some(OFTEN));
        let mut waits = Vec::new();
        for _ in 0..12 {
            patrol.looked(now, quick, Found::Nothing);
            waits.extend(patrol.until(now));
        }
        assert!(waits.is_sorted() && waits[0] == OFTEN * 2 && waits[11] == SELDOM, "{waits:?}");
        patrol.looked(now, quick, Found::Life);
        assert_eq!(patrol.until(now + OFTEN), Some(Duration::ZERO));
        let slow = Duration::from_secs(30);
        patrol.looked(now, slow, Found::Nothing);
        assert_eq!(patrol.until(now), Some(slow * SHARE), "a twentieth of the time at most");
        patrol.rest();
        assert_eq!(patrol.until(now), None);
    }
}
