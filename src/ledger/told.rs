//! What the text of a claim says of a file that is seen: whether it has come about there.

use crate::diff::{Diff, Text};
use crate::ledger::{ClaimBody, ClaimText};
use std::collections::{BTreeMap, BTreeSet};

/// Different lines, without what ends them.
type Lines<'a> = BTreeSet<&'a [u8]>;

impl ClaimBody {
    /// Says whether it tells an edit of which nothing came in the step from `before` to `after`: no line that it adds stands
    /// there, every line that it takes away does, and so does each place that it changes, as it was. What it adds may come
    /// in other words (a formatter, a person who changed what was asked for), but not without a trace at its place.
    /// One that does not tell what stood there before may have been read from anything.
    pub(super) fn is_yet_to_come(&self, before: &Text, after: &Text) -> bool {
        let (Some((added, removed)), Some((old, new))) = (self.changed_lines(), self.both_texts()) else {
            return false;
        };
        let stand = standing(after);
        !(added.is_empty() && removed.is_empty())
            && added.iter().all(|line| !stand.contains(line))
            && removed.iter().all(|line| stand.contains(line))
            && sites(old, new).iter().all(|site| site.is_untouched(before, after))
    }

    /// Says whether it tells an edit after which a text stands: no file is gone by it.
    pub(super) fn leaves_a_text(&self) -> bool {
        let text = |new: &ClaimText| match new {
            ClaimText::Whole(new) => !new.is_empty(),
            ClaimText::Digest(_) => true,
        };
        match self {
            Self::Fragment { old: _, new } | Self::Whole { old: _, new } | Self::Diff { old: _, new } => {
                text(new)
            }
            Self::Location | Self::Delete | Self::Move { .. } => false,
        }
    }

    /// Says whether it tells an edit that adds lines, none of which stands in `text`.
    pub(super) fn left_nothing_in(&self, text: &Text) -> bool {
        let Some((added, _)) = self.changed_lines() else { return false };
        let stand = standing(text);
        !added.is_empty() && added.iter().all(|line| !stand.contains(line))
    }

    /// Says whether all that it adds stands in `after`, and not all of it stood in `before`.
    pub(super) fn has_come(&self, before: &Text, after: &Text) -> bool {
        let added: Lines<'_> = match self {
            Self::Whole { old: None, new } | Self::Diff { old: None, new } => match new {
                ClaimText::Whole(new) => lines_of(new),
                ClaimText::Digest(_) => return new.matches(after.bytes()),
            },
            Self::Location
            | Self::Fragment { .. }
            | Self::Whole { .. }
            | Self::Diff { .. }
            | Self::Delete
            | Self::Move { .. } => self.changed_lines().map(|(added, _)| added).unwrap_or_default(),
        };
        let (stood, stand) = (standing(before), standing(after));
        added.iter().all(|line| stand.contains(line)) && added.iter().any(|line| !stood.contains(line))
    }

    /// Returns the lines that an edit adds and those that it takes away, as it tells them; `None` where it does not tell both
    /// texts in full.
    fn changed_lines(&self) -> Option<(Lines<'_>, Lines<'_>)> {
        let (old, new) = self.both_texts()?;
        let (old, new) = (lines_of(old), lines_of(new));
        Some((new.difference(&old).copied().collect(), old.difference(&new).copied().collect()))
    }

    fn both_texts(&self) -> Option<(&str, &str)> {
        match self {
            Self::Fragment { old: ClaimText::Whole(old), new: ClaimText::Whole(new) }
            | Self::Whole { old: Some(ClaimText::Whole(old)), new: ClaimText::Whole(new) }
            | Self::Diff { old: Some(ClaimText::Whole(old)), new: ClaimText::Whole(new) } => Some((old, new)),
            Self::Location
            | Self::Fragment { .. }
            | Self::Whole { .. }
            | Self::Diff { .. }
            | Self::Delete
            | Self::Move { .. } => None,
        }
    }

    /// Says whether it tells the text that `blind` tells, and over what, which `blind` does not.
    pub(super) fn tells_over(&self, blind: &Self) -> bool {
        fn texts(body: &ClaimBody) -> Option<(Option<&ClaimText>, &ClaimText)> {
            match body {
                ClaimBody::Whole { old, new } | ClaimBody::Diff { old, new } => Some((old.as_ref(), new)),
                ClaimBody::Location
                | ClaimBody::Fragment { .. }
                | ClaimBody::Delete
                | ClaimBody::Move { .. } => None,
            }
        }
        match (texts(self), texts(blind)) {
            (Some((Some(_), own)), Some((None, other))) => own == other,
            (_, _) => false,
        }
    }
}

/// A place that an edit changes: the lines that it takes away, between those that it leaves beside them.
struct Site {
    lines: Vec<Vec<u8>>,
    /// Its first line, which the edit leaves, may begin within a line of the file.
    begins_within: bool,
    /// Its last line, which the edit leaves, may end within a line of the file.
    ends_within: bool,
    /// Which of its lines the edit takes away.
    taken: std::ops::Range<usize>,
    /// It only adds, before the first line or after the last one that it knows: what stands next to that belongs to the place.
    edge: Option<Edge>,
}

#[derive(Clone, Copy)]
enum Edge {
    Before,
    After,
}

fn sites(old: &str, new: &str) -> Vec<Site> {
    let is_cut = !old.ends_with('\n');
    let text = |text: &str| {
        let ended: Vec<u8> = lines_in(text).flat_map(|line| [line, b"\n"].concat()).collect();
        Text::new(ended)
    };
    let (old, new) = (text(old), text(new));
    let lines: Vec<&[u8]> = old.lines().map(<[u8]>::trim_ascii_end).collect();
    let site = |hunk: &crate::diff::LineHunk| {
        let (start, end) = (hunk.base.start as usize - 1, hunk.base.end as usize - 1);
        let edge = match (start, end) {
            (start, end) if start < end => None,
            (0, _) => Some(Edge::Before),
            (_, end) if end >= lines.len() => Some(Edge::After),
            (_, _) => None,
        };
        let first = start.saturating_sub(1);
        let known = &lines[first..(end + 1).min(lines.len())];
        Site {
            taken: start - first..end - first,
            lines: known.iter().map(|line| line.to_vec()).collect(),
            begins_within: start <= 1 && (start == 1 || start == end),
            ends_within: is_cut && end + 1 >= lines.len() && (end + 1 == lines.len() || start == end),
            edge,
        }
    };
    Diff::of(&old, &new).hunks.iter().map(site).collect()
}

impl Site {
    /// Says whether it stands in `after`, and wherever it stood in `before`.
    fn is_untouched(&self, before: &Text, after: &Text) -> bool {
        if self.stands_once(before) && self.stands_once(after) {
            return true;
        }
        let (stood, stands) = (self.found(before), self.found(after));
        // Where nothing tells what stood next to it, something may have come in between.
        let known = self.edge.is_none() || !stood.is_empty();
        let still = |(next, times): (&Option<&[u8]>, &u32)| stands.get(next).is_some_and(|now| now >= times);
        known && !self.lines.is_empty() && !stands.is_empty() && stood.iter().all(still)
    }

    /// Says whether the lines that the edit takes away stand in a text, and only once.
    fn stands_once(&self, text: &Text) -> bool {
        let taken = &self.lines[self.taken.clone()];
        let lines: Vec<&[u8]> = text.lines().map(<[u8]>::trim_ascii_end).collect();
        let stands = |window: &&[&[u8]]| window.iter().zip(taken).all(|(line, own)| *line == own.as_slice());
        !taken.is_empty() && lines.windows(taken.len()).filter(stands).count() == 1
    }

    fn is(&self, window: &[&[u8]]) -> bool {
        let last = self.lines.len().saturating_sub(1);
        let is = |(at, (line, own)): (usize, (&&[u8], &Vec<u8>))| {
            *line == own.as_slice()
                || at == 0 && self.begins_within && line.ends_with(own)
                || at == last && self.ends_within && line.starts_with(own)
        };
        window.iter().zip(&self.lines).enumerate().all(is)
    }

    /// Counts where it stands in a text, by the line that belongs to it and is not known.
    fn found<'t>(&self, text: &'t Text) -> BTreeMap<Option<&'t [u8]>, u32> {
        let lines: Vec<&[u8]> = text.lines().map(<[u8]>::trim_ascii_end).collect();
        let mut found = BTreeMap::new();
        for (at, window) in lines.windows(self.lines.len().max(1)).enumerate() {
            if !self.is(window) {
                continue;
            }
            let next = match self.edge {
                None => None,
                Some(Edge::Before) => at.checked_sub(1).map(|before| lines[before]),
                Some(Edge::After) => lines.get(at + window.len()).copied(),
            };
            *found.entry(next).or_default() += 1;
        }
        found
    }
}

fn standing(text: &Text) -> Lines<'_> {
    text.lines().map(<[u8]>::trim_ascii_end).collect()
}

fn lines_of(text: &str) -> Lines<'_> {
    lines_in(text).collect()
}

fn lines_in(text: &str) -> impl Iterator<Item = &[u8]> {
    text.lines().map(|line| line.as_bytes().trim_ascii_end())
}
