//! Calls: when each could have written, and what it says it writes.

use crate::acp::{
    CallClaim, CallStatus, CallUpdate, ClaimedIn, Fact, PermissionOption, Said, Wanted, WantedBy,
};
use crate::base::{CallId, Digest, Leg, RepoPath, RequestKey, RootId, SessionId, WindowId};
use crate::engine::conversation::{About, Sharpness};
use crate::engine::hold::Held;
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine};
use crate::ledger::{
    Bound, CallFacts, Claim, ClaimBody, ClaimText, Event, Hi, Log, Purpose, Settlement, Source, ToolKind,
    Why, Window,
};
use crate::policy::{self, Context, Deeds, Flat};
use crate::session::{CallChange, Leave, OpenCall, Recording, Replay, Runs, Session, TrackedRoot};
use crate::wire::IdToken;
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeSet;

impl Engine {
    /// Returns the session under which a session's calls are recorded: itself, or the one it works for.
    pub(super) fn recorder_of(&self, id: &SessionId) -> Option<SessionId> {
        let mut at = id;
        for _ in 0..8 {
            let session = self.sessions.get(at)?;
            match (&session.recording, &session.parent) {
                (Recording::On(_), _) => return Some(at.clone()),
                (_, Some(parent)) => at = parent,
                _ => return None,
            }
        }
        None
    }

    /// A message says something of a call.
    pub(super) fn call_seen(&mut self, asker: &SessionId, update: &CallUpdate) {
        if let Some(parent) = &update.parent {
            self.child_of_call(asker, parent);
        }
        let Some(id) = self.recorder_of(asker) else { return };
        let Some(principal) = self.sessions.get(&self.principal_of(&id)) else { return };
        if principal.replay != Replay::No {
            return;
        }
        let turn = principal.active_turn();
        let window = WindowId::new(self.minter.mint("w"));
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let change = session.calls.see(update, window, turn);
        match change {
            CallChange::History => return,
            CallChange::Opened if update.status == Some(CallStatus::Pending) => {
                self.call_opened(&id, &update.call, Bound::Pending);
            }
            CallChange::Opened => self.call_opened(&id, &update.call, Bound::Soft),
            CallChange::Refined => self.call_refined(&id, &update.call),
            CallChange::Same => {}
        }
        let named = self.claims_made(&id, update);
        self.link_terminals(&id, update);
        let over = matches!(update.status, Some(CallStatus::Completed | CallStatus::Failed));
        let closed = over.then(|| self.sessions.get_mut(&id)?.calls.close(&update.call)).flatten();
        if over {
            let failed = update.status == Some(CallStatus::Failed);
            self.call_settled(asker, &update.call, if failed { Settlement::Failed } else { Settlement::Ok });
        }
        if let Some(call) = closed {
            let failed = update.status == Some(CallStatus::Failed);
            self.close_window(&id, &call.window, if failed { Hi::Failed } else { Hi::Reported });
            self.look(&id, Why::WindowClosed, &call.named);
            self.gate_call_over(&id);
        } else if !named.is_empty() || change == CallChange::Opened {
            self.look(&id, Why::WindowOpened, &named);
        }
    }

    /// A call told the command that it runs: one that is proven to only read cannot have written anything.
    pub(super) fn command_told(&mut self, asker: &SessionId, told: Option<(CallId, Deeds)>) {
        let Some((call, deeds)) = told else { return };
        let Some(id) = self.recorder_of(asker) else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let runs = if deeds.only_reads { Runs::Reads } else { Runs::MayWrite };
        if session.calls.runs(&call, runs) {
            self.call_refined(&id, &call);
        }
    }

    /// Adds what a command is told to write, beneath the session's roots, to what its call says: it names it like an edit.
    pub(super) fn with_deeds<'u>(
        &self,
        asker: &SessionId,
        update: &'u CallUpdate,
        (deeds, by): (Option<&(CallId, Deeds)>, WantedBy),
    ) -> Cow<'u, CallUpdate> {
        let mut update = Cow::Borrowed(update);
        let session = self.recorder_of(asker).and_then(|id| self.sessions.get(&id));
        let (Some((_, deeds)), Some(session)) = (deeds, session) else { return update };
        for claim in deeds.names.iter().filter(|claim| session.locate(&claim.path).is_ok()) {
            let from = match by {
                WantedBy::Permission => ClaimedIn::Permission,
                WantedBy::FsRead | WantedBy::FsWrite | WantedBy::Terminal | WantedBy::Announced => claim.from,
            };
            update.to_mut().claims.push(CallClaim { from, ..claim.clone() });
        }
        update
    }

    /// Returns what the command does that a message tells of a call.
    pub(super) fn deeds(&self, wanted: &Wanted) -> Option<(CallId, Deeds)> {
        let (call, command) = wanted.call.clone().zip(wanted.command.as_ref())?;
        let id = self.recorder_of(&wanted.session)?;
        let session = self.sessions.get(&id)?;
        let known = session.calls.get(&call).map(|call| call.kind.clone());
        let kind = ToolKind::parse(&wanted.kind.clone().or(known).unwrap_or_default());
        let top = |root: &TrackedRoot| String::from_utf8_lossy(&root.top).into_owned();
        let context = Context {
            cwd: session.cwd.clone(),
            roots: session.roots().iter().map(top).collect(),
            secrets: self.setup.withheld.clone(),
            ..Context::at("", &Flat)
        };
        let deeds =
            if kind.names_its_targets() { Deeds::default() } else { policy::deeds(command, &context) };
        Some((call, deeds))
    }

    fn call_opened(&mut self, id: &SessionId, call: &CallId, lo: Bound) {
        self.asking_is_stale(id);
        if let Some(window) = self.call_window(id, call, lo) {
            self.say_window(id, &window);
        }
    }

    fn call_refined(&mut self, id: &SessionId, call: &CallId) {
        let Some(open) = self.sessions.get(id).and_then(|session| session.calls.get(call)) else { return };
        let (window, facts) = (open.window.clone(), self.facts_of(open));
        for root in self.roots_of(id) {
            let event = Event::WindowRefined { window: window.clone(), facts: facts.clone() };
            self.record(Log::Root(root), event, Durability::Written);
        }
    }

    /// Returns the window of a call, opening now.
    fn call_window(&self, id: &SessionId, call: &CallId, lo: Bound) -> Option<Window> {
        let session = self.sessions.get(id)?;
        let open = session.calls.get(call)?;
        Some(Window {
            id: open.window.clone(),
            proxy: self.setup.proxy.clone(),
            session: session.key.clone(),
            turn: open.turn,
            purpose: Purpose::Call(self.facts_of(open)),
            opened: self.now.wall,
            lo,
            closed: None,
            parent: open.parent.clone(),
        })
    }

    fn facts_of(&self, call: &OpenCall) -> CallFacts {
        CallFacts {
            call: call.call.clone(),
            title: self.setup.redactor.redact(&call.title),
            kind: ToolKind::parse(&call.kind),
            read_only: call.cannot_write(),
            asked: match call.leave {
                Leave::Asked(at) => Some(at),
                Leave::NotAsked | Leave::Given => None,
            },
        }
    }

    /// Records the claims of a message that are new. Returns the paths they name.
    fn claims_made(&mut self, id: &SessionId, update: &CallUpdate) -> Vec<(RootId, RepoPath)> {
        let mut named = Vec::new();
        for claim in &update.claims {
            let Some(session) = self.sessions.get_mut(id) else { break };
            if !session.calls.claim(&update.call, claim_digest(claim)) {
                continue;
            }
            match session.locate(&claim.path) {
                Ok((root, path)) => {
                    session.calls.name(&update.call, (root.clone(), path.clone()));
                    named.push((root.clone(), path.clone()));
                    self.claimed(id, update, claim, (root, path));
                }
                Err(outside) => self.outside(id, update, &outside),
            }
        }
        named
    }

    fn claimed(
        &mut self,
        id: &SessionId,
        update: &CallUpdate,
        claim: &CallClaim,
        (root, path): (RootId, RepoPath),
    ) {
        let Some(session) = self.sessions.get(id) else { return };
        let turn = session.calls.get(&update.call).and_then(|call| call.turn);
        let body = body_of(session, &root, &claim.says);
        let withheld = self.setup.withheld.hides(&path);
        let claim = Claim {
            session: session.key.clone(),
            turn,
            call: update.call.clone(),
            at: self.now.wall,
            path,
            body: if withheld { without_text(body) } else { body },
            source: match claim.from {
                ClaimedIn::Diff => Source::Diff,
                ClaimedIn::RawInput => Source::RawInput,
                ClaimedIn::Location => Source::Location,
                ClaimedIn::Permission => Source::Permission,
            },
        };
        self.record(Log::Root(root), Event::Claimed(claim), Durability::Written);
    }

    /// A call that may write names a path beyond every root: shown, never tracked.
    fn outside(&mut self, id: &SessionId, update: &CallUpdate, path: &str) {
        let Some(session) = self.sessions.get(id) else { return };
        let open = session.calls.get(&update.call);
        if open.is_some_and(|call| call.cannot_write() || ToolKind::parse(&call.kind).is_weak()) {
            return;
        }
        let Some(log) = self.journal_of(id) else { return };
        let title = open.map(|call| self.setup.redactor.redact(&call.title)).unwrap_or_default();
        let event = Event::Noticed {
            topic: "outside".into(),
            path: path.strip_prefix('/').and_then(|beneath| RepoPath::new(beneath).ok()),
            text: format!("{path} (named by {:?}, call {})", title.as_str(), update.call),
        };
        self.record(log, event, Durability::Written);
    }

    /// Looks at a session's roots without waiting for what comes out.
    pub(super) fn look(&mut self, id: &SessionId, why: Why, named: &[(RootId, RepoPath)]) {
        for root in self.roots_of(id) {
            let named = named.iter().filter(|(of, _)| *of == root).map(|(_, path)| path.clone()).collect();
            let ask = self.minter.mint_ask();
            self.out.push(Action::Observe { ask, root, why, named });
        }
    }

    /// Looks at a session's roots for something that waits.
    pub(super) fn observe_all(
        &mut self,
        id: &SessionId,
        why: Why,
        wait: Wait,
    ) -> BTreeSet<crate::base::AskId> {
        let mut asked = BTreeSet::new();
        for root in self.roots_of(id) {
            let ask = self.minter.mint_ask();
            self.waits.insert(ask, wait.clone());
            self.out.push(Action::Observe { ask, root, why, named: Vec::new() });
            asked.insert(ask);
        }
        asked
    }

    /// The agent asks for a permission: its call, if it names one, is known from now on.
    pub(super) fn permission_asked(
        &mut self,
        id: &SessionId,
        request: Option<IdToken>,
        (call, wanted): (Option<&CallUpdate>, Option<Wanted>),
        options: Vec<PermissionOption>,
    ) {
        if let (Some(session), Some(request)) = (self.sessions.get_mut(id), &request) {
            session.turns.ask(request.clone());
        }
        let deeds = wanted.as_ref().and_then(|wanted| self.deeds(wanted));
        if let Some(update) = call {
            let update = self.with_deeds(id, update, (deeds.as_ref(), WantedBy::Permission));
            self.call_asks(id, &update);
        }
        self.command_told(id, deeds);
        self.passes(request.as_ref(), wanted);
        let about = About::Permission { call: call.map(|update| update.call.clone()), options };
        self.remember(Leg::Agent, request, "session/request_permission", (Some(id.clone()), about));
    }

    /// A call asks whether it may: from now on it waits, and nothing that is written is its own.
    pub(super) fn call_asks(&mut self, asker: &SessionId, update: &CallUpdate) {
        self.call_seen(asker, update);
        let Some(id) = self.recorder_of(asker) else { return };
        let at = self.now.wall;
        if self.sessions.get_mut(&id).is_some_and(|session| session.calls.ask(&update.call, at)) {
            self.call_refined(&id, &update.call);
        }
    }

    /// It was answered. An allow waits until the roots have been looked at: the call has provably not begun.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other answer chooses nothing")]
    pub(super) fn permission_answered(
        &mut self,
        (session, id, call, options): AnsweredPermission<'_>,
        request: Option<RequestKey>,
        fact: &Fact,
        line: Bytes,
    ) {
        let Some(session) = session else { return self.send(Leg::Agent, line) };
        if let Some(known) = self.sessions.get_mut(&session) {
            known.turns.answered(id);
        }
        let chosen = match fact {
            Fact::PermissionAnswered { option } => option.as_deref(),
            _ => None,
        };
        if let Some(request) = &request {
            self.decided_in_editor(&session, request, chosen, fact);
        }
        let kind = chosen.map(|chosen| {
            let option = options.iter().find(|option| option.id == chosen);
            option.map_or("unknown", |option| option.kind.as_str())
        });
        match (kind, self.recorder_of(&session)) {
            (Some(kind), Some(recorder)) if !kind.starts_with("reject") => {
                self.park(Leg::Agent, &recorder, line, Held::Allow { call, request });
            }
            (_, recorder) => {
                self.send(Leg::Agent, line);
                if let (Some(recorder), Some(call)) = (recorder, call) {
                    self.refused(&recorder, &call);
                }
            }
        }
    }

    /// A call was refused before it began.
    pub(super) fn refused(&mut self, id: &SessionId, call: &CallId) {
        let open = self.sessions.get_mut(id).and_then(|session| session.calls.close(call));
        if let Some(call) = open {
            self.close_window(id, &call.window, Hi::Reported);
        }
    }

    /// The answer that allows a call goes on: the call begins now, not when it was announced.
    pub(super) fn allow_released(&mut self, id: &SessionId, call: Option<&CallId>, sharp: Sharpness) {
        let Some(call) = call else { return };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let waited = session.calls.allow(call);
        let sharpened = sharp == Sharpness::Hard && session.calls.sharpen(call).is_some();
        match self.call_window(id, call, Bound::Hard).filter(|_| sharpened) {
            Some(window) => self.say_window(id, &window),
            None if waited => self.call_refined(id, call),
            None => {}
        }
    }
}

/// A permission with its answer: session, request, call, and the options that were offered.
pub(super) type AnsweredPermission<'a> =
    (Option<SessionId>, &'a IdToken, Option<CallId>, Vec<PermissionOption>);

fn body_of(session: &Session, root: &RootId, says: &Said) -> ClaimBody {
    let text = |text: &String| ClaimText::new(text.clone());
    match says {
        Said::Location => ClaimBody::Location,
        Said::Fragment { old, new } => ClaimBody::Fragment { old: text(old), new: text(new) },
        Said::Whole { old, new } => ClaimBody::Whole { old: old.as_ref().map(text), new: text(new) },
        Said::Diff { old, new } => ClaimBody::Diff { old: old.as_ref().map(text), new: text(new) },
        Said::Delete => ClaimBody::Delete,
        Said::Move { to } => match session.locate(to) {
            Ok((of, to)) if of == *root => ClaimBody::Move { to },
            Ok(_) | Err(_) => ClaimBody::Delete,
        },
    }
}

/// Keeps what is claimed of a withheld file, without its text.
fn without_text(body: ClaimBody) -> ClaimBody {
    match body {
        ClaimBody::Fragment { .. } | ClaimBody::Whole { .. } | ClaimBody::Diff { .. } => ClaimBody::Location,
        body @ (ClaimBody::Location | ClaimBody::Delete | ClaimBody::Move { .. }) => body,
    }
}

fn claim_digest(claim: &CallClaim) -> Digest {
    let (kind, texts): (&str, [&str; 2]) = match &claim.says {
        Said::Location => ("location", ["", ""]),
        Said::Fragment { old, new } => ("fragment", [old, new]),
        Said::Whole { old, new } => ("whole", [old.as_deref().unwrap_or("\0"), new]),
        Said::Diff { old, new } => ("diff", [old.as_deref().unwrap_or("\0"), new]),
        Said::Delete => ("delete", ["", ""]),
        Said::Move { to } => ("move", [to, ""]),
    };
    Digest::of(&[claim.path.as_bytes(), kind.as_bytes(), texts[0].as_bytes(), texts[1].as_bytes()])
}
