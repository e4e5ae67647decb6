//! Why a line of a call is attributed to no call, told from the truth.

use super::op::{Op, Work};

/// Why a line that a call wrote carries no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Irreducible: its call told nothing of the path, and had not been heard of when it wrote.
    Early,
    /// Irreducible: its call told no text, and another that may write there was at work: by its word.
    Beside,
    /// Irreducible: its call told no text, and another was at work that says that it reads; nothing shows that it does.
    Reads,
    /// Irreducible: the same, where the other one was at work only because it never said that it had ended.
    Unended,
    /// Irreducible: its call told no text, and the path had been written with nothing open, or before the call.
    Stirred,
    /// Its call told the text.
    Told,
    /// Its call told no text and was alone.
    Alone,
}

impl Reason {
    /// Every reason, in the order of the table.
    pub(crate) const ALL: [Self; 7] =
        [Self::Early, Self::Beside, Self::Unended, Self::Reads, Self::Stirred, Self::Told, Self::Alone];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Beside => "beside",
            Self::Unended => "unended",
            Self::Reads => "reads",
            Self::Stirred => "stirred",
            Self::Told => "told",
            Self::Alone => "alone",
        }
    }

    /// Says whether no evidence could have told whose the line is.
    pub(crate) fn is_irreducible(self) -> bool {
        match self {
            Self::Early | Self::Beside | Self::Unended | Self::Reads | Self::Stirred => true,
            Self::Told | Self::Alone => false,
        }
    }

    /// Says why the line that `ops[writer]` wrote to `path` at `at` has no call.
    pub(crate) fn of(ops: &[Op], writer: usize, (path, at): (&str, u64), stirred: bool) -> Self {
        let own = &ops[writer];
        if own.texted || own.texts.contains(path) {
            return Self::Told;
        }
        if !own.names(path) && own.heard.is_none_or(|heard| at < heard) {
            return Self::Early;
        }
        let rivals = rivals(ops, writer, (path, at));
        let reads = |op: &Op| op.work == Work::Read;
        if rivals.iter().any(|op| op.end.is_some() && !reads(op)) {
            Self::Beside
        } else if rivals.iter().any(|op| !reads(op)) {
            Self::Unended
        } else if !rivals.is_empty() {
            Self::Reads
        } else if stirred {
            Self::Stirred
        } else {
            Self::Alone
        }
    }
}

/// Returns the calls that may have written to `path` at `at` beside `ops[writer]`, and did not show that they only read.
pub(crate) fn rivals<'a>(ops: &'a [Op], writer: usize, (path, at): (&str, u64)) -> Vec<&'a Op> {
    let others = ops.iter().enumerate().filter(|(other, op)| *other != writer && op.turn == ops[writer].turn);
    others.map(|(_, op)| op).filter(|op| !op.proven && op.may_have_written(path, at)).collect()
}

impl Op {
    /// Says whether any of its messages named the path.
    fn names(&self, path: &str) -> bool {
        let spells = || self.script.iter().any(|deed| deed.files().any(|file| file == path));
        self.named && (self.told.as_ref().is_some_and(|(file, _, _)| file == path) || spells())
    }

    /// Says whether it may have written there then, by what it said: it was heard of at most 250 ms later (50 where it did
    /// not run yet), had not said that it was over, can write, and names no other file.
    fn may_have_written(&self, path: &str, at: u64) -> bool {
        let late = if self.pending { 50 } else { 250 };
        let open = self.heard.is_some_and(|heard| heard <= at + late) && at <= self.span.1;
        let elsewhere = self.named && !self.names(path);
        open && (!elsewhere || matches!(self.work, Work::Read | Work::Spelled))
    }
}
