//! When the manifest is published, and what is kept.

use std::time::Duration;

/// When the manifest is published, and what is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishConfig {
    /// A root is published when so many positions of the log were passed.
    pub positions_max: u64,
    /// A root is published when any position was passed for so long: what a restore from the store loses at most, where there is no backup.
    pub every: Duration,
    /// Two roots that nobody asked for are at least this far apart.
    pub gap: Duration,
    /// So many of the newest roots are kept whatever their age.
    pub keep_roots: usize,
    /// A root is kept for so long after another took its place, in milliseconds of state time.
    pub keep_ms: i64,
    /// How often it is looked whether the store still belongs to this group.
    pub owner_check_every: Duration,
    /// Requests in flight.
    pub requests_max: usize,
    /// How often it is looked whether anything is due.
    pub tick: Duration,
    /// The longest wait after a failure.
    pub backoff_max: Duration,
}

impl Default for PublishConfig {
    /// Twenty writers that flush twice a second pass 24,000 positions in ten minutes, so time decides there; an import that passes 50,000 sooner is
    /// published sooner, since whoever follows would have as many deltas to read. A root then costs at most some hundred requests in ten minutes.
    /// A reader takes seconds for a root, minutes for a great one on a bad day: an hour is plenty. A list in 15 s costs some four cents a day.
    fn default() -> Self {
        Self {
            positions_max: 50_000,
            every: Duration::from_secs(600),
            gap: Duration::from_secs(30),
            keep_roots: 3,
            keep_ms: 3_600_000,
            owner_check_every: Duration::from_secs(15),
            requests_max: 8,
            tick: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
        }
    }
}
