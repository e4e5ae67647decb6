//! Requests that come while the roots of their session are being opened: nothing is decided that cannot be recorded, so they wait.

use crate::base::{Leg, SessionId};
use crate::engine::Engine;
use crate::engine::docket::Early;
use crate::engine::enforce::cancelled;
use crate::session::{Recording, Replay};
use crate::wire::IdToken;
use bytes::Bytes;

impl Engine {
    /// Says whether a session's roots are being opened: what it asks for waits until that can be recorded.
    pub(super) fn is_early(&self, session: &SessionId) -> bool {
        let Some(known) = self.sessions.get(&self.principal_of(session)) else { return false };
        known.recording == Recording::Opening && known.replay == Replay::No
    }

    /// The roots of a session are open: what waited for that is taken in.
    pub(super) fn early_taken(&mut self, session: &SessionId) {
        let early = std::mem::take(&mut self.docket.early);
        let (mine, rest) = early.into_iter().partition(|it| self.principal_of(&it.session) == *session);
        self.docket.early = rest;
        let mine: Vec<Early> = mine;
        for early in mine {
            self.heard(Leg::Agent, early.line);
        }
    }

    /// Ends requests that wait for roots: each is answered as cancelled.
    pub(super) fn end_early(
        &mut self,
        which: impl Fn(&Early) -> bool,
        permission: fn(&IdToken) -> Bytes,
    ) -> bool {
        let early = std::mem::take(&mut self.docket.early);
        let (mine, rest): (Vec<Early>, Vec<Early>) = early.into_iter().partition(which);
        self.docket.early = rest;
        for early in &mine {
            let answer = if early.permission { permission(&early.id) } else { cancelled(&early.id) };
            self.send(Leg::Agent, answer);
        }
        !mine.is_empty()
    }
}
