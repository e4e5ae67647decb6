//! A proxy from its start to its exit code.

use crate::base::{Leg, Patterns, ProxyId};
use crate::config::Config;
use crate::engine::{Input, Setup};
use crate::host::assessor;
use crate::host::child::{self, AgentPid, NotStarted, Pipes};
use crate::host::clock::Clock;
use crate::host::effects::{Effects, Place};
use crate::host::event::{Event, Inbox};
use crate::host::kin::{self, Strangers};
use crate::host::leg::{Source, Writer, start_reader};
use crate::host::log;
use crate::host::perform::{Perform, Unrecorded};
use crate::host::recorder::Recorder;
use crate::host::relay::{Gauges, Parts, Relay};
use crate::host::signal;
use crate::host::socket::{Door, Socket};
use crate::host::stock;
use crate::host::voice::{Voice, start_drain};
use crate::host::wires::Wires;
use crate::ledger::Redactor;
use crate::review::Problem;
use crate::router::Hop;
use crate::store::{Settings, StateDir};
use crate::surface::{Launch, config_file};
use crate::wire::Splitter;
use anyhow::Context as _;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Bytes that may be under way to one peer.
const LIMIT: usize = 4 * 1024 * 1024;

/// What stands at the far side.
enum Far {
    /// An agent of ours.
    Agent(Pipes),
    /// An agent that could not be started.
    Missing(NotStarted),
    /// A conductor, on the connection that is the near side too.
    Chain,
}

/// Wraps an agent until it is gone, and returns the exit code. Without an agent it is an element of a proxy chain. To be
/// called from the main thread.
pub fn run(launch: &Launch) -> anyhow::Result<i32> {
    let (proxy, seed) = draw_name()?;
    if launch.agent.is_empty() {
        return relay(launch, (proxy, seed), |_| Far::Chain);
    }
    if rustix::termios::isatty(io::stdin()) {
        let not_started = child::become_it(&launch.agent, proxy.as_str());
        return Err(anyhow::anyhow!("cannot start the agent: {}", not_started.reason));
    }
    child::adopt_orphans();
    relay(launch, (proxy.clone(), seed), |pid| match child::start(pid, &launch.agent, proxy.as_str()) {
        Ok(pipes) => Far::Agent(pipes),
        Err(not_started) => Far::Missing(not_started),
    })
}

/// Answers the editor's first request with a problem: no agent is started and nothing is forwarded.
pub fn refuse(problem: &Problem) -> anyhow::Result<i32> {
    let code = i32::from(problem.kind.exit_code());
    let reason = problem.message.clone();
    relay(&Launch::default(), draw_name()?, |_| Far::Missing(NotStarted { reason, code }))
}

fn relay(
    launch: &Launch,
    (proxy, seed): (ProxyId, String),
    start: impl FnOnce(&AgentPid) -> Far,
) -> anyhow::Result<i32> {
    let strangers = Strangers::note();
    let clock = Clock::start();
    let mut config = Config::of(launch.config.as_ref(), None);
    assessor::note_programs(&mut config.assessors);
    let voice = Voice::start(duplicate(io::stderr())?)?;
    log::speak_for_panics(&voice);
    let log_file = launch.log_file.clone().or_else(|| config.log.file.clone().map(PathBuf::from));
    log::start(&config.log.level, log_file.as_deref(), &voice);
    let (sender, events) = channel();
    let inbox = Inbox::new(sender);
    let pid = AgentPid::default();
    signal::start(pid.clone(), inbox.clone()).context("cannot listen for signals")?;
    let near = Near { longest: Splitter::LIMIT, gauges: Gauges::new(LIMIT), inbox: inbox.clone() };
    let far = start(&pid);
    let (perform, _socket) = match &far {
        Far::Agent(_) | Far::Chain => performer(launch, &config, (&proxy, clock), &inbox),
        Far::Missing(missing) => unrecorded(&inbox, missing.reason.clone()),
    };
    let (near, wires, streams) = near.connect(far, launch)?;
    let program = launch.agent.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let parts = Parts {
        wires,
        events: (inbox.clone(), events),
        pid: pid.clone(),
        perform,
        recorder: launch.record.as_deref().and_then(|path| record(path, redactor(&config, [0; 32]))),
        setup: setup(&program.to_string_lossy(), config, (proxy, seed), launch.state.as_deref()),
        clock,
        voice: Some(voice.clone()),
        gauges: near.gauges.clone(),
    };
    let relay = std::thread::Builder::new().name("relay".into()).spawn(move || Relay::new(parts).run())?;
    let stdin = Source { from: duplicate(io::stdin())?, drain: None };
    start_reader(Leg::Editor, stdin, near.longest, near.gauges.agent.clone(), inbox.clone())?;
    if let Some(streams) = streams {
        Wired { pid, voice, gauges: near.gauges, inbox }.until_reaped(streams)?;
    }
    let code = relay.join().unwrap_or(5);
    kin::end_descendants(&strangers);
    Ok(code)
}

/// What an agent writes.
struct Output {
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// The near side: our stdin and stdout.
struct Near {
    longest: usize,
    gauges: Gauges,
    inbox: Inbox,
}

impl Near {
    /// Makes the ways to both peers. With them the agent's output and stderr, where there is an agent.
    fn connect(mut self, far: Far, launch: &Launch) -> io::Result<(Self, Wires, Option<Output>)> {
        if matches!(far, Far::Chain) {
            self.gauges = Gauges::shared(LIMIT);
            self.longest = usize::MAX;
        }
        let stdout = duplicate(io::stdout())?;
        let writer = Writer::start(Leg::Editor, stdout, self.gauges.editor.clone(), self.inbox.clone())?;
        let (agent, streams) = match far {
            Far::Chain => return Ok((self, Wires::Chain { hop: Hop::new(), writer }, None)),
            Far::Agent(Pipes { stdin, stdout, stderr }) => {
                let agent = Writer::start(Leg::Agent, stdin, self.gauges.agent.clone(), self.inbox.clone())?;
                (Some(agent), Some(Output { stdout, stderr }))
            }
            Far::Missing(not_started) => {
                self.inbox.put(Event::Came(Box::new(told(launch, &not_started))));
                (None, None)
            }
        };
        Ok((self, Wires::Pair { editor: Some(writer), agent }, streams))
    }
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
    fn until_reaped(self, Output { stdout, stderr }: Output) -> anyhow::Result<()> {
        let (stdout_drain, stdout_end) = io::pipe()?;
        let (stderr_drain, stderr_end) = io::pipe()?;
        let stdout = Source { from: stdout, drain: Some(stdout_drain.into()) };
        let stderr = Source { from: stderr, drain: Some(stderr_drain.into()) };
        start_reader(Leg::Agent, stdout, Splitter::LIMIT, self.gauges.editor, self.inbox.clone())?;
        let tail = start_drain(stderr, self.voice)?;
        let code = self.pid.wait();
        drop((stdout_end, stderr_end));
        let stderr_tail = tail.join().unwrap_or_default();
        self.inbox.put(Event::AgentReaped { code, stderr_tail });
        Ok(())
    }
}

fn told(launch: &Launch, not_started: &NotStarted) -> Input {
    let words: Vec<_> = launch.agent.iter().map(|word| word.to_string_lossy()).collect();
    Input::AgentNotStarted {
        command: words.join(" "),
        reason: not_started.reason.clone(),
        code: not_started.code,
    }
}

/// Returns what carries effects out: for real where there is a place to record, else nothing at all, and says so. With
/// it the socket at which the proxy answers, to be kept as long.
fn performer(
    launch: &Launch,
    config: &Config,
    (proxy, clock): (&ProxyId, Clock),
    inbox: &Inbox,
) -> (Box<dyn Perform>, Option<Socket>) {
    let recorded = place(launch, config, proxy, clock).and_then(|mut place| {
        let socket = listen(&place, config, inbox);
        let socket = socket
            .inspect_err(|reason| {
                let input = Input::DoorMoved { session: None, stands: Err(reason.clone()) };
                inbox.put(Event::Came(Box::new(input)));
            })
            .ok();
        place.socket = socket.as_ref().map(|socket| socket.path().to_owned());
        keep_no_longer(&place, config);
        let effects = Effects::start(place, None, inbox.clone());
        let effects = effects.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok((effects, socket))
    });
    match recorded {
        Ok((effects, socket)) => (Box::new(effects), socket),
        Err(reason) => {
            tracing::warn!("forwarding without recording: {reason}");
            unrecorded(inbox, reason)
        }
    }
}

/// Deletes, beside everything else, the sessions that `[store] keep` gives up.
fn keep_no_longer(place: &Place, config: &Config) {
    if config.store.keep_days.is_none() {
        return;
    }
    let (state, config) = (place.state.clone(), config.clone());
    let work = move || match stock::give_up(&state, &config) {
        Ok(gone) => gone.iter().for_each(|session| tracing::info!("deleted session {}", session.key)),
        Err(error) => tracing::warn!("failed to {error}"),
    };
    if let Err(error) = std::thread::Builder::new().name("keep".into()).spawn(work) {
        tracing::warn!("cannot start a thread: {error}");
    }
}

fn unrecorded(inbox: &Inbox, reason: String) -> (Box<dyn Perform>, Option<Socket>) {
    (Box::new(Unrecorded::new(inbox.clone(), reason)), None)
}

fn place(launch: &Launch, config: &Config, proxy: &ProxyId, clock: Clock) -> Result<Place, String> {
    let top = launch.state.clone().ok_or("there is no state directory: set HUNKGATE_STATE_DIR or HOME")?;
    let state = StateDir::open(top).map_err(|error| error.to_string())?;
    Ok(Place {
        state,
        settings: settings(config),
        proxy: proxy.clone(),
        socket: None,
        clock,
        config: launch.config_file.clone(),
    })
}

/// Starts to answer other processes. Without a socket commands have to wait until the proxy has ended, and it says so.
fn listen(place: &Place, config: &Config, inbox: &Inbox) -> Result<Socket, String> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let runtime = runtime.unwrap_or_else(std::env::temp_dir);
    let (state, proxy) = (place.state.clone(), place.proxy.clone());
    Door { state, proxy, runtime, may: Arc::new(config.mcp_may.clone()), inbox: inbox.clone() }.open()
}

/// Says how roots are captured, as the configuration and the environment have it.
pub(crate) fn settings(config: &Config) -> Settings {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME");
    let config_home = absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    Settings {
        config_home,
        home,
        withheld: withheld(config),
        store_cap: Some(config.store.max_size),
        ..Settings::default()
    }
}

/// Starts the transcript. One that cannot be written costs the transcript.
fn record(path: &Path, own: Redactor) -> Option<Recorder> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let started = Recorder::create(path, (home.as_deref(), own));
    started.inspect_err(|error| tracing::warn!("cannot record to {}: {error}", path.display())).ok()
}

fn withheld(config: &Config) -> Patterns {
    Patterns::default().and(config.withhold.iter().map(String::as_str))
}

/// Patterns that cannot be used refuse the start (`surface`): for who reads only, the others count.
fn redactor(config: &Config, key: [u8; 32]) -> Redactor {
    let add = |known: Redactor, pattern: &String| known.clone().matching([pattern.as_str()]).unwrap_or(known);
    config.redact.iter().fold(Redactor::new(key), add)
}

/// Says who we are, and where what is ours lies.
pub(crate) fn setup(
    program: &str,
    config: Config,
    (proxy, seed): (ProxyId, String),
    state: Option<&Path>,
) -> Setup {
    let env = |name: &str| std::env::var_os(name);
    let settings = config_file(&env).and_then(|file| file.parent().map(Path::to_path_buf));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Setup {
        proxy,
        pid: std::process::id(),
        seed,
        program: program.to_owned(),
        withheld: withheld(&config),
        redactor: redactor(&config, secret(state)),
        config,
        home: env("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).map(|home| text(&home)),
        ours: state.into_iter().chain(settings.as_deref()).map(text).collect(),
        parent: std::env::var(child::PARENT).ok(),
    }
}

/// Reads the key of this installation's fingerprints. Without a place to keep one they hold for this process only.
fn secret(state: Option<&Path>) -> [u8; 32] {
    let kept = state.and_then(|top| StateDir::open(top).ok()?.secret().ok());
    kept.unwrap_or_else(|| {
        let mut drawn = [0; 32];
        // Without chance the fingerprints are merely guessable.
        let _ = getrandom::fill(&mut drawn);
        drawn
    })
}

fn draw_name() -> anyhow::Result<(ProxyId, String)> {
    let seed = draw_seed()?;
    Ok((ProxyId::new(format!("proxy-{seed}")), seed))
}

/// Draws eight hex digits that no other run has.
pub(crate) fn draw_seed() -> anyhow::Result<String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("cannot draw random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn duplicate(stream: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream, 3)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_cannot_be_used_takes_no_other_with_it() {
        let redact = ["(", "acme[0-9]+"].map(str::to_owned).into();
        let redactor = redactor(&Config { redact, ..Config::default() }, [7; 32]);
        assert!(!redactor.redact("see acme4711").to_string().contains("4711"));
    }
}
