//! The live tier: rows of slices that lie in batches and not yet in packs, in memory.
//!
//! A cache and nothing more: what is not here is read back from the batch. So it is right whatever is in it. What is deliberately not here: which
//! slices a query reads; the manifest says that.

use quick_cache::{Weighter, sync::Cache};
use siltstone_core::BatchId;
use siltstone_format::Rows;
use std::sync::Arc;

/// A slice: its batch, and where its bytes begin in it.
type SliceId = (BatchId, u64);

#[derive(Clone)]
struct RowsWeight;

impl Weighter<SliceId, Arc<Rows>> for RowsWeight {
    fn weight(&self, _: &SliceId, rows: &Arc<Rows>) -> u64 {
        rows.memory_bytes() as u64 + 256
    }
}

/// Rows of live slices.
pub struct LiveRows {
    cache: Cache<SliceId, Arc<Rows>, RowsWeight>,
}

/// Slices that the cache's tables are made for: some 100 KB each in the bytes that it may hold.
const SLICES_EXPECTED: usize = 4_096;

impl LiveRows {
    /// An empty tier that holds so many bytes at most.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self { cache: Cache::with_weighter(SLICES_EXPECTED, bytes_max, RowsWeight) }
    }

    /// Keeps a slice's rows.
    pub fn insert(&self, batch: BatchId, offset: u64, rows: Arc<Rows>) {
        self.cache.insert((batch, offset), rows);
    }

    /// A slice's rows, if they are here.
    #[must_use]
    pub fn get(&self, batch: BatchId, offset: u64) -> Option<Arc<Rows>> {
        self.cache.get(&(batch, offset))
    }

    /// Drops a slice that no manifest names.
    pub fn remove(&self, batch: BatchId, offset: u64) {
        self.cache.remove(&(batch, offset));
    }

    /// Drops the slices of a batch that no manifest names.
    pub fn remove_batch(&self, batch: BatchId) {
        self.cache.retain(|(other, _), _| *other != batch);
    }
}
