//! When a change happened, as far as the file's own times and the two readings tell (ledger.md §3).

use crate::base::WallNs;
use crate::ledger::{Change, Observation, Stamps};

/// When the writes of one step happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// No write of the step happened before this: the look before it began then.
    pub floor: WallNs,
    /// The last content change did not happen before this.
    pub earliest: WallNs,
    /// No write of the step happened after this.
    pub latest: WallNs,
    /// The inode's own time, where it can be believed.
    pub ctime: Option<WallNs>,
    /// How far before the true time that may lie, in nanoseconds.
    pub tick: i64,
}

impl Moment {
    /// Dates a change that `observation` saw, `previous` being the look before it.
    pub(super) fn of(previous: Option<&Observation>, observation: &Observation, change: &Change) -> Self {
        let before = previous.map_or(WallNs(i64::MIN), |previous| previous.began);
        let set_back = previous.is_some_and(|previous| observation.at < previous.at);
        let floor = match observation.still {
            // An earlier look may have missed it.
            _ if change.flags.untold => WallNs(i64::MIN),
            // The times of before are those of another clock: only when it was seen is known.
            _ if set_back => observation.at,
            Some(still) => still.max(before),
            None => before,
        };
        let read_at = change.read_at.min(observation.at).max(floor);
        let (believed, tick) = match observation.stamps {
            Stamps::Within(tick) => (true, i64::from(tick)),
            Stamps::Worthless => (false, 0),
        };
        let tick_before = WallNs(floor.0.saturating_sub(tick));
        let plausible =
            |at: WallNs| believed && at.0 > 0 && at >= tick_before && at.0 <= read_at.0.saturating_add(tick);
        let ctime = Some(change.ctime).filter(|&at| plausible(at));
        let latest = match ctime {
            Some(at) if !change.flags.unstable => WallNs(at.0 + tick).min(read_at).max(floor),
            Some(_) | None => read_at,
        };
        let mtime = change.after.and(ctime).and(Some(change.mtime)).filter(|&at| plausible(at));
        let earliest = mtime.filter(|&at| at <= latest).map_or(floor, |at| at.max(floor));
        Self { floor, earliest, latest, ctime, tick }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{BlobId, ObservationNo, ProxyId, RepoPath, TreeId};
    use crate::ledger::{Content, FileState, Flags, Mode, Why};

    const MS: i64 = 1_000_000;

    fn moment(mtime: i64, ctime: i64, exists: bool) -> [i64; 3] {
        stamped(Stamps::default(), mtime, ctime, exists)
    }

    fn stamped(stamps: Stamps, mtime: i64, ctime: i64, exists: bool) -> [i64; 3] {
        dated(stamps, (mtime, ctime, exists), 1000)
    }

    fn stepped(stamps: Stamps, mtime: i64, ctime: i64, before: i64) -> [i64; 3] {
        dated(stamps, (mtime, ctime, true), before)
    }

    fn dated(stamps: Stamps, (mtime, ctime, exists): (i64, i64, bool), first: i64) -> [i64; 3] {
        let look = |no, at: i64, changes| {
            let (began, at) = (WallNs(at * MS), WallNs((at + 1) * MS));
            Observation::new(
                ObservationNo(no),
                began,
                at,
                ProxyId::new("p"),
                Why::Activity,
                TreeId([0; 20]),
                None,
                changes,
            )
        };
        let state = FileState { mode: Mode::Regular, blob: BlobId([0; 20]), size: 1, content: Content::Kept };
        let change = Change {
            path: RepoPath::new("a").unwrap(),
            before: None,
            after: exists.then_some(state),
            read_at: WallNs(2001 * MS),
            mtime: WallNs(mtime * MS),
            ctime: WallNs(ctime * MS),
            flags: Flags::default(),
        };
        let (first, mut second) = (look(0, first, vec![]), look(1, 2000, vec![change]));
        second.stamps = stamps;
        let moment = Moment::of(Some(&first), &second, &second.changes[0]);
        [moment.floor, moment.earliest, moment.latest].map(|at| at.0 / MS)
    }

    #[test]
    fn file_times_narrow_a_step_only_where_they_can_be_believed() {
        assert_eq!(moment(1500, 1500, true), [1000, 1500, 1510], "both times are sane");
        assert_eq!(moment(1500, 1800, true), [1000, 1500, 1810], "a later chmod");
        assert_eq!(moment(3, 1500, true), [1000, 1000, 1510], "mtime was set back");
        assert_eq!(moment(9000, 1500, true), [1000, 1000, 1510], "mtime was set ahead");
        assert_eq!(moment(1500, 9000, true), [1000, 1000, 2001], "a clock step");
        assert_eq!(moment(0, 0, true), [1000, 1000, 2001], "no time evidence");
        assert_eq!(stamped(Stamps::Within(0), 1500, 1500, true), [1000, 1500, 1500], "a sharp clock");
        assert_eq!(stamped(Stamps::Worthless, 1500, 1500, true), [1000, 1000, 2001], "a network's clock");
        assert_eq!(moment(1500, 1500, false), [1000, 1000, 1510], "a deletion has the directory's times");
    }

    #[test]
    fn where_the_clock_was_set_back_between_two_looks_nothing_of_before_dates_a_change() {
        assert_eq!(stepped(Stamps::default(), 1500, 1500, 5_000), [2001, 2001, 2001]);
        assert_eq!(stepped(Stamps::Worthless, 5_500, 5_500, 5_000), [2001, 2001, 2001]);
    }

    #[test]
    fn a_look_that_appended_nothing_narrows_the_step_after_it() {
        let look = |no, at: i64| {
            let (began, at) = (WallNs(at * MS), WallNs((at + 1) * MS));
            let by = ProxyId::new("p");
            Observation::new(ObservationNo(no), began, at, by, Why::Activity, TreeId([0; 20]), None, vec![])
        };
        let change = Change {
            path: RepoPath::new("a").unwrap(),
            before: None,
            after: None,
            read_at: WallNs(2001 * MS),
            mtime: WallNs(0),
            ctime: WallNs(0),
            flags: Flags::default(),
        };
        let (first, mut second) = (look(0, 1000), look(1, 2000));
        let floor = |second: &Observation| Moment::of(Some(&first), second, &change).floor;
        assert_eq!(floor(&second), first.began);
        second.still = Some(WallNs(1700 * MS));
        assert_eq!(floor(&second), WallNs(1700 * MS));
        second.still = Some(WallNs(900 * MS));
        assert_eq!(floor(&second), first.began, "another process made a link since");
    }
}
