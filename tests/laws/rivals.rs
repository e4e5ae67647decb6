//! Two calls, one file, one step: what each tells, and what cannot be told apart (found by the race harness).

use crate::chronicle::Chronicle;
use hunkgate::ledger::{ClaimBody, ClaimText, Grade, ToolKind, Why};

const BASE: &str = "one\ntwo\nthree\n";

/// Every grade and call that the changed lines have, once each.
fn credits(told: &mut Chronicle) -> Vec<(Grade, Vec<String>)> {
    let hunks = told.listing("s").hunks;
    let runs = hunks.iter().flat_map(|hunk| &hunk.author_lines);
    let mut rows: Vec<_> = runs
        .map(|run| (run.credit.grade, run.credit.calls.iter().map(|key| key.call.to_string()).collect()))
        .collect();
    rows.sort();
    rows.dedup();
    rows
}

fn two_edits() -> Chronicle {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300);
    told.call("s", "c1", ToolKind::Edit).wait(3).call("s", "c2", ToolKind::Edit).wait(3);
    told
}

#[test]
fn a_write_through_the_client_is_not_credited_to_a_call_that_only_names_the_path_while_another_is_silent() {
    let mut told = two_edits();
    told.claim("s", "c1", "a", ClaimBody::Location).passes("s", None, "a", "one\nTWO\nthree\n");
    told.done("s", "c1").done("s", "c2").end("s");
    assert_eq!(credits(&mut told), [(Grade::Mediated, vec![])]);
    let mut told = two_edits();
    told.claim("s", "c1", "a", ClaimBody::Location).passes("s", None, "a", "one\nTWO\nthree\n");
    told.claim("s", "c2", "a", ClaimBody::Diff { old: None, new: ClaimText::new("one\nTWO\nthree\n") });
    told.done("s", "c1").done("s", "c2").end("s");
    assert_eq!(credits(&mut told), [(Grade::Mediated, vec!["c2".to_owned()])], "told late, by its text");
}

#[test]
fn a_claim_that_was_not_carried_out_does_not_own_what_another_removed() {
    let mut told = two_edits();
    told.claim("s", "c1", "a", ClaimBody::Location).claims("s", "c2", "a", ("two\n", "zwei\n"));
    told.write("a", "one\nTWO\nthree\n")
        .wait(3)
        .done("s", "c1")
        .done("s", "c2")
        .look(Why::WindowClosed)
        .end("s");
    assert!(credits(&mut told).iter().all(|(_, calls)| !calls.contains(&"c2".to_owned())));
}

#[test]
fn a_whole_text_told_without_the_one_before_divides_nothing() {
    let mut told = two_edits();
    told.claim("s", "c1", "a", ClaimBody::Location).write("a", "ONE\ntwo\nthree\n").wait(3);
    told.claim("s", "c2", "a", ClaimBody::Diff { old: None, new: ClaimText::new("ONE\ntwo\nTHREE\n") });
    told.write("a", "ONE\ntwo\nTHREE\n")
        .wait(3)
        .done("s", "c1")
        .done("s", "c2")
        .look(Why::WindowClosed)
        .end("s");
    assert_eq!(credits(&mut told), [(Grade::Contested, vec![])]);
}

#[test]
fn a_call_that_deletes_owns_the_file_that_it_names() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).call("s", "c", ToolKind::Delete);
    told.claim("s", "c", "a", ClaimBody::Location).wait(3).remove("a").wait(3);
    told.done("s", "c").look(Why::WindowClosed).end("s");
    assert_eq!(credits(&mut told), [(Grade::Verified, vec!["c".to_owned()])]);
}
