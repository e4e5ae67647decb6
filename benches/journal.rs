//! Appending and replaying a journal of 100,000 records; a replay must read at least 200,000 records a second.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the world"
)]

use hunkgate::base::{CallId, ProxyId, SessionKey, TurnNo, WallNs, WindowId};
use hunkgate::ledger::{
    Bound, CallFacts, Closing, Event, Hi, Log, Purpose, Record, Redactor, ToolKind, Window,
};
use hunkgate::store::{Durability, Journal, read_journal};
use std::time::Instant;

const RECORDS: u32 = 100_000;

fn main() {
    let dir = std::env::temp_dir().join(format!("hunkgate-bench-journal-{}", std::process::id()));
    let path = dir.join("ledger.jsonl");
    let log = Log::Session(SessionKey::new("bench"));
    let (mut journal, _) = Journal::open(&path, &log).unwrap();
    let records: Vec<_> = (0..RECORDS).map(record).collect();
    let start = Instant::now();
    for record in &records {
        journal.append(record, Durability::Written).unwrap();
    }
    say("append", start.elapsed().as_secs_f64());
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let replay = read_journal(&path, &log).unwrap();
        assert_eq!(replay.records.len(), records.len());
        best = best.min(start.elapsed().as_secs_f64());
    }
    say("replay", best);
    std::fs::remove_dir_all(&dir).unwrap();
}

fn say(what: &str, seconds: f64) {
    println!("{what}: {:.0} records a second", f64::from(RECORDS) / seconds);
}

fn record(n: u32) -> Record {
    let id = WindowId::new(format!("w-bench-{n}"));
    let event = match n % 3 {
        0 => Event::WindowOpened(Window {
            id,
            proxy: ProxyId::new("bench"),
            session: SessionKey::new("bench"),
            turn: Some(TurnNo(n / 50)),
            purpose: Purpose::Call(CallFacts {
                call: CallId::new(format!("call_{n}")),
                title: Redactor::new([0; 32]).redact("Edit src/main.rs"),
                kind: ToolKind::Edit,
                read_only: false,
                asked: None,
            }),
            opened: WallNs(i64::from(n)),
            lo: Bound::Soft,
            closed: None,
            parent: None,
        }),
        1 => Event::WindowClosed {
            window: id,
            closing: Closing { at: WallNs(i64::from(n)), hi: Hi::Reported },
        },
        _ => Event::TurnStarted { turn: TurnNo(n) },
    };
    Record { at: WallNs(i64::from(n)), event }
}
