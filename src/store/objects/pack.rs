//! Making ordinary git objects of sealed segments, while the root is looked at.

use super::{PINS, id_bytes, io_git, oid, prepare_libgit2, sealed_segments};
use crate::base::{SessionKey, TreeId};
use crate::store::StoreError;
use crate::store::segment::{Kind, Segment};
use crate::store::state::open_private;
use git2::{ObjectType, OdbLookupFlags, Oid, Repository};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Packs sealed segments and then moves session refs: here while there is little, else on a thread of its own.
#[derive(Debug, Default)]
pub(super) struct Packer {
    running: Option<JoinHandle<Result<(), StoreError>>>,
    waiting: Option<Packing>,
}

/// What is to be packed, and pinned after that.
#[derive(Debug)]
pub(super) struct Packing {
    pub(super) root_dir: PathBuf,
    pub(super) pins: BTreeMap<SessionKey, TreeId>,
}

/// Objects, or bytes, up to which packing is done at once.
const LITTLE: (usize, u64) = (300, 1024 * 1024);

impl Packer {
    /// Takes the work on; reports what an earlier one ran into.
    pub(super) fn take(&mut self, mut work: Packing, objects: usize, bytes: u64) -> Result<(), StoreError> {
        if let Some(earlier) = self.waiting.take() {
            let pins = earlier.pins.into_iter().filter(|(session, _)| !work.pins.contains_key(session));
            let pins: Vec<_> = pins.collect();
            work.pins.extend(pins);
        }
        if self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            self.waiting = Some(work);
            return Ok(());
        }
        let before = self.finish();
        if objects <= LITTLE.0 && bytes <= LITTLE.1 {
            return before.and_then(|()| work.run());
        }
        let started = std::thread::Builder::new().name("pack".to_owned()).spawn(move || work.run());
        self.running = Some(started.map_err(|error| StoreError::said("start", "pack", error.to_string()))?);
        before
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        match self.running.take() {
            Some(running) => running.join().unwrap_or(Ok(())),
            None => Ok(()),
        }
    }

    /// Waits until everything is packed.
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        let before = self.finish();
        let waiting = self.waiting.take().map_or(Ok(()), Packing::run);
        before.and(waiting)
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        // What is not packed stays in its segment, where every reader finds it.
        drop(self.settle());
    }
}

impl Packing {
    fn run(self) -> Result<(), StoreError> {
        prepare_libgit2();
        let _lock = lock(&self.root_dir)?;
        let store = self.root_dir.join("store.git");
        for segment in sealed_segments(&self.root_dir) {
            pack_segment(&store, segment)?;
        }
        let repository = Repository::open_bare(&store).map_err(io_git("open", &store))?;
        for (session, top) in &self.pins {
            let Some(top) = oid(&top.0) else { continue };
            let name = format!("{PINS}{}", session.as_str());
            repository.reference(&name, top, true, "").map_err(io_git("pin trees in", &store))?;
        }
        consolidate(&store)
    }
}

/// Holds others off who pack or move refs in the store of a root, and removes what dead ones left in their way.
pub(super) fn lock(root_dir: &Path) -> Result<std::fs::File, StoreError> {
    let path = root_dir.join("pack.lock");
    let lock = open_private(&path)?;
    lock.lock().map_err(|error| StoreError::io("lock", &path, error))?;
    let store = root_dir.join("store.git");
    for dir in [store.clone(), store.join(PINS), store.join("objects/pack")] {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            // libgit2 writes beside a ref under `.lock`, and a pack under a name of its own; both are empty or torn.
            if name.ends_with(b".lock") || memchr::memmem::find(name, b"_git2_").is_some() {
                drop(std::fs::remove_file(entry.path()));
            }
        }
    }
    Ok(lock)
}

fn pack_segment(store: &Path, path: PathBuf) -> Result<(), StoreError> {
    let segment = Segment::open(path.clone())?;
    let ids = segment.ids();
    let read = |id: &[u8; 20]| segment.read(id);
    for chunk in chunks(&ids, |id| segment.size(id).unwrap_or(0)) {
        write_pack(store, chunk, &read).map_err(io_git("pack objects in", store))?;
    }
    check_packed(store, ids.iter().map(|(id, _)| id))?;
    std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, error))
}

/// Cuts a list of objects into parts that fit into memory.
fn chunks(
    ids: &[([u8; 20], Kind)],
    size: impl Fn(&[u8; 20]) -> u64,
) -> impl Iterator<Item = &[([u8; 20], Kind)]> {
    const OBJECTS: usize = 10_000;
    const BYTES: u64 = 32 * 1024 * 1024;
    let mut rest = ids;
    std::iter::from_fn(move || {
        let mut bytes = 0_u64;
        let fits = rest.iter().take(OBJECTS).take_while(|(id, _)| {
            let first = bytes == 0;
            bytes = bytes.saturating_add(size(id).max(1));
            first || bytes <= BYTES
        });
        let count = fits.count();
        let (part, after) = rest.split_at(count);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Writes one pack, of objects that are new to the store and of others.
fn write_pack(
    store: &Path,
    ids: &[([u8; 20], Kind)],
    read: &dyn Fn(&[u8; 20]) -> Option<Vec<u8>>,
) -> Result<(), git2::Error> {
    let scratch = Repository::open_bare(store)?;
    let odb = scratch.odb()?;
    let memory = odb.add_new_mempack_backend(1000)?;
    let mut pack = scratch.packbuilder()?;
    for (id, kind) in ids {
        let Some(bytes) = read(id) else { continue };
        let kind = match kind {
            Kind::Blob => ObjectType::Blob,
            Kind::Tree => ObjectType::Tree,
        };
        pack.insert_object(odb.write(kind, &bytes)?, None)?;
    }
    let mut buffer = git2::Buf::new();
    pack.write_buf(&mut buffer)?;
    let target = Repository::open_bare(store)?;
    let own = target.odb()?;
    let mut writer = own.packwriter()?;
    writer.write_all(&buffer).map_err(|error| git2::Error::from_str(&error.to_string()))?;
    writer.commit()?;
    memory.reset()
}

fn check_packed<'a>(store: &Path, ids: impl Iterator<Item = &'a [u8; 20]>) -> Result<(), StoreError> {
    let repository = Repository::open_bare(store).map_err(io_git("open", store))?;
    let odb = repository.odb().map_err(io_git("open", store))?;
    for id in ids {
        if !oid(id).is_some_and(|id| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)) {
            return Err(StoreError::said("pack objects in", store, "an object is missing from the pack"));
        }
    }
    Ok(())
}

// ── many small packs into one ──

/// Makes one pack of our own small ones when there are many.
fn consolidate(store: &Path) -> Result<(), StoreError> {
    const MANY: usize = 24;
    const SMALL: u64 = 4 * 1024 * 1024;
    let packs: Vec<_> = own_packs(store).into_iter().filter(|(_, size)| *size <= SMALL).collect();
    if packs.len() < MANY {
        return Ok(());
    }
    let repository = Repository::open_bare(store).map_err(io_git("open", store))?;
    let odb = repository.odb().map_err(io_git("open", store))?;
    let mut ids = Vec::new();
    for (index, _) in &packs {
        for id in ids_of_index(index).unwrap_or_default() {
            let header = oid(&id).and_then(|id| odb.read_header(id).ok());
            match header {
                Some((_, ObjectType::Tree)) => ids.push((id, Kind::Tree)),
                Some((_, ObjectType::Blob)) => ids.push((id, Kind::Blob)),
                // Nothing else is ever put into a pack of ours.
                Some(_) | None => return Ok(()),
            }
        }
    }
    ids.sort_by_key(|(id, _)| *id);
    ids.dedup_by_key(|(id, _)| *id);
    let before: Vec<_> = own_packs(store).into_iter().map(|(index, _)| index).collect();
    let read = |id: &[u8; 20]| Some(odb.read(oid(id)?).ok()?.data().to_vec());
    for chunk in chunks(&ids, |id| size_of(&odb, id)) {
        write_pack(store, chunk, &read).map_err(io_git("pack objects in", store))?;
    }
    let fresh = own_packs(store).into_iter().any(|(index, _)| !before.contains(&index));
    if !fresh {
        return Ok(());
    }
    for (index, _) in packs {
        let remove = |path: PathBuf| {
            std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, error))
        };
        let pack = index.with_extension("pack");
        remove(index)?;
        remove(pack)?;
    }
    check_packed(store, ids.iter().map(|(id, _)| id))
}

fn size_of(odb: &git2::Odb<'_>, id: &[u8; 20]) -> u64 {
    oid(id).and_then(|id| odb.read_header(id).ok()).map_or(0, |(size, _)| size as u64)
}

/// Returns the indexes of the packs that only we hold, with the size of the pack.
fn own_packs(store: &Path) -> Vec<(PathBuf, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let entries = std::fs::read_dir(store.join("objects/pack")).into_iter().flatten().flatten();
    let packs = entries.filter_map(|entry| {
        let path = entry.path();
        let meta = path.with_extension("pack").metadata().ok()?;
        let ours = path.extension().is_some_and(|ending| ending == "idx") && meta.nlink() == 1;
        ours.then_some((path, meta.len()))
    });
    packs.collect()
}

/// Reads the ids out of a pack index, version 2.
fn ids_of_index(index: &Path) -> Option<Vec<[u8; 20]>> {
    const HEAD: usize = 8;
    const FANOUT: usize = 256 * 4;
    let bytes = std::fs::read(index).ok()?;
    if !bytes.starts_with(b"\xfftOc\0\0\0\x02") {
        return None;
    }
    let last = bytes.get(HEAD + FANOUT - 4..HEAD + FANOUT)?.try_into().ok()?;
    let count = usize::try_from(u32::from_be_bytes(last)).ok()?;
    let table = bytes.get(HEAD + FANOUT..HEAD + FANOUT + count * 20)?;
    Some(table.chunks_exact(20).filter_map(|id| Oid::from_bytes(id).ok().map(id_bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Blobs as _;
    use crate::store::oracle::{Eye, Git};

    fn store_of(eye: &Eye) -> PathBuf {
        eye.state.root_dir(&eye.store.root().id).join("store.git")
    }

    fn is_kept(eye: &Eye, content: &str) -> bool {
        let id = crate::store::objects::blob_id(content.as_bytes());
        eye.store.blobs().bytes(id).as_deref() == Some(content.as_bytes())
    }

    #[test]
    fn what_is_being_packed_is_readable_all_the_time() {
        let git = Git::init();
        for n in 0..700 {
            git.write(&format!("d{}/f{n}", n % 30), format!("content {n}\n"));
        }
        let mut eye = Eye::on(&git);
        let base = eye.look();
        let reader = eye.store.blobs();
        let some = |n: u32| crate::store::objects::blob_id(format!("content {n}\n").as_bytes());
        assert!(reader.bytes(some(3)).is_some());
        let session = SessionKey::new("s");
        eye.store.pin(&session, &[base.tree]).unwrap();
        git.write("d0/f0", "changed\n");
        let next = eye.look();
        eye.store.pin(&session, &[base.tree, next.tree]).unwrap();
        assert!((0..700).all(|n| reader.bytes(some(n)).is_some()));
        eye.store.objects.settle();
        assert!(sealed_segments(&eye.state.root_dir(&eye.store.root().id)).is_empty());
        assert!((0..700).all(|n| is_kept(&eye, &format!("content {n}\n"))));
        let store = store_of(&eye);
        let dir = store.to_str().unwrap();
        git.run(&["--git-dir", dir, "fsck", "--strict", "--no-dangling"]);
        let pinned = git.run(&["--git-dir", dir, "ls-tree", "refs/hunkgate/sessions/s"]);
        assert!(pinned.contains(&next.tree.to_string()) && pinned.contains(&base.tree.to_string()));
    }

    #[test]
    fn many_small_packs_become_one() {
        let git = Git::none();
        git.write("f", "0\n");
        let mut eye = Eye::on(&git);
        let mut trees = Vec::new();
        for n in 0..40 {
            git.write("f", format!("{n}\n"));
            trees.push(eye.look().tree);
            eye.store.pin(&SessionKey::new("s"), &trees).unwrap();
        }
        assert!(own_packs(&store_of(&eye)).len() < 24);
        assert!((0..40).all(|n| is_kept(&eye, &format!("{n}\n"))));
        let dir = store_of(&eye);
        git.run(&["--git-dir", dir.to_str().unwrap(), "fsck", "--strict", "--no-dangling"]);
    }
}
