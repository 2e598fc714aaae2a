//! The shared real lines as full blocks of rows, by namespace.

use siltstone_core::{CHUNK_ROWS_MAX, EntryFlags, NamespaceId, Severity};
use siltstone_format::{EntryRef, Rows, RowsBuilder};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Blocks of 2,048 rows of one namespace each, and the bytes of all bodies.
pub(crate) fn blocks() -> (Vec<Rows>, u64) {
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("data/logs.jsonl.gz");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("open the real lines at {}: {error}; set SILTSTONE_SHARED", path.display()));
    let mut builders = BTreeMap::<String, RowsBuilder>::new();
    let mut blocks = Vec::new();
    let mut body_bytes = 0;
    for line in BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
        let record: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("a JSON record");
        let text = |name: &str| record[name].as_str().unwrap_or_default();
        let next = NamespaceId(builders.len() as u32);
        let builder = builders.entry(text("namespace").to_owned()).or_insert_with(|| RowsBuilder::new(next));
        if builder.len() == CHUNK_ROWS_MAX {
            blocks.push(builder.finish());
        }
        let entry = EntryRef {
            body: text("body").as_bytes(),
            timestamp_ns: record["timestamp_ms"].as_i64().unwrap_or_default() * 1_000_000,
            severity: Severity::from_name(text("severity")),
            flags: EntryFlags(0),
            deployment: text("deployment"),
            pod: text("pod"),
            container: text("container"),
            attributes: &[],
            vectors: &[],
        };
        body_bytes += entry.body.len() as u64;
        builder.push(&entry).expect("a block that is not full");
    }
    blocks.extend(builders.values_mut().map(RowsBuilder::finish));
    blocks.sort_by_key(|rows| rows.namespace);
    (blocks, body_bytes)
}
