//! Live epochs: who owns them, and the ids that they may still use.

use crate::manifest::Map;
use serde::{Deserialize, Serialize};
use siltstone_core::{ChunkId, NamespaceId, WriterId};

/// Whose life an epoch is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EpochOwner {
    /// An indexer in its ingest role.
    Writer(WriterId),
    /// A named job: sealing, merging, collecting garbage.
    Job(String),
}

/// A live epoch. A fenced one has no record: EP-1 is its absence.
#[derive(Clone, PartialEq, Debug)]
pub struct EpochRecord {
    /// Whose life it is.
    pub owner: EpochOwner,
    /// State time at which it began.
    pub registered_at_ms: i64,
    /// Chunk ids that were allocated to it and not yet opened (RA-1).
    pub chunk_ids: IdBlocks,
    /// Ids of batches, objects, packs, segments and vector sets that were allocated to it and not yet used.
    pub ids: IdBlocks,
    /// The chunks that it holds open, and their namespaces.
    pub open_chunks: Map<ChunkId, NamespaceId>,
}

/// A set of ids that is handed out in blocks and used up one by one: first id → count, without touching blocks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IdBlocks(Map<u64, u64>);

impl IdBlocks {
    /// Adds `count` ids from `first` on. They must not be in the set.
    pub fn add(&mut self, first: u64, count: u64) {
        if count == 0 {
            return;
        }
        let neighbour = self.0.range(..first).next_back().map(|(&start, &len)| (start, len));
        match neighbour {
            Some((start, len)) if start + len == first => self.0.insert_mut(start, len + count),
            _ => self.0.insert_mut(first, count),
        }
    }

    /// Takes one id out. Whether it was there.
    #[must_use]
    pub fn take(&mut self, id: u64) -> bool {
        let Some((&first, &count)) = self.0.range(..=id).next_back() else { return false };
        if id - first >= count {
            return false;
        }
        if id == first {
            self.0.remove_mut(&first);
        } else {
            self.0.insert_mut(first, id - first);
        }
        if first + count > id + 1 {
            self.0.insert_mut(id + 1, first + count - id - 1);
        }
        true
    }

    /// Whether an id is in the set.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        self.0.range(..=id).next_back().is_some_and(|(&first, &count)| id - first < count)
    }

    /// The blocks, by rising first id, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&first, &count)| (first, count))
    }

    /// How many ids are in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }
}
