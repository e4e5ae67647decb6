//! Ignore rules as git has them: a chain of pattern files, the deepest first, the last match of the first that matches.

use crate::store::objects::{UserRepository, config_value};
use crate::store::{Root, Settings};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the rules say of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Ignored,
    Observed,
}

/// The rules in force in one directory: its own pattern files before those of its parents.
#[derive(Clone, Debug)]
pub(crate) struct Ignores {
    link: Option<Arc<Link>>,
    digest: [u8; 8],
    fold_case: bool,
}

#[derive(Debug)]
struct Link {
    /// Bytes of the path of the directory whose patterns these are, with its slash; zero at the top.
    strip: usize,
    patterns: Gitignore,
    next: Option<Arc<Link>>,
}

impl Ignores {
    /// No rules. `fold_case` is `core.ignoreCase`.
    pub(crate) fn none(fold_case: bool) -> Self {
        Self { link: None, digest: [0; 8], fold_case }
    }

    /// Adds the patterns of a file that governs the directory `at` (its path beneath the root; empty at the top).
    #[must_use]
    pub(crate) fn with(&self, at: &[u8], text: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.digest).update(&(at.len() as u64).to_le_bytes()).update(at).update(text);
        let mut digest = [0; 8];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        let strip = if at.is_empty() { 0 } else { at.len() + 1 };
        let link = match compile(text, self.fold_case) {
            Some(patterns) => Some(Arc::new(Link { strip, patterns, next: self.link.clone() })),
            None => self.link.clone(),
        };
        Self { link, digest, fold_case: self.fold_case }
    }

    /// Says what the rules make of a path beneath the root; `path` lies in a directory that is not ignored.
    pub(crate) fn judge(&self, path: &[u8], is_directory: bool) -> Rule {
        let mut link = self.link.as_deref();
        while let Some(here) = link {
            let relative = Path::new(OsStr::from_bytes(path.get(here.strip..).unwrap_or(path)));
            let found = here.patterns.matched(relative, is_directory);
            if found.is_ignore() {
                return Rule::Ignored;
            }
            if found.is_whitelist() {
                return Rule::Observed;
            }
            link = here.next.as_deref();
        }
        Rule::Observed
    }

    /// Returns a digest of all rules in force: two equal digests decide alike.
    pub(crate) fn digest(&self) -> [u8; 8] {
        self.digest
    }
}

fn compile(text: &[u8], fold_case: bool) -> Option<Gitignore> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut builder = GitignoreBuilder::new("");
    drop(builder.case_insensitive(fold_case));
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A pattern that cannot be read ignores nothing, as in git.
        drop(builder.add_line(None, &String::from_utf8_lossy(line)));
    }
    builder.build().ok().filter(|patterns| !patterns.is_empty())
}

/// Returns the rules that stand outside the worktree: the person's own, then the repository's.
pub(crate) fn outside_rules(user: Option<&UserRepository>, root: &Root, settings: &Settings) -> Ignores {
    let fold_case = user.is_some_and(|user| user.config_bool("core.ignorecase"));
    let mut rules = Ignores::none(fold_case);
    if let Some(text) = excludes_file(user, settings).and_then(|file| std::fs::read(file).ok()) {
        rules = rules.with(b"", &text);
    }
    let info = match user {
        Some(user) => user.common_dir().join("info/exclude"),
        None => root.top.join(".git/info/exclude"),
    };
    match std::fs::read(info) {
        Ok(text) => rules.with(b"", &text),
        Err(_) => rules,
    }
}

fn excludes_file(user: Option<&UserRepository>, settings: &Settings) -> Option<PathBuf> {
    let key = "core.excludesfile";
    let named = user
        .and_then(|user| user.config(key))
        .or_else(|| settings.git_config_files().iter().find_map(|file| config_value(file, key)));
    match (named, &settings.home) {
        (Some(named), Some(home)) => Some(match named.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(named),
        }),
        (Some(named), None) => Some(PathBuf::from(named)),
        (None, _) => settings.config_home.as_ref().map(|dir| dir.join("git/ignore")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_file_that_speaks_decides() {
        let top = Ignores::none(false).with(b"", b"*.log\n/build/\n!keep.log\n");
        let sub = top.with(b"sub", b"!*.log\nonly\n");
        assert_eq!(top.judge(b"a.log", false), Rule::Ignored);
        assert_eq!(top.judge(b"keep.log", false), Rule::Observed);
        assert_eq!(top.judge(b"build", true), Rule::Ignored);
        assert_eq!(top.judge(b"build", false), Rule::Observed);
        assert_eq!(top.judge(b"x/build", true), Rule::Observed);
        assert_eq!(sub.judge(b"sub/a.log", false), Rule::Observed);
        assert_eq!(sub.judge(b"sub/only", false), Rule::Ignored);
        assert_ne!(top.digest(), sub.digest());
    }
}
