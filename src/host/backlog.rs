//! What could not be appended, log by log: it goes before whatever is appended next, so that no order changes.

use crate::engine::{Durability, Input};
use crate::host::perform::Perform;
use crate::ledger::{Log, Record};
use std::collections::{BTreeMap, VecDeque};

/// Records that are kept for a log; what comes after them is lost, and counted.
const MOST: usize = 10_000;

/// What is owed to the logs.
#[derive(Debug, Default)]
pub(crate) struct Backlog(BTreeMap<Log, Owed>);

#[derive(Debug, Default)]
struct Owed {
    records: VecDeque<Record>,
    late: u32,
    lost: u32,
}

impl Backlog {
    /// Appends a record after what is owed. Returns what is to be told when that was made up for.
    ///
    /// A record that cannot be appended is owed from now on, unless it is a person's word: who said it hears that it failed.
    pub(crate) fn append(
        &mut self,
        perform: &mut dyn Perform,
        (log, record): (&Log, &Record),
        durability: Durability,
    ) -> Result<Option<Input>, String> {
        let done = self.make_up(perform, log).and_then(|()| perform.append(log, record, durability));
        match done {
            Ok(()) => Ok(self.0.remove(log).map(|owed| Input::CaughtUp {
                log: log.clone(),
                late: owed.late,
                lost: owed.lost,
            })),
            Err(reason) => {
                let owed = self.0.entry(log.clone()).or_default();
                let is_owed = !record.event.is_persons_word();
                if is_owed && owed.records.len() >= MOST {
                    owed.lost += 1;
                } else if is_owed {
                    owed.records.push_back(record.clone());
                }
                Err(reason)
            }
        }
    }

    /// Appends what is owed to every log, as far as that can be done. Says of each other log how many records were lost, and why.
    pub(crate) fn make_up_for_all(&mut self, perform: &mut dyn Perform) -> Vec<String> {
        let logs: Vec<Log> = self.0.keys().cloned().collect();
        let mut lost = Vec::new();
        for log in logs {
            if let Err(reason) = self.make_up(perform, &log) {
                let owed = self.0.remove(&log).unwrap_or_default();
                let count = u64::from(owed.lost) + owed.records.len() as u64;
                let of = match &log {
                    Log::Root(root) => format!("root {root}"),
                    Log::Session(session) => format!("session {session}"),
                };
                lost.push(format!("{count} records of {of} were never written: {reason}"));
            }
        }
        lost
    }

    fn make_up(&mut self, perform: &mut dyn Perform, log: &Log) -> Result<(), String> {
        let Some(owed) = self.0.get_mut(log) else { return Ok(()) };
        while let Some(record) = owed.records.front() {
            perform.append(log, record, Durability::Written)?;
            owed.records.pop_front();
            owed.late += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{ObservationNo, RootId, SessionKey, TreeId, TurnNo, WallNs};
    use crate::engine::Action;
    use crate::ledger::{Actor, Channel, Event, Ledger, Who};

    /// A disk that is full, or not.
    #[derive(Debug, Default)]
    struct Disk {
        full: bool,
        kept: Vec<Record>,
    }

    impl Perform for Disk {
        fn append(&mut self, _log: &Log, record: &Record, _durability: Durability) -> Result<(), String> {
            if self.full {
                return Err("no space left on device".to_owned());
            }
            self.kept.push(record.clone());
            Ok(())
        }

        fn start(&mut self, _effect: Action, _ledger: &Ledger) {}

        fn close(&mut self) {}
    }

    #[test]
    fn what_could_not_be_appended_comes_before_what_is_appended_next() {
        let log = Log::Session(SessionKey::new("k"));
        let turn = |turn| Record { at: WallNs(turn), event: Event::TurnStarted { turn: TurnNo(1) } };
        let (mut backlog, mut disk) = (Backlog::default(), Disk { full: true, kept: Vec::new() });
        for at in 1..3 {
            let failed = backlog.append(&mut disk, (&log, &turn(at)), Durability::Written);
            assert!(failed.is_err_and(|why| why.contains("no space")));
        }
        disk.full = false;
        let told = backlog.append(&mut disk, (&log, &turn(3)), Durability::Written).expect("there is room");
        assert!(matches!(told, Some(Input::CaughtUp { late: 2, lost: 0, .. })), "{told:?}");
        assert_eq!(disk.kept, [turn(1), turn(2), turn(3)]);
        let told = backlog.append(&mut disk, (&log, &turn(4)), Durability::Written);
        assert!(matches!(told, Ok(None)), "{told:?}");
    }

    #[test]
    fn what_can_never_be_written_is_said_at_the_end() {
        let log = Log::Session(SessionKey::new("k"));
        let fact = Record { at: WallNs(1), event: Event::TurnStarted { turn: TurnNo(1) } };
        let (mut backlog, mut disk) = (Backlog::default(), Disk { full: true, kept: Vec::new() });
        for _ in 0..2 {
            drop(backlog.append(&mut disk, (&log, &fact), Durability::Written));
        }
        let lost = backlog.make_up_for_all(&mut disk);
        assert_eq!(lost, ["2 records of session k were never written: no space left on device"]);
        drop(backlog.append(&mut disk, (&log, &fact), Durability::Written));
        disk.full = false;
        assert!(backlog.make_up_for_all(&mut disk).is_empty() && disk.kept == [fact]);
    }

    #[test]
    fn a_persons_word_is_never_written_late_and_is_no_loss() {
        let log = Log::Session(SessionKey::new("k"));
        let rebased = Event::Rebased {
            root: RootId::new("r"),
            position: ObservationNo(1),
            tree: TreeId([0; 20]),
            actor: Actor { who: Who::Person, channel: Channel::Cli },
        };
        let word = Record { at: WallNs(0), event: rebased };
        let fact = Record { at: WallNs(1), event: Event::TurnStarted { turn: TurnNo(1) } };
        let (mut backlog, mut disk) = (Backlog::default(), Disk { full: true, kept: Vec::new() });
        for _ in 0..=MOST {
            drop(backlog.append(&mut disk, (&log, &fact), Durability::Written));
        }
        drop(backlog.append(&mut disk, (&log, &word), Durability::Synced));
        disk.full = false;
        let told = backlog.append(&mut disk, (&log, &fact), Durability::Written).expect("there is room");
        assert!(matches!(told, Some(Input::CaughtUp { late: 10_000, lost: 1, .. })), "{told:?}");
        assert!(!disk.kept.contains(&word));
    }
}
