//! `ask COMMAND`: the words of the command line as an ask.

use hunkgate::ledger::{GrantScope, Outcome};
use hunkgate::review::{Ask, Decide, DecideVerb, DocketAsk, Response, Selector, StandingAnswer};

/// An ask with the raw id of its session, when one is named.
#[derive(Clone, Debug)]
pub(crate) struct Worded {
    pub(crate) session: Option<String>,
    /// True for what an agent's own descendant asks.
    pub(crate) by_agent: bool,
    pub(crate) ask: Ask,
}

/// Reads a command line.
pub(crate) fn parse(line: &str) -> Result<Worded, String> {
    let mut words = Words::split(line);
    let session = words.value("--session");
    let by_agent = words.flag("--by-agent");
    words.flag("--json");
    let verb = words.next().ok_or("no command")?;
    let ask = match verb.as_str() {
        "status" => Ask::Status,
        "hunks" => Ask::Hunks { paths: words.rest() },
        "show" => Ask::Show { id: words.need("an id")? },
        "accept" => Ask::Decide(decide(DecideVerb::Accept, &mut words)?),
        "reject" => Ask::Decide(decide(DecideVerb::Reject, &mut words)?),
        "undo" => Ask::Undo { dry_run: words.flag("--dry-run") },
        "redo" => Ask::Redo { dry_run: words.flag("--dry-run") },
        "comment" => comment(&mut words)?,
        "resolve" => Ask::Resolve { comment: words.need("a comment")? },
        "rebase" => Ask::Rebase { root: words.next() },
        "note" => Ask::Note,
        "diff" => Ask::Diff { selector: selector(&mut words).unwrap_or(Selector::All) },
        "pending" => Ask::Docket(DocketAsk::Pending),
        "approve" => respond(Outcome::Allow, &mut words)?,
        "reload" => Ask::Docket(DocketAsk::Reload),
        "deny" => respond(Outcome::Deny, &mut words)?,
        "grants" => match words.value("revoke") {
            Some(grant) => Ask::Docket(DocketAsk::Revoke { grant }),
            None => Ask::Docket(DocketAsk::Grants),
        },
        "blame" => Ask::Blame { path: words.need("a path")? },
        other => return Err(format!("unknown command {other:?}")),
    };
    Ok(Worded { session, by_agent, ask })
}

fn respond(outcome: Outcome, words: &mut Words) -> Result<Ask, String> {
    let rev =
        words.value("--rev").map(|rev| rev.parse().map_err(|_| "no revision".to_owned())).transpose()?;
    let reason = words.value("--reason");
    let place = words.value("--always");
    let number = |text: String| text.parse().map_err(|_| "no number".to_owned());
    let uses = words.value("--uses").map(number).transpose()?;
    let number = |text: String| text.parse().map_err(|_| "no number".to_owned());
    let for_s = words.value("--for").map(number).transpose()?;
    let request = words.need("a request")?;
    let always = place.map(|place| {
        let scope = if place == "workspace" { GrantScope::User } else { GrantScope::Session };
        StandingAnswer { scope, uses, for_s }
    });
    Ok(Ask::Docket(DocketAsk::Respond(Response { request, rev, outcome, reason, always })))
}

fn decide(verb: DecideVerb, words: &mut Words) -> Result<Decide, String> {
    let reason = words.value("--reason");
    let dry_run = words.flag("--dry-run");
    let force = words.flag("--force");
    let now = words.flag("--now");
    let digests = words.value("--digest").into_iter().map(hunkgate::base::Digest::new).collect();
    Ok(Decide { verb, selector: selector(words)?, reason, digests, dry_run, force, now })
}

fn selector(words: &mut Words) -> Result<Selector, String> {
    if words.flag("--all") {
        return Ok(Selector::All);
    }
    if let Some(file) = words.value("--file") {
        return Ok(Selector::File(file));
    }
    if let Some(call) = words.value("--call") {
        return Ok(Selector::Call(call));
    }
    if let Some(turn) = words.value("--turn") {
        return turn.parse().map(Selector::Turn).map_err(|_| "no turn number".to_owned());
    }
    match words.rest() {
        ids if ids.is_empty() => Err("nothing is selected".to_owned()),
        ids => Ok(Selector::Ids(ids)),
    }
}

fn comment(words: &mut Words) -> Result<Ask, String> {
    let place = words.need("PATH:LINE")?;
    let (path, lines) = place.rsplit_once(':').ok_or("no line")?;
    let (start, end) = match lines.split_once('-') {
        Some((start, end)) => (start, Some(end)),
        None => (lines, None),
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| "no line number".to_owned());
    Ok(Ask::Comment {
        path: path.to_owned(),
        line_start: number(start)?,
        line_end: end.map(number).transpose()?,
        body: words.rest().join(" "),
    })
}

/// Splits a command line as the asks are split.
pub(crate) fn words(line: &str) -> Vec<String> {
    Words::split(line).rest()
}

struct Words(Vec<String>);

impl Words {
    /// Splits at blanks; double quotes hold words together.
    fn split(line: &str) -> Self {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                c if c.is_whitespace() && !quoted => words.push(String::new()),
                c => words.last_mut().expect("because there is always a word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        Self(words)
    }

    fn next(&mut self) -> Option<String> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    fn need(&mut self, what: &str) -> Result<String, String> {
        self.next().ok_or_else(|| format!("needs {what}"))
    }

    fn rest(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
    }

    fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.remove(at);
        (at < self.0.len()).then(|| self.0.remove(at))
    }
}
