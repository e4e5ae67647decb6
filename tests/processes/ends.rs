//! How it ends: by the editor, by the agent, by a signal.

use crate::proxy::{lives, scripted, signal, start, until};

/// Reports that it is ready, then does nothing until it is ended. The shell stays awake for its traps.
const IDLE: &str = "echo ready; while :; do read -r _ || sleep 0.02; done";

#[test]
fn the_end_of_the_editors_input_reaches_the_agent_and_its_exit_code_comes_back() {
    let mut proxy = scripted("while read -r line; do echo \"$line\"; done; echo farewell; exit 7");
    proxy.send("one\n");
    assert_eq!(proxy.line(), "one\n");
    proxy.close_input();
    assert_eq!(proxy.finish(), ("farewell\n".into(), 7));
}

#[test]
fn an_agent_that_goes_on_after_the_end_of_its_input_is_terminated() {
    let mut proxy = scripted(&format!("trap 'echo terminated; exit 5' TERM; {IDLE}"));
    assert_eq!(proxy.line(), "ready\n");
    proxy.close_input();
    assert_eq!(proxy.finish(), ("terminated\n".into(), 5));
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed() {
    let mut proxy = scripted(&format!("trap '' TERM; {IDLE}"));
    assert_eq!(proxy.line(), "ready\n");
    proxy.close_input();
    assert_eq!(proxy.finish(), (String::new(), 128 + 9));
}

#[test]
fn our_signals_are_passed_on_at_once_and_make_the_exit_code() {
    for (name, number) in [("TERM", 15), ("HUP", 1), ("INT", 2)] {
        let mut proxy = scripted(&format!("trap 'echo got {name}; exit 0' {name}; {IDLE}"));
        assert_eq!(proxy.line(), "ready\n");
        proxy.signal(name);
        assert_eq!(proxy.line(), format!("got {name}\n"));
        assert_eq!(proxy.finish(), (String::new(), 128 + number));
    }
}

#[test]
fn an_agent_that_dies_by_a_signal_makes_the_code_a_shell_would() {
    let proxy = scripted("kill -9 $$");
    assert_eq!(proxy.finish(), (String::new(), 128 + 9));
}

#[test]
fn all_that_the_agent_said_is_forwarded_before_the_end_even_a_torn_line() {
    let proxy =
        scripted("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; printf torn; exit 3");
    let (said, code) = proxy.finish();
    assert_eq!(code, 3);
    assert_eq!(said.lines().count(), 5001);
    assert!(
        said.starts_with("line 0\n") && said.ends_with("line 4999\ntorn"),
        "{}",
        &said[said.len() - 40..]
    );
}

#[test]
fn descendants_that_the_agent_leaves_are_ended() {
    let mut proxy =
        scripted("setsid sleep 1000 >/dev/null 2>&1 & echo $!; (sleep 1001 & echo $!); read -r _");
    let (detached, orphan) = (proxy.line(), proxy.line());
    until("the detached one lives", || lives(&detached));
    proxy.close_input();
    assert_eq!(proxy.finish(), (String::new(), 1));
    assert!(!lives(&detached) && !lives(&orphan));
}

#[test]
fn jobs_of_the_shell_that_became_us_are_left_alone() {
    let ours = env!("CARGO_BIN_EXE_hunkgate");
    let script = format!("sleep 1000 >/dev/null 2>&1 </dev/null & echo $!; exec {ours} run -- cat");
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(script);
    let mut proxy = crate::proxy::spawn(command, |_| {});
    let job = proxy.line();
    proxy.send("up\n");
    assert_eq!(proxy.line(), "up\n");
    proxy.close_input();
    assert_eq!(proxy.finish(), (String::new(), 0));
    assert!(lives(&job));
    signal(job.trim().parse().expect("a pid"), "KILL");
}

#[test]
fn a_descendant_that_keeps_the_output_open_does_not_keep_us() {
    let mut proxy = scripted("(trap '' TERM HUP; while :; do sleep 1; done) & echo $!; exit 4");
    let orphan = proxy.line();
    assert_eq!(proxy.finish(), (String::new(), 4));
    assert!(!lives(&orphan));
}

#[cfg(target_os = "linux")]
#[test]
fn the_agent_is_terminated_when_we_are_killed() {
    let mut proxy = scripted(&format!("trap 'exit 0' TERM; echo $$; {IDLE}"));
    let agent = proxy.line();
    assert_eq!(proxy.line(), "ready\n");
    signal(proxy.child.id(), "KILL");
    proxy.child.wait().expect("it was ours");
    until("the agent is gone", || !lives(&agent));
}

#[test]
fn the_agent_stays_in_our_process_group_and_its_environment_gains_one_variable() {
    let mut proxy = start(&["sh", "-c", "ps -o pgid= -p $$; env | sort; echo end"], |command| {
        command.env("MARK", "kept");
    });
    let ours = proxy_group(proxy.child.id());
    assert_eq!(proxy.line().trim(), ours);
    let mut names = Vec::new();
    loop {
        let line = proxy.line();
        if line == "end\n" {
            break;
        }
        names.push(line.split('=').next().unwrap_or_default().to_owned());
    }
    names.retain(|name| !matches!(name.as_str(), "PWD" | "OLDPWD" | "SHLVL" | "_"));
    assert_eq!(names, ["HUNKGATE_PARENT", "HUNKGATE_STATE_DIR", "MARK", "PATH"]);
}

fn proxy_group(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.nth(2).unwrap_or_default().to_owned()
}
