//! A shell text, taken apart: the simple commands that it may run, and what stands in the way of understanding it.

use std::collections::BTreeSet;

/// Everything that a shell text may run, flattened: commands inside substitutions, compounds and functions stand in it too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The simple commands, in the order of the text.
    pub simple: Vec<Simple>,
    /// What the text uses beyond words, `&&`, `||`, `;`, `|` and newlines.
    pub beyond: BTreeSet<Beyond>,
    /// Names of functions that it defines.
    pub functions: BTreeSet<String>,
    /// The texts of its here-documents.
    pub bodies: Vec<String>,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Assignments before the command.
    pub assigns: Vec<Assign>,
    /// The command and its arguments.
    pub words: Vec<Word>,
    /// Its redirects.
    pub redirects: Vec<Redirect>,
    /// How it follows the command before it.
    pub joint: Joint,
    /// How deep it stands: 0 for the text's own list.
    pub depth: usize,
    /// The pipeline that it is part of: equal numbers, one pipeline.
    pub pipeline: usize,
}

/// How a command follows the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joint {
    /// It is the first, or comes after `;`, `&` or a newline.
    #[default]
    Then,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
    /// After `|`.
    Pipe,
}

/// An assignment before a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assign {
    /// The variable.
    pub name: String,
    /// What is assigned, as written.
    pub value: Word,
}

/// A redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The operator, such as `>` or `2>&`, without its descriptor.
    pub operator: &'static str,
    /// The file, the descriptor or the here-document's delimiter.
    pub target: Word,
    /// The number of the here-document, in [`Plan::bodies`].
    pub here: Option<usize>,
}

/// One word, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// As written.
    pub raw: String,
    /// What it is made of.
    pub parts: Vec<Part>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that stands for itself.
    Plain(String),
    /// Quoted or escaped text.
    Quoted(String),
    /// `$'…'`, decoded.
    AnsiC(String),
    /// `$NAME`, `${NAME…}`; `None` for the name of what is more than a plain variable.
    Variable(Option<String>),
    /// A command or process substitution, an arithmetic expansion: anything whose text is unknown.
    Unknown,
}

/// What a text uses beyond the tiny grammar that can be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// `&`.
    Background,
    /// `!` before a pipeline.
    Bang,
    /// A function definition.
    Function,
    /// `if`, `for`, `( )`, `{ }`, `[[ ]]`, `(( ))`, ….
    Compound,
    /// `$( )`, backquotes.
    Substitution,
    /// `<( )`, `>( )`.
    ProcessSubstitution,
    /// `$NAME`, `${ }`, `$(( ))`, `$"…"`.
    Expansion,
    /// `~`.
    Tilde,
    /// `{a,b}`.
    Brace,
    /// `$'…'`.
    AnsiC,
    /// A here-document whose text is expanded, or whose delimiter is no plain word.
    OpenHeredoc,
    /// A comment that holds characters with a meaning.
    Comment,
    /// A quote, a bracket or a here-document that does not end.
    Unterminated,
    /// Something that no shell, or not every shell, reads the same way.
    Odd,
    /// Nested deeper, or larger, than is looked into.
    TooMuch,
}

impl Beyond {
    /// Returns what it is, for people.
    pub fn says(self) -> &'static str {
        match self {
            Self::Background => "starts something in the background",
            Self::Bang => "negates a pipeline",
            Self::Function => "defines a function",
            Self::Compound => "is a compound command",
            Self::Substitution => "substitutes the output of a command",
            Self::ProcessSubstitution => "substitutes a process",
            Self::Expansion => "expands a variable or an expression",
            Self::Tilde => "expands a tilde",
            Self::Brace => "expands braces",
            Self::AnsiC => "uses $'…' quoting",
            Self::OpenHeredoc => "has a here-document that is expanded",
            Self::Comment => "has a comment with shell characters in it",
            Self::Unterminated => "does not end what it begins",
            Self::Odd => "is not read the same way by every shell",
            Self::TooMuch => "is larger or deeper than is looked into",
        }
    }
}

impl Word {
    /// Returns a word that stands for exactly `text`.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { raw: text.clone(), parts: vec![Part::Quoted(text)] }
    }

    /// Returns the text that the word is certain to stand for.
    pub fn fixed(&self) -> Option<String> {
        if self.has_glob() || self.has_tilde() || self.has_brace() || self.is_command_path() {
            return None;
        }
        self.certain()
    }

    /// Returns the text when nothing is expanded but, perhaps, a file name pattern.
    pub fn pattern(&self) -> Option<String> {
        if self.has_tilde() || self.has_brace() || self.is_command_path() {
            return None;
        }
        self.certain()
    }

    fn certain(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Plain(piece) | Part::Quoted(piece) => text.push_str(piece),
                Part::AnsiC(_) | Part::Variable(_) | Part::Unknown => return None,
            }
        }
        Some(text)
    }

    /// Says whether unquoted `*`, `?` or a bracket expression makes it a pattern of file names.
    pub fn has_glob(&self) -> bool {
        self.plain().any(|text| {
            text.contains(['*', '?']) || text.find('[').is_some_and(|at| text[at..].contains(']'))
        }) || self.split_bracket()
    }

    /// A bracket expression may be written across quotes: `[a"b"]`.
    fn split_bracket(&self) -> bool {
        self.parts.len() > 1 && self.plain().any(|text| text.contains('['))
    }

    /// Says whether a tilde in it may be expanded.
    pub fn has_tilde(&self) -> bool {
        let first = matches!(self.parts.first(), Some(Part::Plain(text)) if text.starts_with('~'));
        first || self.plain().any(|text| text.contains(":~") || text.contains("=~"))
    }

    /// Says whether a brace in it may be expanded.
    pub fn has_brace(&self) -> bool {
        let opens = self.plain().any(|text| text.contains('{'));
        opens && (self.raw.contains(',') || self.raw.contains(".."))
    }

    /// Says whether zsh would replace it by the path of a command: `=name`.
    fn is_command_path(&self) -> bool {
        self.raw.starts_with('=') && !self.raw.trim_start_matches('=').is_empty()
    }

    /// Says whether it is exactly this text, unquoted.
    pub fn is_bare(&self, text: &str) -> bool {
        matches!(self.parts.as_slice(), [Part::Plain(plain)] if plain == text)
    }

    fn plain(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Plain(text) => Some(text.as_str()),
            Part::Quoted(_) | Part::AnsiC(_) | Part::Variable(_) | Part::Unknown => None,
        })
    }
}
