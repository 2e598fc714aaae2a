//! The payloads of root (version 3) and shards (version 1), in postcard. See `docs/formats/snapshot.md`.

use super::ShardRef;
use super::directory::StoredDirectory;
use crate::manifest::{
    BatchRecord, ChunkState, Counters, EpochOwner, FormerLife, ModelRecord, ObjectRecord, PackRecord, ProducerKey, ProducerState, SegmentRecord,
    SettingRecord, SliceRef, VectorFieldRecord, VectorIndexRecord, VectorSetRecord,
};
use serde::{Deserialize, Serialize};
use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, WriterId};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredRoot {
    pub(super) incarnation: Incarnation,
    /// The number of the present life.
    pub(super) life: u32,
    /// By rising number.
    pub(super) former_lives: Vec<FormerLife>,
    pub(super) version: CommitIndex,
    pub(super) state_time_ms: i64,
    pub(super) counters: Counters,
    pub(super) epochs: Vec<StoredEpoch>,
    pub(super) shards: Vec<ShardRef>,
}

/// Versions 1 and 2: the group is in its first life.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRootV2 {
    incarnation: Incarnation,
    version: CommitIndex,
    state_time_ms: i64,
    counters: Counters,
    epochs: Vec<StoredEpoch>,
    shards: Vec<ShardRef>,
}

impl StoredRoot {
    /// The root in the form of version 2, if that can hold it.
    pub(super) fn without_lives(&self) -> Option<StoredRootV2> {
        if self.life > 0 || !self.former_lives.is_empty() {
            return None;
        }
        let Self { incarnation, version, state_time_ms, counters, epochs, shards, .. } = self.clone();
        Some(StoredRootV2 { incarnation, version, state_time_ms, counters, epochs, shards })
    }
}

impl From<StoredRootV2> for StoredRoot {
    fn from(stored: StoredRootV2) -> Self {
        let StoredRootV2 { incarnation, version, state_time_ms, counters, epochs, shards } = stored;
        Self { incarnation, life: 0, former_lives: Vec::new(), version, state_time_ms, counters, epochs, shards }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredEpoch {
    pub(super) epoch: Epoch,
    pub(super) owner: EpochOwner,
    pub(super) registered_at_ms: i64,
    /// First id and count of each block.
    pub(super) chunk_ids: Vec<(u64, u64)>,
    /// First id and count of each block.
    pub(super) ids: Vec<(u64, u64)>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum StoredShard {
    Namespaces(Vec<StoredNamespace>),
    Batches(Vec<StoredBatch>, StoredRetired),
    Objects(Vec<StoredObject>),
    /// By rising namespace; namespaces without vectors are left out.
    Vectors(Vec<(NamespaceId, Vec<VectorSetRecord>)>),
    /// By rising id.
    Models(Vec<ModelRecord>),
    /// By rising namespace; namespaces without vector fields are left out.
    EntryVectors(Vec<StoredEntryVectors>),
    /// By rising key.
    Settings(Vec<SettingRecord>),
    Directory(StoredDirectory),
}

impl StoredShard {
    /// How a shard of namespaces begins.
    pub(super) const NAMESPACES: u32 = 0;
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredEntryVectors {
    pub(super) namespace: NamespaceId,
    /// By name.
    pub(super) fields: Vec<VectorFieldRecord>,
    /// By rising id.
    pub(super) indexes: Vec<VectorIndexRecord>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredNamespace {
    pub(super) id: NamespaceId,
    pub(super) name: String,
    pub(super) created_at_ms: i64,
    pub(super) chunks: Vec<StoredChunk>,
    pub(super) packs: Vec<PackRecord>,
    pub(super) segments: Vec<SegmentRecord>,
    pub(super) producers: Vec<(ProducerKey, ProducerState)>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredChunk {
    pub(super) id: ChunkId,
    pub(super) writer: WriterId,
    pub(super) epoch: Epoch,
    pub(super) state: ChunkState,
    pub(super) next_offset: u16,
    pub(super) opened_at_ms: i64,
    pub(super) body_bytes: u64,
    pub(super) slices: Vec<SliceRef>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredBatch {
    pub(super) record: BatchRecord,
    pub(super) slices: u32,
    pub(super) duplicates: Vec<u32>,
}

/// Retired batches by rising id: four columns of one length, and the few that had duplicates.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredRetired {
    /// The id less the one before; the first: itself.
    pub(super) ids: Vec<u64>,
    pub(super) epochs: Vec<Epoch>,
    /// The time less the one before, wrapping; the first: itself.
    pub(super) at_ms: Vec<i64>,
    pub(super) footer_crcs: Vec<u32>,
    /// By id, rising.
    pub(super) duplicates: Vec<(BatchId, Vec<u32>)>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct StoredObject {
    pub(super) record: ObjectRecord,
    pub(super) retired_at_ms: Option<i64>,
}
