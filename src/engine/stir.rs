//! Looks for what happens beneath a root while nothing else asks for one: so that a person's twenty minutes of editing
//! are not inside the first call's step, and so that whoever watches sees a write while it is news.

use crate::base::{RootId, Tick};
use crate::engine::step::Wait;
use crate::engine::{Action, Engine};
use crate::ledger::Why;
use std::collections::BTreeMap;

/// How long after the first sign of it the look is taken, in milliseconds.
const SETTLE_MS: u32 = 50;
/// How long after one such look the next may be taken, in milliseconds.
const SELDOM_MS: u32 = 1_000;
/// As [`SETTLE_MS`], while somebody watches: a write is to be on the screen within 200 ms.
const WATCHED_SETTLE_MS: u32 = 20;
/// As [`SELDOM_MS`], while somebody watches.
const WATCHED_MS: u32 = 100;
/// How many times as long as a look took the next waits, while somebody watches: looks are a small share of the time.
const SHARE: u32 = 10;

/// Which roots something happens beneath, and how many watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Stirs {
    roots: BTreeMap<RootId, Stir>,
    watching: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stir {
    /// Since when something happens that was not looked at.
    since: Option<Tick>,
    /// The last such look.
    last: Option<Look>,
    /// Since when such a look is under way.
    looking: Option<Tick>,
}

/// A look that is over.
#[derive(Clone, Copy, Debug)]
struct Look {
    ended: Tick,
    took_ms: u32,
}

impl Stir {
    /// When to look.
    fn due(&self, is_watched: Watched) -> Option<Tick> {
        let since = self.since.filter(|_| self.looking.is_none())?;
        let settled = since.plus_ms(is_watched.settle());
        let rested = self.last.map(|last| last.ended.plus_ms(is_watched.pause(last.took_ms)));
        Some(rested.map_or(settled, |rested| rested.max(settled)))
    }
}

#[derive(Clone, Copy, Debug)]
enum Watched {
    Yes,
    No,
}

impl Watched {
    fn settle(self) -> u32 {
        match self {
            Self::Yes => WATCHED_SETTLE_MS,
            Self::No => SETTLE_MS,
        }
    }

    /// The pause after a look that took so long: never longer than where nobody watches.
    fn pause(self, took_ms: u32) -> u32 {
        match self {
            Self::Yes => took_ms.saturating_mul(SHARE).clamp(WATCHED_MS, SELDOM_MS),
            Self::No => SELDOM_MS,
        }
    }
}

impl Stirs {
    /// Returns when the next look is due.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.roots.values().filter_map(|stir| stir.due(self.watched())).min()
    }

    /// Notes that a look is over.
    pub(super) fn looked(&mut self, root: &RootId, now: Tick) {
        if let Some(stir) = self.roots.get_mut(root) {
            let began = stir.looking.take().unwrap_or(now);
            stir.last = Some(Look { ended: now, took_ms: now.ms_since(began) });
        }
    }

    /// Notes how many watch.
    pub(super) fn watched_by(&mut self, watching: usize) {
        self.watching = watching;
    }

    fn watched(&self) -> Watched {
        if self.watching == 0 { Watched::No } else { Watched::Yes }
    }

    fn stir(&mut self, root: RootId, now: Tick) {
        self.roots.entry(root).or_default().since.get_or_insert(now);
    }

    /// Takes the roots that are due, but for those at which one still looks.
    fn take_due(&mut self, now: Tick) -> Vec<RootId> {
        let watched = self.watched();
        let is_due = |stir: &Stir| stir.due(watched).is_some_and(|due| due.mono <= now.mono);
        let mut roots = Vec::new();
        for (root, stir) in self.roots.iter_mut().filter(|(_, stir)| is_due(stir)) {
            (stir.since, stir.looking) = (None, Some(now));
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
