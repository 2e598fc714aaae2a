//! One namespace of a view: its sources, and its rows by address.

use super::chunks::Chunks;
use super::{Inner, ViewError, Views};
use futures::stream::{self, StreamExt, TryStreamExt};
use siltstone_core::{ChunkId, Entry, EntryFlags, NamespaceId, RowAddress};
use siltstone_format::manifest::{Manifest, NamespaceManifest, SliceRef};
use siltstone_segment::{ScanSlice, ScanSource, SegmentSource, Source};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Segments and batches that are read at once when a view is opened cold.
const READS_AT_ONCE: usize = 8;

/// One namespace at one version.
pub struct NamespaceView {
    manifest: Arc<NamespaceManifest>,
    sources: Vec<Box<dyn Source>>,
    live: BTreeMap<ChunkId, Vec<ScanSlice>>,
    chunks: Arc<Chunks>,
    segments: usize,
    live_rows: u64,
}

impl NamespaceView {
    /// The namespace's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The namespace's id.
    #[must_use]
    pub fn id(&self) -> NamespaceId {
        self.manifest.id
    }

    /// All that holds rows; their rows are disjoint.
    #[must_use]
    pub fn sources(&self) -> &[Box<dyn Source>] {
        &self.sources
    }

    pub(super) fn manifest(&self) -> &Arc<NamespaceManifest> {
        &self.manifest
    }

    pub(super) fn chunks(&self) -> &Arc<Chunks> {
        &self.chunks
    }

    pub(super) fn live_slices_of(&self, chunk: ChunkId) -> &[ScanSlice] {
        self.live.get(&chunk).map_or(&[], Vec::as_slice)
    }

    /// Chunks with rows that lie in batches.
    pub(super) fn live_chunks(&self) -> impl Iterator<Item = ChunkId> {
        self.live.keys().copied()
    }

    /// What the sources are, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} segments; {} live rows that are scanned", self.segments, self.live_rows)
    }

    /// The entry at an address; of its vectors the fields alone where it is sealed. Blocks when its columns are not in memory.
    ///
    /// # Errors
    /// [`ViewError`]
    pub fn entry(&self, address: RowAddress) -> Result<(Entry, EntryFlags), ViewError> {
        let offset = address.offset();
        if let Some(slices) = self.live.get(&address.chunk()) {
            let slice = slices.iter().find(|slice| {
                let first = usize::from(slice.first_offset);
                (first..first + slice.rows.len()).contains(&offset)
            });
            let slice = slice.ok_or(ViewError::NoRow { address })?;
            let row = offset - usize::from(slice.first_offset);
            return Ok((slice.rows.entry(row, self.name()), slice.rows.flags(row)));
        }
        let chunk = self.chunks.rows(address.chunk())?;
        let row = u16::try_from(offset).ok().and_then(|offset| chunk.offsets.binary_search(&offset).ok()).ok_or(ViewError::NoRow { address })?;
        Ok((chunk.rows.entry(row, self.name()), chunk.rows.flags(row)))
    }
}

impl Views {
    pub(super) async fn open_namespace(&self, manifest: &Manifest, namespace: &Arc<NamespaceManifest>) -> Result<NamespaceView, ViewError> {
        let inner = &self.inner;
        let chunks = Arc::new(Chunks::new(inner.packs.clone(), inner.indexes.clone(), manifest.clone(), namespace.clone()));
        let open = |record| async move { inner.segments.open(manifest, record).await };
        let records: Vec<_> = namespace.segments.values().map(|record| open(record.as_ref())).collect();
        let readers: Vec<_> = stream::iter(records).buffered(READS_AT_ONCE).try_collect().await?;
        let segments = readers.len();
        let segment_rows: u64 = namespace.segments.values().map(|record| record.rows).sum();
        let mut sources: Vec<Box<dyn Source>> =
            readers.into_iter().map(|reader| Box::new(SegmentSource::new(reader, chunks.clone())) as Box<dyn Source>).collect();
        let live = inner.live_slices(manifest, namespace).await?;
        let live_rows: u64 = live.values().flatten().map(|slice| slice.rows.len() as u64).sum();
        let mut scanned: Vec<ScanSlice> = live.values().flatten().cloned().collect();
        if segment_rows + live_rows != namespace.totals.rows {
            scanned.extend(self.uncovered(namespace, &chunks).await?);
        }
        if !scanned.is_empty() {
            sources.push(Box::new(ScanSource::new(namespace.id, scanned)));
        }
        Ok(NamespaceView { manifest: namespace.clone(), sources, live, chunks, segments, live_rows })
    }

    /// Sealed chunks that no segment covers are scanned, never silently missing.
    async fn uncovered(&self, namespace: &Arc<NamespaceManifest>, chunks: &Arc<Chunks>) -> Result<Vec<ScanSlice>, ViewError> {
        let covered: rustc_hash::FxHashSet<_> = namespace.segments.values().flat_map(|segment| segment.chunks.iter()).collect();
        let missing: Vec<_> =
            namespace.sealed_chunks().filter(|(_, chunk)| chunk.rows > 0 && !covered.contains(&chunk.chunk)).map(|(_, chunk)| chunk.chunk).collect();
        let chunks = chunks.clone();
        tokio::task::spawn_blocking(move || missing.into_iter().map(|chunk| chunks.scan_slices(chunk)).collect::<Result<Vec<_>, _>>())
            .await
            .map_err(|_| ViewError::Stopping)?
            .map(|slices| slices.into_iter().flatten().collect())
    }
}

impl Inner {
    async fn live_slices(&self, manifest: &Manifest, namespace: &NamespaceManifest) -> Result<BTreeMap<ChunkId, Vec<ScanSlice>>, ViewError> {
        let mut wanted = Vec::new();
        for (&chunk, record) in namespace.chunks.iter() {
            wanted.extend(record.slices.iter().map(|slice| (chunk, *slice)));
        }
        let load = |(chunk, slice): (ChunkId, SliceRef)| async move {
            let rows = self.packs.slice_rows(manifest, &self.live, &slice).await?;
            Ok::<_, ViewError>(ScanSlice { chunk, first_offset: slice.first_offset, rows })
        };
        let loading: Vec<_> = wanted.into_iter().map(load).collect();
        let slices: Vec<_> = stream::iter(loading).buffered(READS_AT_ONCE).try_collect().await?;
        let mut by_chunk: BTreeMap<ChunkId, Vec<ScanSlice>> = BTreeMap::new();
        for slice in slices {
            // NS-1 at the last door: a slice of another namespace would be a damaged manifest.
            assert_eq!(slice.rows.namespace, namespace.id, "NS-1: a slice of chunk {} is of another namespace", slice.chunk);
            by_chunk.entry(slice.chunk).or_default().push(slice);
        }
        Ok(by_chunk)
    }
}
