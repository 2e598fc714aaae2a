//! The simulator's own random numbers (SplitMix64, Steele et al. 2014): a seed means the same crash for ever, whatever a library does.

pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0. The bias of a remainder does not matter to a test.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        let number = self.next();
        if bound == 0 { 0 } else { number % bound }
    }

    pub(crate) const fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}
