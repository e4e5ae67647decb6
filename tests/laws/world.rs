//! A tree in memory, a ledger and a person: decisions are planned by `review` and carried out here, without an engine.

use hunkgate::base::{
    AgentId, BlobId, CallId, CommandId, CommentId, ObservationNo, ProxyId, RepoPath, RootId, SessionId,
    SessionKey, TreeId, TurnNo, WallNs, WindowId,
};
use hunkgate::ledger::{
    Actor, Blobs, Bound, Cache, CallFacts, Change, Channel, Closing, Content, Event, FilePlan, FileState,
    Flags, Hi, HunkShape, Ledger, ListingShape, Log, Mode, Observation, Purpose, Record, Redactor,
    RevertFile, RevertIntent, RevertOutcome, RevertResult, ReviewState, RootHeader, RootKind, SessionHeader,
    ToolKind, Wanted, Why, Window,
};
use hunkgate::review::{
    Answer, Ask, Computed, Decide, DecideVerb, Plan, Problem, Selector, apply_edits, compute, pending,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes by a made-up id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(BTreeMap<BlobId, Arc<[u8]>>);

impl Blobs for Kept {
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        self.0.get(&blob).cloned()
    }
}

pub(crate) type Files = BTreeMap<String, (Mode, Vec<u8>)>;

/// The tree, what is kept of it, and what was recorded.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) files: Files,
    pub(crate) ledger: Ledger,
    pub(crate) kept: Kept,
    pub(crate) key: SessionKey,
    /// Paths whose reverts fail, with what is said.
    pub(crate) stubborn: BTreeMap<String, RevertResult>,
    /// Paths that are refused before anything is written.
    pub(crate) refuses: std::collections::BTreeSet<String>,
    seen: Files,
    root: RootId,
    clock: i64,
    minted: u32,
    turn: Option<TurnNo>,
}

impl World {
    /// Starts a session on these files.
    pub(crate) fn on(files: &[(&str, &str)]) -> Self {
        let agent = AgentId::new("agent");
        let mut world = Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (Mode::Regular, text.as_bytes().to_vec())))
                .collect(),
            ledger: Ledger::default(),
            kept: Kept::default(),
            key: SessionKey::derive(&agent, &SessionId::new("s1")),
            stubborn: BTreeMap::new(),
            refuses: std::collections::BTreeSet::new(),
            seen: Files::new(),
            root: RootId::derive(b"/w"),
            clock: 1_000_000_000_000_000_000,
            minted: 0,
            turn: None,
        };
        let path = RepoPath::new("w").ok();
        let root = world.root.clone();
        world.chain(Event::RootOpened(RootHeader {
            root: root.clone(),
            path,
            kind: RootKind::Git,
            dev_ino: (1, 1),
        }));
        world.session(Event::SessionOpened(SessionHeader {
            key: world.key.clone(),
            session: SessionId::new("s1"),
            agent,
            agent_version: None,
            client: None,
            protocol: 1,
            cwd: "/w".to_owned(),
            roots: vec![(root.clone(), "/w".to_owned())],
            parent: None,
        }));
        let tree = world.observe(Why::Base);
        world.session(Event::BaseTaken { root, position: ObservationNo(0), tree, complete: true });
        world
    }

    /// Begins a turn.
    pub(crate) fn turn(&mut self) -> TurnNo {
        self.end_turn();
        let turn = self.ledger.session(&self.key).expect("opened").next_turn();
        self.session(Event::TurnStarted { turn });
        self.turn = Some(turn);
        self.open("turn", Purpose::Turn);
        turn
    }

    /// Ends the turn.
    pub(crate) fn end_turn(&mut self) {
        let Some(turn) = self.turn else { return };
        self.observe(Why::TurnEnd);
        self.close(&format!("turn-{}", turn.0));
        self.turn = None;
        self.session(Event::TurnEnded { turn, stop: "end_turn".to_owned() });
    }

    /// A call of the agent changes files. It is the only one that could have.
    pub(crate) fn call(&mut self, id: &str, change: impl FnOnce(&mut Files)) {
        if self.turn.is_none() {
            self.turn();
        }
        let facts = CallFacts {
            call: CallId::new(id),
            title: Redactor::new([0; 32]).redact(&format!("call {id}")),
            kind: ToolKind::Execute,
            read_only: false,
            asked: None,
        };
        self.open(id, Purpose::Call(facts));
        self.observe(Why::WindowOpened);
        self.tick();
        change(&mut self.files);
        self.tick();
        self.observe(Why::WindowClosed);
        self.close(id);
    }

    /// Two calls at once change files: nobody can tell which.
    pub(crate) fn calls_at_once(&mut self, ids: [&str; 2], change: impl FnOnce(&mut Files)) {
        if self.turn.is_none() {
            self.turn();
        }
        for id in ids {
            let (call, title) = (CallId::new(id), Redactor::new([0; 32]).redact(&format!("call {id}")));
            self.open(
                id,
                Purpose::Call(CallFacts {
                    call,
                    title,
                    kind: ToolKind::Execute,
                    read_only: false,
                    asked: None,
                }),
            );
        }
        change(&mut self.files);
        self.observe(Why::WindowClosed);
        ids.into_iter().for_each(|id| self.close(id));
    }

    /// A person changes files, while no turn runs.
    pub(crate) fn person(&mut self, change: impl FnOnce(&mut Files)) {
        self.end_turn();
        self.clock += 10_000_000_000;
        change(&mut self.files);
        self.clock += 10_000_000_000;
        self.observe(Why::Activity);
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|(_, bytes)| std::str::from_utf8(bytes).expect("text"))
    }

    pub(crate) fn compute(&self, ask: &Ask) -> Computed {
        compute(&self.ledger, &self.key, ask, &self.kept, &mut Cache::default())
    }

    pub(crate) fn listing(&self) -> ListingShape {
        let computed = self.compute(&Ask::Hunks { paths: Vec::new() });
        let Computed::Answer(Answer::Listing(listing)) = computed else { panic!("no listing: {computed:?}") };
        listing
    }

    pub(crate) fn hunks(&self) -> Vec<HunkShape> {
        self.listing().hunks
    }

    /// Returns the one hunk whose after text holds `text`.
    pub(crate) fn hunk(&self, text: &str) -> HunkShape {
        let mut hunks = self.hunks();
        hunks.retain(|hunk| hunk.after_content.contains(text));
        assert_eq!(hunks.len(), 1, "hunks with {text:?}: {hunks:#?}");
        hunks.remove(0)
    }

    pub(crate) fn reject(&mut self, selector: Selector) -> Result<Done, Problem> {
        self.decide(decide(DecideVerb::Reject, selector))
    }

    pub(crate) fn accept(&mut self, selector: Selector) -> Result<Done, Problem> {
        self.decide(decide(DecideVerb::Accept, selector))
    }

    pub(crate) fn decide(&mut self, decide: Decide) -> Result<Done, Problem> {
        self.carry_out(&Ask::Decide(decide))
    }

    pub(crate) fn undo(&mut self) -> Result<Done, Problem> {
        self.carry_out(&Ask::Undo { dry_run: false })
    }

    pub(crate) fn redo(&mut self) -> Result<Done, Problem> {
        self.carry_out(&Ask::Redo { dry_run: false })
    }

    /// Plans an ask and carries it out, as the engine does.
    pub(crate) fn carry_out(&mut self, ask: &Ask) -> Result<Done, Problem> {
        self.end_turn();
        match self.compute(ask) {
            Computed::Plan(plan) => Ok(self.perform(*plan)),
            Computed::Answer(Answer::Problem(problem)) => Err(problem),
            computed @ (Computed::Answer(_) | Computed::Comment(_) | Computed::Cards(_)) => {
                panic!("no plan: {computed:?}")
            }
        }
    }

    pub(crate) fn comment(&mut self, path: &str, line: u32, body: &str) -> CommentId {
        let ask =
            Ask::Comment { path: path.to_owned(), line_start: line, line_end: None, body: body.to_owned() };
        let Computed::Comment(comment) = self.compute(&ask) else { panic!("no comment") };
        let id = CommentId::new(self.mint("c"));
        self.session(Event::Commented(hunkgate::ledger::Comment { id: id.clone(), ..*comment }));
        id
    }

    /// Sends the pending note, when there is one, and returns its text.
    pub(crate) fn send_note(&mut self) -> Option<String> {
        let pending = pending(&self.ledger, &self.key)?;
        let note = self.mint("note");
        let text = pending.text(&note);
        let hunkgate::review::Pending { commands, comments, reapplied, denials, .. } = pending;
        self.session(Event::NoteSent { note, commands, comments, reapplied, denials });
        Some(text)
    }

    /// The prompt that carried the last note was answered.
    pub(crate) fn note_answered(&mut self, well: bool) {
        let flying = self.ledger.session(&self.key).and_then(|known| known.note_in_flight());
        let note = flying.expect("a note in flight").note.clone();
        self.session(if well { Event::NoteDelivered { note } } else { Event::NoteReturned { note } });
    }

    pub(crate) fn session(&mut self, event: Event) {
        let log = Log::Session(self.key.clone());
        let record = Record { at: WallNs(self.clock), event };
        self.ledger.apply(&log, &record);
    }

    fn perform(&mut self, plan: Plan) -> Done {
        let command = CommandId::new(self.mint("d"));
        let actor = Actor::person(Channel::Cli);
        let window = self.mint("review");
        let mut outcomes = Vec::new();
        if !plan.files.is_empty() {
            let (stop, go): (Vec<&FilePlan>, Vec<&FilePlan>) =
                plan.files.iter().partition(|file| self.refuses.contains(&file.path.to_string()));
            let mut refused: Vec<RevertOutcome> = stop.into_iter().map(refusal).collect();
            let mut files: Vec<RevertFile> = go.into_iter().map(|file| self.prepare(file)).collect();
            plan.drop_halves(&mut files, &mut refused);
            let intended = plan.intended(&files, actor.clone(), command.clone());
            self.session(Event::RevertIntended(RevertIntent { command: intended, files: files.clone() }));
            self.open(&window, Purpose::Review { command: command.clone() });
            outcomes = files.iter().map(|file| self.restore(file)).collect();
            self.session(Event::RevertDone { command: command.clone(), files: outcomes.clone() });
            outcomes.extend(refused);
            self.observe(Why::Review);
            self.close(&window);
        }
        let (decided, shape) = plan.settle(&outcomes, actor, command);
        if let Some(command) = decided.clone() {
            self.session(Event::Decided(command));
        }
        Done { shape, recorded: decided.is_some() }
    }

    fn prepare(&mut self, plan: &FilePlan) -> RevertFile {
        let expected = plan.expected;
        let old = expected.and_then(|state| self.kept.bytes(state.blob));
        let wanted = match &plan.wanted {
            Wanted::Absent => None,
            Wanted::State(state) => Some(*state),
            Wanted::Edited { mode, edits } => {
                let bytes = apply_edits(&old.expect("kept"), edits).expect("edits that fit");
                Some(self.keep(*mode, &bytes))
            }
            Wanted::Bytes { mode, bytes } => Some(self.keep(*mode, bytes)),
        };
        RevertFile {
            root: plan.root.clone(),
            path: plan.path.clone(),
            expected,
            wanted,
            temporary: None,
            method: hunkgate::ledger::Method::Exchange,
            other: plan.other.clone(),
        }
    }

    fn restore(&mut self, file: &RevertFile) -> RevertOutcome {
        let path = file.path.to_string();
        let result = match self.stubborn.get(&path).cloned() {
            Some(result) => result,
            None if self.state(&path) != file.expected => RevertResult::Stale { rescued: None },
            None => {
                match file.wanted {
                    None => drop(self.files.remove(&path)),
                    Some(state) => {
                        let bytes = self.kept.bytes(state.blob).expect("kept").to_vec();
                        self.files.insert(path, (state.mode, bytes));
                    }
                }
                RevertResult::Done { left: file.wanted, remark: None }
            }
        };
        RevertOutcome { root: file.root.clone(), path: file.path.clone(), result }
    }

    fn state(&mut self, path: &str) -> Option<FileState> {
        let (mode, bytes) = self.files.get(path)?.clone();
        Some(self.keep(mode, &bytes))
    }

    fn keep(&mut self, mode: Mode, bytes: &[u8]) -> FileState {
        let blob = blob_id(bytes);
        self.kept.0.insert(blob, Arc::from(bytes));
        FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept }
    }

    fn observe(&mut self, why: Why) -> TreeId {
        self.tick();
        let mut paths: Vec<String> = self.files.keys().chain(self.seen.keys()).cloned().collect();
        paths.sort_unstable();
        paths.dedup();
        let now = WallNs(self.clock - 100);
        let mut changes = Vec::new();
        paths.retain(|path| self.files.get(path) != self.seen.get(path));
        for path in paths {
            let before = self.seen.get(&path).cloned().map(|(mode, bytes)| self.keep(mode, &bytes));
            let after = self.state(&path);
            let path = RepoPath::new(path).expect("a path");
            changes.push(Change {
                path,
                before,
                after,
                read_at: now,
                mtime: now,
                ctime: now,
                flags: Flags::default(),
            });
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.seen = self.files.clone();
        let no = self
            .ledger
            .chain(&self.root)
            .and_then(|chain| chain.last())
            .map_or(ObservationNo(0), |last| last.no.next());
        let mut id = [0; 20];
        id[..8].copy_from_slice(&no.0.to_le_bytes());
        let tree = TreeId(id);
        let (began, at) = (WallNs(self.clock - 50), WallNs(self.clock));
        let by = ProxyId::new("p1");
        self.chain(Event::Observed(Observation::new(no, began, at, by, why, tree, None, changes)));
        self.tick();
        tree
    }

    fn open(&mut self, id: &str, purpose: Purpose) {
        self.tick();
        let turn = self.turn;
        let id = match turn {
            Some(turn) => format!("{id}-{}", turn.0),
            None => id.to_owned(),
        };
        self.chain(Event::WindowOpened(Window {
            id: WindowId::new(id),
            proxy: ProxyId::new("p1"),
            session: self.key.clone(),
            turn,
            purpose,
            opened: WallNs(self.clock),
            lo: Bound::Hard,
            closed: None,
            parent: None,
        }));
        self.clock += 100_000_000;
    }

    fn close(&mut self, id: &str) {
        self.clock += 100_000_000;
        let id = match self.turn {
            Some(turn) if !id.starts_with("turn-") => format!("{id}-{}", turn.0),
            _ => id.to_owned(),
        };
        let closing = Closing { at: WallNs(self.clock), hi: Hi::Reported };
        self.chain(Event::WindowClosed { window: WindowId::new(id), closing });
        self.clock += 400_000_000;
    }

    fn chain(&mut self, event: Event) {
        let log = Log::Root(self.root.clone());
        self.ledger.apply(&log, &Record { at: WallNs(self.clock), event });
    }

    fn mint(&mut self, prefix: &str) -> String {
        self.minted += 1;
        format!("{prefix}-{}", self.minted)
    }

    fn tick(&mut self) {
        self.clock += 1_000_000;
    }
}

/// What a decision came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) shape: hunkgate::ledger::DecidedShape,
    pub(crate) recorded: bool,
}

impl Done {
    /// Returns the outcomes of the items, in order.
    pub(crate) fn outcomes(&self) -> Vec<&str> {
        self.shape.items.iter().map(|item| item.outcome.as_str()).collect()
    }

    /// Returns what is said of the items, in order.
    pub(crate) fn reasons(&self) -> String {
        let reasons = self.shape.items.iter().filter_map(|item| item.reason.clone());
        reasons.collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn states(&self) -> Vec<ReviewState> {
        self.shape.items.iter().map(|item| item.state).collect()
    }
}

pub(crate) fn decide(verb: DecideVerb, selector: Selector) -> Decide {
    Decide { verb, selector, reason: None, digests: Vec::new(), dry_run: false, force: false, now: false }
}

pub(crate) fn ids<'a>(hunks: impl IntoIterator<Item = &'a HunkShape>) -> Selector {
    Selector::Ids(hunks.into_iter().map(|hunk| hunk.id.as_str().to_owned()).collect())
}

pub(crate) fn set(files: &mut Files, path: &str, text: &str) {
    let mode = files.get(path).map_or(Mode::Regular, |(mode, _)| *mode);
    files.insert(path.to_owned(), (mode, text.as_bytes().to_vec()));
}

fn refusal(plan: &FilePlan) -> RevertOutcome {
    let result = RevertResult::Failed { reason: "something stands there".to_owned() };
    RevertOutcome { root: plan.root.clone(), path: plan.path.clone(), result }
}

fn blob_id(bytes: &[u8]) -> BlobId {
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, bytes).expect("a hash");
    BlobId::parse(&id.to_string()).expect("40 hex digits")
}
