//! AK-1, AK-2, CT-1, RA-1, MF-1, EP-1 of indexers whose metadata group and object store fail, answer late or not at all. `SILTSTONE_FAULTS_LIVES` and
//! `SILTSTONE_CRASH_SEED` make it longer or another one; `cargo xtask soak faults` is the long one.

use siltstone_crash::faults::{FaultsConfig, run};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

#[test]
fn what_was_acknowledged_survives_lost_and_late_calls_once_and_is_counted_right() {
    let mut config = FaultsConfig::default();
    config.lives = number("SILTSTONE_FAULTS_LIVES").unwrap_or(config.lives);
    config.seed = number("SILTSTONE_CRASH_SEED").unwrap_or(config.seed);
    match run(&config) {
        Ok(summary) => {
            println!("{summary}");
            assert!(summary.seals > 0 && summary.merges > 0 && summary.totals.entries > 0, "{summary}");
        }
        Err(failure) => panic!("{failure}repeat it with SILTSTONE_CRASH_SEED={}", failure.seed),
    }
}
