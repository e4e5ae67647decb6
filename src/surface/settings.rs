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
    let Some(path) = named.map(Path::to_path_buf).or_else(|| config_file(&env)) else { return Ok(None) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("failed to read the configuration {}: {error}", path.display());
            return Err(Problem::new(ProblemKind::Config, message));
        }
    };
    let parsed = Written::parse(&path.display().to_string(), &text);
    parsed.map(Some).map_err(|error| Problem {
        kind: ProblemKind::Config,
        message: error.to_string(),
        hint: error.hint.or_else(|| Some("proxy-config.example.toml documents every key".to_owned())),
    })
}

/// Reads the person's own configuration, and keeps a copy of it in the state directory.
pub(super) fn own_config(state: Option<&Path>) -> Result<Config, Problem> {
    let written = read_config(None)?;
    if let Some(state) = state.filter(|state| state.is_dir()) {
        // It is a convenience: where it cannot be kept, the defaults hold while the file cannot be read.
        let _ = keep(&state.join(KEPT));
    }
    Ok(Config::of(written.as_ref(), None))
}

/// Keeps a copy of the person's own configuration, which was read well, in the state directory of a proxy that starts.
pub(super) fn keep_own(state: Option<&Path>) {
    let Some(state) = state else { return };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
    let _ = made.and_then(|()| keep(&state.join(KEPT)));
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

/// Makes the copy what the file is now: gone where that is gone.
fn keep(copy: &Path) -> io::Result<()> {
    let text = match config_file(&env).map(std::fs::read) {
        Some(Ok(text)) => text,
        Some(Err(_)) | None => return std::fs::remove_file(copy),
    };
    if std::fs::read(copy).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    let draft = copy.with_extension(format!("toml.{}.new", std::process::id()));
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(&text).and_then(|()| std::fs::rename(&draft, copy));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

pub(super) fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
