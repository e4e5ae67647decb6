//! The virtual world: performs the engine's actions on a worktree, a journal and two peers in memory.

use super::tree::Tree;
use bytes::Bytes;
use hunkgate::base::{
    AskId, Digest, Leg, ObservationNo, ProxyId, RepoPath, RootId, SessionKey, Tick, WallNs,
};
use hunkgate::config::{Config, Written};
use hunkgate::engine::{Action, Durability, Engine, Input, Level, OpenedRoot, Setup, Sight};
use hunkgate::ledger::{
    Cache, Event, FilePlan, Gap, GrantBook, GrantEvent, GrantLine, Ledger, Listing, Log, Method, Observation,
    Record, Redactor, RevertFile, RevertOutcome, RevertResult, Wanted, Why, listing,
};
use hunkgate::policy::{Errand, FileNews, Hearing, KnownFiles, Stands, Told, UserFile};
use hunkgate::review::{self, Answer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// When a play begins: a Tuesday.
const EPOCH: i64 = 1_790_000_000_000_000_000;

/// One engine and everything that it believes to be the world.
#[derive(Debug)]
pub(crate) struct World {
    engine: Engine,
    config: Config,
    cache: Cache,
    pub(crate) now: Tick,
    pub(crate) tree: Tree,
    pub(crate) journal: Vec<Entry>,
    /// What the peers were sent and nobody has looked at yet.
    pub(crate) editor: VecDeque<Frame>,
    pub(crate) agent: VecDeque<Frame>,
    pub(crate) replies: VecDeque<(AskId, Answer)>,
    pub(crate) warnings: VecDeque<String>,
    pub(crate) exit: Option<i32>,
    pub(crate) stops_agent: bool,
    pub(crate) unrecorded: Option<String>,
    /// Logs that lack a fact which the engine goes on with.
    pub(crate) incomplete: BTreeSet<Log>,
    /// Why the next synced record of a session cannot be written.
    pub(crate) unwritable: Option<String>,
    /// Why nothing at all is written, nor looked at.
    pub(crate) full: Option<String>,
    /// What could not be written.
    backlog: BTreeMap<Log, Vec<Record>>,
    /// Why the next revert fails.
    pub(crate) refusing: Option<String>,
    /// What a person writes just before the next revert.
    pub(crate) drifting: Option<(String, Vec<u8>)>,
    pub(crate) sessions: Vec<SessionKey>,
    /// What file times are worth at the next look that tells of a change, where a clock was set before it.
    stamps: Option<hunkgate::ledger::Stamps>,
    /// Whether roots are opened only later.
    pub(crate) opens_late: bool,
    /// The person's own configuration, as text.
    pub(crate) user: Option<String>,
    /// Why what stands in its place cannot be read.
    unreadable: Option<String>,
    /// The file of the permissions that outlive sessions.
    pub(crate) grants: String,
    pub(crate) trace: Vec<String>,
    opened: BTreeSet<RootId>,
    /// The roots of which this run of the proxy has a link, and no gap since.
    looked: BTreeSet<RootId>,
    positions: BTreeMap<RootId, ObservationNo>,
    stalled: bool,
    failing: Option<String>,
    /// When the first of the looks that wait was asked for.
    asked: Option<WallNs>,
    /// The same of a proxy that died before its first look was made.
    in_vain: Option<WallNs>,
    /// How well the roots are seen.
    sight: Option<Sight>,
    /// When the last look began that found nothing new, root by root.
    still: BTreeMap<RootId, WallNs>,
    held: VecDeque<Action>,
    order: u64,
    run: u32,
    /// What another proxy wrote in the chains, and the engine has not been told.
    foreign: Vec<(RootId, Record)>,
    /// How much of the journal the other proxy has.
    passed: usize,
    errands: VecDeque<(AskId, Errand)>,
    dismissed: Vec<AskId>,
    hearings: BTreeMap<AskId, Hearing>,
}

/// A journaled record with its place among everything that was done.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) order: u64,
    pub(crate) log: Log,
    pub(crate) record: Record,
    pub(crate) synced: bool,
}

/// A line that was sent, with its place among everything that was done.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) order: u64,
    pub(crate) bytes: Bytes,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            engine: Engine::new(setup(1, config.clone())),
            config,
            cache: Cache::default(),
            now: Tick { mono: 0, wall: WallNs(EPOCH) },
            tree: Tree::default(),
            journal: Vec::new(),
            editor: VecDeque::new(),
            agent: VecDeque::new(),
            replies: VecDeque::new(),
            warnings: VecDeque::new(),
            exit: None,
            stops_agent: false,
            unrecorded: None,
            incomplete: BTreeSet::new(),
            unwritable: None,
            full: None,
            backlog: BTreeMap::new(),
            refusing: None,
            drifting: None,
            sessions: Vec::new(),
            stamps: None,
            opens_late: false,
            user: None,
            unreadable: None,
            grants: String::new(),
            trace: Vec::new(),
            opened: BTreeSet::new(),
            looked: BTreeSet::new(),
            positions: BTreeMap::new(),
            stalled: false,
            failing: None,
            asked: None,
            in_vain: None,
            sight: None,
            still: BTreeMap::new(),
            held: VecDeque::new(),
            order: 0,
            run: 1,
            foreign: Vec::new(),
            passed: 0,
            errands: VecDeque::new(),
            dismissed: Vec::new(),
            hearings: BTreeMap::new(),
        }
    }

    /// Makes the world of another proxy than the first.
    #[allow(dead_code, reason = "only what has two proxies asks")]
    pub(crate) fn of_proxy(config: Config, run: u32) -> Self {
        Self { engine: Engine::new(setup(run, config.clone())), run, ..Self::new(config) }
    }

    /// Hands the files, the clock and the shared chains to another proxy's world.
    #[allow(dead_code, reason = "only what has two proxies asks")]
    pub(crate) fn pass_on(&mut self, next: &mut Self) {
        next.tree = std::mem::take(&mut self.tree);
        next.now = self.now;
        next.positions.clone_from(&self.positions);
        for entry in &self.journal[self.passed..] {
            if let Log::Root(root) = &entry.log {
                next.foreign.push((root.clone(), entry.record.clone()));
                next.journal.push(entry.clone());
            }
        }
        self.passed = self.journal.len();
        next.passed = next.journal.len();
    }

    /// Says that another proxy was found dead.
    #[allow(dead_code, reason = "only what has two proxies asks")]
    pub(crate) fn find_dead(&mut self, other: &Self, root: &RootId) {
        let event = Event::ProxyLeft { proxy: proxy(other.run), lost: true };
        self.foreign.push((root.clone(), Record { at: self.now.wall, event }));
    }

    fn take_foreign(&mut self, root: &RootId) -> Vec<Record> {
        let (taken, left) = std::mem::take(&mut self.foreign).into_iter().partition(|(of, _)| of == root);
        self.foreign = left;
        let taken: Vec<(RootId, Record)> = taken;
        taken.into_iter().map(|(_, record)| record).collect()
    }

    /// Hands one thing to the engine, and whatever follows from it, until everything is quiet.
    pub(crate) fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.note(format!("> {}", told_input(&input)));
            let actions = self.engine.step(self.now, input);
            let (mut told, mut follow, mut failed) = (Vec::new(), Vec::new(), None);
            for action in actions {
                self.note(format!("    {}", told_action(&action)));
                match (action, &failed) {
                    (Action::Append { log, record, durability }, _) => {
                        let written = self.write(log, record, durability);
                        if let Err(input) = &written
                            && let Input::AppendFailed { reason, .. } = input.as_ref()
                        {
                            failed = Some(reason.clone());
                        }
                        told.extend(written.unwrap_or_else(|failed| Some(*failed)));
                    }
                    (Action::Settle { ask }, _) => told.push(Input::Settled { ask }),
                    (Action::Reply { ask, answer }, Some(reason)) => {
                        self.replies.push_back((ask, answer.unrecorded(reason)));
                    }
                    (action, _) => follow.extend(self.perform(action)),
                }
            }
            inputs.extend(told.into_iter().chain(follow));
        }
    }

    /// Sets the wall clock ahead, or back.
    pub(crate) fn set_clock(&mut self, ms: i64) {
        self.now.wall.0 += ms * 1_000_000;
        self.stamps = Some(hunkgate::ledger::Stamps::Worthless);
    }

    /// Moves the clocks, waking the engine whenever it asked for it.
    pub(crate) fn pass(&mut self, ms: u32) {
        let end = self.now.plus_ms(ms);
        for _ in 0..10_000 {
            match self.engine.deadline() {
                Some(due) if due.mono <= end.mono => {
                    // A deadline knows nothing of a clock that was set since.
                    let ahead = i64::try_from(due.mono.saturating_sub(self.now.mono)).unwrap_or_default();
                    self.now.mono = due.mono.max(self.now.mono);
                    self.now.wall.0 += ahead;
                    self.feed(Input::Woken);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the engine asks to be woken again and again without a step forward");
    }

    /// Kills the proxy and starts another on what the journals hold.
    pub(crate) fn restart(&mut self) {
        self.run += 1;
        self.engine = Engine::new(setup(self.run, self.config.clone()));
        self.held.clear();
        self.backlog.clear();
        self.in_vain = self.in_vain.or(self.asked.take());
        self.stalled = false;
        self.editor.clear();
        self.agent.clear();
        self.opened.clear();
        self.looked.clear();
        self.still.clear();
        self.sessions.clear();
    }

    /// The person writes another configuration: the next proxy starts with it, this one follows it.
    pub(crate) fn rewrite(&mut self, text: String) {
        if let Ok(written) = Written::parse("config.toml", &text) {
            self.config = Config::of(Some(&written), None);
        }
        (self.user, self.unreadable) = (Some(text), None);
    }

    /// Nothing stands in the place of the person's configuration any more, or what cannot be read.
    pub(crate) fn unwrite(&mut self, unreadable: Option<String>) {
        (self.user, self.unreadable) = (None, unreadable);
    }

    /// Makes observations wait.
    pub(crate) fn stall(&mut self) {
        self.stalled = true;
    }

    /// Says whether observations wait.
    #[allow(dead_code, reason = "only the race harness asks")]
    pub(crate) fn waits(&self) -> bool {
        !self.held.is_empty()
    }

    /// Something happens beneath every open root.
    pub(crate) fn stir(&mut self) {
        for root in self.opened.clone() {
            self.feed(Input::Stirred { root });
        }
    }

    /// Says how well the roots are seen from now on.
    pub(crate) fn see(&mut self, mode: &str, missed: u64, why: &str) {
        let observing = match mode {
            "watch" => "watch",
            "hybrid" => "hybrid",
            _ => "walk",
        };
        let because = (!why.is_empty()).then(|| why.to_owned());
        self.sight = Some(Sight { observing, because, missed, remarks: Vec::new() });
    }

    /// Lists a session with what was computed for the listings before.
    #[allow(dead_code, reason = "only the race harness asks")]
    pub(crate) fn relist(&mut self, session: &SessionKey) -> Listing {
        listing(self.engine.ledger(), session, &self.tree, &mut self.cache)
    }

    /// Looks at every root because something was written there.
    #[allow(dead_code, reason = "only the race harness has a watcher")]
    pub(crate) fn glance(&mut self) {
        for root in self.opened.clone() {
            let input = self.observe(AskId(u64::MAX), root, Why::Activity);
            self.feed(input);
        }
    }

    /// Makes the observations that wait, and later ones at once.
    pub(crate) fn capture(&mut self) {
        self.stalled = false;
        self.opens_late = false;
        while let Some(action) = self.held.pop_front() {
            for input in self.perform(action) {
                self.feed(input);
            }
        }
    }

    /// Fails the observations that wait, or else the next one.
    pub(crate) fn fail(&mut self, reason: &str) {
        if self.held.is_empty() {
            self.failing = Some(reason.to_owned());
            return;
        }
        self.stalled = false;
        while let Some(action) = self.held.pop_front() {
            self.failing = Some(reason.to_owned());
            for input in self.perform(action) {
                self.feed(input);
            }
        }
        self.failing = None;
    }

    /// Returns the live ledger.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    /// Returns the fold of everything that was journaled.
    pub(crate) fn folded(&self) -> Ledger {
        let mut folded = Ledger::default();
        for entry in &self.journal {
            folded.apply(&entry.log, &entry.record);
        }
        folded
    }

    /// Returns the lines one peer was sent and nobody has looked at.
    pub(crate) fn heard(&mut self, leg: Leg) -> &mut VecDeque<Frame> {
        match leg {
            Leg::Editor => &mut self.editor,
            Leg::Agent => &mut self.agent,
        }
    }

    fn perform(&mut self, action: Action) -> Vec<Input> {
        self.order += 1;
        match action {
            Action::Send { leg, bytes } => {
                let order = self.order;
                self.heard(leg).push_back(Frame { order, bytes });
                Vec::new()
            }
            Action::OpenRoots { ask, session, directories } if self.opens_late => {
                self.held.push_back(Action::OpenRoots { ask, session, directories });
                Vec::new()
            }
            Action::OpenRoots { ask, session, directories } => {
                vec![self.open_roots(ask, session, directories)]
            }
            Action::Observe { ask, root, why, named } => {
                if self.stalled {
                    self.asked.get_or_insert(self.now.wall);
                    self.held.push_back(Action::Observe { ask, root, why, named });
                    return Vec::new();
                }
                vec![self.observe(ask, root, why)]
            }
            Action::Compute { ask, session, what } => {
                let ledger = self.engine.ledger();
                let computed = review::compute(ledger, &session, &what, &self.tree, &mut self.cache);
                vec![Input::Computed { ask, computed }]
            }
            Action::Assess { ask, errand } => {
                self.errands.push_back((ask, *errand));
                Vec::new()
            }
            Action::Dismiss { ask } => {
                self.dismissed.push(ask);
                Vec::new()
            }
            Action::Judge { ask, case } => {
                let mut finding = case.find(&self.tree);
                finding.news = self.news(&case.known).map(Box::new);
                let standing =
                    |standing: &String| Some(self.book().covering(standing, self.now.wall)?.id.clone());
                finding.grant = case.standing.as_ref().and_then(standing);
                vec![Input::Judged { ask, finding: Ok(Box::new(finding)) }]
            }
            Action::CheckFiles { ask, known } => {
                vec![Input::FilesChecked { ask, news: self.news(&known).map(Box::new) }]
            }
            Action::ReadPolicy { ask, tops } => {
                let projects = tops.into_iter().map(|top| (top.clone(), self.project(&top))).collect();
                vec![Input::PolicyRead { ask, user: self.user_file(), projects }]
            }
            Action::Spend { ask, grant } => {
                let spent = self.book().spend(&grant, self.now.wall);
                let outcome = spent.map(|event| event.into_iter().for_each(|event| self.keep_grant(event)));
                vec![Input::Granted { ask, outcome }]
            }
            Action::Keep { ask, grant } => {
                self.keep_grant(GrantEvent::GrantIssued(*grant));
                vec![Input::Granted { ask, outcome: Ok(()) }]
            }
            Action::Prepare { ask, files } => {
                let files = files.into_iter().map(|plan| self.prepare(plan)).collect();
                vec![Input::Prepared { ask, files }]
            }
            Action::Restore { ask, files } | Action::Recover { ask, files } => {
                let files = files.into_iter().map(|file| self.restore(file)).collect();
                vec![Input::Restored { ask, files }]
            }
            Action::Reply { ask, answer } => {
                self.replies.push_back((ask, answer));
                Vec::new()
            }
            Action::Log { level, text } => {
                if level == Level::Warn {
                    self.warnings.push_back(text);
                }
                Vec::new()
            }
            Action::StopAgent => {
                self.stops_agent = true;
                Vec::new()
            }
            Action::Exit { code } => {
                self.exit.get_or_insert(code);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Compares the files of the policy with what is known of them.
    fn news(&self, known: &KnownFiles) -> Option<FileNews> {
        let user = self.user_file();
        let user = (user.stands != known.user).then_some(user);
        let moved = |(top, stood): (&String, &Stands)| {
            let now = self.tree.bytes(&format!("{top}/.hunkgate.toml")).map(|text| Digest::of(&[text]));
            let now = Stands::of(now);
            (now != *stood).then(|| (top.clone(), now))
        };
        let projects: Vec<_> = known.projects.iter().filter_map(moved).collect();
        (user.is_some() || !projects.is_empty()).then_some(FileNews { user, projects })
    }

    fn user_file(&self) -> UserFile {
        let written = |text: &String| Written::parse("config.toml", text).map_err(|error| error.to_string());
        if let Some(reason) = &self.unreadable {
            return UserFile { stands: Stands::Unreadable, says: Err(format!("config.toml: {reason}")) };
        }
        UserFile {
            stands: Stands::of(self.user.as_ref().map(|text| Digest::of(&[text.as_bytes()]))),
            says: self.user.as_ref().map(written).transpose(),
        }
    }

    fn project(&self, top: &str) -> Result<Option<Written>, String> {
        let text = self.tree.bytes(&format!("{top}/.hunkgate.toml"));
        let text = text.map(|text| String::from_utf8_lossy(text).into_owned());
        let parsed = text.map(|text| Written::parse(".hunkgate.toml", &text));
        parsed.transpose().map_err(|error| error.to_string())
    }

    /// Returns the permissions that outlive sessions.
    fn book(&self) -> GrantBook {
        GrantBook::read(&self.grants)
    }

    /// Writes a line in their file.
    pub(crate) fn keep_grant(&mut self, event: GrantEvent) {
        let line = GrantLine::new(self.now.wall, event);
        self.grants += &(serde_json::to_string(&line).expect("because a line is plain data") + "\n");
    }

    /// Returns the oldest program that was asked and has not replied.
    #[allow(dead_code, reason = "only transcripts have programs that are asked")]
    pub(crate) fn errand(&self) -> Option<&Errand> {
        self.errands.front().map(|(_, errand)| errand)
    }

    /// Says whether the oldest program that was asked was ended, and forgets it.
    #[allow(dead_code, reason = "only transcripts have programs that are asked")]
    pub(crate) fn was_dismissed(&mut self) -> bool {
        let Some((ask, _)) = self.errands.pop_front() else { return false };
        self.dismissed.contains(&ask)
    }

    /// The oldest program that was asked says a line, or fails.
    #[allow(dead_code, reason = "only transcripts have programs that are asked")]
    pub(crate) fn assessor_says(&mut self, line: Result<&[u8], &str>) -> Option<Input> {
        let (ask, errand) = self.errands.front()?;
        let ask = *ask;
        let hearing = self.hearings.entry(ask).or_insert_with(|| Hearing::of(errand.request.clone()));
        let told = line.map_err(str::to_owned).and_then(|line| hearing.hear(line));
        Some(match told {
            Ok(Told::Meanwhile(opinion)) => Input::Opined { ask, opinion: Box::new(opinion) },
            Ok(Told::Finally(opinion)) => {
                self.errands.pop_front();
                Input::Assessed { ask, reply: Ok(Box::new(opinion)) }
            }
            Err(reason) => {
                self.errands.pop_front();
                Input::Assessed { ask, reply: Err(reason) }
            }
        })
    }

    /// Appends for the engine: what could not be written before goes first.
    fn write(
        &mut self,
        log: Log,
        record: Record,
        durability: Durability,
    ) -> Result<Option<Input>, Box<Input>> {
        let once = matches!(log, Log::Session(_)) && durability == Durability::Synced;
        let refused = self.full.clone().or_else(|| self.unwritable.take_if(|_| once));
        if let Some(reason) = refused {
            let owed = self.backlog.entry(log.clone()).or_default();
            if !record.event.is_persons_word() {
                owed.push(record.clone());
                self.incomplete.insert(log.clone());
            }
            return Err(Box::new(Input::AppendFailed { log, record: Box::new(record), reason }));
        }
        let owed = self.backlog.remove(&log);
        let late = owed.as_ref().map(|owed| u32::try_from(owed.len()).unwrap_or(u32::MAX));
        for record in owed.into_iter().flatten() {
            self.append(log.clone(), record, Durability::Written);
        }
        self.append(log.clone(), record, durability);
        Ok(late.map(|late| Input::CaughtUp { log, late, lost: 0 }))
    }

    fn append(&mut self, log: Log, record: Record, durability: Durability) {
        self.order += 1;
        let synced = durability == Durability::Synced;
        self.journal.push(Entry { order: self.order, log, record, synced });
    }

    fn open_roots(&mut self, ask: AskId, session: SessionKey, directories: Vec<String>) -> Input {
        if !self.sessions.contains(&session) {
            self.sessions.push(session.clone());
        }
        let recorded = self.unrecorded.is_none();
        let roots = directories.into_iter().map(|directory| self.open_root(directory, recorded)).collect();
        let history = self.records(&Log::Session(session));
        Input::RootsOpened { ask, roots, unrecorded: self.unrecorded.clone(), history, skips: Vec::new() }
    }

    fn open_root(&mut self, directory: String, recorded: bool) -> OpenedRoot {
        let canonical = directory.clone().into_bytes();
        let root = self.tree.open(&directory);
        let mut opened = OpenedRoot {
            directory,
            canonical,
            root: root.clone(),
            top: Vec::new(),
            observing: "walk",
            project: None,
            history: Vec::new(),
            skips: Vec::new(),
        };
        if let Ok(header) = root {
            let log = Log::Root(header.root.clone());
            opened.top = self.tree.top(&header.root).as_bytes().to_vec();
            opened.project = self.project(self.tree.top(&header.root)).transpose();
            if recorded && self.opened.insert(header.root.clone()) {
                if self.records(&log).is_empty() {
                    let record = Record { at: self.now.wall, event: Event::RootOpened(header) };
                    self.append(log.clone(), record, Durability::Written);
                }
                opened.history = self.records(&log);
                self.foreign.retain(|(root, _)| Log::Root(root.clone()) != log);
            }
        }
        opened
    }

    /// Returns the records of a log, as a replay would.
    fn records(&self, log: &Log) -> Vec<Record> {
        self.journal.iter().filter(|entry| entry.log == *log).map(|entry| entry.record.clone()).collect()
    }

    fn observe(&mut self, ask: AskId, root: RootId, why: Why) -> Input {
        // A look takes time: it is over before its result is handed in.
        let at = WallNs(self.now.wall.0 - 1);
        if let Some(reason) = self.full.clone().or_else(|| self.failing.take()) {
            let gap = Gap { at, reason, why };
            self.looked.remove(&root);
            let record = Record { at, event: Event::Gap(gap.clone()) };
            if self.full.is_none() {
                self.append(Log::Root(root.clone()), record, Durability::Written);
            } else {
                self.incomplete.insert(Log::Root(root.clone()));
            }
            let foreign = self.take_foreign(&root);
            return Input::Observed { ask, root, foreign, outcome: Err(gap), sight: None };
        }
        let (tree, mut changes) = self.tree.look(&root, at);
        let last = self.positions.get(&root).copied();
        let asked = self.asked.take();
        if let Some(since) = self.in_vain.take().or(asked).filter(|_| last.is_none()) {
            changes = self.tree.meanwhile(&root, since, at);
        }
        if let Some(no) = last.filter(|_| changes.is_empty() && self.looked.contains(&root)) {
            // Where nothing moved the last link is said again: nothing is appended.
            self.still.insert(root.clone(), at);
            let again = Observation::new(no, at, at, proxy(self.run), why, tree, None, changes);
            let foreign = self.take_foreign(&root);
            return Input::Observed { ask, root, foreign, outcome: Ok(again), sight: self.sight.clone() };
        }
        let no = last.map_or(ObservationNo(0), |last| last.next());
        self.positions.insert(root.clone(), no);
        self.looked.insert(root.clone());
        let began = asked.unwrap_or(at);
        let mut seen = Observation::new(no, began, at, proxy(self.run), why, tree, None, changes);
        seen.still = self.still.remove(&root);
        seen.stamps = self.stamps.take().unwrap_or(seen.stamps);
        self.append(
            Log::Root(root.clone()),
            Record { at, event: Event::Observed(seen.clone()) },
            Durability::Written,
        );
        let foreign = self.take_foreign(&root);
        Input::Observed { ask, root, foreign, outcome: Ok(seen), sight: self.sight.clone() }
    }

    fn prepare(&mut self, plan: FilePlan) -> Result<RevertFile, RevertOutcome> {
        let FilePlan { root, path, expected, wanted, other } = plan;
        let found = self.tree.state(&root, &path);
        if found != expected {
            return Err(RevertOutcome { root, path, result: RevertResult::Stale { rescued: None } });
        }
        let wanted = match wanted {
            Wanted::Absent => None,
            Wanted::State(state) => Some(state),
            Wanted::Edited { mode, edits } => {
                let mut bytes = self.current_bytes(&root, &path);
                for edit in edits.into_iter().rev() {
                    bytes.splice(edit.start..edit.end, edit.text);
                }
                Some(self.tree.keep(&bytes, mode))
            }
            Wanted::Bytes { mode, bytes } => Some(self.tree.keep(&bytes, mode)),
        };
        let (temporary, method) = match (&found, &wanted) {
            (_, None) => (None, Method::Remove),
            (None, Some(_)) => (None, Method::Create),
            (Some(_), Some(_)) => (Some(beside(&path)), Method::Exchange),
        };
        Ok(RevertFile { root, path, expected, wanted, temporary, method, other })
    }

    fn restore(&mut self, file: RevertFile) -> RevertOutcome {
        let RevertFile { root, path, expected, wanted, .. } = file;
        if let Some(reason) = self.refusing.take() {
            return RevertOutcome { root, path, result: RevertResult::Failed { reason } };
        }
        if let Some((drifting, bytes)) = self.drifting.take() {
            self.tree.write(&drifting, &bytes, self.now.wall);
        }
        let found = self.tree.state(&root, &path);
        if found != expected && found != wanted {
            return RevertOutcome { root, path, result: RevertResult::Stale { rescued: found } };
        }
        self.tree.put(&root, &path, wanted, self.now.wall);
        RevertOutcome { root, path, result: RevertResult::Done { left: wanted, remark: None } }
    }

    fn current_bytes(&self, root: &RootId, path: &RepoPath) -> Vec<u8> {
        let absolute = format!("{}/{}", self.tree.top(root), String::from_utf8_lossy(path.as_bytes()));
        self.tree.bytes(&absolute).unwrap_or_default().to_vec()
    }

    fn note(&mut self, line: String) {
        self.trace.push(line);
    }
}

/// The proxy of the n-th run of a play.
fn proxy(run: u32) -> ProxyId {
    ProxyId::new(format!("proxy{run}"))
}

fn setup(run: u32, config: Config) -> Setup {
    let proxy = proxy(run);
    Setup {
        pid: run,
        seed: format!("{:08x}", run - 1),
        config,
        redactor: Redactor::new([7; 32]),
        home: Some("/home/person".to_owned()),
        ours: vec!["/home/person/.local/state/hunkgate".to_owned()],
        ..Setup::bare(proxy.as_str())
    }
}

fn beside(path: &RepoPath) -> RepoPath {
    let name = [path.as_bytes(), b".hunkgate"].concat();
    RepoPath::new(name).expect("because a suffix keeps a path a path")
}

fn told_input(input: &Input) -> String {
    match input {
        Input::FromEditor(line) => format!("editor> {}", text(line)),
        Input::FromAgent(line) => format!("agent> {}", text(line)),
        other => cut(&format!("{other:?}")),
    }
}

fn told_action(action: &Action) -> String {
    match action {
        Action::Send { leg: Leg::Editor, bytes } => format!("editor< {}", text(bytes)),
        Action::Send { leg: Leg::Agent, bytes } => format!("agent< {}", text(bytes)),
        Action::Append { record, .. } => {
            format!("journal {}", cut(&serde_json::to_string(&record.event).unwrap_or_default()))
        }
        other => cut(&format!("{other:?}")),
    }
}

fn text(line: &[u8]) -> String {
    cut(String::from_utf8_lossy(line).trim_end())
}

/// Cuts a line of the trace to what a person reads.
fn cut(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
