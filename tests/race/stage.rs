//! One race: an agent, perhaps a person, and the engine that watches, on one clock.

use super::agents::{AGENTS, Agent};
use super::dice::Dice;
use super::op::{Draw, First, Input as Told, Op, Work};
use super::reason::Reason;
use super::table::{Table, Verdict};
use super::truth::{Truth, Writer};
use crate::support::world::World;
use bytes::Bytes;
use hunkgate::base::SessionKey;
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::{AuthorLines, Cache, Grade, Hunk, RootKind, Side, listing};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const ROOT: &str = "/v/root";
/// Files that agent and person write in.
const FILES: usize = 5;

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
enum Beat {
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
    seed: u64,
    dice: Dice,
    cast: Cast,
    agent: &'static Agent,
    /// The person is asked before a call writes.
    asks: bool,
    /// The client writes for the agent.
    lends: bool,
    now: u64,
    /// When a look at activity is due, and when the last was made.
    active: (Option<u64>, Option<u64>),
    beats: BTreeMap<(u64, u64), Beat>,
    order: u64,
    ops: Vec<Op>,
    truth: Truth,
    lines: u64,
    turn: u32,
    turns: u32,
    batches: u64,
    running: BTreeSet<usize>,
    looking: bool,
    /// Files that stand empty in the middle of a write.
    emptied: BTreeSet<String>,
    waiting: BTreeMap<String, usize>,
    prompt: Option<String>,
}

fn full(file: &str) -> String {
    format!("{ROOT}/{file}")
}

/// What a call of a measured agent does, in parts of a hundred. Edits that tell only a path, or nothing, are no measured
/// agent's; a few are drawn for those that were not measured.
const MEASURED: [(Work, usize); 8] = [
    (Work::Fragment, 32),
    (Work::Whole, 12),
    (Work::Create, 12),
    (Work::Delete, 4),
    (Work::PathOnly, 2),
    (Work::Silent, 2),
    (Work::Shell, 24),
    (Work::Read, 12),
];

fn work() -> Vec<Work> {
    let often = [Work::Fragment, Work::Shell];
    let all = [
        Work::Fragment,
        Work::Whole,
        Work::Create,
        Work::Delete,
        Work::PathOnly,
        Work::Silent,
        Work::Client,
        Work::Shell,
        Work::Read,
        Work::Fragment,
        Work::Whole,
    ];
    often.into_iter().chain(all).collect()
}

fn measured() -> Vec<Work> {
    MEASURED.iter().flat_map(|(work, parts)| std::iter::repeat_n(*work, *parts)).collect()
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

    fn plan(&mut self, after: u64, beat: Beat) {
        self.order += 1;
        self.beats.insert((self.now + after, self.order), beat);
    }

    fn advance(&mut self, to: u64) {
        let ms = u32::try_from(to.saturating_sub(self.now)).unwrap_or(u32::MAX);
        self.world.pass(ms);
        self.now = to;
        self.react();
    }

    /// Plans a look at what was written since the last one: 150 ms later, at most once a second (docs/processes.md).
    fn watch(&mut self) {
        let (due, last) = self.active;
        if due.is_none() && self.world.tree.is_stirred() {
            let at = (self.now + 150).max(last.map_or(0, |last| last + 1_000));
            self.active.0 = Some(at);
            self.plan(at - self.now, Beat::Activity);
        }
    }

    fn editor(&mut self, message: &Value) {
        self.world.feed(Input::FromEditor(Bytes::from(format!("{message}\n"))));
    }

    fn agent(&mut self, message: &Value) {
        self.world.feed(Input::FromAgent(Bytes::from(format!("{message}\n"))));
    }

    fn update(&mut self, update: &Value) {
        self.agent(
            &json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":update}}),
        );
    }

    /// Does what the peers do on what they hear, and has looks made a while after they were asked for.
    fn react(&mut self) {
        if self.world.waits() && !self.looking {
            self.looking = true;
            let delay =
                if self.dice.percent(5) { self.dice.within(100, 600) } else { self.dice.skewed(0, 60) };
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

    // ── the agent ──

    /// Begins what comes next in the turn: one call, or several side by side.
    fn batch(&mut self) {
        if self.batches == 0 {
            let wait = self.dice.skewed(1, 600);
            self.plan(wait, Beat::EndTurn);
            return;
        }
        self.batches -= 1;
        let most = if self.cast.draw == Draw::Measured { self.agent.parallel + 1 } else { 4 };
        let side = most > 1 && self.cast.batches && self.dice.percent(35);
        let count = if side { self.dice.within(2, most.max(2)) } else { 1 };
        let mut works = if self.cast.draw == Draw::Measured { measured() } else { work() };
        let mut start = 0;
        for _ in 0..count {
            let at = self.ops.len();
            // Ids come again in the next turn.
            let id =
                if self.dice.percent(20) { format!("again{}", self.of_turn()) } else { format!("c{at}") };
            let mut op = match self.cast.draw {
                Draw::Hostile => Op::hostile(&mut self.dice, &works, (id, self.turn)),
                Draw::Measured => {
                    let drawn = works[self.dice.index(works.len())];
                    let work = self.manner(drawn);
                    Op::measured(&mut self.dice, (self.agent, self.asks), work, (id, self.turn))
                }
            };
            if op.cut {
                self.batches = 0;
            }
            if op.work == Work::Shell {
                // Models batch one command at most: two at once are contested by their nature.
                works.retain(|work| *work != Work::Shell);
                let leaves = self.cast.jobs && self.dice.percent(15);
                op.job = leaves.then(|| self.dice.within(300, 2_000));
            }
            op.span.0 = self.now + start;
            let (first, gap) = (op.first, op.gap);
            self.ops.push(op);
            self.running.insert(at);
            match first {
                First::Message => self.plan(start, Beat::Announce(at)),
                First::Write => {
                    self.plan(start, Beat::Write(at));
                    self.plan(start + gap, Beat::Announce(at));
                }
                First::Permission => self.plan(start, Beat::Ask(at)),
            }
            start += self.dice.skewed(0, 40);
        }
    }

    /// What the agent makes of this kind of work.
    fn manner(&self, work: Work) -> Work {
        let lent = self.agent.client && self.lends;
        match work {
            Work::Fragment | Work::Whole | Work::Create if lent => Work::Client,
            Work::Fragment if self.agent.whole => Work::Whole,
            Work::Fragment
            | Work::Whole
            | Work::Create
            | Work::Delete
            | Work::PathOnly
            | Work::Silent
            | Work::Client
            | Work::Shell
            | Work::Read => work,
        }
    }

    fn of_turn(&self) -> usize {
        self.ops.iter().filter(|op| op.turn == self.turn).count()
    }

    fn announce(&mut self, at: usize) {
        self.decide(at);
        self.ops[at].heard.get_or_insert(self.now);
        let op = self.ops[at].clone();
        let mut update = json!({"sessionUpdate":"tool_call","toolCallId":op.id,"title":format!("work {at}"),"kind":op.work.kind(),"status":"in_progress"});
        let knows = op.first == First::Write && self.cast.draw == Draw::Measured;
        if op.input == Told::Announced || op.first == First::Permission || knows {
            self.describe(at, &mut update);
        }
        self.update(&update);
        if op.first != First::Message {
            return;
        }
        let tells = match op.input {
            Told::Before => Some(op.gap.saturating_sub(self.dice.within(5, 32))),
            Told::WithWrite => Some(op.gap + self.dice.skewed(0, 50)),
            Told::Later => Some(self.dice.within(0, op.gap + 50)),
            Told::Announced | Told::AtTheEnd => None,
        };
        if let Some(after) = tells {
            self.plan(after, Beat::Input(at));
        }
        if op.work == Work::Client && self.cast.draw == Draw::Hostile {
            self.pass(at);
        } else {
            self.plan(op.gap, Beat::Write(at));
        }
    }

    /// Has the client write.
    fn pass(&mut self, at: usize) {
        let Some((file, _, new)) = self.ops[at].told.clone() else { return self.finish(at) };
        self.waiting.insert(format!("r{at}"), at);
        self.agent(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"method":"fs/write_text_file","params":{"sessionId":"s1","path":full(&file),"content":new}}));
    }

    /// Decides what a call will write, on what stands there now.
    fn decide(&mut self, at: usize) {
        let op = &self.ops[at];
        if op.told.is_some() || matches!(op.work, Work::Shell | Work::Read) {
            return;
        }
        if op.work == Work::Create {
            let text: String = (0..self.dice.within(1, 5)).map(|_| self.line(Writer::Call(at))).collect();
            self.ops[at].told = Some((format!("n{at}"), None, text));
            return;
        }
        let file = self.some_file();
        let text = self.text(&file).unwrap_or_default();
        self.ops[at].read = Some(text.clone());
        if self.ops[at].work == Work::Delete {
            self.ops[at].told = Some((file, Some(text), String::new()));
            return;
        }
        let Some((old, new)) = self.edit(Writer::Call(at), &text) else { return };
        let whole = text.replacen(&old, &new, 1);
        let told = match self.ops[at].work {
            // An agent that tells whole files tells what stood there before, too.
            Work::Whole | Work::Client => {
                let blind = self.dice.percent(30) && !(self.agent.whole && self.cast.draw == Draw::Measured);
                (file, (!blind).then_some(text), whole)
            }
            Work::Fragment
            | Work::Create
            | Work::Delete
            | Work::PathOnly
            | Work::Silent
            | Work::Shell
            | Work::Read => (file, Some(old), new),
        };
        self.ops[at].told = Some(told);
    }

    fn describe(&mut self, at: usize, update: &mut Value) {
        let tells_text = self.cast.draw == Draw::Measured;
        let op = &mut self.ops[at];
        op.said |= op.told.is_some();
        op.named |= op.told.is_some() && op.work != Work::Silent;
        let Some((file, old, new)) = &op.told else {
            if op.work == Work::Shell {
                update["rawInput"] = json!({"command": "make things"});
            } else if op.work == Work::Read {
                update["rawInput"] = json!({"path": full("f0")});
                if tells_text {
                    self.agent.reads.tell(update);
                }
            }
            return;
        };
        if op.work != Work::Silent {
            update["locations"] = json!([{"path": full(file)}]);
        }
        let diff = matches!(op.work, Work::Fragment | Work::Whole | Work::Create);
        if diff || op.work == Work::Client && tells_text {
            update["content"] = json!([{"type":"diff","path":full(file),"oldText":old,"newText":new}]);
        }
    }

    fn input(&mut self, at: usize, status: Option<&str>) {
        let mut update = json!({"sessionUpdate":"tool_call_update","toolCallId":self.ops[at].id});
        if let Some(status) = status {
            update["status"] = json!(status);
        }
        if status.is_none() || self.ops[at].input == Told::AtTheEnd {
            self.describe(at, &mut update);
        }
        self.update(&update);
    }

    fn ask(&mut self, at: usize) {
        self.decide(at);
        self.ops[at].heard.get_or_insert(self.now);
        let mut call = json!({"toolCallId":self.ops[at].id,"title":format!("work {at}"),"kind":self.ops[at].work.kind(),"status":"pending"});
        self.describe(at, &mut call);
        self.waiting.insert(format!("r{at}"), at);
        self.agent(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"method":"session/request_permission","params":{"sessionId":"s1","toolCall":call,"options":[{"optionId":"ok","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}));
    }

    fn write(&mut self, at: usize) {
        self.decide(at);
        match self.ops[at].work {
            Work::Read => {}
            Work::Client => return self.pass(at),
            Work::Shell => {
                let rest = self.ops[at].more.pop();
                self.command(at);
                if let Some(after) = rest {
                    self.plan(after, Beat::Write(at));
                    return;
                }
            }
            Work::Delete => {
                let Some((file, _, _)) = self.ops[at].told.clone() else { return self.finish(at) };
                self.mean(at, "");
                if !self.remove(Writer::Call(at), &file) {
                    self.ops[at].failed = true;
                }
            }
            Work::Fragment | Work::PathOnly | Work::Silent => {
                let Some((file, Some(old), new)) = self.ops[at].told.clone() else { return self.finish(at) };
                match self.text(&file).filter(|text| text.contains(&old)) {
                    Some(text) => self.replace(Writer::Call(at), &file, &text.replacen(&old, &new, 1)),
                    None => self.ops[at].failed = true,
                }
            }
            Work::Whole | Work::Create => {
                let Some((file, _, new)) = self.ops[at].told.clone() else { return self.finish(at) };
                self.mean(at, &new);
                self.replace(Writer::Call(at), &file, &new);
            }
        }
        self.finish(at);
    }

    /// A whole text takes away what its call had read and it does not hold.
    fn mean(&mut self, at: usize, new: &str) {
        if let Some(read) = self.ops[at].read.clone() {
            self.truth.meant(Writer::Call(at), [&read, new]);
        }
    }

    fn client_writes(&mut self, at: usize, params: &Value) {
        let path = params["path"].as_str().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default().to_owned();
        if self.emptied.contains(&file) {
            self.plan(6, Beat::ClientWrites(at, params.clone()));
            return;
        }
        let text = params["content"].as_str().unwrap_or_default().to_owned();
        self.mean(at, &text);
        self.put(Writer::Call(at), &file, &text);
        self.editor(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"result":{}}));
    }

    /// The last write is done: the call ends, soon or never.
    fn finish(&mut self, at: usize) {
        let announced = if self.ops[at].first == First::Write { self.ops[at].gap } else { 0 };
        // A write that can be seen half done is over before the call is.
        let announced = if self.emptied.is_empty() { announced } else { announced.max(6) };
        match self.ops[at].end {
            Some(end) => self.plan(end.max(announced + 1), Beat::Done(at)),
            None => {
                let wait = announced + self.dice.skewed(5, 400);
                self.plan(wait, Beat::Over(at));
            }
        }
    }

    fn done(&mut self, at: usize) {
        let status = if self.ops[at].failed { "failed" } else { "completed" };
        self.input(at, Some(status));
        self.ops[at].span.1 = self.now;
        if let Some(after) = self.ops[at].job {
            self.plan(after, Beat::Job(at));
        }
        self.over(at);
    }

    /// The agent goes on when all that ran side by side is over.
    fn over(&mut self, at: usize) {
        self.running.remove(&at);
        if self.running.is_empty() {
            let wait = self.dice.skewed(2, 500);
            self.plan(wait, Beat::Batch);
        }
    }

    /// One thing that a command does.
    fn command(&mut self, at: usize) {
        let by = Writer::Call(at);
        let file = self.some_file();
        match self.dice.within(0, 19) {
            0 => {
                self.remove(by, &file);
            }
            1 => {
                let to = format!("m{at}x{}", self.lines);
                let from = full(&file);
                if !self.emptied.contains(&file)
                    && self.world.tree.rename(&from, &full(&to), self.world.now.wall)
                {
                    self.truth.moved(by, &file, &to);
                }
            }
            2 => {
                self.world.tree.chmod(&full(&file), true, self.world.now.wall);
            }
            3..=5 => {
                let name = format!("s{at}x{}", self.lines);
                let text: String = (0..self.dice.within(1, 4)).map(|_| self.line(by)).collect();
                self.replace(by, &name, &text);
            }
            _ => self.change(by, &file),
        }
    }

    // ── files ──

    fn line(&mut self, by: Writer) -> String {
        self.lines += 1;
        by.line(self.lines)
    }

    fn text(&self, file: &str) -> Option<String> {
        self.world.tree.bytes(&full(file)).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn some_file(&mut self) -> String {
        format!("f{}", self.dice.index(FILES))
    }

    /// Draws an edit of a text: what is replaced, and by what.
    fn edit(&mut self, by: Writer, text: &str) -> Option<(String, String)> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if lines.is_empty() {
            return None;
        }
        let at = self.dice.index(lines.len());
        let old = lines[at..(at + self.dice.index(3) + 1).min(lines.len())].concat();
        let own: String = (0..self.dice.within(1, 3)).map(|_| self.line(by)).collect();
        let new = if self.dice.percent(50) { format!("{old}{own}") } else { own };
        Some((old, new))
    }

    /// Somebody edits a file on what stands there.
    fn change(&mut self, by: Writer, file: &str) {
        let Some(text) = self.text(file).filter(|_| !self.emptied.contains(file)) else { return };
        if let Some((old, new)) = self.edit(by, &text) {
            self.replace(by, file, &text.replacen(&old, &new, 1));
        }
    }

    /// Writes a file, sometimes so slowly that it can be seen empty.
    fn replace(&mut self, by: Writer, file: &str, text: &str) {
        if self.emptied.contains(file) {
            return;
        }
        if self.dice.percent(12) && self.text(file).is_some() {
            self.emptied.insert(file.to_owned());
            let old = self.text(file).unwrap_or_default();
            self.wrote(by, file, [&old, text]);
            self.world.tree.write(&full(file), b"", self.world.now.wall);
            let takes = self.dice.within(1, 5);
            // Written already for the truth: only the bytes are late.
            self.plan(takes, Beat::Refill(file.to_owned(), text.to_owned()));
            return;
        }
        self.put(by, file, text);
    }

    fn put(&mut self, by: Writer, file: &str, text: &str) {
        let old = self.text(file).unwrap_or_default();
        self.wrote(by, file, [&old, text]);
        self.world.tree.write(&full(file), text.as_bytes(), self.world.now.wall);
    }

    fn wrote(&mut self, by: Writer, file: &str, texts: [&str; 2]) {
        self.truth.wrote(by, texts, self.now);
        let unheard = |at: usize| {
            let op = &self.ops[at];
            op.heard.is_none() && matches!(op.work, Work::Shell | Work::Silent)
        };
        let stirs = match by {
            Writer::Call(at) => unheard(at),
            Writer::Job(_) | Writer::Person => true,
        };
        if stirs {
            self.truth.stir(file, self.now);
        }
    }

    fn remove(&mut self, by: Writer, file: &str) -> bool {
        let Some(text) = self.text(file).filter(|_| !self.emptied.contains(file)) else { return false };
        self.wrote(by, file, [&text, ""]);
        self.truth.moved(by, file, file);
        self.world.tree.remove(&full(file), self.world.now.wall)
    }

    // ── the judge ──

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
        for hunk in &listed.hunks {
            self.judge_hunk(&session, hunk, &mut table);
        }
        table
    }

    fn judge_hunk(&self, session: &SessionKey, hunk: &Hunk, table: &mut Table) {
        let path = String::from_utf8_lossy(hunk.path.as_bytes()).into_owned();
        for run in &hunk.author_lines {
            let (text, range) = match run.side {
                Side::Before => (&hunk.before, hunk.base_range),
                Side::After => (&hunk.after, hunk.current_range),
            };
            let text = String::from_utf8_lossy(text);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for number in run.lines.start..run.lines.end {
                let Some(line) = lines.get((number - range.start) as usize) else { continue };
                let mut moved = self.truth.movers(&path);
                if run.side == Side::Before {
                    moved.extend(self.truth.removed_too(line));
                }
                let truth = match run.side {
                    Side::Before => self.truth.remover(line),
                    Side::After => self.truth.writer(line),
                };
                if let Some((writer, at)) = truth {
                    self.judge_line((session, run), (&path, line), (writer, at, &moved), table);
                }
            }
        }
    }

    fn judge_line(
        &self,
        (session, run): (&SessionKey, &AuthorLines),
        (path, line): (&str, &str),
        (writer, at, moved): (Writer, u64, &BTreeSet<Writer>),
        table: &mut Table,
    ) {
        let row = match writer {
            Writer::Person => "person",
            Writer::Job(_) => "background job",
            Writer::Call(op) => self.ops[op].row(),
        };
        let credit = &run.credit;
        if credit.grade == Grade::Mediated && credit.calls.is_empty() {
            self.miss((writer, at), (path, line), Grade::InTurn, (row, table));
            return;
        }
        let named = |key: &hunkgate::ledger::CallKey| {
            let turn = key.turn.map(|turn| turn.0);
            let id = key.call.to_string();
            (key.session == *session)
                .then(|| self.ops.iter().position(|op| Some(op.turn) == turn && op.id == id))
                .flatten()
        };
        let calls: Vec<usize> = credit.calls.iter().filter_map(named).collect();
        let mut verdict = Verdict::Right;
        for &op in &calls {
            if writer == Writer::Call(op) || moved.contains(&Writer::Call(op)) {
                continue;
            }
            let claims = self.ops[op].claims();
            let (from, to) = self.ops[op].span;
            let between = matches!(writer, Writer::Call(_)) && credit.grade == Grade::Ordered;
            let untold = !claims && (between || at + 400 >= from && at <= to.saturating_add(700));
            let passes = self.ops[op].passes.is_some_and(|(from, to)| (from..=to).contains(&at));
            if untold || passes {
                verdict = Verdict::Beside;
                continue;
            }
            verdict = Verdict::Wrong;
            if claims {
                table.wrong_claims += 1
            } else {
                table.wrong_others += 1
            }
            table.wrongs.push(format!(
                "seed {}: {path}: {line:?} of {writer:?}{} at {at} is credited to {op} ({}, {}, {from}..{to}) as {}",
                self.seed,
                match writer {
                    Writer::Call(by) => format!(" ({}, {:?})", self.ops[by].work.as_str(), self.ops[by].span),
                    Writer::Job(_) | Writer::Person => String::new(),
                },
                self.ops[op].id,
                self.ops[op].work.as_str(),
                credit.grade.as_str(),
            ));
            break;
        }
        if calls.is_empty() && matches!(writer, Writer::Call(_)) {
            self.miss((writer, at), (path, line), credit.grade, (row, table));
            return;
        }
        table.count(row, verdict, credit.grade);
    }

    /// Counts a line that is attributed to nobody, and why.
    fn miss(
        &self,
        (writer, at): (Writer, u64),
        (path, line): (&str, &str),
        grade: Grade,
        (row, table): (&'static str, &mut Table),
    ) {
        table.count(row, Verdict::Nobody, grade);
        let Writer::Call(op) = writer else { return };
        let stirred = self.truth.was_stirred(path, at);
        let reason = Reason::of(&self.ops, op, (path, at), stirred);
        table.miss(row, reason);
        let own = &self.ops[op];
        table.missed.push(format!(
            "seed {}: {path}: {line:?} at {at} is {}, {}: {} ({}, {:?}, {:?}, heard {:?}, {:?})",
            self.seed,
            grade.as_str(),
            reason.as_str(),
            own.id,
            row,
            own.first,
            own.input,
            own.heard,
            own.span,
        ));
    }
}
