//! Carrying effects out for real: journals and chains in line, everything that takes time on workers.

use crate::base::{AskId, ProxyId, RootId, SessionKey, TreeId};
use crate::engine::{Action, Durability, Input, OpenedRoot};
use crate::host::assessor::Assessors;
use crate::host::clock::Clock;
use crate::host::console;
use crate::host::event::{Event, Inbox};
use crate::host::judge::{Judge, project_file};
use crate::host::perform::{Perform, refusal};
use crate::host::rootwork::{self, Job, OpenRoot, Share};
use crate::host::worker::{Worker, guarded};
use crate::ledger::{Blobs, Cache, Event as Fact, Ledger, Log, Record, Skip};
use crate::review::{Answer, Ask, Computed, Problem, ProblemKind, compute};
use crate::store::{
    GrantFile, Holder, Journal, Lease, LeaseError, RootStore, Settings, StateDir, StoreBlobs, resolve_root,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long a session that another process holds is waited for: a command holds it for an instant, a proxy whose editor
/// was restarted until its agent has ended.
const LEASE_PATIENCE: Duration = Duration::from_secs(8);
/// How often it is looked whether what others find a session by is still there.
const ROUND: Duration = Duration::from_secs(1);

/// Who we are, and where and how we record.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The state directory.
    pub(crate) state: StateDir,
    /// How roots are resolved and captured.
    pub(crate) settings: Settings,
    /// This process.
    pub(crate) proxy: ProxyId,
    /// Where it answers, when it does.
    pub(crate) socket: Option<PathBuf>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// Where the person's configuration stands, when it is followed.
    pub(crate) config: Option<PathBuf>,
}

impl Place {
    /// Says who holds the leases that this process takes.
    pub(crate) fn holder(&self) -> Holder {
        Holder {
            pid: std::process::id(),
            proxy: self.proxy.clone(),
            started: self.clock.now().wall,
            socket: self.socket.clone(),
        }
    }
}

/// What carries effects out for real.
#[derive(Debug)]
pub(crate) struct Effects {
    place: Place,
    open: Arc<Open>,
    inbox: Inbox,
    opener: Worker<Opening>,
    reckoner: Worker<Reckoning>,
    judge: Worker<Action>,
    assessors: Assessors,
}

/// What is open in this process. Locked for lookups only.
#[derive(Debug, Default)]
struct Open {
    roots: Mutex<BTreeMap<RootId, OpenRoot>>,
    sessions: Mutex<BTreeMap<SessionKey, Held>>,
}

/// A session whose ledger we may write.
#[derive(Debug)]
struct Held {
    journal: Journal,
    lease: Lease,
}

impl Held {
    /// Writes a ledger that was removed again, under a lease that others find. Says whether that was needed.
    fn write_again(&mut self, place: &Place, key: &SessionKey) -> Result<bool, String> {
        if !self.journal.is_removed() {
            return Ok(false);
        }
        self.lease_again(place, key)?;
        self.journal.write_again().map_err(|error| error.to_string())?;
        Ok(true)
    }

    fn lease_again(&mut self, place: &Place, key: &SessionKey) -> Result<(), String> {
        place.state.lease_again(key, &place.holder(), &mut self.lease).map_err(|error| error.to_string())
    }

    /// Makes what others find a session by stand again, where it was removed. `None` where nothing was.
    fn stand(&mut self, place: &Place, key: &SessionKey) -> Option<Input> {
        // What cannot be written is said when there is something to write; that nobody finds the session, at once.
        if self.write_again(place, key) == Ok(true) {
            return Some(Input::WrittenAgain { session: key.clone() });
        }
        self.lease.is_removed().then(|| {
            let stands = self.lease_again(place, key);
            Input::DoorMoved { session: Some(key.clone()), stands }
        })
    }
}

#[derive(Debug)]
struct Opening {
    ask: AskId,
    session: SessionKey,
    directories: Vec<String>,
    since: Instant,
}

#[derive(Debug)]
struct Reckoning {
    ask: AskId,
    session: SessionKey,
    what: Ask,
    ledger: Ledger,
    blobs: AllBlobs,
}

/// The contents of several stores, as one.
#[derive(Clone, Debug)]
struct AllBlobs(Vec<StoreBlobs>);

impl Blobs for AllBlobs {
    fn bytes(&self, blob: crate::base::BlobId) -> Option<Arc<[u8]>> {
        self.0.iter().find_map(|store| store.bytes(blob))
    }

    fn entry(&self, tree: TreeId, path: &crate::base::RepoPath) -> Option<crate::ledger::FileState> {
        self.0.iter().find_map(|store| store.entry(tree, path))
    }

    fn holds(&self, tree: TreeId, path: &crate::base::RepoPath) -> bool {
        self.0.iter().any(|store| store.holds(tree, path))
    }

    fn committed(
        &self,
        head: &crate::base::CommitId,
        path: &crate::base::RepoPath,
    ) -> Option<crate::base::BlobId> {
        self.0.iter().find_map(|store| store.committed(head, path))
    }
}

impl Effects {
    /// Starts the workers.
    ///
    /// `held` is a session whose lease this process has already.
    pub(crate) fn start(
        place: Place,
        held: Option<(SessionKey, Lease)>,
        inbox: Inbox,
    ) -> std::io::Result<Self> {
        // A command is gone before anybody could remove what it holds.
        let following = held.is_none();
        let open = Arc::new(Open::default());
        let mut opener = Opener { place: place.clone(), held, open: Arc::clone(&open), inbox: inbox.clone() };
        let opener = Worker::start("opener", move |queue| opener.work(queue))?;
        let mut reckoner = Reckoner {
            state: place.state.clone(),
            inbox: inbox.clone(),
            cache: Cache::default(),
            beside: BTreeMap::new(),
            console: None,
        };
        let reckoner = Worker::start("reckoner", move |queue| reckoner.work(queue))?;
        let told = inbox.clone();
        let mut judge = Judge {
            grants: GrantFile::of(&place.state),
            clock: place.clock,
            user: place.config.clone(),
            seen: BTreeMap::new(),
        };
        let judge = Worker::start("judge", move |queue: &mut VecDeque<Action>| {
            if let Some(input) = queue.pop_front().and_then(|action| judge.judged(action)) {
                told.put(Event::Came(Box::new(input)));
            }
        })?;
        if following {
            let keeper = Keeper { place: place.clone(), open: Arc::downgrade(&open), inbox: inbox.clone() };
            std::thread::Builder::new().name("keeper".into()).spawn(move || keeper.work())?;
        }
        Ok(Self { place, open, inbox, opener, reckoner, judge, assessors: Assessors::default() })
    }

    /// Queues a job on a root; says what it comes to at once when the root is not open.
    fn on_root(&self, root: &RootId, job: Job) -> Result<(), Job> {
        match self.open.roots().get(root) {
            Some(open) => open.worker.put(job),
            None => Err(job),
        }
    }

    fn refuse(&self, effect: Action, reason: &str) {
        if let Some(input) = refusal(effect, reason) {
            self.inbox.put(Event::Came(Box::new(input)));
        }
    }

    fn share<I, O>(
        &self,
        shares: Vec<(RootId, Share<I, O>)>,
        job: fn(Share<I, O>) -> Job,
        undone: fn(Job) -> (),
    ) {
        for (root, share) in shares {
            if let Err(job) = self.on_root(&root, job(share)) {
                undone(job);
            }
        }
    }
}

impl Perform for Effects {
    fn append(&mut self, log: &Log, record: &Record, durability: Durability) -> Result<(), String> {
        let durability = match durability {
            Durability::Written => crate::store::Durability::Written,
            Durability::Synced => crate::store::Durability::Synced,
        };
        let done = match log {
            Log::Root(root) => {
                let Some(chain) = self.open.roots().get(root).map(|open| open.chain.clone()) else {
                    return Err("its root is not open".to_owned());
                };
                if matches!(record.event, Fact::WindowOpened(_) | Fact::WindowClosed { .. }) {
                    chain.append_boundary(record, durability)
                } else {
                    chain.append(std::slice::from_ref(record), durability)
                }
            }
            Log::Session(key) => match self.open.sessions().get_mut(key) {
                Some(held) => {
                    if held.write_again(&self.place, key)? {
                        let input = Input::WrittenAgain { session: key.clone() };
                        self.inbox.put(Event::Came(Box::new(input)));
                    }
                    held.journal.append(record, durability)
                }
                None => return Err("its session is not open".to_owned()),
            },
        };
        done.map_err(|error| error.to_string())
    }

    fn start(&mut self, effect: Action, ledger: &Ledger) {
        match effect {
            Action::OpenRoots { ask, session, directories } => {
                let opening = Opening { ask, session, directories, since: Instant::now() };
                if let Err(Opening { ask, session, directories, .. }) = self.opener.put(opening) {
                    self.refuse(Action::OpenRoots { ask, session, directories }, "an internal error");
                }
            }
            Action::Observe { ask, root, why, named } => {
                let job = Job::Observe { ask, why, named: named.clone() };
                if self.on_root(&root, job).is_err() {
                    self.refuse(Action::Observe { ask, root, why, named }, "the root is not open");
                }
            }
            Action::Compute { ask, session, what } => {
                let blobs = AllBlobs(self.open.roots().values().map(|open| open.blobs.clone()).collect());
                let reckoning = Reckoning { ask, session, what, ledger: ledger.clone(), blobs };
                if let Err(Reckoning { ask, session, what, .. }) = self.reckoner.put(reckoning) {
                    self.refuse(Action::Compute { ask, session, what }, "an internal error");
                }
            }
            Action::Judge { .. }
            | Action::CheckFiles { .. }
            | Action::ReadPolicy { .. }
            | Action::Spend { .. }
            | Action::Keep { .. } => {
                if let Err(judging) = self.judge.put(effect) {
                    self.refuse(judging, "an internal error");
                }
            }
            Action::Assess { ask, errand } => self.assessors.ask(ask, *errand, self.inbox.clone()),
            Action::Dismiss { ask } => self.assessors.dismiss(ask),
            Action::Prepare { ask, files } => {
                let answer = |ask, files| Input::Prepared { ask, files };
                let shares = Share::cut(files, |plan| &plan.root, ask, answer, self.inbox.clone());
                self.share(shares, Job::Prepare, Job::refuse);
            }
            Action::Restore { ask, files } => {
                let answer = |ask, files| Input::Restored { ask, files };
                let shares = Share::cut(files, |file| &file.root, ask, answer, self.inbox.clone());
                self.share(shares, Job::Restore, Job::refuse);
            }
            Action::Recover { ask, files } => {
                let answer = |ask, files| Input::Restored { ask, files };
                let shares = Share::cut(files, |file| &file.root, ask, answer, self.inbox.clone());
                self.share(shares, Job::Recover, Job::refuse);
            }
            Action::Pin { session } => {
                for (root, trees) in named_trees(ledger, &session) {
                    let _ = self.on_root(&root, Job::Pin { session: session.clone(), trees });
                }
            }
            Action::Send { .. }
            | Action::Append { .. }
            | Action::Settle { .. }
            | Action::Reply { .. }
            | Action::Publish(_)
            | Action::Log { .. }
            | Action::StopAgent
            | Action::Exit { .. } => {}
        }
    }

    fn close(&mut self) {
        let at = self.place.clock.now().wall;
        for open in self.open.roots().values() {
            let event = Fact::ProxyLeft { proxy: self.place.proxy.clone(), lost: false };
            let _ = open.chain.append(&[Record { at, event }], crate::store::Durability::Written);
        }
        for held in self.open.sessions().values_mut() {
            let _ = held.journal.sync();
        }
    }
}

impl Open {
    fn roots(&self) -> MutexGuard<'_, BTreeMap<RootId, OpenRoot>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Held>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the trees that a session's ledger names, root by root: its base and every look since.
fn named_trees(ledger: &Ledger, session: &SessionKey) -> Vec<(RootId, Vec<TreeId>)> {
    let Some(known) = ledger.session(session) else { return Vec::new() };
    let of_root = |root: RootId| {
        let base = known.base(&root)?;
        let since = ledger.chain(&root).map(|chain| chain.since(base.position)).unwrap_or_default();
        let trees = std::iter::once(base.tree).chain(since.iter().map(|look| look.tree));
        let distinct: BTreeSet<TreeId> = trees.collect();
        Some((root, distinct.into_iter().collect()))
    };
    known.roots().into_iter().filter_map(of_root).collect()
}

/// Looks now and then whether the sessions of this process are still to be found by others.
struct Keeper {
    place: Place,
    open: Weak<Open>,
    inbox: Inbox,
}

impl Keeper {
    fn work(self) {
        let mut failing: BTreeMap<SessionKey, String> = BTreeMap::new();
        loop {
            std::thread::sleep(ROUND);
            let Some(open) = self.open.upgrade() else { return };
            for (key, held) in open.sessions().iter_mut() {
                let known = failing.remove(key);
                let Some(input) = held.stand(&self.place, key) else { continue };
                if let Input::DoorMoved { stands: Err(reason), .. } = &input {
                    failing.insert(key.clone(), reason.clone());
                }
                if known.is_none() || known.as_ref() != failing.get(key) {
                    self.inbox.put(Event::Came(Box::new(input)));
                }
            }
        }
    }
}

/// Opens sessions and roots, away from the relay.
struct Opener {
    place: Place,
    held: Option<(SessionKey, Lease)>,
    open: Arc<Open>,
    inbox: Inbox,
}

impl Opener {
    fn work(&mut self, queue: &mut VecDeque<Opening>) {
        let Some(Opening { ask, session, directories, since }) = queue.pop_front() else { return };
        let input = match guarded(|| self.open_session(&session)) {
            Ok(Err(LeaseError::Held(_))) if since.elapsed() < LEASE_PATIENCE => {
                // Others need not wait for it.
                queue.push_back(Opening { ask, session, directories, since });
                return std::thread::sleep(Duration::from_millis(20));
            }
            Ok(Ok((history, skips))) => {
                let open_root = |directory| guarded(|| self.open_root(directory));
                let roots: Result<Vec<OpenedRoot>, String> = directories.into_iter().map(open_root).collect();
                roots.map(|roots| Input::RootsOpened { ask, roots, unrecorded: None, history, skips })
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(reason) => Err(reason),
        };
        let input = input.unwrap_or_else(|reason| Input::RootsOpened {
            ask,
            roots: Vec::new(),
            unrecorded: Some(reason),
            history: Vec::new(),
            skips: Vec::new(),
        });
        self.inbox.put(Event::Came(Box::new(input)));
    }

    /// Takes the session's lease and opens its ledger. What it held is returned once per process.
    fn open_session(&mut self, session: &SessionKey) -> Result<(Vec<Record>, Vec<Skip>), LeaseError> {
        if self.open.sessions().contains_key(session) {
            return Ok((Vec::new(), Vec::new()));
        }
        let lease = match self.held.take_if(|(held, _)| held == session) {
            Some((_, lease)) => lease,
            None => self.place.state.lease(session, &self.place.holder())?,
        };
        let (journal, replay) = self.place.state.open_session(session, &lease)?;
        self.open.sessions().insert(session.clone(), Held { journal, lease });
        Ok((replay.records, replay.skips))
    }

    fn open_root(&self, directory: String) -> OpenedRoot {
        let canonical = Path::new(&directory).canonicalize().unwrap_or_default();
        let mut opened = OpenedRoot {
            directory,
            canonical: canonical.into_os_string().into_vec(),
            root: Err(String::new()),
            top: Vec::new(),
            observing: "none",
            project: None,
            history: Vec::new(),
            skips: Vec::new(),
        };
        if let Err(reason) = self.find_root(&mut opened) {
            opened.root = Err(reason);
        }
        opened
    }

    fn find_root(&self, opened: &mut OpenedRoot) -> Result<(), String> {
        let settings = &self.place.settings;
        let root = resolve_root(Path::new(&opened.directory), settings).map_err(|error| error.to_string())?;
        let (id, header) = (root.id.clone(), root.header());
        opened.top = root.top_bytes().to_vec();
        if let Some(known) = self.open.roots().get(&id) {
            opened.observing = known.observing;
            opened.root = Ok(header);
            return Ok(());
        }
        opened.project = project_file(&String::from_utf8_lossy(root.top_bytes())).transpose();
        let mut settings = settings.clone();
        if let Some(Ok(written)) = &opened.project {
            settings.withheld = settings.withheld.and(written.withheld());
        }
        let (store, report) =
            RootStore::open(&self.place.state, root, &settings).map_err(|error| error.to_string())?;
        let observing = report.observing.as_str();
        let joined = Fact::ProxyJoined { proxy: self.place.proxy.clone(), pid: std::process::id() };
        let joined = Record { at: self.place.clock.now().wall, event: joined };
        let chain = store.chain();
        chain
            .append(std::slice::from_ref(&joined), crate::store::Durability::Written)
            .map_err(|error| error.to_string())?;
        let (proxy, clock) = (self.place.proxy.clone(), self.place.clock);
        let started = rootwork::start(store, observing, (proxy, clock), self.inbox.clone());
        self.open.roots().insert(id, started.map_err(|error| error.to_string())?);
        opened.observing = observing;
        opened.history = report.history;
        opened.history.push(joined);
        opened.skips = report.skips;
        opened.root = Ok(report.header);
        Ok(())
    }
}

/// Computes answers from snapshots, away from the relay.
struct Reckoner {
    state: StateDir,
    inbox: Inbox,
    /// The headers of sessions of other processes: a listing calls them by the names that their peers chose.
    beside: BTreeMap<SessionKey, Option<Record>>,
    /// What earlier answers already found out.
    cache: Cache,
    /// Where the engine believes that a web console listens.
    console: Option<String>,
}

impl Reckoner {
    /// Adds the headers of the sessions that have windows on a root and are not of this process.
    fn introduce(&mut self, ledger: &mut Ledger) {
        let met: BTreeSet<SessionKey> =
            ledger.chains().flat_map(|(_, chain)| chain.sessions()).cloned().collect();
        for key in met.into_iter().filter(|key| ledger.session(key).is_none()).collect::<Vec<_>>() {
            let header = self.beside.entry(key.clone()).or_insert_with(|| self.state.session_opening(&key));
            if let Some(header) = header {
                ledger.apply(&Log::Session(key), header);
            }
        }
    }

    fn work(&mut self, queue: &mut VecDeque<Reckoning>) {
        // Whoever decides waits for no listing: a person pressed a key.
        let next = queue.iter().position(|reckoning| reckoning.what.decides()).unwrap_or_default();
        let Some(Reckoning { ask, session, what, mut ledger, blobs }) = queue.remove(next) else { return };
        self.introduce(&mut ledger);
        let cache = &mut self.cache;
        let computed =
            guarded(|| compute(&ledger, &session, &what, &blobs, cache)).unwrap_or_else(|reason| {
                *cache = Cache::default();
                Computed::Answer(Answer::Problem(Problem::new(ProblemKind::Internal, reason)))
            });
        self.look_for_console();
        self.inbox.put(Event::Came(Box::new(Input::Computed { ask, computed })));
    }

    /// Tells of a web console that came or went since the last answer: texts for people name it.
    fn look_for_console(&mut self) {
        let console = console::address(&self.state);
        if console != self.console {
            self.console.clone_from(&console);
            self.inbox.put(Event::Came(Box::new(Input::ConsoleMoved { console })));
        }
    }
}
