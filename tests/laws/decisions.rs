//! Accept, reject, undo and redo: nothing is lost, everything comes back, and the agent is told once.

use crate::world::{Done, World, decide, ids, set};
use hunkgate::base::TurnNo;
use hunkgate::ledger::{Log, Loss, Mode, RevertResult, ReviewState, Skip};
use hunkgate::review::{Answer, Ask, Computed, DecideVerb, Plan, Selector, render, summary, worth_telling};
use proptest::prelude::*;
use std::collections::BTreeSet;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A session in which one call changed lines 2, 5 and 9 of `a`.
fn three_hunks() -> World {
    let mut world = World::on(&[("a", TEN)]);
    world.call("t1", |files| set(files, "a", "1\ntwo\n3\n4\n5\nfive and a half\n6\n7\n8\n10\n"));
    world
}

fn done(result: Result<Done, hunkgate::review::Problem>) -> Done {
    result.unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn a_rejected_hunk_goes_and_the_others_stay() {
    let mut world = three_hunks();
    assert_eq!(world.hunks().len(), 3);
    let second = world.hunk("half");
    let rejected = done(world.reject(ids([&second])));
    assert_eq!((rejected.outcomes(), rejected.states()), (vec!["done"], vec![ReviewState::Rejected]));
    assert_eq!(world.text("a"), Some("1\ntwo\n3\n4\n5\n6\n7\n8\n10\n"));
    assert_eq!(world.hunks().len(), 2);
}

#[test]
fn accepting_writes_nothing_and_stays_listed() {
    let mut world = three_hunks();
    let before = world.files.clone();
    done(world.accept(Selector::All));
    assert_eq!(world.files, before);
    assert!(world.hunks().iter().all(|hunk| hunk.state == ReviewState::Accepted));
    let again = done(world.accept(Selector::All));
    assert_eq!((again.outcomes().len(), again.shape.left.len(), again.recorded), (0, 3, false));
}

#[test]
fn an_accepted_hunk_is_rejected_by_its_id_only() {
    let mut world = three_hunks();
    let second = world.hunk("half");
    done(world.accept(ids([&second])));
    let bulk = done(world.reject(Selector::All));
    assert_eq!((bulk.outcomes().len(), bulk.shape.left.len()), (2, 1));
    assert_eq!(world.text("a"), Some("1\n2\n3\n4\n5\nfive and a half\n6\n7\n8\n9\n10\n"));
    done(world.reject(ids([&second])));
    assert_eq!(world.text("a"), Some(TEN));
}

#[test]
fn a_created_file_goes_as_a_whole() {
    let mut world = World::on(&[("a", "x\n")]);
    world.call("t1", |files| set(files, "new/b", "one\ntwo\n"));
    done(world.reject(Selector::File("new".to_owned())));
    assert_eq!(world.text("new/b"), None);
    done(world.undo());
    assert_eq!(world.text("new/b"), Some("one\ntwo\n"));
}

#[test]
fn a_persons_lines_in_a_created_file_stay() {
    let mut world = World::on(&[("a", "x\n")]);
    world.call("t1", |files| set(files, "b", "one\ntwo\n"));
    world.person(|files| set(files, "b", "one\ntwo\nmine 1\nmine 2\n"));
    done(world.reject(Selector::Call("t1".to_owned())));
    assert_eq!(world.text("b"), Some("mine 1\nmine 2\n"));
}

#[test]
fn a_persons_line_inside_a_replacement_is_refused_as_mixed() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.call("t1", |files| set(files, "a", "1\nTWO\n3\n"));
    world.person(|files| set(files, "a", "1\nTWO mine\n3\n"));
    let refused = done(world.reject(ids(&world.hunks())));
    assert_eq!(refused.outcomes(), ["refused"], "{refused:?}");
    assert!(!refused.recorded);
    assert_eq!(world.text("a"), Some("1\nTWO mine\n3\n"));
}

#[test]
fn a_calls_line_in_the_place_of_a_persons_is_refused_as_mixed() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.person(|files| set(files, "a", "1\nmine\n3\n"));
    world.call("t1", |files| set(files, "a", "1\nTWO\n3\n"));
    let refused = done(world.reject(ids(&world.hunks())));
    assert_eq!(refused.outcomes(), ["refused"], "{refused:?}");
    assert_eq!(world.text("a"), Some("1\nTWO\n3\n"));
}

#[test]
fn a_persons_lines_after_a_replacement_stay() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.call("t1", |files| set(files, "a", "1\nTWO\n3\n"));
    world.person(|files| set(files, "a", "1\nTWO\nmine\n3\n"));
    done(world.reject(ids(&world.hunks())));
    assert_eq!(world.text("a"), Some("1\n2\nmine\n3\n"));
}

#[test]
fn what_a_person_wrote_is_never_reverted() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.person(|files| set(files, "a", "1\nmine\n3\n"));
    let bulk = done(world.reject(Selector::All));
    assert_eq!((bulk.outcomes().len(), bulk.shape.left.len()), (0, 1));
    let mut forced = decide(DecideVerb::Reject, ids(&world.hunks()));
    forced.force = true;
    let named = done(world.decide(forced));
    assert_eq!(named.outcomes(), ["refused"]);
    assert!(named.reasons().contains("external"), "{named:?}");
    assert_eq!(world.text("a"), Some("1\nmine\n3\n"));
}

#[test]
fn contested_lines_are_reverted_by_force_only() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.calls_at_once(["t1", "t2"], |files| set(files, "a", "1\nwhose\n3\n"));
    let refused = done(world.reject(Selector::All));
    assert_eq!(refused.outcomes(), ["refused"]);
    assert!(refused.reasons().contains("--force would destroy"), "{refused:?}");
    let mut forced = decide(DecideVerb::Reject, Selector::All);
    forced.force = true;
    assert_eq!(done(world.decide(forced)).outcomes(), ["done"]);
    assert_eq!(world.text("a"), Some("1\n2\n3\n"));
}

#[test]
fn a_file_that_was_empty_stays_empty() {
    let mut world = World::on(&[("e", "")]);
    world.call("t1", |files| set(files, "e", "content\n"));
    done(world.reject(Selector::All));
    assert_eq!(world.text("e"), Some(""));
}

#[test]
fn a_deleted_file_comes_back_and_an_undo_takes_it_again() {
    let mut world = World::on(&[("gone", "a\nb\n")]);
    world.call("t1", |files| drop(files.remove("gone")));
    done(world.reject(Selector::All));
    assert_eq!(world.files.get("gone"), Some(&(Mode::Regular, b"a\nb\n".to_vec())));
    done(world.undo());
    assert_eq!(world.text("gone"), None);
}

#[test]
fn a_mode_and_a_binary_go_back() {
    let mut world = World::on(&[("m", "x\n"), ("b", "a\0b")]);
    world.call("t1", |files| {
        files.insert("m".to_owned(), (Mode::Executable, b"x\n".to_vec()));
        set(files, "b", "a\0c");
    });
    let kinds: Vec<String> = world.hunks().into_iter().map(|hunk| hunk.entry.kind).collect();
    assert_eq!(kinds, ["binary", "mode"]);
    done(world.reject(Selector::All));
    assert_eq!(world.files.get("m"), Some(&(Mode::Regular, b"x\n".to_vec())));
    assert_eq!(world.text("b"), Some("a\0b"));
    done(world.undo());
    assert_eq!(world.files.get("m"), Some(&(Mode::Executable, b"x\n".to_vec())));
    assert_eq!(world.text("b"), Some("a\0c"));
}

#[test]
fn a_rename_goes_back_with_its_hunks_or_without() {
    let text = "a\nb\nc\nd\ne\nf\ng\nh\n";
    let renamed = || {
        let mut world = World::on(&[("old", text)]);
        world.call("t1", |files| {
            let kept = files.remove("old").expect("there");
            files.insert("new".to_owned(), kept);
        });
        world
    };
    let mut world = renamed();
    let kinds: Vec<String> = world.hunks().into_iter().map(|hunk| hunk.entry.kind).collect();
    assert_eq!(kinds, ["rename"]);
    done(world.reject(Selector::All));
    assert_eq!((world.text("old"), world.text("new")), (Some(text), None));
    done(world.undo());
    assert_eq!((world.text("old"), world.text("new")), (None, Some(text)));
    let kinds: Vec<String> = world.hunks().into_iter().map(|hunk| hunk.entry.kind).collect();
    assert_eq!(kinds, ["rename"], "{:#?}", world.hunks());
    done(world.redo());
    assert_eq!((world.text("old"), world.text("new")), (Some(text), None));
    done(world.undo());
    let kinds: Vec<String> = world.hunks().into_iter().map(|hunk| hunk.entry.kind).collect();
    assert_eq!(kinds, ["rename"], "{:#?}", world.hunks());

    let mut world = renamed();
    world.call("t2", |files| set(files, "new", "A\nb\nc\nd\ne\nf\ng\nH\n"));
    let hunks = world.hunks();
    assert_eq!(hunks.len(), 3, "{hunks:#?}");
    let some: Vec<_> =
        hunks.iter().filter(|hunk| hunk.entry.kind == "rename" || hunk.after_content == "A\n").collect();
    assert_eq!(done(world.reject(ids(some))).outcomes(), ["done", "done"]);
    assert_eq!((world.text("old"), world.text("new")), (Some("a\nb\nc\nd\ne\nf\ng\nH\n"), None));
}

#[test]
fn a_failed_revert_leaves_its_hunks_undecided_and_the_rest_is_done() {
    let mut world = World::on(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    world.call("t1", |files| ["a", "b", "c"].into_iter().for_each(|path| set(files, path, "2\n")));
    world.stubborn.insert("a".to_owned(), RevertResult::Failed { reason: "read-only".to_owned() });
    world.stubborn.insert("c".to_owned(), RevertResult::Stale { rescued: None });
    let done = done(world.reject(Selector::All));
    assert_eq!(done.outcomes(), ["refused", "done", "refused"]);
    assert!(done.reasons().contains("read-only") && done.reasons().contains("stale"));
    let states: Vec<_> = world.hunks().into_iter().map(|hunk| (hunk.path, hunk.state)).collect();
    assert_eq!(
        states,
        [("a".to_owned(), ReviewState::Unreviewed), ("c".to_owned(), ReviewState::Unreviewed)]
    );
}

#[test]
fn a_decision_is_spent_on_what_was_shown() {
    let mut world = three_hunks();
    let second = world.hunk("half");
    let mut stale = decide(DecideVerb::Reject, ids([&second]));
    stale.digests = vec![hunkgate::base::Digest::new("0123456789abcdef")];
    assert_eq!(done(world.decide(stale.clone())).outcomes(), ["refused"]);
    stale.digests = vec![second.digest.clone()];
    stale.selector = Selector::Ids(vec![second.id.as_str().to_owned(), "f".repeat(32)]);
    assert_eq!(done(world.decide(stale)).outcomes(), ["done", "refused"]);
    let whole = Selector::Ids(vec!["f".repeat(32)]);
    assert_eq!(done(world.reject(whole)).outcomes(), ["refused"], "who has a whole id has seen it");
    let unknown = world.reject(Selector::Ids(vec!["fffff".to_owned()])).expect_err("unknown");
    assert!(unknown.message.contains("no hunk"), "{unknown}");
}

#[test]
fn undo_takes_whole_commands_back_again_and_again_and_redo_goes_forward() {
    let mut world = three_hunks();
    let agent = world.text("a").map(str::to_owned);
    let hunks = world.hunks();
    done(world.accept(ids([&hunks[0]])));
    done(world.reject(ids([&hunks[1], &hunks[2]])));
    let rejected = world.text("a").map(str::to_owned);
    let undone = done(world.undo());
    assert_eq!((undone.outcomes(), undone.states()), (vec!["done"; 2], vec![ReviewState::Unreviewed; 2]));
    assert_eq!(world.text("a").map(str::to_owned), agent);
    assert!(world.hunks().iter().all(|hunk| !hunk.tool_call_ids.is_empty()), "{:#?}", world.hunks());
    done(world.undo());
    assert!(world.hunks().iter().all(|hunk| hunk.state == ReviewState::Unreviewed));
    assert!(world.undo().is_err());
    done(world.redo());
    assert_eq!(world.hunks()[0].state, ReviewState::Accepted);
    done(world.redo());
    assert_eq!(world.text("a").map(str::to_owned), rejected);
    assert!(world.redo().is_err());
    done(world.undo());
    done(world.redo());
    assert_eq!(world.text("a").map(str::to_owned), rejected);
    done(world.undo());
    assert_eq!(world.text("a").map(str::to_owned), agent);
    done(world.accept(ids([&hunks[2]])));
    assert!(world.redo().is_err(), "a new decision clears redo");
}

#[test]
fn undo_leaves_later_edits_elsewhere_and_is_refused_where_the_lines_changed() {
    let mut world = three_hunks();
    let first = world.hunk("two");
    done(world.reject(ids([&first])));
    world.person(|files| set(files, "a", "1\n2\n3\n4\n5\nfive and a half\n6\n7\n8\n10\nmine\n"));
    done(world.undo());
    assert_eq!(world.text("a"), Some("1\ntwo\n3\n4\n5\nfive and a half\n6\n7\n8\n10\nmine\n"));
    done(world.redo());
    assert_eq!(world.text("a"), Some("1\n2\n3\n4\n5\nfive and a half\n6\n7\n8\n10\nmine\n"));
    world.person(|files| set(files, "a", "1\nmy two\n3\n4\n5\nfive and a half\n6\n7\n8\n10\nmine\n"));
    let refused = done(world.undo());
    assert_eq!((refused.outcomes(), refused.recorded), (vec!["refused"], false));
    assert!(refused.reasons().contains("changed since"), "{refused:?}");
    assert_eq!(world.text("a"), Some("1\nmy two\n3\n4\n5\nfive and a half\n6\n7\n8\n10\nmine\n"));
}

/// Three files, each with a change of the agent: `c` was accepted, then `a` and `b` were rejected and a person wrote into `b`.
fn rejected_and_written_over() -> World {
    let mut world = World::on(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    world.call("t1", |files| ["a", "b", "c"].into_iter().for_each(|path| set(files, path, "two\n")));
    let hunks = world.hunks();
    done(world.accept(ids([&hunks[2]])));
    done(world.reject(ids([&hunks[0], &hunks[1]])));
    world.person(|files| set(files, "b", "mine\n"));
    world
}

#[test]
fn an_undo_that_was_refused_in_part_is_tried_again_by_the_next_one() {
    let mut world = rejected_and_written_over();
    assert_eq!(done(world.undo()).outcomes(), ["done", "refused"]);
    assert_eq!((world.text("a"), world.text("b")), (Some("two\n"), Some("mine\n")));
    world.person(|files| set(files, "b", "1\n"));
    assert_eq!(done(world.undo()).outcomes(), ["done"]);
    assert_eq!(world.text("b"), Some("two\n"));
    // Both parts go forward as one command.
    assert_eq!(done(world.redo()).outcomes(), ["done"; 2]);
    assert_eq!((world.text("a"), world.text("b")), (Some("1\n"), Some("1\n")));
    assert_eq!(done(world.undo()).outcomes(), ["done"; 2]);
    assert_eq!(done(world.undo()).states(), [ReviewState::Unreviewed]);
    assert!(world.undo().is_err());
}

#[test]
fn what_still_cannot_be_undone_is_told_and_is_in_nobodys_way() {
    let mut world = rejected_and_written_over();
    done(world.undo());
    let passed = done(world.undo());
    assert_eq!((passed.outcomes(), passed.recorded), (vec!["done", "refused"], true));
    assert_eq!(world.hunks()[2].state, ReviewState::Unreviewed, "the accept before it");
    let stuck = done(world.undo());
    assert_eq!((stuck.outcomes(), stuck.recorded), (vec!["refused"], false));
    done(world.redo());
    assert_eq!(world.hunks()[2].state, ReviewState::Accepted);
    world.person(|files| set(files, "b", "1\n"));
    done(world.undo());
    assert_eq!(done(world.undo()).outcomes(), ["done"]);
    assert_eq!(world.text("b"), Some("two\n"));
}

#[test]
fn a_redo_that_was_refused_in_part_is_tried_again_and_a_new_decision_clears_the_rest() {
    let mut world = rejected_and_written_over();
    world.person(|files| set(files, "b", "1\n"));
    done(world.undo());
    world.person(|files| set(files, "b", "mine\n"));
    assert_eq!(done(world.redo()).outcomes(), ["done", "refused"]);
    assert_eq!(done(world.redo()).outcomes(), ["refused"]);
    world.person(|files| set(files, "b", "two\n"));
    assert_eq!(done(world.redo()).outcomes(), ["done"]);
    assert_eq!((world.text("a"), world.text("b")), (Some("1\n"), Some("1\n")));
    world.person(|files| set(files, "b", "mine\n"));
    done(world.undo());
    let hunks = world.hunks();
    done(world.accept(ids([&hunks[0]])));
    assert!(world.redo().is_err(), "a new decision clears redo");
    done(world.undo());
    world.person(|files| set(files, "b", "1\n"));
    assert_eq!(done(world.undo()).outcomes(), ["done"], "what stands is taken back all the same");
    assert_eq!(done(world.redo()).outcomes(), ["done"]);
    assert_eq!(
        (world.text("a"), world.text("b")),
        (Some("two\n"), Some("1\n")),
        "and that alone goes forward"
    );
}

#[test]
fn an_undone_reject_of_an_accepted_hunk_is_accepted_again() {
    let mut world = three_hunks();
    let second = world.hunk("half");
    done(world.accept(ids([&second])));
    done(world.reject(ids([&second])));
    assert_eq!(done(world.undo()).states(), [ReviewState::Accepted]);
    assert_eq!(world.hunk("half").state, ReviewState::Accepted);
}

#[test]
fn a_dry_run_changes_nothing() {
    let world = three_hunks();
    let mut dry = decide(DecideVerb::Reject, Selector::All);
    dry.dry_run = true;
    let Computed::Plan(plan) = world.compute(&Ask::Decide(dry)) else { panic!("no plan") };
    let shape = Plan::dry_run(&plan);
    assert!(shape.dry_run && shape.items.iter().all(|item| item.outcome == "planned"));
    assert!(shape.items.iter().all(|item| item.state == ReviewState::Unreviewed));
}

#[test]
fn what_was_told_is_not_told_again() {
    let mut world = three_hunks();
    let hunks = world.hunks();
    let mut reject = decide(DecideVerb::Reject, ids([&hunks[0]]));
    reject.reason = Some("too loud".to_owned());
    done(world.decide(reject));
    let note = world.send_note().expect("a note");
    assert!(
        note.contains("a, line 2") && note.contains("too loud") && note.contains("Do not re-apply"),
        "{note}"
    );
    assert_eq!(world.send_note(), None, "in flight");
    world.note_answered(false);
    assert!(world.send_note().is_some(), "an error returns it");
    world.note_answered(true);
    assert_eq!(world.send_note(), None, "delivered");
    done(world.undo());
    let restored = world.send_note().expect("a note");
    assert!(restored.contains("restored"), "{restored}");
    world.note_answered(true);
    assert_eq!(world.send_note(), None);
    done(world.redo());
    assert!(world.send_note().expect("a note").contains("too loud"));
}

#[test]
fn an_undo_before_the_note_left_withdraws_it() {
    let mut world = three_hunks();
    done(world.reject(Selector::All));
    done(world.undo());
    assert_eq!(world.send_note(), None);
}

#[test]
fn a_note_lists_every_reverted_file() {
    let mut world = World::on(&[("a", "1\n"), ("b", "1\n"), ("d/gone", "x\n")]);
    world.call("t1", |files| {
        set(files, "a", "2\n");
        set(files, "b", "2\n");
        set(files, "d/new", "n\n");
        files.remove("d/gone");
    });
    done(world.reject(Selector::Turn(1)));
    let note = world.send_note().expect("a note");
    for said in
        ["- a, line 1", "- b, line 1", "- d/new, the file you created", "- d/gone, the file you deleted"]
    {
        assert!(note.contains(said), "{said}: {note}");
    }
}

#[test]
fn open_comments_ride_along_with_their_lines() {
    let mut world = three_hunks();
    world.comment("a", 2, "say why");
    let note = world.send_note().expect("a note");
    assert!(note.contains("- a, line 2:\n  > two\n  say why\n"), "{note}");
    world.note_answered(true);
    assert_eq!(world.send_note(), None);
}

#[test]
fn a_change_that_returns_after_its_note_is_told_of_again() {
    let mut world = World::on(&[("a", "1\n2\n3\n")]);
    world.call("t1", |files| set(files, "a", "1\nTWO\n3\n"));
    done(world.reject(Selector::All));
    world.send_note();
    world.note_answered(true);
    world.call("t2", |files| set(files, "a", "1\nTWO\n3\n"));
    let hunk = world.hunk("TWO");
    assert!(hunk.reapplied && hunk.state == ReviewState::Unreviewed);
    let again = done(world.reject(Selector::All));
    assert_eq!(again.outcomes(), ["done"], "{again:?} {hunk:#?}");
    assert!(world.send_note().is_some());
}

#[test]
fn a_rejected_change_can_still_be_read_with_its_reason() {
    let mut world = three_hunks();
    let second = world.hunk("half");
    let mut reject = decide(DecideVerb::Reject, ids([&second]));
    reject.reason = Some("too loud".to_owned());
    done(world.decide(reject));
    let id = second.id.as_str()[..8].to_owned();
    let Computed::Answer(Answer::Shown(shown)) = world.compute(&Ask::Show { id }) else {
        panic!("not shown")
    };
    assert_eq!(
        (shown.hunk.after_content.as_str(), shown.hunk.state),
        ("five and a half\n", ReviewState::Rejected)
    );
    let row = &shown.history[0];
    assert_eq!(
        (row.state, row.reason.as_deref(), row.by.as_str()),
        (ReviewState::Rejected, Some("too loud"), "human")
    );
    assert_eq!((row.before.as_deref(), row.after.as_deref()), (Some(""), Some("five and a half\n")));
}

#[test]
fn nothing_is_reverted_where_the_record_is_damaged_but_by_force() {
    let mut world = three_hunks();
    let root = hunkgate::base::RootId::derive(b"/w");
    let skip = Skip { loss: Loss::Root(root.clone()), line: 9, reason: "torn".to_owned() };
    world.ledger.skip(&Log::Root(root), skip);
    let refused = done(world.reject(Selector::All));
    assert!(refused.outcomes().iter().all(|outcome| *outcome == "refused"), "{refused:?}");
    assert!(refused.reasons().contains("degraded"), "{refused:?}");
    done(world.accept(ids([&world.hunk("half")])));
    let mut forced = decide(DecideVerb::Reject, Selector::All);
    forced.force = true;
    assert_eq!(done(world.decide(forced)).outcomes(), ["done", "done"]);
}

#[test]
fn an_ambiguous_or_unknown_selector_is_the_askers_to_mend() {
    let mut world = three_hunks();
    let check = |world: &mut World, selector: Selector, says: &str| {
        let problem = world.reject(selector).expect_err(says);
        assert!(problem.message.contains(says), "{problem}");
        assert_eq!(problem.kind, hunkgate::review::ProblemKind::User);
    };
    check(&mut world, Selector::Ids(vec![String::new()]), "no hunk");
    check(&mut world, Selector::File("nowhere".to_owned()), "nothing is changed");
    check(&mut world, Selector::File("../up".to_owned()), "outside");
    check(&mut world, Selector::Call("t9".to_owned()), "no change carries");
    let listed = world.hunks();
    let shared =
        (0..=32).rev().find(|length| listed[0].id.as_str()[..*length] == listed[1].id.as_str()[..*length]);
    let prefix = listed[0].id.as_str()[..shared.unwrap_or(0)].to_owned();
    if !prefix.is_empty() {
        check(&mut world, Selector::Ids(vec![prefix]), "ambiguous");
    }
    for file in ["a", "./a", "/w/a", "/w"] {
        let mut dry = decide(DecideVerb::Reject, Selector::File(file.to_owned()));
        dry.dry_run = true;
        let Computed::Plan(plan) = world.compute(&Ask::Decide(dry)) else { panic!("no plan for {file}") };
        assert_eq!(plan.items.len(), 3, "{file}");
    }
}

#[test]
fn a_comment_must_stand_on_lines_that_are_there() {
    let world = three_hunks();
    let check = |path: &str, lines: (u32, Option<u32>), body: &str| {
        let (path, body) = (path.to_owned(), body.to_owned());
        world.compute(&Ask::Comment { path, line_start: lines.0, line_end: lines.1, body })
    };
    let Computed::Comment(comment) = check("a", (9, Some(40)), "why") else { panic!("no comment") };
    assert_eq!((comment.lines.start, comment.lines.end, comment.excerpt.as_str()), (9, 11, "8\n10\n"));
    for (path, lines, body) in
        [("a", (0, None), "x"), ("a", (3, Some(2)), "x"), ("a", (99, None), "x"), ("a", (1, None), " ")]
    {
        assert!(matches!(check(path, lines, body), Computed::Answer(Answer::Problem(_))), "{lines:?}");
    }
    assert!(matches!(check("absent", (1, None), "x"), Computed::Answer(Answer::Problem(_))));
}

#[test]
fn line_endings_flipped_as_a_whole_go_back_with_or_without_the_hunks() {
    let flipped = || {
        let mut world = World::on(&[("a", "1\n2\n3\n4\n")]);
        world.call("t1", |files| set(files, "a", "1\r\nTWO\r\n3\r\n4\r\n"));
        world
    };
    let mut world = flipped();
    let kinds: Vec<String> = world.hunks().into_iter().map(|hunk| hunk.entry.kind).collect();
    assert_eq!(kinds, ["eol", "text"]);
    let text: Vec<_> = world.hunks().into_iter().filter(|hunk| hunk.entry.kind == "text").collect();
    done(world.reject(ids(&text)));
    assert_eq!(world.text("a"), Some("1\r\n2\r\n3\r\n4\r\n"));
    let mut world = flipped();
    let eol: Vec<_> = world.hunks().into_iter().filter(|hunk| hunk.entry.kind == "eol").collect();
    done(world.reject(ids(&eol)));
    assert_eq!(world.text("a"), Some("1\nTWO\n3\n4\n"));
    let mut world = flipped();
    done(world.reject(Selector::All));
    assert_eq!(world.text("a"), Some("1\n2\n3\n4\n"));
}

#[test]
fn half_of_a_rename_is_never_put_back() {
    let mut world = World::on(&[("old", "a\nb\nc\nd\n")]);
    world.call("t1", |files| {
        let kept = files.remove("old").expect("there");
        files.insert("new".to_owned(), kept);
    });
    world.refuses.insert("old".to_owned());
    let refused = done(world.reject(Selector::All));
    assert_eq!((refused.outcomes(), refused.recorded), (vec!["refused"], false));
    assert_eq!((world.text("new"), world.text("old")), (Some("a\nb\nc\nd\n"), None));
}

#[test]
fn what_is_told_at_the_end_of_a_turn_names_what_is_owed() {
    let mut world = three_hunks();
    let told = BTreeSet::new();
    let text = summary(&world.listing(), (Some(TurnNo(1)), &told), "hunkgate").expect("something is owed");
    for hunk in world.hunks() {
        assert!(text.contains(&hunk.id.as_str()[..8]), "{text}");
    }
    assert!(text.contains("3 changes to review in 1 file") && text.contains("`t1`"), "{text}");
    world.person(|files| set(files, "other", "mine\n"));
    let text = summary(&world.listing(), (Some(TurnNo(1)), &told), "hunkgate").expect("something is owed");
    assert!(text.contains("1 external") && !text.contains("other:"), "{text}");
    let told = worth_telling(&world.listing()).skip(1).map(|hunk| hunk.id.clone()).collect();
    let text = summary(&world.listing(), (Some(TurnNo(1)), &told), "hunkgate").expect("one is new");
    assert!(text.contains("1 change to review in 1 file; 2 more from before"), "{text}");
    let told = worth_telling(&world.listing()).map(|hunk| hunk.id.clone()).collect();
    assert_eq!(summary(&world.listing(), (Some(TurnNo(1)), &told), "hunkgate"), None);
    done(world.accept(Selector::All));
    assert_eq!(summary(&world.listing(), (Some(TurnNo(1)), &BTreeSet::new()), "hunkgate"), None);
}

#[test]
fn every_answer_reads_as_markdown() {
    let mut world = three_hunks();
    let second = world.hunk("half");
    let id = second.id.as_str()[..8].to_owned();
    let says = |world: &World, ask: &Ask| match world.compute(ask) {
        Computed::Answer(answer) => render(&answer),
        Computed::Comment(_) | Computed::Plan(_) | Computed::Cards(_) => panic!("no answer"),
    };
    let check = |text: String, says: &[&str]| {
        for said in says {
            assert!(text.contains(said), "{said:?} in {text}");
        }
    };
    check(says(&world, &Ask::Hunks { paths: vec![] }), &["**a**", &id, "by `t1`"]);
    check(
        says(&world, &Ask::Show { id: id.clone() }),
        &["```diff\n+five and a half\n```", "Written by `t1`"],
    );
    check(says(&world, &Ask::Diff { selector: Selector::All }), &["```diff\ndiff --git a/a b/a"]);
    check(says(&world, &Ask::Status), &["3 to review, 0 accepted, 0 rejected"]);
    check(says(&world, &Ask::Note), &["Nothing will be told"]);
    check(says(&world, &Ask::Show { id: "ffff".to_owned() }), &["No hunk", "`hunkgate hunks`"]);
    let rejected = done(world.reject(ids([&second])));
    check(render(&Answer::Decided(rejected.shape)), &["Rejected 1 change", &id]);
    check(says(&world, &Ask::Status), &["2 to review, 0 accepted, 1 rejected", "a note goes"]);
    check(says(&world, &Ask::Note), &["Do not re-apply"]);
}

/// Lines of a small file, with few different texts so that they repeat.
fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a\n"), Just("b\n"), Just("c\n"), Just("}\n"), Just("\n")];
    let last = prop_oneof![3 => Just(""), 1 => Just("end")];
    (proptest::collection::vec(line, 0..14), last).prop_map(|(lines, last)| lines.concat() + last)
}

/// A file of lines that are all different, and what an agent made of it line by line.
fn edited() -> impl Strategy<Value = (String, String)> {
    proptest::collection::vec(0..6u8, 1..24).prop_map(|edits| {
        let (mut base, mut agent) = (String::new(), String::new());
        for (at, edit) in edits.into_iter().enumerate() {
            base.push_str(&format!("line {at}\n"));
            match edit {
                0 => {}
                1 => agent.push_str(&format!("new {at}\n")),
                2 => agent.push_str(&format!("line {at}\nmore {at}\nand more {at}\n")),
                _ => agent.push_str(&format!("line {at}\n")),
            }
        }
        (base, agent)
    })
}

/// A tree of three paths, some of them absent.
fn tree() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let file = |path: &'static str| {
        proptest::option::weighted(0.8, lines()).prop_map(move |text| text.map(|text| (path, text)))
    };
    (file("a"), file("d/b"), file("d/c")).prop_map(|(a, b, c)| [a, b, c].into_iter().flatten().collect())
}

fn replace(files: &mut crate::world::Files, tree: &[(&str, String)]) {
    files.clear();
    tree.iter().for_each(|(path, text)| set(files, path, text));
}

/// Names what is listed: ids, states and calls.
fn named(world: &World) -> Vec<(String, ReviewState, Vec<String>)> {
    let calls =
        |hunk: &hunkgate::ledger::HunkShape| hunk.tool_call_ids.iter().map(ToString::to_string).collect();
    world.hunks().iter().map(|hunk| (hunk.id.to_string(), hunk.state, calls(hunk))).collect()
}

fn start(tree: &[(&'static str, String)]) -> World {
    World::on(&tree.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rejecting_all_restores_the_base(base in tree(), agent in tree()) {
        let mut world = start(&base);
        let before = world.files.clone();
        world.call("t1", |files| replace(files, &agent));
        let after = world.files.clone();
        let listed = named(&world);
        let rejected = done(world.reject(Selector::All));
        prop_assert!(rejected.outcomes().iter().all(|outcome| *outcome == "done"), "{rejected:?}");
        prop_assert_eq!(&world.files, &before);
        prop_assert!(world.hunks().is_empty());
        if rejected.recorded {
            done(world.undo());
            prop_assert_eq!(&world.files, &after);
            prop_assert_eq!(named(&world), listed);
            done(world.redo());
            prop_assert_eq!(&world.files, &before);
            prop_assert!(world.hunks().is_empty());
        }
    }

    #[test]
    fn disjoint_hunks_commute((base, agent) in edited(), order in any::<u64>()) {
        let run = |backwards: bool| {
            let mut world = start(&[("a", base.clone())]);
            world.call("t1", |files| set(files, "a", &agent));
            let mut hunks: Vec<_> =
                world.hunks().into_iter().enumerate().filter(|(at, _)| order >> at & 1 == 1).collect();
            if backwards {
                hunks.reverse();
            }
            for (_, hunk) in hunks {
                done(world.reject(ids([&hunk])));
            }
            world.files
        };
        prop_assert_eq!(run(false), run(true));
    }

    #[test]
    fn together_or_one_by_one_is_the_same((base, agent) in edited()) {
        let world = || {
            let mut world = start(&[("a", base.clone())]);
            world.call("t1", |files| set(files, "a", &agent));
            world
        };
        let mut together = world();
        let half: Vec<_> = together.hunks().into_iter().step_by(2).collect();
        done(together.reject(ids(&half)));
        let mut apart = world();
        for hunk in &half {
            done(apart.reject(ids([hunk])));
        }
        prop_assert_eq!(together.files, apart.files);
    }

    #[test]
    fn a_reject_leaves_every_line_that_is_not_ours(base in lines(), agent in lines(), person in lines()) {
        let mut world = start(&[("a", base.clone())]);
        world.call("t1", |files| set(files, "a", &agent));
        world.person(|files| set(files, "a", &person));
        let external = |world: &World| -> usize {
            let runs = world.hunks().into_iter().flat_map(|hunk| hunk.author_lines);
            runs.filter(|run| run.side == hunkgate::ledger::Side::After && run.calls.is_empty())
                .map(|run| (run.end - run.start) as usize)
                .sum()
        };
        let before = external(&world);
        done(world.reject(Selector::All));
        let text = world.text("a").unwrap_or_default().to_owned();
        let kept = text.split_inclusive('\n').count();
        prop_assert!(kept >= before.min(person.split_inclusive('\n').count()), "{before} lines of a person, {kept} lines left: {text:?}");
    }

    #[test]
    fn undo_and_redo_are_inverse_of_each_other(base in lines(), agent in lines(), person in lines()) {
        let mut world = start(&[("a", base.clone())]);
        world.call("t1", |files| set(files, "a", &agent));
        done(world.reject(Selector::All));
        let tail = person;
        world.person(|files| {
            let text = files.get("a").map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
            set(files, "a", &(text + &tail));
        });
        let before = world.files.clone();
        if world.undo().is_ok_and(|undone| undone.outcomes().iter().all(|outcome| *outcome == "done"))
            && world.redo().is_ok_and(|redone| redone.outcomes().iter().all(|outcome| *outcome == "done"))
        {
            prop_assert_eq!(&world.files, &before);
        }
    }
}
