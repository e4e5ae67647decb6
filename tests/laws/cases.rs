//! Cases from public trackers, told to the ledger (design: cases.md, sections A to C).

use crate::chronicle::Chronicle;
use hunkgate::ledger::{Bound, ClaimBody, ClaimText, Hi, Mode, Purpose, ToolKind, Verb, Why};

const NUMBERS: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[test]
fn c01_an_edit_that_the_agent_writes_itself_is_its_call_s() {
    let mut told = Chronicle::new(&[("a.rs", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "a.rs", ("5\n", "five\n"));
    told.wait(20).write("a.rs", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").wait(10).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["a.rs text 5-6>5-6 verified [c1]"]);
}

#[test]
fn c02_one_call_that_changes_many_files_has_an_item_for_each() {
    let mut told = Chronicle::new(&[("a", NUMBERS), ("b", NUMBERS), ("d", "gone\n"), ("old", "moved\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit);
    for file in ["a", "b", "new", "d", "old", "to"] {
        told.claim("s", "c1", file, ClaimBody::Location);
    }
    told.wait(20).write("a", "1\n").write("b", "0\n").write("new", "x\n").remove("d").rename("old", "to");
    told.wait(10).done("s", "c1").end("s");
    assert_eq!(
        told.shown("s"),
        [
            "a text 2-10>2-2 sole [c1]",
            "b text 1-10>1-2 sole [c1]",
            "d text 1-2>1-1 sole [c1]",
            "new text 1-1>1-2 sole [c1]",
            "to rename 1-1>1-1 sole [c1]",
        ]
    );
}

#[test]
fn c04_a_shell_command_owns_what_it_wrote_while_it_ran_alone() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n"), ("c", "x\n")]);
    told.prompt("s").wait(50).call("s", "sh", ToolKind::Execute).wait(300);
    told.write("a", "y\n").write("b", "y\n").write("c", "y\n").wait(10).done("s", "sh").end("s");
    assert_eq!(
        told.shown("s"),
        ["a text 1-2>1-2 sole [sh]", "b text 1-2>1-2 sole [sh]", "c text 1-2>1-2 sole [sh]"]
    );
}

#[test]
fn c07_c09_a_person_s_work_before_the_session_is_base() {
    let mut told = Chronicle::new(&[("dirty", "mine\nb\nc\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "dirty", ("c\n", "C\n"));
    told.wait(20).write("dirty", "mine\nb\nC\n").wait(10).done("s", "c1").end("s");
    let hunks = told.listing("s").hunks;
    told.reject("s", "r1", &hunks);
    assert_eq!(told.text("dirty").as_deref(), Some("mine\nb\nc\n"));
    assert!(told.listing("s").hunks.is_empty());
    assert_eq!(told.listing("s").rejected.len(), 1);
}

#[test]
fn c08_lines_that_a_person_adds_to_a_created_file_are_told_apart() {
    let mut told = Chronicle::new(&[]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("", "a\nb\n"));
    told.wait(20).write("f", "a\nb\n").wait(10).done("s", "c1").end("s");
    told.wait(5000).write("f", "a\nb\nmine\n").wait(200).look(Why::Activity);
    assert_eq!(told.shown("s"), ["f text 1-1>1-4 verified [c1] mixed"]);
    let hunk = &told.listing("s").hunks[0];
    let runs: Vec<_> = hunk
        .author_lines
        .iter()
        .map(|run| (run.lines.start, run.lines.end, run.credit.calls.len()))
        .collect();
    assert_eq!(runs, [(1, 3, 1), (3, 4, 0)]);
}

#[test]
fn c10_rejecting_some_hunks_leaves_the_others_in_every_order() {
    let after = "one\n2\n3\n4a\n4b\n5\n7\n8\nnine\n10\n";
    for order in [[0, 2, 4], [4, 2, 0], [2, 0, 4]] {
        let mut told = Chronicle::new(&[("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
        told.prompt("s").wait(50).call("s", "sh", ToolKind::Execute).wait(20);
        told.write("f", after).wait(10).done("s", "sh").end("s");
        let all = told.listing("s").hunks;
        assert_eq!(all.len(), 4, "{all:?}");
        for (at, pick) in order.iter().enumerate() {
            let Some(wanted) = all.get(*pick) else { continue };
            let now = told.listing("s").hunks.into_iter().find(|hunk| hunk.id == wanted.id).unwrap();
            told.reject("s", &format!("r{at}"), &[now]);
        }
        assert_eq!(told.text("f").as_deref(), Some("1\n2\n3\n4a\n4b\n5\n6\n7\n8\nnine\n10\n"));
    }
}

/// A command deletes a file of two lines, which is seen, and writes it again.
fn deleted_and_written_again(after: &str) -> Chronicle {
    let mut told = Chronicle::new(&[("f", "a\nb\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Execute);
    told.wait(20).remove("f").wait(5).look(Why::Activity);
    told.wait(20).write("f", after).wait(10).done("s", "c1").end("s");
    told
}

#[test]
fn c14_deleted_and_written_again_is_one_change_against_the_base() {
    let mut told = deleted_and_written_again("a\nB\n");
    assert_eq!(told.shown("s"), ["f text 2-3>2-3 sole [c1]"]);
    let hunks = told.listing("s").hunks;
    told.reject("s", "r1", &hunks);
    assert_eq!(told.text("f").as_deref(), Some("a\nb\n"));
}

#[test]
fn c15_deleted_and_written_again_with_the_same_bytes_is_nothing() {
    let mut told = deleted_and_written_again("a\nb\n");
    assert!(told.shown("s").is_empty());
    let superseded: Vec<_> =
        told.listing("s").superseded.iter().map(|row| row.tool_call_id.to_string()).collect();
    assert_eq!(superseded, ["c1"]);
}

#[test]
fn c16_thousands_of_files_that_came_and_went_are_nothing() {
    let mut told = Chronicle::new(&[]);
    told.prompt("s").wait(50).call("s", "sh", ToolKind::Execute).wait(20);
    let name = |n: usize| format!("tmp/{n}");
    for n in 0..5_000 {
        told.write(&name(n), &format!("{n}\n"));
    }
    told.wait(5).look(Why::Activity).wait(5);
    for n in 0..5_000 {
        told.remove(&name(n));
    }
    told.wait(5).done("s", "sh").end("s");
    assert!(told.shown("s").is_empty());
}

#[test]
fn c26_an_empty_file_that_got_content_goes_back_to_empty() {
    let mut told = Chronicle::new(&[("e", "")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "e", ("", "x\n"));
    told.wait(20).write("e", "x\n").wait(10).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["e text 1-1>1-2 verified [c1]"]);
    let hunks = told.listing("s").hunks;
    assert!(hunks[0].base.is_some_and(|base| base.size == 0));
    told.reject("s", "r1", &hunks);
    assert_eq!(told.text("e").as_deref(), Some(""));
}

#[test]
fn c31_what_another_proxied_session_wrote_is_external_and_named() {
    let mut told = Chronicle::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    told.session("t");
    told.prompt("s").wait(50).call("s", "a1", ToolKind::Edit).claims("s", "a1", "a.txt", ("a\n", "A\n"));
    told.wait(20).write("a.txt", "A\n").wait(10).done("s", "a1").look(Why::WindowClosed);
    told.wait(50).prompt("t").wait(20).call("t", "b1", ToolKind::Edit).claims(
        "t",
        "b1",
        "b.txt",
        ("b\n", "B\n"),
    );
    told.wait(20).write("b.txt", "B\n").wait(10).done("t", "b1").end("t").wait(20).end("s");
    assert_eq!(
        told.shown("s"),
        ["a.txt text 1-2>1-2 verified [a1]", "b.txt text 1-2>1-2 external [] by t/b1"]
    );
    assert_eq!(
        told.shown("t"),
        ["a.txt text 1-2>1-2 external [] by s/a1", "b.txt text 1-2>1-2 verified [b1]"]
    );
}

#[test]
fn of_several_sessions_at_work_none_is_named_for_what_no_call_explains() {
    for (others, expected) in [
        (["t"].as_slice(), "a.txt text 1-2>1-2 external [] by t/-"),
        (["t", "u"].as_slice(), "a.txt text 1-2>1-2 external []"),
    ] {
        let mut told = Chronicle::new(&[("a.txt", "a\n")]);
        told.prompt("s").wait(20).end("s").wait(50);
        for other in others {
            told.session(other);
            told.prompt(other).wait(20);
        }
        told.write("a.txt", "A\n").wait(10);
        for other in others {
            told.end(other);
        }
        assert_eq!(told.shown("s"), [expected]);
    }
}

#[test]
fn c32_agents_on_one_file_each_own_the_lines_that_they_claim() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.session("t");
    told.session("u");
    for (session, call, line) in [("s", "c1", "1"), ("t", "c2", "5"), ("u", "c3", "9")] {
        let (old, new) = (format!("{line}\n"), format!("{call}\n"));
        told.prompt(session).wait(5).call(session, call, ToolKind::Edit).claims(
            session,
            call,
            "f",
            (&old, &new),
        );
    }
    told.wait(20).write("f", "c1\n2\n3\n4\nc2\n6\n7\n8\nc3\n").wait(10);
    for (session, call) in [("s", "c1"), ("t", "c2"), ("u", "c3")] {
        told.done(session, call);
    }
    told.end("s").end("t").end("u");
    assert_eq!(
        told.shown("s"),
        [
            "f text 1-2>1-2 verified [c1]",
            "f text 5-6>5-6 external [] by t/c2",
            "f text 9-10>9-10 external [] by u/c3",
        ]
    );
}

#[test]
fn c32_without_claims_the_same_is_contested() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.session("t");
    for (session, call) in [("s", "c1"), ("t", "c2")] {
        told.prompt(session).wait(5).call(session, call, ToolKind::Execute);
    }
    told.wait(20).write("f", "c1\n2\n3\n4\nc2\n6\n7\n8\n9\n").wait(10).done("s", "c1").done("t", "c2");
    told.end("s").end("t");
    assert_eq!(
        told.shown("s"),
        ["f text 1-2>1-2 contested [] maybe [c1 c2]", "f text 5-6>5-6 contested [] maybe [c1 c2]",]
    );
}

#[test]
fn c34_bytes_that_come_back_keep_their_authors() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("5\n", "five\n"));
    told.wait(20).write("f", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").wait(10).done("s", "c1").end("s");
    let before = told.shown("s");
    told.wait(5000).write("f", NUMBERS).wait(200).look(Why::Activity);
    assert!(told.shown("s").is_empty());
    told.wait(5000).write("f", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").wait(200).look(Why::Activity);
    assert_eq!(told.shown("s"), before);
}

#[test]
fn c38_one_edited_line_of_a_crlf_file_is_one_hunk() {
    let mut told = Chronicle::new(&[("f", "a\r\nb\r\nc\r\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("b\n", "B\n"));
    told.wait(20).write("f", "a\r\nB\r\nc\r\n").wait(10).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["f text 2-3>2-3 verified [c1]"]);
    let hunks = told.listing("s").hunks;
    told.reject("s", "r1", &hunks);
    assert_eq!(told.text("f").as_deref(), Some("a\r\nb\r\nc\r\n"));
}

#[test]
fn line_endings_flipped_as_a_whole_are_one_entry_beside_the_real_hunks() {
    let mut told = Chronicle::new(&[("f", "a\nb\nc\n")]);
    told.prompt("s").wait(50).call("s", "sh", ToolKind::Execute).wait(20).write("f", "a\r\nB\r\nc\r\n");
    told.wait(10).done("s", "sh").end("s");
    assert_eq!(told.shown("s"), ["f eol 1-1>1-1 sole [sh]", "f text 2-3>2-3 sole [sh]"]);
    let hunk = told.listing("s").hunks[1].clone();
    assert_eq!((hunk.before.as_slice(), hunk.restore.as_slice()), (&b"b\n"[..], &b"b\r\n"[..]));
}

#[test]
fn entries_stand_for_what_has_no_lines() {
    let mut told = Chronicle::new(&[("m", "x\n"), ("bin", "x\n"), ("t", "x\n"), ("gone", "")]);
    told.put("l", b"there", Mode::Symlink).look(Why::Activity);
    told.session("t");
    told.prompt("t").wait(50).call("t", "sh", ToolKind::Execute).wait(20);
    told.chmod("m", Mode::Executable).write_bytes("bin", b"\0\x01").put("t", b"m", Mode::Symlink);
    told.put("l", b"elsewhere", Mode::Symlink)
        .write("empty", "")
        .remove("gone")
        .wait(5)
        .done("t", "sh")
        .end("t");
    assert_eq!(
        told.shown("t"),
        [
            "bin binary 1-1>1-1 sole [sh]",
            "empty empty 1-1>1-1 sole [sh]",
            "gone empty 1-1>1-1 sole [sh]",
            "l symlink 1-1>1-1 sole [sh]",
            "m mode 1-1>1-1 sole [sh]",
            "t type 1-1>1-1 sole [sh]",
        ]
    );
}

#[test]
fn a_rename_with_edits_is_one_entry_and_the_hunks_against_the_old_path() {
    let mut told = Chronicle::new(&[("old", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "mv", ToolKind::Execute).wait(20).rename("old", "new").wait(5);
    told.done("s", "mv").look(Why::WindowClosed).wait(400).call("s", "ed", ToolKind::Edit);
    told.claims("s", "ed", "new", ("5\n", "five\n")).wait(20);
    told.write("new", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").wait(10).done("s", "ed").end("s");
    assert_eq!(told.shown("s"), ["new rename 1-1>1-1 sole [mv]", "new text 5-6>5-6 verified [ed]"]);
}

#[test]
fn what_passes_through_us_is_mediated() {
    let mut told = Chronicle::new(&[("f", "a\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claim("s", "c1", "f", ClaimBody::Location);
    told.passes("s", Some("c1"), "f", "b\n").wait(5).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["f text 1-2>1-2 mediated [c1]"]);
}

#[test]
fn an_editor_that_saves_later_still_writes_what_passed_through_us() {
    let mut told = Chronicle::new(&[("f", "a\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit);
    let content = ClaimText::new("b\n");
    let call = Some(hunkgate::base::CallId::new("c1"));
    let purpose = Purpose::FsWrite { call, path: crate::chronicle::path("f"), content };
    told.open("s", "fs", purpose, Bound::Hard).wait(5).close("s", "fs", Hi::Barrier).done("s", "c1");
    told.wait(1500).write("f", "b\n").wait(100).end("s");
    assert_eq!(told.shown("s"), ["f text 1-2>1-2 mediated [c1]"]);
}

#[test]
fn an_undone_reject_gives_the_lines_back_to_their_call() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("5\n", "five\n"));
    told.wait(20).write("f", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").wait(10).done("s", "c1").end("s");
    let before = told.listing("s").hunks;
    told.reject("s", "r1", &before).wait(1000);
    assert!(told.shown("s").is_empty());
    told.undo("s", "u1", "r1").wait(1000);
    assert_eq!(told.shown("s"), ["f text 5-6>5-6 verified [c1]"]);
    assert_eq!(told.listing("s").hunks[0].id, before[0].id);
}

#[test]
fn a_rejected_change_that_the_agent_makes_again_is_reapplied() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    let edit = |told: &mut Chronicle, call: &str, text: &str, claim: (&str, &str)| {
        told.wait(500).prompt("s").wait(50).call("s", call, ToolKind::Edit).claims("s", call, "f", claim);
        told.wait(20).write("f", text).wait(10).done("s", call).end("s");
    };
    let five = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    edit(&mut told, "c1", five, ("5\n", "five\n"));
    let hunks = told.listing("s").hunks;
    told.reject("s", "r1", &hunks);
    edit(&mut told, "c2", five, ("5\n", "five\n"));
    assert_eq!(told.shown("s"), ["f text 5-6>5-6 verified [c2] reapplied"]);
}

#[test]
fn a_rejected_change_that_comes_back_re_indented_is_reapplied() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Execute).wait(20);
    told.write("f", "1\n2\n3\n4\n5\nnew\n6\n7\n8\n9\n").wait(10).done("s", "c1").end("s");
    let hunks = told.listing("s").hunks;
    told.reject("s", "r1", &hunks);
    told.wait(500).prompt("s").wait(50).call("s", "c2", ToolKind::Execute).wait(20);
    told.write("f", "1\n2\n3\n4\n5\n6\n7\n    new\n8\n9\n").wait(10).done("s", "c2").end("s");
    assert_eq!(told.shown("s"), ["f text 8-8>8-9 sole [c2] reapplied"]);
}

#[test]
fn an_accepted_hunk_stays_and_is_accepted() {
    let mut told = Chronicle::new(&[("f", "a\n")]);
    told.prompt("s").wait(50).call("s", "sh", ToolKind::Execute).wait(20).write("f", "b\n").wait(5);
    told.done("s", "sh").end("s");
    let hunks = told.listing("s").hunks;
    told.decide("s", "a1", Verb::Accept, &hunks);
    assert_eq!(told.shown("s"), ["f text 1-2>1-2 sole [sh] accepted"]);
}

#[test]
fn a_child_session_s_calls_show_in_its_parent_and_win_over_the_call_that_started_it() {
    let mut told = Chronicle::new(&[("f", "a\n")]);
    told.prompt("s").wait(50).call("s", "task", ToolKind::Execute).wait(300);
    told.session_of("kid", Some(("s", "task")));
    told.prompt("kid").wait(20).call("kid", "k1", ToolKind::Execute).wait(20).write("f", "b\n").wait(5);
    told.done("kid", "k1").end("kid").done("s", "task").end("s");
    assert_eq!(told.shown("s"), ["f text 1-2>1-2 sole [k1]"]);
    assert_eq!(told.listing("s").hunks[0].calls[0].session_id.as_str(), "kid");
}

#[test]
fn a_call_inside_another_wins_over_it() {
    let mut told = Chronicle::new(&[("f", "a\n")]);
    told.prompt("s")
        .wait(50)
        .call("s", "task", ToolKind::Other)
        .wait(300)
        .call_in("s", "inner", "task")
        .wait(20);
    told.write("f", "b\n")
        .wait(5)
        .done("s", "inner")
        .look(Why::WindowClosed)
        .wait(5)
        .done("s", "task")
        .end("s");
    assert_eq!(told.shown("s"), ["f text 1-2>1-2 sole [inner]"]);
}

#[test]
fn two_calls_that_replace_the_same_base_line_are_both_listed() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("5\n", "five\n"));
    told.wait(20)
        .write("f", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
        .wait(10)
        .done("s", "c1")
        .look(Why::WindowClosed);
    told.wait(50).call("s", "c2", ToolKind::Edit).claims("s", "c2", "f", ("five\n", "FIVE\n"));
    told.wait(20).write("f", "1\n2\n3\n4\nFIVE\n6\n7\n8\n9\n").wait(10).done("s", "c2").end("s");
    assert_eq!(told.shown("s"), ["f text 5-6>5-6 verified [c1 c2]"]);
}

#[test]
fn commands_in_quick_succession_are_told_apart_by_their_order() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(50).call("s", "one", ToolKind::Execute).look(Why::WindowOpened).wait(20);
    told.write("a", "y\n").wait(15).done("s", "one").look(Why::WindowClosed);
    told.wait(20).call("s", "two", ToolKind::Execute).wait(20);
    told.write("b", "y\n").wait(15).done("s", "two").end("s");
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 ordered [one]", "b text 1-2>1-2 sole [two]"]);
}

#[test]
fn a_command_that_may_have_written_before_it_was_announced_contests_what_came_before_the_other_was() {
    let mut told = Chronicle::new(&[("a", "1\n2\n3\n")]);
    // It is announced late, and has written before the one that names the path was announced.
    told.prompt("s").wait(400).write("a", "1\n2\nlate\n").wait(7).call("s", "ed", ToolKind::Edit);
    told.claim("s", "ed", "a", ClaimBody::Location).write("a", "one\n2\nlate\n").wait(5).done("s", "ed");
    told.look(Why::WindowClosed)
        .wait(100)
        .call("s", "sh", ToolKind::Execute)
        .wait(50)
        .done("s", "sh")
        .end("s");
    let both = "contested [] maybe [ed sh]";
    assert_eq!(told.shown("s"), [format!("a text 1-2>1-2 {both}"), format!("a text 3-4>3-4 {both}")]);
}

#[test]
fn a_listing_after_one_change_reads_that_file_only_however_many_calls_there_were() {
    let names: Vec<String> = (0..300).map(|n| format!("file{n}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), NUMBERS)).collect();
    let mut told = Chronicle::new(&files);
    told.prompt("s");
    for (n, name) in names.iter().enumerate() {
        told.wait(300).call("s", &format!("c{n}"), ToolKind::Execute).wait(20).write(name, "1\nx\n").wait(5);
        told.done("s", &format!("c{n}")).look(Why::WindowClosed);
    }
    told.end("s");
    assert_eq!(told.listing("s").hunks.len(), 300);
    told.write(&names[3], "other\n").look(Why::Activity);
    let (key, before) = (told.key("s"), told.blobs.reads.get());
    let listing = hunkgate::ledger::listing(&told.ledger, &key, &told.blobs, &mut told.cache);
    assert_eq!(listing.hunks.len(), 300);
    let read = told.blobs.reads.get() - before;
    assert!(read < 10, "{read} contents were read");
}

// C45, as the ledger has it; what a person sees of it is in `surfaces`.
#[test]
fn c45_a_lock_file_that_was_made_anew_is_folded_and_costs_one_coarse_diff() {
    let lock = |version: &str| -> String {
        let package =
            |n| format!("\"p{n}\": {{\n\"version\": \"{version}.{n}\",\n\"integrity\": \"{n:x}\"\n}},\n");
        (0..15_000).map(package).collect()
    };
    let (before, after) = (lock("1"), lock("2"));
    let mut told = Chronicle::new(&[("package-lock.json", &before), ("src/a.rs", NUMBERS)]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Execute).wait(20);
    told.write("package-lock.json", &after).write("src/a.rs", "1\n").wait(10).done("s", "c1").end("s");
    let listing = told.listing("s");
    let shape = hunkgate::ledger::ListingShape::from_listing(&listing, &told.ledger);
    let folded: std::collections::BTreeSet<_> =
        shape.hunks.iter().map(|hunk| (hunk.path.as_str(), hunk.folded)).collect();
    assert_eq!(folded.into_iter().collect::<Vec<_>>(), [("package-lock.json", true), ("src/a.rs", false)]);
    assert!(shape.hunks.iter().all(|hunk| hunk.tool_call_ids == [hunkgate::base::CallId::new("c1")]));
    let of_lock = || listing.hunks.iter().filter(|hunk| hunk.path.name() == b"package-lock.json");
    let lines: u32 = of_lock().map(|hunk| hunk.current_range.end - hunk.current_range.start).sum();
    assert!(lines >= 15_000, "{lines} changed lines are accounted for");
    let (key, read) = (told.key("s"), told.blobs.reads.get());
    assert_eq!(
        hunkgate::ledger::listing(&told.ledger, &key, &told.blobs, &mut told.cache).hunks,
        listing.hunks
    );
    assert!(told.blobs.reads.get() - read <= 4, "the next listing diffs the lock file again");
}

#[test]
fn a_write_that_the_editor_formats_on_saving_is_still_its_call_s() {
    let mut told = Chronicle::new(&[("f", "a\nb\nc\n")]);
    told.prompt("s").wait(50).call("s", "c1", ToolKind::Edit).claim("s", "c1", "f", ClaimBody::Location);
    let content = ClaimText::new("A\nB\nC \n");
    let call = Some(hunkgate::base::CallId::new("c1"));
    let purpose = Purpose::FsWrite { call, path: crate::chronicle::path("f"), content };
    told.open("s", "fs", purpose, Bound::Hard).wait(5).write("f", "A\nB\nC\n").wait(5).close(
        "s",
        "fs",
        Hi::Barrier,
    );
    told.look(Why::FsWrite).wait(5).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["f text 1-4>1-4 verified [c1]"]);
}

#[test]
fn c36_what_a_checkout_brought_is_external_and_labelled() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).call("s", "sh", ToolKind::Execute).wait(20).write("a", "y\n").wait(5);
    told.done("s", "sh")
        .end("s")
        .wait(5000)
        .write("b", "theirs\n")
        .commit("bbbb")
        .wait(100)
        .look(Why::Activity);
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 sole [sh]", "b text 1-2>1-2 external []"]);
    let vcs: Vec<bool> = told.listing("s").hunks.iter().map(|hunk| hunk.vcs).collect();
    assert_eq!(vcs, [false, true]);
}

#[test]
fn what_nobody_announced_is_the_turn_s_and_what_no_turn_covers_is_external() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).write("a", "y\n").wait(100).look(Why::Activity).wait(1000).end("s");
    told.wait(5000).write("b", "y\n").wait(100).look(Why::Activity);
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 in_turn []", "b text 1-2>1-2 external []"]);
}

#[test]
fn a_call_that_only_reads_by_its_word_contests_and_never_receives() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).call("s", "look", ToolKind::Read).wait(20).write("a", "y\n").wait(50);
    told.look(Why::Activity).wait(300).call("s", "sh", ToolKind::Execute).wait(20).write("b", "y\n").wait(50);
    told.done("s", "sh").done("s", "look").end("s");
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 in_turn []", "b text 1-2>1-2 contested [] maybe [look sh]"]);
}

#[test]
fn an_edit_that_tells_its_text_owns_no_other_line_of_the_file() {
    let mut told = Chronicle::new(&[("f", NUMBERS)]);
    told.prompt("s").wait(400).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("5\n", "five\n"));
    told.wait(20).write("f", "1\nmine\n3\n4\nfive\n6\n7\n8\n9\n").wait(50).done("s", "c1").end("s");
    assert_eq!(told.shown("s"), ["f text 2-3>2-3 in_turn []", "f text 5-6>5-6 verified [c1]"]);
}

#[test]
fn a_command_is_not_credited_with_a_path_that_something_else_writes() {
    let mut told = Chronicle::new(&[("log", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).write("log", "y\n").wait(100).look(Why::Activity).wait(1000);
    told.call("s", "sh", ToolKind::Execute).wait(20).write("log", "z\n").write("b", "y\n").wait(50);
    told.done("s", "sh").end("s");
    assert_eq!(told.shown("s"), ["b text 1-2>1-2 sole [sh]", "log text 1-2>1-2 in_turn []"]);
}

/// Two commands run, and the first of them has ended.
fn the_first_of_two_commands_has_ended() -> Chronicle {
    let mut told = Chronicle::new(&[("a", "x\n")]);
    told.prompt("s").wait(400).call("s", "one", ToolKind::Execute).call("s", "two", ToolKind::Execute);
    told.wait(100).done("s", "one").wait(1);
    told
}

#[test]
fn of_two_commands_one_that_ended_before_the_last_change_may_have_made_an_earlier_one() {
    let mut told = the_first_of_two_commands_has_ended();
    told.wait(50).write("a", "y\n").wait(50).done("s", "two").end("s");
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 contested [] maybe [one two]"]);
}

#[test]
fn of_two_commands_the_one_that_ended_before_a_look_is_not_the_author_of_what_came_after_it() {
    let mut told = the_first_of_two_commands_has_ended();
    told.look(Why::WindowClosed).wait(50).write("a", "y\n").wait(50).done("s", "two").end("s");
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 sole [two]"]);
}

#[test]
fn a_call_that_says_that_it_reads_is_passed_over_once_it_has_ended() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).call("s", "look", ToolKind::Read).call("s", "sh", ToolKind::Execute).wait(100);
    told.write("b", "y\n")
        .wait(20)
        .done("s", "look")
        .wait(50)
        .write("a", "y\n")
        .wait(50)
        .done("s", "sh")
        .end("s");
    assert_eq!(
        told.shown("s"),
        ["a text 1-2>1-2 ordered [sh]", "b text 1-2>1-2 contested [] maybe [look sh]"]
    );
}

#[test]
fn a_proxy_that_died_leaves_what_came_after_to_nobody() {
    let mut told = Chronicle::new(&[("a", "x\n"), ("b", "x\n")]);
    told.prompt("s").wait(400).call("s", "sh", ToolKind::Execute).wait(20).write("a", "y\n").wait(50);
    told.close("s", "sh", Hi::Lost).close("s", "turn", Hi::Lost).wait(5000).look(Why::Activity);
    assert_eq!(told.shown("s"), ["a text 1-2>1-2 external []"]);
}

#[test]
fn deletes_and_moves_that_a_call_claims_are_verified() {
    let mut told = Chronicle::new(&[("gone", NUMBERS), ("old", "x\ny\n"), ("bin", "x\n")]);
    told.prompt("s").wait(400).call("s", "rm", ToolKind::Delete).claim("s", "rm", "gone", ClaimBody::Delete);
    told.call("s", "mv", ToolKind::Move);
    told.claim("s", "mv", "old", ClaimBody::Move { to: crate::chronicle::path("new") });
    told.wait(20).remove("gone").rename("old", "new").wait(20).done("s", "rm").done("s", "mv").end("s");
    assert_eq!(told.shown("s"), ["gone text 1-10>1-1 verified [rm]", "new rename 1-1>1-1 verified [mv]"]);
}

#[test]
fn blame_agrees_with_the_listing() {
    let mut told = Chronicle::new(&[("f", "1\n2\n3\n")]);
    told.prompt("s").wait(400).call("s", "c1", ToolKind::Edit).claims("s", "c1", "f", ("2\n", "two\n"));
    told.wait(20).write("f", "1\ntwo\n3\n").wait(20).done("s", "c1").end("s");
    told.wait(5000).write("f", "1\ntwo\n3\nmine\n").wait(100).look(Why::Activity);
    let (key, root) = (told.key("s"), told.root.clone());
    let lines = hunkgate::ledger::blame(
        (&told.ledger, &key),
        (&root, &crate::chronicle::path("f")),
        &told.blobs,
        &mut told.cache,
    );
    let rows: Vec<(String, Option<&str>, usize)> = lines
        .iter()
        .map(|line| {
            let grade = line.credit.as_ref().map(|credit| credit.grade.as_str());
            (String::from_utf8_lossy(&line.text).into_owned(), grade, line.calls.len())
        })
        .collect();
    let row = |text: &str, grade, calls| (text.to_owned(), grade, calls);
    assert_eq!(
        rows,
        [
            row("1", None, 0),
            row("two", Some("verified"), 1),
            row("3", None, 0),
            row("mine", Some("external"), 0)
        ]
    );
}

#[test]
fn a_path_is_found_from_the_root_from_cwd_and_absolutely() {
    use hunkgate::ledger::locate;
    let told = Chronicle::new(&[("src/a", "x\n")]);
    let key = told.key("s");
    for text in ["src/a", "./src/../src/a", "/repo/src/a", "/repo//src/a"] {
        let found = locate(&told.ledger, &key, text).unwrap();
        assert_eq!(found.path, Some(crate::chronicle::path("src/a")), "{text}");
    }
    assert_eq!(locate(&told.ledger, &key, ".").unwrap().path, None);
    for text in ["/elsewhere/a", "../a", "/repository"] {
        assert!(locate(&told.ledger, &key, text).is_err(), "{text}");
    }
}

// C51: paths are unambiguous.
#[test]
fn one_path_in_two_roots_is_ambiguous() {
    use hunkgate::base::{RootId, SessionKey};
    use hunkgate::ledger::{Event, Ledger, LocateError, Log, Record, RootHeader, RootKind, locate};
    let told = Chronicle::new(&[]);
    let (mut ledger, key): (Ledger, SessionKey) = (told.ledger.clone(), SessionKey::new("two"));
    let mut header = told.ledger.session(&told.key("s")).unwrap().header().unwrap().clone();
    header.roots.clear();
    for name in ["one", "two"] {
        let root = RootId::derive(name.as_bytes());
        let path = Some(crate::chronicle::path(name));
        let opened = RootHeader { root: root.clone(), path, kind: RootKind::Plain, dev_ino: (1, 2) };
        let mut seen = told.ledger.chain(&told.root).unwrap().last().unwrap().clone();
        seen.changes = crate::chronicle::created("f");
        for event in [Event::RootOpened(opened), Event::Observed(seen)] {
            ledger.apply(&Log::Root(root.clone()), &Record { at: hunkgate::base::WallNs(1), event });
        }
        header.roots.push((root, format!("/{name}")));
    }
    (header.key, header.cwd) = (key.clone(), "/nowhere".to_owned());
    let event = Event::SessionOpened(header);
    ledger.apply(&Log::Session(key.clone()), &Record { at: hunkgate::base::WallNs(1), event });
    assert!(matches!(locate(&ledger, &key, "f"), Err(LocateError::Ambiguous { .. })));
    assert!(locate(&ledger, &key, "/two/f").is_ok());
}

#[test]
fn a_flood_that_no_call_wrote_is_one_item_and_hides_nothing_of_a_call() {
    let mut told = Chronicle::new(&[("src/a", "x\n")]);
    told.prompt("s").wait(400).call("s", "sh", ToolKind::Execute).wait(20).write("out/mine", "y\n").wait(50);
    told.done("s", "sh").end("s").wait(5000).write("src/person", "x\n");
    for n in 0..600 {
        told.write(&format!("out/deep/{}/{n}", n % 7), "z\n");
    }
    told.wait(100).look(Why::Activity);
    assert_eq!(
        told.shown("s"),
        [
            "out/deep summary 1-1>1-1 external [] locked",
            "out/mine text 1-1>1-2 sole [sh]",
            "src/person text 1-1>1-2 external []",
        ]
    );
}
