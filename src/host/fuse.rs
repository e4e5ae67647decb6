//! The engine behind a fuse: a fault of ours costs the record, never the conversation.

use crate::base::{AskId, Leg, Tick};
use crate::engine::{Action, Engine, Input, Level, Setup};
use crate::ledger::Ledger;
use crate::review::{Answer, Problem, ProblemKind};
use crate::wire::{Head, head};
use bytes::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An engine for as long as it works; after its first panic, a pair of wires.
///
/// ```text
/// whole ──panic──▶ tripped: parked frames are let go, every later frame passes as it is,
///                  answers to requests of ours are swallowed, asks are refused
/// ```
#[derive(Debug)]
pub(crate) struct Fused {
    engine: Engine,
    tripped: bool,
    /// How the ids of our own requests begin, as a JSON token.
    ours: String,
}

/// What of an input must not be lost when the step that takes it fails.
enum Rescue {
    Line(Leg, Bytes),
    Asked(AskId),
    Exited(i32),
    Closed,
    Nothing,
}

impl Fused {
    /// Puts an engine behind the fuse.
    pub(crate) fn new(setup: Setup) -> Self {
        let ours = format!("\"hunkgate-{}-", setup.seed);
        Self { engine: Engine::new(setup), tripped: false, ours }
    }

    /// Lets the engine take an input in, or does what is left to do without one.
    pub(crate) fn step(&mut self, now: Tick, input: Input) -> Vec<Action> {
        let rescue = Rescue::of(&input);
        if self.tripped {
            return self.pass(rescue);
        }
        let engine = &mut self.engine;
        match catch_unwind(AssertUnwindSafe(|| engine.step(now, input))) {
            Ok(actions) => actions,
            Err(_) => self.trip(rescue),
        }
    }

    /// Returns when the engine wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        if self.tripped { None } else { self.engine.deadline() }
    }

    /// Returns the ledger as it stands.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    fn trip(&mut self, rescue: Rescue) -> Vec<Action> {
        self.tripped = true;
        let engine = &mut self.engine;
        let salvaged = catch_unwind(AssertUnwindSafe(|| engine.salvage())).unwrap_or_default();
        let mut actions = vec![Action::Log {
            level: Level::Warn,
            text: "an internal error: from here on everything is forwarded and nothing is recorded".into(),
        }];
        actions.extend(salvaged.into_iter().map(|(leg, bytes)| Action::Send { leg, bytes }));
        actions.extend(self.pass(rescue));
        actions
    }

    fn pass(&self, rescue: Rescue) -> Vec<Action> {
        match rescue {
            Rescue::Line(Leg::Editor, line) if self.answers_us(&line) => Vec::new(),
            Rescue::Line(from, bytes) => vec![Action::Send { leg: from.other(), bytes }],
            Rescue::Asked(ask) => {
                let message = "this session is not recorded any more: an internal error";
                let answer = Answer::Problem(Problem::new(ProblemKind::Internal, message));
                vec![Action::Reply { ask, answer }]
            }
            Rescue::Exited(code) => vec![Action::Exit { code }],
            Rescue::Closed => vec![Action::StopAgent],
            Rescue::Nothing => Vec::new(),
        }
    }

    fn answers_us(&self, line: &[u8]) -> bool {
        matches!(head(line), Head::Response { id, .. } if id.get().starts_with(&self.ours))
    }
}

impl Rescue {
    fn of(input: &Input) -> Self {
        match input {
            Input::FromEditor(line) => Self::Line(Leg::Editor, line.clone()),
            Input::FromAgent(line) => Self::Line(Leg::Agent, line.clone()),
            Input::Asked { ask, .. } => Self::Asked(*ask),
            Input::AgentExited { code, .. } | Input::AgentNotStarted { code, .. } => Self::Exited(*code),
            Input::EditorClosed => Self::Closed,
            Input::Adopt { .. }
            | Input::RootsOpened { .. }
            | Input::Observed { .. }
            | Input::Computed { .. }
            | Input::Prepared { .. }
            | Input::Restored { .. }
            | Input::AppendFailed { .. }
            | Input::Woken
            | Input::Signal(_) => Self::Nothing,
        }
    }
}
