//! The two halves of a rename, at different paths: both are done, or neither.

use super::{Stop, Work, result_of, site_of, stands_above, stays_in};
use crate::ledger::{Method, RevertFile, RevertResult};
use crate::store::RootStore;
use crate::store::read::is_absence;
use crate::store::swap::Place;
use std::collections::BTreeSet;

const HALF: &str = "the other half of its rename cannot be done";

impl RootStore {
    /// Works on the files of a command, one after the other.
    pub(super) fn in_order(&mut self, files: &[RevertFile], work: Work) -> Vec<RevertResult> {
        let mut results = Vec::with_capacity(files.len());
        for file in files {
            let stays = file.method == Method::Remove && lacks_half(files, &results, file);
            let result = if stays { self.leave(file) } else { work(self, file) };
            results.push(result_of(result));
        }
        self.bring_back(files, &mut results);
        results
    }

    /// A removal is not made after all: what a dead process had moved aside goes back.
    fn leave(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        if file.temporary.is_some()
            && let Ok(site) = self.site(file)
            && let Ok(Some(aside)) = site.read(Place::Temporary, &self.reading())
            && let rescued @ Some(_) = self.move_back(&site, Some(aside))?
        {
            return Err(Stop::Stale(rescued));
        }
        Err(Stop::Said(HALF.to_owned()))
    }

    /// What made room, and whose other half then could not come, stands again where it stood; what had come there goes first.
    fn bring_back(&mut self, files: &[RevertFile], results: &mut [RevertResult]) {
        let mut lost = BTreeSet::new();
        while let Some(at) = (0..files.len()).find(|at| !lost.contains(at) && is_orphan(files, results, *at))
        {
            let way = WayBack::of(at, files, results);
            if self.is_free(&way, files).is_ok() {
                way.leaving.iter().for_each(|&at| self.send_away(&files[at], &mut results[at]));
                way.returning.iter().for_each(|&at| self.let_return(&files[at], &mut results[at]));
            }
            for at in way.returning {
                if is_orphan(files, results, at) {
                    lost.insert(at);
                    name_lost(&files[at], files, results);
                }
            }
        }
    }

    /// Looks whether everything can go the way back.
    fn is_free(&self, way: &WayBack, files: &[RevertFile]) -> Result<(), Stop> {
        let top = self.open_as_seen()?;
        for file in way.leaving.iter().map(|&at| &files[at]) {
            self.check(&self.site(file)?, file.wanted.as_ref())?;
        }
        let leaving = way.leaving.iter().map(|&at| &files[at].path).collect();
        for file in way.returning.iter().map(|&at| &files[at]) {
            stands_above(&top, &file.path, &leaving)?;
            match site_of(&top, &file.path, None) {
                Ok(site) if site.is_directory() => stays_in(&site, &file.path, &leaving)?,
                Ok(site) => self.check(&site, None)?,
                Err(error) if is_absence(&error) => {}
                Err(error) => return Err(Stop::Io("look at", error)),
            }
        }
        Ok(())
    }

    /// Takes back what this command put somewhere.
    fn send_away(&mut self, file: &RevertFile, result: &mut RevertResult) {
        let back = RevertFile { expected: file.wanted, wanted: None, method: Method::Remove, ..file.clone() };
        if is_done(&result_of(self.restore_one(&back))) {
            let reason = match &file.other {
                Some(_) => HALF,
                None => "something has to stay that stands in its way",
            };
            *result = RevertResult::Failed { reason: reason.to_owned() };
        }
    }

    /// Puts back what this command removed.
    fn let_return(&mut self, file: &RevertFile, result: &mut RevertResult) {
        let back =
            RevertFile { expected: None, wanted: file.expected, method: Method::Create, ..file.clone() };
        if is_done(&result_of(self.restore_one(&back))) {
            *result = RevertResult::Failed { reason: HALF.to_owned() };
        }
    }
}

/// What has to go, and what comes back then, so that one removed file can stand where it stood: places among the files of a
/// command.
struct WayBack {
    leaving: BTreeSet<usize>,
    returning: BTreeSet<usize>,
}

impl WayBack {
    fn of(at: usize, files: &[RevertFile], results: &[RevertResult]) -> Self {
        let mut way = Self { leaving: BTreeSet::new(), returning: BTreeSet::from([at]) };
        let mut todo = vec![at];
        while let Some(back) = todo.pop() {
            for at in (0..files.len()).filter(|&at| stands_in_way(&files[at], &results[at], &files[back])) {
                way.leaving.insert(at);
                let half = (0..files.len()).find(|&half| is_other(&files[half], &files[at]));
                let half = half.filter(|&half| is_done(&results[half]) && way.returning.insert(half));
                todo.extend(half);
            }
        }
        way
    }
}

/// Says of what can be put back nowhere, at the half that did not come, where its bytes are.
fn name_lost(gone: &RevertFile, files: &[RevertFile], results: &mut [RevertResult]) {
    let Some(expected) = &gone.expected else { return };
    for (file, result) in files.iter().zip(results) {
        if !is_other(file, gone) {
            continue;
        }
        match result {
            RevertResult::Failed { reason } => {
                reason.push_str(&format!("; what stood at {} is kept as {}", gone.path, expected.blob));
            }
            RevertResult::Stale { rescued } => *rescued = rescued.or(Some(*expected)),
            RevertResult::Done { .. } => {}
        }
    }
}

/// Says whether a removal was made whose other half did not come.
fn is_orphan(files: &[RevertFile], results: &[RevertResult], at: usize) -> bool {
    let file = &files[at];
    let removed = file.method == Method::Remove && file.expected.is_some() && is_done(&results[at]);
    removed && lacks_half(files, results, file)
}

/// Says whether the other half of a file was tried and is not done.
fn lacks_half(files: &[RevertFile], results: &[RevertResult], file: &RevertFile) -> bool {
    files.iter().zip(results).any(|(other, result)| is_other(other, file) && !is_done(result))
}

fn is_other(other: &RevertFile, file: &RevertFile) -> bool {
    other.root == file.root && Some(&other.path) == file.other.as_ref()
}

/// Says whether a file came where, or beneath or above which, another stood.
fn stands_in_way(file: &RevertFile, result: &RevertResult, gone: &RevertFile) -> bool {
    let came = file.method == Method::Create && is_done(result);
    came && file.root == gone.root && file.path.excludes(&gone.path)
}

fn is_done(result: &RevertResult) -> bool {
    matches!(result, RevertResult::Done { .. })
}
