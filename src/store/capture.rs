//! Observing a root: worktree → tree.

use crate::base::{BlobId, ProxyId, RepoPath, WallNs};
use crate::ledger::{
    Blobs, FilePlan, Gap, Observation, Record, RevertFile, RevertOutcome, RootHeader, Skip, Why,
};
use crate::store::{Chain, Root, Settings, StateDir, StoreError};
use std::sync::Arc;

/// One tracked root: its chain, its objects, and what it looked like last.
#[derive(Debug)]
pub struct RootStore {
    root: Root,
    chain: Chain,
    settings: Settings,
}

/// What opening a root found.
#[derive(Clone, Debug)]
pub struct OpenReport {
    /// The root.
    pub header: RootHeader,
    /// Its canonical absolute path, as bytes.
    pub top: Vec<u8>,
    /// How it is observed.
    pub observing: Observing,
    /// What its chain held already, in order.
    pub history: Vec<Record>,
    /// What replay had to skip.
    pub skips: Vec<Skip>,
}

/// How a root is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observing {
    /// Every directory is watched.
    Watch,
    /// Some directories are watched, the others are walked.
    Hybrid,
    /// Everything is walked each time.
    Walk,
}

impl Observing {
    /// Returns the wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Hybrid => "hybrid",
            Self::Walk => "walk",
        }
    }
}

/// What one look at a root brought.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Chain records that other processes appended since the last look, in order.
    pub foreign: Vec<Record>,
    /// The new link, or the gap; already appended to the chain.
    pub outcome: Result<Observation, Gap>,
}

/// The contents of a root's store, readable from any thread.
#[derive(Clone, Debug)]
pub struct StoreBlobs {}

impl Blobs for StoreBlobs {
    fn bytes(&self, blob: BlobId) -> Option<Arc<[u8]>> {
        let _ = blob;
        None
    }
}

impl RootStore {
    /// Opens a root: its chain, its store, and the last state that the chain names. Walks nothing yet.
    pub fn open(state: &StateDir, root: Root, settings: &Settings) -> Result<(Self, OpenReport), StoreError> {
        let (chain, history) = Chain::open(state, &root.id)?;
        let report = OpenReport {
            header: root.header(),
            top: root.top_bytes().to_vec(),
            observing: Observing::Walk,
            history: history.records,
            skips: history.skips,
        };
        Ok((Self { root, chain, settings: settings.clone() }, report))
    }

    /// Returns the root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the chain: records that are no observations are appended through it, without waiting for a walk.
    pub fn chain(&self) -> Chain {
        self.chain.clone()
    }

    /// Returns a reader of the store's contents for other threads.
    pub fn blobs(&self) -> StoreBlobs {
        StoreBlobs {}
    }

    /// Looks at the root and appends what it saw to the chain. `named` are paths to be read even if ignore rules cover them.
    pub fn observe(
        &mut self,
        why: Why,
        named: &[RepoPath],
        clock: &dyn Fn() -> WallNs,
        proxy: &ProxyId,
    ) -> Observed {
        let _ = (named, proxy, &self.settings);
        let gap = Gap { at: clock(), reason: "nothing is captured".to_owned(), why };
        Observed { foreign: Vec::new(), outcome: Err(gap) }
    }

    /// Stores the contents of a revert and draws its temporary names. Changes nothing in the worktree.
    pub fn prepare(&mut self, plans: &[FilePlan]) -> Vec<Result<RevertFile, RevertOutcome>> {
        plans.iter().map(|plan| Err(crate::store::restore::failed(plan, "nothing is restored"))).collect()
    }

    /// Carries a prepared revert out. Its intent has been synced.
    pub fn restore(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        let _ = files;
        Vec::new()
    }

    /// Finishes or takes back a revert that a dead process had begun, and removes its temporaries.
    pub fn recover(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        let _ = files;
        Vec::new()
    }
}
