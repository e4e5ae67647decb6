//! A proxy from its start to its exit code.

use crate::base::{Leg, ProxyId};
use crate::engine::{Input, Setup};
use crate::host::child::{self, AgentPid, NotStarted, Pipes};
use crate::host::event::{Event, Inbox};
use crate::host::kin;
use crate::host::leg::{Source, Writer, start_reader};
use crate::host::perform::{Perform, Unrecorded};
use crate::host::relay::{Gauges, Parts, Relay};
use crate::host::signal;
use crate::host::voice::{Voice, start_drain};
use crate::surface::Launch;
use anyhow::Context as _;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::channel;

/// Bytes that may be under way to one peer.
const LIMIT: usize = 64 * 1024 * 1024;

/// Wraps an agent until it is gone, and returns the exit code. To be called from the main thread.
pub fn run(launch: &Launch) -> anyhow::Result<i32> {
    let seed = draw_seed()?;
    let proxy = ProxyId::new(format!("proxy-{seed}"));
    if rustix::termios::isatty(io::stdin()) {
        let not_started = child::become_it(&launch.agent, proxy.as_str());
        return Ok(not_started.code);
    }
    let voice = Voice::start(duplicate(io::stderr())?)?;
    child::adopt_orphans();
    let (sender, events) = channel();
    let inbox = Inbox::new(sender);
    let pid = AgentPid::default();
    signal::start(pid.clone(), inbox.clone()).context("cannot listen for signals")?;
    let started = child::start(&pid, &launch.agent, proxy.as_str());
    let setup = setup(launch, proxy, seed);
    let gauges = Gauges::new(LIMIT);
    let (stdin, streams) = match started {
        Ok(pipes) => {
            let Pipes { stdin, stdout, stderr } = pipes;
            (Some(stdin), Ok((stdout, stderr)))
        }
        Err(not_started) => (None, Err(not_started)),
    };
    let to_agent = stdin
        .map(|stdin| Writer::start(Leg::Agent, stdin, gauges.agent.clone(), inbox.clone()))
        .transpose()?;
    let parts = Parts {
        setup,
        events: (inbox.clone(), events),
        editor: Writer::start(Leg::Editor, duplicate(io::stdout())?, gauges.editor.clone(), inbox.clone())?,
        agent: to_agent,
        pid: pid.clone(),
        perform: performer(launch, &inbox),
        voice: voice.clone(),
        gauges: gauges.clone(),
    };
    let relay = std::thread::Builder::new().name("relay".into()).spawn(move || Relay::new(parts).run())?;
    let from_editor = Source { from: duplicate(io::stdin())?, drain: None };
    match streams {
        Ok(streams) => {
            let wired = Wired { pid, voice, gauges, inbox };
            start_reader(Leg::Editor, from_editor, wired.gauges.agent.clone(), wired.inbox.clone())?;
            wired.until_reaped(streams)?;
        }
        Err(not_started) => {
            inbox.put(Event::Came(input(launch, not_started)));
            start_reader(Leg::Editor, from_editor, gauges.agent, inbox)?;
        }
    }
    let code = relay.join().unwrap_or(5);
    kin::end_descendants();
    Ok(code)
}

/// What the main thread holds while the agent lives.
struct Wired {
    pid: AgentPid,
    voice: Voice,
    gauges: Gauges,
    inbox: Inbox,
}

impl Wired {
    /// Reads the agent's output and waits for its end. What it wrote before it died is read to the last byte; what a
    /// descendant of it keeps open is not waited for.
    fn until_reaped(self, (stdout, stderr): (OwnedFd, OwnedFd)) -> anyhow::Result<()> {
        let (stdout_drain, stdout_end) = io::pipe()?;
        let (stderr_drain, stderr_end) = io::pipe()?;
        let stdout = Source { from: stdout, drain: Some(stdout_drain.into()) };
        let stderr = Source { from: stderr, drain: Some(stderr_drain.into()) };
        start_reader(Leg::Agent, stdout, self.gauges.editor.clone(), self.inbox.clone())?;
        let tail = start_drain(stderr, self.voice)?;
        let code = self.pid.wait();
        drop((stdout_end, stderr_end));
        let stderr_tail = tail.join().unwrap_or_default();
        self.inbox.put(Event::AgentReaped { code, stderr_tail });
        Ok(())
    }
}

fn input(launch: &Launch, not_started: NotStarted) -> Input {
    let words: Vec<_> = launch.agent.iter().map(|word| word.to_string_lossy()).collect();
    Input::AgentNotStarted { command: words.join(" "), reason: not_started.reason, code: not_started.code }
}

fn performer(_launch: &Launch, inbox: &Inbox) -> Box<dyn Perform> {
    Box::new(Unrecorded::new(inbox.clone(), "no state directory"))
}

fn setup(launch: &Launch, proxy: ProxyId, seed: String) -> Setup {
    let program = launch.agent.first().map(std::path::Path::new).and_then(std::path::Path::file_name);
    let program = program.unwrap_or_default().to_string_lossy().into_owned();
    Setup {
        proxy,
        pid: std::process::id(),
        seed,
        program,
        config: crate::config::Config::default(),
        withheld: crate::base::Patterns::default(),
        parent: None,
    }
}

/// Draws eight hex digits that no other run has.
fn draw_seed() -> anyhow::Result<String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("cannot draw random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn duplicate(stream: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream, 3)?)
}
