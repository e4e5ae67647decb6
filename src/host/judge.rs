//! Judging: the rules with the file system at hand, and the permissions that outlive sessions.

use crate::base::Digest;
use crate::config::Written;
use crate::engine::{Action, Input};
use crate::host::assessor::note_programs;
use crate::host::clock::Clock;
use crate::host::perform::refusal;
use crate::host::worker::guarded;
use crate::ledger::{GrantEvent, UserGrant};
use crate::policy::{Case, FileNews, Finding, KnownFiles, Stands, UserFile};
use crate::store::GrantFile;
use crate::surface::{Disk, PROJECT_FILE};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// What judges, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The permissions that outlive sessions.
    pub(crate) grants: GrantFile,
    /// Our clock.
    pub(crate) clock: Clock,
    /// Where the person's configuration stands, when it is followed.
    pub(crate) user: Option<PathBuf>,
    /// The files as they were looked at last.
    pub(crate) seen: BTreeMap<PathBuf, Seen>,
}

/// A file as it was looked at: what its stat was, and what stood there.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    stat: Stat,
    stands: Stands,
}

/// What a stat tells a text from another by. A change of the mode alone may make it readable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stat {
    file: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            file: (meta.ino(), meta.len()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Says whether a later change would have moved its time stamps.
    fn is_settled(&self) -> bool {
        let (seconds, nanos) = self.changed.max(self.modified);
        let at = Duration::new(
            u64::try_from(seconds).unwrap_or_default(),
            u32::try_from(nanos).unwrap_or_default(),
        );
        (UNIX_EPOCH + at).elapsed().is_ok_and(|age| age > Duration::from_secs(2))
    }
}

impl Judge {
    /// Carries one action out; `None` for one that is not a judge's.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody else's action is sent here")]
    pub(crate) fn judged(&mut self, action: Action) -> Option<Input> {
        match action {
            Action::Judge { ask, case } => {
                Some(Input::Judged { ask, finding: guarded(|| Box::new(self.find(&case))) })
            }
            Action::ReadPolicy { ask, tops } => {
                let projects = tops.into_iter().map(|top| (top.clone(), project_file(&top))).collect();
                Some(Input::PolicyRead { ask, user: self.user_file(), projects })
            }
            Action::CheckFiles { ask, known } => {
                let news = guarded(|| self.news(&known)).unwrap_or_default();
                Some(Input::FilesChecked { ask, news: news.map(Box::new) })
            }
            Action::Spend { ask, grant } => Some(Input::Granted { ask, outcome: self.spend(&grant) }),
            Action::Keep { ask, grant } => Some(Input::Granted { ask, outcome: self.keep(*grant) }),
            other => refusal(other, "this is not judged"),
        }
    }

    fn find(&mut self, case: &Case) -> Finding {
        let news = self.news(&case.known);
        let mut finding = case.find(&Disk);
        finding.news = news.map(Box::new);
        finding.grant = case.standing.as_deref().and_then(|standing| self.covering(standing));
        finding
    }

    /// Compares the files of the policy with what is known of them.
    fn news(&mut self, known: &KnownFiles) -> Option<FileNews> {
        let user = self.user.clone().and_then(|path| {
            let moved = self.stands(&path) != known.user;
            moved.then(|| self.user_file())
        });
        let mut projects = Vec::new();
        for (top, stood) in &known.projects {
            let now = self.stands(&Path::new(top).join(PROJECT_FILE));
            if now != *stood {
                projects.push((top.clone(), now));
            }
        }
        (user.is_some() || !projects.is_empty()).then_some(FileNews { user, projects })
    }

    /// Says what stands in the place of a file; its text is read again only where its stat is another.
    fn stands(&mut self, path: &Path) -> Stands {
        let stat = std::fs::metadata(path).ok().map(|meta| Stat::of(&meta));
        let same = |seen: &&Seen| stat.as_ref() == Some(&seen.stat) && seen.stat.is_settled();
        if let Some(seen) = self.seen.get(path).filter(same) {
            return seen.stands.clone();
        }
        let stands = what_stands(&std::fs::read(path));
        if let Some(stat) = stat {
            self.seen.insert(path.to_owned(), Seen { stat, stands: stands.clone() });
        }
        stands
    }

    fn user_file(&self) -> UserFile {
        let Some(path) = &self.user else { return UserFile { stands: Stands::Nothing, says: Ok(None) } };
        let read = std::fs::read(path);
        let stands = what_stands(&read);
        let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        let says = match text {
            Ok(text) => Written::parse(&path.display().to_string(), &text)
                .map(|mut written| {
                    note_programs(written.assessors_mut());
                    Some(written)
                })
                .map_err(|error| error.to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
        };
        UserFile { stands, says }
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

fn what_stands(read: &io::Result<Vec<u8>>) -> Stands {
    match read {
        Ok(text) => Stands::Text(Digest::of(&[text])),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Stands::Nothing,
        Err(_) => Stands::Unreadable,
    }
}

/// Reads the configuration that a root brings along.
pub(crate) fn project_file(top: &str) -> Result<Option<Written>, String> {
    match std::fs::read_to_string(Path::new(top).join(PROJECT_FILE)) {
        Ok(text) => Written::parse(PROJECT_FILE, &text).map(Some).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{PROJECT_FILE}: {error}")),
    }
}
