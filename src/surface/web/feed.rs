//! What moves, as streams: one thread a session reads its journals for everybody who listens.

use crate::base::SessionKey;
use crate::surface::port::{Cursor, Doors, LogLine};
use crate::surface::terminal::moves_the_queue;
use axum::response::sse::Event;
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};

/// How often the journals are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often a quiet stream says that it is there.
const BEAT: Duration = Duration::from_secs(15);
/// What may lie between a reader and the writer of a stream.
const BEHIND: usize = 32;

/// Something that moved.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    /// Where the journals stand behind it.
    id: String,
    reason: &'static str,
}

/// The sessions that are listened to.
#[derive(Default)]
pub(super) struct Feeds(Mutex<BTreeMap<SessionKey, broadcast::Sender<Moved>>>);

impl Feeds {
    /// Listens to a session from now on.
    fn listen(self: &Arc<Self>, doors: &Arc<dyn Doors>, key: &SessionKey) -> broadcast::Receiver<Moved> {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = feeds.get(key) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        let reader = Reader { feeds: Arc::clone(self), doors: Arc::clone(doors), key: key.clone() };
        // Where no thread can be had, the stream ends and the page asks again.
        let started = std::thread::Builder::new().name("feed".into()).spawn(move || reader.read());
        if started.is_ok() {
            feeds.insert(key.clone(), sender);
        }
        receiver
    }

    /// Forgets a session to which nobody listens any more.
    fn leave(&self, key: &SessionKey) -> bool {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = feeds.get(key).is_none_or(|sender| sender.receiver_count() == 0);
        if alone {
            feeds.remove(key);
        }
        alone
    }

    fn send(&self, key: &SessionKey, moved: Moved) {
        let feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = feeds.get(key) {
            // Nobody listens: the next look finds out.
            let _ = sender.send(moved);
        }
    }
}

struct Reader {
    feeds: Arc<Feeds>,
    doors: Arc<dyn Doors>,
    key: SessionKey,
}

impl Reader {
    fn read(&self) {
        let mut cursor = Cursor::default();
        let mut first = true;
        loop {
            let lines = self.doors.log(&self.key, &mut cursor).unwrap_or_default();
            if let (Some(reason), false) = (lines.iter().rev().find_map(reason), first) {
                self.feeds.send(&self.key, Moved { id: place(&cursor), reason });
            }
            first = false;
            if self.feeds.leave(&self.key) {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn reason(line: &LogLine) -> Option<&'static str> {
    line.record.as_ref().ok().and_then(|record| moves_the_queue(&record.event))
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
    let reason = lines.iter().filter(behind).filter_map(reason).last()?;
    Some(Moved { id: place(&cursor), reason })
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

/// Opens a stream.
pub(super) fn open(feeds: &Arc<Feeds>, doors: &Arc<dyn Doors>, wanted: Wanted) -> Stream {
    let (sender, receiver) = mpsc::channel(BEHIND);
    let moves = feeds.listen(doors, &wanted.key);
    let doors = Arc::clone(doors);
    tokio::spawn(async move {
        // Whoever left is not told.
        let _ = tell(moves, doors, wanted, sender).await;
    });
    Stream(receiver)
}

async fn tell(
    mut moves: broadcast::Receiver<Moved>,
    doors: Arc<dyn Doors>,
    wanted: Wanted,
    sender: mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<Event>> {
    let Wanted { session_id, key, last, permit: _permit } = wanted;
    let event = |moved: &Moved| {
        let data = json!({ "session_id": session_id, "reason": moved.reason });
        Event::default().event("review_changed").id(&moved.id).data(data.to_string())
    };
    sender.send(Event::default().comment("hunkgate")).await?;
    if let Some(last) = last {
        let (own, key) = (Arc::clone(&doors), key.clone());
        let found = tokio::task::spawn_blocking(move || missed(own.as_ref(), &key, &last)).await;
        if let Ok(Some(moved)) = found {
            sender.send(event(&moved)).await?;
        }
    }
    loop {
        let next = tokio::time::timeout(BEAT, moves.recv());
        tokio::select! {
            () = sender.closed() => return Ok(()),
            next = next => match next {
                Ok(Ok(moved)) => sender.send(event(&moved)).await?,
                // What was left out is in what comes next: each tells only that the queue moved.
                Ok(Err(broadcast::error::RecvError::Lagged(_))) => {}
                Ok(Err(broadcast::error::RecvError::Closed)) => return Ok(()),
                Err(_) => sender.send(Event::default().comment("")).await?,
            },
        }
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
