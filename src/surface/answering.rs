//! `hunkgate pending`, `approve`, `deny`: what waits for a person, and their answer.

use super::cli::{Request, Todo, What};
use super::port::Port;
use super::terminal::{Failure, Terminal, choose};
use super::text;
use crate::ledger::{Outcome, SessionRowShape};
use crate::review::{Answer, Ask, DocketAnswer, DocketAsk, PendingShape, Problem, ProblemKind, Response};
use clap::Args;
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

/// What `approve` is told.
#[derive(Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    anywhere: Anywhere,
    /// The request, by its key from `hunkgate pending` or a unique prefix
    #[arg(value_name = "KEY")]
    key: String,
    /// The revision that you saw: at another one the answer does not count
    #[arg(long, value_name = "N")]
    rev: Option<u32>,
}

/// What `deny` is told.
#[derive(Args)]
pub(super) struct DenyArgs {
    #[command(flatten)]
    anywhere: Anywhere,
    /// The request, by its key from `hunkgate pending` or a unique prefix
    #[arg(value_name = "KEY")]
    key: String,
    /// The revision that you saw: at another one the answer does not count
    #[arg(long, value_name = "N")]
    rev: Option<u32>,
    /// Tell the agent why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl ApproveArgs {
    /// Returns what was meant.
    pub(super) fn todo(self) -> Todo {
        let Self { anywhere, key, rev } = self;
        let outcome = Outcome::Allow;
        anywhere.ask(What::Respond(Response { request: key, rev, outcome, reason: None }))
    }
}

impl DenyArgs {
    /// Returns what was meant.
    pub(super) fn todo(self) -> Todo {
        let Self { anywhere, key, rev, reason } = self;
        let outcome = Outcome::Deny;
        anywhere.ask(What::Respond(Response { request: key, rev, outcome, reason }))
    }
}

/// Lists what waits: of one session where one is named, else of every session that a proxy holds.
pub(super) fn pending(
    rows: &[SessionRowShape],
    request: &Request,
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    let chosen = match request.session.as_deref() {
        Some(session) => vec![choose(rows, Some(session), &terminal.cwd)?],
        None => rows.iter().filter(|row| row.live).collect(),
    };
    let mut all = PendingShape::default();
    for row in chosen {
        all.items.extend(waiting(row, port)?.items);
    }
    all.items.sort_by_key(|item| item.created);
    let answer = DocketAnswer::Pending(all);
    let text: String = answer.text().lines().map(|line| text::harmless(line) + "\n").collect();
    terminal.print(request.json, &answer.json(), &text)?;
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
