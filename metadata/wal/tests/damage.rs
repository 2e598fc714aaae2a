//! Damaged files: what is damage refuses to open, and only what a torn write can look like is cut.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::ErrorKind;
use siltstone_disk::LossyDisk;
use siltstone_wal::{DumpedSegment, Wal, WalError, dump};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::{Contents, Step, dir, disk_with, ends, files, open, rounds, run, script, submit, try_open, try_open_stepped};

struct Sample {
    /// Segments; the spare files stand in `spares`.
    files: BTreeMap<PathBuf, Vec<u8>>,
    spares: BTreeMap<PathBuf, Vec<u8>>,
    /// Where the records of each segment end.
    ends: BTreeMap<PathBuf, usize>,
    /// Where the last write begins, in the last file.
    last_write: usize,
    contents: Contents,
    /// The contents without the last write's steps, and with more and more of them.
    prefixes: Vec<Contents>,
}

/// A log of several segments, some of them in recycled files. Its last write carries three records.
fn sample(seed: u64) -> Sample {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    let mut model = Contents::default();
    for step in script(60, seed) {
        run(&wal, &step);
        model.apply(&step);
    }
    let before = ends(&disk);
    let mut prefixes = vec![model.clone()];
    wal.append(model.next(), vec![vec![1; 40].into(), vec![2; 3].into(), vec![].into()], Box::new(|_| {})).unwrap();
    for payload in [vec![1; 40], vec![2; 3], vec![]] {
        model.apply(&Step::Append(payload));
        prefixes.push(model.clone());
    }
    wal.close();
    let (files, spares) = files(&disk).into_iter().partition(|(path, _)| path.extension().is_some_and(|extension| extension == "wal"));
    let ends = ends(&disk);
    let last = ends.keys().next_back().unwrap();
    // It may have begun a segment.
    let last_write = before.get(last).copied().unwrap_or_else(|| 64 + dump_last(&disk).header.unwrap().prologue_bytes as usize);
    Sample { last_write, files, spares, ends, contents: model, prefixes }
}

fn dump_last(disk: &LossyDisk) -> DumpedSegment {
    dump(disk, dir()).unwrap().last().unwrap().unwrap()
}

/// A sample that has everything: several segments, spare files, and behind the records of some file zeros, of another old records.
fn rich_sample() -> Sample {
    let is_rich = |sample: &Sample| {
        let tails: Vec<_> = sample.files.iter().map(|(path, bytes)| &bytes[sample.ends[path]..]).collect();
        let has_old_records = tails.iter().any(|tail| tail.iter().filter(|byte| **byte != 0).count() > 40);
        let has_zeros = tails.iter().any(|tail| tail.len() > 16 && tail.iter().all(|byte| *byte == 0));
        sample.files.len() > 3 && !sample.spares.is_empty() && has_old_records && has_zeros
    };
    (0..500).map(sample).find(is_rich).expect("one of so many scripts meets everything")
}

/// Opens a sample with one file changed. Damage must name that file, at or before the change; else what the log holds is given.
fn open_changed(sample: &Sample, path: &Path, changed: Vec<u8>, offset: usize, what: &dyn Fn() -> String) -> Option<Contents> {
    let mut files = sample.files.clone();
    files.extend(sample.spares.clone());
    files.insert(path.to_owned(), changed);
    let disk = disk_with(&files);
    let read = Contents::read(&disk);
    match try_open_stepped(&disk) {
        Err(WalError::Corrupt { file, offset: at, .. }) => {
            assert!(matches!(read, Err(WalError::Corrupt { offset, .. }) if offset == at), "{}: {read:?}", what());
            assert_eq!(file, path, "{}", what());
            assert!(at <= offset as u64, "{} is reported at {at}", what());
            None
        }
        Err(other) => panic!("{}: {other}", what()),
        Ok((wal, _)) => {
            let opened = Contents::of(&wal);
            assert_eq!(read.ok().as_ref(), Some(&opened), "{}", what());
            Some(opened)
        }
    }
}

/// Flips each bit of each file. Gives how many flips were refused, cut, and without effect.
fn flip_all(sample: &Sample) -> [usize; 3] {
    let last = sample.files.keys().next_back().unwrap().clone();
    let mut counts = [0; 3];
    for (path, bytes) in &sample.files {
        for bit in 0..bytes.len() * 8 {
            let offset = bit / 8;
            let what = || format!("{} byte {offset} bit {}", path.display(), bit % 8);
            let mut changed = bytes.clone();
            changed[offset] ^= 1 << (bit % 8);
            let found = open_changed(sample, path, changed, offset, &what);
            if offset >= sample.ends[path] {
                assert_eq!(found.as_ref(), Some(&sample.contents), "{}: no record is there", what());
                counts[2] += 1;
            } else if *path == last && offset >= sample.last_write {
                let found = found.unwrap_or_else(|| panic!("{}: the last write may have been torn", what()));
                assert!(sample.prefixes[..3].contains(&found), "{} left {found:?}", what());
                counts[1] += 1;
            } else {
                assert_eq!(found, None, "{} was not noticed", what());
                counts[0] += 1;
            }
        }
    }
    for (path, bytes) in &sample.spares {
        for offset in (0..bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[offset] ^= 1;
            assert_eq!(open_changed(sample, path, changed, offset, &|| "a spare".to_owned()).as_ref(), Some(&sample.contents));
        }
    }
    counts
}

#[test]
fn every_flipped_bit_is_damage_or_a_torn_last_write_or_means_nothing() {
    let counts = flip_all(&rich_sample());
    assert!(counts[0] > 10_000 && counts[1] > 1_000 && counts[2] > 1_000, "refused, cut, without effect: {counts:?}");
    for round in 1..rounds(3) {
        flip_all(&sample(1_000 + round));
    }
}

#[test]
fn a_torn_last_write_is_told() {
    let sample = rich_sample();
    let last = sample.files.keys().next_back().unwrap().clone();
    for offset in sample.last_write + 32..sample.ends[&last] - 32 {
        let mut damaged = sample.files.clone();
        damaged.get_mut(&last).unwrap()[offset] ^= 0xff;
        let (_, recovery) = try_open(&disk_with(&damaged)).unwrap();
        let (file, bytes) = recovery.cut.unwrap_or_else(|| panic!("byte {offset}"));
        assert!(file == last && bytes >= 32, "byte {offset}: {bytes} bytes cut");
    }
}

#[test]
fn damage_names_its_file_and_place() {
    let mut sample = rich_sample();
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
    let sample = rich_sample();
    let last = sample.files.keys().next_back().unwrap();
    for (path, bytes) in &sample.files {
        for len in 0..bytes.len() {
            let mut damaged = sample.files.clone();
            damaged.get_mut(path).unwrap().truncate(len);
            let opened = try_open(&disk_with(&damaged)).map(|(wal, _)| Contents::of(&wal));
            if path == last && len >= sample.last_write {
                assert!(sample.prefixes.contains(&opened.unwrap()), "cut at {len}");
            } else if len >= sample.ends[path] {
                assert_eq!(opened.unwrap(), sample.contents, "{} cut at {len}: no record is there", path.display());
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
    let sample = rich_sample();
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
    let sample = rich_sample();
    let paths: Vec<_> = sample.files.keys().cloned().collect();
    // The same bytes twice in one file, and a record of another file.
    let last = paths.last().unwrap();
    let at_end = |bytes: &[u8]| {
        let mut files = sample.files.clone();
        let file = files.get_mut(last).unwrap();
        file.truncate(sample.ends[last]);
        file.extend_from_slice(bytes);
        files
    };
    let repeated = at_end(&sample.files[last][sample.last_write..sample.ends[last]]);
    assert!(matches!(try_open(&disk_with(&repeated)), Err(WalError::Corrupt { .. })));
    let foreign = at_end(&sample.files[&paths[0]][64..sample.ends[&paths[0]]]);
    let (wal, recovery) = try_open(&disk_with(&foreign)).unwrap();
    assert_eq!(recovery.cut, None, "never written here: as in any recycled file");
    assert_eq!(Contents::of(&wal), sample.contents);
}

#[test]
fn a_cut_tail_stays_cut() {
    let mut sample = rich_sample();
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
    let sample = rich_sample();
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
