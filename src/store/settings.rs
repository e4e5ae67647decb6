//! Limits and patterns, as arguments: this room reads no configuration and no environment.

use crate::base::Patterns;
use std::path::PathBuf;

/// How roots are resolved and captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The person's home directory: refused as a root when it is no repository.
    pub home: Option<PathBuf>,
    /// `core.excludesFile` of the person's own git configuration (default `$XDG_CONFIG_HOME/git/ignore`).
    pub excludes_file: Option<PathBuf>,
    /// Names whose content is never kept.
    pub withheld: Patterns,
    /// Bytes of a file above which its content is not kept.
    pub keep_up_to: u64,
    /// Files that a directory without a repository may hold.
    pub plain_files: u64,
    /// Bytes of the private store above which content of new paths is not kept.
    pub store_cap: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            home: None,
            excludes_file: None,
            withheld: Patterns::default(),
            keep_up_to: 50 * 1024 * 1024,
            plain_files: 100_000,
            store_cap: None,
        }
    }
}
