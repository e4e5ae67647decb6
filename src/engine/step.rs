//! The machine and its visible pipeline: an input, in one place, to the stage that knows what it means.

use crate::acp::{ClientCapabilities, Dialect, Peer};
use crate::base::{AskId, Leg, Minter, Patterns, ProxyId, RootId, SessionId, Tick, WindowId};
use crate::config::Config;
use crate::engine::desk::Job;
use crate::engine::hold::Holds;
use crate::engine::sight::Seen;
use crate::engine::stir::Stirs;
use crate::engine::unsure::Unsure;
use crate::engine::{Action, Durability, Input, Level};
use crate::ledger::{Event, Ledger, Log, Record, Redactor};
use crate::router::Pending;
use crate::session::Registry;
use crate::wire::IdToken;
use bytes::Bytes;
use std::collections::BTreeMap;

/// What the host tells a new engine about itself.
#[derive(Clone, Debug)]
pub struct Setup {
    /// This process.
    pub proxy: ProxyId,
    /// Its process id.
    pub pid: u32,
    /// Eight random hex digits, or a test's choice: the seed of all ids we mint.
    pub seed: String,
    /// The agent's program: its name until it says another.
    pub program: String,
    /// The configuration in force.
    pub config: Config,
    /// File names whose content is neither kept nor shown.
    pub withheld: Patterns,
    /// What replaces secrets before anything is stored, logged or shown.
    pub redactor: Redactor,
    /// The person's home, absolute.
    pub home: Option<String>,
    /// Our own directories and files: state, configuration.
    pub ours: Vec<String>,
    /// The session that started this proxy's agent, from `HUNKGATE_PARENT`.
    pub parent: Option<String>,
}

impl Setup {
    /// Tells nothing but who is there: no person's home, no configuration, nothing withheld.
    pub fn bare(proxy: &str) -> Self {
        Self {
            proxy: ProxyId::new(proxy),
            pid: 1,
            seed: "00000000".to_owned(),
            program: "agent".to_owned(),
            config: Config::default(),
            withheld: Patterns::default(),
            redactor: Redactor::new([0; 32]),
            home: None,
            ours: Vec::new(),
            parent: None,
        }
    }
}

/// The one machine.
///
/// `step` takes in what happened and says what shall be done. It reads no clock, draws no randomness, touches nothing.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(super) setup: Setup,
    pub(super) now: Tick,
    pub(super) minter: Minter,
    pub(super) out: Vec<Action>,
    pub(super) dialect: Dialect,
    /// Where the web console listens.
    pub(super) console: Option<String>,
    /// Why commands in a terminal cannot reach a session, or any (`None`).
    pub(super) shut: BTreeMap<Option<crate::base::SessionKey>, String>,
    pub(super) client: Option<Peer>,
    pub(super) capabilities: ClientCapabilities,
    pub(super) agent: Option<Peer>,
    pub(super) ledger: Ledger,
    pub(super) sessions: Registry,
    pub(super) pending: Pending<super::conversation::About>,
    pub(super) holds: Holds,
    pub(super) gates: super::gate::Gates,
    pub(super) consults: super::assess::Consults,
    pub(super) stirs: Stirs,
    pub(super) sights: BTreeMap<RootId, Seen>,
    pub(super) waits: BTreeMap<AskId, Wait>,
    pub(super) jobs: BTreeMap<AskId, Job>,
    pub(super) askings: BTreeMap<AskId, super::asking::Asking>,
    pub(super) strippers: BTreeMap<SessionId, crate::review::Stripper>,
    pub(super) terminals: BTreeMap<(SessionId, String), WindowId>,
    /// The logs to which nothing can be appended.
    pub(super) unwritten: BTreeMap<Log, super::faults::Unwritten>,
    pub(super) faults: BTreeMap<SessionId, super::faults::Faults>,
    pub(super) unsure: Unsure,
    pub(super) docket: super::docket::Docket,
    pub(super) policy: std::sync::Arc<crate::policy::Policy>,
    pub(super) files: super::reload::Files,
    pub(super) failed_start: Option<(String, i32)>,
    pub(super) ending: bool,
}

/// What waits for the answer to an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A parked frame.
    Hold(AskId),
    /// A session whose roots are being opened.
    Roots(SessionId),
    /// An ask that is being worked on.
    Job(AskId),
    /// A request that is being judged.
    Verdict(SessionId, crate::base::RequestKey),
    /// An allowed request, looked at once more before it goes on.
    Confirming(crate::base::RequestKey),
    /// A request that may have to wait before the gate: it is found out where its paths lead.
    Gate(AskId),
    /// What a call says that it comes to: it is found out whether any of it is observed.
    Observing(SessionId, Box<crate::ledger::Asking>),
    /// A request for which a permission that outlives sessions is used.
    Spending(crate::base::RequestKey, String),
    /// A permission that is being kept beyond its session.
    Keeping(SessionId, String),
    /// The next look at a root for what happens beneath it.
    Stir(RootId),
    /// A revert that a dead process had begun.
    Recovery { session: crate::base::SessionKey, intent: Box<crate::ledger::RevertIntent> },
}

impl Engine {
    /// Starts a machine to which nothing has happened.
    pub fn new(setup: Setup) -> Self {
        Self {
            now: Tick::default(),
            minter: Minter::new(setup.seed.clone()),
            out: Vec::new(),
            dialect: Dialect::Unknown,
            console: None,
            shut: BTreeMap::new(),
            client: None,
            capabilities: ClientCapabilities::default(),
            agent: None,
            ledger: Ledger::default(),
            sessions: Registry::default(),
            pending: Pending::new(&setup.seed),
            holds: Holds::default(),
            gates: super::gate::Gates::default(),
            consults: super::assess::Consults::default(),
            stirs: Stirs::default(),
            sights: BTreeMap::new(),
            waits: BTreeMap::new(),
            jobs: BTreeMap::new(),
            askings: BTreeMap::new(),
            strippers: BTreeMap::new(),
            terminals: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            faults: BTreeMap::new(),
            unsure: Unsure::default(),
            docket: super::docket::Docket::default(),
            policy: std::sync::Arc::default(),
            files: super::reload::Files::of(&setup.config),
            failed_start: None,
            ending: false,
            setup,
        }
    }

    /// Takes in what happened at `now`, and says what shall be done, in order.
    pub fn step(&mut self, now: Tick, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        self.step_into(now, input, &mut actions);
        actions
    }

    /// As [`Engine::step`], at the end of a list that its owner uses again and again.
    pub fn step_into(&mut self, now: Tick, input: Input, actions: &mut Vec<Action>) {
        self.now = now;
        if !matches!(input, Input::AppendFailed { .. }) {
            self.unsure.settle();
        }
        match input {
            Input::FromEditor(line) => self.heard(Leg::Editor, line),
            Input::FromAgent(line) => self.heard(Leg::Agent, line),
            Input::EditorClosed => self.editor_closed(),
            Input::AgentExited { code, stderr_tail } => self.agent_exited(code, &stderr_tail),
            Input::AgentNotStarted { command, reason, code } => {
                self.agent_not_started(&command, &reason, code);
            }
            Input::Adopt { header, directories } => self.adopt(&header, directories),
            Input::RootsOpened { ask, roots, unrecorded, history, skips } => {
                self.roots_opened(ask, roots, unrecorded, (&history, &skips));
            }
            Input::Observed { ask, root, foreign, outcome, sight } => {
                self.observed(ask, &root, &foreign, outcome);
                self.sighted(&root, sight);
            }
            Input::Stirred { root } => self.stirred(root),
            Input::Watched { watching } => self.stirs.watched_by(watching),
            Input::ConsoleMoved { console } => self.console = console,
            Input::WrittenAgain { session } => self.written_again(session),
            Input::DoorMoved { session, stands } => self.door_moved(session, stands),
            Input::Computed { ask, computed } => self.computed(ask, computed),
            Input::Prepared { ask, files } => self.prepared(ask, files),
            Input::Restored { ask, files } => self.restored(ask, files),
            Input::Judged { ask, finding } => self.judged(ask, finding),
            Input::PolicyRead { ask, user, projects } => self.policy_read(ask, user, projects),
            Input::FilesChecked { ask, news } => self.files_checked(ask, news),
            Input::Granted { ask, outcome } => self.granted(ask, outcome),
            Input::Opined { ask, opinion } => self.opined(ask, &opinion),
            Input::Assessed { ask, reply } => self.assessed_outside(ask, reply),
            Input::Asked { ask, asked } => self.asked(ask, asked),
            Input::AppendFailed { log, record, reason } => self.append_failed(&log, &record, &reason),
            Input::CaughtUp { log, late, lost } => self.caught_up(&log, (late, lost)),
            Input::Settled { ask } => self.settled(ask),
            Input::Woken => {}
            Input::Signal(name) => self.say(Level::Info, format!("received {name}")),
        }
        self.expire();
        self.gates_follow();
        self.stop_waiting();
        self.look_at_stirs();
        self.fail_unstarted();
        self.dismiss_consults();
        self.tell_attributed();
        actions.append(&mut self.out);
    }

    /// Returns when [`Input::Woken`] is due.
    pub fn deadline(&self) -> Option<Tick> {
        [self.holds.deadline(), self.stirs.deadline(), self.docket.deadline()].into_iter().flatten().min()
    }

    /// Returns the ledger: the fold of all that was recorded.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the sessions of this connection.
    pub fn sessions(&self) -> &Registry {
        &self.sessions
    }

    /// Gives every parked frame up, oldest first, after a step that failed: the host goes on without the engine.
    pub fn salvage(&mut self) -> Vec<(Leg, Bytes)> {
        let mut frames = self.unjudged();
        frames.extend(self.gates.give_up());
        for hold in self.holds.drain() {
            if self.enforces() && matches!(hold.what, super::hold::Held::Allow { .. }) {
                frames.extend(super::enforce::withheld(&hold.line));
                continue;
            }
            frames.push((hold.to, hold.line));
            frames.extend(hold.behind.into_iter().map(|line| (hold.to, line)));
        }
        frames
    }

    /// Returns the requests of the editor that were forwarded and have no answer.
    pub fn unanswered(&self) -> Vec<IdToken> {
        let of_editor = self.pending.iter().filter(|(from, ..)| *from == Leg::Editor);
        of_editor.map(|(_, id, _)| id.clone()).collect()
    }

    /// Says whether requests of the agent are judged.
    pub fn judges(&self) -> bool {
        self.enforces()
    }

    pub(super) fn send(&mut self, leg: Leg, bytes: Bytes) {
        if leg == Leg::Editor || self.failed_start.is_none() {
            self.out.push(Action::Send { leg, bytes });
        }
    }

    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        self.out.push(Action::Log { level, text: text.into() });
    }

    /// Folds an event into the ledger and appends it: the fold and the journal see the same record.
    pub(super) fn record(&mut self, log: Log, event: Event, durability: Durability) {
        let record = Record { at: self.now.wall, event };
        self.unsure.note(&self.ledger, &log, &record);
        self.ledger.apply(&log, &record);
        self.out.push(Action::Append { log, record, durability });
    }
}
