//! Appenders in a closed loop: each waits until its entry is durable before it appends the next one.

use bytes::Bytes;
use siltstone_wal::{LATENCY_BUCKETS_MS, MetricsSnapshot, Wal, WalError};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// About one flush's command.
const PAYLOAD_BYTES: usize = 1_024;

/// What a round of appends came to.
pub(crate) struct Load {
    appenders: usize,
    seconds: f64,
    /// Sorted.
    latencies: Vec<Duration>,
    before: MetricsSnapshot,
    after: MetricsSnapshot,
}

impl Load {
    /// Lets appenders append for a while.
    pub(crate) fn run(wal: &Wal, appenders: usize, duration: Duration) -> Result<Self, WalError> {
        let before = wal.metrics().snapshot();
        let (turn, latencies) = (Mutex::new(()), Mutex::new(Vec::new()));
        let start = Instant::now();
        std::thread::scope(|scope| {
            let append = || {
                let mut own = Vec::new();
                while start.elapsed() < duration {
                    let begun = Instant::now();
                    let (sender, receiver) = std::sync::mpsc::channel();
                    {
                        // The index is taken and used under one lock, as Raft's single task would.
                        let _turn = turn.lock();
                        let done = Box::new(move |outcome| drop(sender.send(outcome)));
                        wal.append(wal.span().next, vec![Bytes::from_static(&[7; PAYLOAD_BYTES])], done)?;
                    }
                    receiver.recv().unwrap_or(Err(WalError::Closed))?;
                    own.push(begun.elapsed());
                }
                if let Ok(mut all) = latencies.lock() {
                    all.extend(own);
                }
                Ok(())
            };
            let threads: Vec<_> = (0..appenders).map(|_| scope.spawn(append)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(WalError::Closed)))
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let mut latencies = latencies.into_inner().unwrap_or_default();
        latencies.sort_unstable();
        Ok(Self { appenders, seconds, latencies, before, after: wal.metrics().snapshot() })
    }

    /// The latency below which so many of a thousand appends are.
    pub(crate) fn per_mille(&self, per_mille: usize) -> Duration {
        self.latencies.get(self.latencies.len() * per_mille / 1_000).copied().unwrap_or_default()
    }

    /// The mean latency.
    pub(crate) fn mean(&self) -> Duration {
        self.latencies.iter().sum::<Duration>() / u32::try_from(self.latencies.len().max(1)).unwrap_or(u32::MAX)
    }

    /// One line.
    pub(crate) fn print(&self, what: &str) {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let syncs = (self.after.syncs() - self.before.syncs()).max(1);
        println!(
            "{what:<28} {:>3} appenders: {:>7.0} appends/s, p50 {:>7.2} ms, p99 {:>7.2} ms, p99.9 {:>7.2} ms, mean {:>7.2} ms; {syncs} syncs, {:.1} appends each, {:.2} ms on average, {} over {} ms; {} segments, {} recycled",
            self.appenders,
            self.latencies.len() as f64 / self.seconds,
            ms(self.per_mille(500)),
            ms(self.per_mille(990)),
            ms(self.per_mille(999)),
            ms(self.mean()),
            self.latencies.len() as f64 / syncs as f64,
            (self.after.sync_micros - self.before.sync_micros) as f64 / 1e3 / syncs as f64,
            self.after.syncs_longer_than_ms(LATENCY_BUCKETS_MS[3]) - self.before.syncs_longer_than_ms(LATENCY_BUCKETS_MS[3]),
            LATENCY_BUCKETS_MS[3],
            self.after.segments_created - self.before.segments_created,
            self.after.segments_recycled - self.before.segments_recycled,
        );
    }
}

/// Gives up all entries, so that the files go or wait for their next life.
pub(crate) fn purge_all(wal: &Wal) -> Result<(), WalError> {
    match wal.span().next.checked_sub(1) {
        Some(last) => Wal::blocking(|done| wal.purge_to(last, Bytes::new(), Some(done))),
        None => Ok(()),
    }
}
