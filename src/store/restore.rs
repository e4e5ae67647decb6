//! Putting files back: compare-and-swap per file, by steps that a crash may part.
//!
//! Bytes that were not expected are never removed: they stay on disk, or go to the store first.

use crate::base::RepoPath;
use crate::ledger::{
    ByteEdit, Content, FilePlan, FileState, Method, Mode, RevertFile, RevertOutcome, RevertResult, Wanted,
};
use crate::store::capture::in_tree;
use crate::store::read::{Reading, Taken, is_absence, open_parent};
use crate::store::stat;
use crate::store::swap::{Place, Site, is_unsupported, permissions};
use crate::store::walk::TEMPORARY;
use crate::store::{RootStore, StoreError};
use rustix::fs::{AtFlags, Mode as FsMode, OFlags, fchmod, mkdirat, unlinkat};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;

/// Why a file is not put back.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something else stands there than what was shown.
    Stale(Option<FileState>),
    /// The operating system refused.
    Io(&'static str, std::io::Error),
    /// It cannot be done.
    Said(String),
    /// A test ended the process here.
    #[cfg(test)]
    Killed,
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Said(error.to_string())
    }
}

fn io(operation: &'static str) -> impl FnOnce(std::io::Error) -> Stop {
    move |error| Stop::Io(operation, error)
}

/// How one file is worked on.
type Work = fn(&mut RootStore, &RevertFile) -> Result<RevertResult, Stop>;

/// A point between two steps, where a process may die or another program may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Checked,
    Written,
    Swapped,
    Removed,
    HalfWritten,
}

/// What a test does at a point between two steps.
#[cfg(test)]
pub(crate) struct Between(pub(crate) Box<dyn FnMut(Step) -> Result<(), Stop> + Send>);

#[cfg(test)]
impl std::fmt::Debug for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Between")
    }
}

impl RootStore {
    /// Stores the contents of a revert and draws its temporary names. Changes nothing in the worktree.
    pub fn prepare(&mut self, plans: &[FilePlan]) -> Vec<Result<RevertFile, RevertOutcome>> {
        let locked = self.lock().and_then(|lock| self.objects.catch_up().map(|()| lock));
        let going =
            plans.iter().filter(|plan| plan.wanted == Wanted::Absent).map(|plan| &plan.path).collect();
        let prepared: Vec<_> = match &locked {
            Ok(_) => plans.iter().map(|plan| self.prepare_one(plan, &going)).collect(),
            Err(error) => plans.iter().map(|_| Err(Stop::Said(error.to_string()))).collect(),
        };
        let stored = self.objects.flush().and_then(|_| self.objects.sync());
        let refuse = |plan: &FilePlan, stop| RevertOutcome {
            root: plan.root.clone(),
            path: plan.path.clone(),
            result: result_of(Err(stop)),
        };
        let both = plans.iter().zip(prepared);
        both.map(|(plan, prepared)| match (prepared, &stored) {
            (Ok(_), Err(error)) => Err(refuse(plan, Stop::Said(error.to_string()))),
            (prepared, _) => prepared.map_err(|stop| refuse(plan, stop)),
        })
        .collect()
    }

    /// Carries a prepared revert out. Its intent has been synced.
    pub fn restore(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        self.work_through(files, Self::restore_one)
    }

    /// Finishes or takes back a revert that a dead process had begun, and removes its temporaries.
    pub fn recover(&mut self, files: &[RevertFile]) -> Vec<RevertOutcome> {
        self.work_through(files, Self::recover_one)
    }

    fn work_through(&mut self, files: &[RevertFile], work: Work) -> Vec<RevertOutcome> {
        let locked = self.lock().and_then(|lock| self.objects.catch_up().map(|()| lock));
        let results = match &locked {
            Ok(_) => self.in_order(files, work),
            Err(error) => vec![RevertResult::Failed { reason: error.to_string() }; files.len()],
        };
        let outcome = |(file, result): (&RevertFile, RevertResult)| RevertOutcome {
            root: file.root.clone(),
            path: file.path.clone(),
            result,
        };
        files.iter().zip(results).map(outcome).collect()
    }

    // ── preparing ──

    fn prepare_one(&mut self, plan: &FilePlan, going: &BTreeSet<&RepoPath>) -> Result<RevertFile, Stop> {
        let wanted = self.wanted_state(plan)?;
        let top = self.open_as_seen()?;
        let temporary = temporary_beside(&plan.path)?;
        if plan.expected.is_none() && wanted.is_some() {
            stands_above(&top, &plan.path, going)?;
        }
        let site = site_of(&top, &plan.path, Some(&temporary));
        let found = match &site {
            Ok(site) if plan.expected.is_none() && site.is_directory() => {
                stays_in(site, &plan.path, going)?;
                None
            }
            Ok(site) => site.read(Place::Path, &self.reading()).map_err(io("read"))?,
            Err(error) if is_absence(error) => None,
            Err(error) => return Err(Stop::Said(error.to_string())),
        };
        if !is_expected(found.as_ref(), plan.expected.as_ref()) {
            return Err(Stop::Stale(None));
        }
        let method = match (&plan.expected, &wanted, &site) {
            (None, Some(_), _) => Method::Create,
            (_, None, _) => Method::Remove,
            (Some(expected), Some(wanted), Ok(site)) => swap_method(expected, wanted, site)?,
            (Some(_), Some(_), Err(_)) => return Err(Stop::Stale(None)),
        };
        let temporary = (method != Method::InPlace).then_some(temporary);
        let (root, path, other) = (plan.root.clone(), plan.path.clone(), plan.other.clone());
        Ok(RevertFile { root, path, expected: plan.expected, wanted, temporary, method, other })
    }

    /// Returns the state that is wanted, its bytes in the store.
    fn wanted_state(&mut self, plan: &FilePlan) -> Result<Option<FileState>, Stop> {
        match &plan.wanted {
            Wanted::Absent => Ok(None),
            Wanted::State(state) => {
                self.bytes_of(state)?;
                Ok(Some(*state))
            }
            Wanted::Edited { mode, edits } => {
                let expected =
                    plan.expected.ok_or_else(|| Stop::Said("there is nothing to edit".to_owned()))?;
                let bytes = edited(&self.bytes_of(&expected)?, edits)
                    .ok_or_else(|| Stop::Said("the edits do not fit the file".to_owned()))?;
                Ok(Some(self.stored(&bytes, *mode)))
            }
            Wanted::Bytes { mode, bytes } => Ok(Some(self.stored(bytes, *mode))),
        }
    }

    fn stored(&mut self, bytes: &[u8], mode: Mode) -> FileState {
        let blob = self.objects.put_blob(bytes);
        FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept }
    }

    fn bytes_of(&self, state: &FileState) -> Result<Vec<u8>, Stop> {
        if state.content != Content::Kept {
            return Err(Stop::Said("its content is not kept".to_owned()));
        }
        let bytes = self.objects.read(&state.blob.0);
        bytes.ok_or_else(|| Stop::Said(format!("blob {} is missing from the store", state.blob)))
    }

    // ── carrying out ──

    pub(crate) fn restore_one(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        match file.method {
            Method::Exchange => self.exchange(file),
            Method::Create => self.create(file),
            Method::Remove => self.remove(file),
            Method::InPlace => self.write_in_place(file),
        }
    }

    fn exchange(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        let site = self.site(file)?;
        let wanted = wanted_of(file)?;
        let bytes = self.bytes_of(&wanted)?;
        self.check(&site, file.expected.as_ref())?;
        self.between(Step::Checked)?;
        if !site.make_like(&bytes, wanted.mode).map_err(io("write"))? {
            return self.write_in_place(file);
        }
        self.between(Step::Written)?;
        match site.exchange() {
            Ok(()) => {}
            Err(error) => {
                site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
                return match is_unsupported(&error) {
                    true => self.write_in_place(file),
                    false if is_absence(&error) => Err(Stop::Stale(None)),
                    false => Err(Stop::Io("exchange", error)),
                };
            }
        }
        self.between(Step::Swapped)?;
        self.settle_exchange(&site, file)
    }

    /// After an exchange: the temporary must hold what was expected, else what stood at the path goes back there.
    fn settle_exchange(&mut self, site: &Site, file: &RevertFile) -> Result<RevertResult, Stop> {
        const ROUNDS: u32 = 8;
        let out = site.read(Place::Temporary, &self.reading()).map_err(io("read what was exchanged for"))?;
        if is_expected(out.as_ref(), file.expected.as_ref()) {
            site.unlink(Place::Temporary).map_err(io("remove the old"))?;
            site.sync();
            self.between(Step::Removed)?;
            return Ok(RevertResult::Done { left: file.wanted, remark: None });
        }
        let mut rescued = None;
        for _ in 0..ROUNDS {
            // What came out is newer than what went in: it goes back to the path.
            site.exchange().map_err(io("exchange back"))?;
            let Some(out) = site.read(Place::Temporary, &self.reading()).map_err(io("read"))? else { break };
            if self.is_known(&out, file) {
                site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
                break;
            }
            rescued = self.rescue(site, out)?;
        }
        site.sync();
        Err(Stop::Stale(rescued))
    }

    fn create(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        let top = self.open_as_seen()?;
        let wanted = wanted_of(file)?;
        let bytes = self.bytes_of(&wanted)?;
        stands_above(&top, &file.path, &BTreeSet::new())?;
        make_parents(&top, &file.path).map_err(io("make the directory of"))?;
        let site = self.site(file)?;
        let hollow = site.is_directory();
        if hollow {
            stays_in(&site, &file.path, &BTreeSet::new())?;
        } else {
            self.check(&site, None)?;
        }
        self.between(Step::Checked)?;
        site.make_new(&bytes, wanted.mode).map_err(io("write"))?;
        self.between(Step::Written)?;
        if hollow && let Err(error) = site.remove_hollow() {
            site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
            return Err(Stop::Io("remove the directory that stands at", error));
        }
        if let Err(error) = site.move_from(Place::Temporary) {
            site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
            let taken = error.kind() == std::io::ErrorKind::AlreadyExists;
            return Err(if taken { Stop::Stale(None) } else { Stop::Io("create", error) });
        }
        site.sync();
        self.between(Step::Swapped)?;
        Ok(RevertResult::Done { left: file.wanted, remark: None })
    }

    fn remove(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        let site = match self.site(file) {
            Err(Stop::Stale(_)) if file.expected.is_none() => return Ok(done_absent()),
            site => site?,
        };
        self.check(&site, file.expected.as_ref())?;
        if file.expected.is_none() {
            return Ok(done_absent());
        }
        self.between(Step::Checked)?;
        match site.move_from(Place::Path) {
            Ok(()) => {}
            Err(error) if is_absence(&error) => return Err(Stop::Stale(None)),
            Err(error) => return Err(Stop::Io("move aside", error)),
        }
        self.between(Step::Swapped)?;
        self.settle_remove(&site, file)
    }

    /// After the path was moved aside: what came away must be what was expected, else it goes back.
    fn settle_remove(&mut self, site: &Site, file: &RevertFile) -> Result<RevertResult, Stop> {
        let out =
            site.read(Place::Temporary, &self.reading()).map_err(io("read what was moved aside for"))?;
        if !is_expected(out.as_ref(), file.expected.as_ref()) {
            return Err(Stop::Stale(self.move_back(site, out)?));
        }
        site.unlink(Place::Temporary).map_err(io("remove"))?;
        site.sync();
        self.between(Step::Removed)?;
        self.remove_hollow_parents(&file.path);
        Ok(done_absent())
    }

    /// What was moved aside goes back to its path; where something else stands there now, it is rescued.
    fn move_back(&mut self, site: &Site, out: Option<Taken>) -> Result<Option<FileState>, Stop> {
        match (site.move_from(Place::Temporary), out) {
            (Ok(()), _) | (Err(_), None) => Ok(None),
            (Err(_), Some(out)) => self.rescue(site, out),
        }
    }

    /// Removes the directories that appeared while this root was looked at and hold nothing now.
    fn remove_hollow_parents(&self, path: &RepoPath) {
        let Ok(top) = self.open_as_seen() else { return };
        let mut at = path.parent();
        while let Some(dir) = at {
            let Ok(holder) = open_parent(top.as_fd(), &dir) else { return };
            let name = OsStr::from_bytes(dir.name());
            if !self.made.contains(&dir) || unlinkat(&holder, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            at = dir.parent();
        }
    }

    fn write_in_place(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        let site = self.site(file)?;
        let wanted = wanted_of(file)?;
        let bytes = self.bytes_of(&wanted)?;
        self.check(&site, file.expected.as_ref())?;
        let same_bytes = file.expected.is_some_and(|expected| expected.blob == wanted.blob);
        let access = if same_bytes { OFlags::RDONLY } else { OFlags::RDWR };
        let mut open = site.open(access).map_err(io("open"))?;
        let found = self.reading().read_open(&mut open, file.path.name()).map_err(io("read"))?;
        if !is_expected(found.as_ref(), file.expected.as_ref()) {
            return Err(Stop::Stale(None));
        }
        self.between(Step::Checked)?;
        if !same_bytes && let Err(stop) = self.overwrite(&open, &bytes) {
            return Err(write_back(&open, found, stop));
        }
        let old = open.metadata().map_err(io("look at"))?;
        let mode = std::os::unix::fs::MetadataExt::mode(&old);
        let bits = permissions(mode, wanted.mode);
        if bits != mode & 0o7777 {
            fchmod(&open, stat::permissions(bits))
                .map_err(|error| Stop::Io("change the mode of", error.into()))?;
        }
        open.sync_all().map_err(io("sync"))?;
        self.between(Step::Swapped)?;
        let remark = (!same_bytes).then(|| "written in place, not exchanged".to_owned());
        Ok(RevertResult::Done { left: file.wanted, remark })
    }

    fn overwrite(&mut self, open: &std::fs::File, bytes: &[u8]) -> Result<(), Stop> {
        let half = bytes.len() / 2;
        open.write_all_at(&bytes[..half], 0).map_err(io("write"))?;
        self.between(Step::HalfWritten)?;
        open.write_all_at(&bytes[half..], half as u64).map_err(io("write"))?;
        open.set_len(bytes.len() as u64).map_err(io("cut"))
    }

    // ── after a crash ──

    fn recover_one(&mut self, file: &RevertFile) -> Result<RevertResult, Stop> {
        let site = match self.site(file) {
            Ok(site) => site,
            // Its directory is gone: nothing is left of it, on either side.
            Err(Stop::Stale(_)) if file.method == Method::Create => return self.restore_one(file),
            Err(Stop::Stale(_)) if file.wanted.is_none() => return Ok(done_absent()),
            Err(stop) => return Err(stop),
        };
        // A directory in the place of a file that goes, or is to come back, is no file.
        let no_file = matches!(file.method, Method::Create | Method::Remove) && site.is_directory();
        let path = match no_file {
            true => None,
            false => site.read(Place::Path, &self.reading()).map_err(io("read"))?,
        };
        let temporary = match file.temporary {
            Some(_) => site.read(Place::Temporary, &self.reading()).map_err(io("read the temporary of"))?,
            None => None,
        };
        let stands = is_expected(path.as_ref(), file.wanted.as_ref());
        let Some(temporary) = temporary else {
            let begun = !is_expected(path.as_ref(), file.expected.as_ref());
            return match (stands, file.method) {
                (true, _) => Ok(self.recovered(file)),
                // An exchange falls back to writing in place where the file system cannot exchange.
                (false, Method::InPlace | Method::Exchange) if begun => self.finish_in_place(&site, file),
                (false, _) => self.restore_one(file),
            };
        };
        if stands && is_expected(Some(&temporary), file.expected.as_ref()) {
            site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
            return Ok(self.recovered(file));
        }
        if stands && file.method == Method::Exchange {
            return self.settle_exchange(&site, file);
        }
        if file.method == Method::Remove && path.is_none() {
            return self.settle_remove(&site, file);
        }
        let known = self.is_known(&temporary, file) || self.is_beginning(&temporary, file);
        let rescued = match known {
            true => {
                site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
                None
            }
            false => self.rescue(&site, temporary)?,
        };
        match (stands, rescued) {
            (true, None) => Ok(self.recovered(file)),
            (false, None) => self.restore_one(file),
            (_, rescued @ Some(_)) => Err(Stop::Stale(rescued)),
        }
    }

    fn recovered(&self, file: &RevertFile) -> RevertResult {
        if file.wanted.is_none() {
            self.remove_hollow_parents(&file.path);
        }
        RevertResult::Done { left: file.wanted, remark: Some("finished after a crash".to_owned()) }
    }

    /// A write in place that was parted: the new bytes up to somewhere, the old ones after it.
    fn finish_in_place(&mut self, site: &Site, file: &RevertFile) -> Result<RevertResult, Stop> {
        let (Some(expected), wanted) = (file.expected, wanted_of(file)?) else {
            return Err(Stop::Stale(None));
        };
        let (old, new) = (self.bytes_of(&expected)?, self.bytes_of(&wanted)?);
        let Some(found) = site.read(Place::Path, &self.reading()).map_err(io("read"))? else {
            return Err(Stop::Stale(None));
        };
        if !is_parted(&found.bytes, &new, &old) {
            return Err(Stop::Stale(None));
        }
        let parted = RevertFile { expected: Some(found.state), ..file.clone() };
        self.write_in_place(&parted)
    }

    fn is_beginning(&self, taken: &Taken, file: &RevertFile) -> bool {
        let wanted = file.wanted.and_then(|wanted| self.bytes_of(&wanted).ok());
        taken.state.content == Content::Kept && wanted.is_some_and(|bytes| bytes.starts_with(&taken.bytes))
    }

    // ── small things ──

    fn reading(&self) -> Reading<'_> {
        Reading::new(&self.settings, self.secret())
    }

    fn site(&self, file: &RevertFile) -> Result<Site, Stop> {
        let top = self.open_as_seen()?;
        match site_of(&top, &file.path, file.temporary.as_ref()) {
            Ok(site) => Ok(site),
            Err(error) if is_absence(&error) => Err(Stop::Stale(None)),
            Err(error) => Err(Stop::Io("open the directory of", error)),
        }
    }

    fn check(&self, site: &Site, expected: Option<&FileState>) -> Result<(), Stop> {
        let found = site.read(Place::Path, &self.reading()).map_err(io("read"))?;
        if is_expected(found.as_ref(), expected) { Ok(()) } else { Err(Stop::Stale(None)) }
    }

    /// Says whether the bytes are in the store already as one of the two sides of a revert.
    fn is_known(&self, taken: &Taken, file: &RevertFile) -> bool {
        let sides = [file.expected, file.wanted];
        let is_side = sides.iter().flatten().any(|side| in_tree(side) == taken.in_tree);
        is_side && taken.state.content == Content::Kept && self.objects.read(&taken.state.blob.0).is_some()
    }

    /// Keeps the unknown bytes of the temporary: in the store, or where they cannot go there, under a name that is seen.
    fn rescue(&mut self, site: &Site, taken: Taken) -> Result<Option<FileState>, Stop> {
        let stored = taken.state.content == Content::Kept && {
            self.objects.put_hashed_blob(taken.in_tree, &taken.bytes);
            self.objects.flush().and_then(|_| self.objects.sync()).is_ok()
        };
        if stored {
            site.unlink(Place::Temporary).map_err(io("remove the temporary of"))?;
            return Ok(Some(taken.state));
        }
        let name = site.keep_temporary().map_err(io("keep what was found at"))?;
        Err(Stop::Said(format!("another program wrote meanwhile; what it wrote is kept as {name}")))
    }

    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "tests end or disturb the process here"
    )]
    fn between(&mut self, _: Step) -> Result<(), Stop> {
        Ok(())
    }

    #[cfg(test)]
    fn between(&mut self, step: Step) -> Result<(), Stop> {
        match &mut self.between {
            Some(between) => between.0(step),
            None => Ok(()),
        }
    }
}

/// A write in place that failed half way is taken back; where that fails, too, it is said where the bytes are.
fn write_back(open: &std::fs::File, found: Option<Taken>, stop: Stop) -> Stop {
    #[cfg(test)]
    if matches!(stop, Stop::Killed) {
        return stop;
    }
    let Some(found) = found.filter(|found| found.state.content == Content::Kept) else { return stop };
    let back = open.write_all_at(&found.bytes, 0).and_then(|()| open.set_len(found.bytes.len() as u64));
    match (back, stop) {
        (Err(_), Stop::Io(operation, error)) => {
            let kept = found.state.blob;
            Stop::Said(format!("{operation} it: {error}, half way; what stood there is kept as {kept}"))
        }
        (Ok(()) | Err(_), stop) => stop,
    }
}

fn result_of(result: Result<RevertResult, Stop>) -> RevertResult {
    match result {
        Ok(result) => result,
        Err(Stop::Stale(rescued)) => RevertResult::Stale { rescued },
        Err(Stop::Io(operation, error)) => {
            RevertResult::Failed { reason: format!("{operation} it: {error}") }
        }
        Err(Stop::Said(reason)) => RevertResult::Failed { reason },
        #[cfg(test)]
        Err(Stop::Killed) => RevertResult::Failed { reason: "killed".to_owned() },
    }
}

fn done_absent() -> RevertResult {
    RevertResult::Done { left: None, remark: None }
}

/// Refuses where a directory that has to go holds a file that does not go with it.
fn stays_in(site: &Site, path: &RepoPath, going: &BTreeSet<&RepoPath>) -> Result<(), Stop> {
    let stays = |beneath: &[u8]| path.join(beneath).map_or(true, |found| !going.contains(&found));
    match site.first_file(&stays).map_err(io("look into the directory that stands at"))? {
        Some(found) => {
            let found = String::from_utf8_lossy(&found).into_owned();
            Err(Stop::Said(format!("a directory stands there now, and {path}/{found} in it stays")))
        }
        None => Ok(()),
    }
}

/// Refuses where something that is no directory and does not go stands above a path.
fn stands_above(top: &OwnedFd, path: &RepoPath, going: &BTreeSet<&RepoPath>) -> Result<(), Stop> {
    let mut above: Vec<RepoPath> = std::iter::successors(path.parent(), RepoPath::parent).collect();
    above.reverse();
    for dir in above {
        let Ok(site) = site_of(top, &dir, None) else { return Ok(()) };
        if going.contains(&dir) || site.stat().is_err() {
            return Ok(());
        }
        if !site.is_directory() {
            return Err(Stop::Said(format!("{dir} is no directory now, and it stays")));
        }
    }
    Ok(())
}

fn wanted_of(file: &RevertFile) -> Result<FileState, Stop> {
    file.wanted.ok_or_else(|| Stop::Said("the step does not say what is wanted".to_owned()))
}

fn is_expected(found: Option<&Taken>, expected: Option<&FileState>) -> bool {
    match (found, expected) {
        (None, None) => true,
        (Some(found), Some(expected)) => {
            found.state.mode == expected.mode && found.in_tree == in_tree(expected) && !found.unstable
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Chooses how a file is replaced: exchanged, unless its identity must stay or its directory cannot be written.
fn swap_method(expected: &FileState, wanted: &FileState, site: &Site) -> Result<Method, Stop> {
    if expected.mode == Mode::Symlink || wanted.mode == Mode::Symlink {
        return Ok(Method::Exchange);
    }
    let links = site.stat().map_err(io("look at"))?.st_nlink;
    let in_place = links > 1 || expected.blob == wanted.blob || !site.is_writable();
    Ok(if in_place { Method::InPlace } else { Method::Exchange })
}

fn edited(old: &[u8], edits: &[ByteEdit]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(old.len());
    let mut at = 0;
    for edit in edits {
        bytes.extend_from_slice(old.get(at..edit.start)?);
        bytes.extend_from_slice(&edit.text);
        at = edit.end;
        old.get(edit.start..edit.end)?;
    }
    bytes.extend_from_slice(old.get(at..)?);
    Some(bytes)
}

/// Says whether `found` is some beginning of `new` followed by the rest of `old`.
fn is_parted(found: &[u8], new: &[u8], old: &[u8]) -> bool {
    let common = found.iter().zip(new).take_while(|(a, b)| a == b).count();
    // The longest beginning decides: whatever a shorter one leaves to the rest, a longer one leaves as well.
    let rest = old.get(common..).unwrap_or_default();
    found.get(common..) == Some(rest)
}

fn temporary_beside(path: &RepoPath) -> Result<RepoPath, Stop> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| Stop::Said(error.to_string()))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = [TEMPORARY, digits.as_bytes()].concat();
    let made = match path.parent() {
        Some(parent) => parent.join(&name),
        None => RepoPath::new(name),
    };
    made.map_err(|error| Stop::Said(error.to_string()))
}

fn site_of(top: &OwnedFd, path: &RepoPath, temporary: Option<&RepoPath>) -> std::io::Result<Site> {
    let dir = open_parent(top.as_fd(), path)?;
    Ok(Site::new(dir, path.name(), temporary.map_or(b"", |temporary| temporary.name())))
}

/// Makes the missing directories of a path, following no link.
fn make_parents(top: &OwnedFd, path: &RepoPath) -> std::io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for part in parent.as_bytes().split(|&byte| byte == b'/') {
        let name = OsStr::from_bytes(part);
        match mkdirat(&at, name, FsMode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = rustix::fs::openat(&at, name, flags, FsMode::empty())?;
    }
    Ok(())
}

mod halves;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
