//! Requests that nobody can be asked about in the editor, and requests that nobody answers.

use crate::base::{RequestKey, Tick};
use crate::config::Defer;
use crate::engine::Engine;
use crate::engine::docket::{Question, Request, State};
use crate::ledger::{Approval, Channel, Decider};

impl Engine {
    /// Says whether questions of this client's sessions wait for an answer from elsewhere, or get none.
    pub(super) fn defers(&self) -> bool {
        self.setup.config.defer != Defer::Ask && self.is_headless()
    }

    /// Nobody sits behind the client: the request waits for a command, or is denied.
    pub(super) fn defer(&mut self, key: &RequestKey, request: &Request) {
        if self.setup.config.defer == Defer::Deny {
            return self.deny(key, Decider::System, "nobody can be asked here");
        }
        if let Some(held) = self.docket.get_mut(key).and_then(|request| request.held.as_mut()) {
            held.question = Question::Deferred;
        }
        let prompted = Approval::Prompted {
            request: key.clone(),
            channel: Channel::None,
            verbatim: false,
            options: Vec::new(),
        };
        self.approval(&request.recorder, prompted);
        let wants = self.summary_of(key, &request.recorder);
        let text = format!(
            "Waiting for an answer to {wants}: `hunkgate approve {key}` or `hunkgate deny {key}` in a terminal."
        );
        self.say_in_chat(&request.session, &text);
    }

    /// Returns when a request that comes now is over without an answer.
    pub(super) fn wait_until(&self) -> Option<Tick> {
        let ms = self.setup.config.max_wait_s?.saturating_mul(1_000);
        Some(self.now.plus_ms(u32::try_from(ms).unwrap_or(u32::MAX)))
    }

    /// Ends the requests that waited too long: nobody decided, and the agent hears no.
    pub(super) fn stop_waiting(&mut self) {
        if self.docket.deadline().is_none_or(|due| due.mono > self.now.mono) {
            return;
        }
        let now = self.now.mono;
        let due = self.docket.which(|request| {
            let waits = request.state == State::Open && request.held.is_some();
            waits && request.until.is_some_and(|until| until.mono <= now)
        });
        for key in due {
            let waited_ms = self.waited(&key);
            let Some(mut request) = self.docket.close(&key) else { continue };
            let Some(held) = request.held.take() else { continue };
            let reason = "deadline".to_owned();
            let cancelled = Approval::Cancelled { request: key.clone(), reason, waited_ms };
            self.approval(&request.recorder, cancelled);
            self.no_longer_asked((&request.recorder, &key), &held);
            self.say_no((&key, &request), &held, "nobody answered in time");
        }
    }
}
