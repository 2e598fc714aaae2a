//! Which sealed chunks of a namespace get an index over their vectors of a field, and which indexes are joined on the way. Pure.
//!
//! A new index takes along those that are no larger than some times itself, so each vector is indexed again a number of times that grows with the
//! logarithm of their number, and a namespace has few indexes: fewer, larger graphs find more.

use siltstone_core::{ChunkId, VectorIndexId};
use siltstone_format::manifest::{NamespaceManifest, PackRecord, VectorFieldRecord, VectorIndexRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// When vectors are indexed.
#[derive(Clone, Copy, Debug)]
pub struct IndexConfig {
    /// Rows without an index are scanned until there are so many: below, no graph pays.
    pub rows_min: u64,
    /// Vectors of one index at most: what its builder holds in memory.
    pub vectors_max: u64,
    /// An index is built anew with new vectors where it has no more than so many times theirs.
    pub growth: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self { rows_min: siltstone_vector::GRAPH_ROWS_MIN as u64, vectors_max: 1 << 20, growth: 2 }
    }
}

/// What becomes one index.
#[derive(Clone, Debug)]
pub struct IndexPlan {
    /// The field.
    pub field: Arc<VectorFieldRecord>,
    /// The chunks, rising, and where each lies.
    pub chunks: BTreeMap<ChunkId, Arc<PackRecord>>,
    /// Indexes that it replaces.
    pub replaced: Vec<Arc<VectorIndexRecord>>,
}

impl IndexPlan {
    /// What builds a damaged index anew, alone and of the same chunks: it has the bytes that it had.
    #[must_use]
    pub fn rebuilt(namespace: &NamespaceManifest, field: &Arc<VectorFieldRecord>, is_damaged: &dyn Fn(VectorIndexId) -> bool) -> Option<Self> {
        let index = namespace.vector_indexes.values().find(|index| index.field == field.name && is_damaged(index.id))?;
        let chunks: BTreeSet<ChunkId> = index.chunks.iter().collect();
        let places = namespace.packs.values().flat_map(|pack| pack.chunks.iter().map(move |chunk| (chunk.chunk, pack.clone())));
        let chunks = places.filter(|(chunk, _)| chunks.contains(chunk)).collect();
        Some(Self { field: field.clone(), chunks, replaced: vec![index.clone()] })
    }

    /// What a field of a namespace needs. `is_barren` says which chunks are known to have no vector of it; with `all`, everything becomes one index.
    #[must_use]
    pub fn of(
        namespace: &NamespaceManifest,
        field: &Arc<VectorFieldRecord>,
        is_barren: &dyn Fn(ChunkId) -> bool,
        config: &IndexConfig,
        all: bool,
    ) -> Option<Self> {
        let mut indexes: Vec<_> = namespace.vector_indexes.values().filter(|index| index.field == field.name).collect();
        let covered: BTreeSet<ChunkId> = indexes.iter().flat_map(|index| index.chunks.iter()).collect();
        let mut places = BTreeMap::new();
        let mut chunks = BTreeMap::new();
        let mut rows = 0;
        for pack in namespace.packs.values() {
            for chunk in pack.chunks.iter() {
                if covered.contains(&chunk.chunk) {
                    places.insert(chunk.chunk, pack);
                } else if chunk.rows > 0 && rows < config.vectors_max && !is_barren(chunk.chunk) {
                    chunks.insert(chunk.chunk, pack.clone());
                    rows += u64::from(chunk.rows);
                }
            }
        }
        if rows < config.rows_min && !(all && rows > 0) && !(all && indexes.len() > 1) {
            return None;
        }
        indexes.sort_by_key(|index| (index.vectors, index.id));
        let mut replaced = Vec::new();
        for index in indexes {
            let vectors = u64::from(index.vectors);
            if rows + vectors > config.vectors_max || !(all || vectors <= rows.saturating_mul(config.growth)) {
                break;
            }
            rows += vectors;
            // A chunk that is indexed is sealed, and stays so.
            chunks.extend(index.chunks.iter().filter_map(|chunk| Some((chunk, (*places.get(&chunk)?).clone()))));
            replaced.push(index.clone());
        }
        // One index in place of itself would be no gain.
        let is_gain = replaced.len() > 1 || chunks.keys().any(|chunk| !covered.contains(chunk));
        is_gain.then(|| Self { field: field.clone(), chunks, replaced })
    }
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
