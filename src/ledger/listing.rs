//! The composed diff of a session: base to now, with authors, states, comments and what else stands beside it.

use crate::base::{RepoPath, RootId, SessionId, SessionKey};
use crate::diff::Text;
use crate::ledger::anchor::follow;
use crate::ledger::draft::Draft;
use crate::ledger::flood::summarise;
use crate::ledger::past::{Neighbour, Reading};
use crate::ledger::study::{Study, Subject};
use crate::ledger::{
    Blobs, Cache, CallFacts, CallKey, CallRow, CommentRow, CommentView, Decision, Entry, FileState, Hunk,
    Kin, Ledger, LineRange, Listing, OtherSession, ReviewState, RootRow, SessionLedger, ToolKind,
    fingerprint, hunk_id, shown_digest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Computes everything that a session has to show.
///
/// `cache` belongs to one ledger and its later states; with it, only what moved since the last listing is computed.
pub fn listing(ledger: &Ledger, session: &SessionKey, blobs: &dyn Blobs, cache: &mut Cache) -> Listing {
    let mut listing = Listing { key: Some(session.clone()), ..Listing::default() };
    let Some(own) = ledger.session(session) else { return listing };
    listing.session_id = raw_id(ledger, session).as_str().to_owned();
    listing.skips = ledger.skips(session);
    let kin = Kin::of(ledger);
    let family = kin.family(session);
    let subject = Subject { ledger, session, family: &family, kin: &kin, blobs };
    let taken_back = taken_back(own);
    let roots = own.roots();
    let mut superseded: Vec<(CallKey, CallRow)> = Vec::new();
    let mut present: BTreeSet<CallKey> = BTreeSet::new();
    for root in roots.iter().cloned() {
        let study = cache.study(&subject, &root);
        if let Some(study) = &study {
            superseded.extend(gone_calls(ledger, study, &taken_back));
            if roots.len() > 1 {
                present.extend(study.tally.present().cloned());
            }
            for answer in study.answers.values() {
                listing.hunks.extend(answer.drafts.iter().map(|draft| described(ledger, study, draft)));
            }
        }
        let comments = own.comments().iter().filter(|row| row.comment.root == root);
        listing.comments.extend(comments.map(|row| comment(row, study.as_ref(), blobs)));
    }
    if roots.len() > 1 {
        superseded.retain(|(key, _)| !present.contains(key));
        superseded.sort_by(|(one, _), (other, _)| one.cmp(other));
        superseded.dedup_by(|(one, _), (other, _)| one == other);
    }
    listing.superseded = superseded.into_iter().map(|(_, row)| row).collect();
    listing.hunks.extend(outside(own));
    let mut past = Reading::new(&mut cache.past, blobs);
    decide(own, &mut listing.hunks, &mut past);
    super::approved::mark(ledger, (own, &family), &mut listing.hunks, blobs);
    listing.hunks = summarise(listing.hunks);
    listing.rejected = gone(ledger, own, &listing.hunks, &mut past);
    listing.hunks.sort_by(|a, b| order(a).cmp(&order(b)));
    listing.rejected.sort_by(|a, b| order(a).cmp(&order(b)));
    listing.degraded = degraded(ledger, session);
    listing.reject_pending = own
        .pending_rejects()
        .iter()
        .map(|row| (row.command.clone(), row.hunks.iter().map(|(hunk, _)| hunk.clone()).collect()))
        .collect();
    listing
}

/// Returns the calls of what is rejected: a person took their lines back, and no other call replaced them.
fn taken_back(own: &SessionLedger) -> BTreeSet<CallKey> {
    let decisions = own.decisions().all_in_force().map(|(_, decision)| decision);
    let rejected = decisions.filter(|decision| decision.state == ReviewState::Rejected);
    rejected.flat_map(|decision| decision.calls.iter().cloned()).collect()
}

/// Describes the calls of a root of which nothing is left. There may be very many: both lists are walked once, in order.
fn gone_calls(ledger: &Ledger, study: &Study<'_>, taken_back: &BTreeSet<CallKey>) -> Vec<(CallKey, CallRow)> {
    let mut known = study.index.calls().peekable();
    let mut session: Option<(&SessionKey, SessionId)> = None;
    let mut rows = Vec::new();
    for key in study.tally.superseded().filter(|key| !taken_back.contains(*key)) {
        while known.next_if(|(other, _)| *other < key).is_some() {}
        let facts = known.peek().filter(|(other, _)| *other == key).and_then(|(_, facts)| *facts);
        let id = match &session {
            Some((of, id)) if **of == key.session => id.clone(),
            Some(_) | None => session.insert((&key.session, raw_id(ledger, &key.session))).1.clone(),
        };
        rows.push((key.clone(), described_call(key, id, facts)));
    }
    rows
}

fn order(hunk: &Hunk) -> (&str, &RepoPath, u32, u32, u8) {
    let entry = match hunk.entry {
        Entry::Rename { .. } => 0,
        Entry::Type { .. } | Entry::Symlink { .. } | Entry::Binary | Entry::Empty => 1,
        Entry::Mode { .. } => 2,
        Entry::Eol => 3,
        Entry::Text => 4,
        Entry::Summary { .. } => 5,
        Entry::Outside => 6,
    };
    (&hunk.root_path, &hunk.path, hunk.base_range.start, hunk.current_range.start, entry)
}

fn degraded(ledger: &Ledger, session: &SessionKey) -> Vec<RootRow> {
    let row =
        |(root, why): (RootId, String)| RootRow { path: ledger.root_path(&root), root, degraded: Some(why) };
    ledger.degraded_roots(session).into_iter().map(row).collect()
}

fn raw_id(ledger: &Ledger, session: &SessionKey) -> SessionId {
    ledger.raw_session(session)
}

/// Describes a call for people.
pub(super) fn row(ledger: &Ledger, study: &Study<'_>, key: &CallKey) -> CallRow {
    described_call(key, raw_id(ledger, &key.session), study.call(key))
}

fn described_call(key: &CallKey, session_id: SessionId, facts: Option<&CallFacts>) -> CallRow {
    CallRow {
        session_id,
        tool_call_id: key.call.clone(),
        title: facts.map(|facts| facts.title.to_string()).unwrap_or_default(),
        kind: facts.map_or(ToolKind::Other, |facts| facts.kind),
        turn: key.turn,
    }
}

fn described(ledger: &Ledger, study: &Study<'_>, draft: &Draft) -> Hunk {
    let rows = |keys: &BTreeSet<CallKey>| keys.iter().map(|key| row(ledger, study, key)).collect();
    let agent = |session: &SessionKey| ledger.agent_of(session).map(ToString::to_string).unwrap_or_default();
    let sessions = draft.others.iter().map(|(session, call)| OtherSession {
        session_id: raw_id(ledger, session),
        agent: agent(session),
        tool_call_id: call.clone(),
    });
    Hunk {
        calls: rows(&draft.calls),
        candidates: rows(&draft.candidates),
        sessions: sessions.collect(),
        ..draft.hunk.clone()
    }
}

/// Gives each item the state that was decided for it; a rejected one that stands again is unreviewed and reapplied.
fn decide(own: &SessionLedger, hunks: &mut [Hunk], past: &mut Reading<'_>) {
    let arithmetic = fingerprint();
    let pending: BTreeSet<_> =
        own.pending_rejects().iter().flat_map(|row| row.hunks.iter().map(|(hunk, _)| hunk)).collect();
    let returned = Returned::of(own, hunks, past);
    for hunk in hunks.iter_mut() {
        hunk.reject_pending = pending.contains(&hunk.id);
        let decision = own.decision(&hunk.id).filter(|decision| decision.fingerprint == arithmetic);
        match decision.map(|decision| decision.state).unwrap_or_default() {
            ReviewState::Accepted => hunk.state = ReviewState::Accepted,
            ReviewState::Rejected => {
                hunk.reapplied = true;
                hunk.returned = decision.map_or(0, |decision| decision.returned) + 1;
            }
            ReviewState::Unreviewed => {
                let times = returned.times(hunk);
                hunk.reapplied = times.is_some();
                hunk.returned = times.unwrap_or(0);
            }
        }
    }
}

/// Changes that were rejected and are gone: the same change elsewhere in the file, or re-indented, is their return.
#[derive(Default)]
struct Returned {
    changes: BTreeMap<(RootId, RepoPath), Vec<Gone>>,
}

struct Gone {
    shape: Shape,
    /// How many times it had come back when it was rejected.
    returned: u32,
    /// Hunks that stood beside it when it was rejected: they are no return of it.
    beside: Arc<Vec<Neighbour>>,
}

/// The texts of a change without the white space around its lines.
type Shape = (Vec<Vec<u8>>, Vec<Vec<u8>>);

impl Returned {
    fn of(own: &SessionLedger, hunks: &[Hunk], past: &mut Reading<'_>) -> Self {
        let arithmetic = fingerprint();
        let present: BTreeSet<_> = hunks.iter().map(|hunk| &hunk.id).collect();
        let paths: BTreeSet<(&RootId, &RepoPath)> =
            hunks.iter().map(|hunk| (&hunk.root, &hunk.path)).collect();
        let mut returned = Self::default();
        for (id, decision) in own.decisions().all_in_force() {
            let rejected = decision.state == ReviewState::Rejected && decision.fingerprint == arithmetic;
            if !rejected || present.contains(id) || !paths.contains(&(&decision.root, &decision.path)) {
                continue;
            }
            if let Some(gone) = Gone::of(decision, past) {
                let key = (decision.root.clone(), decision.path.clone());
                returned.changes.entry(key).or_default().push(gone);
            }
        }
        returned
    }

    /// Says how many times a hunk has come back; `None` when it is no return.
    fn times(&self, hunk: &Hunk) -> Option<u32> {
        if hunk.entry != Entry::Text || self.changes.is_empty() {
            return None;
        }
        let shape = shape(&hunk.before, &hunk.after);
        let place = (hunk.before.clone(), hunk.after.clone(), hunk.base_range.start);
        let gone = self.changes.get(&(hunk.root.clone(), hunk.path.clone()));
        let gone = gone.into_iter().flatten();
        let same = gone.filter(|gone| gone.shape == shape && gone.beside.binary_search(&place).is_err());
        same.map(|gone| gone.returned + 1).max()
    }
}

impl Gone {
    fn of(decision: &Decision, past: &mut Reading<'_>) -> Option<Self> {
        if decision.base_range.is_none() || decision.current_range.is_none() {
            return None;
        }
        let sides = past.sides(decision);
        let shape = shape(&sides.before, &sides.after);
        let blank = |lines: &[Vec<u8>]| lines.iter().all(Vec::is_empty);
        let tells = !blank(&shape.0) || !blank(&shape.1);
        tells.then(|| Self { shape, returned: decision.returned, beside: past.hunks(decision) })
    }
}

fn shape(before: &[u8], after: &[u8]) -> Shape {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        Text::new(bytes).lines().map(|line| line.trim_ascii().to_vec()).collect()
    };
    (lines(before), lines(after))
}

/// Shows the items that are rejected and gone, as they were when they were decided.
fn gone(ledger: &Ledger, own: &SessionLedger, hunks: &[Hunk], past: &mut Reading<'_>) -> Vec<Hunk> {
    let arithmetic = fingerprint();
    let present: BTreeSet<_> = hunks.iter().map(|hunk| &hunk.id).collect();
    let mut rows = BTreeMap::new();
    own.decisions()
        .all_in_force()
        .filter(|(id, decision)| {
            decision.state == ReviewState::Rejected
                && decision.fingerprint == arithmetic
                && !present.contains(id)
        })
        .map(|(_, decision)| rejected(ledger, decision, past, &mut rows))
        .collect()
}

fn rejected<'d>(
    ledger: &Ledger,
    decision: &'d Decision,
    past: &mut Reading<'_>,
    rows: &mut BTreeMap<(&'d RootId, &'d CallKey), CallRow>,
) -> Hunk {
    let nowhere = LineRange { start: 1, end: 1 };
    let calls = decision.calls.iter().map(|key| {
        let row = || {
            let (title, kind) = title(ledger, decision, key);
            let (session_id, tool_call_id) = (raw_id(ledger, &key.session), key.call.clone());
            CallRow { session_id, tool_call_id, title, kind, turn: key.turn }
        };
        rows.entry((&decision.root, key)).or_insert_with(row).clone()
    });
    let calls = calls.collect();
    let lines = decision.base_range.is_some();
    let sides = past.sides(decision);
    Hunk {
        entry: if lines { Entry::Text } else { entry_of(decision) },
        base_range: decision.base_range.unwrap_or(nowhere),
        current_range: decision.current_range.unwrap_or(nowhere),
        after: if lines { sides.after.clone() } else { Vec::new() },
        restore: sides.before.clone(),
        before: sides.before.clone(),
        base: decision.base,
        current: decision.seen,
        calls,
        turn: decision.calls.iter().filter_map(|key| key.turn).max(),
        state: ReviewState::Rejected,
        old_path: decision.old_path.clone(),
        ..Hunk::bare(&decision.root, &decision.path, (decision.hunk.clone(), decision.digest.clone()))
    }
    .at(ledger.root_path(&decision.root))
}

fn title(ledger: &Ledger, decision: &Decision, key: &CallKey) -> (String, ToolKind) {
    let windows = ledger.chain(&decision.root).into_iter().flat_map(|chain| chain.windows().rev());
    let mut facts = windows.filter_map(|window| match &window.purpose {
        crate::ledger::Purpose::Call(facts) => {
            (facts.call == key.call && window.turn == key.turn && window.session == key.session)
                .then_some(facts)
        }
        crate::ledger::Purpose::Turn
        | crate::ledger::Purpose::FsWrite { .. }
        | crate::ledger::Purpose::Terminal { .. }
        | crate::ledger::Purpose::Review { .. }
        | crate::ledger::Purpose::Background { .. } => None,
    });
    facts.next().map_or((String::new(), ToolKind::Other), |facts| (facts.title.to_string(), facts.kind))
}

/// Says what kind of entry a decision without lines was about.
fn entry_of(decision: &Decision) -> Entry {
    let mode =
        |state: Option<FileState>| state.map(|state| state.mode.as_str().to_owned()).unwrap_or_default();
    match (&decision.old_path, decision.base, decision.seen) {
        (Some(old_path), _, _) => Entry::Rename { old_path: old_path.clone() },
        (None, Some(base), Some(seen)) if base.blob == seen.blob => {
            Entry::Mode { old_mode: mode(Some(base)), new_mode: mode(Some(seen)) }
        }
        (None, base, seen) if base.or(seen).is_some_and(|state| state.size == 0) => Entry::Empty,
        (None, _, _) => Entry::Binary,
    }
}

/// Lists the paths that calls named beyond every root: shown, never rejectable.
fn outside(own: &SessionLedger) -> Vec<Hunk> {
    let nowhere = LineRange { start: 1, end: 1 };
    let root = RootId::derive(b"/");
    let mut seen: BTreeSet<&RepoPath> = BTreeSet::new();
    let named = own.notices().iter().filter(|notice| notice.topic == "outside");
    let holds_a_root = |path: &RepoPath| {
        let tops = own
            .roots()
            .into_iter()
            .filter_map(|root| RepoPath::new(own.root_path(&root)?.strip_prefix('/')?).ok());
        tops.into_iter().any(|top| top == *path || top.is_beneath(path))
    };
    named
        .filter_map(|notice| notice.path.as_ref())
        .filter(|path| !holds_a_root(path) && seen.insert(path))
        .map(|path| {
            let id = hunk_id(&root, path, b"", b"outside", nowhere);
            let digest = shown_digest(&id, nowhere, b"");
            let hunk = Hunk { entry: Entry::Outside, ..Hunk::bare(&root, path, (id, digest)) };
            Hunk { locked: Some("outside every root".to_owned()), ..hunk }.at("/".to_owned())
        })
        .collect()
}

fn comment(row: &CommentRow, study: Option<&Study<'_>>, blobs: &dyn Blobs) -> CommentView {
    let comment = row.comment.as_ref();
    let moved = study.and_then(|study| study.renamed.get(&comment.path));
    let path = moved.unwrap_or(&comment.path);
    let answer = study.and_then(|study| study.answers.get(path));
    let current = match answer {
        Some(answer) => answer.history.current,
        None => comment.anchor,
    };
    CommentView { path: path.clone(), ..CommentView::of(row, follow(comment, current.as_ref(), blobs)) }
}
