//! Models, and the vectors of patterns: sets of them, each of one namespace (NS-1) and one model.

use super::{ByteRange, CheckedRange};
use serde::{Deserialize, Serialize};
use siltstone_core::{ModelId, ObjectId, VectorSetId};

/// A set of pattern vectors: a byte range of an object (see [`crate::vectors`]). A pattern may stand in several sets of a model; its vectors are
/// equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VectorSetRecord {
    /// Its id, out of a block that was allocated to the epoch of its object.
    pub id: VectorSetId,
    /// The object that it lies in.
    pub object: ObjectId,
    /// The model that made the vectors. They never meet another's.
    pub model: ModelId,
    /// Numbers in a vector.
    pub dimension: u16,
    /// How many patterns have a vector here.
    pub patterns: u32,
    /// All its bytes in the object, read and checked whole.
    pub range: CheckedRange,
}

impl VectorSetRecord {
    /// Its bytes in the object.
    #[must_use]
    pub const fn byte_range(&self) -> ByteRange {
        self.range.range()
    }
}

/// A model that the group knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Its id.
    pub id: ModelId,
    /// Numbers in a vector.
    pub dimension: u16,
    /// Where its files lie; empty for the model that is built in.
    pub source: String,
    /// What it does.
    pub state: ModelState,
    /// State time at which it was added.
    pub added_at_ms: i64,
}

/// What a model does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ModelState {
    /// Its vectors are made; queries use another's.
    Filling,
    /// Queries use its vectors. One model at most.
    Serving,
}
