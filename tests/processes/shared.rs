//! Several proxies on one root: none is ever credited with another's line, and each names the other's call (C31, C32, C55).

#![expect(clippy::unwrap_used, reason = "a fault here is the test's")]
use crate::proxy::until;
use crate::scratch::{Live, Scratch};
use serde_json::{Value, json};

/// An agent whose turns are small plays in shell. A call begins once the editor has heard of it: what is written long
/// before that belongs to no call. `cue N` goes on once the test has given it.
const AGENT: &str = r#"
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'$SESSION'","update":{'"$1"'}}}'; }
edit() { update '"sessionUpdate":"tool_call","toolCallId":"'$1'","title":"Edit '$2'","kind":"edit","status":"in_progress","content":[{"type":"diff","path":"'$PWD/$2'","oldText":"'"$3"'","newText":"'"$4"'"}]'; heard $1; }
shell() { update '"sessionUpdate":"tool_call","toolCallId":"'$1'","title":"work","kind":"execute","status":"in_progress"'; heard $1; }
over() { update '"sessionUpdate":"tool_call_update","toolCallId":"'$1'","status":"completed"'; }
may() { say '{"jsonrpc":"2.0","id":"p'$1'","method":"session/request_permission","params":{"sessionId":"'$SESSION'","toolCall":{"toolCallId":"'$1'"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'; read -r _; }
put() { sed "s/^$2\$/$3/" "$1" > "$CUES/$SESSION.new" && cat "$CUES/$SESSION.new" > "$1"; }
heard() { until [ -e "$GO.$1" ]; do sleep 0.01 2>&- || :; done; }
cue() { : > "$CUES/$SESSION.$1.at"; until [ -e "$CUES/$SESSION.$1" ]; do sleep 0.01 2>&- || :; done; }
while IFS= read -r line; do
  id=${line##*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"agent-'$SESSION'","version":"1"}}}';;
    *'"session/new"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"'$SESSION'"}}';;
    *'"session/prompt"'*) . "$CUES/$SESSION.play"; say '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}';;
  esac
done
"#;

/// A proxy with the session that is named like its agent.
struct Player<'a> {
    live: Live<'a>,
    scratch: &'a Scratch,
    name: String,
}

impl<'a> Player<'a> {
    fn new(scratch: &'a Scratch, name: &str) -> Self {
        Self::beneath(scratch, name, None)
    }

    fn beneath(scratch: &'a Scratch, name: &str, parent: Option<&str>) -> Self {
        let cues = scratch.at("cues");
        std::fs::create_dir_all(&cues).unwrap();
        let mut live = scratch.start_agent(AGENT, |command| {
            command.env("SESSION", name).env("CUES", &cues);
            if let Some(parent) = parent {
                command.env("HUNKGATE_PARENT", parent);
            }
        });
        live.open(json!({ "cwd": scratch.repository(), "mcpServers": [] }));
        Self { live, scratch, name: name.to_owned() }
    }

    /// Begins a turn that plays `play`; returns the id of its prompt.
    fn begin(&mut self, play: &str) -> u32 {
        self.scratch.write(&format!("cues/{}.play", self.name), play);
        let prompt = [json!({ "type": "text", "text": "go" })];
        self.live.ask("session/prompt", json!({ "sessionId": self.name, "prompt": prompt }))
    }

    /// Waits until the play stands at a cue.
    fn stands_at(&self, cue: &str) {
        let at = self.scratch.at(&format!("cues/{}.{cue}.at", self.name));
        until("the play stands at its cue", || at.exists());
    }

    /// Gives one cue and waits until the play stands at the next.
    fn cue(&self, cue: &str, next: &str) {
        self.stands_at(cue);
        self.go(cue);
        self.stands_at(next);
    }

    fn go(&self, cue: &str) {
        std::fs::write(self.scratch.at(&format!("cues/{}.{cue}", self.name)), "").unwrap();
    }

    /// Reads up to the line that holds `text`.
    fn hears(&mut self, text: &str) {
        while !self.live.hear().contains(text) {}
    }

    fn answer(&mut self, request: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "y" } });
        let frame = json!({ "jsonrpc": "2.0", "id": request, "result": outcome });
        self.live.proxy.send(&format!("{frame}\n"));
    }

    fn hunks(&self) -> Vec<Value> {
        hunks_of(self.scratch, &self.name)
    }
}

fn hunks_of(scratch: &Scratch, session: &str) -> Vec<Value> {
    scratch.json(&["hunks", "--session", session])["hunks"].as_array().cloned().unwrap()
}

/// What a listing says of a hunk: its calls, and the other sessions with their calls.
type Told = (Vec<String>, Vec<(String, String)>);

fn told(hunks: &[Value], path: &str) -> Vec<Told> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |hunk: &Value| {
        let calls = hunk["tool_call_ids"].as_array().unwrap().iter().map(text).collect();
        let others = hunk["evidence"]["sessions"].as_array().unwrap().iter();
        (calls, others.map(|other| (text(&other["session_id"]), text(&other["tool_call_id"]))).collect())
    };
    hunks.iter().filter(|hunk| hunk["path"] == path).map(row).collect()
}

fn own(call: &str) -> Told {
    (vec![call.to_owned()], vec![])
}

fn others(session: &str, call: &str) -> Told {
    (vec![], vec![(session.to_owned(), call.to_owned())])
}

/// Says that no line of the other's is credited to a call of this session: every line says in its text who wrote it.
fn lies(hunks: &[Value], session: &str) -> Vec<String> {
    let mut lies = Vec::new();
    for hunk in hunks {
        let first = hunk["current_range"]["start"].as_u64().unwrap();
        let lines: Vec<&str> = hunk["after_content"].as_str().unwrap().lines().collect();
        for run in hunk["author_lines"].as_array().unwrap().iter().filter(|run| run["side"] == "after") {
            for line in run["start"].as_u64().unwrap()..run["end"].as_u64().unwrap() {
                let text = lines[usize::try_from(line - first).unwrap()];
                for call in run["calls"].as_array().unwrap() {
                    if call["session_id"] != session || !text.starts_with(&format!("{session}:")) {
                        lies.push(format!("{}: {text:?} is credited to {call}", hunk["path"]));
                    }
                }
            }
        }
    }
    lies
}

fn repository() -> Scratch {
    let scratch = Scratch::new();
    let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    scratch.write("repository/shared.txt", lines);
    scratch
}

// C31: one is paused on a permission while the other writes.
#[test]
fn what_another_proxy_s_agent_writes_is_not_in_the_queue_and_is_named() {
    let scratch = repository();
    let (mut a, mut b) = (Player::new(&scratch, "a"), Player::new(&scratch, "b"));
    let turn_a = a.begin("edit a1 a.txt '' 'a: 1'; may a1; echo 'a: 1' > a.txt; over a1");
    a.hears("session/request_permission");
    let turn_b = b.begin("edit b1 b.txt '' 'b: 1'; echo 'b: 1' > b.txt; over b1; shell b2; cue 1; echo 'b: 2' > c.txt; over b2");
    b.hears("\"b2\"");
    b.stands_at("1");
    b.go("1");
    b.live.answer(turn_b);
    a.answer("pa1");
    a.live.answer(turn_a);
    for (me, other) in [(&a, &b), (&b, &a)] {
        let hunks = me.hunks();
        let (mine, theirs) = (format!("{}.txt", me.name), format!("{}.txt", other.name));
        assert_eq!(told(&hunks, &mine), [own(&format!("{}1", me.name))], "{hunks:#?}");
        assert_eq!(told(&hunks, &theirs), [others(&other.name, &format!("{}1", other.name))], "{hunks:#?}");
        assert_eq!(lies(&hunks, &me.name), Vec::<String>::new());
    }
    // The command of b ran while the call of a waited for its permission: it may be contested, never a's.
    let by_a = a.hunks();
    assert!(told(&by_a, "c.txt").iter().all(|(calls, _)| calls.is_empty()), "{by_a:#?}");
}

// C32: calls of both are open at once, on one file and on several; then one proxy is killed in the middle of a call.
#[test]
fn of_two_proxies_on_one_repository_of_which_one_is_killed_none_has_the_other_s_line() {
    let scratch = repository();
    let (mut a, mut b) = (Player::new(&scratch, "a"), Player::new(&scratch, "b"));
    let turn_a = a.begin(
        "edit a1 shared.txt 'line 3' 'a: 3'; cue 1; put shared.txt 'line 3' 'a: 3'; cue 2; over a1
         shell a2; cue 3; echo 'a: own' > own-a.txt; cue 4; over a2
         edit a3 shared.txt 'line 20' 'a: 20'; cue 5; put shared.txt 'line 20' 'a: 20'; over a3",
    );
    b.begin(
        "edit b1 shared.txt 'line 5' 'b: 5'; cue 1; put shared.txt 'line 5' 'b: 5'; cue 2; over b1
         edit b2 own-b.txt '' 'b: own'; cue 3; echo 'b: own' > own-b.txt; over b2; cue 4
         edit b3 shared.txt 'line 12' 'b: 12'; cue 5; put shared.txt 'line 12' 'b: 12'; cue 6; over b3",
    );
    a.hears("\"a1\"");
    b.hears("\"b1\"");
    a.stands_at("1");
    b.cue("1", "2");
    a.cue("1", "2");
    a.go("2");
    a.hears("\"a2\"");
    b.go("2");
    b.hears("\"b2\"");
    a.cue("3", "4");
    b.cue("3", "4");
    b.go("4");
    b.hears("\"b3\"");
    b.cue("5", "6");
    b.live.kill();
    a.go("4");
    a.hears("\"a3\"");
    a.stands_at("5");
    a.go("5");
    a.live.answer(turn_a);
    let (by_a, by_b) = (a.hunks(), hunks_of(&scratch, "b"));
    assert_eq!((lies(&by_a, "a"), lies(&by_b, "b")), (vec![], vec![]));
    let shared = |first, second, third, fourth| vec![first, second, third, fourth];
    let seen_by_a = shared(own("a1"), others("b", "b1"), others("b", "b3"), own("a3"));
    assert_eq!(told(&by_a, "shared.txt"), seen_by_a, "{by_a:#?}");
    let seen_by_b = shared(others("a", "a1"), own("b1"), own("b3"), others("a", "a3"));
    assert_eq!(told(&by_b, "shared.txt"), seen_by_b, "{by_b:#?}");
    assert_eq!(told(&by_a, "own-b.txt"), [others("b", "b2")], "{by_a:#?}");
    assert_eq!(told(&by_b, "own-b.txt"), [own("b2")], "{by_b:#?}");
    assert!(told(&by_b, "own-a.txt").iter().all(|(calls, _)| calls.is_empty()), "{by_b:#?}");
}

#[test]
fn a_proxied_agent_that_a_command_started_is_folded_into_its_parent() {
    let scratch = repository();
    let mut above = Player::new(&scratch, "top");
    let turn = above.begin("shell sh; printf %s \"$HUNKGATE_PARENT\" > \"$CUES/parent\"; cue 1; over sh");
    above.hears("\"sh\"");
    above.stands_at("1");
    let proxy = scratch.read("cues/parent");
    let mut kid = Player::beneath(&scratch, "kid", Some(&proxy));
    let work = kid.begin("shell k1; echo 'kid: 1' > k.txt; over k1");
    kid.live.answer(work);
    kid.live.end();
    above.go("1");
    above.live.answer(turn);
    let hunks = above.hunks();
    assert_eq!(told(&hunks, "k.txt"), [own("k1")], "{hunks:#?}");
    assert_eq!(hunks[0]["calls"][0]["session_id"], "kid");
    let sessions = scratch.json(&["sessions"]);
    let row = |name: &str| {
        let rows = sessions["items"].as_array().unwrap();
        rows.iter().find(|row| row["session_id"] == name).cloned().unwrap()
    };
    assert_eq!(row("kid")["parent"], json!({ "session_id": "top", "tool_call_id": "sh" }));
    assert_eq!(row("top")["children"], json!(["kid"]));
    assert_eq!(told(&hunks_of(&scratch, "kid"), "k.txt"), [own("k1")]);
}

// C55: whole proxies, beside the looks alone of `capture::crowds`. One was killed before, and left what the dead leave.
#[test]
fn eight_proxies_at_once_miss_no_look_and_take_nothing_of_each_other() {
    const ROUNDS: usize = 8;
    let scratch = repository();
    let mut dead = Player::new(&scratch, "dead");
    dead.begin("shell d1; echo 'dead: 1' > dead.txt; cue 1");
    dead.hears("\"d1\"");
    dead.stands_at("1");
    dead.live.kill();
    let names: Vec<String> = (1..=8).map(|number| format!("p{number}")).collect();
    let mut players: Vec<Player<'_>> = names.iter().map(|name| Player::new(&scratch, name)).collect();
    for player in &mut players {
        // The first prompt takes the base: what another writes later is seen by everybody.
        let turn = player.begin(":");
        player.live.answer(turn);
    }
    std::thread::scope(|at_once| {
        for player in &mut players {
            at_once.spawn(move || {
                for round in 1..=ROUNDS {
                    let name = player.name.clone();
                    let turn = player.begin(&format!(
                        "edit e{round} {name}-{round}.txt '' '{name}: {round}'; echo '{name}: {round}' > {name}-{round}.txt; over e{round}"
                    ));
                    player.live.answer(turn);
                }
            });
        }
    });
    for player in &players {
        let status = scratch.json(&["status", "--session", &player.name]);
        assert_eq!(status["gaps"], 0, "{status:#}");
        let hunks = player.hunks();
        assert_eq!(lies(&hunks, &player.name), Vec::<String>::new());
        for (name, round) in names.iter().flat_map(|name| (1..=ROUNDS).map(move |round| (name, round))) {
            let call = format!("e{round}");
            let expected = if *name == player.name { own(&call) } else { others(name, &call) };
            assert_eq!(told(&hunks, &format!("{name}-{round}.txt")), [expected], "seen by {}", player.name);
        }
    }
}

#[test]
fn linked_worktrees_are_roots_apart() {
    let scratch = Scratch::git();
    scratch.write("repository/a.txt", "one\n");
    scratch.commit("first");
    scratch.says_git(&["worktree", "add", "-q", "../beside", "-b", "beside"]);
    let (mut here, mut there) = (Player::new(&scratch, "here"), Player::new(&scratch, "there"));
    there.live.call("session/new", json!({ "cwd": scratch.at("beside"), "mcpServers": [] }));
    let turn = here.begin("shell h1; cue 1; echo 'here: 1' > a.txt; over h1");
    here.hears("\"h1\"");
    here.stands_at("1");
    std::fs::write(scratch.at("beside/a.txt"), "there: 1\n").unwrap();
    here.go("1");
    here.live.answer(turn);
    let hunks = here.hunks();
    assert_eq!(told(&hunks, "a.txt"), [own("h1")], "{hunks:#?}");
    let roots: Vec<&Value> = hunks.iter().map(|hunk| &hunk["root"]).collect();
    assert_eq!(roots, [&json!(scratch.repository())]);
    here.live.end();
    there.live.end();
}
