//! What the two watchers, for systems with watches and without, have in common.

/// What a look depends on besides the worktree, and may have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four places, each of which moved or did not")]
pub(crate) struct Beside {
    /// The root's chain.
    pub(crate) chain: bool,
    /// The segments of the root's store: one came or went.
    pub(crate) objects: bool,
    /// A segment of the root's store was written to.
    pub(crate) grown: bool,
    /// The commit that `HEAD` names.
    pub(crate) head: bool,
}

impl Beside {
    /// Everything may have moved.
    pub(crate) const ALL: Self = Self { chain: true, objects: true, grown: true, head: true };

    /// Takes over what else moved.
    pub(crate) fn add(&mut self, other: Self) {
        self.chain |= other.chain;
        self.objects |= other.objects;
        self.grown |= other.grown;
        self.head |= other.head;
    }
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
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is watched there"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwatched {
    /// The limit of the kernel is reached.
    Full,
    /// It cannot be watched.
    Refused,
}
