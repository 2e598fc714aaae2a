//! How long roles wait and try when the metadata group or the object store does not answer as it should.

use std::time::Duration;

/// How long roles wait and try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// A command whose outcome is unknown is repeated, the very same, for this long; then its epoch is fenced.
    pub unknown_outcome_ms_max: u64,
    /// The pause between two tries of a command.
    pub retry_ms: u64,
    /// The pause of a background job after a round that failed.
    pub failure_ms: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { unknown_outcome_ms_max: 20_000, retry_ms: 100, failure_ms: 1_000 }
    }
}

impl Patience {
    pub(crate) const fn unknown_outcome_max(&self) -> Duration {
        Duration::from_millis(self.unknown_outcome_ms_max)
    }

    /// How long a group that does not answer is waited for before new work is refused: an election takes some seconds.
    pub(crate) const fn waited_out(&self) -> Duration {
        Duration::from_millis(self.unknown_outcome_ms_max / 6)
    }

    pub(crate) const fn retry(&self) -> Duration {
        Duration::from_millis(self.retry_ms)
    }

    pub(crate) const fn failure(&self) -> Duration {
        Duration::from_millis(self.failure_ms)
    }
}
