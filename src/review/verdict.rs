//! Whether a hunk may be put back, whole or in part: no byte that is not this session's is ever destroyed unasked.

use crate::base::SessionKey;
use crate::diff::{Span, Text};
use crate::ledger::{AuthorLines, Credit, Entry, Grade, Hunk, Side};
use std::collections::BTreeSet;

/// What a reject does to one hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The base stands again.
    Whole,
    /// These bytes stand in the place of its current lines: what is not ours stays exactly as it is.
    Partly(Vec<u8>),
    /// Nothing is done.
    Refused(String),
}

/// How sure it is that a changed line is this session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// A call of this session, or of a child of it.
    Own,
    /// Contested, or in turn: reverted only by force.
    Doubtful,
    /// A person's, another session's, or unknown: never reverted.
    Foreign,
}

/// Judges rejects of one session.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    /// The session and its children: whose lines may be rejected.
    pub(super) family: BTreeSet<SessionKey>,
    /// Whether doubtful lines are given up.
    pub(super) force: bool,
}

impl Judge {
    /// Judges one hunk or entry.
    pub(super) fn judge(&self, hunk: &Hunk) -> Verdict {
        if let Some(reason) = &hunk.locked {
            return Verdict::Refused(reason.clone());
        }
        match &hunk.entry {
            Entry::Outside => Verdict::Refused("outside every root: shown, never reverted".to_owned()),
            Entry::Summary { .. } => {
                Verdict::Refused("a summary of many paths: reject the files beneath it".to_owned())
            }
            Entry::Text => self.judge_lines(hunk),
            Entry::Binary
            | Entry::Mode { .. }
            | Entry::Symlink { .. }
            | Entry::Type { .. }
            | Entry::Rename { .. }
            | Entry::Empty
            | Entry::Eol => self.judge_entry(hunk),
        }
    }

    fn judge_entry(&self, hunk: &Hunk) -> Verdict {
        let mut standings: Vec<Standing> = hunk.grades.keys().map(|grade| by_grade(*grade)).collect();
        if standings.is_empty() {
            standings.push(by_grade(hunk.grade));
        }
        if !hunk.sessions.is_empty() {
            standings.push(Standing::Foreign);
        }
        let worst = standings.iter().copied().max().unwrap_or(Standing::Foreign);
        match worst {
            Standing::Own if !hunk.mixed => Verdict::Whole,
            Standing::Own => Verdict::Refused("mixed: not only this session's calls made it".to_owned()),
            Standing::Doubtful if self.force => Verdict::Whole,
            Standing::Doubtful => Verdict::Refused(doubt(hunk, 0)),
            Standing::Foreign if standings.contains(&Standing::Own) => {
                Verdict::Refused("mixed: not only this session's calls made it".to_owned())
            }
            Standing::Foreign => Verdict::Refused(foreign(hunk)),
        }
    }

    fn judge_lines(&self, hunk: &Hunk) -> Verdict {
        let after = self.lines(hunk, Side::After);
        let before = self.lines(hunk, Side::Before);
        let count = |wanted| after.iter().chain(&before).filter(|line| line.standing == wanted).count();
        let (own, doubtful, alien) =
            (count(Standing::Own), count(Standing::Doubtful), count(Standing::Foreign));
        if own == 0 && doubtful == 0 {
            return Verdict::Refused(foreign(hunk));
        }
        if own == 0 && !self.force {
            return Verdict::Refused(doubt(hunk, doubtful));
        }
        if alien == 0 && (doubtful == 0 || self.force) {
            return Verdict::Whole;
        }
        match self.keep_apart(hunk, &before, &after) {
            Some(text) => Verdict::Partly(text),
            None => Verdict::Refused(mixed(hunk, doubtful + alien)),
        }
    }

    /// Returns what stands in the place of the hunk when only what may be reverted is; `None` where that has no one reading.
    fn keep_apart(&self, hunk: &Hunk, before: &[Line<'_>], after: &[Line<'_>]) -> Option<Vec<u8>> {
        let restored: Vec<&[u8]> =
            before.iter().filter(|line| self.gives_up(line.standing)).map(|line| line.text).collect();
        let kept: Vec<bool> = after.iter().map(|line| !self.gives_up(line.standing)).collect();
        let removed = kept.iter().filter(|kept| !**kept).count();
        if restored.len() < before.len() && removed > restored.len() {
            // Something in the place of base lines that another took away: without it neither would stand there.
            return None;
        }
        let stays = after.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(line, _)| line.text);
        let stays: Vec<&[u8]> = stays.collect();
        let lines: Vec<&[u8]> = if restored.is_empty() || stays.is_empty() {
            if removed == 0 && restored.is_empty() {
                return None;
            }
            stays.into_iter().chain(restored).collect()
        } else if removed < restored.len() {
            return None;
        } else if kept.iter().skip(removed).all(|kept| *kept) {
            restored.into_iter().chain(stays).collect()
        } else if kept.iter().take(kept.len() - removed).all(|kept| *kept) {
            stays.into_iter().chain(restored).collect()
        } else {
            return None;
        };
        joined(hunk, &lines)
    }

    fn gives_up(&self, standing: Standing) -> bool {
        match standing {
            Standing::Own => true,
            Standing::Doubtful => self.force,
            Standing::Foreign => false,
        }
    }

    fn lines<'h>(&self, hunk: &'h Hunk, side: Side) -> Vec<Line<'h>> {
        let (bytes, range) = match side {
            Side::Before => (&hunk.restore, hunk.base_range),
            Side::After => (&hunk.after, hunk.current_range),
        };
        let numbers = range.start..;
        let standing = |number: u32| {
            let run = hunk.author_lines.iter().find(|run| run.side == side && holds(run, number));
            run.map_or(Standing::Foreign, |run| self.standing(&run.credit))
        };
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').zip(numbers);
        lines.map(|(text, number)| Line { text, standing: standing(number) }).collect()
    }

    fn standing(&self, credit: &Credit) -> Standing {
        let ours = |session: &SessionKey| self.family.contains(session);
        // What passed through us is its session's, whichever of its calls it was.
        let passed = credit.grade == Grade::Mediated && credit.calls.is_empty();
        let own = match &credit.turn {
            Some((session, _)) if passed => ours(session),
            _ => !credit.calls.is_empty() && credit.calls.iter().all(|call| ours(&call.session)),
        };
        match by_grade(credit.grade) {
            Standing::Own if own => Standing::Own,
            Standing::Own | Standing::Foreign => Standing::Foreign,
            Standing::Doubtful => Standing::Doubtful,
        }
    }
}

/// A changed line with its terminator, and how it stands.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    text: &'a [u8],
    standing: Standing,
}

fn holds(run: &AuthorLines, number: u32) -> bool {
    Span { start: run.lines.start, end: run.lines.end }.holds(number)
}

fn by_grade(grade: Grade) -> Standing {
    match grade {
        Grade::Mediated | Grade::Verified | Grade::Sole | Grade::Ordered => Standing::Own,
        Grade::Contested | Grade::InTurn => Standing::Doubtful,
        Grade::External | Grade::BaseUnknown => Standing::Foreign,
    }
}

/// Joins lines, unless one without a terminator would run into what follows it.
fn joined(hunk: &Hunk, lines: &[&[u8]]) -> Option<Vec<u8>> {
    let is_last = hunk.current.is_some_and(|current| hunk.current_bytes.end as u64 == current.size);
    let sound = |(at, line): (usize, &&[u8])| line.ends_with(b"\n") || (is_last && at + 1 == lines.len());
    lines.iter().enumerate().all(sound).then(|| lines.concat())
}

fn foreign(hunk: &Hunk) -> String {
    match hunk.sessions.first() {
        Some(other) => {
            format!("external: session {} of {} wrote it; reject it there", other.session_id, other.agent)
        }
        None if hunk.grade == Grade::BaseUnknown => "its base was read too late to know it".to_owned(),
        None => "external: no call of this session wrote it, so it is never reverted".to_owned(),
    }
}

fn doubt(hunk: &Hunk, lines: usize) -> String {
    let what = match lines {
        0 => "a change that may be somebody else's".to_owned(),
        lines => format!("{lines} changed lines that may be somebody else's"),
    };
    if hunk.candidates.is_empty() {
        return format!("in turn: no call is known to have made it; --force would destroy {what}");
    }
    let calls: Vec<&str> = hunk.candidates.iter().map(|row| row.tool_call_id.as_str()).collect();
    format!("contested between {}; --force would destroy {what}", calls.join(", "))
}

fn mixed(hunk: &Hunk, others: usize) -> String {
    let all = Text::new(hunk.before.clone()).len() + Text::new(hunk.after.clone()).len();
    format!(
        "mixed: {others} of {all} changed lines are not this session's, and the rest cannot be reverted around them"
    )
}
