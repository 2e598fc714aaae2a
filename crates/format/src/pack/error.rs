//! What can be wrong with chunks that are to be packed.

use siltstone_core::{ChunkId, ErrorKind, NamespaceId};

/// Why a chunk was not added to a pack, or not found in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackError {
    /// NS-1: rows of another namespace.
    #[error("add chunk {chunk} to a pack: NS-1: its rows are of namespace {rows}, the pack's of {pack}")]
    Namespace {
        /// The chunk.
        chunk: ChunkId,
        /// The rows' namespace.
        rows: NamespaceId,
        /// The pack's.
        pack: NamespaceId,
    },
    /// Chunks come by rising id.
    #[error("add chunk {chunk} to a pack: chunk {before} is in it")]
    Order {
        /// The chunk.
        chunk: ChunkId,
        /// The one before.
        before: ChunkId,
    },
    /// RA-1: offsets are as many as rows, rise, and lie within a chunk.
    #[error("add chunk {chunk} to a pack: RA-1: its offsets do not rise, or are not as many as its rows")]
    Offsets {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Rows whose vectors were not read with them.
    #[error("add chunk {chunk} to a pack: the vectors of its rows were not read")]
    Vectors {
        /// The chunk.
        chunk: ChunkId,
    },
}

impl PackError {
    /// What the caller should do.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}
