//! Asks of other processes: one JSON-RPC object a line over a local socket.

use crate::base::{ProxyId, SessionKey};
use crate::config::McpMay;
use crate::engine::{Input, Notice};
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
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Bytes of one request.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Bytes of an answer that are read at a time.
const PIECE: usize = 64 * 1024;
/// How long an ask may take: a first look at a large tree is the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long nobody is let in when nobody can be.
const PAUSE: Duration = Duration::from_millis(50);

/// How often it is looked whether who watches is still there.
const GLANCE: Duration = Duration::from_millis(500);

static NEXT_WATCHER: AtomicU64 = AtomicU64::new(0);

/// How often it is looked whether a socket's file is still there.
const ROUND: Duration = Duration::from_secs(1);

/// A socket that is listened on. Its file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    over: Arc<AtomicBool>,
}

impl Socket {
    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Where a proxy's socket is to be, and what answers there.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    /// The state directory.
    pub(crate) state: StateDir,
    /// The proxy.
    pub(crate) proxy: ProxyId,
    /// Where the socket is when its path in the state directory would be too long.
    pub(crate) runtime: PathBuf,
    /// What an agent may that reviews over MCP.
    pub(crate) may: Arc<BTreeSet<McpMay>>,
    /// Where asks are put.
    pub(crate) inbox: Inbox,
}

impl Door {
    /// Starts to answer, and goes on when the socket's file is removed: it is made again then, and said.
    pub(crate) fn open(self) -> Result<Socket, String> {
        let mut bound = self.bind()?;
        remove_dead(bound.path.parent());
        let socket = Socket { path: bound.path.clone(), over: Arc::default() };
        let over = Arc::clone(&socket.over);
        let work = move || {
            let mut failing = None;
            while !over.load(Ordering::Relaxed) {
                bound.accept(ROUND, &self);
                if !bound.is_removed() || over.load(Ordering::Relaxed) {
                    continue;
                }
                let stands = self.bind().map(|again| bound = again);
                if failing.as_ref() != Some(&stands) {
                    let input = Input::DoorMoved { session: None, stands: stands.clone() };
                    self.inbox.put(Event::Came(Box::new(input)));
                }
                failing = Some(stands).filter(Result::is_err);
            }
        };
        let started = std::thread::Builder::new().name("socket".into()).spawn(work);
        started.map(|_| socket).map_err(|error| format!("cannot start a thread: {error}"))
    }

    fn bind(&self) -> Result<Bound, String> {
        let path = self.state.socket_path(&self.proxy, &self.runtime).map_err(|error| error.to_string())?;
        Bound::at(path.clone()).map_err(|error| format!("failed to listen at {}: {error}", path.display()))
    }
}

/// A socket that others can find.
struct Bound {
    path: PathBuf,
    listener: UnixListener,
    node: Node,
}

impl Bound {
    fn at(path: PathBuf) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let node = Node::at(&path)?;
        Ok(Self { path, listener, node })
    }

    fn is_removed(&self) -> bool {
        self.node.is_removed(&self.path)
    }

    /// Answers whoever comes first, where somebody does soon enough.
    fn accept(&self, at_most: Duration, door: &Door) {
        let patience = Timespec::try_from(at_most).ok();
        if !poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], patience.as_ref()).is_ok_and(|it| it > 0)
        {
            return;
        }
        match self.listener.accept().and_then(|(stream, _)| stream.set_nonblocking(false).map(|()| stream)) {
            Ok(stream) => {
                let (state, may) = (door.state.clone(), Arc::clone(&door.may));
                let server = Server { state, may, inbox: door.inbox.clone() };
                // A thread that cannot be started costs this connection, which is closed.
                let _ = std::thread::Builder::new().name("asker".into()).spawn(move || server.serve(&stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // There may be no descriptor for it: whoever waits, waits a moment longer.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// The file of a socket, by which it is seen that it was removed. One that was moved is whoever moved it to put back.
#[cfg(target_os = "linux")]
struct Node(std::fs::File);

#[cfg(target_os = "linux")]
impl Node {
    fn at(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, open};
        Ok(Self(open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?.into()))
    }

    fn is_removed(&self, _path: &Path) -> bool {
        self.0.metadata().is_ok_and(|meta| meta.nlink() == 0)
    }
}

/// The same where a socket cannot be held open by its name.
#[cfg(not(target_os = "linux"))]
struct Node;

#[cfg(not(target_os = "linux"))]
impl Node {
    fn at(_path: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    fn is_removed(&self, path: &Path) -> bool {
        path.parent().is_some_and(Path::is_dir) && path.symlink_metadata().is_err()
    }
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
    fn a_socket_whose_directory_is_removed_is_there_again_and_said() {
        let dir = tempfile::tempdir().expect("a directory");
        let runtime = dir.path().join("runtime");
        let state = StateDir::open(dir.path().join("x".repeat(90))).expect("a state directory");
        let (sender, events) = channel();
        let (may, inbox) = (Arc::default(), Inbox::new(sender));
        let door = Door { state, proxy: ProxyId::new("p"), runtime: runtime.clone(), may, inbox };
        let socket = door.open().expect("a socket");
        assert!(socket.path().starts_with(&runtime) && UnixStream::connect(socket.path()).is_ok());
        std::fs::remove_dir_all(&runtime).expect("removed");
        let Ok(Event::Came(came)) = events.recv() else { panic!("nothing is said") };
        assert!(matches!(*came, Input::DoorMoved { session: None, stands: Ok(()) }));
        assert!(UnixStream::connect(socket.path()).is_ok());
        let path = socket.path().to_owned();
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_that_was_moved_is_not_made_again_and_one_that_cannot_be_is_said_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let (top, aside) = (dir.path().join("state"), dir.path().join("aside"));
        let state = StateDir::open(&top).expect("a state directory");
        let (sender, events) = channel();
        let (may, inbox) = (Arc::default(), Inbox::new(sender));
        let door = Door { state, proxy: ProxyId::new("p"), runtime: dir.path().to_owned(), may, inbox };
        let socket = door.open().expect("a socket");
        std::fs::rename(&top, &aside).expect("moved");
        let moved = aside.join(socket.path().strip_prefix(&top).expect("beneath it"));
        assert!(UnixStream::connect(&moved).is_ok());
        assert!(events.recv_timeout(ROUND * 2).is_err() && !top.exists());
        std::fs::write(&top, "no directory").expect("written");
        std::fs::remove_file(&moved).expect("removed");
        let Ok(Event::Came(came)) = events.recv() else { panic!("nothing is said") };
        assert!(matches!(*came, Input::DoorMoved { session: None, stands: Err(_) }));
        assert!(events.recv_timeout(ROUND * 2).is_err(), "it is said again");
        std::fs::remove_file(&top).expect("removed");
        let Ok(Event::Came(came)) = events.recv() else { panic!("nothing is said") };
        assert!(matches!(*came, Input::DoorMoved { session: None, stands: Ok(()) }));
    }

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
