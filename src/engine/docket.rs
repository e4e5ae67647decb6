//! The requests of the agent that are not over, and what its calls have said so far.

use crate::acp::{CallClaim, Fact, Wanted};
use crate::base::{CallId, Digest, RequestKey, SessionId, Tick, TurnNo};
use crate::engine::desk::ReplyTo;
use crate::ledger::{Approval, Evidence, OptionShape, Outcome};
use crate::policy::{Effect, Finding, Subject};
use crate::wire::IdToken;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of text of one call that are remembered until it ends.
const REMEMBERED: usize = 1 << 20;
/// How many claims of one call are remembered until it ends.
const CLAIMED: usize = 1024;
/// How many requests that are over, and questions that were taken back, are remembered to answer who comes late.
const OVER: usize = 256;

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
    /// When it is over without an answer, where the configuration says so.
    pub until: Option<Tick>,
    /// Counts what was asked anew under its name.
    pub rev: u32,
    /// How far it has come.
    pub state: State,
    /// Whether the texts that it tells are whole files: a fragment covers no write.
    pub whole: bool,
    /// The effects that a follow-up has spent: an allow covers each of them once.
    pub spent: Vec<Effect>,
    /// What stood where each effect leads when it was allowed; empty where nobody looked.
    pub stood: Vec<String>,
    /// What it said, while that may still be taken back and it is not held.
    pub said: Option<Box<Wanted>>,
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
    /// What programs outside said of it, for people.
    pub opinions: Vec<String>,
    /// Whether the editor knows its id as taken back: its call has said something else, and it is asked under an id of ours.
    pub again: bool,
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
    /// Nobody can be asked in the editor: it waits for an answer from elsewhere.
    Deferred,
}

/// A request that came before it could be recorded.
#[derive(Clone, Debug)]
pub(super) struct Early {
    /// The session that asks.
    pub session: SessionId,
    /// The agent's id for it.
    pub id: IdToken,
    /// Whether it is a permission.
    pub permission: bool,
    /// The line.
    pub line: Bytes,
}

/// How a request ended.
#[derive(Clone, Debug)]
struct Ended {
    recorder: SessionId,
    key: RequestKey,
    how: String,
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
    /// The claims that each open call has made, by their digests.
    claimed: BTreeMap<(SessionId, CallId), BTreeSet<Digest>>,
    /// The commands that were announced, by call.
    announced: BTreeSet<(SessionId, CallId, Digest)>,
    /// Requests of sessions whose roots are being opened: they are taken in when that is done.
    pub(super) early: Vec<Early>,
    /// Who answered from outside the editor, and waits to hear what became of it.
    askers: BTreeMap<RequestKey, (ReplyTo, SessionId)>,
    /// The requests that ended last.
    ended: VecDeque<Ended>,
    /// The questions that were taken back last, by the id that the editor knows them by.
    taken_back: VecDeque<(IdToken, SessionId, RequestKey)>,
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

    // ── answers from outside, and late ones ──

    /// Somebody outside the editor answered: they wait to hear what became of it.
    pub(super) fn expects(&mut self, key: &RequestKey, asker: (ReplyTo, SessionId)) {
        self.askers.insert(key.clone(), asker);
    }

    /// Returns who waits to hear what became of a request, once.
    pub(super) fn asker(&mut self, key: &RequestKey) -> Option<(ReplyTo, SessionId)> {
        self.askers.remove(key)
    }

    /// Takes note of how a request ended.
    pub(super) fn note_end(&mut self, recorder: &SessionId, approval: &Approval) {
        let how = match approval {
            Approval::Decided { outcome: Outcome::Allow, .. } => "it was allowed".to_owned(),
            Approval::Decided { .. } => "it was denied".to_owned(),
            Approval::Cancelled { reason, .. } => format!("cancelled ({reason})"),
            Approval::Voided { .. } => "what it is about changed since it was approved".to_owned(),
            Approval::Requested(_)
            | Approval::Observed(_)
            | Approval::Assessed(_)
            | Approval::Prompted { .. }
            | Approval::Used { .. }
            | Approval::Settled { .. }
            | Approval::AnswerRejected { .. }
            | Approval::Differs { .. }
            | Approval::GrantIssued(_)
            | Approval::GrantRevoked { .. }
            | Approval::PolicyLoaded { .. }
            | Approval::GateBlind { .. } => return,
        };
        let Some(key) = approval.request().cloned() else { return };
        self.ended.retain(|ended| ended.key != key);
        self.ended.push_back(Ended { recorder: recorder.clone(), key, how });
        if self.ended.len() > OVER {
            self.ended.pop_front();
        }
    }

    /// Returns the request of a session that ended under this name or a prefix of it, and how.
    pub(super) fn ended(&self, recorder: &SessionId, name: &str) -> Option<(&RequestKey, &str)> {
        let mine = |ended: &&Ended| ended.recorder == *recorder && ended.key.as_str().starts_with(name);
        self.ended.iter().rev().find(mine).map(|ended| (&ended.key, ended.how.as_str()))
    }

    /// A question was taken back from the editor, which knows it by this id.
    pub(super) fn note_taken_back(&mut self, id: &IdToken, recorder: &SessionId, key: &RequestKey) {
        self.taken_back.push_back((id.clone(), recorder.clone(), key.clone()));
        if self.taken_back.len() > OVER {
            self.taken_back.pop_front();
        }
    }

    /// Returns the request of the question that was taken back under this id, with the session in whose ledger it stands.
    pub(super) fn was_taken_back(&self, id: &IdToken) -> Option<(&SessionId, &RequestKey)> {
        self.taken_back.iter().rev().find(|(known, ..)| known == id).map(|(_, session, key)| (session, key))
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

    /// Returns the names of requests, the oldest first.
    pub(super) fn which(&self, wanted: impl Fn(&Request) -> bool) -> Vec<RequestKey> {
        let mut found: Vec<_> = self.requests.iter().filter(|(_, request)| wanted(request)).collect();
        found.sort_by_key(|(key, request)| (request.at, key.as_str().len(), (*key).clone()));
        found.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns when the first of the open requests is over.
    pub(super) fn deadline(&self) -> Option<Tick> {
        let waits = |request: &&Request| request.state == State::Open && request.held.is_some();
        self.requests.values().filter(waits).filter_map(|request| request.until).min()
    }

    /// Returns the allowed permission of a session that wanted exactly this, and of which it was not spent yet. With what
    /// stands there now, only where the same stood there when it was allowed.
    pub(super) fn covering(
        &self,
        session: &SessionId,
        (subject, cwd): (&Subject, &str),
        stands: Option<&[String]>,
    ) -> Option<&RequestKey> {
        let covers = |request: &Request| {
            let has = |(at, effect): (usize, &Effect)| {
                let spent = request.spent.iter().any(|it| it.is_same(effect, cwd));
                let mut all = request.subject.effects().iter();
                let found = all.position(|it| it.is_same(effect, cwd)).filter(|_| !spent);
                let ground = |of: usize| stands.is_none_or(|now| request.stood.get(of) == now.get(at));
                found.is_some_and(ground)
            };
            let asked = !request.options.is_empty() && request.state != State::Open && request.whole;
            let known = subject.evidence == Evidence::Structured;
            request.session == *session && asked && known && subject.effects().iter().enumerate().all(has)
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
        let claimed = self.claimed.entry((session.clone(), call.clone())).or_default();
        claimed.extend(wanted.claims.iter().take(CLAIMED.saturating_sub(claimed.len())).map(digest));
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
        wanted.delegates |= told.delegates;
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

    /// Says whether a call has made this claim already.
    pub(super) fn has_claimed(&self, session: &SessionId, call: &CallId, claim: &CallClaim) -> bool {
        let claimed = self.claimed.get(&(session.clone(), call.clone()));
        claimed.is_some_and(|claimed| claimed.contains(&digest(claim)))
    }

    /// Forgets what a call has said: it is over.
    pub(super) fn forget(&mut self, session: &SessionId, call: &CallId) {
        self.told.remove(&(session.clone(), call.clone()));
        self.claimed.remove(&(session.clone(), call.clone()));
        self.announced.retain(|(of, known, _)| of != session || known != call);
    }

    /// Forgets what all calls of a session have said.
    pub(super) fn forget_all(&mut self, session: &SessionId) {
        self.told.retain(|(of, _), _| of != session);
        self.claimed.retain(|(of, _), _| of != session);
        self.announced.retain(|(of, ..)| of != session);
    }

    /// Notes that a call announced what it does. Says whether it is new.
    pub(super) fn announce(&mut self, session: &SessionId, call: &CallId, binding: &str) -> bool {
        self.announced.insert((session.clone(), call.clone(), Digest::of(&[binding.as_bytes()])))
    }
}

fn digest(claim: &CallClaim) -> Digest {
    Digest::of(&[claim.path.as_bytes(), format!("{:?}", claim.says).as_bytes()])
}

fn weight(wanted: &Wanted) -> usize {
    let of = |claim: &CallClaim| match &claim.says {
        crate::acp::Said::Fragment { old, new } => old.len() + new.len(),
        crate::acp::Said::Whole { old, new } | crate::acp::Said::Diff { old, new } => {
            old.as_ref().map_or(0, String::len) + new.len()
        }
        crate::acp::Said::Location | crate::acp::Said::Delete | crate::acp::Said::Move { .. } => 0,
    };
    wanted.claims.iter().map(of).sum()
}
