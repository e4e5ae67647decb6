//! Which sessions belong together: a session and those that its calls started (ledger.md §8).

use crate::base::{CallId, SessionKey};
use crate::ledger::Ledger;
use std::collections::{BTreeMap, BTreeSet};

/// Who started whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    parents: BTreeMap<SessionKey, (SessionKey, Option<CallId>)>,
}

impl Kin {
    /// Reads the sessions' headers, and what the chains say of sessions. In a header a parent is named by its key or by the id the peer chose.
    pub fn of(ledger: &Ledger) -> Self {
        let named = |name: &str| {
            ledger.sessions().find_map(|(key, session)| {
                let by_id = session.header().is_some_and(|header| header.session.as_str() == name);
                (key.as_str() == name || by_id).then(|| key.clone())
            })
        };
        let row = |(key, session): (&SessionKey, &crate::ledger::SessionLedger)| {
            let (name, call) = session.header()?.parent.as_ref()?;
            let parent = named(name).filter(|parent| parent != key)?;
            Some((key.clone(), (parent, call.clone())))
        };
        let joined = ledger.chains().flat_map(|(_, chain)| chain.members().values());
        let told = joined.filter_map(|member| Some((member.key.clone(), member.parent.clone()?)));
        let mut parents: BTreeMap<SessionKey, (SessionKey, Option<CallId>)> =
            told.filter(|(child, (parent, _))| child != parent).collect();
        parents.extend(ledger.sessions().filter_map(row));
        Self { parents }
    }

    /// Returns the session and all that descend from it.
    pub fn family(&self, session: &SessionKey) -> BTreeSet<SessionKey> {
        let mut family = BTreeSet::from([session.clone()]);
        loop {
            let more: Vec<&SessionKey> = self
                .parents
                .iter()
                .filter(|(child, (parent, _))| family.contains(parent) && !family.contains(*child))
                .map(|(child, _)| child)
                .collect();
            if more.is_empty() {
                return family;
            }
            family.extend(more.into_iter().cloned().collect::<Vec<_>>());
        }
    }

    /// Returns the session and the call that started `child`.
    pub fn parent(&self, child: &SessionKey) -> Option<&(SessionKey, Option<CallId>)> {
        self.parents.get(child)
    }

    /// Returns the sessions that a session started.
    pub fn children(&self, session: &SessionKey) -> impl Iterator<Item = &SessionKey> {
        self.parents.iter().filter(move |(_, (parent, _))| parent == session).map(|(child, _)| child)
    }
}
