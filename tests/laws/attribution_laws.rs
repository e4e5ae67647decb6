//! Law 9: attribution partitions the changed lines, and names nobody who did not write them.
//!
//! A play of calls and a person is laid on a clock, with the gaps that real agents show; every line that is written says
//! in its text who wrote it, so that each credit can be compared with the truth.

#![expect(clippy::print_stdout, reason = "the counts are the measure")]

use crate::chronicle::Chronicle;
use hunkgate::ledger::{AuthorLines, ClaimBody, ClaimText, Grade, Hunk, LineRange, Side, ToolKind, Why};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// How a call tells what it writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tells {
    Fragment,
    WholeFile,
    Nothing,
}

/// One writer of one play.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent draws of the generator")]
struct Act {
    tells: Tells,
    person: bool,
    file: usize,
    line: usize,
    insert: bool,
    /// When it is announced.
    at: i64,
    /// The write after the announcement; before it when negative.
    write: i64,
    /// The end after the write; `None` until the turn's end.
    end: Option<i64>,
    late_claim: bool,
    /// It claims and does not write.
    fails: bool,
    /// Whose call it is.
    session: &'static str,
}

fn act(span: i64) -> impl Strategy<Value = Act> {
    let tells =
        prop_oneof![2 => Just(Tells::Fragment), 1 => Just(Tells::WholeFile), 1 => Just(Tells::Nothing)];
    let gaps = (0..span, -150i64..1700, proptest::option::weighted(0.8, 0i64..4000));
    let odd = (any::<bool>(), proptest::bool::weighted(0.2), prop_oneof![3 => Just("s"), 1 => Just("t")]);
    (tells, proptest::bool::weighted(0.25), 0..2usize, 0..12usize, any::<bool>(), gaps, odd).prop_map(
        |(tells, person, file, line, insert, (at, write, end), (late_claim, fails, session))| Act {
            tells,
            person,
            file,
            line,
            insert,
            at: at.max(200),
            write,
            end,
            late_claim,
            fails: fails && !person && tells == Tells::Fragment,
            session,
        },
    )
}

/// What happens at one instant.
#[derive(Clone, Debug)]
enum Beat {
    Announce(usize),
    Write(usize),
    Claim(usize),
    Done(usize),
    Look,
}

const FILES: [&str; 2] = ["a", "b"];

struct Stage {
    told: Chronicle,
    acts: Vec<Act>,
    texts: BTreeMap<usize, (String, String)>,
    wholes: BTreeMap<usize, (String, String)>,
    /// Who removed each base line.
    removers: BTreeMap<String, usize>,
}

fn base(file: &str) -> String {
    (1..=12).map(|line| format!("base {file} {line}\n")).collect()
}

impl Stage {
    fn new(acts: Vec<Act>) -> Self {
        let files = FILES.map(|file| (file, base(file)));
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
        Self {
            told: Chronicle::new(&files),
            acts,
            texts: BTreeMap::new(),
            wholes: BTreeMap::new(),
            removers: BTreeMap::new(),
        }
    }

    /// Plays one turn with all acts.
    fn play(&mut self) {
        self.told.session("t");
        self.told.prompt("s").prompt("t");
        let mut beats = Vec::new();
        for (at, act) in self.acts.iter().enumerate() {
            let write = (act.at + act.write).max(5);
            beats.push((write, 1, Beat::Write(at)));
            // A look follows each change within the debounce of the watcher.
            beats.push((write + 20 + (write * 37) % 130, 4, Beat::Look));
            if act.person {
                continue;
            }
            beats.push((act.at, 0, Beat::Announce(at)));
            let end = act.end.map(|end| write.max(act.at) + end);
            let claim = if act.late_claim { end.unwrap_or(act.at) } else { act.at };
            beats.push((claim.max(write), 2, Beat::Claim(at)));
            beats.extend(end.map(|end| (end, 3, Beat::Done(at))));
            beats.extend(end.map(|end| (end + 2, 4, Beat::Look)));
        }
        beats.sort_by_key(|(at, order, _)| (*at, *order));
        let mut now = 1;
        for (at, _, beat) in beats {
            self.told.wait((at - now).max(0));
            now = now.max(at);
            if matches!(beat, Beat::Look) {
                now += 1;
            }
            self.beat(&beat);
        }
        self.told.wait(500).end("s").end("t");
    }

    fn beat(&mut self, beat: &Beat) {
        match beat {
            Beat::Look => {
                self.told.look(Why::Activity);
            }
            Beat::Announce(at) => {
                let kind =
                    if self.acts[*at].tells == Tells::Nothing { ToolKind::Execute } else { ToolKind::Edit };
                self.told.call(self.acts[*at].session, &name(*at), kind);
            }
            Beat::Done(at) => {
                self.told.done(self.acts[*at].session, &name(*at));
            }
            Beat::Write(at) => self.write(*at),
            Beat::Claim(at) => self.claim(*at),
        }
    }

    fn write(&mut self, at: usize) {
        let act = self.acts[at].clone();
        let file = FILES[act.file];
        let before = self.told.text(file).unwrap_or_default();
        let mut lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
        let line = act.line.min(lines.len() - 1);
        let old = lines[line].clone();
        let own =
            format!("{} wrote\n", if act.person { "person".to_owned() } else { name(at) } + &at.to_string());
        let new = if act.insert { old.clone() + &own } else { own };
        lines[line] = new.clone();
        let after = lines.concat();
        if !act.fails {
            self.told.write(file, &after);
            if !act.insert {
                self.removers.entry(old.clone()).or_insert(at);
            }
        }
        self.texts.insert(at, (old, new));
        self.wholes.insert(at, (before, after));
    }

    fn claim(&mut self, at: usize) {
        let file = FILES[self.acts[at].file];
        let texts = match self.acts[at].tells {
            Tells::Fragment => &self.texts[&at],
            Tells::WholeFile => &self.wholes[&at],
            Tells::Nothing => return,
        };
        let (old, new) = (Some(ClaimText::new(texts.0.clone())), ClaimText::new(texts.1.clone()));
        self.told.claim(self.acts[at].session, &name(at), file, ClaimBody::Diff { old, new });
    }
}

fn name(at: usize) -> String {
    format!("c{at}x")
}

/// Checks that the runs of a hunk cover each changed line of both sides once.
fn covered(hunk: &Hunk) -> Result<(), TestCaseError> {
    for (side, range) in [(Side::Before, hunk.base_range), (Side::After, hunk.current_range)] {
        let mut next = range.start;
        for run in hunk.author_lines.iter().filter(|run| run.side == side) {
            prop_assert_eq!(run.lines.start, next);
            prop_assert!(!run.lines.is_empty());
            next = run.lines.end;
        }
        prop_assert_eq!(next, range.end.max(range.start));
    }
    let counted: u32 = hunk.grades.values().sum();
    prop_assert_eq!(counted, hunk.base_range.len() + hunk.current_range.len());
    let (with, without): (Vec<_>, Vec<_>) =
        hunk.author_lines.iter().partition(|run| !run.credit.calls.is_empty());
    prop_assert_eq!(hunk.mixed, !with.is_empty() && !without.is_empty());
    for run in &hunk.author_lines {
        prop_assert_eq!(run.credit.grade.names_a_call(), !run.credit.calls.is_empty());
    }
    Ok(())
}

/// Returns each credited current line with the calls that are credited.
fn credited(hunk: &Hunk) -> Vec<(String, BTreeSet<String>, Grade)> {
    let after = String::from_utf8_lossy(&hunk.after).into_owned();
    let lines: Vec<&str> = after.split_inclusive('\n').collect();
    let runs = hunk.author_lines.iter().filter(|run| run.side == Side::After);
    runs.flat_map(|run| {
        let LineRange { start, end } = run.lines;
        let calls: BTreeSet<String> = run.credit.calls.iter().map(|key| key.call.to_string()).collect();
        let first = hunk.current_range.start;
        let grade = run.credit.grade;
        let rows = (start..end).map(|line| (lines[(line - first) as usize].to_owned(), calls.clone(), grade));
        rows.collect::<Vec<_>>()
    })
    .collect()
}

/// Returns each base line that is gone with the calls that are credited.
fn removed(hunk: &Hunk) -> Vec<(String, BTreeSet<String>, Grade)> {
    let runs = hunk.author_lines.iter().filter(|run| run.side == Side::Before);
    let author_lines = runs.map(|run| AuthorLines { side: Side::After, ..run.clone() }).collect();
    let mut turned = hunk.clone();
    (turned.after, turned.current_range, turned.author_lines) =
        (hunk.before.clone(), hunk.base_range, author_lines);
    credited(&turned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_changed_line_has_one_credit_and_calls_that_claim_are_never_credited_wrongly(
        acts in proptest::collection::vec(act(3000), 1..7),
    ) {
        let mut stage = Stage::new(acts);
        stage.play();
        for session in ["s", "t"] {
            for hunk in &stage.told.listing(session).hunks {
                covered(hunk)?;
                for (line, calls, grade) in credited(hunk).into_iter().chain(removed(hunk)) {
                    let writer = match stage.removers.get(&line) {
                        Some(&at) if stage.acts[at].person => "person".to_owned(),
                        Some(&at) => name(at),
                        None => line.clone(),
                    };
                    for call in calls {
                        let tells = stage.acts[call[1..call.len() - 1].parse::<usize>().unwrap()].tells;
                        let wrong = tells != Tells::Nothing && !writer.starts_with(&call);
                        prop_assert!(!wrong, "{line:?} by {writer} is credited to {call} as {}\n{:#?}", grade.as_str(), hunk.author_lines);
                    }
                }
            }
        }
    }

    #[test]
    fn calls_that_run_alone_own_all_that_they_wrote_and_a_person_between_turns_nothing(
        acts in proptest::collection::vec((0..12usize, 0..2usize, any::<bool>(), any::<bool>()), 1..8),
    ) {
        let mut stage = Stage::new(Vec::new());
        for (at, (line, file, insert, person)) in acts.iter().enumerate() {
            // A person's file is the second: what they touched once, a command may not be alone with.
            let file = if *person { 1 } else { *file };
            let tells = if file == 1 { Tells::Fragment } else { Tells::Nothing };
            stage.acts.push(Act { tells, person: *person, file, line: *line, insert: *insert, at: 0, write: 0, end: None, late_claim: false, fails: false, session: "s" });
            stage.told.wait(1000);
            if *person {
                stage.write(at);
                stage.told.wait(100).look(Why::Activity);
                continue;
            }
            stage.told.prompt("s").wait(400);
            stage.beat(&Beat::Announce(at));
            stage.told.wait(30);
            stage.write(at);
            stage.claim(at);
            stage.told.wait(30);
            stage.beat(&Beat::Done(at));
            stage.told.end("s");
        }
        for hunk in &stage.told.listing("s").hunks {
            covered(hunk)?;
            for (line, calls, _) in credited(hunk) {
                let owner = line.split(' ').next().unwrap_or_default();
                if owner == "base" {
                    continue;
                }
                match calls.first() {
                    None => prop_assert!(owner.starts_with("person"), "{line:?} is nobody's\n{:#?}", hunk.author_lines),
                    Some(call) => prop_assert!(calls.len() == 1 && owner.starts_with(call), "{line:?} is credited to {call}"),
                }
            }
        }
    }
}

/// Counts, over many plays, how lines were credited: by what their writer told, rightly or not, and the grade.
#[test]
fn nearly_all_lines_of_calls_that_tell_what_they_write_are_credited() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut counts: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for _ in 0..200 {
        let acts = proptest::collection::vec(act(3000), 1..7).new_tree(&mut runner).unwrap().current();
        let mut stage = Stage::new(acts);
        stage.play();
        let hunks = stage.told.listing("s").hunks;
        for (line, calls, grade) in hunks.iter().flat_map(credited).filter(|row| !row.0.starts_with("base")) {
            let writer = match line[1..].split('x').next().and_then(|at| at.parse::<usize>().ok()) {
                None => "person",
                Some(at) if stage.acts[at].session == "t" => "another session",
                Some(at) if stage.acts[at].tells == Tells::Nothing => "tells nothing",
                Some(_) => "tells",
            };
            let how = match calls.first() {
                None => "nobody",
                Some(call) if line.starts_with(call.as_str()) => "right",
                Some(_) => "wrong",
            };
            *counts.entry((writer, how, grade.as_str())).or_default() += 1;
        }
    }
    println!("{counts:#?}");
    let sum = |how: &str| -> u32 {
        counts
            .iter()
            .filter(|((writer, found, _), _)| *writer == "tells" && *found == how)
            .map(|(_, n)| n)
            .sum()
    };
    assert_eq!(sum("wrong"), 0, "{counts:#?}");
    assert!(sum("right") > 50 * sum("nobody"), "{counts:#?}");
}
