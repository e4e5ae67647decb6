//! Who wrote each line of a file as it stands.

use crate::base::{RepoPath, RootId, SessionKey};
use crate::ledger::content::Body;
use crate::ledger::listing::row;
use crate::ledger::study::{Answer, Study, Subject};
use crate::ledger::{BlameLine, Blobs, Cache, CallKey, CallRow, Credit, FileState, Kin, Ledger, Side};
use std::collections::BTreeMap;

/// Tells who wrote each line of `path` as it stands; nothing for what is no text or not there.
///
/// Consistent with the listing: a line that is unchanged from the session's base has no credit.
pub fn blame(
    (ledger, session): (&Ledger, &SessionKey),
    (root, path): (&RootId, &RepoPath),
    blobs: &dyn Blobs,
    cache: &mut Cache,
) -> Vec<BlameLine> {
    let kin = Kin::of(ledger);
    let family = kin.family(session);
    let subject = Subject { ledger, session, family: &family, kin: &kin, blobs };
    let study = cache.study(&subject, root);
    let answer = study.as_ref().and_then(|study| study.answers.get(path));
    let current = match answer {
        Some(answer) => answer.history.current,
        None => unchanged(&subject, root, path),
    };
    let Body::Text(text) = Body::of(current.as_ref(), blobs) else { return Vec::new() };
    let authors = answer.map(|answer| authors(answer)).unwrap_or_default();
    let rows = |credit: &Credit| -> Vec<CallRow> {
        let describe =
            |study: &Study<'_>| credit.calls.iter().map(|key: &CallKey| row(ledger, study, key)).collect();
        study.as_ref().map(describe).unwrap_or_default()
    };
    (1..)
        .zip(text.lines())
        .map(|(line, bytes)| {
            let credit = authors.get(&line).map(|credit| (*credit).clone());
            let calls = credit.as_ref().map(rows).unwrap_or_default();
            BlameLine { line, text: bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec(), credit, calls }
        })
        .collect()
}

/// Returns what stands at a path that did not change since the base.
fn unchanged(subject: &Subject<'_>, root: &RootId, path: &RepoPath) -> Option<FileState> {
    let chain = subject.ledger.chain(root)?;
    let tree = chain.last()?.tree;
    chain.latest(path).unwrap_or_else(|| subject.blobs.entry(tree, path))
}

fn authors(answer: &Answer) -> BTreeMap<u32, &Credit> {
    let runs = answer.drafts.iter().flat_map(|draft| &draft.hunk.author_lines);
    let after = runs.filter(|run| run.side == Side::After);
    after.flat_map(|run| (run.lines.start..run.lines.end).map(move |line| (line, &run.credit))).collect()
}
