//! The list of what the files hold: complete for whole files, honest for damaged ones, and never a writer.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::{LossyDisk, RealDisk};
use siltstone_wal::{RecordState, Wal, dump};
use std::sync::Arc;
use support::{Step, dir, disk_with, files, open, run, script};

#[test]
fn every_record_is_listed_with_its_place_kind_and_number() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    for step in [Step::Vote(1), Step::Append(b"first".to_vec()), Step::Append(b"second".to_vec()), Step::Truncate(1), Step::Purge(0)] {
        run(&wal, &step);
    }
    // The log is open: reading does not disturb it.
    let before = disk.counts().mutations;
    let segments: Vec<_> = dump(&disk, dir()).unwrap().map(Result::unwrap).collect();
    assert_eq!(disk.counts().mutations, before);
    let [segment] = segments.as_slice() else { panic!("{segments:?}") };
    let header = segment.header.unwrap();
    assert_eq!((header.version, header.id, header.first_sequence, header.prologue_bytes), (2, 1, 1, 0));
    let listed: Vec<_> =
        segment.records.iter().map(|record| (record.offset, record.kind, record.sequence, record.index, record.payload.len())).collect();
    assert_eq!(
        listed,
        [(64, "vote", 1, 0, 9), (112, "entry", 2, 0, 5), (152, "entry", 3, 1, 6), (192, "truncate", 4, 1, 0), (224, "purge", 5, 0, 8)]
    );
    assert!(segment.records.iter().all(|record| record.state == RecordState::Whole && record.checksum != 0));
    assert_eq!((segment.end, segment.file_bytes), (264, 512));
    assert_eq!(segment.records[1].payload, "first");
}

#[test]
fn numbers_go_on_through_all_segments() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    script(90, 4).iter().for_each(|step| run(&wal, step));
    let mut next = None;
    for segment in dump(&disk, dir()).unwrap().map(Result::unwrap) {
        let mut expected = next.unwrap_or(segment.header.unwrap().first_sequence);
        for record in &segment.records {
            assert_eq!((record.sequence, record.state), (expected, RecordState::Whole));
            expected += 1;
        }
        next = Some(expected);
    }
    assert!(next.unwrap() > 90);
}

#[test]
fn a_broken_record_and_those_after_it_are_shown_as_such() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    (0..4).for_each(|value| run(&wal, &Step::Append(vec![value; 8])));
    drop(wal);
    let mut damaged = files(&disk);
    let (path, bytes) = damaged.iter_mut().next().unwrap();
    bytes[64 + 40 + 35] ^= 1;
    let path = path.clone();
    let segment = dump(&disk_with(&damaged), dir()).unwrap().next().unwrap().unwrap();
    let states: Vec<_> = segment.records.iter().map(|record| (record.kind, record.state)).collect();
    let expected =
        [("entry", RecordState::Whole), ("unknown", RecordState::Broken), ("entry", RecordState::Stranded), ("entry", RecordState::Stranded)];
    assert_eq!(states, expected);
    assert_eq!((segment.end, segment.records[1].offset, segment.records[1].sequence), (104, 104, 2));

    damaged.get_mut(&path).unwrap()[20] ^= 1;
    let segment = dump(&disk_with(&damaged), dir()).unwrap().next().unwrap().unwrap();
    assert_eq!((segment.header, segment.records.len()), (Err("the header's checksum is wrong"), 0));
}

#[test]
fn arbitrary_bytes_are_listed_without_a_panic() {
    use proptest::prelude::*;
    let disk = LossyDisk::new();
    let wal = open(&disk);
    script(20, 4).iter().for_each(|step| run(&wal, step));
    drop(wal);
    let files = files(&disk);
    let path = files.keys().next_back().unwrap().clone();
    proptest!(ProptestConfig::with_cases(200), |(noise: Vec<u8>, at in 0..700_usize)| {
        let mut damaged = files.clone();
        let bytes = damaged.get_mut(&path).unwrap();
        let at = at.min(bytes.len());
        bytes.truncate(at);
        bytes.extend_from_slice(&noise);
        prop_assert_eq!(dump(&disk_with(&damaged), dir()).unwrap().filter(Result::is_ok).count(), damaged.keys().filter(|path| path.extension().unwrap() == "wal").count());
    });
}

#[test]
fn files_that_may_not_be_written_are_listed_all_the_same() {
    let temporary = tempfile::tempdir().unwrap();
    let (wal, _) = Wal::open(Arc::new(RealDisk), temporary.path(), support::config(), |_| {}).unwrap();
    run(&wal, &Step::Append(vec![7; 3]));
    drop(wal);
    let path = temporary.path().join("0000000000000001.wal");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let segment = dump(&RealDisk, temporary.path()).unwrap().next().unwrap().unwrap();
    assert_eq!(segment.records.len(), 1);
}
