//! What only the engine knows of a session: who its peers are, and what is enforced.

use crate::acp::Questions;
use crate::acp::author::CommandSpec;
use crate::base::SessionId;
use crate::config::{Approvals, AtTurnEnd, Holdable, Mode};
use crate::engine::{Durability, Engine};
use crate::ledger::{Event, ListingShape, Log, NameShape, PolicyShape, RootShape, StatusShape};
use crate::review;
use crate::session::Recording;

impl Engine {
    /// Returns what a session's status is, given its listing.
    pub(super) fn status(&self, id: &SessionId, listing: &ListingShape) -> StatusShape {
        let session = self.sessions.get(id);
        let name = |peer: &Option<crate::acp::Peer>| {
            let peer = peer.as_ref();
            NameShape {
                name: peer.map(|peer| peer.name.clone()).unwrap_or_default(),
                version: peer.and_then(|peer| peer.version.clone()),
            }
        };
        let mut warnings = self.setup.config.warnings.clone();
        let mut roots = Vec::new();
        if let Some(session) = session {
            if let Recording::Off(reason) = &session.recording {
                warnings.push(format!("not recorded: {reason}"));
            }
            warnings.extend(self.unreachable(&session.key));
            for root in session.roots() {
                let seen = self.sights.get(&root.root);
                roots.push(RootShape {
                    root: String::from_utf8_lossy(&root.top).into_owned(),
                    kind: root.kind.to_owned(),
                    observing: seen.map_or(root.observing, |seen| seen.sight.observing).to_owned(),
                    because: seen.and_then(|seen| seen.sight.because.clone()),
                    watch_missed: seen.map_or(0, |seen| seen.sight.missed),
                    degraded: self.degraded(&session.key, &root.root),
                });
            }
        }
        let ledger = session.and_then(|session| self.ledger.session(&session.key));
        let gated = self.is_gated(id);
        let blind = self.blind_mode(id);
        if let Some(mode) = &blind {
            warnings.push(format!(
                "not gated: in mode {mode} the agent does not ask; its changes are reviewed after the turn"
            ));
        } else if !gated && ledger.is_some_and(|ledger| !ledger.turns().is_empty()) {
            warnings.push(review::NOT_GATED.into());
        }
        warnings.extend(self.not_asked(id));
        if let Some(ledger) = ledger {
            // What is said of the policy, and of what cannot be written, is said for as long as it holds.
            let over = |topic: &str| matches!(topic, "policy" | super::faults::UNWRITTEN);
            let notices = ledger.notices().iter().filter(|notice| !over(&notice.topic));
            warnings.extend(notices.rev().take(5).map(|notice| notice.text.clone()));
        }
        let mut agent = name(&self.agent);
        let mut client = name(&self.client);
        if let Some(header) = ledger.and_then(|ledger| ledger.header()).filter(|_| self.agent.is_none()) {
            agent =
                NameShape { name: header.agent.as_str().to_owned(), version: header.agent_version.clone() };
            client.name = header.client.clone().unwrap_or_default();
        }
        StatusShape {
            session_id: id.as_str().to_owned(),
            agent,
            client,
            protocol: self.dialect.version().max(ledger.and_then(|l| l.header()).map_or(0, |h| h.protocol)),
            mode: session
                .and_then(|session| session.mode.clone())
                .or(ledger.and_then(|l| l.mode()).map(Into::into)),
            policy: self.policy_of(id),
            gated,
            gate: self.gate_of(id),
            queue: session
                .map(|session| review::queue_counts(&self.ledger, &session.key, listing))
                .unwrap_or_default(),
            roots,
            gaps: self.gaps_of(id),
            notes_pending: self.notes_pending(id),
            warnings,
        }
    }

    /// Says why the editor does not ask at a turn's end, where it should and cannot.
    fn not_asked(&self, id: &SessionId) -> Option<String> {
        let wanted = self.setup.config.review.at_turn_end == AtTurnEnd::Ask && self.client.is_some();
        match self.questions(id) {
            Questions::None(reason) if wanted => {
                Some(format!("not asked in the editor at a turn's end: {reason}"))
            }
            Questions::None(_) | Questions::Buttons | Questions::Form => None,
        }
    }

    fn gaps_of(&self, id: &SessionId) -> u32 {
        let chains = self.roots_of(id);
        let gaps = chains.iter().filter_map(|root| self.ledger.chain(root)).map(|chain| chain.gaps().len());
        u32::try_from(gaps.sum::<usize>()).unwrap_or(u32::MAX)
    }

    fn notes_pending(&self, id: &SessionId) -> u32 {
        let Some(session) = self.sessions.get(id) else { return 0 };
        let pending = review::pending(&self.ledger, &session.key);
        pending.map_or(0, |note| u32::try_from(note.commands.len() + note.comments.len()).unwrap_or(u32::MAX))
    }

    /// Says whether this agent has ever asked before it wrote. An agent that never asked cannot be gated.
    fn is_gated(&self, id: &SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return false };
        let asked = |ledger: &crate::ledger::SessionLedger| {
            ledger.standing().asked() > 0 || !ledger.permissions().is_empty()
        };
        self.blind_mode(id).is_none() && self.ledger.session(&session.key).is_some_and(asked)
    }

    /// Returns the mode of a session when it is one in which the agent does not ask.
    fn blind_mode(&self, id: &SessionId) -> Option<String> {
        let session = self.sessions.get(id)?;
        let recorded = || self.ledger.session(&session.key)?.mode().map(str::to_owned);
        let mode = session.mode.clone().or_else(recorded)?;
        let blind = self.setup.config.mode(self.agent_id().as_str(), Some(&mode)) == Mode::Auto;
        blind.then_some(mode)
    }

    /// Returns the policy in force: what the mode asks for, and what of that the agent lets us enforce.
    pub(super) fn policy_of(&self, id: &SessionId) -> PolicyShape {
        let agent = self.agent_id();
        let mode = self.sessions.get(id).and_then(|session| session.mode.clone());
        let configured = match self.setup.config.mode(agent.as_str(), mode.as_deref()) {
            Mode::Plan => "none",
            Mode::Normal => "pre_write",
            Mode::Auto => "post_turn",
        };
        let holds = configured == "pre_write" && !self.setup.config.hold.is_empty();
        let effective = match configured {
            "none" => "none",
            _ if holds && self.is_gated(id) => "pre_write",
            _ => "post_turn",
        };
        let judged = [
            ("session/request_permission", Some(Holdable::Permission)),
            ("fs/read_text_file", None),
            ("fs/write_text_file", Some(Holdable::Fs)),
            ("terminal/create", Some(Holdable::Terminal)),
        ];
        let held = |message: Option<Holdable>| {
            holds && message.is_some_and(|message| self.setup.config.hold.contains(&message))
        };
        let enforced = judged.into_iter().filter(|(_, message)| self.enforces() || held(*message));
        let enforced_on = enforced.map(|(method, _)| method.to_owned()).collect();
        PolicyShape { mode, configured: configured.into(), effective: effective.into(), enforced_on }
    }

    /// The session's mode is known, or changed.
    pub(super) fn mode_is(&mut self, id: &SessionId, mode: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.mode = Some(mode.to_owned());
        let (key, recorded) =
            (session.key.clone(), Self::is_recorded(session) && session.principal.is_none());
        let known = self.ledger.session(&key).and_then(|ledger| ledger.mode()) == Some(mode);
        if recorded && !known {
            let event = Event::ModeChanged { mode: mode.to_owned() };
            self.record(Log::Session(key), event, Durability::Written);
            self.gate_blind(id, mode);
        }
    }

    /// Returns the name of our slash command in a session, without its slash; empty when it is switched off.
    pub(super) fn command_of_session(&self, id: &SessionId) -> String {
        let session = self.sessions.get(id).and_then(|session| session.command.clone());
        session.unwrap_or_else(|| self.setup.config.review.command.clone())
    }

    /// Chooses the name of our slash command in a session, so that it is none of the agent's own.
    pub(super) fn choose_command(&mut self, id: &SessionId, of_agent: &[String]) {
        let wanted = self.setup.config.review.command.clone();
        let Some(session) = self.sessions.get_mut(id) else { return };
        let free = |name: &String| !of_agent.contains(name);
        let others = (2..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain([format!("{wanted}-review")]).chain(others);
        session.command = names.find(free).filter(|name| *name != wanted && !wanted.is_empty());
    }

    /// Returns our slash commands, as they are advertised in a session.
    pub(super) fn command_specs(&self, id: &SessionId) -> Vec<CommandSpec> {
        review::commands(&self.command_of_session(id))
            .into_iter()
            .map(|spec| CommandSpec { name: spec.name, description: spec.description, hint: Some(spec.hint) })
            .collect()
    }

    /// Returns what a prompt asks of us, when it is ours.
    pub(super) fn slash_of(&self, fact: &crate::acp::Fact) -> Option<Result<review::Command, String>> {
        let crate::acp::Fact::Prompt { session, text } = fact else { return None };
        review::parse(text, &self.command_of_session(session))
    }

    /// Says in the conversation what is held and asked before the agent writes.
    pub(super) fn policy_text(&self, id: &SessionId) -> String {
        let policy = self.policy_of(id);
        let config = &self.setup.config;
        let mode = policy.mode.as_deref().unwrap_or("none");
        let judged = match config.approvals {
            Approvals::Observe => "requests pass and are recorded",
            Approvals::Enforce => "requests are judged",
        };
        let enforced = match policy.enforced_on.is_empty() {
            true => "nothing".to_owned(),
            false => policy.enforced_on.join(", "),
        };
        let mut text = format!(
            "- mode of the agent: {mode}, which asks for {}\n- in force: {}; held before a write: {enforced}\n- {judged}; {}\n",
            policy.configured.replace('_', " "),
            policy.effective.replace('_', " "),
            review::counted(config.rules.len(), "rule")
        );
        if !self.is_gated(id) {
            text.push_str(
                "- this agent has not asked before it wrote; its changes are reviewed after the turn\n",
            );
        }
        text.push_str(
            "\n`hunkgate policy check -- COMMAND` in a terminal says what the rules say of a command.",
        );
        text
    }

    /// Says in the conversation whether the person is asked at a turn's end of this session, and why not.
    pub(super) fn asking_text(&self, id: &SessionId) -> String {
        let review = &self.setup.config.review;
        let command = self.command_of_session(id);
        match (review.at_turn_end, self.questions(id)) {
            (AtTurnEnd::Off, _) => {
                "You are not asked: review.at_turn_end is \"off\" in the configuration.".into()
            }
            (AtTurnEnd::Summary, _) => {
                "You are not asked: review.at_turn_end is \"summary\" in the configuration.".into()
            }
            (AtTurnEnd::Ask, Questions::None(reason)) => {
                format!("You are not asked in this editor: {reason}.")
            }
            (AtTurnEnd::Ask, Questions::Buttons | Questions::Form) if self.stopped_asking(id) => {
                format!("You are not asked in this session: you chose so. `/{command} ask on` changes that.")
            }
            (AtTurnEnd::Ask, Questions::Buttons | Questions::Form) => {
                "You are asked at the end of a turn that left something to review.".into()
            }
        }
    }
}
