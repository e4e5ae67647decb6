//! What became of a plan: from the outcomes of its files to the command that is recorded and the answer that is given.

use crate::base::{CommandId, Digest, HunkId, RepoPath, RootId};
use crate::ledger::{
    Actor, Command, DecidedShape, Decision, FileState, ItemShape, RevertFile, RevertIntent, RevertOutcome,
    RevertResult, Verb, path_text,
};
use crate::review::{Plan, PlannedItem};

impl Plan {
    /// Says what would be done, changing nothing.
    pub fn dry_run(&self) -> DecidedShape {
        let mut shape = DecidedShape { dry_run: true, ..self.shape("planned") };
        for item in shape.items.iter_mut().filter(|item| item.outcome == "done") {
            item.outcome = "planned".to_owned();
        }
        shape
    }

    /// Says that it waits for the turn's end.
    pub fn queued(&self) -> DecidedShape {
        DecidedShape { queued: true, ..self.shape("queued") }
    }

    /// Returns what was shown of the items that are not refused: what a reject that waits is held to.
    pub fn shown(&self) -> Vec<(HunkId, Digest)> {
        let asked = self.items.iter().filter(|item| item.refused.is_none());
        asked.map(|item| (item.decision.hunk.clone(), item.decision.digest.clone())).collect()
    }

    /// Says whether any item is neither refused nor left alone.
    pub fn does_something(&self) -> bool {
        self.items.iter().any(|item| item.refused.is_none())
    }

    /// Returns the command as it will be recorded when every one of `files` succeeds: what an intent holds.
    pub fn intended(&self, files: &[RevertFile], actor: Actor, id: CommandId) -> Command {
        let done = |file: &RevertFile| RevertOutcome {
            root: file.root.clone(),
            path: file.path.clone(),
            result: RevertResult::Done { left: file.wanted, remark: None },
        };
        let outcomes: Vec<RevertOutcome> = files.iter().map(done).collect();
        let items = self.items.iter().filter_map(|item| self.settled(item, &outcomes).ok());
        let items = items.map(|(decision, _)| decision).collect();
        Command { id, verb: self.verb.clone(), actor, items }
    }

    /// Gives up the other half of each rename of which one half is refused: alone it would lose the file.
    pub fn drop_halves(&self, steps: &mut Vec<RevertFile>, refused: &mut Vec<RevertOutcome>) {
        for item in &self.items {
            let Some(old) = &item.decision.old_path else { continue };
            let root = &item.decision.root;
            let half =
                |at: &RootId, path: &RepoPath| at == root && (path == old || *path == item.decision.path);
            if !refused.iter().any(|outcome| half(&outcome.root, &outcome.path)) {
                continue;
            }
            for step in steps.extract_if(.., |step| half(&step.root, &step.path)) {
                let reason = "the other half of its rename cannot be done".to_owned();
                let result = RevertResult::Failed { reason };
                refused.push(RevertOutcome { root: step.root, path: step.path, result });
            }
        }
    }

    /// Pairs what became of the files with the items: the command to record, when anything was done, and the answer.
    pub fn settle(
        self,
        outcomes: &[RevertOutcome],
        actor: Actor,
        id: CommandId,
    ) -> (Option<Command>, DecidedShape) {
        let mut shape = self.shape("done");
        let mut items = Vec::new();
        for (planned, shown) in self.items.iter().zip(&mut shape.items) {
            match self.settled(planned, outcomes) {
                Ok((decision, remark)) => {
                    shown.state = decision.state;
                    shown.reason = remark;
                    items.push(decision);
                }
                Err(reason) => {
                    shown.outcome = "refused".to_owned();
                    shown.reason = Some(reason);
                }
            }
        }
        let command = Command { id, verb: self.verb, actor, items };
        ((!command.items.is_empty()).then_some(command), shape)
    }

    fn settled(
        &self,
        item: &PlannedItem,
        outcomes: &[RevertOutcome],
    ) -> Result<(Decision, Option<String>), String> {
        if let Some(reason) = &item.refused {
            return Err(reason.clone());
        }
        let mut remarks = Vec::new();
        let mut decision = item.decision.clone();
        for file in self.files.iter().filter(|file| {
            file.root == decision.root
                && (file.path == decision.path || Some(&file.path) == decision.old_path.as_ref())
        }) {
            let outcome = outcomes.iter().find(|one| one.root == file.root && one.path == file.path);
            let (left, remark) = outcome.map_or(Err("it was not carried out".to_owned()), outcome_of)?;
            remarks.extend(remark);
            if file.path == decision.path {
                decision.left = left;
            }
        }
        Ok((decision, (!remarks.is_empty()).then(|| remarks.join("; "))))
    }

    /// Returns the items that are refused, as they are told.
    pub(super) fn refusals(&self) -> Vec<ItemShape> {
        self.shape("refused").items
    }

    fn shape(&self, outcome: &str) -> DecidedShape {
        let items = self.items.iter().map(|item| ItemShape {
            id: item.decision.hunk.clone(),
            path: path_text(&item.decision.path),
            root: item.root.clone(),
            state: item.was,
            outcome: if item.refused.is_some() { "refused" } else { outcome }.to_owned(),
            reason: item.refused.clone(),
        });
        DecidedShape {
            verb: self.verb.as_str().to_owned(),
            dry_run: false,
            queued: false,
            items: items.chain(self.said.iter().cloned()).collect(),
            left: self.left.clone(),
        }
    }
}

impl Verb {
    /// Returns the word for JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject { .. } => "reject",
            Self::Undo { .. } => "undo",
            Self::Redo { .. } => "redo",
        }
    }
}

/// Completes the command of a recovered revert: what its files came to; `None` when nothing of it was done.
pub fn recovered(intent: &RevertIntent, outcomes: &[RevertOutcome]) -> Option<Command> {
    let of = |decision: &Decision| {
        let paths = [Some(&decision.path), decision.old_path.as_ref()];
        let files = intent
            .files
            .iter()
            .filter(move |file| file.root == decision.root && paths.contains(&Some(&file.path)));
        let mut decision = decision.clone();
        for file in files {
            let outcome = outcomes.iter().find(|one| one.root == file.root && one.path == file.path)?;
            let (left, _) = outcome_of(outcome).ok()?;
            if file.path == decision.path {
                decision.left = left;
            }
        }
        Some(decision)
    };
    let items: Vec<Decision> = intent.command.items.iter().filter_map(of).collect();
    (!items.is_empty()).then(|| Command { items, ..intent.command.clone() })
}

fn outcome_of(outcome: &RevertOutcome) -> Result<(Option<FileState>, Option<String>), String> {
    match &outcome.result {
        RevertResult::Done { left, remark } => Ok((*left, remark.clone())),
        RevertResult::Stale { rescued: None } => Err("stale: the file is not what was listed".to_owned()),
        RevertResult::Stale { rescued: Some(rescued) } => {
            Err(format!("stale: the file is not what was listed; its bytes are kept as {}", rescued.blob))
        }
        RevertResult::Failed { reason } => Err(reason.clone()),
    }
}
