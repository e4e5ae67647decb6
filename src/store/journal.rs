//! Record framing: one JSON object per line with a checksum, appended, never edited.

use crate::base::{RootId, WallNs};
use crate::ledger::{Event, Log, Loss, RECORD_VERSION, Record, Skip};
use crate::store::StoreError;
use crate::store::state::{make_private_dir, open_private};
use serde::Deserialize;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How safe an appended record must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written to the file.
    Written,
    /// Synced to the disk.
    Synced,
}

/// What reading a journal found.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Lines of a kind or version that we do not know, verbatim.
    pub unknown: Vec<UnknownLine>,
    /// Lines that could not be read.
    pub skips: Vec<Skip>,
    /// Where the reading stopped: after the last whole line.
    pub end: Position,
}

/// A line of a kind or version that this program does not know. It is kept where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLine {
    /// 1-based line.
    pub line: u64,
    /// Its kind, or its version.
    pub kind: String,
    /// The line.
    pub text: String,
}

/// A place in a journal: everything before it has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Bytes read.
    pub offset: u64,
    /// Lines read.
    pub lines: u64,
    /// The sequence number that comes next.
    pub next_seq: u64,
}

/// A journal open for appending. One writer at a time: the holder of the session's lease or of the chain's lock.
#[derive(Debug)]
pub struct Journal<W: Sink = File> {
    sink: W,
    path: PathBuf,
    end: Position,
    /// The file does not end with a newline, or may not after a failed write.
    torn: bool,
}

/// Where a journal's bytes go. A file, or a test's failing disk.
pub trait Sink: Write {
    /// Makes what was written durable.
    fn sync(&mut self) -> std::io::Result<()>;
}

impl Sink for File {
    fn sync(&mut self) -> std::io::Result<()> {
        self.sync_data()
    }
}

impl Journal<File> {
    /// Opens (or makes) a journal and replays it.
    pub fn open(path: &Path, log: &Log) -> Result<(Self, Replay), StoreError> {
        if let Some(dir) = path.parent() {
            make_private_dir(dir)?;
        }
        let file = open_private(path)?;
        let mut reader = &file;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|error| StoreError::io("read", path, error))?;
        let replay = replay(&bytes, log, Position::default());
        let file = open_append(path)?;
        let torn = bytes.last().is_some_and(|last| *last != b'\n');
        Ok((Self { sink: file, path: path.to_owned(), end: replay.end, torn }, replay))
    }
}

impl<W: Sink> Journal<W> {
    /// Appends to `sink`, which already holds what `end` says.
    pub fn over(sink: W, path: &Path, end: Position) -> Self {
        Self { sink, path: path.to_owned(), end, torn: false }
    }

    /// Appends one record.
    pub fn append(&mut self, record: &Record, durability: Durability) -> Result<(), StoreError> {
        self.append_all(std::slice::from_ref(record), durability)
    }

    /// Appends records with one write.
    pub fn append_all(&mut self, records: &[Record], durability: Durability) -> Result<(), StoreError> {
        let mut bytes = Vec::with_capacity(256 * records.len() + 1);
        if self.torn {
            bytes.push(b'\n');
        }
        let mut end = self.end;
        for record in records {
            write_line(&mut bytes, end.next_seq, record)
                .map_err(|error| StoreError::said("frame", &self.path, error))?;
            end.next_seq += 1;
            end.lines += 1;
        }
        end.offset += bytes.len() as u64;
        self.torn = true;
        self.sink.write_all(&bytes).map_err(|error| StoreError::io("append to", &self.path, error))?;
        self.torn = false;
        self.end = end;
        match durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.sync(),
        }
    }

    /// Ends a line that a dead writer left unfinished.
    pub(crate) fn guard(&mut self) -> Result<(), StoreError> {
        self.sink.write_all(b"\n").map_err(|error| StoreError::io("append to", &self.path, error))
    }

    /// Makes everything that was appended durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.sink.sync().map_err(|error| StoreError::io("sync", &self.path, error))
    }

    /// Returns where the next record goes, as far as this writer knows.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Continues after what another writer appended up to `end`.
    pub(crate) fn resume_at(&mut self, end: Position) {
        self.end = end;
    }
}

/// Reads a journal up to its last whole line, without a lock. A missing file is an empty journal.
pub fn read_journal(path: &Path, log: &Log) -> Result<Replay, StoreError> {
    read_journal_from(path, log, Position::default())
}

/// Reads what was appended since `from`, up to the last whole line, without a lock.
pub fn read_journal_from(path: &Path, log: &Log, from: Position) -> Result<Replay, StoreError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Replay { end: from, ..Replay::default() });
        }
        Err(error) => return Err(StoreError::io("open", path, error)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from.offset))
        .and_then(|_| file.read_to_end(&mut bytes))
        .map_err(|error| StoreError::io("read", path, error))?;
    Ok(replay(&bytes, log, from))
}

/// Reads the first record only.
pub(crate) fn read_first(path: &Path) -> Result<Option<Record>, StoreError> {
    let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
    let mut head = Vec::new();
    file.take(1024 * 1024).read_to_end(&mut head).map_err(|error| StoreError::io("read", path, error))?;
    let Some(line) = head.split(|&byte| byte == b'\n').find(|line| !line.is_empty()) else { return Ok(None) };
    match parse_line(line) {
        Parsed::Record(_, record) => Ok(Some(*record)),
        Parsed::Unknown(kind) => {
            Err(StoreError::said("read", path, format!("first record is of kind {kind}")))
        }
        Parsed::Damaged(why) => Err(StoreError::said("read", path, format!("first record: {why}"))),
    }
}

/// Folds the whole lines of `bytes`, which stand at `from` in their journal, into records.
pub fn replay(bytes: &[u8], log: &Log, from: Position) -> Replay {
    let mut found = Replay { end: from, ..Replay::default() };
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        let (line, after) = (&rest[..at], &rest[at + 1..]);
        found.end.lines += 1;
        found.end.offset += at as u64 + 1;
        rest = after;
        if !line.is_empty() {
            take_line(&mut found, line, log);
        }
    }
    found
}

fn take_line(found: &mut Replay, line: &[u8], log: &Log) {
    match parse_line(line) {
        Parsed::Record(seq, record) => {
            found.end.next_seq = found.end.next_seq.max(seq + 1);
            found.records.push(*record);
        }
        Parsed::Unknown(kind) => {
            let text = String::from_utf8_lossy(line).into_owned();
            found.unknown.push(UnknownLine { line: found.end.lines, kind, text });
            found.end.next_seq += 1;
        }
        Parsed::Damaged(reason) => {
            found.end.next_seq += 1;
            let loss = graded(line, log);
            found.skips.push(Skip { loss, line: found.end.lines, reason });
        }
    }
}

// ── one line ──

const CRC_MARK: &[u8] = br#","crc":""#;
/// `,"crc":"` + 8 digits + `"}`
const CRC_TAIL: usize = CRC_MARK.len() + 8 + 2;

#[derive(Deserialize)]
struct Head<'a> {
    v: u32,
    seq: u64,
    at: WallNs,
    kind: &'a str,
    #[serde(borrow)]
    data: Option<&'a serde_json::value::RawValue>,
}

enum Parsed {
    Record(u64, Box<Record>),
    Unknown(String),
    Damaged(String),
}

/// Writes one line: `{"v":1,"seq":N,"at":NS,"kind":"…","data":{…},"crc":"8 hex"}` and a newline.
fn write_line(to: &mut Vec<u8>, seq: u64, record: &Record) -> Result<(), String> {
    let start = to.len();
    write!(to, r#"{{"v":{RECORD_VERSION},"seq":{seq},"at":{},"#, record.at.0)
        .map_err(|error| error.to_string())?;
    let open = to.len();
    serde_json::to_writer(&mut *to, &record.event).map_err(|error| error.to_string())?;
    to.remove(open);
    to.pop();
    let crc = crc32fast::hash(&to[start..]);
    writeln!(to, r#","crc":"{crc:08x}"}}"#).map_err(|error| error.to_string())
}

fn parse_line(line: &[u8]) -> Parsed {
    if let Err(why) = check_crc(line) {
        return Parsed::Damaged(why);
    }
    let Ok(text) = std::str::from_utf8(line) else { return Parsed::Damaged("not UTF-8".to_owned()) };
    let head: Head<'_> = match serde_json::from_str(text) {
        Ok(head) => head,
        Err(error) => return Parsed::Unknown(format!("unreadable head ({error})")),
    };
    if head.v != RECORD_VERSION {
        return Parsed::Unknown(format!("version {}", head.v));
    }
    match event_of(&head) {
        Ok(event) => Parsed::Record(head.seq, Box::new(Record { at: head.at, event })),
        Err(error) if error.is_data() => Parsed::Unknown(head.kind.to_owned()),
        Err(error) => Parsed::Damaged(error.to_string()),
    }
}

/// Reads the event out of kind and data, which stand side by side in the line.
fn event_of(head: &Head<'_>) -> serde_json::Result<Event> {
    let data = head.data.map_or("null", serde_json::value::RawValue::get);
    let kind = serde_json::to_string(head.kind)?;
    serde_json::from_str(&format!(r#"{{"kind":{kind},"data":{data}}}"#))
}

fn check_crc(line: &[u8]) -> Result<(), String> {
    let Some(at) = line.len().checked_sub(CRC_TAIL) else { return Err("shorter than a record".to_owned()) };
    let (covered, tail) = line.split_at(at);
    let digits = tail.strip_prefix(CRC_MARK).and_then(|rest| rest.strip_suffix(br#""}"#));
    let Some(digits) = digits else { return Err("torn, or without a checksum".to_owned()) };
    let expected = format!("{:08x}", crc32fast::hash(covered));
    if digits == expected.as_bytes() { Ok(()) } else { Err("checksum does not match".to_owned()) }
}

// ── what was lost ──

/// Grades a line that cannot be read by what it was, where its kind is still legible.
fn graded(line: &[u8], log: &Log) -> Loss {
    let kind = legible_kind(line);
    match (log, kind) {
        (Log::Session(_), Some(kind)) if INFORMATIONAL.contains(&kind) => Loss::Informational,
        (Log::Session(_), Some("base_taken" | "rebased")) => {
            legible_root(line).map_or(Loss::Session, Loss::Root)
        }
        (Log::Session(_), _) => Loss::Session,
        (Log::Root(root), _) => Loss::Root(root.clone()),
    }
}

/// Kinds of a session's ledger whose loss degrades nothing.
const INFORMATIONAL: &[&str] = &[
    "session_resumed",
    "turn_started",
    "turn_ended",
    "mode_changed",
    "decided",
    "reject_pending",
    "reject_settled",
    "revert_intended",
    "revert_done",
    "note_sent",
    "note_delivered",
    "note_returned",
    "commented",
    "comment_resolved",
    "permission_seen",
    "noticed",
    "session_closed",
];

fn legible_kind(line: &[u8]) -> Option<&str> {
    text_after(line, br#""kind":""#)
}

fn legible_root(line: &[u8]) -> Option<RootId> {
    let text = text_after(line, br#""root":""#)?;
    (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| RootId::new(text))
}

fn text_after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a str> {
    let at = memchr::memmem::find(line, mark)? + mark.len();
    let end = memchr::memchr(b'"', &line[at..])?;
    std::str::from_utf8(&line[at..at + end]).ok()
}

fn open_append(path: &Path) -> Result<File, StoreError> {
    let opened = std::fs::OpenOptions::new().append(true).open(path);
    opened.map_err(|error| StoreError::io("open", path, error))
}
