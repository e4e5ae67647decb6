//! The person's configuration as it stands, and as it was last read well: a command that only reads does not fail because of a typing
//! error in a file.

use super::places::config_file;
use crate::config::{Config, McpMay, Written};
use crate::review::{Problem, ProblemKind};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The name of the copy in the state directory.
const KEPT: &str = "config.toml";

/// Reads the file that was named, which must exist, or the person's own, which need not.
pub(super) fn read_config(named: Option<&Path>) -> Result<Option<Written>, Problem> {
    Ok(read(named)?.map(|(written, _)| written))
}

/// As [`read_config`]; a copy of the person's own is kept in the state directory of the proxy that starts.
pub(super) fn config_to_start(
    named: Option<&Path>,
    state: Option<&Path>,
) -> Result<Option<Written>, Problem> {
    let found = read(named)?;
    if let Some(state) = state.filter(|_| named.is_none()) {
        // Where it cannot be made, whoever records there says so.
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
        keep(state, found.as_ref());
    }
    Ok(found.map(|(written, _)| written))
}

/// Reads the person's own configuration, and keeps a copy of it in the state directory.
pub(super) fn own_config(state: Option<&Path>) -> Result<Config, Problem> {
    let found = read(None)?;
    if let Some(state) = state {
        keep(state, found.as_ref());
    }
    Ok(Config::of(found.map(|(written, _)| written).as_ref(), None))
}

/// Reads a configuration, with its text.
fn read(named: Option<&Path>) -> Result<Option<(Written, String)>, Problem> {
    let Some(path) = named.map(Path::to_path_buf).or_else(|| config_file(&env)) else { return Ok(None) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("failed to read the configuration {}: {error}", path.display());
            return Err(Problem::new(ProblemKind::Config, message));
        }
    };
    let written = Written::parse(&path.display().to_string(), &text).map_err(|error| Problem {
        kind: ProblemKind::Config,
        message: error.to_string(),
        hint: error.hint.or_else(|| Some("proxy-config.example.toml documents every key".to_owned())),
    })?;
    Ok(Some((written, text)))
}

/// Returns what the person's configuration was when it was last read well; the defaults where that is not kept. Nobody but the
/// person decides by it. Says which of the two it is.
pub(super) fn last_config(state: Option<&Path>) -> (Config, &'static str) {
    let kept = state.and_then(|state| std::fs::read_to_string(state.join(KEPT)).ok());
    let kept = kept.and_then(|text| Written::parse(KEPT, &text).ok());
    let said =
        if kept.is_some() { "it counts as it was when it last could be read" } else { "the defaults hold" };
    let mut config = Config::of(kept.as_ref(), None);
    config.mcp_may.retain(|may| *may == McpMay::Comment);
    (config, said)
}

/// Makes the copy what was read: gone where there was no file. It is a convenience: where it cannot be kept, the defaults hold
/// while the file cannot be read.
fn keep(state: &Path, found: Option<&(Written, String)>) {
    let copy = state.join(KEPT);
    let _ = match found {
        Some((_, text)) => put(&copy, text.as_bytes()),
        None => std::fs::remove_file(&copy),
    };
}

fn put(copy: &Path, text: &[u8]) -> io::Result<()> {
    if std::fs::read(copy).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    let draft = copy.with_extension(format!("toml.{}.new", std::process::id()));
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(text).and_then(|()| std::fs::rename(&draft, copy));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

pub(super) fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
