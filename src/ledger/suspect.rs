//! Which calls could have written a change: windows found by time, claims found by path (ledger.md §2, §4).

use crate::base::{CallId, RepoPath, SessionKey, TurnNo, WallNs};
use crate::ledger::moment::Moment;
use crate::ledger::slots::{Slot, Slots};
use crate::ledger::{
    Bound, CallFacts, CallKey, Chain, Claim, ClaimBody, Closing, Hi, Kin, Purpose, Source, ToolKind, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How far before its first message a call may have written already.
const EARLY_GRACE_MS: i64 = 250;
/// The same where that message said that the call did not run yet.
const PENDING_GRACE_MS: i64 = 50;
/// A call that ends so soon after that message had run before it, whatever that said.
const NO_TIME_TO_RUN_MS: i64 = 2;
/// How long before a barrier passed its look may have begun.
const BARRIER_LOOK_MS: i64 = 100;
/// Without time evidence: how long after a window's end the look that saw its last write may have begun.
const LATE_LOOK_MS: i64 = 2_000;

/// The windows and claims of one chain, arranged to be found.
#[derive(Clone, Debug, Default)]
pub(super) struct FactIndex {
    windows: Vec<Arc<Window>>,
    /// How many movements of the chain's windows were taken in.
    seen: usize,
    /// Windows of calls, terminals and background work.
    slots: Slots,
    /// When the first window of a call may have begun to write.
    first_of: BTreeMap<CallKey, WallNs>,
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

/// What a change of the facts can concern.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    /// Steps that may have been made at this time or later.
    pub from: WallNs,
    /// These paths, at whatever time.
    pub paths: BTreeSet<RepoPath>,
}

impl Default for Moved {
    fn default() -> Self {
        Self { from: WallNs(i64::MAX), paths: BTreeSet::new() }
    }
}

impl Moved {
    fn everything() -> Self {
        Self { from: WallNs(i64::MIN), paths: BTreeSet::new() }
    }

    fn since(&mut self, from: WallNs) {
        self.from = self.from.min(from);
    }

    /// Takes in what else moved.
    pub(super) fn add(&mut self, other: &Self) {
        self.since(other.from);
        self.paths.extend(other.paths.iter().cloned());
    }
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
    /// When and how it ended; `None` while it is open.
    pub closed: Option<Closing>,
}

impl Opening {
    /// Returns when it ended; `None` while it is open.
    pub(super) fn hi(&self) -> Option<WallNs> {
        self.closed.map(|closing| closing.at)
    }

    /// Says whether nobody saw it end.
    fn is_lost(&self) -> bool {
        self.closed.is_some_and(|closing| closing.hi == Hi::Lost)
    }
}

impl FactIndex {
    /// Takes in what a chain has learned since the last time. Returns what that can concern.
    pub(super) fn sync(&mut self, chain: &Chain) -> Moved {
        let log = chain.moved_windows();
        let known = self.claims.len();
        let claims = chain.shared_claims();
        let other = log.len() < self.seen
            || claims.len() < known
            || known.checked_sub(1).is_some_and(|last| !Arc::ptr_eq(&claims[last], &self.claims[last]));
        if other {
            *self = Self::default();
        }
        let mut moved = if other { Moved::everything() } else { Moved::default() };
        let members = chain.members().values();
        let started: BTreeMap<_, _> =
            members.filter_map(|member| Some((member.key.clone(), member.parent.clone()?))).collect();
        if started != self.started {
            self.started = started;
            self.rearrange();
            self.find_delegating();
            moved = Moved::everything();
        }
        for &at in &log[self.seen..] {
            if let Some(window) = chain.window_at(at) {
                self.take_window(at, window, &mut moved);
            }
        }
        self.seen = log.len();
        for claim in &claims[self.claims.len()..] {
            self.take_claim(claim, &mut moved);
        }
        let since = |window: &Window| window.opened >= moved.from;
        let passed: Vec<RepoPath> = self
            .written
            .iter()
            .filter(|(_, of_path)| of_path.last().is_some_and(|&at| since(&self.windows[at])))
            .map(|(path, _)| path.clone())
            .collect();
        moved.paths.extend(passed);
        moved
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

    /// Returns what is known of every call, by key.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&CallKey, Option<&CallFacts>)> {
        self.calls.iter().map(|(key, &at)| match &self.windows[at].purpose {
            Purpose::Call(facts) => (key, Some(facts)),
            Purpose::Turn
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. }
            | Purpose::Background { .. } => (key, None),
        })
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

    /// Returns those that could have written to `path` at `moment`, and those that could have and name other paths only, with
    /// the texts that they tell of those.
    pub(super) fn suspects(
        &self,
        path: &RepoPath,
        moment: &Moment,
        kin: &Kin,
    ) -> (Vec<Suspect>, Vec<Suspect>) {
        let able = self.able(path, moment, kin).into_iter();
        let (mut elsewhere, here): (Vec<Suspect>, Vec<Suspect>) =
            able.partition(|suspect| self.names_only_others(suspect, moment));
        for suspect in &mut elsewhere {
            let told = suspect.key.as_ref().and_then(|key| self.claimants.get(key));
            suspect.claims = told.cloned().unwrap_or_default();
        }
        (here, elsewhere)
    }

    /// Returns those that could have written at `moment`: containers yield to their children.
    fn able(&self, path: &RepoPath, moment: &Moment, kin: &Kin) -> Vec<Suspect> {
        let mut met = self.slots.meet(moment.floor, moment.latest);
        met.retain(|&at| !waits_at(&self.windows[at], moment.latest));
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
        suspects.into_values().collect()
    }

    /// Returns the turn of one of `family`, else of the only other session, that runs at `moment`: of several others nobody
    /// knows which it was. Nobody knows either what a turn did that was lost before the look.
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
        let last = running.last().filter(|last| running.iter().all(|other| other.session == last.session));
        ours.or(last).map(|window| (window.session.clone(), window.turn))
    }

    /// Returns the sessions that ever reverted something here.
    pub(super) fn reviewers(&self) -> BTreeSet<&SessionKey> {
        self.reviews.iter().map(|&at| &self.windows[at].session).collect()
    }

    /// Says whether a review runs at `moment`.
    pub(super) fn is_reviewed(&self, moment: &Moment) -> bool {
        self.reviews_at(moment).next().is_some()
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

    /// Takes in a window that opened, changed or closed.
    fn take_window(&mut self, at: usize, window: &Arc<Window>, moved: &mut Moved) {
        let old = self.windows.get(at).cloned();
        let from = self.may_write_from(window);
        moved.since(from.min(window.opened));
        if let Some(old) = &old {
            moved.since(self.may_write_from(old).min(old.opened));
            self.forget_slot(at, old);
            self.windows[at] = window.clone();
        } else {
            self.windows.push(window.clone());
        }
        if old.as_ref().is_some_and(|old| old.parent != window.parent && old.parent.is_some()) {
            self.find_delegating();
            *moved = Moved::everything();
        } else if window.parent.is_some() {
            self.take_parent(window, moved);
        }
        match &window.purpose {
            Purpose::Turn => {
                self.turn_named.insert((window.session.clone(), window.turn), at);
                if old.is_none() {
                    self.turns.push(at);
                }
                if old.is_none_or(|old| old.opened != window.opened) {
                    self.rearrange();
                }
                return;
            }
            Purpose::Review { .. } => {
                if old.is_none() {
                    self.reviews.push(at);
                }
                return;
            }
            Purpose::FsWrite { path, .. } => {
                moved.paths.insert(path.clone());
                if old.is_none() {
                    self.written.entry(path.clone()).or_default().push(at);
                }
                return;
            }
            Purpose::Background { .. } if old.is_none() => self.background.push(at),
            Purpose::Call(facts) => {
                let key = key(window, &facts.call);
                self.calls.insert(key, at);
            }
            Purpose::Background { .. } | Purpose::Terminal { .. } => {}
        }
        if let Some((Some(call), _)) = writer(window) {
            let first = self.first_of.entry(key(window, call)).or_insert(from);
            *first = (*first).min(from);
        }
        self.slots.insert(self.slot(at));
    }

    /// Takes in that a window lies within a call.
    fn take_parent(&mut self, window: &Window, moved: &mut Moved) {
        for container in self.parents_of(window) {
            if self.delegating.contains(&container) {
                continue;
            }
            let its = |key: &CallKey| key.session == container.0 && key.call == container.1;
            let began = self.first_of.iter().filter(|(key, _)| its(key)).map(|(_, from)| *from).min();
            moved.since(began.unwrap_or(window.opened));
            self.delegating.insert(container);
        }
    }

    /// Returns the calls that contain a window: of its session, or of the one that started that.
    fn parents_of(&self, window: &Window) -> Vec<(SessionKey, CallId)> {
        let above = self.started.get(&window.session).map(|(session, _)| session);
        let sessions = above.into_iter().chain([&window.session]);
        sessions.filter_map(|session| Some((session.clone(), window.parent.clone()?))).collect()
    }

    fn find_delegating(&mut self) {
        let starters =
            self.started.values().filter_map(|(session, call)| Some((session.clone(), call.clone()?)));
        let named = self.windows.iter().flat_map(|window| self.parents_of(window));
        self.delegating = named.chain(starters).collect();
    }

    fn forget_slot(&mut self, at: usize, old: &Window) {
        match &old.purpose {
            Purpose::Call(_) | Purpose::Terminal { .. } | Purpose::Background { .. } => {
                self.slots.remove(at, self.may_write_from(old).0);
            }
            Purpose::Turn | Purpose::FsWrite { .. } | Purpose::Review { .. } => {}
        }
    }

    /// Arranges the slots anew: a turn began, and nothing of it was written before.
    fn rearrange(&mut self) {
        let writes = |window: &Window| match &window.purpose {
            Purpose::Call(_) | Purpose::Terminal { .. } | Purpose::Background { .. } => true,
            Purpose::Turn | Purpose::FsWrite { .. } | Purpose::Review { .. } => false,
        };
        let all = (0..self.windows.len()).filter(|&at| writes(&self.windows[at])).map(|at| self.slot(at));
        self.slots = Slots::of(all.collect());
    }

    fn take_claim(&mut self, claim: &Arc<Claim>, moved: &mut Moved) {
        let number = self.claims.len();
        self.claims.push(claim.clone());
        self.claims_on.entry(claim.path.clone()).or_default().push(number);
        if let ClaimBody::Move { to } = &claim.body {
            self.claims_on.entry(to.clone()).or_default().push(number);
        }
        let key = CallKey { session: claim.session.clone(), turn: claim.turn, call: claim.call.clone() };
        moved.since(self.first_of.get(&key).copied().unwrap_or(claim.at));
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

    /// Says whether a call that names its targets names others and not this path: it did not write here. An edit that was given
    /// a path and no text is no tool that we know, and may edit wherever what it names is used, once it is announced.
    fn names_only_others(&self, suspect: &Suspect, moment: &Moment) -> bool {
        let Some(claims) = suspect.key.as_ref().and_then(|key| self.claimants.get(key)) else { return false };
        let says = |says: fn(&Claim) -> bool| claims.iter().any(|&number| says(&self.claims[number]));
        let texts = says(|claim| claim.body.gives_text() || claim.source == Source::Diff);
        let given = suspect.kind == ToolKind::Edit && says(|claim| claim.source == Source::RawInput);
        let at_large = given && !suspect.failed() && !suspect.announced_after(moment.latest);
        let complete = texts || !at_large && suspect.spans.iter().all(|span| span.closed.is_some());
        suspect.kind.names_its_targets() && suspect.claims.is_empty() && complete
    }

    fn opening(&self, at: usize) -> Opening {
        let window = self.windows[at].as_ref();
        Opening { opened: window.opened, lo: self.may_write_from(window), closed: window.closed }
    }

    fn may_write_from(&self, window: &Window) -> WallNs {
        let grace = match window.lo {
            Bound::Hard => return window.opened,
            Bound::Pending if !ended_at_once(window) => PENDING_GRACE_MS,
            Bound::Pending | Bound::Soft => EARLY_GRACE_MS,
        };
        let graced = window.opened.plus_ms(-grace);
        self.turn_of(window).map_or(graced, |turn| graced.max(turn.opened.min(window.opened)))
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

    fn slot(&self, at: usize) -> Slot {
        let window = self.windows[at].as_ref();
        let hi = window.closed.map_or(i64::MAX, |closing| closing.at.0);
        Slot { lo: self.may_write_from(window).0, hi, window: at }
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
        self.spans.iter().any(|span| span.lo <= instant && span.hi().is_none_or(|hi| instant <= hi))
    }

    /// Returns when it was first heard of.
    pub(super) fn announced(&self) -> Option<WallNs> {
        self.spans.iter().map(|span| span.opened).min()
    }

    /// Says whether it reported that it was done, and not that it failed.
    pub(super) fn succeeded(&self) -> bool {
        self.spans.iter().any(|span| span.closed.is_some_and(|closing| closing.hi == Hi::Reported))
            && !self.failed()
    }

    /// Says whether it reported that it failed.
    pub(super) fn failed(&self) -> bool {
        self.spans.iter().any(|span| span.closed.is_some_and(|closing| closing.hi == Hi::Failed))
    }

    /// Says whether all of its windows were reported closed before `instant`.
    pub(super) fn ended_before(&self, instant: WallNs) -> bool {
        self.spans.iter().all(|span| !span.is_lost() && span.hi().is_some_and(|hi| hi < instant))
    }

    /// Says whether it was announced only after the change and the end of `other`, which had been announced before anything
    /// of the step was written, or before this one can have written: in sequence, the change is the other's.
    pub(super) fn followed(&self, other: &Self, moment: &Moment) -> bool {
        let over = |at: WallNs| {
            other.spans.iter().all(|span| !span.is_lost() && span.hi().is_some_and(|hi| hi <= at))
        };
        let may_write = self.spans.iter().map(|span| span.lo).min();
        let alone = other
            .spans
            .iter()
            .any(|span| span.opened <= moment.floor || may_write.is_some_and(|from| span.opened <= from));
        alone && self.announced().is_some_and(|at| moment.latest < at && over(at))
    }

    /// Says whether it was first heard of after `instant`.
    pub(super) fn announced_after(&self, instant: WallNs) -> bool {
        self.announced().is_some_and(|at| instant < at)
    }

    /// Says whether the change falls inside one of its windows; in the early grace only where it claims the path.
    pub(super) fn covers(&self, moment: &Moment, looked: WallNs) -> bool {
        self.spans.iter().any(|span| {
            let from = if self.claims_path() { span.lo } else { span.opened };
            match moment.ctime {
                Some(ctime) => ctime.0 >= from.0 - moment.tick && span.hi().is_none_or(|hi| ctime <= hi),
                None => {
                    moment.floor >= span.lo && span.hi().is_none_or(|hi| looked <= hi.plus_ms(LATE_LOOK_MS))
                }
            }
        })
    }

    /// Says whether nothing of the step can have come before it.
    pub(super) fn holds(&self, moment: &Moment) -> bool {
        self.spans.iter().any(|span| moment.floor.plus_ms(BARRIER_LOOK_MS) >= span.lo)
    }

    /// Says whether it may be another one that wrote: nobody saw the window end, and the look came after.
    pub(super) fn was_lost_before(&self, looked: WallNs) -> bool {
        self.spans.iter().all(|span| span.is_lost() && span.hi().is_some_and(|hi| hi < looked))
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

fn ended_at_once(window: &Window) -> bool {
    window.closed.is_some_and(|end| end.at < window.opened.plus_ms(NO_TIME_TO_RUN_MS))
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

/// Says whether a window is that of a call which waited for a permission then: agents that ask wait for the answer.
fn waits_at(window: &Window, instant: WallNs) -> bool {
    match &window.purpose {
        Purpose::Call(facts) => facts.waits_at(instant),
        Purpose::Turn
        | Purpose::FsWrite { .. }
        | Purpose::Terminal { .. }
        | Purpose::Review { .. }
        | Purpose::Background { .. } => false,
    }
}
