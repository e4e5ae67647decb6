//! Who wrote every line: lines are never written twice, so that their text tells.

use std::collections::{BTreeMap, BTreeSet};

/// Somebody who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writer {
    /// A call, by its number.
    Call(usize),
    /// The background job that a call left behind.
    Job(usize),
    Person,
}

impl Writer {
    /// A new line of this writer, the `n`-th of all.
    pub(crate) fn line(self, n: u64) -> String {
        match self {
            Self::Call(op) => format!("call {op} wrote {n}\n"),
            Self::Job(op) => format!("job {op} wrote {n}\n"),
            Self::Person => format!("person wrote {n}\n"),
        }
    }

    fn of(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let who = words.next()?;
        let number = || words.clone().next().and_then(|word| word.parse().ok());
        match who {
            "call" => number().map(Self::Call),
            "job" => number().map(Self::Job),
            "person" => Some(Self::Person),
            _ => None,
        }
    }
}

/// What happened to every line, and when.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    removers: BTreeMap<String, (Writer, u64)>,
    /// Who else took a line away that was gone already, by the text that they had read.
    too: BTreeMap<String, BTreeSet<Writer>>,
    /// When each path was last written by somebody who is no call.
    stirred: BTreeMap<String, u64>,
    written: BTreeMap<String, u64>,
    /// Lines that came back: more than one wrote them.
    doubtful: BTreeSet<String>,
    /// Who moved each path.
    movers: BTreeMap<String, BTreeSet<Writer>>,
}

impl Truth {
    /// Takes in that a file's text was replaced.
    pub(crate) fn wrote(&mut self, by: Writer, [old, new]: [&str; 2], at: u64) {
        let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<BTreeSet<String>>();
        let (old, new) = (lines(old), lines(new));
        for line in old.difference(&new) {
            self.removers.insert(line.clone(), (by, at));
        }
        for line in new.difference(&old) {
            let fresh = Writer::of(line) == Some(by) && !self.written.contains_key(line);
            if !fresh {
                self.doubtful.insert(line.clone());
            }
            self.written.insert(line.clone(), at);
        }
    }

    /// Takes in what a whole text meant that was made of an older one: what it leaves out it takes away, whether or not
    /// somebody else has done so in the meantime.
    pub(crate) fn meant(&mut self, by: Writer, [read, new]: [&str; 2]) {
        let kept: BTreeSet<&str> = new.split_inclusive('\n').collect();
        for line in read.split_inclusive('\n').filter(|line| !kept.contains(line)) {
            self.too.entry(line.to_owned()).or_default().insert(by);
        }
    }

    /// Takes in that somebody who is no call wrote to a path.
    pub(crate) fn stir(&mut self, path: &str, at: u64) {
        self.stirred.entry(path.to_owned()).or_insert(at);
    }

    /// Says whether somebody who is no call wrote to a path no later than `at`.
    pub(crate) fn was_stirred(&self, path: &str, at: u64) -> bool {
        self.stirred.get(path).is_some_and(|first| *first <= at)
    }

    /// Who else took a line away.
    pub(crate) fn removed_too(&self, line: &str) -> BTreeSet<Writer> {
        self.too.get(line).cloned().unwrap_or_default()
    }

    pub(crate) fn moved(&mut self, by: Writer, from: &str, to: &str) {
        let before = self.movers.get(from).cloned().unwrap_or_default();
        for path in [from, to] {
            let movers = self.movers.entry(path.to_owned()).or_default();
            movers.extend(before.iter().copied());
            movers.insert(by);
        }
    }

    pub(crate) fn movers(&self, path: &str) -> BTreeSet<Writer> {
        self.movers.get(path).cloned().unwrap_or_default()
    }

    /// Who wrote a line that stands, and when; `None` where that cannot be said of one alone.
    pub(crate) fn writer(&self, line: &str) -> Option<(Writer, u64)> {
        let at = self.written.get(line).copied();
        let one = !self.doubtful.contains(line);
        Writer::of(line).zip(at).filter(|_| one)
    }

    /// Who removed a line of the base, and when.
    pub(crate) fn remover(&self, line: &str) -> Option<(Writer, u64)> {
        self.removers.get(line).copied().filter(|_| !self.doubtful.contains(line))
    }
}
