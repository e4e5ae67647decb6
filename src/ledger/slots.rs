//! Windows found by time: those that may have written between two instants.

use crate::base::WallNs;

/// The time in which one window may have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// From here on.
    pub lo: i64,
    /// To here.
    pub hi: i64,
    /// The window.
    pub window: usize,
}

/// Slots by the time at which they begin, with a tree of their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// A segment tree over `slots`: the latest end in each half. Leaves are padded to a power of two.
    ends: Vec<i64>,
}

impl Slots {
    /// Arranges slots.
    pub(super) fn of(mut slots: Vec<Slot>) -> Self {
        slots.sort_by_key(|slot| (slot.lo, slot.window));
        let mut all = Self { slots, ends: Vec::new() };
        all.rebuild();
        all
    }

    /// Takes in a slot. Those that begin last cost least.
    pub(super) fn insert(&mut self, slot: Slot) {
        let at = self.slots.partition_point(|other| (other.lo, other.window) < (slot.lo, slot.window));
        self.slots.insert(at, slot);
        self.settle(at);
    }

    /// Forgets the slot of a window that began at `lo`.
    pub(super) fn remove(&mut self, window: usize, lo: i64) {
        let found = self.slots.binary_search_by_key(&(lo, window), |slot| (slot.lo, slot.window));
        if let Ok(at) = found {
            self.slots.remove(at);
            self.settle(at);
        }
    }

    /// Returns the windows that may have written in `from..=to`, in the order in which they opened.
    pub(super) fn meet(&self, from: WallNs, to: WallNs) -> Vec<usize> {
        let begun = self.slots.partition_point(|slot| slot.lo <= to.0);
        let leaves = self.ends.len() / 2;
        let mut met = Vec::new();
        let mut stack = if leaves == 0 { Vec::new() } else { vec![(1, 0, leaves)] };
        while let Some((node, start, end)) = stack.pop() {
            if start >= begun || self.ends[node] <= from.0 {
                continue;
            }
            if end - start == 1 {
                met.push(self.slots[start].window);
                continue;
            }
            let middle = start.midpoint(end);
            stack.push((2 * node + 1, middle, end));
            stack.push((2 * node, start, middle));
        }
        met.sort_unstable();
        met
    }

    fn rebuild(&mut self) {
        let leaves = self.slots.len().next_power_of_two();
        self.ends = vec![i64::MIN; 2 * leaves];
        self.settle(0);
    }

    /// Brings the tree in line with the slots from `at` on, and the one beyond the last.
    fn settle(&mut self, at: usize) {
        let leaves = self.ends.len() / 2;
        if self.slots.len() > leaves {
            return self.rebuild();
        }
        for leaf in at..(self.slots.len() + 1).min(leaves) {
            self.ends[leaves + leaf] = self.slots.get(leaf).map_or(i64::MIN, |slot| slot.hi);
        }
        let (mut first, mut last) = (leaves + at, leaves + self.slots.len().min(leaves - 1));
        while first > 1 {
            (first, last) = (first / 2, last / 2);
            for node in first..=last {
                self.ends[node] = self.ends[2 * node].max(self.ends[2 * node + 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_come_and_go_are_found_as_a_plain_search_finds_them() {
        let slot = |window: usize| {
            let lo = i64::try_from(window * 37 % 101).unwrap();
            Slot { lo, hi: lo + i64::try_from(window * 13 % 29).unwrap(), window }
        };
        let mut slots = Slots::default();
        let mut plain: Vec<Slot> = Vec::new();
        for round in 0..300 {
            let window = round * 53 % 300;
            slots.insert(slot(window));
            plain.push(slot(window));
            if round % 3 == 0 {
                let gone = plain.remove(round * 7 % plain.len());
                slots.remove(gone.window, gone.lo);
            }
            let (from, to) = (i64::try_from(round % 90).unwrap(), i64::try_from(round % 90 + 5).unwrap());
            let mut found: Vec<usize> =
                plain.iter().filter(|slot| slot.lo <= to && slot.hi > from).map(|slot| slot.window).collect();
            found.sort_unstable();
            assert_eq!(slots.meet(WallNs(from), WallNs(to)), found);
        }
    }
}
