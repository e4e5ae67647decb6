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
        let argv = argv.map(|argv| {
            let at = carried(&argv).filter(|at| *at < argv.len()).unwrap_or(0);
            argv[at..].to_vec()
        });
        let body = argv.as_deref().and_then(|argv| self.poured(simple, argv));
        for redirect in simple.redirects.iter().filter(|it| writes(it)) {
            let Some(path) = redirect.target.fixed() else { continue };
            let says = match (&body, redirect.operator) {
                (Some(body), ">" | ">|") => Said::Whole { old: None, new: body.clone() },
                (Some(body), ">>") => Said::Diff { old: None, new: body.clone() },
                _ => Said::Location,
            };
            claims.push((path, says));
        }
        claims.extend(argv.iter().flat_map(|argv| told(argv)));
        for (path, says) in claims {
            self.claim((&path, says), here);
        }
    }

    /// Returns the text that a here-document pours through `cat` into the redirect.
    fn poured(&self, simple: &Simple, argv: &[String]) -> Option<String> {
        let pours = matches!(argv, [cat] if name_of(cat) == "cat")
            || matches!(argv, [cat, dash] if name_of(cat) == "cat" && dash == "-");
        let mut documents = simple.redirects.iter().filter(|it| it.operator.starts_with("<<"));
        let (only, None) = (documents.next()?, documents.next()) else { return None };
        let body = self.plan.bodies.get(only.here?)?;
        let expands = matches!(only.target.parts.as_slice(), [Part::Plain(_)] | []);
        (pours && !(expands && body.contains(['$', '`', '\\']))).then(|| body.clone())
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
        "mv" if !has(&["-t"]) => moved(&operands(rest, "S")),
        "cp" | "ln" | "install" if !has(&["-t", "-d"]) => landed(&operands(rest, "Smgo")),
        "sed" | "gsed" => edited_in_place(rest, "ef"),
        "perl" => edited_in_place(rest, "eE"),
        "git" => by_git(rest),
        "dd" => locations(rest.iter().filter_map(|it| Some(it.strip_prefix("of=")?.to_owned())).collect()),
        "rustfmt" | "black" | "isort" if !has(&["--check", "--check-only", "--diff", "--emit"]) => all(""),
        "gofmt" | "goimports" | "shfmt" if has(&["-w"]) => all("ir"),
        "clang-format" if has(&["-i"]) => all(""),
        "prettier" if has(&["--write", "-w"]) => all(""),
        "eslint" if has(&["--fix"]) => all("c"),
        "npx" | "bunx" | "pnpx" => told(rest),
        _ => Vec::new(),
    }
}

fn locations(paths: Vec<String>) -> Vec<(String, Said)> {
    paths.into_iter().map(|path| (path, Said::Location)).collect()
}

/// Returns the arguments that are no options. `values`: short options whose value may be the next word.
fn operands(words: &[String], values: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            Some("-") => {
                found.extend(words.cloned());
                break;
            }
            Some(cluster) => {
                if !cluster.starts_with('-') && cluster.ends_with(|letter| values.contains(letter)) {
                    words.next();
                }
            }
            None => found.push(word.clone()),
        }
    }
    found
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
/// gives it.
fn edited_in_place(words: &[String], scripts: &str) -> Vec<(String, Said)> {
    let (mut in_place, mut scripted) = (false, false);
    for word in words.iter().take_while(|word| *word != "--") {
        let Some(cluster) = word.strip_prefix('-') else { continue };
        if let Some(long) = cluster.strip_prefix('-') {
            in_place |= long.starts_with("in-place");
            scripted |= long.starts_with("expression") || long.starts_with("file");
            continue;
        }
        // What follows `i` is the ending of the copy that it keeps.
        let letters = cluster.split_inclusive('i').next().unwrap_or_default();
        let gives = letters.find(|letter| scripts.contains(letter));
        in_place |= gives.is_none() && letters.ends_with('i');
        scripted |= gives.is_some();
    }
    let mut files = operands(words, scripts);
    files.retain(|file| !file.is_empty());
    if in_place { locations(files.split_off(files.len().min(usize::from(!scripted)))) } else { Vec::new() }
}

/// Returns what the commands of git name that change single files of the work tree.
fn by_git(words: &[String]) -> Vec<(String, Said)> {
    let [verb, rest @ ..] = words else { return Vec::new() };
    match verb.as_str() {
        "mv" => moved(&operands(rest, "")),
        "rm" if !rest.iter().any(|word| word == "--cached") => locations(operands(rest, "")),
        "restore" => locations(operands(rest, "s")),
        "checkout" => {
            let after = rest.iter().skip_while(|word| *word != "--").skip(1);
            locations(after.cloned().collect())
        }
        _ => Vec::new(),
    }
}
