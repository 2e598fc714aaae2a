//! Sealed chunks of one namespace: where a segment gets the columns that it does not hold.

use super::ViewError;
use super::packs::{ChunkVectors, Packs};
use super::vector_indexes::{OpenedIndex, VectorIndexes};
use bytes::Bytes;
use rustc_hash::FxHashMap;
use siltstone_core::{ChunkId, ErrorKind};
use siltstone_format::manifest::{Manifest, NamespaceManifest, PackRecord, VectorIndexRecord};
use siltstone_format::{EntryRef, Rows, RowsBuilder};
use siltstone_segment::{ChunkFetcher, ChunkRows, FetchError, ScanSlice};
use siltstone_vector::ByteRange;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The sealed chunks of a namespace at one version. Its reads block: they are made on query threads.
pub(super) struct Chunks {
    packs: Arc<Packs>,
    indexes: Arc<VectorIndexes>,
    manifest: Manifest,
    namespace: Arc<NamespaceManifest>,
    runtime: tokio::runtime::Handle,
    /// Made when the first chunk is asked for: many answers come from segments alone.
    places: OnceLock<FxHashMap<ChunkId, Arc<PackRecord>>>,
}

impl Chunks {
    pub(super) fn new(packs: Arc<Packs>, indexes: Arc<VectorIndexes>, manifest: Manifest, namespace: Arc<NamespaceManifest>) -> Self {
        Self { packs, indexes, manifest, namespace, runtime: tokio::runtime::Handle::current(), places: OnceLock::new() }
    }

    fn pack_of(&self, chunk: ChunkId) -> Result<&Arc<PackRecord>, ViewError> {
        let places = self.places.get_or_init(|| {
            self.namespace.packs.values().flat_map(|pack| pack.chunks.iter().map(move |chunk| (chunk.chunk, pack.clone()))).collect()
        });
        places.get(&chunk).ok_or(ViewError::NoChunk { chunk })
    }

    /// All rows of a chunk.
    pub(super) fn rows(&self, chunk: ChunkId) -> Result<ChunkRows, ViewError> {
        let pack = self.pack_of(chunk)?;
        let rows = self.runtime.block_on(self.packs.chunk_rows(&self.manifest, pack, chunk))?;
        assert_eq!(rows.rows.namespace, self.namespace.id, "NS-1: chunk {chunk} is of another namespace");
        Ok(rows)
    }

    fn timestamps(&self, chunk: ChunkId) -> Result<Arc<[i64]>, ViewError> {
        let pack = self.pack_of(chunk)?;
        self.runtime.block_on(self.packs.chunk_timestamps(&self.manifest, pack, chunk))
    }

    /// Whether a chunk is among them.
    pub(super) fn has(&self, chunk: ChunkId) -> bool {
        self.pack_of(chunk).is_ok()
    }

    /// The vectors of a chunk, and the offsets of its rows.
    pub(super) fn vectors(&self, chunk: ChunkId) -> Result<(ChunkVectors, Arc<[u16]>), ViewError> {
        let pack = self.pack_of(chunk)?;
        self.runtime.block_on(async {
            let vectors = self.packs.chunk_vectors(&self.manifest, pack, chunk).await?;
            Ok((vectors, self.packs.chunk_offsets(&self.manifest, pack, chunk).await?))
        })
    }

    /// An index over vectors.
    pub(super) fn vector_index(&self, record: &VectorIndexRecord) -> Result<Arc<OpenedIndex>, ViewError> {
        self.runtime.block_on(self.indexes.open(&self.manifest, record))
    }

    /// What is to be said where an index is damaged; any other error stays one.
    pub(super) fn give_up_index(&self, record: &VectorIndexRecord, error: ViewError) -> Result<String, ViewError> {
        self.indexes.give_up(record, error)
    }

    /// Bytes of an opened index.
    pub(super) fn fetch_of_index(&self, opened: &OpenedIndex, range: &ByteRange) -> Result<Bytes, ViewError> {
        self.runtime.block_on(self.indexes.fetch(opened, range))
    }

    /// A chunk's rows as slices that can be scanned: one for each run of offsets without a gap.
    pub(super) fn scan_slices(&self, chunk: ChunkId) -> Result<Vec<ScanSlice>, ViewError> {
        self.scan_slices_from(chunk, 0)
    }

    /// Those of the rows at `first_offset` and after.
    pub(super) fn scan_slices_from(&self, chunk: ChunkId, first_offset: u16) -> Result<Vec<ScanSlice>, ViewError> {
        let ChunkRows { rows, offsets } = self.rows(chunk)?;
        let mut slices = Vec::new();
        let mut start = offsets.partition_point(|offset| *offset < first_offset);
        while start < offsets.len() {
            let end = (start + 1..offsets.len()).find(|at| offsets[*at] != offsets[at - 1] + 1).unwrap_or(offsets.len());
            let rows = if end - start == rows.len() { rows.clone() } else { Arc::new(part_of(&rows, start..end)) };
            slices.push(ScanSlice { chunk, first_offset: offsets[start], rows });
            start = end;
        }
        Ok(slices)
    }
}

impl ChunkFetcher for Chunks {
    fn timestamps(&self, chunk: ChunkId) -> Result<Arc<[i64]>, FetchError> {
        self.timestamps(chunk).map_err(fetch_error)
    }

    fn rows(&self, chunk: ChunkId) -> Result<ChunkRows, FetchError> {
        self.rows(chunk).map_err(fetch_error)
    }
}

/// Some of a block's rows as a block of their own. Rare: only chunks with burned offsets, and the rows that a tail has not seen, are cut.
fn part_of(rows: &Rows, range: Range<usize>) -> Rows {
    let mut builder = RowsBuilder::new(rows.namespace);
    for row in range {
        let entry = rows.entry(row, "");
        let parts = EntryRef {
            body: &entry.body,
            timestamp_ns: rows.timestamps_ns[row],
            severity: entry.severity,
            flags: rows.flags(row),
            deployment: &entry.deployment,
            pod: &entry.pod,
            container: &entry.container,
            attributes: &entry.attributes,
            vectors: &[],
        };
        builder.push(&parts).expect("a part of a block is no larger than the block");
    }
    builder.finish()
}

fn fetch_error(error: ViewError) -> FetchError {
    let kind: ErrorKind = error.kind();
    FetchError { kind, source: Box::new(error) }
}
