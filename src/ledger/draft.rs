//! The hunks and entries of one path, with their authors, before anything is known of decisions.

use crate::base::{CallId, Digest, RepoPath, RootId, SessionKey};
use crate::diff::{Diff, LineHunk, LineMap, Span, Text};
use crate::ledger::carry::Resolver;
use crate::ledger::content::{Body, Diffs};
use crate::ledger::history::{History, flip};
use crate::ledger::hunk::{EntrySide, entry_id, hunk_id, shown_digest};
use crate::ledger::{
    AuthorLines, Blobs, CallKey, Credit, Entry, FileState, Grade, Hunk, LineRange, Mode, Side,
};
use std::collections::BTreeSet;

/// An item of a listing whose calls are named, not yet described.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    /// The item; calls, candidates and sessions are empty.
    pub hunk: Hunk,
    /// Calls of the session and its children.
    pub calls: BTreeSet<CallKey>,
    /// Calls that remain for contested lines.
    pub candidates: BTreeSet<CallKey>,
    /// Other sessions that are credited.
    pub others: BTreeSet<(SessionKey, Option<CallId>)>,
}

/// Where drafts are made.
pub(super) struct Desk<'a> {
    /// The root.
    pub root: &'a RootId,
    /// The root's absolute path, for people.
    pub root_path: &'a str,
    /// The session that is listed.
    pub session: &'a SessionKey,
    /// It and its children.
    pub family: &'a BTreeSet<SessionKey>,
    /// Contents.
    pub blobs: &'a dyn Blobs,
}

/// A range without lines, as entries and creations have it.
const NO_LINES: LineRange = LineRange { start: 1, end: 1 };

impl Desk<'_> {
    /// Drafts what changed at a path: `old_path` where it was renamed.
    pub(super) fn drafts(
        &self,
        path: &RepoPath,
        old_path: Option<&RepoPath>,
        history: &History,
        diffs: &mut Diffs,
    ) -> Vec<Draft> {
        let bodies = [&history.base, &history.current].map(|state| Body::of(state.as_ref(), self.blobs));
        let work = Work { desk: self, path, old_path, history, bodies: &bodies };
        let mut drafts = Vec::new();
        if let Some(old_path) = old_path {
            drafts.push(work.renamed(old_path));
        }
        match &bodies {
            [Body::Absent, Body::Absent] => {}
            [Body::Link(_), Body::Link(_) | Body::Absent] | [Body::Absent, Body::Link(_)] => {
                drafts.extend(work.symlink());
            }
            [Body::Link(_), _] | [_, Body::Link(_)] => drafts.push(work.type_change()),
            [Body::Opaque { .. }, _] | [_, Body::Opaque { .. }] => {
                drafts.extend(work.binary());
                drafts.extend(work.mode());
            }
            [Body::Text(_) | Body::Absent, Body::Text(_) | Body::Absent] => {
                drafts.extend(work.mode());
                drafts.extend(work.empty());
                drafts.extend(work.text(diffs));
            }
        }
        drafts
    }
}

/// One path on the desk.
struct Work<'a> {
    desk: &'a Desk<'a>,
    path: &'a RepoPath,
    old_path: Option<&'a RepoPath>,
    history: &'a History,
    bodies: &'a [Body; 2],
}

impl Work<'_> {
    fn renamed(&self, old_path: &RepoPath) -> Draft {
        let from =
            EntrySide { state: self.history.base, target: Some(old_path.as_bytes().to_vec()), mode: None };
        let entry = Entry::Rename { old_path: old_path.clone() };
        self.entry(entry, [from, EntrySide::default()], &self.history.renamed)
    }

    fn symlink(&self) -> Option<Draft> {
        let [old, new] = self.bodies;
        if old == new {
            return None;
        }
        let side = |body: &Body| EntrySide { target: target(body), ..EntrySide::default() };
        let shown = |body: &Body| target(body).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let entry = Entry::Symlink { old_target: shown(old), new_target: shown(new) };
        Some(self.entry(entry, [side(old), side(new)], &self.history.carried.content))
    }

    fn type_change(&self) -> Draft {
        let [old, new] = [self.history.base, self.history.current];
        let side = |state: Option<FileState>| EntrySide { state, mode: state.map(mode), target: None };
        let shown = |state: Option<FileState>| state.map(mode).unwrap_or_default().to_owned();
        let entry = Entry::Type { old_mode: shown(old), new_mode: shown(new) };
        self.entry(entry, [side(old), side(new)], &self.history.carried.content)
    }

    fn binary(&self) -> Option<Draft> {
        let [old, new] = [self.history.base, self.history.current];
        if old.map(|state| state.blob) == new.map(|state| state.blob) {
            return None;
        }
        let side = |state| EntrySide { state, ..EntrySide::default() };
        Some(self.entry(Entry::Binary, [side(old), side(new)], &self.history.carried.content))
    }

    fn mode(&self) -> Option<Draft> {
        let (old, new) = (self.history.base.map(mode)?, self.history.current.map(mode)?);
        if old == new {
            return None;
        }
        let side = |mode| EntrySide { mode: Some(mode), ..EntrySide::default() };
        let entry = Entry::Mode { old_mode: old.to_owned(), new_mode: new.to_owned() };
        Some(self.entry(entry, [side(old), side(new)], &self.history.carried.mode))
    }

    fn empty(&self) -> Option<Draft> {
        let side = |state| EntrySide { state, ..EntrySide::default() };
        let sides = [side(self.history.base), side(self.history.current)];
        match self.bodies {
            [Body::Absent, Body::Text(text)] | [Body::Text(text), Body::Absent] if text.is_empty() => {
                Some(self.entry(Entry::Empty, sides, &self.history.carried.content))
            }
            _ => None,
        }
    }

    fn text(&self, diffs: &mut Diffs) -> Vec<Draft> {
        let [base, current] = self.bodies.each_ref().map(Body::lines);
        let flipped = flip(&base, &current);
        let mut drafts: Vec<Draft> = flipped.iter().map(|_| self.eol()).collect();
        let blob = |state: Option<FileState>| state.map(|state| state.blob);
        let diff = match &flipped {
            Some(flipped) => std::sync::Arc::new(Diff::of(flipped, &current)),
            None => diffs.of((blob(self.history.base), &base), (blob(self.history.current), &current)),
        };
        let map = LineMap::new(&diff, base.len(), current.len());
        let resolver = Resolver::new(&self.history.carried, &map);
        let restored = flipped.as_ref().unwrap_or(&base);
        drafts.extend(diff.hunks.iter().map(|hunk| self.hunk(hunk, [&base, restored, &current], &resolver)));
        drafts
    }

    fn eol(&self) -> Draft {
        let first_end =
            |body: &Body| crate::diff::Eol::of(body.lines().bytes()).map(|eol| eol.terminator().to_vec());
        let [old, new] =
            self.bodies.each_ref().map(|body| EntrySide { target: first_end(body), ..EntrySide::default() });
        self.entry(Entry::Eol, [old, new], &self.history.carried.eol)
    }

    fn hunk(&self, hunk: &LineHunk, [base, restored, current]: [&Text; 3], resolver: &Resolver<'_>) -> Draft {
        let (before, after) = (base.slice(hunk.base), current.slice(hunk.current));
        let id = hunk_id(self.desk.root, self.path, before, after, hunk.base.into());
        let digest = shown_digest(&id, hunk.current.into(), after);
        let mut lines = Vec::new();
        let doubt = self.doubt();
        let mut add = |side, span: Span, who: &dyn Fn(u32) -> Option<u32>| {
            for line in span.lines() {
                let credit = who(line).and_then(|number| self.history.credits.get(number));
                lines.push((side, line, credit.unwrap_or(&doubt).clone()));
            }
        };
        add(Side::Before, hunk.base, &|line| resolver.removed(line));
        add(Side::After, hunk.current, &|line| resolver.wrote(line));
        let shown = Hunk {
            entry: Entry::Text,
            base_range: hunk.base.into(),
            current_range: hunk.current.into(),
            current_bytes: current.byte_range(hunk.current),
            before: before.to_vec(),
            after: after.to_vec(),
            restore: restored.slice(hunk.base).to_vec(),
            ..self.blank(id, digest)
        };
        self.credited(shown, Lines::Numbered(lines))
    }

    fn entry(&self, entry: Entry, sides: [EntrySide; 2], who: &BTreeSet<u32>) -> Draft {
        let id = entry_id(self.desk.root, self.path, entry.kind(), [&sides[0], &sides[1]]);
        let now = self.history.current;
        let text = now.map(|state| format!("{} {}", state.mode.as_str(), state.blob)).unwrap_or_default();
        let digest = shown_digest(&id, NO_LINES, text.as_bytes());
        let mut credits: Vec<Credit> =
            who.iter().filter_map(|&number| self.history.credits.get(number)).cloned().collect();
        if credits.is_empty() {
            credits.push(self.doubt());
        }
        self.credited(Hunk { entry, ..self.blank(id, digest) }, Lines::Whole(credits))
    }

    fn blank(&self, id: crate::base::HunkId, digest: Digest) -> Hunk {
        let locked = self.bodies.iter().find_map(Body::locked).map(str::to_owned);
        let unknown = self.history.steps.iter().any(|step| step.evidence.base_unknown);
        let unknown = unknown.then(|| "its base was read after the prompt had gone out".to_owned());
        Hunk {
            old_path: self.old_path.cloned(),
            base: self.history.base,
            current: self.history.current,
            locked: unknown.or(locked),
            ..Hunk::bare(self.desk.root, self.path, (id, digest))
        }
        .at(self.desk.root_path.to_owned())
    }

    /// The credit of a line for which the steps have none: the only one of the path, else contested among all.
    fn doubt(&self) -> Credit {
        let mut all = self.history.credits.iter();
        let first = all.next().cloned();
        match first {
            Some(only) if all.next().is_none() => only,
            first => {
                let every = first.iter().chain(self.history.credits.iter().skip(1));
                let candidates: BTreeSet<CallKey> =
                    every.flat_map(|credit| credit.calls.iter().chain(&credit.candidates)).cloned().collect();
                let grade = if candidates.is_empty() { Grade::External } else { Grade::Contested };
                let candidates = candidates.into_iter().collect();
                Credit { grade, calls: Vec::new(), candidates, turn: None, vcs: false }
            }
        }
    }

    fn credited(&self, mut hunk: Hunk, lines: Lines) -> Draft {
        let mut draft = Draft {
            hunk: hunk.clone(),
            calls: BTreeSet::new(),
            candidates: BTreeSet::new(),
            others: BTreeSet::new(),
        };
        let (mut with, mut without) = (false, false);
        let mut turns = BTreeSet::new();
        for (place, absolute) in lines.each() {
            let credit = self.seen_from_here(&absolute, &mut draft.others);
            *hunk.grades.entry(credit.grade).or_default() += 1;
            with |= !credit.calls.is_empty();
            without |= credit.calls.is_empty();
            hunk.vcs |= credit.vcs;
            draft.calls.extend(credit.calls.iter().cloned());
            draft.candidates.extend(credit.candidates.iter().cloned());
            turns.extend(credit.turn.iter().map(|(session, turn)| (session == self.desk.session, *turn)));
            if let Some((side, line)) = place {
                add_run(&mut hunk.author_lines, side, line, credit);
            }
        }
        hunk.grade = hunk
            .grades
            .iter()
            .max_by_key(|(grade, lines)| (**lines, **grade))
            .map_or(Grade::External, |(grade, _)| *grade);
        hunk.mixed = with && without;
        hunk.turn = turns.last().map(|(_, turn)| *turn);
        draft.hunk = hunk;
        draft
    }

    /// Returns a credit as the listed session sees it: what another session did is external, with its name.
    fn seen_from_here(&self, credit: &Credit, others: &mut BTreeSet<(SessionKey, Option<CallId>)>) -> Credit {
        let ours = |key: &CallKey| self.desk.family.contains(&key.session);
        let foreign = |key: &CallKey| (key.session.clone(), Some(key.call.clone()));
        let mut seen = credit.clone();
        let theirs_only = |calls: &[CallKey]| !calls.is_empty() && !calls.iter().any(ours);
        let turn_is_theirs =
            credit.turn.as_ref().is_some_and(|(session, _)| !self.desk.family.contains(session));
        if theirs_only(&credit.calls) || (credit.grade == Grade::Contested && theirs_only(&credit.candidates))
        {
            others.extend(credit.calls.iter().chain(&credit.candidates).map(foreign));
            (seen.calls, seen.candidates) = (Vec::new(), Vec::new());
            seen.grade = seen.grade.max(Grade::External);
        } else if turn_is_theirs && credit.calls.is_empty() && credit.grade != Grade::Contested {
            others.extend(credit.turn.iter().map(|(session, _)| (session.clone(), None)));
            seen.grade = seen.grade.max(Grade::External);
        }
        if turn_is_theirs {
            seen.turn = None;
        }
        seen
    }
}

/// The lines of an item with their credits; an entry has credits only.
enum Lines {
    Numbered(Vec<(Side, u32, Credit)>),
    Whole(Vec<Credit>),
}

impl Lines {
    fn each(self) -> Vec<(Option<(Side, u32)>, Credit)> {
        match self {
            Self::Numbered(lines) => {
                lines.into_iter().map(|(side, line, credit)| (Some((side, line)), credit)).collect()
            }
            Self::Whole(credits) => credits.into_iter().map(|credit| (None, credit)).collect(),
        }
    }
}

fn add_run(runs: &mut Vec<AuthorLines>, side: Side, line: u32, credit: Credit) {
    match runs.last_mut() {
        Some(last) if last.side == side && last.lines.end == line && last.credit == credit => {
            last.lines.end += 1
        }
        _ => runs.push(AuthorLines { side, lines: LineRange { start: line, end: line + 1 }, credit }),
    }
}

fn target(body: &Body) -> Option<Vec<u8>> {
    match body {
        Body::Link(text) => Some(text.bytes().to_vec()),
        Body::Absent | Body::Text(_) | Body::Opaque { .. } => None,
    }
}

fn mode(state: FileState) -> &'static str {
    Mode::as_str(state.mode)
}
