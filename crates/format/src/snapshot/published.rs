//! A root as it lies on the object store: with it stands for which root each of its shards was made, which is where the shard lies.

use super::{ShardRef, SnapshotError, SnapshotRoot};
use crate::envelope::Kind;
use serde::{Deserialize, Serialize};
use siltstone_core::{CommitIndex, Epoch};

const PUBLISHED: Kind = Kind { what: "published snapshot root", magic: *b"SLpr", version: 1 };

/// A root and the makers of its shards.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedRoot {
    root: SnapshotRoot,
    makers: Vec<ShardMaker>,
}

/// Who made a shard, and for which root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ShardMaker {
    /// The publisher's epoch.
    pub epoch: Epoch,
    /// The position that the root covers.
    pub index: CommitIndex,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    /// In its own stored form, so that its versions are its own.
    root: Vec<u8>,
    /// One a shard, in the root's order.
    makers: Vec<ShardMaker>,
}

impl PublishedRoot {
    /// A root whose shards were made by these.
    ///
    /// # Errors
    /// [`SnapshotError::Inconsistent`] where there are not as many makers as shards.
    pub fn new(root: SnapshotRoot, makers: Vec<ShardMaker>) -> Result<Self, SnapshotError> {
        let (shards, count) = (root.shards().len(), makers.len());
        if shards == count {
            return Ok(Self { root, makers });
        }
        Err(SnapshotError::Inconsistent { detail: format!("a published root names {shards} shards and {count} makers") })
    }

    /// A published root from its stored form.
    ///
    /// # Errors
    /// [`SnapshotError`] for any bytes that are not one whole published root.
    pub fn decode(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let stored: Stored = PUBLISHED.decode(bytes)?;
        Self::new(SnapshotRoot::decode(&stored.root)?, stored.makers)
    }

    /// The stored form. Equal roots have equal bytes.
    ///
    /// # Errors
    /// [`SnapshotError::Envelope`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, SnapshotError> {
        Ok(PUBLISHED.encode(&Stored { root: self.root.encode()?, makers: self.makers.clone() })?)
    }

    /// The root.
    #[must_use]
    pub const fn root(&self) -> &SnapshotRoot {
        &self.root
    }

    /// The shards and their makers, in the root's order.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = (&ShardRef, ShardMaker)> {
        self.root.shards().iter().zip(self.makers.iter().copied())
    }

    /// Who made a shard of this root.
    #[must_use]
    pub fn maker(&self, shard: &ShardRef) -> Option<ShardMaker> {
        let place = |shard: &ShardRef| (shard.content, shard.number);
        let at = self.root.shards().binary_search_by_key(&place(shard), place).ok()?;
        (self.root.shards()[at] == *shard).then(|| self.makers[at])
    }
}
