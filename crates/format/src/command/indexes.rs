//! Indexes over vectors of entries: a compare-and-swap.

use crate::manifest::{ObjectRecord, VectorIndexRecord};
use serde::{Deserialize, Serialize};
use siltstone_core::{Epoch, NamespaceId, VectorIndexId};

/// Adds indexes over vectors of entries, in place of others where they join them. Every input must be there, else nothing changes.
///
/// The same command again (same object) changes nothing and is answered as the first time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitIndexes {
    /// The job's life.
    pub epoch: Epoch,
    /// The object with what is new; its epoch is the same.
    pub object: ObjectRecord,
    /// What comes and goes, by namespace; a namespace at most once.
    pub parts: Vec<IndexPart>,
}

/// What comes and goes in one namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IndexPart {
    /// The namespace.
    pub namespace: NamespaceId,
    /// Indexes that go.
    pub indexes_in: Vec<VectorIndexId>,
    /// Indexes that come. They cover every chunk of those of their field that go, and sealed chunks that none covers.
    pub indexes_out: Vec<VectorIndexRecord>,
}
