//! Where the web console listens, told in the state directory: an address and no token.

use crate::host::ancestry::is_ours;
use crate::store::StateDir;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Writes where this process's console listens, or takes that back.
pub(crate) fn announce(state: &StateDir, address: Option<SocketAddr>) {
    let path = place(state);
    match address {
        Some(address) => {
            let text = json!({ "pid": std::process::id(), "address": address.to_string() }).to_string();
            let draft = path.with_extension(format!("{}.tmp", std::process::id()));
            // Without the file the console is not named in the editor; it serves all the same.
            if std::fs::write(&draft, text).is_ok() {
                let _ = std::fs::rename(&draft, &path);
            }
        }
        None if read(state).is_some_and(|(pid, _)| pid == std::process::id()) => {
            let _ = std::fs::remove_file(&path);
        }
        None => {}
    }
}

/// Returns where a console listens, as `http://HOST:PORT`: one of this machine, whose process still runs.
pub(crate) fn address(state: &StateDir) -> Option<String> {
    let (pid, address) = read(state)?;
    let runs = i32::try_from(pid).is_ok_and(is_ours);
    (runs && address.ip().is_loopback()).then(|| format!("http://{address}"))
}

fn read(state: &StateDir) -> Option<(u32, SocketAddr)> {
    let text = std::fs::read_to_string(place(state)).ok()?;
    let told: Value = serde_json::from_str(&text).ok()?;
    let pid = u32::try_from(told.get("pid")?.as_u64()?).ok()?;
    Some((pid, told.get("address")?.as_str()?.parse().ok()?))
}

fn place(state: &StateDir) -> PathBuf {
    state.path().join("console.json")
}
