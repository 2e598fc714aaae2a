//! Is this disk fit for a metadata member? Prints what the log does there: `cargo run --release -p siltstone-wal --example disk_check -- DIR`
//!
//! A health line to compare with: a sync's 99th percentile below 10 ms. With `--compare` the three forms of segment files run beside one another
//! instead: growing by each write, growing in steps, and recycled; in many short turns, as a shared disk's mood changes.

mod load;

use load::{Load, purge_all};
use siltstone_disk::RealDisk;
use siltstone_wal::{Wal, WalConfig, WalError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const ROUND: Duration = Duration::from_secs(3);
/// A turn of a comparison, and how many each form has.
const TURN: Duration = Duration::from_millis(100);
const TURNS: usize = 120;

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
        let mut load = Load::default();
        load.run(&wal, appenders, ROUND)?;
        load.print(&format!("{appenders} appenders"));
    }
    purge_all(&wal)
}

fn compare(dir: &Path) -> Result<(), WalError> {
    let by_write = WalConfig { grow_bytes: 0, spare_segments_max: 0, ..WalConfig::default() };
    let in_steps = WalConfig { spare_segments_max: 0, ..WalConfig::default() };
    let forms = [("grows by each write", by_write), ("grows in steps", in_steps), ("recycled", WalConfig::default())];
    let mut logs = Vec::new();
    for (name, config) in forms {
        let wal = open(&dir.join(name.replace(' ', "-")), config)?;
        // Enough files for all spares of the third form.
        while wal.metrics().snapshot().segments_created < 6 {
            Load::default().run(&wal, 64, TURN)?;
        }
        logs.push((name, wal));
    }
    for appenders in [1, 64] {
        let mut loads = [(); 3].map(|()| Load::default());
        for turn in 0..TURNS {
            for ((_, wal), load) in logs.iter().zip(&mut loads) {
                if turn % 20 == 0 {
                    purge_all(wal)?;
                }
                load.run(wal, appenders, TURN)?;
            }
        }
        for ((name, _), load) in logs.iter().zip(&mut loads) {
            load.print(&format!("{name}, {appenders} appenders"));
        }
    }
    logs.iter().try_for_each(|(_, wal)| purge_all(wal))
}
