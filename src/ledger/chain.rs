//! The chain of one root: what it looked like, when which call could have written, and what each claims.

use crate::base::{ObservationNo, ProxyId, RepoPath, SessionKey, WallNs, WindowId};
use crate::ledger::{
    CallFacts, Claim, Closing, Event, FileState, Gap, Hi, Loss, Member, Observation, Purpose, RootHeader,
    Skip, Window,
};
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The folded chain of one root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    header: Option<RootHeader>,
    observations: Vec<Arc<Observation>>,
    gaps: Vec<PlacedGap>,
    windows: IndexMap<WindowId, Arc<Window>>,
    /// The window that opened, changed or closed, by its position, once for each time.
    moved: Vec<usize>,
    open: BTreeSet<WindowId>,
    claims: Vec<Arc<Claim>>,
    proxies: BTreeMap<ProxyId, Presence>,
    members: BTreeMap<SessionKey, Member>,
    skips: Vec<PlacedSkip>,
    odd: u32,
}

/// A gap, and the observation it follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedGap {
    /// The last observation before it; `None` when there was none.
    pub after: Option<ObservationNo>,
    /// The gap.
    pub gap: Gap,
}

/// Whether a proxy looks at a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Its process id.
    pub pid: u32,
    /// Whether it still looks, as far as the chain says.
    pub present: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct PlacedSkip {
    after: Option<ObservationNo>,
    skip: Skip,
}

impl Chain {
    /// Takes in one event.
    pub(super) fn apply(&mut self, at: WallNs, event: &Event) {
        match event {
            Event::RootOpened(header) => self.open_root(header),
            Event::Observed(observation) => self.observe(observation),
            Event::Gap(gap) => self.miss(gap),
            Event::WindowOpened(window) => self.open_window(window),
            Event::WindowRefined { window, facts } => self.refine(window, facts),
            Event::WindowClosed { window, closing } => self.close(window, *closing),
            Event::Claimed(claim) => self.claims.push(Arc::new(claim.clone())),
            Event::ProxyJoined { proxy, pid } => {
                self.proxies.insert(proxy.clone(), Presence { pid: *pid, present: true });
            }
            Event::ProxyLeft { proxy, lost: _ } => self.leave(at, proxy),
            Event::SessionJoined(member) => {
                self.members.insert(member.key.clone(), member.clone());
            }
            Event::SessionOpened(_)
            | Event::SessionResumed { .. }
            | Event::BaseTaken { .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::ModeChanged { .. }
            | Event::Decided(_)
            | Event::RejectPending { .. }
            | Event::RejectSettled { .. }
            | Event::RevertIntended(_)
            | Event::RevertDone { .. }
            | Event::NoteSent { .. }
            | Event::NoteDelivered { .. }
            | Event::NoteReturned { .. }
            | Event::PersonTold { .. }
            | Event::Reapplied { .. }
            | Event::Commented(_)
            | Event::CommentResolved { .. }
            | Event::Rebased { .. }
            | Event::Approval(_)
            | Event::PermissionSeen { .. }
            | Event::Noticed { .. }
            | Event::Visited(_)
            | Event::GateBlocked { .. }
            | Event::GateReleased { .. }
            | Event::SessionClosed { .. } => self.odd += 1,
        }
    }

    /// Takes in that a line was lost here.
    pub(super) fn skip(&mut self, skip: Skip) {
        self.skips.push(PlacedSkip { after: self.last_no(), skip });
    }

    /// Returns the first record of the chain.
    pub fn header(&self) -> Option<&RootHeader> {
        self.header.as_ref()
    }

    /// Returns every observation, ascending by number. Numbers may be missing where lines were lost.
    pub fn observations(&self) -> &[Arc<Observation>] {
        &self.observations
    }

    /// Returns the observation of that number.
    pub fn observation(&self, no: ObservationNo) -> Option<&Observation> {
        let at = self.observations.binary_search_by_key(&no, |observation| observation.no).ok()?;
        self.observations.get(at).map(Arc::as_ref)
    }

    /// Returns the observations after that number: the steps that lead from it to now.
    pub fn since(&self, no: ObservationNo) -> &[Arc<Observation>] {
        let from = self.observations.partition_point(|observation| observation.no <= no);
        &self.observations[from..]
    }

    /// Returns the latest observation.
    pub fn last(&self) -> Option<&Observation> {
        self.observations.last().map(Arc::as_ref)
    }

    /// Returns what the last observation that names `path` says stands there; `None` where none names it.
    pub fn latest(&self, path: &RepoPath) -> Option<Option<FileState>> {
        self.observations.iter().rev().find_map(|observation| {
            let at = observation.changes.binary_search_by(|change| change.path.cmp(path)).ok()?;
            observation.changes.get(at).map(|change| change.after)
        })
    }

    /// Returns the stretches that nobody observed.
    pub fn gaps(&self) -> &[PlacedGap] {
        &self.gaps
    }

    /// Returns the look that failed, where none has succeeded since: what stands there now is not known.
    pub fn blind(&self) -> Option<&Gap> {
        self.gaps.last().filter(|placed| placed.after == self.last_no()).map(|placed| &placed.gap)
    }

    /// Returns every window, in the order in which they opened.
    pub fn windows(&self) -> impl DoubleEndedIterator<Item = &Window> {
        self.windows.values().map(Arc::as_ref)
    }

    /// Returns a window by its position, as it is shared.
    pub(super) fn window_at(&self, position: usize) -> Option<&Arc<Window>> {
        self.windows.get_index(position).map(|(_, window)| window)
    }

    /// Returns the positions of the windows that opened, changed or closed, in the order in which they did.
    pub(super) fn moved_windows(&self) -> &[usize] {
        &self.moved
    }

    /// Returns every claim as it is shared, in the order in which they were received.
    pub fn shared_claims(&self) -> &[Arc<Claim>] {
        &self.claims
    }

    /// Returns a window.
    pub fn window(&self, id: &WindowId) -> Option<&Window> {
        self.windows.get(id).map(Arc::as_ref)
    }

    /// Returns the windows that are open, of any session.
    pub fn open_windows(&self) -> impl Iterator<Item = &Window> {
        self.open.iter().filter_map(|id| self.window(id))
    }

    /// Returns every claim, in the order in which they were received.
    pub fn claims(&self) -> impl DoubleEndedIterator<Item = &Claim> {
        self.claims.iter().map(Arc::as_ref)
    }

    /// Returns the proxies that ever looked, and whether they still do.
    pub fn proxies(&self) -> &BTreeMap<ProxyId, Presence> {
        &self.proxies
    }

    /// Returns the sessions that said who they are.
    pub fn members(&self) -> &BTreeMap<SessionKey, Member> {
        &self.members
    }

    /// Returns how many events made no sense where they stood.
    pub fn odd(&self) -> u32 {
        self.odd
    }

    /// Says which other sessions have windows here.
    pub fn sessions(&self) -> BTreeSet<&SessionKey> {
        self.windows.values().map(|window| &window.session).collect()
    }

    /// Returns the first damage of the whole chain.
    pub fn damage(&self) -> Option<&Skip> {
        self.skips.iter().map(|placed| &placed.skip).find(|skip| matches!(skip.loss, Loss::Root(_)))
    }

    /// Returns the first damage that can concern what follows the observation `base`.
    pub fn damage_since(&self, base: ObservationNo) -> Option<&Skip> {
        self.skips_since(Some(base)).find(|skip| matches!(skip.loss, Loss::Root(_)))
    }

    /// Returns what was skipped and can concern what follows the observation `base`; everything when the base is not there.
    pub fn skips_since(&self, base: Option<ObservationNo>) -> impl Iterator<Item = &Skip> {
        let base = base.filter(|base| self.observation(*base).is_some());
        self.skips.iter().filter(move |placed| placed.after >= base).map(|placed| &placed.skip)
    }

    fn last_no(&self) -> Option<ObservationNo> {
        self.last().map(|observation| observation.no)
    }

    fn open_root(&mut self, header: &RootHeader) {
        match &self.header {
            None => self.header = Some(header.clone()),
            // The same again, or another directory that a person took in its place.
            Some(known) if known.root == header.root => self.header = Some(header.clone()),
            Some(_) => self.odd += 1,
        }
    }

    /// Takes in a look that failed. One look that answers several asks is told several times.
    fn miss(&mut self, gap: &Gap) {
        if self.gaps.last().is_none_or(|last| last.gap != *gap) {
            self.gaps.push(PlacedGap { after: self.last_no(), gap: gap.clone() });
        }
    }

    /// Takes in a link. One that is told again adds nothing.
    fn observe(&mut self, observation: &Observation) {
        match self.last() {
            Some(last) if last == observation => {}
            Some(last) if last.no >= observation.no => self.odd += 1,
            Some(_) | None => self.observations.push(Arc::new(observation.clone())),
        }
    }

    /// Opens a window; said again of one, sharpens its opening or names its call.
    fn open_window(&mut self, window: &Window) {
        if let Some((at, _, known)) = self.windows.get_full_mut(&window.id) {
            if known.session == window.session && known.proxy == window.proxy {
                let closed = known.closed.or(window.closed);
                *known = Arc::new(Window { closed, ..window.clone() });
                self.moved.push(at);
            } else {
                self.odd += 1;
            }
            return;
        }
        if window.closed.is_none() {
            self.open.insert(window.id.clone());
        }
        self.moved.push(self.windows.len());
        self.windows.insert(window.id.clone(), Arc::new(window.clone()));
    }

    fn refine(&mut self, window: &WindowId, facts: &CallFacts) {
        let Some((at, _, known)) = self.windows.get_full_mut(window) else {
            self.odd += 1;
            return;
        };
        match &mut Arc::make_mut(known).purpose {
            Purpose::Call(held) if held.call == facts.call => {
                *held = facts.clone();
                self.moved.push(at);
            }
            Purpose::Call(_)
            | Purpose::Turn
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. }
            | Purpose::Background { .. } => self.odd += 1,
        }
    }

    fn close(&mut self, window: &WindowId, closing: Closing) {
        match self.windows.get_full_mut(window).filter(|(_, _, known)| known.closed.is_none()) {
            Some((at, _, known)) => {
                Arc::make_mut(known).closed = Some(closing);
                self.moved.push(at);
            }
            None => self.odd += 1,
        }
        self.open.remove(window);
    }

    fn leave(&mut self, at: WallNs, proxy: &ProxyId) {
        match self.proxies.get_mut(proxy) {
            Some(presence) => presence.present = false,
            None => self.odd += 1,
        }
        let theirs: Vec<WindowId> = self
            .open_windows()
            .filter(|window| window.proxy == *proxy)
            .map(|window| window.id.clone())
            .collect();
        for window in theirs {
            self.close(&window, Closing { at, hi: Hi::Lost });
        }
    }
}
