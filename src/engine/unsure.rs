//! What a person said in this step, until the host has written it: what could not be written is taken back. Facts are not:
//! the review goes on with them, and says that the record is incomplete.

use crate::base::SessionKey;
use crate::ledger::{Ledger, Log, Record, SessionLedger};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ledgers of the sessions in which somebody said something, as they were, with what the step recorded since.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsure(BTreeMap<SessionKey, Since>);

#[derive(Clone, Debug)]
struct Since {
    before: Option<Arc<SessionLedger>>,
    records: Vec<Record>,
}

impl Unsure {
    /// Notes a record that is about to be folded. A step in which nobody said anything costs nothing here.
    pub(super) fn note(&mut self, ledger: &Ledger, log: &Log, record: &Record) {
        let Log::Session(key) = log else { return };
        if record.event.is_persons_word() && !self.0.contains_key(key) {
            let since = Since { before: ledger.snapshot(key), records: Vec::new() };
            self.0.insert(key.clone(), since);
        }
        if let Some(since) = self.0.get_mut(key) {
            since.records.push(record.clone());
        }
    }

    /// Folds a session anew without a record that could not be written: the ledger is what the journal says.
    pub(super) fn take_back(&mut self, ledger: &mut Ledger, key: &SessionKey, failed: &Record) {
        let Some(since) = self.0.get_mut(key) else { return };
        if !failed.event.is_persons_word() {
            return;
        }
        let Some(at) = since.records.iter().position(|record| record == failed) else { return };
        since.records.remove(at);
        ledger.put_back(key, since.before.clone());
        let log = Log::Session(key.clone());
        since.records.iter().for_each(|record| ledger.apply(&log, record));
    }

    /// Forgets: the host has done what the step asked for.
    pub(super) fn settle(&mut self) {
        self.0.clear();
    }
}
