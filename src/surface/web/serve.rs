//! The listener on the loopback.

use super::door::Door;
use super::routes::{Connection, Shared, router};
use crate::review::{Link, Problem, ProblemKind};
use crate::surface::port::{Caller, Doors};
use axum::Router;
use axum::extract::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

/// Connections at a time; who comes beyond is not answered.
const MOST_CONNECTIONS: usize = 256;
/// How long the head of a request may take to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// How long a decision that is on its way gets when the console ends.
const LAST_WORK: Duration = Duration::from_secs(10);

/// A console that listens.
pub struct Console {
    listener: std::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    opened: Opened,
}

/// `hunkgate web --json`: where it is, and what opens it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opened {
    /// With a token that is good once.
    pub url: String,
    /// For `Authorization: Bearer`.
    pub bearer: String,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Console {
    /// Listens on the loopback, at `port` or any that is free; `first` is shown first.
    ///
    /// Refused to a process that an agent started.
    pub fn open(doors: Arc<dyn Doors>, port: u16, first: Option<Link>) -> Result<Self, Problem> {
        if doors.is_agents(None) {
            let message = "a process that an agent started may not open a console";
            return Err(Problem::new(ProblemKind::Conflict, message)
                .hint("`hunkgate mcp` is the door for agents that review"));
        }
        let bound = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = bound.map_err(|error| {
            Problem::new(ProblemKind::User, format!("failed to listen on 127.0.0.1:{port}: {error}"))
                .hint("another console may run there; --port 0 takes any port that is free")
        })?;
        let internal = |error: io::Error| Problem::new(ProblemKind::Internal, error.to_string());
        listener.set_nonblocking(true).map_err(internal)?;
        let address = listener.local_addr().map_err(internal)?;
        let drawn = Door::new(address.port());
        let (door, ticket) = drawn.map_err(|error| Problem::new(ProblemKind::Internal, error.to_string()))?;
        let hunk =
            first.as_ref().and_then(Link::hunk).map(|hunk| format!("&hunk={hunk}")).unwrap_or_default();
        let opened = Opened {
            url: format!("http://{address}/?token={ticket}{hunk}"),
            bearer: door.bearer().to_owned(),
        };
        let session = first.map(|link| link.session().as_str().to_owned());
        let shared = Arc::new(Shared::new(doors, door, session));
        Ok(Self { listener, address, shared, opened })
    }

    /// Returns what opens it.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Serves until the process is asked to end.
    pub fn run(self) -> io::Result<()> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(16)
            .enable_all()
            .build()?;
        let doors = Arc::clone(&self.shared.doors);
        doors.announce(Some(self.address));
        let ended = threads.block_on(self.serve());
        doors.announce(None);
        threads.shutdown_timeout(LAST_WORK);
        ended
    }

    async fn serve(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let (mut int, mut term, mut hup) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        let router = router(self.shared);
        let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = int.recv() => return Ok(()),
                _ = term.recv() => return Ok(()),
                _ = hup.recv() => return Ok(()),
            };
            let Ok((stream, theirs)) = accepted else {
                // Out of descriptors, most likely: some come free.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
            let caller = Caller { theirs, ours: self.address };
            let router = router.clone();
            tokio::spawn(async move {
                answer(stream, caller, router).await;
                drop(slot);
            });
        }
    }
}

async fn answer(stream: TcpStream, caller: Caller, router: Router) {
    // A small answer must not wait for the next one.
    let _ = stream.set_nodelay(true);
    let line = Arc::new(Connection { caller, agents: OnceLock::new() });
    let service = TowerToHyperService::new(router.layer(Extension(line)));
    // How a connection ends is its other end's matter.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
