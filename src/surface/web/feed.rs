//! What moves, as streams: one thread a session reads its journals for everybody who listens.

use crate::base::SessionKey;
use crate::ledger::Event as Journaled;
use crate::surface::port::{Cursor, Doors, LogLine};
use crate::surface::terminal::moves_the_queue;
use axum::response::sse::Event;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};

/// How often the journals are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a quiet stream says that it is there.
const BEAT: Duration = Duration::from_secs(15);
/// What may lie between a reader and the writer of a stream.
const BEHIND: usize = 32;

/// What moved in one look at the journals.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    /// Where the journals stand behind it.
    id: String,
    /// Names and data, at most one of a name but for what a write waits on.
    events: Vec<(&'static str, Value)>,
}

impl Moved {
    /// Gathers what moved, when anything did.
    fn of<'l>(lines: impl Iterator<Item = &'l LogLine> + Clone, cursor: &Cursor) -> Option<Self> {
        let told = lines.filter_map(|line| line.record.as_ref().ok()).map(|record| &record.event);
        let mut events: Vec<(&'static str, Value)> = told.clone().filter_map(gate).collect();
        // What concerns more than the queue is the reason, whatever else came with it.
        let weight =
            |reason: &&str| ["attributed", "observed"].iter().position(|light| light == reason).unwrap_or(2);
        let reason = told.clone().filter_map(moves_the_queue).max_by_key(weight);
        events.extend(reason.map(|reason| ("review_changed", json!({ "reason": reason }))));
        if told.clone().any(|event| matches!(event, Journaled::Approval(_))) {
            events.push(("requests_changed", json!({})));
        }
        let turn = |event: &Journaled| {
            matches!(event, Journaled::TurnStarted { .. } | Journaled::ModeChanged { .. })
        };
        if told.clone().any(turn) {
            events.push(("session_changed", json!({})));
        }
        (!events.is_empty()).then(|| Self { id: place(cursor), events })
    }
}

/// Returns what is told when a write begins to wait, or waits no longer.
#[expect(clippy::wildcard_enum_match_arm, reason = "most of what is journaled moves no gate")]
fn gate(event: &Journaled) -> Option<(&'static str, Value)> {
    let told = match event {
        Journaled::GateBlocked { tool, path, root, .. } => {
            json!({ "blocked": true, "tool": tool, "path": path, "root": root })
        }
        Journaled::GateReleased { how, .. } => {
            json!({ "blocked": false, "tool": null, "path": null, "root": null, "how": how })
        }
        _ => return None,
    };
    Some(("review_gate", told))
}

/// The sessions that are listened to.
#[derive(Default)]
pub(super) struct Feeds(Mutex<BTreeMap<SessionKey, broadcast::Sender<Moved>>>);

impl Feeds {
    /// Listens to a session from now on: what is journaled when this has returned is told. Waits for a look at the journals.
    fn listen(self: &Arc<Self>, doors: &Arc<dyn Doors>, key: &SessionKey) -> broadcast::Receiver<Moved> {
        if let Some(sender) = self.lock().get(key) {
            return sender.subscribe();
        }
        let mut cursor = Cursor::default();
        // What cannot be read has nothing to tell yet.
        let _ = doors.log(key, &mut cursor);
        let mut feeds = self.lock();
        // Another may have begun meanwhile: it had looked before it did.
        if let Some(sender) = feeds.get(key) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        let reader = Reader { feeds: Arc::clone(self), doors: Arc::clone(doors), key: key.clone() };
        // Where no thread can be had the stream ends, and the page asks again.
        let started = std::thread::Builder::new().name("feed".into()).spawn(move || reader.read(cursor));
        if started.is_ok() {
            feeds.insert(key.clone(), sender);
        }
        receiver
    }

    /// Forgets a session to which nobody listens any more.
    fn leave(&self, key: &SessionKey) -> bool {
        let mut feeds = self.lock();
        let alone = feeds.get(key).is_none_or(|sender| sender.receiver_count() == 0);
        if alone {
            feeds.remove(key);
        }
        alone
    }

    fn send(&self, key: &SessionKey, moved: Moved) {
        if let Some(sender) = self.lock().get(key) {
            // Nobody listens: the next look finds out.
            let _ = sender.send(moved);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionKey, broadcast::Sender<Moved>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Reader {
    feeds: Arc<Feeds>,
    doors: Arc<dyn Doors>,
    key: SessionKey,
}

impl Reader {
    fn read(&self, mut cursor: Cursor) {
        let mut watching = self.doors.watch(&self.key);
        while !self.feeds.leave(&self.key) {
            let lines = self.doors.log(&self.key, &mut cursor).unwrap_or_default();
            if let Some(moved) = Moved::of(lines.iter(), &cursor) {
                self.feeds.send(&self.key, moved);
            }
            watching.wait(LOOK);
        }
    }
}

/// Names where the journals stand: the lines of each, in the order of their names.
fn place(cursor: &Cursor) -> String {
    let lines: Vec<String> = cursor.values().map(|mark| mark.lines.max(mark.told).to_string()).collect();
    lines.join("-")
}

/// Says what moved behind a place that was named before; what cannot be read as a place is behind everything.
fn missed(doors: &dyn Doors, key: &SessionKey, last: &str) -> Option<Moved> {
    let mut cursor = Cursor::default();
    let lines = doors.log(key, &mut cursor).unwrap_or_default();
    let told: Option<Vec<u64>> = last.split('-').map(|number| number.parse().ok()).collect();
    let told = told.unwrap_or_default();
    let behind = |line: &&LogLine| {
        let at = cursor.keys().position(|log| *log == line.log);
        line.line > at.and_then(|at| told.get(at)).copied().unwrap_or(0)
    };
    Moved::of(lines.iter().filter(behind), &cursor)
}

/// What a stream is about.
pub(super) struct Wanted {
    pub(super) session_id: String,
    pub(super) key: SessionKey,
    /// `Last-Event-ID`.
    pub(super) last: Option<String>,
    /// The place among the streams.
    pub(super) permit: OwnedSemaphorePermit,
}

/// A stream of events.
pub(super) struct Stream(mpsc::Receiver<Event>);

impl futures_core::Stream for Stream {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Opens a stream: what is journaled from now on is told. Waits for a look at the journals.
pub(super) fn open(feeds: &Arc<Feeds>, doors: &Arc<dyn Doors>, wanted: Wanted) -> Stream {
    let (sender, receiver) = mpsc::channel(BEHIND);
    let moves = feeds.listen(doors, &wanted.key);
    let missed = wanted.last.as_deref().and_then(|last| missed(doors.as_ref(), &wanted.key, last));
    tokio::spawn(async move {
        // Whoever left is not told.
        let _ = tell(moves, missed, wanted, sender).await;
    });
    Stream(receiver)
}

async fn tell(
    mut moves: broadcast::Receiver<Moved>,
    missed: Option<Moved>,
    wanted: Wanted,
    sender: mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<Event>> {
    let Wanted { session_id, permit: _permit, .. } = wanted;
    let write = |moved: Moved| -> Vec<Event> {
        let event = |(name, mut data): (&'static str, Value)| {
            data["session_id"] = json!(session_id);
            Event::default().event(name).id(&moved.id).data(data.to_string())
        };
        moved.events.into_iter().map(event).collect()
    };
    let mut next = vec![Event::default().comment("hunkgate")];
    next.extend(missed.into_iter().flat_map(&write));
    loop {
        for event in next {
            sender.send(event).await?;
        }
        let moved = tokio::time::timeout(BEAT, moves.recv());
        next = tokio::select! {
            () = sender.closed() => return Ok(()),
            moved = moved => match moved {
                Ok(Ok(moved)) => write(moved),
                // Too much came at once: what was left out is told by what stands for all of it.
                Ok(Err(broadcast::error::RecvError::Lagged(_))) => {
                    vec![Event::default().event("review_changed").data(json!({ "session_id": session_id, "reason": "lagged" }).to_string())]
                }
                Ok(Err(broadcast::error::RecvError::Closed)) => return Ok(()),
                Err(_) => vec![Event::default().comment("")],
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Log;
    use crate::surface::Mark;

    #[test]
    fn a_place_names_the_lines_of_every_journal() {
        let mut cursor = Cursor::default();
        cursor.insert(Log::Session(SessionKey::new("k")), Mark { lines: 7, bytes: 90, told: 7 });
        assert_eq!(place(&cursor), "7");
    }
}
