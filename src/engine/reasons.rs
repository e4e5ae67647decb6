//! What a question says beside what is wanted: which part of it matters, and what was approved before.

use crate::acp::{Dialect, WantedBy};
use crate::base::CallId;
use crate::engine::Engine;
use crate::engine::docket::{Parcel, Request};
use crate::policy::{Effect, Layer};
use crate::wire::splice;
use bytes::Bytes;
use serde_json::json;

impl Engine {
    /// Says why a person is asked, where the request itself does not show it: the part of a command that matters, the rule or
    /// floor that wants a person, what was approved before in the same call.
    pub(super) fn why_asked(&self, request: &Request, held: &Parcel) -> Option<String> {
        let before = self.approved_before(request).map(|(_, says)| says);
        let verdict = &held.finding.as_ref()?.verdict;
        let first = verdict.reasons.first();
        let part = first.and_then(|reason| verdict.plan.get(reason.part?)).filter(|_| verdict.plan.len() > 1);
        let spoken = first.filter(|reason| matches!(reason.layer, Layer::Rule | Layer::Floor));
        let why = match (part, first, spoken) {
            (Some(part), Some(reason), _) => Some(format!("Asked because of `{part}`: {}", reason.says)),
            (None, _, Some(reason)) if reason.layer == Layer::Rule => {
                Some(format!("A rule asks: {}", reason.says))
            }
            (None, _, Some(reason)) => Some(format!("Take care: it {}", reason.says)),
            (None | Some(_), _, None) | (Some(_), None, _) => None,
        };
        let again = held.again.then(|| "Asked again: the call has said something else since.".to_owned());
        let said: Vec<String> = [again, before, why].into_iter().flatten().collect();
        (!said.is_empty()).then(|| super::question::visible(&said.join("\n")))
    }

    /// Returns the call of what was approved before for the same call, or for the same file, and says so.
    pub(super) fn approved_before(&self, request: &Request) -> Option<(Option<CallId>, String)> {
        let writes = |of: &Request| -> Vec<String> {
            let path = |effect: &Effect| {
                if let Effect::Write { path, .. } = effect { Some(path.clone()) } else { None }
            };
            of.subject.effects().iter().filter_map(path).collect()
        };
        let (mine, subject) = (writes(request), &request.subject);
        let related = |of: &Request| {
            let same_call = request.call.is_some() && of.call == request.call;
            let same_file = writes(of).iter().any(|path| mine.contains(path));
            of.session == request.session
                && of.turn == request.turn
                && !of.options.is_empty()
                && of.state != super::docket::State::Open
                && (same_file || (same_call && of.subject != *subject))
        };
        let key = self.docket.which(related).into_iter().next_back()?;
        let before = self.docket.get(&key)?;
        let what = self.summary_of(&key, &request.recorder);
        let says = if before.subject == *subject {
            format!(
                "Approved before: {what}. Asked again because that holds once, and for the file as it stood then."
            )
        } else {
            format!("Approved before: {what}. Asked again because this is not exactly that.")
        };
        Some((before.call.clone(), says))
    }

    /// Adds why a person is asked to the agent's own question, where that hides nothing of it: to a list of contents that it
    /// brings, or to a command that brings none; in version 2 as the description.
    pub(super) fn with_why(&self, line: Bytes, (request, held): (&Request, &Parcel)) -> Bytes {
        let Some(why) = self.why_asked(request, held) else { return line };
        let text = format!("hunkgate: {why}");
        if self.dialect == Dialect::V2 {
            let value = json!(text).to_string();
            return splice::add_member(&line, &["params"], "description", &value).unwrap_or(line);
        }
        let block = json!({ "type": "content", "content": { "type": "text", "text": text } }).to_string();
        let content = ["params", "toolCall", "content"];
        if splice::find(&line, &content).is_some_and(|content| content.is_array()) {
            return splice::append_to_array(&line, &content, &block).unwrap_or(line);
        }
        let runs = matches!(request.subject.effects(), [Effect::Exec { .. }])
            && held.wanted.by == WantedBy::Permission;
        let bare = splice::find(&line, &content).is_none();
        if runs && bare {
            let value = format!("[{block}]");
            return splice::add_member(&line, &["params", "toolCall"], "content", &value).unwrap_or(line);
        }
        line
    }
}
