//! `[[observe]]`: paths of which every access is recorded.

use super::read::Reader;
use super::{ConfigError, Written};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// Paths of which every access is recorded, whoever is asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observe {
    /// The file.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// Its name in records.
    pub id: String,
    /// Patterns, as rules about paths have them.
    pub paths: BTreeSet<String>,
    /// Which accesses; all when empty.
    pub access: BTreeSet<Access>,
}

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written, whole or in part.
    Write,
    /// It is deleted.
    Delete,
    /// It is moved, or something is moved there.
    Move,
}

const ACCESSES: [(&str, Access); 4] =
    [("read", Access::Read), ("write", Access::Write), ("delete", Access::Delete), ("move", Access::Move)];

impl Reader<'_> {
    /// `[[observe]]`.
    pub(super) fn observes(
        self,
        tables: &DeValue<'_>,
        at: usize,
        written: &mut Written,
    ) -> Result<(), ConfigError> {
        let wrong = |at| self.wrong(at, "observe", "written as [[observe]]");
        for table in tables.as_array().ok_or_else(|| wrong(at))? {
            let at = table.span().start;
            let observe = self.observe(table.get_ref().as_table().ok_or_else(|| wrong(at))?, at)?;
            if written.observes.iter().any(|known| known.id == observe.id) {
                return Err(self.wrong(at, "observe.id", "another one for each"));
            }
            written.observes.push(observe);
        }
        Ok(())
    }

    fn observe(self, fields: &DeTable<'_>, at: usize) -> Result<Observe, ConfigError> {
        let mut observe = Observe {
            file: self.file.to_owned(),
            line: self.line(at),
            id: String::new(),
            paths: BTreeSet::new(),
            access: BTreeSet::new(),
        };
        for (name, value) in fields {
            let (at, value, name) = (name.span().start, value.get_ref(), name.get_ref().as_ref());
            match name {
                "id" => observe.id = self.string(name, at, value)?.to_owned(),
                "paths" => observe.paths = self.strings(name, at, value)?,
                "access" => {
                    for word in self.strings(name, at, value)? {
                        let known = ACCESSES.iter().find(|(known, _)| *known == word);
                        let wanted = "a list of \"read\", \"write\", \"delete\", \"move\"";
                        observe.access.insert(known.ok_or_else(|| self.wrong(at, name, wanted))?.1);
                    }
                }
                _ => return Err(self.unknown(at, &format!("observe.{name}"))),
            }
        }
        if observe.id.is_empty() || observe.paths.is_empty() {
            return Err(self.wrong(at, "observe", "given an id and paths"));
        }
        Ok(observe)
    }
}
