//! Counters of a member, beside those of its log. Reading them takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the proposal latency buckets, in milliseconds: from a commit on a fast disk to the time after which an outcome is unknown.
pub const PROPOSAL_BUCKETS_MS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000, 10_000];

/// Live counters.
#[derive(Debug, Default)]
pub struct NodeMetrics {
    latency_buckets: [AtomicU64; PROPOSAL_BUCKETS_MS.len() + 1],
    latency_micros: AtomicU64,
    in_flight: AtomicU64,
    unavailable: AtomicU64,
    unknown: AtomicU64,
    leader_changes: AtomicU64,
    candidacies: AtomicU64,
    silences: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeMetricsSnapshot {
    /// Proposals that were committed and applied, by latency: one count for each bound of [`PROPOSAL_BUCKETS_MS`] (not cumulated), and one for longer
    /// ones.
    pub latency_buckets: [u64; PROPOSAL_BUCKETS_MS.len() + 1],
    /// The sum of their latencies in microseconds.
    pub latency_micros: u64,
    /// Proposals that wait for their outcome.
    pub in_flight: u64,
    /// Proposals that were not taken in.
    pub unavailable: u64,
    /// Proposals of which the outcome is unknown.
    pub unknown: u64,
    /// How often this member saw another leader than before.
    pub leader_changes: u64,
    /// How often it stood for election.
    pub candidacies: u64,
    /// How often it fell silent as a leader, for its disk or for want of a quorum.
    pub silences: u64,
}

/// How a proposal ended.
pub(crate) enum Outcome {
    Applied,
    Unavailable,
    Unknown,
}

impl NodeMetrics {
    /// The counters at this moment. They are read one after the other.
    #[must_use]
    pub fn snapshot(&self) -> NodeMetricsSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NodeMetricsSnapshot {
            latency_buckets: std::array::from_fn(|bucket| get(&self.latency_buckets[bucket])),
            latency_micros: get(&self.latency_micros),
            in_flight: get(&self.in_flight),
            unavailable: get(&self.unavailable),
            unknown: get(&self.unknown),
            leader_changes: get(&self.leader_changes),
            candidacies: get(&self.candidacies),
            silences: get(&self.silences),
        }
    }

    pub(crate) fn begin_proposal(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_proposal(&self, outcome: &Outcome, took: Duration) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        match outcome {
            Outcome::Applied => {
                let bucket = PROPOSAL_BUCKETS_MS.partition_point(|bound| u128::from(*bound) < took.as_millis());
                self.latency_buckets[bucket].fetch_add(1, Ordering::Relaxed);
                self.latency_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            Outcome::Unavailable => _ = self.unavailable.fetch_add(1, Ordering::Relaxed),
            Outcome::Unknown => _ = self.unknown.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(crate) fn count_leader_change(&self) {
        self.leader_changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_candidacy(&self) {
        self.candidacies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_silence(&self) {
        self.silences.fetch_add(1, Ordering::Relaxed);
    }
}
