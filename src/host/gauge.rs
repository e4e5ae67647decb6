//! How many bytes of one direction are between its reader and its writer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counts bytes on their way to one peer. A reader waits for room before it reads; whoever writes never waits.
///
/// The limit is soft by one read and by what we author ourselves: an authored frame is counted and never refused, so that
/// an answer of ours is not stuck behind a peer that does not read.
#[derive(Debug)]
pub(crate) struct Gauge {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    shut: bool,
}

impl Gauge {
    /// Starts an empty gauge.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Counts bytes in.
    pub(crate) fn add(&self, bytes: usize) {
        self.lock().bytes += bytes;
    }

    /// Counts bytes out.
    pub(crate) fn sub(&self, bytes: usize) {
        let mut state = self.lock();
        let was_full = state.bytes >= self.limit;
        state.bytes = state.bytes.saturating_sub(bytes);
        if was_full && state.bytes < self.limit {
            self.changed.notify_all();
        }
    }

    /// Waits until there is room, or nobody will make any.
    pub(crate) fn wait_for_room(&self) {
        let mut state = self.lock();
        while state.bytes >= self.limit && !state.shut {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets every reader go on: the peer is gone, and what is still read is thrown away or kept by its own bound.
    pub(crate) fn shut(&self) {
        self.lock().shut = true;
        self.changed.notify_all();
    }

    /// Returns the bytes that are under way.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_reader_waits_while_the_opposite_writer_is_full() {
        let gauge = Arc::new(Gauge::new(10));
        gauge.add(10);
        let reader = std::thread::spawn({
            let gauge = Arc::clone(&gauge);
            move || {
                gauge.wait_for_room();
                gauge.bytes()
            }
        });
        gauge.sub(4);
        assert_eq!(reader.join().expect("the reader ends"), 6);
    }

    #[test]
    fn a_gauge_that_is_shut_holds_nobody_up() {
        let gauge = Gauge::new(1);
        gauge.add(5);
        gauge.shut();
        gauge.wait_for_room();
    }
}
