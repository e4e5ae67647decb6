//! Watching a session from another process: a line to its proxy, which looks more often as long as one is held.

use crate::base::SessionKey;
use crate::store::StateDir;
use crate::surface::Watching;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a proxy is looked for where none holds the session.
const AGAIN: Duration = Duration::from_secs(1);
/// What belongs to one burst comes within so long.
const LULL: Duration = Duration::from_millis(3);

/// A line to whichever proxy holds a session.
pub(crate) struct Line {
    state: Option<StateDir>,
    session: SessionKey,
    stream: Option<UnixStream>,
    next: Instant,
}

impl Line {
    /// Watches from now on, where a proxy holds the session now or later.
    pub(crate) fn to(state: Option<StateDir>, session: SessionKey) -> Self {
        let mut line = Self { state, session, stream: None, next: Instant::now() };
        line.call();
        line
    }

    /// Calls the proxy, when it is time to.
    fn call(&mut self) {
        if self.stream.is_none() && Instant::now() >= self.next {
            self.next = Instant::now() + AGAIN;
            let holder = self.state.as_ref().and_then(|state| state.holder(&self.session));
            self.stream = holder.and_then(|holder| holder.socket).and_then(|socket| connect(&socket));
        }
    }
}

impl Watching for Line {
    fn wait(&mut self, at_most: Duration) {
        self.call();
        let Some(stream) = &mut self.stream else { return std::thread::sleep(at_most) };
        match has_news(stream, at_most) {
            Some(false) => {}
            Some(true) => {
                std::thread::sleep(LULL);
                if !drain(stream) {
                    self.stream = None;
                }
            }
            None => {
                self.stream = None;
                std::thread::sleep(at_most);
            }
        }
    }
}

fn connect(socket: &Path) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"watch\"}\n").ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Waits for the other side to say something; `None` when it cannot be waited for.
fn has_news(stream: &UnixStream, at_most: Duration) -> Option<bool> {
    let patience = Timespec::try_from(at_most).ok()?;
    match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&patience)) {
        Ok(ready) => Some(ready > 0),
        Err(rustix::io::Errno::INTR) => Some(false),
        Err(_) => None,
    }
}

/// Reads what there is: what moved is read in the journals. False when the other side is gone.
fn drain(stream: &mut UnixStream) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> (Line, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        ours.set_nonblocking(true).expect("possible");
        let next = Instant::now() + Duration::from_secs(600);
        (Line { state: None, session: SessionKey::new("k"), stream: Some(ours), next }, theirs)
    }

    #[test]
    fn news_end_the_wait_and_are_taken() {
        let (mut line, mut proxy) = line();
        proxy.write_all(b"{}\n{}\n").expect("written");
        let begun = Instant::now();
        line.wait(Duration::from_secs(600));
        assert!(begun.elapsed() < Duration::from_secs(60));
        let stream = line.stream.as_mut().expect("still there");
        assert_eq!(has_news(stream, Duration::ZERO), Some(false));
    }

    #[test]
    fn a_proxy_that_ends_is_watched_no_longer() {
        let (mut line, proxy) = line();
        drop(proxy);
        line.wait(Duration::from_millis(1));
        assert!(line.stream.is_none());
    }
}
