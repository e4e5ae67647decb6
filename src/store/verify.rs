//! The verify walk in the background: it compares a copy of the table with the disk, and only names what differs. The
//! ordinary path looks at those names again, so that an older stat never overwrites a newer observation.

use crate::base::RepoPath;
use crate::ledger::Change;
use crate::store::ignores::Ignores;
use crate::store::table::Table;
use crate::store::tracked::Tracked;
use crate::store::walk::{Orders, walk};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs at most one verify walk at a time, and seldom.
#[derive(Debug, Default)]
pub(crate) struct Verifier {
    suspects: Arc<Mutex<BTreeSet<RepoPath>>>,
    running: Option<JoinHandle<()>>,
    /// When the last one began, and how long it may be left at that.
    last: Option<Instant>,
    /// What the last look looked at because a verify walk had named it.
    looked_at: BTreeSet<RepoPath>,
    missed: u64,
}

/// What a walk needs besides the table, copied for a thread of its own.
#[derive(Debug)]
pub(crate) struct Circumstances {
    pub(crate) top: PathBuf,
    pub(crate) rules: Ignores,
    pub(crate) tracked: Tracked,
    pub(crate) named: BTreeSet<RepoPath>,
    pub(crate) state: (u64, u64),
}

const SELDOM: Duration = Duration::from_secs(20);

impl Verifier {
    /// Starts a walk over a copy of the table, unless one runs or has just been.
    pub(crate) fn start(&mut self, table: &Table, with: Circumstances) {
        if self.running.as_ref().is_some_and(|running| !running.is_finished())
            || self.last.is_some_and(|last| last.elapsed() < SELDOM)
        {
            return;
        }
        self.last = Some(Instant::now());
        let mut table = table.clone();
        let suspects = Arc::clone(&self.suspects);
        let work = move || {
            let orders = Orders {
                rules: &with.rules,
                tracked: &with.tracked,
                named: &with.named,
                now: crate::store::capture::wall_now(),
                watcher: None,
                watch_up_to: 0,
                state: with.state,
            };
            // A top that cannot be read is the next observation's to report.
            let Ok(found) = walk(&mut table, &with.top, &orders) else { return };
            let named = found
                .jobs
                .into_iter()
                .map(|job| job.path)
                .chain(found.gone.into_iter().map(|gone| gone.path));
            suspects.lock().unwrap_or_else(PoisonError::into_inner).extend(named);
        };
        self.running = std::thread::Builder::new().name("verify".to_owned()).spawn(work).ok();
    }

    /// Takes the names that differed.
    pub(crate) fn take_suspects(&mut self) -> BTreeSet<RepoPath> {
        let suspects = std::mem::take(&mut *self.suspects.lock().unwrap_or_else(PoisonError::into_inner));
        self.looked_at.clone_from(&suspects);
        suspects
    }

    /// Counts the changes that were found only because a verify walk had named them.
    pub(crate) fn count(&mut self, changes: &[Change]) {
        let missed = changes.iter().filter(|change| self.looked_at.contains(&change.path)).count();
        self.missed += missed as u64;
        self.looked_at.clear();
    }

    /// Returns how many changes were found only by verify walks.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// Waits for the walk that runs.
    #[cfg(test)]
    pub(crate) fn wait(&mut self) {
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}
