//! Our stderr: the agent's, passed on as it is, and what we have to say ourselves.

use crate::host::leg::{Source, write};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that wait for a stderr nobody reads; what is more is counted and dropped, so that the agent never waits.
const WAITING: usize = 1024 * 1024;
/// Bytes kept of the end of the agent's stderr.
const TAIL: usize = 64 * 1024;

/// A way to our stderr that never waits for whoever reads it.
#[derive(Clone, Debug)]
pub(crate) struct Voice(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: usize,
    writing: bool,
}

impl Voice {
    /// Starts the thread that writes to `to`.
    pub(crate) fn start(to: OwnedFd) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        std::thread::Builder::new().name("stderr".into()).spawn(move || writer.write_on(&to))?;
        Ok(Self(shared))
    }

    /// Says a line of our own.
    pub(crate) fn say(&self, text: &str) {
        self.0.put(format!("hunkgate: {text}\n").into_bytes());
    }

    /// Waits until all that was said is written, at most so long.
    pub(crate) fn wait_written(&self, at_most: Duration) {
        let state = self.0.lock();
        let busy = |state: &mut State| state.writing || !state.lines.is_empty();
        drop(self.0.changed.wait_timeout_while(state, at_most, busy));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if state.bytes + line.len() > WAITING {
            state.dropped += line.len();
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        self.changed.notify_all();
    }

    fn write_on(&self, to: &OwnedFd) {
        loop {
            let line = self.next();
            let _ = write(to, &line);
            let mut state = self.lock();
            state.writing = false;
            if state.dropped > 0 && state.lines.is_empty() {
                let said =
                    format!("hunkgate: {} bytes of stderr were dropped: nobody read them\n", state.dropped);
                state.dropped = 0;
                state.bytes += said.len();
                state.lines.push_back(said.into_bytes());
            }
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Vec<u8> {
        let mut state = self.lock();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.len();
                state.writing = true;
                return line;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Starts the thread that drains the agent's stderr into ours, line by line. It returns the tail.
pub(crate) fn start_drain(source: Source, voice: Voice) -> io::Result<JoinHandle<String>> {
    std::thread::Builder::new().name("agent stderr".into()).spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        let mut tail = Tail::default();
        let mut unfinished = Vec::new();
        while let Ok(read @ 1..) = source.read(&mut buffer) {
            tail.push(&buffer[..read]);
            unfinished.extend_from_slice(&buffer[..read]);
            // A line without end is passed on in parts rather than collected.
            let whole =
                if unfinished.len() > TAIL { Some(unfinished.len()) } else { last_line_end(&unfinished) };
            if let Some(end) = whole {
                let rest = unfinished.split_off(end);
                voice.0.put(std::mem::replace(&mut unfinished, rest));
            }
        }
        if !unfinished.is_empty() {
            unfinished.push(b'\n');
            voice.0.put(unfinished);
        }
        tail.into_text()
    })
}

fn last_line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', bytes).map(|at| at + 1)
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * TAIL {
            self.0.drain(..self.0.len() - TAIL);
        }
    }

    fn into_text(mut self) -> String {
        let surplus = self.0.len().saturating_sub(TAIL);
        self.0.drain(..surplus);
        let mut text = String::from_utf8_lossy(&self.0).into_owned();
        // A replaced byte takes three: cut again, on a character.
        while text.len() > TAIL {
            let cut = text.ceil_char_boundary(text.len() - TAIL);
            text.drain(..cut);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end_and_is_bounded() {
        let mut tail = Tail::default();
        for _ in 0..10_000 {
            tail.push(b"0123456789abcdef\n");
        }
        tail.push(b"last \xff words");
        let text = tail.into_text();
        assert!(text.len() <= TAIL && text.len() > TAIL - 16, "{}", text.len());
        assert!(text.ends_with("last \u{fffd} words"));
    }

    #[test]
    fn stderr_that_nobody_reads_holds_nobody_up_and_what_was_dropped_is_said() {
        let (unread, to) = io::pipe().expect("a pipe");
        let voice = Voice::start(to.into()).expect("a thread");
        for _ in 0..4_000 {
            voice.say(&"x".repeat(1_000));
        }
        let mut said = String::new();
        let mut reader = io::BufReader::new(unread);
        while !said.contains("were dropped") {
            said.clear();
            io::BufRead::read_line(&mut reader, &mut said).expect("readable");
        }
    }
}
