//! The stored form, byte for byte: version 1 must be written as it always was and read for ever.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::LossyDisk;
use std::path::{Path, PathBuf};
use support::{Contents, Step, dir, disk_with, files, open, run};

fn golden_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.wal")
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

#[test]
fn version_1_is_written_and_read_as_ever() {
    let disk = LossyDisk::new();
    let wal = open(&disk);
    let mut model = Contents::default();
    for step in steps() {
        run(&wal, &step);
        model.apply(&step);
    }
    drop(wal);
    let written = files(&disk);
    let (path, bytes) = written.first_key_value().unwrap();
    assert_eq!((written.len(), path), (1, &dir().join("0000000000000001.wal")));
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(golden_path(), bytes).unwrap();
    }
    let golden = std::fs::read(golden_path()).unwrap();
    assert_eq!(bytes, &golden, "the format changed: that needs a new version number and a reader for the old one");
    let read = disk_with(&[(path.clone(), golden)].into());
    assert_eq!(Contents::of(&open(&read)), model);
}
