//! What the text of a claim says of a file that is seen: whether it has come about there.

use crate::diff::Text;
use crate::ledger::{ClaimBody, ClaimText};
use std::collections::BTreeSet;

/// Different lines, without what ends them.
type Lines<'a> = BTreeSet<&'a [u8]>;

impl ClaimBody {
    /// Says whether it tells an edit of which `text` holds nothing: no line that it adds, and every line that it takes away.
    /// One that does not tell what stood there before may have been read from anything.
    pub(super) fn is_yet_to_come(&self, text: &Text) -> bool {
        let Some((added, removed)) = self.changed_lines() else { return false };
        let stand = standing(text);
        !(added.is_empty() && removed.is_empty())
            && added.iter().all(|line| !stand.contains(line))
            && removed.iter().all(|line| stand.contains(line))
    }

    /// Says whether it tells an edit that adds lines, none of which stands in `text`.
    pub(super) fn left_nothing_in(&self, text: &Text) -> bool {
        let Some((added, _)) = self.changed_lines() else { return false };
        let stand = standing(text);
        !added.is_empty() && added.iter().all(|line| !stand.contains(line))
    }

    /// Returns the lines that an edit adds and those that it takes away, as it tells them; `None` where it does not tell both
    /// texts in full.
    fn changed_lines(&self) -> Option<(Lines<'_>, Lines<'_>)> {
        let (Self::Fragment { old: ClaimText::Whole(old), new: ClaimText::Whole(new) }
        | Self::Whole { old: Some(ClaimText::Whole(old)), new: ClaimText::Whole(new) }
        | Self::Diff { old: Some(ClaimText::Whole(old)), new: ClaimText::Whole(new) }) = self
        else {
            return None;
        };

        let (old, new) = (lines_of(old), lines_of(new));
        Some((new.difference(&old).copied().collect(), old.difference(&new).copied().collect()))
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

fn standing(text: &Text) -> Lines<'_> {
    text.lines().map(<[u8]>::trim_ascii_end).collect()
}

fn lines_of(text: &str) -> Lines<'_> {
    text.lines().map(|line| line.as_bytes().trim_ascii_end()).collect()
}
