//! Two engines on one root, in any order, one of them killed: neither credits a call with a line of the other's agent.

use crate::support::world::World;
use bytes::Bytes;
use hunkgate::base::{Leg, RootId, SessionId};
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::{Cache, ListingShape, RootKind, Side};
use hunkgate::review::{Answer, Ask, Computed, compute};
use proptest::prelude::*;

const NAMES: [&str; 2] = ["a", "b"];
const FILES: [&str; 2] = ["f0.txt", "f1.txt"];
const LINES: usize = 6;

/// What one of the two agents does next.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// It announces an edit of one line, and tells its text.
    Edit { who: usize, file: usize, line: usize },
    /// It announces a command.
    Shell { who: usize },
    /// It writes what its open call is to write; a command one line of its own choice.
    Write { who: usize, file: usize, line: usize },
    /// It says that its open call is over.
    Done { who: usize },
    /// It ends its turn and is prompted again.
    Turn { who: usize },
    /// Time passes.
    Pass { ms: u16 },
    /// The second proxy is killed; its agent writes nothing more.
    Kill,
}

fn op() -> impl Strategy<Value = Op> {
    let (who, file, line) = (0..2usize, 0..FILES.len(), 0..LINES);
    let place = (who.clone(), file, line);
    prop_oneof![
        6 => place.clone().prop_map(|(who, file, line)| Op::Edit { who, file, line }),
        2 => who.clone().prop_map(|who| Op::Shell { who }),
        10 => place.prop_map(|(who, file, line)| Op::Write { who, file, line }),
        6 => who.clone().prop_map(|who| Op::Done { who }),
        1 => who.prop_map(|who| Op::Turn { who }),
        4 => (0..600u16).prop_map(|ms| Op::Pass { ms }),
        1 => Just(Op::Kill),
    ]
}

/// The call that an agent has open.
#[derive(Clone, Debug)]
enum Open {
    Edit { id: String, file: usize, old: String, new: String, written: bool },
    Shell { id: String },
}

struct Pair {
    worlds: [World; 2],
    /// Which of them has the files.
    at: usize,
    open: [Option<Open>; 2],
    requests: [u32; 2],
    calls: u32,
    killed: bool,
}

impl Pair {
    fn new() -> Self {
        let mut first = World::new(Config::default());
        first.tree.declare("/r", RootKind::Git);
        for file in FILES {
            let text: String = (0..LINES).map(|line| format!("{file} {line}\n")).collect();
            first.tree.write(&format!("/r/{file}"), text.as_bytes(), first.now.wall);
        }
        let worlds = [first, World::of_proxy(Config::default(), 2)];
        let mut pair = Self { worlds, at: 0, open: [None, None], requests: [3; 2], calls: 0, killed: false };
        for (who, name) in NAMES.into_iter().enumerate() {
            pair.editor(
                who,
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            );
            pair.agent(who, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentInfo":{{"name":"{name}","version":"1"}}}}}}"#));
            pair.editor(
                who,
                r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/r","mcpServers":[]}}"#,
            );
            pair.agent(who, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"{name}"}}}}"#));
            pair.prompt(who);
        }
        pair
    }

    /// Returns the world of one of them, with the files.
    fn world(&mut self, who: usize) -> &mut World {
        if self.at != who {
            let [first, second] = &mut self.worlds;
            let (from, to) = if who == 1 { (first, second) } else { (second, first) };
            from.pass_on(to);
            self.at = who;
        }
        &mut self.worlds[who]
    }

    fn feed(&mut self, who: usize, input: Input) {
        let world = self.world(who);
        world.pass(1);
        world.feed(input);
        for leg in [Leg::Editor, Leg::Agent] {
            world.heard(leg).clear();
        }
    }

    fn editor(&mut self, who: usize, line: &str) {
        self.feed(who, Input::FromEditor(Bytes::from(format!("{line}\n"))));
    }

    fn agent(&mut self, who: usize, line: &str) {
        self.feed(who, Input::FromAgent(Bytes::from(format!("{line}\n"))));
    }

    fn update(&mut self, who: usize, update: &str) {
        let name = NAMES[who];
        self.agent(who, &format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{name}","update":{{{update}}}}}}}"#));
    }

    fn prompt(&mut self, who: usize) {
        let (id, name) = (self.requests[who], NAMES[who]);
        self.editor(who, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{name}","prompt":[]}}}}"#));
    }

    fn end_turn(&mut self, who: usize) {
        let id = self.requests[who];
        self.agent(who, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn"}}}}"#));
        self.requests[who] += 1;
        self.open[who] = None;
    }

    fn lines(&mut self, file: usize) -> Vec<String> {
        let at = self.at;
        let bytes = self.worlds[at].tree.bytes(&format!("/r/{}", FILES[file])).unwrap_or_default();
        String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
    }

    fn replace(&mut self, file: usize, line: usize, new: &str) {
        let mut lines = self.lines(file);
        lines[line] = new.to_owned();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let world = &mut self.worlds[self.at];
        world.pass(1);
        world.tree.write(&format!("/r/{}", FILES[file]), text.as_bytes(), world.now.wall);
        world.pass(1);
    }

    fn play(&mut self, op: Op) {
        let gone = |who: usize| self.killed && who == 1;
        match op {
            Op::Edit { who, file, line } if !gone(who) && self.open[who].is_none() => {
                self.calls += 1;
                let (id, old) = (format!("e{}", self.calls), self.lines(file)[line].clone());
                let new = format!("{}:{id}", NAMES[who]);
                self.update(who, &format!(
                    r#""sessionUpdate":"tool_call","toolCallId":"{id}","title":"Edit","kind":"edit","status":"in_progress","content":[{{"type":"diff","path":"/r/{}","oldText":"{old}","newText":"{new}"}}]"#,
                    FILES[file]
                ));
                self.open[who] = Some(Open::Edit { id, file, old, new, written: false });
            }
            Op::Shell { who } if !gone(who) && self.open[who].is_none() => {
                self.calls += 1;
                let id = format!("s{}", self.calls);
                self.update(who, &format!(
                    r#""sessionUpdate":"tool_call","toolCallId":"{id}","title":"sh","kind":"execute","status":"in_progress""#
                ));
                self.open[who] = Some(Open::Shell { id });
            }
            Op::Write { who, file, line } if !gone(who) => match self.open[who].clone() {
                Some(Open::Edit { file, old, new, written: false, id }) => {
                    if let Some(line) = self.lines(file).iter().position(|line| *line == old) {
                        self.replace(file, line, &new);
                    }
                    self.open[who] = Some(Open::Edit { id, file, old, new, written: true });
                }
                Some(Open::Shell { id }) => {
                    self.calls += 1;
                    let new = format!("{}:{id} {}", NAMES[who], self.calls);
                    self.replace(file, line, &new);
                }
                Some(Open::Edit { written: true, .. }) | None => {}
            },
            Op::Done { who } if !gone(who) => {
                let Some(Open::Edit { id, .. } | Open::Shell { id }) = self.open[who].take() else { return };
                self.update(
                    who,
                    &format!(
                        r#""sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"completed""#
                    ),
                );
            }
            Op::Turn { who } if !gone(who) => {
                self.end_turn(who);
                self.prompt(who);
            }
            Op::Pass { ms } => self.worlds[self.at].pass(u32::from(ms)),
            Op::Kill if !self.killed => {
                self.world(0);
                self.killed = true;
                let root = RootId::derive(b"/r");
                let [first, second] = &mut self.worlds;
                first.find_dead(second, &root);
            }
            Op::Edit { .. }
            | Op::Shell { .. }
            | Op::Write { .. }
            | Op::Done { .. }
            | Op::Turn { .. }
            | Op::Kill => {}
        }
    }

    fn listing(&mut self, who: usize) -> ListingShape {
        let world = self.world(who);
        let ledger = world.ledger();
        let (key, _) = ledger
            .sessions()
            .find(|(key, _)| ledger.raw_session(key) == SessionId::new(NAMES[who]))
            .expect("it was opened");
        let ask = Ask::Hunks { paths: Vec::new() };
        let computed = compute(ledger, key, &ask, &world.tree, &mut Cache::default());
        let Computed::Answer(Answer::Listing(listing)) = computed else { panic!("no listing: {computed:?}") };
        listing
    }

    /// Says which lines carry a call that did not write them: every line says who wrote it, and in which call.
    fn lies(&mut self, who: usize) -> Vec<String> {
        let mut lies = Vec::new();
        for hunk in self.listing(who).hunks {
            let lines: Vec<&str> = hunk.after_content.lines().collect();
            for run in hunk.author_lines.iter().filter(|run| run.side == Side::After) {
                for line in run.start..run.end {
                    let text = lines[(line - hunk.current_range.start) as usize];
                    let truth = text.split(' ').next().unwrap_or_default();
                    for call in &run.calls {
                        if truth != format!("{}:{}", call.session_id, call.tool_call_id) {
                            lies.push(format!("to {}: {text:?} is credited to {call:?}", NAMES[who]));
                        }
                    }
                }
            }
        }
        lies
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_call_of_two_proxies_is_credited_with_a_line_of_the_other(ops in prop::collection::vec(op(), 1..60)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.play(*op);
        }
        let alive = if pair.killed { 1 } else { 2 };
        for who in 0..alive {
            pair.end_turn(who);
        }
        for who in 0..alive {
            // Whoever asks looks first, and hears what the other wrote in the chain.
            pair.prompt(who);
            prop_assert_eq!(pair.lies(who), Vec::<String>::new());
        }
    }
}

#[test]
fn each_of_two_proxies_names_the_session_and_call_of_the_other() {
    let mut pair = Pair::new();
    for who in 0..2 {
        pair.play(Op::Edit { who, file: 0, line: 3 * who });
    }
    for who in 0..2 {
        pair.play(Op::Write { who, file: 0, line: 0 });
    }
    pair.play(Op::Kill);
    pair.play(Op::Done { who: 0 });
    pair.end_turn(0);
    pair.prompt(0);
    let listing = pair.listing(0);
    let rows: Vec<_> =
        listing.hunks.iter().map(|hunk| (&hunk.tool_call_ids, &hunk.evidence.sessions)).collect();
    assert_eq!(rows.len(), 2, "{listing:#?}");
    assert_eq!((rows[0].0.len(), rows[0].1.len()), (1, 0));
    let other = rows[1].1.first().map(|other| {
        (
            other.session_id.as_str(),
            other.agent.as_str(),
            other.tool_call_id.as_ref().map(|call| call.as_str()),
        )
    });
    assert_eq!((rows[1].0.len(), other), (0, Some(("b", "b", Some("e2")))));
}
