//! The conversation of the built-in client with the proxy.

use super::scene::Scene;
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long an answer may take; the demo fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running proxy with the built-in agent behind it.
pub(super) struct Talk {
    proxy: Child,
    lines: Receiver<String>,
    next: u64,
}

impl Talk {
    /// Starts the proxy as an editor would.
    pub(super) fn start(exe: &Path, scene: &Scene) -> Result<Self> {
        let mut command = isolated(exe, scene);
        command.arg("run").arg("--").arg(exe).arg("__demo-agent");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut proxy = command.spawn().context("cannot start the proxy")?;
        let stdout = proxy.stdout.take().context("the proxy has no stdout")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Ok(Self { proxy, lines, next: 1 })
    }

    /// Sends a request and returns its result; `heard` is given every update that comes before it.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: &Value,
        heard: &mut dyn FnMut(&Value),
    ) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        let stdin = self.proxy.stdin.as_mut().context("the proxy's stdin is closed")?;
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        stdin.flush()?;
        loop {
            let line = self.lines.recv_timeout(PATIENCE).with_context(|| format!("no answer to {method}"))?;
            let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
            if message["id"] == json!(id) {
                return match message.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => bail!("{method} failed: {}", message["error"]["message"]),
                };
            }
            heard(&message["params"]["update"]);
        }
    }

    /// Ends the conversation and waits for the proxy.
    pub(super) fn end(mut self) -> Result<()> {
        drop(self.proxy.stdin.take());
        let status = self.proxy.wait().context("cannot wait for the proxy")?;
        if status.success() { Ok(()) } else { bail!("the proxy ended with {status}") }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It is gone already where the conversation was ended; else the demo failed and nothing shall stay behind.
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// Makes a command of ours that sees nothing of the person's own configuration and state.
pub(super) fn isolated(exe: &Path, scene: &Scene) -> Command {
    let mut command = Command::new(exe);
    command.current_dir(scene.repository());
    command.env("HUNKGATE_STATE_DIR", scene.state()).env("XDG_CONFIG_HOME", scene.top().join("config"));
    command
}
