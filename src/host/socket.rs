//! Asks of other processes: one JSON-RPC object a line over a local socket.

use crate::base::SessionKey;
use crate::config::McpMay;
use crate::engine::Notice;
use crate::host::ancestry::may_decide;
use crate::host::event::{Event, Inbox, WatcherId};
use crate::host::rpc::{self, Call};
use crate::review::{Answer, Asked, Problem, ProblemKind};
use crate::store::StateDir;
use crate::surface::Asking;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Bytes of one request.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Bytes of an answer that are read at a time.
const PIECE: usize = 64 * 1024;
/// How long an ask may take: a first look at a large tree is the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is looked whether who watches is still there.
const GLANCE: Duration = Duration::from_millis(500);

static NEXT_WATCHER: AtomicU64 = AtomicU64::new(0);

/// A socket that is listened on. Its file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Socket(PathBuf);

impl Socket {
    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Starts to answer at `path`.
pub(crate) fn listen(
    path: &Path,
    (state, may): (StateDir, BTreeSet<McpMay>),
    inbox: Inbox,
) -> io::Result<Socket> {
    let may = Arc::new(may);
    remove_dead(path.parent());
    let listener = UnixListener::bind(path)?;
    let socket = Socket(path.to_owned());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    std::thread::Builder::new().name("socket".into()).spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let server = Server { state: state.clone(), may: Arc::clone(&may), inbox: inbox.clone() };
            // A thread that cannot be started costs this connection, which is closed.
            let _ = std::thread::Builder::new().name("asker".into()).spawn(move || server.serve(&stream));
        }
    })?;
    Ok(socket)
}

/// Removes the sockets of proxies that were killed.
fn remove_dead(dir: Option<&Path>) {
    let Some(entries) = dir.and_then(|dir| std::fs::read_dir(dir).ok()) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let age = path.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        // A young one may be about to listen.
        let dead = age.is_some_and(|age| age > Duration::from_secs(60))
            && path.extension().is_some_and(|extension| extension == "sock")
            && UnixStream::connect(&path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if dead {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Asks the proxy that listens at `path`.
pub(crate) fn ask(path: &Path, asked: &Asked) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE + Duration::from_secs(10)))?;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "ask", "params": asked });
    stream.write_all(format!("{request}\n").as_bytes())?;
    // Never held as a whole: a listing is megabytes, and what it says is held, too.
    let mut read = serde_json::Deserializer::from_reader(BufReader::with_capacity(PIECE, stream));
    let response = Response::deserialize(&mut read)?;
    Ok(response.result.unwrap_or_else(|| {
        let message = response.error.map(|error| error.message);
        let message = message.unwrap_or_else(|| "the proxy gave no answer".to_owned());
        Answer::Problem(Problem::new(ProblemKind::Internal, message))
    }))
}

/// What comes back to an ask.
#[derive(Deserialize)]
struct Response {
    result: Option<Answer>,
    error: Option<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    message: String,
}

/// One connection.
struct Server {
    state: StateDir,
    /// What an agent may that reviews over MCP.
    may: Arc<BTreeSet<McpMay>>,
    inbox: Inbox,
}

/// Who is at the other end: a process of ours, where the system tells which.
#[derive(Clone, Copy)]
struct Peer(Option<i32>);

impl Server {
    fn serve(&self, stream: &UnixStream) {
        let Some(peer) = self.admits(stream) else { return };
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while let Ok(1..) = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            if line.last() != Some(&b'\n') {
                return;
            }
            if self.answer(&line, peer, stream).is_err() {
                return;
            }
            line.clear();
        }
    }

    /// Looks at who is there: `None` for another user.
    fn admits(&self, stream: &UnixStream) -> Option<Peer> {
        let (user, pid) = peer_of(stream)?;
        (user == rustix::process::getuid().as_raw()).then_some(Peer(pid))
    }

    /// Says whether a peer may decide what it asks.
    fn may_decide(&self, Peer(pid): Peer, asked: &Asked) -> bool {
        pid.is_none_or(|pid| may_decide(&self.state, &self.may, pid, asked))
    }

    fn answer(&self, line: &[u8], peer: Peer, mut stream: &UnixStream) -> io::Result<()> {
        let (id, call) = rpc::read(line);
        let mut response = match call {
            Ok(Call::Watch) => return self.watch(&rpc::result(&id, &json!({}))?, stream),
            Ok(Call::Ask(mut asked)) => {
                asked.may_decide = self.may_decide(peer, &asked);
                rpc::result(&id, &self.put(*asked))?
            }
            Ok(Call::Review(asking)) => match self.review(&asking, peer) {
                Ok(result) => rpc::result(&id, &result)?,
                Err(problem) => rpc::error(&id, &problem),
            },
            Err(problem) => rpc::error(&id, &problem),
        };
        response.push('\n');
        // In one piece: formatted into the socket it would be a system call for each token.
        stream.write_all(response.as_bytes())
    }

    fn review(&self, asking: &Asking, peer: Peer) -> Result<Value, Problem> {
        let session = self.session(&asking.session_id)?;
        let mut asked = asking.asked(session, false)?;
        asked.may_decide = self.may_decide(peer, &asked);
        asking.result(self.put(asked))
    }

    /// Finds the session of a raw id, of those that this process holds.
    fn session(&self, id: &str) -> Result<SessionKey, Problem> {
        let ours = std::process::id();
        let held = self
            .state
            .sessions()
            .into_iter()
            .filter(|session| session.live.as_ref().is_some_and(|holder| holder.pid == ours));
        held.into_iter()
            .find(|session| {
                session.key.as_str() == id
                    || session.header.as_ref().is_ok_and(|header| header.session.as_str() == id)
            })
            .map(|session| session.key)
            .ok_or_else(|| Problem::new(ProblemKind::User, format!("this proxy holds no session {id}")))
    }

    fn put(&self, asked: Asked) -> Answer {
        let (reply, answer) = channel();
        self.inbox.put(Event::Asked { asked: Box::new(asked), reply });
        answer.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            Answer::Problem(Problem::new(ProblemKind::Internal, "the proxy did not answer in time"))
        })
    }

    /// Tells what moves once `answer` is there, until the other side goes away.
    fn watch(&self, answer: &str, mut stream: &UnixStream) -> io::Result<()> {
        let (sender, notices) = channel();
        let watcher = WatcherId(NEXT_WATCHER.fetch_add(1, Ordering::Relaxed));
        self.inbox.put(Event::Watch { watcher, notices: sender });
        let told = writeln!(stream, "{answer}").and_then(|()| self.tell(&notices, stream));
        self.inbox.put(Event::Unwatch(watcher));
        told
    }

    fn tell(&self, notices: &Receiver<Notice>, mut stream: &UnixStream) -> io::Result<()> {
        loop {
            let notice = match notices.recv_timeout(GLANCE) {
                Ok(notice) => notice,
                Err(RecvTimeoutError::Timeout) if is_there(stream) => continue,
                Err(_) => return Ok(()),
            };
            let (method, session, more) = match notice {
                Notice::ReviewChanged { session, reason } => {
                    ("review_changed", session, json!({ "reason": reason }))
                }
                Notice::Gate { session, held } => {
                    let (tool, path) = held.as_ref().map(|held| (&held.tool, &held.path)).unzip();
                    let root = held.as_ref().and_then(|held| held.root.as_ref());
                    let more = json!({ "blocked": held.is_some(), "tool": tool, "path": path, "root": root });
                    ("review_gate", session, more)
                }
            };
            let id = self.state.sessions().into_iter().find(|known| known.key == session);
            let id = id.and_then(|known| known.header.ok()).map(|header| header.session);
            let mut params = json!({ "session_id": id, "session": session });
            if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
                params.extend(more);
            }
            writeln!(stream, "{}", json!({ "jsonrpc": "2.0", "method": method, "params": params }))?;
        }
    }
}

/// Says whether anybody is still at the other end, also who has nothing more to say.
fn is_there(stream: &UnixStream) -> bool {
    let mut ends = [PollFd::new(stream, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR;
    poll(&mut ends, Some(&Timespec::default())).is_err() || !ends[0].revents().intersects(gone)
}

/// Returns the user and, where the system tells it, the process at the other end.
#[cfg(target_os = "linux")]
fn peer_of(stream: &UnixStream) -> Option<(u32, Option<i32>)> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some((peer.uid.as_raw(), Some(peer.pid.as_raw_nonzero().get())))
}

/// The directory is its owner's only; who of them it is cannot be told here.
#[cfg(not(target_os = "linux"))]
fn peer_of(_stream: &UnixStream) -> Option<(u32, Option<i32>)> {
    Some((rustix::process::getuid().as_raw(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_nothing_more_to_say_still_watches_and_who_left_does_not() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        assert!(is_there(&ours));
        theirs.shutdown(std::net::Shutdown::Write).expect("possible");
        assert!(is_there(&ours));
        drop(theirs);
        assert!(!is_there(&ours));
    }
}
