//! Damaged files: what is damage refuses to open, and only what a torn write can look like is cut.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::ErrorKind;
use siltstone_disk::LossyDisk;
use siltstone_wal::{Wal, WalError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use support::{Contents, Step, disk_with, files, open, run, script, submit, try_open};

struct Sample {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Where the last write begins, in the last file.
    last_write: usize,
    contents: Contents,
    /// The contents without the last write's steps, and with more and more of them.
    prefixes: Vec<Contents>,
}

/// A log of several segments. Its last write carries three records.
fn sample() -> Sample {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    let mut model = Contents::default();
    for step in script(60, 3) {
        run(&wal, &step);
        model.apply(&step);
    }
    let last_write = files(&disk).last_entry().unwrap().get().len();
    let mut prefixes = vec![model.clone()];
    wal.append(model.next(), vec![vec![1; 40].into(), vec![2; 3].into(), vec![].into()], Box::new(|_| {})).unwrap();
    for payload in [vec![1; 40], vec![2; 3], vec![]] {
        model.apply(&Step::Append(payload));
        prefixes.push(model.clone());
    }
    wal.close();
    let files = files(&disk);
    assert!(files.len() > 3, "{} segments", files.len());
    Sample { files, last_write, contents: model, prefixes }
}

#[test]
fn every_flipped_byte_is_damage_or_a_torn_last_write() {
    let sample = sample();
    assert_eq!(Contents::of(&open(&disk_with(&sample.files))), sample.contents);
    let last = sample.files.keys().next_back().unwrap().clone();
    let (mut refused, mut cut) = (0, 0);
    for (path, bytes) in &sample.files {
        for offset in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = sample.files.clone();
                damaged.get_mut(path).unwrap()[offset] ^= flip;
                let what = format!("{} byte {offset} ^ {flip:#x}", path.display());
                match try_open(&disk_with(&damaged)) {
                    Err(WalError::Corrupt { file, offset: at, .. }) => {
                        assert_eq!(&file, path, "{what}");
                        assert!(at <= offset as u64, "{what} is reported at {at}");
                        refused += 1;
                    }
                    Err(other) => panic!("{what}: {other}"),
                    Ok((wal, recovery)) => {
                        assert!(*path == last && offset >= sample.last_write, "{what} was not noticed");
                        assert!(recovery.cut.is_some(), "{what}");
                        let contents = Contents::of(&wal);
                        assert!(sample.prefixes[..3].contains(&contents), "{what} left {contents:?}");
                        cut += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 5_000 && cut > 300, "{refused} refused, {cut} cut");
}

#[test]
fn damage_names_its_file_and_place() {
    let mut sample = sample();
    let path = sample.files.keys().next().unwrap().clone();
    sample.files.get_mut(&path).unwrap()[70] ^= 1;
    let error = try_open(&disk_with(&sample.files)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(
        error.to_string(),
        format!(
            "read log file {}: a record that was durable before the file got its name is broken at byte 64; nothing was changed: restore the directory from a backup",
            path.display()
        )
    );
}

#[test]
fn a_shortened_last_file_is_a_torn_tail_and_a_shortened_earlier_one_is_damage() {
    let sample = sample();
    let last = sample.files.keys().next_back().unwrap();
    for (path, bytes) in &sample.files {
        for len in 0..bytes.len() {
            let mut damaged = sample.files.clone();
            damaged.get_mut(path).unwrap().truncate(len);
            let opened = try_open(&disk_with(&damaged));
            if path == last && len >= sample.last_write {
                let contents = Contents::of(&opened.unwrap().0);
                assert!(sample.prefixes.contains(&contents), "cut at {len}");
            } else if path == last {
                // Lengths are durable with the bytes, so no crash does this; still nothing may be invented.
                assert!(opened.is_ok() || matches!(opened, Err(WalError::Corrupt { .. })));
            } else {
                assert!(matches!(opened, Err(WalError::Corrupt { .. })), "{} cut at {len}", path.display());
            }
        }
    }
}

#[test]
fn a_missing_swapped_or_renamed_file_is_damage() {
    let sample = sample();
    let paths: Vec<_> = sample.files.keys().cloned().collect();
    for missing in &paths[..paths.len() - 1] {
        let mut damaged = sample.files.clone();
        damaged.remove(missing);
        assert!(matches!(try_open(&disk_with(&damaged)), Err(WalError::Corrupt { .. })), "{} is missing", missing.display());
    }
    let mut swapped = sample.files.clone();
    swapped.insert(paths[0].clone(), sample.files[&paths[1]].clone());
    swapped.insert(paths[1].clone(), sample.files[&paths[0]].clone());
    assert!(matches!(try_open(&disk_with(&swapped)), Err(WalError::Corrupt { offset: 0, .. })));
}

#[test]
fn a_record_from_elsewhere_does_not_pass() {
    let sample = sample();
    let paths: Vec<_> = sample.files.keys().cloned().collect();
    // The same bytes twice in one file, and a record of another file.
    let last = paths.last().unwrap();
    let mut repeated = sample.files.clone();
    let tail = sample.files[last][sample.last_write..].to_vec();
    repeated.get_mut(last).unwrap().extend_from_slice(&tail);
    assert!(matches!(try_open(&disk_with(&repeated)), Err(WalError::Corrupt { .. })));
    let mut foreign = sample.files.clone();
    let record = sample.files[&paths[0]][64..].to_vec();
    foreign.get_mut(last).unwrap().extend_from_slice(&record);
    let (wal, recovery) = try_open(&disk_with(&foreign)).unwrap();
    assert_eq!(recovery.cut.map(|(_, bytes)| bytes), Some(record.len() as u64), "never written here, so nothing that was acknowledged");
    assert_eq!(Contents::of(&wal), sample.contents);
}

#[test]
fn a_cut_tail_stays_cut() {
    let mut sample = sample();
    let last = sample.files.keys().next_back().unwrap().clone();
    // The first of the last write's three records is torn; the two others are whole.
    sample.files.get_mut(&last).unwrap()[sample.last_write + 40] ^= 1;
    let disk = disk_with(&sample.files);
    let (wal, recovery) = try_open(&disk).unwrap();
    assert!(recovery.cut.is_some());
    assert_eq!(Contents::of(&wal), sample.prefixes[0]);
    // A record of the same length as the torn one: had the two others stayed behind it, they would come back to life.
    Wal::blocking(|done| submit(&wal, &Step::Append(vec![7; 40]), done)).unwrap();
    let mut model = sample.prefixes[0].clone();
    model.apply(&Step::Append(vec![7; 40]));
    drop(wal);
    for seed in 0..20 {
        let (wal, recovery) = try_open(&disk.crash_image(seed)).unwrap();
        assert_eq!(recovery.cut, None);
        assert_eq!(Contents::of(&wal), model, "seed {seed}");
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    use proptest::prelude::*;
    let sample = sample();
    let path = sample.files.keys().next_back().unwrap().clone();
    proptest!(ProptestConfig::with_cases(200), |(noise: Vec<u8>, at in 0..3_000_usize, keep: bool)| {
        let mut damaged = sample.files.clone();
        let bytes = damaged.get_mut(&path).unwrap();
        let at = at.min(bytes.len());
        bytes.truncate(if keep { at } else { 0 });
        bytes.extend_from_slice(&noise);
        let _ = try_open(&disk_with(&damaged));
    });
}
