//! Our own log: to stderr or to a file, never to stdout, which is the protocol.

use crate::host::voice::Voice;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Starts the log. A file that cannot be opened costs the file, not the conversation.
pub(crate) fn start(level: &str, file: Option<&Path>, voice: &Voice) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::WARN);
    let plain = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_ansi(false);
    let opened = file.map(|path| OpenOptions::new().append(true).create(true).open(path));
    let failed = opened.as_ref().and_then(|opened| opened.as_ref().err().map(ToString::to_string));
    let _ = match opened {
        Some(Ok(file)) => {
            tracing::subscriber::set_global_default(plain.with_writer(Kept(Arc::new(file))).finish())
        }
        Some(Err(_)) | None => {
            let to_voice = plain.with_writer(Said(voice.clone())).without_time().with_level(false);
            tracing::subscriber::set_global_default(to_voice.finish())
        }
    };
    if let Some(reason) = failed {
        tracing::warn!("the log file cannot be opened: {reason}");
    }
}

/// Lets a panic say one line, in a way that cannot block.
pub(crate) fn speak_for_panics(voice: &Voice) {
    let voice = voice.clone();
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("a panic without words");
        voice.say(&format!("internal error at {place}: {words}"));
    }));
}

struct Said(Voice);

impl<'a> MakeWriter<'a> for Said {
    type Writer = &'a Voice;

    fn make_writer(&'a self) -> Self::Writer {
        &self.0
    }
}

impl Write for &Voice {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.say(String::from_utf8_lossy(line).trim_end());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Kept(Arc<File>);

impl<'a> MakeWriter<'a> for Kept {
    type Writer = &'a File;

    fn make_writer(&'a self) -> Self::Writer {
        &self.0
    }
}
