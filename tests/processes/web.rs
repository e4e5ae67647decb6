//! The web console beside a live session: in a browser, and asked by programs that may not decide.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::proxy::until;
use crate::scratch::Scratch;
use crate::webdriver::Browser;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// What the agent does in its first turn: two files, and more when it is told to go on.
const WORK: &str = r#"
cd "$REPO"
printf 'fn greet(name: &str) -> String {\n    format!("Good day, {name}!")\n}\n\nfn main() {\n    println!("{}", greet("you"));\n}\n' > src/main.rs
until [ -e "$GO.more" ]; do sleep 0.01; done
printf '# Greeter\n\nGreets people politely.\n\nRun it with `cargo run`.\n' > README.md
printf 'pub fn farewell(name: &str) -> String {\n    format!("Farewell, {name}.")\n}\n' > src/farewell.rs
until [ -e "$GO.done" ]; do sleep 0.01; done
"#;

#[test]
fn a_session_is_reviewed_in_a_browser_while_the_agent_writes() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let mut live = scratch.session();
    let turn = live.begin(&WORK.replace("$REPO", &scratch.repository().display().to_string()));
    let more = live.signal("more");
    let done = live.signal("done");
    while !live.hear().contains("\"tool_call\"") {}
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article.card').length === 1");
    browser.until("document.querySelector('article code .k-word')");
    // The agent writes on: what it wrote appears, and where one stands does not move.
    let stands = "document.querySelector('article[aria-current]').dataset.id";
    let before = browser.js(&format!("return {stands}"));
    std::fs::write(more, "").unwrap();
    browser.until("document.querySelectorAll('article.card').length >= 3");
    assert_eq!(browser.js(&format!("return {stands}")), before);
    std::fs::write(done, "").unwrap();
    live.answer(turn);

    // Accept by mouse.
    browser.until("[...document.querySelectorAll('article')].every((one) => one.dataset.full)");
    browser.click("article[aria-label^='src/main.rs'] .controls button.good");
    until("the files say so", || state(&scratch, "src/main.rs") == "accepted");
    browser.until(
        "document.querySelector('article[aria-label^=\"src/main.rs\"]').classList.contains('accepted')",
    );

    // The rest by keyboard alone: reject with a reason, undo, comment, accept the file, filter.
    browser.until("document.querySelector('article[aria-label^=\"src/farewell.rs\"]')");
    browser.keys("g");
    while browser
        .js(&format!("return document.getElementById('h-' + {stands}).ariaLabel"))
        .as_str()
        .unwrap()
        .split(',')
        .next()
        != Some("src/farewell.rs")
    {
        browser.keys("j");
    }
    browser.keys("r");
    browser.until("document.activeElement.tagName === 'TEXTAREA'");
    browser.keys("nobody leaves");
    browser.chord('\u{e009}', '\u{e007}');
    until("the files say so", || !scratch.at("repository/src/farewell.rs").exists());
    let note = scratch.json(&["note"]);
    assert!(note["note"].as_str().unwrap().contains("nobody leaves"), "{note}");
    browser.until("!document.querySelector('article[aria-label^=\"src/farewell.rs\"]')");
    browser.keys("u");
    until("the files say so", || scratch.at("repository/src/farewell.rs").exists());
    browser.until("document.querySelector('article[aria-label^=\"src/farewell.rs\"]')");
    browser.keys("g");
    browser.keys("c");
    browser.until("document.activeElement.tagName === 'TEXTAREA'");
    browser.keys("say why");
    browser.chord('\u{e009}', '\u{e007}');
    browser.until("document.querySelector('.comment-body')?.textContent === 'say why'");
    assert_eq!(scratch.json(&["hunks"])["comments"][0]["body"], "say why");
    browser.keys("v");
    browser.until("document.querySelector('.comment.resolved')");
    browser.keys("f");
    browser.until("!document.querySelector('article[aria-label^=\"src/main.rs\"]')");
    browser.keys("f");
    browser.keys("/");
    browser.keys("farewell");
    browser.until("document.querySelectorAll('article.card').length === 1");
    browser.keys("\u{e00c}");
    browser.keys("A");
    until("the files say so", || state(&scratch, "src/farewell.rs") == "accepted");
    browser.js("const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input'))");
    browser.until("document.querySelectorAll('article.card').length >= 3");
    browser.keys("i");
    browser.until("document.getElementById('dialog').open");
    browser.keys("\u{e00c}");
    browser.until("!document.getElementById('dialog').open");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.end();
}

#[test]
fn the_page_is_named_labelled_and_can_be_read() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    rich(&scratch);
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article[data-full]').length >= 3");
    let unnamed = "return [...document.querySelectorAll('button, input, select, textarea, [role=group], progress')]
        .filter((one) => one.offsetParent && !(one.ariaLabel || one.labels?.length || one.textContent.trim() || one.getAttribute('aria-labelledby')))
        .map((one) => one.outerHTML)";
    assert_eq!(browser.js(unnamed), json!([]));
    // Reached by the tab key in the order of the page, and seen when it is.
    browser.js("document.activeElement.blur(); window.scrollTo(0, 0)");
    let order = (0..8).map(|_| {
        browser.keys("\u{e004}");
        browser.js("const one = document.activeElement; return [one.id || one.textContent.trim(), getComputedStyle(one).outlineStyle]")
    });
    let order: Vec<Value> = order.collect();
    let names: Vec<&str> = order.iter().filter_map(|one| one[0].as_str()).collect();
    assert_eq!(names[..5], ["Skip to the queue", "sessions", "search", "unreviewed", "order"], "{names:?}");
    assert!(order.iter().all(|one| one[1] != "none"), "{order:?}");
    for scheme in ["dark", "light"] {
        browser.scheme(scheme);
        let pale = browser.js(CONTRAST);
        assert_eq!(pale, json!([]), "{scheme}");
        // As drawn: the queue, the keys, a whole file, a form, both layouts.
        let drawn = [
            ("g", "document.querySelector('article[data-full] .row.add')"),
            ("?", "document.querySelector('dialog[open] .keys-help')"),
            ("b", "document.querySelector('dialog[open] .blame')"),
            ("c", "document.querySelector('form.ask')"),
            ("s", "document.querySelector('.pair')"),
            ("s", "document.querySelector('.row.add')"),
        ];
        for (keys, there) in drawn {
            browser.keys(keys);
            browser.until(there);
            assert_eq!(browser.js(DRAWN), json!([]), "{scheme}: {keys}");
            browser.keys("\u{e00c}");
            browser.until("!document.getElementById('dialog').open && !document.querySelector('form.ask')");
        }
    }
    assert_eq!(browser.js(STRUCTURE), json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    if std::env::var_os("HUNKGATE_SCREENSHOTS").is_some() {
        pictures(&browser);
    }
}

/// Texts on grounds that have less contrast than 4.5 : 1.
const CONTRAST: &str = "
    const style = getComputedStyle(document.documentElement);
    const light = (name) => {
        const hex = style.getPropertyValue(name).trim().slice(1);
        const part = (at) => { const value = parseInt(hex.slice(at, at + 2), 16) / 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
        return 0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4);
    };
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const pairs = [];
    for (const ground of ['--bg', '--panel', '--raised']) for (const text of ['--text', '--dim', '--good', '--bad', '--warn', '--ext', '--accent']) pairs.push([text, ground]);
    for (const ground of ['--good-bg', '--bad-bg', '--good-mark', '--bad-mark', '--panel']) for (const text of ['--text', '--k-comment', '--k-text', '--k-constant', '--k-word', '--k-function', '--k-type', '--k-attribute']) pairs.push([text, ground]);
    pairs.push(['--loud-text', '--loud']);
    return pairs.filter(([text, ground]) => ratio(light(text), light(ground)) < 4.5).map(([text, ground]) => `${text} on ${ground}: ${ratio(light(text), light(ground)).toFixed(2)}`);
";

/// Texts that stand out less from what is drawn behind them than 4.5 : 1, or 3 : 1 where they are large.
const DRAWN: &str = "
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
    const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
    const light = ([r, g, b]) => [r, g, b].map((value) => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; })
        .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (one) => {
        const grounds = [];
        for (let at = one; at; at = at.parentElement) { const ground = parse(getComputedStyle(at).backgroundColor); grounds.push(ground); if (ground[3] === 1) break; }
        return grounds.reverse().reduce((under, ground) => over(ground, under), [255, 255, 255, 1]);
    };
    const place = document.getElementById('dialog').open ? document.getElementById('dialog') : document.body;
    const walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const found = new Set();
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const one = node.parentElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
        if (!node.data.trim() || !box.width || box.bottom < 0 || box.top > innerHeight || one.closest('.hidden, .skip, script, noscript, option, [disabled]') || style.visibility === 'hidden') continue;
        if (!one.checkVisibility({ opacityProperty: true })) continue;
        let ground = behind(one), color = parse(style.color);
        for (let at = one; at; at = at.parentElement) color[3] *= Number(getComputedStyle(at).opacity);
        const text = over(color, ground);
        const [a, b] = [light(text), light(ground)], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
        if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) found.add(`${one.tagName}.${one.className}: ${node.data.trim().slice(0, 20)}: ${ratio.toFixed(2)}`);
    }
    return [...found];
";

/// What is wrong with how the page is built: names, headings, landmarks, ids, languages, sizes of what is pressed.
const STRUCTURE: &str = "
    const wrong = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    if (!document.documentElement.lang || !document.title) wrong.push('no language or title');
    if (all('main').length !== 1 || all('header').length < 1 || all('nav').length < 1) wrong.push('landmarks');
    const ids = all('[id]').map((one) => one.id);
    wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `two ${id}`));
    all('h2, h3, h4').reduce((last, one) => { const level = Number(one.tagName[1]); if (level > last + 1) wrong.push(`${one.tagName} after H${last}: ${one.textContent}`); return level; }, 1);
    wrong.push(...all('[aria-labelledby], [aria-controls]').flatMap((one) => [one.getAttribute('aria-labelledby'), one.getAttribute('aria-controls')]).filter((id) => id && id !== 'dialog-title' && !document.getElementById(id)).map((id) => `nothing is called ${id}`));
    wrong.push(...all('[tabindex]').filter((one) => one.tabIndex > 0).map((one) => `out of order: ${one.outerHTML.slice(0, 60)}`));
    wrong.push(...all('[role]').map((one) => one.getAttribute('role')).filter((role) => !['alert', 'group', 'status', 'toolbar'].includes(role)));
    wrong.push(...all('button, select, input').filter((one) => one.offsetParent).map((one) => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width < 24 || box.height < 24).map(([one, box]) => `small: ${one.outerHTML.slice(0, 60)} ${box.width}x${box.height}`));
    const meta = document.querySelector('meta[name=viewport]').content;
    if (/user-scalable=no|maximum-scale/.test(meta)) wrong.push('cannot be enlarged');
    return wrong;
";

/// Keeps a picture of the page where pictures are wanted: in the directory `HUNKGATE_SCREENSHOTS`.
pub(crate) fn save(browser: &Browser, name: &str) {
    if let Some(directory) = std::env::var_os("HUNKGATE_SCREENSHOTS") {
        let bytes = decoded(&browser.picture());
        std::fs::write(std::path::Path::new(&directory).join(format!("web-{name}.png")), bytes).unwrap();
    }
}

fn pictures(browser: &Browser) {
    let save = |name: &str| save(browser, name);
    browser.js("document.activeElement.blur(); window.scrollTo(0, 0)");
    browser.keys("g");
    browser.scheme("dark");
    save("dark");
    browser.scheme("light");
    browser.keys("s");
    browser.until("document.querySelector('.pair')");
    save("light-split");
    browser.keys("s");
    browser.keys("G");
    browser.keys("b");
    browser.until("document.querySelector('dialog[open] .blame')");
    save("file");
    browser.keys("\u{e00c}");
    browser.until("!document.getElementById('dialog').open");
    browser.scheme("dark");
    browser.size(480, 860);
    browser.js("window.scrollTo(0, 0)");
    save("narrow");
}

/// Reads base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let word =
            four.iter().fold(0_u32, |word, digit| word << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        word.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect()
}

#[test]
fn the_conversation_leads_to_the_change_in_the_console() {
    let scratch = scene();
    let repository = scratch.repository().display().to_string();
    let mut live = scratch.session();
    // None runs: nothing is named at the turn's end, and a link says what to open.
    let first =
        live.prompt(&format!("cd '{repository}'; printf 'one\\n' > one.txt; printf 'x\\n' >> src/main.rs"));
    assert!(!first.concat().contains("127.0.0.1"), "{first:?}");
    let asked = live.slash("/hunkgate web");
    let link = asked.split('`').find_map(|part| part.strip_prefix("hunkgate web ")).unwrap();
    let hunk = link.rsplit('/').next().unwrap().to_owned();
    assert_eq!(hunk, scratch.hunks()[0]["id"]);

    let console = Console::open(&scratch, &[link]);
    assert!(console.url.ends_with(&format!("&hunk={hunk}")), "{}", console.url);
    let named = format!("http://127.0.0.1:{}/?session=", console.port());
    until("the console says where it is", || live.slash("/hunkgate web").contains(&named));
    let summary = live.prompt(&format!("cd '{repository}'; printf 'two\\n' > two.txt")).concat();
    let two = scratch.hunks().into_iter().find(|hunk| hunk["path"] == "two.txt").unwrap();
    let at = summary.find(&named).unwrap_or_else(|| panic!("{summary}"));
    let address = summary[at..].split(['\\', '"']).next().unwrap().to_owned();
    assert!(address.ends_with(&format!("&hunk={}", two["id"].as_str().unwrap())), "{address}");
    assert!(!summary.contains("token"), "{summary}");

    // The address alone opens nothing; where the console was opened it leads to the change.
    let (status, _) = console.stranger(&address);
    assert_eq!(status, 401);
    if let Some(browser) = Browser::start() {
        let stands = "document.querySelector('article[aria-current]')?.dataset.id";
        browser.go(&console.url);
        browser.until(&format!("{stands} === '{hunk}'"));
        browser.go(&address);
        browser.until(&format!("{stands} === {}", two["id"]));
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }

    drop(console);
    let after = live.slash("/hunkgate web");
    assert!(after.contains("`hunkgate web hunkgate://"), "{after}");
    // What a console that was killed left behind names nobody.
    let mut killed = Console::open(&scratch, &[]);
    until("the console says where it is", || live.slash("/hunkgate web").contains("http://127.0.0.1:"));
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    let after = live.slash("/hunkgate web");
    assert!(after.contains("`hunkgate web hunkgate://"), "{after}");
    live.end();
}

#[test]
fn what_an_agent_starts_opens_no_console_and_decides_nothing() {
    let scratch = scene();
    let mut live = scratch.session();
    let console = Console::open(&scratch, &[]);
    let path = "/api/session/s1/review/decide";
    let body = r#"{"verb":"accept","selector":{"by":"all"}}"#;
    let ours = env!("CARGO_BIN_EXE_hunkgate");
    let (top, bearer, port) = (scratch.at("").display().to_string(), &console.bearer, console.port());
    let request = format!(
        "POST {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nAuthorization: Bearer {bearer}\\r\\nConnection: close\\r\\nContent-Type: application/json\\r\\nContent-Length: {}\\r\\n\\r\\n",
        body.len()
    );
    let work = format!(
        "printf 'x\\n' >> '{top}repository/src/main.rs'\n\
         '{ours}' web --json > '{top}opened' 2> '{top}refused'; echo $? > '{top}code'\n\
         bash -c \"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3; printf '%s' '{}' >&3; cat <&3\" > '{top}answer'\n",
        body.replace('"', "\\\"")
    );
    live.prompt(&work);
    assert_eq!((scratch.read("code").trim(), scratch.read("opened").as_str()), ("3", ""));
    assert!(scratch.read("refused").contains("an agent started"), "{}", scratch.read("refused"));
    let answer = scratch.read("answer");
    assert!(answer.starts_with("HTTP/1.1 422") && answer.contains("an agent started"), "{answer}");
    assert_eq!(state(&scratch, "src/main.rs"), "unreviewed");
    // The person's own program does.
    assert_eq!(console.send("POST", path, body).0, 200);
    assert_eq!(state(&scratch, "src/main.rs"), "accepted");
    live.end();
}

#[test]
fn nothing_outside_and_nothing_withheld_is_told_over_http() {
    let scratch = scene();
    scratch.write("outside", "marker-outside\n");
    scratch.write("repository/.env", "KEY=marker-secret-0\n");
    let (repository, outside) =
        (scratch.repository().display().to_string(), scratch.at("outside").display().to_string());
    scratch.turn(&format!("cd '{repository}'; ln -s '{outside}' link; ln -s '{repository}/..' up; printf 'KEY=marker-secret-1\\n' > .env"));
    let console = Console::open(&scratch, &[]);
    let mut all = String::new();
    for path in ["link", "up/outside", "../outside", "src/../../outside", ".env", ".git/HEAD", &outside] {
        let path = path.replace('/', "%2F");
        let (status, body) =
            console.send("GET", &format!("/api/session/s1/review/file?root={repository}&path={path}"), "");
        assert!(matches!(status, 200 | 422 | 502), "{path}: {status}");
        all += &body;
    }
    all += &console.send("GET", "/api/session/s1/review/hunks", "").1;
    all += &console.send("GET", "/api/session/s1/review/diff", "").1;
    assert!(!all.contains("marker-outside") && !all.contains("marker-secret"), "{all}");
    assert!(all.contains("link"));
}

// ── support ──

pub(crate) fn scene() -> Scratch {
    let scratch = Scratch::git();
    scratch.write("repository/src/main.rs", "fn greet(name: &str) -> String {\n    format!(\"hi {name}\")\n}\n\nfn main() {\n    println!(\"{}\", greet(\"you\"));\n}\n");
    scratch.write("repository/README.md", "# Greeter\n\nGreets people.\n");
    scratch.commit("first");
    scratch
}

/// A turn with several files, a person's line among them, and a comment.
pub(crate) fn rich(scratch: &Scratch) {
    let mut live = scratch.session();
    let turn = live.begin(&WORK.replace("$REPO", &scratch.repository().display().to_string()));
    while !live.hear().contains("\"tool_call\"") {}
    std::fs::write(live.signal("more"), "").unwrap();
    until("the files say so", || scratch.at("repository/src/farewell.rs").exists());
    std::fs::write(live.signal("done"), "").unwrap();
    live.answer(turn);
    live.end();
    scratch.write("repository/NOTES.md", "remember the milk\n");
    scratch.says(&["comment", "src/main.rs:2", "why so formal?"]);
    let readme = scratch.hunks().into_iter().find(|hunk| hunk["path"] == "README.md").unwrap();
    scratch.says(&["accept", readme["id"].as_str().unwrap()]);
}

pub(crate) fn state(scratch: &Scratch, path: &str) -> String {
    let hunk = scratch.hunks().into_iter().find(|hunk| hunk["path"] == path);
    hunk.map_or_else(|| "gone".to_owned(), |hunk| hunk["state"].as_str().unwrap().to_owned())
}

/// A console that runs beside a test.
pub(crate) struct Console {
    pub(crate) child: Child,
    pub(crate) url: String,
    bearer: String,
}

impl Console {
    pub(crate) fn open(scratch: &Scratch, words: &[&str]) -> Self {
        let mut command = scratch.hunkgate(&["web", "--json"]);
        command.args(words);
        Self::of(command)
    }

    pub(crate) fn of(mut command: std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let opened: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| opened[key].as_str().unwrap().to_owned();
        Self { child, url: text("url"), bearer: text("bearer") }
    }

    pub(crate) fn port(&self) -> &str {
        self.url.trim_start_matches("http://127.0.0.1:").split('/').next().unwrap()
    }

    /// Asks for an address without any token.
    fn stranger(&self, address: &str) -> (u16, String) {
        let path = &address[address.find("/?").unwrap()..];
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.port()
        ))
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port(),
            self.bearer,
            body.len()
        );
        self.exchange(&request)
    }

    fn exchange(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port())).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let start = Instant::now();
        crate::proxy::signal(self.child.id(), "TERM");
        while self.child.try_wait().is_ok_and(|ended| ended.is_none())
            && start.elapsed() < Duration::from_secs(5)
        {
            std::thread::yield_now();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
