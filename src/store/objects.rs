//! The private object store of a root, and a read-only eye on the user's repository. The only importer of git2.

mod pack;

use crate::base::{BlobId, CommitId, SessionKey, TreeId};
use crate::store::StoreError;
use crate::store::segment::{Kind, Segment};
use crate::store::state::{make_private_dir, open_private};
use crate::store::tracked::IndexEntry;
use git2::{ConfigLevel, ObjectType, Odb, OdbLookupFlags, Oid, Repository, RepositoryOpenFlags};
use pack::{Packer, Packing, Top};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Keeps libgit2 from reading the person's configuration, which may be malformed, and from refusing repositories of
/// other owners: we run nothing that a repository names, and write nothing to it.
fn prepare_libgit2() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for level in [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global] {
            #[expect(
                unsafe_code,
                reason = "a process-wide setting of libgit2, made once before its first use"
            )]
            // SAFETY: no other thread uses libgit2 yet: every use in this crate passes through this `Once` first.
            let set = unsafe { git2::opts::set_search_path(level, "") };
            drop(set);
        }
        #[expect(unsafe_code, reason = "a process-wide setting of libgit2, made once before its first use")]
        // SAFETY: as above.
        let set = unsafe { git2::opts::set_verify_owner_validation(false) };
        drop(set);
        // What is read of the stores is kept where it is needed.
        git2::opts::enable_caching(false);
    });
}

/// Returns the git id of a blob of these bytes.
pub(crate) fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId(hash(ObjectType::Blob, bytes))
}

/// Returns the git id of a blob of the bytes of an open file, without holding them.
pub(crate) fn blob_id_of_file(path: &Path) -> Result<BlobId, StoreError> {
    prepare_libgit2();
    let id = Oid::hash_file(ObjectType::Blob, path).map_err(|error| StoreError::git("hash", path, error))?;
    Ok(BlobId(id_bytes(id)))
}

fn hash(kind: ObjectType, bytes: &[u8]) -> [u8; 20] {
    prepare_libgit2();
    Oid::hash_object(kind, bytes).map_or([0; 20], id_bytes)
}

fn id_bytes(id: Oid) -> [u8; 20] {
    id.as_bytes().try_into().unwrap_or([0; 20])
}

fn oid(id: &[u8; 20]) -> Option<Oid> {
    Oid::from_bytes(id).ok()
}

// ── the user's repository ──

/// The directories of a work tree's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkTree {
    /// Its top level.
    pub(crate) top: PathBuf,
    /// Its own git directory.
    pub(crate) git_dir: PathBuf,
}

/// Opens the repository whose `.git` stands in `dir`, and says where its work tree is.
pub(crate) fn work_tree_at(dir: &Path) -> Result<WorkTree, String> {
    let repository = open_user_repository(dir).map_err(|error| error.message().to_owned())?;
    let top = repository.workdir().ok_or("it has no work tree")?;
    let top = top.canonicalize().map_err(|error| error.to_string())?;
    Ok(WorkTree { top, git_dir: repository.path().to_owned() })
}

fn open_user_repository(dir: &Path) -> Result<Repository, git2::Error> {
    prepare_libgit2();
    let none: [&std::ffi::OsStr; 0] = [];
    Repository::open_ext(dir, RepositoryOpenFlags::NO_SEARCH, none)
}

/// A read-only eye on the user's repository.
pub(crate) struct UserRepository {
    repository: Repository,
}

impl std::fmt::Debug for UserRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UserRepository").field(&self.repository.path()).finish()
    }
}

impl UserRepository {
    /// Opens the repository whose work tree's top level is `top`.
    pub(crate) fn open(top: &Path) -> Result<Self, StoreError> {
        let repository = open_user_repository(top);
        Ok(Self { repository: repository.map_err(|error| StoreError::git("open", top, error.message()))? })
    }

    /// Returns the git directory that worktrees share.
    pub(crate) fn common_dir(&self) -> &Path {
        self.repository.commondir()
    }

    /// Returns the git directory of this work tree.
    pub(crate) fn git_dir(&self) -> &Path {
        self.repository.path()
    }

    /// Returns the index file.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.repository.path().join("index")
    }

    /// Returns the commit that `HEAD` names.
    pub(crate) fn head(&self) -> Option<CommitId> {
        self.repository.refname_to_id("HEAD").ok().map(|id| CommitId::new(id.to_string()))
    }

    /// Reads the index, and hands each entry to `take`. A missing or unreadable index tracks nothing.
    pub(crate) fn read_index(&self, mut take: impl FnMut(&[u8], IndexEntry)) {
        let Ok(index) = git2::Index::open(&self.index_path()) else { return };
        for entry in index.iter() {
            take(&entry.path, index_entry(&entry));
        }
    }

    /// Returns a value of the repository's own configuration.
    pub(crate) fn config(&self, key: &str) -> Option<String> {
        self.repository.config().ok()?.get_string(key).ok()
    }

    /// Returns a truth value of the repository's own configuration.
    pub(crate) fn config_bool(&self, key: &str) -> bool {
        self.repository.config().ok().and_then(|config| config.get_bool(key).ok()).unwrap_or(false)
    }

    /// Says whether an attribute makes git run a filter over `path`, or re-encode it.
    pub(crate) fn is_filtered(&self, path: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        ["filter", "working-tree-encoding"].iter().any(|name| {
            let found = self.repository.get_attr_bytes(path, name, git2::AttrCheckFlags::FILE_THEN_INDEX);
            !matches!(found, Ok(None))
        })
    }
}

fn index_entry(entry: &git2::IndexEntry) -> IndexEntry {
    const STAGE: u16 = 0x3000;
    const INTENT_TO_ADD: u16 = 1 << 13;
    IndexEntry {
        id: id_bytes(entry.id),
        mode: entry.mode,
        size: entry.file_size,
        mtime: (entry.mtime.seconds(), entry.mtime.nanoseconds()),
        ctime: (entry.ctime.seconds(), entry.ctime.nanoseconds()),
        ino: entry.ino,
        unsure: entry.flags & STAGE != 0 || entry.flags_extended & INTENT_TO_ADD != 0,
    }
}

/// Returns a value of a configuration file of the person's; a malformed or missing file says nothing.
pub(crate) fn config_value(file: &Path, key: &str) -> Option<String> {
    prepare_libgit2();
    git2::Config::open(file).ok()?.get_string(key).ok()
}

// ── the private store ──

/// The private object store of one root. What is put is staged until [`Objects::flush`].
pub(crate) struct Objects {
    dir: PathBuf,
    own: Repository,
    borrowed: Option<PathBuf>,
    lender: Option<Repository>,
    /// The segment that is written to.
    segment: Segment,
    /// Segments of earlier generations that are not packed yet.
    sealed: Vec<Segment>,
    packer: Packer,
    /// Bytes of the packs that only we hold, while that is known.
    packed: Cell<Option<u64>>,
    /// What comes is mostly new.
    expects_news: bool,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("dir", &self.dir)
            .field("borrowed", &self.borrowed)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens (or makes) the store beneath a root's state directory. `borrowed` is the user's object directory.
    pub(crate) fn open(root_dir: &Path, borrowed: Option<PathBuf>) -> Result<Self, StoreError> {
        prepare_libgit2();
        let dir = root_dir.join("store.git");
        make_private_dir(root_dir)?;
        let own = open_or_make(&dir)?;
        let segment = Segment::open(current_segment(root_dir))?;
        let lender = borrowed.as_deref().and_then(lender);
        let sealed = sealed_segments(root_dir).into_iter().map(Segment::open).collect::<Result<_, _>>()?;
        let dir = root_dir.to_owned();
        Ok(Self {
            dir,
            own,
            borrowed,
            lender,
            segment,
            sealed,
            packer: Packer::default(),
            packed: Cell::new(None),
            expects_news: false,
        })
    }

    /// What comes from now on is mostly new: little things are written without a look at the packs, which is a look at the
    /// disk for each. Packing leaves out what is there.
    pub(crate) fn expect_news(&mut self) {
        self.expects_news = true;
    }

    /// Returns the bare repository.
    pub(crate) fn git_dir(&self) -> PathBuf {
        self.dir.join("store.git")
    }

    /// Links the user's packs beside our objects, so that no garbage collection of theirs can take them away.
    pub(crate) fn link_packs(&self) -> Result<(), StoreError> {
        let Some(borrowed) = &self.borrowed else { return Ok(()) };
        let (theirs, ours) = (borrowed.join("pack"), self.git_dir().join("objects/pack"));
        let Ok(entries) = std::fs::read_dir(&theirs) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(text) = name.to_str() else { continue };
            if let Some(stem) = text.strip_suffix(".idx") {
                link_pack(&theirs, &ours, stem)?;
            }
        }
        self.refresh();
        Ok(())
    }

    /// Says whether we hold the object ourselves, whatever the user's repository does.
    pub(crate) fn holds(&self, id: &[u8; 20]) -> bool {
        self.segments().any(|segment| segment.holds(id)) || self.packed(id)
    }

    /// Says whether an object of so many bytes need not be written.
    fn needs_no(&self, id: &[u8; 20], bytes: usize) -> bool {
        const LITTLE: usize = 64 * 1024;
        if self.expects_news && bytes <= LITTLE {
            // The segment that is written to looks for itself.
            return self.sealed.iter().any(|segment| segment.holds(id));
        }
        self.holds(id)
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        std::iter::once(&self.segment).chain(&self.sealed)
    }

    fn packed(&self, id: &[u8; 20]) -> bool {
        let (Ok(odb), Some(id)) = (self.own.odb(), oid(id)) else { return false };
        odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)
    }

    /// Takes a blob of the user's repository over, unless we hold it already. False when they do not have it.
    pub(crate) fn borrow_blob(&mut self, id: BlobId) -> bool {
        if self.holds(&id.0) {
            return true;
        }
        let Some(bytes) = self.lent(&id.0) else { return false };
        self.segment.stage(id.0, Kind::Blob, &bytes);
        true
    }

    /// Returns the size of a blob, ours or theirs.
    pub(crate) fn blob_size(&self, id: BlobId) -> Option<u64> {
        if let Some(size) = self.segments().find_map(|segment| segment.size(&id.0)) {
            return Some(size);
        }
        let id = oid(&id.0)?;
        let of = |repository: &Repository| Some(repository.odb().ok()?.read_header(id).ok()?.0 as u64);
        of(&self.own).or_else(|| of(self.lender.as_ref()?))
    }

    fn lent(&self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let odb = self.lender.as_ref()?.odb().ok()?;
        Some(odb.read(oid(id)?).ok()?.data().to_vec())
    }

    /// Stages a blob.
    pub(crate) fn put_blob(&mut self, bytes: &[u8]) -> BlobId {
        let id = blob_id(bytes);
        self.put_hashed_blob(id, bytes);
        id
    }

    /// Stages a blob whose id is known.
    pub(crate) fn put_hashed_blob(&mut self, id: BlobId, bytes: &[u8]) {
        if !self.needs_no(&id.0, bytes.len()) {
            self.segment.stage(id.0, Kind::Blob, bytes);
        }
    }

    /// Stages a tree, written as git writes it.
    pub(crate) fn put_tree(&mut self, bytes: &[u8]) -> TreeId {
        let id = hash(ObjectType::Tree, bytes);
        if !self.needs_no(&id, bytes.len()) {
            self.segment.stage(id, Kind::Tree, bytes);
        }
        TreeId(id)
    }

    /// Returns how many bytes are staged.
    pub(crate) fn staged(&self) -> usize {
        self.segment.staged()
    }

    /// Writes what is staged, and says whether that was anything. The caller holds the root's observe lock.
    pub(crate) fn flush(&mut self) -> Result<bool, StoreError> {
        self.segment.flush()
    }

    /// Forgets what is staged.
    pub(crate) fn forget_staged(&mut self) {
        self.segment.forget_staged();
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        std::iter::once(&mut self.segment).chain(&mut self.sealed).try_for_each(Segment::sync)
    }

    /// Says whether nobody else wrote to the current segment since this process last read or wrote, by its length.
    pub(crate) fn is_as_left(&self) -> bool {
        self.segment.is_as_left()
    }

    /// Called when the root's observe lock was taken: others may have written before.
    pub(crate) fn locked_again(&self) {
        self.segment.locked_again();
    }

    /// Looks again at what other processes wrote, and packed.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let mut on_disk = segments_on_disk(&self.dir);
        let current = on_disk.pop().unwrap_or_else(|| self.dir.join(segment_name(1)));
        if current != self.segment.path() {
            let mut sealed = std::mem::replace(&mut self.segment, Segment::open(current)?);
            // Others may have written to it before they sealed it.
            sealed.read_on()?;
            self.sealed.push(sealed);
        }
        self.segment.refresh()?;
        let known = self.sealed.len();
        self.sealed.retain(|segment| on_disk.iter().any(|path| path == segment.path()));
        let mut moved = known != self.sealed.len();
        for path in on_disk {
            if self.sealed.iter().all(|segment| segment.path() != path) {
                self.sealed.push(Segment::open(path)?);
                moved = true;
            }
        }
        if moved {
            self.refresh();
        }
        Ok(())
    }

    fn refresh(&self) {
        self.packed.set(None);
        if let Ok(odb) = self.own.odb() {
            drop(odb.refresh());
        }
    }

    /// Returns the bytes of an object, ours or theirs.
    pub(crate) fn read(&self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let segmented = self.segments().find_map(|segment| segment.read(id));
        let found = segmented.or_else(|| self.read_packed(id)).or_else(|| self.lent(id));
        // Packs that are known may have become one meanwhile.
        found.or_else(|| {
            self.refresh();
            self.read_packed(id)
        })
    }

    fn read_packed(&self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let odb = self.own.odb().ok()?;
        Some(odb.read(oid(id)?).ok()?.data().to_vec())
    }

    /// Reads a tree: name, mode and id of each entry, in git's order.
    pub(crate) fn tree(&self, id: TreeId) -> Option<Vec<TreeEntry>> {
        parse_tree(&self.read(&id.0)?)
    }

    /// Returns how many bytes the store takes; packs that the user's repository holds too cost nothing.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        let packed = self.packed.get().unwrap_or_else(|| {
            let dir = self.git_dir().join("objects/pack");
            let packs = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let own = packs.filter_map(|entry| entry.metadata().ok()).filter(|meta| meta.nlink() == 1);
            own.map(|meta| meta.len()).sum()
        });
        self.packed.set(Some(packed));
        packed + self.segments().map(Segment::written).sum::<u64>()
    }

    /// Pins trees under a session's ref, as one tree of trees, after packing what is not packed: while the root is looked
    /// at. The caller holds the root's observe lock.
    pub(crate) fn pin(&mut self, session: &SessionKey, trees: &[TreeId]) -> Result<(), StoreError> {
        let top = Top::over(trees.iter().filter(|tree| self.holds(&tree.0)));
        if self.packer.has_pinned(session, &top) {
            return Ok(());
        }
        self.seal()?;
        let pins = BTreeMap::from([(session.clone(), top)]);
        let taken = self.packer.take(Packing { root_dir: self.dir.clone(), pins });
        self.packed.set(None);
        self.catch_up().and(taken)
    }

    /// Waits until everything that is pinned is packed.
    #[cfg(test)]
    pub(crate) fn settle(&mut self) {
        self.packer.settle().unwrap();
    }

    /// Begins the next generation of the segment. The one before is synced as packs.
    fn seal(&mut self) -> Result<(), StoreError> {
        if self.segment.written() == 0 {
            return Ok(());
        }
        let next = next_segment(self.segment.path());
        drop(open_private(&next)?);
        let sealed = std::mem::replace(&mut self.segment, Segment::open(next)?);
        self.sealed.push(sealed);
        Ok(())
    }
}

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) id: [u8; 20],
}

/// Parses a tree as git writes it.
pub(crate) fn parse_tree(mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = memchr::memchr(b' ', bytes)?;
        let nul = memchr::memchr(0, bytes)?;
        let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
        let id = bytes.get(nul + 1..nul + 21)?.try_into().ok()?;
        entries.push(TreeEntry { name: bytes.get(space + 1..nul)?.to_vec(), mode, id });
        bytes = &bytes[nul + 21..];
    }
    Some(entries)
}

fn session_ref(session: &SessionKey) -> String {
    format!("{PINS}{}", session.as_str())
}

fn io_git(operation: &'static str, path: &Path) -> impl FnOnce(git2::Error) -> StoreError {
    move |error| StoreError::git(operation, path, error.message())
}

const PINS: &str = "refs/hunkgate/sessions/";

/// The session refs of a store.
pub(crate) struct Pins {
    store: Repository,
}

impl Pins {
    /// Opens the refs of the store beneath a root's state directory.
    pub(crate) fn of(root_dir: &Path) -> Result<Self, StoreError> {
        prepare_libgit2();
        Ok(Self { store: open_or_make(&root_dir.join("store.git"))? })
    }

    /// Returns the sessions that pin trees.
    pub(crate) fn sessions(&self) -> BTreeSet<SessionKey> {
        let Ok(references) = self.store.references_glob(&format!("{PINS}*")) else { return BTreeSet::new() };
        let names = references.flatten().filter_map(|reference| {
            let name = reference.name().ok()?.strip_prefix(PINS)?.to_owned();
            Some(SessionKey::new(name))
        });
        names.collect()
    }

    /// Drops a session's ref.
    pub(crate) fn drop(&self, session: &SessionKey) -> Result<(), StoreError> {
        let _lock = self.store.path().parent().map(pack::lock).transpose()?;
        let Ok(mut reference) = self.store.find_reference(&session_ref(session)) else { return Ok(()) };
        reference
            .delete()
            .map_err(|error| StoreError::git("unpin trees in", self.store.path(), error.message()))
    }
}

fn open_or_make(dir: &Path) -> Result<Repository, StoreError> {
    if let Ok(repository) = Repository::open_bare(dir) {
        return Ok(repository);
    }
    // Several proxies may open a new root in the same moment: whoever is first puts a whole store there.
    static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let beside = dir.with_extension(format!("{}-{number}.new", std::process::id()));
    let _ = std::fs::remove_dir_all(&beside);
    make(&beside)?;
    let moved = std::fs::rename(&beside, dir);
    if moved.is_err() {
        let _ = std::fs::remove_dir_all(&beside);
    }
    Repository::open_bare(dir).or_else(|_| make(dir))
}

fn make(dir: &Path) -> Result<Repository, StoreError> {
    make_private_dir(dir)?;
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).external_template(false).mkdir(true);
    Repository::init_opts(dir, &options).map_err(|error| StoreError::git("make", dir, error.message()))
}

fn lender(objects: &Path) -> Option<Repository> {
    let odb = Odb::new().ok()?;
    odb.add_disk_alternate(objects.to_str()?).ok()?;
    Repository::from_odb(odb).ok()
}

/// Returns the segment of the highest generation, or the name of the first.
fn current_segment(root_dir: &Path) -> PathBuf {
    segments_on_disk(root_dir).pop().unwrap_or_else(|| root_dir.join(segment_name(1)))
}

/// Returns the segments of earlier generations, oldest first.
fn sealed_segments(root_dir: &Path) -> Vec<PathBuf> {
    let mut segments = segments_on_disk(root_dir);
    segments.pop();
    segments
}

/// Returns all segments, oldest first.
fn segments_on_disk(root_dir: &Path) -> Vec<PathBuf> {
    let names = std::fs::read_dir(root_dir).into_iter().flatten().flatten();
    let mut segments: Vec<_> =
        names.map(|entry| entry.path()).filter(|path| generation(path).is_some()).collect();
    segments.sort_by_key(|path| generation(path));
    segments
}

fn next_segment(current: &Path) -> PathBuf {
    current.with_file_name(segment_name(generation(current).unwrap_or(0) + 1))
}

fn segment_name(generation: u64) -> String {
    format!("objects.{generation}.seg")
}

fn generation(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("objects.")?.strip_suffix(".seg")?.parse().ok()
}

/// Links (or, across file systems, copies while it is small) one pack with its index; the index last.
fn link_pack(theirs: &Path, ours: &Path, stem: &str) -> Result<(), StoreError> {
    const COPY_UP_TO: u64 = 256 * 1024 * 1024;
    if ours.join(format!("{stem}.idx")).exists() {
        return Ok(());
    }
    for ending in ["pack", "idx"] {
        let (from, to) = (theirs.join(format!("{stem}.{ending}")), ours.join(format!("{stem}.{ending}")));
        match std::fs::hard_link(&from, &to) {
            Ok(()) => continue,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(_) => {}
        }
        let small = std::fs::metadata(&from).is_ok_and(|meta| meta.len() <= COPY_UP_TO);
        if !small {
            return Ok(());
        }
        std::fs::copy(&from, &to).map_err(|error| StoreError::io("copy", &from, error))?;
    }
    Ok(())
}
