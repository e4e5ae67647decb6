//! Laws 10 and 11: decisions do what they say, and comments never land on other text.

use crate::chronicle::{Chronicle, path, person};
use crate::diff_laws::edited;
use hunkgate::base::CommentId;
use hunkgate::diff::{Span, Text};
use hunkgate::ledger::{Comment, Event, Hunk, LineRange, ToolKind, Verb};
use proptest::prelude::*;

/// A session in which a command made `after` of `before`.
fn changed(before: &[u8], after: &[u8]) -> Chronicle {
    let mut told = Chronicle::with(&[("f", before)]);
    told.prompt("s").wait(400).call("s", "sh", ToolKind::Execute).wait(20).write_bytes("f", after).wait(20);
    told.done("s", "sh").end("s");
    told
}

/// A text of lines that are all different, and what some edits made of it.
///
/// Where lines repeat, a diff of what is left after a reject may pair them otherwise, and hunks get other names.
fn distinct() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edit = (0..20usize, 0..3usize, 0..3usize);
    proptest::collection::vec(edit, 1..6).prop_map(|edits| {
        let base: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
        let mut lines = base.clone();
        for (number, (at, remove, insert)) in edits.into_iter().enumerate() {
            let start = at.min(lines.len());
            let end = (start + remove).min(lines.len());
            lines.splice(start..end, (0..insert).map(|line| format!("edit {number} {line}\n")));
        }
        (base.concat().into_bytes(), lines.concat().into_bytes())
    })
}

fn bytes(told: &Chronicle) -> Vec<u8> {
    told.text("f").unwrap_or_default().into_bytes()
}

fn reject_one(told: &mut Chronicle, command: &str, hunk: &Hunk) -> bool {
    let now = told.listing("s").hunks.into_iter().find(|now| now.id == hunk.id);
    let found = now.is_some();
    if let Some(hunk) = now {
        told.reject("s", command, &[hunk]);
    }
    found
}

fn order(keys: &[u32], hunks: &[Hunk]) -> Vec<Hunk> {
    let mut sorted: Vec<(u32, Hunk)> = keys.iter().copied().cycle().zip(hunks.iter().cloned()).collect();
    sorted.sort_by_key(|(key, _)| *key);
    sorted.into_iter().map(|(_, hunk)| hunk).collect()
}

fn lines_of(hunks: &[Hunk]) -> Vec<Hunk> {
    hunks.iter().filter(|hunk| hunk.entry.kind() == "text").cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn accepting_leaves_bytes_alone_and_rejecting_all_restores_the_base((before, after) in edited()) {
        let mut told = changed(&before, &after);
        let hunks = lines_of(&told.listing("s").hunks);
        told.decide("s", "a", Verb::Accept, &hunks);
        prop_assert_eq!(&bytes(&told), &after);
        let hunks = lines_of(&told.listing("s").hunks);
        told.reject("s", "r", &hunks);
        if told.listing("s").hunks.iter().all(|hunk| hunk.entry.kind() != "eol") {
            prop_assert_eq!(&bytes(&told), &before);
            prop_assert!(told.listing("s").hunks.is_empty());
        }
    }

    #[test]
    fn disjoint_rejects_commute_and_an_undo_gives_bytes_and_authors_back(
        (before, after) in distinct(),
        keys in proptest::collection::vec(any::<u32>(), 12),
        take in 1..5usize,
    ) {
        let mut told = changed(&before, &after);
        let hunks = lines_of(&told.listing("s").hunks);
        let some: Vec<Hunk> = hunks.iter().take(take).cloned().collect();
        let mut other = changed(&before, &after);
        for (at, hunk) in order(&keys, &some).iter().enumerate() {
            prop_assert!(reject_one(&mut told, &format!("r{at}"), hunk), "a hunk kept its name");
            prop_assert!(!reject_one(&mut told, &format!("again{at}"), hunk), "a rejected hunk is gone");
        }
        for (at, hunk) in some.iter().enumerate() {
            reject_one(&mut other, &format!("r{at}"), hunk);
        }
        prop_assert_eq!(bytes(&told), bytes(&other));
        for at in (0..some.len()).rev() {
            told.undo("s", &format!("u{at}"), &format!("r{at}"));
        }
        prop_assert_eq!(&bytes(&told), &after);
        let back = lines_of(&told.listing("s").hunks);
        prop_assert_eq!(back.len(), hunks.len());
        for (now, then) in back.iter().zip(&hunks) {
            prop_assert_eq!(&now.id, &then.id);
            prop_assert!(!now.mixed && now.calls == then.calls, "{:?}", now.author_lines);
        }
    }

    #[test]
    fn hunks_left_after_a_reject_keep_their_call((before, after) in edited(), pick in 0..6usize) {
        let mut told = changed(&before, &after);
        let hunks = lines_of(&told.listing("s").hunks);
        let Some(hunk) = hunks.get(pick) else { return Ok(()) };
        told.reject("s", "r", std::slice::from_ref(hunk));
        for hunk in lines_of(&told.listing("s").hunks) {
            prop_assert_eq!(hunk.calls.len(), 1, "{:?}", hunk.author_lines);
            prop_assert!(!hunk.mixed);
        }
    }

    #[test]
    fn a_comment_follows_its_lines_or_is_outdated((before, after) in edited(), start in 1..20u32, len in 1..4u32) {
        let text = Text::new(before.clone());
        if start > text.len() {
            return Ok(());
        }
        let lines = LineRange { start, end: (start + len).min(text.len() + 1) };
        let said = text.slice(Span::from(lines)).to_vec();
        let mut told = changed(&before, &before);
        let comment = Comment {
            id: CommentId::new("k"),
            root: told.root.clone(),
            path: path("f"),
            lines,
            anchor: told.state("f"),
            excerpt: String::from_utf8_lossy(&said).into_owned(),
            body: "why".to_owned(),
            author: person(),
        };
        told.on_session("s", Event::Commented(comment));
        prop_assert_eq!(told.listing("s").comments[0].lines, Some(lines));
        told.wait(500).write_bytes("f", &after).wait(100).look(hunkgate::ledger::Why::Activity);
        let view = told.listing("s").comments[0].clone();
        let now = Text::new(after);
        if let Some(lines) = view.lines {
            prop_assert_eq!(now.slice(Span::from(lines)), said.as_slice());
        }
        told.wait(500).write_bytes("f", &before).wait(100).look(hunkgate::ledger::Why::Activity);
        prop_assert_eq!(told.listing("s").comments[0].lines, Some(lines));
    }
}
