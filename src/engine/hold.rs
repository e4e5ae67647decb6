//! Parked frames: each waits for observations, never longer than its deadline, and stops only what must not overtake it.

use crate::base::{AskId, CallId, Leg, SessionId, Tick, WindowId};
use crate::wire::{self, Head, IdToken};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// How long a frame may wait for a look at the disk, in milliseconds.
pub(super) const HOLD_MS: u32 = 2_000;
/// How long a prompt's answer may wait for pending rejects and the summary, in milliseconds.
pub(super) const TURN_END_MS: u32 = 10_000;

/// A parked frame.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    /// The peer it goes to.
    pub to: Leg,
    /// Its session.
    pub session: SessionId,
    /// The frame.
    pub line: Bytes,
    /// What it waits for; empty = it may go.
    pub awaiting: BTreeSet<AskId>,
    /// When it goes all the same.
    pub deadline: Tick,
    /// What it is.
    pub what: Held,
    /// Whether one of the looks it waited for failed.
    pub soft: bool,
    /// Later frames of its session and direction, in order. Only a prompt and a v2 idle stop any.
    pub behind: Vec<Bytes>,
}

/// What a parked frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A prompt: nothing of its turn has run.
    Prompt { request: IdToken, text: String },
    /// An answer that allows a call.
    Allow { call: Option<CallId>, request: Option<crate::base::RequestKey> },
    /// A `fs/write_text_file` request.
    FsWrite { request: IdToken, path: String, content: String },
    /// Its answer.
    FsWritten { window: WindowId },
    /// A `terminal/create` request.
    Terminal { request: IdToken },
    /// What ends a turn: a prompt's answer, or v2 `idle`.
    TurnEnd { request: Option<IdToken>, stop: String, stage: EndStage },
}

/// How far the end of a turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndStage {
    /// The roots are being looked at.
    Observing,
    /// Rejects that waited for this moment are carried out.
    Rejecting,
    /// What is said, shown or accepted is being worked out.
    Closing,
    /// The person is being asked.
    Asking,
}

impl Held {
    /// Says whether later frames of the session in the same direction must wait.
    pub(super) fn stops_followers(&self) -> bool {
        match self {
            Self::Prompt { .. } => true,
            Self::TurnEnd { request, stage, .. } => request.is_none() && *stage != EndStage::Asking,
            Self::Allow { .. } | Self::FsWrite { .. } | Self::FsWritten { .. } | Self::Terminal { .. } => {
                false
            }
        }
    }

    /// Says whether it is held because the person is being asked.
    pub(super) fn is_asking(&self) -> bool {
        match self {
            Self::TurnEnd { stage, .. } => *stage == EndStage::Asking,
            Self::Prompt { .. }
            | Self::Allow { .. }
            | Self::FsWrite { .. }
            | Self::FsWritten { .. }
            | Self::Terminal { .. } => false,
        }
    }

    /// Returns the id of the request that is parked, when it is one.
    pub(super) fn request(&self) -> Option<&IdToken> {
        match self {
            Self::Prompt { request, .. } | Self::FsWrite { request, .. } | Self::Terminal { request } => {
                Some(request)
            }
            Self::Allow { .. } | Self::FsWritten { .. } | Self::TurnEnd { .. } => None,
        }
    }
}

/// All parked frames, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds(BTreeMap<AskId, Hold>);

impl Holds {
    pub(super) fn park(&mut self, id: AskId, hold: Hold) {
        self.0.insert(id, hold);
    }

    pub(super) fn get_mut(&mut self, id: AskId) -> Option<&mut Hold> {
        self.0.get_mut(&id)
    }

    pub(super) fn take(&mut self, id: AskId) -> Option<Hold> {
        self.0.remove(&id)
    }

    pub(super) fn deadline(&self) -> Option<Tick> {
        self.0.values().map(|hold| hold.deadline).min()
    }

    /// Returns the parked frames whose time is up.
    pub(super) fn expired(&self, now: Tick) -> Vec<AskId> {
        self.0.iter().filter(|(_, hold)| hold.deadline.mono <= now.mono).map(|(id, _)| *id).collect()
    }

    /// Returns the parked frames of a session that go to `to`, oldest first.
    pub(super) fn of_session(&self, to: Leg, session: &SessionId) -> Vec<AskId> {
        let mine = |hold: &Hold| hold.to == to && hold.session == *session;
        self.0.iter().filter(|(_, hold)| mine(hold)).map(|(id, _)| *id).collect()
    }

    /// Says whether the end of the turn that `request` began is parked; for v2, whether any is.
    pub(super) fn ends(&self, request: Option<&IdToken>) -> bool {
        self.0.values().any(|hold| match &hold.what {
            Held::TurnEnd { request: ended, .. } => ended.is_none() || ended.as_ref() == request,
            Held::Prompt { .. }
            | Held::Allow { .. }
            | Held::FsWrite { .. }
            | Held::FsWritten { .. }
            | Held::Terminal { .. } => false,
        })
    }

    /// Returns the session whose answer to this request is held because the person is being asked.
    pub(super) fn asking_end_of(&self, request: &IdToken) -> Option<SessionId> {
        let mine = |hold: &&Hold| match &hold.what {
            Held::TurnEnd { request: ended, stage, .. } => {
                *stage == EndStage::Asking && ended.as_ref() == Some(request)
            }
            Held::Prompt { .. }
            | Held::Allow { .. }
            | Held::FsWrite { .. }
            | Held::FsWritten { .. }
            | Held::Terminal { .. } => false,
        };
        self.0.values().find(mine).map(|hold| hold.session.clone())
    }

    /// Returns the parked request with this id that goes to `to`.
    pub(super) fn of_request(&self, to: Leg, request: &IdToken) -> Option<AskId> {
        let mine = |hold: &Hold| hold.to == to && hold.what.request() == Some(request);
        self.0.iter().find(|(_, hold)| mine(hold)).map(|(id, _)| *id)
    }

    /// Says whether a write of the client with this id is parked, or its answer.
    pub(super) fn carries(&self, id: &IdToken) -> bool {
        let answers =
            |line: &Bytes| matches!(wire::head(line), Head::Response { id: of, .. } if of.to_id() == *id);
        self.0.values().any(|hold| match &hold.what {
            Held::FsWrite { request, .. } => request == id,
            Held::FsWritten { .. } => answers(&hold.line),
            Held::Prompt { .. } | Held::Allow { .. } | Held::Terminal { .. } | Held::TurnEnd { .. } => false,
        })
    }

    /// Says whether later frames of a session that go to `to` have to wait.
    pub(super) fn stops(&self, to: Leg, session: &SessionId) -> bool {
        self.0.values().any(|hold| hold.to == to && hold.session == *session && hold.what.stops_followers())
    }

    /// Returns the parked answer that allows the agent's request with this id, and its name.
    pub(super) fn allowing(&self, id: &IdToken) -> Option<(AskId, crate::base::RequestKey)> {
        self.0.iter().find_map(|(hold, parked)| match (&parked.what, wire::head(&parked.line)) {
            (Held::Allow { request: Some(key), .. }, Head::Response { id: of, .. }) if of.to_id() == *id => {
                Some((*hold, key.clone()))
            }
            _ => None,
        })
    }

    /// Returns the parked answer that allows this request.
    pub(super) fn allow_of(&self, key: &crate::base::RequestKey) -> Option<AskId> {
        let mine = |hold: &Hold| matches!(&hold.what, Held::Allow { request: Some(of), .. } if of == key);
        self.0.iter().find(|(_, hold)| mine(hold)).map(|(id, _)| *id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `line` behind the parked frame that it must not overtake; gives it back when there is none.
    pub(super) fn queue(&mut self, to: Leg, session: &SessionId, line: Bytes) -> Option<Bytes> {
        let stops =
            |hold: &&mut Hold| hold.to == to && hold.session == *session && hold.what.stops_followers();
        match self.0.values_mut().find(stops) {
            Some(hold) => {
                hold.behind.push(line);
                None
            }
            None => Some(line),
        }
    }

    /// Takes every parked frame out, oldest first.
    pub(super) fn drain(&mut self) -> Vec<Hold> {
        std::mem::take(&mut self.0).into_values().collect()
    }
}
