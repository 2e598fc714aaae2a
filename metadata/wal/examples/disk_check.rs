//! Is this disk fit for a metadata member? Prints what the log does there: `cargo run --release -p siltstone-wal --example disk_check -- DIR`
//!
//! A health line to compare with: a sync's 99th percentile below 10 ms.

use bytes::Bytes;
use siltstone_disk::RealDisk;
use siltstone_wal::{LATENCY_BUCKETS_MS, Wal, WalConfig, WalError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// About one flush's command.
const PAYLOAD_BYTES: usize = 1_024;
const ROUND: Duration = Duration::from_secs(3);

fn main() -> Result<(), WalError> {
    let dir = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("siltstone-disk-check"), PathBuf::from);
    let (wal, recovery) = Wal::open(Arc::new(RealDisk), &dir, WalConfig::default(), |error| eprintln!("the log failed: {error}"))?;
    println!("{}: {} entries found", dir.display(), recovery.entries);
    for appenders in [1, 8, 64] {
        round(&wal, appenders)?;
    }
    let next = wal.span().next;
    if next > 0 {
        Wal::blocking(|done| wal.purge_to(next - 1, Bytes::new(), Some(done)))?;
    }
    Ok(())
}

fn round(wal: &Wal, appenders: usize) -> Result<(), WalError> {
    let before = wal.metrics().snapshot();
    let latencies: Mutex<Vec<Duration>> = Mutex::default();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..appenders)
            .map(|_| {
                scope.spawn(|| {
                    let mut own = Vec::new();
                    while start.elapsed() < ROUND {
                        let begun = Instant::now();
                        // The index is taken and used under one lock, as Raft's single task would.
                        let (sender, receiver) = std::sync::mpsc::channel();
                        {
                            let _turn = latencies.lock();
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
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(WalError::Closed)))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let mut latencies = latencies.into_inner().unwrap_or_default();
    latencies.sort_unstable();
    let percentile = |percent: usize| latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default();
    let after = wal.metrics().snapshot();
    let syncs = after.syncs() - before.syncs();
    println!(
        "{appenders:>3} appenders: {:>8.0} appends/s, latency p50 {:>6.2} ms, p99 {:>6.2} ms, {syncs} syncs ({:.1} appends each, {:.2} ms on average, {} over {} ms)",
        latencies.len() as f64 / seconds,
        percentile(50).as_secs_f64() * 1e3,
        percentile(99).as_secs_f64() * 1e3,
        latencies.len() as f64 / syncs.max(1) as f64,
        (after.sync_micros - before.sync_micros) as f64 / 1e3 / syncs.max(1) as f64,
        after.syncs_longer_than_ms(10) - before.syncs_longer_than_ms(10),
        LATENCY_BUCKETS_MS[3],
    );
    Ok(())
}
