//! The measurements between processes: a client, something in the middle, an agent.

use crate::peers::{AGENT, CHAINED_COPIER, COPIER, FLOOD};
use crate::{machine, median, notification};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const LINES: usize = 100_000;
const ROUNDS: usize = 15;
/// The conductor is asked for so many times less: its rounds would be all the time.
const CONDUCTOR_SHARE: usize = 20;
const ROUND_TRIPS: usize = 2_000;
const TRIPS_A_BLOCK: usize = 100;
const STALLED_BYTES: usize = 200_000_000;

/// Prints all tables.
pub(crate) fn tables() {
    let scratch = tempfile::tempdir().expect("a directory");
    let bench = Bench { ours: std::env::current_exe().expect("we are a file"), scratch: scratch.path() };
    let (lines, rounds) = (setting("HUNKGATE_BENCH_LINES", LINES), setting("HUNKGATE_BENCH_ROUNDS", ROUNDS));
    let mut copier = bench.copier();
    let mut hunkgate = bench.hunkgate();
    floods(&mut copier, &mut hunkgate, (lines, rounds));
    round_trips(&mut copier, &mut hunkgate);
    drop((copier, hunkgate));
    stalled(bench.hunkgate());
    match conductor() {
        Some(conductor) => conducted(&bench, &conductor, (lines, rounds)),
        None => println!("\nconductor: skipped, there is none on the PATH and CONDUCTOR names none"),
    }
}

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The conductor that `CONDUCTOR` names, or the one on the `PATH`.
fn conductor() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CONDUCTOR") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|dir| dir.join("agent-client-protocol-conductor"));
    places.find(|place| place.is_file())
}

/// Time on the clock and time on a processor.
#[derive(Default)]
struct Times {
    took: Vec<Duration>,
    ran: Vec<Duration>,
}

impl Times {
    fn add(&mut self, (took, ran): (Duration, Duration)) {
        self.took.push(took);
        self.ran.push(ran);
    }

    fn medians(self) -> (Duration, Duration) {
        (median(self.took), median(self.ran))
    }
}

fn floods(copier: &mut Session, hunkgate: &mut Session, (lines, rounds): (usize, usize)) {
    println!("between processes, {lines} notifications, medians of {rounds} interleaved rounds");
    let (mut theirs, mut ours, mut shares) = (Times::default(), Times::default(), Vec::new());
    for _ in 0..rounds {
        let (their, our) = (copier.flood(lines), hunkgate.flood(lines));
        shares.push(share(their.0, our.0));
        theirs.add(their);
        ours.add(our);
    }
    shares.sort_unstable_by(f64::total_cmp);
    let (theirs, ours) = (theirs.medians(), ours.medians());
    for (name, (took, ran)) in [("copier that peeks", theirs), ("hunkgate run", ours)] {
        let each = |time: Duration| time.as_nanos() / lines as u128;
        println!(
            "{name:20} {took:>10.2?}  {:>6} ns a line  {:>6} ns on a processor  {:>4.0} % of the copier",
            each(took),
            each(ran),
            share(theirs.0, took)
        );
    }
    println!(
        "throughput: {:.0} % of the copier (must be >= 60), median of the rounds' ratios {:.0} %, of its processor time {:.0} %",
        share(theirs.0, ours.0),
        shares[shares.len() / 2],
        share(theirs.1, ours.1)
    );
}

fn share(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64() * 100.0
}

fn round_trips(copier: &mut Session, hunkgate: &mut Session) {
    println!("\n{ROUND_TRIPS} round trips of a request, in turns of {TRIPS_A_BLOCK}");
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUND_TRIPS / TRIPS_A_BLOCK {
        theirs.extend((0..TRIPS_A_BLOCK).map(|_| copier.round_trip()));
        ours.extend((0..TRIPS_A_BLOCK).map(|_| hunkgate.round_trip()));
    }
    theirs.sort_unstable();
    ours.sort_unstable();
    for (name, per_mille) in [("p50", 500), ("p99", 990)] {
        let (their, our) = (theirs[ROUND_TRIPS * per_mille / 1_000], ours[ROUND_TRIPS * per_mille / 1_000]);
        let times = our.as_secs_f64() / their.as_secs_f64();
        println!("{name}: copier {their:>9.2?}  hunkgate {our:>9.2?}  {times:.2} times the copier");
    }
}

/// A client that stops reading while the agent goes on.
fn stalled(mut hunkgate: Session) {
    let lines = STALLED_BYTES / notification(0).len();
    let pid = hunkgate.child.id();
    let before = machine::kib(pid, "VmRSS");
    let id = hunkgate.ask_flood(lines);
    let (mut last, mut still) = (0, 0);
    while still < 20 {
        std::thread::sleep(Duration::from_millis(50));
        let now = machine::bytes_read(pid);
        still = if now == last && now > 0 { still + 1 } else { 0 };
        last = now;
    }
    let stalled = machine::kib(pid, "VmHWM");
    hunkgate.read_flood(lines, id);
    let grown = |now: u64| now.saturating_sub(before) / 1024;
    println!(
        "\na client that stops reading, {} MB flooded: {} MiB resident before, grown by {} MiB at the stall (by {} MiB at the end)",
        STALLED_BYTES / 1_000_000,
        before / 1024,
        grown(stalled),
        grown(machine::kib(pid, "VmHWM"))
    );
}

fn conducted(bench: &Bench<'_>, conductor: &Path, (lines, rounds): (usize, usize)) {
    let few = (lines / CONDUCTOR_SHARE).max(1);
    println!(
        "\nagainst the conductor: {few} notifications through it, {lines} through hunkgate, {rounds} interleaved rounds"
    );
    let mut hunkgate = bench.hunkgate();
    let agent = bench.agent_words();
    let chained = format!("{} {CHAINED_COPIER}", bench.ours.display());
    let ours = format!("{} chain", env!("CARGO_BIN_EXE_hunkgate"));
    let mut peers = [
        ("conductor, agent", bench.start(conductor, ["agent", &agent])),
        ("conductor, no-op proxy, agent", bench.start(conductor, ["agent", &chained, &agent])),
        ("conductor, hunkgate chain, agent", bench.start(conductor, ["agent", &ours, &agent])),
    ];
    let mut ours = Vec::new();
    let mut theirs = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        ours.push(hunkgate.flood(lines).0 / u32::try_from(lines).expect("few"));
        for ((_, peer), times) in peers.iter_mut().zip(&mut theirs) {
            times.push(peer.flood(few).0 / u32::try_from(few).expect("few"));
        }
    }
    let ours = median(ours);
    println!("{:34} {ours:>9.2?} a line", "hunkgate run");
    for ((name, _), times) in peers.iter().zip(theirs) {
        let theirs = median(times);
        let times = theirs.as_secs_f64() / ours.as_secs_f64();
        println!("{name:34} {theirs:>9.2?} a line: hunkgate run is {times:.1} times as fast");
    }
}

/// Where everything is.
struct Bench<'a> {
    ours: PathBuf,
    scratch: &'a Path,
}

impl Bench<'_> {
    fn hunkgate(&self) -> Session {
        let words = [OsStr::new("run"), OsStr::new("--"), self.ours.as_os_str(), OsStr::new(AGENT)];
        self.start(Path::new(env!("CARGO_BIN_EXE_hunkgate")), words)
    }

    fn copier(&self) -> Session {
        self.start(&self.ours, [OsStr::new(COPIER), self.ours.as_os_str(), OsStr::new(AGENT)])
    }

    fn agent_words(&self) -> String {
        format!("{} {AGENT}", self.ours.display())
    }

    /// Starts something in the middle, and opens a session in it.
    fn start<S: AsRef<OsStr>>(&self, program: &Path, words: impl IntoIterator<Item = S>) -> Session {
        let tree = self.scratch.join("tree");
        std::fs::create_dir_all(&tree).expect("made");
        let mut command = Command::new(program);
        command.args(words).current_dir(self.scratch).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HUNKGATE_STATE_DIR", self.scratch.join("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(256 * 1024, child.stdout.take().expect("piped"));
        let mut session = Session { child, stdin, stdout, asked: 0 };
        session.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        session.call("session/new", &json!({ "cwd": tree, "mcpServers": [] }));
        session.flood(1);
        session
    }
}

/// A client with an open session. It ends with its peer.
struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Session {
    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let line =
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n";
        self.stdin.as_mut().expect("open").write_all(line.as_bytes()).expect("it reads");
        id
    }

    fn call(&mut self, method: &str, params: &Value) {
        let id = self.ask(method, params);
        self.answer(id);
    }

    /// Reads up to the answer, and returns how many lines stood before it.
    fn answer(&mut self, id: u64) -> usize {
        let mut line = Vec::new();
        for before in 0.. {
            line.clear();
            let read = self.stdout.read_until(b'\n', &mut line).expect("readable");
            assert!(read > 0, "it ended before its answer");
            if memchr::memmem::find(&line, b"\"method\"").is_none() && is_answer(&line, id) {
                return before;
            }
        }
        unreachable!("it answers or ends")
    }

    fn round_trip(&mut self) -> Duration {
        let start = Instant::now();
        self.call("_bench/ping", &Value::Null);
        start.elapsed()
    }

    fn ask_flood(&mut self, lines: usize) -> u64 {
        let text = format!("{FLOOD}{lines}");
        self.ask(
            "session/prompt",
            &json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] }),
        )
    }

    /// Has the agent say so many lines. Measured is from the first to the last of them.
    fn flood(&mut self, lines: usize) -> (Duration, Duration) {
        let id = self.ask_flood(lines);
        self.read_flood(lines, id)
    }

    fn read_flood(&mut self, lines: usize, id: u64) -> (Duration, Duration) {
        self.stdout.fill_buf().expect("readable");
        let (start, ran) = (Instant::now(), machine::ran(self.child.id()));
        let mut seen = 0;
        while seen < lines {
            let bytes = self.stdout.fill_buf().expect("readable");
            assert!(!bytes.is_empty(), "it ended in the flood");
            let mut ends = memchr::memchr_iter(b'\n', bytes).skip(lines - seen - 1);
            let (used, found) = match ends.next() {
                Some(last) => (last + 1, lines - seen),
                None => (bytes.len(), memchr::memchr_iter(b'\n', bytes).count()),
            };
            seen += found;
            self.stdout.consume(used);
        }
        let took = (start.elapsed(), machine::ran(self.child.id()).saturating_sub(ran));
        self.answer(id);
        took
    }
}

fn is_answer(line: &[u8], id: u64) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|frame| frame["id"] == json!(id))
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = std::io::copy(&mut self.stdout, &mut std::io::sink());
        let _ = self.child.wait();
    }
}
