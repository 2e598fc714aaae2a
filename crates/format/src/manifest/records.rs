//! What the manifest knows of stored objects: their length and where their parts and footers lie.

use serde::{Deserialize, Serialize};
use siltstone_core::{BatchId, Epoch, ObjectId};

/// A byte range of an object. What lies in it carries checksums of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
}

impl ByteRange {
    /// The byte after the last; saturates.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len as u64)
    }

    /// Whether `other` lies wholly inside.
    #[must_use]
    pub const fn contains(&self, other: &Self) -> bool {
        self.offset <= other.offset && other.end() <= self.end()
    }
}

/// A byte range of an object and the CRC-32C of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CheckedRange {
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
    /// CRC-32C of the bytes.
    pub crc32c: u32,
}

impl CheckedRange {
    /// The range alone.
    #[must_use]
    pub const fn range(&self) -> ByteRange {
        ByteRange { offset: self.offset, len: self.len }
    }
}

/// One flush of one writer on the object store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BatchRecord {
    /// Its id, out of a block that was allocated to `epoch`.
    pub id: BatchId,
    /// The life of the writer that made it; part of the object's key.
    pub epoch: Epoch,
    /// The object's length.
    pub len_bytes: u64,
    /// Where its footer lies, so that one ranged GET opens it.
    pub footer: CheckedRange,
}

/// An object that carries packs, segments and vector sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Its id, out of a block that was allocated to `epoch`.
    pub id: ObjectId,
    /// The life of the job or writer that made it; part of the object's key.
    pub epoch: Epoch,
    /// The object's length.
    pub len_bytes: u64,
    /// Where its footer lies, so that one ranged GET opens it.
    pub footer: CheckedRange,
}

/// A batch that chunks name, and what became of its slices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchState {
    /// What the writer committed.
    pub record: BatchRecord,
    /// Slices that open or closed chunks still name: at least one. With the last, it becomes a [`RetiredBatch`](super::RetiredBatch).
    pub live_slices: u32,
    /// How many slices the commit had.
    pub slices: u32,
    /// The positions of those that were duplicates, so that a repeat of the same command gets the same answer. Mostly empty.
    pub duplicates: Box<[u32]>,
}

/// An object, and how many packs, segments and vector sets are named in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectState {
    /// What the job committed.
    pub record: ObjectRecord,
    /// Packs and segments that live in it.
    pub parts: u32,
    /// State time at which none was left; `None` while any is.
    pub retired_at_ms: Option<i64>,
}

/// What a stored object's epoch and id say about it. See [`Manifest::batch_fate`](super::Manifest::batch_fate).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The manifest names it.
    Named,
    /// Nothing names it since this state time; views may still read it.
    Retired {
        /// State time of its retirement.
        at_ms: i64,
    },
    /// Nothing names it, and its epoch is alive: a command on its way may name it yet (MF-1).
    Pending,
    /// Nothing names it and nothing ever will: its epoch is fenced.
    Garbage,
    /// This life of the group does not name it and did not give its epoch: it is another incarnation's, and not ours to delete.
    Foreign,
}
