//! The sessions of one connection.

use crate::base::{RepoPath, RootId, Roots, SessionId, SessionKey};
use crate::session::{ActiveTurn, Answers, Calls, Turns};
use crate::wire::IdToken;
use std::collections::BTreeMap;

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The id the peer chose.
    pub id: SessionId,
    /// Its name on disk.
    pub key: SessionKey,
    /// Its `cwd`, as sent.
    pub cwd: String,
    /// Its additional directories, as sent.
    pub directories: Vec<String>,
    /// Its directories as sent, beside where they really are: a link in a path must not hide a root.
    pub aliases: Vec<(String, Vec<u8>)>,
    /// Whether it is recorded, and beneath which roots.
    pub recording: Recording,
    /// Where its turns stand.
    pub turns: Turns,
    /// Its calls.
    pub calls: Calls,
    /// Whether history is being replayed.
    pub replay: Replay,
    /// Its mode, as the agent calls it.
    pub mode: Option<String>,
    /// The session that it works for.
    pub parent: Option<SessionId>,
    /// The session in whose turns and journal it is recorded, where that is not itself.
    pub principal: Option<SessionId>,
    /// Whether it was taken up from its journal, for a command without a proxy.
    pub adopted: bool,
    /// Whether the agent has sent its commands.
    pub commands_seen: bool,
    /// The name under which our command is advertised in this session; `None` = as it is configured.
    pub command: Option<String>,
    /// What the client makes of our questions.
    pub answers: Answers,
}

/// Whether a session is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Recording {
    /// Its roots are being opened.
    Opening,
    /// It is, beneath these roots.
    On(Vec<TrackedRoot>),
    /// It is not, and why.
    Off(String),
}

/// A root of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackedRoot {
    /// The root.
    pub root: RootId,
    /// Its canonical absolute path.
    pub top: Vec<u8>,
    /// `git` or `plain`.
    pub kind: &'static str,
    /// `watch`, `hybrid` or `walk`.
    pub observing: &'static str,
}

/// Whether history is being replayed: then nothing that the agent shows is new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// No.
    #[default]
    No,
    /// Until this request is answered (v2: until `replay_complete`).
    Until(IdToken),
}

impl Session {
    /// Makes a session of which only its opening is known.
    pub fn new(id: SessionId, key: SessionKey, cwd: String, directories: Vec<String>) -> Self {
        Self {
            id,
            key,
            cwd,
            directories,
            aliases: Vec::new(),
            recording: Recording::Opening,
            turns: Turns::default(),
            calls: Calls::default(),
            replay: Replay::No,
            mode: None,
            parent: None,
            principal: None,
            adopted: false,
            commands_seen: false,
            command: None,
            answers: Answers::default(),
        }
    }

    /// Returns the roots; none while it is not recorded.
    pub fn roots(&self) -> &[TrackedRoot] {
        match &self.recording {
            Recording::On(roots) => roots,
            Recording::Opening | Recording::Off(_) => &[],
        }
    }

    /// Returns the root that holds a path as an agent writes it: absolute, or relative to the session's `cwd`. `Err` holds
    /// the absolute path of one that lies outside every root.
    pub fn locate(&self, path: &str) -> Result<(RootId, RepoPath), String> {
        let absolute = absolute(&self.cwd, path);
        let mut roots = Roots::default();
        for root in self.roots() {
            roots.add(root.root.clone(), root.top.clone());
        }
        let found = roots.locate(absolute.as_bytes()).or_else(|| roots.locate(&self.resolve(&absolute)?));
        match found {
            Some((root, path)) => Ok((root.clone(), path)),
            None => Err(absolute),
        }
    }

    /// Replaces the directory that the path was written beneath by where it really is.
    fn resolve(&self, absolute: &str) -> Option<Vec<u8>> {
        self.aliases.iter().find_map(|(sent, real)| {
            let rest = absolute.strip_prefix(sent.trim_end_matches('/'))?;
            rest.starts_with('/').then(|| [real.as_slice(), rest.as_bytes()].concat())
        })
    }

    /// Returns whether a turn is under way, for a call that is seen now.
    pub fn active_turn(&self) -> ActiveTurn {
        self.turns.current().map_or(ActiveTurn::None, |turn| ActiveTurn::Some(turn.number))
    }
}

/// Joins and tidies a path as text: no `.`, no `..`, no doubled slash. Reads no file system.
fn absolute(cwd: &str, path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The sessions of one connection, by the id the peer chose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registry {
    sessions: BTreeMap<SessionId, Session>,
}

impl Registry {
    /// Adds a session; one that is known stays as it is, with new directories.
    pub fn open(&mut self, session: Session) -> &mut Session {
        let id = session.id.clone();
        let known = self.sessions.entry(id).or_insert_with(|| session.clone());
        if !session.cwd.is_empty() {
            known.cwd = session.cwd;
            known.directories = session.directories;
        }
        known
    }

    /// Returns a session.
    pub fn get(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// Returns a session, to change it.
    pub fn get_mut(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(id)
    }

    /// Returns a session by its name on disk.
    pub fn by_key(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.values().find(|session| session.key == *key)
    }

    /// Removes a session that ended.
    pub fn remove(&mut self, id: &SessionId) -> Option<Session> {
        self.sessions.remove(id)
    }

    /// Returns all sessions.
    pub fn iter(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::AgentId;

    fn session() -> Session {
        let id = SessionId::new("s");
        let key = SessionKey::derive(&AgentId::new("a"), &id);
        let mut session = Session::new(id, key, "/w/sub".into(), Vec::new());
        session.recording = Recording::On(vec![TrackedRoot {
            root: RootId::new("r"),
            top: b"/w".to_vec(),
            kind: "git",
            observing: "walk",
        }]);
        session
    }

    #[test]
    fn a_path_is_found_beneath_its_root_however_the_agent_writes_it() {
        for written in ["/w/sub/a", "a", "./a", "../sub/a", "/w//sub/./a", "file:///w/sub/a"] {
            let found = session().locate(written).map(|(_, path)| path.to_string());
            assert_eq!(found.as_deref(), Ok("sub/a"), "{written}");
        }
        assert_eq!(session().locate("../../etc/x"), Err("/etc/x".into()));
    }
}
