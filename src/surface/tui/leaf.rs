//! One hunk or entry, with its lines cut.

use super::stream::Layout;
use crate::ledger::{HunkShape, ReviewState};
use crate::surface::sides::{Lines, Sides, after, before};
use std::cell::OnceCell;

/// One hunk or entry.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) shape: HunkShape,
    pub(super) before: Lines,
    pub(super) after: Lines,
    /// It was rejected in this sitting and is no longer in the file.
    pub(super) gone: bool,
    /// How its sides lie against each other, found out when it is first drawn.
    pub(super) offset: OnceCell<usize>,
}

impl Leaf {
    pub(super) fn of(shape: HunkShape) -> Self {
        let (before, after) = (Lines::of(before(&shape)), Lines::of(after(&shape)));
        Self { shape, before, after, gone: false, offset: OnceCell::new() }
    }

    pub(super) fn id(&self) -> &str {
        self.shape.id.as_str()
    }

    /// Says whether it is lines of text.
    pub(super) fn is_text(&self) -> bool {
        self.shape.entry.kind == "text"
    }

    /// Says whether its lines stand in the file as it is.
    pub(super) fn has_place(&self) -> bool {
        self.is_text() && !self.gone
    }

    /// Says whether the base or the file as it stands is nothing but this.
    pub(super) fn is_whole_file(&self) -> bool {
        let (base, current) = (self.shape.base_range, self.shape.current_range);
        current.end <= 1 || (base.start == 1 && base.end <= 1 && current.start == 1)
    }

    /// Returns the rows that its lines take.
    pub(super) fn rows(&self, layout: Layout) -> usize {
        match layout {
            Layout::Unified => self.before.len() + self.after.len(),
            Layout::Split => self.before.len().max(self.after.len()),
        }
    }

    pub(super) fn sides(&self) -> Sides<'_> {
        let laid = |offset| Sides::laid(&self.shape, (&self.before, &self.after), offset);
        laid(*self.offset.get_or_init(|| laid(0).best_offset()))
    }

    /// Says what stands in the place of lines.
    pub(super) fn entry(&self) -> String {
        let entry = &self.shape.entry;
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        match entry.kind.as_str() {
            "mode" => format!("mode {} → {}", or_none(&entry.old_mode), or_none(&entry.new_mode)),
            "type" => format!("type {} → {}", or_none(&entry.old_mode), or_none(&entry.new_mode)),
            "symlink" => {
                format!("symbolic link → {} (was {})", or_none(&entry.new_target), or_none(&entry.old_target))
            }
            "rename" => format!("renamed from {}", or_none(&entry.old_path)),
            "binary" => "binary content".to_owned(),
            "empty" => "an empty file".to_owned(),
            "eol" => "line endings of the whole file".to_owned(),
            "summary" => "a flood of files beneath this directory".to_owned(),
            "outside" => "outside every root: shown, never taken back".to_owned(),
            other => other.to_owned(),
        }
    }

    /// Says what a person should know of it before deciding.
    pub(super) fn remarks(&self) -> Vec<String> {
        let hunk = &self.shape;
        let mut remarks = Vec::new();
        if hunk.reapplied {
            remarks.push("rejected before, and back".to_owned());
        }
        if hunk.mixed {
            remarks.push("mixed: the lines marked * are not the agent's".to_owned());
        }
        if !hunk.evidence.candidates.is_empty() {
            let names: Vec<_> = hunk.evidence.candidates.iter().map(super::stream::call_title).collect();
            remarks.push(format!("one of: {}", names.join("; ")));
        }
        for other in &hunk.evidence.sessions {
            remarks.push(format!("by another session: {} of {}", other.session_id, other.agent));
        }
        if hunk.evidence.vcs {
            remarks.push("HEAD moved and this is its content".to_owned());
        }
        remarks.extend(hunk.locked.as_ref().map(|why| format!("cannot be rejected: {why}")));
        remarks
    }

    /// Says what became of the whole file, where the first of its hunks tells.
    pub(super) fn file_word(&self) -> &'static str {
        let (base, current) = (self.shape.base_range, self.shape.current_range);
        match self.shape.entry.kind.as_str() {
            "rename" => " (renamed)",
            "text" if self.gone => "",
            "text" if current.end <= 1 && base.end > 1 && base.start == 1 => " (deleted or emptied)",
            _ => "",
        }
    }

    /// Says where it stands, in a word or two.
    pub(super) fn state(&self) -> &'static str {
        match self.shape.state {
            ReviewState::Unreviewed if self.shape.reject_pending => "reverts when the turn ends",
            ReviewState::Unreviewed => "undecided",
            ReviewState::Accepted => "accepted",
            ReviewState::Rejected => "rejected",
        }
    }
}
