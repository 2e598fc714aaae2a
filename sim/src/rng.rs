//! The simulation's random numbers (SplitMix64, Steele et al. 2014): a seed means the same run for ever, whatever a library does.

use std::ops::RangeInclusive;

/// One stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// What a stream is for. Streams do not disturb each other: a change of the workload leaves the network's draws as they were.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Stream {
    /// The choice of what a run is like.
    Plan = 1,
    /// Delays and losses of messages.
    Network = 2,
    /// Latencies of disks, and what crashes leave.
    Disk = 3,
    /// When what breaks.
    Faults = 4,
    /// What clients ask; the client's number is added.
    Client = 5,
    /// Members' own seeds; the member's number and life are added.
    Member = 6,
    /// When the disks are looked at.
    Audit = 7,
}

impl Rng {
    /// A stream of a seed. `number` tells streams of one kind apart.
    #[must_use]
    pub const fn new(seed: u64, stream: Stream, number: u64) -> Self {
        let mut rng = Self(seed ^ ((stream as u64) << 56) ^ number.rotate_left(32));
        // Neighbouring seeds give neighbouring states: one round apart they have nothing in common.
        let state = rng.next();
        Self(state)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0. The bias of a remainder does not matter here.
    pub const fn below(&mut self, bound: u64) -> u64 {
        let number = self.next();
        if bound == 0 { 0 } else { number % bound }
    }

    /// A number of a range.
    pub const fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        let (start, end) = (*range.start(), *range.end());
        start + self.below(end.saturating_sub(start).saturating_add(1))
    }

    /// True in so many of a thousand cases.
    pub const fn chance(&mut self, permille: u64) -> bool {
        self.below(1_000) < permille
    }

    /// One of several.
    ///
    /// # Panics
    /// When there is none.
    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[usize::try_from(self.below(items.len() as u64)).expect("below a length")]
    }

    /// Some of several, in their order: each with the same chance.
    pub fn some<T: Copy>(&mut self, items: &[T], permille: u64) -> Vec<T> {
        items.iter().copied().filter(|_| self.chance(permille)).collect()
    }

    /// Puts items into any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).expect("an index");
            items.swap(last, other);
        }
    }
}
