//! Observing a root: worktree → tree, and what changed since the last link of its chain.

use crate::base::{BlobId, ProxyId, RepoPath, SessionKey, TreeId, WallNs};
use crate::ledger::{
    Change, Content, Event, FileState, Gap, Observation, Record, RootHeader, RootKind, Skip, Stamps, Why,
};
use crate::store::contents::StoreBlobs;
use crate::store::ignores::{Ignores, outside_rules};
use crate::store::link::{Last, Since};
use crate::store::objects::{Objects, UserRepository};
use crate::store::read::{Read, Reading, stand_in};
use crate::store::stamps::{self, Offset};
use crate::store::stat;
use crate::store::state::{open_private, secret_in};
use crate::store::table::Table;
use crate::store::take::Seen;
use crate::store::tracked::{Part, Tracked};
use crate::store::verify::Verifier;
use crate::store::walk::{Found, Job, Orders, open_top, touch, walk};
use crate::store::watch::{Activity, Listener, Watcher, fair_share, is_shared_with_others};
use crate::store::{Chain, Durability, Root, Settings, StateDir, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

/// One tracked root: its chain, its objects, and what it looked like last.
#[derive(Debug)]
pub struct RootStore {
    pub(crate) root: Root,
    pub(crate) dir: PathBuf,
    pub(crate) chain: Chain,
    pub(crate) settings: Settings,
    pub(crate) objects: Objects,
    pub(crate) user: Option<UserRepository>,
    pub(crate) tracked: Tracked,
    outside_rules: Ignores,
    secret: [u8; 32],
    pub(crate) table: Table,
    pub(crate) watcher: Option<Watcher>,
    listener: Option<Listener>,
    /// Why there is no watcher.
    blind: Option<String>,
    /// Locked while the root is looked at.
    pub(crate) turn: Arc<std::fs::File>,
    /// The next look walks everything, whatever the watcher says.
    pub(crate) must_walk: bool,
    /// Paths to be looked at again, whatever the watcher says.
    pub(crate) again: BTreeSet<RepoPath>,
    pub(crate) verifier: Verifier,
    /// What time stamps of files are worth here.
    pub(crate) stamps: Stamps,
    /// When the chain's first record was made; `None` in a chain that this process began.
    began: Option<WallNs>,
    /// How the clocks stood at the last link.
    pub(crate) offset: Offset,
    state: (u64, u64),
    /// Device and inode of the directory that the chain's links are of, where the chain says.
    pub(crate) stood: Option<(u64, u64)>,
    pub(crate) last: Option<Last>,
    pub(crate) since: Since,
    /// Whether this process has looked yet.
    pub(crate) looked: bool,
    /// Gaps that are not in the chain yet.
    owed: Vec<Record>,
    /// Paths that calls named.
    named: BTreeSet<RepoPath>,
    /// Directories that appeared while this root was looked at.
    pub(crate) made: BTreeSet<RepoPath>,
    #[cfg(test)]
    pub(crate) between: Option<crate::store::restore::Between>,
    /// What a test does while a writer is waited for.
    #[cfg(test)]
    pub(crate) meanwhile: Option<fn(&std::path::Path)>,
}

/// What opening a root found.
#[derive(Clone, Debug)]
pub struct OpenReport {
    /// The root.
    pub header: RootHeader,
    /// Its canonical absolute path, as bytes.
    pub top: Vec<u8>,
    /// How it is observed.
    pub observing: Observing,
    /// What its chain held already, in order; with what was appended on behalf of dead proxies.
    pub history: Vec<Record>,
    /// What replay had to skip.
    pub skips: Vec<Skip>,
}

/// How a root is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observing {
    /// Every directory is watched.
    #[default]
    Watch,
    /// Some directories are watched, the others are walked.
    Hybrid,
    /// Everything is walked each time.
    Walk,
}

impl Observing {
    /// Returns the wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Hybrid => "hybrid",
            Self::Walk => "walk",
        }
    }
}

/// What one look at a root brought.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Chain records that this engine has not seen: of other processes, and on behalf of dead ones; in order.
    pub foreign: Vec<Record>,
    /// The new link, or the gap; already appended to the chain. Where everything is as the last link has it, that one
    /// again: its number and tree, and no changes.
    pub outcome: Result<Observation, Gap>,
    /// What could not be followed or read, for people.
    pub remarks: Vec<String>,
    /// How well the root is seen.
    pub sight: Sight,
}

/// How well a root is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// How it is observed.
    pub observing: Observing,
    /// Why not by watching alone, for people; `None` where it is.
    pub because: Option<String>,
    /// Changes so far of which no watch had told, and which a verify walk found.
    pub missed: u64,
}

/// Why and for whom a root is looked at.
pub(crate) struct Errand<'a> {
    pub(crate) why: Why,
    pub(crate) clock: &'a dyn Fn() -> WallNs,
    pub(crate) proxy: &'a ProxyId,
    pub(crate) began: WallNs,
}

impl RootStore {
    /// Opens a root: its chain, its store, and the last link of its chain. Walks nothing yet.
    pub fn open(state: &StateDir, root: Root, settings: &Settings) -> Result<(Self, OpenReport), StoreError> {
        let dir = state.root_dir(&root.id);
        let (chain, mut history) = Chain::open(state, &root.id)?;
        let lost = chain.reap()?;
        history.records.extend(lost);
        let user = match root.kind {
            RootKind::Git => UserRepository::open(&root.top).ok(),
            RootKind::Plain => None,
        };
        let objects = Objects::open(&dir, borrowed_from(user.as_ref()))?;
        let mut store = Self {
            outside_rules: outside_rules(user.as_ref(), &root, settings),
            secret: secret_in(&dir)?,
            settings: settings.clone(),
            table: Table::empty(),
            watcher: None,
            listener: None,
            blind: None,
            must_walk: false,
            again: BTreeSet::new(),
            verifier: Verifier::default(),
            stamps: stamps::measure(&root.top, &dir),
            offset: Offset::now(),
            state: std::fs::metadata(state.path()).map_or((0, 0), |meta| (meta.dev(), meta.ino())),
            tracked: Tracked::default(),
            began: history.records.first().map(|record| record.at),
            stood: history.records.iter().rev().find_map(|record| identity_in(&record.event)),
            looked: false,
            last: None,
            since: Since::default(),
            turn: Arc::new(open_private(&dir.join("observe.lock"))?),
            owed: Vec::new(),
            named: BTreeSet::new(),
            made: BTreeSet::new(),
            #[cfg(test)]
            between: None,
            #[cfg(test)]
            meanwhile: None,
            dir,
            chain,
            objects,
            user,
            root,
        };
        store.start_watching();
        for record in &history.records {
            store.remember(record);
        }
        let report = OpenReport {
            header: store.root.header(),
            top: store.root.top_bytes().to_vec(),
            observing: store.observing(),
            history: history.records,
            skips: history.skips,
        };
        Ok((store, report))
    }

    /// Returns the root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Counts the files that the last look saw.
    pub fn files(&self) -> usize {
        self.table.files()
    }

    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Says how the root is observed.
    pub fn observing(&self) -> Observing {
        match (&self.watcher, self.table.unwatched().is_empty()) {
            (None, _) => Observing::Walk,
            (Some(_), true) => Observing::Watch,
            (Some(_), false) => Observing::Hybrid,
        }
    }

    /// Says how well the root is seen.
    pub fn sight(&self) -> Sight {
        let observing = self.observing();
        let because = match observing {
            Observing::Watch => None,
            Observing::Hybrid => {
                let (without, all) = (self.table.unwatched().len(), self.table.directories());
                Some(format!("{without} of {all} directories cannot be watched and are walked each time"))
            }
            Observing::Walk => Some(self.blind.clone().unwrap_or_default()),
        };
        Sight { observing, because, missed: self.verifier.missed() }
    }

    /// Calls `listener` (on another thread) when something happens beneath the root after it was looked at: once until
    /// the next look.
    pub fn listen(&mut self, listener: impl Fn() + Send + Sync + 'static) {
        self.listener = Some(Listener::new(listener));
        self.tell_listener();
    }

    pub(crate) fn call_listener(&self) {
        if let Some(listener) = &self.listener {
            listener.call();
        }
    }

    fn tell_listener(&self) {
        if let (Some(watcher), Some(listener)) = (&self.watcher, &self.listener) {
            watcher.listen(listener.clone());
        }
    }

    /// Returns the chain: records that are no observations are appended through it, without waiting for a walk.
    pub fn chain(&self) -> Chain {
        self.chain.clone()
    }

    /// Opens a reader of the store's contents for other threads.
    pub fn blobs(&self) -> StoreBlobs {
        StoreBlobs::new(&self.dir, borrowed_from(self.user.as_ref()))
    }

    /// Pins the trees that a session's ledger names, and nothing else of it.
    pub fn pin(&mut self, session: &SessionKey, trees: &[TreeId]) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        self.objects.catch_up()?;
        self.objects.pin(session, trees)
    }

    /// Looks at the root and appends what it saw to the chain. `named` are paths to be read even if ignore rules cover
    /// them. Waits for another process that is looking at the same root.
    pub fn observe(
        &mut self,
        why: Why,
        named: &[RepoPath],
        clock: &dyn Fn() -> WallNs,
        proxy: &ProxyId,
    ) -> Observed {
        let began = clock();
        if named.is_empty()
            && let Some(unchanged) = self.unchanged(why, proxy, began)
        {
            return unchanged;
        }
        let errand = Errand { why, clock, proxy, began };
        let mut brought = Brought::default();
        self.named.extend(named.iter().cloned());
        self.again.extend(named.iter().cloned());
        let outcome = self.look(&errand, &mut brought).map_err(|error| {
            let gap = Gap { at: errand.began, reason: error.to_string(), why };
            let record = Record { at: clock(), event: Event::Gap(gap.clone()) };
            self.since.gap = true;
            // The gap is reported even where it cannot be written: the disk may be what failed. It is written when it can be.
            if self.owed.len() < MOST_OWED {
                self.owed.push(record);
            }
            self.write_owed();
            gap
        });
        Observed { foreign: brought.foreign, outcome, remarks: brought.remarks, sight: self.sight() }
    }

    /// Appends the gaps that could not be written when they were met. One by one: of several lines some might stand where the disk
    /// is full.
    fn write_owed(&mut self) {
        let written =
            |gap: &&Record| self.chain.append(std::slice::from_ref(gap), Durability::Written).is_ok();
        let written = self.owed.iter().take_while(written).count();
        self.owed.drain(..written);
    }

    fn look(&mut self, errand: &Errand<'_>, brought: &mut Brought) -> Result<Observation, StoreError> {
        let _lock = self.lock()?;
        self.write_owed();
        self.catch_up(brought)?;
        self.ready_table(errand.why)?;
        let base_until = self.base_until(errand.began);
        let mut changes = BTreeMap::new();
        let walked = self.walk_and_read(errand, &mut changes, brought);
        let linked = walked.and_then(|made| {
            let made = if self.looked { made } else { Vec::new() };
            let listed = if let Some(until) = base_until {
                doubtful(&changes, until)
            } else {
                changes.values().cloned().map(|change| self.dated(change, errand.began)).collect()
            };
            self.link(errand, listed, made, brought)
        });
        match &linked {
            Ok(observation) => {
                self.looked = true;
                self.objects.expect_news();
                self.tracked.forget_entries();
                self.verifier.count(&observation.changes);
                if errand.why == Why::TurnEnd {
                    self.begin_verifying();
                }
            }
            Err(_) => self.take_back(&changes),
        }
        linked
    }

    /// Makes the table stand for the last link of the chain. The user's index is read along.
    fn ready_table(&mut self, why: Why) -> Result<(), StoreError> {
        if self.looked {
            return Ok(());
        }
        self.objects.link_packs()?;
        let Some(last) = &self.last else { return Ok(()) };
        match Table::from_tree(&self.objects, last.tree) {
            Some(mut table) => {
                table.assume_rules(&self.objects, &self.outside_rules);
                self.table = table;
            }
            None if why == Why::Rebase => self.table = Table::empty(),
            None => {
                let why = format!("tree {} of the last observation is missing from the store", last.tree);
                return Err(StoreError::said("observe", &self.root.top, why));
            }
        }
        Ok(())
    }

    fn walk_and_read(
        &mut self,
        errand: &Errand<'_>,
        changes: &mut BTreeMap<RepoPath, Change>,
        brought: &mut Brought,
    ) -> Result<Vec<RepoPath>, StoreError> {
        let activity = self.watcher.as_ref().map(Watcher::take_noted);
        let now = wall_now();
        if let Some(written) = activity.as_ref().and_then(|activity| self.read_written(activity)) {
            self.again.clear();
            let read_at = (errand.clock)();
            for (job, read) in written {
                let seen = Seen { job: &job, read_at, now, full: false, base_until: None };
                self.take_in(&seen, read, changes, brought);
            }
            return Ok(Vec::new());
        }
        let top = self.open_itself()?;
        self.check_identity(top.as_fd(), errand, brought)?;
        let suspects = self.verifier.take_suspects();
        let Found { jobs, gone, made, remarks, mut open } = self.find(&top, now, activity, &suspects)?;
        brought.remarks.extend(remarks);
        let read_at = (errand.clock)();
        for gone in gone {
            self.note_gone(&gone, read_at, changes);
        }
        // Only what is new is left out of a full store.
        let full = jobs.iter().any(|job| self.table.file(&job.path).is_none()) && self.is_full();
        let base_until = self.base_until(errand.began);
        let jobs = self.adopt(jobs, read_at, base_until, changes);
        for batch in batches(&jobs) {
            let reading = Reading::new(&self.settings, &self.secret);
            let mut read = reading.read_all(top.as_fd(), batch, open.take());
            self.let_writers_finish(&reading, top.as_fd(), batch, &mut read);
            let read_at = (errand.clock)();
            for (job, read) in batch.iter().zip(read) {
                let seen = Seen { job, read_at, now, full, base_until };
                self.take_in(&seen, read, changes, brought);
            }
            if self.objects.staged() > FLUSH_ABOVE {
                self.since.unsynced |= self.objects.flush()?;
            }
        }
        Ok(made)
    }

    /// Reads files again that held something and are empty now: most programs that write in place cut a file to nothing
    /// first, and it stands so for a moment (measured: 0.2 to 5 ms). What is empty after that is empty.
    fn let_writers_finish(
        &self,
        reading: &Reading<'_>,
        top: BorrowedFd<'_>,
        jobs: &[Job],
        read: &mut [Read],
    ) {
        const LOOKS: u32 = 6;
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);
        let held =
            |job: &Job| self.table.file(&job.path).is_some_and(|file| file.size.is_some_and(|size| size > 0));
        let cut = |(job, read): (&Job, &Read)| match read {
            Read::File(taken) => taken.state.size == 0 && held(job),
            Read::Gone | Read::Unreadable(_) => false,
        };
        for _ in 0..LOOKS {
            let empty: Vec<usize> = (0..read.len()).filter(|&at| cut((&jobs[at], &read[at]))).collect();
            if empty.is_empty() {
                return;
            }
            std::thread::sleep(PAUSE);
            #[cfg(test)]
            self.meanwhile.iter().for_each(|work| work(&self.root.top));
            for at in empty {
                read[at] = reading.read(top, &jobs[at]);
            }
        }
    }

    /// Finds what must be read: what was touched, or everything.
    fn find(
        &mut self,
        fd: &OwnedFd,
        now: i64,
        activity: Option<Activity>,
        suspects: &BTreeSet<RepoPath>,
    ) -> Result<Found, StoreError> {
        let paths = std::mem::take(&mut self.again);
        let overflow = activity.as_ref().is_some_and(|activity| activity.overflow);
        let quick = activity.filter(|activity| self.looked && !self.must_walk && !activity.overflow);
        if quick.is_none() {
            if self.tracked.refresh(self.user.as_ref(), self.part()) {
                self.table.forget_listings();
            }
            self.outside_rules = outside_rules(self.user.as_ref(), &self.root, &self.settings);
        }
        let orders = Orders {
            rules: &self.outside_rules,
            tracked: &self.tracked,
            named: &self.named,
            now,
            watcher: self.watcher.as_ref(),
            watch_up_to: self.settings.watch_up_to.min(fair_share()),
            state: self.state,
        };
        let found = match &quick {
            Some(activity) => {
                let mut found = touch(&mut self.table, fd, &orders, activity, &paths);
                if !suspects.is_empty() {
                    let more = touch(&mut self.table, fd, &orders, &Activity::default(), suspects);
                    found.add_untold(more, |path| self.is_told_of(path));
                }
                Ok(found)
            }
            None => walk(&mut self.table, (&self.root.top, fd), &orders).map(|mut found| {
                found.add(touch(&mut self.table, fd, &orders, &Activity::default(), &paths));
                found
            }),
        };
        self.must_walk = found.is_err();
        let mut found = found?;
        if overflow {
            found.remarks.push("events were lost, and everything was walked".to_owned());
        }
        // What a call named and is not there yet may come into a directory that is not watched.
        let untold = |path: &RepoPath| {
            self.named.contains(path) && self.table.file(path).is_none() && !self.table.tells_of(path)
        };
        self.again.extend(paths.into_iter().filter(untold));
        if let Some(watcher) = &self.watcher {
            self.table.take_released().into_iter().for_each(|watch| watcher.forget(watch));
        }
        Ok(found)
    }

    /// At the first look of a chain: what changed before this instant is base. A process that died before it looked may
    /// have served a prompt.
    fn base_until(&self, began: WallNs) -> Option<WallNs> {
        self.last.is_none().then(|| self.began.map_or(began, |first| first.min(began)))
    }

    /// Names what is needed of the user's index: its ids are taken over at the first look only.
    pub(crate) fn part(&self) -> Part {
        if self.looked { Part::Paths } else { Part::Everything }
    }

    /// Marks what changed while a process took its first look.
    fn dated(&self, mut change: Change, began: WallNs) -> Change {
        change.flags.meanwhile = !self.looked && change.ctime >= began;
        change
    }

    /// Opens the top. Refuses to take another directory for this root.
    pub(crate) fn open_itself(&self) -> Result<OwnedFd, StoreError> {
        let top = open_top(&self.root.top)?;
        let stat = rustix::fs::fstat(&top)
            .map_err(|error| StoreError::io("look at", &self.root.top, std::io::Error::from(error)))?;
        if stat::identity(&stat) == self.root.dev_ino {
            return Ok(top);
        }
        let why = "another directory stands there now; a new session takes it as it is";
        Err(StoreError::said("observe", &self.root.top, why))
    }

    /// Opens the top to put files back. Refuses any other directory than the one that the chain tells of.
    pub(crate) fn open_as_seen(&self) -> Result<OwnedFd, StoreError> {
        let top = self.open_itself()?;
        if self.is_as_it_stood(top.as_fd()) {
            return Ok(top);
        }
        Err(StoreError::said("put files back in", &self.root.top, "another directory stands there now"))
    }

    /// Whether it is the directory of the last look. A boot may number the devices anew, and what others write to may
    /// number everything as it likes.
    fn is_as_it_stood(&self, top: BorrowedFd<'_>) -> bool {
        self.stood.is_none_or(|(_, inode)| inode == self.root.dev_ino.1) || is_shared_with_others(top)
    }

    /// Refuses to go on with another directory than the chain's, unless a person says that it is right.
    fn check_identity(
        &mut self,
        top: BorrowedFd<'_>,
        errand: &Errand<'_>,
        brought: &mut Brought,
    ) -> Result<(), StoreError> {
        if self.is_as_it_stood(top) {
            return Ok(());
        }
        if errand.why != Why::Rebase {
            let why =
                "another directory stands there than at the last look; `hunkgate rebase` takes it as it is";
            return Err(StoreError::said("observe", &self.root.top, why));
        }
        let record = Record { at: (errand.clock)(), event: Event::RootOpened(self.root.header()) };
        self.chain.append(std::slice::from_ref(&record), Durability::Written)?;
        brought.foreign.push(record);
        self.stood = Some(self.root.dev_ino);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.settings.store_cap.is_some_and(|cap| self.objects.bytes_on_disk() >= cap)
    }

    /// Makes the table stand for the last link again: the look that saw these changes is not a link.
    fn take_back(&mut self, changes: &BTreeMap<RepoPath, Change>) {
        self.objects.forget_staged();
        self.must_walk = true;
        for change in changes.values().filter(|change| change.after.is_some()) {
            self.table.set(&change.path, None);
        }
        for change in changes.values() {
            let before = change.before.map(|state| (state.mode, in_tree(&state)));
            self.table.set(&change.path, before);
        }
        if self.looked {
            self.table.forget_keys();
        } else {
            self.table = Table::empty();
            self.start_watching();
        }
    }

    /// Starts watching, where events can be trusted and watching is wanted.
    fn start_watching(&mut self) {
        self.watcher = None;
        let started = match open_top(&self.root.top) {
            Ok(_) if self.settings.watch_up_to == 0 => Err("watching is switched off".to_owned()),
            Ok(top) if is_shared_with_others(&top) => {
                Err("its file system tells nothing of what others write to it".to_owned())
            }
            Ok(_) => Watcher::start().map_err(|error| format!("it cannot be watched: {error}")),
            Err(error) => Err(error.to_string()),
        };
        match started {
            Ok(watcher) => (self.watcher, self.blind) = (Some(watcher), None),
            Err(why) => self.blind = Some(why),
        }
        self.tell_listener();
    }
}

fn identity_in(event: &Event) -> Option<(u64, u64)> {
    if let Event::RootOpened(header) = event { Some(header.dev_ino) } else { None }
}

/// What a look brings besides its outcome.
#[derive(Default)]
pub(crate) struct Brought {
    pub(crate) foreign: Vec<Record>,
    pub(crate) remarks: Vec<String>,
}

/// At the first look everything is base, but for what changed while it was taken: nobody can tell whose that is, when
/// a prompt has been forwarded meanwhile (rulings.md 2).
fn doubtful(changes: &BTreeMap<RepoPath, Change>, began: WallNs) -> Vec<Change> {
    let meanwhile = changes.values().filter(|change| change.ctime >= began);
    let doubted = meanwhile.map(|change| {
        let mut doubted = change.clone();
        doubted.flags.base_unknown = true;
        doubted
    });
    doubted.collect()
}

/// Gaps that are kept for the chain; what fails beyond them is one stretch with the last.
const MOST_OWED: usize = 1_000;
const FLUSH_ABOVE: usize = 16 * 1024 * 1024;

/// Cuts the jobs into batches whose contents fit into memory together.
fn batches(jobs: &[Job]) -> Vec<&[Job]> {
    const BYTES: u64 = 64 * 1024 * 1024;
    let (mut batches, mut start, mut sum) = (Vec::new(), 0, 0_u64);
    for (at, job) in jobs.iter().enumerate() {
        if sum > 0 && sum.saturating_add(job.key.size) > BYTES {
            batches.push(&jobs[start..at]);
            (start, sum) = (at, 0);
        }
        sum = sum.saturating_add(job.key.size).saturating_add(1);
    }
    if start < jobs.len() {
        batches.push(&jobs[start..]);
    }
    batches
}

/// Returns the blob that stands for a state in trees.
pub(crate) fn in_tree(state: &FileState) -> BlobId {
    match state.content {
        Content::Kept | Content::Withheld => state.blob,
        Content::TooBig | Content::Cap => {
            crate::store::objects::blob_id(&stand_in(state.content, state.size, &state.blob.to_string()))
        }
    }
}

fn borrowed_from(user: Option<&UserRepository>) -> Option<PathBuf> {
    user.map(|user| user.common_dir().join("objects"))
}

/// Reads the clock that file times are made of.
pub(crate) fn wall_now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

#[cfg(test)]
mod cuts;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod late;
#[cfg(test)]
mod still;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traps;
#[cfg(test)]
mod written;
