//! A few hundred seeds, and each named case under some. `SILTSTONE_SIM_SEEDS` sets how many, `SILTSTONE_SIM_FIRST` where they begin.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use siltstone_sim::sweep::sweep;
use siltstone_sim::{Case, Options, Outcome, Sabotage, run};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn first() -> u64 {
    setting("SILTSTONE_SIM_FIRST", 0)
}

fn told(outcome: &Outcome, options: Options) -> String {
    let failure = outcome.failure.as_ref().map(ToString::to_string).unwrap_or_default();
    let recent = &outcome.recent[outcome.recent.len().saturating_sub(40)..];
    format!("{}\nseed {} of case {} broke {failure}", recent.join("\n"), outcome.seed, options.case)
}

fn all_are_sound(seeds: u64, options: Options) {
    let first = first();
    let sum = sweep(first..first + seeds, options, 1, |_, _| {});
    if let Some(outcome) = sum.failed.first() {
        panic!("{}", told(outcome, options));
    }
    assert_eq!(sum.runs, seeds);
    assert!(sum.acknowledged > 10 * seeds, "{} commands in {seeds} runs: nothing went on", sum.acknowledged);
}

#[test]
fn whatever_breaks_no_invariant_does() {
    all_are_sound(setting("SILTSTONE_SIM_SEEDS", 300), Options::default());
}

#[test]
fn each_named_case_ends_well() {
    let seeds = setting("SILTSTONE_SIM_SEEDS", 300).div_ceil(20);
    for case in Case::ALL.into_iter().filter(|case| *case != Case::Random) {
        all_are_sound(seeds, Options { case, ..Options::default() });
    }
}

#[test]
fn a_seed_repeats_byte_for_byte() {
    let first = first();
    for seed in first..first + setting("SILTSTONE_SIM_SEEDS", 300).div_ceil(50) {
        let once = run(seed, Options::default());
        // Once more at the same time as another, on threads of their own: neither may notice.
        let other = std::thread::spawn(move || run(seed + 1, Options::default()));
        let again = std::thread::spawn(move || run(seed, Options::default())).join().unwrap();
        other.join().unwrap();
        assert!(once.events > 100, "{} events", once.events);
        assert_eq!(once, again, "seed {seed}");
    }
}

#[test]
fn different_seeds_differ() {
    let (one, other) = (run(1, Options::default()), run(2, Options::default()));
    assert_ne!(one.hash, other.hash);
}

/// A simulator that finds nothing is no use: each fault that is put in must be found.
#[test]
fn each_sabotage_is_found() {
    for sabotage in Sabotage::ALL {
        let (seeds, case) = sabotage.found_by();
        let options = Options { sabotage, case, ..Options::default() };
        let sum = sweep(0..seeds, options, 1, |_, _| {});
        let found = sum.failed.first().and_then(|outcome| outcome.failure.as_ref());
        let Some(failure) = found else { panic!("{sabotage} was not found in {seeds} seeds of case {case}") };
        println!("{sabotage} was found after {} seeds: {failure}", sum.runs);
        assert!(sabotage.breaks().contains(&failure.invariant), "{sabotage} was found as {failure}");
    }
}
