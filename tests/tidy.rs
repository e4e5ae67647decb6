//! The shape of the tree: who may import whom, what a sign says, how long a file is, what must not be committed.
//!
//! The tables are read from `docs/architecture.md`; they are the only copy.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "this test reads the tree it stands in")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file, its tests apart.
const LONGEST_FILE: usize = 900;
/// Lines of documentation in a sign.
const LONGEST_SIGN: usize = 40;
/// What a sign says.
const HEADINGS: &[&str] = &["**Job.**", "**Words.**", "**Uses.**", "**Not here.**"];
/// Parts of the standard library that touch the world.
const WORLD: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::os",
    "Instant::now",
    "SystemTime",
];

#[test]
fn imports_only_go_up_the_map() {
    let map = Map::read();
    check(|file, source| edges_against(&map, file, source));
}

#[test]
fn a_foreign_crate_stays_in_its_room() {
    let map = Map::read();
    check(|file, source| foreigners(&map, file, source));
}

#[test]
fn a_pure_room_never_touches_the_world() {
    let map = Map::read();
    check(|file, source| worldly(&map, file, source));
}

#[test]
fn a_sign_has_its_headings_and_is_short() {
    check(|file, source| if file.ends_with("/mod.rs") { unsigned(file, source) } else { Vec::new() });
}

#[test]
fn no_file_is_longer_than_nine_hundred_lines() {
    check(|file, source| {
        let lines = before_tests(source).lines().count();
        if lines > LONGEST_FILE { vec![format!("{file}: {lines} lines")] } else { Vec::new() }
    });
}

#[test]
fn every_room_on_disk_is_on_the_map_and_the_other_way_round() {
    let map = Map::read();
    let on_disk: BTreeSet<String> = fs::read_dir(top().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let on_map: BTreeSet<String> = map.rooms.keys().cloned().collect();
    assert_eq!(on_disk, on_map);
}

#[test]
fn the_map_has_no_cycle() {
    let map = Map::read();
    let mut order: Vec<&String> = Vec::new();
    while order.len() < map.rooms.len() {
        let ready = |(room, uses): &(&String, &BTreeSet<String>)| {
            !order.contains(room) && uses.iter().all(|used| order.contains(&used))
        };
        let next = map.rooms.iter().find(ready).map(|(room, _)| room);
        order.push(next.unwrap_or_else(|| panic!("a cycle beside {order:?}")));
    }
}

#[test]
fn nothing_of_a_machine_or_of_a_person_is_committed() {
    // A mark, and how many letters or digits follow it where it is the real thing.
    let marks = [
        (concat!("/wo", "rk/"), 1),
        (concat!("/ro", "ot/"), 1),
        ("ghp_", 20),
        ("sk-ant-", 12),
        (concat!("BEGIN PRIV", "ATE KEY"), 0),
    ];
    let mut found = Vec::new();
    for file in committed() {
        let bytes = fs::read(top().join(&file)).unwrap();
        for (mark, _) in marks.iter().filter(|(mark, more)| holds(&bytes, mark.as_bytes(), *more)) {
            found.push(format!("{file}: {mark}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn nothing_is_left_for_later_in_the_source() {
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("un", "implemented!("), concat!("to", "do!(")];
    check(|file, source| {
        let held = marks.iter().filter(|mark| source.contains(**mark));
        held.map(|mark| format!("{file}: {mark}")).collect()
    });
}

#[test]
fn every_trap_law_and_case_has_its_test() {
    let page = fs::read_to_string(top().join("docs/testing.md")).unwrap();
    let tests = Tests::read();
    let rows: BTreeMap<&str, Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        .map(|(name, rest)| {
            (
                name,
                rest.split('`')
                    .skip(1)
                    .step_by(2)
                    .filter(|test| test.contains("::") && !test.contains(' '))
                    .collect(),
            )
        })
        .collect();
    let missing: Vec<_> = rows.values().flatten().filter(|test| !tests.hold(test)).collect();
    assert!(missing.is_empty(), "docs/testing.md names tests that are not there: {missing:#?}");
    // C35 is about exports.
    let numbers = (22..=75).chain(80..=85).filter(|number| *number != 35);
    let cases: Vec<String> = numbers.map(|number| format!("C{number}")).collect();
    let wanted = TRAPS.iter().chain(DECIDED).copied().chain(cases.iter().map(String::as_str));
    let bare: Vec<_> = wanted.filter(|name| rows.get(name).is_none_or(Vec::is_empty)).collect();
    assert!(bare.is_empty(), "docs/testing.md names no test for {bare:?}");
    let unsaid: Vec<_> = cases.iter().filter(|case| !tests.mention(case)).collect();
    assert!(unsaid.is_empty(), "no comment of a test names {unsaid:?}");
}

/// Traps of worktrees, none of which may lose its test.
const TRAPS: &[&str] = &[
    "racy same-size rewrites",
    "rename with old mtime",
    "chmod only",
    "symlinks",
    "file ↔ directory",
    "nested repositories",
    "submodules",
    "non-UTF-8 and newline names",
    "case pairs",
    "CRLF under every attribute",
    "clean filters",
    "LFS",
    "hooks and monitors",
    "tracked but ignored",
    "ignored and named by a call",
    "ignore rules changed meanwhile",
    "assume-unchanged and skip-worktree",
    "sparse checkout",
    "unmerged index",
    "index.lock held",
    "unborn HEAD",
    "linked worktrees",
    "SHA-256 repositories",
    "foreign owners",
    "unreadable files and directories",
    "FIFOs",
    "huge files",
    "a root that is the home",
    "mmap writers",
    "hard links",
    "create and unlink storms",
    "truncation while reading",
];

/// Rows of what is decided, none of which may lose its test.
const DECIDED: &[&str] = &[
    "state: it arrives",
    "state: open, allowed",
    "state: open, denied",
    "state: open, the turn is cancelled",
    "state: open, taken back",
    "state: open, the agent dies",
    "state: open, its time is up",
    "state: open, asked anew",
    "state: open, the turn ends",
    "state: open, the proxy is killed",
    "state: allowed, used once",
    "state: allowed, void",
    "state: allowed, cancelled before it goes on",
    "state: allowed, taken back before it goes on",
    "state: used, settled",
    "state: used, a follow-up",
    "state: an answer that does not fit",
    "closed: a command that cannot be parsed",
    "closed: an unknown option",
    "closed: an unknown tool, no raw input",
    "closed: an unknown mode",
    "closed: an unknown subject",
    "closed: rules that cannot be used",
    "closed: a path that leads nowhere",
    "closed: a base that cannot be read",
    "closed: an assessor that fails",
    "closed: an answer that was not offered, an error",
    "closed: the editor goes away",
    "closed: a journal that fails",
    "closed: a fault of ours",
    "closed: a damaged file of permissions",
    "agent: claude",
    "agent: gemini",
    "agent: opencode",
    "cancel: while it is judged or a program is asked",
    "cancel: while it is asked",
    "cancel: while it waits for a command",
    "cancel: while its allow waits for a look",
    "cancel: with two open",
    "cancel: before the gate",
    "gate: plan holds nothing",
    "gate: auto holds nothing",
    "gate: normal holds",
    "gate: an unknown mode holds, a table says what one means",
    "gate: only the messages that are named",
    "gate: what is owed, and what never holds",
    "gate: it waits and is not denied, without a clock",
    "gate: a review releases it",
    "gate: a person releases or refuses it",
    "gate: the configuration releases it",
    "gate: the ends answer it",
    "gate: its subject is what the call claims",
    "gate: a call that starts another agent",
    "gate: commands are not held for review",
    "gate: a root that cannot be trusted",
    "gate: after a reject",
    "state: open, its call says something else",
    "wire: options not understood",
    "wire: always",
    "wire: no option that rejects",
    "wire: a follow-up says what came before",
    "wire: questions of ours",
    "wire: terminals",
    "wire: sub-agents",
    "wire: nobody to ask",
    "wire: out of order, from two doors",
    "wire: one id twice, too many",
];

/// The tests of the tree: a function or a transcript each.
struct Tests {
    sources: Vec<(String, String)>,
}

impl Tests {
    fn read() -> Self {
        let files = ["src", "tests"].iter().flat_map(|dir| files_beneath(dir, "rs"));
        let files = files.chain(files_beneath("tests", "acp"));
        let read = |file: String| fs::read_to_string(top().join(&file)).map(|text| (file, text)).ok();
        Self { sources: files.filter_map(read).collect() }
    }

    /// Says whether `room::module::name`, `binary::module::name` or `transcripts::area/name` is a test.
    fn hold(&self, test: &str) -> bool {
        let (place, name) = test.rsplit_once("::").unwrap();
        if place == "transcripts" {
            return self.sources.iter().any(|(file, _)| *file == format!("tests/acp_transcripts/{name}.acp"));
        }
        let path = place.replace("::", "/");
        let homes = [path.clone(), path.strip_suffix("/tests").unwrap_or(&path).to_owned()];
        let marked = "#[test]\n";
        let declared = format!("fn {name}()");
        self.sources.iter().any(|(file, text)| {
            let stem = file.strip_suffix(".rs").unwrap_or(file);
            let at_home =
                homes.iter().any(|home| stem == format!("src/{home}") || stem == format!("tests/{home}"));
            let is_test =
                |at: usize| text[..at].rfind(marked).is_some_and(|mark| !text[mark..at].contains('}'));
            at_home && text.find(&declared).is_some_and(is_test)
        })
    }

    /// Says whether a comment of a test beneath `tests/` names a case.
    fn mention(&self, case: &str) -> bool {
        let mut lines = self
            .sources
            .iter()
            .filter(|(file, _)| file.starts_with("tests/"))
            .flat_map(|(_, text)| text.lines());
        lines.any(|line| (line.starts_with("//") || line.starts_with('#')) && line.contains(case))
    }
}

// ── the checkers catch what they are for ──

#[test]
fn a_wrong_import_is_caught() {
    let map = Map::read();
    for source in [
        "use crate::host::run;",
        "use crate::{base::Tick, host::run};",
        "fn f() -> crate::store::StateDir { loop {} }",
        "pub use crate::engine::{Action, Input};",
    ] {
        assert_eq!(edges_against(&map, "src/ledger/wrong.rs", source).len(), 1, "{source}");
    }
    for source in [
        "use crate::base::Tick;",
        "use crate::{base::Tick, diff::lines};",
        "//! See [`run`](crate::host::run).",
        "/* crate::host */ const WORD: &str = \"crate::host\";",
        "use crate::ledger::Event;",
    ] {
        assert_eq!(edges_against(&map, "src/ledger/right.rs", source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn a_foreign_crate_in_the_wrong_room_is_caught() {
    let map = Map::read();
    for (file, source) in [
        ("src/store/walk.rs", "use git2::Oid;"),
        ("src/engine/step.rs", "fn f() { tokio::spawn(async {}); }"),
        ("src/acp/author.rs", "use agent_client_protocol as sdk;"),
        ("src/ledger/fold.rs", "use {std::fmt, clap::Parser};"),
    ] {
        assert_eq!(foreigners(&map, file, source).len(), 1, "{file} {source}");
    }
    assert!(foreigners(&map, "src/store/objects.rs", "use git2::Oid;").is_empty());
    assert!(foreigners(&map, "src/store/walk.rs", "// git2::Oid\nuse super::git2_like;").is_empty());
}

#[test]
fn a_look_at_the_world_from_a_pure_room_is_caught() {
    let map = Map::read();
    assert_eq!(worldly(&map, "src/diff/text.rs", "use std::fs;").len(), 1);
    assert!(worldly(&map, "src/diff/text.rs", "#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
    assert!(worldly(&map, "src/store/walk.rs", "use std::fs;").is_empty());
}

#[test]
fn a_sign_without_its_headings_is_caught() {
    assert_eq!(unsigned("src/x/mod.rs", "//! **Job.** **Words.** **Uses.**\nmod a;").len(), 1);
    let long = "//! **Job.** **Words.** **Uses.** **Not here.**\n".repeat(41);
    assert_eq!(unsigned("src/x/mod.rs", &long).len(), 1);
}

// ── the map ──

/// What `docs/architecture.md` says.
struct Map {
    /// Room → the rooms that it may use.
    rooms: BTreeMap<String, BTreeSet<String>>,
    /// Foreign crate → the rooms or files that may use it.
    foreign: BTreeMap<String, BTreeSet<String>>,
    /// Rooms that may touch the world.
    worldly: BTreeSet<String>,
}

impl Map {
    fn read() -> Self {
        let page = fs::read_to_string(top().join("docs/architecture.md")).unwrap();
        let mut map = Self { rooms: BTreeMap::new(), foreign: BTreeMap::new(), worldly: BTreeSet::new() };
        for row in page.lines().filter_map(|line| line.strip_prefix("| ")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            if let Some((room, uses)) = cells[0].strip_prefix("**").and_then(|cell| cell.split_once("**: ")) {
                let uses = uses.split(", ").filter(|used| *used != "nothing").map(str::to_owned).collect();
                map.rooms.insert(room.to_owned(), uses);
            } else if let Some(name) =
                cells[0].strip_prefix("crate `").and_then(|cell| cell.strip_suffix('`'))
            {
                let places = cells[1].trim_end_matches(" |").split(", ").filter(|place| *place != "nowhere");
                map.foreign.insert(name.to_owned(), places.map(str::to_owned).collect());
            } else if let Some(rooms) = row.strip_prefix("touch the world | ") {
                map.worldly = rooms.trim_end_matches(" |").split(", ").map(str::to_owned).collect();
            }
        }
        assert!(
            map.rooms.len() > 10 && map.foreign.len() > 3 && !map.worldly.is_empty(),
            "the tables are gone"
        );
        map
    }
}

/// Returns the room of a file; `config` for `src/config.rs`, `None` for the map and the binary.
fn room(file: &str) -> Option<&str> {
    let beneath = file.strip_prefix("src/")?;
    match beneath.split_once('/') {
        Some((room, _)) => Some(room),
        None => beneath.strip_suffix(".rs").filter(|name| *name == "config"),
    }
}

// ── the checkers: a file's name and text in, complaints out ──

fn edges_against(map: &Map, file: &str, source: &str) -> Vec<String> {
    let Some(room) = room(file) else { return Vec::new() };
    let allowed = map.rooms.get(room).unwrap_or_else(|| panic!("{room} is not on the map"));
    let used = imported_rooms(&code(source));
    let wrong =
        used.iter().filter(|used| map.rooms.contains_key(*used) && *used != room && !allowed.contains(*used));
    wrong.map(|used| format!("{file}: {room} may not use {used}")).collect()
}

/// Returns the rooms named after `crate::`, also in groups.
fn imported_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, mark) in code.match_indices("crate::") {
        let rest = &code[at + mark.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            rooms.extend(group_heads(group));
        } else {
            rooms.insert(first_word(rest).to_owned());
        }
    }
    rooms
}

/// Returns the first word of each member of a group, up to the brace that closes it.
fn group_heads(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut fresh) = (Vec::new(), 0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if c.is_alphabetic() && fresh => {
                heads.push(first_word(&group[at..]).to_owned());
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

fn foreigners(map: &Map, file: &str, source: &str) -> Vec<String> {
    let code = code(before_tests(source));
    let place = file.trim_start_matches("src/").trim_end_matches(".rs");
    let beneath =
        |allowed: &String| place.strip_prefix(allowed.as_str()).is_some_and(|rest| rest.starts_with('/'));
    let may = |places: &BTreeSet<String>| {
        places.iter().any(|allowed| place == allowed || beneath(allowed) || room(file) == Some(allowed))
    };
    let wrong = map.foreign.iter().filter(|(name, places)| !may(places) && names_crate(&code, name));
    wrong.map(|(name, _)| format!("{file}: {name} does not belong here")).collect()
}

/// Says whether code names a crate: as a whole word, at the beginning of a path or of an import.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end();
        let after = &code[at + name.len()..];
        let whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let heads = !before.ends_with("::") && !before.ends_with('.');
        whole && heads && (after.starts_with("::") || before.ends_with("use"))
    })
}

fn worldly(map: &Map, file: &str, source: &str) -> Vec<String> {
    if room(file).is_none_or(|room| map.worldly.contains(room)) {
        return Vec::new();
    }
    let code = code(before_tests(source));
    let touched = WORLD.iter().filter(|part| code.contains(**part));
    touched.map(|part| format!("{file}: {part} in a pure room")).collect()
}

fn unsigned(file: &str, source: &str) -> Vec<String> {
    let sign: Vec<&str> = source.lines().filter(|line| line.starts_with("//!")).collect();
    let text = sign.join("\n");
    let mut wrong: Vec<String> = HEADINGS
        .iter()
        .filter(|heading| !text.contains(**heading))
        .map(|heading| format!("{file}: no {heading}"))
        .collect();
    if sign.len() > LONGEST_SIGN {
        wrong.push(format!("{file}: a sign of {} lines", sign.len()));
    }
    wrong
}

// ── reading ──

/// Runs a checker over every source file and fails with all its complaints.
fn check(checker: impl Fn(&str, &str) -> Vec<String>) {
    let mut complaints = Vec::new();
    for file in files_beneath("src", "rs") {
        let source = fs::read_to_string(top().join(&file)).unwrap();
        complaints.extend(checker(&file, &source));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Returns source text without comments and string contents.
fn code(source: &str) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => string_length(rest),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |at| at + 2),
            '\'' => char_length(rest),
            _ => 0,
        };
        if skipped == 0 {
            kept.push(c);
        }
        rest = &rest[skipped.max(c.len_utf8())..];
    }
    kept
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal, or 0 for a lifetime.
fn char_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |at| at + 4),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

fn before_tests(source: &str) -> &str {
    source.find("#[cfg(test)]").map_or(source, |at| &source[..at])
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Says whether `mark` stands at the beginning of a word, with at least `more` letters or digits behind it.
fn holds(bytes: &[u8], mark: &[u8], more: usize) -> bool {
    let behind =
        |at: usize| bytes[at + mark.len()..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let begins = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let here = |(at, window): (usize, &[u8])| window == mark && begins(at) && behind(at) >= more;
    bytes.windows(mark.len()).enumerate().any(here)
}

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns what is committed, or would be: everything beside the build and git's own directory.
fn committed() -> Vec<String> {
    files_beneath("", "")
        .into_iter()
        .filter(|file| !file.starts_with("target/") && !file.starts_with(".git/"))
        .collect()
}

fn files_beneath(directory: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![top().join(directory)];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !path.is_symlink() && name != "target" && name != ".git" {
                open.push(path);
            } else if path.is_file() && (extension.is_empty() || has_extension(&path, extension)) {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
