//! Our commands in the conversation: `/hunkgate reject 1a2b3c4d`.

use crate::review::{Ask, Decide, DecideVerb, Selector};

/// A command as it is advertised to the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// What may follow it.
    pub hint: String,
}

/// What a prompt of ours wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Something of the session.
    Ask(Ask),
    /// To be asked at a turn's end of this session, or no longer; `None`: whether it is.
    Asking(Option<Switch>),
    /// What is held and asked before a write, and by which rules.
    Policy,
    /// Where the web console is.
    Web,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// The words that may follow our name, with what they take and do.
const WORDS: [(&str, &str, &str); 17] = [
    ("status", "", "what is recorded, and what is owed"),
    ("list", "[PATH…]", "the changes of this session"),
    ("show", "ID", "one change, also a rejected one, and who made it"),
    ("accept", "SEL…", "keep"),
    ("reject", "SEL… [REASON]", "put back on disk, and tell the agent with your next prompt"),
    ("undo", "", "take the last accept or reject back"),
    ("redo", "", "make it true again"),
    ("comment", "PATH:LINE[-LINE] TEXT", "say something about lines to the agent"),
    ("resolve", "ID", "settle a comment"),
    ("diff", "[SEL…]", "the changes as a patch; `rejected` for what is gone"),
    ("blame", "PATH", "who wrote each line"),
    ("note", "", "what the agent will be told with your next prompt"),
    ("ask", "[on | off]", "whether you are asked at the end of a turn in this session"),
    ("policy", "", "what is held and asked before the agent writes"),
    ("rebase", "[ROOT]", "take the files as they stand as the new base"),
    ("web", "", "where the web console is"),
    ("help", "", "this"),
];

/// Other words for the same.
const ALIASES: [(&str, &str); 7] = [
    ("hunks", "list"),
    ("ls", "list"),
    ("keep", "accept"),
    ("revert", "reject"),
    ("drop", "reject"),
    ("queue", "list"),
    ("?", "help"),
];

/// Returns the commands to advertise.
pub fn commands(prefix: &str) -> Vec<CommandSpec> {
    if prefix.is_empty() {
        return Vec::new();
    }
    vec![CommandSpec {
        name: prefix.to_owned(),
        description: "Review what changed on disk: keep it, or put it back".to_owned(),
        hint: "list | show ID | accept ID… | reject ID… [REASON] | undo | status | help".to_owned(),
    }]
}

/// Reads a prompt. `None`: it is not ours. `Err`: it is ours and says nothing we can do; the text explains.
pub fn parse(text: &str, prefix: &str) -> Option<Result<Command, String>> {
    if prefix.is_empty() {
        return None;
    }
    let rest = text.trim_start().strip_prefix('/')?.strip_prefix(prefix)?;
    if rest.chars().next().is_some_and(|next| !next.is_whitespace()) {
        return None;
    }
    let mut words = Words::split(rest);
    let Some(verb) = words.next() else { return Some(Err(help(prefix))) };
    let verb = verb.to_lowercase();
    let verb = ALIASES.iter().find(|(alias, _)| *alias == verb).map_or(verb.as_str(), |(_, word)| word);
    Some(command(verb, &mut words, prefix).map_err(|error| format!("{error}\n\n{}", usage(verb, prefix))))
}

/// Explains our commands.
pub fn help(prefix: &str) -> String {
    let mut text = String::from("Review what changed on disk:\n\n");
    for (word, takes, does) in WORDS {
        let takes = if takes.is_empty() { String::new() } else { format!(" {takes}") };
        text.push_str(&format!("- `/{prefix} {word}{takes}`: {does}\n"));
    }
    text.push_str("\nSEL is ids (the first digits will do), `file PATH`, `call ID`, `turn N` or `all`. ");
    text.push_str("`--dry-run` only says what would be done; `--now` rejects while the agent works; ");
    text.push_str("`--force` rejects what may not be the agent's.");
    text
}

fn usage(verb: &str, prefix: &str) -> String {
    match WORDS.iter().find(|(word, _, _)| *word == verb) {
        Some((word, takes, _)) => format!("Usage: `/{prefix} {word} {takes}`"),
        None => format!("`/{prefix} help` lists the commands."),
    }
}

fn command(verb: &str, words: &mut Words, prefix: &str) -> Result<Command, String> {
    let command = match verb {
        "ask" => Command::Asking(switch(words)?),
        "policy" => Command::Policy,
        "web" => Command::Web,
        _ => Command::Ask(ask(verb, words, prefix)?),
    };
    let left = words.rest().join(" ");
    if left.is_empty() { Ok(command) } else { Err(format!("`{left}` is too much.")) }
}

fn switch(words: &mut Words) -> Result<Option<Switch>, String> {
    match words.next().map(|word| word.to_lowercase()).as_deref() {
        None => Ok(None),
        Some("on" | "yes") => Ok(Some(Switch::On)),
        Some("off" | "no") => Ok(Some(Switch::Off)),
        Some(other) => Err(format!("`{other}` is neither `on` nor `off`.")),
    }
}

fn ask(verb: &str, words: &mut Words, prefix: &str) -> Result<Ask, String> {
    match verb {
        "status" => Ok(Ask::Status),
        "list" => Ok(Ask::Hunks { paths: words.rest() }),
        "show" => Ok(Ask::Show { id: words.need("an id")? }),
        "accept" => decide(DecideVerb::Accept, words),
        "reject" => decide(DecideVerb::Reject, words),
        "undo" => Ok(Ask::Undo { dry_run: words.flag("--dry-run") }),
        "redo" => Ok(Ask::Redo { dry_run: words.flag("--dry-run") }),
        "comment" => comment(words),
        "resolve" => Ok(Ask::Resolve { comment: words.need("the id of a comment")? }),
        "diff" if words.is_empty() => Ok(Ask::Diff { selector: Selector::All }),
        "diff" if words.peek() == Some("rejected") => {
            words.next();
            Ok(Ask::Diff { selector: Selector::Rejected })
        }
        "diff" => Ok(Ask::Diff { selector: selector(words)? }),
        "blame" => Ok(Ask::Blame { path: words.need("a path")? }),
        "note" => Ok(Ask::Note),
        "rebase" => Ok(Ask::Rebase { root: words.next() }),
        "help" => Err(help(prefix)),
        other => Err(unknown(other, prefix)),
    }
}

fn unknown(verb: &str, prefix: &str) -> String {
    let near = WORDS.iter().map(|(word, _, _)| *word).chain(ALIASES.iter().map(|(alias, _)| *alias));
    let near =
        near.map(|word| (distance(verb, word), word)).filter(|(far, word)| *far <= 2 && *far < word.len());
    match near.min() {
        Some((_, word)) => format!("There is no command `{verb}`. Did you mean `/{prefix} {word}`?"),
        None => format!("There is no command `{verb}`."),
    }
}

fn decide(verb: DecideVerb, words: &mut Words) -> Result<Ask, String> {
    let mut decide = Decide {
        verb,
        selector: Selector::All,
        reason: None,
        digests: Vec::new(),
        dry_run: words.flag("--dry-run"),
        force: words.flag("--force"),
        now: words.flag("--now"),
    };
    let reason = words.value("--reason");
    decide.selector = selector(words)?;
    let rest = words.rest().join(" ");
    if verb == DecideVerb::Accept && !rest.is_empty() {
        return Err(format!("`{rest}` selects nothing."));
    }
    decide.reason = reason.or(Some(rest)).filter(|reason| !reason.trim().is_empty());
    Ok(Ask::Decide(decide))
}

/// Reads a selector from the front of the words; what follows it is left there.
fn selector(words: &mut Words) -> Result<Selector, String> {
    let first = words.need("what: ids, `file PATH`, `call ID`, `turn N` or `all`")?;
    match first.trim_start_matches("--").to_lowercase().as_str() {
        "all" => Ok(Selector::All),
        "file" => Ok(Selector::File(words.need("a path after `file`")?)),
        "call" => Ok(Selector::Call(words.need("an id after `call`")?)),
        "turn" => {
            let number = words.need("a number after `turn`")?;
            number.parse().map(Selector::Turn).map_err(|_| format!("`{number}` is no number of a turn."))
        }
        _ => ids(first, words),
    }
}

fn ids(first: String, words: &mut Words) -> Result<Selector, String> {
    let mut ids: Vec<String> = Vec::new();
    let mut next = Some(first);
    while let Some(word) = next.take() {
        let parts: Vec<&str> = word.split(',').filter(|part| !part.is_empty()).collect();
        if let Some(bad) = parts.iter().find(|part| !is_hex(part)) {
            return Err(no_id(bad));
        }
        ids.extend(parts.into_iter().map(str::to_lowercase));
        if words.peek().is_some_and(is_id) {
            next = words.next();
        }
    }
    Ok(Selector::Ids(ids))
}

/// The words with which a selector begins.
const SELECTORS: [&str; 4] = ["all", "file", "call", "turn"];

/// Says that a word is no id, and what may have been meant.
fn no_id(word: &str) -> String {
    let near = SELECTORS.iter().map(|known| (distance(&word.to_lowercase(), known), *known));
    let meant = match near.min() {
        Some((far, known)) if far <= 1 => format!("`{known}`"),
        _ if word.contains(['/', '.']) => format!("`file {word}`"),
        _ => return format!("`{word}` is no id of a change."),
    };
    format!("`{word}` is no id of a change. Did you mean {meant}?")
}

/// Says whether a further word is an id rather than the beginning of a reason: "added" and "bad" are words.
fn is_id(word: &str) -> bool {
    let mut parts = word.split(',').filter(|part| !part.is_empty());
    let looks = |part: &str| {
        is_hex(part) && (part.len() >= 8 || (part.len() >= 4 && part.contains(|c: char| c.is_ascii_digit())))
    };
    word.contains(|c: char| c.is_ascii_hexdigit()) && parts.all(looks)
}

fn is_hex(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit())
}

fn comment(words: &mut Words) -> Result<Ask, String> {
    let place = words.need("where: PATH:LINE")?;
    let (path, lines) =
        place.rsplit_once(':').filter(|(path, _)| !path.is_empty()).ok_or("It needs a line: PATH:LINE.")?;
    let (start, end) = match lines.split_once('-') {
        Some((start, end)) => (start, Some(end)),
        None => (lines, None),
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no number of a line."));
    let (line_start, line_end) = (number(start)?, end.map(number).transpose()?);
    let body = words.tail();
    if body.is_empty() {
        return Err("It needs a text.".to_owned());
    }
    Ok(Ask::Comment { path: path.to_owned(), line_start, line_end, body })
}

/// The words of a command line; single and double quotes hold words together.
struct Words {
    words: std::collections::VecDeque<Word>,
    line: String,
}

struct Word {
    text: String,
    /// Where it begins in the line.
    at: usize,
}

impl Words {
    fn split(line: &str) -> Self {
        let mut words = std::collections::VecDeque::new();
        let mut word: Option<Word> = None;
        let mut quote = None;
        for (at, c) in line.char_indices() {
            let begun = word.as_ref().is_some_and(|word| !word.text.is_empty());
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') if !begun => {
                    quote = Some(c);
                    word.get_or_insert(Word { text: String::new(), at });
                }
                (None, c) if c.is_whitespace() => words.extend(word.take()),
                (_, c) => word.get_or_insert(Word { text: String::new(), at }).text.push(c),
            }
        }
        words.extend(word);
        Self { words, line: line.to_owned() }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn peek(&self) -> Option<&str> {
        self.words.front().map(|word| word.text.as_str())
    }

    fn next(&mut self) -> Option<String> {
        self.words.pop_front().map(|word| word.text)
    }

    fn need(&mut self, what: &str) -> Result<String, String> {
        self.next().filter(|word| !word.is_empty()).ok_or_else(|| format!("It needs {what}."))
    }

    fn rest(&mut self) -> Vec<String> {
        self.words.drain(..).map(|word| word.text).collect()
    }

    /// Takes the rest of the line as it was written.
    fn tail(&mut self) -> String {
        let tail = self.words.front().and_then(|word| self.line.get(word.at..)).unwrap_or_default();
        let tail = tail.trim().to_owned();
        self.words.clear();
        tail
    }

    fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word.text != name);
        self.words.len() < before
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let at = self.words.iter().position(|word| word.text == name)?;
        self.words.remove(at);
        self.words.remove(at).map(|word| word.text)
    }
}

/// Returns how many letters must be added, dropped or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut left = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, cb) in b.iter().enumerate() {
            let change = left + usize::from(ca != *cb);
            left = row[j + 1];
            row[j + 1] = change.min(left + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commanded(text: &str) -> Command {
        parse(text, "hunkgate").expect("ours").unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn parsed(text: &str) -> Ask {
        let Command::Ask(ask) = commanded(text) else { panic!("{text}: no ask") };
        ask
    }

    fn decided(text: &str) -> Decide {
        let ask = parsed(text);
        let Ask::Decide(decide) = ask else { panic!("{text}: {ask:?}") };
        decide
    }

    #[test]
    fn only_our_own_name_is_ours() {
        for text in ["/hunkgatex", "/hunkgated status", "/hunk", "hunkgate status", "say /hunkgate", "", "/"]
        {
            assert_eq!(parse(text, "hunkgate"), None, "{text:?}");
        }
        assert_eq!(parse("/hg status", "hg"), Some(Ok(Command::Ask(Ask::Status))));
    }

    #[test]
    fn selectors_are_read_as_they_are_written() {
        let ids = |ids: &[&str]| Selector::Ids(ids.iter().map(|id| (*id).to_owned()).collect());
        let check = |text: &str, selector: Selector, reason: Option<&str>| {
            let decide = decided(text);
            assert_eq!((decide.selector, decide.reason.as_deref()), (selector, reason), "{text}");
        };
        check("/hunkgate reject all", Selector::All, None);
        check("/hunkgate accept --all", Selector::All, None);
        check("/hunkgate reject 1a2b", ids(&["1a2b"]), None);
        check("/hunkgate reject 1A2B,33c4 too loud", ids(&["1a2b", "33c4"]), Some("too loud"));
        check("/hunkgate reject 1a2b 33c4 added twice", ids(&["1a2b", "33c4"]), Some("added twice"));
        check("/hunkgate reject 1a2b bad idea", ids(&["1a2b"]), Some("bad idea"));
        check("/hunkgate drop file \"a b.rs\" no", Selector::File("a b.rs".to_owned()), Some("no"));
        check("/hunkgate reject call t1 --reason 'so so'", Selector::Call("t1".to_owned()), Some("so so"));
        check("/hunkgate reject turn 3", Selector::Turn(3), None);
        check("/hunkgate reject all don't do this", Selector::All, Some("don't do this"));
    }

    #[test]
    fn flags_are_no_words_of_the_reason() {
        let decide = decided("/hunkgate reject --force all --now because");
        assert!(decide.force && decide.now && !decide.dry_run);
        assert_eq!(decide.reason.as_deref(), Some("because"));
    }

    #[test]
    fn a_comment_keeps_its_text_as_it_was_written() {
        let ask = parsed("/hunkgate comment src/a.rs:3-5 don't  \"do\" this");
        let Ask::Comment { path, line_start, line_end, body } = ask else { panic!("no comment") };
        assert_eq!((path.as_str(), line_start, line_end), ("src/a.rs", 3, Some(5)));
        assert_eq!(body, "don't  \"do\" this");
    }

    #[test]
    fn what_is_mistyped_is_explained() {
        let check = |text: &str, says: &str| {
            let error = parse(text, "hunkgate").expect("ours").expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        };
        check("/hunkgate", "reject");
        check("/hunkgate help", "accept");
        check("/hunkgate rejct all", "Did you mean `/hunkgate reject`");
        check("/hunkgate frobnicate", "help");
        check("/hunkgate reject", "Usage: `/hunkgate reject");
        check("/hunkgate reject nonsense", "is no id");
        check("/hunkgate reject al", "Did you mean `all`?");
        check("/hunkgate accept fle a.rs", "Did you mean `file`?");
        check("/hunkgate accept src/a.rs", "Did you mean `file src/a.rs`?");
        check("/hunkgate ask maybe", "neither `on` nor `off`");
        check("/hunkgate undo 1a2b3c4d", "is too much");
        check("/hunkgate show", "Usage: `/hunkgate show ID`");
        check("/hunkgate reject turn x", "is no number");
        check("/hunkgate comment a.rs text", "needs a line");
        check("/hunkgate comment a.rs:1", "needs a text");
        check("/hunkgate accept 1a2b3c4d please", "selects nothing");
    }

    #[test]
    fn what_is_about_hunkgate_itself_is_read() {
        assert_eq!(commanded("/hunkgate ask"), Command::Asking(None));
        assert_eq!(commanded("/hunkgate ask OFF"), Command::Asking(Some(Switch::Off)));
        assert_eq!(commanded("/hunkgate policy"), Command::Policy);
        assert_eq!(commanded("/hunkgate web"), Command::Web);
        assert_eq!(parsed("/hunkgate diff rejected"), Ask::Diff { selector: Selector::Rejected });
        assert_eq!(parsed("/hunkgate rebase /w"), Ask::Rebase { root: Some("/w".to_owned()) });
    }

    #[test]
    fn every_command_is_in_the_help_once() {
        let text = help("hg");
        for (word, _, _) in WORDS {
            assert_eq!(text.matches(&format!("`/hg {word}")).count(), 1, "{word}");
        }
    }
}
