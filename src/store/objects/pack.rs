//! Making ordinary git objects of sealed segments, while the root is looked at.

use super::{PINS, hash, id_bytes, io_git, oid, prepare_libgit2, sealed_segments};
use crate::base::{SessionKey, TreeId};
use crate::store::StoreError;
use crate::store::segment::{Kind, Segment};
use crate::store::state::open_private;
use git2::{ObjectType, OdbLookupFlags, Oid, Repository};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Packs sealed segments and then moves session refs, on a thread of its own: whoever looks at the root waits for no pack.
#[derive(Debug, Default)]
pub(super) struct Packer {
    desk: Arc<Mutex<Desk>>,
    thread: Option<JoinHandle<()>>,
}

/// What packers and those who want something packed tell each other.
#[derive(Debug, Default)]
struct Desk {
    /// A thread looks for what waits until nothing does.
    manned: bool,
    waiting: Option<Packing>,
    /// What is pinned, or waits to be.
    pinned: BTreeMap<SessionKey, TreeId>,
    /// What was not done.
    trouble: Option<StoreError>,
}

/// What is to be packed, and pinned after that.
#[derive(Debug)]
pub(super) struct Packing {
    pub(super) root_dir: PathBuf,
    pub(super) pins: BTreeMap<SessionKey, Top>,
}

/// A tree of the trees that a session names.
#[derive(Clone, Debug)]
pub(super) struct Top {
    id: TreeId,
    bytes: Vec<u8>,
}

impl Top {
    /// Makes the tree of some trees, which stand in it under their own ids.
    pub(super) fn over<'a>(trees: impl Iterator<Item = &'a TreeId>) -> Self {
        let mut bytes = Vec::new();
        for tree in trees.collect::<BTreeSet<_>>() {
            bytes.extend_from_slice(format!("40000 {tree}\0").as_bytes());
            bytes.extend_from_slice(&tree.0);
        }
        Self { id: TreeId(hash(ObjectType::Tree, &bytes)), bytes }
    }
}

impl Packer {
    /// Says whether a session's ref names this tree already, or will.
    pub(super) fn has_pinned(&self, session: &SessionKey, top: &Top) -> bool {
        desk(&self.desk).pinned.get(session) == Some(&top.id)
    }

    /// Takes the work on. Reports what an earlier one ran into: it is done again with this.
    pub(super) fn take(&mut self, mut work: Packing) -> Result<(), StoreError> {
        let mut open = desk(&self.desk);
        open.pinned.extend(work.pins.iter().map(|(session, top)| (session.clone(), top.id)));
        for (session, top) in open.waiting.take().into_iter().flat_map(|earlier| earlier.pins) {
            work.pins.entry(session).or_insert(top);
        }
        open.waiting = Some(work);
        if !open.manned {
            let desk = Arc::clone(&self.desk);
            let started = std::thread::Builder::new().name("pack".to_owned()).spawn(move || man(&desk));
            let started = started.map_err(|error| StoreError::said("start", "pack", error.to_string()))?;
            (open.manned, self.thread) = (true, Some(started));
        }
        open.trouble.take().map_or(Ok(()), Err)
    }

    /// Waits until everything is packed.
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        desk(&self.desk).trouble.take().map_or(Ok(()), Err)
    }
}

fn desk(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does what waits until nothing does.
fn man(at: &Mutex<Desk>) {
    loop {
        let Some(work) = desk(at).next() else { return };
        let died = || Err(StoreError::said("finish", "pack", "an internal error"));
        let done = catch_unwind(AssertUnwindSafe(|| work.run())).unwrap_or_else(|_| died());
        if let Err(trouble) = done {
            let mut desk = desk(at);
            desk.pinned.clear();
            desk.trouble = Some(trouble);
        }
    }
}

impl Desk {
    fn next(&mut self) -> Option<Packing> {
        let next = self.waiting.take();
        self.manned = next.is_some();
        next
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
        let mut tops: BTreeMap<[u8; 20], &[u8]> =
            self.pins.values().map(|top| (top.id.0, top.bytes.as_slice())).collect();
        for segment in sealed_segments(&self.root_dir) {
            pack_segment(&store, segment, &std::mem::take(&mut tops))?;
        }
        // What names the trees is to last as long as they do.
        sync(&self.root_dir.join("chain.jsonl"))?;
        pack(&store, &Source { segment: None, tops: &tops })?;
        let repository = Repository::open_bare(&store).map_err(io_git("open", &store))?;
        for (session, top) in &self.pins {
            let Some(top) = oid(&top.id.0) else { continue };
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

/// What goes into one pack, or several.
struct Source<'a> {
    segment: Option<&'a Segment>,
    tops: &'a BTreeMap<[u8; 20], &'a [u8]>,
}

impl Source<'_> {
    fn ids(&self) -> Vec<([u8; 20], Kind)> {
        let own = self.segment.map(Segment::ids).unwrap_or_default();
        own.into_iter().chain(self.tops.keys().map(|id| (*id, Kind::Tree))).collect()
    }

    fn size(&self, id: &[u8; 20]) -> u64 {
        let own = self.segment.and_then(|segment| segment.size(id));
        own.or_else(|| self.tops.get(id).map(|bytes| bytes.len() as u64)).unwrap_or(0)
    }

    fn read(&self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let top = self.tops.get(id).map(|bytes| bytes.to_vec());
        top.or_else(|| self.segment.and_then(|segment| segment.read(id)))
    }
}

fn pack_segment(store: &Path, path: PathBuf, tops: &BTreeMap<[u8; 20], &[u8]>) -> Result<(), StoreError> {
    let segment = Segment::open(path.clone())?;
    if let Err(trouble) = pack(store, &Source { segment: Some(&segment), tops }) {
        return sync(&path).and(Err(trouble));
    }
    std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, error))
}

fn pack(store: &Path, source: &Source<'_>) -> Result<(), StoreError> {
    let ids = source.ids();
    let news = missing(store, &ids)?;
    if news.is_empty() {
        return Ok(());
    }
    durably(store, || {
        let mut parts = chunks(&news, |id| source.size(id));
        parts.try_for_each(|part| write_pack(store, part, &|id| source.read(id)))
    })?;
    check_packed(store, &ids)
}

/// Writes packs, and returns when a loss of power costs none of them. Returns the indexes of those that are new.
fn durably(
    store: &Path,
    write: impl FnOnce() -> Result<(), git2::Error>,
) -> Result<Vec<PathBuf>, StoreError> {
    let before: BTreeSet<PathBuf> = own_packs(store).into_iter().map(|(index, _)| index).collect();
    write().map_err(io_git("pack objects in", store))?;
    let packs = own_packs(store).into_iter().map(|(index, _)| index);
    let fresh: Vec<PathBuf> = packs.filter(|index| !before.contains(index)).collect();
    for index in &fresh {
        sync(&index.with_extension("pack"))?;
        sync(index)?;
    }
    sync(&store.join("objects/pack"))?;
    Ok(fresh)
}

fn sync(path: &Path) -> Result<(), StoreError> {
    let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::io("sync", path, error))
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

fn check_packed(store: &Path, ids: &[([u8; 20], Kind)]) -> Result<(), StoreError> {
    if missing(store, ids)?.is_empty() {
        return Ok(());
    }
    Err(StoreError::said("pack objects in", store, "an object is missing from the pack"))
}

/// Returns the objects that the packs of a store lack.
fn missing(store: &Path, ids: &[([u8; 20], Kind)]) -> Result<Vec<([u8; 20], Kind)>, StoreError> {
    let repository = Repository::open_bare(store).map_err(io_git("open", store))?;
    let odb = repository.odb().map_err(io_git("open", store))?;
    let there = |id: &[u8; 20]| oid(id).is_some_and(|id| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH));
    Ok(ids.iter().filter(|(id, _)| !there(id)).copied().collect())
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
    let read = |id: &[u8; 20]| Some(odb.read(oid(id)?).ok()?.data().to_vec());
    let fresh = durably(store, || {
        let mut parts = chunks(&ids, |id| size_of(&odb, id));
        parts.try_for_each(|part| write_pack(store, part, &read))
    })?;
    if fresh.is_empty() {
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
    check_packed(store, &ids)
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
    fn who_opened_a_segment_before_it_grew_and_was_sealed_knows_all_of_it() {
        let git = Git::none();
        git.write("f", "one");
        let mut eye = Eye::on(&git);
        eye.look();
        let mut other = eye.again();
        git.write("f", "two");
        let grown = eye.look();
        let root_dir = eye.state.root_dir(&eye.store.root().id);
        let packing = lock(&root_dir).unwrap();
        eye.store.pin(&SessionKey::new("s"), &[grown.tree]).unwrap();
        // The segment is sealed and not packed yet; nobody else may pack now.
        assert_eq!(crate::store::oracle::look(&mut other, &[]).tree, grown.tree);
        drop(packing);
        eye.store.objects.settle();
        assert_eq!(crate::store::oracle::look(&mut other, &[]).tree, grown.tree);
    }

    #[test]
    fn what_comes_back_is_packed_once() {
        let git = Git::none();
        let mut eye = Eye::on(&git);
        let mut trees = Vec::new();
        for (f, g) in [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2"), ("a", "1")] {
            git.write("f", f);
            git.write("g", g);
            trees.push(eye.look().tree);
            eye.store.pin(&SessionKey::new("s"), &trees).unwrap();
            eye.store.objects.settle();
        }
        let packs = own_packs(&store_of(&eye));
        let ids: Vec<_> = packs.iter().flat_map(|(index, _)| ids_of_index(index).unwrap()).collect();
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (4 + 4 + 4, 12), "contents, trees and what names them");
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
            eye.store.objects.settle();
        }
        assert!(own_packs(&store_of(&eye)).len() < 24);
        assert!((0..40).all(|n| is_kept(&eye, &format!("{n}\n"))));
        let dir = store_of(&eye);
        git.run(&["--git-dir", dir.to_str().unwrap(), "fsck", "--strict", "--no-dangling"]);
    }
}
