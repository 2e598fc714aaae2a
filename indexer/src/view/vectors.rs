//! Opened sets of pattern vectors, kept by their id: a set never changes.

use super::ViewError;
use crate::keys;
use quick_cache::{Weighter, sync::Cache};
use siltstone_core::VectorSetId;
use siltstone_format::manifest::{Manifest, VectorSetRecord};
use siltstone_format::vectors::PatternVectors;
use siltstone_store::ObjectStore;
use std::sync::Arc;

#[derive(Clone)]
struct SetWeight;

impl Weighter<VectorSetId, Arc<PatternVectors>> for SetWeight {
    fn weight(&self, _: &VectorSetId, set: &Arc<PatternVectors>) -> u64 {
        set.heap_bytes() as u64 + 256
    }
}

/// Opens sets and keeps them.
pub(crate) struct VectorSets {
    store: Arc<dyn ObjectStore>,
    cache: Cache<VectorSetId, Arc<PatternVectors>, SetWeight>,
}

/// Sets that the cache's tables are made for.
const SETS_EXPECTED: usize = 1_024;

impl VectorSets {
    pub(super) fn new(store: Arc<dyn ObjectStore>, bytes_max: u64) -> Self {
        Self { store, cache: Cache::with_weighter(SETS_EXPECTED, bytes_max, SetWeight) }
    }

    /// A set that the manifest names.
    pub(crate) async fn open(&self, manifest: &Manifest, record: &VectorSetRecord) -> Result<Arc<PatternVectors>, ViewError> {
        self.cache.get_or_insert_async(&record.id, self.read(manifest, record)).await
    }

    /// As [`open`](Self::open), for one use.
    pub(crate) async fn open_once(&self, manifest: &Manifest, record: &VectorSetRecord) -> Result<Arc<PatternVectors>, ViewError> {
        match self.cache.get(&record.id) {
            Some(set) => Ok(set),
            None => self.read(manifest, record).await,
        }
    }

    /// Drops sets that were replaced. Queries under way keep theirs.
    pub(crate) fn forget(&self, replaced: &[VectorSetId]) {
        self.cache.retain(|set, _| !replaced.contains(set));
    }

    async fn read(&self, manifest: &Manifest, record: &VectorSetRecord) -> Result<Arc<PatternVectors>, ViewError> {
        let epoch = manifest.objects.get(&record.object).map_or_else(Default::default, |object| object.record.epoch);
        let key = keys::of_object(manifest, epoch, record.object);
        let what = || format!("vector set {}", record.id);
        let range = record.byte_range();
        let bytes = self.store.get_range(&key, range.offset..range.end()).await.map_err(|source| ViewError::Store { what: what(), source })?;
        let decoded = tokio::task::spawn_blocking(move || PatternVectors::decode(&bytes)).await.map_err(|_| ViewError::Stopping)?;
        let set = decoded.map_err(|source| ViewError::Vectors { set: record.id, key: key.to_string(), source: Box::new(source) })?;
        // VE-1 at the door: a set of another model would be a damaged manifest.
        if *set.model() != record.model || set.dimension() != usize::from(record.dimension) {
            return Err(ViewError::OtherModel { set: record.id, key: key.to_string(), model: record.model.clone(), found: set.model().clone() });
        }
        Ok(Arc::new(set))
    }
}
