//! The cards of a question, as the frames show them.

use crate::acp::asking::{self, Field, FieldInput};
use crate::base::HunkId;
use crate::review::{self, Card, FormInput};
use std::collections::BTreeSet;

/// A card as a frame shows it.
pub(super) fn drawn(call: &str, card: &Card) -> asking::Card {
    asking::Card {
        call: call.to_owned(),
        title: format!("{}: {}", card.path, card.size),
        path: card.absolute.clone(),
        line: card.line,
        shows: card.looks.iter().map(|look| shown(card, look)).collect(),
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
