//! AK-1, AK-2, CT-1, RA-1, MF-1 of a whole node whose disk fails again and again. `SILTSTONE_POWER_LIVES` and `SILTSTONE_CRASH_SEED` make it longer
//! or another one; `cargo xtask soak power` is the long one.

use siltstone_crash::power::{PowerConfig, run};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

#[test]
fn what_was_acknowledged_survives_every_loss_of_power_once_and_is_counted_right() {
    let mut config = PowerConfig::default();
    config.lives = number("SILTSTONE_POWER_LIVES").unwrap_or(config.lives);
    config.seed = number("SILTSTONE_CRASH_SEED").unwrap_or(config.seed);
    match run(&config) {
        Ok(summary) => {
            println!("{summary}");
            assert!(summary.seals > 0 && summary.merges > 0 && summary.totals.entries > 0, "{summary}");
        }
        Err(failure) => panic!("{failure}repeat it with SILTSTONE_CRASH_SEED={}", failure.seed),
    }
}

#[test]
fn a_disk_that_lies_about_syncs_is_found_out() {
    let failure = run(&PowerConfig { seed: 7, lives: 400, is_disk_lying: true, ..PowerConfig::default() }).unwrap_err();
    assert!(failure.violations.iter().any(|violation| violation.invariant == "AK-1"), "{failure}");
}
