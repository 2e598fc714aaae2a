//! Latencies by `hdrhistogram`, within 0.1 %, and the form in which they go from process to process.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Three decimal digits: no value is off by more than 0.1 %.
const DIGITS: u8 = 3;
/// No window is so long; what is longer counts as so long.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// How often each latency was seen.
#[derive(Clone)]
pub(crate) struct Histogram(Hdr<u64>);

/// As it goes from process to process: latencies in nanoseconds, and how often each was seen.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts(Vec<(u64, u64)>);

impl Default for Histogram {
    fn default() -> Self {
        Self(Hdr::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("these bounds are allowed"))
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        other.0.iter().for_each(|&(ns, count)| self.0.saturating_record_n(ns, count));
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts(self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
    }

    /// The latency that this share of all (0 to 1) did not pass, in milliseconds; not a number where there are none.
    pub(crate) fn percentile_ms(&self, share: f64) -> f64 {
        if self.0.is_empty() { f64::NAN } else { self.0.value_at_quantile(share) as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::default();
        (1..=1_000_u64).rev().for_each(|ms| histogram.record(Duration::from_millis(ms)));
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1_000.0), (0.0, 1.0)] {
            let found = histogram.percentile_ms(share);
            assert!((found / expected - 1.0).abs() < 0.001, "{share}: {found}");
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
        assert_eq!(left.counts(), both.counts());
        assert_eq!(left.counts().0.len(), 3);
    }
}
