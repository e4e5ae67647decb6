#!/usr/bin/env python3
"""Turns a recording of a real agent into a transcript.

usage: convert.py RECORDING.jsonl [RECORDING.fs.jsonl] > NAME.acp

A recording holds one JSON object a line: {"t": seconds, "dir": "c2a" | "a2c", "msg": {…}}; file-system events
({"dir": "fs", "ev": …, "path": …, "size": …}) and ends ({"dir": "ctl", "raw": …}) stand in the same file or in the
second one, on the same clock. Messages become stimuli and `same`, writes become `tree write` at the moment at which they
happened. Their bytes are taken from what the messages say of the path and, where they say nothing (a shell), made up to
the recorded size. Streamed text and long command lists are trimmed. What we author is expected where the design has it:
our commands, the merged list, the summary, and at the end the calls of every path that differs from its beginning.
"""
import json
import os
import sys

BASE = {
    "hello.txt": "hello world\nsecond line\n",
    "a.txt": "alpha\nsecond\nthird\n",
    "b.txt": "beta\nsecond\nthird\n",
    "c.txt": "gamma\nsecond\nthird\n",
}
OPENERS = ("session/new", "session/load", "session/resume", "session/fork")
HUNKGATE = {"name": "hunkgate", "description": "$_", "...": 1}
MOVED = {"MOVED_FROM", "MOVED_TO"}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def strings(value):
    """Every string in a message, with the name of the member that holds it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield name, inner
            elif name != "_meta":
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


class Converter:
    def __init__(self, rows):
        self.rows = rows
        self.out = []
        self.workspace = next(
            (r["msg"]["params"]["cwd"] for r in rows if "cwd" in (r.get("msg") or {}).get("params", {}) or {}), "/workspace"
        )
        self.files = dict(BASE)
        self.asked = {}
        self.said = []  # every text that a call has named, newest last
        self.touched = {}  # path -> ids of the calls that name it
        self.kinds = {}
        self.whole = {}  # path -> the newest text that a message says it shall hold as a whole
        self.base = {}  # session -> the files when its first prompt was sent
        self.session = None
        self.last = None
        self.streamed = {}

    def convert(self):
        for path, text in self.files.items():
            self.write(path, text)
        for row in self.rows:
            self.pause(row["t"])
            if row["dir"] == "fs":
                self.event(row)
            elif row["dir"] == "ctl":
                self.control(row["raw"])
            elif row["dir"] in ("c2a", "a2c") and "msg" in row:
                self.message(row["dir"], self.trimmed(row["msg"]))
        self.listing()
        return self.out

    def pause(self, t):
        self.last = t if self.last is None else self.last
        if t - self.last >= 0.02:
            if self.out[-1].startswith("wait "):
                self.out[-1] = "wait %d" % (int(self.out[-1][5:]) + round((t - self.last) * 1000))
            else:
                self.out.append("wait %d" % round((t - self.last) * 1000))
            self.last = t

    # -- messages

    def trimmed(self, msg):
        msg = json.loads(json.dumps(msg).replace(json.dumps(self.workspace)[1:-1], "$ROOT@@"))
        return shorter(msg)

    def message(self, direction, msg):
        editor = direction == "c2a"
        update = (msg.get("params") or {}).get("update", {}) if isinstance(msg.get("params"), dict) else {}
        kind = update.get("sessionUpdate")
        if kind in ("agent_message_chunk", "agent_thought_chunk", "usage_update"):
            self.streamed[kind] = self.streamed.get(kind, 0) + 1
            if self.streamed[kind] > 2:
                return
        if "method" in msg and "id" in msg:
            self.asked[(direction, compact(msg["id"]))] = msg["method"]
        method = None
        if "method" not in msg and "id" in msg:
            method = self.asked.pop(("a2c" if editor else "c2a", compact(msg["id"])), None)
        self.remember(msg, update)
        params = msg.get("params") if isinstance(msg.get("params"), dict) else {}
        line = compact(msg).replace("$", "$$").replace("$$ROOT@@", "$ROOT")
        self.out.append(("editor> " if editor else "agent> ") + line)
        hears = "agent< " if editor else "editor< "
        if kind == "available_commands_update":
            merged = json.loads(line.replace("$$", "$"))
            merged["params"]["update"]["availableCommands"].append(HUNKGATE)
            self.out.append(hears + "edited " + compact(merged))
            return
        if msg.get("method") == "session/prompt":
            self.base.setdefault(params.get("sessionId"), dict(self.files))
        if method == "session/prompt" and not editor and self.owed():
            self.out.append(hears + self.ours({"sessionUpdate": "agent_message_chunk", "content": "$_", "...": 1}))
        self.out.append(hears + "same")
        if method == "session/prompt":
            self.streamed = {}
        if method in OPENERS and "result" in msg:
            self.session = (msg["result"] or {}).get("sessionId") or self.session
            self.out.append(hears + self.ours({"sessionUpdate": "available_commands_update", "availableCommands": [HUNKGATE]}))
        if msg.get("method") in OPENERS and "sessionId" in params:
            self.session = params["sessionId"]

    def ours(self, update):
        return compact({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def remember(self, msg, update):
        params = msg.get("params") if isinstance(msg.get("params"), dict) else {}
        call = update if "toolCallId" in update else params.get("toolCall", {})
        texts = list(strings(call)) if call else list(strings(params)) if msg.get("method") == "fs/write_text_file" else []
        self.said.extend((name, text.replace("$ROOT@@", self.workspace)) for name, text in texts)
        for said in [params] + (call.get("content") or []):
            text = said.get("newText", said.get("content")) if isinstance(said, dict) else None
            if isinstance(text, str) and "path" in said:
                self.whole[said["path"].replace("$ROOT@@/", "")] = text
        if call and call.get("kind"):
            self.kinds[call["toolCallId"]] = call["kind"]
        if call and self.kinds.get(call["toolCallId"]) != "read":
            for path in set(self.files) | set(self.coming()):
                if any(path in text for _, text in texts) and call.get("status") != "failed":
                    ids = self.touched.setdefault(path, [])
                    if call["toolCallId"] not in ids:
                        ids.append(call["toolCallId"])

    def coming(self):
        """Paths that the recording will write."""
        return {r["path"] for r in self.rows if r["dir"] == "fs" and not hidden(r["path"])}

    # -- the worktree

    def event(self, row):
        path, kinds = row["path"], set(row["ev"].split("|"))
        if hidden(path) or "DIR" in kinds:
            return
        if kinds & {"CLOSE_WRITE"} and row.get("size") is not None:
            self.changed(path, row["size"])
        elif "MOVED_TO" in kinds and row.get("size") is not None:
            self.changed(path, row["size"])
        elif kinds & {"DELETE", "MOVED_FROM"} and path in self.files:
            del self.files[path]
            self.out.append("tree rm " + path)

    def changed(self, path, size):
        text = self.content(path, size)
        self.files[path] = text
        self.write(path, text)

    def content(self, path, size):
        """The bytes that a message announces for a path, of the recorded size; else made up."""
        now = self.files.get(path, "")
        if size == len(now.encode()) and self.whole.get(path) == now:
            return now
        olds = [t for n, t in self.said if n in ("oldText", "old_string", "oldString")]
        news = [t for n, t in self.said if n in ("newText", "new_string", "newString")]
        for old, new in reversed(list(zip(olds, news))):
            if old and old in now and old != now and len(now.replace(old, new, 1).encode()) == size:
                return now.replace(old, new, 1)
        for name, text in reversed(self.said):
            if name in ("newText", "content", "file_text") and len(text.encode()) == size and text != now:
                return text
        if size > len(now.encode()) and now:
            return now + filler(size - len(now.encode()))
        return filler(size)

    def write(self, path, text):
        self.out.append("tree write %s %s" % (path, json.dumps(text, ensure_ascii=False)))

    # -- ends

    def control(self, raw):
        if raw.startswith("spawn") and self.asked is not None and any(o.startswith("proxy exits") for o in self.out):
            self.out.append("proxy restarts")
            self.asked = {}
        elif raw == "eof c2a":
            self.out += ["editor closes", "proxy stops agent"]
        elif raw.startswith("agent exit"):
            code = raw.rsplit(" ", 1)[1]
            self.out += ["agent exits " + code, "proxy exits " + code]

    def owed(self):
        """The paths that differ from the base of the session, with the calls that name them."""
        base = self.base.get(self.session, self.files)
        paths = sorted(set(self.files) | set(base))
        return [(path, self.touched.get(path, [])) for path in paths if self.files.get(path) != base.get(path)]

    def listing(self):
        hunks = [{"path": path, "tool_call_ids": ids, "...": 1} for path, ids in self.owed()]
        self.out.append("ask hunks --session " + str(self.session))
        self.out.append("answer listing " + compact({"hunks": hunks, "...": 1}))


def shorter(value):
    """Lists of what an agent offers say no more with forty members than with two."""
    if isinstance(value, dict):
        lists = ("availableCommands", "availableModels", "authMethods", "configOptions")
        short = lambda name, inner: inner[:2] if name in lists and isinstance(inner, list) else inner
        if value.get("type") == "select":
            value = {**value, "options": value.get("options", [])[:2]}
        return {name: shorter(short(name, inner)) for name, inner in value.items()}
    return [shorter(inner) for inner in value] if isinstance(value, list) else value


def hidden(path):
    return path == "." or path.startswith(".git") or ".tmp." in os.path.basename(path)


def filler(size):
    return "x" * max(size - 1, 0) + "\n" * min(size, 1)


def main():
    rows = []
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines]
    rows.sort(key=lambda row: row["t"])
    about = os.path.basename(sys.argv[1]).removesuffix(".jsonl").replace("--", " ")
    print("# What a real agent did: " + about + ". Made by tests/support/convert.py.")
    print("\n".join(Converter(rows).convert()))


if __name__ == "__main__":
    main()
