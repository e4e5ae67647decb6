//! What the reader has seen, and kept from one sitting to the next.

use super::leaf::Leaf;
use super::model::Model;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the text of one hunk that are kept, and of all of them.
const TEXT: usize = 64 << 10;
const TEXTS: usize = 1 << 20;

/// Everything that was listed when a sitting ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    hunks: Vec<SeenHunk>,
}

/// One hunk, as it was listed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenHunk {
    pub(super) id: String,
    pub(super) root: String,
    pub(super) path: String,
    /// Lines of the base, 1-based and half-open; none for what has no lines.
    lines: Option<(u32, u32)>,
    /// Its lines, where they were in sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Seen {
    /// Reads what was kept; nothing where it cannot be read, and then nothing is called new.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Writes it.
    pub(super) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl SeenHunk {
    /// Says whether a hunk stands where this one stood.
    fn precedes(&self, leaf: &Leaf) -> bool {
        let range = leaf.shape.base_range;
        let meets = |(start, end): (u32, u32)| start <= range.end && range.start <= end;
        leaf.is_text() && self.lines.is_some_and(meets)
    }
}

impl Model {
    fn saw(&self, leaf: &Leaf) -> SeenHunk {
        let (shape, range) = (&leaf.shape, leaf.shape.base_range);
        let seen = leaf.has_place() && self.memory.seen.contains(leaf.id());
        SeenHunk {
            id: leaf.id().to_owned(),
            root: shape.root.clone(),
            path: shape.path.clone(),
            lines: leaf.has_place().then_some((range.start, range.end)),
            text: seen.then(|| crate::surface::sides::after(shape).to_owned()),
        }
    }

    /// Returns what the next sitting is to know of this one, once anything was listed; what is new now is new then.
    pub fn seen(&self) -> Option<Seen> {
        if !self.listed {
            return None;
        }
        let mut left = TEXTS;
        let listed = self.leaves.iter().filter(|leaf| !leaf.gone && !self.memory.new.contains(leaf.id()));
        let hunks = listed.map(|leaf| {
            let mut hunk = self.saw(leaf);
            hunk.text = hunk.text.filter(|text| text.len() <= TEXT.min(left));
            left -= hunk.text.as_ref().map_or(0, String::len);
            hunk
        });
        Some(Seen { hunks: hunks.collect() })
    }

    /// Compares a listing with what was known before it: in this sitting, or at the end of the last one.
    pub(super) fn remember(&mut self, leaves: &[Leaf]) {
        let ids: BTreeSet<String> = leaves.iter().map(|leaf| leaf.id().to_owned()).collect();
        let past = if self.listed {
            let past = self.leaves.iter().filter(|old| !ids.contains(old.id()) && old.has_place());
            Some(past.map(|old| self.saw(old)).collect())
        } else {
            self.memory.past.take().map(|past| {
                self.memory.known.extend(past.hunks.iter().map(|hunk| hunk.id.clone()));
                past.hunks.into_iter().filter(|hunk| !ids.contains(&hunk.id)).collect::<Vec<_>>()
            })
        };
        if let Some(past) = past {
            self.compare(leaves, past);
        }
        self.memory.known.extend(ids.iter().cloned());
        self.memory.new.retain(|id| ids.contains(id));
        self.memory.changed.retain(|id, _| ids.contains(id));
    }

    fn compare(&mut self, leaves: &[Leaf], past: Vec<SeenHunk>) {
        let mut before: BTreeMap<(String, String), Vec<SeenHunk>> = BTreeMap::new();
        for old in past {
            before.entry((old.root.clone(), old.path.clone())).or_default().push(old);
        }
        for leaf in leaves.iter().filter(|leaf| !self.memory.known.contains(leaf.id())) {
            self.memory.new.insert(leaf.id().to_owned());
            let beside = before.get(&(leaf.shape.root.clone(), leaf.shape.path.clone()));
            let old = beside.into_iter().flatten().filter(|old| old.precedes(leaf));
            if let Some(text) = old.filter_map(|old| old.text.as_ref()).next() {
                self.memory.changed.insert(leaf.id().to_owned(), text.clone());
            }
        }
    }
}
