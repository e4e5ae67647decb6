//! From views to their documented JSON (ledger.md §10).

use crate::base::{AgentId, RepoPath, SessionId, SessionKey, base64_encode};
use crate::ledger::folded::is_folded;
use crate::ledger::{
    Actor, AuthorLines, AuthorLinesShape, BlameLine, BlameLineShape, BlameShape, CallKey, CallRefShape,
    CallRow, Channel, CommentRow, CommentShape, CommentView, DecidedShape, DegradedShape, Entry, EntryShape,
    EvidenceShape, GateShape, Grade, Hunk, HunkShape, IntegrityShape, Ledger, LineRange, Listing,
    ListingShape, Loss, LostShape, Member, RangeShape, RootRow, Skip, SkipShape, StatusShape,
    SupersededShape, Who,
};
use bstr::ByteSlice as _;
use std::collections::BTreeSet;

impl ListingShape {
    /// Shapes a listing. Gate and policy are left to who knows them.
    pub fn from_listing(listing: &Listing, ledger: &Ledger) -> Self {
        Self {
            session_id: listing.session_id.clone(),
            hunks: listing.hunks.iter().map(|hunk| HunkShape::from_hunk(hunk, ledger)).collect(),
            superseded: listing.superseded.iter().map(SupersededShape::from_row).collect(),
            comments: listing.comments.iter().map(|view| CommentShape::from_view(view, ledger)).collect(),
            degraded: listing.degraded.iter().map(DegradedShape::from_row).collect(),
            integrity: IntegrityShape::from_skips(&listing.skips, ledger),
            ..Self::default()
        }
    }
}

impl IntegrityShape {
    /// Shapes what replay had to skip.
    pub fn from_skips(skips: &[Skip], ledger: &Ledger) -> Self {
        let lost = |kind: &str, root| LostShape { kind: kind.to_owned(), root };
        let shape = |skip: &Skip| SkipShape {
            record: match &skip.loss {
                Loss::Session => lost("session", None),
                Loss::Root(root) => lost("root", Some(ledger.root_path(root))),
                Loss::Informational => lost("informational", None),
            },
            line: skip.line,
            reason: skip.reason.clone(),
        };
        Self { skips: skips.iter().map(shape).collect() }
    }
}

impl HunkShape {
    /// Shapes one hunk or entry.
    pub fn from_hunk(hunk: &Hunk, ledger: &Ledger) -> Self {
        let (before, after) = (&hunk.before, &hunk.after);
        let exact = before.to_str().is_ok() && after.to_str().is_ok();
        let content = |bytes: &[u8]| if exact { lossy(bytes) } else { base64_encode(bytes) };
        let display = |bytes: &[u8]| (!exact).then(|| readable(bytes));
        Self {
            id: hunk.id.clone(),
            root: hunk.root_path.clone(),
            path: path_text(&hunk.path),
            path_bytes: (!hunk.path.is_utf8()).then(|| base64_encode(hunk.path.as_bytes())),
            base_range: hunk.base_range.into(),
            current_range: hunk.current_range.into(),
            before_content: content(before),
            after_content: content(after),
            encoding: (!exact).then(|| "base64".to_owned()),
            display_before: display(before),
            display_after: display(after),
            tool_call_ids: distinct(hunk.calls.iter().map(|row| row.tool_call_id.clone())),
            state: hunk.state,
            reapplied: hunk.reapplied,
            returned: hunk.returned,
            digest: hunk.digest.clone(),
            entry: EntryShape::from_entry(&hunk.entry),
            evidence: EvidenceShape::from_hunk(hunk),
            mixed: hunk.mixed,
            folded: is_folded(&hunk.path),
            author_lines: hunk
                .author_lines
                .iter()
                .map(|run| AuthorLinesShape::from_run(run, ledger))
                .collect(),
            calls: hunk.calls.clone(),
            approved_differs: hunk.approved_differs.clone(),
            reject_pending: hunk.reject_pending,
            locked: hunk.locked.clone(),
        }
    }
}

impl EvidenceShape {
    fn from_hunk(hunk: &Hunk) -> Self {
        Self {
            grade: hunk.grade,
            grades: hunk.grades.clone(),
            candidates: hunk.candidates.clone(),
            turn: hunk.turn,
            sessions: hunk.sessions.clone(),
            vcs: hunk.vcs,
        }
    }
}

impl EntryShape {
    fn from_entry(entry: &Entry) -> Self {
        let mut shape = Self {
            kind: entry.kind().to_owned(),
            old_path: None,
            old_mode: None,
            new_mode: None,
            old_target: None,
            new_target: None,
        };
        match entry {
            Entry::Mode { old_mode, new_mode } | Entry::Type { old_mode, new_mode } => {
                shape.old_mode = Some(old_mode.clone());
                shape.new_mode = Some(new_mode.clone());
            }
            Entry::Symlink { old_target, new_target } => {
                shape.old_target.clone_from(old_target);
                shape.new_target.clone_from(new_target);
            }
            Entry::Rename { old_path } => shape.old_path = Some(path_text(old_path)),
            Entry::Text
            | Entry::Binary
            | Entry::Empty
            | Entry::Eol
            | Entry::Summary { .. }
            | Entry::Outside => {}
        }
        shape
    }
}

impl AuthorLinesShape {
    fn from_run(run: &AuthorLines, ledger: &Ledger) -> Self {
        Self {
            side: run.side,
            start: run.lines.start,
            end: run.lines.end,
            calls: run.credit.calls.iter().map(|call| CallRefShape::from_key(call, ledger)).collect(),
            grade: run.credit.grade,
        }
    }
}

impl CallRefShape {
    fn from_key(call: &CallKey, ledger: &Ledger) -> Self {
        Self {
            session_id: ledger.raw_session(&call.session),
            turn: call.turn,
            tool_call_id: call.call.clone(),
        }
    }
}

impl SupersededShape {
    fn from_row(row: &CallRow) -> Self {
        Self {
            session_id: row.session_id.clone(),
            tool_call_id: row.tool_call_id.clone(),
            title: row.title.clone(),
            turn: row.turn,
        }
    }
}

impl CommentShape {
    /// Shapes a comment where its lines are now.
    pub fn from_view(view: &CommentView, ledger: &Ledger) -> Self {
        let lines = view.lines.unwrap_or(view.made_on);
        Self {
            id: view.id.clone(),
            root: ledger.root_path(&view.root),
            path: path_text(&view.path),
            line_start: lines.start,
            line_end: last_line(lines),
            body: view.body.clone(),
            author: view.author.who.label(),
            outdated: view.lines.is_none(),
            resolved: view.resolved,
            excerpt: view.excerpt.clone(),
            at: view.at,
        }
    }
}

impl CommentShape {
    /// Shapes a comment as it was made.
    pub fn from_comment(row: &CommentRow, ledger: &Ledger) -> Self {
        let view = CommentView::of(row, Some(row.comment.lines));
        Self::from_view(&view, ledger)
    }
}

impl GateShape {
    /// Says what waits, in a few words. The path stands beneath its root, or absolute where `roots` holds others.
    fn words(&self, roots: &BTreeSet<&str>) -> String {
        format!("{} waits to write {}", self.tool, self.place(roots))
    }

    /// Names the file: beneath its root, or absolute where `roots` holds others.
    pub fn place(&self, roots: &BTreeSet<&str>) -> String {
        named_path((self.root.as_deref().unwrap_or_default(), &self.path), roots)
    }
}

/// Names a file to people: beneath its root, or absolute where `roots` holds others. The empty root is none.
pub fn named_path((root, path): (&str, &str), roots: &BTreeSet<&str>) -> String {
    let lies_beneath = !root.is_empty() && !path.is_empty() && root != path;
    match lies_beneath && roots.iter().any(|other| !other.is_empty() && *other != root) {
        true => format!("{}/{path}", root.trim_end_matches('/')),
        false => path.to_owned(),
    }
}

impl ListingShape {
    /// Returns the roots of all that it tells of.
    pub fn roots(&self) -> BTreeSet<&str> {
        let hunks = self.hunks.iter().map(|hunk| hunk.root.as_str());
        let comments = self.comments.iter().map(|comment| comment.root.as_str());
        hunks.chain(comments).chain(self.degraded.iter().map(|root| root.root.as_str())).collect()
    }

    /// Says what waits before the gate, in a few words.
    pub fn held(&self) -> Option<String> {
        self.gate.as_ref().map(|gate| gate.words(&self.roots()))
    }
}

impl DecidedShape {
    /// Returns the roots of its items.
    pub fn roots(&self) -> BTreeSet<&str> {
        self.items.iter().chain(&self.left).map(|item| item.root.as_str()).collect()
    }
}

impl StatusShape {
    /// Says what waits before the gate, in a few words.
    pub fn held(&self) -> Option<String> {
        let roots = self.roots.iter().map(|root| root.root.as_str()).collect();
        self.gate.as_ref().map(|gate| gate.words(&roots))
    }
}

impl DegradedShape {
    /// Shapes a root.
    pub fn from_row(row: &RootRow) -> Self {
        Self { root: row.path.clone(), degraded: row.degraded.clone() }
    }
}

impl BlameShape {
    /// Shapes the lines of a file.
    pub fn from_lines(path: &RepoPath, lines: &[BlameLine]) -> Self {
        Self { path: path_text(path), lines: lines.iter().map(BlameLineShape::from_line).collect() }
    }
}

impl BlameLineShape {
    fn from_line(line: &BlameLine) -> Self {
        let author = match line.credit.as_ref().map(|credit| credit.grade) {
            None => "base",
            Some(Grade::External) => "external",
            Some(grade) if grade.names_a_call() => "call",
            Some(_) => "unknown",
        };
        Self {
            line: line.line,
            text: readable(&line.text),
            author: author.to_owned(),
            calls: line.calls.clone(),
            grade: line.credit.as_ref().map(|credit| credit.grade),
        }
    }
}

impl From<LineRange> for RangeShape {
    fn from(range: LineRange) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl Who {
    /// Returns the word for JSON: `human`, `agent:NAME`, `criterion:ID`.
    pub fn label(&self) -> String {
        match self {
            Self::Person => "human".to_owned(),
            Self::Agent(name) => format!("agent:{name}"),
            Self::Criterion(id) => format!("criterion:{id}"),
        }
    }
}

impl Channel {
    /// Returns the word for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Editor => "editor",
            Self::Cli => "cli",
            Self::Tui => "tui",
            Self::Web => "web",
            Self::Mcp => "mcp",
            Self::None => "none",
        }
    }
}

impl Actor {
    /// The person at the machine, through this door.
    pub fn person(channel: Channel) -> Self {
        Self { who: Who::Person, channel }
    }
}

impl Ledger {
    /// Returns the id that the peer chose for a session; its key where that is lost.
    pub fn raw_session(&self, key: &SessionKey) -> SessionId {
        let header = self.session(key).and_then(|session| session.header());
        let known = header.map(|header| header.session.clone());
        let known = known.or_else(|| Some(self.member(key)?.session.clone()));
        known.unwrap_or_else(|| SessionId::new(key.as_str()))
    }

    /// Returns the agent of a session, where it is known.
    pub fn agent_of(&self, key: &SessionKey) -> Option<&AgentId> {
        let header = self.session(key).and_then(|session| session.header());
        header.map(|header| &header.agent).or_else(|| Some(&self.member(key)?.agent))
    }

    fn member(&self, key: &SessionKey) -> Option<&Member> {
        self.chains().find_map(|(_, chain)| chain.members().get(key))
    }
}

/// Returns the path as JSON shows it: exact where it is UTF-8, escaped where it is not.
pub fn path_text(path: &RepoPath) -> String {
    path.as_bytes().to_str().map_or_else(|_| path.to_string(), str::to_owned)
}

/// Decodes bytes for people: UTF-8 where they are, UTF-16 by its zero bytes, else Latin-1.
pub fn readable(bytes: &[u8]) -> String {
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    if zeros * 3 >= bytes.len() && zeros > 0 {
        return bytes.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    text
}

/// Returns the last line of a range, inclusive; of an empty one, the line it stands before.
pub fn last_line(lines: LineRange) -> u32 {
    lines.end.saturating_sub(1).max(lines.start)
}

fn lossy(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    items.for_each(|item| {
        if !kept.contains(&item) {
            kept.push(item);
        }
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_shown_for_people() {
        assert_eq!(readable(b"caf\xe9"), "café");
        assert_eq!(readable(b"h\0i\0"), "hi");
        assert_eq!(readable("né".as_bytes()), "né");
        assert_eq!(readable(b""), "");
    }

    #[test]
    fn a_path_is_exact_where_it_is_utf8_and_escaped_where_it_is_not() {
        let path = |bytes: &[u8]| RepoPath::new(bytes).expect("a path");
        assert_eq!(path_text(&path("公共\n.cpp".as_bytes())), "公共\n.cpp");
        assert_eq!(path_text(&path(b"a\xff")), "a\\xff");
    }

    #[test]
    fn the_last_line_of_an_empty_range_is_the_line_it_stands_before() {
        assert_eq!(last_line(LineRange { start: 4, end: 4 }), 4);
        assert_eq!(last_line(LineRange { start: 4, end: 6 }), 5);
    }
}
