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
}
