//! Prints what the shared real logs weigh as rows, batches and packs, and how fast each is made: `cargo run --release --example sizes`.
//!
//! Reads `../shared/data/logs.jsonl.gz` beside the repository, or under `SILTSTONE_SHARED`.

use siltstone_core::pattern::{Split, split};
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, EntryFlags, NamespaceId, Severity};
use siltstone_format::batch::{BatchWriter, decode_slice};
use siltstone_format::manifest::ByteRange;
use siltstone_format::pack::{Column, PackReader, PackWriter};
use siltstone_format::{EntryRef, Rows, RowsBuilder};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::time::Instant;

struct Line {
    namespace: NamespaceId,
    timestamp_ns: i64,
    severity: Severity,
    flags: EntryFlags,
    tags: [String; 3],
    body: Vec<u8>,
}

fn main() {
    let lines = read_lines();
    let body_bytes = lines.iter().map(|line| line.body.len()).sum::<usize>();
    println!("{} lines, {:.1} MB of bodies", lines.len(), body_bytes as f64 / 1e6);

    let mut parts = Split::default();
    best("split", body_bytes, || {
        for line in &lines {
            split(&line.body, &mut parts);
        }
    });
    let mut tokens = 0_u64;
    let mut scratch = String::new();
    best("tokens", body_bytes, || {
        tokens = 0;
        for line in &lines {
            siltstone_core::analyze::tokens(&line.body, &mut scratch, |_, _| tokens += 1);
        }
    });
    println!("{tokens} tokens");
    let mut chunks = Vec::new();
    best("split + push, 2,048 rows a block", body_bytes, || chunks = build(&lines));
    println!("{} blocks of rows", chunks.len());
    for rows_max in [100, 2048] {
        let chunks = build_up_to(&lines, rows_max);
        let mut stored = 0;
        best(&format!("batch slices of {rows_max} rows"), body_bytes, || {
            let mut writer = BatchWriter::new();
            chunks.iter().for_each(|rows| {
                writer.add_slice(rows);
            });
            stored = writer.finish().bytes.len();
        });
        println!("stored {stored}, {:.2} % of bodies", 100.0 * stored as f64 / body_bytes as f64);
        let mut writer = BatchWriter::new();
        let ranges = chunks.iter().map(|rows| writer.add_slice(rows)).collect::<Vec<_>>();
        let object = writer.finish();
        best("decode them", body_bytes, || {
            for range in &ranges {
                decode_slice(&object.bytes[range.offset as usize..][..range.len as usize], range).expect("what was written");
            }
        });
    }
    measure_packs(&chunks, body_bytes);
}

/// Chunks of a pack.
const PACK_CHUNKS: usize = 32;

fn measure_packs(chunks: &[Rows], body_bytes: usize) {
    let groups = || chunks.chunk_by(|left, right| left.namespace == right.namespace).flat_map(|chunks| chunks.chunks(PACK_CHUNKS));
    let mut packs = Vec::new();
    best("pack", body_bytes, || {
        packs.clear();
        for chunks in groups() {
            let mut writer = PackWriter::new(chunks[0].namespace);
            for (chunk, rows) in chunks.iter().enumerate() {
                let offsets = (0..rows.len() as u16).collect::<Vec<_>>();
                writer.add_chunk(ChunkId(chunk as u64), rows, &offsets).expect("a chunk of the namespace");
            }
            packs.push(writer.finish());
        }
    });
    let stored = packs.iter().map(|pack| pack.bytes.len()).sum::<usize>();
    println!("{} packs, stored {stored}, {:.2} % of bodies", packs.len(), 100.0 * stored as f64 / body_bytes as f64);
    let readers = packs
        .iter()
        .map(|pack| {
            let range = ByteRange { offset: 0, len: pack.bytes.len() as u32 };
            let reader = PackReader::open(&pack.bytes[pack.footer.offset as usize..], &pack.footer, &range).expect("what was written");
            let patterns = reader.patterns_range();
            let patterns = reader.decode_patterns(&pack.bytes[patterns.offset as usize..][..patterns.len as usize]).expect("what was written");
            (&pack.bytes, reader, patterns)
        })
        .collect::<Vec<_>>();
    let of = |column| readers.iter().flat_map(|(_, reader, _)| reader.chunks()).map(|entry| entry.range(column).len as usize).sum::<usize>();
    let shared = readers.iter().map(|(_, reader, _)| reader.patterns_range().len as usize).sum::<usize>();
    let footers = packs.iter().map(|pack| pack.footer.len as usize).sum::<usize>();
    let raw = readers.iter().flat_map(|(_, reader, _)| reader.chunks()).map(|entry| entry.raw_bytes).sum::<u64>();
    println!(
        "bodies {}, meta {}, attributes {}, shared patterns {shared}, footers {footers}, raw {raw}",
        of(Column::Body),
        of(Column::Meta),
        of(Column::Attributes)
    );
    best("decode packs", body_bytes, || {
        for (bytes, reader, patterns) in &readers {
            for entry in reader.chunks() {
                let range = entry.range_of_all();
                reader.decode_rows(entry, patterns, &bytes[range.offset as usize..][..range.len as usize]).expect("what was written");
            }
        }
    });
    let start = Instant::now();
    let mut rebuilt = 0;
    for (bytes, reader, patterns) in &readers {
        for entry in reader.chunks() {
            let range = entry.range(Column::Body);
            let wanted = [entry.rows as usize / 2];
            let bodies = reader
                .decode_bodies(entry, patterns, &bytes[range.offset as usize..][..range.len as usize], Some(&wanted))
                .expect("what was written");
            let mut body = Vec::new();
            assert!(bodies.append(wanted[0], &mut body));
            rebuilt += 1;
        }
    }
    println!("one row of each chunk: {:.0} us a row", start.elapsed().as_secs_f64() * 1e6 / f64::from(rebuilt));
}

/// The lines of each namespace in order, in full chunks.
fn build(lines: &[Line]) -> Vec<Rows> {
    build_up_to(lines, CHUNK_ROWS_MAX)
}

fn build_up_to(lines: &[Line], rows_max: usize) -> Vec<Rows> {
    let mut builders = BTreeMap::<NamespaceId, RowsBuilder>::new();
    let mut chunks = Vec::new();
    for line in lines {
        let builder = builders.entry(line.namespace).or_insert_with(|| RowsBuilder::new(line.namespace));
        let [deployment, pod, container] = &line.tags;
        let (body, timestamp_ns, severity, flags) = (&line.body[..], line.timestamp_ns, line.severity, line.flags);
        let entry = EntryRef { body, timestamp_ns, severity, flags, deployment, pod, container, attributes: &[], vectors: &[] };
        if builder.len() == rows_max {
            chunks.push(builder.finish());
        }
        builder.push(&entry).expect("the block has room for a line");
    }
    chunks.extend(builders.values_mut().map(RowsBuilder::finish));
    chunks.sort_by_key(|rows| rows.namespace);
    chunks
}

/// Runs `work` five times and prints the best rate.
fn best<F>(name: &str, bytes: usize, mut work: F)
where
    F: FnMut(),
{
    let seconds = (0..5).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    println!("{name}: {:.0} MB/s", bytes as f64 / 1e6 / seconds);
}

fn read_lines() -> Vec<Line> {
    let shared = std::env::var_os("SILTSTONE_SHARED")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), std::path::PathBuf::from);
    let path = shared.join("data/logs.jsonl.gz");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("open the real lines at {}: {error}; set SILTSTONE_SHARED", path.display()));
    let mut namespaces = BTreeMap::new();
    let mut last_ns = 0;
    let reader = BufReader::new(flate2::read::MultiGzDecoder::new(file));
    reader
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("a JSON record");
            let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            let next = NamespaceId(namespaces.len() as u32);
            let stated = record["timestamp_ms"].as_i64();
            // A line without a time gets one that moves on like a clock, as ingest would give it.
            let timestamp_ns = stated.map_or(last_ns + 1_234_567, |ms| ms * 1_000_000);
            last_ns = timestamp_ns;
            Line {
                namespace: *namespaces.entry(text("namespace")).or_insert(next),
                timestamp_ns,
                severity: Severity::from_name(&text("severity")),
                flags: EntryFlags(if stated.is_none() { EntryFlags::TIMESTAMP_OBSERVED } else { 0 }),
                tags: ["deployment", "pod", "container"].map(text),
                body: text("body").into_bytes(),
            }
        })
        .collect()
}
