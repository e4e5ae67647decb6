//! What people and programs see: help, answers as text and as JSON, exit codes, the example configuration.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests run the binary and read the repository they stand in"
)]

use hunkgate::base::SessionKey;
use hunkgate::config::{Config, Written};
use hunkgate::ledger::{Log, Record, SessionRowShape};
use hunkgate::review::{Answer, Ask, Problem, ProblemKind, Selector};
use hunkgate::surface::text::{self, Style};
use hunkgate::surface::{
    By, Cursor, Editor, LogLine, Port, Request, Terminal, Todo, What, carry_out, command, parse, setup,
};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(all(feature = "tui", feature = "web", feature = "mcp"))]
#[path = "surfaces/conformance.rs"]
mod conformance;
#[cfg(all(feature = "web", feature = "mcp"))]
#[path = "surfaces/doors.rs"]
mod doors;
#[cfg(all(feature = "web", feature = "mcp"))]
#[path = "surfaces/mcp.rs"]
mod mcp;
#[cfg(all(feature = "web", feature = "mcp"))]
#[path = "surfaces/remote.rs"]
mod remote;
#[cfg(feature = "tui")]
#[allow(dead_code, reason = "the play is shared with the tests of transcripts")]
mod support;
#[cfg(feature = "tui")]
#[path = "surfaces/tui.rs"]
mod tui;
#[cfg(all(feature = "web", feature = "mcp"))]
#[path = "surfaces/web.rs"]
mod web;

// ── help ──

#[test]
fn help_reads_as_it_did() {
    let mut whole = command().render_long_help().to_string();
    for subcommand in command().get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let mut subcommand =
            subcommand.clone().term_width(100).bin_name(format!("hunkgate {}", subcommand.get_name()));
        whole += &format!("\n───── {} ─────\n{}", subcommand.get_name().to_owned(), subcommand.render_help());
    }
    snapshot("help", &whole);
}

#[test]
fn the_configuration_to_paste_reads_as_it_did() {
    let editors = [
        Editor::Zed,
        Editor::Codecompanion,
        Editor::Avante,
        Editor::AgentShell,
        Editor::Toad,
        Editor::Acpx,
        Editor::Chain,
    ];
    let agent = ["gemini".to_owned(), "--acp".to_owned()];
    let all: Vec<String> = editors
        .iter()
        .map(|editor| format!("───── {editor:?} ─────\n{}", setup(*editor, "/opt/bin/hunkgate", &agent)))
        .collect();
    snapshot("setup", &all.join("\n"));
}

// ── answers ──

#[test]
fn answers_read_as_they_did() {
    let style = Style::plain(TimeZone::UTC);
    for (name, answer) in corpus() {
        snapshot(&format!("answer_{name}"), &text::answer(&style, &answer));
    }
}

#[test]
fn a_listing_by_call_reads_as_it_did() {
    let Answer::Listing(listing) = &corpus()[0].1 else { panic!("the first is a listing") };
    snapshot("by_call", &text::by_call(&Style::plain(TimeZone::UTC), listing));
}

#[test]
fn json_is_the_documented_shape_and_nothing_around_it() {
    for (name, answer) in corpus() {
        let (out, err, _) = told(&request(What::Plain(Ask::Status), true), answer);
        snapshot(&format!("json_{name}"), &format!("{out}{err}"));
    }
}

#[test]
fn plain_output_has_no_escape_sequence() {
    let (plain, coloured) = (Style::plain(TimeZone::UTC), Style::coloured(TimeZone::UTC));
    for (name, answer) in corpus() {
        assert!(!text::answer(&plain, &answer).contains('\u{1b}'), "{name}");
        let _ = text::answer(&coloured, &answer);
    }
    let listing = &corpus()[0].1;
    assert!(text::answer(&coloured, listing).contains("\u{1b}[32m"));
}

#[test]
fn what_an_agent_chose_never_drives_the_terminal() {
    let mut hunk = text_hunk("1", "a\u{1b}[2J.rs", "unreviewed");
    hunk["calls"][0]["title"] = json!("\u{1b}]0;title\u{7}");
    hunk["after_content"] = json!("\u{202e}evil\r\n");
    let answer =
        Answer::Listing(serde_json::from_value(json!({ "session_id": "s", "hunks": [hunk] })).unwrap());
    let text = text::answer(&Style::plain(TimeZone::UTC), &answer);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'));
}

// C45: the listing says by how much a lock file changed; `show` opens it.
#[test]
fn a_folded_file_is_one_line_of_the_listing_and_whole_when_it_is_shown() {
    let mut hunk = text_hunk("1", "package-lock.json", "unreviewed");
    hunk["folded"] = json!(true);
    hunk["after_content"] = json!("marker\n".repeat(60_000));
    let style = Style::plain(TimeZone::UTC);
    let listing: hunkgate::ledger::ListingShape =
        serde_json::from_value(json!({ "session_id": "s", "hunks": [hunk] })).unwrap();
    let text = text::answer(&style, &Answer::Listing(listing));
    assert!(text.contains("+60000 lines") && !text.contains("marker"), "{text}");
    let shown = json!({ "hunk": hunk, "explanation": "", "history": [] });
    let text = text::answer(&style, &Answer::Shown(serde_json::from_value(shown).unwrap()));
    assert_eq!(text.matches("marker").count(), 60_000);
}

#[test]
fn a_patch_reaches_a_pipe_byte_for_byte() {
    let patch =
        |text: &str, base64: bool| Answer::Diff(hunkgate::review::PatchText { text: text.into(), base64 });
    let diff = What::Plain(Ask::Diff { selector: Selector::All });
    let (out, _, code) = told_bytes(&request(diff.clone(), false), patch("+\u{1b}[1mx\n", false));
    assert_eq!((out.as_slice(), code), (b"+\x1b[1mx\n".as_slice(), 0));
    let (out, _, _) = told_bytes(&request(diff, false), patch("/+8=", true));
    assert_eq!(out, [0xff, 0xef]);
}

// ── exit codes ──

#[test]
fn exit_codes_are_the_documented_ones() {
    let item = |outcome: &str| json!({ "id": "aa", "path": "a", "state": "rejected", "outcome": outcome, "reason": null });
    let decided = |items: Value| {
        Answer::Decided(serde_json::from_value(json!({ "verb": "reject", "items": items })).unwrap())
    };
    let problem = |kind| Answer::Problem(Problem::new(kind, "it"));
    let cases = [
        (decided(json!([item("done")])), 0),
        (decided(json!([item("queued")])), 0),
        (decided(json!([item("done"), item("refused")])), 3),
        (decided(json!([])), 1),
        (problem(ProblemKind::User), 2),
        (problem(ProblemKind::Config), 2),
        (problem(ProblemKind::Conflict), 3),
        (problem(ProblemKind::Degraded), 4),
        (problem(ProblemKind::Internal), 5),
        (Answer::Note(None), 0),
        (Answer::Listing(serde_json::from_value(rich_listing()).unwrap()), 4),
        (corpus().into_iter().find(|(name, _)| *name == "status").unwrap().1, 4),
    ];
    for (answer, code) in cases {
        assert_eq!(
            told(&request(What::Plain(Ask::Undo { dry_run: false }), false), answer.clone()).2,
            code,
            "{answer:?}"
        );
    }
}

#[test]
fn hunks_tells_by_its_exit_code_only_when_asked_to() {
    let listing = |state: &str| {
        let hunks = [text_hunk("1", "a.rs", state)];
        Answer::Listing(serde_json::from_value(json!({ "session_id": "s1", "hunks": hunks })).unwrap())
    };
    let hunks = |exit_code| request(What::Hunks { paths: Vec::new(), exit_code, by: By::File }, false);
    assert_eq!(told(&hunks(true), listing("unreviewed")).2, 1);
    assert_eq!(told(&hunks(true), listing("accepted")).2, 0);
    assert_eq!(told(&hunks(false), listing("unreviewed")).2, 0);
}

#[test]
fn a_problem_is_a_sentence_and_a_hint_on_stderr() {
    let answer = Answer::Problem(Problem::new(ProblemKind::Conflict, "it changed since").hint("look again"));
    let (out, err, code) = told(&request(What::Plain(Ask::Undo { dry_run: false }), false), answer);
    assert_eq!((out.as_str(), err.as_str(), code), ("", "hunkgate: it changed since\nhint: look again\n", 3));
}

#[test]
fn what_is_mistyped_is_a_sentence_and_a_hint() {
    let check = |words: &[&str], said: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_hunkgate")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err.lines().count(), 2, "{err}");
        assert!(err.starts_with("hunkgate: ") && err.contains("\nhint: ") && err.contains(said), "{err}");
    };
    check(&["hunkz"], "a similar subcommand exists: 'hunks'");
    check(&["accept"], "required");
    check(&["accept", "ab", "--all"], "cannot be used");
    check(&["hunks", "--jsno"], "--json");
}

#[test]
fn words_that_differ_are_marked_where_there_is_colour() {
    let answer = || {
        let hunks = [text_hunk("1", "a.rs", "unreviewed")];
        Answer::Listing(serde_json::from_value(json!({ "session_id": "s1", "hunks": hunks })).unwrap())
    };
    let coloured = text::answer(&Style::coloured(TimeZone::UTC), &answer());
    assert!(
        coloured.contains("\u{1b}[31m-\u{1b}[0m\u{1b}[31mlet a = \u{1b}[0m\u{1b}[31;7m1\u{1b}[0m"),
        "{coloured}"
    );
    assert!(
        text::answer(&Style::plain(TimeZone::UTC), &answer()).contains("    -let a = 1;\n    +let a = 2;\n")
    );
}

#[test]
fn a_patch_on_a_terminal_is_coloured_and_harmless() {
    let patch = "diff --git a/x b/x\n@@ -1 +1 @@\n-\u{1b}[2J\n+b\n";
    let coloured = text::patch(&Style::coloured(TimeZone::UTC), patch);
    assert!(
        coloured.contains("\u{1b}[31m-\\u{1b}[2J\u{1b}[0m") && coloured.contains("\u{1b}[32m+b"),
        "{coloured}"
    );
    let plain = text::patch(&Style::colourless(TimeZone::UTC), patch);
    assert_eq!(plain, "diff --git a/x b/x\n@@ -1 +1 @@\n-\\u{1b}[2J\n+b\n");
}

#[test]
fn completions_and_the_manual_know_every_command() {
    let scratch = tempfile::tempdir().unwrap();
    let hunkgate = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        let output = command.args(words).current_dir(scratch.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = hunkgate(&["completions", shell]);
        assert!(text.contains("accept") && text.contains("review"), "{shell}");
    }
    let missing =
        Command::new(env!("CARGO_BIN_EXE_hunkgate")).args(["man", "/nowhere/at/all"]).output().unwrap();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(missing.status.code() == Some(2) && said.contains("/nowhere/at/all"), "{said}");
    assert!(hunkgate(&["man"]).contains(".TH hunkgate"));
    hunkgate(&["man", "."]);
    for subcommand in command().get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let page = format!("hunkgate-{}.1", subcommand.get_name());
        assert!(scratch.path().join(&page).is_file(), "{page}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let port = Fake::answering(Answer::Note(None));
    let mut err = Vec::new();
    let code = run(&request(What::Plain(Ask::Note), false), &port, &mut Closed, &mut err, None);
    assert_eq!((code, err.as_slice()), (0, b"".as_slice()));
}

// ── which session, which path ──

#[test]
fn the_newest_session_whose_root_holds_the_directory_is_chosen() {
    let port = Fake::answering(Answer::Note(None));
    assert_eq!(asked(&port, None, Path::new("/home/me/repo/src")), Ok("new".to_owned()));
    assert_eq!(asked(&port, Some("other"), Path::new("/home/me/repo")), Ok("other".to_owned()));
    assert_eq!(asked(&port, Some("ol"), Path::new("/")), Ok("old".to_owned()));
    let missing = asked(&port, None, Path::new("/elsewhere")).unwrap_err();
    assert!(missing.contains("no recorded session has a root that holds /elsewhere"), "{missing}");
    assert!(asked(&port, Some("o"), Path::new("/")).unwrap_err().contains("several"));
    assert!(asked(&port, Some("zz"), Path::new("/")).unwrap_err().contains("is called zz"));
}

#[test]
fn a_list_of_sessions_says_what_each_owes() {
    let status = json!({ "session_id": "s1", "queue": { "unreviewed": 3, "accepted": 0, "rejected": 0, "external": 0 } });
    let (out, _, code) =
        told(&request(What::Sessions, false), Answer::Status(serde_json::from_value(status).unwrap()));
    assert_eq!(code, 0);
    snapshot("sessions", &out);
    let (out, _, _) = told(
        &request(What::Sessions, true),
        Answer::Problem(Problem::new(ProblemKind::Degraded, "root is gone")),
    );
    let shape: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shape["items"][0]["unreviewed"], Value::Null, "what cannot be asked is not zero");
}

#[test]
fn paths_are_the_persons() {
    let path = |typed: &str, cwd: &str| {
        let port = Fake::answering(Answer::Note(None));
        let what = What::Plain(Ask::Blame { path: typed.to_owned() });
        let mut request = request(what, false);
        request.session = Some("new".into());
        run(&request, &port, &mut Vec::new(), &mut Vec::new(), Some(Path::new(cwd)));
        let asked = port.asked.borrow();
        let Some((_, Ask::Blame { path })) = asked.first() else { panic!("nothing was asked") };
        path.clone()
    };
    assert_eq!(path("../a.rs", "/home/me/repo/src"), "/home/me/repo/a.rs");
    assert_eq!(path("./b/a.rs", "/home/me/repo"), "/home/me/repo/b/a.rs");
    assert_eq!(path("/abs/a.rs", "/home/me/repo"), "/abs/a.rs");
    assert_eq!(path("src/a.rs", "/elsewhere"), "src/a.rs");
}

#[test]
fn a_new_base_wants_a_persons_word() {
    let rebase = |agreed| request(What::Rebase { root: None, agreed }, false);
    let port = Fake::answering(Answer::Rebased(Vec::new()));
    let mut err = Vec::new();
    assert_eq!(run(&rebase(false), &port, &mut Vec::new(), &mut err, None), 2);
    assert!(port.asked.borrow().is_empty());
    assert_eq!(run(&rebase(true), &port, &mut Vec::new(), &mut err, None), 0);
    assert_eq!(port.asked.borrow().len(), 1);
}

// ── the journal ──

#[test]
fn the_log_is_readable_and_its_json_is_one_record_a_line() {
    let port = Fake { log: journal(), ..Fake::answering(Answer::Note(None)) };
    let show = |json| {
        let mut out = Vec::new();
        assert_eq!(
            run(&request(What::Log { follow: false }, json), &port, &mut out, &mut Vec::new(), None),
            0
        );
        String::from_utf8(out).unwrap()
    };
    snapshot("log", &show(false));
    let lines = show(true);
    assert_eq!(lines.lines().count(), journal().len());
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

// ── the configuration ──

#[test]
fn the_example_configuration_means_the_defaults() {
    let text = example();
    let written = Written::parse("proxy-config.example.toml", &text).unwrap();
    assert_eq!(Config { read: None, ..Config::of(Some(&written), None) }, Config::default());
}

#[test]
fn the_example_configuration_names_every_key() {
    let text = example();
    for name in Written::key_names() {
        let key = name.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("\n{key} =")), "{name} is not documented");
    }
    for section in Written::later_sections() {
        assert!(text.contains(&format!("[{section}]")), "{section}");
    }
}

// ── the binary ──

#[test]
fn the_binary_answers_without_a_home_and_without_any_record() {
    let scratch = tempfile::tempdir().unwrap();
    let hunkgate = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.env_clear().current_dir(scratch.path()).args(words);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, _) = hunkgate(&["--state-dir", "state", "sessions"]);
    assert_eq!((code, out.as_str()), (Some(0), "no session is recorded\n"));
    let (code, out, err) = hunkgate(&["status"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("hint: set HOME"), "{err}");
    assert_eq!(hunkgate(&["frobnicate"]).0, Some(2));
    let (code, out, _) = hunkgate(&["doctor", "--json", "--state-dir", "state"]);
    let checks: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(0), "{out}");
    assert!(checks.iter().all(|check| check["check"].is_string() && check["result"].is_string()));
    let store = checks.iter().find(|check| check["check"] == "store").unwrap();
    assert_eq!(store["found"], "0 B for 0 roots, cap 10.0 GiB each");
    let (code, out, _) = hunkgate(&["gc", "--json", "--state-dir", "state"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["roots"], &found["swept"]["bytes"]), (Some(0), &json!([]), &json!(0)));
    assert_eq!(hunkgate(&["gc"]).0, Some(2), "without a state directory");
    let (code, _, err) = hunkgate(&["run", "--config", "absent.toml", "--", "true"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("absent.toml"));
    assert!(!scratch.path().join("state").exists(), "looking must make nothing");
}

// ── support ──

struct Fake {
    answer: Answer,
    log: Vec<LogLine>,
    asked: RefCell<Vec<(SessionKey, Ask)>>,
}

impl Fake {
    fn answering(answer: Answer) -> Self {
        Self { answer, log: Vec::new(), asked: RefCell::default() }
    }
}

impl Port for Fake {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        Ok(sessions())
    }

    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer {
        self.asked.borrow_mut().push((session.clone(), ask));
        self.answer.clone()
    }

    fn log(&self, _: &SessionKey, _: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        Ok(self.log.clone())
    }

    fn delete(&self, _: &SessionKey) -> Result<(), Problem> {
        Ok(())
    }
}

fn sessions() -> Vec<SessionRowShape> {
    let row = |id: &str, root: &str, live: bool| {
        json!({
            "session_id": id, "key": format!("key-{id}"), "agent": "claude-agent-acp", "client": "zed",
            "roots": [root], "started": 0, "last_turn": 2, "active": 1_000_000_000_i64, "unreviewed": null,
            "live": live, "parent": null, "children": [],
        })
    };
    let rows = json!([
        row("new", "/home/me/repo", true),
        row("old", "/home/me/repo", false),
        row("other", "/srv", false)
    ]);
    serde_json::from_value(rows).unwrap()
}

fn request(what: What, json: bool) -> Request {
    Request { session: None, json, what }
}

fn told(request: &Request, answer: Answer) -> (String, String, u8) {
    let (out, err, code) = told_bytes(request, answer);
    (String::from_utf8(out).unwrap(), err, code)
}

fn told_bytes(request: &Request, answer: Answer) -> (Vec<u8>, String, u8) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run(request, &Fake::answering(answer), &mut out, &mut err, None);
    (out, String::from_utf8(err).unwrap(), code)
}

fn run(request: &Request, port: &Fake, out: &mut dyn Write, err: &mut dyn Write, cwd: Option<&Path>) -> u8 {
    let cwd = cwd.unwrap_or(Path::new("/home/me/repo"));
    let mut terminal = Terminal {
        out,
        err,
        out_style: Style::plain(TimeZone::UTC),
        err_style: Style::plain(TimeZone::UTC),
        confirm: &mut |_| None,
        attended: false,
        cwd: PathBuf::from(cwd),
    };
    carry_out(request, port, &mut terminal)
}

/// Returns the session that was asked, or what was said instead.
fn asked(port: &Fake, session: Option<&str>, cwd: &Path) -> Result<String, String> {
    port.asked.borrow_mut().clear();
    let request = Request { session: session.map(str::to_owned), ..request(What::Plain(Ask::Note), false) };
    let mut err = Vec::new();
    run(&request, port, &mut Vec::new(), &mut err, Some(cwd));
    let asked = port.asked.borrow();
    let key = asked.first().map(|(key, _)| key.as_str().trim_start_matches("key-").to_owned());
    key.ok_or_else(|| String::from_utf8(err).unwrap())
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn example() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("proxy-config.example.toml")).unwrap()
}

#[test]
fn a_parsed_line_carries_the_state_directory_wherever_it_stands() {
    for line in ["hunkgate --state-dir S status", "hunkgate status --state-dir S"] {
        let invocation = parse(line.split(' ').map(OsString::from)).unwrap();
        assert_eq!(invocation.state_dir, Some("S".into()));
        assert!(matches!(invocation.todo, Todo::Ask(_)));
    }
}

// ── the corpus ──

fn call(id: &str, title: &str) -> Value {
    json!({ "session_id": "s1", "tool_call_id": id, "title": title, "kind": "edit", "turn": 2 })
}

fn text_hunk(digit: &str, path: &str, state: &str) -> Value {
    json!({
        "id": digit.repeat(32), "root": "/home/me/repo", "path": path,
        "base_range": { "start": 3, "end": 4 }, "current_range": { "start": 3, "end": 5 },
        "before_content": "let a = 1;\n", "after_content": "let a = 2;\nlet b = 3;\n",
        "tool_call_ids": ["toolu_01"], "state": state, "reapplied": false, "digest": "0123456789abcdef",
        "entry": { "kind": "text" },
        "evidence": { "grade": "verified", "grades": { "verified": 3 }, "candidates": [], "turn": 2, "sessions": [] },
        "mixed": false,
        "author_lines": [{ "side": "after", "start": 3, "end": 5, "grade": "verified",
            "calls": [{ "session_id": "s1", "turn": 2, "tool_call_id": "toolu_01" }] }],
        "calls": [call("toolu_01", "Edit src/a.rs")],
    })
}

fn entry_hunk(digit: &str, path: &str, entry: Value, grade: &str) -> Value {
    let mut hunk = text_hunk(digit, path, "unreviewed");
    hunk["entry"] = entry;
    hunk["before_content"] = json!("");
    hunk["after_content"] = json!("");
    hunk["tool_call_ids"] = json!([]);
    hunk["calls"] = json!([]);
    hunk["evidence"]["grade"] = json!(grade);
    hunk
}

fn rich_listing() -> Value {
    let mut mixed = text_hunk("2", "src/a.rs", "accepted");
    mixed["mixed"] = json!(true);
    let run = |start: u32, calls: Value, grade: &str| json!({ "side": "after", "start": start, "end": start + 1, "calls": calls, "grade": grade });
    let ours = json!([{ "session_id": "s1", "turn": 1, "tool_call_id": "toolu_01" }]);
    mixed["author_lines"] = json!([run(9, ours, "verified"), run(10, json!([]), "external")]);
    mixed["before_content"] = json!("");
    mixed["base_range"] = json!({ "start": 9, "end": 9 });
    let mut contested = text_hunk("3", "src/b.rs", "unreviewed");
    contested["evidence"]["grade"] = json!("contested");
    contested["evidence"]["candidates"] =
        json!([call("toolu_02", "cargo fmt"), call("toolu_03", "Edit src/b.rs")]);
    contested["tool_call_ids"] = json!([]);
    contested["calls"] = json!([]);
    let mut other = text_hunk("4", "src/c.rs", "unreviewed");
    other["evidence"]["grade"] = json!("external");
    other["evidence"]["sessions"] =
        json!([{ "session_id": "s9", "agent": "codex", "tool_call_id": "call_7" }]);
    other["tool_call_ids"] = json!([]);
    other["calls"] = json!([]);
    other["after_content"] = json!("no newline at the end");
    let mut long = text_hunk("5", "src/d.rs", "unreviewed");
    long["reapplied"] = json!(true);
    long["after_content"] = json!((1..=40).map(|line| format!("line {line}\n")).collect::<String>());
    let mut locked = entry_hunk("6", ".env", json!({ "kind": "binary" }), "in_turn");
    locked["locked"] = json!("withheld");
    json!({
        "session_id": "s1",
        "hunks": [
            text_hunk("1", "src/a.rs", "unreviewed"), mixed, contested, other, long, locked,
            entry_hunk("7", "run.sh", json!({ "kind": "mode", "old_mode": "100644", "new_mode": "100755" }), "sole"),
            entry_hunk("8", "link", json!({ "kind": "symlink", "new_target": "a.rs" }), "external"),
            entry_hunk("9", "new.rs", json!({ "kind": "rename", "old_path": "old.rs" }), "base_unknown"),
        ],
        "superseded": [{ "session_id": "s1", "tool_call_id": "toolu_00", "title": "Edit src/z.rs", "turn": 1 }],
        "comments": [comment(false)],
        "degraded": [{ "root": "/home/me/repo", "degraded": "base lost" }],
        "integrity": { "skips": [{ "record": { "kind": "informational" }, "line": 7, "reason": "checksum does not match" }] },
        "gate": null,
        "policy": { "mode": null, "configured": "pre_write", "effective": "post_turn", "enforced_on": [] },
    })
}

fn comment(resolved: bool) -> Value {
    json!({
        "id": "comment-1", "root": "/home/me/repo", "path": "src/a.rs", "line_start": 3, "line_end": 5,
        "body": "why two?\none would do", "author": "human", "outdated": true, "resolved": resolved,
        "excerpt": "let a = 2;\n", "at": 0,
    })
}

fn corpus() -> Vec<(&'static str, Answer)> {
    let read = |value: Value| value;
    let status = json!({
        "session_id": "s1", "agent": { "name": "claude-agent-acp", "version": "0.101.0" }, "client": { "name": "zed" },
        "protocol": 1, "mode": "default",
        "policy": { "mode": "default", "configured": "pre_write", "effective": "post_turn", "enforced_on": [] },
        "gated": false, "gate": null, "queue": { "unreviewed": 3, "accepted": 1, "rejected": 0, "external": 2 },
        "roots": [{ "root": "/home/me/repo", "kind": "git", "observing": "walk", "degraded": null },
                  { "root": "/mnt/x", "kind": "plain", "observing": "walk", "degraded": "root is gone" }],
        "gaps": 1, "notes_pending": 1, "warnings": ["config.toml:3: approvals has no effect in this version"],
    });
    let item = |digit: &str, outcome: &str, reason: Option<&str>| json!({ "id": digit.repeat(32), "path": "src/a.rs", "state": "rejected", "outcome": outcome, "reason": reason });
    let decided = json!({
        "verb": "reject", "dry_run": false, "queued": false,
        "items": [item("1", "done", None), item("2", "refused", Some("changed since it was shown"))],
        "left": [item("3", "left", Some("external"))],
    });
    let planned = json!({ "verb": "reject", "dry_run": true, "items": [item("1", "planned", None)] });
    let shown = json!({
        "hunk": text_hunk("1", "src/a.rs", "rejected"),
        "explanation": "One call was open and claims these lines.",
        "history": [{ "at": 1_000_000_000_i64, "state": "rejected", "by": "human", "channel": "cli",
                      "reason": "not what I asked for", "before": null, "after": null }],
    });
    let blame = json!({ "path": "src/a.rs", "lines": [
        { "line": 1, "text": "fn main() {", "author": "base", "calls": [], "grade": null },
        { "line": 2, "text": "\tlet a = 2;", "author": "call", "calls": [call("toolu_01", "Edit src/a.rs")], "grade": "verified" },
        { "line": 3, "text": "}", "author": "external", "calls": [], "grade": "external" },
    ] });
    let roots = json!([{ "root": "/home/me/repo", "degraded": null }, { "root": "/mnt/x", "degraded": "root is gone" }]);
    vec![
        ("listing", Answer::Listing(serde_json::from_value(rich_listing()).unwrap())),
        (
            "empty_listing",
            Answer::Listing(serde_json::from_value(read(json!({ "session_id": "s1" }))).unwrap()),
        ),
        ("status", Answer::Status(serde_json::from_value(status).unwrap())),
        ("shown", Answer::Shown(serde_json::from_value(shown).unwrap())),
        ("decided", Answer::Decided(serde_json::from_value(decided).unwrap())),
        ("planned", Answer::Decided(serde_json::from_value(planned).unwrap())),
        ("commented", Answer::Commented(serde_json::from_value(comment(false)).unwrap())),
        ("resolved", Answer::Resolved(serde_json::from_value(comment(true)).unwrap())),
        ("rebased", Answer::Rebased(serde_json::from_value(roots).unwrap())),
        ("note", Answer::Note(Some("[hunkgate] rejected\nsrc/a.rs:3".to_owned()))),
        ("no_note", Answer::Note(None)),
        ("blame", Answer::Blame(serde_json::from_value(blame).unwrap())),
        (
            "problem",
            Answer::Problem(
                Problem::new(ProblemKind::User, "no hunk begins with zz").hint("`hunkgate hunks` lists them"),
            ),
        ),
    ]
}

fn journal() -> Vec<LogLine> {
    let log = Log::Session(SessionKey::new("key-new"));
    let line = |number: u64, event: Value| {
        let text = json!({ "v": 1, "seq": number, "at": number * 1_000_000_000, "kind": event["kind"], "data": event["data"] });
        let record = serde_json::from_value(event).map(|event| Record {
            at: hunkgate::base::WallNs(i64::try_from(number).unwrap() * 1_000_000_000),
            event,
        });
        LogLine {
            log: log.clone(),
            line: number,
            text: text.to_string(),
            record: record.map_err(|error| error.to_string()),
        }
    };
    let mut lines: Vec<LogLine> =
        events().into_iter().zip(1..).map(|(event, number)| line(number, event)).collect();
    lines.push(LogLine {
        log: log.clone(),
        line: 99,
        text: "{\"v\":1,\"se".into(),
        record: Err("torn".into()),
    });
    lines
}

fn events() -> Vec<Value> {
    let actor = json!({ "who": "person", "channel": "cli" });
    vec![
        json!({ "kind": "session_opened", "data": { "key": "k", "session": "s1", "agent": "claude-agent-acp", "agent_version": null,
            "client": "zed", "protocol": 1, "cwd": "/home/me/repo", "roots": [["r", "/home/me/repo"]], "parent": null } }),
        json!({ "kind": "turn_started", "data": { "turn": 1 } }),
        json!({ "kind": "mode_changed", "data": { "mode": "default" } }),
        json!({ "kind": "permission_seen", "data": { "call": "toolu_01", "turn": 1, "title": "Edit src/a.rs", "options": ["allow_once"],
            "outcome": "selected:allow_once", "waited_ms": 2000 } }),
        json!({ "kind": "approval", "data": { "step": "requested", "request": "r-1", "rev": 1, "subagent": null, "turn": 1, "call": "toolu_01",
            "method": "session/request_permission", "tool_kind": "execute", "title": "make", "evidence": "structured",
            "effects": [{ "effect": "exec", "text": "make install", "argv": [], "cwd": null, "env": [] }], "options": [], "binding": "h1:0",
            "mode": null, "covered_by": null, "supersedes": null } }),
        json!({ "kind": "approval", "data": { "step": "decided", "request": "r-1", "rev": 1, "outcome": "allow", "by": { "kind": "editor" },
            "option": { "id": "y", "kind": "allow_once", "name": "Allow once" }, "reason": null, "waited_ms": 1200, "binding": "h1:0" } }),
        json!({ "kind": "gap", "data": { "at": 0, "reason": "root is gone", "why": "turn_end" } }),
        json!({ "kind": "turn_ended", "data": { "turn": 1, "stop": "end_turn" } }),
        json!({ "kind": "decided", "data": { "id": "command-1", "verb": { "verb": "reject", "reason": "no" }, "actor": actor, "items": [] } }),
        json!({ "kind": "decided", "data": { "id": "command-2", "verb": { "verb": "undo", "undoes": "command-1" }, "actor": actor, "items": [] } }),
        json!({ "kind": "note_sent", "data": { "note": "note-1", "commands": ["command-1"], "comments": [] } }),
        json!({ "kind": "note_delivered", "data": { "note": "note-1" } }),
        json!({ "kind": "noticed", "data": { "topic": "outside", "path": null, "text": "a call named /etc/hosts" } }),
        json!({ "kind": "session_closed", "data": { "why": "editor closed" } }),
    ]
}
