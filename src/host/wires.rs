//! The ways to the peers: two pipes, or one connection of a proxy chain that carries both.

use crate::base::Leg;
use crate::host::leg::{Outgoing, Writer};
use crate::router::Hop;
use bytes::Bytes;
use std::time::Duration;

/// The ways to the peers.
#[derive(Debug)]
pub(crate) enum Wires {
    /// A pipe to each. One may be missing: an agent that could not be started, a command without peers.
    Pair {
        /// To the editor.
        editor: Option<Writer>,
        /// To the agent.
        agent: Option<Writer>,
    },
    /// One connection to a conductor.
    Chain {
        /// Its framing.
        hop: Hop,
        /// The way there.
        writer: Writer,
    },
}

impl Wires {
    /// No peers at all.
    pub(crate) fn none() -> Self {
        Self::Pair { editor: None, agent: None }
    }

    /// Says from which peer a line is, and how the engine has it.
    pub(crate) fn incoming(&mut self, leg: Leg, line: Bytes) -> (Leg, Bytes) {
        match self {
            Self::Pair { .. } => (leg, line),
            Self::Chain { hop, .. } => hop.incoming(line),
        }
    }

    /// Adds a frame to the batch of a peer.
    pub(crate) fn push(&mut self, leg: Leg, line: Bytes) {
        match self {
            Self::Pair { .. } => self.put(leg, Outgoing::Frame(line)),
            Self::Chain { hop, writer } => {
                if let Some(line) = hop.outgoing(leg, line) {
                    writer.push(Outgoing::Frame(line));
                }
            }
        }
    }

    /// Adds a part of a line that is too long to be looked at. A chain has no such lines: they could not be routed.
    pub(crate) fn put(&mut self, leg: Leg, item: Outgoing) {
        let writer = match self {
            Self::Pair { editor, agent } => match leg {
                Leg::Editor => editor.as_mut(),
                Leg::Agent => agent.as_mut(),
            },
            Self::Chain { writer, .. } => Some(writer),
        };
        if let Some(writer) = writer {
            writer.push(item);
        }
    }

    /// Hands the batches over. Never waits.
    pub(crate) fn flush(&mut self) {
        match self {
            Self::Pair { editor, agent } => editor.iter_mut().chain(agent).for_each(Writer::flush),
            Self::Chain { writer, .. } => writer.flush(),
        }
    }

    /// Ends the agent's input.
    pub(crate) fn close_agent(&mut self) {
        self.flush();
        if let Self::Pair { agent: Some(agent), .. } = self {
            agent.close();
        }
    }

    /// Says whether there is an agent, or a chain that has one.
    pub(crate) fn has_agent(&self) -> bool {
        !matches!(self, Self::Pair { agent: None, .. })
    }

    /// Says whether the agent is a process of ours, whose end is waited for.
    pub(crate) fn is_chain(&self) -> bool {
        matches!(self, Self::Chain { .. })
    }

    /// Waits until the editor was written all it is owed, at most so long.
    pub(crate) fn wait_written(&mut self, at_most: Duration) {
        match self {
            Self::Pair { editor: Some(writer), .. } | Self::Chain { writer, .. } => {
                writer.wait_written(at_most)
            }
            Self::Pair { editor: None, .. } => {}
        }
    }
}
