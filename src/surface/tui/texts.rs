//! The texts of the files in sight: wanted, checked against the listing, forgotten.

use super::leaf::Leaf;
use super::model::Model;
use super::msg::{Cmd, FileText, Wanted};
use super::stream::{FileKey, Kind};

/// Files that are read at a time.
const READING: usize = 2;
/// Lines of a file beyond which it is not read for the lines around its hunks.
const LONGEST_FILE: u32 = 50_000;
/// Texts of files that are kept, and their lines in all: beyond that those that are not near go.
const KEPT_TEXTS: usize = 24;
const KEPT_LINES: usize = 8_000;

impl Model {
    /// Returns the files that are in sight, or about to be, and whose text is not known.
    pub(super) fn wanted(&mut self) -> Vec<Cmd> {
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
        let of_file = || self.leaves.iter().filter(|leaf| leaf.has_place() && key.holds(&leaf.shape));
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
        let of_file = self.leaves.iter().filter(|leaf| leaf.has_place() && key.holds(&leaf.shape));
        of_file.map(|leaf| leaf.shape.digest.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Takes a file that was read, when it is what is listed.
    pub(super) fn read(&mut self, text: FileText) -> Vec<Cmd> {
        let key = FileKey { root: text.root.clone(), path: text.path.clone() };
        self.reading.remove(&key);
        if self.stamp(&key) != text.stamp || !self.agrees(&key, &text) {
            return Vec::new();
        }
        self.texts.insert(key, text);
        self.spare_texts();
        self.rebuild();
        Vec::new()
    }

    /// Forgets texts of files that are not near, as long as more is kept than should be.
    fn spare_texts(&mut self) {
        let lines = |text: &FileText| text.lines.as_ref().map_or(0, Vec::len);
        let mut kept: usize = self.texts.values().map(lines).sum();
        let far: Vec<FileKey> = self.texts.keys().filter(|key| !self.is_near(key)).cloned().collect();
        for key in far {
            if self.texts.len() <= KEPT_TEXTS && kept <= KEPT_LINES {
                return;
            }
            kept -= self.texts.remove(&key).as_ref().map_or(0, lines);
        }
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
        let of_file = self.leaves.iter().filter(|leaf| leaf.has_place() && key.holds(&leaf.shape));
        of_file.into_iter().all(|leaf: &Leaf| {
            let content = crate::surface::sides::after(&leaf.shape);
            let first = (leaf.shape.current_range.start as usize).saturating_sub(1);
            (0..leaf.after.len()).all(|index| {
                lines.get(first + index).map(String::as_str) == Some(leaf.after.line(content, index))
            })
        })
    }

    /// Drops the texts of files of which something else is listed now.
    pub(super) fn forget_texts(&mut self) {
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
}
