//! Everything the threads of a running proxy tell the one that owns the engine.

use crate::base::Leg;
use crate::engine::Input;
use crate::review::{Answer, Asked};
use crate::wire::Piece;
use std::sync::mpsc::Sender;

/// A surface that is told what moves, by its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatcherId(pub(crate) u64);

/// Something for the owner of the engine.
#[derive(Debug)]
pub(crate) enum Event {
    /// A peer said something.
    Read {
        /// Who.
        leg: Leg,
        /// What, in order.
        pieces: Vec<Piece>,
        /// Their bytes, counted in the gauge of the other peer.
        bytes: usize,
    },
    /// A peer's output is at its end.
    Ended(Leg),
    /// A peer does not read any more.
    Unwritable(Leg),
    /// The agent was reaped; its stderr is drained.
    AgentReaped {
        /// Its exit code, 128+n for signal n.
        code: i32,
        /// The end of its stderr.
        stderr_tail: String,
    },
    /// What an effect came to.
    Came(Box<Input>),
    /// A person, or a program for a person, asks.
    Asked {
        /// What.
        asked: Box<Asked>,
        /// Where the answer goes.
        reply: Sender<Answer>,
    },
    /// A surface wants to be told what moves.
    Watch {
        /// Which one.
        watcher: WatcherId,
        /// Where it is told.
        notices: Sender<crate::engine::Notice>,
    },
    /// One of them has gone.
    Unwatch(WatcherId),
    /// A signal of ours; it was passed on.
    Signal {
        /// Its name.
        name: &'static str,
        /// Its number.
        number: i32,
    },
}

/// Where events are put. Never full and never waited for: what is under way is bounded by the gauges.
#[derive(Clone, Debug)]
pub(crate) struct Inbox(Sender<Event>);

impl Inbox {
    /// Wraps the sending half.
    pub(crate) fn new(sender: Sender<Event>) -> Self {
        Self(sender)
    }

    /// Puts an event; false when nobody will ever take it.
    pub(crate) fn put(&self, event: Event) -> bool {
        self.0.send(event).is_ok()
    }
}
