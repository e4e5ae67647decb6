//! When which call could have written.

use crate::base::{CallId, ProxyId, RepoPath, SessionKey, TurnNo, WallNs, WindowId};
use crate::ledger::{ClaimText, Redacted};
use serde::{Deserialize, Serialize};

/// The time in which something we know of could have written beneath a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Unique in the root's chain.
    pub id: WindowId,
    /// The proxy that saw it open.
    pub proxy: ProxyId,
    /// The session it belongs to.
    pub session: SessionKey,
    /// The turn, `None` outside numbered turns.
    pub turn: Option<TurnNo>,
    /// What it is the window of.
    pub purpose: Purpose,
    /// When the first message that names it was received, or the barrier was passed.
    pub opened: WallNs,
    /// Whether nothing of it can have been written before `opened`.
    pub lo: Bound,
    /// When and how it closed; `None` while it is open.
    pub closed: Option<Closing>,
    /// The call that contains it (a sub-agent's), if one does.
    pub parent: Option<CallId>,
}

/// What a window is the window of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum Purpose {
    /// A whole turn.
    Turn,
    /// One tool call.
    Call(CallFacts),
    /// `fs/write_text_file`; `call` when exactly one open call claims the path.
    FsWrite {
        /// The call that claims the path.
        call: Option<CallId>,
        /// The path that is written.
        path: RepoPath,
        /// The whole file, as it passed through us.
        content: ClaimText,
    },
    /// A client terminal.
    Terminal {
        /// The call that shows the terminal, when known.
        call: Option<CallId>,
    },
    /// Our own revert (or its undo): its writes keep their original authors.
    Review {
        /// The decision command.
        command: crate::base::CommandId,
    },
    /// Background work that the agent reports.
    Background {
        /// The call that started it.
        call: Option<CallId>,
    },
}

/// What is known of a tool call. Later messages refine it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The agent's id for it.
    pub call: CallId,
    /// The agent's title, empty until one is known.
    pub title: Redacted,
    /// The agent's word for what it does; a hint, may be late or wrong.
    pub kind: ToolKind,
    /// Whether its content proves that it cannot write.
    pub read_only: bool,
    /// When it asked whether it may, while nobody has allowed it: from then on it has written nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<WallNs>,
}

impl CallFacts {
    /// Says whether the call waited for a permission at `instant`, or was refused it.
    pub fn waits_at(&self, instant: WallNs) -> bool {
        self.asked.is_some_and(|asked| instant > asked)
    }
}

/// A tool call's kind, as ACP names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are ACP's own")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    #[default]
    Other,
}

impl ToolKind {
    /// Reads ACP's word; unknown words are `Other`.
    pub fn parse(word: &str) -> Self {
        match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            _ => Self::Other,
        }
    }

    /// Returns ACP's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "other",
        }
    }

    /// Says whether a call of this kind is a suspect of weak weight: it never receives a line by `sole`, but it contests.
    pub fn is_weak(self) -> bool {
        matches!(self, Self::Read | Self::Search | Self::Think | Self::Fetch | Self::SwitchMode)
    }

    /// Says whether a call of this kind names the files it changes.
    pub fn names_its_targets(self) -> bool {
        matches!(self, Self::Edit | Self::Delete | Self::Move)
    }
}

/// How sharp the opening of a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The other side provably waited until the root had been observed.
    Hard,
    /// A notification; the write may have come first (early grace 250 ms).
    Soft,
    /// A notification that the call does not run yet: what it is late by is the way of the message (early grace 50 ms).
    Pending,
}

/// When and how a window closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// When.
    pub at: WallNs,
    /// How.
    pub hi: Hi,
}

/// How a window closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hi {
    /// The other side provably waited until the root had been observed.
    Barrier,
    /// The agent reported its end.
    Reported,
    /// The agent reported that it failed.
    Failed,
    /// Everything it claimed had been observed.
    Satisfied,
    /// Its turn ended, or its session, or its agent, while the proxy watched.
    TurnEnd,
    /// The proxy died: when it ended, nobody saw.
    Lost,
}
