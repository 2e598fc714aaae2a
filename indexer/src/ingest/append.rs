//! Where row addresses are given: entries go to the open chunk of their namespace, and leave as the slices of one flush.
//!
//! Pure: no clock of its own, no I/O. What is deliberately not here: admission, the object store, the commit.

use super::admit::{Admitted, FUTURE_NS_MAX};
use rustc_hash::FxHashMap;
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, NamespaceId};
use siltstone_format::command::ClientKey;
use siltstone_format::{EntryRef, Rows, RowsBuilder, rows::ROWS_BYTES_MAX};
use std::collections::VecDeque;

/// Bytes in one chunk at most, as a block of rows counts them (a body twice): one chunk is sealed in memory as a whole. Ordinary chunks, of 2,048
/// lines of some 200 bytes, have 1 MB. Slices of a chunk may repeat what the sealed block has once, never the other way, so it always fits.
const CHUNK_BYTES_MAX: usize = 64 << 20;
const _: () = assert!(CHUNK_BYTES_MAX <= ROWS_BYTES_MAX);

/// Slices of one chunk in one flush are cut by key; entries without a key share one.
type SliceKey = Option<ClientKey>;

/// Rows of one client batch, or of all entries without a key, in one chunk.
#[derive(Debug)]
pub(crate) struct PendingSlice {
    /// The chunk.
    pub chunk: ChunkId,
    /// The offset of the first row.
    pub first_offset: u16,
    /// The rows.
    pub rows: Rows,
    /// What makes the client batch known when it comes again.
    pub key: SliceKey,
    /// Bytes of the rows' bodies.
    pub body_bytes: u64,
}

/// What one flush carries.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    /// In the order of their chunks' offsets.
    pub slices: Vec<PendingSlice>,
    /// Chunks that take no more rows after this flush.
    pub close: Vec<ChunkId>,
}

impl Flush {
    /// Whether there is nothing to put and nothing to say.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.close.is_empty()
    }
}

/// A namespace's entries of one client request.
#[derive(Debug)]
pub(crate) struct ClientBatch {
    /// Whose.
    pub namespace: NamespaceId,
    /// The key, for exactly-once delivery.
    pub key: SliceKey,
    /// What may come in.
    pub entries: Vec<Admitted>,
}

struct OpenChunk {
    id: ChunkId,
    next_offset: u16,
    bytes: usize,
    opened_ns: i64,
    /// The slice that grows, if this flush has one.
    growing: Option<GrowingSlice>,
}

struct GrowingSlice {
    first_offset: u16,
    key: SliceKey,
    builder: RowsBuilder,
    body_bytes: u64,
}

/// Future timestamps live in chunks of their own, so that they do not widen the time range of the others.
type ChunkKey = (NamespaceId, bool);

/// The open chunks of one writer.
#[derive(Default)]
pub(crate) struct Appender {
    open: FxHashMap<ChunkKey, OpenChunk>,
    ids: VecDeque<ChunkId>,
    pending: Vec<PendingSlice>,
    closed: Vec<ChunkId>,
    idle_builders: Vec<RowsBuilder>,
    pending_bytes: usize,
}

impl Appender {
    /// Adds chunk ids that the metadata group gave to this writer's epoch.
    pub(crate) fn add_chunk_ids(&mut self, first: ChunkId, count: u32) {
        self.ids.extend((first.0..first.0 + u64::from(count)).map(ChunkId));
    }

    /// Chunk ids that are left.
    #[must_use]
    pub(crate) fn chunk_ids_left(&self) -> usize {
        self.ids.len()
    }

    /// Chunk ids that appending a batch can need at most.
    #[must_use]
    pub(crate) fn chunk_ids_needed(batch: &ClientBatch) -> usize {
        // One for each kind of chunk that is not open, and one for each time that a chunk fills by rows or by bytes.
        let bytes: usize = batch.entries.iter().map(|admitted| row_of(admitted).block_bytes()).sum();
        2 + 2 * (batch.entries.len() / CHUNK_ROWS_MAX) + 4 * (bytes / CHUNK_BYTES_MAX) + 2
    }

    /// Bytes of bodies and vectors that wait for the next flush.
    #[must_use]
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Whether the next flush has something.
    #[must_use]
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty() || !self.closed.is_empty() || self.open.values().any(|chunk| chunk.growing.is_some())
    }

    /// Open chunks.
    #[must_use]
    pub(crate) fn open_chunks(&self) -> usize {
        self.open.len()
    }

    /// Appends a client batch: each entry gets its row address here (RA-1). The batch goes whole into one flush.
    ///
    /// # Panics
    /// When fewer chunk ids are left than [`chunk_ids_needed`](Self::chunk_ids_needed) said: a bug of the caller.
    pub(crate) fn append(&mut self, batch: &ClientBatch, now_ns: i64) {
        for admitted in &batch.entries {
            let row = row_of(admitted);
            let is_future = admitted.timestamp_ns > now_ns.saturating_add(FUTURE_NS_MAX);
            let key = (batch.namespace, is_future);
            if self.open.get(&key).is_some_and(|chunk| chunk.is_full_for(row.block_bytes())) {
                self.close(key);
            }
            let (ids, builders, pending) = (&mut self.ids, &mut self.idle_builders, &mut self.pending);
            let chunk = self
                .open
                .entry(key)
                .or_insert_with(|| OpenChunk::new(ids.pop_front().expect("the caller added as many chunk ids as a batch can need"), now_ns));
            if chunk.growing.as_ref().is_some_and(|slice| slice.key != batch.key) {
                pending.extend(chunk.cut(builders));
            }
            chunk.push(&row, &batch.key, batch.namespace, builders);
            self.pending_bytes += row.body.len() + row.vectors.iter().map(|vector| size_of_val(vector.values.as_slice())).sum::<usize>();
        }
    }

    fn close(&mut self, key: ChunkKey) {
        if let Some(mut chunk) = self.open.remove(&key) {
            self.pending.extend(chunk.cut(&mut self.idle_builders));
            self.closed.push(chunk.id);
        }
    }

    /// Closes chunks that were opened before a time, so that they are sealed though they never fill.
    pub(crate) fn close_opened_before(&mut self, time_ns: i64) {
        let old: Vec<_> = self.open.iter().filter(|(_, chunk)| chunk.opened_ns < time_ns).map(|(key, _)| *key).collect();
        old.into_iter().for_each(|key| self.close(key));
    }

    /// Takes what the next flush carries. Empty when there is nothing.
    #[must_use]
    pub(crate) fn take_flush(&mut self) -> Flush {
        for chunk in self.open.values_mut() {
            self.pending.extend(chunk.cut(&mut self.idle_builders));
        }
        let mut slices = std::mem::take(&mut self.pending);
        slices.sort_by_key(|slice| (slice.rows.namespace, slice.chunk, slice.first_offset));
        self.pending_bytes = 0;
        Flush { slices, close: std::mem::take(&mut self.closed) }
    }
}

impl OpenChunk {
    fn new(id: ChunkId, opened_ns: i64) -> Self {
        Self { id, next_offset: 0, bytes: 0, opened_ns, growing: None }
    }

    fn is_full_for(&self, bytes: usize) -> bool {
        usize::from(self.next_offset) >= CHUNK_ROWS_MAX || (self.next_offset > 0 && self.bytes + bytes > CHUNK_BYTES_MAX)
    }

    fn push(&mut self, row: &EntryRef<'_>, key: &SliceKey, namespace: NamespaceId, builders: &mut Vec<RowsBuilder>) {
        let first_offset = self.next_offset;
        let slice = self.growing.get_or_insert_with(|| {
            let mut builder = builders.pop().unwrap_or_default();
            builder.restart(namespace);
            GrowingSlice { first_offset, key: key.clone(), builder, body_bytes: 0 }
        });
        slice.builder.push(row).expect("a chunk's rows and bytes are bounded below those of a block, and an entry's by admission");
        slice.body_bytes += row.body.len() as u64;
        self.next_offset += 1;
        self.bytes += row.block_bytes();
    }

    fn cut(&mut self, builders: &mut Vec<RowsBuilder>) -> Option<PendingSlice> {
        let mut slice = self.growing.take()?;
        let rows = slice.builder.finish();
        builders.push(slice.builder);
        Some(PendingSlice { chunk: self.id, first_offset: slice.first_offset, rows, key: slice.key, body_bytes: slice.body_bytes })
    }
}

/// An entry as a block of rows takes it.
pub(super) fn row_of(admitted: &Admitted) -> EntryRef<'_> {
    let entry = &admitted.entry;
    EntryRef {
        body: &entry.body,
        timestamp_ns: admitted.timestamp_ns,
        severity: entry.severity,
        flags: admitted.flags,
        deployment: &entry.deployment,
        pod: &entry.pod,
        container: &entry.container,
        attributes: &entry.attributes,
        vectors: &entry.vectors,
    }
}

#[cfg(test)]
#[path = "append_test.rs"]
mod tests;
