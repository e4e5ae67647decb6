//! Accept and reject: from a listing and a selector to a plan.

use crate::base::{HunkId, SessionKey};
use crate::ledger::{
    Blobs, CallKey, CallRow, Decision, Entry, Hunk, ItemShape, Kin, Listing, ReviewState, Verb, fingerprint,
    path_text,
};
use crate::review::revert::{Chosen, reverts};
use crate::review::select::{Scope, Selection, select};
use crate::review::verdict::{Judge, Verdict};
use crate::review::{Decide, DecideVerb, Plan, PlannedItem, Problem, Selector};
use std::collections::BTreeSet;

/// Plans an accept or reject of one session from its listing.
pub(super) fn plan_decide(scope: Scope<'_>, decide: &Decide, blobs: &dyn Blobs) -> Result<Plan, Problem> {
    let (selector, gone) = without_gone(scope.listing, decide);
    let selection = select(scope, &selector)?;
    let family = Kin::of(scope.ledger).family(scope.session);
    let mut plan = match decide.verb {
        DecideVerb::Accept => plan_accept(scope, &family, decide, &selection),
        DecideVerb::Reject => {
            let judge = Judge { family, force: decide.force };
            plan_reject(scope, &judge, decide, &selection, blobs)
        }
    };
    plan.said = gone;
    plan.left.extend(selection.left.into_iter().map(|(hunk, reason)| item(hunk, "left", Some(reason))));
    Ok(plan)
}

/// Digits of a whole id: who quotes one has seen it in a listing.
const WHOLE: usize = 32;

/// Ids that were quoted whole, or with digests, and are no longer listed are stale, not unknown.
fn without_gone(listing: &Listing, decide: &Decide) -> (Selector, Vec<ItemShape>) {
    let Selector::Ids(ids) = &decide.selector else { return (decide.selector.clone(), Vec::new()) };
    let known = |id: &String| {
        let listed = || listing.hunks.iter().any(|hunk| hunk.id.as_str().starts_with(id.as_str()));
        let rejected = || listing.rejected.iter().any(|hunk| hunk.id.as_str() == id);
        match decide.digests.is_empty() {
            true => id.len() < WHOLE || listed() || rejected(),
            false => listed(),
        }
    };
    let (there, gone): (Vec<String>, Vec<String>) = ids.iter().cloned().partition(known);
    let gone = gone.into_iter().map(|id| ItemShape {
        id: HunkId::new(id),
        path: String::new(),
        root: String::new(),
        state: ReviewState::Unreviewed,
        outcome: "refused".to_owned(),
        reason: Some("stale: it is no longer there".to_owned()),
    });
    (Selector::Ids(there), gone.collect())
}

fn plan_accept(
    scope: Scope<'_>,
    family: &BTreeSet<SessionKey>,
    decide: &Decide,
    selection: &Selection<'_>,
) -> Plan {
    let mut plan = empty(Verb::Accept);
    for hunk in &selection.chosen {
        if hunk.state == ReviewState::Accepted {
            plan.left.push(item(hunk, "left", Some("already accepted".to_owned())));
            continue;
        }
        let decision = decision(scope, family, hunk, ReviewState::Accepted);
        let (was, root) = (hunk.state, hunk.root_path.clone());
        plan.items.push(PlannedItem { was, root, decision, refused: stale(decide, hunk) });
    }
    plan
}

fn plan_reject(
    scope: Scope<'_>,
    judge: &Judge,
    decide: &Decide,
    selection: &Selection<'_>,
    blobs: &dyn Blobs,
) -> Plan {
    let mut plan = empty(Verb::Reject { reason: decide.reason.clone() });
    let mut chosen = Vec::new();
    for hunk in &selection.chosen {
        let refused = stale(decide, hunk).or_else(|| degraded(scope, decide, hunk));
        let verdict = refused.map_or_else(|| judge.judge(hunk), Verdict::Refused);
        let (partly, refused) = match verdict {
            Verdict::Whole => (None, None),
            Verdict::Partly(text) => (Some(text), None),
            Verdict::Refused(reason) => (None, Some(reason)),
        };
        if refused.is_none() {
            chosen.push(Chosen { hunk, partly });
        }
        let decision = decision(scope, &judge.family, hunk, ReviewState::Rejected);
        plan.items.push(PlannedItem { was: hunk.state, root: hunk.root_path.clone(), decision, refused });
    }
    let reverts = reverts(scope.listing, blobs, &chosen);
    for item in plan.items.iter_mut().filter(|item| item.refused.is_none()) {
        let at = (item.decision.root.clone(), item.decision.path.clone());
        item.refused = reverts.refused.get(&at).cloned();
    }
    plan.files = reverts.files;
    plan
}

fn stale(decide: &Decide, hunk: &Hunk) -> Option<String> {
    let shown = decide.digests.is_empty() || decide.digests.contains(&hunk.digest);
    (!shown).then(|| "stale: it changed since it was shown".to_owned())
}

/// What a damaged record says of who wrote what cannot be trusted: reverted by force only.
fn degraded(scope: Scope<'_>, decide: &Decide, hunk: &Hunk) -> Option<String> {
    let why = scope.ledger.degraded(scope.session, &hunk.root).filter(|_| !decide.force)?;
    Some(format!("degraded: {why}; rebase the root, or use --force"))
}

fn empty(verb: Verb) -> Plan {
    Plan { verb, files: Vec::new(), items: Vec::new(), left: Vec::new(), said: Vec::new() }
}

fn item(hunk: &Hunk, outcome: &str, reason: Option<String>) -> ItemShape {
    ItemShape {
        id: hunk.id.clone(),
        path: path_text(&hunk.path),
        root: hunk.root_path.clone(),
        state: hunk.state,
        outcome: outcome.to_owned(),
        reason,
    }
}

/// Makes the decision on a hunk as it is listed.
fn decision(scope: Scope<'_>, family: &BTreeSet<SessionKey>, hunk: &Hunk, state: ReviewState) -> Decision {
    let has_lines = hunk.entry == Entry::Text;
    let renamed = matches!(hunk.entry, Entry::Rename { .. });
    Decision {
        hunk: hunk.id.clone(),
        state,
        fingerprint: fingerprint(),
        digest: hunk.digest.clone(),
        root: hunk.root.clone(),
        path: hunk.path.clone(),
        old_path: hunk.old_path.clone().filter(|_| renamed),
        base: hunk.base,
        seen: hunk.current,
        left: hunk.current,
        base_range: has_lines.then_some(hunk.base_range),
        current_range: has_lines.then_some(hunk.current_range),
        calls: credited(scope, family, hunk),
        returned: hunk.returned,
    }
}

/// Returns the calls that a hunk names, by their keys.
fn credited(scope: Scope<'_>, family: &BTreeSet<SessionKey>, hunk: &Hunk) -> Vec<CallKey> {
    let named = |row: &CallRow| {
        let mut keys = std::iter::once(scope.session).chain(family);
        let session = keys.find(|key| scope.ledger.raw_session(key) == row.session_id)?.clone();
        Some(CallKey { session, turn: row.turn, call: row.tool_call_id.clone() })
    };
    hunk.calls.iter().filter_map(named).collect()
}
