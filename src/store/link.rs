//! The links of a chain: what a look appends, what it takes in of other processes, and the look that need append nothing.

use crate::base::{CommitId, ObservationNo, ProxyId, RepoPath, TreeId, WallNs};
use crate::ledger::{Change, Event, Observation, Record, Stamps, Why};
use crate::store::capture::{Brought, Errand, in_tree};
use crate::store::objects::UserRepository;
use crate::store::stamps::Offset;
use crate::store::watch::{Beside, Place, Watcher};
use crate::store::{Observed, RootStore, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The last link of the chain.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub(crate) no: ObservationNo,
    began: WallNs,
    pub(crate) tree: TreeId,
    head: Option<CommitId>,
}

/// What the looks since the last link know.
#[derive(Debug, Default)]
pub(crate) struct Since {
    /// When the latest look began that found everything as the last link has it.
    still: Option<WallNs>,
    /// A look failed, of this process or another: the next one that does not must be a link.
    pub(crate) gap: bool,
    /// Something was written to the store and is not synced.
    pub(crate) unsynced: bool,
    /// The commit that `HEAD` names, while nothing tells that it moved.
    head: Option<Option<CommitId>>,
    /// When a watch told last that it moves.
    head_moved: Option<Instant>,
    /// What moved beside the worktree and was not taken in yet.
    beside: Beside,
}

/// How long after a sign that `HEAD` moves it is read at each look: git writes its reflog first and the reference then.
const HEAD_SETTLES: Duration = Duration::from_secs(2);

/// Held while a root is looked at; other processes wait.
pub(crate) struct Held(Arc<std::fs::File>);

impl Drop for Held {
    fn drop(&mut self) {
        // The lock goes with the file at the latest.
        drop(self.0.unlock());
    }
}

impl RootStore {
    /// Answers a look without taking one, when the kernel has nothing to tell since the one before: one read.
    ///
    /// Nobody appended a link meanwhile either: whatever another process saw, our own queue tells of as well.
    pub(crate) fn unchanged(&mut self, why: Why, by: &ProxyId, began: WallNs) -> Option<Observed> {
        let settled = self.looked && !self.must_walk && !self.since.gap && self.again.is_empty();
        if !settled
            || self.since.head_moved.is_some()
            || !self.table.is_told()
            || self.verifier.has_suspects()
            || self.must_sync(why)
        {
            return None;
        }
        let moved = self.watcher.as_ref()?.quiet(self.places())?;
        self.since.beside.add(moved);
        if !self.is_as_left() {
            return None;
        }
        self.since.beside = Beside::default();
        if why == Why::TurnEnd {
            self.begin_verifying();
        }
        self.echo(why, by, began).map(|again| Observed {
            foreign: Vec::new(),
            outcome: Ok(again),
            remarks: Vec::new(),
            sight: self.sight(),
        })
    }

    /// Says the last link again, without its changes: at `began` everything was as it has it.
    fn echo(&mut self, why: Why, by: &ProxyId, began: WallNs) -> Option<Observation> {
        let Last { no, tree, head, .. } = self.last.clone()?;
        self.since.still = Some(began);
        Some(Observation::new(no, began, began, by.clone(), why, tree, head, Vec::new()))
    }

    /// Says whether what moved beside the worktree is our own doing.
    fn is_as_left(&self) -> bool {
        let Beside { chain, objects, grown, head } = self.since.beside;
        let foreign = objects || head;
        !foreign && (!grown || self.objects.is_as_left()) && (!chain || self.chain.is_as_left())
    }

    /// Names the places whose watches tell of the chain, the store and `HEAD`.
    fn places(&self) -> &'static [Place] {
        if self.user.is_some() { &[Place::Root, Place::Git, Place::Logs] } else { &[Place::Root] }
    }

    /// Says whether the chain, the store and `HEAD` are watched.
    fn is_told(&self) -> bool {
        let watches = |watcher: &Watcher| self.places().iter().all(|place| watcher.watches(*place));
        self.watcher.as_ref().is_some_and(watches)
    }

    /// Starts to watch the chain, the store and `HEAD`, as far as that is not so yet.
    fn watch_beside(&self) {
        let Some(watcher) = &self.watcher else { return };
        watch_place(watcher, &self.dir, Place::Root);
        if let Some(user) = &self.user {
            watch_place(watcher, user.git_dir(), Place::Git);
            let logs = user.git_dir().join("logs");
            // Without this file the moves of `HEAD` are not logged here, and not told.
            if !watcher.watches(Place::Logs) && logs.join("HEAD").exists() {
                watch_place(watcher, &logs, Place::Logs);
            }
        }
    }

    /// A base is synced before the record that cites it. What a turn brought is synced when it is packed, after its end,
    /// and before anything is decided about it.
    fn must_sync(&self, why: Why) -> bool {
        self.since.unsynced && matches!(why, Why::Base | Why::Rebase)
    }

    /// Says when the latest look began at which everything was as the last link has it.
    pub(crate) fn known_until(&self) -> Option<WallNs> {
        let last = self.last.as_ref()?;
        Some(self.since.still.map_or(last.began, |still| still.max(last.began)))
    }

    /// Takes in what moved beside the worktree: the chain, the store, `HEAD`.
    pub(crate) fn catch_up(&mut self, brought: &mut Brought) -> Result<(), StoreError> {
        let told = self.looked && self.is_told();
        if !told {
            self.watch_beside();
        }
        let fresh = self.watcher.as_ref().map_or(Beside::ALL, Watcher::take_beside);
        self.since.beside.add(if told { fresh } else { Beside::ALL });
        let moved = self.since.beside;
        if !told {
            self.since.head = None;
        } else if moved.head {
            self.since.head_moved = Some(Instant::now());
        }
        if let Some(moved) = self.since.head_moved {
            self.since.head = None;
            self.since.head_moved = Some(moved).filter(|moved| moved.elapsed() < HEAD_SETTLES);
        }
        if moved.chain && !self.chain.is_ours_alone() {
            self.take_foreign(brought)?;
        }
        if moved.objects || (moved.grown && !self.objects.is_as_left()) {
            self.objects.catch_up()?;
        }
        self.since.beside = Beside::default();
        Ok(())
    }

    /// Reads what other processes appended, and lets the table follow it.
    fn take_foreign(&mut self, brought: &mut Brought) -> Result<(), StoreError> {
        let (foreign, skips) = self.chain.take_foreign_and_reap()?;
        for record in &foreign {
            self.remember(record);
            if let Event::Observed(observation) = &record.event
                && self.looked
            {
                for change in &observation.changes {
                    let after = change.after.map(|state| (state.mode, in_tree(&state)));
                    self.table.set(&change.path, after);
                    self.again.insert(change.path.clone());
                }
            }
        }
        brought
            .remarks
            .extend(skips.into_iter().map(|skip| format!("chain line {}: {}", skip.line, skip.reason)));
        brought.foreign.extend(foreign);
        Ok(())
    }

    /// Notes what a chain record says of the last link.
    pub(crate) fn remember(&mut self, record: &Record) {
        if let Event::Observed(observation) = &record.event {
            let Observation { no, began, tree, .. } = *observation;
            self.last = Some(Last { no, began, tree, head: observation.head.clone() });
            self.made.extend(observation.made.iter().cloned());
            self.since.gap = false;
        } else if let Event::Gap(_) = &record.event {
            self.since.gap = true;
        }
    }

    fn head(&mut self) -> Option<CommitId> {
        if self.since.head.is_none() {
            self.since.head = Some(self.user.as_ref().and_then(UserRepository::head));
        }
        self.since.head.clone().flatten()
    }

    /// Computes the tree and appends the new link. Where nothing moved since the last one, that is said again instead.
    pub(crate) fn link(
        &mut self,
        errand: &Errand<'_>,
        changes: Vec<Change>,
        made: Vec<RepoPath>,
        brought: &mut Brought,
    ) -> Result<Observation, StoreError> {
        let tree = self.table.write_trees(&mut self.objects);
        let wrote = self.objects.flush()?;
        self.since.unsynced |= wrote;
        if self.must_sync(errand.why) {
            self.objects.sync()?;
            self.since.unsynced = false;
        }
        let head = self.head();
        let moved = |last: &Last| last.tree != tree || last.head != head;
        let news = !changes.is_empty() || !made.is_empty() || self.last.as_ref().is_none_or(moved);
        if self.looked
            && !news
            && !self.since.gap
            && let Some(again) = self.echo(errand.why, errand.proxy, errand.began)
        {
            return Ok(again);
        }
        let no = self.last.as_ref().map_or(ObservationNo(0), |last| last.no.next());
        let at = (errand.clock)();
        let by = errand.proxy.clone();
        let mut observation = Observation::new(no, errand.began, at, by, errand.why, tree, head, changes);
        observation.made = made;
        observation.stamps = self.stamps_of_step();
        observation.still = self.since.still.filter(|_| self.looked);
        self.append(observation, brought)
    }

    /// Returns what the time stamps of the step that ends now are worth.
    fn stamps_of_step(&mut self) -> Stamps {
        let offset = Offset::now();
        let set = offset.was_set_since(self.offset);
        // Where the clock was set back the times of ours go on as before, and files are stamped with earlier ones.
        if !(set && offset < self.offset) {
            self.offset = offset;
        }
        if set { Stamps::Worthless } else { self.stamps }
    }

    fn append(&mut self, observation: Observation, brought: &mut Brought) -> Result<Observation, StoreError> {
        let at = observation.at;
        let mut records = vec![Record { at, event: Event::Observed(observation.clone()) }];
        if observation.no == ObservationNo(0) {
            records.insert(0, Record { at, event: Event::RootOpened(self.root.header()) });
        }
        let foreign = self.chain.append_and_take(&records)?;
        records.iter().for_each(|record| self.remember(record));
        if observation.no == ObservationNo(0) {
            brought.foreign.push(records.swap_remove(0));
        }
        brought.foreign.extend(foreign);
        self.since.still = None;
        Ok(observation)
    }

    /// Holds other lookers off. Appends to the chain do not wait for this.
    pub(crate) fn lock(&self) -> Result<Held, StoreError> {
        let path = || self.dir.join("observe.lock");
        self.turn.lock().map_err(|error| StoreError::io("lock", path(), error))?;
        self.objects.locked_again();
        Ok(Held(Arc::clone(&self.turn)))
    }
}

fn watch_place(watcher: &Watcher, dir: &std::path::Path, place: Place) {
    if !watcher.watches(place) {
        // What cannot be watched is looked at each time.
        let _told = watcher.watch_beside(dir, place);
    }
}
