//! A segment that was opened.

use crate::error::SegmentError;
use bytes::Bytes;
use siltstone_core::{ChunkId, NamespaceId};

/// A segment's structures, opened from one contiguous range of bytes. All checksums are verified at open; blocks are decoded when first needed.
#[derive(Debug)]
pub struct SegmentReader {
    namespace: NamespaceId,
    chunks: Vec<ChunkSummary>,
}

/// What a segment knows of one of its chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkSummary {
    /// The chunk.
    pub id: ChunkId,
    /// How many rows it has, 1 or more.
    pub rows: u32,
    /// The earliest timestamp.
    pub first_ns: i64,
    /// The latest.
    pub last_ns: i64,
}

impl SegmentReader {
    /// Opens a segment from all of its bytes.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] naming the damaged block; [`SegmentError::Version`] for a later version.
    pub fn open(_bytes: Bytes) -> Result<Self, SegmentError> {
        Err(SegmentError::Unsupported { what: "open a segment" })
    }

    /// The namespace of every row.
    #[must_use]
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// The chunks, ascending by id.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkSummary] {
        &self.chunks
    }
}
