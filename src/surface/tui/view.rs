//! The state → the screen. Draws what is in sight and nothing else.

use super::cells::{Pen, Place, put, put_right, width};
use super::keys::Action;
use super::model::{Model, Over, Prompt, Purpose};
use super::rows::Painter;
use super::stream::{Kind, Order};
use super::theme::{Look, Theme};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Draws the state.
pub fn view(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    let screen = Screen { model, theme: model.theme };
    if area.width < 8 || area.height < 3 {
        return;
    }
    let buffer = frame.buffer_mut();
    let columns = model.tree.columns(area.width);
    let rows = area.height - 1;
    if columns > 0 {
        screen.tree(buffer, Rect { width: columns, height: rows, ..area });
    }
    let stream = Rect { x: area.x + columns, width: area.width - columns, height: rows, ..area };
    screen.stream(buffer, stream);
    let listed = model.pending.over(&screen.answering());
    if let Some(over) = listed.as_ref().or(model.over.as_ref()) {
        screen.over(buffer, Rect { height: rows, ..area }, over);
    }
    let bottom = Place { x: area.x, y: area.y + rows, width: area.width };
    match &model.prompt {
        Some(prompt) => {
            let column = screen.prompt(buffer, bottom, prompt);
            frame.set_cursor_position((bottom.x + column, bottom.y));
        }
        None => screen.bar(buffer, bottom),
    }
}

struct Screen<'m> {
    model: &'m Model,
    theme: Theme,
}

impl Screen<'_> {
    fn look(&self, look: Look) -> Style {
        self.theme.look(look)
    }

    fn stream(&self, buffer: &mut Buffer, area: Rect) {
        let model = self.model;
        let painter = Painter { model, theme: self.theme };
        if model.stream.blocks.is_empty() {
            let text = if model.listed {
                "Nothing has changed in this session."
            } else {
                "Looking at the changes…"
            };
            let place = Place { x: area.x + 1, y: area.y, width: area.width.saturating_sub(1) };
            put(buffer, self.theme, place, text, self.look(Look::Faint));
            return;
        }
        for line in 0..area.height {
            let row = model.scroll + usize::from(line);
            let Some(block) = model.stream.at(row) else { break };
            let place = Place { x: area.x, y: area.y + line, width: area.width };
            // The file is named at the top for as long as anything of it is in sight.
            if let (0, Kind::Unit(unit)) = (line, block.kind) {
                painter.file(buffer, place, model.stream.units[unit].file);
                continue;
            }
            painter.row(buffer, place, block, row - block.start);
        }
    }

    fn tree(&self, buffer: &mut Buffer, area: Rect) {
        let model = self.model;
        let here = model.stop().map(|stop| &model.stream.files[model.stream.file_of(stop)].key);
        let first = model.tree_scroll();
        for line in 0..area.height {
            let place = Place { x: area.x, y: area.y + line, width: area.width - 1 };
            put(buffer, self.theme, place.behind(area.width - 1), "│", self.look(Look::Faint));
            let edge = Place { x: area.x + area.width - 1, y: area.y + line, width: 1 };
            put(buffer, self.theme, edge, "│", self.look(Look::Faint));
            let Some(row) = model.tree.rows.get(first + usize::from(line)) else { continue };
            let mut style = if row.file.is_some() { Style::new() } else { self.look(Look::Faint) };
            if row.file.is_some() && row.file.as_ref() == here {
                style = if model.tree.focused { self.look(Look::File) } else { self.look(Look::Cursor) };
            }
            let mut left = place;
            if let Some(key) = &row.file {
                let open = model.open_in(key);
                let (mark, look) =
                    if open > 0 { (open.to_string(), Look::Notice) } else { ("✓".to_owned(), Look::Good) };
                left = put_right(buffer, self.theme, place, &format!(" {mark}"), self.look(look));
            }
            put(buffer, self.theme, left, &format!("{}{}", "  ".repeat(row.depth), row.label), style);
        }
    }

    fn over(&self, buffer: &mut Buffer, area: Rect, over: &Over) {
        let blank = " ".repeat(usize::from(area.width));
        for line in 0..area.height {
            let place = Place { x: area.x, y: area.y + line, width: area.width };
            put(buffer, self.theme, place, &blank, Style::reset());
            if line == 0 {
                let title = format!(" {} ", over.title);
                let keys = format!(" {} ", over.keys);
                let rest = put_right(buffer, self.theme, place, &keys, self.look(Look::Faint));
                put(buffer, self.theme, rest, &title, self.look(Look::File));
            } else if let Some((text, look)) = over.lines.get(over.scroll + usize::from(line) - 1) {
                put(buffer, self.theme, place.behind(1), text, self.look(*look));
            }
        }
    }

    /// Says what the keys do where requests are listed.
    fn answering(&self) -> String {
        let key = |action| self.model.keys.of(action);
        let (allow, deny) = (key(Action::Accept), key(Action::Reject));
        format!("{allow} allow · {deny} deny · {} deny, and say why", key(Action::RejectWithReason))
    }

    /// Draws the line that is being written, and returns the column of the caret.
    fn prompt(&self, buffer: &mut Buffer, place: Place, prompt: &Prompt) -> u16 {
        let label = match &prompt.purpose {
            Purpose::Reason(shown) if shown.len() > 1 => {
                format!("Reject {} hunks, because (optional): ", shown.len())
            }
            Purpose::Reason(_) => "Reject, because (optional): ".to_owned(),
            Purpose::Denial { .. } => "Deny, because (optional): ".to_owned(),
            Purpose::Comment { lines: (start, end), .. } if end > start => {
                format!("Comment on lines {start}-{end}: ")
            }
            Purpose::Comment { lines: (start, _), .. } => format!("Comment on line {start}: "),
            Purpose::Search => "/".to_owned(),
        };
        let taken = put(buffer, self.theme, place, &label, self.look(Look::Notice));
        let field = place.behind(taken);
        let before: String = prompt.text.chars().take(prompt.caret).collect();
        let caret = width(&before);
        // The caret stays in sight.
        let skipped = (caret + 1).saturating_sub(usize::from(field.width));
        let mut pen = Pen::new(buffer, self.theme, field, skipped);
        pen.write(&prompt.text, |_| Style::new());
        pen.end();
        let column = u16::try_from(caret - skipped.min(caret)).unwrap_or(u16::MAX);
        (taken + column).min(place.width.saturating_sub(1))
    }

    fn bar(&self, buffer: &mut Buffer, place: Place) {
        let model = self.model;
        let style = self.look(Look::Status);
        let mut pen = Pen::new(buffer, self.theme, place, 0);
        pen.fill(style);
        pen.end();
        let (done, all) = model.progress();
        let mut left = format!(" {done}/{all}");
        let news = model.memory.new.len();
        if news > 0 {
            left.push_str(&format!(" · {news} new"));
        }
        let doubtful = model.doubtful();
        if doubtful > 0 {
            left.push_str(&format!(" · {doubtful} not surely the agent's"));
        }
        let waits = model.pending.len();
        if waits > 0 {
            let key = model.keys.of(Action::Pending);
            left.push_str(&format!(" · {waits} waiting for your answer: {key}"));
        }
        let above = model.notices.iter().filter(|notice| notice.starts_with("degraded: ")).count();
        if above > 0 && model.scroll > 0 {
            left.push_str(" · degraded");
        }
        let right = self.right_of_bar();
        let rest = put_right(buffer, self.theme, place, &right, style);
        let taken = put(buffer, self.theme, rest, &left, style.patch(self.look(Look::Name)));
        if let Some((text, look)) = &model.message {
            let mark = if *look == Look::Bad { "  ! " } else { "  " };
            put(buffer, self.theme, rest.behind(taken), &format!("{mark}{text}"), style);
        } else if place.width >= 60 {
            let text = format!("  {}", model.title);
            put(buffer, self.theme, rest.behind(taken), &text, style);
        }
    }

    fn right_of_bar(&self) -> String {
        let model = self.model;
        let order = match model.order {
            Order::File => "",
            Order::Call => "by call · ",
            Order::Turn => "by turn · ",
        };
        let at = if model.stream.rows > model.height() {
            let last = model.stream.rows - model.height();
            format!("{}% · ", model.scroll * 100 / last.max(1))
        } else {
            String::new()
        };
        let busy = if model.deciding.is_empty() { "" } else { "… · " };
        format!(" {busy}{order}{at}{} help ", model.keys.of(Action::Help))
    }
}
