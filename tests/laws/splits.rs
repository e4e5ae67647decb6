//! A rewrite that a look met half done: the file empty, or gone, for a moment.

use crate::chronicle::{Chronicle, path};
use hunkgate::base::CallId;
use hunkgate::ledger::{Bound, ClaimBody, ClaimText, Grade, Hi, Purpose, ToolKind, Why};

const BASE: &str = "one\ntwo\nthree\n";

/// What stands in the middle, and how it comes there.
fn vacate(told: &mut Chronicle, gone: bool) {
    if gone {
        told.remove("a")
    } else {
        told.write("a", "")
    };
    told.wait(2).look(Why::Activity);
}

/// Every changed line with its grade and calls.
fn lines(told: &mut Chronicle) -> Vec<(String, Grade, Vec<String>)> {
    let hunks = told.listing("s").hunks;
    let rows = hunks.iter().flat_map(|hunk| {
        let text = String::from_utf8_lossy(&hunk.after).into_owned();
        let calls = |run: &hunkgate::ledger::AuthorLines| {
            run.credit.calls.iter().map(|key| key.call.to_string()).collect()
        };
        hunk.author_lines
            .iter()
            .map(move |run| (text.clone(), run.credit.grade, calls(run)))
            .collect::<Vec<_>>()
    });
    rows.collect()
}

#[test]
fn a_rewrite_met_half_done_keeps_its_grade_and_no_line_that_stayed_changes_hands() {
    for gone in [false, true] {
        let mut told = Chronicle::new(&[("a", BASE)]);
        told.prompt("s")
            .wait(300)
            .call("s", "c", ToolKind::Edit)
            .claims("s", "c", "a", ("two", "TWO"))
            .wait(5);
        vacate(&mut told, gone);
        told.write("a", "one\nTWO\nthree\n").wait(2).look(Why::Activity).done("s", "c").end("s");
        let expected = |_| ("TWO\n".to_owned(), Grade::Verified, vec!["c".to_owned()]);
        assert_eq!(lines(&mut told), (0..2).map(expected).collect::<Vec<_>>(), "gone: {gone}");
    }
}

#[test]
fn a_persons_save_met_half_done_leaves_the_calls_lines_to_the_call() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).call("s", "c", ToolKind::Execute).wait(5);
    told.write("a", "one\nTWO\nthree\n").wait(2).look(Why::Activity).done("s", "c").end("s").wait(5000);
    vacate(&mut told, false);
    told.write("a", "one\nTWO\nthree\nmine\n").wait(2).look(Why::Activity);
    let rows = lines(&mut told);
    assert!(rows.contains(&("TWO\n".to_owned(), Grade::Sole, vec!["c".to_owned()])), "{rows:?}");
    assert!(rows.contains(&("mine\n".to_owned(), Grade::External, vec![])), "{rows:?}");
}

#[test]
fn a_file_emptied_by_a_person_and_filled_by_a_call_is_two_changes() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(1000);
    vacate(&mut told, false);
    told.wait(400).call("s", "c", ToolKind::Edit).claims("s", "c", "a", ("", "TWO\n")).wait(5);
    told.write("a", "TWO\n").wait(2).look(Why::Activity).done("s", "c").end("s");
    let hunks = told.listing("s").hunks;
    let removed = hunks
        .iter()
        .flat_map(|hunk| &hunk.author_lines)
        .filter(|run| run.side == hunkgate::ledger::Side::Before);
    let grades: Vec<Grade> = removed.map(|run| run.credit.grade).collect();
    assert_eq!(grades, [Grade::InTurn], "{hunks:#?}");
}

#[test]
fn a_command_that_rewrites_what_a_call_has_just_written_is_not_credited_with_it() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300).call("s", "sh", ToolKind::Execute).wait(3).call("s", "ed", ToolKind::Edit);
    told.claims("s", "ed", "a", ("two", "TWO")).wait(5).write("a", "one\nTWO\nthree\n").wait(2);
    // The command has read that, and a look meets its rewrite half done, after the end of the edit.
    told.write("a", "").wait(1).done("s", "ed").look(Why::Activity).wait(1);
    told.write("a", "one\nTWO\nthree\nfour\n").wait(400).look(Why::Activity).done("s", "sh").end("s");
    let rows = lines(&mut told);
    let wrong = |(text, _, calls): &&(String, Grade, Vec<String>)| {
        text.contains("TWO") && calls.contains(&"sh".to_owned())
    };
    assert!(!rows.iter().any(|row| wrong(&row)), "{rows:?}");
    assert!(rows.contains(&("TWO\n".to_owned(), Grade::Verified, vec!["ed".to_owned()])), "{rows:?}");
}

#[test]
fn a_write_through_the_client_does_not_own_a_persons_save_that_a_look_met_half_done() {
    let mut told = Chronicle::new(&[("a", BASE)]);
    told.prompt("s").wait(300);
    told.write("a", "").wait(1).call("s", "c", ToolKind::Edit).claim("s", "c", "a", ClaimBody::Location);
    let text = "one\nmine\nthree\nfour\n";
    let content = ClaimText::new(text);
    let purpose = Purpose::FsWrite { call: Some(CallId::new("c")), path: path("a"), content };
    told.look(Why::FsWrite).wait(1).open("s", "fs", purpose, Bound::Hard).wait(1);
    told.write("a", "one\nmine\nthree\n").wait(2).write("a", text).wait(1).close("s", "fs", Hi::Barrier);
    told.look(Why::FsWrite).done("s", "c").end("s");
    let rows = lines(&mut told);
    assert!(rows.iter().all(|(_, _, calls)| calls.is_empty()), "{rows:?}");
}
