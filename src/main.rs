//! argv → command → exit code, nothing else.

use hunkgate::surface::Launch;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let command = words.next().unwrap_or_default();
    let mut agent: Vec<OsString> = words.collect();
    if agent.first().is_some_and(|word| word == "--") {
        agent.remove(0);
    }
    if command != "run" {
        return ExitCode::from(2);
    }
    let launch = Launch { agent, ..Launch::default() };
    match hunkgate::host::run(&launch) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(_) => ExitCode::from(5),
    }
}
