//! The manifest's stored form: a root, and shards that the root names by their content's hash. A shard that did not change keeps its name, so it need
//! not be written again.
//!
//! Namespaces are spread over 64 shards by a hash of their id; batches and objects go by ranges of their ids. In a group with many namespaces each of
//! those shards has a directory, so that [`LazySnapshot`] reads some namespaces and not all. What follows from other parts (sums, live slices of a
//! batch, parts of an object, who holds a chunk open) is not stored: it is counted anew on reading, and what does not fit is corruption. What is
//! deliberately not here: where shards are kept (`siltstone-store`) and when a snapshot is taken.

mod assemble;
mod blob;
mod directory;
mod encode;
mod lazy;
mod published;
mod skim;
mod stored;

pub use assemble::assemble;
pub use blob::{decode_blob, encode_blob};
pub use directory::DIRECTORY_NAMESPACES_MIN;
pub use encode::{Encoded, Shard, encode, encode_changed};
pub use lazy::LazySnapshot;
pub use published::{PublishedRoot, ShardMaker};

use crate::envelope::{EnvelopeError, Kind};
use serde::{Deserialize, Serialize};
use siltstone_core::{CommitIndex, ErrorKind, Incarnation};
use std::fmt;

/// Shards that namespaces are spread over.
pub const NAMESPACE_SHARDS: u32 = 64;

/// Batches whose ids share all but this many low bits are in one shard.
pub const ID_SHARD_BITS: u32 = 14;

/// Objects whose ids share all but this many low bits are in one shard: about a day of a busy group, which gives thousands of ids to batches between
/// one object and the next. In version 1 it was [`ID_SHARD_BITS`], which made a shard of nearly every object.
pub const OBJECT_SHARD_BITS: u32 = 22;

/// Version 1 had no directories, and objects in shards of [`ID_SHARD_BITS`]; version 2 no former lives.
const ROOT: Kind = Kind { what: "snapshot root", magic: *b"SLsr", version: 3 };
const ROOT_V2: Kind = Kind { version: 2, ..ROOT };
const SHARD: Kind = Kind { what: "snapshot shard", magic: *b"SLss", version: 1 };

/// A snapshot's root: the small state, and the names of the shards.
#[derive(Clone, PartialEq, Debug)]
pub struct SnapshotRoot {
    stored: stored::StoredRoot,
}

/// A shard's place in its snapshot, and its content's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ShardRef {
    /// What it holds.
    pub content: ShardContent,
    /// Which of the shards of that content: for namespaces the hash's remainder, for batches and objects the ids' high bits.
    pub number: u64,
    /// BLAKE3 of its bytes.
    pub hash: [u8; 32],
    /// How many bytes.
    pub len: u64,
}

/// What a shard holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ShardContent {
    /// Namespaces with their chunks, packs, segments and producers.
    Namespaces,
    /// Batches.
    Batches,
    /// Objects.
    Objects,
    /// Sets of pattern vectors, by namespace.
    Vectors,
    /// Embedding models.
    Models,
    /// Vector fields of namespaces, and indexes over them.
    EntryVectors,
    /// Settings.
    Settings,
    /// Where in its shard each namespace lies; the number is that shard's.
    Directories,
}

impl ShardRef {
    /// The name of the content: 64 hexadecimal digits.
    #[must_use]
    pub fn name(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }

    /// Whether these are its bytes.
    ///
    /// # Errors
    /// [`SnapshotError::WrongShard`] where they are not.
    pub fn check(&self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let is_it = bytes.len() as u64 == self.len && blake3::hash(bytes).as_bytes() == &self.hash;
        if is_it { Ok(()) } else { Err(SnapshotError::WrongShard { shard: *self }) }
    }

    /// Whether a shard of this number can hold no id, if all but this many low bits are its number.
    const fn is_past(&self, bits: u32) -> bool {
        self.number > u64::MAX >> bits
    }
}

impl fmt::Display for ShardRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = match self.content {
            ShardContent::Namespaces => "namespaces",
            ShardContent::Batches => "batches",
            ShardContent::Objects => "objects",
            ShardContent::Vectors => "vectors",
            ShardContent::Models => "models",
            ShardContent::EntryVectors => "entry-vectors",
            ShardContent::Settings => "settings",
            ShardContent::Directories => "directory",
        };
        write!(f, "{content} {} ({})", self.number, self.name())
    }
}

impl SnapshotRoot {
    /// A root from its stored form.
    ///
    /// # Errors
    /// [`SnapshotError::Envelope`] for any bytes that are not one whole root.
    pub fn decode(bytes: &[u8]) -> Result<Self, SnapshotError> {
        match Self::decode_prefix(bytes)? {
            (root, []) => Ok(root),
            (_, rest) => Err(EnvelopeError::Trailing { what: ROOT.what, extra: rest.len() }.into()),
        }
    }

    /// The root at the start of `bytes`, and the bytes after it.
    fn decode_prefix(bytes: &[u8]) -> Result<(Self, &[u8]), SnapshotError> {
        let (stored, rest) = match ROOT.version_of(bytes) {
            Some(1 | 2) => ROOT_V2.decode_prefix(bytes).map(|(stored, rest): (stored::StoredRootV2, _)| (stored.into(), rest)),
            // Of this version, of a newer one, or none: it says so itself.
            _ => ROOT.decode_prefix(bytes),
        }?;
        Ok((Self { stored }, rest))
    }

    /// The stored form, of the oldest version that can hold it: members of a group that is being upgraded read it.
    ///
    /// # Errors
    /// [`SnapshotError::Envelope`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, SnapshotError> {
        match self.stored.without_lives() {
            Some(stored) => Ok(ROOT_V2.encode(&stored)?),
            None => Ok(ROOT.encode(&self.stored)?),
        }
    }

    /// The shards, in the order in which [`assemble()`] wants their bytes.
    #[must_use]
    pub fn shards(&self) -> &[ShardRef] {
        &self.stored.shards
    }

    /// The shard with this content and number. The list of a root that was not checked may be out of order: then some are not found.
    #[must_use]
    pub fn shard(&self, content: ShardContent, number: u64) -> Option<&ShardRef> {
        let shards = self.shards();
        shards.binary_search_by_key(&(content, number), |shard| (shard.content, shard.number)).ok().map(|at| &shards[at])
    }

    /// The position of the log that the snapshot covers.
    #[must_use]
    pub const fn version(&self) -> CommitIndex {
        self.stored.version
    }

    /// State time at that position.
    #[must_use]
    pub const fn state_time_ms(&self) -> i64 {
        self.stored.state_time_ms
    }

    /// The group's present life.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.stored.incarnation
    }

    /// The present life's number: how many lives the group's store had seen before it.
    #[must_use]
    pub const fn life(&self) -> u32 {
        self.stored.life
    }
}

/// Why a snapshot is not written or read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Its bytes are no root or shard.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// A shard's bytes are not those that the root names.
    #[error("read snapshot shard {shard}: its content is another, or it is missing")]
    WrongShard {
        /// The shard.
        shard: ShardRef,
    },
    /// Bytes after the last shard.
    #[error("read a snapshot: {extra} bytes follow its end")]
    Trailing {
        /// How many.
        extra: usize,
    },
    /// The parts do not fit each other.
    #[error("read a snapshot: {detail}")]
    Inconsistent {
        /// What does not fit.
        detail: String,
    },
}

impl SnapshotError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Envelope(error) => error.kind(),
            Self::WrongShard { .. } | Self::Trailing { .. } | Self::Inconsistent { .. } => ErrorKind::Corrupt,
        }
    }
}

#[cfg(test)]
#[path = "snapshot_test.rs"]
mod tests;
