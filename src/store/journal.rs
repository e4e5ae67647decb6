//! Record framing: one JSON object per line with a checksum, appended, never edited.

use crate::base::{RootId, WallNs};
use crate::ledger::{Event, Log, Loss, RECORD_VERSION, Record, Skip};
use crate::store::StoreError;
use crate::store::state::{make_private_dir, open_private};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
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

    /// Takes away what stands behind so many bytes, where that can be done.
    fn cut(&mut self, _length: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

impl Sink for File {
    fn sync(&mut self) -> std::io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.set_len(length)
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

impl Journal<File> {
    /// Returns how long the file is; `None` where it has been removed.
    pub(crate) fn length(&self) -> Option<u64> {
        self.sink.metadata().ok().filter(|meta| meta.nlink() > 0).map(|meta| meta.len())
    }

    /// Says whether the file was removed while it was open: nobody will find what is appended to it.
    pub(crate) fn is_removed(&self) -> bool {
        self.sink.metadata().is_ok_and(|meta| meta.nlink() == 0)
    }

    /// Says whether another file stands where this one stood.
    pub(crate) fn is_replaced(&self) -> bool {
        let (Ok(open), Ok(there)) = (self.sink.metadata(), self.path.metadata()) else { return false };
        (open.dev(), open.ino()) != (there.dev(), there.ino())
    }

    /// Writes a journal that was removed again where it stood, whole. Where something stands there it fails.
    pub(crate) fn write_again(&mut self) -> Result<(), StoreError> {
        if let Some(dir) = self.path.parent() {
            make_private_dir(dir)?;
        }
        let failed = |error| StoreError::io("write again", &self.path, error);
        let length = self.sink.metadata().map_err(failed)?.len();
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.sink.read_exact_at(&mut bytes, 0).map_err(failed)?;
        let mut options = std::fs::OpenOptions::new();
        let mut file =
            options.read(true).append(true).create_new(true).mode(0o600).open(&self.path).map_err(failed)?;
        if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync_data()) {
            drop(std::fs::remove_file(&self.path));
            return Err(failed(error));
        }
        self.sink = file;
        Ok(())
    }

    /// Draws time stamps from the kernel until one is not before `at`: on kernels with multigrain time stamps no file that
    /// is written after this is stamped with an earlier time. Elsewhere it does nothing.
    ///
    /// A stamp that was looked at and is set again within one tick of the kernel's clock is a fine one, and the kernel
    /// gives no earlier ones after it. Where a tick came between the two, late as they come on a busy machine, the stamp is
    /// that tick's, which may lie before `at`: then the next one is fine.
    pub(crate) fn stamp(&self, at: WallNs) {
        const TRIES: u32 = 3;
        for _ in 0..TRIES {
            let Ok(meta) = self.sink.metadata() else { return };
            if meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()) >= at.0 {
                return;
            }
            drop(self.sink.set_permissions(meta.permissions()));
        }
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
        let was_torn = std::mem::replace(&mut self.torn, true);
        if let Err(error) = self.sink.write_all(&bytes) {
            // A beginning of one line, which nobody has read and which will be written anew. Of several lines some may stand.
            let mine = records.len() == 1 && !was_torn;
            self.torn = !(mine && self.sink.cut(self.end.offset).is_ok());
            return Err(StoreError::io("append to", &self.path, error));
        }
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

/// Reads the record that opened a session: the first that can be read, for a session whose own was lost is opened again.
pub(crate) fn read_opening(path: &Path) -> Result<Option<Record>, StoreError> {
    let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
    let mut trouble = None;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|error| StoreError::io("read", path, error))?;
        if line.is_empty() {
            continue;
        }
        let why = match parse_line(&line) {
            Parsed::Record(_, record) if matches!(record.event, Event::SessionOpened(_)) => {
                return Ok(Some(*record));
            }
            Parsed::Record(..) => "it does not begin with its header".to_owned(),
            Parsed::Unknown(kind) => format!("first record is of kind {kind}"),
            Parsed::Damaged(why) => format!("first record: {why}"),
        };
        trouble.get_or_insert(why);
    }
    trouble.map_or(Ok(None), |why| Err(StoreError::said("read", path, why)))
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
    if let Some(parsed) = parse_as_written(&text[..text.len() - CRC_TAIL]) {
        return parsed;
    }
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

/// Reads a line whose members stand in the order in which we write them; `None` leaves it to the reader of any order.
fn parse_as_written(covered: &str) -> Option<Parsed> {
    let rest = covered.strip_prefix(&*format!(r#"{{"v":{RECORD_VERSION},"seq":"#))?;
    let (seq, rest) = rest.split_once(r#","at":"#)?;
    let (at, rest) = rest.split_once(',')?;
    let (seq, at) = (seq.parse().ok()?, WallNs(at.parse().ok()?));
    rest.starts_with(r#""kind":"#).then_some(())?;
    let event = serde_json::from_str(&format!("{{{rest}}}")).ok()?;
    Some(Parsed::Record(seq, Box::new(Record { at, event })))
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

/// Grades a line that cannot be read by what it was, where its kind is still legible. The worst kind in it counts.
fn graded(line: &[u8], log: &Log) -> Loss {
    if is_unfinished(line) {
        return Loss::Informational;
    }
    let session = match log {
        Log::Root(root) => return Loss::Root(root.clone()),
        Log::Session(_) => Loss::Session,
    };
    let kinds: Vec<_> = texts_after(line, br#""kind":""#).collect();
    if kinds.is_empty() || kinds.iter().any(|kind| !is_harmless(kind)) {
        return session;
    }
    match (kinds.iter().any(|kind| BASES.contains(kind)), legible_root(line)) {
        (true, Some(root)) => Loss::Root(root),
        (true, None) => session,
        (false, _) => Loss::Informational,
    }
}

fn is_harmless(kind: &str) -> bool {
    INFORMATIONAL.contains(&kind) || IN_APPROVALS.contains(&kind) || BASES.contains(&kind)
}

/// An append that never ended: nothing was told that it had happened. A whole record has its checksum at its end.
fn is_unfinished(line: &[u8]) -> bool {
    let near_the_end = &line[line.len().saturating_sub(CRC_TAIL + 4)..];
    let cut_short = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof());
    cut_short && memchr::memmem::find(near_the_end, br#""crc":"#).is_none()
}

/// Kinds whose loss costs the base of one root.
const BASES: &[&str] = &["base_taken", "rebased"];

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
    "person_told",
    "reapplied",
    "commented",
    "comment_resolved",
    "permission_seen",
    "approval",
    "noticed",
    "visited",
    "gate_blocked",
    "gate_released",
    "session_closed",
];

/// Words that stand as kinds inside the record of an approval: of answers that were offered, and of who decided.
const IN_APPROVALS: &[&str] = &[
    "allow_once",
    "allow_always",
    "reject_once",
    "reject_always",
    "editor",
    "person",
    "floor",
    "rule",
    "mode",
    "covered",
    "grant",
    "classifier",
    "assessor",
    "system",
];

fn legible_root(line: &[u8]) -> Option<RootId> {
    let mut texts = texts_after(line, br#""root":""#);
    let text = texts.find(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some(RootId::new(text))
}

/// Returns the strings that follow each `mark`.
fn texts_after<'a>(line: &'a [u8], mark: &'static [u8]) -> impl Iterator<Item = &'a str> {
    memchr::memmem::find_iter(line, mark).filter_map(move |at| {
        let rest = &line[at + mark.len()..];
        std::str::from_utf8(&rest[..memchr::memchr(b'"', rest)?]).ok()
    })
}

fn open_append(path: &Path) -> Result<File, StoreError> {
    let opened = std::fs::OpenOptions::new().read(true).append(true).open(path);
    opened.map_err(|error| StoreError::io("open", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{ProxyId, SessionKey, TurnNo};
    use crate::ledger::{Actor, Channel, Who};
    use proptest::prelude::*;

    fn log() -> Log {
        Log::Session(SessionKey::new("k"))
    }

    fn sample(n: u32) -> Record {
        let event = match n % 5 {
            0 => Event::TurnStarted { turn: TurnNo(n) },
            1 => {
                Event::Noticed { topic: "a\"b".to_owned(), path: None, text: "line\nbreak \u{e9}".to_owned() }
            }
            2 => Event::ModeChanged { mode: format!("m{n}") },
            3 => Event::CommentResolved {
                comment: crate::base::CommentId::new("c"),
                actor: Actor { who: Who::Person, channel: Channel::Cli },
            },
            _ => Event::SessionResumed { proxy: ProxyId::new("p") },
        };
        Record { at: WallNs(i64::from(n) * 1_000), event }
    }

    fn journal(dir: &Path, records: u32) -> (PathBuf, Vec<Record>) {
        let path = dir.join("j/ledger.jsonl");
        let records: Vec<_> = (0..records).map(sample).collect();
        let (mut journal, _) = Journal::open(&path, &log()).unwrap();
        journal.append_all(&records[..2], Durability::Written).unwrap();
        for record in &records[2..] {
            journal.append(record, Durability::Synced).unwrap();
        }
        (path, records)
    }

    #[test]
    fn a_line_is_what_the_page_says() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = journal(dir.path(), 2);
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.lines().next().unwrap();
        let covered = r#"{"v":1,"seq":0,"at":0,"kind":"turn_started","data":{"turn":0}"#;
        assert_eq!(first, format!(r#"{covered},"crc":"{:08x}"}}"#, crc32fast::hash(covered.as_bytes())));
    }

    #[test]
    fn a_journal_cut_anywhere_replays_the_whole_records_before() {
        let dir = tempfile::tempdir().unwrap();
        let (path, records) = journal(dir.path(), 6);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let complete = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            let (mut journal, replay) = Journal::open(&path, &log()).unwrap();
            assert_eq!(replay.records, records[..complete], "cut at {cut}");
            assert_eq!(replay.skips, []);
            journal.append(&sample(9), Durability::Written).unwrap();
            let after = read_journal(&path, &log()).unwrap();
            assert_eq!(after.records.last(), Some(&sample(9)), "cut at {cut}");
            assert!(after.skips.iter().all(|skip| skip.loss == Loss::Informational), "{:?}", after.skips);
            assert!(after.records.len() + after.skips.len() <= complete + 2);
            assert!(after.records.starts_with(&records[..complete]));
        }
    }

    #[test]
    fn a_flipped_byte_is_detected_or_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let (path, records) = journal(dir.path(), 5);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for flip in [1_u8, 4, 0x20, 0x80, b'\n' ^ whole[at]] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                let found = replay(&damaged, &log(), Position::default());
                let known = found.records.iter().all(|record| records.contains(record));
                assert!(known, "byte {at} flipped by {flip}: a record that was never written");
                let noticed = !found.skips.is_empty() || !found.unknown.is_empty() || at + 1 == whole.len();
                assert!(noticed || found.records == records, "byte {at} flipped by {flip}: silently lost");
                assert!(found.records.len() + 2 >= records.len(), "byte {at} flipped by {flip}");
            }
        }
    }

    #[test]
    fn loss_is_graded_by_what_is_still_legible() {
        let root = "0123456789abcdef0123456789abcdef";
        let grade = |line: &str| graded(line.as_bytes(), &log());
        assert_eq!(grade(r#"{"v":1,"kind":"commented","data":{},"crc":"00000000"}"#), Loss::Informational);
        for kind in ["visited", "gate_blocked", "gate_released"] {
            let line = format!(r#"{{"v":1,"kind":"{kind}","data":{{}},"crc":"00000000"}}"#);
            assert_eq!(grade(&line), Loss::Informational, "{kind}");
        }
        assert_eq!(grade(r#"{"v":1,"kind":"session_opened","data":{},"crc":"00000000"}"#), Loss::Session);
        assert_eq!(grade(r#"{"v":1,"kixd":"commented","data":{},"crc":"00000000"}"#), Loss::Session);
        let base = format!(r#"{{"v":1,"kind":"base_taken","data":{{"root":"{root}"}},"crc":"00000000"}}"#);
        assert_eq!(grade(&base), Loss::Root(RootId::new(root)));
        let glued = r#"{"v":1,"kind":"commented"}X{"v":1,"kind":"session_opened","crc":"00000000"}"#;
        assert_eq!(grade(glued), Loss::Session);
        assert_eq!(grade(r#"{"v":1,"kind":"session_op"#), Loss::Informational);
        let chain = Log::Root(RootId::new(root));
        let loss = graded(br#"{"v":1,"kind":"observed","data":{},"crc":"00000000"}"#, &chain);
        assert_eq!(loss, Loss::Root(RootId::new(root)));
    }

    #[test]
    fn what_is_not_known_is_kept_and_counted() {
        let line = |text: &str| format!(r#"{text},"crc":"{:08x}"}}"#, crc32fast::hash(text.as_bytes()));
        let kind = line(r#"{"v":1,"seq":0,"at":5,"kind":"from_tomorrow","data":{"x":1}"#);
        let version = line(r#"{"v":2,"seq":1,"at":5,"kind":"turn_started","data":{"turn":1}"#);
        let text = format!("{kind}\n{version}\n");
        let found = replay(text.as_bytes(), &log(), Position::default());
        let kept: Vec<_> = found.unknown.iter().map(|line| (line.line, &line.text)).collect();
        assert_eq!(kept, [(1, &kind), (2, &version)]);
        assert_eq!((found.records.len(), found.skips.len()), (0, 0));
        assert_eq!(found.end.next_seq, 2);
    }

    #[test]
    fn a_tail_is_read_from_where_the_last_reading_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let (path, records) = journal(dir.path(), 4);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        let first = read_journal(&path, &log()).unwrap();
        assert_eq!(first.records, records[..3]);
        std::fs::write(&path, &whole).unwrap();
        let second = read_journal_from(&path, &log(), first.end).unwrap();
        assert_eq!(second.records, records[3..]);
        assert_eq!(second.end.offset, whole.len() as u64);
    }

    /// A disk with room for so many bytes.
    #[derive(Debug)]
    struct FullDisk<'a> {
        room: usize,
        written: &'a mut Vec<u8>,
    }

    impl Write for FullDisk<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let n = bytes.len().min(self.room);
            self.room -= n;
            self.written.extend_from_slice(&bytes[..n]);
            if n == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(n) }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Sink for FullDisk<'_> {
        fn sync(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_full_disk_costs_only_what_did_not_fit(room in 0_usize..400) {
            let mut written = Vec::new();
            let mut kept = Vec::new();
            let sink = FullDisk { room, written: &mut written };
            let mut journal = Journal::over(sink, Path::new("j"), Position::default());
            for n in 0..6 {
                match journal.append(&sample(n), Durability::Written) {
                    Ok(()) => kept.push(sample(n)),
                    Err(error) => {
                        prop_assert!(error.is_full());
                        journal.sink.room = 1_000;
                    }
                }
            }
            let found = replay(&written, &log(), Position::default());
            let mut left = found.records.iter();
            prop_assert!(kept.iter().all(|record| left.any(|found| found == record)));
            prop_assert!(found.skips.len() <= 1);
        }
    }
}
