//! The only source of chance: SplitMix64.
//! Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles 64 bits so that near inputs give unrelated outputs.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A stream of numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent stream of the same seed for each `name`.
    pub(crate) const fn fork(seed: u64, name: u64) -> Self {
        Self { state: mix(seed ^ name.wrapping_mul(GOLDEN)) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number in `0..bound`, by multiplication (its bias of bound / 2^64 is of no concern here). 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True this many times in 1,000.
    pub(crate) fn permille(&mut self, chance: u32) -> bool {
        self.below(1_000) < u64::from(chance)
    }

    /// A number from `low` to `high` that is small more often than large: the range is halved up to two thirds of the possible times, each number of
    /// halvings as likely as the others.
    pub(crate) fn skewed(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        let shift = self.below(u64::from(span.ilog2()) * 2 / 3 + 1);
        low + self.below((span >> shift).max(1))
    }

    /// Around `typical`, with a tail: one in four doubles, one in sixteen quadruples, and so on up to 16 times.
    pub(crate) fn with_tail(&mut self, typical: u64) -> u64 {
        let doublings = (self.next().trailing_zeros() / 2).min(4);
        self.between(typical / 2, typical + typical / 2) << doublings
    }

    /// One of a slice that is not empty.
    pub(crate) fn pick<T>(&mut self, items: &[T]) -> T
    where
        T: Copy,
    {
        items[self.below(items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut rng = Rng::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| rng.next()).collect();
        // Reference values of SplitMix64 for this seed.
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431, 16_408_922_859_458_223_821]
        );
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        let mut rng = Rng::new(7);
        for _ in 0..10_000 {
            assert!((3..=9).contains(&rng.between(3, 9)));
            assert!((180..=48_000).contains(&rng.skewed(180, 48_000)));
            assert!((50..=2_400).contains(&rng.with_tail(100)));
        }
        assert_eq!((rng.below(0), rng.between(4, 4)), (0, 4));
    }
}
