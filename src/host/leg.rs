//! One peer's pipe, in one direction: the threads that read and write whole lines.
//!
//! Threads and blocking calls, not asynchronous ones: our stdin and stdout are shared with whoever started us, and switching
//! them to non-blocking would switch them for all.

use crate::base::Leg;
use crate::host::event::{Event, Inbox};
use crate::host::gauge::Gauge;
use crate::wire::{Piece, Splitter};
use bytes::{Buf as _, Bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Bytes asked of the kernel at once.
const READ: usize = 128 * 1024;
/// Pieces of memory written at once.
const SLICES: usize = 64;
/// Bytes that a pipe with any room takes without waiting (`PIPE_BUF` is twice that).
const AT_ONCE: usize = 2 * 1024;
/// No time at all.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Frames from this size on are written where they lie.
const LARGE: usize = 32 * 1024;

/// Where a reader reads from.
#[derive(Debug)]
pub(crate) struct Source {
    /// The pipe.
    pub(crate) from: OwnedFd,
    /// When this becomes readable (its other end is closed) the reader takes what is in the pipe and ends, even if somebody
    /// still holds the writing end.
    pub(crate) drain: Option<OwnedFd>,
}

impl Source {
    /// Reads some bytes, waiting for them; 0 at the end.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.from, &mut *buffer) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !self.wait()? {
                        return Ok(0);
                    }
                }
                done => return Ok(done?),
            }
        }
    }

    /// Waits for bytes or the end; false when we are to end and nothing is left.
    fn wait(&self) -> io::Result<bool> {
        let mut fds = vec![PollFd::new(&self.from, PollFlags::IN)];
        if let Some(drain) = &self.drain {
            fds.push(PollFd::new(drain, PollFlags::IN));
        }
        match poll(&mut fds, None) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// Starts the thread that reads a peer. `gauge` counts what is on its way to the *other* peer. A line longer than
/// `longest` is passed on in parts.
pub(crate) fn start_reader(
    leg: Leg,
    source: Source,
    longest: usize,
    gauge: Arc<Gauge>,
    inbox: Inbox,
) -> io::Result<JoinHandle<()>> {
    let name = format!("read {leg:?}");
    std::thread::Builder::new().name(name).spawn(move || {
        let mut splitter = Splitter::new(longest);
        let mut buffer = vec![0; READ];
        loop {
            gauge.wait_for_room();
            let read = match source.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            splitter.push(&buffer[..read]);
            let pieces: Vec<Piece> = std::iter::from_fn(|| splitter.next_piece()).collect();
            if !pieces.is_empty() && !hand_over(leg, pieces, &gauge, &inbox) {
                return;
            }
        }
        let tail = splitter.take_tail();
        if !tail.is_empty() {
            hand_over(leg, vec![Piece::Line(tail)], &gauge, &inbox);
        }
        inbox.put(Event::Ended(leg));
    })
}

fn hand_over(leg: Leg, pieces: Vec<Piece>, gauge: &Gauge, inbox: &Inbox) -> bool {
    let bytes = pieces.iter().map(piece_len).sum();
    gauge.add(bytes);
    inbox.put(Event::Read { leg, pieces, bytes })
}

fn piece_len(piece: &Piece) -> usize {
    match piece {
        Piece::Line(bytes) | Piece::Oversize { bytes, .. } => bytes.len(),
    }
}

/// What a writer is given.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A whole frame.
    Frame(Bytes),
    /// A part of a line too long to be kept whole; no frame may come between its parts.
    Part {
        /// The bytes.
        bytes: Bytes,
        /// True for the last part.
        ends: bool,
    },
}

/// The way to a peer: frames go in, and a thread writes them. Dropping it writes what is left and closes the pipe.
///
/// Frames are put one behind the other here, in the thread that made them, so that a batch of small ones is one piece of
/// memory and one call.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Small frames, one behind the other.
    small: Vec<u8>,
    /// What goes before them.
    chunks: Vec<Bytes>,
    last: u8,
    /// Between two parts of one line.
    within: bool,
    /// Frames that came meanwhile.
    held: Vec<Bytes>,
    open: Option<Open>,
    finished: Receiver<()>,
}

/// A way that is not closed yet.
#[derive(Debug)]
struct Open {
    queue: Sender<Vec<Bytes>>,
    way: Arc<Way>,
    /// A pipe says truly whether it takes a little without waiting.
    pipe: bool,
}

/// The pipe, written by the thread while it has batches, and by whoever flushes while it has none.
#[derive(Debug)]
struct Way {
    leg: Leg,
    to: OwnedFd,
    /// Batches that the thread was given and has not written. Only whoever flushes adds to it.
    queued: AtomicUsize,
    broken: AtomicBool,
    gauge: Arc<Gauge>,
    inbox: Inbox,
}

impl Writer {
    /// Starts the thread that writes to a peer.
    pub(crate) fn start(leg: Leg, to: OwnedFd, gauge: Arc<Gauge>, inbox: Inbox) -> io::Result<Self> {
        let pipe = rustix::fs::fstat(&to).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
        let way = Way { leg, to, queued: AtomicUsize::new(0), broken: AtomicBool::new(false), gauge, inbox };
        let way = Arc::new(way);
        let (queue, from) = channel::<Vec<Bytes>>();
        let (done, finished) = channel();
        let theirs = Arc::clone(&way);
        std::thread::Builder::new().name(format!("write {leg:?}")).spawn(move || {
            while let Ok(batch) = from.recv() {
                let mut batches = vec![batch];
                batches.extend(from.try_iter());
                let count = batches.len();
                theirs.write(batches.into_iter().flatten().collect());
                theirs.queued.fetch_sub(count, Ordering::AcqRel);
            }
            // Closes the pipe, unless it is about to be closed where it was flushed.
            drop(theirs);
            let _ = done.send(());
        })?;
        Ok(Self {
            small: Vec::new(),
            chunks: Vec::new(),
            last: b'\n',
            within: false,
            held: Vec::new(),
            open: Some(Open { queue, way, pipe }),
            finished,
        })
    }

    /// Adds to the batch.
    pub(crate) fn push(&mut self, item: Outgoing) {
        match item {
            Outgoing::Frame(bytes) if self.within => self.held.push(bytes),
            Outgoing::Frame(bytes) => self.frame(bytes),
            Outgoing::Part { bytes, ends } => {
                if !self.within {
                    self.freshen();
                }
                self.put(bytes);
                self.within = !ends;
                if ends {
                    self.release();
                }
            }
        }
    }

    /// Writes a small batch where that takes no waiting, and hands any other to the thread. Never waits.
    pub(crate) fn flush(&mut self) {
        self.seal();
        if self.chunks.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.chunks);
        let Some(Open { queue, way, pipe }) = &self.open else { return };
        if let ([chunk], true) = (batch.as_slice(), *pipe)
            && way.takes_at_once(chunk.len())
        {
            return way.note(write(&way.to, chunk));
        }
        way.gauge.add(batch.iter().map(Bytes::len).sum());
        way.queued.fetch_add(1, Ordering::AcqRel);
        let _ = queue.send(batch);
    }

    /// Lets the thread write what it has, close the pipe and end.
    pub(crate) fn close(&mut self) {
        self.within = false;
        self.release();
        self.flush();
        self.open = None;
    }

    /// Waits until everything is written, at most so long.
    pub(crate) fn wait_written(&mut self, at_most: std::time::Duration) {
        self.close();
        let _ = self.finished.recv_timeout(at_most);
    }

    fn frame(&mut self, bytes: Bytes) {
        self.freshen();
        self.put(bytes);
    }

    /// Begins a fresh line: what stands before may be the torn line of a peer that died.
    fn freshen(&mut self) {
        if self.last != b'\n' {
            self.small.push(b'\n');
        }
    }

    fn put(&mut self, bytes: Bytes) {
        let Some(&last) = bytes.last() else { return };
        self.last = last;
        if bytes.len() >= LARGE {
            self.seal();
            self.chunks.push(bytes);
        } else {
            self.small.extend_from_slice(&bytes);
        }
    }

    fn release(&mut self) {
        for bytes in std::mem::take(&mut self.held) {
            self.frame(bytes);
        }
    }

    fn seal(&mut self) {
        if !self.small.is_empty() {
            let next = Vec::with_capacity(self.small.len());
            self.chunks.push(Bytes::from(std::mem::replace(&mut self.small, next)));
        }
    }
}

impl Way {
    /// Says whether so many bytes can be written here and now: nothing waits to go first, and the pipe has room.
    fn takes_at_once(&self, bytes: usize) -> bool {
        let mut fds = [PollFd::new(&self.to, PollFlags::OUT)];
        bytes <= AT_ONCE
            && self.queued.load(Ordering::Acquire) == 0
            && !self.broken.load(Ordering::Relaxed)
            && poll(&mut fds, Some(&NOW)).is_ok_and(|ready| ready > 0)
    }

    /// Writes chunks, or throws them away where nobody reads any more.
    fn write(&self, chunks: VecDeque<Bytes>) {
        let size = chunks.iter().map(Bytes::len).sum();
        if self.broken.load(Ordering::Relaxed) {
            return self.gauge.sub(size);
        }
        let done = write_all(&self.to, chunks, &self.gauge);
        if done.is_err() {
            self.gauge.sub(size);
        }
        self.note(done);
    }

    /// Tells, once, that nobody reads any more.
    fn note(&self, done: io::Result<()>) {
        if done.is_err() && !self.broken.swap(true, Ordering::Relaxed) {
            self.gauge.shut();
            self.inbox.put(Event::Unwritable(self.leg));
        }
    }
}

/// Writes chunks in as few calls as possible, and counts them out as they go.
fn write_all(to: &OwnedFd, mut chunks: VecDeque<Bytes>, gauge: &Gauge) -> io::Result<()> {
    while !chunks.is_empty() {
        let slices: Vec<IoSlice<'_>> = chunks.iter().take(SLICES).map(|chunk| IoSlice::new(chunk)).collect();
        let mut written = match rustix::io::writev(to, &slices) {
            Ok(written) => written,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], None);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        gauge.sub(written);
        while let Some(first) = chunks.front_mut()
            && written > 0
        {
            let taken = written.min(first.len());
            first.advance(taken);
            written -= taken;
            if first.is_empty() {
                chunks.pop_front();
            }
        }
    }
    Ok(())
}

/// Writes all bytes, waiting where the pipe is full.
pub(crate) fn write(to: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn no_frame_comes_between_the_parts_of_a_line_or_onto_a_torn_one() {
        let (mut read, write) = io::pipe().expect("a pipe");
        let (sender, _events) = channel();
        let gauge = Arc::new(Gauge::new(1));
        let mut writer =
            Writer::start(Leg::Editor, write.into(), gauge, Inbox::new(sender)).expect("a thread");
        let large: Bytes = vec![b'x'; LARGE].into();
        writer.push(Outgoing::Frame("one\n".into()));
        writer.push(Outgoing::Part { bytes: large.clone(), ends: false });
        writer.push(Outgoing::Frame("two\n".into()));
        writer.flush();
        writer.push(Outgoing::Part { bytes: "end\n".into(), ends: true });
        writer.push(Outgoing::Frame("torn".into()));
        writer.push(Outgoing::Frame("three\n".into()));
        writer.close();
        let mut written = Vec::new();
        read.read_to_end(&mut written).expect("readable");
        let expected = [&b"one\n"[..], &large, b"end\ntwo\ntorn\nthree\n"].concat();
        assert!(written == expected, "{} bytes", written.len());
    }
}
