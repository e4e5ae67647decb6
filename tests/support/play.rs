//! Plays a transcript against the engine and the virtual world, and compares what the peers hear.

use super::asks;
use super::asks::Worded;
use super::pattern::Bindings;
use super::surface::{Surface, must_show};
use super::transcript::{Heard, Statement, Transcript, TreeOp, What};
use super::world::{Frame, World};
use bytes::Bytes;
use hunkgate::base::{AgentId, AskId, Leg, SessionId, SessionKey};
use hunkgate::config::{Config, Written};
use hunkgate::engine::Input;
use hunkgate::ledger::{Actor, Channel, Event, ListingShape, Log, RootKind, Who};
use hunkgate::review::{Answer, Ask, Asked, Problem, ProblemKind};
use hunkgate::wire::Splitter;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where the first root of every play stands.
pub(crate) const ROOT: &str = "/v/root";

/// Asks of surfaces are numbered from here, apart from the engine's own.
const FIRST_ASK: u64 = 1 << 40;

/// What a value that is changed in place may take, in bytes.
const LONGEST_WORD: usize = 24;

/// How a play departs from the plain one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Wakes the engine for nothing, again and again.
    pub(crate) wakes: bool,
    /// Cuts the peers' bytes at places drawn from this, and glues lines.
    pub(crate) cuts: Option<u64>,
}

/// What the peers and the clock did, to be done again under other circumstances.
#[derive(Clone, Debug)]
pub(crate) enum Cue {
    Pass(u32),
    Feed(Box<Input>),
}

/// A transcript under way.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) world: World,
    manner: Manner,
    bindings: Bindings,
    /// Lines said and not heard on the other side yet, by who said them.
    unforwarded: [VecDeque<Bytes>; 2],
    /// Lines said and heard unchanged on the other side, by who said them.
    pub(crate) forwarded: [Vec<Bytes>; 2],
    /// Every line heard, by who heard it.
    pub(crate) heard: [Vec<Bytes>; 2],
    /// What happened up to the first restart.
    pub(crate) lived: Vec<Cue>,
    restarted: bool,
    splitters: [Splitter; 2],
    read: Vec<bool>,
    /// The place of the last synced record that a statement named since a peer spoke.
    record_read: Option<u64>,
    asked: u64,
    /// Through what people ask, where that is not the engine itself.
    surface: Option<Box<dyn Surface>>,
    /// The asks that went through it.
    pub(crate) through: BTreeMap<AskId, Worded>,
    /// Listings that a surface asked for by itself and that have not come.
    aside: BTreeSet<AskId>,
    cuts: u64,
}

impl Play {
    /// Sets the stage that a header asks for.
    pub(crate) fn new(transcript: &Transcript, manner: Manner) -> Self {
        let mut play = Self {
            world: World::new(configured(transcript)),
            manner,
            bindings: Bindings::default(),
            unforwarded: Default::default(),
            forwarded: Default::default(),
            heard: Default::default(),
            lived: Vec::new(),
            restarted: false,
            splitters: Default::default(),
            read: Vec::new(),
            record_read: None,
            asked: FIRST_ASK,
            surface: None,
            through: BTreeMap::new(),
            aside: BTreeSet::new(),
            cuts: manner.cuts.unwrap_or_default(),
        };
        play.world.user = user_text(transcript);
        play.bindings.set("ROOT", ROOT);
        play.bindings.set("VERSION", env!("CARGO_PKG_VERSION"));
        let kind = if transcript.has("plain") { RootKind::Plain } else { RootKind::Git };
        play.world.tree.declare(ROOT, kind);
        if let Some(other) = transcript.tag("root") {
            play.world.tree.declare(other, RootKind::Git);
        }
        if transcript.has("unrecorded") {
            play.world.unrecorded = Some("no state directory".to_owned());
        }
        play
    }

    /// Has people ask through a surface, where it has a way to.
    #[allow(dead_code, reason = "only the tests of surfaces ask through one")]
    pub(crate) fn ask_through(&mut self, surface: Box<dyn Surface>) {
        self.surface = Some(surface);
    }

    /// Plays every statement; the first that does not hold is told with what led to it.
    pub(crate) fn run(&mut self, transcript: &Transcript) -> Result<(), String> {
        self.opening(transcript)?;
        for statement in &transcript.statements {
            self.statement(statement).map_err(|what| self.told(statement.line, &what))?;
        }
        self.end().map_err(|what| self.told(0, &what))
    }

    /// The messages that `: acp v1` and `: acp v2` stand for: a client, an agent, and the session `s1` in the root.
    fn opening(&mut self, transcript: &Transcript) -> Result<(), String> {
        let client = transcript.tag("client").unwrap_or("editor");
        for (leg, line) in opening(transcript, client)? {
            self.says(leg, line.as_bytes())?;
        }
        for leg in [Leg::Editor, Leg::Agent] {
            let said: Vec<Bytes> = self.unforwarded[leg.index()].drain(..).collect();
            self.forwarded[leg.index()].extend(said);
            let frames: Vec<Frame> = self.world.heard(leg).drain(..).collect();
            self.heard[leg.index()].extend(frames.into_iter().map(|frame| frame.bytes));
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), String> {
        self.world.trace.push(format!("line {}", statement.line));
        self.spurious();
        let expects = matches!(
            statement.what,
            What::Hears(..) | What::Journal(..) | What::JournalLacks(_) | What::Answer(..) | What::Exits(_)
        );
        if !expects {
            self.pass(1);
        }
        match &statement.what {
            What::Says(leg, line) => self.says(*leg, line)?,
            What::Hears(leg, heard) => self.hears(*leg, heard)?,
            What::Tree(op) => self.tree(op)?,
            What::AgentExits(code, tail) => {
                let (code, stderr_tail) = (*code, tail.clone());
                self.happens(Input::AgentExited { code, stderr_tail });
            }
            What::AgentMissing(code, command) => {
                let (code, command) = (*code, command.clone());
                let reason = "No such file or directory".to_owned();
                self.happens(Input::AgentNotStarted { command, reason, code });
            }
            What::EditorCloses => self.happens(Input::EditorClosed),
            What::Signal(name) => self.happens(Input::Signal(signal(name)?)),
            What::Wait(ms) => self.pass(*ms),
            What::Clock(ms) => self.world.set_clock(*ms),
            What::Restarts => {
                self.world.restart();
                self.restarted = true;
                self.unforwarded = Default::default();
            }
            What::Exits(code) => match self.world.exit.take() {
                Some(exit) if exit == *code => {}
                other => return Err(format!("the proxy exits with {other:?}")),
            },
            What::StopsAgent if self.world.stops_agent => {}
            What::StopsAgent => return Err("the agent is not stopped".to_owned()),
            What::Warns(text) => self.warned(text)?,
            What::Journal(kind, pattern) => self.journal(kind, pattern)?,
            What::JournalLacks(kind) => self.journal_lacks(kind)?,
            What::JournalFails(reason) => self.world.unwritable = Some(reason.clone()),
            What::JournalFull(reason) => self.world.full = Some(reason.clone()),
            What::JournalHasRoom => self.world.full = None,
            What::JournalRemoved => {
                for session in self.world.sessions.clone() {
                    self.happens(Input::WrittenAgain { session });
                }
            }
            What::Door(stands) => self.happens(Input::DoorMoved { session: None, stands: stands.clone() }),
            What::Ask(line) => self.ask(line)?,
            What::Answer(kind, pattern) => self.answer(kind.as_deref(), pattern)?,
            What::Grants(line) => self.world.grants += &format!("{line}\n"),
            What::Config(_) => {}
            What::Watching(watching) => self.happens(Input::Watched { watching: *watching }),
            What::Console(console) => {
                self.happens(Input::ConsoleMoved { console: console.clone() });
            }
            What::Assessor(what, rest) => self.assessor(what, rest)?,
            What::PolicyGone(unreadable) => self.world.unwrite(unreadable.clone()),
            What::Policy(text) => self.world.rewrite(String::from_utf8_lossy(text).into_owned()),
        }
        self.spurious();
        self.recovered()
    }

    fn says(&mut self, leg: Leg, line: &[u8]) -> Result<(), String> {
        let mut line = self.bindings.fill(line)?;
        line.push(b'\n');
        self.record_read = None;
        for line in self.lines(leg, line) {
            self.unforwarded[leg.index()].push_back(line.clone());
            self.happens(match leg {
                Leg::Editor => Input::FromEditor(line),
                Leg::Agent => Input::FromAgent(line),
            });
        }
        Ok(())
    }

    fn happens(&mut self, input: Input) {
        if !self.restarted {
            self.lived.push(Cue::Feed(Box::new(input.clone())));
        }
        self.world.feed(input);
    }

    fn pass(&mut self, ms: u32) {
        if !self.restarted {
            self.lived.push(Cue::Pass(ms));
        }
        self.world.pass(ms);
    }

    /// Cuts and glues as the manner asks, through the splitter that the host uses.
    fn lines(&mut self, leg: Leg, line: Vec<u8>) -> Vec<Bytes> {
        let Some(_) = self.manner.cuts else { return vec![Bytes::from(line)] };
        let splitter = &mut self.splitters[leg.index()];
        let mut rest = line.as_slice();
        let mut lines = Vec::new();
        while !rest.is_empty() {
            self.cuts =
                self.cuts.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let size = usize::try_from(self.cuts >> 33).unwrap_or(0) % rest.len() + 1;
            splitter.push(&rest[..size]);
            rest = &rest[size..];
            while let Some(piece) = splitter.next_piece() {
                lines.push(piece.into_bytes());
            }
        }
        lines
    }

    /// A program outside that was asked, the oldest first.
    fn assessor(&mut self, what: &str, rest: &str) -> Result<(), String> {
        let line = self.bindings.fill(rest.as_bytes());
        let told = match what {
            "asked" => {
                let errand = self.world.errand().ok_or("no program was asked")?.line.clone();
                return self.compare(rest, errand.as_bytes());
            }
            "none" => {
                return self.world.errand().map_or(Ok(()), |errand| Err(format!("asked: {}", errand.line)));
            }
            "dismissed" if self.world.was_dismissed() => return Ok(()),
            "dismissed" => return Err("it was not ended".to_owned()),
            "says" => self.world.assessor_says(Ok(&line?)),
            "fails" => self.world.assessor_says(Err(rest)),
            other => return Err(format!("unknown statement assessor {other:?}")),
        };
        self.happens(told.ok_or("no program was asked")?);
        Ok(())
    }

    fn hears(&mut self, leg: Leg, heard: &Heard) -> Result<(), String> {
        let from = leg.other().index();
        match heard {
            Heard::Nothing => match self.world.heard(leg).front() {
                None => return Ok(()),
                Some(frame) => return Err(format!("heard {}", shown(&frame.bytes))),
            },
            Heard::Swallowed => {
                return self.unforwarded[from]
                    .pop_front()
                    .map(drop)
                    .ok_or("nothing is on its way".to_owned());
            }
            Heard::Same | Heard::Edited(_) | Heard::Ours(_) => {}
        }
        let Some(frame) = self.world.heard(leg).pop_front() else { return Err("heard nothing".to_owned()) };
        if self.record_read.is_some_and(|record| record > frame.order) {
            return Err("the line was sent before the record that it depends on was synced".to_owned());
        }
        self.heard[leg.index()].push(frame.bytes.clone());
        match heard {
            Heard::Same | Heard::Edited(_) => {
                let oldest = self.unforwarded[from]
                    .pop_front()
                    .ok_or_else(|| format!("heard {}, and nothing is on its way", shown(&frame.bytes)))?;
                if let Heard::Edited(pattern) = heard {
                    spliced(&oldest, &frame.bytes)?;
                    return self.compare(pattern, &frame.bytes);
                }
                if !self.restarted {
                    self.forwarded[from].push(oldest.clone());
                }
                if oldest == frame.bytes {
                    return Ok(());
                }
                Err(format!("heard {}\n  not  {}", shown(&frame.bytes), shown(&oldest)))
            }
            Heard::Ours(pattern) => {
                self.compare(pattern, &frame.bytes)?;
                if !self.overtook(from, &frame.bytes) {
                    forget_answered(&mut self.unforwarded[leg.index()], &frame.bytes);
                }
                Ok(())
            }
            Heard::Nothing | Heard::Swallowed => Ok(()),
        }
    }

    /// Says whether a line that was written out is one of the other side's, which overtook a parked one.
    fn overtook(&mut self, from: usize, line: &Bytes) -> bool {
        let place = self.unforwarded[from].iter().position(|waiting| waiting == line);
        place.and_then(|place| self.unforwarded[from].remove(place)).is_some()
    }

    fn compare(&mut self, pattern: &str, line: &[u8]) -> Result<(), String> {
        let pattern: Value =
            serde_json::from_str(pattern).map_err(|error| format!("bad pattern: {error}"))?;
        let actual: Value =
            serde_json::from_slice(line).map_err(|error| format!("heard {}: {error}", shown(line)))?;
        self.bindings.matches(&pattern, &actual).map_err(|what| format!("{what}\n  heard {}", shown(line)))
    }

    fn tree(&mut self, op: &TreeOp) -> Result<(), String> {
        let now = self.world.now.wall;
        let tree = &mut self.world.tree;
        let there = match op {
            TreeOp::Write(path, bytes) => {
                tree.write(&absolute(path), bytes, now);
                true
            }
            TreeOp::Remove(path) => tree.remove(&absolute(path), now),
            TreeOp::Chmod(path, executable) => tree.chmod(&absolute(path), *executable, now),
            TreeOp::Move(from, to) => tree.rename(&absolute(from), &absolute(to), now),
            TreeOp::Link(path, target) => {
                tree.link(&absolute(path), target, now);
                true
            }
            TreeOp::OpensLate => {
                self.world.opens_late = true;
                return Ok(());
            }
            TreeOp::Stalls => {
                self.world.stall();
                true
            }
            TreeOp::Captured => {
                self.world.capture();
                true
            }
            TreeOp::Stirs => {
                self.world.stir();
                true
            }
            TreeOp::Seen(mode, missed, why) => {
                self.world.see(mode, *missed, why);
                true
            }
            TreeOp::Fails(reason) => {
                self.world.fail(reason);
                true
            }
            TreeOp::Refuses(reason) => {
                self.world.refusing = Some(reason.clone());
                true
            }
            TreeOp::Drifts(path, bytes) => {
                self.world.drifting = Some((absolute(path), bytes.clone()));
                true
            }
            TreeOp::Holds(path, wanted) => {
                let found = tree.bytes(&absolute(path)).map(String::from_utf8_lossy);
                let wanted = String::from_utf8_lossy(wanted);
                return match found {
                    Some(found) if found == wanted => Ok(()),
                    other => Err(format!("{path} holds {other:?}, not {wanted:?}")),
                };
            }
            TreeOp::Lacks(path) => match tree.bytes(&absolute(path)) {
                None => true,
                Some(_) => return Err(format!("{path} is there")),
            },
        };
        if there { Ok(()) } else { Err("no such file".to_owned()) }
    }

    fn warned(&mut self, text: &str) -> Result<(), String> {
        let found = self.world.warnings.iter().position(|warning| warning.contains(text));
        match found {
            Some(place) => {
                self.world.warnings.remove(place);
                Ok(())
            }
            None => Err(format!("no warning holds {text:?}: {:?}", self.world.warnings)),
        }
    }

    /// Finds the oldest unread record of a kind that matches, and reads it.
    fn journal(&mut self, kind: &str, pattern: &str) -> Result<(), String> {
        let pattern: Value =
            serde_json::from_str(pattern).map_err(|error| format!("bad pattern: {error}"))?;
        self.read.resize(self.world.journal.len(), false);
        let mut why = format!("no unread record {kind}");
        for (place, entry) in self.world.journal.iter().enumerate() {
            let (word, data) = parts(&entry.record.event);
            if self.read[place] || word != kind {
                continue;
            }
            match self.bindings.matches(&open(pattern.clone()), &data) {
                Ok(()) => {
                    self.read[place] = true;
                    if entry.synced {
                        self.record_read = self.record_read.max(Some(entry.order));
                    }
                    return Ok(());
                }
                Err(what) => why = format!("{what}\n  record {kind} {data}"),
            }
        }
        Err(why)
    }

    fn journal_lacks(&mut self, kind: &str) -> Result<(), String> {
        self.read.resize(self.world.journal.len(), false);
        let unread = self.world.journal.iter().zip(&self.read).filter(|(_, read)| !**read);
        let found = unread.map(|(entry, _)| parts(&entry.record.event)).find(|(word, _)| word == kind);
        found.map_or(Ok(()), |(_, data)| Err(format!("there is a record {kind} {data}")))
    }

    fn ask(&mut self, line: &str) -> Result<(), String> {
        let filled = self.bindings.fill(line.as_bytes())?;
        let mut worded = asks::parse(&String::from_utf8_lossy(&filled))?;
        let session = match worded.session {
            None => self.world.sessions.last().cloned().ok_or("no session was opened")?,
            Some(ref raw) => self.key_of(raw).ok_or_else(|| format!("no session {raw:?}"))?,
        };
        let through = self.put_through(&session, &worded, &String::from_utf8_lossy(&filled));
        self.asked += 1;
        if let Some(ask) = through {
            worded.ask = ask;
            self.through.insert(AskId(self.asked), worded.clone());
        }
        let who = if worded.by_agent { Who::Agent("agent".to_owned()) } else { Who::Person };
        let actor = Actor { who, channel: Channel::Cli };
        let asked = Asked { session, actor, may_decide: !worded.by_agent, ask: worded.ask };
        self.world.feed(Input::Asked { ask: AskId(self.asked), asked });
        Ok(())
    }

    /// Has the surface put an ask; `None` where there is none, or it has no way to.
    fn put_through(&mut self, session: &SessionKey, worded: &Worded, line: &str) -> Option<Ask> {
        if worded.by_agent || worded.session.is_some() {
            return None;
        }
        let listing = match self.surface.as_ref()?.wants_listing(&worded.ask) {
            true => Some(self.listing_aside(session)?),
            false => None,
        };
        self.surface.as_mut()?.put(&asks::words(line), &worded.ask, listing.as_ref())
    }

    /// The queue, as a surface asks for it by itself.
    fn listing_aside(&mut self, session: &SessionKey) -> Option<ListingShape> {
        self.asked += 1;
        let ask = AskId(self.asked);
        let actor = Actor { who: Who::Person, channel: Channel::Tui };
        let hunks = Ask::Hunks { paths: Vec::new() };
        let asked = Asked { session: session.clone(), actor, may_decide: true, ask: hunks };
        self.aside.insert(ask);
        self.world.feed(Input::Asked { ask, asked });
        let place = self.world.replies.iter().position(|(of, _)| *of == ask)?;
        self.aside.remove(&ask);
        match self.world.replies.remove(place) {
            Some((_, Answer::Listing(listing))) => Some(listing),
            _ => None,
        }
    }

    /// Finds the key of a session by the id that the peer chose; one that is not recorded has the key it would have.
    fn key_of(&self, raw: &str) -> Option<SessionKey> {
        let derived = SessionKey::derive(&AgentId::new("agent"), &SessionId::new(raw));
        let opened = self.world.sessions.contains(&derived).then_some(derived);
        opened.or_else(|| self.recorded_key(raw))
    }

    fn recorded_key(&self, raw: &str) -> Option<SessionKey> {
        self.world.journal.iter().find_map(|entry| match (&entry.log, &entry.record.event) {
            (Log::Session(key), Event::SessionOpened(header)) if header.session.as_str() == raw => {
                Some(key.clone())
            }
            _ => None,
        })
    }

    fn answer(&mut self, kind: Option<&str>, pattern: &str) -> Result<(), String> {
        let pattern: Value =
            serde_json::from_str(pattern).map_err(|error| format!("bad pattern: {error}"))?;
        self.world.replies.retain(|(ask, _)| !self.aside.contains(ask));
        let (ask, answer) = self.world.replies.pop_front().ok_or("no answer")?;
        if self.through.contains_key(&ask)
            && let Some(surface) = &mut self.surface
        {
            let shown = surface.show(&answer);
            let read = shown.to_lowercase();
            let hidden = must_show(&answer).into_iter().find(|must| !read.contains(&must.to_lowercase()));
            if let Some(must) = hidden {
                return Err(format!("{must:?} is not shown:\n{shown}"));
            }
        }
        let answer = serde_json::to_value(&answer)
            .unwrap_or_else(|error| problem(&format!("the answer is no JSON: {error}")));
        let word = answer.get("answer").and_then(Value::as_str).unwrap_or_default();
        if kind.is_some_and(|kind| kind != word) {
            return Err(format!("the answer is {answer}"));
        }
        let value = answer.get("value").unwrap_or(&Value::Null);
        self.bindings.matches(&pattern, value).map_err(|what| format!("{what}\n  answer {answer}"))
    }

    fn spurious(&mut self) {
        if self.manner.wakes {
            self.world.feed(Input::Woken);
            self.world.feed(Input::Woken);
        }
    }

    /// A ledger that is folded from the journal equals the live one.
    fn recovered(&self) -> Result<(), String> {
        // The plain play has shown it.
        if self.surface.is_some() {
            return Ok(());
        }
        let (live, folded) = (self.world.ledger(), self.world.folded());
        for (root, chain) in live.chains() {
            let whole = !self.world.incomplete.contains(&Log::Root(root.clone()));
            if whole && folded.chain(root) != Some(chain) {
                return Err(differs(&format!("chain of {root}"), &Some(chain), &folded.chain(root)));
            }
        }
        for (key, session) in live.sessions() {
            let whole = !self.world.incomplete.contains(&Log::Session(key.clone()));
            if whole && folded.session(key) != Some(session) {
                return Err(differs(&format!("ledger of {key}"), &Some(session), &folded.session(key)));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.world.replies.retain(|(ask, _)| !self.aside.contains(ask));
        for leg in [Leg::Editor, Leg::Agent] {
            if let Some(frame) = self.world.heard(leg).front() {
                return Err(format!("the {} also heard {}", leg.name(), shown(&frame.bytes)));
            }
            if let Some(line) = self.unforwarded[leg.index()].front() {
                return Err(format!("what the {} said was lost: {}", leg.name(), shown(line)));
            }
        }
        match (self.world.exit, self.world.replies.front()) {
            (Some(code), _) => Err(format!("the proxy also exits with {code}")),
            (None, Some(reply)) => Err(format!("there is also the answer {reply:?}")),
            (None, None) => Ok(()),
        }
    }

    fn told(&self, line: usize, what: &str) -> String {
        let place = if line == 0 { "at the end".to_owned() } else { format!("line {line}") };
        let from = self.world.trace.len().saturating_sub(40);
        format!("{place}: {what}\n\nwhat led to it:\n{}\n", self.world.trace[from..].join("\n"))
    }
}

/// Reads every `config` line of a transcript as one file of the person's.
fn configured(transcript: &Transcript) -> Config {
    let written = user_text(transcript).map(|text| Written::parse("config.toml", &text));
    let written = written.map(|it| it.expect("because a transcript is written with a valid configuration"));
    Config::of(written.as_ref(), None)
}

fn user_text(transcript: &Transcript) -> Option<String> {
    let lines = transcript.statements.iter().filter_map(|statement| match &statement.what {
        What::Config(line) => Some(line.as_str()),
        _ => None,
    });
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn absolute(path: &str) -> String {
    absolute_in(ROOT, path)
}

/// A path of a statement: relative ones are beneath the root.
pub(crate) fn absolute_in(root: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{root}/{path}") }
}

/// A request that we answered is no longer on its way.
pub(crate) fn forget_answered<L: AsRef<[u8]>>(queue: &mut VecDeque<L>, frame: &[u8]) {
    let id = |line: &[u8]| {
        let value: Value = serde_json::from_slice(line).ok()?;
        Some((value.get("id")?.clone(), value.get("method").is_some()))
    };
    let Some((answer, false)) = id(frame) else { return };
    if let Some(place) = queue.iter().position(|line| id(line.as_ref()) == Some((answer.clone(), true))) {
        queue.remove(place);
    }
}

/// A line is edited by putting something in, taking something out, or changing a word: everything else keeps its bytes.
fn spliced(said: &[u8], sent: &[u8]) -> Result<(), String> {
    let ahead = said.iter().zip(sent).take_while(|(a, b)| a == b).count();
    let behind = said.iter().rev().zip(sent.iter().rev()).take_while(|(a, b)| a == b).count();
    let shorter = said.len().min(sent.len());
    if ahead + behind + LONGEST_WORD >= shorter {
        Ok(())
    } else {
        Err("more was changed than one place".to_owned())
    }
}

/// A journal pattern is a subset.
fn open(pattern: Value) -> Value {
    match pattern {
        Value::Object(members) => {
            let mut members: serde_json::Map<String, Value> =
                members.into_iter().map(|(name, value)| (name, open(value))).collect();
            members.insert("...".to_owned(), Value::from(1));
            Value::Object(members)
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(open).collect()),
        other => other,
    }
}

/// Shows the first line in which a live value and its fold differ.
fn differs(what: &str, live: &dyn std::fmt::Debug, folded: &dyn std::fmt::Debug) -> String {
    let (live, folded) = (format!("{live:#?}"), format!("{folded:#?}"));
    let lines: Vec<&str> = live.lines().collect();
    let place = lines.iter().zip(folded.lines()).position(|(live, folded)| *live != folded);
    let from = place.unwrap_or(0).saturating_sub(6);
    let part = |text: &str| text.lines().skip(from).take(20).collect::<Vec<_>>().join("\n");
    format!("the {what} is not the fold of its journal\nlive:\n{}\nfold:\n{}", part(&live), part(&folded))
}

/// The kind and the data of an event.
fn parts(event: &Event) -> (String, Value) {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    (kind, value.get_mut("data").map(Value::take).unwrap_or_default())
}

fn problem(message: &str) -> Value {
    let problem = Problem::new(ProblemKind::Internal, message);
    serde_json::json!({"answer": "problem", "value": problem})
}

fn signal(name: &str) -> Result<&'static str, String> {
    match name {
        "term" => Ok("SIGTERM"),
        "int" => Ok("SIGINT"),
        "hup" => Ok("SIGHUP"),
        other => Err(format!("unknown signal {other:?}")),
    }
}

pub(crate) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end().chars().take(1500).collect()
}

/// The messages that open a connection and the session `s1`, for `: acp v1` and `: acp v2`; with `: forms` the client offers
/// forms.
pub(crate) fn opening(transcript: &Transcript, client: &str) -> Result<Vec<(Leg, String)>, String> {
    let lines = match transcript.tag("acp") {
        None => Vec::new(),
        Some("v1") => opening_v1(client),
        Some("v2") => opening_v2(client),
        Some(other) => return Err(format!("unknown protocol {other:?}")),
    };
    let forms = |line: String| match transcript.has("forms") {
        true => line
            .replace(r#""clientCapabilities":{"#, r#""clientCapabilities":{"elicitation":{"form":{}},"#)
            .replace(
                r#""protocolVersion":2,"capabilities":{}"#,
                r#""protocolVersion":2,"capabilities":{"elicitation":{"form":{}}}"#,
            ),
        false => line,
    };
    Ok(lines.into_iter().map(|(leg, line)| (leg, forms(line))).collect())
}

fn opening_v1(client: &str) -> Vec<(Leg, String)> {
    vec![
        (Leg::Editor, format!(r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":1,"clientCapabilities":{{"fs":{{"readTextFile":true,"writeTextFile":true}},"terminal":true}},"clientInfo":{{"name":"{client}","version":"1"}}}}}}"#)),
        (Leg::Agent, r#"{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1"}}}"#.to_owned()),
        (Leg::Editor, r#"{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"$ROOT","mcpServers":[]}}"#.to_owned()),
        (Leg::Agent, r#"{"jsonrpc":"2.0","id":"n","result":{"sessionId":"s1"}}"#.to_owned()),
    ]
}

fn opening_v2(client: &str) -> Vec<(Leg, String)> {
    vec![
        (Leg::Editor, format!(r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":2,"capabilities":{{}},"info":{{"name":"{client}","version":"1"}}}}}}"#)),
        (Leg::Agent, r#"{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":2,"capabilities":{"session":{"prompt":{}}},"info":{"name":"agent","version":"1"}}}"#.to_owned()),
        (Leg::Editor, r#"{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"$ROOT","mcpServers":[]}}"#.to_owned()),
        (Leg::Agent, r#"{"jsonrpc":"2.0","id":"n","result":{"sessionId":"s1"}}"#.to_owned()),
    ]
}
