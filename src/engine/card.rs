//! The cards of a question, as the frames show them.

use crate::acp::asking::{self, Field, FieldInput};
use crate::base::{HunkId, SessionId};
use crate::engine::Engine;
use crate::review::{self, Card, FormInput, Link};
use std::collections::BTreeSet;

/// A card as a frame shows it; `there` says where else it is, when it is.
pub(super) fn drawn(call: &str, card: &Card, there: Option<String>) -> asking::Card {
    let shows = card.looks.iter().map(|look| shown(card, look));
    asking::Card {
        call: call.to_owned(),
        title: format!("{}: {}", card.path, card.size),
        path: card.absolute.clone(),
        line: card.line,
        shows: shows.chain(there.map(asking::Shown::Text)).collect(),
    }
}

impl Engine {
    /// Says where the first change of a card is in the browser, while a console runs.
    pub(super) fn card_there(&self, id: &SessionId, card: &Card) -> Option<String> {
        let (console, session) = (self.console.as_deref()?, self.sessions.get(id)?);
        let first = card.pieces.first().map(|piece| piece.id.clone());
        Some(
            review::in_browser(&Link::new(session.key.clone(), first), Some(console)).trim_start().to_owned(),
        )
    }
}

fn shown(card: &Card, look: &review::Look) -> asking::Shown {
    let (old, new, patch) = match look {
        review::Look::Words(text) => return asking::Shown::Text(text.clone()),
        review::Look::Texts { old, new } => (old.clone(), new.clone().unwrap_or_default(), None),
        review::Look::Patch { forth, .. } => (None, String::new(), forth.clone()),
    };
    let change = match &card.change {
        review::FileChange::Created => asking::Change::Add,
        review::FileChange::Deleted => asking::Change::Delete,
        review::FileChange::Changed => asking::Change::Modify,
        review::FileChange::Renamed(from) => asking::Change::Move(from.clone()),
    };
    asking::Shown::Diff { old, new, change, patch }
}

/// What a card shows after a revert: the same, backwards.
pub(super) fn taken_back(card: &Card, reverted: &BTreeSet<&HunkId>, command: &str) -> Vec<asking::Shown> {
    let mine = card.pieces.iter().find(|piece| reverted.contains(&piece.id));
    let Some(first) = mine else { return Vec::new() };
    let whole = card.pieces.iter().all(|piece| reverted.contains(&piece.id));
    let back = |look: review::Look| {
        let (old, new, patch) = match look {
            review::Look::Words(text) => return asking::Shown::Text(text),
            review::Look::Texts { old, new } => (new, old.unwrap_or_default(), None),
            review::Look::Patch { back, .. } => (None, String::new(), back),
        };
        let change = match &card.change {
            review::FileChange::Created if whole => asking::Change::Delete,
            review::FileChange::Deleted => asking::Change::Add,
            review::FileChange::Created | review::FileChange::Changed | review::FileChange::Renamed(_) => {
                asking::Change::Modify
            }
        };
        asking::Shown::Diff { old, new, change, patch }
    };
    let mut shows: Vec<asking::Shown> = card.looks_of(reverted).into_iter().map(back).collect();
    if let Some(text) = review::how_to_see(&first.id, command) {
        shows.push(asking::Shown::Text(text));
    }
    shows
}

/// A field of a form.
pub(super) fn field(field: review::FormField) -> Field {
    Field {
        key: field.key,
        title: field.title,
        description: field.description,
        input: match field.input {
            FormInput::Choice(choices) => FieldInput::Choice(choices),
            FormInput::Text => FieldInput::Text,
            FormInput::Flag => FieldInput::Flag,
        },
    }
}
