//! What a key does, by the table here and the person's own configuration.

use std::collections::BTreeMap;

/// A key as it is written: `j`, `A`, `ctrl-d`, `enter`, `space`, `up`, `pagedown`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stroke(String);

impl Stroke {
    /// Names a key.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the character that it writes into a text.
    pub(super) fn character(&self) -> Option<char> {
        let mut chars = self.0.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Some(c),
            _ => (self.0 == "space").then_some(' '),
        }
    }
}

/// What a key can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// To the next hunk.
    Next,
    /// To the previous hunk.
    Previous,
    /// To the next undecided hunk.
    NextUndecided,
    /// To the previous undecided hunk.
    PreviousUndecided,
    /// To the next file.
    NextFile,
    /// To the previous file.
    PreviousFile,
    /// A line down.
    Down,
    /// A line up.
    Up,
    /// A page down.
    PageDown,
    /// A page up.
    PageUp,
    /// To the first hunk.
    First,
    /// To the last hunk.
    Last,
    /// The text to the left.
    Left,
    /// The text to the right.
    Right,
    /// Keep the hunk.
    Accept,
    /// Take the hunk back.
    Reject,
    /// Keep what is undecided in the file.
    AcceptFile,
    /// Take back what is undecided in the file.
    RejectFile,
    /// Take the hunk back, with a reason.
    RejectWithReason,
    /// Take the hunk back although it is not surely the agent's.
    ForceReject,
    /// Take the last decision back.
    Undo,
    /// Make it true again.
    Redo,
    /// Say something about the hunk.
    Comment,
    /// Settle the comment at the hunk.
    Resolve,
    /// Beside each other, or beneath each other.
    Layout,
    /// By file, by call, by turn.
    Order,
    /// Divide a group into its hunks, or join them again.
    Divide,
    /// Fold or unfold.
    Fold,
    /// Look for a text.
    Search,
    /// To the next place that has it.
    NextMatch,
    /// To the previous place that has it.
    PreviousMatch,
    /// To the next hunk that is new since it was looked at.
    NextNew,
    /// What changed since it was looked at.
    Since,
    /// Between the stream and the tree of files.
    Tree,
    /// Open the editor at the line.
    Edit,
    /// Everything that is known of the hunk.
    Explain,
    /// What the agent will be told.
    Note,
    /// What waits for the person's answer.
    Pending,
    /// Look again.
    Refresh,
    /// What the keys do.
    Help,
    /// Leave.
    Quit,
}

/// Every action: its name in the configuration, its keys, and what the help says.
pub(super) const TABLE: &[(Action, &str, &str, &str)] = &[
    (Action::Next, "next", "j", "next hunk"),
    (Action::Previous, "previous", "k", "previous hunk"),
    (Action::NextUndecided, "next_undecided", "]", "next undecided hunk"),
    (Action::PreviousUndecided, "previous_undecided", "[", "previous undecided hunk"),
    (Action::NextFile, "next_file", "}", "next file"),
    (Action::PreviousFile, "previous_file", "{", "previous file"),
    (Action::Down, "down", "down ctrl-e", "a line down"),
    (Action::Up, "up", "up ctrl-y", "a line up"),
    (Action::PageDown, "page_down", "space pagedown ctrl-d", "a page down"),
    (Action::PageUp, "page_up", "pageup ctrl-u", "a page up"),
    (Action::First, "first", "g home", "first hunk"),
    (Action::Last, "last", "G end", "last hunk"),
    (Action::Left, "left", "h left", "long lines: to the left"),
    (Action::Right, "right", "l right", "long lines: to the right"),
    (Action::Accept, "accept", "a", "accept: keep it"),
    (Action::Reject, "reject", "x", "reject: put it back on disk"),
    (Action::AcceptFile, "accept_file", "A", "accept what is undecided in the file"),
    (Action::RejectFile, "reject_file", "X", "reject what is undecided in the file"),
    (Action::RejectWithReason, "reject_with_reason", "r", "reject, and tell the agent why"),
    (Action::ForceReject, "force_reject", "!", "reject although it is contested, or at once"),
    (Action::Undo, "undo", "u", "take the last decision back"),
    (Action::Redo, "redo", "U ctrl-r", "make it true again"),
    (Action::Comment, "comment", "c", "comment; the agent reads it"),
    (Action::Resolve, "resolve", "v", "settle the comment"),
    (Action::Layout, "layout", "s", "side by side, or one column"),
    (Action::Order, "order", "t", "by file, by tool call, by turn"),
    (Action::Divide, "divide", "z", "divide a group, or join it"),
    (Action::Fold, "fold", "enter o", "fold or unfold"),
    (Action::Search, "search", "/", "search"),
    (Action::NextMatch, "next_match", "n", "next match"),
    (Action::PreviousMatch, "previous_match", "N", "previous match"),
    (Action::NextNew, "next_new", "w", "next that is new to you"),
    (Action::Since, "since", "d", "what changed since you looked"),
    (Action::Tree, "tree", "tab", "tree of files"),
    (Action::Edit, "edit", "e", "open $EDITOR at the line"),
    (Action::Explain, "explain", "i", "calls, evidence, history"),
    (Action::Note, "note", "m", "what the agent will be told"),
    (Action::Pending, "pending", "p", "requests that wait for your answer"),
    (Action::Refresh, "refresh", "R ctrl-l", "look again"),
    (Action::Help, "help", "?", "this help"),
    (Action::Quit, "quit", "q ctrl-c", "leave"),
];

/// Which key does what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys(BTreeMap<Stroke, Action>);

impl Default for Keys {
    fn default() -> Self {
        let strokes = |row: &(Action, &str, &'static str, &str)| {
            let action = row.0;
            row.2.split(' ').map(move |key| (Stroke::new(key), action))
        };
        Self(TABLE.iter().flat_map(strokes).collect())
    }
}

impl Keys {
    /// Takes the person's own table: action → keys. An action that is named there has these keys and no other.
    ///
    /// Fails with what is wrong: an unknown action, or one key for two of the person's actions.
    pub fn with(table: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let mut keys = Self::default();
        let mut given: BTreeMap<Stroke, &str> = BTreeMap::new();
        for (name, strokes) in table {
            let row = TABLE.iter().find(|row| row.1 == name);
            let action = row.ok_or_else(|| format!("there is no action {name} that a key can do"))?.0;
            keys.0.retain(|stroke, bound| *bound != action || given.contains_key(stroke));
            for stroke in strokes.iter().map(Stroke::new) {
                if let Some(other) = given.insert(stroke.clone(), name) {
                    return Err(format!("the key {} is given to {other} and to {name}", stroke.as_str()));
                }
                keys.0.insert(stroke, action);
            }
        }
        if !keys.0.values().any(|action| *action == Action::Quit) {
            return Err("no key is left for quit".to_owned());
        }
        Ok(keys)
    }

    pub(super) fn action(&self, stroke: &Stroke) -> Option<Action> {
        self.0.get(stroke).copied()
    }

    /// Returns the keys of an action, as they are written.
    pub(super) fn of(&self, action: Action) -> String {
        let mut keys: Vec<&str> =
            self.0.iter().filter(|(_, bound)| **bound == action).map(|(stroke, _)| stroke.as_str()).collect();
        keys.sort_by_key(|key| key.len());
        keys.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_moves_keys_and_cannot_lock_themselves_in() {
        let table = |rows: &[(&str, &str)]| -> BTreeMap<String, Vec<String>> {
            rows.iter().map(|(name, key)| ((*name).to_owned(), vec![(*key).to_owned()])).collect()
        };
        let keys = Keys::with(&table(&[("accept", "y"), ("reject", "a")])).unwrap();
        assert_eq!(keys.action(&Stroke::new("y")), Some(Action::Accept));
        assert_eq!(keys.action(&Stroke::new("a")), Some(Action::Reject));
        assert_eq!(keys.action(&Stroke::new("x")), None);
        assert!(Keys::with(&table(&[("acept", "y")])).is_err());
        assert!(Keys::with(&table(&[("accept", "y"), ("reject", "y")])).is_err());
        let mut none = table(&[]);
        none.insert("quit".to_owned(), Vec::new());
        assert!(Keys::with(&none).is_err());
    }

    #[test]
    fn no_key_does_two_things() {
        let mut all: Vec<&str> = TABLE.iter().flat_map(|row| row.2.split(' ')).collect();
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }
}
