//! One race: an agent, perhaps a person, and the engine that watches, on one clock.

use super::agents::{AGENTS, Agent};
use super::dice::Dice;
use super::judge::Judge;
use super::op::{Draw, Op, Work};
use super::table::Table;
use super::truth::{Truth, Writer};
use crate::support::world::World;
use bytes::Bytes;
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::{Cache, RootKind, listing};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ROOT: &str = "/v/root";
/// Files that agent and person write in.
pub(super) const FILES: usize = 5;

/// Who takes part, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cast {
    /// A person edits, too.
    pub(crate) person: bool,
    /// Calls may run side by side.
    pub(crate) batches: bool,
    /// Commands may leave jobs behind.
    pub(crate) jobs: bool,
    /// Where the timing comes from.
    pub(crate) draw: Draw,
}

/// What happens at one instant.
#[derive(Clone, Debug)]
pub(super) enum Beat {
    Prompt,
    Batch,
    Announce(usize),
    Input(usize),
    Ask(usize),
    Answer(usize),
    Write(usize),
    Done(usize),
    Over(usize),
    Job(usize),
    Person,
    Refill(String, String),
    ClientWrites(usize, Value),
    Look,
    /// Activity that the watcher saw is looked at.
    Activity,
    EndTurn,
}

/// A race under way.
pub(crate) struct Race {
    pub(crate) world: World,
    pub(super) seed: u64,
    pub(super) dice: Dice,
    pub(super) cast: Cast,
    pub(super) agent: &'static Agent,
    /// The person is asked before a call writes.
    pub(super) asks: bool,
    /// The client writes for the agent.
    pub(super) lends: bool,
    pub(super) now: u64,
    /// When a look at activity is due, and when the last was made.
    pub(super) active: (Option<u64>, Option<u64>),
    pub(super) beats: BTreeMap<(u64, u64), Beat>,
    pub(super) order: u64,
    pub(super) ops: Vec<Op>,
    pub(super) truth: Truth,
    pub(super) lines: u64,
    pub(super) turn: u32,
    pub(super) turns: u32,
    pub(super) batches: u64,
    pub(super) running: BTreeSet<usize>,
    pub(super) looking: bool,
    /// Files that stand empty in the middle of a write.
    pub(super) emptied: BTreeSet<String>,
    pub(super) waiting: BTreeMap<String, usize>,
    pub(super) prompt: Option<String>,
}

pub(super) fn full(file: &str) -> String {
    format!("{ROOT}/{file}")
}

impl Race {
    pub(crate) fn new(seed: u64, cast: Cast) -> Self {
        let mut world = World::new(Config::default());
        world.tree.declare(ROOT, RootKind::Git);
        for file in 0..FILES {
            let text: String = (1..=20).map(|line| format!("base {file} {line}\n")).collect();
            world.tree.write(&full(&format!("f{file}")), text.as_bytes(), hunkgate::base::WallNs(1));
        }
        let mut dice = Dice::new(seed);
        let turns = u32::try_from(dice.within(1, 3)).unwrap_or(1);
        let agent = &AGENTS[dice.index(AGENTS.len())];
        let (asks, lends) = (dice.percent(35), dice.percent(60));
        let mut race = Self {
            world,
            seed,
            dice,
            cast,
            agent,
            asks,
            lends,
            now: 0,
            active: (None, None),
            beats: BTreeMap::new(),
            order: 0,
            ops: Vec::new(),
            truth: Truth::default(),
            lines: 0,
            turn: 0,
            turns,
            batches: 0,
            running: BTreeSet::new(),
            looking: false,
            emptied: BTreeSet::new(),
            waiting: BTreeMap::new(),
            prompt: None,
        };
        race.opening();
        race
    }

    /// Runs to the end and counts.
    pub(crate) fn run(mut self) -> (Table, World) {
        self.plan(10, Beat::Prompt);
        if self.cast.person {
            for _ in 0..self.dice.within(3, 12) {
                let at = self.dice.within(1, 9_000);
                self.plan(at, Beat::Person);
            }
        }
        while let Some(((at, _), beat)) = self.beats.pop_first() {
            self.advance(at);
            self.beat(beat);
            self.react();
            self.watch();
        }
        let table = self.judge();
        (table, self.world)
    }

    fn opening(&mut self) {
        self.editor(&json!({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}));
        self.agent(&json!({"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1,"agentInfo":{"name":"agent","version":"1"}}}));
        self.editor(
            &json!({"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":ROOT,"mcpServers":[]}}),
        );
        self.agent(&json!({"jsonrpc":"2.0","id":"n","result":{"sessionId":"s1"}}));
        self.world.stall();
        self.world.editor.clear();
        self.world.agent.clear();
    }

    pub(super) fn plan(&mut self, after: u64, beat: Beat) {
        self.order += 1;
        self.beats.insert((self.now + after, self.order), beat);
    }

    fn advance(&mut self, to: u64) {
        let ms = u32::try_from(to.saturating_sub(self.now)).unwrap_or(u32::MAX);
        self.world.pass(ms);
        self.now = to;
        self.react();
    }

    /// Plans a look at what was written since the last one: 50 ms later, at most once a second (docs/processes.md).
    fn watch(&mut self) {
        let (due, last) = self.active;
        if due.is_none() && self.world.tree.is_stirred() {
            let at = (self.now + 50).max(last.map_or(0, |last| last + 1_000));
            self.active.0 = Some(at);
            self.plan(at - self.now, Beat::Activity);
        }
    }

    pub(super) fn editor(&mut self, message: &Value) {
        self.world.feed(Input::FromEditor(Bytes::from(format!("{message}\n"))));
    }

    pub(super) fn agent(&mut self, message: &Value) {
        self.world.feed(Input::FromAgent(Bytes::from(format!("{message}\n"))));
    }

    pub(super) fn update(&mut self, update: &Value) {
        self.agent(
            &json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":update}}),
        );
    }

    /// Does what the peers do on what they hear, and has looks made a while after they were asked for.
    fn react(&mut self) {
        if self.world.waits() && !self.looking {
            self.looking = true;
            let delay = match (self.cast.draw, self.dice.percent(5)) {
                (Draw::Measured, false) => self.dice.skewed(0, 3),
                (Draw::Measured, true) => self.dice.within(3, 60),
                (Draw::Loose | Draw::Hostile, false) => self.dice.skewed(0, 60),
                (Draw::Loose | Draw::Hostile, true) => self.dice.within(100, 600),
            };
            self.plan(delay, Beat::Look);
        }
        for frame in std::mem::take(&mut self.world.agent) {
            let Ok(heard) = serde_json::from_slice::<Value>(&frame.bytes) else { continue };
            if heard["method"] == "session/prompt" {
                self.batches = self.dice.within(1, 5);
                let wait = self.dice.skewed(5, 800);
                self.plan(wait, Beat::Batch);
            } else if let Some(op) = heard["id"].as_str().and_then(|id| self.waiting.remove(id)) {
                self.answered(op);
            }
        }
        for frame in std::mem::take(&mut self.world.editor) {
            let Ok(heard) = serde_json::from_slice::<Value>(&frame.bytes) else { continue };
            let op = heard["id"].as_str().and_then(|id| self.waiting.get(id).copied());
            if heard["id"].as_str().is_some_and(|id| Some(id) == self.prompt.as_deref()) {
                self.prompt = None;
                if self.turn < self.turns {
                    let pause = self.dice.within(100, 4_000);
                    self.plan(pause, Beat::Prompt);
                }
            } else if let (Some(op), "session/request_permission") =
                (op, heard["method"].as_str().unwrap_or(""))
            {
                let thinks = self.dice.skewed(5, 2_500);
                self.plan(thinks, Beat::Answer(op));
            } else if let (Some(op), "fs/write_text_file") = (op, heard["method"].as_str().unwrap_or("")) {
                let takes = self.dice.skewed(1, 30);
                self.plan(takes, Beat::ClientWrites(op, heard["params"].clone()));
            }
        }
    }

    fn answered(&mut self, op: usize) {
        if self.ops[op].work == Work::Client {
            self.ops[op].passes = Some((self.ops[op].span.0, self.now));
            self.finish(op);
        } else {
            let gap = self.ops[op].gap;
            self.ops[op].span.0 = self.now;
            self.plan(gap, Beat::Write(op));
            if self.dice.percent(70) {
                let late = self.dice.within(0, 200);
                self.plan(late, Beat::Announce(op));
            }
        }
    }

    fn beat(&mut self, beat: Beat) {
        match beat {
            Beat::Prompt => {
                self.turn += 1;
                let id = format!("p{}", self.turn);
                self.prompt = Some(id.clone());
                self.editor(&json!({"jsonrpc":"2.0","id":id,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}));
            }
            Beat::Activity => {
                self.active = (None, Some(self.now));
                self.world.glance();
                if let Some(session) = self.world.sessions.first().cloned() {
                    self.world.relist(&session);
                }
            }
            Beat::Look => {
                self.looking = false;
                self.world.capture();
                self.world.stall();
            }
            Beat::Batch => self.batch(),
            Beat::Announce(op) => self.announce(op),
            Beat::Input(op) => self.input(op, None),
            Beat::Ask(op) => self.ask(op),
            Beat::Answer(op) => {
                let id = format!("r{op}");
                self.editor(&json!({"jsonrpc":"2.0","id":id,"result":{"outcome":{"outcome":"selected","optionId":"ok"}}}));
            }
            Beat::Write(op) => self.write(op),
            Beat::ClientWrites(op, params) => self.client_writes(op, &params),
            Beat::Done(op) => self.done(op),
            Beat::Over(op) => self.over(op),
            Beat::Job(op) => {
                let file = self.some_file();
                self.change(Writer::Job(op), &file);
            }
            Beat::Person => {
                let file = self.some_file();
                self.change(Writer::Person, &file);
            }
            Beat::Refill(file, text) => {
                self.emptied.remove(&file);
                self.world.tree.write(&full(&file), text.as_bytes(), self.world.now.wall);
            }
            Beat::EndTurn => {
                for op in std::mem::take(&mut self.running) {
                    self.ops[op].span.1 = self.now;
                }
                for op in &mut self.ops {
                    if op.turn == self.turn && op.span.1 == u64::MAX {
                        op.span.1 = self.now;
                    }
                }
                let id = format!("p{}", self.turn);
                self.agent(&json!({"jsonrpc":"2.0","id":id,"result":{"stopReason":"end_turn"}}));
            }
        }
    }

    /// Compares what the engine answers with the truth.
    fn judge(&mut self) -> Table {
        self.world.capture();
        self.world.pass(3_000);
        self.editor(&json!({"jsonrpc":"2.0","id":"last","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}));
        self.world.pass(3_000);
        let mut table = Table::one();
        let Some(session) = self.world.sessions.first().cloned() else { return table };
        let listed = listing(self.world.ledger(), &session, &self.world.tree, &mut Cache::default());
        let kept = self.world.relist(&session);
        assert_eq!(kept, listed, "seed {}: a kept cache gives other answers", self.seed);
        let judge = Judge { seed: self.seed, ops: &self.ops, truth: &self.truth, session: &session };
        for hunk in &listed.hunks {
            judge.hunk(hunk, &mut table);
        }
        table
    }
}
