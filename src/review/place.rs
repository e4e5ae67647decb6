//! From a path as a person writes it to a file of a session, changed or not.

use crate::base::{RepoPath, RootId, SessionKey};
use crate::diff::{Span, Text};
use crate::ledger::{
    Actor, Blobs, Channel, Comment, Content, FileState, Ledger, LineRange, locate, readable,
};
use crate::review::{Problem, ProblemKind};

/// Bytes of the commented lines that a comment keeps.
const LONGEST_EXCERPT: usize = 4 * 1024;

/// A file of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The root.
    pub(super) root: RootId,
    /// The path beneath it.
    pub(super) path: RepoPath,
    /// What stands there now; `None` when nothing does.
    pub(super) now: Option<FileState>,
}

/// Finds the one file of a session that a path means.
pub(super) fn place(
    ledger: &Ledger,
    session: &SessionKey,
    blobs: &dyn Blobs,
    asked: &str,
) -> Result<Place, Problem> {
    let problem = |text: String| Problem::new(ProblemKind::User, text);
    let located = locate(ledger, session, asked).map_err(|error| problem(error.to_string()))?;
    let path = located.path.ok_or_else(|| problem(format!("`{asked}` is a directory")))?;
    let now = now(ledger, blobs, &located.root, &path);
    Ok(Place { root: located.root, path, now })
}

/// Makes a comment on lines of a file. Its id and author are left to who journals it.
pub(super) fn comment(
    blobs: &dyn Blobs,
    place: Place,
    lines: (u32, Option<u32>),
    body: &str,
) -> Result<Comment, Problem> {
    let (start, end) = (lines.0, lines.1.unwrap_or(lines.0));
    if start == 0 || end < start {
        return Err(Problem::new(ProblemKind::User, format!("`{start}-{end}` is no range of lines"))
            .hint("lines are counted from 1"));
    }
    if body.trim().is_empty() {
        return Err(Problem::new(ProblemKind::User, "the comment says nothing"));
    }
    let state = place
        .now
        .ok_or_else(|| Problem::new(ProblemKind::User, format!("there is no file `{}`", place.path)))?;
    let (lines, excerpt) = excerpt(blobs, state, LineRange { start, end: end.saturating_add(1) })?;
    Ok(Comment {
        id: crate::base::CommentId::new(""),
        root: place.root,
        path: place.path,
        lines,
        anchor: Some(state),
        excerpt,
        body: body.trim().to_owned(),
        author: Actor::person(Channel::None),
    })
}

/// Reads the commented lines, as many of them as there are.
fn excerpt(blobs: &dyn Blobs, state: FileState, lines: LineRange) -> Result<(LineRange, String), Problem> {
    let Some(bytes) = blobs.bytes(state.blob).filter(|_| state.content != Content::Withheld) else {
        return Ok((lines, String::new()));
    };
    let text = Text::new(bytes);
    let last = text.len().max(1);
    if lines.start > last {
        return Err(Problem::new(
            ProblemKind::User,
            format!("the file has {} only", crate::review::counted(text.len() as usize, "line")),
        ));
    }
    let lines = LineRange { start: lines.start, end: lines.end.min(last + 1) };
    let mut excerpt = readable(text.slice(Span { start: lines.start, end: lines.end }));
    let mut length = LONGEST_EXCERPT.min(excerpt.len());
    while !excerpt.is_char_boundary(length) {
        length -= 1;
    }
    excerpt.truncate(length);
    Ok((lines, excerpt))
}

/// Returns what stands at a path, changed or not.
fn now(ledger: &Ledger, blobs: &dyn Blobs, root: &RootId, path: &RepoPath) -> Option<FileState> {
    let chain = ledger.chain(root)?;
    chain.latest(path).unwrap_or_else(|| chain.last().and_then(|last| blobs.entry(last.tree, path)))
}

/// Says that nothing is known of a session.
pub(super) fn unknown_session() -> Problem {
    Problem::new(ProblemKind::User, "no such session is recorded")
        .hint("`hunkgate sessions` lists what there is")
}
