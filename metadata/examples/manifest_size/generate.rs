//! Builds the manifest: nothing of it is estimated.

use siltstone_core::{BatchId, CHUNK_ROWS_MAX, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, WriterId};
use siltstone_format::manifest::{
    BatchRecord, BatchState, ByteRange, CheckedRange, ChunkList, ChunkRecord, ChunkState, EpochOwner, EpochRecord, IdBlocks, Manifest, Map,
    NamespaceManifest, ObjectRecord, ObjectState, PackChunk, PackChunks, PackRecord, RetiredBatch, SegmentRecord, SliceRef,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Namespaces; their sizes follow Zipf's law.
pub(crate) const NAMESPACES: u64 = 100_000;
/// The largest namespaces get entries now; all others are idle.
pub(crate) const BUSY: u64 = 1_000;
/// Half of what fits a chunk: what a full one of several writers has on average when it is sealed.
const ROWS_A_CHUNK: u64 = CHUNK_ROWS_MAX as u64 / 2;
const BODY_BYTES_A_ROW: u64 = 150;
const STORED_BYTES_A_ROW: u64 = 20;
const SEGMENT_BYTES_A_ROW: u64 = 5;
const CHUNKS_A_PACK: usize = 512;
const CHUNKS_A_SEGMENT: usize = 4_096;
const OBJECT_BYTES: u64 = 64 << 20;
/// What is kept.
const DAYS: u64 = 30;
const DAY_NS: i64 = 86_400_000_000_000;
const WRITERS: u64 = 20;
/// Each writer flushes twice.
const BATCHES_A_SECOND: u64 = 2 * WRITERS;
const SEAL_AGE_S: u64 = 3_600;
const START_NS: i64 = 1_700_000_000_000_000_000;

pub(crate) struct Builder {
    manifest: Manifest,
    entries: u64,
    id: u64,
    /// Ids that batches take between one object and the next.
    ids_an_object: u64,
    /// Bytes left in the newest object.
    room: u64,
    seed: u64,
}

/// Sealed chunks, and the rows in them.
#[derive(Default)]
pub(crate) struct Sealed {
    pub(crate) chunks: u64,
    pub(crate) rows: u64,
    /// Chunks if each but a namespace's last were full: no chunk has rows of two namespaces.
    pub(crate) chunks_min: u64,
    /// Of namespaces that filled a chunk.
    pub(crate) chunks_of_larger: u64,
    pub(crate) rows_of_larger: u64,
}

impl Builder {
    pub(crate) fn new(entries: u64) -> Self {
        let manifest = Manifest { incarnation: Incarnation(1), version: CommitIndex(1), ..Manifest::default() };
        let batches = (BATCHES_A_SECOND as f64 * DAYS as f64 * 86_400.0 * flushes_with_rows(entries)) as u64;
        let objects = entries * (STORED_BYTES_A_ROW + SEGMENT_BYTES_A_ROW) / OBJECT_BYTES + 1;
        Self { manifest, entries, id: 1, ids_an_object: batches / objects, room: 0, seed: 7 }
    }

    pub(crate) const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

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
            self.id += self.ids_an_object;
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
            let (object, id) = (self.object(rows * SEGMENT_BYTES_A_ROW), SegmentId(self.next_id()));
            let ids: Vec<_> = chunks.iter().map(|chunk| chunk.chunk).collect();
            let chunks = ChunkList::new(&ids).expect("they rise");
            let range = ByteRange { offset: 1_000, len: (rows * SEGMENT_BYTES_A_ROW) as u32 };
            namespace.segments.insert_mut(id, Arc::new(SegmentRecord { id, object, range, footer, definition_version: 1, rows, chunks }));
        }
        self.manifest.names.insert_mut(name, namespace.id);
        self.manifest.namespaces.insert_mut(namespace.id, Arc::new(namespace));
    }

    /// The sealed chunks of all namespaces, with their packs and segments.
    pub(crate) fn sealed(&mut self) -> Sealed {
        let harmonic = harmonic();
        let all = self.entries / ROWS_A_CHUNK;
        let mut sealed = Sealed::default();
        for rank in 1..=NAMESPACES {
            let entries = (self.entries as f64 / harmonic / rank as f64) as u64;
            let count = entries.div_ceil(ROWS_A_CHUNK).max(1);
            // Its chunks lie evenly among all, with some disorder by writers that run ahead; one lives as long as one of its writers takes to fill
            // it. Those of small namespaces may meet, which costs the manifest nothing.
            let (gap, span) = ((all / count).max(1), DAY_NS * DAYS as i64 / count as i64);
            let writers = (WRITERS / rank).max(1) as i64;
            let mut chunks = Vec::with_capacity(count as usize);
            let mut left = entries;
            for position in 0..count {
                let id = position * gap + 1 + self.random(gap);
                let wanted = if position + 1 == count { left.min(CHUNK_ROWS_MAX as u64) } else { (ROWS_A_CHUNK - 64 + self.random(128)).min(left) };
                let rows = wanted.max(1) as u16;
                left = left.saturating_sub(wanted);
                let timestamp_min_ns = START_NS + position as i64 * span + self.random(1_000_000_000) as i64;
                let timestamp_max_ns = timestamp_min_ns + (span * writers).min(DAY_NS) + self.random(1_000_000_000) as i64;
                let body_bytes = u64::from(rows) * BODY_BYTES_A_ROW + self.random(10_000);
                chunks.push(PackChunk { chunk: ChunkId(id), rows, end_offset: rows, timestamp_min_ns, timestamp_max_ns, body_bytes });
            }
            let rows: u64 = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
            sealed.chunks += count;
            sealed.chunks_min += rows.div_ceil(CHUNK_ROWS_MAX as u64);
            sealed.rows += rows;
            if entries >= ROWS_A_CHUNK {
                sealed.chunks_of_larger += count;
                sealed.rows_of_larger += rows;
            }
            self.put_namespace(rank, &chunks);
        }
        sealed
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

    /// The batches that retired within a day. How many.
    pub(crate) fn retired(&mut self) -> u64 {
        let count = ((BATCHES_A_SECOND * 86_400) as f64 * flushes_with_rows(self.entries)) as u64;
        for position in 0..count {
            self.put_batch(0, 50, Some(START_NS / 1_000_000 + position as i64 * 25));
        }
        count
    }

    /// What the last hour brought and no seal has taken yet: in each second, each writer's flushes hold a slice for each namespace that had a row.
    pub(crate) fn live(&mut self) -> u64 {
        let (rows_a_flush, harmonic) = (rows_a_flush(self.entries), harmonic());
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
                if usize::from(first_offset) + usize::from(rows) > CHUNK_ROWS_MAX {
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
    pub(crate) fn finish(self) -> Manifest {
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

fn harmonic() -> f64 {
    (1..=NAMESPACES).map(|rank| 1.0 / rank as f64).sum()
}

fn rows_a_flush(entries: u64) -> f64 {
    entries as f64 / (DAYS * 86_400 * BATCHES_A_SECOND) as f64
}

/// The share of flushes that have a row, so put a batch: rows come independently of each other.
fn flushes_with_rows(entries: u64) -> f64 {
    1.0 - (-rows_a_flush(entries)).exp()
}
