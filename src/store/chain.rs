//! The per-root log that processes share.

use crate::base::{ProxyId, RootId, WallNs};
use crate::ledger::{Event, Log, Record, Skip};
use crate::store::journal::{Journal, Position, read_journal_from};
use crate::store::state::{make_private_dir, open_private};
use crate::store::{Durability, StateDir, StoreError};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A root's chain, shared by every process that looks at the root. Clones are the same chain.
#[derive(Clone, Debug)]
pub struct Chain {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    log: Log,
    path: PathBuf,
    lock: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    lock: File,
    journal: Journal,
    end: Position,
    foreign: Vec<Record>,
    skips: Vec<Skip>,
}

/// What a chain held when it was opened.
#[derive(Clone, Debug, Default)]
pub struct ChainHistory {
    /// Its records.
    pub records: Vec<Record>,
    /// What replay had to skip.
    pub skips: Vec<Skip>,
}

impl Chain {
    /// Opens (or makes) the chain of a root.
    pub fn open(state: &StateDir, root: &RootId) -> Result<(Self, ChainHistory), StoreError> {
        let dir = state.root_dir(root);
        make_private_dir(&dir)?;
        let (path, lock) = (dir.join("chain.jsonl"), dir.join("chain.lock"));
        let log = Log::Root(root.clone());
        let lock_file = open_private(&lock)?;
        lock_file.lock().map_err(|error| StoreError::io("lock", &lock, error))?;
        let opened = Journal::open(&path, &log);
        lock_file.unlock().map_err(|error| StoreError::io("unlock", &lock, error))?;
        let (journal, replay) = opened?;
        let inner =
            Inner { lock: lock_file, journal, end: replay.end, foreign: Vec::new(), skips: Vec::new() };
        let history = ChainHistory { records: replay.records, skips: replay.skips };
        Ok((Self { shared: Arc::new(Shared { log, path, lock, inner: Mutex::new(inner) }) }, history))
    }

    /// Appends records under the chain's lock, after reading what other processes appended.
    pub fn append(&self, records: &[Record], durability: Durability) -> Result<(), StoreError> {
        self.locked(|shared, inner| {
            read_foreign(shared, inner)?;
            inner.journal.resume_at(inner.end);
            inner.journal.append_all(records, durability)?;
            inner.end = inner.journal.end();
            Ok(())
        })
    }

    /// Reads what other processes appended since the last look, and hands it over once.
    pub fn take_foreign(&self) -> Result<(Vec<Record>, Vec<Skip>), StoreError> {
        self.locked(|shared, inner| {
            read_foreign(shared, inner)?;
            Ok((std::mem::take(&mut inner.foreign), std::mem::take(&mut inner.skips)))
        })
    }

    /// Says that a proxy looks at this root from now on.
    pub fn join(&self, proxy: &ProxyId, pid: u32, at: WallNs) -> Result<(), StoreError> {
        let event = Event::ProxyJoined { proxy: proxy.clone(), pid };
        self.append(&[Record { at, event }], Durability::Written)
    }

    fn locked<T>(
        &self,
        work: impl FnOnce(&Shared, &mut Inner) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut inner: MutexGuard<'_, Inner> =
            self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lock.lock().map_err(|error| StoreError::io("lock", &self.shared.lock, error))?;
        let done = work(&self.shared, &mut inner);
        inner.lock.unlock().map_err(|error| StoreError::io("unlock", &self.shared.lock, error))?;
        done
    }
}

fn read_foreign(shared: &Shared, inner: &mut Inner) -> Result<(), StoreError> {
    let mut found = read_journal_from(&shared.path, &shared.log, inner.end)?;
    inner.end = found.end;
    inner.foreign.append(&mut found.records);
    inner.skips.append(&mut found.skips);
    Ok(())
}
