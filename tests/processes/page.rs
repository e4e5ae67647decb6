//! What the console's page decides and shows, in a browser: requests, held writes, a new base, groups, whole files, both layouts.

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::proxy::until;
use crate::scratch::{Live, Scratch};
use crate::web::{Console, rich, save, scene, state};
use crate::webdriver::Browser;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};

/// A permission that the agent asks for within its turn, and what it was answered, kept in `$HEARD.answer`.
fn asks(call: &str, kind: &str, rest: &str) -> String {
    let options = r#"[{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]"#;
    format!(
        "say '{{\"jsonrpc\":\"2.0\",\"id\":\"{call}\",\"method\":\"session/request_permission\",\"params\":{{\"sessionId\":\"s1\",\"toolCall\":{{\"toolCallId\":\"{call}\",\"title\":\"{call}\",\"kind\":\"{kind}\",\"status\":\"pending\",{rest}}},\"options\":{options}}}}}'\n\
         IFS= read -r answer; printf '%s' \"$answer\" > \"$HEARD.{call}\"\n"
    )
}

fn answered(scratch: &Scratch, call: &str) -> String {
    let kept = scratch.at(&format!("heard.{call}"));
    let read = || serde_json::from_str::<Value>(&std::fs::read_to_string(&kept).unwrap_or_default());
    until("the agent is answered", || read().is_ok());
    let answer = read().unwrap();
    answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default().to_owned()
}

/// Reads until the editor is asked for a permission.
fn asked(live: &mut Live<'_>) -> Value {
    loop {
        let frame: Value = serde_json::from_str(&live.hear()).unwrap();
        if frame["method"] == "session/request_permission" {
            return frame;
        }
    }
}

#[test]
fn a_request_is_approved_or_denied_as_it_was_shown() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    scratch.write("home/.config/hunkgate/config.toml", "approvals = \"enforce\"\n");
    let mut live = scratch.session();
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.getElementById('live').textContent === 'live'");
    let command = "printf '%s' \\\"<b>&amp;\\\" > made.txt";
    let one = asks(
        "c1",
        "execute",
        &format!("\"rawInput\":{{\"command\":\"{}\"}}", command.replace('\'', "'\\''")),
    );
    let two = asks("c2", "execute", "\"rawInput\":{\"command\":\"make all\"}");
    let three = asks("c3", "execute", "\"rawInput\":{\"command\":\"make install\"}");
    let turn = live.begin(&format!("{one}{two}{three}"));
    asked(&mut live);
    // The exact command is on the page, and nothing of it is taken for markup.
    browser.until(
        "document.querySelector('.waits pre')?.textContent === 'printf \\'%s\\' \"<b>&amp;\" > made.txt'",
    );
    save(&browser, "request");
    browser.click(".waits button.good");
    assert_eq!(answered(&scratch, "c1"), "once");
    asked(&mut live);
    browser.until("document.querySelector('.waits pre')?.textContent === 'make all'");
    browser.click(".waits button.bad");
    assert_eq!(answered(&scratch, "c2"), "no");
    asked(&mut live);
    browser.until("document.querySelector('.waits pre')?.textContent === 'make install'");
    // With a reason, by keyboard alone.
    browser.js("document.querySelectorAll('.waits button.bad')[1].focus()");
    browser.keys("\u{e007}");
    browser.until("document.activeElement.tagName === 'TEXTAREA'");
    browser.keys("not on this machine");
    browser.chord('\u{e009}', '\u{e007}');
    assert_eq!(answered(&scratch, "c3"), "no");
    browser.until("!document.querySelector('.waits')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.answer(turn);
    let log = scratch.says(&["log", "--approvals", "--json", "--limit", "100"]).0;
    let told: Value = serde_json::from_str(&log).unwrap();
    let decided = told["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "decided");
    let by: Vec<(&str, &str)> = decided
        .map(|item| (item["outcome"].as_str().unwrap(), item["by"]["channel"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(by, [("allow", "web"), ("deny", "web"), ("deny", "web")], "{log}");
    live.end();
}

#[test]
fn a_write_that_waits_is_announced_and_goes_on_when_its_file_is_reviewed() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    scratch.write("home/.config/hunkgate/config.toml", "[gate]\nhold = [\"permission\"]\n");
    let repository = scratch.repository().display().to_string();
    let mut live = scratch.session();
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.getElementById('live').textContent === 'live'");
    let diff = format!(
        "\"content\":[{{\"type\":\"diff\",\"path\":\"{repository}/src/main.rs\",\"oldText\":\"fn main\",\"newText\":\"pub fn main\"}}]"
    );
    let turn = live
        .begin(&format!("cd '{repository}'; changed=$(sed s/hi/hello/ src/main.rs); printf '%s\\n' \"$changed\" > src/main.rs\n{}", asks("c1", "edit", &diff)));
    while !live.hear().contains("\"tool_call\"") {}
    browser.until("document.querySelector('.notice.loud[role=alert]')?.textContent.includes('A write waits for your review')");
    browser.until("document.querySelector('.notice.loud code').textContent === 'src/main.rs'");
    browser.until("document.querySelector('article[data-full]')");
    save(&browser, "waits");
    browser.click(".notice.loud button");
    browser.until("document.activeElement.matches('article[aria-label^=\"src/main.rs\"]')");
    browser.keys("a");
    let question = asked(&mut live);
    browser.until("!document.querySelector('.notice.loud')");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": { "outcome": "selected", "optionId": "once" } } });
    live.say(&answer);
    assert_eq!(answered(&scratch, "c1"), "once");
    live.answer(turn);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.end();
}

#[test]
fn the_file_that_a_write_waits_for_is_shown_and_not_its_namesake_in_another_root() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    scratch.write("home/.config/hunkgate/config.toml", "[gate]\nhold = [\"permission\"]\n");
    scratch.write("beside/src/main.rs", "fn main() {}\n");
    let repository = scratch.repository().display().to_string();
    let mut live = scratch.start(|_| {});
    live.open(
        json!({ "cwd": repository, "additionalDirectories": [scratch.at("beside")], "mcpServers": [] }),
    );
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.getElementById('live').textContent === 'live'");
    let diff = format!(
        "\"content\":[{{\"type\":\"diff\",\"path\":\"{repository}/src/main.rs\",\"oldText\":\"fn main\",\"newText\":\"pub fn main\"}}]"
    );
    let turn = live.begin(&format!(
        "cd '{repository}'; echo '// there' >> ../beside/src/main.rs; echo '// here' >> src/main.rs\n{}",
        asks("c1", "edit", &diff)
    ));
    while !live.hear().contains("\"tool_call\"") {}
    browser.until(&format!(
        "document.querySelector('.notice.loud code')?.textContent === '{repository}/src/main.rs'"
    ));
    browser.until("document.querySelectorAll('article[aria-label^=\"src/main.rs\"]').length === 2");
    browser.click(".notice.loud button");
    browser.until("document.activeElement.matches('article[aria-label^=\"src/main.rs\"]')");
    browser.until("document.activeElement.textContent.includes('// here')");
    browser.keys("a");
    let question = asked(&mut live);
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": { "outcome": "selected", "optionId": "once" } } });
    live.say(&answer);
    assert_eq!(answered(&scratch, "c1"), "once");
    live.answer(turn);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.end();
}

#[test]
fn a_new_base_is_taken_behind_a_question_only() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    scratch.turn("echo '// more' >> src/main.rs");
    let (place, aside) = (scratch.repository(), scratch.at("aside"));
    std::fs::rename(&place, &aside).unwrap();
    std::fs::create_dir(&place).unwrap();
    scratch.says_git(&["init", "-q"]);
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelector('.notice.bad')?.textContent.includes('another directory')");
    let queue = "document.querySelectorAll('article.card').length";
    browser.until(&format!("{queue} === 1"));
    browser.click(".notice.bad button");
    browser.until("document.getElementById('dialog').open");
    browser.keys("\u{e00c}");
    browser.until("!document.getElementById('dialog').open");
    assert!(scratch.json(&["hunks"])["degraded"].to_string().contains("another directory"));
    browser.click(".notice.bad button");
    browser.until("document.getElementById('dialog').open");
    browser.click("#dialog .controls button.bad");
    browser.until(&format!("!document.querySelector('.notice.bad') && {queue} === 0"));
    let listing = scratch.json(&["hunks"]);
    assert_eq!((&listing["hunks"], &listing["degraded"]), (&json!([]), &json!([])));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn hunks_that_lie_close_together_are_decided_by_one_key_and_can_be_divided() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let lines = |changed: &[usize]| -> String {
        let line =
            |at| if changed.contains(&at) { format!("changed {at}\n") } else { format!("line {at}\n") };
        (1..=40).map(line).collect()
    };
    scratch.write("repository/long.txt", lines(&[]));
    scratch.commit("long");
    scratch.write("next", lines(&[3, 5, 7, 20, 30, 33]));
    scratch.turn(&format!("cp '{}' long.txt", scratch.at("next").display()));
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article[data-full]').length === 6");
    let groups =
        "return [...document.querySelectorAll('.group-head')].map((one) => one.textContent.match(/\\d+/)[0])";
    assert_eq!(browser.js(groups), json!(["3", "2"]));
    let states = |wanted: &str| scratch.hunks().iter().filter(|hunk| hunk["state"] == wanted).count();
    browser.keys("g");
    browser.keys("a");
    until("the files say so", || states("accepted") == 3);
    // The next keys stand at the lone one, then at the second group; divided, its hunks are decided one by one.
    browser.until("document.querySelectorAll('article.accepted').length === 3");
    browser.keys("G");
    browser.keys("z");
    browser.until("document.querySelectorAll('.group-head').length === 1");
    browser.keys("x");
    until("the files say so", || scratch.hunks().len() == 5);
    assert!(
        scratch.at("repository/long.txt").is_file()
            && scratch.read("repository/long.txt").contains("changed 30\nline 31\nline 32\nline 33")
    );
    assert_eq!((states("accepted"), states("unreviewed")), (3, 2));
    browser.keys("u");
    until("the files say so", || scratch.hunks().len() == 6);
    browser.until("document.querySelectorAll('article').length === 6");
    browser.keys("G");
    browser.keys("z");
    browser.until("document.querySelectorAll('.group-head').length === 2");
    browser.js("document.querySelectorAll('.group-head')[1].querySelector('button.bad').focus()");
    browser.keys("\u{e007}");
    until("the files say so", || scratch.hunks().len() == 4);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn both_layouts_and_the_whole_file_show_every_line_as_what_it_is() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    rich(&scratch);
    // A person writes into the file that the agent wrote.
    let main = scratch.read("repository/src/main.rs");
    scratch.write("repository/src/main.rs", format!("{main}// by hand\n"));
    assert_eq!(state(&scratch, "README.md"), "accepted");
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelector('article[aria-label^=\"src/main.rs\"][data-full] .row.add')");
    let sides = "const card = document.querySelector('article[aria-label^=\"src/main.rs\"]'); const text = (selector) => [...card.querySelectorAll(selector)].map((one) => one.textContent)";
    let column = browser.js(&format!("{sides}; return [text('.row.del code'), text('.row.add code')]"));
    assert!(
        column[0].to_string().contains("hi {name}") && column[1].to_string().contains("Good day"),
        "{column}"
    );
    browser.keys("s");
    browser.until("document.querySelector('article[aria-label^=\"src/main.rs\"] .pair')");
    let beside = browser.js(&format!("{sides}; return [text('.half.del code'), text('.half.add code')]"));
    assert_eq!(beside, column, "the same lines in both layouts");
    let level = "const pair = [...document.querySelectorAll('.pair')].find((one) => one.querySelector('.half.del') && one.querySelector('.half.add')); const [left, right] = pair.children; return [left.getBoundingClientRect().top === right.getBoundingClientRect().top, left.getBoundingClientRect().right <= right.getBoundingClientRect().left + 1]";
    assert_eq!(browser.js(level), json!([true, true]));
    browser.keys("s");
    browser.until("!document.querySelector('.pair')");

    let tones = |path: &str| -> Value {
        browser.js(&format!("document.querySelector('article[aria-label^=\"{path}\"]').focus()"));
        browser.keys("b");
        let open = "document.getElementById('dialog').open && document.querySelector('.whole .blame')";
        browser.until(&format!("{open} && document.getElementById('dialog-title').textContent === '{path}'"));
        let tones = browser.js("return [...document.querySelectorAll('.whole .blame')].map((one) => [one.querySelector('code').textContent, one.classList[1] || '', one.querySelector('.by').textContent])");
        browser.keys("\u{e00c}");
        browser.until("!document.getElementById('dialog').open");
        tones
    };
    let main = tones("src/main.rs");
    let tone = |lines: &Value, text: &str| -> (String, String) {
        let line = lines.as_array().unwrap().iter().find(|line| line[0].as_str().unwrap().contains(text));
        let line = line.unwrap_or_else(|| panic!("{text}: {lines}"));
        (line[1].as_str().unwrap().to_owned(), line[2].as_str().unwrap().to_owned())
    };
    assert_eq!(tone(&main, "Good day"), ("unreviewed".to_owned(), "work".to_owned()));
    assert_eq!(tone(&main, "by hand"), ("external".to_owned(), "external".to_owned()));
    assert_eq!(tone(&main, "println"), (String::new(), String::new()));
    assert_eq!(tone(&tones("README.md"), "politely").0, "accepted");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn names_and_contents_with_markup_are_shown_as_they_stand() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let name = "<img src=x onerror=window.harmed=1>.txt";
    let line = "</code><script>window.harmed=1</script><img src=x onerror=window.harmed=1>";
    scratch.write("line", format!("{line}\n"));
    let (kept, place) =
        (scratch.at("line").display().to_string(), scratch.repository().display().to_string());
    scratch.turn(&format!("cp '{kept}' '{place}/{name}'"));
    scratch.says(&["comment", &format!("{name}:1"), line]);
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelector('article[data-full] .comment-body')");
    let text =
        |selector: &str| browser.js(&format!("return document.querySelector('{selector}').textContent"));
    assert_eq!(text(".section-head h2"), name);
    assert_eq!(text("article .row.add code"), line);
    assert_eq!(text("article .comment-body"), line);
    assert_eq!(text("#tree .name"), name);
    for keys in ["i", "b"] {
        browser.keys(keys);
        browser.until("document.getElementById('dialog').open");
        assert_eq!(text("#dialog-title"), name);
        browser.keys("\u{e00c}");
        browser.until("!document.getElementById('dialog').open");
    }
    let made = "return [document.querySelectorAll('img, script:not([src])').length, window.harmed ?? null]";
    assert_eq!(browser.js(made), json!([0, null]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_head_decides_what_stands_beneath_it_now_and_a_held_key_nothing() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let mut live = scratch.session();
    live.prompt(&format!(
        "cd '{}'; echo one > fresh.txt; echo two > other.txt",
        scratch.repository().display()
    ));
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article[data-full] .row.add').length === 2");
    // Another text in as many hunks.
    live.prompt(&format!("cd '{}'; echo three > fresh.txt", scratch.repository().display()));
    browser.until("document.querySelector('article .row.add code').textContent === 'three'");
    browser.click(".section-head button.good");
    until("the files say so", || state(&scratch, "fresh.txt") == "accepted");
    browser.until("document.querySelector('article.accepted')");
    browser.keys("G");
    browser.js("for (const key of ['a', 'a']) document.dispatchEvent(new KeyboardEvent('keydown', { key, repeat: true, bubbles: true }))");
    browser.keys("c");
    browser.until("document.activeElement.tagName === 'TEXTAREA'");
    assert_eq!(state(&scratch, "other.txt"), "unreviewed");
    // A card whose form was open says afterwards what became of its hunk.
    let other = scratch.hunks().into_iter().find(|hunk| hunk["path"] == "other.txt").unwrap();
    scratch.says(&["accept", other["id"].as_str().unwrap()]);
    browser.until("document.querySelectorAll('article.accepted').length === 2");
    browser.keys("\u{e00c}");
    browser.until("document.querySelectorAll('.badge.state.accepted').length === 2");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.end();
}

#[test]
fn a_card_says_what_its_call_is_called_now() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let mut live = scratch.session();
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    let turn = live.begin(&format!(
        "cd '{}'; echo one > fresh.txt; until [ -e \"$GO.named\" ]; do sleep 0.01; done\n\
         update '{{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t1\",\"title\":\"greet them all\"}}'\n\
         until [ -e \"$GO.done\" ]; do sleep 0.01; done",
        scratch.repository().display()
    ));
    while !live.hear().contains("\"tool_call\"") {}
    browser.until("document.querySelector('article[data-full] button.call')");
    std::fs::write(live.signal("named"), "").unwrap();
    while !live.hear().contains("greet them all") {}
    browser.until("document.querySelector('article button.call').textContent.startsWith('greet them all')");
    std::fs::write(live.signal("done"), "").unwrap();
    live.answer(turn);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    live.end();
}

#[test]
fn a_console_that_is_gone_is_said_on_the_page() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    scratch.turn("echo '// more' >> src/main.rs");
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.getElementById('live').textContent === 'live' && document.querySelector('article[data-full]')");
    drop(console);
    browser.until("document.getElementById('live').textContent === 'not connected'");
    browser.until("document.querySelector('.notice.bad[role=alert]')?.textContent.includes('may be old')");
    // A decision that reaches nobody is said, and the hunk stays undecided.
    browser.keys("a");
    browser.until("document.getElementById('alarm').textContent.includes('does not answer')");
    assert_eq!(browser.js("return document.querySelectorAll('article.unreviewed').length"), 1);
    assert_eq!(state(&scratch, "src/main.rs"), "unreviewed");
}

/// A page that another port of this machine serves, to a browser that holds the console's cookie.
const FOREIGN: &str = r#"<!doctype html><title>foreign</title><iframe name="f"></iframe><script>
const frame = document.querySelector('iframe');
const base = 'http://127.0.0.1:PORT', told = {};
const body = '{"verb":"accept","selector":{"by":"all"}}', path = base + '/api/session/s1/review/';
const read = async (name, promise) => { try { const answer = await promise; told[name] = `${answer.type} ${await answer.text()}`; } catch { told[name] = 'refused'; } };
const stream = new Promise((done) => { const source = new EventSource(path + 'events', { withCredentials: true }); source.onopen = () => done('open'); source.onerror = () => done('refused'); });
const part = new Promise((done) => { const one = document.createElement('script'); one.src = base + '/app.js'; one.onload = () => done('loaded'); one.onerror = () => done('refused'); document.head.append(one); });
(async () => {
  await read('read', fetch(path + 'hunks', { credentials: 'include' }));
  await read('post', fetch(path + 'decide', { method: 'POST', body, credentials: 'include', headers: { 'Content-Type': 'application/json' } }));
  await read('blind', fetch(path + 'decide', { method: 'POST', body, credentials: 'include', mode: 'no-cors' }));
  await read('undo', fetch(path + 'undo', { method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors' }));
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: path + 'decide', enctype: 'text/plain', target: 'f' });
  const field = document.createElement('input');
  Object.assign(field, { name: '{"verb":"accept","selector":{"by":"all"},"x":"', value: '"}' });
  form.append(field); document.body.append(form);
  await new Promise((done) => { frame.onload = done; form.submit(); });
  told.stream = await stream; told.part = await part;
  frame.src = base + '/?session=s1';
  await new Promise((done) => { frame.onload = done; });
  try { told.frame = frame.contentDocument.body.textContent; } catch { told.frame = 'refused'; }
  window.told = told;
})();
</script>"#;

#[test]
fn a_page_on_another_port_reads_and_decides_nothing_and_the_proxy_goes_on() {
    let Some(browser) = Browser::start() else { return };
    let scratch = scene();
    let mut live = scratch.session();
    live.prompt("cd \"$HOME/../repository\"; echo '// more' >> src/main.rs");
    let console = Console::open(&scratch, &[]);
    browser.go(&console.url);
    browser.until("document.querySelectorAll('article').length === 1");
    let port = console.url.trim_start_matches("http://127.0.0.1:").split('/').next().unwrap().to_owned();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let foreign = listener.local_addr().unwrap();
    let page = FOREIGN.replace("PORT", &port);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), [0; 4096]);
            let _ = stream.read(&mut head);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    browser.go(&format!("http://{foreign}/"));
    browser.until("window.told");
    let told = browser.js("return window.told");
    let ways = ["blind", "frame", "part", "post", "read", "stream", "undo"];
    let expected: Value = ways.iter().map(|way| ((*way).to_owned(), json!("refused"))).collect();
    assert_eq!(told, expected);
    assert_eq!(state(&scratch, "src/main.rs"), "unreviewed");
    // The page itself is still let in, and the proxy serves as before.
    live.prompt("cd \"$HOME/../repository\"; echo two > two.txt");
    browser.go(&format!("http://127.0.0.1:{port}/"));
    browser.until("document.querySelectorAll('article').length === 2");
    live.end();
}
