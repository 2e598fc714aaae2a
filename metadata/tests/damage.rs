//! Damage of a member's directory: every bit of every file flipped, and every file cut everywhere. The member refuses to start and names the file,
//! or nothing is different.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::ErrorKind;
use siltstone_format::{envelope::Kind, manifest::Manifest, snapshot::SnapshotRoot};
use siltstone_metadata_client::MetadataClient;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use support::create;
use support::stepped::{DIR, Files, disk_with, files, run, shown, shown_as, start_one, text, until_snapshot};
use support::values::Values;

/// A directory, and what a member shows that starts from it.
struct Sample {
    files: Files,
    state: Manifest,
}

/// How often damage was refused, and how often it made no difference.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    refused: u64,
    harmless: u64,
}

/// A member with a snapshot, a log behind it, and segments that were given up and are used again.
fn sample() -> Sample {
    let disk = siltstone_disk::LossyDisk::new();
    run(async {
        let node = start_one(&disk).await.unwrap();
        for name in ["a", "b", "c", "d", "e", "f"] {
            create(&node, name).await.unwrap();
        }
        let covered = node.manifest().version.0;
        node.take_snapshot().await;
        assert!(until_snapshot(&node, covered).await);
        for name in ["g", "h"] {
            create(&node, name).await.unwrap();
        }
        node.shutdown().await;
    });
    let files = files(&disk);
    let state = shown(&disk_with(&files)).unwrap();
    assert_eq!(state.names.size(), 8);
    Sample { files, state }
}

/// `member`, `wal` or `snapshots`.
fn part(path: &Path) -> String {
    path.strip_prefix(DIR).unwrap().iter().next().unwrap().to_str().unwrap().to_owned()
}

/// Starts from the sample with one file changed. What is not refused is the sample's state, or what `is_legal` says.
fn check(sample: &Sample, path: &Path, changed: Vec<u8>, counts: &mut Counts, is_legal: impl Fn(&Manifest) -> bool, what: impl Fn() -> String) {
    let mut files = sample.files.clone();
    files.insert(path.to_owned(), changed);
    match shown(&disk_with(&files)) {
        Ok(found) => {
            assert!(found == sample.state || is_legal(&found), "{}: {} shows {:?}", what(), path.display(), found.names);
            counts.harmless += 1;
        }
        Err(error) => {
            let text = text(&error);
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{}: {text}", what());
            assert!(text.contains(path.to_str().unwrap()), "{} of {} is refused with another name: {text}", what(), path.display());
            counts.refused += 1;
        }
    }
}

#[test]
fn every_flipped_bit_of_a_directory_is_refused_with_the_files_name_or_makes_no_difference() {
    let sample = sample();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for (path, bytes) in &sample.files {
        let counts = counts.entry(part(path)).or_default();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            check(&sample, path, changed, counts, |_| false, || format!("bit {} of byte {}", bit % 8, bit / 8));
        }
    }
    println!("flipped bits: {counts:?}");
    assert!(counts["member"].refused > 100 && counts["member"].harmless == 0, "{counts:?}");
    assert!(counts["snapshots"].refused > 2_000 && counts["snapshots"].harmless == 0, "{counts:?}");
    assert!(counts["wal"].refused > 2_000 && counts["wal"].harmless > 200, "{counts:?}");
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused_with_its_name_or_makes_no_difference() {
    let sample = sample();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let last_segment = sample.files.keys().filter(|path| path.extension().is_some_and(|extension| extension == "wal")).max().unwrap();
    let names: Vec<_> = sample.state.names.keys().map(ToString::to_string).collect();
    for (path, bytes) in &sample.files {
        let counts = counts.entry(part(path)).or_default();
        for len in 0..bytes.len() {
            // What a torn write leaves behind looks like a cut: what goes is the end of the log, in its order.
            let is_prefix = |found: &Manifest| {
                let found: Vec<_> = found.names.keys().map(ToString::to_string).collect();
                path == last_segment && found.iter().all(|name| names.contains(name)) && (0..=8).any(|kept| found.len() == kept)
            };
            check(&sample, path, bytes[..len].to_vec(), counts, is_prefix, || format!("a cut at {len}"));
        }
    }
    println!("cuts: {counts:?}");
    assert!(counts["member"].harmless == 0 && counts["snapshots"].harmless == 0, "{counts:?}");
    assert!(counts["snapshots"].refused > 300 && counts["wal"].refused > 300, "{counts:?}");
}

#[test]
fn a_file_that_is_missing_is_missed() {
    let sample = sample();
    let last_segment: PathBuf = sample.files.keys().filter(|path| part(path) == "wal").max().unwrap().clone();
    let mut missed = 0;
    for path in sample.files.keys().filter(|path| **path != last_segment) {
        let mut files = sample.files.clone();
        files.remove(path);
        match shown(&disk_with(&files)) {
            // A segment of the log of which all was given up.
            Ok(found) => assert!(found == sample.state && part(path) == "wal", "without {}", path.display()),
            Err(error) => {
                let (text, place) = (text(&error), if part(path) == "wal" { path.parent().unwrap() } else { path });
                assert!(text.contains(place.to_str().unwrap()), "without {}: {text}", path.display());
                missed += 1;
            }
        }
    }
    assert!(missed >= 2, "{missed}");
}

/// The records of the log are sound here, and what they carry is not.
#[test]
fn every_flipped_bit_and_cut_of_a_value_in_the_log_is_refused() {
    let sample = sample();
    let values = Values::of(&sample.files);
    assert_eq!(shown(&disk_with(&values.write(&sample.files))).unwrap(), sample.state);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let count = values.clone().each().count();
    for which in 0..count {
        let (name, bytes) = values.clone().each().nth(which).map(|(name, value)| (name, value.clone())).unwrap();
        let flipped = (0..bytes.len() * 8).map(|bit| {
            let mut changed = bytes.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            changed
        });
        for (number, changed) in flipped.chain((0..bytes.len()).map(|len| bytes[..len].to_vec())).enumerate() {
            let mut values = values.clone();
            *values.each().nth(which).unwrap().1 = changed.into();
            let error = shown(&disk_with(&values.write(&sample.files))).err().unwrap_or_else(|| panic!("change {number} of {name} was not noticed"));
            let text = text(&error);
            assert!(text.contains("checksum") || text.contains("needed") || text.contains("version") || text.contains("magic"), "{name}: {text}");
            assert!(
                name != "Snapshot" || (error.kind() == ErrorKind::Corrupt || error.kind() == ErrorKind::Unsupported) && text.contains("/wal"),
                "{text}"
            );
        }
        *refused.entry(name.split(' ').next().unwrap().to_owned()).or_default() += bytes.len() as u64 * 9;
    }
    println!("changed values: {refused:?}");
    assert!(["Vote", "Snapshot", "Purged", "Entry"].iter().all(|name| refused[*name] > 150), "{refused:?}");
}

/// A directory as version 1 of every format wrote it, but for its log.
fn sample_v1() -> Sample {
    let golden = include_str!("../../crates/format/tests/golden/snapshot-v1.hex");
    let machine: Vec<u8> = golden.lines().flat_map(|line| bytes_of(line.split_once(' ').unwrap().1)).collect();
    let version = SnapshotRoot::decode(&bytes_of(golden.lines().next().unwrap().split_once(' ').unwrap().1)).unwrap().version().0;
    let member = include_str!("../src/raft/golden/v1.txt").lines().last().unwrap();

    // (term, leader, index), as stored; the only member is number 3, as in the golden file.
    let (last, members) = ((1_u64, 3_u64, version), (vec![BTreeSet::from([3_u64])], BTreeMap::from([(3_u64, "")])));
    let kind = |what, magic: &[u8; 4]| Kind { what, magic: *magic, version: 1 };
    let header = kind("snapshot file", b"SLrs").encode(&(Some(last), Some((1_u64, 3_u64, 0_u64)), members, "id")).unwrap();
    let snapshot = [header, machine].concat();
    let pointer = kind("snapshot pointer", b"SLrq").encode(&("x.snapshot", snapshot.len() as u64, Some(version))).unwrap();
    let files = Files::from([(Path::new(DIR).join("member"), bytes_of(member)), (Path::new(DIR).join("snapshots/x.snapshot"), snapshot)]);
    let mut values = Values { purged: Some((version, kind("log id", b"SLri").encode(&last).unwrap().into())), ..Values::default() };
    values.slots[0] = Some(kind("vote", b"SLrv").encode(&(1_u64, 3_u64, true)).unwrap().into());
    values.slots[2] = Some(pointer.into());
    let files = values.write(&files);
    let state = shown_as(3, &disk_with(&files)).unwrap();
    assert!(state.names.size() > 0);
    Sample { files, state }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn every_flipped_bit_and_cut_of_a_snapshot_of_version_1_is_refused_too() {
    let sample = sample_v1();
    let path = sample.files.keys().find(|path| part(path) == "snapshots").unwrap();
    let bytes = &sample.files[path];
    let flipped = (0..bytes.len() * 8).map(|bit| {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    });
    let mut refused = 0;
    for (number, changed) in flipped.chain((0..bytes.len()).map(|len| bytes[..len].to_vec())).enumerate() {
        let mut files = sample.files.clone();
        files.insert(path.clone(), changed);
        let error = shown_as(3, &disk_with(&files)).err().unwrap_or_else(|| panic!("change {number} was not noticed"));
        assert!(text(&error).contains(path.to_str().unwrap()), "{}", text(&error));
        refused += 1;
    }
    println!("version 1: {refused} changes refused");
    assert!(refused > 20_000, "{refused}");
}
