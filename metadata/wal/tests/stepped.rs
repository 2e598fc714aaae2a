//! A log without a thread: nothing happens until it is stepped, and then what the thread would have done.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use parking_lot::Mutex;
use siltstone_core::ErrorKind;
use siltstone_disk::{Disk, LossyDisk};
use siltstone_wal::{Slot, Stepper, Wal, WalError, WalParts};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use support::{Contents, Step, dir, open, script, submit};

/// A stepped log and all that its owner hears.
struct Stepped {
    disk: LossyDisk,
    wal: Arc<Wal>,
    stepper: Stepper,
    work: Arc<AtomicUsize>,
    now_ms: Arc<AtomicU64>,
    fatal: Arc<AtomicUsize>,
    /// Outcomes in the order of their callbacks, each with its operation's number.
    told: Arc<Mutex<Vec<(usize, bool)>>>,
    submitted: usize,
}

impl Stepped {
    fn open(disk: &LossyDisk) -> Self {
        let (work, now_ms, fatal) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(5_000)), Arc::new(AtomicUsize::new(0)));
        let (clock, counter, failures) = (now_ms.clone(), work.clone(), fatal.clone());
        let on_fatal = move |_: &WalError| {
            failures.fetch_add(1, Ordering::SeqCst);
        };
        let on_work = move || {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        let mut parts = WalParts::new(Arc::new(disk.clone()), dir(), support::config(), on_fatal);
        parts.clock = Arc::new(move || Duration::from_millis(clock.load(Ordering::SeqCst)));
        let (wal, stepper, _) = Wal::open_stepped(parts, on_work).unwrap();
        Self { disk: disk.clone(), wal: Arc::new(wal), stepper, work, now_ms, fatal, told: Arc::default(), submitted: 0 }
    }

    fn submit(&mut self, step: &Step) -> Result<(), WalError> {
        let (told, number) = (self.told.clone(), self.submitted);
        self.submitted += 1;
        submit(&self.wal, step, Box::new(move |outcome| told.lock().push((number, outcome.is_ok()))))
    }

    fn told(&self) -> Vec<(usize, bool)> {
        self.told.lock().clone()
    }
}

#[test]
fn nothing_is_written_until_the_log_is_stepped() {
    let mut log = Stepped::open(&LossyDisk::new());
    let before = log.disk.counts();
    assert!(!log.stepper.has_work());
    assert!(!log.stepper.step(), "there is nothing to do");
    for step in [Step::Append(vec![1; 9]), Step::Vote(3), Step::Append(vec![2; 9])] {
        log.submit(&step).unwrap();
    }
    assert_eq!(log.disk.counts(), before);
    assert_eq!(log.work.load(Ordering::SeqCst), 3, "the owner heard that there is work");
    assert_eq!(log.wal.span().next, 2, "entries are readable at once");
    assert!(log.stepper.has_work() && log.told().is_empty());
    assert!(log.stepper.step());
    assert_eq!(log.told(), [(0, true), (1, true), (2, true)]);
    let after = log.disk.counts();
    assert_eq!((after.writes - before.writes, after.syncs - before.syncs), (1, 1), "all that was queued is one batch");
    assert!(!log.stepper.has_work());
}

#[test]
fn a_step_has_two_halves_and_what_comes_between_them_goes_with_the_next() {
    let mut log = Stepped::open(&LossyDisk::new());
    log.submit(&Step::Vote(1)).unwrap();
    assert!(log.stepper.begin());
    assert!(!log.stepper.begin(), "one batch at a time");
    log.submit(&Step::Vote(2)).unwrap();
    assert!(log.told().is_empty(), "WA-1: written is not durable");
    assert!(log.stepper.finish());
    assert_eq!(log.told(), [(0, true)]);
    assert!(log.stepper.has_work());
    assert!(log.stepper.step());
    assert_eq!(log.told(), [(0, true), (1, true)]);
}

#[test]
fn a_stall_is_measured_on_the_clock_that_was_given() {
    let mut log = Stepped::open(&LossyDisk::new());
    log.submit(&Step::Vote(1)).unwrap();
    assert_eq!(log.wal.metrics().stall(), None);
    log.stepper.begin();
    log.now_ms.fetch_add(450, Ordering::SeqCst);
    assert_eq!(log.wal.metrics().stall(), Some(Duration::from_millis(450)));
    log.stepper.finish();
    assert_eq!(log.wal.metrics().stall(), None);
    let metrics = log.wal.metrics().snapshot();
    assert_eq!((metrics.sync_micros, metrics.syncs_longer_than_ms(400)), (450_000, 1));
}

#[test]
fn the_same_steps_leave_the_same_bytes_as_the_thread_does() {
    let steps = script(120, 8);
    let mut log = Stepped::open(&LossyDisk::new());
    let threaded = LossyDisk::new();
    let wal = open(&threaded);
    for step in &steps {
        log.submit(step).unwrap();
        assert!(log.stepper.step());
        support::run(&wal, step);
    }
    drop(wal);
    log.wal.close();
    assert_eq!(support::files(&log.disk), support::files(&threaded));
}

#[test]
fn closing_writes_what_waits() {
    let disk = LossyDisk::new();
    let mut log = Stepped::open(&disk);
    log.submit(&Step::Append(vec![1])).unwrap();
    log.stepper.begin();
    log.submit(&Step::Append(vec![2])).unwrap();
    log.wal.set(Slot::Committed, vec![9; 2].into(), None).unwrap();
    log.wal.close();
    assert_eq!(log.told(), [(0, true), (1, true)]);
    assert!(!log.stepper.has_work() && !log.stepper.step());
    assert!(matches!(log.submit(&Step::Vote(1)), Err(WalError::Closed)));
    let found = Contents::of(&open(&disk.crash(1)));
    assert_eq!((found.entries.len(), &found.slots[1]), (2, &Some(vec![9; 2])));
}

#[test]
fn a_callback_may_close_the_log() {
    let disk = LossyDisk::new();
    let mut log = Stepped::open(&disk);
    let wal = log.wal.clone();
    log.wal.set(Slot::Vote, "a".into(), Some(Box::new(move |_| wal.close()))).unwrap();
    assert!(log.stepper.begin());
    log.submit(&Step::Append(vec![2])).unwrap();
    assert!(log.stepper.finish());
    assert_eq!(log.told(), [(0, true)], "closing writes what waits, here after the callback");
    assert_eq!(open(&disk.crash(1)).span().next, 1);
}

#[test]
fn a_killed_log_writes_nothing_more_and_tells_nobody() {
    let disk = LossyDisk::new();
    let mut log = Stepped::open(&disk);
    log.submit(&Step::Append(vec![1])).unwrap();
    log.stepper.begin();
    log.submit(&Step::Append(vec![2])).unwrap();
    log.now_ms.fetch_add(10, Ordering::SeqCst);
    let before = disk.counts();
    log.stepper.kill();
    log.wal.close();
    assert!(!log.stepper.step());
    assert_eq!((disk.counts(), log.wal.metrics().stall()), (before, None));
    assert!(log.told().is_empty());
    assert_eq!(log.fatal.load(Ordering::SeqCst), 0);
    assert_eq!(open(&disk).span().next, 1, "the system has what was written, though it was not synced");
}

#[test]
fn a_crash_between_the_halves_keeps_lost_and_torn_batches_apart_from_acknowledged_ones() {
    let mut left = [0; 3];
    for seed in 0..60 {
        let disk = LossyDisk::new();
        let mut log = Stepped::open(&disk);
        log.submit(&Step::Append(vec![1; 40])).unwrap();
        log.stepper.step();
        log.submit(&Step::Append(vec![2; 400])).unwrap();
        log.stepper.begin();
        let after = disk.crash(seed);
        log.stepper.kill();
        let found = Contents::of(&open(&after));
        assert!(found.entries.starts_with(&[vec![1; 40]]), "WA-1");
        left[found.entries.len()] += 1;
    }
    assert!(left[0] == 0 && left[1] > 10 && left[2] > 5, "{left:?}");
}

#[test]
fn a_failed_sync_poisons_a_stepped_log() {
    let mut log = Stepped::open(&LossyDisk::new());
    log.submit(&Step::Vote(1)).unwrap();
    log.disk.fail_sync(1);
    assert!(log.stepper.begin());
    log.submit(&Step::Vote(2)).unwrap();
    assert!(!log.stepper.finish());
    assert_eq!(log.told(), [(0, false), (1, false)]);
    assert_eq!(log.fatal.load(Ordering::SeqCst), 1);
    assert_eq!(log.submit(&Step::Vote(3)).unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(!log.stepper.step());
}

#[test]
fn a_purge_that_nobody_waits_for_goes_with_the_next_operation_and_removes_files_only_then() {
    let disk = LossyDisk::new();
    let mut log = Stepped::open(&disk);
    for value in 0..30 {
        log.submit(&Step::Append(vec![value; 100])).unwrap();
        log.stepper.step();
    }
    let files = || disk.list_dir(dir()).unwrap().len();
    let before = files();
    log.wal.purge_to(25, "purged 25".into(), None).unwrap();
    assert!(!log.stepper.has_work());
    assert_eq!(log.wal.purged(), Some((25, "purged 25".into())));
    for seed in 0..10 {
        assert_eq!(Contents::of(&open(&disk.crash_image(seed))).entries.len(), 30, "seed {seed}: nothing is purged yet");
    }
    log.submit(&Step::Vote(1)).unwrap();
    assert!(log.stepper.begin());
    assert_eq!(files(), before, "the purge is not durable yet");
    for seed in 0..20 {
        let found = Contents::of(&open(&disk.crash_image(seed)));
        assert!(matches!(found.entries.len(), 30 | 4), "seed {seed}");
    }
    assert!(log.stepper.finish());
    assert!(files() < before, "now they go");
}

#[test]
fn values_that_nobody_waits_for_do_not_fill_the_queue_for_ever() {
    let mut log = Stepped::open(&LossyDisk::new());
    for value in 0..300_u16 {
        log.wal.set(Slot::Committed, value.to_le_bytes().to_vec().into(), None).unwrap();
    }
    assert!(log.stepper.has_work(), "so many are written without anybody waiting");
    assert!(log.work.load(Ordering::SeqCst) > 0);
    assert!(log.stepper.step());
    assert!(!log.stepper.has_work());
    log.submit(&Step::Vote(1)).unwrap();
}
