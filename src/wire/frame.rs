//! One line, byte for byte, beside a borrowed look at its head.

use std::fmt;
use std::sync::Arc;

/// A JSON-RPC id as its raw JSON token: `1`, `"1"` and `1.0` are three ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdToken(Arc<str>);

impl IdToken {
    /// Wraps the token's text.
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// Returns the token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
