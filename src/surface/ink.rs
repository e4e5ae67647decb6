//! Source text → what its stretches are, by the grammars of `syntect`. Each surface has its own colours for them.

use crate::ledger::RangeShape;
use std::collections::BTreeMap;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Bytes of a line beyond which it has no colour.
const LONGEST_LINE: usize = 1_000;
/// Lines of a file that are read for the colours of the last one.
const MOST_LINES: usize = 8_000;

/// What the beginning of a scope's name means; the longest that fits holds.
const MEANINGS: &[(&str, Ink)] = &[
    ("comment", Ink::Comment),
    ("string", Ink::Text),
    ("constant", Ink::Constant),
    ("keyword", Ink::Keyword),
    ("keyword.operator", Ink::Plain),
    ("storage", Ink::Keyword),
    ("entity.name.function", Ink::Function),
    ("support.function", Ink::Function),
    ("variable.function", Ink::Function),
    ("entity.name", Ink::Type),
    ("support.type", Ink::Type),
    ("support.class", Ink::Type),
    ("entity.name.tag", Ink::Attribute),
    ("entity.other.attribute-name", Ink::Attribute),
    ("meta.mapping.key", Ink::Attribute),
    ("markup.heading", Ink::Keyword),
    ("markup.raw", Ink::Text),
];

/// What a stretch of source text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Nothing in particular.
    Plain,
    /// A comment.
    Comment,
    /// A literal text.
    Text,
    /// A number or another constant.
    Constant,
    /// A word of the language.
    Keyword,
    /// A function.
    Function,
    /// A type.
    Type,
    /// A tag, an attribute, a key.
    Attribute,
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its root, absolute.
    pub root: String,
    /// Its path beneath it.
    pub path: String,
    /// What was listed of it when it was wanted.
    pub stamp: String,
    /// Its hunks: id, lines in the file as it stands, the base's lines.
    pub hunks: Vec<(String, RangeShape, String)>,
}

/// A coloured stretch: so many bytes, and what they are.
pub type Inked = Vec<(u32, Ink)>;

/// A file as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    /// Its root, absolute.
    pub root: String,
    /// Its path beneath it.
    pub path: String,
    /// The stamp it was wanted with.
    pub stamp: String,
    /// Its lines, without terminators; `None` where it could not be read.
    pub lines: Option<Vec<String>>,
    /// The colours of each line, as far as they were found out.
    pub inks: Vec<Inked>,
    /// The colours of the base's lines, by hunk.
    pub before: BTreeMap<String, Vec<Inked>>,
}

/// The grammars.
#[derive(Debug)]
pub struct Inks {
    syntaxes: SyntaxSet,
    meanings: Vec<(Scope, Ink)>,
}

impl Inks {
    /// Unpacks the grammars; takes some milliseconds.
    pub fn unpack() -> Self {
        let meanings =
            MEANINGS.iter().filter_map(|(name, ink)| Some((Scope::new(name).ok()?, *ink))).collect();
        Self { syntaxes: SyntaxSet::load_defaults_newlines(), meanings }
    }

    /// Colours the lines of a file as far as its last hunk, and the base's lines of every hunk.
    pub fn colour(&self, wanted: &Wanted, lines: Vec<String>) -> FileText {
        let mut text = FileText {
            root: wanted.root.clone(),
            path: wanted.path.clone(),
            stamp: wanted.stamp.clone(),
            lines: Some(lines),
            inks: Vec::new(),
            before: BTreeMap::new(),
        };
        if let Some(syntax) = self.syntax(&wanted.path, text.lines.as_deref().unwrap_or_default()) {
            self.fill(syntax, wanted, &mut text);
        }
        text
    }

    fn syntax(&self, path: &str, lines: &[String]) -> Option<&SyntaxReference> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension);
        let by_name = self.syntaxes.find_syntax_by_extension(name);
        let extension = match extension {
            "tsx" | "ts" | "mts" | "cts" | "jsx" | "mjs" | "cjs" => "js",
            "zsh" | "ksh" => "sh",
            other => other,
        };
        by_name
            .or_else(|| self.syntaxes.find_syntax_by_extension(extension))
            .or_else(|| self.syntaxes.find_syntax_by_first_line(lines.first()?))
    }

    fn fill(&self, syntax: &SyntaxReference, wanted: &Wanted, text: &mut FileText) {
        let lines = text.lines.take().unwrap_or_default();
        let mut pen = State { state: ParseState::new(syntax), stack: ScopeStack::new() };
        let mut hunks = wanted.hunks.iter().peekable();
        let last = wanted.hunks.iter().map(|(_, range, _)| range.end as usize + 3).max().unwrap_or_default();
        for (index, line) in lines.iter().enumerate().take(last.min(MOST_LINES)) {
            self.before_hunks(&mut hunks, index + 1, &pen, text);
            text.inks.push(self.line(&mut pen, line));
        }
        // A hunk behind the last line is a deletion at the end.
        self.before_hunks(&mut hunks, last.min(MOST_LINES), &pen, text);
        text.lines = Some(lines);
    }

    /// Colours the base's lines of the hunks that begin at or before a line, from the state that stands there.
    fn before_hunks<'h>(
        &self,
        hunks: &mut std::iter::Peekable<impl Iterator<Item = &'h (String, RangeShape, String)>>,
        line: usize,
        pen: &State,
        text: &mut FileText,
    ) {
        while let Some((id, _, before)) = hunks.next_if(|(_, range, _)| range.start as usize <= line) {
            let mut pen = pen.clone();
            let inks = before.lines().take(MOST_LINES).map(|line| self.line(&mut pen, line)).collect();
            text.before.insert(id.clone(), inks);
        }
    }

    fn line(&self, pen: &mut State, line: &str) -> Inked {
        if line.len() > LONGEST_LINE {
            return Inked::new();
        }
        // The grammars expect the terminator.
        let terminated = format!("{line}\n");
        let Ok(ops) = pen.state.parse_line(&terminated, &self.syntaxes) else { return Inked::new() };
        let mut inked = Inked::new();
        let mut from = 0;
        for (at, op) in ops {
            let at = at.min(line.len());
            self.push(&mut inked, at - from.min(at), &pen.stack);
            from = from.max(at);
            if pen.stack.apply(&op).is_err() {
                break;
            }
        }
        self.push(&mut inked, line.len() - from, &pen.stack);
        inked
    }

    fn push(&self, inked: &mut Inked, length: usize, stack: &ScopeStack) {
        let (Ok(length), true) = (u32::try_from(length), length > 0) else { return };
        let ink = self.meaning(stack);
        match inked.last_mut().filter(|last| last.1 == ink) {
            Some(last) => last.0 += length,
            None => inked.push((length, ink)),
        }
    }

    /// Returns what the innermost scope that means anything means.
    fn meaning(&self, stack: &ScopeStack) -> Ink {
        let of = |scope: &Scope| {
            let fits = self.meanings.iter().filter(|(prefix, _)| prefix.is_prefix_of(*scope));
            fits.max_by_key(|(prefix, _)| prefix.len()).map(|(_, ink)| *ink)
        };
        stack.as_slice().iter().rev().find_map(of).unwrap_or(Ink::Plain)
    }
}

#[derive(Clone)]
struct State {
    state: ParseState,
    stack: ScopeStack,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_cover_the_line_and_know_where_a_comment_began() {
        let lines: Vec<String> =
            ["/* it", "goes on */", "let a = \"x\";"].iter().map(|line| (*line).to_owned()).collect();
        let hunks =
            vec![("h".to_owned(), RangeShape { start: 2, end: 4 }, "still */ fn f() {}\n".to_owned())];
        let wanted = Wanted { root: "/r".into(), path: "a.rs".into(), stamp: String::new(), hunks };
        let text = Inks::unpack().colour(&wanted, lines.clone());
        for (line, inks) in lines.iter().zip(&text.inks) {
            assert_eq!(inks.iter().map(|(length, _)| *length as usize).sum::<usize>(), line.len(), "{line}");
        }
        assert_eq!(text.inks[1][0].1, Ink::Comment);
        assert!(text.inks[2].iter().any(|(_, ink)| *ink == Ink::Text));
        assert_eq!(text.before["h"][0][0].1, Ink::Comment);
    }
}
