#!/usr/bin/env python3
"""A whole review by slash commands, twice, with a real client (acpx) and a real agent whose model is scripted.

    lab_review.py BINARY LAB LABDIR AGENT

BINARY is hunkgate; LAB the scripts of the lab (run-agent.sh, mkws.sh, mock_llm.py, which must be running); LABDIR what its
setup.sh installed; AGENT claude, gemini or opencode. Between the two reviews, and after the second, the proxy ends and a new one
takes the session up: what `/hunkgate list`, `status` and `note` say must then be what they said before. Prints what it did; ends
with 1 where something is not as it was. `tests/processes/lab.rs` runs it, where a lab is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time


def chunks(value):
    """Every text of an agent's message in a line of acpx."""
    if isinstance(value, dict):
        if value.get("sessionUpdate") == "agent_message_chunk":
            yield value.get("content", {}).get("text", "")
        for member in value.values():
            yield from chunks(member)
    elif isinstance(value, list):
        for element in value:
            yield from chunks(element)


class Lab:
    def __init__(self, binary, lab, home, agent):
        self.home, self.agent = home, agent
        self.workspace = f"{home}/ws/{agent}-review"
        self.state = f"{home}/state/{agent}-review"
        self.heard = f"{home}/raw/{agent}--review.agentside.jsonl"
        shutil.rmtree(self.state, ignore_errors=True)
        os.makedirs(self.state)
        if os.path.exists(self.heard):
            os.remove(self.heard)
        subprocess.run(["bash", f"{lab}/mkws.sh", self.workspace], check=True, stdout=subprocess.DEVNULL)
        self.command = (
            f"env HUNKGATE_STATE_DIR={self.state} {binary} run -- "
            f"python3 {lab}/tee.py {self.heard} -- {lab}/run-agent.sh {home} {agent}"
        )
        self.environ = dict(os.environ, HOME=f"{home}/home/acpx")
        self.environ["PATH"] = f"{home}/node22/node_modules/node/bin:" + self.environ["PATH"]

    def acpx(self, *words):
        program = f"{self.home}/npm/acpx/node_modules/.bin/acpx"
        line = [program, "--cwd", self.workspace, "--format", "json", "--agent", self.command, *words]
        done = subprocess.run(line, env=self.environ, capture_output=True, text=True, timeout=180)
        texts = []
        for raw in done.stdout.splitlines():
            try:
                texts += chunks(json.loads(raw))
            except ValueError:
                continue
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return "".join(texts)

    def prompt(self, text, ttl=30):
        return self.acpx("--approve-all", "--ttl", str(ttl), "prompt", text)

    def says(self, command, ttl=30):
        answer = self.prompt(f"/hunkgate {command}", ttl)
        print(f"--- /hunkgate {command}\n{answer}\n")
        return answer

    def snapshot(self):
        """What a person is shown: the queue, the counts, the note."""
        answers = [self.says(command) for command in ("list", "status", "note")]
        # A gap or a notice of the new process is no part of the review.
        counts = answers[1].splitlines()[0] if answers[1] else ""
        return answers[0], counts, answers[2]

    def restart(self):
        """Lets the client's process end, and the proxy with it."""
        self.says("status", ttl=1)
        for _ in range(100):
            if subprocess.run(["pgrep", "-f", f"HUNKGATE_STATE_DIR={self.state}|{self.heard}"], capture_output=True).returncode:
                print("=== the proxy has ended\n")
                return
            time.sleep(0.3)
        raise SystemExit("the proxy does not end")

    def prompts(self):
        """The prompts that reached the agent, as lists of texts."""
        found = []
        with open(self.heard, encoding="utf-8") as lines:
            for line in lines:
                message = json.loads(line).get("msg")
                if isinstance(message, dict) and message.get("method") == "session/prompt":
                    found.append([block.get("text", "") for block in message["params"]["prompt"]])
        return found


def same(what, before, after):
    if before == after:
        print(f"OK   {what}: as it was before the restart")
        return 0
    print(f"FAIL {what}\nbefore: {before}\nafter:  {after}")
    return 1


def main():
    lab = Lab(*sys.argv[1:5])
    model = lambda name: f"@@scenario={name} ws={lab.workspace}@@ please go"
    failed = 0
    lab.acpx("--approve-all", "sessions", "new")
    print(lab.prompt(model("paredit")))
    ids = re.findall(r"`([0-9a-f]{8,32})`", lab.says("list"))
    if len(ids) < 3:
        raise SystemExit(f"three changes were expected: {ids}")
    lab.says(f"show {ids[0]}")
    lab.says(f"accept {ids[0]}")
    lab.says(f"reject {ids[1]} there is a helper for this")
    lab.says("comment c.txt:1 say why")
    lab.says(f"diff {ids[1]}")
    before = lab.snapshot()
    lab.restart()
    failed += same("the first review", before, lab.snapshot())
    lab.prompt(model("edit"))
    note = [text for text in lab.prompts()[-1] if "[hunkgate note " in text]
    told = note and "there is a helper for this" in note[0] and "say why" in note[0]
    print("OK   the agent was told, with the reason and the comment" if told else f"FAIL told: {lab.prompts()[-1]}")
    failed += 0 if told else 1
    lab.says("list")
    lab.says("undo")
    lab.says("reject all")
    lab.says("undo")
    lab.says("redo")
    lab.says("rejct all")
    before = lab.snapshot()
    lab.restart()
    failed += same("the second review", before, lab.snapshot())
    slashes = [texts for texts in lab.prompts() if texts and texts[0].startswith("/hunkgate")]
    print(f"{'FAIL' if slashes else 'OK  '} {len(slashes)} commands reached the agent")
    sys.exit(1 if failed or slashes else 0)


main()
