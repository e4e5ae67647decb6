//! The words around a question in the editor: what is asked, what became of it, and how to go on.

use crate::base::HunkId;
use crate::ledger::{ItemShape, ReviewState, named_path};
use crate::review::form::amount;
use crate::review::prompt::beside;
use crate::review::render::degraded_text;
use crate::review::{Card, Cards, Link};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Digits of an id that are shown.
const SHORT: usize = 12;

/// What is said of an agent whose writes nobody can hold.
pub const NOT_GATED: &str =
    "not gated: this agent writes without asking; its changes are reviewed after the turn";

/// Counts things: `1 change`, `2 changes`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Names a command of ours as a person writes it in the conversation; where there is none, in a terminal.
pub(super) fn how(command: &str, words: &str) -> String {
    match command {
        "" => format!("`hunkgate {words}`"),
        command => format!("`/{command} {words}`"),
    }
}

/// Says what the cards do not show; `None` when they show everything.
pub fn preface(cards: &Cards, command: &str) -> Option<String> {
    let mut text = beside(&cards.listing);
    if cards.unshown > 0 {
        let _ = writeln!(
            text,
            "- {} without a card: {} shows them",
            match cards.unshown {
                1 => "1 more change is in a file".to_owned(),
                more => format!("{more} more changes are in files"),
            },
            how(command, "list")
        );
    }
    text.push_str(&degraded_text(&cards.listing.degraded));
    let changes = cards.cards.iter().map(|card| card.pieces.len()).sum();
    (!text.is_empty())
        .then(|| format!("**hunkgate**: {}\n\n{}", amount(changes, cards.cards.len()), text.trim_end()))
}

/// Says what is not recorded as it should be, and what is again; `None` where there is nothing to say.
pub fn faults(wrong: &[String], right: &[String], command: &str) -> Option<String> {
    let heading = match (wrong, right) {
        ([], []) => return None,
        ([], _) => "it is in order again",
        _ => "not everything is as it should be",
    };
    let lines: String = wrong.iter().chain(right).map(|line| format!("- {line}\n")).collect();
    Some(format!("**hunkgate**: {heading}\n\n{lines}\n{} says how it stands.", how(command, "status")))
}

/// Asks about everything that is on the cards.
pub fn question(cards: &[Card]) -> String {
    let changes: usize = cards.iter().map(|card| card.pieces.len()).sum();
    let noun = if changes == 1 { "change" } else { "changes" };
    let place = if cards.len() == 1 { "1 file".to_owned() } else { format!("{} files", cards.len()) };
    format!("Keep {changes} {noun} in {place}? Allow keeps, reject puts back what was there")
}

/// Says in a question how much it is not about; empty where it is about everything.
pub fn unshown(changes: usize) -> String {
    match changes {
        0 => String::new(),
        1 => ". 1 more change is in a file without a card and stays undecided".to_owned(),
        more => format!(". {more} more changes are in files without a card and stay undecided"),
    }
}

/// Says where a change is in the browser; empty where no console runs.
pub fn in_browser(link: &Link, console: Option<&str>) -> String {
    console.map(|console| format!("\n\nIn the browser: {}", link.at(console))).unwrap_or_default()
}

/// Says how the queue is opened in a browser.
pub fn on_the_web(link: &Link, console: Option<&str>) -> String {
    let elsewhere = "`hunkgate review` shows it in the terminal.";
    match console {
        Some(console) => format!(
            "{} shows it in the browser in which the console was opened. {elsewhere}",
            link.at(console)
        ),
        None => format!("`hunkgate web {link}` in a terminal opens it in a browser; {elsewhere}"),
    }
}

/// Says that a write waits for a review, and how it goes on.
pub fn waits((tool, path): (&str, &str), because: &str, command: &str) -> String {
    let terminal = "`hunkgate hunks`, `hunkgate accept` and `hunkgate reject` in a terminal";
    let here = match command {
        "" => String::new(),
        command => format!("`/{command} accept` and `/{command} reject`, or "),
    };
    format!(
        "**hunkgate**: {tool} waits to write {path}: {because}. It goes on when that is reviewed: {here}{terminal}."
    )
}

/// Returns what was put back.
pub fn reverted(done: &[ItemShape]) -> BTreeSet<&HunkId> {
    done.iter().filter(|item| is_reverted(item)).map(|item| &item.id).collect()
}

/// Says what became of a card.
pub fn outcome(card: &Card, done: &[ItemShape]) -> String {
    let mine: Vec<&ItemShape> =
        card.pieces.iter().filter_map(|piece| done.iter().find(|item| item.id == piece.id)).collect();
    let count = |is: fn(&ItemShape) -> bool| mine.iter().filter(|item| is(item)).count();
    let parts = [
        (count(is_kept), "kept"),
        (count(is_reverted), "reverted"),
        (count(|item| item.outcome == "queued"), "reverts when the turn ends"),
        (count(|item| item.outcome == "refused"), "left as it is"),
        (card.pieces.len() - mine.len(), "undecided"),
    ];
    let all = card.pieces.len();
    let said: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| if *count == all { (*word).to_owned() } else { format!("{count} {word}") })
        .collect();
    format!("{}: {}", card.path, said.join(", "))
}

/// Says what a person should hear beside the cards; `None` when everything was kept.
pub fn result(done: &[ItemShape], (problems, stale): (&[String], bool), command: &str) -> Option<String> {
    let roots = done.iter().map(|item| item.root.as_str()).collect();
    let named = |item: &ItemShape| named_path((&item.root, &item.path), &roots);
    let reverted = reverted(done).len();
    let mut text = String::new();
    if reverted > 0 {
        let noun = if reverted == 1 { "change" } else { "changes" };
        let _ = writeln!(
            text,
            "- {reverted} {noun} reverted; the agent is told with your next prompt. {} takes it back",
            how(command, "undo")
        );
    }
    for item in done.iter().filter(|item| item.outcome == "queued") {
        let _ = writeln!(text, "- {}: reverts when the turn ends", named(item));
    }
    for item in done.iter().filter(|item| item.outcome == "refused") {
        let id = item.id.as_str();
        let reason = item.reason.as_deref().unwrap_or("refused");
        let _ =
            writeln!(text, "- left as it is: `{}` {}: {reason}", id.get(..SHORT).unwrap_or(id), named(item));
    }
    problems.iter().for_each(|problem| text.push_str(&format!("- {}\n", problem.trim().replace('\n', " "))));
    if stale && !text.is_empty() {
        text.push_str("- the agent went on working while you were asked; what it changed is in the queue\n");
    }
    (!text.is_empty()).then(|| format!("**hunkgate**:\n\n{}", text.trim_end()))
}

/// Says that a question ended without a decision. `again` tells whether this session will be asked another time.
pub fn undecided(changes: usize, because: &str, (command, again): (&str, bool)) -> String {
    let noun = if changes == 1 { "change is" } else { "changes are" };
    let mut text =
        format!("**hunkgate**: {changes} {noun} undecided{because}. {} shows them.", how(command, "list"));
    if !again {
        let _ = write!(text, " This session is not asked again; {} changes that.", how(command, "ask on"));
    }
    text
}

/// Says how what was put back can still be read.
pub fn how_to_see(hunk: &HunkId, command: &str) -> Option<String> {
    let id = hunk.as_str().get(..SHORT)?;
    Some(format!("Reverted. {} shows what it was.", how(command, &format!("diff {id}"))))
}

fn is_kept(item: &ItemShape) -> bool {
    item.outcome == "done" && item.state == ReviewState::Accepted
}

fn is_reverted(item: &ItemShape) -> bool {
    item.outcome == "done" && item.state == ReviewState::Rejected
}
