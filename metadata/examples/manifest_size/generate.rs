//! Builds the manifest: nothing of it is estimated.

use siltstone_core::{BatchId, CHUNK_ROWS_MAX, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, WriterId};
use siltstone_format::manifest::{
    BatchRecord, BatchState, ByteRange, CheckedRange, ChunkList, ChunkRecord, ChunkState, EpochOwner, EpochRecord, IdBlocks, Manifest, Map,
    NamespaceManifest, ObjectRecord, ObjectState, PackChunk, PackChunks, PackRecord, RetiredBatch, SegmentRecord, SliceRef,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Namespaces, of which some have entries.
pub(crate) const NAMESPACES: u64 = 100_000;
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
/// A chunk that is not full is closed after so many flushes of its writer: a day, as writers do it.
const FLUSHES_A_DAY: f64 = 2.0 * 86_400.0;
const START_NS: i64 = 1_700_000_000_000_000_000;

/// Who has how many entries: the first `active` namespaces, by Zipf's law, evenly over all the days; the others exist and are empty.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) entries: u64,
    pub(crate) active: u64,
    /// Of all active namespaces together, if the largest has 1.
    sizes: f64,
}

impl Load {
    pub(crate) fn new(entries: u64, active: u64) -> Self {
        Self { entries, active, sizes: (1..=active).map(|rank| 1.0 / rank as f64).sum() }
    }

    fn entries_of(self, rank: u64) -> u64 {
        if rank <= self.active { (self.entries as f64 / self.sizes / rank as f64) as u64 } else { 0 }
    }

    /// The writers of a namespace are few: as many as it needs.
    const fn writers_of(rank: u64) -> u64 {
        let writers = WRITERS / rank;
        if writers == 0 { 1 } else { writers }
    }

    /// Rows of a namespace in a flush of one of its writers.
    fn rows_a_flush(self, rank: u64) -> f64 {
        self.entries_of(rank) as f64 / Self::writers_of(rank) as f64 / (DAYS as f64 * FLUSHES_A_DAY)
    }

    /// Rows that a chunk gets: until it is full, or in the day after its first one.
    fn rows_a_chunk(self, rank: u64) -> f64 {
        (1.0 + self.rows_a_flush(rank) * FLUSHES_A_DAY).min(CHUNK_ROWS_MAX as f64)
    }

    fn chunks_of(self, rank: u64) -> u64 {
        (self.entries_of(rank) as f64 / self.rows_a_chunk(rank)).ceil() as u64
    }

    /// The share of flushes that have a row, so put a batch: rows come independently of each other.
    fn flushes_with_rows(self) -> f64 {
        1.0 - (-(self.entries as f64) / (DAYS * 86_400 * BATCHES_A_SECOND) as f64).exp()
    }
}

pub(crate) struct Builder {
    manifest: Manifest,
    load: Load,
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
}

/// A slice that no seal has taken yet, by time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LiveSlice {
    flush: u64,
    writer: u64,
    rank: u64,
    first_offset: u16,
    rows: u16,
}

impl Builder {
    pub(crate) fn new(load: Load) -> Self {
        let manifest = Manifest { incarnation: Incarnation(1), version: CommitIndex(1), ..Manifest::default() };
        let batches = (BATCHES_A_SECOND as f64 * DAYS as f64 * 86_400.0 * load.flushes_with_rows()) as u64;
        let objects = load.entries * (STORED_BYTES_A_ROW + SEGMENT_BYTES_A_ROW) / OBJECT_BYTES + 1;
        Self { manifest, load, id: 1, ids_an_object: batches / objects, room: 0, seed: 7 }
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

    /// Of 0 to 1, neither of them.
    fn share(&mut self) -> f64 {
        (self.random(1_000_000) as f64 + 0.5) / 1e6
    }

    /// One of the two whole numbers beside it, so that the mean is right.
    fn whole(&mut self, mean: f64) -> u64 {
        mean.trunc() as u64 + u64::from(self.share() < mean.fract())
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
        let load = self.load;
        let all: u64 = (1..=load.active).map(|rank| load.chunks_of(rank)).sum();
        let mut sealed = Sealed::default();
        for rank in 1..=NAMESPACES {
            // Its chunks lie evenly among all, with some disorder by writers that run ahead. Those of small namespaces may meet, which costs the
            // manifest nothing.
            let (count, wanted) = (load.chunks_of(rank).max(1), load.rows_a_chunk(rank));
            let (gap, span) = ((all / count).max(1), DAY_NS * DAYS as i64 / count as i64);
            let writers = Load::writers_of(rank) as i64;
            let mut chunks = Vec::with_capacity(count as usize);
            let mut left = load.entries_of(rank);
            while left > 0 {
                let position = chunks.len() as u64;
                let id = position * gap + 1 + self.random(gap);
                let jitter = if wanted < CHUNK_ROWS_MAX as f64 { 0.9 + 0.2 * self.share() } else { 1.0 };
                let rows = self.whole(wanted * jitter).clamp(1, left.min(CHUNK_ROWS_MAX as u64)) as u16;
                left -= u64::from(rows);
                let timestamp_min_ns = START_NS + position as i64 * span + self.random(1_000_000_000) as i64;
                let timestamp_max_ns = timestamp_min_ns + (span * writers).min(DAY_NS) + self.random(1_000_000_000) as i64;
                let body_bytes = u64::from(rows) * BODY_BYTES_A_ROW + self.random(10_000);
                chunks.push(PackChunk { chunk: ChunkId(id), rows, end_offset: rows, timestamp_min_ns, timestamp_max_ns, body_bytes });
            }
            sealed.chunks += chunks.len() as u64;
            sealed.rows += chunks.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>();
            self.put_namespace(rank, &chunks);
        }
        sealed
    }

    fn put_batch(&mut self, slices: u32, retired_at_ms: Option<i64>) -> BatchId {
        let id = BatchId(self.next_id());
        let record = BatchRecord { id, epoch: Epoch(1), len_bytes: 40_000, footer: CheckedRange { offset: 38_000, len: 2_000, crc32c: 7 } };
        match retired_at_ms {
            Some(at_ms) => {
                let retired = RetiredBatch { id, epoch: Epoch(1), at_ms, footer_crc32c: id.0 as u32, duplicates: &[] };
                self.manifest.retired_batches.insert(retired);
            }
            None => self.manifest.batches.insert_mut(id, Arc::new(BatchState { record, live_slices: slices, slices, duplicates: Box::default() })),
        }
        id
    }

    /// The batches that retired within a day. How many.
    pub(crate) fn retired(&mut self) -> u64 {
        let count = ((BATCHES_A_SECOND * 86_400) as f64 * self.load.flushes_with_rows()) as u64;
        for position in 0..count {
            self.put_batch(50, Some(START_NS / 1_000_000 + position as i64 * 25));
        }
        count
    }

    /// What open chunks have got since they were opened: a slice from each flush of their writer that had a row of their namespace.
    fn live_slices(&mut self) -> Vec<LiveSlice> {
        let mut live = Vec::new();
        for rank in 1..=self.load.active {
            let rows_a_flush = self.load.rows_a_flush(rank);
            let with_rows = -(-rows_a_flush).exp_m1();
            let life_flushes = FLUSHES_A_DAY.min(CHUNK_ROWS_MAX as f64 / rows_a_flush);
            for slot in 0..Load::writers_of(rank) {
                let writer = (rank + slot) % WRITERS;
                let mut flush = FLUSHES_A_DAY - life_flushes * self.share();
                let mut first_offset = 0_u16;
                loop {
                    // The gap between two flushes that have rows is geometric.
                    flush += (self.share().ln() / (-with_rows).ln_1p()).ceil().max(1.0);
                    let rows = self.whole(rows_a_flush / with_rows).max(1) as u16;
                    if flush >= FLUSHES_A_DAY || usize::from(first_offset) + usize::from(rows) > CHUNK_ROWS_MAX {
                        break;
                    }
                    live.push(LiveSlice { flush: flush as u64, writer, rank, first_offset, rows });
                    first_offset += rows;
                }
            }
        }
        live.sort_unstable();
        live
    }

    /// The open chunks and their batches. How many slices they have.
    pub(crate) fn live(&mut self) -> u64 {
        let mut chunks = BTreeMap::<(u64, u64), Vec<SliceRef>>::new();
        let live = self.live_slices();
        for slices in live.chunk_by(|one, next| (one.flush, one.writer) == (next.flush, next.writer)) {
            let batch = self.put_batch(slices.len() as u32, None);
            for &LiveSlice { writer, rank, first_offset, rows, .. } in slices {
                let range = CheckedRange { offset: 5_000, len: 400, crc32c: 7 };
                let slice = SliceRef { batch, range, first_offset, rows, timestamp_min_ns: START_NS, timestamp_max_ns: START_NS + 500_000_000 };
                chunks.entry((rank, writer)).or_default().push(slice);
            }
        }
        let total = live.len() as u64;
        drop(live);
        let mut owner = BTreeMap::<u64, Map<ChunkId, NamespaceId>>::new();
        for ((rank, writer), slices) in chunks {
            let (chunk, namespace) = (ChunkId((1 << 31) + rank * WRITERS + writer), NamespaceId(rank as u32));
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
        let ids: Vec<_> = manifest.namespaces.keys().copied().collect();
        for id in ids {
            let namespace = Arc::make_mut(manifest.namespaces.get_mut(&id).expect("it is there"));
            namespace.totals = namespace.count_totals();
            manifest.totals.add(&namespace.totals);
        }
        manifest.counters.id = self.id + 1;
        (manifest.counters.epoch, manifest.counters.namespace, manifest.counters.chunk) = (1_000, 1_000_000, 1 << 40);
        manifest
    }
}
