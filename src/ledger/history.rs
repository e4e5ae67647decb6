//! The steps of one path since a session's base, with who did each: facts gathered, then carried to now.

use crate::base::{CommitId, ObservationNo, RepoPath, SessionKey};
use crate::diff::{Diff, Eol, LineMap, Text};
use crate::ledger::attribution::{Evidence, RunningTurn, Stretch};
use crate::ledger::carry::{Carried, Credits};
use crate::ledger::content::{Body, Diffs};
use crate::ledger::mediated::Passage;
use crate::ledger::moment::Moment;
use crate::ledger::suspect::{FactIndex, Suspect};
use crate::ledger::{
    Base, Blobs, Chain, Change, ClaimBody, FileState, Kin, Ledger, Observation, Verb, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long a file may stand empty in the middle of one rewrite.
const SPLIT_NS: i64 = 2_000_000_000;

/// Where a change of a path stands in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index among the observations.
    pub observation: usize,
    /// Index among its changes.
    pub change: usize,
}

/// What is asked about: one session over one root, and what it is read from.
pub(super) struct Scene<'a> {
    /// All facts.
    pub ledger: &'a Ledger,
    /// The session and its children.
    pub family: &'a BTreeSet<SessionKey>,
    /// Who started whom.
    pub kin: &'a Kin,
    /// The root's chain.
    pub chain: &'a Chain,
    /// Its facts, arranged.
    pub index: &'a FactIndex,
    /// Contents.
    pub blobs: &'a dyn Blobs,
}

/// One step of a path with all that its credit depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What stood there.
    pub before: Option<FileState>,
    /// What stands there after it.
    pub after: Option<FileState>,
    /// The observation that saw it.
    pub seen: ObservationNo,
    /// Where its evidence comes from.
    pub evidence: Evidence,
    /// What kind of step it is.
    pub role: Role,
}

/// What kind of step it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Somebody changed the path.
    Plain,
    /// Nobody we know of put back exactly what stood there after so many steps.
    Return(usize),
    /// Our own revert, or its undo: what it put back had stood there after so many steps.
    Review(usize),
    /// It is a rename of what stood at another path.
    Rename,
}

/// A path from a session's base to now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// The steps.
    pub steps: Arc<Vec<Step>>,
    /// The base.
    pub base: Option<FileState>,
    /// What stands there now.
    pub current: Option<FileState>,
    /// Every credit of every step.
    pub credits: Credits,
    /// Who changed what is changed now.
    pub carried: Carried,
    /// Who made the rename.
    pub renamed: BTreeSet<u32>,
}

impl Scene<'_> {
    /// Gathers the steps of a path after the base; with what changed while a base was taken that the prompt did not wait
    /// for.
    pub(super) fn steps(&self, path: &RepoPath, places: &[Place], base: &Base) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut background = false;
        for place in places {
            let Some((previous, observation, change)) = self.at(*place) else { continue };
            let doubted = base.doubts(observation.no, change);
            if (observation.no <= base.position && !doubted) || change.before == change.after {
                continue;
            }
            if let Some(last) = steps.last().filter(|last| last.after != change.before) {
                steps.push(unseen(last, change, observation));
            }
            let moment = Moment::of(previous, observation, change);
            let mut evidence = self.evidence(path, moment, (previous, observation, change), background);
            evidence.base_unknown |= doubted;
            if steps.last().is_some_and(|last| self.may_hold_what_was_vacated(path, last, change)) {
                evidence.disown();
            }
            let mut step = Step {
                before: change.before,
                after: change.after,
                seen: observation.no,
                evidence,
                role: Role::Plain,
            };
            step.role = self.role(path, &steps, &step);
            steps.push(step);
            self.mend(path, &mut steps, *place);
            background |=
                steps.last().is_some_and(|step| step.role == Role::Plain && step.evidence.is_background());
        }
        steps
    }

    /// Joins the last steps where they are one rewrite that was seen half done.
    fn mend(&self, path: &RepoPath, steps: &mut Vec<Step>, place: Place) {
        while let [.., first, second] = steps.as_slice()
            && first.is_half_of(second)
        {
            let Some((previous, observation, change)) = self.at(place) else { return };
            let moment = Moment { floor: first.evidence.moment.floor, ..second.evidence.moment };
            let facts = (previous, observation, change);
            let mut evidence = self.evidence(path, moment, facts, first.evidence.background);
            evidence.base_unknown |= first.evidence.base_unknown;
            if self.may_hold_what_was_vacated(path, first, change) {
                evidence.disown();
            }
            let (before, after, seen) = (first.before, second.after, second.seen);
            let mut whole = Step { before, after, seen, evidence, role: Role::Plain };
            steps.truncate(steps.len() - 2);
            whole.role = self.role(path, steps, &whole);
            steps.push(whole);
        }
    }

    /// Says whether what passed through us may hold what nobody observed: somebody else's rewrite, which a look had met half
    /// done before the write went on to the client.
    fn may_hold_what_was_vacated(&self, path: &RepoPath, last: &Step, change: &Change) -> bool {
        let moment = &last.evidence.moment;
        let soon = change.read_at.0.saturating_sub(moment.latest.0) <= SPLIT_NS;
        let vacated = vacant(last.after) && !vacant(last.before) && soon;
        let under_way = |write: &Window| {
            write.opened <= moment.latest && write.closed.is_none_or(|end| end.at >= moment.earliest)
        };
        vacated && !self.index.all_writes_to(path).any(under_way)
    }

    fn at(&self, place: Place) -> Option<(Option<&Observation>, &Observation, &Change)> {
        let all = self.chain.observations();
        let observation = all.get(place.observation)?;
        let previous = place.observation.checked_sub(1).and_then(|before| all.get(before));
        Some((previous.map(Arc::as_ref), observation, observation.changes.get(place.change)?))
    }

    fn evidence(
        &self,
        path: &RepoPath,
        moment: Moment,
        (previous, observation, change): (Option<&Observation>, &Observation, &Change),
        background: bool,
    ) -> Evidence {
        let (suspects, elsewhere) = self.index.suspects(path, &moment, self.kin);
        let head_moved = previous.is_some_and(|previous| previous.head != observation.head);
        let committed = |head: &CommitId| self.blobs.committed(head, path);
        let vcs = head_moved
            && change.after.is_some()
            && observation.head.as_ref().and_then(committed) == change.after.map(|state| state.blob);
        let passage = Passage { index: self.index, kin: self.kin, path };
        let exactly = || {
            let after = Body::of(change.after.as_ref(), self.blobs).bytes();
            let after = after.as_ref().filter(|_| change.after.is_some());
            passage.mediated(&moment, after.map(Text::bytes))
        };
        let mediated = if self.index.writes_to(path, &moment).is_empty() { None } else { exactly() };
        let running = self.index.turn_at((&moment, observation.at), self.family);
        let turn = running.map(|(session, turn)| RunningTurn {
            ours: self.family.contains(&session),
            session,
            turn,
        });
        let over = suspects.iter().all(|suspect| suspect.ended_before(moment.earliest));
        let lingering =
            if over && turn.is_none() { self.index.background_before(&moment) } else { Vec::new() };
        Evidence {
            moved: self.moved(path, observation, change, &suspects),
            passed: passage.passed(&moment, &suspects),
            tellers: passage.tellers(&moment, &suspects),
            moment,
            looked: observation.at,
            suspects,
            elsewhere,
            turn,
            mediated,
            background,
            base_unknown: change.flags.base_unknown,
            vcs,
            gone: change.after.is_none(),
            lingering,
        }
    }

    /// Says whether these very bytes came from, or went to, where a suspect claims to have moved them.
    fn moved(
        &self,
        path: &RepoPath,
        observation: &Observation,
        change: &Change,
        suspects: &[Suspect],
    ) -> bool {
        self.moves(suspects).any(|(from, to)| {
            let ends_here = to == path || from == path && change.after.is_none();
            let stood = change_of(observation, from).and_then(|from| from.before);
            let stands = change_of(observation, to).and_then(|to| to.after);
            ends_here && stood.zip(stands).is_some_and(|(before, after)| before.blob == after.blob)
        })
    }

    /// Returns the moves that suspects claim: from where, and to where.
    fn moves<'s>(&'s self, suspects: &'s [Suspect]) -> impl Iterator<Item = (&'s RepoPath, &'s RepoPath)> {
        let claims =
            suspects.iter().flat_map(|suspect| &suspect.claims).map(|&number| self.index.claim(number));
        claims.filter_map(|claim| match &claim.body {
            ClaimBody::Move { to } => Some((&claim.path, to)),
            ClaimBody::Location
            | ClaimBody::Fragment { .. }
            | ClaimBody::Whole { .. }
            | ClaimBody::Diff { .. }
            | ClaimBody::Delete => None,
        })
    }

    fn role(&self, path: &RepoPath, earlier: &[Step], step: &Step) -> Role {
        let state =
            |at: usize| if at == 0 { earlier.first().unwrap_or(step).before } else { earlier[at - 1].after };
        let same = |at: &usize| state(*at).map(|state| state.blob) == step.after.map(|state| state.blob);
        let exact = || (0..earlier.len()).rev().find(same);
        if let Some((session, command)) = self.review_of(path, step) {
            return Role::Review(exact().unwrap_or_else(|| self.source(path, earlier, (&session, &command))));
        }
        let nobody = step.evidence.suspects.is_empty() && step.evidence.mediated.is_none();
        match exact().filter(|_| nobody && step.after.is_some()) {
            Some(at) => Role::Return(at),
            None => Role::Plain,
        }
    }

    /// Returns the decision command that made this step, when we did.
    fn review_of(&self, path: &RepoPath, step: &Step) -> Option<(SessionKey, crate::base::CommandId)> {
        let made = self.index.reviews_at(&step.evidence.moment).find(|(window, command)| {
            let Some(session) = self.ledger.session(&window.session) else { return false };
            let intended = session.reverts_in_flight().iter().filter(|intent| intent.command.id == **command);
            let wanted = intended
                .flat_map(|intent| &intent.files)
                .any(|file| file.path == *path && file.wanted == step.after && file.expected == step.before);
            let items = session.decisions().command(command).map(|command| command.items.as_slice());
            let left = |item: &crate::ledger::Decision| {
                (item.path == *path || item.old_path.as_ref() == Some(path)) && item.left == step.after
            };
            let done = session.outcomes(command).iter().any(|outcome| {
                outcome.path == *path
                    && matches!(&outcome.result, crate::ledger::RevertResult::Done { left, .. } if *left == step.after)
            });
            wanted || done || items.unwrap_or_default().iter().any(left)
        });
        made.map(|(window, command)| (window.session.clone(), command.clone()))
    }

    /// Returns after how many steps there stood what a review puts back: the base for a reject, for an undo what the
    /// reject had found.
    fn source(
        &self,
        path: &RepoPath,
        earlier: &[Step],
        (session, command): (&SessionKey, &crate::base::CommandId),
    ) -> usize {
        let decisions = self.ledger.session(session).map(crate::ledger::SessionLedger::decisions);
        let verb = |id: &crate::base::CommandId| decisions?.command(id).map(|command| &command.verb);
        let Some(Verb::Undo { undoes }) = verb(command) else { return 0 };
        let undone = |id: &crate::base::CommandId| {
            id == undoes || matches!(verb(id), Some(Verb::Redo { redoes }) if redoes == undoes)
        };
        let found = earlier.iter().rposition(|step| {
            matches!(step.role, Role::Review(_))
                && self.review_of(path, step).is_some_and(|(_, made)| undone(&made))
        });
        found.unwrap_or(0)
    }
}

/// Returns what an observation says of a path.
fn change_of<'o>(observation: &'o Observation, path: &RepoPath) -> Option<&'o Change> {
    let at = observation.changes.binary_search_by(|other| other.path.cmp(path));
    at.ok().and_then(|at| observation.changes.get(at))
}

/// A step that nobody saw: the chain does not connect here.
fn unseen(last: &Step, change: &Change, observation: &Observation) -> Step {
    let floor = last.evidence.looked;
    let moment = Moment { floor, earliest: floor, latest: change.read_at, ctime: None, tick: 0 };
    Step {
        before: last.after,
        after: change.before,
        seen: observation.no,
        evidence: Evidence {
            moment,
            looked: observation.at,
            suspects: Vec::new(),
            elsewhere: Vec::new(),
            turn: None,
            mediated: None,
            passed: Vec::new(),
            tellers: BTreeSet::new(),
            background: false,
            base_unknown: false,
            vcs: false,
            moved: false,
            gone: change.before.is_none(),
            lingering: Vec::new(),
        },
        role: Role::Plain,
    }
}

impl History {
    /// Carries the authors through the steps.
    pub(super) fn carry(steps: Arc<Vec<Step>>, scene: &Scene<'_>, diffs: &mut Diffs) -> Self {
        let base = steps.first().and_then(|step| step.before);
        let current = steps.last().and_then(|step| step.after);
        let mut history = Self { base, current, ..Self::default() };
        let base_body = Body::of(base.as_ref(), scene.blobs);
        history.carried = Carried::base(base_body.lines().len());
        let wanted: BTreeSet<usize> = steps.iter().filter_map(Step::source).collect();
        let mut kept: BTreeMap<usize, (Carried, Body)> = BTreeMap::new();
        let mut body = base_body.clone();
        let mut vacated: Option<(Carried, Body, &Step)> = None;
        for (at, step) in steps.iter().enumerate() {
            if wanted.contains(&at) {
                kept.insert(at, (history.carried.clone(), body.clone()));
            }
            let next = Body::of(step.after.as_ref(), scene.blobs);
            let vacates = vacant(step.after) && !vacant(step.before);
            // The beginning of a text that the next step completes: a look met it while it was being written.
            let begins = steps.get(at + 1).is_some_and(|then| step.begins(then, &next, scene.blobs));
            let shrinks = step.after.map(|state| state.size) < step.before.map(|state| state.size);
            let before = (vacates || begins && shrinks && vacated.is_none()).then(|| history.carried.clone());
            let source = step.source().and_then(|at| kept.get(&at));
            match (&step.role, source) {
                (Role::Rename, _) => history.rename(step, scene),
                (_, Some(source)) => history.put_back(step, source, [&body, &next]),
                (_, None) => history.take(step, scene, [&body, &next], diffs),
            }
            if let Some(before) = before {
                vacated = Some((before, body, step));
            } else if let Some((mut stood, text, emptied)) = vacated.take_if(|_| !vacant(step.after)) {
                if emptied.after.is_none() || emptied.until(step) > SPLIT_NS {
                    stood.forget_written();
                }
                history.carried.stand_again(
                    &stood,
                    &Diff::of(&text.lines(), &next.lines()),
                    next.lines().len(),
                );
                vacated = begins.then_some((stood, text, step));
            }
            history.settle(step, [&base_body, &next]);
            body = next;
        }
        history.steps = steps;
        history
    }

    /// Gathers the credits only: for a path that is what it was.
    pub(super) fn credits_only(steps: Arc<Vec<Step>>, scene: &Scene<'_>) -> Self {
        let base = steps.first().and_then(|step| step.before);
        let mut history = Self { base, current: base, ..Self::default() };
        for step in steps.iter() {
            let plain = matches!(step.role, Role::Plain);
            let credits = if !plain {
                Vec::new()
            } else if step.evidence.needs_texts(scene.index) {
                divide(
                    step,
                    scene,
                    &Body::of(step.before.as_ref(), scene.blobs),
                    &Body::of(step.after.as_ref(), scene.blobs),
                )
                .into_iter()
                .map(|stretch| stretch.credit)
                .collect()
            } else {
                vec![step.evidence.whole(scene.index)]
            };
            for credit in &credits {
                history.credits.number(credit);
            }
        }
        history.steps = steps;
        history
    }

    /// Takes in a step that somebody made.
    fn take(&mut self, step: &Step, scene: &Scene<'_>, [before, after]: [&Body; 2], diffs: &mut Diffs) {
        let stretches = divide(step, scene, before, after);
        let credits: Vec<u32> =
            stretches.iter().map(|stretch| self.credits.number(&stretch.credit)).collect();
        let rest = step.evidence.whole(scene.index);
        let whole = match credits.as_slice() {
            [only] => *only,
            _ => self.credits.number(&rest),
        };
        self.take_facets(step, &credits, whole);
        if !before.has_lines() || !after.has_lines() {
            let (old, new) = (before.lines(), after.lines());
            self.carried.rewrite(&Diff::of(&old, &new), whole);
            return;
        }
        let (old, new) = (before.lines(), after.lines());
        let flipped = flip(&old, &new);
        if flipped.is_some() {
            self.carried.eol.insert(whole);
        }
        let direct = stretches.len() == 1 && flipped.is_none();
        if direct {
            let blob = |state: Option<FileState>| state.map(|state| state.blob);
            let diff = diffs.of((blob(step.before), &old), (blob(step.after), &new));
            self.carried.rewrite(&diff, whole);
            return;
        }
        let stood = (stretches.len() > 1).then(|| self.carried.clone());
        let old = flipped.unwrap_or(old);
        let mut text = old.clone();
        let mut untold = BTreeSet::new();
        for (stretch, credit) in stretches.into_iter().zip(credits) {
            let end = stretch.text.unwrap_or_else(|| new.clone());
            self.carried.rewrite(&Diff::of(&text, &end), credit);
            text = end;
            if stretch.untold {
                untold.insert(credit);
            }
        }
        if let Some(stood) = stood.filter(|_| !untold.is_empty()) {
            // A claim took them away on the way, and they never went.
            self.carried.never_went(&stood, &Diff::of(&old, &new), &untold);
        }
    }

    fn take_facets(&mut self, step: &Step, credits: &[u32], whole: u32) {
        if step.before.map(|state| state.blob) != step.after.map(|state| state.blob) {
            self.carried.content.extend(credits);
        }
        let mode = |state: Option<FileState>| state.map(|state| state.mode);
        if step.before.is_none() || mode(step.before) != mode(step.after) {
            self.carried.mode.insert(whole);
        }
    }

    /// Takes in a step that put back what had stood there.
    fn put_back(&mut self, step: &Step, (source, stood): &(Carried, Body), [before, after]: [&Body; 2]) {
        let unknown = self.credits.number(&step.evidence.nobody());
        let (old, new, from) = (before.lines(), after.lines(), stood.lines());
        let aligned = LineMap::new(&Diff::of(&from, &new), from.len(), new.len());
        self.carried.put_back(&Diff::of(&old, &new), source, &aligned, unknown);
        self.carried.content = source.content.union(&self.carried.content).copied().collect();
        if stood == after {
            self.carried.content = source.content.clone();
            self.carried.eol = source.eol.clone();
        }
        if step.before.map(|state| state.mode) != step.after.map(|state| state.mode) {
            self.carried.mode = source.mode.clone();
        }
    }

    fn rename(&mut self, step: &Step, scene: &Scene<'_>) {
        let whole = self.credits.number(&step.evidence.whole(scene.index));
        self.renamed.insert(whole);
        if step.before.map(|state| state.mode) != step.after.map(|state| state.mode) {
            self.carried.mode.insert(whole);
        }
    }

    /// Forgets who changed what is the base's again.
    fn settle(&mut self, step: &Step, [base, now]: [&Body; 2]) {
        if base == now && self.base.map(|state| state.blob) == step.after.map(|state| state.blob) {
            self.carried.content.clear();
        }
        if self.base.map(|state| state.mode) == step.after.map(|state| state.mode) {
            self.carried.mode.clear();
        }
        if flip(&base.lines(), &now.lines()).is_none() {
            self.carried.eol.clear();
        }
    }
}

/// Says whether nothing, or an empty file, stands there.
fn vacant(state: Option<FileState>) -> bool {
    state.is_none_or(|state| state.size == 0)
}

impl Step {
    /// Says whether this and the next step are one rewrite: a look met the file emptied, or gone, for a moment, and the
    /// same could have done both. So nobody is credited who could not have done the second alone.
    fn is_half_of(&self, next: &Self) -> bool {
        vacant(self.after) && !vacant(next.after) && self.is_of_one_hand_with(next)
    }

    /// Says whether the same, or some of them, could have done this and the next step, soon after each other.
    fn is_of_one_hand_with(&self, next: &Self) -> bool {
        let plain = self.role == Role::Plain && next.role == Role::Plain;
        if !plain || self.evidence.turn != next.evidence.turn || self.until(next) > SPLIT_NS {
            return false;
        }
        let (now, then): (Vec<_>, Vec<_>) = (self.evidence.able().collect(), next.evidence.able().collect());
        let within = |some: &[_], all: &[_]| some.iter().all(|able| all.contains(able));
        now.is_empty() == then.is_empty() && (within(&now, &then) || within(&then, &now))
    }

    /// Says whether what this step left, `text`, is the beginning of what the next one left, and the same could have done both.
    fn begins(&self, next: &Self, text: &Body, blobs: &dyn Blobs) -> bool {
        let (Some(here), Some(there)) = (self.after, next.after) else { return false };
        let grows = next.before == self.after && here.size < there.size && self.is_of_one_hand_with(next);
        let whole = || Body::of(Some(&there), blobs);
        grows
            && matches!((text.bytes(), whole().bytes()), (Some(text), Some(whole)) if whole.bytes().starts_with(text.bytes()))
    }

    /// Returns the time between two steps. A stamp that did not move says nothing.
    fn until(&self, next: &Self) -> i64 {
        let moments = (&self.evidence.moment, &next.evidence.moment);
        let (from, to) = if moments.0.ctime == moments.1.ctime {
            (self.evidence.looked, next.evidence.looked)
        } else {
            (moments.0.latest, moments.1.latest)
        };
        to.0.saturating_sub(from.0)
    }

    fn source(&self) -> Option<usize> {
        match self.role {
            Role::Return(at) | Role::Review(at) => Some(at),
            Role::Plain | Role::Rename => None,
        }
    }
}

/// Returns the first text with the line endings of the second, where they were flipped as a whole.
pub(super) fn flip(before: &Text, after: &Text) -> Option<Text> {
    let (old, new) = (Eol::of(before.bytes())?, Eol::of(after.bytes())?);
    (old != new).then(|| Text::new(new.give(before.bytes())))
}

/// Divides a step.
fn divide(step: &Step, scene: &Scene<'_>, before: &Body, after: &Body) -> Vec<Stretch> {
    let texts = (before.bytes(), after.bytes());
    match texts {
        (Some(old), Some(new)) if step.evidence.needs_texts(scene.index) => {
            let old = flip(&old, &new).unwrap_or(old);
            step.evidence.divide(scene.index, &old, &new)
        }
        _ => vec![Stretch { text: None, credit: step.evidence.whole(scene.index), untold: true }],
    }
}
