//! Randomness from a seed.

/// A small generator: the same seed gives the same race.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `from..=to`.
    pub(crate) fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from + 1)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next() % len.max(1) as u64).unwrap_or(0)
    }

    /// True in so many of a hundred throws.
    pub(crate) fn percent(&mut self, of_hundred: u64) -> bool {
        self.next() % 100 < of_hundred
    }

    /// Mostly near `from`, rarely as far as `to`.
    pub(crate) fn skewed(&mut self, from: u64, to: u64) -> u64 {
        let (one, other) = (self.within(from, to), self.within(from, to));
        let third = self.within(from, to);
        one.min(other).min(third)
    }
}
