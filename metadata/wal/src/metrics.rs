//! Counters of the log. Reading them never takes a lock that the log's thread holds.

use crate::MonotonicClock;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the sync latency buckets, in milliseconds. 100 ms, 400 ms and 10 s are the rungs of the stall ladder: a metric, giving up
/// leadership, ending the process.
pub const LATENCY_BUCKETS_MS: [u64; 11] = [1, 2, 5, 10, 20, 50, 100, 400, 1_000, 4_000, 10_000];

/// Live counters.
pub struct WalMetrics {
    clock: MonotonicClock,
    /// Microseconds on `clock`, plus one, at which the present file operation began; 0 when none is in flight.
    busy_since: AtomicU64,
    sync_buckets: [AtomicU64; LATENCY_BUCKETS_MS.len() + 1],
    sync_micros: AtomicU64,
    batches: AtomicU64,
    operations: AtomicU64,
    batch_operations_max: AtomicU64,
    written_bytes: AtomicU64,
    segments_created: AtomicU64,
    segments_recycled: AtomicU64,
    segments_removed: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetricsSnapshot {
    /// Syncs by latency: one count for each bound of [`LATENCY_BUCKETS_MS`] (not cumulated), and one for longer ones.
    pub sync_buckets: [u64; LATENCY_BUCKETS_MS.len() + 1],
    /// The sum of all sync latencies in microseconds.
    pub sync_micros: u64,
    /// Writes, each followed by one sync.
    pub batches: u64,
    /// Operations that those batches carried.
    pub operations: u64,
    /// The most operations that one batch carried.
    pub batch_operations_max: u64,
    /// Bytes of records written to segment files.
    pub written_bytes: u64,
    /// Segments begun.
    pub segments_created: u64,
    /// Those of them that were begun in the file of a purged one.
    pub segments_recycled: u64,
    /// Segments removed after a purge, their files removed or kept for later.
    pub segments_removed: u64,
}

impl MetricsSnapshot {
    /// Syncs that took longer than a bound of [`LATENCY_BUCKETS_MS`].
    #[must_use]
    pub fn syncs_longer_than_ms(&self, bound_ms: u64) -> u64 {
        let longer = LATENCY_BUCKETS_MS.partition_point(|bucket| *bucket <= bound_ms);
        self.sync_buckets[longer..].iter().sum()
    }

    /// Syncs in all.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.sync_buckets.iter().sum()
    }
}

impl WalMetrics {
    pub(crate) fn new(clock: MonotonicClock) -> Self {
        Self {
            clock,
            busy_since: AtomicU64::new(0),
            sync_buckets: Default::default(),
            sync_micros: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            batch_operations_max: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            segments_created: AtomicU64::new(0),
            segments_recycled: AtomicU64::new(0),
            segments_removed: AtomicU64::new(0),
        }
    }

    /// How long the file operation in flight has been running; `None` when there is none. Covers every operation of the log's thread, not
    /// only syncs: a disk can hang in any of them.
    #[must_use]
    pub fn stall(&self) -> Option<Duration> {
        let since = self.busy_since.load(Ordering::Acquire).checked_sub(1)?;
        Some((self.clock)().saturating_sub(Duration::from_micros(since)))
    }

    /// The counters now.
    #[must_use]
    pub fn snapshot(&self) -> MetricsSnapshot {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetricsSnapshot {
            sync_buckets: std::array::from_fn(|at| load(&self.sync_buckets[at])),
            sync_micros: load(&self.sync_micros),
            batches: load(&self.batches),
            operations: load(&self.operations),
            batch_operations_max: load(&self.batch_operations_max),
            written_bytes: load(&self.written_bytes),
            segments_created: load(&self.segments_created),
            segments_recycled: load(&self.segments_recycled),
            segments_removed: load(&self.segments_removed),
        }
    }

    /// Runs a file operation, marked as in flight.
    pub(crate) fn watch<T>(&self, operation: impl FnOnce() -> T) -> T {
        self.mark_busy();
        let outcome = operation();
        self.mark_idle();
        outcome
    }

    /// Runs a sync, marked as in flight, and counts its latency.
    pub(crate) fn watch_sync<T>(&self, sync: impl FnOnce() -> T) -> T {
        let begun = self.mark_busy();
        let outcome = sync();
        self.mark_idle();
        self.count_sync(begun);
        outcome
    }

    /// A file operation begins now. Gives the time.
    pub(crate) fn mark_busy(&self) -> Duration {
        let now = (self.clock)();
        self.busy_since.store(micros(now).saturating_add(1), Ordering::Release);
        now
    }

    /// No file operation is in flight.
    pub(crate) fn mark_idle(&self) {
        self.busy_since.store(0, Ordering::Release);
    }

    /// A sync that began at a time has just ended.
    pub(crate) fn count_sync(&self, begun: Duration) {
        let took = (self.clock)().saturating_sub(begun);
        let bucket = LATENCY_BUCKETS_MS.partition_point(|bound| Duration::from_millis(*bound) < took);
        self.sync_buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sync_micros.fetch_add(micros(took), Ordering::Relaxed);
    }

    pub(crate) fn count_batch(&self, operations: usize, bytes: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.batch_operations_max.fetch_max(operations as u64, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_created(&self, is_recycled: bool) {
        self.segments_created.fetch_add(1, Ordering::Relaxed);
        self.segments_recycled.fetch_add(u64::from(is_recycled), Ordering::Relaxed);
    }

    pub(crate) fn count_removed(&self) {
        self.segments_removed.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for WalMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WalMetrics").field("stall", &self.stall()).field("counters", &self.snapshot()).finish()
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
