//! What the editor is shown when it asks at a turn's end: a card per file, the riskiest first, each small enough for a line.

use crate::base::{Digest, HunkId};
use crate::diff::{Span, Text};
use crate::ledger::{
    Blobs, Entry, Grade, Hunk, HunkShape, Ledger, Listing, ListingShape, path_text, readable,
};
use crate::review::patch::{PatchEdit, PatchFile, files_of, patch};
use crate::review::render::what_changed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;
/// Files that get a card; the question is about what was shown, so the rest stays in the queue.
const MOST_CARDS: usize = 50;
/// What a card may take as JSON, so that its line stays under 48 KiB with everything else in it.
const ROOM: usize = 36 * 1024;
/// What a card may take at least, however long its path.
const LEAST_ROOM: usize = 2 * 1024;
/// Letters of a line that stand for a change in a form.
const EXCERPT: usize = 120;

/// How a card shows a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardStyle {
    /// Old text and new text (version 1 of the protocol).
    Texts,
    /// A git patch (version 2).
    Patches,
}

/// What is shown of everything that is owed.
#[derive(Clone, Debug, PartialEq)]
pub struct Cards {
    /// The listing that it was made from.
    pub listing: ListingShape,
    /// One per file, the riskiest first.
    pub cards: Vec<Card>,
    /// Owed hunks that are on no card: there are too many files.
    pub unshown: usize,
}

/// What is shown of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its path, for people: absolute where other roots have changes.
    pub path: String,
    /// Its absolute path.
    pub absolute: String,
    /// What happened to it.
    pub change: FileChange,
    /// How much is changed, in a few words.
    pub size: String,
    /// Where its first change stands.
    pub line: Option<u32>,
    /// What the card shows.
    pub looks: Vec<Look>,
    /// Its hunks and entries, in order.
    pub pieces: Vec<Piece>,
}

/// What happened to a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// It was changed.
    Changed,
    /// It was renamed from this absolute path.
    Renamed(String),
}

/// One hunk or entry on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its id.
    pub id: HunkId,
    /// As it is shown.
    pub digest: Digest,
    /// Which lines, or what of the file.
    pub place: String,
    /// Its first changed line.
    pub excerpt: String,
    /// What shows it alone.
    pub look: Look,
}

/// Something a card shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Texts with a little context; `None` where there is no file.
    Texts {
        /// What a revert leaves.
        old: Option<String>,
        /// What stands there.
        new: Option<String>,
    },
    /// A patch and the patch that takes it back; `None` where they are too long to be shown.
    Patch {
        /// From the base to what stands there.
        forth: Option<String>,
        /// From what stands there to what a revert leaves.
        back: Option<String>,
    },
    /// Words.
    Words(String),
}

impl Card {
    /// Returns what shows the revert of some of its pieces, to be read backwards; all of them is the card itself.
    pub fn looks_of(&self, reverted: &BTreeSet<&HunkId>) -> Vec<Look> {
        if self.pieces.iter().all(|piece| reverted.contains(&piece.id)) {
            return self.looks.iter().filter(|look| !matches!(look, Look::Words(_))).cloned().collect();
        }
        let mut room = room_beside(&self.absolute);
        let mine = self.pieces.iter().filter(|piece| reverted.contains(&piece.id));
        mine.map(|piece| &piece.look)
            .filter(|look| {
                let size = size_of(look);
                let fits = size <= room && !matches!(look, Look::Words(_));
                room = room.saturating_sub(if fits { size } else { 0 });
                fits
            })
            .cloned()
            .collect()
    }
}

/// Shows what is owed.
pub(super) fn cards(listing: &Listing, ledger: &Ledger, blobs: &dyn Blobs, style: CardStyle) -> Cards {
    let owed: Vec<&Hunk> =
        listing.hunks.iter().filter(|hunk| hunk.is_owed() && !hunk.reject_pending).collect();
    let mut files: Vec<Vec<&Hunk>> = Vec::new();
    for hunk in &owed {
        match files.iter_mut().find(|file| file[0].root == hunk.root && file[0].path == hunk.path) {
            Some(file) => file.push(hunk),
            None => files.push(vec![hunk]),
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(risk(file)));
    let unshown = files.iter().skip(MOST_CARDS).map(Vec::len).sum();
    let draw = Draw { all: &listing.hunks, ledger, blobs, style };
    Cards {
        listing: ListingShape::from_listing(listing, ledger),
        cards: files.iter().take(MOST_CARDS).map(|file| draw.card(file)).collect(),
        unshown,
    }
}

/// How much a file deserves to be looked at first: what comes back, what runs by itself, what is gone, what is long.
fn risk(file: &[&Hunk]) -> u32 {
    let first = file[0];
    let any = |is: fn(&&&Hunk) -> bool| file.iter().any(|hunk| is(&hunk));
    let lines: u32 = file.iter().map(|hunk| hunk.base_range.len() + hunk.current_range.len()).sum();
    let odd = |hunk: &&&Hunk| {
        matches!(hunk.entry, Entry::Type { .. } | Entry::Symlink { .. } | Entry::Mode { .. } | Entry::Binary)
    };
    let points = [
        (any(|hunk| hunk.reapplied), 100),
        (runs(&path_text(&first.path)), 60),
        (first.current.is_none(), 50),
        (any(odd), 40),
        (any(|hunk| hunk.mixed), 20),
        (any(|hunk| matches!(hunk.grade, Grade::Sole | Grade::Ordered)), 5),
    ];
    points.iter().filter(|(is, _)| *is).map(|(_, points)| points).sum::<u32>() + lines.min(400) / 20
}

/// Says whether a file is one that tools run or obey without being asked.
fn runs(path: &str) -> bool {
    const NAMES: [&str; 18] = [
        "makefile",
        "gnumakefile",
        "justfile",
        "dockerfile",
        "build.rs",
        "package.json",
        "cargo.toml",
        "pyproject.toml",
        "setup.py",
        "conftest.py",
        "cmakelists.txt",
        "agents.md",
        "claude.md",
        ".envrc",
        ".gitattributes",
        ".gitmodules",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
    ];
    const PLACES: [&str; 6] = [".github/", ".husky/", ".vscode/", ".idea/", ".cargo/", ".claude/"];
    const ENDINGS: [&str; 5] = [".sh", ".bash", ".zsh", ".ps1", ".bat"];
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || PLACES.iter().any(|place| path.starts_with(place) || path.contains(&format!("/{place}")))
}

struct Draw<'a> {
    all: &'a [Hunk],
    ledger: &'a Ledger,
    blobs: &'a dyn Blobs,
    style: CardStyle,
}

impl Draw<'_> {
    fn card(&self, file: &[&Hunk]) -> Card {
        let first = file[0];
        let absolute = |path| format!("{}/{}", first.root_path.trim_end_matches('/'), path_text(path));
        let renamed = file.iter().find_map(|hunk| renamed_from(hunk)).map(absolute);
        let path = absolute(&first.path);
        let now = self.text(first);
        let pieces: Vec<Piece> = file.iter().map(|hunk| self.piece(hunk, &now)).collect();
        Card {
            path: if self.all.iter().all(|hunk| hunk.root == first.root) {
                path_text(&first.path)
            } else {
                path.clone()
            },
            change: match (renamed, first.base, first.current) {
                (Some(from), _, _) => FileChange::Renamed(from),
                (None, None, _) => FileChange::Created,
                (None, Some(_), None) => FileChange::Deleted,
                (None, Some(_), Some(_)) => FileChange::Changed,
            },
            size: size_text(file),
            line: file.iter().find(|hunk| hunk.entry == Entry::Text).map(|hunk| hunk.current_range.start),
            looks: self.looks(file, &now, &pieces, room_beside(&path)),
            absolute: path,
            pieces,
        }
    }

    fn text(&self, hunk: &Hunk) -> Text {
        let bytes = hunk.current.and_then(|state| self.blobs.bytes(state.blob));
        bytes.map(Text::new).unwrap_or_else(|| Text::new(Vec::new()))
    }

    fn piece(&self, hunk: &Hunk, now: &Text) -> Piece {
        let shape = HunkShape::from_hunk(hunk, self.ledger);
        let place = what_changed(&shape);
        let text = if hunk.after.is_empty() { &hunk.before } else { &hunk.after };
        let line = readable(text);
        let line = line.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        Piece {
            id: hunk.id.clone(),
            digest: hunk.digest.clone(),
            excerpt: line.chars().take(EXCERPT).collect(),
            look: self.look(&[hunk], now).unwrap_or_else(|| Look::Words(place.clone())),
            place,
        }
    }

    /// Everything in one, or piece by piece as far as there is room.
    fn looks(&self, file: &[&Hunk], now: &Text, pieces: &[Piece], mut room: usize) -> Vec<Look> {
        if let Some(whole) = self.look(file, now)
            && size_of(&whole) <= room
        {
            let words = pieces.iter().filter(|piece| matches!(piece.look, Look::Words(_)));
            return std::iter::once(whole).chain(words.map(|piece| piece.look.clone())).collect();
        }
        let mut looks = Vec::new();
        let mut left = 0;
        for piece in pieces {
            let size = size_of(&piece.look);
            if size <= room {
                room -= size;
                looks.push(piece.look.clone());
            } else {
                left += 1;
            }
        }
        if looks.is_empty()
            && let Some(piece) = pieces.first()
        {
            looks.push(cut(&piece.look, room));
            looks.push(Look::Words("Too long to be shown here in full.".to_owned()));
            left -= 1;
        }
        if left > 0 {
            looks.push(Look::Words(format!("{left} more of its changes are too long to be shown here.")));
        }
        looks
    }

    /// Shows hunks of one file; `None` where none of them has lines.
    fn look(&self, mine: &[&Hunk], now: &Text) -> Option<Look> {
        let lines: Vec<&Hunk> = mine.iter().copied().filter(|hunk| hunk.entry == Entry::Text).collect();
        let (first, last) = (lines.first()?, lines.last()?);
        if self.style == CardStyle::Patches {
            let text = |files: &[PatchFile]| {
                let patch = patch(files, self.blobs);
                (!patch.base64 && patch.text.len() <= ROOM).then_some(patch.text)
            };
            return Some(Look::Patch {
                forth: text(&files_of(self.all, mine)),
                back: text(&[self.back(mine)]),
            });
        }
        let start = first.current_range.start.saturating_sub(CONTEXT).max(1);
        let end = last.current_range.end.saturating_add(CONTEXT).min(now.span().end);
        let mut old = Vec::new();
        let mut at = start;
        for hunk in &lines {
            old.extend_from_slice(now.slice(Span { start: at, end: hunk.current_range.start.max(at) }));
            old.extend_from_slice(&hunk.restore);
            at = hunk.current_range.end.max(at);
        }
        old.extend_from_slice(now.slice(Span { start: at, end: end.max(at) }));
        let created = first.base.is_none() && self.is_whole(mine);
        Some(Look::Texts {
            old: (!created).then(|| readable(&old)),
            new: first.current.map(|_| readable(now.slice(Span { start, end: end.max(start) }))),
        })
    }

    /// The patch from what stands there to what a revert of these hunks leaves.
    fn back(&self, mine: &[&Hunk]) -> PatchFile {
        let first = mine[0];
        let renamed = mine.iter().find_map(|hunk| renamed_from(hunk));
        if self.is_whole(mine) {
            return PatchFile {
                path: renamed.unwrap_or(&first.path).clone(),
                old_path: renamed.map(|_| first.path.clone()),
                before: first.current,
                after: first.base,
                edits: None,
            };
        }
        let lines = mine.iter().filter(|hunk| hunk.entry == Entry::Text);
        let edits = lines.map(|hunk| PatchEdit {
            base: Span { start: hunk.current_range.start, end: hunk.current_range.end },
            text: hunk.restore.clone(),
        });
        PatchFile {
            path: first.path.clone(),
            old_path: None,
            before: first.current,
            after: first.current.or(first.base),
            edits: Some(edits.collect()),
        }
    }

    fn is_whole(&self, mine: &[&Hunk]) -> bool {
        let beside = self.all.iter().filter(|hunk| hunk.root == mine[0].root && hunk.path == mine[0].path);
        beside.into_iter().all(|hunk| mine.iter().any(|chosen| chosen.id == hunk.id))
    }
}

fn renamed_from(hunk: &Hunk) -> Option<&crate::base::RepoPath> {
    hunk.old_path.as_ref().filter(|_| matches!(hunk.entry, Entry::Rename { .. }))
}

fn size_text(file: &[&Hunk]) -> String {
    let taken: u32 = file.iter().map(|hunk| hunk.base_range.len()).sum();
    let given: u32 = file.iter().map(|hunk| hunk.current_range.len()).sum();
    let noun = if file.len() == 1 { "change" } else { "changes" };
    format!("{} {noun} (−{taken} +{given})", file.len())
}

/// The room beside a path, which stands in a card several times.
fn room_beside(path: &str) -> usize {
    ROOM.saturating_sub(6 * json(path)).max(LEAST_ROOM)
}

fn size_of(look: &Look) -> usize {
    match look {
        Look::Texts { old, new } => old.iter().chain(new).map(|text| json(text)).sum(),
        Look::Patch { forth, back } => forth.iter().chain(back).map(|text| json(text)).max().unwrap_or(0),
        Look::Words(text) => json(text),
    }
}

/// How long a text is as JSON.
fn json(text: &str) -> usize {
    text.chars()
        .map(|c| {
            if matches!(c, '"' | '\\') {
                2
            } else if c.is_control() {
                6
            } else {
                c.len_utf8()
            }
        })
        .sum()
}

/// Cuts what is shown to its first lines.
fn cut(look: &Look, room: usize) -> Look {
    let cut = |text: &String, room: usize| {
        let mut left = room;
        let taken = text.char_indices().take_while(|(_, c)| {
            let size = json(c.encode_utf8(&mut [0; 4]));
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let end = taken.last().map_or(0, |(at, c)| at + c.len_utf8());
        let lines = text[..end].rfind('\n').map_or(end, |at| at + 1);
        text[..if end == text.len() { end } else { lines }].to_owned()
    };
    match look {
        Look::Texts { old, new } => Look::Texts {
            old: old.as_ref().map(|text| cut(text, room / 2)),
            new: new.as_ref().map(|text| cut(text, room / 2)),
        },
        Look::Patch { .. } => Look::Patch { forth: None, back: None },
        Look::Words(text) => Look::Words(cut(text, room)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_runs_by_itself_comes_first() {
        for path in
            ["Makefile", "x/.github/workflows/ci.yml", "deploy.SH", ".husky/pre-commit", "a/package.json"]
        {
            assert!(runs(path), "{path}");
        }
        for path in ["src/main.rs", "docs/makefile.md", "package.json.bak", "github/x"] {
            assert!(!runs(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_its_room(text in "[a\"\\\\\n\u{1}é]{0,300}", room in 0usize..200) {
            let look = Look::Texts { old: Some(text.clone()), new: Some(text.clone()) };
            let cut = cut(&look, room);
            prop_assert!(size_of(&cut) <= room);
            let Look::Texts { old: Some(old), .. } = cut else { panic!("texts") };
            prop_assert!(text.starts_with(&old));
            prop_assert!(serde_json::to_string(&old).unwrap().len() <= json(&old) + 2);
        }
    }
}
