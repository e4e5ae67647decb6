//! What the engine answers, compared with the truth.

use super::op::Op;
use super::reason::{Reason, rivals};
use super::table::{Table, Verdict};
use super::truth::{Truth, Writer};
use hunkgate::base::SessionKey;
use hunkgate::ledger::{CallKey, Credit, Grade, Hunk, Side};
use std::collections::BTreeSet;

/// How long before its first message a line may be taken for a call's: what happens is looked at once a second.
const EARLY: u64 = 1_000;
/// How long after its end: looks are so late.
const LATE: u64 = 700;

/// What is known of a race when it is over.
pub(crate) struct Judge<'a> {
    pub(crate) seed: u64,
    pub(crate) ops: &'a [Op],
    pub(crate) truth: &'a Truth,
    pub(crate) session: &'a SessionKey,
}

/// One line, and who wrote it or took it away, and when.
struct Line<'a> {
    path: &'a str,
    text: &'a str,
    writer: Writer,
    at: u64,
    /// Those who did the same, or moved the file: they are right, too.
    too: BTreeSet<Writer>,
}

impl Judge<'_> {
    /// Counts the changed lines of a hunk.
    pub(crate) fn hunk(&self, hunk: &Hunk, table: &mut Table) {
        let path = String::from_utf8_lossy(hunk.path.as_bytes()).into_owned();
        for run in &hunk.author_lines {
            let (text, range) = match run.side {
                Side::Before => (&hunk.before, hunk.base_range),
                Side::After => (&hunk.after, hunk.current_range),
            };
            let text = String::from_utf8_lossy(text);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for number in run.lines.start..run.lines.end {
                let Some(text) = lines.get((number - range.start) as usize) else { continue };
                if let Some(line) = self.line((&path, text), run.side) {
                    self.count(&line, &run.credit, table);
                }
            }
        }
    }

    /// Says who wrote a line, or took it away; `None` where that cannot be said of one alone.
    fn line<'l>(&self, (path, text): (&'l str, &'l str), side: Side) -> Option<Line<'l>> {
        let mut too = self.truth.movers(path);
        let (writer, at) = match side {
            Side::Before => {
                too.extend(self.truth.removed_too(text));
                self.truth.remover(text)?
            }
            Side::After => self.truth.writer(text)?,
        };
        Some(Line { path, text, writer, at, too })
    }

    fn count(&self, line: &Line<'_>, credit: &Credit, table: &mut Table) {
        let row = match line.writer {
            Writer::Person => "person",
            Writer::Job(_) => "background job",
            Writer::Call(op) => self.ops[op].row(),
        };
        let calls: Vec<usize> = credit.calls.iter().filter_map(|key| self.named(key)).collect();
        if calls.is_empty() {
            let passed = credit.grade == Grade::Mediated;
            let grade = if passed { Grade::InTurn } else { credit.grade };
            return match line.writer {
                Writer::Call(op) => self.miss(op, line, (credit, grade, row), table),
                Writer::Person | Writer::Job(_) if passed => table.count(row, Verdict::Nobody, grade),
                Writer::Person | Writer::Job(_) => table.count(row, Verdict::Right, grade),
            };
        }
        let verdict = |&op: &usize| self.verdict(op, line);
        let Some(worst) = calls.iter().copied().max_by_key(verdict) else { return };
        let told = || self.told(worst, line, credit.grade);
        match self.verdict(worst, line) {
            Verdict::Right | Verdict::Nobody => {}
            Verdict::Beside => table.besides.push(told()),
            Verdict::Wrong => table.wrong(self.ops[worst].claims(), told()),
        }
        table.count(row, self.verdict(worst, line), credit.grade);
    }

    fn named(&self, key: &CallKey) -> Option<usize> {
        let turn = key.turn.map(|turn| turn.0);
        let id = key.call.to_string();
        let ours = key.session == *self.session;
        self.ops.iter().position(|op| ours && Some(op.turn) == turn && op.id == id)
    }

    /// Says what it is to credit a line to a call. A person or a job may be taken for a call that told no text in the time
    /// in which it ran, as far as looks can be late, and for one in the moment in which the client wrote for it.
    fn verdict(&self, op: usize, line: &Line<'_>) -> Verdict {
        let call = Writer::Call(op);
        if line.writer == call || line.too.contains(&call) {
            return Verdict::Right;
        }
        let own = &self.ops[op];
        let (from, to) = own.span;
        let ran = line.at + EARLY >= from && line.at <= to.saturating_add(LATE);
        let passes = own.passes.is_some_and(|(from, to)| (from..=to).contains(&line.at));
        match line.writer {
            Writer::Person | Writer::Job(_) if passes || ran && !own.claims() => Verdict::Beside,
            Writer::Person | Writer::Job(_) | Writer::Call(_) => Verdict::Wrong,
        }
    }

    /// Tells that a line is credited to a call that did not write it.
    fn told(&self, op: usize, line: &Line<'_>, grade: Grade) -> String {
        let own = &self.ops[op];
        let by = match line.writer {
            Writer::Call(by) => format!(" ({}, {:?})", self.ops[by].work.as_str(), self.ops[by].span),
            Writer::Job(_) | Writer::Person => String::new(),
        };
        format!(
            "seed {}: {}: {:?} of {:?}{by} at {} is credited to {op} ({}, {}, {:?}) as {}",
            self.seed,
            line.path,
            line.text,
            line.writer,
            line.at,
            own.id,
            own.work.as_str(),
            own.span,
            grade.as_str(),
        )
    }

    /// Counts a line of a call that is attributed to nobody, and why.
    fn miss(
        &self,
        op: usize,
        line: &Line<'_>,
        (credit, grade, row): (&Credit, Grade, &'static str),
        table: &mut Table,
    ) {
        table.count(row, Verdict::Nobody, grade);
        let stirred = self.truth.was_stirred(line.path, line.at);
        let reason = Reason::of(self.ops, op, (line.path, line.at), stirred);
        table.miss(row, reason);
        let own = &self.ops[op];
        let beside: Vec<String> = rivals(self.ops, op, (line.path, line.at))
            .into_iter()
            .map(|rival| {
                format!("{} ({}, heard {:?}, {:?})", rival.id, rival.work.as_str(), rival.heard, rival.span)
            })
            .collect();
        table.missed.push(format!(
            "seed {}: {}: {:?} at {} is {}, {}: {} ({row}, {:?}, {:?}, heard {:?}, {:?}) beside [{}] candidates [{}]",
            self.seed,
            line.path,
            line.text,
            line.at,
            grade.as_str(),
            reason.as_str(),
            own.id,
            own.first,
            own.input,
            own.heard,
            own.span,
            beside.join(", "),
            credit.candidates.iter().map(|key| key.call.to_string()).collect::<Vec<_>>().join(" "),
        ));
    }
}
