//! The state directory: layout, permissions, leases.
//!
//! ```text
//! STATE/ (0700)
//! ├─ key              what keys fingerprints of secrets and of what is approved
//! ├─ grants.jsonl     standing permissions that outlive sessions
//! ├─ roots/ROOT/      chain.jsonl  chain.lock  observe.lock  presence/PROXY  key  store.git/ (bare)
//! ├─ sessions/KEY/    ledger.jsonl  lease
//! └─ run/             NAME.sock
//! ```

use crate::base::{ProxyId, RootId, SessionKey, WallNs};
use crate::ledger::{Event, Log, Record, SessionHeader};
use crate::store::journal::{Replay, read_journal};
use crate::store::process::is_alive;
use crate::store::{Journal, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The directory that holds everything we keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    top: PathBuf,
}

/// A session as it lies on disk.
#[derive(Clone, Debug)]
pub struct SessionOnDisk {
    /// Its name on disk.
    pub key: SessionKey,
    /// Its header, or why it cannot be read.
    pub header: Result<SessionHeader, String>,
    /// When it was opened; zero when the header cannot be read.
    pub opened: WallNs,
    /// When its ledger last grew.
    pub grew: WallNs,
    /// Who holds it now.
    pub live: Option<Holder>,
}

/// Who holds a session's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The proxy or command.
    pub proxy: ProxyId,
    /// When it took the lease.
    pub started: WallNs,
    /// Where it answers, when it does.
    pub socket: Option<PathBuf>,
}

/// The right to write a session's ledger. Dropped with the process.
#[derive(Debug)]
pub struct Lease {
    /// Says who holds it, and where that one can be asked.
    file: File,
    /// The session's directory, locked as well where the file system can: the file may be removed while it is held.
    dir: Option<File>,
}

impl Lease {
    /// Says whether its file was removed while it was held: nobody finds by it who holds the session.
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.nlink() == 0)
    }
}

/// Why a lease was not given.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process holds it.
    #[error("the session is held by {}", .0.as_ref().map_or("another process".to_owned(), |holder| format!("process {}", holder.pid)))]
    Held(Option<Holder>),
    /// The state directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StateDir {
    /// Opens the directory, and makes what is missing of it, for its owner only.
    pub fn open(top: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let state = Self { top: top.into() };
        for part in
            [state.top.clone(), state.top.join("roots"), state.top.join("sessions"), state.top.join("run")]
        {
            make_private_dir(&part)?;
        }
        probe_writable(&state.top)?;
        Ok(state)
    }

    /// Names a directory without touching it, for who only reads.
    pub fn unopened(top: impl Into<PathBuf>) -> Self {
        Self { top: top.into() }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.top
    }

    /// Reads (or draws) the secret of this installation: the key of all fingerprints.
    pub fn secret(&self) -> Result<[u8; 32], StoreError> {
        secret_in(&self.top)
    }

    /// Returns the directory of a root.
    pub fn root_dir(&self, root: &RootId) -> PathBuf {
        self.top.join("roots").join(file_name(root.as_str()))
    }

    /// Returns the directory of a session.
    pub fn session_dir(&self, key: &SessionKey) -> PathBuf {
        self.top.join("sessions").join(file_name(key.as_str()))
    }

    /// Returns the file of a session's ledger.
    pub fn session_ledger(&self, key: &SessionKey) -> PathBuf {
        self.session_dir(key).join("ledger.jsonl")
    }

    /// Returns the file in which surfaces keep what the person has seen of a session.
    pub fn session_seen(&self, key: &SessionKey) -> PathBuf {
        self.session_dir(key).join("seen.json")
    }

    /// Returns the roots that are kept.
    pub fn roots(&self) -> Vec<RootId> {
        names_in(&self.top.join("roots")).into_iter().map(RootId::new).collect()
    }

    /// Lists the sessions that are kept, newest first; those that cannot be read are listed as such.
    pub fn sessions(&self) -> Vec<SessionOnDisk> {
        let mut found: Vec<_> = self.session_keys().into_iter().map(|key| self.session(key)).collect();
        found.sort_by(|a, b| b.grew.cmp(&a.grew).then_with(|| a.key.cmp(&b.key)));
        found
    }

    /// Returns the names of the sessions that are kept.
    pub(crate) fn session_keys(&self) -> Vec<SessionKey> {
        names_in(&self.top.join("sessions")).into_iter().map(SessionKey::new).collect()
    }

    fn session(&self, key: SessionKey) -> SessionOnDisk {
        let ledger = self.session_ledger(&key);
        let grew = std::fs::metadata(&ledger)
            .map_or(WallNs(0), |meta| WallNs(meta.mtime().saturating_mul(1_000_000_000) + meta.mtime_nsec()));
        let (header, opened) = match first_record(&ledger) {
            Ok((header, at)) => (Ok(header), at),
            Err(why) => (Err(why), WallNs(0)),
        };
        let live = self.holder(&key);
        SessionOnDisk { key, header, opened, grew, live }
    }

    /// Returns the record that opened a session; `None` when it cannot be read.
    pub fn session_opening(&self, key: &SessionKey) -> Option<Record> {
        let (header, at) = first_record(&self.session_ledger(key)).ok()?;
        Some(Record { at, event: Event::SessionOpened(header) })
    }

    /// Replays a session's ledger without a lock, up to its last whole record.
    pub fn read_session(&self, key: &SessionKey) -> Result<Replay, StoreError> {
        read_journal(&self.session_ledger(key), &Log::Session(key.clone()))
    }

    /// Opens (or makes) a session's ledger for writing. The caller holds the lease.
    pub fn open_session(&self, key: &SessionKey, lease: &Lease) -> Result<(Journal, Replay), StoreError> {
        let _held = &lease.file;
        Journal::open(&self.session_ledger(key), &Log::Session(key.clone()))
    }

    /// Takes the lease of a session, or says who holds it. Never waits.
    pub fn lease(&self, key: &SessionKey, holder: &Holder) -> Result<Lease, LeaseError> {
        let dir = self.session_dir(key);
        make_private_dir(&dir)?;
        let locked = lock_dir(&dir)?;
        Ok(Lease { file: lease_file(&dir, holder)?, dir: locked })
    }

    /// Makes a lease whose file, or whose session's directory, was removed one that others find again.
    pub fn lease_again(
        &self,
        key: &SessionKey,
        holder: &Holder,
        lease: &mut Lease,
    ) -> Result<(), LeaseError> {
        let dir = self.session_dir(key);
        make_private_dir(&dir)?;
        if !lease.dir.as_ref().is_some_and(|held| is_at(held, &dir)) {
            lease.dir = lock_dir(&dir)?;
        }
        if lease.is_removed() {
            lease.file = lease_file(&dir, holder)?;
        }
        Ok(())
    }

    /// Returns the live holder of a session's lease, without taking it.
    pub fn holder(&self, key: &SessionKey) -> Option<Holder> {
        let path = self.session_dir(key).join("lease");
        let file = File::open(&path).ok()?;
        match file.try_lock_shared() {
            Ok(()) | Err(TryLockError::Error(_)) => None,
            Err(TryLockError::WouldBlock) => read_holder(&path),
        }
    }

    /// Returns a socket path for a proxy that is short enough for the kernel.
    ///
    /// `runtime` is `$XDG_RUNTIME_DIR`, or the directory for temporary files: used where the state directory's own
    /// `run/` would be too long.
    pub fn socket_path(&self, proxy: &ProxyId, runtime: &Path) -> Result<PathBuf, StoreError> {
        let name = format!("{}.sock", &blake3::hash(proxy.as_str().as_bytes()).to_hex()[..16]);
        let own = self.top.join("run").join(&name);
        if own.as_os_str().len() <= LONGEST_SOCKET {
            make_private_dir(&self.top.join("run"))?;
            return Ok(own);
        }
        let digest = &blake3::hash(self.top.as_os_str().as_bytes()).to_hex()[..8];
        let uid = rustix::process::getuid().as_raw();
        let dir = runtime.join(format!("hunkgate-{uid}-{digest}"));
        make_private_dir(&dir)?;
        Ok(dir.join(name))
    }
}

const LONGEST_SOCKET: usize = 100;

/// Makes a directory with mode 0700, or checks that what stands there is a directory of ours.
pub(crate) fn make_private_dir(path: &Path) -> Result<(), StoreError> {
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) => return Err(StoreError::io("make directory", path, error)),
    }
    let meta = std::fs::symlink_metadata(path).map_err(|error| StoreError::io("look at", path, error))?;
    let meta = if meta.is_symlink() {
        std::fs::metadata(path).map_err(|error| StoreError::io("look at", path, error))?
    } else {
        meta
    };
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(StoreError::said("use", path, "it belongs to another user"));
    }
    if meta.mode() & 0o077 != 0 {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(path, private)
            .map_err(|error| StoreError::io("make private", path, error))?;
    }
    Ok(())
}

/// Opens (or makes) a file with mode 0600 for reading and writing.
pub(crate) fn open_private(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|error| StoreError::io("open", path, error))
}

/// Reads (or draws) the secret that a directory keeps.
pub(crate) fn secret_in(dir: &Path) -> Result<[u8; 32], StoreError> {
    let path = dir.join("key");
    let mut file = open_private(&path)?;
    file.lock().map_err(|error| StoreError::io("lock", &path, error))?;
    let mut secret = [0; 32];
    if file.read_exact(&mut secret).is_ok() {
        return Ok(secret);
    }
    getrandom::fill(&mut secret).map_err(|error| StoreError::said("draw", &path, error.to_string()))?;
    file.set_len(0).map_err(|error| StoreError::io("write", &path, error))?;
    file.rewind().map_err(|error| StoreError::io("write", &path, error))?;
    file.write_all(&secret).map_err(|error| StoreError::io("write", &path, error))?;
    Ok(secret)
}

fn probe_writable(top: &Path) -> Result<(), StoreError> {
    use rustix::fs::{Access, access};
    access(top, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| StoreError::io("write to", top, std::io::Error::from(error)))
}

/// Takes the lease file in a session's directory, and says in it who holds it.
fn lease_file(dir: &Path, holder: &Holder) -> Result<File, LeaseError> {
    let path = dir.join("lease");
    let mut file = open_private(&path)?;
    take(&file, &path)?;
    let text =
        serde_json::to_vec(holder).map_err(|error| StoreError::said("write", &path, error.to_string()))?;
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
    written.map_err(|error| StoreError::io("write", &path, error))?;
    Ok(file)
}

/// Locks a session's directory, so that who removes the lease's file gives nobody the lease. `None` where the file system
/// locks no directories (NFS).
pub(crate) fn lock_dir(dir: &Path) -> Result<Option<File>, LeaseError> {
    let Ok(file) = File::open(dir) else { return Ok(None) };
    match take(&file, &dir.join("lease")) {
        Ok(()) => Ok(Some(file)),
        Err(LeaseError::Store(_)) => Ok(None),
        Err(held) => Err(held),
    }
}

/// Says whether an open file is what stands at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), path.metadata()) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Locks the file or the directory of a lease, whose file is at `path`. Somebody who only asks who holds it holds it shared for a moment: that is waited for.
fn take(file: &File, path: &Path) -> Result<(), LeaseError> {
    const TRIES: u32 = 50;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error).into()),
            Err(TryLockError::WouldBlock) => {}
        }
        let held = read_holder(path);
        if held.as_ref().is_some_and(|holder| is_alive(holder.pid, holder.started)) {
            return Err(LeaseError::Held(held));
        }
        std::thread::sleep(PAUSE);
    }
    Err(LeaseError::Held(read_holder(path)))
}

/// Guards against a name that would leave its directory; our own names are hex.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

fn names_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn read_holder(path: &Path) -> Option<Holder> {
    let mut text = String::new();
    File::open(path).ok()?.take(64 * 1024).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn first_record(ledger: &Path) -> Result<(SessionHeader, WallNs), String> {
    let record = crate::store::journal::read_opening(ledger).map_err(|error| error.to_string())?;
    let Some(record) = record else { return Err("the ledger is empty".to_owned()) };
    let Event::SessionOpened(header) = record.event else {
        return Err("the ledger does not begin with its header".to_owned());
    };
    Ok((header, record.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Holder {
        let started = WallNs(crate::store::capture::wall_now());
        Holder { pid: std::process::id(), proxy: ProxyId::new("p"), started, socket: Some("/run/s".into()) }
    }

    #[test]
    fn a_lease_has_one_holder_who_can_be_found() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = SessionKey::new("k");
        assert_eq!(state.holder(&key), None);
        let lease = state.lease(&key, &holder()).unwrap();
        let found = state.holder(&key).unwrap();
        assert_eq!((found.pid, found.socket), (std::process::id(), Some("/run/s".into())));
        assert!(matches!(state.lease(&key, &holder()), Err(LeaseError::Held(Some(_)))));
        drop(lease);
        assert_eq!(state.holder(&key), None);
        assert!(state.lease(&key, &holder()).is_ok());
    }

    #[test]
    fn who_removes_the_file_of_a_lease_gives_nobody_the_lease() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = SessionKey::new("k");
        let mut lease = state.lease(&key, &holder()).unwrap();
        std::fs::remove_file(state.session_dir(&key).join("lease")).unwrap();
        assert!(lease.is_removed() && state.holder(&key).is_none());
        assert!(matches!(state.lease(&key, &holder()), Err(LeaseError::Held(None))));
        assert!(state.delete_session(&key).is_err());
        for removed in ["sessions/k/lease", "sessions", "."] {
            drop(std::fs::remove_file(state.path().join(removed)));
            drop(std::fs::remove_dir_all(state.path().join(removed)));
            state.lease_again(&key, &holder(), &mut lease).unwrap();
            assert_eq!(state.holder(&key).map(|found| found.pid), Some(std::process::id()), "{removed}");
            assert!(matches!(state.lease(&key, &holder()), Err(LeaseError::Held(Some(_)))));
        }
        drop(lease);
        assert!(state.lease(&key, &holder()).is_ok());
    }

    #[test]
    fn everything_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("deep/state");
        let state = StateDir::open(&top).unwrap();
        let lease = state.lease(&SessionKey::new("k"), &holder()).unwrap();
        drop(state.open_session(&SessionKey::new("k"), &lease).unwrap());
        let mode = |path: PathBuf| path.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(top.clone()), 0o700);
        assert_eq!(mode(top.join("sessions/k/ledger.jsonl")), 0o600);
        std::fs::set_permissions(&top, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        StateDir::open(&top).unwrap();
        assert_eq!(mode(top), 0o700);
    }

    #[test]
    fn a_session_that_cannot_be_read_is_listed_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        std::fs::create_dir_all(state.session_dir(&SessionKey::new("broken"))).unwrap();
        std::fs::write(state.session_ledger(&SessionKey::new("broken")), "not a record\n").unwrap();
        std::fs::create_dir_all(state.session_dir(&SessionKey::new("empty"))).unwrap();
        let listed = state.sessions();
        assert_eq!(listed.len(), 2);
        assert!(listed.iter().all(|session| session.header.is_err() && session.live.is_none()));
    }

    #[test]
    fn a_session_whose_first_line_is_lost_is_found_by_the_header_that_was_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = SessionKey::new("k");
        let header = SessionHeader {
            key: key.clone(),
            session: crate::base::SessionId::new("s"),
            agent: crate::base::AgentId::new("agent"),
            agent_version: None,
            client: None,
            protocol: 1,
            cwd: "/w".to_owned(),
            roots: Vec::new(),
            parent: None,
        };
        let opened = |at| Record { at: WallNs(at), event: Event::SessionOpened(header.clone()) };
        let lease = state.lease(&key, &holder()).unwrap();
        let (mut journal, _) = state.open_session(&key, &lease).unwrap();
        journal.append_all(&[opened(1), opened(2)], crate::store::Durability::Synced).unwrap();
        let mut bytes = std::fs::read(state.session_ledger(&key)).unwrap();
        bytes[20] ^= 1;
        std::fs::write(state.session_ledger(&key), bytes).unwrap();
        assert_eq!(state.session_opening(&key), Some(opened(2)));
        assert!(state.sessions().iter().all(|session| session.header.is_ok()));
    }

    #[test]
    fn a_socket_path_is_short_enough_for_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("x".repeat(90));
        let proxy = ProxyId::new("p");
        for top in [dir.path().to_owned(), long] {
            let path = StateDir::open(top).unwrap().socket_path(&proxy, dir.path()).unwrap();
            assert!(path.as_os_str().len() < 107);
            std::os::unix::net::UnixListener::bind(path).unwrap();
        }
    }
}
