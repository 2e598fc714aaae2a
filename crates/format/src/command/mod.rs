//! Commands and replies of the metadata group, and their stored form.
//!
//! A command says what its proposer wants and when it asked; the machine alone decides.
//!
//! Members of a group may run programs of different versions for a while. So the form and the meaning of a command never change: what is to be told
//! otherwise gets a variant of its own at the end, and a command is written under the version that brought its variant
//! ([`CommandBody::since_version`]). A program thus reads all that older ones wrote, is read by older ones where they know the command, and is
//! refused by its number where they do not. That such a command is not proposed too early is the leader's care (`siltstone-metadata`).
//!
//! What is deliberately not here: what a command does (`siltstone-machine`).

mod batch;
mod indexes;
mod reply;
mod seal;
mod vectors;

pub use batch::{ClientKey, CommitBatch, SliceCommit};
pub use indexes::{CommitIndexes, IndexPart};
pub use reply::{Rejection, Reply, SliceOutcome};
pub use seal::{ChunkEnd, CommitMerge, CommitSeal, MergePart, SealPart};
pub use vectors::{CommitVectors, VectorPart};

use crate::envelope::{EnvelopeError, Kind};
use serde::{Deserialize, Serialize};
use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, ModelId, NamespaceId, ObjectId, WriterId};

/// The newest version of commands that this program reads. 1: all up to `CommitIndexes`; 2: `PutSetting`, `RaiseVersion`.
pub const COMMAND_VERSION: u16 = 2;

const COMMAND: Kind = Kind { what: "command", magic: *b"SLcm", version: COMMAND_VERSION };
const BODY: Kind = Kind { what: "proposal", magic: *b"SLcb", version: COMMAND_VERSION };
const REPLY: Kind = Kind { what: "reply", magic: *b"SLrp", version: 1 };

/// Bytes that a principal's, a producer's or a job's name has at most.
pub const NAME_LEN_MAX: usize = 1_024;

/// Ids that one command allocates at most.
pub const ALLOCATION_MAX: u32 = 1 << 20;

/// One entry of the group's log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Command {
    /// The proposer's clock, in milliseconds since the Unix epoch. State time follows it, within bounds.
    pub proposed_at_ms: i64,
    /// What is wanted.
    pub body: CommandBody,
}

/// What a proposer wants.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum CommandBody {
    /// The first command of a group's life. Repeated, it changes nothing and tells the incarnation that holds. → [`Reply::Founded`]
    FoundGroup {
        /// The life that begins; not 0.
        incarnation: Incarnation,
    },
    /// A new life of a writer. Fences its earlier one, whose open chunks are closed at their committed length. → [`Reply::Registered`]
    RegisterWriter {
        /// The writer.
        writer: WriterId,
    },
    /// A new life of a job. Fences its earlier one. → [`Reply::Registered`]
    RegisterJob {
        /// The job.
        name: String,
    },
    /// Ends an epoch; its open chunks are closed at their committed length. → [`Reply::Done`], also when it is over already
    FenceEpoch {
        /// The epoch.
        epoch: Epoch,
    },
    /// Chunk ids for this epoch's use alone. → [`Reply::ChunkIds`]
    AllocateChunkIds {
        /// Who asks.
        epoch: Epoch,
        /// How many, 1..=[`ALLOCATION_MAX`].
        count: u32,
    },
    /// Ids of batches, objects, packs, segments, vector sets and vector indexes (one counter for all) for this epoch's use alone. → [`Reply::Ids`]
    AllocateIds {
        /// Who asks.
        epoch: Epoch,
        /// How many, 1..=[`ALLOCATION_MAX`].
        count: u32,
    },
    /// Creates a namespace, or finds the one of this name. → [`Reply::Namespace`]
    CreateNamespace {
        /// Its name; see [`crate::manifest::is_namespace_name`].
        name: String,
    },
    /// Forgets a namespace and all that it holds; its id dies. → [`Reply::Done`], also when there is none
    DropNamespace {
        /// Its name.
        name: String,
    },
    /// Makes a flushed batch's slices exist. → [`Reply::BatchCommitted`]
    CommitBatch(CommitBatch),
    /// Closes open chunks of this epoch. Those that are closed or gone stay so. → [`Reply::Done`]
    CloseChunks {
        /// Who asks.
        epoch: Epoch,
        /// The chunks.
        chunks: Vec<ChunkId>,
    },
    /// Moves closed chunks from batches into packs and segments: a compare-and-swap. → [`Reply::Done`]
    CommitSeal(CommitSeal),
    /// Replaces segments and packs by others over the same chunks: a compare-and-swap. → [`Reply::Done`]
    CommitMerge(CommitMerge),
    /// Drops the records of retired batches and objects, after they were deleted from the store. Unknown ones are passed over. → [`Reply::Done`]
    ForgetRetired {
        /// Who asks.
        epoch: Epoch,
        /// Batches.
        batches: Vec<BatchId>,
        /// Objects.
        objects: Vec<ObjectId>,
    },
    /// Adds pattern vectors: a compare-and-swap. → [`Reply::Done`]
    CommitVectors(CommitVectors),
    /// Makes a model known, so that its vectors are made. → [`Reply::Done`], also when it is known just so
    AddModel {
        /// Its id.
        model: ModelId,
        /// Numbers in a vector, not 0.
        dimension: u16,
        /// Where its files lie; empty for the model that is built in.
        source: String,
    },
    /// Makes a known model the one whose vectors queries use. → [`Reply::Done`]
    UseModel {
        /// Its id.
        model: ModelId,
    },
    /// Forgets a model that does not serve, and all its vectors. → [`Reply::Done`], also when there is none
    RemoveModel {
        /// Its id.
        model: ModelId,
    },
    /// Makes a field of vectors known in a namespace. The first declaration holds. → [`Reply::VectorField`]
    DeclareVectorField {
        /// The namespace.
        namespace: NamespaceId,
        /// The field's name, 1 to [`VECTOR_FIELD_LEN_MAX`](crate::manifest::VECTOR_FIELD_LEN_MAX) bytes.
        field: String,
        /// Numbers in each of its vectors.
        dimension: u16,
    },
    /// Adds indexes over vectors of entries: a compare-and-swap. → [`Reply::Done`]
    CommitIndexes(CommitIndexes),
    /// Gives a setting a value, or removes it: a compare-and-swap where a position is expected. → [`Reply::Setting`]
    PutSetting {
        /// Its key, 1 to [`SETTING_KEY_LEN_MAX`](crate::manifest::SETTING_KEY_LEN_MAX) bytes.
        key: String,
        /// The value; none removes it.
        #[serde(with = "serde_bytes")]
        value: Option<Vec<u8>>,
        /// The position of the last change that the proposer knows, 0 for a setting that is not there; none where it does not matter.
        expected: Option<CommitIndex>,
    },
    /// All members of the group read commands of this version: from here on the log may hold them. Proposed by the group's leader alone, and written
    /// under that version itself, so that a program which does not read it stops here. → [`Reply::Done`]
    RaiseVersion {
        /// The version.
        version: u16,
    },
}

impl CommandBody {
    /// The epoch that must be alive for the command to change anything (EP-1); `None` where none is asked for.
    #[must_use]
    pub const fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::AllocateChunkIds { epoch, .. }
            | Self::AllocateIds { epoch, .. }
            | Self::CloseChunks { epoch, .. }
            | Self::ForgetRetired { epoch, .. }
            | Self::CommitBatch(CommitBatch { epoch, .. })
            | Self::CommitSeal(CommitSeal { epoch, .. })
            | Self::CommitMerge(CommitMerge { epoch, .. })
            | Self::CommitVectors(CommitVectors { epoch, .. })
            | Self::CommitIndexes(CommitIndexes { epoch, .. }) => Some(*epoch),
            Self::FoundGroup { .. }
            | Self::RegisterWriter { .. }
            | Self::RegisterJob { .. }
            | Self::FenceEpoch { .. }
            | Self::CreateNamespace { .. }
            | Self::DropNamespace { .. }
            | Self::AddModel { .. }
            | Self::UseModel { .. }
            | Self::RemoveModel { .. }
            | Self::DeclareVectorField { .. }
            | Self::PutSetting { .. }
            | Self::RaiseVersion { .. } => None,
        }
    }

    /// The version of commands that brought this one: programs that read it, or a newer one, know it. Its stored form says it.
    #[must_use]
    pub const fn since_version(&self) -> u16 {
        match self {
            Self::FoundGroup { .. }
            | Self::RegisterWriter { .. }
            | Self::RegisterJob { .. }
            | Self::FenceEpoch { .. }
            | Self::AllocateChunkIds { .. }
            | Self::AllocateIds { .. }
            | Self::CreateNamespace { .. }
            | Self::DropNamespace { .. }
            | Self::CommitBatch(_)
            | Self::CloseChunks { .. }
            | Self::CommitSeal(_)
            | Self::CommitMerge(_)
            | Self::ForgetRetired { .. }
            | Self::CommitVectors(_)
            | Self::AddModel { .. }
            | Self::UseModel { .. }
            | Self::RemoveModel { .. }
            | Self::DeclareVectorField { .. }
            | Self::CommitIndexes(_) => 1,
            Self::PutSetting { .. } => 2,
            Self::RaiseVersion { version } => match *version {
                // The command itself came with version 2.
                0..2 => 2,
                version => version,
            },
        }
    }

    /// A short name for logs and metric labels.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FoundGroup { .. } => "found_group",
            Self::RegisterWriter { .. } => "register_writer",
            Self::RegisterJob { .. } => "register_job",
            Self::FenceEpoch { .. } => "fence_epoch",
            Self::AllocateChunkIds { .. } => "allocate_chunk_ids",
            Self::AllocateIds { .. } => "allocate_ids",
            Self::CreateNamespace { .. } => "create_namespace",
            Self::DropNamespace { .. } => "drop_namespace",
            Self::CommitBatch(_) => "commit_batch",
            Self::CloseChunks { .. } => "close_chunks",
            Self::CommitSeal(_) => "commit_seal",
            Self::CommitMerge(_) => "commit_merge",
            Self::ForgetRetired { .. } => "forget_retired",
            Self::CommitVectors(_) => "commit_vectors",
            Self::AddModel { .. } => "add_model",
            Self::UseModel { .. } => "use_model",
            Self::RemoveModel { .. } => "remove_model",
            Self::DeclareVectorField { .. } => "declare_vector_field",
            Self::CommitIndexes(_) => "commit_indexes",
            Self::PutSetting { .. } => "put_setting",
            Self::RaiseVersion { .. } => "raise_version",
        }
    }
}

impl CommandBody {
    /// A version that is raised further than this program reads can't be written by it.
    const fn check(&self, kind: Kind) -> Result<(), EnvelopeError> {
        let version = self.since_version();
        if version <= COMMAND_VERSION { Ok(()) } else { Err(EnvelopeError::Version { what: kind.what, version, version_max: COMMAND_VERSION }) }
    }

    /// The form on the wire, for whoever proposes it elsewhere. The time is that of the member that takes it in.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, EnvelopeError> {
        Kind { version: self.since_version(), ..BODY }.encode(self)
    }

    /// A body from its form on the wire.
    ///
    /// # Errors
    /// [`EnvelopeError`] for any bytes that are not one whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let body: Self = BODY.decode(bytes)?;
        body.check(BODY)?;
        Ok(body)
    }
}

impl Command {
    /// The stored form.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, EnvelopeError> {
        Kind { version: self.body.since_version(), ..COMMAND }.encode(self)
    }

    /// The version under which a command is written, from the beginning of its stored form; `None` for what is no command. Nothing else is checked.
    #[must_use]
    pub fn version_of(bytes: &[u8]) -> Option<u16> {
        COMMAND.version_of(bytes)
    }

    /// A command from its stored form.
    ///
    /// # Errors
    /// [`EnvelopeError`] for any bytes that are not one whole command.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let command: Self = COMMAND.decode(bytes)?;
        command.body.check(COMMAND)?;
        Ok(command)
    }
}

impl Reply {
    /// The form on the wire.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, EnvelopeError> {
        REPLY.encode(self)
    }

    /// A reply from its form on the wire.
    ///
    /// # Errors
    /// [`EnvelopeError`] for any bytes that are not one whole reply.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        REPLY.decode(bytes)
    }
}
