//! Claude Code: `permissions` of `settings.json`. Its spelling and its precedence are ours; its paths are not.

use super::{Carried, Imported, decision};
use crate::config::Decision;
use serde_json::Value;

pub(super) fn import(settings: &Value) -> Imported {
    let mut imported = Imported::default();
    let permissions = settings.get("permissions").and_then(Value::as_object);
    for (name, value) in permissions.into_iter().flatten() {
        match (decision(name), value.as_array()) {
            (Some(decision), Some(rules)) => {
                for rule in rules {
                    match rule.as_str() {
                        Some(rule) => take(&mut imported, decision, rule),
                        None => imported.leave(format!("{name}: {rule}"), "no text"),
                    }
                }
            }
            _ => imported.leave(format!("permissions.{name} = {value}"), setting(name)),
        }
    }
    for (name, why) in [
        ("hooks", "programs that Claude Code runs; hunkgate asks programs by [[assessor]]"),
        ("sandbox", "what a command can reach is the agent's to bound"),
        ("autoMode", "a model decides there; hunkgate asks programs by [[assessor]]"),
    ] {
        if settings.get(name).is_some() {
            imported.leave(name, why);
        }
    }
    imported
}

fn setting(name: &str) -> &'static str {
    match name {
        "defaultMode" => "a mode is the session's own, and is not set by rules ([modes] says what it means)",
        "additionalDirectories" => "directories come with the session",
        "disableBypassPermissionsMode" | "disableAutoMode" => {
            "modes are the agent's; [modes] says what one means here"
        }
        _ => "no rule",
    }
}

/// `/x` is at the top of the project there, and `x` in the working directory. Here `/x` is absolute as well.
fn take(imported: &mut Imported, decision: Decision, rule: &str) {
    let (tool, inside) = match rule.split_once('(') {
        Some((tool, rest)) => (tool.trim(), rest.strip_suffix(')')),
        None => (rule.trim(), None),
    };
    let ours = match tool {
        "Glob" | "Grep" | "LS" | "NotebookRead" => "Read",
        other => other,
    };
    let files = matches!(ours, "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit");
    let rule = match inside {
        Some(path)
            if files && decision == Decision::Allow && path.starts_with('/') && !path.starts_with("//") =>
        {
            format!("{ours}(.{path})")
        }
        Some(inside) => format!("{ours}({inside})"),
        None if rule.contains('(') => return imported.leave(rule, "its bracket is not closed"),
        None => ours.to_owned(),
    };
    imported.rules.push(Carried::permission(decision, rule));
}
