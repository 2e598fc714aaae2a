//! What sharing syncs is worth: the same log with one sync for each append and with shared ones, in one run, on a disk whose syncs take an injected
//! time: `cargo run --release -p siltstone-wal --example shared_syncs -- DIR`

mod load;

use load::{Load, purge_all};
use siltstone_disk::{DelaySwitch, DelayedDisk, RealDisk, SyncDelay};
use siltstone_wal::{Wal, WalConfig, WalError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const APPENDERS: [usize; 3] = [1, 16, 64];
const DELAYS_MS: [u64; 2] = [2, 10];
const TURN: Duration = Duration::from_secs(2);
const TURNS: usize = 3;

fn main() -> Result<(), WalError> {
    let dir = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("siltstone-shared-syncs"), PathBuf::from);
    let switch = Arc::new(DelaySwitch::default());
    let disk = Arc::new(DelayedDisk::new(Arc::new(RealDisk), switch.clone()));
    let open = |name: &str, batch_operations_max| {
        let config = WalConfig { batch_operations_max, ..WalConfig::default() };
        Wal::open(disk.clone(), &dir.join(name), config, |error| eprintln!("the log failed: {error}")).map(|(wal, _)| wal)
    };
    let (single, shared) = (open("single", 1)?, open("shared", WalConfig::default().batch_operations_max)?);
    for delay_ms in DELAYS_MS {
        for appenders in APPENDERS {
            let (mut one, mut many) = (Load::default(), Load::default());
            switch.set(SyncDelay::For(Duration::from_millis(delay_ms)));
            for _ in 0..TURNS {
                one.run(&single, appenders, TURN)?;
                many.run(&shared, appenders, TURN)?;
            }
            let what = |mode| format!("{delay_ms} ms a sync, {appenders:>2} appenders, {mode}");
            one.print(&what("one each"));
            many.print(&what("shared"));
            let mut below =
                |of: fn(&mut Load) -> Duration| 100.0 * (1.0 - of(&mut many).as_secs_f64() / of(&mut one).as_secs_f64().max(f64::MIN_POSITIVE));
            let [mean, p50, p99] = [below(Load::mean), below(|load| load.percentile(50)), below(|load| load.percentile(99))];
            println!("  shared syncs are below by: mean {mean:.1} %, p50 {p50:.1} %, p99 {p99:.1} %");
            switch.set(SyncDelay::For(Duration::ZERO));
            purge_all(&single)?;
            purge_all(&shared)?;
        }
    }
    Ok(())
}
