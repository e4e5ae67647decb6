//! The per-root log that processes share.

use crate::base::{ProxyId, RootId, WallNs};
use crate::ledger::{Event, Log, Record, Skip};
use crate::store::journal::{Journal, Position, read_journal_from};
use crate::store::presence::Presence;
use crate::store::state::{make_private_dir, open_private};
use crate::store::{Durability, StateDir, StoreError};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A root's chain, shared by every process that looks at the root. Clones are the same chain.
///
/// The lock is held for one append only, never for a walk: a relay may append while the root is observed.
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
    presence: Presence,
    journal: Journal,
    end: Position,
    foreign: Vec<Record>,
    skips: Vec<Skip>,
    /// Proxies that joined and did not leave, with their process and when they joined.
    joined: BTreeMap<ProxyId, (u32, WallNs)>,
}

/// What a chain held when it was opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChainHistory {
    pub(crate) records: Vec<Record>,
    pub(crate) skips: Vec<Skip>,
}

impl Chain {
    /// Opens (or makes) the chain of a root.
    pub(crate) fn open(state: &StateDir, root: &RootId) -> Result<(Self, ChainHistory), StoreError> {
        let dir = state.root_dir(root);
        make_private_dir(&dir)?;
        let (path, lock) = (dir.join("chain.jsonl"), dir.join("chain.lock"));
        let log = Log::Root(root.clone());
        let lock_file = open_private(&lock)?;
        lock_file.lock().map_err(|error| StoreError::io("lock", &lock, error))?;
        let opened = Journal::open(&path, &log);
        lock_file.unlock().map_err(|error| StoreError::io("unlock", &lock, error))?;
        let (journal, replay) = opened?;
        let mut inner = Inner {
            lock: lock_file,
            presence: Presence::new(&dir),
            journal,
            end: replay.end,
            foreign: Vec::new(),
            skips: Vec::new(),
            joined: BTreeMap::new(),
        };
        replay.records.iter().for_each(|record| inner.note(record));
        let history = ChainHistory { records: replay.records, skips: replay.skips };
        Ok((Self { shared: Arc::new(Shared { log, path, lock, inner: Mutex::new(inner) }) }, history))
    }

    /// Appends records under the chain's lock, after reading what other processes appended.
    pub fn append(&self, records: &[Record], durability: Durability) -> Result<(), StoreError> {
        self.locked(|shared, inner| inner.append(shared, records, durability))
    }

    /// Appends what ends or begins a time in which somebody may write: a file that is written after this call has no
    /// earlier time stamp, as far as the kernel can tell the two apart. That holds before the record is written: others may
    /// hold the chain's lock, and a disk may be slow.
    pub fn append_boundary(&self, record: &Record, durability: Durability) -> Result<(), StoreError> {
        self.inner().journal.stamp(record.at);
        self.append(std::slice::from_ref(record), durability)
    }

    /// Appends records, and hands over what other processes appended before them.
    pub(crate) fn append_and_take(&self, records: &[Record]) -> Result<Vec<Record>, StoreError> {
        self.locked(|shared, inner| {
            inner.append(shared, records, Durability::Written)?;
            Ok(std::mem::take(&mut inner.foreign))
        })
    }

    /// Says whether the chain was removed from the state directory, or another stands in its place.
    pub fn is_lost(&self) -> bool {
        let inner = self.inner();
        inner.journal.is_removed() || inner.journal.is_replaced()
    }

    /// Says whether nobody else appended since this process last read or wrote, as far as the file's length tells.
    pub(crate) fn is_as_left(&self) -> bool {
        let inner = self.inner();
        inner.foreign.is_empty() && inner.skips.is_empty() && inner.is_at_end()
    }

    /// Says the same, and that no other proxy is there that may have died.
    pub(crate) fn is_ours_alone(&self) -> bool {
        let inner = self.inner();
        inner.joined.keys().all(|proxy| inner.presence.is_ours(proxy))
            && inner.foreign.is_empty()
            && inner.skips.is_empty()
            && inner.is_at_end()
    }

    /// Reads what other processes appended since the last look, and hands it over once.
    pub fn take_foreign(&self) -> Result<(Vec<Record>, Vec<Skip>), StoreError> {
        self.locked(|shared, inner| {
            inner.read_foreign(shared)?;
            Ok((std::mem::take(&mut inner.foreign), std::mem::take(&mut inner.skips)))
        })
    }

    /// Does the same, and counts the proxies that died among the others: what is appended for them is handed over, too.
    pub(crate) fn take_foreign_and_reap(&self) -> Result<(Vec<Record>, Vec<Skip>), StoreError> {
        self.locked(|shared, inner| {
            let lost = inner.reap(shared)?;
            inner.foreign.extend(lost);
            Ok((std::mem::take(&mut inner.foreign), std::mem::take(&mut inner.skips)))
        })
    }

    /// Says of proxies that joined and are dead that they left. Returns what was appended.
    pub(crate) fn reap(&self) -> Result<Vec<Record>, StoreError> {
        self.locked(|shared, inner| inner.reap(shared))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked<T>(
        &self,
        work: impl FnOnce(&Shared, &mut Inner) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut inner = self.inner();
        inner.lock.lock().map_err(|error| StoreError::io("lock", &self.shared.lock, error))?;
        let done = work(&self.shared, &mut inner);
        inner.lock.unlock().map_err(|error| StoreError::io("unlock", &self.shared.lock, error))?;
        done
    }
}

impl Inner {
    fn append(
        &mut self,
        shared: &Shared,
        records: &[Record],
        durability: Durability,
    ) -> Result<(), StoreError> {
        if !self.is_at_end() {
            self.read_foreign(shared)?;
            self.close_torn_tail(shared)?;
        }
        self.journal.resume_at(self.end);
        records.iter().try_for_each(|record| self.presence.follow(&record.event))?;
        self.journal.append_all(records, durability)?;
        self.end = self.journal.end();
        records.iter().for_each(|record| self.note(record));
        Ok(())
    }

    fn reap(&mut self, shared: &Shared) -> Result<Vec<Record>, StoreError> {
        self.read_foreign(shared)?;
        let is_dead = |proxy, pid, since| !self.presence.is_alive(proxy, pid, since);
        let dead = self.joined.iter().filter(|(proxy, (pid, since))| is_dead(proxy, *pid, *since));
        let at = WallNs(crate::store::capture::wall_now());
        let left = |proxy: &ProxyId| Event::ProxyLeft { proxy: proxy.clone(), lost: true };
        let records: Vec<_> = dead.map(|(proxy, _)| Record { at, event: left(proxy) }).collect();
        if !records.is_empty() {
            self.append(shared, &records, Durability::Written)?;
        }
        Ok(records)
    }

    /// A chain that was removed, and may have been begun anew, is not gone on with: what is known of it does not hold for another.
    fn is_followed(&self, shared: &Shared) -> Result<(), StoreError> {
        if self.journal.is_removed() || self.journal.is_replaced() {
            return Err(StoreError::said("follow", &shared.path, "it is not the file that was begun"));
        }
        Ok(())
    }

    /// Records only ever grow the file: an unchanged length is an unchanged chain, while the file has a name.
    fn is_at_end(&self) -> bool {
        self.journal.length().is_some_and(|length| length == self.end.offset)
    }

    fn read_foreign(&mut self, shared: &Shared) -> Result<(), StoreError> {
        if self.is_at_end() {
            return Ok(());
        }
        self.is_followed(shared)?;
        let mut found = read_journal_from(&shared.path, &shared.log, self.end)?;
        self.end = found.end;
        found.records.iter().for_each(|record| self.note(record));
        self.foreign.append(&mut found.records);
        self.skips.append(&mut found.skips);
        Ok(())
    }

    /// Under the lock, bytes beyond the last newline are a dead writer's: a newline keeps them apart from what follows.
    fn close_torn_tail(&mut self, shared: &Shared) -> Result<(), StoreError> {
        let meta = std::fs::metadata(&shared.path);
        let len = meta.map_err(|error| StoreError::io("look at", &shared.path, error))?.len();
        if len > self.end.offset {
            self.journal.guard()?;
            self.read_foreign(shared)?;
        }
        Ok(())
    }

    fn note(&mut self, record: &Record) {
        if let Event::ProxyJoined { proxy, pid } = &record.event {
            self.joined.insert(proxy.clone(), (*pid, record.at));
        } else if let Event::ProxyLeft { proxy, .. } = &record.event {
            self.joined.remove(proxy);
        }
    }
}
