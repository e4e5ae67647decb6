#!/usr/bin/env python3
"""Checks one run of a real agent behind the proxy, recorded on both sides.

usage: lab_check.py CLIENT.jsonl WORKSPACE STATE_DIR [HUNKGATE]

CLIENT.jsonl is what the client said and heard, CLIENT.agentside.jsonl beside it what the agent did: one JSON object a line,
{"t": seconds, "dir": "c2a" | "a2c", "msg": {…}, "sha": digest of the line, where the recorder took it}. The two sides may differ
in what we author, and in nothing else: our commands, the summary, the note. A parked answer or request may be overtaken.
Then `hunkgate hunks` must name, for every path that git sees changed, the calls whose messages name that path.
"""
import json
import os
import subprocess
import sys

READERS = ("read", "search", "think")
EDITED = (("session/prompt", None), ("session/update", "available_commands_update"), ("session/update", "user_message_chunk"))
PARKED = ('"stopReason"', '"method": "fs/write_text_file"', '"method": "terminal/create"')


def rows(name):
    with open(name, encoding="utf-8") as lines:
        return sorted((json.loads(line) for line in lines), key=lambda row: row["t"])


def said(side, direction):
    return [row.get("msg", row.get("raw")) for row in side if row["dir"] == direction]


def update_of(msg):
    params = msg.get("params") if isinstance(msg, dict) else None
    return params.get("update", {}) if isinstance(params, dict) else {}


def normal(msg):
    """A message without what we may put in, as text."""
    if isinstance(msg, dict):
        msg = json.loads(json.dumps(msg))
        update = update_of(msg)
        if isinstance(update.get("availableCommands"), list):
            update["availableCommands"] = [c for c in update["availableCommands"] if c.get("name") != "hunkgate"]
        if msg.get("method") == "session/prompt":
            msg["params"]["prompt"] = [b for b in msg["params"]["prompt"] if "[hunkgate note" not in b.get("text", "")]
    return json.dumps(msg, sort_keys=True)


def ours(msg):
    update = update_of(msg)
    commands = update.get("availableCommands")
    only_ours = commands is not None and all(command.get("name") == "hunkgate" for command in commands)
    return only_ours or update.get("sessionUpdate") == "agent_message_chunk" and "**hunkgate**" in json.dumps(update)


def compare(name, source, target):
    sent = [normal(msg) for msg in source]
    got = [normal(msg) for msg in target if not (ours(msg) and normal(msg) not in sent)]
    if sent == got:
        return
    lost = list(sent)
    new = [msg for msg in got if msg not in lost or lost.remove(msg)]
    for what, messages in (("lost", lost), ("new", new)):
        yield from (f"{name}: {what}: {msg[:300]}" for msg in messages)
    steady = lambda messages: [msg for msg in messages if not any(mark in msg for mark in PARKED)]
    if not lost and not new and steady(sent) != steady(got):
        yield f"{name}: out of order"


def same_bytes(name, direction, source, target):
    there = {row["sha"] for row in target if row["dir"] == direction and "sha" in row}
    for row in source:
        if row["dir"] == direction and "sha" in row and row["sha"] not in there:
            what = (row["msg"].get("method"), update_of(row["msg"]).get("sessionUpdate"))
            if what not in EDITED:
                yield f"{name}: other bytes: {json.dumps(row['msg'])[:300]}"


def texts(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def named(messages, paths):
    """The calls that name each path, without those that only read or that failed to edit."""
    calls = {}
    for msg in messages:
        update = update_of(msg)
        params = msg.get("params") if isinstance(msg, dict) else None
        call = update if "toolCallId" in update else params.get("toolCall", {}) if isinstance(params, dict) else {}
        if call:
            known = calls.setdefault(call["toolCallId"], {"kind": None, "failed": False, "text": ""})
            known["kind"] = call.get("kind", known["kind"])
            known["failed"] |= call.get("status") == "failed"
            known["text"] += " ".join(texts({name: value for name, value in call.items() if name != "_meta"}))
    writes = lambda call: call["kind"] not in READERS and (call["kind"] == "execute" or not call["failed"])
    return {path: {name for name, call in calls.items() if writes(call) and path in call["text"]} for path in paths}


def listed(workspace, state, hunkgate):
    env = dict(os.environ, HUNKGATE_STATE_DIR=state)
    answer = subprocess.run([hunkgate, "hunks", "--json"], cwd=workspace, env=env, capture_output=True, text=True)
    found = {}
    for hunk in json.loads(answer.stdout)["hunks"]:
        found.setdefault(hunk["path"], set()).update(hunk["tool_call_ids"])
    return found


def main():
    name, workspace, state = sys.argv[1:4]
    hunkgate = sys.argv[4] if len(sys.argv) > 4 else "hunkgate"
    client, agent = rows(name), rows(name.removesuffix(".jsonl") + ".agentside.jsonl")
    bad = []
    for way, direction, source, target in (("editor to agent", "c2a", client, agent), ("agent to editor", "a2c", agent, client)):
        bad += compare(way, said(source, direction), said(target, direction))
        bad += same_bytes(way, direction, source, target)
    status = subprocess.run(["git", "status", "--porcelain"], cwd=workspace, capture_output=True, text=True, check=True)
    paths = [line[3:] for line in status.stdout.splitlines()]
    want, got = named(said(agent, "a2c"), paths), listed(workspace, state, hunkgate)
    for path in sorted(set(want) | set(got)):
        if want.get(path) != got.get(path):
            bad.append(f"{path}: {sorted(got.get(path, ['not listed']))}, not {sorted(want.get(path, ['unchanged']))}")
    print("BAD" if bad else "OK ", os.path.basename(name), *bad, sep="\n    " if bad else " ")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
