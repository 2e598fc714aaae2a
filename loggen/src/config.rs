//! What to generate.

/// The choice of a run. Equal configurations give equal bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which of the possible clusters and days this is.
    pub seed: u64,
    /// How many lines, exactly.
    pub lines: u64,
    /// The time after the last line, in milliseconds since the Unix epoch.
    pub end_ms: i64,
    /// How much time the lines cover, in milliseconds; at least one second is used.
    pub span_ms: i64,
}

impl Config {
    /// One day of `lines` lines up to `end_ms`.
    #[must_use]
    pub const fn day(seed: u64, lines: u64, end_ms: i64) -> Self {
        Self { seed, lines, end_ms, span_ms: 24 * 60 * 60 * 1_000 }
    }
}
