//! A transcript of what passes, in the format of `tests/acp_transcripts`: a bug report is a test.

use crate::base::Leg;
use crate::host::veil::Veil;
use crate::ledger::Redactor;
use crate::wire::{self, Head, Raw};
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
    pub(crate) fn create(path: &Path, (home, own): (Option<&Path>, Redactor)) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut recorder = Self::over(BufWriter::new(file), home);
        recorder.veil = recorder.veil.and(own);
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
        self.waiting[from.index()].push_back(line.clone());
        let text = self.shown(line);
        self.write(format_args!("{}> {text}\n", from.name()));
    }

    /// A peer is sent a line.
    pub(crate) fn heard(&mut self, to: Leg, line: &Bytes) {
        let waiting = &mut self.waiting[to.other().index()];
        if waiting.front() == Some(line) {
            waiting.pop_front();
            return self.write(format_args!("{}< same\n", to.name()));
        }
        // A frame that overtook a parked one: it is written out, and so will be the one it overtook.
        if let Some(at) = waiting.iter().position(|waiting| waiting == line) {
            waiting.remove(at);
        }
        let edited = waiting.front().is_some_and(|oldest| is_edited(oldest, line));
        if edited {
            waiting.pop_front();
        }
        let text = self.shown(line);
        let how = if edited { "edited " } else { "" };
        self.write(format_args!("{}< {how}{text}\n", to.name()));
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

/// The updates that we ever change.
const EDITED_UPDATES: [&str; 3] = ["available_commands_update", "user_message_chunk", "user_message"];

/// Says whether `sent` is `said` with something of ours put in or taken out.
fn is_edited(said: &[u8], sent: &[u8]) -> bool {
    match (wire::head(said), wire::head(sent)) {
        (Head::Request { id, method, .. }, Head::Request { id: sent_id, method: sent_method, .. }) => {
            id.to_id() == sent_id.to_id() && method == sent_method
        }
        (Head::Notification { method, params }, Head::Notification { method: sent_method, params: sent }) => {
            let kind = kind_of(params).filter(|_| method == sent_method);
            kind == kind_of(sent) && kind.is_some_and(|kind| EDITED_UPDATES.contains(&kind.as_str()))
        }
        (Head::Response { id, .. }, Head::Response { id: sent_id, .. }) => id.to_id() == sent_id.to_id(),
        (Head::Request { .. } | Head::Notification { .. } | Head::Response { .. } | Head::Unreadable, _) => {
            false
        }
    }
}

fn kind_of(params: Option<Raw<'_>>) -> Option<String> {
    params?.at(&["update", "sessionUpdate"])?.string()
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
    #[test]
    fn what_passed_with_something_of_ours_is_edited() {
        let mut recorder = Recorder::over(Vec::new(), None);
        let line = |text: &str| Bytes::from(format!("{text}\n"));
        recorder.said(Leg::Editor, &line(r#"{"id":1,"method":"session/prompt","params":{"prompt":[]}}"#));
        recorder.heard(Leg::Agent, &line(r#"{"id":1,"method":"session/prompt","params":{"prompt":[1]}}"#));
        recorder.said(Leg::Agent, &line(r#"{"id":1,"result":{}}"#));
        recorder.heard(Leg::Editor, &line(r#"{"method":"session/update","params":{}}"#));
        recorder.heard(Leg::Editor, &line(r#"{"id":1,"result":{}}"#));
        let text = String::from_utf8(recorder.to).expect("text");
        let heard: Vec<&str> = text.lines().filter(|line| line.contains("< ")).collect();
        assert!(heard[0].starts_with("agent< edited {"), "{text}");
        assert!(heard[1].starts_with("editor< {\"method\""), "{text}");
        assert_eq!(heard[2], "editor< same");
    }
}
