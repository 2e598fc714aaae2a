//! What a segment does not hold and asks for when a query needs it: timestamps and variables of rows, from their packs.

use crate::error::FetchError;
use siltstone_core::ChunkId;
use siltstone_format::Rows;
use std::sync::Arc;

/// Rows of one chunk.
#[derive(Clone, Debug)]
pub struct ChunkRows {
    /// The columns.
    pub rows: Arc<Rows>,
    /// The offset of each row within the chunk, strictly ascending, as many as there are rows.
    pub offsets: Arc<[u16]>,
}

/// Gives columns of chunks. Called from query threads, many at a time; an implementation may block, and should cache.
///
/// To ensure correctness:
/// - the rows of a chunk are exactly those that the segment was built from (RA-1): as many, at the same offsets, in the same order;
/// - the same call gives the same answer as long as the view lives.
pub trait ChunkFetcher: Send + Sync {
    /// The timestamps of a chunk's rows in the order of their offsets, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`FetchError`] when they cannot be had.
    fn timestamps(&self, chunk: ChunkId) -> Result<Arc<[i64]>, FetchError>;

    /// All of a chunk's rows.
    ///
    /// # Errors
    /// [`FetchError`] when they cannot be had.
    fn rows(&self, chunk: ChunkId) -> Result<ChunkRows, FetchError>;
}
