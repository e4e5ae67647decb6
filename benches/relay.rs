//! The relay path against plain copiers: between processes, as `hunkgate run` runs it, and in one process.
//!
//! The executable is its own peers: it starts itself again as the scripted agent and as the copier between two pipes.
//! Prints medians and ratios; asserts nothing about time. `HUNKGATE_BENCH_LINES` and `HUNKGATE_BENCH_ROUNDS` make it
//! shorter, `CONDUCTOR` names a conductor that is not on the `PATH`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "relay/machine.rs"]
mod machine;
#[path = "relay/peers.rs"]
mod peers;
#[path = "relay/processes.rs"]
mod processes;

use bytes::Bytes;
use hunkgate::base::{Leg, Tick};
use hunkgate::engine::{Action, Engine, Input, Setup};
use hunkgate::wire::{Splitter, head};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

const LINES: usize = 100_000;
const ROUNDS: usize = 15;
const CHUNK: usize = 64 * 1024;

/// What a line router with borrowed serde looks at.
#[derive(Deserialize)]
pub(crate) struct Peek<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(peers::AGENT) => peers::agent(),
        Some(peers::COPIER) => peers::copier(&words[1..]),
        Some(peers::CHAINED_COPIER) => peers::chained_copier(),
        _ => {
            processes::tables();
            in_process();
        }
    }
}

/// The same lines without pipes or threads: what the code itself costs.
fn in_process() {
    println!("\nin one process, {LINES} notifications, medians of {ROUNDS} rounds");
    let input = notifications();
    let names = ["copier", "copier that peeks with borrowed serde", "copier that reads heads", "engine"];
    let runs: [fn(&[u8]) -> usize; 4] = [copier, peeking, heads, engine];
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..ROUNDS {
        for (run, times) in runs.iter().zip(&mut times) {
            let start = Instant::now();
            let passed = black_box(run(&input));
            times.push(start.elapsed());
            assert_eq!(passed, input.len(), "every byte passes");
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    for (name, took) in names.iter().zip(&medians) {
        let line = took.as_nanos() / LINES as u128;
        let share = medians[1].as_secs_f64() / took.as_secs_f64() * 100.0;
        println!("{name:40} {took:>10.2?}  {line:>6} ns a line  {share:>5.0} % of the copier that peeks");
    }
}

fn notifications() -> Vec<u8> {
    (0..LINES).map(notification).collect::<String>().into_bytes()
}

/// One small notification, with its terminator.
pub(crate) fn notification(n: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"word {n} of a sentence"}}}}}}}}"#
    ) + "\n"
}

/// Cuts the input into lines and hands each to `each`, which says what is sent on.
fn relay(input: &[u8], mut each: impl FnMut(Bytes, &mut Vec<u8>)) -> usize {
    let mut splitter = Splitter::default();
    let mut out = Vec::with_capacity(CHUNK * 2);
    let mut passed = 0;
    for chunk in input.chunks(CHUNK) {
        splitter.push(chunk);
        while let Some(piece) = splitter.next_piece() {
            each(piece.into_bytes(), &mut out);
        }
        passed += black_box(&out).len();
        out.clear();
    }
    passed
}

fn copier(input: &[u8]) -> usize {
    relay(input, |line, out| out.extend_from_slice(&line))
}

fn peeking(input: &[u8]) -> usize {
    relay(input, |line, out| {
        if let Ok(peek) = serde_json::from_slice::<Peek<'_>>(&line) {
            black_box((peek.id, peek.method, peek.params));
        }
        out.extend_from_slice(&line);
    })
}

fn heads(input: &[u8]) -> usize {
    relay(input, |line, out| {
        black_box(head(&line));
        out.extend_from_slice(&line);
    })
}

fn engine(input: &[u8]) -> usize {
    let mut engine = connected();
    relay(input, |line, out| {
        for action in engine.step(Tick::default(), Input::FromAgent(line)) {
            if let Action::Send { leg: Leg::Editor, bytes } = action {
                out.extend_from_slice(&bytes);
            }
        }
    })
}

/// An engine with a session in it.
fn connected() -> Engine {
    let mut engine = Engine::new(Setup::bare("bench"));
    let editor = |text: &'static str| Input::FromEditor(Bytes::from_static(text.as_bytes()));
    let agent = |text: &'static str| Input::FromAgent(Bytes::from_static(text.as_bytes()));
    for input in [
        editor("{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n"),
        agent("{\"id\":0,\"result\":{\"protocolVersion\":1}}\n"),
        editor("{\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/w\"}}\n"),
        agent("{\"id\":1,\"result\":{\"sessionId\":\"s1\"}}\n"),
    ] {
        engine.step(Tick::default(), input);
    }
    engine
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
