//! What of a session is not recorded as it should be: said once in the conversation, at the end of the turn in which it begins;
//! so is what began and ended in between, and that something is over of which the person was told.

use crate::base::{RootId, SessionId, SessionKey, WallNs};
use crate::config::AtTurnEnd;
use crate::engine::reload::PROJECT_FILE;
use crate::engine::{Durability, Engine, Level};
use crate::ledger::{DegradedShape, Event, ListingShape, Log, Record};
use crate::review;
use crate::session::Recording;
use std::collections::BTreeMap;

/// What a fault is of. While it lasts it is said once, whatever its reasons.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Nothing of the session is recorded.
    Session,
    /// A directory of the session is not tracked.
    Directory(String),
    /// The session's ledger was removed, and was written again.
    Ledger,
    /// What commands in a terminal find the session by.
    Door,
    /// The person's configuration: what stands there cannot be used.
    Configuration,
    /// A root's own configuration, by the root's path: it is not in force as it stands there.
    Project(String),
    /// A root, by its path: it cannot be looked at, or what is recorded of it cannot be trusted or written.
    Root(String),
}

/// The faults of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// Directories without a record, and why.
    untracked: BTreeMap<String, String>,
    /// What was met since a turn last ended, over or not.
    met: BTreeMap<Fault, String>,
    /// What the person was told of, and is not known to be over.
    said: BTreeMap<Fault, String>,
}

/// A log to which nothing can be appended at present.
#[derive(Clone, Debug)]
pub(super) struct Unwritten {
    reason: String,
    since: WallNs,
}

impl Engine {
    /// Names the directories of a session that are not tracked.
    pub(super) fn untracked(&mut self, id: &SessionId, directories: BTreeMap<String, String>) {
        self.faults.entry(id.clone()).or_default().untracked = directories;
    }

    /// A look at a root failed.
    pub(super) fn look_failed(&mut self, root: &RootId, reason: &str) {
        self.met(&Log::Root(root.clone()), &format!("a look at it failed: {reason}"));
    }

    /// An append failed.
    pub(super) fn append_failed(&mut self, log: &Log, record: &Record, reason: &str) {
        let since = self.now.wall;
        let known = self.unwritten.entry(log.clone());
        known.or_insert_with(|| Unwritten { reason: reason.to_owned(), since });
        self.say(Level::Warn, format!("recording is incomplete: {reason}"));
        self.met(log, &unwritten(reason));
        if let Log::Session(session) = log {
            self.unsure.take_back(&mut self.ledger, session, record);
            self.unrecorded_answers(session, reason);
            if let Event::Approval(approval) = &record.event {
                self.decision_unwritten(approval);
            }
        }
    }

    /// The ledger of a session was removed, and all of it was written again.
    pub(super) fn written_again(&mut self, key: SessionKey) {
        const WHAT: &str =
            "the record of this session was removed from the state directory, and was written there again";
        self.say(Level::Warn, WHAT.to_owned());
        for (id, key) in self.concerned(&Log::Session(key)) {
            self.faults.entry(id).or_default().met.insert(Fault::Ledger, WHAT.to_owned());
            let event = Event::Noticed { topic: "removed".into(), path: None, text: WHAT.to_owned() };
            self.record(Log::Session(key), event, Durability::Written);
        }
    }

    /// What commands in a terminal find a session (or all of them) by was removed, and stands again or does not.
    pub(super) fn door_moved(&mut self, key: Option<SessionKey>, stands: Result<(), String>) {
        const WHAT: &str = "what commands in a terminal find this session by was removed from the disk, and was made there again";
        if let Err(reason) = stands {
            self.say(Level::Warn, Fault::Door.told(&reason));
            self.shut.insert(key, reason);
            return;
        }
        self.shut.remove(&key);
        self.say(Level::Warn, WHAT.to_owned());
        let own = self.sessions.iter().filter(|it| it.principal.is_none() && !it.adopted);
        let mine = own.filter(|it| key.as_ref().is_none_or(|key| it.key == *key));
        let mine: Vec<_> = mine.map(|it| (it.id.clone(), it.key.clone())).collect();
        for (id, key) in mine {
            self.faults.entry(id).or_default().met.insert(Fault::Door, WHAT.to_owned());
            let event = Event::Noticed { topic: "removed".into(), path: None, text: WHAT.to_owned() };
            self.record(Log::Session(key), event, Durability::Written);
        }
    }

    /// Says why commands in a terminal cannot reach a session.
    fn shut(&self, key: &SessionKey) -> Option<&String> {
        self.shut.get(&None).or_else(|| self.shut.get(&Some(key.clone())))
    }

    /// Says in a sentence that commands in a terminal cannot reach a session, where they cannot.
    pub(super) fn unreachable(&self, key: &SessionKey) -> Option<String> {
        self.shut(key).map(|why| Fault::Door.told(why))
    }

    /// What is owed to a log was appended, so many records of it late, and so many never.
    pub(super) fn caught_up(&mut self, log: &Log, (late, lost): (u32, u32)) {
        let Some(Unwritten { reason, since }) = self.unwritten.remove(log) else { return };
        if late == 0 && lost == 0 {
            return;
        }
        let seconds = since.ns_until(self.now.wall) / 1_000_000_000;
        let what = match log {
            Log::Root(root) => self.ledger.root_path(root),
            Log::Session(_) => "this session".to_owned(),
        };
        let text = format!(
            "for {seconds} s nothing could be written of {what}: {reason}; records that came late: {late}, that are lost: {lost}"
        );
        for (_, key) in self.concerned(log) {
            let event = Event::Noticed { topic: UNWRITTEN.into(), path: None, text: text.clone() };
            self.record(Log::Session(key), event, Durability::Written);
        }
    }

    /// Says why what is known of a root cannot be trusted, or is not being written down.
    pub(super) fn degraded(&self, key: &SessionKey, root: &RootId) -> Option<String> {
        let logs = [Log::Root(root.clone()), Log::Session(key.clone())];
        let unwritable = logs.iter().find_map(|log| self.unwritten.get(log));
        self.ledger.degraded(key, root).or_else(|| unwritable.map(|log| unwritten(&log.reason)))
    }

    /// Adds to a listing what only the engine knows.
    pub(super) fn complete(&self, id: &SessionId, listing: &mut ListingShape) {
        listing.policy = self.policy_of(id);
        listing.gate = self.gate_of(id);
        for (root, why) in self.degraded_roots(id) {
            if listing.degraded.iter().all(|known| known.root != root) {
                listing.degraded.push(DegradedShape { root, degraded: Some(why) });
            }
        }
    }

    /// A text that names the degraded roots is on its way to the person.
    pub(super) fn degraded_told(&mut self, id: &SessionId) {
        let told = self.degraded_roots(id).into_iter().map(|(root, why)| (Fault::Root(root), why));
        let told: Vec<(Fault, String)> = told.collect();
        self.faults.entry(id.clone()).or_default().said.extend(told);
    }

    /// Says at the end of a turn what is wrong and was not said, and what is no longer wrong.
    pub(super) fn say_faults(&mut self, id: &SessionId) {
        if self.setup.config.review.at_turn_end == AtTurnEnd::Off {
            return;
        }
        let now = self.faults_of(id);
        if self.faults.get(id).is_none_or(|known| known.said.is_empty() && known.met.is_empty())
            && now.is_empty()
        {
            return;
        }
        let Faults { met, said, .. } = self.faults.entry(id.clone()).or_default();
        let begun = now.iter().filter(|(fault, _)| !said.contains_key(*fault));
        let passed = met.iter().filter(|(fault, _)| !now.contains_key(*fault) && !said.contains_key(*fault));
        let over = said.keys().filter(|fault| !now.contains_key(*fault));
        let wrong: Vec<String> = begun
            .map(|(fault, why)| fault.told(why))
            .chain(passed.map(|(fault, why)| fault.passed(why)))
            .collect();
        let right: Vec<String> = over.map(Fault::over).collect();
        met.clear();
        *said = now;
        if let Some(text) = review::faults(&wrong, &right, &self.command_of_session(id)) {
            self.say_in_chat(id, &text);
        }
    }

    fn faults_of(&self, id: &SessionId) -> BTreeMap<Fault, String> {
        let Some(session) = self.sessions.get(id).filter(|session| session.principal.is_none()) else {
            return BTreeMap::new();
        };
        if let Recording::Off(reason) = &session.recording {
            return BTreeMap::from([(Fault::Session, reason.clone())]);
        }
        let known = self.faults.get(id).map(|known| known.untracked.clone()).unwrap_or_default();
        let directories = known.into_iter().map(|(directory, why)| (Fault::Directory(directory), why));
        let roots = self.degraded_roots(id).into_iter().map(|(root, why)| (Fault::Root(root), why));
        let door = self.shut(&session.key).map(|why| (Fault::Door, why.clone()));
        let unused = self.file_unused().map(|why| (Fault::Configuration, why.to_owned()));
        let tops = session.roots().iter().map(|it| String::from_utf8_lossy(&it.top).into_owned());
        let projects = tops.filter_map(|top| self.project_unused(&top).map(|why| (Fault::Project(top), why)));
        directories.chain(roots).chain(door).chain(unused).chain(projects).collect()
    }

    fn degraded_roots(&self, id: &SessionId) -> Vec<(String, String)> {
        let Some(session) = self.sessions.get(id) else { return Vec::new() };
        let path = |top: &[u8]| String::from_utf8_lossy(top).into_owned();
        let roots = session.roots().iter();
        roots.filter_map(|it| self.degraded(&session.key, &it.root).map(|why| (path(&it.top), why))).collect()
    }

    /// Something went wrong with a log. Each root that it concerns is noted.
    fn met(&mut self, log: &Log, why: &str) {
        for (id, _) in self.concerned(log) {
            let Some(session) = self.sessions.get(&id) else { continue };
            let roots = session.roots().iter().filter(|it| match log {
                Log::Root(root) => it.root == *root,
                Log::Session(_) => true,
            });
            let tops: Vec<String> = roots.map(|it| String::from_utf8_lossy(&it.top).into_owned()).collect();
            let met = &mut self.faults.entry(id).or_default().met;
            met.extend(tops.into_iter().map(|top| (Fault::Root(top), why.to_owned())));
        }
    }

    /// Returns the sessions of peers that a log tells of.
    fn concerned(&self, log: &Log) -> Vec<(SessionId, SessionKey)> {
        let own = self.sessions.iter().filter(|it| it.principal.is_none() && !it.adopted);
        let of_log = own.filter(|it| match log {
            Log::Root(root) => it.roots().iter().any(|tracked| tracked.root == *root),
            Log::Session(key) => it.key == *key,
        });
        of_log.map(|it| (it.id.clone(), it.key.clone())).collect()
    }
}

/// The topic of what could not be written for a while. It is over when it is recorded.
pub(super) const UNWRITTEN: &str = "unwritten";

fn unwritten(reason: &str) -> String {
    format!("what happens cannot be written down: {reason}")
}

impl Fault {
    fn told(&self, why: &str) -> String {
        match self {
            Self::Session => format!("nothing of this session is recorded: {why}"),
            Self::Directory(directory) => format!("{directory} is not tracked: {why}"),
            Self::Root(root) => format!("{root}: {why}"),
            Self::Ledger | Self::Configuration => why.to_owned(),
            Self::Door => format!("commands in a terminal cannot reach this session: {why}"),
            Self::Project(root) => format!("{root}/{PROJECT_FILE} {why}"),
        }
    }

    fn passed(&self, why: &str) -> String {
        match self {
            Self::Ledger | Self::Door => why.to_owned(),
            Self::Session | Self::Directory(_) | Self::Configuration | Self::Project(_) => {
                format!("for a while, {}", self.told(why))
            }
            Self::Root(root) => format!("{root}, for a while: {why}"),
        }
    }

    fn over(&self) -> String {
        match self {
            Self::Session => "this session is recorded again".to_owned(),
            Self::Ledger => "the record of this session is where it was".to_owned(),
            Self::Door => "commands in a terminal reach this session again".to_owned(),
            Self::Configuration => "the configuration is in force as it is written".to_owned(),
            Self::Project(root) => format!("{root}/{PROJECT_FILE}: what stands there is in force"),
            Self::Directory(path) | Self::Root(path) => {
                format!("{path} is recorded again; what happened in between was not seen as it happened")
            }
        }
    }
}
