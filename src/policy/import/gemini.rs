//! Gemini CLI: lists in `settings.json`, and policies in TOML, where the highest priority counts.

use super::{Carried, Imported, Ordered, Spelled, decision};
use crate::config::{Decision, Mode};
use serde_json::Value;

/// `settings.json`.
pub(super) fn settings(settings: &Value) -> Imported {
    let mut imported = Imported::default();
    let at = |names: [&str; 2]| settings.get(names[0]).and_then(|value| value.get(names[1]));
    let lists = [
        (at(["tools", "allowed"]), "tools.allowed", Decision::Allow),
        (settings.get("allowedTools"), "allowedTools", Decision::Allow),
        (at(["tools", "exclude"]), "tools.exclude", Decision::Deny),
        (settings.get("excludeTools"), "excludeTools", Decision::Deny),
    ];
    for (list, name, decision) in lists {
        for tool in list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            match listed(tool) {
                Ok(spelled) => imported.rules.push(Carried::permission(decision, spelled)),
                Err(why) => imported.leave(format!("{name}: {tool}"), why),
            }
        }
    }
    for server in
        at(["mcp", "excluded"]).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        imported.rules.push(Carried::permission(Decision::Deny, format!("mcp__{server}")));
    }
    for (found, name, why) in [
        (
            at(["tools", "core"]).or(settings.get("coreTools")),
            "tools.core",
            "a list of the tools that there are; hunkgate hides none",
        ),
        (at(["mcp", "allowed"]), "mcp.allowed", "a list of the servers that there are; hunkgate hides none"),
        (
            at(["general", "defaultApprovalMode"]),
            "general.defaultApprovalMode",
            "a mode is the session's own ([modes] says what it means)",
        ),
        (
            at(["security", "disableYoloMode"]),
            "security.disableYoloMode",
            "modes are the agent's; [modes] says what one means here",
        ),
        (at(["tools", "sandbox"]), "tools.sandbox", "what a command can reach is the agent's to bound"),
        (settings.get("policyPaths"), "policyPaths", "policies elsewhere: name each as FILE"),
        (settings.get("adminPolicyPaths"), "adminPolicyPaths", "policies elsewhere: name each as FILE"),
        (settings.get("hooks"), "hooks", "programs that Gemini runs; hunkgate asks programs by [[assessor]]"),
    ] {
        if found.is_some() {
            imported.leave(name, why);
        }
    }
    for (server, of) in settings.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        if of.get("trust") == Some(&Value::Bool(true)) {
            imported.rules.push(Carried::permission(Decision::Allow, format!("mcp__{server}")));
        }
    }
    imported
}

fn listed(tool: &str) -> Result<String, &'static str> {
    if let Some(inside) = tool.strip_suffix(')').and_then(|it| it.split_once('(')) {
        return match inside.0 {
            "run_shell_command" | "ShellTool" => Ok(format!("Bash({}:*)", inside.1)),
            _ => Err("only commands are told apart"),
        };
    }
    named(tool)
}

/// Returns our word for a tool of its.
fn named(tool: &str) -> Result<String, &'static str> {
    Ok(match tool {
        "run_shell_command" | "ShellTool" => "Bash".to_owned(),
        "read_file"
        | "read_many_files"
        | "ReadFileTool"
        | "list_directory"
        | "glob"
        | "search_file_content"
        | "grep_search" => "Read".to_owned(),
        "write_file" | "replace" | "edit" | "WriteFileTool" | "EditTool" => "Edit".to_owned(),
        "web_fetch" | "WebFetchTool" => "WebFetch".to_owned(),
        "*" => "*".to_owned(),
        "mcp_*" => "mcp".to_owned(),
        // `mcp_SERVER_TOOL`, where a server has no underscore, and `*` stands for all of either.
        _ if tool.starts_with("mcp_") && !tool.starts_with("mcp__") => {
            let (server, tool) =
                tool["mcp_".len()..].split_once('_').ok_or("it names no tool of a server")?;
            format!("mcp__{server}__{tool}")
        }
        _ => match tool.split_once("__") {
            Some(("mcp", _)) => tool.to_owned(),
            Some((server, tool)) if !server.is_empty() => format!("mcp__{server}__{tool}"),
            _ => return Err("no tool that is told apart here"),
        },
    })
}

/// Policies, each with the name of its file: of all of them together the highest priority counts.
pub(super) fn policies(policies: &[(String, Value)]) -> Imported {
    let mut imported = Imported::default();
    let mut rules: Vec<(f64, Ordered)> = Vec::new();
    for (file, policy) in policies {
        let of = if policies.len() > 1 { format!("{file}: ") } else { String::new() };
        for (number, rule) in policy.get("rule").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let priority = rule.get("priority").and_then(Value::as_f64).unwrap_or_default();
            let written = format!("{of}rule {} (priority {priority})", number + 1);
            match carried(&mut imported, &written, rule) {
                Ok(found) => rules.extend(found.into_iter().map(|rule| (priority, rule))),
                Err(why) => imported.leave(format!("{written}: {rule}"), why),
            }
        }
        let others = policy.as_object().into_iter().flatten().map(|(name, _)| name);
        for name in others.filter(|name| *name != "rule") {
            imported.leave(format!("{of}{name}"), "no rule");
        }
    }
    rules.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let ordered: Vec<Ordered> = rules.into_iter().map(|(_, rule)| rule).collect();
    imported.take_ordered(&ordered);
    imported
}

fn carried(imported: &mut Imported, written: &str, rule: &Value) -> Result<Vec<Ordered>, String> {
    const KNOWN: [&str; 12] = [
        "toolName",
        "mcpName",
        "commandPrefix",
        "commandRegex",
        "decision",
        "priority",
        "modes",
        "allowRedirection",
        "allow_redirection",
        "denyMessage",
        "deny_message",
        "name",
    ];
    let text = |name: &str| rule.get(name).and_then(Value::as_str);
    let many = |name: &str| match rule.get(name) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let odd = |name: &str| match name {
        "argsPattern" => "argsPattern is about the JSON of its arguments",
        "interactive" => "whether somebody sits there is not what a rule is about here",
        "subagent" => "a rule here is about everybody",
        "toolAnnotations" => "what a server says of its tools is not asked here",
        _ => "it cannot be said here",
    };
    if let Some((name, _)) =
        rule.as_object().into_iter().flatten().find(|(name, _)| !KNOWN.contains(&name.as_str()))
    {
        return Err(format!("{name}: {}", odd(name)));
    }
    let decision = text("decision").and_then(decision).ok_or("neither allow, ask_user nor deny")?;
    let modes = modes(imported, written, (decision, &many("modes")))?;
    let reason = text("denyMessage").or(text("deny_message")).map(str::to_owned);
    let redirects = ["allowRedirection", "allow_redirection"]
        .iter()
        .any(|name| rule.get(*name) == Some(&Value::Bool(true)));
    let mut spelled: Vec<(String, String, Spelled)> = Vec::new();
    for prefix in many("commandPrefix") {
        let prefix = prefix.trim().to_owned();
        spelled.push(("bash".to_owned(), format!("{prefix}*"), Spelled::Command(format!("{prefix} *"))));
    }
    for pattern in many("commandRegex") {
        // Its beginning has to match there; here the whole, for a rule that allows.
        let ours = if decision == Decision::Allow { pattern.clone() } else { format!("^(?:{pattern})") };
        spelled.push(("bash".to_owned(), format!("regex {pattern}"), Spelled::Regex(ours)));
    }
    if spelled.is_empty() {
        let mut tools = many("toolName");
        if let Some(server) = text("mcpName") {
            let of = |tool: &String| format!("mcp__{server}__{tool}");
            tools = if tools.is_empty() {
                vec![if server == "*" { "mcp_*".to_owned() } else { format!("mcp__{server}") }]
            } else {
                tools.iter().map(of).collect()
            };
        }
        for tool in tools {
            let ours = named(&tool)?;
            let about = match ours.as_str() {
                "Bash" => "bash".to_owned(),
                other => other.to_owned(),
            };
            let spelling = if ours == "*" { Spelled::Tool(ours) } else { Spelled::Permission(ours) };
            spelled.push((about, "*".to_owned(), spelling));
        }
    }
    if spelled.is_empty() {
        return Err("it names no tool".to_owned());
    }
    let ordered = |(tool, pattern, spelled): (String, String, Spelled)| Ordered {
        rule: Carried {
            modes: modes.clone(),
            reason: reason.clone(),
            redirects: redirects && decision == Decision::Allow && tool == "bash",
            ..Carried::new(decision, spelled)
        },
        about: (tool, pattern),
        written: written.to_owned(),
    };
    Ok(spelled.into_iter().map(ordered).collect())
}

/// Its `autoEdit` and `yolo` are one mode here: a rule that allows holds in it only when it held in both.
fn modes(
    imported: &mut Imported,
    written: &str,
    (decision, names): (Decision, &[String]),
) -> Result<std::collections::BTreeSet<Mode>, String> {
    let has = |name: &str| names.iter().any(|it| it == name);
    let mut modes = std::collections::BTreeSet::new();
    if let Some(odd) =
        names.iter().find(|name| !["default", "autoEdit", "yolo", "plan"].contains(&name.as_str()))
    {
        return Err(format!("{odd} is no mode that is known here"));
    }
    modes.extend(has("default").then_some(Mode::Normal));
    modes.extend(has("plan").then_some(Mode::Plan));
    let (some, all) = (has("autoEdit") || has("yolo"), has("autoEdit") && has("yolo"));
    if some && !all {
        imported.leave(
            format!("{written}: modes"),
            "autoEdit and yolo are one mode here; a rule that allows holds in it only when it holds in both",
        );
    }
    modes.extend((all || (some && decision != Decision::Allow)).then_some(Mode::Auto));
    if modes.is_empty() && !names.is_empty() {
        return Err("it would hold in no mode".to_owned());
    }
    Ok(modes)
}
