//! Judging: the rules with the file system at hand, and the permissions that outlive sessions.

use crate::engine::{Action, Input};
use crate::host::clock::Clock;
use crate::host::perform::refusal;
use crate::host::worker::guarded;
use crate::ledger::{GrantEvent, UserGrant};
use crate::policy::{Case, Finding};
use crate::store::GrantFile;
use crate::surface::Disk;

/// What judges, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The permissions that outlive sessions.
    pub(crate) grants: GrantFile,
    /// Our clock.
    pub(crate) clock: Clock,
}

impl Judge {
    /// Carries one action out; `None` for one that is not a judge's.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody else's action is sent here")]
    pub(crate) fn judged(&self, action: Action) -> Option<Input> {
        match action {
            Action::Judge { ask, case } => {
                Some(Input::Judged { ask, finding: guarded(|| Box::new(self.find(&case))) })
            }
            Action::Spend { ask, grant } => Some(Input::Granted { ask, outcome: self.spend(&grant) }),
            Action::Keep { ask, grant } => Some(Input::Granted { ask, outcome: self.keep(*grant) }),
            other => refusal(other, "this is not judged"),
        }
    }

    fn find(&self, case: &Case) -> Finding {
        let mut finding = case.find(&Disk);
        finding.grant = case.standing.as_deref().and_then(|standing| self.covering(standing));
        finding
    }

    /// Returns the permission that allows exactly this. A file that cannot be read allows nothing.
    fn covering(&self, standing: &str) -> Option<String> {
        let book = self.grants.read().inspect_err(|error| tracing::warn!("failed to {error}")).ok()?;
        if let Some(bad) = book.bad().first() {
            tracing::warn!(
                "standing permissions do not count: line {} cannot be read ({})",
                bad.line,
                bad.reason
            );
        }
        book.covering(standing, self.clock.now().wall).map(|grant| grant.id.clone())
    }

    fn spend(&self, grant: &str) -> Result<(), String> {
        let now = self.clock.now().wall;
        self.grants.append(now, |book| book.spend(grant, now)).map_err(|error| error.to_string())
    }

    fn keep(&self, grant: UserGrant) -> Result<(), String> {
        let now = self.clock.now().wall;
        let whole = |book: &crate::ledger::GrantBook| match book.bad().first() {
            Some(bad) => Err(format!("line {} cannot be read", bad.line)),
            None => Ok(Some(GrantEvent::GrantIssued(grant))),
        };
        self.grants.append(now, whole).map_err(|error| error.to_string())
    }
}
