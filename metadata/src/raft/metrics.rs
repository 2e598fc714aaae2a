//! Counters of a member, beside those of its log. Reading them takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

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
    watchers: AtomicU64,
    states_encoded: AtomicU64,
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
    /// Proposals of which the outcome is unknown, those included whose proposer gave up waiting.
    pub unknown: u64,
    /// How often this member saw another leader than before.
    pub leader_changes: u64,
    /// How often it stood for election.
    pub candidacies: u64,
    /// How often it fell silent as a leader, for its disk or for want of a quorum.
    pub silences: u64,
    /// Who follows this member now.
    pub watchers: u64,
    /// How often the whole state was encoded for whoever follows this member.
    pub states_encoded: u64,
}

/// How a proposal ended.
pub(crate) enum Outcome {
    Applied,
    Unavailable,
    Unknown,
}

/// A proposal that waits for its outcome. Nobody learns it where the proposer gives up, so dropping this counts as unknown.
pub(crate) struct InFlight<'m> {
    metrics: &'m NodeMetrics,
    begun: Instant,
    is_ended: bool,
}

impl InFlight<'_> {
    pub(crate) fn end(mut self, outcome: &Outcome) {
        self.is_ended = true;
        self.metrics.count_outcome(outcome, self.begun.elapsed());
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        if !self.is_ended {
            self.metrics.count_outcome(&Outcome::Unknown, self.begun.elapsed());
        }
    }
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
            watchers: get(&self.watchers),
            states_encoded: get(&self.states_encoded),
        }
    }

    pub(crate) fn begin_proposal(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { metrics: self, begun: Instant::now(), is_ended: false }
    }

    fn count_outcome(&self, outcome: &Outcome, took: Duration) {
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

    /// Somebody begins to follow this member.
    pub fn count_watcher(&self) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody who followed this member does no longer.
    pub fn count_watcher_gone(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The whole state was encoded for those who follow.
    pub fn count_state_encoded(&self) {
        self.states_encoded.fetch_add(1, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_proposal_whose_proposer_gives_up_is_no_longer_in_flight() {
        let metrics = NodeMetrics::default();
        let (answered, given_up) = (metrics.begin_proposal(), metrics.begin_proposal());
        assert_eq!(metrics.snapshot().in_flight, 2);
        answered.end(&Outcome::Applied);
        drop(given_up);
        let NodeMetricsSnapshot { latency_buckets, in_flight, unknown, .. } = metrics.snapshot();
        assert_eq!((latency_buckets.iter().sum::<u64>(), in_flight, unknown), (1, 0, 1));
    }
}
