//! Laws 1 to 5, over the engine in its virtual world: whatever two peers say, in whatever order looks come back.

use crate::support::world::{Frame, World};
use bytes::Bytes;
use hunkgate::base::{Leg, WallNs};
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::{Event, RootKind};
use hunkgate::wire::{Head, head};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens next.
#[derive(Clone, Debug)]
enum Op {
    Prompt { session: u8, text: &'static str },
    Cancel { session: u8 },
    SetMode { session: u8 },
    AnswerEditor { pick: u8, kind: u8 },
    AnswerAgent { pick: u8, fails: bool },
    CancelRequest { from: Leg, pick: u8 },
    Call { session: u8, call: u8, status: u8, path: u8 },
    Chunk { session: u8 },
    Commands { session: u8 },
    Permission { session: u8, call: u8 },
    FsWrite { session: u8, path: u8 },
    Terminal { session: u8 },
    Junk { from: Leg, kind: u8 },
    Write { path: u8, line: u8 },
    Pass { ms: u16 },
    Wake,
    Stall,
    Capture,
    Fail,
}

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![Just(Leg::Editor), Just(Leg::Agent)]
}

fn op() -> impl Strategy<Value = Op> {
    let text = prop_oneof![
        6 => Just("do it"),
        1 => Just("/compact"),
        1 => Just("$skill"),
        1 => Just("/hunkgate status"),
        1 => Just("/hunkgate bogus"),
    ];
    prop_oneof![
        6 => (0..2u8, text).prop_map(|(session, text)| Op::Prompt { session, text }),
        2 => (0..2u8).prop_map(|session| Op::Cancel { session }),
        1 => (0..2u8).prop_map(|session| Op::SetMode { session }),
        6 => (any::<u8>(), 0..4u8).prop_map(|(pick, kind)| Op::AnswerEditor { pick, kind }),
        6 => (any::<u8>(), prop::bool::weighted(0.2)).prop_map(|(pick, fails)| Op::AnswerAgent { pick, fails }),
        1 => (leg(), any::<u8>()).prop_map(|(from, pick)| Op::CancelRequest { from, pick }),
        8 => (0..2u8, 0..4u8, 0..4u8, 0..3u8)
            .prop_map(|(session, call, status, path)| Op::Call { session, call, status, path }),
        4 => (0..2u8).prop_map(|session| Op::Chunk { session }),
        1 => (0..2u8).prop_map(|session| Op::Commands { session }),
        4 => (0..2u8, 0..4u8).prop_map(|(session, call)| Op::Permission { session, call }),
        3 => (0..2u8, 0..3u8).prop_map(|(session, path)| Op::FsWrite { session, path }),
        2 => (0..2u8).prop_map(|session| Op::Terminal { session }),
        5 => (leg(), 0..JUNK).prop_map(|(from, kind)| Op::Junk { from, kind }),
        4 => (0..3u8, 0..6u8).prop_map(|(path, line)| Op::Write { path, line }),
        3 => (0..3_000u16).prop_map(|ms| Op::Pass { ms }),
        2 => Just(Op::Wake),
        2 => Just(Op::Stall),
        3 => Just(Op::Capture),
        1 => Just(Op::Fail),
    ]
}

const JUNK: u8 = 10;

/// Lines that concern nobody, each unlike any other by its number.
fn junk(kind: u8, n: u64) -> Vec<u8> {
    match kind {
        0 => format!("[{{\"jsonrpc\":\"2.0\",\"method\":\"x\"}},{n}]\n").into_bytes(),
        1 => [b"\xff\xfe not text ".as_slice(), n.to_string().as_bytes(), b"\r\n"].concat(),
        2 => format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"_vendor/x\",\"params\":{{\"n\":{n},\"f\":1e3,\"z\":-0}}}}\n"
        )
        .into_bytes(),
        3 => format!("{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"method\":\"b\",\"n\":{n}}}\n").into_bytes(),
        4 => format!("{{\"method\":\"x\",\"params\":{}{n}{}}}\n", "[".repeat(500), "]".repeat(500))
            .into_bytes(),
        5 => format!("{{\"jsonrpc\":\"2.0\",\"id\":\"nobody-{n}\",\"result\":null}}\r\n").into_bytes(),
        6 => format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"s\":\"\\ud800\",\"n\":{n}}}}}\n")
            .into_bytes(),
        7 => format!("plain words {n}\n").into_bytes(),
        8 => format!(" {{ \"id\" : \"q{n}\" , \"method\" : \"session\\/unheard\" }}\n").into_bytes(),
        _ => format!("\u{feff}{{\"jsonrpc\":\"2.0\",\"method\":\"bom\",\"params\":{n}}}\n").into_bytes(),
    }
}

/// Two peers and what they have seen.
struct Play {
    world: World,
    n: u64,
    /// Frames of the intervention table, by the leg they go to.
    table: BTreeMap<bool, Vec<Bytes>>,
    /// Every other frame, in order, by the leg they go to.
    plain: BTreeMap<bool, Vec<Bytes>>,
    /// What each peer was sent, in order.
    sent: BTreeMap<bool, Vec<Frame>>,
    /// Requests that reached a peer and that it has not answered.
    open: BTreeMap<bool, Vec<(String, String)>>,
    /// Prompts of ours, by id.
    slashes: BTreeSet<String>,
    /// Every request that was asked, by the leg that asked.
    asked: BTreeMap<bool, Vec<String>>,
    cancels: u32,
    /// Lists of the agent's commands, by the number that stands in each.
    lists: Vec<u64>,
}

fn key(leg: Leg) -> bool {
    leg == Leg::Editor
}

impl Play {
    /// A client that can be asked at a turn's end has a name that is known.
    fn new(client: &str) -> Self {
        let mut world = World::new(Config::default());
        world.tree.declare("/v/root", RootKind::Git);
        let mut play = Self {
            world,
            n: 100,
            table: BTreeMap::new(),
            plain: BTreeMap::new(),
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
            slashes: BTreeSet::new(),
            asked: BTreeMap::new(),
            cancels: 0,
            lists: Vec::new(),
        };
        play.world.tree.write("/v/root/f0", b"one\ntwo\nthree\n", WallNs(1));
        play.say(
            Leg::Editor,
            &format!(
                r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":1,"clientInfo":{{"name":"{client}"}}}}}}"#
            ),
        );
        play.say(
            Leg::Agent,
            r#"{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1,"agentInfo":{"name":"a"}}}"#,
        );
        for session in 0..2 {
            let id = format!("n{session}");
            let ask = format!(
                r#"{{"jsonrpc":"2.0","id":"{id}","method":"session/new","params":{{"cwd":"/v/root","mcpServers":[]}}}}"#
            );
            play.say(Leg::Editor, &ask);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"sessionId":"s{session}"}}}}"#);
            play.say(Leg::Agent, &answer);
        }
        play
    }

    /// A frame that only passes.
    fn say(&mut self, from: Leg, line: &str) {
        self.raw(from, format!("{line}\n").into_bytes());
    }

    fn raw(&mut self, from: Leg, line: Vec<u8>) {
        let line = Bytes::from(line);
        self.plain.entry(key(from.other())).or_default().push(line.clone());
        self.hear(from, line);
    }

    /// A frame that may wait, or be changed.
    fn table(&mut self, from: Leg, line: &str) {
        let line = Bytes::from(format!("{line}\n"));
        self.table.entry(key(from.other())).or_default().push(line.clone());
        self.hear(from, line);
    }

    fn hear(&mut self, from: Leg, line: Bytes) {
        let input = if from == Leg::Editor { Input::FromEditor(line) } else { Input::FromAgent(line) };
        self.world.feed(input);
        self.collect();
    }

    fn collect(&mut self) {
        for leg in [Leg::Editor, Leg::Agent] {
            let frames: Vec<Frame> = self.world.heard(leg).drain(..).collect();
            for frame in frames {
                if let Head::Request { id, method, .. } = head(&frame.bytes) {
                    let seen = (id.get().to_owned(), method.into_owned());
                    self.open.entry(key(leg)).or_default().push(seen);
                }
                self.sent.entry(key(leg)).or_default().push(frame);
            }
        }
        assert_eq!(self.world.folded(), *self.world.ledger(), "law 5: the journal is not the ledger");
    }

    fn request(&mut self, from: Leg, method: &str, params: &str) -> String {
        self.n += 1;
        let id = format!("\"r{}\"", self.n);
        self.asked.entry(key(from)).or_default().push(id.clone());
        self.table(from, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        id
    }

    fn update(&mut self, body: &str, session: u8) {
        self.n += 1;
        let n = self.n;
        self.say(
            Leg::Agent,
            &format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s{session}","update":{{{body}}},"_meta":{n}}}}}"#
            ),
        );
    }

    fn take(&mut self, by: Leg, pick: u8) -> Option<(String, String)> {
        let open = self.open.entry(key(by)).or_default();
        if open.is_empty() { None } else { Some(open.remove(usize::from(pick) % open.len())) }
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each thing that can happen")]
    fn act(&mut self, op: Op) {
        match op {
            Op::Prompt { session, text } => {
                let params =
                    format!(r#"{{"sessionId":"s{session}","prompt":[{{"type":"text","text":"{text}"}}]}}"#);
                let ours = text.starts_with("/hunkgate");
                if ours {
                    self.slashes.insert(format!("\"r{}\"", self.n + 1));
                }
                self.request(Leg::Editor, "session/prompt", &params);
            }
            Op::Cancel { session } => {
                self.n += 1;
                self.cancels += 1;
                let line = format!(
                    r#"{{"jsonrpc":"2.0","method":"session/cancel","params":{{"sessionId":"s{session}","_meta":{}}}}}"#,
                    self.n
                );
                let line = Bytes::from(format!("{line}\n"));
                self.hear(Leg::Editor, line);
            }
            Op::SetMode { session } => {
                let params = format!(r#"{{"sessionId":"s{session}","modeId":"m{}"}}"#, self.n);
                self.request(Leg::Editor, "session/set_mode", &params);
            }
            Op::AnswerEditor { pick, kind } => {
                let Some((id, method)) = self.take(Leg::Editor, pick) else { return };
                if id.starts_with("\"hunkgate-") {
                    let result = [
                        r#""error":{"code":-32000,"message":"no"}"#,
                        r#""result":{"outcome":{"outcome":"cancelled"}}"#,
                        r#""result":{"outcome":{"outcome":"selected","optionId":"hunkgate-revert"}}"#,
                        r#""result":{"outcome":{"outcome":"selected","optionId":"hunkgate-keep"}}"#,
                    ][usize::from(kind)];
                    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{result}}}\n");
                    return self.hear(Leg::Editor, Bytes::from(line));
                }
                let result = match (method.as_str(), kind) {
                    (_, 0) => r#""error":{"code":-32000,"message":"no"}"#,
                    ("session/request_permission", 1) => r#""result":{"outcome":{"outcome":"cancelled"}}"#,
                    ("session/request_permission", 2) => {
                        r#""result":{"outcome":{"outcome":"selected","optionId":"no"}}"#
                    }
                    ("session/request_permission", _) => {
                        r#""result":{"outcome":{"outcome":"selected","optionId":"ok"}}"#
                    }
                    ("terminal/create", _) => r#""result":{"terminalId":"t"}"#,
                    _ => r#""result":{}"#,
                };
                self.table(Leg::Editor, &format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#));
            }
            Op::AnswerAgent { pick, fails } => {
                let Some((id, _)) = self.take(Leg::Agent, pick) else { return };
                let result = if fails {
                    r#""error":{"code":-32000,"message":"no"}"#
                } else {
                    r#""result":{"stopReason":"end_turn"}"#
                };
                self.table(Leg::Agent, &format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#));
            }
            Op::CancelRequest { from, pick } => {
                let mine = self.asked.entry(key(from)).or_default();
                if mine.is_empty() {
                    return;
                }
                let id = mine[usize::from(pick) % mine.len()].clone();
                self.n += 1;
                self.table(
                    from,
                    &format!(
                        r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id},"_meta":{}}}}}"#,
                        self.n
                    ),
                );
            }
            Op::Call { session, call, status, path } => {
                let status = ["pending", "in_progress", "completed", "failed"][usize::from(status)];
                let body = format!(
                    r#""sessionUpdate":"tool_call_update","toolCallId":"c{call}","title":"T","kind":"edit","status":"{status}","locations":[{{"path":"/v/root/f{path}"}}]"#
                );
                self.update(&body, session);
            }
            Op::Chunk { session } => {
                self.update(
                    r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hm"}"#,
                    session,
                );
            }
            Op::Commands { session } => {
                let line = format!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s{session}","update":{{"sessionUpdate":"available_commands_update","availableCommands":[{{"name":"compact","description":"theirs {}"}}]}}}}}}"#,
                    self.n
                );
                self.lists.push(self.n);
                self.n += 1;
                self.hear(Leg::Agent, Bytes::from(format!("{line}\n")));
            }
            Op::Permission { session, call } => {
                let params = format!(
                    r#"{{"sessionId":"s{session}","toolCall":{{"toolCallId":"c{call}"}},"options":[{{"optionId":"ok","name":"o","kind":"allow_once"}},{{"optionId":"no","name":"n","kind":"reject_once"}}]}}"#
                );
                self.request(Leg::Agent, "session/request_permission", &params);
            }
            Op::FsWrite { session, path } => {
                let params =
                    format!(r#"{{"sessionId":"s{session}","path":"/v/root/f{path}","content":"x\n"}}"#);
                self.request(Leg::Agent, "fs/write_text_file", &params);
            }
            Op::Terminal { session } => {
                let params = format!(r#"{{"sessionId":"s{session}","command":"make"}}"#);
                self.request(Leg::Agent, "terminal/create", &params);
            }
            Op::Junk { from, kind } => {
                self.n += 1;
                let line = junk(kind, self.n);
                self.raw(from, line);
            }
            Op::Write { path, line } => {
                let at = self.world.now.wall;
                let text = format!("one\nline {line}\nthree\n");
                self.world.tree.write(&format!("/v/root/f{path}"), text.as_bytes(), at);
            }
            Op::Pass { ms } => self.world.pass(u32::from(ms)),
            Op::Wake => self.world.feed(Input::Woken),
            Op::Stall => self.world.stall(),
            Op::Capture => self.world.capture(),
            Op::Fail => self.world.fail("a test's fault"),
        }
        self.collect();
    }

    /// Lets every deadline pass: nothing is held after it.
    fn end(&mut self) {
        self.world.capture();
        for _ in 0..4 {
            self.world.pass(11_000);
        }
        for _ in 0..4 {
            self.world.pass(600_000);
        }
        self.collect();
    }

    fn check(&self) {
        for leg in [Leg::Editor, Leg::Agent] {
            let none = Vec::new();
            let nothing = Vec::new();
            let sent: Vec<&Bytes> =
                self.sent.get(&key(leg)).unwrap_or(&none).iter().map(|f| &f.bytes).collect();
            let plain = self.plain.get(&key(leg)).unwrap_or(&nothing);
            let passed: Vec<&Bytes> = sent.iter().copied().filter(|line| plain.contains(line)).collect();
            assert_eq!(
                passed,
                plain.iter().collect::<Vec<_>>(),
                "law 1: what only passes, in order, to {leg:?}"
            );
            for line in self.table.get(&key(leg)).unwrap_or(&nothing) {
                self.check_table(leg, line, &sent);
            }
        }
        for n in &self.lists {
            let mine = format!("\"theirs {n}\"");
            let heard = self.sent.get(&true).into_iter().flatten();
            let count = heard.filter(|frame| String::from_utf8_lossy(&frame.bytes).contains(&mine)).count();
            assert_eq!(count, 1, "law 3: a list of commands was lost or doubled");
        }
        self.check_answers();
        self.check_order();
        self.check_page();
    }

    /// Whatever leaves that did not come in is named on the page of what is touched.
    fn check_page(&self) {
        let page = include_str!("../../docs/protocol.md");
        for leg in [Leg::Editor, Leg::Agent] {
            let came = |line: &Bytes| {
                [&self.plain, &self.table]
                    .iter()
                    .any(|of| of.get(&key(leg)).is_some_and(|all| all.contains(line)))
            };
            let ours = self.sent.get(&key(leg)).into_iter().flatten().filter(|frame| !came(&frame.bytes));
            for frame in ours {
                let named = match head(&frame.bytes) {
                    Head::Request { method, .. } | Head::Notification { method, .. } => {
                        page.contains(&format!("`{method}`"))
                    }
                    Head::Response { .. } => {
                        let text = String::from_utf8_lossy(&frame.bytes);
                        text.contains("\"stopReason\"") || text.contains("-32603")
                    }
                    Head::Unreadable => false,
                };
                let ours = String::from_utf8_lossy(&frame.bytes);
                assert!(
                    named || frame.bytes.starts_with(br#"{"jsonrpc":"2.0","method":"session/cancel""#),
                    "docs/protocol.md does not name {ours}"
                );
            }
        }
    }

    /// A frame of the table leaves once: as it came, or (a prompt) with our note at its end. Prompts of ours never leave.
    fn check_table(&self, leg: Leg, line: &Bytes, sent: &[&Bytes]) {
        let same = sent.iter().filter(|other| **other == line).count();
        if let Head::Request { id, method, .. } = head(line)
            && method == "session/prompt"
        {
            let forms = sent.iter().filter(|other| {
                matches!(head(other), Head::Request { id: of, method, .. } if of == id && method == "session/prompt")
            });
            let expected = usize::from(!self.slashes.contains(id.get()));
            assert_eq!(forms.count(), expected, "law 3: {:?}", String::from_utf8_lossy(line));
            return;
        }
        if let Head::Response { .. } = head(line) {
            let cancelled = String::from_utf8_lossy(line).replace("end_turn", "cancelled");
            let forms =
                sent.iter().filter(|other| **other == line || String::from_utf8_lossy(other) == cancelled);
            assert!(forms.count() >= 1, "law 3: an answer was lost on its way to {leg:?}: {cancelled}");
            return;
        }
        // Taking a prompt back whose answer is held for a question only ends the question.
        let taken_back = leg == Leg::Agent
            && matches!(head(line), Head::Notification { method, .. } if method == "$/cancel_request");
        assert!(
            same == 1 || (same == 0 && taken_back),
            "law 3: to {leg:?} {same} times: {:?}",
            String::from_utf8_lossy(line)
        );
    }

    /// Every request of a peer gets at most one answer under its own id, and each of our commands exactly one.
    fn check_answers(&self) {
        for leg in [Leg::Editor, Leg::Agent] {
            let mut answers: BTreeMap<String, usize> = BTreeMap::new();
            for frame in self.sent.get(&key(leg)).into_iter().flatten() {
                if let Head::Response { id, .. } = head(&frame.bytes) {
                    *answers.entry(id.get().to_owned()).or_default() += 1;
                }
            }
            for id in self.asked.get(&key(leg)).into_iter().flatten() {
                let count = answers.get(id).copied().unwrap_or(0);
                assert!(count <= 1, "law 2: {id} was answered {count} times");
                if leg == Leg::Editor && self.slashes.contains(id) {
                    assert_eq!(count, 1, "law 2: our own command {id} was not answered");
                }
            }
        }
    }

    /// A note is journaled before the prompt that carries it leaves.
    fn check_order(&self) {
        for entry in &self.world.journal {
            let Event::NoteSent { note, .. } = &entry.record.event else { continue };
            let carrier = self
                .sent
                .get(&key(Leg::Agent))
                .into_iter()
                .flatten()
                .find(|frame| String::from_utf8_lossy(&frame.bytes).contains(note.as_str()));
            if let Some(frame) = carrier {
                assert!(
                    entry.order < frame.order && entry.synced,
                    "law 4: {note} left before it was journaled"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_peers_say_passes_once_in_order_and_the_journal_is_the_ledger(
        ops in proptest::collection::vec(op(), 1..80), client in prop_oneof![Just("editor"), Just("zed")],
    ) {
        let mut play = Play::new(client);
        for op in ops {
            play.act(op);
        }
        play.end();
        play.check();
    }
}
