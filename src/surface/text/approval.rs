//! One line for one record of an approval.

use super::style::{brief, count, harmless};
use crate::ledger::{Approval, Asking, Assessment, Channel, Decider, Outcome, Settlement};

/// Says in one line what happened.
pub(super) fn approval_line(approval: &Approval) -> String {
    match approval {
        Approval::Requested(asking) => {
            format!("{} asks for {}{}", asking.request, wanted(asking), rest(asking))
        }
        Approval::Observed(asking) => {
            format!("{} not asked about: {}{}", asking.request, wanted(asking), rest(asking))
        }
        Approval::Assessed(it) => assessed(it),
        Approval::Prompted { request, channel, verbatim, options } => {
            let how = if *verbatim { "as the agent put it" } else { "in our words" };
            format!(
                "{request} shown in the {} {how}, with {}",
                door(*channel),
                count(options.len(), "answer")
            )
        }
        Approval::Decided { request, outcome, by, option, reason, waited_ms, .. } => {
            let outcome = match outcome {
                Outcome::Allow => "allowed",
                Outcome::Deny => "denied",
                Outcome::Unknown => "answered with something unknown",
            };
            let option = option.as_ref();
            let chosen = option.map(|it| format!(": \"{}\" ({})", brief(it.name.as_str(), 60), it.kind));
            let reason =
                reason.as_ref().map(|it| format!(", {}", brief(it.as_str(), 80))).unwrap_or_default();
            format!(
                "{request} {outcome} by {} after {waited_ms} ms{}{reason}",
                decider(by),
                chosen.unwrap_or_default()
            )
        }
        Approval::Used { request } => format!("{request} goes on"),
        Approval::Settled { request, outcome } => {
            let outcome = match outcome {
                Settlement::Ok => "is done",
                Settlement::Failed => "failed",
                Settlement::Unknown => "ended, nobody says how",
            };
            format!("{request} {outcome}")
        }
        Approval::Cancelled { request, reason, waited_ms } => {
            format!("{request} over without a decision after {waited_ms} ms: {reason}")
        }
        Approval::Voided { request, expected, found } => {
            format!("{request} void: changed since it was approved ({expected} → {found})")
        }
        Approval::AnswerRejected { request, why, answer, .. } => {
            format!("an answer to {request} does not count ({why}): {}", brief(answer.as_str(), 80))
        }
        Approval::Differs { call, path, .. } => {
            format!("call {call} wrote something else to {path} than was shown and approved")
        }
        Approval::GrantIssued(grant) => format!("{} allows from now on: {}", grant.id, grant.says),
        Approval::GrantRevoked { grant, reason } => format!("{grant} allows no more: {reason}"),
        Approval::PolicyLoaded { approvals, rules, .. } => {
            format!("policy: {approvals}, {}", count(usize::try_from(*rules).unwrap_or(usize::MAX), "rule"))
        }
        Approval::GateBlind { mode } => format!("not gated: in mode {mode} the agent does not ask"),
    }
}

fn assessed(it: &Assessment) -> String {
    let why = it.reasons.first().map(|why| format!(": {}", brief(why.as_str(), 100))).unwrap_or_default();
    let seen = match it.observers.as_slice() {
        [] => String::new(),
        ids => format!(", observed: {}", harmless(&ids.join(", "))),
    };
    format!("{} {} says {} ({}, {}{seen}){why}", it.request, it.assessor, it.outcome, it.class, it.risk)
}

fn wanted(asking: &Asking) -> String {
    harmless(&asking.summary())
}

fn rest(asking: &Asking) -> String {
    let call = asking.call.as_ref().map(|call| format!(", call {call}")).unwrap_or_default();
    let covered = asking.covered_by.as_ref().map(|by| format!(", covered by {by}")).unwrap_or_default();
    format!("{call}{covered}")
}

fn decider(by: &Decider) -> String {
    match by {
        Decider::Editor => "the editor".to_owned(),
        Decider::Person { channel } => format!("a person ({})", door(*channel)),
        Decider::Floor => "a built-in floor".to_owned(),
        Decider::Rule { id } => format!("rule {id}"),
        Decider::Mode => "the mode".to_owned(),
        Decider::Covered { by } => format!("{by}, which wanted the same"),
        Decider::Grant { id } => format!("standing permission {id}"),
        Decider::Classifier => "the classifier".to_owned(),
        Decider::Assessor { id } => format!("assessor {id}"),
        Decider::System => "hunkgate".to_owned(),
    }
}

fn door(channel: Channel) -> &'static str {
    match channel {
        Channel::Editor => "editor",
        Channel::Cli => "command line",
        Channel::Tui => "terminal UI",
        Channel::Web => "console",
        Channel::Mcp => "MCP server",
        Channel::None => "nowhere",
    }
}
