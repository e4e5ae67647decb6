//! The machine as the surfaces see it: environment, current directory, standard streams.

use super::cli::{Request, Wrap};
use super::costs::CostsShape;
use super::doctor::{Health, Patient, examine, report};
use super::manual::{completions, manual};
#[cfg(feature = "mcp")]
use super::mcp;
use super::places::{config_file, state_dir};
use super::policy::{Bench, Inquiry, inquire};
use super::port::{Doors, Launch, Port};
use super::settings::{config_to_start, env, last_config, own_config, read_config};
use super::setup::{Editor, setup};
use super::stock::StockShape;
#[cfg(any(feature = "tui", feature = "web"))]
use super::terminal::choose;
use super::terminal::{Terminal, carry_out};
use super::text::{self, Style};
#[cfg(feature = "tui")]
use super::tui;
use super::waiting::Waiting;
#[cfg(feature = "web")]
use super::web;
use crate::base::HunkId;
#[cfg(feature = "web")]
use crate::base::SessionKey;
use crate::config::{Approvals, Config, McpMay};
use crate::policy::Policy;
#[cfg(feature = "web")]
use crate::review::Link;
use crate::review::{Problem, ProblemKind};
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// This process.
#[derive(Clone, Debug)]
pub struct Machine {
    cwd: PathBuf,
    state: Option<PathBuf>,
    out_style: Style,
    err_style: Style,
}

impl Machine {
    /// Looks at this process; `state` is the flag.
    pub fn here(state: Option<&Path>) -> Self {
        // A current directory that was removed is no reason not to forward.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let state = state_dir(state, &env, &cwd);
        let (out_style, err_style) = (style(&io::stdout()), style(&io::stderr()));
        Self { cwd, state, out_style, err_style }
    }

    /// Returns the state directory, when there can be one.
    pub fn state(&self) -> Option<PathBuf> {
        self.state.clone()
    }

    /// Returns the state directory, or says what is missing for one.
    pub fn must_have_state(&self) -> Result<PathBuf, Problem> {
        self.state().ok_or_else(|| {
            Problem::new(ProblemKind::Config, "there is no state directory, so nothing is recorded")
                .hint("set HOME, XDG_STATE_HOME or HUNKGATE_STATE_DIR, or give --state-dir")
        })
    }

    /// Reads the configuration and says how the agent is to be wrapped.
    pub fn launch(&self, wrap: Wrap) -> Result<Launch, Problem> {
        let config = config_to_start(wrap.config.as_deref(), self.state.as_deref())?;
        usable(&Config::of(config.as_ref(), None))?;
        Ok(Launch {
            agent: wrap.agent,
            config,
            config_file: wrap.config.clone().or_else(|| config_file(&env)),
            record: wrap.record,
            log_file: wrap.log_file,
            state: self.state(),
        })
    }

    /// Reads the person's own configuration.
    pub fn config(&self) -> Result<Config, Problem> {
        own_config(self.state.as_deref())
    }

    /// Reads the person's own configuration. One that cannot be used is said, on stderr and in `status`, and counts as it last was: for
    /// commands that judge nothing by it.
    pub fn config_or_last(&self) -> Config {
        self.config().unwrap_or_else(|problem| {
            let (mut config, said) = last_config(self.state.as_deref());
            let warning = format!("the configuration cannot be used: {}; {said}", problem.message);
            let _ = io::stderr().write_all(text::warning(&self.err_style, &warning).as_bytes());
            config.warn(warning);
            config
        })
    }

    /// Carries a request out.
    ///
    /// Where it takes long and a person waits at a terminal, they are told how long it has been.
    pub fn ask(&self, request: &Request, port: &dyn Port) -> ExitCode {
        let waiting = Waiting { port };
        let port: &dyn Port = if io::stderr().is_terminal() && !request.json { &waiting } else { port };
        ExitCode::from(self.with_terminal(|terminal| carry_out(request, port, terminal)))
    }

    /// Shows the queue in the terminal until the person leaves; `keys` is what the person says of them.
    #[cfg(feature = "tui")]
    pub fn review(
        &self,
        session: Option<&str>,
        keys: &BTreeMap<String, Vec<String>>,
        port: impl Port + Send + Sync + 'static,
    ) -> ExitCode {
        let sat = self.sitting(session, keys, Arc::new(port)).and_then(|sitting| {
            tui::run(&sitting)
                .map_err(|error| Problem::new(ProblemKind::Internal, format!("the terminal failed: {error}")))
        });
        sat.map_or_else(|problem| self.complain(&problem), |()| ExitCode::SUCCESS)
    }

    /// Says that this build cannot.
    #[cfg(not(feature = "tui"))]
    pub fn review(
        &self,
        _session: Option<&str>,
        _keys: &BTreeMap<String, Vec<String>>,
        _port: impl Port + Send + Sync + 'static,
    ) -> ExitCode {
        let problem = Problem::new(ProblemKind::Config, "this build has no terminal UI");
        self.complain(&problem.hint("build it with the feature `tui`; `hunkgate hunks` lists the queue"))
    }

    /// Serves the console until the process is asked to end; says where it is.
    #[cfg(feature = "web")]
    pub fn web(
        &self,
        (session, hunk): (Option<&str>, Option<HunkId>),
        (port, json): (u16, bool),
        doors: Arc<dyn Doors>,
    ) -> ExitCode {
        let served = self.first_session(session, doors.as_ref()).and_then(|first| {
            let first = first.map(|session| Link::new(session, hunk));
            let console = web::Console::open(doors, port, first)?;
            let opened = console.opened();
            let text = if json {
                serde_json::to_string(opened).unwrap_or_default() + "\n"
            } else {
                format!("{}\nThe address is good once. Ctrl-C ends the console.\n", opened.url)
            };
            self.say(&text);
            let failed = |error: io::Error| {
                Problem::new(ProblemKind::Internal, format!("the console failed: {error}"))
            };
            console.run().map_err(failed)
        });
        served.map_or_else(|problem| self.complain(&problem), |()| ExitCode::SUCCESS)
    }

    /// Says that this build cannot.
    #[cfg(not(feature = "web"))]
    pub fn web(&self, _: (Option<&str>, Option<HunkId>), _: (u16, bool), _doors: Arc<dyn Doors>) -> ExitCode {
        let problem = Problem::new(ProblemKind::Config, "this build has no web console");
        self.complain(&problem.hint("build it with the feature `web`; `hunkgate hunks` lists the queue"))
    }

    /// Serves an agent that reviews, over stdio, until it goes away.
    #[cfg(feature = "mcp")]
    pub fn mcp(&self, may: BTreeSet<McpMay>, doors: Arc<dyn Doors>) -> ExitCode {
        match mcp::Server::new(mcp::Tools::new(doors, may)).run_stdio() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                self.complain(&Problem::new(ProblemKind::Internal, format!("the server failed: {error}")))
            }
        }
    }

    /// Says that this build cannot.
    #[cfg(not(feature = "mcp"))]
    pub fn mcp(&self, _may: BTreeSet<McpMay>, _doors: Arc<dyn Doors>) -> ExitCode {
        let problem = Problem::new(ProblemKind::Config, "this build has no MCP server");
        self.complain(&problem.hint("build it with the feature `mcp`"))
    }

    /// Finds the session that was named, which must be there, or the newest of this directory, which need not.
    #[cfg(feature = "web")]
    fn first_session(&self, session: Option<&str>, doors: &dyn Doors) -> Result<Option<SessionKey>, Problem> {
        let rows = doors.sessions()?;
        match choose(&rows, session, &self.cwd) {
            Ok(row) => Ok(Some(row.key.clone())),
            Err(problem) if session.is_some() => Err(problem),
            Err(_) => Ok(None),
        }
    }

    #[cfg(feature = "tui")]
    fn sitting(
        &self,
        session: Option<&str>,
        keys: &BTreeMap<String, Vec<String>>,
        port: Arc<dyn Port + Send + Sync>,
    ) -> Result<tui::Sitting, Problem> {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            return Err(Problem::new(ProblemKind::User, "review wants a terminal")
                .hint("`hunkgate hunks` lists the queue in a pipe"));
        }
        let keys = tui::Keys::with(keys).map_err(|message| {
            Problem::new(ProblemKind::Config, format!("tui.keys: {message}"))
                .hint("docs/terminal.md lists the actions and their keys")
        })?;
        let rows = port.sessions()?;
        let row = choose(&rows, session, &self.cwd)?;
        Ok(tui::Sitting {
            session: row.key.clone(),
            live: row.live,
            title: format!("{} · {}", row.agent, row.session_id),
            keys,
            theme: tui::Theme(depth()),
            editor: editor(),
            port,
        })
    }

    /// Says what works here.
    pub fn doctor(&self, json: bool, stock: Option<&StockShape>) -> ExitCode {
        let checks = examine(&Patient { state: self.state.as_deref(), cwd: &self.cwd, env: &env, stock });
        let text = if json {
            serde_json::to_string_pretty(&checks).unwrap_or_default() + "\n"
        } else {
            report(&self.out_style, &checks)
        };
        self.say(&text);
        ExitCode::from(u8::from(checks.iter().any(|check| check.result == Health::Fail)))
    }

    /// Says what is kept and what was swept.
    pub fn stock(&self, found: &StockShape, json: bool) -> ExitCode {
        self.tell(found, json, StockShape::text)
    }

    /// Says what looks cost.
    pub fn costs(&self, measured: &CostsShape, json: bool) -> ExitCode {
        self.tell(measured, json, CostsShape::text)
    }

    fn tell<S: serde::Serialize>(&self, shape: &S, json: bool, text: fn(&S, &Style) -> String) -> ExitCode {
        let json = json.then(|| serde_json::to_string_pretty(shape).unwrap_or_default() + "\n");
        self.say(&json.unwrap_or_else(|| text(shape, &self.out_style)));
        ExitCode::SUCCESS
    }

    /// Says what the rules would say.
    pub fn policy(&self, inquiry: &Inquiry, past: &dyn Port) -> ExitCode {
        let user = match read_config(inquiry.config.as_deref()) {
            Ok(user) => user,
            Err(problem) => return self.complain(&problem),
        };
        let config = config_file(&env).and_then(|file| file.parent().map(Path::to_path_buf));
        let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let ours = self.state.iter().cloned().chain(config).collect();
        let bench = Bench { cwd: &self.cwd, home, ours, user, past };
        match inquire(inquiry, &bench, &mut io::stdout(), &self.out_style) {
            Ok(code) => ExitCode::from(code),
            Err(problem) => self.complain(&problem),
        }
    }

    /// Prints the configuration to paste for an editor.
    pub fn setup(&self, editor: Editor, agent: &[String]) -> ExitCode {
        let exe = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("hunkgate"));
        self.say(&setup(editor, &exe.to_string_lossy(), agent));
        ExitCode::SUCCESS
    }

    /// Writes what a shell completes.
    pub fn completions(&self, shell: clap_complete::Shell) -> ExitCode {
        let mut text = Vec::new();
        completions(shell, &mut text);
        let _ = io::stdout().write_all(&text);
        ExitCode::SUCCESS
    }

    /// Writes the manual.
    pub fn manual(&self, directory: Option<&Path>) -> ExitCode {
        match manual(directory, &mut io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                let place = directory.map(|directory| format!(" to {}", directory.display()));
                let message = format!("failed to write the manual{}: {error}", place.unwrap_or_default());
                let problem = Problem::new(ProblemKind::User, message);
                self.complain(&problem.hint("the directory must exist and be writable"))
            }
        }
    }

    /// Says whether a person sits at the other end of stdin.
    pub fn is_attended(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Shows a problem and returns its exit code.
    pub fn complain(&self, problem: &Problem) -> ExitCode {
        ExitCode::from(self.with_terminal(|terminal| terminal.complain(problem, false)))
    }

    /// Writes to stdout. A reader that went away has what it wanted.
    fn say(&self, text: &str) {
        let _ = io::stdout().write_all(text.as_bytes());
    }

    fn with_terminal(&self, work: impl FnOnce(&mut Terminal<'_>) -> u8) -> u8 {
        let (mut out, mut err) = (io::stdout(), io::stderr());
        work(&mut Terminal {
            out: &mut out,
            err: &mut err,
            out_style: self.out_style.clone(),
            err_style: self.err_style.clone(),
            confirm: &mut confirm,
            attended: io::stdin().is_terminal() && io::stderr().is_terminal(),
            cwd: self.cwd.clone(),
        })
    }
}

/// Prints what is wrong with a command line, or the help that was asked for, and returns the exit code.
pub fn usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    let wanted_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    // There is nowhere left to say that the stream is closed.
    let _ = if wanted_help {
        error.print()
    } else {
        io::stderr().write_all(
            text::problem(&style(&io::stderr()), &mistyped(&error.render().to_string())).as_bytes(),
        )
    };
    code
}

/// Makes one sentence and a hint of what clap says in paragraphs.
fn mistyped(said: &str) -> Problem {
    let mut paragraphs = said.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines.join(" ")
    });
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let rest: Vec<String> = paragraphs.collect();
    let tip = rest.iter().find_map(|paragraph| paragraph.strip_prefix("tip: "));
    let usage = rest.iter().find(|paragraph| paragraph.starts_with("Usage: "));
    let hint = tip.or(usage.map(String::as_str)).unwrap_or("`hunkgate --help` lists the commands");
    Problem::new(ProblemKind::User, message).hint(hint)
}

/// Colour on a terminal, unless the person says `NO_COLOR`.
fn style(stream: &impl IsTerminal) -> Style {
    let zone = TimeZone::system();
    let unwanted = env("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env("TERM").is_some_and(|term| term == "dumb");
    match (stream.is_terminal(), unwanted) {
        (true, false) => Style::coloured(zone),
        (true, true) => Style::colourless(zone),
        (false, _) => Style::plain(zone),
    }
}

/// What the terminal can show, by what the environment says of it.
#[cfg(feature = "tui")]
fn depth() -> tui::Depth {
    let says = |name: &str| env(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    if !says("NO_COLOR").is_empty() || matches!(says("TERM").as_str(), "dumb" | "vt100" | "vt220") {
        return tui::Depth::None;
    }
    if !matches!(says("COLORTERM").as_str(), "truecolor" | "24bit") {
        return tui::Depth::Sixteen;
    }
    // `COLORFGBG` ends in the number of the ground's colour, where a terminal sets it.
    let ground = says("COLORFGBG").rsplit(';').next().and_then(|number| number.parse::<u8>().ok());
    if ground.is_some_and(|ground| ground == 7 || ground == 15) {
        tui::Depth::Light
    } else {
        tui::Depth::Dark
    }
}

/// The person's editor: a program and its arguments.
#[cfg(feature = "tui")]
fn editor() -> Vec<OsString> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(env).find(|value| !value.is_empty());
    let words = named.and_then(|value| value.into_string().ok()).unwrap_or_default();
    words.split_whitespace().map(OsString::from).collect()
}

/// Asks on the terminal; `None` where there is none.
fn confirm(question: &str) -> Option<bool> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return None;
    }
    let mut answer = String::new();
    write!(io::stderr(), "{question} [y/N] ").ok()?;
    io::stdin().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Says whether requests can be judged by the rules that are configured: who wants them judged is not served without.
fn usable(config: &Config) -> Result<(), Problem> {
    let patterns = config.redact.iter().map(String::as_str);
    if let Err(why) = crate::ledger::Redactor::new([0; 32]).matching(patterns) {
        return Err(Problem::new(ProblemKind::Config, format!("secrets.redact: {why}")));
    }
    if config.approvals != Approvals::Enforce {
        return Ok(());
    }
    let home = env("HOME").filter(|home| !home.is_empty());
    let home = home.as_ref().map(|home| home.to_string_lossy());
    let compiled = Policy::of(config, home.as_deref());
    compiled.map(drop).map_err(|error| Problem::new(ProblemKind::Config, error.to_string()))
}
