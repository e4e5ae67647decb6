//! What the terminal UI costs: `cargo bench --bench surface`.
//!
//! First the state and the screen alone, with 500 files and 20,000 changed lines, a giant lock file, and the largest difference
//! between two versions of one crate in cargo's own cache. Then the whole: a proxy, an agent that writes 500 files, `hunkgate
//! review` on a pseudo-terminal, and the time from a key to the disk and from a write to the screen; `-- screen` leaves that out.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    dead_code,
    reason = "a bench measures the world, with the tests' own terminal"
)]

#[path = "../tests/support/tty.rs"]
mod tty;

use hunkgate::diff::{Diff, Span, Text};
use hunkgate::ledger::ListingShape;
use hunkgate::review::Answer;
use hunkgate::surface::tui::{Cmd, Depth, Inks, Keys, Model, Msg, Setup, Stroke, Tag, Theme, view};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tty::Tty;

const SIZE: (u16, u16) = (200, 60);
const ROUNDS: usize = 200;

fn main() {
    println!("{:<44} {:>12} {:>12} {:>9}", "", "measured", "computing", "must be");
    screen("500 files, 20,000 changed lines", synthetic(500, 4, 5));
    screen("180 files, 20,000 changed lines", synthetic(180, 11, 5));
    lockfile();
    let (real, big) = (largest_real(), largest_whole());
    match &real {
        Some((name, first, last)) => screen(name, between(first, last)),
        None => println!("no two versions of one crate in cargo's cache"),
    }
    let nothing = tempfile::tempdir().unwrap();
    if let Some((name, top)) = &big {
        screen(name, between(nothing.path(), top));
    }
    if std::env::args().any(|arg| arg == "screen") {
        return;
    }
    let made = made();
    whole("500 files, 20,000 changed lines", &made.path().join("before"), &made.path().join("after"));
    if let Some((name, first, last)) = &real {
        whole(name, first, last);
    }
    if let Some((name, top)) = &big {
        whole(name, nothing.path(), top);
    }
}

fn row(what: &str, measured: Duration, must: &str) {
    println!("{what:<44} {measured:>12.2?} {:>12} {must:>9}", "");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A time by the clock, and how much of it this process computed: on a machine with other work they differ.
type Both = (Duration, Duration);

fn time(work: impl FnOnce()) -> Both {
    let cpu = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
    };
    let (begun, computed) = (Instant::now(), cpu());
    work();
    (begun.elapsed(), cpu().saturating_sub(computed))
}

fn both(what: &str, times: Vec<Both>, must: &str) {
    let (clock, computing): (Vec<Duration>, Vec<Duration>) = times.into_iter().unzip();
    println!("{what:<44} {:>12.2?} {:>12.2?} {must:>9}", median(clock), median(computing));
}

// ── the state and the screen ──

/// A model with its screen.
struct Desk {
    model: Model,
    terminal: Terminal<TestBackend>,
}

impl Desk {
    fn new() -> Self {
        let setup =
            Setup { keys: Keys::default(), theme: Theme(Depth::Dark), size: SIZE, title: "bench".to_owned() };
        let (model, _) = Model::new(setup);
        Self { model, terminal: Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap() }
    }

    fn tell(&mut self, msg: Msg) -> Vec<Cmd> {
        let cmds = self.model.update(msg);
        self.terminal.draw(|frame| view(&self.model, frame)).unwrap();
        cmds
    }

    fn key(&mut self, key: &str) -> Both {
        time(|| drop(self.tell(Msg::Key(Stroke::new(key)))))
    }

    fn listing(&mut self, listing: &ListingShape) -> Both {
        let answer = Box::new(Answer::Listing(listing.clone()));
        time(|| drop(self.tell(Msg::Answered(Tag::Queue, answer))))
    }
}

fn screen(name: &str, listing: ListingShape) {
    let changed: usize = listing
        .hunks
        .iter()
        .map(|hunk| hunk.before_content.lines().count() + hunk.after_content.lines().count())
        .sum();
    println!("{name}: {} hunks, {changed} changed lines", listing.hunks.len());
    both("  first screen after its data", (0..9).map(|_| Desk::new().listing(&listing)).collect(), "<= 15ms");
    let mut desk = Desk::new();
    desk.listing(&listing);
    let mut jump = |what: &str, key: &str| both(what, (0..ROUNDS).map(|_| desk.key(key)).collect(), "<= 8ms");
    jump("  to the next hunk", "j");
    jump("  to the next file", "}");
    jump("  a page", "pageup");
    jump("  side by side and back", "s");
    jump("  by file, by call, by turn", "t");
    both("  another listing while one reads", (0..9).map(|_| desk.listing(&listing)).collect(), "<= 15ms");
}

fn lockfile() {
    let lines =
        |name: &str| (0..60_000).map(|n| format!("  \"{name}{n}\": \"1.0.{n}\",\n")).collect::<String>();
    let mut lock = hunk(0, "package-lock.json", (1, &lines("a")), (1, &lines("b")));
    lock["folded"] = json!(true);
    let listing = json!({ "session_id": "s", "hunks": [lock, hunk(1, "src/a.rs", (3, "a\n"), (3, "b\n"))] });
    let listing: ListingShape = serde_json::from_value(listing).unwrap();
    println!("a lock file of 120,000 changed lines");
    let mut desk = Desk::new();
    both("  first screen after its data, folded", vec![desk.listing(&listing)], "<= 15ms");
    desk.key("g");
    both("  opened", vec![desk.key("enter")], "<= 15ms");
    both("  a page of it", (0..ROUNDS).map(|_| desk.key("pagedown")).collect(), "<= 8ms");
}

fn hunk(nth: usize, path: &str, (base, before): (u32, &str), (current, after): (u32, &str)) -> Value {
    let lines = |text: &str| u32::try_from(text.lines().count()).unwrap();
    let call = json!({ "session_id": "s", "tool_call_id": format!("t{}", nth % 40), "title": format!("Edit {path}"), "kind": "edit", "turn": 1 });
    json!({
        "id": format!("{nth:032x}"), "root": "/home/me/repo", "path": path,
        "base_range": { "start": base, "end": base + lines(before) },
        "current_range": { "start": current, "end": current + lines(after) },
        "before_content": before, "after_content": after, "tool_call_ids": [format!("t{}", nth % 40)],
        "state": "unreviewed", "reapplied": false, "digest": format!("{nth:016x}"), "entry": { "kind": "text" },
        "evidence": { "grade": "verified", "grades": {}, "candidates": [], "turn": 1, "sessions": [] },
        "mixed": false, "author_lines": [], "calls": [call],
    })
}

/// Files with so many hunks each, of so many lines on either side.
fn synthetic(files: usize, hunks: usize, lines: usize) -> ListingShape {
    let text = |word: &str, file: usize, at: usize| -> String {
        (0..lines)
            .map(|line| format!("    let {word}_{line} = compute({file}, {at}, {line}); // what it is for\n"))
            .collect()
    };
    let all: Vec<Value> = (0..files * hunks)
        .map(|nth| {
            let (file, at) = (nth / hunks, nth % hunks);
            let start = u32::try_from(at * 40 + 10).unwrap();
            let path = format!("src/part{:02}/file{file:03}.rs", file / 20);
            hunk(nth, &path, (start, &text("old", file, at)), (start, &text("new", file, at)))
        })
        .collect();
    serde_json::from_value(json!({ "session_id": "s", "hunks": all })).unwrap()
}

// ── a real difference ──

/// Returns the crates in cargo's cache: their names, and the directories of their versions.
fn crates() -> BTreeMap<String, Vec<PathBuf>> {
    let mut crates: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let cache = home.map(|home| home.join("registry/src")).unwrap_or_default();
    for index in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        for package in std::fs::read_dir(index.path()).into_iter().flatten().flatten() {
            let name = package.file_name().into_string().unwrap_or_default();
            let cut = name
                .match_indices('-')
                .map(|(at, _)| at)
                .find(|at| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
            if let Some(cut) = cut {
                crates.entry(name[..cut].to_owned()).or_default().push(package.path());
            }
        }
    }
    crates.values_mut().for_each(|versions| versions.sort());
    crates
}

/// Finds the two versions of one crate that differ most.
fn largest_real() -> Option<(String, PathBuf, PathBuf)> {
    let pairs = crates().into_iter().filter(|(_, versions)| versions.len() > 1);
    let sized = pairs.map(|(name, versions)| {
        let (first, last) = (versions[0].clone(), versions[versions.len() - 1].clone());
        let texts = between(&first, &last).hunks;
        let size = texts.iter().map(|hunk| hunk.after_content.len() + hunk.before_content.len());
        (size.sum::<usize>(), name, first, last)
    });
    let (_, name, first, last) = sized.max_by_key(|(size, ..)| *size)?;
    Some((format!("two versions of {name}"), first, last))
}

/// Finds the crate of ordinary sources that has most lines, to be added as a whole.
fn largest_whole() -> Option<(String, PathBuf)> {
    let lines = |top: &Path| -> usize {
        let read = |path: String| std::fs::read(top.join(path)).unwrap_or_default();
        files(top, top).into_iter().map(|path| read(path).iter().filter(|byte| **byte == b'\n').count()).sum()
    };
    // Files that a machine made begin folded, and say little about reading.
    let generated = [
        "linux-raw-sys",
        "windows-sys",
        "winapi",
        "winapi-i686-pc-windows-gnu",
        "winapi-x86_64-pc-windows-gnu",
    ];
    let all = crates().into_iter().filter(|(name, _)| !generated.contains(&name.as_str()));
    let (lines, name, top) = all
        .filter_map(|(name, versions)| Some((lines(versions.last()?), name, versions.last()?.clone())))
        .max()?;
    Some((format!("all of {name}, {lines} lines, added"), top))
}

fn between(first: &Path, last: &Path) -> ListingShape {
    let mut hunks = Vec::new();
    for path in files(last, last) {
        let read = |top: &Path| std::fs::read_to_string(top.join(&path)).unwrap_or_default();
        let (before, after) = (Text::new(read(first).into_bytes()), Text::new(read(last).into_bytes()));
        let slice = |text: &Text, span: Span| String::from_utf8_lossy(text.slice(span)).into_owned();
        for found in Diff::of(&before, &after).hunks {
            let (old, new) = (slice(&before, found.base), slice(&after, found.current));
            hunks.push(hunk(hunks.len(), &path, (found.base.start, &old), (found.current.start, &new)));
        }
    }
    serde_json::from_value(json!({ "session_id": "s", "hunks": hunks })).unwrap()
}

fn files(top: &Path, dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(top, &path));
        } else if let Ok(path) = path.strip_prefix(top) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found
}

// ── the whole ──

/// An agent that copies what is there afterwards when it is prompted, and writes one file more for each further prompt.
const AGENT: &str = r#"
turn=0
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"bench","version":"1"}}}';;
    *'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s1"}}';;
    *'"session/prompt"'*)
      turn=$((turn + 1))
      update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"toolCallId":"t'$turn'"'
      echo "$update"',"sessionUpdate":"tool_call","title":"Edit","kind":"execute","status":"in_progress"}}}'
      if [ $turn = 1 ]; then cp -R "$AFTER/." "$TREE/"
      else printf 'more %s\n' $turn > "$TREE/zz$turn"; fi
      echo "$update"',"sessionUpdate":"tool_call_update","status":"completed"}}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

/// Returns paths of the queue that one key decides, each once, and how much is owed in all.
fn hunks(tree: &Path, state: &Path) -> (Vec<String>, usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.args(["hunks", "--json"]).current_dir(tree).env("HUNKGATE_STATE_DIR", state);
    let listing: ListingShape = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let owed = listing.hunks.iter().filter(|hunk| hunk.is_owed()).count();
    let texts = listing.hunks.into_iter().filter(|hunk| hunk.entry.kind == "text" && !hunk.folded);
    let mut paths: Vec<String> = texts.map(|hunk| hunk.path).collect();
    paths.dedup();
    // From the middle, where not everything is in sight already.
    let middle = paths.len() / 3;
    paths.rotate_left(middle);
    (paths, owed)
}

/// Makes files in which four stretches of five lines are changed: 20,000 lines, the old ones and the new ones.
fn made() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, word) in [("before", "even"), ("after", "EVEN")] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        let text: String =
            (0..100).map(|line| format!("{} {line}\n", if line % 25 < 5 { word } else { "odd" })).collect();
        for file in 0..500 {
            std::fs::write(dir.path().join(name).join(format!("f{file:03}")), &text).unwrap();
        }
    }
    dir
}

/// Prints the most memory that a process had, where the system tells.
fn say_peak(process: u32) {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return };
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kib: u64 = peak.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default();
    let what = "  most memory of the terminal UI";
    println!("{what:<44} {:>8} MiB {:>12} {:>9}", kib / 1024, "", "<= 80MB");
}

fn whole(name: &str, before: &Path, after: &Path) {
    println!("{name}: a proxy, an agent and `hunkgate review` on a terminal of {} × {}", SIZE.0, SIZE.1);
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let tree = top.join("tree");
    std::fs::create_dir(&tree).unwrap();
    let copied = Command::new("cp").arg("-R").arg(before.join(".")).arg(&tree).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command
        .args(["run", "--", "sh", "-c", AGENT])
        .env("TREE", &tree)
        .env("AFTER", after)
        .env("HUNKGATE_STATE_DIR", top.join("state"));
    let mut proxy =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = proxy.stdin.take().unwrap();
    let mut stdout = BufReader::new(proxy.stdout.take().unwrap());
    let mut call = |id: u32, method: &str, params: Value| {
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .unwrap();
        let mut line = String::new();
        while !(line.contains(&format!("\"id\":{id}")) && line.contains("\"result\"")) {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "the proxy ended");
        }
    };
    call(1, "initialize", json!({ "protocolVersion": 1, "clientInfo": { "name": "bench" } }));
    call(2, "session/new", json!({ "cwd": tree, "mcpServers": [] }));
    let mut prompt = |id: u32| {
        call(
            id,
            "session/prompt",
            json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "go" }] }),
        );
    };
    prompt(3);
    let review = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.arg("review").current_dir(&tree).env("HUNKGATE_STATE_DIR", top.join("state"));
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
        Tty::run(command, SIZE)
    };
    let (owed, all) = hunks(&tree, &top.join("state"));
    let begun = Instant::now();
    let mut tty = review();
    tty.sees(&format!("0/{all} "));
    row("  from the command to the first screen", begun.elapsed(), "-");
    let mut reject = |nth: usize, pause: Duration| {
        let path = owed[nth % owed.len()].clone();
        tty.keys(&format!("/{path}\r"));
        tty.sees(&format!(" {path}"));
        std::thread::sleep(pause);
        let screen = tty.screen();
        let last = screen.lines().last().unwrap_or_default().trim_start();
        let progress = format!(" {} ", last.split(' ').next().unwrap_or_default());
        let file = tree.join(&path);
        let changed = std::fs::read(&file).ok();
        let begun = Instant::now();
        tty.keys("x");
        while std::fs::read(&file).ok() == changed {
            std::thread::sleep(Duration::from_micros(100));
        }
        let taken = begun.elapsed();
        // A group may have been more than one.
        tty.loses(&progress);
        taken
    };
    let paced = (0..15).map(|nth| reject(nth, Duration::from_millis(500))).collect();
    row("  reject of one hunk, from the key to the disk", median(paced), "<= 20ms");
    let rushed = (15..30).map(|nth| reject(nth, Duration::ZERO)).collect();
    row("  the same while the last one is still listed", median(rushed), "-");
    let mut times = Vec::new();
    for nth in 0..9 {
        let begun = Instant::now();
        prompt(10 + nth);
        tty.sees(&format!("{} new", nth + 1));
        times.push(begun.elapsed());
    }
    row("  a turn of the agent, until it is on screen", median(times), "-");
    say_peak(tty.child.id());
    tty.keys("q");
    tty.ends(0);
    drop(stdin);
    let _ = proxy.wait();
    let begun = Instant::now();
    let tty = review();
    tty.sees("rejected ");
    row("  the same without a proxy", begun.elapsed(), "-");
    drop(Inks::unpack());
    let begun = Instant::now();
    drop(Inks::unpack());
    row("  unpacking the grammars, beside it", begun.elapsed(), "-");
}
