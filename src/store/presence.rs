//! Which proxies still live: each holds a lock for as long as it does. A process number alone says nothing across
//! containers, whose processes share a state directory and not their numbers.

use crate::base::{ProxyId, WallNs};
use crate::ledger::Event;
use crate::store::StoreError;
use crate::store::process;
use crate::store::state::{make_private_dir, open_private};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The locks beneath the state directory of one root.
#[derive(Debug)]
pub(crate) struct Presence {
    root_dir: PathBuf,
    /// Held by this process.
    own: BTreeMap<ProxyId, File>,
}

impl Presence {
    pub(crate) fn new(root_dir: &Path) -> Self {
        Self { root_dir: root_dir.to_owned(), own: BTreeMap::new() }
    }

    /// Follows what is about to be appended: who joins is there from now on, who left is no longer. The caller holds the
    /// chain's lock.
    pub(crate) fn follow(&mut self, event: &Event) -> Result<(), StoreError> {
        if let Event::ProxyJoined { proxy, pid } = event
            && *pid == std::process::id()
        {
            let path = lock_of(&self.root_dir, proxy);
            path.parent().map_or(Ok(()), make_private_dir)?;
            let file = open_private(&path)?;
            file.lock().map_err(|error| StoreError::io("lock", &path, error))?;
            self.own.insert(proxy.clone(), file);
        } else if let Event::ProxyLeft { proxy, .. } = event {
            self.own.remove(proxy);
            drop(std::fs::remove_file(lock_of(&self.root_dir, proxy)));
        }
        Ok(())
    }

    /// Says whether this process holds a proxy's lock.
    pub(crate) fn is_ours(&self, proxy: &ProxyId) -> bool {
        self.own.contains_key(proxy)
    }

    /// Says whether a proxy that joined as process `pid` at `since` lives.
    pub(crate) fn is_alive(&self, proxy: &ProxyId, pid: u32, since: WallNs) -> bool {
        self.is_ours(proxy) || is_alive(&self.root_dir, proxy, pid, since)
    }
}

/// Says whether a proxy that joined as process `pid` at `since` lives.
pub(crate) fn is_alive(root_dir: &Path, proxy: &ProxyId, pid: u32, since: WallNs) -> bool {
    let held = File::open(lock_of(root_dir, proxy)).map(|file| file.try_lock_shared());
    match held {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock)) => true,
        // Without its lock, only the process table is left to ask.
        Ok(Err(TryLockError::Error(_))) | Err(_) => {
            pid == std::process::id() || process::is_alive(pid, since)
        }
    }
}

fn lock_of(root_dir: &Path, proxy: &ProxyId) -> PathBuf {
    let name = blake3::hash(proxy.as_str().as_bytes()).to_hex();
    root_dir.join("presence").join(&name[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_lives_while_its_lock_is_held_whatever_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (ProxyId::new("here"), ProxyId::new("there"));
        let mut theirs = Presence::new(dir.path());
        let ours = Presence::new(dir.path());
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let pid = gone.id();
        gone.wait().unwrap();
        let since = WallNs(crate::store::capture::wall_now());
        assert!(!ours.is_alive(&there, pid, since), "no process of that number, and no lock");
        theirs.follow(&Event::ProxyJoined { proxy: there.clone(), pid: std::process::id() }).unwrap();
        assert!(ours.is_alive(&there, pid, since), "a process of another container");
        drop(theirs);
        assert!(!ours.is_alive(&there, std::process::id(), since), "its number is somebody else's now");
        assert!(ours.is_alive(&here, std::process::id(), since), "of before there were locks");
    }
}
