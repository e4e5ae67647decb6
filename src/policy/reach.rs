//! Everything that a shell text may lead to: commands behind wrappers, scripts handed to shells, commands handed to tools.
//!
//! It errs to the wide side: what it finds is looked at by the floors and by rules that ask or deny, never by one that allows.

use super::arg::{Arg, Known, UNKNOWN, unveiled};
use super::place::Context;
use super::plan::{Plan, Simple};
use super::shell::{Work, read_into};
use std::collections::BTreeSet;

/// Shells.
pub(crate) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "yash", "pwsh"];
/// Programs that run code that they are given.
pub(crate) const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "osascript",
    "tclsh",
    "Rscript",
    "julia",
    "awk",
    "gawk",
    "mawk",
    "nawk",
];
/// Wrappers of which only the outline is known: a command may begin at any of their arguments.
const LOOSE: &[&str] = &[
    "strace",
    "ltrace",
    "chroot",
    "unshare",
    "nsenter",
    "systemd-run",
    "dbus-run-session",
    "setpriv",
    "runuser",
    "pkexec",
    "run0",
    "winpty",
    "proxychains",
    "proxychains4",
    "torsocks",
    "prlimit",
    "numactl",
    "firejail",
    "bwrap",
    "chrt",
    "taskset",
    "caffeinate",
    "flock",
    "unbuffer",
    "rlwrap",
    "fakeroot",
    "parallel",
    "entr",
    "fd",
    "fdfind",
    "docker",
    "podman",
    "kubectl",
    "nix",
    "nix-shell",
    "mise",
    "asdf",
    "direnv",
    "op",
    "dotenv",
    "npx",
    "bunx",
    "uvx",
    "uv",
    "poetry",
    "pdm",
    "pipx",
    "hatch",
    "rye",
    "npm",
    "pnpm",
    "yarn",
    "watch",
    "arch",
    "gdb",
    "lldb",
    "valgrind",
    "perf",
    "time",
    "busybox",
    "toybox",
    "coproc",
    "noglob",
    "nocorrect",
    "script",
    "su",
    "screen",
    "tmux",
    "at",
    "batch",
    "sem",
    "xvfb-run",
    "hyperfine",
    "gosu",
    "su-exec",
    "dumb-init",
    "tini",
    "start-stop-daemon",
    "eatmydata",
    "tsp",
    "cpulimit",
];
/// Commands behind wrappers that are kept with all their arguments, and how many arguments the others keep.
const CHAIN: usize = 16;
const SHORT: usize = 8;

/// A wrapper whose options are known.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options without a value.
    flags: &'static str,
    /// Short options with one.
    values: &'static str,
    /// Long options with a value in the next word.
    long: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo"],
        flags: "AbBEeHiKklnPSsVv",
        values: "CDgHhpRrTtUu",
        long: &["--user", "--group", "--chdir", "--prompt", "--host"],
        operands: 0,
    },
    Wrapper { names: &["doas"], flags: "Lns", values: "Cu", long: &[], operands: 0 },
    Wrapper {
        names: &["env"],
        flags: "0iv",
        values: "CuPS",
        long: &["--unset", "--chdir", "--split-string"],
        operands: 0,
    },
    Wrapper { names: &["nice"], flags: "0123456789", values: "n", long: &["--adjustment"], operands: 0 },
    Wrapper { names: &["ionice"], flags: "t", values: "cn", long: &["--class", "--classdata"], operands: 0 },
    Wrapper { names: &["nohup", "builtin"], flags: "", values: "", long: &[], operands: 0 },
    Wrapper { names: &["setsid"], flags: "cfw", values: "", long: &[], operands: 0 },
    Wrapper { names: &["command"], flags: "pvV", values: "", long: &[], operands: 0 },
    Wrapper { names: &["exec"], flags: "cl", values: "a", long: &[], operands: 0 },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: "v",
        values: "ks",
        long: &["--signal", "--kill-after"],
        operands: 1,
    },
    Wrapper {
        names: &["stdbuf"],
        flags: "",
        values: "ioe",
        long: &["--input", "--output", "--error"],
        operands: 0,
    },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: "0optrx",
        values: "adEILnPsJRS",
        long: &[
            "--max-args",
            "--max-procs",
            "--replace",
            "--delimiter",
            "--arg-file",
            "--max-lines",
            "--max-chars",
        ],
        operands: 0,
    },
];

/// One command with its arguments, as it may be run.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// The command and its arguments; never empty.
    pub(crate) argv: Vec<Arg>,
    /// The simple command it comes from.
    pub(crate) part: usize,
    /// Whether its arguments stand in no other invocation.
    pub(crate) whole: bool,
}

/// What a text may lead to.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The text and every script found in it.
    pub(crate) plan: Plan,
    /// How many of the simple commands are the text's own.
    pub(crate) own: usize,
    /// Everything that may be run.
    pub(crate) invocations: Vec<Invocation>,
    /// What variables are known to hold.
    pub(crate) known: Known,
}

impl Reach {
    /// Follows a text.
    pub(crate) fn of(text: &str, context: &Context<'_>) -> Self {
        let mut work = Work::new(text.len());
        read_into(text, 0, &mut work);
        let own = work.plan.simple.len();
        let mut follow = Follow {
            known: Known::of(&work.plan, context.home.as_deref(), &context.cwd),
            work,
            invocations: Vec::new(),
            scripts: Vec::new(),
            from_stdin: false,
        };
        let mut at = follow.all(0);
        if follow.from_stdin {
            follow.data();
            at = follow.all(at);
        }
        debug_assert_eq!(at, follow.work.plan.simple.len(), "every command was followed");
        follow.fed();
        let known = Known::of(&follow.work.plan, context.home.as_deref(), &context.cwd);
        Self { plan: follow.work.plan, own, invocations: follow.invocations, known }
    }

    /// Returns the invocations of these commands.
    pub(crate) fn named<'r>(&'r self, names: &'r [&'r str]) -> impl Iterator<Item = &'r Invocation> {
        self.invocations.iter().filter(move |it| it.argv[0].names_any(names))
    }
}

/// A text being followed.
struct Follow {
    work: Work,
    known: Known,
    invocations: Vec<Invocation>,
    /// Scripts found in the command at hand.
    scripts: Vec<String>,
    /// Whether a shell may read what others write.
    from_stdin: bool,
}

impl Follow {
    /// Follows every command from `at` on, also those that turn up meanwhile.
    fn all(&mut self, mut at: usize) -> usize {
        while at < self.work.plan.simple.len() {
            let simple = std::mem::take(&mut self.work.plan.simple[at]);
            self.simple(&simple, at);
            let depth = simple.depth + 1;
            self.work.plan.simple[at] = simple;
            for script in std::mem::take(&mut self.scripts) {
                self.read(&script, depth);
            }
            at += 1;
        }
        at
    }

    fn read(&mut self, script: &str, depth: usize) {
        let before = self.work.plan.simple.len();
        read_into(script, depth, &mut self.work);
        self.known.learn(&self.work.plan.simple[before..]);
    }

    fn simple(&mut self, simple: &Simple, part: usize) {
        let argv: Vec<Arg> = simple.words.iter().flat_map(|word| Arg::of(word, &self.known)).collect();
        if argv.is_empty() {
            return;
        }
        let (mut start, mut steps, mut seen) = (0, 0, BTreeSet::new());
        while let Some(next) = self.unwrap(&argv[start..], part) {
            if next == 0 || start + next >= argv.len() {
                break;
            }
            let kept = kept(&argv[start..], steps);
            if steps < CHAIN || seen.insert(kept.clone()) {
                self.run(kept, part);
            }
            steps += 1;
            start += next;
        }
        self.run(argv[start..].to_vec(), part);
        if let Some(outermost) =
            self.invocations.iter_mut().rev().find(|it| it.part == part && it.argv.len() == argv.len())
        {
            outermost.whole = true;
        }
    }

    /// Returns where the wrapped command begins, when the command is a wrapper that is understood.
    fn unwrap(&mut self, argv: &[Arg], part: usize) -> Option<usize> {
        let first = argv.first()?;
        if let Some(wrapper) = WRAPPERS.iter().find(|it| first.names_any(it.names)) {
            return match wrapper.command(argv) {
                Some(at) => Some(at),
                None => {
                    self.anywhere(argv, part);
                    None
                }
            };
        }
        if first.names_any(LOOSE) {
            self.anywhere(argv, part);
        }
        None
    }

    /// A command may begin at any argument.
    fn anywhere(&mut self, argv: &[Arg], part: usize) {
        for (count, at) in (1..argv.len()).filter(|at| !argv[*at].is_option()).enumerate() {
            self.run(kept(&argv[at..], count), part);
        }
        let words: Vec<String> = argv[1..].iter().map(Arg::text).collect();
        self.scripts.extend(words.iter().filter(|word| word.contains([' ', ';', '|', '&'])).cloned());
    }

    fn run(&mut self, argv: Vec<Arg>, part: usize) {
        let Some(first) = argv.first() else { return };
        if first.names_any(SHELLS) {
            self.shell(&argv);
        } else if first.names_any(INTERPRETERS) {
            self.code(&argv);
        } else {
            self.tool(&argv, part);
        }
        self.hooks(&argv);
        self.invocations.push(Invocation { argv, part, whole: false });
    }

    fn shell(&mut self, argv: &[Arg]) {
        let inline = argv[1..].iter().any(|arg| {
            arg.texts().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
        });
        let operands = || argv[1..].iter().filter(|arg| !arg.is_option());
        if inline {
            self.scripts.extend(operands().flat_map(Arg::texts));
            return;
        }
        let reads_stdin = operands().all(|arg| {
            arg.texts()
                .any(|text| matches!(text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
        });
        let asks = argv[1..].iter().any(|arg| arg.texts().any(|text| text == "-s"));
        self.from_stdin |= reads_stdin || asks;
    }

    /// Strings in code that runs commands are scripts.
    fn code(&mut self, argv: &[Arg]) {
        const RUNS: &[&str] =
            &["system", "exec", "spawn", "popen", "subprocess", "`", "qx", "| \"", "|\"", "getline"];
        for text in argv[1..].iter().flat_map(Arg::texts) {
            if RUNS.iter().any(|word| text.contains(word)) {
                for quote in ['"', '\'', '`'] {
                    self.scripts.extend(text.split(quote).skip(1).step_by(2).map(str::to_owned));
                }
                let list: Vec<&str> = text.split(['"', '\'']).skip(1).step_by(2).collect();
                self.scripts.push(list.join(" "));
            }
        }
    }

    fn tool(&mut self, argv: &[Arg], part: usize) {
        let first = &argv[0];
        let rest = || argv[1..].iter().map(Arg::text).collect::<Vec<_>>();
        if first.names_any(&["eval", "watch", "parallel", "at", "batch"]) {
            self.scripts.push(rest().join(" "));
        }
        if first.names_any(&[
            "trap",
            "su",
            "script",
            "runuser",
            "flock",
            "nix-shell",
            "tmux",
            "screen",
            "hyperfine",
        ]) {
            self.scripts.extend(rest().into_iter().filter(|text| !text.starts_with('-')));
        }
        if first.names("ssh") {
            self.scripts.push(remote(&rest()).join(" "));
        }
        if first.names_any(&["alias", "abbr"]) {
            self.scripts.extend(rest().iter().filter_map(|text| Some(text.split_once('=')?.1.to_owned())));
        }
        if first.names_any(&["find", "gfind", "bfs", "fd", "fdfind"]) {
            self.executed(argv, part);
        }
        if first.names("git") {
            self.git(argv, part);
        }
        if first.names_any(&[
            "vi", "vim", "nvim", "ex", "view", "less", "more", "man", "ed", "gdb", "nano", "emacs",
        ]) {
            self.scripts.extend(rest().iter().filter_map(|text| Some(text.split_once('!')?.1.to_owned())));
        }
    }

    /// `-exec COMMAND … ;`.
    fn executed(&mut self, argv: &[Arg], part: usize) {
        const ACTIONS: &[&str] =
            &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let starts =
            (1..argv.len()).filter(|at| argv[*at].texts().any(|text| ACTIONS.contains(&text.as_str())));
        for start in starts.collect::<Vec<_>>() {
            let inner: Vec<Arg> = argv[start + 1..]
                .iter()
                .take_while(|arg| !arg.texts().any(|text| matches!(text.as_str(), ";" | "+")))
                .cloned()
                .collect();
            let skip = WRAPPERS.iter().find(|it| inner.first().is_some_and(|arg| arg.names_any(it.names)));
            let at = skip.and_then(|wrapper| wrapper.command(&inner)).unwrap_or(0);
            if at > 0 && at < inner.len() {
                self.run(inner[at..].to_vec(), part);
            }
            if !inner.is_empty() {
                self.run(inner, part);
            }
        }
    }

    /// The subcommand without the options before it; commands that git is told to run.
    fn git(&mut self, argv: &[Arg], part: usize) {
        let mut at = 1;
        while let Some(text) = argv.get(at).map(Arg::text).filter(|text| text.starts_with('-')) {
            let valued = [
                "-C",
                "-c",
                "--git-dir",
                "--work-tree",
                "--namespace",
                "--config-env",
                "--exec-path",
                "--super-prefix",
            ];
            at += if valued.contains(&text.as_str()) { 2 } else { 1 };
        }
        if at > 1 && at < argv.len() {
            let mut short = vec![argv[0].clone()];
            short.extend_from_slice(&argv[at..]);
            self.invocations.push(Invocation { argv: short, part, whole: false });
        }
        let texts: Vec<String> = argv[1..].iter().map(Arg::text).collect();
        for (at, text) in texts.iter().enumerate() {
            if let Some((_, command)) =
                text.split_once('!').filter(|(before, _)| before.is_empty() || before.ends_with('='))
            {
                self.scripts.push(command.to_owned());
            }
            let runs = [
                "run",
                "foreach",
                "--exec",
                "-x",
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--recursive",
            ];
            if runs.contains(&text.as_str()) {
                self.scripts.push(texts[at + 1..].join(" "));
            }
        }
    }

    /// Options by which a tool is told to run a command.
    fn hooks(&mut self, argv: &[Arg]) {
        const OPENERS: &[&str] =
            &["exec=", "Command=", "-command=", "-program=", "-filter=", "rsh=", "--pre=", "split-string="];
        for text in argv[1..].iter().flat_map(Arg::texts) {
            for opener in OPENERS {
                if let Some((_, command)) = text.split_once(opener) {
                    self.scripts.push(command.to_owned());
                }
            }
        }
        let takes = |name: &str| match name {
            "env" => vec!["-S", "-vS", "--split-string"],
            "rsync" => vec!["-e"],
            "tar" => vec!["-I", "-F"],
            "rg" => vec!["--pre"],
            "zip" => vec!["-TT"],
            "perf" | "strace" => vec!["-o"],
            _ => Vec::new(),
        };
        let name = argv[0].text();
        let options = takes(name.rsplit('/').next().unwrap_or(&name));
        for pair in argv.windows(2) {
            let text = pair[0].text();
            if options.contains(&text.as_str()) {
                self.scripts.push(pair[1].text());
            } else if name.ends_with("env") && text.starts_with("-S") {
                self.scripts.push(format!("{} {}", &text[2..], pair[1].text()));
            }
        }
    }

    /// `echo / | xargs rm -r`: what is printed may become arguments.
    fn fed(&mut self) {
        let named = |names: &'static [&'static str]| {
            self.invocations.iter().filter(move |it| it.argv[0].names_any(names)).take(CHAIN)
        };
        let mut fed = Vec::new();
        for it in named(&["xargs", "gxargs", "parallel"]) {
            let inside = |other: &&Invocation| other.part == it.part && other.argv.len() < it.argv.len();
            for inner in self.invocations.iter().filter(inside).take(CHAIN) {
                for printed in named(&["echo", "printf", "print"]) {
                    let argv = inner.argv.iter().chain(&printed.argv[1..]).cloned().collect();
                    fed.push(Invocation { argv, part: it.part, whole: false });
                }
            }
        }
        self.invocations.extend(fed);
    }

    /// A shell reads what others write: their data are scripts.
    fn data(&mut self) {
        let mut scripts: Vec<(String, usize)> = Vec::new();
        for body in &self.work.plan.bodies {
            scripts.push((body.clone(), 1));
        }
        for simple in &self.work.plan.simple {
            let strings = simple.redirects.iter().filter(|it| it.operator == "<<<");
            for word in strings.map(|it| &it.target) {
                scripts.extend(Arg::of(word, &self.known).iter().map(|arg| (arg.text(), simple.depth + 1)));
            }
        }
        for it in self.invocations.iter().filter(|it| it.argv[0].names_any(&["echo", "printf", "print"])) {
            let depth = self.work.plan.simple[it.part].depth + 1;
            let words: Vec<String> = it.argv[1..].iter().map(Arg::text).collect();
            scripts.push((words.join(" ").replace("\\n", "\n"), depth));
            scripts.extend(words.iter().map(|word| (word.replace("\\n", "\n"), depth)));
        }
        for (script, depth) in scripts {
            self.read(&script, depth);
        }
    }
}

impl Wrapper {
    /// Returns where the wrapped command begins; `None` where an option is not known.
    fn command(&self, argv: &[Arg]) -> Option<usize> {
        let (mut at, mut operands) = (1, self.operands);
        while let Some(arg) = argv.get(at) {
            let text = arg.text();
            if text == "--" {
                at += 1 + operands;
                break;
            }
            if text.starts_with("--") {
                let known = self.long.contains(&text.as_str());
                if !known && !text.contains('=') {
                    return None;
                }
                at += if known { 2 } else { 1 };
            } else if text.len() > 1 && text.starts_with('-') {
                at += self.short(&text[1..])?;
            } else if is_assignment(&text) && operands == self.operands {
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                break;
            }
        }
        Some(at)
    }

    /// Returns how many words a cluster of short options takes.
    fn short(&self, cluster: &str) -> Option<usize> {
        for (at, c) in cluster.char_indices() {
            if self.values.contains(c) {
                let attached = at + c.len_utf8() < cluster.len();
                return Some(if attached { 1 } else { 2 });
            }
            if !self.flags.contains(c) {
                return None;
            }
        }
        Some(1)
    }
}

/// Returns where in a command another one begins that it runs; beyond its end when that is a script or anything at all.
pub(crate) fn carried(argv: &[String]) -> Option<usize> {
    let name = argv.first()?.rsplit('/').next()?;
    if let Some(wrapper) = WRAPPERS.iter().find(|it| it.names.contains(&name)) {
        let known = Known::default();
        let words = argv.iter().map(|text| super::plan::Word::literal(text.clone()));
        let args: Vec<Arg> = words.flat_map(|word| Arg::of(&word, &known)).collect();
        return Some(wrapper.command(&args).unwrap_or(argv.len()));
    }
    let executes = ["-exec", "-execdir", "-ok", "-okdir"];
    let finds =
        matches!(name, "find" | "gfind" | "bfs") && argv.iter().any(|text| executes.contains(&text.as_str()));
    let scripts = SHELLS.contains(&name) || matches!(name, "eval" | "trap" | "watch" | "parallel");
    (finds || scripts).then_some(argv.len())
}

/// Returns the arguments to keep of the command behind so many others.
fn kept(argv: &[Arg], count: usize) -> Vec<Arg> {
    if count < CHAIN { argv.to_vec() } else { argv[..argv.len().min(SHORT)].to_vec() }
}

/// Returns what `ssh` is given to run: what stands behind the host.
fn remote(words: &[String]) -> &[String] {
    const VALUED: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let mut at = 0;
    while let Some(cluster) = words.get(at).and_then(|word| word.strip_prefix('-')) {
        let valued = cluster.chars().position(|c| VALUED.contains(c));
        at += if valued.is_some_and(|place| place + 1 == cluster.chars().count()) { 2 } else { 1 };
    }
    words.get(at + 1..).unwrap_or_default()
}

/// Says whether a text reads as `NAME=value`.
pub(crate) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Says whether a text holds a part that cannot be told.
pub(crate) fn is_unknown(text: &str) -> bool {
    text.contains(UNKNOWN)
}

/// Returns a text for people: what cannot be told is shown as `…`.
pub(crate) fn shown(text: &str) -> String {
    unveiled(text).replace(UNKNOWN, "…")
}
