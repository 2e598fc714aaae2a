//! The only source of chance: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
//!
//! Written out, so that a seed that found something means the same for ever.

/// Random numbers from a seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        let number = self.next();
        if bound == 0 { 0 } else { number % bound }
    }

    /// True once in `times` on average.
    pub const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of some things.
    ///
    /// # Panics
    /// When there are none.
    pub fn choose<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[usize::try_from(self.below(things.len() as u64)).expect("below a length")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!([rng.next(), rng.next(), rng.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
