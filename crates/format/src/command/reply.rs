//! What the machine answers.

use serde::{Deserialize, Serialize};
use siltstone_core::{
    BatchId, ChunkId, CommitIndex, Epoch, ErrorKind, Incarnation, ModelId, NamespaceId, ObjectId, PackId, SegmentId, VectorIndexId, VectorSetId,
};

/// What a command did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The group lives as this incarnation.
    Founded {
        /// The incarnation that holds, which may be an earlier command's.
        incarnation: Incarnation,
    },
    /// A writer's or job's new life.
    Registered {
        /// Its epoch.
        epoch: Epoch,
    },
    /// Chunk ids `first..first + count`.
    ChunkIds {
        /// The first.
        first: ChunkId,
        /// How many.
        count: u32,
    },
    /// Ids `first..first + count` for batches, objects, packs, segments and vector sets.
    Ids {
        /// The first.
        first: u64,
        /// How many.
        count: u32,
    },
    /// The namespace of that name.
    Namespace {
        /// Its id.
        id: NamespaceId,
        /// Whether this command created it.
        created: bool,
    },
    /// The batch is committed.
    BatchCommitted {
        /// For each slice of the command, in its order.
        outcomes: Vec<SliceOutcome>,
    },
    /// It is as the command wants it.
    Done,
    /// The command changed nothing.
    Rejected(Rejection),
    /// The field of vectors is known.
    VectorField {
        /// The dimension that holds, which may be an earlier command's.
        dimension: u16,
    },
    /// The setting has the value, or is gone.
    Setting {
        /// The position of this change; 0 for a setting that is not there.
        changed_at: CommitIndex,
    },
}

/// What became of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SliceOutcome {
    /// Its rows exist.
    Accepted,
    /// Its client batch was accepted before (AK-2): its offsets are burned, its rows do not exist.
    Duplicate,
}

/// Why a command changed nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Rejection {
    /// The group has no incarnation yet.
    #[error("apply a command: the group is not founded")]
    NotFounded,
    /// The epoch is over (EP-1).
    #[error("apply a command: epoch {epoch} is fenced; register again")]
    FencedEpoch {
        /// The epoch.
        epoch: Epoch,
    },
    /// The epoch was never given out.
    #[error("apply a command: epoch {epoch} was never given out")]
    UnknownEpoch {
        /// The epoch.
        epoch: Epoch,
    },
    /// No such namespace; it may have been dropped.
    #[error("apply a command: there is no namespace {namespace}")]
    UnknownNamespace {
        /// Its id.
        namespace: NamespaceId,
    },
    /// Not a namespace's name.
    #[error(
        "create namespace {name:?}: a name has 1 to 253 of [a-z0-9-._], a letter or digit at both ends, and may have a cluster and '/' before it"
    )]
    NamespaceName {
        /// The name as it came, cut to 256 bytes.
        name: String,
    },
    /// NS-1.
    #[error("commit a slice: chunk {chunk} is of another namespace than {namespace}")]
    WrongNamespace {
        /// The chunk.
        chunk: ChunkId,
        /// The namespace that the slice names.
        namespace: NamespaceId,
    },
    /// The chunk is closed, sealed, another epoch's, or its id was not allocated to this epoch.
    #[error("commit a slice: chunk {chunk} is not open to this epoch")]
    ChunkNotOpen {
        /// The chunk.
        chunk: ChunkId,
    },
    /// The slice does not begin where the chunk ends.
    #[error("commit a slice: chunk {chunk} goes on at offset {next_offset}, not {first_offset}")]
    OffsetMismatch {
        /// The chunk.
        chunk: ChunkId,
        /// The chunk's next offset.
        next_offset: u16,
        /// The slice's first offset.
        first_offset: u16,
    },
    /// A compare-and-swap lost: the chunk is not there, not closed, or of another length.
    #[error("seal: chunk {chunk} is not closed at the offset that was named")]
    ChunkConflict {
        /// The chunk.
        chunk: ChunkId,
    },
    /// A compare-and-swap lost: the pack is gone.
    #[error("merge: pack {pack} is gone")]
    PackConflict {
        /// The pack.
        pack: PackId,
    },
    /// A compare-and-swap lost: the segment is gone.
    #[error("merge: segment {segment} is gone")]
    SegmentConflict {
        /// The segment.
        segment: SegmentId,
    },
    /// A chunk is covered twice, or is not sealed.
    #[error("merge: chunk {chunk} is covered by another segment, or lies in no pack")]
    CoverConflict {
        /// The chunk.
        chunk: ChunkId,
    },
    /// An id that this epoch was not given, or has used.
    #[error("apply a command: id {id} was not allocated to this epoch, or is used")]
    IdNotAllocated {
        /// The id.
        id: u64,
    },
    /// The batch's id was used for another batch.
    #[error("commit batch {batch}: another batch has this id")]
    BatchConflict {
        /// The batch.
        batch: BatchId,
    },
    /// The object's id was used for another object.
    #[error("commit object {object}: another object has this id")]
    ObjectConflict {
        /// The object.
        object: ObjectId,
    },
    /// The batch or object is still named (MF-1).
    #[error("forget retired things: {id} is still named")]
    StillNamed {
        /// The id of a batch or object.
        id: u64,
    },
    /// The command contradicts itself or a bound. A bug of its proposer.
    #[error("apply a command: {detail}")]
    Invalid {
        /// What is wrong.
        detail: String,
    },
    /// No such model.
    #[error("apply a command: model {model} is not known; add it first")]
    UnknownModel {
        /// Its id.
        model: ModelId,
    },
    /// A compare-and-swap lost: the vector set is gone.
    #[error("join vectors: set {set} is gone")]
    VectorConflict {
        /// The set.
        set: VectorSetId,
    },
    /// A compare-and-swap lost: the vector index is gone.
    #[error("join vector indexes: index {index} is gone")]
    IndexConflict {
        /// The index.
        index: VectorIndexId,
    },
    /// A compare-and-swap lost: the setting was changed by another.
    #[error("change setting {key:?}: it was last changed at log position {changed_at}, not {expected}; read it again")]
    SettingConflict {
        /// Its key.
        key: String,
        /// The position that was expected.
        expected: CommitIndex,
        /// The position of its last change; 0 where it is not there.
        changed_at: CommitIndex,
    },
    /// This life of the group has given out all ids that it may: the next are another life's (RA-1).
    #[error("apply a command: life {life} of the metadata group has given out all its {what}; restore the group from a backup to begin another life")]
    LifeUsedUp {
        /// What there is no more of.
        what: String,
        /// The life's number.
        life: u32,
    },
}

impl Rejection {
    /// What the proposer should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFounded => ErrorKind::Unavailable,
            Self::FencedEpoch { .. } | Self::UnknownEpoch { .. } => ErrorKind::Fenced,
            Self::UnknownNamespace { .. } | Self::UnknownModel { .. } => ErrorKind::NotFound,
            Self::ChunkNotOpen { .. }
            | Self::OffsetMismatch { .. }
            | Self::ChunkConflict { .. }
            | Self::PackConflict { .. }
            | Self::SegmentConflict { .. }
            | Self::CoverConflict { .. }
            | Self::BatchConflict { .. }
            | Self::ObjectConflict { .. }
            | Self::VectorConflict { .. }
            | Self::IndexConflict { .. }
            | Self::SettingConflict { .. }
            | Self::StillNamed { .. } => ErrorKind::Conflict,
            Self::LifeUsedUp { .. } => ErrorKind::Exhausted,
            Self::NamespaceName { .. } | Self::WrongNamespace { .. } | Self::IdNotAllocated { .. } | Self::Invalid { .. } => ErrorKind::InvalidInput,
        }
    }
}
