//! What the two watchers, for systems with watches and without, have in common.

/// What a look depends on besides the worktree, and may have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    /// The root's chain.
    pub(crate) chain: bool,
    /// The segments of the root's store.
    pub(crate) objects: bool,
    /// The commit that `HEAD` names.
    pub(crate) head: bool,
}

/// A directory beside the worktree in which some names are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root's own in the state directory.
    Root,
    /// The git directory of the work tree.
    Git,
    /// Its reflogs: each move of `HEAD` is written there.
    Logs,
}

/// Why a directory is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwatched {
    /// The limit of the kernel is reached.
    Full,
    /// It cannot be watched.
    Refused,
}
