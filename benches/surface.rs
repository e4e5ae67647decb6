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
use hunkgate::surface::tui::{Cmd, Depth, Keys, Model, Msg, Setup, Stroke, Tag, Theme, view};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tty::Tty;

const SIZE: (u16, u16) = (200, 60);
const ROUNDS: usize = 50;
/// Rejects of each kind, and turns of the agent, with a whole before one.
const REJECTS: usize = 10;
const TURNS: usize = 5;
/// How long a person looks before the next key.
const PAUSE: Duration = Duration::from_millis(300);

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
        let setup = Setup {
            keys: Keys::default(),
            theme: Theme(Depth::Dark),
            size: SIZE,
            title: "bench".to_owned(),
            live: true,
            seen: None,
        };
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

/// Crates that are looked at closely, of those that are the largest by their bytes.
const CLOSELY: usize = 6;

/// Returns the largest by a rough measure, cheap to take.
fn roughly<T>(all: impl Iterator<Item = T>, size: impl Fn(&T) -> u64) -> Vec<T> {
    let mut sized: Vec<(u64, T)> = all.map(|one| (size(&one), one)).collect();
    sized.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    sized.into_iter().take(CLOSELY).map(|(_, one)| one).collect()
}

/// Finds the two versions of one crate that differ most.
fn largest_real() -> Option<(String, PathBuf, PathBuf)> {
    let pairs = crates().into_iter().filter_map(|(name, versions)| {
        let (first, last) = (versions.first()?.clone(), versions.last()?.clone());
        (first != last).then_some((name, first, last))
    });
    let differing = |(_, first, last): &(String, PathBuf, PathBuf)| -> u64 {
        let read = |top: &Path, path: &str| std::fs::read(top.join(path)).unwrap_or_default();
        let differs = |path: String| {
            let (old, new) = (read(first, &path), read(last, &path));
            if old == new { 0 } else { old.len() + new.len() }
        };
        files(last, last).into_iter().map(differs).sum::<usize>() as u64
    };
    let largest = roughly(pairs, differing).into_iter().max_by_key(|(_, first, last)| {
        let hunks = between(first, last).hunks;
        hunks.iter().map(|hunk| hunk.after_content.len() + hunk.before_content.len()).sum::<usize>()
    });
    largest.map(|(name, first, last)| (format!("two versions of {name}"), first, last))
}

/// Finds the crate of ordinary sources that has most lines, to be added as a whole.
fn largest_whole() -> Option<(String, PathBuf)> {
    // Files that a machine made begin folded, and say little about reading.
    let generated = [
        "linux-raw-sys",
        "windows-sys",
        "winapi",
        "winapi-i686-pc-windows-gnu",
        "winapi-x86_64-pc-windows-gnu",
    ];
    let all = crates().into_iter().filter(|(name, _)| !generated.contains(&name.as_str()));
    let all = all.filter_map(|(name, mut versions)| Some((name, versions.pop()?)));
    let bytes = |(_, top): &(String, PathBuf)| -> u64 {
        files(top, top).iter().filter_map(|path| Some(top.join(path).metadata().ok()?.len())).sum()
    };
    let lines = |top: &Path| -> usize {
        let read = |path: &String| std::fs::read(top.join(path)).unwrap_or_default();
        files(top, top).iter().map(|path| read(path).iter().filter(|byte| **byte == b'\n').count()).sum()
    };
    let largest = roughly(all, bytes).into_iter().map(|(name, top)| (lines(&top), name, top)).max();
    largest.map(|(lines, name, top)| (format!("all of {name}, {lines} lines, added"), top))
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
fn hunks(whole: &Whole) -> (Vec<String>, usize) {
    let output = whole.command(&["hunks", "--json"]).output().unwrap();
    let listing: ListingShape = serde_json::from_slice(&output.stdout).unwrap();
    let owed = listing.hunks.iter().filter(|hunk| hunk.is_owed()).count();
    // A file that begins folded is decided as a whole.
    let mut hunks: BTreeMap<&str, usize> = BTreeMap::new();
    for hunk in listing.hunks.iter().filter(|hunk| hunk.entry.kind == "text" && !hunk.folded) {
        let lines = |text: &str| text.lines().count();
        *hunks.entry(&hunk.path).or_default() += lines(&hunk.before_content) + lines(&hunk.after_content);
    }
    let short = hunks.into_iter().filter(|(_, lines)| *lines <= 1_500);
    let mut paths: Vec<String> = short.map(|(path, _)| path.to_owned()).collect();
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
fn say_peak(what: &str, process: u32, must: &str) {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return };
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kib: u64 = peak.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default();
    println!("{what:<44} {:>8} MiB {:>12} {must:>9}", kib / 1024, "");
}

/// A tree that an agent changed, behind a proxy, and `hunkgate review` before it.
struct Whole {
    dir: tempfile::TempDir,
    proxy: Child,
    /// Until the editor goes away.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u32,
}

impl Whole {
    fn new(before: &Path, after: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let copied = Command::new("cp").arg("-R").arg(before.join(".")).arg(&tree).status().unwrap();
        assert!(copied.success());
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(["run", "--", "sh", "-c", AGENT]).env("TREE", &tree).env("AFTER", after);
        command.env("HUNKGATE_STATE_DIR", dir.path().join("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut proxy = command.spawn().unwrap();
        let (stdin, stdout) = (proxy.stdin.take(), BufReader::new(proxy.stdout.take().unwrap()));
        let mut whole = Self { dir, proxy, stdin, stdout, asked: 0 };
        whole.call("initialize", json!({ "protocolVersion": 1, "clientInfo": { "name": "bench" } }));
        whole.call("session/new", json!({ "cwd": tree.canonicalize().unwrap(), "mcpServers": [] }));
        whole.turn();
        whole
    }

    fn call(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = self.asked;
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.stdin.as_mut().unwrap(), "{frame}").unwrap();
        let mut line = String::new();
        while !(line.contains(&format!("\"id\":{id}")) && line.contains("\"result\"")) {
            line.clear();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the proxy ended");
        }
    }

    fn turn(&mut self) {
        let prompt = json!([{ "type": "text", "text": "go" }]);
        self.call("session/prompt", json!({ "sessionId": "s1", "prompt": prompt }));
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
        command.args(words).current_dir(self.dir.path().join("tree"));
        command.env("HUNKGATE_STATE_DIR", self.dir.path().join("state"));
        command
    }

    fn review(&self) -> Tty {
        let mut command = self.command(&["review"]);
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
        Tty::run(command, SIZE)
    }

    /// Rejects the first hunk of a file: from the key to the disk.
    fn reject(&self, tty: &mut Tty, path: &str, pause: Duration) -> Duration {
        let before = bar(tty);
        tty.keys(&format!("/{path}\r"));
        tty.until("the cursor in the file", |screen| {
            let contents = screen.contents();
            !contents.lines().last().unwrap_or_default().starts_with('/')
                && contents.contains(&format!(" {path}"))
        });
        std::thread::sleep(pause);
        let file = self.dir.path().join("tree").join(path);
        let changed = std::fs::read(&file).ok();
        let begun = Instant::now();
        tty.keys("x");
        while std::fs::read(&file).ok() == changed {
            assert!(begun.elapsed() < Duration::from_secs(60), "{path} is not put back:\n{}", tty.screen());
            std::thread::sleep(Duration::from_micros(100));
        }
        let taken = begun.elapsed();
        // A group may have been more than one.
        tty.until("the reject counted", |screen| count(&screen.contents(), '/') != before);
        taken
    }
}

/// Returns the first number of the bottom line before a mark: `3` of `3/20 · 2 new`.
fn count(screen: &str, mark: char) -> Option<usize> {
    let bar = screen.lines().last()?;
    let end = bar.find(mark)?;
    let digits = bar[..end].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn bar(tty: &Tty) -> Option<usize> {
    count(&tty.screen(), '/')
}

fn whole(name: &str, before: &Path, after: &Path) {
    println!("{name}: a proxy, an agent and `hunkgate review` on a terminal of {} × {}", SIZE.0, SIZE.1);
    let mut whole = Whole::new(before, after);
    let (owed, all) = hunks(&whole);
    let begun = Instant::now();
    let mut tty = whole.review();
    tty.sees(&format!("0/{all} "));
    row("  from the command to the first screen", begun.elapsed(), "-");
    let mut paths = owed.iter().cycle();
    let mut rejects = |tty: &mut Tty, pause| {
        median((0..REJECTS).filter_map(|_| Some(whole.reject(tty, paths.next()?, pause))).collect())
    };
    let paced = rejects(&mut tty, PAUSE);
    row("  reject of one hunk, from the key to the disk", paced, "<= 20ms");
    let rushed = rejects(&mut tty, Duration::ZERO);
    row("  the same while the last one is still listed", rushed, "-");
    let times = (0..TURNS).map(|_| {
        let news = |screen: &str| screen.contains(" new").then(|| count(screen, 'n')).flatten();
        let before = news(&tty.screen());
        let begun = Instant::now();
        whole.turn();
        tty.until("what is new", |screen| news(&screen.contents()) > before);
        begun.elapsed()
    });
    row("  a turn of the agent, until it is on screen", median(times.collect()), "-");
    say_peak("  most memory of the terminal UI", tty.child.id(), "<= 80MB");
    say_peak("  most memory of the proxy", whole.proxy.id(), "-");
    let decided = bar(&tty).unwrap();
    tty.leaves();
    drop(whole.stdin.take());
    whole.proxy.wait().unwrap();
    let begun = Instant::now();
    let tty = whole.review();
    tty.sees(&format!(" {decided}/"));
    row("  the first screen without a proxy", begun.elapsed(), "-");
    tty.leaves();
}
