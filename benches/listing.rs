//! What a listing costs after a change of one of 500 files, by the number of calls in the session (must be at most 50 ms,
//! whatever the number): `cargo bench --bench listing`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    dead_code,
    reason = "a bench measures the world, with the tests' own chronicle"
)]

#[path = "../tests/laws/chronicle.rs"]
mod chronicle;

use chronicle::Chronicle;
use hunkgate::ledger::{ToolKind, Why, listing};
use std::time::{Duration, Instant};

const FILES: usize = 500;
const ROUNDS: usize = 15;

fn main() {
    println!("{:>8} {:>12} {:>9}", "calls", "median", "must be");
    for calls in [100, 1_000, 10_000] {
        println!("{calls:>8} {:>12.2?} {:>9}", measure(calls), "<= 50ms");
    }
}

fn text(file: usize, version: usize) -> String {
    (0..40).map(|line| format!("line {line} of {file}{}\n", if line == 20 { version } else { 0 })).collect()
}

fn measure(calls: usize) -> Duration {
    let names: Vec<String> = (0..FILES).map(|file| format!("f{file}")).collect();
    let texts: Vec<String> = (0..FILES).map(|file| text(file, 0)).collect();
    let base: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let mut told = Chronicle::new(&base);
    told.prompt("s");
    for call in 0..calls.max(FILES) {
        let (id, file) = (format!("c{}", call % calls), call % FILES);
        if call < calls {
            told.wait(300).call("s", &id, ToolKind::Execute).wait(5);
        }
        told.write(&names[file], &text(file, call + 1)).wait(5);
        if call < calls {
            told.done("s", &id).look(Why::WindowClosed);
        }
    }
    told.end("s");
    let key = told.key("s");
    let mut times: Vec<Duration> = (0..=ROUNDS)
        .map(|round| {
            told.wait(10).write(&names[round], &text(round, 1_000_000 + round)).look(Why::Activity);
            let begun = Instant::now();
            let listed = listing(&told.ledger, &key, &told.blobs, &mut told.cache);
            assert_eq!(listed.hunks.len(), FILES);
            begun.elapsed()
        })
        .skip(1)
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
