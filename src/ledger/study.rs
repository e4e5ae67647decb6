//! The answers about every path of a session, kept between listings: only what moved is computed again.

use crate::base::{BlobId, RepoPath, RootId, SessionKey, WallNs};
use crate::ledger::content::Diffs;
use crate::ledger::draft::{Desk, Draft};
use crate::ledger::history::{History, Place, Role, Scene, Step};
use crate::ledger::past::Past;
use crate::ledger::suspect::{FactIndex, Moved};
use crate::ledger::tally::Tally;
use crate::ledger::{
    Base, Blobs, CallFacts, CallKey, Chain, Content, FileState, Kin, Ledger, Observation, SessionLedger,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

/// What was computed for earlier listings of one ledger and its later states. An empty one gives the same answers.
#[derive(Debug, Default)]
pub struct Cache {
    roots: BTreeMap<RootId, RootCache>,
    /// Texts of what was decided.
    pub(super) past: Past,
}

/// What is kept for one root.
#[derive(Debug, Default)]
struct RootCache {
    index: FactIndex,
    places: BTreeMap<RepoPath, Vec<Place>>,
    observed: Vec<Arc<Observation>>,
    kin: Kin,
    sessions: BTreeMap<SessionKey, SessionCache>,
    diffs: Diffs,
}

#[derive(Debug, Default)]
struct SessionCache {
    base: Option<Base>,
    family: BTreeSet<SessionKey>,
    /// What moved since the steps were gathered.
    moved: Moved,
    /// The sessions whose reverts the steps know, as they were then.
    reviewers: Vec<(SessionKey, Weak<SessionLedger>)>,
    gathered: BTreeMap<RepoPath, Gathered>,
    answers: BTreeMap<RepoPath, Arc<Answer>>,
    tally: Tally,
}

/// The steps of one path, and what they depend on.
#[derive(Debug)]
struct Gathered {
    steps: Arc<Vec<Step>>,
    /// How many changes of the path they were made of.
    places: usize,
    /// The latest time at which one of them may have been made.
    latest: WallNs,
    /// One of them may be our own revert.
    reviewed: bool,
}

/// What is known of one path since a session's base.
#[derive(Debug)]
pub(super) struct Answer {
    /// Where it was renamed from.
    pub old_path: Option<RepoPath>,
    /// Its steps and authors.
    pub history: History,
    /// Its hunks and entries.
    pub drafts: Vec<Draft>,
    /// Calls that were credited with any step of it.
    pub credited: BTreeSet<CallKey>,
}

/// One session over one root, studied.
#[derive(Debug)]
pub(super) struct Study<'a> {
    /// The facts of the root's chain.
    pub index: &'a FactIndex,
    /// Every path that changed since the base, and what it was renamed from is left out.
    pub answers: &'a BTreeMap<RepoPath, Arc<Answer>>,
    /// The calls that were credited.
    pub tally: &'a Tally,
    /// The paths that were renamed to another.
    pub renamed: BTreeMap<RepoPath, RepoPath>,
}

impl Study<'_> {
    /// Returns what is known of a call.
    pub(super) fn call(&self, key: &CallKey) -> Option<&CallFacts> {
        self.index.call(key)
    }
}

/// Who is asked about: a session and those it started.
pub(super) struct Subject<'a> {
    /// All facts.
    pub ledger: &'a Ledger,
    /// The session.
    pub session: &'a SessionKey,
    /// It and its children.
    pub family: &'a BTreeSet<SessionKey>,
    /// Who started whom.
    pub kin: &'a Kin,
    /// Contents.
    pub blobs: &'a dyn Blobs,
}

impl Cache {
    /// Studies one root for a session, from the observation that is its base; `None` without a base or chain.
    pub(super) fn study(&mut self, subject: &Subject<'_>, root: &RootId) -> Option<Study<'_>> {
        let chain = subject.ledger.chain(root)?;
        let base = *subject.ledger.session(subject.session)?.base(root)?;
        let cache = self.roots.entry(root.clone()).or_default();
        cache.sync(chain, subject.kin);
        let RootCache { index, places, observed: _, kin: _, sessions, diffs } = cache;
        let kept = sessions.entry(subject.session.clone()).or_default();
        if kept.base != Some(base) || kept.family != *subject.family {
            *kept =
                SessionCache { base: Some(base), family: subject.family.clone(), ..SessionCache::default() };
        }
        let scene = Scene {
            ledger: subject.ledger,
            family: subject.family,
            kin: subject.kin,
            chain,
            index,
            blobs: subject.blobs,
        };
        kept.gather(&scene, places, &base);
        let lineages = Lineages::of(&kept.gathered);
        let renamed = lineages.renames();
        let root_path = subject.ledger.root_path(root);
        let desk = Desk {
            root,
            root_path: &root_path,
            session: subject.session,
            family: subject.family,
            blobs: subject.blobs,
        };
        let answers = answers(&kept.answers, &lineages, &renamed, (&scene, &desk, diffs));
        kept.tally.follow(&kept.answers, &answers);
        kept.answers = answers;
        Some(Study {
            index,
            answers: &kept.answers,
            tally: &kept.tally,
            renamed: renamed.into_iter().map(|(to, from)| (from.path, to)).collect(),
        })
    }
}

impl RootCache {
    /// Takes in what the chain has learned since the last time.
    fn sync(&mut self, chain: &Chain, kin: &Kin) {
        let all = chain.observations();
        let known = self.observed.len();
        let other =
            all.len() < known || (known > 0 && !Arc::ptr_eq(&all[known - 1], &self.observed[known - 1]));
        if other || self.kin != *kin {
            *self = Self { kin: kin.clone(), ..Self::default() };
        }
        for (at, observation) in all.iter().enumerate().skip(self.observed.len()) {
            for (change, changed) in observation.changes.iter().enumerate() {
                let place = Place { observation: at, change };
                self.places.entry(changed.path.clone()).or_default().push(place);
            }
        }
        self.observed.extend(all.iter().skip(self.observed.len()).cloned());
        let moved = self.index.sync(chain);
        self.sessions.values_mut().for_each(|session| session.moved.add(&moved));
    }
}

impl SessionCache {
    /// Gathers the steps of the paths that what moved can concern.
    fn gather(&mut self, scene: &Scene<'_>, places: &BTreeMap<RepoPath, Vec<Place>>, base: &Base) {
        let moved = std::mem::take(&mut self.moved);
        let decided = self.reviewers_moved(scene);
        let holds = |path: &RepoPath, places: &[Place], known: &Gathered| {
            known.places == places.len()
                && known.latest < moved.from
                && !moved.paths.contains(path)
                && !(decided && known.reviewed)
        };
        for (path, places) in places {
            let known = self.gathered.get(path);
            if known.is_some_and(|known| holds(path, places, known)) {
                continue;
            }
            let steps = scene.steps(path, places, base);
            let steps = match known.filter(|known| *known.steps == steps) {
                Some(known) => known.steps.clone(),
                None => Arc::new(steps),
            };
            let latest = steps.iter().map(|step| step.evidence.moment.latest).max();
            let gathered = Gathered {
                places: places.len(),
                latest: latest.unwrap_or(WallNs(i64::MIN)),
                reviewed: steps.iter().any(|step| scene.index.is_reviewed(&step.evidence.moment)),
                steps,
            };
            self.gathered.insert(path.clone(), gathered);
        }
    }

    /// Says whether anything happened to the sessions that reverted something here.
    fn reviewers_moved(&mut self, scene: &Scene<'_>) -> bool {
        let now = || scene.index.reviewers().into_iter().map(|key| (key, scene.ledger.snapshot(key)));
        let alive = |then: &Weak<SessionLedger>, now: Option<Arc<SessionLedger>>| {
            then.upgrade().zip(now).is_some_and(|(then, now)| Arc::ptr_eq(&then, &now))
        };
        if self.reviewers.len() == now().count()
            && self
                .reviewers
                .iter()
                .zip(now())
                .all(|((known, then), (key, now))| known == key && alive(then, now))
        {
            return false;
        }
        let weak = |now: Option<Arc<SessionLedger>>| now.map(|now| Arc::downgrade(&now)).unwrap_or_default();
        self.reviewers = now().map(|(key, now)| (key.clone(), weak(now))).collect();
        true
    }
}

/// Answers about each path; those whose steps are what they were are taken over.
fn answers(
    kept: &BTreeMap<RepoPath, Arc<Answer>>,
    lineages: &Lineages<'_>,
    renamed: &BTreeMap<RepoPath, Source>,
    (scene, desk, diffs): (&Scene<'_>, &Desk<'_>, &mut Diffs),
) -> BTreeMap<RepoPath, Arc<Answer>> {
    let sources: BTreeSet<&RepoPath> = renamed.values().map(|source| &source.path).collect();
    let mut answers = BTreeMap::new();
    for (&path, &own) in &lineages.steps {
        if sources.contains(path) {
            continue;
        }
        let from = renamed.get(path);
        let lineage = match from {
            Some(from) => {
                Arc::new(joined(lineages.straight(&from.path), from.steps, lineages.straight(path)))
            }
            None => own.clone(),
        };
        let same = |answer: &&Arc<Answer>| {
            let steps = &answer.history.steps;
            (Arc::ptr_eq(steps, &lineage) || *steps == lineage)
                && answer.old_path.as_ref() == from.map(|from| &from.path)
        };
        let answer = match kept.get(path).filter(same) {
            Some(answer) => answer.clone(),
            None => {
                Arc::new(Answer::of(path, from.map(|from| from.path.clone()), lineage, (scene, desk, diffs)))
            }
        };
        answers.insert(path.clone(), answer);
    }
    answers
}

impl Answer {
    fn of(
        path: &RepoPath,
        old_path: Option<RepoPath>,
        steps: Arc<Vec<Step>>,
        (scene, desk, diffs): (&Scene<'_>, &Desk<'_>, &mut Diffs),
    ) -> Self {
        let unchanged = steps.first().map(|step| step.before) == steps.last().map(|step| step.after);
        let history = if unchanged && old_path.is_none() {
            History::credits_only(steps, scene)
        } else {
            History::carry(steps, scene, diffs)
        };
        let drafts = desk.drafts(path, old_path.as_ref(), &history, diffs);
        let ours = |key: &&CallKey| desk.family.contains(&key.session);
        let credited =
            history.credits.iter().flat_map(|credit| &credit.calls).filter(ours).cloned().collect();
        Self { old_path, history, drafts, credited }
    }
}

/// The path that another one was renamed from, and after how many of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    path: RepoPath,
    steps: usize,
}

/// The steps of every path that changed.
struct Lineages<'a> {
    steps: BTreeMap<&'a RepoPath, &'a Arc<Vec<Step>>>,
    /// Where they hold round trips of our own (a revert and its undoing): the steps without them.
    straight: BTreeMap<&'a RepoPath, Vec<Step>>,
}

impl<'a> Lineages<'a> {
    fn of(gathered: &'a BTreeMap<RepoPath, Gathered>) -> Self {
        let changed = || gathered.iter().filter(|(_, gathered)| !gathered.steps.is_empty());
        let steps = changed().map(|(path, gathered)| (path, &gathered.steps)).collect();
        let straight = changed()
            .filter(|(_, gathered)| gathered.reviewed)
            .filter(|(_, gathered)| gathered.steps.iter().any(|step| matches!(step.role, Role::Review(_))))
            .map(|(path, gathered)| (path, straightened(&gathered.steps)))
            .collect();
        Self { steps, straight }
    }

    fn straight(&self, path: &RepoPath) -> &[Step] {
        let own = || self.steps.get(path).map(|steps| steps.as_slice());
        self.straight.get(path).map(Vec::as_slice).or_else(own).unwrap_or_default()
    }

    /// Pairs paths that are new with paths that are gone and held the very bytes with which the new one began.
    fn renames(&self) -> BTreeMap<RepoPath, Source> {
        let mut gone: BTreeMap<BlobId, Vec<Source>> = BTreeMap::new();
        for &path in self.steps.keys() {
            let steps = self.straight(path);
            let (first, last) = (steps.first(), steps.last());
            if first.is_none_or(|step| step.before.is_none()) || last.is_none_or(|step| step.after.is_some())
            {
                continue;
            }
            let mut held: BTreeMap<BlobId, usize> = BTreeMap::new();
            let states = first.map(|step| step.before).into_iter().chain(steps.iter().map(|step| step.after));
            held.extend(states.enumerate().filter_map(|(at, state)| Some((state.filter(tells)?.blob, at))));
            for (blob, at) in held {
                gone.entry(blob).or_default().push(Source { path: path.clone(), steps: at });
            }
        }
        let mut taken: BTreeSet<RepoPath> = BTreeSet::new();
        let mut pairs = BTreeMap::new();
        for &path in self.steps.keys() {
            let steps = self.straight(path);
            let born = steps.first().filter(|step| step.before.is_none()).and_then(|step| step.after);
            let stands = steps.iter().all(|step| step.after.is_some());
            let Some(sources) = born.filter(|_| stands).and_then(|born| gone.get(&born.blob)) else {
                continue;
            };
            let mut free = sources.iter().filter(|source| !taken.contains(&source.path));
            let named = free.clone().find(|source| source.path.name() == path.name());
            if let Some(source) = named.or(free.next()) {
                taken.insert(source.path.clone());
                pairs.insert(path.clone(), source.clone());
            }
        }
        pairs
    }
}

/// Leaves out what our own reverts took back and their undoing put back: the steps that led to what stood before and stands again.
fn straightened(steps: &[Step]) -> Vec<Step> {
    let base = steps.first().and_then(|step| step.before);
    let state = |steps: &[Step], at: usize| match at.checked_sub(1) {
        Some(before) => steps.get(before).and_then(|step| step.after),
        None => base,
    };
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        let stood = |wanted: Option<FileState>| (0..=kept.len()).rev().find(|at| state(&kept, *at) == wanted);
        let role = match step.role {
            Role::Plain => Role::Plain,
            Role::Rename => Role::Rename,
            Role::Return(at) => stood(state(steps, at)).map_or(Role::Plain, Role::Return),
            Role::Review(at) => match stood(step.after) {
                Some(back) => {
                    kept.truncate(back);
                    continue;
                }
                // What a revert took back, its undoing puts back: the steps that had led there lead there again.
                None if state(steps, at) == step.after => {
                    kept = straightened(&steps[..at]);
                    continue;
                }
                None => Role::Review(stood(state(steps, at)).unwrap_or(0)),
            },
        };
        kept.push(Step { role, ..step.clone() });
    }
    kept
}

/// Says whether equal blobs mean equal content: not for empty files and stand-ins.
fn tells(state: &FileState) -> bool {
    state.size > 0 && state.content != Content::Withheld
}

/// Joins the first steps of the old path to those of the new one, whose creation is the rename.
fn joined(old: &[Step], count: usize, own: &[Step]) -> Vec<Step> {
    let mut all = old[..count].to_vec();
    let stood = all.last().map(|step| step.after).or(old.first().map(|step| step.before)).flatten();
    for (at, step) in own.iter().enumerate() {
        let mut step = step.clone();
        if at == 0 {
            step = Step { before: stood, role: Role::Rename, ..step };
        } else if let Role::Return(source) | Role::Review(source) = &mut step.role {
            *source = if *source == 0 { 0 } else { *source + count };
        }
        all.push(step);
    }
    all
}
