//! Is this disk fit for a metadata member? Prints what the log does there: `cargo run --release -p siltstone-wal --example disk_check -- DIR`
//!
//! A health line to compare with: a sync's 99th percentile below 10 ms. With `--compare` the three forms of segment files run beside one another,
//! in turns, as a shared disk's mood changes: growing by each write, growing in steps, and recycled.

mod load;

use load::{Load, purge_all};
use siltstone_disk::RealDisk;
use siltstone_wal::{Wal, WalConfig, WalError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const ROUND: Duration = Duration::from_secs(3);
/// Turns of a comparison, each of all forms.
const TURNS: usize = 4;

fn main() -> Result<(), WalError> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let compares = arguments.iter().any(|argument| argument == "--compare");
    let dir = arguments.iter().find(|argument| *argument != "--compare");
    let dir = dir.map_or_else(|| std::env::temp_dir().join("siltstone-disk-check"), PathBuf::from);
    if compares { compare(&dir) } else { check(&dir) }
}

fn open(dir: &Path, config: WalConfig) -> Result<Wal, WalError> {
    Wal::open(Arc::new(RealDisk), dir, config, |error| eprintln!("the log failed: {error}")).map(|(wal, _)| wal)
}

fn check(dir: &Path) -> Result<(), WalError> {
    let wal = open(dir, WalConfig::default())?;
    println!("{}: {} entries found", dir.display(), wal.span().next - wal.span().first);
    for appenders in [1, 8, 64] {
        Load::run(&wal, appenders, ROUND)?.print("");
    }
    purge_all(&wal)
}

fn compare(dir: &Path) -> Result<(), WalError> {
    let by_write = WalConfig { grow_bytes: 0, spare_segments_max: 0, ..WalConfig::default() };
    let in_steps = WalConfig { spare_segments_max: 0, ..WalConfig::default() };
    let forms = [("grows by each write", by_write), ("grows in steps", in_steps), ("recycled", WalConfig::default())];
    let logs = forms.map(|(name, config)| (name, open(&dir.join(name.replace(' ', "-")), config)));
    for (name, wal) in &logs {
        // Enough for all spares of the third form.
        let wal = wal.as_ref().map_err(Clone::clone)?;
        while *name == "recycled" && wal.metrics().snapshot().segments_created < 6 {
            Load::run(wal, 64, Duration::from_millis(300))?;
        }
        purge_all(wal)?;
    }
    for appenders in [1, 64] {
        for _ in 0..TURNS {
            for (name, wal) in &logs {
                let wal = wal.as_ref().map_err(Clone::clone)?;
                Load::run(wal, appenders, ROUND)?.print(name);
                purge_all(wal)?;
            }
        }
    }
    Ok(())
}
