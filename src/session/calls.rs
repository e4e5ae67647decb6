//! Which calls a session has open, and what is known of each.

use crate::acp::{Arguments, CallStatus, CallUpdate, Said};
use crate::base::{CallId, Digest, RepoPath, RootId, TurnNo, WallNs, WindowId};
use indexmap::IndexMap;
use std::collections::BTreeSet;

/// A call that was seen in this session.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The agent's id.
    pub call: CallId,
    /// The window it opened.
    pub window: WindowId,
    /// The turn it belongs to.
    pub turn: Option<TurnNo>,
    /// Its title; empty until one is known.
    pub title: String,
    /// Its kind, as ACP's word; empty until one is known.
    pub kind: String,
    /// Whether the agent's name for its tool proves that it cannot write.
    pub read_only: bool,
    /// What its arguments have to write with, by all that was told of them.
    pub arguments: Arguments,
    /// What the command does that it runs.
    pub runs: Runs,
    /// The call that contains it.
    pub parent: Option<CallId>,
    /// Whether it is over.
    pub closed: bool,
    /// Whether its opening was sharpened by an answered permission.
    pub sharpened: bool,
    /// Whether it may write, by all that was asked and answered of it.
    pub leave: Leave,
    /// The paths that it named, beneath their roots.
    pub named: Vec<(RootId, RepoPath)>,
    claims: BTreeSet<Digest>,
}

impl OpenCall {
    /// Says whether its content proves that it cannot write: its tool only reads, or the command that it told does, or what it was
    /// given has nothing to write with.
    pub fn cannot_write(&self) -> bool {
        self.read_only || self.runs == Runs::Reads || self.is_reader()
    }

    /// Says whether its kind says that it reads and its arguments have nothing to write with.
    fn is_reader(&self) -> bool {
        matches!(self.kind.as_str(), "read" | "search") && self.arguments == Arguments::OfAReader
    }
}

/// Whether a call may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leave {
    /// Nobody was asked.
    #[default]
    NotAsked,
    /// It asked at this time, and nobody has allowed it.
    Asked(WallNs),
    /// It was allowed.
    Given,
}

/// What the command does that a call runs, by all that was told of it: a later message may tell more, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runs {
    /// None was told.
    #[default]
    Untold,
    /// It is proven that it only reads.
    Reads,
    /// Anything else.
    MayWrite,
}

/// What a message changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallChange {
    /// It is history: nothing is recorded of it.
    History,
    /// It was not known: a window opens.
    Opened,
    /// More is known of it than before.
    Refined,
    /// Nothing that is recorded changed.
    Same,
}

/// The calls of one session. Ids are reused by agents: one that begins again in another turn is another call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    known: IndexMap<CallId, OpenCall>,
}

impl Calls {
    /// Takes in what a message says of a call. `window` names the window, should one open. `active` says whether a turn is
    /// under way: a call that is over at first sight outside one is history.
    pub fn see(&mut self, update: &CallUpdate, window: WindowId, turn: ActiveTurn) -> CallChange {
        let over = matches!(update.status, Some(CallStatus::Completed | CallStatus::Failed));
        let again = |known: &OpenCall| {
            let begins = matches!(update.status, Some(CallStatus::Pending | CallStatus::Open));
            known.closed && begins && turn != ActiveTurn::None && turn != ActiveTurn::Some(known.turn)
        };
        let Some(known) = self.known.get_mut(&update.call).filter(|known| !again(known)) else {
            return self.first_sight(update, window, turn, over);
        };
        let facts = |known: &OpenCall| {
            (known.title.clone(), known.kind.clone(), known.cannot_write(), known.parent.clone())
        };
        let before = facts(known);
        refine(known, update);
        if before == facts(known) { CallChange::Same } else { CallChange::Refined }
    }

    /// Takes in what the command of a call does. Says whether that changes what the call is known to be.
    pub fn runs(&mut self, call: &CallId, runs: Runs) -> bool {
        let Some(known) = self.known.get_mut(call) else { return false };
        let before = known.cannot_write();
        known.runs = known.runs.max(runs);
        before != known.cannot_write()
    }

    fn first_sight(
        &mut self,
        update: &CallUpdate,
        window: WindowId,
        turn: ActiveTurn,
        over: bool,
    ) -> CallChange {
        let number = match turn {
            ActiveTurn::None if over => return CallChange::History,
            ActiveTurn::None => None,
            ActiveTurn::Some(number) => number,
        };
        let mut call = OpenCall {
            call: update.call.clone(),
            window,
            turn: number,
            title: String::new(),
            kind: String::new(),
            read_only: false,
            arguments: Arguments::Untold,
            runs: Runs::Untold,
            parent: None,
            closed: false,
            sharpened: false,
            leave: Leave::NotAsked,
            named: Vec::new(),
            claims: BTreeSet::new(),
        };
        refine(&mut call, update);
        self.known.insert(update.call.clone(), call);
        CallChange::Opened
    }

    /// Returns a call by id.
    pub fn get(&self, call: &CallId) -> Option<&OpenCall> {
        self.known.get(call)
    }

    /// Closes a call. Returns it the first time.
    pub fn close(&mut self, call: &CallId) -> Option<OpenCall> {
        let known = self.known.get_mut(call).filter(|known| !known.closed)?;
        known.closed = true;
        Some(known.clone())
    }

    /// Notes a claim by its digest. Says whether it is new.
    pub fn claim(&mut self, call: &CallId, claim: Digest) -> bool {
        self.known.get_mut(call).is_some_and(|known| known.claims.insert(claim))
    }

    /// Notes a path that the call named.
    pub fn name(&mut self, call: &CallId, path: (RootId, RepoPath)) {
        if let Some(known) = self.known.get_mut(call).filter(|known| !known.named.contains(&path)) {
            known.named.push(path);
        }
    }

    /// The call's permission was given: nothing of it can have been written before. Returns it the first time.
    pub fn sharpen(&mut self, call: &CallId) -> Option<OpenCall> {
        let known = self.known.get_mut(call).filter(|known| !known.closed && !known.sharpened)?;
        known.sharpened = true;
        Some(known.clone())
    }

    /// The call asks whether it may. Says whether it waits from now on: a call that was allowed once may have begun.
    pub fn ask(&mut self, call: &CallId, at: WallNs) -> bool {
        let waits = self.known.get_mut(call).filter(|known| known.leave == Leave::NotAsked);
        waits.map(|known| known.leave = Leave::Asked(at)).is_some()
    }

    /// The call was allowed. Says whether it waited for that.
    pub fn allow(&mut self, call: &CallId) -> bool {
        let Some(known) = self.known.get_mut(call) else { return false };
        matches!(std::mem::replace(&mut known.leave, Leave::Given), Leave::Asked(_))
    }

    /// Closes the calls of one turn, or every call. Returns the ones that were open.
    pub fn end_turn(&mut self, turn: EndedTurn) -> Vec<OpenCall> {
        let ended = |call: &&OpenCall| match turn {
            EndedTurn::All => true,
            EndedTurn::One(number) => call.turn == number,
        };
        let open: Vec<OpenCall> = self.open().filter(ended).cloned().collect();
        for call in &open {
            self.close(&call.call);
        }
        open
    }

    /// Returns the open calls, oldest first.
    pub fn open(&self) -> impl Iterator<Item = &OpenCall> {
        self.known.values().filter(|call| !call.closed)
    }
}

/// Whether a turn is under way, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveTurn {
    /// None is.
    None,
    /// One is; without a number where no prompt began it.
    Some(Option<TurnNo>),
}

/// Which turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedTurn {
    /// One of several.
    One(Option<TurnNo>),
    /// Nothing is under way any more.
    All,
}

fn refine(known: &mut OpenCall, update: &CallUpdate) {
    if let Some(title) = update.title.as_ref().filter(|title| !title.is_empty()) {
        known.title.clone_from(title);
    }
    if let Some(kind) = update.kind.as_ref().filter(|kind| !kind.is_empty()) {
        known.kind.clone_from(kind);
    }
    known.read_only |= update.read_only;
    known.arguments = known.arguments.max(update.arguments);
    if update.claims.iter().any(|claim| claim.says != Said::Location) {
        known.runs = Runs::MayWrite;
        known.arguments = Arguments::Others;
    }
    if update.parent.is_some() {
        known.parent.clone_from(&update.parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(call: &str, status: Option<CallStatus>) -> CallUpdate {
        CallUpdate {
            call: CallId::new(call),
            title: None,
            kind: None,
            status,
            claims: Vec::new(),
            parent: None,
            read_only: false,
            arguments: Arguments::Untold,
            terminals: Vec::new(),
        }
    }

    fn window(text: &str) -> WindowId {
        WindowId::new(text)
    }

    #[test]
    fn a_call_that_is_over_at_first_sight_outside_a_turn_is_history() {
        let mut calls = Calls::default();
        let done = update("t", Some(CallStatus::Completed));
        assert_eq!(calls.see(&done, window("w"), ActiveTurn::None), CallChange::History);
        assert_eq!(calls.see(&done, window("w"), ActiveTurn::Some(Some(TurnNo(1)))), CallChange::Opened);
    }

    #[test]
    fn a_late_update_refines_a_closed_call_and_does_not_open_it() {
        let mut calls = Calls::default();
        let turn = ActiveTurn::Some(Some(TurnNo(1)));
        calls.see(&update("t", None), window("w"), turn);
        assert!(calls.close(&CallId::new("t")).is_some());
        let mut late = update("t", Some(CallStatus::Open));
        late.title = Some("Edit".into());
        assert_eq!(calls.see(&late, window("w2"), turn), CallChange::Refined);
        assert_eq!(calls.open().count(), 0);
        assert!(calls.close(&CallId::new("t")).is_none());
    }

    #[test]
    fn an_id_that_comes_again_in_another_turn_is_another_call() {
        let mut calls = Calls::default();
        calls.see(&update("t", None), window("w"), ActiveTurn::Some(Some(TurnNo(1))));
        calls.end_turn(EndedTurn::All);
        let second = ActiveTurn::Some(Some(TurnNo(2)));
        let late = calls.see(&update("t", Some(CallStatus::Completed)), window("w2"), second);
        assert_eq!(late, CallChange::Same);
        let again = calls.see(&update("t", Some(CallStatus::Open)), window("w2"), second);
        assert_eq!(again, CallChange::Opened);
        assert_eq!(calls.get(&CallId::new("t")).map(|call| call.window.as_str()), Some("w2"));
    }
}
