//! What is recorded in a state directory, for the surfaces of this process.

use crate::base::{SessionId, SessionKey, TurnNo, WallNs};
use crate::config::Config;
use crate::host::ancestry::{is_own, ourselves, proxy_above, refuse_agents};
use crate::host::clock::Clock;
use crate::host::watching::Line;
use crate::host::{console, desk, peer};
use crate::ledger::{
    Actor, Channel, Event, GrantEvent, Log, ParentShape, Record, SessionHeader, SessionRowShape, Who,
};
use crate::review::{Answer, Ask, Asked, DocketAsk, GrantItem, Problem, ProblemKind};
use crate::store::{GrantFile, Position, SessionOnDisk, StateDir, StoreError, replay};
use crate::surface::{Caller, Cursor, Doors, LogLine, Mark, Port, Watching};
use std::fs;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Bytes of what was seen beyond which it is not read.
const MOST_SEEN: u64 = 16 << 20;

/// The port of the command line: reads the files, and asks through the session's proxy where one lives.
#[derive(Debug)]
pub struct Recorded {
    state: Option<PathBuf>,
    config: Config,
    channel: Channel,
}

impl Recorded {
    /// Looks into a state directory, which may not exist yet.
    pub fn at(state: Option<PathBuf>, config: Config) -> Self {
        Self { state, config, channel: Channel::Cli }
    }

    /// Asks through another door than the command line.
    #[must_use]
    pub fn through(self, channel: Channel) -> Self {
        Self { channel, ..self }
    }

    /// Opens the state directory, when anything was ever recorded in it.
    fn open(&self) -> Result<Option<StateDir>, Problem> {
        match &self.state {
            Some(path) if path.is_dir() => StateDir::open(path).map(Some).map_err(trouble),
            Some(_) => Ok(None),
            None => {
                Err(Problem::new(ProblemKind::Config, "there is no state directory, so nothing is recorded")
                    .hint("set HOME, XDG_STATE_HOME or HUNKGATE_STATE_DIR, or give --state-dir"))
            }
        }
    }

    fn must_open(&self) -> Result<StateDir, Problem> {
        self.open()?.ok_or_else(|| Problem::new(ProblemKind::User, "nothing is recorded"))
    }
}

impl Port for Recorded {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        let Some(state) = self.open()? else { return Ok(Vec::new()) };
        let mut rows: Vec<_> = state.sessions().into_iter().map(|session| row(&state, session)).collect();
        link_children(&mut rows);
        Ok(rows)
    }

    fn ask(&self, session: &SessionKey, ask: Ask) -> Answer {
        self.ask_for(session, Who::Person, ask)
    }

    fn log(&self, session: &SessionKey, cursor: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        let state = self.must_open()?;
        let mut lines = read_lines(&state.session_ledger(session), Log::Session(session.clone()), cursor)?;
        let opening = state.session_opening(session).map(|record| record.event);
        let roots = if let Some(Event::SessionOpened(header)) = opening { header.roots } else { Vec::new() };
        for (root, _) in roots {
            lines.extend(read_lines(&state.root_dir(&root).join("chain.jsonl"), Log::Root(root), cursor)?);
        }
        // A line that cannot be read stays behind the one before it.
        let mut at = WallNs(0);
        let mut timed: Vec<_> = Vec::with_capacity(lines.len());
        for line in lines {
            at = line.record.as_ref().map_or(at, |record| record.at);
            timed.push((at, line));
        }
        timed.sort_by_key(|(at, _)| *at);
        Ok(timed.into_iter().map(|(_, line)| line).collect())
    }

    fn watch(&self, session: &SessionKey) -> Box<dyn Watching> {
        Box::new(Line::to(self.open().ok().flatten(), session.clone()))
    }

    fn grants(&self) -> Result<Vec<GrantItem>, Problem> {
        let Some(state) = self.open()? else { return Ok(Vec::new()) };
        let book = GrantFile::of(&state).read().map_err(trouble)?;
        let now = Clock::start().now().wall;
        let bad = book.bad().iter().map(GrantItem::of_line);
        let standing = book.rows().iter().filter(|row| row.revoked.is_none());
        Ok(bad.chain(standing.map(|row| GrantItem::of_row(row, now))).collect())
    }

    fn revoke(&self, grant: &str) -> Result<(), Problem> {
        let state = self.must_open()?;
        self.refuse_revoking(&state, grant)?;
        let event = GrantEvent::GrantRevoked { grant: grant.to_owned(), reason: "person".to_owned() };
        let now = Clock::start().now().wall;
        GrantFile::of(&state).append(now, |_| Ok(Some(event))).map_err(trouble)
    }

    fn seen(&self, session: &SessionKey) -> Option<String> {
        let place = self.open().ok()??.session_seen(session);
        let file = fs::File::open(place).ok()?;
        let mut text = String::new();
        file.take(MOST_SEEN).read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn keep_seen(&self, session: &SessionKey, text: &str) {
        let Ok(Some(state)) = self.open() else { return };
        let ours = i32::try_from(std::process::id()).unwrap_or_default();
        if proxy_above(&state, ours).is_none() {
            // It is a convenience: where it cannot be kept, what was seen is new once more.
            let _ = replace(&state.session_seen(session), text.as_bytes());
        }
    }

    fn delete(&self, session: &SessionKey) -> Result<(), Problem> {
        let state = self.must_open()?;
        refuse_agents(&state, "delete a session")?;
        if let Some(holder) = state.holder(session) {
            let problem =
                Problem::new(ProblemKind::Conflict, format!("process {} holds the session", holder.pid));
            return Err(problem.hint("end the agent first"));
        }
        state.delete_session(session).map(drop).map_err(trouble)
    }
}

impl Recorded {
    /// Refuses to revoke for a process that an agent started: its proxy refuses as well, and so records the attempt.
    fn refuse_revoking(&self, state: &StateDir, grant: &str) -> Result<(), Problem> {
        let Some(proxy) = proxy_above(state, ourselves()) else { return Ok(()) };
        let held =
            |row: &&SessionOnDisk| row.live.as_ref().is_some_and(|live| i32::try_from(live.pid) == Ok(proxy));
        if let Some(row) = state.sessions().iter().find(held) {
            self.ask(&row.key, Ask::Docket(DocketAsk::Revoke { grant: grant.to_owned() }));
        }
        refuse_agents(state, "revoke a standing permission")
    }
}

/// Puts a file of ours in the place of an older one, as a whole.
fn replace(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = place.with_extension(format!("{}.new", std::process::id()));
    let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&draft, place));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

impl Doors for Recorded {
    fn is_agents(&self, caller: Option<&Caller>) -> bool {
        let Ok(Some(state)) = self.open() else { return false };
        proxy_above(&state, ourselves()).is_some()
            || caller.is_some_and(|caller| peer::agents_hold(&state, caller))
    }

    fn is_own(&self, session: &SessionKey) -> bool {
        let Ok(Some(state)) = self.open() else { return false };
        is_own(&state, ourselves(), session)
    }

    fn ask_for(&self, session: &SessionKey, who: Who, ask: Ask) -> Answer {
        let actor = Actor { who, channel: self.channel };
        let asked = Asked { session: session.clone(), actor, may_decide: false, ask };
        match self.must_open() {
            Ok(state) => desk::ask(&state, &self.config, asked),
            Err(problem) => Answer::Problem(problem),
        }
    }

    fn announce(&self, address: Option<SocketAddr>) {
        if let Ok(Some(state)) = self.open() {
            console::announce(&state, address);
        }
    }
}

fn row(state: &StateDir, session: SessionOnDisk) -> SessionRowShape {
    let records = state.read_session(&session.key).map(|replay| replay.records).unwrap_or_default();
    let last_turn: Option<TurnNo> = records.iter().filter_map(turn_started).max();
    let header = session.header.unwrap_or_else(|why| unreadable(&session.key, &why));
    let parent = header
        .parent
        .map(|(session, call)| ParentShape { session_id: SessionId::new(session), tool_call_id: call });
    SessionRowShape {
        session_id: header.session,
        key: session.key,
        agent: header.agent.as_str().to_owned(),
        client: header.client,
        roots: header.roots.into_iter().map(|(_, path)| path).collect(),
        started: session.opened,
        last_turn,
        active: session.grew,
        unreviewed: None,
        // A command that holds it for a moment answers no other process.
        live: session.live.is_some_and(|holder| holder.socket.is_some()),
        parent,
        children: records.iter().filter_map(works_for_it).collect(),
    }
}

/// Returns the session that has no ledger of its own and works for the one whose ledger holds the record.
fn works_for_it(record: &Record) -> Option<SessionId> {
    if let Event::SessionJoined(member) = &record.event { Some(member.session.clone()) } else { None }
}

fn turn_started(record: &Record) -> Option<TurnNo> {
    if let Event::TurnStarted { turn } = &record.event { Some(*turn) } else { None }
}

/// Stands in for a header that is damaged: the session is listed under its name on disk.
fn unreadable(key: &SessionKey, why: &str) -> SessionHeader {
    SessionHeader {
        key: key.clone(),
        session: SessionId::new(key.as_str()),
        agent: crate::base::AgentId::new(format!("unreadable: {why}")),
        agent_version: None,
        client: None,
        protocol: 0,
        cwd: String::new(),
        roots: Vec::new(),
        parent: None,
    }
}

fn link_children(rows: &mut [SessionRowShape]) {
    let names: Vec<_> = rows.iter().map(|row| (row.key.clone(), row.session_id.clone())).collect();
    for parent in rows.iter_mut().filter_map(|row| row.parent.as_mut()) {
        // A header names its parent by the key.
        let named = names.iter().find(|(key, _)| key.as_str() == parent.session_id.as_str());
        if let Some((_, session)) = named {
            parent.session_id = session.clone();
        }
    }
    let links: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row.parent.as_ref()?.session_id.clone(), row.session_id.clone())))
        .collect();
    for row in rows {
        let own = links.iter().filter(|(parent, _)| *parent == row.session_id);
        row.children.extend(own.map(|(_, child)| child.clone()));
    }
}

/// Reads the whole lines of a journal behind the cursor; what was read before is not read again.
fn read_lines(path: &Path, log: Log, cursor: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
    let mark = cursor.entry(log.clone()).or_default();
    let bytes = match read_behind(path, mark) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(trouble(StoreError::io("read", path, error))),
    };
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        mark.lines += 1;
        mark.bytes += line.len() as u64;
        if mark.lines > mark.told {
            mark.told = mark.lines;
            if line.len() > 1 {
                lines.push(read_line(&log, mark.lines, line));
            }
        }
    }
    Ok(lines)
}

/// Reads what stands behind a mark; from the beginning where the file is shorter than that.
fn read_behind(path: &Path, mark: &mut Mark) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length < mark.bytes {
        (mark.lines, mark.bytes) = (0, 0);
    }
    if length > mark.bytes {
        file.seek(io::SeekFrom::Start(mark.bytes))?;
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn read_line(log: &Log, number: u64, line: &[u8]) -> LogLine {
    let mut found = replay(line, log, Position { lines: number - 1, ..Position::default() });
    let text = String::from_utf8_lossy(&line[..line.len() - 1]).into_owned();
    let record = match (found.records.pop(), found.unknown.pop(), found.skips.pop()) {
        (Some(record), ..) => Ok(record),
        (None, Some(unknown), _) => Err(format!("kind {}", unknown.kind)),
        (None, None, skip) => Err(skip.map_or_else(|| "empty".to_owned(), |skip| skip.reason)),
    };
    LogLine { log: log.clone(), line: number, text, record }
}

fn trouble(error: StoreError) -> Problem {
    Problem::new(ProblemKind::Internal, format!("failed to {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_from_where_it_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.jsonl");
        let log = || Log::Session(SessionKey::new("k"));
        let mut cursor = Cursor::default();
        let mut numbers = |text: &str| -> Vec<u64> {
            fs::write(&path, text).unwrap();
            let lines = read_lines(&path, log(), &mut cursor).unwrap();
            lines.iter().map(|line| line.line).collect()
        };
        assert_eq!(numbers("a\nb\nc"), [1, 2]);
        assert_eq!(numbers("a\nb\nc"), [] as [u64; 0]);
        assert_eq!(numbers("a\nb\ncc\n"), [3]);
        // A shorter one took its place: its lines beyond those that were told are new.
        assert_eq!(numbers("a\n"), [] as [u64; 0]);
        assert_eq!(numbers("a\nb\nc\nd\n"), [4]);
    }
}
