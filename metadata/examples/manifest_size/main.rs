//! Prints what a manifest takes in memory and as a snapshot, how long that takes to write and to read, and what an indexer needs that serves one
//! namespace in a hundred: `cargo run --release -p siltstone-metadata --example manifest_size [ENTRIES]`.
//!
//! The state is built, not estimated: 100,000 namespaces whose sizes follow Zipf's law, of which the 1,000 largest get entries now; chunks half
//! full where there is enough to fill them, packs of at most 512 chunks, segments over at most 4,096, 30 days of data, 20 writers that flush twice
//! a second, chunks sealed after an hour at the latest, and a day of retired batches. Memory is the growth of a process's resident set; what
//! readers take is measured in processes of their own. Snapshots lie in files, which the system has in memory: a store takes its time more.

mod generate;
mod read;

use generate::{BUSY, Builder, NAMESPACES};
use siltstone_core::{CHUNK_ROWS_MAX, NamespaceId};
use siltstone_format::manifest::Manifest;
use siltstone_format::snapshot::{Encoded, SnapshotRoot, encode, encode_changed};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, dir] = arguments.as_slice() {
        return read::measure(what, Path::new(dir));
    }
    let entries = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(10_000_000_000_u64);
    let manifest = build(entries);
    let encoded = write(&manifest);
    let dir = std::env::temp_dir().join(format!("siltstone-manifest-size-{}", std::process::id()));
    std::fs::create_dir(&dir).expect("there is room for temporary files");
    std::fs::write(dir.join("root"), encoded.root.encode().expect("it was encoded before")).expect("the folder takes files");
    for shard in &encoded.shards {
        std::fs::write(dir.join(shard.reference.name()), &shard.bytes).expect("the folder takes files");
    }
    // Away before others are measured: they would share the machine's memory.
    drop((manifest, encoded));
    for what in read::KINDS {
        let program = std::env::current_exe().expect("this program has a file");
        let status = Command::new(program).arg(what).arg(&dir).status().expect("this program can be started again");
        assert!(status.success(), "{what}: {status}");
    }
    std::fs::remove_dir_all(&dir).expect("it is this program's own");
}

fn build(entries: u64) -> Manifest {
    let mut builder = Builder::new(entries);
    let mut last = resident_bytes();
    let mut report = |what: &str, count: u64, unit: &str| {
        let now = resident_bytes();
        let grown = now.saturating_sub(last);
        println!("{what:<52} {:>8.1} MB {count:>12} {unit:<10} {:>7.1} B each", grown as f64 / 1e6, grown as f64 / count.max(1) as f64);
        last = now;
    };
    println!("{entries} entries in {NAMESPACES} namespaces, {BUSY} of them busy");
    let sealed = builder.sealed();
    report("sealed chunks, with namespaces, packs and segments", sealed.chunks, "chunks");
    let spaces = || builder.manifest().namespaces.values();
    let packed: usize = spaces().flat_map(|space| space.packs.values()).map(|pack| pack.chunks.len_bytes()).sum();
    let listed: usize = spaces().flat_map(|space| space.segments.values()).map(|segment| segment.chunks.len_bytes()).sum();
    let fill = |rows: u64, chunks: u64| rows as f64 / chunks.max(1) as f64 / CHUNK_ROWS_MAX as f64;
    println!(
        "  of that in packs {:.1} B a chunk, in segments {:.1} B a chunk; {} objects; chunks are filled to {:.2} (with full ones it were {:.2}), those of namespaces that filled one to {:.2}",
        packed as f64 / sealed.chunks as f64,
        listed as f64 / sealed.chunks as f64,
        builder.manifest().objects.size(),
        fill(sealed.rows, sealed.chunks),
        fill(sealed.rows, sealed.chunks_min),
        fill(sealed.rows_of_larger, sealed.chunks_of_larger),
    );
    let retired = builder.retired();
    report("batches that retired within a day", retired, "batches");
    let slices = builder.live();
    report("slices of chunks that are not sealed, with batches", slices, "slices");
    let manifest = builder.finish();
    println!("the group's memory in all {:.1} MB", resident_bytes() as f64 / 1e6);
    manifest
}

fn write(manifest: &Manifest) -> Encoded {
    let started = Instant::now();
    let encoded = encode(manifest).expect("no shard is past 4 GiB");
    let elapsed = started.elapsed();
    let bytes: usize = encoded.shards.iter().map(|shard| shard.bytes.len()).sum();
    let root = encoded.root.encode().expect("it is short").len();
    println!(
        "snapshot {:.1} MB in {} shards and a root of {:.1} kB, written in {elapsed:?}",
        bytes as f64 / 1e6,
        encoded.shards.len(),
        root as f64 / 1e3
    );
    let mut parts = BTreeMap::<_, (usize, usize)>::new();
    for shard in &encoded.shards {
        let part = parts.entry(shard.reference.content).or_default();
        *part = (part.0 + 1, part.1 + shard.bytes.len());
    }
    parts.iter().for_each(|(content, (shards, bytes))| println!("  {content:?}: {shards} shards, {:.1} MB", *bytes as f64 / 1e6));
    changed("nothing changed", manifest, manifest, &encoded.root);
    let mut later = manifest.clone();
    touch(&mut later, NAMESPACES);
    changed("one idle namespace changed", &later, manifest, &encoded.root);
    let mut later = manifest.clone();
    (1..=BUSY).for_each(|id| touch(&mut later, id));
    changed("all busy namespaces changed", &later, manifest, &encoded.root);
    encoded
}

fn touch(manifest: &mut Manifest, id: u64) {
    Arc::make_mut(manifest.namespaces.get_mut(&NamespaceId(id as u32)).expect("it is there")).created_at_ms += 1;
}

fn changed(what: &str, manifest: &Manifest, earlier: &Manifest, root: &SnapshotRoot) {
    let started = Instant::now();
    let encoded = encode_changed(manifest, earlier, root).expect("no shard is past 4 GiB");
    let bytes: usize = encoded.shards.iter().map(|shard| shard.bytes.len()).sum();
    println!("  {what}: {} shards, {:.1} MB written in {:?}", encoded.shards.len(), bytes as f64 / 1e6, started.elapsed());
}

/// Bytes of this process that lie in memory; 0 where the system does not say.
pub(crate) fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
