//! What of the approvals of one session is not over: open requests, allowed ones, standing permissions.

use crate::base::{CallId, RequestKey, TurnNo, WallNs};
use crate::ledger::{Approval, Asking, Decider, Grant, Outcome, Redacted};
use std::collections::{BTreeMap, BTreeSet};

/// The folded approvals of one session. What is over stays in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    asked: u32,
    announced: u32,
    open: BTreeMap<RequestKey, StandingRequest>,
    grants: Vec<Grant>,
    given: BTreeMap<String, WallNs>,
    used: BTreeMap<String, u32>,
    approved: BTreeMap<(Option<TurnNo>, CallId), WallNs>,
    differing: BTreeSet<(CallId, Option<TurnNo>, String)>,
    denied: Vec<DeniedRequest>,
    blind: Option<String>,
    policy: Option<String>,
}

/// A request that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingRequest {
    /// When it was asked.
    pub at: WallNs,
    /// What.
    pub asking: Asking,
    /// How far it has come.
    pub state: StandingState,
}

/// A request that a rule refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedRequest {
    /// The request.
    pub request: RequestKey,
    /// What it wanted, in one line.
    pub summary: String,
    /// Why, for people.
    pub reason: Option<Redacted>,
}

/// How many refused requests are remembered, to tell the agent of them.
const DENIED: usize = 64;

/// How far a request has come that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StandingState {
    /// Nobody has decided.
    Open,
    /// It was allowed, and has not gone on.
    Allowed,
    /// It went on, and nothing is known of its end.
    Used,
}

impl Standing {
    /// Takes in one record.
    pub(super) fn apply(&mut self, at: WallNs, approval: &Approval) {
        match approval {
            Approval::Requested(asking) => {
                let known = self.open.get(&asking.request);
                self.asked += u32::from(known.is_none());
                let at = known.map_or(at, |known| known.at);
                let row = StandingRequest { at, asking: asking.clone(), state: StandingState::Open };
                self.open.insert(asking.request.clone(), row);
            }
            Approval::Observed(_) => self.announced += 1,
            Approval::Decided { request, outcome: Outcome::Allow, by, .. } => {
                if let Decider::Grant { id } = by
                    && self.grants.iter().any(|grant| grant.id == *id)
                {
                    *self.used.entry(id.clone()).or_default() += 1;
                }
                if let Some(row) = self.open.get_mut(request) {
                    row.state = StandingState::Allowed;
                    if let Some(call) = &row.asking.call {
                        self.approved.insert((row.asking.turn, call.clone()), at);
                    }
                }
            }
            Approval::Used { request } => {
                if let Some(row) = self.open.get_mut(request) {
                    row.state = StandingState::Used;
                }
            }
            Approval::Decided {
                request, outcome: Outcome::Deny, by: Decider::Rule { .. }, reason, ..
            } => {
                if let Some(row) = self.open.remove(request) {
                    let (summary, reason) = (row.asking.summary(), reason.clone());
                    self.denied.push(DeniedRequest { request: request.clone(), summary, reason });
                    let over = self.denied.len().saturating_sub(DENIED);
                    self.denied.drain(..over);
                }
            }
            Approval::Decided { request, .. }
            | Approval::Settled { request, .. }
            | Approval::Cancelled { request, .. }
            | Approval::Voided { request, .. } => {
                self.open.remove(request);
            }
            Approval::Differs { call, turn, path } => {
                self.differing.insert((call.clone(), *turn, path.to_string()));
            }
            Approval::GrantIssued(grant) => {
                self.given.insert(grant.id.clone(), at);
                self.grants.push(grant.clone());
            }
            Approval::GrantRevoked { grant, reason: _ } => {
                self.grants.retain(|known| known.id != *grant);
                self.used.remove(grant);
                self.given.remove(grant);
            }
            Approval::GateBlind { mode } => self.blind = Some(mode.clone()),
            Approval::PolicyLoaded { digest, .. } => self.policy = Some(digest.clone()),
            Approval::Assessed(_) | Approval::Prompted { .. } | Approval::AnswerRejected { .. } => {}
        }
    }

    /// Says how many requests were made.
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Says how many commands, reads and writes were seen that nobody was asked about.
    pub fn announced(&self) -> u32 {
        self.announced
    }

    /// Returns the requests that are not over, by name.
    pub fn open(&self) -> impl Iterator<Item = &StandingRequest> {
        self.open.values()
    }

    /// Returns a request that is not over.
    pub fn request(&self, key: &RequestKey) -> Option<&StandingRequest> {
        self.open.get(key)
    }

    /// Returns the standing permissions.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Returns when a standing permission was given.
    pub fn given(&self, grant: &str) -> Option<WallNs> {
        self.given.get(grant).copied()
    }

    /// Says how often a standing permission may still allow at `now`; `None`: as often as it is asked. One for a time never does
    /// before it was given: the clock was set back since.
    pub fn uses_left(&self, grant: &Grant, now: WallNs) -> Option<u32> {
        let given = self.given(&grant.id).unwrap_or(now);
        if grant.expires.is_some_and(|expires| now >= expires || now < given) {
            return Some(0);
        }
        let used = self.used.get(&grant.id).copied().unwrap_or_default();
        grant.uses.map(|uses| uses.saturating_sub(used))
    }

    /// Returns when a call of a turn was last allowed by an answer.
    pub fn approved_at(&self, turn: Option<TurnNo>, call: &CallId) -> Option<WallNs> {
        self.approved.get(&(turn, call.clone())).copied()
    }

    /// Returns the turns in which a call of this name was allowed.
    pub fn turns_of(&self, call: &CallId) -> impl DoubleEndedIterator<Item = Option<TurnNo>> {
        self.approved.keys().filter(move |(_, known)| known == call).map(|(turn, _)| *turn)
    }

    /// Says whether it was recorded already that a call wrote something else than was shown.
    pub fn is_said_to_differ(&self, turn: Option<TurnNo>, call: &CallId, path: &str) -> bool {
        self.differing.contains(&(call.clone(), turn, path.to_owned()))
    }

    /// Returns the requests that rules refused last, the oldest first.
    pub fn denied(&self) -> &[DeniedRequest] {
        &self.denied
    }

    /// Returns the last mode in which the agent was found not to ask.
    pub fn blind(&self) -> Option<&str> {
        self.blind.as_deref()
    }

    /// Returns the digest of the rules that were in force last.
    pub fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }
}
