//! Which root and path a person means.

use crate::base::{RepoPath, RootId, SessionKey};
use crate::ledger::{Ledger, RootHeader, SessionLedger};
use bstr::ByteSlice as _;
use std::collections::BTreeSet;

/// What a path selector names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Located {
    /// The root.
    pub root: RootId,
    /// The file or directory beneath it; `None` for the root itself.
    pub path: Option<RepoPath>,
}

impl Located {
    /// Says whether `path` of `root` is what is named, or lies beneath it.
    pub fn holds(&self, root: &RootId, path: &RepoPath) -> bool {
        *root == self.root && self.path.as_ref().is_none_or(|named| path == named || path.is_beneath(named))
    }
}

/// Why a path selector names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// It lies beneath no root of the session.
    #[error("the path `{0}` lies outside every root of the session")]
    Outside(String),
    /// Several roots hold such a path.
    #[error("the path `{path}` is ambiguous: it stands in {}", .roots.join(" and "))]
    Ambiguous {
        /// What was asked for.
        path: String,
        /// The roots.
        roots: Vec<String>,
    },
}

/// Finds what `text` names: an absolute path, or one relative to the session's `cwd` or to a root.
///
/// A relative path is first looked for among what the chains know; where they know it in several roots it is ambiguous.
pub fn locate(ledger: &Ledger, session: &SessionKey, text: &str) -> Result<Located, LocateError> {
    let own = ledger.session(session);
    let roots: Vec<(RootId, Vec<u8>)> = own
        .map(SessionLedger::roots)
        .unwrap_or_default()
        .into_iter()
        .map(|root| (root.clone(), top(ledger, &root)))
        .collect();
    if text.starts_with('/') {
        let path = normal(text.as_bytes());
        return deepest(&roots, &path).ok_or_else(|| LocateError::Outside(text.to_owned()));
    }
    let cwd = own.and_then(SessionLedger::header).map(|header| header.cwd.clone().into_bytes());
    let tops = cwd.iter().chain(roots.iter().map(|(_, top)| top));
    let candidates: Vec<Located> = tops
        .filter_map(|top| deepest(&roots, &normal(&[top.as_slice(), text.as_bytes()].join(&b'/'))))
        .collect();
    let known: BTreeSet<&Located> = candidates.iter().filter(|found| is_known(ledger, found)).collect();
    let among: BTreeSet<&Located> = match (known.is_empty(), candidates.first()) {
        (false, _) => known,
        (true, Some(first)) => BTreeSet::from([first]),
        (true, None) => BTreeSet::new(),
    };
    let mut among = among.into_iter();
    match (among.next(), among.next()) {
        (None, _) => Err(LocateError::Outside(text.to_owned())),
        (Some(only), None) => Ok(only.clone()),
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(among);
            let roots = all.map(|found| ledger.root_path(&found.root)).collect();
            Err(LocateError::Ambiguous { path: text.to_owned(), roots })
        }
    }
}

fn top(ledger: &Ledger, root: &RootId) -> Vec<u8> {
    let header = ledger.chain(root).and_then(|chain| chain.header());
    match header.map(|RootHeader { path, .. }| path) {
        Some(Some(path)) => [b"/", path.as_bytes()].concat(),
        Some(None) => b"/".to_vec(),
        None => ledger.root_path(root).into_bytes(),
    }
}

/// Resolves `.`, `..` and doubled slashes by name only.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    [b"/".as_slice(), &parts.join(&b'/')].concat()
}

fn deepest(roots: &[(RootId, Vec<u8>)], absolute: &[u8]) -> Option<Located> {
    let beneath = |(root, top): &(RootId, Vec<u8>)| {
        let rest = absolute.strip_prefix(top.as_slice())?;
        let rest = if top.ends_with(b"/") || rest.is_empty() { rest } else { rest.strip_prefix(b"/")? };
        let path = if rest.is_empty() { None } else { Some(RepoPath::new(rest).ok()?) };
        Some((top.len(), Located { root: root.clone(), path }))
    };
    roots.iter().filter_map(beneath).max_by_key(|(depth, _)| *depth).map(|(_, found)| found)
}

/// Says whether the chain names the path, or one beneath it.
fn is_known(ledger: &Ledger, found: &Located) -> bool {
    let Some(chain) = ledger.chain(&found.root) else { return false };
    let mut changes = chain.observations().iter().flat_map(|observation| &observation.changes);
    changes.any(|change| found.holds(&found.root, &change.path))
}
