//! Every single file operation fails once, in opening, writing, rotating, purging, recycling and closing: the log refuses cleanly, and the next
//! start finds all that was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::ErrorKind;
use siltstone_disk::{Fault, FaultKind, LossyDisk};
use siltstone_wal::{Stepper, Wal, WalError, WalParts};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Contents, Step, config, dir, prefixes, rounds, run_stepped, script, script_from, submit, try_open_stepped};

const FAULTS: [Fault; 4] = [
    Fault { kind: FaultKind::Io, takes_effect: false },
    Fault { kind: FaultKind::Io, takes_effect: true },
    Fault { kind: FaultKind::NoSpace, takes_effect: false },
    Fault { kind: FaultKind::NoSpace, takes_effect: true },
];

/// What a run of a script came to.
struct Run {
    acknowledged: usize,
    submitted: usize,
    /// The error of opening, if that failed.
    refused: Option<WalError>,
    fatal: usize,
}

/// Runs a script, stepped, a few steps to a batch; closes; and opens and closes once more.
fn run_script(disk: &LossyDisk, steps: &[Step]) -> Run {
    let (fatal, acknowledged) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let open = || {
        let fatal = fatal.clone();
        let on_fatal = move |_: &WalError| {
            fatal.fetch_add(1, Ordering::SeqCst);
        };
        Wal::open_stepped(WalParts::new(Arc::new(disk.clone()), dir(), config(), on_fatal), || {})
    };
    let mut submitted = 0;
    let refused = open().and_then(|(wal, stepper, _)| {
        submitted = submit_all(&wal, &stepper, steps, &acknowledged);
        wal.close();
        if wal.failure().is_some() { Ok(()) } else { open().map(drop) }
    });
    let load = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    Run { acknowledged: load(&acknowledged), submitted, refused: refused.err(), fatal: load(&fatal) }
}

fn submit_all(wal: &Wal, stepper: &Stepper, steps: &[Step], acknowledged: &Arc<AtomicUsize>) -> usize {
    for (number, step) in steps.iter().enumerate() {
        let acknowledged = acknowledged.clone();
        let done = Box::new(move |outcome: Result<(), WalError>| {
            acknowledged.fetch_add(usize::from(outcome.is_ok()), Ordering::SeqCst);
        });
        if submit(wal, step, done).is_err() {
            return number;
        }
        // The last ones are left to the closing.
        if number % 3 != 1 && number + 2 < steps.len() {
            stepper.step();
        }
    }
    steps.len()
}

fn check_restart(disk: &LossyDisk, legal: &[Contents], what: &str) -> Contents {
    let (wal, stepper) = try_open_stepped(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut found = Contents::of(&wal);
    assert!(legal.contains(&found), "{what}: found {found:?}");
    // Long enough to rotate, purge and recycle.
    for step in script_from(found.clone(), 25, 77) {
        run_stepped(&wal, &stepper, &step);
        found.apply(&step);
    }
    found
}

/// Gives how many faults met the run, how many the opening, and how many nobody.
fn sweep(steps: &[Step], fault: Fault) -> [usize; 3] {
    let prefixes = prefixes(steps);
    let mut counts = [0; 3];
    for nth in 1.. {
        let disk = LossyDisk::new();
        disk.fail_operation(nth, fault);
        let outcome = run_script(&disk, steps);
        let what = format!("{fault:?} at operation {nth}: {} acknowledged of {} submitted", outcome.acknowledged, outcome.submitted);
        if disk.counts().faults == 0 {
            assert_eq!((outcome.acknowledged, outcome.fatal), (steps.len(), 0));
            return counts;
        }
        if let Some(error) = &outcome.refused {
            let expected = if fault.kind == FaultKind::Io { ErrorKind::Unavailable } else { ErrorKind::Exhausted };
            assert_eq!(error.kind(), expected, "{what}: {error}");
            assert_eq!(outcome.fatal, 0, "{what}: nothing was open yet");
            counts[1] += 1;
        } else if outcome.fatal == 0 {
            // Whether a directory stood before is asked only to spare a sync.
            assert_eq!(outcome.acknowledged, steps.len(), "{what}: an error that does not count");
            counts[2] += 1;
        } else {
            assert_eq!(outcome.fatal, 1, "{what}: the process hears of it once");
            counts[0] += 1;
        }
        // The process starts again on the same system; or the machine does, and the process after it.
        let legal = &prefixes[outcome.acknowledged..=outcome.submitted];
        for seed in 0..2 {
            check_restart(&disk.crash_image(seed * 7_919 + nth), legal, &format!("{what}, power loss {seed}"));
        }
        let shown = check_restart(&disk, legal, &what);
        assert_eq!(Contents::of(&try_open_stepped(&disk.crash(nth)).unwrap().0), shown, "{what}: what an opened log showed is durable");
    }
    unreachable!("the sweep ends when no operation is left")
}

#[test]
fn an_error_at_any_operation_ends_in_a_refusal_or_a_correct_restart() {
    for round in 0..rounds(1) {
        let steps = script(60, 11 + round);
        for fault in FAULTS {
            let [running, opening, ignored] = sweep(&steps, fault);
            assert!(running > 60 && opening > 10 && ignored < 9, "{running} while running, {opening} while opening, {ignored} ignored");
        }
    }
}

#[test]
fn an_error_while_a_torn_log_is_opened_changes_nothing_that_counts() {
    let steps = script(60, 12);
    let prefixes = prefixes(&steps);
    let mut met = 0;
    for point in (5..200).step_by(9) {
        let torn = LossyDisk::new();
        torn.arm_crash_after(point);
        let outcome = run_script(&torn, &steps);
        for seed in 0..3 {
            for fault in FAULTS {
                for nth in 1.. {
                    let disk = torn.crash_image(seed);
                    disk.fail_operation(nth, fault);
                    let first = try_open_stepped(&disk).map(|(wal, _)| Contents::of(&wal));
                    if disk.counts().faults == 0 {
                        break;
                    }
                    assert!(!matches!(first, Err(WalError::Corrupt { .. })), "an error of the disk is no damage");
                    let what = format!("torn at {point}, seed {seed}, {fault:?} at operation {nth}");
                    check_restart(&disk, &prefixes[outcome.acknowledged..=outcome.submitted], &what);
                    met += 1;
                }
            }
        }
    }
    assert!(met > 500, "{met}");
}

#[test]
fn a_disk_that_is_full_from_some_byte_on_ends_the_log_and_it_starts_again_with_room() {
    let steps = script(60, 13);
    let prefixes = prefixes(&steps);
    for space in (0..6_000).step_by(67) {
        let disk = LossyDisk::new();
        disk.set_space_left(Some(space));
        let outcome = run_script(&disk, &steps);
        let legal = &prefixes[outcome.acknowledged..=outcome.submitted];
        disk.set_space_left(None);
        check_restart(&disk.crash_image(space), legal, &format!("{space} bytes, then a loss of power"));
        check_restart(&disk, legal, &format!("{space} bytes"));
    }
}
