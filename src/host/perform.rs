//! Carrying out what the engine asks for, apart from what goes to a peer.

use crate::base::{RepoPath, RootId, WallNs};
use crate::engine::{Action, Durability, Input};
use crate::host::event::{Event, Inbox};
use crate::ledger::{Gap, Ledger, Log, Record, RevertOutcome, RevertResult};
use crate::policy::{Stands, UserFile};
use crate::review::{Answer, Computed, Problem, ProblemKind};
use std::fmt::Debug;

/// What appends records and starts effects. Effects answer as [`Event::Came`](crate::host::event::Event) in the inbox.
///
/// A seam: tests put one here whose n-th effect fails.
pub(crate) trait Perform: Debug + Send {
    /// Appends a record, as safely as asked, or says why not.
    fn append(&mut self, log: &Log, record: &Record, durability: Durability) -> Result<(), String>;

    /// Starts an effect. It sees the ledger as it stands now.
    fn start(&mut self, effect: Action, ledger: &Ledger);

    /// Ends: waits for what is being written, gives leases back.
    fn close(&mut self);
}

/// Performs nothing: where no state directory can be used, everything is forwarded and every effect says why it was not done.
#[derive(Debug)]
pub(crate) struct Unrecorded {
    inbox: Inbox,
    reason: String,
}

impl Unrecorded {
    /// Says `reason` to everything.
    pub(crate) fn new(inbox: Inbox, reason: impl Into<String>) -> Self {
        Self { inbox, reason: reason.into() }
    }
}

impl Perform for Unrecorded {
    fn append(&mut self, _log: &Log, _record: &Record, _durability: Durability) -> Result<(), String> {
        Err(self.reason.clone())
    }

    fn start(&mut self, effect: Action, _ledger: &Ledger) {
        if let Some(input) = refusal(effect, &self.reason) {
            self.inbox.put(Event::Came(Box::new(input)));
        }
    }

    fn close(&mut self) {}
}

/// Returns what an effect comes to that cannot be carried out; `None` for what is no effect or answers nothing.
pub(crate) fn refusal(effect: Action, reason: &str) -> Option<Input> {
    let failed = |root: &RootId, path: &RepoPath| RevertOutcome {
        root: root.clone(),
        path: path.clone(),
        result: RevertResult::Failed { reason: reason.to_owned() },
    };
    Some(match effect {
        Action::OpenRoots { ask, .. } => Input::RootsOpened {
            ask,
            roots: Vec::new(),
            unrecorded: Some(reason.to_owned()),
            history: Vec::new(),
            skips: Vec::new(),
        },
        Action::Observe { ask, root, why, .. } => {
            let gap = Gap { at: WallNs::default(), reason: reason.to_owned(), why };
            Input::Observed { ask, root, foreign: Vec::new(), outcome: Err(gap), sight: None }
        }
        Action::Compute { ask, .. } => {
            let problem = Problem::new(ProblemKind::Degraded, format!("nothing is recorded: {reason}"));
            Input::Computed { ask, computed: Computed::Answer(Answer::Problem(problem)) }
        }
        Action::ReadPolicy { ask, .. } => {
            let user = UserFile { stands: Stands::Nothing, says: Err(reason.to_owned()) };
            Input::PolicyRead { ask, user, projects: Vec::new() }
        }
        Action::CheckFiles { ask, .. } => Input::FilesChecked { ask, news: None },
        Action::Spend { ask, .. } | Action::Keep { ask, .. } => {
            Input::Granted { ask, outcome: Err(reason.to_owned()) }
        }
        Action::Assess { ask, .. } => Input::Assessed { ask, reply: Err(reason.to_owned()) },
        Action::Judge { ask, .. } => Input::Judged { ask, finding: Err(reason.to_owned()) },
        Action::Prepare { ask, files } => {
            let files = files.iter().map(|file| Err(failed(&file.root, &file.path))).collect();
            Input::Prepared { ask, files }
        }
        Action::Restore { ask, files } | Action::Recover { ask, files } => {
            Input::Restored { ask, files: files.iter().map(|file| failed(&file.root, &file.path)).collect() }
        }
        Action::Send { .. }
        | Action::Dismiss { .. }
        | Action::Append { .. }
        | Action::Pin { .. }
        | Action::Settle { .. }
        | Action::Reply { .. }
        | Action::Publish(_)
        | Action::Log { .. }
        | Action::StopAgent
        | Action::Exit { .. } => return None,
    })
}
