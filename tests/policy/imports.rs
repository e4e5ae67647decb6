//! Rules of other tools: what their files mean, in our spelling, and what cannot be said is named.

use hunkgate::config::{Config, Decision, Mode, Written};
use hunkgate::policy::{Context, Flat, Foreign, Imported, Policy, judge_command};

fn imported(tool: Foreign, text: &str) -> Imported {
    let imported = tool.import(text).expect("a file of the tool");
    let printed = imported.toml();
    let written =
        Written::parse("printed.toml", &printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    let config = Config::of(Some(&written), None);
    Policy::compile(&config.rules, Some("/home/u")).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    imported
}

/// What the printed rules say of commands.
fn says(imported: &Imported, mode: Mode, command: &str) -> Decision {
    let written = Written::parse("printed.toml", &imported.toml()).expect("it was read before");
    let config = Config::of(Some(&written), None);
    let policy = Policy::compile(&config.rules, Some("/home/u")).expect("it was compiled before");
    let ground = Flat;
    judge_command(command, &policy, mode, &Context::at("/w/p", &ground)).decision
}

fn left(imported: &Imported, what: &str) -> String {
    let found = imported.left.iter().find(|left| left.what.contains(what));
    found.unwrap_or_else(|| panic!("{what} is not named: {:#?}", imported.left)).why.clone()
}

const CLAUDE: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(cargo build)", "Read(/docs/**)", "Edit(/src/**)", "mcp__github__list_issues", "WebSearch", "Grep"],
    "ask": ["Bash(git push:*)", "Edit(~/.zshrc)"],
    "deny": ["Read(./.env)", "Bash(curl:*)", "WebFetch", "Bash(rm -rf"],
    "defaultMode": "bypassPermissions",
    "additionalDirectories": ["../shared"]
  },
  "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "check.sh" }] }] },
  "env": { "FOO": "bar" }
}"#;

#[test]
fn claude_code_is_carried_over_and_its_paths_do_not_widen() {
    let rules = imported(Foreign::Claude, CLAUDE);
    assert_eq!(says(&rules, Mode::Normal, "npm run test -- --watch"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "npm run tests"), Decision::Ask);
    assert_eq!(says(&rules, Mode::Normal, "cd x && git push"), Decision::Ask);
    assert_eq!(says(&rules, Mode::Normal, "true && curl x"), Decision::Deny);
    let printed = rules.toml();
    assert!(printed.contains("\"Edit(./src/**)\"") && printed.contains("\"Read(./docs/**)\""), "{printed}");
    assert!(printed.contains("\"Read(./.env)\""), "{printed}");
    for what in ["defaultMode", "additionalDirectories", "hooks", "WebSearch", "Bash(rm -rf"] {
        left(&rules, what);
    }
}

const CODEX: &str = r#"
# what we trust
prefix_rule(
    pattern = ["gh", "pr", ["view", "list"]],
    decision = "allow",
    justification = "looking is harmless",
    match = ["gh pr view 7", ["gh", "pr", "list"]],
    not_match = ["gh pr merge 7"],
)
prefix_rule(pattern = ["git", "reset", "--hard"], decision = "forbidden", justification = 'destructive')
prefix_rule(pattern=["make"])
prefix_rule(pattern = ["npm", "publish"], decision = "prompt", sandbox = "none")
host_executable(name = "git", paths = ["/usr/bin/git"])
prefix_rule(pattern = ["sort"], match = ["sort -o x y | sh"])
SAFE = ["terraform"] + ["plan"]
prefix_rule(pattern = SAFE, decision = "al" + "low")
prefix_rule(pattern = ["terraform", ["apply"] + ["destroy"]], decision = "forbidden")
network_rule(host = "evil.example.org", protocol = "https", decision = "forbidden", justification = "no")
network_rule(host = "good.example.org", protocol = "https", decision = "allow")
for word in ["a", "b"]:
    prefix_rule(pattern = [word])
prefix_rule(pattern = [UNKNOWN])
prefix_rule(pattern = ["docker"], decision = "prompt")
"#;

#[test]
fn codex_is_carried_over_and_what_is_no_plain_rule_is_named() {
    let rules = imported(Foreign::Codex, CODEX);
    assert_eq!(says(&rules, Mode::Normal, "gh pr view 7"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "gh pr merge 7"), Decision::Ask);
    assert_eq!(says(&rules, Mode::Normal, "x; /usr/bin/git reset --hard HEAD"), Decision::Deny);
    assert_eq!(says(&rules, Mode::Normal, "make all"), Decision::Allow);
    assert!(left(&rules, "npm").contains("sandbox"));
    assert!(left(&rules, "the examples of allow prefix = [\"sort\"]").contains("do not hold"));
    left(&rules, "host_executable");
    assert_eq!(says(&rules, Mode::Normal, "terraform plan -out x"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "terraform destroy"), Decision::Deny);
    assert_eq!(says(&rules, Mode::Normal, "docker run x"), Decision::Ask);
    assert!(rules.toml().contains("WebFetch(domain:evil.example.org)"), "{}", rules.toml());
    assert!(!rules.toml().contains("\"WebFetch(domain:good"), "{}", rules.toml());
    for what in ["line 18: network_rule", "line 19: network_rule", "line 20: for word", "UNKNOWN"] {
        left(&rules, what);
    }
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\nmodel = \"x\"\n";
    let rules = imported(Foreign::Codex, settings);
    assert_eq!(rules.rules.len(), 0);
    left(&rules, "approval_policy");
    left(&rules, "sandbox_mode");
}

#[test]
fn what_codex_says_of_the_tools_of_servers_is_carried_over() {
    let settings = "[mcp_servers.files]\ncommand = 'x'\ndisabled_tools = ['delete']\nenabled_tools = ['read']\n\
                    default_tools_approval_mode = 'approve'\n[mcp_servers.files.tools.write]\napproval_mode = 'prompt'\n\
                    [mcp_servers.web]\ndefault_tools_approval_mode = 'prompt'\n[mcp_servers.web.tools.get]\napproval_mode = 'approve'\n\
                    [mcp_servers.odd]\ndefault_tools_approval_mode = 'writes'\n[apps.x]\nenabled = true\n";
    let rules = imported(Foreign::Codex, settings);
    let printed = rules.toml();
    let lists = printed.replace('\n', " ");
    assert!(lists.contains("allow = [   \"mcp__files\", ]"), "{printed}");
    assert!(lists.contains("ask = [   \"mcp__files__write\",   \"mcp__web\", ]"), "{printed}");
    assert!(lists.contains("deny = [   \"mcp__files__delete\", ]"), "{printed}");
    for what in ["enabled_tools", "mcp_servers.web.tools.get", "mcp_servers.odd", "apps"] {
        left(&rules, what);
    }
}

#[test]
fn several_files_of_a_tool_are_read_together() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let low =
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'git'\ndecision = 'deny'\npriority = 1\n";
    let high =
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'git'\ndecision = 'allow'\npriority = 9\n";
    let settings = r#"{ "tools": { "exclude": ["run_shell_command(rm)"] } }"#;
    for files in [[("a.toml", low), ("b.toml", high)], [("a.toml", high), ("b.toml", low)]] {
        let mut files: Vec<_> = files.iter().map(|(name, text)| file(name, text)).collect();
        files.push(file("settings.json", settings));
        let rules = Foreign::Gemini.import_all(&files).expect("files of the tool");
        assert_eq!(says(&rules, Mode::Normal, "git push"), Decision::Allow, "{}", rules.toml());
        assert_eq!(says(&rules, Mode::Normal, "rm x"), Decision::Deny);
    }
    let rules = Foreign::Codex
        .import_all(&[
            file("default.rules", "prefix_rule(pattern = ['make'])\n"),
            file("team.rules", "prefix_rule(pattern = ['make', 'install'], decision = 'forbidden')\nodd()\n"),
            file("config.toml", "sandbox_mode = 'x'\n"),
        ])
        .expect("files of the tool");
    assert_eq!(says(&rules, Mode::Normal, "make all"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "make install"), Decision::Deny);
    left(&rules, "team.rules: line 2");
    left(&rules, "config.toml: sandbox_mode");
}

const GEMINI: &str = r#"
[[rule]]
toolName = "run_shell_command"
decision = "deny"
priority = 10
denyMessage = "no shell"

[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git diff"]
decision = "allow"
priority = 100
modes = ["default", "autoEdit"]

[[rule]]
toolName = "run_shell_command"
commandPrefix = "npm publish"
decision = "deny"
priority = 200
denyMessage = "publishing is for CI"

[[rule]]
toolName = "run_shell_command"
commandRegex = "rm .*-(r|f)"
decision = "ask_user"
priority = 150

[[rule]]
toolName = "write_file"
argsPattern = '"file_path":".*\.lock"'
decision = "deny"
priority = 300

[[rule]]
mcpName = "jira"
decision = "ask_user"
priority = 5

[[rule]]
toolName = "web_fetch"
decision = "ask_user"
priority = 6
interactive = false
"#;

#[test]
fn gemini_is_carried_over_without_what_a_higher_priority_softens() {
    let rules = imported(Foreign::Gemini, GEMINI);
    assert!(left(&rules, "rule 1 (priority 10)").contains("rule 2 (priority 100)"));
    assert_eq!(says(&rules, Mode::Normal, "git status"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "npm publish --tag x"), Decision::Deny);
    assert_eq!(says(&rules, Mode::Normal, "rm -rf x"), Decision::Ask);
    assert_eq!(says(&rules, Mode::Normal, "make"), Decision::Ask);
    assert!(left(&rules, "rule 2 (priority 100): modes").contains("yolo"));
    assert!(left(&rules, "rule 5").contains("argsPattern"));
    assert!(left(&rules, "rule 7").contains("interactive"));
    assert!(rules.toml().contains("\"mcp__jira\""), "{}", rules.toml());
    let names = "[[rule]]\ntoolName = 'mcp_jira_*'\ndecision = 'deny'\n[[rule]]\ntoolName = 'mcp_*_delete'\ndecision = 'deny'\n\
                 [[rule]]\nmcpName = '*'\ndecision = 'ask_user'\n";
    let named = imported(Foreign::Gemini, names).toml();
    for rule in ["\"mcp__jira__*\"", "\"mcp__*__delete\"", "\"mcp\""] {
        assert!(named.contains(rule), "{named}");
    }
    let settings = r#"{ "tools": { "allowed": ["run_shell_command(git log)", "read_file"], "exclude": ["run_shell_command(rm)", "google_web_search"], "core": ["read_file"] },
        "mcp": { "excluded": ["slack"] }, "mcpServers": { "files": { "trust": true } }, "general": { "defaultApprovalMode": "yolo" } }"#;
    let rules = imported(Foreign::Gemini, settings);
    assert_eq!(says(&rules, Mode::Normal, "git log -1"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "x && rm y"), Decision::Deny);
    for what in ["google_web_search", "tools.core", "defaultApprovalMode"] {
        left(&rules, what);
    }
    assert!(rules.toml().contains("\"mcp__slack\"") && rules.toml().contains("\"mcp__files\""));
}

const OPENCODE: &str = r#"{
  // mine
  "$schema": "https://opencode.ai/config.json",
  "permission": {
    "bash": { "*": "ask", "git *": "allow", "git push *": "deny", "git push origin dev": "allow", "rm *": "deny", "ls ?": "allow", "terraform *": "allow", "terraform *": "deny" },
    "edit": { "*": "deny", "packages/web/*.mdx": "allow", "*/secrets/*": "deny" },
    "read": "allow",
    "webfetch": "deny",
    "external_directory": { "~/projects/*": "allow" },
    "doom_loop": "ask",
    "skill": "deny",
  },
  "agent": { "plan": { "permission": { "edit": "deny" } } },
}"#;

#[test]
fn opencode_is_carried_over_although_its_last_rule_wins() {
    let rules = imported(Foreign::Opencode, OPENCODE);
    // `"*": "ask"` would outvote what allows; without it the rest is asked about all the same.
    assert!(left(&rules, "permission.bash \"*\"").contains("git *"));
    assert_eq!(says(&rules, Mode::Normal, "git commit -m x"), Decision::Allow);
    assert_eq!(says(&rules, Mode::Normal, "make"), Decision::Ask);
    // There the last rule softens "git push *". Here that one stays, or "git *" would allow every push.
    assert!(left(&rules, "permission.bash \"git push origin dev\"").contains("git push *"));
    assert_eq!(says(&rules, Mode::Normal, "git push origin main"), Decision::Deny);
    assert_eq!(says(&rules, Mode::Normal, "x; rm y"), Decision::Deny);
    assert_eq!(says(&rules, Mode::Normal, "terraform apply"), Decision::Deny);
    assert!(left(&rules, "permission.edit \"*\"").contains("mdx"));
    assert!(rules.toml().contains("\"Edit(**/secrets/*)\""), "{}", rules.toml());
    for what in ["external_directory", "doom_loop", "skill", "agent.plan"] {
        left(&rules, what);
    }
    let everything = imported(Foreign::Opencode, r#"{ "permission": "allow" }"#);
    assert_eq!(says(&everything, Mode::Normal, "make"), Decision::Allow);
    assert_eq!(says(&everything, Mode::Normal, "sudo make"), Decision::Ask, "a floor stays");
}

#[test]
fn nothing_that_is_left_out_is_left_out_in_silence() {
    for (tool, text) in [
        (Foreign::Claude, CLAUDE),
        (Foreign::Codex, CODEX),
        (Foreign::Gemini, GEMINI),
        (Foreign::Opencode, OPENCODE),
    ] {
        let rules = imported(tool, text);
        let printed = rules.toml();
        for left in &rules.left {
            assert!(printed.contains(&left.what.replace('\n', " ")), "{} is not printed", left.what);
            assert!(!left.why.is_empty(), "{}", left.what);
        }
    }
}

#[test]
fn what_is_no_file_of_the_tool_is_refused() {
    for tool in [Foreign::Claude, Foreign::Gemini, Foreign::Opencode, Foreign::Codex] {
        assert!(tool.import("= [").is_err(), "{tool:?}");
    }
    for text in [
        "",
        "prefix_rule(",
        "prefix_rule(pattern=[[[[[[[[[[\"a\"]]]]]]]]]])",
        "prefix_rule(pattern=[\"a\"",
        "def f():\n  prefix_rule()",
    ] {
        let rules = Foreign::Codex.import(&format!("# prefix_rule\n{text}")).expect("it is read");
        assert!(rules.rules.is_empty(), "{text}");
    }
}
