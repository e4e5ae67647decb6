//! The requests of the agent that are not over, and what its calls have said so far.

use crate::acp::{Fact, Wanted};
use crate::base::{CallId, Digest, RequestKey, SessionId, Tick, TurnNo};
use crate::ledger::{Evidence, OptionShape};
use crate::policy::{Finding, Subject};
use crate::wire::IdToken;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of text of one call that are remembered until it ends.
const REMEMBERED: usize = 1 << 20;

/// A request of the agent that is not over.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The session that it came from.
    pub session: SessionId,
    /// The session in whose ledger it stands.
    pub recorder: SessionId,
    /// The call that it is about, with its turn.
    pub call: Option<CallId>,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// What it wants.
    pub subject: Subject,
    /// The digest of exactly that.
    pub binding: String,
    /// The answers that it offers.
    pub options: Vec<OptionShape>,
    /// When it came.
    pub at: Tick,
    /// Counts what was asked anew under its name.
    pub rev: u32,
    /// How far it has come.
    pub state: State,
    /// Whether the texts that it tells are whole files: a fragment covers no write.
    pub whole: bool,
    /// The effects that a follow-up has spent: an allow covers each of them once.
    pub spent: Vec<crate::policy::Effect>,
    /// What is held of it while it is judged or asked about.
    pub held: Option<Box<Parcel>>,
}

/// A request that does not go on before it is decided.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    /// The agent's id for it.
    pub id: IdToken,
    /// The message that it came in.
    pub wanted: Wanted,
    /// What it means.
    pub fact: Fact,
    /// The line.
    pub line: Bytes,
    /// What was found when it was judged.
    pub finding: Option<Box<Finding>>,
    /// Where the question stands.
    pub question: Question,
    /// What the agent is answered once the allow is confirmed; `None` where the request itself goes on.
    pub answer: Option<Bytes>,
}

/// Where the question about a request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Nobody was asked.
    None,
    /// The agent's own request went to the editor; what each option means is told by its id.
    Forwarded,
    /// We asked in its place.
    Ours(IdToken),
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody decided.
    Open,
    /// It was allowed.
    Allowed,
    /// It went on, or was never asked about.
    Used,
}

/// All requests that are not over.
#[derive(Clone, Debug, Default)]
pub(super) struct Docket {
    requests: BTreeMap<RequestKey, Request>,
    /// By the agent's ids; one that is used again in flight is answered in the order of the questions.
    by_id: BTreeMap<IdToken, VecDeque<RequestKey>>,
    /// Whether the rules could not be read: then nothing is allowed without a person.
    pub(super) asks_for_all: bool,
    /// The terminals whose creation was allowed.
    terminals: BTreeSet<(SessionId, String)>,
    /// What each open call has said that it does.
    told: BTreeMap<(SessionId, CallId), Wanted>,
    /// The commands that were announced, by call.
    announced: BTreeSet<(SessionId, CallId, Digest)>,
}

impl Docket {
    pub(super) fn open(&mut self, key: RequestKey, id: Option<IdToken>, request: Request) {
        if let Some(id) = id {
            self.by_id.entry(id).or_default().push_back(key.clone());
        }
        self.requests.insert(key, request);
    }

    pub(super) fn get(&self, key: &RequestKey) -> Option<&Request> {
        self.requests.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &RequestKey) -> Option<&mut Request> {
        self.requests.get_mut(key)
    }

    /// Forgets a request; its id stays until it is answered.
    pub(super) fn close(&mut self, key: &RequestKey) -> Option<Request> {
        self.requests.remove(key)
    }

    /// Returns the oldest request with this id that was not answered.
    pub(super) fn of_id(&self, id: &IdToken) -> Option<&RequestKey> {
        self.by_id.get(id)?.front()
    }

    /// The request with this id is answered.
    pub(super) fn answered(&mut self, id: &IdToken) -> Option<RequestKey> {
        let same = self.by_id.get_mut(id)?;
        let key = same.pop_front();
        if same.is_empty() {
            self.by_id.remove(id);
        }
        key
    }

    /// A terminal was created by a request that was allowed.
    pub(super) fn terminal_allowed(&mut self, session: &SessionId, terminal: &str) {
        self.terminals.insert((session.clone(), terminal.to_owned()));
    }

    /// Says whether a terminal was.
    pub(super) fn is_allowed_terminal(&self, session: &SessionId, terminal: &str) -> bool {
        self.terminals.contains(&(session.clone(), terminal.to_owned()))
    }

    /// Returns the names of requests.
    pub(super) fn which(&self, wanted: impl Fn(&Request) -> bool) -> Vec<RequestKey> {
        self.requests.iter().filter(|(_, request)| wanted(request)).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the allowed permission of a session that wanted exactly this, and of which it was not spent yet.
    pub(super) fn covering(&self, session: &SessionId, subject: &Subject) -> Option<&RequestKey> {
        let covers = |request: &Request| {
            let has = |effect| request.subject.effects().contains(effect) && !request.spent.contains(effect);
            let asked = !request.options.is_empty() && request.state != State::Open && request.whole;
            let known = subject.evidence == Evidence::Structured;
            request.session == *session && asked && known && subject.effects().iter().all(has)
        };
        self.requests.iter().find(|(_, request)| covers(request)).map(|(key, _)| key)
    }

    /// A follow-up used what an allowed permission wanted.
    pub(super) fn spend(&mut self, by: &RequestKey, subject: &Subject) {
        if let Some(request) = self.requests.get_mut(by) {
            request.spent.extend(subject.effects().iter().cloned());
        }
    }

    // ── what calls say ──

    /// Takes in what a message says of a call, and completes the message by what earlier ones said.
    pub(super) fn tell(&mut self, session: &SessionId, wanted: &mut Wanted) {
        let Some(call) = wanted.call.clone() else { return };
        let told = self.told.entry((session.clone(), call)).or_insert_with(|| wanted.clone());
        if wanted.command.is_none() {
            wanted.command.clone_from(&told.command);
        }
        if wanted.claims.is_empty() {
            wanted.claims.clone_from(&told.claims);
        }
        if wanted.reads.is_empty() {
            wanted.reads.clone_from(&told.reads);
        }
        if wanted.fetches.is_empty() {
            wanted.fetches.clone_from(&told.fetches);
        }
        if wanted.title.is_empty() {
            wanted.title.clone_from(&told.title);
        }
        if wanted.kind.is_none() {
            wanted.kind.clone_from(&told.kind);
        }
        *told = wanted.clone();
        if weight(told) > REMEMBERED {
            told.claims.clear();
        }
    }

    /// Returns what a call has said.
    pub(super) fn told(&self, session: &SessionId, call: &CallId) -> Option<&Wanted> {
        self.told.get(&(session.clone(), call.clone()))
    }

    /// Forgets what a call has said: it is over.
    pub(super) fn forget(&mut self, session: &SessionId, call: &CallId) {
        self.told.remove(&(session.clone(), call.clone()));
        self.announced.retain(|(of, known, _)| of != session || known != call);
    }

    /// Forgets what all calls of a session have said.
    pub(super) fn forget_all(&mut self, session: &SessionId) {
        self.told.retain(|(of, _), _| of != session);
        self.announced.retain(|(of, ..)| of != session);
    }

    /// Notes that a call announced what it does. Says whether it is new.
    pub(super) fn announce(&mut self, session: &SessionId, call: &CallId, binding: &str) -> bool {
        self.announced.insert((session.clone(), call.clone(), Digest::of(&[binding.as_bytes()])))
    }
}

fn weight(wanted: &Wanted) -> usize {
    let of = |claim: &crate::acp::CallClaim| match &claim.says {
        crate::acp::Said::Fragment { old, new } => old.len() + new.len(),
        crate::acp::Said::Whole { old, new } | crate::acp::Said::Diff { old, new } => {
            old.as_ref().map_or(0, String::len) + new.len()
        }
        crate::acp::Said::Location | crate::acp::Said::Delete | crate::acp::Said::Move { .. } => 0,
    };
    wanted.claims.iter().map(of).sum()
}
