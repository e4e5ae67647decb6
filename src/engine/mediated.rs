//! Writes and commands that the client carries out for the agent: they pass through us, so their bounds are exact.

use crate::acp::{CallUpdate, Fact};
use crate::base::{CallId, Leg, RepoPath, RootId, SessionId, WindowId};
use crate::engine::Engine;
use crate::engine::conversation::{About, Sharpness};
use crate::engine::hold::Held;
use crate::ledger::{Bound, ClaimText, Hi, Purpose, ToolKind, Why, Window};
use crate::session::{Leave, OpenCall, Session};
use crate::wire::IdToken;
use bytes::Bytes;

impl Engine {
    /// `fs/write_text_file`: waits until its path has been looked at.
    pub(super) fn fs_write(
        &mut self,
        id: SessionId,
        request: Option<IdToken>,
        (path, content): (String, String),
        line: Bytes,
    ) {
        let inside = self.recorder_of(&id).and_then(|recorder| {
            self.sessions.get(&recorder).is_some_and(|known| known.locate(&path).is_ok()).then_some(recorder)
        });
        match (inside, request) {
            (Some(recorder), Some(request)) => {
                self.park(Leg::Editor, &recorder, line, Held::FsWrite { request, path, content });
            }
            (_, request) => {
                self.spent(request.as_ref());
                let about = About::FsWrite { window: None };
                self.remember(Leg::Agent, request, "fs/write_text_file", (Some(id), about));
                self.send(Leg::Editor, line);
            }
        }
    }

    pub(super) fn fs_write_released(
        &mut self,
        id: &SessionId,
        (request, path, content): (IdToken, String, String),
        sharp: Sharpness,
        line: Bytes,
    ) {
        let window = self.sessions.get(id).and_then(|known| known.locate(&path).ok()).map(|(root, path)| {
            let turn = self.turn_of(id);
            let call = self.sessions.get(id).and_then(|known| claimant(known, &root, &path));
            let withheld = self.setup.withheld.hides(&path);
            let content = if withheld { ClaimText::digest(&content) } else { ClaimText::new(content) };
            self.open_window(id, turn, Purpose::FsWrite { call, path, content }, bound(sharp))
        });
        let about = About::FsWrite { window };
        self.spent(Some(&request));
        self.remember(Leg::Agent, Some(request), "fs/write_text_file", (Some(id.clone()), about));
        self.send(Leg::Editor, line);
    }

    /// It was answered: the answer waits until the roots have been looked at again.
    pub(super) fn fs_written(&mut self, id: Option<SessionId>, window: Option<WindowId>, line: Bytes) {
        match (id, window) {
            (Some(id), Some(window)) => self.park(Leg::Agent, &id, line, Held::FsWritten { window }),
            _ => self.send(Leg::Agent, line),
        }
    }

    pub(super) fn fs_written_released(&mut self, id: &SessionId, window: &WindowId, sharp: Sharpness) {
        let hi = if sharp == Sharpness::Hard { Hi::Barrier } else { Hi::Reported };
        self.close_window(id, window, hi);
    }

    /// `terminal/create`: waits until the roots have been looked at.
    pub(super) fn terminal_create(&mut self, id: SessionId, request: Option<IdToken>, line: Bytes) {
        match (self.recorder_of(&id), request) {
            (Some(recorder), Some(request)) => {
                self.park(Leg::Editor, &recorder, line, Held::Terminal { request });
            }
            (_, request) => {
                self.spent(request.as_ref());
                let about = About::Terminal { window: None };
                self.remember(Leg::Agent, request, "terminal/create", (Some(id), about));
                self.send(Leg::Editor, line);
            }
        }
    }

    pub(super) fn terminal_released(
        &mut self,
        id: &SessionId,
        request: IdToken,
        sharp: Sharpness,
        line: Bytes,
    ) {
        let call = self.sessions.get(id).and_then(|known| {
            let mut open = known.calls.open().filter(|call| call.kind == "execute");
            let only = open.next()?;
            open.next().is_none().then(|| only.call.clone())
        });
        let turn = self.turn_of(id);
        let window = self.open_window(id, turn, Purpose::Terminal { call }, bound(sharp));
        let about = About::Terminal { window: Some(window) };
        self.spent(Some(&request));
        self.remember(Leg::Agent, Some(request), "terminal/create", (Some(id.clone()), about));
        self.send(Leg::Editor, line);
    }

    pub(super) fn terminal_created(&mut self, id: Option<&SessionId>, window: Option<WindowId>, fact: Fact) {
        let (Some(id), Some(window)) = (id, window) else { return };
        if let Fact::TerminalCreated { terminal } = fact {
            self.docket.terminal_allowed(id, &terminal);
            self.terminals.insert((id.clone(), terminal), window);
        } else {
            self.close_window(id, &window, Hi::Reported);
        }
    }

    pub(super) fn terminal_ended(&mut self, id: Option<&SessionId>, terminal: &str) {
        let Some(id) = id else { return };
        if let Some(window) = self.terminals.remove(&(id.clone(), terminal.to_owned())) {
            self.close_window(id, &window, Hi::Reported);
            self.look(id, Why::Terminal, &[]);
        }
    }

    /// A call shows a terminal: the terminal's window is that call's.
    pub(super) fn link_terminals(&mut self, id: &SessionId, update: &CallUpdate) {
        for terminal in &update.terminals {
            let Some(name) = self.terminals.get(&(id.clone(), terminal.clone())).cloned() else { continue };
            let known: Option<Window> =
                self.roots_of(id).iter().find_map(|root| self.ledger.chain(root)?.window(&name).cloned());
            if let Some(mut window) = known
                && window.purpose == (Purpose::Terminal { call: None })
            {
                window.purpose = Purpose::Terminal { call: Some(update.call.clone()) };
                self.say_window(id, &window);
            }
        }
    }

    pub(super) fn turn_of(&self, id: &SessionId) -> Option<crate::base::TurnNo> {
        self.sessions.get(&self.principal_of(id))?.turns.current()?.number
    }
}

fn bound(sharp: Sharpness) -> Bound {
    match sharp {
        Sharpness::Hard => Bound::Hard,
        Sharpness::Soft => Bound::Soft,
    }
}

/// Returns the one open call that names a path and may write: one that says that it reads, or waits for a permission, does not.
pub(super) fn claimant(session: &Session, root: &RootId, path: &RepoPath) -> Option<CallId> {
    let may = |call: &OpenCall| {
        !ToolKind::parse(&call.kind).is_weak()
            && !call.cannot_write()
            && !matches!(call.leave, Leave::Asked(_))
            && call.named.iter().any(|(of, named)| of == root && named == path)
    };
    let mut open = session.calls.open().filter(|call| may(call));
    let only = open.next()?;
    open.next().is_none().then(|| only.call.clone())
}
