//! Reading files: raw bytes and their id, or the stand-in that stands for bytes that are not kept.

use crate::base::{BlobId, Patterns, RepoPath};
use crate::ledger::{Content, FileState, Mode};
use crate::store::Settings;
use crate::store::objects::{Objects, blob_id, blob_id_of_file};
use crate::store::stat;
use crate::store::table::{File, Key};
use crate::store::tracked::disk_mode;
use crate::store::walk::Job;
use rustix::fs::{AtFlags, Mode as FsMode, OFlags, fstat, readlinkat, statat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) withheld: &'a Patterns,
    pub(crate) keep_up_to: u64,
    /// Keys the digests of withheld contents, so that they cannot be guessed.
    pub(crate) secret: &'a [u8; 32],
}

/// What came of reading a file.
#[derive(Debug)]
pub(crate) enum Read {
    /// It stands there.
    File(Taken),
    /// Nothing stands there, or nothing that is content.
    Gone,
    /// It could not be read.
    Unreadable(String),
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) state: FileState,
    /// The blob that stands for it in the tree.
    pub(crate) in_tree: BlobId,
    /// The bytes of `in_tree`.
    pub(crate) bytes: Vec<u8>,
    pub(crate) key: Key,
    /// It changed while it was read, three times.
    pub(crate) unstable: bool,
}

const TRIES: u32 = 3;

impl<'a> Reading<'a> {
    pub(crate) fn new(settings: &'a Settings, secret: &'a [u8; 32]) -> Self {
        Self { withheld: &settings.withheld, keep_up_to: settings.keep_up_to, secret }
    }

    /// Reads the files of some jobs, on as many threads as the machine has when there are many. Results keep the order.
    /// `open` is a directory that is open already.
    pub(crate) fn read_all(
        &self,
        top: BorrowedFd<'_>,
        jobs: &[Job],
        open: Option<OpenDirectory>,
    ) -> Vec<Read> {
        if is_little(jobs) || threads() == 1 {
            return self.read_in_turn(top, jobs, open);
        }
        let threads = threads();
        let share = jobs.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let parts: Vec<_> = jobs
                .chunks(share)
                .map(|part| scope.spawn(move || self.read_in_turn(top, part, None)))
                .collect();
            let lost = |part: &[Job]| {
                part.iter().map(|_| Read::Unreadable("the reader failed".to_owned())).collect()
            };
            let done = parts.into_iter().zip(jobs.chunks(share));
            done.flat_map(|(part, jobs)| part.join().unwrap_or_else(|_| lost(jobs))).collect()
        })
    }

    /// Reads the files of some jobs one after the other. The directory of the last one is kept open for the next.
    fn read_in_turn(&self, top: BorrowedFd<'_>, jobs: &[Job], mut open: Option<OpenDirectory>) -> Vec<Read> {
        let read = |job: &Job| {
            let parent = parent_of(&job.path);
            if open.as_ref().is_none_or(|known| known.path != parent) {
                let opened = open_parent(top, &job.path).ok();
                open = opened.map(|fd| OpenDirectory { path: parent.to_owned(), fd });
            }
            let first = open.as_ref().and_then(|dir| self.read_as_found(dir.fd.as_fd(), job));
            first.map_or_else(|| self.read(top, job), Read::File)
        };
        jobs.iter().map(read).collect()
    }

    /// Reads a regular file that stands as it was found; `None` when anything about it is otherwise.
    fn read_as_found(&self, dir: BorrowedFd<'_>, job: &Job) -> Option<Taken> {
        if !stat::is_regular(job.key.mode) {
            return None;
        }
        let mut file = open_file(dir, job.path.name()).ok()?;
        let taken = self.read_from(&mut file, job.path.name(), job.key).ok().flatten()?;
        (!taken.unstable).then_some(taken)
    }

    /// Reads one file: its stat must be the same before and after, else it is read again.
    pub(crate) fn read(&self, top: BorrowedFd<'_>, job: &Job) -> Read {
        let mut last = Read::Gone;
        for _ in 0..TRIES {
            last = match self.read_once(top, &job.path) {
                Ok(Some((taken, true))) => return Read::File(taken),
                Ok(Some((taken, false))) => Read::File(Taken { unstable: true, ..taken }),
                Ok(None) => return Read::Gone,
                Err(error) if is_absence(&error) => return Read::Gone,
                Err(error) => return Read::Unreadable(error.to_string()),
            };
        }
        last
    }

    /// Returns what was read, and whether it stood still meanwhile.
    fn read_once(&self, top: BorrowedFd<'_>, path: &RepoPath) -> std::io::Result<Option<(Taken, bool)>> {
        let parent = open_parent(top, path)?;
        self.read_in(parent.as_fd(), path.name(), path.name())
    }

    /// Reads the entry `name` of an open directory. `called` is the name by which secrets are recognised.
    pub(crate) fn read_in(
        &self,
        dir: BorrowedFd<'_>,
        name: &[u8],
        called: &[u8],
    ) -> std::io::Result<Option<(Taken, bool)>> {
        let entry = OsStr::from_bytes(name);
        let stat = statat(dir, entry, AtFlags::SYMLINK_NOFOLLOW)?;
        let before = Key::of(&stat);
        match disk_mode(stat::mode(&stat)) {
            Some(Mode::Symlink) => {
                let target = readlinkat(dir, entry, Vec::new())?.into_bytes();
                let after = Key::of(&statat(dir, entry, AtFlags::SYMLINK_NOFOLLOW)?);
                let size = target.len() as u64;
                let blob = blob_id(&target);
                let state = FileState { mode: Mode::Symlink, blob, size, content: Content::Kept };
                let taken = Taken { state, in_tree: blob, bytes: target, key: after, unstable: false };
                Ok(Some((taken, before == after)))
            }
            Some(Mode::Regular | Mode::Executable) => {
                let mut file = open_file(dir, name)?;
                let Some(taken) = self.read_open(&mut file, called)? else { return Ok(None) };
                let still = !taken.unstable && before == taken.key;
                Ok(Some((Taken { unstable: false, ..taken }, still)))
            }
            None => Ok(None),
        }
    }

    /// Reads an open file, which stands at its start, to its end; `unstable` when it changed meanwhile. `None` when it is no regular file.
    pub(crate) fn read_open(
        &self,
        file: &mut std::fs::File,
        called: &[u8],
    ) -> std::io::Result<Option<Taken>> {
        let before = Key::of(&fstat(&*file)?);
        self.read_from(file, called, before)
    }

    /// Reads an open file whose stat was `before`; `unstable` when it is another now. `None` when it is no regular file.
    pub(crate) fn read_from(
        &self,
        file: &mut std::fs::File,
        called: &[u8],
        before: Key,
    ) -> std::io::Result<Option<Taken>> {
        let Some(mode @ (Mode::Regular | Mode::Executable)) = disk_mode(before.mode) else {
            return Ok(None);
        };
        let (state, in_tree, bytes) = self.content(file, called, before.size, mode)?;
        let after = Key::of(&fstat(&*file)?);
        Ok(Some(Taken { state, in_tree, bytes, key: after, unstable: before != after }))
    }

    fn content(
        &self,
        file: &mut std::fs::File,
        name: &[u8],
        size: u64,
        mode: Mode,
    ) -> std::io::Result<(FileState, BlobId, Vec<u8>)> {
        if self.withheld.hides_name(name) {
            let (digest, size) = keyed_digest(file, self.secret)?;
            let text = stand_in(Content::Withheld, size, &digest);
            let blob = blob_id(&text);
            return Ok((FileState { mode, blob, size, content: Content::Withheld }, blob, text));
        }
        if size > self.keep_up_to {
            let blob = blob_id_of_open(file)?;
            let text = stand_in(Content::TooBig, size, &blob.to_string());
            return Ok((FileState { mode, blob, size, content: Content::TooBig }, blob_id(&text), text));
        }
        let bytes = read_whole(file, usize::try_from(size).unwrap_or(0))?;
        let blob = blob_id(&bytes);
        let state = FileState { mode, blob, size: bytes.len() as u64, content: Content::Kept };
        Ok((state, blob, bytes))
    }
}

/// Says whether other threads would cost more than they help.
fn is_little(jobs: &[Job]) -> bool {
    const FILES: usize = 400;
    const BYTES: u64 = 4 * 1024 * 1024;
    jobs.len() <= FILES && jobs.iter().map(|job| job.key.size).fold(0, u64::saturating_add) <= BYTES
}

/// Returns how many threads read. The system is asked once: it reads a handful of files to tell.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).min(8))
}

fn open_file(dir: BorrowedFd<'_>, name: &[u8]) -> std::io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, OsStr::from_bytes(name), flags, FsMode::empty())?.into())
}

/// Opens the file at a path to read it, following no link on the way.
pub(crate) fn open_unlinked(path: &Path) -> std::io::Result<std::fs::File> {
    #[cfg(target_os = "linux")]
    {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(rustix::fs::CWD, path, flags, FsMode::empty(), resolve)?.into())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// Reads a file of `size` bytes with one system call while it keeps that size: who calls looks at its stat afterwards.
fn read_whole(file: &mut std::fs::File, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size + 1);
    while bytes.len() < size {
        match rustix::io::read(&*file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if bytes.len() != size || size == 0 {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// An open directory, and its path beneath the top: empty for the top itself.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub(crate) path: Vec<u8>,
    pub(crate) fd: OwnedFd,
}

fn parent_of(path: &RepoPath) -> &[u8] {
    let bytes = path.as_bytes();
    &bytes[..(bytes.len() - path.name().len()).saturating_sub(1)]
}

/// Opens the directory that holds `path`, beneath `top`, following no link.
pub(crate) fn open_parent(top: BorrowedFd<'_>, path: &RepoPath) -> std::io::Result<OwnedFd> {
    match path.parent() {
        Some(parent) => open_directory(top, &parent),
        None => Ok(rustix::io::fcntl_dupfd_cloexec(top, 0)?),
    }
}

/// Opens a directory beneath `top`, following no link.
pub(crate) fn open_directory(top: BorrowedFd<'_>, dir: &RepoPath) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(top, OsStr::from_bytes(dir.as_bytes()), flags, FsMode::empty(), resolve) {
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    open_by_components(top, dir, flags)
}

fn open_by_components(top: BorrowedFd<'_>, dir: &RepoPath, flags: OFlags) -> std::io::Result<OwnedFd> {
    let mut at = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for part in dir.as_bytes().split(|&byte| byte == b'/') {
        at = rustix::fs::openat(&at, OsStr::from_bytes(part), flags, FsMode::empty())?;
    }
    Ok(at)
}

/// Says whether an error only means that nothing of ours stands there.
pub(crate) fn is_absence(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NXIO]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

/// Where the system has the open files of a process.
const DESCRIPTORS: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

fn blob_id_of_open(file: &std::fs::File) -> std::io::Result<BlobId> {
    let path = PathBuf::from(format!("{DESCRIPTORS}/{}", file.as_raw_fd()));
    blob_id_of_file(&path).map_err(std::io::Error::other)
}

fn keyed_digest(file: &mut std::fs::File, secret: &[u8; 32]) -> std::io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    let size = std::io::copy(file, &mut hasher)?;
    Ok((hasher.finalize().to_hex()[..32].to_owned(), size))
}

// ── stand-ins ──

const STAND_IN: &str = "hunkgate: content not kept\n";

/// Writes the blob that stands in trees for bytes that are not kept.
pub(crate) fn stand_in(content: Content, size: u64, digest: &str) -> Vec<u8> {
    let why = match content {
        Content::Kept => "kept",
        Content::Withheld => "withheld",
        Content::TooBig => "too big",
        Content::Cap => "the store is full",
    };
    format!("{STAND_IN}why: {why}\nsize: {size}\ndigest: {digest}\n").into_bytes()
}

fn parse_stand_in(text: &[u8]) -> Option<(Content, u64, String)> {
    let text = std::str::from_utf8(text).ok()?.strip_prefix(STAND_IN)?;
    let mut lines = text.lines();
    let content = match lines.next()?.strip_prefix("why: ")? {
        "withheld" => Content::Withheld,
        "too big" => Content::TooBig,
        "the store is full" => Content::Cap,
        _ => return None,
    };
    let size = lines.next()?.strip_prefix("size: ")?.parse().ok()?;
    Some((content, size, lines.next()?.strip_prefix("digest: ")?.to_owned()))
}

/// Returns the state of a file of which only its place in a tree is known.
pub(crate) fn state_from_store(file: &File, objects: &Objects) -> FileState {
    kept_state(file.mode, file.blob, objects)
}

/// Returns the state of what a tree holds as `blob`, which may be a stand-in.
pub(crate) fn kept_state(mode: Mode, blob: BlobId, objects: &Objects) -> FileState {
    const LONGEST_STAND_IN: u64 = 200;
    let size = objects.blob_size(blob).unwrap_or(0);
    let kept = FileState { mode, blob, size, content: Content::Kept };
    if size > LONGEST_STAND_IN {
        return kept;
    }
    let parsed = objects.read(&blob.0).and_then(|bytes| parse_stand_in(&bytes));
    match parsed {
        None => kept,
        Some((content @ Content::Withheld, size, _)) => FileState { size, content, ..kept },
        Some((content, size, digest)) => {
            FileState { size, content, blob: BlobId::parse(&digest).unwrap_or(blob), ..kept }
        }
    }
}
