//! A thread that carries jobs out one after the other.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// A thread that carries jobs out in the order in which they came. It ends when the last handle is dropped.
#[derive(Debug)]
pub(crate) struct Worker<J> {
    sender: Sender<J>,
    waiting: Waiting,
}

/// Counts the jobs that were queued and are not taken yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Says whether a job waits.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn taken(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a worker has something to do when it has no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spare {
    /// It waits for a job.
    Idle,
    /// It waits for a job, and is called again when none came for so long.
    Later(Duration),
    /// It is called again.
    Busy,
}

impl<J: Debug + Send + 'static> Worker<J> {
    /// Starts a worker. `work` takes the next job, or several at once, from the front of the queue; a job that has to wait
    /// it puts back.
    pub(crate) fn start(
        name: &str,
        mut work: impl FnMut(&mut VecDeque<J>) + Send + 'static,
    ) -> std::io::Result<Self> {
        Self::start_with_spare_time(name, move |queue, _| {
            work(queue);
            Spare::Idle
        })
    }

    /// Starts a worker that is also called, with an empty queue, while it has no job and says that there is something to
    /// do besides; it can see when a job waits for that.
    pub(crate) fn start_with_spare_time(
        name: &str,
        mut work: impl FnMut(&mut VecDeque<J>, &Waiting) -> Spare + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, jobs): (Sender<J>, Receiver<J>) = channel();
        let waiting = Waiting::default();
        let seen = waiting.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let (mut queue, mut spare) = (VecDeque::new(), Spare::Idle);
            loop {
                let waited = match spare {
                    Spare::Idle if queue.is_empty() => jobs.recv().map(Some).ok(),
                    Spare::Later(patience) if queue.is_empty() => match jobs.recv_timeout(patience) {
                        Ok(job) => Some(Some(job)),
                        Err(RecvTimeoutError::Timeout) => Some(None),
                        Err(RecvTimeoutError::Disconnected) => None,
                    },
                    Spare::Idle | Spare::Later(_) | Spare::Busy => Some(None),
                };
                let Some(first) = waited else { return };
                if let Some(job) = first {
                    seen.taken();
                    queue.push_back(job);
                }
                loop {
                    match jobs.try_recv() {
                        Ok(job) => {
                            seen.taken();
                            queue.push_back(job);
                        }
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) if queue.is_empty() => return,
                        Err(TryRecvError::Disconnected) => break,
                    }
                }
                spare = work(&mut queue, &seen);
            }
        })?;
        Ok(Self { sender, waiting })
    }

    /// Queues a job; gives it back when the worker is dead.
    pub(crate) fn put(&self, job: J) -> Result<(), J> {
        self.waiting.0.fetch_add(1, Ordering::Relaxed);
        self.sender.send(job).map_err(|unsent| unsent.0)
    }
}

/// Runs a piece of work; a panic becomes a reason.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| format!("an internal error: {}", said(panic.as_ref())))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_done_in_order_and_a_worker_may_take_several_at_once() {
        let (done, doing) = channel();
        let worker = Worker::start("test", move |queue: &mut VecDeque<u32>| {
            let batch: Vec<u32> = queue.drain(..).collect();
            batch.into_iter().for_each(|job| done.send(job).expect("somebody waits"));
        });
        let worker = worker.expect("a thread");
        (0..100).for_each(|job| worker.put(job).expect("alive"));
        drop(worker);
        assert_eq!(doing.iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn spare_time_ends_with_the_next_job_and_with_the_worker() {
        let (done, doing) = channel();
        let worker = Worker::start_with_spare_time("test", move |queue: &mut VecDeque<u32>, _| {
            let told = queue.pop_front();
            done.send(told).map_or(Spare::Idle, |()| Spare::Busy)
        });
        let worker = worker.expect("a thread");
        worker.put(1).expect("alive");
        assert_eq!(doing.iter().take(3).collect::<Vec<_>>(), [Some(1), None, None]);
        worker.put(2).expect("alive");
        assert!(doing.iter().any(|told| told == Some(2)));
        drop(worker);
        assert!(doing.iter().all(|told| told.is_none()), "the channel closes with the thread");
    }

    #[test]
    fn who_works_in_spare_time_sees_that_a_job_waits() {
        let (done, doing) = channel();
        let worker = Worker::start_with_spare_time("test", move |queue: &mut VecDeque<u32>, waiting| {
            let told = queue.pop_front();
            while told == Some(1) && queue.is_empty() && !waiting.any() {
                std::thread::yield_now();
            }
            done.send((told, waiting.any())).map_or(Spare::Idle, |()| Spare::Idle)
        });
        let worker = worker.expect("a thread");
        worker.put(1).expect("alive");
        worker.put(2).expect("alive");
        let seen: Vec<_> = doing.iter().take(2).collect();
        assert_eq!(seen.last(), Some(&(Some(2), false)));
    }

    #[test]
    fn who_wants_to_be_called_later_is_when_no_job_comes() {
        let (done, doing) = channel();
        let worker = Worker::start_with_spare_time("test", move |queue: &mut VecDeque<u32>, _| {
            let told = queue.pop_front();
            let later = Spare::Later(Duration::from_millis(1));
            done.send(told).map_or(Spare::Idle, |()| if told.is_some() { later } else { Spare::Idle })
        });
        let worker = worker.expect("a thread");
        worker.put(1).expect("alive");
        assert_eq!(doing.iter().take(2).collect::<Vec<_>>(), [Some(1), None]);
        drop(worker);
        assert_eq!(doing.iter().next(), None);
    }

    #[test]
    fn a_panic_becomes_a_reason() {
        assert_eq!(guarded(|| -> u8 { panic!("torn {}", 1) }), Err("an internal error: torn 1".into()));
        assert_eq!(guarded(|| 3), Ok(3));
    }
}
