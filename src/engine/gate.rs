//! The gate before a write (`gate.hold`): a write waits while its file has changes that nobody reviewed.
//!
//! ```text
//!   request ─▶ placing ─▶ checking ─┬─▶ goes on, as if it came now
//!                            ▲      └─▶ standing: said, asked about
//!                            └─────────────┘ something was decided, or seen
//!   cancel, taken back, turn or session over, editor gone ─▶ answered, never forwarded
//! ```
//!
//! One review lets one write of a file through: the next waits until that is done, and for its review.
//!
//! No clock releases it. Shell commands are never held for review: what they write cannot be known.

use crate::acp::{Fact, Wanted, WantedBy, author};
use crate::base::{AskId, CallId, HunkId, Leg, RepoPath, RootId, SessionId, SessionKey, TurnNo, WallNs};
use crate::config::{Holdable, Mode, OnRecordFailure};
use crate::engine::asking::Undecided;
use crate::engine::conversation::Heard;
use crate::engine::desk::ReplyTo;
use crate::engine::docket::State;
use crate::engine::enforce::{cancelled, refusal};
use crate::engine::mediated::claimant;
use crate::engine::revise::with_call;
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine, Notice};
use crate::ledger::{
    Actor, Channel, Decision, Event, GateShape, HunkShape, ListingShape, Log, ReviewState, Who, path_text,
};
use crate::policy::{Case, Effect, Finding, Subject};
use crate::review::{self, Answer, Ask, Asked, Cards, Link};
use crate::session::Replay;
use crate::wire::{self, IdToken};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// How many requests of one session may wait at once.
const MOST: usize = 64;
/// What the agent hears of a text that was made from lines which are put back since.
const OUTDATED: &str = "changed since, read again";
/// Why a request waits that comes after another to the same file.
const UNDER_WAY: &str = "another write of it is not done";

/// What the gate knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    /// The requests that wait before it, oldest first.
    waiting: BTreeMap<AskId, Gated>,
    /// The writes that went through it.
    under_way: Vec<UnderWay>,
}

/// A write of the client that went through and is not done: nobody can have reviewed what it will leave.
#[derive(Clone, Debug)]
struct UnderWay {
    id: IdToken,
    keeper: SessionId,
    files: BTreeSet<(RootId, RepoPath)>,
}

/// A request that waits before the gate.
#[derive(Clone, Debug)]
pub(super) struct Gated {
    /// Its name, for people and records.
    pub(super) name: String,
    /// When it came.
    pub(super) since: WallNs,
    /// The session that asks.
    pub(super) asker: SessionId,
    /// The session in whose queue the changes are.
    pub(super) keeper: SessionId,
    pub(super) id: IdToken,
    method: String,
    pub(super) fact: Fact,
    pub(super) wanted: Wanted,
    pub(super) line: Bytes,
    about: About,
    stage: Stage,
    /// What is shown of the wait; `None` before it is known that there is one.
    pub(super) shown: Option<GateShape>,
    /// Why it waits, for people.
    pub(super) because: String,
    /// Counts what was said of why it waits, and what it wants: an answer quotes it.
    pub(super) rev: u32,
    /// Whether it waits for a root that cannot be trusted.
    pub(super) damaged: bool,
    /// The hunks that the person was asked about because of it.
    asked: BTreeSet<HunkId>,
    /// Whether lines that it was made from were put back since it came.
    pub(super) outdated: bool,
}

/// What a request would change.
#[derive(Clone, Debug)]
enum About {
    /// These files, by the names that the call gives, and by where those lead.
    Files(BTreeSet<(RootId, RepoPath)>),
    /// Whatever an agent that it starts will.
    Agent,
    /// Whatever a command does in this root: it waits only while that cannot be trusted.
    Command(RootId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is being found out where its paths lead.
    Placing,
    /// The changes are being listed.
    Checking,
    /// Something moved meanwhile: they are listed once more.
    CheckingAgain,
    /// It waits for a person.
    Standing,
}

/// What holds a request.
struct Block {
    root: Option<String>,
    path: String,
    damaged: bool,
    because: String,
    hunks: BTreeSet<HunkId>,
}

impl Gates {
    pub(super) fn of(&self, is: impl Fn(&Gated) -> bool) -> Vec<AskId> {
        self.waiting.iter().filter(|(_, gated)| is(gated)).map(|(gate, _)| *gate).collect()
    }

    pub(super) fn get(&self, gate: AskId) -> Option<&Gated> {
        self.waiting.get(&gate)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Gated> {
        self.waiting.values()
    }

    /// Says whether a write of a file that this request is about is under way.
    fn follows(&self, gated: &Gated) -> bool {
        let About::Files(files) = &gated.about else { return false };
        self.under_way.iter().any(|write| write.keeper == gated.keeper && !write.files.is_disjoint(files))
    }

    /// Takes every request out, as what the agent is answered: nobody can tell any more whether it may go on.
    pub(super) fn give_up(&mut self) -> Vec<(Leg, Bytes)> {
        let gates = std::mem::take(&mut self.waiting).into_values();
        gates.map(|gated| (Leg::Agent, refusal(&gated.id, "an internal error"))).collect()
    }
}

impl Engine {
    /// A message of the agent came that may have to wait. Says whether it does: then it is not passed on.
    pub(super) fn parks(&mut self, heard: &Heard<'_>) -> bool {
        let Some(named) = holdable(&heard.method) else { return false };
        let Some(id) = heard.id.clone().filter(|_| self.setup.config.hold.contains(&named)) else {
            return false;
        };
        if heard.waits_with.as_ref().is_some_and(|session| self.holds.stops(Leg::Editor, session)) {
            return false;
        }
        if wire::splice::find(&heard.line, &[]).is_none_or(wire::Raw::is_ambiguous) {
            self.send(Leg::Agent, refusal(&id, "the request cannot be read"));
            return true;
        }
        let Some(mut wanted) = heard.wanted.clone() else { return false };
        self.docket.tell(&wanted.session.clone(), &mut wanted);
        match self.gate_about(&wanted) {
            Some(Ok((keeper, about))) => self.gate_takes(id, (keeper, about), (heard, wanted)),
            Some(Err(reason)) => self.send(Leg::Agent, refusal(&id, reason)),
            None => return false,
        }
        true
    }

    /// Says what a request would change, where that may have to wait; `Err` says why it may not go on at all.
    fn gate_about(&self, wanted: &Wanted) -> Option<Result<(SessionId, About), &'static str>> {
        let session = self.sessions.get(&wanted.session);
        if session.is_some_and(|known| known.replay != Replay::No) {
            return None;
        }
        let subject = Subject::of(wanted);
        let runs = subject.effects().iter().any(|effect| matches!(effect, Effect::Exec { .. }));
        let writes = !paths(&subject).is_empty();
        if wanted.by != WantedBy::Terminal && (runs || !(writes || wanted.delegates)) {
            return None;
        }
        let Some(keeper) = self.record_keeper(&wanted.session) else {
            let refuse = self.setup.config.on_record_failure == OnRecordFailure::Deny;
            return refuse.then_some(Err("the session is not recorded"));
        };
        let known = self.sessions.get(&keeper)?;
        if self.setup.config.mode(self.agent_id().as_str(), known.mode.as_deref()) != Mode::Normal {
            return None;
        }
        let about = if wanted.by == WantedBy::Terminal {
            let cwd = wanted.command.as_ref().and_then(|command| command.cwd.as_deref());
            // Whatever lies in that directory is beneath the same root as it, also where it is the root itself.
            About::Command(known.locate(&format!("{}/x", cwd.unwrap_or(&known.cwd))).ok()?.0)
        } else if writes {
            About::Files(BTreeSet::new())
        } else {
            About::Agent
        };
        Some(Ok((keeper, about)))
    }

    fn gate_takes(
        &mut self,
        id: IdToken,
        (keeper, about): (SessionId, About),
        (heard, wanted): (&Heard<'_>, Wanted),
    ) {
        if self.gates.of(|gated| gated.keeper == keeper).len() >= MOST {
            return self.send(Leg::Agent, refusal(&id, "too many requests wait"));
        }
        let gate = self.minter.mint_ask();
        let case = self.case_of(&Subject::of(&wanted), &keeper).filter(|_| matches!(about, About::Files(_)));
        let gated = Gated {
            name: self.minter.mint("gate"),
            since: self.now.wall,
            asker: wanted.session.clone(),
            keeper,
            id,
            method: heard.method.clone().into_owned(),
            fact: heard.fact.clone(),
            wanted,
            line: heard.line.clone(),
            about,
            stage: Stage::Placing,
            shown: None,
            because: String::new(),
            rev: 1,
            damaged: false,
            asked: BTreeSet::new(),
            outdated: false,
        };
        self.gates.waiting.insert(gate, gated);
        self.gate_places(gate, case);
    }

    fn gate_places(&mut self, gate: AskId, case: Option<Case>) {
        match case {
            Some(case) => {
                let ask = self.minter.mint_ask();
                self.waits.insert(ask, Wait::Gate(gate));
                self.out.push(Action::Judge { ask, case: Box::new(case) });
            }
            None => self.gate_checks(gate),
        }
    }

    /// A call said something (in `line`): what waits before the gate is about what it says now.
    pub(super) fn gate_revised(&mut self, said: &Wanted, line: &Bytes) {
        for gate in self.gates.of(|gated| gated.wanted.call.is_some() && gated.wanted.call == said.call) {
            let Some(gated) = self.gates.waiting.get(&gate) else { continue };
            let Some((live, subject)) = self.revised(&gated.wanted, said) else { continue };
            let about = self.gate_about(&live);
            let shown = if self.enforces() {
                with_call(self.dialect, &gated.line, line)
            } else {
                Some(gated.line.clone())
            };
            let (Some(shown), false) = (shown, matches!(about, Some(Err(_)))) else {
                self.gate_refuses(gate, "outdated", "its call has said something else since");
                continue;
            };
            self.waits.retain(|_, wait| !matches!(wait, Wait::Gate(of) if *of == gate));
            let Some(gated) = self.gates.waiting.get_mut(&gate) else { continue };
            (gated.wanted, gated.line, gated.stage) = (live, shown, Stage::Placing);
            gated.rev += 1;
            let keeper = gated.keeper.clone();
            let Some(Ok((_, about))) = about else {
                self.gate_lets(gate);
                continue;
            };
            let files = matches!(about, About::Files(_));
            gated.about = about;
            let case = self.case_of(&subject, &keeper).filter(|_| files);
            self.gate_places(gate, case);
        }
    }

    /// It is known where the paths of a request lead.
    pub(super) fn gate_placed(&mut self, gate: AskId, finding: Result<Box<Finding>, String>) {
        let Some(gated) = self.gates.waiting.get(&gate) else { return };
        let Some(known) = self.sessions.get(&gated.keeper) else { return };
        let asked = paths(&Subject::of(&gated.wanted));
        let real = finding.map(|finding| finding.reals).unwrap_or_default();
        let files: BTreeSet<_> =
            asked.iter().chain(&real).filter_map(|path| known.locate(path).ok()).collect();
        if files.is_empty() {
            return self.gate_lets(gate);
        }
        if let Some(gated) = self.gates.waiting.get_mut(&gate) {
            gated.about = About::Files(files);
        }
        self.gate_checks(gate);
    }

    /// Looks at the roots, and has the changes listed.
    fn gate_checks(&mut self, gate: AskId) {
        let Some(gated) = self.gates.waiting.get_mut(&gate) else { return };
        gated.stage = Stage::Checking;
        let session = gated.keeper.clone();
        if let Some(asked) = self.of_ours(&session, Ask::Hunks { paths: Vec::new() }) {
            self.start(ReplyTo::Gate { gate }, session, asked);
        }
    }

    fn of_ours(&self, session: &SessionId, ask: Ask) -> Option<Asked> {
        let key = self.sessions.get(session)?.key.clone();
        let actor = Actor { who: Who::Person, channel: Channel::None };
        Some(Asked { session: key, actor, may_decide: false, ask })
    }

    /// The changes were listed.
    pub(super) fn gate_checked(&mut self, gate: AskId, answer: &Answer) {
        let Some(gated) = self.gates.waiting.get(&gate) else { return };
        match gated.stage {
            // Its call said something else meanwhile: another list is on its way.
            Stage::Placing => return,
            Stage::CheckingAgain => return self.gate_checks(gate),
            Stage::Checking | Stage::Standing => {}
        }
        let block = if let Answer::Listing(listing) = answer {
            self.blocking(gated, listing)
        } else {
            let because = review::render(answer);
            let (root, path) = self.gate_place(gated).unzip();
            let path = path.unwrap_or_default();
            Some(Block { root, path, damaged: false, because, hunks: BTreeSet::new() })
        };
        match block {
            Some(block) => self.gate_holds(gate, &block),
            None if self.gates.follows(gated) => self.gate_follows(gate),
            None if gated.outdated => self.gate_refuses(gate, "outdated", OUTDATED),
            None => self.gate_lets(gate),
        }
    }

    /// Returns the root and the path that a request is about, the first of several.
    fn gate_place(&self, gated: &Gated) -> Option<(String, String)> {
        match &gated.about {
            About::Files(files) => {
                files.first().map(|(root, path)| (self.ledger.root_path(root), path_text(path)))
            }
            About::Agent => None,
            About::Command(root) => Some((self.ledger.root_path(root), self.ledger.root_path(root))),
        }
    }

    /// Says what holds a request, given what there is to review.
    fn blocking(&self, gated: &Gated, listing: &ListingShape) -> Option<Block> {
        let key = &self.sessions.get(&gated.keeper)?.key;
        let damaged = |root: &RootId| self.ledger.degraded(key, root);
        let damage = match &gated.about {
            About::Files(files) => {
                files.iter().find_map(|(root, path)| Some((root, path_text(path), damaged(root)?)))
            }
            About::Command(root) => damaged(root).map(|why| (root, self.ledger.root_path(root), why)),
            About::Agent => None,
        };
        if let Some((root, path, why)) = damage {
            let root = Some(self.ledger.root_path(root));
            let because = format!("what stands there cannot be trusted: {why}");
            return Some(Block { root, path, damaged: true, because, hunks: BTreeSet::new() });
        }
        let held: Vec<&HunkShape> = listing.hunks.iter().filter(|hunk| self.waits_for(gated, hunk)).collect();
        let first = held.first()?;
        let (noun, verb) = if held.len() == 1 { ("change", "is") } else { ("changes", "are") };
        let whose = match gated.about {
            About::Agent => "of earlier turns",
            About::Files(_) | About::Command(_) => "of it",
        };
        let because = format!("{} {noun} {whose} {verb} not reviewed", held.len());
        let hunks = held.iter().map(|hunk| hunk.id.clone()).collect();
        let (root, path) = (Some(first.root.clone()), first.path.clone());
        Some(Block { root, path, damaged: false, because, hunks })
    }

    /// Says whether a request waits for the review of a hunk.
    fn waits_for(&self, gated: &Gated, hunk: &HunkShape) -> bool {
        let concerns = || match &gated.about {
            About::Files(files) => {
                files.iter().any(|(root, path)| covers((&self.ledger.root_path(root), path), hunk))
            }
            About::Agent => is_older(hunk, self.turn_of(&gated.keeper)),
            About::Command(_) => false,
        };
        hunk.is_owed() && concerns()
    }

    /// It waits: said where the person looks, and asked about.
    fn gate_holds(&mut self, gate: AskId, block: &Block) {
        let Some(gated) = self.gates.waiting.get_mut(&gate) else { return };
        gated.stage = Stage::Standing;
        let title = if gated.wanted.title.is_empty() { &gated.method } else { &gated.wanted.title };
        let tool = self.setup.redactor.redact(title);
        let shape = GateShape { tool: tool.to_string(), path: block.path.clone(), root: block.root.clone() };
        let fresh = gated.shown.is_none();
        let moved = gated.shown.as_ref() != Some(&shape);
        if !fresh && (moved || gated.because != block.because) {
            gated.rev += 1;
        }
        gated.shown = Some(shape.clone());
        (gated.because, gated.damaged) = (block.because.clone(), block.damaged);
        let (session, call, name) = (gated.keeper.clone(), gated.wanted.call.clone(), gated.name.clone());
        if fresh {
            let event = Event::GateBlocked {
                gate: name,
                call,
                turn: self.turn_of(&session),
                tool: tool.clone(),
                path: self.setup.redactor.redact(&block.path),
                root: block.root.as_deref().map(|root| self.setup.redactor.redact(root)),
                because: self.setup.redactor.redact(&block.because),
            };
            self.gate_records(&session, event);
            let command = self.command_of_session(&session);
            let place = shape.place(&self.root_paths(&session).iter().map(String::as_str).collect());
            let text = review::waits((tool.as_str(), &place), &block.because, &command);
            let key = self.sessions.get(&session).map(|known| known.key.clone());
            let link = key.map(|key| Link::new(key, block.hunks.first().cloned()));
            let there = link.map(|link| review::in_browser(&link, self.console.as_deref()));
            self.say_in_chat(&session, &format!("{text}{}", there.unwrap_or_default()));
        }
        if moved {
            self.gate_published(&session);
        }
        if !block.hunks.is_empty() {
            self.gate_asks(&session);
        }
    }

    /// Nothing holds it but a write that is under way: it is looked at again when that is done.
    fn gate_follows(&mut self, gate: AskId) {
        let Some(gated) = self.gates.waiting.get_mut(&gate) else { return };
        gated.stage = Stage::Standing;
        if gated.shown.is_some() && gated.because != UNDER_WAY {
            UNDER_WAY.clone_into(&mut gated.because);
            gated.rev += 1;
        }
    }

    /// Writes that were under way are done, answered or not: what waited for them is looked at again.
    pub(super) fn gates_follow(&mut self) {
        if self.gates.under_way.is_empty() {
            return;
        }
        let writes = std::mem::take(&mut self.gates.under_way);
        let (going, over): (Vec<_>, Vec<_>) = writes.into_iter().partition(|write| self.is_going(&write.id));
        self.gates.under_way = going;
        let keepers: BTreeSet<SessionId> = over.into_iter().map(|write| write.keeper).collect();
        for keeper in keepers {
            if let Some(key) = self.sessions.get(&keeper).map(|known| known.key.clone()) {
                self.gates_moved(&key);
            }
        }
    }

    /// Says whether a request of the agent is on its way to the client, or back.
    fn is_going(&self, id: &IdToken) -> bool {
        self.docket.of_id(id).is_some()
            || self.pending.find(Leg::Agent, id).is_some()
            || self.holds.carries(id)
    }

    fn root_paths(&self, session: &SessionId) -> Vec<String> {
        let roots = self.sessions.get(session).map(|known| known.roots()).unwrap_or_default();
        roots.iter().map(|it| self.ledger.root_path(&it.root)).collect()
    }

    fn gate_records(&mut self, session: &SessionId, event: Event) {
        let Some(known) = self.sessions.get(session).filter(|known| Self::is_recorded(known)) else { return };
        let log = Log::Session(known.key.clone());
        self.record(log, event, Durability::Written);
    }

    fn gate_published(&mut self, session: &SessionId) {
        let Some(key) = self.sessions.get(session).map(|known| known.key.clone()) else { return };
        let held = self.gate_of(session);
        self.out.push(Action::Publish(Notice::Gate { session: key, held }));
    }

    /// Returns what waits in a session, the oldest of several.
    pub(super) fn gate_of(&self, session: &SessionId) -> Option<GateShape> {
        self.gates
            .waiting
            .values()
            .filter(|gated| gated.keeper == *session)
            .find_map(|gated| gated.shown.clone())
    }

    // ── the question ──

    /// Asks about what holds the requests of a session, unless that is being asked already.
    fn gate_asks(&mut self, session: &SessionId) {
        let asking =
            self.jobs.values().any(|job| matches!(job.to, ReplyTo::GateCards) && job.session == *session);
        if asking || self.is_gate_asking(session) || !self.may_ask_at_gate(session) {
            return;
        }
        let style = self.card_style();
        if let Some(asked) = self.of_ours(session, Ask::Cards { style }) {
            self.start_looked(ReplyTo::GateCards, session.clone(), asked);
        }
    }

    /// The cards were made: those of the files that hold something are shown, when the person did not see all of them.
    pub(super) fn gate_cards(&mut self, job: AskId, mut cards: Cards) {
        let Some(session) = self.jobs.remove(&job).map(|known| known.session) else { return };
        let standing = self.gates.of(|gated| gated.keeper == session && gated.stage == Stage::Standing);
        let gates: Vec<&Gated> = standing.iter().filter_map(|gate| self.gates.waiting.get(gate)).collect();
        let holds = |hunk: &&HunkShape| gates.iter().any(|gated| self.waits_for(gated, hunk));
        let holding: BTreeSet<HunkId> =
            cards.listing.hunks.iter().filter(holds).map(|hunk| hunk.id.clone()).collect();
        cards.cards.retain(|card| card.pieces.iter().any(|piece| holding.contains(&piece.id)));
        let shown: BTreeSet<HunkId> =
            cards.cards.iter().flat_map(|card| &card.pieces).map(|piece| piece.id.clone()).collect();
        let fresh = |gated: &&&Gated| shown.iter().any(|hunk| !gated.asked.contains(hunk));
        let Some(tool) = gates.iter().find(fresh).and_then(|gated| gated.shown.as_ref()).cloned() else {
            return;
        };
        for gate in standing {
            if let Some(gated) = self.gates.waiting.get_mut(&gate) {
                gated.asked.extend(shown.iter().cloned());
            }
        }
        self.begin_gate_asking(&session, &tool, cards);
    }

    // ── what moves it ──

    /// Something was decided or seen in a session: what waits is looked at again.
    pub(super) fn gates_moved(&mut self, key: &SessionKey) {
        let Some(session) = self.sessions.by_key(key).map(|known| known.id.clone()) else { return };
        for gate in self.gates.of(|gated| gated.keeper == session) {
            match self.gates.waiting.get_mut(&gate) {
                Some(gated) if gated.stage == Stage::Checking => gated.stage = Stage::CheckingAgain,
                Some(gated) if gated.stage == Stage::Standing => self.gate_checks(gate),
                Some(_) | None => {}
            }
        }
    }

    /// The configuration changed: what it no longer holds goes on.
    pub(super) fn gates_reloaded(&mut self) {
        let held = |gated: &Gated| {
            let named = holdable(&gated.method);
            named.is_some_and(|it| self.setup.config.hold.contains(&it))
                && self.gate_about(&gated.wanted).is_some()
        };
        for gate in self.gates.of(|gated| !held(gated)) {
            if self.gates.get(gate).is_some_and(|gated| gated.outdated) {
                self.gate_refuses(gate, "outdated", OUTDATED);
            } else {
                self.gate_lets_by(gate, ("policy", None));
            }
        }
    }

    /// Something was decided: a whole text that was made from lines which are put back would bring them again.
    pub(super) fn gates_decided(&mut self, session: &SessionId, items: &[Decision]) {
        let rejected = |root: &RootId, path: &RepoPath| {
            let mine = |item: &&Decision| item.root == *root && item.path == *path;
            items.iter().filter(mine).any(|item| item.state == ReviewState::Rejected)
        };
        for gated in self.gates.waiting.values_mut().filter(|gated| gated.keeper == *session) {
            if let (About::Files(files), WantedBy::FsWrite) = (&gated.about, gated.wanted.by) {
                gated.outdated |= files.iter().any(|(root, path)| rejected(root, path));
            }
        }
    }

    /// Says whether the agent provably waits: every call of a session that is open has a request that we hold.
    pub(super) fn agent_waits(&self, session: &SessionId) -> bool {
        let household = self.household(session);
        let mut parked: BTreeSet<CallId> = BTreeSet::new();
        let mut waits = false;
        for gated in self.gates.waiting.values().filter(|gated| household.contains(&gated.asker)) {
            waits = true;
            parked.extend(self.call_of(gated));
        }
        let held = |request: &crate::engine::docket::Request| {
            household.contains(&request.session) && request.state == State::Open && request.held.is_some()
        };
        for key in self.docket.which(held) {
            waits = true;
            parked.extend(self.docket.get(&key).and_then(|request| request.call.clone()));
        }
        let mut open = household.iter().filter_map(|id| self.sessions.get(id)).flat_map(|it| it.calls.open());
        let starts = |call: &CallId| {
            let mut others = household.iter().filter_map(|id| self.sessions.get(id));
            others.any(|known| {
                known.calls.open().any(|it| it.parent.as_ref() == Some(call) && parked.contains(&it.call))
            })
        };
        waits && open.all(|call| parked.contains(&call.call) || starts(&call.call))
    }

    fn call_of(&self, gated: &Gated) -> Option<CallId> {
        if gated.wanted.call.is_some() {
            return gated.wanted.call.clone();
        }
        let About::Files(files) = &gated.about else { return None };
        let known = self.sessions.get(&gated.asker)?;
        files.iter().find_map(|(root, path)| claimant(known, root, path))
    }

    /// A call is over: rejects that waited for it are carried out where everything else waits for them.
    pub(super) fn gate_call_over(&mut self, session: &SessionId) {
        let keeper = self.principal_of(session);
        let waits = !self.gates.of(|gated| gated.keeper == keeper).is_empty();
        if waits && self.agent_waits(&keeper) {
            self.run_queued_rejects(&keeper);
        }
    }

    // ── what ends it ──

    /// It goes on, as if it came now.
    fn gate_lets(&mut self, gate: AskId) {
        self.gate_lets_by(gate, ("reviewed", None));
    }

    pub(super) fn gate_lets_by(&mut self, gate: AskId, how: (&str, Option<Channel>)) {
        let Some(gated) = self.gate_over(gate, how) else { return };
        if let (About::Files(files), WantedBy::FsWrite) = (&gated.about, gated.wanted.by) {
            let (id, keeper) = (gated.id.clone(), gated.keeper.clone());
            self.gates.under_way.push(UnderWay { id, keeper, files: files.clone() });
        }
        let waits_with = Some(gated.asker.clone()).filter(|_| !self.holds.is_empty());
        let heard = Heard {
            id: Some(gated.id),
            method: Cow::Owned(gated.method),
            fact: gated.fact,
            waits_with,
            wanted: Some(gated.wanted),
            line: gated.line,
        };
        if self.enforces() {
            self.gated(heard);
        } else {
            self.agent_called(heard);
        }
    }

    fn gate_refuses(&mut self, gate: AskId, how: &str, reason: &str) {
        let Some(gated) = self.gate_over(gate, (how, None)) else { return };
        self.send(Leg::Agent, refusal(&gated.id, reason));
    }

    /// Answers a request that waits: it never goes on.
    fn gate_answers(&mut self, gate: AskId, how: &str) {
        let Some(gated) = self.gate_over(gate, (how, None)) else { return };
        if how == "agent_exit" {
            return;
        }
        let answer = if gated.wanted.by == WantedBy::Permission && how != "withdrawn" {
            author::cancelled_permission(&gated.id)
        } else {
            cancelled(&gated.id)
        };
        self.send(Leg::Agent, answer);
    }

    /// Takes a request out. Whatever way it leaves, the block that was shown goes with it.
    pub(super) fn gate_over(
        &mut self,
        gate: AskId,
        (how, channel): (&str, Option<Channel>),
    ) -> Option<Gated> {
        let gated = self.gates.waiting.remove(&gate)?;
        if gated.shown.is_some() {
            let event = Event::GateReleased { gate: gated.name.clone(), how: how.to_owned(), channel };
            self.gate_records(&gated.keeper, event);
            self.gate_published(&gated.keeper);
        }
        if self.gates.of(|other| other.keeper == gated.keeper && other.stage != Stage::Placing).is_empty() {
            let reviewed = matches!(how, "reviewed" | "outdated" | "person" | "denied" | "policy");
            let why = if reviewed { Undecided::Elsewhere } else { Undecided::Gone };
            self.end_gate_asking(&gated.keeper, why);
        }
        Some(gated)
    }

    /// Answers everything that waits for a session or for what works for it.
    pub(super) fn gates_end(&mut self, session: &SessionId, how: &str) {
        let household = self.household(session);
        let mine = self.gates.of(|gated| household.contains(&gated.asker) || gated.keeper == *session);
        for gate in mine {
            self.gate_answers(gate, how);
        }
    }

    /// The agent takes a request back that waits. Says whether it was one: then nobody else has to hear of it.
    pub(super) fn gate_withdrawn(&mut self, id: &IdToken) -> bool {
        let mine = self.gates.of(|gated| gated.id == *id);
        mine.first().inspect(|gate| self.gate_answers(**gate, "withdrawn")).is_some()
    }

    /// What a dead process left waiting was never answered by it.
    pub(super) fn take_up_gates(&mut self, id: &SessionId) {
        let Some(ledger) = self.sessions.get(id).and_then(|known| self.ledger.session(&known.key)) else {
            return;
        };
        for gate in ledger.gates().cloned().collect::<Vec<_>>() {
            self.gate_records(id, Event::GateReleased { gate, how: "restart".to_owned(), channel: None });
        }
    }
}

fn holdable(method: &str) -> Option<Holdable> {
    match method {
        "session/request_permission" => Some(Holdable::Permission),
        "fs/write_text_file" => Some(Holdable::Fs),
        "terminal/create" => Some(Holdable::Terminal),
        _ => None,
    }
}

/// Returns the paths that a request would change, as sent.
fn paths(subject: &Subject) -> Vec<String> {
    let of = |effect: &Effect| match effect {
        Effect::Write { path, .. } | Effect::Delete { path } => vec![path.clone()],
        Effect::Move { from, to } => vec![from.clone(), to.clone()],
        Effect::Exec { .. } | Effect::Read { .. } | Effect::Fetch { .. } | Effect::Opaque { .. } => {
            Vec::new()
        }
    };
    subject.effects().iter().flat_map(of).collect()
}

/// Says whether a hunk is in a file, or beneath it where that is a directory.
fn covers((root, path): (&str, &RepoPath), hunk: &HunkShape) -> bool {
    let path = path_text(path);
    let beneath = || hunk.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'));
    hunk.root == root && (hunk.path == path || beneath())
}

/// Says whether a hunk was left by an earlier turn than this one.
fn is_older(hunk: &HunkShape, turn: Option<TurnNo>) -> bool {
    if hunk.calls.is_empty() {
        return hunk.evidence.turn != turn;
    }
    hunk.calls.iter().any(|call| call.turn != turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_refused_when_nobody_can_tell_any_more_whether_it_may_go_on() {
        let wanted = r#"{"sessionId":"s1","path":"/w/a","content":"x"}"#;
        let params = wire::Raw::parse(wanted);
        let dialect = crate::acp::Dialect::V1;
        let wanted = crate::acp::read_wanted(dialect, "fs/write_text_file", params).expect("a write");
        let gated = Gated {
            name: "gate-1".to_owned(),
            since: WallNs(0),
            asker: SessionId::new("s1"),
            keeper: SessionId::new("s1"),
            id: IdToken::new("8"),
            method: "fs/write_text_file".to_owned(),
            fact: Fact::Other,
            wanted,
            line: Bytes::from_static(b"{}\n"),
            about: About::Agent,
            stage: Stage::Standing,
            shown: None,
            because: String::new(),
            rev: 1,
            damaged: false,
            asked: BTreeSet::new(),
            outdated: false,
        };
        let mut gates = Gates { waiting: BTreeMap::from([(AskId(1), gated)]), under_way: Vec::new() };
        let given: Vec<_> = gates.give_up();
        assert_eq!(given.len(), 1);
        assert_eq!(given[0].0, Leg::Agent);
        assert!(String::from_utf8_lossy(&given[0].1).contains("-32001"));
        assert!(gates.give_up().is_empty());
    }
}
