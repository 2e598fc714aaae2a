//! The keys of all objects: the one place that builds and reads them.
//!
//! ```text
//! v1/owner/{incarnation}                                            who owns the store: the highest incarnation, put only if absent
//! v1/{incarnation}/batches/{epoch}/{batch id}
//! v1/{incarnation}/objects/{epoch}/{object id}
//! v1/{incarnation}/metadata/snapshots/{epoch}/{commit index}        the root of a snapshot
//! v1/{incarnation}/metadata/shards/{epoch}/{commit index}-{hash}    an immutable shard, named by the root it was made for and by later ones
//! ```
//!
//! Numbers are 16 lower-case hexadecimal digits, and the hash of a shard's content is 64, so that the order of keys is the order of numbers. A shard
//! has the position of its first root in its key: a key that was once deleted is never used again, even if the same content comes back. Every key
//! but the owner's carries the incarnation of the metadata group and the epoch of the maker: what a fenced epoch made and no manifest names can be
//! found by a list and deleted. No name that a user chose is ever part of a key.
//!
//! What is deliberately not here: the stores, and what the objects hold (`siltstone-format`).

use crate::key::{InvalidKey, ObjectKey};
use siltstone_core::{BatchId, CommitIndex, Epoch, Incarnation, ObjectId};
use std::fmt;

/// The version of this layout.
const LAYOUT: &str = "v1";
const OWNER: &str = "owner";
const BATCHES: &str = "batches";
const OBJECTS: &str = "objects";
const METADATA: &str = "metadata";
const SNAPSHOTS: &str = "snapshots";
const SHARDS: &str = "shards";

/// What an object is, by its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectPath {
    /// The claim of an incarnation on this store. The highest one that stands is the owner.
    Owner {
        /// Who claims.
        incarnation: Incarnation,
    },
    /// What one flush of one writer put.
    Batch {
        /// The life of the metadata group.
        incarnation: Incarnation,
        /// The writer's epoch.
        epoch: Epoch,
        /// A counter within the epoch.
        batch: BatchId,
    },
    /// Packs and segments.
    Object {
        /// The life of the metadata group.
        incarnation: Incarnation,
        /// The epoch of the job that made it.
        epoch: Epoch,
        /// A number within the epoch.
        object: ObjectId,
    },
    /// The root of a metadata snapshot.
    SnapshotRoot {
        /// The life of the metadata group.
        incarnation: Incarnation,
        /// The maker's epoch.
        epoch: Epoch,
        /// The last log index that it covers.
        index: CommitIndex,
    },
    /// A shard of a metadata snapshot.
    SnapshotShard {
        /// The life of the metadata group.
        incarnation: Incarnation,
        /// The maker's epoch.
        epoch: Epoch,
        /// The last log index that the root covers for which it was made.
        index: CommitIndex,
        /// BLAKE3 of its bytes.
        hash: [u8; 32],
    },
}

/// The kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PathKind {
    /// [`ObjectPath::Owner`]
    Owner,
    /// [`ObjectPath::Batch`]
    Batch,
    /// [`ObjectPath::Object`]
    Object,
    /// [`ObjectPath::SnapshotRoot`]
    SnapshotRoot,
    /// [`ObjectPath::SnapshotShard`]
    SnapshotShard,
}

/// A key that this layout does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// The text is no key at all.
    #[error(transparent)]
    InvalidKey(#[from] InvalidKey),
    /// A key of another layout, or of something else that shares the store.
    #[error("read object path {key:?}: it has no form of layout v1")]
    Unknown {
        /// The key.
        key: String,
    },
}

impl ObjectPath {
    /// The key of this object.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::parse(&self.to_string()).expect("built from fixed words and hexadecimal numbers, within all limits of a key")
    }

    /// Reads a key. Only what [`ObjectPath::key`] builds is accepted.
    ///
    /// # Errors
    /// [`PathError::Unknown`].
    pub fn parse(key: &ObjectKey) -> Result<Self, PathError> {
        parts(key.as_str()).ok_or_else(|| PathError::Unknown { key: key.to_string() })
    }

    /// Reads a key from its text.
    ///
    /// # Errors
    /// [`PathError`]
    pub fn parse_str(key: &str) -> Result<Self, PathError> {
        Self::parse(&ObjectKey::parse(key)?)
    }

    /// What kind of object it is.
    #[must_use]
    pub const fn kind(&self) -> PathKind {
        match self {
            Self::Owner { .. } => PathKind::Owner,
            Self::Batch { .. } => PathKind::Batch,
            Self::Object { .. } => PathKind::Object,
            Self::SnapshotRoot { .. } => PathKind::SnapshotRoot,
            Self::SnapshotShard { .. } => PathKind::SnapshotShard,
        }
    }

    /// The life of the metadata group that it belongs to.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        match self {
            Self::Owner { incarnation }
            | Self::Batch { incarnation, .. }
            | Self::Object { incarnation, .. }
            | Self::SnapshotRoot { incarnation, .. }
            | Self::SnapshotShard { incarnation, .. } => *incarnation,
        }
    }

    /// The maker's epoch; an owner object has none.
    #[must_use]
    pub const fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::Owner { .. } => None,
            Self::Batch { epoch, .. } | Self::Object { epoch, .. } | Self::SnapshotRoot { epoch, .. } | Self::SnapshotShard { epoch, .. } => {
                Some(*epoch)
            }
        }
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner { incarnation } => write!(f, "{}{:016x}", owners_prefix(), incarnation.0),
            Self::Batch { incarnation, epoch, batch } => {
                write!(f, "{}{:016x}", epoch_prefix(PathKind::Batch, *incarnation, *epoch), batch.0)
            }
            Self::Object { incarnation, epoch, object } => {
                write!(f, "{}{:016x}", epoch_prefix(PathKind::Object, *incarnation, *epoch), object.0)
            }
            Self::SnapshotRoot { incarnation, epoch, index } => {
                write!(f, "{}{:016x}", epoch_prefix(PathKind::SnapshotRoot, *incarnation, *epoch), index.0)
            }
            Self::SnapshotShard { incarnation, epoch, index, hash } => {
                write!(f, "{}{:016x}-", epoch_prefix(PathKind::SnapshotShard, *incarnation, *epoch), index.0)?;
                hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// The prefix of all owner objects.
#[must_use]
pub fn owners_prefix() -> String {
    format!("{LAYOUT}/{OWNER}/")
}

/// The prefix of all objects of an incarnation, whatever their kind, but for its owner object.
#[must_use]
pub fn incarnation_prefix(incarnation: Incarnation) -> String {
    format!("{LAYOUT}/{:016x}/", incarnation.0)
}

/// The prefix of all objects of one kind of an incarnation. For owners it is the prefix of all owners.
#[must_use]
pub fn kind_prefix(kind: PathKind, incarnation: Incarnation) -> String {
    let of = incarnation_prefix(incarnation);
    match kind {
        PathKind::Owner => owners_prefix(),
        PathKind::Batch => format!("{of}{BATCHES}/"),
        PathKind::Object => format!("{of}{OBJECTS}/"),
        PathKind::SnapshotRoot => format!("{of}{METADATA}/{SNAPSHOTS}/"),
        PathKind::SnapshotShard => format!("{of}{METADATA}/{SHARDS}/"),
    }
}

/// The prefix of all objects of one kind that one epoch made. For owners, which have no epoch, it is the prefix of all owners.
#[must_use]
pub fn epoch_prefix(kind: PathKind, incarnation: Incarnation, epoch: Epoch) -> String {
    match kind {
        PathKind::Owner => owners_prefix(),
        _ => format!("{}{:016x}/", kind_prefix(kind, incarnation), epoch.0),
    }
}

/// Reads the parts of a key; `None` when it has no form of this layout.
fn parts(key: &str) -> Option<ObjectPath> {
    let parts: Vec<&str> = key.split('/').collect();
    match parts.as_slice() {
        [LAYOUT, OWNER, incarnation] => Some(ObjectPath::Owner { incarnation: Incarnation(hex16(incarnation)?) }),
        [LAYOUT, incarnation, kind, epoch, id] => {
            let (incarnation, epoch, id) = (Incarnation(hex16(incarnation)?), Epoch(hex16(epoch)?), hex16(id)?);
            match *kind {
                BATCHES => Some(ObjectPath::Batch { incarnation, epoch, batch: BatchId(id) }),
                OBJECTS => Some(ObjectPath::Object { incarnation, epoch, object: ObjectId(id) }),
                _ => None,
            }
        }
        [LAYOUT, incarnation, METADATA, SNAPSHOTS, epoch, index] => Some(ObjectPath::SnapshotRoot {
            incarnation: Incarnation(hex16(incarnation)?),
            epoch: Epoch(hex16(epoch)?),
            index: CommitIndex(hex16(index)?),
        }),
        [LAYOUT, incarnation, METADATA, SHARDS, epoch, id] => {
            let (index, hash) = id.split_once('-')?;
            Some(ObjectPath::SnapshotShard {
                incarnation: Incarnation(hex16(incarnation)?),
                epoch: Epoch(hex16(epoch)?),
                index: CommitIndex(hex16(index)?),
                hash: hash32(hash)?,
            })
        }
        _ => None,
    }
}

fn hex16(text: &str) -> Option<u64> {
    hex(text, 16)
}

fn hash32(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::try_from(hex(&text[2 * at..2 * at + 2], 2)?).ok()?;
    }
    Some(hash)
}

/// Reads exactly this many lower-case hexadecimal digits, so that each number has one text.
fn hex(text: &str, digits: usize) -> Option<u64> {
    if text.len() != digits || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
#[path = "paths_test.rs"]
mod tests;
