//! Chunks of packs and slices of batches, read by range and kept decoded for a while.
//!
//! What is deliberately not here: where a chunk lies (the manifest), and blocking (`chunks`).

use super::{LiveRows, ViewError};
use crate::keys;
use quick_cache::{Weighter, sync::Cache};
use siltstone_core::{ChunkId, PackId};
use siltstone_format::batch::decode_slice;
use siltstone_format::manifest::{CheckedRange, Manifest, PackRecord, SliceRef};
use siltstone_format::pack::{ChunkEntry, Column, PackPatterns, PackReader};
use siltstone_format::{DecodeError, Rows, VectorColumn};
use siltstone_segment::ChunkRows;
use siltstone_store::{ObjectKey, ObjectStore};
use std::ops::Range;
use std::sync::Arc;

/// A pack whose footer was read, with the patterns that its chunks share.
struct OpenedPack {
    key: ObjectKey,
    reader: PackReader,
    patterns: PackPatterns,
    bytes: u64,
}

#[derive(Clone)]
struct Weights;

impl Weighter<PackId, Arc<OpenedPack>> for Weights {
    fn weight(&self, _: &PackId, opened: &Arc<OpenedPack>) -> u64 {
        opened.bytes
    }
}

/// A chunk's place: repacking moves chunks, and both places are right.
type ChunkPlace = (PackId, ChunkId);

impl Weighter<ChunkPlace, ChunkRows> for Weights {
    fn weight(&self, _: &ChunkPlace, chunk: &ChunkRows) -> u64 {
        chunk.rows.memory_bytes() as u64 + 2 * chunk.offsets.len() as u64 + 64
    }
}

impl Weighter<ChunkPlace, Arc<[i64]>> for Weights {
    fn weight(&self, _: &ChunkPlace, times: &Arc<[i64]>) -> u64 {
        8 * times.len() as u64 + 64
    }
}

/// The vectors of a chunk, by field; rows are those of the pack, which [`Packs::chunk_offsets`] gives the offsets of.
pub(crate) type ChunkVectors = Arc<[VectorColumn]>;

impl Weighter<ChunkPlace, ChunkVectors> for Weights {
    fn weight(&self, _: &ChunkPlace, vectors: &ChunkVectors) -> u64 {
        64 + vectors.iter().map(|column| 64 + 4 * (column.rows.len() + column.values.len()) as u64).sum::<u64>()
    }
}

/// Reads packs and batches.
pub(crate) struct Packs {
    store: Arc<dyn ObjectStore>,
    packs: Cache<PackId, Arc<OpenedPack>, Weights>,
    rows: Cache<ChunkPlace, ChunkRows, Weights>,
    times: Cache<ChunkPlace, Arc<[i64]>, Weights>,
    vectors: Cache<ChunkPlace, ChunkVectors, Weights>,
}

/// Chunks that the caches' tables are made for: some 0.5 MB a decoded chunk.
const CHUNKS_EXPECTED: usize = 2_048;

/// Footers and shared patterns that are kept, as a part of the memory for chunks.
const PACK_SHARE: u64 = 4;

/// Timestamps that are kept: 16 KB a chunk, so many chunks in a small part of the memory.
const TIMES_SHARE: u64 = 4;

impl Packs {
    pub(super) fn new(store: Arc<dyn ObjectStore>, bytes_max: u64) -> Self {
        Self {
            store,
            packs: Cache::with_weighter(CHUNKS_EXPECTED, bytes_max / PACK_SHARE, Weights),
            rows: Cache::with_weighter(CHUNKS_EXPECTED, bytes_max, Weights),
            vectors: Cache::with_weighter(CHUNKS_EXPECTED, bytes_max, Weights),
            times: Cache::with_weighter(CHUNKS_EXPECTED * 8, bytes_max / TIMES_SHARE, Weights),
        }
    }

    /// All rows of a chunk of a pack; of their vectors the fields alone.
    pub(crate) async fn chunk_rows(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<ChunkRows, ViewError> {
        self.rows.get_or_insert_async(&(pack.id, chunk), self.read_chunk_rows(manifest, pack, chunk, false)).await
    }

    /// As [`chunk_rows`](Self::chunk_rows) with vectors, for one use: what queries keep is used, and nothing pushes it out.
    pub(crate) async fn chunk_rows_once(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<ChunkRows, ViewError> {
        match self.rows.get(&(pack.id, chunk)) {
            Some(rows) if rows.rows.vectors.is_empty() => Ok(rows),
            _ => self.read_chunk_rows(manifest, pack, chunk, true).await,
        }
    }

    async fn read_chunk_rows(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId, with_vectors: bool) -> Result<ChunkRows, ViewError> {
        let opened = self.open(manifest, pack).await?;
        let entry = entry_of(&opened, chunk)?;
        let range = if with_vectors { entry.range_of_all() } else { entry.range_without_vectors() };
        let bytes = self.read(&opened.key, || format!("chunk {chunk}"), range.offset..range.end()).await?;
        let rows = match with_vectors {
            true => opened.reader.decode_rows(entry, &opened.patterns, &bytes),
            false => opened.reader.decode_rows_without_vectors(entry, &opened.patterns, &bytes),
        };
        let rows = rows.map_err(corrupt(&opened.key, || format!("chunk {chunk}")))?;
        Ok(ChunkRows { offsets: offsets_of(entry, rows.len()), rows: Arc::new(rows) })
    }

    /// The vectors of a chunk of a pack.
    pub(crate) async fn chunk_vectors(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<ChunkVectors, ViewError> {
        self.vectors.get_or_insert_async(&(pack.id, chunk), self.read_chunk_vectors(manifest, pack, chunk)).await
    }

    /// As [`chunk_vectors`](Self::chunk_vectors), for one use.
    pub(crate) async fn chunk_vectors_once(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<ChunkVectors, ViewError> {
        match self.vectors.get(&(pack.id, chunk)) {
            Some(vectors) => Ok(vectors),
            None => self.read_chunk_vectors(manifest, pack, chunk).await,
        }
    }

    async fn read_chunk_vectors(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<ChunkVectors, ViewError> {
        let opened = self.open(manifest, pack).await?;
        let entry = entry_of(&opened, chunk)?;
        if !entry.has_vectors() {
            return Ok(Arc::new([]));
        }
        let what = || format!("vectors of chunk {chunk}");
        let range = entry.range_of_vectors();
        let bytes = self.read(&opened.key, what, range.offset..range.end()).await?;
        Ok(opened.reader.decode_vectors(entry, &bytes).map_err(corrupt(&opened.key, what))?.into())
    }

    /// The offsets of the rows of a chunk of a pack, row by row.
    pub(crate) async fn chunk_offsets(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<Arc<[u16]>, ViewError> {
        let opened = self.open(manifest, pack).await?;
        let entry = entry_of(&opened, chunk)?;
        Ok(offsets_of(entry, entry.rows as usize))
    }

    /// Drops what is kept of packs that were replaced.
    pub(crate) fn forget(&self, replaced: &[PackId]) {
        self.packs.retain(|pack, _| !replaced.contains(pack));
        self.rows.retain(|(pack, _), _| !replaced.contains(pack));
        self.times.retain(|(pack, _), _| !replaced.contains(pack));
        self.vectors.retain(|(pack, _), _| !replaced.contains(pack));
    }

    /// The timestamps of a chunk of a pack, row by row.
    pub(crate) async fn chunk_timestamps(&self, manifest: &Manifest, pack: &PackRecord, chunk: ChunkId) -> Result<Arc<[i64]>, ViewError> {
        let read = async {
            let opened = self.open(manifest, pack).await?;
            let entry = entry_of(&opened, chunk)?;
            let what = || format!("timestamps of chunk {chunk}");
            let range = entry.range(Column::Meta);
            let bytes = self.read(&opened.key, what, bytes_of(range)).await?;
            let times = opened.reader.decode_timestamps(entry, &bytes).map_err(corrupt(&opened.key, what))?;
            Ok(times.into())
        };
        self.times.get_or_insert_async(&(pack.id, chunk), read).await
    }

    /// The rows of a slice: from the live tier, else from its batch.
    pub(crate) async fn slice_rows(&self, manifest: &Manifest, live: &LiveRows, slice: &SliceRef) -> Result<Arc<Rows>, ViewError> {
        if let Some(rows) = live.get(slice.batch, slice.range.offset) {
            return Ok(rows);
        }
        let epoch = manifest.batches.get(&slice.batch).ok_or(ViewError::UnknownBatch { batch: slice.batch })?.record.epoch;
        let key = keys::of_batch(manifest, epoch, slice.batch);
        let what = || format!("a slice of batch {}", slice.batch);
        let bytes = self.read(&key, what, bytes_of(slice.range)).await?;
        let rows = Arc::new(decode_slice(&bytes, &slice.range).map_err(corrupt(&key, what))?);
        live.insert(slice.batch, slice.range.offset, rows.clone());
        Ok(rows)
    }

    async fn open(&self, manifest: &Manifest, pack: &PackRecord) -> Result<Arc<OpenedPack>, ViewError> {
        let read = async {
            let object = manifest.objects.get(&pack.object).ok_or(ViewError::UnknownObject { pack: pack.id })?;
            let epoch = object.record.epoch;
            let key = keys::of_object(manifest, epoch, pack.object);
            let what = || format!("the footer of pack {}", pack.id);
            let bytes = self.read(&key, what, bytes_of(pack.footer)).await?;
            let reader = PackReader::open(&bytes, &pack.footer, &pack.range).map_err(corrupt(&key, what))?;
            let what = || format!("the patterns of pack {}", pack.id);
            let at = reader.patterns_range();
            let patterns = self.read(&key, what, bytes_of(at)).await?;
            let patterns = reader.decode_patterns(&patterns).map_err(corrupt(&key, what))?;
            // Patterns are kept decoded: a few times what they are compressed.
            let bytes = bytes.len() as u64 * 4 + u64::from(at.len) * 8 + 256;
            Ok(Arc::new(OpenedPack { key, reader, patterns, bytes }))
        };
        self.packs.get_or_insert_async(&pack.id, read).await
    }

    async fn read<F>(&self, key: &ObjectKey, what: F, range: Range<u64>) -> Result<bytes::Bytes, ViewError>
    where
        F: FnOnce() -> String,
    {
        self.store.get_range(key, range).await.map_err(|source| ViewError::Store { what: what(), source })
    }
}

fn bytes_of(range: CheckedRange) -> Range<u64> {
    range.offset..range.range().end()
}

fn entry_of(opened: &OpenedPack, chunk: ChunkId) -> Result<&ChunkEntry, ViewError> {
    opened.reader.chunk(chunk).ok_or(ViewError::NoChunk { chunk })
}

fn offsets_of(entry: &ChunkEntry, rows: usize) -> Arc<[u16]> {
    (0..rows).filter_map(|row| entry.offset_of(row)).filter_map(|offset| u16::try_from(offset).ok()).collect()
}

fn corrupt<F>(key: &ObjectKey, what: F) -> impl FnOnce(DecodeError) -> ViewError
where
    F: FnOnce() -> String,
{
    move |source| ViewError::Corrupt { what: what(), key: key.to_string(), source }
}
