//! What an open log does: order, reading, sharing syncs, bounds, failing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use bytes::Bytes;
use siltstone_core::ErrorKind;
use siltstone_disk::{Disk, LossyDisk, RealDisk};
use siltstone_wal::{LogSpan, Slot, Wal, WalConfig, WalError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::{Contents, Step, dir, ends, open, run, script, submit, try_open};

#[test]
fn a_log_is_as_it_was_after_a_restart() {
    let temporary = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut model = Contents::default();
    for (round, steps) in script(300, 1).chunks(50).enumerate() {
        let (wal, recovery) = Wal::open(disk.clone(), &temporary.path().join("a/b"), support::config(), |_| {}).unwrap();
        assert_eq!(recovery.is_new, round == 0);
        assert_eq!(recovery.cut, None);
        assert_eq!(Contents::of(&wal), model, "round {round}");
        for step in steps {
            run(&wal, step);
            model.apply(step);
        }
        assert_eq!(Contents::of(&wal), model, "round {round}");
    }
}

#[test]
fn entries_are_readable_before_they_are_durable() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    disk.hold_syncs();
    let (sender, receiver) = mpsc::channel();
    wal.append(0, vec!["a".into(), "b".into()], Box::new(move |outcome| sender.send(outcome).unwrap())).unwrap();
    assert_eq!(wal.read(0, 9, usize::MAX).unwrap(), [(0, Bytes::from("a")), (1, Bytes::from("b"))]);
    assert!(receiver.try_recv().is_err(), "WA-1: not reported before it is durable");
    disk.release_syncs();
    receiver.recv().unwrap().unwrap();
    assert_eq!(wal.read(1, 2, usize::MAX).unwrap(), [(1, Bytes::from("b"))]);
    assert_eq!(wal.read(0, 2, 1).unwrap().len(), 1);
    assert_eq!(wal.read(0, 2, 0).unwrap().len(), 1, "at least one");
    assert!(wal.read(2, 9, usize::MAX).unwrap().is_empty());
}

#[test]
fn appenders_share_the_sync_that_follows_the_one_in_flight() {
    let disk = LossyDisk::new();
    let wal = Wal::open(Arc::new(disk.clone()), dir(), WalConfig::default(), |_| {}).unwrap().0;
    let before = disk.counts().syncs;
    disk.hold_syncs();
    let (sender, receiver) = mpsc::channel();
    let append = |number: usize| {
        let sender = sender.clone();
        let done = Box::new(move |outcome: Result<(), WalError>| sender.send((number, outcome.is_ok())).unwrap());
        wal.append(number as u64, vec![Bytes::from(vec![7; 3])], done).unwrap();
    };
    append(0);
    while disk.counts().syncs_waiting == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    (1..=100).for_each(append);
    disk.release_syncs();
    let done: Vec<_> = receiver.iter().take(101).collect();
    assert!(done.iter().enumerate().all(|(place, outcome)| *outcome == (place, true)), "reported in their order");
    assert_eq!(disk.counts().syncs - before, 2, "one for the first, one for the hundred that came meanwhile");
    let metrics = wal.metrics().snapshot();
    assert_eq!((metrics.batches, metrics.operations, metrics.batch_operations_max), (2, 101, 100));
}

#[test]
fn many_threads_share_syncs_on_a_slow_disk() {
    let disk = LossyDisk::new();
    let wal = Arc::new(Wal::open(Arc::new(disk.clone()), dir(), WalConfig::default(), |_| {}).unwrap().0);
    disk.set_sync_stall(Duration::from_millis(5));
    let before = disk.counts().syncs;
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for value in 0..10 {
                    run(&wal, &Step::Vote(value));
                }
            });
        }
    });
    let syncs = disk.counts().syncs - before;
    assert!(syncs < 80, "160 operations of 16 threads took {syncs} syncs");
    assert!(wal.metrics().snapshot().sync_micros >= 5_000 * syncs);
}

#[test]
fn holes_and_double_entries_are_refused() {
    let wal = open(&LossyDisk::new());
    let append = |index| Wal::blocking(|done| wal.append(index, vec![Bytes::new()], done));
    append(0).unwrap();
    assert!(matches!(append(2), Err(WalError::OutOfOrder { index: 2, next: 1 })));
    assert!(matches!(append(0), Err(WalError::OutOfOrder { index: 0, next: 1 })));
    assert!(matches!(Wal::blocking(|done| wal.truncate_from(2, done)), Err(WalError::OutOfSpan { .. })));
    run(&wal, &Step::Purge(0));
    assert!(matches!(Wal::blocking(|done| wal.truncate_from(0, done)), Err(WalError::OutOfSpan { .. })));
    append(1).unwrap();
    assert_eq!(wal.span().next, 2);
}

#[test]
fn an_empty_log_begins_with_any_index() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    for index in 7..10 {
        Wal::blocking(|done| wal.append(index, vec![Bytes::from(vec![1; 400])], done)).unwrap();
    }
    drop(wal);
    let wal = open(&disk);
    assert_eq!(wal.span(), LogSpan { first: 7, next: 10 });
    assert!(matches!(Wal::blocking(|done| wal.append(7, vec![Bytes::new()], done)), Err(WalError::OutOfOrder { .. })));
}

#[test]
fn a_full_queue_refuses_until_the_disk_has_caught_up() {
    let disk = LossyDisk::new();
    let config = WalConfig { queue_bytes_max: 100, payload_bytes_max: 200, ..WalConfig::default() };
    let wal = Wal::open(Arc::new(disk.clone()), dir(), config, |_| {}).unwrap().0;
    disk.hold_syncs();
    let (sender, receiver) = mpsc::channel();
    let append = |index, len| {
        let sender = sender.clone();
        wal.append(index, vec![Bytes::from(vec![0; len])], Box::new(move |outcome| sender.send(outcome.is_ok()).unwrap()))
    };
    assert_eq!(append(0, 201).unwrap_err().kind(), ErrorKind::InvalidInput);
    append(0, 150).expect("an empty queue takes one of any size");
    assert_eq!(append(1, 1).unwrap_err().kind(), ErrorKind::Throttled);
    assert_eq!(wal.span().next, 1, "what was refused is not there");
    disk.release_syncs();
    assert!(receiver.recv().unwrap());
    append(1, 1).unwrap();
    assert!(receiver.recv().unwrap());
}

#[test]
fn a_failed_sync_poisons_the_log_and_is_told_once() {
    let disk = LossyDisk::new();
    let told = Arc::new(AtomicUsize::new(0));
    let counter = told.clone();
    let on_fatal = move |error: &WalError| {
        assert!(matches!(error, WalError::Io { verb: "sync log file", .. }), "{error}");
        counter.fetch_add(1, Ordering::SeqCst);
    };
    let wal = Wal::open(Arc::new(disk.clone()), dir(), support::config(), on_fatal).unwrap().0;
    run(&wal, &Step::Append(vec![1]));
    disk.fail_sync(1);
    let step = Step::Append(vec![2]);
    assert!(matches!(Wal::blocking(|done| submit(&wal, &step, done)), Err(WalError::Poisoned { .. })));
    assert_eq!(told.load(Ordering::SeqCst), 1);
    for step in [Step::Append(vec![3]), Step::Vote(1), Step::Truncate(0), Step::Purge(0)] {
        assert!(matches!(Wal::blocking(|done| submit(&wal, &step, done)), Err(WalError::Poisoned { .. })), "{step:?}");
    }
    assert!(wal.read(0, 1, 1).is_err());
    assert!(wal.failure().is_some());
    drop(wal);
    assert_eq!(told.load(Ordering::SeqCst), 1);
}

#[test]
fn a_full_disk_is_exhaustion_and_ends_the_log() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    run(&wal, &Step::Append(vec![1; 10]));
    disk.set_space_left(Some(200));
    let step = Step::Append(vec![2; 400]);
    assert_eq!(Wal::blocking(|done| submit(&wal, &step, done)).unwrap_err().kind(), ErrorKind::Exhausted);
    drop(wal);
    disk.set_space_left(None);
    let (wal, recovery) = try_open(&disk).unwrap();
    let held = 256 - 64 - 48;
    assert_eq!(recovery.cut.map(|(_, bytes)| bytes), Some(held + 200), "the part that fitted is a torn tail");
    assert_eq!(Contents::of(&wal).entries, [vec![1; 10]]);
}

#[test]
fn what_is_read_after_a_failed_sync_and_a_restart_survives_the_next_crash() {
    for seed in 0..40 {
        let disk = LossyDisk::new();
        let wal = open(&disk);
        run(&wal, &Step::Append(vec![1; 300]));
        disk.fail_sync(1);
        assert!(Wal::blocking(|done| submit(&wal, &Step::Append(vec![2; 200]), done)).is_err());
        drop(wal);
        let found = Contents::of(&open(&disk));
        assert_eq!(found.entries.len(), 2, "the system still shows the bytes whose sync failed");
        assert_eq!(Contents::of(&open(&disk.crash(seed))), found, "seed {seed}");
    }
}

#[test]
fn a_value_that_nobody_waits_for_goes_with_the_next_operation() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    let before = disk.counts().syncs;
    wal.set(Slot::Committed, "5".into(), None).unwrap();
    run(&wal, &Step::Vote(1));
    assert_eq!(disk.counts().syncs - before, 1);
    wal.set(Slot::Committed, "6".into(), None).unwrap();
    assert_eq!(wal.get(Slot::Committed), Some("6".into()));
    wal.close();
    assert_eq!(disk.counts().syncs - before, 2, "closing writes what waits");
    assert_eq!(open(&disk).get(Slot::Committed), Some("6".into()));
}

#[test]
fn a_closed_log_refuses() {
    let wal = open(&LossyDisk::new());
    wal.close();
    assert!(matches!(Wal::blocking(|done| submit(&wal, &Step::Vote(1), done)), Err(WalError::Closed)));
}

#[test]
fn purged_segments_go_and_the_newest_values_stay() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    run(&wal, &Step::Vote(3));
    run(&wal, &Step::Snapshot(4));
    for value in 0..50 {
        run(&wal, &Step::Append(vec![value; 100]));
    }
    let before = ends(&disk).len();
    assert!(before > 5, "{before} segments");
    run(&wal, &Step::Purge(45));
    // Files go after the purge was reported; closing waits for that.
    wal.close();
    let after = ends(&disk).len();
    assert!(after <= 2, "{after} segments are left");
    let spares = disk.list_dir(dir()).unwrap().iter().filter(|entry| entry.name.ends_with(".wal.free")).count();
    assert_eq!(spares, support::config().spare_segments_max, "so many files wait for their next life");
    let contents = Contents::of(&open(&disk));
    assert_eq!((contents.first, contents.entries.len(), contents.purged), (46, 4, Some(45)));
    assert_eq!(contents.slots, [Some(vec![3; 9]), None, Some(vec![4; 30]), None]);
}

#[test]
fn a_log_whose_files_are_recycled_does_not_grow() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    let mut model = Contents::default();
    let mut step = |step: Step| {
        run(&wal, &step);
        model.apply(&step);
        model.next()
    };
    for value in 0..200 {
        let next = step(Step::Append(vec![value; 100]));
        if next > 12 && value % 4 == 0 {
            step(Step::Purge(next - 8));
        }
    }
    wal.close();
    let metrics = wal.metrics().snapshot();
    assert!(metrics.segments_recycled > 30 && metrics.segments_created - metrics.segments_recycled < 8, "{metrics:?}");
    assert!(disk.list_dir(dir()).unwrap().len() < 8);
    for seed in 0..10 {
        let after = open(&disk.crash_image(seed));
        assert_eq!(Contents::of(&after), model);
        let names: Vec<_> = disk.crash_image(seed).list_dir(dir()).unwrap().into_iter().map(|entry| entry.name).collect();
        assert!(names.iter().any(|name| name.ends_with(".wal")), "{names:?}");
    }
}

#[test]
fn spare_and_unfinished_files_are_removed_at_start() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    run(&wal, &Step::Vote(1));
    drop(wal);
    for name in ["0000000000000007.wal.free", "0000000000000002.wal.tmp"] {
        disk.create_new(&dir().join(name)).unwrap().write_all_at(b"anything", 0).unwrap();
    }
    let wal = open(&disk);
    assert_eq!(wal.get(Slot::Vote), Some(vec![1; 9].into()));
    assert_eq!(disk.list_dir(dir()).unwrap().len(), 1);
}

#[test]
fn a_file_longer_than_a_segment_should_be_is_not_kept() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    for value in 0..4 {
        run(&wal, &Step::Append(vec![value; 2_000]));
    }
    run(&wal, &Step::Purge(3));
    wal.close();
    assert!(disk.list_dir(dir()).unwrap().iter().all(|entry| entry.name.ends_with(".wal")));
}

#[test]
fn a_stall_is_seen_while_it_lasts() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    assert_eq!(wal.metrics().stall(), None);
    disk.hold_syncs();
    let (sender, receiver) = mpsc::channel();
    submit(&wal, &Step::Vote(1), Box::new(move |_| sender.send(()).unwrap())).unwrap();
    while wal.metrics().stall().is_none_or(|stall| stall < Duration::from_millis(3)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    disk.release_syncs();
    receiver.recv().unwrap();
    assert_eq!(wal.metrics().stall(), None);
}
