//! Which of the observed changes each claim explains: old → new is looked for in the texts before and after.
//!
//! A claim is a virtual step between the two texts. It is taken only when it brings the text closer to what was
//! observed, so that a claim that was not carried out explains nothing.

use crate::diff::{Diff, Eol, Text};
use crate::ledger::{ClaimBody, ClaimText};
use std::collections::{BTreeMap, BTreeSet};

/// Occurrences of an old fragment beyond which the claim is too vague to be placed.
const MAX_PLACES: usize = 16;
/// Places at which a text may have been laid beyond which no more are tried.
const MAX_LAID: usize = 4;
/// One in so many changed lines of a claim must have brought the text closer for the claim to be taken.
const CARRIED_OUT: u64 = 3;
/// Claims that are tried on what led to a text that a call saw and nobody observed.
const MAX_BEFORE: usize = 8;
/// Claims on one path of one step beyond which no more are tried.
const MAX_CLAIMS: usize = 256;

/// One claim, and which suspect made it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed<'a> {
    /// Position among the suspects of the step.
    pub suspect: usize,
    /// What it says.
    pub body: &'a ClaimBody,
}

/// One virtual step: the text after it, and the suspects whose claim it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Explained {
    /// The text after it.
    pub text: Text,
    /// Whose it is; empty for what nobody claims.
    pub by: Vec<usize>,
    /// A text that was told without what stood there was laid between what stood, and left all of it.
    pub laid: bool,
}

impl Explained {
    fn nobodys(text: Text) -> Self {
        Self { text, by: Vec::new(), laid: false }
    }
}

/// Explains the way from `before` to `after` by claims, in their order. What is left after the last one is nobody's.
pub(super) fn explain(before: &Text, after: &Text, claims: &[Claimed<'_>]) -> Vec<Explained> {
    let eol = Eol::of(before.bytes()).or(Eol::of(after.bytes()));
    let edits: Vec<(usize, Edit)> = claims
        .iter()
        .take(MAX_CLAIMS)
        .filter_map(|claim| Edit::read(claim.body, after, eol).map(|edit| (claim.suspect, edit)))
        .collect();
    let (found, left) = greedy(before, after, &edits);
    if left == 0 || edits.len() < 2 {
        return found;
    }
    in_order(before, after, &edits).unwrap_or(found)
}

/// A claim whose texts are at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edit {
    /// `old` is replaced by `new`.
    Replace { old: Vec<u8>, new: Vec<u8> },
    /// The same; where `old` stands nowhere or `new` is not at hand, both are whole texts.
    Either { old: Vec<u8>, new: Option<Vec<u8>>, whole: Vec<u8> },
    /// The whole text afterwards, and before where it was given.
    Whole { old: Option<Vec<u8>>, new: Vec<u8> },
    /// The whole text afterwards, or one that was laid between what stood, at one of these places of the text afterwards.
    Laid { whole: Vec<u8>, places: Vec<Place> },
}

/// Where a text stands in a longer one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    before: Vec<u8>,
    laid: Vec<u8>,
    after: Vec<u8>,
}

impl Place {
    /// Returns where `laid` stands in `text` beside something else.
    fn all(laid: &[u8], text: &[u8]) -> Vec<Self> {
        // Some tools end the line that they are given without an end.
        let ended = [laid, b"\n"].concat();
        let laid =
            if laid.ends_with(b"\n") || memchr::memmem::find(text, &ended).is_none() { laid } else { &ended };
        if laid.trim_ascii().is_empty() || laid.len() >= text.len() {
            return Vec::new();
        }
        let found = memchr::memmem::find_iter(text, laid).take(MAX_LAID);
        let place = |at: usize| Self {
            before: text[..at].to_vec(),
            laid: laid.to_vec(),
            after: text[at + laid.len()..].to_vec(),
        };
        found.map(place).collect()
    }

    /// Lays the text where it would come to stand in `text`, by what stands before it or after it.
    fn lay(&self, text: &[u8]) -> Option<Vec<u8>> {
        let at = if text.starts_with(&self.before) {
            self.before.len()
        } else {
            text.len() - text.ends_with(&self.after).then_some(self.after.len())?
        };
        Some([&text[..at], self.laid.as_slice(), &text[at..]].concat())
    }
}

impl Edit {
    fn read(body: &ClaimBody, after: &Text, eol: Option<Eol>) -> Option<Self> {
        match body {
            ClaimBody::Location => None,
            ClaimBody::Fragment { old, new } => {
                Some(Self::Replace { old: kept(old, eol)?, new: kept(new, eol)? })
            }
            ClaimBody::Whole { old: None, new } => {
                Some(Self::Whole { old: None, new: whole(new, after, eol)? })
            }
            ClaimBody::Diff { old: None, new } => {
                let whole = whole(new, after, eol)?;
                let laid = kept(new, eol).unwrap_or_default();
                Some(Self::Laid { places: Place::all(&laid, after.bytes()), whole })
            }
            ClaimBody::Whole { old: Some(old), new } => {
                Some(Self::Whole { old: Some(kept(old, eol)?), new: whole(new, after, eol)? })
            }
            ClaimBody::Diff { old: Some(old), new } => {
                let (old, whole) = (kept(old, eol)?, whole(new, after, eol)?);
                if old.is_empty() {
                    return Some(Self::Whole { old: None, new: whole });
                }
                Some(Self::Either { old, new: kept(new, eol), whole })
            }
            ClaimBody::Delete => after.is_empty().then(|| Self::Whole { old: None, new: Vec::new() }),
            ClaimBody::Move { .. } => Some(Self::Whole { old: None, new: after.bytes().to_vec() }),
        }
    }

    /// Returns the ways in which the edit may have changed `text`: each a sequence of texts, the last of them its own.
    fn ways(&self, text: &Text) -> Vec<Way> {
        match self {
            Self::Whole { old: None, new } => vec![Way::direct(new)],
            Self::Laid { whole, places } => {
                let places = if text.is_empty() { &[] } else { places.as_slice() };
                let laid = places.iter().filter_map(|place| place.lay(text.bytes()));
                laid.map(Way::laid).chain([Way::direct(whole)]).collect()
            }
            Self::Whole { old: Some(old), new } => vec![Way::through(old, new, text)],
            Self::Replace { old, new } if old.is_empty() => {
                if text.is_empty() {
                    vec![Way::direct(new)]
                } else {
                    Vec::new()
                }
            }
            Self::Replace { old, new } => places(text.bytes(), old, new),
            Self::Either { old, new, whole } => {
                if text.bytes() == old {
                    return vec![Way::direct(whole)];
                }
                let placed = new.as_ref().map(|new| places(text.bytes(), old, new)).unwrap_or_default();
                if placed.is_empty() { vec![Way::through(old, whole, text)] } else { placed }
            }
        }
    }
}

/// One way in which an edit may have changed a text.
#[derive(Clone, Debug)]
struct Way {
    /// A text that the call saw and nobody observed: what led to it is not the call's.
    seen: Option<Text>,
    /// The text after the edit.
    text: Text,
    /// How many places it changed.
    places: usize,
    /// It laid a text between what stood.
    laid: bool,
}

impl Way {
    fn direct(new: &[u8]) -> Self {
        Self { seen: None, text: Text::new(new), places: 1, laid: false }
    }

    fn laid(text: Vec<u8>) -> Self {
        Self { seen: None, text: Text::new(text), places: 1, laid: true }
    }

    fn through(old: &[u8], new: &[u8], text: &Text) -> Self {
        let seen = (text.bytes() != old).then(|| Text::new(old));
        Self { seen, text: Text::new(new), places: 1, laid: false }
    }

    /// Returns how many changed lines stay unexplained when `text` went this way to `after`.
    fn unexplained(&self, text: &Text, after: &Text) -> u64 {
        let before = self.seen.as_ref().map_or(0, |seen| Diff::of(text, seen).size());
        before + Diff::of(&self.text, after).size()
    }
}

/// Replaces each single occurrence, and all of them.
fn places(text: &[u8], old: &[u8], new: &[u8]) -> Vec<Way> {
    let finder = memchr::memmem::Finder::new(old);
    let found: Vec<usize> = finder.find_iter(text).take(MAX_PLACES + 1).collect();
    let replaced = |at: &[usize]| {
        let mut bytes = Vec::with_capacity(text.len() + new.len());
        let mut next = 0;
        for &at in at {
            bytes.extend_from_slice(&text[next..at]);
            bytes.extend_from_slice(new);
            next = at + old.len();
        }
        bytes.extend_from_slice(&text[next..]);
        Way { seen: None, text: Text::new(bytes), places: at.len(), laid: false }
    };
    let mut ways: Vec<Way> = Vec::new();
    if found.len() <= MAX_PLACES {
        ways.extend(found.iter().map(|&at| replaced(&[at])));
    }
    if found.len() > 1 {
        let all: Vec<usize> = finder.find_iter(text).collect();
        ways.push(replaced(&all));
    }
    ways
}

/// Takes, again and again, the first claim that brings the text closer to `after`. Returns what stays unexplained.
fn greedy(before: &Text, after: &Text, edits: &[(usize, Edit)]) -> (Vec<Explained>, u64) {
    let mut found = Vec::new();
    let mut text = before.clone();
    let mut left = Diff::of(before, after).size();
    let mut open: Vec<&(usize, Edit)> = edits.iter().collect();
    let mut at = 0;
    let mut progress = false;
    while left > 0 && at < open.len() {
        match closest(&open[at].1, &text, after, left) {
            None => at += 1,
            Some((way, unexplained)) => {
                let same = |(_, other): &&(usize, Edit)| leads_to(other, &text, &way);
                let by: BTreeSet<usize> =
                    open.iter().copied().filter(same).map(|(suspect, _)| *suspect).collect();
                open.retain(|edit| !same(edit));
                if let Some(seen) = way.seen {
                    found.extend(led_to(&text, seen, &open));
                }
                let by = by.into_iter().collect();
                found.push(Explained { text: way.text.clone(), by, laid: way.laid });
                (text, left, progress) = (way.text, unexplained, true);
            }
        }
        if at == open.len() && progress {
            (at, progress) = (0, false);
        }
    }
    (found, left)
}

/// Explains by other claims how a text came to be that a call saw and nobody observed.
fn led_to(text: &Text, seen: Text, open: &[&(usize, Edit)]) -> Vec<Explained> {
    let others: Vec<(usize, Edit)> = open.iter().take(MAX_BEFORE).map(|&edit| edit.clone()).collect();
    let (mut found, left) = greedy(text, &seen, &others);
    if left > 0 || found.is_empty() {
        found.push(Explained::nobodys(seen));
    }
    found
}

/// Returns the way that leaves least unexplained, when no other way does as well and most of it was carried out: a claim
/// that merely shares a line with what somebody else did explains nothing.
fn closest(edit: &Edit, text: &Text, after: &Text, left: u64) -> Option<(Way, u64)> {
    let ways: Vec<(u64, Way)> =
        edit.ways(text).into_iter().map(|way| (way.unexplained(text, after), way)).collect();
    let least = ways.iter().map(|(rest, _)| *rest).min().filter(|rest| *rest < left)?;
    let mut best: Vec<&Way> = ways.iter().filter(|(rest, _)| *rest == least).map(|(_, way)| way).collect();
    best.sort_by_key(|way| std::cmp::Reverse(way.places));
    let first = *best.first()?;
    let clear = first.places > 1 || best.iter().all(|way| way.text == first.text);
    let own = Diff::of(first.seen.as_ref().unwrap_or(text), &first.text).size();
    let carried_out = (left - least).saturating_mul(CARRIED_OUT) >= own;
    let carried_out = carried_out && leaves_a_line(first.seen.as_ref().unwrap_or(text), &first.text, after);
    (clear && carried_out).then(|| (first.clone(), least))
}

/// Says whether a line that an edit adds stands in `after`, where it adds any: one that only shares what it removes with
/// somebody else's change was not carried out.
fn leaves_a_line(text: &Text, edited: &Text, after: &Text) -> bool {
    let count = |text: &Text| {
        let mut lines: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        text.lines().for_each(|line| *lines.entry(line.to_vec()).or_default() += 1);
        lines
    };
    let (old, new, stands) = (count(text), count(edited), count(after));
    let before = |line: &Vec<u8>| old.get(line).copied().unwrap_or(0);
    let mut added = new.iter().filter(|(line, times)| **times > before(line)).peekable();
    added.peek().is_none()
        || added.any(|(line, _)| stands.get(line).is_some_and(|times| *times > before(line)))
}

fn leads_to(edit: &Edit, text: &Text, way: &Way) -> bool {
    edit.ways(text).iter().any(|other| other.text == way.text)
}

/// Carries out every claim that can be placed, one after the other; good only when that ends in exactly `after`.
///
/// This finds the edits of which a later one covered an earlier one between two looks.
fn in_order(before: &Text, after: &Text, edits: &[(usize, Edit)]) -> Option<Vec<Explained>> {
    let mut found: Vec<Explained> = Vec::new();
    let mut text = before.clone();
    for (suspect, edit) in edits {
        let mut ways = edit.ways(&text);
        let Some(way) = ways.pop().filter(|way| way.text != text) else { continue };
        if !ways.is_empty() {
            return None;
        }
        let rivals = edits.iter().filter(|(other, rival)| other != suspect && leads_to(rival, &text, &way));
        if rivals.count() > 0 {
            return None;
        }
        found.extend(way.seen.map(Explained::nobodys));
        text = way.text.clone();
        found.push(Explained { text: way.text, by: vec![*suspect], laid: way.laid });
    }
    (text == *after).then_some(found)
}

/// Returns the claimed text as the file would hold it; `None` where only its digest is known.
fn kept(text: &ClaimText, eol: Option<Eol>) -> Option<Vec<u8>> {
    match text {
        ClaimText::Digest(_) => None,
        ClaimText::Whole(text) if eol == Some(Eol::Crlf) && !text.contains('\r') => {
            Some(Eol::Crlf.give(text.as_bytes()))
        }
        ClaimText::Whole(text) => Some(text.as_bytes().to_vec()),
    }
}

/// Returns a claimed whole text; a digest, or a final newline more or less, is read as `after` where that is it.
fn whole(text: &ClaimText, after: &Text, eol: Option<Eol>) -> Option<Vec<u8>> {
    if text.matches(after.bytes()) {
        return Some(after.bytes().to_vec());
    }
    let claimed = kept(text, eol)?;
    let body = |bytes: &[u8]| bytes.strip_suffix(b"\n").map_or(bytes.len(), <[u8]>::len);
    let same = claimed[..body(&claimed)] == after.bytes()[..body(after.bytes())] && !claimed.is_empty();
    Some(if same { after.bytes().to_vec() } else { claimed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::new(text.as_bytes())
    }

    fn claim(old: &str, new: &str) -> ClaimBody {
        ClaimBody::Diff { old: Some(ClaimText::new(old)), new: ClaimText::new(new) }
    }

    /// Explains and shows each virtual step as `text by suspects`.
    fn explained(before: &str, after: &str, claims: &[(usize, ClaimBody)]) -> Vec<(String, Vec<usize>)> {
        let claims: Vec<Claimed<'_>> =
            claims.iter().map(|(suspect, body)| Claimed { suspect: *suspect, body }).collect();
        explain(&text(before), &text(after), &claims)
            .into_iter()
            .map(|step| (String::from_utf8_lossy(step.text.bytes()).into_owned(), step.by))
            .collect()
    }

    fn step(text: &str, by: &[usize]) -> (String, Vec<usize>) {
        (text.to_owned(), by.to_vec())
    }

    #[test]
    fn a_claim_explains_only_the_lines_that_it_changes() {
        let found = explained("a\nb\nc\nd\n", "a\nB\nc\nD\n", &[(0, claim("b\nc\n", "B\nc\n"))]);
        assert_eq!(found, [step("a\nB\nc\nd\n", &[0])]);
    }

    #[test]
    fn a_fragment_may_begin_and_end_within_a_line() {
        let found = explained("let x = 1;\n", "let x = 2;\n", &[(0, claim("x = 1", "x = 2"))]);
        assert_eq!(found, [step("let x = 2;\n", &[0])]);
    }

    #[test]
    fn a_claim_that_was_not_carried_out_explains_nothing() {
        assert_eq!(explained("a\nb\n", "a\nc\n", &[(0, claim("a\n", "x\n"))]), []);
        assert_eq!(explained("a\nb\n", "a\nc\n", &[(0, claim("zz", "c"))]), []);
    }

    #[test]
    fn a_fragment_that_stands_in_several_places_is_placed_where_the_file_changed() {
        let found = explained("x\na\nx\n", "x\na\ny\n", &[(0, claim("x", "y"))]);
        assert_eq!(found, [step("x\na\ny\n", &[0])]);
        let all = explained("x\na\nx\n", "y\na\ny\n", &[(0, claim("x", "y"))]);
        assert_eq!(all, [step("y\na\ny\n", &[0])]);
    }

    #[test]
    fn two_calls_with_the_same_claim_share_it() {
        let found = explained("a\n", "b\n", &[(0, claim("a", "b")), (1, claim("a\n", "b\n"))]);
        assert_eq!(found, [step("b\n", &[0, 1])]);
    }

    #[test]
    fn edits_that_cover_each_other_are_followed_in_their_order() {
        let found = explained("a\n", "c\n", &[(0, claim("a", "b")), (1, claim("b", "c"))]);
        assert_eq!(found, [step("b\n", &[0]), step("c\n", &[1])]);
    }

    #[test]
    fn what_the_call_saw_and_nobody_observed_is_not_its_own() {
        let whole = ClaimBody::Whole { old: Some(ClaimText::new("A\nb\n")), new: ClaimText::new("A\nB\n") };
        let found = explained("a\nb\n", "A\nB\n", &[(0, whole)]);
        assert_eq!(found, [step("A\nb\n", &[]), step("A\nB\n", &[0])]);
    }

    #[test]
    fn line_endings_of_the_file_are_those_of_the_claim() {
        let found = explained("a\r\nb\r\n", "a\r\nB\r\n", &[(0, claim("a\nb\n", "a\nB\n"))]);
        assert_eq!(found, [step("a\r\nB\r\n", &[0])]);
    }

    #[test]
    fn a_digest_is_compared_with_the_whole_file_only() {
        let digest = |text: &str| ClaimText::digest(text);
        let whole = ClaimBody::Whole { old: None, new: digest("b\n") };
        assert_eq!(explained("a\n", "b\n", &[(0, whole.clone())]), [step("b\n", &[0])]);
        assert_eq!(explained("a\n", "c\n", &[(0, whole)]), []);
        let fragment = ClaimBody::Fragment { old: digest("a\n"), new: digest("b\n") };
        assert_eq!(explained("a\n", "b\n", &[(0, fragment)]), []);
    }
}
