//! What went wrong, with the operation and the path.

use std::fmt;
use std::path::{Path, PathBuf};

/// A failure of the world: which operation, on which path, and why.
#[derive(Debug)]
pub struct StoreError {
    operation: &'static str,
    path: PathBuf,
    cause: Cause,
}

/// Why an operation failed.
#[derive(Debug)]
pub enum Cause {
    /// The operating system said so.
    Io(std::io::Error),
    /// The object library said so.
    Git(String),
    /// We say so.
    Said(String),
}

impl StoreError {
    /// Reports an error of the operating system.
    pub fn io(operation: &'static str, path: impl AsRef<Path>, cause: impl Into<std::io::Error>) -> Self {
        Self { operation, path: path.as_ref().to_owned(), cause: Cause::Io(cause.into()) }
    }

    /// Reports an error of our own finding.
    pub fn said(operation: &'static str, path: impl AsRef<Path>, why: impl Into<String>) -> Self {
        Self { operation, path: path.as_ref().to_owned(), cause: Cause::Said(why.into()) }
    }

    /// Reports an error of the object library.
    pub(crate) fn git(operation: &'static str, path: impl AsRef<Path>, why: impl fmt::Display) -> Self {
        Self { operation, path: path.as_ref().to_owned(), cause: Cause::Git(why.to_string()) }
    }

    /// Returns why it failed.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Returns what it failed on.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says whether the disk or the quota is full.
    pub fn is_full(&self) -> bool {
        match &self.cause {
            Cause::Io(error) => {
                matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            Cause::Git(_) | Cause::Said(_) => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.operation, self.path.display())?;
        match &self.cause {
            Cause::Io(error) => error.fmt(f),
            Cause::Git(text) | Cause::Said(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Git(_) | Cause::Said(_) => None,
        }
    }
}
