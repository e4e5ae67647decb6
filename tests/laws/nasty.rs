//! Lines as peers really write them, and as they should not.

use proptest::prelude::*;

/// JSON text with odd spacing, odd numbers, escapes, duplicate names and lone surrogates.
pub(crate) fn json() -> BoxedStrategy<String> {
    let leaf = prop_oneof![Just("null".to_owned()), Just("true".to_owned()), number(), string(),];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let spaced =
            (blank(), inner, blank()).prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let member = (blank(), name(), blank(), spaced.clone())
            .prop_map(|(before, name, between, value)| format!("{before}{name}{between}:{value}"));
        prop_oneof![
            proptest::collection::vec(spaced, 0..4).prop_map(|all| format!("[{}]", all.join(","))),
            proptest::collection::vec(member, 0..4).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
    .boxed()
}

/// Blank space within a line.
pub(crate) fn blank() -> BoxedStrategy<&'static str> {
    prop_oneof![8 => Just(""), 1 => Just(" "), 1 => Just("\t \r")].boxed()
}

fn number() -> BoxedStrategy<String> {
    prop_oneof![
        any::<i64>().prop_map(|it| it.to_string()),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(|it| format!("{it:e}")),
        Just("-0".to_owned()),
        Just("1e999".to_owned()),
        Just("1e3".to_owned()),
        Just("12345678901234567890123".to_owned()),
    ]
    .boxed()
}

/// A string as JSON, some of it escaped without need.
pub(crate) fn string() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        4 => "[a-z/ ]{0,8}",
        1 => any::<char>().prop_map(|c| {
            let text = serde_json::to_string(&c.to_string()).unwrap_or_default();
            text[1..text.len() - 1].to_owned()
        }),
        1 => Just("\\/".to_owned()),
        1 => Just("\\u0061".to_owned()),
        1 => Just("\\ud83d\\ude00".to_owned()),
    ];
    let lone = prop_oneof![12 => Just(""), 1 => Just("\\ud800")];
    (proptest::collection::vec(piece, 0..4), lone)
        .prop_map(|(pieces, lone)| format!("\"{}{lone}\"", pieces.concat()))
        .boxed()
}

/// A member's name as JSON: often one that matters, sometimes escaped.
pub(crate) fn name() -> BoxedStrategy<String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "\"jsonrpc\"", "\"id\"", "\"method\"", "\"params\"", "\"result\"", "\"error\"", "\"m\\u0065thod\"",
            "\"a\"", "\"b\"", "\"\"",
        ]).prop_map(str::to_owned),
        1 => string(),
    ]
    .boxed()
}

/// An object on the top of which the names of JSON-RPC are likely.
pub(crate) fn frame() -> BoxedStrategy<String> {
    let methods =
        vec!["\"session/update\"", "\"session\\/prompt\"", "\"initialize\"", "\"$/cancel_request\""];
    let method = prop_oneof![8 => prop::sample::select(methods).prop_map(str::to_owned), 1 => json()];
    let id = prop_oneof![2 => number(), 1 => string(), 1 => Just("null".to_owned())];
    let maybe = |name: &'static str, value: BoxedStrategy<String>| {
        proptest::option::of(value).prop_map(move |value| value.map(|value| (format!("\"{name}\""), value)))
    };
    let known = (
        maybe("id", id.boxed()),
        maybe("method", method.boxed()),
        maybe("params", json()),
        prop_oneof![2 => Just(None), 1 => maybe("result", json())],
        prop_oneof![3 => Just(None), 1 => maybe("error", json())],
    );
    let known = known.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect::<Vec<_>>());
    let extra = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec((name(), json()), 0..3)];
    let members = (known, extra).prop_map(|(known, extra)| [known, extra].concat()).prop_shuffle();
    (members, blank(), blank())
        .prop_map(|(members, a, b)| {
            let all: Vec<_> =
                members.iter().map(|(name, value)| format!("{a}{name}{b}:{a}{value}{b}")).collect();
            format!("{b}{{{}{a}}}{b}", all.join(","))
        })
        .boxed()
}

/// A line's bytes without its terminator.
pub(crate) fn line() -> BoxedStrategy<Vec<u8>> {
    let deep = format!("{{\"method\":\"m\",\"params\":{}{}}}", "[".repeat(500), "]".repeat(500));
    prop_oneof![
        8 => frame().prop_map(String::into_bytes),
        2 => json().prop_map(String::into_bytes),
        1 => Just(Vec::new()),
        1 => Just(deep.into_bytes()),
        1 => Just(b"\xef\xbb\xbf{\"method\":\"m\"}".to_vec()),
        1 => Just(b"[{\"id\":1,\"method\":\"m\"}]".to_vec()),
        1 => Just(b"npm warn deprecated \x1b[31mred\x1b[0m".to_vec()),
        2 => (frame(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(frame, at, byte)| {
            let mut bytes = frame.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
    .prop_map(|mut bytes| {
        bytes.retain(|byte| *byte != b'\n');
        bytes
    })
    .boxed()
}

/// The end of a line.
pub(crate) fn end() -> BoxedStrategy<&'static [u8]> {
    prop_oneof![3 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..])].boxed()
}
