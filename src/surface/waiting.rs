//! A port that tells a waiting person how long it has been.

use super::port::{Cursor, LogLine, Port, Watching};
use crate::base::SessionKey;
use crate::ledger::SessionRowShape;
use crate::review::{Answer, Ask, GrantItem, Problem};
use std::io::{self, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long nothing is said, and how often something is said then.
const BEAT: Duration = Duration::from_secs(1);

/// Another port, with a person who waits at the terminal behind stderr.
pub(super) struct Waiting<'p> {
    pub(super) port: &'p dyn Port,
}

impl Port for Waiting<'_> {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        self.port.sessions()
    }

    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer {
        let ticker = Ticker::start();
        let answer = self.port.ask(session, ask);
        drop(ticker);
        answer
    }

    fn log(&self, session: &SessionKey, cursor: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        self.port.log(session, cursor)
    }

    fn watch(&self, session: &SessionKey) -> Box<dyn Watching> {
        self.port.watch(session)
    }

    fn grants(&self) -> Result<Vec<GrantItem>, Problem> {
        self.port.grants()
    }

    fn revoke(&self, grant: &str) -> Result<(), Problem> {
        self.port.revoke(grant)
    }

    fn delete(&self, session: &SessionKey) -> Result<(), Problem> {
        self.port.delete(session)
    }
}

/// Says every second how long it has been. What it wrote is gone when it is dropped.
struct Ticker(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticker {
    fn start() -> Self {
        let (done, waits) = channel();
        let begun = Instant::now();
        let tick = move || {
            let mut written = false;
            while let Err(RecvTimeoutError::Timeout) = waits.recv_timeout(BEAT) {
                written = true;
                let text = format!("\r\u{1b}[2Klooking at the changes, {} s", begun.elapsed().as_secs());
                let _ = io::stderr().write_all(text.as_bytes());
            }
            if written {
                let _ = io::stderr().write_all(b"\r\x1b[2K");
            }
        };
        // Without a thread for it nothing is said, which is no harm.
        let thread = std::thread::Builder::new().name("ticker".to_owned()).spawn(tick);
        Self(thread.ok().map(|thread| (done, thread)))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}
