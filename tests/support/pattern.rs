//! Placeholders: what an expectation leaves open and a later stimulus puts in.
//!
//! `"$x"` as a whole string binds any value at first sight and is compared afterwards; in a stimulus it is replaced by
//! the value's raw token, quotes included. `$x` inside a longer string splices text. `"$_"` matches anything, `$*` inside
//! a string matches any text, `"...": 1` allows more members, a last `"..."` more elements. `$$` is a dollar sign.

use serde_json::Value;
use std::collections::BTreeMap;

/// What placeholders stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings(BTreeMap<String, Value>);

impl Bindings {
    /// Fixes a placeholder in advance.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), Value::String(value.to_owned()));
    }

    /// Puts values into a stimulus, byte for byte elsewhere.
    pub(crate) fn fill(&self, line: &[u8]) -> Result<Vec<u8>, String> {
        self.fill_as(line, |text| {
            let token = Value::String(text.to_owned()).to_string();
            token[1..token.len() - 1].to_owned()
        })
    }

    fn fill_as(&self, line: &[u8], text_form: fn(&str) -> String) -> Result<Vec<u8>, String> {
        let mut filled = Vec::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
            let (before, from) = rest.split_at(at);
            filled.extend_from_slice(before);
            let name = name_of(&from[1..]);
            if from.get(1) == Some(&b'$') {
                filled.push(b'$');
                rest = &from[2..];
            } else if name.is_empty() {
                filled.push(b'$');
                rest = &from[1..];
            } else {
                rest = &from[1 + name.len()..];
                let value = self.0.get(name).ok_or_else(|| format!("${name} is not bound"))?;
                let quoted = filled.last() == Some(&b'"') && rest.first() == Some(&b'"');
                if let Value::String(text) = value {
                    filled.extend_from_slice(text_form(text).as_bytes());
                    continue;
                }
                if quoted {
                    filled.pop();
                    rest = &rest[1..];
                }
                filled.extend_from_slice(value.to_string().as_bytes());
            }
        }
        filled.extend_from_slice(rest);
        Ok(filled)
    }

    /// Compares, binding what is seen for the first time.
    pub(crate) fn matches(&mut self, pattern: &Value, actual: &Value) -> Result<(), String> {
        self.at("", pattern, actual)
    }

    fn at(&mut self, place: &str, pattern: &Value, actual: &Value) -> Result<(), String> {
        match (pattern, actual) {
            (Value::String(text), actual) => self.text(place, text, actual),
            (Value::Object(wanted), Value::Object(got)) => {
                for (name, pattern) in wanted.iter().filter(|(name, _)| *name != "...") {
                    let place = format!("{place}.{name}");
                    let actual = got.get(name).ok_or_else(|| format!("{place} is missing"))?;
                    self.at(&place, pattern, actual)?;
                }
                match got.keys().find(|name| !wanted.contains_key(*name)) {
                    Some(extra) if !wanted.contains_key("...") => {
                        Err(format!("{place}.{extra} is not expected"))
                    }
                    _ => Ok(()),
                }
            }
            (Value::Array(wanted), Value::Array(got)) => {
                let open = wanted.last().is_some_and(|last| last == "...");
                let wanted = if open { &wanted[..wanted.len() - 1] } else { &wanted[..] };
                if got.len() < wanted.len() || (!open && got.len() > wanted.len()) {
                    return Err(format!("{place} has {} elements, not {}", got.len(), wanted.len()));
                }
                for (at, (pattern, actual)) in wanted.iter().zip(got).enumerate() {
                    self.at(&format!("{place}[{at}]"), pattern, actual)?;
                }
                Ok(())
            }
            (pattern, actual) if pattern == actual => Ok(()),
            (pattern, actual) => Err(format!("{place} is {actual}, not {pattern}")),
        }
    }

    fn text(&mut self, place: &str, pattern: &str, actual: &Value) -> Result<(), String> {
        let differs = || Err(format!("{place} is {actual}, not {pattern:?}"));
        if pattern == "$_" {
            return Ok(());
        }
        if let Some(name) = pattern.strip_prefix('$')
            && !name.is_empty()
            && name_of(name.as_bytes()) == name
        {
            return match self.0.get(name) {
                Some(bound) if bound == actual => Ok(()),
                Some(bound) => Err(format!("{place} is {actual}, but ${name} is {bound}")),
                None => {
                    self.0.insert(name.to_owned(), actual.clone());
                    Ok(())
                }
            };
        }
        let Value::String(actual) = actual else { return differs() };
        let pieces: Vec<String> =
            pattern.split("$*").map(|piece| self.spliced(piece)).collect::<Result<_, _>>()?;
        if globs(&pieces, actual) { Ok(()) } else { differs() }
    }

    fn spliced(&self, piece: &str) -> Result<String, String> {
        let filled = self.fill_as(piece.as_bytes(), str::to_owned)?;
        Ok(String::from_utf8_lossy(&filled).into_owned())
    }
}

/// Says whether `text` is the pieces in order with anything between them.
fn globs(pieces: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|only| only == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last.as_str())
}

fn name_of(text: &[u8]) -> &str {
    let end =
        text.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).unwrap_or(text.len());
    let name = &text[..end];
    match name.first() {
        Some(first) if !first.is_ascii_digit() => std::str::from_utf8(name).unwrap_or(""),
        _ => "",
    }
}
