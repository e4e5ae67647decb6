//! The commands that only read, each with its own option rule. What is not listed here is not known to only read.

use super::plan::Word;

/// What a command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Files and directories that it names.
    pub(crate) paths: Vec<String>,
    /// Where it leads a following command: the operand of `cd`.
    pub(crate) moves: Option<String>,
}

/// One argument: its text, and whether the shell expands it as a pattern of file names.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    glob: bool,
}

/// A command whose arguments are options and operands.
struct Spec {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with one.
    values: &'static str,
    /// Long options without a value, or with one behind `=`.
    long: &'static [&'static str],
    /// Long options with a value behind `=` or in the next word.
    long_values: &'static [&'static str],
    operands: Operands,
    globs: Globs,
    /// Whether `-5` is a number of lines.
    numeric: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Paths,
    /// One file at most: a second one would be written.
    OnePath,
    /// A pattern first, unless an option gives it.
    Pattern,
    /// Words that name nothing.
    Words,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Globs {
    No,
    /// A file name may not turn into an option.
    Prefixed,
    Yes,
}

const SPEC: Spec = Spec {
    name: "",
    flags: "",
    values: "",
    long: &[],
    long_values: &[],
    operands: Operands::Paths,
    globs: Globs::No,
    numeric: false,
};

const GREP: Spec = Spec {
    name: "grep",
    flags: "EFGPivwxclLnHhoqsaIrTy",
    values: "eABCm",
    long: &[
        "--extended-regexp",
        "--fixed-strings",
        "--perl-regexp",
        "--ignore-case",
        "--invert-match",
        "--word-regexp",
        "--line-regexp",
        "--count",
        "--files-with-matches",
        "--files-without-match",
        "--line-number",
        "--with-filename",
        "--no-filename",
        "--only-matching",
        "--quiet",
        "--silent",
        "--no-messages",
        "--text",
        "--recursive",
        "--color",
        "--colour",
        "--null",
        "--initial-tab",
        "--basic-regexp",
    ],
    long_values: &[
        "--regexp",
        "--after-context",
        "--before-context",
        "--context",
        "--max-count",
        "--include",
        "--exclude",
        "--exclude-dir",
    ],
    operands: Operands::Pattern,
    numeric: true,
    ..SPEC
};

const SPECS: &[Spec] = &[
    Spec {
        name: "ls",
        flags: "aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1",
        long: &[
            "--all",
            "--almost-all",
            "--color",
            "--directory",
            "--classify",
            "--human-readable",
            "--inode",
            "--reverse",
            "--recursive",
            "--size",
            "--group-directories-first",
            "--full-time",
            "--numeric-uid-gid",
            "--si",
            "--escape",
            "--file-type",
            "--no-group",
            "--quote-name",
            "--sort",
            "--time",
            "--time-style",
            "--format",
            "--indicator-style",
        ],
        globs: Globs::Yes,
        ..SPEC
    },
    Spec {
        name: "cat",
        flags: "AbeEnstTuv",
        long: &[
            "--number",
            "--number-nonblank",
            "--show-all",
            "--show-ends",
            "--show-tabs",
            "--show-nonprinting",
            "--squeeze-blank",
        ],
        ..SPEC
    },
    Spec {
        name: "head",
        flags: "qvz",
        values: "nc",
        long: &["--quiet", "--silent", "--verbose"],
        long_values: &["--lines", "--bytes"],
        numeric: true,
        ..SPEC
    },
    Spec {
        name: "tail",
        flags: "qvzr",
        values: "nc",
        long: &["--quiet", "--silent", "--verbose"],
        long_values: &["--lines", "--bytes"],
        numeric: true,
        ..SPEC
    },
    Spec {
        name: "wc",
        flags: "lwcmL",
        long: &["--lines", "--words", "--bytes", "--chars", "--max-line-length"],
        globs: Globs::Prefixed,
        ..SPEC
    },
    Spec { name: "nl", flags: "p", values: "bnwsviel", ..SPEC },
    Spec {
        name: "stat",
        flags: "LtxFlqrs",
        values: "cf",
        long: &["--dereference", "--terse"],
        long_values: &["--format", "--printf"],
        globs: Globs::Yes,
        ..SPEC
    },
    Spec {
        name: "du",
        flags: "abchkmsSx0",
        values: "dt",
        long: &[
            "--all",
            "--apparent-size",
            "--bytes",
            "--total",
            "--human-readable",
            "--summarize",
            "--separate-dirs",
            "--si",
        ],
        long_values: &["--max-depth", "--threshold", "--block-size", "--exclude"],
        globs: Globs::Prefixed,
        ..SPEC
    },
    Spec {
        name: "diff",
        flags: "uqsabBwiyctpdET",
        values: "UCWI",
        long: &[
            "--brief",
            "--unified",
            "--context",
            "--side-by-side",
            "--ignore-case",
            "--ignore-all-space",
            "--ignore-space-change",
            "--ignore-blank-lines",
            "--color",
            "--suppress-common-lines",
            "--report-identical-files",
            "--minimal",
            "--text",
            "--strip-trailing-cr",
        ],
        ..SPEC
    },
    Spec {
        name: "cmp",
        flags: "bls",
        values: "n",
        long: &["--silent", "--quiet", "--verbose", "--print-bytes"],
        ..SPEC
    },
    Spec { name: "pwd", flags: "LP", operands: Operands::None, ..SPEC },
    Spec { name: "true", operands: Operands::Words, ..SPEC },
    Spec { name: "false", operands: Operands::Words, ..SPEC },
    Spec { name: "basename", flags: "az", values: "s", operands: Operands::Words, ..SPEC },
    Spec { name: "dirname", flags: "z", operands: Operands::Words, ..SPEC },
    Spec {
        name: "cut",
        flags: "nsz",
        values: "bcdf",
        long: &["--only-delimited", "--complement"],
        long_values: &["--bytes", "--characters", "--delimiter", "--fields", "--output-delimiter"],
        ..SPEC
    },
    Spec {
        name: "tr",
        flags: "cCdst",
        long: &["--delete", "--squeeze-repeats", "--complement"],
        operands: Operands::Words,
        ..SPEC
    },
    GREP,
    Spec { name: "egrep", ..GREP },
    Spec { name: "fgrep", ..GREP },
    Spec {
        name: "rg",
        flags: "ivwxclnNHoqsSFPUI",
        values: "eABCmgtTdjMr",
        long: &[
            "--ignore-case",
            "--invert-match",
            "--word-regexp",
            "--line-regexp",
            "--count",
            "--count-matches",
            "--files-with-matches",
            "--files-without-match",
            "--line-number",
            "--no-line-number",
            "--with-filename",
            "--no-filename",
            "--only-matching",
            "--quiet",
            "--case-sensitive",
            "--smart-case",
            "--fixed-strings",
            "--pcre2",
            "--multiline",
            "--no-heading",
            "--heading",
            "--json",
            "--stats",
            "--files",
            "--type-list",
            "--column",
            "--vimgrep",
            "--trim",
            "--color",
            "--pretty",
            "--no-config",
            "--passthru",
            "--one-file-system",
        ],
        long_values: &[
            "--regexp",
            "--after-context",
            "--before-context",
            "--context",
            "--max-count",
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--max-depth",
            "--sort",
            "--sortr",
            "--threads",
            "--max-columns",
            "--replace",
            "--max-filesize",
        ],
        operands: Operands::Pattern,
        ..SPEC
    },
    Spec {
        name: "sort",
        flags: "bdfghiMnrRVuscCz",
        values: "kt",
        long: &[
            "--reverse",
            "--numeric-sort",
            "--unique",
            "--human-numeric-sort",
            "--general-numeric-sort",
            "--version-sort",
            "--ignore-case",
            "--ignore-leading-blanks",
            "--dictionary-order",
            "--month-sort",
            "--stable",
            "--zero-terminated",
            "--check",
        ],
        long_values: &["--key", "--field-separator"],
        ..SPEC
    },
    Spec {
        name: "uniq",
        flags: "cdDuiz",
        values: "fsw",
        long: &["--count", "--repeated", "--unique", "--ignore-case", "--all-repeated", "--zero-terminated"],
        long_values: &["--skip-fields", "--skip-chars", "--check-chars"],
        operands: Operands::OnePath,
        ..SPEC
    },
];

/// Says what a simple command reads, when it is known to only read; else why that is not known.
pub(crate) fn reads(words: &[Word], git: bool) -> Result<Reads, String> {
    let Some((first, rest)) = words.split_first() else { return Err("runs no command".to_owned()) };
    let name = first.fixed().filter(|name| first.is_bare(name) && name.is_ascii());
    let Some(name) = name else { return Err("the command is not spelled out".to_owned()) };
    let texts = rest.iter().map(text).collect::<Result<Vec<Text>, String>>()?;
    let named = match name.as_str() {
        "cd" => cd(&texts),
        "echo" => Ok(Reads::default()),
        "printf" => printf(&texts),
        "test" => test(&texts),
        "[" => match texts.split_last() {
            Some((last, inner)) if last.text == "]" => test(inner),
            _ => Err("does not end with ]".to_owned()),
        },
        "date" => date(&texts),
        "find" => find(&texts),
        "sed" => sed(&texts),
        "git" if git => super::git::reads(&plain(&texts)?),
        "git" => Err("git may not be taken for reading here".to_owned()),
        _ => match SPECS.iter().find(|spec| spec.name == name) {
            Some(spec) => spec.reads(&texts),
            None => Err("is not known to only read".to_owned()),
        },
    };
    named.map_err(|why| format!("{name}: {why}"))
}

fn text(word: &Word) -> Result<Text, String> {
    match (word.fixed(), word.pattern()) {
        (Some(text), _) => Ok(Text { text, glob: false }),
        (None, Some(text)) => Ok(Text { text, glob: true }),
        (None, None) => Err(format!("{} is not spelled out", word.raw)),
    }
}

/// Returns the texts of arguments of which none may be a pattern.
fn plain(texts: &[Text]) -> Result<Vec<String>, String> {
    let one = |text: &Text| {
        if text.glob { Err(format!("{} is a pattern", text.text)) } else { Ok(text.text.clone()) }
    };
    texts.iter().map(one).collect()
}

/// Says whether a long option is known, and whether its value is the next word.
pub(super) fn long(word: &str, flags: &[&str], with_values: &[&str]) -> Option<bool> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    if with_values.contains(&name) {
        return Some(value.is_none());
    }
    flags.contains(&name).then_some(false)
}

impl Spec {
    fn reads(&self, texts: &[Text]) -> Result<Reads, String> {
        let (mut operands, mut given, mut at, mut options) = (Vec::new(), false, 0, true);
        while let Some(text) = texts.get(at) {
            at += 1;
            let word = text.text.as_str();
            if !options || word == "-" || !word.starts_with('-') {
                operands.push(text);
            } else if text.glob {
                return Err(format!("{word} is a pattern"));
            } else if word == "--" {
                options = false;
            } else if self.numeric && word[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            } else {
                let taken = if word.starts_with("--") {
                    long(word, self.long, self.long_values)
                } else {
                    self.short(word)
                };
                let takes_next = taken.ok_or_else(|| format!("{word} is not known to be harmless"))?;
                given |= matches!(word.get(..2), Some("-e"))
                    || word.starts_with("--regexp")
                    || word == "--files"
                    || word == "--type-list";
                if takes_next {
                    let value = texts.get(at).ok_or_else(|| format!("{word} wants a value"))?;
                    if value.glob {
                        return Err(format!("{} is a pattern", value.text));
                    }
                    at += 1;
                }
            }
        }
        self.operands(&operands, given)
    }

    /// Says whether a cluster of short options is known, and whether a value is the next word.
    fn short(&self, word: &str) -> Option<bool> {
        let cluster = &word[1..];
        for (at, c) in cluster.char_indices() {
            if self.values.contains(c) {
                return Some(at + c.len_utf8() == cluster.len());
            }
            if !self.flags.contains(c) {
                return None;
            }
        }
        Some(false)
    }

    fn operands(&self, operands: &[&Text], given: bool) -> Result<Reads, String> {
        let skipped = usize::from(self.operands == Operands::Pattern && !given);
        let named = operands.get(skipped.min(operands.len())..).unwrap_or_default();
        if operands.iter().take(skipped).any(|text| text.glob) {
            return Err("the pattern to search for is a pattern of file names".to_owned());
        }
        match self.operands {
            Operands::None if !operands.is_empty() => return Err("takes no operand".to_owned()),
            Operands::OnePath if operands.len() > 1 => {
                return Err("a second operand is written to".to_owned());
            }
            Operands::Words | Operands::None => {
                plain(&operands.iter().map(|text| (*text).clone()).collect::<Vec<_>>())?;
                return Ok(Reads::default());
            }
            Operands::Paths | Operands::OnePath | Operands::Pattern => {}
        }
        let mut reads = Reads::default();
        for text in named.iter().filter(|text| text.text != "-") {
            reads.paths.push(self.path(text)?);
        }
        Ok(reads)
    }

    /// Returns the path of an operand; of a pattern, the directory in which it is looked up.
    fn path(&self, text: &Text) -> Result<String, String> {
        if !text.glob {
            return Ok(text.text.clone());
        }
        let (directory, name) = text
            .text
            .rsplit_once('/')
            .map_or((".", text.text.as_str()), |(directory, name)| (directory, name));
        let wild = |text: &str| text.contains(['*', '?', '[']);
        let led = !wild(directory) && !name.is_empty();
        let safe = match self.globs {
            Globs::No => false,
            Globs::Prefixed => led && (text.text.contains('/') || !name.starts_with(['*', '?', '['])),
            Globs::Yes => led,
        };
        if safe && !directory.is_empty() {
            Ok(directory.to_owned())
        } else {
            Err(format!("{} is a pattern", text.text))
        }
    }
}

fn cd(texts: &[Text]) -> Result<Reads, String> {
    let texts = plain(texts)?;
    let operands: Vec<&String> =
        texts.iter().skip_while(|text| matches!(text.as_str(), "--" | "-P" | "-L")).collect();
    match operands.as_slice() {
        [path] if !path.starts_with(['-', '+']) && !path.is_empty() => {
            Ok(Reads { paths: vec![(*path).clone()], moves: Some((*path).clone()) })
        }
        _ => Err("wants one directory".to_owned()),
    }
}

/// Some shells evaluate numbers as expressions, and those can hold commands.
fn evaluates(text: &str) -> bool {
    text.contains(['[', '$', '`'])
}

fn printf(texts: &[Text]) -> Result<Reads, String> {
    let texts = plain(texts)?;
    let first = texts.first().ok_or_else(|| "wants a format".to_owned())?;
    if first.starts_with('-') && first != "--" {
        return Err(format!("{first} is not known to be harmless"));
    }
    match texts.iter().skip(1).find(|text| evaluates(text)) {
        Some(text) => Err(format!("{text} may be evaluated")),
        None => Ok(Reads::default()),
    }
}

fn test(texts: &[Text]) -> Result<Reads, String> {
    const FILES: &[&str] = &[
        "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-g", "-u", "-k", "-O",
        "-G",
    ];
    const WORDS: &[&str] = &[
        "-n", "-z", "-t", "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-nt", "-ot",
        "-ef",
    ];
    let texts = plain(texts)?;
    let mut reads = Reads::default();
    for (at, text) in texts.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| texts[before].as_str());
        let option = text.starts_with('-') && !text[1..].bytes().all(|byte| byte.is_ascii_digit());
        if evaluates(text) || (option && !FILES.contains(&text.as_str()) && !WORDS.contains(&text.as_str())) {
            return Err(format!("{text} is not known to be harmless"));
        }
        let compared = after.is_some_and(|it| matches!(it, "-nt" | "-ot" | "-ef"))
            || texts.get(at + 1).is_some_and(|it| matches!(it.as_str(), "-nt" | "-ot" | "-ef"));
        if after.is_some_and(|it| FILES.contains(&it)) || compared {
            reads.paths.push(text.clone());
        }
    }
    Ok(reads)
}

fn date(texts: &[Text]) -> Result<Reads, String> {
    for text in plain(texts)? {
        let known = text.starts_with('+')
            || matches!(
                text.as_str(),
                "-u" | "-R" | "-I" | "--utc" | "--universal" | "--iso-8601" | "--rfc-email"
            )
            || text
                .strip_prefix("-I")
                .or_else(|| text.strip_prefix("--iso-8601="))
                .is_some_and(|unit| unit.bytes().all(|it| it.is_ascii_alphabetic()));
        if !known {
            return Err(format!("{text} is not known to be harmless"));
        }
    }
    Ok(Reads::default())
}

fn find(texts: &[Text]) -> Result<Reads, String> {
    const ALONE: &[&str] = &[
        "-empty",
        "-not",
        "!",
        "-a",
        "-and",
        "-o",
        "-or",
        "(",
        ")",
        "-print",
        "-print0",
        "-prune",
        "-readable",
        "-writable",
        "-executable",
        "-xdev",
        "-mount",
        "-depth",
        "-daystart",
        "-true",
        "-false",
        "-ls",
        "-quit",
        "-nouser",
        "-nogroup",
    ];
    const VALUED: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-size",
        "-mtime",
        "-mmin",
        "-ctime",
        "-cmin",
        "-atime",
        "-amin",
        "-regex",
        "-iregex",
        "-perm",
        "-user",
        "-group",
        "-links",
        "-inum",
        "-printf",
        "-regextype",
    ];
    let texts = plain(texts)?;
    let starts = texts
        .iter()
        .take_while(|text| !text.starts_with('-') && !matches!(text.as_str(), "(" | ")" | "!" | ","));
    let paths: Vec<String> = starts.cloned().collect();
    let mut rest = texts[paths.len()..].iter();
    while let Some(text) = rest.next() {
        if VALUED.contains(&text.as_str()) {
            rest.next().ok_or_else(|| format!("{text} wants a value"))?;
        } else if !ALONE.contains(&text.as_str()) {
            return Err(format!("{text} is not known to be harmless"));
        }
    }
    Ok(Reads { paths, moves: None })
}

/// Only `sed -n N[,M]p [FILE…]`.
fn sed(texts: &[Text]) -> Result<Reads, String> {
    let texts = plain(texts)?;
    let [option, script, paths @ ..] = texts.as_slice() else {
        return Err("wants -n and lines to print".to_owned());
    };
    let lines =
        script.strip_suffix('p').map(|range| range.split(',').collect::<Vec<_>>()).unwrap_or_default();
    let line =
        |text: &&str| *text == "$" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    if option != "-n" || lines.is_empty() || lines.len() > 2 || !lines.iter().all(line) {
        return Err("only `sed -n N,Mp` is known to only read".to_owned());
    }
    if paths.iter().any(|path| path.starts_with('-')) {
        return Err("an option after the script".to_owned());
    }
    Ok(Reads { paths: paths.to_vec(), moves: None })
}
