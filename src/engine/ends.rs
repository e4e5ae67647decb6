//! Ends: of a session, of the editor, of the agent.

use crate::acp::author;
use crate::base::{Leg, SessionId};
use crate::engine::conversation::About;
use crate::engine::{Action, Durability, Engine, Level};
use crate::ledger::{Event, Hi, Log};
use crate::session::Recording;
use crate::wire::{self, Head};

impl Engine {
    /// The session was closed or deleted by its peer. What is undecided stays undecided.
    pub(super) fn session_ended(&mut self, id: &SessionId, how: &str) {
        for member in self.household(id).into_iter().rev() {
            self.close_session(&member, how);
            self.sessions.remove(&member);
            self.strippers.remove(&member);
            self.faults.remove(&member);
        }
    }

    fn close_session(&mut self, id: &SessionId, why: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (key, recorded) = (session.key.clone(), matches!(session.recording, Recording::On(_)));
        let guest = session.principal.is_some();
        self.gates_end(id, if why == "agent_exit" { why } else { "session_end" });
        let Some(session) = self.sessions.get_mut(id) else { return };
        let turns = session.turns.end_all();
        let calls = session.calls.end_turn(crate::session::EndedTurn::All);
        if !recorded || session.adopted {
            return;
        }
        self.approvals_end(id, if why == "agent_exit" { why } else { "session_end" });
        for call in calls {
            self.close_window(id, &call.window, Hi::TurnEnd);
        }
        let open: Vec<_> = self
            .ledger
            .open_windows(&key)
            .filter(|(_, window)| window.proxy == self.setup.proxy)
            .map(|(_, window)| window.id.clone())
            .collect();
        for window in open {
            self.close_window(id, &window, Hi::TurnEnd);
        }
        if guest {
            return;
        }
        for turn in turns.into_iter().filter_map(|turn| turn.number) {
            let event = Event::TurnEnded { turn, stop: why.to_owned() };
            self.record(Log::Session(key.clone()), event, Durability::Written);
        }
        let event = Event::SessionClosed { why: why.to_owned() };
        self.record(Log::Session(key), event, Durability::Synced);
    }

    /// The editor is gone: nothing parked for the agent is lost, then it is told by the end of its input.
    pub(super) fn editor_closed(&mut self) {
        self.end_all_askings();
        let sessions: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        for session in &sessions {
            self.gates_end(session, "editor_closed");
            self.cancel_undecided(session, "editor_closed");
        }
        self.release_all(Leg::Agent);
        self.ending = true;
        self.out.push(Action::StopAgent);
    }

    fn release_all(&mut self, to: Leg) {
        let sessions: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        for session in sessions {
            for hold in self.holds.of_session(to, &session) {
                self.release(hold, crate::engine::conversation::Sharpness::Soft);
            }
        }
    }

    /// The agent is gone: every request it leaves open is answered with what it last said.
    pub(super) fn agent_exited(&mut self, code: i32, stderr_tail: &str) {
        let message = format!("the agent exited with code {code}");
        self.end_all_askings();
        let known: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        known.iter().for_each(|session| self.gates_end(session, "agent_exit"));
        known.iter().for_each(|session| self.approvals_end(session, "agent_exit"));
        for (to, line) in self.salvage() {
            match (to, wire::head(&line)) {
                (Leg::Editor, _) => self.send(Leg::Editor, line),
                (Leg::Agent, Head::Request { id, method, .. }) => {
                    self.remember(Leg::Editor, Some(id.to_id()), &method, (None, About::Nothing));
                }
                (Leg::Agent, Head::Notification { .. } | Head::Response { .. } | Head::Unreadable) => {}
            }
        }
        // An editor that closed its end may still read: what it asked is answered all the same.
        self.fail_outstanding(&message, code, stderr_tail);
        let sessions: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        for session in sessions {
            self.close_session(&session, "agent_exit");
        }
        if !self.ending && code != 0 {
            self.say(Level::Warn, message);
        }
        self.out.push(Action::Exit { code });
    }

    /// The agent could not be started, or was not because of ourselves (`command` is empty): whoever asks hears why.
    pub(super) fn agent_not_started(&mut self, command: &str, reason: &str, code: i32) {
        let command = self.setup.redactor.redact(command);
        let command = command.as_str();
        let message = if command.is_empty() {
            reason.to_owned()
        } else {
            self.say(Level::Warn, format!("cannot start {command:?}: {reason}"));
            format!("the agent command {command:?} could not be started: {reason}")
        };
        self.failed_start = Some((message, code));
        self.fail_unstarted();
    }

    /// Answers what is outstanding when there is no agent, and ends after the first answer.
    pub(super) fn fail_unstarted(&mut self) {
        let Some((message, code)) = self.failed_start.clone() else { return };
        if self.fail_outstanding(&message, code, "") > 0 || self.ending {
            self.out.push(Action::Exit { code });
        }
    }

    fn fail_outstanding(&mut self, message: &str, code: i32, stderr_tail: &str) -> usize {
        let mut outstanding = self.pending.end_all(Leg::Editor);
        outstanding.sort_by_key(|(_, request)| request.at);
        let data = serde_json::json!({ "exitCode": code, "stderr": stderr_tail });
        let count = outstanding.len();
        for (id, _) in outstanding {
            self.send(Leg::Editor, author::error_answer(&id, -32603, message, &data));
        }
        count
    }
}
