//! Members' wall clocks: virtual time plus an error that jumps. Nothing in the group may depend on them but state time, which is bounded.

use siltstone_core::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::time::Instant;

/// What the clocks say when a run begins: 2023-11-14.
const BEGIN_MS: i64 = 1_700_000_000_000;

/// One member's wall clock.
#[derive(Debug)]
pub struct SimClock {
    start: Instant,
    error_ms: AtomicI64,
}

impl SimClock {
    /// A clock that is right. Must run within the runtime of the run.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        Self { start, error_ms: AtomicI64::new(0) }
    }

    /// Moves it, forward or back.
    pub fn jump_ms(&self, by_ms: i64) {
        self.error_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    /// Sets it right.
    pub fn mend(&self) {
        self.error_ms.store(0, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_ns(&self) -> i64 {
        let elapsed_ns = i64::try_from(self.start.elapsed().as_nanos()).expect("a run lasts minutes");
        (BEGIN_MS + self.error_ms.load(Ordering::Relaxed)) * 1_000_000 + elapsed_ns
    }
}
