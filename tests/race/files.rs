//! The files in which agent, jobs and person write.

use super::op::Work;
use super::stage::{Beat, FILES, Race, full};
use super::truth::Writer;

impl Race {
    pub(super) fn line(&mut self, by: Writer) -> String {
        self.lines += 1;
        by.line(self.lines)
    }

    pub(super) fn text(&self, file: &str) -> Option<String> {
        self.world.tree.bytes(&full(file)).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn some_file(&mut self) -> String {
        format!("f{}", self.dice.index(FILES))
    }

    /// Draws one of the files that hold something, with what it holds.
    pub(super) fn standing_file(&mut self) -> Option<(String, String)> {
        let files = (0..FILES).map(|file| format!("f{file}"));
        let held = |file: String| self.text(&file).filter(|text| !text.is_empty()).map(|text| (file, text));
        let mut standing: Vec<(String, String)> = files.filter_map(held).collect();
        let at = self.dice.index(standing.len());
        (at < standing.len()).then(|| standing.swap_remove(at))
    }

    /// Draws an edit of a text: what is replaced, and by what.
    pub(super) fn edit(&mut self, by: Writer, text: &str) -> Option<(String, String)> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if lines.is_empty() {
            return None;
        }
        let at = self.dice.index(lines.len());
        let old = lines[at..(at + self.dice.index(3) + 1).min(lines.len())].concat();
        let own: String = (0..self.dice.within(1, 3)).map(|_| self.line(by)).collect();
        let new = if self.dice.percent(50) { format!("{old}{own}") } else { own };
        Some((old, new))
    }

    /// Somebody edits a file on what stands there.
    pub(super) fn change(&mut self, by: Writer, file: &str) {
        let Some(text) = self.text(file).filter(|_| !self.emptied.contains(file)) else { return };
        if let Some((old, new)) = self.edit(by, &text) {
            self.replace(by, file, &text.replacen(&old, &new, 1));
        }
    }

    /// Writes a file, sometimes so slowly that it can be seen empty.
    pub(super) fn replace(&mut self, by: Writer, file: &str, text: &str) {
        if self.emptied.contains(file) {
            return;
        }
        if self.dice.percent(12) && self.text(file).is_some() {
            self.emptied.insert(file.to_owned());
            let old = self.text(file).unwrap_or_default();
            self.wrote(by, file, [&old, text]);
            self.world.tree.write(&full(file), b"", self.world.now.wall);
            let takes = self.dice.within(1, 5);
            // Written already for the truth: only the bytes are late.
            self.plan(takes, Beat::Refill(file.to_owned(), text.to_owned()));
            return;
        }
        self.put(by, file, text);
    }

    pub(super) fn put(&mut self, by: Writer, file: &str, text: &str) {
        let old = self.text(file).unwrap_or_default();
        self.wrote(by, file, [&old, text]);
        self.world.tree.write(&full(file), text.as_bytes(), self.world.now.wall);
    }

    pub(super) fn wrote(&mut self, by: Writer, file: &str, texts: [&str; 2]) {
        self.truth.wrote(by, texts, self.now);
        let unheard = |at: usize| {
            let op = &self.ops[at];
            op.heard.is_none() && matches!(op.work, Work::Shell | Work::Silent)
        };
        let stirs = match by {
            Writer::Call(at) => unheard(at),
            Writer::Job(_) | Writer::Person => true,
        };
        if stirs {
            self.truth.stir(file, self.now);
        }
    }

    pub(super) fn remove(&mut self, by: Writer, file: &str) -> bool {
        let Some(text) = self.text(file).filter(|_| !self.emptied.contains(file)) else { return false };
        self.wrote(by, file, [&text, ""]);
        self.truth.moved(by, file, file);
        self.world.tree.remove(&full(file), self.world.now.wall)
    }
}
