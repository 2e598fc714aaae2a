//! From rows to a segment's bytes.

use crate::error::SegmentError;
use crate::reader::SegmentReader;
use siltstone_core::{ChunkId, NamespaceId};
use siltstone_format::Rows;

/// Builds the segment of some chunks of one namespace.
pub struct SegmentBuilder {
    namespace: NamespaceId,
}

impl SegmentBuilder {
    /// A builder of a namespace's segment.
    #[must_use]
    pub fn new(namespace: NamespaceId) -> Self {
        Self { namespace }
    }

    /// Adds all rows of a chunk. Chunks come in ascending order; `offsets` holds the offset of each row within the chunk, strictly ascending
    /// (burned offsets leave gaps).
    ///
    /// # Errors
    /// [`SegmentError::Input`] when the chunk is out of order, of another namespace, empty, or its offsets are not as said.
    pub fn add(&mut self, chunk: ChunkId, rows: &Rows, offsets: &[u16]) -> Result<(), SegmentError> {
        if rows.namespace != self.namespace {
            return Err(SegmentError::Input { chunk, reason: "NS-1: its rows are of another namespace" });
        }
        if offsets.len() != rows.len() {
            return Err(SegmentError::Input { chunk, reason: "there are not as many offsets as rows" });
        }
        Err(SegmentError::Unsupported { what: "build a segment" })
    }

    /// The segment's bytes.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] when a number does not fit.
    pub fn finish(self) -> Result<Vec<u8>, SegmentError> {
        Err(SegmentError::Unsupported { what: "build a segment" })
    }
}

/// One segment over the chunks of several of one namespace. It answers every query as they do together.
///
/// # Errors
/// [`SegmentError::Input`] when a chunk is in two of them or they are of different namespaces; [`SegmentError::Corrupt`] when one is damaged.
pub fn merge(_segments: &[&SegmentReader]) -> Result<Vec<u8>, SegmentError> {
    Err(SegmentError::Unsupported { what: "merge segments" })
}
