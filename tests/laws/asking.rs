//! The question at a turn's end, whatever the files hold: every line of ours is short, and what was shown is what goes back.

use crate::support::world::World;
use bytes::Bytes;
use hunkgate::base::{Leg, WallNs};
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::{Event, RootKind};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a line of ours may take.
const LONGEST: usize = 48 * 1024;

fn say(world: &mut World, from: Leg, frame: &Value) {
    world.pass(1);
    let line = Bytes::from(format!("{frame}\n"));
    world.feed(if from == Leg::Editor { Input::FromEditor(line) } else { Input::FromAgent(line) });
}

fn heard(world: &mut World) -> Vec<Bytes> {
    world.agent.clear();
    world.editor.drain(..).map(|frame| frame.bytes).collect()
}

/// Opens a session of a client that shows buttons, on files that hold `before`, and plays a turn that writes `after`.
fn turn(version: u32, name: &str, texts: (&[u8], &[u8])) -> (World, Vec<Bytes>) {
    turn_of(("zed", false, version), &[name.to_owned()], texts)
}

/// The same of many files, for a client with a name, which may offer forms.
fn turn_of(
    (client, forms, version): (&str, bool, u32),
    names: &[String],
    (before, after): (&[u8], &[u8]),
) -> (World, Vec<Bytes>) {
    let mut world = World::new(Config::default());
    world.tree.declare("/v/root", RootKind::Git);
    for name in names {
        world.tree.write(&format!("/v/root/{name}"), before, WallNs(1));
    }
    let (info, can) =
        if version == 2 { ("info", "capabilities") } else { ("clientInfo", "clientCapabilities") };
    let offers = if forms { json!({"elicitation": {"form": {}}}) } else { json!({}) };
    say(
        &mut world,
        Leg::Editor,
        &json!({"id": 0, "method": "initialize", "params": {"protocolVersion": version, info: {"name": client, "version": "1"}, can: offers}}),
    );
    say(&mut world, Leg::Agent, &json!({"id": 0, "result": {"protocolVersion": version}}));
    say(&mut world, Leg::Editor, &json!({"id": 1, "method": "session/new", "params": {"cwd": "/v/root"}}));
    say(&mut world, Leg::Agent, &json!({"id": 1, "result": {"sessionId": "s"}}));
    say(
        &mut world,
        Leg::Editor,
        &json!({"id": 2, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}),
    );
    let update =
        |update: Value| json!({"method": "session/update", "params": {"sessionId": "s", "update": update}});
    let call = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "sh", "kind": "execute", "status": "in_progress"});
    say(&mut world, Leg::Agent, &update(call));
    world.pass(1);
    let at = world.now.wall;
    for name in names {
        world.tree.write(&format!("/v/root/{name}"), after, at);
    }
    let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
    say(&mut world, Leg::Agent, &update(done));
    heard(&mut world);
    let end = match version {
        2 => update(json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})),
        _ => json!({"id": 2, "result": {"stopReason": "end_turn"}}),
    };
    say(&mut world, Leg::Agent, &end);
    let frames = heard(&mut world);
    (world, frames)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        3 => "[ -~]{0,80}",
        1 => "[\"\\\\\u{1}\u{7f}é漢]{0,60}",
        1 => Just("x".repeat(9_000)),
    ];
    prop::collection::vec(line, 0..120)
        .prop_map(|lines| lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect())
}

#[test]
fn files_without_a_card_are_named_in_the_question_and_stay_undecided() {
    for version in [1, 2] {
        let names: Vec<String> = (0..53).map(|nth| format!("f{nth}.txt")).collect();
        let (mut world, frames) = turn_of(("zed", false, version), &names, (b"old\n", b"new\n"));
        let frames: Vec<Value> =
            frames.iter().filter_map(|frame| serde_json::from_slice(frame).ok()).collect();
        let cards = |frame: &&Value| frame.to_string().contains("hunkgate-review") && frame["id"].is_null();
        assert_eq!(frames.iter().filter(cards).count(), 50);
        let question = frames.iter().find(|frame| frame["method"] == "session/request_permission");
        let question = question.expect("a question");
        let said = "3 more changes are in files without a card";
        assert!(question.to_string().contains(said), "{question}");
        let chosen = json!({"outcome": {"outcome": "selected", "optionId": "hunkgate-revert"}});
        say(&mut world, Leg::Editor, &json!({"id": question["id"], "result": chosen}));
        let stand =
            names.iter().filter(|name| world.tree.bytes(&format!("/v/root/{name}")) == Some(b"new\n"));
        assert_eq!(stand.count(), 3, "what had no card is left alone");
    }
}

/// What ends a question without an answer.
const ENDS: [&str; 6] = ["cancel", "taken back", "close", "second prompt", "timeout", "end of input"];

fn ends(world: &mut World, how: &str) {
    let frame = match how {
        "cancel" => json!({"method": "session/cancel", "params": {"sessionId": "s"}}),
        "taken back" => json!({"method": "$/cancel_request", "params": {"requestId": 2}}),
        "close" => json!({"id": 3, "method": "session/close", "params": {"sessionId": "s"}}),
        "second prompt" => {
            json!({"id": 3, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}})
        }
        "timeout" => return world.pass(11 * 60 * 1000),
        "end of input" => return world.feed(Input::EditorClosed),
        other => panic!("{other}"),
    };
    say(world, Leg::Editor, &frame);
}

/// The rows of clients that are asked: by name, and whether they offer forms.
const ASKED: [(&str, bool); 7] = [
    ("zed", false),
    ("zed", true),
    ("CodeCompanion.nvim", false),
    ("avante.nvim", false),
    ("toad", false),
    ("agent-shell", true),
    ("somebody", true),
];

/// Says whether a frame ends the turn of the opening prompt.
fn ends_the_turn(frame: &Value) -> bool {
    frame["id"] == 2 && frame["result"]["stopReason"].is_string()
        || frame["params"]["update"]["sessionUpdate"] == "state_update"
            && frame["params"]["update"]["state"] == "idle"
}

#[test]
fn whatever_ends_a_question_of_any_client_the_turn_ends_once_and_nothing_is_decided() {
    for (name, forms) in ASKED {
        for (version, how) in [1, 2].iter().flat_map(|version| ENDS.map(|how| (*version, how))) {
            if (version, how) == (2, "taken back") {
                // The prompt was answered when its message was inserted.
                continue;
            }
            let case = format!("{name}, forms {forms}, version {version}, {how}");
            let files = ["f.txt".to_owned()];
            let (mut world, frames) = turn_of((name, forms, version), &files, (b"old\n", b"new\n"));
            let read = |frames: &[Bytes]| -> Vec<Value> {
                frames.iter().filter_map(|frame| serde_json::from_slice(frame).ok()).collect()
            };
            let asked = read(&frames);
            let method = if forms { "elicitation/create" } else { "session/request_permission" };
            assert!(asked.iter().any(|frame| frame["method"] == method), "{case}: {asked:?}");
            assert!(!asked.iter().any(ends_the_turn), "{case}: the end of the turn is held");
            ends(&mut world, how);
            let after = read(&heard(&mut world));
            if how != "end of input" {
                let ended = after.iter().filter(|frame| ends_the_turn(frame)).count();
                assert_eq!(ended, 1, "{case}: {after:?}");
            }
            assert_eq!(world.tree.bytes("/v/root/f.txt"), Some(b"new\n".as_slice()), "{case}");
            let decided = world.journal.iter().any(|entry| matches!(entry.record.event, Event::Decided(_)));
            assert!(!decided, "{case}: undecided is undecided");
        }
    }
}

#[test]
fn a_client_behind_which_nobody_may_sit_is_never_asked_and_its_turn_ends_at_once() {
    for name in ["acpx", "agent-shell", "somebody"] {
        for version in [1, 2] {
            let files = ["f.txt".to_owned()];
            let (_, frames) = turn_of((name, false, version), &files, (b"old\n", b"new\n"));
            let frames: Vec<Value> =
                frames.iter().filter_map(|frame| serde_json::from_slice(frame).ok()).collect();
            let asks = |frame: &Value| frame["method"].is_string() && !frame["id"].is_null();
            assert!(!frames.iter().any(asks), "{name}: {frames:?}");
            assert!(frames.iter().any(ends_the_turn), "{name}: {frames:?}");
            assert!(
                frames.iter().any(|frame| frame.to_string().contains("1 change to review")),
                "{frames:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_a_question_is_short_and_a_revert_puts_the_base_back(
        before in text(), after in text(), version in 1u32..=2, deep in 1usize..40,
    ) {
        let name = format!("{}f.txt", "a_long_name_of_a_directory/".repeat(deep));
        let (mut world, frames) = turn(version, &name, (&before, &after));
        for frame in &frames {
            prop_assert!(frame.len() <= LONGEST, "{} bytes: {}", frame.len(), String::from_utf8_lossy(&frame[..200]));
        }
        let question = frames.iter().filter_map(|frame| serde_json::from_slice::<Value>(frame).ok())
            .find(|frame| frame["method"] == "session/request_permission");
        prop_assert_eq!(question.is_some(), before != after);
        let Some(question) = question else { return Ok(()) };
        let chosen = json!({"outcome": {"outcome": "selected", "optionId": "hunkgate-revert"}});
        say(&mut world, Leg::Editor, &json!({"id": question["id"], "result": chosen}));
        let frames = heard(&mut world);
        for frame in &frames {
            prop_assert!(frame.len() <= LONGEST, "{} bytes at the end", frame.len());
        }
        let stands = world.tree.bytes(&format!("/v/root/{name}")).map(<[u8]>::to_vec);
        prop_assert_eq!(stands, Some(before));
    }
}
