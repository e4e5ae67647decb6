//! Every surface is an adapter of the same asks and answers: each plays every transcript and puts the asks in it in its own
//! way. What is asked must mean the same, the answer must be what the transcript says, and a person must read it.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a surface puts what it can, and the rest is not its matter"
)]

use super::remote::{Http, Mcp};
use super::tui::Desk;
use crate::support::play::{Manner, Play};
use crate::support::surface::Surface;
use crate::support::transcript::Transcript;
use hunkgate::base::SessionKey;
use hunkgate::ledger::{ListingShape, SessionRowShape};
use hunkgate::review::{self, Answer, Ask, Command, Decide, DecideVerb, Problem, Selector};
use hunkgate::surface::text::Style;
use hunkgate::surface::tui::{Cmd, Depth, Msg, Stroke, Tag};
use hunkgate::surface::{Cursor, LogLine, Port, Request, Terminal, Todo, carry_out, parse};
use jiff::tz::TimeZone;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The surfaces, and how many asks of the corpus each must at least be able to put: neither shrinks unnoticed.
const SURFACES: [(&str, usize); 5] =
    [("command line", 300), ("conversation", 300), ("terminal", 200), ("http", 300), ("mcp", 180)];

fn surface(name: &str) -> Box<dyn Surface> {
    match name {
        "command line" => Box::new(CommandLine::default()),
        "conversation" => Box::new(Conversation),
        "terminal" => Box::new(TerminalUi::default()),
        "http" => Box::new(Http::new()),
        "mcp" => Box::new(Mcp::new()),
        other => panic!("no surface is called {other}"),
    }
}

/// Plays the whole corpus through one of the surfaces.
fn conforms(nth: usize) {
    let (name, least) = SURFACES[nth];
    let mut put: BTreeMap<String, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    for (path, transcript) in corpus() {
        let mut play = Play::new(&transcript, Manner::default());
        play.ask_through(surface(name));
        if let Err(why) = play.run(&transcript) {
            broken.push(format!("{}: {why}", path.display()));
        }
        for worded in play.through.values() {
            *put.entry(kind(&worded.ask)).or_default() += 1;
        }
    }
    let all: usize = put.values().sum();
    assert!(broken.is_empty(), "{name}: {} of the corpus: {}", broken.len(), broken.join("\n\n"));
    assert!(all >= least, "{name} puts only {all} asks of the corpus: {put:?}");
}

#[test]
fn the_command_line_asks_the_corpus_and_shows_every_answer() {
    conforms(0);
}

#[test]
fn the_conversation_asks_the_corpus_and_shows_every_answer() {
    conforms(1);
}

#[test]
fn the_terminal_asks_the_corpus_and_shows_every_answer() {
    conforms(2);
}

#[test]
fn a_console_asks_the_corpus_and_shows_every_answer() {
    conforms(3);
}

#[test]
fn an_agents_tools_ask_the_corpus_and_show_every_answer() {
    conforms(4);
}

/// The transcripts in which something is asked.
fn corpus() -> Vec<(PathBuf, Transcript)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp_transcripts")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "acp") {
                let bytes = std::fs::read(&path).unwrap();
                if bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"ask ")) {
                    found.push((path, Transcript::parse(&bytes).unwrap()));
                }
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn kind(ask: &Ask) -> String {
    serde_json::to_value(ask).unwrap()["ask"].as_str().unwrap().to_owned()
}

// ── the command line ──

/// Words after `hunkgate`, parsed and carried out; read as text and as JSON.
#[derive(Debug, Default)]
struct CommandLine {
    request: Option<Request>,
}

/// A door behind which one answer waits.
struct Door {
    answer: Answer,
    asked: RefCell<Option<Ask>>,
}

impl Port for Door {
    fn sessions(&self) -> Result<Vec<SessionRowShape>, Problem> {
        Ok(crate::sessions())
    }

    fn ask(&self, _: &SessionKey, ask: Ask) -> Answer {
        *self.asked.borrow_mut() = Some(ask);
        self.answer.clone()
    }

    fn log(&self, _: &SessionKey, _: &mut Cursor) -> Result<Vec<LogLine>, Problem> {
        Ok(Vec::new())
    }

    fn delete(&self, _: &SessionKey) -> Result<(), Problem> {
        Ok(())
    }
}

impl CommandLine {
    /// Carries the request out: what was asked, and what was written.
    fn carry_out(request: &Request, answer: Answer) -> (Option<Ask>, String) {
        let door = Door { answer, asked: RefCell::default() };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            out_style: Style::plain(TimeZone::UTC),
            err_style: Style::plain(TimeZone::UTC),
            confirm: &mut |_| Some(true),
            cwd: PathBuf::from("/elsewhere"),
            attended: false,
        };
        let request = Request { session: Some("new".to_owned()), ..request.clone() };
        carry_out(&request, &door, &mut terminal);
        let text = String::from_utf8_lossy(&[out, err].concat()).into_owned();
        (door.asked.into_inner(), text)
    }
}

impl Surface for CommandLine {
    fn wants_listing(&self, _: &Ask) -> bool {
        false
    }

    fn put(&mut self, words: &[String], ask: &Ask, _: Option<&ListingShape>) -> Option<Ask> {
        if matches!(ask, Ask::Docket(_)) {
            // What waits is looked for in every session first: more than one ask, tested where that is.
            return None;
        }
        let line = ["hunkgate".to_owned()].into_iter().chain(words.iter().cloned()).map(OsString::from);
        let Ok(invocation) = parse(line) else { return None };
        let Todo::Ask(request) = invocation.todo else { return None };
        let (asked, _) = Self::carry_out(&request, Answer::Note(None));
        self.request = Some(request);
        assert_eq!(asked.as_ref(), Some(ask), "{words:?}");
        asked
    }

    fn show(&mut self, answer: &Answer) -> String {
        let request = self.request.clone().expect("something was put");
        let json = Request { json: true, ..request.clone() };
        let (_, printed) = Self::carry_out(&json, answer.clone());
        serde_json::from_str::<serde_json::Value>(&printed).expect("one JSON value and nothing around it");
        Self::carry_out(&request, answer.clone()).1
    }
}

// ── the conversation ──

/// `/hunkgate WORDS`, and what is said to it.
#[derive(Debug)]
struct Conversation;

impl Surface for Conversation {
    fn wants_listing(&self, _: &Ask) -> bool {
        false
    }

    fn put(&mut self, words: &[String], ask: &Ask, _: Option<&ListingShape>) -> Option<Ask> {
        let mut said: Vec<String> = Vec::new();
        for word in words {
            said.push(match word.as_str() {
                "--digest" => return None,
                "hunks" => "list".to_owned(),
                word if word.contains(' ') && words[0] != "comment" => format!("\"{word}\""),
                word => word.to_owned(),
            });
        }
        let text = format!("/hunkgate {}", said.join(" "));
        let Some(Ok(Command::Ask(asked))) = review::parse(&text, "hunkgate") else { return None };
        assert_eq!(asked, *ask, "{text}");
        Some(asked)
    }

    fn show(&mut self, answer: &Answer) -> String {
        review::render(answer)
    }
}

// ── the terminal ──

/// The terminal UI: keys, and what is on the screen.
#[derive(Debug, Default)]
struct TerminalUi {
    desk: Option<Desk>,
    tag: Option<Tag>,
}

const SCREEN: (u16, u16) = (160, 100);

impl TerminalUi {
    /// Sits down before a listing.
    fn sit(&mut self, listing: &ListingShape) -> &mut Desk {
        let mut desk = Desk::new(SCREEN, Depth::None);
        desk.model.update(Msg::Answered(Tag::Queue, Box::new(Answer::Listing(listing.clone()))));
        desk.keys("g");
        self.desk.insert(desk)
    }

    /// Goes to the place where keys act on one hunk alone, dividing the group it is in; says whether there is one.
    fn stand(&mut self, listing: &ListingShape, is: impl Fn(&str) -> bool) -> bool {
        let place = listing.hunks.iter().position(|hunk| is(hunk.id.as_str()));
        let desk = self.sit(listing);
        for _ in 0..listing.hunks.len() {
            let here = desk.keys("i").into_iter().find_map(|cmd| match cmd {
                Cmd::Ask(Tag::Explain, Ask::Show { id }) => Some(id),
                _ => None,
            });
            let shown = here.and_then(|id| listing.hunks.iter().position(|hunk| hunk.id.as_str() == id));
            if desk.screen().lines().any(|row| row.contains('┃') && row.contains(" hunks ")) {
                desk.keys("z");
            }
            if shown.is_some() && shown == place {
                return true;
            }
            desk.keys("j");
        }
        false
    }

    fn write(&mut self, key: &str, text: &str) -> Vec<Cmd> {
        let Some(desk) = &mut self.desk else { return Vec::new() };
        desk.keys(key);
        desk.model.update(Msg::Paste(text.to_owned()));
        desk.model.update(Msg::Key(Stroke::new("enter")))
    }

    fn decide(&mut self, decide: &Decide, listing: &ListingShape) -> Option<Ask> {
        let Selector::Ids(ids) = &decide.selector else { return None };
        let [id] = ids.as_slice() else { return None };
        let named = |hunk: &str| hunk.starts_with(id.as_str());
        let unique = listing.hunks.iter().filter(|hunk| named(hunk.id.as_str())).count() == 1;
        if !unique
            || decide.dry_run
            || decide.now
            || !decide.digests.is_empty()
            || !self.stand(listing, named)
        {
            return None;
        }
        let cmds = match (decide.verb, &decide.reason, decide.force) {
            (DecideVerb::Accept, _, _) => self.desk.as_mut()?.keys("a"),
            (DecideVerb::Reject, None, false) => self.desk.as_mut()?.keys("x"),
            (DecideVerb::Reject, None, true) => self.desk.as_mut()?.keys("!"),
            (DecideVerb::Reject, Some(reason), false) => self.write("r", reason),
            (DecideVerb::Reject, Some(_), true) => return None,
        };
        let asked = only(cmds, Tag::Decision)?;
        let Ask::Decide(sent) = &asked else { panic!("{asked:?}") };
        let same = (sent.verb, &sent.reason, sent.force) == (decide.verb, &decide.reason, decide.force);
        let Selector::Ids(sent) = &sent.selector else { panic!("{sent:?}") };
        assert!(same && matches!(sent.as_slice(), [one] if named(one)), "{asked:?} for {decide:?}");
        Some(asked)
    }

    fn comment(&mut self, ask: &Ask, listing: &ListingShape) -> Option<Ask> {
        let Ask::Comment { path, line_start, line_end, body } = ask else { return None };
        let hunk = listing.hunks.iter().find(|hunk| {
            let lines = (hunk.current_range.start, hunk.current_range.end.saturating_sub(1));
            hunk.path == *path && lines == (*line_start, line_end.unwrap_or(*line_start))
        })?;
        let id = hunk.id.as_str().to_owned();
        if !self.stand(listing, |here| here == id) {
            return None;
        }
        let asked = only(self.write("c", body), Tag::Comment)?;
        let Ask::Comment { path: sent, body: said, line_start: from, .. } = &asked else {
            panic!("{asked:?}")
        };
        assert!(sent.ends_with(path.as_str()) && said == body && from == line_start, "{asked:?}");
        Some(asked)
    }

    fn resolve(&mut self, comment: &str, listing: &ListingShape) -> Option<Ask> {
        let stops = listing.hunks.len();
        let desk = self.sit(listing);
        for _ in 0..stops {
            let asked = only(desk.keys("v"), Tag::Comment);
            if matches!(&asked, Some(Ask::Resolve { comment: id }) if id.starts_with(comment)) {
                return asked;
            }
            desk.keys("j");
        }
        None
    }
}

/// Finds what is asked with a tag.
fn only(cmds: Vec<Cmd>, tag: Tag) -> Option<Ask> {
    cmds.into_iter().find_map(|cmd| match cmd {
        Cmd::Ask(of, ask) if of == tag => Some(ask),
        _ => None,
    })
}

impl Surface for TerminalUi {
    fn wants_listing(&self, ask: &Ask) -> bool {
        matches!(ask, Ask::Decide(_) | Ask::Show { .. } | Ask::Comment { .. } | Ask::Resolve { .. })
    }

    fn put(&mut self, _: &[String], ask: &Ask, listing: Option<&ListingShape>) -> Option<Ask> {
        let empty = ListingShape::default();
        let listing = listing.unwrap_or(&empty);
        let tag = match ask {
            Ask::Hunks { paths } if paths.is_empty() => Tag::Queue,
            Ask::Status => Tag::Status,
            Ask::Show { .. } => Tag::Explain,
            Ask::Decide(_) | Ask::Undo { .. } | Ask::Redo { .. } => Tag::Decision,
            Ask::Comment { .. } | Ask::Resolve { .. } => Tag::Comment,
            Ask::Note => Tag::Note,
            _ => return None,
        };
        self.tag = Some(tag);
        match ask {
            Ask::Hunks { .. } | Ask::Status => only(self.sit(listing).keys("R"), tag),
            Ask::Note => only(self.sit(listing).keys("m"), tag),
            Ask::Undo { dry_run: false } => only(self.sit(listing).keys("u"), tag),
            Ask::Redo { dry_run: false } => only(self.sit(listing).keys("U"), tag),
            Ask::Show { id } => {
                let named = |hunk: &str| hunk.starts_with(id.as_str());
                let unique = listing.hunks.iter().filter(|hunk| named(hunk.id.as_str())).count() == 1;
                (unique && self.stand(listing, named))
                    .then(|| only(self.desk.as_mut()?.keys("i"), tag))
                    .flatten()
            }
            Ask::Decide(decide) => self.decide(decide, listing),
            Ask::Comment { .. } => self.comment(ask, listing),
            Ask::Resolve { comment } => self.resolve(comment, listing),
            _ => None,
        }
    }

    fn show(&mut self, answer: &Answer) -> String {
        let (desk, tag) = (self.desk.as_mut().expect("somebody sits"), self.tag.expect("something was put"));
        desk.model.update(Msg::Answered(tag, Box::new(answer.clone())));
        let screen = desk.screen();
        match answer {
            Answer::Decided(decided) if decided.items.iter().any(|item| item.outcome == "queued") => {
                assert!(screen.contains("reverts when the turn ends"), "{screen}");
            }
            Answer::Commented(_) => assert!(screen.contains("commented"), "{screen}"),
            Answer::Resolved(_) => assert!(screen.contains("settled"), "{screen}"),
            _ => {}
        }
        screen
    }
}
