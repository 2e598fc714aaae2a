//! Which closed chunks are sealed together, and when. Pure.

use siltstone_core::{ChunkId, NamespaceId};
use siltstone_format::manifest::{ChunkRecord, Manifest};
use std::sync::Arc;

/// When and how much is sealed.
#[derive(Clone, Copy, Debug)]
pub struct SealConfig {
    /// Closed chunks are sealed once they have so many bytes of bodies together.
    pub body_bytes_min: u64,
    /// Or once the sealer has known one of them for so long.
    pub wait_ms_max: u64,
    /// Bytes of bodies in one object at most: what a sealer holds in memory, some times over.
    pub body_bytes_max: u64,
    /// Chunks of one pack and one segment: the unit of parallel work.
    pub unit_chunks_max: usize,
}

impl Default for SealConfig {
    fn default() -> Self {
        Self { body_bytes_min: 16 << 20, wait_ms_max: 2_000, body_bytes_max: 64 << 20, unit_chunks_max: 64 }
    }
}

/// Chunks that become one pack and one segment.
#[derive(Clone, Debug)]
pub struct SealUnit {
    /// The one namespace of all of them (NS-1).
    pub namespace: NamespaceId,
    /// Ascending by id; each has rows.
    pub chunks: Vec<(ChunkId, Arc<ChunkRecord>)>,
}

/// What one object seals.
#[derive(Clone, Debug, Default)]
pub struct SealPlan {
    /// In the order of the manifest.
    pub units: Vec<SealUnit>,
    /// Bytes of bodies, or of slices where those have more.
    pub body_bytes: u64,
}

impl SealPlan {
    /// The closed chunks of a manifest, in the order of the manifest, until an object is full.
    #[must_use]
    pub fn of(manifest: &Manifest, config: &SealConfig) -> Self {
        let mut plan = Self::default();
        for (namespace, id, chunk) in manifest.sealable() {
            if plan.body_bytes >= config.body_bytes_max {
                break;
            }
            // What has few bytes in bodies may have many in vectors.
            let slice_bytes = chunk.slices.iter().map(|slice| u64::from(slice.range.len)).sum();
            plan.body_bytes += chunk.body_bytes.max(slice_bytes);
            match plan.units.last_mut() {
                Some(unit) if unit.namespace == namespace.id && unit.chunks.len() < config.unit_chunks_max => unit.chunks.push((id, chunk.clone())),
                _ => plan.units.push(SealUnit { namespace: namespace.id, chunks: vec![(id, chunk.clone())] }),
            }
        }
        plan
    }

    /// Whether there is nothing to seal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}
