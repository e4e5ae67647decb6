//! Where a command works and what a path in it means. The file system is asked through [`Ground`].

use crate::base::Patterns;
use std::fmt;

/// The file system, as far as a judgement needs it.
pub trait Ground: fmt::Debug {
    /// Returns the real path of an absolute one: links and `..` resolved as far as it exists, the rest as written.
    fn real(&self, absolute: &str) -> Option<String>;

    /// Returns a digest of what a file holds, `absent`, or `unknown`.
    fn content(&self, _absolute: &str) -> String {
        "unknown".to_owned()
    }
}

/// A ground without links, for texts alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flat;

impl Ground for Flat {
    fn real(&self, absolute: &str) -> Option<String> {
        Some(normal(absolute))
    }
}

/// What is known where a command would run.
#[derive(Clone, Debug)]
pub struct Context<'g> {
    /// The file system.
    pub ground: &'g dyn Ground,
    /// The working directory, absolute; empty when it is not known.
    pub cwd: String,
    /// The roots, absolute and real.
    pub roots: Vec<String>,
    /// The person's home, absolute.
    pub home: Option<String>,
    /// Our own directories and files: state, configuration.
    pub ours: Vec<String>,
    /// File names that hold secrets.
    pub secrets: Patterns,
    /// Whether git commands that only read may be allowed.
    pub git_reads: bool,
}

impl<'g> Context<'g> {
    /// Returns a context of one root, in which the command works.
    pub fn at(root: &str, ground: &'g dyn Ground) -> Self {
        Self {
            ground,
            cwd: root.to_owned(),
            roots: vec![root.to_owned()],
            home: None,
            ours: Vec::new(),
            secrets: Patterns::default(),
            git_reads: true,
        }
    }

    /// Returns what a path means in a directory: as written, and where it really leads.
    pub fn locate(&self, directory: &str, path: &str) -> Located {
        let absolute = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
        let known = absolute.starts_with('/') && !absolute.contains('\0');
        let real = if known { self.ground.real(&absolute) } else { None };
        let asked = normal(&absolute);
        let class = match &real {
            Some(real) => self.class(&asked, real),
            None => self.class(&asked, &asked).max(Class::Outside),
        };
        Located { asked, real, class }
    }

    fn class(&self, asked: &str, real: &str) -> Class {
        let both = [asked, real];
        if both.iter().any(|path| self.ours.iter().any(|ours| is_within(path, ours))) {
            Class::Ours
        } else if both.iter().any(|path| self.is_secret(path)) {
            Class::Secret
        } else if !self.roots.iter().any(|root| is_within(real, root)) {
            Class::Outside
        } else if both.iter().any(|path| self.is_control(path)) {
            Class::Control
        } else {
            Class::Inside
        }
    }

    /// Says whether a file of this path holds secrets.
    pub fn is_secret(&self, path: &str) -> bool {
        const DIRECTORIES: &[&str] = &[
            "/.ssh",
            "/.gnupg",
            "/.aws",
            "/.azure",
            "/.kube",
            "/.docker",
            "/.config/gh",
            "/.config/gcloud",
            "/.password-store",
            "/Library/Keychains",
            "/.mozilla",
            "/.config/google-chrome",
        ];
        const FILES: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/sudoers"];
        const NAMES: &[&str] =
            &[".git-credentials", ".pgpass", ".my.cnf", ".vault-token", "id_ecdsa", "id_dsa", ".htpasswd"];
        let name = path.rsplit('/').next().unwrap_or(path);
        let public = has_extension(name, "pub");
        (self.secrets.hides_name(name.as_bytes()) && !public)
            || NAMES.contains(&name)
            || FILES.contains(&path)
            || (path.starts_with("/proc/") && matches!(name, "environ" | "mem"))
            || DIRECTORIES.iter().any(|directory| {
                let rest = path.split_once(directory).map(|(_, rest)| rest);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) && !public
            })
    }

    /// Says whether what lies there decides how programs behave: git's own files, hooks, configuration of editors and agents.
    pub fn is_control(&self, path: &str) -> bool {
        const DIRECTORIES: &[&str] = &[
            ".git",
            ".hg",
            ".svn",
            ".husky",
            ".githooks",
            ".vscode",
            ".idea",
            ".zed",
            ".fleet",
            ".claude",
            ".codex",
            ".gemini",
            ".opencode",
            ".cursor",
            ".windsurf",
            ".devcontainer",
            ".direnv",
        ];
        const FILES: &[&str] = &[
            ".hunkgate.toml",
            ".mcp.json",
            "opencode.json",
            "opencode.jsonc",
            ".envrc",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".vimrc",
            ".dir-locals.el",
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".gitconfig",
            ".gitmodules",
            ".pre-commit-config.yaml",
            ".lefthook.yml",
            "lefthook.yml",
        ];
        path.split('/').any(|component| DIRECTORIES.iter().any(|it| it.eq_ignore_ascii_case(component)))
            || path
                .rsplit('/')
                .next()
                .is_some_and(|name| FILES.iter().any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Returns the directories whose loss is the loss of everything: the top, the home, the roots, and what holds them.
    pub(crate) fn precious(&self) -> Vec<String> {
        const TOPS: &[&str] = &[
            "/",
            "/bin",
            "/boot",
            "/dev",
            "/etc",
            "/home",
            "/lib",
            "/lib64",
            "/opt",
            "/proc",
            "/root",
            "/sbin",
            "/srv",
            "/sys",
            "/usr",
            "/var",
            "/System",
            "/Library",
            "/Users",
            "/Applications",
            "/private",
            "/Volumes",
        ];
        let mut all: Vec<String> = TOPS.iter().map(|top| (*top).to_owned()).collect();
        let held = self.roots.iter().chain(self.home.as_ref());
        for path in held {
            let mut path = normal(path);
            while path.len() > 1 {
                all.push(path.clone());
                path.truncate(path.rfind('/').unwrap_or(0));
            }
        }
        all.extend(self.roots.iter().map(|root| format!("{root}/.git")));
        all.sort();
        all.dedup();
        all
    }
}

/// A path in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Absolute, `.` and `..` taken out by the letter.
    pub asked: String,
    /// Where it really leads; `None` when that cannot be told.
    pub real: Option<String>,
    /// What kind of place it is.
    pub class: Class,
}

/// What kind of place a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Beneath a root.
    Inside,
    /// Beneath a root, and decides how programs behave.
    Control,
    /// Beneath no root, or not to be told.
    Outside,
    /// Holds a secret.
    Secret,
    /// Our own state or configuration.
    Ours,
}

/// Takes `.`, `..` and doubled slashes out of an absolute path, by the letter.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Says whether `path` is `top` or lies beneath it; both absolute and normal.
pub fn is_within(path: &str, top: &str) -> bool {
    let top = top.trim_end_matches('/');
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, found)| !stem.is_empty() && found == extension)
}
