//! How well each root is seen, said once where it changes: nothing that a look cannot see is silent.

use crate::base::RootId;
use crate::engine::{Durability, Engine, Sight};
use crate::ledger::{Event, Log};
use std::collections::BTreeSet;

/// What is known, and was said, of one root.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The latest.
    pub(super) sight: Sight,
    said: BTreeSet<String>,
}

/// How many different remarks on one root are journaled.
const REMARKS: usize = 50;

impl Seen {
    /// Takes the latest in, and returns what is new about it: topic and text.
    fn take(&mut self, sight: Sight) -> Vec<(&'static str, String)> {
        let before = std::mem::replace(&mut self.sight, sight);
        let now = &self.sight;
        let mut news = Vec::new();
        let before_mode = if before.observing.is_empty() { "watch" } else { before.observing };
        if now.observing != before_mode {
            let because = now.because.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            news.push(("observing", format!("observed by {}{because}", word(now.observing))));
        }
        if now.missed > before.missed {
            let missed = now.missed - before.missed;
            let were = if missed == 1 { "1 change was".to_owned() } else { format!("{missed} changes were") };
            news.push(("watch_missed", format!("{were} found of which no watch had told")));
        }
        for remark in &now.remarks {
            if self.said.len() < REMARKS && self.said.insert(remark.clone()) {
                news.push(("capture", remark.clone()));
            }
        }
        news
    }
}

impl Engine {
    /// A look says how well it saw. What is new about that goes into the log of each session of the root.
    pub(super) fn sighted(&mut self, root: &RootId, sight: Option<Sight>) {
        let Some(sight) = sight else { return };
        let news = self.sights.entry(root.clone()).or_default().take(sight);
        if news.is_empty() {
            return;
        }
        let live = self.sessions.iter().filter(|session| !session.adopted);
        let of_root = live.filter_map(|session| {
            let tracked = session.roots().iter().find(|tracked| tracked.root == *root)?;
            Some((session.key.clone(), String::from_utf8_lossy(&tracked.top).into_owned()))
        });
        for (key, top) in of_root.collect::<Vec<_>>() {
            for (topic, text) in &news {
                let text = format!("{top}: {text}");
                let event = Event::Noticed { topic: (*topic).into(), path: None, text };
                self.record(Log::Session(key.clone()), event, Durability::Written);
            }
        }
    }
}

fn word(observing: &str) -> &str {
    match observing {
        "watch" => "watching",
        "hybrid" => "watching in part",
        "walk" => "walking",
        other => other,
    }
}
