//! The two peers between which we stand.

/// One of the two peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leg {
    /// The editor's side.
    Editor,
    /// The agent's side.
    Agent,
}

impl Leg {
    /// Returns the other one.
    pub fn other(self) -> Self {
        match self {
            Self::Editor => Self::Agent,
            Self::Agent => Self::Editor,
        }
    }

    /// Returns its place in a pair.
    pub fn index(self) -> usize {
        match self {
            Self::Editor => 0,
            Self::Agent => 1,
        }
    }

    /// Returns its name in transcripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Editor => "editor",
            Self::Agent => "agent",
        }
    }
}
