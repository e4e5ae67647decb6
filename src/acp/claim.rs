//! What a call says it writes, out of its diffs, its input and its locations.
//!
//! Inputs are agent-shaped: partial while they stream, objects, strings or argument vectors. Only shapes seen in real
//! agents are read; everything else claims nothing.

use crate::acp::fact::{CallClaim, ClaimedIn, Said};
use crate::acp::patch::{self, Patched};
use crate::wire::{Fields, Raw};

const PATHS: [&str; 13] = [
    "file_path",
    "filePath",
    "filepath",
    "path",
    "absolute_path",
    "absolutePath",
    "abs_path",
    "fileName",
    "file_name",
    "target_file",
    "notebook_path",
    "notebookPath",
    "file",
];
const OLDS: [&str; 8] =
    ["old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search", "old_content"];
const NEWS: [&str; 7] = ["new_string", "newString", "new_str", "newStr", "new_text", "newText", "replace"];
const WHOLES: [&str; 6] = ["content", "contents", "file_text", "fileText", "new_content", "newContent"];
const BEFORES: [&str; 3] = ["originalFile", "old_content", "oldContent"];
const DIFFS: [&str; 4] = ["diff", "unified_diff", "unifiedDiff", "patch"];
const MOVES: [(&str, &str); 6] = [
    ("source", "destination"),
    ("from", "to"),
    ("old_path", "new_path"),
    ("oldPath", "newPath"),
    ("source_path", "destination_path"),
    ("sourcePath", "destinationPath"),
];
/// Under these an agent's event holds the tool's own input.
const NESTED: [&str; 6] = ["input", "arguments", "args", "action", "parameters", "tool_input"];
/// With one of these an input is a search or a command, and its path is where, not what.
const ASKING: [&str; 5] = ["pattern", "query", "regex", "command", "cmd"];
/// The words of the editor tool that has its verb in `command`.
const VERBS: [&str; 4] = ["create", "str_replace", "insert", "undo_edit"];

/// The claims of one message.
#[derive(Debug)]
pub(crate) struct Claims {
    within: Option<ClaimedIn>,
    claims: Vec<CallClaim>,
}

impl Claims {
    /// Starts with none. `within` overrides where each was read.
    pub(crate) fn new(within: Option<ClaimedIn>) -> Self {
        Self { within, claims: Vec::new() }
    }

    /// Returns what was found: the most telling first, and a bare location only for a path of which nothing else is said.
    pub(crate) fn into_claims(self) -> Vec<CallClaim> {
        self.claims
    }

    /// Reads everything of a call.
    pub(crate) fn call(&mut self, fields: &Fields<'_>) {
        for content in fields.elements("content") {
            self.content(content);
        }
        if let Some(input) = fields.member("rawInput") {
            self.input(input, 2);
        }
        // Claude says after the write what it wrote, and of what.
        if let Some(done) = fields.at(&["_meta", "claudeCode", "toolResponse"]) {
            self.input(done, 0);
        }
        for location in fields.elements("locations") {
            if let Some(path) = location.member("path").and_then(Raw::string) {
                self.location(path, ClaimedIn::Location);
            }
        }
    }

    /// Reads one content block.
    pub(crate) fn content(&mut self, content: Raw<'_>) {
        let fields = content.fields();
        if fields.text("type").is_none_or(|it| it != "diff") {
            return;
        }
        if fields.member("changes").is_some() {
            self.changes_v2(&fields);
        } else if let (Some(path), Some(new)) = (fields.string("path"), fields.string("newText")) {
            let deleted = fields.at(&["_meta", "kind"]).and_then(Raw::text).is_some_and(|it| it == "delete");
            let says = if deleted { Said::Delete } else { Said::Diff { old: fields.string("oldText"), new } };
            self.say(path, says, ClaimedIn::Diff);
        }
    }

    /// v2: `changes` names operations and paths, `patch` may hold their texts.
    fn changes_v2(&mut self, fields: &Fields<'_>) {
        let is_git =
            |it: &Raw<'_>| it.member("format").and_then(Raw::text).is_some_and(|it| it == "git_patch");
        let text = fields.member("patch").filter(is_git).and_then(|it| it.member("text")?.text());
        let patched = text.map(|it| patch::unified(&it)).unwrap_or_default();
        for change in fields.elements("changes") {
            let change = change.fields();
            let Some(path) = change.string("path") else { continue };
            match change.text("operation").as_deref() {
                Some("delete") => self.say(path, Said::Delete, ClaimedIn::Diff),
                Some("move") => {
                    if let Some(old) = change.string("oldPath") {
                        self.say(old, Said::Move { to: path.clone() }, ClaimedIn::Diff);
                    }
                    self.texts(path, &patched);
                }
                _ => self.texts(path, &patched),
            }
        }
    }

    /// Says of `path` what the patch says of it.
    fn texts(&mut self, path: String, patched: &[Patched]) {
        let named = |it: &&Patched| it.path.as_ref().is_some_and(|name| same_file(&path, name));
        let says: Vec<Said> = patched.iter().filter(named).flat_map(|it| it.says.iter().cloned()).collect();
        for said in says.into_iter().filter(|it| !matches!(it, Said::Move { .. })) {
            self.say(path.clone(), said, ClaimedIn::Diff);
        }
        self.location(path, ClaimedIn::Diff);
    }

    /// Reads an input, or what it holds up to `depth` levels below.
    fn input(&mut self, input: Raw<'_>, depth: u8) {
        if let Some(text) = input.text() {
            return self.patch_text(&text, None);
        }
        for argument in input.elements().filter_map(Raw::text) {
            self.patch_text(&argument, None);
        }
        if !input.is_object() {
            return;
        }
        let fields = input.fields();
        self.object(&fields);
        if depth > 0 {
            for nested in NESTED.iter().filter_map(|name| fields.member(name)) {
                self.input(nested, depth - 1);
            }
        }
    }

    fn object(&mut self, fields: &Fields<'_>) {
        let path = first(fields, &PATHS);
        if let Some(changes) = fields.member("changes") {
            self.changes(changes);
        }
        for name in ["command", "cmd", "patchText", "patch_text", "patch", "input"] {
            if let Some(argument) = fields.member(name) {
                for text in argument.text().into_iter().chain(argument.elements().filter_map(Raw::text)) {
                    self.apply_patch(&text);
                }
            }
        }
        for (from, to) in MOVES {
            if let (Some(from), Some(to)) = (fields.string(from), fields.string(to)) {
                self.say(from, Said::Move { to }, ClaimedIn::RawInput);
            }
        }
        for edit in fields.elements("edits") {
            let edit = edit.fields();
            if let Some(path) = first(&edit, &PATHS).or_else(|| path.clone()) {
                self.written(path, &edit);
            }
        }
        let Some(path) = path else { return };
        if let Some(diff) = first(fields, &DIFFS) {
            self.patch_text(&diff, Some(&path));
        }
        self.written(path.clone(), fields);
        let verb = fields.text("command").is_some_and(|it| VERBS.contains(&&*it));
        if verb || !ASKING.iter().any(|name| fields.member(name).is_some()) {
            self.location(path, ClaimedIn::RawInput);
        }
    }

    /// Reads the texts of one edit of `path`.
    fn written(&mut self, path: String, fields: &Fields<'_>) {
        let says = match (first(fields, &OLDS), first(fields, &NEWS), first(fields, &WHOLES)) {
            (Some(old), Some(new), _) if old.is_empty() => Said::Diff { old: None, new },
            (Some(old), Some(new), _) => Said::Fragment { old, new },
            (_, None, Some(new)) => Said::Whole { old: first(fields, &BEFORES), new },
            (None, Some(new), None) if fields.text("command").is_some_and(|it| it == "insert") => {
                Said::Diff { old: None, new }
            }
            _ => return,
        };
        self.say(path, says, ClaimedIn::RawInput);
    }

    /// Codex: a map from path to change, or a list of changes.
    fn changes(&mut self, changes: Raw<'_>) {
        for (path, change) in changes.members() {
            self.change(path.into_owned(), change);
        }
        for change in changes.elements() {
            if let Some(path) = change.member("path").and_then(Raw::string) {
                self.change(path, change);
            }
        }
    }

    /// One change: `{type, …}`, `{kind: {type, …}, diff}` or `{add|delete|update: {…}}`.
    fn change(&mut self, path: String, change: Raw<'_>) {
        let fields = change.fields();
        let kind = fields.member("kind");
        let word = fields.string("type").or_else(|| kind?.text().map(Into::into));
        let word = word.or_else(|| kind?.member("type")?.string());
        let verb = ["add", "delete", "update"].into_iter().find(|verb| match &word {
            Some(word) => word == verb,
            None => fields.member(verb).is_some(),
        });
        let Some(verb) = verb else { return self.location(path, ClaimedIn::RawInput) };
        let inner = if word.is_none() { fields.member(verb).map(Raw::fields) } else { None };
        let inner = inner.as_ref().unwrap_or(&fields);
        match verb {
            "add" => {
                if let Some(new) = inner.string("content").or_else(|| inner.string("diff")) {
                    self.say(path.clone(), Said::Whole { old: None, new }, ClaimedIn::RawInput);
                }
            }
            "delete" => self.say(path.clone(), Said::Delete, ClaimedIn::RawInput),
            _ => {
                let to = inner.string("move_path").or_else(|| kind?.member("move_path")?.string());
                if let Some(to) = to {
                    self.say(path.clone(), Said::Move { to }, ClaimedIn::RawInput);
                }
                if let Some(diff) = first(inner, &DIFFS) {
                    self.patch_text(&diff, Some(&path));
                }
            }
        }
        self.location(path, ClaimedIn::RawInput);
    }

    /// Reads a text that may be a patch. `path` overrides the names in a patch of one file.
    fn patch_text(&mut self, text: &str, path: Option<&str>) {
        if text.contains(patch::BEGIN) {
            return self.apply_patch(text);
        }
        let files = patch::unified(text);
        let alone = files.iter().all(|it| it.path == files[0].path);
        for file in files {
            let own = path.filter(|_| alone).map(str::to_owned);
            let Some(path) = own.or(file.path) else { continue };
            for said in file.says {
                self.say(path.clone(), said, ClaimedIn::RawInput);
            }
        }
    }

    fn apply_patch(&mut self, text: &str) {
        for file in patch::apply_patch(text) {
            let Some(path) = file.path else { continue };
            for said in file.says {
                self.say(path.clone(), said, ClaimedIn::RawInput);
            }
            self.location(path, ClaimedIn::RawInput);
        }
    }

    fn say(&mut self, path: String, says: Said, from: ClaimedIn) {
        let claim = CallClaim { path, says, from: self.within.unwrap_or(from) };
        if !self.claims.contains(&claim) {
            self.claims.push(claim);
        }
    }

    fn location(&mut self, path: String, from: ClaimedIn) {
        if self.claims.iter().all(|it| it.path != path) {
            self.say(path, Said::Location, from);
        }
    }
}

fn first(fields: &Fields<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| fields.string(name))
}

/// Says whether a patch's name is this path: the same, or its end.
fn same_file(path: &str, name: &str) -> bool {
    let path = path.trim_start_matches('/');
    let name = name.trim_start_matches('/');
    path == name || path.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'))
}
