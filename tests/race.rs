//! The race harness in its short form: a few seeds of every cast (docs/testing.md). `cargo run --release --example race`
//! runs it over thousands.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "the table is the measure")]

#[path = "race/mod.rs"]
mod race;
#[path = "race/support.rs"]
mod support;

use race::stage::{Cast, Race};
use race::table::Table;

const SEEDS: u64 = 20;

fn races(cast: Cast) -> Table {
    let mut table = Table::default();
    for seed in 0..SEEDS {
        table.add(Race::new(seed, cast).run().0);
    }
    println!("{}\n{}", table.told(&format!("{cast:?}")), table.wrongs.join("\n"));
    table
}

/// Holds what must hold under any schedule.
fn nothing_is_wrong(table: &Table) {
    assert_eq!((table.wrong_claims, table.wrong_others), (0, 0), "{:#?}", table.wrongs);
}

#[test]
fn an_agent_that_does_one_thing_after_the_other_has_its_lines() {
    let table = races(Cast { person: false, batches: false, jobs: false });
    nothing_is_wrong(&table);
    assert_eq!(table.beside(), 0);
    let ((all, right), (claims, claimed)) = (table.of_calls(), table.of_claims());
    assert!(claimed * 100 >= claims * 93, "{claimed} of {claims} claimed lines are attributed");
    // The rest are calls that tell nothing, or write before they are announced (docs/ledger.md, "Measured").
    assert!(right * 100 >= all * 75, "{right} of {all} lines are attributed");
}

#[test]
fn calls_side_by_side_and_jobs_left_behind_are_not_taken_for_each_other() {
    let table = races(Cast { person: false, batches: true, jobs: true });
    nothing_is_wrong(&table);
    let (claims, claimed) = table.of_claims();
    assert!(claimed * 100 >= claims * 80, "{claimed} of {claims} claimed lines are attributed");
}

#[test]
fn a_person_who_types_beside_is_credited_to_no_call_that_claims() {
    nothing_is_wrong(&races(Cast { person: true, batches: true, jobs: true }));
}
