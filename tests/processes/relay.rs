//! What passes while it runs.

use crate::proxy::{scripted, start};
use std::io::{BufRead as _, Read as _, Write as _};
use std::time::{Duration, Instant};

#[test]
fn lines_pass_byte_for_byte_in_both_directions() {
    let mut proxy = start(&["cat"], |_| {});
    let text = "{\"jsonrpc\":\"2.0\", \"method\":\"x\\/y\",\"params\":[1e0]}\r\n\n\r\njunk \u{1F600}\n{\"a\":1,\"a\":2}\n";
    proxy.send(text);
    let mut read = vec![0; text.len()];
    proxy.stdout.read_exact(&mut read).expect("it comes back");
    assert_eq!(read, text.as_bytes());
    proxy.close_input();
    assert_eq!(proxy.finish(), (String::new(), 0));
}

#[test]
fn bytes_that_are_not_text_pass() {
    let mut proxy = start(&["cat"], |_| {});
    let bytes = b"\xff\xfe{\"method\":\"\xc3\x28\"}\n\xef\xbb\xbf{}\n";
    proxy.stdin.as_mut().expect("open").write_all(bytes).expect("the proxy reads");
    let mut read = vec![0; bytes.len()];
    proxy.stdout.read_exact(&mut read).expect("it comes back");
    assert_eq!(read, bytes);
}

#[test]
fn a_line_of_64_mib_and_one_that_is_longer_pass_and_the_next_one_is_whole() {
    let mut proxy = start(&["cat"], |_| {});
    let mut stdin = proxy.stdin.take().expect("open");
    for size in [64 << 20, (64 << 20) + 1_000] {
        let mut line = vec![b'x'; size - 1];
        line.push(b'\n');
        let writer = std::thread::spawn(move || {
            stdin.write_all(&line).and_then(|()| stdin.write_all(b"next\n")).expect("the proxy reads");
            stdin
        });
        let mut read = Vec::new();
        proxy.stdout.read_until(b'\n', &mut read).expect("readable");
        assert_eq!(read.len(), size);
        assert_eq!(proxy.line(), "next\n");
        stdin = writer.join().expect("written");
    }
}

#[test]
fn stderr_is_drained_although_nobody_reads_ours() {
    let mut proxy = scripted("yes 'a line of stderr' | head -c 8000000 >&2; echo done; read -r _");
    assert_eq!(proxy.line(), "done\n");
    proxy.close_input();
    let shown = proxy.stderr();
    assert!(shown.starts_with("a line of stderr\n"));
    assert!(shown.contains("bytes of stderr were dropped: nobody read them\n"));
}

#[test]
fn stderr_passes_unchanged_line_by_line() {
    let mut proxy = scripted("echo one >&2; printf '\\033[1mtwo\\033[0m\\n' >&2; printf three >&2");
    assert_eq!(proxy.stderr(), "one\n\u{1b}[1mtwo\u{1b}[0m\nthree\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_stops_reading_costs_bounded_memory_and_loses_nothing() {
    const TOTAL: usize = 300_000_000;
    let mut proxy = scripted(&format!("yes '{}' | head -c {TOTAL}", "x".repeat(200)));
    let (mut last, mut since) = (0, Instant::now());
    crate::proxy::until("nothing more is taken in", || {
        let now = bytes_read(proxy.child.id());
        if now != last || now <= 4_000_000 {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() >= Duration::from_millis(200)
    });
    let peak = resident_kib(proxy.child.id(), "VmHWM");
    assert!(peak < 60_000, "{peak} KiB");
    let mut read = 0;
    let mut buffer = vec![0; 1 << 20];
    while read < TOTAL {
        read += proxy.stdout.read(&mut buffer).expect("readable");
    }
    assert_eq!(proxy.finish(), (String::new(), 0));
}

#[cfg(target_os = "linux")]
fn bytes_read(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = io.lines().find(|line| line.starts_with("rchar")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn resident_kib(pid: u32, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default()
}
