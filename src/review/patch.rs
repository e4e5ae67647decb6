//! The composed diff as a git patch that `git apply` takes.

use crate::base::{RepoPath, base64_encode};
use crate::diff::{Diff, LineHunk, Span, Text, is_binary};
use crate::ledger::{Blobs, Content, Entry, FileState, Hunk, Mode, path_text};
use crate::review::PatchText;
use crate::review::binary::binary_patch;

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;

/// One file of a patch: its base, and what the patch makes of it.
#[derive(Clone, Debug)]
pub(super) struct PatchFile {
    /// The path afterwards.
    pub(super) path: RepoPath,
    /// The path before, when it is another.
    pub(super) old_path: Option<RepoPath>,
    /// What stands before.
    pub(super) before: Option<FileState>,
    /// What stands after; its blob counts only when `edits` is `None`.
    pub(super) after: Option<FileState>,
    /// The replacements in the base, where only a part of the change is wanted.
    pub(super) edits: Option<Vec<PatchEdit>>,
}

/// One replacement of base lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatchEdit {
    /// The lines replaced.
    pub(super) base: Span,
    /// The bytes instead.
    pub(super) text: Vec<u8>,
}

impl PatchFile {
    /// The change of one hunk alone, as it was shown: for one that is no longer listed.
    pub(super) fn of_one(hunk: &Hunk) -> Self {
        part_of_file(&[hunk], hunk)
    }
}

/// Groups hunks by file, in the order of the listing; `all` are all hunks of the listing.
pub(super) fn files_of(all: &[Hunk], chosen: &[&Hunk]) -> Vec<PatchFile> {
    let mut files = Vec::new();
    let mut done: Vec<&Hunk> = Vec::new();
    for hunk in chosen.iter().filter(|hunk| !matches!(hunk.entry, Entry::Outside | Entry::Summary { .. })) {
        let beside = |other: &&Hunk| other.root == hunk.root && other.path == hunk.path;
        if done.iter().any(beside) {
            continue;
        }
        done.push(hunk);
        let mine: Vec<&Hunk> = chosen.iter().copied().filter(beside).collect();
        let whole = all.iter().filter(beside).all(|one| mine.iter().any(|chosen| chosen.id == one.id));
        files.push(if whole { whole_file(&mine, hunk) } else { part_of_file(&mine, hunk) });
    }
    files
}

fn whole_file(mine: &[&Hunk], first: &Hunk) -> PatchFile {
    PatchFile {
        path: first.path.clone(),
        old_path: renamed_from(mine),
        before: first.base,
        after: first.current,
        edits: None,
    }
}

fn part_of_file(mine: &[&Hunk], first: &Hunk) -> PatchFile {
    let old_path = renamed_from(mine);
    let replaces = |hunk: &&&Hunk| {
        matches!(hunk.entry, Entry::Binary | Entry::Symlink { .. } | Entry::Type { .. } | Entry::Empty)
    };
    let remodes = mine.iter().any(|hunk| matches!(hunk.entry, Entry::Mode { .. } | Entry::Type { .. }));
    let after = match (first.current, first.base) {
        (Some(current), Some(base)) if !remodes => Some(FileState { mode: base.mode, ..current }),
        (current, _) => current,
    };
    let edits = mine.iter().filter(|hunk| hunk.entry == Entry::Text).map(|hunk| PatchEdit {
        base: Span { start: hunk.base_range.start, end: hunk.base_range.end },
        text: hunk.after.clone(),
    });
    PatchFile {
        path: first.path.clone(),
        old_path,
        before: first.base,
        after,
        edits: if mine.iter().any(|hunk| replaces(&hunk)) { None } else { Some(edits.collect()) },
    }
}

fn renamed_from(mine: &[&Hunk]) -> Option<RepoPath> {
    mine.iter().find_map(|hunk| match &hunk.entry {
        Entry::Rename { old_path } => Some(old_path.clone()),
        Entry::Text
        | Entry::Binary
        | Entry::Mode { .. }
        | Entry::Symlink { .. }
        | Entry::Type { .. }
        | Entry::Empty
        | Entry::Eol
        | Entry::Summary { .. }
        | Entry::Outside => None,
    })
}

/// Writes the patch of some files.
pub(super) fn patch(files: &[PatchFile], blobs: &dyn Blobs) -> PatchText {
    let mut bytes = Vec::new();
    files.iter().for_each(|file| write_file(&mut bytes, file, blobs));
    match String::from_utf8(bytes) {
        Ok(text) => PatchText { text, base64: false },
        Err(error) => PatchText { text: base64_encode(error.as_bytes()), base64: true },
    }
}

fn write_file(out: &mut Vec<u8>, file: &PatchFile, blobs: &dyn Blobs) {
    if let (Some(before), Some(after)) = (file.before, file.after)
        && (before.mode == Mode::Symlink) != (after.mode == Mode::Symlink)
    {
        write_file(out, &PatchFile { after: None, old_path: None, ..file.clone() }, blobs);
        write_file(out, &PatchFile { before: None, old_path: None, ..file.clone() }, blobs);
        return;
    }
    let sides = [file.before, file.after].map(|state| bytes_of(state, blobs));
    let [Some(before), Some(after)] = sides else {
        out.extend_from_slice(format!("# {}: its content is not kept\n", path_text(&file.path)).as_bytes());
        return;
    };
    let after = match &file.edits {
        Some(edits) => edited(&before, edits),
        None => after,
    };
    write_header(out, file, &before, &after);
    if before.bytes() == after.bytes() {
        return;
    }
    if is_binary(before.bytes()) || is_binary(after.bytes()) {
        out.extend_from_slice(binary_patch(before.bytes(), after.bytes()).as_bytes());
        return;
    }
    write_names(out, file);
    write_hunks(out, &before, &after, &Diff::of(&before, &after).hunks);
}

fn bytes_of(state: Option<FileState>, blobs: &dyn Blobs) -> Option<Text> {
    match state {
        None => Some(Text::new(Vec::new())),
        Some(state) if state.content == Content::Withheld => None,
        Some(state) => blobs.bytes(state.blob).map(Text::new),
    }
}

fn edited(base: &Text, edits: &[PatchEdit]) -> Text {
    let mut edits: Vec<&PatchEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.base.start, edit.base.end));
    let mut bytes = Vec::new();
    let mut at = 1;
    for edit in edits {
        bytes.extend_from_slice(base.slice(Span { start: at, end: edit.base.start.max(at) }));
        bytes.extend_from_slice(&edit.text);
        at = edit.base.end.max(at);
    }
    bytes.extend_from_slice(base.slice(Span { start: at, end: base.span().end.max(at) }));
    Text::new(bytes)
}

fn write_header(out: &mut Vec<u8>, file: &PatchFile, before: &Text, after: &Text) {
    let old = file.old_path.as_ref().unwrap_or(&file.path);
    let mut lines = vec![format!("diff --git {} {}", quoted("a/", old), quoted("b/", &file.path))];
    match (file.before.map(|state| state.mode), file.after.map(|state| state.mode)) {
        (None, Some(mode)) => lines.push(format!("new file mode {}", mode.as_str())),
        (Some(mode), None) => lines.push(format!("deleted file mode {}", mode.as_str())),
        (Some(old), Some(new)) if old != new => {
            lines.push(format!("old mode {}", old.as_str()));
            lines.push(format!("new mode {}", new.as_str()));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    if let Some(old) = &file.old_path {
        let similar = if before.bytes() == after.bytes() { 100 } else { 50 };
        lines.push(format!("similarity index {similar}%"));
        lines.push(format!("rename from {}", quoted("", old)));
        lines.push(format!("rename to {}", quoted("", &file.path)));
    }
    lines.extend(index_line(file));
    lines.iter().for_each(|line| {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    });
}

/// Names the blobs before and after, where the whole file is wanted and its content changes.
fn index_line(file: &PatchFile) -> Option<String> {
    let zero = || "0".repeat(40);
    let id = |state: Option<FileState>| state.map_or_else(zero, |state| state.blob.to_string());
    let (before, after) = (id(file.before), id(file.after));
    (file.edits.is_none() && before != after).then(|| match (file.before, file.after) {
        (Some(old), Some(new)) if old.mode == new.mode => {
            format!("index {before}..{after} {}", new.mode.as_str())
        }
        _ => format!("index {before}..{after}"),
    })
}

fn write_names(out: &mut Vec<u8>, file: &PatchFile) {
    let old = file.old_path.as_ref().unwrap_or(&file.path);
    let name = |there: bool, side: &str, path: &RepoPath| match there {
        true => {
            let tab = if path.as_bytes().contains(&b' ') { "\t" } else { "" };
            format!("{}{tab}", quoted(side, path))
        }
        false => "/dev/null".to_owned(),
    };
    let (before, after) =
        (name(file.before.is_some(), "a/", old), name(file.after.is_some(), "b/", &file.path));
    out.extend_from_slice(format!("--- {before}\n+++ {after}\n").as_bytes());
}

fn write_hunks(out: &mut Vec<u8>, before: &Text, after: &Text, hunks: &[LineHunk]) {
    let mut from = 0;
    while from < hunks.len() {
        let mut to = from + 1;
        while to < hunks.len() && hunks[to].base.start <= hunks[to - 1].base.end + 2 * CONTEXT {
            to += 1;
        }
        write_group(out, before, after, &hunks[from..to]);
        from = to;
    }
}

/// Writes neighbouring hunks, which share their context.
fn write_group(out: &mut Vec<u8>, before: &Text, after: &Text, hunks: &[LineHunk]) {
    let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else { return };
    let lead = CONTEXT.min(first.base.start - 1);
    let trail = CONTEXT.min(before.len() + 1 - last.base.end);
    let old = Span { start: first.base.start - lead, end: last.base.end + trail };
    let new = Span { start: first.current.start - lead, end: last.current.end + trail };
    let range = |span: Span| match span.len() {
        0 => format!("{},0", span.start - 1),
        1 => span.start.to_string(),
        length => format!("{},{length}", span.start),
    };
    out.extend_from_slice(format!("@@ -{} +{} @@\n", range(old), range(new)).as_bytes());
    let mut at = old.start;
    for hunk in hunks {
        (at..hunk.base.start).for_each(|line| write_line(out, b' ', before.line(line)));
        hunk.base.lines().for_each(|line| write_line(out, b'-', before.line(line)));
        hunk.current.lines().for_each(|line| write_line(out, b'+', after.line(line)));
        at = hunk.base.end;
    }
    (at..old.end).for_each(|line| write_line(out, b' ', before.line(line)));
}

fn write_line(out: &mut Vec<u8>, sign: u8, line: &[u8]) {
    out.push(sign);
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// Writes a path as git does: in quotes, with C escapes, where it holds more than plain text.
fn quoted(side: &str, path: &RepoPath) -> String {
    let plain = path.is_utf8()
        && !path.as_bytes().iter().any(|byte| byte.is_ascii_control() || matches!(byte, b'"' | b'\\'));
    if plain {
        return format!("{side}{}", path_text(path));
    }
    let mut text = format!("\"{side}");
    for byte in path.as_bytes() {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            0x20..0x7f => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\{other:03o}")),
        }
    }
    text.push('"');
    text
}
