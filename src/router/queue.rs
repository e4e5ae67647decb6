//! The order of one direction, with parked frames.

use crate::base::SessionId;
use std::collections::VecDeque;

/// Which later frames must not overtake a parked one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// None: it is alone aside.
    Nothing,
    /// Those of this session.
    Session(SessionId),
    /// Every one.
    All,
}

impl Blocks {
    fn cover(&self, session: Option<&SessionId>) -> bool {
        match self {
            Self::Nothing => false,
            Self::Session(blocked) => session == Some(blocked),
            Self::All => true,
        }
    }
}

/// What becomes of a frame that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered<F> {
    /// Nothing it must wait for: send it.
    Pass(F),
    /// It stands behind a parked frame and comes out with it.
    Waits,
}

/// One direction: the frames that are aside, in the order in which they came.
///
/// ```text
/// offer ── nothing before it blocks its session ──▶ Pass
///       └─ else ──▶ waits ──┐
/// park ───────────▶ parked ─┴─ release / discard of what blocks it ──▶ out, in order
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane<K, F> {
    aside: VecDeque<Aside<K, F>>,
    /// What of `aside` blocks anything, by number: few, where those that wait may be many.
    blocking: Vec<(u64, Blocks)>,
    count: u64,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Aside<K, F> {
    /// In the order in which they came.
    number: u64,
    /// The key of a frame that is parked; `None` once it only waits for those before it.
    key: Option<K>,
    session: Option<SessionId>,
    frame: F,
}

impl<K, F> Default for Lane<K, F> {
    fn default() -> Self {
        Self { aside: VecDeque::new(), blocking: Vec::new(), count: 0, bytes: 0 }
    }
}

impl<K: PartialEq, F: AsRef<[u8]>> Lane<K, F> {
    /// Puts a frame aside until its key is released. `session` is the frame's own.
    pub fn park(&mut self, key: K, session: Option<SessionId>, blocks: Blocks, frame: F) {
        let number = self.put(Some(key), session, frame);
        if blocks != Blocks::Nothing {
            self.blocking.push((number, blocks));
        }
    }

    /// Asks whether a frame may go.
    pub fn offer(&mut self, session: Option<&SessionId>, frame: F) -> Offered<F> {
        if !self.blocks(session) {
            return Offered::Pass(frame);
        }
        self.put(None, session.cloned(), frame);
        Offered::Waits
    }

    /// Lets a parked frame go and returns what may now be sent, in order: the frame, unless one before it holds it
    /// back, and those that waited behind it. An unknown key releases nothing.
    pub fn release(&mut self, key: &K) -> Vec<F> {
        let Some(at) = self.position(key) else { return Vec::new() };
        self.aside[at].key = None;
        self.drain()
    }

    /// Takes a parked frame out, which is answered otherwise, and returns it with what waited behind it.
    pub fn discard(&mut self, key: &K) -> Option<(F, Vec<F>)> {
        let taken = self.aside.remove(self.position(key)?)?;
        self.gone(&taken);
        Some((taken.frame, self.drain()))
    }

    /// Lets go every parked frame that blocks this session, and returns what may now be sent, in order.
    pub fn release_session(&mut self, session: &SessionId) -> Vec<F> {
        let numbers = self.numbers_of(session);
        for aside in self.aside.iter_mut().filter(|it| numbers.contains(&it.number)) {
            aside.key = None;
        }
        self.drain()
    }

    /// Lets everything go, in order.
    pub fn release_all(&mut self) -> Vec<F> {
        self.bytes = 0;
        self.blocking.clear();
        self.aside.drain(..).map(|aside| aside.frame).collect()
    }

    /// Says whether a frame of this session would have to wait.
    pub fn blocks(&self, session: Option<&SessionId>) -> bool {
        self.blocking.iter().any(|(_, blocks)| blocks.cover(session))
    }

    /// Returns a parked frame.
    pub fn parked(&self, key: &K) -> Option<&F> {
        self.position(key).map(|at| &self.aside[at].frame)
    }

    /// Puts another frame in the place of a parked one. Returns false for an unknown key.
    pub fn rewrite(&mut self, key: &K, frame: F) -> bool {
        let Some(at) = self.position(key) else { return false };
        self.bytes = self.bytes - self.aside[at].frame.as_ref().len() + frame.as_ref().len();
        self.aside[at].frame = frame;
        true
    }

    /// Returns the keys of the parked frames, oldest first.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.aside.iter().filter_map(|it| it.key.as_ref())
    }

    /// Returns the keys of the parked frames that block this session, oldest first.
    pub fn keys_of(&self, session: &SessionId) -> impl Iterator<Item = &K> + use<'_, K, F> {
        let numbers = self.numbers_of(session);
        self.aside.iter().filter(move |it| numbers.contains(&it.number)).filter_map(|it| it.key.as_ref())
    }

    /// Returns how many bytes are aside, parked and waiting.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Says whether nothing is aside.
    pub fn is_empty(&self) -> bool {
        self.aside.is_empty()
    }

    /// Takes out, in order, what is neither parked nor behind something that blocks it.
    fn drain(&mut self) -> Vec<F> {
        let mut out = Vec::new();
        for aside in std::mem::take(&mut self.aside) {
            let before = self.blocking.iter().take_while(|(number, _)| *number < aside.number);
            let held = before.into_iter().any(|(_, blocks)| blocks.cover(aside.session.as_ref()));
            if aside.key.is_some() || held {
                self.aside.push_back(aside);
            } else {
                self.gone(&aside);
                out.push(aside.frame);
            }
        }
        out
    }

    fn put(&mut self, key: Option<K>, session: Option<SessionId>, frame: F) -> u64 {
        self.bytes += frame.as_ref().len();
        self.count += 1;
        self.aside.push_back(Aside { number: self.count, key, session, frame });
        self.count
    }

    fn gone(&mut self, aside: &Aside<K, F>) {
        self.bytes -= aside.frame.as_ref().len();
        self.blocking.retain(|(number, _)| *number != aside.number);
    }

    /// The numbers of the frames that block this session.
    fn numbers_of(&self, session: &SessionId) -> Vec<u64> {
        self.blocking
            .iter()
            .filter(|(_, blocks)| blocks.cover(Some(session)))
            .map(|(number, _)| *number)
            .collect()
    }

    fn position(&self, key: &K) -> Option<usize> {
        self.aside.iter().position(|it| it.key.as_ref() == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Words = Lane<u8, &'static str>;

    fn session(name: &str) -> SessionId {
        SessionId::new(name)
    }

    fn blocks(name: &str) -> Blocks {
        Blocks::Session(session(name))
    }

    #[test]
    fn a_parked_frame_stops_only_its_session() {
        let mut lane = Words::default();
        lane.park(1, Some(session("a")), blocks("a"), "prompt");
        assert_eq!(lane.offer(Some(&session("b")), "other"), Offered::Pass("other"));
        assert_eq!(lane.offer(None, "response"), Offered::Pass("response"));
        assert_eq!(lane.offer(Some(&session("a")), "mode"), Offered::Waits);
        assert_eq!(lane.bytes(), "promptmode".len());
        assert_eq!(lane.release(&1), ["prompt", "mode"]);
        assert_eq!((lane.bytes(), lane.is_empty()), (0, true));
        assert_eq!(lane.offer(Some(&session("a")), "next"), Offered::Pass("next"));
    }

    #[test]
    fn a_cancel_goes_right_after_the_prompt_that_it_cancels() {
        let mut lane = Words::default();
        lane.park(1, Some(session("a")), blocks("a"), "prompt");
        assert_eq!(lane.release_session(&session("a")), ["prompt"]);
        assert_eq!(lane.offer(Some(&session("a")), "cancel"), Offered::Pass("cancel"));
    }

    #[test]
    fn a_frame_alone_aside_is_overtaken() {
        let mut lane = Words::default();
        lane.park(1, Some(session("a")), Blocks::Nothing, "answer");
        assert_eq!(lane.offer(Some(&session("a")), "update"), Offered::Pass("update"));
        assert_eq!(lane.release(&1), ["answer"]);
    }

    #[test]
    fn a_released_frame_does_not_overtake_one_that_blocks_it() {
        let mut lane = Words::default();
        lane.park(1, Some(session("a")), blocks("a"), "first");
        lane.park(2, Some(session("a")), Blocks::All, "second");
        assert_eq!(lane.offer(Some(&session("b")), "other"), Offered::Waits);
        assert_eq!(lane.release(&2), [] as [&str; 0]);
        assert_eq!(lane.release(&1), ["first", "second", "other"]);
    }

    #[test]
    fn a_frame_answered_otherwise_lets_the_rest_go() {
        let mut lane = Words::default();
        lane.park(1, Some(session("a")), blocks("a"), "prompt");
        assert_eq!(lane.offer(Some(&session("a")), "mode"), Offered::Waits);
        assert_eq!(lane.discard(&1), Some(("prompt", vec!["mode"])));
        assert_eq!(lane.discard(&1), None);
        assert_eq!(lane.release(&7), [] as [&str; 0]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Offer(u8),
        Park(u8, u8),
        Release(usize),
        Discard(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u8..3).prop_map(Step::Offer),
            ((0u8..3), (0u8..4)).prop_map(|(own, blocked)| Step::Park(own, blocked)),
            (0usize..6).prop_map(Step::Release),
            (0usize..6).prop_map(Step::Discard),
        ]
    }

    /// Session 0 is none.
    fn numbered(n: u8) -> Option<SessionId> {
        (n > 0).then(|| session(&n.to_string()))
    }

    proptest! {
        #[test]
        fn frames_of_a_blocked_session_keep_their_order_and_none_is_lost(
            steps in proptest::collection::vec(step(), 0..40)
        ) {
            let mut lane: Lane<usize, Vec<u8>> = Lane::default();
            let (mut out, mut gone, mut count) = (Vec::new(), 0usize, 0u8);
            let mut sessions = Vec::new();
            let mut free = Vec::new();
            for step in steps {
                let keys: Vec<usize> = lane.keys().copied().collect();
                match step {
                    Step::Offer(own) => {
                        let offered = lane.offer(numbered(own).as_ref(), vec![count]);
                        if let Offered::Pass(frame) = offered { out.push(frame) }
                        sessions.push(own);
                        free.push(false);
                        count += 1;
                    }
                    Step::Park(own, blocked) => {
                        let blocks = match blocked { 0 => Blocks::Nothing, 3 => Blocks::All, _ => blocks(&own.to_string()) };
                        free.push(blocks == Blocks::Nothing);
                        lane.park(usize::from(count), numbered(own), blocks, vec![count]);
                        sessions.push(own);
                        count += 1;
                    }
                    Step::Release(at) => if let Some(key) = keys.get(at) { out.extend(lane.release(key)) },
                    Step::Discard(at) => if let Some(key) = keys.get(at) {
                        let (_, after) = lane.discard(key).unwrap();
                        gone += 1;
                        out.extend(after);
                    },
                }
                prop_assert_eq!(lane.bytes(), lane.aside.len());
            }
            out.extend(lane.release_all());
            prop_assert_eq!(out.len() + gone, usize::from(count));
            for own in 1..3 {
                let order: Vec<u8> = out.iter().map(|it| it[0])
                    .filter(|&at| sessions[usize::from(at)] == own && !free[usize::from(at)]).collect();
                prop_assert!(order.is_sorted(), "{:?}", order);
            }
        }
    }
}
