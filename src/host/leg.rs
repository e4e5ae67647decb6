//! One peer's pipe, in one direction: the threads that read and write whole lines.
//!
//! Threads and blocking calls, not asynchronous ones: our stdin and stdout are shared with whoever started us, and switching
//! them to non-blocking would switch them for all.

use crate::base::Leg;
use crate::host::event::{Event, Inbox};
use crate::host::gauge::Gauge;
use crate::wire::{Piece, Splitter};
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Bytes asked of the kernel at once.
const READ: usize = 128 * 1024;
/// Bytes collected before a write.
const WRITE: usize = 128 * 1024;
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

impl Outgoing {
    fn bytes(&self) -> &Bytes {
        match self {
            Self::Frame(bytes) | Self::Part { bytes, .. } => bytes,
        }
    }
}

/// The way to a peer: batches go in, and a thread writes them. Dropping it writes what is left and closes the pipe.
#[derive(Debug)]
pub(crate) struct Writer {
    batch: Vec<Outgoing>,
    size: usize,
    queue: Option<Sender<Vec<Outgoing>>>,
    gauge: Arc<Gauge>,
    finished: Receiver<()>,
}

impl Writer {
    /// Starts the thread that writes to a peer.
    pub(crate) fn start(leg: Leg, to: OwnedFd, gauge: Arc<Gauge>, inbox: Inbox) -> io::Result<Self> {
        let (queue, from) = channel::<Vec<Outgoing>>();
        let (done, finished) = channel();
        let counted = Arc::clone(&gauge);
        std::thread::Builder::new().name(format!("write {leg:?}")).spawn(move || {
            let mut pen =
                Pen { to, buffer: Vec::with_capacity(WRITE), last: b'\n', within: false, held: Vec::new() };
            let mut broken = false;
            while let Ok(batch) = from.recv() {
                let size = batch.iter().map(|item| item.bytes().len()).sum();
                if !broken && write_all(&mut pen, batch, &from, &counted).is_err() {
                    broken = true;
                    counted.shut();
                    inbox.put(Event::Unwritable(leg));
                }
                counted.sub(size);
            }
            if !broken {
                let _ = pen.finish();
            }
            let _ = done.send(());
        })?;
        Ok(Self { batch: Vec::new(), size: 0, queue: Some(queue), gauge, finished })
    }

    /// Adds to the batch.
    pub(crate) fn push(&mut self, item: Outgoing) {
        self.size += item.bytes().len();
        self.batch.push(item);
    }

    /// Hands the batch to the thread. Never waits.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.gauge.add(std::mem::take(&mut self.size));
        let batch = std::mem::take(&mut self.batch);
        if let Some(queue) = &self.queue {
            let _ = queue.send(batch);
        }
    }

    /// Lets the thread write what it has, close the pipe and end.
    pub(crate) fn close(&mut self) {
        self.flush();
        self.queue = None;
    }

    /// Waits until everything is written, at most so long.
    pub(crate) fn wait_written(&mut self, at_most: std::time::Duration) {
        self.close();
        let _ = self.finished.recv_timeout(at_most);
    }
}

/// Writes a batch and whatever else has come meanwhile, in as few calls as possible.
fn write_all(
    pen: &mut Pen,
    batch: Vec<Outgoing>,
    more: &Receiver<Vec<Outgoing>>,
    gauge: &Gauge,
) -> io::Result<()> {
    for item in batch {
        pen.take(item)?;
    }
    while pen.buffer.len() < WRITE {
        let Ok(next) = more.try_recv() else { break };
        let size = next.iter().map(|item| item.bytes().len()).sum();
        for item in next {
            pen.take(item)?;
        }
        gauge.sub(size);
    }
    pen.flush()
}

/// The writing end with what it knows of the line it is in.
struct Pen {
    to: OwnedFd,
    buffer: Vec<u8>,
    last: u8,
    /// Between two parts of one line.
    within: bool,
    /// Frames that came meanwhile.
    held: Vec<Bytes>,
}

impl Pen {
    fn take(&mut self, item: Outgoing) -> io::Result<()> {
        match item {
            Outgoing::Frame(bytes) if self.within => self.held.push(bytes),
            Outgoing::Frame(bytes) => self.frame(&bytes)?,
            Outgoing::Part { bytes, ends } => {
                if !self.within && self.last != b'\n' {
                    self.put(b"\n")?;
                }
                self.put(&bytes)?;
                self.within = !ends;
                if ends {
                    self.release()?;
                }
            }
        }
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        for bytes in std::mem::take(&mut self.held) {
            self.frame(&bytes)?;
        }
        Ok(())
    }

    /// Writes a frame on a fresh line: what stood before it may be the torn line of a peer that died.
    fn frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.last != b'\n' {
            self.put(b"\n")?;
        }
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(&last) = bytes.last() else { return Ok(()) };
        self.last = last;
        if bytes.len() >= LARGE {
            self.flush()?;
            return write(&self.to, bytes);
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = write(&self.to, &self.buffer);
        self.buffer.clear();
        done
    }

    fn finish(&mut self) -> io::Result<()> {
        self.within = false;
        self.release()?;
        self.flush()
    }
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
