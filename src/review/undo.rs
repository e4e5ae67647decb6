//! Undo and redo: a whole command is taken back, or made true again, around whatever changed elsewhere since.

use crate::base::{CommandId, Digest, HunkId, RepoPath, RootId, SessionKey};
use crate::diff::{Diff, LineMap, Text, is_binary};
use crate::ledger::{
    Blobs, ByteEdit, Decision, Decisions, FilePlan, FileState, ItemShape, Ledger, Listing, Mode,
    RevertResult, ReviewState, SessionLedger, Verb, Wanted, path_text,
};
use crate::review::{Plan, PlannedItem, Problem, ProblemKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Plans to take the last decision command back.
pub(super) fn plan_undo(ledger: &Ledger, session: &SessionKey, blobs: &dyn Blobs) -> Result<Plan, Problem> {
    let known = ledger.session(session).ok_or_else(|| nothing("undo"))?;
    let decisions = known.decisions();
    let planner = Planner { ledger, blobs, known };
    let plans = decisions.undoable().map(|command| {
        let ways = command.items.iter().filter_map(|item| {
            let (standing, decision) = decisions.standing(&item.hunk)?;
            (*standing == command.id).then(|| Way {
                decision,
                state: decisions.without(&item.hunk, &command.id),
                from: decision.left,
                to: decision.seen,
                old_from: left_at(known, &command.id, decision),
                old_to: None,
            })
        });
        let plan = planner.plan(Verb::Undo { undoes: command.id.clone() }, ways.collect());
        (plan, decisions.is_in_part(command))
    });
    first_of(plans).ok_or_else(|| nothing("undo"))
}

/// Plans to make the command that was last taken back true again.
pub(super) fn plan_redo(ledger: &Ledger, session: &SessionKey, blobs: &dyn Blobs) -> Result<Plan, Problem> {
    let known = ledger.session(session).ok_or_else(|| nothing("redo"))?;
    let decisions = known.decisions();
    let planner = Planner { ledger, blobs, known };
    let plans = decisions.redoable().map(|command| {
        let taken_back = command.items.iter().filter(|item| decisions.is_taken_back(&item.hunk, &command.id));
        let ways = taken_back.filter_map(|decided| {
            let item = undo_of(decisions, &command.id, &decided.hunk)?;
            Some(Way {
                decision: decided,
                state: decided.state,
                from: item.left,
                to: item.seen,
                old_from: None,
                old_to: left_at(known, &command.id, decided),
            })
        });
        let plan = planner.plan(Verb::Redo { redoes: command.id.clone() }, ways.collect());
        (plan, decisions.is_in_part(command))
    });
    first_of(plans).ok_or_else(|| nothing("redo"))
}

/// Returns the first plan, the latest command's. One of a command that is done in part, and of which no more can be done now, is
/// told and passed over.
fn first_of(plans: impl Iterator<Item = (Plan, bool)>) -> Option<Plan> {
    let mut stuck: Vec<Plan> = Vec::new();
    for (mut plan, in_part) in plans {
        if in_part && plan.items.iter().all(|item| item.refused.is_some()) {
            stuck.push(plan);
            continue;
        }
        plan.said.extend(stuck.iter().flat_map(Plan::refusals));
        return Some(plan);
    }
    let rest = stuck.iter().skip(1).flat_map(Plan::refusals).collect();
    stuck.into_iter().next().map(|plan| Plan { said: rest, ..plan })
}

/// Plans to withdraw the reject that was asked for last and still waits for the turn's end.
pub(super) fn plan_withdrawal(known: &SessionLedger, listing: &Listing) -> Option<Plan> {
    let waiting = known.pending_rejects().last()?;
    let item = |(hunk, _): &(HunkId, Digest)| {
        let listed = listing.hunks.iter().find(|listed| listed.id == *hunk);
        ItemShape {
            id: hunk.clone(),
            path: listed.map(|listed| path_text(&listed.path)).unwrap_or_default(),
            root: listed.map(|listed| listed.root_path.clone()).unwrap_or_default(),
            state: known.state(hunk),
            outcome: "done".to_owned(),
            reason: Some("its reject, which waited for the turn's end, is withdrawn".to_owned()),
        }
    };
    let verb = Verb::Undo { undoes: waiting.command.clone() };
    let said = waiting.hunks.iter().map(item).collect();
    Some(Plan { verb, files: Vec::new(), items: Vec::new(), left: Vec::new(), said })
}

/// One decision on its way to another state, and what that means for its file.
struct Way<'a> {
    decision: &'a Decision,
    state: ReviewState,
    from: Option<FileState>,
    to: Option<FileState>,
    old_from: Option<FileState>,
    old_to: Option<FileState>,
}

struct Planner<'a> {
    ledger: &'a Ledger,
    blobs: &'a dyn Blobs,
    known: &'a SessionLedger,
}

/// What becomes of one path: nothing to write, a file to write, or why it is refused.
type Step = Result<Option<FilePlan>, String>;

impl Planner<'_> {
    fn plan(&self, verb: Verb, ways: Vec<Way<'_>>) -> Plan {
        let mut steps: BTreeMap<(RootId, RepoPath), Step> = BTreeMap::new();
        for way in &ways {
            let root = &way.decision.root;
            for (path, from, to) in way.paths() {
                let step = || Ok(self.step(root, path, from, to)?.map(|plan| way.paired(plan)));
                steps.entry((root.clone(), path.clone())).or_insert_with(step);
            }
        }
        refuse_halves(&ways, &mut steps);
        let items = ways.iter().map(|way| self.item(way, &steps)).collect();
        let mut files: Vec<FilePlan> = steps.into_values().filter_map(|step| step.ok().flatten()).collect();
        FilePlan::sort(&mut files);
        Plan { verb, files, items, left: Vec::new(), said: Vec::new() }
    }

    fn item(&self, way: &Way<'_>, steps: &BTreeMap<(RootId, RepoPath), Step>) -> PlannedItem {
        let of = |path: &RepoPath| steps.get(&(way.decision.root.clone(), path.clone()));
        let refused = way.paths().into_iter().find_map(|(path, _, _)| of(path)?.as_ref().err().cloned());
        let now = self.now(&way.decision.root, &way.decision.path, way.from);
        let decision = Decision { state: way.state, seen: now, left: now, ..way.decision.clone() };
        let root = self.ledger.root_path(&decision.root);
        PlannedItem { was: self.known.state(&way.decision.hunk), root, decision, refused }
    }

    fn step(&self, root: &RootId, path: &RepoPath, from: Option<FileState>, to: Option<FileState>) -> Step {
        let now = self.now(root, path, from);
        let wanted = self.wanted(now, from, to)?;
        let (root, path) = (root.clone(), path.clone());
        Ok(wanted.map(|wanted| FilePlan { root, path, expected: now, wanted, other: None }))
    }

    /// Returns what stands at the path now, as the last observation says.
    fn now(&self, root: &RootId, path: &RepoPath, otherwise: Option<FileState>) -> Option<FileState> {
        self.ledger.chain(root).and_then(|chain| chain.latest(path)).unwrap_or(otherwise)
    }

    /// Says what shall stand where `now` stands, so that the change from `from` to `to` is made in it.
    fn wanted(
        &self,
        now: Option<FileState>,
        from: Option<FileState>,
        to: Option<FileState>,
    ) -> Result<Option<Wanted>, String> {
        if same(from, to) || same(now, to) {
            return Ok(None);
        }
        if same(now, from) {
            return match to {
                None => Ok(Some(Wanted::Absent)),
                Some(to) => self.kept(to).map(|to| Some(Wanted::State(to))),
            };
        }
        match (now, from, to) {
            (Some(now), Some(from), Some(to)) => self.merged(now, from, to).map(Some),
            (None, _, _) => Err("the file is gone".to_owned()),
            (Some(_), _, _) => Err("something else stands there now".to_owned()),
        }
    }

    fn merged(&self, now: FileState, from: FileState, to: FileState) -> Result<Wanted, String> {
        let mode = merged_mode(now.mode, from.mode, to.mode).ok_or("its mode changed since")?;
        if from.blob == to.blob {
            return Ok(Wanted::State(FileState { mode, ..now }));
        }
        if now.blob == from.blob {
            return self.kept(FileState { mode, ..to }).map(Wanted::State);
        }
        let [now, from, to] = [self.text(now)?, self.text(from)?, self.text(to)?];
        let edits = merged_lines(&now, &from, &to).ok_or("its lines changed since")?;
        Ok(Wanted::Edited { mode, edits })
    }

    fn text(&self, state: FileState) -> Result<Text, String> {
        let bytes: Arc<[u8]> = self.blobs.bytes(state.blob).ok_or("its bytes are not kept")?;
        if is_binary(&bytes) {
            return Err("the file changed since".to_owned());
        }
        Ok(Text::new(bytes))
    }

    fn kept(&self, state: FileState) -> Result<FileState, String> {
        let kept = self.blobs.bytes(state.blob).is_some();
        if kept { Ok(state) } else { Err("its bytes are not kept".to_owned()) }
    }
}

impl Way<'_> {
    /// Returns the paths it touches, each with what it goes from and to.
    fn paths(&self) -> Vec<(&RepoPath, Option<FileState>, Option<FileState>)> {
        let mut paths = vec![(&self.decision.path, self.from, self.to)];
        paths.extend(self.decision.old_path.iter().map(|old| (old, self.old_from, self.old_to)));
        paths
    }

    /// Names the other half of a rename.
    fn paired(&self, plan: FilePlan) -> FilePlan {
        let Some(old) = &self.decision.old_path else { return plan };
        let path = &self.decision.path;
        FilePlan { other: Some(if plan.path == *old { path.clone() } else { old.clone() }), ..plan }
    }
}

/// Refuses both paths of a rename where one is refused: half of it would lose the file.
fn refuse_halves(ways: &[Way<'_>], steps: &mut BTreeMap<(RootId, RepoPath), Step>) {
    for way in ways {
        let Some(old) = &way.decision.old_path else { continue };
        let halves = [&way.decision.path, old].map(|path| (way.decision.root.clone(), path.clone()));
        let refused = halves.iter().find_map(|half| steps.get(half)?.as_ref().err().cloned());
        if let Some(reason) = refused {
            steps.extend(halves.map(|half| (half, Err(reason.clone()))));
        }
    }
}

fn same(a: Option<FileState>, b: Option<FileState>) -> bool {
    a.map(|state| (state.mode, state.blob)) == b.map(|state| (state.mode, state.blob))
}

fn merged_mode(now: Mode, from: Mode, to: Mode) -> Option<Mode> {
    if from == to || now == to {
        return Some(now);
    }
    (now == from).then_some(to)
}

/// Makes the line changes from `from` to `to` in `now`; `None` when `now` changed one of those lines.
fn merged_lines(now: &Text, from: &Text, to: &Text) -> Option<Vec<ByteEdit>> {
    let map = LineMap::new(&Diff::of(from, now), from.len(), now.len());
    let edit = |hunk: &crate::diff::LineHunk| {
        let place = now.byte_range(map.forward_span(hunk.base)?);
        let text = to.slice(hunk.current).to_vec();
        let ends = text.is_empty() || text.ends_with(b"\n") || place.end == now.bytes().len();
        ends.then_some(ByteEdit { start: place.start, end: place.end, text })
    };
    Diff::of(from, to).hunks.iter().map(edit).collect()
}

/// Returns the item of an undo of `command` that last took its decision of a hunk back.
fn undo_of<'a>(decisions: &'a Decisions, command: &CommandId, hunk: &HunkId) -> Option<&'a Decision> {
    let mut undone = decisions.history_of(hunk).into_iter().rev();
    undone.find(|(known, _)| known.verb == Verb::Undo { undoes: command.clone() }).map(|(_, item)| item)
}

/// Returns what the command, or its latest redo of this decision, left at the path from which it was renamed.
fn left_at(known: &SessionLedger, command: &CommandId, decision: &Decision) -> Option<FileState> {
    let old = decision.old_path.as_ref()?;
    let redo = Verb::Redo { redoes: command.clone() };
    let mut writers = known.decisions().history_of(&decision.hunk).into_iter().rev();
    let (writer, _) = writers.find(|(known, _)| known.id == *command || known.verb == redo)?;
    let outcome =
        known.outcomes(&writer.id).iter().find(|one| one.root == decision.root && one.path == *old)?;
    match &outcome.result {
        RevertResult::Done { left, remark: _ } => *left,
        RevertResult::Stale { .. } | RevertResult::Failed { .. } => None,
    }
}

fn nothing(verb: &str) -> Problem {
    Problem::new(ProblemKind::User, format!("there is nothing to {verb}"))
}
