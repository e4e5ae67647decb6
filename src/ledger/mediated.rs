//! Writes that passed through us as `fs/write_text_file`: what they credit, and which call had them made.

use crate::base::{CallId, RepoPath};
use crate::ledger::moment::Moment;
use crate::ledger::suspect::{FactIndex, Suspect};
use crate::ledger::{Bound, CallKey, ClaimBody, ClaimText, Credit, Grade, Kin, Purpose, ToolKind, Window};
use std::collections::BTreeSet;

/// What is known of who wrote to a path.
#[derive(Clone, Copy)]
pub(super) struct Passage<'a> {
    /// The facts.
    pub index: &'a FactIndex,
    /// Who started whom.
    pub kin: &'a Kin,
    /// The path.
    pub path: &'a RepoPath,
}

impl Passage<'_> {
    /// Says who wrote `after` when it is what passed through us in this turn.
    pub(super) fn mediated(&self, moment: &Moment, after: Option<&[u8]>) -> Option<Credit> {
        let after = after?;
        let writes = self.index.writes_to(self.path, moment);
        let window = writes
            .into_iter()
            .rev()
            .find(|window| written(window).is_some_and(|(_, text)| text.matches(after)))?;
        Some(Credit {
            grade: Grade::Mediated,
            calls: self.call_of(window).into_iter().collect(),
            candidates: Vec::new(),
            turn: window.turn.map(|turn| (window.session.clone(), turn)),
            vcs: false,
        })
    }

    /// Returns what passed through us from the calls of these suspects, by their positions.
    pub(super) fn passed(&self, moment: &Moment, suspects: &[Suspect]) -> Vec<(usize, ClaimBody)> {
        let claim = |window: &Window| {
            let (_, content) = written(window)?;
            let key = self.call_of(window)?;
            let suspect = suspects.iter().position(|suspect| suspect.key.as_ref() == Some(&key))?;
            Some((suspect, ClaimBody::Whole { old: None, new: content.clone() }))
        };
        let of_step = |window: &&Window| window.closed.is_none_or(|end| end.at >= moment.floor);
        self.index.writes_to(self.path, moment).into_iter().filter(of_step).filter_map(claim).collect()
    }

    /// Returns the positions of the suspects whose text for the path passed through us while they ran, before or after
    /// this step. What the editor made of a text while it saved it is the call's.
    pub(super) fn tellers(&self, moment: &Moment, suspects: &[Suspect]) -> BTreeSet<usize> {
        let of_step = |window: &&Window| {
            let after = moment.ctime.unwrap_or(moment.floor);
            let ended = window.closed.is_some_and(|end| end.at < after);
            window.lo == Bound::Hard && window.opened <= moment.latest && !ended
        };
        let of_call = |window: &&Window| {
            !of_step(window) && suspects.iter().any(|suspect| suspect.ran_at(window.opened))
        };
        let calls =
            self.index.all_writes_to(self.path).filter(of_call).flat_map(|window| self.may_be(window));
        calls
            .filter_map(|key| suspects.iter().position(|suspect| suspect.key.as_ref() == Some(&key)))
            .collect()
    }

    /// Returns the calls that may have had a write made: the one, or where that is not clear each that may be.
    fn may_be(&self, window: &Window) -> Vec<CallKey> {
        if let Some(call) = self.call_of(window) {
            return vec![call];
        }
        let may = |suspect: &Suspect| suspect.claims_path() || !self.index.has_claimed(suspect);
        self.open_at(window)
            .iter()
            .filter(|suspect| may(suspect))
            .filter_map(|suspect| suspect.key.clone())
            .collect()
    }

    /// Says which call had a write made, from all that is known by now: the one whose text it is, else the one that
    /// names the path, unless another that was open may yet turn out to have been it.
    fn call_of(&self, window: &Window) -> Option<CallKey> {
        let (recorded, content) = written(window)?;
        let open = self.open_at(window);
        let key = |call: &CallId| CallKey {
            session: window.session.clone(),
            turn: window.turn,
            call: call.clone(),
        };
        if let Some(known) = recorded.map(key).filter(|key| !self.index.claims_path(key, self.path)) {
            return Some(known);
        }
        let exact: Vec<&Suspect> = open.iter().filter(|suspect| self.wrote(suspect, content)).collect();
        if let [only] = exact.as_slice() {
            return only.key.clone();
        }
        let fitting: Vec<&Suspect> = open.iter().filter(|suspect| self.fits(suspect, content)).collect();
        let [only] = fitting.as_slice() else { return None };
        // Who has a write made has been heard of by then.
        let silent = |suspect: &Suspect| {
            suspect.kind.names_its_targets()
                && !self.index.has_claimed(suspect)
                && suspect.announced().is_some_and(|at| at <= window.opened)
        };
        if open.iter().any(silent) { None } else { only.key.clone() }
    }

    /// Returns the calls of the session that were open while a write passed.
    fn open_at(&self, window: &Window) -> Vec<Suspect> {
        let end = window.closed.map_or(window.opened, |end| end.at);
        let moment =
            Moment { floor: window.opened, earliest: window.opened, latest: end, ctime: None, tick: 0 };
        let (mut open, _) = self.index.suspects(self.path, &moment, self.kin);
        open.retain(|suspect| suspect.key.is_some() && suspect.session == window.session);
        open
    }

    /// Says whether a call told this very text.
    fn wrote(&self, suspect: &Suspect, content: &ClaimText) -> bool {
        suspect.claims.iter().any(|&number| match &self.index.claim(number).body {
            ClaimBody::Whole { new, .. } | ClaimBody::Diff { new, .. } => same(new, content),
            ClaimBody::Location | ClaimBody::Fragment { .. } | ClaimBody::Delete | ClaimBody::Move { .. } => {
                false
            }
        })
    }

    /// Says whether a call names the path and tells nothing that the text does not hold.
    fn fits(&self, suspect: &Suspect, content: &ClaimText) -> bool {
        let holds = |new: &ClaimText| match (content, new) {
            (ClaimText::Whole(text), ClaimText::Whole(part)) => text.contains(part.as_str()),
            (ClaimText::Digest(_), _) | (_, ClaimText::Digest(_)) => true,
        };
        // Who says that it reads and tells no text has nothing written.
        suspect.kind != ToolKind::Delete
            && !suspect.is_weak()
            && suspect.claims_path()
            && suspect.claims.iter().all(|&number| match &self.index.claim(number).body {
                ClaimBody::Fragment { new, .. }
                | ClaimBody::Whole { new, .. }
                | ClaimBody::Diff { new, .. } => holds(new),
                ClaimBody::Location => true,
                ClaimBody::Delete | ClaimBody::Move { .. } => false,
            })
    }
}

fn same(one: &ClaimText, other: &ClaimText) -> bool {
    match (one, other) {
        (ClaimText::Whole(text), other) | (other, ClaimText::Whole(text)) => other.matches(text.as_bytes()),
        (ClaimText::Digest(one), ClaimText::Digest(other)) => one == other,
    }
}

fn written(window: &Window) -> Option<(Option<&CallId>, &ClaimText)> {
    match &window.purpose {
        Purpose::FsWrite { call, content, path: _ } => Some((call.as_ref(), content)),
        Purpose::Turn
        | Purpose::Call(_)
        | Purpose::Terminal { .. }
        | Purpose::Review { .. }
        | Purpose::Background { .. } => None,
    }
}
