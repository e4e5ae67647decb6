//! No watching on this system: everything is walked.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

pub(crate) use super::beside::{Beside, Place, Unwatched};
pub(crate) use super::listener::Listener;

/// A watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(i32);

/// What happened since the last drain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) touched: BTreeMap<WatchId, BTreeSet<Vec<u8>>>,
    pub(crate) moved: bool,
    pub(crate) dropped: BTreeSet<WatchId>,
    pub(crate) overflow: bool,
    pub(crate) beside: Beside,
}

/// Never started on this system.
#[derive(Debug)]
pub(crate) struct Watcher(std::convert::Infallible);

impl Watcher {
    pub(crate) fn start() -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn watch(&self, _: impl AsFd) -> Result<WatchId, Unwatched> {
        match self.0 {}
    }

    pub(crate) fn watch_top(&self, _: impl AsFd) -> Result<WatchId, Unwatched> {
        match self.0 {}
    }

    pub(crate) fn watch_beside(&self, _: &std::path::Path, _: Place) -> bool {
        match self.0 {}
    }

    pub(crate) fn watches(&self, _: Place) -> bool {
        match self.0 {}
    }

    pub(crate) fn take_beside(&self) -> Beside {
        match self.0 {}
    }

    pub(crate) fn tells(&self, _: WatchId, _: &[u8]) -> bool {
        match self.0 {}
    }

    pub(crate) fn quiet(&self, _: &[Place]) -> Option<Beside> {
        match self.0 {}
    }

    pub(crate) fn forget(&self, _: WatchId) {
        match self.0 {}
    }

    pub(crate) fn take_noted(&self) -> Activity {
        match self.0 {}
    }

    pub(crate) fn listen(&self, _: Listener) {
        match self.0 {}
    }
}

/// Returns how many directories we may watch.
pub(crate) fn fair_share() -> usize {
    0
}

/// Says whether events of a directory's file system cannot be trusted.
pub(crate) fn is_shared_with_others(_: impl AsFd) -> bool {
    true
}
