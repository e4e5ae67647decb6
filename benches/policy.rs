//! What it costs to judge one command (a usual one must be at most 1 ms), over every command of the corpora, and what hostile texts
//! cost: `cargo bench --bench policy`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the world, with the tests' own corpora"
)]

use hunkgate::config::{Config, Decision, Mode, Written};
use hunkgate::policy::{Context, Flat, Policy, judge_command};
use std::hint::black_box;
use std::time::{Duration, Instant};

const RULES: &str = "[permissions]\nallow = ['Bash(cargo test:*)', 'Read(docs/**)']\nask = ['Bash(git push:*)']\n\
                     deny = ['Read(./.env)', 'Bash(curl:*)']\n";
const ROUNDS: u32 = 20;

fn main() {
    let written = Written::parse("config.toml", RULES).unwrap();
    let policy = Policy::of(&Config::of(Some(&written), None), Some("/home/u")).unwrap();
    println!(
        "{:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "corpus", "commands", "median", "p95", "p99", "most", "> 1 ms"
    );
    for name in ["reading", "bypass", "floors"] {
        let path = format!("{}/tests/policy_corpus/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let commands: Vec<String> =
            rows.filter_map(|line| Some(line.splitn(3, '\t').nth(2)?.replace('⏎', "\n"))).collect();
        let mut times: Vec<Duration> = commands.iter().map(|command| cost(command, &policy)).collect();
        times.sort();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        let slow = times.iter().filter(|time| **time > Duration::from_millis(1)).count();
        let row = [at(50), at(95), at(99), at(100)].map(|time| format!("{time:>9.1?}")).join(" ");
        println!("{name:>9} {:>8} {row} {slow:>8}", times.len());
    }
    for (name, text) in [
        ("1 MiB of one word", "a".repeat(1 << 20)),
        ("100,000 openers", "$(".repeat(100_000)),
        ("1 MiB of `ls;`", "ls;".repeat(350_000)),
    ] {
        let begun = Instant::now();
        assert_ne!(judge(&text, &policy), Decision::Allow);
        println!("{name}: {:.1?}", begun.elapsed());
    }
}

/// The least of several rounds: what else the machine does is not what it costs.
fn cost(command: &str, policy: &Policy) -> Duration {
    let round = |_| {
        let begun = Instant::now();
        black_box(judge(black_box(command), policy));
        begun.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

fn judge(command: &str, policy: &Policy) -> Decision {
    let ground = Flat;
    judge_command(command, policy, Mode::Normal, &Context::at("/w/p", &ground)).decision
}
