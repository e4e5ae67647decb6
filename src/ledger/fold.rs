//! The fold of every journal: the one writer of the ledger, live and on replay.

use crate::base::{RootId, SessionKey};
use crate::ledger::{CallFacts, CallKey, Chain, Log, Loss, Purpose, Record, SessionLedger, Skip, Window};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that is known of the roots and sessions of one process. Cloning it is cheap: a clone is a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    chains: BTreeMap<RootId, Arc<Chain>>,
    sessions: BTreeMap<SessionKey, Arc<SessionLedger>>,
}

impl Ledger {
    /// Takes in one record. Odd and unknown events change nothing but a count.
    pub fn apply(&mut self, log: &Log, record: &Record) {
        match log {
            Log::Root(root) => self.chain_mut(root).apply(record.at, &record.event),
            Log::Session(key) => self.session_mut(key).apply(record.at, &record.event),
        }
    }

    /// Returns a session's ledger as it stands; `None` when nothing is known of it.
    pub fn snapshot(&self, key: &SessionKey) -> Option<Arc<SessionLedger>> {
        self.sessions.get(key).cloned()
    }

    /// Puts a session's ledger back to an earlier snapshot: what was folded since could not be written.
    pub fn put_back(&mut self, key: &SessionKey, snapshot: Option<Arc<SessionLedger>>) {
        match snapshot {
            Some(snapshot) => self.sessions.insert(key.clone(), snapshot),
            None => self.sessions.remove(key),
        };
    }

    /// Takes in that replay of `log` had to skip a line, at this place of the log.
    pub fn skip(&mut self, log: &Log, skip: Skip) {
        match log {
            Log::Root(root) => self.chain_mut(root).skip(skip),
            Log::Session(key) => self.session_mut(key).skip(skip),
        }
    }

    /// Takes in a whole log: each skip at the place that its line number names.
    ///
    /// Lines are counted over the whole log, and every line is a record or a skip.
    pub fn replay(&mut self, log: &Log, records: &[Record], skips: &[Skip]) {
        let mut skips: Vec<&Skip> = skips.iter().collect();
        skips.sort_by_key(|skip| skip.line);
        let mut skips = skips.into_iter().peekable();
        let mut line = 1;
        for record in records {
            while let Some(skip) = skips.next_if(|skip| skip.line <= line) {
                self.skip(log, skip.clone());
                line += 1;
            }
            self.apply(log, record);
            line += 1;
        }
        skips.for_each(|skip| self.skip(log, skip.clone()));
    }

    /// Returns the chain of a root.
    pub fn chain(&self, root: &RootId) -> Option<&Chain> {
        self.chains.get(root).map(Arc::as_ref)
    }

    /// Returns the ledger of a session.
    pub fn session(&self, key: &SessionKey) -> Option<&SessionLedger> {
        self.sessions.get(key).map(Arc::as_ref)
    }

    /// Returns every chain.
    pub fn chains(&self) -> impl Iterator<Item = (&RootId, &Chain)> {
        self.chains.iter().map(|(root, chain)| (root, chain.as_ref()))
    }

    /// Returns every session.
    pub fn sessions(&self) -> impl Iterator<Item = (&SessionKey, &SessionLedger)> {
        self.sessions.iter().map(|(key, session)| (key, session.as_ref()))
    }

    /// Returns the open windows of a session, over all roots.
    pub fn open_windows(&self, key: &SessionKey) -> impl Iterator<Item = (&RootId, &Window)> {
        self.chains().flat_map(move |(root, chain)| {
            chain
                .open_windows()
                .filter(move |window| window.session == *key)
                .map(move |window| (root, window))
        })
    }

    /// Returns the absolute path of a root, for people.
    pub fn root_path(&self, root: &RootId) -> String {
        let told = self.sessions().find_map(|(_, session)| session.root_path(root));
        let known =
            || self.chain(root).and_then(|chain| chain.header().map(crate::ledger::RootHeader::shown));
        told.map(str::to_owned).or_else(known).unwrap_or_else(|| root.to_string())
    }

    /// Returns what is known of a call, from its window in the chain of `root`.
    pub fn call_facts(&self, root: &RootId, call: &CallKey) -> Option<&CallFacts> {
        let windows = self.chain(root)?.windows().rev();
        let mut windows = windows.filter(|window| window.session == call.session && window.turn == call.turn);
        windows.find_map(|window| match &window.purpose {
            Purpose::Call(facts) if facts.call == call.call => Some(facts),
            Purpose::Call(_)
            | Purpose::Turn
            | Purpose::FsWrite { .. }
            | Purpose::Terminal { .. }
            | Purpose::Review { .. }
            | Purpose::Background { .. } => None,
        })
    }

    /// Says why what `key` lists of `root` cannot be trusted; `None` when it can.
    pub fn degraded(&self, key: &SessionKey, root: &RootId) -> Option<String> {
        let session = self.session(key)?;
        if let Some(skip) = session.damage(root) {
            return Some(format!("line {} of the session's journal is lost: {}", skip.line, skip.reason));
        }
        let blind =
            |chain: &Chain| chain.blind().map(|gap| format!("the last look at it failed: {}", gap.reason));
        let Some(base) = session.base(root) else {
            // What has never been seen has no base yet: it is as blind as its only look.
            let chain = self.chain(root)?;
            return chain.damage().map(lost_line).or_else(|| blind(chain));
        };
        let Some(chain) = self.chain(root) else {
            return Some("the root's chain is lost".to_owned());
        };
        let Some(seen) = chain.observation(base.position).filter(|seen| seen.tree == base.tree) else {
            return Some("the observation that is the base is lost".to_owned());
        };
        let began = session.turns().first().map(|turn| turn.started);
        if !base.complete && began.is_some_and(|began| began < seen.began) {
            return Some(
                "its base was read after the agent had begun: what was deleted before is not listed"
                    .to_owned(),
            );
        }
        chain.damage_since(base.position).map(lost_line).or_else(|| blind(chain))
    }

    /// Returns the roots of a session that cannot be trusted, with the reason.
    pub fn degraded_roots(&self, key: &SessionKey) -> Vec<(RootId, String)> {
        let roots = self.session(key).map(SessionLedger::roots).unwrap_or_default();
        roots.into_iter().filter_map(|root| self.degraded(key, &root).map(|why| (root, why))).collect()
    }

    /// Returns what replay had to skip and no rebase of this session has cleared.
    pub fn skips(&self, key: &SessionKey) -> Vec<Skip> {
        let Some(session) = self.session(key) else { return Vec::new() };
        let mut skips: Vec<Skip> = session.skips().cloned().collect();
        for root in session.roots() {
            let since = session.base(&root).map(|base| base.position);
            let chain = self.chain(&root);
            skips.extend(chain.into_iter().flat_map(|chain| chain.skips_since(since)).cloned());
        }
        skips
    }

    fn chain_mut(&mut self, root: &RootId) -> &mut Chain {
        Arc::make_mut(self.chains.entry(root.clone()).or_default())
    }

    fn session_mut(&mut self, key: &SessionKey) -> &mut SessionLedger {
        Arc::make_mut(self.sessions.entry(key.clone()).or_default())
    }
}

fn lost_line(skip: &Skip) -> String {
    format!("line {} of the root's chain is lost: {}", skip.line, skip.reason)
}

/// Grades what the loss of a record of this kind means; `kind` is the record's word where it is legible.
///
/// What cannot be read could have been anything the log holds, so it is graded by the worst that it could be.
pub fn loss_of(log: &Log, kind: Option<&str>) -> Loss {
    match (log, kind) {
        (Log::Root(_), Some("proxy_joined")) => Loss::Informational,
        (Log::Root(root), _) => Loss::Root(root.clone()),
        (Log::Session(_), Some("session_opened" | "base_taken" | "rebased") | None) => Loss::Session,
        (Log::Session(_), Some(_)) => Loss::Informational,
    }
}
