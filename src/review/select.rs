//! Which items of a listing a selector means.

use crate::base::{RepoPath, RootId, SessionKey};
use crate::ledger::{
    Blobs, Grade, Hunk, Ledger, Listing, Located, ReviewState, SessionLedger, locate, path_text,
};
use crate::review::{Problem, ProblemKind, Selector};

/// What a selector means in one listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Selection<'a> {
    /// The items to act on.
    pub(super) chosen: Vec<&'a Hunk>,
    /// Items it covers and leaves alone, with the reason.
    pub(super) left: Vec<(&'a Hunk, String)>,
}

/// Resolves a selector. Ids act on what they name; the others on what is unreviewed and can be decided.
pub(super) fn select<'a>(scope: Scope<'a>, selector: &Selector) -> Result<Selection<'a>, Problem> {
    match selector {
        Selector::Ids(ids) => by_ids(scope.listing, ids),
        Selector::Rejected => {
            Err(Problem::new(ProblemKind::User, "what was rejected is gone from the files")
                .hint("`undo` puts the last of it back"))
        }
        Selector::File(_) | Selector::Call(_) | Selector::Turn(_) | Selector::All => {
            let mut selection = Selection::default();
            for hunk in covered(scope, selector)? {
                match left_alone(hunk) {
                    Some(reason) => selection.left.push((hunk, reason)),
                    None => selection.chosen.push(hunk),
                }
            }
            Ok(selection)
        }
    }
}

/// Resolves a selector to everything it covers, whatever its state.
pub(super) fn covered<'a>(scope: Scope<'a>, selector: &Selector) -> Result<Vec<&'a Hunk>, Problem> {
    let hunks = scope.listing.hunks.iter();
    match selector {
        Selector::Ids(ids) => by_ids(scope.listing, ids).map(|selection| selection.chosen),
        Selector::File(path) => by_path(scope, path),
        Selector::Call(id) => {
            let call = call_named(scope.listing, id)?;
            Ok(hunks.filter(|hunk| carries(hunk, &call)).collect())
        }
        Selector::Turn(turn) if !has_turn(scope, *turn) => Err(no_such_turn(scope, *turn)),
        Selector::Turn(turn) => Ok(hunks.filter(|hunk| is_of_turn(scope.listing, hunk, *turn)).collect()),
        Selector::All => Ok(hunks.collect()),
        Selector::Rejected => Ok(scope.listing.rejected.iter().collect()),
    }
}

/// Finds the one hunk with this id or unique prefix, also one that is rejected and gone.
pub(super) fn hunk_named<'a>(listing: &'a Listing, id: &str) -> Result<&'a Hunk, Problem> {
    named(listing.hunks.iter().chain(&listing.rejected), id)
}

fn named<'a>(hunks: impl Iterator<Item = &'a Hunk>, id: &str) -> Result<&'a Hunk, Problem> {
    let prefix = id.trim().to_ascii_lowercase();
    let named: Vec<&Hunk> = match prefix.as_str() {
        "" => Vec::new(),
        prefix => hunks.filter(|hunk| hunk.id.as_str().starts_with(prefix)).collect(),
    };
    match named.as_slice() {
        [one] => Ok(one),
        [] if prefix.len() >= 32 => {
            Err(Problem::new(ProblemKind::Conflict, format!("the hunk `{prefix}` is no longer there"))
                .hint("it changed since it was listed; `hunkgate hunks` lists what there is"))
        }
        [] => Err(Problem::new(ProblemKind::User, format!("no hunk has an id that begins with `{prefix}`"))
            .hint("`hunkgate hunks` lists what there is")),
        several => Err(ambiguous("hunk id", &prefix, several.iter().map(|hunk| described(hunk)))),
    }
}

/// Where selectors are resolved: a listing and what it was made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    /// All that is known.
    pub(super) ledger: &'a Ledger,
    /// The session.
    pub(super) session: &'a SessionKey,
    /// Its listing.
    pub(super) listing: &'a Listing,
}

/// What a path means: a place beneath a root, or the text of a path that is escaped because it is not UTF-8.
#[derive(Clone, Debug)]
pub(super) struct Beneath {
    place: Located,
    text: String,
}

impl Beneath {
    /// Reads a path as a person writes it.
    pub(super) fn new(ledger: &Ledger, session: &SessionKey, text: &str) -> Result<Self, Problem> {
        let place = locate(ledger, session, text)
            .map_err(|error| Problem::new(ProblemKind::User, error.to_string()))?;
        Ok(Self { place, text: text.to_owned() })
    }

    /// Says whether `path` of `root` is what is meant, or lies beneath it.
    pub(super) fn holds(&self, root: &RootId, path: &RepoPath) -> bool {
        self.place.holds(root, path) || (!path.is_utf8() && path.to_string() == self.text)
    }

    /// Says whether there is such a path: it stands in the last look, or something at it or beneath it changed before.
    pub(super) fn is_known(&self, ledger: &Ledger, blobs: &dyn Blobs) -> bool {
        let Some(path) = &self.place.path else { return true };
        let Some(chain) = ledger.chain(&self.place.root) else { return false };
        let mut changes = chain.observations().iter().flat_map(|look| &look.changes);
        chain.last().is_some_and(|last| blobs.holds(last.tree, path))
            || changes.any(|change| self.place.holds(&self.place.root, &change.path))
    }

    /// Says whether a hunk's path, or where it was renamed from, is what is meant.
    pub(super) fn holds_hunk(&self, hunk: &Hunk) -> bool {
        self.holds(&hunk.root, &hunk.path)
            || hunk.old_path.as_ref().is_some_and(|old| self.holds(&hunk.root, old))
    }
}

fn by_ids<'a>(listing: &'a Listing, ids: &[String]) -> Result<Selection<'a>, Problem> {
    let mut selection = Selection::default();
    for id in ids {
        let hunk = match named(listing.hunks.iter(), id) {
            Err(_) if hunk_named(listing, id).is_ok() => hunk_named(listing, id)?,
            named => named?,
        };
        if hunk.state == ReviewState::Rejected {
            selection.left.push((hunk, "already rejected".to_owned()));
        } else if !selection.chosen.iter().any(|chosen| chosen.id == hunk.id) {
            selection.chosen.push(hunk);
        }
    }
    Ok(selection)
}

fn by_path<'a>(scope: Scope<'a>, asked: &str) -> Result<Vec<&'a Hunk>, Problem> {
    let beneath = Beneath::new(scope.ledger, scope.session, asked)?;
    let found: Vec<&Hunk> = scope.listing.hunks.iter().filter(|hunk| beneath.holds_hunk(hunk)).collect();
    match found.is_empty() {
        true => Err(Problem::new(ProblemKind::User, format!("nothing is changed at `{asked}`"))),
        false => Ok(found),
    }
}

fn call_named(listing: &Listing, id: &str) -> Result<String, Problem> {
    let mut known: Vec<&str> = listing
        .hunks
        .iter()
        .flat_map(|hunk| hunk.calls.iter().chain(&hunk.candidates))
        .chain(&listing.superseded)
        .map(|row| row.tool_call_id.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    if known.contains(&id) {
        return Ok(id.to_owned());
    }
    let named: Vec<&str> =
        known.into_iter().filter(|known| !id.is_empty() && known.starts_with(id)).collect();
    match named.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Problem::new(ProblemKind::User, format!("no change carries the call `{id}`"))),
        several => Err(ambiguous("call", id, several.iter().map(|call| (*call).to_owned()))),
    }
}

fn carries(hunk: &Hunk, call: &str) -> bool {
    hunk.calls.iter().any(|row| row.tool_call_id.as_str() == call)
}

fn has_turn(scope: Scope<'_>, turn: u32) -> bool {
    let turns = scope.ledger.session(scope.session).map(SessionLedger::turns).unwrap_or_default();
    turns.iter().any(|row| row.turn.0 == turn)
}

fn no_such_turn(scope: Scope<'_>, turn: u32) -> Problem {
    let turns = scope.ledger.session(scope.session).map(SessionLedger::turns).unwrap_or_default();
    let hint = match turns.iter().map(|row| row.turn.0).max() {
        None => "the session has had no turn yet".to_owned(),
        Some(last) => format!("its last turn is {last}"),
    };
    Problem::new(ProblemKind::User, format!("the session has no turn {turn}")).hint(hint)
}

/// Says whether a hunk is of a turn: by the calls of the session itself, else by the turn it fell into.
fn is_of_turn(listing: &Listing, hunk: &Hunk, turn: u32) -> bool {
    let mut own = hunk.calls.iter().filter(|row| row.session_id.as_str() == listing.session_id).peekable();
    match own.peek() {
        None => hunk.turn.is_some_and(|known| known.0 == turn),
        Some(_) => own.any(|row| row.turn.is_some_and(|known| known.0 == turn)),
    }
}

/// Says why a bulk selector leaves a hunk alone.
fn left_alone(hunk: &Hunk) -> Option<String> {
    match hunk.state {
        ReviewState::Accepted => return Some("already accepted".to_owned()),
        ReviewState::Rejected => return Some("already rejected".to_owned()),
        ReviewState::Unreviewed => {}
    }
    if !hunk.calls.is_empty() {
        return None;
    }
    match (&hunk.locked, hunk.grade) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Grade::External) => Some("external: no call of this session wrote it".to_owned()),
        (None, Grade::BaseUnknown) => Some("its base was read too late to know".to_owned()),
        (None, _) => None,
    }
}

fn described(hunk: &Hunk) -> String {
    let id = hunk.id.as_str();
    format!("{} ({}:{})", id.get(..12).unwrap_or(id), path_text(&hunk.path), hunk.current_range.start)
}

fn ambiguous(what: &str, asked: &str, candidates: impl Iterator<Item = String>) -> Problem {
    let candidates: Vec<String> = candidates.take(8).collect();
    Problem::new(ProblemKind::User, format!("the {what} `{asked}` is ambiguous: {}", candidates.join(", ")))
        .hint("write more of it")
}
