//! WA-1 under loss of power at every single operation: what was acknowledged is there, and nothing is invented.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::LossyDisk;
use siltstone_wal::WalError;
use std::sync::mpsc;
use support::{Contents, Step, open, prefixes, rounds, run, run_stepped, script, script_from, submit, try_open, try_open_stepped};

/// Steps that are submitted together, so that writes carry several.
fn groups(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    let mut rest = steps;
    let mut size = 1;
    std::iter::from_fn(move || {
        size = size % 5 + 1;
        let (group, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        (!group.is_empty()).then_some(group)
    })
}

/// Runs a script until the power goes. Gives how many steps were acknowledged and how many submitted.
fn run_until_crash(disk: &LossyDisk, steps: &[Step]) -> (usize, usize) {
    let (mut acknowledged, mut submitted) = (0, 0);
    let Ok((wal, _)) = try_open(disk) else { return (0, 0) };
    let (sender, receiver) = mpsc::channel();
    for group in groups(steps) {
        let before = submitted;
        for step in group {
            let sender = sender.clone();
            match submit(&wal, step, Box::new(move |outcome| sender.send(outcome).unwrap())) {
                Ok(()) => submitted += 1,
                Err(WalError::Poisoned { .. }) => break,
                Err(error) => panic!("{step:?}: {error}"),
            }
        }
        let outcomes: Vec<_> = receiver.iter().take(submitted - before).collect();
        acknowledged += outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        if acknowledged < submitted || wal.failure().is_some() {
            break;
        }
    }
    wal.close();
    (acknowledged, submitted)
}

fn sweep(steps: &[Step], seeds: u64) -> usize {
    let prefixes = prefixes(steps);
    let mut crashes = 0;
    for point in 1.. {
        let disk = LossyDisk::new();
        disk.arm_crash_after(point);
        let (acknowledged, submitted) = run_until_crash(&disk, steps);
        let finished = !disk.is_powered_off();
        for seed in 0..seeds {
            let mut disk = disk.crash_image(seed * 1_000_003 + point);
            let what = format!("crash at operation {point}, seed {seed}: {acknowledged} acknowledged of {submitted} submitted");
            let read = Contents::read(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            let (wal, stepper) = try_open_stepped(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = Contents::of(&wal);
            assert_eq!(read, found, "{what}: what is read is what is opened");
            assert!(prefixes[acknowledged..=submitted].contains(&found), "{what}: found {found:?}");

            // Life goes on: more is written over whatever the crash left, power fails once more, and it is all there.
            let mut model = found;
            for step in script_from(model.clone(), 12 + 20 * (seed % 2), seed + point) {
                run_stepped(&wal, &stepper, &step);
                model.apply(&step);
            }
            drop(wal);
            disk = disk.crash(seed);
            let again = try_open_stepped(&disk).unwrap_or_else(|error| panic!("{what}, then again: {error}")).0;
            assert_eq!(Contents::of(&again), model, "{what}, then again");
            crashes += 1;
        }
        if finished {
            break;
        }
    }
    crashes
}

#[test]
fn the_sweeps_meet_recycled_files() {
    for seed in [11, 12] {
        let wal = open(&LossyDisk::new());
        for step in &script(70, seed) {
            run(&wal, step);
        }
        let metrics = wal.metrics().snapshot();
        assert!(metrics.segments_recycled > 1, "{metrics:?}");
    }
}

#[test]
fn everything_acknowledged_survives_a_crash_at_every_operation() {
    let crashes: usize = (0..rounds(3)).map(|round| sweep(&script(70, 11 + round), 6)).sum();
    assert!(crashes > 1_000, "{crashes} crashes");
}

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    let steps = script(40, 5);
    let prefixes = prefixes(&steps);
    let mut recovered = 0;
    for point in (1..80).step_by(3) {
        let disk = LossyDisk::new();
        disk.arm_crash_after(point);
        let (acknowledged, submitted) = run_until_crash(&disk, &steps);
        for seed in 0..5 {
            for during in 1..12 {
                let disk = disk.crash_image(seed);
                disk.arm_crash_after(during);
                let first = try_open_stepped(&disk).map(|(wal, _)| Contents::of(&wal));
                let again = Contents::of(&try_open_stepped(&disk.crash(seed + 100)).unwrap().0);
                assert!(prefixes[acknowledged..=submitted].contains(&again), "point {point}, seed {seed}, during {during}");
                if let Ok(first) = first {
                    assert_eq!(again, first, "what an opened log showed is durable: point {point}, seed {seed}, during {during}");
                    recovered += 1;
                }
            }
        }
    }
    assert!(recovered > 200, "{recovered}");
}

#[test]
fn a_killed_process_leaves_a_log_that_survives_a_later_loss_of_power() {
    for seed in 0..30 {
        let disk = LossyDisk::new();
        let wal = open(&disk);
        run(&wal, &Step::Append(vec![1; 40]));
        // Written but never synced: as the process dies here, the bytes are with the system only.
        disk.hold_syncs();
        submit(&wal, &Step::Append(vec![2; 400]), Box::new(|_| {})).unwrap();
        while disk.counts().syncs_waiting == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let killed = disk.crash_image(1);
        disk.release_syncs();
        drop(wal);
        let found = Contents::of(&open(&killed));
        assert_eq!(Contents::of(&open(&killed.crash(seed))), found, "seed {seed}");
        assert!(found.entries.starts_with(&[vec![1; 40]]));
    }
}
