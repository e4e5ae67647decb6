//! A change, named to whoever opens it elsewhere.

use crate::base::{HunkId, SessionKey};
use std::fmt;

/// What our links begin with.
const SCHEME: &str = "hunkgate://";

/// A session, and where one is meant a change of it: `hunkgate://SESSION/HUNK`. It holds no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    session: SessionKey,
    hunk: Option<HunkId>,
}

impl Link {
    /// Names a session, or a change of it.
    pub fn new(session: SessionKey, hunk: Option<HunkId>) -> Self {
        Self { session, hunk }
    }

    /// Reads a link; `None` where it is none of ours.
    pub fn read(text: &str) -> Option<Self> {
        let plain =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let named = text.strip_prefix(SCHEME)?;
        let (session, hunk) = named.split_once('/').unwrap_or((named, ""));
        let hunk = (!hunk.is_empty()).then_some(hunk);
        (plain(session) && hunk.is_none_or(plain))
            .then(|| Self { session: SessionKey::new(session), hunk: hunk.map(HunkId::new) })
    }

    /// Returns the session.
    pub fn session(&self) -> &SessionKey {
        &self.session
    }

    /// Returns the change, when one is meant.
    pub fn hunk(&self) -> Option<&HunkId> {
        self.hunk.as_ref()
    }

    /// Returns its address in a console, which is `http://HOST:PORT`.
    pub fn at(&self, console: &str) -> String {
        let hunk = self.hunk.as_ref().map(|hunk| format!("&hunk={hunk}")).unwrap_or_default();
        format!("{console}/?session={}{hunk}", self.session)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.session)?;
        self.hunk.as_ref().map_or(Ok(()), |hunk| write!(f, "/{hunk}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_as_it_was_written_and_nothing_else_is_one() {
        for hunk in [None, Some(HunkId::new("0a1b"))] {
            let link = Link::new(SessionKey::new("5e55"), hunk);
            assert_eq!(Link::read(&link.to_string()), Some(link));
        }
        assert_eq!(Link::read("hunkgate://5e55/"), Some(Link::new(SessionKey::new("5e55"), None)));
        for no in
            ["5e55", "http://5e55", "hunkgate://", "hunkgate:///0a", "hunkgate://5e55/../x", "hunkgate://a?b"]
        {
            assert_eq!(Link::read(no), None, "{no}");
        }
    }
}
