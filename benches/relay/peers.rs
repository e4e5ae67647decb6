//! What the benchmark starts itself again as: a scripted agent, and line copiers.

use crate::{Peek, notification};
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

/// The word that makes us the agent.
pub(crate) const AGENT: &str = "as-agent";
/// The word that makes us a copier between our pipes and those of the command that follows.
pub(crate) const COPIER: &str = "as-copier";
/// The word that makes us an element of a proxy chain that changes nothing but the framing.
pub(crate) const CHAINED_COPIER: &str = "as-chained-copier";
/// In a prompt: so many notifications are asked for.
pub(crate) const FLOOD: &str = "flood ";

const BUFFER: usize = 128 * 1024;
/// Notifications that are written again and again.
const BLOCK: usize = 300;

/// Answers every request; for a prompt it first says as much as it asks for, as fast as it can.
pub(crate) fn agent() {
    let block: String = (0..BLOCK).map(notification).collect();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(Peek { id: Some(id), method: Some(method), .. }) = serde_json::from_str(&line) else {
            continue;
        };
        let result = match &*method {
            "initialize" => {
                r#"{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"bench","version":"1"},"authMethods":[]}"#
            }
            "session/new" => r#"{"sessionId":"s1"}"#,
            "session/prompt" => {
                if flood(&mut out, &block, asked_for(&line)).is_err() {
                    return;
                }
                r#"{"stopReason":"end_turn"}"#
            }
            _ => "{}",
        };
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n", id.get());
        if out.write_all(answer.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn asked_for(prompt: &str) -> usize {
    let digits = prompt.split(FLOOD).nth(1).unwrap_or_default();
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or_default()
}

fn flood(out: &mut impl Write, block: &str, mut lines: usize) -> io::Result<()> {
    // Our stdout is line buffered: whole blocks reach the kernel as they are, up to their last line's end.
    while lines >= BLOCK {
        out.write_all(block.as_bytes())?;
        lines -= BLOCK;
    }
    let rest: String = (0..lines).map(notification).collect();
    out.write_all(rest.as_bytes())
}

/// Copies lines in both directions between our pipes and a child's, looking at each with borrowed serde.
pub(crate) fn copier(command: &[String]) {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the agent starts");
    let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    std::thread::spawn(move || copy(io::stdin(), to, |line, out| out.write_all(line)));
    copy(from, unbuffered_stdout(), |line, out| out.write_all(line));
    let _ = child.wait();
}

/// Passes lines on between a conductor and its successor: what comes wrapped goes up bare, the rest goes down wrapped.
pub(crate) fn chained_copier() {
    copy(io::stdin(), unbuffered_stdout(), |line, out| {
        let text = std::str::from_utf8(line).expect("text").trim_end();
        let peek: Peek<'_> = serde_json::from_str(text).expect("JSON");
        let params = peek.params.map_or("null", |params| params.get());
        let id = peek.id.map_or(String::new(), |id| format!("\"id\":{},", id.get()));
        match peek.method.as_deref() {
            Some("proxy/successor") => {
                let inner = params.trim_start_matches('{');
                writeln!(out, "{{\"jsonrpc\":\"2.0\",{id}{inner}")
            }
            Some(method) => {
                let method = method.strip_prefix("proxy/").unwrap_or(method);
                writeln!(
                    out,
                    "{{\"jsonrpc\":\"2.0\",{id}\"method\":\"proxy/successor\",\"params\":{{\"method\":\"{method}\",\"params\":{params}}}}}"
                )
            }
            None => out.write_all(line),
        }
    });
}

fn copy(from: impl Read, to: impl Write, mut each: impl FnMut(&[u8], &mut dyn Write) -> io::Result<()>) {
    let mut from = BufReader::with_capacity(BUFFER, from);
    let mut to = BufWriter::with_capacity(BUFFER, to);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if let Ok(peek) = serde_json::from_slice::<Peek<'_>>(&line) {
            black_box((peek.id, peek.method, peek.params));
        }
        let idle = from.buffer().is_empty();
        if each(&line, &mut to).and_then(|()| if idle { to.flush() } else { Ok(()) }).is_err() {
            return;
        }
        line.clear();
    }
}

/// The standard library buffers its stdout by lines, which is not what a copier would do.
fn unbuffered_stdout() -> std::fs::File {
    io::stdout().as_fd().try_clone_to_owned().expect("a descriptor").into()
}
