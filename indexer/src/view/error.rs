//! Why a view can't be opened or read.

use siltstone_core::{BatchId, ChunkId, CommitToken, ErrorKind, ModelId, PackId, RowAddress, SegmentId, VectorIndexId, VectorSetId};
use siltstone_format::DecodeError;
use siltstone_format::vectors::PatternVectorsError;
use siltstone_metadata_client::ClientError;
use siltstone_segment::SegmentError;
use siltstone_store::StoreError;
use siltstone_vector::VectorError;

/// Why a view can't be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The metadata group does not answer as it should.
    #[error("open a view: {0}")]
    Metadata(#[from] ClientError),
    /// The commit that the query asks for is not here yet.
    #[error("open a view that covers commit {token}: after {waited_ms} ms the newest here is {newest}; try again")]
    Behind {
        /// What was asked for.
        token: CommitToken,
        /// What is here.
        newest: CommitToken,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// An object can't be read.
    #[error("read {what}: {source}")]
    Store {
        /// What was to be read.
        what: String,
        /// Why not.
        source: StoreError,
    },
    /// A stored block is damaged.
    #[error("read {what} of {key}: {source}; restore the object from a backup")]
    Corrupt {
        /// What was to be read.
        what: String,
        /// The object.
        key: String,
        /// Why not.
        source: DecodeError,
    },
    /// A stored segment is damaged.
    #[error("open segment {segment} of {key}: {source}")]
    Segment {
        /// Which.
        segment: SegmentId,
        /// The object.
        key: String,
        /// Why not.
        source: SegmentError,
    },
    /// A stored set of pattern vectors is damaged.
    #[error("open vector set {set} of {key}: {source}")]
    Vectors {
        /// Which.
        set: VectorSetId,
        /// The object.
        key: String,
        /// Why not.
        source: Box<PatternVectorsError>,
    },
    /// A set is of another model than the manifest says: a damaged manifest or a bug (VE-1).
    #[error("VE-1: open vector set {set} of {key}: it is of model {found}, the manifest says {model}")]
    OtherModel {
        /// Which.
        set: VectorSetId,
        /// The object.
        key: String,
        /// The model of the manifest.
        model: ModelId,
        /// The model of the set.
        found: ModelId,
    },
    /// A stored index over vectors is damaged.
    #[error("read vector index {index} of {key}: {source}")]
    VectorIndex {
        /// Which.
        index: VectorIndexId,
        /// The object.
        key: String,
        /// Why not.
        source: VectorError,
    },
    /// The stored addresses of an index are damaged.
    #[error("read the addresses of vector index {index} of {key}: {source}")]
    IndexAddresses {
        /// Which.
        index: VectorIndexId,
        /// The object.
        key: String,
        /// Why not.
        source: DecodeError,
    },
    /// An index is not as its record says: a damaged manifest or a bug.
    #[error("open vector index {index} of {key}: its namespace, field, dimension or rows are not those of the manifest")]
    OtherIndex {
        /// Which.
        index: VectorIndexId,
        /// The object.
        key: String,
    },
    /// A stored index over vectors was found damaged before.
    #[error("{text}")]
    DamagedIndex {
        /// What was said then.
        text: String,
    },
    /// Stored vectors have another dimension than their field: a damaged manifest or a bug.
    #[error("read the vectors {field:?} of chunk {chunk}: they are not as the field was declared")]
    VectorDimension {
        /// The chunk.
        chunk: ChunkId,
        /// The field.
        field: String,
    },
    /// The manifest names an object that it does not know: a bug.
    #[error("read pack {pack}: the manifest does not know its object")]
    UnknownObject {
        /// The pack.
        pack: PackId,
    },
    /// The manifest names a slice of a batch that it does not know: a bug.
    #[error("read a slice of batch {batch}: the manifest does not know the batch")]
    UnknownBatch {
        /// The batch.
        batch: BatchId,
    },
    /// No pack of this view has the chunk: a damaged manifest or a bug.
    #[error("read chunk {chunk}: no pack of this view has it")]
    NoChunk {
        /// The chunk.
        chunk: ChunkId,
    },
    /// No row has this address in this view.
    #[error("read row {address}: this view has none there")]
    NoRow {
        /// The address.
        address: RowAddress,
    },
    /// A thread ended before its time.
    #[error("read: the server is shutting down")]
    Stopping,
}

impl ViewError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Metadata(error) => error.kind(),
            Self::Behind { .. } | Self::Stopping => ErrorKind::Unavailable,
            Self::Store { source, .. } => match source.kind() {
                // An object that the manifest names is gone: that is damage, not a wrong question.
                ErrorKind::NotFound | ErrorKind::InvalidInput => ErrorKind::Corrupt,
                kind => kind,
            },
            Self::Corrupt { .. }
            | Self::OtherIndex { .. }
            | Self::IndexAddresses { .. }
            | Self::DamagedIndex { .. }
            | Self::OtherModel { .. }
            | Self::VectorDimension { .. } => ErrorKind::Corrupt,
            Self::Vectors { source, .. } => source.kind(),
            Self::Segment { source, .. } => source.kind(),
            Self::VectorIndex { source, .. } => source.kind(),
            Self::UnknownObject { .. } | Self::UnknownBatch { .. } | Self::NoRow { .. } | Self::NoChunk { .. } => ErrorKind::Internal,
        }
    }
}
