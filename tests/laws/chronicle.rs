//! A root, its sessions and its files in memory: what happens to them is told, and looked at, as a chain of facts.

#![allow(clippy::unwrap_used, clippy::unwrap_in_result, reason = "what a test tells of must be there")]

use hunkgate::base::{
    AgentId, BlobId, CallId, CommandId, CommitId, ObservationNo, ProxyId, RepoPath, RootId, SessionId,
    SessionKey, TreeId, TurnNo, WallNs, WindowId,
};
use hunkgate::ledger::{
    Actor, Blobs, Bound, Cache, CallFacts, Change, Channel, Claim, ClaimBody, ClaimText, Closing, Command,
    Content, Decision, Event, FileState, Flags, Hi, Hunk, Ledger, Listing, Log, Mode, Observation, Purpose,
    Record, Redactor, ReviewState, RootHeader, RootKind, SessionHeader, Source, ToolKind, Verb, Who, Why,
    Window, fingerprint, listing,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const START: i64 = 1_790_000_000_000;

/// Contents by id.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    contents: BTreeMap<BlobId, Arc<[u8]>>,
    /// What commits hold, by commit and path.
    commits: BTreeMap<(CommitId, RepoPath), BlobId>,
    /// How often a content was read.
    pub(crate) reads: std::cell::Cell<u32>,
}

impl Blobs for Memory {
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        self.reads.set(self.reads.get() + 1);
        self.contents.get(&blob).cloned()
    }

    fn committed(&self, head: &CommitId, path: &RepoPath) -> Option<BlobId> {
        self.commits.get(&(head.clone(), path.clone())).copied()
    }
}

/// A file with its times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct File {
    state: FileState,
    mtime: i64,
    ctime: i64,
}

/// What happened so far, and the world in which it happened.
#[derive(Debug)]
pub(crate) struct Chronicle {
    pub(crate) ledger: Ledger,
    pub(crate) blobs: Memory,
    pub(crate) cache: Cache,
    pub(crate) root: RootId,
    files: BTreeMap<RepoPath, File>,
    observed: BTreeMap<RepoPath, File>,
    /// When each path was last removed.
    removed: BTreeMap<RepoPath, i64>,
    now: i64,
    next: u64,
    sessions: BTreeMap<String, Told>,
    head: Option<CommitId>,
}

#[derive(Clone, Debug)]
struct Told {
    key: SessionKey,
    turn: Option<TurnNo>,
    turns: u32,
}

pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn blob(bytes: &[u8]) -> BlobId {
    let mut id = [0; 20];
    id.copy_from_slice(&blake3::hash(bytes).as_bytes()[..20]);
    BlobId(id)
}

impl Chronicle {
    /// Begins with these files and a session `s`, whose base they are.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(file, text)| (*file, text.as_bytes())).collect();
        Self::with(&files)
    }

    /// Begins with these files, as bytes.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let root = RootId::derive(b"/repo");
        let mut told = Self {
            ledger: Ledger::default(),
            blobs: Memory::default(),
            cache: Cache::default(),
            root: root.clone(),
            files: BTreeMap::new(),
            observed: BTreeMap::new(),
            removed: BTreeMap::new(),
            now: START,
            next: 0,
            sessions: BTreeMap::new(),
            head: Some(CommitId::new("aaaa")),
        };
        let header = RootHeader { root, path: Some(path("repo")), kind: RootKind::Git, dev_ino: (1, 1) };
        told.on_root(Event::RootOpened(header));
        for (file, bytes) in files {
            told.write_bytes(file, bytes);
        }
        told.observed = told.files.clone();
        told.look(Why::Base);
        told.session("s");
        told
    }

    /// Opens a session whose base is the latest observation.
    pub(crate) fn session(&mut self, name: &str) -> SessionKey {
        self.session_of(name, None)
    }

    /// Opens a session that a call of another one started.
    pub(crate) fn session_of(&mut self, name: &str, parent: Option<(&str, &str)>) -> SessionKey {
        let agent = AgentId::new(format!("agent-{name}"));
        let key = SessionKey::derive(&agent, &SessionId::new(name));
        let header = SessionHeader {
            key: key.clone(),
            session: SessionId::new(name),
            agent,
            agent_version: None,
            client: None,
            protocol: 1,
            cwd: "/repo".to_owned(),
            roots: vec![(self.root.clone(), "/repo".to_owned())],
            parent: parent.map(|(session, call)| (session.to_owned(), Some(CallId::new(call)))),
        };
        self.sessions.insert(name.to_owned(), Told { key: key.clone(), turn: None, turns: 0 });
        self.on_session(name, Event::SessionOpened(header));
        let position = self.last();
        let base =
            Event::BaseTaken { root: self.root.clone(), position, tree: TreeId([0; 20]), complete: true };
        self.on_session(name, base);
        key
    }

    pub(crate) fn key(&self, session: &str) -> SessionKey {
        self.sessions[session].key.clone()
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn wait(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    // ── what the sessions do ──

    /// A prompt of `session` reaches the agent; everything before it has been looked at.
    pub(crate) fn prompt(&mut self, session: &str) -> &mut Self {
        self.look(Why::Prompt);
        let told = self.sessions.get_mut(session).unwrap();
        told.turns += 1;
        told.turn = Some(TurnNo(told.turns));
        let turn = TurnNo(told.turns);
        self.on_session(session, Event::TurnStarted { turn });
        self.open(session, "turn", Purpose::Turn, Bound::Hard)
    }

    /// The turn of `session` ends; everything in it has been looked at.
    pub(crate) fn end(&mut self, session: &str) -> &mut Self {
        self.look(Why::TurnEnd);
        let told = self.sessions[session].clone();
        let open: Vec<WindowId> =
            self.ledger.open_windows(&told.key).map(|(_, window)| window.id.clone()).collect();
        for window in open {
            let closing = Closing { at: WallNs(self.now * 1_000_000), hi: Hi::TurnEnd };
            self.on_root(Event::WindowClosed { window, closing });
        }
        let turn = told.turn.unwrap();
        self.on_session(session, Event::TurnEnded { turn, stop: "end_turn".to_owned() });
        self.sessions.get_mut(session).unwrap().turn = None;
        self.wait(1)
    }

    /// A call is announced.
    pub(crate) fn call(&mut self, session: &str, call: &str, kind: ToolKind) -> &mut Self {
        self.call_as(session, call, kind, Bound::Soft)
    }

    pub(crate) fn call_as(&mut self, session: &str, call: &str, kind: ToolKind, lo: Bound) -> &mut Self {
        let facts = CallFacts {
            call: CallId::new(call),
            title: Redactor::new([0; 32]).redact(call),
            kind,
            read_only: false,
            asked: None,
        };
        self.open(session, call, Purpose::Call(facts), lo)
    }

    /// A call is announced that another call contains.
    pub(crate) fn call_in(&mut self, session: &str, call: &str, parent: &str) -> &mut Self {
        let facts = CallFacts {
            call: CallId::new(call),
            title: Redactor::new([0; 32]).redact(call),
            kind: ToolKind::Other,
            read_only: false,
            asked: None,
        };
        let window = Window {
            parent: Some(CallId::new(parent)),
            ..self.window(session, call, Purpose::Call(facts), Bound::Soft)
        };
        self.on_root(Event::WindowOpened(window));
        self
    }

    /// A call is reported as ended.
    pub(crate) fn done(&mut self, session: &str, call: &str) -> &mut Self {
        self.close(session, call, Hi::Reported)
    }

    pub(crate) fn close(&mut self, session: &str, name: &str, hi: Hi) -> &mut Self {
        let window = self.window_id(session, name);
        let closing = Closing { at: WallNs(self.now * 1_000_000), hi };
        self.on_root(Event::WindowClosed { window, closing });
        self
    }

    pub(crate) fn open(&mut self, session: &str, name: &str, purpose: Purpose, lo: Bound) -> &mut Self {
        let window = self.window(session, name, purpose, lo);
        self.on_root(Event::WindowOpened(window));
        self
    }

    /// A call says that it replaces `old` by `new`.
    pub(crate) fn claims(&mut self, session: &str, call: &str, file: &str, texts: (&str, &str)) -> &mut Self {
        let (old, new) = (ClaimText::new(texts.0), ClaimText::new(texts.1));
        self.claim(session, call, file, ClaimBody::Diff { old: Some(old), new })
    }

    /// A call says something about a file.
    pub(crate) fn claim(&mut self, session: &str, call: &str, file: &str, body: ClaimBody) -> &mut Self {
        let told = &self.sessions[session];
        let claim = Claim {
            session: told.key.clone(),
            turn: told.turn,
            call: CallId::new(call),
            at: WallNs(self.now * 1_000_000),
            path: path(file),
            body,
            source: Source::Diff,
        };
        self.on_root(Event::Claimed(claim));
        self
    }

    /// `fs/write_text_file` passes through us: looked at before and after.
    pub(crate) fn passes(&mut self, session: &str, call: Option<&str>, file: &str, text: &str) -> &mut Self {
        self.look(Why::FsWrite);
        let call = call.map(CallId::new);
        let purpose = Purpose::FsWrite { call, path: path(file), content: ClaimText::new(text) };
        let name = format!("fs-{}", self.next);
        self.open(session, &name, purpose, Bound::Hard);
        self.wait(3).write(file, text).wait(3);
        self.close(session, &name, Hi::Barrier);
        self.look(Why::FsWrite);
        self
    }

    // ── what happens to the files ──

    pub(crate) fn write(&mut self, file: &str, text: &str) -> &mut Self {
        self.write_bytes(file, text.as_bytes())
    }

    pub(crate) fn write_bytes(&mut self, file: &str, bytes: &[u8]) -> &mut Self {
        let mode = self.files.get(&path(file)).map_or(Mode::Regular, |file| file.state.mode);
        self.put(file, bytes, mode)
    }

    pub(crate) fn put(&mut self, file: &str, bytes: &[u8], mode: Mode) -> &mut Self {
        let blob = blob(bytes);
        self.blobs.contents.insert(blob, Arc::from(bytes));
        let state = FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept };
        self.files.insert(path(file), File { state, mtime: self.now, ctime: self.now });
        self
    }

    pub(crate) fn chmod(&mut self, file: &str, mode: Mode) -> &mut Self {
        let file = self.files.get_mut(&path(file)).unwrap();
        (file.state.mode, file.ctime) = (mode, self.now);
        self
    }

    pub(crate) fn remove(&mut self, file: &str) -> &mut Self {
        self.files.remove(&path(file)).unwrap();
        self.removed.insert(path(file), self.now);
        self
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> &mut Self {
        let file = self.files[&path(from)];
        self.remove(from);
        self.files.insert(path(to), File { ctime: self.now, ..file });
        self
    }

    pub(crate) fn text(&self, file: &str) -> Option<String> {
        let state = self.files.get(&path(file))?.state;
        Some(String::from_utf8_lossy(&self.blobs.bytes(state.blob).unwrap()).into_owned())
    }

    pub(crate) fn state(&self, file: &str) -> Option<FileState> {
        self.files.get(&path(file)).map(|file| file.state)
    }

    /// HEAD names another commit from now on, which holds what stands there.
    pub(crate) fn commit(&mut self, head: &str) -> &mut Self {
        for (path, file) in &self.files {
            self.blobs.commits.insert((CommitId::new(head), path.clone()), file.state.blob);
        }
        self.head = Some(CommitId::new(head));
        self
    }

    /// Looks at the root.
    pub(crate) fn look(&mut self, why: Why) -> &mut Self {
        let mut paths: Vec<&RepoPath> = self.files.keys().chain(self.observed.keys()).collect();
        paths.sort();
        paths.dedup();
        let nanos = |ms: i64| WallNs(ms * 1_000_000);
        let mut changes = Vec::new();
        for path in paths {
            let (old, new) = (self.observed.get(path), self.files.get(path));
            if old.map(|file| file.state) == new.map(|file| file.state) {
                continue;
            }
            let gone = self.removed.get(path).copied().unwrap_or(self.now);
            changes.push(Change {
                path: path.clone(),
                before: old.map(|file| file.state),
                after: new.map(|file| file.state),
                read_at: nanos(self.now),
                mtime: nanos(new.map_or(gone, |file| file.mtime)),
                ctime: nanos(new.map_or(gone, |file| file.ctime)),
                flags: Flags::default(),
            });
        }
        self.observed = self.files.clone();
        let (no, at) = (ObservationNo(self.next), nanos(self.now));
        self.next += 1;
        let by = ProxyId::new("p");
        let seen = Observation::new(no, at, at, by, why, TreeId([0; 20]), self.head.clone(), changes);
        self.on_root(Event::Observed(seen));
        self.wait(1)
    }

    // ── what the person does ──

    /// Decides hunks: a reject puts their bytes back first, as the store would.
    pub(crate) fn decide(&mut self, session: &str, id: &str, verb: Verb, hunks: &[Hunk]) -> &mut Self {
        let command = CommandId::new(id);
        let reject = matches!(verb, Verb::Reject { .. });
        let mut seen: BTreeMap<RepoPath, Option<FileState>> = BTreeMap::new();
        self.look(Why::Review);
        let review = Purpose::Review { command: command.clone() };
        self.open(session, id, review, Bound::Hard).wait(2);
        for hunk in hunks {
            seen.entry(hunk.path.clone()).or_insert(hunk.current);
        }
        if reject {
            self.revert(hunks);
        }
        self.wait(2).look(Why::Review).close(session, id, Hi::Barrier);
        let items = hunks.iter().map(|hunk| Decision {
            hunk: hunk.id.clone(),
            state: if reject { ReviewState::Rejected } else { ReviewState::Accepted },
            fingerprint: fingerprint(),
            digest: hunk.digest.clone(),
            root: self.root.clone(),
            path: hunk.path.clone(),
            old_path: hunk.old_path.clone(),
            base: hunk.base,
            seen: seen[&hunk.path],
            left: self.files.get(&hunk.path).map(|file| file.state),
            base_range: Some(hunk.base_range),
            current_range: Some(hunk.current_range),
            calls: hunk.author_lines.iter().flat_map(|run| run.credit.calls.clone()).collect(),
            returned: hunk.returned,
        });
        let items = items.collect();
        self.on_session(session, Event::Decided(Command { id: command, verb, actor: person(), items }));
        self
    }

    pub(crate) fn reject(&mut self, session: &str, id: &str, hunks: &[Hunk]) -> &mut Self {
        self.decide(session, id, Verb::Reject { reason: None }, hunks)
    }

    /// Takes a reject back: the bytes that it had found stand there again.
    pub(crate) fn undo(&mut self, session: &str, id: &str, undoes: &str) -> &mut Self {
        let undone = CommandId::new(undoes);
        let own = self.ledger.session(&self.sessions[session].key).unwrap();
        let command = own.decisions().command(&undone).unwrap().clone();
        let verb = Verb::Undo { undoes: undone };
        self.look(Why::Review);
        let review = Purpose::Review { command: CommandId::new(id) };
        self.open(session, id, review, Bound::Hard).wait(2);
        let mut items = Vec::new();
        for item in command.items {
            let found = self.files.get(&item.path).map(|file| file.state);
            if let Some(state) = item.seen {
                let file = File { state, mtime: self.now, ctime: self.now };
                self.files.insert(item.path.clone(), file);
            }
            items.push(Decision { state: ReviewState::Unreviewed, seen: found, left: item.seen, ..item });
        }
        self.wait(2).look(Why::Review).close(session, id, Hi::Barrier);
        let command = Command { id: CommandId::new(id), verb, actor: person(), items };
        self.on_session(session, Event::Decided(command));
        self
    }

    fn revert(&mut self, hunks: &[Hunk]) {
        let mut sorted: Vec<&Hunk> = hunks.iter().collect();
        sorted.sort_by_key(|hunk| std::cmp::Reverse(hunk.current_range.start));
        for hunk in sorted {
            let file = hunk.path.to_string();
            let mut bytes = self.text(&file).unwrap_or_default().into_bytes();
            bytes.splice(hunk.current_bytes.clone(), hunk.restore.clone());
            let mode = hunk.base.or(hunk.current).map_or(Mode::Regular, |state| state.mode);
            if bytes.is_empty() && hunk.base.is_none() {
                self.remove(&file);
            } else {
                self.put(&file, &bytes, mode);
            }
        }
    }

    // ── what is shown ──

    pub(crate) fn listing(&mut self, session: &str) -> Listing {
        let key = self.key(session);
        let kept = listing(&self.ledger, &key, &self.blobs, &mut self.cache);
        let fresh = listing(&self.ledger, &key, &self.blobs, &mut Cache::default());
        assert_eq!(kept, fresh, "an empty cache gives the same answers");
        kept
    }

    /// Returns the hunks of a session, one line each: `path kind base>current grade [calls] flags`.
    pub(crate) fn shown(&mut self, session: &str) -> Vec<String> {
        self.listing(session).hunks.iter().map(shown).collect()
    }

    pub(crate) fn on_session(&mut self, session: &str, event: Event) {
        let log = Log::Session(self.sessions[session].key.clone());
        self.ledger.apply(&log, &Record { at: WallNs(self.now * 1_000_000), event });
    }

    pub(crate) fn on_root(&mut self, event: Event) {
        let log = Log::Root(self.root.clone());
        self.ledger.apply(&log, &Record { at: WallNs(self.now * 1_000_000), event });
    }

    fn last(&self) -> ObservationNo {
        self.ledger.chain(&self.root).unwrap().last().unwrap().no
    }

    fn window_id(&self, session: &str, name: &str) -> WindowId {
        let told = &self.sessions[session];
        WindowId::new(format!("{session}-{}-{name}", told.turns))
    }

    fn window(&self, session: &str, name: &str, purpose: Purpose, lo: Bound) -> Window {
        let told = &self.sessions[session];
        Window {
            id: self.window_id(session, name),
            proxy: ProxyId::new("p"),
            session: told.key.clone(),
            turn: told.turn,
            purpose,
            opened: WallNs(self.now * 1_000_000),
            lo,
            closed: None,
            parent: None,
        }
    }
}

pub(crate) fn person() -> Actor {
    Actor { who: Who::Person, channel: Channel::Cli }
}

/// Shows one hunk in a line.
pub(crate) fn shown(hunk: &Hunk) -> String {
    let range = |range: hunkgate::ledger::LineRange| format!("{}-{}", range.start, range.end);
    let calls: Vec<&str> = hunk.calls.iter().map(|row| row.tool_call_id.as_str()).collect();
    let mut line = format!(
        "{} {} {}>{} {} [{}]",
        hunk.path,
        hunk.entry.kind(),
        range(hunk.base_range),
        range(hunk.current_range),
        hunk.grade.as_str(),
        calls.join(" ")
    );
    if !hunk.candidates.is_empty() {
        let names: Vec<&str> = hunk.candidates.iter().map(|row| row.tool_call_id.as_str()).collect();
        line += &format!(" maybe [{}]", names.join(" "));
    }
    for other in &hunk.sessions {
        line +=
            &format!(" by {}/{}", other.session_id, other.tool_call_id.as_ref().map_or("-", CallId::as_str));
    }
    let flags = [(hunk.mixed, "mixed"), (hunk.reapplied, "reapplied"), (hunk.locked.is_some(), "locked")];
    flags.iter().filter(|(on, _)| *on).for_each(|(_, word)| line += &format!(" {word}"));
    match hunk.state {
        ReviewState::Unreviewed => {}
        ReviewState::Accepted => line += " accepted",
        ReviewState::Rejected => line += " rejected",
    }
    line
}

/// A change that creates a file.
pub(crate) fn created(file: &str) -> Vec<Change> {
    let state = FileState { mode: Mode::Regular, blob: blob(b"x"), size: 1, content: Content::Kept };
    let at = WallNs(START);
    vec![Change {
        path: path(file),
        before: None,
        after: Some(state),
        read_at: at,
        mtime: at,
        ctime: at,
        flags: Flags::default(),
    }]
}
