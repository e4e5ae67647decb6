//! `hunkgate pending`, `approve`, `deny`, `grants`, `policy reload`: what waits for a person, their answer, and what they allowed standing.

use super::cli::{Request, Todo, What};
use super::port::Port;
use super::terminal::{Failure, Terminal, choose};
use super::text;
use crate::ledger::{GrantScope, Outcome, SessionRowShape};
use crate::review::{
    Answer, Ask, DocketAnswer, DocketAsk, GrantsShape, PendingShape, Problem, ProblemKind, Response,
    StandingAnswer,
};
use clap::{Args, Subcommand};
use std::path::Path;

/// What the help of `approve` and `deny` ends with.
pub(super) const ANSWERING: &str = "\
The first answer counts, here or in the editor; the other is recorded and changes nothing.
Exit codes:
  0  it has gone on, or the agent was told
  2  no open request has this key
  3  over, at another revision, changed since, not understood, or no terminal";

/// Of which sessions, and how to show what comes back.
#[derive(Args)]
pub(super) struct Anywhere {
    /// Only this session, by id or unique prefix [default: every session that a proxy holds]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Anywhere {
    /// Returns what was meant.
    pub(super) fn ask(self, what: What) -> Todo {
        Todo::Ask(Request { session: self.session, json: self.json, what })
    }
}

/// Which request is answered.
#[derive(Args)]
struct WaitingArgs {
    #[command(flatten)]
    anywhere: Anywhere,
    /// The request, by its key from `hunkgate pending` or a unique prefix
    #[arg(value_name = "KEY")]
    key: String,
    /// The revision that you saw: at another one the answer does not count
    #[arg(long, value_name = "N")]
    rev: Option<u32>,
}

/// What `approve` is told.
#[derive(Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    waiting: WaitingArgs,
    /// Allow exactly this from now on, without a question: in this session, or in this workspace in every session
    #[arg(long, value_name = "WHERE", value_parser = ["session", "workspace"])]
    always: Option<String>,
    /// With --always: so many times beside this one
    #[arg(long, value_name = "N", requires = "always", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    /// With --always: for so long, such as 30m, 8h or 7d
    #[arg(long = "for", value_name = "TIME", requires = "always", value_parser = seconds)]
    for_s: Option<u64>,
}

/// What `grants` is told.
#[derive(Args)]
pub(super) struct GrantsArgs {
    #[command(flatten)]
    anywhere: Anywhere,
    #[command(subcommand)]
    command: Option<GrantsCommand>,
}

#[derive(Subcommand)]
enum GrantsCommand {
    /// Take one back
    Revoke {
        /// The permission, by its id or a unique prefix
        #[arg(value_name = "ID")]
        grant: String,
    },
}

impl GrantsArgs {
    /// Returns what was meant.
    pub(super) fn todo(self) -> Todo {
        let revoke = self.command.map(|GrantsCommand::Revoke { grant }| grant);
        self.anywhere.ask(What::Grants { revoke })
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "a time such as 30m, 8h or 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let number: u64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    let unit = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

/// What `deny` is told.
#[derive(Args)]
pub(super) struct DenyArgs {
    #[command(flatten)]
    waiting: WaitingArgs,
    /// Tell the agent why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl ApproveArgs {
    /// Returns what was meant.
    pub(super) fn todo(self) -> Todo {
        let Self { waiting: WaitingArgs { anywhere, key, rev }, always, uses, for_s } = self;
        let outcome = Outcome::Allow;
        let always = always.map(|place| {
            let scope = if place == "workspace" { GrantScope::User } else { GrantScope::Session };
            StandingAnswer { scope, uses, for_s }
        });
        anywhere.ask(What::Respond(Response { request: key, rev, outcome, reason: None, always }))
    }
}

impl DenyArgs {
    /// Returns what was meant.
    pub(super) fn todo(self) -> Todo {
        let Self { waiting: WaitingArgs { anywhere, key, rev }, reason } = self;
        let outcome = Outcome::Deny;
        anywhere.ask(What::Respond(Response { request: key, rev, outcome, reason, always: None }))
    }
}

/// Returns the one session that is named, else every session that a proxy holds.
fn meant<'r>(
    rows: &'r [SessionRowShape],
    request: &Request,
    cwd: &Path,
) -> Result<Vec<&'r SessionRowShape>, Problem> {
    match request.session.as_deref() {
        Some(session) => Ok(vec![choose(rows, Some(session), cwd)?]),
        None => Ok(rows.iter().filter(|row| row.live).collect()),
    }
}

/// Lists what waits: of one session where one is named, else of every session that a proxy holds.
pub(super) fn pending(
    rows: &[SessionRowShape],
    request: &Request,
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    let chosen = meant(rows, request, &terminal.cwd)?;
    let mut all = PendingShape::default();
    for row in chosen {
        all.items.extend(waiting(row, port)?.items);
    }
    all.items.sort_by_key(|item| item.created);
    show(&DocketAnswer::Pending(all), request, terminal)?;
    Ok(0)
}

/// Asks a session what waits in it.
fn waiting(row: &SessionRowShape, port: &dyn Port) -> Result<PendingShape, Problem> {
    let answer = port.ask(&row.key, Ask::Docket(DocketAsk::Pending));
    if let Answer::Docket(DocketAnswer::Pending(pending)) = answer {
        return Ok(pending);
    }
    if let Answer::Problem(problem) = answer {
        return Err(problem);
    }
    Err(Problem::new(ProblemKind::Internal, "an answer to something else"))
}

/// Answers a request, wherever it waits. An allow wants a person at a terminal.
pub(super) fn respond(
    rows: &[SessionRowShape],
    (request, response): (&Request, &Response),
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    if response.outcome == Outcome::Allow && !terminal.attended {
        let problem =
            Problem::new(ProblemKind::Conflict, "an approval is a person's word, and there is no terminal");
        return Err(problem.hint("run it in a terminal, or answer in the editor").into());
    }
    let row = match request.session.as_deref() {
        Some(session) => choose(rows, Some(session), &terminal.cwd)?,
        None => holder(rows, &response.request, port, &terminal.cwd)?,
    };
    let answer = port.ask(&row.key, Ask::Docket(DocketAsk::Respond(response.clone())));
    Ok(terminal.show(row, &answer, request.json)?)
}

/// Finds the session in which a request waits; else the one that is meant in this directory, which says that it is over.
fn holder<'r>(
    rows: &'r [SessionRowShape],
    request: &str,
    port: &dyn Port,
    cwd: &Path,
) -> Result<&'r SessionRowShape, Problem> {
    for row in rows.iter().filter(|row| row.live) {
        let waits = waiting(row, port)?;
        if waits.items.iter().any(|item| item.key.as_str().starts_with(request)) {
            return Ok(row);
        }
    }
    let live = rows.iter().find(|row| row.live && row.roots.iter().any(|root| cwd.starts_with(root)));
    match live.or_else(|| rows.iter().find(|row| row.live)) {
        Some(row) => Ok(row),
        None => choose(rows, None, cwd),
    }
}

/// Lists what stands allowed, in sessions and beyond them, or takes one of them back.
pub(super) fn grants(
    rows: &[SessionRowShape],
    (request, revoke): (&Request, Option<&str>),
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    let mut all = GrantsShape { items: port.grants()?, next: None };
    let mut holders = Vec::new();
    for row in rows.iter().filter(|row| row.live) {
        let wanted = request.session.as_deref();
        if wanted.is_some_and(|wanted| !row.session_id.as_str().starts_with(wanted)) {
            continue;
        }
        let answer = port.ask(&row.key, Ask::Docket(DocketAsk::Grants));
        if let Answer::Docket(DocketAnswer::Grants(grants)) = answer {
            holders.extend(grants.items.iter().map(|item| (item.key.clone(), row)));
            all.items.extend(grants.items);
        }
    }
    let Some(wanted) = revoke else {
        let broken = all.items.iter().any(|item| item.kind == "unreadable");
        show(&DocketAnswer::Grants(all), request, terminal)?;
        return Ok(if broken { 4 } else { 0 });
    };
    let item = all.named(wanted)?;
    if let Some((_, row)) = holders.iter().find(|(key, _)| *key == item.key) {
        let answer = port.ask(&row.key, Ask::Docket(DocketAsk::Revoke { grant: item.key }));
        return Ok(terminal.show(row, &answer, request.json)?);
    }
    port.revoke(&item.key)?;
    show(&DocketAnswer::Revoked(Box::new(item)), request, terminal)?;
    Ok(0)
}

/// Has every proxy that is meant read its policy anew.
pub(super) fn reload(
    rows: &[SessionRowShape],
    request: &Request,
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    let chosen = meant(rows, request, &terminal.cwd)?;
    if chosen.is_empty() {
        let problem = Problem::new(ProblemKind::User, "no proxy runs: each reads its policy when it starts");
        return Err(problem.into());
    }
    let mut code = 0;
    for row in chosen {
        let answer = port.ask(&row.key, Ask::Docket(DocketAsk::Reload));
        code = code.max(terminal.show(row, &answer, request.json)?);
    }
    Ok(code)
}

fn show(answer: &DocketAnswer, request: &Request, terminal: &mut Terminal<'_>) -> std::io::Result<()> {
    let text: String = answer.text().lines().map(|line| text::harmless(line) + "\n").collect();
    terminal.print(request.json, &answer.json(), &text)
}
