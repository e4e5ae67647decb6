//! What each message does to the state.

use super::decide::Insist;
use super::keys::{Action, Stroke};
use super::leaf::Leaf;
use super::model::{Model, Over, Prompt, Purpose};
use super::msg::{Cmd, Msg, Tag};
use super::stream::{FileKey, Kind, Layout, Order, Stop, is_open};
use super::theme::Look;
use crate::ledger::{Grade, Outcome};
use crate::review::{Ask, DecideVerb};

/// Rows that a turn of the wheel moves.
const WHEEL: i32 = 3;
impl Model {
    /// Takes a message and returns what is to be done.
    pub fn update(&mut self, msg: Msg) -> Vec<Cmd> {
        self.touched |= matches!(msg, Msg::Key(_) | Msg::Click(..) | Msg::Wheel(_));
        let mut cmds = match msg {
            Msg::Key(stroke) => self.key(&stroke),
            Msg::Paste(text) => self.paste(&text),
            Msg::Click(x, y) => self.click(x, y),
            Msg::Wheel(rows) => self.wheel(rows),
            Msg::Resize(columns, rows) => self.resize(columns, rows),
            Msg::Answered(tag, answer) => self.answered(tag, *answer),
            Msg::Read(text) => self.read(*text),
            Msg::Moved => self.look_again(),
            Msg::Requested => vec![Self::ask_pending()],
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
        // Whoever goes on by themselves is not taken elsewhere by a listing that comes later.
        self.asking.goto = None;
        if self.prompt.is_some() {
            return self.write(stroke);
        }
        let action = self.keys.action(stroke);
        if self.lists_pending() {
            return self.key_pending(stroke, action);
        }
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
            Action::NextUndecided => self.seek_undecided(Way::Forward),
            Action::PreviousUndecided => self.seek_undecided(Way::Back),
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
            Action::NextMatch => self.seek_match(Way::Forward),
            Action::PreviousMatch => self.seek_match(Way::Back),
            Action::NextNew => self.seek_new(),
            Action::Since => self.show_since(),
            Action::Tree => self.tree.focused = !self.tree.focused,
            Action::Help => self.show_help(),
            Action::Comment => self.begin_comment(),
            Action::RejectWithReason => self.begin_reason(),
            Action::Accept => return self.decide_here(DecideVerb::Accept, Insist::No),
            Action::Reject => return self.decide_here(DecideVerb::Reject, Insist::No),
            Action::ForceReject => return self.decide_here(DecideVerb::Reject, Insist::Yes),
            Action::AcceptFile => return self.decide_file(DecideVerb::Accept),
            Action::RejectFile => return self.decide_file(DecideVerb::Reject),
            Action::Undo => return vec![Cmd::Ask(Tag::Decision, Ask::Undo { dry_run: false })],
            Action::Redo => return vec![Cmd::Ask(Tag::Decision, Ask::Redo { dry_run: false })],
            Action::Resolve => return self.resolve(),
            Action::Edit => return self.edit(),
            Action::Explain => return self.explain(),
            Action::Note => return vec![Cmd::Ask(Tag::Note, Ask::Note)],
            Action::Pending => return self.show_pending(),
            Action::Refresh => {
                let mut cmds = self.look_again();
                cmds.push(Cmd::Ask(Tag::Status, Ask::Status));
                cmds.push(Self::ask_pending());
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
    pub(super) fn is_undecided(&self, stop: &Stop, which: Which) -> bool {
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
    pub(super) fn seek_undecided(&mut self, way: Way) {
        let found = self.seek(way, |model, stop| model.is_undecided(stop, Which::Owed))
            || self.seek(way, |model, stop| model.is_undecided(stop, Which::Any));
        if !found {
            let (quit, undo) = (self.keys.of(Action::Quit), self.keys.of(Action::Undo));
            self.say(format!("nothing waits for you: {undo} takes back, {quit} leaves"), Look::Good);
        }
    }

    fn seek_new(&mut self) {
        let is_new = |model: &Self, stop: &Stop| {
            let hunks = model.stream.hunks_of(stop).iter();
            hunks.into_iter().any(|hunk| model.memory.new.contains(model.leaves[*hunk].id()))
        };
        if !self.seek(Way::Forward, is_new) {
            self.say("nothing is new to you", Look::Faint);
        }
    }

    fn seek_match(&mut self, way: Way) {
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
        let width = std::mem::replace(&mut self.size, (columns, rows)).0;
        if width != columns {
            self.rebuild();
        }
        if anchored.is_some_and(|row| row >= self.height()) {
            self.reveal();
        }
        self.clamp();
        Vec::new()
    }

    fn wheel(&mut self, turns: i32) -> Vec<Cmd> {
        let rows = isize::try_from(turns * WHEEL).unwrap_or_default();
        if self.lists_pending() {
            self.step_pending(rows.signum());
            return Vec::new();
        }
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
        if self.lists_pending() {
            self.close_pending();
            return Vec::new();
        }
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

    // ── lines that are written ──

    pub(super) fn ask_line(&mut self, purpose: Purpose) {
        let text = match &purpose {
            Purpose::Comment { path, .. } => self.drafts.get(path).cloned().unwrap_or_default(),
            Purpose::Search | Purpose::Reason(_) | Purpose::Denial { .. } => String::new(),
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
                    self.seek_match(Way::Forward);
                }
                Vec::new()
            }
            Purpose::Reason(shown) => self.reject_with(shown, prompt.text),
            Purpose::Denial { request, rev } => {
                let reason = Some(prompt.text.trim().to_owned()).filter(|reason| !reason.is_empty());
                Self::respond((request, rev), Outcome::Deny, reason)
            }
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
        self.over = Some(Over::of("Keys", lines));
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
