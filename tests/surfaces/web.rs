//! The web console: who is let in, what is asked, what comes back.

use super::doors::{Fake, decided, listing, rich};
use super::journal;
use hunkgate::ledger::Who;
use hunkgate::review::{Answer, Ask, DecideVerb, Problem, ProblemKind, Selector};
use hunkgate::surface::Doors;
use hunkgate::surface::web::Console;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

// ── who is let in ──

#[test]
fn who_has_no_token_is_told_nothing() {
    let served = Served::answering(listing());
    let cookie = format!("Cookie: hunkgate-{}={}", served.port(), "0".repeat(64));
    let strangers = ["X-Nothing: 1", "Authorization: Bearer 0000", "Authorization: Basic Og==", &cookie];
    for path in [
        "/",
        "/app.js",
        "/api/sessions",
        "/api/session/new/review/hunks",
        "/api/session/new/review/events",
        "/nothing",
    ] {
        for header in strangers {
            let reply =
                served.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{header}\r\n\r\n", served.address));
            assert_eq!(reply.status, 401, "{path} {header}");
            assert!(
                !reply.body.contains("src/a.rs") && !reply.body.contains("claude"),
                "{path}: {}",
                reply.body
            );
        }
    }
    assert!(served.doors.asked().is_empty());
}

#[test]
fn a_ticket_is_good_once_and_becomes_a_cookie() {
    let served = Served::answering(listing());
    let ticket = served.url.split_once("/?").unwrap().1.to_owned();
    let wrong = served.send(&served.head("GET", &format!("/?token={}", "0".repeat(64)), &[]));
    assert_eq!(wrong.status, 401);
    let first = served.send(&served.head("GET", &format!("/?session=new&{ticket}"), &[]));
    assert_eq!(first.status, 200);
    let set = first.header("set-cookie").unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    assert!(first.body.contains("url=/?session=new"), "{}", first.body);
    let second = served.send(&served.head("GET", &format!("/?{ticket}"), &[]));
    assert_eq!((second.status, second.header("set-cookie")), (401, None));
    let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
    let page = served.send(&served.head("GET", "/", &[&cookie]));
    assert_eq!(page.status, 200);
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
    assert_eq!(served.send(&served.head("GET", "/api/session/new/review/hunks", &[&cookie])).status, 200);
}

#[test]
fn no_foreign_page_is_served() {
    let served = Served::answering(listing());
    let (address, port) = (&served.address, served.port());
    let bearer = format!("Authorization: Bearer {}", served.bearer);
    let get = |lines: &str| served.send(&format!("GET /api/sessions HTTP/1.1\r\n{bearer}\r\n{lines}\r\n"));
    // A name that was made to lead here.
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:80",
        "127.0.0.1.evil.example:80",
    ] {
        assert_eq!(get(&format!("Host: {host}\r\n")).status, 421, "{host}");
    }
    assert_eq!(get(&format!("Host: {address}\r\nHost: evil.example\r\n")).status, 421);
    assert!(matches!(get("X-Host: none\r\n").status, 400 | 421));
    assert_eq!(get(&format!("Host: localhost:{port}\r\n")).status, 200);
    // A page of another place, also of another port of this machine.
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        &format!("https://{address}"),
    ] {
        assert_eq!(get(&format!("Host: {address}\r\nOrigin: {origin}\r\n")).status, 403, "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(get(&format!("Host: {address}\r\nSec-Fetch-Site: {site}\r\n")).status, 403, "{site}");
    }
    assert_eq!(
        get(&format!("Host: {address}\r\nOrigin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n"))
            .status,
        200
    );
    // Nobody is told that they may.
    let asked = served.send(&served.head("OPTIONS", "/api/sessions", &["Origin: http://evil.example"]));
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (403, None));
}

#[test]
fn a_browser_that_changes_something_says_which_page_asks() {
    let served = Served::answering(decided());
    let ticket = served.url.split_once("/?").unwrap().1.to_owned();
    let set = served.send(&served.head("GET", &format!("/?{ticket}"), &[])).header("set-cookie").unwrap();
    let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
    let body = r#"{"hunk_id":"11","state":"accepted"}"#;
    let post = |extra: &[&str]| {
        let mut headers = vec![cookie.as_str()];
        headers.extend(extra);
        served.post_with("/api/session/new/review/state", body, &headers).status
    };
    assert_eq!(post(&[]), 403);
    assert_eq!(post(&["Origin: http://127.0.0.1:1"]), 403);
    assert!(served.doors.asked().is_empty());
    assert_eq!(post(&[&format!("Origin: http://{}", served.address)]), 200);
}

#[test]
fn no_id_is_a_path() {
    let served = Served::answering(listing());
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%2fetc%2fpasswd",
        "a%00b",
        "%ff",
        "new%2f..",
        "key-new.jsonl",
    ] {
        let reply = served.get(&format!("/api/session/{id}/review/hunks"));
        assert!(matches!(reply.status, 400 | 404), "{id}: {}", reply.status);
    }
    for path in
        ["/../Cargo.toml", "/assets/app.js", "/app.js/../../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd"]
    {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    assert!(served.doors.asked().is_empty());
}

#[test]
fn an_address_that_does_not_fit_is_refused_in_the_form_of_every_error() {
    let served = Served::answering(listing());
    let bad = [
        "/api/session/%ff/review/hunks",
        "/api/session/new/review/hunks/%ff",
        "/api/session/new/review/file",
        "/api/session/new/review/file?root=/r",
        "/api/sessions?counted=perhaps",
        "/api/session/%ff/review/events",
        "/api/session/%ff/pending",
    ];
    for path in bad {
        let reply = served.get(path);
        assert_eq!(reply.status, 400, "{path}");
        let error = &reply.json()["error"];
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32602), &json!("user")), "{path}");
        assert!(error["message"].as_str().unwrap().starts_with("the address does not fit: "), "{error}");
    }
}

#[test]
fn an_agents_process_decides_nothing() {
    let doors = Arc::new(Fake::answering(decided()));
    doors.is_agents_process.store(true, Ordering::Relaxed);
    let opened = Console::open(Arc::clone(&doors) as Arc<dyn Doors>, 0, None);
    assert_eq!(opened.unwrap_err().kind, ProblemKind::Conflict);

    let served = Served::answering(decided());
    served.doors.is_agents_caller.store(true, Ordering::Relaxed);
    for (route, body) in [
        ("state", r#"{"hunk_id":"11","state":"rejected"}"#),
        ("decide", r#"{"verb":"accept","selector":{"by":"all"}}"#),
        ("undo", "{}"),
        ("redo", "{}"),
        ("rebase", "{}"),
        ("comment/comment-1/resolve", "{}"),
    ] {
        let reply = served.post(&format!("/api/session/new/review/{route}"), body);
        assert_eq!(reply.status, 422, "{route}");
        assert!(reply.body.contains("an agent started"), "{}", reply.body);
    }
    assert!(served.doors.asked().is_empty());
    served.post("/api/session/new/review/comment", r#"{"path":"a","body":"b","line_start":1}"#);
    assert_eq!(served.doors.asked()[0].1, Who::Agent("agent".to_owned()));
}

#[test]
fn what_is_too_much_is_refused() {
    let served = Served::answering(decided());
    let bearer = format!("Authorization: Bearer {}", served.bearer);
    // A hundred megabytes are refused before the first of them.
    let mut stream = served.connect();
    let head = format!(
        "POST /api/session/new/review/state HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(Reply::read(stream).status, 413);
    // Nor are they taken piece by piece.
    let mut stream = served.connect();
    let head = format!(
        "POST /api/session/new/review/state HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let mut sent = 0;
    while sent < 1600 && stream.write_all(chunk.as_bytes()).is_ok() {
        sent += 1;
    }
    assert!(sent < 1600, "all of it was taken");
    let long = format!("X-Long: {}", "x".repeat(200_000));
    let mut stream = served.connect();
    let _ = stream.write_all(served.head("GET", "/", &[&long]).as_bytes());
    assert!(matches!(Reply::read(stream).status, 0 | 400 | 431));
    assert!(served.doors.asked().is_empty());
    assert_eq!(served.get("/api/sessions").status, 200);
}

#[test]
fn a_thousand_streams_do_not_keep_the_person_out() {
    let served = Served::answering(listing());
    let mut open = Vec::new();
    let mut full = 0;
    let head = served.authorized("GET", "/api/session/new/review/events", &[]);
    for _ in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(&served.address) else { break };
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        if stream.write_all(head.as_bytes()).is_err() {
            continue;
        }
        let mut line = String::new();
        let mut reader = BufReader::new(stream);
        // A connection beyond the bound is closed without a word.
        let _ = reader.read_line(&mut line);
        if line.contains(" 200 ") {
            open.push(reader);
        } else {
            full += 1;
        }
    }
    assert_eq!((open.len(), full), (64, 936));
    assert_eq!(served.get("/api/session/new/review/hunks").status, 200);
    drop(open);
    let again = eventually(|| served.stream("/api/session/new/review/events", None).0 == 200);
    assert!(again, "a place that came free was not given");
}

// ── what is asked, and what comes back ──

#[test]
fn the_five_routes_carry_the_documented_bodies() {
    let served = Served::answering(listing());
    let reply = served.get("/api/session/new/review/hunks");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json(), serde_json::to_value(rich()).unwrap());
    assert_eq!(served.get("/api/session/key-new/review/hunks").status, 200, "the name on disk will do");

    let served = Served::answering(decided());
    let body = r#"{"hunk_id":"11","state":"rejected","digest":"d","reason":"no","surprise":1}"#;
    let reply = served.post("/api/session/new/review/state", body);
    assert_eq!(
        (reply.status, &reply.json()["state"], &reply.json()["session_id"]),
        (200, &json!("rejected"), &json!("new"))
    );
    let asked = served.doors.asked();
    let Ask::Decide(decide) = &asked[0].2 else { panic!("no decision") };
    assert_eq!((decide.verb, &decide.selector), (DecideVerb::Reject, &Selector::Ids(vec!["11".into()])));
    assert_eq!((decide.digests.len(), decide.reason.as_deref()), (1, Some("no")));
    assert_eq!(asked.len(), 1, "a post is put once");

    let comment: Value = super::comment(false);
    let served = Served::answering(Answer::Commented(serde_json::from_value(comment.clone()).unwrap()));
    let reply =
        served.post("/api/session/new/review/comment", r#"{"path":"src/a.rs","body":"why","line_start":3}"#);
    assert_eq!(reply.json(), json!({ "session_id": "new", "comment": comment }));
    let served = Served::answering(Answer::Resolved(serde_json::from_value(super::comment(true)).unwrap()));
    let reply = served.post("/api/session/new/review/comment/comment-1/resolve", "{}");
    assert_eq!(reply.json(), json!({ "session_id": "new", "comment_id": "comment-1", "resolved": true }));
    let roots = json!([{ "root": "/home/me/repo", "degraded": null }]);
    let served = Served::answering(Answer::Rebased(serde_json::from_value(roots.clone()).unwrap()));
    let reply = served.post("/api/session/new/review/rebase", r#"{"root":"/home/me/repo"}"#);
    assert_eq!(reply.json(), json!({ "session_id": "new", "roots": roots }));
}

#[test]
fn a_status_says_whose_matter_a_problem_is() {
    for (kind, status, code) in [
        (ProblemKind::User, 422, -32602),
        (ProblemKind::Conflict, 422, -32602),
        (ProblemKind::Config, 422, -32602),
        (ProblemKind::Degraded, 502, -32603),
        (ProblemKind::Agent, 502, -32603),
        (ProblemKind::Internal, 502, -32603),
    ] {
        let served = Served::answering(Answer::Problem(Problem::new(kind, "it").hint("so")));
        let reply = served.get("/api/session/new/review/hunks");
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (status, &json!(code)), "{kind:?}");
        assert_eq!(reply.json()["error"]["data"]["hint"], "so");
    }
    let served = Served::answering(decided());
    assert_eq!(served.get("/api/session/nobody/review/hunks").status, 404);
    assert_eq!(served.post("/api/session/nobody/review/undo", "{}").status, 404);
    let state = "/api/session/new/review/state";
    for wrong in
        ["junk", "[]", "{}", r#"{"hunk_id":"11","state":"gone"}"#, r#"{"hunk_id":"11","state":"unreviewed"}"#]
    {
        assert_eq!(served.post(state, wrong).status, 422, "{wrong}");
    }
    let bearer = format!("Authorization: Bearer {}", served.bearer);
    let form = served.send(&format!(
        "POST {state} HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        served.address
    ));
    assert_eq!(form.status, 415);
    assert_eq!(served.send(&served.authorized("DELETE", "/api/sessions", &[])).status, 405);
    assert!(served.doors.asked().is_empty());
}

#[test]
fn a_file_is_drawn_from_what_is_kept_of_it() {
    let blame = super::corpus().into_iter().find(|(name, _)| *name == "blame").unwrap().1;
    let doors = Fake { blame: Some(blame), ..Fake::answering(listing()) };
    let served = Served::over(Arc::new(doors));
    let reply = served.get("/api/session/new/review/file?root=/home/me/repo&path=src/a.rs");
    let file = reply.json();
    assert_eq!((reply.status, file["lines"].as_array().unwrap().len()), (200, 3));
    let runs = file["runs"][1].as_array().unwrap();
    let units: u64 = runs.iter().map(|run| run[0].as_u64().unwrap()).sum();
    assert_eq!(units, "\tlet a = 2;".len() as u64);
    let sides = &file["hunks"]["1".repeat(32)];
    assert_eq!(
        sides["before"][0].as_array().unwrap().iter().filter(|run| run[1].as_u64().unwrap() >= 8).count(),
        1
    );
}

// ── what moves ──

#[test]
fn a_stream_goes_on_where_it_was_left() {
    let served = Served::over(Arc::new(Fake { log: Mutex::new(journal()), ..Fake::answering(listing()) }));
    let (status, mut stream) = served.stream("/api/session/new/review/events", None);
    assert_eq!(status, 200);
    served.doors.grow();
    let (event, id) = next_event(&mut stream);
    assert_eq!(event, "review_changed");
    drop(stream);
    // What moved while nobody listened is told at once, as one event.
    served.doors.grow();
    served.doors.grow();
    let (_, mut stream) = served.stream("/api/session/new/review/events", Some(&id));
    let (event, last) = next_event(&mut stream);
    assert_eq!(event, "review_changed");
    assert_ne!(id, last);
    drop(stream);
    // Who has seen everything is told only of what comes.
    let (_, mut stream) = served.stream("/api/session/new/review/events", Some(&last));
    served.doors.grow();
    let (_, next) = next_event(&mut stream);
    assert_ne!(next, last);
}

// ── support ──

/// A console that runs until the tests end.
pub(super) struct Served<D = Fake> {
    doors: Arc<D>,
    address: String,
    url: String,
    bearer: String,
}

impl Served {
    fn answering(answer: Answer) -> Self {
        Self::over(Arc::new(Fake::answering(answer)))
    }
}

impl<D: Doors + 'static> Served<D> {
    pub(super) fn over(doors: Arc<D>) -> Self {
        let console = Console::open(Arc::clone(&doors) as Arc<dyn Doors>, 0, None).unwrap();
        let (url, bearer) = (console.opened().url.clone(), console.opened().bearer.clone());
        std::thread::spawn(move || console.run());
        let address = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        Self { doors, address, url, bearer }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn head(&self, method: &str, path: &str, headers: &[&str]) -> String {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", self.address)
    }

    fn authorized(&self, method: &str, path: &str, headers: &[&str]) -> String {
        let bearer = format!("Authorization: Bearer {}", self.bearer);
        let mut all = vec![bearer.as_str()];
        all.extend(headers);
        self.head(method, path, &all)
    }

    fn send(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        let request = if request.contains("Connection: close") {
            request.to_owned()
        } else {
            request.replacen("\r\n", "\r\nConnection: close\r\n", 1)
        };
        stream.write_all(request.as_bytes()).unwrap();
        Reply::read(stream)
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        self.send(&self.authorized("GET", path, &[]))
    }

    pub(super) fn post(&self, path: &str, body: &str) -> Reply {
        self.post_with(path, body, &[&format!("Authorization: Bearer {}", self.bearer)])
    }

    fn post_with(&self, path: &str, body: &str, headers: &[&str]) -> Reply {
        let length = format!("Content-Length: {}", body.len());
        let mut all = vec!["Content-Type: application/json", length.as_str()];
        all.extend(headers);
        self.send(&(self.head("POST", path, &all) + body))
    }

    /// Opens a stream; returns its status and what comes.
    fn stream(&self, path: &str, last: Option<&str>) -> (u16, BufReader<TcpStream>) {
        let last = last.map(|last| format!("Last-Event-ID: {last}"));
        let headers: Vec<&str> = last.iter().map(String::as_str).collect();
        let mut stream = self.connect();
        stream.write_all(self.authorized("GET", path, &headers).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        // The reader of the journals has begun when the first comment is there.
        while status == 200 && !line.starts_with(": hunkgate") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        }
        (status, reader)
    }
}

/// Reads the next event: its name and its id.
fn next_event(stream: &mut BufReader<TcpStream>) -> (String, String) {
    let (mut event, mut id) = (String::new(), String::new());
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("event: ") {
            event = name.to_owned();
        } else if let Some(value) = line.strip_prefix("id: ") {
            id = value.to_owned();
        } else if line.is_empty() && !event.is_empty() {
            return (event, id);
        }
    }
}

pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Reply {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // What was refused early may be cut off: what came until then counts.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if holds() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}
