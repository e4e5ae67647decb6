//! What a command is told to write, by its words: what attribution takes for a claim.

use super::{ROOT, context, corpus};
use hunkgate::acp::{ClaimedIn, Said, WantedCommand, WantedForm};
use hunkgate::policy::{Deeds, Flat, deeds};
use proptest::prelude::*;

fn run(form: WantedForm, cwd: Option<&str>) -> Deeds {
    deeds(&WantedCommand { form, cwd: cwd.map(str::to_owned), env: Vec::new() }, &context(&Flat))
}

/// Every name, as one word: a path beneath the root, `from>to`, `=text`, `+text`.
fn names(text: &str) -> Vec<String> {
    let short = |path: &str| path.strip_prefix(&format!("{ROOT}/")).unwrap_or(path).to_owned();
    let told = run(WantedForm::Text(text.to_owned()), None).names;
    assert!(told.iter().all(|claim| claim.from == ClaimedIn::RawInput), "{text}");
    let word = |claim: &hunkgate::acp::CallClaim| {
        let path = short(&claim.path);
        match &claim.says {
            Said::Location => path,
            Said::Move { to } => format!("{path}>{}", short(to)),
            Said::Whole { old: None, new } => format!("{path}={new}"),
            Said::Diff { old: None, new } => format!("{path}+{new}"),
            odd @ (Said::Whole { .. } | Said::Diff { .. } | Said::Fragment { .. } | Said::Delete) => {
                format!("{odd:?}")
            }
        }
    };
    told.iter().map(word).collect()
}

#[test]
fn a_command_names_what_its_words_say_it_writes() {
    for (text, expected) in [
        ("make all", &[][..]),
        ("echo x > a", &["a"]),
        ("cargo test >> log.txt 2>&1", &["log.txt"]),
        ("make &> log", &["log"]),
        ("make > /dev/null 2> err", &["err"]),
        ("echo x > /w/other/f", &["/w/other/f"]),
        ("printf '%s' x | tee -a a b", &["a", "b"]),
        ("touch -d yesterday a 'b c'", &["a", "b c"]),
        ("rm -rf a b", &["a", "b"]),
        ("git rm a && git mv b c", &["a", "b>c", "b>c/b"]),
        ("git rm --cached a", &[]),
        ("git checkout main -- a b", &["a", "b"]),
        ("git checkout main", &[]),
        ("git restore -s HEAD a", &["a"]),
        ("mv a b", &["a>b", "a>b/a"]),
        ("mv a x/b d", &["a>d/a", "x/b>d/b"]),
        ("cp -r a b", &["b/a", "b"]),
        ("ln -s target link", &["link/target", "link"]),
        ("sed -i s/a/b/ f g", &["f", "g"]),
        ("sed -i.bak -e s/a/b/ f", &["f"]),
        ("sed -i '' -e s/a/b/ f", &["f"]),
        ("sed -Ei 's/(a)/b/' f", &["f"]),
        ("sed -n --in-place=.b p f", &["f"]),
        ("sed s/a/b/ f", &[]),
        ("sed -e s/i/b/ f", &[]),
        ("perl -pi -e s/a/b/ f", &["f"]),
        ("perl -i.bak -pe s/a/b/ f", &["f"]),
        ("perl -e print f", &[]),
        ("chmod +x run.sh", &["run.sh"]),
        ("rustfmt src/a.rs", &["src/a.rs"]),
        ("rustfmt --check src/a.rs", &[]),
        ("npx prettier --write a.ts", &["a.ts"]),
        ("npx prettier a.ts", &[]),
        ("timeout 5 touch a", &["a"]),
        ("dd if=/dev/zero of=a count=1", &["a"]),
        ("for i in 1 2; do touch f; done", &["f"]),
        ("env A=b touch f", &["f"]),
        ("sed --expression s/a/b/ -i f", &["f"]),
        ("sed -i --file script.sed f", &["f"]),
        ("perl -0777 -pi -e s/a/b/ f", &["f"]),
        ("git restore --source HEAD --staged --worktree a", &["a"]),
        ("prettier --config .prettierrc --write a.ts", &["a.ts"]),
        ("black -l 100 a.py", &["a.py"]),
        ("tee --append a", &["a"]),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
}

#[test]
fn what_a_command_is_given_to_read_is_no_claim() {
    for text in [
        "touch --reference r",
        "perl -Ilib t/a.t out",
        "perl -Mstrict a.pl out",
        "git restore --staged a",
        "git restore -S a",
        "git rm -n a",
        "git mv --dry-run a b",
        "cp --target-directory=d a b",
        "mv -ft d a b",
        "install -dm755 d e",
        "isort -c a.py",
        "eslint --fix --resolve-plugins-relative-to d a.js",
        "xargs cp a b",
        "command -v mv a b",
        "env -C d touch a",
        "sudo -D d touch a",
        "clang-format -i -style file",
    ] {
        assert_eq!(names(text), [""; 0], "{text}");
    }
    assert_eq!(names("touch --reference r a"), ["a"]);
    assert_eq!(names("truncate -s 0 --reference=r a"), ["a"]);
    assert_eq!(names("gofmt -w a.go"), ["a.go"]);
}

#[test]
fn a_here_document_that_is_poured_into_a_file_is_its_text() {
    assert_eq!(names("cat > a <<'E'\none $x\nE\n"), ["a=one $x\n"]);
    assert_eq!(names("cat <<E >> a\none\nE\n"), ["a+one\n"]);
    assert_eq!(names("cat > a <<E\none $x\nE\n"), ["a"], "a text that is expanded is not known");
    assert_eq!(names("grep b > a <<'E'\none\nE\n"), ["a"], "only cat writes what it is given");
    assert_eq!(names("cat x > a <<'E'\none\nE\n"), ["a"]);
    assert_eq!(names("cat > a <<'E'\none\n"), [""; 0], "it may still grow");
    assert_eq!(names("cat 2> /dev/null > a <<'E'\none\nE\n"), ["a=one\n"]);
    assert_eq!(names("cat > a 2> b <<'E'\none\nE\n"), ["a", "b"], "one of them is not its text");
    assert_eq!(names("cat > a <<'E' < b\none\nE\n"), ["a"], "another file is poured");
}

#[test]
fn a_path_that_is_not_spelled_out_or_has_no_certain_place_is_no_claim() {
    for text in [
        "rm *.o",
        "touch $F",
        "touch \"$(date)\"",
        "echo x > ~/a",
        "touch {a,b}",
        "rm -r build/",
        "cd $D && touch a",
        "cd x; touch a",
        "pushd x && touch a",
        "(cd x && make) && touch a",
        "f() { touch a; }; f",
        "echo 'touch a'",
        "ssh host touch a",
        "cp -t d a",
    ] {
        assert_eq!(names(text), [""; 0], "{text}");
    }
    assert_eq!(names("cd x && touch a && cd y && touch b"), ["x/a", "x/y/b"]);
    assert_eq!(names("cd x; touch /w/p/a"), ["a"], "an absolute path is the same from everywhere");
}

#[test]
fn a_command_is_told_in_words_or_as_text_and_works_where_it_says() {
    let argv = |words: &[&str]| WantedForm::Argv(words.iter().map(|word| (*word).to_owned()).collect());
    let paths = |form, cwd| run(form, cwd).names.into_iter().map(|it| it.path).collect::<Vec<_>>();
    assert_eq!(paths(argv(&["bash", "-lc", "echo x > a"]), Some("/w/p/sub")), ["/w/p/sub/a"]);
    assert_eq!(paths(argv(&["touch", "a b"]), Some("sub")), ["/w/p/sub/a b"]);
    assert_eq!(paths(argv(&["echo", "x > a"]), None), [""; 0]);
    let nowhere = WantedCommand { form: argv(&["touch", "a"]), cwd: None, env: Vec::new() };
    let context = hunkgate::policy::Context { cwd: String::new(), ..context(&Flat) };
    assert_eq!(deeds(&nowhere, &context).names, []);
}

#[test]
fn what_only_reads_names_nothing() {
    for (_, _, text) in corpus() {
        let told = run(WantedForm::Text(text.clone()), None);
        assert!(!told.only_reads || told.names.is_empty(), "{text:?} {told:?}");
    }
}

proptest! {
    #[test]
    fn any_text_names_few_and_absolute_paths(
        text in "([a-z]{1,3}|touch |rm |mv |sed -i |cat |cd |git |cp |>|>>|<<|'|\"|E|;|&&|\\||\\(|\\)|\n| |-i|\\$|/|\\.\\.){0,24}",
    ) {
        let told = run(WantedForm::Text(text.clone()), None);
        prop_assert!(told.names.len() <= 64);
        for claim in &told.names {
            prop_assert!(claim.path.starts_with('/') && !claim.path.contains("/../"), "{text:?} {claim:?}");
        }
        prop_assert!(!told.only_reads || told.names.is_empty(), "{text:?} {told:?}");
    }
}
