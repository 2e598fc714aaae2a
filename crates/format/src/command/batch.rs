//! The commit of one flush.

use crate::manifest::{BatchRecord, CheckedRange};
use serde::{Deserialize, Serialize};
use siltstone_core::{ChunkId, Epoch, NamespaceId};

/// Makes the slices of a batch, which is on the object store by now, exist.
///
/// All of it is applied, or nothing. The same command again (same epoch, same batch id) gives the same outcomes and applies nothing twice, so a
/// commit whose outcome is unknown is repeated as it was.
///
/// To ensure correctness, the writer
/// - names every slice's rows at exactly the chunk's next offset, slice by slice;
/// - puts all slices of one client batch into one command, and a client batch once: a second copy that arrives while the first is on its way waits
///   for the first one's outcome, because within one command all slices of a key stand or fall together;
/// - moves on past the offsets of duplicates: they are burned.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitBatch {
    /// The writer's life.
    pub epoch: Epoch,
    /// The batch; its epoch is the same.
    pub batch: BatchRecord,
    /// Its slices; at least one.
    pub slices: Vec<SliceCommit>,
    /// Chunks of this epoch to close after the slices were added. Those that are not open any more are passed over.
    pub close: Vec<ChunkId>,
}

/// Consecutive rows of one chunk from one client batch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SliceCommit {
    /// The namespace, which is the chunk's (NS-1).
    pub namespace: NamespaceId,
    /// The chunk. One that is unknown is opened: its id must come from a block that was allocated to this epoch.
    pub chunk: ChunkId,
    /// The offset of the first row: the chunk's next offset.
    pub first_offset: u16,
    /// How many rows, 1..=2,048.
    pub rows: u16,
    /// The slice's bytes in the batch.
    pub range: CheckedRange,
    /// Smallest timestamp, in nanoseconds.
    pub timestamp_min_ns: i64,
    /// Largest timestamp, in nanoseconds.
    pub timestamp_max_ns: i64,
    /// Bytes of the rows' bodies.
    pub body_bytes: u64,
    /// What makes delivery exactly-once (AK-2); `None` for at-least-once.
    pub key: Option<ClientKey>,
}

/// The number that a producer gave a client batch, within a namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ClientKey {
    /// The authenticated caller.
    pub principal: String,
    /// The name that the caller gave.
    pub producer: String,
    /// The producer's number for the client batch. A producer has at most
    /// [`SEQUENCE_WINDOW`](crate::manifest::SEQUENCE_WINDOW) of them un-acknowledged.
    pub sequence: u64,
}
