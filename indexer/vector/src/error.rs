//! What goes wrong when vectors are taken, stored, opened or searched.

use siltstone_core::ErrorKind;

/// An error of this crate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VectorError {
    /// A vector cannot be taken: mend the input.
    #[error("take vector {row}: {reason}")]
    Input {
        /// Its place in the input, from 0.
        row: u64,
        /// What about it cannot be.
        reason: InputReason,
    },
    /// A query's vector cannot be searched for.
    #[error("search for a vector: {reason}")]
    Query {
        /// What about it cannot be.
        reason: InputReason,
    },
    /// A vector space cannot be.
    #[error("describe a vector space: {reason}")]
    Space {
        /// What about it cannot be.
        reason: &'static str,
    },
    /// Vectors of two spaces, say of two models, never meet.
    #[error("merge vectors of {left} with vectors of {right}: they are of two spaces")]
    Spaces {
        /// The first input's space.
        left: String,
        /// The other's.
        right: String,
    },
    /// More vectors than a local row can number.
    #[error("take vector {row}: an index has at most {limit} vectors")]
    TooMany {
        /// The vector that is one too many.
        row: u64,
        /// The bound.
        limit: u64,
    },
    /// The bytes are not what a writer wrote.
    #[error("read vectors, block {block}: {reason}")]
    Corrupt {
        /// The block that is damaged.
        block: String,
        /// What about it cannot be.
        reason: &'static str,
    },
    /// The index was written by a later version.
    #[error("read vectors of version {version}: this program reads up to {known}")]
    Version {
        /// The version that the file states.
        version: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// The caller of a staged search brought something else than was named.
    #[error("go on with fetched bytes: {reason}")]
    Fetched {
        /// What about them cannot be.
        reason: &'static str,
    },
    /// The request cannot be answered by this index.
    #[error("search vectors: {reason}")]
    Request {
        /// Why.
        reason: &'static str,
    },
    /// This CPU lacks the instructions.
    #[error("choose kernels {level}: this CPU lacks the instructions")]
    LevelMissing {
        /// The level that was asked for.
        level: &'static str,
    },
}

/// Why a vector cannot be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputReason {
    /// Another number of elements.
    #[error("it has {got} elements, and the index's vectors have {expected}")]
    Dimension {
        /// How many it has.
        got: usize,
        /// How many it must have.
        expected: usize,
    },
    /// NaN or an infinity.
    #[error("element {element} is not a finite number")]
    NotFinite {
        /// The first such element, from 0.
        element: usize,
    },
    /// All elements are zero: it has no direction.
    #[error("it is zero, which has no direction, and cosine compares directions")]
    Zero,
    /// Its length is too large or too small for f32.
    #[error("its length, squared, is outside what f32 can hold")]
    Length,
}

impl VectorError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Input { .. } | Self::Query { .. } | Self::Space { .. } | Self::Request { .. } => ErrorKind::InvalidInput,
            Self::Spaces { .. } | Self::Fetched { .. } => ErrorKind::Internal,
            Self::TooMany { .. } => ErrorKind::Exhausted,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Version { .. } | Self::LevelMissing { .. } => ErrorKind::Unsupported,
        }
    }

    pub(crate) fn corrupt<B>(block: B, reason: &'static str) -> Self
    where
        B: Into<String>,
    {
        Self::Corrupt { block: block.into(), reason }
    }
}
