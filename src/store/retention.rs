//! What may go when a session is deleted: a pure plan, and its executor.
//!
//! Only what was deleted is swept. A root that is missing or unmounted sweeps nothing, and what cannot be read keeps
//! everything it might name.

use crate::base::{RootId, SessionKey};
use crate::ledger::{Event, Log};
use crate::store::journal::read_journal;
use crate::store::objects::Pins;
use crate::store::presence::is_alive;
use crate::store::state::{lock_dir, make_private_dir, open_private};
use crate::store::{StateDir, StoreError};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// A session that is kept, and the roots that it names; `None` when its header cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The session.
    pub key: SessionKey,
    /// Its roots.
    pub roots: Option<BTreeSet<RootId>>,
}

/// A root that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRoot {
    /// The root.
    pub root: RootId,
    /// The sessions whose trees are pinned in its store.
    pub pinned: BTreeSet<SessionKey>,
    /// Whether a living proxy looks at it.
    pub watched: bool,
}

/// What may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Pins of sessions that are no longer there.
    pub unpin: Vec<(RootId, SessionKey)>,
    /// Roots that no session names and nobody looks at.
    pub drop: Vec<RootId>,
}

/// Plans what may go, from what is kept.
pub fn plan_sweep(sessions: &[Kept], roots: &[KeptRoot]) -> Sweep {
    let known: BTreeSet<_> = sessions.iter().map(|kept| &kept.key).collect();
    let all_legible = sessions.iter().all(|kept| kept.roots.is_some());
    let named: BTreeSet<_> = sessions.iter().flat_map(|kept| kept.roots.iter().flatten()).collect();
    let mut sweep = Sweep::default();
    for kept in roots {
        let orphans = kept.pinned.iter().filter(|key| !known.contains(key));
        sweep.unpin.extend(orphans.map(|key| (kept.root.clone(), key.clone())));
        let wanted =
            kept.watched || named.contains(&kept.root) || kept.pinned.iter().any(|key| known.contains(key));
        if !wanted && all_legible {
            sweep.drop.push(kept.root.clone());
        }
    }
    sweep
}

/// What is kept of one root, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// The root.
    pub root: RootId,
    /// Bytes of contents and trees that are not packed yet.
    pub segments: u64,
    /// Bytes of packs; those that the user's repository holds too cost nothing.
    pub packs: u64,
    /// Bytes of the journal that processes share.
    pub chain: u64,
    /// Bytes of everything else: refs, locks, keys.
    pub rest: u64,
    /// The sessions that name the root or pin trees in its store.
    pub sessions: BTreeSet<SessionKey>,
}

impl Stock {
    /// Returns the bytes that the cap is about.
    pub fn objects(&self) -> u64 {
        self.segments + self.packs
    }

    /// Returns all bytes.
    pub fn bytes(&self) -> u64 {
        self.objects() + self.chain + self.rest
    }
}

/// How long a root that no session names is left alone after its last sign of life: a proxy that has just started
/// names it in a moment.
const QUIET: Duration = Duration::from_secs(600);

impl StateDir {
    /// Deletes a session: its ledger, its pins, and the roots that no other session names. Refused while it is held.
    pub fn delete_session(&self, key: &SessionKey) -> Result<Sweep, StoreError> {
        let dir = self.session_dir(key);
        let lease = open_private(&dir.join("lease"))?;
        let (locked, taken) = (lock_dir(&dir), lease.try_lock());
        if locked.is_err() || taken.is_err() {
            return Err(StoreError::said("delete", &dir, "a process holds the session"));
        }
        let roots = self.roots_of(key);
        // From here on the session is gone for everyone; what follows can be done again by any sweep.
        let trash = self.path().join("trash");
        make_private_dir(&trash)?;
        let gone = trash.join(format!("{}-{}", key.as_str(), std::process::id()));
        std::fs::rename(&dir, &gone).map_err(|error| StoreError::io("delete", &dir, error))?;
        let sweep = self.sweep_roots(roots.as_ref());
        std::fs::remove_dir_all(&gone).map_err(|error| StoreError::io("delete", &gone, error))?;
        sweep
    }

    /// Sweeps what deleted sessions left behind, everywhere. A root that was in use a moment ago is left for the next time.
    pub fn sweep(&self) -> Result<Sweep, StoreError> {
        drop(std::fs::remove_dir_all(self.path().join("trash")));
        let sweep = self.plan();
        self.carry_out(&sweep).map(|()| sweep)
    }

    /// Says what [`StateDir::sweep`] would sweep, and touches nothing.
    pub fn plan(&self) -> Sweep {
        let mut sweep = self.plan_for(None);
        sweep.drop.retain(|root| is_quiet(&self.root_dir(root)));
        sweep
    }

    /// Returns how many bytes deleted sessions take that are not swept yet.
    pub fn trash_bytes(&self) -> u64 {
        bytes_beneath(&self.path().join("trash"))
    }

    /// Returns what is kept of each root, in the order of their ids. Nothing is touched.
    pub fn stocks(&self) -> Vec<Stock> {
        let sessions = self.kept_sessions();
        self.roots().into_iter().map(|root| self.stock(root, &sessions)).collect()
    }

    fn stock(&self, root: RootId, sessions: &[Kept]) -> Stock {
        let dir = self.root_dir(&root);
        let (segments, packs) = (bytes_of_segments(&dir), bytes_beneath(&dir.join("store.git/objects/pack")));
        let chain = std::fs::metadata(dir.join("chain.jsonl")).map_or(0, |meta| meta.len());
        let rest = bytes_beneath(&dir).saturating_sub(segments + packs + chain);
        let names = |kept: &&Kept| kept.roots.as_ref().is_some_and(|roots| roots.contains(&root));
        let mut users: BTreeSet<_> = sessions.iter().filter(names).map(|kept| kept.key.clone()).collect();
        let pinned = pinned_in(&dir);
        users.extend(sessions.iter().map(|kept| &kept.key).filter(|key| pinned.contains(key)).cloned());
        Stock { root, segments, packs, chain, rest, sessions: users }
    }

    fn sweep_roots(&self, only: Option<&BTreeSet<RootId>>) -> Result<Sweep, StoreError> {
        let sweep = self.plan_for(only);
        self.carry_out(&sweep).map(|()| sweep)
    }

    /// Roots are read before sessions: a session is there before its pins, so that no pin of a new one looks like nobody's.
    fn plan_for(&self, only: Option<&BTreeSet<RootId>>) -> Sweep {
        let roots = self.roots().into_iter().filter(|root| only.is_none_or(|only| only.contains(root)));
        let roots: Vec<_> = roots.map(|root| self.kept_root(root)).collect();
        plan_sweep(&self.kept_sessions(), &roots)
    }

    fn carry_out(&self, sweep: &Sweep) -> Result<(), StoreError> {
        for (root, key) in &sweep.unpin {
            Pins::of(&self.root_dir(root))?.drop(key)?;
        }
        sweep.drop.iter().try_for_each(|root| self.drop_root(root))
    }

    fn kept_sessions(&self) -> Vec<Kept> {
        self.session_keys().into_iter().map(|key| self.kept(key)).collect()
    }

    fn drop_root(&self, root: &RootId) -> Result<(), StoreError> {
        let dir = self.root_dir(root);
        // Nobody looks at it and nobody joins while these are held; who joined since the plan was made keeps it.
        let locks = [open_private(&dir.join("observe.lock"))?, open_private(&dir.join("chain.lock"))?];
        if locks.iter().any(|lock| lock.try_lock().is_err()) || self.kept_root(root.clone()).watched {
            return Ok(());
        }
        std::fs::remove_dir_all(&dir).map_err(|error| StoreError::io("delete", &dir, error))
    }

    fn kept(&self, key: SessionKey) -> Kept {
        let roots = self.roots_of(&key);
        Kept { key, roots }
    }

    /// Returns the roots that a session's ledger names anywhere; `None` when its header cannot be read.
    fn roots_of(&self, key: &SessionKey) -> Option<BTreeSet<RootId>> {
        let replay = self.read_session(key).ok()?;
        let mut roots: Option<BTreeSet<RootId>> = None;
        for record in replay.records {
            if let Event::SessionOpened(header) = record.event {
                roots.get_or_insert_default().extend(header.roots.into_iter().map(|(root, _)| root));
            } else if let Event::BaseTaken { root, .. } | Event::Rebased { root, .. } = record.event
                && let Some(roots) = &mut roots
            {
                roots.insert(root);
            }
        }
        roots
    }

    fn kept_root(&self, root: RootId) -> KeptRoot {
        let dir = self.root_dir(&root);
        let pinned = pinned_in(&dir);
        let chain = read_journal(&dir.join("chain.jsonl"), &Log::Root(root.clone()));
        let watched =
            chain.map_or(true, |replay| replay.records.iter().any(|record| is_living_proxy(&dir, record)));
        KeptRoot { root, pinned, watched }
    }
}

/// A proxy that left and still lives counts as well: its root is kept a little longer than needed.
fn is_living_proxy(root_dir: &Path, record: &crate::ledger::Record) -> bool {
    matches!(&record.event, Event::ProxyJoined { proxy, pid } if is_alive(root_dir, proxy, *pid, record.at))
}

/// Returns the sessions whose trees are pinned in a root's store. A store that is not there is not made.
fn pinned_in(root_dir: &Path) -> BTreeSet<SessionKey> {
    if !root_dir.join("store.git").is_dir() {
        return BTreeSet::new();
    }
    Pins::of(root_dir).map(|pins| pins.sessions()).unwrap_or_default()
}

/// Says whether nothing happened in a root's directory for a while.
fn is_quiet(root_dir: &Path) -> bool {
    let touched = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let last = touched(root_dir).max(touched(&root_dir.join("chain.jsonl")));
    last.is_some_and(|last| last.elapsed().is_ok_and(|since| since >= QUIET))
}

fn bytes_of_segments(root_dir: &Path) -> u64 {
    let entries = std::fs::read_dir(root_dir).into_iter().flatten().flatten();
    let segments = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "seg"));
    segments.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

fn bytes_beneath(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes = 0;
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => todo.push(entry.path()),
                // A pack that the user's repository holds too costs nothing.
                Ok(meta) if meta.nlink() == 1 => bytes += meta.len(),
                Ok(_) | Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{AgentId, SessionId, WallNs};
    use crate::ledger::{Record, SessionHeader};
    use crate::store::oracle::{Eye, Git};
    use crate::store::{Durability, Holder};
    use proptest::prelude::*;

    fn opened(eye: &Eye, name: &str) -> SessionKey {
        let key = SessionKey::new(name);
        let holder =
            Holder { pid: 1, proxy: crate::base::ProxyId::new("p"), started: WallNs(1), socket: None };
        let lease = eye.state.lease(&key, &holder).unwrap();
        let (mut journal, _) = eye.state.open_session(&key, &lease).unwrap();
        let header = SessionHeader {
            key: key.clone(),
            session: SessionId::new(name),
            agent: AgentId::new("a"),
            agent_version: None,
            client: None,
            protocol: 1,
            cwd: "/".to_owned(),
            roots: vec![(eye.store.root().id.clone(), "w".to_owned())],
            parent: None,
        };
        let record = Record { at: WallNs(1), event: Event::SessionOpened(header) };
        journal.append(&record, Durability::Synced).unwrap();
        key
    }

    #[test]
    fn a_root_goes_with_its_last_session_and_not_before() {
        let git = Git::none();
        git.write("f", "x");
        let mut eye = Eye::on(&git);
        let tree = eye.look().tree;
        let (a, b) = (opened(&eye, "aa"), opened(&eye, "bb"));
        eye.store.pin(&a, &[tree]).unwrap();
        eye.store.pin(&b, &[tree]).unwrap();
        eye.store.objects.settle();
        let root = eye.store.root().id.clone();
        let sweep = eye.state.delete_session(&a).unwrap();
        assert_eq!((sweep.unpin, sweep.drop), (vec![(root.clone(), a)], vec![]));
        assert_eq!(eye.state.sessions().len(), 1);
        assert!(eye.store.objects.holds(&tree.0));
        let sweep = eye.state.delete_session(&b).unwrap();
        assert_eq!(sweep.drop, [root]);
        assert_eq!((eye.state.roots(), eye.state.sessions().len()), (vec![], 0));
    }

    #[test]
    fn a_session_that_is_held_is_not_deleted() {
        let git = Git::none();
        git.write("f", "x");
        let eye = Eye::on(&git);
        let key = opened(&eye, "aa");
        let holder =
            Holder { pid: 1, proxy: crate::base::ProxyId::new("p"), started: WallNs(1), socket: None };
        let lease = eye.state.lease(&key, &holder).unwrap();
        assert!(eye.state.delete_session(&key).is_err());
        drop(lease);
        assert!(eye.state.delete_session(&key).is_ok());
    }

    #[test]
    fn a_sweep_leaves_alone_what_is_kept_and_what_was_in_use_a_moment_ago() {
        let git = Git::none();
        git.write("f", "x");
        let mut eye = Eye::on(&git);
        let tree = eye.look().tree;
        let (kept, gone) = (opened(&eye, "aa"), SessionKey::new("gone"));
        eye.store.pin(&kept, &[tree]).unwrap();
        eye.store.pin(&gone, &[tree]).unwrap();
        eye.store.objects.settle();
        let root = eye.store.root().id.clone();
        let before = eye.state.stocks();
        assert_eq!(before[0].sessions, BTreeSet::from([kept.clone()]));
        assert!(before[0].chain > 0 && before[0].packs > 0, "{before:?}");
        let plan = eye.state.plan();
        assert_eq!((&plan.unpin, &plan.drop), (&vec![(root.clone(), gone)], &vec![]));
        assert_eq!(eye.state.stocks(), before, "a plan touches nothing");
        assert_eq!(eye.state.sweep().unwrap(), plan);
        assert!(eye.store.objects.holds(&tree.0));
        assert_eq!(eye.state.plan(), Sweep::default());
        // Nobody names the root any more; it goes once it has been quiet for a while.
        std::fs::remove_dir_all(eye.state.session_dir(&kept)).unwrap();
        assert_eq!(eye.state.sweep().unwrap().drop, []);
        let dir = eye.state.root_dir(&root);
        let long_ago = std::time::SystemTime::now() - QUIET * 2;
        for path in [dir.join("chain.jsonl"), dir.clone()] {
            std::fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        assert_eq!(eye.state.sweep().unwrap().drop, [root]);
        assert!(!dir.exists());
    }

    #[test]
    fn a_proxy_that_joins_between_the_plan_and_the_sweep_keeps_its_root() {
        let git = Git::none();
        git.write("f", "x");
        let mut eye = Eye::on(&git);
        eye.look();
        let root = eye.store.root().id.clone();
        let sweep = Sweep { drop: vec![root.clone()], ..Sweep::default() };
        let join = Event::ProxyJoined { proxy: crate::base::ProxyId::new("p"), pid: std::process::id() };
        let at = WallNs(crate::store::capture::wall_now());
        eye.store.chain().append(&[Record { at, event: join }], Durability::Written).unwrap();
        eye.state.carry_out(&sweep).unwrap();
        assert_eq!(eye.state.roots(), [root]);
        drop(eye.store);
        eye.state.carry_out(&sweep).unwrap();
        assert_eq!(eye.state.roots(), []);
    }

    proptest! {
        #[test]
        fn nothing_that_a_kept_session_names_is_swept(
            sessions in proptest::collection::vec((0_u8..6, proptest::option::of(proptest::collection::btree_set(0_u8..5, 0..3))), 0..5),
            roots in proptest::collection::vec((0_u8..5, proptest::collection::btree_set(0_u8..6, 0..4), any::<bool>()), 0..5),
        ) {
            let root = |n: u8| RootId::new(format!("r{n}"));
            let key = |n: u8| SessionKey::new(format!("s{n}"));
            let sessions: Vec<_> = sessions
                .into_iter()
                .map(|(n, roots)| Kept { key: key(n), roots: roots.map(|roots| roots.into_iter().map(root).collect()) })
                .collect();
            let roots: Vec<_> = roots
                .into_iter()
                .map(|(n, pinned, watched)| KeptRoot { root: root(n), pinned: pinned.into_iter().map(key).collect(), watched })
                .collect();
            let sweep = plan_sweep(&sessions, &roots);
            for kept in &sessions {
                prop_assert!(sweep.unpin.iter().all(|(_, key)| *key != kept.key));
                for root in kept.roots.iter().flatten() {
                    prop_assert!(!sweep.drop.contains(root));
                }
                prop_assert!(kept.roots.is_some() || sweep.drop.is_empty());
            }
            prop_assert_eq!(plan_sweep(&sessions, &roots), sweep);
        }
    }
}
