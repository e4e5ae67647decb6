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
            // Some agents hand on the arguments as the model wrote them: JSON within a string.
            return match Raw::parse(&text).filter(|it| it.is_object() && depth > 0) {
                Some(inner) => self.input(inner, depth - 1),
                None => self.patch_text(&text, None),
            };
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
        let one = fields.member("edit").filter(|edit| edit.is_object());
        for edit in fields.elements("edits").chain(fields.elements("edit")).chain(one) {
            let edit = edit.fields();
            let Some(path) = first(&edit, &PATHS).or_else(|| path.clone()) else { continue };
            // Kimi: within an edit, where the names can mean nothing else.
            match (edit.string("old"), edit.string("new")) {
                (Some(old), Some(new)) => {
                    self.say(path, Said::Fragment { old, new }, ClaimedIn::RawInput);
                }
                _ => self.written(path, &edit),
            }
        }
        let Some(path) = path else { return };
        if let Some(diff) = first(fields, &DIFFS) {
            self.patch_text(&diff, Some(&path));
        }
        let blocks = fields.text("content").map(|text| patch::search_replace(&text)).unwrap_or_default();
        if blocks.is_empty() {
            self.written(path.clone(), fields);
        }
        for said in blocks {
            self.say(path.clone(), said, ClaimedIn::RawInput);
        }
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
        if let Some(path) = path {
            for said in patch::search_replace(text) {
                self.say(path.to_owned(), said, ClaimedIn::RawInput);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::call::{read, read_chunk, read_update};
    use serde_json::{Value, json};

    /// The claims of an update with these fields, as (path, what, where).
    fn claims(fields: Value) -> Vec<(String, Said, ClaimedIn)> {
        let mut call = fields;
        call["toolCallId"] = "t".into();
        let text = call.to_string();
        let update = read_update(Raw::parse(&text).unwrap()).unwrap();
        update.claims.into_iter().map(|it| (it.path, it.says, it.from)).collect()
    }

    fn input(input: Value) -> Vec<(String, Said)> {
        claims(json!({ "rawInput": input })).into_iter().map(|(path, says, _)| (path, says)).collect()
    }

    fn one(path: &str, says: Said) -> Vec<(String, Said)> {
        vec![(path.into(), says)]
    }

    fn fragment(old: &str, new: &str) -> Said {
        Said::Fragment { old: old.into(), new: new.into() }
    }

    fn whole(new: &str) -> Said {
        Said::Whole { old: None, new: new.into() }
    }

    #[test]
    fn a_diff_is_claimed_and_its_location_adds_nothing() {
        let found = claims(json!({
            "content": [
                { "type": "content", "content": { "type": "text", "text": "x" } },
                { "type": "diff", "path": "/w/a", "oldText": null, "newText": "n" },
            ],
            "locations": [{ "path": "/w/a", "line": 1 }, { "path": "/w/b" }, { "line": 3 }],
        }));
        assert_eq!(
            found,
            [
                ("/w/a".into(), Said::Diff { old: None, new: "n".into() }, ClaimedIn::Diff),
                ("/w/b".into(), Said::Location, ClaimedIn::Location),
            ]
        );
    }

    #[test]
    fn edits_of_claude_and_opencode_are_fragments_and_writes_are_whole_files() {
        let edit = json!({ "replace_all": false, "file_path": "/w/a", "old_string": "x", "new_string": "y" });
        assert_eq!(input(edit), one("/w/a", fragment("x", "y")));
        assert_eq!(
            input(json!({ "filePath": "/w/a", "oldString": "x", "newString": "y" })),
            one("/w/a", fragment("x", "y"))
        );
        assert_eq!(input(json!({ "file_path": "/w/a", "content": "all" })), one("/w/a", whole("all")));
        assert_eq!(input(json!({ "filePath": "a", "content": "" })), one("a", whole("")));
        // A file made by an edit of nothing.
        let made = Said::Diff { old: None, new: "y".into() };
        assert_eq!(
            input(json!({ "file_path": "/w/a", "old_string": "", "new_string": "y" })),
            one("/w/a", made)
        );
    }

    #[test]
    fn an_input_that_is_still_growing_claims_its_path() {
        assert_eq!(input(json!({ "file_path": "/w/a" })), one("/w/a", Said::Location));
        assert_eq!(input(json!({ "file_path": "/w/a", "old_string": "x" })), one("/w/a", Said::Location));
        assert_eq!(input(json!("{\"file_path\":\"/w/a\"}")), one("/w/a", Said::Location));
        assert_eq!(input(json!({})), []);
        assert_eq!(input(json!("{\"file_path\":\"/w")), []);
    }

    #[test]
    fn search_and_replace_blocks_are_not_the_whole_file() {
        let blocks = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
        for name in ["content", "diff"] {
            assert_eq!(input(json!({ "path": "/w/a", name: blocks })), one("/w/a", fragment("x\n", "y\n")));
        }
    }

    #[test]
    fn a_multi_edit_claims_each_fragment() {
        let edits = json!({
            "file_path": "/w/a",
            "edits": [{ "old_string": "a", "new_string": "b" }, { "old_string": "c", "new_string": "d" }],
        });
        assert_eq!(input(edits), [("/w/a".into(), fragment("a", "b")), ("/w/a".into(), fragment("c", "d"))]);
    }

    #[test]
    fn an_edit_within_an_input_is_one_or_a_list() {
        let edit = json!({ "old": "x", "new": "y" });
        assert_eq!(input(json!({ "path": "/w/a", "edit": edit })), one("/w/a", fragment("x", "y")));
        assert_eq!(input(json!({ "path": "/w/a", "edit": [edit] })), one("/w/a", fragment("x", "y")));
        assert_eq!(input(json!({ "path": "/w/a", "old": "x", "new": "y" })), one("/w/a", Said::Location));
    }

    #[test]
    fn what_is_of_no_known_shape_claims_nothing() {
        for odd in [
            json!(null),
            json!(7),
            json!([[[]], {}, null, 1.0]),
            json!({ "file_path": 7, "old_string": [], "new_string": {} }),
            json!({ "file_path": { "path": "/w/a" }, "content": "x" }),
            json!({ "edits": "all", "changes": "many", "edit": 3 }),
            json!({ "changes": [{ "path": 7 }, null, "x"] }),
            json!({ "input": { "input": { "input": { "file_path": "/w/deep", "content": "x" } } } }),
            json!("{\"input\":\"{\\\"input\\\":"),
            json!("*** Begin Patch\n*** Update File:\n@@\n-x\n"),
        ] {
            assert_eq!(input(odd.clone()), [], "{odd}");
        }
        let odd = json!({
            "content": [7, null, [], { "type": "diff" }, { "type": "diff", "path": 1, "newText": "n" },
                { "type": "diff", "path": "/w/a", "newText": { "n": 1 } }, { "type": 3, "path": "/w/a", "newText": "n" },
                { "type": "diff", "changes": { "path": "/w/a" } }, { "type": "diff", "changes": [{ "operation": "modify" }] }],
            "locations": [7, { "path": ["/w/a"] }, "/w/a"], "_meta": { "claudeCode": { "toolResponse": [1, "x"] } },
        });
        assert_eq!(claims(odd), []);
    }

    #[test]
    fn an_editor_tool_with_its_verb_in_command_is_read() {
        let tool = |verb: &str, more: Value| {
            let mut input = json!({ "command": verb, "path": "/w/a" });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            input
        };
        assert_eq!(input(tool("create", json!({ "file_text": "t" }))), one("/w/a", whole("t")));
        assert_eq!(
            input(json!({ "action": tool("str_replace", json!({ "old_str": "x", "new_str": "y" })) })),
            one("/w/a", fragment("x", "y"))
        );
        let inserted = Said::Diff { old: None, new: "l\n".into() };
        assert_eq!(
            input(tool("insert", json!({ "insert_line": 3, "new_str": "l\n" }))),
            one("/w/a", inserted)
        );
        assert_eq!(input(tool("view", json!({}))), []);
    }

    #[test]
    fn a_unified_diff_beside_a_path_is_read() {
        let diff = "Index: /w/a\n===\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n";
        assert_eq!(
            input(json!({ "filepath": "/w/a", "diff": diff })),
            one("/w/a", fragment("x\nz\n", "y\nz\n"))
        );
        let made = "--- a\n+++ a\n@@ -0,0 +1,1 @@\n+t\n";
        assert_eq!(input(json!({ "fileName": "/w/n", "diff": made })), one("/w/n", whole("t\n")));
        let inserted = "--- a\n+++ a\n@@ -3,0 +4,1 @@\n+t\n";
        let says = Said::Diff { old: None, new: "t\n".into() };
        assert_eq!(input(json!({ "fileName": "/w/n", "diff": inserted })), one("/w/n", says));
    }

    #[test]
    fn the_changes_of_codex_are_read_in_their_three_forms() {
        let update = json!({ "unified_diff": "@@ -1 +1 @@\n-x\n+y\n", "move_path": "/w/b" });
        let moved = [
            ("/w/a".to_owned(), Said::Move { to: "/w/b".into() }),
            ("/w/a".to_owned(), fragment("x\n", "y\n")),
        ];
        assert_eq!(input(json!({ "call_id": "c", "changes": { "/w/a": { "update": update } } })), moved);
        let tagged = json!({ "type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n", "move_path": null });
        assert_eq!(input(json!({ "changes": { "/w/a": tagged } })), one("/w/a", fragment("x\n", "y\n")));
        let added = json!([{ "path": "/w/n", "kind": { "type": "add" }, "diff": "t\n" }]);
        assert_eq!(input(json!({ "changes": added })), one("/w/n", whole("t\n")));
        assert_eq!(
            input(json!({ "changes": { "/w/d": { "delete": { "content": "x" } } } })),
            one("/w/d", Said::Delete)
        );
    }

    #[test]
    fn a_patch_within_a_command_is_read_and_a_plain_command_claims_nothing() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch";
        let expected = one("a", fragment("x\n", "y\n"));
        assert_eq!(
            input(json!({ "command": ["bash", "-lc", format!("apply_patch <<'E'\n{patch}\nE")] })),
            expected
        );
        assert_eq!(input(json!({ "patchText": patch })), expected);
        assert_eq!(input(json!(patch)), expected);
        assert_eq!(input(json!(["apply_patch", patch])), expected);
        assert_eq!(input(json!({ "command": "mv a b", "cwd": "/w", "path": "/w" })), []);
        assert_eq!(input(json!({ "pattern": "x", "path": "/w/src" })), []);
    }

    #[test]
    fn what_claude_says_after_the_write_gives_the_text_before() {
        let done = json!({ "type": "update", "filePath": "/w/a", "content": "new", "originalFile": "old" });
        let found =
            claims(json!({ "_meta": { "claudeCode": { "toolName": "Write", "toolResponse": done } } }));
        let says = Said::Whole { old: Some("old".into()), new: "new".into() };
        assert_eq!(found, [("/w/a".into(), says, ClaimedIn::RawInput)]);
    }

    #[test]
    fn a_moving_tool_claims_both_ends() {
        let moved = Said::Move { to: "/w/b".into() };
        assert_eq!(input(json!({ "source": "/w/a", "destination": "/w/b" })), one("/w/a", moved));
    }

    #[test]
    fn a_version_2_diff_is_read_by_operation_with_the_texts_of_its_patch() {
        let patch = "diff --git a/w/a b/w/a\n--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-x\n+y\n";
        let found = claims(json!({ "content": [{
            "type": "diff",
            "changes": [
                { "operation": "modify", "path": "/w/a" },
                { "operation": "delete", "path": "/w/d" },
                { "operation": "move", "oldPath": "/w/o", "path": "/w/p" },
                { "operation": "_odd" },
            ],
            "patch": { "format": "git_patch", "text": patch },
        }] }));
        let says: Vec<_> = found.into_iter().map(|(path, says, _)| (path, says)).collect();
        assert_eq!(
            says,
            [
                ("/w/a".into(), fragment("x\n", "y\n")),
                ("/w/d".into(), Said::Delete),
                ("/w/o".into(), Said::Move { to: "/w/p".into() }),
                ("/w/p".into(), Said::Location),
            ]
        );
        let chunk = json!({ "toolCallId": 7, "content": { "type": "diff", "path": "a", "newText": "n" } })
            .to_string();
        let read = read_chunk(Raw::parse(&chunk).unwrap()).unwrap();
        assert_eq!((read.call.as_str(), read.claims.len()), ("7", 1));
    }

    #[test]
    fn a_permission_says_where_its_claims_were_read() {
        let call = json!({
            "toolCallId": "t", "kind": "execute",
            "rawInput": { "command": "rm c" }, "locations": [{ "path": "/w/c" }],
        })
        .to_string();
        let read = read(Raw::parse(&call).unwrap(), Some(ClaimedIn::Permission)).unwrap();
        let claim = CallClaim { path: "/w/c".into(), says: Said::Location, from: ClaimedIn::Permission };
        assert_eq!(read.claims, [claim]);
    }

    #[test]
    fn a_kind_proves_nothing_and_the_agents_own_name_that_a_tool_only_reads() {
        let reads = |fields: Value| {
            let mut call = fields;
            let id = call.get("toolCallId").cloned().unwrap_or_else(|| "t".into());
            call["toolCallId"] = id;
            call["locations"] = json!([{ "path": "/w/a" }]);
            let text = call.to_string();
            let update = read_update(Raw::parse(&text).unwrap()).unwrap();
            assert_eq!(update.claims.is_empty(), update.read_only);
            update.read_only
        };
        assert!(reads(json!({ "_meta": { "claudeCode": { "toolName": "Read" } } })));
        assert!(reads(json!({ "name": "Grep" })));
        assert!(reads(json!({ "_meta": { "toolName": "read_file" } })), "qwen");
        assert!(reads(json!({ "_meta": { "tool_name": "read_file" } })), "vibe");
        assert!(!reads(json!({ "_meta": { "toolName": "run_shell_command" }, "kind": "read" })));
        assert!(reads(json!({ "toolCallId": "read_file__1", "kind": "read" })));
        assert!(reads(json!({ "title": "read", "kind": "read" })));
        for title in ["read_text_file", "acp_filesystem/read_text_file", "read_text_file (streaming: 30)"] {
            assert!(reads(json!({ "title": title, "kind": "read" })), "fast-agent: {title}");
        }
        assert!(!reads(json!({ "title": "files/read_text_file", "kind": "read" })), "a server of the user's");
        assert!(!reads(json!({ "title": "cat a", "kind": "read" })));
        assert!(!reads(json!({ "title": "read", "kind": "execute" })));
        assert!(!reads(json!({ "name": "Bash", "title": "read", "kind": "read" })));
        assert!(!reads(json!({ "toolCallId": "run_shell_command__1", "title": "read", "kind": "read" })));
        assert!(!reads(
            json!({ "name": "Read", "content": [{ "type": "diff", "path": "/w/a", "newText": "n" }] })
        ));
    }
}
