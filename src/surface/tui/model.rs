//! The state of the terminal UI.

use super::cells::wrapped;
use super::keys::{Action, Keys};
use super::leaf::Leaf;
use super::msg::{Cmd, FileText, Tag};
use super::pending::Pending;
use super::seen::Seen;
use super::stream::{FileKey, Kind, Layout, Order, Stop, Stream, Wishes};
use super::theme::{Look, Theme};
use super::tree::Tree;
use crate::ledger::{CommentShape, ListingShape, StatusShape};
use crate::review::{Ask, DecideVerb};
use std::collections::{BTreeMap, BTreeSet};

/// What stands before a notice.
const NOTICE: &str = " ! ";

/// What the terminal UI begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which key does what.
    pub keys: Keys,
    /// How things look.
    pub theme: Theme,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The session, for people.
    pub title: String,
    /// Whether a proxy holds it: otherwise nobody waits for an answer.
    pub live: bool,
    /// What was listed when the last sitting ended; none before the first.
    pub seen: Option<Seen>,
}

/// The state of the terminal UI.
#[derive(Debug)]
pub struct Model {
    pub(super) keys: Keys,
    pub(super) theme: Theme,
    pub(super) size: (u16, u16),
    pub(super) title: String,

    pub(super) leaves: Vec<Leaf>,
    pub(super) comments: Vec<CommentShape>,
    pub(super) notices: Vec<String>,
    pub(super) status: Option<StatusShape>,
    /// Whether a first listing came.
    pub(super) listed: bool,
    /// Whether the person did anything yet.
    pub(super) touched: bool,

    pub(super) order: Order,
    pub(super) layout: Layout,
    pub(super) folds: Folds,
    pub(super) stream: Stream,
    /// The stop that keys act on.
    pub(super) at: usize,
    /// The first row of the stream that is in sight.
    pub(super) scroll: usize,
    /// Columns of every line that are out of sight to the left.
    pub(super) aside: usize,

    pub(super) texts: BTreeMap<FileKey, FileText>,
    pub(super) reading: BTreeMap<FileKey, String>,
    pub(super) asking: Asking,
    /// Hunks whose decision is on its way.
    pub(super) deciding: BTreeMap<String, DecideVerb>,
    pub(super) memory: Memory,
    pub(super) pending: Pending,

    pub(super) tree: Tree,
    pub(super) over: Option<Over>,
    pub(super) prompt: Option<Prompt>,
    pub(super) drafts: BTreeMap<String, String>,
    pub(super) query: String,
    pub(super) message: Option<(String, Look)>,
}

/// What is folded, closed and divided.
#[derive(Debug, Default)]
pub(super) struct Folds {
    pub(super) files: BTreeSet<FileKey>,
    /// Files whose fold was settled: once, or by the person.
    pub(super) settled: BTreeSet<FileKey>,
    pub(super) closed: BTreeSet<String>,
    pub(super) divided: BTreeSet<String>,
}

/// Listings that are on their way or wanted.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pub(super) queue: bool,
    pub(super) again: bool,
    /// Whether something was decided since the listing that is on its way was asked for: it may not know of it.
    pub(super) stale: bool,
    /// Where to stand once the next listing came.
    pub(super) goto: Option<String>,
}

/// What the reader has seen.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Hunks that were listed, by id.
    pub(super) known: BTreeSet<String>,
    /// Hunks that came while the reader was elsewhere.
    pub(super) new: BTreeSet<String>,
    /// Hunks that took the place of one that was seen: the text as it was seen.
    pub(super) changed: BTreeMap<String, String>,
    /// Hunks that were in sight.
    pub(super) seen: BTreeSet<String>,
    /// What was listed when the last sitting ended, until something is listed in this one.
    pub(super) past: Option<Seen>,
}

/// What lies over the stream.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) title: String,
    /// What the keys do there.
    pub(super) keys: String,
    pub(super) lines: Vec<(String, Look)>,
    pub(super) scroll: usize,
}

impl Over {
    /// Lays lines over the stream until the next key.
    pub(super) fn of(title: &str, lines: Vec<(String, Look)>) -> Self {
        Self { title: title.to_owned(), keys: "any key closes".to_owned(), lines, scroll: 0 }
    }
}

/// A line that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) purpose: Purpose,
    pub(super) text: String,
    /// Characters before the caret.
    pub(super) caret: usize,
}

/// What a line is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The reason of a reject: the hunks with their digests as they were shown.
    Reason(Vec<(String, String)>),
    /// The reason of a denial: the request and its revision as they were shown.
    Denial {
        request: String,
        rev: u32,
    },
    /// A comment: where, on what, and the digest of what was shown there.
    Comment {
        path: String,
        lines: (u32, u32),
        shown: Vec<(String, String)>,
    },
    Search,
}

impl Model {
    /// Makes the state before anything is known, and what is to be asked first.
    pub fn new(setup: Setup) -> (Self, Vec<Cmd>) {
        let Setup { keys, theme, size, title, live, seen } = setup;
        let mut model = Self {
            keys,
            theme,
            size,
            title,
            leaves: Vec::new(),
            comments: Vec::new(),
            notices: Vec::new(),
            status: None,
            listed: false,
            touched: false,
            order: Order::File,
            layout: Layout::Unified,
            folds: Folds::default(),
            stream: Stream::default(),
            at: 0,
            scroll: 0,
            aside: 0,
            texts: BTreeMap::new(),
            reading: BTreeMap::new(),
            asking: Asking::default(),
            deciding: BTreeMap::new(),
            memory: Memory { past: seen, ..Memory::default() },
            pending: Pending::default(),
            tree: Tree::default(),
            over: None,
            prompt: None,
            drafts: BTreeMap::new(),
            query: String::new(),
            message: None,
        };
        let mut wanted = model.look_again();
        wanted.push(Cmd::Ask(Tag::Status, Ask::Status));
        wanted.extend(live.then(Self::ask_pending));
        (model, wanted)
    }

    /// Asks for the queue, unless that is under way: then once more when it came.
    pub(super) fn look_again(&mut self) -> Vec<Cmd> {
        if self.asking.queue {
            self.asking.again = true;
            return Vec::new();
        }
        self.asking.queue = true;
        vec![Cmd::Ask(Tag::Queue, Ask::Hunks { paths: Vec::new() })]
    }

    /// Returns the rows in which the stream is shown.
    pub(super) fn height(&self) -> usize {
        usize::from(self.size.1.saturating_sub(1))
    }

    /// Returns the stop that keys act on.
    pub(super) fn stop(&self) -> Option<&Stop> {
        self.stream.stops.get(self.at)
    }

    /// Returns the leaves of the stop that keys act on.
    pub(super) fn here(&self) -> Vec<&Leaf> {
        let hunks = self.stop().map(|stop| self.stream.hunks_of(stop)).unwrap_or_default();
        hunks.iter().map(|hunk| &self.leaves[*hunk]).collect()
    }

    /// Puts the stream together anew. What is in sight stays where it is.
    pub(super) fn rebuild(&mut self) {
        let mark = self.mark();
        self.rebuild_at(mark);
    }

    /// Names where the reader is, before the hunks are replaced.
    pub(super) fn mark(&self) -> Mark {
        let here = self.here().iter().map(|leaf| leaf.id().to_owned()).collect();
        Mark { anchor: self.anchor(), here, place: self.place() }
    }

    /// Puts the stream together anew, with the reader where the mark says.
    pub(super) fn rebuild_at(&mut self, mark: Mark) {
        let Mark { anchor, here, place } = mark;
        let lengths = self.texts.iter().filter_map(|(key, text)| {
            let lines = text.lines.as_ref()?;
            Some((key.clone(), u32::try_from(lines.len()).unwrap_or(u32::MAX)))
        });
        let changed = self.memory.changed.keys().cloned().collect();
        let waits = self.pending.notice(&self.keys.of(Action::Pending));
        let warnings = self.status.iter().flat_map(|status| &status.warnings);
        let notices = waits.into_iter().chain(self.notices.iter().chain(warnings).cloned());
        let columns = usize::from(self.size.0 - self.tree.columns(self.size.0));
        let notices: Vec<String> = notices.flat_map(|notice| rows_of(&notice, columns)).collect();
        let wishes = Wishes {
            order: self.order,
            layout: self.layout,
            folded: &self.folds.files,
            divided: &self.folds.divided,
            closed: &self.folds.closed,
            lengths: &lengths.collect(),
            notices: &notices,
            changed: &changed,
        };
        self.stream = Stream::of(&self.leaves, &self.comments, &wishes);
        self.at = self.find(&here, place);
        match anchor.filter(|_| self.touched) {
            Some((anchor, offset)) => self.restore(&anchor, offset),
            None => self.scroll = 0,
        }
        self.clamp();
        self.tree.rebuild(&self.stream);
    }

    /// Returns where the cursor stands in its file, for the day its hunk is gone.
    fn place(&self) -> Option<(FileKey, u32)> {
        let stop = self.stop()?;
        let file = &self.stream.files[self.stream.file_of(stop)];
        let line = self.here().first().map_or(1, |leaf| leaf.shape.base_range.start);
        Some((file.key.clone(), line))
    }

    /// Finds the stop that shows one of these hunks; else the one that is nearest to a place.
    fn find(&self, ids: &[String], place: Option<(FileKey, u32)>) -> usize {
        let shows = |stop: &Stop| {
            self.stream.hunks_of(stop).iter().any(|hunk| ids.iter().any(|id| id == self.leaves[*hunk].id()))
        };
        let stops = &self.stream.stops;
        if let Some(found) = stops.iter().position(shows) {
            return found;
        }
        let Some((key, line)) = place else { return 0 };
        let distance = |stop: &Stop| {
            let file = &self.stream.files[self.stream.file_of(stop)];
            let hunk = self.stream.hunks_of(stop).first()?;
            (file.key == key).then(|| self.leaves[*hunk].shape.base_range.start.abs_diff(line))
        };
        let near = stops.iter().enumerate().filter_map(|(at, stop)| Some((distance(stop)?, at))).min();
        near.map_or_else(|| self.at.min(stops.len().saturating_sub(1)), |(_, at)| at)
    }

    /// Names what shall stay where it is: the block of the cursor when it is in sight, else the one at the top.
    fn anchor(&self) -> Option<(Anchor, isize)> {
        let row = |start: usize| start.cast_signed() - self.scroll.cast_signed();
        let cursor = self.stop().map(|stop| self.stream.block_of(stop));
        let in_sight =
            |start: usize, rows: usize| start + rows > self.scroll && start < self.scroll + self.height();
        let block = match cursor.filter(|block| in_sight(block.start, block.rows)) {
            Some(block) => block,
            None => self.stream.at(self.scroll)?,
        };
        Some((self.name(block.kind), row(block.start)))
    }

    fn name(&self, kind: Kind) -> Anchor {
        match kind {
            Kind::Notices => Anchor::Top,
            Kind::Section(section) => Anchor::Section(self.stream.sections[section].clone()),
            Kind::File(file) => Anchor::File(self.stream.files[file].key.clone()),
            Kind::Unit(unit) => {
                let unit = &self.stream.units[unit];
                let ids = unit.hunks.iter().map(|hunk| self.leaves[*hunk].id().to_owned()).collect();
                Anchor::Unit(ids)
            }
        }
    }

    fn restore(&mut self, anchor: &Anchor, offset: isize) {
        let found = self.stream.blocks.iter().find(|block| match (anchor, block.kind) {
            (Anchor::Top, Kind::Notices) => true,
            (Anchor::Section(title), Kind::Section(section)) => self.stream.sections[section] == *title,
            (Anchor::File(key), Kind::File(file)) => self.stream.files[file].key == *key,
            (Anchor::Unit(ids), Kind::Unit(unit)) => {
                let hunks = &self.stream.units[unit].hunks;
                hunks.iter().any(|hunk| ids.iter().any(|id| id == self.leaves[*hunk].id()))
            }
            _ => false,
        });
        // What vanished leaves its place to what the cursor is on now.
        let found = found.or_else(|| self.stop().map(|stop| self.stream.block_of(stop)));
        if let Some(block) = found {
            self.scroll = block.start.saturating_add_signed(-offset);
        }
    }

    /// Keeps the scroll within the stream.
    pub(super) fn clamp(&mut self) {
        self.at = self.at.min(self.stream.stops.len().saturating_sub(1));
        self.scroll = self.scroll.min(self.stream.rows.saturating_sub(self.height()));
    }

    /// Brings the stop that keys act on into sight.
    pub(super) fn reveal(&mut self) {
        let Some(block) = self.stop().map(|stop| self.stream.block_of(stop)) else { return };
        let (start, rows, height) = (block.start, block.rows, self.height());
        // The first row is taken by the name of the file.
        let visible = start > self.scroll && start + rows <= self.scroll + height;
        let at_top = start == self.scroll && start == 0;
        if !visible && !at_top {
            self.scroll = start.saturating_sub(1);
        }
        self.clamp();
    }

    /// After the view was moved: keys act on what is in sight.
    pub(super) fn follow(&mut self) {
        self.clamp();
        let (from, to) = (self.scroll, self.scroll + self.height());
        let in_sight = |stop: &Stop| {
            let block = self.stream.block_of(stop);
            block.start + block.rows > from + 1 && block.start < to
        };
        if !self.stop().is_some_and(in_sight)
            && let Some(first) = self.stream.stops.iter().position(in_sight)
        {
            self.at = first;
        }
    }

    /// Returns the counts of the progress: decided, and all that was owed.
    pub(super) fn progress(&self) -> (usize, usize) {
        use crate::ledger::ReviewState;
        let count = |is: fn(&Leaf) -> bool| self.leaves.iter().filter(|leaf| is(leaf)).count();
        let decided = count(|leaf| leaf.shape.state != ReviewState::Unreviewed);
        let owed = count(|leaf| leaf.shape.is_owed());
        let pending = count(|leaf| leaf.shape.is_owed() && leaf.shape.reject_pending);
        // What was rejected in this sitting is counted already, whether or not a listing without it has come.
        let rejected = count(|leaf| leaf.shape.state == ReviewState::Rejected);
        let all = self.status.as_ref().map_or(0, |status| status.queue.rejected as usize);
        let before = all.saturating_sub(rejected);
        (decided + pending + before, decided + owed + before)
    }

    /// Counts what waits for the person in a file.
    pub(super) fn open_in(&self, key: &FileKey) -> usize {
        let of_file = self.leaves.iter().filter(|leaf| key.holds(&leaf.shape));
        of_file.filter(|leaf| leaf.shape.is_owed() && !leaf.shape.reject_pending).count()
    }

    /// Counts what is undecided and not surely the agent's.
    pub(super) fn doubtful(&self) -> usize {
        use crate::ledger::Grade;
        let doubtful = |grade| matches!(grade, Grade::Contested | Grade::InTurn | Grade::BaseUnknown);
        let waits = |leaf: &&Leaf| super::stream::is_open(&leaf.shape) && !leaf.shape.is_owed();
        self.leaves.iter().filter(waits).filter(|leaf| doubtful(leaf.shape.evidence.grade)).count()
    }

    pub(super) fn say(&mut self, text: impl Into<String>, look: Look) {
        self.message = Some((text.into(), look));
    }

    /// Takes the notices of a listing.
    pub(super) fn take_notices(&mut self, listing: &ListingShape) {
        let degraded = listing.degraded.iter();
        let degraded = degraded.filter_map(|root| Some((&root.root, root.degraded.as_ref()?)));
        let mut notices: Vec<String> =
            degraded.map(|(root, why)| format!("degraded: {root}: {why}")).collect();
        // It is said at the top, which may be out of sight of whoever reads further down.
        let fresh = notices.iter().find(|notice| !self.notices.contains(notice)).cloned();
        if let Some(fresh) = fresh.filter(|_| self.listed) {
            self.say(fresh, Look::Bad);
        }
        for skip in &listing.integrity.skips {
            notices.push(format!("journal line {} was skipped: {}", skip.line, skip.reason));
        }
        notices.extend(listing.held());
        self.notices = notices;
    }
}

/// Writes a notice as rows of the screen.
fn rows_of(notice: &str, columns: usize) -> Vec<String> {
    let rows = wrapped(notice, columns.saturating_sub(NOTICE.len()).max(1)).into_iter().enumerate();
    rows.map(|(nth, row)| if nth == 0 { format!("{NOTICE}{row}") } else { format!("   {row}") }).collect()
}

/// Where the reader is, by names that outlive the stream.
pub(super) struct Mark {
    anchor: Option<(Anchor, isize)>,
    here: Vec<String>,
    place: Option<(FileKey, u32)>,
}

/// A block by what it shows.
enum Anchor {
    Top,
    Section(String),
    File(FileKey),
    Unit(Vec<String>),
}
