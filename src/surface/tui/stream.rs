//! The queue as one continuous stream of blocks, each of a known height, so that only what is in sight is ever drawn.

use super::leaf::Leaf;
use crate::ledger::{CallRow, CommentShape, HunkShape, ReviewState};
use std::collections::{BTreeMap, BTreeSet};

/// Unchanged lines that are shown on either side of a hunk.
const CONTEXT: u32 = 3;
/// Hunks with fewer unchanged lines between them are one group.
const CLOSE: u32 = 3;
/// Lines of an outdated comment's text that are shown.
const EXCERPT: usize = 6;

/// A file, by its root and its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileKey {
    pub(super) root: String,
    pub(super) path: String,
}

impl FileKey {
    pub(super) fn of(hunk: &HunkShape) -> Self {
        Self { root: hunk.root.clone(), path: hunk.path.clone() }
    }

    /// Says whether a hunk is of this file.
    pub(super) fn holds(&self, hunk: &HunkShape) -> bool {
        self.path == hunk.path && self.root == hunk.root
    }

    /// Returns its absolute path, escaped where it is not UTF-8.
    pub(super) fn absolute(&self) -> String {
        format!("{}/{}", self.root, self.path)
    }
}

/// How the stream is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    File,
    Call,
    Turn,
}

/// Whether the sides of a change stand beneath or beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Unified,
    Split,
}

/// What the stream is made from, beside the hunks.
#[derive(Debug)]
pub(super) struct Wishes<'w> {
    pub(super) order: Order,
    pub(super) layout: Layout,
    /// Files that are folded.
    pub(super) folded: &'w BTreeSet<FileKey>,
    /// Hunks, by id, that are not joined with the one before.
    pub(super) divided: &'w BTreeSet<String>,
    /// Hunks, by id, of which only the head is shown.
    pub(super) closed: &'w BTreeSet<String>,
    /// Lines of the files that were read.
    pub(super) lengths: &'w BTreeMap<FileKey, u32>,
    /// What must be seen before anything else.
    pub(super) notices: &'w [String],
    /// Hunks, by id, whose predecessor the reader had seen.
    pub(super) changed: &'w BTreeSet<String>,
}

/// The stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) blocks: Vec<Block>,
    pub(super) files: Vec<File>,
    pub(super) units: Vec<Unit>,
    pub(super) sections: Vec<String>,
    pub(super) notices: Vec<String>,
    /// Where one can stand, from top to bottom.
    pub(super) stops: Vec<Stop>,
    pub(super) rows: usize,
}

/// A stretch of rows.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) rows: usize,
}

/// What a block shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Notices,
    Section(usize),
    File(usize),
    Unit(usize),
}

/// A file in the stream. In another order than by file, one file may stand there several times.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) key: FileKey,
    pub(super) folded: bool,
    pub(super) hunks: Vec<usize>,
    pub(super) added: usize,
    pub(super) removed: usize,
    /// Comments that stand at no hunk: outdated ones, and those on unchanged lines.
    pub(super) comments: Vec<Remark>,
    pub(super) block: usize,
}

/// One hunk or entry, or a group that one key decides.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) file: usize,
    pub(super) hunks: Vec<usize>,
    pub(super) closed: bool,
    pub(super) remarks: Vec<String>,
    pub(super) parts: Vec<Part>,
    pub(super) block: usize,
}

/// A stretch of rows of a unit.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Unchanged lines; the first by its number in the file as it stands, and how far it stands from its number in the base.
    Context { first: u32, rows: u32, shift: i64 },
    /// A hunk.
    Change { hunk: usize, rows: usize },
    /// What an entry is, in words.
    Entry { hunk: usize },
    /// A comment.
    Comment(Remark),
}

impl Part {
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Context { rows, .. } => *rows as usize,
            Self::Change { rows, .. } => *rows,
            Self::Entry { .. } => 1,
            Self::Comment(remark) => remark.lines.len(),
        }
    }
}

/// A comment as lines.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) id: String,
    pub(super) lines: Vec<String>,
}

/// Where one can stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// At a folded file.
    File(usize),
    /// At a unit.
    Unit(usize),
}

impl Stream {
    /// Puts the stream together.
    pub(super) fn of(leaves: &[Leaf], comments: &[CommentShape], wishes: &Wishes<'_>) -> Self {
        let mut builder =
            Builder { leaves, comments, wishes, around: around(leaves, wishes), stream: Self::default() };
        builder.build();
        builder.stream
    }

    /// Returns the block that holds a row.
    pub(super) fn at(&self, row: usize) -> Option<&Block> {
        let index = self.blocks.partition_point(|block| block.start + block.rows <= row);
        self.blocks.get(index)
    }

    /// Returns the block of a stop.
    pub(super) fn block_of(&self, stop: &Stop) -> &Block {
        match stop {
            Stop::File(file) => &self.blocks[self.files[*file].block],
            Stop::Unit(unit) => &self.blocks[self.units[*unit].block],
        }
    }

    /// Returns the file of a stop.
    pub(super) fn file_of(&self, stop: &Stop) -> usize {
        match stop {
            Stop::File(file) => *file,
            Stop::Unit(unit) => self.units[*unit].file,
        }
    }

    /// Returns the hunks of a stop.
    pub(super) fn hunks_of(&self, stop: &Stop) -> &[usize] {
        match stop {
            Stop::File(file) => &self.files[*file].hunks,
            Stop::Unit(unit) => &self.units[*unit].hunks,
        }
    }
}

/// How many unchanged lines belong to a leaf: before it and behind it.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    before: u32,
    behind: u32,
    /// Lines between it and the leaf before it in its file.
    gap: Option<u32>,
}

/// Shares the unchanged lines between neighbours out, so that none is shown twice.
fn around(leaves: &[Leaf], wishes: &Wishes<'_>) -> Vec<Around> {
    let mut all = vec![Around::default(); leaves.len()];
    let mut last: Option<usize> = None;
    for (index, leaf) in leaves.iter().enumerate() {
        if !leaf.has_place() {
            continue;
        }
        let range = leaf.shape.current_range;
        let beside = last.filter(|last| same_file(&leaves[*last].shape, &leaf.shape));
        let from = beside.map_or(1, |beside| leaves[beside].shape.current_range.end);
        let gap = range.start.saturating_sub(from);
        match beside {
            Some(beside) => {
                let behind = gap.min(CONTEXT);
                all[beside].behind = behind;
                all[index].before = (gap - behind).min(CONTEXT);
                all[index].gap = Some(gap);
            }
            None => all[index].before = gap.min(CONTEXT),
        }
        // Until the file was read its end is a guess, and a whole file has nothing behind it.
        let guess = if leaf.is_whole_file() { 0 } else { CONTEXT };
        let length = wishes.lengths.get(&FileKey::of(&leaf.shape));
        let rest = length.map_or(guess, |length| (length + 1).saturating_sub(range.end));
        all[index].behind = rest.min(CONTEXT);
        last = Some(index);
    }
    all
}

fn same_file(a: &HunkShape, b: &HunkShape) -> bool {
    a.path == b.path && a.root == b.root
}

struct Builder<'b> {
    leaves: &'b [Leaf],
    comments: &'b [CommentShape],
    wishes: &'b Wishes<'b>,
    around: Vec<Around>,
    stream: Stream,
}

impl Builder<'_> {
    fn build(&mut self) {
        if !self.wishes.notices.is_empty() {
            self.stream.notices = self.wishes.notices.to_vec();
            self.push(Kind::Notices, self.wishes.notices.len());
        }
        let mut told = BTreeSet::new();
        for (title, leaves) in self.sections() {
            if let Some(title) = title {
                self.stream.sections.push(title);
                self.push(Kind::Section(self.stream.sections.len() - 1), 1);
            }
            for hunks in self.by_file(&leaves) {
                self.file(hunks, &mut told);
            }
        }
    }

    fn push(&mut self, kind: Kind, rows: usize) -> usize {
        self.stream.blocks.push(Block { kind, start: self.stream.rows, rows });
        self.stream.rows += rows;
        self.stream.blocks.len() - 1
    }

    /// Sorts the leaves into sections, each with its title.
    fn sections(&self) -> Vec<(Option<String>, Vec<usize>)> {
        let all = 0..self.leaves.len();
        if self.wishes.order == Order::File {
            let several = self.leaves.windows(2).any(|pair| pair[0].shape.root != pair[1].shape.root);
            let mut sections: Vec<(Option<String>, Vec<usize>)> = Vec::new();
            let mut root = None;
            for index in all {
                if root != Some(&self.leaves[index].shape.root) {
                    root = Some(&self.leaves[index].shape.root);
                    sections.push((root.filter(|_| several).cloned(), Vec::new()));
                }
                if let Some((_, leaves)) = sections.last_mut() {
                    leaves.push(index);
                }
            }
            return sections;
        }
        let mut sections: BTreeMap<(u32, String), (String, Vec<usize>)> = BTreeMap::new();
        for index in all {
            let (key, title) = section(&self.leaves[index].shape, self.wishes.order);
            sections.entry(key).or_insert_with(|| (title, Vec::new())).1.push(index);
        }
        sections.into_values().map(|(title, leaves)| (Some(title), leaves)).collect()
    }

    fn by_file(&self, leaves: &[usize]) -> Vec<Vec<usize>> {
        let mut files: Vec<Vec<usize>> = Vec::new();
        for index in leaves {
            let joins = |last: &usize| same_file(&self.leaves[*last].shape, &self.leaves[*index].shape);
            match files.last_mut().filter(|file| file.last().is_some_and(joins)) {
                Some(file) => file.push(*index),
                None => files.push(vec![*index]),
            }
        }
        files
    }

    fn file(&mut self, hunks: Vec<usize>, told: &mut BTreeSet<String>) {
        let key = FileKey::of(&self.leaves[hunks[0]].shape);
        let folded = self.wishes.folded.contains(&key);
        let groups = self.groups(&hunks);
        let sum = |count: fn(&Leaf) -> usize| hunks.iter().map(|hunk| count(&self.leaves[*hunk])).sum();
        let (added, removed) = (sum(|leaf| leaf.after.len()), sum(|leaf| leaf.before.len()));
        let mut at_units: Vec<Vec<Remark>> = vec![Vec::new(); groups.len()];
        let mut elsewhere = Vec::new();
        for comment in self.comments.iter().filter(|comment| !comment.resolved) {
            if (&comment.root, &comment.path) != (&key.root, &key.path)
                || !told.insert(comment.id.to_string())
            {
                continue;
            }
            let beside = groups.iter().position(|group| !comment.outdated && self.touches(group, comment));
            match beside.filter(|_| !folded) {
                Some(unit) => at_units[unit].push(remark(comment)),
                None => elsewhere.push(remark(comment)),
            }
        }
        let rows = 1 + elsewhere.iter().map(|remark| remark.lines.len()).sum::<usize>();
        let file = self.stream.files.len();
        let block = self.push(Kind::File(file), rows);
        self.stream.files.push(File { key, folded, hunks, added, removed, comments: elsewhere, block });
        if folded {
            self.stream.stops.push(Stop::File(file));
            return;
        }
        for (hunks, remarks) in groups.into_iter().zip(at_units) {
            self.unit(file, hunks, remarks);
        }
    }

    /// Joins the hunks of a file that lie close together.
    fn groups(&self, hunks: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for index in hunks {
            let joins =
                groups.last().and_then(|group| group.last()).is_some_and(|last| self.joins(*last, *index));
            match groups.last_mut().filter(|_| joins) {
                Some(group) => group.push(*index),
                None => groups.push(vec![*index]),
            }
        }
        groups
    }

    fn joins(&self, last: usize, index: usize) -> bool {
        let (a, b) = (&self.leaves[last], &self.leaves[index]);
        let near = last + 1 == index && self.around[index].gap.is_some_and(|gap| gap < CLOSE);
        near && a.has_place()
            && a.shape.state == b.shape.state
            // One key must not decide what is the agent's together with what is not.
            && a.shape.is_owed() == b.shape.is_owed()
            && self.wishes.closed.contains(a.id()) == self.wishes.closed.contains(b.id())
            && !self.wishes.divided.contains(b.id())
    }

    fn touches(&self, group: &[usize], comment: &CommentShape) -> bool {
        let (first, last) = (group[0], group[group.len() - 1]);
        let from = self.leaves[first].shape.current_range.start.saturating_sub(self.around[first].before);
        let to = self.leaves[last].shape.current_range.end + self.around[last].behind;
        self.leaves[first].has_place() && comment.line_end >= from && comment.line_end < to.max(from + 1)
    }

    fn unit(&mut self, file: usize, hunks: Vec<usize>, comments: Vec<Remark>) {
        let closed = hunks.iter().all(|hunk| self.wishes.closed.contains(self.leaves[*hunk].id()));
        let mut remarks: Vec<String> = Vec::new();
        for hunk in &hunks {
            let leaf = &self.leaves[*hunk];
            let changed = self.wishes.changed.contains(leaf.id());
            let mut new = leaf.remarks();
            new.extend(changed.then(|| "changed since you looked (d shows how)".to_owned()));
            remarks.extend(new.into_iter().filter(|remark| !remarks.contains(remark)).collect::<Vec<_>>());
        }
        let parts = if closed { Vec::new() } else { self.parts(&hunks, comments) };
        let rows = 1 + remarks.len() + parts.iter().map(Part::rows).sum::<usize>();
        let unit = self.stream.units.len();
        let block = self.push(Kind::Unit(unit), rows);
        self.stream.units.push(Unit { file, hunks, closed, remarks, parts, block });
        self.stream.stops.push(Stop::Unit(unit));
    }

    fn parts(&self, hunks: &[usize], comments: Vec<Remark>) -> Vec<Part> {
        let mut parts = Vec::new();
        for (nth, hunk) in hunks.iter().enumerate() {
            let (leaf, around) = (&self.leaves[*hunk], self.around[*hunk]);
            if !leaf.is_text() {
                parts.push(Part::Entry { hunk: *hunk });
                continue;
            }
            let (base, current) = (leaf.shape.base_range, leaf.shape.current_range);
            let before = if nth == 0 { around.before } else { around.gap.unwrap_or_default() };
            let lines = |first: u32, rows: u32, to: (u32, u32)| Part::Context {
                first,
                rows,
                shift: i64::from(to.0) - i64::from(to.1),
            };
            if leaf.has_place() {
                parts.push(lines(
                    current.start - before.min(current.start),
                    before,
                    (base.start, current.start),
                ));
            }
            parts.push(Part::Change { hunk: *hunk, rows: leaf.rows(self.wishes.layout) });
            if leaf.has_place() && nth + 1 == hunks.len() {
                parts.push(lines(current.end, around.behind, (base.end, current.end)));
            }
        }
        parts.extend(comments.into_iter().map(Part::Comment));
        parts
    }
}

/// Returns the section of a hunk, in its order and with its title.
fn section(hunk: &HunkShape, order: Order) -> ((u32, String), String) {
    let last = u32::MAX;
    let call = hunk.calls.first();
    let turn = call.and_then(|call| call.turn).or(hunk.evidence.turn);
    let number = turn.map_or(last - 1, |turn| turn.0);
    match (order, call) {
        (Order::Call, Some(call)) => {
            ((number, format!("{} {}", call.session_id, call.tool_call_id)), call_title(call))
        }
        (Order::Turn, _) if turn.is_some() => ((number, String::new()), format!("turn {number}")),
        (Order::File | Order::Call | Order::Turn, _) => {
            ((last, String::new()), "no call of this session".to_owned())
        }
    }
}

/// Names a call.
pub(super) fn call_title(call: &CallRow) -> String {
    let turn = call.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let title = call.title.lines().next().unwrap_or_default();
    let name = if title.is_empty() { call.tool_call_id.as_str() } else { title };
    format!("{name} ({}{turn})", call.kind.as_str())
}

/// Writes a comment as lines.
fn remark(comment: &CommentShape) -> Remark {
    let mut lines = Vec::new();
    let place = if comment.line_end > comment.line_start {
        format!("{}-{}", comment.line_start, comment.line_end)
    } else {
        comment.line_start.to_string()
    };
    let outdated = if comment.outdated { ", outdated: its lines changed; it was made on" } else { "" };
    lines.push(format!("{} on {place}{outdated}", comment.author));
    if comment.outdated {
        lines.extend(comment.excerpt.lines().take(EXCERPT).map(|line| format!("> {line}")));
    }
    lines.extend(comment.body.lines().map(str::to_owned));
    Remark { id: comment.id.to_string(), lines }
}

/// Says whether a hunk is undecided and can be decided in bulk.
pub(super) fn is_open(hunk: &HunkShape) -> bool {
    hunk.state == ReviewState::Unreviewed && !hunk.reject_pending
}
