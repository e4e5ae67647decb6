//! The built-in client, and what it tells while it goes.

use super::scene::Scene;
use super::talk::{Talk, isolated};
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Shows a whole turn in a scratch repository. `keep` leaves it behind.
pub fn demo(keep: bool) -> Result<i32> {
    let exe = std::env::current_exe().context("cannot find this program")?;
    let scene = Scene::set(keep)?;
    Show { exe: &exe, scene: &scene }.run()?;
    if keep {
        farewell(&exe, &scene)?;
    }
    Ok(0)
}

struct Show<'s> {
    exe: &'s Path,
    scene: &'s Scene,
}

impl Show<'_> {
    fn run(&self) -> Result<()> {
        let git = self.scene.git()?;
        title("An editor starts `hunkgate run -- demo-agent` in a scratch repository")?;
        let mut talk = Talk::start(self.exe, self.scene)?;
        let initialize = json!({
            "protocolVersion": 1, "clientCapabilities": {},
            "clientInfo": { "name": "hunkgate-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        let agent = talk.ask("initialize", &initialize, &mut |_| {})?;
        line(&format!("agent: {}", agent["agentInfo"]["name"].as_str().unwrap_or("?")))?;
        let cwd = self.scene.repository();
        let session = talk.ask("session/new", &json!({ "cwd": cwd, "mcpServers": [] }), &mut |_| {})?;
        let session = session["sessionId"].as_str().context("no session id")?.to_owned();

        title("The first turn: edits, a new file, a shell command")?;
        self.prompt(&mut talk, &session, "Make the greeting polite.")?;

        title("Meanwhile you correct a typo in the same file")?;
        self.scene.replace("src/greet.py", "# Shwo it.", "# Show it.")?;
        self.hunkgate(&["hunks"])?;

        title("One of the agent's changes is not wanted")?;
        let hunk = self.hunk_of("call_2")?;
        self.hunkgate(&["reject", &hunk, "--reason", "the reader is not ours to name"])?;
        self.check_restored()?;

        title("The agent hears of it with the second prompt")?;
        self.prompt(&mut talk, &session, "Thank you.")?;

        title("The rest is kept")?;
        self.hunkgate(&["accept", "--all"])?;
        self.hunkgate(&["status"])?;
        talk.end()?;
        if self.scene.git()? != git {
            bail!("something was written into the repository's .git");
        }
        line("\nThe repository's own .git was not touched.")
    }

    fn prompt(&self, talk: &mut Talk, session: &str, text: &str) -> Result<()> {
        line(&format!("you: {text}"))?;
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let mut told = Vec::new();
        let end = talk.ask("session/prompt", &prompt, &mut |update| told.extend(heard(update)))?;
        for text in told {
            line(&text)?;
        }
        line(&format!("the turn is over: {}", end["stopReason"].as_str().unwrap_or("?")))
    }

    /// Finds the id of the hunk that a call is credited with.
    fn hunk_of(&self, call: &str) -> Result<String> {
        let output =
            isolated(self.exe, self.scene).args(["hunks", "--json"]).output().context("cannot list")?;
        let listing: Value = serde_json::from_slice(&output.stdout).context("the listing is no JSON")?;
        let hunks = listing["hunks"].as_array().context("the listing has no hunks")?;
        let carries =
            |hunk: &&Value| hunk["tool_call_ids"].as_array().is_some_and(|ids| ids.contains(&json!(call)));
        let hunk = hunks.iter().find(carries).with_context(|| format!("no hunk carries {call}"))?;
        let id = hunk["id"].as_str().context("a hunk without an id")?;
        Ok(id.get(..8).unwrap_or(id).to_owned())
    }

    /// Runs a command of ours for the person to see, its output where theirs is.
    fn hunkgate(&self, words: &[&str]) -> Result<()> {
        let shown: Vec<String> = words.iter().map(|word| shown(word)).collect();
        line(&format!("$ hunkgate {}", shown.join(" ")))?;
        let status = isolated(self.exe, self.scene)
            .args(words)
            .stdin(Stdio::null())
            .status()
            .context("cannot run it")?;
        if status.success() { Ok(()) } else { bail!("hunkgate {} ended with {status}", words.join(" ")) }
    }

    /// Looks whether the rejected lines are back, and every other line is as it was left.
    fn check_restored(&self) -> Result<()> {
        let text = self.scene.read("src/greet.py")?;
        line("\nsrc/greet.py now:")?;
        for row in text.lines() {
            line(&format!("    {row}"))?;
        }
        let there = |part: &str| text.contains(part);
        if there("print(greet(\"you\"))") && there("# Show it.") && there("Good day") && !there("dear reader")
        {
            return line("\nThe rejected line is back; your correction and the agent's other change stay.");
        }
        bail!("the file is not as it should be")
    }
}

/// Returns what a person at the client would see of an update.
fn heard(update: &Value) -> Option<String> {
    match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" => {
            let text = update["content"]["text"].as_str()?.trim_end();
            Some(
                text.lines()
                    .map(|row| format!("agent: {row}").trim_end().to_owned())
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        }
        "tool_call" => {
            let (id, title) = (update["toolCallId"].as_str()?, update["title"].as_str()?);
            Some(format!("  [{id}] {title}"))
        }
        _ => None,
    }
}

fn farewell(exe: &Path, scene: &Scene) -> Result<()> {
    title("Everything is kept: play with it")?;
    let quoted = |path: PathBuf| shown(&path.to_string_lossy());
    line(&format!("  cd {}", quoted(scene.repository())))?;
    line(&format!("  export HUNKGATE_STATE_DIR={}", quoted(scene.state())))?;
    for command in ["undo", "hunks", "log", "blame src/greet.py", "diff"] {
        line(&format!("  {} {command}", quoted(exe.to_path_buf())))?;
    }
    line(&format!("  rm -r {}      when you are done", quoted(scene.top().to_path_buf())))
}

fn shown(word: &str) -> String {
    if word.contains(|c: char| c.is_whitespace() || c == '\'') {
        format!("{word:?}")
    } else {
        word.to_owned()
    }
}

fn title(text: &str) -> Result<()> {
    line(&format!("\n── {text} ──\n"))
}

fn line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
