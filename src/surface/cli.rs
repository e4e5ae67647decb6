//! The command line: what was typed → what is meant.

use super::answering::{ANSWERING, Anywhere, ApproveArgs, DenyArgs, GrantsArgs};
use super::approvals::Filter;
use super::asked::PolicyArgs;
use super::overview::OVERVIEW;
use super::policy::Inquiry;
use super::setup::Editor;
use crate::base::{Digest, HunkId, WallNs};
use crate::ledger::Approval;
use crate::review::{Ask, Decide, DecideVerb, Link, Response, Selector};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// What the person wants, with everything that was typed and nothing of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// `--state-dir`.
    pub state_dir: Option<PathBuf>,
    /// The command.
    pub todo: Todo,
}

/// The command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// Wrap an agent, or be an element of a chain.
    Run(Wrap),
    /// A whole turn with the built-in agent.
    Demo {
        /// Leave the scratch repository behind.
        keep: bool,
    },
    /// The built-in agent of the demo, over stdio.
    DemoAgent,
    /// Ask something of what is recorded.
    Ask(Request),
    /// The terminal UI.
    Review {
        /// An id or a unique prefix; the newest session whose root holds the current directory when absent.
        session: Option<String>,
    },
    /// The web console.
    Web {
        /// The session it shows first, by id or unique prefix.
        session: Option<String>,
        /// The change it shows first.
        hunk: Option<HunkId>,
        /// `--port`; the configured one when absent.
        port: Option<u16>,
        /// Print one line of JSON.
        json: bool,
    },
    /// The MCP server for agents that review.
    Mcp,
    /// What works here.
    Doctor {
        /// As JSON.
        json: bool,
    },
    /// What looks cost in a repository, against git.
    Bench {
        /// The repository.
        directory: PathBuf,
        /// How often each kind is measured.
        rounds: u8,
        /// As JSON.
        json: bool,
    },
    /// How much is kept, and the sweep of what deleted sessions left behind.
    Gc {
        /// As JSON.
        json: bool,
        /// Only say what there is.
        dry_run: bool,
    },
    /// What the rules would say.
    Policy(Inquiry),
    /// What a shell completes.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Manual pages.
    Man {
        /// Where to write them; the first one to stdout when absent.
        directory: Option<PathBuf>,
    },
    /// The configuration to paste.
    Setup {
        /// For which editor.
        editor: Editor,
        /// The agent's command and arguments.
        agent: Vec<String>,
    },
}

/// How to wrap an agent, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrap {
    /// The agent's command and its arguments; empty for an element of a proxy chain.
    pub agent: Vec<OsString>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--record`.
    pub record: Option<PathBuf>,
    /// `--log-file`.
    pub log_file: Option<PathBuf>,
}

/// An ask, and how to show what comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// An id or a unique prefix; the newest session whose root holds the current directory when absent.
    pub session: Option<String>,
    /// Print JSON.
    pub json: bool,
    /// What.
    pub what: What,
}

/// What can be asked on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The list of sessions.
    Sessions,
    /// Delete one.
    Delete {
        /// An id or a unique prefix.
        session: String,
    },
    /// Anything that needs no more than an answer.
    Plain(Ask),
    /// The queue; with `exit_code`, 1 when something in it is owed.
    Hunks {
        /// Files or directories.
        paths: Vec<String>,
        /// Tell by the exit code.
        exit_code: bool,
        /// How the text is ordered.
        by: By,
    },
    /// Take a new base, once a person agreed.
    Rebase {
        /// One root; all when absent.
        root: Option<String>,
        /// The person agreed already.
        agreed: bool,
    },
    /// The journal.
    Log {
        /// Go on for as long as there is a reader.
        follow: bool,
    },
    /// What was asked for and decided.
    Approvals(Filter),
    /// One line for each thing that moves the queue.
    Watch,
    /// What waits for an answer.
    Pending,
    /// Answer a request of an agent.
    Respond(Response),
    /// Read the files of the policy anew.
    Reload,
    /// What stands allowed; with an id, take that back.
    Grants {
        /// An id or a unique prefix.
        revoke: Option<String>,
    },
}

/// Reads a command line, the program's name first. The error prints itself and knows its exit code.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok(Invocation { state_dir: cli.state_dir, todo: cli.command.todo()? })
}

/// Returns the definition of the command line, with its help.
pub fn command() -> clap::Command {
    Cli::command().override_help(OVERVIEW)
}

#[derive(Parser)]
#[command(name = "hunkgate", version, max_term_width = 100)]
struct Cli {
    /// Where journals and objects live
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Wrap an agent; this is what an editor launches
    Run(RunArgs),
    /// The same as `run`, as one element of an ACP proxy chain
    Chain(ChainArgs),
    /// A whole turn with the built-in agent, in a scratch repository
    Demo {
        /// Leave the scratch repository behind, and say how to play with it
        #[arg(long)]
        keep: bool,
    },
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent,
    /// What is recorded, newest first
    Sessions(SessionsArgs),
    /// What is in force, the size of the queue, what is degraded
    #[command(after_help = "Exit codes: 0 done · 4 a root is degraded")]
    Status(Reading),
    /// The queue: every change, with its call and the evidence
    Hunks(HunksArgs),
    /// One hunk: diff, calls, evidence, history
    Show(ShowArgs),
    /// The queue in the terminal: read, accept, reject and comment with single keys
    Review(ReviewArgs),
    /// The queue in a browser, on 127.0.0.1: every session, live and past
    #[command(
        after_help = "The address holds a token that is good once and becomes a cookie. Programs send the bearer token of --json.\nA process that an agent started may not open a console, and decides nothing through one."
    )]
    Web(WebArgs),
    /// An MCP server over stdio, for agents that review
    #[command(
        after_help = "An agent may look and comment; [mcp] may = [\"comment\", \"decide\"] lets it accept and reject, never in its own session.\ndocs/mcp.md has the lines to set it up."
    )]
    Mcp,
    /// Keep changes; writes no file
    #[command(after_help = DECIDING)]
    Accept(AcceptArgs),
    /// Put changes back on disk and tell the agent with the next prompt
    #[command(after_help = DECIDING)]
    Reject(RejectArgs),
    /// Take the last decision command back as a whole
    #[command(after_help = DECIDING)]
    Undo(UndoArgs),
    /// Make the decision command that was taken back true again
    #[command(after_help = DECIDING)]
    Redo(UndoArgs),
    /// Say something about lines of a file; the agent reads it with the next prompt
    Comment(CommentArgs),
    /// Settle a comment
    Resolve(ResolveArgs),
    /// Take the worktree as it stands as the new base
    Rebase(RebaseArgs),
    /// Who wrote each line of a file: call, person, unknown
    Blame(BlameArgs),
    /// The journal, readable; with --json one record a line
    Log(LogArgs),
    /// The changes as a git patch
    Diff(DiffArgs),
    /// What the agent will be told with the next prompt
    Note(Reading),
    /// One line for each thing that moves the queue
    Watch(Reading),
    /// The requests that wait for a person: of every live session, unless one is named
    Pending(Anywhere),
    /// Let a request of an agent go on, once; only in a terminal that no agent opened
    #[command(after_help = ANSWERING)]
    Approve(ApproveArgs),
    /// Refuse a request of an agent
    #[command(after_help = ANSWERING)]
    Deny(DenyArgs),
    /// What stands allowed without a question, in sessions and beyond them
    #[command(
        after_help = "Exit codes: 0 listed or revoked · 2 no such permission · 4 the file of permissions cannot be read in full, and none of them counts"
    )]
    Grants(GrantsArgs),
    /// What works here and what does not
    #[command(after_help = "Exit codes: 0 everything works · 1 something does not")]
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What an observation costs in a repository of yours, against `git add -A` and `git write-tree`
    #[command(
        after_help = "Nothing is written in the repository: our state and git's index and objects lie in $TMPDIR and go at the end.\nThis is the only command that runs git; its hooks and filters are not run."
    )]
    Bench {
        /// A directory of the repository
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// How often each kind of look is measured; medians are shown
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
        rounds: u8,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// How much is kept, for which sessions, and the cap; sweeps what deleted sessions left behind
    #[command(
        after_help = "Only what deleted sessions left behind is ever swept (`hunkgate sessions delete`); nothing of a session that is kept."
    )]
    Gc {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Say what would be swept, and touch nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// What the rules would say about a command, and why
    Policy(PolicyArgs),
    /// The configuration to paste for an editor
    Setup(SetupArgs),
    /// What a shell completes, to be sourced or put where the shell looks
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// The manual: one page for each command, written to a directory, or the first one to stdout
    Man {
        /// Where to write the pages; it must exist
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

const DECIDING: &str = "\
Exit codes:
  0  done, or queued until the running turn ends
  1  nothing to decide
  2  unknown or ambiguous id
  3  something was refused (stale, mixed, contested, not the agent's); the rest was done
A whole id that is no longer listed is stale, not unknown.";

#[derive(Args)]
struct Wrapping {
    /// The configuration [default: $XDG_CONFIG_HOME/hunkgate/config.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write a transcript of the conversation, redacted
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Log to a file instead of stderr
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    wrapping: Wrapping,
    /// The agent's command and its arguments
    #[arg(last = true, required = true, value_name = "AGENT")]
    agent: Vec<OsString>,
}

#[derive(Args)]
struct ChainArgs {
    #[command(flatten)]
    wrapping: Wrapping,
}

#[derive(Args)]
struct Reading {
    /// A session by id or unique prefix [default: the newest whose root holds this directory]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct UndoArgs {
    #[command(flatten)]
    reading: Reading,
    /// Say what would be done, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
struct ReviewArgs {
    /// A session by id or unique prefix [default: the newest whose root holds this directory]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Args)]
struct WebArgs {
    #[command(flatten)]
    reading: Reading,
    /// What to show first: a link that the editor was given, `hunkgate://SESSION/HUNK`
    #[arg(value_name = "LINK", value_parser = link, conflicts_with = "session")]
    link: Option<Link>,
    /// The port [default: web.port of the configuration, or any that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
}

#[derive(Args)]
struct SessionsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Subcommand)]
enum SessionsCommand {
    /// Drop a session's journal, pins and notes; no file of yours changes
    Delete {
        /// A session by id or unique prefix
        #[arg(value_name = "ID")]
        session: String,
    },
}

/// How a listing is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// File by file.
    #[default]
    File,
    /// Call by call: what several made stands beneath each.
    Call,
}

#[derive(Args)]
struct HunksArgs {
    #[command(flatten)]
    reading: Reading,
    /// Exit with 1 when something is unreviewed
    #[arg(long)]
    exit_code: bool,
    /// Order the text by file or by tool call
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = By::File)]
    by: By,
    /// Only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

#[derive(Args)]
struct ShowArgs {
    #[command(flatten)]
    reading: Reading,
    /// A hunk by id or unique prefix
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
struct Selection {
    /// Everything in a file or beneath a directory
    #[arg(long, value_name = "PATH", group = "selection")]
    file: Option<String>,
    /// Everything that carries a tool call
    #[arg(long, value_name = "ID", group = "selection")]
    call: Option<String>,
    /// Everything of a turn
    #[arg(long, value_name = "N", group = "selection")]
    turn: Option<u32>,
    /// Everything
    #[arg(long, group = "selection")]
    all: bool,
}

#[derive(Args)]
struct Deciding {
    #[command(flatten)]
    reading: Reading,
    /// Hunks by id or unique prefix
    #[arg(value_name = "ID", group = "selection", required_unless_present_any = ["file", "call", "turn", "all"])]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Decide only what still has one of these digests (from `hunks --json`)
    #[arg(long = "digest", value_name = "DIGEST")]
    digests: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
struct AcceptArgs {
    #[command(flatten)]
    deciding: Deciding,
}

#[derive(Args)]
struct RejectArgs {
    #[command(flatten)]
    deciding: Deciding,
    /// Tell the agent why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Reject contested and unattributed changes of the agent's turns too
    #[arg(long)]
    force: bool,
    /// Do not wait for the end of a running turn
    #[arg(long)]
    now: bool,
}

#[derive(Args)]
struct CommentArgs {
    #[command(flatten)]
    reading: Reading,
    /// Where: a path, a line, and the last line where there are several
    #[arg(value_name = "PATH:LINE[-LINE]")]
    place: String,
    /// What to say
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
}

#[derive(Args)]
struct ResolveArgs {
    #[command(flatten)]
    reading: Reading,
    /// A comment by id
    #[arg(value_name = "COMMENT")]
    comment: String,
}

#[derive(Args)]
struct RebaseArgs {
    #[command(flatten)]
    reading: Reading,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// One root, by path; all when absent
    #[arg(value_name = "ROOT")]
    root: Option<String>,
}

#[derive(Args)]
struct BlameArgs {
    #[command(flatten)]
    reading: Reading,
    /// A file
    #[arg(value_name = "PATH")]
    path: String,
}

#[derive(Args)]
struct LogArgs {
    #[command(flatten)]
    reading: Reading,
    /// Go on as records are written
    #[arg(long, short, conflicts_with = "approvals")]
    follow: bool,
    /// Only what agents asked for, who decided, and what came of it
    #[arg(long)]
    approvals: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Args)]
struct FilterArgs {
    /// With --approvals: only records behind this one
    #[arg(long, value_name = "SEQ", requires = "approvals")]
    after: Option<u64>,
    /// With --approvals: at most so many records
    #[arg(long, value_name = "N", requires = "approvals", default_value_if("approvals", "true", "200"))]
    limit: Option<usize>,
    /// With --approvals: only of requests that stand so
    #[arg(long, value_name = "STATE", requires = "approvals", value_parser = Filter::STATES)]
    state: Option<String>,
    /// With --approvals: only records of this kind, such as requested, decided or assessed
    #[arg(long, value_name = "KIND", requires = "approvals", value_parser = Approval::WORDS)]
    kind: Option<String>,
    /// With --approvals: only records since this time, such as 2026-11-30T12:00:00Z
    #[arg(long, value_name = "TIME", requires = "approvals", value_parser = instant)]
    since: Option<WallNs>,
}

impl FilterArgs {
    fn filter(self) -> Filter {
        let Self { after, limit, state, kind, since } = self;
        Filter { after, limit: limit.unwrap_or(Filter::LIMIT), state, kind, since }
    }
}

fn instant(text: &str) -> Result<WallNs, String> {
    let time: jiff::Timestamp = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    i64::try_from(time.as_nanosecond()).map(WallNs).map_err(|error| error.to_string())
}

#[derive(Args)]
struct DiffArgs {
    #[command(flatten)]
    reading: Reading,
    /// Hunks by id or unique prefix; everything when nothing is selected
    #[arg(value_name = "ID", group = "selection")]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Args)]
struct SetupArgs {
    /// The editor
    #[arg(value_enum)]
    editor: Editor,
    /// The agent's command and its arguments [default: claude-agent-acp]
    #[arg(last = true, value_name = "AGENT")]
    agent: Vec<String>,
}

impl Command {
    fn todo(self) -> Result<Todo, clap::Error> {
        Ok(match self {
            Self::Run(args) => Todo::Run(args.wrapping.wrap(args.agent)),
            Self::Chain(args) => Todo::Run(args.wrapping.wrap(Vec::new())),
            Self::Demo { keep } => Todo::Demo { keep },
            Self::DemoAgent => Todo::DemoAgent,
            Self::Sessions(args) => Todo::Ask(args.request()),
            Self::Status(reading) => reading.plain(Ask::Status),
            Self::Hunks(args) => {
                args.reading.ask(What::Hunks { paths: args.paths, exit_code: args.exit_code, by: args.by })
            }
            Self::Review(args) => Todo::Review { session: args.session },
            Self::Web(args) => {
                let named = args.link.as_ref().map(|link| link.session().as_str().to_owned());
                let hunk = args.link.and_then(|link| link.hunk().cloned());
                let session = args.reading.session.or(named);
                Todo::Web { session, hunk, port: args.port, json: args.reading.json }
            }
            Self::Mcp => Todo::Mcp,
            Self::Show(args) => args.reading.plain(Ask::Show { id: args.id }),
            Self::Accept(args) => args.deciding.todo(DecideVerb::Accept, Insistence::default()),
            Self::Reject(args) => {
                let insistence = Insistence { reason: args.reason, force: args.force, now: args.now };
                args.deciding.todo(DecideVerb::Reject, insistence)
            }
            Self::Undo(args) => args.reading.plain(Ask::Undo { dry_run: args.dry_run }),
            Self::Redo(args) => args.reading.plain(Ask::Redo { dry_run: args.dry_run }),
            Self::Comment(args) => args.todo()?,
            Self::Resolve(args) => args.reading.plain(Ask::Resolve { comment: args.comment }),
            Self::Rebase(args) => args.reading.ask(What::Rebase { root: args.root, agreed: args.yes }),
            Self::Blame(args) => args.reading.plain(Ask::Blame { path: args.path }),
            Self::Log(args) if args.approvals => args.reading.ask(What::Approvals(args.filter.filter())),
            Self::Log(args) => args.reading.ask(What::Log { follow: args.follow }),
            Self::Diff(args) => {
                let selector = args.selection.selector(args.ids).unwrap_or(Selector::All);
                args.reading.plain(Ask::Diff { selector })
            }
            Self::Note(reading) => reading.plain(Ask::Note),
            Self::Watch(reading) => reading.ask(What::Watch),
            Self::Pending(anywhere) => anywhere.ask(What::Pending),
            Self::Approve(args) => args.todo(),
            Self::Deny(args) => args.todo(),
            Self::Grants(args) => args.todo(),
            Self::Bench { directory, rounds, json } => Todo::Bench { directory, rounds, json },
            Self::Gc { json, dry_run } => Todo::Gc { json, dry_run },
            Self::Doctor { json } => Todo::Doctor { json },
            Self::Policy(args) => args.todo(),
            Self::Completions { shell } => Todo::Completions { shell },
            Self::Man { directory } => Todo::Man { directory },
            Self::Setup(args) => Todo::Setup { editor: args.editor, agent: args.agent },
        })
    }
}

fn link(text: &str) -> Result<Link, &'static str> {
    Link::read(text).ok_or("a link is hunkgate://SESSION/HUNK")
}

impl Wrapping {
    fn wrap(self, agent: Vec<OsString>) -> Wrap {
        Wrap { agent, config: self.config, record: self.record, log_file: self.log_file }
    }
}

impl Reading {
    fn ask(self, what: What) -> Todo {
        Todo::Ask(Request { session: self.session, json: self.json, what })
    }

    fn plain(self, ask: Ask) -> Todo {
        self.ask(What::Plain(ask))
    }
}

impl SessionsArgs {
    fn request(self) -> Request {
        let what = match self.command {
            None => What::Sessions,
            Some(SessionsCommand::Delete { session }) => What::Delete { session },
        };
        Request { session: None, json: self.json, what }
    }
}

impl Selection {
    fn selector(self, ids: Vec<String>) -> Option<Selector> {
        let by_id = (!ids.is_empty()).then_some(Selector::Ids(ids));
        let all = self.all.then_some(Selector::All);
        by_id
            .or(self.file.map(Selector::File))
            .or(self.call.map(Selector::Call))
            .or(self.turn.map(Selector::Turn))
            .or(all)
    }
}

/// What only a reject can say.
#[derive(Default)]
struct Insistence {
    reason: Option<String>,
    force: bool,
    now: bool,
}

impl Deciding {
    fn todo(self, verb: DecideVerb, insistence: Insistence) -> Todo {
        let decide = Decide {
            verb,
            selector: self.selection.selector(self.ids).unwrap_or(Selector::Ids(Vec::new())),
            reason: insistence.reason,
            digests: self.digests.into_iter().map(Digest::new).collect(),
            dry_run: self.dry_run,
            force: insistence.force,
            now: insistence.now,
        };
        self.reading.plain(Ask::Decide(decide))
    }
}

impl CommentArgs {
    fn todo(self) -> Result<Todo, clap::Error> {
        let Some((path, line_start, line_end)) = place(&self.place) else {
            let message = format!("{} names no place: PATH:LINE or PATH:LINE-LINE is wanted", self.place);
            return Err(command().error(clap::error::ErrorKind::ValueValidation, message));
        };
        let body = self.text.join(" ");
        Ok(self.reading.plain(Ask::Comment { path, line_start, line_end, body }))
    }
}

/// Reads `PATH:LINE` or `PATH:LINE-LINE`.
fn place(text: &str) -> Option<(String, u32, Option<u32>)> {
    let (path, lines) = text.rsplit_once(':').filter(|(path, _)| !path.is_empty())?;
    let number = |text: &str| text.parse().ok().filter(|line| *line > 0);
    match lines.split_once('-') {
        None => Some((path.to_owned(), number(lines)?, None)),
        Some((first, last)) => {
            let (first, last): (u32, u32) = (number(first)?, number(last)?);
            (first <= last).then(|| (path.to_owned(), first, Some(last)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Todo {
        parse(line.split(' ').map(OsString::from)).unwrap().todo
    }

    fn fails(line: &str) -> clap::Error {
        parse(line.split(' ').map(OsString::from)).unwrap_err()
    }

    fn ask(line: &str) -> Ask {
        let Todo::Ask(Request { what: What::Plain(ask), .. }) = parsed(line) else {
            panic!("{line} asks nothing")
        };
        ask
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_overview_names_every_command() {
        for subcommand in command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(OVERVIEW.contains(subcommand.get_name()), "{}", subcommand.get_name());
        }
    }

    #[test]
    fn everything_after_two_dashes_is_the_agents() {
        let Todo::Run(wrap) = parsed("hunkgate run --record t.acp -- agent --state-dir x --help") else {
            panic!("not a run")
        };
        assert_eq!(wrap.agent, ["agent", "--state-dir", "x", "--help"].map(OsString::from));
        assert_eq!(wrap.record, Some("t.acp".into()));
        assert_eq!(fails("hunkgate run").exit_code(), 2);
        assert_eq!(fails("hunkgate run agent").exit_code(), 2);
    }

    #[test]
    fn a_decision_selects_in_one_way() {
        let Ask::Decide(decide) = ask("hunkgate reject ab cd --reason no") else { panic!("no decision") };
        assert_eq!(decide.selector, Selector::Ids(vec!["ab".into(), "cd".into()]));
        let Ask::Decide(decide) = ask("hunkgate accept --turn 2") else { panic!("no decision") };
        assert_eq!((decide.verb, decide.selector), (DecideVerb::Accept, Selector::Turn(2)));
        assert_eq!(fails("hunkgate accept").exit_code(), 2);
        assert_eq!(fails("hunkgate accept ab --all").exit_code(), 2);
        assert_eq!(fails("hunkgate reject --file a --call b").exit_code(), 2);
        assert_eq!(ask("hunkgate diff"), Ask::Diff { selector: Selector::All });
    }

    #[test]
    fn a_comment_names_its_lines() {
        assert_eq!(place("src/a.rs:3"), Some(("src/a.rs".into(), 3, None)));
        assert_eq!(place("a:b:3-5"), Some(("a:b".into(), 3, Some(5))));
        for wrong in ["a", "a:", "a:0", "a:5-3", ":3", "a:x"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
        assert_eq!(fails("hunkgate comment a.rs text").exit_code(), 2);
    }
}
