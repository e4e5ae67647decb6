//! The configuration to paste, editor by editor.

use std::fmt::Write as _;

/// An editor, a client or a chain that can launch us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Editor {
    /// Zed
    Zed,
    /// codecompanion.nvim
    Codecompanion,
    /// avante.nvim
    Avante,
    /// agent-shell (Emacs)
    AgentShell,
    /// toad
    Toad,
    /// acpx
    Acpx,
    /// A chain of proxies under agent-client-protocol-conductor
    Chain,
}

/// The agent that is wrapped when none is named.
const DEFAULT_AGENT: &str = "claude-agent-acp";

/// Writes where to paste what, for a program at `exe` that wraps `agent`.
pub fn setup(editor: Editor, exe: &str, agent: &[String]) -> String {
    let fallback = [DEFAULT_AGENT.to_owned()];
    let agent = if agent.is_empty() { &fallback } else { agent };
    let mut argv = vec![exe.to_owned(), "run".to_owned(), "--".to_owned()];
    argv.extend(agent.iter().cloned());
    match editor {
        Editor::Zed => zed(&argv),
        Editor::Codecompanion => codecompanion(&argv),
        Editor::Avante => avante(&argv),
        Editor::AgentShell => agent_shell(&argv),
        Editor::Toad => format!(
            "In a shell:\n\n  toad acp {}\n\nor, in the TOML of an agent of toad:\n\n  run_command.\"*\" = {}\n",
            shell(&shell_line(&argv)),
            quoted(&shell_line(&argv)),
        ),
        Editor::Acpx => format!(
            "In a shell:\n\n  acpx --agent {} …\n\nor, in acpx's configuration:\n\n  \"agents\": {{ \"reviewed\": {{ \"command\": {} }} }}\n",
            shell(&shell_line(&argv)),
            quoted(&shell_line(&argv)),
        ),
        Editor::Chain => format!(
            "In a shell:\n\n  agent-client-protocol-conductor agent {} {}\n",
            shell(&shell_line(&[exe.to_owned(), "chain".to_owned()])),
            shell(&shell_line(agent)),
        ),
    }
}

fn zed(argv: &[String]) -> String {
    format!(
        "In settings.json:\n\n  \"agent_servers\": {{\n    \"Reviewed\": {{\n      \"type\": \"custom\",\n      \"command\": {},\n      \"args\": [{}],\n      \"env\": {{}}\n    }}\n  }}\n\nThe name is yours to choose; do not call it gemini or cursor, which Zed treats specially.\n",
        quoted(&argv[0]),
        list(&argv[1..]),
    )
}

fn codecompanion(argv: &[String]) -> String {
    format!(
        "In your Neovim configuration, extend an ACP adapter:\n\n  require(\"codecompanion\").setup({{\n    adapters = {{\n      acp = {{\n        reviewed = function()\n          return require(\"codecompanion.adapters\").extend(\"claude_code\", {{\n            commands = {{ default = {{ {} }} }},\n          }})\n        end,\n      }},\n    }},\n  }})\n",
        list(argv),
    )
}

fn avante(argv: &[String]) -> String {
    format!(
        "In your Neovim configuration:\n\n  require(\"avante\").setup({{\n    provider = \"reviewed\",\n    acp_providers = {{\n      reviewed = {{\n        command = {},\n        args = {{ {} }},\n        env = {{ HOME = os.getenv(\"HOME\"), PATH = os.getenv(\"PATH\") }},\n      }},\n    }},\n  }})\n\navante passes only the variables that env names; add what the agent needs.\n",
        quoted(&argv[0]),
        list(&argv[1..]),
    )
}

fn agent_shell(argv: &[String]) -> String {
    let words = |argv: &[String]| argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    format!(
        "In your Emacs configuration, for every agent:\n\n  (setq agent-shell-command-prefix '({}))\n\nor for one agent:\n\n  (setq agent-shell-anthropic-claude-acp-command '({}))\n",
        words(&argv[..3]),
        words(argv),
    )
}

/// Writes `"a", "b"`, which JSON, TOML and Lua read alike.
fn list(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
}

/// Writes a word in double quotes, escaping what JSON, TOML, Lua and Emacs Lisp escape alike.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes words as one line of a shell.
fn shell_line(words: &[String]) -> String {
    let mut line = String::new();
    for word in words {
        let space = if line.is_empty() { "" } else { " " };
        let _ = write!(line, "{space}{}", shell(word));
    }
    line
}

/// Quotes a word for a shell, where it needs quotes.
fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        let argv = ["/opt/my tools/hunkgate", "run", "it's"].map(str::to_owned);
        assert_eq!(shell_line(&argv), r"'/opt/my tools/hunkgate' run 'it'\''s'");
    }

    #[test]
    fn zeds_settings_are_json() {
        let text = setup(Editor::Zed, "/a \"b\"/hunkgate", &[]);
        let json = text.split("\n\n").nth(1).unwrap();
        let value: serde_json::Value = serde_json::from_str(&format!("{{{json}}}")).unwrap();
        assert_eq!(value["agent_servers"]["Reviewed"]["command"], "/a \"b\"/hunkgate");
        assert_eq!(value["agent_servers"]["Reviewed"]["args"][2], "claude-agent-acp");
    }
}
