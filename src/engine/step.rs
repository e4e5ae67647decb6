//! The visible pipeline.

use crate::base::{Minter, Patterns, ProxyId, Tick};
use crate::config::Config;
use crate::engine::{Action, Input, Leg};
use crate::ledger::Ledger;
use bytes::Bytes;

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
    /// The session that started this proxy's agent, from `HUNKGATE_PARENT`.
    pub parent: Option<String>,
}

/// The one machine.
#[derive(Clone, Debug)]
pub struct Engine {
    setup: Setup,
    minter: Minter,
    ledger: Ledger,
}

impl Engine {
    /// Starts a machine to which nothing has happened.
    pub fn new(setup: Setup) -> Self {
        let minter = Minter::new(setup.seed.clone());
        Self { setup, minter, ledger: Ledger::default() }
    }

    /// Takes in what happened at `now`, and says what shall be done, in order.
    pub fn step(&mut self, now: Tick, input: Input) -> Vec<Action> {
        let _ = (now, &self.setup, &self.minter);
        match input {
            Input::FromEditor(bytes) => vec![Action::Send { leg: Leg::Agent, bytes }],
            Input::FromAgent(bytes) => vec![Action::Send { leg: Leg::Editor, bytes }],
            _ => Vec::new(),
        }
    }

    /// Returns when [`Input::Woken`] is due.
    pub fn deadline(&self) -> Option<Tick> {
        None
    }
    /// Returns the ledger: the fold of all that was recorded.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Gives every parked frame up, oldest first, after a step that failed: the host goes on without the engine.
    pub fn salvage(&mut self) -> Vec<(Leg, Bytes)> {
        Vec::new()
    }
}
