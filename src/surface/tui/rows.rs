//! One row of the stream.

use super::cells::{Pen, Place, put, put_right};
use super::leaf::Leaf;
use super::model::Model;
use super::msg::Inked;
use super::stream::{Block, Kind, Layout, Part, Unit, call_title};
use super::theme::{Ink, Look, Side, Theme};
use super::update::find;
use crate::ledger::{ReviewState, Side as DiffSide};
use crate::review::DecideVerb;
use crate::surface::text::grade_words;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use std::ops::Range;

/// Columns before the text of a line: the cursor, the number, the sign.
const NUMBER: usize = 5;

/// Draws rows.
pub(super) struct Painter<'m> {
    pub(super) model: &'m Model,
    pub(super) theme: Theme,
}

/// A line of a side that is to be drawn.
struct Written<'t> {
    number: Option<u32>,
    side: Side,
    text: &'t str,
    /// What the other side does not have.
    marks: Vec<Range<usize>>,
    inks: Option<&'t Inked>,
    /// Of a mixed hunk: this line is not the agent's.
    foreign: bool,
    /// It is the last and has no terminator.
    torn: bool,
}

impl Painter<'_> {
    fn look(&self, look: Look) -> Style {
        self.theme.look(look)
    }

    /// Draws a row of a block.
    pub(super) fn row(&self, buffer: &mut Buffer, place: Place, block: &Block, row: usize) {
        match block.kind {
            Kind::Notices => {
                let text = self.model.stream.notices.get(row).map_or("", String::as_str);
                put(buffer, self.theme, place, text, self.look(Look::Notice));
            }
            Kind::Section(section) => {
                put(
                    buffer,
                    self.theme,
                    place,
                    &self.model.stream.sections[section],
                    self.look(Look::Section),
                );
            }
            Kind::File(file) if row == 0 => self.file(buffer, place, file),
            Kind::File(file) => {
                let lines = self.model.stream.files[file].comments.iter().flat_map(|remark| {
                    remark.lines.iter().enumerate().map(|(nth, line)| (nth, line.as_str()))
                });
                if let Some((nth, line)) = lines.into_iter().nth(row - 1) {
                    self.comment(buffer, place, nth, line);
                }
            }
            Kind::Unit(unit) => self.unit(buffer, place, unit, row),
        }
    }

    /// Draws the name of a file.
    pub(super) fn file(&self, buffer: &mut Buffer, place: Place, index: usize) {
        let file = &self.model.stream.files[index];
        let style = self.look(Look::File);
        let mut pen = Pen::new(buffer, self.theme, place, 0);
        pen.fill(style);
        pen.end();
        let here =
            self.model.stop().is_some_and(|stop| file.folded && self.model.stream.file_of(stop) == index);
        let open = file.hunks.iter().filter(|hunk| self.waits(&self.model.leaves[**hunk])).count();
        let left = if open > 0 { format!("{open} to review ") } else { "✓ ".to_owned() };
        let counts = format!(" +{} -{} · {left}", file.added, file.removed);
        let rest = put_right(buffer, self.theme, place, &counts, style);
        let mark = if here { "▶" } else { " " };
        let fold = if file.folded { "▸ " } else { "" };
        let whole = self.model.leaves.get(file.hunks[0]).map(Leaf::file_word).unwrap_or_default();
        let hint = if file.folded { " (folded: enter opens)" } else { "" };
        let several = self.model.leaves.windows(2).any(|pair| pair[0].shape.root != pair[1].shape.root);
        let path = if several { file.key.absolute() } else { file.key.path.clone() };
        put(buffer, self.theme, rest, &format!("{mark}{fold}{path}{whole}{hint}"), style);
    }

    fn waits(&self, leaf: &Leaf) -> bool {
        leaf.shape.is_owed() && !leaf.shape.reject_pending && !self.model.deciding.contains_key(leaf.id())
    }

    fn comment(&self, buffer: &mut Buffer, place: Place, nth: usize, line: &str) {
        let mark = if nth == 0 { "  ┌ " } else { "  │ " };
        put(buffer, self.theme, place, &format!("{mark}{line}"), self.look(Look::Comment));
    }

    fn unit(&self, buffer: &mut Buffer, place: Place, index: usize, row: usize) {
        let unit = &self.model.stream.units[index];
        let here = self.model.stop() == Some(&super::stream::Stop::Unit(index));
        let bar = if here { "┃" } else { " " };
        put(buffer, self.theme, place, bar, self.look(Look::Cursor));
        let place = place.behind(1);
        if row == 0 {
            return self.head(buffer, place, unit, here);
        }
        if let Some(remark) = unit.remarks.get(row - 1) {
            put(buffer, self.theme, place, &format!("  {remark}"), self.look(Look::Notice));
            return;
        }
        let mut row = row - 1 - unit.remarks.len();
        for part in &unit.parts {
            if row < part.rows() {
                return self.part(buffer, place, unit, (part, row));
            }
            row -= part.rows();
        }
    }

    /// Draws the line that says what it is, where it stands and whose it is.
    fn head(&self, buffer: &mut Buffer, place: Place, unit: &Unit, here: bool) {
        let leaves: Vec<&Leaf> = unit.hunks.iter().map(|hunk| &self.model.leaves[*hunk]).collect();
        let Some(first) = leaves.first() else { return };
        let (state, look) = self.state(first);
        let mut style = self.look(look);
        if here {
            style = style.patch(self.look(Look::Name));
        }
        let new = leaves.iter().any(|leaf| self.model.memory.new.contains(leaf.id()));
        let group = if leaves.len() > 1 { format!("{} hunks ", leaves.len()) } else { String::new() };
        let more = if unit.closed { " · enter opens" } else { "" };
        let taken = put(buffer, self.theme, place, &format!("{state} {group}"), style);
        let rest = place.behind(taken);
        let mark = if new { "new " } else { "" };
        let taken = put(buffer, self.theme, rest, mark, self.look(Look::Notice));
        let mut words =
            vec![span(first, leaves[leaves.len() - 1]), grade_words(first.shape.evidence.grade).to_owned()];
        let mut told: Vec<&str> = Vec::new();
        for call in leaves.iter().flat_map(|leaf| &leaf.shape.calls) {
            if !told.contains(&call.tool_call_id.as_str()) {
                told.push(call.tool_call_id.as_str());
                words.push(call_title(call));
            }
        }
        if told.is_empty()
            && let Some(turn) = first.shape.evidence.turn
        {
            words.push(format!("turn {turn}"));
        }
        let text = format!("{}{more}", words.join(" · "));
        put(buffer, self.theme, rest.behind(taken), &text, self.look(Look::Header));
    }

    fn state(&self, leaf: &Leaf) -> (&'static str, Look) {
        match (self.model.deciding.get(leaf.id()), leaf.shape.state) {
            (Some(DecideVerb::Accept), _) => ("… accepting", Look::Faint),
            (Some(DecideVerb::Reject), _) => ("… rejecting", Look::Faint),
            (None, ReviewState::Unreviewed) if leaf.shape.reject_pending => {
                ("✗ reverts when the turn ends", Look::Bad)
            }
            (None, ReviewState::Unreviewed) if leaf.shape.reapplied => ("● reapplied", Look::Bad),
            (None, ReviewState::Unreviewed) if leaf.shape.is_owed() => ("● undecided", Look::Notice),
            (None, ReviewState::Unreviewed) => ("○ not owed", Look::Faint),
            (None, ReviewState::Accepted) => ("✓ accepted", Look::Good),
            (None, ReviewState::Rejected) => ("✗ rejected", Look::Bad),
        }
    }

    fn part(&self, buffer: &mut Buffer, place: Place, unit: &Unit, (part, row): (&Part, usize)) {
        match part {
            Part::Context { first, shift, .. } => {
                let number = first + u32::try_from(row).unwrap_or_default();
                self.context(buffer, place, unit, (number, *shift));
            }
            Part::Entry { hunk } => {
                let text = format!("  {}", self.model.leaves[*hunk].entry());
                put(buffer, self.theme, place, &text, self.look(Look::Name));
            }
            Part::Comment(remark) => {
                let line = remark.lines.get(row).map_or("", String::as_str);
                self.comment(buffer, place, row, line);
            }
            Part::Change { hunk, .. } => {
                let leaf = &self.model.leaves[*hunk];
                match self.model.layout {
                    Layout::Unified => self.line(buffer, place, &self.unified(leaf, row)),
                    Layout::Split => self.beside(buffer, place, self.split(leaf, row)),
                }
            }
        }
    }

    fn context(&self, buffer: &mut Buffer, place: Place, unit: &Unit, (number, shift): (u32, i64)) {
        let key = &self.model.stream.files[unit.file].key;
        let file = self.model.texts.get(key);
        let index = (number as usize).saturating_sub(1);
        let text = file.and_then(|file| file.lines.as_ref()?.get(index)).map_or("", String::as_str);
        let inks = file.and_then(|file| file.inks.get(index));
        let line = |number: u32| Written {
            number: Some(number),
            side: Side::Context,
            text,
            marks: Vec::new(),
            inks,
            foreign: false,
            torn: false,
        };
        match self.model.layout {
            Layout::Unified => self.line(buffer, place, &line(number)),
            Layout::Split => {
                let base = u32::try_from(i64::from(number) + shift).unwrap_or_default();
                self.beside(buffer, place, (Some(line(base)), Some(line(number))));
            }
        }
    }

    fn unified<'l>(&'l self, leaf: &'l Leaf, row: usize) -> Written<'l> {
        match row.checked_sub(leaf.before.len()) {
            None => self.removed(leaf, row),
            Some(row) => self.added(leaf, row),
        }
    }

    fn split<'l>(&'l self, leaf: &'l Leaf, row: usize) -> (Option<Written<'l>>, Option<Written<'l>>) {
        let (left, right) = leaf.sides().shifts();
        let left = row.checked_sub(left).filter(|row| *row < leaf.before.len());
        let right = row.checked_sub(right).filter(|row| *row < leaf.after.len());
        (left.map(|row| self.removed(leaf, row)), right.map(|row| self.added(leaf, row)))
    }

    fn removed<'l>(&'l self, leaf: &'l Leaf, row: usize) -> Written<'l> {
        let (text, marks) = leaf.sides().removed(row);
        let number = leaf.shape.base_range.start + u32::try_from(row).unwrap_or_default();
        let file = self.model.texts.get(&super::stream::FileKey::of(&leaf.shape));
        let inks = file.and_then(|file| file.before.get(leaf.id())?.get(row));
        let foreign = is_foreign(leaf, DiffSide::Before, number);
        Written {
            number: Some(number),
            side: Side::Removed,
            text,
            marks,
            inks,
            foreign,
            torn: leaf.before.is_torn(row),
        }
    }

    fn added<'l>(&'l self, leaf: &'l Leaf, row: usize) -> Written<'l> {
        let (text, marks) = leaf.sides().added(row);
        let number = leaf.shape.current_range.start + u32::try_from(row).unwrap_or_default();
        let file = self.model.texts.get(&super::stream::FileKey::of(&leaf.shape)).filter(|_| !leaf.gone);
        let inks = file.and_then(|file| file.inks.get((number as usize).saturating_sub(1)));
        let foreign = is_foreign(leaf, DiffSide::After, number);
        Written {
            number: Some(number),
            side: Side::Added,
            text,
            marks,
            inks,
            foreign,
            torn: leaf.after.is_torn(row),
        }
    }

    fn beside(
        &self,
        buffer: &mut Buffer,
        place: Place,
        (left, right): (Option<Written<'_>>, Option<Written<'_>>),
    ) {
        let half = place.width.saturating_sub(1) / 2;
        let sides = [(place.first(half), left), (place.behind(half + 1), right)];
        put(buffer, self.theme, place.behind(half).first(1), "│", self.look(Look::Faint));
        for (place, line) in sides {
            if let Some(line) = line {
                self.line(buffer, place, &line);
            }
        }
    }

    fn line(&self, buffer: &mut Buffer, place: Place, line: &Written<'_>) {
        let ground = self.theme.side(line.side);
        let (sign, look) = match line.side {
            Side::Context => (" ", Look::Faint),
            Side::Removed => ("-", Look::Bad),
            Side::Added => ("+", Look::Good),
        };
        let number = line.number.map(|number| number.to_string()).unwrap_or_default();
        let taken = put(buffer, self.theme, place, &format!("{number:>NUMBER$}"), self.look(Look::Faint));
        let place = place.behind(taken);
        let mark = if line.foreign { "*" } else { " " };
        let taken = put(buffer, self.theme, place, mark, self.look(Look::Notice));
        let place = place.behind(taken);
        let taken = put(buffer, self.theme, place, sign, ground.patch(self.look(look)));
        self.text(buffer, place.behind(taken), line, ground);
    }

    fn text(&self, buffer: &mut Buffer, place: Place, line: &Written<'_>, ground: Style) {
        let found = find(line.text, &self.model.query);
        let inks = Spread::of(line.inks);
        let style = |at: usize| {
            let mut style = ground.patch(self.theme.ink(inks.at(at), line.side));
            if line.marks.iter().any(|mark| mark.contains(&at)) {
                style = style.patch(self.theme.word(line.side));
            }
            if found.as_ref().is_some_and(|found| found.contains(&at)) {
                style = style.patch(self.look(Look::Match));
            }
            style
        };
        let text = line.text.strip_suffix('\r').unwrap_or(line.text);
        let mut pen = Pen::new(buffer, self.theme, place, self.model.aside);
        pen.write(text, style);
        if text.len() < line.text.len() {
            pen.write("␍", |_| ground.patch(self.look(Look::Faint)));
        }
        if line.torn {
            pen.write(" ⊘ no newline at the end", |_| ground.patch(self.look(Look::Faint)));
        }
        if line.side != Side::Context {
            pen.fill(ground);
        }
        pen.end();
    }
}

/// The colours of a line, found by offset.
struct Spread(Vec<(usize, Ink)>);

impl Spread {
    fn of(inks: Option<&Inked>) -> Self {
        let mut end = 0;
        let runs = inks.into_iter().flatten().map(|(length, ink)| {
            end += *length as usize;
            (end, *ink)
        });
        Self(runs.collect())
    }

    fn at(&self, offset: usize) -> Ink {
        let index = self.0.partition_point(|(end, _)| *end <= offset);
        self.0.get(index).map_or(Ink::Plain, |(_, ink)| *ink)
    }
}

/// Says whether a line of a mixed hunk carries no call.
fn is_foreign(leaf: &Leaf, side: DiffSide, line: u32) -> bool {
    leaf.shape.mixed
        && leaf
            .shape
            .author_lines
            .iter()
            .any(|run| run.side == side && (run.start..run.end).contains(&line) && run.calls.is_empty())
}

/// Writes where a unit stands, as git does.
fn span(first: &Leaf, last: &Leaf) -> String {
    if !first.is_text() {
        return first.shape.entry.kind.clone();
    }
    let one = |start: u32, end: u32| {
        let lines = end.saturating_sub(start);
        let start = if lines == 0 { start.saturating_sub(1) } else { start };
        if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
    };
    let (a, b) = (&first.shape, &last.shape);
    format!(
        "-{} +{}",
        one(a.base_range.start, b.base_range.end),
        one(a.current_range.start, b.current_range.end)
    )
}
