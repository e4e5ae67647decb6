//! `hunkgate policy`: what the rules would say about a command, and why. Nothing is run, asked or recorded.

use super::places::PROJECT_FILE;
use super::port::Port;
use super::replay::{Bench as Judging, Scene, replay};
use super::text::{self, Style};
use crate::base::Digest;
use crate::config::{Config, Mode, Written};
use crate::ledger::{Redacted, Redactor};
use crate::policy::{
    Class, Context, Effect, Evidence, Floor, Foreign, Form, Ground, Kind, Policy, Subject, Verdict,
    VerdictShape, judge,
};
use crate::review::{Problem, ProblemKind};
use serde_json::json;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What was asked of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// The mode to judge for.
    pub mode: Mode,
    /// Print JSON.
    pub json: bool,
    /// What.
    pub about: About,
}

/// What the rules are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A command: one shell text, or a program and its arguments.
    Command(Vec<String>),
    /// Commands on stdin, each ended by a NUL byte.
    Stdin,
    /// The kinds of effects, classes of paths and floors that there are.
    List,
    /// A file of commands, each with the verdict that it must get.
    File(PathBuf),
    /// Everything that was recorded, with the rules of a file beside those that are configured.
    Past(Option<PathBuf>),
    /// The rules of another tool, in its file.
    Foreign(Foreign, Option<PathBuf>),
}

/// Where the question is asked.
pub struct Bench<'b> {
    /// The current directory.
    pub cwd: &'b Path,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Our own directories and files.
    pub ours: Vec<PathBuf>,
    /// What the person's configuration says.
    pub user: Option<Written>,
    /// Where the recorded past is.
    pub past: &'b dyn Port,
}

/// The file system, as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Ground for Disk {
    fn real(&self, absolute: &str) -> Option<String> {
        let path = Path::new(absolute);
        let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
        for held in path.ancestors() {
            match held.canonicalize() {
                Ok(mut real) => {
                    real.extend(missing.iter().rev());
                    return real.to_str().map(str::to_owned);
                }
                // A link that leads nowhere, or in a circle: where it would lead cannot be told.
                Err(_) if held.is_symlink() => return None,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
                {
                    missing.push(held.file_name()?);
                }
                Err(_) => return None,
            }
        }
        None
    }

    fn content(&self, absolute: &str) -> String {
        /// What is longer is not read for a question.
        const LONGEST: u64 = 64 << 20;
        match std::fs::metadata(absolute) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "absent".to_owned(),
            Ok(meta) if meta.is_file() && meta.len() <= LONGEST => std::fs::read(absolute)
                .map_or_else(|_| "unknown".to_owned(), |bytes| Digest::of(&[&bytes]).to_string()),
            Ok(_) | Err(_) => "unknown".to_owned(),
        }
    }
}

impl std::fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// Answers, and returns the exit code: 0 allow, 1 ask, 3 deny; the strictest of several.
pub fn inquire(
    inquiry: &Inquiry,
    bench: &Bench<'_>,
    out: &mut dyn Write,
    style: &Style,
) -> Result<u8, Problem> {
    if inquiry.about == About::List {
        return list(inquiry.json, out).map_err(|error| unwritten(&error));
    }
    if let About::Foreign(tool, file) = &inquiry.about {
        return import(*tool, file.as_deref(), (bench, inquiry.json), out);
    }
    let desk = Desk::new(inquiry, bench)?;
    match &inquiry.about {
        About::Command(words) => {
            let verdict = desk.judge(words);
            let shape = verdict.shape(&desk.redactor);
            let text = if inquiry.json { pretty(&shape) } else { text::verdict(style, &shape) };
            write(out, &text)?;
            Ok(code(&shape))
        }
        About::Stdin => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Problem::new(ProblemKind::User, format!("failed to read stdin: {error}")))?;
            desk.many(&bytes, out)
        }
        About::File(path) => desk.file(path, inquiry.json, out),
        About::Past(_) => {
            let shape = replay(bench.past, &desk)?;
            write(out, &if inquiry.json { pretty(&shape) } else { text::replay(style, &shape) })?;
            Ok(0)
        }
        About::List | About::Foreign(..) => Ok(0),
    }
}

/// What a judgement needs, gathered once.
struct Desk {
    policy: Policy,
    mode: Mode,
    redactor: Redactor,
    cwd: String,
    root: String,
    home: Option<String>,
    ours: Vec<String>,
    secrets: crate::base::Patterns,
    config: Config,
}

impl Desk {
    fn new(inquiry: &Inquiry, bench: &Bench<'_>) -> Result<Self, Problem> {
        let cwd = text_of(&bench.cwd.canonicalize().unwrap_or_else(|_| bench.cwd.to_path_buf()));
        let top = Path::new(&cwd).ancestors().find(|directory| directory.join(".git").exists());
        let root = top.map_or_else(|| cwd.clone(), text_of);
        let mut config = Config::of(bench.user.as_ref(), project(Path::new(&root))?.as_ref());
        if let About::Past(Some(file)) = &inquiry.about {
            config.rules.extend(read(file)?.rules().iter().cloned());
        }
        let home = bench.home.as_deref().map(text_of);
        let policy = Policy::of(&config, home.as_deref());
        let policy = policy.map_err(|error| Problem::new(ProblemKind::Config, error.to_string()))?;
        let redactor = Redactor::new(chance()).matching(config.redact.iter().map(String::as_str));
        let redactor =
            redactor.map_err(|why| Problem::new(ProblemKind::Config, format!("secrets.redact: {why}")))?;
        Ok(Self {
            policy,
            mode: inquiry.mode,
            redactor,
            cwd,
            root,
            home,
            ours: bench.ours.iter().map(|path| text_of(path)).collect(),
            secrets: crate::base::Patterns::default().and(config.withhold.iter().map(String::as_str)),
            config,
        })
    }

    fn context<'d>(&self, disk: &'d Disk) -> Context<'d> {
        Context {
            cwd: self.cwd.clone(),
            home: self.home.clone(),
            ours: self.ours.clone(),
            secrets: self.secrets.clone(),
            ..Context::at(&self.root, disk)
        }
    }

    fn judge(&self, words: &[String]) -> Verdict {
        let form = match words {
            [text] => Form::Text(text.clone()),
            argv => Form::Argv(argv.to_vec()),
        };
        let effect = Effect::Exec { form, cwd: None, env: Vec::new() };
        let subject = Subject::new(vec![effect], Evidence::Structured);
        judge(&subject, &self.policy, self.mode, &self.context(&Disk))
    }

    fn many(&self, bytes: &[u8], out: &mut dyn Write) -> Result<u8, Problem> {
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        let mut strictest = 0;
        for command in bytes.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(command).into_owned();
            let shape = self.judge(&[text]).shape(&self.redactor);
            strictest = strictest.max(code(&shape));
            write(out, &format!("{}\n", json!(shape)))?;
        }
        Ok(strictest)
    }

    /// Judges the commands of a file and says which got another verdict than they must.
    fn file(&self, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<u8, Problem> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| {
            Problem::new(ProblemKind::User, format!("failed to read {}: {error}", path.display()))
        })?;
        let (mut right, mut wrong) = (0_usize, Vec::new());
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (wanted, rest) = line.split_once('\t').unwrap_or((line, ""));
            let command = rest.rsplit_once('\t').map_or(rest, |(_, command)| command).replace('⏎', "\n");
            if !["allow", "ask", "deny"].contains(&wanted) || command.is_empty() {
                let message =
                    format!("{}:{}: not `allow|ask|deny`, a tab and a command", path.display(), number + 1);
                return Err(Problem::new(ProblemKind::User, message));
            }
            let shape = self.judge(std::slice::from_ref(&command)).shape(&self.redactor);
            if shape.verdict == wanted {
                right += 1;
                continue;
            }
            let why = shape.reasons.first().map(|reason| reason.says.to_string()).unwrap_or_default();
            let shown = self.redactor.redact(&command.replace('\n', "⏎"));
            let (line, got) = (number + 1, shape.verdict);
            if !as_json {
                let place = path.display();
                write(out, &format!("{place}:{line}: {got} instead of {wanted}: {shown} ({why})\n"))?;
            }
            wrong.push(
                json!({ "line": line, "command": shown, "wanted": wanted, "verdict": got, "because": why }),
            );
        }
        let code = u8::from(!wrong.is_empty());
        let text = match as_json {
            true => pretty(&json!({ "right": right, "wrong": wrong })),
            false => format!("{right} as expected, {} not\n", wrong.len()),
        };
        write(out, &text)?;
        Ok(code)
    }
}

fn list(as_json: bool, out: &mut dyn Write) -> io::Result<u8> {
    let floors: Vec<_> = Floor::ALL
        .iter()
        .map(|floor| json!({ "floor": floor, "level": floor.level(), "says": floor.says() }))
        .collect();
    let places = [Class::Inside, Class::Control, Class::Outside, Class::Secret, Class::Ours];
    let effects = ["exec", "write", "read", "delete", "move", "fetch", "opaque"];
    let value = json!({ "effects": effects, "classes": Kind::ALL, "places": places, "floors": floors });
    if as_json {
        out.write_all(pretty(&value).as_bytes())?;
        return Ok(0);
    }
    let words = |value: &serde_json::Value| {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "effects  {}", words(&value["effects"]))?;
    writeln!(out, "classes  {}", words(&value["classes"]))?;
    writeln!(out, "places   {}", words(&value["places"]))?;
    for floor in &floors {
        let field = |name: &str| floor[name].as_str().unwrap_or_default().to_owned();
        writeln!(out, "floor    {:<4}  {:<13}  {}", field("level"), field("floor"), field("says"))?;
    }
    Ok(0)
}

impl Judging for Desk {
    fn judge(&self, subject: &Subject, scene: &Scene<'_>) -> Verdict {
        let mut context = self.context(&Disk);
        scene.cwd.clone_into(&mut context.cwd);
        context.roots = scene.roots.to_vec();
        judge(subject, &self.policy, self.config.mode(scene.agent, scene.mode), &context)
    }

    fn redact(&self, text: &str) -> Redacted {
        self.redactor.redact(text)
    }
}

/// Returns the files of a tool that are there.
fn usual(tool: Foreign, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for pattern in tool.files() {
        let path = home.join(pattern);
        let Some(ending) = pattern.rsplit_once("/*").map(|(_, ending)| ending) else {
            found.extend(path.exists().then_some(path));
            continue;
        };
        let entries = path.parent().and_then(|directory| std::fs::read_dir(directory).ok());
        let mut named: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending))
            .collect();
        named.sort();
        found.extend(named);
    }
    found
}

/// Prints the rules of another tool in our spelling. The exit code says whether everything could be carried over.
fn import(
    tool: Foreign,
    file: Option<&Path>,
    (bench, as_json): (&Bench<'_>, bool),
    out: &mut dyn Write,
) -> Result<u8, Problem> {
    let files = match file {
        Some(file) => vec![file.to_path_buf()],
        None => bench.home.as_deref().map(|home| usual(tool, home)).unwrap_or_default(),
    };
    if files.is_empty() {
        let problem =
            Problem::new(ProblemKind::User, format!("there is no ~/{}", tool.files().join(" or ~/")));
        return Err(problem.hint("name its file"));
    }
    let mut texts = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Problem::new(ProblemKind::User, format!("failed to read {name}: {error}")))?;
        texts.push((name, text));
    }
    let imported = tool.import_all(&texts).map_err(|why| Problem::new(ProblemKind::User, why))?;
    let policy = imported.toml();
    if as_json {
        let shape = json!({ "policy": policy, "carried": imported.rules.len(), "left": imported.left });
        write(out, &pretty(&shape))?;
    } else {
        let from: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
        write(out, &format!("# from {}\n{policy}", from.join(", ")))?;
    }
    Ok(u8::from(!imported.left.is_empty()))
}

/// Reads a file of rules.
fn read(path: &Path) -> Result<Written, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::new(ProblemKind::User, format!("failed to read {}: {error}", path.display()))
    })?;
    Written::parse(&path.display().to_string(), &text).map_err(|error| Problem {
        kind: ProblemKind::Config,
        message: error.to_string(),
        hint: error.hint,
    })
}

/// Reads the repository's own file.
fn project(root: &Path) -> Result<Option<Written>, Problem> {
    let path = root.join(PROJECT_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("failed to read {}: {error}", path.display());
            return Err(Problem::new(ProblemKind::Config, message));
        }
    };
    let parsed = Written::parse(&path.display().to_string(), &text);
    parsed.map(Some).map_err(|error| Problem {
        kind: ProblemKind::Config,
        message: error.to_string(),
        hint: error.hint,
    })
}

/// A key for fingerprints that are only compared within one answer.
fn chance() -> [u8; 32] {
    let mut key = [0; 32];
    if let Ok(mut file) = std::fs::File::open("/dev/urandom") {
        // Without chance the fingerprints are merely guessable.
        let _ = file.read_exact(&mut key);
    }
    key
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn code(shape: &VerdictShape) -> u8 {
    match shape.verdict {
        "allow" => 0,
        "deny" => 3,
        _ => 1,
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn write(out: &mut dyn Write, text: &str) -> Result<(), Problem> {
    match out.write_all(text.as_bytes()) {
        // The reader of our output went away: it has what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(&error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unwritten(error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("failed to write the answer: {error}"))
}
