//! The engine behind a fuse: a fault of ours costs the record, never the conversation.

use crate::acp::author;
use crate::base::{AskId, Leg, Tick};
use crate::config::Approvals;
use crate::engine::{Action, Engine, Input, Level, Setup};
use crate::ledger::Ledger;
use crate::review::{Answer, Problem, ProblemKind};
use crate::wire::{Head, IdToken, head};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is behind the fuse: an engine, or a test's.
pub(crate) trait Machine {
    /// Takes an input in, and adds what shall be done to a list.
    fn step(&mut self, now: Tick, input: Input, actions: &mut Vec<Action>);
    /// Says when it wants to be woken.
    fn deadline(&self) -> Option<Tick>;
    /// Gives every parked frame up.
    fn salvage(&mut self) -> Vec<(Leg, Bytes)>;
    /// Returns the requests of the editor that nobody has answered.
    fn unanswered(&self) -> Vec<IdToken>;
    /// Says whether requests of the agent are judged.
    fn judges(&self) -> bool;
}

impl Machine for Engine {
    fn step(&mut self, now: Tick, input: Input, actions: &mut Vec<Action>) {
        self.step_into(now, input, actions);
    }

    fn deadline(&self) -> Option<Tick> {
        Self::deadline(self)
    }

    fn salvage(&mut self) -> Vec<(Leg, Bytes)> {
        Self::salvage(self)
    }

    fn unanswered(&self) -> Vec<IdToken> {
        Self::unanswered(self)
    }

    fn judges(&self) -> bool {
        Self::judges(self)
    }
}

/// An engine for as long as it works; after its first panic, a pair of wires.
///
/// ```text
/// whole ──panic──▶ tripped: parked frames are let go, every later frame passes as it is,
///                  answers to requests of ours are swallowed, asks are refused,
///                  and what an agent that dies leaves unanswered is answered with an error
/// ```
#[derive(Debug)]
pub(crate) struct Fused<M = Engine> {
    engine: M,
    tripped: bool,
    /// Whether requests of the agent are judged: without an engine nothing of them is allowed.
    enforces: bool,
    /// After a trip: the editor's requests without an answer.
    owed: BTreeSet<IdToken>,
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
        let seed = setup.seed.clone();
        let enforces = setup.config.approvals == Approvals::Enforce;
        Self { enforces, ..Self::over(Engine::new(setup), &seed) }
    }

    /// Returns the ledger as it stands.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }
}

impl<M: Machine> Fused<M> {
    fn over(engine: M, seed: &str) -> Self {
        Self {
            engine,
            tripped: false,
            enforces: false,
            owed: BTreeSet::new(),
            ours: format!("\"hunkgate-{seed}-"),
        }
    }

    /// Lets the engine take an input in, or does what is left to do without one.
    pub(crate) fn step(&mut self, now: Tick, input: Input, actions: &mut Vec<Action>) {
        let rescue = Rescue::of(&input);
        if self.tripped {
            return actions.extend(self.pass(rescue));
        }
        let (engine, before) = (&mut self.engine, actions.len());
        if catch_unwind(AssertUnwindSafe(|| engine.step(now, input, actions))).is_err() {
            actions.truncate(before);
            actions.extend(self.trip(rescue));
        }
        self.enforces |= !self.tripped && self.engine.judges();
    }

    /// Returns when the engine wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        if self.tripped { None } else { self.engine.deadline() }
    }

    fn trip(&mut self, rescue: Rescue) -> Vec<Action> {
        self.tripped = true;
        let engine = &mut self.engine;
        let unanswered = catch_unwind(AssertUnwindSafe(|| engine.unanswered())).unwrap_or_default();
        self.owed.extend(unanswered);
        let salvaged = catch_unwind(AssertUnwindSafe(|| engine.salvage())).unwrap_or_default();
        let mut actions = vec![Action::Log {
            level: Level::Warn,
            text: "an internal error: from here on everything is forwarded and nothing is recorded".into(),
        }];
        salvaged.iter().for_each(|(leg, bytes)| self.count(leg.other(), bytes));
        actions.extend(salvaged.into_iter().map(|(leg, bytes)| Action::Send { leg, bytes }));
        actions.extend(self.pass(rescue));
        actions
    }

    fn pass(&mut self, rescue: Rescue) -> Vec<Action> {
        match rescue {
            Rescue::Line(Leg::Editor, line) if self.answers_us(&line) => Vec::new(),
            Rescue::Line(Leg::Agent, line) if self.enforces && must_be_judged(&line) => {
                let refusal =
                    |id| author::error_answer(&id, -32001, "not allowed: an internal error", &Value::Null);
                let answer =
                    if let Head::Request { id, .. } = head(&line) { Some(refusal(id.to_id())) } else { None };
                answer.map(|bytes| Action::Send { leg: Leg::Agent, bytes }).into_iter().collect()
            }
            Rescue::Line(from, bytes) => {
                self.count(from, &bytes);
                vec![Action::Send { leg: from.other(), bytes }]
            }
            Rescue::Asked(ask) => {
                let message = "this session is not recorded any more: an internal error";
                let answer = Answer::Problem(Problem::new(ProblemKind::Internal, message));
                vec![Action::Reply { ask, answer }]
            }
            Rescue::Exited(code) => self.exited(code),
            Rescue::Closed => vec![Action::StopAgent],
            Rescue::Nothing => Vec::new(),
        }
    }

    fn count(&mut self, from: Leg, line: &[u8]) {
        match (from, head(line)) {
            (Leg::Editor, Head::Request { id, .. }) => _ = self.owed.insert(id.to_id()),
            (Leg::Agent, Head::Response { id, .. }) => _ = self.owed.remove(&id.to_id()),
            _ => {}
        }
    }

    fn exited(&mut self, code: i32) -> Vec<Action> {
        let (message, data) =
            (format!("the agent exited with code {code}"), serde_json::json!({ "exitCode": code }));
        let answer = |id| {
            let bytes = author::error_answer(&id, -32603, &message, &data);
            Action::Send { leg: Leg::Editor, bytes }
        };
        let owed = std::mem::take(&mut self.owed).into_iter().map(answer);
        owed.chain([Action::Exit { code }]).collect()
    }

    fn answers_us(&self, line: &[u8]) -> bool {
        matches!(head(line), Head::Response { id, .. } if id.get().starts_with(&self.ours))
    }
}

/// Says whether a line of the agent asks for something that a judge would have to allow. A permission asks the person.
fn must_be_judged(line: &[u8]) -> bool {
    match head(line) {
        Head::Request { method, .. } | Head::Notification { method, .. } => {
            method.starts_with("fs/") || method.starts_with("terminal/")
        }
        Head::Response { .. } => false,
        Head::Unreadable => !line.iter().all(u8::is_ascii_whitespace),
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
            | Input::Stirred { .. }
            | Input::Watched { .. }
            | Input::ConsoleMoved { .. }
            | Input::WrittenAgain { .. }
            | Input::DoorMoved { .. }
            | Input::Computed { .. }
            | Input::Judged { .. }
            | Input::Granted { .. }
            | Input::FilesChecked { .. }
            | Input::Opined { .. }
            | Input::Assessed { .. }
            | Input::PolicyRead { .. }
            | Input::Prepared { .. }
            | Input::Restored { .. }
            | Input::AppendFailed { .. }
            | Input::CaughtUp { .. }
            | Input::Settled { .. }
            | Input::Woken
            | Input::Signal(_) => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parks every line of the editor, panics at `boom`.
    #[derive(Debug, Default)]
    struct Fragile(Vec<(Leg, Bytes)>);

    impl Machine for Fragile {
        fn step(&mut self, _now: Tick, input: Input, _actions: &mut Vec<Action>) {
            if let Input::FromEditor(line) = input {
                self.0.push((Leg::Agent, line));
            } else if let Input::FromAgent(line) = input {
                assert!(!line.starts_with(b"boom"), "as asked");
            }
        }

        fn deadline(&self) -> Option<Tick> {
            Some(Tick::default())
        }

        fn salvage(&mut self) -> Vec<(Leg, Bytes)> {
            std::mem::take(&mut self.0)
        }

        fn unanswered(&self) -> Vec<IdToken> {
            Vec::new()
        }

        fn judges(&self) -> bool {
            false
        }
    }

    fn sent(actions: Vec<Action>) -> Vec<(Leg, Bytes)> {
        let sent = |action| if let Action::Send { leg, bytes } = action { Some((leg, bytes)) } else { None };
        actions.into_iter().filter_map(sent).collect()
    }

    fn step(fused: &mut Fused<Fragile>, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        fused.step(Tick::default(), input, &mut actions);
        actions
    }

    fn tripped() -> (Fused<Fragile>, Vec<Action>) {
        let mut fused = Fused::over(Fragile::default(), "seed");
        assert_eq!(sent(step(&mut fused, Input::FromEditor("parked\n".into()))), []);
        let actions = step(&mut fused, Input::FromAgent("boom\n".into()));
        (fused, actions)
    }

    #[test]
    fn after_a_trip_nothing_that_would_have_been_judged_is_allowed() {
        let (fused, _) = tripped();
        let mut fused = Fused { enforces: true, ..fused };
        let write = r#"{"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{}}"#;
        let actions = sent(step(&mut fused, Input::FromAgent(write.into())));
        assert!(
            matches!(actions.as_slice(), [(Leg::Agent, answer)] if answer.starts_with(br#"{"jsonrpc":"2.0","id":5,"error""#)),
            "{actions:?}"
        );
        assert_eq!(sent(step(&mut fused, Input::FromAgent("junk\n".into()))), []);
        let asks = Bytes::from_static(
            br#"{"jsonrpc":"2.0","id":6,"method":"session/request_permission","params":{}}"#,
        );
        assert_eq!(sent(step(&mut fused, Input::FromAgent(asks.clone()))), [(Leg::Editor, asks)]);
    }

    #[test]
    fn a_trip_lets_parked_frames_go_then_the_frame_that_tripped_it() {
        let (fused, actions) = tripped();
        assert_eq!(sent(actions), [(Leg::Agent, "parked\n".into()), (Leg::Editor, "boom\n".into())]);
        assert_eq!(fused.deadline(), None);
    }

    #[test]
    fn after_a_trip_everything_passes_but_answers_to_requests_of_ours() {
        let (mut fused, _) = tripped();
        let mut pass = |input| sent(step(&mut fused, input));
        let answer = r#"{"id":"hunkgate-seed-4","result":{}}"#;
        assert_eq!(pass(Input::FromEditor(answer.into())), []);
        let stale = r#"{"id":"hunkgate-other-4","result":{}}"#;
        assert_eq!(pass(Input::FromEditor(stale.into())), [(Leg::Agent, stale.into())]);
        assert_eq!(pass(Input::FromAgent("boom\n".into())), [(Leg::Editor, "boom\n".into())]);
    }

    #[test]
    fn after_a_trip_the_ends_are_still_the_ends() {
        let (mut fused, _) = tripped();
        let closed = step(&mut fused, Input::EditorClosed);
        assert!(matches!(closed[..], [Action::StopAgent]));
        let exited = Input::AgentExited { code: 7, stderr_tail: String::new() };
        assert!(matches!(step(&mut fused, exited)[..], [Action::Exit { code: 7 }]));
    }

    #[test]
    fn after_a_trip_an_agent_that_dies_leaves_no_request_unanswered() {
        let (mut fused, _) = tripped();
        step(&mut fused, Input::FromEditor("{\"id\":1,\"method\":\"a\"}\n".into()));
        step(&mut fused, Input::FromEditor("{\"id\":\"two\",\"method\":\"a\"}\n".into()));
        step(&mut fused, Input::FromAgent("{\"id\":1,\"result\":{}}\n".into()));
        let exited = Input::AgentExited { code: 7, stderr_tail: String::new() };
        let answers = sent(step(&mut fused, exited));
        let [(Leg::Editor, answer)] = &answers[..] else { panic!("{answers:?}") };
        let answer: Value = serde_json::from_slice(answer).expect("an answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&"two".into(), &(-32603).into()));
    }
}
