//! The agent: how it is started, signalled and waited for.

use crate::host::kin;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The variable by which a proxied agent that is started beneath an agent finds the proxy above it.
pub(crate) const PARENT: &str = "HUNKGATE_PARENT";

/// Our ends of a running agent's pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// Its stdin.
    pub(crate) stdin: OwnedFd,
    /// Its stdout; reads do not block.
    pub(crate) stdout: OwnedFd,
    /// Its stderr; reads do not block.
    pub(crate) stderr: OwnedFd,
}

/// The agent's process for as long as it is not reaped, so that no signal of ours meets a stranger.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentPid(Arc<Mutex<Option<Pid>>>);

/// Why an agent could not be started.
#[derive(Debug)]
pub(crate) struct NotStarted {
    /// For people.
    pub(crate) reason: String,
    /// 127 not found, 126 not executable.
    pub(crate) code: i32,
}

/// Starts an agent. To be called from the main thread, which must live until [`AgentPid::wait`] returns: its end is what
/// the kernel takes for the parent's death.
pub(crate) fn start(agent: &AgentPid, command: &[OsString], proxy: &str) -> Result<Pipes, NotStarted> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(NotStarted { reason: "no command was given".into(), code: 127 });
    };
    let mut command = Command::new(program);
    command.args(arguments).env(PARENT, proxy);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tie_to_us(&mut command);
    // Held while the process is made: whoever reaps or signals meanwhile waits to hear which one is the agent.
    let mut pid = agent.lock();
    let mut child = command.spawn().map_err(|error| not_started(&error))?;
    *pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    drop(pid);
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => {
            let pipes = Pipes { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
            unblock(&pipes.stdout).and(unblock(&pipes.stderr)).map_err(|error| not_started(&error))?;
            Ok(pipes)
        }
        _ => Err(NotStarted { reason: "its pipes could not be made".into(), code: 126 }),
    }
}

/// Becomes the agent: same streams, same process. Returns only when that fails.
pub(crate) fn become_it(command: &[OsString], proxy: &str) -> NotStarted {
    let Some((program, arguments)) = command.split_first() else {
        return NotStarted { reason: "no command was given".into(), code: 127 };
    };
    not_started(&Command::new(program).args(arguments).env(PARENT, proxy).exec())
}

/// Adopts orphaned descendants, so that they can be found and ended.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "what runs between fork and exec is two system calls, which is all that is allowed there"
)]
fn tie_to_us(command: &mut Command) {
    let ours = rustix::process::getpid();
    // SAFETY: the closure makes system calls only: no allocation, no lock, nothing that a fork leaves half done.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            // We may have died before the call: then nobody will send the signal any more.
            if rustix::process::getppid() == Some(ours) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn tie_to_us(_command: &mut Command) {}

fn not_started(error: &io::Error) -> NotStarted {
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    NotStarted { reason: error.to_string(), code }
}

/// Only our end of the pipe changes: the agent's is another open file.
fn unblock(pipe: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    Ok(rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)?)
}

impl AgentPid {
    /// Sends a signal, unless the agent was reaped or never was.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.lock() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Reaps dead children that we adopted, and leaves the agent to [`AgentPid::wait`].
    pub(crate) fn reap_others(&self) {
        let pid = self.lock();
        kin::reap_adopted(pid.map(|pid| pid.as_raw_nonzero().get()));
    }

    /// Waits until the agent is dead and reaps it: its exit code, 128+n for signal n.
    pub(crate) fn wait(&self) -> i32 {
        let Some(pid) = *self.lock() else { return 0 };
        let dead = loop {
            match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(rustix::io::Errno::INTR) => {}
                done => break done.ok().flatten(),
            }
        };
        let mut alive = self.lock();
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        *alive = None;
        let code = |status: rustix::process::WaitIdStatus| {
            status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        };
        dead.and_then(code).unwrap_or(1)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
