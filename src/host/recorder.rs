//! A transcript of what passes, in the format of `tests/acp_transcripts`: a bug report is a test.

use crate::base::Leg;
use crate::host::veil::Veil;
use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes what each peer says and hears, secrets and the home directory left out.
#[derive(Debug)]
pub(crate) struct Recorder<W: Write = BufWriter<File>> {
    to: W,
    veil: Veil,
    /// Lines of the editor and of the agent that were not passed on yet.
    waiting: [VecDeque<Bytes>; 2],
    failed: bool,
}

impl Recorder {
    /// Starts a transcript in a new file, for its owner only.
    pub(crate) fn create(path: &Path, home: Option<&Path>) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut recorder = Self::over(BufWriter::new(file), home);
        recorder.write(format_args!("# Recorded by hunkgate {}.\n", env!("CARGO_PKG_VERSION")));
        Ok(recorder)
    }
}

impl<W: Write> Recorder<W> {
    fn over(to: W, home: Option<&Path>) -> Self {
        Self { to, veil: Veil::new(home), waiting: Default::default(), failed: false }
    }

    /// A peer said a line.
    pub(crate) fn said(&mut self, from: Leg, line: &Bytes) {
        self.waiting[index(from)].push_back(line.clone());
        let text = self.shown(line);
        self.write(format_args!("{}> {text}\n", name(from)));
    }

    /// A peer is sent a line.
    pub(crate) fn heard(&mut self, to: Leg, line: &Bytes) {
        let waiting = &mut self.waiting[index(to.other())];
        if waiting.front() == Some(line) {
            waiting.pop_front();
            return self.write(format_args!("{}< same\n", name(to)));
        }
        // A frame that overtook a parked one: it is written out, and so will be the one it overtook.
        if let Some(at) = waiting.iter().position(|waiting| waiting == line) {
            waiting.remove(at);
        }
        let text = self.shown(line);
        self.write(format_args!("{}< {text}\n", name(to)));
    }

    /// Lets what was written so far be read.
    pub(crate) fn flush(&mut self) {
        self.failed |= self.to.flush().is_err();
    }

    fn shown(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        self.veil.over(&String::from_utf8_lossy(line)).replace('$', "$$")
    }

    /// A transcript that cannot be written costs the transcript.
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        if !self.failed && self.to.write_fmt(text).is_err() {
            self.failed = true;
            tracing::warn!("the transcript cannot be written");
        }
    }
}

fn index(leg: Leg) -> usize {
    match leg {
        Leg::Editor => 0,
        Leg::Agent => 1,
    }
}

fn name(leg: Leg) -> &'static str {
    match leg {
        Leg::Editor => "editor",
        Leg::Agent => "agent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_unchanged_is_the_same_and_what_we_wrote_is_written_out() {
        let mut recorder = Recorder::over(Vec::new(), Some(Path::new("/home/me")));
        let prompt = Bytes::from_static(b"{\"id\":1,\"cwd\":\"/home/me/w\"}\n");
        recorder.said(Leg::Editor, &prompt);
        recorder.heard(Leg::Agent, &prompt);
        recorder.heard(Leg::Editor, &Bytes::from_static(b"{\"method\":\"ours\",\"cost\":\"$5\"}\n"));
        let text = String::from_utf8(recorder.to).expect("text");
        assert_eq!(
            text,
            "editor> {\"id\":1,\"cwd\":\"/home/user/w\"}\nagent< same\neditor< {\"method\":\"ours\",\"cost\":\"$$5\"}\n"
        );
    }
}
