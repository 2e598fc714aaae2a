//! AK-1, AK-2, CT-1, RA-1 of `siltstone dev` processes that are killed again and again. `SILTSTONE_KILL_LIVES` and `SILTSTONE_CRASH_SEED` make it
//! longer or another one; `cargo xtask soak kill` is the long one.

use siltstone_crash::kill::{KillConfig, run};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

#[test]
fn what_was_acknowledged_survives_every_kill_once_and_is_counted_right() {
    let config = KillConfig {
        binary: env!("CARGO_BIN_EXE_siltstone").into(),
        seed: number("SILTSTONE_CRASH_SEED").unwrap_or(1),
        lives: number("SILTSTONE_KILL_LIVES").unwrap_or(25),
        lives_per_campaign: 25,
        delay_ms_max: 800,
    };
    match run(&config) {
        Ok(summary) => {
            println!("{summary}");
            assert!(summary.seals > 0 && summary.totals.entries > 0, "{summary}");
        }
        Err(failure) => panic!("{failure}repeat it with SILTSTONE_CRASH_SEED={}", failure.seed),
    }
}
