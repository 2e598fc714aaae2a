//! The commits of the embedder: a compare-and-swap over sets of pattern vectors.

use crate::manifest::{ObjectRecord, VectorSetRecord};
use serde::{Deserialize, Serialize};
use siltstone_core::{Epoch, NamespaceId, VectorSetId};

/// Adds sets of pattern vectors, in place of others where they join them. Every input must be there, and every model known, else nothing changes.
///
/// The same command again (same object) changes nothing and is answered as the first time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommitVectors {
    /// The job's life.
    pub epoch: Epoch,
    /// The object with what is new; its epoch is the same.
    pub object: ObjectRecord,
    /// What comes and goes, by namespace; a namespace at most once.
    pub parts: Vec<VectorPart>,
}

/// What comes and goes in one namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VectorPart {
    /// The namespace.
    pub namespace: NamespaceId,
    /// Sets that go.
    pub sets_in: Vec<VectorSetId>,
    /// Sets that come. For each model of the sets that go, at least as many patterns in one of them as in the largest that goes.
    pub sets_out: Vec<VectorSetRecord>,
}
