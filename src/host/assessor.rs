//! Programs outside that are asked about requests: each in its own process group, one line in, one line out, ended at its time.

use crate::base::AskId;
use crate::config::Assessor;
use crate::engine::Input;
use crate::host::event::{Event, Inbox};
use crate::host::kin;
use crate::policy::{Errand, Hearing, LONGEST_LINE, Opinion, Told};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The programs that are being asked.
#[derive(Debug, Default)]
pub(crate) struct Assessors(BTreeMap<AskId, Group>);

/// The process group of a program, until it is reaped.
#[derive(Clone, Debug, Default)]
struct Group(Arc<Mutex<Life>>);

#[derive(Debug, Default)]
enum Life {
    #[default]
    Unborn,
    Running(Pid),
    Over,
}

impl Assessors {
    /// Asks a program, on a thread of its own. What it says comes in the inbox.
    pub(crate) fn ask(&mut self, ask: AskId, errand: Errand, inbox: Inbox) {
        self.0.retain(|_, group| !group.is_over());
        let group = Group::default();
        self.0.insert(ask, group.clone());
        let told = inbox.clone();
        let work = move || {
            let said = |opinion| {
                told.put(Event::Came(Box::new(Input::Opined { ask, opinion: Box::new(opinion) })));
            };
            let reply = run(&errand, &group, &said).map(Box::new);
            told.put(Event::Came(Box::new(Input::Assessed { ask, reply })));
        };
        if std::thread::Builder::new().name("assessor".into()).spawn(work).is_err() {
            let reply = Err("a thread could not be started".to_owned());
            inbox.put(Event::Came(Box::new(Input::Assessed { ask, reply })));
        }
    }

    /// Ends a program whose answer nobody waits for any more.
    pub(crate) fn dismiss(&mut self, ask: AskId) {
        if let Some(group) = self.0.remove(&ask) {
            group.end();
        }
    }
}

impl Group {
    /// Kills everything in the group. One that was not started yet never is.
    fn end(&self) {
        let mut life = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *life {
            Life::Running(leader) => {
                let _ = kill_process_group(leader, Signal::KILL);
            }
            Life::Unborn => *life = Life::Over,
            Life::Over => {}
        }
    }

    fn is_over(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), Life::Over)
    }
}

/// Runs a program to its end, and returns its last word.
fn run(errand: &Errand, group: &Group, said: &dyn Fn(Opinion)) -> Result<Opinion, String> {
    let deadline = Instant::now() + Duration::from_secs(errand.timeout_s);
    let (program, arguments) = errand.command.split_first().ok_or("no command is configured")?;
    let path = find(program).ok_or_else(|| format!("{program} was not found"))?;
    if let Some(pin) = &errand.sha256 {
        let bytes =
            std::fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        if sha256_hex(&bytes) != *pin {
            return Err("the program is not the one that is pinned".to_owned());
        }
    }
    let mut command = Command::new(&path);
    command.args(arguments).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = {
        let mut life = group.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*life, Life::Over) {
            return Err("its request is over".to_owned());
        }
        let child = kin::spawn(&mut command).map_err(|error| format!("it could not be started: {error}"))?;
        *life = child.leader().map_or(Life::Over, Life::Running);
        child
    };
    let talk = match child.streams() {
        Some((stdin, stdout)) => converse(errand, (stdin, stdout), (deadline, said)),
        None => Err("its pipes could not be made".to_owned()),
    };
    // Whatever it left behind ends with it, before it is reaped and its number can be somebody else's.
    let ended = talk.is_ok().then(|| child.wait_until(deadline)).flatten();
    group.end();
    *group.0.lock().unwrap_or_else(PoisonError::into_inner) = Life::Over;
    let opinion = talk?;
    match ended {
        Some(0) => Ok(opinion),
        Some(code) => Err(format!("it ended with {code}")),
        None => Err("it did not end in time".to_owned()),
    }
}

/// Writes the line, and reads lines until the program closes its output.
fn converse(
    errand: &Errand,
    (stdin, mut stdout): (ChildStdin, ChildStdout),
    (deadline, said): (Instant, &dyn Fn(Opinion)),
) -> Result<Opinion, String> {
    unblock(&stdin).and(unblock(&stdout)).map_err(|error| error.to_string())?;
    let line = format!("{}\n", errand.line);
    let (mut unsent, mut stdin) = (line.as_bytes(), Some(stdin));
    let mut hearing = Hearing::of(errand.request.clone());
    let (mut buffer, mut last) = (Vec::new(), None);
    loop {
        wait(stdin.as_ref(), &stdout, deadline)?;
        if let Some(pipe) = &mut stdin {
            match pipe.write(unsent) {
                Ok(sent) => unsent = &unsent[sent..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // A program may answer without reading everything.
                Err(_) => unsent = &[],
            }
            if unsent.is_empty() {
                stdin = None;
            }
        }
        let mut piece = [0_u8; 8192];
        let ended = match stdout.read(&mut piece) {
            Ok(0) => true,
            Ok(read) => {
                buffer.extend_from_slice(&piece[..read]);
                false
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => false,
            Err(error) => return Err(error.to_string()),
        };
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let rest = buffer.split_off(end + 1);
            let line = std::mem::replace(&mut buffer, rest);
            take(&mut hearing, &line, (&mut last, said))?;
        }
        if buffer.len() > LONGEST_LINE {
            return Err("it wrote a line of more than 64 KiB".to_owned());
        }
        if ended {
            if !buffer.is_empty() {
                take(&mut hearing, &buffer, (&mut last, said))?;
            }
            return last.ok_or_else(|| "it gave no reply".to_owned());
        }
    }
}

fn take(
    hearing: &mut Hearing,
    line: &[u8],
    (last, said): (&mut Option<Opinion>, &dyn Fn(Opinion)),
) -> Result<(), String> {
    match hearing.hear(line.trim_ascii_end())? {
        Told::Meanwhile(opinion) => said(opinion),
        Told::Finally(opinion) => *last = Some(opinion),
    }
    Ok(())
}

/// Waits until something can be written or read, or the time is up.
fn wait(stdin: Option<&ChildStdin>, stdout: &ChildStdout, deadline: Instant) -> Result<(), String> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err("it took too long".to_owned());
    }
    let mut fds = vec![PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
    fds.extend(stdin.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT)));
    let left = Timespec::try_from(left).map_err(|error| error.to_string())?;
    match poll(&mut fds, Some(&left)) {
        Ok(0) => Err("it took too long".to_owned()),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn unblock(pipe: impl AsFd) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&pipe)?;
    rustix::fs::fcntl_setfl(&pipe, flags | rustix::fs::OFlags::NONBLOCK)
}

/// Finds a program as a shell would.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    }
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).filter(|place| place.is_absolute());
    let mut found = places.map(|place| place.join(program));
    found.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Returns the SHA-256 of some bytes, as `sha256sum` writes it.
fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Notes what each of the configured programs is now: its digest stands in the record of the rules in force.
pub(crate) fn note_programs(assessors: &mut [Assessor]) {
    for assessor in assessors {
        let program = assessor.command.first().and_then(|program| find(program));
        assessor.found = program.and_then(|path| Some(sha256_hex(&std::fs::read(path).ok()?)));
    }
}
