//! Requests in flight on both legs, and what each response answers.

use crate::base::{Leg, Minter, SessionId, Tick};
use crate::wire::IdToken;
use std::collections::{BTreeMap, VecDeque};

/// One request in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight<T> {
    /// Its method.
    pub method: String,
    /// Its session, when it names one.
    pub session: Option<SessionId>,
    /// When it came, or was sent.
    pub at: Tick,
    /// What the owner of the table keeps with it.
    pub payload: T,
}

/// What a response answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered<T> {
    /// A request of the other peer: forward it.
    Theirs(InFlight<T>),
    /// A request of ours: swallow it.
    Ours(InFlight<T>),
    /// A request of ours that is over, or one that we answered in its place: swallow it, its answer was given.
    Late,
    /// A request that was answered before: forward it as it is.
    Duplicate,
    /// Nothing we know of: forward it as it is.
    Unknown,
}

/// How a request ended that is no longer in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    ByPeer,
    ByUs,
}

/// The requests in flight, by the leg they came from and their id.
///
/// A request keeps the id of its peer. A peer that uses an id again while it is in flight gets its answers in the order
/// of its questions. Requests of ours have ids that begin with `hunkgate-`, in the id space of the other peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending<T> {
    theirs: BTreeMap<(Leg, IdToken), VecDeque<InFlight<T>>>,
    /// By the leg they were sent to.
    ours: BTreeMap<(Leg, IdToken), InFlight<T>>,
    ended: VecDeque<(Leg, IdToken, Ended)>,
    prefix: String,
}

impl<T> Pending<T> {
    /// How many ended requests are remembered, to tell a second answer from an unknown one.
    pub const REMEMBERED: usize = 1024;

    /// The word with which our ids begin.
    pub const OURS: &str = "hunkgate";

    /// Starts a table for the run with this seed.
    pub fn new(seed: &str) -> Self {
        let prefix = format!("\"{}-{seed}-", Self::OURS);
        Self { theirs: BTreeMap::new(), ours: BTreeMap::new(), ended: VecDeque::new(), prefix }
    }

    /// Notes a request that came from a peer. Returns false when its id is in flight already.
    pub fn asked(&mut self, from: Leg, id: IdToken, request: InFlight<T>) -> bool {
        let same = self.theirs.entry((from, id)).or_default();
        same.push_back(request);
        same.len() == 1
    }

    /// Notes a request of ours to a peer and returns its id, which nobody else uses there.
    pub fn originate(&mut self, to: Leg, minter: &mut Minter, request: InFlight<T>) -> IdToken {
        loop {
            let id = IdToken::of_text(&minter.mint(Self::OURS));
            if !self.theirs.contains_key(&(to.other(), id.clone())) {
                self.ours.insert((to, id.clone()), request);
                return id;
            }
        }
    }

    /// Takes in a response that came from a peer.
    pub fn answered(&mut self, from: Leg, id: &IdToken) -> Answered<T> {
        if let Some(request) = self.ours.remove(&(from, id.clone())) {
            return Answered::Ours(request);
        }
        if let Some(request) = self.pop(from.other(), id, Ended::ByPeer) {
            return Answered::Theirs(request);
        }
        let ended = self.ended.iter().rev().find(|(leg, known, _)| *leg == from.other() && known == id);
        match ended {
            Some((_, _, Ended::ByUs)) => Answered::Late,
            Some((_, _, Ended::ByPeer)) => Answered::Duplicate,
            None if self.is_ours(id) => Answered::Late,
            None => Answered::Unknown,
        }
    }

    /// Ends a request of the peer `from`, because we answer it in place of the other one.
    pub fn end(&mut self, from: Leg, id: &IdToken) -> Option<InFlight<T>> {
        self.pop(from, id, Ended::ByUs)
    }

    /// Gives up a request of ours to the peer `to`; its answer, should one come, is late.
    pub fn withdraw(&mut self, to: Leg, id: &IdToken) -> Option<InFlight<T>> {
        self.ours.remove(&(to, id.clone()))
    }

    /// Returns the oldest request in flight with this id from this peer.
    pub fn find(&self, from: Leg, id: &IdToken) -> Option<&InFlight<T>> {
        self.theirs.get(&(from, id.clone()))?.front()
    }

    /// Returns the same for a change.
    pub fn find_mut(&mut self, from: Leg, id: &IdToken) -> Option<&mut InFlight<T>> {
        self.theirs.get_mut(&(from, id.clone()))?.front_mut()
    }

    /// Returns a request of ours to this peer.
    pub fn find_ours(&self, to: Leg, id: &IdToken) -> Option<&InFlight<T>> {
        self.ours.get(&(to, id.clone()))
    }

    /// Says whether an id has the form of ours in this run.
    pub fn is_ours(&self, id: &IdToken) -> bool {
        id.as_str().starts_with(&self.prefix)
    }

    /// Returns the peers' requests, by leg and id.
    pub fn iter(&self) -> impl Iterator<Item = (Leg, &IdToken, &InFlight<T>)> {
        self.theirs.iter().flat_map(|((leg, id), all)| all.iter().map(move |it| (*leg, id, it)))
    }

    /// Returns our requests, by the leg they were sent to and id.
    pub fn iter_ours(&self) -> impl Iterator<Item = (Leg, &IdToken, &InFlight<T>)> {
        self.ours.iter().map(|((leg, id), request)| (*leg, id, request))
    }

    /// Ends all requests of the peer `from`, as [`Pending::end`]: the other one is gone. They come by id.
    pub fn end_all(&mut self, from: Leg) -> Vec<(IdToken, InFlight<T>)> {
        let ids: Vec<_> =
            self.theirs.keys().filter(|(leg, _)| *leg == from).map(|(_, id)| id.clone()).collect();
        let mut all = Vec::new();
        for id in ids {
            while let Some(request) = self.end(from, &id) {
                all.push((id.clone(), request));
            }
        }
        all
    }

    fn pop(&mut self, from: Leg, id: &IdToken, ended: Ended) -> Option<InFlight<T>> {
        let key = (from, id.clone());
        let same = self.theirs.get_mut(&key)?;
        let request = same.pop_front();
        if same.is_empty() {
            self.theirs.remove(&key);
        }
        self.ended.push_back((key.0, key.1, ended));
        if self.ended.len() > Self::REMEMBERED {
            self.ended.pop_front();
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(payload: u8) -> InFlight<u8> {
        InFlight { method: "m".into(), session: None, at: Tick::default(), payload }
    }

    fn id(token: &str) -> IdToken {
        IdToken::new(token)
    }

    #[test]
    fn both_peers_may_use_the_same_id() {
        let mut pending = Pending::new("s");
        pending.asked(Leg::Editor, id("1"), request(1));
        pending.asked(Leg::Agent, id("1"), request(2));
        assert_eq!(pending.answered(Leg::Editor, &id("1")), Answered::Theirs(request(2)));
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Theirs(request(1)));
    }

    #[test]
    fn ids_that_differ_as_tokens_are_different_requests() {
        let mut pending = Pending::new("s");
        for (at, token) in ["1", "\"1\"", "1.0", "null"].into_iter().enumerate() {
            assert!(pending.asked(Leg::Editor, id(token), request(u8::try_from(at).unwrap())));
        }
        assert_eq!(pending.answered(Leg::Agent, &id("\"1\"")), Answered::Theirs(request(1)));
        assert_eq!(pending.answered(Leg::Agent, &id("null")), Answered::Theirs(request(3)));
    }

    #[test]
    fn an_id_used_again_is_answered_in_the_order_of_the_questions() {
        let mut pending = Pending::new("s");
        assert!(pending.asked(Leg::Editor, id("1"), request(1)));
        assert!(!pending.asked(Leg::Editor, id("1"), request(2)));
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Theirs(request(1)));
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Theirs(request(2)));
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Duplicate);
        assert!(pending.asked(Leg::Editor, id("1"), request(3)));
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Theirs(request(3)));
    }

    #[test]
    fn an_unknown_answer_is_told_from_a_second_and_a_late_one() {
        let mut pending = Pending::new("s");
        assert_eq!(pending.answered(Leg::Agent, &id("1")), Answered::Unknown);
        pending.asked(Leg::Agent, id("7"), request(1));
        assert_eq!(pending.end(Leg::Agent, &id("7")), Some(request(1)));
        assert_eq!(pending.answered(Leg::Editor, &id("7")), Answered::Late);
        assert_eq!(pending.answered(Leg::Agent, &id("7")), Answered::Unknown);
    }

    #[test]
    fn answers_to_our_requests_are_swallowed_also_when_late() {
        let (mut pending, mut minter) = (Pending::new("s"), Minter::new("s"));
        let ours = pending.originate(Leg::Editor, &mut minter, request(1));
        assert_eq!(ours.as_str(), "\"hunkgate-s-1\"");
        assert_eq!(pending.answered(Leg::Editor, &ours), Answered::Ours(request(1)));
        assert_eq!(pending.answered(Leg::Editor, &ours), Answered::Late);
        let second = pending.originate(Leg::Editor, &mut minter, request(2));
        assert_eq!(pending.withdraw(Leg::Editor, &second), Some(request(2)));
        assert_eq!(pending.answered(Leg::Editor, &second), Answered::Late);
        assert_eq!(pending.answered(Leg::Editor, &id("\"hunkgate-older-1\"")), Answered::Unknown);
    }

    #[test]
    fn an_id_that_the_agent_has_in_flight_is_never_ours() {
        let (mut pending, mut minter) = (Pending::new("s"), Minter::new("s"));
        pending.asked(Leg::Agent, id("\"hunkgate-s-1\""), request(1));
        assert_eq!(pending.originate(Leg::Editor, &mut minter, request(2)).as_str(), "\"hunkgate-s-2\"");
        assert_eq!(pending.answered(Leg::Editor, &id("\"hunkgate-s-1\"")), Answered::Theirs(request(1)));
    }

    #[test]
    fn a_dead_peer_leaves_every_question_to_be_answered_once() {
        let mut pending = Pending::new("s");
        pending.asked(Leg::Editor, id("2"), request(2));
        pending.asked(Leg::Editor, id("1"), request(1));
        pending.asked(Leg::Agent, id("1"), request(9));
        let ended: Vec<_> = pending.end_all(Leg::Editor).into_iter().map(|(_, it)| it.payload).collect();
        assert_eq!(ended, [1, 2]);
        assert_eq!(pending.iter().count(), 1);
    }

    #[test]
    fn what_is_remembered_of_ended_requests_is_bounded() {
        let mut pending = Pending::new("s");
        for at in 0..5000 {
            pending.asked(Leg::Editor, id(&at.to_string()), request(0));
            pending.answered(Leg::Agent, &id(&at.to_string()));
        }
        assert_eq!(pending.ended.len(), Pending::<u8>::REMEMBERED);
    }
}
