//! One request on the command line, from the choice of a session to the exit code.

use super::answering;
use super::approvals::{Filter, flat};
use super::base64;
use super::cli::{By, Request, What};
use super::port::{Cursor, LogLine, Port};
use super::text::{self, LogText, Style, harmless};
use crate::ledger::{
    Approval, Asking, DegradedShape, Event, HunkShape, ItemShape, ListingShape, SessionRowShape,
    SessionsShape,
};
use crate::review::{Answer, Ask, PatchText, Problem, ProblemKind, Selector};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The person's end: where to write, and how.
pub struct Terminal<'t> {
    /// Answers.
    pub out: &'t mut dyn Write,
    /// Problems.
    pub err: &'t mut dyn Write,
    /// How to write answers.
    pub out_style: Style,
    /// How to write problems.
    pub err_style: Style,
    /// Asks the person a question; `None` where no person can be asked.
    pub confirm: &'t mut dyn FnMut(&str) -> Option<bool>,
    /// Whether a person sits there.
    pub attended: bool,
    /// The current directory.
    pub cwd: PathBuf,
}

impl std::fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// How often a followed journal is looked at.
const FOLLOW: Duration = Duration::from_millis(200);

/// Carries a request out and returns the exit code.
pub fn carry_out(request: &Request, port: &dyn Port, terminal: &mut Terminal<'_>) -> u8 {
    match attempt(request, port, terminal) {
        Ok(code) => code,
        Err(Failure::Problem(problem)) => terminal.complain(&problem, request.json),
        // The reader of our output went away: it has what it wanted.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Failure::Output(error)) => {
            let problem = Problem::new(ProblemKind::Internal, format!("failed to write the answer: {error}"));
            terminal.complain(&problem, request.json)
        }
    }
}

/// Why a request was not carried out.
pub(super) enum Failure {
    Problem(Problem),
    Output(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn attempt(request: &Request, port: &dyn Port, terminal: &mut Terminal<'_>) -> Result<u8, Failure> {
    let rows = port.sessions()?;
    match &request.what {
        What::Sessions => {
            let shape = SessionsShape { items: counted(rows, port), next: None };
            let text = text::sessions(&terminal.out_style, &shape);
            terminal.print(request.json, &shape, &text)?;
            return Ok(0);
        }
        What::Delete { session } => return delete(&rows, session, request, port, terminal),
        What::Plain(_)
        | What::Hunks { .. }
        | What::Rebase { .. }
        | What::Log { .. }
        | What::Approvals(_)
        | What::Watch => {}
        What::Pending => return answering::pending(&rows, request, port, terminal),
        What::Grants { revoke } => {
            return answering::grants(&rows, (request, revoke.as_deref()), port, terminal);
        }
        What::Reload => return answering::reload(&rows, request, port, terminal),
        What::Respond(response) => return answering::respond(&rows, (request, response), port, terminal),
    }
    let row = choose(&rows, request.session.as_deref(), &terminal.cwd)?;
    let line = Line { row, port, json: request.json };
    match &request.what {
        What::Log { follow: false } => {
            line.log(&mut Reader::default(), terminal)?;
            line.log_superseded(terminal).map(|()| 0)
        }
        What::Log { follow: true } => line.follow(terminal),
        What::Approvals(filter) => line.approvals(filter, terminal),
        What::Watch => line.watch(terminal),
        What::Rebase { root, agreed } => line.rebase(root.as_deref(), *agreed, terminal),
        What::Hunks { paths, exit_code, by } => {
            let paths = paths.iter().map(|path| located(path, row, &terminal.cwd)).collect();
            let answer = port.ask(&row.key, Ask::Hunks { paths });
            let code = if *exit_code && owes(&answer) { 1 } else { 0 };
            if let (Answer::Listing(listing), By::Call, false) = (&answer, by, request.json) {
                terminal.out.write_all(text::by_call(&terminal.out_style, listing).as_bytes())?;
                terminal.out.flush()?;
                return Ok(code);
            }
            let shown = terminal.show(row, &answer, request.json)?;
            Ok(shown.max(code))
        }
        What::Plain(ask) => {
            let answer = port.ask(&row.key, placed(ask, row, &terminal.cwd));
            Ok(terminal.show(row, &answer, request.json)?)
        }
        What::Sessions
        | What::Delete { .. }
        | What::Pending
        | What::Respond(_)
        | What::Grants { .. }
        | What::Reload => Ok(0),
    }
}

/// How many sessions of a list are asked what they owe: each answer takes a look at the session's roots.
const COUNTED: usize = 20;

/// Asks the sessions that were active last how much is unreviewed.
pub(super) fn counted(mut rows: Vec<SessionRowShape>, port: &dyn Port) -> Vec<SessionRowShape> {
    for row in rows.iter_mut().take(COUNTED) {
        if let Answer::Status(status) = port.ask(&row.key, Ask::Status) {
            row.unreviewed = Some(status.queue.unreviewed);
        }
    }
    rows
}

fn delete(
    rows: &[SessionRowShape],
    session: &str,
    request: &Request,
    port: &dyn Port,
    terminal: &mut Terminal<'_>,
) -> Result<u8, Failure> {
    let row = choose(rows, Some(session), &terminal.cwd)?;
    port.delete(&row.key)?;
    let text = format!("session {} is deleted\n", row.session_id);
    terminal.print(request.json, &json!({ "session_id": row.session_id, "deleted": true }), &text)?;
    Ok(0)
}

/// A line to one session.
struct Line<'l> {
    row: &'l SessionRowShape,
    port: &'l dyn Port,
    json: bool,
}

/// How far a journal was read, and what is remembered of it.
#[derive(Default)]
struct Reader {
    cursor: Cursor,
    text: LogText,
    /// What was asked for last: what is said of it next is told with it.
    asked: Option<Asking>,
}

impl Line<'_> {
    /// Takes a new base, once a person agreed.
    fn rebase(&self, root: Option<&str>, agreed: bool, terminal: &mut Terminal<'_>) -> Result<u8, Failure> {
        let question = "Everything that differs now leaves the queue, undecided or not. Take the worktree as the new base?";
        let refused = || {
            Problem::new(ProblemKind::User, "a new base wants a person's word, and there is no terminal")
                .hint("say --yes")
        };
        if !agreed && !(terminal.confirm)(question).ok_or_else(refused)? {
            return Ok(1);
        }
        let root = root.map(|root| located(root, self.row, &terminal.cwd));
        let answer = self.port.ask(&self.row.key, Ask::Rebase { root });
        Ok(terminal.show(self.row, &answer, self.json)?)
    }

    /// Writes the journal from where the reader stands.
    fn log(&self, reader: &mut Reader, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
        for line in self.port.log(&self.row.key, &mut reader.cursor)? {
            let text = if self.json { raw(&line) } else { reader.text.line(&terminal.out_style, &line) };
            terminal.out.write_all(text.as_bytes())?;
        }
        Ok(terminal.out.flush()?)
    }

    /// Says beneath a journal which calls nothing is left of: no record says so, it follows from all of them.
    fn log_superseded(&self, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
        if !self.json
            && let Answer::Listing(listing) = self.port.ask(&self.row.key, Ask::Hunks { paths: Vec::new() })
        {
            let text = text::superseded(&terminal.out_style, &listing);
            terminal.out.write_all(text.as_bytes())?;
        }
        Ok(terminal.out.flush()?)
    }

    /// Lists what was asked for and decided.
    fn approvals(&self, filter: &Filter, terminal: &mut Terminal<'_>) -> Result<u8, Failure> {
        let lines = self.port.log(&self.row.key, &mut Cursor::default())?;
        let (chosen, next) = filter.choose(&lines);
        if self.json {
            let items: Vec<Value> = chosen.iter().map(|line| flat(line, &self.row.session_id)).collect();
            terminal.print(true, &json!({ "items": items, "next": next }), "")?;
            return Ok(0);
        }
        let mut text = LogText::default();
        for line in chosen {
            terminal.out.write_all(text.line(&terminal.out_style, line).as_bytes())?;
        }
        terminal.out.flush()?;
        Ok(0)
    }

    fn follow(&self, terminal: &mut Terminal<'_>) -> Result<u8, Failure> {
        let mut reader = Reader::default();
        loop {
            self.log(&mut reader, terminal)?;
            std::thread::sleep(FOLLOW);
        }
    }

    /// Says what moves the queue, from now on.
    fn watch(&self, terminal: &mut Terminal<'_>) -> Result<u8, Failure> {
        let mut reader = Reader::default();
        let mut watching = self.port.watch(&self.row.key);
        self.port.log(&self.row.key, &mut reader.cursor)?;
        loop {
            for line in self.port.log(&self.row.key, &mut reader.cursor)? {
                let reason = line.record.as_ref().ok().and_then(|record| moves_the_queue(&record.event));
                let gate = line.record.as_ref().ok().and_then(|record| moves_the_gate(&record.event));
                let event = reason.map(|reason| json!({ "event": "review_changed", "reason": reason }));
                let seen = line.record.as_ref().ok().and_then(|record| reader.observed(&record.event));
                let wants = seen.as_ref().and_then(|seen| Some(seen["wants"].as_str()?.to_owned()));
                let Some(mut event) = event.or(gate).or(seen) else { continue };
                if !self.json && reason == Some(ATTRIBUTED) {
                    continue;
                }
                let text = if self.json {
                    event["session_id"] = json!(self.row.session_id);
                    format!("{event}\n")
                } else {
                    reader.text.line(&terminal.out_style, &line)
                };
                if let Some(wants) = wants.filter(|_| !self.json) {
                    writeln!(terminal.out, "observed: {}", harmless(&wants))?;
                }
                terminal.out.write_all(text.as_bytes())?;
            }
            terminal.out.flush()?;
            watching.wait(FOLLOW);
        }
    }
}

/// Why the queue moved where nothing moved but what is known of calls: a line for each would drown the others.
pub(super) const ATTRIBUTED: &str = "attributed";

/// Returns why the queue moved, when an event moves it.
#[expect(clippy::wildcard_enum_match_arm, reason = "most of what is journaled moves no queue")]
pub(super) fn moves_the_queue(event: &Event) -> Option<&'static str> {
    match event {
        Event::Observed(observation) if !observation.changes.is_empty() => Some("observed"),
        Event::Decided(_) | Event::RejectPending { .. } | Event::RejectSettled { .. } => Some("decided"),
        Event::Commented(_) | Event::CommentResolved { .. } => Some("commented"),
        Event::Rebased { .. } | Event::BaseTaken { .. } => Some("rebased"),
        Event::TurnEnded { .. } => Some("turn_ended"),
        event if event.moves_attribution() => Some(ATTRIBUTED),
        _ => None,
    }
}

/// Returns what is told when a write begins to wait, or waits no longer.
#[expect(clippy::wildcard_enum_match_arm, reason = "most of what is journaled moves no gate")]
fn moves_the_gate(event: &Event) -> Option<Value> {
    match event {
        Event::GateBlocked { gate, tool, path, root, .. } => Some(
            json!({ "event": "review_gate", "gate": gate, "blocked": true, "tool": tool, "path": path, "root": root }),
        ),
        Event::GateReleased { gate, how, channel: _ } => {
            Some(json!({ "event": "review_gate", "gate": gate, "blocked": false, "how": how }))
        }
        _ => None,
    }
}

impl Reader {
    /// Returns what is told when a request or a call comes to a path that is observed.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else tells of it")]
    fn observed(&mut self, event: &Event) -> Option<Value> {
        match event {
            Event::Approval(Approval::Requested(asking) | Approval::Observed(asking)) => {
                self.asked = Some(asking.clone());
                None
            }
            Event::Approval(Approval::Assessed(it)) if !it.observers.is_empty() => {
                let asked = self.asked.as_ref().filter(|asked| asked.request == it.request);
                let wants = asked.map(Asking::summary);
                let told = json!({ "event": "observed", "request": it.request, "observers": it.observers,
                    "wants": wants, "call": asked.and_then(|asked| asked.call.as_ref()) });
                Some(told)
            }
            _ => None,
        }
    }
}

/// Returns a journal line as one line of JSON, also where it is damaged.
fn raw(line: &LogLine) -> String {
    match &line.record {
        Ok(_) => format!("{}\n", line.text),
        Err(reason) => {
            format!("{}\n", json!({ "unreadable": line.text, "line": line.line, "reason": reason }))
        }
    }
}

impl Terminal<'_> {
    /// Shows an answer and returns its exit code.
    pub(super) fn show(&mut self, row: &SessionRowShape, answer: &Answer, json: bool) -> io::Result<u8> {
        if let Answer::Problem(problem) = answer {
            return Ok(self.complain(problem, json));
        }
        if let Answer::Diff(patch) = answer
            && !json
        {
            self.show_patch(patch)?;
        } else {
            let text = text::answer(&self.out_style, answer);
            self.print(json, &as_json(row, answer), &text)?;
        }
        self.out.flush()?;
        Ok(exit_code(answer))
    }

    /// Writes a patch: its exact bytes into a pipe, coloured and harmless on a terminal.
    fn show_patch(&mut self, patch: &PatchText) -> io::Result<()> {
        let decoded = patch.base64.then(|| base64::decode(&patch.text).unwrap_or_default());
        let bytes = decoded.as_deref().unwrap_or(patch.text.as_bytes());
        if self.out_style.is_for_a_terminal() {
            let text = String::from_utf8_lossy(bytes);
            return self.out.write_all(text::patch(&self.out_style, &text).as_bytes());
        }
        self.out.write_all(bytes)
    }

    pub(super) fn print(&mut self, json: bool, value: &impl serde::Serialize, text: &str) -> io::Result<()> {
        if json {
            // In one piece: stdout would be flushed at every line of it.
            let mut text = serde_json::to_vec_pretty(value)?;
            text.push(b'\n');
            self.out.write_all(&text)?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()
    }

    /// Writes a problem and returns its exit code.
    pub fn complain(&mut self, problem: &Problem, json: bool) -> u8 {
        let text =
            if json { format!("{}\n", json!(problem)) } else { text::problem(&self.err_style, problem) };
        // There is nowhere left to say that stderr is closed.
        let _ = self.err.write_all(text.as_bytes());
        problem.kind.exit_code()
    }
}

/// Returns the documented JSON of an answer.
fn as_json(row: &SessionRowShape, answer: &Answer) -> Value {
    let session = &row.session_id;
    match answer {
        Answer::Status(shape) => json!(shape),
        Answer::Listing(shape) => json!(shape),
        Answer::Shown(shape) => json!(shape),
        Answer::Decided(shape) => json!(shape),
        Answer::Commented(comment) => json!({ "session_id": session, "comment": comment }),
        Answer::Resolved(comment) => {
            json!({ "session_id": session, "comment_id": comment.id, "resolved": comment.resolved })
        }
        Answer::Rebased(roots) => json!({ "session_id": session, "roots": roots }),
        Answer::Note(note) => json!({ "session_id": session, "note": note }),
        Answer::Diff(patch) => json!(patch),
        Answer::Blame(shape) => json!(shape),
        Answer::Docket(docket) => docket.json(),
        Answer::Problem(problem) => json!(problem),
    }
}

/// Returns the exit code of a command that ends with an answer.
#[expect(clippy::wildcard_enum_match_arm, reason = "most answers are simply given")]
fn exit_code(answer: &Answer) -> u8 {
    let refused = |items: &[ItemShape]| items.iter().any(|item| item.outcome == "refused");
    let degraded = |roots: &[DegradedShape]| roots.iter().any(|root| root.degraded.is_some());
    match answer {
        Answer::Problem(problem) => problem.kind.exit_code(),
        Answer::Decided(decided) if refused(&decided.items) => 3,
        Answer::Decided(decided) if decided.items.is_empty() => 1,
        Answer::Rebased(roots) if degraded(roots) => 4,
        Answer::Listing(listing) if degraded(&listing.degraded) => 4,
        Answer::Status(status) if status.roots.iter().any(|root| root.degraded.is_some()) => 4,
        _ => 0,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only a listing can owe something")]
fn owes(answer: &Answer) -> bool {
    match answer {
        Answer::Listing(ListingShape { hunks, .. }) => hunks.iter().any(HunkShape::is_owed),
        _ => false,
    }
}

/// Chooses a session: by id, key or unique prefix; else the first (newest) whose root holds `cwd`.
pub(super) fn choose<'r>(
    rows: &'r [SessionRowShape],
    wanted: Option<&str>,
    cwd: &Path,
) -> Result<&'r SessionRowShape, Problem> {
    let Some(wanted) = wanted else {
        let holds = |row: &&SessionRowShape| row.roots.iter().any(|root| cwd.starts_with(root));
        return rows.iter().find(holds).ok_or_else(|| {
            Problem::new(
                ProblemKind::User,
                format!("no recorded session has a root that holds {}", cwd.display()),
            )
            .hint("`hunkgate sessions` lists what is recorded; --session ID chooses one")
        });
    };
    if let Some(row) = rows.iter().find(|row| row.session_id.as_str() == wanted || row.key.as_str() == wanted)
    {
        return Ok(row);
    }
    let matches = |row: &&SessionRowShape| {
        row.session_id.as_str().starts_with(wanted) || row.key.as_str().starts_with(wanted)
    };
    let mut found = rows.iter().filter(matches);
    match (found.next(), found.next()) {
        (Some(row), None) => Ok(row),
        (None, _) => Err(Problem::new(ProblemKind::User, format!("no recorded session is called {wanted}"))
            .hint("`hunkgate sessions` lists what is recorded")),
        (Some(_), Some(_)) => {
            Err(Problem::new(ProblemKind::User, format!("{wanted} begins the ids of several sessions"))
                .hint("give more of the id; `hunkgate sessions` lists them"))
        }
    }
}

/// Makes the paths of an ask absolute, where the person stands in one of the session's roots.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others name no path")]
fn placed(ask: &Ask, row: &SessionRowShape, cwd: &Path) -> Ask {
    let mut ask = ask.clone();
    match &mut ask {
        Ask::Comment { path, .. } | Ask::Blame { path } => *path = located(path, row, cwd),
        Ask::Decide(decide) => {
            if let Selector::File(path) = &mut decide.selector {
                *path = located(path, row, cwd);
            }
        }
        Ask::Diff { selector: Selector::File(path) } => *path = located(path, row, cwd),
        _ => {}
    }
    ask
}

/// Resolves `path` against `cwd` when that lies in a root of the session; else it is left as it is, relative to a root.
fn located(path: &str, row: &SessionRowShape, cwd: &Path) -> String {
    if !row.roots.iter().any(|root| cwd.starts_with(root)) {
        return path.to_owned();
    }
    let mut full = PathBuf::new();
    for component in cwd.join(path).components() {
        match component {
            Component::ParentDir => {
                full.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => full.push(component),
        }
    }
    full.to_string_lossy().into_owned()
}
