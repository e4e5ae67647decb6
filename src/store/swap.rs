//! One directory entry and what can be done to it safely: the low end of putting a file back.

use crate::ledger::Mode;
use crate::store::read::{Reading, Taken, is_absence};
use crate::store::stat;
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode as FsMode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, fstat, linkat, openat, renameat_with, statat, symlinkat, unlinkat,
};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, Result, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

/// A directory that is held open, and two names in it: the file, and the temporary beside it.
#[derive(Debug)]
pub(crate) struct Site {
    dir: OwnedFd,
    name: Vec<u8>,
    temporary: Vec<u8>,
}

/// One of the two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file itself.
    Path,
    /// The temporary.
    Temporary,
}

impl Site {
    pub(crate) fn new(dir: OwnedFd, name: &[u8], temporary: &[u8]) -> Self {
        Self { dir, name: name.to_vec(), temporary: temporary.to_vec() }
    }

    fn at(&self, place: Place) -> &OsStr {
        OsStr::from_bytes(match place {
            Place::Path => &self.name,
            Place::Temporary => &self.temporary,
        })
    }

    /// Reads what stands at a place; `None` when nothing does. Fails where something stands that is no file of ours.
    pub(crate) fn read(&self, place: Place, reading: &Reading<'_>) -> Result<Option<Taken>> {
        match reading.read_in(self.dir.as_fd(), self.at(place).as_bytes(), &self.name) {
            Ok(Some((taken, _))) => Ok(Some(taken)),
            Ok(None) => Err(Error::other("something that is no file stands there")),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at what stands at the path.
    pub(crate) fn stat(&self) -> Result<Stat> {
        Ok(statat(&self.dir, self.at(Place::Path), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens the file at the path, for reading, or for reading and writing.
    pub(crate) fn open(&self, access: OFlags) -> Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.dir, self.at(Place::Path), flags, FsMode::empty())?))
    }

    /// Says whether entries can be made in and removed from the directory.
    pub(crate) fn is_writable(&self) -> bool {
        use rustix::fs::{Access, accessat};
        accessat(&self.dir, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
    }

    /// Makes the temporary with these bytes, like the file at the path in all but content and the mode git knows.
    /// Returns false when owner or attributes could not be kept: then nothing is left behind.
    pub(crate) fn make_like(&self, bytes: &[u8], mode: Mode) -> Result<bool> {
        if mode == Mode::Symlink {
            symlinkat(OsStr::from_bytes(bytes), &self.dir, self.at(Place::Temporary))?;
            return Ok(true);
        }
        let like = match self.open(OFlags::RDONLY) {
            Ok(file) => Some(file),
            Err(error) if is_absence(&error) => None,
            Err(error) => return Err(error),
        };
        let file = self.create(like.as_ref(), mode)?;
        let made = fill(&file, bytes, mode, like.as_ref());
        if !matches!(made, Ok(true)) {
            self.unlink(Place::Temporary)?;
        }
        made
    }

    /// Makes the temporary with these bytes, like nothing that was there before.
    pub(crate) fn make_new(&self, bytes: &[u8], mode: Mode) -> Result<()> {
        if mode == Mode::Symlink {
            return Ok(symlinkat(OsStr::from_bytes(bytes), &self.dir, self.at(Place::Temporary))?);
        }
        let file = self.create(None, mode)?;
        let made = fill(&file, bytes, mode, None);
        if made.is_err() {
            self.unlink(Place::Temporary)?;
        }
        made.map(drop)
    }

    /// Says whether a directory stands at the path.
    pub(crate) fn is_directory(&self) -> bool {
        self.stat().is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Returns the first of what the directory at the path holds, beneath it, that is no directory and `counts`.
    pub(crate) fn first_file(&self, counts: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
        let top = self.open_directory()?;
        first_file(&top, (&[], 0), counts)
    }

    /// Removes the directory at the path with the directories beneath it. Where anything else is in one of them it fails, and
    /// nothing but empty directories is gone.
    pub(crate) fn remove_hollow(&self) -> Result<()> {
        remove_hollow(&self.open_directory()?, 0)?;
        Ok(unlinkat(&self.dir, self.at(Place::Path), AtFlags::REMOVEDIR)?)
    }

    fn open_directory(&self) -> Result<OwnedFd> {
        Ok(openat(&self.dir, self.at(Place::Path), INTO, FsMode::empty())?)
    }

    fn create(&self, like: Option<&File>, mode: Mode) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = match (like, mode) {
            (Some(_), _) => 0o600,
            (None, Mode::Executable) => 0o777,
            (None, Mode::Regular | Mode::Symlink) => 0o666,
        };
        Ok(File::from(openat(&self.dir, self.at(Place::Temporary), flags, FsMode::from_raw_mode(bits))?))
    }

    /// Exchanges path and temporary in one step.
    pub(crate) fn exchange(&self) -> Result<()> {
        let (path, temporary) = (self.at(Place::Path), self.at(Place::Temporary));
        Ok(renameat_with(&self.dir, temporary, &self.dir, path, RenameFlags::EXCHANGE)?)
    }

    /// Moves one place to the other, which must be free.
    pub(crate) fn move_from(&self, from: Place) -> Result<()> {
        let to = match from {
            Place::Path => Place::Temporary,
            Place::Temporary => Place::Path,
        };
        let (from, to) = (self.at(from), self.at(to));
        match renameat_with(&self.dir, from, &self.dir, to, RenameFlags::NOREPLACE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                linkat(&self.dir, from, &self.dir, to, AtFlags::empty())?;
                Ok(unlinkat(&self.dir, from, AtFlags::empty())?)
            }
            moved => Ok(moved?),
        }
    }

    /// Removes what stands at a place. The caller has seen that its bytes are known.
    pub(crate) fn unlink(&self, place: Place) -> Result<()> {
        match unlinkat(&self.dir, self.at(place), AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            unlinked => Ok(unlinked?),
        }
    }

    /// Gives the temporary a name that is seen, because its bytes are kept nowhere else. Returns the name.
    pub(crate) fn keep_temporary(&self) -> Result<String> {
        let digits = String::from_utf8_lossy(&self.temporary).chars().rev().take(8).collect::<String>();
        let mut kept = self.name.clone();
        kept.extend_from_slice(b".hunkgate-rescued-");
        kept.extend_from_slice(digits.as_bytes());
        let to = OsStr::from_bytes(&kept);
        renameat_with(&self.dir, self.at(Place::Temporary), &self.dir, to, RenameFlags::NOREPLACE)?;
        Ok(String::from_utf8_lossy(&kept).into_owned())
    }

    /// Makes what happened to the entries durable.
    pub(crate) fn sync(&self) {
        // Some file systems cannot sync a directory; the files themselves are synced.
        let _ = rustix::fs::fsync(&self.dir);
    }
}

/// How a directory is opened: itself, not what a link names.
const INTO: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Directories within each other that are looked into.
const DEEPEST: u32 = 256;

fn first_file(
    dir: &OwnedFd,
    (above, depth): (&[u8], u32),
    counts: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>> {
    if depth > DEEPEST {
        return Err(Error::other("it is too deep"));
    }
    let mut entries = entries(dir)?;
    entries.sort();
    for (name, is_directory) in entries {
        let path = if above.is_empty() { name.clone() } else { [above, b"/", &name].concat() };
        if is_directory {
            let inner = openat(dir, OsStr::from_bytes(&name), INTO, FsMode::empty())?;
            let found = first_file(&inner, (&path, depth + 1), counts)?;
            if found.is_some() {
                return Ok(found);
            }
        } else if counts(&path) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn remove_hollow(dir: &OwnedFd, depth: u32) -> Result<()> {
    if depth > DEEPEST {
        return Err(Error::other("it is too deep"));
    }
    for (name, is_directory) in entries(dir)? {
        if !is_directory {
            return Err(Error::from(rustix::io::Errno::NOTEMPTY));
        }
        let name = OsStr::from_bytes(&name);
        remove_hollow(&openat(dir, name, INTO, FsMode::empty())?, depth + 1)?;
        unlinkat(dir, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Lists a directory: each name, and whether it is a directory.
fn entries(dir: &OwnedFd) -> Result<Vec<(Vec<u8>, bool)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let stat = statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        found.push((name.to_vec(), FileType::from_raw_mode(stat.st_mode) == FileType::Directory));
    }
    Ok(found)
}

/// Says whether an exchange is something this file system cannot do.
pub(crate) fn is_unsupported(error: &Error) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP]
        .iter()
        .any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

fn fill(mut file: &File, bytes: &[u8], mode: Mode, like: Option<&File>) -> Result<bool> {
    file.write_all(bytes)?;
    if let Some(like) = like {
        let stat = fstat(like)?;
        if !keep_owner(file, &stat)? || !keep_attributes(file, like)? {
            return Ok(false);
        }
        fchmod(file, stat::permissions(permissions(stat::mode(&stat), mode)))?;
    }
    file.sync_all()?;
    Ok(true)
}

fn keep_owner(file: &File, like: &Stat) -> Result<bool> {
    let own = fstat(file)?;
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid) {
        return Ok(true);
    }
    let (uid, gid) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    Ok(fchown(file, Some(uid), Some(gid)).is_ok())
}

fn keep_attributes(file: &File, like: &File) -> Result<bool> {
    let mut names = vec![0_u8; 64 * 1024];
    let Ok(len) = flistxattr(like, names.as_mut_slice()) else { return Ok(true) };
    for name in names[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let name = OsStr::from_bytes(name);
        let mut value = vec![0_u8; 64 * 1024];
        let len = fgetxattr(like, name, value.as_mut_slice())?;
        let mut own = vec![0_u8; 64 * 1024];
        let same =
            fgetxattr(file, name, own.as_mut_slice()).is_ok_and(|own_len| own[..own_len] == value[..len]);
        if !same && fsetxattr(file, name, &value[..len], XattrFlags::empty()).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the permissions of a file that keeps its own, but for the execute bits that git's mode asks for.
pub(crate) fn permissions(old: u32, mode: Mode) -> u32 {
    let bits = old & 0o7777;
    match mode {
        Mode::Executable if bits & 0o100 == 0 => bits | (bits & 0o444) >> 2,
        Mode::Regular if bits & 0o100 != 0 => bits & !0o111,
        Mode::Executable | Mode::Regular | Mode::Symlink => bits,
    }
}
