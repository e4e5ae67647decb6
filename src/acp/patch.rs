//! Patch texts that agents show: unified diffs (plain, git) and the `*** Begin Patch` form. Tolerant: what is no patch
//! says nothing.

use crate::acp::fact::Said;

/// What a patch says of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    /// The path as the patch names it, without `a/` or `b/` of git.
    pub(crate) path: Option<String>,
    /// What becomes of it, in order.
    pub(crate) says: Vec<Said>,
}

/// Reads a unified diff over any number of files.
pub(crate) fn unified(text: &str) -> Vec<Patched> {
    let mut reader = Unified::default();
    for line in text.split_inclusive('\n') {
        reader.line(line);
    }
    reader.finish()
}

#[derive(Default)]
struct Unified {
    files: Vec<Patched>,
    old: Option<String>,
    new: Option<String>,
    fate: Fate,
    says: Vec<Said>,
    hunk: Option<Hunk>,
    /// It has both name lines: another `---` begins another file.
    headed: bool,
    /// Anything at all of a patch was read.
    seen: bool,
}

/// Which side of the file is missing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Changed,
    Created,
    Deleted,
}

#[derive(Default)]
struct Hunk {
    /// `-0,0`: there was no line before.
    of_nothing: bool,
    left: (usize, usize),
    old: String,
    new: String,
    last: Option<Side>,
}

#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
    Both,
}

impl Unified {
    fn line(&mut self, line: &str) {
        if let Some(hunk) = &mut self.hunk
            && hunk.take(line)
        {
            return;
        }
        self.end_hunk();
        let bare = line.trim_end_matches(['\n', '\r']);
        if bare.starts_with("diff --git ") || bare.starts_with("Index: ") {
            self.end_file();
        } else if let Some(path) = bare.strip_prefix("--- ") {
            if self.headed {
                self.end_file();
            }
            if path == "/dev/null" {
                self.fate = Fate::Created;
            }
            self.old = file_name(path);
            self.seen = true;
        } else if let Some(path) = bare.strip_prefix("+++ ") {
            if path == "/dev/null" {
                self.fate = Fate::Deleted;
            }
            self.new = file_name(path);
        } else if let Some(path) = bare.strip_prefix("rename from ") {
            self.old = Some(path.to_owned());
            self.seen = true;
        } else if let Some(path) = bare.strip_prefix("rename to ") {
            self.new = Some(path.to_owned());
        } else if bare.starts_with("deleted file mode") {
            self.fate = Fate::Deleted;
        } else if bare.starts_with("new file mode") {
            self.fate = Fate::Created;
        } else if let Some(header) = bare.strip_prefix("@@ ") {
            self.hunk = Hunk::of(header);
            self.seen |= self.hunk.is_some();
        }
    }

    fn end_hunk(&mut self) {
        let Some(Hunk { old, new, of_nothing, .. }) = self.hunk.take() else { return };
        if self.fate == Fate::Deleted {
            return;
        }
        self.says.push(if old.is_empty() && (of_nothing || self.fate == Fate::Created) {
            Said::Whole { old: None, new }
        } else if old.is_empty() {
            Said::Diff { old: None, new }
        } else {
            Said::Fragment { old, new }
        });
    }

    fn end_file(&mut self) {
        self.end_hunk();
        let done = std::mem::take(self);
        self.files = done.files;
        let deleted = done.fate == Fate::Deleted;
        if !done.seen && !deleted {
            return;
        }
        let moved = match (&done.old, &done.new) {
            (Some(old), Some(new)) if old != new => Some((old.clone(), new.clone())),
            _ => None,
        };
        if let Some((old, new)) = moved {
            self.files.push(Patched { path: Some(old), says: vec![Said::Move { to: new }] });
        }
        let path = if deleted { done.old.or(done.new) } else { done.new.or(done.old) };
        let says = if deleted { vec![Said::Delete] } else { done.says };
        if !says.is_empty() {
            self.files.push(Patched { path, says });
        }
    }

    fn finish(mut self) -> Vec<Patched> {
        self.end_file();
        self.files
    }
}

impl Hunk {
    /// Reads `-A,B +C,D @@`.
    fn of(header: &str) -> Option<Self> {
        let mut words = header.split(' ');
        let count = |word: &str, sign: char| {
            let range = word.strip_prefix(sign)?;
            range.split_once(',').map_or(Some(1), |(_, count)| count.parse::<usize>().ok())
        };
        let left = (count(words.next()?, '-')?, count(words.next()?, '+')?);
        Some(Self { left, of_nothing: header.starts_with("-0,0 "), ..Self::default() })
    }

    /// Takes a line that belongs to it.
    fn take(&mut self, line: &str) -> bool {
        if line.starts_with('\\') {
            self.unended();
            return true;
        }
        let (side, rest) = match line.as_bytes().first() {
            Some(b'-') if self.left.0 > 0 => (Side::Old, &line[1..]),
            Some(b'+') if self.left.1 > 0 => (Side::New, &line[1..]),
            Some(b' ') if self.left.0 > 0 && self.left.1 > 0 => (Side::Both, &line[1..]),
            // Some writers strip the blank that stands before an empty line.
            Some(b'\n' | b'\r') if self.left.0 > 0 && self.left.1 > 0 => (Side::Both, line),
            _ => return false,
        };
        if matches!(side, Side::Old | Side::Both) {
            self.left.0 -= 1;
            push_line(&mut self.old, rest);
        }
        if matches!(side, Side::New | Side::Both) {
            self.left.1 -= 1;
            push_line(&mut self.new, rest);
        }
        self.last = Some(side);
        true
    }

    /// `\ No newline at end of file`: of the line before.
    fn unended(&mut self) {
        match self.last {
            Some(Side::Old) => strip_newline(&mut self.old),
            Some(Side::New) => strip_newline(&mut self.new),
            Some(Side::Both) => {
                strip_newline(&mut self.old);
                strip_newline(&mut self.new);
            }
            None => {}
        }
    }
}

fn push_line(to: &mut String, line: &str) {
    to.push_str(line);
    if !line.ends_with('\n') {
        to.push('\n');
    }
}

fn strip_newline(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
}

fn file_name(path: &str) -> Option<String> {
    let path = path.split('\t').next().unwrap_or(path).trim_end();
    let path = path.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(path);
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then(|| path.to_owned())
}

/// The line with which the other form begins.
pub(crate) const BEGIN: &str = "*** Begin Patch";

/// Reads the `*** Begin Patch` form, also from within a shell command.
pub(crate) fn apply_patch(text: &str) -> Vec<Patched> {
    let Some((_, body)) = text.split_once(BEGIN) else { return Vec::new() };
    let mut reader = Apply::default();
    for line in body.lines().skip(1) {
        if line.starts_with("*** End Patch") {
            break;
        }
        reader.line(line);
    }
    reader.end_file();
    reader.files
}

#[derive(Default)]
struct Apply {
    files: Vec<Patched>,
    file: Option<Patched>,
    adding: bool,
    old: String,
    new: String,
}

impl Apply {
    fn line(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            self.begin(path);
            self.adding = true;
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            self.begin(path);
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            self.begin(path);
            self.say(Said::Delete);
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            self.say(Said::Move { to: path.trim_end().to_owned() });
        } else if line.starts_with("@@") || line.starts_with("*** End of File") {
            self.end_chunk();
        } else if let Some(rest) = line.strip_prefix('+') {
            push_line(&mut self.new, rest);
        } else if let Some(rest) = line.strip_prefix('-') {
            push_line(&mut self.old, rest);
        } else {
            let rest = line.strip_prefix(' ').unwrap_or(line);
            push_line(&mut self.old, rest);
            push_line(&mut self.new, rest);
        }
    }

    fn begin(&mut self, path: &str) {
        self.end_file();
        self.file = Some(Patched { path: Some(path.trim_end().to_owned()), says: Vec::new() });
    }

    fn say(&mut self, said: Said) {
        if let Some(file) = &mut self.file {
            file.says.push(said);
        }
    }

    fn end_chunk(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        if self.adding {
            self.say(Said::Whole { old: None, new });
        } else if old.is_empty() && !new.is_empty() {
            self.say(Said::Diff { old: None, new });
        } else if old != new {
            self.say(Said::Fragment { old, new });
        }
    }

    fn end_file(&mut self) {
        self.end_chunk();
        self.adding = false;
        self.files.extend(self.file.take());
    }
}

/// Reads blocks of `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` (or with the markers of Cline), each a fragment.
pub(crate) fn search_replace(text: &str) -> Vec<Said> {
    let mut says = Vec::new();
    let mut block: Option<(String, Option<String>)> = None;
    for line in text.split_inclusive('\n') {
        let marker = line.trim_end();
        block = match (block, marker) {
            (_, "<<<<<<< SEARCH" | "------- SEARCH") => Some((String::new(), None)),
            (Some((old, None)), "=======") => Some((old, Some(String::new()))),
            (Some((old, Some(new))), ">>>>>>> REPLACE" | "+++++++ REPLACE") => {
                says.push(Said::Fragment { old, new });
                None
            }
            (Some((old, Some(new))), _) => Some((old, Some(new + line))),
            (Some((old, None)), _) => Some((old + line, None)),
            (None, _) => None,
        };
    }
    says
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragment(old: &str, new: &str) -> Said {
        Said::Fragment { old: old.into(), new: new.into() }
    }

    fn file(path: &str, says: Vec<Said>) -> Patched {
        Patched { path: Some(path.into()), says }
    }

    #[test]
    fn a_unified_diff_says_its_hunks_as_fragments() {
        let text = "Index: /w/a.txt\n====\n--- /w/a.txt\n+++ /w/a.txt\n@@ -1,3 +1,3 @@\n-alpha\n+ALPHA\n second\n third\n@@ -9 +9 @@ fn\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n";
        assert_eq!(
            unified(text),
            [file(
                "/w/a.txt",
                vec![fragment("alpha\nsecond\nthird\n", "ALPHA\nsecond\nthird\n"), fragment("x", "y")]
            )]
        );
    }

    #[test]
    fn a_git_patch_says_what_was_made_moved_and_deleted() {
        let text = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+-- two\n\
                    diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-x\n+y\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n--- dashes\n";
        assert_eq!(
            unified(text),
            [
                file("n", vec![Said::Whole { old: None, new: "one\n-- two\n".into() }]),
                file("old", vec![Said::Move { to: "new".into() }]),
                file("new", vec![fragment("x\n", "y\n")]),
                file("gone", vec![Said::Delete]),
            ]
        );
    }

    #[test]
    fn a_begin_patch_text_is_read_also_within_a_shell_command() {
        let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.txt\n+one\n+two\n*** Update File: a.txt\n*** Move to: b.txt\n@@ fn f\n a\n-b\n+B\n@@\n+tail\n*** Delete File: c.txt\n*** End Patch\nEOF\n";
        assert_eq!(
            apply_patch(text),
            [
                file("n.txt", vec![Said::Whole { old: None, new: "one\ntwo\n".into() }]),
                file(
                    "a.txt",
                    vec![
                        Said::Move { to: "b.txt".into() },
                        fragment("a\nb\n", "a\nB\n"),
                        Said::Diff { old: None, new: "tail\n".into() }
                    ]
                ),
                file("c.txt", vec![Said::Delete]),
            ]
        );
    }

    proptest! {
        #[test]
        fn the_fragments_of_a_diff_are_parts_of_both_texts(
            old in proptest::collection::vec("[ab-]{0,2}", 0..14), new in proptest::collection::vec("[ab-]{0,2}", 0..14),
            old_end in any::<bool>(), new_end in any::<bool>(),
        ) {
            let text = |lines: &[String], end: bool| lines.join("\n") + if end && !lines.is_empty() { "\n" } else { "" };
            let (old, new) = (text(&old, old_end), text(&new, new_end));
            let diff = similar::TextDiff::from_lines(&old, &new);
            let patch = diff.unified_diff().context_radius(1).header("a/f", "b/f").to_string();
            let says: Vec<Said> = unified(&patch).into_iter().flat_map(|it| it.says).collect();
            prop_assert_eq!(says.is_empty(), old == new, "{}", patch);
            for said in says {
                match said {
                    Said::Fragment { old: before, new: after } => {
                        prop_assert!(old.contains(&before) && new.contains(&after), "{:?} {:?} of {}", before, after, patch);
                    }
                    Said::Whole { old: None, new: after } => prop_assert_eq!(("", &after), (old.as_str(), &new)),
                    Said::Location | Said::Whole { .. } | Said::Diff { .. } | Said::Delete | Said::Move { .. } => {
                        prop_assert!(false, "{:?} of {}", said, patch);
                    }
                }
            }
        }
    }

    #[test]
    fn search_and_replace_blocks_are_fragments() {
        let text = "<<<<<<< SEARCH\na\n=======\nb\nc\n>>>>>>> REPLACE\nx\n------- SEARCH\nd\n=======\n+++++++ REPLACE\n";
        assert_eq!(search_replace(text), [fragment("a\n", "b\nc\n"), fragment("d\n", "")]);
        assert_eq!(search_replace("<<<<<<< SEARCH\na\n=======\nb\n"), []);
    }

    #[test]
    fn what_is_no_patch_says_nothing() {
        for text in ["", "hello\nworld\n", "@@ nonsense @@\n+x\n", "--- a\n", "diff --git a/x b/x\n"] {
            assert_eq!((unified(text), apply_patch(text)), (vec![], vec![]), "{text:?}");
        }
    }
}
