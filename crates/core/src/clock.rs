//! The one place that time comes from, so that tests can set it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time of day comes from. Durations are measured with `std::time::Instant` or the runtime's clock, not with this.
pub trait Clock: Send + Sync + 'static {
    /// Nanoseconds since the Unix epoch.
    fn now_ns(&self) -> i64;

    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64 {
        self.now_ns() / 1_000_000
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one caller that may read the machine's clock")]
    fn now_ns(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock at this time.
    #[must_use]
    pub const fn at_ns(now_ns: i64) -> Self {
        Self(AtomicI64::new(now_ns))
    }

    /// Moves the clock, forward or back.
    pub fn advance_ns(&self, by_ns: i64) {
        self.0.fetch_add(by_ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
