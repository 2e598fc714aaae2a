//! Many seeds on all cores. Each run has its thread to itself, so they do not disturb each other.

use crate::run::{Options, Outcome, run};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

/// What many runs came to.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// Runs.
    pub runs: u64,
    /// Events in all.
    pub events: u64,
    /// Virtual milliseconds in all.
    pub virtual_ms: u64,
    /// Acknowledged commands in all.
    pub acknowledged: u64,
    /// Leaders in all.
    pub leaders: u64,
    /// Runs that failed, by their seed.
    pub failed: Vec<Outcome>,
}

/// Runs seeds until all are done, or until `failures_max` failed. `each` is told of every run as it ends.
pub fn sweep(seeds: Range<u64>, options: Options, failures_max: usize, mut each: impl FnMut(&Outcome, &Sum)) -> Sum {
    let (next, is_enough) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (sender, receiver) = mpsc::channel();
    let mut sum = Sum::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, is_enough, end) = (sender.clone(), &next, &is_enough, seeds.end);
            scope.spawn(move || {
                while !is_enough.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody listens when the caller panicked.
                    if seed >= end || sender.send(run(seed, options)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for outcome in receiver {
            sum.runs += 1;
            sum.events += outcome.events;
            sum.virtual_ms += outcome.virtual_ms;
            sum.acknowledged += outcome.acknowledged as u64;
            sum.leaders += outcome.leaders as u64;
            if outcome.failure.is_some() {
                sum.failed.push(outcome.clone());
                is_enough.fetch_or(sum.failed.len() >= failures_max, Ordering::Relaxed);
            }
            each(&outcome, &sum);
        }
    });
    sum.failed.sort_by_key(|outcome| outcome.seed);
    sum
}
