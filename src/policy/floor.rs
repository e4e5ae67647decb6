//! What no rule, grant or judge may allow: built-in prohibitions and questions, looked for in everything a text may reach.

use super::arg::{Arg, Known, star, unveiled};
use super::place::{Class, Context, Located, normal};
use super::plan::{Redirect, Word};
use super::reach::{INTERPRETERS, Invocation, Reach, SHELLS, is_assignment, is_unknown, shown};
use std::cell::Cell;
use std::collections::BTreeSet;

/// How strong a floor is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// None was met.
    #[default]
    None,
    /// A person must be asked.
    Ask,
    /// It is denied.
    Deny,
}

/// A floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    /// Another user's rights.
    Privilege,
    /// Fetched or decoded data run as code.
    ForeignCode,
    /// A secret is read or named.
    Secret,
    /// A write beneath no root.
    WriteOutside,
    /// A write to what decides how programs behave.
    Control,
    /// A variable or setting that changes what programs run.
    Environment,
    /// A socket opened by the shell.
    Socket,
    /// The loss of the top, the home, a root, what holds one, or a repository.
    Destruction,
    /// A raw device.
    Device,
    /// A fork bomb.
    ForkBomb,
    /// A shell wired to a socket.
    RemoteShell,
    /// A secret and the network in one command.
    Exfiltration,
    /// Our own state, configuration or decisions.
    OwnState,
}

impl Floor {
    /// Every floor.
    pub const ALL: [Self; 13] = [
        Self::Privilege,
        Self::ForeignCode,
        Self::Secret,
        Self::WriteOutside,
        Self::Control,
        Self::Environment,
        Self::Socket,
        Self::Destruction,
        Self::Device,
        Self::ForkBomb,
        Self::RemoteShell,
        Self::Exfiltration,
        Self::OwnState,
    ];

    /// Returns how strong it is.
    pub fn level(self) -> Level {
        match self {
            Self::Privilege
            | Self::ForeignCode
            | Self::Secret
            | Self::WriteOutside
            | Self::Control
            | Self::Environment
            | Self::Socket => Level::Ask,
            Self::Destruction
            | Self::Device
            | Self::ForkBomb
            | Self::RemoteShell
            | Self::Exfiltration
            | Self::OwnState => Level::Deny,
        }
    }

    /// Returns what it is about, for people.
    pub fn says(self) -> &'static str {
        match self {
            Self::Privilege => "takes another user's rights",
            Self::ForeignCode => "runs fetched or decoded data as code",
            Self::Secret => "touches a file of secrets",
            Self::WriteOutside => "writes outside the workspace",
            Self::Control => "writes what decides how git, editors or agents behave",
            Self::Environment => "changes which programs run, through a variable or a setting",
            Self::Socket => "opens a network socket from the shell",
            Self::Destruction => "deletes or rewrites everything under a precious directory",
            Self::Device => "writes a raw device",
            Self::ForkBomb => "is a fork bomb",
            Self::RemoteShell => "wires a shell to a socket",
            Self::Exfiltration => "reads a secret and talks to the network",
            Self::OwnState => "touches hunkgate's own state, configuration or decisions",
        }
    }
}

/// A floor that was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Which.
    pub floor: Floor,
    /// The simple command that met it, counted in the plan.
    pub part: Option<usize>,
    /// What in it, for people; not redacted.
    pub about: String,
}

/// How often the file system is asked about one text.
const LOOKS: usize = 2000;

/// Finds the floors that a text meets.
pub(crate) fn floors(reach: &Reach, context: &Context<'_>) -> Vec<Met> {
    let mut finder = Finder {
        reach,
        context,
        places: Places::of(reach, context),
        precious: context.precious(),
        looks: Cell::new(0),
        met: Vec::new(),
    };
    for (part, simple) in reach.plan.simple.iter().enumerate() {
        for assign in &simple.assigns {
            finder.variable(&assign.name, part);
        }
        for redirect in &simple.redirects {
            finder.redirect(redirect, part);
        }
    }
    for invocation in &reach.invocations {
        finder.invocation(invocation);
    }
    finder.together();
    finder.met.sort_by(|a, b| (b.floor.level(), a.part, a.floor).cmp(&(a.floor.level(), b.part, b.floor)));
    finder.met.dedup();
    finder.met
}

/// Every directory in which a command may work.
struct Places {
    all: Vec<String>,
}

impl Places {
    fn of(reach: &Reach, context: &Context<'_>) -> Self {
        let mut all = vec![context.cwd.clone()];
        let moves = reach.named(&["cd", "pushd", "chdir"]).flat_map(|it| targets(it, context));
        let moves: BTreeSet<String> = moves.filter(|text| !is_unknown(text)).collect();
        for _ in 0..4 {
            for text in &moves {
                for at in 0..all.len() {
                    let located = context.locate(&all[at], text);
                    for place in [Some(located.asked), located.real].into_iter().flatten() {
                        if all.len() < 48 && !all.contains(&place) {
                            all.push(place);
                        }
                    }
                }
            }
        }
        Self { all }
    }
}

/// Returns where a `cd` may lead.
fn targets(invocation: &Invocation, context: &Context<'_>) -> Vec<String> {
    let operands: Vec<&Arg> = invocation.argv[1..].iter().filter(|arg| !arg.is_option()).collect();
    if operands.is_empty() {
        return context.home.iter().cloned().collect();
    }
    operands.iter().flat_map(|arg| arg.texts()).collect()
}

struct Finder<'r> {
    reach: &'r Reach,
    context: &'r Context<'r>,
    places: Places,
    precious: Vec<String>,
    looks: Cell<usize>,
    met: Vec<Met>,
}

impl Finder<'_> {
    fn meet(&mut self, floor: Floor, part: usize, about: impl Into<String>) {
        self.met.push(Met { floor, part: Some(part), about: shown(&about.into()) });
    }

    /// Returns what a path means in every place where the command may work.
    fn located(&self, path: &str) -> Vec<Located> {
        let path = unveiled(path);
        if is_unknown(&path) || path.is_empty() {
            return Vec::new();
        }
        let places: &[String] = if path.starts_with('/') { &self.places.all[..1] } else { &self.places.all };
        let look = |place: &String| {
            self.looks.set(self.looks.get() + 1);
            if self.looks.get() > LOOKS || path.len() > 4096 {
                let asked = normal(&format!("{place}/{path}"));
                let class = if self.context.is_secret(&asked) { Class::Secret } else { Class::Inside };
                return Located { asked, real: None, class };
            }
            self.context.locate(place, &path)
        };
        places.iter().map(look).collect()
    }

    fn worst(&self, path: &str) -> Option<Class> {
        self.located(path).into_iter().map(|it| it.class).max()
    }

    // ── redirects and variables ──

    fn redirect(&mut self, redirect: &Redirect, part: usize) {
        let descriptor = |text: &str| text.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        let writes = match redirect.operator {
            ">" | ">>" | ">|" | "<>" | "&>" | "&>>" => true,
            ">&" => !redirect.target.fixed().is_some_and(|text| descriptor(&text)),
            "<" => false,
            _ => return,
        };
        for text in words(&redirect.target, &self.reach.known) {
            if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
                self.socket(&text, part);
            } else if writes {
                self.write(&text, part);
            } else {
                self.secret(&text, part);
            }
        }
    }

    fn socket(&mut self, text: &str, part: usize) {
        let shell = self.reach.invocations.iter().any(|it| {
            it.part == part
                && (it.argv[0].names_any(SHELLS) || it.argv[0].names_any(&["exec", "nohup", "setsid"]))
        });
        self.meet(if shell { Floor::RemoteShell } else { Floor::Socket }, part, text);
    }

    fn write(&mut self, text: &str, part: usize) {
        const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];
        if HARMLESS.contains(&text) || text.starts_with("/dev/fd/") {
            return;
        }
        let devices = self
            .located(text)
            .iter()
            .any(|it| is_device(&it.asked) || it.real.as_deref().is_some_and(is_device));
        if devices {
            return self.meet(Floor::Device, part, text);
        }
        let Some(class) = self.worst(text) else { return };
        let floor = match class {
            Class::Inside => return,
            Class::Control => Floor::Control,
            Class::Outside => Floor::WriteOutside,
            Class::Secret => Floor::Secret,
            Class::Ours => Floor::OwnState,
        };
        self.meet(floor, part, text);
    }

    fn variable(&mut self, name: &str, part: usize) {
        if changes_execution(name) {
            self.meet(Floor::Environment, part, name);
        }
        if name.starts_with("HUNKGATE_") {
            self.meet(Floor::OwnState, part, name);
        }
    }

    // ── one command ──

    fn invocation(&mut self, it: &Invocation) {
        let first = &it.argv[0];
        if first.names_any(&["sudo", "doas", "su", "pkexec", "run0", "gosu", "su-exec", "runuser"]) {
            self.meet(Floor::Privilege, it.part, first.text());
        }
        if first
            .names_any(&["env", "export", "declare", "typeset", "local", "readonly", "setenv", "sudo", "set"])
        {
            for text in it.argv[1..].iter().flat_map(Arg::texts).filter(|text| is_assignment(text)) {
                let name = text.split('=').next().unwrap_or_default().to_owned();
                self.variable(&name, it.part);
            }
        }
        self.destruction(it);
        self.devices(it);
        self.writers(it);
        if it.whole {
            self.readers(it);
        }
        self.remote_shell(it);
        self.own(it);
        if first.names("git") {
            self.git(it);
        }
    }

    fn destruction(&mut self, it: &Invocation) {
        let first = &it.argv[0];
        let clusters = |letters: &[char], long: &str| {
            it.argv[1..].iter().flat_map(Arg::texts).any(|text| match text.strip_prefix("--") {
                Some(name) => name.len() > 2 && long.starts_with(name.split('=').next().unwrap_or(name)),
                None => text.starts_with('-') && text.contains(letters),
            })
        };
        let recursive = (first.names_any(&["rm", "grm", "srm"]) && clusters(&['r', 'R'], "recursive"))
            || (first.names_any(&["chmod", "chown", "chgrp", "gchmod", "gchown"])
                && clusters(&['R'], "recursive"))
            || first.names_any(&["rimraf", "Remove-Item"])
            || (first.names("git")
                && it.argv.get(1).is_some_and(|arg| arg.names("rm"))
                && clusters(&['r'], "recursive"))
            || (first.names_any(&["find", "gfind", "bfs"]) && finds_all(it));
        if !recursive {
            return;
        }
        let stop = first.names_any(&["find", "gfind", "bfs"]);
        let operands =
            it.argv[1..].iter().take_while(|arg| !stop || !arg.is_option()).filter(|arg| !arg.is_option());
        let mut texts: Vec<String> =
            operands.flat_map(|arg| arg.patterns().map(str::to_owned).collect::<Vec<_>>()).collect();
        if stop && texts.is_empty() {
            texts.push(".".to_owned());
        }
        for text in texts {
            if self.is_precious(&text) {
                self.meet(Floor::Destruction, it.part, text);
            }
        }
    }

    /// Says whether a pattern may stand for a precious directory, or for all that is in one.
    fn is_precious(&self, pattern: &str) -> bool {
        if is_unknown(pattern) || pattern.is_empty() {
            return false;
        }
        let absolute = pattern.starts_with('/');
        let mut parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        while parts.last().is_some_and(|last| is_broad(last)) {
            parts.pop();
        }
        if parts.iter().any(|part| star(part, ".git")) && !is_broad(parts.first().unwrap_or(&"")) {
            return true;
        }
        let rest = parts.join("/");
        let places: &[String] = if absolute { &self.places.all[..1] } else { &self.places.all };
        places.iter().any(|place| {
            let path = if absolute { format!("/{rest}") } else { format!("{place}/{rest}") };
            let path = normal(&path);
            let real = if path.contains(['*', '?', '[']) {
                None
            } else {
                self.context.ground.real(&unveiled(&path))
            };
            self.precious.iter().any(|precious| same(&path, precious) || real.as_deref() == Some(precious))
        })
    }

    fn devices(&mut self, it: &Invocation) {
        const TOOLS: &[&str] = &[
            "mke2fs",
            "mkswap",
            "wipefs",
            "fdisk",
            "sfdisk",
            "cfdisk",
            "gdisk",
            "sgdisk",
            "parted",
            "blkdiscard",
            "cryptsetup",
            "badblocks",
            "hdparm",
            "diskutil",
            "shred",
            "newfs",
        ];
        let first = &it.argv[0];
        let makes =
            first.texts().any(|text| text.rsplit('/').next().is_some_and(|name| name.starts_with("mkfs")));
        let tool = makes || first.names_any(TOOLS);
        for text in it.argv[1..].iter().flat_map(Arg::texts) {
            let path = text.strip_prefix("of=").unwrap_or(&text);
            let writes = tool
                || text.starts_with("of=")
                || first.names_any(&["tee", "cp", "mv", "rm", "ln", "chmod", "chown"]);
            let device = is_device(&normal(path)) && path.starts_with('/');
            let any = tool && makes && path.starts_with("/dev/");
            if writes && (device || any) {
                self.meet(Floor::Device, it.part, text.clone());
            }
        }
    }

    fn writers(&mut self, it: &Invocation) {
        for text in super::writers::written(it) {
            self.write(&text, it.part);
        }
    }

    /// Secrets and our own files, named by any argument.
    fn readers(&mut self, it: &Invocation) {
        let first = &it.argv[0];
        if first.names_any(&["echo", "printf", "print", "true", "false", "test", "["]) {
            return;
        }
        let searches = first.names_any(&["grep", "egrep", "fgrep", "rg", "ag", "ack"]);
        let explicit = it.argv[1..]
            .iter()
            .any(|arg| arg.texts().any(|text| text.starts_with("-e") || text.starts_with("-f")));
        let mut pattern = searches && !explicit;
        let mut message = false;
        for arg in &it.argv[1..] {
            let skipped = message || (pattern && !arg.is_option());
            pattern &= arg.is_option();
            message = first.names("git") && matches!(arg.text().as_str(), "-m" | "--message" | "-am");
            if skipped {
                continue;
            }
            for text in arg.patterns() {
                self.secret(text, it.part);
            }
        }
    }

    fn secret(&mut self, text: &str, part: usize) {
        let mut pieces = vec![text];
        for mark in ['=', '@', ':', '<'] {
            pieces.extend(text.match_indices(mark).map(|(at, mark)| &text[at + mark.len()..]).take(4));
            pieces.extend(text.split(mark).take(1));
        }
        pieces.sort_unstable();
        pieces.dedup();
        for piece in pieces {
            let name = piece.rsplit('/').next().unwrap_or(piece);
            if matches_secret(name) {
                self.meet(Floor::Secret, part, text);
            }
            match self.worst(piece) {
                Some(Class::Ours) => self.meet(Floor::OwnState, part, text),
                Some(Class::Secret) => self.meet(Floor::Secret, part, text),
                Some(Class::Inside | Class::Control | Class::Outside) | None => {}
            }
        }
    }

    fn remote_shell(&mut self, it: &Invocation) {
        let first = &it.argv[0];
        let texts: Vec<String> = it.argv[1..].iter().flat_map(Arg::texts).collect();
        if first.names_any(&["nc", "ncat", "netcat"]) {
            let runs = texts.iter().any(|text| {
                text.starts_with("--exec")
                    || text.starts_with("--sh-exec")
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'c']))
            });
            let beside = self.reach.invocations.iter().any(|other| {
                let pipeline = |part: usize| self.reach.plan.simple[part].pipeline;
                other.part != it.part
                    && pipeline(other.part) == pipeline(it.part)
                    && other.argv[0].names_any(SHELLS)
            });
            if runs || beside {
                self.meet(Floor::RemoteShell, it.part, first.text());
            }
        }
        if first.names("socat")
            && texts.iter().any(|text| {
                let text = text.to_ascii_lowercase();
                text.contains("exec:") || text.contains("system:")
            })
        {
            self.meet(Floor::RemoteShell, it.part, first.text());
        }
        let code = texts.join(" ");
        let runs = ["pty", "dup2", "subprocess", "/bin/sh", "/bin/bash", "exec", "system", "spawn"];
        let wired =
            code.to_ascii_lowercase().contains("socket") && runs.iter().any(|word| code.contains(word));
        if first.names_any(INTERPRETERS) && wired {
            self.meet(Floor::RemoteShell, it.part, first.text());
        }
    }

    fn own(&mut self, it: &Invocation) {
        const DECIDING: &[&str] = &[
            "accept", "reject", "undo", "redo", "rebase", "approve", "deny", "grants", "gate", "resolve",
            "delete", "web", "reload",
        ];
        let texts: Vec<String> = it.argv[1..].iter().flat_map(Arg::texts).collect();
        let decides =
            it.argv[0].names("hunkgate") && texts.iter().any(|text| DECIDING.contains(&text.as_str()));
        if decides || texts.iter().any(|text| text.contains("refs/hunkgate")) {
            self.meet(Floor::OwnState, it.part, it.argv[0].text());
        }
    }

    /// Settings that make git run programs.
    fn git(&mut self, it: &Invocation) {
        let texts: Vec<String> = it.argv[1..].iter().map(Arg::text).collect();
        for (at, text) in texts.iter().enumerate() {
            let setting = match text.as_str() {
                "-c" | "--config" => texts.get(at + 1).map(String::as_str),
                _ => text
                    .strip_prefix("-c")
                    .filter(|rest| rest.contains('='))
                    .or_else(|| text.strip_prefix("--config=")),
            };
            let runs = [
                "--exec-path=",
                "--config-env",
                "--template",
                "--upload-pack",
                "--receive-pack",
                "--textconv",
                "--ext-diff",
            ];
            if setting.is_some_and(|setting| !is_harmless_setting(setting))
                || runs.iter().any(|it| text.starts_with(it))
            {
                self.meet(Floor::Environment, it.part, text.clone());
            }
        }
        if texts.first().is_some_and(|text| text == "config") {
            let reads =
                ["--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list", "--show-origin"];
            let operands: Vec<&String> = texts[1..].iter().filter(|text| !text.starts_with('-')).collect();
            let reading = texts.iter().any(|text| reads.contains(&text.as_str())) || operands.len() < 2;
            let edits = texts.iter().any(|text| matches!(text.as_str(), "-e" | "--edit" | "edit"));
            if edits || (!reading && !operands.iter().any(|key| is_harmless_setting(key))) {
                self.meet(Floor::Control, it.part, "git config");
            }
        }
    }

    // ── what is harmful only together ──

    fn together(&mut self) {
        const FETCHERS: &[&str] =
            &["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lwp-request", "GET", "lynx"];
        const DECODERS: &[&str] = &["base64", "base32", "xxd", "openssl", "uudecode", "gbase64"];
        const SINKS: &[&str] = &[
            "curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "rsync", "ftp", "lftp",
            "telnet", "http", "https", "xh", "nslookup", "dig", "host", "drill", "ping", "sendmail", "mail",
            "mutt", "rclone", "aws", "gsutil",
        ];
        let first = |names: &[&str]| self.reach.named(names).next().map(|it| it.part);
        let runs = first(SHELLS).or_else(|| first(INTERPRETERS)).or_else(|| first(&["eval", "source", "."]));
        let foreign = first(FETCHERS).or_else(|| first(DECODERS));
        let sink = first(SINKS)
            .or_else(|| self.met.iter().find(|met| met.floor == Floor::Socket).and_then(|met| met.part));
        let dumps = self.reach.invocations.iter().find(|it| {
            it.argv[0].names("printenv")
                || (it.argv.len() == 1 && it.argv[0].names_any(&["env", "set", "export"]))
        });
        let secret = self
            .met
            .iter()
            .find(|met| met.floor == Floor::Secret && !self.is_credential(met))
            .and_then(|met| met.part);
        let secret = secret.or(dumps.map(|it| it.part));
        if let (Some(_), Some(part)) = (runs, foreign) {
            self.meet(Floor::ForeignCode, part, "");
        }
        if let (Some(_), Some(part)) = (sink, secret) {
            self.meet(Floor::Exfiltration, part, "");
        }
        self.fork_bomb();
    }

    /// `ssh -i KEY` and `curl --cert FILE` use a secret as what it is for.
    fn is_credential(&self, met: &Met) -> bool {
        let uses = |it: &Invocation| {
            let options: &[&str] = if it.argv[0].names_any(&["ssh", "scp", "sftp", "ssh-add"]) {
                &["-i"]
            } else if it.argv[0].names("curl") {
                &["--cert", "-E", "--key", "--cacert", "--netrc-file"]
            } else {
                return false;
            };
            it.argv
                .windows(2)
                .any(|pair| options.contains(&pair[0].text().as_str()) && shown(&pair[1].text()) == met.about)
        };
        self.reach.invocations.iter().any(|it| Some(it.part) == met.part && uses(it))
    }

    fn fork_bomb(&mut self) {
        for name in &self.reach.plan.functions {
            let mut pipelines: Vec<usize> = Vec::new();
            for simple in &self.reach.plan.simple {
                if simple.words.first().is_some_and(|word| word.raw == *name) {
                    if pipelines.contains(&simple.pipeline) {
                        self.met.push(Met { floor: Floor::ForkBomb, part: None, about: name.clone() });
                        return;
                    }
                    pipelines.push(simple.pipeline);
                }
            }
        }
    }
}

fn words(word: &Word, known: &Known) -> Vec<String> {
    Arg::of(word, known).iter().flat_map(|arg| arg.texts().collect::<Vec<_>>()).collect()
}

/// Says whether a pattern stands for practically every name.
fn is_broad(pattern: &str) -> bool {
    let mut bare = String::new();
    let mut inside = false;
    for c in pattern.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => bare.push(c),
            _ => {}
        }
    }
    pattern.contains('*') && bare.chars().all(|c| matches!(c, '*' | '?' | '.'))
}

/// Compares a path with patterns in its components to a path without.
fn same(pattern: &str, path: &str) -> bool {
    let mut patterns = pattern.split('/');
    let mut parts = path.split('/');
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(part)) if pattern == part || star(pattern, part) => {}
            _ => return false,
        }
    }
}

/// Says whether a `find` deletes what it finds and leaves nothing out.
fn finds_all(it: &Invocation) -> bool {
    let texts: Vec<String> = it.argv[1..].iter().map(Arg::text).collect();
    let deletes = texts.iter().any(|text| text == "-delete")
        || texts.iter().any(|text| {
            matches!(text.rsplit('/').next(), Some("rm" | "shred" | "unlink" | "chmod" | "chown"))
        });
    const TESTS: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-empty",
        "-size",
        "-mtime",
        "-mmin",
        "-newer",
        "-user",
        "-group",
        "-perm",
        "-atime",
        "-ctime",
        "-cmin",
        "-amin",
        "-lname",
        "-inum",
        "-links",
    ];
    deletes && !texts.iter().any(|text| TESTS.contains(&text.as_str()))
}

fn is_device(path: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "loop", "nbd",
        "mem", "kmem", "port",
    ];
    path.strip_prefix("/dev/").is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Says whether a variable decides which programs run or what they load.
pub(crate) fn changes_execution(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "NODE_OPTIONS",
        "NODE_PATH",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC",
        "RUSTFLAGS",
        "RUBYOPT",
        "RUBYLIB",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS4",
        "CDPATH",
        "SHELL",
        "LESSOPEN",
        "LESSCLOSE",
        "MANPAGER",
        "BROWSER",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "CLASSPATH",
        "GOFLAGS",
        "HOME",
        "ZDOTDIR",
        "RIPGREP_CONFIG_PATH",
        "MAKEFLAGS",
        "TERMINFO",
        "XDG_CONFIG_HOME",
    ];
    const PREFIXES: &[&str] = &[
        "LD_",
        "DYLD_",
        "GIT_",
        "PYTHON",
        "PERL5",
        "BASH_FUNC_",
        "npm_config_",
        "CARGO_TARGET_",
        "CARGO_BUILD_",
        "SSH_",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Says whether a git setting, as `key` or `key=value`, changes only how things look or whose name they bear.
fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    let key = setting.split('=').next().unwrap_or_default();
    const KEYS: &[&str] =
        &["core.quotepath", "advice.detachedhead", "init.defaultbranch", "pull.rebase", "core.autocrlf"];
    key.starts_with("color.")
        || key.starts_with("advice.")
        || matches!(key, "user.name" | "user.email")
        || KEYS.contains(&key)
        || matches!(
            setting.as_str(),
            "core.pager=cat" | "core.pager=" | "commit.gpgsign=false" | "tag.gpgsign=false"
        )
}

/// Says whether a pattern that is not `*` alone may stand for the name of a file of secrets.
fn matches_secret(pattern: &str) -> bool {
    const NAMES: &[&str] = &[
        ".env",
        ".env.local",
        ".env.production",
        "id_rsa",
        "id_ed25519",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "credentials",
        "credentials.json",
        "server.pem",
        "server.key",
        ".git-credentials",
        "secrets.json",
        "secrets.yml",
    ];
    pattern.contains(['*', '?', '['])
        && (pattern.starts_with('.') || !is_broad(pattern))
        && NAMES
            .iter()
            .any(|name| star(pattern, name) && (pattern.starts_with('.') || !name.starts_with('.')))
}

/// Returns every argument and redirect target of a text as a path, in every place where its command may work.
pub(crate) fn named_paths(reach: &Reach, context: &Context<'_>) -> Vec<(Located, usize, String)> {
    let finder = Finder {
        reach,
        context,
        places: Places::of(reach, context),
        precious: Vec::new(),
        looks: Cell::new(0),
        met: Vec::new(),
    };
    let mut named: Vec<(String, usize)> = Vec::new();
    for (part, simple) in reach.plan.simple.iter().enumerate() {
        named.extend(
            simple.redirects.iter().flat_map(|it| words(&it.target, &reach.known)).map(|text| (text, part)),
        );
    }
    for it in reach.invocations.iter().filter(|it| it.whole) {
        for text in it.argv[1..].iter().flat_map(Arg::texts) {
            named.extend(
                text.match_indices(['=', '@', ':'])
                    .take(4)
                    .map(|(at, _)| (text[at + 1..].to_owned(), it.part)),
            );
            named.push((text, it.part));
        }
    }
    named.sort();
    named.dedup();
    let located = |(text, part): (String, usize)| {
        finder.located(&text).into_iter().map(|it| (it, part, text.clone())).collect::<Vec<_>>()
    };
    named.into_iter().flat_map(located).collect()
}
