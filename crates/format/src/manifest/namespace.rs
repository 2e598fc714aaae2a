//! One namespace: its chunks, packs, segments, producers and sums.

use super::{
    ChunkRecord, ChunkState, Map, PackChunk, PackRecord, ProducerKey, ProducerState, SegmentRecord, VectorFieldRecord, VectorIndexRecord,
    VectorSetRecord,
};
use serde::{Deserialize, Serialize};
use siltstone_core::{ChunkId, NamespaceId, PackId, SegmentId, VectorIndexId, VectorSetId};
use std::sync::Arc;

/// Bytes a namespace's name has at most.
pub const NAMESPACE_NAME_LEN_MAX: usize = 253;

/// Everything of one namespace (NS-1). Cheap to clone: the maps are persistent.
#[derive(Clone, PartialEq, Debug)]
pub struct NamespaceManifest {
    /// Its id, never used again for another name or another life of this name.
    pub id: NamespaceId,
    /// Its name, with the source cluster and a '/' before it where there is one.
    pub name: Arc<str>,
    /// State time of its creation.
    pub created_at_ms: i64,
    /// Chunks that are open, or closed and not yet sealed.
    pub chunks: Map<ChunkId, Arc<ChunkRecord>>,
    /// Packs, with the sealed chunks.
    pub packs: Map<PackId, Arc<PackRecord>>,
    /// Segments.
    pub segments: Map<SegmentId, Arc<SegmentRecord>>,
    /// Sets of pattern vectors.
    pub vectors: Map<VectorSetId, Arc<VectorSetRecord>>,
    /// Fields of vectors that came with entries, by name.
    pub vector_fields: Map<Arc<str>, Arc<VectorFieldRecord>>,
    /// Indexes over those vectors.
    pub vector_indexes: Map<VectorIndexId, Arc<VectorIndexRecord>>,
    /// What is remembered of keyed producers.
    pub producers: Map<ProducerKey, ProducerState>,
    /// Sums over the above.
    pub totals: Totals,
}

impl NamespaceManifest {
    /// A namespace with nothing in it.
    #[must_use]
    pub fn new(id: NamespaceId, name: Arc<str>, created_at_ms: i64) -> Self {
        Self {
            id,
            name,
            created_at_ms,
            chunks: Map::new_sync(),
            packs: Map::new_sync(),
            segments: Map::new_sync(),
            vectors: Map::new_sync(),
            vector_fields: Map::new_sync(),
            vector_indexes: Map::new_sync(),
            producers: Map::new_sync(),
            totals: Totals::default(),
        }
    }

    /// Chunks that can be sealed now.
    pub fn closed_chunks(&self) -> impl Iterator<Item = (ChunkId, &Arc<ChunkRecord>)> {
        self.chunks.iter().filter(|(_, chunk)| chunk.state == ChunkState::Closed).map(|(&id, chunk)| (id, chunk))
    }

    /// Chunks that take rows.
    pub fn open_chunks(&self) -> impl Iterator<Item = (ChunkId, &Arc<ChunkRecord>)> {
        self.chunks.iter().filter(|(_, chunk)| chunk.state == ChunkState::Open).map(|(&id, chunk)| (id, chunk))
    }

    /// Sealed chunks, pack by pack.
    pub fn sealed_chunks(&self) -> impl Iterator<Item = (PackId, PackChunk)> + '_ {
        self.packs.iter().flat_map(|(&id, pack)| pack.chunks.iter().map(move |chunk| (id, chunk)))
    }

    /// The sums, counted anew: what `totals` must say.
    #[must_use]
    pub fn count_totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.chunks.values().for_each(|chunk| totals.add_chunk(chunk));
        self.packs.values().for_each(|pack| totals.add_pack(pack));
        self.segments.values().for_each(|segment| totals.add_segment(segment));
        self.vectors.values().for_each(|set| totals.add_vectors(set));
        totals
    }
}

/// Sums over a namespace, or over all. They wrap: a sum that was added is taken away again exactly, whatever a command claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Rows that exist: accepted, in batches and packs.
    pub rows: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// Chunks that take rows.
    pub chunks_open: u64,
    /// Chunks that wait to be sealed.
    pub chunks_closed: u64,
    /// Chunks in packs.
    pub chunks_sealed: u64,
    /// Slices in batches that are still named.
    pub slices: u64,
    /// Bytes of those slices in their batches.
    pub slice_bytes: u64,
    /// Packs.
    pub packs: u64,
    /// Bytes of packs.
    pub pack_bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of segments.
    pub segment_bytes: u64,
    /// Sets of pattern vectors.
    pub vector_sets: u64,
    /// Pattern vectors in them.
    pub vectors: u64,
    /// Bytes of the sets.
    pub vector_bytes: u64,
}

macro_rules! change {
    ($name:ident, $op:ident, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, other: &Self) {
            self.rows = self.rows.$op(other.rows);
            self.body_bytes = self.body_bytes.$op(other.body_bytes);
            self.chunks_open = self.chunks_open.$op(other.chunks_open);
            self.chunks_closed = self.chunks_closed.$op(other.chunks_closed);
            self.chunks_sealed = self.chunks_sealed.$op(other.chunks_sealed);
            self.slices = self.slices.$op(other.slices);
            self.slice_bytes = self.slice_bytes.$op(other.slice_bytes);
            self.packs = self.packs.$op(other.packs);
            self.pack_bytes = self.pack_bytes.$op(other.pack_bytes);
            self.segments = self.segments.$op(other.segments);
            self.segment_bytes = self.segment_bytes.$op(other.segment_bytes);
            self.vector_sets = self.vector_sets.$op(other.vector_sets);
            self.vectors = self.vectors.$op(other.vectors);
            self.vector_bytes = self.vector_bytes.$op(other.vector_bytes);
        }
    };
}

impl Totals {
    change!(add, wrapping_add, "Adds other sums.");
    change!(subtract, wrapping_sub, "Takes other sums away.");

    /// Adds a chunk that is not sealed.
    pub fn add_chunk(&mut self, chunk: &ChunkRecord) {
        self.add(&Self::of_chunk(chunk));
    }

    /// The sums of a chunk that is not sealed.
    #[must_use]
    pub fn of_chunk(chunk: &ChunkRecord) -> Self {
        let open = u64::from(chunk.state == ChunkState::Open);
        Self {
            rows: u64::from(chunk.rows),
            body_bytes: chunk.body_bytes,
            chunks_open: open,
            chunks_closed: 1 - open,
            slices: chunk.slices.len() as u64,
            slice_bytes: chunk.slices.iter().map(|slice| u64::from(slice.range.len)).sum(),
            ..Self::default()
        }
    }

    /// Adds a pack and its chunks.
    pub fn add_pack(&mut self, pack: &PackRecord) {
        self.add(&Self::of_pack(pack));
    }

    /// The sums of a pack and its chunks.
    #[must_use]
    pub fn of_pack(pack: &PackRecord) -> Self {
        let mut totals = Self { packs: 1, pack_bytes: u64::from(pack.range.len), ..Self::default() };
        for chunk in pack.chunks.iter() {
            totals.chunks_sealed += 1;
            totals.rows += u64::from(chunk.rows);
            totals.body_bytes = totals.body_bytes.wrapping_add(chunk.body_bytes);
        }
        totals
    }

    /// Adds a segment.
    pub fn add_segment(&mut self, segment: &SegmentRecord) {
        self.add(&Self::of_segment(segment));
    }

    /// The sums of a segment.
    #[must_use]
    pub fn of_segment(segment: &SegmentRecord) -> Self {
        Self { segments: 1, segment_bytes: u64::from(segment.range.len), ..Self::default() }
    }

    /// Adds a set of pattern vectors.
    pub fn add_vectors(&mut self, set: &VectorSetRecord) {
        self.add(&Self::of_vectors(set));
    }

    /// The sums of a set of pattern vectors.
    #[must_use]
    pub fn of_vectors(set: &VectorSetRecord) -> Self {
        Self { vector_sets: 1, vectors: u64::from(set.patterns), vector_bytes: u64::from(set.range.len), ..Self::default() }
    }
}

/// Whether a name may be a namespace's: 1 to 253 bytes; a Kubernetes-like name (lower-case ASCII letters, digits, '-', '.', '_', a letter or digit at
/// both ends), with at most one source cluster of the same form and a '/' before it.
#[must_use]
pub fn is_namespace_name(name: &str) -> bool {
    let part_is_right = |part: &str| {
        let bytes = part.as_bytes();
        let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        bytes.first().is_some_and(is_edge) && bytes.last().is_some_and(is_edge) && bytes.iter().all(|byte| is_edge(byte) || b"-._".contains(byte))
    };
    let (cluster, name_within) = match name.split_once('/') {
        Some((cluster, rest)) => (Some(cluster), rest),
        None => (None, name),
    };
    name.len() <= NAMESPACE_NAME_LEN_MAX && cluster.is_none_or(part_is_right) && part_is_right(name_within)
}
