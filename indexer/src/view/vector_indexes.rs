//! Opened indexes over entries' vectors, kept by their id: an index never changes.
//!
//! An index is opened by range: its graph and codes are read, full vectors too where there is room for them; else they are fetched for the rows that
//! are scored.

use super::ViewError;
use super::damage::DamagedIndexes;
use crate::keys;
use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use siltstone_core::{RowAddress, VectorIndexId};
use siltstone_format::addresses::decode_addresses;
use siltstone_format::manifest::{Manifest, VectorIndexRecord};
use siltstone_store::{ObjectKey, ObjectStore};
use siltstone_vector::{ByteRange, Open, OpenStep, Residence, VectorIndex};
use std::sync::Arc;

/// An index whose head was read.
pub(crate) struct OpenedIndex {
    pub(crate) record: VectorIndexRecord,
    pub(crate) index: Box<dyn VectorIndex>,
    /// Of each row, rising.
    pub(crate) addresses: Vec<RowAddress>,
    pub(crate) key: ObjectKey,
}

#[derive(Clone)]
struct IndexWeight;

impl Weighter<VectorIndexId, Arc<OpenedIndex>> for IndexWeight {
    fn weight(&self, _: &VectorIndexId, opened: &Arc<OpenedIndex>) -> u64 {
        (opened.index.memory_bytes() + size_of_val(opened.addresses.as_slice())) as u64 + 256
    }
}

/// Opens indexes and keeps them.
pub(crate) struct VectorIndexes {
    store: Arc<dyn ObjectStore>,
    cache: Cache<VectorIndexId, Arc<OpenedIndex>, IndexWeight>,
    bytes_max: u64,
    damaged: DamagedIndexes,
}

/// Indexes that the cache's tables are made for.
const INDEXES_EXPECTED: usize = 256;

/// An index is wholly in memory where it takes no more than this part of the memory for indexes.
const WHOLE_PART: u64 = 4;

impl VectorIndexes {
    pub(super) fn new(store: Arc<dyn ObjectStore>, bytes_max: u64) -> Self {
        Self { store, cache: Cache::with_weighter(INDEXES_EXPECTED, bytes_max, IndexWeight), bytes_max, damaged: DamagedIndexes::default() }
    }

    /// An index that the manifest names.
    pub(crate) async fn open(&self, manifest: &Manifest, record: &VectorIndexRecord) -> Result<Arc<OpenedIndex>, ViewError> {
        if let Some(text) = self.damaged.text_of(record.id) {
            return Err(ViewError::DamagedIndex { text });
        }
        self.cache.get_or_insert_async(&record.id, self.read(manifest, record)).await
    }

    /// Drops indexes that were replaced. Queries under way keep theirs.
    pub(crate) fn forget(&self, replaced: &[VectorIndexId]) {
        self.cache.retain(|index, _| !replaced.contains(index));
        self.damaged.forget(replaced);
    }

    /// Goes on without an index that can't be read, where that is for damage; what is to be said of the answer.
    pub(crate) fn give_up(&self, record: &VectorIndexRecord, error: ViewError) -> Result<String, ViewError> {
        let text = self.damaged.note(record, error)?;
        self.cache.remove(&record.id);
        Ok(text)
    }

    /// Those that were found damaged.
    pub(crate) const fn damaged(&self) -> &DamagedIndexes {
        &self.damaged
    }

    /// Bytes of an opened index.
    pub(crate) async fn fetch(&self, opened: &OpenedIndex, range: &ByteRange) -> Result<Bytes, ViewError> {
        self.fetch_of(&opened.record, &opened.key, range).await
    }

    async fn fetch_of(&self, record: &VectorIndexRecord, key: &ObjectKey, range: &ByteRange) -> Result<Bytes, ViewError> {
        let (start, end) = (record.range.offset.saturating_add(range.start), record.range.offset.saturating_add(range.end));
        self.store.get_range(key, start..end).await.map_err(|source| ViewError::Store { what: format!("vector index {}", record.id), source })
    }

    async fn read(&self, manifest: &Manifest, record: &VectorIndexRecord) -> Result<Arc<OpenedIndex>, ViewError> {
        let epoch = manifest.objects.get(&record.object).map_or_else(Default::default, |object| object.record.epoch);
        let key = keys::of_object(manifest, epoch, record.object);
        let what = format!("the addresses of vector index {}", record.id);
        let at = record.addresses.range();
        let bytes = self.store.get_range(&key, at.offset..at.end()).await.map_err(|source| ViewError::Store { what, source })?;
        let addresses = decode_addresses(&bytes, &record.addresses).map_err(|source| ViewError::IndexAddresses {
            index: record.id,
            key: key.to_string(),
            source,
        })?;
        let is_small = u64::from(record.range.len) <= self.bytes_max / WHOLE_PART;
        let mut open = Open::new(u64::from(record.range.len), if is_small { Residence::ALL } else { Residence::CODES });
        let damaged = |source| ViewError::VectorIndex { index: record.id, key: key.to_string(), source };
        let mut fetched = Vec::new();
        let index = loop {
            match open.advance(&fetched).map_err(damaged)? {
                OpenStep::Done(index) => break index,
                OpenStep::Fetch(ranges) => {
                    fetched.clear();
                    for range in &ranges {
                        fetched.push(self.fetch_of(record, &key, range).await?);
                    }
                }
            }
        };
        // An index of another field, or with other rows, would be a damaged manifest.
        let is_of_field = index.space().source() == record.field && index.space().dimension() == usize::from(record.dimension);
        if !is_of_field || index.rows() as usize != addresses.len() || index.rows() != record.vectors {
            return Err(ViewError::OtherIndex { index: record.id, key: key.to_string() });
        }
        Ok(Arc::new(OpenedIndex { record: record.clone(), index, addresses, key }))
    }
}
