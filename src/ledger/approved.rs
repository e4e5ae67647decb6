//! Approved is not written: whether a call left in a file what was shown when it was allowed.

use crate::base::{RepoPath, SessionKey, TurnNo, WallNs};
use crate::ledger::{
    Blobs, Chain, Claim, ClaimBody, ClaimText, FileState, Hunk, Ledger, Purpose, SessionLedger,
};
use std::collections::BTreeSet;

/// Names on each item the calls that were allowed with another text for its path than they left there.
pub(super) fn mark(
    ledger: &Ledger,
    (own, family): (&SessionLedger, &BTreeSet<SessionKey>),
    hunks: &mut [Hunk],
    blobs: &dyn Blobs,
) {
    if own.standing().asked() == 0 {
        return;
    }
    for hunk in hunks.iter_mut() {
        let Some(chain) = ledger.chain(&hunk.root) else { continue };
        let shown = Shown { own, family, chain, blobs, path: &hunk.path };
        hunk.approved_differs = shown.differing(hunk.turn);
    }
}

/// What was shown for one path.
struct Shown<'s> {
    own: &'s SessionLedger,
    family: &'s BTreeSet<SessionKey>,
    chain: &'s Chain,
    blobs: &'s dyn Blobs,
    path: &'s RepoPath,
}

impl Shown<'_> {
    fn differing(&self, turn: Option<TurnNo>) -> Vec<crate::base::CallId> {
        let texts = self
            .chain
            .claims()
            .filter(|claim| claim.path == *self.path && self.family.contains(&claim.session) && tells(claim));
        let mut calls: Vec<(&Claim, WallNs)> = Vec::new();
        for claim in texts.filter(|claim| turn.is_none() || claim.turn == turn) {
            let approved = self.own.standing().approved_at(claim.turn, &claim.call);
            let known = calls.iter().any(|(known, _)| known.call == claim.call && known.turn == claim.turn);
            if let Some(at) = approved.filter(|at| claim.at <= *at && !known) {
                calls.push((claim, at));
            }
        }
        let differs = |(claim, at): &(&Claim, WallNs)| self.left_another(claim, *at);
        calls.iter().filter(|it| differs(it)).map(|(claim, _)| claim.call.clone()).collect()
    }

    /// Says whether a call that ended changed the path, and at no look stood there what was shown.
    fn left_another(&self, claim: &Claim, approved: WallNs) -> bool {
        let of_call = |purpose: &Purpose| matches!(purpose, Purpose::Call(facts) if facts.call == claim.call);
        let mut windows = self.chain.windows().filter(|window| {
            window.session == claim.session && window.turn == claim.turn && of_call(&window.purpose)
        });
        let Some(end) = windows.next_back().and_then(|window| window.closed).map(|closed| closed.at) else {
            return false;
        };
        let shown: Vec<&Claim> = self
            .chain
            .claims()
            .filter(|it| it.call == claim.call && it.turn == claim.turn && it.session == claim.session)
            .filter(|it| it.path == *self.path && it.at <= approved && tells(it))
            .collect();
        let mut changed = false;
        for look in self.chain.observations().iter().filter(|look| look.at >= claim.at) {
            for change in look.changes.iter().filter(|change| change.path == *self.path) {
                changed = true;
                if shown.iter().any(|claim| self.stands(claim, change.after)) {
                    return false;
                }
            }
            if look.began >= end {
                break;
            }
        }
        changed
    }

    /// Says whether what a claim tells stands in a state of the file; yes where that cannot be told.
    fn stands(&self, claim: &Claim, state: Option<FileState>) -> bool {
        let (old, new) = match &claim.body {
            ClaimBody::Fragment { old, new } => (Some(old), new),
            ClaimBody::Whole { old, new } | ClaimBody::Diff { old, new } => (old.as_ref(), new),
            ClaimBody::Location | ClaimBody::Delete | ClaimBody::Move { .. } => return true,
        };
        let Some(state) = state else { return false };
        let Some(bytes) = self.blobs.bytes(state.blob) else { return true };
        if new.matches(&bytes) {
            return true;
        }
        let whole = matches!(claim.body, ClaimBody::Whole { .. });
        match (old, new) {
            (_, ClaimText::Whole(new)) if !new.is_empty() => !whole && holds(&bytes, new),
            (Some(ClaimText::Whole(old)), ClaimText::Whole(_)) => !whole && !holds(&bytes, old),
            // Of a long text only its digest is known: a part of a file cannot be compared.
            (_, ClaimText::Digest(_)) => !whole,
            (None | Some(ClaimText::Digest(_)), ClaimText::Whole(_)) => !whole,
        }
    }
}

fn tells(claim: &Claim) -> bool {
    matches!(claim.body, ClaimBody::Fragment { .. } | ClaimBody::Whole { .. } | ClaimBody::Diff { .. })
}

/// Says whether a text holds a fragment, whatever their line endings.
fn holds(bytes: &[u8], fragment: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    plain(&String::from_utf8_lossy(bytes)).contains(plain(fragment).trim_end_matches('\n'))
}
