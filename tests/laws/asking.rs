//! The question at a turn's end, whatever the files hold: every line of ours is short, and what was shown is what goes back.

use crate::support::world::World;
use bytes::Bytes;
use hunkgate::base::{Leg, WallNs};
use hunkgate::config::Config;
use hunkgate::engine::Input;
use hunkgate::ledger::RootKind;
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
    turn_of(version, &[name.to_owned()], texts)
}

fn turn_of(version: u32, names: &[String], (before, after): (&[u8], &[u8])) -> (World, Vec<Bytes>) {
    let mut world = World::new(Config::default());
    world.tree.declare("/v/root", RootKind::Git);
    for name in names {
        world.tree.write(&format!("/v/root/{name}"), before, WallNs(1));
    }
    let info = if version == 2 { "info" } else { "clientInfo" };
    say(
        &mut world,
        Leg::Editor,
        &json!({"id": 0, "method": "initialize", "params": {"protocolVersion": version, info: {"name": "zed", "version": "1"}}}),
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
        let (mut world, frames) = turn_of(version, &names, (b"old\n", b"new\n"));
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
