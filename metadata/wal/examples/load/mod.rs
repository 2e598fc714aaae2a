//! Appenders in a closed loop: each waits until its entry is durable before it appends the next one.

use bytes::Bytes;
use siltstone_wal::{LATENCY_BUCKETS_MS, Wal, WalError};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// About one flush's command.
const PAYLOAD_BYTES: usize = 1_024;

/// What appends came to.
#[derive(Default)]
pub(crate) struct Load {
    time: Duration,
    latencies: Vec<Duration>,
    syncs: u64,
    sync_micros: u64,
    /// Syncs over [`HEALTHY_MS`].
    slow_syncs: u64,
    segments: u64,
    recycled: u64,
}

/// A sync of a healthy disk takes no longer, 99 times in a hundred.
const HEALTHY_MS: u64 = LATENCY_BUCKETS_MS[3];

impl Load {
    /// Lets appenders append for a while, and adds what that came to.
    pub(crate) fn run(&mut self, wal: &Wal, appenders: usize, duration: Duration) -> Result<(), WalError> {
        let before = wal.metrics().snapshot();
        let (turn, latencies) = (Mutex::new(()), Mutex::new(&mut self.latencies));
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
        self.time += start.elapsed();
        let after = wal.metrics().snapshot();
        self.syncs += after.syncs() - before.syncs();
        self.sync_micros += after.sync_micros - before.sync_micros;
        self.slow_syncs += after.syncs_longer_than_ms(HEALTHY_MS) - before.syncs_longer_than_ms(HEALTHY_MS);
        self.segments += after.segments_created - before.segments_created;
        self.recycled += after.segments_recycled - before.segments_recycled;
        Ok(())
    }

    /// The latency below which so many of a hundred appends are.
    pub(crate) fn percentile(&mut self, percent: usize) -> Duration {
        self.latencies.sort_unstable();
        self.latencies.get(self.latencies.len() * percent / 100).copied().unwrap_or_default()
    }

    /// The mean latency.
    pub(crate) fn mean(&mut self) -> Duration {
        self.latencies.iter().sum::<Duration>() / u32::try_from(self.latencies.len().max(1)).unwrap_or(u32::MAX)
    }

    /// One line.
    pub(crate) fn print(&mut self, what: &str) {
        let syncs = self.syncs.max(1) as f64;
        let [p10, p50, p90, p99] = [10, 50, 90, 99].map(|percent| self.percentile(percent).as_secs_f64() * 1e3);
        println!(
            "{what:<40} {:>7.0} appends/s, mean {:>6.2} ms, p10 {p10:>6.2}, p50 {p50:>6.2}, p90 {p90:>6.2}, p99 {p99:>6.2}; {:.1} appends a sync, {:.2} ms on average, {:.1} % over {HEALTHY_MS} ms; {} segments, {} recycled",
            self.latencies.len() as f64 / self.time.as_secs_f64(),
            self.mean().as_secs_f64() * 1e3,
            self.latencies.len() as f64 / syncs,
            self.sync_micros as f64 / 1e3 / syncs,
            100.0 * self.slow_syncs as f64 / syncs,
            self.segments,
            self.recycled,
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
