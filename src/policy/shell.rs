//! Shell text → [`Plan`]. Linear, bounded in depth and work, never fails: what it does not understand it marks.
//!
//! It is no grammar but a scanner: operators and reserved words separate simple commands, whatever they are nested in.
//! So a hidden command is found even where the text around it is broken, and nothing that it marks is ever allowed.

use super::plan::{Assign, Beyond, Joint, Part, Plan, Redirect, Simple, Word};
use super::word::assignment;

/// Nesting that is looked into.
pub(super) const DEEPEST: usize = 48;

/// Reads a shell text.
pub fn read(text: &str) -> Plan {
    let mut work = Work::new(text.len());
    read_into(text, 0, &mut work);
    work.plan
}

/// What is gathered while texts are read, and how much more may be read.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) plan: Plan,
    fuel: usize,
    pipelines: usize,
}

impl Work {
    /// Starts with fuel for texts of about this length.
    pub(crate) fn new(length: usize) -> Self {
        Self { plan: Plan::default(), fuel: length.saturating_mul(16).saturating_add(1 << 16), pipelines: 0 }
    }

    pub(crate) fn beyond(&mut self, what: Beyond) {
        self.plan.beyond.insert(what);
    }

    pub(super) fn burn(&mut self, amount: usize) -> bool {
        match self.fuel.checked_sub(amount) {
            Some(left) => {
                self.fuel = left;
                true
            }
            None => {
                self.beyond(Beyond::TooMuch);
                false
            }
        }
    }
}

/// Reads a text that stands `depth` deep in another.
pub(crate) fn read_into(text: &str, depth: usize, work: &mut Work) {
    if depth > DEEPEST || !work.burn(text.len()) {
        work.beyond(Beyond::TooMuch);
        return;
    }
    Scanner { text, at: 0, depth, here: Vec::new(), work }.list(Until::End);
}

/// Where a list ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    Paren,
}

/// What is open inside a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Paren,
    Case,
}

/// A here-document whose text is still to come.
pub(super) struct Pending {
    number: usize,
    delimiter: String,
    strip: bool,
    expands: bool,
}

pub(super) struct Scanner<'t, 'w> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) here: Vec<Pending>,
    pub(super) work: &'w mut Work,
}

/// The list being read.
struct List {
    until: Until,
    open: Vec<Open>,
    simple: Simple,
    /// Whether a compound command just ended, so that an operator may follow.
    ended: bool,
    /// Whether an operator wants a command to follow.
    wants: bool,
}

impl Scanner<'_, '_> {
    // ── lists ──

    pub(super) fn list(&mut self, until: Until) {
        let mut list =
            List { until, open: Vec::new(), simple: self.begin(Joint::Then), ended: false, wants: false };
        while self.item(&mut list) {}
        self.finish(&mut list, Joint::Then);
        if list.wants {
            self.work.beyond(Beyond::Odd);
        }
        if !list.open.is_empty() {
            self.work.beyond(Beyond::Unterminated);
        }
        if !self.here.is_empty() {
            self.here.clear();
            self.work.beyond(Beyond::Unterminated);
        }
    }

    /// Reads one token; false at the end of the list.
    fn item(&mut self, list: &mut List) -> bool {
        self.blanks();
        let Some(byte) = self.peek() else {
            if list.until == Until::Paren {
                self.work.beyond(Beyond::Unterminated);
            }
            return false;
        };
        match byte {
            b'\n' => {
                self.at += 1;
                self.newline(list);
            }
            b'#' => self.comment(),
            b';' => self.semicolon(list),
            b'&' => self.ampersand(list),
            b'|' => self.bar(list),
            b'(' => self.paren(list),
            b')' => return self.close(list),
            b'<' | b'>' if self.second() != Some(b'(') => self.redirect(list),
            _ => self.command_word(list),
        }
        true
    }

    fn begin(&mut self, joint: Joint) -> Simple {
        if joint != Joint::Pipe {
            self.work.pipelines += 1;
        }
        Simple { joint, depth: self.depth, pipeline: self.work.pipelines, ..Simple::default() }
    }

    /// Ends the command being read; the next one follows by `joint`.
    fn finish(&mut self, list: &mut List, joint: Joint) {
        let next = self.begin(joint);
        let simple = std::mem::replace(&mut list.simple, next);
        let empty = simple.words.is_empty() && simple.assigns.is_empty() && simple.redirects.is_empty();
        if !empty {
            list.wants = false;
            self.work.plan.simple.push(simple);
        }
        list.ended = false;
    }

    /// Ends the command at an operator.
    fn operator(&mut self, list: &mut List, joint: Joint, wants: bool) {
        let simple = &list.simple;
        let empty = simple.words.is_empty() && simple.assigns.is_empty() && simple.redirects.is_empty();
        if empty && !list.ended {
            self.work.beyond(Beyond::Odd);
        }
        self.finish(list, joint);
        list.wants = wants;
    }

    fn newline(&mut self, list: &mut List) {
        let joint = if list.wants && self.is_empty(list) { list.simple.joint } else { Joint::Then };
        let wants = list.wants && self.is_empty(list);
        self.finish(list, joint);
        list.wants = wants;
        for pending in std::mem::take(&mut self.here) {
            self.here_document(pending);
        }
    }

    fn is_empty(&self, list: &List) -> bool {
        list.simple.words.is_empty() && list.simple.assigns.is_empty() && list.simple.redirects.is_empty()
    }

    fn comment(&mut self) {
        let rest = &self.text[self.at..];
        let comment = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += comment.len();
        // An interactive zsh does not know comments: it would read this as words and operators.
        if comment.contains([';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\'', '"', '\\']) {
            self.work.beyond(Beyond::Comment);
        }
    }

    fn semicolon(&mut self, list: &mut List) {
        self.at += 1;
        let mut ends_branch = false;
        while matches!(self.peek(), Some(b';' | b'&')) && (self.peek() == Some(b';') || !ends_branch) {
            self.at += 1;
            ends_branch = true;
        }
        if ends_branch && self.peek() == Some(b'&') {
            self.at += 1;
        }
        if !ends_branch {
            return self.operator(list, Joint::Then, false);
        }
        self.finish(list, Joint::Then);
        if list.open.last() == Some(&Open::Case) {
            self.patterns(list);
        } else {
            self.work.beyond(Beyond::Odd);
        }
    }

    fn ampersand(&mut self, list: &mut List) {
        self.at += 1;
        match self.peek() {
            Some(b'&') => {
                self.at += 1;
                self.operator(list, Joint::And, true);
            }
            Some(b'>') => {
                self.at += 1;
                let operator = if self.eat(b'>') { "&>>" } else { "&>" };
                self.target(list, operator);
            }
            _ => {
                self.work.beyond(Beyond::Background);
                self.operator(list, Joint::Then, false);
            }
        }
    }

    fn bar(&mut self, list: &mut List) {
        self.at += 1;
        match self.peek() {
            Some(b'|') => {
                self.at += 1;
                self.operator(list, Joint::Or, true);
            }
            Some(b'&') => {
                self.at += 1;
                self.operator(list, Joint::Pipe, true);
            }
            _ => self.operator(list, Joint::Pipe, true),
        }
    }

    fn paren(&mut self, list: &mut List) {
        self.at += 1;
        if list.simple.words.len() == 1 && self.function_body(list) {
            return;
        }
        if !list.simple.words.is_empty() {
            self.work.beyond(Beyond::Odd);
        }
        self.work.beyond(Beyond::Compound);
        if self.peek() == Some(b'(') && self.is_arithmetic(self.at + 1) {
            self.at += 1;
            self.arithmetic();
            list.ended = true;
            return;
        }
        let joint = if self.is_empty(list) { list.simple.joint } else { Joint::Then };
        self.finish(list, joint);
        list.open.push(Open::Paren);
    }

    /// `name ( )`: what follows is the body of a function.
    fn function_body(&mut self, list: &mut List) -> bool {
        let before = self.at;
        self.blanks();
        if !self.eat(b')') {
            self.at = before;
            return false;
        }
        if let Some(word) = list.simple.words.pop() {
            self.work.plan.functions.insert(word.raw);
        }
        self.work.beyond(Beyond::Function);
        self.finish(list, Joint::Then);
        list.ended = true;
        true
    }

    fn close(&mut self, list: &mut List) -> bool {
        self.at += 1;
        self.finish(list, Joint::Then);
        list.ended = true;
        if list.open.last() == Some(&Open::Paren) {
            list.open.pop();
            return true;
        }
        if !list.open.is_empty() || list.until == Until::End {
            self.work.beyond(Beyond::Odd);
        }
        if list.until == Until::Paren && !list.open.contains(&Open::Paren) {
            list.open.clear();
            return false;
        }
        true
    }

    // ── words of a command ──

    fn command_word(&mut self, list: &mut List) {
        let prefix = list.simple.words.is_empty();
        let before = self.at;
        let word = self.word(prefix);
        if self.at == before {
            self.at += 1;
            self.work.beyond(Beyond::Odd);
            return;
        }
        if matches!(self.peek(), Some(b'<' | b'>'))
            && self.second() != Some(b'(')
            && self.is_descriptor(&word)
        {
            return;
        }
        if prefix && self.reserved(list, &word) {
            return;
        }
        if prefix && let Some((name, value)) = assignment(&word) {
            self.note(&value);
            self.array(&value);
            list.simple.assigns.push(Assign { name, value });
            return;
        }
        self.note(&word);
        list.simple.words.push(word);
    }

    /// `2>`: digits at a redirect are its descriptor, and so is `{name}`.
    fn is_descriptor(&mut self, word: &Word) -> bool {
        let [Part::Plain(text)] = word.parts.as_slice() else { return false };
        let named = text.starts_with('{') && text.ends_with('}');
        if named {
            self.work.beyond(Beyond::Odd);
        }
        named || text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// `a=( … )`.
    fn array(&mut self, value: &Word) {
        if !value.raw.is_empty() || self.peek() != Some(b'(') {
            return;
        }
        self.work.beyond(Beyond::Compound);
        self.at += 1;
        loop {
            self.blanks();
            match self.peek() {
                None => return self.work.beyond(Beyond::Unterminated),
                Some(b')') => {
                    self.at += 1;
                    return;
                }
                Some(b'#') => self.comment(),
                Some(_) => {
                    let before = self.at;
                    self.word(true);
                    if self.at == before {
                        self.at += 1;
                    }
                }
            }
        }
    }

    /// Deals with a word that has a meaning where a command may begin; false for every other word.
    fn reserved(&mut self, list: &mut List, word: &Word) -> bool {
        let [Part::Plain(text)] = word.parts.as_slice() else { return false };
        if !list.simple.assigns.is_empty() {
            return false;
        }
        match text.as_str() {
            "!" => self.work.beyond(Beyond::Bang),
            "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "{" | "always" => {
                self.work.beyond(Beyond::Compound);
            }
            "fi" | "done" | "}" | "esac" => {
                self.work.beyond(Beyond::Compound);
                if text == "esac" && list.open.last() == Some(&Open::Case) {
                    list.open.pop();
                }
                let joint = list.simple.joint;
                self.finish(list, joint);
                list.ended = true;
                list.wants = false;
            }
            "time" => {
                self.work.beyond(Beyond::Compound);
                self.options();
            }
            "coproc" => {
                self.work.beyond(Beyond::Background);
                self.work.beyond(Beyond::Compound);
                self.name_before_body();
            }
            "for" | "select" | "foreach" | "repeat" => {
                self.head();
                list.ended = true;
            }
            "case" => self.case(list),
            "function" => self.function(list),
            "[[" => self.test(list),
            _ => return false,
        }
        true
    }

    /// Skips `-p`, `-f FORMAT` and their like.
    fn options(&mut self) {
        self.blanks();
        while self.peek() == Some(b'-') {
            self.word(false);
            self.blanks();
        }
    }

    /// `coproc NAME {`: skips the name when a body follows it.
    fn name_before_body(&mut self) {
        let before = self.at;
        self.blanks();
        let word = self.word(false);
        self.blanks();
        let body = matches!(self.peek(), Some(b'{' | b'('))
            || ["if", "for", "while", "until", "case", "[["]
                .iter()
                .any(|it| self.text[self.at..].starts_with(it));
        if !body || word.is_bare("{") {
            self.at = before;
        }
    }

    /// The words between `for` and its list are data.
    fn head(&mut self) {
        self.work.beyond(Beyond::Compound);
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => return,
                Some(_) => {
                    let before = self.at;
                    let word = self.word(false);
                    if word.is_bare("do") || word.is_bare("{") {
                        self.at = before;
                        return;
                    }
                    if self.at == before {
                        return;
                    }
                }
            }
        }
    }

    fn function(&mut self, list: &mut List) {
        self.work.beyond(Beyond::Function);
        self.blanks();
        let word = self.word(false);
        self.work.plan.functions.insert(word.raw);
        self.blanks();
        if self.eat(b'(') {
            self.blanks();
            self.eat(b')');
        }
        list.ended = true;
    }

    fn case(&mut self, list: &mut List) {
        self.work.beyond(Beyond::Compound);
        self.blanks();
        self.word(false);
        self.white();
        let before = self.at;
        if self.word(false).is_bare("in") {
            list.open.push(Open::Case);
            self.patterns(list);
        } else {
            self.at = before;
            self.work.beyond(Beyond::Odd);
        }
    }

    /// Skips the patterns of a branch, up to their `)`.
    fn patterns(&mut self, list: &mut List) {
        let mut first = true;
        loop {
            self.white();
            match self.peek() {
                None => return self.work.beyond(Beyond::Unterminated),
                Some(b')') => {
                    self.at += 1;
                    return;
                }
                Some(b'#') if first => self.comment(),
                Some(_) => {
                    let before = self.at;
                    let word = self.word(false);
                    if first && word.is_bare("esac") {
                        list.open.pop();
                        list.ended = true;
                        return;
                    }
                    if self.at == before {
                        self.at += 1;
                    }
                    first = false;
                }
            }
        }
    }

    /// `[[ … ]]`: its words are data, its operators are its own.
    fn test(&mut self, list: &mut List) {
        self.work.beyond(Beyond::Compound);
        loop {
            self.white();
            if self.peek().is_none() {
                return self.work.beyond(Beyond::Unterminated);
            }
            let before = self.at;
            if self.word(false).is_bare("]]") {
                list.ended = true;
                return;
            }
            if self.at == before {
                self.at += 1;
            }
        }
    }

    // ── redirects ──

    fn redirect(&mut self, list: &mut List) {
        let first = self.peek();
        self.at += 1;
        if first == Some(b'>') {
            let operator = match self.peek() {
                Some(b'>') => ">>",
                Some(b'|') => ">|",
                Some(b'&') => ">&",
                _ => return self.target(list, ">"),
            };
            self.at += 1;
            return self.target(list, operator);
        }
        match self.peek() {
            Some(b'&') => {
                self.at += 1;
                self.target(list, "<&");
            }
            Some(b'>') => {
                self.at += 1;
                self.target(list, "<>");
            }
            Some(b'<') => {
                self.at += 1;
                match self.peek() {
                    Some(b'<') => {
                        self.at += 1;
                        self.target(list, "<<<");
                    }
                    Some(b'-') => {
                        self.at += 1;
                        self.here(list, true);
                    }
                    _ => self.here(list, false),
                }
            }
            _ => self.target(list, "<"),
        }
    }

    fn target(&mut self, list: &mut List, operator: &'static str) {
        self.blanks();
        let target = self.word(false);
        if target.raw.is_empty() {
            self.work.beyond(Beyond::Odd);
        }
        self.note(&target);
        list.simple.redirects.push(Redirect { operator, target, here: None });
    }

    fn here(&mut self, list: &mut List, strip: bool) {
        self.blanks();
        let target = self.word(false);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let delimiter = target.fixed().filter(|text| !text.is_empty() && text.chars().all(plain));
        let expands = matches!(target.parts.as_slice(), [Part::Plain(_)] | []);
        if expands || delimiter.is_none() {
            self.work.beyond(Beyond::OpenHeredoc);
        }
        let number = self.work.plan.bodies.len();
        self.work.plan.bodies.push(String::new());
        let delimiter = delimiter.unwrap_or_else(|| target.raw.replace(['\'', '"', '\\'], ""));
        self.here.push(Pending { number, delimiter, strip, expands });
        list.simple.redirects.push(Redirect { operator: "<<", target, here: Some(number) });
    }

    fn here_document(&mut self, pending: Pending) {
        let mut body = String::new();
        let ended = loop {
            if self.at >= self.text.len() {
                break false;
            }
            let line = self.line(pending.expands);
            let line = if pending.strip { line.trim_start_matches('\t') } else { &line };
            if line == pending.delimiter {
                break true;
            }
            body.push_str(line);
            body.push('\n');
        };
        if !ended {
            self.work.beyond(Beyond::Unterminated);
        }
        if pending.expands && self.depth < DEEPEST && self.work.burn(body.len()) {
            let depth = self.depth + 1;
            Scanner { text: &body, at: 0, depth, here: Vec::new(), work: self.work }.expanded();
        }
        self.work.plan.bodies[pending.number] = body;
    }

    /// Reads one line of a here-document; where it is expanded, a backslash joins the next line to it.
    fn line(&mut self, joins: bool) -> String {
        let mut line = String::new();
        loop {
            let rest = &self.text[self.at..];
            let piece = &rest[..rest.find('\n').unwrap_or(rest.len())];
            self.at = (self.at + piece.len() + 1).min(self.text.len());
            let slashes = piece.len() - piece.trim_end_matches('\\').len();
            if joins && slashes % 2 == 1 && self.at < self.text.len() {
                line.push_str(&piece[..piece.len() - 1]);
            } else {
                line.push_str(piece);
                return line;
            }
        }
    }
}
