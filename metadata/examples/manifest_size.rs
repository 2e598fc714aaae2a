//! Prints what a manifest takes in memory and as a snapshot, at ten billion entries:
//! `cargo run --release -p siltstone-metadata --example manifest_size [ENTRIES]`.
//!
//! The state is built, not estimated: 1,000 busy namespaces whose sizes follow Zipf's law, 100,000 idle ones with one small chunk each, chunks half
//! full, packs of at most 512 chunks, segments over at most 4,096, 30 days of data, 20 writers that flush twice a second, chunks sealed after an
//! hour at the latest, and a day of retired batches. Memory is the growth of the process's resident set.

use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, WriterId};
use siltstone_format::manifest::{
    BatchRecord, BatchState, ByteRange, CheckedRange, ChunkList, ChunkRecord, ChunkState, EpochOwner, EpochRecord, IdBlocks, Manifest, Map,
    NamespaceManifest, ObjectRecord, ObjectState, PackChunk, PackChunks, PackRecord, RetiredBatch, SegmentRecord, SliceRef,
};
use siltstone_format::snapshot::{decode_blob, encode_blob};
use std::collections::BTreeMap;
use std::sync::Arc;

const BUSY: u64 = 1_000;
const IDLE: u64 = 100_000;
const ROWS_A_CHUNK: u64 = 1_024;
const ROWS_OF_IDLE: u64 = 20;
const BODY_BYTES_A_ROW: u64 = 150;
const STORED_BYTES_A_ROW: u64 = 20;
const CHUNKS_A_PACK: usize = 512;
const CHUNKS_A_SEGMENT: usize = 4_096;
const OBJECT_BYTES: u64 = 64 << 20;
const DAYS: u64 = 30;
const DAY_NS: i64 = 86_400_000_000_000;
const WRITERS: u64 = 20;
const BATCHES_A_SECOND: u64 = 2 * WRITERS;
const SEAL_AGE_S: u64 = 3_600;
const START_NS: i64 = 1_700_000_000_000_000_000;

fn main() {
    let entries = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000_000_000_u64);
    let mut builder =
        Builder { manifest: Manifest { incarnation: Incarnation(1), version: CommitIndex(1), ..Manifest::default() }, id: 1, room: 0, seed: 7 };
    let mut last = resident_bytes();
    let mut report = |what: &str, count: u64, unit: &str| {
        let now = resident_bytes();
        let grown = now.saturating_sub(last);
        println!("{what:<44} {:>8.1} MB {count:>12} {unit:<20} {:>7.1} B each", grown as f64 / 1e6, grown as f64 / count.max(1) as f64);
        last = now;
    };
    println!("{entries} entries");
    let chunks = builder.sealed(entries);
    report("sealed chunks of busy namespaces", chunks, "chunks");
    let sealed: usize = builder.manifest.namespaces.values().flat_map(|space| space.packs.values()).map(|pack| pack.chunks.len_bytes()).sum();
    let listed: usize =
        builder.manifest.namespaces.values().flat_map(|space| space.segments.values()).map(|segment| segment.chunks.len_bytes()).sum();
    println!("  of that in packs {:.1} B a chunk, in segments {:.1} B a chunk", sealed as f64 / chunks as f64, listed as f64 / chunks as f64);
    builder.idle();
    report("idle namespaces, each a chunk, pack, segment", IDLE, "namespaces");
    let retired = BATCHES_A_SECOND * 86_400;
    builder.retired(retired);
    report("batches that retired within a day", retired, "batches");
    let slices = builder.live(entries);
    report("slices of chunks that are not sealed", slices, "slices");
    let manifest = builder.finish();
    println!("resident in all {:.1} MB", resident_bytes() as f64 / 1e6);

    let started = std::time::Instant::now();
    let blob = encode_blob(&manifest).expect("no shard is past 4 GiB");
    println!("snapshot {:.1} MB, written in {:?}", blob.len() as f64 / 1e6, started.elapsed());
    let started = std::time::Instant::now();
    let again = decode_blob(&blob).expect("it was just written");
    println!("read in {:?}, {} rows", started.elapsed(), again.totals.rows);
    assert_eq!(again.totals.rows, manifest.totals.rows);
}

struct Builder {
    manifest: Manifest,
    id: u64,
    /// Bytes left in the newest object.
    room: u64,
    seed: u64,
}

impl Builder {
    fn next_id(&mut self) -> u64 {
        self.id += 1;
        self.id
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below.max(1)
    }

    /// An object with room for a part of this many bytes.
    fn object(&mut self, bytes: u64) -> ObjectId {
        if self.room < bytes || self.manifest.objects.is_empty() {
            let id = ObjectId(self.next_id());
            self.room = OBJECT_BYTES;
            let record = ObjectRecord { id, epoch: Epoch(1), len_bytes: OBJECT_BYTES, footer: CheckedRange { offset: 1, len: 1, crc32c: 1 } };
            self.manifest.objects.insert_mut(id, ObjectState { record, parts: 0, retired_at_ms: None });
        }
        self.room = self.room.saturating_sub(bytes);
        let id = *self.manifest.objects.last().expect("there is one").0;
        self.manifest.objects.get_mut(&id).expect("there is one").parts += 1;
        id
    }

    fn put_namespace(&mut self, id: u64, chunks: &[PackChunk]) {
        let name: Arc<str> = format!("cluster-1/namespace-{id}").into();
        let mut namespace = NamespaceManifest::new(NamespaceId(id as u32), name.clone(), 0);
        let footer = CheckedRange { offset: 1_000, len: 500, crc32c: 7 };
        for chunks in chunks.chunks(CHUNKS_A_PACK) {
            let bytes = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>() * STORED_BYTES_A_ROW;
            let (object, id) = (self.object(bytes), PackId(self.next_id()));
            let range = ByteRange { offset: 1_000, len: bytes as u32 };
            let chunks = PackChunks::new(chunks).expect("they rise");
            namespace.packs.insert_mut(id, Arc::new(PackRecord { id, object, range, footer, chunks }));
        }
        for chunks in chunks.chunks(CHUNKS_A_SEGMENT) {
            let rows = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>();
            let (object, id) = (self.object(rows * 5), SegmentId(self.next_id()));
            let ids: Vec<_> = chunks.iter().map(|chunk| chunk.chunk).collect();
            let chunks = ChunkList::new(&ids).expect("they rise");
            let range = ByteRange { offset: 1_000, len: (rows * 5) as u32 };
            namespace.segments.insert_mut(id, Arc::new(SegmentRecord { id, object, range, footer, definition_version: 1, rows, chunks }));
        }
        self.manifest.names.insert_mut(name, namespace.id);
        self.manifest.namespaces.insert_mut(namespace.id, Arc::new(namespace));
    }

    fn sealed(&mut self, entries: u64) -> u64 {
        let harmonic: f64 = (1..=BUSY).map(|rank| 1.0 / rank as f64).sum();
        let all = entries / ROWS_A_CHUNK;
        let mut total = 0;
        for rank in 1..=BUSY {
            let count = ((all as f64 / harmonic / rank as f64) as u64).max(1);
            // Its chunks lie evenly among all, with some disorder by writers that run ahead; one lives as long as one of its writers takes to fill
            // it.
            let (gap, span) = (all / count, DAY_NS * DAYS as i64 / count as i64);
            let writers = (WRITERS / rank).max(1) as i64;
            let mut ids: Vec<u64> = (0..count).map(|chunk| chunk * gap + 1 + self.random(gap)).collect();
            ids.dedup();
            total += ids.len() as u64;
            let mut chunks = Vec::with_capacity(ids.len());
            for (position, &id) in (0_i64..).zip(&ids) {
                let timestamp_min_ns = START_NS + position * span + self.random(1_000_000_000) as i64;
                let timestamp_max_ns = timestamp_min_ns + (span * writers).min(DAY_NS) + self.random(1_000_000_000) as i64;
                let rows = (ROWS_A_CHUNK - 64 + self.random(128)) as u16;
                let body_bytes = u64::from(rows) * BODY_BYTES_A_ROW + self.random(10_000);
                chunks.push(PackChunk { chunk: ChunkId(id), rows, end_offset: rows, timestamp_min_ns, timestamp_max_ns, body_bytes });
            }
            self.put_namespace(rank, &chunks);
        }
        total
    }

    fn idle(&mut self) {
        for id in BUSY + 1..=BUSY + IDLE {
            let (chunk, rows) = (ChunkId((1 << 30) + id), ROWS_OF_IDLE as u16);
            let chunk =
                PackChunk { chunk, rows, end_offset: rows, timestamp_min_ns: START_NS, timestamp_max_ns: START_NS + DAY_NS, body_bytes: 3_000 };
            self.put_namespace(id, &[chunk]);
        }
    }

    fn put_batch(&mut self, live_slices: u32, slices: u32, retired_at_ms: Option<i64>) -> BatchId {
        let id = BatchId(self.next_id());
        let record = BatchRecord { id, epoch: Epoch(1), len_bytes: 40_000, footer: CheckedRange { offset: 38_000, len: 2_000, crc32c: 7 } };
        match retired_at_ms {
            Some(at_ms) => {
                let retired = RetiredBatch { id, epoch: Epoch(1), at_ms, footer_crc32c: id.0 as u32, duplicates: &[] };
                self.manifest.retired_batches.insert(retired);
            }
            None => self.manifest.batches.insert_mut(id, Arc::new(BatchState { record, live_slices, slices, duplicates: Box::default() })),
        }
        id
    }

    fn retired(&mut self, count: u64) {
        for position in 0..count {
            self.put_batch(0, 50, Some(START_NS / 1_000_000 + position as i64 * 25));
        }
    }

    /// What the last hour brought and no seal has taken yet: in each second, each writer's flushes hold a slice for each namespace that had a row.
    fn live(&mut self, entries: u64) -> u64 {
        let rows_a_flush = entries as f64 / (DAYS * 86_400 * BATCHES_A_SECOND) as f64;
        let harmonic: f64 = (1..=BUSY).map(|rank| 1.0 / rank as f64).sum();
        let mut chunks = BTreeMap::<(u64, u64), Vec<SliceRef>>::new();
        let mut ends = BTreeMap::<(u64, u64), u16>::new();
        let mut total = 0;
        for flush in 0..SEAL_AGE_S * BATCHES_A_SECOND {
            let writer = flush % WRITERS;
            let mut parts = Vec::new();
            for rank in 1..=BUSY {
                // The writers of a namespace are few: as many as it needs.
                let writers = (WRITERS / rank).max(1);
                if (writer + rank) % WRITERS >= writers {
                    continue;
                }
                let rows = rows_a_flush * WRITERS as f64 / writers as f64 / harmonic / rank as f64;
                let rows = rows.trunc() as u16 + u16::from(self.random(1_000_000) as f64 / 1e6 < rows.fract());
                if rows != 0 {
                    parts.push((rank, rows));
                }
            }
            if parts.is_empty() {
                continue;
            }
            let batch = BatchId(self.id + 1);
            let mut live = 0;
            for &(rank, rows) in &parts {
                let end = ends.entry((rank, writer)).or_default();
                let first_offset = *end;
                if usize::from(first_offset) + usize::from(rows) > 2_048 {
                    // Full, and sealed soon after: its slices are gone.
                    chunks.remove(&(rank, writer));
                    *end = 0;
                    continue;
                }
                *end += rows;
                live += 1;
                let range = CheckedRange { offset: 5_000, len: 400, crc32c: 7 };
                let slice = SliceRef { batch, range, first_offset, rows, timestamp_min_ns: START_NS, timestamp_max_ns: START_NS + 500_000_000 };
                chunks.entry((rank, writer)).or_default().push(slice);
            }
            self.put_batch(live, parts.len() as u32, None);
        }
        let mut owner = BTreeMap::<u64, Map<ChunkId, NamespaceId>>::new();
        for ((rank, writer), slices) in chunks {
            let (chunk, namespace) = (ChunkId((1 << 31) + rank * WRITERS + writer), NamespaceId(rank as u32));
            total += slices.len() as u64;
            let next_offset = slices.last().map_or(0, |slice| slice.first_offset + slice.rows);
            let record = ChunkRecord {
                writer: WriterId(writer as u32),
                epoch: Epoch(10 + writer),
                state: ChunkState::Open,
                next_offset,
                rows: slices.iter().map(|slice| slice.rows).sum(),
                opened_at_ms: 0,
                timestamp_min_ns: START_NS,
                timestamp_max_ns: START_NS + 500_000_000,
                body_bytes: 1,
                slices: slices.into_iter().collect(),
            };
            let space = Arc::make_mut(self.manifest.namespaces.get_mut(&namespace).expect("it is busy"));
            space.chunks.insert_mut(chunk, Arc::new(record));
            owner.entry(writer).or_default().insert_mut(chunk, namespace);
        }
        for (writer, open_chunks) in owner {
            let owner = EpochOwner::Writer(WriterId(writer as u32));
            let record = EpochRecord { owner, registered_at_ms: 0, chunk_ids: IdBlocks::default(), ids: IdBlocks::default(), open_chunks };
            self.manifest.epochs.insert_mut(Epoch(10 + writer), Arc::new(record));
        }
        total
    }

    /// Brings what is counted in line.
    fn finish(self) -> Manifest {
        let mut manifest = self.manifest;
        let mut live = BTreeMap::<BatchId, u32>::new();
        let ids: Vec<_> = manifest.namespaces.keys().copied().collect();
        for id in ids {
            let namespace = Arc::make_mut(manifest.namespaces.get_mut(&id).expect("it is there"));
            namespace.totals = namespace.count_totals();
            manifest.totals.add(&namespace.totals);
            namespace.chunks.values().flat_map(|chunk| chunk.slices.iter()).for_each(|slice| *live.entry(slice.batch).or_default() += 1);
        }
        let batches: Vec<_> = manifest.batches.keys().copied().collect();
        for id in batches {
            match live.get(&id) {
                Some(&count) => Arc::make_mut(manifest.batches.get_mut(&id).expect("it is there")).live_slices = count,
                None => _ = manifest.batches.remove_mut(&id),
            }
        }
        manifest.counters.id = self.id + 1;
        (manifest.counters.epoch, manifest.counters.namespace, manifest.counters.chunk) = (1_000, 1_000_000, 1 << 40);
        manifest
    }
}

/// Bytes of this process that lie in memory; 0 where the system does not say.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}
