//! Watching directories with inotify: the kernel queues an event before the system call that caused it returns, so that
//! draining the queue is a barrier for every write that returned before.
//!
//! One mutex is held from reading the queue to noting what was read, by whoever drains (rulings.md 3).

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{CreateFlags, ReadFlags, WatchFlags, add_watch, init, remove_watch};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Result;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

pub(crate) use super::beside::{Beside, Place, Unwatched};
pub(crate) use super::listener::Listener;

/// What tells that a name of a directory, or the file behind it, changed.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY);

/// A watched directory, as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(i32);

/// What happened since the last drain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Names that were touched, per directory.
    pub(crate) touched: BTreeMap<WatchId, BTreeSet<Vec<u8>>>,
    /// Something else than a write to a file that stood there happened.
    pub(crate) moved: bool,
    /// Watches that the kernel dropped.
    pub(crate) dropped: BTreeSet<WatchId>,
    /// Events were lost, or the top moved: everything must be looked at.
    pub(crate) overflow: bool,
    /// What moved beside the worktree.
    pub(crate) beside: Beside,
}

/// Watches directories until it is dropped. A thread drains the queue so that it does not overflow.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("queue", &self.shared.queue).finish_non_exhaustive()
    }
}

struct Shared {
    queue: OwnedFd,
    stop: OwnedFd,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    activity: Activity,
    /// Told when something happens after everything was taken.
    listener: Option<Listener>,
    /// It has been told since.
    told: bool,
    /// Watches beside the worktree: a few.
    places: Vec<(WatchId, Place)>,
    buffer: Buffer,
}

/// Where events are read to. It is no array on the stack, whose pages each look would touch.
struct Buffer(Box<[MaybeUninit<u8>]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(Box::new_uninit_slice(32 * 1024))
    }
}

impl Watcher {
    /// Starts watching nothing yet.
    pub(crate) fn start() -> Result<Self> {
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { queue, stop, noted: Mutex::new(Noted::default()) });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || theirs.keep_up())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Watches an open directory.
    pub(crate) fn watch(&self, dir: impl AsFd) -> std::result::Result<WatchId, Unwatched> {
        let beneath = WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB | WatchFlags::EXCL_UNLINK;
        self.add(dir, NAMES | beneath)
    }

    /// Watches the open top directory, and whether it moves.
    pub(crate) fn watch_top(&self, dir: impl AsFd) -> std::result::Result<WatchId, Unwatched> {
        let beneath = WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB | WatchFlags::EXCL_UNLINK;
        self.add(dir, NAMES | beneath | WatchFlags::MOVE_SELF)
    }

    /// Watches what a look depends on in a directory beside the worktree; false where that cannot be watched.
    pub(crate) fn watch_beside(&self, dir: &std::path::Path, place: Place) -> bool {
        let Ok(open) = std::fs::File::open(dir) else { return false };
        if is_shared_with_others(&open) {
            return false;
        }
        // Held over both, so that the first event finds the place.
        let mut noted = self.shared.noted();
        let added = self.add(&open, NAMES);
        added.map(|id| noted.places.push((id, place))).is_ok()
    }

    fn add(&self, dir: impl AsFd, flags: WatchFlags) -> std::result::Result<WatchId, Unwatched> {
        let path = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
        match add_watch(&self.shared.queue, path, flags | WatchFlags::ONLYDIR) {
            Ok(id) => Ok(WatchId(id)),
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::NOMEM) => Err(Unwatched::Full),
            Err(_) => Err(Unwatched::Refused),
        }
    }

    /// Watches a directory no longer.
    pub(crate) fn forget(&self, id: WatchId) {
        // The kernel has dropped it already when its directory is gone.
        let _ = remove_watch(&self.shared.queue, id.0);
    }

    /// Takes what happened in the worktree, as noted so far: every write that returned before [`Watcher::take_beside`] was
    /// called last is in it, or was in an earlier one.
    pub(crate) fn take_noted(&self) -> Activity {
        let mut noted = self.shared.noted();
        noted.told = false;
        std::mem::take(&mut noted.activity)
    }

    /// Takes everything that happened before this call.
    #[cfg(test)]
    pub(crate) fn take(&self) -> Activity {
        self.take_beside();
        self.take_noted()
    }

    /// Notes again what was taken.
    #[cfg(test)]
    pub(crate) fn put_back(&self, activity: Activity) {
        self.shared.noted().activity = activity;
    }

    /// Says whether what moves at a place beside the worktree is told.
    pub(crate) fn watches(&self, place: Place) -> bool {
        self.shared.noted().watches(place)
    }

    /// Takes what moved beside the worktree before this call, and notes what happened in the worktree until then.
    pub(crate) fn take_beside(&self) -> Beside {
        let mut noted = self.shared.noted();
        self.shared.drain(&mut noted);
        std::mem::take(&mut noted.activity.beside)
    }

    /// Says whether a name of a directory was touched since everything was taken.
    pub(crate) fn tells(&self, dir: WatchId, name: &[u8]) -> bool {
        let mut noted = self.shared.noted();
        self.shared.drain(&mut noted);
        noted.tell_listener();
        noted.activity.overflow || noted.activity.touched.get(&dir).is_some_and(|names| names.contains(name))
    }

    /// Takes what moved beside the worktree, when nothing happened in it before this call and what moves at `places` is
    /// told. It is one read of the queue.
    pub(crate) fn quiet(&self, places: &[Place]) -> Option<Beside> {
        let mut noted = self.shared.noted();
        self.shared.drain(&mut noted);
        let quiet = noted.activity.is_empty()
            && noted.activity.dropped.is_empty()
            && places.iter().all(|place| noted.watches(*place));
        quiet.then(|| std::mem::take(&mut noted.activity.beside))
    }

    /// Tells `listener` when something happens after everything was taken.
    pub(crate) fn listen(&self, listener: Listener) {
        self.shared.noted().listener = Some(listener);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Noted {
    fn watches(&self, place: Place) -> bool {
        self.places.iter().any(|(_, known)| *known == place)
    }

    /// Calls the listener once, when something happened.
    fn tell_listener(&mut self) {
        if !self.told
            && !self.activity.is_empty()
            && let Some(listener) = &self.listener
        {
            listener.call();
            self.told = true;
        }
    }
}

impl Activity {
    /// Says whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.is_empty() && !self.overflow
    }
}

impl Shared {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drains a little after there is something, until told to stop: not at each event of a burst, nor in the way of a look
    /// that comes right after a write. The queue holds what is written meanwhile many times over.
    fn keep_up(&self) {
        const LULL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        loop {
            let mut waited =
                [PollFd::new(&self.stop, PollFlags::IN), PollFd::new(&self.queue, PollFlags::IN)];
            let woken = poll(&mut waited, None).and_then(|_| poll(&mut waited[..1], Some(&LULL)));
            match woken {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            if !waited[0].revents().is_empty() {
                return;
            }
            let mut noted = self.noted();
            self.drain(&mut noted);
            noted.tell_listener();
        }
    }

    /// Reads the queue until it is empty, and notes what was read. The caller holds the mutex.
    fn drain(&self, noted: &mut Noted) {
        let Noted { activity, places, buffer, .. } = noted;
        let room = buffer.0.len();
        loop {
            let read = match rustix::io::read(&self.queue, &mut *buffer.0) {
                Ok((read, _)) => &*read,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => {
                    activity.overflow = true;
                    return;
                }
            };
            let mut rest = read;
            while let Some((event, after)) = Event::first_of(rest) {
                let place = places.iter().find(|(known, _)| *known == event.id).map(|(_, place)| *place);
                if event.flags.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                    places.retain(|(known, _)| *known != event.id);
                }
                activity.note((event.id, place), event.flags, event.name);
                rest = after;
            }
            // The kernel copies events until none is left or the next does not fit: with room for any, none was left.
            if read.len() + Event::LONGEST <= room {
                return;
            }
        }
    }
}

/// One event, as inotify(7) lays it out.
struct Event<'a> {
    id: WatchId,
    flags: ReadFlags,
    name: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    /// Watch, flags, cookie, and the length of the name with its padding: four bytes each.
    const HEAD: usize = 16;
    /// The head, a name of 255 bytes, and its end.
    const LONGEST: usize = Self::HEAD + 256;

    /// Cuts the first event off.
    fn first_of(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(Self::HEAD)?;
        let word = |at: usize| head[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
        let (name, after) = rest.split_at_checked(usize::try_from(word(12)?).ok()?)?;
        let name = &name[..memchr::memchr(0, name).unwrap_or(name.len())];
        let event = Self {
            id: WatchId(word(0)?.cast_signed()),
            flags: ReadFlags::from_bits_retain(word(4)?),
            name: (!name.is_empty()).then_some(name),
        };
        Some((event, after))
    }
}

impl Activity {
    fn note(&mut self, (id, place): (WatchId, Option<Place>), events: ReadFlags, name: Option<&[u8]>) {
        if events.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::MOVE_SELF) {
            self.overflow = true;
            self.beside = Beside::ALL;
        } else if let Some(place) = place {
            self.beside.note(place, events, name);
        } else if events.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
            self.dropped.insert(id);
        } else if let Some(name) = name {
            self.moved |= !(ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE).contains(events);
            let names = self.touched.entry(id).or_default();
            if !names.contains(name) {
                names.insert(name.to_vec());
            }
        }
    }
}

impl Beside {
    fn note(&mut self, place: Place, events: ReadFlags, name: Option<&[u8]>) {
        match (place, name) {
            (Place::Root, Some(b"chain.jsonl")) => self.chain = true,
            (Place::Root, Some(name)) if name.starts_with(b"objects.") => {
                let written = events == ReadFlags::MODIFY;
                self.grown |= written;
                self.objects |= !written;
            }
            (Place::Root, Some(_)) => {}
            (Place::Git, Some(name)) => self.head |= matches!(name, b"HEAD" | b"logs" | b"packed-refs"),
            (Place::Logs, Some(name)) => self.head |= name == b"HEAD",
            // The directory itself is gone, or its watch.
            (Place::Root, None) => (self.chain, self.objects, self.grown) = (true, true, true),
            (Place::Git | Place::Logs, None) => self.head = true,
        }
    }
}

/// Returns how many directories we may watch: half of what the person may, whose editor watches too.
pub(crate) fn fair_share() -> usize {
    static SHARE: OnceLock<usize> = OnceLock::new();
    *SHARE.get_or_init(|| {
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        limit.ok().and_then(|text| text.trim().parse::<usize>().ok()).map_or(usize::MAX, |limit| limit / 2)
    })
}

/// Says whether events of a directory's file system cannot be trusted: others write to it too.
pub(crate) fn is_shared_with_others(dir: impl AsFd) -> bool {
    const NFS: u64 = 0x6969;
    const SMB: [u64; 3] = [0x517b, 0xff53_4d42, 0xfe53_4d42];
    const FUSE: u64 = 0x6573_5546;
    const PLAN9: u64 = 0x0102_1997;
    const CEPH: u64 = 0x00c3_6400;
    const AFS: u64 = 0x5346_414f;
    const VBOX: u64 = 0x786f_4256;
    let Ok(stat) = rustix::fs::fstatfs(dir) else { return true };
    let kind = u64::try_from(stat.f_type).unwrap_or_default() & 0xffff_ffff;
    SMB.contains(&kind) || [NFS, FUSE, PLAN9, CEPH, AFS, VBOX].contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn every_write_that_returned_before_is_in_what_is_taken() {
        write_and_take(2_000);
    }

    #[test]
    #[ignore = "the same law, 200,000 times: a minute or more"]
    fn every_write_that_returned_before_is_in_what_is_taken_two_hundred_thousand_times() {
        write_and_take(200_000);
    }

    fn write_and_take(rounds: u32) {
        let dir = tempfile::tempdir().unwrap();
        let watcher = Watcher::start().unwrap();
        let id = watcher.watch(File::open(dir.path()).unwrap()).unwrap();
        for round in 0..rounds {
            let name = format!("f{}", round % 7);
            std::fs::write(dir.path().join(&name), "x").unwrap();
            let taken = watcher.take();
            let names = taken.touched.get(&id);
            assert!(names.is_some_and(|names| names.contains(name.as_bytes())), "round {round}");
        }
    }

    #[test]
    fn every_write_of_another_thread_that_returned_before_is_in_what_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let watcher = Watcher::start().unwrap();
        let id = watcher.watch(File::open(dir.path()).unwrap()).unwrap();
        let (wrote, written) = std::sync::mpsc::channel();
        let (took, taken) = std::sync::mpsc::channel();
        let top = dir.path().to_owned();
        let writer = std::thread::spawn(move || {
            for round in 0..2_000_u32 {
                std::fs::write(top.join("f"), round.to_le_bytes()).unwrap();
                wrote.send(()).unwrap();
                taken.recv().unwrap();
            }
        });
        while written.recv().is_ok() {
            assert!(watcher.take().touched.contains_key(&id));
            took.send(()).unwrap();
        }
        writer.join().unwrap();
    }

    #[test]
    fn a_listener_hears_of_the_first_thing_that_happens() {
        let dir = tempfile::tempdir().unwrap();
        let watcher = Watcher::start().unwrap();
        watcher.watch(File::open(dir.path()).unwrap()).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        watcher.listen(Listener::new(move || tell.send(()).unwrap()));
        std::fs::write(dir.path().join("f"), "x").unwrap();
        told.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert!(!watcher.take().is_empty());
    }

    #[test]
    fn an_overflow_is_noted() {
        let mut activity = Activity::default();
        activity.note((WatchId(-1), None), ReadFlags::QUEUE_OVERFLOW, None);
        assert!(activity.overflow && !activity.is_empty());
    }
}
