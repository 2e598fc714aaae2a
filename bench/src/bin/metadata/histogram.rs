//! Latencies in buckets that grow with them: 256 of one nanosecond, then 128 for each doubling, so that no value is off by more than 0.8 %.
//!
//! Of our own, and not a crate's: all that is needed is to count, to add up what several processes counted, and to ask for a percentile.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Each doubling has 2^7 buckets.
const SUB_BITS: u32 = 7;

/// The buckets of all `u64`.
const BUCKETS: usize = ((u64::BITS - SUB_BITS + 1) as usize) << SUB_BITS;

/// How often each latency was seen.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

/// As it goes from process to process: the buckets that are not empty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    buckets: Vec<(u32, u64)>,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, latency: Duration) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        for &(bucket, count) in &other.buckets {
            if let Some(own) = self.counts.get_mut(bucket as usize) {
                *own += count;
                self.total += count;
            }
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub(crate) fn counts(&self) -> Counts {
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count != 0);
        Counts { buckets: filled.map(|(bucket, &count)| (bucket as u32, count)).collect(), max_ns: self.max_ns }
    }

    /// The latency that this share of all (0 to 1) did not pass, in milliseconds; not a number where there are none.
    pub(crate) fn percentile_ms(&self, share: f64) -> f64 {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(f64::NAN, |bucket| largest(bucket).min(self.max_ns) as f64 / 1e6)
    }
}

fn bucket(ns: u64) -> usize {
    let exponent = (u64::BITS - ns.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((exponent as usize) << SUB_BITS) + (ns >> exponent) as usize
}

/// The largest value of a bucket.
fn largest(bucket: usize) -> u64 {
    let exponent = (bucket >> SUB_BITS).saturating_sub(1);
    let mantissa = (bucket - (exponent << SUB_BITS)) as u128;
    u64::try_from(((mantissa + 1) << exponent) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_that_ends_less_than_a_hundredth_above_it() {
        let values = (0..64).flat_map(|shift| [1_u64 << shift, (1_u64 << shift) - 1, 0b1011_0111_u64.rotate_left(shift)]).chain([u64::MAX]);
        for value in values {
            let end = largest(bucket(value));
            assert!(end >= value && (end - value) as f64 <= value as f64 / 100.0, "{value} ends at {end}");
            assert_eq!(bucket(end), bucket(value));
            assert!(end == u64::MAX || bucket(end + 1) == bucket(value) + 1, "no gap after {end}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::default();
        (1..=1_000_u64).rev().for_each(|ms| histogram.record(Duration::from_millis(ms)));
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1_000.0), (0.0, 1.0)] {
            let found = histogram.percentile_ms(share);
            assert!((expected..expected * 1.008).contains(&found), "{share}: {found}");
        }
        assert!(Histogram::default().percentile_ms(0.5).is_nan());
    }

    #[test]
    fn what_two_processes_counted_adds_up() {
        let (mut left, mut right, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for ms in [3, 70, 1] {
            let side = if ms == 3 { &mut left } else { &mut right };
            side.record(Duration::from_millis(ms));
            both.record(Duration::from_millis(ms));
        }
        left.add(&right.counts());
        assert_eq!((left.counts(), left.total), (both.counts(), 3));
    }
}
