//! Floods: very many new files that no call of ours wrote, beneath one directory, are one item.

use crate::base::{RepoPath, RootId};
use crate::ledger::hunk::{EntrySide, entry_id, shown_digest};
use crate::ledger::{Entry, Grade, Hunk, ReviewState};
use std::collections::BTreeMap;

/// New files beneath one directory above which they are one item.
const FLOOD: u32 = 500;

/// Puts one summary in the place of each flood. What a call wrote is never summarised.
pub(super) fn summarise(hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut counts: BTreeMap<(RootId, RepoPath), u32> = BTreeMap::new();
    for hunk in hunks.iter().filter(|hunk| drifts(hunk)) {
        for directory in ancestors(&hunk.path) {
            *counts.entry((hunk.root.clone(), directory)).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count > FLOOD);
    if counts.is_empty() {
        return hunks;
    }
    let mut floods: BTreeMap<(RootId, RepoPath), (u32, Hunk)> = BTreeMap::new();
    let mut kept = Vec::new();
    for hunk in hunks {
        let flooded = ancestors(&hunk.path)
            .map(|directory| (hunk.root.clone(), directory))
            .find(|place| drifts(&hunk) && is_source(&counts, place));
        match flooded {
            None => kept.push(hunk),
            Some(place) => floods.entry(place).or_insert((0, hunk)).0 += 1,
        }
    }
    kept.extend(
        floods.into_iter().map(|((_, directory), (count, sample))| summary(&directory, count, sample)),
    );
    kept
}

/// Says whether an item is a new file that no call wrote and nobody decided on.
fn drifts(hunk: &Hunk) -> bool {
    hunk.base.is_none()
        && hunk.current.is_some()
        && hunk.calls.is_empty()
        && hunk.candidates.is_empty()
        && hunk.old_path.is_none()
        && hunk.state == ReviewState::Unreviewed
        && matches!(hunk.grade, Grade::External | Grade::InTurn)
}

/// Returns the directories that hold a path, the outermost first.
fn ancestors(path: &RepoPath) -> impl Iterator<Item = RepoPath> {
    let mut all: Vec<RepoPath> = std::iter::successors(path.parent(), RepoPath::parent).collect();
    all.reverse();
    all.into_iter()
}

/// Says whether a directory is where a flood lies: no single one beneath it holds nearly all of it.
fn is_source(counts: &BTreeMap<(RootId, RepoPath), u32>, place: &(RootId, RepoPath)) -> bool {
    let Some(&count) = counts.get(place) else { return false };
    let mut beneath = counts
        .range(place.clone()..)
        .skip(1)
        .take_while(|((root, path), _)| *root == place.0 && path.as_bytes().starts_with(place.1.as_bytes()))
        .filter(|((_, path), _)| path.is_beneath(&place.1));
    !beneath.any(|(_, &inner)| inner.saturating_mul(10) >= count.saturating_mul(9))
}

fn summary(directory: &RepoPath, paths: u32, sample: Hunk) -> Hunk {
    let none = EntrySide::default();
    let id = entry_id(&sample.root, directory, "summary", [&none, &none]);
    let digest = shown_digest(&id, sample.base_range, &paths.to_le_bytes());
    Hunk {
        entry: Entry::Summary { paths },
        grade: sample.grade,
        grades: [(sample.grade, paths)].into(),
        sessions: sample.sessions,
        turn: sample.turn,
        locked: Some("many new files that no call wrote".to_owned()),
        ..Hunk::bare(&sample.root, directory, (id, digest))
    }
    .at(sample.root_path)
}
