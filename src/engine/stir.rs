//! Looks for what happens beneath a root while nothing else asks for one: so that a person's twenty minutes of editing
//! are not inside the first call's step.

use crate::base::{RootId, Tick};
use crate::engine::step::Wait;
use crate::engine::{Action, Engine};
use crate::ledger::Why;
use std::collections::BTreeMap;

/// How long after the first sign of it the look is taken, in milliseconds.
const SETTLE_MS: u32 = 50;
/// How long after one such look the next may be taken, in milliseconds.
const SELDOM_MS: u32 = 1_000;

/// Which roots something happens beneath.
#[derive(Clone, Debug, Default)]
pub(super) struct Stirs(BTreeMap<RootId, Stir>);

#[derive(Clone, Copy, Debug, Default)]
struct Stir {
    /// When to look.
    due: Option<Tick>,
    /// When the last such look was over.
    last: Option<Tick>,
    /// Such a look is under way.
    looking: bool,
}

impl Stirs {
    /// Returns when the next look is due.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.0.values().filter(|stir| !stir.looking).filter_map(|stir| stir.due).min()
    }

    /// Notes that a look is over.
    pub(super) fn looked(&mut self, root: &RootId, now: Tick) {
        if let Some(stir) = self.0.get_mut(root) {
            (stir.last, stir.looking) = (Some(now), false);
            stir.due = stir.due.map(|due| due.max(now.plus_ms(SELDOM_MS)));
        }
    }

    fn stir(&mut self, root: RootId, now: Tick) {
        let stir = self.0.entry(root).or_default();
        let settled = now.plus_ms(SETTLE_MS);
        let due = stir.last.map_or(settled, |last| last.plus_ms(SELDOM_MS).max(settled));
        stir.due.get_or_insert(due);
    }

    /// Takes the roots that are due, but for those at which one still looks.
    fn take_due(&mut self, now: Tick) -> Vec<RootId> {
        let due = |stir: &Stir| stir.due.is_some_and(|due| due.mono <= now.mono) && !stir.looking;
        let mut roots = Vec::new();
        for (root, stir) in self.0.iter_mut().filter(|(_, stir)| due(stir)) {
            (stir.due, stir.looking) = (None, true);
            roots.push(root.clone());
        }
        roots
    }
}

impl Engine {
    /// Something happens beneath a root.
    pub(super) fn stirred(&mut self, root: RootId) {
        let tracked =
            |session: &crate::session::Session| session.roots().iter().any(|tracked| tracked.root == root);
        if self.sessions.iter().any(tracked) {
            self.stirs.stir(root, self.now);
        }
    }

    /// Takes the looks that are due. Nothing waits for them.
    pub(super) fn look_at_stirs(&mut self) {
        for root in self.stirs.take_due(self.now) {
            let ask = self.minter.mint_ask();
            self.waits.insert(ask, Wait::Stir(root.clone()));
            self.out.push(Action::Observe { ask, root, why: Why::Activity, named: Vec::new() });
        }
    }
}
