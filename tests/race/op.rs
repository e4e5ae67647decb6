//! What the scripted agent does in one call, and how it tells of it.

use super::agents::Agent;
use super::dice::Dice;
use std::collections::BTreeSet;

/// What kind of work a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Replaces or adds lines, told as a fragment.
    Fragment,
    /// Writes a file as a whole, told as a whole.
    Whole,
    /// Creates a file, told as a whole.
    Create,
    /// Removes a file that it names.
    Delete,
    /// Edits a file of which it tells only the path.
    PathOnly,
    /// Edits a file and tells nothing.
    Silent,
    /// `fs/write_text_file`: the client writes.
    Client,
    /// A command that writes in several files, which its words do not name.
    Shell,
    /// A command whose words name the files that it writes.
    Spelled,
    /// A command that only reads, and can be seen to.
    Look,
    /// A call that only reads.
    Read,
}

impl Work {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fragment => "edit, fragment",
            Self::Whole => "edit, whole file",
            Self::Create => "edit, new file",
            Self::Delete => "delete",
            Self::PathOnly => "edit, path only",
            Self::Silent => "edit, untold",
            Self::Client => "client write",
            Self::Shell => "shell",
            Self::Spelled => "shell, spelled out",
            Self::Look => "shell, reads",
            Self::Read => "read",
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Fragment | Self::Whole | Self::Create | Self::PathOnly | Self::Silent | Self::Client => {
                "edit"
            }
            Self::Delete => "delete",
            Self::Shell | Self::Spelled | Self::Look => "execute",
            Self::Read => "read",
        }
    }
}

/// One thing that a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Remove(String),
    Move(String, String),
    MakeExecutable(String),
    Create(String, String),
    Change(String),
}

impl Deed {
    /// Returns it in the words of a shell.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Remove(file) => format!("rm -f {file}"),
            Self::Move(from, to) => format!("mv {from} {to}"),
            Self::MakeExecutable(file) => format!("chmod +x {file}"),
            Self::Create(file, text) => format!("cat > {file} <<'END'\n{text}END"),
            Self::Change(file) => format!("sed -i -f edits.sed {file}"),
        }
    }

    /// Returns the files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Move(from, to) => (from, Some(to)),
            Self::Remove(file) | Self::MakeExecutable(file) | Self::Create(file, _) | Self::Change(file) => {
                (file, None)
            }
        };
        std::iter::once(first).chain(second).map(String::as_str)
    }
}

/// When a call's message stands to its first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The call is announced, and writes later.
    Message,
    /// It writes, and is announced later.
    Write,
    /// Its permission is asked for; it writes after the answer.
    Permission,
}

/// When its input is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// With the announcement.
    Announced,
    /// In a message of its own, so many milliseconds before the write; negative: after it.
    Before(i64, i64),
    /// In a message of its own, with the write or up to 50 ms after it.
    WithWrite,
    /// In a message of its own, at any time up to 50 ms after the write.
    Later,
    /// With the end, where there is one.
    AtTheEnd,
}

/// Where the timing comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// Each race is one of the agents that were measured, behind a proxy as it was measured.
    Measured,
    /// The same agents with manners that none of them has, behind a proxy that is far slower than it was measured.
    Loose,
    /// Each call draws from all that was ever seen, and far more often from its worst.
    Hostile,
}

/// One call.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent remarks on one call")]
pub(crate) struct Op {
    pub(crate) work: Work,
    pub(crate) first: First,
    pub(crate) input: Input,
    pub(crate) id: String,
    pub(crate) turn: u32,
    /// From the first message to the first write, or the reverse.
    pub(crate) gap: u64,
    /// From the last write to the end; `None`: it never ends.
    pub(crate) end: Option<u64>,
    /// Times of a command's writes after its first.
    pub(crate) more: Vec<u64>,
    /// A background job that it starts writes so long after its end.
    pub(crate) job: Option<u64>,
    /// It has looked for what to write.
    pub(crate) decided: bool,
    /// What its words say that it does, once decided; the last first.
    pub(crate) script: Vec<Deed>,
    /// The files of which its words tell what becomes of them, once they were heard, or have come true.
    pub(crate) texts: BTreeSet<String>,
    /// What it claims, once decided: path, old and new text.
    pub(crate) told: Option<(String, Option<String>, String)>,
    /// From the announcement until the agent had the client's answer, for what the client writes.
    pub(crate) passes: Option<(u64, u64)>,
    /// What stood there when it decided what to write.
    pub(crate) read: Option<String>,
    /// When its first message came.
    pub(crate) heard: Option<u64>,
    /// It is announced as one that does not run yet.
    pub(crate) pending: bool,
    /// Whether a message named its path.
    pub(crate) named: bool,
    /// Whether a message told all that it tells.
    pub(crate) said: bool,
    /// Whether a message told what becomes of its path: the text, or that it is gone.
    pub(crate) texted: bool,
    /// It only reads, and a message showed that it does.
    pub(crate) proven: bool,
    /// The turn is cut short after it.
    pub(crate) cut: bool,
    pub(crate) failed: bool,
    /// When it could have begun and when it was over, in the race's time.
    pub(crate) span: (u64, u64),
}

impl Op {
    /// Says whether it is of an edit kind and has said what it writes where.
    pub(crate) fn claims(&self) -> bool {
        self.tells() && self.said
    }

    fn tells(&self) -> bool {
        match self.work {
            Work::Fragment | Work::Whole | Work::Create | Work::Delete | Work::Client => true,
            Work::PathOnly | Work::Silent | Work::Shell | Work::Spelled | Work::Look | Work::Read => false,
        }
    }

    /// The row of the table in which its lines are counted.
    pub(crate) fn row(&self) -> &'static str {
        if self.tells() && !self.said { "edit, never told" } else { self.work.as_str() }
    }

    /// Draws a call of any manners.
    pub(crate) fn hostile(dice: &mut Dice, work: Work, (id, turn): (String, u32)) -> Self {
        let first = match dice.within(0, 9) {
            0..=5 => First::Message,
            6..=7 if work != Work::Client => First::Write,
            8 if work != Work::Client => First::Permission,
            _ => First::Message,
        };
        let gap = match first {
            First::Message => dice.skewed(0, 1700),
            First::Write => dice.within(1, 150),
            First::Permission => dice.within(1, 75),
        };
        let input = match dice.within(0, 9) {
            0..=5 => Input::Announced,
            6..=7 => Input::Later,
            _ => Input::AtTheEnd,
        };
        let end = match dice.within(0, 19) {
            0..=1 => None,
            2 => Some(dice.within(100, 4000)),
            _ => Some(dice.skewed(1, 130)),
        };
        let pending = dice.percent(30) && (first == First::Message || gap <= 10);
        Self { first, input, gap, end, pending, ..Self::plain(dice, work, (id, turn)) }
    }

    /// Draws a call of a measured agent. `asks`: the person is asked first.
    pub(crate) fn measured(
        dice: &mut Dice,
        (agent, asks, draw): (&Agent, bool, Draw),
        work: Work,
        (id, turn): (String, u32),
    ) -> Self {
        let (from, to) =
            if matches!(work, Work::Shell | Work::Spelled | Work::Look) { agent.shell } else { agent.edit };
        let drawn = from + i64::try_from(dice.within(0, from.abs_diff(to))).unwrap_or(0);
        let (first, gap) = match agent.asks.filter(|_| asks && work != Work::Client) {
            Some((from, to)) => (First::Permission, dice.within(from, to)),
            None if drawn < 0 && work != Work::Client => (First::Write, drawn.unsigned_abs()),
            None => (First::Message, drawn.unsigned_abs()),
        };
        let cut = dice.percent(4);
        let end = if cut || draw == Draw::Loose && dice.percent(2) {
            None
        } else {
            Some(dice.within(agent.end.0, agent.end.1))
        };
        let pending = agent.pending;
        Self { first, input: agent.input, gap, end, cut, pending, ..Self::plain(dice, work, (id, turn)) }
    }

    fn plain(dice: &mut Dice, work: Work, (id, turn): (String, u32)) -> Self {
        let steps = if matches!(work, Work::Shell | Work::Spelled) { dice.within(0, 3) } else { 0 };
        Self {
            work,
            first: First::Message,
            input: Input::Announced,
            id,
            turn,
            gap: 0,
            end: None,
            more: (0..steps).map(|_| dice.skewed(1, 900)).collect(),
            job: None,
            decided: false,
            script: Vec::new(),
            texts: BTreeSet::new(),
            told: None,
            passes: None,
            read: None,
            heard: None,
            pending: false,
            named: false,
            said: false,
            texted: false,
            cut: false,
            proven: false,
            failed: false,
            span: (0, u64::MAX),
        }
    }
}
