//! One word of a shell text: quotes, expansions, substitutions; and the characters beneath.

use super::plan::{Beyond, Part, Word};
use super::shell::{DEEPEST, Scanner, Until, read_into};

impl<'t> Scanner<'t, '_> {
    // ── one word ──

    pub(super) fn word(&mut self, prefix: bool) -> Word {
        let mut word = Word::default();
        self.peek();
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'<' | b'>' => {
                    if self.second() != Some(b'(') {
                        break;
                    }
                    self.skip(2);
                    self.work.beyond(Beyond::ProcessSubstitution);
                    self.nested();
                    word.parts.push(Part::Unknown);
                }
                b'\'' => self.single(&mut word),
                b'"' => {
                    self.at += 1;
                    self.double(&mut word);
                }
                b'\\' => {
                    self.at += 1;
                    let escaped = self.char();
                    if escaped.is_empty() {
                        self.work.beyond(Beyond::Unterminated);
                    }
                    push(&mut word, Quotes::Double, escaped);
                }
                b'$' => self.dollar(&mut word, Quotes::None),
                b'`' => self.backquote(&mut word, Quotes::None),
                b'[' if prefix && is_name(&self.text[start..self.at]) => self.subscript(&mut word),
                _ => {
                    let plain = self.char();
                    push(&mut word, Quotes::None, plain);
                }
            }
        }
        self.text[start..self.at].clone_into(&mut word.raw);
        word
    }

    /// `name[…]`: whatever stands in the brackets belongs to the word.
    fn subscript(&mut self, word: &mut Word) {
        let start = self.at;
        let mut aside = Word::default();
        while let Some(byte) = self.peek() {
            match byte {
                b']' | b'\n' => break,
                b'\\' => self.skip(2),
                b'$' => self.dollar(&mut aside, Quotes::Double),
                b'`' => self.backquote(&mut aside, Quotes::Double),
                _ => self.skip(1),
            }
        }
        push(word, Quotes::None, &self.text[start..self.at]);
    }

    fn single(&mut self, word: &mut Word) {
        let rest = &self.text[self.at + 1..];
        let length = rest.find('\'').unwrap_or_else(|| {
            self.work.beyond(Beyond::Unterminated);
            rest.len()
        });
        push(word, Quotes::Double, &rest[..length]);
        self.at = (self.at + length + 2).min(self.text.len());
    }

    /// Reads to the closing quote; the opening one is behind us.
    fn double(&mut self, word: &mut Word) {
        push(word, Quotes::Double, "");
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => {
                    let special = matches!(self.second(), Some(b'$' | b'`' | b'"' | b'\\'));
                    if special {
                        self.at += 1;
                    }
                    let text = self.char();
                    push(word, Quotes::Double, text);
                }
                b'$' => self.dollar(word, Quotes::Double),
                b'`' => self.backquote(word, Quotes::Double),
                _ => {
                    let text = self.char();
                    push(word, Quotes::Double, text);
                }
            }
        }
        self.work.beyond(Beyond::Unterminated);
    }

    pub(super) fn dollar(&mut self, word: &mut Word, quotes: Quotes) {
        self.at += 1;
        match self.peek() {
            Some(b'(') => self.substitution(word),
            Some(b'{') => self.parameter(word, quotes),
            Some(b'[') => {
                self.at += 1;
                self.work.beyond(Beyond::Expansion);
                self.balanced(b'[', b']');
                word.parts.push(Part::Unknown);
            }
            Some(b'\'') if quotes == Quotes::None => self.ansi_c(word),
            Some(b'"') if quotes == Quotes::None => {
                self.at += 1;
                self.work.beyond(Beyond::Expansion);
                self.double(word);
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let start = self.at;
                while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
                    self.at += 1;
                }
                let name = self.text[start..self.at].replace("\\\n", "");
                self.work.beyond(Beyond::Expansion);
                word.parts.push(Part::Variable(Some(name)));
            }
            None | Some(b' ' | b'\t' | b'\n' | b'"' | b'|' | b')' | b';') => push(word, quotes, "$"),
            Some(_) => {
                self.work.beyond(Beyond::Expansion);
                let name = self.char().to_owned();
                word.parts.push(Part::Variable(Some(name)));
            }
        }
    }

    /// `$( … )` or `$(( … ))`; we stand at the first parenthesis.
    fn substitution(&mut self, word: &mut Word) {
        self.at += 1;
        word.parts.push(Part::Unknown);
        if self.peek() == Some(b'(') && self.is_arithmetic(self.at + 1) {
            self.at += 1;
            self.work.beyond(Beyond::Expansion);
            return self.arithmetic();
        }
        self.work.beyond(Beyond::Substitution);
        self.nested();
    }

    /// Reads a list up to its closing parenthesis; the opening one is behind us.
    fn nested(&mut self) {
        if self.depth >= DEEPEST {
            self.work.beyond(Beyond::TooMuch);
            self.at = self.text.len();
            return;
        }
        let here = std::mem::take(&mut self.here);
        self.depth += 1;
        self.list(Until::Paren);
        self.depth -= 1;
        self.here = here;
    }

    /// `${ … }`; we stand at the brace.
    fn parameter(&mut self, word: &mut Word, quotes: Quotes) {
        self.at += 1;
        self.work.beyond(Beyond::Expansion);
        if self.depth >= DEEPEST {
            self.work.beyond(Beyond::TooMuch);
            self.at = self.text.len();
            return;
        }
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            self.work.beyond(Beyond::Substitution);
            return self.function_substitution(word);
        }
        let start = self.at;
        while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
            self.at += 1;
        }
        let name = self.text[start..self.at].to_owned();
        let plain = self.peek() == Some(b'}') && !name.is_empty();
        word.parts.push(Part::Variable(plain.then_some(name)));
        // Inside double quotes an apostrophe quotes only in patterns.
        let literal =
            quotes == Quotes::Double && matches!(self.peek(), Some(b':' | b'-' | b'=' | b'+' | b'?'));
        self.depth += 1;
        self.operand(literal);
        self.depth -= 1;
    }

    /// Reads to the closing brace of `${ … }`.
    fn operand(&mut self, literal: bool) {
        let mut aside = Word::default();
        let quotes = if literal { Quotes::Double } else { Quotes::None };
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.skip(2),
                b'\'' if !literal => self.single(&mut aside),
                b'"' => {
                    self.at += 1;
                    self.double(&mut aside);
                }
                b'$' => self.dollar(&mut aside, quotes),
                b'`' => self.backquote(&mut aside, quotes),
                _ => self.skip(1),
            }
        }
        self.work.beyond(Beyond::Unterminated);
    }

    /// `${ command; }`.
    fn function_substitution(&mut self, word: &mut Word) {
        word.parts.push(Part::Unknown);
        let rest = &self.text[self.at..];
        let mut open = 1_usize;
        let end = rest.bytes().position(|byte| {
            open = match byte {
                b'{' => open + 1,
                b'}' => open - 1,
                _ => open,
            };
            open == 0
        });
        let inner = rest[..end.unwrap_or(rest.len())].trim_start_matches('|').to_owned();
        self.at = (self.at + end.unwrap_or(rest.len()) + 1).min(self.text.len());
        read_into(&inner, self.depth + 1, self.work);
    }

    pub(super) fn backquote(&mut self, word: &mut Word, quotes: Quotes) {
        self.at += 1;
        self.work.beyond(Beyond::Substitution);
        word.parts.push(Part::Unknown);
        let mut inner = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else {
                self.work.beyond(Beyond::Unterminated);
                break;
            };
            self.at += c.len_utf8();
            match c {
                '`' => break,
                '\\' => {
                    let next = self.text[self.at..].chars().next();
                    let quote = next == Some('"') && quotes == Quotes::Double;
                    match next.filter(|c| quote || matches!(c, '`' | '$' | '\\')) {
                        Some(c) => {
                            self.at += 1;
                            inner.push(c);
                        }
                        None => inner.push('\\'),
                    }
                }
                c => inner.push(c),
            }
        }
        read_into(&inner, self.depth + 1, self.work);
    }

    fn ansi_c(&mut self, word: &mut Word) {
        self.work.beyond(Beyond::AnsiC);
        self.at += 1;
        let rest = &self.text[self.at..];
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'\'' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        if end.is_none() {
            self.work.beyond(Beyond::Unterminated);
        }
        let inner = &rest[..end.unwrap_or(rest.len())];
        word.parts.push(Part::AnsiC(decoded(inner)));
        self.at = (self.at + inner.len() + 1).min(self.text.len());
    }

    /// Finds the substitutions of a text that is otherwise data.
    pub(super) fn expanded(&mut self) {
        let mut into = Word::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.skip(2),
                b'$' => self.dollar(&mut into, Quotes::Double),
                b'`' => self.backquote(&mut into, Quotes::Double),
                _ => self.skip(1),
            }
        }
    }

    // ── arithmetic ──

    /// Says whether the parentheses opened before `at` close as `))`: the text is an expression, not two lists.
    pub(super) fn is_arithmetic(&mut self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let (mut open, mut now) = (2_usize, at);
        while let Some(byte) = bytes.get(now) {
            if !self.work.burn(1) {
                return false;
            }
            now += 1;
            match byte {
                b'\\' => now += 1,
                b'(' => open += 1,
                b')' if open == 2 => return bytes.get(now) == Some(&b')'),
                b')' => open -= 1,
                _ => {}
            }
        }
        false
    }

    /// Reads an expression up to `))`.
    pub(super) fn arithmetic(&mut self) {
        self.balanced(b'(', b')');
        self.eat(b')');
    }

    /// Reads to the bracket that closes, and finds the substitutions on the way.
    fn balanced(&mut self, opens: u8, closes: u8) {
        let mut aside = Word::default();
        let mut open = 1_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.skip(2),
                b'$' => self.dollar(&mut aside, Quotes::Double),
                b'`' => self.backquote(&mut aside, Quotes::Double),
                _ => {
                    self.skip(1);
                    open += usize::from(byte == opens);
                    open -= usize::from(byte == closes);
                    if open == 0 {
                        return;
                    }
                }
            }
        }
        self.work.beyond(Beyond::Unterminated);
    }

    // ── characters ──

    /// Returns the next byte, behind any backslash-newline.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.text.as_bytes()[self.at..].starts_with(b"\\\n") {
            self.at += 2;
        }
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the byte after the next one.
    pub(super) fn second(&self) -> Option<u8> {
        let mut at = self.at + 1;
        while self.text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(b"\\\n")) {
            at += 2;
        }
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes one character.
    fn char(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest.chars().next().map_or(0, char::len_utf8);
        self.at += length;
        &rest[..length]
    }

    pub(super) fn skip(&mut self, characters: usize) {
        for c in self.text[self.at..].chars().take(characters) {
            self.at += c.len_utf8();
        }
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    pub(super) fn white(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
            self.at += 1;
        }
    }

    /// Marks what a word uses.
    pub(super) fn note(&mut self, word: &Word) {
        if word.has_tilde() {
            self.work.beyond(Beyond::Tilde);
        }
        if word.has_brace() {
            self.work.beyond(Beyond::Brace);
        }
        // Some shells know these also where no command begins.
        if word.is_bare("{") || word.is_bare("}") {
            self.work.beyond(Beyond::Odd);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Double,
}

/// Adds text to a word, to its last part where that is of the same kind.
fn push(word: &mut Word, quotes: Quotes, text: &str) {
    match (word.parts.last_mut(), quotes) {
        (Some(Part::Plain(last)), Quotes::None) | (Some(Part::Quoted(last)), Quotes::Double) => {
            last.push_str(text);
        }
        (_, Quotes::None) => word.parts.push(Part::Plain(text.to_owned())),
        (_, Quotes::Double) => word.parts.push(Part::Quoted(text.to_owned())),
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|it| it.is_ascii_alphabetic() || it == b'_')
        && bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

/// Splits `NAME=value`, `NAME+=value`, `NAME[…]=value`.
pub(crate) fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(Part::Plain(first)) = word.parts.first() else { return None };
    let (left, _) = first.split_once('=')?;
    let name = left.split('[').next().unwrap_or(left).trim_end_matches('+');
    if !is_name(name) {
        return None;
    }
    let raw = word.raw.split_once('=').map_or("", |(_, raw)| raw);
    let mut parts = word.parts.clone();
    let rest = first[left.len() + 1..].to_owned();
    if rest.is_empty() {
        parts.remove(0);
    } else {
        parts[0] = Part::Plain(rest);
    }
    Some((name.to_owned(), Word { raw: raw.to_owned(), parts }))
}

/// Decodes the escapes of `$'…'`.
fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize| {
            let mut value = 0_u32;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
                chars.next();
                value = value.wrapping_mul(radix).wrapping_add(digit);
            }
            char::from_u32(value).unwrap_or('\u{fffd}')
        };
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c') => out.push('\u{fffd}'),
            Some('x') => out.push(digits(&mut chars, 16, 2)),
            Some('u') => out.push(digits(&mut chars, 16, 4)),
            Some('U') => out.push(digits(&mut chars, 16, 8)),
            Some(c @ '0'..='7') => {
                let first = c.to_digit(8).unwrap_or(0);
                let rest = chars.clone().take(2).take_while(|c| c.is_digit(8)).count();
                let more = digits(&mut chars, 8, rest);
                let value = first * 8_u32.pow(u32::try_from(rest).unwrap_or(0)) + u32::from(more);
                out.push(char::from_u32(value & 0xff).unwrap_or('\u{fffd}'));
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}
