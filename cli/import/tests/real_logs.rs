//! Real lines, as they lie beside the repository: every one becomes an entry, in batches that a second run cuts alike.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use siltstone_import::{BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, Format, ImportOptions, ImportSource, Input, Summary};
use std::path::PathBuf;

const LINES: u64 = 237_764;

fn logs() -> PathBuf {
    let shared =
        std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("data/logs.jsonl.gz");
    assert!(path.exists(), "{} is missing: set SILTSTONE_SHARED to the folder of the shared test material", path.display());
    path
}

/// The producer, what there was, and a digest of all batches.
fn import() -> (String, Summary, blake3::Hash) {
    let mut source = ImportSource::open(Input::File(logs()), &ImportOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(source.format(), Format::Ndjson);
    let mut hasher = blake3::Hasher::new();
    while let Some(batch) = source.next_batch().unwrap() {
        assert!(batch.entries.len() <= BATCH_ENTRIES_MAX && batch.bytes_read < 2 * BATCH_BYTES_MAX);
        hasher.update(format!("{} {:?}", batch.sequence, batch.entries).as_bytes());
    }
    (source.producer().to_owned(), source.summary().clone(), hasher.finalize())
}

#[test]
fn every_real_line_is_an_entry_and_a_second_run_is_the_same() {
    let (producer, summary, digest) = import();
    assert_eq!((summary.entries, summary.lines, summary.refused.total()), (LINES, LINES, 0));
    assert_eq!((summary.timestamps_unreadable, summary.severities_unreadable), (0, 0));
    // 9 % of the lines have no timestamp.
    assert!(summary.timestamps_missing > LINES / 12 && summary.timestamps_missing < LINES / 10, "{}", summary.timestamps_missing);
    assert_eq!(import(), (producer, summary, digest));
}
