//! Edits of a line at the spans of its values. Every byte outside the edit stays.
//!
//! A path is a list of member names; below an array a name is an index in decimal. `None` means that the line cannot be
//! edited there (no such place, a name given twice on the way, no JSON): the line is then forwarded as it is.

use crate::wire::Raw;
use bytes::{BufMut as _, Bytes, BytesMut};
use std::ops::Range;

/// Finds the value at `path`.
pub fn find<'a>(line: &'a [u8], path: &[&str]) -> Option<Raw<'a>> {
    let text = std::str::from_utf8(line).ok()?;
    path.iter().try_fold(Raw::parse(text)?, |value, name| child(value, name))
}

/// Replaces the value at `path` by the JSON text `with`.
pub fn replace(line: &[u8], path: &[&str], with: &str) -> Option<Bytes> {
    let span = find(line, path)?.span_in(line)?;
    Some(edit(line, &[(span, with)]))
}

/// Appends the JSON text `element` to the array at `path`.
pub fn append_to_array(line: &[u8], path: &[&str], element: &str) -> Option<Bytes> {
    let array = find(line, path)?;
    let at = array.span_in(line)?.end - 1;
    let after = match elements(array)?.last() {
        None => return Some(edit(line, &[(at..at, element)])),
        Some(last) => last.span_in(line)?.end,
    };
    Some(edit(line, &[(after..after, &format!(",{element}"))]))
}

/// Removes one element of the array at `path`, with one comma.
pub fn remove_array_element(line: &[u8], path: &[&str], index: usize) -> Option<Bytes> {
    let all = elements(find(line, path)?)?;
    let span = |at: usize| all.get(at)?.span_in(line);
    let gone = span(index)?;
    let cut = match (index.checked_sub(1), span(index + 1)) {
        (_, Some(next)) => gone.start..next.start,
        (Some(before), None) => span(before)?.end..gone.end,
        (None, None) => gone,
    };
    Some(edit(line, &[(cut, "")]))
}

/// Adds a member, as the last one, to the object at `path`. `None` when the name is taken.
pub fn add_member(line: &[u8], path: &[&str], name: &str, value: &str) -> Option<Bytes> {
    let object = find(line, path)?;
    let mut members = object.is_object().then(|| object.members())?;
    let mut last = None;
    for (key, value) in members.by_ref() {
        if key == name {
            return None;
        }
        last = Some(value);
    }
    let name = serde_json::Value::from(name);
    let at = match last {
        _ if !members.complete() => return None,
        None => object.span_in(line)?.end - 1,
        Some(last) => last.span_in(line)?.end,
    };
    let comma = if last.is_some() { "," } else { "" };
    Some(edit(line, &[(at..at, &format!("{comma}{name}:{value}"))]))
}

/// Removes a member from the object at `path`, with one comma.
pub fn remove_member(line: &[u8], path: &[&str], name: &str) -> Option<Bytes> {
    let object = find(line, path)?;
    child(object, name)?;
    let mut members = object.members();
    let spans: Vec<_> = members.by_ref().map(|(key, value)| (key == name, value)).collect();
    let at = spans.iter().position(|(named, _)| *named)?;
    let end = |at: usize| spans.get(at)?.1.span_in(line).map(|span| span.end);
    // From the end of the member before (or the opening bracket) to the end of this one; the first one takes the comma
    // after it along.
    let cut = match (at.checked_sub(1), spans.get(at + 1)) {
        (Some(before), _) => end(before)?..end(at)?,
        (None, None) => object.span_in(line)?.start + 1..end(at)?,
        (None, Some(_)) => object.span_in(line)?.start + 1..end(at)? + comma(line, end(at)?)?,
    };
    Some(edit(line, &[(cut, "")]))
}

/// Returns how many bytes lead up to and over the next comma.
fn comma(line: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b',', line.get(from..)?).map(|at| at + 1)
}

/// Puts texts in the place of spans, which are ascending and do not overlap.
pub fn edit(line: &[u8], edits: &[(Range<usize>, &str)]) -> Bytes {
    let grown: usize = edits.iter().map(|(_, with)| with.len()).sum();
    let mut out = BytesMut::with_capacity(line.len() + grown);
    let mut at = 0;
    for (span, with) in edits {
        out.put_slice(line.get(at..span.start).unwrap_or_default());
        out.put_slice(with.as_bytes());
        at = span.end;
    }
    out.put_slice(line.get(at..).unwrap_or_default());
    out.freeze()
}

fn child<'a>(value: Raw<'a>, name: &str) -> Option<Raw<'a>> {
    if value.is_array() {
        return elements(value)?.get(name.parse::<usize>().ok()?).copied();
    }
    let mut members = value.members();
    let mut found = None;
    for (key, member) in members.by_ref() {
        if key == name && found.replace(member).is_some() {
            return None;
        }
    }
    found.filter(|_| members.complete())
}

fn elements(array: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    let mut elements = array.elements();
    let all = elements.by_ref().collect();
    elements.complete().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_appended_and_every_other_byte_stays() {
        let cases = [
            ("{\"a\":[]}\r\n", "{\"a\":[9]}\r\n"),
            ("{\"a\":[ ]}", "{\"a\":[ 9]}"),
            ("{\"a\" : [ 1 , 1e3 ] , \"b\":-0}", "{\"a\" : [ 1 , 1e3,9 ] , \"b\":-0}"),
            (r#"{"\u0061":["\/"],"z":{"a":1,"a":2}}"#, r#"{"\u0061":["\/",9],"z":{"a":1,"a":2}}"#),
        ];
        for (line, expected) in cases {
            assert_eq!(append_to_array(line.as_bytes(), &["a"], "9").as_deref(), Some(expected.as_bytes()));
        }
    }

    #[test]
    fn an_element_is_removed_with_one_comma() {
        let remove = |line: &str, index| {
            remove_array_element(line.as_bytes(), &["a"], index)
                .map(|it| String::from_utf8_lossy(&it).into_owned())
        };
        assert_eq!(remove("{\"a\":[ 1 ]}", 0).as_deref(), Some("{\"a\":[  ]}"));
        assert_eq!(remove("{\"a\":[1, 2, 3]}", 0).as_deref(), Some("{\"a\":[2, 3]}"));
        assert_eq!(remove("{\"a\":[1, 2, 3]}", 1).as_deref(), Some("{\"a\":[1, 3]}"));
        assert_eq!(remove("{\"a\":[1, 2 , 3]}", 2).as_deref(), Some("{\"a\":[1, 2]}"));
        assert_eq!(remove("{\"a\":[1]}", 1), None);
    }

    #[test]
    fn a_value_is_replaced_below_objects_and_arrays() {
        let line = br#"{"a":[{"b":1}, {"b":{"c":"x"}}]}"#;
        assert_eq!(
            replace(line, &["a", "1", "b", "c"], "null").as_deref(),
            Some(&br#"{"a":[{"b":1}, {"b":{"c":null}}]}"#[..])
        );
    }

    #[test]
    fn a_member_is_added_last_unless_its_name_is_taken() {
        assert_eq!(add_member(b"{ }", &[], "n", "1").as_deref(), Some(&b"{ \"n\":1}"[..]));
        assert_eq!(add_member(b"{\"a\":2 }\n", &[], "n", "1").as_deref(), Some(&b"{\"a\":2,\"n\":1 }\n"[..]));
        assert_eq!(add_member(b"{\"n\":2}", &[], "n", "1"), None);
    }

    #[test]
    fn a_member_is_removed_with_one_comma() {
        let remove = |line: &str| {
            remove_member(line.as_bytes(), &[], "n").map(|it| String::from_utf8_lossy(&it).into_owned())
        };
        assert_eq!(remove("{ \"n\" : 1 }").as_deref(), Some("{ }"));
        assert_eq!(remove("{\"n\":1 , \"a\":2}").as_deref(), Some("{ \"a\":2}"));
        assert_eq!(remove("{\"a\":2, \"n\":[1,2]}\n").as_deref(), Some("{\"a\":2}\n"));
        assert_eq!(remove("{\"a\":2,\"n\":1,\"b\":3}").as_deref(), Some("{\"a\":2,\"b\":3}"));
        assert_eq!(remove("{\"a\":2}"), None);
    }

    #[test]
    fn what_is_ambiguous_or_broken_is_not_edited() {
        for line in [
            "{\"a\":[],\"a\":[]}",
            "{\"a\":[],\"\\u0061\":[]}",
            "{\"a\":{}}",
            "{\"b\":[]}",
            "[{\"a\":[]}]",
            "{\"a\":[1,]}",
            "{\"a\":[1 2]}",
            "{\"a\":[]",
            "{\"a\":[]} x",
            "\u{feff}{\"a\":[]}",
            "",
        ] {
            assert_eq!(append_to_array(line.as_bytes(), &["a"], "9"), None, "{line}");
        }
        assert_eq!(append_to_array(b"{\"a\":[],\"b\":\"\xff\"}", &["a"], "9"), None);
    }
}
