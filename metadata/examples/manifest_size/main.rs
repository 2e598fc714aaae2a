//! Prints what a manifest takes in memory and as a snapshot, how long that takes to write and to read, and what an indexer needs that serves one
//! namespace in a hundred: `cargo run --release -p siltstone-metadata --example manifest_size [ENTRIES [ACTIVE]]`.
//!
//! The state is built, not estimated: 100,000 namespaces, of which the first ACTIVE (1,000 unless told) hold all entries, by Zipf's law, and get new
//! ones at the same pace as ever, while the others exist and are empty. 30 days of data; 20 writers that flush twice a second and close a chunk
//! when it is full or a day old, so that how far chunks are filled comes out and does not go in; packs of at most 512 chunks, segments over at most
//! 4,096, and a day of retired batches. Memory is the growth of a process's resident set; what readers take is measured in processes of their own.
//! Snapshots lie in files, which the system has in memory: a store takes its time more.

mod generate;
mod read;

use generate::{Builder, Load, NAMESPACES};
use siltstone_core::{CHUNK_ROWS_MAX, NamespaceId};
use siltstone_format::manifest::Manifest;
use siltstone_format::snapshot::{Encoded, SnapshotRoot, encode, encode_changed};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// The first argument of the processes that read.
const READS: &str = "read";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [marker, what, dir] = arguments.as_slice()
        && marker == READS
    {
        return read::measure(what, Path::new(dir));
    }
    let number = |position: usize, otherwise: u64| match arguments.get(position) {
        Some(text) => text.replace('_', "").parse().unwrap_or_else(|error| panic!("read {text:?} as a number: {error}")),
        None => otherwise,
    };
    let load = Load::new(number(0, 10_000_000_000), number(1, 1_000).clamp(1, NAMESPACES));
    let manifest = build(load);
    let encoded = write(&manifest, load);
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
        let status = Command::new(program).arg(READS).arg(what).arg(&dir).status().expect("this program can be started again");
        assert!(status.success(), "{what}: {status}");
    }
    std::fs::remove_dir_all(&dir).expect("it is this program's own");
}

fn build(load: Load) -> Manifest {
    let mut builder = Builder::new(load);
    let mut last = resident_bytes();
    let mut report = |what: &str, count: u64, unit: &str| {
        let now = resident_bytes();
        let grown = now.saturating_sub(last);
        println!("{what:<52} {:>8.1} MB {count:>12} {unit:<10} {:>7.1} B each", grown as f64 / 1e6, grown as f64 / count.max(1) as f64);
        last = now;
    };
    println!("{} entries in {} of {NAMESPACES} namespaces", load.entries, load.active);
    let sealed = builder.sealed();
    report("sealed chunks, with namespaces, packs and segments", sealed.chunks, "chunks");
    let spaces = || builder.manifest().namespaces.values();
    let packed: usize = spaces().flat_map(|space| space.packs.values()).map(|pack| pack.chunks.len_bytes()).sum();
    let listed: usize = spaces().flat_map(|space| space.segments.values()).map(|segment| segment.chunks.len_bytes()).sum();
    println!(
        "  of that in packs {:.1} B a chunk, in segments {:.1} B a chunk; {} objects; chunks are filled to {:.2}",
        packed as f64 / sealed.chunks as f64,
        listed as f64 / sealed.chunks as f64,
        builder.manifest().objects.size(),
        sealed.rows as f64 / sealed.chunks as f64 / CHUNK_ROWS_MAX as f64,
    );
    let retired = builder.retired();
    report("batches that retired within a day", retired, "batches");
    let slices = builder.live();
    report("slices of chunks that are not sealed, with batches", slices, "slices");
    let manifest = builder.finish();
    println!("the group's memory in all {:.1} MB", resident_bytes() as f64 / 1e6);
    manifest
}

fn write(manifest: &Manifest, load: Load) -> Encoded {
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
    changed("one namespace changed", &later, manifest, &encoded.root);
    let mut later = manifest.clone();
    (1..=load.active).for_each(|id| touch(&mut later, id));
    changed("all active namespaces changed", &later, manifest, &encoded.root);
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
