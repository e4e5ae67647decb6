//! argv → command → exit code, nothing else.

use hunkgate::config::Config;
use hunkgate::host::{self, Recorded};
use hunkgate::ledger::Channel;
use hunkgate::review::{Problem, ProblemKind};
use hunkgate::surface::{self, Machine, Todo};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let invocation = match surface::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(error) => return surface::usage(&error),
    };
    let machine = Machine::here(invocation.state_dir.as_deref());
    match invocation.todo {
        Todo::Run(wrap) => match machine.launch(wrap) {
            Ok(launch) => exit(&machine, host::run(&launch)),
            Err(problem) => {
                let code = machine.complain(&problem);
                // An editor is told in its own language as well.
                if !machine.is_attended() && host::refuse(&problem).is_err() {
                    return ExitCode::from(5);
                }
                code
            }
        },
        Todo::Ask(request) => machine.ask(&request, &Recorded::at(machine.state(), machine.config_or_last())),
        Todo::Review { session } => {
            let config = machine.config_or_last();
            let keys = config.keys.clone();
            let port = Recorded::at(machine.state(), config).through(Channel::Tui);
            machine.review(session.as_deref(), &keys, port)
        }
        Todo::Web { session, hunk, port, json } => {
            let config = machine.config_or_last();
            let port = port.unwrap_or(config.web_port);
            let doors = Recorded::at(machine.state(), config).through(Channel::Web);
            machine.web((session.as_deref(), hunk), (port, json), Arc::new(doors))
        }
        Todo::Mcp => {
            let config = machine.config_or_last();
            let may = config.mcp_may.clone();
            machine.mcp(may, Arc::new(Recorded::at(machine.state(), config).through(Channel::Mcp)))
        }
        Todo::Demo { keep } => exit(&machine, host::demo(keep)),
        Todo::DemoAgent => exit(&machine, host::demo_agent()),
        Todo::Doctor { json } => {
            let config = machine.config().unwrap_or_else(|_| Config::of(None, None));
            let stock = machine.state().map(|state| host::stock(&state, &config));
            machine.doctor(json, stock.as_ref())
        }
        Todo::Bench { directory, rounds, json } => {
            match host::costs(&directory, usize::from(rounds), &machine.config_or_last()) {
                Ok(costs) => machine.costs(&costs, json),
                Err(problem) => machine.complain(&problem),
            }
        }
        Todo::Gc { json, dry_run } => gc(&machine, json, dry_run),
        Todo::Policy(inquiry) => {
            let config = machine.config().unwrap_or_else(|_| Config::of(None, None));
            machine.policy(&inquiry, &Recorded::at(machine.state(), config))
        }
        Todo::Completions { shell } => machine.completions(shell),
        Todo::Man { directory } => machine.manual(directory.as_deref()),
        Todo::Setup { editor, agent } => machine.setup(editor, &agent),
    }
}

fn gc(machine: &Machine, json: bool, dry_run: bool) -> ExitCode {
    // What is swept follows the configuration: by one that cannot be used nothing is.
    let found = match dry_run {
        true => machine.must_have_state().map(|state| host::stock(&state, &machine.config_or_last())),
        false => machine.config().and_then(|config| host::sweep(&machine.must_have_state()?, &config)),
    };
    match found {
        Ok(found) => machine.stock(&found, json),
        Err(problem) => machine.complain(&problem),
    }
}

/// An exit code as it stands, or the problem that stood in the way of one.
fn exit(machine: &Machine, ended: anyhow::Result<i32>) -> ExitCode {
    match ended {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => machine.complain(&Problem::new(ProblemKind::Internal, format!("{error:#}"))),
    }
}
