//! What the scripted agent does, and what it says of it.

use super::agents::{Overwrites, Reads};
use super::op::{Deed, Draw, First, Input as Told, Op, Work};
use super::stage::{Beat, ROOT, Race, full};
use super::truth::Writer;
use serde_json::{Value, json};

/// What a call of a measured agent does, in parts of a hundred: as it was measured; and with a few edits that tell only a
/// path, or nothing.
const PARTS: [(Work, usize, usize); 10] = [
    (Work::Fragment, 36, 32),
    (Work::Whole, 12, 12),
    (Work::Create, 12, 12),
    (Work::Delete, 4, 4),
    (Work::PathOnly, 0, 2),
    (Work::Silent, 0, 2),
    (Work::Shell, 12, 12),
    (Work::Spelled, 12, 12),
    (Work::Look, 8, 8),
    (Work::Read, 12, 12),
];

fn work() -> Vec<Work> {
    let often = [Work::Fragment, Work::Shell];
    let all = [
        Work::Spelled,
        Work::Fragment,
        Work::Whole,
        Work::Create,
        Work::Delete,
        Work::PathOnly,
        Work::Silent,
        Work::Client,
        Work::Shell,
        Work::Look,
        Work::Read,
        Work::Fragment,
        Work::Whole,
    ];
    often.into_iter().chain(all).collect()
}

fn repeated(parts: impl Iterator<Item = (Work, usize)>) -> Vec<Work> {
    parts.flat_map(|(work, count)| std::iter::repeat_n(work, count)).collect()
}

impl Race {
    /// Begins what comes next in the turn: one call, or several side by side.
    pub(super) fn batch(&mut self) {
        if self.batches == 0 {
            let wait = self.dice.skewed(1, 600);
            self.plan(wait, Beat::EndTurn);
            return;
        }
        self.batches -= 1;
        let most = if self.cast.draw == Draw::Hostile { 4 } else { self.agent.parallel };
        let side = most > 1 && self.cast.batches && self.dice.percent(35);
        let count = if side { self.dice.within(2, most.max(2)) } else { 1 };
        let mut works = match self.cast.draw {
            Draw::Measured => repeated(PARTS.iter().map(|&(work, measured, _)| (work, measured))),
            Draw::Loose => repeated(PARTS.iter().map(|&(work, _, loose)| (work, loose))),
            Draw::Hostile => work(),
        };
        let mut start = 0;
        for _ in 0..count {
            let at = self.ops.len();
            // Ids come again in the next turn.
            let id =
                if self.dice.percent(20) { format!("again{}", self.of_turn()) } else { format!("c{at}") };
            let drawn = works[self.dice.index(works.len())];
            let mut op = match self.cast.draw {
                Draw::Hostile => Op::hostile(&mut self.dice, drawn, (id, self.turn)),
                draw @ (Draw::Measured | Draw::Loose) => {
                    let work = self.manner(drawn);
                    let id = if work == Work::Read { self.agent.reads.id(id) } else { id };
                    Op::measured(&mut self.dice, (self.agent, self.asks, draw), work, (id, self.turn))
                }
            };
            if op.cut {
                self.batches = 0;
            }
            if matches!(op.work, Work::Shell | Work::Spelled) {
                // Models batch one command at most: two at once are contested by their nature.
                works.retain(|work| !matches!(work, Work::Shell | Work::Spelled));
                let leaves = self.cast.jobs && self.dice.percent(15);
                op.job = leaves.then(|| self.dice.within(300, 2_000));
            }
            op.span.0 = self.now + start;
            let (first, gap) = (op.first, op.gap);
            self.ops.push(op);
            self.running.insert(at);
            match first {
                First::Message => self.plan(start, Beat::Announce(at)),
                First::Write => {
                    self.plan(start, Beat::Write(at));
                    self.plan(start + gap, Beat::Announce(at));
                }
                First::Permission => self.plan(start, Beat::Ask(at)),
            }
            start += self.dice.skewed(0, 40);
        }
    }

    /// What the agent makes of this kind of work.
    fn manner(&self, work: Work) -> Work {
        let lent = self.agent.client && self.lends;
        match work {
            Work::Fragment | Work::Whole | Work::Create if lent => Work::Client,
            Work::Fragment if self.agent.whole => Work::Whole,
            Work::Whole if self.agent.overwrites == Overwrites::Patches => Work::Fragment,
            Work::Fragment
            | Work::Whole
            | Work::Create
            | Work::Delete
            | Work::PathOnly
            | Work::Silent
            | Work::Client
            | Work::Shell
            | Work::Spelled
            | Work::Look
            | Work::Read => work,
        }
    }

    fn of_turn(&self) -> usize {
        self.ops.iter().filter(|op| op.turn == self.turn).count()
    }

    pub(super) fn announce(&mut self, at: usize) {
        self.decide(at);
        self.ops[at].heard.get_or_insert(self.now);
        let op = self.ops[at].clone();
        let mut update = json!({"sessionUpdate":"tool_call","toolCallId":op.id,"title":format!("work {at}"),"kind":op.work.kind(),"status":if op.pending { "pending" } else { "in_progress" }});
        let knows = op.first == First::Write && self.cast.draw != Draw::Hostile;
        if op.input == Told::Announced || op.first == First::Permission || knows {
            self.describe(at, &mut update);
        }
        self.update(&update);
        if op.first != First::Message {
            return;
        }
        let tells = match op.input {
            Told::Before(least, most) => {
                let drawn = least + i64::try_from(self.dice.within(0, most.abs_diff(least))).unwrap_or(0);
                Some(op.gap.saturating_add_signed(-drawn))
            }
            Told::WithWrite => Some(op.gap + self.dice.skewed(0, 50)),
            Told::Later => Some(self.dice.within(0, op.gap + 50)),
            Told::Announced | Told::AtTheEnd => None,
        };
        if let Some(after) = tells {
            self.plan(after, Beat::Input(at));
        }
        if op.work == Work::Client && self.cast.draw == Draw::Hostile {
            self.pass(at);
        } else {
            self.plan(op.gap, Beat::Write(at));
        }
    }

    /// Has the client write.
    fn pass(&mut self, at: usize) {
        let Some((file, _, new)) = self.ops[at].told.clone() else { return self.finish(at) };
        self.waiting.insert(format!("r{at}"), at);
        self.agent(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"method":"fs/write_text_file","params":{"sessionId":"s1","path":full(&file),"content":new}}));
    }

    /// Decides what a call will write, on what stands there now.
    fn decide(&mut self, at: usize) {
        let op = &mut self.ops[at];
        if op.decided || matches!(op.work, Work::Shell | Work::Look | Work::Read) {
            return;
        }
        op.decided = true;
        if op.work == Work::Spelled {
            let steps = op.more.len() + 1;
            self.ops[at].script = (0..steps).map(|_| self.deed(at)).collect();
            return;
        }
        if op.work == Work::Create {
            let text: String = (0..self.dice.within(1, 5)).map(|_| self.line(Writer::Call(at))).collect();
            self.ops[at].told = Some((format!("n{at}"), None, text));
            return;
        }
        let Some((file, text)) = self.standing_file() else { return };
        self.ops[at].read = Some(text.clone());
        if self.ops[at].work == Work::Delete {
            self.ops[at].told = Some((file, Some(text), String::new()));
            return;
        }
        let Some((old, new)) = self.edit(Writer::Call(at), &text) else { return };
        let whole = text.replacen(&old, &new, 1);
        let told = match self.ops[at].work {
            Work::Whole | Work::Client => {
                let blind = match (self.cast.draw, self.agent.overwrites) {
                    (Draw::Hostile, _) | (_, Overwrites::Sometimes) => self.dice.percent(30),
                    (_, Overwrites::Told | Overwrites::Patches) => false,
                    (_, Overwrites::Afterwards | Overwrites::Never) => true,
                };
                (file, (!blind).then_some(text), whole)
            }
            Work::Fragment
            | Work::Create
            | Work::Delete
            | Work::PathOnly
            | Work::Silent
            | Work::Shell
            | Work::Spelled
            | Work::Look
            | Work::Read => (file, Some(old), new),
        };
        self.ops[at].told = Some(told);
    }

    fn describe(&mut self, at: usize, update: &mut Value) {
        let measured = self.cast.draw != Draw::Hostile;
        let draw = self.cast.draw;
        let op = &mut self.ops[at];
        op.said |= op.told.is_some();
        op.named |= op.told.is_some() && op.work != Work::Silent;
        match op.work {
            Work::Shell => update["rawInput"] = json!({"command": "make things"}),
            Work::Spelled => {
                op.named = true;
                op.texts.extend(op.script.iter().filter_map(|deed| match deed {
                    Deed::Create(file, _) => Some(file.clone()),
                    Deed::Remove(_) | Deed::Move(..) | Deed::MakeExecutable(_) | Deed::Change(_) => None,
                }));
                let words: Vec<String> = op.script.iter().rev().map(Deed::words).collect();
                update["rawInput"] = json!({"command": ["bash", "-lc", words.join("\n")], "cwd": ROOT});
            }
            Work::Look => {
                op.proven = true;
                update["rawInput"] = json!({"command": "git status --short"});
            }
            Work::Read => {
                let reads = match (draw, self.agent.reads) {
                    (Draw::Hostile, _) if at.is_multiple_of(2) => Reads::Arguments,
                    (Draw::Hostile, _) | (Draw::Loose, Reads::Arguments) => Reads::Bare,
                    (Draw::Measured | Draw::Loose, reads) => reads,
                };
                update["rawInput"] = json!({"path": full("f0")});
                op.proven = reads != Reads::Bare;
                reads.tell(update);
            }
            Work::Fragment
            | Work::Whole
            | Work::Create
            | Work::Delete
            | Work::PathOnly
            | Work::Silent
            | Work::Client => {}
        }
        let Some((file, old, new)) = &op.told else { return };
        if op.work != Work::Silent {
            update["locations"] = json!([{"path": full(file)}]);
        }
        let diff = matches!(op.work, Work::Fragment | Work::Whole | Work::Create);
        if diff || op.work == Work::Client && measured {
            op.texted = true;
            update["content"] = json!([{"type":"diff","path":full(file),"oldText":old,"newText":new}]);
        }
    }

    pub(super) fn input(&mut self, at: usize, status: Option<&str>) {
        let mut update = json!({"sessionUpdate":"tool_call_update","toolCallId":self.ops[at].id});
        if let Some(status) = status {
            update["status"] = json!(status);
        }
        if status.is_none() || self.ops[at].input == Told::AtTheEnd {
            self.describe(at, &mut update);
        }
        self.update(&update);
    }

    pub(super) fn ask(&mut self, at: usize) {
        self.decide(at);
        self.ops[at].heard.get_or_insert(self.now);
        let mut call = json!({"toolCallId":self.ops[at].id,"title":format!("work {at}"),"kind":self.ops[at].work.kind(),"status":"pending"});
        self.describe(at, &mut call);
        self.waiting.insert(format!("r{at}"), at);
        self.agent(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"method":"session/request_permission","params":{"sessionId":"s1","toolCall":call,"options":[{"optionId":"ok","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}));
    }

    pub(super) fn write(&mut self, at: usize) {
        self.decide(at);
        match self.ops[at].work {
            Work::Look | Work::Read => {}
            Work::Client => return self.pass(at),
            Work::Shell | Work::Spelled => {
                let rest = self.ops[at].more.pop();
                self.command(at);
                if let Some(after) = rest {
                    self.plan(after, Beat::Write(at));
                    return;
                }
            }
            Work::Delete => {
                let Some((file, _, _)) = self.ops[at].told.clone() else { return self.finish(at) };
                if self.remove(Writer::Call(at), &file) {
                    self.mean(at, "");
                } else {
                    self.ops[at].failed = true;
                }
            }
            Work::Fragment | Work::PathOnly | Work::Silent => {
                let Some((file, Some(old), new)) = self.ops[at].told.clone() else { return self.finish(at) };
                match self.text(&file).filter(|text| text.contains(&old)) {
                    Some(text) => self.replace(Writer::Call(at), &file, &text.replacen(&old, &new, 1)),
                    None => self.ops[at].failed = true,
                }
            }
            Work::Whole | Work::Create => {
                let Some((file, _, new)) = self.ops[at].told.clone() else { return self.finish(at) };
                self.mean(at, &new);
                self.replace(Writer::Call(at), &file, &new);
            }
        }
        self.finish(at);
    }

    /// A whole text takes away what its call had read and it does not hold.
    fn mean(&mut self, at: usize, new: &str) {
        if let Some(read) = self.ops[at].read.clone() {
            self.truth.meant(Writer::Call(at), [&read, new]);
        }
    }

    pub(super) fn client_writes(&mut self, at: usize, params: &Value) {
        let path = params["path"].as_str().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default().to_owned();
        if self.emptied.contains(&file) {
            self.plan(6, Beat::ClientWrites(at, params.clone()));
            return;
        }
        let text = params["content"].as_str().unwrap_or_default().to_owned();
        self.mean(at, &text);
        self.put(Writer::Call(at), &file, &text);
        self.editor(&json!({"jsonrpc":"2.0","id":format!("r{at}"),"result":{}}));
    }

    /// The last write is done: the call ends, soon or never.
    pub(super) fn finish(&mut self, at: usize) {
        let announced = if self.ops[at].first == First::Write { self.ops[at].gap } else { 0 };
        // A write that can be seen half done is over before the call is.
        let announced = if self.emptied.is_empty() { announced } else { announced.max(6) };
        match self.ops[at].end {
            Some(end) => self.plan(end.max(announced + 1), Beat::Done(at)),
            None => {
                let wait = announced + self.dice.skewed(5, 400);
                self.plan(wait, Beat::Over(at));
            }
        }
    }

    /// Tells what it has overwritten, with what it wrote.
    fn tell_what_stood(&mut self, at: usize) {
        let (Some((file, None, new)), Some(old)) = (&self.ops[at].told, &self.ops[at].read) else { return };
        let diff = json!([{"type":"diff","path":full(file),"oldText":old,"newText":new}]);
        let update = json!({"sessionUpdate":"tool_call_update","toolCallId":self.ops[at].id,"content":diff});
        self.update(&update);
    }

    pub(super) fn done(&mut self, at: usize) {
        let measured = self.cast.draw != Draw::Hostile && self.agent.overwrites == Overwrites::Afterwards;
        if measured && self.ops[at].work == Work::Whole {
            self.tell_what_stood(at);
        }
        let failed = self.ops[at].failed;
        self.input(at, Some(if failed { "failed" } else { "completed" }));
        // That its path is gone is the whole text of a delete.
        let op = &mut self.ops[at];
        op.texted |= op.work == Work::Delete && op.said && !failed;
        if op.named && !failed {
            let gone = op.script.iter().filter(|deed| matches!(deed, Deed::Move(..)));
            op.texts.extend(gone.flat_map(Deed::files).map(str::to_owned));
        }
        self.ops[at].span.1 = self.now;
        if let Some(after) = self.ops[at].job {
            self.plan(after, Beat::Job(at));
        }
        self.over(at);
    }

    /// The agent goes on when all that ran side by side is over.
    pub(super) fn over(&mut self, at: usize) {
        self.running.remove(&at);
        if self.running.is_empty() {
            let wait = self.dice.skewed(2, 500);
            self.plan(wait, Beat::Batch);
        }
    }

    /// Does the next thing that a command does.
    fn command(&mut self, at: usize) {
        let by = Writer::Call(at);
        let steps = self.ops[at].more.len();
        let deed = self.ops[at].script.get(steps).cloned().unwrap_or_else(|| self.deed(at));
        match deed {
            Deed::Remove(file) => {
                self.remove(by, &file);
            }
            Deed::Move(file, to) => {
                let from = full(&file);
                let moved = !self.emptied.contains(&file)
                    && self.world.tree.rename(&from, &full(&to), self.world.now.wall);
                if moved {
                    self.truth.moved(by, &file, &to);
                }
                // The last of several commands says how they ended.
                self.ops[at].failed |= !moved && steps == 0;
            }
            Deed::MakeExecutable(file) => {
                self.world.tree.chmod(&full(&file), true, self.world.now.wall);
            }
            Deed::Create(name, text) => self.replace(by, &name, &text),
            Deed::Change(file) => self.change(by, &file),
        }
    }

    /// Draws one thing that a command does.
    fn deed(&mut self, at: usize) -> Deed {
        let file = self.some_file();
        match self.dice.within(0, 19) {
            0 => Deed::Remove(file),
            1 => Deed::Move(file, format!("m{at}x{}", self.lines)),
            2 => Deed::MakeExecutable(file),
            3..=5 => {
                let name = format!("s{at}x{}", self.lines);
                let text = (0..self.dice.within(1, 4)).map(|_| self.line(Writer::Call(at))).collect();
                Deed::Create(name, text)
            }
            _ => Deed::Change(file),
        }
    }
}
