//! The simulator itself: it keeps what was synced, forgets the rest by its seed alone, and fails as told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use siltstone_disk::{Disk, DiskFile, Fault, FaultKind, LossyDisk, create_dir_durable};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Op {
    Create(u8),
    Write { file: u8, offset: u16, len: u16, fill: u8 },
    SetLen { file: u8, len: u16 },
    Sync(u8),
    Rename(u8, u8),
    Remove(u8),
    SyncDir,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let file = 0..4_u8;
    let op = prop_oneof![
        2 => file.clone().prop_map(Op::Create),
        6 => (file.clone(), 0..3000_u16, 0..2000_u16, any::<u8>())
            .prop_map(|(file, offset, len, fill)| Op::Write { file, offset, len, fill }),
        1 => (file.clone(), 0..4000_u16).prop_map(|(file, len)| Op::SetLen { file, len }),
        3 => file.clone().prop_map(Op::Sync),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => file.prop_map(Op::Remove),
        2 => Just(Op::SyncDir),
    ];
    prop::collection::vec(op, 0..60)
}

fn dir() -> &'static Path {
    Path::new("/data")
}

fn path(file: u8) -> PathBuf {
    dir().join(format!("f{file}"))
}

fn apply(disk: &LossyDisk, op: &Op) {
    // Operations on names that are not there fail; that is part of the game.
    let _ = match *op {
        Op::Create(file) => disk.create_new(&path(file)).map(drop),
        Op::Write { file, offset, len, fill } => {
            disk.open(&path(file)).and_then(|open| open.write_all_at(&vec![fill; usize::from(len)], u64::from(offset)))
        }
        Op::SetLen { file, len } => disk.open(&path(file)).and_then(|open| open.set_len(u64::from(len))),
        Op::Sync(file) => disk.open(&path(file)).and_then(|open| open.sync_data()),
        Op::Rename(from, to) => disk.rename(&path(from), &path(to)),
        Op::Remove(file) => disk.remove_file(&path(file)),
        Op::SyncDir => disk.sync_dir(dir()),
    };
}

fn contents(disk: &LossyDisk) -> BTreeMap<String, Vec<u8>> {
    let read = |name: &str| {
        let file = disk.open(&dir().join(name)).unwrap();
        file.read_exact_at(0, usize::try_from(file.len().unwrap()).unwrap()).unwrap()
    };
    disk.list_dir(dir()).unwrap().into_iter().map(|entry| (entry.name.clone(), read(&entry.name))).collect()
}

fn new_disk() -> LossyDisk {
    let disk = LossyDisk::new();
    create_dir_durable(&disk, dir()).unwrap();
    disk
}

proptest! {
    #[test]
    fn one_seed_twice_leaves_the_same_bytes(ops in ops(), seed: u64) {
        let run = || {
            let disk = new_disk();
            ops.iter().for_each(|op| apply(&disk, op));
            contents(&disk.crash(seed))
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn what_was_synced_survives_every_crash(before in ops(), after in ops(), seed: u64) {
        let disk = new_disk();
        before.iter().for_each(|op| apply(&disk, op));
        for file in 0..4 {
            apply(&disk, &Op::Sync(file));
        }
        apply(&disk, &Op::SyncDir);
        let synced = contents(&disk);
        prop_assert_eq!(&contents(&disk.crash_image(seed)), &synced);
        // Later un-synced changes of *other* files take nothing away from a file that was left alone.
        let touched = |op: &Op, name: &str| match op {
            Op::Create(file) | Op::Write { file, .. } | Op::SetLen { file, .. } | Op::Remove(file) => path(*file).ends_with(name),
            Op::Rename(from, to) => path(*from).ends_with(name) || path(*to).ends_with(name),
            Op::Sync(_) | Op::SyncDir => false,
        };
        after.iter().for_each(|op| apply(&disk, op));
        let left = contents(&disk.crash(seed));
        for (name, bytes) in synced {
            if !after.iter().any(|op| touched(op, &name)) {
                prop_assert_eq!(left.get(&name), Some(&bytes), "{}", name);
            }
        }
    }

    #[test]
    fn no_byte_is_invented(ops in ops(), seed: u64) {
        let disk = new_disk();
        ops.iter().for_each(|op| apply(&disk, op));
        let fills: Vec<u8> = ops.iter().filter_map(|op| if let Op::Write { fill, .. } = op { Some(*fill) } else { None }).collect();
        for bytes in contents(&disk.crash(seed)).values() {
            prop_assert!(bytes.iter().all(|byte| *byte == 0 || fills.contains(byte)));
        }
    }
}

fn file_of(disk: &LossyDisk) -> Arc<dyn DiskFile> {
    let file = disk.create_new(&path(0)).unwrap();
    disk.sync_dir(dir()).unwrap();
    file
}

#[test]
fn seeds_meet_lost_whole_and_torn_writes() {
    let disk = new_disk();
    file_of(&disk).write_all_at(&[7; 2048], 0).unwrap();
    let mut lengths: Vec<usize> = Vec::new();
    let (mut holes, mut odd) = (0, 0);
    for seed in 0..200 {
        let bytes = contents(&disk.crash_image(seed)).remove("f0").unwrap();
        holes += usize::from(bytes.contains(&0));
        odd += usize::from(!bytes.len().is_multiple_of(512));
        lengths.push(bytes.len());
    }
    assert!(lengths.contains(&0) && lengths.contains(&2048), "lost and whole");
    assert!(holes > 10, "sectors missing in the middle: {holes}");
    assert!(odd > 10, "cut within a sector: {odd}");
}

#[test]
fn an_unsynced_name_may_be_lost_though_its_bytes_were_synced() {
    let disk = new_disk();
    let file = disk.create_new(&path(0)).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    file.sync_data().unwrap();
    let survived = (0..100).filter(|seed| contents(&disk.crash_image(*seed)).contains_key("f0")).count();
    assert!((1..100).contains(&survived), "{survived}");
}

#[test]
fn after_a_crash_old_handles_fail_and_the_new_disk_works() {
    let disk = new_disk();
    let file = file_of(&disk);
    let after = disk.crash(1);
    assert!(file.write_all_at(b"late", 0).is_err());
    assert!(file.read_at(&mut [0; 1], 0).is_err());
    assert!(file.sync_data().is_err());
    assert!(disk.clone().list_dir(dir()).is_err());
    after.open(&path(0)).unwrap().write_all_at(b"new", 0).unwrap();
    assert_eq!(contents(&after)["f0"], b"new");
}

#[test]
fn the_armed_operation_and_all_later_ones_fail() {
    let disk = new_disk();
    let file = file_of(&disk);
    disk.arm_crash_after(3);
    file.write_all_at(b"a", 0).unwrap();
    file.sync_data().unwrap();
    assert!(!disk.is_powered_off());
    assert!(file.write_all_at(b"b", 1).is_err());
    assert!(disk.is_powered_off());
    assert!(file.sync_data().is_err());
    assert!(disk.stat(dir()).is_err());
    let outcomes: Vec<_> = (0..50).map(|seed| contents(&disk.crash_image(seed))["f0"].clone()).collect();
    assert!(outcomes.iter().all(|bytes| bytes.starts_with(b"a")));
    assert!(outcomes.contains(&b"ab".to_vec()), "the write during which the power failed may have reached the medium");
    assert!(outcomes.contains(&b"a".to_vec()));
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = new_disk();
    let file = file_of(&disk);
    disk.set_space_left(Some(5));
    file.write_all_at(b"abc", 0).unwrap();
    file.write_all_at(b"xyz", 0).unwrap();
    assert_eq!(file.write_all_at(b"defg", 3).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(contents(&disk)["f0"], b"xyzde");
    disk.set_space_left(None);
    file.write_all_at(b"defg", 3).unwrap();
    assert_eq!(contents(&disk)["f0"], b"xyzdefg");
}

#[test]
fn bytes_of_a_failed_sync_are_lost_though_a_later_sync_succeeds() {
    let disk = new_disk();
    let file = file_of(&disk);
    file.write_all_at(b"old", 0).unwrap();
    disk.fail_sync(1);
    assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(5));
    file.write_all_at(b"new", 3).unwrap();
    file.sync_data().unwrap();
    assert_eq!(contents(&disk)["f0"], b"oldnew", "reads still show it");
    assert!((0..100).any(|seed| contents(&disk.crash_image(seed))["f0"] == b"\0\0\0new"));
}

#[test]
fn what_a_failed_sync_lost_never_comes_back_over_what_was_synced_later() {
    let cut = |file: &dyn DiskFile| file.set_len(3);
    let write = |file: &dyn DiskFile| file.write_all_at(b"!!!", 3);
    for change in [&cut as &dyn Fn(&dyn DiskFile) -> std::io::Result<()>, &write] {
        let disk = new_disk();
        let file = file_of(&disk);
        file.write_all_at(b"abcdef", 0).unwrap();
        file.sync_data().unwrap();
        change(file.as_ref()).unwrap();
        disk.fail_sync(1);
        file.sync_data().unwrap_err();
        file.write_all_at(b"XYZ", 3).unwrap();
        file.sync_data().unwrap();
        for seed in 0..100 {
            assert_eq!(contents(&disk.crash_image(seed))["f0"], b"abcXYZ", "seed {seed}");
        }
    }
}

#[test]
fn a_held_sync_covers_only_what_was_written_before_it() {
    let disk = new_disk();
    let file = file_of(&disk);
    file.write_all_at(b"in", 0).unwrap();
    disk.hold_syncs();
    let syncing = std::thread::spawn({
        let file = file.clone();
        move || file.sync_data()
    });
    while disk.counts().syncs_waiting == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    file.write_all_at(b"after", 2).unwrap();
    disk.release_syncs();
    syncing.join().unwrap().unwrap();
    assert!((0..100).any(|seed| contents(&disk.crash_image(seed))["f0"] == b"in"));
}

#[test]
fn power_loss_ends_held_syncs() {
    let disk = new_disk();
    let file = file_of(&disk);
    disk.hold_syncs();
    let syncing = std::thread::spawn(move || file.sync_data());
    while disk.counts().syncs_waiting == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    disk.power_off();
    assert!(syncing.join().unwrap().is_err());
}

#[test]
fn the_named_operation_fails_once_with_or_without_effect() {
    for (kind, expected) in [(FaultKind::Io, "Input/output error"), (FaultKind::NoSpace, "No space left on device")] {
        for takes_effect in [false, true] {
            let disk = new_disk();
            let file = file_of(&disk);
            disk.fail_operation(2, Fault { kind, takes_effect });
            file.write_all_at(b"a", 0).unwrap();
            let error = file.write_all_at(b"b", 1).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert_eq!(disk.counts().faults, 1);
            file.write_all_at(b"c", 2).unwrap();
            let left = if takes_effect { b"abc".to_vec() } else { b"a\0c".to_vec() };
            assert_eq!(contents(&disk)["f0"], left);
        }
    }
}

#[test]
fn reads_lists_and_names_fail_as_told() {
    let disk = new_disk();
    let file = file_of(&disk);
    let fault = Fault { kind: FaultKind::Io, takes_effect: false };
    let fails = |operation: &dyn Fn() -> std::io::Result<()>| {
        disk.fail_operation(1, fault);
        assert!(operation().is_err());
        operation().unwrap();
    };
    fails(&|| file.read_at(&mut [0; 1], 0).map(drop));
    fails(&|| file.len().map(drop));
    fails(&|| disk.list_dir(dir()).map(drop));
    fails(&|| disk.open(&path(0)).map(drop));
    fails(&|| disk.stat(&path(0)).map(drop));
    fails(&|| disk.rename(&path(0), &path(1)));
    fails(&|| disk.create_new(&path(0)).map(drop));
    fails(&|| disk.remove_file(&path(0)));
    fails(&|| disk.sync_dir(dir()));
    assert_eq!(disk.counts().faults, 9);
}

#[test]
fn what_a_fault_kept_from_being_synced_is_lost_even_after_a_later_sync() {
    for takes_effect in [false, true] {
        let disk = new_disk();
        let file = file_of(&disk);
        file.write_all_at(b"x", 0).unwrap();
        disk.fail_operation(1, Fault { kind: FaultKind::Io, takes_effect });
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert!((0..50).any(|seed| contents(&disk.crash_image(seed))["f0"] != b"x"));
    }
}
