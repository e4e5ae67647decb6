//! The append-only file of objects that are not packed yet: one write per observation.
//!
//! A record: id (20), kind (1), length (8, LE), CRC-32 of these 29 bytes (4, LE), then the raw bytes.

use crate::store::StoreError;
use crate::store::state::open_private;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The kind of an object, as the segment writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blob,
    Tree,
}

/// Where an object's bytes stand.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    len: u64,
    kind: Kind,
}

/// The objects of one generation of a root's segment, staged ones included.
#[derive(Debug)]
pub(crate) struct Segment {
    path: PathBuf,
    file: Option<File>,
    /// Whether the file was opened to be written.
    writable: bool,
    index: BTreeMap<[u8; 20], Place>,
    scanned: u64,
    staged: Vec<u8>,
    /// Something stands in the file that this process has not synced.
    unsynced: bool,
    /// The file was seen to end at `scanned` since the root's observe lock was taken.
    ends: Cell<bool>,
}

const HEAD: usize = 20 + 1 + 8;
const RECORD_HEAD: usize = HEAD + 4;
/// Room that is kept for what is staged next.
const ROOM: usize = 64 * 1024;

impl Segment {
    /// Opens a segment to read; a missing file is an empty one.
    pub(crate) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let mut segment = Self {
            path,
            file: None,
            writable: false,
            index: BTreeMap::new(),
            scanned: 0,
            staged: Vec::new(),
            unsynced: false,
            ends: Cell::new(false),
        };
        segment.refresh()?;
        Ok(segment)
    }

    /// Reads what was appended since the last look, up to the last whole record.
    pub(crate) fn refresh(&mut self) -> Result<(), StoreError> {
        if self.file.as_ref().is_some_and(|open| !is_at(open, &self.path)) {
            (self.file, self.writable) = (None, false);
            self.ends.set(false);
        }
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(StoreError::io("open", &self.path, error)),
            }
        }
        self.scan().map_err(|error| StoreError::io("read", &self.path, error))
    }

    /// Reads what was appended since the last look to the file that is open, whether it still has a name or not: it is
    /// packed and removed while others read it.
    pub(crate) fn read_on(&mut self) -> Result<(), StoreError> {
        if self.file.is_none() {
            return self.refresh();
        }
        self.scan().map_err(|error| StoreError::io("read", &self.path, error))
    }

    /// Says whether the file is as long as what is known of it.
    pub(crate) fn is_as_left(&self) -> bool {
        let long = |file: &File| file.metadata().is_ok_and(|meta| meta.len() == self.scanned);
        self.ends.set(self.file.as_ref().is_some_and(long));
        self.ends.get()
    }

    /// Called when the root's observe lock was taken: others may have written before.
    pub(crate) fn locked_again(&self) {
        self.ends.set(false);
    }

    fn scan(&mut self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let end = file.metadata()?.len();
        if self.scanned >= end {
            return Ok(());
        }
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        reader.seek(SeekFrom::Start(self.scanned))?;
        while self.scanned + RECORD_HEAD as u64 <= end {
            let mut head = [0; RECORD_HEAD];
            reader.read_exact(&mut head)?;
            let Some((id, kind, len)) = parse_head(&head) else { break };
            let offset = self.scanned + RECORD_HEAD as u64;
            if offset + len > end {
                break;
            }
            self.index.insert(id, Place { offset, len, kind });
            self.scanned = offset + len;
            self.unsynced = true;
            reader.seek_relative(i64::try_from(len).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }

    /// Says whether the object is here.
    pub(crate) fn holds(&self, id: &[u8; 20]) -> bool {
        self.index.contains_key(id)
    }

    /// Returns the number of bytes of an object.
    pub(crate) fn size(&self, id: &[u8; 20]) -> Option<u64> {
        self.index.get(id).map(|place| place.len)
    }

    /// Returns an object's bytes.
    pub(crate) fn read(&self, id: &[u8; 20]) -> Option<Vec<u8>> {
        let place = self.index.get(id)?;
        let len = usize::try_from(place.len).ok()?;
        if place.offset >= self.scanned {
            let start = usize::try_from(place.offset - self.scanned).ok()?;
            return self.staged.get(start..start + len).map(<[u8]>::to_vec);
        }
        let mut bytes = vec![0; len];
        self.file.as_ref()?.read_exact_at(&mut bytes, place.offset).ok()?;
        Some(bytes)
    }

    /// Takes an object in memory; [`Segment::flush`] writes it.
    pub(crate) fn stage(&mut self, id: [u8; 20], kind: Kind, bytes: &[u8]) {
        let Entry::Vacant(place) = self.index.entry(id) else { return };
        let mut head = [0; RECORD_HEAD];
        head[..20].copy_from_slice(&id);
        head[20] = match kind {
            Kind::Blob => b'b',
            Kind::Tree => b't',
        };
        head[21..HEAD].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let crc = crc32fast::hash(&head[..HEAD]);
        head[HEAD..].copy_from_slice(&crc.to_le_bytes());
        self.staged.extend_from_slice(&head);
        let offset = self.scanned + self.staged.len() as u64;
        place.insert(Place { offset, len: bytes.len() as u64, kind });
        self.staged.extend_from_slice(bytes);
    }

    /// Returns how many bytes are staged.
    pub(crate) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Returns how many bytes were written.
    pub(crate) fn written(&self) -> u64 {
        self.scanned
    }

    /// Writes what is staged, and says whether that was anything. The caller holds the root's observe lock, so that a tail beyond the last whole record is
    /// a dead writer's and is overwritten. What cannot be written is forgotten.
    pub(crate) fn flush(&mut self) -> Result<bool, StoreError> {
        if self.staged.is_empty() {
            return Ok(false);
        }
        match self.write_staged() {
            Ok(()) => {
                self.scanned += self.staged.len() as u64;
                self.staged.clear();
                self.staged.shrink_to(ROOM);
                self.unsynced = true;
                Ok(true)
            }
            Err(error) => {
                self.ends.set(false);
                self.forget_staged();
                Err(error)
            }
        }
    }

    fn write_staged(&mut self) -> Result<(), StoreError> {
        if !self.writable {
            self.file = Some(open_private(&self.path)?);
            self.writable = true;
            self.ends.set(false);
        }
        let Some(file) = &self.file else { return Ok(()) };
        let failed = |error| StoreError::io("append to", &self.path, error);
        if !self.ends.get() && file.metadata().map_err(failed)?.len() > self.scanned {
            file.set_len(self.scanned).map_err(failed)?;
        }
        file.write_all_at(&self.staged, self.scanned).map_err(failed)
    }

    /// Drops what is staged.
    pub(crate) fn forget_staged(&mut self) {
        let scanned = self.scanned;
        self.index.retain(|_, place| place.offset < scanned);
        self.staged.clear();
        self.staged.shrink_to(ROOM);
    }

    /// Makes what was written durable, by whomever.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        if let (Some(file), true) = (&self.file, self.unsynced) {
            file.sync_data().map_err(|error| StoreError::io("sync", &self.path, error))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Returns the ids and kinds of all objects.
    pub(crate) fn ids(&self) -> Vec<([u8; 20], Kind)> {
        self.index.iter().map(|(id, place)| (*id, place.kind)).collect()
    }

    /// Returns the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Says whether an open file is the one that stands at `path`: what is written to another is lost.
fn is_at(open: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(open), Ok(there)) = (open.metadata(), path.metadata()) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn parse_head(head: &[u8; RECORD_HEAD]) -> Option<([u8; 20], Kind, u64)> {
    let crc = u32::from_le_bytes(head[HEAD..].try_into().ok()?);
    if crc != crc32fast::hash(&head[..HEAD]) {
        return None;
    }
    let kind = match head[20] {
        b'b' => Kind::Blob,
        b't' => Kind::Tree,
        _ => return None,
    };
    let len = u64::from_le_bytes(head[21..HEAD].try_into().ok()?);
    Some((head[..20].try_into().ok()?, kind, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> [u8; 20] {
        [n; 20]
    }

    #[test]
    fn what_was_flushed_is_read_by_others_and_what_was_torn_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let mut writer = Segment::open(path.clone()).unwrap();
        writer.stage(id(1), Kind::Blob, b"one");
        assert_eq!(writer.read(&id(1)).as_deref(), Some(&b"one"[..]));
        writer.flush().unwrap();
        writer.stage(id(2), Kind::Tree, b"second");
        writer.flush().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut reader = Segment::open(path.clone()).unwrap();
            assert_eq!(reader.holds(&id(1)), cut >= RECORD_HEAD + 3);
            assert!(!reader.holds(&id(2)));
            reader.stage(id(3), Kind::Blob, b"after");
            reader.flush().unwrap();
            let again = Segment::open(path.clone()).unwrap();
            assert_eq!(again.read(&id(3)).as_deref(), Some(&b"after"[..]), "cut at {cut}");
        }
    }
}
