//! The loop: what happens becomes messages, messages change the state, the state is drawn.

use super::keys::{Keys, Stroke};
use super::model::{Model, Setup};
use super::msg::{Cmd, FileText, Msg, Tag, Wanted};
use super::seen::Seen;
use super::theme::Theme;
use super::view::view;
use crate::base::{SessionKey, WallNs};
use crate::ledger::Event as Journaled;
use crate::review::{Answer, Ask};
use crate::surface::base64;
use crate::surface::ink::Inks;
use crate::surface::port::{Cursor, Port};
use crate::surface::terminal::moves_the_queue;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::{OsStr, OsString};
use std::io::{self, Stdout, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the journals are looked at.
const WATCH: Duration = Duration::from_millis(150);
/// How much earlier than it could be read a record may have been dated.
const MARGIN: Duration = Duration::from_secs(1);
/// How long a look at the keyboard takes before it is asked whether to go on.
const GLANCE: Duration = Duration::from_millis(100);

/// The thread that reads and colours files.
const READER: &str = "reader";

/// What is reviewed, and how.
#[derive(Clone)]
pub struct Sitting {
    /// Where asks go.
    pub port: Arc<dyn Port + Send + Sync>,
    /// The session.
    pub session: SessionKey,
    /// The session, for people.
    pub title: String,
    /// Whether a proxy holds it.
    pub live: bool,
    /// Which key does what.
    pub keys: Keys,
    /// How things look.
    pub theme: Theme,
    /// The person's editor: a program and its arguments.
    pub editor: Vec<OsString>,
}

impl std::fmt::Debug for Sitting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sitting").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Shows the queue until the person leaves. The terminal is then as it was.
pub fn run(sitting: &Sitting) -> io::Result<()> {
    restore_on_panic();
    let screen = Screen::enter()?;
    let ended = Loop::start(sitting).and_then(Loop::turn);
    drop(screen);
    // A decision that is on its way is carried to its end.
    for asker in ended? {
        asker.join().map_err(|_| io::Error::other("the asking thread ended early"))?;
    }
    Ok(())
}

/// The terminal while it is ours.
struct Screen;

impl Screen {
    fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let screen = Self;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // There is nobody left to tell that the terminal is gone.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}

/// A panic finds the terminal as it was, and is told there. The reader's are caught: a file without colours is no loss.
fn restore_on_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(READER) {
            restore();
            told(panic);
        }
    }));
}

/// Ends the loop when its thread panics.
struct Fall {
    inbox: Sender<Msg>,
    fell: Arc<AtomicBool>,
}

impl Drop for Fall {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fell.store(true, Ordering::Relaxed);
            let _ = self.inbox.send(Msg::Terminate);
        }
    }
}

/// A thread that puts asks to the session, one after the other.
struct Asker {
    asks: Sender<(Tag, Ask)>,
    thread: JoinHandle<()>,
    /// Whether it panicked.
    fell: Arc<AtomicBool>,
}

impl Asker {
    fn start(name: &str, sitting: &Sitting, inbox: &Sender<Msg>) -> io::Result<Self> {
        let (asks, asked) = channel();
        let (own, inbox) = (sitting.clone(), inbox.clone());
        let fell = Arc::new(AtomicBool::new(false));
        let fall = Fall { inbox: inbox.clone(), fell: Arc::clone(&fell) };
        let thread = spawn(name, move || {
            let _fall = fall;
            ask(&own, &asked, &inbox);
        })?;
        Ok(Self { asks, thread, fell })
    }
}

struct Loop<'s> {
    sitting: &'s Sitting,
    model: Model,
    terminal: Terminal<CrosstermBackend<Stdout>>,
    messages: Receiver<Msg>,
    /// Puts what only reads.
    asker: Asker,
    /// Puts what decides: it waits for no listing.
    decider: Asker,
    reads: Sender<Wanted>,
    keyboard: Arc<Keyboard>,
    /// Asks that decide something and are not answered yet.
    deciding: usize,
    /// Files that are read once the first status came: without a proxy each ask keeps the others waiting.
    held: Option<Vec<Wanted>>,
}

impl<'s> Loop<'s> {
    fn start(sitting: &'s Sitting) -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let size = terminal.size()?;
        let (sender, messages) = channel();
        let (reads, wanted) = channel();
        let keyboard = Arc::new(Keyboard::default());
        let (eyes, inbox) = (Arc::clone(&keyboard), sender.clone());
        spawn("keyboard", move || eyes.watch(&inbox))?;
        let asker = Asker::start("asker", sitting, &sender)?;
        let decider = Asker::start("decider", sitting, &sender)?;
        let (own, inbox) = (sitting.clone(), sender.clone());
        spawn(READER, move || read(&own, &wanted, &inbox))?;
        let (own, inbox) = (sitting.clone(), sender.clone());
        let begun = shortly_before();
        spawn("watcher", move || watch(&own, begun, &inbox))?;
        let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
        spawn("signals", move || {
            if signals.forever().next().is_some() {
                let _ = sender.send(Msg::Terminate);
            }
        })?;
        let setup = Setup {
            keys: sitting.keys.clone(),
            theme: sitting.theme,
            size: (size.width, size.height),
            title: sitting.title.clone(),
            live: sitting.live,
            seen: sitting.port.seen(&sitting.session).as_deref().and_then(Seen::read),
        };
        let (model, cmds) = Model::new(setup);
        let mut this = Self {
            sitting,
            model,
            terminal,
            messages,
            asker,
            decider,
            reads,
            keyboard,
            deciding: 0,
            held: Some(Vec::new()),
        };
        this.carry_out(cmds)?;
        Ok(this)
    }

    /// Turns until the person leaves; returns the threads that are to be waited for: one that still carries a decision out,
    /// and one that fell over.
    fn turn(mut self) -> io::Result<Vec<JoinHandle<()>>> {
        loop {
            self.terminal.draw(|frame| view(&self.model, frame))?;
            let Ok(first) = self.messages.recv() else { return Ok(Vec::new()) };
            let mut next = Some(first);
            while let Some(msg) = next {
                self.deciding -= usize::from(matches!(&msg, Msg::Answered(tag, _) if decides(*tag)));
                if matches!(msg, Msg::Answered(Tag::Status, _)) {
                    let held = self.held.take().unwrap_or_default();
                    held.into_iter().for_each(|wanted| drop(self.reads.send(wanted)));
                }
                let cmds = self.model.update(msg);
                if self.carry_out(cmds)? {
                    self.keyboard.ended.store(true, Ordering::Relaxed);
                    if let Some(seen) = self.model.seen() {
                        self.sitting.port.keep_seen(&self.sitting.session, &seen.write());
                    }
                    let decides = self.deciding > 0;
                    let awaited = [(self.decider, decides), (self.asker, false)].into_iter();
                    let awaited =
                        awaited.filter(|(asker, waits)| *waits || asker.fell.load(Ordering::Relaxed));
                    return Ok(awaited.map(|(asker, _)| asker.thread).collect());
                }
                next = self.messages.try_recv().ok();
            }
        }
    }

    /// Carries commands out; says whether to leave.
    fn carry_out(&mut self, cmds: Vec<Cmd>) -> io::Result<bool> {
        for cmd in cmds {
            match cmd {
                Cmd::Ask(tag, ask) => {
                    self.deciding += usize::from(decides(tag));
                    let asker = if decides(tag) { &self.decider } else { &self.asker };
                    drop(asker.asks.send((tag, ask)));
                }
                Cmd::Read(wanted) => match self.held.as_mut() {
                    Some(held) => held.push(*wanted),
                    None => drop(self.reads.send(*wanted)),
                },
                Cmd::Quit => return Ok(true),
                Cmd::Edit { path, exact, line } => {
                    let trouble = self.edit(&place(path, exact), line)?;
                    let cmds = self.model.update(Msg::Edited(trouble));
                    self.carry_out(cmds)?;
                }
            }
        }
        Ok(false)
    }

    /// Gives the terminal to the person's editor for as long as it runs.
    fn edit(&mut self, path: &OsStr, line: u32) -> io::Result<Option<String>> {
        // The keyboard is the editor's for as long as this is held.
        let keyboard = Arc::clone(&self.keyboard);
        let held = keyboard.held.lock();
        restore();
        let (program, arguments) = command(&self.sitting.editor, path, line);
        let ended = Command::new(&program).args(arguments).status();
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)?;
        drop(held);
        // A new one draws everything; `clear` of the old one would ask the terminal where its cursor is, and wait.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(match ended {
            Ok(_) => None,
            Err(error) => Some(format!("{} could not be started: {error}", program.to_string_lossy())),
        })
    }
}

/// Says whether what is asked with a tag must not be left half done.
fn decides(tag: Tag) -> bool {
    match tag {
        Tag::Decision | Tag::Comment | Tag::Response => true,
        Tag::Queue | Tag::Status | Tag::Explain | Tag::Note | Tag::Pending => false,
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Who reads the keyboard.
#[derive(Debug, Default)]
struct Keyboard {
    held: Mutex<()>,
    ended: AtomicBool,
}

impl Keyboard {
    fn watch(&self, inbox: &Sender<Msg>) {
        while !self.ended.load(Ordering::Relaxed) {
            let msg = {
                let Ok(_held) = self.held.lock() else { return };
                match event::poll(GLANCE) {
                    Ok(true) => event::read().ok().and_then(message),
                    Ok(false) => None,
                    // The terminal is gone, and nobody is there to type.
                    Err(_) => Some(Msg::Terminate),
                }
            };
            if let Some(msg) = msg {
                let last = msg == Msg::Terminate;
                if inbox.send(msg).is_err() || last {
                    return;
                }
            }
            // Lets the editor take hold.
            std::thread::yield_now();
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "what a mouse can do besides does nothing here")]
fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => stroke(key).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click(mouse.column, mouse.row)),
            MouseEventKind::ScrollDown => Some(Msg::Wheel(1)),
            MouseEventKind::ScrollUp => Some(Msg::Wheel(-1)),
            _ => None,
        },
        Event::Key(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

/// Names a key.
#[expect(clippy::wildcard_enum_match_arm, reason = "keys without a name here do nothing")]
fn stroke(key: KeyEvent) -> Option<Stroke> {
    let name = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => "shift-tab".to_owned(),
        KeyCode::Backspace => "backspace".to_owned(),
        KeyCode::Delete => "delete".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::PageUp => "pageup".to_owned(),
        KeyCode::PageDown => "pagedown".to_owned(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    let modifier = if key.modifiers.contains(KeyModifiers::CONTROL) {
        "ctrl-"
    } else if key.modifiers.contains(KeyModifiers::ALT) {
        "alt-"
    } else {
        ""
    };
    Some(Stroke::new(format!("{modifier}{name}")))
}

/// Puts the asks to the session, one after the other.
fn ask(sitting: &Sitting, asked: &Receiver<(Tag, Ask)>, inbox: &Sender<Msg>) {
    for (tag, ask) in asked {
        let answer = sitting.port.ask(&sitting.session, ask);
        // Who left does not want to know; what was asked is done all the same.
        let _ = inbox.send(Msg::Answered(tag, Box::new(answer)));
    }
}

/// Reads files as the session knows them, and colours them.
fn read(sitting: &Sitting, wanted: &Receiver<Wanted>, inbox: &Sender<Msg>) {
    let inks = Inks::unpack();
    for wanted in wanted {
        let path = format!("{}/{}", wanted.root, wanted.path);
        let answer = sitting.port.ask(&sitting.session, Ask::Blame { path });
        let lines = if let Answer::Blame(blame) = answer { Some(blame.lines) } else { None };
        let text = match lines {
            Some(lines) => coloured(&inks, &wanted, lines.into_iter().map(|line| line.text).collect()),
            None => {
                FileText { root: wanted.root, path: wanted.path, stamp: wanted.stamp, ..FileText::default() }
            }
        };
        if inbox.send(Msg::Read(Box::new(text))).is_err() {
            return;
        }
    }
}

/// Colours a file; without colours where a grammar fails on it.
fn coloured(inks: &Inks, wanted: &Wanted, lines: Vec<String>) -> FileText {
    let plain = FileText {
        root: wanted.root.clone(),
        path: wanted.path.clone(),
        stamp: wanted.stamp.clone(),
        lines: Some(lines.clone()),
        ..FileText::default()
    };
    let colour = std::panic::AssertUnwindSafe(|| inks.colour(wanted, lines));
    std::panic::catch_unwind(colour).unwrap_or(plain)
}

/// Says when the journals grow by something that moves the queue, or that the agent asked for.
fn watch(sitting: &Sitting, begun: WallNs, inbox: &Sender<Msg>) {
    let mut cursor = Cursor::default();
    let mut watching = sitting.port.watch(&sitting.session);
    loop {
        let lines = sitting.port.log(&sitting.session, &mut cursor).unwrap_or_default();
        // What was journaled before the first ask is in its answer.
        let told =
            || lines.iter().filter_map(|line| line.record.as_ref().ok()).filter(|record| record.at >= begun);
        let news = [
            told().any(|record| moves_the_listing(&record.event)).then_some(Msg::Moved),
            told().any(|record| matches!(record.event, Journaled::Approval(_))).then_some(Msg::Requested),
        ];
        for msg in news.into_iter().flatten() {
            if inbox.send(msg).is_err() {
                return;
            }
        }
        watching.wait(WATCH);
    }
}

/// Says whether another listing is answered after an event.
fn moves_the_listing(event: &Journaled) -> bool {
    moves_the_queue(event).is_some()
        || matches!(event, Journaled::GateBlocked { .. } | Journaled::GateReleased { .. })
}

/// Returns the time from which on what is journaled may be missing in answers to what is asked at this moment.
fn shortly_before() -> WallNs {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallNs(i64::try_from(now.saturating_sub(MARGIN).as_nanos()).unwrap_or_default())
}

/// Returns a file's own name, byte for byte.
fn place(path: String, exact: Option<(String, String)>) -> OsString {
    let bytes = exact.and_then(|(root, bytes)| Some((root, base64::decode(&bytes)?)));
    match bytes {
        Some((root, bytes)) => PathBuf::from(root).join(OsString::from_vec(bytes)).into_os_string(),
        None => path.into(),
    }
}

/// Editors that take `FILE:LINE`, and those that want a word before it.
const COLON: &[&str] = &["hx", "helix", "zed", "subl", "lapce"];
const GOTO: &[&str] = &["code", "codium", "code-insiders", "cursor", "windsurf"];

/// Returns the command that opens a file at a line.
pub(super) fn command(editor: &[OsString], path: &OsStr, line: u32) -> (OsString, Vec<OsString>) {
    let vi = OsString::from("vi");
    let (program, given) =
        editor.split_first().map_or((&vi, &[] as &[OsString]), |(first, rest)| (first, rest));
    let name = PathBuf::from(program).file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let mut arguments = given.to_vec();
    let mut at_line = path.to_owned();
    at_line.push(format!(":{line}"));
    if GOTO.contains(&name.as_str()) {
        arguments.extend([OsString::from("--goto"), at_line]);
    } else if COLON.contains(&name.as_str()) {
        arguments.push(at_line);
    } else {
        arguments.extend([OsString::from(format!("+{line}")), path.to_owned()]);
    }
    (program.clone(), arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_editor_is_told_the_line_in_its_own_way() {
        let told = |editor: &[&str]| {
            let editor: Vec<OsString> = editor.iter().map(OsString::from).collect();
            let (program, arguments) = command(&editor, OsStr::new("/r/a b.rs"), 7);
            let arguments: Vec<String> =
                arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
            (program.to_string_lossy().into_owned(), arguments.join("|"))
        };
        assert_eq!(told(&[]), ("vi".into(), "+7|/r/a b.rs".into()));
        assert_eq!(told(&["/usr/bin/code", "--wait"]).1, "--wait|--goto|/r/a b.rs:7");
        assert_eq!(told(&["hx"]).1, "/r/a b.rs:7");
    }
}
