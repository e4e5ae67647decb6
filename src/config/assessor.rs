//! `[[assessor]]`: programs outside that are asked about requests, and what they may bring about.

use super::read::Reader;
use super::{ConfigError, DECISIONS, Decision, Mode};
use crate::base::Share;
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// How long a program may take unless the configuration says otherwise, in seconds.
const TIMEOUT_S: u64 = 20;
/// The longest that it may be given.
const LONGEST_S: u64 = 600;

/// A program outside that is asked about requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessor {
    /// Its name in records.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it may bring about: deny, allow, or both.
    pub may: BTreeSet<Decision>,
    /// How long it may take, in seconds.
    pub timeout_s: u64,
    /// The modes in which it is asked; all when empty.
    pub modes: BTreeSet<Mode>,
    /// The highest risk of what it may allow.
    pub max_risk: Option<RiskCap>,
    /// How sure it has to be to allow.
    pub min_confidence: Option<Share>,
    /// The SHA-256 that the program has to have.
    pub sha256: Option<String>,
    /// The SHA-256 that it had when the configuration was read.
    pub found: Option<String>,
}

/// The highest risk that something may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RiskCap {
    /// It leaves no trace.
    Reversible,
    /// It can be taken back from the record.
    Recoverable,
    /// It cannot be taken back.
    Irreversible,
}

const RISKS: [(&str, RiskCap); 3] = [
    ("reversible", RiskCap::Reversible),
    ("recoverable", RiskCap::Recoverable),
    ("irreversible", RiskCap::Irreversible),
];

impl Reader<'_> {
    /// `[[assessor]]`.
    pub(super) fn assessors(self, tables: &DeValue<'_>, at: usize) -> Result<Vec<Assessor>, ConfigError> {
        let wrong = |at| self.wrong(at, "assessor", "written as [[assessor]]");
        let mut found: Vec<Assessor> = Vec::new();
        for table in tables.as_array().ok_or_else(|| wrong(at))? {
            let at = table.span().start;
            let assessor = self.assessor(table.get_ref().as_table().ok_or_else(|| wrong(at))?, at)?;
            if found.iter().any(|known| known.id == assessor.id) {
                return Err(self.wrong(at, "assessor.id", "another one for each"));
            }
            found.push(assessor);
        }
        Ok(found)
    }

    fn assessor(self, fields: &DeTable<'_>, at: usize) -> Result<Assessor, ConfigError> {
        let mut assessor = Assessor {
            id: String::new(),
            command: Vec::new(),
            may: BTreeSet::from([Decision::Deny]),
            timeout_s: TIMEOUT_S,
            modes: BTreeSet::new(),
            max_risk: None,
            min_confidence: None,
            sha256: None,
            found: None,
        };
        for (name, value) in fields {
            self.assessor_field(&mut assessor, name.get_ref(), (name.span().start, value.get_ref()))?;
        }
        if assessor.id.is_empty() || assessor.command.first().is_none_or(String::is_empty) {
            return Err(self.wrong(at, "assessor", "given an id and a command"));
        }
        let limited = assessor.max_risk.is_some() && assessor.min_confidence.is_some();
        if assessor.may.contains(&Decision::Allow) && !limited {
            return Err(self.wrong(at, &assessor.id, "given max_risk and min_confidence to allow"));
        }
        Ok(assessor)
    }

    fn assessor_field(
        self,
        assessor: &mut Assessor,
        name: &str,
        (at, value): (usize, &DeValue<'_>),
    ) -> Result<(), ConfigError> {
        match name {
            "id" => assessor.id = self.string(name, at, value)?.to_owned(),
            "command" => {
                let wrong = || self.wrong(at, name, "a list of strings: a program and its arguments");
                let words = value.as_array().ok_or_else(wrong)?.iter();
                assessor.command = words
                    .map(|word| word.get_ref().as_str().map(str::to_owned).ok_or_else(wrong))
                    .collect::<Result<_, _>>()?;
            }
            "may" => {
                let wrong = || self.wrong(at, name, "a list of \"deny\" and \"allow\"");
                assessor.may.clear();
                for word in self.strings(name, at, value)? {
                    let known = DECISIONS.iter().find(|(known, _)| *known == word).map(|(_, it)| *it);
                    assessor.may.insert(known.filter(|it| *it != Decision::Ask).ok_or_else(wrong)?);
                }
            }
            "timeout_s" => {
                let seconds = self.number(name, at, value)?;
                if seconds == 0 || seconds > LONGEST_S {
                    return Err(self.wrong(at, name, "from 1 to 600 seconds"));
                }
                assessor.timeout_s = seconds;
            }
            "modes" => assessor.modes = self.modes_of(name, at, value)?,
            "max_risk" => assessor.max_risk = Some(self.word(name, at, value, &RISKS)?),
            "min_confidence" => {
                let text = value.as_float().map(|it| it.as_str().replace('_', ""));
                let text = text.or_else(|| value.as_integer().map(|it| it.as_str().to_owned()));
                let share = text.and_then(|text| Share::new(text.parse().ok()?));
                let wrong = || self.wrong(at, name, "a number from 0 to 1");
                assessor.min_confidence = Some(share.ok_or_else(wrong)?);
            }
            "sha256" => {
                let digest = self.string(name, at, value)?.to_ascii_lowercase();
                if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(self.wrong(at, name, "64 hex digits, as sha256sum writes them"));
                }
                assessor.sha256 = Some(digest);
            }
            _ => return Err(self.unknown(at, &format!("assessor.{name}"))),
        }
        Ok(())
    }
}
