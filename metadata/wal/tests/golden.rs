//! The stored forms, byte for byte: the newest version must be written as it always was, and every version read for ever.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::LossyDisk;
use siltstone_wal::WalError;
use std::path::{Path, PathBuf};
use support::{Contents, Step, dir, disk_with, ends, files, open, run, script, try_open};

fn golden_path(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}.wal"))
}

fn golden(version: u32) -> Vec<u8> {
    std::fs::read(golden_path(version)).unwrap()
}

fn first_segment() -> PathBuf {
    dir().join("0000000000000001.wal")
}

fn disk_of(bytes: Vec<u8>) -> LossyDisk {
    disk_with(&[(first_segment(), bytes)].into())
}

fn steps() -> Vec<Step> {
    vec![
        Step::Vote(1),
        Step::Append(b"first".to_vec()),
        Step::Append(b"second, longer".to_vec()),
        Step::Append(Vec::new()),
        Step::Committed(1),
        Step::Truncate(2),
        Step::Append(b"third again".to_vec()),
        Step::Snapshot(5),
        Step::Purge(0),
    ]
}

fn model() -> Contents {
    let mut model = Contents::default();
    steps().iter().for_each(|step| model.apply(step));
    model
}

#[test]
fn version_2_is_written_and_read_as_ever() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    for step in steps() {
        run(&wal, &step);
    }
    drop(wal);
    let written = files(&disk);
    let (path, bytes) = written.first_key_value().unwrap();
    assert_eq!((written.len(), path), (1, &first_segment()));
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(golden_path(2), bytes).unwrap();
    }
    assert_eq!(bytes, &golden(2), "the format changed: that needs a new version number and a reader for the old one");
    assert_eq!(Contents::of(&open(&disk_of(golden(2)))), model());
}

#[test]
fn a_log_of_version_1_is_read_and_gone_on_with() {
    let disk = disk_of(golden(1));
    let mut model = model();
    let wal = open(&disk);
    assert_eq!(Contents::of(&wal), model);
    for value in 0..40 {
        let step = Step::Append(vec![value; 60]);
        run(&wal, &step);
        model.apply(&step);
    }
    drop(wal);
    assert!(ends(&disk).len() > 2);
    let first = &files(&disk)[&first_segment()];
    assert_eq!(first.len(), ends(&disk)[&first_segment()], "a file of version 1 ends with its last record");
    for seed in 0..10 {
        let wal = open(&disk.crash_image(seed));
        assert_eq!(Contents::of(&wal), model);
        run(&wal, &Step::Purge(model.next() - 1));
    }
}

#[test]
fn every_flipped_bit_of_version_1_is_damage_or_a_torn_last_write() {
    let bytes = golden(1);
    let disk = disk_of(bytes.clone());
    let before_last = {
        let mut model = Contents::default();
        steps().iter().take(steps().len() - 1).for_each(|step| model.apply(step));
        model
    };
    let last = siltstone_wal::dump(&disk, dir()).unwrap().next().unwrap().unwrap().records.pop().unwrap();
    let (mut refused, mut cut) = (0, 0);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match try_open(&disk_of(flipped)) {
            Ok((wal, recovery)) => {
                assert!((bit / 8) as u64 >= last.offset && recovery.cut.is_some(), "bit {bit} was not noticed");
                assert_eq!(Contents::of(&wal), before_last, "bit {bit}");
                cut += 1;
            }
            Err(WalError::Corrupt { .. }) => refused += 1,
            Err(other) => panic!("bit {bit}: {other}"),
        }
    }
    assert!(refused > 2_000 && cut > 250, "{refused} refused, {cut} cut");
}

#[test]
fn a_shortened_last_file_of_version_1_is_cut_and_stays_cut() {
    let bytes = golden(1);
    for len in bytes.len() - 30..bytes.len() {
        let disk = disk_of(bytes[..len].to_vec());
        let (wal, recovery) = try_open(&disk).unwrap();
        assert!(recovery.cut.is_some());
        let found = Contents::of(&wal);
        drop(wal);
        let (wal, recovery) = try_open(&disk).unwrap();
        assert_eq!((Contents::of(&wal), recovery.cut), (found, None));
    }
}

#[test]
fn segments_of_both_versions_stand_beside_one_another() {
    for seed in 0..5 {
        let disk = disk_of(golden(1));
        let mut model = model();
        for part in script(100, seed).chunks(7) {
            let wal = open(&disk);
            for step in part.iter().filter(|step| matches!(step, Step::Append(_) | Step::Vote(_) | Step::Snapshot(_))) {
                run(&wal, step);
                model.apply(step);
            }
        }
        assert_eq!(Contents::of(&open(&disk)), model);
    }
}

#[test]
fn a_version_of_the_future_is_refused() {
    let mut bytes = golden(2);
    bytes[8] = 3;
    let crc = crc32c::crc32c(&bytes[..60]);
    bytes[60..64].copy_from_slice(&crc.to_le_bytes());
    let error = try_open(&disk_of(bytes)).err().unwrap();
    assert!(matches!(error, WalError::Corrupt { what: "the segment's version is unknown", .. }), "{error}");
}
