//! What stands at a path, as a diff and a person see it: text, something opaque, a link, or nothing.

use crate::base::BlobId;
use crate::diff::{Diff, Text, is_binary};
use crate::ledger::{Blobs, Content, FileState, Mode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// Nothing.
    Absent,
    /// A text file.
    Text(Text),
    /// A file that is shown as a whole: binary, or its bytes cannot be had for this reason.
    Opaque {
        /// Its bytes, when they can be had.
        bytes: Option<Text>,
        /// Why they cannot.
        locked: Option<&'static str>,
    },
    /// A symbolic link, with its target.
    Link(Text),
}

impl Body {
    /// Reads what stands there.
    pub(super) fn of(state: Option<&FileState>, blobs: &dyn Blobs) -> Self {
        let Some(state) = state else { return Self::Absent };
        let locked = match state.content {
            Content::Kept => None,
            Content::Withheld => Some("withheld: it matches a secrets pattern"),
            Content::TooBig => Some("too big: its content is not kept"),
            Content::Cap => Some("the store is at its cap: its content is not kept"),
        };
        let bytes = if locked.is_none() { blobs.bytes(state.blob) } else { None };
        let Some(bytes) = bytes else {
            return Self::Opaque { bytes: None, locked: locked.or(Some("its content is lost")) };
        };
        if state.mode == Mode::Symlink {
            return Self::Link(Text::new(bytes));
        }
        if is_binary(&bytes) {
            return Self::Opaque { bytes: Some(Text::new(bytes)), locked: None };
        }
        Self::Text(Text::new(bytes))
    }

    /// Returns the lines that a diff sees: none where nothing or no text stands there.
    pub(super) fn lines(&self) -> Text {
        match self {
            Self::Text(text) => text.clone(),
            Self::Absent | Self::Opaque { .. } | Self::Link(_) => Text::new(&[][..]),
        }
    }

    /// Returns the exact bytes, when they can be had; none for nothing.
    pub(super) fn bytes(&self) -> Option<Text> {
        match self {
            Self::Absent => Some(Text::new(&[][..])),
            Self::Text(text) | Self::Link(text) => Some(text.clone()),
            Self::Opaque { bytes, .. } => bytes.clone(),
        }
    }

    /// Says why the content cannot be shown or put back.
    pub(super) fn locked(&self) -> Option<&'static str> {
        match self {
            Self::Opaque { locked, .. } => *locked,
            Self::Absent | Self::Text(_) | Self::Link(_) => None,
        }
    }

    /// Says whether lines can be told apart: a text, or nothing at all.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self, Self::Absent | Self::Text(_))
    }
}

/// Diffs by the blobs that they compare. What was compared once is not compared again.
#[derive(Debug, Default)]
pub(super) struct Diffs(BTreeMap<(Option<BlobId>, Option<BlobId>), Arc<Diff>>);

/// Pairs beyond which the memory of diffs is begun anew.
const MAX_PAIRS: usize = 20_000;

impl Diffs {
    /// Compares two texts that are the contents of two states.
    pub(super) fn of(
        &mut self,
        base: (Option<BlobId>, &Text),
        current: (Option<BlobId>, &Text),
    ) -> Arc<Diff> {
        if self.0.len() >= MAX_PAIRS {
            self.0.clear();
        }
        let compare = || Arc::new(Diff::of(base.1, current.1));
        self.0.entry((base.0, current.0)).or_insert_with(compare).clone()
    }
}
