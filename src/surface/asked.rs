//! The arguments of `hunkgate policy`.

use super::answering::Anywhere;
use super::cli::{Todo, What};
use super::policy::{About, Inquiry};
use crate::config::Mode;
use crate::policy::Foreign;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Judge a command as if an agent asked for it here; nothing is run
    #[command(after_help = "Exit codes: 0 allow · 1 ask · 3 deny; of several the strictest")]
    Check(PolicyCheckArgs),
    /// Judge each line of a file, `allow|ask|deny`, a tab and a command; ⏎ stands for a newline
    #[command(after_help = "Exit codes: 0 every line as it says · 1 another verdict")]
    Test {
        #[command(flatten)]
        judging: Judging,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Have running proxies read their policy anew, also the files of repositories that changed meanwhile
    #[command(
        after_help = "Exit codes: 0 in force · 2 a file cannot be used, and the policy stays as it was"
    )]
    Reload(Anywhere),
    /// Say what the rules would have said of everything that was recorded
    Replay {
        #[command(flatten)]
        judging: Judging,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// A file with further rules
        #[arg(value_name = "RULEFILE")]
        rules: Option<PathBuf>,
    },
    /// Print the rules of another tool in the spelling of hunkgate, and name what cannot be carried over
    #[command(after_help = "Exit codes: 0 everything was carried over · 1 something was not")]
    Import {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// claude, codex, gemini or opencode
        #[arg(value_name = "TOOL", value_parser = foreign)]
        tool: Foreign,
        /// Its file [default: where the tool has it beneath the home]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Judging {
    /// The configuration [default: $XDG_CONFIG_HOME/hunkgate/config.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The mode of the session: plan, normal or auto
    #[arg(long, value_name = "MODE", default_value = "normal", value_parser = mode)]
    mode: Mode,
}

#[derive(Args)]
struct PolicyCheckArgs {
    #[command(flatten)]
    judging: Judging,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List the kinds of effects and places and the built-in floors
    #[arg(long, conflicts_with_all = ["stdin0", "command"])]
    list: bool,
    /// Judge the commands on stdin, each ended by a NUL byte; one line of JSON each
    #[arg(long, conflicts_with = "command")]
    stdin0: bool,
    /// One shell text, or a program and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["list", "stdin0"])]
    command: Vec<String>,
}

fn foreign(word: &str) -> Result<Foreign, String> {
    Foreign::named(word).ok_or_else(|| "claude, codex, gemini or opencode".to_owned())
}

fn mode(word: &str) -> Result<Mode, String> {
    Mode::parse(word).ok_or_else(|| "plan, normal or auto".to_owned())
}

impl PolicyArgs {
    /// Says what is to be done.
    pub(super) fn todo(self) -> Todo {
        let (judging, json, about) = match self.command {
            PolicyCommand::Reload(anywhere) => return anywhere.ask(What::Reload),
            PolicyCommand::Check(args) if args.list => (args.judging, args.json, About::List),
            PolicyCommand::Check(args) if args.stdin0 => (args.judging, args.json, About::Stdin),
            PolicyCommand::Check(args) => (args.judging, args.json, About::Command(args.command)),
            PolicyCommand::Test { judging, json, file } => (judging, json, About::File(file)),
            PolicyCommand::Replay { judging, json, rules } => (judging, json, About::Past(rules)),
            PolicyCommand::Import { json, tool, file } => {
                let judging = Judging { config: None, mode: Mode::Normal };
                (judging, json, About::Foreign(tool, file))
            }
        };
        Todo::Policy(Inquiry { config: judging.config, mode: judging.mode, json, about })
    }
}
