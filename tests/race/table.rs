//! What came of many races: by kind of work and grade.

use super::reason::Reason;
use hunkgate::ledger::Grade;
use std::collections::BTreeMap;

/// How a line was credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The call that wrote it, on this evidence; for a person or a job: nobody.
    Right,
    /// A command, or a call that told no text, that ran while another wrote there, or another's change in the very
    /// moment in which the client wrote for the call: cannot be told apart.
    Beside,
    /// Another call.
    Wrong,
    /// No call.
    Nobody,
}

/// Lines by what their writer was, how they were credited and the grade.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    cells: BTreeMap<(&'static str, Verdict, Grade), u64>,
    reasons: BTreeMap<(&'static str, Reason), u64>,
    /// What is attributed to nobody, told.
    pub(crate) missed: Vec<String>,
    /// What is credited to one that ran beside, told.
    pub(crate) besides: Vec<String>,
    /// What is wrong, told: the seed, the line, who is credited.
    pub(crate) wrongs: Vec<String>,
    /// Wrong credits to calls that claim their paths.
    pub(crate) wrong_claims: u64,
    /// Wrong credits to commands and to calls that tell no text.
    pub(crate) wrong_others: u64,
    pub(crate) races: u64,
}

impl Table {
    /// The table of one race, still empty.
    pub(crate) fn one() -> Self {
        Self { races: 1, ..Self::default() }
    }

    pub(crate) fn count(&mut self, row: &'static str, verdict: Verdict, grade: Grade) {
        *self.cells.entry((row, verdict, grade)).or_default() += 1;
    }

    /// Counts a wrong credit, to a call that has told its text or to another.
    pub(crate) fn wrong(&mut self, claims: bool, told: String) {
        if claims {
            self.wrong_claims += 1;
        } else {
            self.wrong_others += 1;
        }
        self.wrongs.push(told);
    }

    /// Counts why a line is attributed to nobody.
    pub(crate) fn miss(&mut self, row: &'static str, reason: Reason) {
        *self.reasons.entry((row, reason)).or_default() += 1;
    }

    /// The lines that no evidence can attribute.
    pub(crate) fn irreducible(&self) -> u64 {
        self.reasons.iter().filter(|((_, reason), _)| reason.is_irreducible()).map(|(_, n)| n).sum()
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (cell, count) in other.reasons {
            *self.reasons.entry(cell).or_default() += count;
        }
        self.missed.extend(other.missed);
        self.besides.extend(other.besides);
        for (cell, count) in other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
        self.wrongs.extend(other.wrongs);
        self.wrong_claims += other.wrong_claims;
        self.wrong_others += other.wrong_others;
        self.races += other.races;
    }

    fn sum(&self, pick: impl Fn(&str, Verdict, Grade) -> bool) -> u64 {
        self.cells
            .iter()
            .filter(|((row, verdict, grade), _)| pick(row, *verdict, *grade))
            .map(|(_, n)| n)
            .sum()
    }

    /// The lines written by calls, and those of them that are credited rightly.
    pub(crate) fn of_calls(&self) -> (u64, u64) {
        let call = |row: &str| row != "person" && row != "background job";
        (self.sum(|row, _, _| call(row)), self.sum(|row, verdict, _| call(row) && verdict == Verdict::Right))
    }

    /// The same for calls that have told their text.
    pub(crate) fn of_claims(&self) -> (u64, u64) {
        let rows = ["client write", "edit, fragment", "edit, new file", "edit, whole file"];
        let claims = |row: &str| rows.contains(&row);
        let right = |row: &str, verdict: Verdict, _| claims(row) && verdict == Verdict::Right;
        (self.sum(|row, _, _| claims(row)), self.sum(right))
    }

    /// Lines credited to a command, or to a call that told no text, that was not alone.
    pub(crate) fn beside(&self) -> u64 {
        self.sum(|_, verdict, _| verdict == Verdict::Beside)
    }

    /// The table as a person reads it.
    pub(crate) fn told(&self, title: &str) -> String {
        let mut rows: Vec<&str> = self.cells.keys().map(|(row, _, _)| *row).collect();
        rows.dedup();
        let heads = [
            "mediated",
            "verified",
            "sole",
            "ordered",
            "WRONG",
            "beside",
            "contested",
            "in turn",
            "external",
        ];
        let mut told = format!("{title}: {} races\n{:<18}", self.races, "lines written by");
        for head in heads {
            told += &format!("{head:>10}");
        }
        told += "     right\n";
        for row in rows {
            let right = |grade: Grade| {
                self.sum(|of, verdict, at| of == row && verdict == Verdict::Right && at == grade)
            };
            let of = |wanted: Verdict| self.sum(|of, verdict, _| of == row && verdict == wanted);
            let none = |wanted: Grade| {
                self.sum(|of, verdict, at| {
                    of == row && !at.names_a_call() && at == wanted && verdict != Verdict::Wrong
                })
            };
            let cells = [
                right(Grade::Mediated),
                right(Grade::Verified),
                right(Grade::Sole),
                right(Grade::Ordered),
                of(Verdict::Wrong),
                of(Verdict::Beside),
                none(Grade::Contested),
                none(Grade::InTurn),
                none(Grade::External) + none(Grade::BaseUnknown),
            ];
            told += &format!("{row:<18}");
            for cell in cells {
                told += &format!("{cell:>10}");
            }
            let all = self.sum(|of, _, _| of == row);
            told += &format!("{:>9.2}%\n", 100.0 * of(Verdict::Right) as f64 / all.max(1) as f64);
        }
        told += &self.why();
        let (all, right) = self.of_calls();
        let (claims, claimed) = self.of_claims();
        let possible = all - self.irreducible();
        told += &format!(
            "lines of calls: {right} of {all} attributed ({:.2} %), irreducible {} ({:.2} % of the rest attributed); of calls that claim: {claimed} of {claims} ({:.2} %); wrong: {} to calls that claim, {} to others; beside a command: {}\n",
            100.0 * right as f64 / all.max(1) as f64,
            self.irreducible(),
            100.0 * right as f64 / possible.max(1) as f64,
            100.0 * claimed as f64 / claims.max(1) as f64,
            self.wrong_claims,
            self.wrong_others,
            self.beside(),
        );
        told
    }

    /// Why lines of calls are attributed to nobody.
    fn why(&self) -> String {
        let mut rows: Vec<&str> = self.reasons.keys().map(|(row, _)| *row).collect();
        rows.dedup();
        let mut told = format!("{:<18}", "to nobody, because");
        for reason in Reason::ALL {
            told += &format!("{:>10}", reason.as_str());
        }
        told += "\n";
        for row in rows {
            told += &format!("{row:<18}");
            for reason in Reason::ALL {
                told += &format!("{:>10}", self.reasons.get(&(row, reason)).copied().unwrap_or(0));
            }
            told += "\n";
        }
        told
    }
}
