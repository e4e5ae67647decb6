//! opencode: `permission` of `opencode.json`. The last rule that is about a use counts there.

use super::{Carried, Imported, Ordered, Spelled, decision};
use crate::config::Decision;
use serde_json::Value;

pub(super) fn import(settings: &Value) -> Imported {
    let mut imported = Imported::default();
    let mut rules = Vec::new();
    match settings.get("permission") {
        Some(Value::String(word)) => whole(&mut imported, &mut rules, "*", word),
        Some(Value::Object(tools)) => {
            for (tool, value) in tools {
                match (value.as_str(), value.as_object()) {
                    (Some(word), _) => whole(&mut imported, &mut rules, tool, word),
                    (None, Some(patterns)) => {
                        for (pattern, word) in patterns {
                            let word = word.as_str().unwrap_or_default();
                            one(&mut imported, &mut rules, (tool, pattern), word);
                        }
                    }
                    (None, None) => {
                        let what = format!("permission.{tool} = {value}");
                        imported.leave(what, "neither a word nor patterns");
                    }
                }
            }
        }
        Some(other) => imported.leave(format!("permission = {other}"), "neither a word nor tools"),
        None => {}
    }
    for (tool, on) in settings.get("tools").and_then(Value::as_object).into_iter().flatten() {
        if on == &Value::Bool(false) {
            whole(&mut imported, &mut rules, tool, "deny");
        }
    }
    for (agent, of) in settings.get("agent").and_then(Value::as_object).into_iter().flatten() {
        if of.get("permission").is_some() || of.get("tools").is_some() {
            imported.leave(format!("agent.{agent}"), "rules of one agent; rules here hold for every agent");
        }
    }
    imported.take_ordered(&rules);
    imported
}

/// A word about every use of a tool.
fn whole(imported: &mut Imported, rules: &mut Vec<Ordered>, tool: &str, word: &str) {
    one(imported, rules, (tool, "*"), word);
}

fn one(imported: &mut Imported, rules: &mut Vec<Ordered>, (tool, pattern): (&str, &str), word: &str) {
    let written = format!("permission.{tool} \"{pattern}\" = \"{word}\"");
    let Some(decision) = decision(word) else {
        return imported.leave(written, "neither allow, ask nor deny");
    };
    let everything = pattern == "*";
    let spelled = match tool {
        "bash" if everything => Spelled::Permission("Bash".to_owned()),
        "bash" if pattern.contains('?') => Spelled::Regex(format!("^{}$", regex(pattern))),
        "bash" => Spelled::Permission(format!("Bash({pattern})")),
        "edit" | "write" | "patch" | "read" => {
            let ours = if tool == "read" { "Read" } else { "Edit" };
            if pattern.contains('?') {
                return imported.leave(written, "patterns of paths have no `?` that stands for a `/` here");
            }
            Spelled::Permission(if everything {
                ours.to_owned()
            } else {
                format!("{ours}({})", deep(pattern, decision))
            })
        }
        "webfetch" if everything => Spelled::Permission("WebFetch".to_owned()),
        "*" if everything => Spelled::Tool("*".to_owned()),
        "external_directory" => {
            let why = if decision == Decision::Allow {
                "reading outside the workspace is asked about, and writing there is a floor: nothing allows it"
            } else {
                "what lies outside is asked about always; a rule about a path denies it"
            };
            return imported.leave(written, why);
        }
        "doom_loop" => return imported.leave(written, "repetition is not judged here"),
        "glob" | "grep" | "list" | "codesearch" | "websearch" | "task" | "skill" | "lsp" | "todowrite"
        | "todoread" | "question" => {
            return imported.leave(written, "no tool that is told apart here");
        }
        _ => {
            return imported
                .leave(written, "which server and tool of it that is cannot be told: mcp__SERVER__TOOL");
        }
    };
    let about = if tool == "write" || tool == "patch" { "edit" } else { tool };
    let rule = Carried::new(decision, spelled);
    rules.push(Ordered { rule, about: (about.to_owned(), pattern.to_owned()), written });
}

/// `*` crosses directories there. Where a rule asks or denies it has to cross them here too.
fn deep(pattern: &str, decision: Decision) -> String {
    if decision == Decision::Allow {
        return pattern.to_owned();
    }
    let parts: Vec<&str> = pattern.split('/').collect();
    let last = parts.len() - 1;
    let part = |(at, part): (usize, &&str)| {
        if *part == "*" && at < last { "**".to_owned() } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("/")
}

fn regex(pattern: &str) -> String {
    let mut out = String::new();
    for c in pattern.chars() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c if c.is_alphanumeric() || c == ' ' || c == '_' => out.push(c),
            c => out.extend(['\\', c]),
        }
    }
    out
}
