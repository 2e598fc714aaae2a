//! The commits of sealing, merging and repacking: compare-and-swaps over chunks, packs and segments.

use crate::manifest::{ObjectRecord, PackRecord, SegmentRecord};
use serde::{Deserialize, Serialize};
use siltstone_core::{ChunkId, Epoch, NamespaceId, PackId, SegmentId};

/// Moves closed chunks into packs. Every input must be there, closed, unsealed and of the length that is named, else nothing changes.
///
/// One object may carry the packs of many namespaces; they are sealed together or not at all. The same command again (same object) changes nothing
/// and is answered as the first time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitSeal {
    /// The job's or writer's life.
    pub epoch: Epoch,
    /// The object with the packs and segments; its epoch is the same.
    pub object: ObjectRecord,
    /// What is sealed, by namespace; a namespace at most once.
    pub parts: Vec<SealPart>,
}

/// What is sealed of one namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SealPart {
    /// The namespace.
    pub namespace: NamespaceId,
    /// The chunks, each once.
    pub inputs: Vec<ChunkEnd>,
    /// Packs in the object. Every input is in exactly one, just as [`crate::manifest::ChunkRecord::sealed`] says.
    pub packs: Vec<PackRecord>,
    /// Segments in the object, over chunks of these packs.
    pub segments: Vec<SegmentRecord>,
}

/// A chunk and the committed length that was read of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ChunkEnd {
    /// The chunk.
    pub chunk: ChunkId,
    /// The offset after its last.
    pub end_offset: u16,
}

/// Replaces segments (a merge, or an index built over packs) and packs (a repack). Every input must be there, else nothing changes.
///
/// The same command again (same object) changes nothing and is answered as the first time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitMerge {
    /// The job's life.
    pub epoch: Epoch,
    /// The object with what is new; its epoch is the same.
    pub object: ObjectRecord,
    /// What is replaced, by namespace; a namespace at most once.
    pub parts: Vec<MergePart>,
}

/// What is replaced of one namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MergePart {
    /// The namespace.
    pub namespace: NamespaceId,
    /// Segments that go.
    pub segments_in: Vec<SegmentId>,
    /// Segments that come. They cover every chunk that the ones that go cover, each chunk once; further chunks must lie in packs and be covered by no
    /// segment that stays and is of this definition version or a newer one.
    pub segments_out: Vec<SegmentRecord>,
    /// Packs that go.
    pub packs_in: Vec<PackId>,
    /// Packs that come: exactly the chunks of the ones that go.
    pub packs_out: Vec<PackRecord>,
}
