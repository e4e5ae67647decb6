//! Whether a process was started by an agent of ours: such a process may not decide (approvals.md §9).
//!
//! Not a boundary against a determined process of the same user: one that another daemon starts for it escapes.

use crate::base::SessionKey;
use crate::config::McpMay;
use crate::host::kin;
use crate::ledger::Channel;
use crate::review::{Ask, Asked, Problem, ProblemKind};
use crate::store::StateDir;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns the number of this process.
pub(crate) fn ourselves() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// Refuses what a process may not do that an agent started, where this is one; `what` says it.
pub(crate) fn refuse_agents(state: &StateDir, what: &str) -> Result<(), Problem> {
    match proxy_above(state, ourselves()) {
        Some(_) => {
            let message = format!("a process that an agent started may not {what}");
            Err(Problem::new(ProblemKind::Conflict, message))
        }
        None => Ok(()),
    }
}

/// Returns the proxy above a process, when there is one.
pub(crate) fn proxy_above(state: &StateDir, pid: i32) -> Option<i32> {
    proxies_above(state, pid).into_iter().next()
}

/// Returns the proxies above a process, nearest first.
fn proxies_above(state: &StateDir, pid: i32) -> Vec<i32> {
    let ancestors = kin::ancestors(pid);
    let holders: BTreeSet<i32> =
        state.sessions().into_iter().filter_map(|session| i32::try_from(session.live?.pid).ok()).collect();
    ancestors
        .into_iter()
        .filter(|&above| (holders.contains(&above) || is_ours(above)) && wraps(above))
        .collect()
}

/// Says whether a proxy above a process holds a session: its agent, or one that started it, works there.
pub(crate) fn is_own(state: &StateDir, pid: i32, session: &SessionKey) -> bool {
    let above = proxies_above(state, pid);
    let holder = state.holder(session).and_then(|holder| i32::try_from(holder.pid).ok());
    holder.is_some_and(|holder| above.contains(&holder))
}

/// Says whether a process may ask what it asks, where that decides something.
///
/// A process that an agent started may not; over MCP an agent may what the configuration allows, never in its own session.
pub(crate) fn may_decide(state: &StateDir, may: &BTreeSet<McpMay>, pid: i32, asked: &Asked) -> bool {
    if asked.actor.channel != Channel::Mcp {
        return proxy_above(state, pid).is_none();
    }
    let wanted = match &asked.ask {
        Ask::Resolve { .. } => McpMay::Comment,
        Ask::Decide(_) => McpMay::Decide,
        Ask::Status
        | Ask::Hunks { .. }
        | Ask::Show { .. }
        | Ask::Undo { .. }
        | Ask::Redo { .. }
        | Ask::Comment { .. }
        | Ask::Rebase { .. }
        | Ask::Note
        | Ask::Diff { .. }
        | Ask::Blame { .. }
        | Ask::Cards { .. }
        | Ask::Docket(_)
        | Ask::TurnedAway { .. } => return false,
    };
    may.contains(&wanted) && !is_own(state, pid, &asked.session)
}

/// Says whether a process runs this program, also an older build of it that was replaced on disk.
pub(crate) fn is_ours(pid: i32) -> bool {
    let link = format!("/proc/{pid}/exe");
    let same_file = || {
        let (theirs, ours) = (std::fs::metadata(&link).ok()?, std::fs::metadata("/proc/self/exe").ok()?);
        Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
    };
    let same_name = || {
        let (theirs, ours) = (std::fs::read_link(&link).ok()?, std::fs::read_link("/proc/self/exe").ok()?);
        Some(name(&theirs)? == name(&ours)?)
    };
    same_file().unwrap_or(false) || same_name().unwrap_or(false)
}

fn name(exe: &Path) -> Option<&[u8]> {
    let name = exe.file_name().map(OsStr::as_bytes)?;
    Some(name.strip_suffix(b" (deleted)").unwrap_or(name))
}

/// Says whether a process of ours wraps an agent, rather than being a command.
fn wraps(pid: i32) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    line.split(|&byte| byte == 0).skip(1).take_while(|word| *word != b"--").any(|word| {
        let word: &[u8] = word;
        word == b"run" || word == b"chain"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_on_disk_keeps_its_name() {
        assert_eq!(name(Path::new("/usr/bin/hunkgate (deleted)")), Some(&b"hunkgate"[..]));
        assert_eq!(name(Path::new("/usr/bin/hunkgate")), Some(&b"hunkgate"[..]));
    }

    #[test]
    fn a_test_has_no_proxy_above_it_that_is_this_program() {
        let ours = i32::try_from(std::process::id()).expect("a pid is positive");
        assert!(is_ours(ours) || cfg!(not(target_os = "linux")));
        assert!(!wraps(ours));
    }
}
