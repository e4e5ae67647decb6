//! Bytes in, whole lines out.

use bytes::{Bytes, BytesMut};
use std::mem;

/// What the splitter gives out. Joined, the pieces are the bytes that went in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole line with its terminator exactly as it was.
    Line(Bytes),
    /// A part of a line longer than the limit: passed on, never looked at.
    Oversize {
        /// The bytes.
        bytes: Bytes,
        /// True for the part that holds the terminator.
        ends: bool,
    },
}

impl Piece {
    /// Returns the bytes, whatever they are.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Line(bytes) | Self::Oversize { bytes, .. } => bytes,
        }
    }
}

/// Cuts a stream of bytes into lines, under any chunking. A line given out shares the buffer it was read into.
#[derive(Debug)]
pub struct Splitter {
    buffer: BytesMut,
    /// Bytes at the front of `buffer` known to hold no terminator.
    searched: usize,
    limit: usize,
    /// True while the parts of an oversize line are passed on.
    within: bool,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::new(Self::LIMIT)
    }
}

impl Splitter {
    /// Bytes up to which a line is kept whole, its terminator included.
    pub const LIMIT: usize = 64 * 1024 * 1024;

    /// Starts with a limit of its own.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, within: false }
    }

    /// Takes bytes in by copying them.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the buffer for a reader that appends to it; what it holds already must stay.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Returns the next piece, `None` until more bytes come.
    pub fn next_piece(&mut self) -> Option<Piece> {
        if let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let line = self.take(self.searched + found + 1);
            let oversize = mem::take(&mut self.within) || line.len() > self.limit;
            return Some(if oversize {
                Piece::Oversize { bytes: line, ends: true }
            } else {
                Piece::Line(line)
            });
        }
        self.searched = self.buffer.len();
        if self.searched == 0 || (self.searched < self.limit && !self.within) {
            return None;
        }
        self.within = true;
        Some(Piece::Oversize { bytes: self.take(self.searched), ends: false })
    }

    /// Returns how many bytes wait for their terminator.
    pub fn tail_len(&self) -> usize {
        self.buffer.len()
    }

    /// Says whether the last byte that went in ended a line.
    pub fn on_fresh_line(&self) -> bool {
        self.buffer.is_empty() && !self.within
    }

    /// Takes what is left of a stream that ended in mid-line; empty when it ended well.
    pub fn take_tail(&mut self) -> Bytes {
        self.within = false;
        let all = self.buffer.len();
        self.take(all)
    }

    fn take(&mut self, len: usize) -> Bytes {
        self.searched = 0;
        self.buffer.split_to(len).freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(splitter: &mut Splitter) -> Vec<Piece> {
        std::iter::from_fn(|| splitter.next_piece()).collect()
    }

    #[test]
    fn a_line_keeps_its_terminator_and_blank_lines_are_lines() {
        let mut splitter = Splitter::default();
        splitter.push(b"a\r\n\n\r\nb\xff\nc");
        let lines: Vec<_> = all(&mut splitter).into_iter().map(Piece::into_bytes).collect();
        assert_eq!(lines, [&b"a\r\n"[..], b"\n", b"\r\n", b"b\xff\n"]);
        assert_eq!((splitter.tail_len(), splitter.on_fresh_line()), (1, false));
        assert_eq!(splitter.take_tail(), "c");
        assert!(splitter.on_fresh_line());
    }

    #[test]
    fn an_oversize_line_passes_in_parts_and_the_next_line_is_whole() {
        let mut splitter = Splitter::new(4);
        let mut pieces = Vec::new();
        for chunk in [&b"abc"[..], b"def", b"g", b"h\nok\n"] {
            splitter.push(chunk);
            pieces.extend(all(&mut splitter));
        }
        let part = |bytes: &'static str, ends| Piece::Oversize { bytes: bytes.into(), ends };
        assert_eq!(
            pieces,
            [part("abcdef", false), part("g", false), part("h\n", true), Piece::Line("ok\n".into())]
        );
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_under_any_chunking(
            chunks in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..12), 0..24),
            limit in 1usize..12,
        ) {
            let input: Vec<u8> = chunks.concat();
            let mut splitter = Splitter::new(limit);
            let mut pieces = Vec::new();
            for chunk in &chunks {
                splitter.push(chunk);
                pieces.extend(all(&mut splitter));
            }
            let mut out = Vec::new();
            let mut fresh = true;
            for piece in pieces {
                match &piece {
                    Piece::Line(line) => {
                        prop_assert!(fresh && line.len() <= limit);
                        prop_assert_eq!(memchr::memchr(b'\n', line), Some(line.len() - 1));
                    }
                    Piece::Oversize { ends, .. } => fresh = *ends,
                }
                out.extend_from_slice(&piece.into_bytes());
            }
            out.extend_from_slice(&splitter.take_tail());
            prop_assert_eq!(out, input);
        }
    }
}
