//! The race harness in its short form: a few seeds of every cast (docs/testing.md). `cargo run --release --example race`
//! runs it over thousands.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "the table is the measure")]

#[path = "race/mod.rs"]
mod race;
#[path = "race/support.rs"]
mod support;

use race::op::Draw;
use race::stage::{Cast, Race};
use race::table::Table;

const SEEDS: u64 = 16;

/// Races that once showed a wrong credit; their causes are laws in `tests/laws/` (`rivals.rs`, `splits.rs`, `cases.rs`).
const ONCE_WRONG: [(u64, Cast); 13] = [
    (208, Cast { person: false, batches: false, jobs: false, draw: Draw::Loose }),
    (514, Cast { person: false, batches: true, jobs: false, draw: Draw::Loose }),
    (892, Cast { person: false, batches: true, jobs: true, draw: Draw::Loose }),
    (2478, Cast { person: true, batches: true, jobs: false, draw: Draw::Loose }),
    (286, Cast { person: true, batches: true, jobs: true, draw: Draw::Loose }),
    (49, Cast { person: false, batches: true, jobs: true, draw: Draw::Loose }),
    (1377, Cast { person: false, batches: true, jobs: true, draw: Draw::Loose }),
    (3559, Cast { person: true, batches: true, jobs: false, draw: Draw::Measured }),
    (188, Cast { person: false, batches: true, jobs: true, draw: Draw::Hostile }),
    (354, Cast { person: false, batches: true, jobs: true, draw: Draw::Hostile }),
    (754, Cast { person: true, batches: true, jobs: false, draw: Draw::Hostile }),
    (1537, Cast { person: true, batches: true, jobs: true, draw: Draw::Hostile }),
    (923, Cast { person: true, batches: true, jobs: true, draw: Draw::Hostile }),
];

fn races(cast: Cast, seeds: impl IntoIterator<Item = u64>) -> Table {
    let mut table = Table::default();
    for seed in seeds {
        table.add(Race::new(seed, cast).run().0);
    }
    println!("{}\n{}", table.told(&format!("{cast:?}")), table.wrongs.join("\n"));
    table
}

/// Holds what must hold under any schedule.
fn nothing_is_wrong(table: &Table) {
    assert_eq!((table.wrong_claims, table.wrong_others), (0, 0), "{:#?}", table.wrongs);
}

/// Says how many of the lines that can be attributed are, in parts of a hundred.
fn share(table: &Table) -> u64 {
    let (all, right) = table.of_calls();
    right * 100 / (all - table.irreducible()).max(1)
}

#[test]
fn an_agent_that_does_one_thing_after_the_other_has_its_lines() {
    let table =
        races(Cast { person: false, batches: false, jobs: false, draw: Draw::Measured }, 0..5 * SEEDS);
    nothing_is_wrong(&table);
    assert_eq!(table.beside(), 0);
    assert!(share(&table) >= 97, "{} % of what can be attributed is", share(&table));
}

#[test]
fn calls_side_by_side_and_jobs_left_behind_are_not_taken_for_each_other() {
    let table = races(Cast { person: false, batches: true, jobs: true, draw: Draw::Measured }, 0..5 * SEEDS);
    nothing_is_wrong(&table);
    assert!(share(&table) >= 97, "{} % of what can be attributed is", share(&table));
}

#[test]
fn a_person_who_types_beside_is_credited_to_no_call_that_claims() {
    let cast = Cast { person: true, batches: true, jobs: true, draw: Draw::Measured };
    nothing_is_wrong(&races(cast, 0..SEEDS));
}

#[test]
fn the_worst_of_everything_that_was_seen_makes_no_line_wrong() {
    for draw in [Draw::Loose, Draw::Hostile] {
        for person in [false, true] {
            nothing_is_wrong(&races(Cast { person, batches: true, jobs: true, draw }, 0..SEEDS));
        }
    }
}

#[test]
fn what_once_was_wrong_stays_right() {
    for (seed, cast) in ONCE_WRONG {
        nothing_is_wrong(&races(cast, [seed]));
    }
}
