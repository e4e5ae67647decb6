//! What a command does by its own words: whether it only reads, and which files it is told to write, remove or move.
//!
//! Under-approximated, for attribution: only what is spelled out counts, and one place where the command works. The
//! floors look for harm with the opposite error (`writers`).

use super::classify::{Classified, Places, classify};
use super::effect::Form;
use super::place::Context;
use super::plan::{Beyond, Joint, Part, Plan, Redirect, Simple, Word};
use super::reach::carried;
use super::table;
use super::verdict::quoted;
use crate::acp::{CallClaim, ClaimedIn, Said, WantedCommand};
use std::collections::BTreeSet;

/// Files that are taken from one command.
const MOST: usize = 64;

/// What a command does by its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// It is proven to write nothing, whatever the rules say of it.
    pub only_reads: bool,
    /// The files that it is told to write, remove or move; absolute.
    pub names: Vec<CallClaim>,
}

/// Reads what a command does. A lone word may be the verb of some tool, and proves nothing.
pub fn deeds(command: &WantedCommand, context: &Context<'_>) -> Deeds {
    let mut context = context.clone();
    if let Some(cwd) = &command.cwd {
        context.cwd = context.locate(&context.cwd, cwd).asked;
    }
    let texts = match Form::of(&command.form) {
        Form::Text(text) => vec![text],
        // Some clients join them and hand them to a shell.
        Form::Argv(argv) => vec![quoted(&argv), argv.join(" ")],
    };
    let read: Vec<(bool, Classified)> = texts
        .iter()
        .map(|text| {
            let lone = !text.trim().contains(char::is_whitespace) && !matches!(text.trim(), "ls" | "pwd");
            (lone, classify(text, &context))
        })
        .collect();
    let reads = |(lone, it): &(bool, Classified)| !lone && it.only_reads() && it.floors.is_empty();
    let names = read.first().map(|(_, it)| names(it, &context)).unwrap_or_default();
    Deeds { only_reads: command.env.is_empty() && read.iter().all(reads), names }
}

fn names(classified: &Classified, context: &Context<'_>) -> Vec<CallClaim> {
    const LOST: [Beyond; 4] = [Beyond::Function, Beyond::Unterminated, Beyond::Odd, Beyond::TooMuch];
    const TANGLES: [Beyond; 4] =
        [Beyond::Compound, Beyond::Substitution, Beyond::ProcessSubstitution, Beyond::Background];
    let plan = classified.plan();
    let own = &plan.simple[..classified.parts.len()];
    if LOST.iter().any(|it| plan.beyond.contains(it)) {
        return Vec::new();
    }
    let mut places = Places::at(context);
    let mut teller = Teller { context, plan, names: Vec::new() };
    // A `cd` in a subshell, or to where nobody can tell: what is named beside a place is not known.
    let tangled = TANGLES.iter().any(|it| plan.beyond.contains(it)) && own.iter().any(goes);
    let mut astray = tangled;
    for (at, simple) in own.iter().enumerate() {
        let here = if astray { BTreeSet::new() } else { places.here(simple.joint) };
        teller.simple(simple, &here);
        astray |= goes(simple) && table::reads(&simple.words, true).ok().is_none_or(|it| it.moves.is_none());
        let ends_pipeline = own.get(at + 1).is_none_or(|next| next.joint != Joint::Pipe);
        places.part(simple, ends_pipeline, context);
    }
    teller.names.truncate(MOST);
    teller.names
}

/// Says whether a command moves those that follow to another directory.
fn goes(simple: &Simple) -> bool {
    const GO: [&str; 4] = ["cd", "pushd", "popd", "chdir"];
    simple.words.iter().any(|word| GO.iter().any(|it| word.raw == *it))
}

struct Teller<'t> {
    context: &'t Context<'t>,
    plan: &'t Plan,
    names: Vec<CallClaim>,
}

impl Teller<'_> {
    fn simple(&mut self, simple: &Simple, here: &BTreeSet<String>) {
        let mut claims: Vec<(String, Said)> = Vec::new();
        let argv: Option<Vec<String>> = simple.words.iter().map(Word::fixed).collect();
        let argv = argv.as_deref().map(unwrapped);
        let body = argv.and_then(|argv| self.poured(simple, argv));
        for redirect in simple.redirects.iter().filter(|it| writes(it)) {
            let Some(path) = redirect.target.fixed() else { continue };
            let says = match (&body, redirect.operator) {
                (Some(body), ">" | ">|") => Said::Whole { old: None, new: body.clone() },
                (Some(body), ">>") => Said::Diff { old: None, new: body.clone() },
                _ => Said::Location,
            };
            claims.push((path, says));
        }
        claims.extend(argv.into_iter().flat_map(told));
        for (path, says) in claims {
            self.claim((&path, says), here);
        }
    }

    /// Returns the text that a here-document pours through `cat` into the one redirect that writes.
    fn poured(&self, simple: &Simple, argv: &[String]) -> Option<String> {
        let pours = matches!(argv, [cat] if name_of(cat) == "cat")
            || matches!(argv, [cat, dash] if name_of(cat) == "cat" && dash == "-");
        let mut sources = simple.redirects.iter().filter(|it| it.operator.starts_with('<'));
        let (only, None) = (sources.next()?, sources.next()) else { return None };
        let is_file = |it: &&Redirect| writes(it) && !it.target.is_bare("/dev/null");
        let is_alone = simple.redirects.iter().filter(is_file).count() == 1;
        let body = self.plan.bodies.get(only.here?)?;
        let expands = matches!(only.target.parts.as_slice(), [Part::Plain(_)] | []);
        (pours && is_alone && !(expands && body.contains(['$', '`', '\\']))).then(|| body.clone())
    }

    fn claim(&mut self, (path, says): (&str, Said), here: &BTreeSet<String>) {
        let Some(path) = self.placed(path, here) else { return };
        let says = if let Said::Move { to } = says {
            self.placed(&to, here).map_or(Said::Location, |to| Said::Move { to })
        } else {
            says
        };
        let claim = CallClaim { path, says, from: ClaimedIn::RawInput };
        if self.names.len() < MOST && !self.names.contains(&claim) {
            self.names.push(claim);
        }
    }

    /// Returns the absolute path, where there is one place only that it can mean.
    fn placed(&self, path: &str, here: &BTreeSet<String>) -> Option<String> {
        let ends = path.is_empty() || path.ends_with('/') || path.starts_with("/dev/") || path.contains('\0');
        let mut places = here.iter();
        let (place, None) = (places.next()?, places.next()) else {
            return (!ends && path.starts_with('/')).then(|| self.context.locate("/", path).asked);
        };
        let known = path.starts_with('/') || place.starts_with('/');
        (!ends && known).then(|| self.context.locate(place, path).asked)
    }
}

/// Returns the command behind a wrapper that runs it, once, where the wrapper stands; else the words as they are.
fn unwrapped(argv: &[String]) -> &[String] {
    let at = carried(argv).filter(|at| *at < argv.len()).unwrap_or(0);
    let (wrapper, command) = argv.split_at(at);
    // Another directory; or a question about the command.
    let elsewhere =
        |word: &String| ["-C", "-D", "--chdir", "-v", "-V", "-l"].iter().any(|it| word.starts_with(it));
    let feeds = wrapper.first().is_some_and(|name| name_of(name).ends_with("xargs"));
    if feeds || wrapper.iter().any(elsewhere) { argv } else { command }
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Says whether a redirect opens a file to write.
fn writes(redirect: &Redirect) -> bool {
    let descriptor = |text: &str| text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
    match redirect.operator {
        ">" | ">>" | ">|" | "<>" | "&>" | "&>>" => true,
        ">&" => redirect.target.fixed().is_some_and(|text| !descriptor(&text)),
        _ => false,
    }
}

/// Returns what one command is told to write, as it is named.
fn told(argv: &[String]) -> Vec<(String, Said)> {
    let [program, rest @ ..] = argv else { return Vec::new() };
    let has = |flags: &[&str]| rest.iter().any(|word| flags.contains(&word.as_str()));
    let all = |values: &str| locations(operands(rest, values));
    match name_of(program) {
        "tee" | "touch" | "truncate" | "sponge" => all("dtrs"),
        "chmod" if !rest.iter().any(|word| word.starts_with("--ref")) => {
            locations(operands(rest, "").into_iter().skip(1).collect())
        }
        // A command that removes what is gone already may end well: that it names the path is all that it says.
        "rm" | "unlink" => all(""),
        "mv" | "cp" | "ln" | "install"
            if has_letter(rest, 't') || rest.iter().any(|it| it.starts_with("--t")) =>
        {
            Vec::new()
        }
        "mv" => moved(&operands(rest, "S")),
        "install" if has_letter(rest, 'd') || has(&["--directory"]) => Vec::new(),
        "cp" | "ln" | "install" => landed(&operands(rest, "Smgo")),
        "sed" | "gsed" => edited_in_place(rest, ("ef", "l")),
        "perl" => edited_in_place(rest, ("eE", "IMmxFCDdV")),
        "git" => by_git(rest),
        "dd" => locations(rest.iter().filter_map(|it| Some(it.strip_prefix("of=")?.to_owned())).collect()),
        "rustfmt" if !has(&["--check", "--emit"]) => all(""),
        "black" | "isort" if !has(&["--check", "--check-only", "--diff", "--stdout", "-c", "-d"]) => {
            all("abfijlmopstwW")
        }
        "gofmt" | "goimports" | "shfmt" if has(&["-w"]) => all("inr"),
        "clang-format" if has(&["-i"]) && rest.iter().all(|word| word == "-i" || !word.starts_with('-')) => {
            all("")
        }
        "prettier" if has(&["--write", "-w"]) => all(""),
        "eslint" if has(&["--fix"]) => all("cfo"),
        "npx" | "bunx" | "pnpx" => told(rest),
        _ => Vec::new(),
    }
}

fn locations(paths: Vec<String>) -> Vec<(String, Said)> {
    paths.into_iter().map(|path| (path, Said::Location)).collect()
}

/// Long options whose value may be the next word, and those that have none.
const VALUED: &[&str] = &[
    "--config",
    "--config-path",
    "--date",
    "--edition",
    "--expression",
    "--ext",
    "--file",
    "--group",
    "--ignore-path",
    "--line-length",
    "--log-level",
    "--mode",
    "--owner",
    "--parser",
    "--plugin",
    "--profile",
    "--reference",
    "--size",
    "--source",
    "--suffix",
    "--target-version",
    "--time",
];
const SWITCHES: &[&str] = &[
    "--append",
    "--archive",
    "--cache",
    "--dir",
    "--fast",
    "--fix",
    "--force",
    "--ignore-unknown",
    "--ignore-unmatch",
    "--in-place",
    "--interactive",
    "--no-clobber",
    "--no-create",
    "--no-dereference",
    "--no-preserve-root",
    "--no-target-directory",
    "--null-data",
    "--one-file-system",
    "--ours",
    "--parents",
    "--posix",
    "--preserve",
    "--preserve-root",
    "--quiet",
    "--recursive",
    "--regexp-extended",
    "--relative",
    "--safe",
    "--separate",
    "--silent",
    "--staged",
    "--symbolic",
    "--theirs",
    "--update",
    "--verbose",
    "--worktree",
    "--write",
];

/// Returns the arguments that are no options; none where one of them may be the value of an option that is not known.
/// `values`: short options whose value may be the next word.
fn operands(words: &[String], values: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            Some("-") => {
                found.extend(words.cloned());
                break;
            }
            Some(long) if long.starts_with('-') => match word.as_str() {
                valued if VALUED.contains(&valued) => drop(words.next()),
                known if known.contains('=') || SWITCHES.contains(&known) => {}
                _ => return Vec::new(),
            },
            Some(cluster) => {
                let first = cluster.find(|letter| values.contains(letter));
                if first.is_some_and(|at| at + 1 == cluster.len()) {
                    words.next();
                }
            }
            None => found.push(word.clone()),
        }
    }
    found
}

/// Says whether a short option may be among the words.
fn has_letter(words: &[String], letter: char) -> bool {
    let mut options = words.iter().take_while(|word| *word != "--");
    options.any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
}

/// Returns where copies come to lie: at the last operand, or in it where that is a directory.
fn landed(operands: &[String]) -> Vec<(String, Said)> {
    let Some((to, sources)) = operands.split_last() else { return Vec::new() };
    let within = sources.iter().map(|from| beneath(to, from));
    locations(within.chain((sources.len() == 1).then(|| to.clone())).collect())
}

fn moved(operands: &[String]) -> Vec<(String, Said)> {
    let Some((to, sources)) = operands.split_last() else { return Vec::new() };
    let to_itself = (sources.len() == 1).then_some(to);
    let moves = sources.iter().flat_map(|from| {
        let goals = to_itself.cloned().into_iter().chain([beneath(to, from)]);
        goals.map(|to| (from.clone(), Said::Move { to }))
    });
    moves.collect()
}

fn beneath(directory: &str, path: &str) -> String {
    format!("{}/{}", directory.trim_end_matches('/'), name_of(path.trim_end_matches('/')))
}

/// Returns the files that a program edits in place; the first operand is its script, unless one of the options `scripts`
/// gives it. `values`: other options that take the rest of their word.
fn edited_in_place(words: &[String], (scripts, values): (&str, &str)) -> Vec<(String, Said)> {
    let (mut in_place, mut scripted) = (false, false);
    for word in words.iter().take_while(|word| *word != "--") {
        let Some(cluster) = word.strip_prefix('-') else { continue };
        if let Some(long) = cluster.strip_prefix('-') {
            in_place |= long.starts_with("in-place");
            scripted |= long.starts_with("expression") || long.starts_with("file");
            continue;
        }
        // What follows `i` is the ending of the copy that it keeps.
        let takes = |letter: char| letter == 'i' || scripts.contains(letter) || values.contains(letter);
        let first = cluster.chars().find(|letter| takes(*letter));
        in_place |= first == Some('i');
        scripted |= first.is_some_and(|letter| scripts.contains(letter));
    }
    let mut files = operands(words, &format!("{scripts}{values}"));
    files.retain(|file| !file.is_empty());
    if in_place { locations(files.split_off(files.len().min(usize::from(!scripted)))) } else { Vec::new() }
}

/// Returns what the commands of git name that change single files of the work tree.
fn by_git(words: &[String]) -> Vec<(String, Said)> {
    let [verb, rest @ ..] = words else { return Vec::new() };
    let has = |flags: &[&str]| rest.iter().any(|word| flags.contains(&word.as_str()));
    let tries = has(&["-n", "--dry-run"]);
    match verb.as_str() {
        "mv" if !tries => moved(&operands(rest, "")),
        "rm" if !tries && !has(&["--cached"]) => locations(operands(rest, "")),
        "restore" if has(&["-W", "--worktree"]) || !(has(&["--staged"]) || has_letter(rest, 'S')) => {
            locations(operands(rest, "s"))
        }
        "checkout" => {
            let after = rest.iter().skip_while(|word| *word != "--").skip(1);
            locations(after.cloned().collect())
        }
        _ => Vec::new(),
    }
}
