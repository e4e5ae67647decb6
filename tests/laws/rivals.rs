//! Two calls, one file, one step: what each tells, and what cannot be told apart (found by the race harness).

use crate::chronicle::Chronicle;
use hunkgate::ledger::{ClaimBody, ClaimText, Grade, Hi, Side, ToolKind, Why};

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

fn lines_of(told: &mut Chronicle, call: &str) -> Vec<String> {
    let hunks = told.listing("s").hunks;
    let mut lines = Vec::new();
    for hunk in &hunks {
        for run in hunk.author_lines.iter().filter(|run| run.side == Side::After) {
            let named = run.credit.calls.iter().any(|key| key.call.as_str() == call);
            let text = String::from_utf8_lossy(&hunk.after).into_owned();
            let from = (run.lines.start - hunk.current_range.start) as usize;
            let count = (run.lines.end - run.lines.start) as usize;
            lines.extend(text.lines().skip(from).take(if named { count } else { 0 }).map(str::to_owned));
        }
    }
    lines
}

#[test]
fn a_whole_text_told_before_the_look_before_the_step_holds_nothing_of_another() {
    let mut told = two_edits();
    let whole = ClaimBody::Diff { old: None, new: ClaimText::new("one\ntwo\nTHREE\n") };
    told.claim("s", "c2", "a", whole).wait(3).look(Why::WindowOpened).wait(3);
    told.write("a", "one\ntwo\nTHREE\n")
        .wait(3)
        .done("s", "c2")
        .look(Why::WindowClosed)
        .done("s", "c1")
        .end("s");
    assert_eq!(credits(&mut told), [(Grade::Verified, vec!["c2".to_owned()])]);
}

#[test]
fn a_whole_text_told_without_the_one_before_may_hold_what_a_person_wrote_since_the_last_look() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).write("a", "one\nperson\ntwo\nthree\n").wait(30).call(
        "s",
        "c",
        ToolKind::Edit,
    );
    let whole = ClaimBody::Diff { old: None, new: ClaimText::new("one\nperson\ntwo\nTHREE\n") };
    told.claim("s", "c", "a", whole).wait(3).write("a", "one\nperson\ntwo\nTHREE\n").wait(3);
    told.done("s", "c").look(Why::WindowClosed).end("s");
    assert_eq!(credits(&mut told), [(Grade::Contested, vec![])]);
}

#[test]
fn what_a_whole_text_was_made_of_is_explained_by_the_claims_of_others() {
    let mut told = two_edits();
    told.claims("s", "c1", "a", ("two\n", "zwei\n")).write("a", "one\nzwei\nthree\n").wait(3);
    let (old, new) = (ClaimText::new("one\nzwei\nthree\n"), ClaimText::new("one\nDREI\n"));
    told.claim("s", "c2", "a", ClaimBody::Diff { old: Some(old), new }).write("a", "one\nDREI\n").wait(3);
    told.done("s", "c1").done("s", "c2").look(Why::WindowClosed).end("s");
    let rows = credits(&mut told);
    assert!(rows.iter().all(|(grade, _)| *grade == Grade::Verified), "{rows:?}");
    assert_eq!(lines_of(&mut told, "c2"), ["DREI"]);
}

#[test]
fn a_delete_beside_a_command_is_its_own_when_it_says_that_it_succeeded() {
    let beside = |hi: Hi| {
        let mut told = Chronicle::new(&[("a", BASE)]);
        told.prompt("s").wait(300).call("s", "sh", ToolKind::Execute).wait(3).call(
            "s",
            "rm",
            ToolKind::Delete,
        );
        told.claim("s", "rm", "a", ClaimBody::Location).wait(3).remove("a").wait(3).close("s", "rm", hi);
        told.wait(20).done("s", "sh").look(Why::WindowClosed).end("s");
        credits(&mut told)
    };
    assert_eq!(beside(Hi::Reported), [(Grade::Verified, vec!["rm".to_owned()])]);
    assert_eq!(beside(Hi::Failed), [(Grade::Contested, vec![])], "it found nothing to delete");
}

#[test]
fn a_call_that_deletes_writes_no_line() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).call("s", "rm", ToolKind::Delete).claim("s", "rm", "a", ClaimBody::Location);
    told.wait(3).look(Why::WindowOpened).wait(300).write("a", "one\nperson\ntwo\nthree\n").wait(200).end("s");
    assert_eq!(credits(&mut told), [(Grade::InTurn, vec![])]);
}

#[test]
fn what_stood_there_before_a_call_had_the_client_write_is_not_the_calls() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).write("a", "one\nperson\ntwo\nthree\n").wait(30).call(
        "s",
        "c",
        ToolKind::Edit,
    );
    told.claim("s", "c", "a", ClaimBody::Location).look(Why::WindowOpened).wait(3);
    told.passes("s", None, "a", "one\nperson\ntwo\nTHREE\n").wait(3).done("s", "c").wait(60);
    // It is announced while the first one's early grace still reaches back to the write.
    told.call("s", "next", ToolKind::Edit).wait(5).done("s", "next").end("s");
    assert_eq!(lines_of(&mut told, "c"), ["THREE"]);
}

#[test]
fn an_edit_that_names_nothing_has_a_step_only_when_it_began_within_its_window() {
    let written = |before: i64| {
        let mut told = Chronicle::new(&[("a", BASE)]);
        told.prompt("s").wait(500).look(Why::Activity).wait(before).call("s", "c", ToolKind::Edit).wait(3);
        told.write("a", "one\ntwo\nTHREE\n").wait(3).done("s", "c").look(Why::WindowClosed).end("s");
        credits(&mut told)
    };
    assert_eq!(written(600), [(Grade::InTurn, vec![])], "a person may have typed in the meantime");
    assert_eq!(written(200), [(Grade::Sole, vec!["c".to_owned()])]);
}

#[test]
fn lines_that_stand_again_after_a_file_was_met_empty_are_whose_they_were() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(500).write("a", "").wait(1).look(Why::Activity).wait(2);
    told.call("s", "c", ToolKind::Execute).wait(1).write("a", "one\ntwo\nmade\nthree\n").wait(20);
    told.done("s", "c").look(Why::WindowClosed).wait(500).call("s", "d", ToolKind::Edit);
    told.claims("s", "d", "a", ("two\n", "")).wait(5).write("a", "one\nmade\nthree\n").wait(5);
    told.done("s", "d").look(Why::WindowClosed).end("s");
    let hunks = told.listing("s").hunks;
    let removed = hunks.iter().flat_map(|hunk| &hunk.author_lines).find(|run| run.side == Side::Before);
    let calls: Vec<&str> = removed.unwrap().credit.calls.iter().map(|key| key.call.as_str()).collect();
    assert_eq!(calls, ["d"], "the line that the command's rewrite had kept");
}

#[test]
fn a_text_told_late_does_not_own_what_it_had_read_of_a_file_that_was_met_empty() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(500).call("s", "sh", ToolKind::Execute).wait(5).write("a", "").wait(1);
    told.look(Why::Activity).wait(2).write("a", "one\nshell\nthree\n").wait(20).look(Why::Activity).wait(20);
    told.done("s", "sh").wait(5).call("s", "c", ToolKind::Edit).wait(300);
    let whole = ClaimBody::Diff { old: None, new: ClaimText::new("one\nshell\nthree\nmore\n") };
    told.claim("s", "c", "a", whole).wait(2).write("a", "one\nshell\nthree\nmore\n").wait(5);
    told.done("s", "c").look(Why::WindowClosed).end("s");
    assert!(!lines_of(&mut told, "c").contains(&"shell".to_owned()));
}

#[test]
fn an_edit_that_is_under_way_and_names_another_file_has_no_line_of_this_one() {
    let mut told = Chronicle::new(&[("a", BASE), ("b", BASE)]);
    told.prompt("s").wait(300).call("s", "c", ToolKind::Edit).claim("s", "c", "b", ClaimBody::Location);
    told.wait(3).look(Why::WindowOpened).wait(300).write("a", "one\nperson\ntwo\nthree\n").wait(3);
    told.look(Why::Activity);
    assert_eq!(credits(&mut told), [(Grade::InTurn, vec![])]);
}
