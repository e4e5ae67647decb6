//! The help of the program as a whole: every command in one line.

/// What `hunkgate --help` says.
pub(super) const OVERVIEW: &str = "\
hunkgate stands between an editor and a coding agent (Agent Client Protocol). It forwards every byte, records what
changed on disk and which tool call did it, and lets you take changes back hunk by hunk. The agent hears of it.

Usage: hunkgate [--state-dir DIR] COMMAND

Wrap an agent
  run [OPTIONS] -- AGENT [ARG…]   what an editor launches instead of the agent
  chain [OPTIONS]                 the same as one element of an ACP proxy chain
  setup EDITOR [-- AGENT [ARG…]]  the configuration to paste for an editor
  doctor                          what works here and what does not
  bench DIR                       what an observation costs in a repository of yours, against git
  gc [--dry-run]                  how much is kept, for which sessions; sweeps what deleted ones left behind
  policy check -- COMMAND         what the rules would say about a command, and why
  policy reload                   running proxies read their policy anew
  policy replay [RULEFILE]        what rules would have said of everything that was recorded
  policy import TOOL [FILE]       the rules of another tool, in this spelling
  policy test FILE                a file of commands, each with the verdict that it must get
  demo [--keep]                   a whole turn with the built-in agent, in a scratch repository
  completions SHELL, man [DIR]    what a shell completes; the manual

See what changed
  sessions [delete ID]            what is recorded, newest first
  status                          what is in force, the size of the queue, what is degraded
  hunks [PATH…]                   the queue: every change, with its call and the evidence
  show ID                         one hunk: diff, calls, evidence, history
  diff [SELECTION]                the changes as a git patch
  blame PATH                      who wrote each line of a file
  log [--follow]                  the journal, readable
  watch                           one line for each thing that moves the queue

Decide
  review                          the queue in the terminal: read, accept, reject and comment with single keys
  web                             the queue in a browser, on 127.0.0.1
  mcp                             the same for agents that review: an MCP server over stdio
  accept ID… | SELECTION          keep it; writes no file
  reject ID… | SELECTION          put it back on disk and tell the agent
  undo, redo                      take the last decision back, or forward again
  comment PATH:LINE[-LINE] TEXT   say something about lines; the agent reads it with the next prompt
  resolve COMMENT                 settle a comment
  note                            what the agent will be told with the next prompt
  rebase [ROOT]                   take the worktree as it stands as the new base

Answer an agent
  pending                         the requests that wait for a person, also those that the editor shows
  approve KEY [--rev N]           let it go on, once; only in a terminal
  deny KEY [--reason TEXT]        refuse it; the agent is told why
  grants [revoke ID]              what stands allowed without a question

SELECTION is one of --file PATH, --call ID, --turn N, --all. Every command that looks or decides takes --session ID
(default: the newest session whose root holds this directory) and --json. `hunkgate COMMAND --help` says more.

State lives in --state-dir, $HUNKGATE_STATE_DIR, $XDG_STATE_HOME/hunkgate or ~/.local/state/hunkgate.
Exit codes: 0 done · 1 no, or there is something · 2 usage or configuration · 3 conflict or refused · 4 degraded · 5 internal
";
