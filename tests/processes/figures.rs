//! The figures of docs/web.md: `cargo test --release --test processes figures -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
#![allow(clippy::print_stdout, reason = "the figures are printed")]
use crate::scratch::Scratch;
use crate::web::{Console, scene};
use crate::webdriver::Browser;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long writes follow each other, in each manner.
const STEADY: Duration = Duration::from_secs(5);
/// How often something is written then, in milliseconds.
const EVERY: [u64; 4] = [100, 250, 400, 700];

/// Notes when the n-th of what `window.there` finds is painted: in `window.painted`, as milliseconds since the epoch.
const NOTE: &str = "
    window.painted = {};
    window.eyes?.disconnect();
    let last = 0;
    window.eyes = new MutationObserver(() => {
        const now = window.there(last);
        if (now <= last) return;
        const [from, to] = [last + 1, now];
        last = now;
        const painted = window.painted;
        requestAnimationFrame(() => setTimeout(() => {
            for (let n = from; n <= to; n += 1) painted[n] = Date.now();
            dispatchEvent(new Event('painted'));
        }));
    });
    window.eyes.observe(document.getElementById('stream'), { childList: true, subtree: true });
    performance.clearResourceTimings();
";

/// Ends when nothing on the page has moved for more than a second: the root is quiet.
const STILL: &str = "
    return new Promise((done) => {
        let timer;
        const eyes = new MutationObserver(() => again());
        const again = () => { clearTimeout(timer); timer = setTimeout(() => { eyes.disconnect(); done(true); }, 1200); };
        eyes.observe(document.body, { childList: true, subtree: true });
        again();
    });
";

/// Ends when the n-th of what was written is painted.
fn painted(browser: &Browser, n: usize) {
    browser.js(&format!(
        "return new Promise((done) => {{ const look = () => {{ if (window.painted[{n}]) {{ removeEventListener('painted', look); done(true); }} }}; addEventListener('painted', look); look(); }})"
    ));
}

/// Where writes that follow each other go.
#[derive(Clone, Copy, Debug)]
enum Where {
    /// Each into a new file, listed before the one before it: in sight.
    New,
    /// All into one file.
    Same,
}

impl Where {
    /// Says to the page how far what was written can be seen.
    fn there(self, run: &str) -> String {
        match self {
            Self::New => format!(
                "window.there = (last) => {{ while (document.querySelector(`article[aria-label^=\"a-{run}-${{999 - last - 1}}.rs\"] .row.add`)) last += 1; return last; }};"
            ),
            Self::Same => format!(
                "window.there = (last) => Number(document.querySelector('article[aria-label^=\"a-{run}.rs\"] .row.add')?.textContent.match(/tick_(\\d+)/)?.[1] ?? last);"
            ),
        }
    }

    fn write(self, scratch: &Scratch, run: &str, n: usize) {
        let (path, text) = match self {
            Self::New => (format!("repository/a-{run}-{}.rs", 999 - n), "fn fresh() {}\n".to_owned()),
            Self::Same => (format!("repository/a-{run}.rs"), format!("fn tick_{n}() {{}}\n")),
        };
        std::fs::write(scratch.at(&path), text).unwrap();
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0
}

#[test]
#[ignore = "measures"]
fn figures_of_a_large_review() {
    let Some(browser) = Browser::start() else { return };
    // A proxy of a test lives for a minute: each manner has its own.
    review(&browser, |browser, scratch, console| {
        paints(browser, console);
        browser.js("scrollTo(0, 0)");
        quiet(browser, scratch);
    });
    for to in [Where::New, Where::Same] {
        review(&browser, |browser, scratch, _| {
            for every in EVERY {
                steady(browser, scratch, (to, every));
            }
        });
    }
}

/// Shows 500 new files of 40 lines each, while a call of the agent runs.
fn review(browser: &Browser, measure: impl Fn(&Browser, &Scratch, &Console)) {
    let scratch = scene();
    let repository = scratch.repository().display().to_string();
    let mut live = scratch.session();
    live.prompt(&format!(
        "cd '{repository}'; for f in $(seq 1 500); do mkdir -p d$((f % 20)); {{ for l in $(seq 1 40); do echo \"let value_$l = compute($f, $l);\"; done; }} > d$((f % 20))/file$f.rs; done"
    ));
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article[data-full] .row').length > 0");
    let turn = live.begin("until [ -e \"$GO.done\" ]; do sleep 0.05; done");
    while !live.hear().contains("\"tool_call\"") {}
    measure(browser, &scratch, &console);
    println!("load {}", std::fs::read_to_string("/proc/loadavg").unwrap().trim());
    println!("console: {}", memory(console.child.id()));
    std::fs::write(live.signal("done"), "").unwrap();
    live.answer(turn);
    live.end();
}

/// Loads the page five times.
fn paints(browser: &Browser, console: &Console) {
    let mut paints = Vec::new();
    for _ in 0..5 {
        browser.go(&format!("http://127.0.0.1:{}/", console.port()));
        browser.until("document.querySelectorAll('article[data-full] .row').length > 0 && performance.getEntriesByName('queue')[0]");
        paints.push(browser.js("return [performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime, performance.getEntriesByName('queue')[0].startTime, performance.getEntriesByType('resource').find((one) => one.name.endsWith('/hunks')).duration, document.querySelectorAll('article').length, document.querySelectorAll('*').length].map((one) => Math.round(one))"));
    }
    println!("first contentful paint, queue drawn, listing, hunks, elements: {paints:?}");
}

/// Five writes, each to a root that was quiet for more than a second.
fn quiet(browser: &Browser, scratch: &Scratch) {
    browser.js(&Where::New.there("quiet"));
    browser.js(NOTE);
    for n in 1..=5 {
        browser.js(STILL);
        browser.js("performance.clearResourceTimings()");
        let written = now();
        Where::New.write(scratch, "quiet", n);
        painted(browser, n);
        let seen = browser.js(&format!("const first = performance.getEntriesByType('resource').find((one) => one.name.endsWith('/hunks')); const at = performance.timeOrigin + first.startTime; return [at, at + first.duration, window.painted[{n}]]"));
        let after = |at: usize| seen[at].as_f64().unwrap() - written;
        println!(
            "quiet: from the write to the event {:.0}, the listing {:.0}, the screen {:.0} ms",
            after(0),
            after(1),
            after(2)
        );
    }
}

/// Writes that follow each other: from each to the screen.
fn steady(browser: &Browser, scratch: &Scratch, (to, every): (Where, u64)) {
    let run = format!("{to:?}-{every}");
    browser.js(&to.there(&run));
    browser.js(NOTE);
    browser.js(STILL);
    let (begun, mut written) = (Instant::now(), Vec::new());
    while begun.elapsed() < STEADY {
        written.push(now());
        to.write(scratch, &run, written.len());
        let next = Duration::from_millis(every) * u32::try_from(written.len()).unwrap();
        // How often something is written is what is measured: nothing is waited for.
        std::thread::sleep(next.saturating_sub(begun.elapsed()));
    }
    painted(browser, written.len());
    let painted = browser.js("return window.painted");
    let of = |n: usize| painted[(n + 1).to_string()].as_f64().unwrap();
    let mut took: Vec<f64> = written.iter().enumerate().map(|(n, written)| of(n) - written).collect();
    took.sort_by(f64::total_cmp);
    let listings = browser.js("const all = performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/hunks')).map((one) => one.duration); return [all.length, all.reduce((a, b) => a + b, 0) / all.length]");
    println!(
        "one write every {every} ms, {to:?}: {} writes, to the screen {:.0} ms at the median, {:.0} at nine of ten, {:.0} at most; {} listings of {:.0} ms",
        took.len(),
        took[took.len() / 2],
        took[took.len() * 9 / 10],
        took[took.len() - 1],
        listings[0],
        listings[1].as_f64().unwrap()
    );
    // The next manner begins with the queue as it was.
    for path in scratch.at("repository").read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if path.file_name().unwrap().to_str().unwrap().starts_with("a-") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn memory(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let lines: Vec<&str> =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS")).collect();
    lines.join(", ")
}
