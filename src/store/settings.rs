//! Limits and patterns, as arguments: this room reads no configuration and no environment.

use crate::base::Patterns;
use std::path::PathBuf;

/// How roots are resolved and captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The person's home directory: refused as a root when it is no repository.
    pub home: Option<PathBuf>,
    /// The person's `$XDG_CONFIG_HOME`, or `~/.config`: where git keeps `git/config` and `git/ignore`.
    pub config_home: Option<PathBuf>,
    /// Names whose content is never kept.
    pub withheld: Patterns,
    /// Bytes of a file above which its content is not kept.
    pub keep_up_to: u64,
    /// Directories that are watched at most; zero walks everything each time.
    pub watch_up_to: usize,
    /// Files that a directory without a repository may hold.
    pub plain_files: u64,
    /// Bytes that they may hold together, those that are too big to keep aside.
    pub plain_bytes: u64,
    /// Bytes of the private store above which content of new paths is not kept.
    pub store_cap: Option<u64>,
}

impl Settings {
    /// Returns the person's git configuration files, strongest first.
    pub(crate) fn git_config_files(&self) -> Vec<PathBuf> {
        let own = self.home.iter().map(|home| home.join(".gitconfig"));
        let xdg = self.config_home.iter().map(|home| home.join("git/config"));
        let system = self.home.iter().map(|_| PathBuf::from("/etc/gitconfig"));
        own.chain(xdg).chain(system).collect()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            home: None,
            config_home: None,
            withheld: Patterns::default(),
            keep_up_to: 50 * 1024 * 1024,
            watch_up_to: usize::MAX,
            plain_files: 100_000,
            plain_bytes: 2 * 1024 * 1024 * 1024,
            store_cap: None,
        }
    }
}
