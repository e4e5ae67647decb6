//! Where a session's turns stand.

use crate::base::TurnNo;
use crate::wire::IdToken;
use std::collections::BTreeSet;

/// A turn that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTurn {
    /// Its number; `None` for one that no prompt began (steering, background work).
    pub number: Option<TurnNo>,
    /// The prompt request that began it.
    pub request: Option<IdToken>,
    /// Whether `session/cancel` passed since.
    pub cancelled: bool,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is under way.
    Idle,
    /// The agent works.
    Prompting,
    /// The agent works and has asked for a permission.
    AwaitingPermission,
    /// A cancel has passed; the agent has not answered yet.
    Cancelling,
}

/// The turns of one session: usually none or one under way, more where prompts are queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    last: TurnNo,
    live: Vec<LiveTurn>,
    asking: BTreeSet<IdToken>,
}

impl Turns {
    /// Goes on counting after `last`, the last turn that the session's ledger knows.
    pub fn resume_after(&mut self, last: TurnNo) {
        self.last = self.last.max(last);
    }

    /// A prompt is being forwarded: numbers its turn and begins it.
    pub fn begin(&mut self, request: IdToken) -> TurnNo {
        self.last = self.last.next();
        self.live.retain(|turn| turn.request.is_some());
        self.live.push(LiveTurn { number: Some(self.last), request: Some(request), cancelled: false });
        self.last
    }

    /// The agent works though no prompt is under way. Says whether this began an unnumbered turn.
    pub fn begin_unnumbered(&mut self) -> bool {
        let fresh = self.live.is_empty();
        if fresh {
            self.live.push(LiveTurn { number: None, request: None, cancelled: false });
        }
        fresh
    }

    /// The turn that `request` began is over.
    pub fn end(&mut self, request: &IdToken) -> Option<LiveTurn> {
        let at = self.live.iter().position(|turn| turn.request.as_ref() == Some(request))?;
        Some(self.live.remove(at))
    }

    /// The oldest turn is over (v2 says only that the session is idle).
    pub fn end_oldest(&mut self) -> Option<LiveTurn> {
        if self.live.is_empty() { None } else { Some(self.live.remove(0)) }
    }

    /// All turns are over: the agent or the session ended.
    pub fn end_all(&mut self) -> Vec<LiveTurn> {
        self.asking.clear();
        std::mem::take(&mut self.live)
    }

    /// A cancel passed.
    pub fn cancel(&mut self) {
        for turn in &mut self.live {
            turn.cancelled = true;
        }
    }

    /// The agent asks for a permission.
    pub fn ask(&mut self, request: IdToken) {
        self.asking.insert(request);
    }

    /// It was answered.
    pub fn answered(&mut self, request: &IdToken) {
        self.asking.remove(request);
    }

    /// Returns the turn that calls belong to now: agents work on the oldest prompt first.
    pub fn current(&self) -> Option<&LiveTurn> {
        self.live.first()
    }

    /// Returns the number of the last turn that began; 0 before the first.
    pub fn last(&self) -> TurnNo {
        self.last
    }

    /// Returns where the session stands.
    pub fn phase(&self) -> Phase {
        match self.live.first() {
            None => Phase::Idle,
            Some(_) if self.live.iter().all(|turn| turn.cancelled) => Phase::Cancelling,
            Some(_) if !self.asking.is_empty() => Phase::AwaitingPermission,
            Some(_) => Phase::Prompting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> IdToken {
        IdToken::new(text)
    }

    #[test]
    fn a_turn_is_numbered_when_its_prompt_is_forwarded() {
        let mut turns = Turns::default();
        assert_eq!(turns.phase(), Phase::Idle);
        assert_eq!(turns.begin(id("1")), TurnNo(1));
        assert_eq!(turns.begin(id("2")), TurnNo(2));
        assert_eq!(turns.current().and_then(|turn| turn.number), Some(TurnNo(1)));
        turns.end(&id("1"));
        assert_eq!(turns.current().and_then(|turn| turn.number), Some(TurnNo(2)));
    }

    #[test]
    fn a_permission_interrupts_prompting_and_a_cancel_ends_both() {
        let mut turns = Turns::default();
        turns.begin(id("1"));
        turns.ask(id("7"));
        assert_eq!(turns.phase(), Phase::AwaitingPermission);
        turns.answered(&id("7"));
        assert_eq!(turns.phase(), Phase::Prompting);
        turns.cancel();
        assert_eq!(turns.phase(), Phase::Cancelling);
        turns.end(&id("1"));
        assert_eq!(turns.phase(), Phase::Idle);
    }

    #[test]
    fn work_without_a_prompt_opens_an_unnumbered_turn_that_a_prompt_replaces() {
        let mut turns = Turns::default();
        assert!(turns.begin_unnumbered());
        assert!(!turns.begin_unnumbered());
        assert_eq!(turns.begin(id("1")), TurnNo(1));
        assert_eq!(turns.current().and_then(|turn| turn.number), Some(TurnNo(1)));
    }
}
