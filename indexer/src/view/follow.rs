//! What came into a namespace since one looked last: the rows that a tail shows.

use super::{NamespaceView, ViewError};
use rustc_hash::{FxHashMap, FxHashSet};
use siltstone_core::{ChunkId, NamespaceId};
use siltstone_segment::ScanSlice;

/// How far a follower has seen a namespace. Rows are seen once, whether they are found in batches or, sealed meanwhile, in packs.
#[derive(Default)]
pub struct Cursor {
    namespace: Option<NamespaceId>,
    /// Chunks that were not sealed when one looked last, and the offset after the last that was seen.
    open: FxHashMap<ChunkId, u16>,
    sealed: FxHashSet<ChunkId>,
    chunks_sealed: u64,
}

impl Cursor {
    /// A cursor at the end of a view: what is in it counts as seen.
    #[must_use]
    pub fn at_end_of(view: &NamespaceView) -> Self {
        let manifest = view.manifest();
        Self {
            namespace: Some(manifest.id),
            open: manifest.chunks.iter().map(|(&chunk, record)| (chunk, record.next_offset)).collect(),
            sealed: manifest.sealed_chunks().map(|(_, chunk)| chunk.chunk).collect(),
            chunks_sealed: manifest.totals.chunks_sealed,
        }
    }

    /// The rows of a newer view that were not seen, and moves past them. Blocks when their columns are not in memory.
    ///
    /// # Errors
    /// [`ViewError`]; the cursor may then have moved.
    pub fn advance(&mut self, view: &NamespaceView) -> Result<Vec<ScanSlice>, ViewError> {
        let manifest = view.manifest();
        if self.namespace != Some(manifest.id) {
            // A name that was made, or made anew: all of it is new.
            *self = Self { namespace: Some(manifest.id), ..Self::default() };
        }
        let mut slices = Vec::new();
        if manifest.totals.chunks_sealed != self.chunks_sealed {
            self.chunks_sealed = manifest.totals.chunks_sealed;
            for (_, chunk) in manifest.sealed_chunks() {
                if self.sealed.insert(chunk.chunk) {
                    let seen = self.open.remove(&chunk.chunk).unwrap_or(0);
                    if chunk.end_offset > seen && chunk.rows > 0 {
                        slices.extend(view.chunks().scan_slices_from(chunk.chunk, seen)?);
                    }
                }
            }
        }
        for (&chunk, record) in manifest.chunks.iter() {
            let seen = self.open.insert(chunk, record.next_offset).unwrap_or(0);
            if record.next_offset > seen {
                slices.extend(view.live_slices_of(chunk).iter().filter(|slice| slice.first_offset >= seen).cloned());
            }
        }
        Ok(slices)
    }
}
