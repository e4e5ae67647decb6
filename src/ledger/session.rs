//! The ledger of one session: its bases, its turns, what was decided, and what the agent has been told.

use crate::base::{
    CallId, CommandId, CommentId, Digest, HunkId, ObservationNo, RepoPath, RequestKey, RootId, TreeId,
    TurnNo, WallNs,
};
use crate::ledger::{
    Actor, Command, Comment, Decision, Decisions, Event, Loss, Reapplied, RevertIntent, RevertOutcome,
    ReviewState, SessionHeader, Skip, Standing, Verb,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The folded ledger of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionLedger {
    header: Option<SessionHeader>,
    opened: WallNs,
    bases: BTreeMap<RootId, Base>,
    turns: Vec<TurnRow>,
    mode: Option<String>,
    decisions: Decisions,
    pending: Vec<PendingReject>,
    reverts: Vec<RevertIntent>,
    outcomes: BTreeMap<CommandId, Vec<RevertOutcome>>,
    notes: Vec<NoteRow>,
    told: BTreeSet<HunkId>,
    reapplied: Vec<Reapplied>,
    comments: Vec<CommentRow>,
    notices: Vec<NoticeRow>,
    permissions: Vec<PermissionRow>,
    standing: Standing,
    gates: BTreeSet<String>,
    closed: Option<String>,
    skips: Vec<PlacedSkip>,
    odd: u32,
}

/// The base of one root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// The observation that is the base.
    pub position: ObservationNo,
    /// Its tree.
    pub tree: TreeId,
    /// False when the prompt had to be forwarded before the base was complete.
    pub complete: bool,
    /// When the session was opened.
    pub opened: WallNs,
}

impl Base {
    /// Says whether a change was seen by the look that became the base, and may have been made after the prompt had gone
    /// on without it (rulings.md 2).
    pub(super) fn doubts(&self, seen: ObservationNo, change: &crate::ledger::Change) -> bool {
        let may_be_new = change.flags.base_unknown || change.flags.meanwhile || change.ctime >= self.opened;
        seen == self.position && !self.complete && may_be_new
    }
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// Its number.
    pub turn: TurnNo,
    /// When its prompt reached the agent.
    pub started: WallNs,
    /// When and how it ended; `None` while it runs.
    pub ended: Option<(WallNs, String)>,
}

/// A reject that waits for the turn's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingReject {
    /// When it was asked for.
    pub at: WallNs,
    /// The command it will be.
    pub command: CommandId,
    /// What was shown, by hunk.
    pub hunks: Vec<(HunkId, Digest)>,
    /// The person's words.
    pub reason: Option<String>,
    /// Whether doubtful lines are given up.
    pub force: bool,
    /// Who.
    pub actor: Actor,
}

/// A note that left with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// Its id.
    pub note: String,
    /// The commands it tells of.
    pub commands: Vec<CommandId>,
    /// The comments that rode along.
    pub comments: Vec<CommentId>,
    /// What was rejected and was back, with how often it had come back.
    pub reapplied: Vec<(HunkId, u32)>,
    /// The requests that a rule refused.
    pub denials: Vec<RequestKey>,
    /// Where it is.
    pub state: NoteState,
}

/// Where a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteState {
    /// It left, and its prompt is not answered.
    InFlight,
    /// The agent has it.
    Delivered,
    /// It came back: what it told is pending again.
    Returned,
}

/// A comment, with when it was made and who resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentRow {
    /// When it was made.
    pub at: WallNs,
    /// The comment.
    pub comment: Arc<Comment>,
    /// When it was resolved, and by whom.
    pub resolved: Option<(WallNs, Actor)>,
}

/// Something a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    /// When.
    pub at: WallNs,
    /// A word for what it is.
    pub topic: String,
    /// The path, when it is about one.
    pub path: Option<RepoPath>,
    /// For people.
    pub text: String,
}

/// A permission request that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRow {
    /// When.
    pub at: WallNs,
    /// The call it names.
    pub call: Option<CallId>,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// What it is about.
    pub title: String,
    /// The answer.
    pub outcome: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct PlacedSkip {
    skip: Skip,
    rebased: BTreeSet<RootId>,
}

impl SessionLedger {
    /// Takes in one event.
    pub(super) fn apply(&mut self, at: WallNs, event: &Event) {
        match event {
            Event::SessionOpened(header) => self.open(at, header),
            Event::SessionResumed { proxy: _ } => self.resume(at),
            Event::BaseTaken { root, position, tree, complete } => {
                let (position, tree, complete) = (*position, *tree, *complete);
                self.take_base(root, Base { position, tree, complete, opened: self.opened });
            }
            Event::Rebased { root, position, tree, actor: _ } => {
                let (position, tree) = (*position, *tree);
                self.rebase(root, Base { position, tree, complete: true, opened: self.opened });
            }
            Event::TurnStarted { turn } => self.start_turn(at, *turn),
            Event::TurnEnded { turn, stop } => self.end_turn(at, *turn, stop),
            Event::ModeChanged { mode } => self.mode = Some(mode.clone()),
            Event::SessionClosed { why } => self.closed = Some(why.clone()),
            Event::Decided(command) => self.decide(at, command),
            Event::RejectPending { command, hunks, reason, force, actor } => {
                let (command, hunks, reason) = (command.clone(), hunks.clone(), reason.clone());
                let (force, actor) = (*force, actor.clone());
                self.pending.push(PendingReject { at, command, hunks, reason, force, actor });
            }
            Event::RejectSettled { command, outcome: _ } => self.settle_reject(command),
            Event::RevertIntended(intent) => self.reverts.push(intent.clone()),
            Event::RevertDone { command, files } => self.end_revert(command, files),
            Event::NoteSent { note, commands, comments, reapplied, denials } => self.notes.push(NoteRow {
                note: note.clone(),
                commands: commands.clone(),
                comments: comments.clone(),
                reapplied: reapplied.clone(),
                denials: denials.clone(),
                state: NoteState::InFlight,
            }),
            Event::NoteDelivered { note } => self.settle_note(note, NoteState::Delivered),
            Event::NoteReturned { note } => self.settle_note(note, NoteState::Returned),
            Event::PersonTold { hunks } => self.told.extend(hunks.iter().cloned()),
            Event::Reapplied { items } => self.reapplied.clone_from(items),
            Event::Commented(comment) => self.comment(at, comment),
            Event::CommentResolved { comment, actor } => self.resolve(at, comment, actor),
            Event::Approval(approval) => self.standing.apply(at, approval),
            Event::PermissionSeen { call, turn, title, outcome, options: _, waited_ms: _ } => {
                let (call, title, outcome) = (call.clone(), title.clone(), outcome.clone());
                self.permissions.push(PermissionRow { at, call, turn: *turn, title, outcome });
            }
            Event::Noticed { topic, path, text } => {
                let (topic, path, text) = (topic.clone(), path.clone(), text.clone());
                self.notices.push(NoticeRow { at, topic, path, text });
            }
            Event::GateBlocked { gate, .. } => {
                self.gates.insert(gate.clone());
            }
            Event::GateReleased { gate, how: _, channel: _ } => {
                self.gates.remove(gate);
            }
            Event::RootOpened(_)
            | Event::Observed(_)
            | Event::Gap(_)
            | Event::WindowOpened(_)
            | Event::WindowRefined { .. }
            | Event::WindowClosed { .. }
            | Event::Claimed(_)
            | Event::ProxyJoined { .. }
            | Event::ProxyLeft { .. } => self.odd += 1,
            // It stands for who reads the journal.
            Event::Visited(_) => {}
            // Who works for whom is asked of the chains; here it stands for lists of sessions.
            Event::SessionJoined(_) => {}
        }
    }

    /// Takes in that a line was lost here.
    pub(super) fn skip(&mut self, skip: Skip) {
        self.skips.push(PlacedSkip { skip, rebased: BTreeSet::new() });
    }

    /// Returns the first record of the ledger.
    pub fn header(&self) -> Option<&SessionHeader> {
        self.header.as_ref()
    }

    /// Returns the base of a root, once it is taken.
    pub fn base(&self, root: &RootId) -> Option<&Base> {
        self.bases.get(root)
    }

    /// Returns the bases.
    pub fn bases(&self) -> &BTreeMap<RootId, Base> {
        &self.bases
    }

    /// Returns the roots that the session tracks, in the order of its header.
    pub fn roots(&self) -> Vec<RootId> {
        let mut roots: Vec<RootId> =
            self.header.iter().flat_map(|header| header.roots.iter().map(|(root, _)| root.clone())).collect();
        roots.extend(self.bases.keys().filter(|root| !roots.contains(root)).cloned().collect::<Vec<_>>());
        roots
    }

    /// Returns a root's absolute path as the header tells it.
    pub fn root_path(&self, root: &RootId) -> Option<&str> {
        let roots = &self.header.as_ref()?.roots;
        roots.iter().find(|(known, _)| known == root).map(|(_, path)| path.as_str())
    }

    /// Returns the turns, oldest first.
    pub fn turns(&self) -> &[TurnRow] {
        &self.turns
    }

    /// Returns the turn that runs.
    pub fn current_turn(&self) -> Option<TurnNo> {
        self.turns.iter().rev().find(|row| row.ended.is_none()).map(|row| row.turn)
    }

    /// Returns the number that the next turn gets.
    pub fn next_turn(&self) -> TurnNo {
        self.turns.iter().map(|row| row.turn).max().unwrap_or_default().next()
    }

    /// Returns the agent's mode id, when it said one.
    pub fn mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// Returns the decision commands and what is in force of them.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Returns the decision that is in force for a hunk.
    pub fn decision(&self, hunk: &HunkId) -> Option<&Decision> {
        self.decisions.in_force(hunk)
    }

    /// Returns the recorded state of a hunk; whether a rejected one is back is derived elsewhere.
    pub fn state(&self, hunk: &HunkId) -> ReviewState {
        self.decision(hunk).map(|decision| decision.state).unwrap_or_default()
    }

    /// Returns the rejects that wait for the turn's end, oldest first.
    pub fn pending_rejects(&self) -> &[PendingReject] {
        &self.pending
    }

    /// Returns the reverts that were begun and not ended.
    pub fn reverts_in_flight(&self) -> &[RevertIntent] {
        &self.reverts
    }

    /// Returns how the files of a command's revert ended; empty for a command that wrote none.
    pub fn outcomes(&self, command: &CommandId) -> &[RevertOutcome] {
        self.outcomes.get(command).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the notes that ever left.
    pub fn notes(&self) -> &[NoteRow] {
        &self.notes
    }

    /// Says whether a note is on its way.
    pub fn note_in_flight(&self) -> Option<&NoteRow> {
        self.notes.iter().find(|row| row.state == NoteState::InFlight)
    }

    /// Returns the decision commands that the agent was told, or is being told.
    pub fn told_commands(&self) -> BTreeSet<&CommandId> {
        self.told_notes().flat_map(|row| &row.commands).collect()
    }

    /// Returns the comments that the agent was told, or is being told.
    pub fn told_comments(&self) -> BTreeSet<&CommentId> {
        self.told_notes().flat_map(|row| &row.comments).collect()
    }

    /// Returns the refused requests that the agent was told, or is being told.
    pub fn told_denials(&self) -> BTreeSet<&RequestKey> {
        self.told_notes().flat_map(|row| &row.denials).collect()
    }

    /// Returns what of the reapplied changes the agent was told, or is being told, and how often each had come back then.
    pub fn told_reapplied(&self) -> BTreeSet<&(HunkId, u32)> {
        self.told_notes().flat_map(|row| &row.reapplied).collect()
    }

    /// Returns what the person was told of at a turn's end, or asked about, and has not decided on since.
    pub fn person_knows(&self) -> &BTreeSet<HunkId> {
        &self.told
    }

    /// Returns what was rejected and stood on disk again at the last turn's end, without what was decided on since.
    pub fn reapplied(&self) -> &[Reapplied] {
        &self.reapplied
    }

    /// Returns the comments, oldest first.
    pub fn comments(&self) -> &[CommentRow] {
        &self.comments
    }

    /// Returns what a person should know, oldest first.
    pub fn notices(&self) -> &[NoticeRow] {
        &self.notices
    }

    /// Returns what was asked and is not over, and what was given for good.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Returns the writes that were recorded to wait, and of which no end was.
    pub fn gates(&self) -> impl Iterator<Item = &String> {
        self.gates.iter()
    }

    /// Returns the permission requests that passed, as earlier versions wrote them.
    pub fn permissions(&self) -> &[PermissionRow] {
        &self.permissions
    }

    /// Says why the session is closed; `None` while it is not.
    pub fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// Returns how many events made no sense where they stood.
    pub fn odd(&self) -> u32 {
        self.odd
    }

    /// Returns what was skipped, until every root has been rebased since.
    pub fn skips(&self) -> impl Iterator<Item = &Skip> {
        let roots = self.roots();
        let cleared =
            move |placed: &PlacedSkip| !roots.is_empty() && roots.iter().all(|r| placed.rebased.contains(r));
        self.skips.iter().filter(move |placed| !cleared(placed)).map(|placed| &placed.skip)
    }

    /// Returns the damage that makes `root` untrustworthy for this session.
    pub fn damage(&self, root: &RootId) -> Option<&Skip> {
        let harms = |placed: &&PlacedSkip| match &placed.skip.loss {
            Loss::Session => !placed.rebased.contains(root),
            Loss::Root(lost) => lost == root && !placed.rebased.contains(root),
            Loss::Informational => false,
        };
        self.skips.iter().find(harms).map(|placed| &placed.skip)
    }

    fn told_notes(&self) -> impl Iterator<Item = &NoteRow> {
        self.notes.iter().filter(|row| row.state != NoteState::Returned)
    }

    fn open(&mut self, at: WallNs, header: &SessionHeader) {
        self.closed = None;
        match &self.header {
            None => {
                self.header = Some(header.clone());
                self.opened = at;
            }
            Some(known) if known == header => {}
            Some(_) => self.odd += 1,
        }
    }

    fn resume(&mut self, at: WallNs) {
        self.closed = None;
        for row in self.turns.iter_mut().filter(|row| row.ended.is_none()) {
            row.ended = Some((at, "lost".to_owned()));
        }
        for row in self.notes.iter_mut().filter(|row| row.state == NoteState::InFlight) {
            row.state = NoteState::Returned;
        }
    }

    fn take_base(&mut self, root: &RootId, base: Base) {
        match self.bases.get(root) {
            None => drop(self.bases.insert(root.clone(), base)),
            Some(known) if *known == base => {}
            Some(_) => self.odd += 1,
        }
    }

    fn rebase(&mut self, root: &RootId, base: Base) {
        self.bases.insert(root.clone(), base);
        for placed in &mut self.skips {
            placed.rebased.insert(root.clone());
        }
    }

    fn start_turn(&mut self, at: WallNs, turn: TurnNo) {
        if self.turns.iter().any(|row| row.turn == turn) {
            self.odd += 1;
        } else {
            self.turns.push(TurnRow { turn, started: at, ended: None });
        }
    }

    fn end_turn(&mut self, at: WallNs, turn: TurnNo, stop: &str) {
        match self.turns.iter_mut().find(|row| row.turn == turn && row.ended.is_none()) {
            Some(row) => row.ended = Some((at, stop.to_owned())),
            None => self.odd += 1,
        }
    }

    fn decide(&mut self, at: WallNs, command: &Command) {
        self.settle_reject(&command.id);
        for item in &command.items {
            self.told.remove(&item.hunk);
            self.reapplied.retain(|row| row.hunk != item.hunk);
        }
        if matches!(command.verb, Verb::Accept | Verb::Reject { .. }) {
            self.overrule(command);
        }
        self.odd += u32::from(!self.decisions.push(at, command));
    }

    /// A later decision on a hunk takes the place of a reject of it that still waits.
    fn overrule(&mut self, command: &Command) {
        for row in &mut self.pending {
            row.hunks.retain(|(hunk, _)| command.items.iter().all(|item| item.hunk != *hunk));
        }
        self.pending.retain(|row| !row.hunks.is_empty());
    }

    fn end_revert(&mut self, command: &CommandId, files: &[RevertOutcome]) {
        self.reverts.retain(|intent| intent.command.id != *command);
        self.outcomes.insert(command.clone(), files.to_vec());
    }

    fn settle_reject(&mut self, command: &CommandId) {
        self.pending.retain(|row| row.command != *command);
    }

    fn comment(&mut self, at: WallNs, comment: &Comment) {
        if self.comments.iter().any(|row| row.comment.id == comment.id) {
            self.odd += 1;
        } else {
            self.comments.push(CommentRow { at, comment: Arc::new(comment.clone()), resolved: None });
        }
    }

    fn settle_note(&mut self, note: &str, state: NoteState) {
        match self.notes.iter_mut().rev().find(|row| row.note == note && row.state == NoteState::InFlight) {
            Some(row) => row.state = state,
            None => self.odd += 1,
        }
    }

    fn resolve(&mut self, at: WallNs, comment: &CommentId, actor: &Actor) {
        match self.comments.iter_mut().find(|row| row.comment.id == *comment && row.resolved.is_none()) {
            Some(row) => row.resolved = Some((at, actor.clone())),
            None => self.odd += 1,
        }
    }
}
