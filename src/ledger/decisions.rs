//! The decision commands of a session, which of them stand, and what is in force for each hunk.

use crate::base::{CommandId, HunkId, WallNs};
use crate::ledger::{Command, Decision, ReviewState, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The decision commands of a session, oldest first, with what follows from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions {
    commands: Vec<(WallNs, Arc<Command>)>,
    hunks: BTreeMap<HunkId, Vec<Standing>>,
    trails: BTreeMap<HunkId, Vec<Mark>>,
    undoable: Vec<CommandId>,
    redoable: Vec<CommandId>,
}

/// One accept or reject of one hunk, as long as it is not taken back.
#[derive(Clone, Debug, PartialEq)]
struct Standing {
    command: CommandId,
    decision: Arc<Decision>,
    undone: bool,
}

/// Where one item of one command stands.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    command: usize,
    item: usize,
}

impl Decisions {
    /// Takes in a command. Returns false when it makes no sense: a known id, or an undo or redo of nothing.
    pub(super) fn push(&mut self, at: WallNs, command: &Command) -> bool {
        if self.command(&command.id).is_some() {
            return false;
        }
        let sound = match &command.verb {
            Verb::Accept | Verb::Reject { .. } => self.decide(command),
            Verb::Undo { undoes } => self.undo(undoes, command),
            Verb::Redo { redoes } => self.redo(redoes, command),
        };
        for (item, decision) in command.items.iter().enumerate() {
            let mark = Mark { command: self.commands.len(), item };
            self.trails.entry(decision.hunk.clone()).or_default().push(mark);
        }
        self.commands.push((at, Arc::new(command.clone())));
        sound
    }

    /// Returns every command, oldest first.
    pub fn commands(&self) -> impl DoubleEndedIterator<Item = (WallNs, &Command)> {
        self.commands.iter().map(|(at, command)| (*at, command.as_ref()))
    }

    /// Returns a command.
    pub fn command(&self, id: &CommandId) -> Option<&Command> {
        self.commands.iter().rev().map(|(_, command)| command.as_ref()).find(|command| command.id == *id)
    }

    /// Returns the decision that is in force for a hunk: the latest that is not taken back.
    pub fn in_force(&self, hunk: &HunkId) -> Option<&Decision> {
        self.standing(hunk).map(|(_, decision)| decision)
    }

    /// Returns the decision that is in force for a hunk, with its command.
    pub fn standing(&self, hunk: &HunkId) -> Option<(&CommandId, &Decision)> {
        let rows = self.hunks.get(hunk)?;
        let row = rows.iter().rev().find(|row| !row.undone)?;
        Some((&row.command, row.decision.as_ref()))
    }

    /// Returns what would be in force for a hunk without the command `but`.
    pub fn without(&self, hunk: &HunkId, but: &CommandId) -> ReviewState {
        let rows = self.hunks.get(hunk).map(Vec::as_slice).unwrap_or_default();
        let row = rows.iter().rev().find(|row| !row.undone && row.command != *but);
        row.map(|row| row.decision.state).unwrap_or_default()
    }

    /// Returns the decisions in force, by hunk.
    pub fn all_in_force(&self) -> impl Iterator<Item = (&HunkId, &Decision)> {
        self.hunks.keys().filter_map(|hunk| self.in_force(hunk).map(|decision| (hunk, decision)))
    }

    /// Returns every command that touched a hunk, oldest first, with what it decided.
    pub fn history_of(&self, hunk: &HunkId) -> Vec<(&Command, &Decision)> {
        self.history(hunk).into_iter().map(|(_, command, decision)| (command, decision)).collect()
    }

    /// Returns every command that touched a hunk, oldest first, with its time and what it decided.
    pub fn history(&self, hunk: &HunkId) -> Vec<(WallNs, &Command, &Decision)> {
        let marks = self.trails.get(hunk).map(Vec::as_slice).unwrap_or_default();
        let row = |mark: &Mark| {
            let (at, command) = self.commands.get(mark.command)?;
            Some((*at, command.as_ref(), command.items.get(mark.item)?))
        };
        marks.iter().filter_map(row).collect()
    }

    /// Returns the hunks that any command ever touched.
    pub fn touched(&self) -> impl Iterator<Item = &HunkId> {
        self.trails.keys()
    }

    /// Returns the commands that `undo` takes back, in its order: the whole of them, or what is left where a part was refused.
    pub fn undoable(&self) -> impl Iterator<Item = &Command> {
        let stands = |command: &&Command| {
            let mut items = command.items.iter();
            items.any(|item| self.standing(&item.hunk).is_some_and(|(made_by, _)| *made_by == command.id))
        };
        self.undoable.iter().rev().filter_map(|id| self.command(id)).filter(stands)
    }

    /// Returns the commands that `redo` makes true again, in its order: the whole of them, or what is left where a part was
    /// refused.
    pub fn redoable(&self) -> impl Iterator<Item = &Command> {
        self.redoable.iter().rev().filter_map(|id| self.command(id))
    }

    /// Says whether a command's decision of a hunk was taken back, and may be made true again.
    pub fn is_taken_back(&self, hunk: &HunkId, command: &CommandId) -> bool {
        self.row(hunk, command).is_some_and(|row| row.undone)
    }

    /// Says whether a part of a command stands, and a part does not.
    pub fn is_in_part(&self, command: &Command) -> bool {
        let stands = |item: &Decision| self.row(&item.hunk, &command.id).is_some_and(|row| !row.undone);
        command.items.iter().any(stands) && !command.items.iter().all(stands)
    }

    fn row(&self, hunk: &HunkId, command: &CommandId) -> Option<&Standing> {
        self.hunks.get(hunk)?.iter().rev().find(|row| row.command == *command)
    }

    /// A new decision: what could be made true again no longer can.
    fn decide(&mut self, command: &Command) -> bool {
        for id in std::mem::take(&mut self.redoable) {
            let Some(cleared) = self.command(&id) else { continue };
            for hunk in cleared.items.iter().map(|item| item.hunk.clone()).collect::<Vec<_>>() {
                if let Some(rows) = self.hunks.get_mut(&hunk) {
                    rows.retain(|row| !row.undone || row.command != id);
                }
            }
        }
        self.undoable.push(command.id.clone());
        command.items.iter().for_each(|item| self.stand(&command.id, item));
        true
    }

    fn undo(&mut self, undoes: &CommandId, command: &Command) -> bool {
        if !self.undoable.contains(undoes) {
            return false;
        }
        for item in &command.items {
            let rows = self.hunks.entry(item.hunk.clone()).or_default();
            rows.iter_mut().filter(|row| row.command == *undoes).for_each(|row| row.undone = true);
        }
        self.sort_in(undoes);
        true
    }

    fn redo(&mut self, redoes: &CommandId, command: &Command) -> bool {
        if !self.redoable.contains(redoes) {
            return false;
        }
        command.items.iter().for_each(|item| self.stand(redoes, item));
        self.sort_in(redoes);
        true
    }

    /// Lists a command where `undo` and `redo` find it: with both of them while a part of it stands and a part was taken back.
    fn sort_in(&mut self, id: &CommandId) {
        let Some(command) = self.command(id) else { return };
        let rows: Vec<bool> =
            command.items.iter().filter_map(|item| Some(self.row(&item.hunk, id)?.undone)).collect();
        for (list, belongs) in
            [(&mut self.undoable, rows.contains(&false)), (&mut self.redoable, rows.contains(&true))]
        {
            if !belongs {
                list.retain(|known| known != id);
            } else if !list.contains(id) {
                list.push(id.clone());
            }
        }
    }

    /// Puts `item` in force under `command`, in the place of what the command had decided on that hunk before.
    fn stand(&mut self, command: &CommandId, item: &Decision) {
        let rows = self.hunks.entry(item.hunk.clone()).or_default();
        rows.retain(|row| row.command != *command);
        rows.push(Standing { command: command.clone(), decision: Arc::new(item.clone()), undone: false });
    }
}
