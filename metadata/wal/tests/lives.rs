//! Many lives of one log, each ended in its own way: by a loss of power, a kill, an error of the disk, or a close. Torn writes, cuts and recycled
//! files of many lives lie in the same files; what each life acknowledged is there in the next.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use parking_lot::Mutex;
use siltstone_disk::{Fault, FaultKind, LossyDisk};
use siltstone_wal::{Stepper, Wal};
use std::sync::Arc;
use support::{Contents, Step, rounds, script_from, submit, try_open_stepped};

/// SplitMix64, as in the simulated disk.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Submits a script in small batches, some of them while another is in flight. Gives how many steps were submitted.
fn live(wal: &Wal, stepper: &Stepper, steps: &[Step], acknowledged: &Arc<Mutex<usize>>, rng: &mut Rng) -> usize {
    let mut submitted = 0;
    for step in steps {
        let acknowledged = acknowledged.clone();
        let done = Box::new(move |outcome: Result<(), _>| *acknowledged.lock() += usize::from(outcome.is_ok()));
        if submit(wal, step, done).is_err() {
            break;
        }
        submitted += 1;
        match rng.below(4) {
            0 => stepper.begin(),
            1 => stepper.finish(),
            2 => stepper.step(),
            _ => false,
        };
    }
    submitted
}

/// Gives how many segments were recycled, and how many torn tails were cut.
fn lives(seed: u64) -> (u64, u64) {
    let mut rng = Rng(seed);
    let mut disk = LossyDisk::new();
    let mut legal = vec![Contents::default()];
    let (mut recycled, mut changed) = (0, 0);
    for life in 0..10 {
        let what = format!("seed {seed}, life {life}");
        let (wal, stepper) = try_open_stepped(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = Contents::of(&wal);
        assert!(legal.contains(&found), "{what}: found {found:?}");
        changed += u64::from(legal.last() != Some(&found));
        let steps = script_from(found.clone(), 30, rng.below(1 << 40));
        let end = rng.below(5);
        let at = 1 + rng.below(90);
        match end {
            0 | 1 => disk.arm_crash_after(at),
            2 => {
                let kind = if at.is_multiple_of(2) { FaultKind::Io } else { FaultKind::NoSpace };
                disk.fail_operation(at, Fault { kind, takes_effect: at.is_multiple_of(3) });
            }
            _ => {}
        }
        let acknowledged = Arc::new(Mutex::new(0));
        let submitted = live(&wal, &stepper, &steps, &acknowledged, &mut rng);
        if end == 4 {
            wal.close();
            assert_eq!(*acknowledged.lock(), submitted, "{what}: closing writes what waits");
        } else {
            stepper.kill();
        }
        recycled += wal.metrics().snapshot().segments_recycled;
        drop(wal);
        let mut model = found;
        let mut states = vec![model.clone()];
        for step in &steps[..submitted] {
            model.apply(step);
            states.push(model.clone());
        }
        legal = states.split_off(*acknowledged.lock());
        // A process that died leaves the system's memory; a loss of power does not. Either may follow the other.
        if end < 2 || rng.below(3) == 0 {
            disk = disk.crash(rng.below(1 << 40));
        }
        disk.fail_operation(u64::MAX, Fault { kind: FaultKind::Io, takes_effect: false });
    }
    (recycled, changed)
}

#[test]
fn what_one_life_acknowledged_is_there_in_the_next_however_each_ends() {
    let (mut recycled, mut changed) = (0, 0);
    for seed in 0..rounds(1) * 150 {
        let (more_recycled, more_changed) = lives(seed);
        recycled += more_recycled;
        changed += more_changed;
    }
    assert!(recycled > 300 && changed > 200, "{recycled} recycled, {changed} lives lost what was not acknowledged");
}
