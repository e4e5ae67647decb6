//! A browser that is driven: WebDriver is JSON over HTTP.

#![allow(clippy::print_stderr, reason = "who runs the tests is told what was not tested")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A headless Chromium with a profile of its own.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; `None` where none is installed and nobody insists (`HUNKGATE_BROWSER`).
    pub(crate) fn start() -> Option<Self> {
        let started =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        match started {
            Ok(driver) => Some(Self::driven_by(driver)),
            Err(error) => {
                assert!(std::env::var_os("HUNKGATE_BROWSER").is_none(), "no chromedriver: {error}");
                eprintln!("no chromedriver: the page is not tested");
                None
            }
        }
    }

    fn driven_by(mut driver: Child) -> Self {
        let mut lines = BufReader::new(driver.stdout.take().expect("piped")).lines();
        let port = loop {
            let line = lines.next().expect("a line of chromedriver").expect("readable");
            if let Some(port) = line
                .split("successfully on port ")
                .nth(1)
                .and_then(|port| port.trim_end_matches('.').parse().ok())
            {
                break port;
            }
        };
        // What it says later would fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().expect("a directory");
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,860",
            "--force-device-scale-factor=1",
            &profile,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": args }, "goog:loggingPrefs": { "browser": "ALL" } } } });
        let session = browser.call("POST", "/session", Some(&wanted));
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let value = self.try_call(method, path, body);
        assert!(value.get("error").is_none_or(Value::is_null), "{method} {path}: {value}");
        value
    }

    /// Sends a command. Returns what it answers, which may be an error.
    fn try_call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("written");
        let mut reader = BufReader::new(stream);
        // It keeps the connection open, whatever it is told.
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a head");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        answer["value"].clone()
    }

    fn of(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = (method == "POST").then_some(body);
        self.call(method, &format!("/session/{}/{path}", self.session), body)
    }

    pub(crate) fn go(&self, url: &str) {
        self.of("POST", "url", &json!({ "url": url }));
    }

    /// Runs a function's body in the page and returns what it returns.
    pub(crate) fn js(&self, script: &str) -> Value {
        self.of("POST", "execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn until(&self, expression: &str) {
        let start = Instant::now();
        while self.js(&format!("return !!({expression})")) != json!(true) {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "never: {expression}\n{}",
                self.js("return document.body.innerText")
            );
            std::thread::yield_now();
        }
    }

    /// Types keys, one after the other.
    pub(crate) fn keys(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.act(&strokes);
    }

    /// Types a key while another is held.
    pub(crate) fn chord(&self, held: char, key: char) {
        let (held, key) = (held.to_string(), key.to_string());
        let stroke = |kind: &str, key: &str| json!({ "type": kind, "value": key });
        self.act(&[
            stroke("keyDown", &held),
            stroke("keyDown", &key),
            stroke("keyUp", &key),
            stroke("keyUp", &held),
        ]);
    }

    fn act(&self, strokes: &[Value]) {
        self.of(
            "POST",
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] }),
        );
    }

    /// Clicks what a selector finds first, as a mouse does; once more where it was drawn anew, or moved, in between.
    pub(crate) fn click(&self, selector: &str) {
        let start = Instant::now();
        loop {
            let found = self.of("POST", "element", &json!({ "using": "css selector", "value": selector }));
            let id = found
                .as_object()
                .and_then(|found| found.values().next())
                .and_then(Value::as_str)
                .expect("an element");
            let path = format!("/session/{}/element/{id}/click", self.session);
            let answer = self.try_call("POST", &path, Some(&json!({})));
            let Some(error) = answer.get("error") else { return };
            let moved = ["stale element reference", "element click intercepted"].iter().any(|it| error == it);
            assert!(moved && start.elapsed() < Duration::from_secs(30), "{selector}: {answer}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn size(&self, width: u32, height: u32) {
        self.of("POST", "window/rect", &json!({ "width": width, "height": height }));
    }

    /// Sets what the system prefers: `dark` or `light`.
    pub(crate) fn scheme(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.of(
            "POST",
            "goog/cdp/execute",
            &json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } }),
        );
    }

    /// Returns what the page complained of.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.of("POST", "se/log", &json!({ "type": "browser" }));
        let severe = log.as_array().into_iter().flatten().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Returns a picture of the window, as base64 of a PNG.
    pub(crate) fn picture(&self) -> String {
        self.of("GET", "screenshot", &Value::Null).as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &format!("/session/{}", self.session), None);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
