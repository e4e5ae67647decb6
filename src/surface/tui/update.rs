//! What each message does to the state.

use super::keys::{Action, Stroke};
use super::leaf::Leaf;
use super::model::{Model, Over, Prompt, Purpose};
use super::msg::{Cmd, FileText, Msg, Tag, Wanted};
use super::stream::{FileKey, Kind, Layout, Order, Stop, is_open};
use super::theme::Look;
use crate::ledger::{Grade, ListingShape, ReviewState, ShownShape};
use crate::review::{Answer, Ask, Problem};

/// Rows that a turn of the wheel moves.
const WHEEL: i32 = 3;
/// Files that are read at a time.
const READING: usize = 2;
/// Lines of a file beyond which it is not read for the lines around its hunks.
const LONGEST_FILE: u32 = 50_000;
/// Texts of files that are kept.
const KEPT_TEXTS: usize = 24;
/// Rows of a file above which it begins folded.
const FOLDED_LINES: usize = 1_500;
/// Files that tools write: they begin folded.
const LOCKFILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "deno.lock",
    "poetry.lock",
    "Pipfile.lock",
    "uv.lock",
    "pdm.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "flake.lock",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "gradle.lockfile",
    "packages.lock.json",
];

impl Model {
    /// Takes a message and returns what is to be done.
    pub fn update(&mut self, msg: Msg) -> Vec<Cmd> {
        let mut cmds = match msg {
            Msg::Key(stroke) => self.key(&stroke),
            Msg::Paste(text) => self.paste(&text),
            Msg::Click(x, y) => self.click(x, y),
            Msg::Wheel(rows) => self.wheel(rows),
            Msg::Resize(columns, rows) => self.resize(columns, rows),
            Msg::Answered(tag, answer) => self.answered(tag, *answer),
            Msg::Read(text) => self.read(*text),
            Msg::Moved => self.look_again(),
            Msg::Edited(trouble) => {
                if let Some(trouble) = trouble {
                    self.say(trouble, Look::Bad);
                }
                self.look_again()
            }
            Msg::Terminate => vec![Cmd::Quit],
        };
        cmds.extend(self.wanted());
        cmds
    }

    fn key(&mut self, stroke: &Stroke) -> Vec<Cmd> {
        self.message = None;
        if self.prompt.is_some() {
            return self.write(stroke);
        }
        let action = self.keys.action(stroke);
        if self.over.is_some() {
            return self.key_over(stroke, action);
        }
        let Some(action) = action else {
            if stroke.as_str() == "esc" {
                self.query.clear();
                self.tree.focused = false;
            } else {
                let help = self.keys.of(Action::Help);
                self.say(format!("{} does nothing; {help} shows the keys", stroke.as_str()), Look::Faint);
            }
            return Vec::new();
        };
        let cmds = self.act(action);
        self.note_seen();
        cmds
    }

    fn key_over(&mut self, stroke: &Stroke, action: Option<Action>) -> Vec<Cmd> {
        let page = self.height().saturating_sub(4);
        let Some(over) = self.over.as_mut() else { return Vec::new() };
        match action {
            Some(Action::Next | Action::Down) => over.scroll += 1,
            Some(Action::Previous | Action::Up) => over.scroll = over.scroll.saturating_sub(1),
            Some(Action::PageDown) => over.scroll += page,
            Some(Action::PageUp) => over.scroll = over.scroll.saturating_sub(page),
            _ if stroke.as_str() == "ctrl-c" => return vec![Cmd::Quit],
            _ => self.over = None,
        }
        if let Some(over) = self.over.as_mut() {
            over.scroll = over.scroll.min(over.lines.len().saturating_sub(page));
        }
        Vec::new()
    }

    fn act(&mut self, action: Action) -> Vec<Cmd> {
        match action {
            Action::Next if self.tree.focused => self.step_file(1),
            Action::Previous if self.tree.focused => self.step_file(-1),
            Action::Down if self.tree.focused => self.step_file(1),
            Action::Up if self.tree.focused => self.step_file(-1),
            Action::Fold if self.tree.focused => self.tree.focused = false,
            Action::Next => self.step(1),
            Action::Previous => self.step(-1),
            Action::NextUndecided => self.to_undecided(Way::Forward),
            Action::PreviousUndecided => self.to_undecided(Way::Back),
            Action::NextFile => self.step_file(1),
            Action::PreviousFile => self.step_file(-1),
            Action::Down => self.move_view(1),
            Action::Up => self.move_view(-1),
            Action::PageDown => self.move_view(self.page()),
            Action::PageUp => self.move_view(-self.page()),
            Action::First => self.stand(0),
            Action::Last => self.stand(self.stream.stops.len().saturating_sub(1)),
            Action::Left => self.aside = self.aside.saturating_sub(8),
            Action::Right => self.aside += 8,
            Action::Layout => self.set_layout(),
            Action::Order => self.set_order(),
            Action::Divide => self.divide(),
            Action::Fold => self.fold(),
            Action::Search => self.ask_line(Purpose::Search),
            Action::NextMatch => self.to_match(Way::Forward),
            Action::PreviousMatch => self.to_match(Way::Back),
            Action::NextNew => self.to_new(),
            Action::Since => self.show_since(),
            Action::Tree => self.tree.focused = !self.tree.focused,
            Action::Help => self.show_help(),
            Action::Comment => self.begin_comment(),
            Action::RejectWithReason => self.begin_reason(),
            Action::Accept
            | Action::Reject
            | Action::AcceptFile
            | Action::RejectFile
            | Action::ForceReject
            | Action::Undo
            | Action::Redo => return self.decide(action),
            Action::Resolve => return self.resolve(),
            Action::Edit => return self.edit(),
            Action::Explain => return self.explain(),
            Action::Note => return vec![Cmd::Ask(Tag::Note, Ask::Note)],
            Action::Refresh => {
                let mut cmds = self.look_again();
                cmds.push(Cmd::Ask(Tag::Status, Ask::Status));
                return cmds;
            }
            Action::Quit => return vec![Cmd::Quit],
        }
        Vec::new()
    }

    // ── moving ──

    fn page(&self) -> isize {
        self.height().saturating_sub(2).max(1).cast_signed()
    }

    pub(super) fn stand(&mut self, at: usize) {
        self.at = at;
        self.clamp();
        self.reveal();
    }

    fn step(&mut self, by: isize) {
        let last = self.stream.stops.len().saturating_sub(1);
        self.stand(self.at.saturating_add_signed(by).min(last));
    }

    fn step_file(&mut self, by: isize) {
        let Some(here) = self.stop().map(|stop| self.stream.file_of(stop)) else { return };
        let target = if by < 0 && !self.is_first_of(here) { here } else { here.saturating_add_signed(by) };
        let found = self.stream.stops.iter().position(|stop| self.stream.file_of(stop) == target);
        if let Some(found) = found {
            self.stand(found);
        }
    }

    fn is_first_of(&self, file: usize) -> bool {
        self.at == 0 || self.stream.file_of(&self.stream.stops[self.at - 1]) != file
    }

    fn move_view(&mut self, rows: isize) {
        self.scroll = self.scroll.saturating_add_signed(rows);
        self.follow();
    }

    /// Says whether a stop has something that waits for the person: what is owed, or also what is not surely the agent's.
    fn is_undecided(&self, stop: &Stop, which: Which) -> bool {
        self.stream.hunks_of(stop).iter().any(|hunk| {
            let leaf = &self.leaves[*hunk];
            let waits = is_open(&leaf.shape) && !self.deciding.contains_key(leaf.id());
            let doubtful = matches!(leaf.shape.evidence.grade, Grade::Contested | Grade::InTurn);
            waits && (leaf.shape.is_owed() || (which == Which::Any && doubtful))
        })
    }

    /// Goes to the next stop of which `wanted` holds, around the end; says whether there is one.
    fn seek(&mut self, way: Way, wanted: impl Fn(&Self, &Stop) -> bool) -> bool {
        let number = self.stream.stops.len();
        let order = (1..=number).map(|by| match way {
            Way::Forward => self.at + by,
            Way::Back => self.at + number - by,
        } % number.max(1));
        let found = order.into_iter().find(|at| wanted(self, &self.stream.stops[*at]));
        if let Some(found) = found {
            self.stand(found);
        }
        found.is_some()
    }

    /// Goes to the next undecided stop.
    pub(super) fn to_undecided(&mut self, way: Way) {
        let found = self.seek(way, |model, stop| model.is_undecided(stop, Which::Owed))
            || self.seek(way, |model, stop| model.is_undecided(stop, Which::Any));
        if !found {
            let (quit, undo) = (self.keys.of(Action::Quit), self.keys.of(Action::Undo));
            self.say(format!("nothing waits for you: {undo} takes back, {quit} leaves"), Look::Good);
        }
    }

    fn to_new(&mut self) {
        let is_new = |model: &Self, stop: &Stop| {
            let hunks = model.stream.hunks_of(stop).iter();
            hunks.into_iter().any(|hunk| model.memory.new.contains(model.leaves[*hunk].id()))
        };
        if !self.seek(Way::Forward, is_new) {
            self.say("nothing is new to you", Look::Faint);
        }
    }

    fn to_match(&mut self, way: Way) {
        if self.query.is_empty() {
            return self.say("nothing was searched for yet", Look::Faint);
        }
        if !self.seek(way, |model, stop| model.matches(stop)) {
            self.say(format!("{} is nowhere", self.query), Look::Bad);
        }
    }

    fn matches(&self, stop: &Stop) -> bool {
        let finds = |text: &str| find(text, &self.query).is_some();
        let hunks = self.stream.hunks_of(stop).iter().map(|hunk| &self.leaves[*hunk]);
        hunks.into_iter().any(|leaf: &Leaf| {
            finds(&leaf.shape.path)
                || finds(crate::surface::sides::before(&leaf.shape))
                || finds(crate::surface::sides::after(&leaf.shape))
                || leaf.shape.calls.iter().any(|call| finds(&call.title) || finds(call.tool_call_id.as_str()))
        })
    }

    // ── how it is shown ──

    fn set_layout(&mut self) {
        self.layout = match self.layout {
            Layout::Unified => Layout::Split,
            Layout::Split => Layout::Unified,
        };
        self.rebuild();
    }

    fn set_order(&mut self) {
        let (order, word) = match self.order {
            Order::File => (Order::Call, "by tool call"),
            Order::Call => (Order::Turn, "by turn"),
            Order::Turn => (Order::File, "by file"),
        };
        self.order = order;
        self.rebuild();
        self.reveal();
        self.say(word, Look::Faint);
    }

    fn divide(&mut self) {
        let ids: Vec<String> = self.here().iter().map(|leaf| leaf.id().to_owned()).collect();
        if ids.len() > 1 {
            self.folds.divided.extend(ids.into_iter().skip(1));
            self.rebuild();
            return self.say("divided: each hunk is decided alone", Look::Faint);
        }
        // Joins again what was divided around here.
        let file = self.here().first().map(|leaf| FileKey::of(&leaf.shape));
        let before = self.folds.divided.len();
        for leaf in self.leaves.iter().filter(|leaf| Some(FileKey::of(&leaf.shape)) == file) {
            self.folds.divided.remove(leaf.id());
        }
        let joined = self.folds.divided.len() < before;
        self.rebuild();
        self.say(if joined { "joined" } else { "this is one hunk" }, Look::Faint);
    }

    fn fold(&mut self) {
        match self.stop().cloned() {
            Some(Stop::File(file)) => {
                let key = self.stream.files[file].key.clone();
                self.folds.files.remove(&key);
                self.folds.settled.insert(key);
            }
            Some(Stop::Unit(unit)) if self.stream.units[unit].closed => {
                for hunk in self.stream.units[unit].hunks.clone() {
                    self.folds.closed.remove(self.leaves[hunk].id());
                }
            }
            Some(Stop::Unit(unit)) => {
                let key = self.stream.files[self.stream.units[unit].file].key.clone();
                self.folds.settled.insert(key.clone());
                self.folds.files.insert(key);
            }
            None => {}
        }
        self.rebuild();
        self.reveal();
    }

    fn resize(&mut self, columns: u16, rows: u16) -> Vec<Cmd> {
        let anchored = self.stop().map(|stop| self.stream.block_of(stop).start.saturating_sub(self.scroll));
        self.size = (columns, rows);
        if anchored.is_some_and(|row| row >= self.height()) {
            self.reveal();
        }
        self.clamp();
        Vec::new()
    }

    fn wheel(&mut self, turns: i32) -> Vec<Cmd> {
        let rows = isize::try_from(turns * WHEEL).unwrap_or_default();
        match self.over.as_mut() {
            Some(over) => {
                let last = over.lines.len().saturating_sub(1);
                over.scroll = over.scroll.saturating_add_signed(rows).min(last);
            }
            None => self.move_view(rows),
        }
        Vec::new()
    }

    fn click(&mut self, x: u16, y: u16) -> Vec<Cmd> {
        let columns = self.tree.columns(self.size.0);
        if self.over.is_some() || self.prompt.is_some() || usize::from(y) >= self.height() {
            self.over = None;
            return Vec::new();
        }
        if x < columns {
            let first = self.tree_scroll();
            let file = self.tree.rows.get(first + usize::from(y)).and_then(|row| row.file.clone());
            let found =
                self.stream.stops.iter().position(|stop| {
                    Some(&self.stream.files[self.stream.file_of(stop)].key) == file.as_ref()
                });
            if let Some(found) = found {
                self.stand(found);
            }
            return Vec::new();
        }
        let kind = self.stream.at(self.scroll + usize::from(y)).map(|block| block.kind);
        let stop = match kind {
            Some(Kind::Unit(unit)) => self.stream.stops.iter().position(|stop| *stop == Stop::Unit(unit)),
            Some(Kind::File(file)) => {
                self.stream.stops.iter().position(|stop| self.stream.file_of(stop) == file)
            }
            Some(Kind::Notices | Kind::Section(_)) | None => None,
        };
        if let Some(stop) = stop {
            // What was clicked at stays under the pointer.
            self.at = stop;
            if matches!(self.stop(), Some(Stop::File(_))) {
                self.fold();
            }
        }
        self.note_seen();
        Vec::new()
    }

    /// Returns the first row of the tree that is in sight.
    pub(super) fn tree_scroll(&self) -> usize {
        let here = self.stop().map(|stop| &self.stream.files[self.stream.file_of(stop)].key);
        let row = self.tree.rows.iter().position(|row| row.file.as_ref() == here && here.is_some());
        let rows = self.height().saturating_sub(1);
        row.unwrap_or_default().saturating_sub(rows.saturating_sub(2))
    }

    // ── answers ──

    fn answered(&mut self, tag: Tag, answer: Answer) -> Vec<Cmd> {
        match (tag, answer) {
            (Tag::Queue, answer) => self.take_queue(answer),
            (Tag::Status, Answer::Status(status)) => {
                self.status = Some(status);
                let listing = ListingShape::default();
                if self.listed && self.notices.is_empty() {
                    self.take_notices(&listing);
                    self.rebuild();
                }
                Vec::new()
            }
            (Tag::Decision, answer) => self.decided(answer),
            (Tag::Comment, Answer::Commented(comment)) => {
                self.drafts.remove(&comment.path);
                self.say("commented: the agent reads it with your next prompt", Look::Good);
                self.look_again()
            }
            (Tag::Comment, Answer::Resolved(_)) => {
                self.say("settled", Look::Good);
                self.look_again()
            }
            (Tag::Explain, Answer::Shown(shown)) => {
                self.over = Some(explained(&shown));
                Vec::new()
            }
            (Tag::Note, Answer::Note(note)) => {
                let text = note.unwrap_or_else(|| "nothing".to_owned());
                let lines = text.lines().map(|line| (line.to_owned(), Look::Plain)).collect();
                let title = "With your next prompt the agent is told".to_owned();
                self.over = Some(Over { title, lines, scroll: 0 });
                Vec::new()
            }
            (_, Answer::Problem(problem)) => {
                self.complain(&problem);
                Vec::new()
            }
            (Tag::Status | Tag::Comment | Tag::Explain | Tag::Note, _) => Vec::new(),
        }
    }

    pub(super) fn complain(&mut self, problem: &Problem) {
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        self.say(format!("{}{hint}", problem.message), Look::Bad);
    }

    fn take_queue(&mut self, answer: Answer) -> Vec<Cmd> {
        self.asking.queue = false;
        match answer {
            Answer::Listing(listing) => self.take_listing(listing),
            Answer::Problem(problem) => self.complain(&problem),
            Answer::Status(_)
            | Answer::Shown(_)
            | Answer::Decided(_)
            | Answer::Commented(_)
            | Answer::Resolved(_)
            | Answer::Rebased(_)
            | Answer::Note(_)
            | Answer::Diff(_)
            | Answer::Blame(_) => {}
        }
        if std::mem::take(&mut self.asking.again) { self.look_again() } else { Vec::new() }
    }

    fn take_listing(&mut self, listing: ListingShape) {
        self.take_notices(&listing);
        let mut leaves: Vec<Leaf> = listing.hunks.into_iter().map(Leaf::of).collect();
        self.remember(&leaves);
        self.keep_gone(&mut leaves);
        self.comments = listing.comments;
        self.leaves = leaves;
        self.settle_folds();
        let first = !std::mem::replace(&mut self.listed, true);
        self.forget_texts();
        self.rebuild();
        if first {
            self.scroll = 0;
            if !self.stream.stops.first().is_some_and(|stop| self.is_undecided(stop, Which::Owed)) {
                self.to_undecided(Way::Forward);
                self.message = None;
            }
            self.note_seen();
        }
        if let Some(id) = self.asking.goto.take()
            && let Some(found) =
                self.stream.stops.iter().position(|stop| {
                    self.stream.hunks_of(stop).iter().any(|hunk| self.leaves[*hunk].id() == id)
                })
        {
            self.stand(found);
        }
    }

    /// Keeps what was rejected in this sitting in its place, until it is there again.
    fn keep_gone(&self, leaves: &mut Vec<Leaf>) {
        for old in &self.leaves {
            let decided = old.gone || old.shape.state == ReviewState::Rejected;
            if !decided || leaves.iter().any(|leaf| leaf.id() == old.id()) {
                continue;
            }
            let key = |leaf: &Leaf| (FileKey::of(&leaf.shape), leaf.shape.base_range.start);
            let place = leaves.partition_point(|leaf| key(leaf) <= key(old));
            leaves.insert(place, Leaf { gone: true, ..old.clone() });
        }
    }

    /// Folds what begins folded, once.
    fn settle_folds(&mut self) {
        let mut files: std::collections::BTreeMap<FileKey, usize> = std::collections::BTreeMap::new();
        for leaf in &self.leaves {
            *files.entry(FileKey::of(&leaf.shape)).or_default() += leaf.rows(Layout::Unified);
            if leaf.shape.state != ReviewState::Unreviewed && !self.memory.seen.contains(leaf.id()) {
                self.folds.closed.insert(leaf.id().to_owned());
            }
            if leaf.gone {
                self.folds.closed.insert(leaf.id().to_owned());
            }
        }
        for (key, rows) in files {
            let name = key.path.rsplit('/').next().unwrap_or_default();
            let folded = LOCKFILES.contains(&name) || name.ends_with(".min.js") || rows > FOLDED_LINES;
            if folded && self.folds.settled.insert(key.clone()) {
                self.folds.files.insert(key);
            }
        }
    }

    // ── texts of files ──

    /// Returns the files that are in sight, or about to be, and whose text is not known.
    fn wanted(&mut self) -> Vec<Cmd> {
        let height = self.height();
        let (from, to) = (self.scroll.saturating_sub(height), self.scroll + 2 * height);
        let first = self.stream.blocks.partition_point(|block| block.start + block.rows <= from);
        let near = self.stream.blocks[first..].iter().take_while(|block| block.start < to);
        let files: Vec<usize> = near
            .filter_map(|block| match block.kind {
                Kind::Unit(unit) if !self.stream.units[unit].closed => Some(self.stream.units[unit].file),
                Kind::Unit(_) | Kind::File(_) | Kind::Notices | Kind::Section(_) => None,
            })
            .collect();
        let mut cmds = Vec::new();
        for file in files {
            let key = &self.stream.files[file].key;
            if self.reading.len() >= READING || self.texts.contains_key(key) || self.reading.contains_key(key)
            {
                continue;
            }
            let key = key.clone();
            if let Some(wanted) = self.want(&key) {
                self.reading.insert(key, wanted.stamp.clone());
                cmds.push(Cmd::Read(Box::new(wanted)));
            }
        }
        cmds
    }

    fn want(&self, key: &FileKey) -> Option<Wanted> {
        let of_file =
            || self.leaves.iter().filter(|leaf| leaf.has_place() && FileKey::of(&leaf.shape) == *key);
        let last = of_file().map(|leaf| leaf.shape.current_range.end).max()?;
        if last > LONGEST_FILE || of_file().any(|leaf| leaf.shape.path_bytes.is_some()) {
            return None;
        }
        let hunk = |leaf: &Leaf| {
            let before = crate::surface::sides::before(&leaf.shape).to_owned();
            (leaf.id().to_owned(), leaf.shape.current_range, before)
        };
        Some(Wanted {
            root: key.root.clone(),
            path: key.path.clone(),
            stamp: self.stamp(key),
            hunks: of_file().map(hunk).collect(),
        })
    }

    /// Names what is listed of a file: another name, another text.
    fn stamp(&self, key: &FileKey) -> String {
        let of_file = self.leaves.iter().filter(|leaf| leaf.has_place() && FileKey::of(&leaf.shape) == *key);
        of_file.map(|leaf| leaf.shape.digest.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Takes a file that was read, when it is what is listed.
    fn read(&mut self, text: FileText) -> Vec<Cmd> {
        let key = FileKey { root: text.root.clone(), path: text.path.clone() };
        self.reading.remove(&key);
        if self.stamp(&key) != text.stamp || !self.agrees(&key, &text) {
            return Vec::new();
        }
        if self.texts.len() >= KEPT_TEXTS
            && let Some(other) = self.texts.keys().find(|other| !self.is_near(other)).cloned()
        {
            self.texts.remove(&other);
        }
        self.texts.insert(key, text);
        self.rebuild();
        Vec::new()
    }

    fn is_near(&self, key: &FileKey) -> bool {
        let height = self.height();
        let (from, to) = (self.scroll.saturating_sub(height), self.scroll + 2 * height);
        self.stream.files.iter().filter(|file| file.key == *key).any(|file| {
            let start = self.stream.blocks[file.block].start;
            let end = self.stream.blocks.get(file.block + 1..).into_iter().flatten();
            let end = end.take_while(|block| matches!(block.kind, Kind::Unit(_))).last();
            start < to && end.map_or(start, |block| block.start + block.rows) >= from
        })
    }

    /// Says whether the listed lines stand in the text: it may have been read a moment later.
    fn agrees(&self, key: &FileKey, text: &FileText) -> bool {
        let Some(lines) = &text.lines else { return true };
        let of_file = self.leaves.iter().filter(|leaf| leaf.has_place() && FileKey::of(&leaf.shape) == *key);
        of_file.into_iter().all(|leaf: &Leaf| {
            let content = crate::surface::sides::after(&leaf.shape);
            let first = (leaf.shape.current_range.start as usize).saturating_sub(1);
            (0..leaf.after.len()).all(|index| {
                lines.get(first + index).map(String::as_str) == Some(leaf.after.line(content, index))
            })
        })
    }

    /// Drops the texts of files of which something else is listed now.
    fn forget_texts(&mut self) {
        let stale: Vec<FileKey> = self
            .texts
            .iter()
            .filter(|(key, text)| self.stamp(key) != text.stamp)
            .map(|(key, _)| key.clone())
            .collect();
        for key in stale {
            self.texts.remove(&key);
        }
    }

    // ── lines that are written ──

    pub(super) fn ask_line(&mut self, purpose: Purpose) {
        let text = match &purpose {
            Purpose::Comment { path, .. } => self.drafts.get(path).cloned().unwrap_or_default(),
            Purpose::Search | Purpose::Reason(_) => String::new(),
        };
        let caret = text.chars().count();
        self.prompt = Some(Prompt { purpose, text, caret });
    }

    fn paste(&mut self, text: &str) -> Vec<Cmd> {
        if let Some(prompt) = self.prompt.as_mut() {
            for c in text.chars() {
                prompt.insert(if c == '\n' || c == '\r' { ' ' } else { c });
            }
        }
        Vec::new()
    }

    fn write(&mut self, stroke: &Stroke) -> Vec<Cmd> {
        let Some(prompt) = self.prompt.as_mut() else { return Vec::new() };
        match stroke.as_str() {
            "enter" => return self.written(),
            "esc" | "ctrl-c" => {
                let prompt = self.prompt.take();
                if let Some(Prompt { purpose: Purpose::Comment { path, .. }, text, .. }) = prompt
                    && !text.trim().is_empty()
                {
                    self.drafts.insert(path, text);
                    self.say("the draft is kept", Look::Faint);
                }
            }
            "backspace" => prompt.erase(),
            "left" => prompt.caret = prompt.caret.saturating_sub(1),
            "right" => prompt.caret = (prompt.caret + 1).min(prompt.text.chars().count()),
            "home" | "ctrl-a" => prompt.caret = 0,
            "end" | "ctrl-e" => prompt.caret = prompt.text.chars().count(),
            "ctrl-u" => (prompt.text, prompt.caret) = (String::new(), 0),
            _ => {
                if let Some(c) = stroke.character() {
                    prompt.insert(c);
                }
            }
        }
        Vec::new()
    }

    fn written(&mut self) -> Vec<Cmd> {
        let Some(prompt) = self.prompt.take() else { return Vec::new() };
        match prompt.purpose {
            Purpose::Search => {
                self.query = prompt.text;
                if !self.query.is_empty() && !self.stop().is_some_and(|stop| self.matches(stop)) {
                    self.to_match(Way::Forward);
                }
                Vec::new()
            }
            Purpose::Reason(shown) => self.reject_with(shown, prompt.text),
            Purpose::Comment { path, lines, shown } => self.comment(path, lines, shown, prompt.text),
        }
    }

    // ── what lies over the stream ──

    fn show_help(&mut self) {
        let row = |row: &(Action, &str, &str, &str)| {
            (format!("{:<22} {}", self.keys.of(row.0), row.3), Look::Plain)
        };
        let mut lines: Vec<(String, Look)> = super::keys::TABLE.iter().map(row).collect();
        lines.push((String::new(), Look::Plain));
        lines.push(("The mouse: click to stand, the wheel to move.".to_owned(), Look::Faint));
        lines.push(("Keys are set under [tui.keys] of your own configuration.".to_owned(), Look::Faint));
        self.over = Some(Over { title: "Keys".to_owned(), lines, scroll: 0 });
    }

    fn explain(&self) -> Vec<Cmd> {
        let id = self.here().first().map(|leaf| leaf.id().to_owned());
        id.into_iter().map(|id| Cmd::Ask(Tag::Explain, Ask::Show { id })).collect()
    }

    fn edit(&mut self) -> Vec<Cmd> {
        let Some(leaf) = self.here().first().copied() else { return Vec::new() };
        let shape = &leaf.shape;
        let exact = shape.path_bytes.clone().map(|bytes| (shape.root.clone(), bytes));
        let path = FileKey::of(shape).absolute();
        vec![Cmd::Edit { path, exact, line: shape.current_range.start.max(1) }]
    }
}

/// Down the stream, or up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Back,
}

/// What of the undecided is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Owed,
    Any,
}

impl Prompt {
    fn insert(&mut self, c: char) {
        let at = self.offset(self.caret);
        self.text.insert(at, c);
        self.caret += 1;
    }

    fn erase(&mut self) {
        if let Some(before) = self.caret.checked_sub(1) {
            self.text.remove(self.offset(before));
            self.caret = before;
        }
    }

    fn offset(&self, caret: usize) -> usize {
        self.text.char_indices().nth(caret).map_or(self.text.len(), |(at, _)| at)
    }
}

/// Finds a text in another: letters of any case, unless one that is searched for is upper case.
pub(super) fn find(text: &str, query: &str) -> Option<std::ops::Range<usize>> {
    if query.is_empty() {
        return None;
    }
    if query.chars().any(char::is_uppercase) {
        return text.find(query).map(|at| at..at + query.len());
    }
    let (text, query) = (text.as_bytes(), query.as_bytes());
    let at = text.windows(query.len()).position(|window| window.eq_ignore_ascii_case(query))?;
    Some(at..at + query.len())
}

/// Writes everything about a hunk.
fn explained(shown: &ShownShape) -> Over {
    let mut lines: Vec<(String, Look)> = Vec::new();
    let hunk = &shown.hunk;
    lines.push((format!("{} {}", hunk.id, hunk.path), Look::Name));
    for call in &hunk.calls {
        lines
            .push((format!("call {}: {}", call.tool_call_id, super::stream::call_title(call)), Look::Header));
    }
    lines.push((String::new(), Look::Plain));
    lines.extend(shown.explanation.lines().map(|line| (line.to_owned(), Look::Plain)));
    if !shown.history.is_empty() {
        lines.push((String::new(), Look::Plain));
        lines.push(("history".to_owned(), Look::Name));
    }
    for row in &shown.history {
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let state = match row.state {
            ReviewState::Unreviewed => "undecided",
            ReviewState::Accepted => "accepted",
            ReviewState::Rejected => "rejected",
        };
        lines.push((format!("{state} by {} ({}){reason}", row.by, row.channel), Look::Plain));
    }
    Over { title: "This hunk".to_owned(), lines, scroll: 0 }
}
