//! Every publicly reported way around a command policy, as a class of its own: 300 commands at least, none of them too lenient.

use crate::{Links, context, decision, policy};
use hunkgate::config::{Decision, Mode};
use hunkgate::policy::{Policy, judge_command};
use std::collections::{BTreeMap, BTreeSet};

/// The classes of approvals.md 11.5, in its order.
const CLASSES: [&str; 26] = [
    "env_poisoning",
    "parameter_expansion",
    "split_dollar",
    "pattern_operands",
    "part_cap",
    "first_token",
    "group_and_process",
    "shell_c",
    "path_spelling",
    "symlinked_reads",
    "created_later",
    "redirect_on_allowed",
    "chains_and_redirects",
    "auto_approve_hooks",
    "process_substitution_hidden",
    "heredoc_data",
    "sed_e_w",
    "sort_program",
    "man_html",
    "abbreviated_git",
    "ifs",
    "newline_and_amp",
    "dns_exfiltration",
    "plug_ins_at_version",
    "zsh_equals",
    "disguised_name",
];
/// How many commands each class has at least.
const ENOUGH: usize = 300;

/// What a person may have written: prefixes that are allowed, and what is denied.
const RULES: &str = "[permissions]\nallow = ['Bash(git show:*)', 'Bash(cargo test:*)']\n\
                     deny = ['Bash(rm:*)', 'Bash(curl:*)', 'Read(**/.env)']\n";
/// Whatever a rule allows, a floor holds.
const ALLOWS_ALL: &str = "[[rule]]\ntool = 'shell'\ncommand = '*'\ndecision = 'allow'\nredirects = true\n";

/// A form of a class: the least that has to be said of it, and the text with its slots.
struct Form {
    class: String,
    least: Decision,
    text: String,
}

fn forms() -> (BTreeMap<String, Vec<String>>, Vec<Form>) {
    let path = format!("{}/tests/policy_corpus/classes.txt", env!("CARGO_MANIFEST_DIR"));
    let (mut slots, mut forms) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
    for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')) {
        if let Some(slot) = line.strip_prefix("slot ") {
            let (name, value) = slot.split_once('\t').unwrap();
            slots.entry(format!("{{{name}}}")).or_default().push(value.to_owned());
            continue;
        }
        let cells: Vec<&str> = line.splitn(3, '\t').collect();
        let [class, least, text] = cells.as_slice() else { panic!("{line}") };
        let text = (*text).to_owned();
        forms.push(Form { class: (*class).to_owned(), least: decision(least), text });
    }
    (slots, forms)
}

/// Fills every slot of a form in every way.
fn filled(form: &str, slots: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut all = vec![form.to_owned()];
    for (slot, values) in slots.iter().filter(|(slot, _)| form.contains(slot.as_str())) {
        all = all.iter().flat_map(|text| values.iter().map(|value| text.replace(slot, value))).collect();
    }
    all.into_iter().map(|text| text.replace('⏎', "\n")).collect()
}

fn ground() -> Links {
    Links(BTreeMap::from([
        ("/w/p/cfg", "/w/p/.env"),
        ("/w/p/keys", "/home/u/.ssh"),
        ("/w/p/out", "/etc"),
        ("/w/p/up", "/home/u"),
    ]))
}

#[test]
fn every_reported_class_has_three_hundred_commands_and_none_is_judged_too_leniently() {
    let (slots, forms) = forms();
    let (rules, allows_all, none) = (policy(RULES), policy(ALLOWS_ALL), Policy::default());
    let ground = ground();
    let judged = |command: &str, policy: &Policy| {
        judge_command(command, policy, Mode::Normal, &context(&ground)).decision
    };
    let (mut counts, mut wrong) = (BTreeMap::<&str, BTreeSet<String>>::new(), Vec::new());
    for form in &forms {
        let policy = match form.class.as_str() {
            "created_later" => &allows_all,
            // A rule for `git show` is about all that it does.
            "abbreviated_git" => &none,
            _ => &rules,
        };
        for command in filled(&form.text, &slots) {
            let said = judged(&command, policy);
            let right =
                if form.least == Decision::Allow { said == Decision::Allow } else { said >= form.least };
            if !right {
                wrong.push(format!("{said:?} [{}] {command:?}", form.class));
            }
            counts.entry(&form.class).or_default().insert(command);
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(counts.keys().copied().collect::<BTreeSet<_>>(), CLASSES.into(), "the classes");
    for (class, commands) in &counts {
        assert!(commands.len() >= ENOUGH, "{class}: {}", commands.len());
    }
}
