//! Opened segments, kept by their id: a segment never changes, so it is read once. One ranged read opens it.

use super::ViewError;
use crate::keys;
use quick_cache::{Weighter, sync::Cache};
use siltstone_core::SegmentId;
use siltstone_format::manifest::{Manifest, SegmentRecord};
use siltstone_segment::SegmentReader;
use siltstone_store::ObjectStore;
use std::sync::Arc;

#[derive(Clone)]
struct Opened {
    reader: Arc<SegmentReader>,
    bytes: u64,
}

#[derive(Clone)]
struct OpenedWeight;

impl Weighter<SegmentId, Opened> for OpenedWeight {
    fn weight(&self, _: &SegmentId, opened: &Opened) -> u64 {
        opened.bytes
    }
}

/// Opens segments and keeps them.
pub(crate) struct Segments {
    store: Arc<dyn ObjectStore>,
    cache: Cache<SegmentId, Opened, OpenedWeight>,
}

/// Segments that the cache's tables are made for.
const SEGMENTS_EXPECTED: usize = 1_024;

/// A reader keeps the segment's bytes, and decoded patterns and indexes beside them: some as much again.
const MEMORY_FACTOR: u64 = 2;

impl Segments {
    pub(super) fn new(store: Arc<dyn ObjectStore>, bytes_max: u64) -> Self {
        Self { store, cache: Cache::with_weighter(SEGMENTS_EXPECTED, bytes_max, OpenedWeight) }
    }

    /// The reader of a segment that the manifest names.
    pub(crate) async fn open(&self, manifest: &Manifest, record: &SegmentRecord) -> Result<Arc<SegmentReader>, ViewError> {
        let opened = self.cache.get_or_insert_async(&record.id, self.read(manifest, record)).await?;
        Ok(opened.reader)
    }

    /// As [`open`](Self::open), for one use: what queries keep is used, and nothing pushes it out.
    pub(crate) async fn open_once(&self, manifest: &Manifest, record: &SegmentRecord) -> Result<Arc<SegmentReader>, ViewError> {
        match self.cache.get(&record.id) {
            Some(opened) => Ok(opened.reader),
            None => Ok(self.read(manifest, record).await?.reader),
        }
    }

    /// Drops segments that were replaced. Views that are open keep theirs.
    pub(crate) fn forget(&self, replaced: &[SegmentId]) {
        self.cache.retain(|segment, _| !replaced.contains(segment));
    }

    async fn read(&self, manifest: &Manifest, record: &SegmentRecord) -> Result<Opened, ViewError> {
        // The epoch in an object's key is that of its maker; the manifest keeps it with the object.
        let epoch = manifest.objects.get(&record.object).map_or_else(Default::default, |object| object.record.epoch);
        let key = keys::of_object(manifest, epoch, record.object);
        let what = || format!("segment {}", record.id);
        let range = record.range.offset..record.range.end();
        let bytes = self.store.get_range(&key, range).await.map_err(|source| ViewError::Store { what: what(), source })?;
        let len = bytes.len() as u64;
        let opened = tokio::task::spawn_blocking(move || SegmentReader::open(bytes)).await.map_err(|_| ViewError::Stopping)?;
        let reader = opened.map_err(|source| ViewError::Segment { segment: record.id, key: key.to_string(), source })?;
        Ok(Opened { reader: Arc::new(reader), bytes: len * MEMORY_FACTOR })
    }
}
