//! The work on one root, in order: looks at it, and puts files back.

use crate::base::{AskId, ProxyId, RepoPath, RootId, SessionKey, TreeId};
use crate::engine::{Input, Sight};
use crate::host::clock::Clock;
use crate::host::event::{Event, Inbox};
use crate::host::patrol::{Found, Patrol};
use crate::host::worker::{Spare, Waiting, Worker, guarded};
use crate::ledger::{FilePlan, Gap, RevertFile, RevertOutcome, RevertResult, Why};
use crate::store::{Chain, Observing, RootStore, StoreBlobs};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A root that is open in this process.
#[derive(Debug)]
pub(crate) struct OpenRoot {
    /// Its chain, to which facts are appended without waiting for a look.
    pub(crate) chain: Chain,
    /// The contents of its store.
    pub(crate) blobs: StoreBlobs,
    /// Whoever works on it.
    pub(crate) worker: Worker<Job>,
    /// How it is observed: `watch`, `hybrid` or `walk`.
    pub(crate) observing: &'static str,
}

/// Something to do on one root.
#[derive(Debug)]
pub(crate) enum Job {
    /// Look at it.
    Observe {
        /// Quoted in the answer.
        ask: AskId,
        /// Why.
        why: Why,
        /// Paths to be read even if ignore rules cover them.
        named: Vec<RepoPath>,
    },
    /// Prepare the files of a revert.
    Prepare(Share<FilePlan, Result<RevertFile, RevertOutcome>>),
    /// Carry them out.
    Restore(Share<RevertFile, RevertOutcome>),
    /// Finish or take back what a dead process had begun.
    Recover(Share<RevertFile, RevertOutcome>),
    /// Keep these trees for a session, and no others.
    Pin {
        /// The session.
        session: SessionKey,
        /// The trees that its ledger names.
        trees: Vec<TreeId>,
    },
}

/// Starts whoever works on a root.
pub(crate) fn start(
    mut store: RootStore,
    observing: &'static str,
    (proxy, clock): (ProxyId, Clock),
    inbox: Inbox,
) -> std::io::Result<OpenRoot> {
    let (chain, blobs) = (store.chain(), store.blobs());
    let name = format!("root {}", store.root().id);
    let root = store.root().id.clone();
    let (stirring, stirred) = (inbox.clone(), root.clone());
    store.listen(move || {
        stirring.put(Event::Came(Box::new(Input::Stirred { root: stirred.clone() })));
    });
    let mut bench = Bench { store, root, proxy, clock, inbox, patrol: Patrol::default() };
    let worker = Worker::start_with_spare_time(&name, move |queue, waiting| bench.work(queue, waiting))?;
    Ok(OpenRoot { chain, blobs, worker, observing })
}

struct Bench {
    store: RootStore,
    root: RootId,
    proxy: ProxyId,
    clock: Clock,
    inbox: Inbox,
    /// Asks for looks where nothing tells of what happens.
    patrol: Patrol,
}

/// Why a root is not looked at whose chain is gone.
const LOST: &str = "its record was removed from the state directory: nothing more is recorded of it until the agent is started anew";

impl Bench {
    fn work(&mut self, queue: &mut VecDeque<Job>, waiting: &Waiting) -> Spare {
        if queue.is_empty() {
            let more = guarded(|| self.store.verify_until(|| waiting.any())).unwrap_or(false);
            return if more { Spare::Busy } else { self.patrol() };
        }
        self.take_job(queue);
        // A verify walk may have begun.
        Spare::Busy
    }

    /// Asks for a look when one is due.
    fn patrol(&mut self) -> Spare {
        match self.patrol.until(Instant::now()) {
            None => Spare::Idle,
            Some(wait) if !wait.is_zero() => Spare::Later(wait),
            Some(_) => {
                self.patrol.rest();
                self.inbox.put(Event::Came(Box::new(Input::Stirred { root: self.root.clone() })));
                Spare::Idle
            }
        }
    }

    /// Notes when the next look is due that nobody asks for.
    fn looked(&mut self, began: Instant, why: Why, changed: bool) {
        let found = if why == Why::Activity && !changed { Found::Nothing } else { Found::Life };
        match self.store.observing() {
            Observing::Watch => self.patrol.rest(),
            Observing::Hybrid | Observing::Walk => {
                self.patrol.looked(Instant::now(), began.elapsed(), found);
            }
        }
    }

    fn take_job(&mut self, queue: &mut VecDeque<Job>) {
        match queue.pop_front() {
            Some(Job::Observe { ask, why, named }) => {
                let mut asks = vec![ask];
                let mut paths = named;
                // What is asked for while an earlier look is still on is answered by one look for all.
                while let Some(Job::Observe { ask, named, .. }) =
                    queue.pop_front_if(|next| matches!(next, Job::Observe { why, .. } if *why != Why::Rebase))
                {
                    asks.push(ask);
                    paths.extend(named);
                }
                paths.sort();
                paths.dedup();
                self.observe(&asks, why, &paths);
            }
            Some(Job::Prepare(share)) => {
                share.carry_out(
                    |plans| self.store.prepare(plans),
                    |plan, reason| Err(failed(&plan.root, &plan.path, reason)),
                );
            }
            Some(Job::Restore(share)) => {
                share.carry_out(
                    |files| self.store.restore(files),
                    |file, reason| failed(&file.root, &file.path, reason),
                );
            }
            Some(Job::Recover(share)) => {
                share.carry_out(
                    |files| self.store.recover(files),
                    |file, reason| failed(&file.root, &file.path, reason),
                );
            }
            Some(Job::Pin { session, trees }) => {
                let pinned = guarded(|| self.store.pin(&session, &trees).map_err(|error| error.to_string()));
                if let Err(reason) = pinned.and_then(|pinned| pinned) {
                    tracing::warn!("the trees of a session are not pinned: {reason}");
                }
            }
            None => {}
        }
    }

    fn observe(&mut self, asks: &[AskId], why: Why, named: &[RepoPath]) {
        let (clock, began) = (self.clock, Instant::now());
        // Whoever looks at the turn's ends finds out whether the record is still where it was.
        let looked = if matches!(why, Why::Prompt | Why::TurnEnd) && self.store.chain().is_lost() {
            Err(LOST.to_owned())
        } else {
            guarded(|| self.store.observe(why, named, &|| clock.now().wall, &self.proxy))
        };
        let (foreign, outcome, mut sight) = match looked {
            Ok(observed) => {
                let remarks = observed.remarks;
                remarks.iter().for_each(|remark| tracing::info!("{remark}"));
                let crate::store::Sight { observing, because, missed } = observed.sight;
                let sight = Sight { observing: observing.as_str(), because, missed, remarks };
                (observed.foreign, observed.outcome, Some(sight))
            }
            Err(reason) => (Vec::new(), Err(Gap { at: clock.now().wall, reason, why }), None),
        };
        let outcome = outcome.map_err(|gap| match self.store.chain().is_lost() {
            true => Gap { reason: LOST.to_owned(), ..gap },
            false => gap,
        });
        self.looked(began, why, outcome.as_ref().is_ok_and(|seen| !seen.changes.is_empty()));
        let mut foreign = Some(foreign);
        for &ask in asks {
            let input = Input::Observed {
                ask,
                root: self.root.clone(),
                foreign: foreign.take().unwrap_or_default(),
                outcome: outcome.clone(),
                sight: sight.take(),
            };
            self.inbox.put(Event::Came(Box::new(input)));
        }
    }
}

fn failed(root: &RootId, path: &RepoPath, reason: &str) -> RevertOutcome {
    let result = RevertResult::Failed { reason: reason.to_owned() };
    RevertOutcome { root: root.clone(), path: path.clone(), result }
}

/// One root's share of an effect that may touch several. The answer leaves when the last share is done.
#[derive(Debug)]
pub(crate) struct Share<I, O> {
    items: Vec<(usize, I)>,
    whole: Arc<Whole<O>>,
}

#[derive(Debug)]
struct Whole<O> {
    state: Mutex<Slots<O>>,
    inbox: Inbox,
    answer: fn(AskId, Vec<O>) -> Input,
    ask: AskId,
}

#[derive(Debug)]
struct Slots<O> {
    slots: Vec<Option<O>>,
    left: usize,
}

impl<I, O> Share<I, O> {
    /// Cuts an effect into the shares of the roots it touches.
    pub(crate) fn cut(
        items: Vec<I>,
        root_of: impl Fn(&I) -> &RootId,
        ask: AskId,
        answer: fn(AskId, Vec<O>) -> Input,
        inbox: Inbox,
    ) -> Vec<(RootId, Self)> {
        let count = items.len();
        let slots = std::iter::repeat_with(|| None).take(count).collect();
        let whole = Arc::new(Whole { state: Mutex::new(Slots { slots, left: count }), inbox, answer, ask });
        if count == 0 {
            whole.send_if_done();
        }
        let mut shares: Vec<(RootId, Self)> = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let root = root_of(&item).clone();
            match shares.iter_mut().find(|(known, _)| *known == root) {
                Some((_, share)) => share.items.push((at, item)),
                None => shares.push((root, Self { items: vec![(at, item)], whole: Arc::clone(&whole) })),
            }
        }
        shares
    }

    /// Does the share with `work`; what `work` does not answer, `otherwise` does.
    pub(crate) fn carry_out(self, work: impl FnOnce(&[I]) -> Vec<O>, otherwise: impl Fn(&I, &str) -> O) {
        let (places, items): (Vec<usize>, Vec<I>) = self.items.into_iter().unzip();
        let done = guarded(|| work(&items));
        let reason = done.as_ref().err().cloned().unwrap_or_else(|| "it was not done".to_owned());
        let mut done = done.unwrap_or_default().into_iter();
        for (at, item) in places.into_iter().zip(&items) {
            self.whole.put(at, done.next().unwrap_or_else(|| otherwise(item, &reason)));
        }
        self.whole.send_if_done();
    }
}

impl<O> Whole<O> {
    fn put(&self, at: usize, outcome: O) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if let Some(slot) = state.slots.get_mut(at) {
            state.left -= usize::from(slot.is_none());
            *slot = Some(outcome);
        }
    }

    fn send_if_done(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.left == 0 {
            let outcomes = std::mem::take(&mut state.slots).into_iter().flatten().collect();
            self.inbox.put(Event::Came(Box::new((self.answer)(self.ask, outcomes))));
            state.left = usize::MAX;
        }
    }
}

impl Job {
    /// Answers a job that nobody can do: its root is not open, or its worker is gone.
    pub(crate) fn refuse(self) {
        const REASON: &str = "the root is not open";
        match self {
            Self::Observe { .. } | Self::Pin { .. } => {}
            Self::Prepare(share) => {
                share.carry_out(|_| Vec::new(), |plan, _| Err(failed(&plan.root, &plan.path, REASON)));
            }
            Self::Restore(share) | Self::Recover(share) => {
                share.carry_out(|_| Vec::new(), |file, _| failed(&file.root, &file.path, REASON));
            }
        }
    }
}
