//! A scratch repository with its own state directory.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the scratch repository.
const FILES: &[(&str, &str)] = &[
    (
        "src/greet.py",
        "\"\"\"Greets people.\"\"\"\n\n\ndef greet(name):\n    return \"hi \" + name\n\n\n# Shwo it.\nif __name__ == \"__main__\":\n    print(greet(\"you\"))\n",
    ),
    ("CHANGES.md", "# Changes\n\n- first version\n"),
    // An empty repository, as git itself would make one: nothing here needs git to be installed.
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
    (".git/objects/info/.keep", ""),
    (".git/refs/heads/.keep", ""),
];

/// The scratch directory; it is removed with this value unless it is to be kept.
pub(super) struct Scene {
    top: PathBuf,
    keep: bool,
}

impl Scene {
    /// Makes the repository in a new directory beneath the one for temporary files.
    pub(super) fn set(keep: bool) -> Result<Self> {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("cannot draw random bytes: {error}"))?;
        let name = format!("hunkgate-demo-{:08x}", u32::from_le_bytes(bytes));
        let temporary = std::env::temp_dir();
        let top = temporary.canonicalize().unwrap_or(temporary).join(name);
        fs::create_dir(&top).with_context(|| format!("cannot make {}", top.display()))?;
        let scene = Self { top, keep };
        for (path, text) in FILES {
            let full = scene.repository().join(path);
            fs::create_dir_all(full.parent().unwrap_or(&full))?;
            fs::write(&full, text).with_context(|| format!("cannot write {path}"))?;
        }
        Ok(scene)
    }

    /// Returns the scratch directory.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// Returns the repository.
    pub(super) fn repository(&self) -> PathBuf {
        self.top.join("repository")
    }

    /// Returns the state directory.
    pub(super) fn state(&self) -> PathBuf {
        self.top.join("state")
    }

    /// Reads a file of the repository.
    pub(super) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.repository().join(path)).with_context(|| format!("cannot read {path}"))
    }

    /// Replaces text in a file of the repository, as a person in an editor would.
    pub(super) fn replace(&self, path: &str, old: &str, new: &str) -> Result<()> {
        let text = self.read(path)?.replacen(old, new, 1);
        fs::write(self.repository().join(path), text).with_context(|| format!("cannot write {path}"))
    }

    /// Lists everything in the repository's `.git`, with lengths: what must not change.
    pub(super) fn git(&self) -> Result<Vec<(PathBuf, u64)>> {
        let mut found = Vec::new();
        let mut open = vec![self.repository().join(".git")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let meta = entry.metadata()?;
                if meta.is_dir() {
                    open.push(entry.path());
                }
                found.push((entry.path(), if meta.is_dir() { 0 } else { meta.len() }));
            }
        }
        found.sort();
        Ok(found)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed from the directory for temporary files is left to whoever sweeps it.
            let _ = fs::remove_dir_all(&self.top);
        }
    }
}
