//! One JSON value as it stands in its line: found by a light scan, read only as far as somebody asks.
//!
//! The scan finds where values end. It checks what it must to do so and leaves the rest to those who read a value:
//! nesting has no limit, numbers no range, and a lone surrogate harms only the string that holds it.

use crate::wire::IdToken;
use serde::Deserialize;
use std::borrow::Cow;
use std::ops::Range;

/// One JSON value, without the white space around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Finds the value in a text that holds one value and white space.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut scan = Scan::new(text);
        let value = scan.value()?;
        scan.ends().then_some(value)
    }

    /// Returns the text.
    pub fn get(self) -> &'a str {
        self.0
    }

    /// Returns the value as an id.
    pub fn to_id(self) -> IdToken {
        IdToken::new(self.0)
    }

    /// Says whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Says whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// Says whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Returns the text of a string; `None` for other values and where an escape is none. A lone surrogate reads as
    /// U+FFFD, which is what JavaScript writes for it.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if has_escape(inner.as_bytes()) { decode(inner).map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
    }

    /// Returns an owned [`Raw::text`].
    pub fn string(self) -> Option<String> {
        self.text().map(Cow::into_owned)
    }

    /// Returns `true` or `false`.
    pub fn bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns a whole number.
    pub fn integer(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Reads it as a type; `None` when it is none.
    pub fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0).ok()
    }

    /// Says whether an object in it names a member twice: two readers may take it for two things.
    pub fn is_ambiguous(self) -> bool {
        let mut left = vec![self];
        while let Some(value) = left.pop() {
            if value.is_object() {
                let mut names = std::collections::BTreeSet::new();
                for (name, member) in value.members() {
                    if !names.insert(name) {
                        return true;
                    }
                    left.push(member);
                }
            } else if value.is_array() {
                left.extend(value.elements());
            }
        }
        false
    }

    /// Returns the members of an object in order, their names decoded; none for other values. It ends where the
    /// text stops being JSON.
    pub fn members(self) -> Members<'a> {
        let mut scan = Scan::new(self.0);
        scan.live = scan.eat(b'{');
        Members { scan, first: true }
    }

    /// Returns the members of the one object that `text` is; to be asked for its end with [`Members::ends`].
    pub(crate) fn parse_members(text: &'a str) -> Option<Members<'a>> {
        let mut scan = Scan::new(text);
        scan.eat(b'{').then_some(Members { scan, first: true })
    }

    /// Visits the members of an object, and in the same pass those of its member `enter`. Returns that member; `None` where
    /// there is none or more than one, or the text stops being JSON before its end.
    pub fn walk(self, enter: &str, mut each: impl FnMut(Place, &str, Raw<'a>)) -> Option<Raw<'a>> {
        let mut scan = Scan::new(self.0);
        scan.live = scan.eat(b'{');
        let (mut first, mut entered) = (true, None);
        while scan.element(&mut first, b'}').is_some() {
            let key = scan.name()?;
            let key = key.text().unwrap_or(Cow::Borrowed(key.0));
            if key != enter {
                each(Place::Outside, &key, scan.value()?);
                continue;
            }
            let value = scan.visit(|key, value| each(Place::Inside, key, value))?;
            if entered.replace(value).is_some() {
                return None;
            }
        }
        entered.filter(|_| scan.closed)
    }

    /// Returns the elements of an array in order; none for other values.
    pub fn elements(self) -> Elements<'a> {
        let mut scan = Scan::new(self.0);
        scan.live = scan.eat(b'[');
        Elements { scan, first: true }
    }

    /// Returns the members of an object, to be asked for by name.
    pub fn fields(self) -> Fields<'a> {
        Fields(self.members().collect())
    }

    /// Returns the last member with this name, as JavaScript reads it; `null` counts as absent.
    pub fn member(self, name: &str) -> Option<Self> {
        self.members()
            .filter(|(key, _)| key == name)
            .last()
            .map(|(_, value)| value)
            .filter(|it| !it.is_null())
    }

    /// Descends by the names of members.
    pub fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, name| value.member(name))
    }

    /// Returns where in `line` this value stands; `None` when it is no part of it.
    pub fn span_in(self, line: &[u8]) -> Option<Range<usize>> {
        let start = (self.0.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        let end = start + self.0.len();
        (end <= line.len()).then_some(start..end)
    }
}

/// Where a visited member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the object itself.
    Outside,
    /// In the member that was entered.
    Inside,
}

/// The members of an object by name. Of members with the same name the last one counts, as in JavaScript, and `null`
/// counts as absent.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Fields<'a> {
    /// Returns a member.
    pub fn member(&self, name: &str) -> Option<Raw<'a>> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value).filter(|it| !it.is_null())
    }

    /// Returns the text of a member that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.member(name)?.text()
    }

    /// Returns an owned [`Fields::text`].
    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// Returns the elements of a member that is an array; none for other values.
    pub fn elements(&self, name: &str) -> impl Iterator<Item = Raw<'a>> {
        self.member(name).into_iter().flat_map(Raw::elements)
    }

    /// Descends by the names of members.
    pub fn at(&self, path: &[&str]) -> Option<Raw<'a>> {
        let (first, rest) = path.split_first()?;
        self.member(first)?.at(rest)
    }
}

/// The members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    scan: Scan<'a>,
    first: bool,
}

impl<'a> Members<'a> {
    /// Says, once it gave out `None`, whether the object was read to its end.
    pub fn complete(&self) -> bool {
        self.scan.closed
    }

    /// Says whether the object was read to its end and only white space follows.
    pub(crate) fn ends(mut self) -> bool {
        self.scan.closed && self.scan.ends()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.element(&mut self.first, b'}')?;
        let member = self.scan.member();
        self.scan.live = member.is_some();
        let (key, value) = member?;
        // A name that is not Unicode is nobody's name; its raw text cannot be mistaken for one, it begins with a quote.
        Some((key.text().unwrap_or(Cow::Borrowed(key.0)), value))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    scan: Scan<'a>,
    first: bool,
}

impl<'a> Elements<'a> {
    /// Says, once it gave out `None`, whether the array was read to its end.
    pub fn complete(&self) -> bool {
        self.scan.closed
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.element(&mut self.first, b']')?;
        let value = self.scan.value();
        self.scan.live = value.is_some();
        value
    }
}

/// A position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// False before an opening bracket was found and after anything that is no JSON.
    live: bool,
    /// True once the closing bracket was read.
    closed: bool,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, live: true, closed: false }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Steps over `byte` and the white space before it.
    fn eat(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Says whether only white space is left.
    fn ends(&mut self) -> bool {
        self.blank();
        self.at == self.text.len()
    }

    /// Steps to the next element of the container that `close` ends, over the comma before it.
    fn element(&mut self, first: &mut bool, close: u8) -> Option<()> {
        if !self.live {
            return None;
        }
        let opens = std::mem::take(first);
        if self.eat(close) {
            self.live = false;
            self.closed = true;
            return None;
        }
        // After a comma the bracket is no longer legal: the caller finds no value there.
        self.live = opens || self.eat(b',');
        self.live.then_some(())
    }

    fn member(&mut self) -> Option<(Raw<'a>, Raw<'a>)> {
        Some((self.name()?, self.value()?))
    }

    /// Steps over a member's name and the colon.
    fn name(&mut self) -> Option<Raw<'a>> {
        self.blank();
        let key = self.string()?;
        self.eat(b':').then_some(key)
    }

    /// Steps over one value, and visits its members when it is an object.
    fn visit(&mut self, mut each: impl FnMut(&str, Raw<'a>)) -> Option<Raw<'a>> {
        self.blank();
        let start = self.at;
        if !self.eat(b'{') {
            return self.value();
        }
        let mut first = true;
        while self.element(&mut first, b'}').is_some() {
            let (key, value) = self.member()?;
            each(&key.text().unwrap_or(Cow::Borrowed(key.0)), value);
        }
        self.live = std::mem::take(&mut self.closed);
        self.live.then(|| self.text.get(start..self.at).map(Raw))?
    }

    /// Steps over one value.
    fn value(&mut self) -> Option<Raw<'a>> {
        self.blank();
        match self.peek()? {
            b'"' => self.string(),
            b'{' | b'[' => self.container(),
            _ => self.scalar(),
        }
    }

    fn string(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at = string_end(self.text.as_bytes(), start + 1)?;
        self.text.get(start..self.at).map(Raw)
    }

    fn container(&mut self) -> Option<Raw<'a>> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let (mut at, mut depth) = (start, 0usize);
        loop {
            // Everything between structure and strings is stepped over unlooked.
            at += bytes.get(at..)?.iter().position(|&byte| STRUCTURE[usize::from(byte)] != 0)?;
            match STRUCTURE[usize::from(bytes[at])] {
                OPENS => depth += 1,
                CLOSES => depth -= 1,
                _ => {
                    at = string_end(bytes, at + 1)?;
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        self.at = at;
        self.text.get(start..at).map(Raw)
    }

    fn scalar(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'a'..=b'z' | b'+' | b'-' | b'.' | b'E') = self.peek() {
            self.at += 1;
        }
        let token = self.text.get(start..self.at)?;
        let number = matches!(token.as_bytes().first()?, b'0'..=b'9' | b'-');
        (number || matches!(token, "true" | "false" | "null")).then_some(Raw(token))
    }
}

const OPENS: u8 = 1;
const CLOSES: u8 = 2;
const QUOTES: u8 = 3;

/// The bytes that decide where a container ends.
const STRUCTURE: [u8; 256] = {
    let mut table = [0; 256];
    table[b'{' as usize] = OPENS;
    table[b'[' as usize] = OPENS;
    table[b'}' as usize] = CLOSES;
    table[b']' as usize] = CLOSES;
    table[b'"' as usize] = QUOTES;
    table
};

/// Returns where the string ends whose first byte after the quote is at `at`, beyond its closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = quote_or_escape(bytes, at)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Finds the next byte that means something within a string. Most strings are short: the search that is made for long ones
/// costs more to start than they take.
#[inline]
fn quote_or_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..4 {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { break };
        let word = u64::from_le_bytes(*word);
        let found = marks(word, b'"') | marks(word, b'\\');
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    Some(at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?)
}

/// Marks the bytes of a word that are `byte`: the lowest mark is right, and there is none where there is none.
#[inline]
fn marks(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let zero = word ^ (LOW * u64::from(byte));
    zero.wrapping_sub(LOW) & !zero & (LOW << 7)
}

fn has_escape(inner: &[u8]) -> bool {
    if inner.len() > 64 {
        return memchr::memchr(b'\\', inner).is_some();
    }
    let (words, rest) = inner.as_chunks();
    words.iter().any(|word| marks(u64::from_le_bytes(*word), b'\\') != 0) || rest.contains(&b'\\')
}

/// Decodes the escapes of a string's inside.
fn decode(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(rest.get(..at)?);
        let escape = *rest.as_bytes().get(at + 1)?;
        let mut used = 2;
        match escape {
            b'"' | b'\\' | b'/' => out.push(char::from(escape)),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (c, len) = code_point(rest.get(at..)?)?;
                out.push(c);
                used = len;
            }
            _ => return None,
        }
        rest = rest.get(at + used..)?;
    }
    out.push_str(rest);
    Some(out)
}

/// Reads `\uXXXX`, or a pair of them that is one character, and says how long it is.
fn code_point(text: &str) -> Option<(char, usize)> {
    let high = unit(text)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 6));
    }
    let low = text.get(6..).and_then(unit).filter(|low| (0xdc00..0xe000).contains(low));
    Some(match low {
        Some(low) if high < 0xdc00 => {
            let c = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            (c.unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    })
}

/// Reads one `\uXXXX`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|it| it.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lone_surrogate_reads_as_javascript_writes_it() {
        let text = |raw| Raw::parse(raw).and_then(Raw::text).map(Cow::into_owned);
        assert_eq!(
            text(r#""a\ud800b\udc00\ud83d\ude00\ud800\ud83d\ude00""#).as_deref(),
            Some("a\u{fffd}b\u{fffd}😀\u{fffd}😀")
        );
        assert_eq!(text(r#""\x""#), None);
        assert_eq!(text(r#""\u00g0""#), None);
        assert_eq!(text("7"), None);
    }

    #[test]
    fn of_two_members_with_one_name_the_last_counts_and_null_is_absent() {
        let raw = Raw::parse(r#"{"a":1,"b":null,"\u0061":2,"c":[true, {"d":"x"}]}"#).unwrap();
        assert_eq!(raw.member("a").and_then(Raw::integer), Some(2));
        assert_eq!(raw.fields().member("b"), None);
        assert_eq!(
            raw.fields().elements("c").last().and_then(|it| it.fields().string("d")).as_deref(),
            Some("x")
        );
    }

    #[test]
    fn a_walk_visits_an_object_and_one_member_within() {
        let walk = |text: &'static str| {
            let mut seen = Vec::new();
            let entered = Raw::parse(text).unwrap().walk("u", |place, key, value| {
                seen.push(format!("{}{key}={}", if place == Place::Inside { "u." } else { "" }, value.get()));
            });
            (entered.map(Raw::get), seen.join(" "))
        };
        assert_eq!(
            walk(r#"{"a":1, "u" : {"b":[2],"u":{"c":3}} ,"d":"x"}"#),
            (Some(r#"{"b":[2],"u":{"c":3}}"#), r#"a=1 u.b=[2] u.u={"c":3} d="x""#.into())
        );
        assert_eq!(walk(r#"{"\u0075":{},"d":1}"#).0, Some("{}"));
        assert_eq!(walk(r#"{"u":[{"b":1}]}"#), (Some(r#"[{"b":1}]"#), String::new()));
        for none in [r#"{"u":{},"u":{}}"#, r#"{"u":{"b":1,}}"#, r#"{"a":1}"#, "[1]", r#"{"u":{} 1}"#] {
            assert_eq!(walk(none).0, None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn a_string_reads_as_it_was_written(text in any::<String>()) {
            let raw = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(Raw::parse(&raw).and_then(Raw::text), Some(Cow::Borrowed(text.as_str())));
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let raw = format!("\"{escaped}\"");
            prop_assert_eq!(Raw::parse(&raw).and_then(Raw::text), Some(Cow::Borrowed(text.as_str())));
        }
    }
}
