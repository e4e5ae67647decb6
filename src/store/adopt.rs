//! Taking the ids of the user's index for bytes on disk, where their stat proves them and nothing can have converted them.

use crate::base::{BlobId, RepoPath, WallNs};
use crate::ledger::{Change, Content, FileState, Mode};
use crate::store::objects::UserRepository;
use crate::store::read::Taken;
use crate::store::take::Seen;
use crate::store::walk::Job;
use crate::store::{Root, RootStore, Settings};
use std::collections::BTreeMap;
use std::path::Path;

/// Whether git may have converted files of this repository when it wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// Nothing names one.
    None,
    /// Line endings or keywords: then a blob of another size gives it away.
    Sized,
    /// Filters or encodings: each path must be asked.
    Filtered,
}

impl Conversion {
    fn of(user: &UserRepository, root: &Root, settings: &Settings, jobs: &[Job]) -> Self {
        let info = user.common_dir().join("info/attributes");
        let configured = ["core.autocrlf", "core.eol"].iter().any(|key| user.config(key).is_some());
        let others = settings.git_config_files();
        let mut texts = others.iter().filter_map(|file| std::fs::read(file).ok());
        let elsewhere = texts.any(|text| mentions(&text, &[b"autocrlf", b"eol", b"attributesfile"]));
        let named = jobs.iter().filter(|job| job.path.name() == b".gitattributes");
        let files = named.map(|job| root.top.join(os_path(&job.path))).chain([info]);
        let texts: Vec<_> = files.filter_map(|file| std::fs::read(file).ok()).collect();
        if user.config("core.attributesfile").is_some()
            || texts.iter().any(|text| mentions(text, &[b"filter", b"working-tree-encoding", b"[attr]"]))
        {
            Self::Filtered
        } else if configured || elsewhere || !texts.is_empty() {
            Self::Sized
        } else {
            Self::None
        }
    }

    fn is_possible(self) -> bool {
        self != Self::None
    }

    /// Says whether no filter is named for a path.
    fn spares(self, user: &UserRepository, path: &[u8]) -> bool {
        self != Self::Filtered || !user.is_filtered(path)
    }
}

fn mentions(text: &[u8], words: &[&[u8]]) -> bool {
    let lower = text.to_ascii_lowercase();
    words.iter().any(|word| memchr::memmem::find(&lower, word).is_some())
}

fn os_path(path: &RepoPath) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()))
}

// ── the store's part ──

impl RootStore {
    /// Takes the ids of the user's index for the files whose stat proves them, and returns the others.
    pub(crate) fn adopt(
        &mut self,
        jobs: Vec<Job>,
        read_at: WallNs,
        base_until: Option<WallNs>,
        changes: &mut BTreeMap<RepoPath, Change>,
    ) -> Vec<Job> {
        let Some(user) = &self.user else { return jobs };
        if self.looked {
            return jobs;
        }
        let conversion = Conversion::of(user, &self.root, &self.settings, &jobs);
        let mut rest = Vec::new();
        for job in jobs {
            let Some((mode, blob)) = self.lent(&job, conversion) else {
                rest.push(job);
                continue;
            };
            let state = FileState { mode, blob, size: job.key.size, content: Content::Kept };
            let taken = Taken { state, in_tree: blob, bytes: Vec::new(), key: job.key, unstable: false };
            let seen = Seen { job: &job, read_at, now: i64::MAX, full: false, base_until };
            self.settle(&seen, &taken, changes);
        }
        rest
    }

    /// Returns the id that the index has of a file, if it is surely that of its bytes, and takes the blob over.
    fn lent(&mut self, job: &Job, conversion: Conversion) -> Option<(Mode, BlobId)> {
        let (path, size) = (job.path.as_bytes(), job.key.size);
        let (mode, blob) = self.tracked.proven(path, &job.key)?;
        let sure = !self.settings.withheld.hides(&job.path)
            && size <= self.settings.keep_up_to
            && self.user.as_ref().is_some_and(|user| conversion.spares(user, path))
            && (!conversion.is_possible() || self.objects.blob_size(blob) == Some(size))
            && self.objects.borrow_blob(blob);
        sure.then_some((mode, blob))
    }
}
