//! Who works for whom: a session that the agent runs for another of its own, and a proxied agent that a call started.

use crate::base::{CallId, SessionId, SessionKey};
use crate::engine::{Durability, Engine};
use crate::ledger::{Event, Log, Member, Purpose, ToolKind, Window};
use crate::session::{Recording, Session};
use std::collections::BTreeSet;

impl Engine {
    /// A child session works for this one. Its calls have its own name, and this one's turns and journal.
    pub(super) fn subagent(&mut self, parent: &SessionId, child: SessionId, call: Option<&CallId>) {
        let Some(above) = self.sessions.get(parent) else { return };
        if self.sessions.get(&child).is_some() || child == *parent {
            return;
        }
        let key = self.key_of(&child);
        let mut session = Session::new(child.clone(), key, above.cwd.clone(), Vec::new());
        session.parent = Some(parent.clone());
        let Recording::On(roots) = &above.recording else {
            session.recording =
                Recording::Off("it works for another session, under whose name it is recorded".into());
            self.sessions.open(session);
            return;
        };
        session.recording = Recording::On(roots.clone());
        session.aliases.clone_from(&above.aliases);
        session.principal = Some(above.principal.clone().unwrap_or_else(|| parent.clone()));
        let starter = call.cloned().or_else(|| only_starter(above));
        let parent = (above.key.clone(), starter);
        self.sessions.open(session);
        self.join_roots(&child, Some(parent.clone()));
        if let (Some(log), Some(member)) = (self.journal_of(&child), self.member(&child, Some(parent))) {
            self.record(log, Event::SessionJoined(member), Durability::Written);
        }
    }

    /// A message comes of a session that we do not know, and that an earlier proxy knew to work for one that is open: it still
    /// does.
    pub(super) fn child_again(&mut self, child: &SessionId) {
        if self.sessions.get(child).is_some() {
            return;
        }
        let key = self.key_of(child);
        let above = |session: &Session| {
            let members = session.roots().iter().filter_map(|root| self.ledger.chain(&root.root));
            let mut parents = members.filter_map(|chain| chain.members().get(&key)?.parent.as_ref());
            let (_, call) = parents.find(|(parent, _)| *parent == session.key)?;
            Some((session.id.clone(), call.clone()))
        };
        let known = self.sessions.iter().find_map(above);
        if let Some((parent, call)) = known {
            self.subagent(&parent, child.clone(), call.as_ref());
        }
    }

    /// A message of a session that we do not know names the call that contains it: it works for the session of that call.
    pub(super) fn child_of_call(&mut self, child: &SessionId, call: &CallId) {
        if self.sessions.get(child).is_some() {
            return;
        }
        let holds = |session: &&Session| session.calls.get(call).is_some_and(|known| !known.closed);
        let above: Vec<SessionId> =
            self.sessions.iter().filter(holds).map(|session| session.id.clone()).collect();
        if let [parent] = above.as_slice() {
            self.subagent(parent, child.clone(), Some(call));
        }
    }

    /// Returns the session in whose turns and journal a session is recorded: itself, but for one that works for another.
    pub(super) fn principal_of(&self, id: &SessionId) -> SessionId {
        let session = self.sessions.get(id);
        session.and_then(|session| session.principal.clone()).unwrap_or_else(|| id.clone())
    }

    /// Returns the journal of a session.
    pub(super) fn journal_of(&self, id: &SessionId) -> Option<Log> {
        let session = self.sessions.get(&self.principal_of(id))?;
        Some(Log::Session(session.key.clone()))
    }

    /// Returns the sessions that work for one, and that one.
    pub(super) fn household(&self, id: &SessionId) -> Vec<SessionId> {
        let works = |session: &&Session| session.principal.as_ref() == Some(id);
        let mut household = vec![id.clone()];
        household.extend(self.sessions.iter().filter(works).map(|session| session.id.clone()));
        household
    }

    /// Tells everybody who looks at a session's roots who it is.
    pub(super) fn join_roots(&mut self, id: &SessionId, parent: Option<(SessionKey, Option<CallId>)>) {
        let Some(member) = self.member(id, parent) else { return };
        for root in self.roots_of(id) {
            let known = self.ledger.chain(&root).and_then(|chain| chain.members().get(&member.key));
            if known != Some(&member) {
                self.record(Log::Root(root), Event::SessionJoined(member.clone()), Durability::Written);
            }
        }
    }

    fn member(&self, id: &SessionId, parent: Option<(SessionKey, Option<CallId>)>) -> Option<Member> {
        let session = self.sessions.get(id)?;
        Some(Member { key: session.key.clone(), session: session.id.clone(), agent: self.agent_id(), parent })
    }

    /// Returns the session, and the call where only one can have, that started the agent of this proxy: what the proxy
    /// above has open on the roots of `session`.
    pub(super) fn started_by(&self, session: &Session) -> Option<(SessionKey, Option<CallId>)> {
        let above = self.setup.parent.as_ref()?;
        let chains = session.roots().iter().filter_map(|root| self.ledger.chain(&root.root));
        let open: Vec<&Window> = chains
            .flat_map(|chain| chain.open_windows())
            .filter(|window| window.proxy.as_str() == above && window.session != session.key)
            .collect();
        let commands: BTreeSet<(&SessionKey, &CallId)> =
            open.iter().filter_map(|window| Some((&window.session, command(window)?))).collect();
        if let Some((key, call)) = commands.first().filter(|_| commands.len() == 1) {
            return Some(((*key).clone(), Some((*call).clone())));
        }
        let sessions: BTreeSet<&SessionKey> = open.iter().map(|window| &window.session).collect();
        sessions.first().filter(|_| sessions.len() == 1).map(|key| ((*key).clone(), None))
    }
}

/// Returns the call of a window that may have started a program.
fn command(window: &Window) -> Option<&CallId> {
    match &window.purpose {
        Purpose::Call(facts) => (facts.kind == ToolKind::Execute && !facts.read_only).then_some(&facts.call),
        Purpose::Terminal { call } => call.as_ref(),
        Purpose::Turn | Purpose::FsWrite { .. } | Purpose::Review { .. } | Purpose::Background { .. } => None,
    }
}

/// Returns the call that can have started a session: the only one that is open of a kind that delegates.
fn only_starter(session: &Session) -> Option<CallId> {
    let starts = |kind: &str| matches!(ToolKind::parse(kind), ToolKind::Other | ToolKind::Think);
    let mut open = session.calls.open().filter(|call| !call.cannot_write() && starts(&call.kind));
    let only = open.next()?;
    open.next().is_none().then(|| only.call.clone())
}
