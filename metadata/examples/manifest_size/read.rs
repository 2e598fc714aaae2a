//! What reading takes: all of the snapshot, or a hundredth of its namespaces.

use super::resident_bytes;
use siltstone_core::NamespaceId;
use siltstone_format::snapshot::{LazySnapshot, ShardRef, SnapshotError, SnapshotRoot, assemble};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// What is read: all; then one namespace in a hundred, once with the largest and once without the 99 largest.
pub(crate) const KINDS: [&str; 3] = ["all", "hundredth-with-the-largest", "hundredth"];

pub(crate) fn measure(what: &str, dir: &Path) {
    let root = std::fs::read(dir.join("root")).expect("it was written");
    let root = SnapshotRoot::decode(&root).expect("it was written whole");
    let before = resident_bytes();
    let grown = || resident_bytes().saturating_sub(before) as f64 / 1e6;
    let started = Instant::now();
    if what == "all" {
        let shards: Vec<_> = root.shards().iter().map(|shard| std::fs::read(dir.join(shard.name())).expect("it was written")).collect();
        let manifest = assemble(&root, shards.iter().map(Vec::as_slice)).expect("it was written whole");
        drop(shards);
        println!("read {what}: {:?}, {} rows, {:.1} MB in memory", started.elapsed(), manifest.totals.rows, grown());
        return;
    }
    let mut source = Source { dir, reads: 0, bytes: 0 };
    let snapshot = LazySnapshot::open(root, |shard, range| source.read(shard, range)).expect("it was written whole");
    let (reads, bytes) = (source.reads, source.bytes as f64 / 1e6);
    println!("open for {what}: {:?}, {reads} reads of {bytes:.1} MB, {:.1} MB in memory", started.elapsed(), grown());
    // Ids go by size.
    let remainder = u32::from(what == "hundredth-with-the-largest");
    let wanted: BTreeSet<_> = snapshot.namespaces().map(|(id, _)| id).filter(|id: &NamespaceId| id.0 % 100 == remainder).collect();
    let started = Instant::now();
    (source.reads, source.bytes) = (0, 0);
    let part = snapshot.part(&wanted, |shard, range| source.read(shard, range)).expect("it was written whole");
    let (reads, bytes) = (source.reads, source.bytes as f64 / 1e6);
    println!(
        "read {what}: {:?}, {reads} reads of {bytes:.1} MB, {} namespaces, {} rows, {:.1} MB in memory with what was opened",
        started.elapsed(),
        part.namespaces.size(),
        part.totals.rows,
        grown()
    );
}

struct Source<'a> {
    dir: &'a Path,
    reads: u64,
    bytes: u64,
}

impl Source<'_> {
    fn read(&mut self, shard: &ShardRef, range: Option<Range<u64>>) -> Result<Vec<u8>, SnapshotError> {
        let file = File::open(self.dir.join(shard.name())).expect("it was written");
        let range = range.unwrap_or(0..shard.len);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut bytes, range.start).expect("it was written");
        (self.reads, self.bytes) = (self.reads + 1, self.bytes + bytes.len() as u64);
        Ok(bytes)
    }
}
