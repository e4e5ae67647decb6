//! The race harness: `cargo run --release --example race -- [--seeds N] [--seed N] [--person] [--trace]`.
//!
//! Prints, per kind of call and grade, how the lines that a scripted agent, its background jobs and a person wrote were
//! attributed. Without `--person` it is played with and without one. It ends with 1 where a line is attributed wrongly.

#![allow(
    clippy::print_stdout,
    clippy::exit,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a measure that a person starts"
)]

#[path = "../tests/race/mod.rs"]
mod race;
#[path = "../tests/race/support.rs"]
mod support;

use race::op::Draw;
use race::stage::{Cast, Race};
use race::table::Table;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    let value = |name: &str| -> Option<u64> {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let seeds = match value("--seed") {
        Some(seed) => seed..seed + 1,
        None => 0..value("--seeds").unwrap_or(2_000),
    };
    let draws: &[Draw] =
        if has("--hostile") { &[Draw::Hostile] } else { &[Draw::Measured, Draw::Loose, Draw::Hostile] };
    let people: &[bool] = if has("--person") { &[true] } else { &[false, true] };
    let mut wrong = 0;
    for (draw, person) in draws.iter().flat_map(|&draw| people.iter().map(move |&person| (draw, person))) {
        for (batches, jobs) in [(false, false), (true, false), (true, true)] {
            let cast = Cast { person, batches, jobs, draw };
            let mut table = Table::default();
            for seed in seeds.clone() {
                let (found, world) = Race::new(seed, cast).run();
                if has("--trace") {
                    println!("{}", world.trace.join("\n"));
                }
                table.add(found);
            }
            let title = format!("{cast:?}, seeds {}..{}", seeds.start, seeds.end);
            println!("{}", table.told(&title));
            for line in table.wrongs.iter().take(20) {
                println!("  {line}");
            }
            for line in table.besides.iter().filter(|_| has("--beside")) {
                println!("  {line}");
            }
            for line in table.missed.iter().filter(|_| has("--missed")) {
                println!("  {line}");
            }
            wrong += table.wrong_claims + table.wrong_others;
        }
    }
    if wrong > 0 {
        std::process::exit(1);
    }
}
