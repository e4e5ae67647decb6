//! The two halves of a rename, at different paths: both are done, or neither.

use super::{Stop, Work, result_of};
use crate::ledger::{Method, RevertFile, RevertResult};
use crate::store::RootStore;
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
            let gone = &files[at];
            for (file, result) in files.iter().zip(results.iter_mut()) {
                if file.root == gone.root && has_come(file, result) && file.path.excludes(&gone.path) {
                    self.send_away(file, result);
                }
            }
            let back =
                RevertFile { expected: None, wanted: gone.expected, method: Method::Create, ..gone.clone() };
            if is_done(&result_of(self.restore_one(&back))) {
                results[at] = RevertResult::Failed { reason: HALF.to_owned() };
            } else {
                lost.insert(at);
                name_lost(gone, files, results);
            }
        }
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

fn has_come(file: &RevertFile, result: &RevertResult) -> bool {
    file.method == Method::Create && is_done(result)
}

fn is_done(result: &RevertResult) -> bool {
    matches!(result, RevertResult::Done { .. })
}
