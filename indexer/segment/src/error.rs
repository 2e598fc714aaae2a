//! What goes wrong when a segment is built, opened or asked.

use siltstone_core::{ChunkId, ErrorKind};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The bytes are not what a builder wrote.
    #[error("read segment block {block:?}: {reason}")]
    Corrupt {
        /// The block that is damaged.
        block: &'static str,
        /// What about it cannot be.
        reason: &'static str,
    },
    /// The segment was written by a later version.
    #[error("read segment of version {version}: this program reads up to {known}")]
    Version {
        /// The version that the segment states.
        version: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// Rows or timestamps of a chunk could not be had.
    #[error("fetch {what} of chunk {chunk}")]
    Fetch {
        /// Rows or timestamps.
        what: &'static str,
        /// The chunk.
        chunk: ChunkId,
        /// Why.
        source: FetchError,
    },
    /// The fetcher gave something else than the segment was built from (RA-1).
    #[error("read {what} of chunk {chunk}: they are not those of the segment")]
    Mismatch {
        /// The chunk.
        chunk: ChunkId,
        /// Rows or timestamps.
        what: &'static str,
    },
    /// A chunk was given to a builder or a merge in a way that cannot be.
    #[error("add chunk {chunk}: {reason}")]
    Input {
        /// The chunk.
        chunk: ChunkId,
        /// What about it cannot be.
        reason: &'static str,
    },
    /// The expression has a part that an engine never sees.
    #[error("evaluate {part}: it must be folded away before")]
    Unfolded {
        /// The part.
        part: &'static str,
    },
    /// Not built yet.
    #[error("answer {what}: not built yet")]
    Unsupported {
        /// What was asked.
        what: &'static str,
    },
    /// The segment would be larger than its numbers can say.
    #[error("build segment: {what} passes {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
}

/// Why a fetcher failed: its own error and its kind, which is handed on as it is.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct FetchError {
    /// What the caller should do about it.
    pub kind: ErrorKind,
    /// The fetcher's error.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl SegmentError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Corrupt { .. } | Self::Mismatch { .. } => ErrorKind::Corrupt,
            Self::Version { .. } | Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Fetch { source, .. } => source.kind,
            Self::Input { .. } | Self::Unfolded { .. } => ErrorKind::Internal,
            Self::TooLarge { .. } => ErrorKind::Exhausted,
        }
    }

    pub(crate) const fn corrupt(block: &'static str, reason: &'static str) -> Self {
        Self::Corrupt { block, reason }
    }
}
