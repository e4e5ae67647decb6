//! Laws of the policy: what is allowed, what nothing may allow, and that disguises change nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their corpus and build file systems")]

#[path = "policy/classes.rs"]
mod classes;
#[path = "policy/deeds.rs"]
mod deeds;
#[path = "policy/imports.rs"]
mod imports;

use hunkgate::acp::{Dialect, read_wanted};
use hunkgate::base::Patterns;
use hunkgate::config::{Config, Decision, Mode, Written};
use hunkgate::ledger::Redactor;
use hunkgate::policy::{
    Context, Effect, Evidence, Flat, Floor, Form, Ground, Kind, Layer, Level, Policy, Subject, Verdict,
    classify, judge, judge_command, normal,
};
use hunkgate::wire::Raw;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ROOT: &str = "/w/p";

fn context(ground: &dyn Ground) -> Context<'_> {
    Context {
        home: Some("/home/u".to_owned()),
        ours: vec!["/home/u/.local/state/hunkgate".to_owned(), "/home/u/.config/hunkgate".to_owned()],
        ..Context::at(ROOT, ground)
    }
}

fn policy(text: &str) -> Policy {
    let written = Written::parse("config.toml", text).unwrap();
    Policy::compile(&Config::of(Some(&written), None).rules, Some("/home/u")).unwrap()
}

fn judged(command: &str, policy: &Policy) -> Verdict {
    judge_command(command, policy, Mode::Normal, &context(&Flat))
}

fn plain(command: &str) -> Decision {
    judged(command, &Policy::default()).decision
}

fn decision(word: &str) -> Decision {
    match word {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        "deny" => Decision::Deny,
        other => panic!("{other} is no verdict"),
    }
}

/// The corpus: verdict, class, command.
const CORPORA: [&str; 3] = ["reading", "bypass", "floors"];

fn corpus() -> Vec<(Decision, String, String)> {
    let mut rows = Vec::new();
    for name in CORPORA {
        let path = format!("{}/tests/policy_corpus/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')) {
            let cells: Vec<&str> = line.splitn(3, '\t').collect();
            let [verdict, class, command] = cells.as_slice() else { panic!("{line}") };
            rows.push((decision(verdict), (*class).to_owned(), command.replace('⏎', "\n")));
        }
    }
    rows
}

// ── the corpus ──

#[test]
fn the_corpus_is_judged_as_it_says() {
    let rows = corpus();
    for name in CORPORA {
        let path = format!("{}/tests/policy_corpus/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let count = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert!(count >= 300, "{name}: {count}");
    }
    let mut wrong = Vec::new();
    for (wanted, class, command) in &rows {
        let verdict = judged(command, &Policy::default());
        if verdict.decision != *wanted {
            wrong.push(format!(
                "{:?} instead of {wanted:?} [{class}] {command:?}: {:?}",
                verdict.decision, verdict.reasons
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_bypass_class_has_its_rows() {
    let rows = corpus();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, class, _) in &rows {
        *classes.entry(class).or_default() += 1;
    }
    for class in
        ["env_poisoning", "expansion", "heredoc", "parts", "nesting", "redirect", "disguise", "exfiltration"]
    {
        assert!(classes.get(class).is_some_and(|rows| *rows >= 10), "{class}: {classes:?}");
    }
    let met: Vec<Floor> = rows
        .iter()
        .flat_map(|(_, _, command)| classify(command, &context(&Flat)).floors)
        .map(|met| met.floor)
        .collect();
    for floor in Floor::ALL {
        assert!(met.contains(&floor), "{floor:?} is never met");
    }
}

#[test]
fn what_is_allowed_is_what_only_reads() {
    for (_, _, command) in corpus() {
        let verdict = judged(&command, &Policy::default());
        if verdict.decision == Decision::Allow {
            assert_eq!((verdict.kind, verdict.floor), (Kind::ReadOnly, Level::None), "{command}");
        }
    }
}

#[test]
fn the_same_command_always_gets_the_same_verdict() {
    let first = judged("cd src && cargo test | head", &Policy::default());
    for _ in 0..100 {
        assert_eq!(judged("cd src && cargo test | head", &Policy::default()), first);
    }
}

// ── disguises ──

/// Ways to run a command that must not weaken its verdict.
fn wrapped(command: &str) -> Vec<String> {
    let quoted = command.replace('\'', "'\\''");
    let mut all = vec![
        format!("true; {command}"),
        format!("({command}\n)"),
        format!("{{ {command}\n}}"),
        format!("if true; then {command}\nfi"),
        format!("bash -c '{quoted}'"),
        format!("ls && {{ {command}\n}}"),
        format!("f() {{ {command}\n}}\nf"),
        format!("{{ {command}\n}} &"),
    ];
    if !command.contains("<<") && balanced(command) {
        all.push(format!("echo \"$( {command}\n)\""));
    }
    if let Some((head, rest)) =
        command.split_once(' ').filter(|(head, _)| !head.contains(['\'', '"', '#', '\\', '\n', '<']))
    {
        all.push(format!("{head} \\\n{rest}"));
    }
    all
}

/// Inside a substitution an unbalanced bracket or quote is another command.
fn balanced(command: &str) -> bool {
    command.matches('(').count() == command.matches(')').count()
        && command.matches('\'').count().is_multiple_of(2)
        && command.matches('"').count().is_multiple_of(2)
        && command.matches('`').count().is_multiple_of(2)
        && !command.ends_with('\\')
        && !command.contains('#')
}

#[test]
fn a_wrapped_command_gets_no_weaker_verdict() {
    let broken = |command: &str| {
        let classified = classify(command, &context(&Flat));
        classified
            .obstacles
            .iter()
            .any(|why| why.contains("does not end") || why.contains("not read the same"))
    };
    let mut tried = 0;
    for (wanted, class, command) in corpus().into_iter().filter(|(wanted, ..)| *wanted != Decision::Allow) {
        if broken(&command) || command.trim_end().ends_with('\\') {
            continue;
        }
        for variant in wrapped(&command) {
            tried += 1;
            let verdict = judged(&variant, &Policy::default());
            assert!(
                verdict.decision >= wanted,
                "{:?} < {wanted:?} [{class}] {variant:?}: {:?}",
                verdict.decision,
                verdict.reasons
            );
        }
    }
    assert!(tried > 4000, "{tried}");
}

#[test]
#[ignore = "takes minutes"]
fn every_pair_of_disguises_gets_no_weaker_verdict() {
    let mut tried = 0;
    for (wanted, class, command) in corpus().into_iter().filter(|(wanted, ..)| *wanted != Decision::Allow) {
        let marked =
            classify(&command, &context(&Flat)).obstacles.iter().any(|why| why.contains("does not end"));
        if !balanced(&command) || command.contains("<<") || marked || command.len() > 400 {
            continue;
        }
        for variant in wrapped(&command).iter().flat_map(|variant| wrapped(variant)) {
            tried += 1;
            let verdict = judged(&variant, &Policy::default());
            assert!(verdict.decision >= wanted, "{:?} < {wanted:?} [{class}] {variant:?}", verdict.decision);
        }
    }
    assert!(tried > 50_000, "{tried}");
}

#[test]
fn what_means_nothing_changes_nothing() {
    for (_, _, command) in corpus().into_iter().filter(|(wanted, ..)| *wanted == Decision::Allow) {
        if command.contains("<<") || command.contains('#') || command.contains("cd ") {
            continue;
        }
        for variant in [format!("{command} # x"), format!("{command} 2>/dev/null"), format!(" {command}  ")] {
            assert_eq!(plain(&variant), Decision::Allow, "{variant:?}");
        }
        if !command.contains(['\'', '"', '\\', '\n']) {
            let doubled = command.replace(' ', "  ");
            assert_eq!(plain(&doubled), Decision::Allow, "{doubled:?}");
        }
    }
}

#[test]
fn an_allowed_command_beside_another_gets_at_least_the_others_verdict() {
    let rows = corpus();
    let plain_allowed =
        |command: &str| !command.contains("<<") && !command.contains('#') && !command.contains("cd ");
    let allowed: Vec<&String> = rows
        .iter()
        .filter(|(wanted, _, command)| *wanted == Decision::Allow && plain_allowed(command))
        .map(|row| &row.2)
        .collect();
    for (at, (wanted, class, command)) in
        rows.iter().filter(|(wanted, ..)| *wanted != Decision::Allow).enumerate()
    {
        let beside = allowed[at % allowed.len()];
        for joint in [";", " &&", " ||", " |", "\n"] {
            let joined = format!("{beside}{joint} {command}");
            let verdict = judged(&joined, &Policy::default());
            assert!(verdict.decision >= *wanted, "{:?} < {wanted:?} [{class}] {joined:?}", verdict.decision);
        }
    }
}

mod laws {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Compositions of wrappers around rows of the corpus.
        #[test]
        fn wrappers_compose(row in any::<prop::sample::Index>(), ways in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
            let rows: Vec<_> = corpus_once().iter().filter(|(wanted, _, command)| {
                *wanted == Decision::Deny && balanced(command) && !command.contains("<<") && !command.starts_with("{ rm")
            }).collect();
            let (wanted, _, command) = rows[row.index(rows.len())];
            let mut text = command.clone();
            for way in ways {
                let variants = wrapped(&text);
                let next = variants[way.index(variants.len())].clone();
                if next.len() > 4000 { break; }
                text = next;
            }
            prop_assert!(plain(&text) >= *wanted, "{text:?}");
        }

        #[test]
        fn any_text_gets_an_answer(text in any::<String>()) {
            let verdict = judged(&text, &Policy::default());
            prop_assert!(verdict.decision != Decision::Allow || verdict.kind == Kind::ReadOnly);
        }

        #[test]
        fn shell_like_text_is_allowed_only_where_it_is_made_of_reading(text in "([a-z]{1,6}|ls|cat|git status|rm|\\$|\\(|\\)|`|'|\"|;|&|\\||<|>|\\{|\\}|\\\\|\n| |#|=|\\*|~|EOF|<<){0,24}") {
            let classified = classify(&text, &context(&Flat));
            if classified.only_reads() {
                let safe = ["ls", "cat", "git", "test", "echo", "true", "false", "pwd", "tr", "wc", "nl", "cut", "du", "stat", "sort", "uniq", "head", "tail", "date", "diff", "cmp", "grep", "find", "rg", "sed"];
                for part in &classified.parts {
                    let argv = part.argv.clone().unwrap_or_default();
                    prop_assert!(argv.is_empty() || safe.contains(&argv[0].as_str()) , "{text:?} {argv:?}");
                }
            }
        }
    }

    fn corpus_once() -> &'static Vec<(Decision, String, String)> {
        static ROWS: std::sync::OnceLock<Vec<(Decision, String, String)>> = std::sync::OnceLock::new();
        ROWS.get_or_init(corpus)
    }
}

// ── hostile texts ──

#[test]
fn hostile_texts_are_asked_about() {
    let mut texts: Vec<String> = Vec::new();
    for opener in [
        "(",
        "{",
        "$(",
        "`",
        "${",
        "((",
        "$((",
        "<(",
        "[[",
        "\"$(",
        "\"",
        "'",
        "case x in a) ",
        "if ",
        "<<a ",
        "{a,",
        "[",
        "a=(",
        "\\\n",
        "!",
        "f() ",
        "sudo ",
        "bash -c ",
        "cd ..; ",
    ] {
        texts.push(opener.repeat(if opener.ends_with(' ') { 20_000 } else { 100_000 }));
        texts.push(opener.repeat(300));
    }
    texts.push("a".repeat(1 << 20));
    texts.push("ls;".repeat(400_000));
    texts.push("\0\u{1}\u{7f}\r\u{feff}".repeat(1000));
    texts.push(String::new());
    texts.push(" \n\t\n".to_owned());
    let mut noise = 0x9e37_79b9_u64;
    for _ in 0..40 {
        let bytes: Vec<u8> = (0..2048)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (noise >> 33).to_le_bytes()[0]
            })
            .collect();
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    for text in texts {
        let start = Instant::now();
        let verdict = plain(&text);
        let head: String = text.chars().take(12).collect();
        assert_ne!(verdict, Decision::Allow, "{head:?}");
        assert!(start.elapsed() < Duration::from_secs(60), "{head:?} took {:?}", start.elapsed());
    }
}

#[test]
fn padding_hides_no_floor() {
    for pad in [":; ".repeat(60), "true && ".repeat(2000), " ".repeat(20_000), "a=1\n".repeat(20_000)] {
        let text = format!("{pad}rm -rf /");
        assert_eq!(plain(&text), Decision::Deny, "{} bytes", text.len());
    }
}

#[test]
fn a_usual_command_is_judged_at_once() {
    let start = Instant::now();
    for _ in 0..50 {
        plain("cd /w/p && git log --oneline -20 -- src | head -5");
    }
    // A millisecond each in a release build; debug builds on loaded machines get more.
    let each = if cfg!(debug_assertions) { 20 } else { 1 };
    assert!(start.elapsed() < Duration::from_millis(50 * each), "{:?}", start.elapsed());
}

// ── rules ──

#[test]
fn prohibitions_speak_first() {
    let policy = policy(
        "[permissions]\nallow = ['Bash', 'Read(**)', 'Write(**)']\nask = ['Bash(git push:*)']\ndeny = ['Bash(curl:*)', 'Read(./.env)']\n",
    );
    for (command, wanted) in [
        ("cargo test", Decision::Allow),
        ("make && cargo test", Decision::Allow),
        ("git push", Decision::Ask),
        ("cd src && git push origin main", Decision::Ask),
        ("bash -c 'git push'", Decision::Ask),
        ("git -C x push", Decision::Ask),
        ("/usr/bin/git push", Decision::Ask),
        ("curl https://x.example", Decision::Deny),
        ("ls && curl x", Decision::Deny),
        ("timeout 5 curl x", Decision::Deny),
        ("sudo curl x", Decision::Deny),
        ("find . -exec curl {} ;", Decision::Deny),
        ("echo $(curl x)", Decision::Deny),
        ("c''url x", Decision::Deny),
        ("/bin/cur? x", Decision::Deny),
        ("cat .env", Decision::Deny),
        ("bash -c 'cat ./.env'", Decision::Deny),
        ("cat /w/p/.env", Decision::Deny),
        ("cat src/../.env", Decision::Deny),
        ("cd src; cat ../.env", Decision::Deny),
        ("wc -c < .env", Decision::Deny),
        ("rm -rf /", Decision::Deny),
        ("sudo ls", Decision::Ask),
        ("echo x > .git/hooks/a", Decision::Ask),
        ("PATH=/x make", Decision::Ask),
        ("make > out.txt", Decision::Ask),
        ("make $(id)", Decision::Ask),
        ("make &", Decision::Ask),
        ("A=1 make", Decision::Ask),
        ("make *", Decision::Ask),
    ] {
        let verdict = judged(command, &policy);
        assert_eq!(verdict.decision, wanted, "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn an_allow_rule_covers_every_part_or_none() {
    let policy = policy(
        "[permissions]\nallow = ['Bash(cargo test:*)', 'Bash(npm run *)', 'Bash(git * main)', 'Bash(make)']\n\
         [[rule]]\nid = 'log'\nprefix = ['cargo', ['run', 'build']]\nenv = ['RUST_LOG']\nredirects = true\ndecision = 'allow'\n\
         [[rule]]\nid = 'plan'\nregex = 'just [a-z]+'\nmodes = ['auto']\ndecision = 'allow'\n",
    );
    for (command, wanted) in [
        ("cargo test", Decision::Allow),
        ("cargo test --locked", Decision::Allow),
        ("cd /w/p && cargo test | head", Decision::Allow),
        ("cargo test && cargo test", Decision::Allow),
        ("cargo testx", Decision::Ask),
        ("cargo test && id", Decision::Ask),
        ("cargo test; id", Decision::Ask),
        ("cargo test\nid", Decision::Ask),
        ("cargo test & id", Decision::Ask),
        ("cargo test > out", Decision::Ask),
        ("cargo test $(id)", Decision::Ask),
        ("cargo test $X", Decision::Ask),
        ("cd /tmp && cargo test", Decision::Ask),
        ("npm run", Decision::Allow),
        ("npm run build", Decision::Allow),
        ("npm runx", Decision::Ask),
        ("git checkout main", Decision::Allow),
        ("git checkout mainx", Decision::Ask),
        ("make", Decision::Allow),
        ("make all", Decision::Ask),
        ("RUST_LOG=debug cargo run", Decision::Allow),
        ("RUST_LOG=debug cargo test", Decision::Ask),
        ("X=debug cargo run", Decision::Ask),
        ("cargo build > out.txt 2>&1", Decision::Allow),
        ("cargo build > ../out.txt", Decision::Ask),
        ("cargo build > .git/x", Decision::Ask),
        ("just fmt", Decision::Ask),
        ("timeout 60 cargo test", Decision::Allow),
        ("timeout 60 cargo fetch", Decision::Ask),
        ("nice -n 5 timeout 60 cargo test", Decision::Ask),
        ("sudo cargo test", Decision::Ask),
    ] {
        let verdict = judged(command, &policy);
        assert_eq!(verdict.decision, wanted, "{command}: {:?}", verdict.reasons);
    }
    let auto = |command: &str| judge_command(command, &policy, Mode::Auto, &context(&Flat)).decision;
    assert_eq!(auto("just fmt"), Decision::Allow);
    assert_eq!(auto("just fmt x"), Decision::Ask);
}

#[test]
fn an_allow_rule_for_what_runs_commands_has_to_name_the_command() {
    let policy = policy(
        "[permissions]\nallow = ['Bash(timeout:*)', 'Bash(find:*)', 'Bash(bash:*)', 'Bash(env *)', 'Bash(nice make:*)', 'Bash(xargs rm *)', 'Bash(sh build.sh)']",
    );
    for (command, wanted) in [
        ("timeout 5 touch x", Decision::Ask),
        ("find . -exec touch x ;", Decision::Ask),
        ("find . -newer x", Decision::Allow),
        ("bash -c 'touch x'", Decision::Ask),
        ("bash x.sh", Decision::Ask),
        ("env touch x", Decision::Ask),
        ("nice make all", Decision::Allow),
        ("nice touch x", Decision::Ask),
        ("sh build.sh", Decision::Allow),
        ("xargs rm x", Decision::Allow),
        ("xargs touch x", Decision::Ask),
    ] {
        assert_eq!(judged(command, &policy).decision, wanted, "{command}");
    }
}

#[test]
fn a_compound_command_of_allowed_parts_is_allowed_with_a_reason_for_each() {
    let verdict = judged("cd /w/p && git status | head", &Policy::default());
    assert_eq!(verdict.decision, Decision::Allow);
    let parts: Vec<_> = verdict.reasons.iter().map(|reason| reason.part).collect();
    assert_eq!(parts, [Some(0), Some(1), Some(2)]);
    let verdict = judged("cd src && ls && npm install", &Policy::default());
    assert_eq!(
        (verdict.decision, verdict.reasons[0].part),
        (Decision::Ask, Some(2)),
        "{:?}",
        verdict.reasons
    );
}

#[test]
fn a_projects_file_can_only_tighten() {
    let user = Written::parse("config.toml", "[permissions]\nallow = ['Bash(make:*)']\n").unwrap();
    let project =
        Written::parse(".hunkgate.toml", "[permissions]\nallow = ['Bash']\nask = ['Bash(make:*)']\n")
            .unwrap();
    let config = Config::of(Some(&user), Some(&project));
    let policy = Policy::compile(&config.rules, None).unwrap();
    assert_eq!(judged("make", &policy).decision, Decision::Ask);
    assert_eq!(judged("id", &policy).decision, Decision::Ask);
}

#[test]
fn the_documented_rules_hold_their_examples() {
    let read =
        |name: &str| std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let page = read("docs/policy.md");
    let block = page.split("```toml").nth(1).unwrap().split("```").next().unwrap();
    let example = read("proxy-config.example.toml");
    let commented = &example[example.find("# [permissions]").unwrap()..];
    let commented: String = commented
        .lines()
        .take_while(|line| line.starts_with('#'))
        .map(|line| format!("{}\n", line.trim_start_matches('#').trim_start()))
        .collect();
    for text in [block, &commented] {
        let policy = policy(text);
        assert!(policy.len() >= 5, "{text}");
        assert_eq!(judged("cd src && cargo test", &policy).decision, Decision::Allow);
        assert_eq!(judged("git push", &policy).rules(), ["ask Bash(git push:*)", "push"]);
    }
}

#[test]
fn plan_mode_only_reads() {
    let policy = policy("[permissions]\nallow = ['Bash']\n");
    let plan = |command: &str| judge_command(command, &policy, Mode::Plan, &context(&Flat)).decision;
    assert_eq!(plan("ls"), Decision::Allow);
    assert_eq!(plan("make"), Decision::Deny);
    let write = Subject::new(vec![Effect::Write { path: "a".into(), new: None }], Evidence::Structured);
    let ground = Flat;
    assert_eq!(judge(&write, &Policy::default(), Mode::Plan, &context(&ground)).decision, Decision::Deny);
}

// ── paths ──

/// A file system with links.
#[derive(Debug)]
struct Links(BTreeMap<&'static str, &'static str>);

impl Ground for Links {
    fn real(&self, absolute: &str) -> Option<String> {
        let mut path = normal(absolute);
        for _ in 0..8 {
            let link =
                self.0.iter().find(|(from, _)| path == **from || path.starts_with(&format!("{from}/")));
            let Some((from, to)) = link else { return Some(path) };
            path = normal(&format!("{to}{}", &path[from.len()..]));
        }
        None
    }
}

#[test]
fn links_are_followed_before_anything_is_matched() {
    let ground = Links(BTreeMap::from([
        ("/w/p/cfg", "/w/p/.env"),
        ("/w/p/out", "/etc"),
        ("/w/p/hooks", "/w/p/.git/hooks"),
        ("/w/p/up", "/home/u"),
        ("/w/p/loop", "/w/p/loop"),
    ]));
    let policy = policy("[permissions]\nallow = ['Read(out/**)']\ndeny = ['Read(**/.env*)']\n");
    let command = |text: &str| judge_command(text, &policy, Mode::Normal, &context(&ground)).decision;
    assert_eq!(command("cat cfg"), Decision::Deny);
    assert_eq!(command("cat out/passwd"), Decision::Ask);
    assert_eq!(command("cat loop"), Decision::Ask);
    assert_eq!(command("cp x hooks/pre-commit"), Decision::Ask);
    assert_eq!(command("rm -rf up"), Decision::Deny);
    assert_eq!(command("cd out && ls"), Decision::Ask);
    assert_eq!(command("echo x > out/x"), Decision::Ask);
    let read = |path: &str| {
        let subject = Subject::new(vec![Effect::Read { path: path.to_owned() }], Evidence::Structured);
        judge(&subject, &policy, Mode::Normal, &context(&ground)).decision
    };
    assert_eq!(read("cfg"), Decision::Deny);
    assert_eq!(read("/w/p/src/main.rs"), Decision::Allow);
    // The rule allows what is called out/…, and it leads elsewhere.
    assert_eq!(read("out/passwd"), Decision::Ask);
}

#[test]
fn files_are_judged_by_where_they_lie() {
    let ground = Flat;
    let judge_in = |effect: Effect, mode: Mode| {
        judge(&Subject::new(vec![effect], Evidence::Structured), &Policy::default(), mode, &context(&ground))
            .decision
    };
    let read = |path: &str| Effect::Read { path: path.to_owned() };
    let write = |path: &str| Effect::Write { path: path.to_owned(), new: Some(String::new()) };
    for (effect, plan, normal, auto) in [
        (read("src/a"), Decision::Allow, Decision::Allow, Decision::Allow),
        (read("/etc/passwd"), Decision::Ask, Decision::Ask, Decision::Ask),
        (read(".env"), Decision::Ask, Decision::Ask, Decision::Ask),
        (write("src/a"), Decision::Deny, Decision::Ask, Decision::Allow),
        (write("../a"), Decision::Deny, Decision::Ask, Decision::Ask),
        (write(".git/hooks/a"), Decision::Deny, Decision::Ask, Decision::Ask),
        (write(".hunkgate.toml"), Decision::Deny, Decision::Ask, Decision::Ask),
        (write("/home/u/.config/hunkgate/config.toml"), Decision::Deny, Decision::Deny, Decision::Deny),
        (Effect::Delete { path: "a".into() }, Decision::Deny, Decision::Ask, Decision::Allow),
        (
            Effect::Move { from: "a".into(), to: "/tmp/b".into() },
            Decision::Deny,
            Decision::Ask,
            Decision::Ask,
        ),
        (Effect::Fetch { url: "https://x.example".into() }, Decision::Ask, Decision::Ask, Decision::Ask),
    ] {
        let found = [Mode::Plan, Mode::Normal, Mode::Auto].map(|mode| judge_in(effect.clone(), mode));
        assert_eq!(found, [plan, normal, auto], "{effect:?}");
    }
}

#[test]
fn fetches_and_tools_follow_their_rules() {
    let ground = Flat;
    let policy = policy(
        "[permissions]\nallow = ['WebFetch(domain:docs.rs)']\ndeny = ['WebFetch(domain:evil.example)', 'mcp__files__delete']\nask = ['mcp__files']\n",
    );
    let judge_it = |effect: Effect| {
        judge(&Subject::new(vec![effect], Evidence::Structured), &policy, Mode::Normal, &context(&ground))
            .decision
    };
    let fetch = |url: &str| judge_it(Effect::Fetch { url: url.to_owned() });
    assert_eq!(fetch("https://docs.rs/x"), Decision::Allow);
    assert_eq!(fetch("https://docs.rs.evil.example/x"), Decision::Deny);
    assert_eq!(fetch("https://docs.rs@evil.example/x"), Decision::Deny);
    assert_eq!(fetch("https://docs.rsx/"), Decision::Ask);
    let tool = |title: &str| judge_it(Effect::Opaque { kind: None, title: title.to_owned() });
    assert_eq!(tool("mcp__files__delete"), Decision::Deny);
    assert_eq!(tool("mcp__files__read"), Decision::Ask);
}

// ── requests ──

#[test]
fn what_only_a_title_says_is_never_allowed() {
    let ground = Flat;
    let policy = policy("[permissions]\nallow = ['*']\n");
    let exec = Effect::Exec { form: Form::Text("ls".to_owned()), cwd: None, env: Vec::new() };
    for effect in
        [exec, Effect::Opaque { kind: None, title: "ls".to_owned() }, Effect::Read { path: "a".to_owned() }]
    {
        let subject = Subject::new(vec![effect], Evidence::Display);
        assert_eq!(judge(&subject, &policy, Mode::Auto, &context(&ground)).decision, Decision::Ask);
    }
    assert_eq!(
        judge(&Subject::new(Vec::new(), Evidence::Structured), &policy, Mode::Auto, &context(&ground))
            .decision,
        Decision::Ask
    );
}

/// The subject of a request as an agent sends it.
fn subject(method: &str, params: &str) -> Subject {
    let wanted = read_wanted(Dialect::V1, method, Raw::parse(params)).unwrap();
    Subject::of(&wanted)
}

fn permission(call: &str) -> Subject {
    subject(
        "session/request_permission",
        &format!(r#"{{"sessionId":"s","options":[],"toolCall":{{"toolCallId":"c",{call}}}}}"#),
    )
}

fn exec(text: &str) -> Effect {
    Effect::Exec { form: Form::Text(text.to_owned()), cwd: None, env: Vec::new() }
}

#[test]
fn what_real_agents_ask_for_becomes_an_effect_with_its_evidence() {
    for (call, effects, evidence) in [
        // claude and opencode say the command in fields, gemini only in the title
        (
            r#""title":"`ls`","kind":"execute","rawInput":{"command":"ls","description":"List"}"#,
            vec![exec("ls")],
            Evidence::Structured,
        ),
        (
            r#""title":"mv a b","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"[cwd]"}}],"locations":[]"#,
            vec![exec("mv a b")],
            Evidence::Display,
        ),
        // codex hands its shell an argument vector, whatever kind it says
        (
            r#""title":"x","kind":"read","rawInput":{"command":["bash","-lc","cat a | head"],"cwd":"/w/p/sub"}"#,
            vec![Effect::Exec {
                form: Form::Text("cat a | head".into()),
                cwd: Some("/w/p/sub".into()),
                env: Vec::new(),
            }],
            Evidence::Structured,
        ),
        (
            r#""title":"Edit","kind":"edit","content":[{"type":"diff","path":"/w/p/a","oldText":"x","newText":"y"}],"locations":[{"path":"/w/p/a"}]"#,
            vec![Effect::Write { path: "/w/p/a".into(), new: Some("y".into()) }],
            Evidence::Structured,
        ),
        (
            r#""title":"Read","kind":"read","rawInput":{"file_path":"/w/p/a"}"#,
            vec![Effect::Read { path: "/w/p/a".into() }],
            Evidence::Structured,
        ),
        (
            r#""title":"Fetch","kind":"fetch","rawInput":{"url":"https://docs.rs","prompt":"x"}"#,
            vec![Effect::Fetch { url: "https://docs.rs".into() }],
            Evidence::Structured,
        ),
        (
            r#""title":"Edit","kind":"edit","locations":[{"path":"/w/p/a"}]"#,
            vec![Effect::Write { path: "/w/p/a".into(), new: None }],
            Evidence::Display,
        ),
        (
            r#""title":"Ready to code?","kind":"switch_mode""#,
            vec![Effect::Opaque { kind: Some("switch_mode".into()), title: "Ready to code?".into() }],
            Evidence::Display,
        ),
    ] {
        let subject = permission(call);
        assert_eq!((subject.effects(), subject.evidence), (effects.as_slice(), evidence), "{call}");
    }
}

#[test]
fn files_and_terminals_of_the_client_become_effects() {
    let write = subject("fs/write_text_file", r#"{"sessionId":"s","path":"/w/p/a","content":"x"}"#);
    assert_eq!(write.effects(), [Effect::Write { path: "/w/p/a".into(), new: Some("x".into()) }]);
    let read = subject("fs/read_text_file", r#"{"sessionId":"s","path":"/w/p/a"}"#);
    assert_eq!(read.effects(), [Effect::Read { path: "/w/p/a".into() }]);
    let terminal = subject(
        "terminal/create",
        r#"{"sessionId":"s","command":"git","args":["status"],"cwd":"/w/p","env":[{"name":"GIT_PAGER","value":"x"}]}"#,
    );
    let ground = Flat;
    let verdict = judge(&terminal, &Policy::default(), Mode::Normal, &context(&ground));
    assert_eq!((verdict.decision, verdict.floor), (Decision::Ask, Level::Ask));
    assert_eq!(read_wanted(Dialect::V1, "session/prompt", Raw::parse("{}")), None);
}

#[test]
fn a_program_with_arguments_is_judged_as_both_that_it_may_be() {
    let ground = Flat;
    let argv = |words: &[&str], env: &[&str]| {
        let form = Form::Argv(words.iter().map(|word| (*word).to_owned()).collect());
        let env = env.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let subject = Subject::new(vec![Effect::Exec { form, cwd: None, env }], Evidence::Structured);
        judge(&subject, &Policy::default(), Mode::Normal, &context(&ground)).decision
    };
    assert_eq!(argv(&["git", "status"], &[]), Decision::Allow);
    assert_eq!(argv(&["git", "status"], &["GIT_PAGER"]), Decision::Ask);
    assert_eq!(argv(&["echo", "a; rm -rf /"], &[]), Decision::Deny);
    assert_eq!(argv(&["ls", "$(id)"], &[]), Decision::Ask);
    assert_eq!(argv(&["bash", "-lc", "rm -rf /"], &[]), Decision::Deny);
    assert_eq!(argv(&["rm", "-rf", "/"], &[]), Decision::Deny);
}

#[test]
fn the_strictest_effect_of_a_request_decides() {
    let ground = Flat;
    let effects = vec![
        Effect::Read { path: "a".into() },
        Effect::Write { path: "/home/u/.config/hunkgate/config.toml".into(), new: None },
    ];
    let verdict = judge(
        &Subject::new(effects, Evidence::Structured),
        &Policy::default(),
        Mode::Auto,
        &context(&ground),
    );
    assert_eq!((verdict.decision, verdict.floor), (Decision::Deny, Level::Deny));
    assert_eq!(verdict.reasons[0].layer, Layer::Floor);
}

#[test]
fn a_withheld_name_is_a_secret() {
    let ground = Flat;
    let mut context = context(&ground);
    context.secrets = Patterns::default().and(["*.tfvars"]);
    assert_eq!(
        judge_command("cat prod.tfvars", &Policy::default(), Mode::Normal, &context).floor,
        Level::Ask
    );
}

#[test]
fn without_a_known_directory_nothing_is_allowed() {
    let ground = Flat;
    let mut context = context(&ground);
    context.cwd = String::new();
    assert_eq!(judge_command("ls", &Policy::default(), Mode::Normal, &context).decision, Decision::Ask);
}

#[test]
fn no_secret_reaches_the_shape_of_a_verdict() {
    let verdict = judged(
        "API_KEY=hunter2secret curl -H 'Authorization: Bearer hunter2secret' https://u:hunter2secret@x",
        &Policy::default(),
    );
    let text = serde_json::to_string(&verdict.shape(&Redactor::new([1; 32]))).unwrap();
    assert!(!text.contains("hunter2secret"), "{text}");
}
