//! What every surface is attached to.

use crate::base::SessionKey;
use crate::config::Written;
use crate::ledger::{Log, Record, SessionRowShape, Who};
use crate::review::{Answer, Ask, GrantItem, Problem, ProblemKind};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The far end of every surface: in process, over a proxy's socket, or on the files.
pub trait Port {
    /// Lists the sessions, the one that was active last first.
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem>;

    /// Carries an ask out.
    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer;

    /// Reads the session's ledger and the chains of its roots from `cursor` on, in the order of time, and moves the cursor.
    fn log(&self, session: &SessionKey, cursor: &mut Cursor) -> Result<Vec<LogLine>, Problem>;

    /// Watches a session from now on, until what is returned is dropped.
    fn watch(&self, session: &SessionKey) -> Box<dyn Watching> {
        let _ = session;
        Box::new(Glances)
    }

    /// Lists the permissions that outlive sessions, and the lines of their file that cannot be used.
    fn grants(&self) -> Result<Vec<GrantItem>, Problem> {
        Ok(Vec::new())
    }

    /// Takes one of them back, by its whole id.
    fn revoke(&self, grant: &str) -> Result<(), Problem> {
        Err(Problem::new(ProblemKind::User, format!("no standing permission is called {grant}")))
    }

    /// Returns what a surface kept of what the person has seen of a session.
    fn seen(&self, session: &SessionKey) -> Option<String> {
        let _ = session;
        None
    }

    /// Keeps what the person has seen of a session; where that cannot be, it is seen again.
    fn keep_seen(&self, session: &SessionKey, text: &str) {
        let _ = (session, text);
    }

    /// Deletes a session: its journal, its pins and its notes.
    fn delete(&self, session: &SessionKey) -> Result<(), Problem>;
}

/// That somebody watches a session: as long as it is kept, the session's proxy looks as often as a person needs.
pub trait Watching: Send {
    /// Waits until the journals may have grown, at most so long.
    fn wait(&mut self, at_most: Duration);
}

/// Watching where nobody can be told of it: a look now and then.
struct Glances;

impl Watching for Glances {
    fn wait(&mut self, at_most: Duration) {
        std::thread::sleep(at_most);
    }
}

/// A port whose host can tell who stands at a door, and speaks for others than the person.
pub trait Doors: Port + Send + Sync {
    /// Says whether an agent started the process that asks, or this one: it may not decide.
    fn is_agents(&self, caller: Option<&Caller>) -> bool;

    /// Says whether an agent that works in the session, or beneath it, started this process.
    fn is_own(&self, session: &SessionKey) -> bool;

    /// Carries an ask out for somebody who need not be the person.
    fn ask_for(&self, session: &SessionKey, who: Who, ask: Ask) -> Answer;

    /// Makes it known where the console listens, or that it no longer does.
    fn announce(&self, address: Option<SocketAddr>);
}

/// The two ends of a connection over the loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// The other end.
    pub theirs: SocketAddr,
    /// Ours.
    pub ours: SocketAddr,
}

/// How far each log was read.
pub type Cursor = std::collections::BTreeMap<Log, Mark>;

/// How far one log was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Whole lines before the place that was reached.
    pub lines: u64,
    /// The bytes that hold them.
    pub bytes: u64,
    /// The last line that was told; more than `lines` where a shorter file took the place of the one that was read.
    pub told: u64,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The journal it stands in.
    pub log: Log,
    /// 1-based.
    pub line: u64,
    /// The line as it stands, without its terminator.
    pub text: String,
    /// What it says, or why it cannot be read.
    pub record: Result<Record, String>,
}

/// How an agent is to be wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The agent's command and its arguments; empty for an element of a proxy chain.
    pub agent: Vec<OsString>,
    /// What the person's configuration says, when there is one.
    pub config: Option<Written>,
    /// Where it stands, or would stand: looked at again while the agent runs.
    pub config_file: Option<PathBuf>,
    /// Where to write a transcript.
    pub record: Option<PathBuf>,
    /// Where to log.
    pub log_file: Option<PathBuf>,
    /// Where journals and objects live; `None`: nothing can be recorded.
    pub state: Option<PathBuf>,
}
