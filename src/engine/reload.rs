//! The files of the policy while the agent runs: the person's own is followed, a root's counts as it was opened until a person says
//! otherwise, and what cannot be used changes nothing.

use crate::base::{AskId, RequestKey, SessionId};
use crate::config::{Approvals, Config, Written};
use crate::engine::conversation::Sharpness;
use crate::engine::desk::ReplyTo;
use crate::engine::docket::{Question, State};
use crate::engine::step::Wait;
use crate::engine::{Action, Durability, Engine, Level, OpenedRoot};
use crate::ledger::{Approval, Event, FileDigest, Log};
use crate::policy::{FileNews, KnownFiles, Policy, Stands, UserFile};
use crate::review::{Answer, DocketAnswer, LoadedShape, Problem, ProblemKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the files of the policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// What stood in the place of the person's file when it was looked at last, whether it could be used or not.
    user: Stands,
    /// What the person's own configuration says, without any root's.
    own: Config,
    /// Per root: what its own file said when it was opened or reloaded.
    projects: BTreeMap<String, Project>,
    /// Counts the policies.
    pub(super) epoch: u32,
    /// Who waits for the files to be read.
    reloads: BTreeMap<AskId, (ReplyTo, SessionId)>,
}

#[derive(Clone, Debug, Default)]
struct Project {
    in_force: Option<Written>,
    /// Why what stood there when the root was opened cannot be used.
    broken: Option<String>,
    seen: Stands,
}

impl Project {
    /// Says why what stands there does not count, or no longer stands there and counts.
    fn unused(&self, enforces: bool) -> Option<String> {
        if let Some(reason) = &self.broken {
            let until = "until `hunkgate policy reload`";
            return Some(match enforces {
                true => format!("cannot be read, and a person is asked about everything {until}: {reason}"),
                false => format!("cannot be read, and is ignored {until}: {reason}"),
            });
        }
        let known = Stands::of(self.in_force.as_ref().map(|written| written.digest().clone()));
        let what = match (&self.seen, &known) {
            (seen, known) if seen == known => return None,
            (Stands::Text(_), _) => {
                return Some("changed and is not in force: `hunkgate policy reload` puts it in force".into());
            }
            (Stands::Nothing, _) => "is gone, and is still in force",
            (Stands::Unreadable, Stands::Text(_)) => "cannot be read, and is still in force as it was",
            (Stands::Unreadable, _) => "cannot be read, and is not in force",
        };
        Some(format!("{what}: `hunkgate policy reload` reads it anew"))
    }
}

impl Files {
    /// Starts with the configuration that the process was started with.
    pub(super) fn of(config: &Config) -> Self {
        Self { user: Stands::of(config.read.clone()), own: config.clone(), ..Self::default() }
    }
}

impl Engine {
    /// A root was opened: its own file counts as it is now.
    pub(super) fn project_opened(&mut self, root: &OpenedRoot) {
        let top = String::from_utf8_lossy(&root.top).into_owned();
        if root.top.is_empty() || self.files.projects.contains_key(&top) {
            return;
        }
        let project = match &root.project {
            Some(Ok(written)) => Project {
                in_force: Some(written.clone()),
                broken: None,
                seen: Stands::Text(written.digest().clone()),
            },
            Some(Err(reason)) => Project { broken: Some(reason.clone()), ..Project::default() },
            None => Project::default(),
        };
        self.files.projects.insert(top, project);
    }

    /// Returns what is known of the files, to be compared with what stands there. A file that could not be read is not
    /// compared: a person has to reload it.
    pub(super) fn known_files(&self) -> KnownFiles {
        let whole = self.files.projects.iter().filter(|(_, project)| project.broken.is_none());
        KnownFiles {
            user: self.files.user.clone(),
            projects: whole.map(|(top, project)| (top.clone(), project.seen.clone())).collect(),
        }
    }

    /// Has the files looked at before a parked frame goes. Returns what it waits for.
    pub(super) fn check_files(&mut self, hold: AskId) -> AskId {
        let ask = self.minter.mint_ask();
        self.waits.insert(ask, Wait::Hold(hold));
        self.out.push(Action::CheckFiles { ask, known: self.known_files() });
        ask
    }

    /// The files were looked at.
    pub(super) fn files_checked(&mut self, ask: AskId, news: Option<Box<FileNews>>) {
        if let Some(news) = news {
            self.files_moved(*news);
        }
        if let Some(Wait::Hold(hold)) = self.waits.remove(&ask) {
            self.hold_served(hold, ask, Sharpness::Hard);
        }
    }

    /// Returns why the person's file is not in force as it stands there.
    pub(super) fn file_unused(&self) -> Option<&str> {
        self.setup.config.warnings.iter().map(String::as_str).find(|known| known.starts_with(KEPT))
    }

    /// Returns why the file of a root is not in force as it stands there.
    pub(super) fn project_unused(&self, top: &str) -> Option<String> {
        self.files.projects.get(top)?.unused(self.enforces())
    }

    /// A judge found the files not as they were known.
    pub(super) fn files_moved(&mut self, news: FileNews) {
        for (top, stands) in news.projects {
            let Some(project) = self.files.projects.get_mut(&top) else { continue };
            project.seen = stands;
            let file = format!("{top}/{PROJECT_FILE}");
            let of_it = |known: &String| known.strip_prefix(&file).is_some_and(|rest| rest.starts_with(' '));
            self.setup.config.warnings.retain(|known| !of_it(known));
            if let Some(why) = self.project_unused(&top) {
                self.policy_says(&format!("{file} {why}"));
            }
        }
        if let Some(user) = news.user {
            self.user_file(user);
        }
    }

    /// The person's file says something else: that is in force from now on, unless it cannot be used. Whoever removes it, or
    /// saves it in two steps, takes no rule away: a person says that nothing counts.
    fn user_file(&mut self, file: UserFile) {
        let gone = file.stands == Stands::Nothing && self.files.own.read.is_some();
        self.files.user = file.stands;
        let says = match gone {
            true => Err("your configuration is gone, and counts until `hunkgate policy reload`".to_owned()),
            false => file.says,
        };
        let outcome = says.and_then(|written| {
            let own = Config::of(written.as_ref(), None);
            self.put_in_force(own)
        });
        if let Err(reason) = outcome {
            self.setup.config.warnings.retain(|known| !known.starts_with(KEPT));
            self.policy_says(&format!("the policy stays as it was: {reason}"));
        }
    }

    /// Puts a configuration of the person in force, made stricter by the roots' own, if its rules can be used.
    fn put_in_force(&mut self, own: Config) -> Result<(), String> {
        let mut whole = own.clone();
        for project in self.files.projects.values() {
            if let Some(written) = &project.in_force {
                whole.tighten(written);
            }
        }
        let policy = Policy::of(&whole, self.setup.home.as_deref()).map_err(|error| error.to_string())?;
        let warnings = whole.warnings.clone();
        let config = &mut self.setup.config;
        config.warnings.retain(|known| !known.starts_with(KEPT) && !self.files.own.warnings.contains(known));
        config.take_policy(whole);
        warnings.into_iter().for_each(|warning| config.warn(warning));
        self.files.own = own;
        self.policy = Arc::new(policy);
        self.docket.asks_for_all =
            self.enforces() && self.files.projects.values().any(|project| project.broken.is_some());
        self.files.epoch += 1;
        self.say(Level::Info, "the policy was loaded anew");
        let sessions: Vec<SessionId> = self.sessions.iter().map(|session| session.id.clone()).collect();
        for session in sessions {
            self.policy_loaded(&session);
        }
        self.judge_again();
        self.gates_reloaded();
        Ok(())
    }

    /// What waits for an answer, or for a program, is judged by the new rules; other programs may be asked by them.
    fn judge_again(&mut self) {
        for key in self.consulted() {
            self.dismiss_consults_of(&key);
            if let Some(request) = self.docket.get(&key).cloned() {
                self.judge(&request, Wait::Verdict(request.recorder.clone(), key));
            }
        }
        let waits = |request: &crate::engine::docket::Request| {
            request.state == State::Open
                && request.held.as_ref().is_some_and(|held| held.question != Question::None)
        };
        let open: Vec<RequestKey> = self.docket.which(waits);
        for key in open {
            if let Some(request) = self.docket.get(&key).cloned() {
                self.judge(&request, Wait::Verdict(request.recorder.clone(), key));
            }
        }
    }

    /// Records the rules in force, where they are not the ones that were recorded last.
    pub(super) fn policy_loaded(&mut self, id: &SessionId) {
        let rules = &self.setup.config.rules;
        let programs = &self.setup.config.assessors;
        let observes = &self.setup.config.observes;
        let digest = self.setup.redactor.digest(format!("{rules:?} {programs:?} {observes:?}").as_bytes());
        let assessors: Vec<_> = programs.iter().map(|it| (it.id.clone(), it.found.clone())).collect();
        let known = self.sessions.get(id).and_then(|known| self.ledger.session(&known.key));
        let last = known.and_then(|ledger| ledger.standing().policy());
        let silent = rules.is_empty() && programs.is_empty() && observes.is_empty();
        if last == Some(&digest) || (silent && last.is_none()) {
            return;
        }
        let (approvals, rules, files) = (self.approvals_word(), self.rules(), self.policy_files());
        self.approval(id, Approval::PolicyLoaded { approvals, rules, digest, assessors, files });
    }

    fn approvals_word(&self) -> String {
        if self.enforces() { "enforce" } else { "observe" }.to_owned()
    }

    fn rules(&self) -> u32 {
        u32::try_from(self.setup.config.rules.len()).unwrap_or(u32::MAX)
    }

    fn policy_files(&self) -> Vec<FileDigest> {
        let digest = |source: &crate::config::Source| FileDigest {
            file: self.setup.redactor.redact(&source.file),
            digest: source.digest.clone(),
        };
        self.setup.config.sources.iter().map(digest).collect()
    }

    /// Says something of the policy where people look: our stderr, `status`, the journal of every session.
    fn policy_says(&mut self, text: &str) {
        self.say(Level::Warn, text);
        self.setup.config.warn(text);
        let keys: Vec<_> = self
            .sessions
            .iter()
            .filter(|session| Self::is_recorded(session) && session.principal.is_none())
            .map(|session| session.key.clone())
            .collect();
        for key in keys {
            let event = Event::Noticed { topic: "policy".into(), path: None, text: text.to_owned() };
            self.record(Log::Session(key), event, Durability::Written);
        }
    }

    // ── a person asks ──

    /// A person wants the files read, also those of the roots.
    pub(super) fn reload_asked(&mut self, to: ReplyTo, session: &SessionId) {
        if self.sessions.get(session).is_none_or(|known| known.adopted) {
            let problem = Problem::new(
                ProblemKind::User,
                "no proxy holds this session: it reads the policy when it starts",
            );
            return self.reply(&to, session, Answer::Problem(problem));
        }
        let ask = self.minter.mint_ask();
        self.files.reloads.insert(ask, (to, session.clone()));
        let tops = self.files.projects.keys().cloned().collect();
        self.out.push(Action::ReadPolicy { ask, tops });
    }

    /// The files were read because a person asked: all of them are in force now, or none.
    pub(super) fn policy_read(
        &mut self,
        ask: AskId,
        user: UserFile,
        projects: Vec<(String, Result<Option<Written>, String>)>,
    ) {
        let Some((to, session)) = self.files.reloads.remove(&ask) else { return };
        let before = self.files.projects.clone();
        let outcome = self.take_files(user, projects);
        let answer = match outcome {
            Ok(()) => Answer::Docket(DocketAnswer::Loaded(LoadedShape {
                session_id: session.clone(),
                approvals: self.approvals_word(),
                rules: self.rules(),
                files: self.policy_files(),
            })),
            Err(reason) => {
                self.files.projects = before;
                Answer::Problem(Problem::new(
                    ProblemKind::Config,
                    format!("the policy stays as it was: {reason}"),
                ))
            }
        };
        self.reply(&to, &session, answer);
    }

    fn take_files(
        &mut self,
        user: UserFile,
        projects: Vec<(String, Result<Option<Written>, String>)>,
    ) -> Result<(), String> {
        let own = Config::of(user.says?.as_ref(), None);
        for (top, file) in projects {
            let written = file.map_err(|reason| format!("{top}: {reason}"))?;
            let seen = Stands::of(written.as_ref().map(|written| written.digest().clone()));
            if let Some(written) = &written {
                self.setup.withheld = self.setup.withheld.clone().and(written.withheld());
            }
            self.files.projects.insert(top, Project { in_force: written, broken: None, seen });
        }
        self.put_in_force(own)?;
        self.files.user = user.stands;
        let of_project =
            |known: &String| known.contains("`hunkgate policy reload`") || known.contains(OF_PROJECT);
        self.setup.config.warnings.retain(|known| !of_project(known));
        Ok(())
    }

    /// Says whether requests are judged because of what the person wrote, not of what a root says.
    pub(super) fn enforces(&self) -> bool {
        self.setup.config.approvals == Approvals::Enforce
    }
}

/// What a warning says of a root's file that could not be read when the root was opened.
pub(super) const OF_PROJECT: &str = "the project's configuration";
/// The name of a root's own file.
pub(super) const PROJECT_FILE: &str = ".hunkgate.toml";
/// How a warning begins that the next look at the files replaces.
const KEPT: &str = "the policy stays as it was";
