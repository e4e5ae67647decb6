//! Arbitrary input for everything that reads a peer's bytes: nothing panics, and what is read agrees with an oracle.

use bytes::Bytes;
use hunkgate::acp::{Dialect, author, read_answer, read_call};
use hunkgate::base::Leg;
use hunkgate::router::Hop;
use hunkgate::wire::{Head, IdToken, Outcome, Piece, Raw, Splitter, head, splice};
use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};

#[path = "laws/nasty.rs"]
#[allow(dead_code, reason = "shared with the laws, which use another part of it")]
mod nasty;

#[path = "support/pattern.rs"]
#[allow(dead_code, reason = "shared with the transcripts, which use another part of it")]
mod pattern;

#[path = "support/transcript.rs"]
#[allow(dead_code, reason = "shared with the transcripts, which use another part of it")]
mod transcript;

/// The members of a top-level object as serde_json reads them, in order and with duplicates.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut all = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                Ok(Pairs(all))
            }
        }
        from.deserialize_map(Collect)
    }
}

/// What a line is, by serde_json; `None` where serde_json does not read it.
fn oracle(line: &[u8]) -> Option<Vec<String>> {
    let Pairs(pairs) = serde_json::from_slice(line).ok()?;
    let unreadable = vec!["unreadable".to_owned()];
    let mut found: Vec<Option<String>> = vec![None; 5];
    for (name, value) in pairs {
        let names = ["id", "method", "params", "result", "error"];
        let Some(at) = names.iter().position(|known| *known == name) else { continue };
        if found[at].replace(value.get().to_owned()).is_some() {
            return Some(unreadable);
        }
    }
    let [id, method, params, result, error]: [Option<String>; 5] = found.try_into().ok()?;
    if let Some(method) = method {
        if !method.starts_with('"') {
            return Some(unreadable);
        }
        // A lone surrogate in the method is none of serde_json's business, and no method of ours.
        let method = serde_json::from_str::<String>(&method).ok()?;
        let params = params.unwrap_or_default();
        return Some(match id {
            Some(id) => vec!["request".into(), id, method, params],
            None => vec!["notification".into(), method, params],
        });
    }
    let null = |it: &String| it == "null";
    let outcome = match (result, error) {
        (Some(result), None) => ("ok", result),
        (Some(result), Some(error)) if null(&error) => ("ok", result),
        (None, Some(error)) => ("err", error),
        (Some(result), Some(error)) if null(&result) => ("err", error),
        _ => return Some(unreadable),
    };
    Some(id.map_or(unreadable, |id| vec![outcome.0.into(), id, outcome.1]))
}

fn told(line: &[u8]) -> Vec<String> {
    let text = |raw: Option<Raw<'_>>| raw.map(|it| it.get().to_owned()).unwrap_or_default();
    match head(line) {
        Head::Request { id, method, params } => {
            vec!["request".into(), id.get().into(), method.into_owned(), text(params)]
        }
        Head::Notification { method, params } => {
            vec!["notification".into(), method.into_owned(), text(params)]
        }
        Head::Response { id, outcome: Outcome::Ok(result) } => {
            vec!["ok".into(), id.get().into(), result.get().into()]
        }
        Head::Response { id, outcome: Outcome::Err(error) } => {
            vec!["err".into(), id.get().into(), error.get().into()]
        }
        Head::Unreadable => vec!["unreadable".into()],
    }
}

/// All paths into a value.
fn paths(value: &Value, at: &[String], out: &mut Vec<Vec<String>>) {
    out.push(at.to_vec());
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, child) in children {
        paths(child, &[at, &[name]].concat(), out);
    }
}

fn descend<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, name| match value {
        Value::Array(elements) => elements.get_mut(name.parse::<usize>().ok()?),
        Value::Object(members) => members.get_mut(name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

const METHODS: [&str; 12] = [
    "initialize",
    "session/update",
    "session/prompt",
    "session/request_permission",
    "session/new",
    "session/load",
    "session/set_config_option",
    "fs/write_text_file",
    "terminal/create",
    "terminal/release",
    "$/cancel_request",
    "session/set_mode",
];

/// The parameters of a tool call with anything in its fields.
fn call() -> impl Strategy<Value = String> {
    let names = [
        "content",
        "locations",
        "rawInput",
        "_meta",
        "title",
        "kind",
        "status",
        "changes",
        "diff",
        "edits",
        "path",
        "newText",
        "oldText",
        "type",
        "command",
        "old_string",
        "new_string",
        "file_path",
    ];
    let diff =
        prop_oneof![nasty::json(), Just("\"--- a\\n+++ b\\n@@ -1,9 +1 @@\\n-x\\n\\\\ no\\n\"".to_owned())];
    let inner = proptest::collection::vec((prop::sample::select(names.to_vec()), diff), 0..5)
        .prop_map(|all| object(&all));
    let fields = proptest::collection::vec((prop::sample::select(names.to_vec()), inner), 0..5);
    (
        fields,
        prop::sample::select(vec![
            "tool_call",
            "tool_call_update",
            "tool_call_content_chunk",
            "state_update",
        ]),
    )
        .prop_map(|(fields, kind)| {
            let fields = object(&fields);
            let comma = if fields == "{}" { "" } else { "," };
            format!(
                "{{\"sessionId\":\"s\",\"update\":{{\"sessionUpdate\":\"{kind}\",\"toolCallId\":1{comma}{}}}",
                &fields[1..]
            )
        })
}

fn object(members: &[(&str, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_head_agrees_with_a_json_parser(line in nasty::line(), end in nasty::end()) {
        let line = [&line, end].concat();
        if let Some(expected) = oracle(&line) {
            prop_assert_eq!(told(&line), expected, "{}", String::from_utf8_lossy(&line));
        } else {
            told(&line);
        }
    }

    #[test]
    fn an_id_is_the_token_that_stands_there(id in nasty::json()) {
        let line = format!("{{\"id\": {id} ,\"result\":1}}");
        if let Head::Response { id: read, .. } = head(line.as_bytes()) {
            prop_assert_eq!(read.to_id(), IdToken::new(id.trim_matches([' ', '\t', '\r'])));
        } else {
            prop_assert!(false, "a response: {}", line);
        }
    }
}

proptest! {
    #[test]
    fn the_splitter_loses_no_byte(
        bytes in proptest::collection::vec(prop_oneof![1 => Just(b'\n'), 4 => any::<u8>()], 0..600),
        cuts in proptest::collection::vec(1usize..90, 1..20),
        limit in 1usize..200,
    ) {
        let (mut splitter, mut out, mut rest) = (Splitter::new(limit), Vec::new(), bytes.as_slice());
        for cut in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            splitter.buffer().extend_from_slice(chunk);
            out.extend(std::iter::from_fn(|| splitter.next_piece()).flat_map(Piece::into_bytes));
            rest = after;
            if rest.is_empty() { break }
        }
        out.extend_from_slice(&splitter.take_tail());
        prop_assert_eq!(out, bytes);
    }

    #[test]
    fn an_edit_leaves_every_other_byte_alone(
        text in nasty::frame(), pick in any::<prop::sample::Index>(), with in nasty::json(), end in nasty::end(),
    ) {
        let line = [text.as_bytes(), end].concat();
        let Ok(value) = serde_json::from_slice::<Value>(&line) else { return Ok(()) };
        let mut all = Vec::new();
        paths(&value, &[], &mut all);
        let path = &all[pick.index(all.len())];
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        // `None`: a name given twice on the way.
        let Some(found) = splice::find(&line, &names) else { return Ok(()) };
        let span = found.span_in(&line).unwrap();
        let edited = splice::replace(&line, &names, &with).unwrap();
        prop_assert_eq!(&edited[..span.start], &line[..span.start]);
        prop_assert_eq!(&edited[span.start + with.len()..], &line[span.end..]);
        prop_assert_eq!(&edited[span.start..span.start + with.len()], with.as_bytes());
        if let (Ok(edited), Ok(with)) = (serde_json::from_slice::<Value>(&edited), serde_json::from_str(&with)) {
            let mut expected = value;
            *descend(&mut expected, path).unwrap() = with;
            prop_assert_eq!(edited, expected);
        }
    }

    #[test]
    fn an_element_appended_and_removed_again_leaves_the_line_as_it_was(
        elements in proptest::collection::vec(nasty::json(), 0..4), blank in nasty::blank(), with in nasty::json(),
    ) {
        let line = format!("{{\"a\":[{blank}{}{blank}]{blank}}}\n", elements.join(","));
        let longer = splice::append_to_array(line.as_bytes(), &["a"], &with).unwrap();
        prop_assert_eq!(longer.len(), line.len() + with.len() + usize::from(!elements.is_empty()));
        let back = splice::remove_array_element(&longer, &["a"], elements.len()).unwrap();
        prop_assert_eq!(back, line);
    }

    #[test]
    fn arbitrary_frames_are_read_without_a_panic(
        params in prop_oneof![nasty::json(), nasty::frame(), call()], method in prop::sample::select(METHODS.to_vec()),
    ) {
        let Some(raw) = Raw::parse(&params) else { return Ok(()) };
        for dialect in [Dialect::Unknown, Dialect::V1, Dialect::V2, Dialect::Other(9)] {
            let _ = (read_call(dialect, method, Some(raw)), read_answer(dialect, method, raw));
        }
    }

    #[test]
    fn arbitrary_lines_are_edited_or_left_without_a_panic(line in nasty::line(), dialect in 0u32..4) {
        let dialect = Dialect::of_version(dialect);
        let _ = author::append_note(&line, "n");
        let _ = author::merge_commands(&line, dialect, &[]);
        let _ = author::strip_note(&line, dialect, &|_| Some(String::new()));
        let _ = author::prompt_answer(dialect, &line, "m", "t", author::Foreground::Idle);
        for path in [&["a"][..], &["params", "a"], &["params"], &[]] {
            let _ = splice::remove_member(&line, path, "b");
            let _ = splice::add_member(&line, path, "b", "1");
            let _ = splice::remove_array_element(&line, path, 0);
        }
    }

    #[test]
    fn the_chain_framing_takes_any_line(lines in proptest::collection::vec((nasty::line(), 0u8..3), 0..12)) {
        let mut hop = Hop::new();
        for (line, way) in lines {
            let line = Bytes::from(line);
            match way {
                0 => { hop.incoming(line); }
                1 => { hop.outgoing(Leg::Agent, line); }
                _ => { hop.outgoing(Leg::Editor, line); }
            }
        }
    }
}

/// Words that statements are made of, so that arbitrary text gets past the first of them.
fn statement() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        proptest::sample::select(vec![
            "editor> ", "agent> ", "editor< ", "agent< ", "same", "nothing", "edited ", "tree ", "write ",
            "chmod ", "<<END", "END", "\"", "{", "}", "$x", "$$", "journal ", "ask ", "answer ", ": acp v1",
            "wait ", "\n", " ", "\u{e9}",
        ])
        .prop_map(|word| word.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_is_a_transcript_or_an_error_with_its_line(text in statement()) {
        if let Err(what) = transcript::Transcript::parse(&text) {
            prop_assert!(what.starts_with("line "), "{}", what);
        }
        let filled = pattern::Bindings::default().fill(&text);
        if !text.contains(&b'$') {
            prop_assert_eq!(filled, Ok(text));
        }
    }
}
