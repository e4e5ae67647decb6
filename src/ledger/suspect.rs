//! Which calls could have written a change: windows found by time, claims found by path (ledger.md §2, §4).

use crate::base::{CallId, RepoPath, SessionKey, TurnNo, WallNs};
use crate::ledger::moment::{Moment, TICK_NS};
use crate::ledger::{
    Bound, CallFacts, CallKey, Chain, Claim, ClaimBody, Closing, Hi, Kin, Purpose, ToolKind, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How far before its first message a call may have written already.
const EARLY_GRACE_MS: i64 = 250;
/// Without time evidence: how long after a window's end the look that saw its last write may have begun.
const LATE_LOOK_MS: i64 = 2_000;

/// The windows and claims of one chain, arranged to be found.
#[derive(Clone, Debug, Default)]
pub(super) struct FactIndex {
    windows: Vec<Arc<Window>>,
    /// Windows of calls, terminals and background work, by the time at which they may have begun to write.
    slots: Vec<Slot>,
    /// A segment tree over `slots`: the latest end in each half.
    ends: Vec<i64>,
    turns: Vec<usize>,
    turn_named: BTreeMap<(SessionKey, Option<TurnNo>), usize>,
    reviews: Vec<usize>,
    background: Vec<usize>,
    calls: BTreeMap<CallKey, usize>,
    written: BTreeMap<RepoPath, Vec<usize>>,
    claims: Vec<Arc<Claim>>,
    claims_on: BTreeMap<RepoPath, Vec<usize>>,
    claimants: BTreeMap<CallKey, Vec<usize>>,
    /// The session that started each, and the call where it is known.
    started: BTreeMap<SessionKey, (SessionKey, Option<CallId>)>,
    /// Calls that contained another.
    delegating: BTreeSet<(SessionKey, CallId)>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    lo: i64,
    hi: i64,
    window: usize,
}

/// A call, or something of a session without a call, that could have written a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    /// The call; `None` for a terminal or background work whose call is not known.
    pub key: Option<CallKey>,
    /// The session.
    pub session: SessionKey,
    /// Its turn.
    pub turn: Option<TurnNo>,
    /// What it does, by the agent's word.
    pub kind: ToolKind,
    /// Its windows.
    pub spans: Vec<Opening>,
    /// Its claims on the path.
    pub claims: Vec<usize>,
}

/// One window of a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    /// When it was received, or its barrier passed.
    pub opened: WallNs,
    /// When it may have begun to write: early grace included.
    pub lo: WallNs,
    /// When it ended; `None` while it is open.
    pub hi: Option<WallNs>,
    /// Nobody saw it end.
    pub lost: bool,
}

impl FactIndex {
    /// Takes in what a chain has learned since the last time.
    pub(super) fn sync(&mut self, chain: &Chain) {
        let same = self.windows.len() == chain.shared_windows().len()
            && self
                .windows
                .iter()
                .zip(chain.shared_windows())
                .all(|(ours, theirs)| Arc::ptr_eq(ours, theirs));
        let started = chain.members().values();
        let started: BTreeMap<_, _> =
            started.filter_map(|member| Some((member.key.clone(), member.parent.clone()?))).collect();
        if !same || started != self.started {
            self.started = started;
            self.windows = chain.shared_windows().cloned().collect();
            self.arrange();
        }
        let known = self.claims.len();
        let claims = chain.shared_claims();
        if claims.len() < known || claims.iter().zip(&self.claims).any(|(a, b)| !Arc::ptr_eq(a, b)) {
            self.claims.clear();
            self.claims_on.clear();
            self.claimants.clear();
        }
        for claim in &claims[self.claims.len()..] {
            self.take_claim(claim);
        }
    }

    /// Returns what is known of a call.
    pub(super) fn call(&self, key: &CallKey) -> Option<&CallFacts> {
        match &self.windows.get(*self.calls.get(key)?)?.purpose {
            Purpose::Call(facts) => Some(facts),
            Purpose::Turn
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. }
            | Purpose::Background { .. } => None,
        }
    }

    /// Returns a claim by its number.
    pub(super) fn claim(&self, number: usize) -> &Claim {
        &self.claims[number]
    }

    /// Says whether a suspect named any path at all.
    pub(super) fn has_claimed(&self, suspect: &Suspect) -> bool {
        suspect.key.as_ref().is_some_and(|key| self.claimants.contains_key(key))
    }

    /// Says whether a call named `path`.
    pub(super) fn claims_path(&self, key: &CallKey, path: &RepoPath) -> bool {
        !self.claims_of(key, path).is_empty()
    }

    /// Returns every write to `path` that passed through us.
    pub(super) fn all_writes_to(&self, path: &RepoPath) -> impl Iterator<Item = &Window> {
        self.written.get(path).into_iter().flatten().map(|&at| self.windows[at].as_ref())
    }

    /// Returns those that could have written to `path` at `moment`: containers yield to their children.
    pub(super) fn suspects(&self, path: &RepoPath, moment: &Moment, kin: &Kin) -> Vec<Suspect> {
        let mut met = Vec::new();
        self.meet(moment.floor, moment.latest, &mut met);
        let windows: Vec<&Window> = met.iter().map(|&at| self.windows[at].as_ref()).collect();
        let containers = containers(&windows, kin);
        let mut suspects: BTreeMap<(SessionKey, Option<TurnNo>, Option<CallId>), Suspect> = BTreeMap::new();
        for (&at, window) in met.iter().zip(&windows) {
            let Some((call, kind)) = writer(window) else { continue };
            if call.is_some_and(|call| containers.contains(&(&window.session, call))) {
                continue;
            }
            let key = call.map(|call| key(window, call));
            let id = (window.session.clone(), window.turn, call.cloned());
            let suspect = suspects.entry(id).or_insert_with(|| Suspect {
                claims: key.as_ref().map(|key| self.claims_of(key, path)).unwrap_or_default(),
                key,
                session: window.session.clone(),
                turn: window.turn,
                kind: ToolKind::Other,
                spans: Vec::new(),
            });
            if let Some(kind) = kind {
                let delegates = call.is_some_and(|call| self.delegates(&window.session, call));
                // Whoever has others work does not write itself; a command that started an agent may.
                suspect.kind = if delegates && kind != ToolKind::Execute { ToolKind::Think } else { kind };
            }
            suspect.spans.push(self.opening(at));
        }
        suspects.into_values().filter(|suspect| !self.names_only_others(suspect)).collect()
    }

    /// Returns the turn of one of `family`, else of any session, that runs at `moment`. Nobody knows what a turn did that
    /// was lost before the look.
    pub(super) fn turn_at(
        &self,
        (moment, looked): (&Moment, WallNs),
        family: &BTreeSet<SessionKey>,
    ) -> Option<(SessionKey, Option<TurnNo>)> {
        let covers = |end: &Closing| end.at >= moment.earliest && (end.hi != Hi::Lost || end.at >= looked);
        let runs =
            |window: &&Window| window.opened <= moment.latest && window.closed.as_ref().is_none_or(covers);
        let running: Vec<&Window> =
            self.turns.iter().map(|&at| self.windows[at].as_ref()).filter(runs).collect();
        let ours = running.iter().rev().find(|window| family.contains(&window.session));
        ours.or(running.last()).map(|window| (window.session.clone(), window.turn))
    }

    /// Returns the reviews that run at `moment`.
    pub(super) fn reviews_at(
        &self,
        moment: &Moment,
    ) -> impl Iterator<Item = (&Window, &crate::base::CommandId)> {
        let (floor, latest) = (moment.floor, moment.latest);
        self.reviews.iter().filter_map(move |&at| {
            let window = self.windows[at].as_ref();
            let meets = window.opened <= latest && window.closed.is_none_or(|end| end.at >= floor);
            match &window.purpose {
                Purpose::Review { command } if meets => Some((window, command)),
                Purpose::Review { .. }
                | Purpose::Turn
                | Purpose::Call(_)
                | Purpose::FsWrite { .. }
                | Purpose::Terminal { .. }
                | Purpose::Background { .. } => None,
            }
        })
    }

    /// Returns the writes to `path` that passed through us no later than `moment` and in a turn that it falls into.
    pub(super) fn writes_to(&self, path: &RepoPath, moment: &Moment) -> Vec<&Window> {
        let of_path = self.written.get(path).map(Vec::as_slice).unwrap_or_default();
        let near = |window: &&Window| {
            let end = self.turn_end(window).or(window.closed.map(|end| end.at.plus_ms(LATE_LOOK_MS)));
            window.opened <= moment.latest && end.is_none_or(|end| end >= moment.earliest)
        };
        of_path.iter().map(|&at| self.windows[at].as_ref()).filter(near).collect()
    }

    /// Returns the calls of a session that reported background work before `moment` and are closed.
    pub(super) fn background_before(&self, moment: &Moment) -> Vec<CallKey> {
        let ended = |window: &&Window| {
            window.opened <= moment.latest && window.closed.is_some_and(|end| end.at < moment.earliest)
        };
        let row = |window: &Window| match &window.purpose {
            Purpose::Background { call } => call.as_ref().map(|call| key(window, call)),
            Purpose::Turn
            | Purpose::Call(_)
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. } => None,
        };
        let calls: BTreeSet<CallKey> = self
            .background
            .iter()
            .map(|&at| self.windows[at].as_ref())
            .filter(ended)
            .filter_map(row)
            .collect();
        calls.into_iter().collect()
    }

    fn take_claim(&mut self, claim: &Arc<Claim>) {
        let number = self.claims.len();
        self.claims.push(claim.clone());
        self.claims_on.entry(claim.path.clone()).or_default().push(number);
        if let ClaimBody::Move { to } = &claim.body {
            self.claims_on.entry(to.clone()).or_default().push(number);
        }
        let key = CallKey { session: claim.session.clone(), turn: claim.turn, call: claim.call.clone() };
        self.claimants.entry(key).or_default().push(number);
    }

    fn claims_of(&self, key: &CallKey, path: &RepoPath) -> Vec<usize> {
        let on = self.claims_on.get(path).map(Vec::as_slice).unwrap_or_default();
        let theirs = |&&number: &&usize| {
            let claim = &self.claims[number];
            claim.call == key.call && claim.turn == key.turn && claim.session == key.session
        };
        on.iter().filter(theirs).copied().collect()
    }

    /// Says whether a call that names its targets names others and not this path: it did not write here.
    fn names_only_others(&self, suspect: &Suspect) -> bool {
        let Some(claims) = suspect.key.as_ref().and_then(|key| self.claimants.get(key)) else { return false };
        let complete = suspect.spans.iter().all(|span| span.hi.is_some())
            || claims.iter().any(|&number| self.claims[number].body.gives_text());
        suspect.kind.names_its_targets() && suspect.claims.is_empty() && complete
    }

    fn opening(&self, at: usize) -> Opening {
        let window = self.windows[at].as_ref();
        let closed = window.closed;
        Opening {
            opened: window.opened,
            lo: self.may_write_from(window),
            hi: closed.map(|closing| closing.at),
            lost: closed.is_some_and(|closing| closing.hi == Hi::Lost),
        }
    }

    fn may_write_from(&self, window: &Window) -> WallNs {
        match window.lo {
            Bound::Hard => window.opened,
            Bound::Soft => {
                let graced = window.opened.plus_ms(-EARLY_GRACE_MS);
                self.turn_of(window).map_or(graced, |turn| graced.max(turn.opened.min(window.opened)))
            }
        }
    }

    fn turn_of(&self, window: &Window) -> Option<&Window> {
        window.turn?;
        let named = |session: &SessionKey| self.turn_named.get(&(session.clone(), window.turn));
        let above = || named(&self.started.get(&window.session)?.0);
        self.windows.get(*named(&window.session).or_else(above)?).map(Arc::as_ref)
    }

    fn delegates(&self, session: &SessionKey, call: &CallId) -> bool {
        self.delegating.contains(&(session.clone(), call.clone()))
    }

    fn turn_end(&self, window: &Window) -> Option<WallNs> {
        self.turn_of(window).map(|turn| turn.closed.map_or(WallNs(i64::MAX), |closing| closing.at))
    }

    fn arrange(&mut self) {
        let (mut turns, mut reviews, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        let mut background = Vec::new();
        let mut written: BTreeMap<RepoPath, Vec<usize>> = BTreeMap::new();
        for (at, window) in self.windows.iter().enumerate() {
            match &window.purpose {
                Purpose::Turn => turns.push(at),
                Purpose::Review { .. } => reviews.push(at),
                Purpose::FsWrite { path, .. } => written.entry(path.clone()).or_default().push(at),
                Purpose::Background { .. } => {
                    background.push(at);
                    slots.push(at);
                }
                Purpose::Call(_) | Purpose::Terminal { .. } => slots.push(at),
            }
        }
        let calls = self.windows.iter().enumerate().filter_map(|(at, window)| match &window.purpose {
            Purpose::Call(facts) => Some((key(window, &facts.call), at)),
            Purpose::Turn
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. }
            | Purpose::Background { .. } => None,
        });
        self.calls = calls.collect();
        let starters =
            self.started.values().filter_map(|(session, call)| Some((session.clone(), call.clone()?)));
        let named = self.windows.iter().flat_map(|window| {
            let above = self.started.get(&window.session).map(|(session, _)| session);
            let sessions = above.into_iter().chain([&window.session]);
            sessions.filter_map(|session| Some((session.clone(), window.parent.clone()?)))
        });
        self.delegating = named.chain(starters).collect();
        let named = |&at: &usize| ((self.windows[at].session.clone(), self.windows[at].turn), at);
        self.turn_named = turns.iter().map(named).collect();
        (self.turns, self.reviews, self.background, self.written) = (turns, reviews, background, written);
        self.slots = slots.into_iter().map(|at| self.slot(at)).collect();
        self.slots.sort_by_key(|slot| slot.lo);
        self.ends = tree_of(&self.slots);
    }

    fn slot(&self, at: usize) -> Slot {
        let window = self.windows[at].as_ref();
        let hi = window.closed.map_or(i64::MAX, |closing| closing.at.0);
        Slot { lo: self.may_write_from(window).0, hi, window: at }
    }

    /// Collects the windows that may write in `from..=to`, in the order in which they opened.
    fn meet(&self, from: WallNs, to: WallNs, met: &mut Vec<usize>) {
        let begun = self.slots.partition_point(|slot| slot.lo <= to.0);
        let leaves = self.ends.len() / 2;
        let mut stack = if leaves == 0 { Vec::new() } else { vec![(1, 0, leaves)] };
        while let Some((node, start, end)) = stack.pop() {
            if start >= begun || self.ends[node] <= from.0 {
                continue;
            }
            if end - start == 1 {
                met.push(self.slots[start].window);
                continue;
            }
            let middle = start.midpoint(end);
            stack.push((2 * node + 1, middle, end));
            stack.push((2 * node, start, middle));
        }
        met.sort_unstable();
    }
}

impl Suspect {
    /// Says whether a call of this kind only contests.
    pub(super) fn is_weak(&self) -> bool {
        self.kind.is_weak()
    }

    /// Says whether it names the path.
    pub(super) fn claims_path(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Says whether one of its windows was open at `instant`.
    pub(super) fn ran_at(&self, instant: WallNs) -> bool {
        self.spans.iter().any(|span| span.lo <= instant && span.hi.is_none_or(|hi| instant <= hi))
    }

    /// Says whether all of its windows were reported closed before `instant`.
    pub(super) fn ended_before(&self, instant: WallNs) -> bool {
        self.spans.iter().all(|span| !span.lost && span.hi.is_some_and(|hi| hi < instant))
    }

    /// Says whether it was announced only after the change, and after `other` had reported its end: in sequence, the
    /// change is the other's.
    pub(super) fn followed(&self, other: &Self, moment: &Moment) -> bool {
        let announced = self.spans.iter().map(|span| span.opened).min();
        let after_end =
            |at: WallNs| other.spans.iter().all(|span| !span.lost && span.hi.is_some_and(|hi| hi <= at));
        !self.claims_path() && announced.is_some_and(|at| moment.latest < at && after_end(at))
    }

    /// Says whether the change falls inside one of its windows; in the early grace only where it claims the path.
    pub(super) fn covers(&self, moment: &Moment, looked: WallNs) -> bool {
        self.spans.iter().any(|span| {
            let from = if self.claims_path() { span.lo } else { span.opened };
            match moment.ctime {
                Some(ctime) => ctime.0 >= from.0 - TICK_NS && span.hi.is_none_or(|hi| ctime <= hi),
                None => {
                    moment.floor >= span.lo && span.hi.is_none_or(|hi| looked <= hi.plus_ms(LATE_LOOK_MS))
                }
            }
        })
    }

    /// Says whether it may be another one that wrote: nobody saw the window end, and the look came after.
    pub(super) fn was_lost_before(&self, looked: WallNs) -> bool {
        self.spans.iter().all(|span| span.lost && span.hi.is_some_and(|hi| hi < looked))
    }
}

impl ClaimBody {
    /// Says whether the claim tells what is written, not only where.
    pub fn gives_text(&self) -> bool {
        match self {
            Self::Location => false,
            Self::Fragment { .. }
            | Self::Whole { .. }
            | Self::Diff { .. }
            | Self::Delete
            | Self::Move { .. } => true,
        }
    }
}

/// Returns the call that writes in a window and its kind; `None` for a window that is no suspect.
fn writer(window: &Window) -> Option<(Option<&CallId>, Option<ToolKind>)> {
    match &window.purpose {
        Purpose::Call(facts) => (!facts.read_only).then_some((Some(&facts.call), Some(facts.kind))),
        Purpose::Terminal { call } | Purpose::Background { call } => Some((call.as_ref(), None)),
        Purpose::Turn | Purpose::FsWrite { .. } | Purpose::Review { .. } => None,
    }
}

fn key(window: &Window, call: &CallId) -> CallKey {
    CallKey { session: window.session.clone(), turn: window.turn, call: call.clone() }
}

/// Returns the calls that contain another call that is met as well and can write.
fn containers<'a>(met: &[&'a Window], kin: &'a Kin) -> BTreeSet<(&'a SessionKey, &'a CallId)> {
    let mut containers = BTreeSet::new();
    for window in met.iter().filter(|window| writer(window).is_some()) {
        let above = kin.parent(&window.session);
        let sessions = above.map(|(session, _)| session).into_iter().chain([&window.session]);
        containers
            .extend(sessions.flat_map(|session| window.parent.as_ref().map(|parent| (session, parent))));
        if let Some((session, Some(call))) = above {
            containers.insert((session, call));
        }
    }
    containers
}

/// Builds the segment tree of the latest ends; leaves are padded to a power of two.
fn tree_of(slots: &[Slot]) -> Vec<i64> {
    if slots.is_empty() {
        return Vec::new();
    }
    let leaves = slots.len().next_power_of_two();
    let mut ends = vec![i64::MIN; 2 * leaves];
    for (at, slot) in slots.iter().enumerate() {
        ends[leaves + at] = slot.hi;
    }
    for node in (1..leaves).rev() {
        ends[node] = ends[2 * node].max(ends[2 * node + 1]);
    }
    ends
}
