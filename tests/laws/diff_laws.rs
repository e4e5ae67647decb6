//! Laws 7 and 8: diffs are sound, and compose.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "git is the oracle, and its absence is said"
)]

use hunkgate::diff::{Diff, LineMap, Text};
use proptest::prelude::*;

/// Texts of few distinct lines, so that lines repeat, with odd terminators and odd ends.
pub(crate) fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => "[a-d]{1,2}\n",
        2 => Just("}\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => "[a-c]\r\n",
        1 => Just("\r".to_owned()),
    ];
    let tail = prop_oneof![3 => Just(String::new()), 1 => "[a-d]{1,3}"];
    (proptest::collection::vec(line, 0..24), tail)
        .prop_map(|(lines, tail)| (lines.concat() + &tail).into_bytes())
}

/// A text and what some edits made of it.
pub(crate) fn edited() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edit = (0..30usize, 0..4usize, proptest::collection::vec("[a-e]{1,2}\n", 0..4));
    (text(), proptest::collection::vec(edit, 0..5)).prop_map(|(base, edits)| {
        let mut lines: Vec<Vec<u8>> = Text::new(base.clone()).lines().map(<[u8]>::to_vec).collect();
        for (at, remove, insert) in edits {
            let start = at.min(lines.len());
            let end = (start + remove).min(lines.len());
            lines.splice(start..end, insert.into_iter().map(String::into_bytes));
        }
        (base, lines.concat())
    })
}

fn both(a: &[u8], b: &[u8]) -> (Text, Text, Diff) {
    let (a, b) = (Text::new(a), Text::new(b));
    let diff = Diff::of(&a, &b);
    (a, b, diff)
}

fn map(a: &Text, b: &Text) -> LineMap {
    LineMap::new(&Diff::of(a, b), a.len(), b.len())
}

proptest! {
    #[test]
    fn a_diff_applied_gives_the_second_text_and_its_inverse_the_first((a, b) in prop_oneof![edited(), (text(), text())]) {
        let (a, b, diff) = both(&a, &b);
        prop_assert_eq!(Diff::apply(&diff.hunks, &a, &b), b.bytes());
        prop_assert_eq!(Diff::apply(&diff.inverse().hunks, &b, &a), a.bytes());
        prop_assert_eq!(diff.is_empty(), a == b);
    }

    #[test]
    fn hunks_are_apart_and_what_lies_between_is_equal((a, b) in edited()) {
        let (a, b, diff) = both(&a, &b);
        let (mut base, mut current) = (1, 1);
        for (at, hunk) in diff.hunks.iter().enumerate() {
            let gap = hunk.base.start - base;
            prop_assert_eq!(gap, hunk.current.start - current);
            prop_assert!(gap > 0 || at == 0, "two hunks touch");
            prop_assert!(!hunk.base.is_empty() || !hunk.current.is_empty());
            for line in 0..gap {
                prop_assert_eq!(a.line(base + line), b.line(current + line));
            }
            (base, current) = (hunk.base.end, hunk.current.end);
        }
        prop_assert_eq!(a.len() + 1 - base, b.len() + 1 - current);
    }

    #[test]
    fn any_hunks_left_out_leave_the_rest_applied((a, b) in edited(), keep in proptest::collection::vec(any::<bool>(), 24)) {
        let (a, b, diff) = both(&a, &b);
        let kept: Vec<_> = diff.hunks.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(hunk, _)| *hunk).collect();
        let partly = Text::new(Diff::apply(&kept, &a, &b));
        let left = diff.hunks.len() - kept.len();
        prop_assert!(Diff::of(&partly, &b).hunks.len() <= left.max(diff.hunks.len()));
        prop_assert_eq!(left == 0, partly == b);
    }

    #[test]
    fn positions_carry_forward_and_back((a, b) in edited()) {
        let (a, b, _) = both(&a, &b);
        let map = map(&a, &b);
        for line in 1..=a.len() {
            if let Some(to) = map.forward(line) {
                prop_assert_eq!(a.line(line), b.line(to));
                prop_assert_eq!(map.back(to), Some(line));
            }
        }
        prop_assert_eq!(map.hunks(), Diff::of(&a, &b).hunks);
    }

    #[test]
    fn a_composed_map_places_each_line_on_its_own_content((a, b) in edited(), (_, c) in edited()) {
        let (a, b, c) = (Text::new(a), Text::new(b), Text::new(c));
        let chain = map(&a, &b).then(&map(&b, &c));
        for line in 1..=a.len() {
            let stepped = map(&a, &b).forward(line).and_then(|line| map(&b, &c).forward(line));
            prop_assert_eq!(chain.forward(line), stepped);
            if let Some(to) = stepped {
                prop_assert_eq!(a.line(line), c.line(to));
            }
        }
        prop_assert_eq!(Diff::apply(&chain.hunks(), &a, &c), c.bytes());
    }

    #[test]
    fn composition_has_an_identity_and_is_associative((a, b) in edited(), c in text(), d in text()) {
        let texts = [&a, &b, &c, &d].map(|bytes| Text::new(bytes.clone()));
        let [ab, bc, cd] = [0, 1, 2].map(|at| map(&texts[at], &texts[at + 1]));
        prop_assert_eq!(ab.then(&bc).then(&cd), ab.then(&bc.then(&cd)));
        prop_assert_eq!(&LineMap::identity(texts[0].len()).then(&ab), &ab);
        prop_assert_eq!(&ab.then(&LineMap::identity(texts[1].len())), &ab);
    }
}

/// `git apply` takes our hunks as a patch and arrives at the second text.
#[test]
fn git_applies_our_hunks() {
    use proptest::strategy::ValueTree as _;
    use std::process::Command;
    let git = |dir: &std::path::Path, args: &[&str]| {
        Command::new("git")
            .args(args)
            .current_dir(dir)
            .env("HOME", dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
    };
    let dir = tempfile::tempdir().unwrap();
    if git(dir.path(), &["--version"]).is_err() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..40 {
        let (a, b) = edited().new_tree(&mut runner).unwrap().current();
        let (a, b, diff) = both(&a, &b);
        if diff.is_empty() || a.is_empty() || b.is_empty() {
            continue;
        }
        std::fs::write(dir.path().join("f"), a.bytes()).unwrap();
        std::fs::write(dir.path().join("patch"), patch(&a, &b, &diff)).unwrap();
        let applied = git(dir.path(), &["apply", "--unidiff-zero", "--whitespace=nowarn", "patch"]).unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b.bytes());
    }
}

fn patch(a: &Text, b: &Text, diff: &Diff) -> Vec<u8> {
    let mut patch = b"--- a/f\n+++ b/f\n".to_vec();
    for hunk in &diff.hunks {
        let at = |start: u32, len: u32| if len == 0 { start - 1 } else { start };
        let (old, new) = (hunk.base, hunk.current);
        let head = [at(old.start, old.len()), old.len(), at(new.start, new.len()), new.len()];
        patch.extend(format!("@@ -{},{} +{},{} @@\n", head[0], head[1], head[2], head[3]).into_bytes());
        for (sign, text, span) in [(b'-', a, old), (b'+', b, new)] {
            for line in span.lines().map(|line| text.line(line)) {
                patch.push(sign);
                patch.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    patch.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        }
    }
    patch
}
