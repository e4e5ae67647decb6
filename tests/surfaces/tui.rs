//! The terminal UI without a terminal: messages in, screens and commands out.

use crate::{comment, entry_hunk, rich_listing, snapshot, text_hunk};
use hunkgate::ledger::{CommentShape, ListingShape, Outcome};
use hunkgate::review::{
    Answer, Ask, Decide, DecideVerb, DocketAnswer, DocketAsk, Problem, ProblemKind, Response, Selector,
};
use hunkgate::surface::tui::{
    Cmd, Depth, FileText, Inks, Keys, Model, Msg, Seen, Setup, Stroke, Tag, Theme, view,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};

const KEYS: &str =
    "j k ] [ } { down up space pageup g G l h a x A X r ! u U c v s t z enter / n N w d tab e i m p R ? q";

/// A model with a screen.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) model: Model,
    size: (u16, u16),
}

impl Desk {
    pub(crate) fn new(size: (u16, u16), depth: Depth) -> Self {
        Self::after(size, depth, None)
    }

    /// A sitting after another one.
    fn after(size: (u16, u16), depth: Depth, seen: Option<Seen>) -> Self {
        let setup = Setup {
            keys: Keys::default(),
            theme: Theme(depth),
            size,
            title: "agent · s1".to_owned(),
            live: true,
            seen,
        };
        let (model, cmds) = Model::new(setup);
        assert!(matches!(&cmds[0], Cmd::Ask(Tag::Queue, Ask::Hunks { .. })));
        Self { model, size }
    }

    fn with(size: (u16, u16), hunks: Value) -> Self {
        let mut desk = Self::new(size, Depth::None);
        desk.list(hunks);
        desk
    }

    fn list(&mut self, hunks: Value) -> Vec<Cmd> {
        self.listing(json!({ "session_id": "s1", "hunks": hunks }))
    }

    fn listing(&mut self, listing: Value) -> Vec<Cmd> {
        let listing: ListingShape = serde_json::from_value(listing).unwrap();
        self.model.update(Msg::Answered(Tag::Queue, Box::new(Answer::Listing(listing))))
    }

    pub(crate) fn keys(&mut self, keys: &str) -> Vec<Cmd> {
        keys.split(' ').flat_map(|key| self.model.update(Msg::Key(Stroke::new(key)))).collect()
    }

    fn decided(&mut self, verb: &str, items: Value) -> Vec<Cmd> {
        let shape = serde_json::from_value(json!({ "verb": verb, "items": items })).unwrap();
        self.model.update(Msg::Answered(Tag::Decision, Box::new(Answer::Decided(shape))))
    }

    fn terminal(&self) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| view(&self.model, frame)).unwrap();
        terminal
    }

    fn rows(&self) -> Vec<String> {
        let terminal = self.terminal();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..self.size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..self.size.1).map(|y| row(y).trim_end().to_owned()).collect()
    }

    pub(crate) fn screen(&self) -> String {
        self.rows().join("\n")
    }

    /// The row on which the cursor's unit begins.
    fn cursor(&self) -> usize {
        self.rows().iter().position(|row| row.contains('┃')).expect("a cursor")
    }
}

/// A hunk on lines of its own.
fn at(digit: &str, path: &str, line: u32, text: &str) -> Value {
    let mut hunk = text_hunk(digit, path, "unreviewed");
    let lines = u32::try_from(text.lines().count()).unwrap();
    hunk["base_range"] = json!({ "start": line, "end": line + 1 });
    hunk["current_range"] = json!({ "start": line, "end": line + lines });
    hunk["after_content"] = json!(text);
    hunk["digest"] = json!(format!("{digit:0>16}"));
    hunk
}

fn id(digit: &str) -> String {
    digit.repeat(32)
}

fn item(digit: &str, state: &str, outcome: &str, reason: Option<&str>) -> Value {
    json!({ "id": id(digit), "path": "src/a.rs", "state": state, "outcome": outcome, "reason": reason })
}

fn only_decision(cmds: &[Cmd]) -> Decide {
    let mut decisions = cmds.iter().filter_map(|cmd| {
        if let Cmd::Ask(Tag::Decision, Ask::Decide(decide)) = cmd { Some(decide.clone()) } else { None }
    });
    let decide = decisions.next().expect("a decision");
    assert_eq!(decisions.next(), None);
    decide
}

fn three() -> Value {
    json!([
        at("1", "src/a.rs", 10, "let one = 1;\n"),
        at("2", "src/a.rs", 40, "let two = 2;\n"),
        at("3", "src/b.rs", 5, "let three = 3;\n")
    ])
}

#[test]
fn the_screen_reads_as_it_did() {
    for (name, size) in [("small", (80, 24)), ("large", (200, 60))] {
        let mut desk = Desk::new(size, Depth::None);
        desk.listing(rich_listing());
        snapshot(&format!("tui_{name}_unified"), &desk.screen());
        desk.keys("s");
        snapshot(&format!("tui_{name}_split"), &desk.screen());
        desk.keys("t");
        snapshot(&format!("tui_{name}_by_call"), &desk.screen());
        desk.keys("?");
        snapshot(&format!("tui_{name}_help"), &desk.screen());
    }
}

#[test]
fn a_decision_quotes_what_was_shown() {
    let mut desk = Desk::with((80, 24), three());
    let decide = only_decision(&desk.keys("a"));
    assert_eq!((decide.verb, decide.selector), (DecideVerb::Accept, Selector::Ids(vec![id("1")])));
    assert_eq!(decide.digests[0].as_str(), "0000000000000001");
    let decide = only_decision(&desk.keys("j X"));
    assert_eq!((decide.verb, decide.selector), (DecideVerb::Reject, Selector::Ids(vec![id("3")])));
    let mut desk = Desk::with((80, 24), three());
    let decide = only_decision(&desk.keys("A"));
    assert_eq!(decide.selector, Selector::Ids(vec![id("1"), id("2")]));
    let mut desk = Desk::with((80, 24), three());
    let decide = only_decision(&desk.keys("r n o space g o enter"));
    assert_eq!((decide.verb, decide.reason.as_deref()), (DecideVerb::Reject, Some("no go")));
}

#[test]
fn after_a_decision_the_next_undecided_one_is_in_view_and_the_progress_counts() {
    let mut desk = Desk::with((80, 24), three());
    assert!(desk.screen().contains(" 0/3"));
    desk.keys("a");
    assert!(desk.screen().contains("… accepting"));
    desk.decided("accept", json!([item("1", "accepted", "done", None)]));
    assert!(desk.screen().contains(" 1/3") && desk.screen().contains("✓ accepted"));
    assert!(desk.rows()[desk.cursor()].contains("-40 +40"));
    desk.keys("a a");
    desk.decided("accept", json!([item("2", "accepted", "done", None)]));
    desk.decided("accept", json!([item("3", "accepted", "done", None)]));
    desk.keys("]");
    assert!(desk.screen().contains("nothing waits for you"), "{}", desk.screen());
}

// C86: chrome eats no vertical space.
#[test]
fn on_a_small_terminal_all_rows_but_two_are_the_stream() {
    let mut desk = Desk::with((80, 24), json!([at("1", "src/a.rs", 10, &"let x = 1;\n".repeat(40))]));
    let count = |desk: &Desk| desk.rows().iter().filter(|row| row.contains("+let x = 1;")).count();
    assert!(count(&desk) >= 17, "{}", desk.screen());
    desk.keys("pagedown");
    assert_eq!(count(&desk), 22, "the file's name above, the bar below: {}", desk.screen());
    assert!(desk.rows()[0].contains("src/a.rs") && desk.rows()[23].contains("0/1"), "{}", desk.screen());
    desk.keys("s");
    assert_eq!(count(&desk), 22, "{}", desk.screen());
}

#[test]
fn a_root_that_becomes_degraded_is_said_wherever_one_reads() {
    let many: Vec<Value> =
        (1..=9).map(|nth| at(&nth.to_string(), "a.rs", nth * 20, &"x\n".repeat(9))).collect();
    let mut desk = Desk::with((80, 24), json!(many));
    desk.keys("G");
    let why = "another directory stands in its place";
    let roots = json!([{ "root": "/home/me/repo", "degraded": why }]);
    desk.keys("R");
    desk.listing(json!({ "session_id": "s1", "hunks": many, "degraded": roots }));
    assert!(desk.screen().contains("! degraded: /home/me/repo: another"), "{}", desk.screen());
    desk.keys("k");
    assert!(desk.rows()[23].contains("· degraded"), "{}", desk.screen());
    desk.keys("g pageup pageup");
    assert!(desk.rows()[0].contains("degraded: /home/me/repo"), "{}", desk.screen());
}

#[test]
fn whoever_went_on_is_not_taken_back_to_what_was_undone() {
    let mut desk = Desk::with((80, 24), three());
    desk.keys("a");
    desk.decided("accept", json!([item("1", "accepted", "done", None)]));
    desk.keys("u");
    desk.decided("undo", json!([item("1", "unreviewed", "done", None)]));
    desk.keys("G");
    desk.list(three());
    assert!(desk.rows()[desk.cursor()].contains("-5 +5"), "{}", desk.screen());
}

#[test]
fn a_listing_that_may_not_know_of_a_decision_is_asked_for_again() {
    let mut desk = Desk::with((80, 24), three());
    desk.model.update(Msg::Moved);
    desk.keys("x");
    let cmds = desk.decided("reject", json!([item("1", "rejected", "done", None)]));
    assert!(!cmds.iter().any(|cmd| matches!(cmd, Cmd::Ask(Tag::Queue, _))), "one is on its way");
    let cmds = desk.list(three());
    assert!(desk.screen().contains("✗ rejected -10 +10"), "{}", desk.screen());
    assert!(cmds.iter().any(|cmd| matches!(cmd, Cmd::Ask(Tag::Queue, _))), "and looks again");
    desk.list(json!([three()[1], three()[2]]));
    assert!(desk.screen().contains("✗ rejected -10 +10") && desk.screen().contains(" 1/3"));
}

#[test]
fn what_is_rejected_is_counted_once_whichever_answer_comes_first() {
    let mut desk = Desk::with((80, 24), three());
    let status = |rejected: u32| {
        let queue = json!({ "unreviewed": 3 - rejected, "accepted": 0, "rejected": rejected, "external": 0 });
        let status = json!({ "session_id": "s1", "queue": queue });
        let status = Answer::Status(serde_json::from_value(status).unwrap());
        Msg::Answered(Tag::Status, Box::new(status))
    };
    desk.model.update(status(0));
    desk.keys("x");
    desk.decided("reject", json!([item("1", "rejected", "done", None)]));
    assert!(desk.screen().contains(" 1/3"), "{}", desk.screen());
    desk.model.update(status(1));
    assert!(desk.screen().contains(" 1/3"), "{}", desk.screen());
    desk.list(json!([three()[1], three()[2]]));
    assert!(desk.screen().contains(" 1/3"), "{}", desk.screen());
}

#[test]
fn what_is_refused_is_said_and_stays_undecided() {
    let mut desk = Desk::with((80, 24), three());
    desk.keys("x");
    let cmds = desk.decided(
        "reject",
        json!([item("1", "unreviewed", "refused", Some("stale: it changed since it was shown"))]),
    );
    assert!(desk.screen().contains("refused: stale: it changed"), "{}", desk.screen());
    assert!(cmds.iter().any(|cmd| matches!(cmd, Cmd::Ask(Tag::Queue, _))), "and looks again");
    assert!(desk.screen().contains(" 0/3"));
    desk.keys("x");
    let problem = Problem::new(ProblemKind::Degraded, "the disk is full");
    desk.model.update(Msg::Answered(Tag::Decision, Box::new(Answer::Problem(problem))));
    assert!(desk.screen().contains("the disk is full") && !desk.screen().contains("rejecting"));
}

#[test]
fn a_reject_during_a_turn_says_when_it_happens_and_a_done_one_stays_visible() {
    let mut desk = Desk::with((80, 24), three());
    desk.keys("x");
    desk.decided("reject", json!([item("1", "unreviewed", "queued", None)]));
    assert!(desk.screen().contains("✗ reverts when the turn ends"), "{}", desk.screen());
    let at_once = only_decision(&desk.keys("g !"));
    assert_eq!((at_once.now, at_once.force, at_once.selector), (true, false, Selector::Ids(vec![id("1")])));
    let mut desk = Desk::with((80, 24), three());
    desk.keys("x");
    desk.decided("reject", json!([item("1", "rejected", "done", None)]));
    // The next listing no longer has it.
    desk.list(json!([three()[1], three()[2]]));
    assert!(desk.screen().contains("✗ rejected -10 +10"), "{}", desk.screen());
    assert!(desk.screen().contains(" 1/3"));
    desk.keys("g u");
    desk.decided("undo", json!([item("1", "unreviewed", "done", None)]));
    desk.list(three());
    assert!(!desk.screen().contains("✗ rejected") && desk.screen().contains(" 0/3"), "{}", desk.screen());
}

// C84
#[test]
fn nothing_moves_under_the_reader() {
    let long = |digit: &str, path: &str, line| at(digit, path, line, &"x\n".repeat(12));
    let first = json!([long("1", "b.rs", 10), long("2", "b.rs", 60), long("3", "d.rs", 5)]);
    let mut desk = Desk::with((80, 24), first);
    desk.keys("j");
    let (row, before) = (desk.cursor(), desk.rows());
    // The agent goes on: one file above, a hunk above in the same file, one below.
    let more = json!([
        long("4", "a.rs", 1),
        long("5", "b.rs", 1),
        long("1", "b.rs", 25),
        long("2", "b.rs", 75),
        long("3", "d.rs", 5),
        long("6", "e.rs", 5)
    ]);
    desk.list(more);
    assert_eq!(desk.cursor(), row);
    assert!(desk.rows()[row].contains("-75 +75"), "{}", desk.screen());
    let text = |rows: &[String]| -> Vec<String> {
        rows[row + 4..20].iter().map(|row| row.chars().skip(7).collect()).collect()
    };
    assert_eq!(text(&desk.rows()), text(&before), "all that is in sight but the numbers of the lines");
    assert!(desk.screen().contains("3 new"), "{}", desk.screen());
    desk.keys("w");
    assert!(desk.screen().contains("2 new"), "{}", desk.screen());
}

fn request(key: &str, summary: &str, resume: &str) -> Value {
    json!({
        "key": key, "rev": 2, "kind": "permission", "created": 0, "summary": summary, "resume": resume,
        "shown": "editor", "session_id": "s1", "reasons": ["no rule says so"],
        "record": {
            "request": key, "rev": 2, "subagent": null, "turn": null, "call": null,
            "method": "session/request_permission", "tool_kind": "execute", "title": summary,
            "evidence": "structured", "effects": [], "options": [], "binding": "", "mode": null,
            "covered_by": null, "supersedes": null,
        },
    })
}

fn waits(desk: &mut Desk, items: Value) {
    let shape = serde_json::from_value(json!({ "items": items, "next": null })).unwrap();
    let answer = Answer::Docket(DocketAnswer::Pending(shape));
    desk.model.update(Msg::Answered(Tag::Pending, Box::new(answer)));
}

fn only_response(cmds: &[Cmd]) -> Response {
    match cmds {
        [Cmd::Ask(Tag::Response, Ask::Docket(DocketAsk::Respond(response)))] => response.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_waits_for_an_answer_is_said_and_answered_as_it_was_shown() {
    let mut desk = Desk::with((100, 24), three());
    let cmds = desk.model.update(Msg::Requested);
    assert!(matches!(cmds.as_slice(), [Cmd::Ask(Tag::Pending, Ask::Docket(DocketAsk::Pending))]));
    // What is only recorded here, and what nobody hears any more, is not asked of the person.
    let two = json!([
        request("r-1", "make", "none"),
        request("r-2", "git push", "open"),
        request("r-3", "make", "ask_again"),
        request("r-4", "rm a", "open")
    ]);
    waits(&mut desk, two);
    assert!(desk.rows()[0].contains("waits for your answer: git push, and 1 more (p answers)"));
    assert!(desk.rows()[23].contains("2 waiting for your answer: p"), "{}", desk.screen());
    desk.keys("p");
    assert!(desk.screen().contains("no rule says so") && desk.screen().contains("a allow · x deny"));
    let response = only_response(&desk.keys("a"));
    let said = (response.request.as_str(), response.rev, response.outcome);
    assert_eq!(said, ("r-2", Some(2), Outcome::Allow));
    let response = only_response(&desk.keys("j x"));
    assert_eq!((response.request.as_str(), response.outcome), ("r-4", Outcome::Deny));
    let response = only_response(&desk.keys("r n o enter"));
    assert_eq!((response.outcome, response.reason.as_deref()), (Outcome::Deny, Some("no")));
    let done = json!({ "session_id": "s1", "key": "r-4", "rev": 2, "outcome": "deny", "summary": "rm a" });
    let done = Answer::Docket(DocketAnswer::Responded(serde_json::from_value(done).unwrap()));
    desk.model.update(Msg::Answered(Tag::Response, Box::new(done)));
    assert!(
        desk.screen().contains("denied: rm a") && desk.screen().contains("1 waiting"),
        "{}",
        desk.screen()
    );
    waits(&mut desk, json!([]));
    assert!(!desk.screen().contains("waiting for your answer"), "{}", desk.screen());
    desk.keys("p");
    assert!(desk.screen().contains("nothing waits for your answer"), "{}", desk.screen());
    assert_eq!(
        only_decision(&desk.keys("a")).selector,
        Selector::Ids(vec![id("1")]),
        "keys decide hunks again"
    );
}

// C80
#[test]
fn hunks_that_lie_close_together_are_one_group_that_one_key_decides_and_another_divides() {
    let close = json!([
        at("1", "a.rs", 10, "one\n"),
        at("2", "a.rs", 12, "two\n"),
        at("3", "a.rs", 15, "three\n"),
        at("4", "a.rs", 19, "far\n")
    ]);
    let mut desk = Desk::with((80, 30), close.clone());
    assert!(desk.screen().contains("3 hunks -10,6 +10,6"), "{}", desk.screen());
    assert_eq!(only_decision(&desk.keys("x")).selector, Selector::Ids(vec![id("1"), id("2"), id("3")]));
    let mut desk = Desk::with((80, 30), close);
    assert_eq!(only_decision(&desk.keys("z x")).selector, Selector::Ids(vec![id("1")]));
}

#[test]
fn what_is_not_the_agents_is_in_no_group_with_what_is() {
    let mut foreign = at("2", "a.rs", 11, "mine\n");
    foreign["calls"] = json!([]);
    foreign["tool_call_ids"] = json!([]);
    foreign["evidence"]["grade"] = json!("external");
    foreign["evidence"]["grades"] = json!({ "external": 2 });
    let mut desk = Desk::with((80, 30), json!([at("1", "a.rs", 10, "one\n"), foreign]));
    assert_eq!(only_decision(&desk.keys("X")).selector, Selector::Ids(vec![id("1")]));
}

#[test]
fn a_lockfile_is_folded_and_opens_on_demand() {
    let mut lock = at("1", "package-lock.json", 1, &"  \"x\": 1,\n".repeat(60_000));
    lock["folded"] = json!(true);
    let mut desk = Desk::with((80, 24), json!([lock, at("2", "src/a.rs", 3, "a\n")]));
    assert!(desk.screen().contains("▸ package-lock.json"), "{}", desk.screen());
    assert!(desk.screen().contains("folded") && desk.screen().contains("src/a.rs"), "{}", desk.screen());
    desk.keys("g enter");
    assert!(desk.screen().contains("+  \"x\": 1,"), "{}", desk.screen());
    let mut desk = Desk::with((80, 24), json!([at("3", "big.txt", 1, &"y\n".repeat(3_000))]));
    assert!(desk.screen().contains("folded"));
    assert_eq!(only_decision(&desk.keys("a")).selector, Selector::Ids(vec![id("3")]));
}

#[test]
fn entries_are_rows_of_their_own_and_a_link_shows_its_target_only() {
    let link = entry_hunk("1", "link", json!({ "kind": "symlink", "new_target": "/etc/shadow" }), "sole");
    let mode = entry_hunk(
        "2",
        "run.sh",
        json!({ "kind": "mode", "old_mode": "100644", "new_mode": "100755" }),
        "sole",
    );
    let hunks = json!([
        link,
        mode,
        entry_hunk("3", "pic.png", json!({ "kind": "binary" }), "sole"),
        entry_hunk("4", "new.rs", json!({ "kind": "rename", "old_path": "old.rs" }), "sole"),
        entry_hunk("5", "win.txt", json!({ "kind": "eol" }), "sole"),
        entry_hunk("6", "empty", json!({ "kind": "empty" }), "sole"),
    ]);
    let mut desk = Desk::new((80, 40), Depth::None);
    let cmds = desk.list(hunks);
    assert!(!cmds.iter().any(|cmd| matches!(cmd, Cmd::Read(_))), "no file is read for what has no lines");
    let screen = desk.screen();
    let said = [
        "symbolic link → /etc/shadow (was nothing)",
        "mode 100644 → 100755",
        "binary content",
        "renamed from old.rs",
        "line endings of the whole file",
        "an empty file",
    ];
    for said in said {
        assert!(screen.contains(said), "{said}: {screen}");
    }
}

// C82
#[test]
fn an_outdated_comment_keeps_its_old_text_and_a_draft_survives_what_the_agent_does() {
    let mut listing = json!({ "session_id": "s1", "hunks": three(), "comments": [comment(false)] });
    listing["comments"][0]["outdated"] = json!(true);
    let mut desk = Desk::new((100, 30), Depth::None);
    desk.listing(listing);
    let screen = desk.screen();
    assert!(
        screen.contains("outdated") && screen.contains("> let a = 2;") && screen.contains("why two?"),
        "{screen}"
    );
    desk.keys("g c w h y");
    desk.list(json!([at("9", "src/a.rs", 10, "let other = 1;\n"), three()[1], three()[2]]));
    let cmds = desk.keys("enter");
    assert!(!cmds.iter().any(|cmd| matches!(cmd, Cmd::Ask(Tag::Comment, _))), "not on lines that nobody saw");
    assert!(desk.screen().contains("the draft is kept"), "{}", desk.screen());
    desk.keys("c");
    assert!(desk.rows()[29].contains("why"), "{}", desk.screen());
    let cmds = desk.keys("enter");
    let Some(Cmd::Ask(Tag::Comment, Ask::Comment { path, line_start, body, .. })) = cmds.first() else {
        panic!("{cmds:?}")
    };
    assert_eq!((path.as_str(), *line_start, body.as_str()), ("/home/me/repo/src/a.rs", 10, "why"));
}

#[test]
fn what_was_said_of_a_file_is_no_draft_for_it_or_for_its_namesake_in_another_root() {
    let mut desk = Desk::with((100, 30), three());
    desk.keys("g c w h y enter");
    let made: CommentShape = serde_json::from_value(comment(false)).unwrap();
    let said = |root: &str| {
        let made = CommentShape { root: root.to_owned(), ..made.clone() };
        Msg::Answered(Tag::Comment, Box::new(Answer::Commented(made)))
    };
    desk.model.update(said("/home/me/other"));
    desk.keys("c");
    assert!(desk.rows()[29].contains("why"), "{}", desk.screen());
    desk.keys("enter");
    desk.model.update(said("/home/me/repo"));
    desk.keys("c");
    assert!(!desk.rows()[29].contains("why"), "{}", desk.screen());
}

#[test]
fn a_write_that_waits_is_named_with_its_root_where_there_are_several() {
    let mut elsewhere = at("9", "src/a.rs", 10, "let other = 1;\n");
    let gate = json!({ "tool": "Edit", "path": "src/a.rs", "root": "/home/me/repo" });
    let mut desk = Desk::new((100, 30), Depth::None);
    desk.listing(json!({ "session_id": "s1", "hunks": three(), "gate": gate }));
    assert!(desk.screen().contains("Edit waits to write src/a.rs"), "{}", desk.screen());
    elsewhere["root"] = json!("/home/me/other");
    desk.listing(json!({ "session_id": "s1", "hunks": [three()[0], elsewhere], "gate": gate }));
    assert!(desk.screen().contains("Edit waits to write /home/me/repo/src/a.rs"), "{}", desk.screen());
}

#[test]
fn what_changed_since_it_was_looked_at_is_shown() {
    let mut desk = Desk::with((100, 30), three());
    desk.keys("j k");
    desk.list(json!([at("8", "src/a.rs", 10, "let one = 1;\nlet more = 2;\n"), three()[1], three()[2]]));
    assert!(desk.screen().contains("changed since you looked"), "{}", desk.screen());
    desk.keys("g d");
    assert!(
        desk.screen().contains(" let one = 1;") && desk.screen().contains("+let more = 2;"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_came_or_changed_since_the_last_sitting_is_new_in_the_next_one() {
    let first = Desk::with((100, 30), three());
    let seen = first.model.seen();
    assert!(seen.is_some() && Desk::new((80, 24), Depth::None).model.seen().is_none());
    let now = json!([
        at("8", "src/a.rs", 10, "let one = 1;\nlet more = 2;\n"),
        three()[1],
        three()[2],
        at("9", "src/c.rs", 1, "let four = 4;\n")
    ]);
    let mut next = Desk::after((100, 30), Depth::None, seen);
    next.list(now.clone());
    assert!(next.screen().contains("2 new"), "{}", next.screen());
    assert!(next.screen().contains("changed since you looked"), "{}", next.screen());
    next.keys("g d");
    assert!(next.screen().contains("+let more = 2;"), "{}", next.screen());
    // What was in sight then is not new a third time; what was not is.
    let mut third = Desk::after((100, 30), Depth::None, next.model.seen());
    third.list(now.clone());
    assert!(third.screen().contains("1 new"), "{}", third.screen());
    next.keys("esc G");
    let mut third = Desk::after((100, 30), Depth::None, next.model.seen());
    third.list(now);
    assert!(!third.screen().contains(" new"), "{}", third.screen());
}

// C81
#[test]
fn what_was_accepted_before_comes_back_closed_and_is_never_asked_again() {
    let mut accepted = at("1", "src/a.rs", 10, "let one = 1;\n");
    accepted["state"] = json!("accepted");
    let mut desk = Desk::with((80, 24), json!([accepted, three()[1]]));
    let screen = desk.screen();
    assert!(screen.contains("✓ accepted") && !screen.contains("let one"), "{screen}");
    assert!(screen.contains(" 1/2"), "{screen}");
    assert!(desk.rows()[desk.cursor()].contains("-40"), "it begins at what is undecided");
    assert_eq!(only_decision(&desk.keys("A")).selector, Selector::Ids(vec![id("2")]));
}

#[test]
fn lines_around_a_hunk_are_shown_only_when_they_are_those_of_the_listing() {
    let mut desk = Desk::new((80, 24), Depth::Dark);
    let cmds = desk.list(json!([at("1", "a.rs", 3, "let b = 2;\n")]));
    let Some(Cmd::Read(wanted)) = cmds.iter().find(|cmd| matches!(cmd, Cmd::Read(_))) else {
        panic!("{cmds:?}")
    };
    let lines = |third: &str| ["fn a() {", "    // why", third, "}"].map(str::to_owned).to_vec();
    let inks = Inks::unpack();
    desk.model.update(Msg::Read(Box::new(inks.colour(wanted, lines("let c = 9;")))));
    assert!(!desk.screen().contains("fn a()"), "another text than the listing's");
    desk.model.update(Msg::Read(Box::new(FileText { lines: None, ..inks.colour(wanted, Vec::new()) })));
    desk.list(json!([at("1", "a.rs", 3, "let b = 2;\n")]));
    let mut desk = Desk::new((80, 24), Depth::Dark);
    desk.list(json!([at("1", "a.rs", 3, "let b = 2;\n")]));
    desk.model.update(Msg::Read(Box::new(inks.colour(wanted, lines("let b = 2;")))));
    assert!(desk.screen().contains("1  fn a() {") && desk.screen().contains("4  }"), "{}", desk.screen());
    let terminal = desk.terminal();
    let coloured =
        terminal.backend().buffer().content().iter().any(|cell| cell.fg == Color::Rgb(0xd9, 0xb0, 0xff));
    assert!(coloured, "a keyword has its colour");
}

#[test]
fn nothing_hostile_reaches_the_screen_and_wide_text_keeps_its_place() {
    let mut hunk = at("1", "a\u{1b}[2J\u{202e}.rs", 3, "\u{1b}]0;x\u{7}\t漢字 = 1\r\n");
    hunk["calls"][0]["title"] = json!("\u{9b}31m\u{1b}c");
    for keys in ["g", "s", "t", "tab", "i"] {
        let mut desk = Desk::with((120, 24), json!([hunk]));
        desk.keys(keys);
        let terminal = desk.terminal();
        for cell in terminal.backend().buffer().content() {
            assert!(cell.symbol().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{:?}", cell.symbol());
        }
        assert!(desk.screen().contains("\\u{1b}"), "{}", desk.screen());
    }
}

#[test]
fn without_colour_there_is_none() {
    let mut desk = Desk::new((120, 40), Depth::None);
    desk.listing(rich_listing());
    let terminal = desk.terminal();
    let plain = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
    assert!(terminal.backend().buffer().content().iter().all(plain));
}

#[test]
fn every_key_is_safe_at_every_size_and_in_every_state() {
    let sizes = [(1, 1), (8, 3), (20, 5), (80, 24), (200, 60)];
    for (nth, size) in sizes.into_iter().enumerate() {
        let mut desk = Desk::new(size, Depth::Dark);
        for round in 0..4 {
            for (at, key) in KEYS.split(' ').enumerate().filter(|(_, key)| *key != "q") {
                desk.keys(key);
                if (at + round + nth) % 7 == 0 {
                    desk.listing(if round % 2 == 0 {
                        rich_listing()
                    } else {
                        json!({ "session_id": "s1", "hunks": three() })
                    });
                }
                if (at + round) % 11 == 0 {
                    let (columns, rows) = sizes[(at + round) % sizes.len()];
                    desk.size = (columns, rows);
                    desk.model.update(Msg::Resize(columns, rows));
                }
                desk.model.update(Msg::Click(u16::try_from(at).unwrap(), 2));
                desk.model.update(Msg::Wheel(if at % 2 == 0 { 1 } else { -1 }));
                if at % 5 == 0 {
                    desk.keys("esc");
                }
                desk.screen();
            }
        }
        desk.keys("esc esc");
        assert_eq!(desk.keys("q"), [Cmd::Quit]);
    }
}

#[test]
fn the_mouse_stands_where_it_clicks_and_moves_with_the_wheel() {
    let mut desk = Desk::with((80, 40), three());
    let row = desk.rows().iter().position(|row| row.contains("-5 +5")).unwrap();
    desk.model.update(Msg::Click(10, u16::try_from(row).unwrap()));
    assert_eq!(desk.cursor(), row);
}

#[test]
fn a_search_goes_round_and_says_when_there_is_nothing() {
    let mut desk = Desk::with((80, 24), three());
    desk.keys("/ t h r e e enter");
    assert!(desk.rows()[desk.cursor()].contains("-5 +5"));
    desk.keys("n");
    assert!(desk.rows()[desk.cursor()].contains("-5 +5"));
    desk.keys("/ z z z enter");
    assert!(desk.screen().contains("zzz is nowhere"));
}

#[test]
fn the_listing_is_asked_for_once_at_a_time() {
    let mut desk = Desk::new((80, 24), Depth::None);
    assert_eq!(desk.model.update(Msg::Moved), [], "one is on its way");
    let cmds = desk.list(three());
    let asks = cmds.iter().filter(|cmd| matches!(cmd, Cmd::Ask(Tag::Queue, _))).count();
    assert_eq!(asks, 1, "and once more for what moved meanwhile");
}
