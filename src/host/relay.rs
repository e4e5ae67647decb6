//! The one that owns the engine: what happened goes in, what comes out is done, in order.

use crate::base::{AskId, Leg, Tick};
use crate::engine::{Action, Durability, Input, Level, Notice, Setup};
use crate::host::backlog::Backlog;
use crate::host::child::AgentPid;
use crate::host::clock::Clock;
use crate::host::event::{Event, Inbox, WatcherId};
use crate::host::fuse::Fused;
use crate::host::gauge::Gauge;
use crate::host::leg::Outgoing;
use crate::host::perform::Perform;
use crate::host::recorder::Recorder;
use crate::host::voice::Voice;
use crate::host::wires::Wires;
use crate::ledger::{RevertFile, RevertOutcome, RevertResult};
use crate::review::{Answer, Asked, Problem, ProblemKind};
use crate::wire::Piece;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// From the end of the agent's stdin to SIGTERM.
const EOF_GRACE: Duration = Duration::from_millis(2_500);
/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long effects that were started may still answer once the agent is gone, and writers may write.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a command waits for any one effect: a first look at a large tree is the longest.
const OFFLINE_PATIENCE: Duration = Duration::from_secs(120);
/// Asks of other processes are numbered from here, those of the engine from 1.
const FOREIGN_ASKS: u64 = 1 << 62;

/// Counts what is on its way to each peer.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    /// To the editor.
    pub(crate) editor: Arc<Gauge>,
    /// To the agent.
    pub(crate) agent: Arc<Gauge>,
}

impl Gauges {
    /// Starts both with one limit.
    pub(crate) fn new(limit: usize) -> Self {
        Self { editor: Arc::new(Gauge::new(limit)), agent: Arc::new(Gauge::new(limit)) }
    }

    /// Starts one for both directions of one connection.
    pub(crate) fn shared(limit: usize) -> Self {
        let gauge = Arc::new(Gauge::new(limit));
        Self { editor: Arc::clone(&gauge), agent: gauge }
    }

    /// Returns the gauge of what is on its way to `leg`.
    pub(crate) fn to(&self, leg: Leg) -> &Arc<Gauge> {
        match leg {
            Leg::Editor => &self.editor,
            Leg::Agent => &self.agent,
        }
    }
}

/// What a relay works with.
#[derive(Debug)]
pub(crate) struct Parts {
    /// What the engine is told of itself.
    pub(crate) setup: Setup,
    /// Where events come from, and where effects put theirs.
    pub(crate) events: (Inbox, Receiver<Event>),
    /// What is under way.
    pub(crate) gauges: Gauges,
    /// The ways to the peers.
    pub(crate) wires: Wires,
    /// The agent's process.
    pub(crate) pid: AgentPid,
    /// What carries effects out.
    pub(crate) perform: Box<dyn Perform>,
    /// Our stderr, when it is ours to write to.
    pub(crate) voice: Option<Voice>,
    /// Our clock.
    pub(crate) clock: Clock,
    /// The transcript, when one is written.
    pub(crate) recorder: Option<Recorder>,
}

/// The owner of the engine.
#[derive(Debug)]
pub(crate) struct Relay {
    fused: Fused,
    clock: Clock,
    /// When the event that is being taken in was taken: one reading of the clocks for a batch of lines.
    now: Tick,
    events: Receiver<Event>,
    /// Kept, so that the channel never reports its end.
    _inbox: Inbox,
    gauges: Gauges,
    wires: Wires,
    recorder: Option<Recorder>,
    pid: AgentPid,
    perform: Box<dyn Perform>,
    backlog: Backlog,
    voice: Option<Voice>,
    end: End,
    asks: BTreeMap<AskId, Sender<Answer>>,
    asked: u64,
    watchers: BTreeMap<WatcherId, Sender<Notice>>,
    started: usize,
    /// Empty between two steps: one list for all of them.
    actions: Vec<Action>,
}

/// How far the end has come.
#[derive(Debug, Default)]
struct End {
    editor_closed: bool,
    /// The next rung of the ladder, and when it is due.
    ladder: Option<(Rung, Instant)>,
    agent_silent: bool,
    reaped: Option<(i32, String, Instant)>,
    /// The engine knows that the agent is gone; since when.
    told: Option<Instant>,
    signal: Option<i32>,
    code: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Term,
    Kill,
    None,
}

impl Relay {
    /// Puts the parts together.
    pub(crate) fn new(parts: Parts) -> Self {
        let (inbox, events) = parts.events;
        Self {
            fused: Fused::new(parts.setup),
            now: parts.clock.now(),
            clock: parts.clock,
            events,
            _inbox: inbox,
            gauges: parts.gauges,
            wires: parts.wires,
            recorder: parts.recorder,
            pid: parts.pid,
            perform: parts.perform,
            backlog: Backlog::default(),
            voice: parts.voice,
            end: End::default(),
            asks: BTreeMap::new(),
            asked: FOREIGN_ASKS,
            watchers: BTreeMap::new(),
            started: 0,
            actions: Vec::new(),
        }
    }

    /// Relays until the agent is gone and everything is said. Returns the exit code.
    pub(crate) fn run(mut self) -> i32 {
        loop {
            self.turn(Duration::MAX);
            self.climb();
            self.tell_agent_gone();
            self.wires.flush();
            if let Some(code) = self.over() {
                self.close();
                return code;
            }
        }
    }

    /// Waits for something to happen, and takes it in. False when nothing did for so long.
    fn turn(&mut self, at_most: Duration) -> bool {
        let patience = self.patience().unwrap_or(at_most).min(at_most);
        let event = if patience == Duration::MAX {
            self.events.recv().ok()
        } else {
            self.events.recv_timeout(patience).ok()
        };
        let happened = event.is_some() || patience < at_most;
        self.now = self.clock.now();
        if let Some(event) = event {
            self.take(event);
            self.now = self.clock.now();
        }
        self.wake();
        happened
    }

    /// How long nothing needs to be done, if nothing happens.
    fn patience(&self) -> Option<Duration> {
        let now = Instant::now();
        let wake = self.fused.deadline().map(|tick| self.clock.until(tick));
        let rung = self.end.ladder.filter(|(rung, _)| *rung != Rung::None).map(|(_, due)| due - now);
        let drain = self.end.reaped.as_ref().map(|(_, _, since)| *since + LAST_WORDS - now);
        let last = self.end.told.map(|since| since + LAST_WORDS - now);
        [wake, rung, drain.filter(|_| self.end.told.is_none()), last].into_iter().flatten().min()
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Read { leg, pieces, bytes } => self.read(leg, pieces, bytes),
            Event::Ended(Leg::Editor) | Event::Unwritable(Leg::Editor) => self.editor_closed(),
            Event::Ended(Leg::Agent) => {
                self.end.agent_silent = true;
                self.stop_agent();
            }
            Event::Unwritable(Leg::Agent) => {}
            Event::AgentReaped { code, stderr_tail } => {
                self.end.reaped = Some((code, stderr_tail, Instant::now()));
            }
            Event::Came(input) => {
                // Nobody started what happens beneath a root, or in the state directory.
                let answers = !matches!(
                    *input,
                    Input::Stirred { .. }
                        | Input::WrittenAgain { .. }
                        | Input::DoorMoved { .. }
                        | Input::ConsoleMoved { .. }
                );
                self.started = self.started.saturating_sub(usize::from(answers));
                self.step(*input);
            }
            Event::Asked { asked, reply } => self.asked(*asked, reply),
            Event::Watch { watcher, notices } => {
                self.watchers.insert(watcher, notices);
                self.watched();
            }
            Event::Unwatch(watcher) => {
                self.watchers.remove(&watcher);
                self.watched();
            }
            Event::Signal { name, number } => {
                self.end.signal.get_or_insert(number);
                self.step(Input::Signal(name));
                self.editor_closed();
            }
        }
    }

    fn read(&mut self, leg: Leg, pieces: Vec<Piece>, bytes: usize) {
        let to = leg.other();
        for piece in pieces {
            match piece {
                Piece::Line(line) => {
                    let (from, line) = self.wires.incoming(leg, line);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.said(from, &line);
                    }
                    self.step(match from {
                        Leg::Editor => Input::FromEditor(line),
                        Leg::Agent => Input::FromAgent(line),
                    });
                }
                Piece::Oversize { bytes, ends } => self.wires.put(to, Outgoing::Part { bytes, ends }),
            }
        }
        self.wires.flush();
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        self.gauges.to(to).sub(bytes);
    }

    fn watched(&mut self) {
        self.step(Input::Watched { watching: self.watchers.len() });
    }

    fn asked(&mut self, asked: Asked, reply: Sender<Answer>) {
        let ask = AskId(self.asked);
        self.asked += 1;
        self.asks.insert(ask, reply);
        self.step(Input::Asked { ask, asked });
    }

    fn editor_closed(&mut self) {
        if !std::mem::replace(&mut self.end.editor_closed, true) {
            self.step(Input::EditorClosed);
        }
        self.stop_agent();
    }

    fn step(&mut self, input: Input) {
        let mut actions = std::mem::take(&mut self.actions);
        self.fused.step(self.now, input, &mut actions);
        self.act(&mut actions);
        self.actions = actions;
    }

    fn act(&mut self, actions: &mut Vec<Action>) {
        for input in self.carry_out(actions) {
            self.step(input);
        }
    }

    /// Carries actions out. Returns what the engine has to hear of it, in the order in which it happened.
    fn carry_out(&mut self, actions: &mut Vec<Action>) -> Vec<Input> {
        let (mut unsynced, mut told): (Option<String>, _) = (None, Vec::new());
        for action in actions.drain(..) {
            match action {
                Action::Send { leg, bytes } => {
                    if let Some(recorder) = &mut self.recorder {
                        recorder.heard(leg, &bytes);
                    }
                    self.wires.push(leg, bytes);
                }
                Action::Append { log, record, durability } => {
                    if durability == Durability::Synced {
                        self.wires.flush();
                    }
                    let perform = self.perform.as_mut();
                    match self.backlog.append(perform, (&log, &record), durability) {
                        Ok(caught_up) => told.extend(caught_up),
                        Err(reason) => {
                            if durability == Durability::Synced {
                                unsynced = Some(reason.clone());
                            }
                            told.push(Input::AppendFailed { log, record: Box::new(record), reason });
                        }
                    }
                }
                Action::Restore { ask, files } if unsynced.is_some() => {
                    told.push(Input::Restored { ask, files: not_done(&files, unsynced.as_deref()) });
                }
                Action::Settle { ask } => told.push(Input::Settled { ask }),
                Action::Reply { ask, answer } => self.reply(ask, answer, unsynced.as_deref()),
                Action::OpenRoots { .. }
                | Action::Observe { .. }
                | Action::Compute { .. }
                | Action::Judge { .. }
                | Action::ReadPolicy { .. }
                | Action::CheckFiles { .. }
                | Action::Spend { .. }
                | Action::Keep { .. }
                | Action::Assess { .. }
                | Action::Dismiss { .. }
                | Action::Prepare { .. }
                | Action::Restore { .. }
                | Action::Recover { .. } => {
                    self.wires.flush();
                    self.started += 1;
                    self.perform.start(action, self.fused.ledger());
                }
                Action::Pin { .. } => self.perform.start(action, self.fused.ledger()),
                Action::Publish(notice) => {
                    for watcher in self.watchers.values() {
                        // One that is gone says so itself.
                        let _ = watcher.send(notice.clone());
                    }
                }
                Action::Log { level, text } => self.log(level, &text),
                Action::StopAgent => self.stop_agent(),
                Action::Exit { code } => {
                    self.end.code = Some(code);
                    self.stop_agent();
                }
            }
        }
        told
    }

    fn reply(&mut self, ask: AskId, answer: Answer, unsynced: Option<&str>) {
        let answer = match unsynced {
            Some(reason) => answer.unrecorded(reason),
            None => answer,
        };
        if let Some(reply) = self.asks.remove(&ask) {
            let _ = reply.send(answer);
        }
    }

    fn log(&self, level: Level, text: &str) {
        match level {
            Level::Debug => tracing::debug!("{text}"),
            Level::Info => tracing::info!("{text}"),
            Level::Warn => tracing::warn!("{text}"),
        }
    }

    fn wake(&mut self) {
        if self.fused.deadline().is_some_and(|due| due.mono <= self.now.mono) {
            self.step(Input::Woken);
        }
    }

    /// Closes the agent's stdin, once, and sets the ladder up.
    fn stop_agent(&mut self) {
        if self.end.ladder.is_none() {
            self.wires.close_agent();
            self.end.ladder = Some((Rung::Term, Instant::now() + EOF_GRACE));
            if self.wires.is_chain() {
                // There is no process of ours to wait for: the conductor ends it.
                self.end.agent_silent = true;
                self.end.reaped = Some((0, String::new(), Instant::now()));
            }
        }
    }

    /// Takes the next rung when it is due.
    fn climb(&mut self) {
        let Some((rung, due)) = self.end.ladder else { return };
        if Instant::now() < due || self.end.reaped.is_some() {
            return;
        }
        self.end.ladder = Some(match rung {
            Rung::Term => {
                self.pid.signal(Signal::TERM);
                (Rung::Kill, Instant::now() + TERM_GRACE)
            }
            Rung::Kill | Rung::None => {
                self.pid.signal(Signal::KILL);
                (Rung::None, due)
            }
        });
    }

    /// Tells the engine that the agent is gone, after all that it said was handed in.
    fn tell_agent_gone(&mut self) {
        let Some((code, tail, since)) = &self.end.reaped else { return };
        let drained = self.end.agent_silent || (self.end.ladder.is_some() && since.elapsed() >= LAST_WORDS);
        if !drained || self.end.told.is_some() {
            return;
        }
        let input = Input::AgentExited { code: *code, stderr_tail: tail.clone() };
        self.end.told = Some(Instant::now());
        self.step(input);
    }

    /// Returns the exit code when nothing is left to wait for.
    fn over(&self) -> Option<i32> {
        let signalled = self.end.signal.map(|signal| 128 + signal);
        let told = match (&self.end.told, self.wires.has_agent()) {
            (Some(since), _) => since,
            (None, false) if self.end.editor_closed || self.end.code.is_some() => {
                return signalled.or(self.end.code).or(Some(1));
            }
            (None, _) => return None,
        };
        let quiet = self.end.code.is_some() || self.started == 0 || told.elapsed() >= LAST_WORDS;
        let code = self.end.code.or(self.end.reaped.as_ref().map(|(code, ..)| *code));
        quiet.then(|| signalled.or(code).unwrap_or(1))
    }

    fn close(&mut self) {
        for lost in self.backlog.make_up_for_all(self.perform.as_mut()) {
            tracing::warn!("{lost}");
        }
        self.perform.close();
        self.wires.wait_written(LAST_WORDS);
        if let Some(voice) = &self.voice {
            voice.wait_written(LAST_WORDS);
        }
    }
}

/// An engine with no peers: for a command where no proxy lives.
#[derive(Debug)]
pub(crate) struct Offline {
    /// What the engine is told of itself.
    pub(crate) setup: Setup,
    /// Where effects put what they come to.
    pub(crate) events: (Inbox, Receiver<Event>),
    /// What carries effects out.
    pub(crate) perform: Box<dyn Perform>,
    /// Our clock.
    pub(crate) clock: Clock,
}

impl Offline {
    /// Takes a session up from its journals and answers one ask.
    pub(crate) fn answer(self, adopt: Input, asked: Asked) -> Answer {
        let mut relay = Relay::new(Parts {
            setup: self.setup,
            events: self.events,
            gauges: Gauges::new(usize::MAX),
            wires: Wires::none(),
            pid: AgentPid::default(),
            perform: self.perform,
            voice: None,
            clock: self.clock,
            recorder: None,
        });
        relay.step(adopt);
        while relay.started > 0 && relay.turn(OFFLINE_PATIENCE) {}
        let (reply, answer) = channel();
        relay.asked(asked, reply);
        let answer = loop {
            match answer.try_recv() {
                Ok(answer) => break answer,
                Err(_) if relay.turn(OFFLINE_PATIENCE) => {}
                Err(_) => {
                    let problem = Problem::new(ProblemKind::Internal, "it was not answered in time");
                    break Answer::Problem(problem);
                }
            }
        };
        relay.close();
        answer
    }
}

fn not_done(files: &[RevertFile], reason: Option<&str>) -> Vec<RevertOutcome> {
    let reason = format!("its record could not be written: {}", reason.unwrap_or_default());
    let failed = |file: &RevertFile| RevertOutcome {
        root: file.root.clone(),
        path: file.path.clone(),
        result: RevertResult::Failed { reason: reason.clone() },
    };
    files.iter().map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{RepoPath, RootId, SessionKey, WallNs};
    use crate::ledger::{DecidedShape, Event as Fact, Ledger, Log, Method, Record};
    use std::sync::{Mutex, PoisonError};

    /// Remembers what was done; the appends of these numbers fail.
    #[derive(Clone, Debug)]
    struct Faulty {
        done: Arc<Mutex<Vec<&'static str>>>,
        fails: &'static [usize],
    }

    impl Faulty {
        fn note(&self, what: &'static str) -> usize {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push(what);
            done.iter().filter(|known| **known == what).count()
        }
    }

    impl Perform for Faulty {
        fn append(&mut self, _log: &Log, _record: &Record, _durability: Durability) -> Result<(), String> {
            if self.fails.contains(&self.note("append")) {
                Err("the disk is full".to_owned())
            } else {
                Ok(())
            }
        }

        fn start(&mut self, effect: Action, _ledger: &Ledger) {
            self.note(if matches!(effect, Action::Restore { .. }) { "restore" } else { "other" });
        }

        fn close(&mut self) {}
    }

    fn relay(fails: &'static [usize]) -> (Relay, Faulty) {
        let perform = Faulty { done: Arc::default(), fails };
        let (sender, events) = channel();
        let setup = Setup::bare("p");
        let parts = Parts {
            setup,
            events: (Inbox::new(sender), events),
            gauges: Gauges::new(1),
            wires: Wires::none(),
            pid: AgentPid::default(),
            perform: Box::new(perform.clone()),
            voice: None,
            clock: Clock::start(),
            recorder: None,
        };
        (Relay::new(parts), perform)
    }

    fn decision() -> Vec<Action> {
        let log = Log::Session(SessionKey::new("k"));
        let record = Record { at: WallNs(1), event: Fact::SessionClosed { why: "test".into() } };
        let file = RevertFile {
            root: RootId::new("r"),
            path: RepoPath::new("a").expect("a path"),
            expected: None,
            wanted: None,
            temporary: None,
            method: Method::Remove,
            other: None,
        };
        vec![
            Action::Append { log: log.clone(), record: record.clone(), durability: Durability::Written },
            Action::Append { log, record, durability: Durability::Synced },
            Action::Restore { ask: AskId(3), files: vec![file] },
        ]
    }

    fn done(perform: &Faulty) -> Vec<&'static str> {
        perform.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[test]
    fn a_revert_begins_only_after_its_intent_is_on_disk() {
        let (mut relay, perform) = relay(&[]);
        relay.act(&mut decision());
        assert_eq!(done(&perform), ["append", "append", "restore"]);
    }

    #[test]
    fn a_revert_whose_intent_cannot_be_synced_is_not_begun() {
        let (mut relay, perform) = relay(&[2]);
        relay.act(&mut decision());
        assert!(!done(&perform).contains(&"restore"));
    }

    #[test]
    fn a_fact_that_cannot_be_written_stops_nothing() {
        let (mut relay, perform) = relay(&[1]);
        relay.act(&mut decision());
        assert!(done(&perform).contains(&"restore"));
    }

    #[test]
    fn what_is_written_late_is_told_before_what_fails_after_it() {
        let (mut relay, _) = relay(&[1, 4]);
        let append = || Action::Append {
            log: Log::Session(SessionKey::new("k")),
            record: Record { at: WallNs(1), event: Fact::SessionClosed { why: "test".into() } },
            durability: Durability::Written,
        };
        relay.carry_out(&mut vec![append()]);
        let told = relay.carry_out(&mut vec![append(), append()]);
        assert!(matches!(told.as_slice(), [Input::CaughtUp { .. }, Input::AppendFailed { .. }]), "{told:?}");
    }

    #[test]
    fn a_decision_that_could_not_be_recorded_is_not_answered_as_made() {
        let (mut relay, _) = relay(&[1]);
        let (reply, answer) = channel();
        relay.asks.insert(AskId(9), reply);
        let log = Log::Session(SessionKey::new("k"));
        let record = Record { at: WallNs(1), event: Fact::SessionClosed { why: "test".into() } };
        relay.act(&mut vec![
            Action::Append { log, record, durability: Durability::Synced },
            Action::Reply { ask: AskId(9), answer: Answer::Decided(DecidedShape::default()) },
        ]);
        assert!(matches!(answer.try_recv(), Ok(Answer::Problem(_))));
    }
}
