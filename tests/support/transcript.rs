//! The `.acp` format: one statement a line, the exact line on the wire after an arrow (docs/testing.md).

use hunkgate::engine::Leg;

/// A parsed transcript.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    /// Words after `:` in the header, such as `acp v1`.
    pub(crate) tags: Vec<String>,
    pub(crate) statements: Vec<Statement>,
}

/// One statement with the line on which it stands.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) line: usize,
    pub(crate) what: What,
}

/// What a statement says.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// `editor> LINE`, `agent> LINE`: a peer says this.
    Says(Leg, Vec<u8>),
    /// `editor< …`, `agent< …`: a peer hears this.
    Hears(Leg, Heard),
    /// `tree …`.
    Tree(TreeOp),
    /// `agent exits CODE [STDERR]`.
    AgentExits(i32, String),
    /// `agent missing CODE COMMAND`.
    AgentMissing(i32, String),
    /// `editor closes`.
    EditorCloses,
    /// `signal term`.
    Signal(String),
    /// `wait MS`.
    Wait(u32),
    /// `clock MS`: the wall clock is set so much ahead, or back.
    Clock(i64),
    /// `proxy restarts`: killed, and a new one started on what is on disk.
    Restarts,
    /// `proxy exits CODE`.
    Exits(i32),
    /// `proxy stops agent`.
    StopsAgent,
    /// `proxy says TEXT`: a warning holds this text.
    Warns(String),
    /// `journal KIND {…}`.
    Journal(String, String),
    /// `journal no KIND`: no such record is left unread.
    JournalLacks(String),
    /// `journal fails REASON`: from now on something of the session is not written.
    JournalFails(String),
    /// `journal full REASON`: nothing is written from now on, and no look succeeds.
    JournalFull(String),
    /// `journal removed`: the session's ledger was removed from the disk, and written again.
    JournalRemoved,
    /// `door removed`, `door shut REASON`, `door open`: what commands find the proxy by was removed and made again; cannot be
    /// made; was made at last.
    Door(Result<(), String>),
    /// `journal has room`: everything can be written again.
    JournalHasRoom,
    /// `ask COMMAND`.
    Ask(String),
    /// `answer [KIND] {…}`.
    Answer(Option<String>, String),
    /// `grants LINE`: somebody writes a line in the file of permissions that outlive sessions.
    Grants(String),
    /// `policy <<END`: the person writes another configuration, while the proxy runs.
    Policy(Vec<u8>),
    /// `policy gone`, `policy unreadable REASON`: nothing stands there any more, or what cannot be read.
    PolicyGone(Option<String>),
    /// `watching N`: so many watch what moves.
    Watching(usize),
    /// `console ADDRESS`, `console closes`.
    Console(Option<String>),
    /// `config TOML-LINE`.
    Config(String),
    /// `assessor asked {…}`, `assessor says LINE`, `assessor fails REASON`, `assessor dismissed`, `assessor none`.
    Assessor(String, String),
}

/// What a peer is expected to hear next.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// The oldest unforwarded line of the other side, byte for byte.
    Same,
    /// Nothing yet.
    Nothing,
    /// The oldest unforwarded line of the other side never comes.
    Swallowed,
    /// The oldest unforwarded line of the other side, changed to this.
    Edited(String),
    /// A line of ours.
    Ours(String),
}

/// What happens to the virtual worktree, or is expected of it.
#[derive(Clone, Debug)]
pub(crate) enum TreeOp {
    Write(String, Vec<u8>),
    Remove(String),
    Chmod(String, bool),
    Move(String, String),
    Link(String, String),
    /// From now on observations wait.
    Stalls,
    /// `tree opens late`: roots are opened only when `captured` says so.
    OpensLate,
    /// Waiting observations are made, and later ones are made at once.
    Captured,
    /// Something happens beneath the roots, and a watch tells of it.
    Stirs,
    /// From now on looks say that they see so: mode, changes missed so far, why.
    Seen(String, u64, String),
    /// The next observation (or all that wait) fails.
    Fails(String),
    /// The next revert fails.
    Refuses(String),
    /// A person writes this just before the next revert.
    Drifts(String, Vec<u8>),
    /// A file holds exactly this.
    Holds(String, Vec<u8>),
    /// A path is not there.
    Lacks(String),
}

impl Transcript {
    /// Parses the bytes of a file, or says what is wrong with which line.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut parser = Parser { lines: bytes.split(|&byte| byte == b'\n').collect(), at: 0 };
        let mut transcript = Self { tags: Vec::new(), statements: Vec::new() };
        while let Some(raw) = parser.next() {
            let line = parser.at;
            parser.statement(raw, line, &mut transcript).map_err(|what| format!("line {line}: {what}"))?;
        }
        Ok(transcript)
    }

    /// Says whether the header holds a tag.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }

    /// Returns what stands after a tag's first word, as in `: root plain`.
    pub(crate) fn tag(&self, word: &str) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(word)?.strip_prefix(' '))
    }
}

struct Parser<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = *self.lines.get(self.at)?;
        self.at += 1;
        Some(line)
    }

    fn statement(&mut self, raw: &'a [u8], line: usize, into: &mut Transcript) -> Result<(), String> {
        if let Some(what) = self.arrow(raw)? {
            into.statements.push(Statement { line, what });
            return Ok(());
        }
        let text = std::str::from_utf8(raw).map_err(|_| "not UTF-8 outside an arrow".to_owned())?.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if let Some(tags) = text.strip_prefix(':') {
            into.tags.extend(tags.split(" :").map(|tag| words(tag).join(" ")));
            return Ok(());
        }
        let (word, rest) = split_word(text);
        let what = match word {
            "tree" => What::Tree(self.tree(rest)?),
            "agent" => agent(rest)?,
            "proxy" => proxy(rest)?,
            "editor" if rest == "closes" => What::EditorCloses,
            "signal" => What::Signal(rest.to_owned()),
            "clock" => What::Clock(rest.parse().map_err(|_| "clock needs milliseconds".to_owned())?),
            "wait" => What::Wait(rest.parse().map_err(|_| "wait needs milliseconds".to_owned())?),
            "journal" => match split_word(rest) {
                ("no", kind) => What::JournalLacks(kind.to_owned()),
                ("fails", reason) => What::JournalFails(reason.to_owned()),
                ("full", reason) => What::JournalFull(reason.to_owned()),
                ("has", "room") => What::JournalHasRoom,
                ("removed", "") => What::JournalRemoved,
                (kind, pattern) => What::Journal(kind.to_owned(), default_pattern(pattern)),
            },
            "ask" => What::Ask(rest.to_owned()),
            "answer" => answer(rest),
            "policy" => match split_word(rest) {
                ("gone", "") => What::PolicyGone(None),
                ("unreadable", reason) => What::PolicyGone(Some(reason.to_owned())),
                _ => What::Policy(self.content(rest)?),
            },
            "watching" => What::Watching(rest.parse().map_err(|_| "how many watch?")?),
            "door" => What::Door(match split_word(rest) {
                ("shut", reason) => Err(reason.to_owned()),
                ("removed" | "open", "") => Ok(()),
                _ => return Err("a door is removed, shut or open".to_owned()),
            }),
            "console" => What::Console((rest != "closes").then(|| rest.to_owned())),
            "grants" => What::Grants(rest.to_owned()),
            "config" => What::Config(rest.to_owned()),
            "assessor" => {
                let (what, rest) = split_word(rest);
                What::Assessor(what.to_owned(), rest.to_owned())
            }
            _ => return Err(format!("unknown statement {word:?}")),
        };
        into.statements.push(Statement { line, what });
        Ok(())
    }

    /// Reads an arrow. Its line is bytes: one blank after the arrow is skipped, everything else belongs to the wire.
    fn arrow(&self, raw: &'a [u8]) -> Result<Option<What>, String> {
        for (leg, says, hears) in [(Leg::Editor, "editor>", "editor<"), (Leg::Agent, "agent>", "agent<")] {
            if let Some(rest) = raw.strip_prefix(says.as_bytes()) {
                return Ok(Some(What::Says(leg, after_blank(rest).to_vec())));
            }
            if let Some(rest) = raw.strip_prefix(hears.as_bytes()) {
                let text = std::str::from_utf8(after_blank(rest)).map_err(|_| "not UTF-8".to_owned())?.trim();
                return Ok(Some(What::Hears(leg, heard(text)?)));
            }
        }
        Ok(None)
    }

    fn tree(&mut self, rest: &str) -> Result<TreeOp, String> {
        let (verb, rest) = split_word(rest);
        let (path, more) = split_word(rest);
        let path = path.to_owned();
        Ok(match verb {
            "write" => TreeOp::Write(path, self.content(more)?),
            "holds" => TreeOp::Holds(path, self.content(more)?),
            "lacks" => TreeOp::Lacks(path),
            "rm" => TreeOp::Remove(path),
            "mv" => TreeOp::Move(path, more.to_owned()),
            "ln" => TreeOp::Link(path, more.to_owned()),
            "chmod" => match more {
                "+x" => TreeOp::Chmod(path, true),
                "-x" => TreeOp::Chmod(path, false),
                _ => return Err("chmod needs +x or -x".to_owned()),
            },
            "stalls" => TreeOp::Stalls,
            "opens" if path == "late" => TreeOp::OpensLate,
            "captured" => TreeOp::Captured,
            "stirs" => TreeOp::Stirs,
            "seen" => {
                let (missed, why) = split_word(more);
                let missed = missed.parse().map_err(|_| "seen needs MODE MISSED [WHY]".to_owned())?;
                TreeOp::Seen(path, missed, why.to_owned())
            }
            "fails" => TreeOp::Fails(rest.to_owned()),
            "refuses" => TreeOp::Refuses(rest.to_owned()),
            "drifts" => TreeOp::Drifts(path, self.content(more)?),
            _ => return Err(format!("unknown tree statement {verb:?}")),
        })
    }

    /// Reads `<<END` with the lines up to `END`, or one JSON string.
    fn content(&mut self, text: &str) -> Result<Vec<u8>, String> {
        let Some(end) = text.strip_prefix("<<") else {
            let text: String =
                serde_json::from_str(text).map_err(|error| format!("no JSON string: {error}"))?;
            return Ok(text.into_bytes());
        };
        let mut content = Vec::new();
        while let Some(line) = self.next() {
            if line == end.as_bytes() {
                return Ok(content);
            }
            content.extend_from_slice(line);
            content.push(b'\n');
        }
        Err(format!("no line {end:?}"))
    }
}

fn heard(text: &str) -> Result<Heard, String> {
    Ok(match text {
        "same" => Heard::Same,
        "nothing" => Heard::Nothing,
        "swallowed" => Heard::Swallowed,
        _ => match text.strip_prefix("edited ") {
            Some(pattern) => Heard::Edited(pattern.to_owned()),
            None if text.starts_with('{') => Heard::Ours(text.to_owned()),
            None => return Err(format!("neither a word we know nor an object: {text}")),
        },
    })
}

fn agent(rest: &str) -> Result<What, String> {
    let (verb, rest) = split_word(rest);
    let (code, text) = split_word(rest);
    match verb {
        "exits" => Ok(What::AgentExits(number(code)?, text.to_owned())),
        "missing" => Ok(What::AgentMissing(number(code)?, text.to_owned())),
        _ => Err(format!("unknown agent statement {verb:?}")),
    }
}

fn proxy(rest: &str) -> Result<What, String> {
    let (verb, rest) = split_word(rest);
    match (verb, rest) {
        ("restarts", "") => Ok(What::Restarts),
        ("exits", code) => Ok(What::Exits(number(code)?)),
        ("stops", "agent") => Ok(What::StopsAgent),
        ("says", text) => Ok(What::Warns(text.to_owned())),
        _ => Err(format!("unknown proxy statement {verb:?}")),
    }
}

fn answer(rest: &str) -> What {
    match split_word(rest) {
        (kind, pattern) if kind.chars().all(|c| c.is_ascii_lowercase()) && !kind.is_empty() => {
            What::Answer(Some(kind.to_owned()), default_pattern(pattern))
        }
        _ => What::Answer(None, rest.to_owned()),
    }
}

fn default_pattern(text: &str) -> String {
    if text.is_empty() { "\"$_\"".to_owned() } else { text.to_owned() }
}

fn number(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| format!("not a number: {text:?}"))
}

fn after_blank(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b" ").unwrap_or(rest)
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
