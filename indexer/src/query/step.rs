//! Steps that people read easily.

const SECOND_NS: u64 = 1_000_000_000;

/// Widths of buckets in seconds: what a clock and a calendar make easy to read.
const STEPS_S: [u64; 22] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 7_776_000];

/// A step that gives at most `buckets` buckets over a span, the smallest of the easy ones that does; whole years past those.
#[must_use]
pub fn choose_step_ns(span_ns: u128, buckets: usize) -> u64 {
    let wanted_ns = span_ns / buckets.max(1) as u128 + 1;
    let easy = STEPS_S.iter().map(|step_s| step_s * SECOND_NS).find(|step_ns| u128::from(*step_ns) >= wanted_ns);
    easy.unwrap_or_else(|| {
        let year_ns = u128::from(365 * 86_400 * SECOND_NS);
        u64::try_from(wanted_ns.div_ceil(year_ns) * year_ns).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_never_gives_more_buckets_than_asked() {
        // The last is all the time that there is: nanoseconds are 64 bits wide.
        for span_s in [0_u128, 1, 39, 40, 41, 3_600, 86_400 * 365 * 20, u128::from(u64::MAX / SECOND_NS)] {
            let span_ns = span_s * u128::from(SECOND_NS);
            let step_ns = u128::from(choose_step_ns(span_ns, 40));
            assert!(span_ns / step_ns <= 40, "{span_s} s in steps of {step_ns} ns");
        }
        assert_eq!(choose_step_ns(3_600 * u128::from(SECOND_NS), 60), 120 * SECOND_NS);
    }
}
