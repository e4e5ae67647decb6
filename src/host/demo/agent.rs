//! The built-in agent: it says what real agents say, and writes what it says, without a model.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What passes between two calls of a real agent: the model thinks.
const THINKING: Duration = Duration::from_millis(250);
/// The only session.
const SESSION: &str = "demo-session";

/// Serves the agent's side of the protocol on stdin and stdout until stdin ends.
pub fn demo_agent() -> Result<i32> {
    let mut agent = Agent { cwd: PathBuf::from("."), prompts: 0 };
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        agent.heard(&message)?;
    }
    Ok(0)
}

struct Agent {
    cwd: PathBuf,
    prompts: u32,
}

impl Agent {
    fn heard(&mut self, message: &Value) -> Result<()> {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return Ok(()) };
        let result = match method {
            "initialize" => json!({
                "protocolVersion": 1,
                "agentInfo": { "name": "demo-agent", "version": env!("CARGO_PKG_VERSION") },
                "agentCapabilities": {},
                "authMethods": [],
            }),
            "session/new" => {
                self.cwd = PathBuf::from(message["params"]["cwd"].as_str().unwrap_or("."));
                json!({ "sessionId": SESSION })
            }
            "session/prompt" => {
                self.prompts += 1;
                if self.prompts == 1 {
                    self.work()?
                } else {
                    Self::repeat(&message["params"]["prompt"])?
                }
                json!({ "stopReason": "end_turn" })
            }
            _ => json!({}),
        };
        say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// The first turn: two edits of one file, a new file, a shell command.
    fn work(&self) -> Result<()> {
        tell("I will make the greeting polite, add a farewell and note it in the changes.\n")?;
        self.edit(
            "call_1",
            "src/greet.py",
            &[("    return \"hi \" + name", "    return f\"Good day, {name}!\"")],
        )?;
        self.edit("call_2", "src/greet.py", &[("print(greet(\"you\"))", "print(greet(\"dear reader\"))")])?;
        self.create("call_3", "src/farewell.py", "def farewell(name):\n    return f\"Farewell, {name}.\"\n")?;
        self.shell("call_4", "echo '- politer' >> CHANGES.md")
    }

    /// The second turn: says what came with the prompt beside the person's own words.
    fn repeat(prompt: &Value) -> Result<()> {
        let blocks: Vec<&str> =
            prompt.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
        match blocks.split_first() {
            Some((_, rest)) if !rest.is_empty() => {
                tell(&format!("Beside your words I was told:\n\n{}\n", rest.join("\n")))
            }
            _ => tell("I was told nothing beside your words.\n"),
        }
    }

    fn edit(&self, call: &str, path: &str, changes: &[(&str, &str)]) -> Result<()> {
        let full = self.cwd.join(path);
        let content: Vec<Value> = changes.iter().map(|(old, new)| diff(&full, Some(old), new)).collect();
        announce(
            call,
            &format!("Edit {path}"),
            "edit",
            &json!({ "content": content, "locations": [{ "path": full }] }),
        )?;
        let before = fs::read_to_string(&full).with_context(|| format!("cannot read {path}"))?;
        let after = changes.iter().fold(before, |text, (old, new)| text.replacen(old, new, 1));
        write_at_once(&full, &after).with_context(|| format!("cannot write {path}"))?;
        complete(call)
    }

    fn create(&self, call: &str, path: &str, text: &str) -> Result<()> {
        let full = self.cwd.join(path);
        let content = [diff(&full, None, text)];
        announce(
            call,
            &format!("Write {path}"),
            "edit",
            &json!({ "content": content, "locations": [{ "path": full }] }),
        )?;
        write_at_once(&full, text).with_context(|| format!("cannot write {path}"))?;
        complete(call)
    }

    fn shell(&self, call: &str, command: &str) -> Result<()> {
        announce(call, command, "execute", &json!({ "rawInput": { "command": command } }))?;
        Command::new("sh").args(["-c", command]).current_dir(&self.cwd).status().context("cannot run sh")?;
        complete(call)
    }
}

/// Replaces a file's content in one write, so that a look at it on a busy machine never meets half an edit.
fn write_at_once(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::options().write(true).create(true).truncate(false).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn diff(path: &Path, old: Option<&str>, new: &str) -> Value {
    json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
}

fn announce(call: &str, title: &str, kind: &str, more: &Value) -> Result<()> {
    let mut update = json!({
        "sessionUpdate": "tool_call", "toolCallId": call, "title": title, "kind": kind, "status": "in_progress",
    });
    if let (Some(update), Some(more)) = (update.as_object_mut(), more.as_object()) {
        update.extend(more.clone());
    }
    updated(&update)
}

fn complete(call: &str) -> Result<()> {
    updated(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed" }))?;
    std::thread::sleep(THINKING);
    Ok(())
}

fn tell(text: &str) -> Result<()> {
    updated(&json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

fn updated(update: &Value) -> Result<()> {
    say(
        &json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": SESSION, "update": update } }),
    )
}

fn say(message: &Value) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    Ok(out.flush()?)
}
